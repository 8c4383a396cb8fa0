//! Of the speed that an engine reaches with its best tile in long products, what it reaches with each: by compute capability, as `cargo xtask tune` found it.

use super::engine::Engine;
use super::size::Tile;

/// Compute capability, engine, tile, and its share in per cent of the engine's speed with its best tile.
///
/// "estimated": not measured, but by what a product reads from shared memory.
#[rustfmt::skip]
const TABLE: &[((u32, u32), Engine, Tile, u64)] = &[
    ((7, 5), Engine::Plain, Tile::Rows128Columns128, 100), // estimated
    ((7, 5), Engine::Plain, Tile::Rows64Columns64, 75), // estimated
    ((8, 0), Engine::Mma, Tile::Rows128Columns256, 100), // estimated
    ((8, 0), Engine::Mma, Tile::Rows128Columns128, 96), // estimated
    ((8, 0), Engine::Mma, Tile::Rows64Columns64, 60), // estimated
    ((9, 0), Engine::Wgmma, Tile::Rows128Columns256, 100), // NVIDIA H100, 2026-11-27
    ((9, 0), Engine::Wgmma, Tile::Rows128Columns192, 94), // NVIDIA H100, 2026-11-27
    ((9, 0), Engine::Wgmma, Tile::Rows256Columns128, 97), // NVIDIA H200, 2026-11-29
    ((9, 0), Engine::Wgmma, Tile::Rows128Columns128, 82), // NVIDIA H100, 2026-11-27
    ((9, 0), Engine::Wgmma, Tile::Rows128Columns64, 58), // NVIDIA H100, 2026-11-27
    ((9, 0), Engine::Wgmma, Tile::Rows64Columns64, 45), // NVIDIA H100, 2026-11-27
];

/// The shares of an engine's tiles on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shares([u64; Tile::ALL.len()]);

impl Shares {
    /// Those of the newest measured capability that is not newer than the device's; else of the oldest. Without one, the newest.
    pub fn of(engine: Engine, capability: Option<(u32, u32)>) -> Self {
        Self(std::array::from_fn(|at| {
            let rows = || TABLE.iter().filter(|row| row.1 == engine && Some(&row.2) == Tile::ALL.get(at));
            let not_newer = rows().rfind(|row| capability.is_none_or(|own| row.0 <= own));
            not_newer.or_else(|| rows().next()).map_or(0, |row| row.3)
        }))
    }

    /// In per cent; 0 for a tile that the engine is not measured with.
    pub fn share(self, tile: Tile) -> u64 {
        Tile::ALL.iter().position(|&of| of == tile).map_or(0, |at| self.0[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::tensor_map::Values;

    #[test]
    fn rows_are_in_order_and_each_engine_has_a_best_tile() {
        let order = |row: &((u32, u32), Engine, Tile, u64)| {
            (
                row.0,
                Engine::ALL.iter().position(|&engine| engine == row.1),
                Tile::ALL.iter().position(|&tile| tile == row.2),
            )
        };
        assert!(TABLE.is_sorted_by(|one, next| order(one) < order(next)));
        for row in TABLE {
            assert!((1..=100).contains(&row.3), "{row:?}");
            let best = TABLE.iter().filter(|of| (of.0, of.1) == (row.0, row.1)).map(|of| of.3).max();
            assert_eq!(best, Some(100), "{row:?}");
        }
    }

    #[test]
    fn every_tile_with_kernels_has_a_share_and_a_device_takes_the_nearest_before_it() {
        for &engine in Engine::ALL {
            for capability in [None, Some((7, 0)), Some((7, 5)), Some((8, 6)), Some((9, 0)), Some((12, 0))] {
                let shares = Shares::of(engine, capability);
                for &tile in Tile::ALL {
                    let has_kernels = tile.reads(engine, Values::Bf16, [false; 2]);
                    assert_eq!(shares.share(tile) > 0, has_kernels, "{engine} {tile}");
                }
            }
        }
        let of_8_0 = TABLE.iter().find(|row| row.0 == (8, 0) && row.2 == Tile::Rows64Columns64).expect("a row");
        assert_eq!(Shares::of(Engine::Mma, Some((8, 9))).share(Tile::Rows64Columns64), of_8_0.3);
    }
}
