//! Whether a shard is what it should be: its columns are public, and whoever computes on them follows their indices.

use std::fmt::Display;

use rayon::prelude::*;
use warpplay_gpu::shogi::piece::{NUMBERS, PIECES, SLOTS, SQUARES};

use super::Shard;
use crate::{Error, Result};

/// Maximum number of children of a parent: their index must fit into 16 bits.
const MOST_CHILDREN: u32 = 1 << 16;

/// First number that a slot of a list cannot hold.
const fn numbers_of(slot: u32) -> u32 {
    if slot < PIECES { NUMBERS } else { SQUARES }
}

#[cfg(test)]
std::thread_local! {
    /// How often this thread has checked a shard's columns.
    pub(in crate::shogi) static LOOKED: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

impl Shard {
    /// Checks that columns are consistent and that their indices are valid, so that no access by these indices leaves a column.
    ///
    /// # Errors
    /// [`Error::Shape`] with the column, the slot and what is allowed there; [`Error::File`] for a truncated file.
    pub(in crate::shogi) fn expect_columns(&self) -> Result<()> {
        #[cfg(test)]
        LOOKED.set(LOOKED.get() + 1);
        self.expect_whole()?;
        // Nothing at all is an empty shard too.
        if *self == Self::default() {
            return Ok(());
        }
        let n = self.n_parents();
        let (children, changes) = (self.n_children(), self.changes.len());
        for (name, got, expected) in [
            ("sides", self.sides.len(), n),
            ("plies", self.plies.len(), n),
            ("games", self.games.len(), n),
            ("played", self.played.len(), n),
            ("first_child", self.first_child.len(), n + 1),
            ("first_change", self.first_change.len(), children + 1),
        ] {
            if got != expected {
                return Err(Error::shape(format!("column {name} of a shard"), expected, got));
            }
        }
        rises("first_child", &self.first_child, children)?;
        rises("first_change", &self.first_change, changes)?;
        // Found here, in the threads of whoever checks, for all passes that follow.
        self.first_change.largest_step();
        (0..n).into_par_iter().with_min_len(1024).try_for_each(|parent| self.expect_parent(parent))?;
        let changes = self.changes.par_iter().enumerate().with_min_len(1 << 14);
        changes.try_for_each(|(at, &change)| expect_change(at, change))?;
        let children = (0..children).into_par_iter().with_min_len(1 << 12);
        children.try_for_each(|child| match self.changes_of(child).is_sorted_by(|a, b| a >> 16 < b >> 16) {
            true => Ok(()),
            false => Err(Error::shape(format!("changes of child {child}"), "slots that ascend", "others")),
        })
    }

    /// Also refuses what the data set's builder never makes: a parent without a move, or an invalid difference.
    ///
    /// # Errors
    /// [`Error::Shape`] names the shard and describes the error.
    pub(in crate::shogi) fn expect_sound(&self, which: impl Display) -> Result<()> {
        let parents = (0..self.n_parents()).into_par_iter().with_min_len(1024);
        self.expect_columns()
            .and_then(|()| parents.try_for_each(|parent| self.expect_moves(parent)))
            .map_err(|error| Error::shape(which.to_string(), "columns that fit together", error))
    }

    fn expect_parent(&self, parent: usize) -> Result<()> {
        let n = self.children(parent).len() as u32;
        if n > MOST_CHILDREN {
            return Err(Error::shape(format!("children of parent {parent}"), format!("at most {MOST_CHILDREN}"), n));
        }
        if n > 1 && !(1..n).contains(&u32::from(self.played[parent])) {
            let allowed = format!("1 to {}", n - 1);
            return Err(Error::shape(format!("played move of parent {parent}"), allowed, self.played[parent]));
        }
        if self.sides[parent] > 1 {
            return Err(Error::shape(format!("side of parent {parent}"), "0 or 1", self.sides[parent]));
        }
        match (0..).zip(&self.pieces[parent]).find(|&(slot, &number)| u32::from(number) >= numbers_of(slot)) {
            Some((slot, number)) => {
                let what = format!("slot {slot} of parent {parent}");
                Err(Error::shape(what, format!("below {}", numbers_of(slot)), number))
            }
            None => Ok(()),
        }
    }

    fn expect_moves(&self, parent: usize) -> Result<()> {
        let children = self.children(parent);
        if children.len() < 2 {
            return Err(Error::shape(format!("children of parent {parent}"), "2 or more", children.len()));
        }
        let words = &self.differences[children];
        if words.first() != Some(&0) || !words.iter().all(|word| word >> 56 == 0) {
            let what = format!("differences of parent {parent}");
            return Err(Error::shape(what, "words of 13 numbers, that of child 0 being 0", "others"));
        }
        Ok(())
    }
}

fn expect_change(at: usize, change: u32) -> Result<()> {
    let (slot, number) = (change >> 16, change & 0xFFFF);
    if slot >= SLOTS {
        return Err(Error::shape(format!("slot of change {at}"), format!("below {SLOTS}"), slot));
    }
    if number >= numbers_of(slot) {
        let what = format!("number of change {at} at slot {slot}");
        return Err(Error::shape(what, format!("below {}", numbers_of(slot)), number));
    }
    Ok(())
}

/// Checks that a column of first indices begins with 0, does not descend, and ends with the number of elements that it divides.
fn rises(name: &str, column: &[u32], n: usize) -> Result<()> {
    let what = || format!("column {name} of a shard");
    match (column.first(), column.last()) {
        (Some(0), _) if !column.is_sorted() => Err(Error::shape(what(), "values that do not descend", "others")),
        (Some(0), Some(&last)) if last as usize == n => Ok(()),
        (Some(0), Some(last)) => Err(Error::shape(what(), format!("{n} at the end"), last)),
        (first, _) => Err(Error::shape(what(), "0 at first", first.map_or("nothing".into(), u32::to_string))),
    }
}
