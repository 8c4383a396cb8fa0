//! The rules, held to a slow check that is written another way.

use my_game::{MyGame, SQUARES};
use warpplay_gpu::mcts::rng::Stream;
use warpplay_gpu::mcts::{Draw, Game, KernelSet, Notation, Outcome, Player};

/// Whether a player has a row, a column or a diagonal, square by square.
fn has_line_slowly(position: &MyGame, player: Player) -> bool {
    let has = |row: u32, column: u32| position.stones(player) >> (row * 3 + column) & 1 == 1;
    let straight =
        (0..3).any(|at| (0..3).all(|other| has(at, other)) || (0..3).all(|other| has(other, at)));
    straight || (0..3).all(|at| has(at, at)) || (0..3).all(|at| has(at, 2 - at))
}

#[test]
fn random_games_agree_with_the_slow_check() {
    for number in 0..500 {
        let mut draw = Stream::from_state([number, 7]);
        let mut position = MyGame::start();
        for ply in 0.. {
            let expected = match [Player::First, Player::Second]
                .map(|player| has_line_slowly(&position, player))
            {
                [true, _] => Outcome::Win(Player::First),
                [_, true] => Outcome::Win(Player::Second),
                _ if ply == SQUARES => Outcome::Draw,
                _ => Outcome::Ongoing,
            };
            assert_eq!(position.outcome(), expected, "\n{}", position.draw());
            if expected != Outcome::Ongoing {
                break;
            }
            assert_eq!(position.to_move(), Player::from_index(ply));
            let legal: Vec<u32> = (0..40)
                .filter(|&action| position.is_legal(action))
                .collect();
            assert_eq!(legal.len() as u32, position.n_playout_actions());
            let action = legal[draw.below(legal.len() as u32) as usize];
            let mut after = position;
            after.apply(action);
            assert_eq!(after.outcome_after(action), after.outcome());
            position = after;
        }
    }
}

#[test]
fn moves_are_read_and_written() {
    assert_eq!(MyGame::parse_moves("a1c3"), Ok(vec![0, 8]));
    assert_eq!(
        (MyGame::action_name(0), MyGame::action_name(8)),
        ("a1".to_string(), "c3".to_string())
    );
}

#[test]
fn kernels_bear_the_name_of_the_game() {
    assert!(
        MyGame::kernels()
            .iter()
            .all(|kernel| kernel.name.ends_with("_my_game"))
    );
}
