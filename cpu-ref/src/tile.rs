//! Products of matrices in double precision, with bias and activation.
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

/// `relu(A B + bias)`, or without the rectifier: `[m][n]`, row by row. The rows of `b` are the columns of B.
///
/// # Panics
/// If the matrices have different depths, or `bias` is given with another length than B has columns.
pub fn product(a: Rows<'_>, b: Rows<'_>, bias: Option<&[f64]>, rectifies: bool) -> Vec<f64> {
    let c = a.matrix() * b.matrix().transpose();
    if let Some(bias) = bias {
        assert_eq!(bias.len(), b.rows, "values of the bias");
    }
    let of = |row: usize, column: usize| {
        let value = c[(row, column)] + bias.map_or(0.0, |bias| bias[column]);
        if rectifies { value.max(0.0) } else { value }
    };
    (0..a.rows)
        .flat_map(|row| (0..b.rows).map(move |column| (row, column)))
        .map(|(row, column)| of(row, column))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_by_hand() {
        // A = [1 2; 3 4] in rows of 3, B = [5 7; 6 8].
        let (a, b) = ([1.0, 2.0, 9.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        let a = Rows { values: &a, rows: 2, columns: 2, stride: 3 };
        let b = Rows { values: &b, rows: 2, columns: 2, stride: 2 };
        assert_eq!(product(a, b, None, false), [17.0, 23.0, 39.0, 53.0]);
        assert_eq!(product(a, b, Some(&[-20.0, 1.0]), true), [0.0, 24.0, 19.0, 54.0]);
    }
}
