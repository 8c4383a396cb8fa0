//! Races on shared and global memory, and what orders accesses.

use super::*;

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

#[test]
fn warp_barriers_order_the_lanes_of_a_warp() {
    let out = output(warp_ordered, LaunchShape::new(1, 128), 128);
    assert!((1..129).eq(out));
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
    assert!(matches!(fault.kind, FaultKind::SharedRace { pair: UnorderedPair { other_thread: [2, 0, 0], .. }, .. }));
    assert_contains(
        &text,
        &[
            "kernel `no_barrier_between`, block (0, 0, 0), thread (3, 0, 0): shared memory race: reads `tile` + 8 bytes (address 0x408) at ",
            "simt/tests/races.rs:",
            ", which thread (2, 0, 0) wrote at ",
            ", with no barrier between",
        ],
    );
    let unchecked = Options { check_races: false, ..Options::default() };
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
                kind:
                    FaultKind::SharedRace {
                        pair: UnorderedPair { other_thread: [0, 0, 0], access, other_access, .. }, ..
                    },
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
    assert!(
        matches!(fault.kind, FaultKind::SharedRace { pair: UnorderedPair { other_access: Access::Read, .. }, .. }),
        "{text}"
    );
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

// --- Global memory ---

/// How two threads of [`global_pair`] stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Between {
    Nothing,
    Barrier,
    Warp,
    Cluster,
    Grid,
}

kernel!(global_pair(out: *mut u32, first: (Access, usize), second: (Access, usize), between: Between, threads: [u32; 2]) {
    let mine = hooks::block_idx()[0] * hooks::block_dim()[0] + x();
    let touch = |(access, byte): (Access, usize)| hooks::check_global(out as usize + byte, if byte == 0 { 4 } else { 1 }, access);
    if mine == threads[0] {
        touch(first);
    }
    match between {
        Between::Nothing => {}
        Between::Barrier => hooks::sync_threads(),
        Between::Warp => hooks::sync_warp(u32::MAX),
        Between::Cluster => hooks::sync_cluster(),
        Between::Grid => hooks::sync_grid(),
    }
    if mine == threads[1] {
        touch(second);
    }
});

/// The fault of two touches of one word, if it is one.
fn global_race(
    shape: LaunchShape,
    touches: [(Access, usize); 2],
    between: Between,
    threads: [u32; 2],
) -> Option<(Fault, String)> {
    let mut word = [0u32; 1];
    let _registration = memory::register(word.as_ptr() as usize, 4);
    let options = Options { check_global_races: true, ..Options::default() };
    let params = (word.as_mut_ptr(), touches[0], touches[1], between, threads);
    // SAFETY: the kernel only announces its touches.
    let result = unsafe { launch(global_pair, shape, params, &options) };
    result.err().map(|fault| (fault.clone(), fault.to_string()))
}

#[test]
fn each_kind_of_race_on_global_memory_is_found() {
    use Access::{Read, Update, Write};
    let plain = LaunchShape::new(2, 64);
    for first in [Read, Write, Update] {
        for second in [Read, Write, Update] {
            let harmless = matches!((first, second), (Read, Read) | (Update, Update));
            // Lanes of a warp, threads of a block, threads of two blocks.
            for other in [5, 40, 70] {
                let found = global_race(plain, [(first, 0), (second, 0)], Between::Nothing, [3, other]);
                assert_eq!(found.is_none(), harmless, "{first:?}, then {second:?} by {other}: {found:?}");
            }
            assert!(global_race(plain, [(first, 0), (second, 0)], Between::Nothing, [3, 3]).is_none());
            // Neighbouring bytes of a word.
            assert!(global_race(plain, [(first, 1), (second, 2)], Between::Nothing, [3, 70]).is_none());
            let whole = global_race(plain, [(first, 0), (second, 2)], Between::Nothing, [3, 70]);
            assert_eq!(whole.is_none(), harmless, "{first:?} of a word, then {second:?} of a byte");
        }
    }
}

#[test]
fn a_prefetch_is_no_access_but_stays_inside() {
    kernel!(write_and_prefetch(out: *mut u32, ahead: usize) {
        if x() == 0 {
            hooks::check_global(out as usize, 4, Access::Write);
        } else {
            hooks::check_prefetch(out as usize + ahead);
        }
    });
    let word = [0u32; 1];
    let _registration = memory::register(word.as_ptr() as usize, 4);
    let options = Options { check_global_races: true, ..Options::default() };
    let go = |ahead: usize| {
        // SAFETY: the kernel only announces its touches.
        unsafe { launch(write_and_prefetch, LaunchShape::new(1, 2), (word.as_ptr().cast_mut(), ahead), &options) }
    };
    go(3).expect("no race");
    let fault = go(4).expect_err("past the buffer's end");
    assert!(
        matches!(fault.kind, FaultKind::OutOfBounds { space: Space::Global, bytes: 1, write: false, .. }),
        "{fault}"
    );
}

#[test]
fn barriers_order_touches_of_global_memory() {
    let both = [(Access::Write, 0), (Access::Write, 0)];
    let grid = LaunchShape::new(2, 64).cooperative();
    let cluster = LaunchShape::new(2, 64).with_cluster(2);
    for (shape, between, other, ordered) in [
        (LaunchShape::new(2, 64), Between::Barrier, 40, true),
        (LaunchShape::new(2, 64), Between::Barrier, 70, false),
        (LaunchShape::new(2, 64), Between::Warp, 5, true),
        (LaunchShape::new(2, 64), Between::Warp, 40, false),
        (cluster, Between::Cluster, 70, true),
        (cluster, Between::Barrier, 70, false),
        (grid, Between::Grid, 70, true),
        (grid, Between::Barrier, 70, false),
    ] {
        let found = global_race(shape, both, between, [3, other]);
        assert_eq!(found.is_none(), ordered, "{between:?}, thread {other}: {found:?}");
    }
}

#[test]
fn a_race_on_global_memory_names_both_threads() {
    let touches = [(Access::Write, 0), (Access::Read, 0)];
    let (fault, text) = global_race(LaunchShape::new(2, 64), touches, Between::Nothing, [3, 70]).expect("a race");
    assert!(matches!(
        fault.kind,
        FaultKind::GlobalRace { pair: UnorderedPair { other_block: [0, 0, 0], other_thread: [3, 0, 0], .. }, .. }
    ));
    assert_contains(
        &text,
        &[
            "kernel `global_pair`, block (1, 0, 0), thread (6, 0, 0): global memory race: reads byte 0 of a buffer of 4 bytes (address 0x",
            "which block (0, 0, 0), thread (3, 0, 0) wrote at ",
            "simt/tests/races.rs:",
            ", and nothing orders the two",
        ],
    );
}
