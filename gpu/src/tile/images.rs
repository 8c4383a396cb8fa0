//! Images as A: a convolution is a product whose depth is the taps of a filter, and of each the channels.
//!
//! ```text
//! A    [images][height][width][a_stride]    a row is a pixel, with `k` channels
//! B    [n][side][side][channels]            a column is a filter
//! C    [images][height][width][c_stride]    as A, padded by zeros: the same size
//! ```
//!
//! A tile has 64 or 128 pixels that follow each other, whatever the size of an image. For each tap and each slab of channels the copy engine brings them moved by the tap, with zeros for those outside their image and for channels that a slab
//! has beyond the last: no copy of the images is made, and the weights of a tap need no padding. Sums run over taps, row by row, and of each over channels; of numbers in parts over all that for each pair of parts. Each part of the images has a map of its own, so that what lies beyond its last image is 0.
//!
//! The gradient of the filters is a product whose depth is the pixels, with both operands depth by depth:
//!
//! ```text
//! A    [images][height][width][a_stride]    the gradient of C, of which `m` outputs are used
//! B    [images][height][width][b_stride]    the images: a column is a tap and a channel
//! C    [m][side][side][n / side²]           channels up to a multiple of 64
//! ```

use super::task::ProductTask;
use crate::cuda::math::opaque;
use crate::cuda::tensor_map::{MapAt, TensorMap};

/// Columns of a rectangle of an operand that lies depth by depth, and channels of a tap are a multiple of them in the gradient of filters.
pub const COLUMNS: u32 = 64;
/// Bytes of such a rectangle, of as many depths.
const RECTANGLE_BYTES: u32 = COLUMNS * TensorMap::ROW_BYTES;

/// Taps that a slab's depth is taken of: one where the depth is pixels.
#[device_inline]
pub const fn taps_of_depth<const B_BY_DEPTH: bool>(task: &ProductTask) -> u32 {
    if B_BY_DEPTH { 1 } else { task.side * task.side }
}

/// A pixel of the images: that of a tile's first row, or of a slab's first depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pixel {
    x: u32,
    y: u32,
    image: u32,
}

impl Pixel {
    /// The pixel of row `row` of A, or of depth `row`; for matrices the result has no meaning.
    #[device_inline]
    pub const fn of(task: &ProductTask, row: u32) -> Self {
        if task.side == 1 {
            return Self { x: 0, y: 0, image: 0 };
        }
        let line = row / task.width;
        Self { x: row % task.width, y: line % task.height, image: line / task.height }
    }

    /// Copies the slab of a tile from this pixel on: of tap `tap`, channels from `channel` on.
    ///
    /// # Safety
    /// As [`MapAt::copy_pixels`], with the map of the task's images; a tap of the task's filters.
    #[device_inline]
    #[track_caller]
    pub unsafe fn copy(self, task: &ProductTask, map: MapAt, to: u32, tap: u32, channel: u32, object: u32) {
        let taps = [tap % task.side, tap / task.side];
        // SAFETY: as the caller vouches; a row of A is a pixel of an image.
        unsafe { map.copy_pixels(to, [channel, self.x, self.y, self.image], task.side / 2, taps, object) };
    }

    /// The pixel that lies as far behind this one as `by` behind the first. Divisions take longer than the products of a slab, so they find the first pixel of a tile and pair of parts alone.
    #[device_inline]
    pub const fn after(self, task: &ProductTask, by: Self) -> Self {
        let (mut x, mut y, mut image) = (self.x + by.x, self.y + by.y, self.image + by.image);
        if x >= task.width {
            x -= task.width;
            y += 1;
        }
        if y >= task.height {
            y -= task.height;
            image += 1;
        }
        Self { x, y, image }
    }

    /// Copies `rectangles` rectangles of 64 pixels from this one on: of B's columns from `column` on.
    ///
    /// # Safety
    /// As [`MapAt::copy_pixels`], with the map of the task's images; there is room for all rectangles, one behind the other.
    #[device_inline]
    #[track_caller]
    pub unsafe fn copy_columns(
        self,
        task: &ProductTask,
        map: MapAt,
        to: u32,
        mut column: Column,
        rectangles: u32,
        object: u32,
    ) {
        // Not unrolled: warps that fetch have few registers.
        let mut rectangle = opaque(0);
        while rectangle < rectangles {
            // Columns beyond the last are channels that no pixel has, and so 0.
            let (tap, channel) = match column.tap[1] < task.side {
                true => (column.tap, column.channel),
                false => ([0; 2], column.channels),
            };
            let pixel = [channel, self.x, self.y, self.image];
            // SAFETY: as the caller vouches; a row of A is a pixel of an image.
            unsafe { map.copy_pixels(to + rectangle * RECTANGLE_BYTES, pixel, task.side / 2, tap, object) };
            column = column.after_rectangle(task);
            rectangle += 1;
        }
    }
}

/// A column of images that lie depth by depth: a tap, and a channel that is a multiple of [`COLUMNS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Column and row of the filter; of columns beyond the last a row that it has not.
    tap: [u32; 2],
    channel: u32,
    /// Channels of a tap.
    channels: u32,
}

impl Column {
    /// The first column.
    pub const FIRST: Self = Self { tap: [0; 2], channel: 0, channels: 0 };

    /// Column `column` of B; for matrices the result has no meaning.
    #[device_inline]
    pub const fn of(task: &ProductTask, column: u32) -> Self {
        if task.side == 1 {
            return Self::FIRST;
        }
        let channels = task.n / (task.side * task.side);
        let tap = column / channels;
        Self { tap: [tap % task.side, tap / task.side], channel: column % channels, channels }
    }

    /// The first one behind a rectangle that begins here.
    #[device_inline]
    const fn after_rectangle(self, task: &ProductTask) -> Self {
        let Self { tap: [mut right, mut down], mut channel, channels } = self;
        channel += COLUMNS;
        if channel == channels {
            channel = 0;
            right += 1;
            if right == task.side {
                right = 0;
                down += 1;
            }
        }
        Self { tap: [right, down], channel, channels }
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn pixels_and_columns_one_after_the_other_are_those_that_divisions_find() {
        for (width, height, side) in [(1, 1, 3), (3, 3, 3), (7, 6, 3), (19, 19, 5), (64, 2, 7), (200, 1, 3)] {
            // SAFETY: a task of numbers and null pointers alone.
            let mut task: ProductTask = unsafe { std::mem::zeroed() };
            (task.width, task.height, task.side) = (width, height, side);
            for by in [1, 64, 128, 256, 300] {
                let mut pixel = Pixel::of(&task, 5);
                for step in 1..50 {
                    pixel = pixel.after(&task, Pixel::of(&task, by));
                    assert_eq!(pixel, Pixel::of(&task, 5 + step * by), "{by} of {width} x {height}");
                }
            }
            for channels in [64, 128, 192] {
                task.n = channels * side * side;
                let mut column = Column::of(&task, 0);
                for at in (COLUMNS..task.n + 3 * COLUMNS).step_by(COLUMNS as usize) {
                    column = column.after_rectangle(&task);
                    assert_eq!(column, Column::of(&task, at), "{at} of {channels} channels");
                    assert_eq!(column.tap[1] < side, at < task.n);
                }
            }
        }
    }
}
