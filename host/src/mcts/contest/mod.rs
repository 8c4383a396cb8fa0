//! Games between two players, recorded so that they can be played again exactly.
//!
//! A search that is limited by time makes another number of steps in each run. A [`GameRecord`] holds the steps of every move, so [`play_game`] repeats it by
//! steps instead of time, on any device, and finds the same values and counts; [`GameRecord::differences`] names what differs.
//!
//! ```
//! use warpplay::mcts::contest::{Contestant, PlayerOptions, Scores, Side, VanillaOptions, play_game};
//! use warpplay::mcts::{Connect4, Options};
//! use warpplay::{Device, Progress};
//!
//! let search = Options { n_trees: 1, n_playouts: 4, seconds: Some(0.002), ..Options::default() };
//! let device = Device::cpu();
//! let a = Contestant::<Connect4>::new(&PlayerOptions::Search(search), &device)?;
//! let b = Contestant::new(&PlayerOptions::Vanilla(VanillaOptions { seconds: Some(0.002), ..Default::default() }), &device)?;
//! let mut players = [a, b];
//! let game = play_game(&mut players, &Connect4::new(), Side::A, [1, 2], &[], Progress::go_on)?.expect("nobody stopped it");
//! let again = play_game(&mut players, &Connect4::new(), Side::A, [1, 2], &game.record.moves, Progress::go_on)?;
//! assert_eq!(again.expect("nobody stopped it").record, game.record);
//! assert_eq!(Scores::of([&game.record]).a.searches, game.record.moves_of(Side::A).count() as u64);
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! | type | what it is |
//! | --- | --- |
//! | [`PlayerOptions`] | what a player is: the search of this library, or the single-thread search of the CPU reference |
//! | [`Contestant`] | a player that is ready: with its device memory |
//! | [`MoveRecord`], [`GameRecord`] | what was found before each move, and how the game went |
//! | [`Scores`], [`Score`] | what the games add up to, with intervals |
//!
//! # Paper
//! Klęsk, MCTS-NC, section 4 and its footnote 12: matches of 100 games, the first mover alternating, repeated by the recorded steps.

mod play;
mod player;
mod record;
mod score;

pub use play::{Played, play_game};
pub use player::{Contestant, PlayerOptions, VanillaOptions};
pub use record::{GameRecord, GameResult, MoveRecord, Side};
pub use score::{Score, Scores, running_percent, wilson_percent};
