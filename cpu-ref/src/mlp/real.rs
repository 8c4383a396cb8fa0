//! The number type of a network.

/// Single or double precision: `f32` or `f64`.
///
/// Arithmetic, `exp`, `ln`, `tanh` and `sqrt` are nalgebra's [`RealField`](nalgebra::RealField).
pub trait Real: nalgebra::RealField + Copy + Default {
    /// The error function.
    fn erf(self) -> Self;

    /// The nearest value to `value`.
    fn rounded(value: f64) -> Self;

    /// The same value in double precision, exactly.
    fn widened(self) -> f64;
}

impl Real for f32 {
    fn erf(self) -> Self {
        libm::erff(self)
    }

    fn rounded(value: f64) -> Self {
        value as f32
    }

    fn widened(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    fn erf(self) -> Self {
        libm::erf(self)
    }

    fn rounded(value: f64) -> Self {
        value
    }

    fn widened(self) -> f64 {
        self
    }
}
