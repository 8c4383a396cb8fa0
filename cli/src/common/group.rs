//! The ranks that this process is one of.

use anyhow::Result;
use warpplay::ranks::{self, Alone, Ranks};

/// What an MPI library sets in the processes that it starts.
const STARTED_BY_MPI: [&str; 4] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS"];

/// Runs the work of a command as a rank of the group that `mpirun` started, alone without it.
///
/// # Errors
/// Those of the work; a group without the feature `mpi`, or with ranks that run other commands. In a group an error is told here and ends all ranks.
pub fn join(command: &str, work: impl FnOnce(&dyn Ranks) -> Result<()>) -> Result<()> {
    if !STARTED_BY_MPI.iter().any(|name| std::env::var_os(name).is_some()) {
        return work(&Alone);
    }
    as_rank(|group| {
        // Other commands exchange other things: ranks that run them would wait for each other for ever.
        ranks::expect_same(group, "command", command)?;
        work(group)
    })
}

#[cfg(feature = "mpi")]
fn as_rank(work: impl FnOnce(&dyn Ranks) -> Result<()>) -> Result<()> {
    let ranks = warpplay::ranks::Mpi::start()?;
    let result = work(&ranks);
    if ranks.size() == 1 || result.is_ok() {
        return result;
    }
    // The others may wait for this rank; stopping them ends this process too, so the reason comes first.
    crate::common::exit(result);
    ranks.abort("a rank failed");
    std::process::exit(1)
}

#[cfg(not(feature = "mpi"))]
fn as_rank(_: impl FnOnce(&dyn Ranks) -> Result<()>) -> Result<()> {
    anyhow::bail!(
        "started by mpirun, but built without the feature mpi: build with --features mpi, or use cargo xtask run FAMILY --ranks N"
    )
}
