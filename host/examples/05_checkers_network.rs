//! Lesson 5: what an AlphaZero network thinks of a position of checkers.

use warpplay::Device;
use warpplay::azero::{Evaluator, Network, NetworkShape, Positions};
use warpplay::mcts::{Checkers, Game, Notation};

fn main() -> warpplay::Result<()> {
    // Random weights: `Network::load` reads trained ones.
    let network = Network::seeded(NetworkShape::default(), 27)?;
    let mut evaluator = Evaluator::builder(&network).build(&Device::auto())?;

    let position = Checkers::start();
    let positions = Positions::of_checkers(&[position], network.observation());
    let found = evaluator.evaluate(positions.observations(), positions.masks())?;

    println!("value {:.3}", found.values[0]);
    let mut sum = 0.0;
    for action in (0..Checkers::MAX_ACTIONS).filter(|&action| position.is_legal(action)) {
        let probability = found.policies[action as usize];
        println!("{} {probability:.3}", Checkers::action_name(action));
        sum += probability;
    }
    assert!((sum - 1.0_f64).abs() < 1e-6, "all of the probability is on legal moves");
    Ok(())
}
