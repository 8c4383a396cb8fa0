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
#[inline(always)]
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
    /// The pixel of row `row` of A, or of depth `row`; of matrices none that means something.
    #[inline(always)]
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
    #[inline(always)]
    #[track_caller]
    pub unsafe fn copy(self, task: &ProductTask, map: MapAt, to: u32, tap: u32, channel: u32, object: u32) {
        let taps = [tap % task.side, tap / task.side];
        // SAFETY: as the caller vouches; a row of A is a pixel of an image.
        unsafe { map.copy_pixels(to, [channel, self.x, self.y, self.image], task.side / 2, taps, object) };
    }

    /// Copies `rectangles` rectangles of 64 pixels from this one on: of B's columns from `first` on.
    ///
    /// # Safety
    /// As [`MapAt::copy_pixels`], with the map of the task's images; there is room for all rectangles, one behind the other.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn copy_columns(
        self,
        task: &ProductTask,
        map: MapAt,
        to: u32,
        first: u32,
        rectangles: u32,
        object: u32,
    ) {
        let channels = task.n / (task.side * task.side);
        // Not unrolled: warps that fetch have few registers.
        let mut rectangle = opaque(0);
        while rectangle < rectangles {
            let column = first + rectangle * COLUMNS;
            // Columns beyond the last are channels that no pixel has, and so 0.
            let (tap, channel) = if column < task.n { (column / channels, column % channels) } else { (0, channels) };
            // SAFETY: as the caller vouches.
            unsafe { self.copy(task, map, to + rectangle * RECTANGLE_BYTES, tap, channel, object) };
            rectangle += 1;
        }
    }
}
