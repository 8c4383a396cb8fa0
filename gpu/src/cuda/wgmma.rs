//! Tensor cores driven by a warpgroup: four warps multiply 64 rows at once, the second operand straight from shared memory (`sm_90a` only).
//!
//! Two forms: [`f16_n32`] and [`f16_n16`] have A in registers; `f16_n256` and its like have both operands in shared memory, up to four products a call, and are ended by
//! `complete_n256` and its like. Of the first:
//!
//! `D += A B` with A 64×16 in registers, B 16×32 or 16×16 in shared memory, D 64×32 or 64×16 in registers. Warp `w` of the group has rows 16w … 16w + 15; within them operand A and
//! each 8 columns of D are spread over the lanes as in [`mma`]: words `a[0..4]`; `d[4 j + c]` is `c[c]` of columns 8j … 8j + 7.
//!
//! B lies in shared memory as tiles of 8 columns and 8 rows, 128 bytes each: column after column, the 8 half-precision numbers of a column side by side. A
//! [`Tiles`] says where the first tile is and how far apart the others are.
//!
//! The product runs while the warps go on; [`finish`] comes before its result is read.
//! On all targets but `sm_90a` the first form is a product by each warp alone ([`by_warp`]), which needs `sm_80`, and the second traps.

#[cfg(all(target_arch = "nvptx64", target_feature = "sm_90a"))]
use warpplay_gpu_macros::registers;

use super::sync::WholeWarp;
use super::{mma, thread};
#[cfg(not(target_arch = "nvptx64"))]
use crate::simt::hooks;
use crate::unroll::unroll;

/// Position of the tiles of an operand in shared memory, in the hardware's format: address, bytes from the tile of rows 0 to 7 to that of
/// rows 8 to 15, and bytes from a tile to that of the next 8 columns, each in units of 16; and whether chunks are exchanged.
///
/// `BY_DEPTH`: what follows each other in memory is not the depth of one row of A or column of B, but rows or columns of one depth; operands of 16 bits alone can lie so.
#[derive(Clone, Copy, Debug)]
pub struct Tiles<const BY_DEPTH: bool = false> {
    /// Address and the first of the two distances.
    low: u32,
    /// The rest, which is known when a kernel is compiled.
    high: u32,
}

/// A token which shows that all 128 threads of a warpgroup reached one point of the program together. Its products require it.
#[derive(Debug)]
pub struct WholeGroup(core::marker::PhantomData<*mut ()>);

impl WholeGroup {
    /// Makes the token for a part of a kernel.
    ///
    /// # Safety
    /// All threads of the warpgroup (128 threads, the first a multiple of 128) run what it is lent to together: every condition there is the same for all of them. Every product that is
    /// started with it is ended by [`finish`], [`complete_n256`] or its like before its result is used, moved or dropped, and before its operands, registers and tiles, are written again.
    #[device_inline]
    pub const unsafe fn assume() -> Self {
        Self(core::marker::PhantomData)
    }

    /// The token of a warp of the group.
    #[device_inline]
    pub const fn warp(&self) -> WholeWarp {
        // SAFETY: the warp's lanes are threads of the group, which are here together.
        unsafe { WholeWarp::assume() }
    }
}

impl Tiles<false> {
    /// The tiles from shared address `address` on; all three are multiples of 16 below 2^18.
    ///
    /// # Safety
    /// These tiles, and those at each [`offset`](Tiles::offset) that is multiplied, are shared memory of the block. They are written, [`publish`]ed, and followed by a barrier
    /// before they are multiplied.
    #[device_inline]
    pub const unsafe fn new(address: u32, row_step: u32, column_step: u32) -> Self {
        Self { low: Self::bits(address) | Self::bits(row_step) << 16, high: Self::bits(column_step) }
    }
}

impl<const BY_DEPTH: bool> Tiles<BY_DEPTH> {
    /// The tiles of rectangles as a [tensor map](super::tensor_map) copies them, from shared address `address` on, a multiple of 1024: rows of 128 bytes, chunk `c` of row `r` in slot `c ^ (r % 8)`.
    ///
    /// Of an operand that lies depth by depth, a rectangle has 64 rows of A or columns of B side by side, a depth in each of its rows; the rectangles of the next 64 follow `rectangle_bytes` further on, and
    /// [`offset`](Self::offset) goes along the depth, 128 bytes for each. Of another, there is one rectangle, and [`offset`](Self::offset) goes along a row, by less than 128.
    ///
    /// # Safety
    /// As [`new`](Tiles::new); copies need no publishing.
    #[device_inline]
    pub const unsafe fn copied(address: u32, rectangle_bytes: u32) -> Self {
        // The mode of the exchange is in the two highest bits.
        Self { low: Self::bits(address) | Self::bits(rectangle_bytes) << 16, high: Self::bits(8 * 128) | 1 << 30 }
    }

    const fn bits(bytes: u32) -> u32 {
        bytes >> 4 & 0x3FFF
    }

    /// What the instructions take.
    const fn descriptor(self) -> u64 {
        self.low as u64 | (self.high as u64) << 32
    }

    /// 16 bytes of a row, those of the first or second half of the depth.
    #[cfg(not(target_arch = "nvptx64"))]
    #[track_caller]
    fn chunk(self, row: u32, half: u32) -> [u8; 16] {
        let mut bytes = [0; 16];
        let exchanged = |plain: u32| plain ^ (plain >> 7 & 7) << 4;
        if BY_DEPTH {
            let first = self.field(0) + row / 64 * self.field(16) + half * self.field(32) + row % 64 * 2;
            for (depth, value) in bytes.chunks_exact_mut(2).enumerate() {
                hooks::shared_read(exchanged(first + 128 * depth as u32), value);
            }
        } else if self.high >> 30 == 1 {
            hooks::shared_read(exchanged(self.field(0) + row * 128 + half * 16), &mut bytes);
        } else {
            let at = self.field(0) + half * self.field(16) + row / 8 * self.field(32) + row % 8 * 16;
            hooks::shared_read(at, &mut bytes);
        }
        bytes
    }

    /// The tiles `bytes` further on; `bytes` is a multiple of 16, and the address stays below 2^18.
    #[device_inline]
    pub const fn offset(self, bytes: u32) -> Self {
        Self { low: self.low + (bytes >> 4), ..self }
    }

    /// Bytes of the field at bit `shift`.
    #[device_inline]
    const fn field(self, shift: u32) -> u32 {
        ((self.descriptor() >> shift & 0x3FFF) as u32) << 4
    }
}

/// Makes this thread's writes to shared memory visible to later products, once a barrier has passed.
#[device_inline]
pub fn publish() {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90a"))]
    // SAFETY: a fence touches no memory.
    unsafe {
        core::arch::asm!("fence.proxy.async.shared::cta;", options(nostack, preserves_flags))
    };
}

/// Products with A in registers; the fence, in one piece with the product, orders whatever made its registers before it.
macro_rules! from_registers {
    ($($(#[$doc:meta])* $name:ident, $n:literal, $instruction:literal, $operands:literal, [$($at:literal)*];)+) => {$(
        $(#[$doc])*
        #[device_inline]
        #[track_caller]
        pub fn $name(whole: &WholeGroup, d: [f32; $n], a: [u32; 4], b: Tiles) -> [f32; $n] {
            #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90a"))]
            {
                let (mut d, _) = (d, whole);
                // SAFETY: whoever made `b` vouches for its tiles, and the token for the warpgroup.
                unsafe {
                    core::arch::asm!(
                        "{{ .reg .pred add; setp.ne.b32 add, 1, 0; wgmma.fence.sync.aligned;",
                        $instruction,
                        $operands,
                        $(inout(reg32) d[$at],)*
                        in(reg32) a[0], in(reg32) a[1], in(reg32) a[2], in(reg32) a[3], in(reg64) b.descriptor(),
                        options(nostack, preserves_flags)
                    )
                };
                d
            }
            #[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_90a")))]
            // SAFETY: whoever made `b` vouches for its tiles, and the token for the warp.
            unsafe {
                by_warp(&whole.warp(), d, a, b)
            }
            #[cfg(not(target_arch = "nvptx64"))]
            if hooks::has_warpgroups() {
                of_registers(d, a, b)
            } else {
                // SAFETY: as above.
                unsafe { by_warp(&whole.warp(), d, a, b) }
            }
        }
    )+};
}

from_registers! {
    /// Starts `d + a b` in half precision, for 32 columns of B. The result must go through [`finish`] before it is read.
    ///
    /// All threads of the warpgroup call it together, in a straight line of code.
    f16_n32, 16, "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16",
        "{{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}, {12}, {13}, {14}, {15}}}, {{{16}, {17}, {18}, {19}}}, {20}, add, 1, 1, 0; }}",
        [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15];
    /// [`f16_n32`] for 16 columns of B.
    f16_n16, 8, "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16",
        "{{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}}, {{{8}, {9}, {10}, {11}}}, {12}, add, 1, 1, 0; }}",
        [0 1 2 3 4 5 6 7];
}

/// `d + a b` for `2 N` columns of B, 16 or 32, by one warp: its 16 rows of what the products with A in registers compute. Needs `sm_80`, and traps before it.
///
/// # Safety
/// The tiles are shared memory of the block, written before a barrier.
#[device_inline]
#[track_caller]
pub unsafe fn by_warp<const N: usize>(whole: &WholeWarp, d: [f32; N], a: [u32; 4], b: Tiles) -> [f32; N] {
    const { assert!(N == 8 || N == 16) };
    let (matrix, in_matrix) = (thread::lane() / 8, thread::lane() % 8);
    // Two tiles of 8 columns, both halves of the depth of each.
    let from = b.field(0) + matrix % 2 * b.field(16) + matrix / 2 * b.field(32) + in_matrix * 16;
    let mut d = d;
    unroll!(PAIR in [0, 1] {
        if 8 * PAIR < N {
            // SAFETY: the whole warp is here; every lane's row of 16 bytes lies in one of four tiles.
            let words = unsafe { mma::load_matrix_x4(from + 2 * PAIR as u32 * b.field(32)) };
            unroll!(TILE in [0, 1] {
                let at = 8 * PAIR + 4 * TILE;
                let sums = mma::f16(whole, [d[at], d[at + 1], d[at + 2], d[at + 3]], a, [words[2 * TILE], words[2 * TILE + 1]]);
                d[at] = sums[0];
                d[at + 1] = sums[1];
                d[at + 2] = sums[2];
                d[at + 3] = sums[3];
            });
        }
    });
    d
}

/// What the products with A in registers compute, a lane's `N` numbers of `2 N` columns, as `simt` computes it.
///
/// The lanes of a warp share the reading: each reads a half of one column or two.
#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
fn of_registers<const N: usize>(d: [f32; N], a: [u32; 4], b: Tiles) -> [f32; N] {
    let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let mut values = vec![pair(a[0], a[2]), pair(a[1], a[3])];
    let n_columns = 2 * N;
    for chunk in (hooks::lane()..2 * n_columns as u32).step_by(32) {
        values.extend(longs(b.chunk(chunk % n_columns as u32, chunk / n_columns as u32)));
    }
    let mut own = [0; N];
    hooks::compute_together(super::warp::ALL, &values, &mut own, |lanes, results| {
        let mut rows = [0.0; 16 * 16];
        for (row, values) in rows.chunks_exact_mut(16).enumerate() {
            for (word, values) in values.chunks_exact_mut(2).enumerate() {
                let words = lanes[row / 8][row % 8 * 4 + word % 4] >> (32 * (word / 4));
                values.copy_from_slice(&mma::unpack_f16(words as u32).map(f64::from));
            }
        }
        let mut columns = vec![0.0; 16 * n_columns];
        for chunk in 0..2 * n_columns {
            let at = 2 + chunk / 32 * 2;
            let bytes = bytes_of([lanes[at][chunk % 32], lanes[at + 1][chunk % 32]]);
            for (depth, value) in (chunk / n_columns * 8..).zip(widen::f16(bytes)) {
                columns[depth * n_columns + chunk % n_columns] = value;
            }
        }
        share(&mma::dots(&rows, &columns, 16), results);
    });
    core::array::from_fn(|at| mma::cut_off(f64::from(d[at]) + f64::from_bits(own[at])))
}

/// 16 bytes as two words.
#[cfg(not(target_arch = "nvptx64"))]
fn longs(bytes: [u8; 16]) -> [u64; 2] {
    let words: &[[u8; 8]] = bytes.as_chunks().0;
    [0, 1].map(|word| u64::from_le_bytes(words[word]))
}

/// The bytes of two words.
#[cfg(not(target_arch = "nvptx64"))]
fn bytes_of(longs: [u64; 2]) -> [u8; 16] {
    (u128::from(longs[0]) | u128::from(longs[1]) << 64).to_le_bytes()
}

/// Gives each lane of a warp its numbers of 16 rows of products.
#[cfg(not(target_arch = "nvptx64"))]
fn share(products: &[f64], results: &mut [u64]) {
    let columns = products.len() / 16;
    for (lane, results) in results.chunks_exact_mut(columns / 2).enumerate() {
        for (at, result) in results.iter_mut().enumerate() {
            let (row, column) = (lane / 4 + at % 4 / 2 * 8, at / 4 * 8 + lane % 4 * 2 + at % 2);
            *result = products[row * columns + column].to_bits();
        }
    }
}

/// Closes a group of products, and waits until at most `PENDING` of the newest groups still run: the registers of the others' operands may be written again.
///
/// `words` are the source of the next operands; they are returned unchanged, so that nothing is computed from them before the wait.
#[device_inline]
pub fn keep_pending<const PENDING: u32>(_: &WholeGroup, words: [u64; 2]) -> [u64; 2] {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90a"))]
    {
        let [mut first, mut second] = words;
        // SAFETY: the token vouches for the warpgroup.
        unsafe {
            core::arch::asm!("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned {2}; // {0} {1}",
                inout(reg64) first, inout(reg64) second, const PENDING, options(nostack, preserves_flags))
        };
        [first, second]
    }
    #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_90a")))]
    words
}

/// Waits for all products of this warpgroup; `d` are the results of some of them, which may be read from now on. Results that are not passed here must not be read.
#[device_inline]
pub fn finish<const N: usize>(_: &WholeGroup, d: [[f32; 16]; N]) -> [[f32; 16]; N] {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90a"))]
    {
        let mut d = d;
        // SAFETY: the token vouches for the warpgroup.
        unsafe {
            core::arch::asm!(
                "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
                options(nostack, preserves_flags)
            )
        };
        let mut number = 0;
        while number < N {
            let d = &mut d[number];
            // SAFETY: no instruction; the registers are operands so that nothing reads them before.
            unsafe {
                core::arch::asm!(
                    "// {0} {1} {2} {3} {4} {5} {6} {7} {8} {9} {10} {11} {12} {13} {14} {15}",
                    inout(reg32) d[0], inout(reg32) d[1], inout(reg32) d[2], inout(reg32) d[3],
                    inout(reg32) d[4], inout(reg32) d[5], inout(reg32) d[6], inout(reg32) d[7],
                    inout(reg32) d[8], inout(reg32) d[9], inout(reg32) d[10], inout(reg32) d[11],
                    inout(reg32) d[12], inout(reg32) d[13], inout(reg32) d[14], inout(reg32) d[15],
                    options(nostack, preserves_flags)
                )
            };
            number += 1;
        }
        d
    }
    #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_90a")))]
    d
}

/// Issues products of operands in shared memory, one after the other, and closes their group.
#[cfg(all(target_arch = "nvptx64", target_feature = "sm_90a"))]
macro_rules! issue {
    ($list:literal, [$($at:tt)*], $d:ident, $instruction:literal, $tail:literal, [$($a_by:ident $b_by:ident)?], $add:ident, ($a:ident, $b:ident), $(($a_name:ident $b_name:ident $number:literal $keep:literal))*) => {
        core::arch::asm!(
            concat!(
                "{{ .reg .pred p; setp.ne.b32 p, {add}, 0; wgmma.fence.sync.aligned; ",
                $("wgmma.mma_async.sync.aligned.", $instruction, " {{", $list, "}}, {", stringify!($a_name), "}, {", stringify!($b_name), "}, ", $keep, ", 1, 1", $tail, "; ",)*
                "wgmma.commit_group.sync.aligned; }}"
            ),
            $(inout(reg32) $d[$at],)*
            add = in(reg32) $add,
            $($a_name = in(reg64) $a[$number].descriptor(), $b_name = in(reg64) $b[$number].descriptor(),)*
            $(a_by = const $a_by as i32, b_by = const $b_by as i32,)?
            options(nostack, preserves_flags)
        )
    };
}

macro_rules! products_from_shared {
    ($($(#[$doc:meta])* $name:ident [$($a_by:ident $b_by:ident)?], $registers:literal, $instruction:literal, $tail:literal, $values:literal, $widen:path;)*) => {$(
        $(#[$doc])*
        ///
        /// There are one to four products. The first replaces `d` where `add` is 0. The results must go through [`complete_n256`] or its like before they are read.
        #[device_inline]
        #[track_caller]
        pub fn $name<const N: usize $(, const $a_by: bool, const $b_by: bool)?>(
            _: &WholeGroup,
            d: &mut [f32; $registers],
            a: [Tiles $(<$a_by>)?; N],
            b: [Tiles $(<$b_by>)?; N],
            add: u32,
        ) {
            const { assert!(N >= 1 && N <= 4) };
            #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90a"))]
            // SAFETY: whoever made the operands vouches for their tiles, and the token for the warpgroup.
            unsafe {
                match N {
                    1 => registers!(issue, $registers, ", ", (d, $instruction, $tail, [$($a_by $b_by)?], add, (a, b), (a0 b0 0 "p"))),
                    2 => registers!(issue, $registers, ", ", (d, $instruction, $tail, [$($a_by $b_by)?], add, (a, b), (a0 b0 0 "p") (a1 b1 1 "1"))),
                    3 => registers!(issue, $registers, ", ", (d, $instruction, $tail, [$($a_by $b_by)?], add, (a, b), (a0 b0 0 "p") (a1 b1 1 "1") (a2 b2 2 "1"))),
                    _ => registers!(issue, $registers, ", ", (d, $instruction, $tail, [$($a_by $b_by)?], add, (a, b), (a0 b0 0 "p") (a1 b1 1 "1") (a2 b2 2 "1") (a3 b3 3 "1"))),
                }
            };
            #[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_90a")))]
            {
                let _ = (d, a, b, add);
                super::trap()
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                if add == 0 {
                    *d = [0.0; $registers];
                }
                for (a, b) in a.into_iter().zip(b) {
                    product_on_host::<$values, _, _>(d, a, b, $widen);
                }
            }
        }
    )*};
}

/// The numbers in 16 bytes of a tile, for the products of `simt`.
#[cfg(not(target_arch = "nvptx64"))]
mod widen {
    use half::{bf16 as half_bf16, f16 as half_f16};

    pub fn f16(bytes: [u8; 16]) -> [f64; 8] {
        let words: &[[u8; 2]] = bytes.as_chunks().0;
        core::array::from_fn(|at| half_f16::from_le_bytes(words[at]).to_f64())
    }

    pub fn bf16(bytes: [u8; 16]) -> [f64; 8] {
        let words: &[[u8; 2]] = bytes.as_chunks().0;
        core::array::from_fn(|at| half_bf16::from_le_bytes(words[at]).to_f64())
    }

    /// Four bits of exponent and three of fraction, no infinities.
    pub fn e4m3(bytes: [u8; 16]) -> [f64; 16] {
        bytes.map(|byte| {
            let (exponent, fraction) = (i32::from(byte >> 3 & 15), f64::from(byte & 7) / 8.0);
            let size = match byte & 0x7F {
                0x7F => f64::NAN,
                0..8 => fraction * 2f64.powi(-6),
                _ => (1.0 + fraction) * 2f64.powi(exponent - 7),
            };
            if byte < 0x80 { size } else { -size }
        })
    }

    pub fn tf32(bytes: [u8; 16]) -> [f64; 4] {
        let words: &[[u8; 4]] = bytes.as_chunks().0;
        core::array::from_fn(|at| f32::from_bits(u32::from_le_bytes(words[at]) & !0x1FFF).into())
    }
}

/// `d += a b` as `simt` computes it: A 64 rows, B `d.len() / 4 * 8` columns, both two tiles of `N` numbers deep.
///
/// The lanes of a warp share the reading: each reads one of two halves of every sixteenth row and column.
#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
fn product_on_host<const N: usize, const A: bool, const B: bool>(
    d: &mut [f32],
    a: Tiles<A>,
    b: Tiles<B>,
    widen: fn([u8; 16]) -> [f64; N],
) {
    let (lane, warp) = (hooks::lane(), super::thread::warp_index() % 4);
    let n_sixteens = d.len() / 8;
    let mut values = Vec::with_capacity(2 + 2 * n_sixteens);
    values.extend(longs(a.chunk(16 * warp + lane % 16, lane / 16)));
    for sixteen in 0..n_sixteens as u32 {
        values.extend(longs(b.chunk(16 * sixteen + lane % 16, lane / 16)));
    }
    let mut own = vec![0; d.len()];
    hooks::compute_together(super::warp::ALL, &values, &mut own, |lanes, results| {
        // Both halves of row or column `at` of the sixteen whose words begin there.
        let halves = |words: &[[u64; 32]], at: usize| {
            [at, at + 16].map(|lane| widen(bytes_of([words[0][lane], words[1][lane]])))
        };
        let rows: Vec<f64> = (0..16).flat_map(|row| halves(lanes, row)).flatten().collect();
        let n_columns = 16 * n_sixteens;
        let mut columns = vec![0.0; 2 * N * n_columns];
        for column in 0..n_columns {
            let words = &lanes[2 + 2 * (column / 16)..];
            for (depth, value) in halves(words, column % 16).into_iter().flatten().enumerate() {
                columns[depth * n_columns + column] = value;
            }
        }
        share(&mma::dots(&rows, &columns, 2 * N), results);
    });
    for (value, &dot) in d.iter_mut().zip(&own) {
        *value = mma::cut_off(f64::from(*value) + f64::from_bits(dot));
    }
}

products_from_shared! {
    /// Starts `d += a b` in half precision: A 64×16, B 16×256, D 64×256, both operands tiles in shared memory.
    f16_n256 [A B], 128, "m64n256k16.f32.f16.f16", ", {a_by}, {b_by}", 8, widen::f16;
    /// Starts `d += a b` in half precision: A 64×16, B 16×192, D 64×192, both operands tiles in shared memory.
    f16_n192 [A B], 96, "m64n192k16.f32.f16.f16", ", {a_by}, {b_by}", 8, widen::f16;
    /// Starts `d += a b` in half precision: A 64×16, B 16×128, D 64×128, both operands tiles in shared memory.
    f16_n128 [A B], 64, "m64n128k16.f32.f16.f16", ", {a_by}, {b_by}", 8, widen::f16;
    /// Starts `d += a b` in half precision: A 64×16, B 16×64, D 64×64, both operands tiles in shared memory.
    f16_n64 [A B], 32, "m64n64k16.f32.f16.f16", ", {a_by}, {b_by}", 8, widen::f16;
    /// Starts `d += a b` in bfloat16: A 64×16, B 16×256, D 64×256, both operands tiles in shared memory.
    bf16_n256 [A B], 128, "m64n256k16.f32.bf16.bf16", ", {a_by}, {b_by}", 8, widen::bf16;
    /// Starts `d += a b` in bfloat16: A 64×16, B 16×192, D 64×192, both operands tiles in shared memory.
    bf16_n192 [A B], 96, "m64n192k16.f32.bf16.bf16", ", {a_by}, {b_by}", 8, widen::bf16;
    /// Starts `d += a b` in bfloat16: A 64×16, B 16×128, D 64×128, both operands tiles in shared memory.
    bf16_n128 [A B], 64, "m64n128k16.f32.bf16.bf16", ", {a_by}, {b_by}", 8, widen::bf16;
    /// Starts `d += a b` in bfloat16: A 64×16, B 16×64, D 64×64, both operands tiles in shared memory.
    bf16_n64 [A B], 32, "m64n64k16.f32.bf16.bf16", ", {a_by}, {b_by}", 8, widen::bf16;
    /// Starts `d += a b` in TF32: A 64×8, B 8×256, D 64×256, both operands tiles in shared memory.
    tf32_n256 [], 128, "m64n256k8.f32.tf32.tf32", "", 4, widen::tf32;
    /// Starts `d += a b` in TF32: A 64×8, B 8×192, D 64×192, both operands tiles in shared memory.
    tf32_n192 [], 96, "m64n192k8.f32.tf32.tf32", "", 4, widen::tf32;
    /// Starts `d += a b` in TF32: A 64×8, B 8×128, D 64×128, both operands tiles in shared memory.
    tf32_n128 [], 64, "m64n128k8.f32.tf32.tf32", "", 4, widen::tf32;
    /// Starts `d += a b` in TF32: A 64×8, B 8×64, D 64×64, both operands tiles in shared memory.
    tf32_n64 [], 32, "m64n64k8.f32.tf32.tf32", "", 4, widen::tf32;
    /// Starts `d += a b` in e4m3, numbers of 8 bits: A 64×32, B 32×128, D 64×128, both operands tiles in shared memory. The sums have 14 bits: see [`tile`](crate::tile).
    e4m3_n128 [], 64, "m64n128k32.f32.e4m3.e4m3", "", 16, widen::e4m3;
    /// Starts `d += a b` in e4m3, numbers of 8 bits: A 64×32, B 32×64, D 64×64, both operands tiles in shared memory. The sums have 14 bits: see [`tile`](crate::tile).
    e4m3_n64 [], 32, "m64n64k32.f32.e4m3.e4m3", "", 16, widen::e4m3;
}

/// Waits until at most `PENDING` of the newest groups of products still run; the tiles of the others may be written again.
#[device_inline]
pub fn wait<const PENDING: u32>(_: &WholeGroup) {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90a"))]
    // SAFETY: the token vouches for the warpgroup.
    unsafe {
        core::arch::asm!("wgmma.wait_group.sync.aligned {0};", const PENDING, options(nostack, preserves_flags))
    };
}

/// Takes `COUNT` registers per thread for this warpgroup, a multiple of 8 from 24 to 256, once calls of [`fewer_registers`] by other warpgroups have left enough.
///
/// # Safety
/// The registers of a thread are fixed at the launch (`max_threads`), and the warpgroup synchronises between two changes. Afterwards the threads of the block together have no more
/// registers than at the launch; else the call waits for ever.
#[device_inline]
pub unsafe fn more_registers<const COUNT: u32>(_: &WholeGroup) {
    const { assert!(is_register_count(COUNT)) };
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90a"))]
    // SAFETY: the token vouches for the warpgroup.
    unsafe {
        core::arch::asm!("setmaxnreg.inc.sync.aligned.u32 {0};", const COUNT, options(nostack, preserves_flags))
    };
}

/// Releases registers of this warpgroup: `COUNT` per thread remain, a multiple of 8 from 24 to 256.
///
/// # Safety
/// As [`more_registers`].
#[device_inline]
pub unsafe fn fewer_registers<const COUNT: u32>(_: &WholeGroup) {
    const { assert!(is_register_count(COUNT)) };
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90a"))]
    // SAFETY: the token vouches for the warpgroup.
    unsafe {
        core::arch::asm!("setmaxnreg.dec.sync.aligned.u32 {0};", const COUNT, options(nostack, preserves_flags))
    };
}

/// Whether the instruction accepts this number of registers.
const fn is_register_count(count: u32) -> bool {
    count.is_multiple_of(8) && count >= 24 && count <= 256
}

/// Waits for groups of products, with the results as operands so that nothing reads them before.
#[cfg(all(target_arch = "nvptx64", target_feature = "sm_90a"))]
macro_rules! wait_for {
    ($list:literal, [$($at:tt)*], $d:ident, $pending:ident) => {
        core::arch::asm!(concat!("wgmma.wait_group.sync.aligned {pending}; // ", $list), $(inout(reg32) $d[$at],)* pending = const $pending, options(nostack, preserves_flags))
    };
}

macro_rules! completes {
    ($($name:ident, $registers:literal;)*) => {$(
        /// Waits until at most `PENDING` of the newest groups of products of this warpgroup still run; `d`, the results of the others, may be read from now on.
        #[device_inline]
        pub fn $name<const PENDING: u32>(_: &WholeGroup, d: &mut [f32; $registers]) {
            #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90a"))]
            // SAFETY: the token vouches for the warpgroup.
            unsafe {
                registers!(wait_for, $registers, " ", (d, PENDING))
            };
            #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_90a")))]
            let _ = d;
        }
    )*};
}

completes! {
    complete_n256, 128;
    complete_n192, 96;
    complete_n128, 64;
    complete_n64, 32;
}
