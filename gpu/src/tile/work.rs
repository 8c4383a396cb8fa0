//! The tiles of a launch, and their order.

use super::task::ProductTask;

/// Rows of tiles of a strip.
const STRIP: u32 = 8;

/// The work of a launch, in tiles of C: of each division of the depth all of C.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    rows: u32,
    columns: u32,
    divisions: u32,
}

impl Work {
    /// In tiles of `rows` × `columns`.
    #[device_inline]
    pub const fn of(task: &ProductTask, rows: u32, columns: u32) -> Self {
        Self::new([task.m, task.n, task.k.div_ceil(task.division)], rows, columns)
    }

    /// A C of `m` rows and `n` columns for each of `divisions`.
    #[device_inline]
    pub const fn new([m, n, divisions]: [u32; 3], rows: u32, columns: u32) -> Self {
        Self { rows: m.div_ceil(rows), columns: n.div_ceil(columns), divisions }
    }

    #[device_inline]
    pub const fn tiles(self) -> u32 {
        self.rows * self.columns * self.divisions
    }

    /// First row and column of tile `tile`, in tiles, and its division: strips of [`STRIP`] rows, column by column.
    #[device_inline]
    pub const fn tile_at(self, tile: u32) -> [u32; 3] {
        let Self { rows, columns, divisions } = self;
        // Divisions by unknown numbers take as long as the products of a slab: most launches need none.
        let division = if divisions == 1 { 0 } else { tile / (rows * columns) };
        let tile = tile - division * rows * columns;
        let strip = if rows <= STRIP { 0 } else { tile / (STRIP * columns) };
        let first = strip * STRIP;
        let height = if rows - first < STRIP { rows - first } else { STRIP };
        let within = tile - first * columns;
        let column = if height.is_power_of_two() { within >> height.trailing_zeros() } else { within / height };
        [first + within - column * height, column, division]
    }
}

/// Depths of a division.
#[device_inline]
pub(super) const fn depths_of(task: &ProductTask, division: u32) -> u32 {
    let left = task.k - division * task.division;
    if left < task.division { left } else { task.division }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn every_tile_is_taken_once() {
        for (rows, columns) in [(1, 1), (3, 5), (8, 2), (9, 4), (11, 4), (14, 3), (17, 3)] {
            for divisions in [1, 3] {
                let work = Work { rows, columns, divisions };
                let mut seen: Vec<_> = (0..work.tiles()).map(|tile| work.tile_at(tile)).collect();
                seen.sort_unstable();
                seen.dedup();
                assert_eq!(seen.len() as u32, divisions * rows * columns);
                let is_there =
                    |&[row, column, division]: &[u32; 3]| row < rows && column < columns && division < divisions;
                assert!(seen.iter().all(is_there), "{work:?}");
            }
        }
    }
}
