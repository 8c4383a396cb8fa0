//! The product of the last layer of a network that classifies, which leaves the gradient of its logits.

use warpplay_gpu::cuda::tensor_map::TensorMap;
use warpplay_gpu::tile::logits;
use warpplay_gpu::tile::mma::logits as mma_logits;
use warpplay_gpu::tile::softmax::{CLUSTER, MAX_CLASSES, SoftmaxArgs, n_losses};
use warpplay_gpu::tile::task::ProductTaskArgs;

use super::choice::MOST_SHARED;
use super::core::{Core, Kernels, Shape, Views};
use super::engine::Engine;
use super::size::Tile;
use crate::runtime::tensor_map::Values;
use crate::{Buffer, Error, In, InOut, Result, Stream};

/// Launches one of the kernels on so many multiprocessors.
type Launch = Box<dyn Fn(&Stream, u32, ProductTaskArgs<'_>, SoftmaxArgs<'_>) -> Result<()> + Send + Sync>;

/// Where the gradient's factors come from, and where the losses go.
pub(crate) struct Classes<'a> {
    /// `[m + 1]` The class of each row, or a number from `n` on; then the number of samples.
    pub classes: In<'a, u32>,
    /// Bits of the scale.
    pub scale: In<'a, u32>,
    /// `[n_losses]`
    pub losses: InOut<'a, f32>,
    /// Whether the gradient is that of the mean loss.
    pub mean: bool,
    /// Smoothing of the labels.
    pub smoothing: f32,
}

/// Such a product with its kernel.
pub(crate) struct Logits {
    pub core: Core,
    launch: Launch,
}

impl Logits {
    /// Whether there are kernels for so many classes.
    pub fn takes(kernels: &Kernels, n_classes: u32) -> bool {
        kernels.engine != Engine::Plain && n_classes <= MAX_CLASSES
    }

    /// Checks the sizes and finds the kernel. B lies depth by depth; C has 16 bits.
    ///
    /// # Errors
    /// As [`Core::new`]; [`Error::Option`] for what it does not [take](Self::takes).
    pub fn new(kernels: &Kernels, shape: Shape) -> Result<Self> {
        let engine = kernels.engine;
        let tile = Tile::Rows64Columns64;
        let is_shared = engine == Engine::Wgmma && shape.n_tiles(tile) <= MOST_SHARED;
        let cluster = if is_shared { CLUSTER } else { 1 };
        let core = Core::new(kernels, shape, Some(tile), Some(cluster))?;
        if !Self::takes(kernels, shape.n) {
            let what = format!("{} by {engine}", shape.n);
            return Err(Error::option(
                "n",
                what,
                format!("at most {MAX_CLASSES} for logits, not by {}", Engine::Plain),
            ));
        }
        macro_rules! launch {
            ($set:ident, |$stream:ident, $multiprocessors:ident, $function:ident, $arguments:ident| $run:expr; $($precision:ident, $blocks:pat, $kernel:ident;)*) => {
                match (shape.values, cluster, [shape.a.by_depth, shape.b.by_depth]) {
                    $((Values::$precision, $blocks, [false, true]) => {
                        let $function = kernels.module.function($set::$kernel)?;
                        let launch = move |$stream: &Stream, $multiprocessors: u32, task: ProductTaskArgs<'_>, softmax: SoftmaxArgs<'_>| {
                            let $arguments = (task, softmax);
                            // SAFETY: as for a product of the core; C of 16 bits and classes are given, as the callers of `run` see to.
                            unsafe { $run }
                        };
                        Box::new(launch) as Launch
                    })*
                    (values, ..) => return Err(Error::option("operands of logits", format!("{values:?}"), "bf16 and f16, B depth by depth")),
                }
            };
        }
        let launch = match engine {
            Engine::Wgmma => launch! {
                logits, |stream, multiprocessors, function, arguments| stream.run_unchecked_with(&function, (multiprocessors,), arguments);
                Bf16, 1, tile_wgmma_bf16_64_single_b_softmax;
                Bf16, CLUSTER, tile_wgmma_bf16_64_shared_b_softmax;
                F16, 1, tile_wgmma_f16_64_single_b_softmax;
                F16, CLUSTER, tile_wgmma_f16_64_shared_b_softmax;
            },
            Engine::Mma | Engine::Plain => launch! {
                mma_logits, |stream, _multiprocessors, function, arguments| stream.run_unchecked(&function, arguments);
                Bf16, _, tile_mma_bf16_64_b_softmax;
                F16, _, tile_mma_f16_64_b_softmax;
            },
        };
        Ok(Self { core, launch })
    }

    /// Sums of losses that a run writes.
    pub const fn n_losses(&self) -> u32 {
        n_losses(self.core.shape.m, self.core.cluster)
    }

    /// Queues the product of all rows; the gradient goes to the short C of `views`.
    ///
    /// # Errors
    /// [`Error::Shape`] for a buffer that is too short; errors of the device.
    pub fn run(
        &self,
        stream: &Stream,
        maps: Option<&Buffer<TensorMap>>,
        views: Views<'_>,
        classes: Classes<'_>,
    ) -> Result<()> {
        let m = self.core.shape.m;
        let Classes { classes, scale, losses, mean, smoothing } = classes;
        let (label, even) = (1.0 - smoothing, smoothing / self.core.shape.n as f32);
        let (mean, reserved, blocks) = (mean.into(), 0, self.core.cluster);
        let softmax = SoftmaxArgs { classes, scale, losses, mean, label, even, reserved, m, blocks };
        (self.launch)(stream, self.core.multiprocessors, self.core.task(m, maps, views), softmax)
    }
}
