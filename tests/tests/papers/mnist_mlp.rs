//! The published kernels of the multilayer perceptron, each alone against the plain functions, the program that is made of them, and its tables.

mod checks;
mod collapses;
mod hypotheses;
mod items;

use std::ops::ControlFlow;
use std::sync::Arc;

use warpplay::mlp::{Dataset, Residence};
use warpplay::{Backend, Buffer, Device, Error, Progress, Stream};
use warpplay_cpu_ref::mlp::{
    Init, Network, Pass, Product as Shape, Reduction, Sequential, Settings, Training, epoch_order, pieces,
};
use warpplay_gpu::mlp::random;
use warpplay_papers::mnist_mlp::{
    Accumulate, ColumnSums, Divide, Extent, Forms, Kernels, LossForm, Matmul, Options, Product, Program, SoftmaxForm,
    profile, profile_product, published,
};
use warpplay_tests::Checked;
use warpplay_tests::backends::for_each_device;
use warpplay_tests::golden::{self, Tensors};
use warpplay_tests::tolerance::{Tolerance, close, same, widened};

/// Sizes that straddle warps and tiles, in pairs that are never square.
const EXTENTS: [(u32, u32); 9] =
    [(1, 31), (31, 1), (32, 33), (33, 65), (64, 10), (65, 32), (130, 64), (2, 130), (7, 257)];

/// Rows, columns and depth of products.
const PRODUCTS: [(u32, u32, u32); 9] = [
    (1, 31, 33),
    (31, 1, 2),
    (32, 33, 1),
    (33, 65, 32),
    (64, 10, 31),
    (9, 7, 130),
    (65, 32, 17),
    (8, 16, 64),
    (130, 64, 3),
];

/// One sum of `n` terms may err by n roundings of its terms' sizes; the values here are below 1 and n at most 257.
const SUMS: Tolerance = Tolerance { abs: 257.0 * 6e-8, rel: 1e-6 };
/// A few roundings, and the two exponentials' last bits.
const ROUNDINGS: Tolerance = Tolerance { abs: 1e-7, rel: 2e-6 };
/// Values behind those that a kernel may touch.
const BEHIND: usize = 40;
/// What stands there.
const MARK: f32 = -77.25;

/// Values in (-1, 1) without a pattern, some exactly 0.
fn values(n: usize, salt: u32) -> Vec<f32> {
    let key = random::key(salt, 1);
    (1..=n as u64)
        .map(|i| {
            let word = random::element(key, i);
            if word.is_multiple_of(11) { 0.0 } else { ((word >> 40) as f32 - 8_388_608.0) / 8_388_608.0 }
        })
        .collect()
}

/// Labels below `n_classes`.
fn labels(n: usize, n_classes: u32, salt: u32) -> Vec<u8> {
    let key = random::key(salt, 2);
    (1..=n as u64).map(|i| (random::element(key, i) >> 33) as u32 % n_classes).map(|label| label as u8).collect()
}

/// A device with the kernels in one form.
struct Bench {
    stream: Stream,
    kernels: Kernels,
}

impl Bench {
    fn new(device: &Device, options: Forms) -> Result<Self, Error> {
        Ok(Self { stream: device.stream()?, kernels: Kernels::load(device, options)? })
    }

    /// A buffer of `values` with marked values behind them.
    fn marked(&self, values: &[f32]) -> Result<Buffer<f32>, Error> {
        let mut all = values.to_vec();
        all.extend([MARK; BEHIND]);
        self.stream.upload(&all)
    }

    /// The values of such a buffer; that what stands behind them is as it was is checked.
    fn unmarked(&self, buffer: &Buffer<f32>) -> Result<Vec<f32>, Error> {
        let mut all = self.stream.read(buffer)?;
        let behind = all.split_off(all.len() - BEHIND);
        same("values behind the buffer", &behind, &[MARK; BEHIND]);
        Ok(all)
    }
}

/// Every block size on every device.
fn for_each_block(body: impl Fn(&Bench, u32) -> Checked) {
    for_each_device(|device| {
        for block in [128, 256, 512] {
            body(&Bench::new(device, Forms { block, ..Forms::default() })?, block)?;
        }
        Ok(())
    });
}

#[test]
fn products_of_all_forms_and_transposes() {
    for_each_device(|device| {
        for (matmul, accumulate) in [
            (Matmul::Plain, Accumulate::F32),
            (Matmul::Plain, Accumulate::F64),
            (Matmul::Tiled, Accumulate::F32),
            (Matmul::Tiled, Accumulate::F64),
        ] {
            for tile in [8, 16, 32] {
                let bench = Bench::new(device, Forms { matmul, accumulate, tile, ..Forms::default() })?;
                for (salt, (m, n, k)) in (1..).zip(PRODUCTS) {
                    for (transpose_a, transpose_b) in [(false, false), (true, false), (false, true), (true, true)] {
                        let (a, b) = (values((m * k) as usize, salt), values((k * n) as usize, salt + 100));
                        let mut c = bench.marked(&vec![MARK; (m * n) as usize])?;
                        let product = Product { m, n, k, transpose_a, transpose_b };
                        let (a_there, b_there) = (bench.stream.upload(&a)?, bench.stream.upload(&b)?);
                        let launch = bench.kernels.matmul(&bench.stream, product, &a_there, &b_there, &mut c)?;
                        let got = bench.unmarked(&c)?;
                        let shape = Shape { m: m as usize, n: n as usize, k: k as usize, transpose_a, transpose_b };
                        let mut expected = vec![0.0; got.len()];
                        pieces::matmul(&widened(&a), &widened(&b), &mut expected, shape);
                        // Sums in double precision are rounded once.
                        let tolerance = match accumulate {
                            Accumulate::F32 => SUMS,
                            Accumulate::F64 => Tolerance { abs: 1e-13, rel: 6e-8 },
                        };
                        let what = format!("{} {product:?}", launch.kernel);
                        close(&what, &widened(&got), &expected, tolerance);
                    }
                }
            }
        }
        Ok(())
    });
}

#[test]
fn plain_and_tiled_products_have_the_same_bits() {
    for_each_device(|device| {
        let (m, n, k) = (33, 10, 65);
        let (a, b) = (values(33 * 65, 5), values(65 * 10, 6));
        let mut results = Vec::new();
        for matmul in [Matmul::Plain, Matmul::Tiled] {
            for tile in [8, 16, 32] {
                let bench = Bench::new(device, Forms { matmul, tile, ..Forms::default() })?;
                let (a, b) = (bench.stream.upload(&a)?, bench.stream.upload(&b)?);
                let mut c = bench.stream.alloc(330)?;
                let product = Product { m, n, k, transpose_a: false, transpose_b: false };
                bench.kernels.matmul(&bench.stream, product, &a, &b, &mut c)?;
                results.push(bench.stream.read(&c)?);
            }
        }
        for result in &results[1..] {
            same("bits of the product", result, &results[0]);
        }
        Ok(())
    });
}

#[test]
fn batches_are_gathered_and_scaled() {
    for_each_block(|bench, _| {
        for (n_rows, n_inputs) in [(1, 1), (33, 7), (5, 130)] {
            let n_samples = 2 * n_rows + 3;
            let pixels: Vec<u8> = (0..n_samples * n_inputs).map(|i| (i * 37 + i / 7) as u8).collect();
            let labels = labels(n_samples as usize, 256, 3);
            let order: Vec<u32> = (0..n_rows + 4).map(|i| (i * 5 + 2) % n_samples).collect();
            let first = 3;
            let (pixels_there, labels_there) = (bench.stream.upload(&pixels)?, bench.stream.upload(&labels)?);
            let order_there = bench.stream.upload(&order)?;
            let mut x = bench.marked(&vec![MARK; (n_rows * n_inputs) as usize])?;
            let mut classes = bench.stream.upload(&vec![7777u32; n_rows as usize + 1])?;
            let extent = Extent::new(n_rows, n_inputs);
            bench.kernels.gather(&bench.stream, &pixels_there, &order_there, first, &mut x, extent)?;
            bench.kernels.gather_labels(&bench.stream, &labels_there, &order_there, first, &mut classes, n_rows)?;
            let samples = &order[first as usize..(first + n_rows) as usize];
            let n_inputs = n_inputs as usize;
            let rows = samples.iter().flat_map(|&at| &pixels[at as usize * n_inputs..(at as usize + 1) * n_inputs]);
            let bytes: Vec<u8> = rows.copied().collect();
            let mut expected = vec![0.0f32; bytes.len()];
            pieces::scale_pixels(&bytes, &mut expected);
            same("x", &bench.unmarked(&x)?, &expected);
            let expected: Vec<u32> = samples.iter().map(|&at| u32::from(labels[at as usize])).chain([7777]).collect();
            same("classes", &bench.stream.read(&classes)?, &expected);
        }
        Ok(())
    });
}

#[test]
fn a_number_that_is_no_sample_gives_nan_and_no_class() {
    for_each_block(|bench, _| {
        let pixels = bench.stream.upload(&[255u8, 0, 51, 102])?;
        let labels = bench.stream.upload(&[1u8, 0])?;
        let order = bench.stream.upload(&[1, 2, u32::MAX, 0])?;
        let mut x = bench.stream.alloc(8)?;
        let mut classes = bench.stream.alloc(4)?;
        bench.kernels.gather(&bench.stream, &pixels, &order, 0, &mut x, Extent::new(4, 2))?;
        bench.kernels.gather_labels(&bench.stream, &labels, &order, 0, &mut classes, 4)?;
        let nan = f64::NAN;
        close(
            "x",
            &widened(&bench.stream.read(&x)?),
            &widened(&[0.2, 0.4]).into_iter().chain([nan, nan, nan, nan, 1.0, 0.0]).collect::<Vec<_>>(),
            Tolerance { abs: 0.0, rel: 0.0 },
        );
        same("classes", &bench.stream.read(&classes)?, &[0, u32::MAX, u32::MAX, 1]);
        // A loss with such a class is not a number, so nobody trains on it unawares.
        let z = bench.stream.upload(&values(8, 1))?;
        let mut losses = bench.stream.alloc(4)?;
        bench.kernels.loss(&bench.stream, &z, &classes, &mut losses, Extent::new(4, 2))?;
        let finite: Vec<bool> = bench.stream.read(&losses)?.iter().map(|loss| loss.is_finite()).collect();
        same("losses", &finite, &[true, false, false, true]);
        Ok(())
    });
}

#[test]
fn bias_relu_and_active_units() {
    for_each_block(|bench, block| {
        for (n_rows, n_columns) in EXTENTS {
            let what = format!("{n_rows} x {n_columns} in blocks of {block}");
            let extent = Extent::new(n_rows, n_columns);
            let n = (n_rows * n_columns) as usize;
            let (mut z, bias) = (values(n, 1), values(n_columns as usize, 2));
            let mut z_there = bench.marked(&z)?;
            let bias_there = bench.stream.upload(&bias)?;
            bench.kernels.bias_add(&bench.stream, &mut z_there, &bias_there, extent)?;
            pieces::add_bias(&mut z, &bias);
            same(&what, &bench.unmarked(&z_there)?, &z);

            // Zeros of both signs and NaN among them, and a unit that no row makes positive.
            let mut z = values(n, 3);
            z[0] = -0.0;
            z[n / 2] = f32::NAN;
            for row in z.chunks_exact_mut(n_columns as usize) {
                let dead = &mut row[n_columns as usize / 3];
                *dead = -dead.abs();
            }
            let z_there = bench.stream.upload(&z)?;
            let mut h_there = bench.marked(&vec![MARK; n])?;
            bench.kernels.relu(&bench.stream, &z_there, &mut h_there, extent)?;
            let mut h = vec![0.0; n];
            pieces::relu(&z, &mut h);
            // One NaN is as good as another.
            let bits = |values: &[f32]| {
                let bits = |value: &f32| if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() };
                values.iter().map(bits).collect::<Vec<_>>()
            };
            same(&what, &bits(&bench.unmarked(&h_there)?), &bits(&h));

            let mut gradient = values(n, 4);
            let mut gradient_there = bench.marked(&gradient)?;
            bench.kernels.relu_backward(&bench.stream, &z_there, &mut gradient_there, extent)?;
            pieces::relu_backward(&z, &mut gradient);
            same(&what, &bench.unmarked(&gradient_there)?, &gradient);

            let mut active_there = bench.stream.alloc::<u32>(n_columns as usize)?;
            let mut active = vec![false; n_columns as usize];
            bench.kernels.units_active(&bench.stream, &h_there, &mut active_there, extent)?;
            pieces::mark_active(&h, &mut active);
            let found: Vec<bool> = bench.stream.read(&active_there)?.iter().map(|&flag| flag == 1).collect();
            same(&what, &found, &active);
            assert!(!found[n_columns as usize / 3]);
        }
        Ok(())
    });
}

#[test]
fn softmax_gradients_and_losses() {
    for_each_block(|bench, block| {
        for ((n_rows, n_columns), scale) in EXTENTS.into_iter().zip([1.0, 1.0, 30.0, 1.0, 100.0].into_iter().cycle()) {
            let what = format!("{n_rows} x {n_columns} in blocks of {block}");
            let extent = Extent::new(n_rows, n_columns);
            let (n, n_classes) = ((n_rows * n_columns) as usize, n_columns as usize);
            let z: Vec<f32> = values(n, 7).iter().map(|z| z * scale).collect();
            let labels = labels(n_rows as usize, n_columns.min(256), 8);
            let classes: Vec<u32> = labels.iter().map(|&label| u32::from(label)).collect();
            let z_there = bench.stream.upload(&z)?;
            let classes_there = bench.stream.upload(&classes)?;
            let z = widened(&z);

            let mut p_there = bench.marked(&vec![MARK; n])?;
            bench.kernels.softmax(&bench.stream, &z_there, &mut p_there, extent)?;
            let mut p = vec![0.0; n];
            pieces::softmax(&z, &mut p, n_classes);
            let got = bench.unmarked(&p_there)?;
            close(&format!("softmax {what}"), &widened(&got), &p, ROUNDINGS);
            for row in widened(&got).chunks_exact(n_classes) {
                close("sum of a row", &[row.iter().sum()], &[1.0], SUMS);
            }

            for (factor, reduction) in [(1.0 / n_rows as f32, Reduction::Mean), (1.0, Reduction::Sum)] {
                let mut expected = vec![0.0; n];
                pieces::cross_entropy_gradient(&p, &labels, &mut expected, n_classes, reduction);
                let mut gradient = bench.marked(&vec![MARK; n])?;
                let Bench { stream, kernels } = bench;
                kernels.softmax_gradient_fused(stream, &z_there, &classes_there, &mut gradient, extent, factor)?;
                close(&format!("fused {what}"), &widened(&bench.unmarked(&gradient)?), &expected, ROUNDINGS);
                let mut gradient = bench.marked(&vec![MARK; n])?;
                kernels.softmax_gradient(stream, &p_there, &classes_there, &mut gradient, extent, factor)?;
                close(&format!("separate {what}"), &widened(&bench.unmarked(&gradient)?), &expected, ROUNDINGS);
            }

            let mut losses_there = bench.marked(&vec![MARK; n_rows as usize])?;
            bench.kernels.loss(&bench.stream, &z_there, &classes_there, &mut losses_there, extent)?;
            let mut losses = vec![0.0; n_rows as usize];
            pieces::losses(&z, &labels, &mut losses, n_classes);
            // The loss is a difference of logits, so their last bits count.
            let tolerance = Tolerance { abs: 2e-7 * f64::from(scale) + 1e-6, rel: 2e-6 };
            close(&format!("losses {what}"), &widened(&bench.unmarked(&losses_there)?), &losses, tolerance);
            let mut sums = bench.stream.upload(&[MARK; 3])?;
            bench.kernels.loss_sum(&bench.stream, &losses_there, n_rows, &mut sums, 1)?;
            let sums = bench.stream.read(&sums)?;
            same("other slots", &[sums[0], sums[2]], &[MARK, MARK]);
            close("loss sum", &[f64::from(sums[1])], &[losses.iter().sum()], Tolerance { abs: 1e-4, rel: 2e-6 });

            // Added to what is there, and to no other slot; a probability that has underflowed is the least normal number.
            let mut sums = bench.stream.upload(&[MARK, 2.0, MARK])?;
            bench.kernels.loss_atomic(&bench.stream, &p_there, &classes_there, &mut sums, 1, extent)?;
            let sums = bench.stream.read(&sums)?;
            same("other slots", &[sums[0], sums[2]], &[MARK, MARK]);
            let least = f64::from(f32::MIN_POSITIVE);
            let of_class = got.chunks_exact(n_classes).zip(&labels).map(|(p, &label)| f64::from(p[usize::from(label)]));
            let expected = 2.0 - of_class.map(|p| p.max(least).ln()).sum::<f64>();
            close("loss added atomically", &[f64::from(sums[1])], &[expected], Tolerance { abs: 1e-4, rel: 1e-5 });

            let mut found = bench.stream.upload(&vec![4321u32; n_rows as usize + 3])?;
            let mut correct = bench.stream.upload(&[5u32])?;
            bench.kernels.accuracy(&bench.stream, &z_there, &classes_there, &mut found, 2, &mut correct, extent)?;
            let expected = pieces::classes(&z, n_classes);
            let expected: Vec<u32> = [4321, 4321].into_iter().chain(expected).chain([4321]).collect();
            same(&what, &bench.stream.read(&found)?, &expected);
            let n_correct = pieces::n_correct(&z, &labels, n_classes) as u32;
            same(&what, &bench.stream.read(&correct)?, &[5 + n_correct]);
        }
        Ok(())
    });
}

#[test]
fn equal_logits_give_the_lowest_class() {
    for_each_block(|bench, _| {
        let z = bench.stream.upload(&[1.0f32, 3.0, 3.0, -1.0, -1.0, -1.0, f32::NAN, 9.0, 0.0])?;
        let labels = bench.stream.upload(&[1u32, 2, 0])?;
        let mut found = bench.stream.alloc(3)?;
        let mut correct = bench.stream.alloc(1)?;
        let extent = Extent::new(3, 3);
        bench.kernels.accuracy(&bench.stream, &z, &labels, &mut found, 0, &mut correct, extent)?;
        same("classes", &bench.stream.read(&found)?, &[1, 0, 0]);
        same("correct", &bench.stream.read(&correct)?, &[2]);
        Ok(())
    });
}

#[test]
fn column_sums_of_all_forms() {
    for_each_device(|device| {
        for block in [128, 256, 512] {
            for (column_sums, accumulate) in [
                (ColumnSums::Tree, Accumulate::F32),
                (ColumnSums::Tree, Accumulate::F64),
                (ColumnSums::Warp, Accumulate::F32),
                (ColumnSums::Warp, Accumulate::F64),
                (ColumnSums::Atomic, Accumulate::F32),
                (ColumnSums::AtomicThread, Accumulate::F32),
                (ColumnSums::AtomicBlock, Accumulate::F32),
            ] {
                let options = Forms { block, column_sums, accumulate, ..Forms::default() };
                let bench = Bench::new(device, options)?;
                for (n_rows, n_columns) in EXTENTS.into_iter().chain([(257, 7), (530, 2)]) {
                    let input = values((n_rows * n_columns) as usize, n_rows);
                    let there = bench.stream.upload(&input)?;
                    // The atomic forms add to what is there, the others replace it.
                    let adds = !matches!(column_sums, ColumnSums::Tree | ColumnSums::Warp);
                    let before = if adds { 0.5 } else { MARK };
                    let mut sums = bench.marked(&vec![before; n_columns as usize])?;
                    let launch =
                        bench.kernels.column_sums(&bench.stream, &there, &mut sums, Extent::new(n_rows, n_columns))?;
                    let mut expected = vec![0.0; n_columns as usize];
                    pieces::column_sums(&widened(&input), &mut expected);
                    expected.iter_mut().for_each(|sum| *sum += if adds { 0.5 } else { 0.0 });
                    let tolerance = match accumulate {
                        Accumulate::F32 => Tolerance { abs: 2.0 * SUMS.abs, ..SUMS },
                        Accumulate::F64 => Tolerance { abs: 1e-13, rel: 6e-8 },
                    };
                    let what = format!("{} of {n_rows} x {n_columns} in blocks of {block}", launch.kernel);
                    close(&what, &widened(&bench.unmarked(&sums)?), &expected, tolerance);
                }
            }
        }
        Ok(())
    });
}

/// 2²⁴ + 1 is no f32: an addition of 1 leaves 2²⁴ as it is, one of an even number does not. So the sum tells how the rows were added to it.
#[test]
fn atomic_additions_are_one_a_thread_one_a_block_or_one_a_value() {
    const LARGE: f32 = 16_777_216.0;
    for_each_device(|device| {
        // Rows of ones: one a thread, and two.
        for (n_rows, a_thread) in [(128u32, 1u32), (256, 2)] {
            let expected = [
                (ColumnSums::Atomic, LARGE),
                (ColumnSums::AtomicThread, if a_thread == 1 { LARGE } else { LARGE + n_rows as f32 }),
                (ColumnSums::AtomicBlock, LARGE + n_rows as f32),
            ];
            for (column_sums, expected) in expected {
                let bench = Bench::new(device, Forms { block: 128, column_sums, ..Forms::default() })?;
                let extent = Extent::new(n_rows, 3);
                let ones = bench.stream.upload(&vec![1.0f32; 3 * n_rows as usize])?;
                let mut sums = bench.stream.upload(&[LARGE; 3])?;
                bench.kernels.column_sums(&bench.stream, &ones, &mut sums, extent)?;
                same(&format!("{column_sums}, {a_thread} a thread"), &bench.stream.read(&sums)?, &[expected; 3]);
            }
        }
        Ok(())
    });
}

#[test]
fn updates_follow_the_gradient_and_reset_it() {
    for_each_block(|bench, _| {
        for n in [1, 31, 33, 130, 513] {
            let (mut weights, mut gradient) = (values(n, 1), values(n, 2));
            let (mut weights_there, mut gradient_there) = (bench.marked(&weights)?, bench.marked(&gradient)?);
            bench.kernels.sgd(&bench.stream, &mut weights_there, &mut gradient_there, n as u32, 0.037)?;
            pieces::sgd_update(&mut weights, &mut gradient, 0.037);
            same("weights", &bench.unmarked(&weights_there)?, &weights);
            same("gradient", &bench.unmarked(&gradient_there)?, &gradient);
        }
        Ok(())
    });
}

#[test]
fn dimensions_and_lengths_are_checked() {
    for_each_device(|device| {
        let bench = Bench::new(device, Forms::default())?;
        let Bench { stream, kernels } = &bench;
        let (six, mut five) = (stream.alloc::<f32>(6)?, stream.alloc::<f32>(5)?);
        let error = kernels.relu(stream, &six, &mut five, Extent::new(3, 2)).expect_err("too short");
        assert_eq!(error.to_string(), "mlp_paper_relu: h: expected at least 6 values, got 5 values");
        let error = kernels.softmax(stream, &six, &mut five, Extent::new(0, 2)).expect_err("no rows");
        assert_eq!(error.to_string(), "rows: expected 1 to 2147483616, got 0");
        let error = kernels.relu(stream, &six, &mut five, Extent::new(1 << 16, 1 << 16)).expect_err("too many");
        assert!(error.to_string().starts_with("values of a matrix: expected at most 4294967295"), "{error}");
        let product = Product { m: 2, n: 2, k: 4, transpose_a: false, transpose_b: false };
        let error = kernels.matmul(stream, product, &six, &six, &mut five).expect_err("too short");
        assert_eq!(error.to_string(), "a: expected at least 8 values, got 6 values");
        let pixels = stream.alloc::<u8>(7)?;
        let order = stream.alloc::<u32>(2)?;
        let error = kernels.gather(stream, &pixels, &order, 0, &mut five, Extent::new(2, 2)).expect_err("7 bytes");
        assert!(error.to_string().starts_with("pixels: expected whole samples of 2 bytes"), "{error}");
        let pixels = stream.alloc::<u8>(8)?;
        let error = kernels.gather(stream, &pixels, &order, 1, &mut five, Extent::new(2, 2)).expect_err("short order");
        assert_eq!(error.to_string(), "mlp_paper_gather: order: expected at least 3 values, got 2 values");
        let wrong = |options| Kernels::load(device, options).expect_err("not allowed").to_string();
        let default = Forms::default();
        assert_eq!(wrong(Forms { block: 64, ..default }), "option block: 64 is not allowed (128, 256 or 512)");
        assert_eq!(wrong(Forms { tile: 12, ..default }), "option tile: 12 is not allowed (8, 16 or 32)");
        let options = Forms { accumulate: Accumulate::F64, column_sums: ColumnSums::Atomic, ..default };
        assert_eq!(wrong(options), "option accumulate: f64 is not allowed (f32 with atomic column sums)");
        let options = Forms { column_sums: ColumnSums::AtomicThread, ..options };
        assert_eq!(wrong(options), "option accumulate: f64 is not allowed (f32 with atomic column sums)");
        Ok(())
    });
}

/// Samples of the small sets: no batch divides them.
const N_SAMPLES: usize = 23;
const CLASSES: u32 = 4;

/// A set of drawn images of 3 by 5 pixels.
fn small_set(n: usize, salt: u32) -> Result<Arc<Dataset>, Error> {
    let key = random::key(salt, 3);
    let pixels = (1..=n as u64 * 15).map(|i| (random::element(key, i) >> 40) as u8).collect();
    Ok(Arc::new(Dataset::new(pixels, labels(n, CLASSES, salt), 3, 5, CLASSES, "drawn pixels")?))
}

/// A small training by the published kernels in small blocks.
fn small(hidden: &[u32]) -> Options {
    Options {
        hidden: hidden.to_vec(),
        batch: 5,
        epochs: 2,
        learning_rate: 0.1,
        seed: 7,
        evaluate_batch: 9,
        forms: Forms { block: 128, tile: 8, ..Forms::default() },
        ..Options::default()
    }
}

/// Weights and biases, layer by layer.
fn parameters(trainer: &mut Program) -> Result<Vec<f32>, Error> {
    Ok(trainer.network()?.layers().iter().flat_map(|layer| [&layer.weights[..], &layer.bias].concat()).collect())
}

/// The same training by the plain program in single precision: losses of the epochs, and weights.
fn plain_training(options: &Options, set: &Dataset) -> (Vec<f64>, Training<f32>) {
    let sizes: Vec<usize> = options.sizes(set.n_inputs(), set.n_classes()).iter().map(|&size| size as usize).collect();
    let reduction = match options.reduction {
        warpplay::mlp::Reduction::Mean => Reduction::Mean,
        warpplay::mlp::Reduction::Sum => Reduction::Sum,
    };
    let network = Network::drawn(&sizes, Init::HeUniform, options.seed);
    let mut training = Training::new(network, Settings { reduction, ..Settings::default() });
    let losses = (0..options.epochs).map(|epoch| {
        let order = epoch_order(options.seed, epoch, set.len());
        let batch = options.batch as usize;
        let rate = options.learning_rate;
        training.epoch::<Sequential>(set.images(), set.labels(), &order, batch, rate) / set.len() as f64
    });
    (losses.collect(), training)
}

/// Trains on the device, compares with the plain program.
fn check_training(device: &Device, options: &Options, set: &Arc<Dataset>) -> Checked {
    let what = format!("{:?}, {:?}, {}", options.forms, options.hidden, options.stream);
    let mut trainer = Program::new(device, set, options)?;
    let report = trainer.run(None, Progress::go_on)?;
    assert!(!report.stopped);
    let (losses, plain) = plain_training(options, set);
    let got: Vec<f64> = report.epochs.iter().map(|epoch| epoch.loss).collect();
    close(&format!("losses, {what}"), &got, &losses, Tolerance { abs: 0.0, rel: 1e-5 });
    let expected: Vec<f32> =
        plain.network.layers().iter().flat_map(|layer| [&layer.weights[..], &layer.bias].concat()).collect();
    let tolerance = Tolerance { abs: 1e-5, rel: 0.0 };
    close(&format!("weights, {what}"), &widened(&parameters(&mut trainer)?), &widened(&expected), tolerance);
    for epoch in &report.epochs {
        assert_eq!(epoch.transfer_share.is_some(), options.stream == Residence::Host, "{what}");
    }
    Ok(())
}

#[test]
fn a_training_follows_the_plain_one_in_all_forms() -> Checked {
    let set = small_set(N_SAMPLES, 1)?;
    for_each_device(|device| {
        for matmul in [Matmul::Plain, Matmul::Tiled] {
            for (column_sums, accumulate) in [
                (ColumnSums::Tree, Accumulate::F32),
                (ColumnSums::Tree, Accumulate::F64),
                (ColumnSums::Warp, Accumulate::F32),
                (ColumnSums::Warp, Accumulate::F64),
                (ColumnSums::Atomic, Accumulate::F32),
                (ColumnSums::AtomicThread, Accumulate::F32),
                (ColumnSums::AtomicBlock, Accumulate::F32),
            ] {
                for softmax in [SoftmaxForm::Fused, SoftmaxForm::Separate] {
                    let forms =
                        Forms { block: 128, tile: 8, matmul, column_sums, softmax, accumulate, ..Forms::default() };
                    check_training(device, &Options { forms, ..small(&[9]) }, &set)?;
                }
            }
        }
        for (loss, divide) in [(LossForm::Atomic, Divide::Gradient), (LossForm::Tree, Divide::Update)] {
            for softmax in [SoftmaxForm::Fused, SoftmaxForm::Separate] {
                let forms = Forms { block: 128, tile: 8, softmax, loss, divide, ..Forms::default() };
                check_training(device, &Options { forms, ..small(&[9]) }, &set)?;
            }
        }
        for reduction in [warpplay::mlp::Reduction::Mean, warpplay::mlp::Reduction::Sum] {
            check_training(device, &Options { forms: Forms::published(), reduction, ..small(&[9]) }, &set)?;
        }
        Ok(())
    });
    Ok(())
}

#[test]
fn a_training_of_any_depth_and_residence_follows_the_plain_one() -> Checked {
    let set = small_set(N_SAMPLES, 2)?;
    for_each_device(|device| {
        for hidden in [&[][..], &[33], &[6, 10, 3]] {
            for stream in [Residence::Device, Residence::Host] {
                for reduction in [warpplay::mlp::Reduction::Mean, warpplay::mlp::Reduction::Sum] {
                    let learning_rate = 0.03;
                    let options = Options { stream, reduction, learning_rate, ..small(hidden) };
                    check_training(device, &options, &set)?;
                }
            }
        }
        // One batch is the whole set, and one sample is a batch.
        check_training(device, &Options { batch: N_SAMPLES as u32, ..small(&[5]) }, &set)?;
        check_training(device, &Options { batch: 1, epochs: 1, ..small(&[5]) }, &set)
    });
    Ok(())
}

#[test]
fn an_interrupted_training_goes_on_to_the_same_bits() -> Checked {
    // Enough steps that a GPU, which looks at its losses now and then, can stop inside an epoch.
    let set = small_set(150, 3)?;
    for_each_device(|device| {
        for column_sums in [ColumnSums::Tree, ColumnSums::Warp] {
            let mut options = Options { batch: 2, epochs: 2, ..small(&[6]) };
            options.forms.column_sums = column_sums;
            let mut whole = Program::new(device, &set, &options)?;
            let whole_report = whole.run(None, Progress::go_on)?;
            let mut first = Program::new(device, &set, &options)?;
            // An epoch has 75 steps.
            let report = first.run(None, |progress| {
                if progress.steps >= 75 + 20 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            assert_eq!((report.stopped, report.epochs.len()), (true, 1));
            let (network, position) = (first.network()?, first.position().clone());
            assert!((20..75).contains(&position.step), "{}", position.step);
            // In the same program, and in another that gets weights and position.
            let rest = first.run(None, Progress::go_on)?;
            same("weights", &parameters(&mut first)?, &parameters(&mut whole)?);
            let mut second = Program::new(device, &set, &options)?;
            second.resume(&network, position)?;
            let report = second.run(None, Progress::go_on)?;
            same("weights", &parameters(&mut second)?, &parameters(&mut whole)?);
            let losses = |report: &warpplay_papers::mnist_mlp::Report| -> Vec<f64> {
                report.epochs.iter().map(|epoch| epoch.loss).collect()
            };
            // Losses of an epoch in two parts are added in two parts.
            for found in [&rest, &report] {
                close("losses", &losses(found), &losses(&whole_report), Tolerance { abs: 0.0, rel: 1e-14 });
            }
        }
        Ok(())
    });
    Ok(())
}

#[test]
fn sets_are_classified_by_batches_that_are_not_the_trainings() -> Checked {
    let set = small_set(N_SAMPLES, 4)?;
    let other = small_set(40, 5)?;
    for_each_device(|device| {
        for (stream, evaluate_batch) in
            [(Residence::Device, 1), (Residence::Device, 16), (Residence::Device, 1000), (Residence::Host, 16)]
        {
            let options = Options { stream, evaluate_batch, epochs: 1, ..small(&[6, 33]) };
            let mut trainer = Program::new(device, &set, &options)?;
            let report = trainer.run(Some(&other), Progress::go_on)?;
            let network = plain_training(&options, &set).1.network;
            let mut pass = Pass::default();
            network.forward::<Sequential>(other.images(), &mut pass);
            network.losses(other.labels(), &mut pass);
            let n_correct = pieces::n_correct(&pass.z[2], other.labels(), CLASSES as usize);
            assert_eq!(report.epochs[0].test_accuracy, Some(n_correct as f64 / 40.0));
            let loss = report.epochs[0].test_loss.expect("a test set");
            close("test loss", &[loss], &[pass.loss_sum() / 40.0], Tolerance { abs: 0.0, rel: 1e-5 });

            // Dead units are counted over the training set.
            network.forward::<Sequential>(set.images(), &mut pass);
            let dead: Vec<u64> = pass
                .h
                .iter()
                .zip([6, 33])
                .map(|(h, n)| {
                    let mut active = vec![false; n];
                    pieces::mark_active(h, &mut active);
                    active.iter().filter(|active| !**active).count() as u64
                })
                .collect();
            same("dead units", &report.dead_units_by_layer, &dead);

            // The trained network alone, on the same kernels.
            let mut classifier = Program::classifier(device, &trainer.network()?, &options)?;
            let evaluation = classifier.evaluate(&other)?;
            assert_eq!(evaluation.correct, n_correct as u64);
            let logits = classifier.logits(other.images())?;
            let found = pieces::classes(&logits, CLASSES as usize);
            network.forward::<Sequential>(other.images(), &mut pass);
            same("classes", &found, &pieces::classes(&pass.z[2], CLASSES as usize));
        }
        Ok(())
    });
    Ok(())
}

#[test]
fn a_batch_larger_than_that_of_the_training_is_evaluated_between_its_epochs() -> Checked {
    // The paper trains with 64 samples and evaluates with 256 (section 1.4): buffers are made anew between two epochs, and the training must not notice.
    let set = small_set(70, 8)?;
    let other = small_set(300, 9)?;
    for_each_device(|device| {
        for forms in [Forms::published(), Forms::default()] {
            let options = Options { batch: 64, evaluate_batch: 256, learning_rate: 0.05, forms, ..small(&[9]) };
            let mut alone = Program::new(device, &set, &options)?;
            alone.run(None, Progress::go_on)?;
            let mut between = Program::new(device, &set, &options)?;
            let before = between.device_bytes();
            assert_eq!(before.input, 4 * 64 * 15);
            let report = between.run(Some(&other), Progress::go_on)?;
            let after = between.device_bytes();
            assert_eq!((after.input, after.of_batch()), (4 * 256 * 15, 4 * before.of_batch()), "grown to 256 rows");
            assert_eq!((after.parameters, after.gradients), (before.parameters, before.gradients));
            let tolerance = Tolerance { abs: if forms.is_exact() { 0.0 } else { 1e-5 }, rel: 0.0 };
            close("weights", &widened(&parameters(&mut between)?), &widened(&parameters(&mut alone)?), tolerance);
            // The evaluation itself is that of the plain program.
            let network = plain_training(&options, &set).1.network;
            let mut pass = Pass::default();
            network.forward::<Sequential>(other.images(), &mut pass);
            let n_correct = pieces::n_correct(&pass.z[1], other.labels(), CLASSES as usize);
            assert_eq!(report.epochs[1].test_accuracy, Some(n_correct as f64 / 300.0));
        }
        Ok(())
    });
    Ok(())
}

#[test]
fn the_published_forms_launch_the_kernels_that_the_paper_describes() {
    for_each_device(|device| {
        let times = profile(device, &[15, 9, 4], 6, &Forms::published())?;
        let launched = |kernel: &str| times.iter().any(|time| time.kernel == kernel);
        for (name, kernel) in published::DESCRIBED {
            // The tiled product is described and not used (section 2.2, decision 2).
            assert_eq!(launched(kernel), name != "matmul_tiled_kernel", "{name}: {kernel}");
        }
        for (name, _, kernel) in published::IMPLIED {
            assert_eq!(launched(kernel), name != "accuracy", "{name}: {kernel}");
        }
        let sums = times.iter().find(|time| time.name == "bias gradient, layer 1").expect("is there");
        assert_eq!((sums.blocks, sums.threads), (9, 256), "a block a column");
        // 6 rows of 9 columns are read, and each of 256 threads of a column reads and writes its sum: `atomic_additions_are_one_a_thread_one_a_block_or_one_a_value`.
        assert_eq!(sums.bytes, 4 * 6 * 9 + 8 * 9 * 256);
        let loss = times.iter().find(|time| time.name == "loss, added atomically").expect("is there");
        assert_eq!((loss.blocks, loss.flops), (1, 3 * 6));
        Ok(())
    });
    assert!(!Forms::published().is_exact() && Forms::default().is_exact());
}

#[test]
fn copies_between_host_and_device_are_counted() -> Checked {
    let set = small_set(N_SAMPLES, 4)?;
    for_each_device(|device| {
        // 23 samples in batches of 5: 5 steps an epoch.
        let options = Options { read_every: 1, ..small(&[6]) };
        let mut resident = Program::new(device, &set, &options)?;
        resident.run(None, Progress::go_on)?;
        let found = resident.traffic();
        assert_eq!((found.steps, found.copies_out, found.bytes_out), (10, 10, 40), "a loss a step");
        assert_eq!((found.copies_in, found.bytes_in), (2, 2 * 4 * 23), "an order an epoch");
        // Read every second step, and at the end of an epoch: in 3 copies.
        let mut seldom = Program::new(device, &set, &Options { read_every: 2, ..options.clone() })?;
        seldom.run(None, Progress::go_on)?;
        let found = seldom.traffic();
        assert_eq!((found.steps, found.copies_out, found.bytes_out), (10, 6, 40), "read every second step");
        let mut copied = Program::new(device, &set, &Options { stream: Residence::Host, ..options })?;
        copied.run(None, Progress::go_on)?;
        let found = copied.traffic();
        assert_eq!((found.copies_in, found.bytes_in), (20, 2 * 23 * (15 + 1)), "pixels and labels of each step");
        let refused = Program::new(device, &set, &Options { read_every: 0, ..small(&[6]) }).expect_err("refused");
        assert_eq!(refused.to_string(), "option read_every: 0 is not allowed (at least 1)");
        Ok(())
    });
    Ok(())
}

#[test]
fn a_training_that_diverges_goes_back_and_says_where() -> Checked {
    let set = small_set(N_SAMPLES, 6)?;
    for_each_device(|device| {
        let options = Options { learning_rate: 1e30, ..small(&[6]) };
        let mut trainer = Program::new(device, &set, &options)?;
        let before = parameters(&mut trainer)?;
        let error = trainer.run(None, Progress::go_on).expect_err("diverges");
        assert!(matches!(error, Error::Diverged { epoch: 1, step: 2..=5, steps: 5 }), "{error}");
        let remedy = " of 5: use a smaller learning rate; the state before this epoch is kept";
        let text = error.to_string();
        assert!(text.starts_with("loss is not finite in epoch 1, step ") && text.ends_with(remedy), "{text}");
        same("weights", &parameters(&mut trainer)?, &before);
        Ok(())
    });
    Ok(())
}

#[test]
fn choices_that_are_not_allowed_are_refused() -> Checked {
    let set = small_set(N_SAMPLES, 6)?;
    let refused = |options: Options| Program::new(&Device::simt(), &set, &options).expect_err("refused").to_string();
    let batch = N_SAMPLES as u32 + 1;
    assert!(refused(Options { batch, ..small(&[6]) }).starts_with("option batch: 24 is not allowed (at most the 23"));
    assert_eq!(refused(Options { batch: 0, ..small(&[6]) }), "option batch: 0 is not allowed (at least 1)");
    assert_eq!(refused(Options { epochs: 0, ..small(&[6]) }), "option epochs: 0 is not allowed (at least 1)");
    assert!(refused(small(&[0])).starts_with("option hidden: 0 is not allowed"));
    assert!(refused(Options { learning_rate: -1.0, ..small(&[6]) }).starts_with("option learning_rate: -1"));
    let error = Program::new(&Device::cpu(), &set, &small(&[6])).expect_err("no kernels there").to_string();
    assert!(error.contains("cpu"), "{error}");
    Ok(())
}

#[test]
fn a_profile_names_every_launch_of_a_step() {
    for_each_device(|device| {
        let options = Forms { block: 128, tile: 8, softmax: SoftmaxForm::Separate, ..Forms::default() };
        let times = profile(device, &[15, 9, 4], 6, &options)?;
        let names: Vec<&str> = times.iter().map(|time| time.name.as_str()).collect();
        assert_eq!(names.len(), 21, "{names:?}");
        let find = |name: &str| times.iter().find(|time| time.name == name).expect("is there");
        let forward = find("forward product, layer 1");
        assert_eq!(
            (forward.kernel.as_str(), forward.shape.as_str()),
            ("mlp_paper_matmul_tiled_8", "[6, 15] x [15, 9]")
        );
        assert_eq!((forward.flops, forward.footprint_bytes), (2 * 6 * 15 * 9, 4 * (6 * 15 + 15 * 9 + 6 * 9)));
        // a is loaded for each of two blocks along n, b for the only one along m.
        assert_eq!(forward.bytes, 4 * (2 * 6 * 15 + 15 * 9 + 6 * 9));
        assert_eq!((forward.blocks, forward.threads), (2, 64));
        assert_eq!(find("bias gradient, layer 2").kernel, "mlp_paper_column_sums_tree");
        assert!(times.iter().all(|time| time.microseconds >= 0.0 && time.launches >= 1 && time.occupancy > 0.0));
        let error = profile(device, &[15], 6, &options).expect_err("no layer");
        assert!(error.to_string().starts_with("sizes: expected at least 2 widths"), "{error}");
        assert!(profile(device, &[15, 4], 0, &options).is_err());
        Ok(())
    });
}

#[test]
fn a_product_by_itself_costs_what_it_costs_in_a_step() {
    for_each_device(|device| {
        let options = Forms { tile: 8, ..Forms::default() };
        let step = profile(device, &[15, 9, 4], 6, &options)?;
        let of_step = step.iter().find(|time| time.name == "forward product, layer 1").expect("is there");
        let product = Product { m: 6, n: 9, k: 15, transpose_a: false, transpose_b: false };
        let alone = profile_product(device, product, &options)?;
        assert_eq!((&alone.kernel, &alone.shape), (&of_step.kernel, &of_step.shape));
        assert_eq!((alone.flops, alone.bytes), (of_step.flops, of_step.bytes));
        assert_eq!((alone.footprint_bytes, alone.blocks), (of_step.footprint_bytes, of_step.blocks));
        assert!(alone.microseconds >= 0.0 && alone.launches >= 1);
        assert!(profile_product(device, product, &Forms { tile: 7, ..options }).is_err());
        Ok(())
    });
}

/// Holds device values to a tensor, within 2e-6 of its largest value: single precision in another order of summation.
fn check_tensor(bench: &Bench, file: &Tensors, name: &str, values: &Buffer<f32>) -> Checked {
    let expected = file.floats(name);
    let largest = expected.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    let got = widened(&bench.stream.read(values)?);
    close(name, &got, &expected, Tolerance { abs: 2e-6 * largest, rel: 0.0 });
    Ok(())
}

#[test]
fn steps_on_real_digits_are_those_of_the_reference_vectors() {
    let Some(path) = golden::shared("vectors/mlp_step_reference.safetensors") else { return };
    let file = Tensors::read(&path);
    let (n, n_inputs, n_hidden, n_classes) = (64, 784, 256, 10);
    let [input, hidden, output] = [n_inputs, n_hidden, n_classes].map(|columns| Extent::new(n, columns));
    let (pixels, labels) = (file.bytes("batches_x_u8"), file.bytes("batches_y_u8"));
    let narrowed = |name: &str| file.floats(name).iter().map(|&value| value as f32).collect::<Vec<f32>>();
    let product = |m, n, k, transpose_a, transpose_b| Product { m, n, k, transpose_a, transpose_b };
    for_each_device(|device| {
        // A step by threads on the CPU takes a second.
        let n_steps = if device.backend() == Backend::Cuda { 20 } else { 1 };
        let bench = Bench::new(device, Forms::default())?;
        let Bench { stream, kernels } = &bench;
        let [mut w1, mut b1, mut w2, mut b2] = [
            stream.upload(&narrowed("init.W1"))?,
            stream.upload(&narrowed("init.b1"))?,
            stream.upload(&narrowed("init.W2"))?,
            stream.upload(&narrowed("init.b2"))?,
        ];
        let order = stream.upload(&(0..n * 20).collect::<Vec<u32>>())?;
        let (pixels, labels) = (stream.upload(&pixels)?, stream.upload(&labels)?);
        let mut classes = stream.alloc(n as usize)?;
        let values = |extent: Extent| stream.alloc::<f32>(extent.n_values()? as usize);
        let (mut x, mut z1, mut h, mut dz1) = (values(input)?, values(hidden)?, values(hidden)?, values(hidden)?);
        let (mut z2, mut p, mut dz2) = (values(output)?, values(output)?, values(output)?);
        let (mut dw1, mut db1) = (stream.alloc(w1.len())?, stream.alloc(b1.len())?);
        let (mut dw2, mut db2) = (stream.alloc(w2.len())?, stream.alloc(b2.len())?);
        let (mut losses, mut sums) = (stream.alloc(n as usize)?, stream.alloc(20)?);
        for step in 0..n_steps {
            kernels.gather(stream, &pixels, &order, step * n, &mut x, input)?;
            kernels.gather_labels(stream, &labels, &order, step * n, &mut classes, n)?;
            kernels.matmul(stream, product(n, n_hidden, n_inputs, false, false), &x, &w1, &mut z1)?;
            kernels.bias_add(stream, &mut z1, &b1, hidden)?;
            kernels.relu(stream, &z1, &mut h, hidden)?;
            kernels.matmul(stream, product(n, n_classes, n_hidden, false, false), &h, &w2, &mut z2)?;
            kernels.bias_add(stream, &mut z2, &b2, output)?;
            kernels.softmax(stream, &z2, &mut p, output)?;
            kernels.loss(stream, &z2, &classes, &mut losses, output)?;
            kernels.loss_sum(stream, &losses, n, &mut sums, step)?;
            kernels.softmax_gradient_fused(stream, &z2, &classes, &mut dz2, output, 1.0 / 64.0)?;
            kernels.matmul(stream, product(n_hidden, n_classes, n, true, false), &h, &dz2, &mut dw2)?;
            kernels.column_sums(stream, &dz2, &mut db2, output)?;
            kernels.matmul(stream, product(n, n_hidden, n_classes, false, true), &dz2, &w2, &mut dz1)?;
            kernels.relu_backward(stream, &z1, &mut dz1, hidden)?;
            kernels.matmul(stream, product(n_inputs, n_hidden, n, true, false), &x, &dz1, &mut dw1)?;
            kernels.column_sums(stream, &dz1, &mut db1, hidden)?;
            if step == 0 {
                for (name, values) in [
                    ("z1", &z1),
                    ("h", &h),
                    ("z2", &z2),
                    ("p", &p),
                    ("nll", &losses),
                    ("dz2", &dz2),
                    ("dz1", &dz1),
                    ("dW2", &dw2),
                    ("db2", &db2),
                    ("dW1", &dw1),
                    ("db1", &db1),
                ] {
                    check_tensor(&bench, &file, &format!("f64.step1.{name}"), values)?;
                }
            }
            for (weights, gradient) in
                [(&mut w1, &mut dw1), (&mut b1, &mut db1), (&mut w2, &mut dw2), (&mut b2, &mut db2)]
            {
                kernels.sgd(stream, weights, gradient, weights.len() as u32, 0.01)?;
            }
            if step == 0 || step == 19 {
                for (name, values) in [("W1", &w1), ("b1", &b1), ("W2", &w2), ("b2", &b2)] {
                    let name = format!("f64.after{}.{name}", step + 1);
                    let got = widened(&stream.read(values)?);
                    close(&name, &got, &file.floats(&name), Tolerance { abs: 1e-6, rel: 0.0 });
                }
            }
        }
        let n_steps = n_steps as usize;
        let means: Vec<f64> = widened(&stream.read(&sums)?)[..n_steps].iter().map(|sum| sum / 64.0).collect();
        close("losses", &means, &file.floats("f64.losses20")[..n_steps], Tolerance { abs: 0.0, rel: 1e-5 });
        Ok(())
    });
}
