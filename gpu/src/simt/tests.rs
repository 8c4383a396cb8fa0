//! Each rule, broken on purpose, and what must work when none is.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rayon::prelude::*;

use super::block::Workspace;
use super::*;
use crate::kernel::{LaunchBounds, ParamDesc};

/// A kernel written by hand; `stringify!` gives its entry name.
macro_rules! kernel {
    ($(#[$bounds:ident = $max:literal])? $name:ident($($param:ident: $ty:ty),*) $body:block) => {
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy)]
        struct $name;
        impl Kernel for $name {
            type Params = ($($ty,)*);
            const NAME: &'static str = stringify!($name);
            const PARAMS: &'static [ParamDesc] = &[];
            const BOUNDS: LaunchBounds = LaunchBounds { max_threads: 0 $(+ $max)?, min_blocks: 0 };
            unsafe fn call(($($param,)*): Self::Params) $body
        }
    };
}

fn run<K: Kernel>(kernel: K, shape: LaunchShape, params: K::Params) -> Result<(), Fault> {
    // SAFETY: the kernels of this file check their accesses and get buffers that outlive the launch.
    unsafe { launch(kernel, shape, params, &Options::default()) }
}

fn fault<K: Kernel>(kernel: K, shape: LaunchShape, params: K::Params) -> (Fault, String) {
    let fault = run(kernel, shape, params).expect_err("the kernel breaks a rule");
    let text = fault.to_string();
    (fault, text)
}

#[track_caller]
fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

fn x() -> u32 {
    hooks::thread_idx()[0]
}

/// The thread's number in the grid, for one-dimensional shapes.
fn global_x() -> u32 {
    hooks::block_idx()[0] * hooks::block_dim()[0] + x()
}

#[track_caller]
fn shared_load(address: u32) -> u32 {
    let mut bytes = [0; 4];
    hooks::shared_read(address, &mut bytes);
    u32::from_le_bytes(bytes)
}

#[track_caller]
fn shared_store(address: u32, value: u32) {
    hooks::shared_write(address, &value.to_le_bytes());
}

#[track_caller]
fn shared_add(address: u32, value: u32) {
    hooks::shared_update(address, 4, &mut |bytes| {
        let old = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        bytes.copy_from_slice(&(old + value).to_le_bytes());
    });
}

#[track_caller]
fn global_store(out: *mut u32, index: u32, value: u32) {
    let at = out.wrapping_add(index as usize);
    hooks::check_global(at as usize, 4, true);
    // SAFETY: inside a registered buffer of `u32`, one element a thread.
    unsafe { at.write(value) };
}

/// Runs a kernel that writes `n` values, and gives them.
fn output<K: Kernel<Params = (*mut u32,)>>(kernel: K, shape: LaunchShape, n: usize) -> Vec<u32> {
    let mut out = vec![0_u32; n];
    let at = out.as_mut_ptr();
    let registration = memory::register(at as usize, n * 4);
    run(kernel, shape, (at,)).unwrap_or_else(|fault| panic!("{fault}"));
    drop(registration);
    out
}

// --- What works ---

kernel!(indices(out: *mut u32) {
    let ([tx, ty, tz], [bx, by, bz]) = (hooks::thread_idx(), hooks::block_idx());
    let ([dx, dy, dz], [gx, gy, _]) = (hooks::block_dim(), hooks::grid_dim());
    let thread = tx + dx * (ty + dy * tz);
    assert_eq!(hooks::lane(), thread % 32);
    let block = bx + gx * (by + gy * bz);
    global_store(out, block * dx * dy * dz + thread, thread << 16 | block);
});

#[test]
fn every_thread_of_every_block_runs_once_with_its_indices() {
    let shape = LaunchShape { grid: [3, 2, 2], block: [5, 3, 4], ..LaunchShape::new(1, 1) };
    let out = output(indices, shape, 12 * 60);
    for (i, value) in (0..).zip(out) {
        assert_eq!(value, (i % 60) << 16 | (i / 60));
    }
}

kernel!(block_sum(out: *mut u32) {
    let n = hooks::block_dim()[0];
    let partials = hooks::shared_static("partials", 4 * 1024);
    shared_store(partials + 4 * x(), global_x());
    hooks::sync_threads();
    let mut stride = n.next_power_of_two() / 2;
    while stride > 0 {
        if x() < stride && x() + stride < n {
            let sum = shared_load(partials + 4 * x()) + shared_load(partials + 4 * (x() + stride));
            shared_store(partials + 4 * x(), sum);
        }
        hooks::sync_threads();
        stride /= 2;
    }
    if x() == 0 {
        global_store(out, hooks::block_idx()[0], shared_load(partials));
    }
});

#[test]
fn a_block_sums_with_barriers() {
    for n in [1, 2, 31, 32, 33, 127, 128, 256, 1000, 1024] {
        let out = output(block_sum, LaunchShape::new(5, n), 5);
        for (block, sum) in (0..).zip(out) {
            let first = block * n;
            assert_eq!(sum, (first..first + n).sum::<u32>(), "{n} threads");
        }
    }
}

kernel!(warp_sum(out: *mut u32) {
    let mut sum = global_x();
    let mut offset = 16;
    while offset > 0 {
        let all = hooks::collective(u32::MAX, u64::from(sum));
        sum += all[(hooks::lane() as usize + offset) % 32] as u32;
        offset /= 2;
    }
    global_store(out, global_x(), sum);
});

#[test]
fn a_warp_sums_with_shuffles() {
    let out = output(warp_sum, LaunchShape::new(3, 128), 384);
    for (i, sum) in (0..).zip(out) {
        let first = i / 32 * 32;
        assert_eq!(sum, (first..first + 32).sum::<u32>());
    }
}

#[test]
fn a_last_partial_warp_ignores_lanes_that_do_not_exist() {
    for n in [1, 7, 40, 97] {
        kernel!(last_warp(out: *mut u32) {
            let all = hooks::collective(u32::MAX, u64::from(x()) + 1);
            hooks::sync_warp(u32::MAX);
            global_store(out, x(), all.iter().filter(|&&v| v != 0).count() as u32);
        });
        let out = output(last_warp, LaunchShape::new(1, n), n as usize);
        for (i, lanes) in (0..).zip(out) {
            assert_eq!(lanes, (n - i / 32 * 32).min(32), "thread {i} of {n}");
        }
    }
}

kernel!(halves(out: *mut u32) {
    // The lower half meets twice while the upper half has not yet read what all have deposited.
    let all = hooks::collective(u32::MAX, u64::from(x()));
    let mut sum: u64 = all.iter().sum();
    if x() < 16 {
        for round in 0..3 {
            sum += hooks::collective(0xffff, round)[x() as usize];
        }
    } else {
        sum += hooks::collective(0xffff_0000, 7)[3];
        sum += hooks::collective(0xffff_0000, 7)[20];
    }
    hooks::sync_warp(u32::MAX);
    global_store(out, x(), sum as u32);
});

#[test]
fn parts_of_a_warp_go_their_own_ways() {
    let out = output(halves, LaunchShape::new(1, 32), 32);
    for (i, sum) in out.into_iter().enumerate() {
        assert_eq!(sum, 496 + if i < 16 { 3 } else { 7 });
    }
}

kernel!(grid_rounds(out: *mut u32) {
    let n = hooks::grid_dim()[0] * hooks::block_dim()[0];
    for round in 0..4 {
        // Reads what the neighbour, maybe of another block, wrote in the round before.
        let next = (global_x() + 1) % n;
        // SAFETY: `n` elements, and the grid's barriers separate reads and writes.
        let value = unsafe { out.wrapping_add(next as usize).read() };
        hooks::sync_grid();
        global_store(out, global_x(), value + round + next);
        hooks::sync_grid();
    }
});

#[test]
fn the_grid_barrier_joins_all_blocks() {
    let n = 4 * 33;
    let out = output(grid_rounds, LaunchShape::new(4, 33).cooperative(), n);
    for (i, value) in out.into_iter().enumerate() {
        let expected: usize = (0..4).map(|round| round + (i + 4 - round) % n).sum();
        assert_eq!(value as usize, expected, "thread {i}");
    }
}

kernel!(cluster_ring(out: *mut u32) {
    let (rank, n) = hooks::cluster_shape();
    let mine = hooks::shared_static("mine", 4);
    if x() == 0 {
        shared_store(mine, hooks::block_idx()[0] + 100);
    }
    hooks::sync_cluster();
    let mut bytes = [0; 4];
    hooks::cluster_shared_read((rank + 1) % n, mine, &mut bytes);
    global_store(out, global_x(), u32::from_le_bytes(bytes));
    hooks::sync_cluster();
    if x() == 1 {
        hooks::cluster_shared_write((rank + 1) % n, mine, &rank.to_le_bytes());
    }
    hooks::sync_cluster();
    assert_eq!(shared_load(mine), (rank + n - 1) % n);
});

#[test]
fn a_cluster_shares_memory() {
    let check = |shape: LaunchShape| {
        let out = output(cluster_ring, shape, 16);
        for (i, value) in (0..).zip(out) {
            let block = i / 2;
            assert_eq!(value, block / 4 * 4 + (block + 1) % 4 + 100);
        }
    };
    check(LaunchShape::new(8, 2).with_cluster(4));
    check(LaunchShape::new(8, 2).with_cluster(4).cooperative());
}

kernel!(remote_race(_out: *mut u32) {
    let (rank, n) = hooks::cluster_shape();
    let mine = hooks::shared_static("mine", 4);
    shared_store(mine, 1);
    hooks::sync_threads();
    hooks::cluster_shared_read((rank + 1) % n, mine, &mut [0; 4]);
});

#[test]
fn a_block_barrier_does_not_order_a_cluster() {
    let shape = LaunchShape::new(2, 1).with_cluster(2);
    let (fault, text) = fault(remote_race, shape, (std::ptr::null_mut(),));
    // Block 0 runs first, and the other one has written nothing yet.
    assert!(matches!(fault.kind, FaultKind::UnwrittenShared { .. }), "{text}");
    kernel!(remote_race_later() {
        let (rank, _) = hooks::cluster_shape();
        let mine = hooks::shared_static("mine", 4);
        shared_store(mine, 1);
        hooks::sync_threads();
        if rank == 1 {
            hooks::cluster_shared_read(0, mine, &mut [0; 4]);
        }
    });
    let (fault, text) = self::fault(remote_race_later, shape, ());
    assert!(matches!(fault.kind, FaultKind::SharedRace { .. }), "{text}");
    assert_contains(
        &text,
        &["block (1, 0, 0), thread (0, 0, 0): shared", "which block (0, 0, 0), thread (0, 0, 0) wrote"],
    );
}

kernel!(early_return(out: *mut u32) {
    if global_x().is_multiple_of(3) {
        return;
    }
    global_store(out, global_x(), 1);
});

#[test]
fn threads_may_return_early_where_nobody_waits() {
    let out = output(early_return, LaunchShape::new(4, 100), 400);
    assert!((0..).zip(out).all(|(i, v)| v == u32::from(i % 3 != 0)));
}

kernel!(dynamic(out: *mut u32) {
    let (address, bytes) = hooks::shared_dynamic();
    let fixed = hooks::shared_static("fixed", 6);
    assert_eq!((bytes, fixed % 16), (256, 0));
    assert!(fixed >= address + bytes);
    assert_eq!(hooks::shared_static("fixed", 6), fixed);
    shared_store(address + 4 * x(), x());
    hooks::sync_threads();
    global_store(out, x(), shared_load(address + 4 * (63 - x())));
});

#[test]
fn dynamic_shared_memory_has_the_bytes_of_the_launch() {
    let out = output(dynamic, LaunchShape::new(1, 64).with_shared(256), 64);
    assert!((0..64).eq(out.into_iter().rev()));
}

kernel!(bytes_apart(out: *mut u32) {
    let array = hooks::shared_static("bytes", 64);
    hooks::shared_write(array + x(), &[x() as u8]);
    hooks::sync_threads();
    let word = shared_load(array + x() / 4 * 4);
    global_store(out, x(), word);
});

#[test]
fn neighbouring_bytes_of_a_word_do_not_race() {
    let out = output(bytes_apart, LaunchShape::new(1, 64), 64);
    for (i, word) in (0..).zip(out) {
        let first = i / 4 * 4;
        assert_eq!(word.to_le_bytes(), [0, 1, 2, 3].map(|k| first + k));
    }
}

kernel!(atomic_sum(out: *mut u32) {
    let sum = hooks::shared_static("sum", 4);
    if x() == 0 {
        shared_store(sum, 0);
    }
    hooks::sync_threads();
    shared_add(sum, x());
    hooks::sync_threads();
    global_store(out, x(), shared_load(sum));
});

#[test]
fn atomic_updates_do_not_race() {
    let out = output(atomic_sum, LaunchShape::new(1, 128), 128);
    assert!(out.into_iter().all(|sum| sum == 127 * 64));
}

kernel!(warp_ordered(out: *mut u32) {
    let tile = hooks::shared_static("tile", 512);
    shared_store(tile + 4 * x(), x());
    hooks::sync_warp(u32::MAX);
    let next = x() / 32 * 32 + (x() + 1) % 32;
    let value = shared_load(tile + 4 * next);
    hooks::collective(u32::MAX, 0);
    shared_store(tile + 4 * next, value + 1);
    hooks::sync_warp(u32::MAX);
    global_store(out, x(), shared_load(tile + 4 * x()));
});

#[test]
fn warp_barriers_order_the_lanes_of_a_warp() {
    let out = output(warp_ordered, LaunchShape::new(1, 128), 128);
    assert!((1..129).eq(out));
}

#[test]
fn two_runs_give_the_same() {
    kernel!(order(out: *mut u32, next: *mut u32) {
        let turn = |round: u32| {
            // SAFETY: one OS thread runs the cooperative grid.
            unsafe {
                *next += 1;
                *out.wrapping_add((global_x() * 4 + round) as usize) = *next;
            }
        };
        turn(0);
        hooks::sync_threads();
        turn(1);
        hooks::collective(u32::MAX, 0);
        turn(2);
        hooks::sync_grid();
        turn(3);
    });
    let once = || {
        let (mut out, mut next) = (vec![0_u32; 3 * 70 * 4], 0_u32);
        let params = (out.as_mut_ptr(), std::ptr::from_mut(&mut next));
        run(order, LaunchShape::new(3, 70).cooperative(), params).expect("keeps the rules");
        out
    };
    let first = once();
    assert_eq!(first, once());
    assert_eq!(first[..5], [1, 71, 71 + 70, 631, 2]);
}

#[test]
fn launches_nest_in_rayon_and_under_a_lock() {
    let lock = std::sync::Mutex::new(());
    let sums: Vec<u32> = (0..64_u32)
        .into_par_iter()
        .map(|i| {
            let _guard = lock.lock();
            output(block_sum, LaunchShape::new(6, 64 + i), 6)[0]
        })
        .collect();
    for (i, sum) in (64..).zip(sums) {
        assert_eq!(sum, i * (i - 1) / 2);
    }
}

#[test]
fn stacks_are_reused_from_launch_to_launch() {
    let n_stacks = || {
        let workspace = Workspace::take();
        let n = workspace.n_stacks();
        workspace.put();
        n
    };
    let options = Options { threads: Some(1), ..Options::default() };
    let before = n_stacks();
    for round in 0..50 {
        let mut out = [0_u32; 8];
        let at = out.as_mut_ptr();
        let _registration = memory::register(at as usize, 32);
        // SAFETY: the buffer lives through the launch.
        unsafe { launch(block_sum, LaunchShape::new(8, 256), (at,), &options) }.expect("keeps the rules");
        // Faults give their stacks back as well.
        // SAFETY: touches no memory.
        unsafe { launch(one_stays_away, LaunchShape::new(8, 256), (), &options) }.expect_err("diverges");
        assert!(n_stacks() <= before.max(256), "round {round}: {}", n_stacks());
    }
    kernel!(no_barrier() {
        hooks::globaltimer();
    });
    std::thread::spawn(move || {
        // SAFETY: touches no memory.
        unsafe { launch(no_barrier, LaunchShape::new(8, 1024), (), &options) }.expect("keeps the rules");
        assert_eq!(n_stacks(), 1, "threads that do not wait share one stack");
    })
    .join()
    .expect("the thread ends");
}

// --- The four planted faults ---

kernel!(one_stays_away() {
    if x() != 5 {
        hooks::sync_threads();
    }
});

#[test]
fn planted_divergent_barrier() {
    let (fault, text) = fault(one_stays_away, LaunchShape::new(3, 64), ());
    assert_eq!(fault.block, [0, 0, 0]);
    assert!(matches!(fault.kind, FaultKind::DivergentBarrier { barrier: Wait::Block, other: Elsewhere::Returned, .. }));
    assert_contains(
        &text,
        &[
            "kernel `one_stays_away`, block (0, 0, 0), thread (0, 0, 0): divergent barrier: waits at sync_threads at ",
            "simt/tests.rs:",
            ", but thread (5, 0, 0) has returned from the kernel",
        ],
    );
}

kernel!(past_the_end(out: *mut u32) {
    global_store(out, global_x(), 1);
});

#[test]
fn planted_out_of_bounds() {
    let mut out = [0_u32; 100];
    let at = out.as_mut_ptr();
    let _registration = memory::register(at as usize, 400);
    let (fault, text) = fault(past_the_end, LaunchShape::new(2, 64), (at,));
    assert_eq!((fault.block, fault.thread), ([1, 0, 0], [36, 0, 0]));
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { space: Space::Global, bytes: 4, write: true, .. }));
    assert_contains(
        &text,
        &[
            "kernel `past_the_end`, block (1, 0, 0), thread (36, 0, 0): out of bounds: writes 4 bytes of global memory at 0x",
            "simt/tests.rs:",
            "it begins 0 bytes after the end of the nearest registered buffer (400 bytes at 0x",
        ],
    );
    assert!(out.iter().all(|&v| v == 1));
}

kernel!(reads_too_early() {
    let tile = hooks::shared_static("tile", 128);
    if x() < 16 {
        shared_store(tile + 4 * x(), 1);
    }
    hooks::sync_threads();
    shared_load(tile + 4 * x());
});

#[test]
fn planted_unwritten_shared_read() {
    // Twice, and after a kernel that fills shared memory: what an earlier block wrote does not count.
    output(warp_ordered, LaunchShape::new(1, 128), 128);
    for _ in 0..2 {
        let (fault, text) = fault(reads_too_early, LaunchShape::new(1, 32), ());
        assert!(matches!(fault.kind, FaultKind::UnwrittenShared { offset: 64, .. }));
        assert_contains(
            &text,
            &[
                "kernel `reads_too_early`, block (0, 0, 0), thread (16, 0, 0): unwritten shared memory: reads `tile` + 64 bytes (address 0x440) at ",
                "simt/tests.rs:",
            ],
        );
    }
}

kernel!(no_barrier_between() {
    let tile = hooks::shared_static("tile", 128);
    shared_store(tile + 4 * x(), x());
    if x() == 3 {
        shared_load(tile + 4 * 2);
    }
});

#[test]
fn planted_shared_race() {
    let (fault, text) = fault(no_barrier_between, LaunchShape::new(1, 32), ());
    assert!(matches!(fault.kind, FaultKind::SharedRace { other_thread: [2, 0, 0], .. }));
    assert_contains(
        &text,
        &[
            "kernel `no_barrier_between`, block (0, 0, 0), thread (3, 0, 0): shared memory race: reads `tile` + 8 bytes (address 0x408) at ",
            "simt/tests.rs:",
            ", which thread (2, 0, 0) wrote at ",
            ", with no barrier between",
        ],
    );
    let unchecked = Options { check_races: false, threads: None };
    // SAFETY: touches shared memory only.
    unsafe { launch(no_barrier_between, LaunchShape::new(1, 32), (), &unchecked) }.expect("races are not looked for");
}

// --- Further faults ---

#[test]
fn each_kind_of_race_is_found() {
    /// `first` by thread 0, `second` by thread 40 in the same phase.
    fn race(first: Access, second: Access) -> Option<(Access, Access)> {
        kernel!(pair(first: Access, second: Access) {
            let word = hooks::shared_static("word", 4);
            let touch = |access| match access {
                Access::Read => drop(shared_load(word)),
                Access::Write => shared_store(word, 1),
                Access::Update => shared_add(word, 1),
            };
            if x() == 0 {
                shared_store(word, 1);
            }
            hooks::sync_threads();
            match x() {
                0 => touch(first),
                40 => touch(second),
                _ => {}
            }
        });
        match run(pair, LaunchShape::new(1, 64), (first, second)) {
            Ok(()) => None,
            Err(Fault {
                thread: [40, 0, 0],
                kind: FaultKind::SharedRace { other_thread: [0, 0, 0], access, other_access, .. },
                ..
            }) => Some((other_access, access)),
            Err(fault) => panic!("{fault}"),
        }
    }
    let all = [Access::Read, Access::Write, Access::Update];
    for first in all {
        for second in all {
            let allowed = first == second && first != Access::Write;
            assert_eq!(race(first, second), (!allowed).then_some((first, second)));
        }
    }
}

#[test]
fn a_reader_of_another_warp_is_not_forgotten() {
    kernel!(readers() {
        let word = hooks::shared_static("word", 4);
        if x() == 0 {
            shared_store(word, 1);
        }
        hooks::sync_threads();
        if x() < 95 {
            // Lanes of three warps read; those of the writer's own warp are ordered before the write.
            shared_load(word);
        }
        hooks::sync_warp(u32::MAX);
        if x() == 95 {
            shared_store(word, 2);
        }
    });
    let (fault, text) = fault(readers, LaunchShape::new(1, 96), ());
    assert_eq!(fault.thread, [95, 0, 0]);
    assert!(matches!(fault.kind, FaultKind::SharedRace { other_access: Access::Read, .. }), "{text}");
}

#[test]
fn a_partial_mask_orders_its_lanes_only() {
    kernel!(partial(lane: u32) {
        let word = hooks::shared_static("word", 4);
        if x() == 0 {
            shared_store(word, 1);
        }
        if x() < 16 {
            hooks::sync_warp(0xffff);
        }
        if x() == lane {
            shared_load(word);
        }
    });
    run(partial, LaunchShape::new(1, 32), (15,)).expect("ordered by the mask");
    let (fault, _) = fault(partial, LaunchShape::new(1, 32), (16,));
    assert!(matches!(fault.kind, FaultKind::SharedRace { .. }));
}

#[test]
fn a_race_on_one_byte_of_a_word_is_found() {
    kernel!(byte_race() {
        let word = hooks::shared_static("word", 8);
        if x() == 0 {
            shared_store(word + 4, 1);
        } else {
            hooks::shared_write(word + 6, &[1]);
        }
    });
    let (fault, text) = fault(byte_race, LaunchShape::new(1, 2), ());
    assert!(matches!(fault.kind, FaultKind::SharedRace { offset: 6, .. }), "{text}");
}

#[test]
#[allow(clippy::if_same_then_else)] // The two locations are what is tested.
fn barriers_at_two_locations_diverge() {
    kernel!(two_locations() {
        if x() < 7 {
            hooks::sync_threads();
        } else {
            hooks::sync_threads();
        }
    });
    let (fault, text) = fault(two_locations, LaunchShape::new(1, 32), ());
    assert_eq!(fault.thread, [0, 0, 0]);
    assert_contains(&text, &["but thread (7, 0, 0) waits at sync_threads at "]);
}

#[test]
fn a_barrier_against_a_collective_diverges() {
    kernel!(mixed() {
        if x() < 7 {
            hooks::sync_threads();
        } else {
            hooks::sync_warp(u32::MAX);
        }
    });
    let (_, text) = fault(mixed, LaunchShape::new(1, 32), ());
    assert_contains(&text, &["waits at sync_threads at ", "thread (7, 0, 0) waits at a warp collective at "]);
}

#[test]
fn a_returned_lane_diverges_its_collective() {
    kernel!(lane_gone() {
        if x() != 37 {
            hooks::collective(u32::MAX, 0);
        }
        hooks::sync_threads();
    });
    let (fault, text) = fault(lane_gone, LaunchShape::new(1, 64), ());
    // Lane 5 of the second warp waits at the block's barrier; it has not returned.
    assert!(matches!(fault.kind, FaultKind::DivergentBarrier { .. }), "{text}");
    kernel!(lane_returned() {
        if x() == 37 {
            return;
        }
        hooks::collective(0xff, 0);
    });
    let masked = LaunchShape::new(1, 64);
    let (fault, text) = self::fault(lane_returned, masked, ());
    // Lanes 8 and up name a mask without themselves; the first of them is reported at once.
    assert_eq!(fault.thread, [8, 0, 0]);
    assert_contains(&text, &["lane 8 (thread (8, 0, 0)) called it with a mask that does not name itself"]);
    kernel!(one_returned() {
        if x() != 37 {
            hooks::sync_warp(u32::MAX);
        }
    });
    let (fault, text) = self::fault(one_returned, masked, ());
    assert!(matches!(fault.kind, FaultKind::DivergentCollective { lane: 5, other: Elsewhere::Returned, .. }));
    assert_contains(
        &text,
        &[
            "thread (32, 0, 0): divergent warp collective: ",
            "with mask 0xffffffff, but lane 5 (thread (37, 0, 0)) has returned",
        ],
    );
}

#[test]
#[allow(clippy::if_same_then_else)] // The two locations are what is tested.
fn collectives_at_two_locations_or_with_two_masks_diverge() {
    kernel!(locations() {
        if x() == 9 {
            hooks::collective(u32::MAX, 0);
        } else {
            hooks::collective(u32::MAX, 0);
        }
    });
    let (fault, _) = fault(locations, LaunchShape::new(1, 32), ());
    assert!(matches!(fault.kind, FaultKind::DivergentCollective { lane: 9, other: Elsewhere::Waits { .. }, .. }));
    kernel!(masks() {
        hooks::collective(if x() == 9 { 0xffff } else { u32::MAX }, 0);
    });
    let (fault, _) = self::fault(masks, LaunchShape::new(1, 32), ());
    assert!(matches!(fault.kind, FaultKind::DivergentCollective { lane: 9, .. }));
}

#[test]
fn a_block_that_leaves_the_grid_barrier_is_named() {
    kernel!(block_gone() {
        if hooks::block_idx()[0] != 2 {
            hooks::sync_grid();
        }
    });
    let (_, text) = fault(block_gone, LaunchShape::new(4, 8).cooperative(), ());
    assert_contains(&text, &["waits at sync_grid at ", "but block (2, 0, 0), thread (0, 0, 0) has returned"]);
    let (fault, text) = self::fault(block_gone, LaunchShape::new(4, 8), ());
    assert!(matches!(fault.kind, FaultKind::Shape { .. }));
    assert_contains(&text, &["sync_grid at ", "needs a cooperative launch"]);
}

#[test]
fn shared_accesses_stay_inside_their_array() {
    kernel!(outside(distance: u32) {
        hooks::shared_static("before", 16);
        let array = hooks::shared_static("array", 16);
        hooks::shared_static("after", 16);
        shared_store(array + distance, 0);
    });
    run(outside, LaunchShape::new(1, 1), (12,)).expect("inside");
    let (fault, text) = fault(outside, LaunchShape::new(1, 1), (13,));
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { space: Space::Shared, .. }));
    assert_contains(&text, &["writes 4 bytes of shared memory", "it runs 1 bytes past the end of `array`"]);
    kernel!(null() {
        shared_load(0);
    });
    let (_, text) = self::fault(null, LaunchShape::new(1, 1), ());
    assert_contains(&text, &["the block has declared no shared memory"]);
}

#[test]
fn panics_and_traps_become_faults() {
    kernel!(index(at: usize) {
        let few = [1, 2, 3];
        hooks::sync_threads();
        if x() == 3 {
            assert_ne!(few[at], 0);
        }
        hooks::sync_threads();
    });
    let (fault, text) = fault(index, LaunchShape::new(1, 64), (3,));
    assert_eq!(fault.thread, [3, 0, 0]);
    assert_contains(&text, &["trap: index out of bounds: the len is 3 but the index is 3, at ", "simt/tests.rs:"]);
    kernel!(traps() {
        hooks::trap();
    });
    let (_, text) = self::fault(traps, LaunchShape::new(1, 1), ());
    assert_contains(&text, &["thread (0, 0, 0): trap: trap, at ", "simt/tests.rs:"]);
    run(index, LaunchShape::new(1, 64), (2,)).expect("the next launch is unharmed");
}

#[test]
fn the_lowest_faulty_block_is_reported() {
    kernel!(many_faults() {
        if hooks::block_idx()[0] >= 3 {
            hooks::trap();
        }
    });
    for _ in 0..50 {
        let (fault, _) = fault(many_faults, LaunchShape::new(64, 32), ());
        assert_eq!(fault.block, [3, 0, 0]);
    }
}

#[test]
fn a_stopped_launch_drops_what_its_threads_hold() {
    struct Counted(*const AtomicU32);
    impl Drop for Counted {
        fn drop(&mut self) {
            // A destructor may even come to a barrier.
            hooks::sync_threads();
            hooks::sync_warp(u32::MAX);
            // SAFETY: the counter outlives the launch.
            unsafe { &*self.0 }.fetch_add(1, Ordering::Relaxed);
        }
    }
    kernel!(holds(dropped: *const AtomicU32) {
        let held = Counted(dropped);
        if x() == 63 {
            hooks::trap();
        }
        hooks::sync_threads();
        drop(held);
    });
    let dropped = AtomicU32::new(0);
    let (fault, _) = fault(holds, LaunchShape::new(1, 64), (&raw const dropped,));
    assert!(matches!(fault.kind, FaultKind::Trap { .. }));
    assert_eq!(dropped.into_inner(), 64);
}

#[test]
fn other_panics_still_reach_the_hook_and_hooks_need_a_launch() {
    run(one_stays_away, LaunchShape::new(1, 8), ()).expect_err("diverges");
    let payload = std::panic::catch_unwind(hooks::thread_idx).expect_err("outside a launch");
    let text = payload.downcast_ref::<&str>().expect("a text");
    assert_contains(text, &["outside a `simt` launch"]);
    assert!(hooks::globaltimer() <= hooks::globaltimer());
}

#[test]
fn shapes_are_checked() {
    kernel!(idle() {});
    kernel!(#[max = 128] bounded() {});
    let text = |shape| fault(idle, shape, ()).1;
    let big = LaunchShape::new(1, 1);
    assert_eq!(
        text(LaunchShape::new(0, 1)),
        "kernel `idle`: grid (0, 1, 1) is not possible (1 to 2147483647 blocks in x, 1 to 65535 in y and z)"
    );
    assert_contains(&text(LaunchShape::grid_2d(1, 65_536, 1)), &["1 to 65535 in y"]);
    assert_contains(&text(LaunchShape::new(1, 0)), &["block (0, 1, 1) is not possible (1 to 1024 threads"]);
    assert_contains(&text(LaunchShape::new(1, 1025)), &["block (1025, 1, 1)"]);
    assert_contains(&text(LaunchShape { block: [64, 32, 1], ..big }), &["1 to 1024 threads"]);
    assert_contains(&text(LaunchShape { block: [1, 1, 65], ..big }), &["at most 64 in z"]);
    assert_contains(&text(big.with_shared(232_449)), &["232449 bytes", "at most 232448"]);
    assert_contains(&text(LaunchShape::new(6, 1).with_cluster(4)), &["clusters of 4 blocks", "a divisor"]);
    assert_contains(&text(LaunchShape::new(32, 1).with_cluster(32)), &["1 to 16"]);
    assert_contains(&text(LaunchShape::new(16, 1).with_cluster(0)), &["1 to 16"]);
    assert_contains(&text(LaunchShape::new(17, 1024).cooperative()), &["at most 16384 threads"]);
    assert_contains(
        &text(LaunchShape { grid: [i32::MAX as u32, 65_535, 65_535], ..big.cooperative() }),
        &["at most 16384 threads"],
    );
    run(bounded, LaunchShape::new(1, 128), ()).expect("within the bounds");
    assert_contains(&fault(bounded, LaunchShape::new(1, 129), ()).1, &["launch bounds (at most 128)"]);
    kernel!(too_much() {
        hooks::shared_static("huge", 48 * 1024);
        hooks::shared_static("more", 1);
    });
    assert_contains(&fault(too_much, big, ()).1, &["shared array `more`", "at most 49152 static"]);
    kernel!(changes() {
        hooks::shared_static("array", 4);
        hooks::shared_static("array", 8);
    });
    assert_contains(&fault(changes, big, ()).1, &["has 8 bytes, and had 4 before"]);
    kernel!(launches() {
        let inner = run(idle, LaunchShape::new(1, 1), ());
        assert_contains(&inner.expect_err("refused").to_string(), &["cannot launch kernels"]);
    });
    run(launches, big, ()).expect("the inner launch is refused, the outer one is not");
}

#[test]
fn a_large_cooperative_grid_runs_and_gives_its_stacks_back() {
    kernel!(meet(count: *const AtomicU32) {
        // SAFETY: the counter outlives the launch.
        let count = unsafe { &*count };
        count.fetch_add(1, Ordering::Relaxed);
        hooks::sync_grid();
        assert_eq!(count.load(Ordering::Relaxed), 8192);
    });
    let count = AtomicU32::new(0);
    run(meet, LaunchShape::new(32, 256).cooperative(), (&raw const count,)).expect("keeps the rules");
    let workspace = Workspace::take();
    assert!(workspace.n_stacks() <= 2048);
    workspace.put();
}

// --- Speed ---

thread_local! {
    static BUSY: Cell<u64> = const { Cell::new(0) };
}

/// Simulated threads a second on one core. Run with
/// `cargo test --release -p warpplay-gpu --no-default-features simt -- --ignored --nocapture speed`.
#[test]
#[ignore = "a measurement"]
fn speed() {
    kernel!(nothing() {
        BUSY.set(BUSY.get() + u64::from(global_x()));
    });
    kernel!(one_barrier() {
        BUSY.set(BUSY.get() + u64::from(x()));
        hooks::sync_threads();
    });
    kernel!(five_shuffles() {
        let mut sum = u64::from(x());
        for offset in [16, 8, 4, 2, 1] {
            sum += hooks::collective(u32::MAX, sum)[(x() as usize % 32) ^ offset];
        }
        BUSY.set(BUSY.get() + sum);
    });
    kernel!(shared_exchange() {
        let tile = hooks::shared_static("tile", 4096);
        shared_store(tile + 4 * x(), x());
        hooks::sync_threads();
        let mut sum = 0;
        for k in 0..8 {
            sum += shared_load(tile + 4 * (x() ^ k));
        }
        BUSY.set(BUSY.get() + u64::from(sum));
    });
    kernel!(global_writes(out: *mut u32) {
        global_store(out, global_x(), 1);
    });
    fn measure<K: Kernel>(kernel: K, shape: LaunchShape, params: K::Params) {
        for check_races in [true, false] {
            let options = Options { check_races, threads: Some(1) };
            let mut best = f64::INFINITY;
            for _ in 0..5 {
                let start = std::time::Instant::now();
                // SAFETY: as in `run`.
                unsafe { launch(kernel, shape, params, &options) }.expect("keeps the rules");
                best = best.min(start.elapsed().as_secs_f64());
            }
            let n = shape.n_blocks() * u64::from(shape.n_threads());
            println!(
                "{:<16} block {:>4}, races {:<8} {:>7.2} million threads/s",
                K::NAME,
                shape.n_threads(),
                if check_races { "checked," } else { "ignored," },
                n as f64 / best / 1e6
            );
        }
    }
    for n in [32, 128, 1024] {
        let shape = LaunchShape::new(1_048_576 / n, n);
        measure(nothing, shape, ());
        measure(one_barrier, shape, ());
        measure(five_shuffles, shape, ());
        measure(shared_exchange, shape, ());
        let mut out = vec![0_u32; 1 << 20];
        let _registration = memory::register(out.as_mut_ptr() as usize, 4 << 20);
        measure(global_writes, shape, (out.as_mut_ptr(),));
    }
    let launches = AtomicU64::new(0);
    let start = std::time::Instant::now();
    while start.elapsed().as_millis() < 500 {
        run(one_barrier, LaunchShape::new(8, 32), ()).expect("keeps the rules");
        launches.fetch_add(1, Ordering::Relaxed);
    }
    println!("{} launches/s of 8 blocks of 32 threads", 2 * launches.into_inner());
}

kernel! {
    read_by_stride(stride: u32, turns: u32) {
        let array = hooks::shared_static("array", 4 * 1024);
        for lane in 0..32 {
            shared_store(array + 4 * (lane * 32 + x()), lane);
        }
        hooks::sync_threads();
        for _ in 0..turns {
            shared_load(array + 4 * (x() * stride));
        }
    }
}

#[test]
fn bank_conflicts_are_counted_by_location_where_asked() {
    for (stride, wavefronts) in [(0, 1), (1, 1), (2, 2), (31, 1)] {
        let shape = LaunchShape::new(3, 32);
        let (result, report) = banks::count(|| run(read_by_stride, shape, (stride, 5)));
        result.expect("no rule is broken");
        let reads: Vec<_> = report.counts.iter().filter(|count| count.access == Access::Read).collect();
        assert_eq!(reads.len(), 1, "{report:?}");
        assert_eq!((reads[0].requests, reads[0].wavefronts), (15, 15 * wavefronts), "stride {stride}");
        assert_eq!(report.conflicts(), 15 * (wavefronts - 1));
        assert_eq!(report.requests(), 15 + 3 * 32);
        assert!(reads[0].location.file().ends_with("tests.rs"));
    }
    let ((), report) = banks::count(|| ());
    run(read_by_stride, LaunchShape::new(1, 32), (2, 1)).expect("no rule is broken");
    assert_eq!(report, banks::BankReport::default());
}
