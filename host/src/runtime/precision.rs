//! The arithmetic of a network.

use crate::runtime::named::named;

named! {
    /// Arithmetic of a network's products. What a family adds to it stands with its options.
    Precision, "precision":
    /// Single precision: results are within the bounds of fp32 code.
    Fp32 = "fp32",
    /// Operands rounded to TF32 (10 bits of fraction), sums in fp32.
    Tf32 = "tf32",
    /// Operands rounded to bfloat16 (7 bits of fraction), sums in fp32.
    Bf16 = "bf16",
    /// Operands rounded to half precision, sums in fp32.
    Fp16 = "fp16",
    /// Double precision throughout; on the CPU only.
    Fp64 = "fp64",
}
