//! What the host prepares for the kernels: programs, streets, boards, and where the tables are.
//!
//! ```text
//! Street      offsets of its tables, hands, reach and values; its boards, entries and programs
//!   Board     parent, probability, hands that it leaves possible; links to the boards of the next street
//!     Link    a board of the next street, with the renaming of suits that leads to it
//!   Program   of an entry and a traverser: ranges of operations, and of segments
//!     Segment evaluations between operations downwards and upwards, each part up to a barrier
//!       Op    one step: reach, fold, showdown, return, own node
//!       Eval  sums over one reach vector of the opponent
//! tables      [board][action vector][hand], a row Street::stride hands long, a multiple of 32; a board has Street::n_slots rows a seat
//! reach       [board of the street before][entry][hand as the game numbers them]
//! values      [board][entry][hand as the game numbers them]
//! ```

use crate::cfr::regret::Step;
use crate::cuda::DeviceArgs;
use crate::cuda::memory::Vec4;

/// Most cards of a deck.
pub const MAX_CARDS: u32 = 52;
/// Values of an evaluation's totals: a sum for each card, [`NO_CARD`], [`ALL_CARDS`].
pub const TOTALS: u32 = 64;
/// Index of a 0 among the totals: the second card of hands that have one.
pub const NO_CARD: u32 = 62;
/// Index of the sum over all hands among the totals.
pub const ALL_CARDS: u32 = 63;
/// No such hand, slot or vector.
pub const NONE: u32 = u32::MAX;
/// No such hand among 16-bit numbers.
pub const NO_HAND: u32 = 0xffff;
/// Hands of a row are padded to a multiple of this: a warp.
pub const ROW: u32 = 32;
/// Most passes of an iteration.
pub const MAX_PASSES: usize = 4;
/// Values of a row that has one for each card and one more, padded: of [`Task::begins`] and [`Task::lists`].
pub const BEGINS: u32 = 64;

/// What an [`Op`] does.
pub mod code {
    /// Reach of a node's children from the node's reach and strategy.
    pub const REACH: u32 = 0;
    /// Hands a reach on to the next street.
    pub const LEAVE: u32 = 1;
    /// Value where somebody folded.
    pub const FOLD: u32 = 2;
    /// Value where the cards are shown.
    pub const SHOWDOWN: u32 = 3;
    /// Value from the boards of the next street.
    pub const RETURN: u32 = 4;
    /// Value of the traverser's own node, and the update of its regrets.
    pub const OWN: u32 = 5;
}

/// Bits of [`Op::flags`].
pub mod flag {
    /// The value is added to what the slot holds.
    pub const ADD: u32 = 1;
    /// Some hands' strategy is given on some boards: see [`Op::given`](super::Op::given).
    pub const LOCKED: u32 = 2;
}

/// One step of a program. The host has compiled each betting subtree into lists of them; offsets in shared memory are its decision, in `f32`s from the start.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Op {
    /// One of [`code`].
    pub code: u32,
    /// Bits of [`flag`].
    pub flags: u32,
    /// First action vector of the node among its seat's on a board.
    pub row: u32,
    /// Actions of the node.
    pub n: u32,
    /// `REACH`, `LEAVE`: the node's reach. `FOLD`, `SHOWDOWN`: the opponent's reach there.
    pub input: u32,
    /// Where a value goes.
    pub output: u32,
    /// `REACH`: first of the words that tell where the children's reach goes ([`NONE`] where nobody asks), or [`NONE`] for no words. `OWN`: first of the words that tell where the actions' values are.
    pub operands: u32,
    /// `REACH`: first action whose reach is wanted.
    pub first: u32,
    /// `REACH`: actions whose reach is wanted.
    pub count: u32,
    /// `FOLD`, `SHOWDOWN`: where the evaluation writes, in shared memory.
    pub region: u32,
    /// `LEAVE`, `RETURN`: entry of the next street.
    pub entry: u32,
    /// The traverser's payoffs: folded; or won, lost, tied.
    pub payoff: [f32; 3],
    /// With [`flag::LOCKED`]: first word of [`Task::given_rows`], one for each board of the street.
    pub given: u32,
    /// 0.
    pub reserved: u32,
}

/// An evaluation: sums over a reach vector of the opponent.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Eval {
    /// The reach vector.
    pub source: u32,
    /// Where the sums go: [`TOTALS`] values; with `full`, prefix sums in order of strength, then those of each card.
    pub region: u32,
    /// Whether there is a showdown.
    pub full: u32,
    /// 0.
    pub reserved: u32,
}

/// Part of a program between barriers: reach downwards, evaluations, values upwards. Ranges of operations and evaluations.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Segment {
    /// Reach of the opponent.
    pub down: [u32; 2],
    /// Evaluations.
    pub evals: [u32; 2],
    /// Values.
    pub up: [u32; 2],
}

/// What a traverser does on an entry.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Program {
    /// Operations on the traverser's own reach: averages, and the way to the next street.
    pub own: [u32; 2],
    /// Operations on the opponent's reach that lead to the next street.
    pub down: [u32; 2],
    /// Segments.
    pub segments: [u32; 2],
    /// The entry's first action vector among those of a board, and how many it has, by seat.
    pub rows: [[u32; 2]; 2],
    /// Slot of the opponent's reach at the root.
    pub opponent_root: u32,
    /// Slot of the own reach at the root.
    pub own_root: u32,
    /// Slot of the root's value.
    pub value_root: u32,
    /// 0.
    pub reserved: u32,
}

/// A street of a game. Offsets are in values of the arrays of [`Task`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Street {
    /// First value of each seat's tables.
    pub tables: [u64; 2],
    /// First board's first hand of each seat; each board has `stride` of them.
    pub hands: [u64; 2],
    /// First value of the lists of each seat; each board has `n_list_rows` rows of [`BEGINS`] values.
    pub lists: [u64; 2],
    /// First reach vector of each seat: rows (board of the street before, entry), hands as the game numbers them.
    pub reach: [u64; 2],
    /// First value vector of each seat: rows (board, entry), hands as the game numbers them.
    pub values: [u64; 2],
    /// First sum of utilities of each seat; on the first street only.
    pub utilities: [u64; 2],
    /// First inverse prior of each seat, on the last street; each board has `stride` of them.
    pub inverse_priors: [u64; 2],
    /// First board.
    pub boards: u64,
    /// First map between hands of the game's permutations; each permutation has two, seat 0's first.
    pub permutations: u64,
    /// First draw of the seats' hands, where something is sampled.
    pub masks: [u64; 2],
    /// First program: (entry, traverser).
    pub programs: u32,
    /// Boards.
    pub n_boards: u32,
    /// Entries.
    pub n_entries: u32,
    /// Hands of each seat as the game numbers them.
    pub n_hands: [u32; 2],
    /// Hands of a row of each seat's tables, a multiple of [`ROW`].
    pub stride: [u32; 2],
    /// Action vectors of a board of each seat.
    pub n_slots: [u32; 2],
    /// Hands between two rows of reach, values and permutations.
    pub hand_stride: u32,
    /// Cards of a hand, 1 or 2.
    pub n_hole: u32,
    /// Cards of the deck.
    pub n_cards: u32,
    /// 1 on the first street.
    pub is_first: u32,
    /// Rows of a board's lists: the most hands with one card.
    pub n_list_rows: u32,
}

/// A board.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Board {
    /// The board of the street before.
    pub parent: u32,
    /// Probability of one member of its class.
    pub chance: f32,
    /// Hands of each seat that the board leaves possible.
    pub n_hands: [u32; 2],
    /// Links to the boards of the next street.
    pub links: [u32; 2],
    /// The board of the street before among those of all streets; their number on the first street.
    pub parent_global: u32,
    /// 0.
    pub reserved: u32,
}

/// A board of the next street, or what it is after a renaming of suits.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Link {
    /// The board.
    pub board: u32,
    /// The permutation.
    pub permutation: u32,
}

/// A traverser's hand on a board, packed in four words:
///
/// 0. the opponent's weaker hands; `<< 16` the weaker and equal ones
/// 1. the same among those that share the first card, as indices into the per-card prefix sums
/// 2. the same for the second card
/// 3. first card, second card `<< 8` ([`NO_CARD`] where there is none), the opponent's number of the same hand `<< 16` or [`NO_HAND`]
pub type Record = Vec4;

/// Where strategies come from.
pub mod source {
    /// Matched from the regrets.
    pub const REGRETS: u32 = 0;
    /// The average.
    pub const AVERAGES: u32 = 1;
    /// The strategies kept by an earlier pass.
    pub const KEPT: u32 = 2;
}

/// Words of [`Task::control`].
pub mod control {
    /// Number of the step under way.
    pub const STEP: usize = 0;
    /// Iterations done before the first step: low and high half.
    pub const ITERATION: usize = 1;
    /// How many.
    pub const WORDS: usize = 3;
}

/// What the traverser does.
pub mod mode {
    /// Learns.
    pub const LEARN: u32 = 0;
    /// Plays its best.
    pub const BEST: u32 = 1;
    /// Plays its strategy.
    pub const VALUE: u32 = 2;
    /// Only adds the opponent's strategy to its averages, on the last street, by a plain pass.
    pub const AVERAGE: u32 = 3;
}

/// One seat's turn.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// The seat.
    pub traverser: u32,
    /// One of [`mode`].
    pub mode: u32,
    /// Where the traverser's strategy comes from: one of [`source`].
    pub own: u32,
    /// Where the opponent's strategy comes from: one of [`source`].
    pub opponent: u32,
    /// Whether the traverser's strategy is added to its average.
    pub averages: u32,
    /// Whether the strategy used (the best action, with `BEST`) is kept for a later pass.
    pub keeps: u32,
    /// Whether utilities are added up.
    pub utilities: u32,
    /// Which draws matter: bit 0 boards, bit 1 the opponent's hand, bit 2 the own hand.
    pub sampled: u32,
}

impl Pass {
    /// Whether the traverser learns from regrets, and nothing is sampled or kept.
    pub const fn is_plain(&self) -> bool {
        self.mode == mode::LEARN
            && self.own == source::REGRETS
            && self.opponent == source::REGRETS
            && self.averages == 1
            && self.keeps == 0
            && self.utilities == 1
            && self.sampled == 0
    }
}

/// A seat's tables: rows of hands for each board and action vector. Scales are used by 16-bit numbers only, one for [`ROW`] values.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Values of a table.
    n_values: u64,
    /// Bytes of a value.
    value_bytes: u32,
    /// Scales of a table.
    n_scales: u64
)]
pub struct SeatTables {
    /// Cumulative regrets.
    #[len(n_values * value_bytes)]
    pub regrets: *mut u8,
    /// Their scales.
    #[len(n_scales)]
    pub regret_scales: *mut f32,
    /// Sums of strategies.
    #[len(n_values * value_bytes)]
    pub averages: *mut u8,
    /// Their scales.
    #[len(n_scales)]
    pub average_scales: *mut f32,
    /// Last regrets; null unless the algorithm predicts.
    #[len(n_values * value_bytes)]
    #[nullable]
    pub last: *mut u8,
    /// Their scales, or null.
    #[len(n_scales)]
    #[nullable]
    pub last_scales: *mut f32,
    /// Strategies that a pass keeps for another; null unless one does.
    #[len(n_values)]
    #[nullable]
    pub kept: *mut f32,
}

/// How many there are of what a [`Task`] points to.
#[cfg(not(target_arch = "nvptx64"))]
#[allow(missing_docs, reason = "the fields are those of the task")]
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    pub streets: usize,
    pub programs: usize,
    pub segments: usize,
    pub evals: usize,
    pub ops: usize,
    pub operands: usize,
    pub boards: usize,
    pub links: usize,
    pub permutations: usize,
    pub hands: usize,
    pub inverse_priors: usize,
    pub given_rows: usize,
    pub given: usize,
    pub lists: usize,
    pub reach: u64,
    pub values: u64,
    pub utilities: u64,
    pub hand_factors: usize,
    pub steps: usize,
}

/// What the kernels work on. A batch of games has one array of each kind.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// How many there are of each.
    counts: Counts
)]
pub struct Task {
    /// Streets: those of one number of all games stand together.
    #[len(counts.streets)]
    pub streets: *const Street,
    /// Programs.
    #[len(counts.programs)]
    pub programs: *const Program,
    /// Segments.
    #[len(counts.segments)]
    pub segments: *const Segment,
    /// Evaluations.
    #[len(counts.evals)]
    pub evals: *const Eval,
    /// Operations.
    #[len(counts.ops)]
    pub ops: *const Op,
    /// Their operands.
    #[len(counts.operands)]
    pub operands: *const u32,
    /// Boards.
    #[len(counts.boards)]
    pub boards: *const Board,
    /// Links between boards.
    #[len(counts.links)]
    pub links: *const Link,
    /// Maps between hands.
    #[len(counts.permutations)]
    pub permutations: *const u16,
    /// Number that the game gives each hand of a board.
    #[len(counts.hands)]
    pub hands: *const u16,
    /// What is known of each hand of a board.
    #[len(counts.hands)]
    pub records: *const Record,
    /// 1 / (weight of the hand × scale of the game × probability of the board), for each hand of the last street's boards: reach × this is the own reach.
    #[len(counts.inverse_priors)]
    pub inverse_priors: *const f32,
    /// First row in `given` of a locked node on a board, or [`NONE`] where all its hands learn; null unless nodes are locked.
    #[len(counts.given_rows)]
    #[nullable]
    pub given_rows: *const u32,
    /// Given probabilities: a row for each action, hands as the game numbers them; negative for hands that learn. Regrets and averages of hands that have one stay 0.
    #[len(counts.given)]
    #[nullable]
    pub given: *const f32,
    /// Hands of a board by card: row k has each card's k-th hand from the weakest on.
    #[len(counts.lists)]
    pub lists: *const u16,
    /// Number of hands of lower cards, for each card: where its prefix sums begin. [`BEGINS`] a board and seat.
    #[len(2 * BEGINS * counts.boards)]
    pub begins: *const u16,
    /// Reach.
    #[len(counts.reach)]
    pub reach: *mut f32,
    /// Values.
    #[len(counts.values)]
    pub values: *mut f32,
    /// Sums of the root's values over iterations.
    #[len(counts.utilities)]
    pub utilities: *mut f64,
    /// Importance of each board in this iteration relative to its parent's, 0 for those left out; null unless boards are sampled.
    #[len(counts.boards)]
    #[nullable]
    pub board_factors: *const f32,
    /// Importance of each hand; null unless hands are sampled.
    #[len(counts.hand_factors)]
    #[nullable]
    pub hand_factors: *const f32,
    /// Steps of the iterations to come.
    #[len(counts.steps)]
    pub steps: *const Step<f32>,
    /// See [`control`].
    #[len(control::WORDS)]
    pub control: *mut u32,
    /// Tables of seat 0.
    #[args]
    pub first: SeatTables,
    /// Tables of seat 1.
    #[args]
    pub second: SeatTables,
}

const _: () = assert!(size_of::<Op>() == 64 && size_of::<Eval>() == 16 && size_of::<Segment>() == 24);
const _: () = assert!(size_of::<Program>() == 56 && size_of::<Street>() == 200 && size_of::<Board>() == 32);
const _: () = assert!(size_of::<Task>() == 23 * 8 + 2 * 56 && size_of::<Pass>() == 32);

/// Values that an evaluation takes in shared memory, for rows of `stride` hands of `n_hole` cards.
pub const fn region_len(stride: u32, n_hole: u32, full: bool) -> u32 {
    if full { TOTALS + (stride + ROW) + (stride * n_hole + TOTALS) } else { TOTALS }
}
