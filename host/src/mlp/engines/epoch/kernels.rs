//! The kernels that train a whole epoch in one launch, resolved, with a safe function for each; and the device arrays they work on.

use warpplay_gpu::mlp::epoch::{
    self, ClassifyTaskArgs, EpochTaskArgs, MOST_BLOCKS, RANGE_WORDS, is_cluster, mlp_epoch_classify,
    mlp_epoch_classify_deep, mlp_epoch_classify_deep_short, mlp_epoch_classify_grid, mlp_epoch_classify_grid_short,
    mlp_epoch_classify_short, mlp_epoch_mma_classify, mlp_epoch_mma_classify_deep, mlp_epoch_mma_classify_deep_short,
    mlp_epoch_mma_classify_short, mlp_epoch_mma_train, mlp_epoch_mma_train_adam, mlp_epoch_mma_train_adam_deep,
    mlp_epoch_mma_train_adam_deep_short, mlp_epoch_mma_train_adam_short, mlp_epoch_mma_train_decay,
    mlp_epoch_mma_train_decay_deep, mlp_epoch_mma_train_decay_deep_short, mlp_epoch_mma_train_decay_short,
    mlp_epoch_mma_train_deep, mlp_epoch_mma_train_deep_short, mlp_epoch_mma_train_momentum,
    mlp_epoch_mma_train_momentum_deep, mlp_epoch_mma_train_momentum_deep_short, mlp_epoch_mma_train_momentum_short,
    mlp_epoch_mma_train_short, mlp_epoch_train, mlp_epoch_train_adam, mlp_epoch_train_adam_deep,
    mlp_epoch_train_adam_deep_short, mlp_epoch_train_adam_grid, mlp_epoch_train_adam_grid_short,
    mlp_epoch_train_adam_parts, mlp_epoch_train_adam_parts_short, mlp_epoch_train_adam_short, mlp_epoch_train_decay,
    mlp_epoch_train_decay_deep, mlp_epoch_train_decay_deep_short, mlp_epoch_train_decay_grid,
    mlp_epoch_train_decay_grid_short, mlp_epoch_train_decay_short, mlp_epoch_train_deep, mlp_epoch_train_deep_short,
    mlp_epoch_train_grid, mlp_epoch_train_grid_short, mlp_epoch_train_momentum, mlp_epoch_train_momentum_deep,
    mlp_epoch_train_momentum_deep_short, mlp_epoch_train_momentum_grid, mlp_epoch_train_momentum_grid_short,
    mlp_epoch_train_momentum_parts, mlp_epoch_train_momentum_parts_short, mlp_epoch_train_momentum_short,
    mlp_epoch_train_short, n_blocks, n_counters, n_mail_words, n_state_values, n_values,
};
use warpplay_gpu::ptx::embedded::{MLP_EPOCH, MLP_EPOCH_MMA};

use super::optimizer::{Form, Kind};
use crate::mlp::Dataset;
use crate::runtime::launch::views;
use crate::{Buffer, Device, Function, In, InOut, Module, Result, Stream};

/// What all networks of an engine have in common.
#[derive(Clone, Copy, Debug)]
pub(in crate::mlp) struct Shape {
    pub n_inputs: u32,
    /// Units of the first hidden layer and of the second; 0 where there is no second.
    pub hidden: [u32; 2],
    pub n_classes: u32,
    pub n_models: u32,
    pub blocks: Blocks,
    /// How they are trained.
    pub form: Form,
    /// Whether numbers have one half, not two: 11 bits.
    pub short: bool,
}

impl Shape {
    /// Values of one network and of what its optimiser remembers.
    pub fn n_values(&self) -> usize {
        self.n_arrays() as usize * n_values(self.n_inputs, self.hidden, self.n_classes)
    }

    /// Units of each hidden layer that there is.
    pub fn hidden_layers(&self) -> &[u32] {
        if self.hidden[1] == 0 { &self.hidden[..1] } else { &self.hidden }
    }

    /// Units of all hidden layers.
    fn n_units(&self) -> usize {
        self.hidden.iter().map(|&n| n as usize).sum()
    }

    /// Arrays of a network's values: itself, and what its optimiser remembers.
    fn n_arrays(&self) -> u32 {
        1 + self.form.n_moments()
    }

    /// The first networks of the launches that train or classify all of them: one where each network has a cluster, otherwise one for each network.
    fn launches(&self) -> std::ops::Range<u32> {
        0..if self.blocks == Blocks::Cluster { 1 } else { self.n_models }
    }

    /// Blocks of a network.
    fn n_blocks(&self) -> u32 {
        if self.blocks == Blocks::Warps { MOST_BLOCKS } else { n_blocks(self.hidden) }
    }

    /// Values of a network's state during an epoch by an optimiser that remembers so many arrays.
    fn n_state_values(&self, n_moments: u32) -> usize {
        n_state_values(self.hidden[1], self.n_blocks(), n_moments)
    }

    /// Values of all optimisers during an epoch.
    fn n_values_of_states(&self) -> usize {
        self.n_models as usize * self.n_state_values(self.form.n_moments())
    }
}

/// How a network's blocks are launched, and how many hidden layers they have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mlp) enum Blocks {
    /// A cluster, one hidden layer.
    Cluster,
    /// A cooperative launch, one hidden layer.
    Grid,
    /// A cooperative launch of 32 blocks without products of warpgroups, one hidden layer.
    Warps,
    /// A cooperative launch, two hidden layers.
    Deep,
    /// The same without products of warpgroups.
    DeepWarps,
}

impl Blocks {
    /// Those of a network with these units, as in [`Shape`], on a device with or without products of warpgroups.
    pub fn of(hidden: [u32; 2], by_warpgroups: bool) -> Self {
        match hidden[1] {
            0 if !by_warpgroups => Self::Warps,
            0 if is_cluster(0, n_blocks(hidden)) => Self::Cluster,
            0 => Self::Grid,
            _ if by_warpgroups => Self::Deep,
            _ => Self::DeepWarps,
        }
    }

    /// Whether their products are those of warpgroups.
    fn by_warpgroups(self) -> bool {
        !matches!(self, Self::Warps | Self::DeepWarps)
    }

    /// Batches of pixels in their shared memory, with or without products of warpgroups.
    pub const fn pixel_buffers(by_warpgroups: bool) -> u32 {
        if by_warpgroups { 2 } else { 1 }
    }
}

/// Images and labels on the device, with room for what is found out about them.
#[derive(Debug)]
pub(in crate::mlp) struct DeviceSet {
    images: Buffer<u8>,
    labels: Buffer<u8>,
    /// Classes and losses `[n_models, n]`, active units `[n_models, n_units]` and the words of the range `[n_models, RANGE_WORDS]`, in this order, so that one copy reads all.
    answers: Buffer<u32>,
    shape: Shape,
    n: u32,
}

/// What a launch found out about a set.
pub(in crate::mlp) struct Answers {
    /// `[n_models, n]`.
    pub classes: Vec<u32>,
    /// `[n_models, n]`.
    pub losses: Vec<f32>,
    /// Whether each unit was ever positive: 1 or 0, `[n_models, n_units]`, the first hidden layer's before the second's.
    pub active: Vec<u32>,
    /// The networks whose numbers left the range of their scales, so that their answers are worth nothing.
    pub left: Vec<usize>,
}

impl DeviceSet {
    /// Uploads a set, which the networks of `shape` will classify.
    pub fn new(stream: &Stream, set: &Dataset, shape: Shape) -> Result<Self> {
        Ok(Self {
            images: stream.upload(set.images())?,
            labels: stream.upload(set.labels())?,
            answers: stream.alloc(Self::n_words(set.len(), shape))?,
            shape,
            n: set.len() as u32,
        })
    }

    /// Words of the answers about `n` samples.
    fn n_words(n: usize, shape: Shape) -> usize {
        shape.n_models as usize * (2 * n + shape.n_units() + RANGE_WORDS)
    }

    /// Bytes of a set of `n` samples.
    pub fn bytes(n: usize, shape: Shape) -> u64 {
        n as u64 * (u64::from(shape.n_inputs) + 1) + 4 * Self::n_words(n, shape) as u64
    }

    /// What the last launch found out; waits for it.
    pub fn found(&self, stream: &Stream) -> Result<Answers> {
        let n = self.n as usize;
        let models = self.shape.n_models as usize;
        let mut classes = stream.read(&self.answers)?;
        let range = classes.split_off(models * (2 * n + self.shape.n_units()));
        let active = classes.split_off(models * 2 * n);
        let losses = classes.split_off(models * n).into_iter().map(f32::from_bits).collect();
        Ok(Answers { classes, losses, active, left: left(&range) })
    }
}

/// The networks whose words say that numbers left the range of their scales.
fn left(range: &[u32]) -> Vec<usize> {
    (0..).zip(range.chunks_exact(RANGE_WORDS)).filter(|(_, words)| words[0] != 0).map(|(at, _)| at).collect()
}

/// What a training keeps on the device besides its set.
#[derive(Debug)]
pub(in crate::mlp) struct Course {
    seeds: Buffer<u32>,
    rates: Buffer<f32>,
    order: Buffer<u32>,
    slots: Buffer<u32>,
    counters: Buffer<u32>,
    losses: Buffer<f32>,
    step_losses: Buffer<f32>,
    /// What the optimiser remembers and other numbers of an epoch, in the kernel's order; none where there are none.
    state: Option<Buffer<f32>>,
    batch: u32,
    mean: bool,
    n_samples: u32,
}

impl Course {
    /// Takes the memory for epochs of `n_samples` samples by the models of `shape`, and notes each model's seed; gradients of a batch are averaged if `mean`, else summed.
    pub fn new(stream: &Stream, shape: Shape, n_samples: u32, batch: u32, mean: bool, seeds: &[u32]) -> Result<Self> {
        let n_steps = n_samples.div_ceil(batch);
        let (models, samples) = (seeds.len(), n_samples as usize);
        Ok(Self {
            seeds: stream.upload(seeds)?,
            rates: stream.alloc(models * n_steps as usize * shape.form.n_rates() as usize)?,
            order: stream.alloc(models * samples)?,
            slots: stream.alloc(models * samples)?,
            counters: stream.alloc(models * n_counters(n_samples))?,
            losses: stream.alloc(models * samples)?,
            step_losses: stream.alloc(models * n_steps as usize)?,
            state: match shape.n_values_of_states() {
                0 => None,
                n => Some(stream.alloc(n)?),
            },
            batch,
            mean,
            n_samples,
        })
    }

    /// Bytes that [`Course::new`] takes.
    pub fn bytes(shape: Shape, n_samples: u32, batch: u32) -> u64 {
        let n_steps = u64::from(n_samples.div_ceil(batch));
        let of_model = 1 + (1 + u64::from(shape.form.n_rates())) * n_steps + 3 * u64::from(n_samples);
        let words = u64::from(shape.n_models) * (of_model + n_counters(n_samples) as u64);
        4 * (words + shape.n_values_of_states() as u64)
    }

    /// Sets the numbers of every step, `[n_models, n_steps, n_rates]`.
    pub fn set_rates(&mut self, stream: &Stream, rates: &[f32]) -> Result<()> {
        self.rates.expect_len("learning rates", rates.len())?;
        stream.write(&mut self.rates, 0, rates)
    }

    /// Sum of the losses of every step, `[n_models, n_steps]`; waits for them.
    pub fn step_losses(&self, stream: &Stream) -> Result<Vec<f32>> {
        stream.read(&self.step_losses)
    }
}

/// The networks: their values, and what launches find out about the range of their numbers.
#[derive(Debug)]
pub(in crate::mlp) struct Networks {
    /// `[n_models, n_arrays, n_values]`: each network, then what its optimiser remembers.
    pub values: Buffer<f32>,
    range: Buffer<u32>,
    /// What the blocks send each other, and the counter of their barriers, where they are no cluster.
    mail: Option<(Buffer<u64>, Buffer<u32>)>,
    /// Scratch of the kernels that classify; none where they need none.
    state: Option<Buffer<f32>>,
}

impl Networks {
    /// Takes the memory of those of `shape`.
    pub fn new(stream: &Stream, shape: Shape) -> Result<Self> {
        let models = shape.n_models as usize;
        Ok(Self {
            values: stream.alloc(models * shape.n_values())?,
            range: stream.alloc(models * RANGE_WORDS)?,
            mail: match n_mail_words(shape.hidden[1], shape.n_blocks()) {
                0 => None,
                n => Some((stream.alloc(n)?, stream.alloc(1)?)),
            },
            state: match shape.n_state_values(0) {
                0 => None,
                n => Some(stream.alloc(n)?),
            },
        })
    }

    /// Bytes that [`Networks::new`] takes.
    pub fn bytes(shape: Shape) -> u64 {
        let mail = match n_mail_words(shape.hidden[1], shape.n_blocks()) {
            0 => 0,
            n => 8 * n as u64 + 4,
        };
        let of_models = shape.n_models as usize * (shape.n_values() + RANGE_WORDS);
        4 * (of_models + shape.n_state_values(0)) as u64 + mail
    }

    /// The networks whose numbers left the range of their scales in the last training or the last logits, so that what was written of them is worth nothing; waits for the launch.
    pub fn left(&self, stream: &Stream) -> Result<Vec<usize>> {
        Ok(left(&stream.read(&self.range)?))
    }

    /// Clears the words of the range before a launch, which has found nothing yet.
    fn clear_range(&mut self, stream: &Stream) -> Result<()> {
        stream.zero(&mut self.range)
    }
}

macro_rules! train_kernels {
    ($($variant:ident: $kernel:ident, $kind:pat, $blocks:ident, $short:literal;)+) => {
        /// The kernel of an optimiser, a precision, and the blocks of a network.
        enum TrainKernel {
            $($variant(Function<$kernel>),)+
        }

        impl TrainKernel {
            /// That of a kind of training.
            fn load(module: &Module, kind: Kind, blocks: Blocks, short: bool) -> Result<Self> {
                Ok(match (kind, blocks, short) {
                    $(($kind, Blocks::$blocks, $short) => Self::$variant(module.function($kernel)?),)+
                })
            }

            /// Trains `n_models` networks for the rest of an epoch.
            ///
            /// # Safety
            /// The arrays are of `n_models`, and as the kernel's optimiser wants them; labels are below the number of classes.
            unsafe fn run(&self, stream: &Stream, n_models: u32, task: EpochTaskArgs<'_>) -> Result<()> {
                match self {
                    // SAFETY: the contract of the function is the kernels'.
                    $(Self::$variant(kernel) => unsafe { stream.run_unchecked_with(kernel, (n_models,), (task,)) },)+
                }
            }
        }
    };
}

train_kernels! {
    Sgd: mlp_epoch_train, Kind::Sgd, Cluster, false;
    SgdShort: mlp_epoch_train_short, Kind::Sgd, Cluster, true;
    Decay: mlp_epoch_train_decay, Kind::Decay, Cluster, false;
    DecayShort: mlp_epoch_train_decay_short, Kind::Decay, Cluster, true;
    Momentum: mlp_epoch_train_momentum, Kind::Momentum { parts: false }, Cluster, false;
    MomentumShort: mlp_epoch_train_momentum_short, Kind::Momentum { parts: false }, Cluster, true;
    MomentumParts: mlp_epoch_train_momentum_parts, Kind::Momentum { parts: true }, Cluster, false;
    MomentumPartsShort: mlp_epoch_train_momentum_parts_short, Kind::Momentum { parts: true }, Cluster, true;
    Adam: mlp_epoch_train_adam, Kind::Adam { parts: false }, Cluster, false;
    AdamShort: mlp_epoch_train_adam_short, Kind::Adam { parts: false }, Cluster, true;
    AdamParts: mlp_epoch_train_adam_parts, Kind::Adam { parts: true }, Cluster, false;
    AdamPartsShort: mlp_epoch_train_adam_parts_short, Kind::Adam { parts: true }, Cluster, true;
    SgdGrid: mlp_epoch_train_grid, Kind::Sgd, Grid, false;
    SgdGridShort: mlp_epoch_train_grid_short, Kind::Sgd, Grid, true;
    DecayGrid: mlp_epoch_train_decay_grid, Kind::Decay, Grid, false;
    DecayGridShort: mlp_epoch_train_decay_grid_short, Kind::Decay, Grid, true;
    MomentumGrid: mlp_epoch_train_momentum_grid, Kind::Momentum { .. }, Grid, false;
    MomentumGridShort: mlp_epoch_train_momentum_grid_short, Kind::Momentum { .. }, Grid, true;
    AdamGrid: mlp_epoch_train_adam_grid, Kind::Adam { .. }, Grid, false;
    AdamGridShort: mlp_epoch_train_adam_grid_short, Kind::Adam { .. }, Grid, true;
    SgdWarps: mlp_epoch_mma_train, Kind::Sgd, Warps, false;
    SgdWarpsShort: mlp_epoch_mma_train_short, Kind::Sgd, Warps, true;
    DecayWarps: mlp_epoch_mma_train_decay, Kind::Decay, Warps, false;
    DecayWarpsShort: mlp_epoch_mma_train_decay_short, Kind::Decay, Warps, true;
    MomentumWarps: mlp_epoch_mma_train_momentum, Kind::Momentum { .. }, Warps, false;
    MomentumWarpsShort: mlp_epoch_mma_train_momentum_short, Kind::Momentum { .. }, Warps, true;
    AdamWarps: mlp_epoch_mma_train_adam, Kind::Adam { .. }, Warps, false;
    AdamWarpsShort: mlp_epoch_mma_train_adam_short, Kind::Adam { .. }, Warps, true;
    SgdDeepWarps: mlp_epoch_mma_train_deep, Kind::Sgd, DeepWarps, false;
    SgdDeepWarpsShort: mlp_epoch_mma_train_deep_short, Kind::Sgd, DeepWarps, true;
    DecayDeepWarps: mlp_epoch_mma_train_decay_deep, Kind::Decay, DeepWarps, false;
    DecayDeepWarpsShort: mlp_epoch_mma_train_decay_deep_short, Kind::Decay, DeepWarps, true;
    MomentumDeepWarps: mlp_epoch_mma_train_momentum_deep, Kind::Momentum { .. }, DeepWarps, false;
    MomentumDeepWarpsShort: mlp_epoch_mma_train_momentum_deep_short, Kind::Momentum { .. }, DeepWarps, true;
    AdamDeepWarps: mlp_epoch_mma_train_adam_deep, Kind::Adam { .. }, DeepWarps, false;
    AdamDeepWarpsShort: mlp_epoch_mma_train_adam_deep_short, Kind::Adam { .. }, DeepWarps, true;
    SgdDeep: mlp_epoch_train_deep, Kind::Sgd, Deep, false;
    SgdDeepShort: mlp_epoch_train_deep_short, Kind::Sgd, Deep, true;
    DecayDeep: mlp_epoch_train_decay_deep, Kind::Decay, Deep, false;
    DecayDeepShort: mlp_epoch_train_decay_deep_short, Kind::Decay, Deep, true;
    MomentumDeep: mlp_epoch_train_momentum_deep, Kind::Momentum { .. }, Deep, false;
    MomentumDeepShort: mlp_epoch_train_momentum_deep_short, Kind::Momentum { .. }, Deep, true;
    AdamDeep: mlp_epoch_train_adam_deep, Kind::Adam { .. }, Deep, false;
    AdamDeepShort: mlp_epoch_train_adam_deep_short, Kind::Adam { .. }, Deep, true;
}

/// The kernel that classifies, by precision and the blocks of a network.
enum ClassifyKernel {
    Single(Function<mlp_epoch_classify>),
    Short(Function<mlp_epoch_classify_short>),
    Grid(Function<mlp_epoch_classify_grid>),
    GridShort(Function<mlp_epoch_classify_grid_short>),
    Warps(Function<mlp_epoch_mma_classify>),
    WarpsShort(Function<mlp_epoch_mma_classify_short>),
    DeepWarps(Function<mlp_epoch_mma_classify_deep>),
    DeepWarpsShort(Function<mlp_epoch_mma_classify_deep_short>),
    Deep(Function<mlp_epoch_classify_deep>),
    DeepShort(Function<mlp_epoch_classify_deep_short>),
}

/// The kernels.
pub(in crate::mlp) struct Kernels {
    shape: Shape,
    train: TrainKernel,
    classify: ClassifyKernel,
}

impl Kernels {
    /// Loads the module, for networks of one shape.
    pub fn load(device: &Device, shape: Shape) -> Result<Self> {
        let blocks = shape.blocks;
        let module = Module::load(device, if blocks.by_warpgroups() { &MLP_EPOCH } else { &MLP_EPOCH_MMA })?;
        let train = TrainKernel::load(&module, shape.form.kind, blocks, shape.short)?;
        let classify = match (blocks, shape.short) {
            (Blocks::Cluster, false) => ClassifyKernel::Single(module.function(mlp_epoch_classify)?),
            (Blocks::Cluster, true) => ClassifyKernel::Short(module.function(mlp_epoch_classify_short)?),
            (Blocks::Grid, false) => ClassifyKernel::Grid(module.function(mlp_epoch_classify_grid)?),
            (Blocks::Grid, true) => ClassifyKernel::GridShort(module.function(mlp_epoch_classify_grid_short)?),
            (Blocks::Warps, false) => ClassifyKernel::Warps(module.function(mlp_epoch_mma_classify)?),
            (Blocks::Warps, true) => ClassifyKernel::WarpsShort(module.function(mlp_epoch_mma_classify_short)?),
            (Blocks::DeepWarps, false) => ClassifyKernel::DeepWarps(module.function(mlp_epoch_mma_classify_deep)?),
            (Blocks::DeepWarps, true) => {
                ClassifyKernel::DeepWarpsShort(module.function(mlp_epoch_mma_classify_deep_short)?)
            }
            (Blocks::Deep, false) => ClassifyKernel::Deep(module.function(mlp_epoch_classify_deep)?),
            (Blocks::Deep, true) => ClassifyKernel::DeepShort(module.function(mlp_epoch_classify_deep_short)?),
        };
        Ok(Self { shape, train, classify })
    }

    /// Clusters that the device runs at the same time; 1 where a network's blocks are no cluster.
    pub fn clusters_at_once(&self) -> Result<u32> {
        let buffers = Blocks::pixel_buffers(self.shape.blocks.by_warpgroups());
        let shape = epoch::shape(1, self.shape.n_inputs, self.shape.hidden[1], self.shape.n_blocks(), buffers);
        let clusters = match &self.classify {
            ClassifyKernel::Single(classify) => classify.max_active_clusters(&shape)?,
            ClassifyKernel::Short(classify) => classify.max_active_clusters(&shape)?,
            ClassifyKernel::Grid(_)
            | ClassifyKernel::GridShort(_)
            | ClassifyKernel::Warps(_)
            | ClassifyKernel::WarpsShort(_)
            | ClassifyKernel::DeepWarps(_)
            | ClassifyKernel::DeepWarpsShort(_)
            | ClassifyKernel::Deep(_)
            | ClassifyKernel::DeepShort(_) => 1,
        };
        Ok(clusters.max(1))
    }

    /// Trains all models for the rest of an epoch.
    ///
    /// # Errors
    /// [`Error::Shape`] if an array does not fit the shape.
    pub fn train(
        &self,
        stream: &Stream,
        networks: &mut Networks,
        set: &DeviceSet,
        course: &mut Course,
        epoch: u32,
        from_step: u32,
    ) -> Result<()> {
        let Shape { n_models, n_inputs, hidden: [n_hidden, n_second], n_classes, form, .. } = self.shape;
        networks.clear_range(stream)?;
        for first_model in self.shape.launches() {
            let (mail, arrivals) = mail_of(&mut networks.mail, stream)?;
            let task = views! { EpochTaskArgs {
                set reads images, labels;
                networks writes values, range;
                course writes order, slots, counters, losses, step_losses;
                course has n_samples, batch;
                seeds: course.seeds.view(),
                learning_rates: course.rates.view(),
                n_inputs,
                n_hidden,
                n_classes,
                from_step,
                epoch,
                mean: u32::from(course.mean),
                n_moments: form.n_moments(),
                n_rates: form.n_rates(),
                state: course.state.as_mut().map_or_else(InOut::none, |state| state.view_mut()),
                rule: form.rule,
                first_model,
                mail,
                arrivals,
                n_second,
                blocks: self.shape.n_blocks(),
                n_models,
            } };
            // SAFETY: the arrays are of `n_models`, and as the form's kernel wants them; labels are below the number of classes, as a `Dataset` holds them. Launches of one stream use the mail one after the other.
            unsafe { self.train.run(stream, n_models, task)? }
        }
        Ok(())
    }

    /// Classifies a set by all models.
    ///
    /// # Errors
    /// As [`Kernels::train`].
    pub fn classify(&self, stream: &Stream, networks: &mut Networks, set: &mut DeviceSet) -> Result<()> {
        let Shape { n_models, n_inputs, hidden: [n_hidden, n_second], n_classes, .. } = self.shape;
        stream.zero(&mut set.answers)?;
        let n_batches = set.n.div_ceil(epoch::BATCH);
        let per_sample = n_models as usize * set.n as usize;
        let clusters_per_model = self.clusters_at_once()?.div_ceil(n_models).min(n_batches);
        for first_model in self.shape.launches() {
            let (mail, arrivals) = mail_of(&mut networks.mail, stream)?;
            let (classes, rest) = set.answers.view_mut().split_at(per_sample);
            let (losses, rest) = rest.split_at(per_sample);
            let (active, range) = rest.split_at(n_models as usize * self.shape.n_units());
            let task = ClassifyTaskArgs {
                images: set.images.view(),
                labels: set.labels.view(),
                values: networks.values.view(),
                logits: InOut::none(),
                classes,
                losses: losses.cast(),
                active,
                range,
                n_samples: set.n,
                n_inputs,
                n_hidden,
                n_classes,
                clusters_per_model,
                n_arrays: self.shape.n_arrays(),
                first_model,
                mail,
                arrivals,
                n_second,
                state: networks.state.as_mut().map_or_else(InOut::none, |state| state.view_mut()),
                blocks: self.shape.n_blocks(),
                n_models,
            };
            self.launch_classify(stream, task)?;
        }
        Ok(())
    }

    /// Logits `[n, n_classes]` of images by the only model.
    ///
    /// # Errors
    /// [`Error::Shape`] if an array does not fit.
    pub fn logits(
        &self,
        stream: &Stream,
        networks: &mut Networks,
        images: &Buffer<u8>,
        logits: &mut Buffer<f32>,
    ) -> Result<()> {
        let Shape { n_models, n_inputs, hidden: [n_hidden, n_second], n_classes, .. } = self.shape;
        networks.clear_range(stream)?;
        let n = images.len() / n_inputs as usize;
        images.expect_len("images", n * n_inputs as usize)?;
        logits.expect_len("logits", n * n_classes as usize)?;
        let n_batches = (n as u32).div_ceil(epoch::BATCH);
        let (mail, arrivals) = mail_of(&mut networks.mail, stream)?;
        let task = ClassifyTaskArgs {
            images: images.view(),
            labels: In::none(),
            values: networks.values.view(),
            logits: logits.view_mut(),
            classes: InOut::none(),
            losses: InOut::none(),
            active: InOut::none(),
            range: networks.range.view_mut(),
            n_samples: n as u32,
            n_inputs,
            n_hidden,
            n_classes,
            clusters_per_model: self.clusters_at_once()?.min(n_batches).max(1),
            n_arrays: self.shape.n_arrays(),
            first_model: 0,
            mail,
            arrivals,
            n_second,
            state: networks.state.as_mut().map_or_else(InOut::none, |state| state.view_mut()),
            blocks: self.shape.n_blocks(),
            n_models,
        };
        self.launch_classify(stream, task)
    }

    fn launch_classify(&self, stream: &Stream, task: ClassifyTaskArgs<'_>) -> Result<()> {
        // SAFETY: the arrays are of `n_models`; labels are below the number of classes, as a `Dataset` holds them. Launches of one stream use the mail one after the other.
        unsafe {
            match &self.classify {
                ClassifyKernel::Single(classify) => stream.run_unchecked_with(classify, (task.n_models,), (task,)),
                ClassifyKernel::Short(classify) => stream.run_unchecked_with(classify, (task.n_models,), (task,)),
                ClassifyKernel::Grid(classify) => stream.run_unchecked_with(classify, (task.n_models,), (task,)),
                ClassifyKernel::GridShort(classify) => stream.run_unchecked_with(classify, (task.n_models,), (task,)),
                ClassifyKernel::Warps(classify) => stream.run_unchecked_with(classify, (task.n_models,), (task,)),
                ClassifyKernel::WarpsShort(classify) => stream.run_unchecked_with(classify, (task.n_models,), (task,)),
                ClassifyKernel::DeepWarps(classify) => stream.run_unchecked_with(classify, (task.n_models,), (task,)),
                ClassifyKernel::DeepWarpsShort(classify) => {
                    stream.run_unchecked_with(classify, (task.n_models,), (task,))
                }
                ClassifyKernel::Deep(classify) => stream.run_unchecked_with(classify, (task.n_models,), (task,)),
                ClassifyKernel::DeepShort(classify) => stream.run_unchecked_with(classify, (task.n_models,), (task,)),
            }
        }
    }
}

/// The mail and the counter of barriers of a launch, which begins at 0.
fn mail_of<'a>(
    mail: &'a mut Option<(Buffer<u64>, Buffer<u32>)>,
    stream: &Stream,
) -> Result<(InOut<'a, u64>, InOut<'a, u32>)> {
    let Some((words, arrivals)) = mail else { return Ok((InOut::none(), InOut::none())) };
    stream.zero(arrivals)?;
    Ok((words.view_mut(), arrivals.view_mut()))
}
