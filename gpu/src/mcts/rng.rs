//! Random streams: one xoroshiro128+ a lane, provably disjoint.
//!
//! The stream of number `k` is the generator of the seed after `k` jumps of 2⁶⁴ steps. Thousands of stepwise jumps would take minutes,
//! so a thread reaches its stream by the binary digits of `k`: the jump by 2⁶⁴⁺ʲ steps is the polynomial x^(2^(64+j)) modulo the
//! generator's characteristic polynomial, applied to the state.
//!
//! Kernel  [`seed_streams`].   Host  [`jump_polynomials`].

use rand_xoshiro::Xoroshiro128Plus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::game::Draw;
#[cfg(not(target_arch = "nvptx64"))]
use crate::args::InOut;
use crate::cuda::{memory, thread};
use crate::launch::LaunchShape;

/// Most binary digits of a stream's number: 512 trees × 512 actions × 512 playouts.
pub const STREAM_BITS: u32 = 27;

/// Threads per block of [`seed_streams`].
pub const BLOCK: u32 = 128;

/// Launch shape of [`seed_streams`] for `n` streams.
pub const fn shape(n: u32) -> LaunchShape {
    LaunchShape::linear(n, BLOCK)
}

/// One lane's random numbers.
#[derive(Clone)]
#[repr(transparent)]
pub struct Stream(Xoroshiro128Plus);

const _: () = assert!(size_of::<Stream>() == 16 && align_of::<Stream>() == 8);

impl Stream {
    /// The stream with this state of the generator; not both words 0.
    #[device_inline]
    pub fn from_state(state: [u64; 2]) -> Self {
        let mut seed = [0; 16];
        let (low, high) = seed.split_at_mut(8);
        low.copy_from_slice(&state[0].to_le_bytes());
        high.copy_from_slice(&state[1].to_le_bytes());
        Self(Xoroshiro128Plus::from_seed(seed))
    }

    /// The next 64 random bits.
    #[device_inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Reads stream `index` of an array.
    ///
    /// # Safety
    /// As [`memory::load`].
    #[device_inline]
    #[track_caller]
    pub unsafe fn load(streams: *const Stream, index: usize) -> Self {
        // SAFETY: the array has the stream, whose generator is two plain words.
        unsafe { core::mem::transmute::<[u64; 2], Stream>(memory::load(streams.cast(), index)) }
    }

    /// Writes the stream back as number `index` of an array.
    ///
    /// # Safety
    /// As [`memory::store`].
    #[device_inline]
    #[track_caller]
    pub unsafe fn store(self, streams: *mut Stream, index: usize) {
        // SAFETY: the array has the stream, this thread's, whose generator is two plain words.
        unsafe { memory::store(streams.cast(), index, core::mem::transmute::<Stream, [u64; 2]>(self)) }
    }
}

/// The host keeps streams by their states.
#[cfg(not(target_arch = "nvptx64"))]
impl<'a> From<InOut<'a, [u64; 2]>> for InOut<'a, Stream> {
    fn from(states: InOut<'a, [u64; 2]>) -> Self {
        // SAFETY: a generator is the two words of its state, whichever they are.
        unsafe { states.retyped() }
    }
}

impl Draw for Stream {
    /// Lemire's multiplication with rejection, on the high 32 bits: every value is equally likely.
    ///
    /// # Source
    /// Lemire, "Fast random integer generation in an interval", algorithm 5.
    #[device_inline]
    fn below(&mut self, n: u32) -> u32 {
        let mut product = (self.0.next_u64() >> 32) * n as u64;
        if (product as u32) < n {
            let threshold = n.wrapping_neg() % n;
            while (product as u32) < threshold {
                product = (self.0.next_u64() >> 32) * n as u64;
            }
        }
        (product >> 32) as u32
    }
}

/// The generator's linear step on its two words, without the output.
#[device_inline]
const fn step(state: [u64; 2]) -> [u64; 2] {
    let [s0, s1] = state;
    let s1 = s1 ^ s0;
    [s0.rotate_left(24) ^ s1 ^ (s1 << 16), s1.rotate_left(37)]
}

/// Applies a polynomial in the step to a state: the sum of the powers named by the polynomial's bits.
#[device_inline]
const fn apply_polynomial(polynomial: [u64; 2], state: [u64; 2]) -> [u64; 2] {
    let mut state = state;
    let mut sum = [0; 2];
    let mut bit = 0;
    while bit < 128 {
        if polynomial[bit >> 6] >> (bit & 63) & 1 == 1 {
            sum[0] ^= state[0];
            sum[1] ^= state[1];
        }
        state = step(state);
        bit += 1;
    }
    sum
}

/// Sets up streams 0 to `n - 1`: stream `k` is `base` after `k` jumps.
///
/// # Safety
/// `streams` holds `n` streams, `polynomials` [`STREAM_BITS`] pairs; `base` is not zero.
#[device_inline]
pub unsafe fn seed_streams(streams: *mut Stream, n: u32, base: [u64; 2], polynomials: *const [u64; 2]) {
    let Some(index) = thread::index_1d_below(n) else { return };
    let mut state = base;
    let mut bit = 0;
    // SAFETY: bits are below STREAM_BITS, the number of polynomials, and the index is below `n`, the number of streams; no other thread has this stream.
    unsafe {
        while bit < STREAM_BITS {
            if index >> bit & 1 == 1 {
                state = apply_polynomial(memory::load(polynomials, bit as usize), state);
            }
            bit += 1;
        }
        Stream::from_state(state).store(streams, index as usize);
    }
}

/// The generator's characteristic polynomial without its leading term x¹²⁸; bit i of the pair is the coefficient of xⁱ.
#[cfg(not(target_arch = "nvptx64"))]
const CHARACTERISTIC: [u64; 2] = [0x095b_8f76_579a_a001, 0x0008_828e_513b_43d5];

#[cfg(not(target_arch = "nvptx64"))]
fn multiply(a: [u64; 2], b: [u64; 2]) -> [u64; 2] {
    let mut product = [0; 2];
    let mut power = a;
    for bit in 0..128 {
        if b[bit >> 6] >> (bit & 63) & 1 == 1 {
            product[0] ^= power[0];
            product[1] ^= power[1];
        }
        let carry = power[1] >> 63;
        power = [power[0] << 1, power[1] << 1 | power[0] >> 63];
        if carry == 1 {
            power[0] ^= CHARACTERISTIC[0];
            power[1] ^= CHARACTERISTIC[1];
        }
    }
    product
}

#[cfg(not(target_arch = "nvptx64"))]
fn square_times(mut polynomial: [u64; 2], times: u32) -> [u64; 2] {
    for _ in 0..times {
        polynomial = multiply(polynomial, polynomial);
    }
    polynomial
}

/// Polynomial number j jumps 2⁶⁴⁺ʲ steps, that is, 2ʲ streams.
#[cfg(not(target_arch = "nvptx64"))]
pub fn jump_polynomials() -> [[u64; 2]; STREAM_BITS as usize] {
    let mut polynomial = square_times([2, 0], 64);
    core::array::from_fn(|_| {
        let this = polynomial;
        polynomial = multiply(polynomial, polynomial);
        this
    })
}

/// State of playout stream 0 of a seed: that of `Xoroshiro128Plus::seed_from_u64`.
#[cfg(not(target_arch = "nvptx64"))]
pub fn playout_base(seed: u64) -> [u64; 2] {
    // SAFETY: `Stream` is a transparent wrapper of two words, asserted above.
    unsafe { core::mem::transmute::<Stream, [u64; 2]>(Stream(Xoroshiro128Plus::seed_from_u64(seed))) }
}

/// State of expansion stream 0 of a seed: 2⁹⁶ steps (a long jump) after playout stream 0, beyond all 2²⁷ playout streams.
#[cfg(not(target_arch = "nvptx64"))]
pub fn expansion_base(seed: u64) -> [u64; 2] {
    apply_polynomial(square_times([2, 0], 96), playout_base(seed))
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    fn words(mut generator: Xoroshiro128Plus) -> [u64; 4] {
        core::array::from_fn(|_| generator.next_u64())
    }

    #[test]
    fn polynomials_jump_as_the_crate_does() {
        let polynomials = jump_polynomials();
        for seed in [0, 1, 0xdead_beef] {
            let base = playout_base(seed);
            let mut reference = Xoroshiro128Plus::seed_from_u64(seed);
            for k in 0u32..9 {
                let mut state = base;
                for (bit, &polynomial) in polynomials.iter().enumerate() {
                    if k >> bit & 1 == 1 {
                        state = apply_polynomial(polynomial, state);
                    }
                }
                assert_eq!(words(Stream::from_state(state).0), words(reference.clone()), "seed {seed}, stream {k}");
                reference.jump();
            }
            let mut long = Xoroshiro128Plus::seed_from_u64(seed);
            long.long_jump();
            assert_eq!(words(Stream::from_state(expansion_base(seed)).0), words(long), "seed {seed}");
        }
    }

    #[test]
    fn below_never_reaches_its_bound_and_is_even() {
        let mut stream = Stream::from_state(playout_base(3));
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[stream.below(7) as usize] += 1;
        }
        let chi_square: f64 = counts.iter().map(|&c| (f64::from(c) - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi_square < 22.5, "{counts:?}"); // 0.1 % point of six degrees of freedom
        // A bound just above 2³¹ rejects almost every second number.
        for _ in 0..1000 {
            assert!(stream.below(0x8000_0001) < 0x8000_0001);
        }
    }
}
