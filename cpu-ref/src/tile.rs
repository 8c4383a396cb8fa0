//! Products of matrices and convolutions in double precision, with an epilogue.
//!
//! The twin of the kernels of `tile`: operands are given as the numbers that they hold, so formats of fewer bits are rounded before.

use nalgebra::DMatrix;

/// A matrix `[rows][stride]`, of which the first `columns` values of a row are used.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// `[rows][stride]`; the last row may end behind its columns.
    pub values: &'a [f64],
    /// Rows.
    pub rows: usize,
    /// Values of a row that are used.
    pub columns: usize,
    /// Values from a row to the next.
    pub stride: usize,
}

impl Rows<'_> {
    fn matrix(&self) -> DMatrix<f64> {
        DMatrix::from_fn(self.rows, self.columns, |row, column| self.values[row * self.stride + column])
    }
}

/// What becomes of the sums, in this order.
#[derive(Clone, Copy, Debug)]
pub struct Epilogue<'a> {
    /// What they are multiplied with.
    pub factor: f64,
    /// `[n]` What is added to the columns.
    pub bias: Option<&'a [f64]>,
    /// `[m][n]` What is added to all values.
    pub residual: Option<&'a [f64]>,
    /// Whether values below 0 become 0.
    pub rectifies: bool,
    /// `[m][n]` Where a value becomes 0: where this is not above 0.
    pub mask: Option<&'a [f64]>,
}

impl Epilogue<'_> {
    /// The sums as they are.
    pub const NONE: Self = Self { factor: 1.0, bias: None, residual: None, rectifies: false, mask: None };
}

/// `epilogue(A B)`: `[m][n]`, row by row. The rows of `b` are the columns of B.
///
/// # Panics
/// If the matrices have different depths, or bias, residual or mask other lengths than C has.
pub fn product(a: Rows<'_>, b: Rows<'_>, epilogue: Epilogue<'_>) -> Vec<f64> {
    let c = a.matrix() * b.matrix().transpose();
    let sums = (0..a.rows).flat_map(|row| (0..b.rows).map(move |column| (row, column))).map(|at| c[at]).collect();
    finished(sums, b.rows, epilogue)
}

/// Images, channels last, and the side of filters over them.
#[derive(Clone, Copy, Debug)]
pub struct Images<'a> {
    /// `[images][height][width][channels]`.
    pub values: &'a [f64],
    /// Rows of an image.
    pub height: usize,
    /// Pixels of a row.
    pub width: usize,
    /// Channels of a pixel.
    pub channels: usize,
    /// Taps of a filter's row and column, an odd number.
    pub side: usize,
}

/// The convolution of images with filters `[outputs][side][side][channels]`, as if there were zeros around each image: `[images][height][width][outputs]`.
///
/// # Panics
/// If bias, residual or mask have other lengths than C has.
pub fn convolution(images: Images<'_>, filters: &[f64], epilogue: Epilogue<'_>) -> Vec<f64> {
    let Images { values, height, width, channels, side } = images;
    let (padding, outputs) = (side / 2, filters.len() / (side * side * channels));
    let mut sums = Vec::new();
    for image in values.chunks_exact(height * width * channels) {
        for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
            for filter in filters.chunks_exact(side * side * channels) {
                let mut sum = 0.0;
                for (tap, weights) in filter.chunks_exact(channels).enumerate() {
                    // Both are `padding` too large.
                    let (y, x) = (y + tap / side, x + tap % side);
                    if (padding..height + padding).contains(&y) && (padding..width + padding).contains(&x) {
                        let pixel = &image[((y - padding) * width + x - padding) * channels..][..channels];
                        sum += weights.iter().zip(pixel).map(|(weight, value)| weight * value).sum::<f64>();
                    }
                }
                sums.push(sum);
            }
        }
    }
    finished(sums, outputs, epilogue)
}

/// The gradient of the filters of a [`convolution`], from `gradient` `[images][height][width][outputs]`, that of its results: `[outputs][side][side][channels]`.
pub fn filter_gradient(images: Images<'_>, gradient: &[f64], outputs: usize) -> Vec<f64> {
    let Images { values, height, width, channels, side } = images;
    let padding = side / 2;
    let mut sums = vec![0.0; outputs * side * side * channels];
    for (pixel, by) in gradient.chunks_exact(outputs).enumerate() {
        let (image, y, x) = (pixel / (height * width), pixel / width % height, pixel % width);
        for (at, sum) in sums.iter_mut().enumerate() {
            let (output, tap, channel) = (at / channels / (side * side), at / channels % (side * side), at % channels);
            // Both are `padding` too large.
            let (y, x) = (y + tap / side, x + tap % side);
            if (padding..height + padding).contains(&y) && (padding..width + padding).contains(&x) {
                let met = (image * height + y - padding) * width + x - padding;
                *sum += by[output] * values[met * channels + channel];
            }
        }
    }
    sums
}

/// The rows of a matrix `[lines][columns]` that `rows` names; one that it does not have is of zeros.
pub fn gathered(matrix: &[f64], columns: usize, rows: &[u32]) -> Vec<f64> {
    let lines = || matrix.chunks(columns);
    rows.iter().flat_map(|&row| lines().nth(row as usize).map_or(vec![0.0; columns], <[f64]>::to_vec)).collect()
}

/// Moments of the columns of C, `[m][n]`, of each `rows` rows of it: `[2][⌈m / rows⌉][n]`, means, and sums of squared distances from them.
pub fn moments(c: &[f64], n: usize, rows: usize) -> Vec<f64> {
    let (mut means, mut squares) = (Vec::new(), Vec::new());
    for block in c.chunks(rows * n) {
        for column in 0..n {
            let values = || block.iter().skip(column).step_by(n);
            let mean = values().sum::<f64>() / values().count() as f64;
            means.push(mean);
            squares.push(values().map(|value| (value - mean).powi(2)).sum());
        }
    }
    means.append(&mut squares);
    means
}

/// What becomes of the sums `[m][n]`.
fn finished(sums: Vec<f64>, n: usize, epilogue: Epilogue<'_>) -> Vec<f64> {
    let Epilogue { factor, bias, residual, rectifies, mask } = epilogue;
    assert!(bias.is_none_or(|bias| bias.len() == n), "values of the bias");
    assert!(residual.is_none_or(|residual| residual.len() == sums.len()), "values of the residual");
    assert!(mask.is_none_or(|mask| mask.len() == sums.len()), "values of the mask");
    let of = |(at, sum): (usize, f64)| {
        let value =
            factor * sum + bias.map_or(0.0, |bias| bias[at % n]) + residual.map_or(0.0, |residual| residual[at]);
        let value = if rectifies { value.max(0.0) } else { value };
        if mask.is_some_and(|mask| mask[at] <= 0.0) { 0.0 } else { value }
    };
    sums.into_iter().enumerate().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_by_hand() {
        assert_eq!(gathered(&[1.0, 2.0, 3.0, 4.0], 2, &[1, 2, 0, u32::MAX]), [3.0, 4.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0]);
    }

    #[test]
    fn moments_by_hand() {
        // Columns 1 3 | 9 and 0 4 | 5.
        assert_eq!(moments(&[1.0, 0.0, 3.0, 4.0, 9.0, 5.0], 2, 2), [2.0, 2.0, 9.0, 5.0, 2.0, 8.0, 0.0, 0.0]);
    }

    #[test]
    fn a_product_by_hand() {
        // A = [1 2; 3 4] in rows of 3, B = [5 7; 6 8].
        let (a, b) = ([1.0, 2.0, 9.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        let a = Rows { values: &a, rows: 2, columns: 2, stride: 3 };
        let b = Rows { values: &b, rows: 2, columns: 2, stride: 2 };
        assert_eq!(product(a, b, Epilogue::NONE), [17.0, 23.0, 39.0, 53.0]);
        let epilogue = Epilogue { bias: Some(&[-20.0, 1.0]), rectifies: true, ..Epilogue::NONE };
        assert_eq!(product(a, b, epilogue), [0.0, 24.0, 19.0, 54.0]);
        let epilogue = Epilogue { factor: 2.0, mask: Some(&[1.0, 0.0, -1.0, 0.5]), ..epilogue };
        assert_eq!(product(a, b, epilogue), [14.0, 0.0, 0.0, 107.0]);
        let epilogue = Epilogue { residual: Some(&[-20.0, 0.0, 0.0, 1.0]), ..epilogue };
        assert_eq!(product(a, b, epilogue), [0.0, 0.0, 0.0, 108.0]);
    }

    #[test]
    fn a_convolution_by_hand() {
        // Two images of 1 x 3 with one channel; the filter's middle row is 1 10 100, what is above and below meets zeros.
        let images = Images { values: &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], height: 1, width: 3, channels: 1, side: 3 };
        let filter = [7.0, 7.0, 7.0, 1.0, 10.0, 100.0, 7.0, 7.0, 7.0];
        assert_eq!(convolution(images, &filter, Epilogue::NONE), [210.0, 321.0, 32.0, 540.0, 654.0, 65.0]);
        // As 2 x 3 with two filters, of which the second is the pixel below.
        let images = Images { height: 2, ..images };
        let below = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        let found = convolution(images, &[[0.0; 9], below].concat(), Epilogue::NONE);
        assert_eq!(found, [0.0, 4.0, 0.0, 5.0, 0.0, 6.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    }

    /// A convolution is linear in its filters: its results times their gradient are the filters times theirs.
    #[test]
    fn the_gradient_of_filters_is_that_of_the_convolution() {
        let numbers = |n: usize, step: usize| (0..n).map(|at| (at * step % 11) as f64 - 5.0).collect::<Vec<_>>();
        let (values, gradient) = (numbers(2 * 3 * 4 * 2, 3), numbers(2 * 3 * 4 * 3, 7));
        let images = Images { values: &values, height: 3, width: 4, channels: 2, side: 3 };
        let found = filter_gradient(images, &gradient, 3);
        for at in 0..found.len() {
            let mut filters = vec![0.0; found.len()];
            filters[at] = 1.0;
            let results = convolution(images, &filters, Epilogue::NONE);
            let expected: f64 = results.iter().zip(&gradient).map(|(result, by)| result * by).sum();
            assert_eq!(found[at], expected, "weight {at}");
        }
    }
}
