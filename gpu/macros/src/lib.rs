//! The macros of device code: the attributes [`kernel`] and [`device_inline`], [`DeviceArgs`](derive@DeviceArgs) and [`shared_array!`].
//!
//! Users reach them through `warpplay_gpu::cuda`. One source is compiled twice, for the device and for the
//! host, and a procedural macro does not know for which: both expansions are written, and
//! `#[cfg(target_arch = "nvptx64")]` in them chooses.

use proc_macro::TokenStream;

mod args;
mod inline;
mod kernel;
mod len;
mod registers;
mod shared;

/// Makes an `unsafe fn` a device entry point, and its name a typed descriptor on the host.
///
/// For PTX the function becomes an entry point of the same body. On the host its name becomes a unit struct
/// that implements `warpplay_gpu::kernel::Kernel`: the parameters' types make a launch with wrong arguments a
/// compile error, and `call` is the same body as an ordinary function, which `simt` runs thread by thread.
///
/// Options, all of them optional, separated by commas:
///
/// * `suffix = "name"`: the entry is called `function_name`, so that a macro can instantiate one kernel for
///   several types. A `macro_rules` fragment `$suffix:literal` is accepted.
/// * `max_threads = 256`: most threads of a block (`.maxntid`), 1 to 1024; a literal or a constant expression.
///   The assembler may then give each thread more registers, and a launch with more threads is refused.
/// * `shape = LaunchShape::linear(n, 256)`: the launch shape, an expression of the parameters. Where it depends on more, it is a closure of that, as `|block: u32| LaunchShape::linear(n, block)`.
///   The launch computes it, and checks `#[len(n as usize)]`, the values that a parameter must have; as in [`DeviceArgs`](derive@DeviceArgs), its arithmetic is checked.
///   * A kernel that is a safe `fn` takes `Slice<T>` and `Disjoint<T>` in the place of pointers, each with its length, and a structure with [`DeviceArgs`](derive@DeviceArgs) as `#[args]`.
///     `warpplay::Stream::run` launches it, and `run_with` where the shape is a closure.
///   * A kernel that is an `unsafe fn` takes pointers too, with or without a length. `Stream::run_unchecked` launches it, and `run_unchecked_with` where the shape is a closure: what is left to the
///     caller is what the shape and the lengths do not say.
/// * `require = block % 32 == 0`: a condition on the parameters and on what the shape depends on, without which a launch by the declared shape is refused.
/// * `min_blocks = 2`: blocks that a multiprocessor should hold at once (`.minnctapersm`); needs `max_threads`.
///
/// # Errors
/// It does not compile if the function is neither `unsafe` nor has a `shape`, or has generics, a receiver, a return value, an ABI of its
/// own, a parameter that is not a plain name, a reference as a parameter, or more than 16 parameters; the
/// message points at the offending code.
///
/// # Examples
/// ```ignore
/// /// Adds `a` to each of the `n` values.
/// #[kernel(shape = LaunchShape::linear(n, 256), max_threads = 256)]
/// pub fn add_constant(#[len(n as usize)] mut values: Disjoint<f32>, a: f32, n: u32) {
///     let Some(own) = thread::own_index_below(n) else { return };
///     values.set(&own, values.get(&own) + a);
/// }
/// ```
///
/// In an `unsafe` kernel, access memory by `memory::load` and `memory::store`: `simt` checks these, and does not see an access through a raw pointer.
#[proc_macro_attribute]
pub fn kernel(options: TokenStream, item: TokenStream) -> TokenStream {
    kernel::expand(options.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// What `#[inline(always)]` is for device code: on the device the function has no frame of its own, on the host it is `#[inline]`.
///
/// A kernel whose body unrolls loops of such functions is straight code on the device, which must not call. On the host, where `simt` runs the same bodies, a copy in each place takes the compiler minutes and
/// makes nothing faster.
///
/// # Examples
/// ```ignore
/// #[device_inline]
/// fn clamp(value: f32) -> f32 {
///     if value < 0.0 { 0.0 } else { value }
/// }
/// ```
#[proc_macro_attribute]
pub fn device_inline(options: TokenStream, item: TokenStream) -> TokenStream {
    inline::expand(options.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// `kernel_type!([options] unsafe fn name(parameters) {})` is the kernel's type in the trait of a family.
#[doc(hidden)]
#[proc_macro]
pub fn kernel_type(input: TokenStream) -> TokenStream {
    kernel::kernel_type(input.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a `#[repr(C)]` structure of pointers and numbers an argument whose launch is checked: for `S` the host has `SArgs`, with a view of a buffer for each pointer.
///
/// A launch that is given `SArgs` for a parameter `S` checks that each array is on the stream's device and as long as its field says; it borrows what the kernel reads and borrows
/// exclusively what it writes, and a graph that records the launch keeps the memory.
///
/// * `#[len(n * width)]` stands at each pointer: the values that the kernel uses, an expression of the structure's fields. It is evaluated in `usize`; where a step overflows, is below 0 or is divided by 0, the launch is refused. Arithmetic that
///   cannot be checked (in conditions and arguments of calls) does not compile.
/// * `#[nullable]` at a pointer that may be null.
/// * `#[args]` at a field that is itself such a structure; lengths may name its fields.
/// * `#[args(n_models: u32)]` at the structure: further numbers for lengths, which do not cross to the device.
/// * `#[require(batch <= 64)]` at the structure: a condition without which the launch is refused.
///
/// # Errors
/// It does not compile without `#[repr(C)]` and named fields, or if a pointer has no length; the message points at the offending code.
///
/// # Examples
/// ```ignore
/// /// `y[i] += a * x[i]`.
/// #[repr(C)]
/// #[derive(Clone, Copy, Debug, DeviceArgs)]
/// pub struct Axpy {
///     /// `[n]`.
///     #[len(n)]
///     pub y: *mut f32,
///     /// `[n]`.
///     #[len(n)]
///     pub x: *const f32,
///     /// The factor.
///     pub a: f32,
///     /// Values.
///     pub n: u32,
/// }
///
/// let task = AxpyArgs { y: y.view_mut(), x: x.view(), a: 0.5, n: 1000 };
/// unsafe { stream.launch(&axpy_function, LaunchShape::linear(1000, 256), (task,))? };
/// ```
#[proc_macro_derive(DeviceArgs, attributes(args, len, nullable, require))]
pub fn device_args(input: TokenStream) -> TokenStream {
    args::expand(input.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Static shared memory of a block: `shared_array![f32; 256]` is a `Shared<f32>` of 256 elements.
///
/// Each occurrence in the source is one array, the same for all threads of a block, however often
/// it is run and into however many kernels it is inlined; it is aligned to 16 bytes and not initialised.
/// Element type and length are written with names of the module, not with generic parameters or local constants
/// of the function around. The static arrays of a kernel hold 48 KiB at most; beyond that there is dynamic shared
/// memory.
#[proc_macro]
pub fn shared_array(input: TokenStream) -> TokenStream {
    shared::expand(input.into(), &shared::unique_name()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// `registers!(callback, 3, ", ", (arguments))` is `callback!("{0}, {1}, {2}", [0 1 2], arguments)`: an instruction of a tensor core names up to 128 registers, in the template of `asm!` and among its
/// operands.
#[proc_macro]
pub fn registers(input: TokenStream) -> TokenStream {
    registers::expand(input.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}
