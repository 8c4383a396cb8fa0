//! The kernels of sparse features, resolved, with a safe function for each; and the device arrays they work on.

use warpplay_gpu::ptx::embedded::SHOGI_SPARSE;
use warpplay_gpu::shogi::sparse;
use warpplay_gpu::shogi::sparse::exchange::{self, ROW};
use warpplay_gpu::shogi::sparse::pass::{self, PassArgs, total};
use warpplay_gpu::shogi::sparse::update::Rule;

use super::columns::{Layout, Part};
use crate::runtime::ipc;
use crate::runtime::launch::views;
use crate::shogi::features::FeatureSet;
use crate::shogi::loss::{Loss, Totals};
use crate::shogi::shard::Shard;
use crate::{Buffer, Device, Error, In, Module, Pinned, Result, Stream};

/// A part of a shard on the device.
pub(super) struct Packed {
    words: Buffer<u64>,
    n_parents: usize,
    n_children: usize,
    n_changes: usize,
    /// Where each parent stands in the order in which they are worked on; none of a part that is on its way.
    ranks: Vec<u32>,
}

impl Packed {
    /// Takes the memory for parts of at most `bytes` bytes; there is none in it yet.
    pub fn with_room(stream: &Stream, bytes: usize) -> Result<Self> {
        let words = stream.alloc(bytes.div_ceil(8))?;
        Ok(Self { words, n_parents: 0, n_children: 0, n_changes: 0, ranks: Vec::new() })
    }

    /// Copies a part of a checked shard to the device.
    pub fn upload(stream: &Stream, shard: &Shard, part: &Part) -> Result<Self> {
        let mut words = vec![0; part.layout().bytes / 8];
        part.pack(shard, &mut words)?;
        Ok(Self {
            words: stream.upload(&words)?,
            n_parents: part.parents.len(),
            n_children: part.children.len(),
            n_changes: part.changes.len(),
            ranks: part.ranks(shard),
        })
    }

    /// The column that begins at byte `at` of the words, and what follows it.
    fn column<T: bytemuck::Pod>(&self, at: usize) -> In<'_, T> {
        self.words.view().split_at(at / 8).1.cast()
    }

    /// Some of the parents of a checked selection, in the order in which they are worked on.
    fn ordered(&self, parents: &[u32]) -> Vec<u32> {
        let mut order = parents.to_vec();
        order.sort_unstable_by_key(|&parent| self.ranks.get(parent as usize));
        order
    }

    /// Packs a part of a checked shard in pinned memory, once the last copy from there has ended, and queues its copy.
    pub fn stage(&mut self, stream: &Stream, pinned: &mut Pinned<u64>, shard: &Shard, part: &Part) -> Result<()> {
        part.pack(shard, pinned.as_mut_slice()?)?;
        // Until the copy is queued there is nothing to be computed on.
        self.n_parents = 0;
        stream.write_pinned(&mut self.words, 0, pinned, part.layout().bytes / 8)?;
        (self.n_parents, self.n_children, self.n_changes) =
            (part.parents.len(), part.children.len(), part.changes.len());
        Ok(())
    }
}

/// A part of a shard, and which of its parents a pass goes over: numbers that ascend, `None` for all.
pub(super) struct Chosen<'a> {
    pub packed: &'a Packed,
    pub some: Option<&'a [u32]>,
}

/// What passes write beside the gradient.
pub(super) struct Results {
    evaluations: Buffer<f64>,
    slopes: Buffer<u64>,
    totals: Buffer<u64>,
    /// The parents of a pass over some.
    list: Buffer<u32>,
}

impl Results {
    /// Takes the memory for parts of at most `n_children` children.
    pub fn new(stream: &Stream, n_children: usize) -> Result<Self> {
        Ok(Self {
            evaluations: stream.alloc(n_children)?,
            slopes: stream.alloc(n_children)?,
            totals: stream.alloc(total::LEN)?,
            list: stream.alloc(0)?,
        })
    }

    /// Children there is room for.
    pub fn n_children(&self) -> usize {
        self.evaluations.len()
    }

    /// Sets the sums to 0.
    pub fn clear(&mut self, stream: &Stream) -> Result<()> {
        stream.zero(&mut self.totals)
    }

    /// The sums.
    pub fn totals(&self, stream: &Stream) -> Result<Totals> {
        let words = stream.read(&self.totals)?;
        let word = |at: usize| words.get(at).copied().unwrap_or(0);
        let wide = |at: usize| i128::from(word(at)) + (i128::from(word(at + 1)) << 32);
        Ok(Totals {
            loss: wide(total::LOSS),
            children: word(total::CHILDREN),
            parents: word(total::PARENTS),
            first: wide(total::FIRST),
            first_three: wide(total::FIRST_THREE),
        })
    }
}

/// The parameters on the device.
pub(super) struct Parameters {
    pub weights: Buffer<f32>,
    pub gradient: Buffer<i64>,
    /// What the optimiser remembers.
    pub memory: Vec<Buffer<f32>>,
    largest: Buffer<u32>,
}

impl Parameters {
    /// Takes the memory for `n` weights, all 0.
    pub fn new(stream: &Stream, n: usize) -> Result<Self> {
        Ok(Self {
            weights: stream.alloc(n)?,
            gradient: stream.alloc(n)?,
            memory: Vec::new(),
            largest: stream.alloc(1)?,
        })
    }
}

/// The kernels, looked up when the engine is opened.
pub(super) struct Kernels {
    features: FeatureSet,
    set: sparse::Kernels<Module>,
    /// Blocks that the device holds at once.
    n_blocks: u32,
}

/// Does something with the function of a set of features.
macro_rules! of_features {
    ($kernels:expr, $function:ident => $then:expr) => {{
        let kernels = $kernels;
        match kernels.features {
            FeatureSet::Material => {
                let $function = &kernels.set.shogi_sparse_pass_material;
                $then
            }
            FeatureSet::MaterialHand => {
                let $function = &kernels.set.shogi_sparse_pass_material_hand;
                $then
            }
            FeatureSet::PieceSquare => {
                let $function = &kernels.set.shogi_sparse_pass_piece_square;
                $then
            }
            FeatureSet::KingPiece => {
                let $function = &kernels.set.shogi_sparse_pass_kp;
                $then
            }
            FeatureSet::KingKingPiece => {
                let $function = &kernels.set.shogi_sparse_pass_kkp;
                $then
            }
            FeatureSet::KingPiecePiece => {
                let $function = &kernels.set.shogi_sparse_pass_kpp;
                $then
            }
        }
    }};
}

impl Kernels {
    /// Loads the module: a kernel that is missing is found here, at the door.
    pub fn load(device: &Device, features: FeatureSet) -> Result<Self> {
        let module = Module::load(device, &SHOGI_SPARSE)?;
        let mut kernels = Self { features, set: sparse::Kernels::load(&module)?, n_blocks: 1 };
        let occupancy = of_features!(&kernels, function => function.occupancy(&pass::shape(1))?);
        kernels.n_blocks = occupancy.max(1).saturating_mul(device.info()?.n_multiprocessors.max(1));
        Ok(kernels)
    }

    /// Adds the sums of a part, or of some of its parents, to the totals, and to the gradient if it is wanted.
    pub fn pass(
        &self,
        stream: &Stream,
        Chosen { packed, some }: Chosen<'_>,
        parameters: &mut Parameters,
        results: &mut Results,
        loss: &Loss,
        with_gradient: bool,
    ) -> Result<()> {
        let n_parents = some.map_or(packed.n_parents, <[u32]>::len);
        if n_parents == 0 {
            return Ok(());
        }
        if let Some(parents) = some {
            let order = packed.ordered(parents);
            if results.list.len() < order.len() {
                results.list = stream.alloc(order.len().next_power_of_two())?;
            }
            stream.write(&mut results.list, 0, &order)?;
        }
        let n_parents =
            u32::try_from(n_parents).map_err(|_| Error::shape("parents of a part", "below 2³²", n_parents))?;
        let &Packed { n_parents: n_all, n_children, n_changes, .. } = packed;
        let at = Layout::new(n_all, n_children, n_changes);
        let arguments = views! { PassArgs {
            results writes evaluations, slopes, totals;
            loss has a, window, seed, siblings;
            weights: parameters.weights.view(),
            pieces: packed.column(at.pieces),
            sides: packed.column(at.sides),
            plies: packed.column(at.plies),
            games: packed.column(at.games),
            first_child: packed.column(at.first_child),
            played: packed.column(at.played),
            first_change: packed.column(at.first_change),
            changes: packed.column(at.changes),
            order: if some.is_some() { results.list.view() } else { packed.column(at.order) },
            gradient: parameters.gradient.view_mut().cast(),
            n_parents,
            with_gradient: u32::from(with_gradient),
            reserved: 0,
            n_all,
            n_children,
            n_changes,
            n_weights: self.features.len(),
        } };
        let n_blocks = self.n_blocks.min(n_parents);
        // SAFETY: the columns lie in `words` as `Layout` says, of a shard that `Shard::expect_columns` has looked at: indices ascend, slots and numbers are below their ends, a
        // parent has at most 2¹⁶ children; `order` is a permutation (`columns::order`), or names parents of the part once each (`Packed::ordered`).
        of_features!(self, function => unsafe { stream.run_unchecked_with(function, (n_blocks,), (arguments,)) })
    }

    /// One step of an optimiser with the summed gradient.
    pub fn update(&self, stream: &Stream, parameters: &mut Parameters, rule: Rule) -> Result<f32> {
        let n = self.n(parameters)?;
        let Parameters { weights, gradient, memory, largest } = parameters;
        // What the rule does not remember has no values.
        let mut none = [stream.alloc(0)?, stream.alloc(0)?];
        let mut memory = memory.iter_mut().chain(&mut none);
        let (Some(first), Some(second)) = (memory.next(), memory.next()) else {
            return Err(Error::shape("memory", "2 arrays", 0));
        };
        stream.zero(largest)?;
        stream.run(&self.set.shogi_sparse_update, (weights, &*gradient, first, second, &mut *largest, n, rule))?;
        largest_of(stream, largest)
    }

    /// Multiplies the weights.
    pub fn scale(&self, stream: &Stream, parameters: &mut Parameters, factor: f32) -> Result<f32> {
        let n = self.n(parameters)?;
        let Parameters { weights, largest, .. } = parameters;
        stream.zero(largest)?;
        stream.run(&self.set.shogi_sparse_scale, (weights, &mut *largest, n, factor))?;
        largest_of(stream, largest)
    }

    /// A bit for each row of the gradient, 1 where it is not all 0.
    pub fn touched(&self, stream: &Stream, parameters: &Parameters) -> Result<Vec<u32>> {
        let n = self.n(parameters)?;
        let mut words = stream.alloc::<u32>(exchange::n_words(n) as usize)?;
        stream.run(&self.set.shogi_sparse_touched, (&parameters.gradient, &mut words, n))?;
        stream.read(&words)
    }

    /// The gradient in some rows, on the device, in a buffer whose length is a multiple of `multiple`.
    pub fn take_rows(
        &self,
        stream: &Stream,
        parameters: &Parameters,
        rows: &[u32],
        multiple: usize,
    ) -> Result<Buffer<i64>> {
        let n = self.n(parameters)?;
        let n_values = n_values(rows, n)?;
        let (rows, mut values) = (stream.upload(rows)?, stream.alloc((n_values as usize).next_multiple_of(multiple))?);
        stream.run(&self.set.shogi_sparse_take_rows, (&parameters.gradient, &rows, &mut values, n_values, n))?;
        stream.synchronize()?;
        Ok(values)
    }

    /// Puts values into some rows of the gradient, each named once, or adds them.
    pub fn put_rows(
        &self,
        stream: &Stream,
        parameters: &mut Parameters,
        rows: &[u32],
        values: &[&Buffer<i64>],
        adds: bool,
    ) -> Result<()> {
        let n = self.n(parameters)?;
        let n_values = n_values(rows, n)?;
        if !rows.is_sorted_by(|one, other| one < other) {
            return Err(Error::shape("rows of a gradient", "numbers that ascend", "others"));
        }
        let rows = stream.upload(rows)?;
        let launched = values.iter().try_for_each(|&values| {
            let arguments = (&mut parameters.gradient, &rows, values, n_values, n, u32::from(adds));
            // SAFETY: a row is named once.
            unsafe { stream.run_unchecked(&self.set.shogi_sparse_put_rows, arguments) }
        });
        // Also after a failure: what was launched before it reads values that the caller may free.
        stream.synchronize()?;
        launched
    }

    /// Adds what engines of other processes exported of some rows, each named once.
    pub fn add_exported(
        &self,
        stream: &Stream,
        parameters: &mut Parameters,
        rows: &[u32],
        handles: &[&[u8]],
    ) -> Result<()> {
        let (device, n_values) = (stream.device(), rows.len() * ROW as usize);
        // SAFETY: the learner hands on what the engines of other ranks exported on this GPU; each keeps its rows, unwritten, until all have agreed that they have read.
        // `put_rows` only reads them, and has ended when they are dropped here.
        let values = handles.iter().map(|handle| unsafe { ipc::import(device, handle, n_values) });
        let values = values.collect::<Result<Vec<Buffer<i64>>>>()?;
        self.put_rows(stream, parameters, rows, &values.iter().collect::<Vec<_>>(), true)
    }

    /// Weights, as the kernels count them.
    fn n(&self, parameters: &Parameters) -> Result<u32> {
        parameters.weights.expect_len("weights", self.features.len())?;
        parameters.gradient.expect_len("gradient", self.features.len())?;
        u32::try_from(self.features.len()).map_err(|_| Error::shape("weights", "below 2³²", self.features.len()))
    }
}

/// The largest size of a weight that was noted, 0 where all are small.
fn largest_of(stream: &Stream, largest: &Buffer<u32>) -> Result<f32> {
    Ok(stream.read(largest)?.first().map_or(0.0, |&bits| f32::from_bits(bits)))
}

/// The numbers of some rows of `n` weights, as the kernels count them.
fn n_values(rows: &[u32], n: u32) -> Result<u32> {
    let n_rows = exchange::n_rows(n);
    if let Some(row) = rows.iter().find(|&&row| row >= n_rows) {
        return Err(Error::shape("row of a gradient", format!("below {n_rows}"), row));
    }
    let wanted = rows.len() as u64 * u64::from(ROW);
    u32::try_from(wanted).map_err(|_| Error::shape("values of rows", "below 2³²", wanted))
}
