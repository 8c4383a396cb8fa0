//! Differences of material: how much more of each kind the mover has in a child than after the played move.
//!
//! Thirteen small whole numbers in one word: the pawns' in bits 0 to 7, those of the twelve learnt kinds (lance, knight, silver, gold, bishop, rook,
//! promoted pawn, lance, knight, silver, bishop, rook) in four bits each from bit 8, all in two's complement; bits 56 to 63 are 0. A piece counts for its
//! owner on the board and, unpromoted, in hand. Seen from the side that moved: positive is good for it.

/// Kinds with a value: the pawn, and the twelve that are learnt.
pub const KINDS: u32 = 13;
/// Values that are learnt; the pawn's is 1.
pub const LEARNT: u32 = 12;

/// The number of kind `kind`, 0 the pawn.
#[device_inline]
pub const fn field(packed: u64, kind: u32) -> i32 {
    if kind == 0 { packed as u8 as i8 as i32 } else { ((packed >> (4 + 4 * kind)) as i32) << 28 >> 28 }
}

/// The word for these numbers; `None` where one does not fit (the pawns' -128 to 127, the others' -8 to 7).
pub const fn pack(numbers: &[i32; KINDS as usize]) -> Option<u64> {
    if numbers[0] < -128 || numbers[0] > 127 {
        return None;
    }
    let mut packed = numbers[0] as u8 as u64;
    let mut kind = 1;
    while kind < KINDS as usize {
        if numbers[kind] < -8 || numbers[kind] > 7 {
            return None;
        }
        packed |= ((numbers[kind] & 15) as u64) << (4 + 4 * kind);
        kind += 1;
    }
    Some(packed)
}

/// The number of kind `kind` as a float: exact, and on the device one addition, where a conversion takes four times as long.
#[device_inline]
pub const fn float(packed: u64, kind: u32) -> f64 {
    if kind == 0 {
        f64::from_bits(WHOLE | (packed & 255 ^ 128)) - f64::from_bits(WHOLE | 128)
    } else {
        float_of_four((packed >> (4 + 4 * kind)) as u32 & 15)
    }
}

/// 2⁵², as bits: its last bit is 1, so that a whole number in the low bits is that many above it.
const WHOLE: u64 = 0x4330_0000_0000_0000;

/// The number in four bits, two's complement, as a float.
#[device_inline]
pub const fn float_of_four(bits: u32) -> f64 {
    f64::from_bits(WHOLE | (bits ^ 8) as u64) - f64::from_bits(WHOLE | 8)
}

/// One bit for each learnt kind whose number is not 0: bit `4 * (kind - 1)`.
#[device_inline]
pub const fn learnt_kinds(packed: u64) -> u64 {
    let numbers = packed >> 8;
    let pairs = numbers | numbers >> 1;
    (pairs | pairs >> 2) & 0x1111_1111_1111
}

/// What one piece of kind `kind` adds to a sum of pieces, where kinds that are not counted (13 and more) add nothing.
///
/// Sums of units are taken modulo 2⁶⁴ and may leave their bits for a while; the difference of two sums becomes a word by [`from_sum`].
#[device_inline]
pub const fn unit(kind: u32) -> u64 {
    match kind {
        0 => 1,
        1..KINDS => 1 << (4 + 4 * kind),
        _ => 0,
    }
}

/// The word of a sum of [`unit()`]s modulo 2⁶⁴ whose numbers fit.
#[device_inline]
pub const fn from_sum(sum: u64) -> u64 {
    // With half its range added no number is negative, so that none borrows from the next; turning the highest bit takes the half away again.
    const HALVES: u64 = 0x0088_8888_8888_8880;
    (sum.wrapping_add(HALVES) ^ HALVES) & 0x00ff_ffff_ffff_ffff
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for numbers in
            [[0; 13], [-128, -8, 7, -1, 1, 0, 5, -5, 3, -3, 2, -2, 7], [127, 7, -8, 0, 0, 0, 0, 0, 0, 0, 0, 0, -8]]
        {
            let packed = pack(&numbers).unwrap();
            for (kind, &number) in numbers.iter().enumerate() {
                assert_eq!(field(packed, kind as u32), number);
            }
            assert_eq!(packed >> 56, 0);
            let mut sum = 0u64;
            for (kind, &number) in numbers.iter().enumerate() {
                assert_eq!(float(packed, kind as u32), f64::from(number));
                let marked = kind > 0 && learnt_kinds(packed) >> (4 * (kind - 1)) & 1 == 1;
                assert_eq!(marked, kind > 0 && number != 0);
                sum = sum.wrapping_add(unit(kind as u32).wrapping_mul(number as u64));
            }
            assert_eq!(from_sum(sum), packed);
            assert_eq!(from_sum(sum.wrapping_neg().wrapping_neg()), packed);
        }
        assert_eq!((unit(13), unit(14)), (0, 0));
        assert_eq!(pack(&[0; 13]), Some(0));
        let with = |kind: usize, number| {
            let mut numbers = [0; 13];
            numbers[kind] = number;
            pack(&numbers)
        };
        assert!(with(0, 128).is_none() && with(0, -129).is_none() && with(5, 8).is_none() && with(12, -9).is_none());
    }
}
