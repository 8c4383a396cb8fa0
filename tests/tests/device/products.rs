//! Products of a warpgroup, and by each warp alone, of numbers whose sums are exact.

use warpplay::{LaunchShape, Module};
use warpplay_test_kernels::products::{SUMS, test_group_products};
use warpplay_test_kernels::ptx::PRODUCTS;
use warpplay_tests::backends::{each_image, for_each_architecture};
use warpplay_tests::tolerance::same;

/// A whole number of -15 to 15 in half precision.
fn half(value: i32) -> u32 {
    let magnitude = value.unsigned_abs();
    if magnitude == 0 {
        return 0;
    }
    let exponent = magnitude.ilog2();
    let sign = if value < 0 { 0x8000 } else { 0 };
    sign | (exponent + 15) << 10 | (magnitude << (10 - exponent)) & 0x3FF
}

#[test]
fn products_of_a_group_and_of_its_warps_are_the_exact_ones() {
    // Without a pattern that a wrong row, column or half of the depth would repeat.
    let number = |salt: u32, row: usize, column: usize| -> i32 {
        let mixed = (row as u32 * 131 + column as u32 * 17 + salt).wrapping_mul(0x9e37_79b9) >> 13;
        (mixed % 31) as i32 - 15
    };
    let a = |row: usize, depth: usize| number(1, row, depth);
    let b = |depth: usize, column: usize| number(2, depth, column);
    let c = |row: usize, column: usize| number(3, row, column);
    let product = |row, column| c(row, column) + (0..16).map(|depth| a(row, depth) * b(depth, column)).sum::<i32>();
    let pair = |low: i32, high: i32| half(low) | half(high) << 16;
    let (mut words, mut starts, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    for thread in 0..128 {
        let (g, t, first) = (thread % 32 / 4, thread % 4, thread / 32 * 16);
        for (row, depth) in [(g, 0), (g + 8, 0), (g, 8), (g + 8, 8)] {
            words.push(pair(a(first + row, depth + 2 * t), a(first + row, depth + 2 * t + 1)));
        }
        let places: Vec<_> = (0..16).map(|at| (first + g + at % 4 / 2 * 8, at / 4 * 8 + 2 * t + at % 2)).collect();
        starts.extend(places.iter().map(|&(row, column)| c(row, column) as f32));
        let sums: Vec<f32> = places.iter().map(|&(row, column)| product(row, column) as f32).collect();
        for part in [&sums[..], &sums, &sums[..8], &sums[..8]] {
            expected.extend_from_slice(part);
        }
    }
    let columns = (0..2).flat_map(|half| (0..32).map(move |column| (half, column)));
    let tiles: Vec<u32> = columns
        .flat_map(|(half, column)| {
            [0, 2, 4, 6].map(|depth| pair(b(8 * half + depth, column), b(8 * half + depth + 1, column)))
        })
        .collect();
    for_each_architecture(|device| {
        for set in each_image(device, &PRODUCTS) {
            let stream = device.stream()?;
            let function = Module::load(device, &set)?.function(test_group_products)?;
            let (words, tiles, starts) = (stream.upload(&words)?, stream.upload(&tiles)?, stream.upload(&starts)?);
            let mut out = stream.alloc::<f32>(128 * SUMS)?;
            // SAFETY: the arrays have as many values as the kernel says.
            unsafe { stream.launch(&function, LaunchShape::new(1, 128), (&words, &tiles, &starts, &mut out))? };
            same("sums", &stream.read(&out)?, &expected);
        }
        Ok(())
    });
}
