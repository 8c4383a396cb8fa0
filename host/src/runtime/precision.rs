//! Arithmetic, by name.

use crate::runtime::named::named;

named! {
    /// Arithmetic and storage of numbers. Each family's `Options` lists the precisions that its engines offer; any other is an [`Error::Option`](crate::Error::Option).
    Precision, "precision":
    /// Single precision.
    F32 = "f32" | "fp32",
    /// Double precision.
    F64 = "f64" | "fp64",
    /// Operands rounded to TF32 (10 bits of fraction), sums in single precision.
    Tf32 = "tf32",
    /// Operands rounded to bfloat16 (7 bits of fraction), sums in single precision.
    Bf16 = "bf16",
    /// Operands rounded to half precision, sums in single precision.
    F16 = "f16" | "fp16",
    /// Operands rounded to e4m3, numbers of 8 bits (3 bits of fraction, to 448), sums in single precision.
    E4m3 = "e4m3" | "fp8",
    /// Single precision, stored as 16-bit integers with a common scale.
    I16 = "i16",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_names_are_read_and_not_written() {
        assert_eq!("fp32".parse::<Precision>().unwrap(), Precision::F32);
        assert_eq!(serde_json::from_str::<Precision>("\"fp64\"").unwrap(), Precision::F64);
        assert_eq!(serde_json::to_string(&Precision::F16).unwrap(), "\"f16\"");
        let text = "fp4".parse::<Precision>().unwrap_err().to_string();
        assert_eq!(text, "option precision: fp4 is not allowed (f32, f64, tf32, bf16, f16, e4m3, i16)");
    }
}
