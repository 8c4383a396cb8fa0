//! The slabs of a tile's depth in the order in which they are added up.

use super::task::{ProductTask, largest};

/// A slab: of a pair of parts, a tap of a filter, and depths. Products of small parts come first, so that they are not lost in the sum of the large ones; of each pair, taps in their order; of each tap, its depths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slab {
    /// Its number among those of the division's depth; of images, of a tap's channels.
    pub number: u32,
    /// 0 of matrices.
    pub tap: u32,
    /// The part of A.
    pub part_of_a: u32,
    /// The sum of the numbers of both parts.
    sum: u32,
}

/// How many there are.
#[derive(Clone, Copy)]
pub(super) struct Slabs {
    /// Of the division's depth, or of a tap's channels.
    pub n: u32,
    pub taps: u32,
    pub a_parts: u32,
    pub b_parts: u32,
}

impl Slabs {
    /// Those of a task whose depth has `n`, or each of its `taps`.
    #[device_inline]
    pub const fn of(task: &ProductTask, n: u32, taps: u32) -> Self {
        Self { n, taps, a_parts: task.a_parts, b_parts: task.b_parts }
    }

    /// The first part of A whose pair has this sum: that of B is below the number of parts.
    #[device_inline]
    const fn first_of(self, sum: u32) -> u32 {
        if sum < self.b_parts { 0 } else { sum.wrapping_add(1).wrapping_sub(self.b_parts) }
    }

    #[device_inline]
    pub const fn first(self) -> Slab {
        let sum = largest(self.a_parts, self.b_parts) - 1;
        Slab { number: 0, tap: 0, part_of_a: self.first_of(sum), sum }
    }

    /// The one `by` further on; beyond the last any.
    #[device_inline]
    pub const fn after(self, slab: Slab, by: u32) -> Slab {
        let Slab { mut number, mut tap, mut part_of_a, mut sum } = slab;
        number += by;
        while number >= self.n {
            number -= self.n;
            tap += 1;
            if tap == self.taps {
                tap = 0;
                part_of_a = part_of_a.wrapping_add(1);
                if part_of_a > sum || part_of_a == self.a_parts {
                    sum = sum.wrapping_sub(1);
                    part_of_a = self.first_of(sum);
                }
            }
        }
        Slab { number, tap, part_of_a, sum }
    }
}

impl Slab {
    /// The part of B.
    #[device_inline]
    pub const fn part_of_b(self) -> u32 {
        self.sum.wrapping_sub(self.part_of_a)
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::super::task::n_pairs;
    use super::*;

    /// The order written out: sums of parts from the largest down, parts of A upwards.
    fn all(slabs: Slabs) -> Vec<[u32; 4]> {
        let mut all = Vec::new();
        for sum in (0..largest(slabs.a_parts, slabs.b_parts)).rev() {
            for part in 0..slabs.a_parts {
                let pair = [part, sum.wrapping_sub(part)];
                if part <= sum && pair[1] < slabs.b_parts {
                    all.extend((0..slabs.taps * slabs.n).map(|at| [pair[0], pair[1], at / slabs.n, at % slabs.n]));
                }
            }
        }
        all
    }

    #[test]
    fn slabs_come_in_their_order_in_strides_and_from_any_on() {
        for (a_parts, b_parts) in [(1, 1), (2, 2), (3, 3), (1, 3), (3, 1), (2, 3), (3, 2)] {
            for (n, taps) in [(1, 1), (3, 1), (7, 1), (1, 9), (2, 9)] {
                let slabs = Slabs { n, taps, a_parts, b_parts };
                let all = all(slabs);
                assert_eq!(all.len() as u32, n_pairs(a_parts, b_parts) * taps * n);
                for (from, by) in [(0, 1), (0, 4), (3, 4), (5, 4), (2, 1)] {
                    let mut slab = slabs.after(slabs.first(), from);
                    for expected in all.iter().skip(from as usize).step_by(by as usize) {
                        assert_eq!([slab.part_of_a, slab.part_of_b(), slab.tap, slab.number], *expected);
                        slab = slabs.after(slab, by);
                    }
                }
            }
        }
    }
}
