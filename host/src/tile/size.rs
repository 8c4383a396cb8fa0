//! The parts of C that blocks compute at a time.

use super::engine::Engine;
use crate::runtime::named::named;

named! {
    /// Rows and columns of C that a block computes at a time.
    Tile, "tile":
    /// 128 × 256.
    Rows128Columns256 = "128x256",
    /// 128 × 192.
    Rows128Columns192 = "128x192",
    /// 128 × 128.
    Rows128Columns128 = "128x128",
    /// 128 × 64.
    Rows128Columns64 = "128x64",
    /// 64 × 64.
    Rows64Columns64 = "64x64",
    /// 64 × 64, by a cluster of four blocks that share the depth; their sums are added up in order. The last bits are not those of the other tiles.
    Shared64 = "64x64/4",
}

impl Tile {
    /// Rows and columns.
    pub const fn size(self) -> [u32; 2] {
        match self {
            Self::Rows128Columns256 => [128, 256],
            Self::Rows128Columns192 => [128, 192],
            Self::Rows128Columns128 => [128, 128],
            Self::Rows128Columns64 => [128, 64],
            Self::Rows64Columns64 | Self::Shared64 => [64, 64],
        }
    }

    /// The share of the engine's speed that a multiprocessor reaches with it in long products, in per cent: of warpgroups as the bench measures on an H100, of the others by what a product reads from shared memory.
    const fn efficiency(self, engine: Engine) -> u64 {
        match (engine, self) {
            (_, Self::Rows128Columns256) => 100,
            (_, Self::Rows128Columns192) => 94,
            (Engine::Wgmma, Self::Rows128Columns128) => 82,
            (Engine::Mma, Self::Rows128Columns128) => 96,
            (Engine::Plain, Self::Rows128Columns128) => 100,
            (_, Self::Rows128Columns64) => 58,
            (Engine::Wgmma, Self::Rows64Columns64 | Self::Shared64) => 45,
            (Engine::Mma, Self::Rows64Columns64 | Self::Shared64) => 60,
            (Engine::Plain, Self::Rows64Columns64 | Self::Shared64) => 75,
        }
    }

    /// Whether the engine has kernels for operands of which these lie depth by depth.
    pub(super) const fn reads(self, engine: Engine, [a, b]: [bool; 2]) -> bool {
        match engine {
            Engine::Wgmma => !(a || b) || !matches!(self, Self::Rows128Columns192 | Self::Rows128Columns64),
            Engine::Mma => matches!(self, Self::Rows128Columns256 | Self::Rows128Columns128 | Self::Rows64Columns64),
            Engine::Plain => matches!(self, Self::Rows128Columns128 | Self::Rows64Columns64),
        }
    }

    /// The one that ends first. `slabs`: those of a tile's depth, of all pairs of parts.
    ///
    /// Where blocks that share the depth would fit on the card, and each still has a few slabs, they do: a rule without the device's number of multiprocessors, since the bits depend on it. Else the last multiprocessor
    /// has ⌈tiles / multiprocessors⌉ of them.
    pub(super) fn fastest(
        engine: Engine,
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
        Self::fastest_of(engine, &tiles, n_tiles, multiprocessors)
    }

    /// The one of these, none of which shares its depth, that ends first.
    pub(super) fn fastest_of(
        engine: Engine,
        tiles: &[Self],
        n_tiles: impl Fn(Self) -> u64,
        multiprocessors: u32,
    ) -> Self {
        let time = |tile: &Self| {
            let [rows, columns] = tile.size().map(u64::from);
            n_tiles(*tile).div_ceil(multiprocessors.max(1).into()) * rows * columns * 100 / tile.efficiency(engine)
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
