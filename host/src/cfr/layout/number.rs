//! The number types of tables.

use bytemuck::Pod;

use super::Values;
use crate::Precision;

/// A number type of tables, `f32` or `f64`, with the operations that all engines need. Engines define arithmetic and kernels themselves.
pub(in crate::cfr) trait Number: Pod + Default + Send + Sync {
    /// Its name among the options.
    const PRECISION: Precision;
    /// The nearest number of the type.
    fn rounded(value: f64) -> Self;
    /// The same in double precision.
    fn widened(self) -> f64;
    /// A table of them.
    fn wrap(values: Vec<Self>) -> Values;
    /// The numbers of a table; `None` if it has the other precision.
    fn unwrap(values: &Values) -> Option<&[Self]>;
}

macro_rules! number {
    ($type:ty, $variant:ident) => {
        impl Number for $type {
            const PRECISION: Precision = Precision::$variant;

            #[inline(always)]
            fn rounded(value: f64) -> Self {
                value as $type
            }

            #[inline(always)]
            fn widened(self) -> f64 {
                self.into()
            }

            fn wrap(values: Vec<Self>) -> Values {
                Values::$variant(values)
            }

            fn unwrap(values: &Values) -> Option<&[Self]> {
                match values {
                    Values::$variant(values) => Some(values),
                    _ => None,
                }
            }
        }
    };
}
number!(f32, F32);
number!(f64, F64);
