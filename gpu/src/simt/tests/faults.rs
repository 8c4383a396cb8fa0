//! Panics and traps as faults, and what a stopped launch leaves behind.

use super::*;

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
    assert_contains(
        &text,
        &["trap: index out of bounds: the len is 3 but the index is 3, at ", "simt/tests/faults.rs:"],
    );
    kernel!(traps() {
        hooks::trap();
    });
    let (_, text) = self::fault(traps, LaunchShape::new(1, 1), ());
    assert_contains(&text, &["thread (0, 0, 0): trap: trap, at ", "simt/tests/faults.rs:"]);
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
