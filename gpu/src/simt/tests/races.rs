//! Races on shared memory, and what orders accesses.

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
    assert!(matches!(fault.kind, FaultKind::SharedRace { other_thread: [2, 0, 0], .. }));
    assert_contains(
        &text,
        &[
            "kernel `no_barrier_between`, block (0, 0, 0), thread (3, 0, 0): shared memory race: reads `tile` + 8 bytes (address 0x408) at ",
            "simt/tests/races.rs:",
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
