//! A betting tree with one hole card a seat, as the kernels see it.
//!
//! Every array of numbers has rows of [`CARDS`] values, a card each. A node's number is that of the betting tree, whose children stand in a row; an action has
//! the number of the node that it leads to. Missing players and cards are filled up: whoever is missing is a *ghost* that holds any card with reach 1, and cards
//! beyond the deck are held by ghosts only. So every deal gives each of eight holders one of eight cards, and the constant number of ways in which ghosts can
//! hold what is left is divided out with the number of deals.
//!
//! Values are not divided before regrets are made of them: with whole payoffs they are exact where strategies are simple fractions, and so equal actions have
//! equal values.

use crate::cfr::regret::{Real, Step};
use crate::cuda::DeviceArgs;

/// Most cards, and most players.
pub const CARDS: usize = 8;
/// Holders beside the one whose card is known.
pub const OTHERS: usize = CARDS - 1;
/// Sets of the others.
pub const SETS: usize = 1 << OTHERS;

/// Rows of reaches that belong to no action.
pub mod row {
    /// A ghost's: 1 for every card.
    pub const GHOST: u32 = 0;
    /// A player's before any action: 1 for the cards of the deck.
    pub const ROOT: u32 = 1;

    /// After the action that leads to `node`, which is not the root.
    pub const fn after(node: u32) -> u32 {
        node + 1
    }
}

/// The parts of a terminal's word.
pub mod terminal {
    /// Bits of the node's number.
    pub const NODE_BITS: u32 = 24;
}

/// A row of numbers, a card each.
#[repr(C, align(32))]
#[derive(Clone, Copy, Debug)]
pub struct Row<T>(pub [T; CARDS]);

// SAFETY: eight of `f32` or `f64`.
unsafe impl<T: Real + bytemuck::Zeroable> bytemuck::Zeroable for Row<T> {}
// SAFETY: as above; they are one or two alignments, so no padding.
unsafe impl<T: Real + bytemuck::Pod> bytemuck::Pod for Row<T> {}

/// A node of the betting tree.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Node {
    /// First child.
    pub first_child: u32,
    /// Children (low half; none at a terminal), seat that acts (high half).
    pub children_and_seat: u32,
}

/// A decision node in its seat's list, which stands in the order of the nodes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct OwnNode {
    /// The node.
    pub node: u32,
    /// The seat's row of reaches before it acts here.
    pub row: u32,
    /// Index in the list of the seat's decision before, where there is one.
    pub previous: u32,
    /// 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<Row<f32>>() == 32 && size_of::<Row<f64>>() == 64);
const _: () = assert!(size_of::<Node>() == 8 && size_of::<OwnNode>() == 16);

/// Everything on the device.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Nodes.
    n_nodes: u32,
    /// Decision nodes.
    n_own: u32,
    /// Players.
    n_players: u32,
    /// Iterations whose steps are there.
    n_steps: u32
)]
pub struct Tables<T> {
    /// The nodes.
    #[len(n_nodes)]
    pub nodes: *const Node,
    /// Decision nodes, seat by seat.
    #[len(n_own)]
    pub own: *const OwnNode,
    /// Of each terminal: its node (low bits), who is still in (high 8).
    #[len(n_terminals)]
    pub terminals: *const u32,
    /// Of each terminal: the row of reaches of each of eight holders.
    #[len(n_terminals)]
    pub rows: *const [u32; CARDS],
    /// Seat by seat, of each terminal: what it gets when it loses, and when it wins, in chips; the same twice when it has folded.
    #[len(n_players * n_terminals)]
    pub payoffs: *const [T; 2],
    /// Values of the nodes for the seat that is being worked on, summed over deals.
    #[len(n_nodes)]
    pub values: *mut Row<T>,
    /// Strategies, by action.
    #[len(n_nodes)]
    pub strategy: *mut Row<T>,
    /// Cumulative regrets, by action.
    #[len(n_nodes)]
    pub regrets: *mut Row<T>,
    /// Weighted sums of strategies, by action.
    #[len(n_nodes)]
    pub averages: *mut Row<T>,
    /// Last regrets, by action; null unless the algorithm predicts.
    #[len(n_nodes)]
    #[nullable]
    pub last: *mut Row<T>,
    /// Reaches: two rows that belong to no action, then by action ([`row`]).
    #[len(n_nodes + 1)]
    pub reach: *mut Row<T>,
    /// What each iteration of a run does.
    #[len(n_steps)]
    pub steps: *const Step<T>,
    /// Iterations of the run that are done.
    #[len(1)]
    pub step: *mut u32,
    /// Sums of utilities by seat, then results `[seat, value or best response]`.
    #[len(3 * n_players)]
    pub sums: *mut f64,
    /// Terminals.
    pub n_terminals: u32,
    /// Cards of the deck.
    pub n_cards: u32,
    /// What makes of values expected chips: 1 over the number of deals, ghosts' counted.
    pub factor: T,
}

const _: () = assert!(size_of::<Tables<f32>>() == 128 && size_of::<Tables<f64>>() == 128);

/// What the values kernel makes of a seat's own nodes.
pub mod mode {
    /// The strategy's value; regrets and averages grow, and the strategy is renewed.
    pub const LEARN: u32 = 0;
    /// The same, but the strategy stays.
    pub const LEARN_LATER: u32 = 1;
    /// The strategy's value.
    pub const VALUE: u32 = 2;
    /// The best action's value.
    pub const BEST: u32 = 3;
}

/// Reads one number of a row.
///
/// # Safety
/// The array has the row, and nobody writes it meanwhile.
#[device_inline]
#[track_caller]
pub(super) unsafe fn get<T: Real>(rows: *const Row<T>, row: u32, card: u32) -> T {
    // SAFETY: the array has the row, of CARDS numbers.
    unsafe { crate::cuda::memory::load(rows.cast::<T>(), row as usize * CARDS + card as usize) }
}

/// Writes one number of a row.
///
/// # Safety
/// The array has the row, and nobody else accesses the number meanwhile.
#[device_inline]
#[track_caller]
pub(super) unsafe fn set<T: Real>(rows: *mut Row<T>, row: u32, card: u32, value: T) {
    // SAFETY: as in `get`.
    unsafe { crate::cuda::memory::store(rows.cast::<T>(), row as usize * CARDS + card as usize, value) }
}
