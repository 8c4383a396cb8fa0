//! Products of matrices in double precision, with an epilogue.
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
    /// Whether values below 0 become 0.
    pub rectifies: bool,
    /// `[m][n]` Where a value becomes 0: where this is not above 0.
    pub mask: Option<&'a [f64]>,
}

impl Epilogue<'_> {
    /// The sums as they are.
    pub const NONE: Self = Self { factor: 1.0, bias: None, rectifies: false, mask: None };
}

/// `epilogue(A B)`: `[m][n]`, row by row. The rows of `b` are the columns of B.
///
/// # Panics
/// If the matrices have different depths, or bias or mask other lengths than C has.
pub fn product(a: Rows<'_>, b: Rows<'_>, epilogue: Epilogue<'_>) -> Vec<f64> {
    let c = a.matrix() * b.matrix().transpose();
    let Epilogue { factor, bias, rectifies, mask } = epilogue;
    assert!(bias.is_none_or(|bias| bias.len() == b.rows), "values of the bias");
    assert!(mask.is_none_or(|mask| mask.len() == a.rows * b.rows), "values of the mask");
    let of = |row: usize, column: usize| {
        let value = factor * c[(row, column)] + bias.map_or(0.0, |bias| bias[column]);
        let value = if rectifies { value.max(0.0) } else { value };
        if mask.is_some_and(|mask| mask[row * b.rows + column] <= 0.0) { 0.0 } else { value }
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
        assert_eq!(product(a, b, Epilogue::NONE), [17.0, 23.0, 39.0, 53.0]);
        let epilogue = Epilogue { bias: Some(&[-20.0, 1.0]), rectifies: true, ..Epilogue::NONE };
        assert_eq!(product(a, b, epilogue), [0.0, 24.0, 19.0, 54.0]);
        let epilogue = Epilogue { factor: 2.0, mask: Some(&[1.0, 0.0, -1.0, 0.5]), ..epilogue };
        assert_eq!(product(a, b, epilogue), [14.0, 0.0, 0.0, 107.0]);
    }
}
