//! Positions of checkers whose values, policies and blocks other people's programs computed, and the network they are of; what the trainings of version 0.1 learned from.

use std::sync::Arc;

use warpplay::Precision;
use warpplay::azero::train::Samples;
use warpplay::azero::{Evaluation, Network, NetworkShape, ObservationLayout, ValueOf};

use crate::golden::{self, Tensors};
use crate::tolerance::{Tolerance, close};

/// What `docs/kernels.md` promises of single precision: a promise, and not a bound that follows from roundings. Single precision in another program is 7e-7, 4e-6 and 6e-7 off in values, logits and
/// policies ([`elsewhere`]).
pub const FP32: Tolerance = Tolerance { abs: 1e-5, rel: 1e-5 };

/// The reference network: OpenSpiel's shape for checkers, weights of seed 27.
///
/// # Panics
/// Never: the shape is allowed.
pub fn reference_network() -> Network {
    Network::seeded(NetworkShape::default(), 27).expect("the shape is allowed")
}

/// Positions with their reference outputs.
#[derive(Debug)]
pub struct Positions {
    /// How many.
    pub n: usize,
    /// `[n, 5, 8, 8]`, the default layout.
    pub observations: Vec<f32>,
    /// `[n, 512]`.
    pub masks: Vec<u8>,
    tensors: Tensors,
}

/// The four positions that are part of the repository.
///
/// # Panics
/// If the file is damaged.
pub fn four_positions() -> Positions {
    Positions::of(golden::tensors("azero/az_checkers_4.safetensors"))
}

/// All 64 positions, with whole blocks of the first four, where the shared folder is.
///
/// # Panics
/// If the file is damaged; as [`golden::shared`].
pub fn all_positions() -> Option<Positions> {
    golden::shared("vectors/az_checkers_io.safetensors").map(|path| Positions::of(Tensors::read(&path)))
}

impl Positions {
    fn of(tensors: Tensors) -> Self {
        let observations: Vec<f32> = tensors.floats("obs").into_iter().map(|value| value as f32).collect();
        let masks = tensors.bytes("mask");
        let n = masks.len() / 512;
        assert_eq!(observations.len(), n * 320, "whole positions");
        Self { n, observations, masks, tensors }
    }

    /// The first `n` positions' observations and masks.
    pub fn first(&self, n: usize) -> (&[f32], &[u8]) {
        (&self.observations[..320 * n], &self.masks[..512 * n])
    }

    /// A reference tensor of all positions: `value`, `policy_logits`, `policy`, `value_head_plane`, `value_hidden`, ….
    pub fn expected(&self, tensor: &str) -> Vec<f64> {
        self.tensors.floats(tensor)
    }

    /// The whole block `name` of the first four positions, `[4, 128, 8, 8]`: only in [`all_positions`].
    pub fn block(&self, name: &str) -> Vec<f64> {
        self.tensors.floats(&format!("first4.{name}"))
    }

    /// Sums and sums of squares of block `name`, `[n]` each.
    pub fn sums(&self, name: &str) -> [Vec<f64>; 2] {
        ["sum", "sumsq"].map(|of| self.tensors.floats(&format!("{of}.{name}")))
    }

    /// Holds an evaluation of the first `n` positions to the reference.
    ///
    /// # Panics
    /// If values, logits or policies are too far.
    #[track_caller]
    pub fn check(&self, what: &str, found: &Evaluation, n: usize, [value, logits, policy]: [Tolerance; 3]) {
        close(&format!("{what}: values"), &found.values, &self.expected("value")[..n], value);
        let expected = self.expected("policy_logits");
        close(&format!("{what}: policy logits"), &found.policy_logits, &expected[..512 * n], logits);
        close(&format!("{what}: policies"), &found.policies, &self.expected("policy")[..512 * n], policy);
        let illegal = found.policies.iter().zip(&self.masks).find(|&(&share, &mask)| mask == 0 && share != 0.0);
        assert!(illegal.is_none(), "{what}: an illegal action has a share");
    }
}

/// Largest errors of values, logits and policies over the 64 positions, of programs that share no code with this project: in double precision with operands, or all that is kept, rounded to the
/// format (`tests/golden/azero/README.md`). Double precision is taken to round 2⁻²⁹ as much as single precision does.
pub fn elsewhere(precision: Precision) -> [f64; 3] {
    const SINGLE: [f64; 3] = [7e-7, 4e-6, 6e-7];
    match precision {
        Precision::F64 => SINGLE.map(|error| error * 2f64.powi(-29)),
        Precision::F32 => SINGLE,
        Precision::Tf32 => [9e-4, 8e-3, 1e-3],
        Precision::F16 => [1e-3, 9e-3, 1e-3],
        Precision::Bf16 => [1.4e-2, 8e-2, 9e-3],
        Precision::E4m3 | Precision::I16 => unreachable!("no engine of the network has it"),
    }
}

/// Bounds of a precision on values, logits and policies, for [`Positions::check`]: twice what [`elsewhere`] says, in double precision four times, since the reference has roundings of its own there; in
/// single precision the promise.
///
/// A bound of the worst case says nothing: by the sizes of its terms alone each convolution of 1,152 weights up to √(6 / 1152) makes an error 40 times as large, and eleven follow each other. So roundings are taken
/// for independent numbers of mean 0 (Higham, *Accuracy and Stability of Numerical Algorithms*, 2002, section 2.8). An output's error is then the sum of very many, nearly normal, and has one standard deviation in all
/// programs that round the same operands to the same format, in whatever order they add. The largest of 64 values, which the others found, is 2.6 of them in the mean, of 450 shares of legal actions 3.2, and of
/// 32,768 logits 4.3. Twice as much is exceeded anywhere among 64 values once in 78,000 sets of roundings, among all else less than once in a million.
pub fn bounds(precision: Precision) -> [Tolerance; 3] {
    let times = match precision {
        Precision::F32 => return [FP32; 3],
        Precision::F64 => 4.0,
        _ => 2.0,
    };
    elsewhere(precision).map(|error| Tolerance { abs: times * error, rel: 0.0 })
}

/// The network of the small files that version 0.1 wrote (`tests/golden/azero/v0.1`).
pub const SMALL_SHAPE: NetworkShape = NetworkShape {
    rows: 2,
    columns: 3,
    planes: 2,
    width: 3,
    depth: 1,
    value_filters: 1,
    value_hidden: 4,
    policy_filters: 1,
    actions: 5,
};

/// The ten positions that the trainings of those files learned from.
///
/// # Panics
/// Never: the shape and the positions are allowed.
pub fn ten_samples() -> Arc<Samples> {
    let mut samples = Samples::new(SMALL_SHAPE, ObservationLayout::Egocentric, ValueOf::Mover).expect("a shape");
    for n in 0..10u32 {
        let planes: Vec<f32> = (0..12u32).map(|at| (((n >> (at % 4)) ^ at) & 1) as f32).collect();
        let visits = [(n % 5, 10 + n), ((n % 5 + 1) % 5, 3)];
        samples.push(u64::from(n / 2), &planes, &[1; 5], &visits, f64::from(n % 3) - 1.0).expect("a position");
    }
    Arc::new(samples)
}
