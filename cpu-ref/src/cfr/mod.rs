//! Counterfactual regret minimisation, written plainly, in double precision.
//!
//! | module | what | form |
//! | --- | --- | --- |
//! | [`abstraction`] | strengths of hands, k-means | whole numbers, rayon |
//! | [`tree`] | any game, any number of players | every history a node; recursive |
//! | [`poker`] | the games of ACPC game definitions | rules, betting, ranking, and a [`tree::Game`] |
//! | [`vector`] | two-player poker | public tree × vectors of hands; sequential or under rayon |
//! | [`sampled`] | limit poker, any number of players | betting tree × buckets, one sampled deal an iteration; recursive, or by levels under rayon |
//! | [`mccfr`] | any game, any number of players | explicit tree, chance, external and outcome sampling |
//! | [`matrix`] | one simultaneous move of two players | regret matching |
//!
//! In iteration t = 1, 2, … every seat plays what [regret matching](pieces::match_regrets) makes of its cumulative regrets. A set's
//! regret of an action grows by the action's counterfactual value minus the set's; counterfactual values are weighted with chance's and
//! the others' reach, not with the own. The average strategy weighs iteration t's with the own reach and a factor of t. What the
//! [`Algorithm`]s do differently is in [`Options::step`].
//!
//! With [`Updates::Alternating`] one seat after the other updates its regrets and its average from the current strategies, then
//! renews its strategy; with [`Updates::Simultaneous`] all do so from the same strategies.

pub mod abstraction;
pub mod matrix;
pub mod mccfr;
pub mod pieces;
pub mod poker;
pub mod sampled;
pub mod tree;
pub mod vector;

mod options;
mod random;

pub use options::{Algorithm, Averaging, Options, Step, Updates};
