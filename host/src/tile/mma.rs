//! The kernels of [`Engine::Mma`](super::Engine::Mma).

use warpplay_gpu::tile::mma::{product, rows};
use warpplay_gpu::tile::task::ProductTaskArgs;

use super::engine::Launch;
use super::size::Tile;
use crate::runtime::tensor_map::Values;
use crate::{Module, Result, Stream};

/// The launch of the kernel for a tile, if there is one; `gathered`: whether the rows of A are gathered, of `bytes` or of numbers.
pub(super) fn launch(
    module: &Module,
    values: Values,
    tile: Tile,
    by_depth: [bool; 2],
    gathered: Option<bool>,
) -> Result<Option<Launch>> {
    macro_rules! launch {
        ($($values:ident, $tile:ident, [$a:literal, $b:literal], $gathered:pat, $set:ident::$kernel:ident;)*) => {
            match (values, tile, by_depth, gathered) {
                $((Values::$values, Tile::$tile, [$a, $b], $gathered) => {
                    let function = module.function($set::$kernel)?;
                    let launch = move |stream: &Stream, _: u32, task: ProductTaskArgs<'_>| {
                        // SAFETY: one C is given, as the callers of `run` see to; divisions are slabs and have no activation, as the check asks; operands begin at multiples of 16 bytes, as `expect_operands` asks, and so do their parts; buffers and rows of masks begin at multiples of 8 bytes; A is of what the shape says, in one part where it is of bytes.
                        unsafe { stream.run_unchecked(&function, (task,)) }
                    };
                    Some(Box::new(launch) as Launch)
                })*
                _ => None,
            }
        };
    }
    Ok(launch! {
        Bf16, Rows128Columns256, [false, false], None, product::tile_mma_bf16_256;
        Bf16, Rows128Columns128, [false, false], None, product::tile_mma_bf16_128;
        Bf16, Rows64Columns64, [false, false], None, product::tile_mma_bf16_64;
        Bf16, Rows128Columns256, [false, true], None, product::tile_mma_bf16_256_b;
        Bf16, Rows128Columns128, [false, true], None, product::tile_mma_bf16_128_b;
        Bf16, Rows64Columns64, [false, true], None, product::tile_mma_bf16_64_b;
        Bf16, Rows128Columns256, [true, true], None, product::tile_mma_bf16_256_ab;
        Bf16, Rows128Columns128, [true, true], None, product::tile_mma_bf16_128_ab;
        Bf16, Rows64Columns64, [true, true], None, product::tile_mma_bf16_64_ab;
        Bf16, Rows128Columns256, [true, false], None, product::tile_mma_bf16_256_a;
        Bf16, Rows128Columns128, [true, false], None, product::tile_mma_bf16_128_a;
        Bf16, Rows64Columns64, [true, false], None, product::tile_mma_bf16_64_a;
        F16, Rows128Columns256, [false, false], None, product::tile_mma_f16_256;
        F16, Rows128Columns128, [false, false], None, product::tile_mma_f16_128;
        F16, Rows64Columns64, [false, false], None, product::tile_mma_f16_64;
        F16, Rows128Columns256, [false, true], None, product::tile_mma_f16_256_b;
        F16, Rows128Columns128, [false, true], None, product::tile_mma_f16_128_b;
        F16, Rows64Columns64, [false, true], None, product::tile_mma_f16_64_b;
        F16, Rows128Columns256, [true, true], None, product::tile_mma_f16_256_ab;
        F16, Rows128Columns128, [true, true], None, product::tile_mma_f16_128_ab;
        F16, Rows64Columns64, [true, true], None, product::tile_mma_f16_64_ab;
        F16, Rows128Columns256, [true, false], None, product::tile_mma_f16_256_a;
        F16, Rows128Columns128, [true, false], None, product::tile_mma_f16_128_a;
        F16, Rows64Columns64, [true, false], None, product::tile_mma_f16_64_a;
        F32, Rows128Columns256, [false, false], None, product::tile_mma_tf32_256;
        F32, Rows128Columns128, [false, false], None, product::tile_mma_tf32_128;
        F32, Rows64Columns64, [false, false], None, product::tile_mma_tf32_64;
        Bf16, Rows128Columns128, [false, false], Some(false), rows::tile_mma_bf16_128_rows;
        Bf16, Rows64Columns64, [false, false], Some(false), rows::tile_mma_bf16_64_rows;
        F16, Rows128Columns128, [false, false], Some(false), rows::tile_mma_f16_128_rows;
        F16, Rows64Columns64, [false, false], Some(false), rows::tile_mma_f16_64_rows;
        F32, Rows128Columns128, [false, false], Some(false), rows::tile_mma_tf32_128_rows;
        F32, Rows64Columns64, [false, false], Some(false), rows::tile_mma_tf32_64_rows;
        Bf16, Rows128Columns128, [false, false], Some(true), rows::tile_mma_bf16_128_bytes;
        Bf16, Rows64Columns64, [false, false], Some(true), rows::tile_mma_bf16_64_bytes;
        F16, Rows128Columns128, [false, false], Some(true), rows::tile_mma_f16_128_bytes;
        F16, Rows64Columns64, [false, false], Some(true), rows::tile_mma_f16_64_bytes;
        F32, Rows128Columns128, [false, false], Some(true), rows::tile_mma_tf32_128_bytes;
        F32, Rows64Columns64, [false, false], Some(true), rows::tile_mma_tf32_64_bytes;
    })
}
