//! Which tile a product is computed with, and how many blocks share its depth.

use super::shares::Shares;
use super::size::Tile;

impl Tile {
    /// The one of these that ends first by the engine's shares: the last multiprocessor has ⌈tiles / multiprocessors⌉ of them.
    pub(super) fn fastest(shares: Shares, tiles: &[Self], n_tiles: impl Fn(Self) -> u64, multiprocessors: u32) -> Self {
        let time = |tile: &Self| {
            let [rows, columns] = tile.size().map(u64::from);
            n_tiles(*tile).div_ceil(multiprocessors.max(1).into()) * rows * columns * 100 / shares.share(*tile).max(1)
        };
        tiles.iter().copied().min_by_key(time).unwrap_or(Self::Rows128Columns128)
    }
}

/// The tile whose depth blocks should share, and how many; `None` if they should not. `slabs`: those of a tile's depth, of all pairs of parts.
///
/// Where blocks that share the depth would fit on the card, and each still has a few slabs, they do: a rule without the device's number of multiprocessors, since the bits depend on it.
pub(super) fn shared_split(n_tiles: impl Fn(Tile) -> u64, slabs: u64) -> Option<(Tile, u32)> {
    (n_tiles(Tile::Rows64Columns64) <= MOST_SHARED && slabs >= LEAST_SHARED).then_some((Tile::Rows64Columns64, 4))
}

/// Most tiles whose depth is shared: four blocks each on an H100's 132 multiprocessors.
pub(super) const MOST_SHARED: u64 = 32;
/// Fewest slabs of a depth that is shared: what is saved of them must be more than the exchange of the sums.
const LEAST_SHARED: u64 = 20;
