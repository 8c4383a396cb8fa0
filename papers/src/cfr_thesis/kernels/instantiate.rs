//! The kernels in single and in double precision, for each way to keep rows and utilities.

#[cfg(not(target_arch = "nvptx64"))]
use super::sequence::Phase;
#[cfg(not(target_arch = "nvptx64"))]
use warpplay_gpu::cfr::regret::Real;

/// The kernels, handed to a macro of [`warpplay_gpu::kernel`] behind what is given to it.
macro_rules! list {
    ($then:ident $given:tt $real:ty, $suffix:literal) => {
        ways! { $then $given $real, $suffix;
            SHARED cfr_thesis_down_shared cfr_thesis_up_shared,
            GLOBAL cfr_thesis_down_global cfr_thesis_up_global,
            REGISTERS cfr_thesis_down_registers cfr_thesis_up_registers
        }
    };
}

/// The same two kernels for each way.
macro_rules! ways {
    ($then:ident $given:tt $real:ty, $suffix:literal; $($home:ident $down:ident $up:ident),+) => {
        warpplay_gpu::$then! { $given $(
            /// The first phase at one level: strategies, averages and reaches. The name says where rows and utilities are kept, and the precision.
            ///
            /// * Launch: [`shape`](crate::cfr_thesis::kernels::shape), once a level; a thread a sequence of it, blocks of 64 by default.
            /// * Reads: the level's list in `order`, `sequences`, `regrets` of the acting seat's bucket, `reaches` of the level.
            /// * Writes: `strategies` and `averages` of the level, `reaches` of the next.
            /// * Shared: dynamic, but with rows in global memory: 3 + max(seats, 3) values of each thread.
            /// * Cost: 3 actions × seats steps a thread.
            /// * Twin: `warpplay_cpu_ref::cfr::sampled::levels::Sampled::down`.
            /// * Source: Reis 2015, section 4.3 (first phase), section 4.3.2 and Figure 21.
            #[kernel(suffix = $suffix, max_threads = BLOCK, min_blocks = BLOCKS)]
            pub unsafe fn $down(phase: Phase<$real>) {
                down::<$real, { home::$home }>(phase)
            }

            /// The second phase at one level: utilities and regrets. The name says where rows and utilities are kept, and the precision.
            ///
            /// * Launch: [`shape`](crate::cfr_thesis::kernels::shape), once a level; a thread a sequence of it, blocks of 64 by default.
            /// * Reads: the level's list in `order`, `sequences`, `strategies` and `reaches` of the level, `utilities` of the next, `ends`, `stakes`.
            /// * Writes: `regrets` and `utilities` of the level; at the root `sums` and `next`.
            /// * Shared: dynamic, but with rows in global memory: 3 + max(seats, 3) values of each thread.
            /// * Cost: 3 actions × seats steps a thread.
            /// * Twin: `warpplay_cpu_ref::cfr::sampled::levels::Sampled::up`.
            /// * Source: Reis 2015, section 4.3 (second phase) and section 4.3.2.
            #[kernel(suffix = $suffix, max_threads = BLOCK, min_blocks = BLOCKS)]
            pub unsafe fn $up(phase: Phase<$real>) {
                up::<$real, { home::$home }>(phase)
            }
        )+ }
    };
}

list! { kernel_family {
    /// The kernels of a precision.
    pub trait ThesisKernels: Real {}
    /// The kernels of a precision, looked up.
    pub struct Kernels;
    for f32, f64
} Self, "" }

/// Names that the instances need.
mod names {
    pub(super) use crate::cfr_thesis::kernels::down::down;
    pub(super) use crate::cfr_thesis::kernels::kept::home;
    pub(super) use crate::cfr_thesis::kernels::sequence::Phase;
    pub(super) use crate::cfr_thesis::kernels::up::up;
    pub(super) use crate::cfr_thesis::kernels::{BLOCK, BLOCKS};
}

list! { kernel_instance {
    /// The kernels in single precision.
    pub mod single for f32: ThesisKernels {}
    use super::names::*;
} f32, "f32" }

list! { kernel_instance {
    /// The kernels in double precision.
    pub mod double for f64: ThesisKernels {}
    use super::names::*;
} f64, "f64" }
