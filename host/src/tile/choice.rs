//! Which tile a product is computed with, and how many blocks share its depth.

use warpplay_gpu::tile::task::MAX_CLUSTER;

use super::shares::Shares;
use super::size::{CLUSTERS, Tile};

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

/// A tile whose depth blocks may share, with times in nanoseconds that were measured on an H200 in bfloat16.
struct Shared {
    tile: Tile,
    /// Of a product without depth, by the number of blocks: launch, first slab, exchange of the sums and epilogue.
    fixed: [u64; CLUSTERS.len()],
    /// Of a slab, while few blocks fetch.
    slab: u64,
    /// Of a slab, for each block that fetches at the same time: its bytes at 8 TB/s from the second-level cache, in eighths.
    eighths: u64,
}

#[rustfmt::skip]
const SHARED: [Shared; 2] = [
    Shared { tile: Tile::Rows64Columns64, fixed: [2450, 4100, 3700, 3850, 4500], slab: 175, eighths: 16 },
    Shared { tile: Tile::Rows128Columns128, fixed: [3450, 6500, 5600, 5900, 6300], slab: 300, eighths: 32 },
];

/// Most blocks of a cluster that every device with clusters runs.
const PORTABLE: u32 = 8;
/// Multiprocessors of a device that has 16 beside each other; a slice of a card may have fewer.
const MANY: u32 = 64;

/// Clusters that every H200 runs at a time, by their number of blocks. Which multiprocessors of a card work differs: of 32 clusters of four, one waited on some.
const MOST_CLUSTERS: [u64; CLUSTERS.len()] = [132, 64, 30, 14, 4];

/// The tile whose depth blocks should share, and how many; `None` if they should not. `slabs`: those of a tile's depth, of all pairs of parts.
///
/// The bits depend on it, so the rule is the same for every device: what an H200 should need least time for. Clusters that do not all run at a time are left out, and those of more than [`PORTABLE`] blocks on devices with few `multiprocessors`.
pub(super) fn shared_split(n_tiles: impl Fn(Tile) -> u64, slabs: u64, multiprocessors: u32) -> Option<(Tile, u32)> {
    let time = |of: &Shared, at: usize| {
        let (n_tiles, blocks) = (n_tiles(of.tile), u64::from(CLUSTERS[at]));
        let turns = n_tiles.div_ceil(MOST_CLUSTERS[at]);
        // Few blocks wait for each of their slabs, many for the cache.
        let alone = turns * slabs.div_ceil(blocks) * of.slab;
        of.fixed[at] + alone.max(n_tiles * slabs * of.eighths / 8)
    };
    let not_shared = SHARED.iter().map(|of| time(of, 0)).min()?;
    let most = if multiprocessors < MANY { PORTABLE } else { MAX_CLUSTER };
    let splits = SHARED.iter().flat_map(|of| (1..CLUSTERS.len()).map(move |at| (of, at)));
    let splits = splits.filter(|&(_, at)| CLUSTERS[at] <= most);
    let at_a_time = splits.filter(|&(of, at)| n_tiles(of.tile) <= MOST_CLUSTERS[at]);
    let (time, of, at) = at_a_time.map(|(of, at)| (time(of, at), of, at)).min_by_key(|&(time, ..)| time)?;
    // Bits should change only for more than the model's error.
    (time * 100 < not_shared * 93).then(|| (of.tile, CLUSTERS[at]))
}

/// Most tiles of logits whose depth is shared: a cluster of four blocks each.
#[cfg(feature = "mlp")]
pub(super) const MOST_SHARED: u64 = MOST_CLUSTERS[2];
#[cfg(feature = "mlp")]
const _: () = assert!(CLUSTERS[2] == warpplay_gpu::tile::softmax::CLUSTER);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_deep_tiles_are_shared() {
        let split_on = |multiprocessors: u32, [m, n]: [u32; 2], k: u64| {
            let n_tiles = |tile: Tile| {
                let [rows, columns] = tile.size();
                u64::from(m.div_ceil(rows)) * u64::from(n.div_ceil(columns))
            };
            shared_split(n_tiles, k.div_ceil(64), multiprocessors)
        };
        let split = |m: u32, n: u32, k: u64| split_on(132, [m, n], k);
        let (small, large) = (Tile::Rows64Columns64, Tile::Rows128Columns128);
        // As they were measured.
        assert_eq!(split(128, 128, 65536), Some((small, 16)));
        assert_eq!(split(256, 256, 16384), Some((large, 16)));
        assert_eq!(split(256, 784, 8192), Some((large, 8)));
        assert_eq!(split(64, 4096, 4096), Some((small, 2)));
        assert_eq!(split(64, 256, 784), Some((small, 8)));
        for [m, n, k] in [[128, 128, 128], [512, 512, 512], [1024, 1024, 1024], [8192, 8192, 8192], [65536, 64, 64]] {
            assert_eq!(split(m, n, k.into()), None, "{m} {n} {k}");
        }
        // A slice of a card.
        assert_eq!(split_on(16, [128, 128], 65536), Some((small, 8)));
        // More than any computer holds.
        assert_eq!(split(1 << 24, 1 << 24, 1 << 24), None);
    }
}
