//! Games and what they are made of: poker from definition files, and any other game in extensive form.
//!
//! | file | what |
//! | --- | --- |
//! | `game_file` | [`GameDef`], the rules of a poker game, read from a file |
//! | `betting`, `sequences` | the betting without its cards: [`BettingTree`], and [`Sequences`] where at most one size of raise is legal at a time |
//! | `cards`, `ranking` | sets of cards, and which hand wins |
//! | `deal`, `dealer` | [`Deals`] from a seed, and what a sampled deal tells: [`Dealer`] |
//! | `counts` | how large a game is |
//! | `extensive` | [`Game`], the trait of other games, and their [`Tree`]s |

pub(in crate::cfr) mod betting;
pub(in crate::cfr) mod cards;
pub(in crate::cfr) mod counts;
pub(in crate::cfr) mod deal;
pub(in crate::cfr) mod dealer;
pub(in crate::cfr) mod extensive;
pub(in crate::cfr) mod game_file;
pub(in crate::cfr) mod ranking;
pub(in crate::cfr) mod sequences;

pub use betting::{Action, BettingKind, BettingNode, BettingState, BettingTree, MAX_LEVELS, MAX_NODES, Rake, Size};
pub use cards::{CardSet, Deck, RANKS, SUITS, choose, colex_rank, members, set_of, subsets};
pub use counts::Counts;
pub use deal::{Deal, Deals, Lcg};
pub use dealer::{Buckets, Cards, Dealer, Unordered};
pub use extensive::{Game, Goofspiel, InformationSet, LiarsDice, MatrixGame, Poker, PrizeOrder, Tree, Turn};
pub use game_file::GameDef;
pub use ranking::{Category, Ranking, category};
pub use sequences::{ACTIONS, Child, End, Pot, Sequence, Sequences};
