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

    /// Whether the engine has kernels for operands of which these lie depth by depth.
    pub(super) const fn reads(self, engine: Engine, [a, b]: [bool; 2]) -> bool {
        match engine {
            Engine::Wgmma => !(a || b) || !matches!(self, Self::Rows128Columns192 | Self::Rows128Columns64),
            Engine::Mma => matches!(self, Self::Rows128Columns256 | Self::Rows128Columns128 | Self::Rows64Columns64),
            Engine::Plain => matches!(self, Self::Rows128Columns128 | Self::Rows64Columns64),
        }
    }
}
