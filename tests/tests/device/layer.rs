//! The device layer, function by function: what a kernel gets is what the documentation says, on every back end and every PTX image.

use bytemuck::Pod;
use proptest::prelude::*;
use warpplay::{Backend, Buffer, Device, InOut, Kernel, LaunchShape, Module, PtxSet, Stream};
use warpplay_test_kernels::atomics::{Targets, test_atomics, test_shared_atomics};
use warpplay_test_kernels::cluster::test_cluster;
use warpplay_test_kernels::collectives::{BlockResults, WARP_RESULTS, test_block, test_grid, test_warp};
use warpplay_test_kernels::faults::{test_argmax_reuse, test_child_ranks, test_path_copy};
use warpplay_test_kernels::index::{ScaleArgs, test_add, test_clock, test_indices, test_mark_below, test_scale};
use warpplay_test_kernels::memory::{
    BLOCK, Forty, Six, Sixteen, Twelve, test_copy_async, test_dynamic, test_shared_1, test_shared_2, test_shared_3,
    test_shared_4, test_shared_6, test_shared_8, test_shared_12, test_shared_16, test_shared_40, test_shared_vec4,
    test_vectors,
};
use warpplay_test_kernels::numbers::{test_approximate, test_exact};
use warpplay_test_kernels::ptx;
use warpplay_tests::Checked;
use warpplay_tests::backends::{each_image, for_each_device};
use warpplay_tests::skipped::skipped;
use warpplay_tests::strategies::{BLOCKS, SIZES, config};
use warpplay_tests::tolerance::{Tolerance, close, same};

/// A device with one image of a module.
struct Bench {
    stream: Stream,
    module: Module,
}

impl Bench {
    fn new(device: &Device, set: &PtxSet) -> Result<Self, warpplay::Error> {
        Ok(Self { stream: device.stream()?, module: Module::load(device, set)? })
    }

    /// Launches a test kernel, whose contract each test keeps by its buffers' lengths, and waits for it.
    fn launch<K: Kernel>(
        &self,
        kernel: K,
        shape: LaunchShape,
        arguments: impl warpplay::IntoParams<K::Params>,
    ) -> Checked {
        let function = self.module.function(kernel)?;
        // SAFETY: each test gives buffers and shapes as its kernel asks.
        unsafe { self.stream.launch(&function, shape, arguments)? };
        self.stream.synchronize()
    }
}

/// Runs a body on every device, with every image of the layer's module that it can load.
fn each_bench(body: impl Fn(&Bench) -> Checked) {
    for_each_device(|device| {
        for set in each_image(device, &ptx::LAYER) {
            body(&Bench::new(device, &set)?)?;
        }
        Ok(())
    });
}

/// Values without a pattern.
fn values(n: usize, salt: u32) -> Vec<u32> {
    (0..n as u32)
        .map(|i| (i ^ salt).wrapping_mul(0x9e37_79b9).rotate_left(i % 31).wrapping_mul(0x85eb_ca6b) >> 8)
        .collect()
}

#[test]
fn indices_are_those_of_the_launch() {
    each_bench(|bench| {
        for (grid, block) in
            [([1, 1, 1], [1, 1, 1]), ([3, 2, 2], [8, 4, 2]), ([5, 1, 3], [33, 3, 1]), ([2, 7, 1], [1, 16, 4])]
        {
            let shape = LaunchShape { grid, block, ..LaunchShape::new(1, 1) };
            let n = shape.n_blocks() as usize * shape.n_threads() as usize;
            let mut out = bench.stream.alloc::<[u32; 12]>(n)?;
            bench.launch(test_indices, shape, (&mut out,))?;
            let mut expected = Vec::new();
            let each = |[x, y, z]: [u32; 3]| {
                (0..z).flat_map(move |k| (0..y).flat_map(move |j| (0..x).map(move |i| [i, j, k]))).collect::<Vec<_>>()
            };
            for b in each(grid) {
                for t in each(block) {
                    let all = [t, b, block, grid].concat();
                    expected.push(<[u32; 12]>::try_from(all).expect("twelve"));
                }
            }
            same("indices", &bench.stream.read(&out)?, &expected);
        }
        Ok(())
    });
}

#[test]
fn the_guard_of_linear_kernels_lets_each_index_through_once() {
    const BEHIND: usize = 300;
    each_bench(|bench| {
        for n in SIZES {
            for block in [32, 64, 128] {
                // Behind the n values lie others that no thread may touch.
                let mut marks = bench.stream.alloc::<u32>(n as usize + BEHIND)?;
                bench.launch(test_mark_below, LaunchShape::linear(n, block), (&mut marks, n))?;
                let thread = |i: u32| i % block;
                let expected: Vec<u32> = (0..n)
                    .map(|i| 1 + 1000 * (thread(i) % 32) + 100_000 * (thread(i) / 32))
                    .chain([0; BEHIND])
                    .collect();
                same(&format!("{n} in blocks of {block}"), &bench.stream.read(&marks)?, &expected);
            }
        }
        Ok(())
    });
}

#[test]
fn safe_kernels_add_each_value_once_and_their_launch_checks_the_lengths() {
    each_bench(|bench| {
        let add = bench.module.function(test_add)?;
        for n in SIZES {
            let x = n.div_ceil(64).max(1);
            for y in [1, 3] {
                let summands = values(n as usize, 7);
                let there = bench.stream.upload(&summands)?;
                let mut sums = bench.stream.upload(&vec![5u32; n as usize])?;
                bench.stream.run(&add, (&mut sums, &there, n, n, x, y))?;
                let graph = bench.stream.capture(|stream| stream.run(&add, (&mut sums, &there, n, n, x, y)))?;
                bench.stream.launch_graph(&graph)?;
                let expected: Vec<u32> = summands.iter().map(|summand| 5 + 2 * summand).collect();
                same(&format!("{n} in {x} x {y} blocks"), &bench.stream.read(&sums)?, &expected);
                for (n_sums, n_read, short) in [(n + 1, n, "sums"), (n, n + 1, "summands")] {
                    let error =
                        bench.stream.run(&add, (&mut sums, &there, n_sums, n_read, x, y)).expect_err("too short");
                    let expected = format!("test_add: {short}: expected at least {} values, got {n} values", n + 1);
                    assert_eq!(error.to_string(), expected);
                }
                same("untouched", &bench.stream.read(&sums)?, &expected);
            }
        }
        Ok(())
    });
}

#[test]
fn a_structure_of_pointers_is_checked_borrowed_and_kept() {
    each_bench(|bench| {
        let scale = bench.module.function(test_scale)?;
        let stream = &bench.stream;
        let (rows, columns) = (3u32, 5u32);
        let start: Vec<f32> = (0..15u8).map(f32::from).collect();
        let mut values = stream.upload(&start)?;
        let mut before = stream.alloc::<f32>(15)?;
        let graph = {
            let factors = stream.upload(&[1.0f32, 2.0, 4.0])?;
            let mut run = |before: &mut Buffer<f32>| {
                let task = ScaleArgs {
                    values: values.view_mut(),
                    factors: factors.view(),
                    before: before.view_mut(),
                    n_rows: rows,
                    n_columns: columns,
                };
                stream.run_with(&scale, (32,), (task,))
            };
            run(&mut before)?;
            stream.capture(|_| run(&mut before).map(drop))?
        };
        // The factors are kept by the graph alone, and what is allocated now does not take their place.
        let others = stream.upload(&[f32::NAN; 3])?;
        stream.launch_graph(&graph)?;
        drop(others);
        let times = |power: i32| -> Vec<f32> {
            (0..).zip(&start).map(|(at, value)| value * [1.0f32, 2.0, 4.0][at / 5].powi(power)).collect()
        };
        same("scaled twice", &stream.read(&values)?, &times(2));
        same("scaled once", &stream.read(&before)?, &times(1));

        let factors = stream.upload(&[1.0f32; 3])?;
        let mut given = |n_rows, n_columns, block| {
            let (values, factors, before) = (values.view_mut(), factors.view(), InOut::none());
            stream.run_with(&scale, (block,), (ScaleArgs { values, factors, before, n_rows, n_columns },))
        };
        given(3, 5, 32)?;
        for (n_rows, n_columns, block, expected) in [
            (4, 5, 32, "test_scale: values: expected at least 20 values, got 15 values"),
            (5, 3, 32, "test_scale: factors: expected at least 5 values, got 3 values"),
            (
                u32::MAX,
                u32::MAX,
                32,
                "test_scale: values: expected at least 18446744065119617025 values, got 15 values",
            ),
            (3, 0, 32, "test_scale: expected n_columns >= 1, got n_columns = 0"),
            (3, 5, 48, "test_scale: expected block.is_power_of_two(), got block = 48"),
        ] {
            assert_eq!(given(n_rows, n_columns, block).expect_err(expected).to_string(), expected);
        }
        Ok(())
    });
}

#[test]
fn an_index_beyond_a_slice_ends_a_safe_kernel() {
    let stream = Device::simt().stream().expect("simt");
    let add = Module::load(&Device::simt(), &ptx::LAYER).and_then(|module| module.function(test_add)).expect("there");
    let (there, mut sums) = (stream.alloc::<u32>(64).expect("small"), stream.alloc::<u32>(64).expect("small"));
    // The kernel's declaration asks for the first 8 values only.
    let error = stream.run(&add, (&mut sums, &there, 64, 8, 1, 1)).expect_err("out of bounds");
    assert!(error.to_string().contains("test_add"), "{error}");
}

/// A set that is loaded twice is there as long as one of both is, and can be loaded again.
#[test]
fn a_set_is_loaded_as_often_as_one_likes() {
    for_each_device(|device| {
        let load = || Bench::new(device, &ptx::LAYER);
        let clock = |bench: &Bench| -> Checked {
            let mut out = bench.stream.alloc::<[u64; 2]>(1)?;
            bench.launch(test_clock, LaunchShape::new(1, 1), (&mut out,))?;
            assert_ne!(bench.stream.read(&out)?[0], [0; 2]);
            Ok(())
        };
        let (first, second) = (load()?, load()?);
        clock(&second)?;
        drop(second);
        clock(&first)?;
        drop(first);
        clock(&load()?)
    });
}

/// Kernels that are compiled one at a time, beside each other and beside the whole set.
#[test]
fn a_set_is_loaded_kernel_by_kernel() {
    for_each_device(|device| {
        let lazy =
            || Ok::<_, warpplay::Error>(Bench { stream: device.stream()?, module: Module::lazy(device, &ptx::LAYER)? });
        let mark = |bench: &Bench| -> Checked {
            let mut marks = bench.stream.upload(&[5u32, 0, 7])?;
            bench.launch(test_mark_below, LaunchShape::new(1, 32), (&mut marks, 2))?;
            assert_eq!(bench.stream.read(&marks)?, [6, 1001, 7]);
            Ok(())
        };
        let (first, second) = (lazy()?, lazy()?);
        mark(&first)?;
        // A kernel outlives its module.
        let kept = first.module.function(test_clock)?;
        drop(first);
        let mut out = second.stream.alloc::<[u64; 2]>(1)?;
        // SAFETY: a pair of numbers for the one thread.
        unsafe { second.stream.launch(&kept, LaunchShape::new(1, 1), (&mut out,))? };
        assert_ne!(second.stream.read(&out)?[0], [0; 2]);
        mark(&second)?;
        mark(&Bench::new(device, &ptx::LAYER)?)
    });
}

#[test]
fn the_clock_does_not_go_backwards() {
    each_bench(|bench| {
        let mut out = bench.stream.alloc::<[u64; 2]>(1)?;
        bench.launch(test_clock, LaunchShape::new(1, 1), (&mut out,))?;
        let [first, second] = bench.stream.read(&out)?[0];
        assert!(0 < first && first <= second, "{first} {second}");
        Ok(())
    });
}

#[test]
fn block_reductions_of_all_block_sizes() {
    each_bench(|bench| {
        for block in BLOCKS {
            // Ties, and the largest value in any warp: the smallest index must win.
            for (n_different, salt) in [(1, 0), (5, 1), (1 << 20, 2)] {
                let blocks = 3;
                let values: Vec<u32> =
                    values((blocks * block) as usize, salt).iter().map(|v| v % n_different).collect();
                let input = bench.stream.upload(&values)?;
                let mut out = bench.stream.alloc::<BlockResults>(values.len())?;
                bench.launch(test_block, LaunchShape::new(blocks, block), (&input, &mut out))?;
                let mut expected = Vec::new();
                for part in values.chunks(block as usize) {
                    let (largest, smallest) =
                        (part.iter().max().copied().unwrap_or(0), part.iter().min().copied().unwrap_or(0));
                    let first = |value: u32| part.iter().position(|&v| v == value).unwrap_or(0) as u32;
                    let mut up_to = 0;
                    for &value in part {
                        up_to += value;
                        expected.push(BlockResults {
                            sum: part.iter().map(|&v| u64::from(v) * 0x1_0000_0001).fold(0, u64::wrapping_add),
                            max_i64: -i64::from(smallest) - 1,
                            up_to,
                            all: part.iter().sum(),
                            max_f32: largest as f32,
                            best: largest as f32,
                            best_index: first(largest),
                            worst_index: first(smallest),
                        });
                    }
                }
                same(&format!("block of {block}"), &bench.stream.read(&out)?, &expected);
            }
        }
        Ok(())
    });
}

#[test]
fn warp_collectives_lane_by_lane() {
    each_bench(|bench| {
        for (n_warps, salt) in [(1, 0), (4, 9), (32, 77)] {
            let wide: Vec<u64> = values(32 * n_warps, salt)
                .iter()
                .zip(values(32 * n_warps, salt + 1))
                .map(|(&a, b)| u64::from(a) << 32 | u64::from(b))
                .collect();
            let input = bench.stream.upload(&wide)?;
            let mut out = bench.stream.alloc::<[u64; WARP_RESULTS]>(wide.len())?;
            bench.launch(test_warp, LaunchShape::new(1, 32 * n_warps as u32), (&input, &mut out))?;
            let expected: Vec<_> =
                wide.chunks(32).flat_map(|warp| (0..32).map(|lane| warp_by_hand(warp, lane))).collect();
            same("collectives", &bench.stream.read(&out)?, &expected);
        }
        Ok(())
    });
}

/// What lane `lane` gets of each collective of `test_warp`.
fn warp_by_hand(wide: &[u64], lane: usize) -> [u64; WARP_RESULTS] {
    let value = |i: usize| wide[i] as u32;
    let small = |i: usize| value(i) % 8;
    let bits = |lanes: std::ops::Range<usize>, test: &dyn Fn(usize) -> bool| {
        lanes.filter(|&i| test(i)).fold(0u64, |bits, i| bits | 1 << i)
    };
    let half = if lane < 16 { 0..16 } else { 16..32 };
    // The documented order: halves by distance 16, 8, 4, 2, 1.
    let mut floats: Vec<f32> = (0..32).map(|i| small(i) as f32 * 0.1).collect();
    let largest = floats.iter().copied().fold(0.0, f32::max);
    let best = floats.iter().position(|&f| f == largest).unwrap_or(0);
    for distance in [16, 8, 4, 2, 1] {
        floats = (0..32).map(|i| floats[i] + floats[i ^ distance]).collect();
    }
    let any = (0..32).any(|i| small(i) == 7);
    let all = (0..32).all(|i| small(i) < 7);
    [
        u64::from(value(5)),
        wide[lane / 2],
        wide[lane ^ 9],
        wide[if lane + 3 < 32 { lane + 3 } else { lane }],
        wide[if lane >= 3 { lane - 3 } else { lane }],
        u64::from(value(if lane == 31 { 0 } else { lane })),
        bits(0..32, &|i| small(i) == 3),
        u64::from(any) | u64::from(all) << 1,
        bits(0..32, &|i| small(i) == small(lane)),
        u64::from((0..32).map(value).sum::<u32>()),
        wide.iter().sum(),
        u64::from(floats[lane].to_bits()),
        u64::from((0..32).map(|i| value(i) as i32).max().unwrap_or(0) as u32),
        wide.iter().map(|&w| w as f64).fold(f64::INFINITY, f64::min).to_bits(),
        best as u64,
        u64::from((0..=lane).map(value).sum::<u32>()),
        wide[..=lane].iter().sum(),
        bits(half.clone(), &|i| value(i) & 1 == 1),
        u64::from(value(lane ^ 1)),
        bits(half, &|i| small(i) == small(lane)),
    ]
}

#[test]
fn atomics_of_global_memory_lose_nothing() {
    each_bench(|bench| {
        for (blocks, block) in [(1, 1), (1, 32), (7, 96), (40, 128)] {
            let values = values((blocks * block) as usize, 5);
            let start = Targets {
                min_u64: u64::MAX,
                min_u32: u32::MAX,
                min_i32: i32::MAX,
                max_i32: i32::MIN,
                exchange_u32: 17,
                ..Targets::default()
            };
            let mut targets = bench.stream.upload(&[start])?;
            let input = bench.stream.upload(&values)?;
            bench.launch(test_atomics, LaunchShape::new(blocks, block), (&input, &mut targets))?;
            let got = bench.stream.read(&targets)?[0];
            let sum = values.iter().fold(0u32, |sum, &v| sum.wrapping_add(v));
            let wide = |v: u32| u64::from(v) * 0x1_0000_0001;
            let sum_wide = values.iter().map(|&v| wide(v)).fold(0, u64::wrapping_add);
            let (largest, smallest) =
                (values.iter().max().copied().unwrap_or(0), values.iter().min().copied().unwrap_or(0));
            assert!(values.contains(&got.exchange_u32));
            let expected = Targets {
                add_u64: sum_wide,
                max_u64: wide(largest),
                min_u64: wide(smallest),
                cas_u64: sum_wide,
                add_u32: sum,
                add_i32: -values.iter().map(|v| (v % 1000) as i32).sum::<i32>(),
                // Small whole numbers: their sums are exact in any order.
                add_f32: values.iter().map(|v| v % 64).sum::<u32>() as f32,
                max_u32: largest,
                min_u32: smallest,
                max_i32: values.iter().map(|&v| v as i32).max().unwrap_or(0),
                min_i32: values.iter().map(|&v| v as i32).min().unwrap_or(0),
                exchange_u32: got.exchange_u32,
                // Everything that was ever there, but for what is there now.
                exchanged: sum.wrapping_add(17).wrapping_sub(got.exchange_u32),
                cas_u32: sum,
            };
            assert_eq!(got, expected);
        }
        Ok(())
    });
}

#[test]
fn atomics_of_shared_memory_lose_nothing() {
    each_bench(|bench| {
        for block in BLOCKS {
            let values = values(block as usize, 6);
            let input = bench.stream.upload(&values)?;
            let mut tickets = bench.stream.alloc::<u32>(values.len())?;
            let mut out = bench.stream.alloc::<[u32; 3]>(1)?;
            bench.launch(test_shared_atomics, LaunchShape::new(1, block), (&input, &mut tickets, &mut out))?;
            let mut tickets = bench.stream.read(&tickets)?;
            tickets.sort_unstable();
            same("every thread drew one ticket", &tickets, &(0..block).collect::<Vec<_>>());
            let sum = values.iter().fold(0u32, |sum, &v| sum.wrapping_add(v));
            let expected = [sum, values.iter().max().copied().unwrap_or(0), values.iter().min().copied().unwrap_or(0)];
            assert_eq!(bench.stream.read(&out)?, [expected]);
        }
        Ok(())
    });
}

#[test]
fn sixteen_bytes_at_once_and_rows() {
    each_bench(|bench| {
        for n in [1u32, 31, 33, 128, 129] {
            let row_stride = 4;
            let values = values(4 * n as usize, 8);
            let input = bench.stream.upload(&values)?;
            let mut out = bench.stream.alloc::<u32>(values.len())?;
            let mut sums = bench.stream.alloc::<u32>(n as usize)?;
            let shape = LaunchShape::linear(n, 64);
            bench.launch(test_vectors, shape, (&input, &mut out, &mut sums, n, row_stride))?;
            let expected: Vec<u32> = values.chunks(4).rev().flatten().copied().collect();
            same("vectors in reverse", &bench.stream.read(&out)?, &expected);
            let expected: Vec<u32> =
                values.chunks(4).map(|row| row.iter().fold(0u32, |sum, &v| sum.wrapping_add(v))).collect();
            same("sums of rows", &bench.stream.read(&sums)?, &expected);
        }
        Ok(())
    });
}

#[test]
fn asynchronous_copies_are_there_after_their_wait() {
    each_bench(|bench| {
        let block = BLOCK as usize;
        let values = values(8 * block, 3);
        let input = bench.stream.upload(&values)?;
        let mut out = bench.stream.alloc::<u32>(values.len())?;
        bench.launch(test_copy_async, LaunchShape::new(1, BLOCK), (&input, &mut out))?;
        let (first, second) = values.split_at(4 * block);
        let turned = |half: &[u32]| [&half[4..], &half[..4]].concat();
        same("second half first", &bench.stream.read(&out)?, &[turned(second), turned(first)].concat());
        Ok(())
    });
}

#[test]
fn static_shared_arrays_of_any_type_keep_every_byte() {
    fn through<T: Pod + PartialEq + std::fmt::Debug, K: Kernel<Params = (*const T, *mut T)>>(
        bench: &Bench,
        kernel: K,
    ) -> Checked {
        let bytes: Vec<u8> = (0..size_of::<T>() * BLOCK as usize).map(|i| (i * 37 % 251) as u8).collect();
        // Collected value by value: the bytes need not be aligned for T.
        let values: Vec<T> = bytes.chunks(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect();
        let input = bench.stream.upload(&values)?;
        let mut out = bench.stream.alloc::<T>(values.len())?;
        bench.launch(kernel, LaunchShape::new(1, BLOCK), (&input, &mut out))?;
        let mut expected = values;
        expected.rotate_left(1);
        same(std::any::type_name::<T>(), &bench.stream.read(&out)?, &expected);
        Ok(())
    }
    each_bench(|bench| {
        through::<u8, _>(bench, test_shared_1)?;
        through::<u16, _>(bench, test_shared_2)?;
        through::<f32, _>(bench, test_shared_4)?;
        through::<u64, _>(bench, test_shared_8)?;
        through::<[u8; 3], _>(bench, test_shared_3)?;
        through::<Six, _>(bench, test_shared_6)?;
        through::<Twelve, _>(bench, test_shared_12)?;
        through::<Sixteen, _>(bench, test_shared_16)?;
        through::<Forty, _>(bench, test_shared_40)?;
        through::<[u32; 4], _>(bench, test_shared_vec4)
    });
}

#[test]
fn dynamic_shared_memory_holds_two_arrays_beside_a_static_one() {
    each_bench(|bench| {
        for n in [32u32, 64, 256, 1024] {
            let values = values(n as usize, 4);
            let input = bench.stream.upload(&values)?;
            let mut out = bench.stream.alloc::<u64>(values.len())?;
            let shape = LaunchShape::new(1, n).with_shared(12 * n);
            bench.launch(test_dynamic, shape, (&input, &mut out, n))?;
            let at = |i: usize| values[i % n as usize];
            let expected: Vec<u64> = (0..n as usize)
                .map(|i| {
                    let (left, right) = (at(i + n as usize - 1), at(i + 1));
                    u64::from(left) + 3 * u64::from(right) + u64::from(left.wrapping_mul(5))
                })
                .collect();
            same("sums", &bench.stream.read(&out)?, &expected);
        }
        Ok(())
    });
}

#[test]
fn the_grid_waits_for_all_its_blocks() {
    each_bench(|bench| {
        for (blocks, block, rounds) in [(1, 32, 3), (5, 64, 20), (16, 32, 50)] {
            let mut tokens = bench.stream.alloc::<u32>((blocks * (rounds + 1)) as usize)?;
            let first: Vec<u32> = (0..blocks).map(|b| 1000 * b).collect();
            bench.stream.write(&mut tokens, 0, &first)?;
            let mut arrivals = bench.stream.alloc::<u32>(1)?;
            let shape = LaunchShape::new(blocks, block).cooperative();
            bench.launch(test_grid, shape, (&mut tokens, &mut arrivals, rounds))?;
            let expected: Vec<u32> = (0..=rounds)
                .flat_map(|round| (0..blocks).map(move |b| 1000 * ((b + blocks * rounds - round) % blocks) + round))
                .collect();
            same("tokens", &bench.stream.read(&tokens)?, &expected);
        }
        Ok(())
    });
}

#[test]
fn clusters_wait_for_their_own_blocks() {
    for_each_device(|device| {
        let capability = device.info()?.compute_capability;
        if capability.is_some_and(|capability| capability < (9, 0)) {
            skipped(format_args!("{device} has no clusters"));
            return Ok(());
        }
        let bench = Bench::new(device, &ptx::CLUSTER)?;
        for (blocks, cluster) in [(4, 2), (8, 4), (8, 8), (3, 1)] {
            let mut left = bench.stream.alloc::<u32>(blocks as usize)?;
            let mut read = bench.stream.alloc::<u32>(blocks as usize)?;
            let shape = LaunchShape::new(blocks, 64).with_cluster(cluster);
            bench.launch(test_cluster, shape, (&mut left, &mut read, cluster))?;
            let expected: Vec<u32> = (0..blocks).map(|b| 100 + b / cluster * cluster + (b + 1) % cluster).collect();
            same("neighbours", &bench.stream.read(&read)?, &expected);
        }
        Ok(())
    });
}

#[test]
fn with_their_barriers_the_three_patterns_of_the_original_are_right() {
    each_bench(|bench| {
        let n = 256u32;
        let mut out = bench.stream.alloc::<u32>(n as usize)?;
        bench.launch(test_child_ranks, LaunchShape::new(1, n), (&mut out, 1))?;
        let ranks: Vec<u32> = (0..n).map(|i| if i % 2 == 0 { (i + n / 2) % n } else { u32::MAX }).collect();
        same("ranks", &bench.stream.read(&out)?, &ranks);
        bench.launch(test_path_copy, LaunchShape::new(1, n), (&mut out, 1))?;
        same("path", &bench.stream.read(&out)?, &(0..n).map(|i| i * i).collect::<Vec<_>>());
        let mut best = bench.stream.alloc::<u32>(50)?;
        bench.launch(test_argmax_reuse, LaunchShape::new(1, n), (&mut best, 50, 1))?;
        let expected: Vec<u32> = (0..50u32)
            .map(|level| {
                let value = |t: u32| (t * 37 + level * 11) % 101;
                (0..n).max_by_key(|&t| (value(t), std::cmp::Reverse(t))).unwrap_or(0)
            })
            .collect();
        // Between warps the lowest warp wins a tie, and inside one the lowest thread: together the lowest thread.
        same("arg-max of each level", &bench.stream.read(&best)?, &expected);
        Ok(())
    });
}

/// Bits of the exact forms on the host.
fn exact_by_hand(x: f32, y: f32) -> [u32; 5] {
    use warpplay_gpu::cuda::math;
    [math::ln(x), math::exp(x), x.sqrt(), x * y + x, x / y].map(f32::to_bits)
}

/// NaN has many bit patterns, and which one comes out is nobody's promise.
fn one_nan(bits: [u32; 5]) -> [u32; 5] {
    bits.map(|bits| if f32::from_bits(bits).is_nan() { f32::NAN.to_bits() } else { bits })
}

fn check_exact(pairs: &[(f32, f32)]) {
    let (x, y): (Vec<f32>, Vec<f32>) = pairs.iter().copied().unzip();
    each_bench(|bench| {
        let n = pairs.len() as u32;
        let (in_x, in_y) = (bench.stream.upload(&x)?, bench.stream.upload(&y)?);
        let mut out = bench.stream.alloc::<[u32; 5]>(pairs.len())?;
        bench.launch(test_exact, LaunchShape::linear(n, 128), (&in_x, &in_y, &mut out, n))?;
        let got: Vec<_> = bench.stream.read(&out)?.into_iter().map(one_nan).collect();
        let expected: Vec<_> = pairs.iter().map(|&(x, y)| one_nan(exact_by_hand(x, y))).collect();
        same("ln, exp, sqrt, x * y + x, x / y", &got, &expected);
        Ok(())
    });
}

#[test]
fn exact_arithmetic_at_the_ends_of_its_range() {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::MIN_POSITIVE,
        f32::from_bits(1),
        f32::MAX,
        f32::MIN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::EPSILON,
        88.72,
        88.73,
        -103.9,
        -104.1,
        16_777_217.0,
        0.999_999_94,
        1.000_000_1,
    ];
    let pairs: Vec<_> = special.iter().flat_map(|&x| special.iter().map(move |&y| (x, y))).collect();
    check_exact(&pairs);
}

proptest! {
    #![proptest_config(config("cuda_layer", 8))]

    #[test]
    fn exact_arithmetic_has_the_hosts_bits(bits in proptest::collection::vec(any::<(u32, u32)>(), 500)) {
        let pairs: Vec<_> = bits.iter().map(|&(x, y)| (f32::from_bits(x), f32::from_bits(y))).collect();
        check_exact(&pairs);
    }

    #[test]
    fn approximate_arithmetic_keeps_its_documented_bounds(x in proptest::collection::vec(1e-3f32..60.0, 500)) {
        each_bench(|bench| {
            let n = x.len() as u32;
            let input = bench.stream.upload(&x)?;
            let mut out = bench.stream.alloc::<[f32; 5]>(x.len())?;
            bench.launch(test_approximate, LaunchShape::linear(n, 128), (&input, &mut out, n))?;
            let got = bench.stream.read(&out)?;
            // On the host the approximate forms are correctly rounded or nearly so; half an ulp, 2^-24, is added to each bound for that.
            let ulp = 2f64.powi(-23);
            let column = |at: usize| got.iter().map(|row| f64::from(row[at])).collect::<Vec<_>>();
            let host = |f: fn(f64) -> f64| x.iter().map(|&x| f(f64::from(x))).collect::<Vec<_>>();
            // lg2.approx: 2^-22 absolute near 1, relative elsewhere.
            close("log2", &column(0), &host(f64::log2), Tolerance { abs: 2f64.powi(-22) + ulp / 2.0, rel: 2f64.powi(-22) + ulp / 2.0 });
            close("exp2", &column(1), &host(f64::exp2), Tolerance { abs: 0.0, rel: 2f64.powi(-22) + ulp });
            close("reciprocal", &column(2), &host(|x| 1.0 / x), Tolerance { abs: 0.0, rel: ulp + ulp / 2.0 });
            close("reciprocal root", &column(3), &host(|x| 1.0 / x.sqrt()), Tolerance { abs: 0.0, rel: 2f64.powf(-22.4) + ulp });
            close("tanh", &column(4), &host(f64::tanh), Tolerance { abs: 0.0, rel: 2f64.powi(-11) + ulp });
            Ok(())
        });
    }
}

#[test]
fn a_launch_records_the_same_in_a_graph() {
    each_bench(|bench| {
        let n = 100u32;
        let mut marks = bench.stream.alloc::<u32>(n as usize)?;
        let function = bench.module.function(test_mark_below)?;
        let graph = bench.stream.capture(|stream| {
            for _ in 0..3 {
                // SAFETY: n values.
                unsafe { stream.launch(&function, LaunchShape::linear(n, 32), (&mut marks, n))? };
            }
            Ok(())
        })?;
        assert_eq!(graph.n_launches(), 3);
        assert_eq!(bench.stream.read(&marks)?[1], 0, "recording runs nothing");
        bench.stream.launch_graph(&graph)?;
        bench.stream.launch_graph(&graph)?;
        assert_eq!(bench.stream.read(&marks)?[1], 6 * 1001);
        drop(graph);
        Ok(())
    });
}

#[test]
fn every_kernel_of_the_layer_is_in_its_module() {
    // Asked of the PTX itself under simt, of the driver on a GPU.
    for_each_device(|device| {
        let bench = Bench::new(device, &ptx::LAYER)?;
        bench.module.function(test_indices)?;
        bench.module.function(test_shared_40)?;
        assert!(device.backend() == Backend::Simt || bench.module.function(test_cluster).is_err());
        Ok(())
    });
}
