//! Rules of the puzzle, and that random play can tell a good press from a bad one.

use warpplay_gpu::mcts::rng::Stream;
use warpplay_gpu::mcts::{Draw, KernelSet, Notation, Scratch};

use super::*;

/// The puzzle's playout needs no memory.
struct NoWords;

impl Scratch for NoWords {
    fn get(&self, _word: u32) -> u32 {
        0
    }

    fn set(&mut self, _word: u32, _value: u32) {}
}

/// Pressing on a plain array.
fn press_slowly(lit: &mut [[bool; 5]; 5], row: i32, column: i32) {
    for (d_row, d_column) in [(0, 0), (0, 1), (0, -1), (1, 0), (-1, 0)] {
        let (row, column) = (row + d_row, column + d_column);
        if (0..5).contains(&row) && (0..5).contains(&column) {
            let lamp = &mut lit[row as usize][column as usize];
            *lamp = !*lamp;
        }
    }
}

/// Every set of lamps with what pressing it switches, once each: sets in the order of the Gray code differ by one lamp.
fn for_each_set_of_presses(mut visit: impl FnMut(u32, u32)) {
    let mut switched = 0;
    for count in 0u32..1 << LAMPS {
        if count > 0 {
            switched ^= switched_by(count.trailing_zeros());
        }
        visit(count ^ count >> 1, switched);
    }
}

/// Presses of the shortest solution.
fn shortest_solution(lit: u32) -> Option<u32> {
    let mut shortest = None;
    for_each_set_of_presses(|presses, switched| {
        if switched == lit {
            let n = presses.count_ones();
            shortest = Some(shortest.map_or(n, |before: u32| before.min(n)));
        }
    });
    shortest
}

#[test]
fn a_press_switches_a_cross() {
    for lamp in 0..LAMPS {
        let mut slow = [[false; 5]; 5];
        press_slowly(&mut slow, lamp as i32 / 5, lamp as i32 % 5);
        let expected = (0..25).filter(|&other| slow[other / 5][other % 5]).fold(0, |all, other| all | 1 << other);
        assert_eq!(switched_by(lamp), expected, "{lamp}");
    }
}

#[test]
fn random_lines_agree_with_the_array() {
    for number in 0..2000 {
        let mut draw = Stream::from_state([number, 5]);
        let presses = 1 + draw.below(LAMPS);
        let pattern = draw.below(ALL + 1);
        let mut puzzle = LightsOut::new(pattern, presses).unwrap();
        let mut slow = [[false; 5]; 5];
        (0..25).for_each(|lamp| slow[lamp / 5][lamp % 5] = pattern >> lamp & 1 == 1);
        for left in (0..presses).rev() {
            if puzzle.outcome().is_over() {
                break;
            }
            assert_eq!(puzzle.to_move(), Player::First);
            let legal: Vec<u32> = (0..40).filter(|&lamp| puzzle.is_legal(lamp)).collect();
            assert_eq!(legal.len() as u32, puzzle.n_playout_actions());
            let n = draw.below(legal.len() as u32);
            let lamp = puzzle.nth_playout_action(n);
            assert_eq!(lamp, legal[n as usize]);
            puzzle.apply(lamp);
            press_slowly(&mut slow, lamp as i32 / 5, lamp as i32 % 5);
            assert!((0..25).all(|lamp| slow[lamp / 5][lamp % 5] == (puzzle.lit() >> lamp & 1 == 1)));
            assert_eq!(puzzle.presses_left(), left);
            assert!(!puzzle.is_legal(lamp) && puzzle.pressed() >> lamp & 1 == 1);
            let expected = match (slow.iter().flatten().any(|&lit| lit), left) {
                (false, _) => Outcome::Win(Player::First),
                (true, 0) => Outcome::Win(Player::Second),
                _ => Outcome::Ongoing,
            };
            assert_eq!((puzzle.outcome(), puzzle.outcome_after(lamp)), (expected, expected));
        }
    }
}

#[test]
fn the_start_is_solved_by_its_presses_in_any_order_and_by_no_fewer() {
    for order in [text::START, [22, 19, 11, 3, 0], [11, 0, 22, 3, 19]] {
        let mut puzzle = LightsOut::start();
        for (pressed, lamp) in order.into_iter().enumerate() {
            assert_eq!(puzzle.outcome(), Outcome::Ongoing, "after {pressed} presses");
            puzzle.apply(lamp);
        }
        assert_eq!(puzzle.outcome(), Outcome::Win(Player::First), "\n{}", puzzle.draw());
    }
    assert_eq!(shortest_solution(LightsOut::start().lit()), Some(5));
}

#[test]
fn a_quarter_of_the_patterns_can_be_solved_and_fifteen_presses_are_enough() {
    // Sets that switch nothing: adding one to a solution gives another, so there are as many solutions of each pattern that has any.
    let mut quiet = Vec::new();
    for_each_set_of_presses(|presses, switched| {
        if switched == 0 {
            quiet.push(presses);
        }
    });
    assert_eq!(quiet.len(), 4);
    let mut most = 0;
    for_each_set_of_presses(|presses, _| {
        let shortest = quiet.iter().map(|set| (presses ^ set).count_ones()).min();
        most = most.max(shortest.unwrap_or(0));
    });
    assert_eq!(most, MOST_PRESSES);
    assert_eq!(shortest_solution(ALL), Some(MOST_PRESSES));
    assert_eq!(shortest_solution(1), None);
}

#[test]
fn out_of_presses_is_lost() {
    let mut puzzle = LightsOut::new(LightsOut::start().lit(), 2).unwrap();
    puzzle.apply(0);
    assert_eq!(puzzle.outcome(), Outcome::Ongoing);
    puzzle.apply(3);
    assert_eq!(puzzle.outcome(), Outcome::Win(Player::Second));
}

#[test]
fn puzzles_out_of_range_are_refused() {
    assert_eq!(LightsOut::new(1 << 25, 5), Err(PuzzleError::Pattern { lit: 1 << 25 }));
    assert_eq!(LightsOut::new(1, 0), Err(PuzzleError::Presses { presses: 0 }));
    assert_eq!(LightsOut::new(1, 26), Err(PuzzleError::Presses { presses: 26 }));
    let error = LightsOut::from_presses(&[3, 25]).unwrap_err();
    assert_eq!(error.to_string(), "lamp 25 (allowed: 0 to 24)");
    assert_eq!(LightsOut::from_presses(&[7, 7]).unwrap().lit(), 0);
    assert!(LightsOut::new(ALL, 25).is_ok());
}

/// Playouts of `puzzle`, `n` of them, that solve it.
fn n_solved(puzzle: LightsOut, n: u32, draw: &mut Stream) -> u32 {
    let is_solved = |draw: &mut Stream| puzzle.playout(draw, &mut NoWords).outcome == Outcome::Win(Player::First);
    (0..n).filter(|_| is_solved(draw)).count() as u32
}

#[test]
fn playouts_favour_a_press_of_the_solution() {
    // Three presses are left to find after a good one, so one playout in C(24, 3) = 2024 does; after a bad one none of so few presses does.
    let puzzle = LightsOut::from_presses(&[2, 10, 13, 24]).unwrap();
    let mut draw = Stream::from_state([1, 2]);
    let mut after = |lamp| {
        let mut puzzle = puzzle;
        puzzle.apply(lamp);
        n_solved(puzzle, 40_000, &mut draw)
    };
    let (good, bad) = (after(10), after(12));
    assert!((10..32).contains(&good) && bad < 5, "{good} and {bad} of 40000");
}

#[test]
fn playouts_end_when_solved_or_out_of_presses() {
    let mut draw = Stream::from_state([3, 4]);
    for presses in [1, 2, 15, 25] {
        let puzzle = LightsOut::new(ALL, presses).unwrap();
        let playout = puzzle.playout(&mut draw, &mut NoWords);
        assert_eq!((playout.outcome, playout.plies), (Outcome::Win(Player::Second), presses));
    }
    let one_left = LightsOut::from_presses(&[7]).unwrap();
    let at_once = (0..200).filter(|_| one_left.playout(&mut draw, &mut NoWords).plies == 1).count();
    assert!((2..20).contains(&at_once), "the one lamp of 25 is found at once in {at_once} of 200");
}

#[test]
fn lamps_and_boards_as_text() {
    assert_eq!(
        (LightsOut::action_name(0), LightsOut::action_name(24), LightsOut::action_name(7)),
        ("a1".into(), "e5".into(), "c2".into())
    );
    assert_eq!(LightsOut::parse_moves("a1 c2E5"), Ok(vec![0, 7, 24]));
    assert_eq!(LightsOut::parse_moves("a1f1").unwrap_err().column, 3);
    let mut puzzle = LightsOut::from_presses(&[12, 0]).unwrap();
    puzzle.apply(0);
    let expected = "  5 . . . . .\n  4 . . * . .\n  3 . * * * .\n  2 . . * . .\n  1 . . . . .\n    a b c d e\npressed: a1; presses left: 14\n";
    assert_eq!(puzzle.draw(), expected);
}

#[test]
fn kernels_bear_the_name_of_the_puzzle() {
    assert!(LightsOut::kernels().iter().all(|kernel| kernel.name.ends_with("_lights_out")));
    assert_eq!(LightsOut::PTX.name, "lights_out");
    for image in LightsOut::PTX.images {
        let text = image.text().unwrap();
        let entries = text.lines().filter(|line| line.contains(".entry "));
        assert_eq!(entries.count(), LightsOut::kernels().len());
        for kernel in LightsOut::kernels() {
            assert!(image.text().unwrap().contains(&format!(".entry {}(", kernel.name)), "{}", kernel.name);
        }
    }
}
