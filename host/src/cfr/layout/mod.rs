//! How a problem is laid out in tables: what the engines have in common.
//!
//! A solver keeps a regret and an average for every action of every information set. For two players all private hands are handled at once: a table holds *vectors of
//! hands*, one for each action on each public board. [`VectorGame`] is a game in this form. Whoever reads tables of [`SmallBatch`](super::engines::SmallBatch), or writes
//! an engine, finds here where each number stands.
//!
//! ```
//! use warpplay::cfr::layout::VectorGame;
//! use warpplay::cfr::{BettingTree, GameDef};
//!
//! // Kuhn poker: three cards, ante 1, one bet of 1.
//! let kuhn = GameDef::parse(
//!     "GAMEDEF\nnumPlayers = 2\nnumRounds = 1\nblind = 1 1\nraiseSize = 1\nmaxRaises = 1\nnumSuits = 1\nnumRanks = 3\n\
//!      numHoleCards = 1\nnumBoardCards = 0\nEND GAMEDEF\n",
//! )?;
//! let game = VectorGame::from_game(&kuhn, &BettingTree::new(&kuhn)?, true)?;
//!
//! // Each seat has two decisions of two actions each: four vectors of three hands on the one (empty) board.
//! assert_eq!((game.streets[0].boards.len(), game.streets[0].n_slots), (1, [4, 4]));
//! assert_eq!(game.table_len(0), 4 * 3);
//! assert_eq!(game.offset(0, 0, 0, 2), 2 * 3); // where the third vector begins
//! assert_eq!(game.size().information_sets, [6, 6]);
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! | type | what it is |
//! | --- | --- |
//! | [`VectorGame`] | two players' public tree × vectors of hands, made from the rules or a spot |
//! | [`Street`], [`Board`] | a betting round, and what has been dealt by then |
//! | [`Entry`], [`Node`] | the betting of a street from one way to come there |
//! | [`Lock`] | the given strategy of a node |
//! | [`Gadget`] | the choice to end a subgame before its first decision, where it is re-solved |
//! | [`SuitMap`] | a renaming of suits, by which boards are the same |
//! | [`TableIndex`] | where a hand on any board stands in the tables |
//! | [`VectorSize`] | how large a game is, before memory is taken for it |
//!
//! # Streets, boards and entries
//!
//! A *street* is a betting round. Its *boards* are what has been dealt by then, one for each class of boards that differ by names of suits only. Its
//! *entries* are the betting subtrees of the round, one for each way the betting before it can end with the hand going on. Hands are numbered once, by the
//! hands that the first board allows; a hand that a later card blocks keeps its number and has reach 0.
//!
//! ```text
//! table of a seat         one number for each hand of each action vector; regrets, averages and (pcfr_plus) last regrets are such tables
//!   street 0              street_offset(seat, 0)
//!     board 0             its action vectors, over all entries, in the order of Node::Decision's slot
//!       slot 0            [hands of the seat]         offset(seat, street, board, slot)
//!       slot 1            [hands of the seat]         the next action of the same node
//!       …                 n_slots[seat] vectors
//!     board 1
//!     …
//!   street 1
//!   …                     table_len(seat) numbers in all
//! ```
//!
//! Names of suits do not matter as long as nothing in the game tells them apart: a renaming that leaves the board, the ranges and the locked strategies as
//! they are leaves every value as it is. So of boards that such a renaming takes into each other only one is kept, the *representative*; the others are its
//! *members*, and their values are read from it under the renaming (Waugh, "A fast and optimal hand isomorphism algorithm", 2013, has the idea for hands).
//!
//! # Other layouts
//!
//! ```text
//! explicit trees        a table of a seat: [information set][action], sets in the order of Tree::sets
//! betting by hands      a table of a seat: [decision node of the seat][index of the hand · boards + index of the board][action]
//! subset                a table of a seat: [decision node of the seat][card][action]
//! ```
//!
//! Strategies and checkpoints know which layout they have; [`Strategy::query`](super::Strategy::query) finds an information set in any of them.

mod boards;
mod buckets;
mod build;
mod entries;
mod gadget;
mod given;
mod keys;
mod layouts;
mod locks;
mod number;
mod placed;
pub(in crate::cfr) mod public;
mod row;
mod size;
mod tables;
mod terminals;
mod vector;

pub use crate::cfr::game::suits::SuitMap;
pub use gadget::Gadget;
pub use keys::TableIndex;
pub use locks::{Given, Lock};
pub use size::VectorSize;
pub use vector::{Board, Entry, Node, Street, VectorGame};

use crate::cfr::game::suits;

pub(in crate::cfr) use buckets::Buckets;
pub(in crate::cfr) use build::Setup;
pub(in crate::cfr) use layouts::{Layout, LayoutKind};
pub(in crate::cfr) use locks::SetupLock;
pub(in crate::cfr) use number::Number;
pub(in crate::cfr) use placed::Placed;
pub(in crate::cfr) use row::Row;
pub(in crate::cfr) use tables::{Measured, Table, Tables, Values};
pub(in crate::cfr) use terminals::{Removal, Shown, number_sets, showdown};

/// Maximum number of histories of a tree that is built for one measurement: about a minute and some gigabytes.
pub(in crate::cfr) const MOST_MEASURED: u128 = 20_000_000;
