//! Gradients of filters against the plain program.

use proptest::prelude::*;
use warpplay::tile::{FilterGradient, FilterGradientBuilder, Tile, bf16, f16};
use warpplay::{Device, Error};
use warpplay_cpu_ref::tile::{Images, filter_gradient};
use warpplay_tests::Checked;
use warpplay_tests::backends::for_each_device;
use warpplay_tests::random::Random;
use warpplay_tests::strategies::config;

use crate::numbers::{Number, Parts, operand};

/// Sizes of a convolution.
#[derive(Clone, Copy, Debug)]
struct Case {
    /// Images, rows, pixels of a row.
    size: [u32; 3],
    channels: u32,
    outputs: u32,
    side: u32,
    /// Values more than needed between pixels of the gradient and of the images, in steps of 16 bytes.
    more: [u32; 2],
    /// Pixels of a division, in slabs of 64; all without one.
    slabs: Option<u32>,
    /// Parts of the gradient and of the images.
    parts: [u32; 2],
    /// Blocks that share the pixels of a tile.
    cluster: Option<u32>,
    seed: u64,
}

impl Case {
    fn of(size: [u32; 3], channels: u32, outputs: u32) -> Self {
        Self { size, channels, outputs, side: 3, more: [0; 2], slabs: None, parts: [1; 2], cluster: None, seed: 1 }
    }
}

/// Runs it and compares it with double precision.
///
/// Products are exact; a sum of as many as there are pixels that a tap meets is at most that number times `2⁻²²` of the sum of their sizes off, as of a product of matrices; and so is one of all pairs of parts, see [`Parts`]. Sums of divisions are added up in double precision.
fn check<T: Number>(device: &Device, case: Case, tile: Option<Tile>) -> Checked {
    let Case { size, channels, outputs, side, more, slabs, parts, cluster, seed } = case;
    let mut random = Random(seed);
    let n_pixels = size.iter().product::<u32>() as usize;
    let [gradient_stride, pixel_stride] =
        [(outputs, more[0]), (channels, more[1])].map(|(used, more)| used.next_multiple_of(8) + 8 * more);
    let (gradient, on_gradient) = operand::<T>(&mut random, n_pixels, [outputs, gradient_stride], parts[0]);
    let (images, on_images) = operand::<T>(&mut random, n_pixels, [channels, pixel_stride], parts[1]);
    let stream = device.stream()?;
    let (on_gradient, on_images) = (stream.upload(&on_gradient)?, stream.upload(&on_images)?);
    let builder = FilterGradient::<T>::builder(size, channels, outputs)
        .side(side)
        .tile(tile)
        .parts(parts[0], parts[1])
        .cluster(cluster);
    let builder = builder.gradient_stride(gradient_stride).pixel_stride(pixel_stride);
    let (built, divisions) = match slabs {
        Some(slabs) => (builder.division(64 * slabs).build(device)?, n_pixels.div_ceil(64 * slabs as usize)),
        None => (builder.build(device)?, 1),
    };
    let line = channels.next_multiple_of(64) as usize;
    let len = (outputs * side * side) as usize * line;
    let mut c = stream.upload(&vec![-77.0f32; divisions * len])?;
    built.run(&stream, &built.operands(&stream, &on_gradient, &on_images)?, &mut c)?;
    let mut got = vec![0.0; len];
    for part in stream.read(&c)?.chunks(len) {
        got.iter_mut().zip(part).for_each(|(sum, &value)| *sum += f64::from(value));
    }

    let [_, height, width] = size.map(|size| size as usize);
    let of = |values: &[f64], gradient: &[f64]| {
        let images = Images { values, height, width, channels: channels as usize, side: side as usize };
        filter_gradient(images, gradient, outputs as usize)
    };
    let expected = of(&images, &gradient);
    let absolute = |numbers: &[f64]| numbers.iter().map(|value| value.abs()).collect::<Vec<_>>();
    let sizes = of(&absolute(&images), &absolute(&gradient));
    let counts = of(&vec![1.0; images.len()], &vec![1.0; gradient.len()]);
    for (tap, line) in got.chunks(line).enumerate() {
        let (own, beyond) = line.split_at(channels as usize);
        for (channel, &got) in own.iter().enumerate() {
            let at = tap * channels as usize + channel;
            let (expected, bound) = (expected[at], Parts::of(parts).bound::<T>(counts[at]) * sizes[at]);
            let off = (got - expected).abs();
            assert!(
                off <= bound,
                "{case:?} {tile:?}, tap {tap}, channel {channel}: {got}, expected {expected}, off by {off}, at most {bound}"
            );
        }
        assert!(beyond.iter().all(|&value| value == 0.0), "{case:?} {tile:?}: channels that there are not");
    }
    Ok(())
}

/// Tiles, and how many blocks share their pixels.
const TILES: [(Tile, u32); 5] = [
    (Tile::Rows128Columns192, 1),
    (Tile::Rows128Columns128, 1),
    (Tile::Rows64Columns64, 1),
    (Tile::Rows64Columns64, 4),
    (Tile::Rows128Columns128, 2),
];

/// Boards of any size, outputs and channels at and around tiles and slabs.
#[test]
fn every_tile_has_the_plain_programs_gradient() {
    for_each_device(|device| {
        for (tile, cluster) in TILES {
            let case = Case { cluster: Some(cluster), ..Case::of([2, 8, 8], 64, 64) };
            check::<bf16>(device, case, Some(tile))?;
            check::<f16>(
                device,
                Case { size: [3, 6, 7], channels: 70, outputs: 65, more: [1, 1], ..case },
                Some(tile),
            )?;
        }
        for [height, width] in [[9, 9], [15, 15], [1, 1], [2, 70]] {
            check::<f16>(device, Case::of([2, height, width], 9, 11), None)?;
        }
        check::<bf16>(device, Case { side: 5, ..Case::of([2, 4, 5], 5, 3) }, None)?;
        check::<bf16>(device, Case { side: 7, slabs: Some(1), ..Case::of([3, 8, 8], 8, 8) }, None)
    });
}

/// Numbers of two and three parts, in every tile. With few pixels the bound of [`check`] is below what a part less, or a pair of parts less, would leave.
#[test]
fn gradient_and_images_in_parts() {
    for_each_device(|device| {
        for parts in [[2, 2], [3, 3], [1, 3], [3, 1], [2, 1], [1, 2]] {
            check::<bf16>(device, Case { parts, ..Case::of([3, 5, 6], 70, 66) }, None)?;
            check::<bf16>(device, Case { parts, slabs: Some(1), more: [1, 2], ..Case::of([3, 6, 7], 5, 9) }, None)?;
            check::<bf16>(device, Case { parts, ..Case::of([1, 1, 2], 30, 30) }, None)?;
        }
        for (tile, cluster) in TILES {
            let cluster = Some(cluster);
            let case = Case { cluster, parts: [3, 3], side: 5, more: [1, 1], ..Case::of([2, 7, 8], 9, 10) };
            check::<bf16>(device, case, Some(tile))?;
        }
        Ok(())
    });
}

proptest! {
    #![proptest_config(config("tile_filter_gradient", 8))]

    #[test]
    fn any_gradient_is_the_plain_programs(
        size in [1u32..5, 1u32..10, 1u32..10], channels in 1u32..80, outputs in 1u32..80, side in proptest::sample::select(&[3u32, 5]),
        more in [0u32..3, 0u32..3], slabs in proptest::option::of(1u32..4),
        parts in [1u32..4, 1u32..4], seed in any::<u64>(),
    ) {
        let case = Case { size, channels, outputs, side, more, slabs, parts, cluster: None, seed };
        for_each_device(|device| check::<bf16>(device, case, None));
    }
}

#[test]
fn what_has_no_gradient_is_refused() {
    let device = Device::simt();
    let error = |builder: FilterGradientBuilder<bf16>| builder.build(&device).expect_err("refused").to_string();
    let of = |channels| FilterGradient::builder([2, 8, 8], channels, 8);
    assert!(error(of(8).side(1)).contains("option side: 1 is not allowed (3, 5 or 7"));
    assert!(error(of(0)).contains("option channels: 0"));
    assert!(error(of(9)).contains("option pixel_stride: 9"));
    // Taps times channels are columns, of which there are at most 2²⁴.
    let said = error(of(342_400).side(7));
    assert!(said.contains("option channels: 342400 is not allowed (1 to 342336 with side 7)"), "{said}");
    assert!(error(of(8).gradient_stride(4)).contains("option gradient_stride: 4"));
    assert!(error(of(8).parts(1, 4)).contains("option b_parts: 4 is not allowed (1 to 3 in bf16)"));
    assert!(error(of(8).division(60)).contains("option division: 60"));
    let said = error(of(8).tile(Tile::Rows128Columns256));
    assert!(said.contains("option tile: 128x256 is not allowed (128x192, 128x128 or 64x64)"), "{said}");
    let said = FilterGradient::<f32>::builder([2, 8, 8], 8, 8).build(&device).expect_err("refused").to_string();
    assert!(said.contains("option precision: tf32 is not allowed (bf16 or f16"), "{said}");
    let stream = device.stream().expect("a stream");
    let built = of(8).build(&device).expect("a gradient");
    let [whole, short] = [1024, 1023].map(|len| stream.alloc::<bf16>(len).expect("a buffer"));
    let error = |result: Result<(), Error>| result.expect_err("refused").to_string();
    assert!(error(built.operands(&stream, &short, &whole).map(drop)).contains("at least 1024 values"));
    assert!(error(built.operands(&stream, &whole, &short).map(drop)).contains("at least 1024 values"));
}
