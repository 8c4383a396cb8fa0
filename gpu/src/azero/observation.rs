//! What a network sees of a position: planes of bits, and which actions are legal.
//!
//! ```text
//! plane        default        egocentric          legacy (OpenSpiel before 1.6.10)
//!   0          white men      observer's men      observer's men
//!   1          white kings    observer's kings    observer's kings
//!   2          black men      the other's men     the other's kings
//!   3          black kings    the other's kings   the other's men
//!   4          empty squares, light ones too
//! ```
//!
//! The board is never turned. Neither the count of quiet actions nor the piece in mid-capture is shown; the legal actions show the latter.
//!
//! Twin  `warpplay_cpu_ref::azero::observation`.   Source  OpenSpiel 2.0.2, `checkers.cc`.

use crate::mcts::games::checkers::{Checkers, Moves};
use crate::mcts::{Game, Player};

/// What an observation shows.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// The same planes for both players.
    #[default]
    Default = 0,
    /// The observer's pieces first.
    Egocentric = 1,
    /// The observer's pieces first, the other's kings before the other's men.
    Legacy = 2,
}

impl Layout {
    /// The layout of a number, as kernels get it.
    #[device_inline]
    pub const fn from_index(index: u32) -> Self {
        match index {
            1 => Self::Egocentric,
            2 => Self::Legacy,
            _ => Self::Default,
        }
    }
}

/// A game whose positions a network can see. Its board has at most 64 squares, [`Game::BOARD`].
pub trait Observed: Game {
    /// Planes of an observation.
    const PLANES: u32;
    /// The legal actions of a position, found once and then asked many times.
    type Legal: Copy;

    /// Plane `plane` as `observer` sees it: bit `row * columns + column`.
    fn plane(&self, plane: u32, observer: Player, layout: Layout) -> u64;

    /// The legal actions; none once the game is over.
    fn legal(&self) -> Self::Legal;

    /// Whether `action` is among the legal ones.
    fn allows(legal: &Self::Legal, action: u32) -> bool;

    /// How many actions are legal.
    fn n_legal(legal: &Self::Legal) -> u32;

    /// The `n`-th legal action in ascending order, counted from 0; there must be more than `n`.
    fn nth_legal(legal: &Self::Legal, n: u32) -> u32;
}

/// Numbers of an observation, `[PLANES, rows, columns]`.
pub const fn n_observation<G: Observed>() -> u32 {
    G::PLANES * G::BOARD.0 * G::BOARD.1
}

/// Writes the observation `[PLANES, rows, columns]` as 0.0 and 1.0: the elements `lane`, `lane + lanes` and so on. All lanes together write all.
///
/// # Safety
/// `out` holds [`n_observation`] values; no other thread accesses these elements.
#[device_inline]
pub unsafe fn write_observation<G: Observed>(
    position: &G,
    observer: Player,
    layout: Layout,
    out: *mut f32,
    lane: u32,
    lanes: u32,
) {
    let cells = G::BOARD.0 * G::BOARD.1;
    for plane in 0..G::PLANES {
        let bits = position.plane(plane, observer, layout);
        for cell in crate::cuda::thread::strided(lane, cells, lanes) {
            let value = if bits >> (cell & 63) & 1 == 1 { 1.0 } else { 0.0 };
            // SAFETY: plane < PLANES and cell < cells.
            unsafe { crate::cuda::memory::store(out, (plane * cells + cell) as usize, value) };
        }
    }
}

/// Writes 1 for each legal action and 0 for the others, [`Game::MAX_ACTIONS`] bytes: the elements `lane`, `lane + lanes` and so on.
///
/// # Safety
/// `out` holds [`Game::MAX_ACTIONS`] bytes; no other thread accesses these elements.
#[device_inline]
pub unsafe fn write_mask<G: Observed>(position: &G, out: *mut u8, lane: u32, lanes: u32) {
    let legal = position.legal();
    for action in crate::cuda::thread::strided(lane, G::MAX_ACTIONS, lanes) {
        // SAFETY: action < MAX_ACTIONS.
        unsafe { crate::cuda::memory::store(out, action as usize, G::allows(&legal, action) as u8) };
    }
}

/// Dark squares, bit `row * 8 + column`, of a word with four bits a row.
#[device_inline]
const fn on_board(pieces: u32) -> u64 {
    // Bit i to bit 2i, and one further in even rows.
    let mut spread = pieces as u64;
    spread = (spread | spread << 16) & 0x0000_ffff_0000_ffff;
    spread = (spread | spread << 8) & 0x00ff_00ff_00ff_00ff;
    spread = (spread | spread << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    spread = (spread | spread << 2) & 0x3333_3333_3333_3333;
    spread = (spread | spread << 1) & 0x5555_5555_5555_5555;
    (spread & 0x00ff_00ff_00ff_00ff) << 1 | spread & 0xff00_ff00_ff00_ff00
}

impl Observed for Checkers {
    const PLANES: u32 = 5;
    type Legal = Moves;

    #[device_inline]
    fn plane(&self, plane: u32, observer: Player, layout: Layout) -> u64 {
        let [first, second] = self.pieces();
        if plane >= 4 {
            return !on_board(first | second);
        }
        let turned = layout != Layout::Default && observer == Player::Second;
        let other = plane >= 2;
        let pieces = if other != turned { second } else { first };
        let kings = (plane & 1 == 1) != (other && layout == Layout::Legacy);
        on_board(if kings { pieces & self.kings() } else { pieces & !self.kings() })
    }

    #[device_inline]
    fn legal(&self) -> Moves {
        self.moves()
    }

    #[device_inline]
    fn allows(legal: &Moves, action: u32) -> bool {
        legal.contains(action)
    }

    #[device_inline]
    fn n_legal(legal: &Moves) -> u32 {
        legal.count()
    }

    #[device_inline]
    fn nth_legal(legal: &Moves, n: u32) -> u32 {
        legal.nth(n)
    }
}
