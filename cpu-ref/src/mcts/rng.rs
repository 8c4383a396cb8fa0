//! Random streams: xoroshiro128+, many disjoint ones from one seed.
//!
//! With `base` the generator seeded by `seed_from_u64(seed)`:
//!
//! ```text
//! playout stream k     base after k jump()s                     jump() = 2^64 steps
//! expansion stream t   base after one long_jump(), t jump()s    long_jump() = 2^96 steps
//! ```
//!
//! so two streams overlap only after 2^64 numbers, and expansion and playout streams are apart as long as k < 2^32.
//!
//! A jump is a linear map on the 128 bits of the state, over the field with two elements: a 128 × 128 matrix J, whose columns are the
//! unit states after one `jump()`. The powers J, J², J⁴, … come by squaring, once for the whole program; stream `k` then takes one
//! matrix-vector product for each bit set in `k`, some microseconds, where stepping would take hours for the largest searches. For
//! runs of neighbouring streams the products of J with every byte are tabulated: one jump is then 16 look-ups.
//!
//! Paper: Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021; Lemire, "Fast random integer generation in an
//! interval", 2019.

use std::sync::OnceLock;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoroshiro128Plus;

/// One random stream; 16 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream(Xoroshiro128Plus);

impl Stream {
    /// The stream that starts at the state `[s0, s1]`, not both zero.
    pub fn from_state(state: [u64; 2]) -> Self {
        let mut seed = [0; 16];
        seed[..8].copy_from_slice(&state[0].to_le_bytes());
        seed[8..].copy_from_slice(&state[1].to_le_bytes());
        Self(Xoroshiro128Plus::from_seed(seed))
    }

    /// The state `[s0, s1]`.
    pub fn state(&self) -> [u64; 2] {
        let bits = u128::from_le_bytes(self.0.state());
        [bits as u64, (bits >> 64) as u64]
    }

    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in `0..n`, each equally likely; 0 for `n` = 0.
    ///
    /// Lemire's multiplication with rejection, on the upper 32 bits of each number (the lowest bits of xoroshiro128+ are weak).
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        let mut product = self.upper() * u64::from(n);
        if (product as u32) < n {
            // 2^32 mod n values of the lower half would make some results likelier than others.
            let threshold = n.wrapping_neg() % n;
            while (product as u32) < threshold {
                product = self.upper() * u64::from(n);
            }
        }
        (product >> 32) as u32
    }

    #[inline]
    fn upper(&mut self) -> u64 {
        self.0.next_u64() >> 32
    }
}

/// All streams that belong to one seed.
#[derive(Clone, Debug)]
pub struct Streams {
    playout_base: [u64; 2],
    expansion_base: [u64; 2],
}

impl Streams {
    /// The streams of `seed`.
    pub fn new(seed: u64) -> Self {
        let base = Xoroshiro128Plus::seed_from_u64(seed);
        let mut far = base.clone();
        far.long_jump();
        Self { playout_base: Stream(base).state(), expansion_base: Stream(far).state() }
    }

    /// Playout stream `k`.
    pub fn playout(&self, k: u64) -> Stream {
        Stream::from_state(jumped(self.playout_base, k))
    }

    /// Playout streams `first`, `first + 1`, …, without end. Each costs some nanoseconds.
    pub fn playouts_from(&self, first: u64) -> impl Iterator<Item = Stream> {
        successors(jumped(self.playout_base, first))
    }

    /// Expansion stream of tree `tree`.
    pub fn expansion(&self, tree: u64) -> Stream {
        Stream::from_state(jumped(self.expansion_base, tree))
    }

    /// Expansion streams of trees 0, 1, …, without end.
    pub fn expansions(&self) -> impl Iterator<Item = Stream> {
        successors(self.expansion_base)
    }
}

fn successors(first: [u64; 2]) -> impl Iterator<Item = Stream> {
    let table = &jumps().bytes;
    std::iter::successors(Some(first), |state| Some(table.apply(*state))).map(Stream::from_state)
}

/// The state after `k` jumps.
fn jumped(mut state: [u64; 2], k: u64) -> [u64; 2] {
    for (bit, power) in jumps().powers.iter().enumerate() {
        if k >> bit & 1 == 1 {
            state = power.apply(state);
        }
    }
    state
}

/// A linear map of states over the field with two elements: `columns[j]` is the image of the state whose only bit set is `j`.
struct Matrix {
    columns: [[u64; 2]; 128],
}

impl Matrix {
    /// One `jump()`.
    fn jump() -> Self {
        let columns = std::array::from_fn(|j| {
            let mut unit = [0; 2];
            unit[j / 64] = 1 << (j % 64);
            let Stream(mut generator) = Stream::from_state(unit);
            generator.jump();
            Stream(generator).state()
        });
        Self { columns }
    }

    fn apply(&self, state: [u64; 2]) -> [u64; 2] {
        let mut image = [0; 2];
        for (word, columns) in state.iter().zip(self.columns.chunks(64)) {
            for (j, column) in columns.iter().enumerate() {
                // All ones where the bit is set: no branch on random bits.
                let mask = (word >> j & 1).wrapping_neg();
                image[0] ^= column[0] & mask;
                image[1] ^= column[1] & mask;
            }
        }
        image
    }

    /// The map applied twice.
    fn squared(&self) -> Self {
        Self { columns: self.columns.map(|column| self.apply(column)) }
    }
}

/// A matrix's products with each value of each of the 16 bytes of a state.
struct ByteTable {
    images: Vec<[[u64; 2]; 256]>,
}

impl ByteTable {
    fn new(matrix: &Matrix) -> Self {
        let images = (0..16)
            .map(|byte| {
                std::array::from_fn(|value| {
                    let mut state = [0; 2];
                    state[byte / 8] = (value as u64) << (byte % 8 * 8);
                    matrix.apply(state)
                })
            })
            .collect();
        Self { images }
    }

    fn apply(&self, state: [u64; 2]) -> [u64; 2] {
        let mut image = [0; 2];
        for (byte, values) in self.images.iter().enumerate() {
            let part = values[(state[byte / 8] >> (byte % 8 * 8)) as usize & 0xff];
            image[0] ^= part[0];
            image[1] ^= part[1];
        }
        image
    }
}

struct Jumps {
    /// `powers[i]` makes 2^i jumps.
    powers: Vec<Matrix>,
    /// One jump.
    bytes: ByteTable,
}

fn jumps() -> &'static Jumps {
    static JUMPS: OnceLock<Jumps> = OnceLock::new();
    JUMPS.get_or_init(|| {
        let one = Matrix::jump();
        let bytes = ByteTable::new(&one);
        let powers = std::iter::successors(Some(one), |power| Some(power.squared())).take(u64::BITS as usize).collect();
        Jumps { powers, bytes }
    })
}
