//! Barriers and collectives: what they join, and what diverges.

use super::*;

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

#[test]
fn planted_divergent_barrier() {
    let (fault, text) = fault(one_stays_away, LaunchShape::new(3, 64), ());
    assert_eq!(fault.block, [0, 0, 0]);
    assert!(matches!(fault.kind, FaultKind::DivergentBarrier { barrier: Wait::Block, other: Elsewhere::Returned, .. }));
    assert_contains(
        &text,
        &[
            "kernel `one_stays_away`, block (0, 0, 0), thread (0, 0, 0): divergent barrier: waits at sync_threads at ",
            "simt/tests/mod.rs:",
            ", but thread (5, 0, 0) has returned from the kernel",
        ],
    );
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
