//! Checkers (English draughts) on 8 × 8: pieces step and jump diagonally, a jump captures, who cannot move loses.
//!
//! ```text
//! row 0 (named 8)   . + . + . + . +     player 1, men + and kings *, moves down
//! row 1             + . + . + . + .
//! row 2             . + . + . + . +     Action = (square · 4 + direction) · 2 + type, square = row · 8 + column;
//! row 3             . . . . . . . .     direction 0 up-left, 1 up-right, 2 down-right, 3 down-left;
//! row 4             . . . . . . . .     type 0 one step, 1 a jump over an enemy.
//! row 5             o . o . o . o .
//! row 6             . o . o . o . o
//! row 7 (named 1)   o . o . o . o .     player 0, men o and kings 8, moves up and begins
//!                   a             h
//! ```
//!
//! Each jump is an action of its own: a piece that has jumped and can jump again must, and its player stays to move. A man that reaches the last row is a
//! king from then on, and its turn ends. If any jump is possible, steps are not.
//!
//! Source: OpenSpiel 2.0.2, game `checkers`.

use super::super::game::{Game, GameResult};

/// Number of successive actions without a capture after which the game is drawn.
pub const MAX_QUIET_ACTIONS: u32 = 40;

/// What each direction adds to row and column.
const DIRECTIONS: [(i32, i32); 4] = [(-1, -1), (-1, 1), (1, 1), (1, -1)];

/// Content of a square; the number is the player's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Square {
    /// Nothing.
    Empty,
    /// A man, which moves only forward.
    Man(usize),
    /// A king.
    King(usize),
}

impl Square {
    fn player(self) -> Option<usize> {
        match self {
            Self::Empty => None,
            Self::Man(player) | Self::King(player) => Some(player),
        }
    }
}

/// A position of checkers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkers {
    /// `[row][column]`, row 0 on top.
    board: [[Square; 8]; 8],
    to_move: usize,
    quiet_actions: u32,
    /// The piece that has just jumped and must jump again.
    jumper: Option<(usize, usize)>,
}

/// The components of an action.
#[derive(Clone, Copy)]
struct Move {
    row: usize,
    column: usize,
    direction: usize,
    is_jump: bool,
}

impl Move {
    fn of(action: usize) -> Self {
        let square = action / 8;
        Self { row: square / 8, column: square % 8, direction: action / 2 % 4, is_jump: action % 2 == 1 }
    }

    fn action(self) -> usize {
        ((self.row * 8 + self.column) * 4 + self.direction) * 2 + usize::from(self.is_jump)
    }

    /// The square `steps` steps away, if it is on the board.
    fn square_after(self, steps: i32) -> Option<(usize, usize)> {
        let (rows, columns) = DIRECTIONS[self.direction];
        let on_board = |at: i32| usize::try_from(at).ok().filter(|&at| at < 8);
        on_board(self.row as i32 + steps * rows).zip(on_board(self.column as i32 + steps * columns))
    }
}

impl Default for Checkers {
    fn default() -> Self {
        Self::new()
    }
}

impl Checkers {
    /// The starting position: twelve men each, player 0 to move.
    pub fn new() -> Self {
        let mut board = [[Square::Empty; 8]; 8];
        for (row, squares) in board.iter_mut().enumerate() {
            for (column, square) in squares.iter_mut().enumerate() {
                match row {
                    _ if (row + column) % 2 == 0 => {}
                    0..=2 => *square = Square::Man(1),
                    5..=7 => *square = Square::Man(0),
                    _ => {}
                }
            }
        }
        Self { board, to_move: 0, quiet_actions: 0, jumper: None }
    }

    /// The content of a square, `row * 8 + column`; empty beyond the board.
    pub fn square(&self, square: usize) -> Square {
        self.board.get(square / 8).map_or(Square::Empty, |row| row[square % 8])
    }

    /// The board as 64 characters, row 0 first: `o` and `8` men and kings of player 0, `+` and `*` of player 1, `.` empty.
    pub fn board_text(&self) -> String {
        let character = |square: &Square| match square {
            Square::Empty => '.',
            Square::Man(0) => 'o',
            Square::King(0) => '8',
            Square::Man(_) => '+',
            Square::King(_) => '*',
        };
        self.board.iter().flatten().map(character).collect()
    }

    /// Actions since the last capture.
    pub fn quiet_actions(&self) -> u32 {
        self.quiet_actions
    }

    /// The square of the piece that has just jumped and must jump again.
    pub fn jumper(&self) -> Option<usize> {
        self.jumper.map(|(row, column)| row * 8 + column)
    }

    fn at(&self, (row, column): (usize, usize)) -> Square {
        self.board[row][column]
    }

    /// Whether the piece of the player to move on the move's square could make it if captures were not compulsory.
    fn can(&self, candidate: Move) -> bool {
        let forward = match self.at((candidate.row, candidate.column)) {
            Square::Man(player) if player == self.to_move => (candidate.direction < 2) == (player == 0),
            Square::King(player) => player == self.to_move,
            _ => false,
        };
        let Some(next) = candidate.square_after(1) else { return false };
        if !candidate.is_jump {
            return forward && self.at(next) == Square::Empty;
        }
        let Some(beyond) = candidate.square_after(2) else { return false };
        forward && self.at(next).player() == Some(1 - self.to_move) && self.at(beyond) == Square::Empty
    }

    /// All moves of one kind from one square.
    fn moves_from(&self, row: usize, column: usize, is_jump: bool) -> impl Iterator<Item = usize> + '_ {
        (0..4).filter_map(move |direction| {
            let candidate = Move { row, column, direction, is_jump };
            self.can(candidate).then(|| candidate.action())
        })
    }

    /// The legal actions, ignoring the rule of the 40 quiet actions.
    fn find_moves(&self, out: &mut Vec<usize>) {
        out.clear();
        if let Some((row, column)) = self.jumper {
            out.extend(self.moves_from(row, column, true));
            return;
        }
        for is_jump in [true, false] {
            for row in 0..8 {
                for column in 0..8 {
                    out.extend(self.moves_from(row, column, is_jump));
                }
            }
            if !out.is_empty() {
                return;
            }
        }
    }
}

impl Game for Checkers {
    fn max_actions(&self) -> usize {
        512
    }

    fn to_move(&self) -> usize {
        self.to_move
    }

    fn is_legal(&self, action: usize) -> bool {
        let mut legal = Vec::new();
        self.legal_actions(&mut legal);
        legal.contains(&action)
    }

    /// Moves a piece, removes the piece that it jumped over, and crowns it on the last row. An illegal action changes nothing.
    fn apply(&mut self, action: usize) {
        if !self.is_legal(action) {
            return;
        }
        let made = Move::of(action);
        let piece = self.at((made.row, made.column));
        let Some(to) = made.square_after(if made.is_jump { 2 } else { 1 }) else { return };
        let last_row = if self.to_move == 0 { 0 } else { 7 };
        let crowned = matches!(piece, Square::Man(_)) && to.0 == last_row;
        self.board[made.row][made.column] = Square::Empty;
        self.board[to.0][to.1] = if crowned { Square::King(self.to_move) } else { piece };
        self.jumper = None;
        self.quiet_actions += 1;
        if made.is_jump {
            if let Some((row, column)) = made.square_after(1) {
                self.board[row][column] = Square::Empty;
            }
            self.quiet_actions = 0;
            if !crowned && self.moves_from(to.0, to.1, true).next().is_some() {
                self.jumper = Some(to);
                return;
            }
        }
        self.to_move = 1 - self.to_move;
    }

    fn result_after(&self, _action: usize) -> Option<GameResult> {
        self.result()
    }

    fn result(&self) -> Option<GameResult> {
        if self.quiet_actions >= MAX_QUIET_ACTIONS {
            return Some(GameResult::Draw);
        }
        let mut moves = Vec::new();
        self.find_moves(&mut moves);
        moves.is_empty().then_some(GameResult::Win(1 - self.to_move))
    }

    /// The legal actions, ascending; none once the game is over.
    fn legal_actions(&self, out: &mut Vec<usize>) {
        out.clear();
        if self.quiet_actions < MAX_QUIET_ACTIONS {
            self.find_moves(out);
        }
    }
}
