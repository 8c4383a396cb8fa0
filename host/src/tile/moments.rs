//! The kernels of [`Engine::Wgmma`](super::Engine::Wgmma) that make moments of the columns of C as well.

use warpplay_gpu::tile::moments;
use warpplay_gpu::tile::task::ProductTaskArgs;

use super::engine::Launch;
use super::size::Tile;
use crate::runtime::tensor_map::Values;
use crate::{Module, Result, Stream};

/// Whether there are such for a tile.
pub(super) const fn has(tile: Tile) -> bool {
    !matches!(tile, Tile::Rows128Columns192 | Tile::Rows128Columns64)
}

/// The launch of the kernel for a tile, if there is one.
pub(super) fn launch(module: &Module, values: Values, tile: Tile) -> Result<Option<Launch>> {
    macro_rules! launch {
        ($($values:ident, $tile:ident, $kernel:ident;)*) => {
            match (values, tile) {
                $((Values::$values, Tile::$tile) => {
                    let function = module.function(moments::$kernel)?;
                    let launch = move |stream: &Stream, multiprocessors: u32, task: ProductTaskArgs<'_>| {
                        // SAFETY: the maps are of this kernel's tile and of the operands in the task, and one C and moments are given, as the callers of `run` see to; buffers begin at multiples of 16 bytes.
                        unsafe { stream.run_unchecked_with(&function, (multiprocessors,), (task,)) }
                    };
                    Some(Box::new(launch) as Launch)
                })*
                _ => None,
            }
        };
    }
    Ok(launch! {
        Bf16, Rows128Columns256, tile_wgmma_bf16_256_moments;
        Bf16, Rows256Columns128, tile_wgmma_bf16_128_high_moments;
        Bf16, Rows128Columns128, tile_wgmma_bf16_128_moments;
        Bf16, Rows64Columns64, tile_wgmma_bf16_64_single_moments;
        F16, Rows128Columns256, tile_wgmma_f16_256_moments;
        F16, Rows256Columns128, tile_wgmma_f16_128_high_moments;
        F16, Rows128Columns128, tile_wgmma_f16_128_moments;
        F16, Rows64Columns64, tile_wgmma_f16_64_single_moments;
    })
}
