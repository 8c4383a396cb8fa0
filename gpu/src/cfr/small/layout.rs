//! How a whole two-player game in vector form lies in the shared memory of one block, as the host writes it and the kernels read it.
//!
//! Shared memory, in this order:
//!
//! ```text
//! f64    utilities       [2]  sums over the iterations, by seat
//! T      zeros           [most hands]      what missing members of a list read, then the values of the seat that is being worked on:
//!        values          [n_terminals, hands], then [n_nodes, hands]
//!        reach           [1 + n_vectors, stride]  the other seat's, after each of its actions; row 0 is the root
//!        of each seat    strategy [n_vectors + 1, hands] (the last row is ones), regrets, averages, last [n_vectors, hands]
//!        of each seat    weights [hands], payoffs [n_terminals, 3]: lose, tie, win
//!        of the deals    factors [n_deals, MAX_STREETS]
//! u64    chunks          four u16 each: paths and lists
//! u32    words           nodes, levels, terminals, codes; deals
//! ```
//!
//! An *action vector* is one action of one public decision node with all hands; it has the number that the host's tables have, so tables are copied as they
//! are. A *path* is the list of a seat's own action vectors from the root to one of them: their product is the seat's reach. A *list* is what the value of an
//! action is the sum of: terminals and own nodes that come next, whatever the other seat and chance do in between. So a pass needs a barrier for each own
//! decision in a row, not for each action.

/// Most betting rounds of a game.
pub const MAX_STREETS: usize = 4;
/// Four indices of 16 bits in a chunk.
pub const CHUNK: u32 = 4;
/// Words of a deal: both hands, then a board for each street.
pub const DEAL_WORDS: u32 = 2 + MAX_STREETS as u32;

/// Outcomes of a pair of hands on a board, two bits each; as an index into payoffs one more than there.
pub mod outcome {
    /// The two cannot be dealt together.
    pub const IMPOSSIBLE: u32 = 0;
    /// The own hand loses.
    pub const LOSE: u32 = 1;
    /// The hands are equal, or the board is not complete.
    pub const TIE: u32 = 2;
    /// The own hand wins.
    pub const WIN: u32 = 3;
    /// Outcomes in a word.
    pub const PER_WORD: u32 = 16;
}

/// The parts of a word that describes a list or a path.
pub mod list {
    /// Bits of the first chunk's index.
    pub const START_BITS: u32 = 20;
    /// Bits of the number of chunks.
    pub const COUNT_BITS: u32 = 11;
    /// Of a list: each hand has indices of its own, since a street is crossed and suits are renamed.
    pub const PERMUTED: u32 = 1 << 31;
    /// Of a path: its last action's strategy is given and not learnt.
    pub const LOCKED: u32 = 1 << 31;
}

/// The parts of a word that describes a node.
pub mod node {
    /// Bits of the first action vector.
    pub const VECTOR_BITS: u32 = 16;
    /// Bits of the number of actions.
    pub const ACTION_BITS: u32 = 15;
    /// Set where the strategy is given.
    pub const LOCKED: u32 = 1 << 31;
}

/// One seat of a game. Offsets in shared memory count elements of their own part.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Seat {
    /// Hands.
    pub n_hands: u32,
    /// See [`factor`].
    pub hands_factor: u32,
    /// Hands rounded up to a multiple of 4: length of a row of reaches.
    pub stride: u32,
    /// See [`factor`].
    pub stride_factor: u32,
    /// Action vectors.
    pub n_vectors: u32,
    /// Decision nodes.
    pub n_nodes: u32,
    /// Most own decisions in a row.
    pub n_levels: u32,
    /// Words of a row of codes: of one board and own hand against all of the other's.
    pub code_words: u32,
    /// Strategies, in reals.
    pub strategy: u32,
    /// Cumulative regrets, in reals.
    pub regrets: u32,
    /// Weighted sums of strategies, in reals.
    pub averages: u32,
    /// Values of actions, then their regrets, in reals. Both seats have the same offset unless the algorithm predicts.
    pub last: u32,
    /// Reach of each hand at the root, in reals.
    pub weights: u32,
    /// Payoffs of the terminals, in reals.
    pub payoffs: u32,
    /// Descriptions of the paths, one a row of reaches, in words.
    pub paths: u32,
    /// Descriptions of the lists, one an action vector and one for the root, in words.
    pub lists: u32,
    /// The nodes, the deepest level first, in words.
    pub nodes: u32,
    /// First node of each level and the end, the deepest first, in words.
    pub levels: u32,
    /// Of each terminal: the other seat's row of reaches (low half), the board's number over all streets (high half), in words.
    pub terminals: u32,
    /// Outcomes, in words.
    pub codes: u32,
}

/// One game.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Game {
    /// The seats.
    pub seats: [Seat; 2],
    /// Most hands of a seat.
    pub most_hands: u32,
    /// Terminals.
    pub n_terminals: u32,
    /// Reals in shared memory.
    pub n_reals: u32,
    /// Chunks in shared memory.
    pub n_chunks: u32,
    /// Words in shared memory that come from the host.
    pub n_words: u32,
    /// Where the host's reals go, in reals.
    pub given_reals: u32,
    /// How many there are.
    pub n_given_reals: u32,
    /// The other seat's reaches, in reals.
    pub reach: u32,
    /// Factors of the deals, in reals.
    pub factors: u32,
    /// Streets.
    pub n_streets: u32,
    /// Boards of the first street.
    pub n_first_boards: u32,
    /// Pairs of hands that can be dealt together.
    pub n_pairs: u32,
    /// The game's first chunk in global memory.
    pub chunks_from: u32,
    /// The game's first word in global memory.
    pub words_from: u32,
    /// The game's first real in global memory.
    pub reals_from: u32,
    /// The game's first board in global memory.
    pub boards_from: u32,
    /// The game's first hand in global memory: those of seat 0, then of seat 1.
    pub hands_from: u32,
    /// 0.
    pub reserved: u32,
    /// The game's first table value in global memory: regrets of both seats, averages of both, last regrets of both where the algorithm predicts.
    pub state_from: u64,
}

const _: () = assert!(size_of::<Seat>() == 80 && size_of::<Game>() == 240);

/// A board, for drawing.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct BoardRecord {
    /// All public cards so far.
    pub cards: u64,
    /// First board of the next street that continues this one, as a number over all streets.
    pub first_child: u32,
    /// How many there are.
    pub n_children: u32,
    /// Boards that this one stands for.
    pub n_members: u32,
    /// 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<BoardRecord>() == 24);

/// What replaces a division by `n` from 1: `i / n` is `i * factor(n) >> 31` as long as `i * n < 2^31`.
pub const fn factor(n: u32) -> u32 {
    (1u32 << 31).div_ceil(n)
}

/// `index / n` and the remainder, by [`factor`].
#[device_inline]
pub fn divide(index: u32, n: u32, factor: u32) -> (u32, u32) {
    let quotient = ((index as u64 * factor as u64) >> 31) as u32;
    (quotient, index - quotient * n)
}

impl Game {
    /// Bytes of shared memory with reals of `real` bytes and `n_deals` deals.
    pub const fn shared_bytes(&self, real: u32, n_deals: u32) -> u32 {
        let (_, _, words) = self.offsets(real);
        words + 4 * (self.n_words + n_deals * DEAL_WORDS)
    }

    /// Where reals, chunks and words begin, in bytes.
    pub const fn offsets(&self, real: u32) -> (u32, u32, u32) {
        let reals = 16;
        let chunks = (reals + real * self.n_reals).next_multiple_of(8);
        (reals, chunks, chunks + 8 * self.n_chunks)
    }

    /// Table values of both seats together.
    pub const fn table_len(&self) -> u32 {
        self.seats[0].n_vectors * self.seats[0].n_hands + self.seats[1].n_vectors * self.seats[1].n_hands
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn division_is_exact() {
        for n in (1..130).chain([1000, 4096]) {
            for index in (0..70_000u32).step_by(if n < 8 { 1 } else { 7 }) {
                assert_eq!(divide(index, n, factor(n)), (index / n, index % n), "{index} / {n}");
            }
        }
    }
}
