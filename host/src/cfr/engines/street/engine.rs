//! The solver of one or many games, all with the same options.

use std::borrow::Cow;
use std::sync::Arc;

use warpplay_gpu::cfr::regret::Step;
use warpplay_gpu::cfr::street::layout::{Pass, Street, control, mode, source};

use super::image::{Image, Shape};
use super::kernels::{Arrays, Kernels, Room, STEPS, Urn};
use super::needs::{check, room};
use super::tables::{self, Kind};
use crate::cfr::engines::Solve;
use crate::cfr::layout::{Measured, Table, Tables, Values, VectorGame};
use crate::cfr::options::{Algorithm, Options, Sampling, Updates};
use crate::runtime::graph::Graph;
use crate::{Device, DeviceInfo, Error, Result, Stream};

/// Solves games street by street.
pub(in crate::cfr) struct StreetEngine {
    /// Declared first, so that it is dropped before the arrays that it uses.
    graph: Option<Graph>,
    arrays: Arrays,
    pub(super) kernels: Kernels,
    stream: Stream,
    games: Vec<Arc<VectorGame>>,
    image: Image,
    options: Options,
    room: Room,
    passes: Vec<Pass>,
    iteration: u64,
    /// Utilities, by game and seat, of iterations that the device's sums do not include.
    earlier: Vec<[f64; 2]>,
}

/// The passes of an iteration.
fn passes(options: &Options) -> Vec<Pass> {
    let sampled = match options.sampling {
        Sampling::PublicChance => 1,
        Sampling::OpponentPublic => 1 | 2,
        Sampling::SelfPublic => 1 | 4,
        Sampling::Chance => 1 | 2 | 4,
        Sampling::None | Sampling::External | Sampling::Outcome => 0,
    };
    let learn = |traverser: u32, opponent: u32| Pass {
        traverser,
        mode: mode::LEARN,
        own: source::REGRETS,
        opponent,
        averages: 1,
        keeps: 0,
        utilities: 1,
        sampled,
    };
    let answer = |traverser: u32| Pass {
        traverser,
        mode: mode::BEST,
        own: source::REGRETS,
        opponent: source::REGRETS,
        keeps: 1,
        ..Pass::default()
    };
    match (options.algorithm, options.updates) {
        (Algorithm::CfrBr, Updates::Alternating) => {
            vec![answer(1), learn(0, source::KEPT), answer(0), learn(1, source::KEPT)]
        }
        (Algorithm::CfrBr, Updates::Simultaneous) => {
            vec![answer(1), answer(0), learn(0, source::KEPT), learn(1, source::KEPT)]
        }
        (_, Updates::Alternating) => vec![learn(0, source::REGRETS), learn(1, source::REGRETS)],
        // The second seat meets the strategy that the first one had before it learnt.
        (_, Updates::Simultaneous) => {
            vec![Pass { keeps: 1, ..learn(0, source::REGRETS) }, learn(1, source::KEPT)]
        }
    }
}

/// The boards to draw from: members of classes of boards, by street and parent.
fn urn(game: &VectorGame, options: &Options) -> Urn {
    let n_all: usize = game.streets.iter().map(|street| street.boards.len()).sum();
    let mut cumulative = Vec::with_capacity(n_all);
    let mut children = vec![[0; 2]; n_all + 1];
    let mut first_of_parents = n_all;
    for (number, street) in game.streets.iter().enumerate() {
        let first = cumulative.len();
        for (at, board) in street.boards.iter().enumerate() {
            let parent = if number == 0 { n_all } else { first_of_parents + board.parent as usize };
            let is_first = at == 0 || number > 0 && street.boards[at - 1].parent != board.parent;
            let before = if is_first { 0 } else { cumulative[first + at - 1] };
            if is_first {
                children[parent][0] = (first + at) as u32;
            }
            children[parent][1] = (first + at + 1) as u32;
            cumulative.push(before + board.members.len() as u32);
        }
        first_of_parents = first;
    }
    Urn {
        cumulative,
        children,
        n_hands: [0, 1].map(|seat| game.hands[seat].len() as u32),
        n_streets: game.streets.len() as u32,
        seed: options.seed,
        batch: options.batch,
    }
}

/// The layout of games on a device with this `info`, if the engine can solve them there.
///
/// # Errors
/// [`Error::Option`] for games or options that this engine does not support.
pub(super) fn shape(info: &DeviceInfo, games: &[Arc<VectorGame>], options: &Options) -> Result<Shape> {
    for game in games {
        check(game, options)?;
    }
    if games.is_empty() || games.len() > u16::MAX as usize {
        return Err(Error::option("batch", format!("{} games", games.len()), format!("1 to {} games", u16::MAX)));
    }
    if games.len() > 1 && options.sampling != Sampling::None {
        return Err(Error::option("sampling", options.sampling, "none, in a batch of games"));
    }
    Shape::new(games, info)
}

impl StreetEngine {
    /// Makes a solver of games. The caller has checked that there is enough memory.
    pub fn new(device: &Device, games: Vec<Arc<VectorGame>>, options: &Options) -> Result<Self> {
        Self::with_info(device, &device.info()?, games, options)
    }

    /// The same, with the given properties of the device.
    pub fn with_info(
        device: &Device,
        info: &DeviceInfo,
        games: Vec<Arc<VectorGame>>,
        options: &Options,
    ) -> Result<Self> {
        let shape = shape(info, &games, options)?;
        Self::with_shape(device, games, &shape, options)
    }

    /// The same for games that have this [`shape`].
    pub(super) fn with_shape(
        device: &Device,
        games: Vec<Arc<VectorGame>>,
        shape: &Shape,
        options: &Options,
    ) -> Result<Self> {
        let room = room(options);
        let image = Image::new(&games, shape);
        let stream = device.stream()?;
        let urn = room.sampled.then(|| urn(&games[0], options));
        let gadget = games[0].gadget.as_ref();
        let mut arrays = Arrays::new(&stream, &image, shape, &room, urn.as_ref(), gadget)?;
        if let Some(gadget) = gadget {
            arrays.set_choice(&stream, &vec![[0.0; 2]; gadget.alternatives.len()])?;
        }
        let passes = passes(options);
        Ok(Self {
            graph: None,
            arrays,
            kernels: Kernels::load(device, &passes, image.has_usable_priors())?,
            stream,
            earlier: vec![[0.0; 2]; games.len()],
            games,
            image,
            options: *options,
            room,
            passes,
            iteration: 0,
        })
    }

    fn kind(&self, signed: bool) -> Kind {
        match (self.room.short, signed) {
            (false, _) => Kind::F32,
            (true, true) => Kind::Signed,
            (true, false) => Kind::Unsigned,
        }
    }

    /// Records an iteration.
    fn record(&mut self) -> Result<Graph> {
        let Self { arrays, kernels, stream, passes, .. } = self;
        stream.capture(|stream| {
            kernels.draw(stream, arrays)?;
            for &pass in passes.iter() {
                kernels.pass(stream, arrays, pass)?;
                kernels.choose(stream, arrays, pass.traverser as usize)?;
            }
            kernels.next(stream, arrays)
        })
    }

    /// Values of the root by hand of `seat`, for each game: sums over boards, in chips times the hand's share; from the last pass.
    fn root_values(&self, seat: usize) -> Result<Vec<Vec<f64>>> {
        // Those of the first street alone, where all games' rows stand together: the later streets' are nearly all of the memory.
        let of_first = &self.image.streets[..self.games.len()];
        let end_of = |here: &Street| {
            here.values[seat] + u64::from(here.n_boards) * u64::from(here.n_entries) * u64::from(here.hand_stride)
        };
        let first = of_first.iter().map(|here| here.values[seat]).min().unwrap_or(0) as usize;
        let end = of_first.iter().map(end_of).max().unwrap_or(0) as usize;
        let mut values = vec![0.0; end - first];
        self.stream.read_into(&self.arrays.values, first, &mut values)?;
        let mut all = Vec::with_capacity(self.games.len());
        for (here, game) in self.image.streets.iter().zip(&self.games) {
            let mut sums = vec![0.0; game.hands[seat].len()];
            for (number, board) in game.streets[0].boards.iter().enumerate() {
                let row = here.values[seat] as usize - first + number * here.hand_stride as usize;
                for permutation in &board.members {
                    let map = &game.permutations[*permutation as usize][seat];
                    for (sum, &hand) in sums.iter_mut().zip(map) {
                        *sum += f64::from(values[row + hand as usize]);
                    }
                }
            }
            all.push(sums);
        }
        Ok(all)
    }

    /// Values by game of one pass of `seat` against the average of the other, by hand.
    fn measure_seat(&mut self, seat: usize, mode: u32) -> Result<Vec<Vec<f64>>> {
        let pass =
            Pass { traverser: seat as u32, mode, own: source::AVERAGES, opponent: source::AVERAGES, ..Pass::default() };
        self.kernels.pass(&self.stream, &mut self.arrays, pass)?;
        self.root_values(seat)
    }

    /// Values and best responses of each game's average profile.
    pub fn measure_all(&mut self) -> Result<Vec<Measured>> {
        let mut all = vec![Measured { values: vec![0.0; 2], best_responses: vec![0.0; 2] }; self.games.len()];
        for seat in 0..2 {
            for mode in [mode::VALUE, mode::BEST] {
                let by_game = self.measure_seat(seat, mode)?;
                for ((measured, by_hand), game) in all.iter_mut().zip(by_game).zip(&self.games) {
                    let value = by_hand.iter().zip(&game.weights[seat]).map(|(value, weight)| value * weight).sum();
                    match mode {
                        mode::VALUE => measured.values[seat] = value,
                        _ => measured.best_responses[seat] = value,
                    }
                }
            }
        }
        Ok(all)
    }

    /// Sums of utilities by game and seat.
    pub fn utilities_all(&mut self) -> Result<Vec<[f64; 2]>> {
        let sums = self.stream.read(&self.arrays.utilities)?;
        let mut all = self.earlier.clone();
        for ((here, game), totals) in self.image.streets.iter().zip(&self.games).zip(&mut all) {
            for (seat, total) in totals.iter_mut().enumerate() {
                let stride = here.stride[seat] as usize;
                for (number, board) in game.streets[0].boards.iter().enumerate() {
                    let n = self.image.boards[here.boards as usize + number].n_hands[seat] as usize;
                    let hands = &self.image.hands[here.hands[seat] as usize + number * stride..][..n];
                    let sums = &sums[here.utilities[seat] as usize + number * stride..][..n];
                    let of_board: f64 =
                        sums.iter().zip(hands).map(|(sum, &hand)| sum * game.weights[seat][hand as usize]).sum();
                    *total += of_board * board.members.len() as f64;
                }
            }
        }
        Ok(all)
    }

    /// Indices of a game's sums of utilities by hand: seat 0's, then seat 1's.
    fn utility_sums(&self, number: usize) -> std::ops::Range<usize> {
        let here = &self.image.streets[number];
        let first = here.utilities[0] as usize;
        first..first + here.n_boards as usize * (here.stride[0] + here.stride[1]) as usize
    }

    /// The complete state of game `number`.
    pub fn tables_of(&mut self, number: usize) -> Result<Tables> {
        let utilities = self.utilities_all()?[number].to_vec();
        let n = self.games[number].streets.len();
        let read = |table: Table| (0..2).map(|seat| self.table_of(number, table, seat, n)).collect::<Result<Vec<_>>>();
        Ok(Tables {
            iteration: self.iteration,
            regrets: read(Table::Regrets)?,
            averages: read(Table::Averages)?,
            predictions: if self.room.last { read(Table::Predictions)? } else { Vec::new() },
            utilities,
            random: self.random_of(number)?,
            choice: self.choice_regrets()?,
        })
    }

    /// A table of a seat of game `number`, of its first `n_streets` streets.
    fn table_of(&self, number: usize, table: Table, seat: usize, n_streets: usize) -> Result<Values> {
        let of = &self.arrays.seats[seat];
        let is_average = table == Table::Averages;
        let (table, kind) = match table {
            Table::Regrets => (&of.regrets, self.kind(true)),
            Table::Averages => (&of.averages, self.kind(false)),
            Table::Predictions if !self.room.last => return Ok(Values::default()),
            Table::Predictions => (&of.last, self.kind(true)),
        };
        let mut values = tables::read(&self.stream, table, kind, &self.games, &self.image, number, seat, n_streets)?;
        if is_average {
            self.games[number].write_given(seat, &mut values, 1.0);
        }
        Ok(values)
    }

    /// The sums of utilities by hand of game `number`, so that a resumed solve goes on with the same bits.
    fn random_of(&self, number: usize) -> Result<Vec<u64>> {
        let sums = self.stream.read(&self.arrays.utilities)?;
        Ok(sums[self.utility_sums(number)].iter().map(|sum| sum.to_bits()).collect())
    }

    /// The regrets of a subgame's choice, which is alone in its engine.
    fn choice_regrets(&self) -> Result<Vec<[f64; 2]>> {
        let Some(choice) = &self.arrays.choice else { return Ok(Vec::new()) };
        let regrets = self.stream.read(&choice.regrets)?;
        Ok(regrets.iter().map(|regrets| regrets.map(f64::from)).collect())
    }
}

impl Solve for StreetEngine {
    fn run(&mut self, n: u32) -> Result<()> {
        let mut left = n as usize;
        while left > 0 {
            let now = left.min(STEPS);
            let mut steps: Vec<Step<f32>> =
                (1..=now as u64).map(|more| self.options.step(self.iteration + more).rounded()).collect();
            // In the last plain pass the next step's weight is 0: the next run adds that iteration's strategies itself.
            steps.push(Step::default());
            self.stream.write(&mut self.arrays.steps, 0, &steps)?;
            let mut words = [0; control::WORDS];
            words[control::ITERATION] = self.iteration as u32;
            words[control::ITERATION + 1] = (self.iteration >> 32) as u32;
            self.stream.write(&mut self.arrays.control, 0, &words)?;
            if self.arrays.n_streets() == 1 && !self.arrays.is_sampled() && self.arrays.choice.is_none() {
                self.kernels.solve(&self.stream, &mut self.arrays, &self.passes, now as u32)?;
            } else {
                if self.graph.is_none() {
                    self.graph = Some(self.record()?);
                }
                if self.kernels.plain {
                    self.kernels.average(&self.stream, &mut self.arrays)?;
                }
                for _ in 0..now {
                    if let Some(graph) = &self.graph {
                        self.stream.launch_graph(graph)?;
                    }
                }
            }
            self.iteration += now as u64;
            left -= now;
        }
        self.stream.synchronize()
    }

    fn measure(&mut self) -> Result<Measured> {
        let game = Arc::clone(&self.games[0]);
        if let Some(gadget) = &game.gadget {
            let best = self.measure_seat(gadget.seat, mode::BEST)?.swap_remove(0);
            return Ok(gadget.measured(&game.weights[gadget.seat], &best));
        }
        Ok(self.measure_all()?.swap_remove(0))
    }

    fn utilities(&mut self) -> Result<Vec<f64>> {
        Ok(self.utilities_all()?[0].to_vec())
    }

    fn tables(&mut self) -> Result<Tables> {
        self.tables_of(0)
    }

    fn table(&mut self, table: Table, seat: usize) -> Result<Values> {
        self.table_of(0, table, seat, self.games[0].streets.len())
    }

    fn first_street(&mut self, seat: usize) -> Result<Values> {
        self.table_of(0, Table::Averages, seat, 1)
    }

    fn random(&mut self) -> Result<Vec<u64>> {
        self.random_of(0)
    }

    fn set_tables(&mut self, tables: &Tables) -> Result<()> {
        let expected = if self.room.last { 2 } else { 0 };
        let lengths = [tables.regrets.len(), tables.averages.len(), tables.predictions.len(), tables.utilities.len()];
        if lengths != [2, 2, expected, 2] {
            let got = format!("{lengths:?}");
            let expected = format!("{:?}", [2, 2, expected, 2]);
            return Err(Error::shape("tables by seat: regrets, averages, last regrets, utilities", expected, got));
        }
        let (signed, unsigned) = (self.kind(true), self.kind(false));
        let Self { stream, arrays, games, image, .. } = self;
        for (seat, of) in arrays.seats.iter_mut().enumerate() {
            tables::write(stream, &mut of.regrets, signed, games, image, 0, seat, &tables.regrets[seat])?;
            // Given strategies are not among the device's averages, where they would set the scale of 16-bit neighbours.
            let mut averages = Cow::Borrowed(&tables.averages[seat]);
            if !games[0].locks.is_empty() {
                games[0].write_given(seat, averages.to_mut(), 0.0);
            }
            tables::write(stream, &mut of.averages, unsigned, games, image, 0, seat, &averages)?;
            if let Some(last) = tables.predictions.get(seat) {
                tables::write(stream, &mut of.last, signed, games, image, 0, seat, last)?;
            }
        }
        if let Some(gadget) = &games[0].gadget {
            let regrets = tables.choice_of(gadget.alternatives.len())?;
            let regrets: Vec<[f32; 2]> =
                regrets.into_iter().map(|of_hand| of_hand.map(|regret| regret as f32)).collect();
            arrays.set_choice(stream, &regrets)?;
        }
        // Tables of another engine have totals only.
        let sums: Vec<f64> = tables.random.iter().map(|&bits| f64::from_bits(bits)).collect();
        if sums.len() == arrays.utilities.len() {
            stream.write(&mut arrays.utilities, 0, &sums)?;
            self.earlier[0] = [0.0; 2];
        } else {
            stream.zero(&mut arrays.utilities)?;
            self.earlier[0] = [tables.utilities[0], tables.utilities[1]];
        }
        self.iteration = tables.iteration;
        Ok(())
    }
}
