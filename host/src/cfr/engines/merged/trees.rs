//! The trees of a game in buckets.

use std::ops::Range;
use std::sync::Arc;

use super::game::BucketedPoker;
use crate::cfr::game::Buckets;
use crate::cfr::game::extensive::{Game, Tree};
use crate::cfr::game::game_file::GameDef;
use crate::cfr::options::Algorithm;
use crate::{Error, Result};

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
    /// [`Error::Option`] for a game whose tree does not fit in memory.
    pub fn new(rules: &GameDef, buckets: &dyn Buckets, algorithm: Algorithm) -> Result<Self> {
        let learn = |seats: Range<usize>| Ok(Learning { tree: tree(rules, buckets, seats.clone())?, seats });
        let learning = seats(rules, algorithm).map(learn).collect::<Result<_>>()?;
        Ok(Self { learning, exact: tree(rules, buckets, 0..0)? })
    }

    /// The trees of single hands in place of those of buckets, which need no more memory; one tree is built.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn largest(rules: &GameDef, buckets: &dyn Buckets, algorithm: Algorithm) -> Result<Self> {
        let exact = tree(rules, buckets, 0..0)?;
        let learning = seats(rules, algorithm).map(|seats| Learning { tree: Arc::clone(&exact), seats }).collect();
        Ok(Self { learning, exact })
    }
}

/// The seats that learn in one tree, for each tree.
fn seats(rules: &GameDef, algorithm: Algorithm) -> impl Iterator<Item = Range<usize>> {
    let step = if algorithm == Algorithm::CfrBr { 1 } else { rules.n_players };
    (0..rules.n_players).step_by(step).map(move |seat| seat..seat + step)
}

/// The tree in which `seats` know buckets, and the others their cards.
fn tree(rules: &GameDef, buckets: &dyn Buckets, seats: Range<usize>) -> Result<Arc<Tree>> {
    let in_buckets = (0..rules.n_players).map(|seat| seats.contains(&seat)).collect();
    let game = BucketedPoker::new(rules, buckets, in_buckets)?;
    let (n, most) = (game.n_histories().unwrap_or(u128::MAX), Tree::most_that_fit());
    if n > most {
        let allowed = format!(
            "chance, with cfr, cfr_plus or lcfr, for a game of {n} histories: this machine has memory for {most}"
        );
        return Err(Error::option("sampling", "all deals", allowed));
    }
    Tree::build_forgetful(&game).map(Arc::new)
}
