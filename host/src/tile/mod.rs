//! Products of matrices on the device: `C = epilogue(A B)`, with operands of 8 bits, bfloat16, half precision, TF32 or single precision, and sums of single precision.
//!
//! The layers of a network are such products, and tensor cores do them at hundreds of TFLOP/s. A [`Product`] has fixed sizes and is run on buffers of a stream as often as one likes, alone or in a graph; bias, residual and rectifier
//! cost no pass of their own.
//!
//! ```
//! use warpplay::Device;
//! use warpplay::tile::{Epilogue, Product, bf16};
//!
//! // Two samples of three inputs, through a layer of two units: [samples][inputs] · [units][inputs]ᵀ. A row is padded to 16 bytes.
//! let device = Device::simt();
//! let stream = device.stream()?;
//! let row = |values: [f32; 3]| [values[0], values[1], values[2], 0.0, 0.0, 0.0, 0.0, 0.0].map(bf16::from_f32);
//! let samples = stream.upload(&[row([1.0, 2.0, 3.0]), row([0.5, 0.0, -1.0])].concat())?;
//! let weights = stream.upload(&[row([1.0, 1.0, 1.0]), row([2.0, 0.0, -1.0])].concat())?;
//! let bias = stream.upload(&[0.5f32, 1.0])?;
//! let mut outputs = stream.alloc::<f32>(4)?;
//!
//! let product = Product::<bf16>::builder(2, 2, 3).a_stride(8).b_stride(8).rectifier(true).build(&device)?;
//! let operands = product.operands(&stream, &samples, &weights)?;
//! product.run(&stream, &operands, Epilogue::new().bias(&bias), &mut outputs)?;
//! assert_eq!(stream.read(&outputs)?, [6.5, 0.0, 0.0, 3.0]);
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! | type | what it is |
//! | --- | --- |
//! | [`Product`], [`ProductBuilder`] | a product of given sizes on a device, run as often as one likes |
//! | [`Convolution`], [`ConvolutionBuilder`] | a convolution of images, as such a product |
//! | [`FilterGradient`], [`FilterGradientBuilder`] | the gradient of its filters |
//! | [`Operands`] | A and B as the kernels read them, made once for many runs |
//! | [`Epilogue`] | what becomes of the sums |
//! | [`Update`], [`Optimizer`], [`Rate`] | how an optimiser updates C by the product |
//! | [`Operand`] | the number formats of A and B: [`struct@bf16`], [`struct@f16`], [`F8E4M3`], `f32`, read as TF32 where nothing else is said |
//! | [`Output`] | those of C: `f32`, or the operands' own format, bfloat16 for numbers of 8 bits |
//! | [`Engine`] | which kernels multiply |
//! | [`Tile`] | how many rows and columns of C a block computes at a time |
//!
//! # Layout
//!
//! ```text
//! A    [m][a_stride]      the first k values of a row are used;    or by depth   [k][a_stride]
//! B    [n][b_stride]      column after column, as the weights of a layer [outputs][inputs] lie;    or by depth   [k][b_stride]
//! C    [m][c_stride]
//! ```
//!
//! Bytes of a row or depth of A and of a column or depth of B are a multiple of 16: copies to shared memory want it so. Of a layer's three products, with weights `[inputs][outputs]`, the outputs read B by depth, the gradient of its
//! inputs reads neither so, and the gradient of the weights both.
//!
//! # Convolutions
//!
//! ```text
//! images     [images][height][width][pixel_stride]     channels last; the first `channels` of a pixel are used
//! filters    [outputs][side][side][tap_stride]         the first `channels` of a tap are used; `side` is 1, 3, 5 or 7
//! C          [images][height][width][c_stride]         padded by zeros, so that it has the images' size
//! ```
//!
//! A [`Convolution`] is a product with a row for each pixel, a column for each output and all taps and channels as its depth. The copy engine brings the pixels that a tap meets, with zeros for those outside of their image, straight into the
//! multiprocessors: images may have any size, and nothing is gathered or padded in memory. A tile's rows are pixels that follow each other across rows and images, so that none are wasted. Channels are taken 64 at a time (32 in TF32, 128 of 8 bits):
//! multiples of that are fastest. The gradient of the inputs is the convolution of the outputs' gradient with the filters turned by half a circle, `[channels][side][side][outputs]`; a [`FilterGradient`] is
//! that of the filters.
//!
//! # Numbers in parts
//!
//! A number of single precision is the sum of two or three of bfloat16: each part is what the parts before it leave, rounded. [`ProductBuilder::parts`] multiplies such numbers, and so do convolutions ([`ConvolutionBuilder::parts`]) and gradients of filters ([`FilterGradientBuilder::parts`]): of two parts each three products of parts are added up, of three
//! parts six. A part of bfloat16 leaves at most `2⁻⁸` of its number, so a product of two numbers is off by less than `2⁻¹⁴` of its size with two parts, and with three by less than `2⁻²²`, about the last place of single precision; to that comes what sums lose, as below. That holds for sizes from `2⁻¹⁰⁰` to `2¹²⁷`: smaller numbers lose their last parts, larger ones become infinite.
//!
//! # Gathered rows, and bytes
//!
//! The rows of A may be any of a larger matrix, named by an index, and A may be of bytes ([`ProductBuilder::gathered`], [`ProductBuilder::bytes`]): a batch of samples is multiplied where it lies, and the factor scales its pixels.
//!
//! ```
//! use warpplay::Device;
//! use warpplay::tile::{Epilogue, Product, bf16};
//!
//! // Samples 2 and 0 of three, of two pixels each, times the weights [1, 2] of one unit. A row has 16 bytes.
//! let device = Device::simt();
//! let stream = device.stream()?;
//! let row = |a: u8, b: u8| [a, b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
//! let samples = stream.upload(&[row(255, 0), row(1, 2), row(0, 255)].concat())?;
//! let batch = stream.upload(&[2u32, 0])?;
//! let weights = stream.upload(&[1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0].map(bf16::from_f32))?;
//! let mut outputs = stream.alloc::<f32>(2)?;
//!
//! let builder = Product::<bf16>::builder(2, 1, 2).a_stride(16).b_stride(8).bytes(true).gathered(3);
//! let product = builder.factor(1.0 / 255.0).build(&device)?;
//! let operands = product.byte_operands(&stream, &samples, &batch, &weights)?;
//! product.run(&stream, &operands, Epilogue::new(), &mut outputs)?;
//! assert!(stream.read(&outputs)?.iter().zip([2.0, 1.0]).all(|(output, expected)| (output - expected).abs() < 1e-6));
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! # Moments of columns
//!
//! A product or convolution may make, beside C, what a norm of its columns needs, or their sums ([`ProductBuilder::moments`], [`Product::run_with_moments`]), so that C is not read once more for them:
//!
//! ```text
//! moments    [2][⌈m / 64⌉][n]      of each 64 rows of C (MOMENT_ROWS), as they are written: the mean of each column, and the sum of squared distances from it
//! ```
//!
//! The sum of a column is that of its means times the rows of each (64, or those that the last has). Means come before squares, so nothing cancels.
//!
//! # Optimisers
//!
//! A product may be the gradient of its C, parameters that an optimiser updates in the same launch ([`ProductBuilder::update`], [`Product::run_update`]): the gradient is neither written nor read. Here one step of SGD:
//!
//! ```
//! use warpplay::Device;
//! use warpplay::tile::{Optimizer, Product, Update, bf16};
//!
//! // Weights [inputs][outputs] of 8 inputs and 8 outputs, their inputs [samples][8] and the gradient of their outputs [samples][8], of two samples.
//! let device = Device::simt();
//! let stream = device.stream()?;
//! let inputs = stream.upload(&[bf16::from_f32(1.0); 16])?;
//! let gradients = stream.upload(&[bf16::from_f32(0.25); 16])?;
//! let mut weights = stream.upload(&[3.0f32; 64])?;
//!
//! let builder = Product::<bf16>::builder(8, 8, 2).a_by_depth(true).b_by_depth(true);
//! let product = builder.update(true).build(&device)?;
//! let operands = product.operands(&stream, &inputs, &gradients)?;
//! let rates = stream.upload(&[Optimizer::Sgd.rate(0.5, 1)])?;
//! product.run_update(&stream, &operands, &mut weights, Update::new(Optimizer::Sgd, &rates, &mut []))?;
//! // 3 - 0.5 · (2 · 0.25)
//! assert_eq!(stream.read(&weights)?, [2.75; 64]);
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! A sum has the bits that it has without an optimiser, and each operation of the optimiser rounds once, in single precision.
//!
//! # Precision
//!
//! Products are exact. A tensor core adds up a few of them at a time without rounding, and cuts off what single precision cannot hold; so a value of C is off by at most `k · 2⁻²²` of the sum of the
//! products' sizes. TF32 first drops the last 13 bits of the operands: 2⁻¹⁰ of each number.
//!
//! Of [`F8E4M3`] a tensor core keeps 14 bits of a sum: 32 products at a time are added to what is there, each cut off behind the 14th bit of the largest. 128 products are added up so, and such sums in single precision; a value of C is off by at most `132 · 2⁻¹³ + k · 2⁻²²` of the sum of the products' sizes, by far less where they are alike. Whole numbers are multiplied exactly where the sizes of 128 products add up to less than `2¹⁴`, and all of them to less than `2²⁴`.
//!
//! Operands of `f32` are read as TF32, or multiplied as they are ([`ProductBuilder::precision`] with [`Precision::F32`](crate::Precision::F32)): without tensor cores, many times slower, with one rounding for each product that is added. Three parts of bfloat16 are as precise and faster
//! where the device has them; f32 is for numbers beyond the sizes that they hold, and for older GPUs.
//!
//! The same product by the same [`Engine`] gives the same bits every time, in every [`Tile`]. Only how many blocks share a tile's depth ([`ProductBuilder::cluster`]) changes the last bits; it is chosen by sizes alone, and is 1 for a convolution: so an image has the same bits alone and among others. Another engine adds up in another order: the last bits are others, the bound is the same.
//!
//! # Where it runs
//!
//! | [`Engine`] | GPUs of compute capability | operands |
//! | --- | --- | --- |
//! | [`Wgmma`](Engine::Wgmma) | 9.0 | bf16, f16, f32 as TF32, F8E4M3 |
//! | [`Mma`](Engine::Mma) | 8.0 and newer | bf16, f16, f32 as TF32 |
//! | [`Plain`](Engine::Plain) | 7.5 and newer | f32 as it is |
//!
//! The first that a device has is taken, or the one that [`ProductBuilder::engine`] asks for. All run under `simt`, and none on [`Device::cpu`](crate::Device::cpu), which [`Device::auto`](crate::Device::auto) is where there is no GPU: a program that should run there too takes `Device::cuda(0).unwrap_or_else(|_| Device::simt())`. Convolutions are [`Wgmma`](Engine::Wgmma)'s alone. The plain twin, in double precision, is `warpplay_cpu_ref::tile`.

mod choice;
mod convolution;
pub(crate) mod core;
mod engine;
mod filter_gradient;
#[cfg(feature = "mlp")]
pub(crate) mod group;
#[cfg(feature = "mlp")]
pub(crate) mod logits;
mod mma;
mod moments;
mod operand;
mod plain;
mod product;
mod shares;
mod size;
mod update;

pub use convolution::{Convolution, ConvolutionBuilder};
pub use engine::Engine;
pub use filter_gradient::{FilterGradient, FilterGradientBuilder};
pub use float8::F8E4M3;
pub use half::{bf16, f16};
pub use operand::{Operand, Output};
pub use product::{Epilogue, Operands, Product, ProductBuilder};
pub use size::Tile;
pub use update::Update;
pub use warpplay_gpu::tile::task::MOMENT_ROWS;
pub use warpplay_gpu::tile::update::Rate;

pub use crate::optimizer::Optimizer;
