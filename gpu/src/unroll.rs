//! A loop that is certainly unrolled.

/// Writes a block once for each number, with the number as a constant: arrays that are indexed by it stay in registers.
macro_rules! unroll {
    ($name:ident in [$($value:literal),+] $body:block) => {
        $({ const $name: usize = $value; $body })+
    };
}
pub(crate) use unroll;
