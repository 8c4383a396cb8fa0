//! What is wrong in the paper, each point with its evidence.

use super::measure::Level;
use super::published::{
    ATOL_RTOL, FIGURE_5, KERNEL_MEAN_ERRORS, LAYER_MEAN_ERRORS, MEAN_ERROR, MODEL_MEAN_ERRORS, Run, Summary, TABLE_1,
    summary,
};

/// Something that is printed and is not so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Where it stands.
    pub location: &'static str,
    /// What it says, in other words.
    pub printed: String,
    /// What is so.
    pub found: String,
    /// How that is known: an item, a test of `tests/tests/papers/checkers_conv.rs`, or a file of the repository.
    pub evidence: &'static str,
}

/// The kernels and layers whose library is faster on the GPU than on the CPU in the published runs, by one statistic.
fn faster_on_gpu(of: fn(&Summary) -> f64) -> Vec<&'static str> {
    let parts = TABLE_1.iter().filter(|component| component.level != Level::Model);
    let faster = parts.filter(|part| of(&summary(part.runs, 1)) < of(&summary(part.runs, 0)));
    faster.map(|part| part.name).collect()
}

/// The first runs that the library on the GPU makes in less time than the paper's kernels, in milliseconds.
fn shorter_first_runs() -> Vec<String> {
    let table = TABLE_1.into_iter().map(|component| (component.name, "Table I", component.runs));
    let figure = FIGURE_5.into_iter().map(|(name, _, runs)| (name, "Figure 5", runs));
    let of = |(name, location, runs): (&str, &str, &[Run; 20])| {
        let [_, library, kernels] = runs[0];
        (library < kernels).then(|| format!("{name}, {location}: {library:.3} to {kernels:.3} ms"))
    };
    table.chain(figure).filter_map(of).collect()
}

/// Section III.A on 320 threads: what is measured of them is added to it, where a run has it.
pub(super) const OF_320_THREADS: &str = "320 threads a block bring no performance improvement";

/// All points.
pub fn claims() -> Vec<Claim> {
    let [input, torso, output, input_layer, torso_layer, output_layer, model] = &TABLE_1;
    let n_parts = TABLE_1.iter().filter(|component| component.level != Level::Model).count();
    let [by_means, by_medians] = [faster_on_gpu(|runs| runs.mean), faster_on_gpu(|runs| runs.median)];
    let shorter = shorter_first_runs();
    let medians = [0, 1, 2].map(|column| summary(input.runs, column).median);
    let mut all = Vec::new();
    let mut add = |location, printed: &str, found: String, evidence| {
        all.push(Claim { location, printed: printed.to_string(), found, evidence });
    };
    add(
        "Abstract",
        "a variety of board states was measured",
        "one tensor of uniform random numbers for all runs".into(),
        "repository: torch::rand in semi_compare.cc, semi_compare_bn_relu.cc, semi_compare_model.cc",
    );
    add(
        "Abstract",
        "inference is consistently faster, by up to 4.9 times for some layers",
        format!(
            "{} is the input kernel, a convolution alone. Against the GPU the layers of section IV.A have {}, {} and \
             {}, and the model, which is the inference, {}",
            input.vs_gpu, input_layer.vs_gpu, torso_layer.vs_gpu, output_layer.vs_gpu, model.vs_gpu
        ),
        "item table1; test numbers_of_the_paper",
    );
    add(
        "III.A",
        "320 values are 20 rows of 32",
        format!("320 = {} · 32, and the array is [10][33]", 320 / 32),
        "test numbers_of_the_paper",
    );
    add(
        "III.A",
        "padding to 33 keeps the threads of a warp in different banks, since gcd(33, 32) = 1",
        "the flat array has no conflicts, and the padded one has: lanes that read across a row's end meet".into(),
        "item banks; test padding_the_observation_makes_conflicts_and_none_are_there_without",
    );
    add(
        "III.A",
        "no two threads of a warp meet in a bank, all reads take a cycle",
        "the repository's kernel V3 takes two turns a read, V1 and V2 eight; its division by 33 makes \
         the padded array flat"
            .into(),
        "item banks; tests the_repositorys_input_kernels_read_one_bank_by_several_lanes, \
         the_repositorys_padded_index_is_the_flat_one",
    );
    add(
        "III.A",
        "45 weights need no padding since 45 is not a multiple of 32",
        "all lanes read one weight at a time, which is a broadcast for any length".into(),
        "item banks; test padding_the_observation_makes_conflicts_and_none_are_there_without",
    );
    add(
        "III.A",
        "45 FLOPs a pixel",
        format!("45 multiplications and as many additions: {}", 2 * 45),
        "test numbers_of_the_paper",
    );
    add(
        "III.A",
        OF_320_THREADS,
        "how their sums come together is not said; item kernels has three ways, two of them with and without padding, each over the same with 64 threads"
            .into(),
        "item kernels",
    );
    add(
        "III.B",
        "an 8 × 8 channel takes 128 bytes",
        format!("{} bytes in f32", 8 * 8 * 4),
        "test numbers_of_the_paper",
    );
    add(
        "III.B",
        "a channel a bank: no conflicts",
        "none when tiles are read; the repository fills them 32 values of a channel at a time, 32 turns a write".into(),
        "item banks; test the_repositorys_tiles_are_filled_with_31_conflicts_a_write",
    );
    add(
        "III.B, III.C, Figure 5",
        "sums in shared memory are slow by bank conflicts",
        "all lanes add to one address, and an addition of floats there is a loop that a lane leaves at a \
         time. Whether that makes a kernel slower than sums in global memory is a matter of kernel, threads, \
         tiles and device: items figure5 and kernels say where it does. No revision of the repository has this \
         kernel, and the files of Figure 5 are named V3, which reads the boards from global memory"
            .into(),
        "items banks, figure5, kernels; test sums_in_shared_memory_take_32_turns_an_addition",
    );
    add(
        "III.C",
        "three kernel calls for three output channels",
        "three blocks: a launch has a block an output channel, two launches for both heads; the program \
         that was measured has the policy's two channels only"
            .into(),
        "item fused counts launches; repository: output_conv_cuda.cu, model_par.h",
    );
    add(
        "II.C",
        "the layers compute OpenSpiel's convolutions",
        "they leave the bias out, which OpenSpiel's convolutions have".into(),
        "items errors, games; test leaving_out_the_bias_moves_the_reference_logits_by_two",
    );
    add(
        "IV.A",
        "the semi-model stands for AlphaZero's network",
        "one residual block five times, no value head, no linear layer, no softmax".into(),
        "repository: model.h, model_par.h",
    );
    add(
        "IV.A, Figure 3",
        "the layers are those of inference",
        "the norms of the layers' runs are in training mode, with the batch's own statistics; those of the model are not. \
         Ours, and the library's here, are those of inference"
            .into(),
        "repository: semi_compare_bn_relu.cc never calls eval(), semi_compare_model.cc does",
    );
    add(
        "IV.A, IV.B",
        "results are verified against the library",
        "with all weights 0.01 and no bias, where no mistake in an index changes a number".into(),
        "item mistakes; test equal_weights_cannot_tell_that_a_weight_is_read_from_another_index",
    );
    add(
        "IV.B",
        "atol = 1e-5 and rtol = 1e-8",
        "the repository passes 1e-5 as rtol and leaves atol at 1e-8".into(),
        "item errors; test the_papers_and_the_repositorys_tolerances_judge_otherwise",
    );
    add(
        "IV.B",
        "a tolerance scaled by |y| protects small and large values alike",
        format!(
            "rtol = {:.0e} is less than half a unit in the last place of f32, up to {:.0e} of a value, and scales next to nothing: from \
             |y| = 128 on one unit, {:.1e} there, is beyond the bound, so that a right sum in another order is refused. Below \
             {:.0e} a value may be wrong altogether",
            ATOL_RTOL.1,
            f32::EPSILON / 2.0,
            128.0 * f32::EPSILON,
            ATOL_RTOL.0
        ),
        "item errors, the table of all weights 0.01; test from_128_on_a_unit_in_the_last_place_is_beyond_the_papers_bound",
    );
    add(
        "IV.B",
        "a mean error of 10^4 is acceptable for one convolution",
        format!(
            "10^-4 must be meant; a minus sign may be missing in the machine-read text alone. A mean of 10^-4 is \
             {:.0} times the absolute tolerance of the other check",
            MEAN_ERROR / ATOL_RTOL.0
        ),
        "test numbers_of_the_paper",
    );
    add(
        "IV.B",
        "batch norm can make a mean error twice as large or more",
        format!(
            "it multiplies it by the mean of |weight| / deviation, which the network decides: item growth has it for \
             each norm. In the repository's files the torso's mean error, GPU to kernels, falls from {:.2e} alone to \
             {:.2e} behind norm and rectifier, and those of input and output, {} and {} alone, are {:.0e} and {:.0e}",
            KERNEL_MEAN_ERRORS[1][2],
            LAYER_MEAN_ERRORS[1][2],
            KERNEL_MEAN_ERRORS[0][2],
            KERNEL_MEAN_ERRORS[2][2],
            LAYER_MEAN_ERRORS[0][2],
            LAYER_MEAN_ERRORS[2][2]
        ),
        "item growth; tests batch_norm_multiplies_an_error_by_weight_over_deviation, mean_errors_of_the_repositorys_layers",
    );
    add(
        "IV.B",
        "mean errors after each block are monitored",
        format!(
            "none is printed; the repository's files have those of convolutions and layers alone, and {:.0}, {:.0} and {:.0} for the model: rounding of \
             the numbers that weights of 0.01 without a norm lead to",
            MODEL_MEAN_ERRORS[0], MODEL_MEAN_ERRORS[1], MODEL_MEAN_ERRORS[2]
        ),
        "item errors; test equal_weights_without_norms_make_large_errors_of_rounding",
    );
    add(
        "IV.C",
        "the input kernel is 4.9 times faster on CPU and 12.7 on GPU",
        format!("Table I: {} against the GPU, {} against the CPU", input.vs_gpu, input.vs_cpu),
        "item table1; test numbers_of_the_paper",
    );
    add(
        "Table I",
        "input kernel, 12.739 against the CPU",
        format!(
            "a mean over outliers: medians of the same runs give {:.3} against the CPU and {:.3} against the GPU",
            medians[0] / medians[2],
            medians[1] / medians[2]
        ),
        "item table1; test medians_of_the_published_runs",
    );
    add(
        "IV.C",
        "the torso's speed-up rises from 1, or from below 1, to 1.4 in a layer",
        format!(
            "Table I: from {} to {} against the GPU, from {} to {} against the CPU; 1.4 is the quotient of the latter. \
             Before the 1 the machine-read text has a sign that cannot be read",
            torso.vs_gpu, torso_layer.vs_gpu, torso.vs_cpu, torso_layer.vs_cpu
        ),
        "item table1; test numbers_of_the_paper",
    );
    add(
        "IV.C",
        "only the torso's speed-up rises in a layer",
        format!("the output's does too against the CPU: from {} to {}", output.vs_cpu, output_layer.vs_cpu),
        "test numbers_of_the_paper",
    );
    add(
        "IV.C",
        "the library is faster on the CPU than on the GPU for kernels and layers",
        format!(
            "by the means not in {} of {n_parts}: {}; by the medians not in {}: {}",
            by_means.len(),
            by_means.join(", "),
            by_medians.len(),
            by_medians.join(", ")
        ),
        "test where_the_library_is_faster_on_the_gpu",
    );
    add(
        "IV.C",
        "copies between CPU and GPU dominate the library's time",
        "input and weights are on the GPU before the clock starts".into(),
        "repository: semi_compare.cc, the events around each run; item table1 has times with copies",
    );
    add(
        "IV.C",
        "copies to the GPU are why the first run takes longer there than on the CPU",
        "input and weights are on the GPU before the clock starts, in the first run too".into(),
        "repository: semi_compare.cc, semi_compare_bn_relu.cc, semi_compare_model.cc, the events around each run",
    );
    add(
        "IV.C",
        "kernels and layers are faster than the library or similar",
        format!("torso and output kernel have {} and {} against the CPU", torso.vs_cpu, output.vs_cpu),
        "test numbers_of_the_paper",
    );
    add(
        "IV.C",
        "the torso kernel performs worst",
        format!("against the GPU; against the CPU the output kernel does, {} to {}", output.vs_cpu, torso.vs_cpu),
        "test numbers_of_the_paper",
    );
    add(
        "IV.C",
        "in the first run the library on the GPU takes significantly longer than the kernels",
        format!("it takes less in {} of the files: {}", shorter.len(), shorter.join("; ")),
        "repository: the first runs of output/cnn_out_execution_times.txt and its V3; \
         test where_the_librarys_first_run_on_the_gpu_is_the_shorter_one",
    );
    add(
        "IV.C",
        "cuDNN tunes its algorithm by default",
        "libtorch does so in benchmark mode, which is off unless it is asked for".into(),
        "PyTorch's documentation of torch.backends.cudnn.benchmark; repository: no call sets it",
    );
    add(
        "IV.D, Figure 6",
        "the player aborts since rounding errors accumulate over thousands of evaluations",
        "an evaluation begins with the position and keeps nothing: a thousand games end by the rules, \
         and the answers for a position do not change"
            .into(),
        "item games; tests a_thousand_games_by_a_network_end_by_the_rules, \
         an_evaluation_leaves_nothing_behind",
    );
    add(
        "IV.D, Figure 6",
        "the kernels are integrated",
        "the input layer throws for any batch but one, the other layers compute the first position only".into(),
        "repository: input_conv_cuda.cu, torso_conv_cuda.cu, output_conv_cuda.cu; item batch; \
         test a_batch_as_derived_is_refused_or_answered_for_its_first_position",
    );
    add(
        "V",
        "only shared and main memory are used, and the second-level cache is still to be used",
        "every access to main memory goes through that cache, which holds what is read again without being asked to. What a \
         program can add is a window of data that is to stay: item cache has the times without and with it"
            .into(),
        "NVIDIA's CUDA C++ Programming Guide, device memory L2 access management; item cache",
    );
    all
}
