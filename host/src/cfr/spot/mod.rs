//! Hold'em spots: a given board, ranges, pot, stacks and sizes, from the flop, turn or river on.
//!
//! A player who studies hands does not solve the whole game but a position in it: the board lies there, and each player has a range of hands. [`Spot`] describes it, as JSON or in
//! code; [`Spot::solve`] finds both players' strategies, and [`solve_spots`] those of many spots on several devices. The [`SpotReport`] has every hand's value, and its actions on the first
//! street. [`SpotSolver`] solves in steps up to a target, and saves everything; a [`SolvedSpot`] is walked node by node, to the river.
//!
//! ```
//! use warpplay::Device;
//! use warpplay::cfr::Options;
//! use warpplay::cfr::spot::{Spot, SpotRun};
//!
//! // The pot is 100, and so is each stack. Seat 0 has the best hand (AA) or nothing (65s), seat 1 a hand between.
//! let spot = Spot::parse(
//!     r#"{"pot": 100, "effective_stack": 100, "bet_fraction_of_pot": 1.0, "flop": "Ks 7h 2d", "turn": "8c", "river": "3s",
//!         "ranges": ["AA,65s", "QQ"]}"#,
//! )?;
//! let options = Options { iterations: 500, ..Options::SPOT };
//! let report = spot.solve(&Device::cpu(), &SpotRun { options, ..SpotRun::default() })?;
//!
//! // In equilibrium AA bets the pot, with half as many bluffs, and QQ calls half the time: AA wins 150, 65s wins 0.
//! assert!(report.exploitability().is_some_and(|chips| chips < 0.5));
//! let expected = (6.0 * 150.0 + 4.0 * 0.0) / 10.0; // six hands AA, four hands 65s
//! assert!((report.ev[0] - expected).abs() < 1.0 && (report.ev[0] + report.ev[1] - 100.0).abs() < 1e-3);
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! All streets, from a file:
//!
//! ```
//! use std::ops::ControlFlow;
//! use warpplay::Device;
//! use warpplay::cfr::spot::{SolvedSpot, Spot, SpotForm, SpotSolver, SpotTarget};
//!
//! let spot = Spot::parse(
//!     r#"{"pot": 100, "effective_stack": 100, "bet_fraction_of_pot": 1.0, "flop": "Ks 7h 2d", "turn": "8c",
//!         "ranges": ["AA,65s", "QQ"], "max_raises": {"turn": 1, "river": 1}}"#,
//! )?;
//! let mut solver = SpotSolver::builder(&spot).target(SpotTarget::PartOfPot(0.02)).build(&Device::cpu())?;
//! solver.run(|_| ControlFlow::Continue(()))?;
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("turn.spot");
//! solver.save(&path, SpotForm::Strategies)?;
//!
//! // Both check the turn, and a four comes on the river.
//! let solved = SolvedSpot::open(&path)?;
//! let node = solved.root().child("c")?.child("c")?.deal("4c")?;
//! assert_eq!((node.history().as_str(), node.street(), node.actions()), ("cc/", "river", vec!["c".into(), "r100".into()]));
//! let straight = node.strategy("6c5c")?; // check, bet
//! assert!((straight.iter().sum::<f64>() - 1.0).abs() < 1e-9);
//! let report = node.report()?;
//! assert!((report.ev[0] + report.ev[1] - report.pot).abs() < 1e-6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | type | what it is |
//! | --- | --- |
//! | [`Spot`], [`Streets`] | the spot; something for each of its streets |
//! | [`Range`], [`NamedRange`] | hands with weights, in the usual notation; a small library of them |
//! | [`BetSize`], [`SeatSizes`] | sizes of bets and raises: parts of the pot, chips, multiples, geometric |
//! | [`SpotLock`], [`LockStrategy`] | strategies that are given and not learnt |
//! | [`SpotRun`] | options, when to measure, and a journal |
//! | [`solve_spots`] | many spots, on one device or several |
//! | [`Boards`], [`Board`] | all boards that can come next, each class of them once, or a few with weights |
//! | [`solve_boards`], [`Aggregate`] | a spot on many boards, on one device or several, with values and frequencies: [`BoardRow`], [`BoardValues`], [`Decision`] |
//! | [`BoardMean`], [`BoardGroup`], [`Texture`], [`Pairing`], [`Suits`] | means over boards, and the features by which they are grouped |
//! | [`SpotReport`], [`HandReport`] | what came of it, hand by hand |
//! | [`SpotSolver`], [`SpotSolverBuilder`], [`SpotTarget`] | a solve of one spot, in steps, to a target, saved and gone on with |
//! | [`SolvedSpot`], [`SpotForm`] | a solved spot, and what its file holds |
//! | [`Node`], [`NodeReport`], [`NodeHand`] | a node of it: the actions and cards after it, its strategy, and the value of each hand |
//! | [`Practice`], [`PracticeHand`], [`PracticeEvent`], [`PracticeMove`], [`Verb`] | hands of it, dealt to a player and played against the saved strategy |
//! | [`PracticeJudgement`], [`PracticeDecision`], [`PracticeRecord`], [`PracticeScore`] | the values of the player's decisions, and the score |
//! | [`HandClass`], [`ActionTotal`] | its hands in a grid of 169 classes, and its actions over all hands |
//!
//! # The file
//!
//! ```text
//! {
//!   "pot": 100, "effective_stack": 100,            chips in the pot, and what each player can still put in
//!   "flop": "Ks 7h 2d", "turn": "8c", "river": …   turn and river may be left out: then they are dealt; all three for a spot on many flops
//!   "ranges": ["AA,65s", "QQ"],                    seat 0 acts first on every street; also "@bb_call_btn", a NamedRange
//!   "bet_fraction_of_pot": 1.0,                    one size of bets where bet_sizes names none
//!   "bet_sizes": {"flop": [0.5, "75%", "all-in"]}, by street; one list for both seats or a list each (BetSize has all forms)
//!   "raise_sizes": {"flop": ["2.5x", "a"]},        likewise; "donk_sizes" are seat 0's against the last bettor of the street before
//!   "add_all_in": 1.5, "force_all_in": 0.2,        thresholds in pots: adds all-in; makes a bet that leaves little all-in
//!   "merge_sizes": 0.1,                            leaves out sizes that are close to a larger one
//!   "max_raises": {"river": 2},
//!   "added_lines": ["cr50"], "removed_lines": ["r50r150"],  histories whose last action is added to the tree, or removed from it
//!   "rake": {"part": 0.05, "cap": 3},              what the house takes
//!   "icm": {"others": [800], "prizes": [50, 30, 20]}, a tournament's prizes, and the chips of players who are not in the hand
//!   "locks": …                                     strategies that are given: to all hands or some, on all boards or some
//! }
//! ```
//!
//! [`Spot`] explains every field; a file may also hold several spots ([`Spot::read_all`]).
//!
//! # Solved spots
//!
//! ```text
//! FILE.spot   safetensors, written whole or not at all; the spot, the options and the trajectory stand in the metadata
//!   regrets.0.turn, averages.0.turn, …   form full: [boards, action vectors of a board, hands] of seat 0 on the turn, F32 or F64 as the solver has them
//!   strategy.0.turn, …                   form strategies: probabilities in U16, 65535 together in each information set; 0 in sets never reached
//! ```
//!
//! The header has a checksum, and so has each tensor: a reader maps the file and checks only what it uses. The order of numbers is that of [`layout`](super::layout).

mod aggregate;
mod batch;
mod betting;
mod boards;
mod file;
mod game;
pub(in crate::cfr) mod grid;
mod locks;
mod many;
mod node;
mod practice;
mod range;
mod report;
mod run;
mod saved;
mod sizes;
mod solve;
mod solved;
mod solver;
mod target;
mod texture;
mod thresholds;
mod unique;

pub use aggregate::{Aggregate, BoardGroup, BoardMean, BoardRow, BoardValues, Decision};
pub use boards::{Board, Boards};
pub use file::{LockStrategy, Spot, SpotLock, Streets};
pub use grid::{ActionTotal, HandClass};
pub use many::solve_boards;
pub use node::{Node, NodeHand, NodeReport};
pub use practice::{
    Practice, PracticeDecision, PracticeEvent, PracticeHand, PracticeJudgement, PracticeMove, PracticeRecord,
    PracticeScore, Verb,
};
pub use range::{NamedRange, Range};
pub use report::{HandReport, SpotReport};
pub use run::SpotRun;
pub use saved::SpotForm;
pub use sizes::{BetSize, SeatSizes};
pub use solve::solve_spots;
pub use solved::SolvedSpot;
pub use solver::{SpotSolver, SpotSolverBuilder};
pub use target::SpotTarget;
pub use texture::{Pairing, Suits, Texture};
