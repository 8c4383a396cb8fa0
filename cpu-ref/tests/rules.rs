//! The rules of the games.

use proptest::prelude::*;
use warpplay_cpu_ref::mcts::games::checkers::Checkers;
use warpplay_cpu_ref::mcts::games::connect4::Connect4;
use warpplay_cpu_ref::mcts::games::gomoku::Gomoku;
use warpplay_cpu_ref::mcts::{Game, GameResult, Stream, Streams};

/// Delegates the rules and nothing else, so that all the trait's own versions are used.
#[derive(Clone)]
struct Plain<G>(G);

impl<G: Game> Game for Plain<G> {
    fn max_actions(&self) -> usize {
        self.0.max_actions()
    }
    fn to_move(&self) -> usize {
        self.0.to_move()
    }
    fn is_legal(&self, action: usize) -> bool {
        self.0.is_legal(action)
    }
    fn apply(&mut self, action: usize) {
        self.0.apply(action);
    }
    fn result_after(&self, action: usize) -> Option<GameResult> {
        self.0.result_after(action)
    }
    fn result(&self) -> Option<GameResult> {
        self.0.result()
    }
}

fn legal<G: Game>(position: &G) -> Vec<usize> {
    let mut actions = vec![usize::MAX; 3];
    position.legal_actions(&mut actions);
    actions
}

fn play<G: Game>(mut position: G, actions: &[usize]) -> G {
    for &action in actions {
        assert!(position.is_legal(action), "{action}");
        assert_eq!(position.result(), None, "finished before {action}");
        position.apply(action);
    }
    position
}

/// Move sequences of each length; a finished game has none that go on.
fn perft<G: Game>(position: &G, depth: u32) -> u64 {
    if position.result().is_some() {
        return 0;
    }
    let actions = legal(position);
    if depth == 1 {
        return actions.len() as u64;
    }
    actions
        .iter()
        .map(|&action| {
            let mut next = position.clone();
            next.apply(action);
            if next.result_after(action).is_some() { 0 } else { perft(&next, depth - 1) }
        })
        .sum()
}

#[test]
fn connect4_move_counts() {
    // The usual table of 6 x 7.
    let position = Connect4::new(6, 7);
    for (depth, count) in (1..).zip([7, 49, 343, 2401, 16807, 117_649, 823_536]) {
        assert_eq!(perft(&position, depth), count, "depth {depth}");
    }
}

#[test]
fn connect4_move_counts_to_depth_8() {
    assert_eq!(perft(&Connect4::new(6, 7), 8), 5_673_234);
}

#[test]
fn checkers_move_counts() {
    // OpenSpiel's, a jump being a move of its own.
    for (depth, count) in (1..).zip([7, 49, 302, 1469, 7361]) {
        assert_eq!(perft(&Checkers::new(), depth), count, "depth {depth}");
    }
}

#[test]
fn checkers_ignores_illegal_actions() {
    let mut position = Checkers::new();
    for action in [0, 321, 511, 512, usize::MAX] {
        assert!(!position.is_legal(action));
        position.apply(action);
    }
    assert_eq!(position, Checkers::new());
}

#[test]
fn gomoku_move_counts() {
    assert_eq!(perft(&Gomoku::new(15, true), 2), 225 * 224);
    assert_eq!(perft(&Gomoku::new(3, true), 9), 362_880);
}

#[test]
fn small_boards_are_played_to_the_end() {
    // 1 x 4: 4! orders, nobody can have four. 2 x 2: 4! / (2! 2!) orders of columns.
    assert_eq!(perft(&Connect4::new(1, 4), 4), 24);
    assert_eq!(perft(&Connect4::new(2, 2), 4), 6);
    assert_eq!(perft(&Connect4::new(2, 2), 5), 0);
    for empty in [Connect4::new(0, 7), Connect4::new(6, 0), Connect4::new(0, 0)] {
        assert_eq!(empty.result(), Some(GameResult::Draw));
        assert!(legal(&empty).is_empty());
    }
    assert_eq!(Gomoku::new(0, true).result(), Some(GameResult::Draw));
}

/// All lines of `length` cells, as (row, column), on a board of `rows` × `columns`.
fn lines_of(length: usize, rows: usize, columns: usize) -> Vec<Vec<(usize, usize)>> {
    let mut lines = Vec::new();
    for (up, right) in [(0isize, 1isize), (1, 0), (1, 1), (1, -1)] {
        for row in 0..rows as isize {
            for column in 0..columns as isize {
                let cells: Vec<_> = (0..length as isize).map(|i| (row + i * up, column + i * right)).collect();
                if cells.iter().all(|&(r, c)| (0..rows as isize).contains(&r) && (0..columns as isize).contains(&c)) {
                    lines.push(cells.iter().map(|&(r, c)| (r as usize, c as usize)).collect());
                }
            }
        }
    }
    lines
}

/// The result by looking at all lines of the board cell by cell, apart from the games' own way.
fn winner_by_lines(
    stone: impl Fn(usize, usize) -> Option<usize>,
    rows: usize,
    columns: usize,
    length: usize,
    exact: bool,
) -> Option<usize> {
    let longer = lines_of(length + 1, rows, columns);
    for line in lines_of(length, rows, columns) {
        let Some(player) = stone(line[0].0, line[0].1) else {
            continue;
        };
        let all = |cells: &[(usize, usize)]| cells.iter().all(|&(r, c)| stone(r, c) == Some(player));
        let overline = || longer.iter().any(|long| (long[1..] == line[..] || long[..length] == line[..]) && all(long));
        if all(&line) && !(exact && overline()) {
            return Some(player);
        }
    }
    None
}

/// The player whose stone stands in (row, column).
trait Board: Game {
    fn at(&self, row: usize, column: usize) -> Option<usize>;
}

impl Board for Connect4 {
    fn at(&self, row: usize, column: usize) -> Option<usize> {
        self.stone(row, column)
    }
}

impl Board for Gomoku {
    fn at(&self, row: usize, column: usize) -> Option<usize> {
        self.stone(row * self.size() + column)
    }
}

/// Plays a random game and holds every position of it to the plain definitions.
fn check_random_game<G: Board>(
    start: G,
    (rows, columns): (usize, usize),
    length: usize,
    exact: bool,
    seed: u64,
) -> Result<(), TestCaseError> {
    let mut stream = Streams::new(seed).playout(0);
    let mut position = start;
    for n_stones in 1..=rows * columns {
        prop_assert_eq!(position.to_move(), (n_stones - 1) % 2);
        let actions = legal(&position);
        prop_assert!(actions.is_sorted() && actions.iter().all(|&action| action < position.max_actions()));
        for action in 0..position.max_actions() + 3 {
            prop_assert_eq!(actions.contains(&action), position.is_legal(action));
        }
        for &action in &actions {
            let mut next = position.clone();
            next.apply(action);
            prop_assert_eq!(position.result_of(action), next.result_after(action));
        }
        let action = actions[stream.below(actions.len() as u32) as usize];
        position.apply(action);
        let stones = (0..rows * columns).filter(|&i| position.at(i / columns, i % columns).is_some()).count();
        prop_assert_eq!(stones, n_stones);
        let expected = match winner_by_lines(|row, column| position.at(row, column), rows, columns, length, exact) {
            Some(player) => Some(GameResult::Win(player)),
            None => (n_stones == rows * columns).then_some(GameResult::Draw),
        };
        prop_assert_eq!(position.result(), expected);
        prop_assert_eq!(position.result_after(action), expected);
        if expected.is_some() {
            return Ok(());
        }
    }
    prop_assert!(rows * columns == 0);
    Ok(())
}

/// Playouts of the game's own making against those of the trait: same results, same numbers drawn.
fn check_playouts<G: Game>(start: G, plies: usize, seed: u64) -> Result<(), TestCaseError> {
    let mut stream = Streams::new(seed).playout(1);
    let mut position = start;
    for _ in 0..plies {
        let actions = legal(&position);
        let mut next = position.clone();
        next.apply(actions[stream.below(actions.len() as u32) as usize]);
        if next.result().is_some() {
            break;
        }
        position = next;
    }
    let plain = Plain(position.clone());
    for k in 0..4 {
        let mut own: Stream = Streams::new(seed).playout(k);
        let mut other = own.clone();
        prop_assert_eq!(position.playout(&mut own), plain.playout(&mut other));
        prop_assert_eq!(own, other);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn connect4_random_games(rows in 1usize..9, columns in 1usize..9, seed: u64) {
        check_random_game(Connect4::new(rows, columns), (rows, columns), 4, false, seed)?;
        check_random_game(Connect4::new(6, 7), (6, 7), 4, false, seed)?;
    }

    #[test]
    fn gomoku_random_games(size in 1usize..10, exact: bool, seed: u64) {
        check_random_game(Gomoku::new(size, exact), (size, size), 5, exact, seed)?;
    }

    #[test]
    fn own_playouts_are_the_plain_ones(rows in 1usize..9, columns in 1usize..9, size in 1usize..20, exact: bool, plies in 0usize..40, seed: u64) {
        check_playouts(Connect4::new(rows, columns), plies, seed)?;
        check_playouts(Connect4::new(6, 7), plies, seed)?;
        check_playouts(Gomoku::new(size, exact), plies, seed)?;
    }
}

#[test]
fn connect4_random_games_end_on_every_line() {
    let mut lines = lines_of(4, 6, 7);
    assert_eq!(lines.len(), 69);
    let mut draws = 0;
    let mut stream = Streams::new(0).playout(0);
    for _ in 0..30_000 {
        let mut position = Connect4::new(6, 7);
        let result = loop {
            let actions = legal(&position);
            let action = actions[stream.below(actions.len() as u32) as usize];
            position.apply(action);
            if let Some(result) = position.result_after(action) {
                break result;
            }
        };
        match result {
            GameResult::Draw => {
                draws += 1;
                assert!((0..42).all(|i| position.stone(i / 7, i % 7).is_some()));
                assert_eq!(winner_by_lines(|row, column| position.stone(row, column), 6, 7, 4, false), None);
                assert!(legal(&position).is_empty());
            }
            GameResult::Win(player) => {
                lines.retain(|line| line.iter().any(|&(row, column)| position.stone(row, column) != Some(player)));
            }
        }
    }
    assert_eq!(lines, Vec::<Vec<(usize, usize)>>::new(), "no game ended there");
    // A quarter of a per cent of random games are draws.
    assert!((30..150).contains(&draws), "{draws} draws");
}

fn connect4(moves: &str) -> Connect4 {
    let actions: Vec<usize> = moves.bytes().map(|column| usize::from(column - b'1')).collect();
    play(Connect4::new(6, 7), &actions)
}

#[test]
fn connect4_wins_at_the_edges() {
    for (moves, winner) in [
        ("1122334", 0),     // along the bottom, from the left edge
        ("7766554", 0),     // from the right edge
        ("61122334", 1),    // the second player
        ("1212121", 0),     // up the left edge
        ("7171717", 0),     // up the right edge
        ("21311212131", 0), // to the top of the left edge
        ("12234334744", 0), // diagonal from the lower left corner
        ("76654554144", 0), // and from the lower right
    ] {
        let position = connect4(moves);
        assert_eq!(position.result(), Some(GameResult::Win(winner)), "{moves}");
        assert_eq!(
            position.result_after(usize::from(moves.as_bytes()[moves.len() - 1] - b'1')),
            Some(GameResult::Win(winner)),
            "{moves}"
        );
    }
}

#[test]
fn connect4_lines_do_not_wrap_round_the_edge() {
    // X: e1 f1 g1 and a2; the cell after g1 in the numbering of cells is a2.
    let position = connect4("5162741");
    for (row, column) in [(0, 4), (0, 5), (0, 6), (1, 0)] {
        assert_eq!(position.stone(row, column), Some(0));
    }
    assert_eq!(position.result(), None);
}

#[test]
fn illegal_actions_change_nothing() {
    let mut position = connect4("111111");
    let before = position.clone();
    assert!(!position.is_legal(0));
    for action in [0, 7, 1000] {
        position.apply(action);
        assert_eq!(position.result_of(action), None);
    }
    assert_eq!(position, before);
    assert_eq!(position.result_after(1000), None);
    let mut position = Gomoku::new(15, true);
    position.apply(3);
    let before = position.clone();
    for action in [3, 225, 1000] {
        position.apply(action);
        assert_eq!(position.result_of(action), None);
    }
    assert_eq!(position, before);
    assert_eq!(position.result_after(1000), None);
}

/// A Gomoku position in which player 0 has `stones`, set in this order, and player 1 `others` and then squares out of the way.
fn gomoku(size: usize, exact: bool, stones: &[usize], others: &[usize]) -> Gomoku {
    // A knight's pattern: no two in a line of neighbours.
    let mut free = (0..size * size)
        .filter(|square| (square % size + 2 * (square / size)).is_multiple_of(5))
        .filter(|square| !stones.contains(square) && !others.contains(square));
    let mut others = others.iter().copied();
    let mut actions = Vec::new();
    for (i, &stone) in stones.iter().enumerate() {
        actions.push(stone);
        if i + 1 < stones.len() {
            actions.push(others.next().or_else(|| free.next()).expect("the board has room"));
        }
    }
    play(Gomoku::new(size, exact), &actions)
}

#[test]
fn gomoku_wins_on_every_line_of_five() {
    let lines = lines_of(5, 15, 15);
    assert_eq!(lines.len(), 572);
    for (i, line) in lines.iter().enumerate() {
        let mut stones: Vec<usize> = line.iter().map(|(row, column)| row * 15 + column).collect();
        stones.rotate_left(i % 5);
        for exact in [true, false] {
            let position = gomoku(15, exact, &stones, &[]);
            assert_eq!(position.result(), Some(GameResult::Win(0)), "{stones:?}");
            assert_eq!(position.result_after(stones[4]), Some(GameResult::Win(0)), "{stones:?}");
            // Four of them are not enough.
            assert_eq!(gomoku(15, exact, &stones[..4], &[]).result(), None, "{stones:?}");
        }
    }
}

#[test]
fn gomoku_six_in_a_line_wins_only_in_free_style() {
    for (length, joint) in [(6, 3), (6, 2), (7, 3), (9, 4)] {
        for line in lines_of(length, 15, 15) {
            let mut stones: Vec<usize> = line.iter().map(|(row, column)| row * 15 + column).collect();
            // The stone that joins two shorter lines comes last.
            let last = stones.remove(joint);
            stones.push(last);
            let exact = gomoku(15, true, &stones, &[]);
            assert_eq!(exact.result(), None, "{stones:?}");
            assert_eq!(exact.result_after(last), None);
            let free = gomoku(15, false, &stones, &[]);
            assert_eq!(free.result(), Some(GameResult::Win(0)), "{stones:?}");
            assert_eq!(free.result_after(last), Some(GameResult::Win(0)));
        }
    }
}

#[test]
fn gomoku_five_beside_an_overline_wins() {
    // Six along row 7 through column 7, and five up column 7 through row 7: the last stone is where they cross.
    let row = [4, 5, 6, 8, 9].map(|column| 7 * 15 + column);
    let column = [5, 6, 8, 9].map(|row| row * 15 + 7);
    let stones: Vec<usize> = row.into_iter().chain(column).chain([7 * 15 + 7]).collect();
    assert_eq!(gomoku(15, true, &stones, &[]).result(), Some(GameResult::Win(0)));
}

#[test]
fn gomoku_five_between_two_others_wins() {
    let stones = [3, 4, 5, 6, 7].map(|column| 15 + column);
    let others = [15 + 2, 15 + 8];
    for exact in [true, false] {
        assert_eq!(gomoku(15, exact, &stones, &others).result(), Some(GameResult::Win(0)));
    }
}

#[test]
fn gomoku_lines_do_not_wrap_round_the_edge() {
    for exact in [true, false] {
        // m1 n1 o1 a2 b2, neighbours in the numbering of squares; and the same across a diagonal step.
        assert_eq!(gomoku(15, exact, &[12, 13, 14, 15, 16], &[]).result(), None);
        assert_eq!(gomoku(15, exact, &[12, 28, 44, 60, 76], &[]).result(), None);
        assert_eq!(gomoku(15, exact, &[2, 16, 30, 44, 58], &[]).result(), None);
    }
}

#[test]
fn gomoku_squares_are_numbered_from_a1_along_the_row() {
    let position = gomoku(19, true, &[1, 19], &[18]);
    assert_eq!(position.at(0, 1), Some(0));
    assert_eq!(position.at(1, 0), Some(0));
    assert_eq!(position.at(0, 18), Some(1));
    assert_eq!(position.at(1, 1), None);
    assert_eq!(position.stone(361), None);
}

#[test]
fn gomoku_full_board_is_a_draw() {
    let position = play(Gomoku::new(4, false), &(0..16).collect::<Vec<_>>());
    assert_eq!(position.result(), Some(GameResult::Draw));
    assert_eq!(position.result_after(15), Some(GameResult::Draw));
}
