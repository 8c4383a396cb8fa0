//! The flag of benches that other programs can be timed beside.

use crate::peers::Peer;

/// Other programs.
#[derive(clap::Args, Debug)]
pub struct PeerFlags {
    /// Time another program beside each row of products or trainings: a shell command, such as "python3 docs/peers/mlp.py"; may be given several times
    #[arg(long = "peer", value_name = "COMMAND")]
    commands: Vec<String>,
}

impl PeerFlags {
    /// Starts the programs.
    pub fn start(&self) -> anyhow::Result<Vec<Peer>> {
        self.commands.iter().map(|command| Peer::start(command)).collect()
    }
}
