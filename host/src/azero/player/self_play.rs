//! Many games at once, both sides by the same search.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{ControlFlow, Range};
use std::time::Instant;

use serde_json::json;
use warpplay_gpu::azero::search::Searched;

use super::estimator::Estimator;
use super::options::{SearchOptions, SelfPlayOptions};
use super::report::{GamesPlayed, SelfPlayReport};
use super::searcher::Searcher;
use super::task::{Choice, Task};
use crate::azero::GameRecord;
use crate::azero::checkers::{Checkers, returns};
use crate::mcts::{Game, Outcome};
use crate::runtime::journal::{self, Header, Journal, Piece, Target};
use crate::runtime::setters::{journal_setters, setters};
use crate::{Device, Error, Memory, Progress, Result};

/// Options of [`SelfPlay`]; made by [`SelfPlay::builder`].
#[derive(Clone, Debug)]
pub struct SelfPlayBuilder {
    options: SelfPlayOptions,
    estimator: Estimator,
    journal: Option<Target>,
}

impl SelfPlayBuilder {
    /// Sets all options at once.
    pub fn options(mut self, options: SelfPlayOptions) -> Self {
        self.options = options;
        self
    }

    setters! {
        /// Options of the searches. Default [`SearchOptions::self_play`].
        search: SearchOptions,
        /// Total number of games. Default 100.
        games: u64,
        /// Number of the first game. Default 0.
        first: u64,
        /// Games played at the same time, 1 to [`MAX_PARALLEL`](super::MAX_PARALLEL). Default 256. The games do not depend on it.
        parallel: u32,
    }

    /// Seed of all random numbers. Default 0.
    pub fn seed(mut self, seed: u64) -> Self {
        self.options.search.seed = seed;
        self
    }

    journal_setters! {
        /// Saves every game in this new file as soon as it is over: a [journal](crate::journal).
        checkpoint,

        /// Continues the journal that [`checkpoint`](Self::checkpoint) of another run has written: its games are not played again, and new ones are added to it. `games`,
        /// `first` and `parallel` may differ, as long as this run includes all games of the journal.
        resume
    }

    /// Number of games searched at the same time; at most the number of games, since more trees would only waste memory.
    fn capacity(&self) -> usize {
        u64::from(self.options.parallel).min(self.options.games) as usize
    }

    /// Memory that it needs: trees, the network that evaluates leaves, its activations, positions and results. Trees in host memory count at their largest possible size.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) for an option that is not allowed; errors of the driver.
    pub fn memory_needed(&self, device: &Device) -> Result<Memory> {
        Searcher::<Checkers>::memory(device, &self.options.search, &self.estimator, self.capacity())
    }

    /// Allocates the memory for all trees, and for the network on the device.
    ///
    /// # Errors
    /// As [`PlayerBuilder::build`](super::PlayerBuilder::build); [`Error::File`] for a new journal that already exists, or a journal of a different run.
    pub fn build(self, device: &Device) -> Result<SelfPlay> {
        self.options.check()?;
        let SelfPlayOptions { search, first, games, .. } = self.options;
        let searcher = Searcher::new(device, search, &self.estimator, self.capacity())?;
        let options = || json!({ "search": search, "estimator": self.estimator.to_json() });
        let header = || Header::new("azero selfplay", options(), std::slice::from_ref(device));
        let (journal, records) = Journal::open(self.journal.as_ref(), header)?;
        let (ended, seconds) = taken(&journal, records, first..first + games, search.seed)?;
        let played = GamesPlayed { seconds, ..GamesPlayed::default() };
        let (device, options) = (device.to_string(), self.options);
        Ok(SelfPlay { searcher, device, options, n_reported: 0, ended, played, journal })
    }
}

/// The games of a journal by their numbers, each replayed by the rules; and the seconds of the runs so far.
fn taken(
    journal: &Journal,
    records: BTreeMap<String, Piece<GameRecord>>,
    numbers: Range<u64>,
    seed: u64,
) -> Result<(BTreeMap<u64, GameRecord>, f64)> {
    let mut seconds = 0.0;
    let mut ended = BTreeMap::new();
    for (key, piece) in records {
        let number = journal::number(&key).filter(|number| numbers.contains(number));
        let number = number.ok_or_else(|| journal.not_asked(&key))?;
        let record = piece.result;
        if (record.game, record.seed) != (number, seed) {
            let reason = format!("game {} of seed {}, expected seed {seed}", record.game, record.seed);
            return Err(journal.wrong(&key, reason));
        }
        record.replay().map_err(|reason| journal.wrong(&key, reason))?;
        seconds = f64::max(seconds, piece.seconds);
        ended.insert(number, record);
    }
    Ok((ended, seconds))
}

/// Plays games of a search against itself and records them.
///
/// Games are numbered; the moves of a game depend on its number, the seed and the options, not on other games.
///
/// ```
/// use std::ops::ControlFlow;
/// use warpplay::Device;
/// use warpplay::azero::player::{Estimator, SearchOptions, SelfPlay};
///
/// let search = SearchOptions { simulations: 8, seed: 27, ..SearchOptions::self_play() };
/// let mut games = SelfPlay::builder(Estimator::Uniform).search(search).games(2).build(&Device::cpu())?;
/// let mut records = Vec::new();
/// let report = games.run(|progress| {
///     records.extend(progress.latest.clone());
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!((records.len(), report.played.games), (2, 2));
/// assert!(records[0].replay().is_ok());
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct SelfPlay {
    searcher: Searcher<Checkers>,
    device: String,
    options: SelfPlayOptions,
    /// Number of games reported to the caller.
    n_reported: u64,
    /// Finished games that have not been reported yet.
    ended: BTreeMap<u64, GameRecord>,
    played: GamesPlayed,
    journal: Journal,
}

/// A game in progress.
struct Open {
    position: Checkers,
    record: GameRecord,
}

impl Open {
    fn new(game: u64, seed: u64, name: &str) -> Self {
        Self { position: Checkers::new(), record: GameRecord::begin(game, seed, name) }
    }

    /// Plays the chosen action.
    fn play(&mut self, decision: &Choice) -> Result<Outcome> {
        let record = &mut self.record;
        record.players.push(self.position.to_move().index() as u8);
        record.boards.push(self.position.board_text());
        play_checked(&mut self.position, decision.action, record.plies)?;
        record.visits.push(decision.actions.iter().map(|action| [action.action, action.visits]).collect());
        // Without the sign of a zero.
        record.root_values.push(decision.value + 0.0);
        record.actions.push(decision.action);
        record.plies += 1;
        let outcome = self.position.outcome_after(decision.action);
        record.returns = returns(outcome);
        Ok(outcome)
    }
}

/// Plays an action that a search chose, at `ply`.
///
/// # Errors
/// [`Error::Order`] for an illegal action, and for a game longer than the rules allow; neither can happen unless the rules contradict themselves.
pub(super) fn play_checked(position: &mut Checkers, action: u32, ply: u32) -> Result<()> {
    let wrong = |reason: String| Err(Error::Order { what: "game of checkers", reason });
    if !position.is_legal(action) {
        return wrong(format!("ply {ply}: action {action} was chosen and is illegal"));
    }
    if ply >= Checkers::MAX_PLIES {
        return wrong(format!("ply {ply}: games have at most {} actions", Checkers::MAX_PLIES));
    }
    position.apply(action);
    Ok(())
}

impl SelfPlay {
    /// Makes a builder of self-play by a network (`&network`, or an [`Estimator`] with options), or without one by [`Estimator::Uniform`] or [`Estimator::Playouts`].
    pub fn builder(estimator: impl Into<Estimator>) -> SelfPlayBuilder {
        SelfPlayBuilder { options: SelfPlayOptions::default(), estimator: estimator.into(), journal: None }
    }

    /// The options.
    pub fn options(&self) -> &SelfPlayOptions {
        &self.options
    }

    /// Memory that it took, as [`SelfPlayBuilder::memory_needed`].
    pub fn memory_needed(&self) -> &Memory {
        self.searcher.memory_needed()
    }

    /// Raises the total number of games.
    ///
    /// # Errors
    /// [`Error::Option`] for 0 games, and for game numbers beyond the maximum.
    pub fn set_limit(&mut self, games: u64) -> Result<()> {
        let options = SelfPlayOptions { games, ..self.options };
        options.check()?;
        self.options = options;
        Ok(())
    }

    /// Plays the remaining games, without those of a journal. `watch` receives each game as soon as it and all earlier ones are over, in the order of their numbers, and is
    /// called without a game between steps of the searches. When it returns `Break`, play stops; the next call begins with the first game that was not reported.
    ///
    /// # Errors
    /// [`Error::NotFinite`] naming game and ply if the network gives a NaN or infinity; errors of the device.
    pub fn run(&mut self, mut watch: impl FnMut(&Progress<GameRecord>) -> ControlFlow<()>) -> Result<SelfPlayReport> {
        let (start, before) = (Instant::now(), self.played.seconds);
        let SelfPlayOptions { games, first, parallel, search } = self.options;
        let name = self.searcher.name().to_string();
        let over: BTreeSet<u64> = self.ended.keys().copied().collect();
        let to_begin = (first + self.n_reported..first + games).filter(|game| !over.contains(game));
        let mut to_begin = to_begin.map(|game| Open::new(game, search.seed, &name));
        let mut open: Vec<Open> = to_begin.by_ref().take(parallel as usize).collect();
        loop {
            while let Some(record) = self.ended.remove(&(first + self.n_reported)) {
                self.n_reported += 1;
                self.played.games += 1;
                self.played.plies += u64::from(record.plies);
                match record.returns {
                    [1, _] => self.played.first_wins += 1,
                    [_, 1] => self.played.second_wins += 1,
                    _ => self.played.draws += 1,
                }
                let elapsed = start.elapsed();
                self.played.seconds = before + elapsed.as_secs_f64();
                let progress = Progress {
                    steps: self.n_reported,
                    n_steps: Some(games),
                    elapsed,
                    time_limit: None,
                    latest: Some(record),
                };
                if watch(&progress).is_break() {
                    return Ok(self.report());
                }
            }
            if open.is_empty() {
                break;
            }
            let tasks: Vec<Task<Checkers>> = open
                .iter()
                .map(|game| Task { position: game.position, game: game.record.game, ply: game.record.plies })
                .collect();
            let steps = self.n_reported;
            let mut go_on = || {
                let elapsed = start.elapsed();
                watch(&Progress { steps, n_steps: Some(games), elapsed, time_limit: None, latest: None }).is_continue()
            };
            let Some(decisions) = self.searcher.search(&tasks, &mut go_on)? else { break };
            let seconds = before + start.elapsed().as_secs_f64();
            let mut still_open = Vec::with_capacity(open.len());
            let mut over = Vec::new();
            for (mut game, decision) in open.into_iter().zip(&decisions) {
                if game.play(decision)?.is_over() {
                    over.push((game.record.game.to_string(), Piece { result: game.record, seconds }));
                    still_open.extend(to_begin.next());
                } else {
                    still_open.push(game);
                }
            }
            open = still_open;
            self.journal.append(&over)?;
            self.ended.extend(over.into_iter().map(|(_, piece)| (piece.result.game, piece.result)));
        }
        self.played.seconds = before + start.elapsed().as_secs_f64();
        Ok(self.report())
    }

    fn report(&self) -> SelfPlayReport {
        SelfPlayReport {
            device: self.device.clone(),
            estimator: self.searcher.name().to_string(),
            engine: self.searcher.engine(),
            seed: self.options.search.seed,
            options: self.options,
            played: GamesPlayed { repeated_batches: self.searcher.repeated_batches(), ..self.played },
        }
    }
}
