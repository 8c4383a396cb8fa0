//! The sums over the divisions of a filters' gradient, the kernel alone: few parts and many, which other numbers of threads share.

use warpplay::Module;
use warpplay_gpu::azero::train::short::azero_train_sum_filters;
use warpplay_gpu::ptx::embedded::AZERO_TRAIN;
use warpplay_tests::backends::for_each_device;
use warpplay_tests::random::Random;
use warpplay_tests::tolerance::same;

const TAPS: usize = 9;

#[test]
fn parts_are_added_up_whatever_their_number() {
    for_each_device(|device| {
        let stream = device.stream()?;
        let sum = Module::load(device, &AZERO_TRAIN)?.function(azero_train_sum_filters)?;
        for (n_parts, n_inputs, n_outputs, columns) in
            [(1, 4, 4, 64), (9, 12, 8, 64), (22, 68, 12, 128), (32, 8, 4, 8), (33, 4, 8, 64), (132, 12, 12, 16)]
        {
            // Whole numbers, whose sums have no rounding.
            let mut random = Random(n_parts as u64);
            let len = n_parts * n_outputs * TAPS * columns;
            let parts: Vec<f32> = (0..len).map(|_| (64.0 * random.unit()).floor() - 32.0).collect();
            let mut expected = vec![0.0; TAPS * n_inputs * n_outputs];
            for (line, values) in parts.chunks(columns).enumerate() {
                let (tap, output) = (line % TAPS, line / TAPS % n_outputs);
                for (input, value) in values[..n_inputs].iter().enumerate() {
                    expected[(tap * n_inputs + input) * n_outputs + output] += value;
                }
            }
            let parts = stream.upload(&parts)?;
            let mut found = stream.alloc::<f32>(expected.len())?;
            let [of, inputs, outputs, line] = [n_parts, n_inputs, n_outputs, columns].map(|size| size as u32);
            // SAFETY: buffers begin at multiples of 16 bytes.
            unsafe { stream.run_unchecked(&sum, (&parts, &mut found, of, inputs, outputs, line))? };
            same(&format!("{n_parts} parts on {device}"), &stream.read(&found)?, &expected);
        }
        Ok(())
    });
}
