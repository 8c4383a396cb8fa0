//! Passes divided over ranks, which are threads here: what MPI adds is measured by `cargo xtask run shogi --ranks N`.

use std::sync::Mutex;
use std::time::Instant;

use warpplay::shogi::ranks::{Ranks, Threads, share};
use warpplay::shogi::{FeatureSet, Loss, Shard, Sparse};
use warpplay::{Device, Result};

/// Seconds of a pass with gradient, summed over ranks of one core each.
///
/// # Errors
/// Those of the ranks.
pub fn pass(shards: &[&Shard], features: FeatureSet, size: usize) -> Result<f64> {
    // One rank after the other takes its memory, so that none is refused what is left.
    let memory = Mutex::new(());
    let times = Threads::run(size, |ranks| {
        let parts = share(shards, ranks.rank(), ranks.size())?;
        let parts: Vec<&Shard> = parts.iter().map(AsRef::as_ref).collect();
        let mut sparse = {
            let _one = memory.lock();
            Sparse::builder(features).threads(1).build(&Device::cpu())?
        };
        sparse.set_weights(&features.weights_of(&[3.0; 12]))?;
        ranks.gather(&[])?;
        let start = Instant::now();
        sparse.pass(&parts, &Loss::default(), true)?;
        let mut gradient = sparse.gradient()?;
        ranks.sum(&mut gradient)?;
        Ok(start.elapsed().as_secs_f64())
    })?;
    Ok(times.into_iter().fold(0.0, f64::max))
}
