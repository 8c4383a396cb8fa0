//! The forms of the published kernels.

use warpplay::{Error, Result};

use crate::named::named;

named! {
    /// Whose kernels run: which forms were published together.
    Program, "kernels":
    /// As the paper describes them.
    Paper = "paper",
    /// As the repository launches them in its last revision: input V3, torso V2, output V2, no bias.
    Repository = "repository",
    /// The repository's with its 40-thread input kernel, V2.
    RepositoryRows = "repository_40",
    /// The repository's first kernels: weights and filters in global memory, 40 threads for the input.
    RepositoryFirst = "repository_first",
}

impl Program {
    /// The forms of all kernels. The paper's add the bias, which the repository's leave out; [`Options::published`] are the paper's without it.
    pub fn options(self) -> Options {
        let repository = Options {
            input: InputForm::Turned,
            torso: TorsoForm::Repository2,
            output: OutputForm::Repository2,
            bias: false,
            ..Options::default()
        };
        match self {
            Self::Paper => Options::default(),
            Self::Repository => repository,
            Self::RepositoryRows => Options { input: InputForm::Rows, ..repository },
            Self::RepositoryFirst => Options {
                input: InputForm::Rows,
                weights: Weights::Global,
                torso: TorsoForm::Repository1,
                output: OutputForm::Repository1,
                ..repository
            },
        }
    }
}

named! {
    /// Threads of the input convolution.
    InputForm:
    /// 64: one a square, the paper's.
    Squares = "squares",
    /// 64: one a square, neighbouring threads below one another. The repository's V3.
    Turned = "turned",
    /// 64 a plane, 320 for 5 planes; the planes' sums are added up in order.
    Planes = "planes",
    /// 64 a plane; the planes' sums are added up by atomic additions in shared memory.
    PlanesAtomic = "planes_atomic",
    /// 64 a plane; the planes' sums are added up by atomic additions in global memory. The repository's V4.
    PlanesGlobal = "planes_global",
    /// 8 a plane, 40 for 5 planes, a row each, added up by atomic additions in global memory. The repository's V2, and with global weights its V1.
    Rows = "rows",
}

impl InputForm {
    /// Whether the form has threads for each plane, which limits their number.
    pub const fn by_planes(self) -> bool {
        !matches!(self, Self::Squares | Self::Turned)
    }

    /// Whether `out` is added to, and so has to be cleared before.
    pub const fn adds_to_out(self) -> bool {
        matches!(self, Self::PlanesGlobal | Self::Rows)
    }
}

named! {
    /// Where the input convolution reads its weights.
    Weights:
    /// In shared memory, the paper's `W_kernel[45]`.
    Shared = "shared",
    /// In global memory. For [`InputForm::Squares`] and [`InputForm::Rows`].
    Global = "global",
}

named! {
    /// How the torso's convolution keeps boards and filters.
    TorsoForm:
    /// Both in shared memory, as `banked` says, added up as `torso_sums` says.
    Tiles = "tiles",
    /// Filters in global memory: the repository's first kernel.
    Repository1 = "repository_1",
    /// Filters in shared memory in the order of memory: the repository's V2.
    Repository2 = "repository_2",
    /// Boards in global memory: the repository's V3.
    Repository3 = "repository_3",
}

named! {
    /// How the output's convolution keeps boards and filters.
    OutputForm:
    /// Both in shared memory, added up as `output_sums` says: the paper's.
    Tiles = "tiles",
    /// Filters in global memory: the repository's first kernel.
    Repository1 = "repository_1",
    /// Filters in shared memory, tiles filled value by value: the repository's V2.
    Repository2 = "repository_2",
    /// 64 threads, a square each, that add up the channels one after the other. Not published.
    Squares = "squares",
}

named! {
    /// Where a convolution of tiles adds up its channels, by atomic additions.
    Sums:
    /// In global memory: the paper's.
    Global = "global",
    /// In shared memory: the paper's other design.
    Shared = "shared",
}

/// Which form of each kernel runs. The default is the paper's, with the bias that it leaves out; [`Program::options`] are the combinations that were published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Options {
    /// Threads of the input convolution. Default [`InputForm::Squares`]; forms with threads for each plane take at most 16 planes.
    pub input: InputForm,
    /// Whether the staged observation has the paper's padding, `[10][33]`, or none, `[10][32]`. Default true; the repository's forms have none.
    pub padded: bool,
    /// Where the input convolution reads its weights. Default [`Weights::Shared`].
    pub weights: Weights,
    /// How the torso's convolution keeps its operands. Default [`TorsoForm::Tiles`]; the repository's forms have 8 layers and global sums.
    pub torso: TorsoForm,
    /// Threads that share a channel in convolutions of tiles: 1, or 8 of a board column each. Default 8, the paper's 128×8 threads.
    pub layers: u32,
    /// Where the torso's tiles are added up. Default [`Sums::Global`].
    pub torso_sums: Sums,
    /// Whether each channel has a bank for itself in the torso's tiles (`[256][32]` and `[36][32]`), or the order of memory is kept. Default true.
    pub banked: bool,
    /// How the output's convolution keeps its operands. Default [`OutputForm::Tiles`].
    pub output: OutputForm,
    /// Where the output's tiles are added up. Default [`Sums::Global`].
    pub output_sums: Sums,
    /// Whether convolutions add their bias. Default true; the published kernels do not.
    pub bias: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            input: InputForm::Squares,
            padded: true,
            weights: Weights::Shared,
            torso: TorsoForm::Tiles,
            layers: 8,
            torso_sums: Sums::Global,
            banked: true,
            output: OutputForm::Tiles,
            output_sums: Sums::Global,
            bias: true,
        }
    }
}

impl Options {
    /// The paper's kernels as they were published: no bias.
    pub fn published() -> Self {
        Self { bias: false, ..Self::default() }
    }

    /// # Errors
    /// [`Error::Option`] for a number of layers that is not allowed, or weights in global memory with a form of the input that stages them.
    pub fn check(&self) -> Result<()> {
        if !matches!(self.layers, 1 | 8) {
            return Err(Error::option("layers", self.layers, "1 or 8"));
        }
        if self.weights == Weights::Global && !matches!(self.input, InputForm::Squares | InputForm::Rows) {
            return Err(Error::option("weights", self.weights, format!("shared with input {}", self.input)));
        }
        Ok(())
    }
}
