//! How many weights a pass and its gradient must touch.

use warpplay::shogi::{FeatureSet, Shard};

/// Slots of pieces in a list; the kings' come after them.
const PIECES: usize = 38;

/// Weights of the table that are read, and sums that are added to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accesses {
    pub reads: u64,
    pub adds: u64,
}

/// What differs between the lists of parents and children, counted: old weights once a parent, new ones once a child. `None` for sets whose tables are small enough
/// for caches.
pub fn accesses(features: FeatureSet, shards: &[&Shard]) -> Option<Accesses> {
    let pairs = match features {
        FeatureSet::KingPiece | FeatureSet::KingKingPiece => false,
        FeatureSet::KingPiecePiece => true,
        _ => return None,
    };
    let both_kings = features == FeatureSet::KingKingPiece;
    let mut sum = Accesses::default();
    for shard in shards {
        for parent in 0..shard.n_parents() {
            for king in [PIECES, PIECES + 1] {
                let of = perspective(shard, parent, pairs, |slot| slot == king || both_kings && slot >= PIECES);
                sum.reads += of.reads;
                sum.adds += of.adds;
            }
        }
    }
    Some(sum)
}

/// One parent as one side sees it; `anew` are the slots whose change turns over everything.
fn perspective(shard: &Shard, parent: usize, pairs: bool, anew: impl Fn(usize) -> bool) -> Accesses {
    let list = &shard.pieces[parent];
    let there = |number: u16| u64::from(number != 0);
    let n: u64 = list[..PIECES].iter().map(|&number| there(number)).sum();
    // Weights of one number in a list of `n` others, and of a whole list.
    let row = |others: u64| if pairs { others } else { 1 };
    let whole = |n: u64| if pairs { n * n.saturating_sub(1) / 2 } else { n };
    let (mut of, mut removed, mut all) = (Accesses::default(), [false; PIECES], false);
    for child in shard.children(parent) {
        let changes = shard.changes_of(child);
        let split = |change: &u32| ((change >> 16) as usize, *change as u16);
        let pieces = || changes.iter().map(split).filter(|change| change.0 < PIECES);
        let gone: u64 = pieces().map(|(slot, _)| there(list[slot])).sum();
        let come: u64 = pieces().map(|(_, number)| there(number)).sum();
        let new = if changes.iter().any(|change| anew(split(change).0)) {
            all = true;
            whole(n - gone + come)
        } else {
            for (slot, _) in pieces() {
                removed[slot] = true;
            }
            come * row(n - gone) + if pairs { whole(come) } else { 0 }
        };
        of.reads += new;
        of.adds += new;
    }
    let gone: u64 = list[..PIECES].iter().zip(removed).map(|(&number, gone)| u64::from(gone) * there(number)).sum();
    let stay = n - gone;
    let old = if all { whole(n) } else { whole(n) - if pairs { whole(stay) } else { stay } };
    of.reads += old;
    of.adds += old;
    of
}
