//! Families of games in which one thing changes: players and raises, or the number of buckets.

use warpplay::cfr::GameDef;
use warpplay::cfr::game::Deck;
use warpplay::{Error, Result};
use warpplay_gpu::cfr::beats::MAX_PLAYERS;

/// A game of players × raises: one hole card, no board, one round, an ante of 1 and raises of 1. Buckets are cards: at most 13 of one suit, else as many suits as
/// needed.
///
/// # Errors
/// [`Error::Option`] if the numbers make no game.
pub fn sweep_game(players: usize, raises: u32, buckets: u32) -> Result<GameDef> {
    let suits = (1..=4).find(|suits| buckets.is_multiple_of(*suits) && (1..=13).contains(&(buckets / suits)));
    let Some(suits) = suits else {
        return Err(Error::option("buckets", buckets, "a number of cards of 1 to 4 suits of at most 13 ranks"));
    };
    game(players, raises, Deck { n_suits: suits as u8, n_ranks: (buckets / suits) as u8 }, [1, 0])
}

/// The betting of variants A and B, two cards each of 36, and so many on the board, 0 to 5: C(36, 2 + board) buckets, B with 5.
///
/// # Errors
/// [`Error::Option`] for more.
pub fn bucket_game(board: usize) -> Result<GameDef> {
    if board > 5 {
        return Err(Error::option("board", board, "0 to 5 cards"));
    }
    game(2, 1, Deck { n_suits: 4, n_ranks: 9 }, [2, board])
}

fn game(players: usize, raises: u32, deck: Deck, [hole, board]: [usize; 2]) -> Result<GameDef> {
    // Before lists of such a length are made.
    if !(2..=MAX_PLAYERS).contains(&players) {
        return Err(Error::option("players", players, format!("2 to {MAX_PLAYERS}")));
    }
    let game = GameDef {
        no_limit: false,
        n_players: players,
        n_rounds: 1,
        stacks: Some(vec![1_000; players]),
        blinds: vec![1; players],
        raise_sizes: vec![1],
        first_players: vec![0],
        max_raises: vec![raises],
        deck,
        n_hole_cards: hole,
        n_board_cards: vec![board],
        bet_sizes: Vec::new(),
    };
    game.check()?;
    Ok(game)
}

/// One game of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Point {
    /// Sequences a level, on average.
    pub per_level: f64,
    /// Milliseconds an iteration of a program of the CPU.
    pub cpu_ms: f64,
    /// Milliseconds an iteration of the program `levels`.
    pub gpu_ms: f64,
}

/// Most sequences a level with which the GPU was not faster, `None` where it always was; and the fewest from which on it was faster at every point of a sweep, `None` where it was
/// not at the last.
pub fn crossover(points: &[Point]) -> [Option<f64>; 2] {
    let slower = points.iter().filter(|point| point.gpu_ms >= point.cpu_ms).map(|point| point.per_level);
    let slower = slower.max_by(f64::total_cmp);
    let above = points.iter().map(|point| point.per_level).filter(|&n| slower.is_none_or(|slower| n > slower));
    [slower, above.min_by(f64::total_cmp)]
}
