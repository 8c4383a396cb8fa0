//! Matches: two players, many games at once, alternating colours.

use std::ops::ControlFlow;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use warpplay_gpu::azero::search::random::{self, Purpose};
use warpplay_gpu::mcts::Draw;

use super::estimator::Estimator;
use super::options::SearchOptions;
use super::searcher::{Searcher, Task};
use super::self_play::{MAX_PARALLEL, play_checked};
use crate::azero::checkers::Checkers;
use crate::mcts::{Game, Outcome, Search, SearchBuilder};
use crate::{Device, Error, Result};

/// Who plays a match.
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
    /// `random`, `mcts`, or the name of what evaluates.
    pub fn name(&self) -> String {
        match self {
            Self::Search(_, estimator) => estimator.name(),
            Self::Random => "random".to_string(),
            Self::Mcts(_) => "mcts".to_string(),
        }
    }
}

/// Options of a [`Match`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchOptions {
    /// Games; even, since each opening is played with both colours. Default 100.
    pub games: u32,
    /// Random actions at the beginning of each pair of games, 0 to 40. Default 4.
    pub opening_plies: u32,
    /// Games side by side. Default 256.
    pub parallel: u32,
    /// Seed of openings and of random play. Default 0.
    pub seed: u64,
}

impl Default for MatchOptions {
    fn default() -> Self {
        Self { games: 100, opening_plies: 4, parallel: 256, seed: 0 }
    }
}

impl MatchOptions {
    /// # Errors
    /// [`Error::Option`] for the first value that is not allowed.
    pub fn check(&self) -> Result<()> {
        if self.games == 0 || self.games % 2 == 1 || self.games > 1 << 24 {
            return Err(Error::option("games", self.games, format!("an even number, 2 to {}", 1 << 24)));
        }
        if self.opening_plies > 40 {
            return Err(Error::option("opening_plies", self.opening_plies, "0 to 40"));
        }
        match self.parallel {
            1..=MAX_PARALLEL => Ok(()),
            n => Err(Error::option("parallel", n, format!("1 to {MAX_PARALLEL}"))),
        }
    }
}

/// Games by their results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Results {
    /// Won.
    pub wins: u32,
    /// Drawn.
    pub draws: u32,
    /// Lost.
    pub losses: u32,
}

impl Results {
    /// Games.
    pub fn games(&self) -> u32 {
        self.wins + self.draws + self.losses
    }

    /// Share of the points, a draw being half a point.
    pub fn score(&self) -> f64 {
        (f64::from(self.wins) + 0.5 * f64::from(self.draws)) / f64::from(self.games().max(1))
    }
}

/// How a match ended, as the first contestant sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchReport {
    /// Names of both.
    pub names: [String; 2],
    /// The first contestant's results as first player (White) and as second.
    pub by_colour: [Results; 2],
    /// Actions of all games.
    pub plies: u64,
    /// Time in seconds.
    pub seconds: f64,
}

impl MatchReport {
    /// The first contestant's results with both colours.
    pub fn results(&self) -> Results {
        let [first, second] = self.by_colour;
        Results {
            wins: first.wins + second.wins,
            draws: first.draws + second.draws,
            losses: first.losses + second.losses,
        }
    }
}

impl std::fmt::Display for MatchReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Results { wins, draws, losses } = self.results();
        let [first, second] = &self.names;
        write!(f, "{first} against {second}: {wins} won, {draws} drawn, {losses} lost")
    }
}

/// A contestant that is ready.
enum Ready {
    Search(Box<Searcher<Checkers>>),
    Random,
    Mcts(Box<Search<Checkers>>),
}

/// Two players on a device.
pub struct Match {
    contestants: [Ready; 2],
    names: [String; 2],
    options: MatchOptions,
}

#[derive(Clone, Copy)]
struct Open {
    position: Checkers,
    game: u64,
    ply: u32,
}

impl Open {
    /// A game after its opening, which is that of the other game of its pair; an opening that ends the game is begun again.
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

    /// Which contestant is to move: the first one has the first player in even games.
    fn contestant(&self) -> usize {
        self.position.to_move().index() ^ (self.game % 2) as usize
    }
}

impl Match {
    /// Makes both contestants ready.
    ///
    /// # Errors
    /// [`Error::Option`] for an option that is not allowed; what building the contestants says.
    pub fn new(device: &Device, contestants: [Contestant; 2], options: MatchOptions) -> Result<Self> {
        options.check()?;
        let names = [contestants[0].name(), contestants[1].name()];
        let capacity = options.parallel.min(options.games) as usize;
        let ready = |contestant: Contestant| match contestant {
            Contestant::Search(options, estimator) => {
                Searcher::new(device, options, &estimator, capacity).map(|searcher| Ready::Search(Box::new(searcher)))
            }
            Contestant::Random => Ok(Ready::Random),
            Contestant::Mcts(builder) => builder.build(device).map(|search| Ready::Mcts(Box::new(search))),
        };
        let [first, second] = contestants;
        Ok(Self { contestants: [ready(first)?, ready(second)?], names, options })
    }

    /// Plays all games.
    ///
    /// # Errors
    /// As [`SelfPlay::play_with`](super::SelfPlay::play_with).
    pub fn run(&mut self) -> Result<MatchReport> {
        self.run_with(|_| ControlFlow::Continue(()))
    }

    /// The same; `watch` is told the results so far after each move of the games that go on. When it answers `Break`, no more is played, and the report is of
    /// the games that are over.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_with(&mut self, mut watch: impl FnMut(&MatchReport) -> ControlFlow<()>) -> Result<MatchReport> {
        let start = Instant::now();
        let options = self.options;
        let mut to_begin = (0..u64::from(options.games)).map(|game| Open::new(game, &options));
        let mut open: Vec<Open> = to_begin.by_ref().take(options.parallel as usize).collect();
        let mut report =
            MatchReport { names: self.names.clone(), by_colour: [Results::default(); 2], plies: 0, seconds: 0.0 };
        while !open.is_empty() {
            let mut actions = vec![0; open.len()];
            for (which, contestant) in self.contestants.iter_mut().enumerate() {
                let mine: Vec<usize> = (0..open.len()).filter(|&at| open[at].contestant() == which).collect();
                let games: Vec<Open> = mine.iter().map(|&at| open[at]).collect();
                for (at, action) in mine.into_iter().zip(contestant.choose(&games, options.seed)?) {
                    actions[at] = action;
                }
            }
            let mut still_open = Vec::with_capacity(open.len());
            for (mut game, action) in open.into_iter().zip(actions) {
                play_checked(&mut game.position, action, game.ply)?;
                game.ply += 1;
                let outcome = game.position.outcome_after(action);
                if !outcome.is_over() {
                    still_open.push(game);
                    continue;
                }
                report.plies += u64::from(game.ply);
                let colour = (game.game % 2) as usize;
                let results = &mut report.by_colour[colour];
                match outcome {
                    Outcome::Win(player) if player.index() == colour => results.wins += 1,
                    Outcome::Win(_) => results.losses += 1,
                    _ => results.draws += 1,
                }
                still_open.extend(to_begin.next());
            }
            open = still_open;
            report.seconds = start.elapsed().as_secs_f64();
            if watch(&report).is_break() {
                break;
            }
        }
        report.seconds = start.elapsed().as_secs_f64();
        Ok(report)
    }
}

impl Ready {
    /// An action for each game.
    fn choose(&mut self, games: &[Open], seed: u64) -> Result<Vec<u32>> {
        match self {
            Self::Search(searcher) => {
                let tasks: Vec<_> =
                    games.iter().map(|game| Task { position: game.position, game: game.game, ply: game.ply }).collect();
                let decisions = searcher.search(&tasks)?;
                Ok(decisions.iter().map(|decision| decision.action).collect())
            }
            Self::Random => Ok(games
                .iter()
                .map(|game| {
                    let key = random::key(seed, game.game, u64::from(game.ply));
                    let n = random::stream(key, Purpose::Choice, 2).below(game.position.n_playout_actions());
                    game.position.nth_playout_action(n)
                })
                .collect()),
            Self::Mcts(search) => games
                .iter()
                .map(|game| {
                    search.set_seed(random::key(seed, game.game, u64::from(game.ply)));
                    search.run(&game.position, crate::Progress::go_on).map(|report| report.best.index)
                })
                .collect(),
        }
    }
}
