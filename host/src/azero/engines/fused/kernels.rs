//! The kernels of `fused`, resolved, with a safe function for each; and the device arrays they work on.

use warpplay_gpu::azero::fused::WIDTH;
use warpplay_gpu::azero::fused::heads::{HeadsTaskArgs, azero_fused_heads_1, azero_fused_heads_16};
use warpplay_gpu::azero::fused::single::{self, SingleTaskArgs};
use warpplay_gpu::azero::fused::tower::{self, TowerTaskArgs};
use warpplay_gpu::cuda::memory::Vec4;
use warpplay_gpu::ptx::embedded::AZERO_FUSED;

use super::pack;
use super::scales::Scaled;
use crate::azero::NetworkShape;
use crate::azero::evaluation::{Inputs, Outputs};
use crate::runtime::launch::views;
use crate::{Buffer, Device, Function, InOut, LaunchShape, Module, Precision, Result, Stream};

type LaunchTower = Box<dyn Fn(&Stream, u32, TowerTaskArgs<'_>) -> Result<()> + Send>;

type LaunchSingle = Box<dyn Fn(&Stream, SingleTaskArgs<'_>) -> Result<()> + Send>;

/// One form of the tower: the boards of a block.
struct Tower {
    boards: u32,
    shape: fn(u32, u32) -> LaunchShape,
    launch: LaunchTower,
}

/// The kernels for one precision.
pub(super) struct Kernels {
    towers: Vec<Tower>,
    single: LaunchSingle,
    /// Positions that the kernel for one position works on at once; 0 where the device has no room for a cluster.
    clusters: u32,
    heads_1: Function<azero_fused_heads_1>,
    heads_16: Function<azero_fused_heads_16>,
    multiprocessors: u32,
    precision: Precision,
}

impl Kernels {
    /// Loads the module.
    pub fn load(device: &Device, precision: Precision) -> Result<Self> {
        let module = Module::load(device, &AZERO_FUSED)?;
        let mut towers = Vec::new();
        macro_rules! add {
            ($($boards:literal, $kernel:ident, $shape:ident;)*) => {{$({
                let function = module.function(tower::$kernel)?;
                let launch = move |stream: &Stream, multiprocessors: u32, task: TowerTaskArgs<'_>| {
                    // SAFETY: the weights are packed for this kernel's format; the scratch is for so many multiprocessors.
                    unsafe { stream.run_unchecked_with(&function, (multiprocessors,), (task,)) }
                };
                towers.push(Tower { boards: $boards, shape: tower::$shape, launch: Box::new(launch) });
            })*}};
        }
        let clusters;
        macro_rules! single {
            ($kernel:ident, $shape:ident) => {{
                let function = module.function(single::$kernel)?;
                clusters = function.max_active_clusters(&single::$shape(1, 1))?;
                let launch: LaunchSingle = Box::new(move |stream: &Stream, task: SingleTaskArgs<'_>| {
                    // SAFETY: the weights are packed for this kernel's format.
                    unsafe { stream.run_unchecked_with(&function, (clusters.max(1),), (task,)) }
                });
                launch
            }};
        }
        let single = match precision {
            Precision::F16 => single!(azero_fused_single_fp16, shape_fp16),
            Precision::Bf16 => single!(azero_fused_single_bf16, shape_bf16),
            Precision::Tf32 => single!(azero_fused_single_tf32, shape_tf32),
            Precision::F32 | Precision::F64 | Precision::E4m3 | Precision::I16 => {
                single!(azero_fused_single_fp32, shape_fp32)
            }
        };
        match precision {
            Precision::F16 => add! {
                1, azero_fused_tower_fp16_1, shape_fp16_1; 2, azero_fused_tower_fp16_2, shape_fp16_2; 4, azero_fused_tower_fp16_4, shape_fp16_4;
            },
            Precision::Bf16 => add! {
                1, azero_fused_tower_bf16_1, shape_bf16_1; 2, azero_fused_tower_bf16_2, shape_bf16_2; 4, azero_fused_tower_bf16_4, shape_bf16_4;
            },
            Precision::Tf32 => add! {
                1, azero_fused_tower_tf32_1, shape_tf32_1; 2, azero_fused_tower_tf32_2, shape_tf32_2; 4, azero_fused_tower_tf32_4, shape_tf32_4;
            },
            Precision::F32 | Precision::F64 | Precision::E4m3 | Precision::I16 => add! {
                1, azero_fused_tower_fp32_1, shape_fp32_1; 2, azero_fused_tower_fp32_2, shape_fp32_2;
            },
        }
        let (heads_1, heads_16) = (module.function(azero_fused_heads_1)?, module.function(azero_fused_heads_16)?);
        let multiprocessors = device.info()?.n_multiprocessors;
        Ok(Self { towers, single, clusters, heads_1, heads_16, multiprocessors, precision })
    }

    /// Positions that [`Kernels::single`] works on at once.
    pub fn clusters(&self) -> u32 {
        self.clusters
    }

    /// All of the first `n` positions, a cluster of blocks each.
    ///
    /// # Errors
    /// As [`Kernels::tower`].
    pub fn single(
        &self,
        stream: &Stream,
        network: &DeviceNetwork,
        inputs: &Inputs,
        n: u32,
        outputs: &mut Outputs,
    ) -> Result<()> {
        let task = views! { SingleTaskArgs {
            inputs reads observations, masks;
            network reads biases, factors, head_weights, head_biases, value_bias_1, value_weights_2, value_bias_2,
                policy_bias;
            outputs writes values, policies;
            network has planes, n_convs, value_filters, policy_filters, hidden, actions;
            weights: network.single.view(),
            value_weights_1: network.value_rows_1.view(),
            policy_weights: network.policy_rows.view(),
            logits: outputs.policy_logits.view_mut(),
            n,
            n_weights: pack::n_vectors(network.n_convs, self.precision)[1] as u32,
        } };
        (self.single)(stream, task)
    }

    /// Boards of a block for `n` positions: the fewest with which all blocks run at once, else the most.
    pub fn boards(&self, n: u32) -> u32 {
        let mut boards = self.towers.iter().map(|tower| tower.boards);
        let fits = |&boards: &u32| n.div_ceil(boards) <= self.multiprocessors;
        boards.clone().find(fits).or_else(|| boards.next_back()).unwrap_or(1)
    }

    /// Vectors that a tower in place keeps in global memory.
    pub fn n_scratch(&self) -> usize {
        tower::scratch_bytes(self.multiprocessors) / 16
    }

    /// All convolutions of the first `n` positions.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) if an array is too short.
    #[allow(clippy::too_many_arguments, reason = "one of each kind")]
    pub fn tower(
        &self,
        stream: &Stream,
        network: &DeviceNetwork,
        observations: &Buffer<f32>,
        buffers: &mut Buffers,
        trace: Option<&mut Buffer<f32>>,
        n: u32,
        boards: u32,
    ) -> Result<()> {
        let Some(tower) = self.towers.iter().find(|tower| tower.boards == boards) else {
            return Err(crate::Error::shape("boards of a block", "1, 2 or 4", boards));
        };
        let shape = (tower.shape)(n, self.multiprocessors);
        let task = views! { TowerTaskArgs {
            network reads biases, factors, head_weights, head_biases;
            network has planes, n_convs;
            scratch: buffers.scratch.view_mut(),
            observations: observations.view(),
            weights: network.tower.view(),
            head_planes: buffers.planes.view_mut(),
            trace: trace.map_or(InOut::none(), Buffer::view_mut),
            n,
            filters: network.filters(),
            n_weights: pack::n_vectors(network.n_convs, self.precision)[0] as u32,
            blocks: shape.n_blocks() as u32,
        } };
        (tower.launch)(stream, self.multiprocessors, task)
    }

    /// What follows the tower.
    ///
    /// # Errors
    /// As [`Kernels::tower`].
    pub fn heads(
        &self,
        stream: &Stream,
        network: &DeviceNetwork,
        planes: &Buffer<f32>,
        inputs: &Inputs,
        n: u32,
        outputs: &mut Outputs,
    ) -> Result<()> {
        let task = views! { HeadsTaskArgs {
            network reads value_weights_1, value_bias_1, value_weights_2, value_bias_2, policy_weights, policy_bias;
            outputs writes values, policies;
            network has value_filters, policy_filters, hidden, actions;
            masks: inputs.masks.view(),
            planes: planes.view(),
            logits: outputs.policy_logits.view_mut(),
            n,
        } };
        // SAFETY: the task's arrays are different ones, checked for their lengths.
        unsafe {
            match n {
                ..512 => stream.run_unchecked(&self.heads_1, (task,)),
                _ => stream.run_unchecked(&self.heads_16, (task,)),
            }
        }
    }
}

/// Arrays that one kernel writes and the next one reads.
pub(super) struct Buffers {
    /// Planes of the heads, `[capacity, filters, 8, 8]`.
    pub planes: Buffer<f32>,
    /// [`Kernels::n_scratch`] vectors.
    pub scratch: Buffer<Vec4>,
}

impl Buffers {
    /// Bytes for `capacity` positions on a device with `multiprocessors`.
    pub fn bytes(shape: &NetworkShape, capacity: usize, multiprocessors: u32) -> u64 {
        let filters = u64::from(shape.value_filters + shape.policy_filters);
        4 * capacity as u64 * filters * shape.cells() as u64 + tower::scratch_bytes(multiprocessors) as u64
    }
}

/// The network on the device.
pub(super) struct DeviceNetwork {
    tower: Buffer<Vec4>,
    single: Buffer<Vec4>,
    biases: Buffer<f32>,
    factors: Buffer<f32>,
    head_weights: Buffer<f32>,
    head_biases: Buffer<f32>,
    value_weights_1: Buffer<f32>,
    value_bias_1: Buffer<f32>,
    value_weights_2: Buffer<f32>,
    value_bias_2: Buffer<f32>,
    policy_weights: Buffer<f32>,
    /// The first linear layers as they are, a row an output.
    value_rows_1: Buffer<f32>,
    policy_rows: Buffer<f32>,
    policy_bias: Buffer<f32>,
    planes: u32,
    pub n_convs: u32,
    pub value_filters: u32,
    policy_filters: u32,
    hidden: u32,
    actions: u32,
}

impl DeviceNetwork {
    /// Bytes of a network of this shape.
    pub fn bytes(shape: &NetworkShape, precision: Precision) -> u64 {
        let size = |value: u32| u64::from(value);
        let (cells, filters) = (shape.cells() as u64, size(shape.value_filters + shape.policy_filters));
        let biases_and_factors = 2 * size(1 + 2 * shape.depth) * size(WIDTH);
        let heads = filters * (size(WIDTH) + 1);
        // The first linear layers are there twice, as they are and transposed.
        let value = 2 * size(shape.value_filters) * cells * size(shape.value_hidden) + 2 * size(shape.value_hidden) + 1;
        let policy = 2 * size(shape.policy_filters) * cells * size(shape.actions) + size(shape.actions);
        let [tower, single] = pack::n_vectors(1 + 2 * shape.depth, precision);
        16 * (tower + single) as u64 + 4 * (biases_and_factors + heads + value + policy)
    }

    /// Packs and uploads a network of a shape that `fits` has accepted.
    pub fn new(stream: &Stream, scaled: &Scaled, precision: Precision) -> Result<Self> {
        let network = &scaled.network;
        let shape = network.shape;
        let both = |of: fn(&crate::azero::folded::FoldedConv) -> &Vec<f32>| {
            of(&network.value_conv).iter().chain(of(&network.policy_conv)).copied().collect::<Vec<_>>()
        };
        Ok(Self {
            tower: stream.upload(&pack::tower_weights(network, precision))?,
            single: stream.upload(&pack::single_weights(network, precision))?,
            biases: stream.upload(&pack::tower_biases(network))?,
            factors: stream.upload(&scaled.factors)?,
            head_weights: stream.upload(&both(|conv| &conv.weight))?,
            head_biases: stream.upload(&both(|conv| &conv.bias))?,
            value_weights_1: stream
                .upload(&pack::turned(&network.value_linear_1.weight, shape.value_hidden as usize))?,
            value_bias_1: stream.upload(&network.value_linear_1.bias)?,
            value_weights_2: stream.upload(&network.value_linear_2.weight)?,
            value_bias_2: stream.upload(&network.value_linear_2.bias)?,
            policy_weights: stream.upload(&pack::turned(&network.policy_linear.weight, shape.actions as usize))?,
            value_rows_1: stream.upload(&network.value_linear_1.weight)?,
            policy_rows: stream.upload(&network.policy_linear.weight)?,
            policy_bias: stream.upload(&network.policy_linear.bias)?,
            planes: shape.planes,
            n_convs: 1 + 2 * shape.depth,
            value_filters: shape.value_filters,
            policy_filters: shape.policy_filters,
            hidden: shape.value_hidden,
            actions: shape.actions,
        })
    }

    /// Where the convolutions' weights lie: those of [`Kernels::single`], or those of the tower.
    pub fn weights(&self, single: bool) -> crate::L2Span {
        crate::L2Span::of(if single { &self.single } else { &self.tower })
    }

    /// Channels of both heads.
    pub fn filters(&self) -> u32 {
        self.value_filters + self.policy_filters
    }
}
