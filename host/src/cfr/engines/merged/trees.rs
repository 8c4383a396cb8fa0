//! The trees of a game in buckets.

use std::ops::Range;
use std::sync::Arc;

use super::game::Known;
use crate::Result;
use crate::cfr::game::Buckets;
use crate::cfr::game::extensive::Tree;
use crate::cfr::game::game_file::GameDef;
use crate::cfr::options::Algorithm;

/// The trees in which seats learn, and the tree of single hands in which strategies are measured.
#[derive(Debug)]
pub(in crate::cfr) struct Trees {
    pub(super) learning: Vec<Learning>,
    pub(super) exact: Arc<Tree>,
}

/// A tree, and the seats that learn in it and know buckets there.
#[derive(Debug)]
pub(super) struct Learning {
    pub tree: Arc<Tree>,
    pub seats: Range<usize>,
}

impl Trees {
    /// Builds the trees for an algorithm: one for all seats, or with [`Algorithm::CfrBr`] one for each.
    ///
    /// # Errors
    /// As [`Tree::build`].
    pub fn new(rules: &GameDef, buckets: &dyn Buckets, algorithm: Algorithm) -> Result<Self> {
        let build = |seats: Range<usize>| {
            let in_buckets = (0..rules.n_players).map(|seat| seats.contains(&seat)).collect();
            Tree::build_forgetful(&Known::new(rules, buckets, in_buckets)?).map(Arc::new)
        };
        let learn = |seats: Range<usize>| Ok(Learning { tree: build(seats.clone())?, seats });
        let step = if algorithm == Algorithm::CfrBr { 1 } else { rules.n_players };
        let learning =
            (0..rules.n_players).step_by(step).map(|seat| learn(seat..seat + step)).collect::<Result<_>>()?;
        Ok(Self { learning, exact: build(0..0)? })
    }
}
