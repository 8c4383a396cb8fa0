//! `train`.
use crate::args::TrainArgs;
#[derive(clap::Args, Clone, Debug)]
pub struct TrainFlags {}
pub fn run(_: &TrainArgs) -> anyhow::Result<()> {
    anyhow::bail!("not yet")
}
