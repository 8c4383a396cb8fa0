//! (module abstraction)

#[cfg(not(target_arch = "nvptx64"))]
use crate::kernel::KernelInfo;

/// All kernels of the module.
#[cfg(not(target_arch = "nvptx64"))]
pub fn kernels() -> Vec<KernelInfo> {
    Vec::new()
}
