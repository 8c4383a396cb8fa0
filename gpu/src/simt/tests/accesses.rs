//! Accesses outside an array, and to words that nobody wrote.

use super::*;

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
            "simt/tests/accesses.rs:",
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
                "simt/tests/accesses.rs:",
            ],
        );
    }
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
