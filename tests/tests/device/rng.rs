//! Random streams: the kernels' against the reference's, which jumps by matrices instead of polynomials.

use std::collections::HashSet;

use proptest::prelude::*;
use warpplay::mcts::{Connect4, KernelSet};
use warpplay::{Device, InOut, Module};
use warpplay_cpu_ref::mcts::Streams;
use warpplay_gpu::mcts::rng::{self, STREAM_BITS};
use warpplay_tests::Checked;
use warpplay_tests::backends::{for_each_device, gpu, kernel_devices};
use warpplay_tests::strategies::config;
use warpplay_tests::tolerance::same;

type Seed = <Connect4 as KernelSet>::mcts_seed_streams;
type Below = <Connect4 as KernelSet>::mcts_draw_below;

/// States of streams 0 to `n - 1` from `base`, made by the kernel with these polynomials.
fn seeded(device: &Device, n: u32, base: [u64; 2], polynomials: &[[u64; 2]]) -> Result<Vec<[u64; 2]>, warpplay::Error> {
    let stream = device.stream()?;
    let kernel = Module::load(device, Connect4::PTX)?.function(Seed::default())?;
    let polynomials = stream.upload(polynomials)?;
    let mut streams = stream.alloc::<[u64; 2]>(n as usize)?;
    let arguments = (InOut::from(streams.view_mut()), n, base[0], base[1], &polynomials);
    // SAFETY: the kernel's declaration has all lengths.
    unsafe { stream.run_unchecked(&kernel, arguments)? };
    stream.read(&streams)
}

/// One number below `bound` from each stream, drawn by the kernel; and the streams' states after it.
fn drawn(device: &Device, states: &[[u64; 2]], bound: u32) -> Result<(Vec<u32>, Vec<[u64; 2]>), warpplay::Error> {
    let stream = device.stream()?;
    let kernel = Module::load(device, Connect4::PTX)?.function(Below::default())?;
    let mut streams = stream.upload(states)?;
    let mut numbers = stream.alloc::<u32>(states.len())?;
    let n = states.len() as u32;
    let arguments = (InOut::from(streams.view_mut()), &mut numbers, n, bound);
    // SAFETY: the kernel's declaration has all lengths, and that the bound is not 0.
    unsafe { stream.run_unchecked(&kernel, arguments)? };
    Ok((stream.read(&numbers)?, stream.read(&streams)?))
}

fn reference(seed: u64, first: u64, n: u32) -> Vec<[u64; 2]> {
    Streams::new(seed).playouts_from(first).take(n as usize).map(|stream| stream.state()).collect()
}

#[test]
fn streams_are_jumps_of_the_seed() {
    let polynomials = rng::jump_polynomials();
    for_each_device(|device| {
        for (seed, n) in [(0, 1), (0, 128), (1, 129), (u64::MAX, 1000)] {
            let states = seeded(device, n, rng::playout_base(seed), &polynomials)?;
            same(&format!("playout streams of seed {seed}"), &states, &reference(seed, 0, n));
            let states = seeded(device, 512, rng::expansion_base(seed), &polynomials)?;
            let expected: Vec<_> = Streams::new(seed).expansions().take(512).map(|stream| stream.state()).collect();
            same(&format!("expansion streams of seed {seed}"), &states, &expected);
        }
        Ok(())
    });
}

/// Every digit of the largest stream number, without memory for all streams before it: the kernel is handed the polynomials of other digits.
#[test]
fn digits_of_the_largest_stream_numbers_are_jumped_right() {
    let polynomials = rng::jump_polynomials();
    for_each_device(|device| {
        for first in 0..STREAM_BITS as usize {
            let mut table = polynomials;
            let digits = [first, (first + 9) % 27, (first + 18) % 27];
            for (digit, &other) in digits.iter().enumerate() {
                table[digit] = polynomials[other];
            }
            let states = seeded(device, 8, rng::playout_base(42), &table)?;
            let number =
                |index: usize| (0..3).filter(|digit| index >> digit & 1 == 1).map(|digit| 1u64 << digits[digit]).sum();
            let expected: Vec<_> = (0..8).map(|index| Streams::new(42).playout(number(index)).state()).collect();
            same(&format!("digits {digits:?}"), &states, &expected);
        }
        Ok(())
    });
}

#[test]
fn all_two_to_the_27_streams_on_a_gpu() -> Checked {
    let Some(device) = gpu() else { return Ok(()) };
    let n = 1 << STREAM_BITS;
    let states = seeded(&device, n, rng::playout_base(7), &rng::jump_polynomials())?;
    let streams = Streams::new(7);
    for k in (0..n as usize).step_by(99_991).chain([n as usize - 1]) {
        assert_eq!(states[k], streams.playout(k as u64).state(), "stream {k}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(config("rng", 100))]

    #[test]
    fn streams_go_on_from_any_number(seed in any::<u64>(), first in 0u64..1 << 27, n in 1u32..200) {
        let base = Streams::new(seed).playout(first).state();
        for device in kernel_devices() {
            let states = seeded(&device, n, base, &rng::jump_polynomials()).expect("small");
            prop_assert_eq!(&states, &reference(seed, first, n));
        }
    }

    #[test]
    fn bounded_draws_are_the_references(seed in any::<u64>(), bound in bounds()) {
        let states = reference(seed, 0, 200);
        let mut streams: Vec<_> = Streams::new(seed).playouts_from(0).take(200).collect();
        let expected: Vec<u32> = streams.iter_mut().map(|stream| stream.below(bound)).collect();
        let after: Vec<_> = streams.iter().map(|stream| stream.state()).collect();
        for device in kernel_devices() {
            let (numbers, states) = drawn(&device, &states, bound).expect("small");
            prop_assert!(numbers.iter().all(|&number| number < bound), "{bound}");
            prop_assert_eq!(&numbers, &expected);
            prop_assert_eq!(&states, &after, "as many numbers of the stream were used");
        }
    }
}

/// Bounds of games, of powers of two and their neighbours, and those that reject most often.
fn bounds() -> impl Strategy<Value = u32> {
    prop_oneof![
        1u32..=512,
        (0u32..32, 0u32..3).prop_map(|(power, around)| (1u32 << power).wrapping_add(around).wrapping_sub(1).max(1)),
        Just(0x8000_0001),
        Just(u32::MAX),
        1u32..=u32::MAX,
    ]
}

/// The original drew a float that could round up to 1.0 and so picked one past the list.
#[test]
fn the_largest_number_of_a_stream_does_not_pick_past_the_list() {
    // xoroshiro128+ puts out the sum of its two words: here 2^64 - 1 and its neighbours, whose high halves are all ones.
    let states: Vec<[u64; 2]> = (1..=64).map(|low| [u64::MAX - low, low - u64::from(low % 3 == 0)]).collect();
    for_each_device(|device| {
        for bound in (1..=512).chain([1 << 24, (1 << 24) + 1, u32::MAX]) {
            let (numbers, _) = drawn(device, &states, bound)?;
            assert!(numbers.iter().all(|&number| number < bound), "{bound}: {numbers:?}");
            if bound.is_power_of_two() {
                // Nothing is rejected, so all ones give the last entry of the list.
                assert!(numbers.iter().all(|&number| number == bound - 1), "{bound}: {numbers:?}");
            }
        }
        Ok(())
    });
}

/// The original seeded the streams of expansion and playouts alike.
#[test]
fn expansion_streams_and_playout_streams_have_nothing_in_common() {
    for seed in [0, 1, 99] {
        let streams = Streams::new(seed);
        assert_ne!(rng::expansion_base(seed), rng::playout_base(seed));
        let mut numbers = HashSet::new();
        let mut n = 0;
        for mut stream in streams.playouts_from(0).take(2000).chain(streams.expansions().take(512)) {
            for _ in 0..50 {
                numbers.insert(stream.next_u64());
                n += 1;
            }
        }
        // Among 125,600 random numbers of 64 bits two equal ones have a chance of 4e-10: equal ones would be overlapping streams.
        assert_eq!(numbers.len(), n);
        // All playout streams lie in the first 2^27 * 2^64 = 2^91 steps, the expansion streams begin after 2^96.
        let far = streams.playout(1 << 32).state();
        assert_eq!(far, streams.expansion(0).state(), "2^32 jumps of 2^64 steps are one long jump");
    }
}
