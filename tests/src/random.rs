//! Random numbers of the tests' own choices: the same from the same seed on every machine.

/// The linear congruential generator of Knuth's MMIX: `state ← 6364136223846793005 state + 1442695040888963407` mod 2⁶⁴. The first number is of the state
/// after the seed. Tests that hold stored values depend on these bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Random(pub u64);

impl Random {
    /// The next state, all 64 bits; the low ones are far from random.
    pub fn state(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0
    }

    /// The 31 highest bits of the next state.
    pub fn u31(&mut self) -> u32 {
        (self.state() >> 33) as u32
    }

    /// A number below `n`, which is above 0: the 31 bits modulo `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.u31() as usize % n
    }

    /// A number in [0, 1): the 24 highest bits, exactly.
    pub fn unit(&mut self) -> f32 {
        (self.state() >> 40) as f32 / 16_777_216.0
    }

    /// A number in [−1, 1): `2 unit − 1`, exactly.
    pub fn signed(&mut self) -> f32 {
        2.0 * self.unit() - 1.0
    }

    /// `n` numbers in [−1, 1).
    pub fn signed_vec(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.signed()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_that_stored_values_depend_on() {
        let mut random = Random(7);
        assert_eq!(random.state(), 7u64.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F));
        let mut other = random;
        let state = other.state();
        assert_eq!(random.clone().u31(), (state >> 33) as u32);
        assert_eq!(random.clone().below(10), (state >> 33) as usize % 10);
        assert_eq!(random.clone().signed(), (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0);
        assert!((0..1000).all(|_| (-1.0..1.0).contains(&random.signed())));
    }
}
