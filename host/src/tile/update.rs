//! Products that are the gradient of C, which an optimiser updates.

use warpplay_gpu::tile::gradients;
use warpplay_gpu::tile::mma::gradients as mma_gradients;
use warpplay_gpu::tile::plain::gradients as plain_gradients;
use warpplay_gpu::tile::task::ProductTaskArgs;
use warpplay_gpu::tile::update::{Rate, UpdateArgs};

use super::engine::Engine;
use super::operand::Operand;
use super::size::Tile;
use crate::optimizer::Optimizer;
use crate::runtime::tensor_map::Values;
use crate::{Buffer, Module, Result, Stream};

/// Launches one of the kernels on so many multiprocessors.
pub(super) type UpdateLaunch =
    Box<dyn Fn(&Stream, u32, ProductTaskArgs<'_>, UpdateArgs<'_>) -> Result<()> + Send + Sync>;

/// How an optimiser updates C: see [`Product::run_update`](super::Product::run_update).
pub struct Update<'a, T: Operand> {
    pub(super) optimizer: Optimizer,
    pub(super) weight_decay: f32,
    pub(super) rates: &'a Buffer<Rate>,
    pub(super) step: Option<&'a Buffer<u32>>,
    pub(super) state: &'a mut [Buffer<f32>],
    pub(super) copy: Option<&'a mut Buffer<T::Short>>,
}

impl<'a, T: Operand> Update<'a, T> {
    /// An optimiser with what it remembers, at the first of `rates`, without weight decay and copy.
    ///
    /// * `rates`: what [`Optimizer::rate`] gives, one or several.
    /// * `state`: what it remembers, [`Optimizer::n_moments`] buffers, each `[m][c_stride]` as C; zeros before the first update.
    pub fn new(optimizer: Optimizer, rates: &'a Buffer<Rate>, state: &'a mut [Buffer<f32>]) -> Self {
        Self { optimizer, weight_decay: 0.0, rates, step: None, state, copy: None }
    }

    /// Takes the rate of this number, from 0, which lies on the device, `[1]`: one graph then serves many steps. A number behind that of the last rate stands for that one.
    #[must_use]
    pub fn step(self, step: &'a Buffer<u32>) -> Self {
        Self { step: Some(step), ..self }
    }

    /// Weight decay, default 0.
    #[must_use]
    pub fn weight_decay(self, weight_decay: f32) -> Self {
        Self { weight_decay, ..self }
    }

    /// Writes the new values of C there as well, in [parts](super::ProductBuilder::c_parts) of 16 bits: what the next product reads. `[c_parts][m][copy_stride]`; formats of 16 bits.
    #[must_use]
    pub fn copy(self, copy: &'a mut Buffer<T::Short>) -> Self {
        Self { copy: Some(copy), ..self }
    }
}

/// Whether an engine has such kernels with a tile, for operands of which these lie depth by depth.
pub(super) fn has(engine: Engine, values: Values, tile: Tile, by_depth: [bool; 2]) -> bool {
    let [wide, square, small] = [Tile::Rows128Columns256, Tile::Rows128Columns128, Tile::Rows64Columns64];
    let of_gradients = match values {
        Values::Bf16 | Values::F16 => by_depth == [true; 2],
        Values::F32 if engine == Engine::Plain => by_depth[0] == by_depth[1],
        Values::F32 => by_depth == [false; 2],
        Values::U8 => false,
    };
    let is_wide = engine == Engine::Wgmma && values != Values::F32 && (tile == wide || tile == Tile::Rows128Columns192);
    of_gradients && (tile == square || tile == small || is_wide)
}

/// The launch of the kernel for a tile, if there is one.
pub(super) fn launch(
    module: &Module,
    values: Values,
    engine: Engine,
    tile: Tile,
    by_depth: [bool; 2],
) -> Result<Option<UpdateLaunch>> {
    macro_rules! launch {
        (|$stream:ident, $multiprocessors:ident, $function:ident, $arguments:ident| $run:expr; $($values:ident, $tile:ident, [$a:literal, $b:literal], $set:ident::$kernel:ident;)*) => {
            match (values, tile, by_depth) {
                $((Values::$values, Tile::$tile, [$a, $b]) => {
                    let $function = module.function($set::$kernel)?;
                    let launch = move |$stream: &Stream, $multiprocessors: u32, task: ProductTaskArgs<'_>, update: UpdateArgs<'_>| {
                        let $arguments = (task, update);
                        // SAFETY: as for a product of these tiles, with C in single precision, whose strides are multiples of four values, as the check asks; C and what is remembered begin at multiples of 16 bytes, as the callers of `run_update` see to.
                        unsafe { $run }
                    };
                    Some(Box::new(launch) as UpdateLaunch)
                })*
                _ => None,
            }
        };
    }
    Ok(match engine {
        Engine::Wgmma => launch! {
            |stream, multiprocessors, function, arguments| stream.run_unchecked_with(&function, (multiprocessors,), arguments);
            Bf16, Rows128Columns256, [true, true], gradients::tile_wgmma_bf16_256_ab_update;
            Bf16, Rows128Columns192, [true, true], gradients::tile_wgmma_bf16_192_ab_update;
            Bf16, Rows128Columns128, [true, true], gradients::tile_wgmma_bf16_128_ab_update;
            Bf16, Rows64Columns64, [true, true], gradients::tile_wgmma_bf16_64_single_ab_update;
            F16, Rows128Columns256, [true, true], gradients::tile_wgmma_f16_256_ab_update;
            F16, Rows128Columns192, [true, true], gradients::tile_wgmma_f16_192_ab_update;
            F16, Rows128Columns128, [true, true], gradients::tile_wgmma_f16_128_ab_update;
            F16, Rows64Columns64, [true, true], gradients::tile_wgmma_f16_64_single_ab_update;
            F32, Rows128Columns128, [false, false], gradients::tile_wgmma_tf32_128_update;
            F32, Rows64Columns64, [false, false], gradients::tile_wgmma_tf32_64_single_update;
        },
        Engine::Mma => launch! {
            |stream, _multiprocessors, function, arguments| stream.run_unchecked(&function, arguments);
            Bf16, Rows128Columns128, [true, true], mma_gradients::tile_mma_bf16_128_ab_update;
            Bf16, Rows64Columns64, [true, true], mma_gradients::tile_mma_bf16_64_ab_update;
            F16, Rows128Columns128, [true, true], mma_gradients::tile_mma_f16_128_ab_update;
            F16, Rows64Columns64, [true, true], mma_gradients::tile_mma_f16_64_ab_update;
            F32, Rows128Columns128, [false, false], mma_gradients::tile_mma_tf32_128_update;
            F32, Rows64Columns64, [false, false], mma_gradients::tile_mma_tf32_64_update;
        },
        Engine::Plain => launch! {
            |stream, _multiprocessors, function, arguments| stream.run_unchecked(&function, arguments);
            F32, Rows128Columns128, [false, false], plain_gradients::tile_plain_128_update;
            F32, Rows128Columns128, [true, true], plain_gradients::tile_plain_128_ab_update;
            F32, Rows64Columns64, [false, false], plain_gradients::tile_plain_64_update;
            F32, Rows64Columns64, [true, true], plain_gradients::tile_plain_64_ab_update;
        },
    })
}
