//! The engine on devices that run kernels: shards stay there where they fit, and are copied in pieces, each while the one before is computed, where they do not.

mod columns;
#[allow(unsafe_code)]
mod kernels;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use warpplay_gpu::shogi::sparse::update::{Rule, kind, rounded};

use columns::Part;
use kernels::{Chosen, Kernels, Packed, Parameters, Results};

use crate::runtime::ipc;
use crate::shogi::engines::learn::{Learn, Lent, check_memory, check_rows, on_the_host, too_large};
use crate::shogi::evaluator::check_weights;
use crate::shogi::features::FeatureSet;
use crate::shogi::loss::{Loss, Totals};
use crate::shogi::options::SparseOptions;
use crate::shogi::selection::{ColumnCheck, Selection};
use crate::shogi::shard::Shard;
use crate::shogi::update::{MOST, Optimizer, Update};
use crate::{Buffer, Device, Error, Event, Pinned, Result, Stream};

/// Maximum size of a slot for copies in bytes: large enough to hide a launch, small enough that the first copy, which is not overlapped, is short.
const SLOT_BYTES: u64 = 64 << 20;

/// Weights, gradient, optimiser memory, and the shards that fit, on a device.
pub(in crate::shogi) struct DeviceEngine {
    device: Device,
    stream: Stream,
    copies: Stream,
    kernels: Kernels,
    features: FeatureSet,
    parameters: Parameters,
    results: Results,
    resident: HashMap<Name, Packed>,
    resident_bytes: u64,
    slots: Option<Slots>,
    limit: Option<u64>,
    /// Bytes reserved for rows of gradients.
    reserved: u64,
}

/// Identifies a shard while it is neither changed nor dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Name {
    addresses: [usize; 3],
    lengths: [usize; 3],
    sample: u64,
}

impl Name {
    /// Addresses and lengths, and a checksum over some cells.
    fn of(shard: &Shard) -> Self {
        let changes: &[u32] = &shard.changes;
        let games: &[u64] = &shard.games;
        let sample = |n: usize| (0..n).step_by(n / 64 + 1);
        let mut sum = 0u64;
        for at in sample(changes.len()) {
            sum = sum.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(u64::from(changes[at]));
        }
        for at in sample(games.len()) {
            sum = sum.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(games[at]);
        }
        Self {
            addresses: [shard.pieces.as_ptr().addr(), changes.as_ptr().addr(), games.as_ptr().addr()],
            lengths: [shard.n_parents(), shard.first_change.len(), changes.len()],
            sample: sum,
        }
    }
}

/// Two slots for pieces that are being copied.
struct Slots {
    slots: [Slot; 2],
    bytes: usize,
}

struct Slot {
    packed: Packed,
    pinned: Pinned<u64>,
    /// Events after the last copy, and after the last pass.
    copied: Event,
    computed: Event,
}

impl Slots {
    fn new(stream: &Stream, bytes: usize) -> Result<Self> {
        let slot = || {
            Ok::<_, Error>(Slot {
                packed: Packed::with_room(stream, bytes)?,
                pinned: stream.pinned(bytes.div_ceil(8))?,
                copied: stream.event()?,
                computed: stream.event()?,
            })
        };
        let slots = [slot()?, slot()?];
        // Zeroed on this stream, written on the other.
        stream.synchronize()?;
        Ok(Self { slots, bytes })
    }
}

impl DeviceEngine {
    /// Allocates the memory for weights and gradient: 12 bytes per weight.
    pub fn new(device: &Device, features: FeatureSet, options: &SparseOptions) -> Result<Self> {
        let (stream, copies) = (device.stream()?, device.stream()?);
        let kernels = Kernels::load(device, features)?;
        let parameters = Parameters::new(&stream, features.len())?;
        let results = Results::new(&stream, 0)?;
        stream.synchronize()?;
        Ok(Self {
            device: device.clone(),
            stream,
            copies,
            kernels,
            features,
            parameters,
            results,
            resident: HashMap::new(),
            resident_bytes: 0,
            slots: None,
            limit: options.device_bytes,
            reserved: 0,
        })
    }

    /// Maximum number of bytes of positions on the device; `n_children` is the largest number of children of a piece.
    fn limit(&self, n_children: usize) -> Result<u64> {
        if let Some(limit) = self.limit {
            return Ok(limit);
        }
        let slots = self.slots.as_ref().map_or(0, |slots| 2 * slots.bytes as u64);
        let room = self.device.memory()?.free + self.resident_bytes + slots;
        // What will still be taken: an optimiser's memory, evaluations and slopes, rows for other ranks; and a tenth for the driver's own.
        let taken = 8 * self.features.len() as u64 + 16 * n_children as u64 + self.reserved;
        Ok((room - room / 10).saturating_sub(taken))
    }

    /// Allocates memory for the results of a piece.
    fn make_room(&mut self, n_children: usize) -> Result<()> {
        if self.results.n_children() < n_children {
            self.results = Results::new(&self.stream, 0)?;
            self.results = Results::new(&self.stream, n_children)?;
        }
        Ok(())
    }

    /// Copies shards to the device permanently if all of this pass fit. Returns the shards that do not fit, and the bytes left for their pieces.
    fn make_resident(&mut self, shards: &[&Shard], check: ColumnCheck) -> Result<(HashSet<Name>, u64)> {
        let mut missing: HashMap<Name, (&Shard, Part)> = HashMap::new();
        for &shard in shards {
            let name = Name::of(shard);
            if shard.n_parents() > 0 && !self.resident.contains_key(&name) && !missing.contains_key(&name) {
                if check == ColumnCheck::Needed {
                    shard.expect_columns()?;
                }
                missing.insert(name, (shard, Part::whole(shard)));
            }
        }
        if missing.is_empty() {
            return Ok((HashSet::new(), 0));
        }
        let needed: u64 = missing.values().map(|(_, part)| part.layout().bytes as u64).sum();
        let most_children = missing.values().map(|(_, part)| part.children.len()).max().unwrap_or(0);
        let left = self.limit(most_children)?.saturating_sub(self.resident_bytes);
        if needed <= left {
            // Shards that stay have a better use for this memory; a pass that needs the slots takes them again.
            self.slots = None;
            self.make_room(most_children)?;
            for (name, (shard, part)) in missing {
                let packed = Packed::upload(&self.stream, shard, &part)?;
                self.resident_bytes += part.layout().bytes as u64;
                self.resident.insert(name, packed);
            }
            return Ok((HashSet::new(), 0));
        }
        // Shards of other passes give way where pieces would have too little room.
        let smallest = missing.values().map(|(_, part)| part.layout().bytes as u64).max().unwrap_or(0).min(SLOT_BYTES);
        if left / 2 < smallest && self.resident_bytes > 0 {
            self.forget_all()?;
            return self.make_resident(shards, check);
        }
        Ok((missing.into_keys().collect(), left))
    }

    fn forget_all(&mut self) -> Result<()> {
        self.stream.synchronize()?;
        self.resident.clear();
        self.resident_bytes = 0;
        Ok(())
    }

    /// Divides shards into pieces that fit into two slots of `left` bytes in total, and allocates the slots.
    fn pieces<'a>(&mut self, shards: &[&'a Shard], left: u64) -> Result<Vec<(&'a Shard, Part)>> {
        if shards.is_empty() {
            return Ok(Vec::new());
        }
        let bytes = (left / 2).min(SLOT_BYTES) / 8 * 8;
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let mut pieces = Vec::new();
        for &shard in shards {
            pieces.extend(Part::split(shard, bytes)?.into_iter().map(|part| (shard, part)));
        }
        self.make_room(pieces.iter().map(|(_, part)| part.children.len()).max().unwrap_or(0))?;
        if self.slots.as_ref().is_none_or(|slots| slots.bytes != bytes) {
            self.slots = None;
            self.slots = Some(Slots::new(&self.stream, bytes)?);
        }
        Ok(pieces)
    }

    /// Computes pieces, copying each while the previous one is computed.
    fn stream_pass(&mut self, pieces: &[(&Shard, Part)], loss: &Loss, gradient: bool) -> Result<()> {
        let Self { stream, copies, kernels, parameters, results, slots, .. } = self;
        let Some(Slots { slots: [even, odd], .. }) = slots else { return Ok(()) };
        let (mut slot, mut other) = (even, odd);
        for (shard, part) in pieces {
            // The pass that last read the slot is over; the one before this piece's may still run.
            slot.computed.wait()?;
            slot.packed.stage(copies, &mut slot.pinned, shard, part)?;
            copies.record(&slot.copied)?;
            slot.copied.wait()?;
            kernels.pass(stream, Chosen { packed: &slot.packed, some: None }, parameters, results, loss, gradient)?;
            stream.record(&slot.computed)?;
            std::mem::swap(&mut slot, &mut other);
        }
        Ok(())
    }
}

impl Learn for DeviceEngine {
    fn features(&self) -> FeatureSet {
        self.features
    }

    fn weights(&self) -> Result<Vec<f32>> {
        self.stream.read(&self.parameters.weights)
    }

    fn values(&self) -> Result<Vec<f32>> {
        let mut values = vec![0.0; self.features.n_values()];
        self.stream.read_into(&self.parameters.weights, 0, &mut values)?;
        Ok(values)
    }

    fn set_weights(&mut self, weights: &[f32]) -> Result<()> {
        check_weights(self.features, weights)?;
        let weights: Vec<f32> = weights.iter().map(|&weight| rounded(weight)).collect();
        self.stream.write(&mut self.parameters.weights, 0, &weights)
    }

    fn pass(&mut self, parts: &[Selection<'_>], check: ColumnCheck, loss: &Loss, gradient: bool) -> Result<Totals> {
        loss.check()?;
        parts.iter().try_for_each(Selection::check)?;
        let shards: Vec<&Shard> = parts.iter().map(|part| part.shard).collect();
        let (streamed, left) = self.make_resident(&shards, check)?;
        // A shard that is given twice counts twice. Of one that is not there, only the parents that are wanted are copied.
        let copied = parts.iter().filter(|part| streamed.contains(&Name::of(part.shard)));
        // Whole ones were looked at just now.
        let copied: Vec<Cow<'_, Shard>> = copied.map(|part| part.shard_of(ColumnCheck::Done)).collect::<Result<_>>()?;
        let copied: Vec<&Shard> = copied.iter().map(|shard| &**shard).filter(|shard| shard.n_parents() > 0).collect();
        let pieces = self.pieces(&copied, left)?;
        self.results.clear(&self.stream)?;
        if gradient {
            self.stream.zero(&mut self.parameters.gradient)?;
        }
        let Self { stream, kernels, parameters, results, resident, .. } = self;
        for part in parts {
            if let Some(packed) = resident.get(&Name::of(part.shard)) {
                kernels.pass(stream, Chosen { packed, some: part.parents }, parameters, results, loss, gradient)?;
            }
        }
        self.stream_pass(&pieces, loss, gradient)?;
        self.results.totals(&self.stream)
    }

    fn forget(&mut self) -> Result<()> {
        self.forget_all()
    }

    fn gradient(&self) -> Result<Vec<i64>> {
        self.stream.read(&self.parameters.gradient)
    }

    fn set_gradient(&mut self, gradient: &[i64]) -> Result<()> {
        if gradient.len() != self.features.len() {
            return Err(Error::shape(format!("gradient of {}", self.features), self.features.len(), gradient.len()));
        }
        self.stream.write(&mut self.parameters.gradient, 0, gradient)
    }

    fn touched(&mut self) -> Result<Vec<u32>> {
        let words = self.kernels.touched(&self.stream, &self.parameters)?;
        let rows_of = |(word, bits): (u32, u32)| {
            (0..32).filter(move |bit| (bits >> bit) & 1 == 1).map(move |bit| 32 * word + bit)
        };
        Ok((0..).zip(words).flat_map(rows_of).collect())
    }

    fn rows(&mut self, rows: &[u32]) -> Result<Vec<i64>> {
        let values = self.kernels.take_rows(&self.stream, &self.parameters, rows, 1)?;
        self.stream.read(&values)
    }

    fn set_rows(&mut self, rows: &[u32], values: &[i64]) -> Result<()> {
        check_rows(self.features, rows, values.len())?;
        let values = self.stream.upload(values)?;
        self.kernels.put_rows(&self.stream, &mut self.parameters, rows, &[&values], false)
    }

    fn lends_on(&self) -> Option<Device> {
        Some(self.device.clone())
    }

    fn lend_rows(&mut self, rows: &[u32]) -> Result<Lent> {
        Ok(Arc::new(self.kernels.take_rows(&self.stream, &self.parameters, rows, 1)?))
    }

    fn reserve(&mut self, bytes: u64) {
        self.reserved = bytes;
    }

    fn export_rows(&mut self, rows: &[u32]) -> Result<(Lent, Vec<u8>)> {
        let multiple = ipc::BLOCK_BYTES / size_of::<i64>();
        let values = self.kernels.take_rows(&self.stream, &self.parameters, rows, multiple)?;
        let handle = ipc::export(&values)?;
        Ok((Arc::new(values), handle))
    }

    fn add_exported(&mut self, rows: &[u32], handles: &[&[u8]]) -> Result<()> {
        self.kernels.add_exported(&self.stream, &mut self.parameters, rows, handles)
    }

    fn add_lent(&mut self, rows: &[u32], others: &[Lent]) -> Result<()> {
        let values = others.iter().map(|lent| lent.downcast_ref::<Buffer<i64>>()).collect::<Option<Vec<_>>>();
        let wrong = || Error::shape("rows of another engine", "rows of a gradient on the device", "something else");
        self.kernels.put_rows(&self.stream, &mut self.parameters, rows, &values.ok_or_else(wrong)?, true)
    }

    fn update(&mut self, update: &Update, children: u64) -> Result<()> {
        update.check()?;
        if children == 0 {
            return Err(Error::option("children", children, "from 1"));
        }
        let (kind, n_memory) = match update.optimizer {
            Optimizer::Sign => (kind::SIGN, 0),
            Optimizer::Gd => (kind::GD, 0),
            Optimizer::Momentum => (kind::MOMENTUM, 1),
            Optimizer::AdaGrad => (kind::ADA_GRAD, 1),
            Optimizer::Adam => (kind::ADAM, 2),
            Optimizer::Lbfgs => return Err(on_the_host()),
        };
        if self.parameters.memory.len() != n_memory {
            self.parameters.memory.clear();
            for _ in 0..n_memory {
                let array = self.stream.alloc(self.features.len())?;
                self.parameters.memory.push(array);
            }
        }
        let correction = |beta: f32| (1.0 - libm::pow(f64::from(beta), f64::from(update.step))) as f32;
        let rule = Rule {
            children: children as f64,
            kind,
            rate: update.learning_rate,
            l1: update.l1,
            l2: update.l2,
            beta1: update.beta1,
            beta2: update.beta2,
            epsilon: update.epsilon,
            correction1: correction(update.beta1),
            correction2: correction(update.beta2),
            reserved: 0,
        };
        let largest = self.kernels.update(&self.stream, &mut self.parameters, rule)?;
        if largest < MOST { Ok(()) } else { Err(too_large("learning_rate", update.learning_rate)) }
    }

    fn scale(&mut self, factor: f32) -> Result<()> {
        if !factor.is_finite() {
            return Err(Error::option("factor", factor, "a finite number"));
        }
        let largest = self.kernels.scale(&self.stream, &mut self.parameters, factor)?;
        if largest < MOST { Ok(()) } else { Err(too_large("factor", factor)) }
    }

    fn memory(&self) -> Result<Vec<Vec<f32>>> {
        self.parameters.memory.iter().map(|array| self.stream.read(array)).collect()
    }

    fn set_memory(&mut self, memory: &[Vec<f32>]) -> Result<()> {
        check_memory(self.features, memory)?;
        self.parameters.memory = memory.iter().map(|array| self.stream.upload(array)).collect::<Result<_>>()?;
        Ok(())
    }
}
