//! Which siblings of a parent count, where not all do.

use crate::split_mix::{GAMMA, mix};

/// The lot of a child (from 1) of a parent: those with the smallest are drawn.
#[device_inline]
pub const fn lot(seed: u64, game: u64, ply: u32, child: u32) -> u64 {
    mix(seed ^ game.wrapping_mul(GAMMA) ^ ((ply as u64) << 32) ^ child as u64)
}

/// Whether sibling `child` of `n_siblings` (numbered from 1) is among the `most` with the smallest lots; of equal lots the first.
#[device_inline]
pub const fn is_drawn(seed: u64, game: u64, ply: u32, child: u32, n_siblings: u32, most: u32) -> bool {
    if most == 0 || n_siblings <= most {
        return true;
    }
    let own = lot(seed, game, ply, child);
    let mut before = 0;
    let mut other = 1;
    while other <= n_siblings {
        let lot = lot(seed, game, ply, other);
        before += (lot < own || (lot == own && other < child)) as u32;
        other += 1;
    }
    before < most
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_drawn_as_wanted() {
        for (n, most) in [(1, 1), (5, 2), (80, 16), (80, 79), (80, 80), (80, 0), (3, 9)] {
            let drawn = (1..=n).filter(|&child| is_drawn(7, 99, 41, child, n, most)).count() as u32;
            assert_eq!(drawn, if most == 0 { n } else { n.min(most) });
        }
    }
}
