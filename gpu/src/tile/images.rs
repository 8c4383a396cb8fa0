//! Images as A: a convolution is a product whose depth is the taps of a filter, and of each the channels.
//!
//! ```text
//! A    [images][height][width][a_stride]    a row is a pixel, with `k` channels
//! B    [n][side][side][channels]            a column is a filter
//! C    [images][height][width][c_stride]    as A, padded by zeros: the same size
//! ```
//!
//! A tile has 64 or 128 pixels that follow each other, whatever the size of an image. For each tap and each slab of channels the copy engine brings them moved by the tap, with zeros for those outside their image and for channels that a slab
//! has beyond the last: no copy of the images is made, and the weights of a tap need no padding. Sums run over taps, row by row, and of each over channels.

use super::task::ProductTask;
use crate::cuda::tensor_map::MapAt;

/// The pixel of a tile's first row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pixel {
    x: u32,
    y: u32,
    image: u32,
}

impl Pixel {
    /// The pixel of row `row` of A; of matrices none that means something.
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
}
