//! Matches: two players, many games at once, alternating colours.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use warpplay_gpu::azero::search::Searched;
use warpplay_gpu::azero::search::random::{self, Purpose};
use warpplay_gpu::mcts::Draw;

use super::estimator::Estimator;
use super::options::{MatchOptions, SearchOptions};
use super::report::{MatchReport, Results};
use super::searcher::Searcher;
use super::self_play::play_checked;
use super::task::Task;
use crate::azero::checkers::Checkers;
use crate::mcts::{Game, Outcome, Search, SearchBuilder};
use crate::runtime::journal::{self, Header, Journal, Piece, Target};
use crate::runtime::setters::{journal_setters, setters};
use crate::runtime::threads;
use crate::{Device, Memory, Progress, Result};

/// Time between two calls of `go_on` while a tree search by playouts runs on another thread.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// A player of a match.
#[derive(Clone)]
pub enum Contestant {
    /// A search by the PUCT rule.
    Search(SearchOptions, Estimator),
    /// Any legal action, each equally likely.
    Random,
    /// A tree search by playouts; its seed is changed from move to move.
    Mcts(Box<SearchBuilder<Checkers>>),
}

impl Contestant {
    /// `random`, `mcts`, or the name of the estimator.
    pub fn name(&self) -> String {
        match self {
            Self::Search(_, estimator) => estimator.name(),
            Self::Random => "random".to_string(),
            Self::Mcts(_) => "mcts".to_string(),
        }
    }

    /// Everything that determines its moves, for the heading of a journal.
    fn to_json(&self) -> Value {
        match self {
            Self::Search(options, estimator) => json!({ "search": options, "estimator": estimator.to_json() }),
            Self::Random => json!("random"),
            Self::Mcts(builder) => json!({ "mcts": builder.to_json() }),
        }
    }
}

/// A game that is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Over {
    /// How it ended for the first contestant.
    ended: Ended,
    /// Number of actions, including those of the opening.
    plies: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Ended {
    Won,
    Drawn,
    Lost,
}

/// A contestant with its memory allocated.
enum Ready {
    Search(Box<Searcher<Checkers>>),
    Random,
    Mcts(Box<Search<Checkers>>),
}

/// Options of a [`Match`]; made by [`Match::builder`].
#[derive(Clone)]
pub struct MatchBuilder {
    contestants: [Contestant; 2],
    options: MatchOptions,
    journal: Option<Target>,
}

impl MatchBuilder {
    /// Sets all options at once.
    pub fn options(mut self, options: MatchOptions) -> Self {
        self.options = options;
        self
    }

    setters! {
        /// Total number of games; even. Default 100.
        games: u32,
        /// Random actions at the beginning of each pair of games. Default 4.
        opening_plies: u32,
        /// Games played at the same time. Default 256.
        parallel: u32,
        /// Seed of openings and of random play. Default 0.
        seed: u64,
    }

    journal_setters! {
        /// Saves the result of every game in this new file as soon as it is over: a [journal](crate::journal).
        checkpoint,

        /// Continues the journal that [`checkpoint`](Self::checkpoint) of another match has written: its games are not played again, and new ones are added to it. `games`
        /// and `parallel` may differ, as long as this match includes all games of the journal.
        resume
    }

    /// Games played at the same time.
    fn capacity(&self) -> usize {
        self.options.parallel.min(self.options.games) as usize
    }

    /// Memory of both contestants, by contestant and purpose.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) for an option that is not allowed; errors of the driver.
    pub fn memory_needed(&self, device: &Device) -> Result<Memory> {
        self.options.check()?;
        let memory = |contestant: &Contestant| match contestant {
            Contestant::Search(options, estimator) => {
                Searcher::<Checkers>::memory(device, options, estimator, self.capacity())
            }
            Contestant::Random => Ok(Memory::default()),
            Contestant::Mcts(builder) => builder.memory_needed(device),
        };
        let [first, second] = &self.contestants;
        Ok(together([memory(first)?, memory(second)?]))
    }

    /// Allocates the memory of both contestants.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) for an option that is not allowed; errors of building the contestants;
    /// [`Error::File`](crate::Error::File) for a new journal that already exists, or a journal of a different match.
    pub fn build(self, device: &Device) -> Result<Match> {
        let capacity = self.capacity();
        let Self { contestants, options, journal } = self;
        options.check()?;
        let facts = json!({
            "opening_plies": options.opening_plies,
            "seed": options.seed,
            "a": contestants[0].to_json(),
            "b": contestants[1].to_json(),
        });
        let names = [contestants[0].name(), contestants[1].name()];
        let ready = |contestant: Contestant| match contestant {
            Contestant::Search(options, estimator) => {
                Searcher::new(device, options, &estimator, capacity).map(|searcher| Ready::Search(Box::new(searcher)))
            }
            Contestant::Random => Ok(Ready::Random),
            Contestant::Mcts(builder) => builder.build(device).map(|search| Ready::Mcts(Box::new(search))),
        };
        let [first, second] = contestants;
        let contestants = [ready(first)?, ready(second)?];
        let engine = |ready: &Ready| match ready {
            Ready::Search(searcher) => searcher.engine(),
            _ => None,
        };
        let report = MatchReport {
            names,
            by_colour: [Results::default(); 2],
            plies: 0,
            seconds: 0.0,
            device: device.to_string(),
            engines: [engine(&contestants[0]), engine(&contestants[1])],
            seed: options.seed,
            options,
            repeated_batches: [0; 2],
        };
        let memory = together(contestants.each_ref().map(|contestant| match contestant {
            Ready::Search(searcher) => searcher.memory_needed().clone(),
            Ready::Random => Memory::default(),
            Ready::Mcts(search) => search.memory_needed().clone(),
        }));
        let header = || Header::new("azero match", facts, std::slice::from_ref(device));
        let (journal, records) = Journal::open::<Piece<Over>>(journal.as_ref(), header)?;
        let (open, over) = (Vec::new(), BTreeSet::new());
        let mut games = Match { contestants, options, open, begun: 0, over, report, memory, journal };
        for (key, piece) in records {
            let game = journal::number(&key).filter(|&game| game < options.games.into());
            let game = game.ok_or_else(|| games.journal.not_asked(&key))?;
            if piece.result.plies > Checkers::MAX_PLIES {
                let reason = format!("plies: {}, expected at most {}", piece.result.plies, Checkers::MAX_PLIES);
                return Err(games.journal.wrong(&key, reason));
            }
            games.over.insert(game);
            games.report.add(game, &piece.result);
            games.report.seconds = games.report.seconds.max(piece.seconds);
        }
        Ok(games)
    }
}

impl MatchReport {
    fn add(&mut self, game: u64, &Over { ended, plies }: &Over) {
        self.plies += u64::from(plies);
        let results = &mut self.by_colour[(game % 2) as usize];
        match ended {
            Ended::Won => results.wins += 1,
            Ended::Drawn => results.draws += 1,
            Ended::Lost => results.losses += 1,
        }
    }
}

/// The memory of both contestants.
fn together(contestants: [Memory; 2]) -> Memory {
    let parts = contestants.iter().zip(["first", "second"]);
    let parts = parts.flat_map(|(memory, which)| memory.parts().iter().map(move |part| (which, part)));
    parts.fold(Memory::default(), |memory, (which, part)| {
        let what = format!("{which} {}", part.what);
        match part.host {
            0 => memory.on_device(&what, part.device),
            host => memory.on_host(&what, host),
        }
    })
}

/// A match of two contestants on a device.
///
/// ```
/// use std::ops::ControlFlow;
/// use warpplay::Device;
/// use warpplay::azero::player::{Contestant, Estimator, Match, SearchOptions};
///
/// let search = SearchOptions { simulations: 8, ..SearchOptions::default() };
/// let contestants = [Contestant::Search(search, Estimator::Uniform), Contestant::Random];
/// let mut games = Match::builder(contestants).games(2).build(&Device::cpu())?;
/// let report = games.run(|_| ControlFlow::Continue(()))?;
/// assert_eq!(report.results().games(), 2);
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct Match {
    contestants: [Ready; 2],
    options: MatchOptions,
    /// Games in progress.
    open: Vec<Open>,
    /// Number of games begun or skipped.
    begun: u64,
    /// Games of the journal that the match continues.
    over: BTreeSet<u64>,
    report: MatchReport,
    memory: Memory,
    journal: Journal,
}

#[derive(Clone, Copy)]
struct Open {
    position: Checkers,
    game: u64,
    ply: u32,
}

impl Open {
    /// A game after its opening, which both games of a pair share; an opening that ends the game is drawn again.
    fn new(game: u64, options: &MatchOptions) -> Self {
        let mut stream = random::stream(random::key(options.seed, game / 2, 0), Purpose::Choice, 1);
        loop {
            let mut position = Checkers::new();
            for _ in 0..options.opening_plies {
                if position.outcome().is_over() {
                    break;
                }
                position.apply(position.nth_playout_action(stream.below(position.n_playout_actions())));
            }
            if !position.outcome().is_over() {
                return Self { position, game, ply: options.opening_plies };
            }
        }
    }

    /// The contestant to move; the first contestant is the first player in even games.
    fn contestant(&self) -> usize {
        self.position.to_move().index() ^ (self.game % 2) as usize
    }
}

impl Match {
    /// A match of two contestantswith the default options, which the builder's setters change.
    pub fn builder(contestants: [Contestant; 2]) -> MatchBuilder {
        MatchBuilder { contestants, options: MatchOptions::default(), journal: None }
    }

    /// The options.
    pub fn options(&self) -> &MatchOptions {
        &self.options
    }

    /// Memory of both contestants, as [`MatchBuilder::memory_needed`].
    pub fn memory_needed(&self) -> &Memory {
        &self.memory
    }

    /// Raises the total number of games.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) for a number that is not allowed.
    pub fn set_limit(&mut self, games: u32) -> Result<()> {
        let options = MatchOptions { games, ..self.options };
        options.check()?;
        (self.options, self.report.options) = (options, options);
        Ok(())
    }

    /// Begins the next game, if one is left.
    fn begin(&mut self) -> Option<Open> {
        while self.over.contains(&self.begun) {
            self.begun += 1;
        }
        let next = (self.begun < u64::from(self.options.games)).then(|| Open::new(self.begun, &self.options));
        self.begun += u64::from(next.is_some());
        next
    }

    /// Plays the remaining games, without those of a journal; `watch` receives the results so far after each move of the games in progress, and is called without results
    /// between steps of the searches. When it returns `Break`, play stops, and the report covers the finished games; the next call continues.
    ///
    /// # Errors
    /// As [`SelfPlay::run`](super::SelfPlay::run).
    pub fn run(&mut self, mut watch: impl FnMut(&Progress<MatchReport>) -> ControlFlow<()>) -> Result<MatchReport> {
        let (start, before) = (Instant::now(), self.report.seconds);
        let options = self.options;
        while self.open.len() < options.parallel as usize
            && let Some(game) = self.begin()
        {
            self.open.push(game);
        }
        while !self.open.is_empty() {
            let steps = u64::from(self.report.results().games());
            let n_steps = Some(u64::from(options.games));
            let mut go_on = || {
                let elapsed = start.elapsed();
                watch(&Progress { steps, n_steps, elapsed, time_limit: None, latest: None }).is_continue()
            };
            let open = &self.open;
            let mut actions = vec![0; open.len()];
            for (which, contestant) in self.contestants.iter_mut().enumerate() {
                let mine: Vec<usize> = (0..open.len()).filter(|&at| open[at].contestant() == which).collect();
                let games: Vec<Open> = mine.iter().map(|&at| open[at]).collect();
                let chosen = contestant.choose(&games, options.seed, &mut go_on)?;
                self.report.repeated_batches[which] = contestant.repeated_batches();
                let Some(chosen) = chosen else {
                    self.report.seconds = before + start.elapsed().as_secs_f64();
                    return Ok(self.report.clone());
                };
                for (at, action) in mine.into_iter().zip(chosen) {
                    actions[at] = action;
                }
            }
            let seconds = before + start.elapsed().as_secs_f64();
            let mut still_open = Vec::with_capacity(open.len());
            let mut over = Vec::new();
            for (mut game, action) in std::mem::take(&mut self.open).into_iter().zip(actions) {
                play_checked(&mut game.position, action, game.ply)?;
                game.ply += 1;
                let outcome = game.position.outcome_after(action);
                if !outcome.is_over() {
                    still_open.push(game);
                    continue;
                }
                let ended = match outcome {
                    Outcome::Win(player) if player.index() == (game.game % 2) as usize => Ended::Won,
                    Outcome::Win(_) => Ended::Lost,
                    _ => Ended::Drawn,
                };
                let result = Over { ended, plies: game.ply };
                self.report.add(game.game, &result);
                over.push((game.game.to_string(), Piece { result, seconds }));
                still_open.extend(self.begin());
            }
            self.open = still_open;
            self.journal.append(&over)?;
            let elapsed = start.elapsed();
            self.report.seconds = before + elapsed.as_secs_f64();
            let progress = Progress {
                steps: self.report.results().games().into(),
                n_steps,
                elapsed,
                time_limit: None,
                latest: Some(self.report.clone()),
            };
            if watch(&progress).is_break() {
                break;
            }
        }
        Ok(self.report.clone())
    }
}

impl Ready {
    /// Number of batches of leaves that were evaluated twice.
    fn repeated_batches(&self) -> u64 {
        match self {
            Self::Search(searcher) => searcher.repeated_batches(),
            Self::Random | Self::Mcts(_) => 0,
        }
    }

    /// Chooses an action for each game, calling `go_on` meanwhile; `None` if it returns false.
    fn choose(&mut self, games: &[Open], seed: u64, go_on: &mut dyn FnMut() -> bool) -> Result<Option<Vec<u32>>> {
        match self {
            Self::Search(searcher) => {
                let tasks: Vec<_> =
                    games.iter().map(|game| Task { position: game.position, game: game.game, ply: game.ply }).collect();
                let decisions = searcher.search(&tasks, go_on)?;
                Ok(decisions.map(|decisions| decisions.iter().map(|decision| decision.action).collect()))
            }
            Self::Random => {
                let choose = |game: &Open| {
                    let key = random::key(seed, game.game, u64::from(game.ply));
                    let n = random::stream(key, Purpose::Choice, 2).below(game.position.n_playout_actions());
                    game.position.nth_playout_action(n)
                };
                Ok(Some(games.iter().map(choose).collect()))
            }
            Self::Mcts(search) => {
                let mut actions = Vec::with_capacity(games.len());
                for game in games {
                    search.set_seed(random::key(seed, game.game, u64::from(game.ply)));
                    let Some(action) = search_beside(search, &game.position, go_on)? else { return Ok(None) };
                    actions.push(action);
                }
                Ok(Some(actions))
            }
        }
    }
}

/// The action that a tree search by playouts chooses, or `None` if `go_on` returns false. Such a search may call its `watch` from any thread, but `go_on` belongs to this
/// thread, so the search runs on another thread.
fn search_beside(
    search: &mut Search<Checkers>,
    position: &Checkers,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<u32>> {
    if !go_on() {
        return Ok(None);
    }
    let stopped = &AtomicBool::new(false);
    let watch = |_: &Progress| match stopped.load(Ordering::Relaxed) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let report = thread::scope(|scope| {
        let (running, ended) = mpsc::channel::<()>();
        let worker = threads::spawn(scope, move || {
            // Dropped when the search ends, in whatever way.
            let _running = running;
            search.run(position, watch)
        })?;
        while ended.recv_timeout(ASK_EVERY) == Err(RecvTimeoutError::Timeout) {
            if !stopped.load(Ordering::Relaxed) && !go_on() {
                stopped.store(true, Ordering::Relaxed);
            }
        }
        match worker.join() {
            Ok(report) => report,
            Err(panic) => resume_unwind(panic),
        }
    })?;
    Ok((!stopped.load(Ordering::Relaxed)).then_some(report.best.index))
}
