//! Bank conflicts.

use super::*;

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
        assert!(reads[0].location.file().ends_with("tests/bank_counts.rs"));
    }
    let ((), report) = banks::count(|| ());
    run(read_by_stride, LaunchShape::new(1, 32), (2, 1)).expect("no rule is broken");
    assert_eq!(report, banks::BankReport::default());
}
