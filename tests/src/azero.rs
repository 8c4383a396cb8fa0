//! Positions of checkers whose values, policies and blocks other people's programs computed, and the network they are of; what the trainings of version 0.1 learned from.

use std::sync::Arc;

use warpplay::azero::train::Samples;
use warpplay::azero::{Evaluation, Network, NetworkShape, ObservationLayout, ValueOf};

use crate::golden::{self, Tensors};
use crate::tolerance::{Tolerance, close};

/// The bound of single precision against the reference.
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

/// Bounds of a precision on values, logits and policies, for [`Positions::check`]: twice what rounding the operands to it was seen to change.
pub fn bounds(precision: warpplay::Precision) -> [Tolerance; 3] {
    use warpplay::Precision;
    let of = |sizes: [f64; 3]| sizes.map(|abs| Tolerance { abs, rel: 0.0 });
    match precision {
        Precision::F64 => of([1e-12; 3]),
        Precision::F32 => [FP32; 3],
        Precision::Tf32 => of([1.8e-3, 1.6e-2, 2e-3]),
        Precision::F16 => of([2e-3, 1.8e-2, 2e-3]),
        Precision::Bf16 => of([2.8e-2, 1.6e-1, 1.8e-2]),
        Precision::I16 => unreachable!("no engine of the network stores 16-bit integers"),
    }
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
