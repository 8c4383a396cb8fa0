//! A product of given sizes.

use std::marker::PhantomData;

use warpplay_gpu::cuda::tensor_map::TensorMap;
use warpplay_gpu::ptx::embedded::TILE_WGMMA;
use warpplay_gpu::tile::wgmma::{self, GROUP_ROWS, ProductTaskArgs, activation};

use super::operand::{Operand, Output};
use crate::runtime::named::named;
use crate::runtime::tensor_map::{Matrix, tensor_map};
use crate::{Buffer, Device, Error, In, Module, Precision, Result, Stream};

named! {
    /// Rows and columns of C that a block computes at a time.
    Tile, "tile":
    /// 128 × 256.
    Rows128Columns256 = "128x256",
    /// 128 × 192.
    Rows128Columns192 = "128x192",
    /// 128 × 128.
    Rows128Columns128 = "128x128",
    /// 128 × 64.
    Rows128Columns64 = "128x64",
    /// 64 × 64.
    Rows64Columns64 = "64x64",
}

impl Tile {
    /// Rows and columns.
    pub const fn size(self) -> [u32; 2] {
        match self {
            Self::Rows128Columns256 => [128, 256],
            Self::Rows128Columns192 => [128, 192],
            Self::Rows128Columns128 => [128, 128],
            Self::Rows128Columns64 => [128, 64],
            Self::Rows64Columns64 => [64, 64],
        }
    }

    /// The share of the tensor cores' speed that a multiprocessor reaches with it in long products, in per cent, as the bench measures on an H100.
    const fn efficiency(self) -> u64 {
        match self {
            Self::Rows128Columns256 => 100,
            Self::Rows128Columns192 => 94,
            Self::Rows128Columns128 => 82,
            Self::Rows128Columns64 => 58,
            Self::Rows64Columns64 => 45,
        }
    }

    /// The one that ends first by its efficiency: the last multiprocessor has ⌈tiles / multiprocessors⌉ of them.
    fn fastest(m: u32, n: u32, multiprocessors: u32) -> Self {
        let time = |tile: &Self| {
            let [rows, columns] = tile.size().map(u64::from);
            let tiles = u64::from(m).div_ceil(rows) * u64::from(n).div_ceil(columns);
            tiles.div_ceil(multiprocessors.max(1).into()) * rows * columns * 100 / tile.efficiency()
        };
        Self::ALL.iter().copied().min_by_key(time).unwrap_or(Self::Rows128Columns256)
    }
}

/// Builds a [`Product`].
#[derive(Clone, Copy, Debug)]
pub struct ProductBuilder<T> {
    m: u32,
    n: u32,
    k: u32,
    a_stride: u32,
    b_stride: u32,
    c_stride: u32,
    rectifier: bool,
    tile: Option<Tile>,
    operands: PhantomData<T>,
}

/// `C = epilogue(A B)` of given sizes on a device; [the module](super) says how the matrices lie.
pub struct Product<T> {
    asked: ProductBuilder<T>,
    device: Device,
    kernel: Kernel,
}

/// Launches one of the kernels on so many multiprocessors.
type Launch = Box<dyn Fn(&Stream, u32, ProductTaskArgs<'_>) -> Result<()> + Send + Sync>;

struct Kernel {
    tile: Tile,
    multiprocessors: u32,
    launch: Launch,
}

impl<T: Operand> std::fmt::Debug for Product<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ProductBuilder { m, n, k, .. } = self.asked;
        f.debug_struct("Product")
            .field("m", &m)
            .field("n", &n)
            .field("k", &k)
            .field("tile", &self.tile())
            .finish_non_exhaustive()
    }
}

impl<T: Operand> Product<T> {
    /// A product of A with `m` rows, B with `n` columns, and the depth `k`.
    pub fn builder(m: u32, n: u32, k: u32) -> ProductBuilder<T> {
        let (a_stride, b_stride, c_stride) = (k, k, n);
        ProductBuilder { m, n, k, a_stride, b_stride, c_stride, rectifier: false, tile: None, operands: PhantomData }
    }
}

impl<T: Operand> ProductBuilder<T> {
    /// Values from a row of A to the next, at least `k`, default `k`.
    #[must_use]
    pub fn a_stride(self, a_stride: u32) -> Self {
        Self { a_stride, ..self }
    }

    /// Values from a column of B to the next, at least `k`, default `k`.
    #[must_use]
    pub fn b_stride(self, b_stride: u32) -> Self {
        Self { b_stride, ..self }
    }

    /// Values from a row of C to the next, at least `n`, default `n`.
    #[must_use]
    pub fn c_stride(self, c_stride: u32) -> Self {
        Self { c_stride, ..self }
    }

    /// Whether values below 0 become 0, after the bias; default not.
    #[must_use]
    pub fn rectifier(self, rectifier: bool) -> Self {
        Self { rectifier, ..self }
    }

    /// The tile; default the one that should be fastest.
    #[must_use]
    pub fn tile(self, tile: impl Into<Option<Tile>>) -> Self {
        Self { tile: tile.into(), ..self }
    }

    /// Checks the sizes and loads the kernel.
    ///
    /// # Errors
    /// [`Error::Option`] for a size or stride that is not allowed; [`Error::Unsupported`] if the device has no kernels for it; errors of the device.
    pub fn build(self, device: &Device) -> Result<Product<T>> {
        self.check()?;
        Ok(Product { asked: self, device: device.clone(), kernel: self.kernel(device)? })
    }

    fn check(&self) -> Result<()> {
        let Self { m, n, k, a_stride, b_stride, c_stride, .. } = *self;
        for (name, size) in [("m", m), ("n", n), ("k", k)] {
            // Numbers of bytes and of tiles are counted in 32 bits.
            if !(1..=1 << 24).contains(&size) {
                return Err(Error::option(name, size, "1 to 16777216"));
            }
        }
        let value_bytes = size_of::<T>() as u32;
        for (name, stride, least) in [("a_stride", a_stride, k), ("b_stride", b_stride, k)] {
            let step = 16 / value_bytes;
            if stride < least || stride > 1 << 26 || !stride.is_multiple_of(step) {
                let allowed = format!("a multiple of {step} values, which are 16 bytes, from {least} to 67108864");
                return Err(Error::option(name, stride, allowed));
            }
        }
        if c_stride < n || c_stride > 1 << 26 {
            return Err(Error::option("c_stride", c_stride, format!("{n} to 67108864")));
        }
        Ok(())
    }

    fn kernel(&self, device: &Device) -> Result<Kernel> {
        let multiprocessors = device.info()?.n_multiprocessors;
        let tile = self.tile.unwrap_or_else(|| Tile::fastest(self.m, self.n, multiprocessors));
        let module = Module::load(device, &TILE_WGMMA)?;
        macro_rules! launch {
            ($($precision:ident, $tile:ident, $kernel:ident;)*) => {
                match (T::PRECISION, tile) {
                    $((Precision::$precision, Tile::$tile) => {
                        let function = module.function(wgmma::$kernel)?;
                        let launch = move |stream: &Stream, multiprocessors: u32, task: ProductTaskArgs<'_>| {
                            // SAFETY: the maps are of this kernel's tile and of the operands in the task, and one C is given, as `Product::run` sees to.
                            unsafe { stream.run_unchecked_with(&function, (multiprocessors,), (task,)) }
                        };
                        Box::new(launch) as Launch
                    })*
                    (precision, _) => return Err(Error::option("precision", precision, "bf16, f16 or tf32 for a product")),
                }
            };
        }
        let launch = launch! {
            Bf16, Rows128Columns256, tile_wgmma_bf16_256;
            Bf16, Rows128Columns192, tile_wgmma_bf16_192;
            Bf16, Rows128Columns128, tile_wgmma_bf16_128;
            Bf16, Rows128Columns64, tile_wgmma_bf16_64;
            Bf16, Rows64Columns64, tile_wgmma_bf16_64_single;
            F16, Rows128Columns256, tile_wgmma_f16_256;
            F16, Rows128Columns192, tile_wgmma_f16_192;
            F16, Rows128Columns128, tile_wgmma_f16_128;
            F16, Rows128Columns64, tile_wgmma_f16_64;
            F16, Rows64Columns64, tile_wgmma_f16_64_single;
            Tf32, Rows128Columns256, tile_wgmma_tf32_256;
            Tf32, Rows128Columns192, tile_wgmma_tf32_192;
            Tf32, Rows128Columns128, tile_wgmma_tf32_128;
            Tf32, Rows128Columns64, tile_wgmma_tf32_64;
            Tf32, Rows64Columns64, tile_wgmma_tf32_64_single;
        };
        Ok(Kernel { tile, multiprocessors, launch })
    }
}

/// A and B of a [`Product`], in the form in which the copy engine reads them. It keeps their memory; their values may change between two runs.
pub struct Operands<T> {
    maps: Buffer<TensorMap>,
    a: Buffer<T>,
    b: Buffer<T>,
    /// Of the product that made it: sizes, strides, and the tile.
    made_for: ([u32; 5], Tile),
}

impl<T: Operand> Product<T> {
    /// Sizes and strides of the operands, and the tile, on which [`Operands`] depend.
    fn made_for(&self) -> ([u32; 5], Tile) {
        let ProductBuilder { m, n, k, a_stride, b_stride, .. } = self.asked;
        ([m, n, k, a_stride, b_stride], self.kernel.tile)
    }

    /// Describes A and B to the copy engine, once for many runs; not while a graph is recorded.
    ///
    /// * `a` `[m][a_stride]`, `b` `[n][b_stride]`; both may be longer.
    ///
    /// # Errors
    /// [`Error::Shape`] for a buffer that is too short; [`Error::Device`] for one of another device; errors of the device.
    pub fn operands(&self, stream: &Stream, a: &Buffer<T>, b: &Buffer<T>) -> Result<Operands<T>> {
        let ProductBuilder { m, n, k, a_stride, b_stride, .. } = self.asked;
        for (what, device) in [("stream", stream.device()), ("a", a.device()), ("b", b.device())] {
            self.device.expect_same(what, device)?;
        }
        let [rows, columns] = self.kernel.tile.size();
        let matrix = |height, stride, rows| Matrix { values: T::FORMAT.0, width: k, height, stride, rows };
        let maps = [tensor_map("a", a, matrix(m, a_stride, rows))?, tensor_map("b", b, matrix(n, b_stride, columns))?];
        Ok(Operands { maps: stream.upload(&maps)?, a: a.share(), b: b.share(), made_for: self.made_for() })
    }

    /// Queues the product: `c = epilogue(a b)`. Values of C between its columns and its stride stay as they are.
    ///
    /// * `bias` `[n]`: what is added to the columns of C.
    /// * `c` `[m][c_stride]`; it may be longer.
    ///
    /// # Errors
    /// [`Error::Shape`] for a buffer that is too short, for operands of another product, and for a C that is one of the operands; [`Error::Device`] for a buffer of another device; errors of the device.
    pub fn run<C: Output<T>>(
        &self,
        stream: &Stream,
        operands: &Operands<T>,
        bias: Option<&Buffer<f32>>,
        c: &mut Buffer<C>,
    ) -> Result<()> {
        let ProductBuilder { m, n, k, a_stride, b_stride, c_stride, rectifier, .. } = self.asked;
        if operands.made_for != self.made_for() {
            let (expected, found) = (self.made_for(), operands.made_for);
            return Err(Error::shape(
                "operands (m, n, k, a_stride, b_stride; tile)",
                format!("{expected:?}"),
                format!("{found:?}"),
            ));
        }
        // Operands keep no borrow, so the compiler does not see this; tiles of C would be written while others still read it.
        if [operands.a.as_ptr(), operands.b.as_ptr()].contains(&c.as_ptr().cast()) {
            return Err(Error::shape("c", "another buffer than a and b", "one of them"));
        }
        let Kernel { multiprocessors, launch, .. } = &self.kernel;
        let (c, c_short) = C::views(c);
        let task = ProductTaskArgs {
            maps: operands.maps.view(),
            a: operands.a.view().cast(),
            b: operands.b.view().cast(),
            bias: bias.map_or_else(In::none, Buffer::view),
            c,
            c_short,
            m,
            n,
            k,
            a_stride,
            b_stride,
            c_stride,
            activation: if rectifier { activation::RELU } else { activation::NONE },
            reserved: 0,
            value_bytes: size_of::<T>() as u32,
        };
        launch(stream, *multiprocessors, task)
    }

    /// The tile.
    pub fn tile(&self) -> Tile {
        self.kernel.tile
    }
}

const _: () = assert!(GROUP_ROWS == 64 && TensorMap::ROW_BYTES == 128);
