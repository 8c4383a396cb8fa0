//! Players: what they are, and how they think.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use warpplay_cpu_ref::mcts as reference;
use warpplay_cpu_ref::mcts::vanilla::{STEPS_PER_LOOK, Vanilla};
use warpplay_gpu::mcts::{KernelSet, Notation};

use super::record::{MoveRecord, Side};
use crate::mcts::clock::Clock;
use crate::mcts::engines::cpu::Adapted;
use crate::mcts::options::Options;
use crate::mcts::position::check_playable;
use crate::mcts::report::StoppedBy;
use crate::mcts::search::Search;
use crate::{Device, Error, Progress, Result};

/// The single-thread search of the CPU reference, one playout a step: [`Vanilla`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VanillaOptions {
    /// Most steps of a move; default no limit.
    pub steps: Option<u64>,
    /// Most seconds of a move; default 5.
    pub seconds: Option<f64>,
    /// Exploration constant, C; default 2.
    pub ucb_c: f32,
    /// What a draw is worth, 0 to 1; default 0.5.
    pub draw_value: f32,
}

impl Default for VanillaOptions {
    fn default() -> Self {
        let Options { steps, seconds, ucb_c, draw_value, .. } = Options::default();
        Self { steps, seconds, ucb_c, draw_value }
    }
}

/// What a player is. Limits are those of one move; the seed is that of the game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PlayerOptions {
    /// The library's search.
    Search(Options),
    /// The single-thread player.
    Vanilla(VanillaOptions),
}

impl PlayerOptions {
    /// The limits, the constant and the value of a draw as options of a search, so that both kinds of player are checked by the same rules.
    fn as_search(&self) -> Options {
        match self {
            Self::Search(options) => options.clone(),
            Self::Vanilla(VanillaOptions { steps, seconds, ucb_c, draw_value }) => {
                let (steps, seconds, ucb_c, draw_value) = (*steps, *seconds, *ucb_c, *draw_value);
                Options { steps, seconds, ucb_c, draw_value, ..Options::default() }
            }
        }
    }

    /// Checks the options for a game, without allocating memory.
    ///
    /// # Errors
    /// [`Error::Option`] names the first that is not allowed.
    pub fn check<G: KernelSet>(&self) -> Result<()> {
        Search::<G>::builder().options(self.as_search()).capacity().map(drop)
    }
}

/// The search that finds a player's moves.
enum Thinker<G: KernelSet> {
    Search(Box<Search<G>>),
    Vanilla { seed: u64 },
}

/// A player that is ready to play games of `G`; a search has its device memory allocated.
pub struct Contestant<G: KernelSet> {
    /// The player's limits and constants.
    options: Options,
    thinker: Thinker<G>,
}

impl<G: KernelSet + Notation> Contestant<G> {
    /// Makes the player ready; a player that runs on the CPU alone does not use the device.
    ///
    /// # Errors
    /// As [`PlayerOptions::check`] and [`SearchBuilder::build`](crate::mcts::SearchBuilder::build).
    pub fn new(player: &PlayerOptions, device: &Device) -> Result<Self> {
        player.check::<G>()?;
        let options = player.as_search();
        let thinker = match player {
            PlayerOptions::Search(options) => {
                let builder = Search::builder().options(options.clone()).action_names(G::action_name).profile_steps(0);
                Thinker::Search(Box::new(builder.build(device)?))
            }
            PlayerOptions::Vanilla(_) => Thinker::Vanilla { seed: 0 },
        };
        Ok(Self { options, thinker })
    }

    /// Begins a game with this seed.
    pub fn begin(&mut self, game_seed: u64) {
        match &mut self.thinker {
            Thinker::Search(search) => search.set_seed(game_seed),
            Thinker::Vanilla { seed } => *seed = game_seed,
        }
    }

    /// Searches a position with `side` to move. With `steps`, only this number of steps limits the search, as a repetition requires; otherwise the player's own limits do.
    /// `None` if `watch` stopped it.
    ///
    /// # Errors
    /// As [`Search::run`]; [`Error::Option`] for 0 steps.
    pub fn think(
        &mut self,
        position: &G,
        side: Side,
        steps: Option<u64>,
        mut watch: impl FnMut(&Progress) -> ControlFlow<()> + Send,
    ) -> Result<Option<MoveRecord>> {
        let limits = match steps {
            Some(steps) => (Some(steps), None),
            None => (self.options.steps, self.options.seconds),
        };
        match &mut self.thinker {
            Thinker::Search(search) => {
                search.set_limits(limits.0, limits.1)?;
                let report = search.run(position, watch)?;
                let (best, performance) = (report.best, report.performance);
                let found = MoveRecord {
                    side,
                    action: best.index,
                    name: best.name,
                    steps: performance.steps,
                    playouts: performance.playouts,
                    n: best.n,
                    wins: best.wins,
                    draws: best.draws,
                    q: best.q,
                    ucb: best.ucb,
                    mean_depth: performance.trees.mean_depth,
                    max_depth: performance.trees.max_depth,
                    full_trees: performance.trees.full,
                };
                Ok((report.stopped_by != StoppedBy::Request).then_some(found))
            }
            Thinker::Vanilla { seed } => {
                check_playable(position)?;
                let options = Options { steps: limits.0, seconds: limits.1, ..self.options.clone() };
                options.check()?;
                let Options { ucb_c, draw_value, .. } = options;
                let mut clock = Clock::new(&options, &mut watch);
                let mut search = Vanilla::new(Adapted(*position), ucb_c, draw_value, *seed);
                while clock.goes_on(search.steps()) {
                    let left = limits.0.map_or(u64::MAX, |steps| steps.saturating_sub(search.steps()));
                    for _ in 0..left.min(STEPS_PER_LOOK) {
                        search.step();
                    }
                }
                if clock.stopped_by == StoppedBy::Request {
                    return Ok(None);
                }
                let found = search.statistics();
                let best =
                    found.actions.iter().find(|action| action.action == found.best).ok_or_else(|| Error::Moves {
                        game: G::NAME,
                        reason: format!("action {} is not among those that were searched", found.best),
                    })?;
                Ok(Some(MoveRecord {
                    side,
                    action: best.action as u32,
                    name: G::action_name(best.action as u32),
                    steps: found.steps,
                    playouts: found.n_root,
                    n: best.n,
                    wins: best.wins,
                    draws: best.draws,
                    q: best.q(draw_value),
                    ucb: best.q(draw_value).map(|q| reference::ucb(found.n_root, best.n, q, ucb_c)),
                    mean_depth: found.trees.mean_depth,
                    max_depth: found.trees.max_depth,
                    full_trees: found.trees.full as u32,
                }))
            }
        }
    }
}
