//! Game definition files in the format of the Annual Computer Poker Competition (ACPC).
//!
//! `GAMEDEF` opens and `END GAMEDEF` closes the definition; a line of it is a keyword, an optional `=` and values between blanks. Empty lines and lines
//! that begin with `#` are skipped, and so is all that follows the end. Keywords are matched without regard to case.
//!
//! One keyword is ours: `betSizes = 0.5 1 allin` restricts the raises of a no-limit game to these [`BetSize`]s, in all rounds; `betSizes = 1 allin / 0.5 1` gives each round its own.

mod bet_size;
mod parse;

use std::fmt;
use std::path::Path;

use warpplay_cpu_ref::cfr::poker;

use super::cards::Deck;
use crate::runtime::input_file;
use crate::{Error, Result};

pub use bet_size::BetSize;

/// The rules of a poker game. Read from a file with [`GameDef::read`], from text with [`GameDef::parse`]; `to_string` gives the text of a file.
#[derive(Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GameDef {
    /// Any raise from the minimum to all-in, instead of fixed sizes.
    pub no_limit: bool,
    /// Seats, 2 to 10.
    pub n_players: usize,
    /// Betting rounds, 1 to 4.
    pub n_rounds: usize,
    /// Chips of each seat; `None` for unlimited stacks.
    pub stacks: Option<Vec<u32>>,
    /// Chips that each seat puts in before the first action.
    pub blinds: Vec<u32>,
    /// Chips that a raise adds, by round; empty in no-limit.
    pub raise_sizes: Vec<u32>,
    /// Seat (from 0) that acts first, by round.
    pub first_players: Vec<usize>,
    /// Most raises of a round, by round.
    pub max_raises: Vec<u32>,
    /// The deck.
    pub deck: Deck,
    /// Private cards of a player, 1 to 3.
    pub n_hole_cards: usize,
    /// Cards turned up at the start of each round.
    pub n_board_cards: Vec<usize>,
    /// Sizes of bets and raises by round, instead of every whole number of chips; empty for all of them. Only in no-limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bet_sizes: Vec<Vec<BetSize>>,
}

/// Files of strategies are compared by this text, which is without `bet_sizes` where there are none.
impl fmt::Debug for GameDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("GameDef");
        text.field("no_limit", &self.no_limit)
            .field("n_players", &self.n_players)
            .field("n_rounds", &self.n_rounds)
            .field("stacks", &self.stacks)
            .field("blinds", &self.blinds)
            .field("raise_sizes", &self.raise_sizes)
            .field("first_players", &self.first_players)
            .field("max_raises", &self.max_raises)
            .field("deck", &self.deck)
            .field("n_hole_cards", &self.n_hole_cards)
            .field("n_board_cards", &self.n_board_cards);
        if !self.bet_sizes.is_empty() {
            text.field("bet_sizes", &self.bet_sizes);
        }
        text.finish()
    }
}

/// Most seats.
pub const MAX_PLAYERS: usize = 10;
/// Most betting rounds.
pub const MAX_ROUNDS: usize = 4;
/// Most chips in a number of the file.
pub const MAX_CHIPS: u32 = i32::MAX as u32;
/// Maximum number of raises of a round, which is also the default of a file.
pub const MAX_RAISES: u32 = 255;
/// Maximum size of a file in bytes; a definition has some hundred bytes.
const MAX_BYTES: u64 = 1 << 20;
/// From this number of seats on, a file must give the stacks.
pub const STACKS_NEEDED: usize = 5;

/// Converts the rules to those of the plain implementation.
impl From<&GameDef> for poker::Rules {
    fn from(game: &GameDef) -> Self {
        Self {
            no_limit: game.no_limit,
            stacks: game.stacks.clone(),
            blinds: game.blinds.clone(),
            raise_sizes: game.raise_sizes.clone(),
            first_players: game.first_players.clone(),
            max_raises: game.max_raises.clone(),
            deck: poker::Deck { n_suits: game.deck.n_suits, n_ranks: game.deck.n_ranks },
            n_hole_cards: game.n_hole_cards,
            n_board_cards: game.n_board_cards.clone(),
            bet_sizes: game.bet_sizes.iter().map(|sizes| sizes.iter().map(|&size| size.into()).collect()).collect(),
        }
    }
}

impl GameDef {
    /// Kuhn poker (Kuhn, 1950): three cards, antes of 1, one bet of 1. Its value to the first player is -1/18.
    pub fn kuhn() -> Self {
        Self {
            no_limit: false,
            n_players: 2,
            n_rounds: 1,
            stacks: None,
            blinds: vec![1, 1],
            raise_sizes: vec![1],
            first_players: vec![0],
            max_raises: vec![1],
            deck: Deck { n_suits: 1, n_ranks: 3 },
            n_hole_cards: 1,
            n_board_cards: vec![0],
            bet_sizes: Vec::new(),
        }
    }

    /// Leduc hold'em (Southey et al., 2005): three ranks in two suits, antes of 1, a board card after the first round, two raises a round, of 2 and then of 4.
    pub fn leduc() -> Self {
        Self {
            n_rounds: 2,
            raise_sizes: vec![2, 4],
            first_players: vec![0, 0],
            max_raises: vec![2, 2],
            deck: Deck { n_suits: 2, n_ranks: 3 },
            n_board_cards: vec![0, 1],
            ..Self::kuhn()
        }
    }

    /// The game of a name: `kuhn` or `leduc`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "kuhn" => Some(Self::kuhn()),
            "leduc" => Some(Self::leduc()),
            _ => None,
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::File`] with line and column if it cannot be read or is not a definition.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        parse::parse(&input_file::read_short_text(path, MAX_BYTES)?, path)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// As [`GameDef::read`], under the name `<text>`.
    pub fn parse(text: &str) -> Result<Self> {
        parse::parse(text, Path::new("<text>"))
    }

    /// Checks that the rules can be played; rules read from a file always can.
    ///
    /// # Errors
    /// [`Error::Option`] with the keyword of the file, its value and what is allowed.
    pub fn check(&self) -> Result<()> {
        self.deck.check()?;
        self.problem().map_or(Ok(()), |problem| Err(Error::option(problem.keyword, problem.value, problem.allowed)))
    }

    /// Number of cards on the board in a round.
    pub fn board_cards_by(&self, round: usize) -> usize {
        self.n_board_cards.iter().take(round + 1).sum()
    }

    /// The sizes of bets as in a file.
    fn bet_sizes_text(&self) -> String {
        let of_round = |sizes: &Vec<BetSize>| sizes.iter().map(BetSize::to_string).collect::<Vec<_>>().join(" ");
        self.bet_sizes.iter().map(of_round).collect::<Vec<_>>().join(" / ")
    }

    /// The first error, except in the deck's own size.
    fn problem(&self) -> Option<Problem> {
        let seats = self.n_players;
        if !(2..=MAX_PLAYERS).contains(&seats) {
            return Problem::at("numPlayers", None, seats, format!("2 to {MAX_PLAYERS}"));
        }
        if !(1..=MAX_ROUNDS).contains(&self.n_rounds) {
            return Problem::at("numRounds", None, self.n_rounds, format!("1 to {MAX_ROUNDS}"));
        }
        if !(1..=3).contains(&self.n_hole_cards) {
            return Problem::at("numHoleCards", None, self.n_hole_cards, "1 to 3".into());
        }
        self.problem_of_menu()
            .or_else(|| self.problem_of_lengths())
            .or_else(|| self.problem_of_chips())
            .or_else(|| self.problem_of_seats())
            .or_else(|| self.problem_of_cards())
    }

    /// The first error in the sizes of bets.
    fn problem_of_menu(&self) -> Option<Problem> {
        if self.bet_sizes.is_empty() {
            return None;
        }
        if !self.no_limit {
            return Problem::at("betSizes", None, self.bet_sizes_text(), "none in limit".into());
        }
        let (rounds, allowed) = (self.bet_sizes.len(), format!("sizes for {} rounds, one part a round", self.n_rounds));
        if rounds != self.n_rounds {
            return Problem::at("betSizes", None, format!("for {rounds} rounds"), allowed);
        }
        if self.bet_sizes.iter().any(Vec::is_empty) {
            return Problem::at("betSizes", None, self.bet_sizes_text(), "at least one size a round".into());
        }
        let size = self.bet_sizes.iter().flatten().find(|size| !size.is_allowed())?;
        Problem::at("betSizes", None, size, BetSize::ALLOWED.into())
    }

    /// The first list with too few or too many values.
    fn problem_of_lengths(&self) -> Option<Problem> {
        let seats = self.n_players;
        let raise_sizes = if self.no_limit { 0 } else { self.n_rounds };
        let lists = [
            ("stack", self.stacks.as_ref().map_or(seats, Vec::len), seats, "a seat"),
            ("blind", self.blinds.len(), seats, "a seat"),
            ("raiseSize", self.raise_sizes.len(), raise_sizes, "a round, none in no-limit"),
            ("firstPlayer", self.first_players.len(), self.n_rounds, "a round"),
            ("maxRaises", self.max_raises.len(), self.n_rounds, "a round"),
            ("numBoardCards", self.n_board_cards.len(), self.n_rounds, "a round"),
        ];
        let (keyword, len, expected, of) = lists.into_iter().find(|(_, len, expected, _)| len != expected)?;
        Problem::at(keyword, None, format!("{len} values"), format!("{expected} values, one {of}"))
    }

    /// The first error in stacks, blinds and raises.
    fn problem_of_chips(&self) -> Option<Problem> {
        for (seat, (&stack, &blind)) in self.stacks.iter().flatten().zip(&self.blinds).enumerate() {
            if stack == 0 || stack > MAX_CHIPS {
                return Problem::at("stack", Some(seat), stack, format!("1 to {MAX_CHIPS}"));
            }
            if blind > stack {
                let of = format!("at most the stack of seat {}, {stack}", seat + 1);
                return Problem::at("blind", Some(seat), blind, of);
            }
        }
        let at = |values: &[u32], fails: &dyn Fn(u32) -> bool| values.iter().position(|&value| fails(value));
        if let Some(seat) = at(&self.blinds, &|blind| blind > MAX_CHIPS) {
            return Problem::at("blind", Some(seat), self.blinds[seat], format!("0 to {MAX_CHIPS}"));
        }
        if let Some(round) = at(&self.raise_sizes, &|size| size == 0 || size > MAX_CHIPS) {
            return Problem::at("raiseSize", Some(round), self.raise_sizes[round], format!("1 to {MAX_CHIPS}"));
        }
        let round = at(&self.max_raises, &|raises| raises > MAX_RAISES)?;
        Problem::at("maxRaises", Some(round), self.max_raises[round], format!("0 to {MAX_RAISES}"))
    }

    /// The first seat that acts first in a round and is not there.
    fn problem_of_seats(&self) -> Option<Problem> {
        let seats = self.n_players;
        let round = self.first_players.iter().position(|&first| first >= seats)?;
        let first = self.first_players[round].saturating_add(1);
        Problem::at("firstPlayer", Some(round), first, format!("a seat, 1 to {seats}"))
    }

    /// The first hand or board for which the deck is too small.
    fn problem_of_cards(&self) -> Option<Problem> {
        let seats = self.n_players;
        let n_cards = self.deck.n_cards() as usize;
        let mut dealt = self.n_hole_cards * seats;
        if dealt > n_cards {
            let allowed = format!("{} for {seats} seats and the {n_cards} cards of the deck", most(n_cards / seats));
            return Problem::at("numHoleCards", None, self.n_hole_cards, allowed);
        }
        for (round, &board) in self.n_board_cards.iter().enumerate() {
            let left = n_cards - dealt;
            if board > left {
                let allowed = format!("{}: the other cards of the deck's {n_cards} are dealt", most(left));
                return Problem::at("numBoardCards", Some(round), board, allowed);
            }
            dealt += board;
        }
        None
    }
}

fn most(n: usize) -> String {
    if n == 0 { "none".to_string() } else { format!("at most {n}") }
}

/// What is wrong with a definition.
struct Problem {
    /// The keyword of the line.
    keyword: &'static str,
    /// Which of its values; `None` for all of them.
    index: Option<usize>,
    value: String,
    allowed: String,
}

impl Problem {
    fn at(keyword: &'static str, index: Option<usize>, value: impl ToString, allowed: String) -> Option<Self> {
        Some(Self { keyword, index, value: value.to_string(), allowed })
    }
}

impl fmt::Display for GameDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn list<T: ToString>(values: &[T]) -> String {
            values.iter().map(T::to_string).collect::<Vec<_>>().join(" ")
        }
        let firsts: Vec<usize> = self.first_players.iter().map(|seat| seat.saturating_add(1)).collect();
        writeln!(f, "GAMEDEF\n{}", if self.no_limit { "nolimit" } else { "limit" })?;
        writeln!(f, "numPlayers = {}\nnumRounds = {}", self.n_players, self.n_rounds)?;
        if let Some(stacks) = &self.stacks {
            writeln!(f, "stack = {}", list(stacks))?;
        }
        writeln!(f, "blind = {}", list(&self.blinds))?;
        if !self.no_limit {
            writeln!(f, "raiseSize = {}", list(&self.raise_sizes))?;
        }
        if !self.bet_sizes.is_empty() {
            writeln!(f, "betSizes = {}", self.bet_sizes_text())?;
        }
        writeln!(f, "firstPlayer = {}\nmaxRaises = {}", list(&firsts), list(&self.max_raises))?;
        writeln!(f, "numSuits = {}\nnumRanks = {}", self.deck.n_suits, self.deck.n_ranks)?;
        writeln!(f, "numHoleCards = {}\nnumBoardCards = {}", self.n_hole_cards, list(&self.n_board_cards))?;
        writeln!(f, "END GAMEDEF")
    }
}
