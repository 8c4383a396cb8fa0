//! Device code of warpplay: every kernel, and the layer it is written in.
#![cfg_attr(
    target_arch = "nvptx64",
    no_std,
    feature(abi_ptx, stdarch_nvptx, asm_experimental_arch, link_llvm_intrinsics),
    allow(internal_features)
)]

extern crate self as warpplay_gpu;

pub mod cuda;
pub mod kernel;
pub mod launch;
#[cfg(feature = "mcts")]
pub mod mcts;
pub mod ptx;
#[cfg(not(target_arch = "nvptx64"))]
pub mod simt;

#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    cuda::trap()
}
