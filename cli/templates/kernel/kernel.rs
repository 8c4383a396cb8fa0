//! The kernel, held to the plain function.

use my_game::{PTX, scale_and_add, scaled_sum};
use warpplay::{Device, Module};

/// Lengths around a block.
const LENGTHS: [usize; 5] = [1, 127, 128, 129, 1000];

#[test]
fn every_element_is_that_of_the_plain_function() -> warpplay::Result<()> {
    // The GPU, where there is one.
    let devices = [Some(Device::simt()), Device::cuda(0).ok()];
    for device in devices.into_iter().flatten() {
        let stream = device.stream()?;
        let kernel = Module::load(&device, &PTX)?.function(scale_and_add)?;
        for n in LENGTHS {
            let x: Vec<f32> = (0..n).map(|at| at as f32).collect();
            let y: Vec<f32> = (0..n).map(|at| 0.5 * at as f32).collect();
            let (x_there, y_there) = (stream.upload(&x)?, stream.upload(&y)?);
            let mut out = stream.alloc::<f32>(n)?;
            stream.run(&kernel, (&x_there, &y_there, &mut out, 2.0, n as u32))?;
            // The factor 2 and halves are exact, so that a fused multiplication would give the same.
            let expected: Vec<f32> = x
                .iter()
                .zip(&y)
                .map(|(&x, &y)| scaled_sum(2.0, x, y))
                .collect();
            assert_eq!(stream.read(&out)?, expected, "{n} on {device}");
        }
    }
    Ok(())
}
