//! Random streams: the authors' recurrence, jumps by matrices, unbiased bounded numbers.

use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoroshiro128Plus;
use warpplay_cpu_ref::mcts::{Stream, Streams};

/// The generator as its authors write it: xoroshiro128plus.c, 2018 (rotations 24, 37; shift 16).
fn recurrence(s: &mut [u64; 2]) -> u64 {
    let [s0, mut s1] = *s;
    let result = s0.wrapping_add(s1);
    s1 ^= s0;
    *s = [s0.rotate_left(24) ^ s1 ^ (s1 << 16), s1.rotate_left(37)];
    result
}

/// The authors' jump: the sum of the states at the set bits of the jump polynomial.
fn jump_by_polynomial(s: &mut [u64; 2], polynomial: [u64; 2]) {
    let mut sum = [0; 2];
    for word in polynomial {
        for bit in 0..64 {
            if word >> bit & 1 == 1 {
                sum = [sum[0] ^ s[0], sum[1] ^ s[1]];
            }
            recurrence(s);
        }
    }
    *s = sum;
}

const JUMP: [u64; 2] = [0xdf900294d8f554a5, 0x170865df4b3201fc];
const LONG_JUMP: [u64; 2] = [0xd2a98b26625eee7b, 0xdddf9b1090aa7ac1];

fn base(seed: u64) -> Stream {
    let mut state = [0; 2];
    let bytes = Xoroshiro128Plus::seed_from_u64(seed).state();
    for (word, bytes) in state.iter_mut().zip(bytes.chunks(8)) {
        *word = u64::from_le_bytes(bytes.try_into().unwrap());
    }
    Stream::from_state(state)
}

#[test]
fn reference_values() {
    // From the authors' program for s = [1, 2].
    let expected = [
        3u64,
        412333834243,
        2360170716294286339,
        9295852285959843169,
        2797080929874688578,
        6019711933173041966,
        3076529664176959358,
        3521761819100106140,
        7493067640054542992,
        920801338098114767,
    ];
    let mut stream = Stream::from_state([1, 2]);
    let mut state = [1, 2];
    for value in expected {
        assert_eq!(stream.next_u64(), value);
        assert_eq!(recurrence(&mut state), value);
        assert_eq!(stream.state(), state);
    }
}

#[test]
fn seed_is_spread_by_splitmix() {
    for seed in [0u64, 1, 42, u64::MAX] {
        let mut x = seed;
        let state: [u64; 2] = std::array::from_fn(|_| {
            x = x.wrapping_add(0x9e3779b97f4a7c15);
            let z = (x ^ (x >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d049bb133111eb);
            z ^ (z >> 31)
        });
        assert_eq!(Streams::new(seed).playout(0).state(), state);
    }
}

#[test]
fn streams_are_jumps_apart() {
    for seed in [0, 7, u64::MAX] {
        let streams = Streams::new(seed);
        let mut generator = Xoroshiro128Plus::seed_from_u64(seed);
        let mut far = generator.clone();
        far.long_jump();
        let mut state = base(seed).state();
        let mut far_state = state;
        jump_by_polynomial(&mut far_state, LONG_JUMP);
        for ((k, successor), far_successor) in (0u64..6).zip(streams.playouts_from(0)).zip(streams.expansions()) {
            let mut stream = streams.playout(k);
            assert_eq!(stream, successor);
            assert_eq!(stream.state(), state);
            assert_eq!(stream.next_u64(), generator.clone().next_u64());
            let mut expansion = streams.expansion(k);
            assert_eq!(expansion, far_successor);
            assert_eq!(expansion.state(), far_state);
            assert_eq!(expansion.next_u64(), far.clone().next_u64());
            generator.jump();
            far.jump();
            jump_by_polynomial(&mut state, JUMP);
            jump_by_polynomial(&mut far_state, JUMP);
        }
    }
}

#[test]
fn long_jump_is_two_to_the_32_jumps() {
    // 2^96 steps = 2^32 jumps of 2^64 steps: the two ways of going far must meet.
    for seed in [0, 3] {
        let streams = Streams::new(seed);
        assert_eq!(streams.playout(1 << 32), streams.expansion(0));
        assert_eq!(streams.playout((1 << 32) + 511), streams.expansion(511));
    }
}

#[test]
fn streams_of_a_large_search_are_distinct() {
    let mut states: Vec<_> = Streams::new(0).playouts_from(0).take(100_000).map(|stream| stream.state()).collect();
    states.extend(Streams::new(0).expansions().take(512).map(|stream| stream.state()));
    let n = states.len();
    states.sort_unstable();
    states.dedup();
    assert_eq!(states.len(), n);
}

proptest! {
    #[test]
    fn jumps_add_up(seed: u64, k in 0u64..1 << 40, next in 1usize..40) {
        let streams = Streams::new(seed);
        let there = streams.playout(k);
        prop_assert_eq!(streams.playouts_from(k).nth(next), Some(streams.playout(k + next as u64)));
        let mut by_jumps = there.state();
        for _ in 0..next {
            jump_by_polynomial(&mut by_jumps, JUMP);
        }
        prop_assert_eq!(streams.playout(k + next as u64).state(), by_jumps);
    }

    #[test]
    fn below_accepts_exactly_the_fair_numbers(seed: u64, n in 1u32.., small in 1u32..1000) {
        for n in [n, small] {
            let mut stream = base(seed);
            let mut raw = base(seed);
            for _ in 0..20 {
                let expected = loop {
                    // Of the 2^32 values, each result keeps floor(2^32 / n): the rest is redrawn.
                    let product = (raw.next_u64() >> 32) * u64::from(n);
                    if product % (1 << 32) >= (1 << 32) % u64::from(n) {
                        break (product >> 32) as u32;
                    }
                };
                let got = stream.below(n);
                prop_assert!(got < n);
                prop_assert_eq!(got, expected);
            }
            prop_assert_eq!(&stream, &raw);
        }
    }
}

#[test]
fn jump_one_k_at_a_time_and_sums() {
    // stream(k1 + k2) = k2 jumps from stream(k1), with the jumps of the crate itself.
    let streams = Streams::new(5);
    for (k1, k2) in [(1u64, 2), (1000, 3), (123_456_789, 5), (512 * 512 * 512 - 1, 4)] {
        let mut seed = [0; 16];
        let [s0, s1] = streams.playout(k1).state();
        seed[..8].copy_from_slice(&s0.to_le_bytes());
        seed[8..].copy_from_slice(&s1.to_le_bytes());
        let mut generator = Xoroshiro128Plus::from_seed(seed);
        for _ in 0..k2 {
            generator.jump();
        }
        let mut expected = streams.playout(k1 + k2);
        for _ in 0..4 {
            assert_eq!(generator.next_u64(), expected.next_u64());
        }
    }
}

#[test]
fn below_redraws_the_surplus_numbers() {
    // s0 + s1 = 1: the upper half is 0, which is the one surplus number for n = 3.
    let mut stream = Stream::from_state([1, 0]);
    let mut raw = stream.clone();
    assert_eq!(raw.next_u64() >> 32, 0);
    let second = raw.next_u64() >> 32;
    assert_eq!(stream.below(3), ((second * 3) >> 32) as u32);
    assert_eq!(stream, raw);
    // A power of two divides 2^32: nothing is redrawn.
    let mut stream = Stream::from_state([1, 0]);
    assert_eq!(stream.below(4), 0);
    assert_eq!(stream.state(), {
        let mut state = [1, 0];
        recurrence(&mut state);
        state
    });
}

#[test]
fn below_ends_of_the_range() {
    let mut stream = base(0);
    for _ in 0..100 {
        assert_eq!(stream.below(1), 0);
        assert_eq!(stream.below(0), 0);
    }
    // All ones in the upper half: the largest result, not one past it.
    for n in [1, 2, 3, 7, 225, u32::MAX] {
        assert_eq!(Stream::from_state([u64::MAX, 0]).below(n), n - 1);
    }
}

#[test]
fn below_is_even() {
    let mut stream = base(11);
    for n in [3u32, 7, 100, 225] {
        let per_cell = 2000;
        let mut counts = vec![0u32; n as usize];
        for _ in 0..n * per_cell {
            counts[stream.below(n) as usize] += 1;
        }
        let chi_square: f64 =
            counts.iter().map(|&c| (f64::from(c) - f64::from(per_cell)).powi(2) / f64::from(per_cell)).sum();
        let freedom = f64::from(n - 1);
        // Mean `freedom`, standard deviation sqrt(2 freedom); the seed is fixed, so this cannot fail by chance.
        assert!((chi_square - freedom).abs() < 4.0 * (2.0 * freedom).sqrt(), "n = {n}: chi square {chi_square}");
    }
}
