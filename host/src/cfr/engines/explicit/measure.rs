//! Values and best responses of the average profile, in double precision whatever the solve's.

use warpplay_gpu::cfr::explicit::ExplicitKernels;

use super::arrays::{DeviceTree, Pass};
use super::kernels::Kernels;
use super::matching::probabilities_of;
use crate::cfr::game::extensive::Tree;
use crate::cfr::layout::{Measured, Number};
use crate::{Buffer, Device, Result, Stream};

/// The arrays for measuring a profile.
pub(in crate::cfr) struct Measuring {
    kernels: Kernels<f64>,
    pass: Pass<f64>,
    /// `[n_rows + n_outcomes]`
    profile: Buffer<f64>,
}

impl Measuring {
    /// Allocates the memory.
    pub fn new(device: &Device, stream: &Stream, tree: &Tree) -> Result<Self> {
        Ok(Self {
            kernels: Kernels::load(device)?,
            pass: Pass::new(stream, tree)?,
            profile: stream.upload(&probabilities_of(tree, &vec![0.0; tree.n_rows()], &[]))?,
        })
    }

    /// Bytes on the device.
    pub fn bytes(tree: &Tree) -> u64 {
        Pass::<f64>::bytes(tree) + 8 * (tree.n_rows() + tree.outcomes.len()) as u64
    }

    /// Measures the profile of these averages.
    pub fn measure<T: ExplicitKernels + Number>(
        &mut self,
        stream: &Stream,
        kernels: &Kernels<T>,
        tree: &DeviceTree,
        averages: &Buffer<T>,
    ) -> Result<Measured> {
        let Self { kernels: own, pass, profile } = self;
        let seats = 0..tree.tree.n_players;
        kernels.profile(stream, tree, averages, profile)?;
        own.of(stream, tree, pass, seats.clone()).values(profile)?;
        let values = pass.root_values(stream, &tree.tree)?;
        own.of(stream, tree, pass, seats).best_responses(profile, None)?;
        let best_responses = pass.root_values(stream, &tree.tree)?;
        Ok(Measured { values, best_responses })
    }
}
