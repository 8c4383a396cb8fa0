//! Games and what they are made of: poker from definition files, and any other game in extensive form.
//!
//! A solver needs the rules of a game as data. For poker that is a definition file ([`GameDef`]), from which the betting ([`BettingTree`]), the deals and the
//! order of hands follow. Any other game with turns, chance and hidden information implements [`Game`] and is written out as a [`Tree`].
//!
//! ```
//! use warpplay::cfr::game::{Category, Counts, Deck, GameDef, Ranking, category, set_of};
//!
//! // Leduc hold'em: six cards, two betting rounds.
//! let leduc = GameDef::leduc();
//! let counts = Counts::of(&leduc)?;
//! assert_eq!((counts.sequences, counts.information_sets), (6 + 5 * 6, 6 * 6 + 5 * 6 * 6 * 5));
//!
//! // Which hand wins.
//! let ranking = Ranking::new(Deck::FULL);
//! let strength = |cards| Deck::FULL.cards(cards).map(|cards| ranking.strength(set_of(&cards)));
//! let (flush, straight) = (strength("Ah Kh 7h 5h 2h")?, strength("Tc 9d 8h 7s 6c")?);
//! assert!(flush > straight && category(straight) == Category::Straight);
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! | type | what it is |
//! | --- | --- |
//! | [`GameDef`] | the rules of a poker game, read from a file |
//! | [`BettingTree`], [`BettingNode`], [`BettingState`], [`Action`] | the betting without its cards |
//! | [`Rake`], [`Icm`] | what the house takes, and what chips are worth in prizes |
//! | [`Sequences`], [`Sequence`], [`End`], [`Pot`] | the same in decisions of at most three actions, with side pots |
//! | [`Deck`], [`CardSet`], [`set_of`], [`members`], [`subsets`] | cards, and sets of them |
//! | [`Ranking`], [`Category`] | which hand wins |
//! | [`Deals`], [`Dealer`], [`Lcg`] | deals from a seed, and what a sampled deal tells |
//! | [`Buckets`], [`Unordered`] | hands that are played alike |
//! | [`Counts`] | how large a game is |
//! | [`Game`], [`Turn`], [`Tree`], [`InformationSet`] | the trait of other games, and their trees |
//! | [`MatrixGame`], [`Goofspiel`], [`LiarsDice`], [`Poker`] | games that implement it |
//!
//! # A game of one's own
//!
//! It needs one type for its states and the functions of [`Game`]:
//!
//! ```
//! use warpplay::cfr::{Game, Tree, game::Turn};
//!
//! /// A coin is tossed; the first player sees it and may show it or not; the second guesses it.
//! struct Coin;
//!
//! impl Game for Coin {
//!     type State = Vec<usize>;
//!     fn name(&self) -> String {
//!         "coin".to_string()
//!     }
//!     fn n_players(&self) -> usize {
//!         2
//!     }
//!     fn root(&self) -> Vec<usize> {
//!         Vec::new()
//!     }
//!     fn turn(&self, state: &Vec<usize>) -> Turn {
//!         match state[..] {
//!             [] => Turn::Chance(vec![0.5, 0.5]),
//!             [_] => Turn::Decision { seat: 0, n_actions: 2 },
//!             [_, _] => Turn::Decision { seat: 1, n_actions: 2 },
//!             [coin, shown, guess, ..] => {
//!                 let won = if coin == guess { 1.0 } else { -1.0 } - 0.5 * shown as f64;
//!                 Turn::End(vec![-won, won])
//!             }
//!         }
//!     }
//!     fn next(&self, state: &Vec<usize>, action: usize) -> Vec<usize> {
//!         [&state[..], &[action]].concat()
//!     }
//!     fn key(&self, state: &Vec<usize>) -> String {
//!         match state[..] {
//!             [coin, 1] => format!("shown {coin}"),
//!             [coin] => format!("{coin}"),
//!             _ => "hidden".to_string(),
//!         }
//!     }
//! }
//!
//! let tree = Tree::build(&Coin)?;
//! assert_eq!((tree.n_nodes(), tree.sets().len()), (15, 5));
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! # Data layout
//!
//! ```text
//! card       rank · n_suits + suit        2c = 0, 2d = 1, 2h = 2, 2s = 3, 3c = 4, … of a full deck; ranks from the deuce on
//! CardSet    u64, bit = card
//! history    f, c, r (no-limit: r and the total, as r8), / between rounds: crc/r
//! ```

pub(in crate::cfr) mod betting;
pub(in crate::cfr) mod cards;
pub(in crate::cfr) mod counts;
pub(in crate::cfr) mod deal;
pub(in crate::cfr) mod dealer;
pub(in crate::cfr) mod extensive;
pub(in crate::cfr) mod game_file;
pub(in crate::cfr) mod ranking;
pub(in crate::cfr) mod sequences;
pub(in crate::cfr) mod suits;

pub use betting::{
    Action, BettingKind, BettingNode, BettingState, BettingTree, Icm, MAX_LEVELS, MAX_NODES, Rake, Size,
};
pub use cards::{CardSet, Deck, RANKS, SUITS, choose, colex_rank, members, set_of, subsets};
pub use counts::Counts;
pub use deal::{Deal, Deals, Lcg};
pub use dealer::{Buckets, Cards, Dealer, Unordered};
pub use extensive::{Game, Goofspiel, InformationSet, LiarsDice, MatrixGame, Poker, PrizeOrder, Tree, Turn};
pub use game_file::{BetSize, GameDef};
pub use ranking::{Category, Ranking, category};
pub use sequences::{ACTIONS, Child, End, Pot, Sequence, Sequences};
