//! Where things lie in the tables of a game in vector form, and how much memory they take.

use super::{Node, VectorGame};

impl VectorGame {
    /// Values of a seat's table on the streets before `street`.
    pub fn street_offset(&self, seat: usize, street: usize) -> usize {
        let hands = self.hands[seat].len();
        self.streets[..street].iter().map(|s| s.boards.len() * s.n_slots[seat] as usize * hands).sum()
    }

    /// Offset of action vector `slot` on a board in a seat's table.
    pub fn offset(&self, seat: usize, street: usize, board: usize, slot: u32) -> usize {
        let slots = self.streets[street].n_slots[seat] as usize;
        self.street_offset(seat, street) + (board * slots + slot as usize) * self.hands[seat].len()
    }

    /// Values of a seat's table: information sets times their actions, including hands that the board blocks.
    pub fn table_len(&self, seat: usize) -> usize {
        self.street_offset(seat, self.streets.len())
    }
}

/// The size of a game in vector form.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct VectorSize {
    /// Hands, by seat.
    pub hands: [usize; 2],
    /// Number of boards kept, by street.
    pub boards: Vec<usize>,
    /// Number of boards that they represent, by street.
    pub all_boards: Vec<u64>,
    /// Betting subtrees, by street.
    pub entries: Vec<usize>,
    /// Information sets of all boards, by seat; hands that a board blocks are not counted.
    pub information_sets: [u64; 2],
    /// Values of a table, by seat: boards kept × actions × hands, including those that a board blocks.
    pub infoset_actions: [u64; 2],
}

impl VectorSize {
    /// Bytes of `n_tables` tables for both seats (regrets and averages are two) at `value_bytes` a value.
    pub fn table_bytes(&self, n_tables: u64, value_bytes: u64) -> u64 {
        self.infoset_actions.iter().sum::<u64>() * n_tables * value_bytes
    }
}

impl VectorGame {
    /// The size of the game, computed without allocating its tables.
    pub fn size(&self) -> VectorSize {
        let mut information_sets = [0; 2];
        let mut all_boards = Vec::with_capacity(self.streets.len());
        // Boards of the street before that each board of it stands for.
        let mut before = vec![1];
        for street in &self.streets {
            let stands_for = |parents: &[u64]| -> Vec<u64> {
                street.boards.iter().map(|board| parents[board.parent as usize] * board.members.len() as u64).collect()
            };
            let counts = stands_for(&before);
            for (seat, sets) in information_sets.iter_mut().enumerate() {
                let decides = |node: &&Node| matches!(node, Node::Decision { seat: of, .. } if *of == seat);
                let nodes: usize = street.entries.iter().map(|entry| entry.nodes.iter().filter(decides).count()).sum();
                if nodes == 0 {
                    continue;
                }
                let open = |cards: u64| self.hands[seat].iter().filter(|&&hand| hand & cards == 0).count() as u64;
                let on_boards: u64 = street.boards.iter().zip(&counts).map(|(board, n)| n * open(board.cards)).sum();
                *sets += on_boards * nodes as u64;
            }
            all_boards.push(counts.iter().sum());
            before = counts;
        }
        VectorSize {
            hands: self.hands.each_ref().map(Vec::len),
            boards: self.streets.iter().map(|street| street.boards.len()).collect(),
            all_boards,
            entries: self.streets.iter().map(|street| street.entries.len()).collect(),
            information_sets,
            infoset_actions: [0, 1].map(|seat| self.table_len(seat) as u64),
        }
    }
}
