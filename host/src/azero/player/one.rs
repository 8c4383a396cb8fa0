//! A player for one position at a time.

use std::ops::ControlFlow;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::estimator::Estimator;
use super::options::{Noise, SearchOptions, Trees};
use super::searcher::Searcher;
use super::task::{Choice, Task};
use crate::azero::Engine;
use crate::azero::checkers::Checkers;
use crate::mcts::{Notation, check_playable};
use crate::runtime::setters::setters;
use crate::{Device, Error, Memory, Progress, Result};

/// The results of a search for one action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionVisits {
    /// The action.
    pub action: u32,
    /// Its name, as `a3b4`.
    #[serde(default)]
    pub name: String,
    /// Simulations that began with the action.
    pub visits: u32,
    /// Its probability before the search, with the noise.
    pub prior: f32,
    /// Its mean value, or known result, for the player to move, -1 to 1; 0 without visits.
    pub value: f32,
}

/// The results of a search of a position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The action to be played.
    pub action: u32,
    /// Its name, as `a3b4`.
    #[serde(default)]
    pub name: String,
    /// Mean value for the player to move, -1 to 1.
    pub value: f32,
    /// All legal actions, ascending.
    pub actions: Vec<ActionVisits>,
    /// Nodes of the tree.
    pub n_nodes: u32,
}

impl std::fmt::Display for Decision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let visits: u32 = self.actions.iter().map(|action| action.visits).sum();
        write!(f, "{}, value {:+.3} after {visits} simulations", self.name, self.value)
    }
}

impl From<Choice> for Decision {
    fn from(choice: Choice) -> Self {
        let actions = choice.actions.into_iter().map(|found| ActionVisits {
            action: found.action,
            name: Checkers::action_name(found.action),
            visits: found.visits,
            prior: found.prior,
            value: found.value,
        });
        Self {
            action: choice.action,
            name: Checkers::action_name(choice.action),
            value: choice.value,
            actions: actions.collect(),
            n_nodes: choice.n_nodes,
        }
    }
}

/// Options of a [`Player`]; made by [`Player::builder`].
#[derive(Clone, Debug)]
pub struct PlayerBuilder {
    options: SearchOptions,
    estimator: Estimator,
}

impl PlayerBuilder {
    /// Sets all options at once.
    pub fn options(mut self, options: SearchOptions) -> Self {
        self.options = options;
        self
    }

    setters! {
        /// Simulations of a move. Default 100.
        simulations: u32,
        /// Simulations that are evaluated together. Default 4.
        leaves: u32,
        /// Weight of the priors. Default 2.
        c_puct: f32,
        /// Noise at the root. Default none.
        noise: Option<Noise>,
        /// Nodes of a tree. Default 24 for each simulation.
        max_nodes: u32 = Some(max_nodes),
        /// Memory that holds the trees. Default [`Trees::Auto`].
        trees: Trees,
        /// Seed of all random numbers. Default 0.
        seed: u64,
    }

    /// Temperature of the choice of a move, and the number of actions at the beginning of a game to which it applies. Default 1, for 0 actions.
    pub fn temperature(mut self, temperature: f32, plies: u32) -> Self {
        (self.options.temperature, self.options.temperature_plies) = (temperature, plies);
        self
    }

    /// Memory that it needs: trees, the network that evaluates leaves, its activations, positions and results. Trees in host memory count at their largest possible size.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) for an option that is not allowed; errors of the driver.
    pub fn memory_needed(&self, device: &Device) -> Result<Memory> {
        Searcher::<Checkers>::memory(device, &self.options, &self.estimator, 1)
    }

    /// Allocates the memory for one tree, and for the network on the device.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) for an option that is not allowed; [`Error::Shape`](crate::Error::Shape) for a network that is not for checkers; errors of
    /// [`EvaluatorBuilder::build`](crate::azero::EvaluatorBuilder::build) and of the driver.
    pub fn build(self, device: &Device) -> Result<Player> {
        Ok(Player { searcher: Searcher::new(device, self.options, &self.estimator, 1)? })
    }
}

/// Chooses moves of checkers, a position at a time.
///
/// ```
/// use std::ops::ControlFlow;
/// use warpplay::Device;
/// use warpplay::azero::checkers::Checkers;
/// use warpplay::azero::player::{Estimator, Player};
///
/// let mut player = Player::builder(Estimator::Playouts(8)).simulations(64).build(&Device::cpu())?;
/// let found = player.run(&Checkers::new(), |_| ControlFlow::Continue(()))?;
/// assert_eq!(found.actions.len(), 7);
/// assert_eq!(found.actions.iter().map(|action| action.visits).sum::<u32>(), 64);
/// println!("{} is played", found.name);
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct Player {
    searcher: Searcher<Checkers>,
}

impl Player {
    /// Makes a builder of a player. Leaves are evaluated by a network (`&network`, or an [`Estimator`] with options), or without one by [`Estimator::Uniform`] or
    /// [`Estimator::Playouts`].
    pub fn builder(estimator: impl Into<Estimator>) -> PlayerBuilder {
        PlayerBuilder { options: SearchOptions::default(), estimator: estimator.into() }
    }

    /// The options of its searches.
    pub fn options(&self) -> &SearchOptions {
        self.searcher.options()
    }

    /// Name of the estimator of leaves.
    pub fn name(&self) -> &str {
        self.searcher.name()
    }

    /// The engine that evaluates; `None` without a network.
    pub fn engine(&self) -> Option<Engine> {
        self.searcher.engine()
    }

    /// Number of batches of leaves that were evaluated twice, as [`Evaluator::repeated_batches`](crate::azero::Evaluator::repeated_batches). With trees in device memory,
    /// every batch of an affected search counts, since such a search is repeated.
    pub fn repeated_batches(&self) -> u64 {
        self.searcher.repeated_batches()
    }

    /// Memory that it took, as [`PlayerBuilder::memory_needed`].
    pub fn memory_needed(&self) -> &Memory {
        self.searcher.memory_needed()
    }

    /// Searches a position. The same position gives the same decision every time. `watch` is called between steps of the search, and with the decision at the end; a search
    /// that it stops before then gives no decision.
    ///
    /// # Errors
    /// [`Error::Order`](crate::Error::Order) for a search that `watch` stopped before its end; [`Error::Finished`](crate::Error::Finished) for a position without a move;
    /// [`Error::NotFinite`](crate::Error::NotFinite) if the network gives a NaN or infinity; errors of the driver.
    pub fn run(
        &mut self,
        position: &Checkers,
        watch: impl FnMut(&Progress<Decision>) -> ControlFlow<()>,
    ) -> Result<Decision> {
        self.run_at(position, 0, 0, watch)
    }

    /// Searches a position as ply `ply` of game `game`; both determine its random numbers, and the ply whether the temperature applies.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_at(
        &mut self,
        position: &Checkers,
        game: u64,
        ply: u32,
        mut watch: impl FnMut(&Progress<Decision>) -> ControlFlow<()>,
    ) -> Result<Decision> {
        check_playable(position)?;
        let start = Instant::now();
        let steps = u64::from(self.options().simulations);
        let mut go_on = || {
            let elapsed = start.elapsed();
            watch(&Progress { steps: 0, n_steps: Some(steps), elapsed, time_limit: None, latest: None }).is_continue()
        };
        let found = self.searcher.search(&[Task { position: *position, game, ply }], &mut go_on)?;
        let Some(found) = found else {
            return Err(Error::Order { what: "search of a position", reason: "it was stopped before its end".into() });
        };
        let decision = Decision::from(found.into_iter().next().expect("a decision for the task"));
        // There is nothing left to stop.
        let _ = watch(&Progress {
            steps,
            n_steps: Some(steps),
            elapsed: start.elapsed(),
            time_limit: None,
            latest: Some(decision.clone()),
        });
        Ok(decision)
    }
}
