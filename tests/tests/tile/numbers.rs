//! Numbers of operands.

use warpplay::tile::{Engine, Operand, Output, bf16, f16};

/// A number of an operand or a result.
pub trait Number: Operand + Output<Self> {
    fn of(value: f32) -> Self;
    /// The number.
    fn exact(self) -> f64;
    /// The number that an engine multiplies.
    fn multiplied(self, _: Option<Engine>) -> f64 {
        self.exact()
    }
}

impl Number for bf16 {
    fn of(value: f32) -> Self {
        Self::from_f32(value)
    }

    fn exact(self) -> f64 {
        self.to_f64()
    }
}

impl Number for f16 {
    fn of(value: f32) -> Self {
        Self::from_f32(value)
    }

    fn exact(self) -> f64 {
        self.to_f64()
    }
}

impl Number for f32 {
    fn of(value: f32) -> Self {
        value
    }

    fn exact(self) -> f64 {
        self.into()
    }

    /// As TF32, or as it is.
    fn multiplied(self, engine: Option<Engine>) -> f64 {
        if engine == Some(Engine::Plain) { self.into() } else { Self::from_bits(self.to_bits() & !0x1FFF).into() }
    }
}
