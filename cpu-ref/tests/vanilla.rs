//! The reference player.

use std::cell::Cell;
use std::time::{Duration, Instant};

use warpplay_cpu_ref::mcts::games::connect4::Connect4;
use warpplay_cpu_ref::mcts::games::gomoku::Gomoku;
use warpplay_cpu_ref::mcts::vanilla::Vanilla;
use warpplay_cpu_ref::mcts::{Game, GameResult, NO_ACTION};

fn connect4(moves: &str) -> Connect4 {
    let mut position = Connect4::new(6, 7);
    for column in moves.bytes() {
        position.apply(usize::from(column - b'1'));
    }
    position
}

fn best<G: Game>(position: G, steps: u64, seed: u64) -> usize {
    let mut player = Vanilla::new(position, 2.0, 0.5, seed);
    player.run(Some(steps), None, &|| false);
    player.best()
}

#[test]
fn wins_in_one() {
    for seed in 0..5 {
        assert_eq!(best(connect4("121212"), 200, seed), 0); // X: three in column 1
        assert_eq!(best(connect4("717171"), 200, seed), 6);
        assert_eq!(best(connect4("6112233"), 200, seed), 3); // O: a1 b1 c1
    }
}

#[test]
fn blocks_in_one() {
    for seed in 0..5 {
        assert_eq!(best(connect4("12121"), 5000, seed), 0); // X threatens column 1
        assert_eq!(best(connect4("112233"), 200, seed), 3); // X completes the row
        assert_eq!(best(connect4("11223"), 5000, seed), 3); // and O prevents it
    }
}

#[test]
fn gomoku_wins_and_blocks() {
    // X: a1 b1 c1 d1, O: a3 b3 c3 d3 on 7 x 7; the mover completes its five at e1.
    let mut position = Gomoku::new(7, true);
    for square in [0, 14, 1, 15, 2, 16, 3, 17] {
        position.apply(square);
    }
    assert_eq!(best(position.clone(), 500, 0), 4);
    // X plays elsewhere and O wins at e3.
    position.apply(48);
    assert_eq!(best(position, 500, 0), 18);
    // X has four, closed at one side; O has nothing and must block.
    let mut position = Gomoku::new(7, true);
    for square in [0, 30, 1, 48, 2, 20, 3] {
        position.apply(square);
    }
    assert_eq!(best(position, 30_000, 0), 4);
}

#[test]
fn counts_one_playout_a_step() {
    let mut player = Vanilla::new(connect4(""), 2.0, 0.5, 0);
    for steps in 1..=50 {
        player.step();
        let root = player.nodes()[0];
        assert_eq!((root.n, player.steps()), (steps, steps));
        assert_eq!(player.statistics().actions.iter().map(|sum| sum.n).sum::<u64>(), steps);
    }
    assert_eq!(player.nodes().len() % 7, 1);
}

#[test]
fn plays_out_leaves_once_the_nodes_are_used_up() {
    let mut player = Vanilla::new(connect4(""), 2.0, 0.5, 0).with_max_nodes(100);
    player.run(Some(1000), None, &|| false);
    let statistics = player.statistics();
    assert_eq!((statistics.n_root, statistics.trees.max_size), (1000, 99));
}

#[test]
fn stops_at_each_limit() {
    let mut player = Vanilla::new(connect4(""), 2.0, 0.5, 0);
    assert_eq!(player.run(Some(0), None, &|| false), 0);
    assert_eq!(player.run(Some(33), None, &|| false), 33);
    assert_eq!(player.run(None, None, &|| true), 0);
    assert_eq!(player.run(Some(10), Some(Duration::ZERO), &|| false), 0);
    let start = Instant::now();
    assert!(player.run(None, Some(Duration::from_millis(20)), &|| false) > 0);
    assert!(start.elapsed() >= Duration::from_millis(20));
    let looks = Cell::new(0);
    let made = player.run(None, None, &|| {
        looks.set(looks.get() + 1);
        looks.get() > 3
    });
    assert_eq!(made, 96);
}

#[test]
fn a_finished_game_has_no_best_action() {
    let mut player = Vanilla::new(connect4("1212121"), 2.0, 0.5, 0);
    player.run(Some(10), None, &|| false);
    assert_eq!(player.best(), NO_ACTION);
    assert_eq!(player.nodes()[0].result(), Some(GameResult::Win(0)));
    assert_eq!((player.nodes()[0].n, player.plies()), (10, 0));
}
