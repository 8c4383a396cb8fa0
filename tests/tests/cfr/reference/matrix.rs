//! Matrix games: the worked examples.

use std::sync::Arc;

use warpplay_cpu_ref::cfr::matrix::{Learner, MatrixGame, sampled_self_play, self_play};
use warpplay_cpu_ref::cfr::tree::{Solver, Tree};
use warpplay_cpu_ref::cfr::{Algorithm, Options};
use warpplay_tests::tolerance::{Tolerance, close};

fn learners(game: &MatrixGame) -> [Learner; 2] {
    [0, 1].map(|seat| Learner::new(game.n_actions(seat)))
}

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

#[test]
fn rock_paper_scissors_is_played_uniformly() {
    let game = MatrixGame::rock_paper_scissors();
    let uniform = [1.0 / 3.0; 3];
    let mut exact = learners(&game);
    exact[0].regrets = vec![1.0, 0.0, 0.0];
    self_play(&game, &mut exact, 20_000);
    let mut sampled = learners(&game);
    sampled_self_play(&game, &mut sampled, 200_000, 1);
    for learner in exact {
        close("by expectation", &learner.average(), &uniform, within(0.01));
    }
    for learner in sampled {
        close("with drawn actions", &learner.average(), &uniform, within(0.02));
    }
}

/// Against 40 % rock, 30 % paper and 30 % scissors paper is best.
#[test]
fn a_fixed_opponent_is_answered_best() {
    let game = MatrixGame::rock_paper_scissors();
    let mut learner = Learner::new(3);
    (0..10_000).for_each(|_| learner.round(&game, 0, &[0.4, 0.3, 0.3]));
    close("paper", &learner.average(), &[0.0, 1.0, 0.0], within(0.01));
}

#[test]
fn prisoners_talk() {
    let game = MatrixGame::prisoners_dilemma();
    let mut both = learners(&game);
    self_play(&game, &mut both, 1000);
    for learner in both {
        close("both defect", &learner.average(), &[0.0, 1.0], within(0.002));
    }
}

#[test]
fn as_trees_they_are_solved_alike() {
    let uniform = [1.0 / 3.0; 3];
    let tree = Arc::new(Tree::new(&MatrixGame::rock_paper_scissors()));
    let mut solver = Solver::new(tree.clone(), Options { algorithm: Algorithm::CfrPlus, ..Options::default() });
    solver.iterate(100);
    close("rock, paper, scissors", solver.average().at(&tree, 0), &uniform, within(1e-9));
    let tree = Arc::new(Tree::new(&MatrixGame::prisoners_dilemma()));
    let mut solver = Solver::new(tree, Options::default());
    solver.iterate(1000);
    close("both confess: three years of four", &solver.values(), &[1.0, 1.0], within(0.02));
}
