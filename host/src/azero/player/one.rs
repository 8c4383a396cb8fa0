//! A player for one position at a time.

use super::estimator::Estimator;
use super::options::{Noise, SearchOptions};
use super::searcher::{Decision, Searcher, Task};
use crate::azero::checkers::Checkers;
use crate::mcts::check_playable;
use crate::{Device, Result};

/// Choices for a [`Player`].
#[derive(Clone, Debug)]
pub struct PlayerBuilder {
    options: SearchOptions,
    estimator: Estimator,
}

impl PlayerBuilder {
    /// What evaluates leaves. Default [`Estimator::Uniform`].
    pub fn estimator(mut self, estimator: Estimator) -> Self {
        self.estimator = estimator;
        self
    }

    /// All options at once.
    pub fn options(mut self, options: SearchOptions) -> Self {
        self.options = options;
        self
    }

    /// Simulations of a move. Default 100.
    pub fn simulations(mut self, n: u32) -> Self {
        self.options.simulations = n;
        self
    }

    /// Simulations that are evaluated together. Default 4.
    pub fn leaves(mut self, n: u32) -> Self {
        self.options.leaves = n;
        self
    }

    /// Noise at the root. Default none.
    pub fn noise(mut self, noise: Option<Noise>) -> Self {
        self.options.noise = noise;
        self
    }

    /// Seed of all random numbers. Default 0.
    pub fn seed(mut self, seed: u64) -> Self {
        self.options.seed = seed;
        self
    }

    /// Takes the memory for one tree, and for the network on the device.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) for an option that is not allowed; [`Error::Shape`](crate::Error::Shape) for a network that is not one for
    /// checkers; what [`EvaluatorBuilder::build`](crate::azero::EvaluatorBuilder::build) and the driver say.
    pub fn build(self, device: &Device) -> Result<Player> {
        Ok(Player { searcher: Searcher::new(device, self.options, &self.estimator, 1)? })
    }
}

/// Chooses moves of checkers, a position at a time.
///
/// ```
/// use warpplay::Device;
/// use warpplay::azero::checkers::Checkers;
/// use warpplay::azero::player::{Estimator, Player};
///
/// let builder = Player::builder().simulations(64).estimator(Estimator::Playouts(8));
/// let mut player = builder.build(&Device::cpu())?;
/// let found = player.choose(&Checkers::new())?;
/// assert_eq!(found.actions.len(), 7);
/// assert_eq!(found.actions.iter().map(|action| action.visits).sum::<u32>(), 64);
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct Player {
    searcher: Searcher<Checkers>,
}

impl Player {
    /// A player with the default choices, to be changed.
    pub fn builder() -> PlayerBuilder {
        PlayerBuilder { options: SearchOptions::default(), estimator: Estimator::Uniform }
    }

    /// The options of its searches.
    pub fn options(&self) -> &SearchOptions {
        self.searcher.options()
    }

    /// Name of what evaluates leaves.
    pub fn name(&self) -> &str {
        self.searcher.name()
    }

    /// Searches a position. The same position gets the same answer every time.
    ///
    /// # Errors
    /// [`Error::Finished`](crate::Error::Finished) for a position without a move; [`Error::NotFinite`](crate::Error::NotFinite) if the network gives what is no
    /// number; what the driver says.
    pub fn choose(&mut self, position: &Checkers) -> Result<Decision> {
        self.choose_at(position, 0, 0)
    }

    /// Searches a position as ply `ply` of game `game`, which name its random numbers, and decide whether there is temperature.
    ///
    /// # Errors
    /// As [`choose`](Self::choose).
    pub fn choose_at(&mut self, position: &Checkers, game: u64, ply: u32) -> Result<Decision> {
        check_playable(position)?;
        let found = self.searcher.search(&[Task { position: *position, game, ply }])?;
        Ok(found.into_iter().next().expect("a decision for the task"))
    }
}
