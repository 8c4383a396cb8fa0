//! Convolutions against the plain program: images of any size, every format and tile.

use proptest::prelude::*;
use warpplay::tile::{self, Convolution, ConvolutionBuilder, F8E4M3, Operand, Output, Tile, bf16, f16};
use warpplay::{Device, Error};
use warpplay_cpu_ref::tile::{Epilogue, Images, convolution};
use warpplay_tests::Checked;
use warpplay_tests::backends::for_each_device;
use warpplay_tests::random::Random;
use warpplay_tests::strategies::config;

use crate::numbers::{Number, Parts, operand};

/// Sizes and strides of a convolution.
#[derive(Clone, Copy, Debug)]
struct Case {
    /// Images, rows, pixels of a row.
    size: [u32; 3],
    channels: u32,
    outputs: u32,
    side: u32,
    /// Values more than needed between pixels and between taps (in steps of 16 bytes), and between pixels of C.
    more: [u32; 3],
    bias: bool,
    /// Whether something is added to C, and whether that is in single precision and not in the operands' format.
    residual: Option<bool>,
    rectifier: bool,
    /// Whether C is masked, which formats of 16 bits can be.
    mask: bool,
    factor: f32,
    /// Parts of images and filters, of 16 bits.
    parts: [u32; 2],
    /// Parts of a C of 16 bits.
    c_parts: u32,
    seed: u64,
}

impl Case {
    fn of(size: [u32; 3], channels: u32, outputs: u32) -> Self {
        Self {
            size,
            channels,
            outputs,
            side: 3,
            more: [0; 3],
            bias: true,
            residual: None,
            rectifier: true,
            mask: false,
            factor: 1.0,
            parts: [1; 2],
            c_parts: 1,
            seed: 1,
        }
    }

    fn n_pixels(&self) -> usize {
        self.size.iter().product::<u32>() as usize
    }

    /// Taps of all filters.
    fn n_taps(&self) -> usize {
        (self.outputs * self.side * self.side) as usize
    }

    /// From a pixel, a tap, a pixel of C and one of the mask to the next.
    fn strides<T>(&self) -> [u32; 4] {
        let step = 16 / size_of::<T>() as u32;
        let [pixel, tap, c] = self.more;
        let channels = self.channels.next_multiple_of(step);
        [channels + pixel * step, channels + tap * step, self.outputs + c, self.outputs.next_multiple_of(4) + 4 * c]
    }

    fn builder<T: Operand>(&self) -> ConvolutionBuilder<T> {
        let [pixel, tap, c, mask] = self.strides::<T>();
        let builder = Convolution::builder(self.size, self.channels, self.outputs).side(self.side);
        let builder = builder.pixel_stride(pixel).tap_stride(tap).c_stride(c).mask_stride(mask);
        let [images, filters] = self.parts;
        builder.rectifier(self.rectifier).factor(self.factor).parts(images, filters)
    }
}

/// The first `used` numbers of each line.
fn used_of<T: Number>(lie: &[T], used: usize, stride: usize, of: fn(T) -> f64) -> Vec<f64> {
    lie.chunks(stride).flat_map(|line| line[..used].iter().map(|&value| of(value))).collect()
}

/// What lies between pixels of C before and after.
const UNTOUCHED: f32 = -77.0;

/// Runs a convolution and compares it with double precision; returns the values of C.
///
/// Products are exact; a sum of as many as a filter has weights inside of the image is at most [`cut_off`](Number::cut_off) of the sum of their sizes off, as of a product of matrices; and so is one of all pairs of parts, see [`Parts`]. Bias and residual are added, which rounds twice, and the result is rounded to the format of C; in parts, by
/// each of them.
fn check<T: Number + Operand<Short: Number>, C: Output<T> + Number>(
    device: &Device,
    case: Case,
    tile: Option<Tile>,
    rounding: f64,
) -> Result<Vec<f64>, Error> {
    let mut random = Random(case.seed);
    let [pixel, tap, c_stride, mask_stride] = case.strides::<T>();
    let (images, on_images) = operand::<T>(&mut random, case.n_pixels(), [case.channels, pixel], case.parts[0]);
    let (filters, on_filters) = operand::<T>(&mut random, case.n_taps(), [case.channels, tap], case.parts[1]);
    let bias: Vec<f32> = (0..case.outputs).map(|_| random.unit() - 0.5).collect();
    let (outputs, c_stride, mask_stride) = (case.outputs as usize, c_stride as usize, mask_stride as usize);
    let residual: Vec<T::Short> = (0..case.n_pixels() * c_stride).map(|_| T::Short::of(random.unit() - 0.5)).collect();
    let single: Vec<f32> = residual.iter().map(|value| value.exact() as f32).collect();
    let mask: Vec<T::Short> =
        (0..case.n_pixels() * mask_stride).map(|_| T::Short::of((4.0 * random.unit()).floor() - 2.0)).collect();

    let stream = device.stream()?;
    let (on_images, on_filters) = (stream.upload(&on_images)?, stream.upload(&on_filters)?);
    let (on_bias, on_mask) = (stream.upload(&bias)?, stream.upload(&mask)?);
    let (on_residual, on_single) = (stream.upload(&residual)?, stream.upload(&single)?);
    let c_parts = if size_of::<C>() == 2 { case.c_parts } else { 1 };
    let mut c = stream.upload(&vec![C::of(UNTOUCHED); c_parts as usize * case.n_pixels() * c_stride])?;
    let built = case.builder::<T>().c_parts(c_parts).tile(tile).build(device)?;
    let operands = built.operands(&stream, &on_images, &on_filters)?;
    let mut epilogue = tile::Epilogue::new();
    if case.bias {
        epilogue = epilogue.bias(&on_bias);
    }
    match case.residual {
        Some(true) => epilogue = epilogue.residual(&on_single),
        Some(false) => epilogue = epilogue.residual(&on_residual),
        None => {}
    }
    if case.mask {
        epilogue = epilogue.mask(&on_mask);
    }
    built.run(&stream, &operands, epilogue, &mut c)?;
    let got: Vec<f64> = stream.read(&c)?.into_iter().map(C::exact).collect();

    let bias: Vec<f64> = bias.iter().map(|&value| value.into()).collect();
    let residual = used_of(&residual, outputs, c_stride, T::Short::exact);
    let mask = used_of(&mask, outputs, mask_stride, T::Short::exact);
    let [_, height, width] = case.size.map(|size| size as usize);
    let (channels, side) = (case.channels as usize, case.side as usize);
    let epilogue = Epilogue {
        factor: case.factor.into(),
        bias: case.bias.then_some(&bias[..]),
        residual: case.residual.map(|_| &residual[..]),
        rectifies: case.rectifier,
        mask: case.mask.then_some(&mask[..]),
    };
    let of = |values: &[f64], filters: &[f64], epilogue: Epilogue<'_>| {
        convolution(Images { values, height, width, channels, side }, filters, epilogue)
    };
    let expected = of(&images, &filters, epilogue);
    let sizes = of(
        &images.iter().map(|v| v.abs()).collect::<Vec<_>>(),
        &filters.iter().map(|v| v.abs()).collect::<Vec<_>>(),
        Epilogue::NONE,
    );
    let weights = of(&vec![1.0; images.len()], &vec![1.0; filters.len()], Epilogue::NONE);
    let of_parts = Parts::of(case.parts);
    for pixel in 0..case.n_pixels() {
        let lines = got.chunks(c_stride).skip(pixel).step_by(case.n_pixels());
        for output in 0..outputs {
            let got: f64 = lines.clone().map(|line| line[output]).sum();
            let (expected, size) = (expected[pixel * outputs + output], sizes[pixel * outputs + output]);
            let added = if case.bias || case.residual.is_some() { 2f64.powi(-22) } else { 0.0 };
            // The smallest numbers of half precision are 2⁻²⁴ apart.
            let least = if rounding > 0.0 { 2f64.powi(-24) } else { 0.0 };
            let summing = of_parts.bound::<T>(weights[pixel * outputs + output]) * size * f64::from(case.factor.abs());
            let bound = summing + added + rounding.powi(c_parts as i32) * expected.abs() + least;
            let off = (got - expected).abs();
            assert!(
                off <= bound,
                "{case:?} {tile:?}, pixel {pixel}, output {output}: {got}, expected {expected}, off by {off}, at most {bound}"
            );
        }
        for line in lines {
            assert!(
                line[outputs..].iter().all(|&v| v == f64::from(UNTOUCHED)),
                "{case:?} {tile:?}: between pixels of C"
            );
        }
    }
    Ok(got)
}

/// All formats of one convolution, in one tile or the one that is chosen.
fn check_formats(device: &Device, case: Case, tile: Option<Tile>) -> Checked {
    check::<bf16, f32>(device, case, tile, 0.0)?;
    check::<f16, f32>(device, Case { residual: case.residual.map(|single| !single), ..case }, tile, 0.0)?;
    check::<f32, f32>(device, Case { mask: false, parts: [1; 2], ..case }, tile, 0.0)?;
    check::<bf16, bf16>(device, case, tile, 2f64.powi(-8))?;
    check::<f16, f16>(device, case, tile, 2f64.powi(-11))?;
    Ok(())
}

/// Boards of games: images that fill a tile's rows and such that do not, a row of pixels, and one that is wider than a tile has rows.
const BOARDS: [[u32; 2]; 8] = [[8, 8], [9, 9], [6, 7], [15, 15], [3, 3], [1, 1], [2, 150], [32, 1]];

#[test]
fn boards_of_any_size() {
    for_each_device(|device| {
        for [height, width] in BOARDS {
            let case = Case { more: [1, 2, 3], residual: Some(true), ..Case::of([3, height, width], 5, 11) };
            check_formats(device, case, Some(Tile::Rows64Columns64))?;
        }
        Ok(())
    });
}

/// Channels below, at and above a slab, and outputs at and around a tile's columns.
#[test]
fn every_tile_convolves_as_the_plain_program() {
    for_each_device(|device| {
        for &tile in Tile::ALL {
            let [rows, columns] = tile.size();
            check_formats(device, Case::of([rows / 64, 8, 8], 64, columns), Some(tile))?;
            let case = Case { residual: Some(false), mask: true, factor: 0.5, ..Case::of([4, 5, 7], 65, columns + 3) };
            check::<bf16, bf16>(device, case, Some(tile), 2f64.powi(-8))?;
            check::<f16, f32>(device, case, Some(tile), 0.0)?;
            check::<f32, f32>(device, Case { more: [0, 0, 4], ..Case::of([1, 6, 7], 8, 40) }, Some(tile), 0.0)?;
        }
        Ok(())
    });
}

/// Numbers of 8 bits: channels below, at and above a slab of 128, of images that do not fill a tile's rows.
#[test]
fn numbers_of_eight_bits() {
    for_each_device(|device| {
        for tile in [Tile::Rows256Columns128, Tile::Rows128Columns128, Tile::Rows64Columns64] {
            let [rows, columns] = tile.size();
            check::<F8E4M3, f32>(device, Case::of([rows / 64, 8, 8], 128, columns), Some(tile), 0.0)?;
            let case = Case { residual: Some(false), mask: true, factor: 0.5, ..Case::of([4, 5, 7], 33, columns + 3) };
            check::<F8E4M3, bf16>(device, case, Some(tile), 2f64.powi(-8))?;
            check::<F8E4M3, f32>(
                device,
                Case { side: 5, more: [1, 1, 1], ..Case::of([2, 6, 7], 130, 9) },
                Some(tile),
                0.0,
            )?;
        }
        Ok(())
    });
}

#[test]
fn filters_of_every_side() {
    for_each_device(|device| {
        for side in [1, 3, 5, 7] {
            check_formats(device, Case { side, more: [1, 1, 1], ..Case::of([2, 5, 6], 40, 20) }, None)?;
            // Filters that are larger than the images.
            check_formats(device, Case { side, ..Case::of([70, 1, 2], 16, 8) }, None)?;
        }
        Ok(())
    });
}

/// Numbers of two and three parts, in every tile. With few channels the bound of [`check`] is below what a part less, or a pair of parts less, would leave.
#[test]
fn images_and_filters_in_parts() {
    for_each_device(|device| {
        for (parts, c_parts) in [([2, 2], 2), ([3, 3], 3), ([1, 3], 2), ([3, 1], 1), ([2, 1], 3), ([1, 2], 1)] {
            let case = Case { parts, c_parts, ..Case::of([3, 5, 6], 70, 66) };
            check::<bf16, f32>(device, case, None, 0.0)?;
            check::<bf16, bf16>(device, Case { residual: Some(true), mask: true, ..case }, None, 2f64.powi(-8))?;
            for side in [1, 3, 5] {
                let few = Case { side, bias: false, rectifier: false, more: [1, 2, 3], ..case };
                for size in [[40, 1, 1], [20, 1, 2]] {
                    check::<bf16, f32>(device, Case { size, channels: 1, outputs: 9, ..few }, None, 0.0)?;
                }
            }
        }
        for &tile in Tile::ALL {
            let case = Case { parts: [3, 3], more: [1, 1, 0], ..Case::of([2, 7, 8], 9, tile.size()[1] + 1) };
            check::<bf16, f32>(device, case, Some(tile), 0.0)?;
        }
        Ok(())
    });
}

proptest! {
    #![proptest_config(config("tile_convolution", 10))]

    #[test]
    fn any_convolution_is_the_plain_programs(
        size in [1u32..5, 1u32..12, 1u32..12], channels in 1u32..100, outputs in 1u32..80, side in proptest::sample::select(&[1u32, 3, 5, 7]),
        more in [0u32..3, 0u32..3, 0u32..3], epilogue in any::<[bool; 3]>(), residual in any::<Option<bool>>(),
        parts in [1u32..4, 1u32..4], c_parts in 1u32..4, seed in any::<u64>(),
    ) {
        let [bias, rectifier, mask] = epilogue;
        let case = Case { size, channels, outputs, side, more, bias, residual, rectifier, mask, factor: 0.5, parts, c_parts, seed };
        for_each_device(|device| check_formats(device, case, None));
    }
}

/// An image has the same bits in every tile, alone and among others.
#[test]
fn images_have_the_same_bits_alone_and_among_others() {
    for_each_device(|device| {
        let case = Case { rectifier: false, ..Case::of([5, 6, 7], 70, 66) };
        let first = check::<f16, f32>(device, case, Some(Tile::ALL[0]), 0.0)?;
        for &tile in Tile::ALL {
            assert_eq!(check::<f16, f32>(device, case, Some(tile), 0.0)?, first, "{tile}");
        }
        let mut random = Random(3);
        let [pixel, tap, ..] = case.strides::<f16>();
        let (_, images) = operand::<f16>(&mut random, case.n_pixels(), [case.channels, pixel], 1);
        let (_, filters) = operand::<f16>(&mut random, case.n_taps(), [case.channels, tap], 1);
        let stream = device.stream()?;
        let filters = stream.upload(&filters)?;
        let of = |from: usize, n: u32| -> Result<Vec<f32>, Error> {
            let case = Case { size: [n, 6, 7], ..case };
            let one = 6 * 7 * pixel as usize;
            let images = stream.upload(&images[from * one..][..n as usize * one])?;
            let built = case.builder::<f16>().build(device)?;
            let mut c = stream.alloc::<f32>(case.n_pixels() * 66)?;
            built.run(&stream, &built.operands(&stream, &images, &filters)?, tile::Epilogue::new(), &mut c)?;
            stream.read(&c)
        };
        let all = of(0, 5)?;
        for image in 0..5 {
            assert_eq!(of(image, 1)?, all[image * 6 * 7 * 66..][..6 * 7 * 66], "image {image}");
        }
        Ok(())
    });
}

#[test]
fn what_cannot_be_convolved_is_refused() {
    let device = Device::simt();
    let error = |builder: ConvolutionBuilder<bf16>| builder.build(&device).expect_err("refused").to_string();
    let of = |size| Convolution::builder(size, 8, 8);
    assert!(error(of([0, 8, 8])).contains("option size: 0 x 8 x 8 is not allowed (1 to 16777216 pixels)"));
    assert!(error(of([u32::MAX, 8, 8])).contains("option size: 4294967295 x 8 x 8"));
    assert!(error(of([1, 8, 8]).side(4)).contains("option side: 4 is not allowed (1, 3, 5 or 7)"));
    assert!(error(Convolution::builder([1, 8, 8], 0, 8)).contains("option channels: 0"));
    assert!(error(Convolution::builder([1, 8, 8], 8, 0)).contains("option outputs: 0"));
    assert!(
        error(Convolution::builder([1, 8, 8], 9, 8)).contains("option pixel_stride: 9 is not allowed (a multiple of 8")
    );
    assert!(error(of([1, 8, 8]).pixel_stride(0)).contains("option pixel_stride: 0"));
    assert!(
        error(of([1, 8, 8]).tap_stride(12)).contains("option tap_stride: 12 is not allowed (a multiple of 8 values")
    );
    assert!(error(of([1, 8, 8]).c_stride(7)).contains("option c_stride: 7"));
    assert!(error(of([1, 8, 8]).parts(4, 1)).contains("option a_parts: 4 is not allowed (1 to 3 in bf16)"));
    assert!(error(of([1, 8, 8]).parts(1, 0)).contains("option b_parts: 0"));
    assert!(error(of([1, 8, 8]).c_parts(4)).contains("option c_parts: 4"));
    let said =
        Convolution::<f32>::builder([1, 8, 8], 8, 8).parts(2, 1).build(&device).expect_err("refused").to_string();
    assert!(said.contains("option a_parts: 2 is not allowed (1 to 1 in tf32)"), "{said}");
    let stream = device.stream().expect("a stream");
    let built = Convolution::<bf16>::builder([1, 2, 2], 8, 3).build(&device).expect("a convolution");
    let [images, filters, short] = [32, 216, 31].map(|len| stream.alloc::<bf16>(len).expect("a buffer"));
    let error = |result: Result<(), Error>| result.expect_err("refused").to_string();
    assert!(error(built.operands(&stream, &short, &filters).map(drop)).contains("at least 32 values"));
    assert!(error(built.operands(&stream, &images, &images).map(drop)).contains("at least 216 values"));
    let operands = built.operands(&stream, &images, &filters).expect("operands");
    let mut c = stream.alloc::<f32>(11).expect("a buffer");
    let said = error(built.run(&stream, &operands, tile::Epilogue::new(), &mut c));
    assert!(said.contains("c: ") && said.contains("at least 12 values"), "{said}");
    let mut c = stream.alloc::<f32>(12).expect("a buffer");
    let residual = stream.alloc::<f32>(11).expect("a buffer");
    let said = error(built.run(&stream, &operands, tile::Epilogue::new().residual(&residual), &mut c));
    assert!(said.contains("residual"), "{said}");
    // Images of another form with as many pixels.
    let other = Convolution::<bf16>::builder([1, 1, 4], 8, 3).build(&device).expect("a convolution");
    let said = error(other.run(&stream, &operands, tile::Epilogue::new(), &mut c));
    assert!(said.contains("operands"), "{said}");
}
