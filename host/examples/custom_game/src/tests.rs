//! Rules and playouts of Hex, against a slow check that shares nothing with them.

use warpplay_gpu::mcts::rng::Stream;
use warpplay_gpu::mcts::{KernelSet, Notation};

use super::*;

/// A playout's words, in a program's own memory; nonsense at first, as on the GPU.
struct Words([u32; SIZE]);

impl Words {
    fn new() -> Self {
        Self([0xdead_beef; SIZE])
    }
}

impl Scratch for Words {
    fn get(&self, word: u32) -> u32 {
        self.0[word as usize]
    }

    fn set(&mut self, word: u32, value: u32) {
        self.0[word as usize] = value;
    }
}

/// Hex with the trait's own playout, which stops at the first chain.
#[repr(transparent)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct PlainHex(Hex);

impl Game for PlainHex {
    const NAME: &'static str = "plain hex";
    const MAX_ACTIONS: u32 = Hex::MAX_ACTIONS;
    const BOARD: (u32, u32) = Hex::BOARD;

    fn to_move(&self) -> Player {
        self.0.to_move()
    }

    fn is_legal(&self, action: u32) -> bool {
        self.0.is_legal(action)
    }

    fn apply(&mut self, action: u32) {
        self.0.apply(action);
    }

    fn outcome(&self) -> Outcome {
        self.0.outcome()
    }

    fn outcome_after(&self, action: u32) -> Outcome {
        self.0.outcome_after(action)
    }
}

fn stream(number: u64) -> Stream {
    Stream::from_state([number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, number])
}

fn played(moves: &str) -> Hex {
    let mut position = Hex::start();
    for action in Hex::parse_moves(moves).unwrap() {
        assert!(position.is_legal(action), "{moves}");
        position.apply(action);
    }
    position
}

/// Winners by union-find over squares and four sides.
struct SlowBoard {
    owners: Vec<Option<Player>>,
    parents: Vec<usize>,
}

impl SlowBoard {
    const TOP: usize = 121;
    const BOTTOM: usize = 122;
    const LEFT: usize = 123;
    const RIGHT: usize = 124;

    fn new() -> Self {
        Self { owners: vec![None; 121], parents: (0..125).collect() }
    }

    fn root(&self, mut square: usize) -> usize {
        while self.parents[square] != square {
            square = self.parents[square];
        }
        square
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a] = b;
    }

    fn place(&mut self, square: usize, player: Player) {
        self.owners[square] = Some(player);
        let (row, column) = (square as i32 / 11, square as i32 % 11);
        for (d_row, d_column) in [(0, -1), (0, 1), (-1, 0), (-1, 1), (1, 0), (1, -1)] {
            let (other_row, other_column) = (row + d_row, column + d_column);
            if (0..11).contains(&other_row) && (0..11).contains(&other_column) {
                let other = (other_row * 11 + other_column) as usize;
                if self.owners[other] == Some(player) {
                    self.join(square, other);
                }
            }
        }
        let sides = match player {
            Player::First => [(row == 0, Self::TOP), (row == 10, Self::BOTTOM)],
            Player::Second => [(column == 0, Self::LEFT), (column == 10, Self::RIGHT)],
        };
        for (_, side) in sides.into_iter().filter(|(touches, _)| *touches) {
            self.join(square, side);
        }
    }

    fn winners(&self) -> Vec<Player> {
        let joined = |a, b| self.root(a) == self.root(b);
        let mut winners = Vec::new();
        if joined(Self::TOP, Self::BOTTOM) {
            winners.push(Player::First);
        }
        if joined(Self::LEFT, Self::RIGHT) {
            winners.push(Player::Second);
        }
        winners
    }
}

#[test]
fn a_straight_chain_wins() {
    let column: String = (1..=10).map(|row| format!("a{row}k{row}")).collect();
    assert_eq!(played(&column).outcome(), Outcome::Ongoing);
    assert_eq!(played(&(column + "a11")).outcome(), Outcome::Win(Player::First));

    let row: String = ('a'..='k').map(|column| format!("{column}11{column}1")).collect();
    assert_eq!(played(&row[..row.len() - 2]).outcome(), Outcome::Ongoing);
    assert_eq!(played(&row).outcome(), Outcome::Win(Player::Second));
}

#[test]
fn only_one_diagonal_is_a_chain() {
    // Down and to the left is a neighbour, down and to the right is not.
    let left: String = (1..=11).zip(('a'..='k').rev()).map(|(row, column)| format!("{column}{row}")).collect();
    let right: String = (1..=11).zip('a'..='k').map(|(row, column)| format!("{column}{row}")).collect();
    let of_first = |moves: &str| {
        let mut position = Hex::new();
        for action in Hex::parse_moves(moves).unwrap() {
            position.rows[action as usize / SIZE] |= 1 << (action % 11);
        }
        position.outcome()
    };
    assert_eq!(of_first(&left), Outcome::Win(Player::First));
    assert_eq!(of_first(&right), Outcome::Ongoing);
}

#[test]
fn a_chain_that_winds_up_and_down_is_found() {
    // A snake: rows 1, 3, 5 … joined at alternate ends.
    let mut position = Hex::new();
    for row in (0..11).step_by(2) {
        position.rows[row] = ROW;
    }
    for row in (1..11).step_by(2) {
        position.rows[row] = if row % 4 == 1 { LAST_COLUMN } else { FIRST_COLUMN };
    }
    assert_eq!(position.outcome(), Outcome::Win(Player::First));
    position.rows[5] = 0;
    assert_eq!(position.outcome(), Outcome::Ongoing);

    // The same on its side, for the second player: many sweeps, since each column goes the other way.
    let mut position = Hex::new();
    for row in &mut position.rows {
        *row = 0b101_0101_0101 << SECOND;
    }
    for column in (1..11).step_by(2) {
        position.rows[if column % 4 == 1 { 10 } else { 0 }] |= 1 << (SECOND + column);
    }
    assert_eq!(position.outcome(), Outcome::Win(Player::Second));
    position.rows[10] &= !(1 << (SECOND + 5));
    assert_eq!(position.outcome(), Outcome::Ongoing);
}

#[test]
fn every_ply_agrees_with_union_find() {
    for number in 0..500 {
        let mut draw = stream(number);
        let (mut position, mut slow) = (Hex::new(), SlowBoard::new());
        let mut first_winner = None;
        for ply in 0..121 {
            assert_eq!(position.to_move(), Player::from_index(ply));
            let n = position.n_playout_actions();
            assert_eq!(n, (0..130).filter(|&action| position.is_legal(action)).count() as u32);
            let action = position.nth_playout_action(draw.below(n));
            slow.place(action as usize, position.to_move());
            position.apply(action);
            let winners = slow.winners();
            assert!(winners.len() <= 1, "two winners\n{}", position.draw());
            let expected = winners.first().map_or(Outcome::Ongoing, |&winner| Outcome::Win(winner));
            assert_eq!(position.outcome(), expected, "\n{}", position.draw());
            // Later stones need not touch the chain.
            if first_winner.is_none() {
                assert_eq!(
                    position.outcome_after(action),
                    expected,
                    "{}\n{}",
                    Hex::action_name(action),
                    position.draw()
                );
            }
            first_winner = first_winner.or(winners.first().copied());
            if let Some(winner) = first_winner {
                assert_eq!(winners, [winner], "a winner stays the winner");
            }
        }
        assert!(first_winner.is_some(), "a full board has a winner\n{}", position.draw());
    }
}

#[test]
fn a_playout_ends_with_the_winner_of_the_plain_one() {
    let mut firsts = 0;
    for number in 0..3000 {
        // From positions of every depth.
        let (mut position, mut draw) = (Hex::new(), stream(number + 1000));
        for _ in 0..number % 60 {
            let action = position.nth_playout_action(draw.below(position.n_playout_actions()));
            position.apply(action);
            if position.outcome_after(action).is_over() {
                break;
            }
        }
        if position.outcome().is_over() {
            continue;
        }
        let filled = position.playout(&mut draw.clone(), &mut Words::new());
        let plain = PlainHex(position).playout(&mut draw, &mut Words::new());
        assert_eq!(filled.outcome, plain.outcome, "\n{}", position.draw());
        assert_eq!(filled.plies, position.n_playout_actions());
        assert!(plain.plies <= filled.plies);
        firsts += (filled.outcome == Outcome::Win(Player::First)) as u32;
    }
    assert!((1350..1650).contains(&firsts), "{firsts} of 3000");
}

#[test]
fn the_last_squares_are_played() {
    let (mut position, mut draw) = (Hex::new(), stream(7));
    while position.n_playout_actions() > 1 {
        position.apply(position.nth_playout_action(draw.below(position.n_playout_actions())));
    }
    let last = position.nth_playout_action(0);
    let playout = position.playout(&mut draw, &mut Words::new());
    position.apply(last);
    assert_eq!(playout, Playout { outcome: position.outcome(), plies: 1 });
    assert!((0..200).all(|action| !position.is_legal(action)));
}

#[test]
fn rows_are_filled_from_their_seeds() {
    for row in 0..=ROW {
        for seed in (0..SIZE).filter(|seed| row >> seed & 1 == 1) {
            let mut expected = 1u32 << seed;
            for _ in 0..SIZE {
                expected |= (expected << 1 | expected >> 1) & row;
            }
            assert_eq!(spread(row, 1 << seed), expected, "{row:b} {seed}");
        }
        assert_eq!((spread(row, row), spread(row, 0)), (row, 0));
        let runs = spread(row, row & 0b100_1001_0010);
        let one_by_one = (0..SIZE as u32)
            .filter(|x| row & 0b100_1001_0010 & 1 << x != 0)
            .fold(0, |all, x| all | spread(row, 1 << x));
        assert_eq!(runs, one_by_one, "{row:b}");
    }
}

#[test]
fn the_n_th_set_bit() {
    for word in 1..=ROW {
        let bits = (0..SIZE as u32).filter(|bit| word >> bit & 1 == 1);
        bits.enumerate().for_each(|(n, bit)| assert_eq!(nth_set_bit(word, n as u32), bit));
    }
}

#[test]
fn squares_and_boards_as_text() {
    assert_eq!(
        (Hex::action_name(0), Hex::action_name(120), Hex::action_name(16)),
        ("a1".into(), "k11".into(), "f2".into())
    );
    assert_eq!(Hex::parse_moves("a1, k11 F2"), Ok(vec![0, 120, 16]));
    assert_eq!(Hex::parse_moves("a1l1").unwrap_err().column, 3);
    let drawn = played("a1k11b2").draw();
    let lines: Vec<&str> = drawn.lines().collect();
    assert_eq!(lines[0], "    a b c d e f g h i j k");
    assert_eq!(lines[1], "  1 X . . . . . . . . . . 1");
    assert_eq!(lines[2], "   2 . X . . . . . . . . . 2");
    assert_eq!(lines[11], "           11 . . . . . . . . . . O 11");
    assert_eq!(lines[12], "               a b c d e f g h i j k");
    assert_eq!(lines.len(), 14);
}

#[test]
fn kernels_bear_the_name_of_the_game() {
    assert!(Hex::kernels().iter().all(|kernel| kernel.name.ends_with("_hex")));
    assert_eq!(Hex::PTX.name, "hex");
    for image in Hex::PTX.images {
        let text = image.text().unwrap();
        let entries: Vec<&str> = text.lines().filter(|line| line.contains(".entry ")).collect();
        assert_eq!(entries.len(), Hex::kernels().len());
        for kernel in Hex::kernels() {
            assert!(image.text().unwrap().contains(&format!(".entry {}(", kernel.name)), "{}", kernel.name);
        }
    }
}
