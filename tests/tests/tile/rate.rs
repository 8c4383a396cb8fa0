//! The kernels that measure the peak of `mma.sync`.

use warpplay::{Device, Kernel, LaunchShape, Module};
use warpplay_test_kernels::{ptx, rate};
use warpplay_tests::Checked;
use warpplay_tests::backends::for_each_device;
use warpplay_tests::tolerance::same;

#[test]
fn the_rate_is_that_of_as_many_products_as_are_counted() {
    for_each_device(|device| {
        // Below compute capability 8.0 there are none.
        if device.info()?.compute_capability.is_some_and(|own| own < (8, 0)) {
            return Ok(());
        }
        counted(device, rate::test_rate_f16, (0x3C00_3C00, 16))?;
        counted(device, rate::test_rate_bf16, (0x3F80_3F80, 16))?;
        counted(device, rate::test_rate_tf32, (0x3F80_0000, 8))
    });
}

/// Fragments of ones: each product adds its depth to every element, 4 of each accumulator.
fn counted<K: Kernel<Params = (*mut f32, u32, u32, u32)>>(
    device: &Device,
    kernel: K,
    (one, depth): (u32, u32),
) -> Checked {
    let (stream, n_threads, n) = (device.stream()?, 32 * rate::WARPS, 3u32);
    let function = Module::load(device, &ptx::LAYER)?.function(kernel)?;
    let mut out = stream.alloc::<f32>(n_threads as usize)?;
    // SAFETY: a block of as many warps as the kernel asks for, and a value a thread.
    unsafe { stream.launch(&function, LaunchShape::new(1, n_threads), (&mut out, n, one, one))? };
    stream.synchronize()?;
    let sum = depth * n * (4 * rate::UNROLLED * rate::ACCUMULATORS) as u32;
    same("sums", &stream.read(&out)?, &vec![sum as f32; n_threads as usize]);
    Ok(())
}
