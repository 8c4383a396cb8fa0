//! The kernels of [`Engine::Plain`](super::Engine::Plain).

use warpplay_gpu::tile::plain::product;
use warpplay_gpu::tile::task::ProductTaskArgs;

use super::engine::Launch;
use super::size::Tile;
use crate::{Module, Result, Stream};

/// The launch of the kernel for a tile, if there is one; `gathered`: whether the rows of A are gathered, of `bytes` or of numbers.
pub(super) fn launch(
    module: &Module,
    tile: Tile,
    by_depth: [bool; 2],
    gathered: Option<bool>,
) -> Result<Option<Launch>> {
    macro_rules! launch {
        ($($tile:ident, [$a:literal, $b:literal], $gathered:pat, $kernel:ident;)*) => {
            match (tile, by_depth, gathered) {
                $((Tile::$tile, [$a, $b], $gathered) => {
                    let function = module.function(product::$kernel)?;
                    let launch = move |stream: &Stream, _: u32, task: ProductTaskArgs<'_>| {
                        // SAFETY: operands are of single precision in one part, C and the mask likewise, which begins at a multiple of 16 bytes, as the check and the callers of `run` see to; divisions are slabs and have no activation, as the check asks; operands begin at multiples of 16 bytes, as `expect_operands` asks.
                        unsafe { stream.run_unchecked(&function, (task,)) }
                    };
                    Some(Box::new(launch) as Launch)
                })*
                _ => None,
            }
        };
    }
    Ok(launch! {
        Rows128Columns128, [false, false], None, tile_plain_128;
        Rows128Columns128, [false, true], None, tile_plain_128_b;
        Rows128Columns128, [true, true], None, tile_plain_128_ab;
        Rows128Columns128, [true, false], None, tile_plain_128_a;
        Rows64Columns64, [false, false], None, tile_plain_64;
        Rows64Columns64, [false, true], None, tile_plain_64_b;
        Rows64Columns64, [true, true], None, tile_plain_64_ab;
        Rows64Columns64, [true, false], None, tile_plain_64_a;
        Rows128Columns128, [false, false], Some(false), tile_plain_128_rows;
        Rows64Columns64, [false, false], Some(false), tile_plain_64_rows;
        Rows128Columns128, [false, false], Some(true), tile_plain_128_bytes;
        Rows64Columns64, [false, false], Some(true), tile_plain_64_bytes;
    })
}
