//! What the paper and its repository publish, each with its location.

pub mod runs;

use super::parts::{Level, Part};
use crate::experiment::statistics;

/// Milliseconds of one run: the library on the CPU, the library on the GPU, the paper's kernels on the GPU.
pub type Run = [f64; 3];

/// A row of Table I with the runs that it comes from.
#[derive(Clone, Copy, Debug)]
pub struct Component {
    /// As Table I writes it.
    pub name: &'static str,
    /// How much of the network.
    pub level: Level,
    /// Which part.
    pub part: Part,
    /// Speed-up of the paper's kernels against the library on the GPU: Table I, column "Speedup vs GPU".
    pub vs_gpu: f64,
    /// Against the library on the CPU: column "Speedup vs CPU".
    pub vs_cpu: f64,
    /// The runs.
    pub runs: &'static [Run; 20],
}

const fn component(
    name: &'static str,
    (level, part): (Level, Part),
    (vs_gpu, vs_cpu): (f64, f64),
    runs: &'static [Run; 20],
) -> Component {
    Component { name, level, part, vs_gpu, vs_cpu, runs }
}

/// Table I, section IV.C: mean speed-ups without the first run.
pub const TABLE_1: [Component; 7] = [
    component("Input Kernel", (Level::Kernel, Part::Input), (4.968, 12.739), &runs::INPUT_KERNEL),
    component("Torso Kernel", (Level::Kernel, Part::Torso), (1.051, 0.795), &runs::TORSO_KERNEL),
    component("Output Kernel", (Level::Kernel, Part::Output), (2.155, 0.657), &runs::OUTPUT_KERNEL),
    component("Input Layer", (Level::Layer, Part::Input), (3.383, 3.291), &runs::INPUT_LAYER),
    component("Torso Layer", (Level::Layer, Part::Torso), (0.991, 1.109), &runs::TORSO_LAYER),
    component("Output Layer", (Level::Layer, Part::Output), (1.593, 1.382), &runs::OUTPUT_LAYER),
    component("Model", (Level::Model, Part::Semi), (0.549, 0.709), &runs::MODEL),
];

/// Section II.C, which Figure 1 draws: planes, rows and columns of the input `[1, 5, 8, 8]`, channels of every block, residual blocks (`nn_depth`), channels of the
/// value head's convolution and of the policy head's. Units of the value head's hidden layer and the number of actions are not printed.
pub const NETWORK: [u32; 7] = [5, 8, 8, 128, 5, 1, 2];

/// Figure 5, section IV.C: kernels with sums in shared memory. No speed-up is printed for them.
pub const FIGURE_5: [(&str, Part, &[Run; 20]); 2] =
    [("Torso Kernel", Part::Torso, &runs::TORSO_SHARED), ("Output Kernel", Part::Output, &runs::OUTPUT_SHARED)];

/// Whose times a column of [`Run`] are.
pub const COLUMNS: [&str; 3] = ["library, CPU", "library, GPU", "paper's kernels, GPU"];

/// Section IV.A: runs of each component, the first among them; means leave it out.
pub const N_RUNS: usize = 20;
/// Section IV.B: `atol` and `rtol` of the verdict.
pub const ATOL_RTOL: (f64, f64) = (1e-5, 1e-8);
/// What the repository's tests pass to `torch::allclose`: its third argument is `rtol`, and `atol` keeps its default.
pub const REPOSITORY_ATOL_RTOL: (f64, f64) = (1e-8, 1e-5);
/// Section IV.B: the mean error after one layer that can grow "by a factor of two or more" behind batch norm. The machine-read text has 10^4, without a minus sign.
pub const MEAN_ERROR: f64 = 1e-4;
/// The same: the factor.
pub const MEAN_ERROR_GROWTH: f64 = 2.0;
/// Mean absolute errors of the model in the repository (`output/model_mean_errors.txt`, revision 0945b9b, all runs alike): library on the CPU against library on
/// the GPU, CPU against the paper's kernels, GPU against the paper's kernels.
pub const MODEL_MEAN_ERRORS: [f64; 3] = [5961.0, 4070.0, 6359.0];
/// The same of convolutions alone, largest of 20 runs (revision 6695d27): input, torso, output.
pub const KERNEL_MEAN_ERRORS: [[f64; 3]; 3] = [[0.0; 3], [1.25822e-6, 7.8819e-7, 1.34419e-6], [0.0; 3]];

/// The same of layers, convolution, batch norm and rectifier (`output/cnn_…_mean_errors_w_bn.txt`).
pub const LAYER_MEAN_ERRORS: [[f64; 3]; 3] =
    [[0.0, 2.32135e-7, 2.32135e-7], [5.3132e-7, 5.59638e-7, 6.5285e-7], [0.0, 2.33283e-6, 2.33283e-6]];
/// The same of the convolutions of Figure 5 (`output/cnn_…_mean_errorsV3.txt`): torso, output.
pub const SHARED_MEAN_ERRORS: [[f64; 3]; 2] = [[1.19209e-6, 8.34814e-7, 1.25272e-6], [0.0, 1.30851e-7, 1.30851e-7]];
/// Section IV.A, of the Tesla T4 that all was measured on: kB of shared memory, multiprocessors, CUDA cores, GB of memory.
pub const MACHINE: [u32; 4] = [64, 40, 2560, 16];
/// Section III.B: kB that the torso's boards and filters take of shared memory.
pub const TORSO_SHARED_KB: f64 = 36.5;

/// What the repository's input layer says to any tensor of two or four dimensions but these two, as a `std::invalid_argument` (`input_conv_forward` in `input_conv_cuda.cu`). The
/// layer has it in these words, blanks included.
pub const INPUT_REFUSAL: &str = "input must be of shape [ 1, 5, 8, 8] or [ 1, 320]";

/// The runs of one program, of one component.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The first run, in milliseconds.
    pub first: f64,
    /// Mean of the others.
    pub mean: f64,
    /// The least of the others.
    pub min: f64,
    /// The most of the others.
    pub max: f64,
    /// The others' median.
    pub median: f64,
}

/// Sums up one column of [`COLUMNS`].
pub fn summary(runs: &[Run; 20], column: usize) -> Summary {
    let others: Vec<f64> = runs[1..].iter().map(|run| run[column]).collect();
    Summary {
        first: runs[0][column],
        mean: statistics::mean(&others),
        min: statistics::least(&others),
        max: statistics::most(&others),
        median: statistics::median(&others),
    }
}

/// How Table I is made of the runs: the mean of each run's ratio of the library's time to the paper's, without the first run; against GPU and CPU.
pub fn mean_ratios(runs: &[Run; 20]) -> (f64, f64) {
    let ratios = |column: usize| runs[1..].iter().map(|run| run[column] / run[2]).collect::<Vec<_>>();
    (statistics::mean(&ratios(1)), statistics::mean(&ratios(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All 14 numbers of Table I, to its last digit, from the repository's runs.
    #[test]
    fn table_1_is_the_mean_of_the_ratios_of_the_published_runs() {
        for component in TABLE_1 {
            let (gpu, cpu) = mean_ratios(component.runs);
            for (found, published) in [(gpu, component.vs_gpu), (cpu, component.vs_cpu)] {
                assert!((found - published).abs() <= 5e-4, "{}: {found} and {published}", component.name);
            }
        }
    }
}
