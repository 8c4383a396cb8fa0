//! Which printed numbers follow from others, and which do not: the list of faults, held to arithmetic done here by hand.

use std::collections::BTreeSet;

use warpplay_papers::experiment::Paper;
use warpplay_papers::mnist_mlp::checks::{self, Range, Verdict, speed};
use warpplay_papers::mnist_mlp::experiments::MnistMlp;
use warpplay_papers::mnist_mlp::published;
use warpplay_tests::Checked;
use warpplay_tests::tolerance::{Tolerance, close};

use super::small_set;

#[test]
fn printed_numbers_that_do_not_follow_are_these() {
    let of_verdict = |verdict: Verdict| -> BTreeSet<(String, String)> {
        let numbers = checks::numbers().into_iter().filter(|number| number.verdict() == verdict);
        numbers.map(|number| (number.location.to_string(), number.what)).collect()
    };
    // Each beside why it must be here.
    let expected = [
        // 298,617.53 / 2,247.11 = 132.89.
        ("2.5", "speed-up, from the milliseconds"),
        // 2 · 64 · 784 · 256 = 25,690,112.
        ("2.3", "FLOP, forward layer 1"),
        // 256 · 10 = 2,560.
        ("2.3", "threads, backward layer 2, W2"),
        // Its grid is batch_size, 64 blocks; the table of 1.2 has "1 block/batch".
        ("1.2", "blocks, softmax as kernel 3 has it"),
        // 64 blocks of 256.
        ("2.3", "threads, softmax as kernel 3 has it"),
        // 16 · 16 · 4 = 1,024.
        ("1.3, kernel 2", "a tile of 16 x 16"),
        // Twice that, and twice the 4 KB that section 1.3 says of a tile.
        ("3.3", "shared memory of a block, two tiles of 16 x 16"),
        ("3.3", "shared memory of a block, two tiles as in 1.3"),
        // 784 · 256 · 4 = 802,816.
        ("2.4", "W1"),
        // 266 · 4 = 1,064.
        ("2.4", "biases"),
        // 26e6 / 312e12 = 8.3e-8 s.
        ("2.3", "26 MFLOP at 312 TFLOPS"),
        ("2.3", "A100, FP32"),
        ("2.3", "realistic GFLOPS, against 2.25 s"),
        ("2.3", "speed-up of 5 GFLOPS over the CPU's"),
        ("2.5", "speed-up, within the expected"),
        ("2.4", "memory bandwidth, T4"),
        // 200,964 bytes at 15.75 GB/s.
        ("2.4", "transfers of a batch, at least"),
        ("3.5", "transfers in the GPU's time, at least"),
        ("2.7, exp. 3", "exponent of the CPU's time in the hidden units"),
    ];
    // Wrong, and what the paper's own terms give: one of them is wrong.
    let from_wrong = [
        // 2 (784 h + 10 h) … is linear in h: 2 and 4 times; with the square of h 4 and 16 times.
        ("2.7, exp. 3", "FLOP, 256 against 128"),
        ("2.7, exp. 3", "FLOP, 512 against 128"),
        // 2 · 25,690,112 + 3 · 327,680 = 52,363,264; the printed rows add up to 25.8 million.
        ("2.3", "FLOP, forward and backward"),
        // 784 · 256 = 200,704; the most of the printed rows are 25.6 thousand.
        ("2.3", "threads, at most"),
        // 200 + 10 + 1.4.
        ("2.4", "weights and biases"),
        // 211 + 266 + 211 = 688.
        ("2.4", "total VRAM"),
        // 2 · (211 + 266) = 954, and 477.
        ("2.4", "read in a batch, twice the two sums"),
        ("2.4", "written in a batch, the two sums"),
    ];
    let set = |list: &[(&str, &str)]| -> BTreeSet<(String, String)> {
        list.iter().map(|(location, what)| (location.to_string(), what.to_string())).collect()
    };
    assert_eq!(of_verdict(Verdict::DoesNotFollow), set(&expected));
    assert_eq!(of_verdict(Verdict::FromWrong), set(&from_wrong));
    // As many digits as are printed.
    let decimals = |what: &str| checks::numbers().into_iter().find(|number| number.what == what).map(|n| n.decimals);
    assert_eq!(decimals("seconds on the CPU"), Some(2));
    assert_eq!(decimals("an epoch on the GPU"), Some(3));
    assert_eq!(decimals("26 MFLOP at 312 TFLOPS"), Some(3));
    assert_eq!(decimals("FLOP, forward layer 1"), Some(0));
}

#[test]
fn every_printed_speed_up_is_checked_and_all_but_one_hold() {
    let numbers = checks::numbers();
    let speed_ups = numbers.iter().filter(|number| number.what.starts_with("speed-up, ") && number.location != "2.3");
    // 17 rows; the main one from rounded seconds, from milliseconds, and against the expectation.
    assert_eq!(speed_ups.count(), 17 + 3);
    let tables = [
        &published::BATCHES[..],
        &published::THREADS_1D,
        &published::THREADS_2D,
        &published::HIDDEN,
        &published::RATES,
    ];
    for row in tables.concat() {
        let ratio = row.cpu_s / row.gpu_s;
        // Times are printed in hundredths of a second: half of one is this share of the GPU's time.
        let share = 0.005 / row.gpu_s + 0.005 / row.cpu_s;
        assert!((row.speed_up - ratio).abs() <= ratio * share + 0.1, "{row:?}: {ratio}");
    }
}

#[test]
fn what_the_times_mean_by_hand() {
    // 25,690,112 forward and for W1, 327,680 forward, for W2 and for the hidden values; 937.5 batches an epoch.
    let step = 2.0 * 25_690_112.0 + 3.0 * 327_680.0;
    assert_eq!(speed::step_flop(&published::SIZES, 64), step);
    let exact = Tolerance { abs: 0.0, rel: 1e-12 };
    let (gpu, cpu) = speed::flops();
    let all = step * 9375.0;
    close("GPU", &[gpu, cpu], &[all / 2.247_11, all / 298.617_53], exact);
    close("a step", &[speed::step_s()], &[2.247_11 / 9380.0], exact);
    close("transfers", &[speed::transfer_s()], &[200_964.0 / 15.75e9], exact);
    // Tiles of 16 use a value 16 times, at layer 2 the 10 columns fill 10 of 16.
    assert_eq!(speed::loads(64, 256, 784, 1) / speed::loads(64, 256, 784, 16), 16.0);
    assert_eq!(speed::loads(64, 10, 256, 16), 64.0 * 256.0 + 256.0 * 10.0 * 4.0);
    // 40 multiprocessors, 128 bytes a clock each, at 8.1e12 / 5120 clocks a second, against 320 GB/s.
    close("shared memory", &[speed::shared_gain()], &[40.0 * 128.0 * 8.1e12 / 5120.0 / 320e9], exact);
    assert!(Range::quotient(1.0, 1.0, 0.01).meets(&Range::exact(1.0)) && !Range::exact(1.0).meets(&Range::exact(2.0)));
}

#[test]
fn both_collapses_are_the_share_of_a_class() {
    let all: u32 = published::TEST_CLASSES.iter().sum();
    assert_eq!(all, published::TEST_SAMPLES);
    let class = |accuracy: f64| {
        let images = (accuracy * 100.0).round() as u32;
        published::TEST_CLASSES.iter().position(|&of| of == images)
    };
    let [first, second] = published::COLLAPSES;
    assert_eq!((first.batch, first.rate, class(first.accuracy)), (256, 0.01, Some(7)));
    assert_eq!((second.batch, second.rate, class(second.accuracy)), (64, 0.1, Some(4)));
    // The class that an argmax of NaN answers is another.
    assert_eq!(class(9.80), Some(0));
}

#[test]
fn the_table_of_rates_contradicts_the_table_of_batches() {
    // How far 5 epochs move the weights: rate times updates.
    let way = |rate: f64, batch: u32| rate * 5.0 * f64::from(published::TRAIN_SAMPLES.div_ceil(batch));
    let (large_batch, small_rate) = (published::BATCHES[3], published::RATES[0]);
    assert!(way(0.01, 256) > 2.5 * way(0.001, 64));
    assert!(large_batch.accuracy < small_rate.accuracy, "further, and less accurate");
}

#[test]
fn claims_name_items_that_there_are() -> Checked {
    let set = small_set(23, 1)?;
    let paper = MnistMlp { train: set.clone(), test: set, epochs: None, repeats: 2 };
    let names: BTreeSet<&str> = paper.items().iter().map(|item| item.name).collect();
    let claims = checks::claims();
    assert!(claims.iter().all(|claim| claim.item.is_none_or(|item| names.contains(item))));
    // A claim without a word from the figures is one that a measurement speaks of, and the item that makes it is named.
    for claim in &claims {
        let is_measured = claim.evidence.is_some() && claim.item.is_some();
        assert!(is_measured || (claim.evidence.is_none() && !claim.holds.is_empty()), "{claim:?}");
    }
    Ok(())
}

#[test]
fn no_training_at_all_is_refused() -> Checked {
    let set = small_set(23, 1)?;
    let paper = MnistMlp { train: set.clone(), test: set, epochs: None, repeats: 0 };
    let refused = paper.options().expect_err("no training").to_string();
    assert_eq!(refused, "option repeats: 0 is not allowed (at least 1)");
    Ok(())
}

/// What claims say in numbers, by hand from the tables.
#[test]
fn numbers_of_claims_by_hand() {
    let claims = checks::claims();
    let find = |part: &str| claims.iter().find(|claim| claim.holds.contains(part)).map(|claim| claim.location);
    // Rows of one training: those of experiment 5 vary what comes after it, and have no times of the CPU.
    assert_eq!(find("8 rows of six tables are one training"), Some("2.6; 2.7"));
    assert_eq!(
        find("1.16 to 1.29 s on the GPU, 92.10 to 92.50 %, and 150.90 to 166.44 s on the CPU in the 5"),
        Some("2.6; 2.7")
    );
    assert_eq!(find("218 GFLOP/s, 2.7 % of a T4's 8.1 TFLOPS"), Some("2.3"));
    assert_eq!(find("200964 bytes take at least 12.8 µs"), Some("3.5; 2.4"));
    assert_eq!(find("two tiles of 16 x 16 floats are 2048 bytes"), Some("3.3; 1.3, kernel 2"));
    assert_eq!(find("a T4 holds 40960: 1024 on each of 40"), Some("3.3"));
    // 64 x 256 outputs are 8 x 32 blocks of 8 x 8, and 2 x 8 of 32 x 32; 16 · 64 = 1 · 1024.
    assert_eq!(find("16 of 8 x 8 or 1 of 32 x 32 fill it"), Some("2.7, exp. 2"));
    assert_eq!(find("has 256 blocks of 8 x 8, and 16 of 32 x 32"), Some("2.7, exp. 2"));
    // 457.9 / 80.1 = 5.72, and ln 5.72 / ln 8 = 0.84.
    assert_eq!(find("grows 5.7 times, with the power 0.84: less than linearly"), Some("2.7, exp. 3; 2.8"));
    // 335.5 / 80.1 = 4.19, and ln 4.19 / ln 4 = 1.03.
    assert_eq!(
        find("4 times as many, it grows 4.19 times, with the power 1.03: a little more"),
        Some("2.7, exp. 3; 2.8")
    );
    assert_eq!(find("µs a sample are 7.4 at 64, 12.4 at 256, 11.6 at 512"), Some("2.7, exp. 5; 2.8"));
    assert_eq!(find("an evaluation of 256 samples at once after trainings at 64"), Some("1.4; 2.2, decision 5"));
    // 10 / 16 and 10 / 256, rounded down.
    assert_eq!(find("the 10 columns of layer 2 are 0 blocks along N"), Some("1.3, kernels 1, 5 and 7"));
    assert_eq!(find("the 10 values of b2 are 0 blocks"), Some("1.3, kernels 1, 5 and 7"));
    assert_eq!(find("the table of 1.2 has 1 block a batch, kernel 3 a block a sample"), Some("1.2; 1.3; 2.2; 2.3"));
    // 256 · 0.01 and 64 · 0.1; robustness is claimed in 2.6, 2.7 and 2.8, and the cost of rounding in 3.5.
    let robust = "over 256 samples at 0.01 is an averaged one at 2.56, and over 64 at 0.1 one at 6.40; section 3.5";
    assert_eq!(find(robust), Some("2.6; 2.7, exp. 4; 2.8"));
}

/// What is printed is quoted with the digits of the paper.
#[test]
fn claims_quote_the_paper() {
    let claims = checks::claims();
    for quoted in [
        "tiles of 16 cut global traffic 5 to 8 times",
        "shared memory is ~100 times as fast",
        "all 256 threads that write to 10 outputs contend",
        "a step is 26 MFLOP forward",
        "an A100 has 312 TFLOPS in FP32",
        "2 to 5 GFLOPS are realistic",
        "GPU memory has 1 to 2 TB/s",
        "a speed-up of 132.7 is within the expected 20 to 100",
        "explain 4.1 points",
        "FLOP grow 4 and 16 times, GPU times 1.16 and 1.63 times",
        "rates 0.001 and 0.1 give 89.38 and 90.52 %",
        "16 KB of shared memory a block",
        "effective bandwidth 8 to 16 times",
        "modern GPUs support 10000 concurrent threads",
        "13 optimized kernels",
        "transfers are 0.1 % of the GPU's time, 1 µs a batch",
    ] {
        assert!(claims.iter().any(|claim| claim.claim.contains(quoted)), "{quoted}");
    }
}
