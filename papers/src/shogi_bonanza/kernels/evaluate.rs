//! The value of each position, a block a position and a thread a byte.
//!
//! The table from codes to kinds lies in constant memory, as in the paper, and so do the values, which are a parameter. That memory answers the threads of a warp
//! together only where they ask for the same word, so it is not what one would choose today (the values are copied to shared memory first). Whether a
//! position has 95 bytes or 96 makes no difference, and the bytes a second are far below what a GPU's memory gives (item `memory`): the rest of the kernel, with seven barriers (its
//! listing has two) for 95 additions, is likely to take the time. It was not measured apart.

use warpplay_gpu::cuda::{kernel, memory, shared_array, sync, thread};
use warpplay_gpu::launch::LaunchShape;
use warpplay_gpu::shogi::difference::KINDS;
use warpplay_gpu::shogi::layout;

use super::halve;

/// Threads of a block: a byte each.
pub const BLOCK: u32 = layout::BYTES;

/// Launch shape for `n` positions.
pub const fn shape(n: u32) -> LaunchShape {
    LaunchShape::new(if n == 0 { 1 } else { n }, BLOCK)
}

/// The values of the 13 kinds, the pawn's first; a parameter, so that they lie in constant memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KindValues(pub [f64; KINDS as usize]);

/// Which value a code counts with: its index from 1, negative for White's pieces; 0 for what has no value. 32 entries, so that a masked code is in it.
#[cfg(any(test, not(target_arch = "nvptx64")))]
const PIECE_INDEX: [i8; 32] = {
    let mut table = [0; 32];
    let mut kind = 0;
    while kind < KINDS as usize {
        table[1 + kind] = kind as i8 + 1;
        table[15 + kind] = -(kind as i8 + 1);
        kind += 1;
    }
    table
};

#[cfg(target_arch = "nvptx64")]
core::arch::global_asm!(
    ".const .align 4 .b8 shogi_piece_index[32] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0, 255, 254, 253, 252, 251, 250, 249, 248, 247, 246, 245, 244, 243, 0, 0, 0, 0}};"
);

/// The entry of a code in the table of constant memory.
#[inline(always)]
fn piece_index(code: u32) -> i32 {
    let code = code & 31;
    #[cfg(target_arch = "nvptx64")]
    {
        let index: u32;
        // SAFETY: the table has 32 bytes, and nothing writes it.
        unsafe {
            core::arch::asm!(
                "{{ .reg .b32 %at; mov.u32 %at, shogi_piece_index; add.u32 %at, %at, {1}; ld.const.s8 {0}, [%at]; }}",
                out(reg32) index, in(reg32) code, options(pure, nomem, nostack, preserves_flags)
            )
        };
        index as i32
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        PIECE_INDEX[code as usize] as i32
    }
}

/// The value of each position, positive where Black has more.
///
/// * Launch: [`shape`], a block a position, a thread a byte: 96.
/// * Reads: `positions` `[n * stride]` bytes, `stride` 96 or 95; `values` and the table of codes in constant memory.
/// * Writes: `f` `[n]`.
/// * Shared: 872 bytes: a value of each thread, the values of the kinds.
/// * Cost: one byte a thread, 5 + 1 steps of a reduction, 7 barriers.
/// * Twin: `warpplay_cpu_ref::shogi::material::positions::evaluate`.
/// * Source: the shogi paper of 2009, section 4, Table 4.
///
/// # Safety
/// Launched with [`shape`] for `n`; the arrays have these lengths.
#[kernel(max_threads = BLOCK)]
pub unsafe fn shogi_paper_evaluate(positions: *const u8, f: *mut f64, values: KindValues, stride: u32, n: u32) {
    let sums = shared_array![f64; BLOCK as usize];
    let worths = shared_array![f64; KINDS as usize];
    let own = thread::thread_idx_x();
    let position = thread::block_idx_x();
    // A parameter with an index known only to the thread would be copied for every thread first.
    let mut kind = 0;
    while kind < KINDS {
        if own == kind {
            worths.set(kind, values.0[kind as usize]);
        }
        kind += 1;
    }
    // The values must be there.
    sync::sync_threads();
    let mut worth = 0.0;
    if position < n && own < layout::USED {
        // SAFETY: a byte of the position.
        let byte = unsafe { memory::load(positions, position as usize * stride as usize + own as usize) } as u32;
        let (index, count) = if own < layout::BLACK_HAND {
            (piece_index(byte), 1.0)
        } else if own < layout::WHITE_HAND {
            ((own - layout::BLACK_HAND) as i32 + 1, byte as f64)
        } else {
            (-((own - layout::WHITE_HAND) as i32 + 1), byte as f64)
        };
        if index != 0 {
            let value = worths.get(index.unsigned_abs() - 1);
            worth = count * if index > 0 { value } else { -value };
        }
    }
    sums.set(own, worth);
    // Each step reads what the one before wrote, in the last steps too, where only threads of one warp are left: all of the block wait, inside no branch.
    sync::sync_threads();
    halve(sums, own, 48);
    halve(sums, own, 24);
    halve(sums, own, 12);
    halve(sums, own, 6);
    halve(sums, own, 3);
    if own == 0 && position < n {
        let value = sums.get(0) + sums.get(1) + sums.get(2);
        // SAFETY: below `n`, written by this thread alone.
        unsafe { memory::store(f, position as usize, value) };
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn the_table_in_constant_memory_is_that_of_the_codes() {
        for code in 0..32u32 {
            let expected = match code {
                0 | 14 | 28.. => 0,
                _ => {
                    let (kind, white) = layout::piece(code);
                    (kind as i32 + 1) * if white == 1 { -1 } else { 1 }
                }
            };
            assert_eq!(piece_index(code), expected);
        }
        let source = include_str!("evaluate.rs");
        let written: Vec<String> = PIECE_INDEX.iter().map(|&index| (index as u8).to_string()).collect();
        assert!(source.contains(&format!("{{{{{}}}}};", written.join(", "))), "the device's table differs");
    }
}
