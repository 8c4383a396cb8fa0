//! Launches that are stopped in their middle.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::*;

static RUN: AtomicU32 = AtomicU32::new(0);

kernel!(slow() {
    RUN.fetch_add(1, Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(2));
});

kernel!(quick() {});

/// More blocks than could run while a test waits.
const MANY: LaunchShape = LaunchShape::new(1_000_000, 1);

#[test]
fn a_launch_asks_between_its_blocks_and_is_stopped() {
    let mut n_asked = 0;
    let mut ask = || {
        n_asked += 1;
        n_asked < 3
    };
    let (fault, next) = watch::asking(&mut ask, || {
        let fault = run(slow, MANY, ()).expect_err("it is stopped");
        let before = RUN.load(Ordering::Relaxed);
        // What follows does not begin.
        let next = run(slow, LaunchShape::new(4, 1), ()).expect_err("so is this");
        assert_eq!(RUN.load(Ordering::Relaxed), before);
        (fault, next)
    });
    assert_eq!(n_asked, 3, "nobody is asked again");
    assert_eq!((&fault.kind, &next.kind), (&FaultKind::Stopped, &FaultKind::Stopped));
    assert_eq!(fault.to_string(), "kernel `slow`: stopped on request");
    assert!((1..100_000).contains(&RUN.load(Ordering::Relaxed)));
    // Outside nobody is asked.
    run(quick, LaunchShape::new(100, 32), ()).expect("it runs");
}

#[test]
fn a_launch_that_nobody_stops_is_whole() {
    let mut out = [0_u32; 640];
    let _registration = memory::register(out.as_mut_ptr() as usize, 2560);
    kernel!(ones(out: *mut u32) {
        global_store(out, global_x(), 1);
    });
    watch::asking(&mut || true, || run(ones, LaunchShape::new(20, 32), (out.as_mut_ptr(),))).expect("it runs");
    assert!(out.iter().all(|&value| value == 1));
}

/// The question may launch kernels itself, of which it is not asked; a question within another stands for its own launches alone.
#[test]
fn questions_are_apart() {
    let mut inner = 0;
    let mut ask = || {
        run(quick, LaunchShape::new(8, 32), ()).expect("it runs");
        let within = watch::asking(
            &mut || {
                inner += 1;
                false
            },
            || run(slow, MANY, ()),
        );
        assert_eq!(within.expect_err("it is stopped").kind, FaultKind::Stopped);
        false
    };
    let outer = watch::asking(&mut ask, || run(slow, MANY, ()));
    assert_eq!(outer.expect_err("it is stopped").kind, FaultKind::Stopped);
    assert_eq!(inner, 1);
}

#[test]
fn a_panic_of_the_question_is_the_callers() {
    let caught = catch_unwind(AssertUnwindSafe(|| {
        watch::asking(&mut || panic!("what was asked"), || run(slow, MANY, ()).is_err())
    }));
    let panic = caught.expect_err("it goes on");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"what was asked"));
    run(quick, LaunchShape::new(100, 32), ()).expect("it runs");
}
