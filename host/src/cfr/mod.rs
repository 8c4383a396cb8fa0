//! Equilibria of poker and of other games of hidden information, by counterfactual regret minimisation.

mod abstraction;
mod betting;
mod cards;
mod counts;
mod cpu;
mod deal;
mod dispatch;
mod engine;
mod explicit;
mod extensive;
mod game_file;
mod mccfr;
mod options;
mod ranking;
mod small;
mod solver;
mod spot;
mod strategy;
mod street;
mod subset;
pub mod thesis;
mod vector;
pub mod walk;

pub use abstraction::{Abstraction, Classes, Method, Recipe, RoundBuckets};
pub use betting::{Action, BettingKind, BettingNode, BettingState, BettingTree, MAX_NODES, Rake, Size};
pub use cards::{CardSet, Deck, RANKS, SUITS, choose, colex_rank, members, set_of, subsets};
pub use counts::Counts;
pub use deal::{Deal, Deals, Lcg};
pub use dispatch::{EngineName, Plan};
pub use extensive::{Game, Goofspiel, InformationSet, LiarsDice, MatrixGame, Poker, PrizeOrder, Tree, Turn};
pub use game_file::GameDef;
pub use options::{Algorithm, Averaging, Form, Numbers, Options, Sampling, Updates};
pub use ranking::{Category, Ranking, category};
pub use small::{GameMeasure, SmallBatch};
pub use solver::{Point, Problem, Report, Solver, SolverBuilder};
pub use spot::{
    BetSize, HandReport, LockStrategy, Range, SeatSizes, Spot, SpotLock, SpotReport, SpotRun, Streets, solve_spots,
};
pub use strategy::{Answer, Checkpoint, Choice, HeadToHead, Profile, Strategy, head_to_head};
pub use subset::{SeatMeasure, SubsetSolver};
pub use vector::{Board, Entry, Lock, Node, Place, Street, SuitMap, VectorGame, VectorSize};
