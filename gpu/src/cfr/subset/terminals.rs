//! Values of all terminals for one seat, over all deals.
//!
//! A seat that holds card c wins when all who are still in hold lower cards. Cards are dealt in their order: G(M) is the sum over all ways to deal the lowest |M|
//! cards to the holders of a set M, one each, of the product of their reaches; H(M) the same with the highest cards. Each is made from smaller sets by its last
//! card, 448 products. With card c, the others' total is the sum over all sets M of c holders of G(M) H(rest), 128 products in all; the part that the seat wins is
//! that of the sets that hold everybody who is still in.
//!
//! Two threads a terminal: one makes G and sums for the lower cards of the seat, the other H, and sums for the higher ones.
//! A thread has a column of SETS numbers in shared memory, so that lanes never meet in a bank.

use super::layout::{CARDS, OTHERS, Row, SETS, Tables, terminal};
use crate::cfr::regret::Real;
use crate::cuda::memory::{load, store};
use crate::cuda::shared::{Shared, dynamic};
use crate::cuda::sync::sync_warp;
use crate::cuda::thread::{self, WARP};
use crate::cuda::warp;
use crate::launch::LaunchShape;

/// Threads per block.
pub const BLOCK: u32 = 128;
/// Terminals of a block: half a warp works on G, the other half on H.
pub const TERMINALS: u32 = BLOCK / 2;

/// Launch shape for `n` terminals and numbers of `real` bytes.
pub const fn shape(n: u32, real: u32) -> LaunchShape {
    let blocks = if n == 0 { 1 } else { n.div_ceil(TERMINALS) };
    LaunchShape::new(blocks, BLOCK).with_shared(SETS as u32 * BLOCK * real)
}

/// The sets, the smaller ones first.
const BY_SIZE: [u8; SETS] = {
    let mut sets = [0; SETS];
    let (mut at, mut size) = (0, 0);
    while size <= OTHERS as u32 {
        let mut set = 0;
        while set < SETS {
            if (set as u32).count_ones() == size {
                sets[at] = set as u8;
                at += 1;
            }
            set += 1;
        }
        size += 1;
    }
    sets
};

/// First set of each size, and the end.
const FIRST: [u32; CARDS + 1] = {
    let mut first = [0; CARDS + 1];
    let mut set = 0;
    while set < SETS {
        let mut size = (set as u32).count_ones() as usize + 1;
        while size <= CARDS {
            first[size] += 1;
            size += 1;
        }
        set += 1;
    }
    first
};

/// The thread's column of shared memory.
#[derive(Clone, Copy)]
struct Columns<T> {
    numbers: Shared<T>,
}

impl<T: Real> Columns<T> {
    #[device_inline]
    #[track_caller]
    fn get(self, set: u32, column: u32) -> T {
        // SAFETY: sets are below SETS and columns below BLOCK.
        unsafe { self.numbers.get_unchecked(set * BLOCK + column) }
    }

    #[device_inline]
    #[track_caller]
    fn set(self, set: u32, column: u32, value: T) {
        // SAFETY: as above.
        unsafe { self.numbers.set_unchecked(set * BLOCK + column, value) }
    }
}

/// Sums over sets of one size, of reaches with one more card.
#[device_inline]
#[track_caller]
fn add_card<T: Real>(columns: Columns<T>, column: u32, size: usize, reaches: [T; OTHERS]) {
    let mut at = FIRST[size];
    while at < FIRST[size + 1] {
        let set = BY_SIZE[at as usize] as u32;
        let mut sum = T::ZERO;
        let mut holder = 0;
        while holder < OTHERS {
            // The same for all lanes.
            if set >> holder & 1 != 0 {
                sum += reaches[holder] * columns.get(set ^ 1 << holder, column);
            }
            holder += 1;
        }
        columns.set(set, column, sum);
        at += 1;
    }
}

/// Where a thread works.
#[derive(Clone, Copy)]
struct Place {
    /// Number of the terminal.
    number: u32,
    /// The seat whose values are wanted.
    seat: u32,
    /// The thread's column.
    column: u32,
    /// Whether it deals from the highest card on.
    high: bool,
}

/// Sums over all sets of holders of the lowest cards, or the highest, into the thread's column.
///
/// # Safety
/// As [`terminals`]; the terminal is there.
#[device_inline]
#[track_caller]
unsafe fn deal<T: Real>(tables: &Tables<T>, columns: Columns<T>, place: Place) {
    let mut reaches = [[T::ZERO; CARDS]; OTHERS];
    // SAFETY: rows name a line of reaches for each seat.
    unsafe {
        let rows = load(tables.rows, place.number as usize);
        let mut holder = 0;
        while holder < OTHERS {
            let row = if (holder as u32) < place.seat { rows[holder] } else { rows[holder + 1] };
            let Row(reach) = load(tables.reach.cast_const(), row as usize);
            let mut card = 0;
            while card < CARDS {
                // The thread of the higher cards deals from the highest on.
                reaches[holder][card] = if place.high { reach[CARDS - 1 - card] } else { reach[card] };
                card += 1;
            }
            holder += 1;
        }
    }
    columns.set(0, place.column, T::ONE);
    let of_card = |card: usize| {
        let mut of_card = [T::ZERO; OTHERS];
        let mut holder = 0;
        while holder < OTHERS {
            of_card[holder] = reaches[holder][card];
            holder += 1;
        }
        of_card
    };
    add_card(columns, place.column, 1, of_card(0));
    add_card(columns, place.column, 2, of_card(1));
    add_card(columns, place.column, 3, of_card(2));
    add_card(columns, place.column, 4, of_card(3));
    add_card(columns, place.column, 5, of_card(4));
    add_card(columns, place.column, 6, of_card(5));
    add_card(columns, place.column, 7, of_card(6));
}

/// Values of half of the seat's cards, from both columns of the terminal that `word` is of.
///
/// # Safety
/// As [`deal`], behind which the warp has met.
#[device_inline]
#[track_caller]
unsafe fn add_up<T: Real>(tables: &Tables<T>, columns: Columns<T>, place: Place, word: u32) {
    let Place { number, seat, column, high } = place;
    let still_in = word >> terminal::NODE_BITS;
    let below = (1 << seat) - 1;
    // Who has folded gets the same from every deal.
    let in_hand = still_in >> seat & 1 != 0;
    let needed = if in_hand { (still_in & below) | (still_in >> (seat + 1)) << seat } else { 0 };
    let (low_column, high_column) = if high { (column - WARP / 2, column) } else { (column, column + WARP / 2) };
    // SAFETY: payoffs of each seat and terminal; the terminal's node and the cards are this thread's.
    unsafe {
        let [lose, win] = load(tables.payoffs, (seat * tables.n_terminals + number) as usize);
        let node = (word & ((1 << terminal::NODE_BITS) - 1)) as usize;
        let first_card = if high { CARDS as u32 / 2 } else { 0 };
        let mut card = first_card;
        while card < first_card + CARDS as u32 / 2 {
            // Apart, so that a card that always wins has exactly what it has when all others fold.
            let (mut lost, mut won) = (T::ZERO, T::ZERO);
            let mut at = FIRST[card as usize];
            while at < FIRST[card as usize + 1] {
                let set = BY_SIZE[at as usize] as u32;
                let both = columns.get(set, low_column) * columns.get(SETS as u32 - 1 - set, high_column);
                if set & needed == needed {
                    won += both;
                } else {
                    lost += both;
                }
                at += 1;
            }
            store(tables.values.cast::<T>(), node * CARDS + card as usize, lose * lost + win * won);
            card += 1;
        }
    }
}

/// The kernel's body.
///
/// # Safety
/// Launched with [`shape`]; the tables are complete, and the other seats' reaches are those of their strategies.
#[device_inline]
#[track_caller]
pub(super) unsafe fn terminals<T: Real>(tables: Tables<T>, seat: u32) {
    let columns = Columns { numbers: dynamic::<T>(0, SETS as u32 * BLOCK) };
    let lane = thread::lane();
    let number = thread::block_idx_x() * TERMINALS + thread::warp_index() * (WARP / 2) + lane % (WARP / 2);
    let place = Place { number, seat, column: thread::thread_idx_x(), high: lane >= WARP / 2 };
    let active = number < tables.n_terminals;
    let mut word = 0;
    // SAFETY: where the thread is active, the terminal is there, and so are the rows that it names.
    unsafe {
        if active {
            word = load(tables.terminals, number as usize);
            deal(&tables, columns, place);
        }
        // The other half of the warp has filled its columns.
        sync_warp(warp::ALL);
        if active {
            add_up(&tables, columns, place, word);
        }
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn sets_are_ordered_by_size() {
        assert_eq!(FIRST, [0, 1, 8, 29, 64, 99, 120, 127, 128]);
        for size in 0..=OTHERS {
            for at in FIRST[size]..FIRST[size + 1] {
                assert_eq!(BY_SIZE[at as usize].count_ones() as usize, size);
            }
        }
    }
}
