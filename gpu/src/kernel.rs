//! What the host knows of a kernel: its entry name and the types of its parameters.
//!
//! The attribute [`kernel`](macro@crate::cuda::kernel) makes a function's name a type that implements [`Kernel`], so that a launch with wrong arguments does not compile.
//! The macros here list the kernels of a module once, as a structure with a field for each.
//!
//! ```
//! use warpplay_gpu::cuda::view::Disjoint;
//! use warpplay_gpu::cuda::{kernel, thread};
//! use warpplay_gpu::kernel::{Kernel, info};
//! use warpplay_gpu::launch::LaunchShape;
//!
//! /// Writes each thread's index.
//! #[kernel(shape = LaunchShape::linear(n, 64), max_threads = 64)]
//! pub fn number(#[len(n as usize)] mut to: Disjoint<u32>, n: u32) {
//!     let Some(own) = thread::own_index_below(n) else { return };
//!     to.set(&own, own.get());
//! }
//!
//! assert_eq!((number::NAME, number::BOUNDS.max_threads), ("number", 64));
//! let [to, n] = info::<number>().params else { panic!("two parameters") };
//! assert_eq!((to.name, to.size, n.name, n.size), ("to", 8, "n", 4)); // a view crosses as a pointer
//! ```
//!
//! | item | what it is |
//! | --- | --- |
//! | [`Kernel`], [`ShapedKernel`], [`SafeKernel`] | an entry point; one that declares its launch; one that is a safe function too |
//! | [`KernelInfo`], [`ParamDesc`], [`LaunchBounds`], [`info`] | a kernel's description as data |
//! | [`kernel_set!`](crate::kernel_set) | the kernels of a module: structure, loader and descriptions |
//! | [`kernel_family!`](crate::kernel_family), [`kernel_instance!`](crate::kernel_instance) | the same for kernels that exist for several games or precisions |
//! | [`Load`], [`Visit`] | where a set is looked up, and what is done with all of its kernels |

#[cfg(not(target_arch = "nvptx64"))]
use crate::args::Refusal;
#[cfg(not(target_arch = "nvptx64"))]
use crate::launch::LaunchShape;

/// One parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamDesc {
    /// Name in the source.
    pub name: &'static str,
    /// Type in the source.
    pub ty: &'static str,
    /// Size in bytes, the same on host and device.
    pub size: usize,
    /// Alignment in bytes.
    pub align: usize,
}

impl ParamDesc {
    /// The description of a parameter of type `T`.
    pub const fn of<T>(name: &'static str, ty: &'static str) -> Self {
        Self { name, ty, size: size_of::<T>(), align: align_of::<T>() }
    }
}

/// What a kernel promises about its blocks, so that the assembler can give each thread more registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchBounds {
    /// Maximum number of threads of a block (`.maxntid`); 0 for no promise.
    pub max_threads: u32,
    /// Number of blocks that a multiprocessor should hold at once (`.minnctapersm`); 0 for no request.
    pub min_blocks: u32,
}

/// A device entry point, as the attribute [`kernel`](macro@crate::cuda::kernel) describes it on the host.
pub trait Kernel: Copy + Send + Sync + 'static {
    /// The parameters' types, as a tuple.
    type Params: Copy + 'static;
    /// Entry name in the PTX.
    const NAME: &'static str;
    /// The parameters in order.
    const PARAMS: &'static [ParamDesc];
    /// Launch bounds given with the attribute.
    const BOUNDS: LaunchBounds;

    /// Runs the kernel's body as the current thread of [`simt`](crate::simt).
    ///
    /// # Safety
    /// The contract of the kernel itself; called from inside a `simt` launch.
    #[cfg(not(target_arch = "nvptx64"))]
    unsafe fn call(params: Self::Params);
}

/// A kernel that declares its launch: the shape, and what is checked before. The attribute [`kernel`](macro@crate::cuda::kernel) with `shape` makes it one.
#[cfg(not(target_arch = "nvptx64"))]
#[diagnostic::on_unimplemented(
    message = "kernel `{Self}` does not declare its launch shape",
    note = "add `shape` to its attribute: `#[kernel(shape = LaunchShape::linear(n, 256))]`; or launch it with `Stream::launch` and a shape"
)]
pub trait ShapedKernel: Kernel {
    /// The parameters, with views in the place of pointers whose length is declared, as a tuple.
    type Views;
    /// Further arguments of the launch shape, as a tuple, such as a block size.
    type Launch;

    /// The shape of a launch and its parameters.
    ///
    /// # Errors
    /// A view is shorter than declared, or a declared condition does not hold.
    fn prepare(views: Self::Views, launch: Self::Launch) -> Result<(LaunchShape, Self::Params), Refusal>;
}

/// A kernel that is a safe function: whatever passes the checks of its declaration may be launched.
///
/// # Safety
/// A launch with shape and parameters that [`prepare`](ShapedKernel::prepare) gave keeps the kernel's contract.
#[cfg(not(target_arch = "nvptx64"))]
#[diagnostic::on_unimplemented(
    message = "kernel `{Self}` is not a safe function",
    note = "an `unsafe` kernel that declares its shape is launched with `Stream::run_unchecked`, any other with `Stream::launch`"
)]
pub unsafe trait SafeKernel: ShapedKernel {}

/// A kernel's description without its type.
#[derive(Clone, Copy, Debug)]
pub struct KernelInfo {
    /// Entry name in the PTX.
    pub name: &'static str,
    /// The parameters in order.
    pub params: &'static [ParamDesc],
    /// Launch bounds given with the attribute.
    pub bounds: LaunchBounds,
}

/// The description of kernel `K`.
pub const fn info<K: Kernel>() -> KernelInfo {
    KernelInfo { name: K::NAME, params: K::PARAMS, bounds: K::BOUNDS }
}

/// Where the kernels of a set are looked up: a module that the host has loaded (`warpplay::Module`).
#[cfg(not(target_arch = "nvptx64"))]
pub trait Load {
    /// A kernel that can be launched.
    type Function<K: Kernel>;
    /// The error for a missing kernel.
    type Error;

    /// The kernel of this type.
    ///
    /// # Errors
    /// There is none of its name.
    fn function<K: Kernel>(&self, kernel: K) -> Result<Self::Function<K>, Self::Error>;
}

/// An operation on every kernel of a [`kernel_set!`](crate::kernel_set), for kernels of any type.
#[cfg(not(target_arch = "nvptx64"))]
pub trait Visit<L: Load> {
    /// One of the kernels.
    fn kernel<K: Kernel>(&mut self, function: &L::Function<K>);
}

/// The kernels of one module: the structure `Kernels<L>`, with a field for each kernel, of the kernel's name; `Kernels::load`, which looks them up; and the function
/// `kernels` with their descriptions. Use it once per module; each kernel is written as `file::kernel`. It is the only list of the module's kernels;
/// [`Load`](crate::kernel::Load) is the source in which they are looked up. With `; ..file` at the end, the descriptions also include those of a file with a
/// [`kernel_family!`](crate::kernel_family).
///
/// ```
/// mod copy {
///     /// Copies a value.
///     ///
///     /// # Safety
///     /// Both are there.
///     #[warpplay_gpu::cuda::kernel]
///     pub unsafe fn copy_one(to: *mut u32, from: *const u32) {
///         // SAFETY: the contract.
///         unsafe { *to = *from };
///     }
/// }
/// warpplay_gpu::kernel_set! {
///     /// All of them.
///     copy::copy_one,
/// }
/// # fn main() {
/// assert_eq!(kernels()[0].name, "copy_one");
/// # }
/// ```
#[macro_export]
macro_rules! kernel_set {
    ($(#[$doc:meta])* $($module:ident::$kernel:ident),+ $(,)? $(; ..$family:ident)?) => {
        $(#[$doc])*
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(missing_docs, reason = "each field is the kernel of its name, which has its description")]
        pub struct Kernels<L: $crate::kernel::Load> {
            $(pub $kernel: L::Function<$module::$kernel>,)+
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl<L: $crate::kernel::Load> Kernels<L> {
            /// Looks up all kernels.
            ///
            /// # Errors
            /// One of them is missing.
            pub fn load(from: &L) -> ::core::result::Result<Self, L::Error> {
                Ok(Self { $($kernel: from.function($module::$kernel)?,)+ })
            }

            /// Passes all kernels to a visitor, in the order of the list.
            pub fn visit(&self, visitor: &mut impl $crate::kernel::Visit<L>) {
                $(visitor.kernel(&self.$kernel);)+
            }
        }

        /// Descriptions of all kernels.
        #[cfg(not(target_arch = "nvptx64"))]
        pub fn kernels() -> ::std::vec::Vec<$crate::kernel::KernelInfo> {
            let own = [$($crate::kernel::info::<$module::$kernel>()),+];
            own.into_iter()$(.chain($family::kernels()))?.collect()
        }
    };
}

/// Kernels that exist for several types, such as games or precisions: a trait with the type of each kernel, and the structure of all of them for one type.
///
/// A family is one list, a macro of its file that hands the kernels to `kernel_family!` once, with `Self` as the type, and to [`kernel_instance!`](crate::kernel_instance) for each type.
/// A kernel of the list is written as an `unsafe fn` whose body calls the generic function; the macro writes the `unsafe` around the body, since the kernel's contract is that
/// of the function. Its launch shape and lengths are declared as those of any kernel.
///
/// ```
/// mod copy {
///     /// Copies a value.
///     ///
///     /// # Safety
///     /// Both are there.
///     pub unsafe fn copy<T: Copy>(to: *mut T, from: *const T) {
///         // SAFETY: the contract.
///         unsafe { *to = *from };
///     }
///
///     macro_rules! list {
///         ($then:ident $given:tt $real:ty, $suffix:literal) => {
///             warpplay_gpu::$then! { $given
///                 /// Copies a value.
///                 #[kernel(suffix = $suffix, shape = warpplay_gpu::launch::LaunchShape::new(1, 1))]
///                 pub unsafe fn copy_one(#[len(1)] to: *mut $real, #[len(1)] from: *const $real) {
///                     copy(to, from)
///                 }
///             }
///         };
///     }
///
///     list! { kernel_family {
///         /// The kernels of a precision.
///         pub trait CopyKernels: bytemuck::Pod {}
///         /// They, looked up.
///         pub struct Kernels;
///         for f32, f64
///     } Self, "" }
///     list! { kernel_instance { pub mod single for f32: CopyKernels {} use super::copy; } f32, "f32" }
///     list! { kernel_instance { pub mod double for f64: CopyKernels {} use super::copy; } f64, "f64" }
/// }
/// # fn main() {
/// assert_eq!(copy::kernels().iter().map(|kernel| kernel.name).collect::<Vec<_>>(), ["copy_one_f32", "copy_one_f64"]);
/// # }
/// ```
#[macro_export]
macro_rules! kernel_family {
    (
        {
            $(#[$trait_doc:meta])*
            pub trait $family:ident: $bound:path { $($item:tt)* }
            $(#[$doc:meta])*
            pub struct $kernels:ident;
            $(for $($instance:ty),+)?
        }
        $($(#[doc = $text:expr])* #[kernel($($options:tt)*)]
        pub unsafe fn $kernel:ident($($(#[$declared:meta])* $parameter:ident: $type:ty),* $(,)?) { $($body:tt)* })+
    ) => {
        $(#[$trait_doc])*
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(non_camel_case_types, reason = "each type is the kernel of its name")]
        #[allow(missing_docs, reason = "each type is the kernel of its name, which has its description")]
        pub trait $family: $bound {
            $($item)*
            $($crate::cuda::kernel_type! { [$($options)*] unsafe fn $kernel($($(#[$declared])* $parameter: $type),*) {} })+

            /// Descriptions of all kernels.
            fn kernels() -> ::std::vec::Vec<$crate::kernel::KernelInfo> {
                ::std::vec![$($crate::kernel::info::<Self::$kernel>()),+]
            }
        }

        $(#[$doc])*
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(missing_docs, reason = "each field is the kernel of its name, which has its description")]
        pub struct $kernels<L: $crate::kernel::Load, T: $family> {
            $(pub $kernel: L::Function<T::$kernel>,)+
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl<L: $crate::kernel::Load, T: $family> $kernels<L, T> {
            /// Looks up all kernels.
            ///
            /// # Errors
            /// One of them is missing.
            pub fn load(from: &L) -> ::core::result::Result<Self, L::Error> {
                Ok(Self { $($kernel: from.function(<T::$kernel>::default())?,)+ })
            }
        }

        $(
            /// Descriptions of all kernels.
            #[cfg(not(target_arch = "nvptx64"))]
            pub fn kernels() -> ::std::vec::Vec<$crate::kernel::KernelInfo> {
                [$(<$instance as $family>::kernels()),+].concat()
            }
        )?
    };
}

/// The kernels of a [`kernel_family!`](crate::kernel_family) for one type, in their own module, and the family's trait for that type.
#[macro_export]
macro_rules! kernel_instance {
    (
        {
            $(#[$doc:meta])*
            pub mod $module:ident for $for:ty: $family:path { $($item:tt)* }
            $($use:item)*
        }
        $($(#[doc = $text:expr])* #[kernel($($options:tt)*)]
        pub unsafe fn $kernel:ident($($(#[$declared:meta])* $parameter:ident: $type:ty),* $(,)?) { $($body:tt)* })+
    ) => {
        $(#[$doc])*
        #[allow(clippy::macro_metavars_in_unsafe, reason = "the lists of kernels write `unsafe fn` themselves")]
        pub mod $module {
            $($use)*
            use $crate::cuda::kernel;
            $(
                $(#[doc = $text])*
                ///
                /// # Safety
                /// As the function that it calls, but for what the attribute declares.
                #[kernel($($options)*)]
                pub unsafe fn $kernel($($(#[$declared])* $parameter: $type),*) {
                    // SAFETY: the contract of the function is the kernel's.
                    unsafe { $($body)* }
                }
            )+
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl $family for $for {
            $($item)*
            $(type $kernel = $module::$kernel;)+
        }
    };
}
