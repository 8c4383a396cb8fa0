//! Children as positions of bytes.

use rayon::prelude::*;
use warpplay_gpu::shogi::layout::{BLACK_HAND, BYTES, KING, WHITE_HAND, code};
use warpplay_gpu::shogi::piece::{self, Location};

use crate::runtime::host_machine;
use crate::runtime::memory::expect_free;
use crate::shogi::shard::Shard;
use crate::{Error, Result};

/// Bytes of a position.
const STRIDE: usize = BYTES as usize;

/// Parents that one thread writes at a time.
const PARENTS_AT_ONCE: usize = 64;

/// All children of a set of parents, one position after the other ([`warpplay_gpu::shogi::layout`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Positions {
    bytes: Vec<u8>,
    first_child: Vec<u32>,
    sides: Vec<u8>,
}

impl Positions {
    /// The children of shards, one shard after the other.
    ///
    /// # Errors
    /// [`Error::Shape`] for 2³¹ children or more; [`Error::OutOfMemory`] if they do not fit into the host's memory.
    pub fn from_shards(shards: &[&Shard]) -> Result<Self> {
        for shard in shards {
            shard.expect_columns()?;
        }
        let children: usize = shards.iter().map(|shard| shard.n_children()).sum();
        check_number(children)?;
        expect_free("the host", (children * STRIDE) as u64, host_machine::memory().free)?;
        let mut bytes = vec![0; children * STRIDE];
        let parents: usize = shards.iter().map(|shard| shard.n_parents()).sum();
        let mut first_child = Vec::with_capacity(parents + 1);
        let mut sides = Vec::with_capacity(parents);
        let mut tasks = Vec::new();
        let mut rest = bytes.as_mut_slice();
        let mut before = 0u32;
        for &shard in shards {
            first_child.extend((0..shard.n_parents()).map(|parent| before + shard.first_child[parent]));
            before += shard.n_children() as u32;
            sides.extend_from_slice(&shard.sides);
            for start in (0..shard.n_parents()).step_by(PARENTS_AT_ONCE) {
                let end = (start + PARENTS_AT_ONCE).min(shard.n_parents());
                let children = shard.first_child[end] - shard.first_child[start];
                let (part, after) = rest.split_at_mut(children as usize * STRIDE);
                rest = after;
                tasks.push((shard, start..end, part));
            }
        }
        first_child.push(before);
        tasks.into_par_iter().for_each(|(shard, parents, part)| {
            let children = parents.flat_map(|parent| shard.children(parent).map(move |child| (parent, child)));
            for ((parent, child), position) in children.zip(part.chunks_exact_mut(STRIDE)) {
                let mut list = shard.pieces[parent];
                for &change in shard.changes_of(child) {
                    if let Some(slot) = list.get_mut(change as usize >> 16) {
                        *slot = change as u16;
                    }
                }
                write(&list, position);
            }
        });
        Ok(Self { bytes, first_child, sides })
    }

    /// The positions, `[len * 96]`.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Number of positions.
    pub fn len(&self) -> usize {
        self.bytes.len() / STRIDE
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// First child of each parent, and after the last parent the number of children.
    pub fn first_child(&self) -> &[u32] {
        &self.first_child
    }

    /// The side to move in each parent: 0 Black, 1 White.
    pub fn sides(&self) -> &[u8] {
        &self.sides
    }

    /// The bytes of one list of pieces ([`warpplay_gpu::shogi::piece`]).
    pub fn of_list(pieces: &[u16; 40]) -> [u8; STRIDE] {
        let mut position = [0; STRIDE];
        write(pieces, &mut position);
        position
    }

    /// For each child, the index of its parent's child 0 times 2, plus the side to move.
    pub fn played(&self) -> Vec<u32> {
        let mut played = Vec::with_capacity(self.len());
        for (children, &side) in self.first_child.windows(2).zip(&self.sides) {
            if let [first, end] = *children {
                played.extend((first..end).map(|_| first << 1 | u32::from(side & 1)));
            }
        }
        played
    }
}

/// Checks that a launch can number the children.
pub(in crate::shogi) fn check_number(children: usize) -> Result<()> {
    if children >= 1 << 31 {
        return Err(Error::shape("children that are held at once", "fewer than 2147483648", children));
    }
    Ok(())
}

/// Writes a list of pieces as bytes, which the caller has set to 0.
fn write(list: &[u16; 40], position: &mut [u8]) {
    let mut set = |at: u32, value: u8| {
        if let Some(byte) = position.get_mut(at as usize) {
            *byte = value;
        }
    };
    let mut hands = [[0u8; piece::HAND_KINDS as usize]; 2];
    for (slot, &number) in list.iter().enumerate() {
        let number = u32::from(number);
        if slot as u32 >= piece::PIECES {
            if number < piece::SQUARES {
                set(number, code(KING, slot as u32 - piece::BLACK_KING));
            }
            continue;
        }
        match piece::parts(number) {
            Some((kind, side, Location::Board(square))) => set(square, code(kind, side)),
            Some((kind, side, Location::Hand(_))) => hands[side as usize][kind as usize] += 1,
            None => {}
        }
    }
    for (first, hand) in [BLACK_HAND, WHITE_HAND].into_iter().zip(hands) {
        for (kind, count) in (0..).zip(hand) {
            set(first + kind, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_become_bytes() {
        let mut list = [0; 40];
        list[0] = piece::on_board(7, 1, 80) as u16;
        list[1] = piece::in_hand(0, 0, 0) as u16;
        list[5] = piece::in_hand(0, 0, 1) as u16;
        list[9] = piece::in_hand(6, 1, 1) as u16;
        list[38] = 8;
        list[39] = 72;
        let bytes = Positions::of_list(&list);
        let mut expected = [0; 96];
        expected[80] = 1 + 7 + 14;
        expected[81] = 2;
        expected[88 + 6] = 1;
        expected[8] = 14;
        expected[72] = 28;
        assert_eq!(bytes, expected);
        assert!(Positions::from_shards(&[]).unwrap().is_empty());
        assert!(Positions::from_shards(&[&Shard::default()]).unwrap().is_empty());
        let torn = Shard { differences: vec![0].into(), ..Shard::default() };
        let error = Positions::from_shards(&[&torn]).unwrap_err().to_string();
        assert_eq!(error, "column first_child of a shard: expected 1, got 0");
    }
}
