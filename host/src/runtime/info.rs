//! What is known of devices, as plain data: nothing here opens one.

use std::fmt;

use serde::{Deserialize, Serialize};
use warpplay_gpu::launch::LaunchShape;

use crate::runtime::error::{Error, Result};

/// Where kernels run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// An NVIDIA GPU.
    Cuda,
    /// The CPU, which executes the kernels' source thread by thread: slow, but reports broken rules. For tests.
    Simt,
    /// The CPU with plain implementations on all cores. It runs no kernels.
    Cpu,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Cuda => "cuda",
            Self::Simt => "simt",
            Self::Cpu => "cpu",
        })
    }
}

/// Properties of a device, known without opening it. A number that does not apply to the back end is 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// The back end.
    pub backend: Backend,
    /// Number of the device within its back end, from 0.
    pub ordinal: usize,
    /// The maker's name.
    pub name: String,
    /// Compute capability as (major, minor); `None` on the CPU.
    pub compute_capability: Option<(u32, u32)>,
    /// CUDA version of the driver as (major, minor); `None` on the CPU.
    pub driver_version: Option<(u32, u32)>,
    /// Multiprocessors of a GPU, hardware threads of a CPU.
    pub n_multiprocessors: u32,
    /// Total memory in bytes.
    pub memory_bytes: u64,
    /// Second-level cache in bytes.
    pub l2_bytes: u64,
    /// Most threads of one block.
    pub max_threads_per_block: u32,
    /// Most threads that a multiprocessor holds at once.
    pub max_threads_per_multiprocessor: u32,
    /// Most shared memory of one block in bytes, static and dynamic together.
    pub max_shared_per_block: u32,
    /// Shared memory of a multiprocessor in bytes.
    pub max_shared_per_multiprocessor: u32,
    /// Registers of 32 bits of a multiprocessor.
    pub max_registers_per_multiprocessor: u32,
}

impl DeviceInfo {
    /// The newest PTX version that the driver compiles, as (major, minor); `None` on the CPU.
    ///
    /// From the driver's CUDA version by NVIDIA's table; a lower bound for a driver newer than the table.
    pub fn ptx_version(&self) -> Option<(u32, u32)> {
        self.driver_version.map(crate::runtime::driver::ptx_version)
    }
}

/// Free and total memory in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreeMemory {
    /// Free now.
    pub free: u64,
    /// Total.
    pub total: u64,
}

/// Name of the device as [`Device::parse`] reads it: `cuda:0`, `cpu`, `simt`.
pub(crate) fn device_name(backend: Backend, ordinal: usize) -> String {
    match backend {
        Backend::Cuda => format!("cuda:{ordinal}"),
        Backend::Simt if ordinal > 0 => format!("simt:{ordinal}"),
        Backend::Simt | Backend::Cpu => backend.to_string(),
    }
}

/// Limits of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) max_grid: [u32; 3],
    pub(crate) max_block: [u32; 3],
    pub(crate) max_threads: u32,
    pub(crate) max_shared_bytes: u32,
    pub(crate) max_cluster: u32,
    pub(crate) cooperative: bool,
}

impl Limits {
    /// The limits that `simt` enforces: those of a GPU of compute capability 9.0.
    pub(crate) const SIMT: Self = Self {
        max_grid: [i32::MAX as u32, 65_535, 65_535],
        max_block: [1024, 1024, 64],
        max_threads: 1024,
        max_shared_bytes: 227 * 1024,
        max_cluster: 16,
        cooperative: true,
    };

    /// Checks a shape against the device, and against what the kernel allows.
    ///
    /// * `max_threads`: most threads of a block for this kernel, at most the device's.
    /// * `static_shared_bytes`: shared memory that the kernel declares itself.
    pub(crate) fn check(
        &self,
        kernel: &str,
        shape: &LaunchShape,
        max_threads: u32,
        static_shared_bytes: u32,
    ) -> Result<()> {
        let refuse = |what: &str, expected: String, got: String| {
            Err(Error::shape(format!("kernel {kernel}: {what}"), expected, got))
        };
        for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
            let (n, most) = (shape.grid[axis], self.max_grid[axis]);
            if n == 0 || n > most {
                return refuse(&format!("blocks along {name}"), format!("1 to {most}"), n.to_string());
            }
            let (n, most) = (shape.block[axis], self.max_block[axis]);
            if n == 0 || n > most {
                return refuse(&format!("threads along {name}"), format!("1 to {most}"), n.to_string());
            }
        }
        let threads: u64 = shape.block.iter().map(|&n| u64::from(n)).product();
        let most = max_threads.min(self.max_threads);
        if threads > u64::from(most) {
            return refuse("threads of a block", format!("1 to {most}"), threads.to_string());
        }
        let most = self.max_shared_bytes.saturating_sub(static_shared_bytes);
        if shape.shared_bytes > most {
            return refuse("bytes of dynamic shared memory", format!("at most {most}"), shape.shared_bytes.to_string());
        }
        let cluster = shape.cluster;
        if cluster == 0 || cluster > self.max_cluster {
            return refuse(
                "blocks of a cluster",
                match self.max_cluster {
                    1 => "1, since this device has no clusters (compute capability 9.0 has)".into(),
                    most => format!("1 to {most}"),
                },
                cluster.to_string(),
            );
        }
        if !shape.grid[0].is_multiple_of(cluster) {
            return refuse(
                "blocks along x",
                format!("a multiple of the cluster's {cluster}"),
                shape.grid[0].to_string(),
            );
        }
        if shape.cooperative && !self.cooperative {
            return refuse(
                "launch",
                "an ordinary one, since this device has no cooperative launches".into(),
                "a cooperative one".into(),
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(shape: LaunchShape) -> String {
        Limits::SIMT.check("k", &shape, 256, 1024).expect_err("the shape is wrong").to_string()
    }

    #[test]
    fn shapes_are_checked_with_the_kernels_name() {
        assert!(Limits::SIMT.check("k", &LaunchShape::new(1, 256), 256, 0).is_ok());
        assert_eq!(refusal(LaunchShape::new(0, 32)), "kernel k: blocks along x: expected 1 to 2147483647, got 0");
        assert_eq!(refusal(LaunchShape::new(1, 257)), "kernel k: threads of a block: expected 1 to 256, got 257");
        assert_eq!(refusal(LaunchShape::new(1, 2000)), "kernel k: threads along x: expected 1 to 1024, got 2000");
        assert_eq!(
            refusal(LaunchShape::new(1, 32).with_shared(227 * 1024)),
            "kernel k: bytes of dynamic shared memory: expected at most 231424, got 232448"
        );
        assert_eq!(
            refusal(LaunchShape::new(3, 32).with_cluster(2)),
            "kernel k: blocks along x: expected a multiple of the cluster's 2, got 3"
        );
    }
}
