//! The largest of 2 × 2 pixels and its gradient, kernel and plain program alone: ties, and what is no number, at each place.

use warpplay::Module;
use warpplay_cpu_ref::mlp::conv::pieces;
use warpplay_gpu::mlp::layers::pool::{mlp_layers_pool, mlp_layers_pool_back};
use warpplay_gpu::ptx::embedded::MLP_LAYERS;
use warpplay_tests::backends::for_each_device;
use warpplay_tests::tolerance::same;

const CHANNELS: usize = 4;

/// bfloat16 of numbers that it holds; NaN stays one.
fn bits(values: &[f32]) -> Vec<u16> {
    values.iter().map(|value| (value.to_bits() >> 16) as u16).collect()
}

/// The numbers, all NaN as one.
fn numbers(bits: &[u16]) -> Vec<String> {
    bits.iter().map(|&bits| f32::from_bits(u32::from(bits) << 16).to_string()).collect()
}

/// Each assignment of these numbers to four pixels.
fn windows() -> Vec<[f32; 4]> {
    let all = [-1.0, 0.0, 2.0, f32::INFINITY, f32::NAN];
    let digit = |number: usize, place: u32| all[number / all.len().pow(place) % all.len()];
    (0..all.len().pow(4)).map(|number| [0, 1, 2, 3].map(|place| digit(number, place))).collect()
}

/// As PyTorch's `MaxPool2d` takes them: a NaN is larger than all others, and the last one has the gradient.
#[test]
fn a_maximum_with_what_is_no_number_is_none() {
    let windows = windows();
    // Windows side by side: [2 rows, 2 n columns, channels].
    let (n, mut values, mut largest, mut moved) = (windows.len(), vec![], vec![], vec![]);
    for row in 0..2 {
        for window in &windows {
            for pixel in 0..2 {
                for channel in 0..CHANNELS {
                    values.push(window[(2 * row + pixel + channel) % 4]);
                }
            }
        }
    }
    let gradient: Vec<f32> = (0..n * CHANNELS).map(|at| (at % 7 + 1) as f32).collect();
    for window in &windows {
        for channel in 0..CHANNELS {
            let pixels = [0, 1, 2, 3].map(|pixel| window[(pixel + channel) % 4]);
            let of_nan = pixels.iter().rposition(|value| value.is_nan());
            let most = pixels.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let of_most = of_nan.or_else(|| pixels.iter().position(|&value| value == most)).expect("four numbers");
            largest.push(pixels[of_most]);
            moved.push(if of_nan.is_some() || most > 0.0 { Some(of_most) } else { None });
        }
    }
    let mut sums = vec![0.0; values.len()];
    for (at, pixel) in moved.iter().enumerate().filter_map(|(at, pixel)| Some((at, (*pixel)?))) {
        let (window, channel) = (at / CHANNELS, at % CHANNELS);
        sums[((pixel / 2 * n + window) * 2 + pixel % 2) * CHANNELS + channel] = gradient[at];
    }
    let (largest, sums) = (numbers(&bits(&largest)), numbers(&bits(&sums)));
    let size = [2, 2 * n];
    same("of the plain program", &numbers(&bits(&pieces::pool(&values, size, CHANNELS))), &largest);
    let found = pieces::pool_backward(&values, &gradient, size, CHANNELS);
    same("back of the plain program", &numbers(&bits(&found)), &sums);
    for_each_device(|device| {
        let stream = device.stream()?;
        let module = Module::load(device, &MLP_LAYERS)?;
        let (pool, back) = (module.function(mlp_layers_pool)?, module.function(mlp_layers_pool_back)?);
        let (values, gradient) = (stream.upload(&bits(&values))?, stream.upload(&bits(&gradient))?);
        let mut found = stream.alloc::<u16>(n * CHANNELS)?;
        let mut of_values = stream.alloc::<u16>(4 * n * CHANNELS)?;
        let (n, channels) = (n as u32, CHANNELS as u32);
        // SAFETY: buffers begin at multiples of 8 bytes.
        unsafe {
            stream.run_unchecked(&pool, (&values, &mut found, n, n, channels))?;
            stream.run_unchecked(&back, (&values, &gradient, &mut of_values, n, n, channels))?;
        }
        same(&format!("on {device}"), &numbers(&stream.read(&found)?), &largest);
        same(&format!("back on {device}"), &numbers(&stream.read(&of_values)?), &sums);
        Ok(())
    });
}
