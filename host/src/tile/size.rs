//! The parts of C that blocks compute at a time.

use warpplay_gpu::tile::task::MAX_CLUSTER;

use super::engine::Engine;
use crate::runtime::named::named;
use crate::runtime::tensor_map::Values;

named! {
    /// Rows and columns of C that a block computes at a time.
    Tile, "tile":
    /// 128 × 256.
    Rows128Columns256 = "128x256",
    /// 128 × 192.
    Rows128Columns192 = "128x192",
    /// 256 × 128.
    Rows256Columns128 = "256x128",
    /// 128 × 128.
    Rows128Columns128 = "128x128",
    /// 128 × 64.
    Rows128Columns64 = "128x64",
    /// 64 × 64.
    Rows64Columns64 = "64x64",
}

/// Numbers of blocks that may share the depth of a tile.
pub(super) const CLUSTERS: [u32; 5] = [1, 2, 4, 8, 16];
const _: () = assert!(CLUSTERS[4] == MAX_CLUSTER);

impl Tile {
    /// Rows and columns.
    pub const fn size(self) -> [u32; 2] {
        match self {
            Self::Rows128Columns256 => [128, 256],
            Self::Rows128Columns192 => [128, 192],
            Self::Rows256Columns128 => [256, 128],
            Self::Rows128Columns128 => [128, 128],
            Self::Rows128Columns64 => [128, 64],
            Self::Rows64Columns64 => [64, 64],
        }
    }

    /// Whether blocks can share the depth of such a tile.
    pub(super) const fn is_shared(self, engine: Engine, values: Values) -> bool {
        matches!(engine, Engine::Wgmma)
            && !matches!(values, Values::U8)
            && matches!(self, Self::Rows128Columns128 | Self::Rows64Columns64)
    }

    /// Whether the engine has kernels for operands of which these lie depth by depth.
    pub(super) const fn reads(self, engine: Engine, values: Values, [a, b]: [bool; 2]) -> bool {
        match engine {
            Engine::Wgmma if matches!(values, Values::U8) => {
                matches!(self, Self::Rows256Columns128 | Self::Rows128Columns128 | Self::Rows64Columns64) && !(a || b)
            }
            Engine::Wgmma => match self {
                Self::Rows256Columns128 | Self::Rows128Columns64 => !(a || b),
                Self::Rows128Columns192 => a == b,
                _ => true,
            },
            Engine::Mma => matches!(self, Self::Rows128Columns256 | Self::Rows128Columns128 | Self::Rows64Columns64),
            Engine::Plain => matches!(self, Self::Rows128Columns128 | Self::Rows64Columns64),
        }
    }
}
