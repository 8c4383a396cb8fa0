//! Matrix games: the worked examples.

use std::sync::Arc;

use warpplay_cpu_ref::cfr::matrix::{Learner, MatrixGame, sampled_self_play, self_play};
use warpplay_cpu_ref::cfr::tree::{Solver, Tree};
use warpplay_cpu_ref::cfr::{Algorithm, Options};
use warpplay_tests::tolerance::{Tolerance, close};

fn learners(game: &MatrixGame) -> [Learner; 2] {
    [0, 1].map(|seat| Learner::new(game.n_actions(seat)))
}

/// Sums of at most ten thousand numbers of at most 4.
const ROUNDING: f64 = 4e4 * f64::EPSILON;

fn within(abs: f64) -> Tolerance {
    Tolerance { abs, rel: 0.0 }
}

/// We play rock, the other paper: regrets 0, 1 and 2, and the next strategy 0, 1/3, 2/3. Then we play scissors against rock: regrets 1, 3 and 2.
#[test]
fn the_worked_rounds_of_rock_paper_scissors() {
    let game = MatrixGame::rock_paper_scissors();
    let mut learner = Learner::new(3);
    let round = |learner: &mut Learner, own: usize, other: usize| {
        let of_actions: Vec<f64> = (0..3).map(|action| game.wins(0, action, other)).collect();
        let strategy = learner.strategy();
        learner.learn(&strategy, &of_actions, of_actions[own]);
    };
    round(&mut learner, 0, 1);
    assert_eq!(learner.regrets, [0.0, 1.0, 2.0]);
    assert_eq!(learner.strategy(), [0.0, 1.0 / 3.0, 2.0 / 3.0]);
    round(&mut learner, 2, 0);
    assert_eq!(learner.regrets, [1.0, 3.0, 2.0]);
    assert_eq!(learner.strategy(), [1.0 / 6.0, 0.5, 1.0 / 3.0]);
}

/// An action wins the difference of two shares of the other's strategy. Where none wins more than ε, the shares are at most ε apart in a circle, and each within ε of a third; what can be won
/// against averages is both seats' regrets over the rounds.
#[test]
fn rock_paper_scissors_is_played_uniformly() {
    let game = MatrixGame::rock_paper_scissors();
    let uniform = [1.0 / 3.0; 3];
    // Regret matching: the root of the sum of squares, of three regrets of at most 2 a round and of what one was at first.
    let rounds = 200_000;
    let regret = (rounds as f64).mul_add(3.0 * 4.0, 1.0).sqrt() / rounds as f64;
    let mut exact = learners(&game);
    exact[0].regrets = vec![1.0, 0.0, 0.0];
    self_play(&game, &mut exact, rounds);
    for learner in exact {
        close("by expectation", &learner.average(), &uniform, within(2.0 * regret));
    }
    // With drawn actions the square is bounded in its mean, two regrets of at most 2 a round, so that Markov bounds it but for a chance; what was drawn lies as near to what was played as Azuma
    // says, with payoffs of at most 1 in size. Two seats and six actions share a chance of 1 %.
    let (rounds, chance) = (2_000_000, 0.01 / 8.0);
    let n = rounds as f64;
    let (regret, draws) = ((2.0 * 4.0 / (chance * n)).sqrt(), (8.0 * (2.0f64 / chance).ln() / n).sqrt());
    let mut sampled = learners(&game);
    sampled_self_play(&game, &mut sampled, rounds, 1);
    for learner in sampled {
        close("with drawn actions", &learner.average(), &uniform, within(2.0 * regret + draws));
    }
}

/// Against 40 % rock, 30 % paper and 30 % scissors paper is best, and has the only regret after the first round, which is played uniformly.
#[test]
fn a_fixed_opponent_is_answered_best() {
    const ROUNDS: u32 = 10_000;
    let game = MatrixGame::rock_paper_scissors();
    let mut learner = Learner::new(3);
    (0..ROUNDS).for_each(|_| learner.round(&game, 0, &[0.4, 0.3, 0.3]));
    let third = 1.0 / (3.0 * f64::from(ROUNDS));
    close("paper", &learner.average(), &[third, 1.0 - 2.0 * third, third], within(ROUNDING));
}

/// To defect is better whatever the other does: all but the first round.
#[test]
fn prisoners_talk() {
    const ROUNDS: u32 = 1000;
    let game = MatrixGame::prisoners_dilemma();
    let mut both = learners(&game);
    self_play(&game, &mut both, ROUNDS.into());
    let half = 0.5 / f64::from(ROUNDS);
    for learner in both {
        close("both defect", &learner.average(), &[half, 1.0 - half], within(ROUNDING));
    }
}

#[test]
fn as_trees_they_are_solved_alike() {
    const ITERATIONS: u32 = 1000;
    let uniform = [1.0 / 3.0; 3];
    let tree = Arc::new(Tree::new(&MatrixGame::rock_paper_scissors()));
    let mut solver = Solver::new(tree.clone(), Options { algorithm: Algorithm::CfrPlus, ..Options::default() });
    // It begins at the equilibrium.
    solver.iterate(100);
    close("rock, paper, scissors", solver.average().at(&tree, 0), &uniform, within(ROUNDING));
    let tree = Arc::new(Tree::new(&MatrixGame::prisoners_dilemma()));
    let mut solver = Solver::new(tree, Options::default());
    solver.iterate(ITERATIONS.into());
    // Both keep silent in half of the first iteration: 3 for both, 0 for the one who is told on, 4 for the other, else 1.
    let silent = 0.5 / f64::from(ITERATIONS);
    let value = 3.0 * silent * silent + 4.0 * silent * (1.0 - silent) + (1.0 - silent) * (1.0 - silent);
    close("both confess: three years of four", &solver.values(), &[value; 2], within(ROUNDING));
}
