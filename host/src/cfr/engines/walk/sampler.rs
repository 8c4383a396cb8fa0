//! A solve by batches of sampled deals, with buckets of the caller's choice.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use super::cpu::Reading;
use super::engine::{needed, with_plan};
use super::information::Information;
use super::plan::Plan;
use crate::cfr::game::cards::set_of;
use crate::cfr::game::game_file::GameDef;
use crate::cfr::game::sequences::ACTIONS;
use crate::cfr::options::Options;
use crate::{Device, Error, Memory, Result};

/// The tables of one information set, for fold, call and raise; 0 for actions that are not allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Set {
    /// Cumulative regrets.
    pub regrets: [f64; ACTIONS],
    /// Sums of strategies, weighted by the seat's own reach.
    pub averages: [f64; ACTIONS],
}

/// Sums over the tables, by which solves are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Checksums {
    /// Σ of the regrets.
    pub regrets: f64,
    /// Σ of the absolute values of the regrets.
    pub regret_sizes: f64,
    /// Σ of the sums of strategies.
    pub averages: f64,
}

/// A solve of one game by batches of sampled deals.
///
/// This is a tool for experts: [`run`](Self::run) takes a number of iterations, since sampling has no natural end, and the caller can read single information sets between
/// two calls. For limit, `watch`, checkpoints and report, use [`Solver`](crate::cfr::Solver) with [`Engine::Walk`](crate::cfr::Engine::Walk).
///
/// ```no_run
/// use warpplay::Device;
/// use warpplay::cfr::engines::walk;
/// use warpplay::cfr::{GameDef, Options, Sampling, Updates};
///
/// let game = GameDef::read("variant_d.game")?;
/// let (sampling, updates) = (Sampling::Chance, Updates::Simultaneous);
/// let options = Options { sampling, updates, batch: 32, ..Options::default() };
/// let mut sampler = walk::Sampler::build(&Device::auto(), &game, &walk::Information::Exact, &options)?;
/// sampler.run(1000)?;
/// println!("{:.0} deals/s", sampler.deals() as f64 / sampler.seconds());
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct Sampler {
    plan: Arc<Plan>,
    engine: Box<dyn Reading>,
    memory: Memory,
    batch: u32,
    iterations: u64,
    seconds: f64,
}

impl fmt::Debug for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { batch, iterations, seconds, .. } = self;
        f.debug_struct("Sampler")
            .field("batch", batch)
            .field("iterations", iterations)
            .field("seconds", seconds)
            .finish_non_exhaustive()
    }
}

impl Sampler {
    /// Memory that a game needs on a device, without allocating it.
    ///
    /// # Errors
    /// [`Error::Option`] for a game with several sizes of raise, or with too many sets of sequence and bucket; for an option that the walk does not support.
    pub fn memory_of(device: &Device, game: &GameDef, information: &Information, options: &Options) -> Result<Memory> {
        let plan = Self::plan_of(game, information)?;
        needed(device, &plan, options)
    }

    /// The layout of a game; sets of three actions have no place for sizes of raise.
    fn plan_of(game: &GameDef, information: &Information) -> Result<Plan> {
        let plan = Plan::of(game, information)?;
        if plan.sequences.has_choices() {
            return Err(Error::option(
                "game",
                "several sizes of raise",
                "one size of raise, or a Solver with engine walk",
            ));
        }
        Ok(plan)
    }

    /// Lays the game out and allocates the memory.
    ///
    /// # Errors
    /// As [`memory_of`](Self::memory_of); [`Error::OutOfMemory`] with the bytes needed if the device has less.
    pub fn build(device: &Device, game: &GameDef, information: &Information, options: &Options) -> Result<Self> {
        let plan = Arc::new(Self::plan_of(game, information)?);
        let memory = needed(device, &plan, options)?;
        device.expect_memory(&memory)?;
        let engine = with_plan(device, &plan, options)?;
        Ok(Self { plan, engine, memory, batch: options.batch, iterations: 0, seconds: 0.0 })
    }

    /// Runs `n` more iterations of one batch of deals each, and returns when they are done.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn run(&mut self, n: u32) -> Result<()> {
        let start = Instant::now();
        self.engine.run(n)?;
        self.seconds += start.elapsed().as_secs_f64();
        self.iterations += u64::from(n);
        Ok(())
    }

    /// Number of iterations so far.
    pub fn iterations(&self) -> u64 {
        self.iterations
    }

    /// Number of deals so far.
    pub fn deals(&self) -> u64 {
        self.iterations * u64::from(self.batch)
    }

    /// Wall time of [`run`](Self::run) so far, including the drawing of deals.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Memory that was requested.
    pub fn memory_needed(&self) -> &Memory {
        &self.memory
    }

    /// Sequences of the game.
    pub fn n_sequences(&self) -> u32 {
        self.plan.sequences.sequences.len() as u32
    }

    /// Sum over the deals of the utilities of the strategies used, in chips, by seat.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn utilities(&mut self) -> Result<Vec<f64>> {
        self.engine.utilities()
    }

    /// The tables of one information set: a sequence, numbered level by level, and a bucket of its round.
    ///
    /// # Errors
    /// [`Error::Option`] if there is no such sequence or bucket; errors of the device.
    pub fn set(&self, sequence: u32, bucket: u32) -> Result<Set> {
        let rows = &self.plan.pieces.rows;
        if sequence >= self.n_sequences() {
            return Err(Error::option("sequence", sequence, format!("below {}", self.n_sequences())));
        }
        let (first, end) = (rows[sequence as usize], rows[sequence as usize + 1]);
        if bucket >= end - first {
            return Err(Error::option("bucket", bucket, format!("below {}", end - first)));
        }
        let [regrets, averages] = self.engine.row((first + bucket) as usize)?;
        Ok(Set { regrets, averages })
    }

    /// The average strategy of the seat that acts after a betting history (as [`BettingTree::find`](crate::cfr::BettingTree::find) reads it), with these hole cards and the board of that round: fold,
    /// call, raise; 0 for actions that are not allowed, uniform if never reached.
    ///
    /// # Errors
    /// [`Error::Moves`] if the history cannot be played; [`Error::Option`] if the hand is over after it, or the cards are invalid or their number is wrong; errors of the device.
    pub fn average(&self, history: &str, hole: &str, board: &str) -> Result<[f64; ACTIONS]> {
        let (game, sequence) = (&self.plan.game, self.plan.sequence(history)?);
        let at = &self.plan.sequences.sequences[sequence as usize];
        let (hole, board) = (game.deck.cards(hole)?, game.deck.cards(board)?);
        if hole.len() != game.n_hole_cards {
            return Err(Error::option("hole cards", hole.len(), game.n_hole_cards.to_string()));
        }
        let n_board = game.board_cards_by(at.round as usize);
        if board.len() != n_board {
            return Err(Error::option("board cards", board.len(), n_board.to_string()));
        }
        if let Some(card) = hole.iter().find(|card| board.contains(card)) {
            return Err(Error::option("board", game.deck.name(*card), "cards that are not in the hand"));
        }
        let bucket = self.plan.buckets.bucket(at.round as usize, set_of(&hole), set_of(&board));
        let sums = self.set(sequence, bucket)?.averages;
        let total: f64 = sums.iter().sum();
        let n = at.children.iter().flatten().count() as f64;
        Ok(std::array::from_fn(|action| match (at.children[action], total > 0.0) {
            (None, _) => 0.0,
            (Some(_), true) => sums[action] / total,
            (Some(_), false) => 1.0 / n,
        }))
    }

    /// Computes Σ over seats of (best response − value) of the average strategies over all deals, and the values by seat, on the CPU in double precision.
    ///
    /// The strategies use their buckets; the best responses see all cards.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a game of more than 2·10⁷ histories; errors of the device.
    pub fn nash_conv(&mut self) -> Result<(f64, Vec<f64>)> {
        let measured = self.engine.measure()?;
        Ok((measured.nash_conv(), measured.values))
    }

    /// Sums over the tables, which are read completely.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn checksums(&mut self) -> Result<Checksums> {
        let tables = self.engine.tables()?;
        let mut sums = Checksums::default();
        for (regrets, averages) in tables.regrets.iter().zip(&tables.averages) {
            for at in 0..regrets.len() {
                sums.regrets += regrets.get(at);
                sums.regret_sizes += regrets.get(at).abs();
                sums.averages += averages.get(at);
            }
        }
        Ok(sums)
    }
}
