//! The kernels of streets, resolved, with a safe function for each launch; and the device arrays they work on.

use warpplay_gpu::cfr::regret::Step;
use warpplay_gpu::cfr::street::gadget::{GadgetArgs, plays_on};
use warpplay_gpu::cfr::street::layout::{
    self, Board, Counts, Eval, Link, MAX_PASSES, Op, Pass, Program, ROW, Record, SeatTablesArgs, Segment, TaskArgs,
    control, mode, source,
};
use warpplay_gpu::cfr::street::sample::DrawsArgs;
use warpplay_gpu::cfr::street::{self, Any, F32, I16, PassKernels, Passes, StreetKernels, Where};
use warpplay_gpu::ptx::embedded::CFR_STREET;

use super::image::{Image, Level, Shape};
use crate::cfr::layout::Gadget;
use crate::runtime::launch::views;
use crate::{Buffer, Device, In, InOut, Memory, Module, Result, Stream};

/// Steps that are uploaded at once.
pub(super) const STEPS: usize = 256;

/// A table of one seat.
pub(super) struct Table {
    /// Values, as stored; words, so that they are aligned for any number.
    pub cells: Buffer<u32>,
    /// One for [`ROW`] values; empty where numbers have none.
    pub scales: Buffer<f32>,
}

/// What there is room for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// 16-bit numbers.
    pub short: bool,
    /// Last regrets.
    pub last: bool,
    /// Strategies kept by a pass for another, by seat.
    pub kept: [bool; 2],
    /// Draws.
    pub sampled: bool,
}

impl Room {
    /// Bytes of a seat's tables of `len` values.
    pub fn table_bytes(&self, seat: usize, len: u64) -> u64 {
        let tables = 2 + u64::from(self.last);
        let value = if self.short { 2 * len + 4 * len / u64::from(ROW) } else { 4 * len };
        tables * value + if self.kept[seat] { 4 * len } else { 0 }
    }

    /// Memory of everything.
    pub fn memory(&self, shape: &Shape) -> Memory {
        let tables: u64 = (0..2).map(|seat| self.table_bytes(seat, shape.table_len[seat])).sum();
        Memory::default()
            .on_device("regrets, averages and kept strategies", tables)
            .on_device("reaches and values", 4 * (shape.reach_len + shape.values_len))
            .on_device("utilities", 8 * shape.utilities_len)
            .on_device("boards and lists of operations", shape.static_bytes)
    }
}

/// A seat's tables.
pub(super) struct Seat {
    pub regrets: Table,
    pub averages: Table,
    pub last: Table,
    kept: Buffer<f32>,
    /// Values of a table.
    len: usize,
}

impl Seat {
    fn new(stream: &Stream, room: &Room, seat: usize, len: usize) -> Result<Self> {
        let table = |there: bool| -> Result<Table> {
            let len = if there { len } else { 0 };
            // Rows are whole warps, so a table of 16-bit values has whole words.
            let cells = stream.alloc(if room.short { len / 2 } else { len })?;
            Ok(Table { cells, scales: stream.alloc(if room.short { len / ROW as usize } else { 0 })? })
        };
        Ok(Self {
            regrets: table(true)?,
            averages: table(true)?,
            last: table(room.last)?,
            kept: stream.alloc(if room.kept[seat] { len } else { 0 })?,
            len,
        })
    }

    fn args(&mut self, short: bool) -> SeatTablesArgs<'_> {
        SeatTablesArgs {
            regrets: self.regrets.cells.view_mut().cast(),
            regret_scales: self.regrets.scales.view_mut(),
            averages: self.averages.cells.view_mut().cast(),
            average_scales: self.averages.scales.view_mut(),
            last: if_any(&mut self.last.cells).cast(),
            last_scales: if_any(&mut self.last.scales),
            kept: if_any(&mut self.kept),
            n_values: self.len as u64,
            value_bytes: if short { 2 } else { 4 },
            n_scales: if short { self.len as u64 / u64::from(ROW) } else { 0 },
        }
    }
}

/// A table that not every solve has.
fn if_any<T>(table: &mut Buffer<T>) -> InOut<'_, T> {
    if table.is_empty() { InOut::none() } else { table.view_mut() }
}

/// The same, to be read.
fn if_any_read<T>(table: &Buffer<T>) -> In<'_, T> {
    if table.is_empty() { In::none() } else { table.view() }
}

/// What is drawn.
struct Sampled {
    counts: Buffer<u32>,
    cumulative: Buffer<u32>,
    children: Buffer<[u32; 2]>,
    board_factors: Buffer<f32>,
    hand_factors: Buffer<f32>,
    seed: u64,
    n_boards: u32,
    n_hands: [u32; 2],
    n_streets: u32,
    batch: u32,
}

/// What a solver of one game draws from; see [`Draws`].
#[derive(Clone, Debug)]
pub(super) struct Urn {
    pub cumulative: Vec<u32>,
    pub children: Vec<[u32; 2]>,
    pub n_hands: [u32; 2],
    pub n_streets: u32,
    pub seed: u64,
    pub batch: u32,
}

/// The choice before the first decision of a subgame.
pub(super) struct Choice {
    pub seat: usize,
    alternatives: Buffer<f32>,
    full_reach: Buffer<f32>,
    pub regrets: Buffer<[f32; 2]>,
    first_value: u64,
    first_reach: u64,
    n_hands: u32,
}

impl Choice {
    fn new(stream: &Stream, image: &Image, gadget: &Gadget) -> Result<Self> {
        let alternatives: Vec<f32> = gadget.alternatives.iter().map(|&value| value as f32).collect();
        let first = &image.streets[0];
        let first_reach = first.reach[gadget.seat];
        let root = image.roots.iter().find(|(at, _)| *at == first_reach).map(|(_, root)| &root[..]);
        Ok(Self {
            seat: gadget.seat,
            n_hands: alternatives.len() as u32,
            regrets: stream.alloc(alternatives.len())?,
            alternatives: stream.upload(&alternatives)?,
            full_reach: stream.upload(root.unwrap_or_default())?,
            first_value: first.values[gadget.seat],
            first_reach,
        })
    }
}

/// All device memory of a solve.
pub(super) struct Arrays {
    streets: Buffer<layout::Street>,
    programs: Buffer<Program>,
    segments: Buffer<Segment>,
    evals: Buffer<Eval>,
    ops: Buffer<Op>,
    operands: Buffer<u32>,
    boards: Buffer<Board>,
    links: Buffer<Link>,
    permutations: Buffer<u16>,
    hands: Buffer<u16>,
    records: Buffer<Record>,
    inverse_priors: Buffer<f32>,
    given_rows: Buffer<u32>,
    given: Buffer<f32>,
    lists: Buffer<u16>,
    begins: Buffer<u16>,
    reach: Buffer<f32>,
    pub values: Buffer<f32>,
    pub utilities: Buffer<f64>,
    pub steps: Buffer<Step<f32>>,
    pub control: Buffer<u32>,
    pub seats: [Seat; 2],
    sampled: Option<Sampled>,
    pub choice: Option<Choice>,
    levels: Vec<Level>,
    counts: Counts,
    n_games: u32,
    short: bool,
}

impl Arrays {
    /// Takes the memory and uploads what is known.
    pub fn new(
        stream: &Stream,
        image: &Image,
        shape: &Shape,
        room: &Room,
        urn: Option<&Urn>,
        gadget: Option<&Gadget>,
    ) -> Result<Self> {
        let mut reach = stream.alloc(shape.reach_len as usize)?;
        for (at, root) in &image.roots {
            stream.write(&mut reach, *at as usize, root)?;
        }
        let seat = |seat: usize| Seat::new(stream, room, seat, shape.table_len[seat] as usize);
        let n_boards = image.boards.len();
        let sampled = match urn {
            None => None,
            Some(urn) => Some(Sampled {
                counts: stream.alloc(n_boards + urn.n_hands[0] as usize + urn.n_hands[1] as usize)?,
                cumulative: stream.upload(&urn.cumulative)?,
                children: stream.upload(&urn.children)?,
                board_factors: stream.alloc(n_boards)?,
                hand_factors: stream.alloc(urn.n_hands[0] as usize + urn.n_hands[1] as usize)?,
                seed: urn.seed,
                n_boards: n_boards as u32,
                n_hands: urn.n_hands,
                n_streets: urn.n_streets,
                batch: urn.batch,
            }),
        };
        let counts = Counts {
            streets: image.streets.len(),
            programs: image.programs.len(),
            segments: image.segments.len(),
            evals: image.evals.len(),
            ops: image.ops.len(),
            operands: image.operands.len(),
            boards: n_boards,
            links: image.links.len(),
            permutations: image.permutations.len(),
            hands: image.hands.len(),
            inverse_priors: image.inverse_priors.len(),
            given_rows: image.given_rows.len(),
            given: image.given.len(),
            lists: image.lists.len(),
            reach: shape.reach_len,
            values: shape.values_len,
            utilities: shape.utilities_len,
            hand_factors: urn.map_or(0, |urn| urn.n_hands[0] as usize + urn.n_hands[1] as usize),
            steps: STEPS + 1,
        };
        Ok(Self {
            streets: stream.upload(&image.streets)?,
            programs: stream.upload(&image.programs)?,
            segments: stream.upload(&image.segments)?,
            evals: stream.upload(&image.evals)?,
            ops: stream.upload(&image.ops)?,
            operands: stream.upload(&image.operands)?,
            boards: stream.upload(&image.boards)?,
            links: stream.upload(&image.links)?,
            permutations: stream.upload(&image.permutations)?,
            hands: stream.upload(&image.hands)?,
            records: stream.upload(&image.records)?,
            inverse_priors: stream.upload(&image.inverse_priors)?,
            given_rows: stream.upload(&image.given_rows)?,
            given: stream.upload(&image.given)?,
            lists: stream.upload(&image.lists)?,
            begins: stream.upload(&image.begins)?,
            reach,
            values: stream.alloc(shape.values_len as usize)?,
            utilities: stream.alloc(shape.utilities_len as usize)?,
            steps: stream.alloc(STEPS + 1)?,
            control: stream.alloc(control::WORDS)?,
            seats: [seat(0)?, seat(1)?],
            sampled,
            choice: gadget.map(|gadget| Choice::new(stream, image, gadget)).transpose()?,
            levels: shape.levels.clone(),
            counts,
            n_games: (image.streets.len() / (shape.levels.len() + 1)) as u32,
            short: room.short,
        })
    }

    /// Sets the regrets of the choice, and the reach with which hands play on.
    pub fn set_choice(&mut self, stream: &Stream, regrets: &[[f32; 2]]) -> Result<()> {
        let Some(choice) = &mut self.choice else { return Ok(()) };
        stream.write(&mut choice.regrets, 0, regrets)?;
        let full = stream.read(&choice.full_reach)?;
        let reach: Vec<f32> = full.iter().zip(regrets).map(|(full, &regrets)| full * plays_on(regrets)).collect();
        stream.write(&mut self.reach, choice.first_reach as usize, &reach)
    }

    /// Streets.
    pub fn n_streets(&self) -> usize {
        self.levels.len()
    }

    /// Whether boards or hands are drawn.
    pub fn is_sampled(&self) -> bool {
        self.sampled.is_some()
    }

    /// Forgets the last draws.
    fn clear_draws(&mut self, stream: &Stream) -> Result<()> {
        match &mut self.sampled {
            Some(sampled) => stream.zero(&mut sampled.counts),
            None => Ok(()),
        }
    }

    /// Boards × entries and the longest row of a street, on which its launch shape depends, and what its kernels are told of it.
    fn launch_of(&self, street: usize, n_iterations: u32) -> ((u32, u32), Where) {
        let (level, n_games) = (self.levels[street], self.n_games);
        let n_parts = if street + 1 == self.levels.len() { 1 } else { level.n_parts };
        let first = street as u32 * n_games;
        let at = Where { street: first, n_games, n_shared: level.n_shared, n_iterations, n_parts };
        ((level.n_subtrees, level.stride), at)
    }

    /// What the kernels work on, without what is drawn; that; and the choice of a subgame.
    fn split(&mut self) -> (TaskArgs<'_>, Option<&mut Sampled>, Option<&mut Choice>) {
        let [first, second] = &mut self.seats;
        let task = views! { TaskArgs {
            self reads streets, programs, segments, evals, ops, operands, boards, links, permutations, hands,
                records, inverse_priors, lists, begins, steps;
            self writes reach, values, utilities, control;
            counts: self.counts,
            given_rows: if_any_read(&self.given_rows),
            given: if_any_read(&self.given),
            board_factors: In::none(),
            hand_factors: In::none(),
            first: first.args(self.short),
            second: second.args(self.short),
        } };
        (task, self.sampled.as_mut(), self.choice.as_mut())
    }

    fn task(&mut self) -> TaskArgs<'_> {
        let (task, sampled, _) = self.split();
        let Some(sampled) = sampled else { return task };
        let (board_factors, hand_factors) = (sampled.board_factors.view(), sampled.hand_factors.view());
        TaskArgs { board_factors, hand_factors, ..task }
    }

    fn gadget(&mut self) -> Option<(TaskArgs<'_>, GadgetArgs<'_>)> {
        let (task, _, choice) = self.split();
        let choice = choice?;
        let gadget = views! { GadgetArgs {
            choice reads alternatives, full_reach;
            choice writes regrets;
            choice has first_value, first_reach, n_hands;
            reserved: 0,
        } };
        Some((task, gadget))
    }

    fn draws(&mut self) -> Option<(TaskArgs<'_>, DrawsArgs<'_>)> {
        let (task, sampled, _) = self.split();
        let sampled = sampled?;
        let draws = views! { DrawsArgs {
            sampled reads cumulative, children;
            sampled writes counts, board_factors, hand_factors;
            sampled has seed, n_boards, n_hands, n_streets, batch;
            reserved: 0,
        } };
        Some((task, draws))
    }
}

/// The kernels, looked up when a solver is made.
pub(super) struct Kernels {
    f32: PassKernels<Module, F32>,
    i16: PassKernels<Module, I16>,
    any_f32: PassKernels<Module, Any<F32>>,
    any_i16: PassKernels<Module, Any<I16>>,
    set: street::Kernels<Module>,
    /// Whether every pass of an iteration is plain and priors are usable, so that the kernels for plain passes run.
    pub plain: bool,
}

impl Kernels {
    /// Loads the module, for iterations of these `passes`: a kernel that is missing is found here, at the door.
    ///
    /// * `has_usable_priors`: whether averages can be found by priors, see [`Image::has_usable_priors`].
    pub fn load(device: &Device, passes: &[Pass], has_usable_priors: bool) -> Result<Self> {
        let module = Module::load(device, &CFR_STREET)?;
        Ok(Self {
            f32: PassKernels::load(&module)?,
            i16: PassKernels::load(&module)?,
            any_f32: PassKernels::load(&module)?,
            any_i16: PassKernels::load(&module)?,
            set: street::Kernels::load(&module)?,
            plain: has_usable_priors
                && passes.len() == 2
                && (0..).zip(passes).all(|(seat, pass)| pass.is_plain() && pass.traverser == seat),
        })
    }

    /// One pass over all streets: down, the last, and back up.
    pub fn pass(&self, stream: &Stream, arrays: &mut Arrays, pass: Pass) -> Result<()> {
        match (arrays.short, self.plain && pass.is_plain()) {
            (false, true) => self.pass_by(&self.f32, stream, arrays, pass),
            (true, true) => self.pass_by(&self.i16, stream, arrays, pass),
            (false, false) => self.pass_by(&self.any_f32, stream, arrays, pass),
            (true, false) => self.pass_by(&self.any_i16, stream, arrays, pass),
        }
    }

    /// [`pass`](Self::pass) by the kernels of `set`.
    fn pass_by<N: StreetKernels>(
        &self,
        set: &PassKernels<Module, N>,
        stream: &Stream,
        arrays: &mut Arrays,
        pass: Pass,
    ) -> Result<()> {
        down_by(set, stream, arrays, pass)?;
        last_by(set, stream, arrays, pass)?;
        for street in (0..arrays.levels.len() - 1).rev() {
            let (launch, at) = arrays.launch_of(street, 1);
            let n_blocks = arrays.levels[street].n_return_blocks;
            // SAFETY: as in `down_by`; `n_blocks` is the most of all games, the street is not the last one, and the next one's pass up is done.
            unsafe { stream.run_unchecked_with(&self.set.cfr_street_return, (n_blocks,), (arrays.task(), at, pass)) }?;
            // SAFETY: as in `down_by`.
            unsafe { stream.run_unchecked_with(&set.cfr_street_up, launch, (arrays.task(), at, pass)) }?;
        }
        Ok(())
    }

    /// Adds seat 0's strategies of the first step to its averages on the last street. Plain passes of the iterations that follow add what else belongs there, as
    /// [`solve`](Self::solve) does by itself.
    pub fn average(&self, stream: &Stream, arrays: &mut Arrays) -> Result<()> {
        let pass = Pass {
            traverser: 1,
            mode: mode::AVERAGE,
            own: source::REGRETS,
            opponent: source::REGRETS,
            ..Pass::default()
        };
        // On the streets before, a plain pass would average too.
        match arrays.short {
            false => {
                down_by(&self.any_f32, stream, arrays, pass)?;
                last_by(&self.f32, stream, arrays, pass)
            }
            true => {
                down_by(&self.any_i16, stream, arrays, pass)?;
                last_by(&self.i16, stream, arrays, pass)
            }
        }
    }

    /// Draws boards and hands of the iteration under way; nothing where nothing is sampled.
    pub fn draw(&self, stream: &Stream, arrays: &mut Arrays) -> Result<()> {
        arrays.clear_draws(stream)?;
        let Some((task, draws)) = arrays.draws() else { return Ok(()) };
        // SAFETY: the urn was made for these boards and hands, its counts are 0.
        unsafe { stream.run_unchecked(&self.set.cfr_street_draw, (task, draws)) }?;
        let Some((task, draws)) = arrays.draws() else { return Ok(()) };
        // SAFETY: as above; the boards are those of the draws.
        unsafe { stream.run_unchecked(&self.set.cfr_street_weigh, (task, draws)) }
    }

    /// Learns the choice of a subgame after its seat's pass; nothing where there is none.
    pub fn choose(&self, stream: &Stream, arrays: &mut Arrays, seat: usize) -> Result<()> {
        if arrays.choice.as_ref().is_none_or(|choice| choice.seat != seat) {
            return Ok(());
        }
        let Some((task, gadget)) = arrays.gadget() else { return Ok(()) };
        // SAFETY: the choice was made for these arrays, whose first street has one board; `control` holds the number of a step of this run.
        unsafe { stream.run_unchecked(&self.set.cfr_street_gadget, (task, gadget)) }
    }

    /// On to the next step.
    pub fn next(&self, stream: &Stream, arrays: &mut Arrays) -> Result<()> {
        stream.run(&self.set.cfr_street_next, (&mut arrays.control,))
    }

    /// The first `n` steps of games of one street, in one launch.
    pub fn solve(&self, stream: &Stream, arrays: &mut Arrays, passes: &[Pass], n: u32) -> Result<()> {
        let mut all = [Pass::default(); MAX_PASSES];
        let n_passes = passes.len().min(MAX_PASSES);
        all[..n_passes].copy_from_slice(&passes[..n_passes]);
        let passes = Passes { all, n: n_passes as u32 };
        match (arrays.short, self.plain) {
            (false, true) => solve_by(&self.f32, stream, arrays, passes, n),
            (true, true) => solve_by(&self.i16, stream, arrays, passes, n),
            (false, false) => solve_by(&self.any_f32, stream, arrays, passes, n),
            (true, false) => solve_by(&self.any_i16, stream, arrays, passes, n),
        }
    }
}

/// The part of a pass down to the last street.
fn down_by<N: StreetKernels>(
    set: &PassKernels<Module, N>,
    stream: &Stream,
    arrays: &mut Arrays,
    pass: Pass,
) -> Result<()> {
    for street in 0..arrays.levels.len() - 1 {
        let (launch, at) = arrays.launch_of(street, 1);
        // SAFETY: shape and `n_shared` are those of `launch_of`, computed from the programs of these arrays, which were made together for these levels. One stream runs the streets in order.
        // `control` holds the number of a step of this run, and there is one more after the last.
        unsafe { stream.run_unchecked_with(&set.cfr_street_down, launch, (arrays.task(), at, pass)) }?;
    }
    Ok(())
}

/// The last street of a pass, after the way down.
fn last_by<N: StreetKernels>(
    set: &PassKernels<Module, N>,
    stream: &Stream,
    arrays: &mut Arrays,
    pass: Pass,
) -> Result<()> {
    let (launch, at) = arrays.launch_of(arrays.levels.len() - 1, 1);
    // SAFETY: as in `down_by`.
    unsafe { stream.run_unchecked_with(&set.cfr_street_last, launch, (arrays.task(), at, pass)) }
}

/// The first `n` steps of games of one street, in one launch.
fn solve_by<N: StreetKernels>(
    set: &PassKernels<Module, N>,
    stream: &Stream,
    arrays: &mut Arrays,
    passes: Passes,
    n: u32,
) -> Result<()> {
    let (launch, at) = arrays.launch_of(0, n);
    // SAFETY: as in `down_by`; there are `n` steps and one more, and nothing is sampled.
    unsafe { stream.run_unchecked_with(&set.cfr_street_solve, launch, (arrays.task(), at, passes)) }
}
