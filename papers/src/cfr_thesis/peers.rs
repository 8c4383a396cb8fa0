//! Figures of others that stand beside the measured ones: neither printed in the paper nor measured here.

use super::plain_cpp;
use super::published::Variant;

/// A time of somebody else's program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peer {
    /// The game.
    pub variant: Variant,
    /// The program and how it was measured.
    pub name: &'static str,
    /// Milliseconds of an iteration, which is one sampled deal: the least and the largest.
    pub milliseconds: [f64; 2],
    /// The source.
    pub source: &'static str,
}

impl Peer {
    /// As `3.9 to 5.8 ms`.
    pub fn range(&self) -> String {
        let [least, most] = self.milliseconds;
        format!("{least} to {most} ms")
    }
}

const fn cpp(variant: Variant, milliseconds: [f64; 2]) -> Peer {
    Peer { variant, name: "a plain C++ program, one core", milliseconds, source: plain_cpp::SOURCE }
}

/// All of them.
pub const PEERS: [Peer; 2] = [cpp(Variant::C, plain_cpp::MILLISECONDS[0]), cpp(Variant::D, plain_cpp::MILLISECONDS[1])];

impl Variant {
    /// What is known of others' programs on this game.
    pub fn peer(self) -> Option<&'static Peer> {
        PEERS.iter().find(|peer| peer.variant == self)
    }
}
