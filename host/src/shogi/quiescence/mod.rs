//! Search of captures and promotions, so that positions are compared where nothing hangs.
//!
//! A position right after a capture is worth little as evidence: the piece may be taken back at once. [`rebuild`] replaces each child of a shard by the last position
//! of the line of captures and promotions that a search expects, by any [`QuietEvaluator`].
//!
//! ```
//! use warpplay::shogi::quiescence::{MaterialValues, Options, rebuild};
//! use warpplay::shogi::{Window, dataset::Dataset, records::Records};
//!
//! // Before Black's third half-move, which takes a bishop and is retaken.
//! let records = Records::from_bytes("game.usi".as_ref(), b"7g7f 3c3d 8h2b+ 3a2b");
//! let set = Dataset::builder().plies(Window { start: 2, end: 3, step: 1 }).build(&records)?;
//! let shard = &set.shards()[0];
//! assert_eq!(shard.changes_of(0).len(), 2); // the bishop that moves and promotes, and the one it takes
//!
//! let values = MaterialValues::new(&[1.0, 3.0, 3.0, 5.0, 6.0, 8.0, 10.0, 6.0, 6.0, 6.0, 6.0, 12.0, 14.0])?;
//! let quiet = rebuild(shard, &values, &Options::default())?;
//! assert_eq!(quiet.shard.changes_of(0).len(), 3); // both bishops are in hand, and a White piece has taken the last
//! assert!(quiet.nodes > shard.n_children() as u64 && quiet.left_out.is_empty());
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! | type | what it is |
//! | --- | --- |
//! | [`rebuild`], [`Rebuilt`] | the search of a whole shard, and what comes of it |
//! | [`Options`], [`Promotions`] | depth, which promotions, threads |
//! | [`QuietEvaluator`], [`MaterialValues`] | what positions are worth in the search: the trait, and material alone |
//!
//! # The search
//!
//! The paper compares the positions right after the moves, and suspects that this is why promoted pawns come out too high: a pawn that promotes and is taken at once
//! counts as a promoted pawn. Bonanza compares the last positions of the lines that a search of captures and promotions expects (Hoki, 2006); so does this.
//!
//! At each position the side that moves may stop, which is worth the evaluation (also in check), or capture or promote, down to a depth. Alpha-beta, captures of
//! dear pieces by cheap ones first; of lines of one worth the first in that order is kept, so that the same evaluation always gives the same line. What captures
//! and could promote does promote, but lances, knights and silvers try both. Which promotions without a capture are searched is an option.

mod moves;
mod options;
mod search;

use rayon::prelude::*;
use warpplay_gpu::shogi::{difference, piece};

use crate::runtime::threads::Threads;
use crate::shogi::board::List;
use crate::shogi::dataset::Parents;
use crate::shogi::shard::Shard;
use crate::{Error, Result};
use search::Search;

pub(in crate::shogi) use options::DEEPEST;
pub use options::{MaterialValues, Options, Promotions, QuietEvaluator};

/// Parents of one task.
const TASK: usize = 64;

/// A shard whose children are the last positions of quiet lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// The shard.
    pub shard: Shard,
    /// Parents of the given shard that are omitted, ascending: a child's difference of material does not fit into a word.
    pub left_out: Vec<usize>,
    /// Number of positions searched.
    pub nodes: u64,
}

/// Searches the children of a shard made by the builder, and replaces each by the last position of its quiet line. Only the shard is needed, not the records.
///
/// Cost: about a microsecond per searched position with material on one core; about twenty positions per child at four half-moves, forty at six.
///
/// # Errors
/// [`Error::Option`] for a depth beyond 1 to 32; [`Error::Shape`] for a shard with inconsistent columns, or a parent whose list is not a valid position.
pub fn rebuild<E: QuietEvaluator + ?Sized>(shard: &Shard, evaluator: &E, options: &Options) -> Result<Rebuilt> {
    if !(1..=DEEPEST).contains(&options.depth) {
        return Err(Error::option("depth", options.depth, format!("1 to {DEEPEST}")));
    }
    shard.expect_sound("the shard")?;
    let work = || {
        let tasks: Vec<std::ops::Range<usize>> =
            (0..shard.n_parents()).step_by(TASK).map(|first| first..(first + TASK).min(shard.n_parents())).collect();
        let parts = tasks.into_par_iter().map(|parents| part(shard, parents, evaluator, options));
        parts.collect::<Result<Vec<Part>>>()
    };
    let parts = Threads::pooled(options.threads)?.run(work)?;
    let changes: usize = parts.iter().map(|part| part.parents.n_changes()).sum();
    if u32::try_from(changes).is_err() {
        return Err(Error::shape("changes of a shard", "below 4,294,967,296: build smaller shards", changes));
    }
    let (mut left_out, mut nodes) = (Vec::new(), 0);
    let mut all = Vec::with_capacity(parts.len());
    for part in parts {
        left_out.extend(part.left_out);
        nodes += part.nodes;
        all.push(part.parents);
    }
    Ok(Rebuilt { shard: Parents::joined(all), left_out, nodes })
}

struct Part {
    parents: Parents,
    left_out: Vec<usize>,
    nodes: u64,
}

fn part<E: QuietEvaluator + ?Sized>(
    shard: &Shard,
    parents: std::ops::Range<usize>,
    evaluator: &E,
    options: &Options,
) -> Result<Part> {
    let mut made = Part { parents: Parents::default(), left_out: Vec::new(), nodes: 0 };
    let mut search = Search::new(evaluator, options.promotions);
    let (mut differences, mut changes, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    for parent in parents {
        let numbers = &shard.pieces[parent];
        let bad = |reason: String| Error::shape(format!("parent {parent} of a shard"), "a position", reason);
        let mover = u32::from(shard.sides[parent]);
        differences.clear();
        changes.clear();
        ends.clear();
        let mut base = None;
        for child in shard.children(parent) {
            let mut after = *numbers;
            for change in shard.changes_of(child) {
                if let Some(number) = after.get_mut((change >> 16) as usize) {
                    *number = *change as u16;
                }
            }
            let leaf = search.leaf(&List::from_numbers(&after).map_err(bad)?, 1 - mover, options.depth);
            let material = material(numbers, &leaf, mover);
            let base = base.get_or_insert(material);
            let difference: [i32; 13] = std::array::from_fn(|kind| material[kind] - base[kind]);
            differences.push(difference::pack(&difference));
            for (slot, (new, old)) in (0u32..).zip(leaf.iter().zip(numbers)) {
                if new != old {
                    changes.push(slot << 16 | u32::from(*new));
                }
            }
            ends.push(changes.len());
        }
        if differences.contains(&None) {
            made.left_out.push(parent);
            continue;
        }
        made.parents.add_parent(numbers, mover as u8, (shard.games[parent], shard.plies[parent]), shard.played[parent]);
        let mut first = 0;
        for (difference, &end) in differences.iter().flatten().zip(&ends) {
            made.parents.add_child(changes.get(first..end).unwrap_or_default(), *difference);
            first = end;
        }
        made.parents.end_parent();
    }
    made.nodes = search.nodes;
    Ok(made)
}

/// The change of `side`'s material from one list to another: for each kind, its own pieces minus the other side's.
fn material(before: &[u16; 40], after: &[u16; 40], side: u32) -> [i32; 13] {
    let mut counts = [0; 13];
    for (old, new) in before.iter().zip(after).take(piece::PIECES as usize).filter(|(old, new)| old != new) {
        for (&number, sign) in [(old, -1), (new, 1)] {
            if let Some((kind, owner, _)) = piece::parts(number.into()) {
                counts[kind as usize] += if owner == side { sign } else { -sign };
            }
        }
    }
    counts
}
