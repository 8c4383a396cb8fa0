//! One body, every back end.

use std::sync::Once;

use warpplay::{Backend, Device, PtxSet};

use crate::Checked;
use crate::skipped::skipped;

/// Whether an environment variable demands something.
pub fn demanded(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| value == "1")
}

/// The devices that kernels run on: `simt`, and the first GPU if there is one. Says which, once a program.
///
/// # Panics
/// With `WARPPLAY_REQUIRE_GPU=1` if there is none.
pub fn kernel_devices() -> Vec<Device> {
    static SAID: Once = Once::new();
    let mut devices = vec![Device::simt()];
    match Device::cuda(0) {
        Ok(device) => {
            SAID.call_once(|| println!("back ends: simt, cuda ({})", device.name()));
            devices.push(device);
        }
        Err(error) => {
            assert!(!demanded("WARPPLAY_REQUIRE_GPU"), "WARPPLAY_REQUIRE_GPU=1, but: {error}");
            SAID.call_once(|| println!("back ends: simt; no cuda: {error}"));
        }
    }
    devices
}

/// Runs a property on every device that runs kernels.
///
/// # Panics
/// If it fails on one, with the device's name.
pub fn for_each_device(property: impl Fn(&Device) -> Checked) {
    for device in kernel_devices() {
        if let Err(error) = property(&device) {
            panic!("on {device}: {error}");
        }
    }
}

/// As [`for_each_device`], and each of them in the place of one of compute capability 8.0 as well: engines that choose other kernels there.
///
/// # Panics
/// If it fails on one, with the device's name.
pub fn for_each_architecture(property: impl Fn(&Device) -> Checked) {
    for_each_device_and_as(&[(8, 0)], property);
}

/// As [`for_each_architecture`], and in the place of one of compute capability 7.5 too, which has f32 alone.
///
/// # Panics
/// If it fails on one, with the device's name.
pub fn for_each_architecture_of_f32(property: impl Fn(&Device) -> Checked) {
    for_each_device_and_as(&[(8, 0), (7, 5)], property);
}

fn for_each_device_and_as(capabilities: &[(u32, u32)], property: impl Fn(&Device) -> Checked) {
    for_each_device(|device| {
        property(device)?;
        let own = device.info()?.compute_capability;
        for &(major, minor) in capabilities.iter().filter(|&&older| own.is_none_or(|own| own > older)) {
            property(&device.with_capability(major, minor)?)?;
        }
        Ok(())
    });
}

/// A device, the same once more, and a second GPU of its kind where there is one: they should give the same bits. Says, once a program, where there is none.
pub fn alike(device: &Device) -> Vec<Device> {
    let mut devices = vec![device.clone(), device.clone()];
    static SAID: Once = Once::new();
    if device.backend() == Backend::Cuda {
        match Device::cuda(1) {
            Ok(second) if second.name() == device.name() => devices.push(second),
            Ok(second) => SAID.call_once(|| skipped(format!("the second GPU is of another kind: {}", second.name()))),
            Err(error) => SAID.call_once(|| skipped(format!("there is no second GPU: {error}"))),
        }
    }
    devices
}

/// The GPU, where there is one; a test that needs it says that it was not run.
///
/// # Panics
/// As [`kernel_devices`].
pub fn gpu() -> Option<Device> {
    let gpu = kernel_devices().into_iter().find(|device| device.backend() == Backend::Cuda);
    if gpu.is_none() {
        skipped("there is no GPU");
    }
    gpu
}

/// `set` with one image each, for all images that the device runs: code for older architectures is tried too. Under `simt` the set as it is.
pub fn each_image(device: &Device, set: &PtxSet) -> Vec<PtxSet> {
    let Some((major, minor)) = device.info().ok().and_then(|info| info.compute_capability) else { return vec![*set] };
    let arch = |name: &str| name.trim_start_matches("sm_").trim_end_matches('a').parse::<u32>().unwrap_or(u32::MAX);
    let runs = |at: &usize| arch(set.images[*at].arch) <= 10 * major + minor;
    let sets: Vec<PtxSet> =
        (0..set.images.len()).filter(runs).map(|at| PtxSet { images: &set.images[at..at + 1], ..*set }).collect();
    // An empty set gives the library's own error.
    if sets.is_empty() { vec![*set] } else { sets }
}
