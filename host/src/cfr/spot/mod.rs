//! Hold'em spots: a given board, ranges, pot, stacks and sizes, from the flop, turn or river on.
//!
//! A player who studies hands does not solve the whole game but a position in it: the board lies there, and each player has a range of hands. [`Spot`] describes it, as JSON or in
//! code; [`Spot::solve`] finds both players' strategies, and [`solve_spots`] those of many spots on several devices. The [`SpotReport`] has every hand's value and actions.
//!
//! ```
//! use warpplay::Device;
//! use warpplay::cfr::spot::{Spot, SpotRun};
//! use warpplay::cfr::{Algorithm, Options};
//!
//! // The pot is 100, and so is each stack. Seat 0 has the best hand (AA) or nothing (65s), seat 1 a hand between.
//! let spot = Spot::parse(
//!     r#"{"pot": 100, "effective_stack": 100, "bet_fraction_of_pot": 1.0, "flop": "Ks 7h 2d", "turn": "8c", "river": "3s",
//!         "ranges": ["AA,65s", "QQ"]}"#,
//! )?;
//! let options = Options { algorithm: Algorithm::CfrPlus, iterations: 500, ..Options::default() };
//! let report = spot.solve(&Device::cpu(), &SpotRun { options, ..SpotRun::default() })?;
//!
//! // In equilibrium AA bets the pot, with half as many bluffs, and QQ calls half the time: AA wins 150, 65s wins 0.
//! assert!(report.exploitability().is_some_and(|chips| chips < 0.5));
//! let expected = (6.0 * 150.0 + 4.0 * 0.0) / 10.0; // six hands AA, four hands 65s
//! assert!((report.ev[0] - expected).abs() < 1.0 && (report.ev[0] + report.ev[1] - 100.0).abs() < 1e-3);
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! | type | what it is |
//! | --- | --- |
//! | [`Spot`], [`Streets`] | the spot; something for each of its streets |
//! | [`Range`] | hands with weights, in the usual notation |
//! | [`BetSize`], [`SeatSizes`] | sizes of bets and raises: parts of the pot, chips, multiples, geometric |
//! | [`SpotLock`], [`LockStrategy`] | strategies that are given and not learnt |
//! | [`SpotRun`] | options, when to measure, and a journal |
//! | [`solve_spots`] | many spots, on one device or several |
//! | [`SpotReport`], [`HandReport`] | what came of it, hand by hand |
//!
//! # The file
//!
//! ```text
//! {
//!   "pot": 100, "effective_stack": 100,            chips in the pot, and what each player can still put in
//!   "flop": "Ks 7h 2d", "turn": "8c", "river": …   turn and river may be left out: then they are dealt
//!   "ranges": ["AA,65s", "QQ"],                    seat 0 acts first on every street
//!   "bet_fraction_of_pot": 1.0,                    one size of bets where bet_sizes names none
//!   "bet_sizes": {"flop": [0.5, "75%", "all-in"]}, by street; one list for both seats or a list each (BetSize has all forms)
//!   "raise_sizes": {"flop": ["2.5x", "a"]},        likewise; "donk_sizes" are seat 0's against the last bettor of the street before
//!   "add_all_in": 1.5, "force_all_in": 0.2,        thresholds in pots: adds all-in; makes a bet that leaves little all-in
//!   "merge_sizes": 0.1,                            leaves out sizes that are close to a larger one
//!   "max_raises": {"river": 2},
//!   "added_lines": ["cr50"], "removed_lines": ["r50r150"],  actions by history that the sizes do not make, and that do not exist
//!   "rake": {"part": 0.05, "cap": 3},              what the house takes
//!   "icm": {"others": [800], "prizes": [50, 30, 20]}, a tournament's prizes, and the chips of players who are not in the hand
//!   "locks": …                                     strategies that are given
//! }
//! ```
//!
//! [`Spot`] explains every field; a file may also hold several spots ([`Spot::read_all`]).

mod batch;
mod betting;
mod file;
mod game;
mod range;
mod report;
mod run;
mod sizes;
mod solve;
mod thresholds;
mod unique;

pub use file::{LockStrategy, Spot, SpotLock, Streets};
pub use range::Range;
pub use report::{HandReport, SpotReport};
pub use run::SpotRun;
pub use sizes::{BetSize, SeatSizes};
pub use solve::solve_spots;
