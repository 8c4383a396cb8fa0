//! The copies of a thread: which vectors of the operands it brings into a stage, and in which order stages come.

use crate::cuda::memory::{Vec4, copy_async_or_zero, copy_async_some, load};
use crate::cuda::shared::Shared;
use crate::cuda::thread;
use crate::tile::rows::{AS_THEY_LIE, BYTES, row_of};
use crate::tile::task::{Format, ProductTask, largest};
use crate::unroll::unroll;

/// Bytes of the depth of a stage.
pub(super) const STAGE_BYTES: u32 = 64;
/// Bytes of a vector, the unit of copies and of the matrices that a warp loads.
pub(super) const VECTOR: u32 = 16;
/// Alignment of stages: what the order of vectors stays within.
pub(super) const ALIGNMENT: u32 = 128;

/// Bytes of a value.
pub(super) const fn value_bytes<F: Format>() -> u32 {
    128 / F::SLAB
}

/// Bytes of a value in memory.
const fn memory_bytes<F: Format, const G: u32>() -> u32 {
    if G == BYTES { 1 } else { value_bytes::<F>() }
}

/// Depths of a stage.
pub(super) const fn depths<F: Format>() -> u32 {
    STAGE_BYTES / value_bytes::<F>()
}

/// Most copies of a thread for a stage, and of one whose rows are gathered.
const MOST_COPIES: usize = 8;
pub(super) const MOST_GATHERED: usize = 4;

/// What a thread copies of an operand of which a tile has `SIZE` rows (or columns), `THREADS` threads in all. `G`: how its [rows](crate::tile::rows) come.
#[derive(Clone, Copy)]
pub(super) struct Share<const BY_DEPTH: bool, const G: u32, const SIZE: u32, const THREADS: u32> {
    /// Its first vector of the first stage of the first part.
    first: *const u8,
    /// Bytes from a part to the next.
    part_bytes: u64,
    /// Bytes from a line to the next.
    line_bytes: u64,
    /// Which lines are the thread's, from that of `first` on, where they are gathered.
    rows: [u32; MOST_COPIES],
    /// A bit for each of its lines (by depth: all of them) that the operand has.
    is_there: u32,
    /// First depth of its first vector, in a stage.
    depth: u32,
    /// Its first vector in shared memory.
    to: u32,
}

impl<const BY_DEPTH: bool, const G: u32, const SIZE: u32, const THREADS: u32> Share<BY_DEPTH, G, SIZE, THREADS> {
    /// Vectors of a line in a stage.
    const VECTORS: u32 = if BY_DEPTH { SIZE / 8 } else { STAGE_BYTES / VECTOR };
    /// Lines that all threads copy at a time.
    const STEP: u32 = THREADS / Self::VECTORS;
    /// Copies of a thread.
    const COPIES: u32 = SIZE * STAGE_BYTES / VECTOR / THREADS;

    /// The share of the rows (or columns) from `first_row` on of `size`, from `first_depth` on; of an operand of which `task` says which rows are gathered.
    ///
    /// # Safety
    /// With `G` the task's rows have the length it says.
    #[device_inline]
    #[track_caller]
    pub unsafe fn new<F: Format>(
        task: &ProductTask,
        operand: *const u8,
        (stride, part_stride): (u32, u64),
        (first_row, size): (u32, u32),
        first_depth: u32,
    ) -> Self {
        const { assert!(THREADS.is_multiple_of(Self::VECTORS) && Self::COPIES <= MOST_COPIES as u32 && Self::COPIES >= 1) };
        const { assert!(G == AS_THEY_LIE || !BY_DEPTH && Self::COPIES <= MOST_GATHERED as u32) };
        // The order of vectors is the same in all of a thread's lines.
        const { assert!(Self::STEP.is_multiple_of(8)) };
        let own = thread::thread_idx_x();
        let (line, vector) = (own / Self::VECTORS, own % Self::VECTORS);
        let line_bytes = u64::from(stride) * u64::from(memory_bytes::<F, G>());
        let values = VECTOR / value_bytes::<F>();
        let (mut is_there, mut rows) = (0, [0; MOST_COPIES]);
        if G != AS_THEY_LIE {
            unroll!(I in [0, 1, 2, 3] {
                if (I as u32) < Self::COPIES {
                    // SAFETY: as the caller vouches.
                    if let Some(row) = unsafe { row_of(task, first_row + line + I as u32 * Self::STEP) } {
                        rows[I] = row;
                        is_there |= 1 << I;
                    }
                }
            });
        } else if BY_DEPTH {
            is_there = if first_row + vector * values < size { u32::MAX } else { 0 };
        } else {
            unroll!(I in [0, 1, 2, 3, 4, 5, 6, 7] {
                is_there |= u32::from(first_row + line + I as u32 * Self::STEP < size) << I;
            });
        }
        let [first_line, first_value] = match (G, BY_DEPTH) {
            (AS_THEY_LIE, true) => [first_depth + line, first_row],
            (AS_THEY_LIE, false) => [first_row + line, first_depth],
            _ => [0, first_depth],
        };
        let at = u64::from(first_line) * line_bytes
            + u64::from(first_value + vector * values) * u64::from(memory_bytes::<F, G>());
        let order = if BY_DEPTH { line % 8 } else { line / 2 % 4 };
        Self {
            first: operand.wrapping_add(at as usize),
            part_bytes: part_stride * u64::from(memory_bytes::<F, G>()),
            line_bytes,
            rows,
            is_there,
            depth: if BY_DEPTH { line } else { vector * values },
            to: line * Self::VECTORS + (vector ^ order),
        }
    }

    /// Where the thread's first vector of a part is.
    #[device_inline]
    fn of_part(&self, part: u32) -> *const u8 {
        self.first.wrapping_add((u64::from(part) * self.part_bytes) as usize)
    }

    /// Where it is in the stage after that of `at`.
    #[device_inline]
    fn after<F: Format>(&self, at: *const u8) -> *const u8 {
        let bytes = match BY_DEPTH {
            true => u64::from(depths::<F>()) * self.line_bytes,
            false => u64::from(depths::<F>() * memory_bytes::<F, G>()),
        };
        at.wrapping_add(bytes as usize)
    }

    /// Its line number `number`, where the first one, or row 0, is at `from`.
    #[device_inline]
    fn line(&self, from: *const u8, number: usize) -> *const u8 {
        let line = if G == AS_THEY_LIE { number as u32 * Self::STEP } else { self.rows[number] };
        from.wrapping_add((u64::from(line) * self.line_bytes) as usize)
    }

    /// The bytes of the thread's vectors of a stage; 0 where there are none. `left` depths from it on are there.
    ///
    /// # Safety
    /// The operand is as `new` was told, of bytes, and `from` is where the thread's first vector of row 0 is.
    #[device_inline]
    #[track_caller]
    pub unsafe fn bytes<F: Format>(&self, from: *const u8, left: u32) -> [u64; MOST_GATHERED] {
        let mut words = [0; MOST_GATHERED];
        let values = VECTOR / value_bytes::<F>();
        let there = left.saturating_sub(self.depth);
        unroll!(I in [0, 1, 2, 3] {
            if (I as u32) < Self::COPIES && there > 0 && self.is_there & (1 << I) != 0 {
                let at = self.line(from, I);
                // SAFETY: the line has as many bytes as are a multiple of 16, so a whole vector is there, which begins at a multiple of its bytes.
                let word = unsafe { if values == 8 { load(at.cast::<u64>(), 0) } else { u64::from(load(at.cast::<u32>(), 0)) } };
                words[I] = if there < values { word & ((1 << (8 * there)) - 1) } else { word };
            }
        });
        words
    }

    /// Puts the thread's vectors into the stage at shared address `address`: the numbers that their bytes are.
    ///
    /// # Safety
    /// The stage's memory is the block's, and nobody reads it.
    #[device_inline]
    #[track_caller]
    pub unsafe fn put<F: Format>(&self, address: u32, bytes: &[u64; MOST_GATHERED]) {
        // SAFETY: the stage's part of the operand.
        let stage = unsafe { Shared::<Vec4>::from_address(address, SIZE * STAGE_BYTES / VECTOR) };
        unroll!(I in [0, 1, 2, 3] {
            if (I as u32) < Self::COPIES {
                let of = |at: u32| ((bytes[I] >> (8 * at)) & 0xff) as u32 as f32;
                let pair = |at: u32| if value_bytes::<F>() == 2 { F::pack(of(2 * at), of(2 * at + 1)) } else { F::pack(of(at), 0.0) };
                // SAFETY: the thread's own vectors.
                unsafe { stage.set_unchecked(self.to + I as u32 * THREADS, Vec4([pair(0), pair(1), pair(2), pair(3)])) };
            }
        });
    }

    /// Starts the thread's copies of a stage that begins at shared address `address`; `left` depths from it on are there.
    ///
    /// # Safety
    /// The stage's memory is the block's, and nobody reads it; the operand is as `new` was told, and `from` is where the thread's first vector is.
    #[device_inline]
    #[track_caller]
    pub unsafe fn copy<F: Format>(&self, address: u32, from: *const u8, left: u32) {
        // SAFETY: the stage's part of the operand.
        let stage = unsafe { Shared::<Vec4>::from_address(address, SIZE * STAGE_BYTES / VECTOR) };
        let from = |number: usize| self.line(from, number).cast::<Vec4>();
        // SAFETY: a vector whose line and first depth are there is inside the operand, whose lines are multiples of 16 bytes; of one with fewer depths only those are read.
        unsafe {
            if BY_DEPTH || left >= depths::<F>() {
                unroll!(I in [0, 1, 2, 3, 4, 5, 6, 7] {
                    if (I as u32) < Self::COPIES {
                        let is_there = if BY_DEPTH {
                            self.is_there != 0 && self.depth + I as u32 * Self::STEP < left
                        } else {
                            self.is_there & (1 << I) != 0
                        };
                        copy_async_or_zero(stage, self.to + I as u32 * THREADS, from(I), is_there);
                    }
                });
            } else {
                let values = left.saturating_sub(self.depth);
                let bytes = values * value_bytes::<F>();
                let bytes = if bytes < VECTOR { bytes } else { VECTOR };
                unroll!(I in [0, 1, 2, 3, 4, 5, 6, 7] {
                    if (I as u32) < Self::COPIES {
                        let bytes = if self.is_there & (1 << I) != 0 { bytes } else { 0 };
                        copy_async_some(stage, self.to + I as u32 * THREADS, from(I), bytes);
                    }
                });
            }
        }
    }
}

/// What a thread copies of both operands.
pub(super) type Shares<
    const A: bool,
    const B: bool,
    const G: u32,
    const ROWS: u32,
    const COLUMNS: u32,
    const THREADS: u32,
> = (Share<A, G, ROWS, THREADS>, Share<B, AS_THEY_LIE, COLUMNS, THREADS>);

/// Where the next stage of a tile is read, all pairs of parts one after the other.
#[derive(Clone, Copy)]
pub(super) struct Cursor {
    /// One more than the numbers of the pair's parts together; pairs of small parts come first, so that their products are not lost in the sum of the large ones. 0 behind the last one.
    above: u32,
    /// The pair's part of A.
    part: u32,
    /// Depths of the pair that are left.
    pub left: u32,
    /// The thread's vectors.
    pub a: *const u8,
    pub b: *const u8,
}

impl Cursor {
    /// At the first stage of a division of `depths`.
    #[device_inline]
    pub fn new<const A: bool, const B: bool, const G: u32, const ROWS: u32, const COLUMNS: u32, const THREADS: u32>(
        task: &ProductTask,
        shares: &Shares<A, B, G, ROWS, COLUMNS, THREADS>,
        depths: u32,
    ) -> Self {
        let above = largest(task.a_parts, task.b_parts);
        let part = first_part(task, above);
        let (a, b) = (shares.0.of_part(part), shares.1.of_part(above - 1 - part));
        Self { above, part, left: depths, a, b }
    }

    /// Moves on by a stage.
    #[device_inline]
    pub fn advance<
        F: Format,
        const A: bool,
        const B: bool,
        const G: u32,
        const ROWS: u32,
        const COLUMNS: u32,
        const THREADS: u32,
    >(
        &mut self,
        task: &ProductTask,
        shares: &Shares<A, B, G, ROWS, COLUMNS, THREADS>,
        all: u32,
    ) {
        if self.left > depths::<F>() {
            self.left -= depths::<F>();
            self.a = shares.0.after::<F>(self.a);
            self.b = shares.1.after::<F>(self.b);
        } else if self.above > 0 {
            self.part += 1;
            if self.part >= self.above || self.part >= task.a_parts {
                self.above -= 1;
                self.part = first_part(task, self.above);
            }
            self.left = if self.above > 0 { all } else { 0 };
            self.a = shares.0.of_part(self.part);
            self.b = shares.1.of_part(self.above.wrapping_sub(1 + self.part));
        }
    }
}

/// The first part of A in pairs whose numbers are below `above` together.
#[device_inline]
const fn first_part(task: &ProductTask, above: u32) -> u32 {
    above.saturating_sub(task.b_parts)
}
