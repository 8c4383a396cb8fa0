//! The forms of the published kernels.

use warpplay::{Error, Result};

use crate::named::named;

named! {
    /// Threads of the input convolution.
    InputForm:
    /// 64: one a square.
    Squares = "squares",
    /// 64 a plane, 320 for 5 planes; the planes' sums are added up in order.
    Planes = "planes",
    /// 64 a plane; the planes' sums are added up by atomic additions in shared memory.
    PlanesAtomic = "planes_atomic",
}

named! {
    /// Where the torso's convolutions add up their channels, by atomic additions.
    TorsoSums:
    /// In global memory: the paper's.
    Global = "global",
    /// In shared memory: the paper's other try.
    Shared = "shared",
}

/// Which form of each kernel runs. The default is the paper's, with the bias that it leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Options {
    /// Threads of the input convolution. Default [`InputForm::Squares`]; the others take at most 16 planes.
    pub input: InputForm,
    /// Whether the staged observation has the paper's padding, `[10][33]`, or none, `[10][32]`. Default true.
    pub padded: bool,
    /// Threads that share a channel in the torso's convolution: 1, or 8 of a board row each. Default 8, the paper's 128×8 threads.
    pub torso_layers: u32,
    /// Where the torso's convolution adds up its channels. Default [`TorsoSums::Global`].
    pub torso_sums: TorsoSums,
    /// Whether each channel has a bank for itself in the torso's convolution (`[256][32]` and `[36][32]`), or the order of memory is kept. Default true.
    pub banked: bool,
    /// Whether convolutions add their bias. Default true; the published kernels do not.
    pub bias: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            input: InputForm::Squares,
            padded: true,
            torso_layers: 8,
            torso_sums: TorsoSums::Global,
            banked: true,
            bias: true,
        }
    }
}

impl Options {
    /// The kernels as they were published: no bias.
    pub fn published() -> Self {
        Self { bias: false, ..Self::default() }
    }

    /// # Errors
    /// [`Error::Option`] for a number of layers that is not allowed.
    pub fn check(&self) -> Result<()> {
        if matches!(self.torso_layers, 1 | 8) {
            return Ok(());
        }
        Err(Error::option("torso layers", self.torso_layers, "1 or 8"))
    }
}
