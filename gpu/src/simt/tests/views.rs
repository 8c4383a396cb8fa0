//! What views and proofs of whole warps exclude, as the device layer says it.

use super::*;
use crate::args::{Binding, In, InOut, IntoParam, Refusal};
use crate::cuda::sync::{sync_threads, whole_warp};
use crate::cuda::view::{Exclusive, Slice};
use crate::cuda::{DeviceArgs, mma, shared_array};

#[test]
fn a_product_without_a_lane_diverges() {
    kernel!(meets_without_one() {
        if x() != 7 {
            whole_warp();
        }
    });
    let (fault, _) = fault(meets_without_one, LaunchShape::new(1, 32), ());
    assert!(matches!(fault.kind, FaultKind::DivergentCollective { lane: 7, other: Elsewhere::Returned, .. }));
    kernel!(multiplies_without_one() {
        let whole = whole_warp();
        if x() != 9 {
            mma::f16(&whole, [0.0; 4], [0; 4], [0; 2]);
        }
    });
    let (fault, _) = self::fault(multiplies_without_one, LaunchShape::new(1, 32), ());
    assert!(matches!(fault.kind, FaultKind::DivergentCollective { lane: 9, other: Elsewhere::Returned, .. }));
}

#[test]
fn each_coordinate_has_a_bound_of_its_own() {
    kernel!(reads(values: *const f32, row: u32, column: u32) {
        // SAFETY: the launches below give six values, which nobody writes.
        let grid = unsafe { Slice::of(values, 6) }.grid([2, 3]);
        assert_eq!(grid.get([row, column]), (3 * row + column) as f32);
    });
    let values = [0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0];
    let _registration = memory::register(values.as_ptr() as usize, 24);
    let shape = LaunchShape::new(1, 1);
    run(reads, shape, (values.as_ptr(), 1, 2)).expect("the last value");
    // The value is there, the column is not.
    for outside in [(0, 3), (2, 0)] {
        let (fault, _) = fault(reads, shape, (values.as_ptr(), outside.0, outside.1));
        assert!(matches!(fault.kind, FaultKind::Trap { .. }));
    }
    kernel!(takes_too_many(values: *const f32) {
        // SAFETY: as above.
        let _ = unsafe { Slice::of(values, 6) }.grid([2, 4]);
    });
    fault(takes_too_many, shape, (values.as_ptr(),));
}

#[test]
fn a_quad_is_whole() {
    kernel!(copies(to: *mut f32, from: *const f32, column: u32) {
        // SAFETY: the launches below give eight values each, aligned to 16 bytes; one thread uses them.
        let (to, from) = unsafe { (Exclusive::of(to, 8), Slice::of(from, 8)) };
        let quad = from.grid([2, 4]).quads().get([1, column]);
        to.grid([2, 4]).quads().set([0, 0], quad);
    });
    #[repr(align(16))]
    struct Aligned([f32; 8]);
    let (mut to, from) = (Aligned([0.0; 8]), Aligned([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]));
    let _registrations = [to.0.as_ptr(), from.0.as_ptr()].map(|at| memory::register(at as usize, 32));
    let shape = LaunchShape::new(1, 1);
    // Within a quad, all of it.
    for column in [0, 3] {
        run(copies, shape, (to.0.as_mut_ptr(), from.0.as_ptr(), column)).expect("a quad of the line");
        assert_eq!(to.0[..4], from.0[4..]);
    }
    fault(copies, shape, (to.0.as_mut_ptr(), from.0.as_ptr(), 4));
    fault(copies, shape, (to.0.as_mut_ptr(), from.0[1..].as_ptr(), 0));
}

#[test]
fn a_tile_ends_with_its_lines() {
    kernel!(writes(line: u32, column: u32) {
        let tile = shared_array![u32; 24].tile(8, 2, 8);
        tile.set(line, column, 1);
        sync_threads();
        assert_eq!(tile.get(line, column), 1);
    });
    let shape = LaunchShape::new(1, 1);
    run(writes, shape, (1, 7)).expect("the last value");
    fault(writes, shape, (0, 8));
    fault(writes, shape, (2, 0));
}

/// Lines of quads, and a factor that may be missing.
#[derive(Clone, Copy, DeviceArgs)]
#[repr(C)]
#[views]
struct Lines {
    /// `[n, width]`.
    #[shape(n, width)]
    #[quads]
    lines: *mut f32,
    /// `[n]`, or null.
    #[len(n)]
    #[nullable]
    factors: *const f32,
    n: u32,
    width: u32,
}

/// Notes what is refused.
#[derive(Default)]
struct Refusals(Vec<Refusal>);

// SAFETY: what comes of the arguments goes to launches that end before the memory does.
unsafe impl Binding for Refusals {
    fn memory(&mut self, _: &dyn std::any::Any) {}

    fn refuse(&mut self, refusal: Refusal) {
        self.0.push(refusal);
    }
}

#[test]
fn a_structure_gives_views_of_what_the_launch_has_checked() {
    kernel!(scale(lines: Lines) {
        // SAFETY: the launch below has checked the lengths; a line is one thread's.
        let lines = unsafe { lines.views() };
        let factor = lines.factors.get().map_or(2.0, |factors| factors.get(x() as usize));
        lines.lines.set([x(), 4], lines.lines.get([x(), 4]).map(|value| factor * value));
    });
    #[repr(align(16))]
    struct Aligned([f32; 24]);
    let (mut values, factors) = (Aligned([1.0; 24]), [3.0f32; 3]);
    let _registrations =
        [memory::register(values.0.as_ptr() as usize, 96), memory::register(factors.as_ptr() as usize, 12)];
    let mut given = |skipped: usize, width: u32, factors: In<'_, f32>| {
        let mut refusals = Refusals::default();
        // SAFETY: the values outlive the launch, which alone uses them.
        let lines = unsafe { InOut::new(values.0[skipped..].as_mut_ptr(), 24 - skipped, &()) };
        let lines: Lines = LinesArgs { lines, factors, n: 3, width }.into_param(&mut refusals);
        (lines, refusals.0)
    };
    // SAFETY: as above; nobody writes the factors.
    let of_each = unsafe { In::new(factors.as_ptr(), 3, &()) };
    for (factors, expected) in [(In::none(), 2.0), (of_each, 6.0)] {
        let (lines, refusals) = given(0, 8, factors);
        assert_eq!(refusals, []);
        run(scale, LaunchShape::new(1, 3), (lines,)).expect("all in its bounds");
        // SAFETY: the launch has ended.
        assert_eq!(unsafe { [*lines.lines.add(3), *lines.lines.add(23)] }, [1.0, expected]);
    }
    for (skipped, width) in [(1, 4), (0, 6)] {
        let (_, refusals) = given(skipped, width, In::none());
        assert!(matches!(&refusals[..], [Refusal::Unmet { found, .. }] if found.contains("lines has lines of")));
    }
}
