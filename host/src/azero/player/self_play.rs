//! Many games at once, both sides by the same search.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use warpplay_gpu::azero::search::Searched;

use super::estimator::Estimator;
use super::options::SearchOptions;
use super::searcher::{Decision, Searcher, Task};
use crate::azero::GameRecord;
use crate::azero::checkers::{Checkers, returns};
use crate::mcts::{Game, Outcome, Player as Side};
use crate::{Device, Error, Result};

/// Most games side by side.
pub const MAX_PARALLEL: u32 = 1 << 16;

/// Choices for [`SelfPlay`].
#[derive(Clone, Debug)]
pub struct SelfPlayBuilder {
    options: SearchOptions,
    estimator: Estimator,
    parallel: u32,
}

impl SelfPlayBuilder {
    /// What evaluates leaves. Default [`Estimator::Uniform`].
    pub fn estimator(mut self, estimator: Estimator) -> Self {
        self.estimator = estimator;
        self
    }

    /// Options of the searches. Default [`SearchOptions::self_play`].
    pub fn options(mut self, options: SearchOptions) -> Self {
        self.options = options;
        self
    }

    /// Games side by side, 1 to [`MAX_PARALLEL`]. Default 256. What is played does not depend on it.
    pub fn parallel(mut self, n: u32) -> Self {
        self.parallel = n;
        self
    }

    /// Takes the memory for all trees, and for the network on the device.
    ///
    /// # Errors
    /// As [`PlayerBuilder::build`](super::PlayerBuilder::build).
    pub fn build(self, device: &Device) -> Result<SelfPlay> {
        if !(1..=MAX_PARALLEL).contains(&self.parallel) {
            return Err(Error::option("parallel", self.parallel, format!("1 to {MAX_PARALLEL}")));
        }
        let searcher = Searcher::new(device, self.options, &self.estimator, self.parallel as usize)?;
        Ok(SelfPlay { searcher, parallel: self.parallel as usize })
    }
}

/// What was played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SelfPlayReport {
    /// Games that ended.
    pub games: u64,
    /// Actions in them.
    pub plies: u64,
    /// Games won by the first player, by the second, drawn.
    pub first_wins: u64,
    /// Games won by the second player.
    pub second_wins: u64,
    /// Games drawn by the 40-action rule.
    pub draws: u64,
    /// Time in seconds.
    pub seconds: f64,
}

/// Plays games of a search against itself and records them.
///
/// Games are numbered; what is played in a game depends on its number, the seed and the options, not on the games beside it.
///
/// ```
/// use warpplay::Device;
/// use warpplay::azero::player::{SearchOptions, SelfPlay};
///
/// let options = SearchOptions { simulations: 8, seed: 27, ..SearchOptions::self_play() };
/// let mut games = SelfPlay::builder().options(options).build(&Device::cpu())?;
/// let records = games.play(0, 2)?;
/// assert_eq!(records.len(), 2);
/// assert!(records[0].replay().is_ok());
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct SelfPlay {
    searcher: Searcher<Checkers>,
    parallel: usize,
}

/// A game that goes on.
struct Open {
    position: Checkers,
    record: GameRecord,
}

impl Open {
    fn new(game: u64, seed: u64, name: &str) -> Self {
        Self { position: Checkers::new(), record: GameRecord::begin(game, seed, name) }
    }

    /// Plays what was decided.
    fn play(&mut self, decision: &Decision) -> Result<Outcome> {
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
/// [`Error::Order`] for an illegal action, and for a game that is longer than the rules let it be: neither can happen unless the rules contradict themselves.
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
    /// Self-play with the default choices, to be changed.
    pub fn builder() -> SelfPlayBuilder {
        SelfPlayBuilder { options: SearchOptions::self_play(), estimator: Estimator::Uniform, parallel: 256 }
    }

    /// The options of its searches.
    pub fn options(&self) -> &SearchOptions {
        self.searcher.options()
    }

    /// Plays games `first`, `first + 1` and so on, `n` of them.
    ///
    /// # Errors
    /// As [`play_with`](Self::play_with).
    pub fn play(&mut self, first: u64, n: u64) -> Result<Vec<GameRecord>> {
        let mut records = Vec::new();
        self.play_with(first, n, |record| {
            records.push(record);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(records)
    }

    /// The same; each game goes to `each` as soon as it and all before it are over, in the order of their numbers. When that answers `Break`, or fails, no
    /// more is played.
    ///
    /// # Errors
    /// [`Error::NotFinite`] naming game and ply if the network gives what is no number; [`Error::Option`] for game numbers beyond the largest; errors of
    /// `each` and of the device.
    pub fn play_with(
        &mut self,
        first: u64,
        n: u64,
        mut each: impl FnMut(GameRecord) -> Result<ControlFlow<()>>,
    ) -> Result<SelfPlayReport> {
        let start = Instant::now();
        let Some(end) = first.checked_add(n) else {
            return Err(Error::option("first game", first, format!("at most {} for {n} games", u64::MAX - n)));
        };
        let seed = self.searcher.options().seed;
        let name = self.searcher.name().to_string();
        let mut to_begin = (first..end).map(|game| Open::new(game, seed, &name));
        let mut open: Vec<Open> = to_begin.by_ref().take(self.parallel).collect();
        let mut report = SelfPlayReport::default();
        let mut ended = BTreeMap::new();
        let mut next = first;
        while !open.is_empty() {
            let tasks: Vec<Task<Checkers>> = open
                .iter()
                .map(|game| Task { position: game.position, game: game.record.game, ply: game.record.plies })
                .collect();
            let decisions = self.searcher.search(&tasks)?;
            let mut still_open = Vec::with_capacity(open.len());
            for (mut game, decision) in open.into_iter().zip(&decisions) {
                let outcome = game.play(decision)?;
                if !outcome.is_over() {
                    still_open.push(game);
                    continue;
                }
                report.games += 1;
                report.plies += u64::from(game.record.plies);
                match outcome {
                    Outcome::Win(Side::First) => report.first_wins += 1,
                    Outcome::Win(Side::Second) => report.second_wins += 1,
                    _ => report.draws += 1,
                }
                ended.insert(game.record.game, game.record);
                still_open.extend(to_begin.next());
            }
            open = still_open;
            while let Some(record) = ended.remove(&next) {
                next += 1;
                if each(record)?.is_break() {
                    report.seconds = start.elapsed().as_secs_f64();
                    return Ok(report);
                }
            }
        }
        report.seconds = start.elapsed().as_secs_f64();
        Ok(report)
    }
}
