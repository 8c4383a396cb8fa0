//! Which tile a product is computed with.

use super::engine::Engine;
use super::shares::Shares;
use super::size::Tile;

impl Tile {
    /// The one that ends first by the engine's shares. `slabs`: those of a tile's depth, of all pairs of parts.
    ///
    /// Where blocks that share the depth would fit on the card, and each still has a few slabs, they do: a rule without the device's number of multiprocessors, since the bits depend on it. Else the last multiprocessor
    /// has ⌈tiles / multiprocessors⌉ of them.
    pub(super) fn fastest(
        (engine, shares): (Engine, Shares),
        by_depth: [bool; 2],
        n_tiles: impl Fn(Self) -> u64,
        slabs: u64,
        multiprocessors: u32,
    ) -> Self {
        if engine == Engine::Wgmma && n_tiles(Self::Shared64) <= MOST_SHARED && slabs >= LEAST_SHARED {
            return Self::Shared64;
        }
        let tiles: Vec<Self> =
            Self::ALL.iter().copied().filter(|&tile| tile.reads(engine, by_depth) && tile != Self::Shared64).collect();
        Self::fastest_of(shares, &tiles, n_tiles, multiprocessors)
    }

    /// The one of these, none of which shares its depth, that ends first.
    pub(super) fn fastest_of(
        shares: Shares,
        tiles: &[Self],
        n_tiles: impl Fn(Self) -> u64,
        multiprocessors: u32,
    ) -> Self {
        let time = |tile: &Self| {
            let [rows, columns] = tile.size().map(u64::from);
            n_tiles(*tile).div_ceil(multiprocessors.max(1).into()) * rows * columns * 100 / shares.share(*tile).max(1)
        };
        tiles.iter().copied().min_by_key(time).unwrap_or(Self::Rows128Columns128)
    }

    /// The one of 64 × 64 for few columns: the depth is shared where the blocks fit on the card.
    #[cfg(feature = "mlp")]
    pub(super) fn of_few_columns(n_tiles: impl Fn(Self) -> u64) -> Self {
        if n_tiles(Self::Shared64) <= MOST_SHARED { Self::Shared64 } else { Self::Rows64Columns64 }
    }
}

/// Most tiles whose depth is shared: four blocks each on an H100's 132 multiprocessors.
const MOST_SHARED: u64 = 32;
/// Fewest slabs of a depth that is shared: what is saved of them must be more than the exchange of the sums.
const LEAST_SHARED: u64 = 20;
