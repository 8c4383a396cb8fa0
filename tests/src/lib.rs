//! The property suite of warpplay: kernels against `cpu-ref`, on every back end that is there.
//!
//! | to find out | read |
//! | --- | --- |
//! | on which back ends a test runs | [`backends`]: `simt` always, `cuda` where a driver is; `WARPPLAY_REQUIRE_GPU=1` demands it |
//! | which positions, sizes and options are tried | [`strategies`] |
//! | how trees are grown kernel by kernel and compared node by node | [`forest`] |
//! | what must hold of any tree and of any report | [`invariants`] |
//! | how numbers are compared | [`tolerance`] |
//! | where the random numbers of the tests' own choices come from | [`random`] |
//! | how the program `warpplay` is found and built, and how programs are started, watched and ended | [`programs`], `running` (on Unix) |
//! | what is built of each family where all must say the same, and how much memory this process has | [`families`], [`resident`] |
//! | what a command with a journal promises | [`journals`] |
//! | where the tests' own files are written | [`folder`] |
//! | how numpy writes an array | [`npy`] |
//! | how a page is opened, clicked and read in a browser without a window | `browser` (on Unix); `WARPPLAY_REQUIRE_BROWSER=1` demands one |
//! | what other programs computed for CFR | [`cfr`] |
//! | which checkers positions the network's outputs are known of | [`azero`] |
//! | which images perceptrons are trained on | [`mlp`] |
//! | which games shogi evaluations are learnt from | [`learning`] |
//! | how the shogi paper's objective is computed from differences alone | [`shogi_bonanza`] |
//! | how a test says that it leaves something out | [`skipped`] |
//! | where data of other people's programs lies | [`golden`]: `tests/golden`, and the large sets at `WARPPLAY_SHARED` |
//!
//! | file in `tests/tests` | what could go wrong there |
//! | --- | --- |
//! | `device/layer.rs` | an instruction, or its host meaning, is not what it should be |
//! | `device/products.rs` | a product of a warpgroup, or of its warps in its place, is not the exact one |
//! | `device/rng.rs` | streams overlap, or a bounded draw leaves its range |
//! | `device/sums.rs` | an address is computed from a register's later value, a fault of `ptxas` |
//! | `mcts/agree.rs` | two back ends, variants, engines or block sizes find different things |
//! | `mcts/rules.rs` | a game's bitboards and its plain arrays disagree |
//! | `mcts/faults.rs` | one of the original's faults comes back; memory or depth runs out |
//! | `mcts/reports.rs` | a report is inconsistent, cannot be stored, or cannot be repeated |
//! | `mcts/old_files.rs` | what version 0.1 wrote is not read, or repeats to something else |
//! | `mcts/strength.rs` | more playouts do not help; known best moves are not found |
//! | `mlp/reference.rs` | the plain perceptrons differ from other people's programs, or the parallel from the sequential |
//! | `mlp/layers.rs` | training layer by layer differs from the plain program, in some shape, optimiser or precision, or does not go on where it stopped |
//! | `mlp/epoch.rs` | training a whole epoch in one launch differs from the plain program, does not go on where it stopped, or misses the reference curve |
//! | `mlp/same_bits.rs` | a training has other bits in a second run, or on a second GPU of a kind |
//! | `mlp/sweeps.rs` | a sweep that is stopped leaves a journal that does not go on, or a model that goes wrong in its last update counts as good |
//! | `mlp/epoch_wide.rs` | the engine `epoch` differs from the plain program with more units than a cluster has, loses a network of a sweep, or is chosen where `layers` is faster |
//! | `mlp/epoch_warps.rs` | the engine `epoch` differs from the plain program on devices without clusters, or is chosen there unasked |
//! | `mlp/epoch_deep.rs` | the engine `epoch` differs from the plain program with two hidden layers, does not go on where it stopped, loses a network of a sweep, or takes what it cannot hold |
//! | `mlp/epoch_short.rs` | the engine `epoch` in `tf32`, `bf16` or `f16` is less exact than one half of 11 bits, or another engine trains |
//! | `mlp/scales.rs` | the engine `epoch` is not single precision for networks of other magnitudes, or does not leave what it cannot hold to `layers` |
//! | `mlp/scaling.rs` | features are standardised wrongly, a network forgets in its file with what or which loss it was trained with, or a wrong scaling is accepted |
//! | `mlp/old_files.rs` | what version 0.1 wrote is not read, or does not go on with the same bits |
//! | `mlp/memory.rs` | a network that does not fit is not refused before anything is allocated |
//! | `mlp/short_formats.rs` | training in tf32 or bf16 leaves its bounds on real batches |
//! | `mlp/smoothing.rs` | training with smoothed labels differs from the plain program, evaluations are smoothed too, or what is resumed is not |
//! | `mlp/pool.rs` | a maximum of 2 × 2 pixels drops what is no number, or its gradient goes to another pixel |
//! | `mlp/features.rs` | training on features in f32 differs from the plain program, is not resumed, or a wrong set, file or scaling of them is accepted |
//! | `mlp/regression.rs` | gradients of a regression's losses are wrong, an engine differs from the plain program, a function is not learnt at the rate of theory, or wrong targets are accepted |
//! | `mlp/activations.rs` | training with another activation than the rectifier differs from the plain program, or from PyTorch's formulas, or a file forgets it |
//! | `mlp/dropout.rs` | training with dropout differs from the plain program, does not go on where it stopped with the same units, or evaluations drop units |
//! | `mlp/layer_norm.rs` | training with layer norm differs from the plain program, or from PyTorch's formula, does not go on where it stopped, or a file loses gains and shifts |
//! | `mlp/batch_norm.rs` | training with batch norm differs from the plain program, or from PyTorch's formula, has other bits a second time, does not go on where it stopped, or a file loses running moments |
//! | `mlp/clipping.rs` | training with clipped gradients differs from the plain program, does not go on where it stopped, or goes on behind a norm that is no number |
//! | `mlp/conv.rs` | gradients of the plain network of convolutions are not those of differences, those of kernels are not the plain ones, a second training has other bits, a file is not read or a wrong one is, a training that diverged is not restored, or MNIST is not learnt to 99 % |
//! | `mlp/conv_classifier.rs` | a network of convolutions in use differs from its trainer, or a training that is stopped does not go on with the same bits |
//! | `mlp/files.rs` | a data set, weight file, image or checkpoint is read wrongly, or a damaged one is accepted |
//! | `mlp/data_files.rs` | a CSV or `.npy` file is read wrongly, or a damaged one is accepted |
//! | `mlp/cli.rs` | the commands of `mlp` that others rely on have changed |
//! | `mlp/cli_conv.rs` | the commands of networks of convolutions, their JSON or their errors have changed |
//! | `mlp/cli_data.rs` | the same samples in IDX, `.npy` and CSV files do not give the same training |
//! | `azero/reference.rs` | the plain network, or the CPU back end that uses it, differs from the reference vectors |
//! | `azero/evaluator.rs` | the evaluator breaks a promise where kernels run: memory, streams, errors, bounds of a precision |
//! | `papers/checkers_conv.rs` | a published kernel of the network, or the network made of them, differs from the plain functions |
//! | `azero/fused.rs` | the network in one launch is beyond the bounds of a precision on the reference network |
//! | `azero/precision.rs` | single precision by `fused` is beyond its bounds on other networks, or numbers that are too large are not evaluated again |
//! | `azero/layers.rs` | the network layer by layer differs from the plain one in some shape, precision or size of batch, or two of its kernels differ |
//! | `azero/train.rs` | a gradient or a step of the training differs from the plain program, or does not go on where it stopped |
//! | `azero/sum_filters.rs` | the parts of a filters' gradient are not all added up |
//! | `azero/train_short.rs` | a training with convolutions in tf32 or bf16 has other gradients than the plain program with operands rounded likewise, other bits in a second run, on a second GPU or from a checkpoint, or runs where there are no kernels |
//! | `azero/endurance.rs` | a million moves of self-play take more and more memory, or end with an error |
//! | `azero/learn.rs` | recorded games are read wrongly; a run of learning does not go on where it stopped |
//! | `azero/files.rs` | a network's file is read wrongly, or a damaged one is accepted |
//! | `azero/rules.rs` | checkers, its observations or its move counts are not OpenSpiel's, or a wrong record is accepted |
//! | `azero/player.rs` | the search differs from the plain one, between back ends or alone and in a batch; a match or its records are wrong |
//! | `azero/memory.rs` | what is told of memory before it is taken is not what is taken |
//! | `azero/old_files.rs` | what version 0.1 wrote is not read, or what goes on from it has other bits |
//! | `azero/cli.rs` | the commands `warpplay azero` that others rely on have changed |
//! | `cfr/games.rs` | a game file is read wrongly, or a bad one accepted; betting, ranking, counts or deals are not those of the reference |
//! | `cfr/reference.rs` | the plain regret minimisation differs from other people's programs |
//! | `cfr/explicit.rs`, `cfr/small.rs`, `cfr/street.rs`, `cfr/subset.rs` | a form of a game differs from the reference or from the plain program |
//! | `cfr/vector.rs`, `cfr/spot.rs` | boards, information sets or suits are counted wrongly; a hold'em spot is read or solved wrongly |
//! | `cfr/solved.rs` | a saved spot loses strategies or bits, damage is not found, or a node is worth something else |
//! | `cfr/boards.rs` | boards are chosen or weighed wrongly, a run over many loses or repeats some, or a mean is none |
//! | `cfr/page.rs` | the page of a solved spot shows other numbers than `cfr query`, cannot be walked, or loads something |
//! | `cfr/practice.rs` | hands of a saved spot are dealt otherwise than they should, a decision is judged wrongly, or a hand history says something else |
//! | `cfr/preflop.rs` | hands are pushed or called otherwise than in the published charts, devices differ in it, or sampled deals miss a game before the flop whose answers are known |
//! | `cfr/menus.rs` | sizes of a menu are read or played otherwise than they should, or sampled solves with them go wrong |
//! | `cfr/local.rs` | the lower bound of exploitability is above the exact value, or finds nothing where there is much to gain |
//! | `cfr/targets.rs` | commands and builders have other defaults for spots, or the bench measures a solve elsewhere than it says |
//! | `cfr/walk.rs`, `papers/cfr_thesis.rs` | the batched walk, or the paper's programs, leave the sampled reference |
//! | `cfr/abstraction.rs` | strengths, histograms or clusters differ from the plain ones; a solve in buckets is another one, or loses them in a file |
//! | `cfr/merged.rs` | a solve in buckets with all deals, or traversals of the tree, differs from the game itself or between devices, or CFR-BR finds no better strategy |
//! | `cfr/subgame.rs` | a subgame solved anew is more exploitable than the blueprint by more than was measured, devices differ in it, or files lose it |
//! | `cfr/solver.rs`, `cfr/cli.rs` | a solve, checkpoint or strategy file loses something; the commands of `warpplay cfr` have changed |
//! | `cfr/ties.rs` | engines differ otherwise than `docs/exact-ties.md` says |
//! | `cfr/old_files.rs` | a file of version 0.1 is not read, or a solve does not go on from it with the same bits |
//! | `tile/convolution.rs`, `tile/numbers.rs` | a convolution of images differs from the plain program, in some board, filter, format or tile, an image alone from the same among others, or a wrong size is accepted |
//! | `tile/e4m3.rs` | numbers of 8 bits are not those of their bits, their products differ from the plain program or lose bits between slabs, or what they do not have is accepted |
//! | `tile/filter_gradient.rs` | the gradient of filters differs from the plain program, or a wrong size is accepted |
//! | `tile/moments.rs` | moments of the columns of C differ from those of its values in double precision, C has other bits than without them, or what they do not go with is taken |
//! | `tile/ladder.rs` | a step of the page on one product differs from the product in double precision, or takes a size that it should refuse |
//! | `tile/product.rs`, `tile/engines.rs`, `tile/case.rs` | a product of matrices differs from the plain program, in some shape, format or tile, or a wrong size is accepted |
//! | `tile/beside.rs` | a bench takes what is no answer for the time of another program, or does not say why there is none |
//! | `tile/rate.rs` | the peak of `mma.sync` is counted of other products than were made |
//! | `tile/update.rs` | parameters that a product updates differ from the plain update by the gradient that the same product makes, or their copy from them, or what an update does not go with is taken |
//! | `tile/rows.rs` | a product of gathered rows has other bits than one of rows copied together, bytes are other numbers, or what they do not go with is taken |
//! | `shogi/reference.rs` | the plain rules, objective or learning of shogi differ from other people's programs |
//! | `shogi/records.rs` | a record is read wrongly, or a bad one is not named; an encoding is not found |
//! | `shogi/dataset.rs` | legal moves, children or their differences are wrong; a data set on disk loses something, or a damaged one is opened |
//! | `shogi/dataset_folder.rs` | replacing a data set removes too much or too little, or a shard that another program damages is not noticed |
//! | `shogi/batch.rs` | mini-batches differ between back ends, shards or ranks, or from the plain program |
//! | `shogi/exchange.rs` | ranks add up wrong rows of the gradient, or exchange more than those that were touched |
//! | `shogi/sparse.rs` | loss, gradient or a step of any set of features differs from the plain program on some back end |
//! | `shogi/quiescence.rs` | a quiet line does not end where the plain search ends |
//! | `shogi/material.rs` | an engine of the fit leaves its trajectory or the other engines, does not go on where it stopped, or differences are counted wrongly |
//! | `shogi/learner.rs` | an optimiser does not learn; back ends, shards or ranks learn other bits; a course does not go on where it stopped; bad input is accepted |
//! | `papers/mnist_mlp.rs` | a published kernel of the perceptron, the program made of them, or its tables differ from the plain functions |
//! | `shogi/ranks.rs` | ranks do not add up, or a failed rank leaves the others waiting |
//! | `shogi/old_files.rs` | a file of version 0.1 is not read, or does not go on with the same bits |
//! | `shogi_mpi.rs` | the same between processes (feature `mpi`); a restart does not go on |
//! | `papers/shogi_bonanza.rs` | a published kernel differs from the plain program, the paper's learning depends on how it is divided, its commands have changed |
//! | `papers/outputs.rs` | `warpplay papers` writes over what it reads, loses results, or does not name a damaged file |
//! | `papers/slots.rs` | a page of a publication lacks the slot of an item, or shows one that is empty |
//! | `papers/mctsnc.rs` | the program of the tree search's paper has changed |
//! | `shogi/cli.rs` | the commands of `warpplay shogi` have changed: their JSON, exit codes, errors, data sets, checkpoints |
//! | `device/ptx.rs` | the kernels' PTX is not what the host will launch (no GPU needed) |
//! | `device/errors.rs`, `lost_device.rs`, `full_device.rs` | an error is missing, or says nothing useful |
//! | `device/driver.rs` | a driver that is too old, does not start or lacks an entry is not named |
//! | `kernels/tests/compile_fail.rs` | a wrong launch or kernel compiles |
//! | `mcts/cli.rs` | the command line that others rely on has changed |
//! | `soak` | a program that is killed leaves a damaged file or stands in its own way; a damaged file makes a reader panic, hang or take all memory; two writers spoil a file |
//! | `commands/options.rs` | a page of options is not what the commands say of themselves |
//! | `commands/picture.rs` | the README's picture is not what its command draws |
//! | `commands.rs` | a command line of an older version has no working new form in `docs/commands` |
//! | `beside_cust.rs` | the library and Rust-CUDA's `cust` do not share a context, a stream or memory |
//! | `outside_crate.rs` | a crate outside this workspace cannot use the library |
//! | `structure.rs` | files or folders of a crate import each other in a circle; a crate knows one that it must not; a page names what is not there; this table lacks a file |
//! | `module_pages.rs` | the page of a public module of the library does not say what it is for, or lacks an example that runs or a table of its types |
//!
//! Kernels and games that only the suite runs are in `tests/kernels`. Seeds of failures are kept in `tests/regressions`.

#[cfg(feature = "azero")]
pub mod azero;
pub mod backends;
#[cfg(unix)]
pub mod browser;
#[cfg(feature = "cfr")]
pub mod cfr;
pub mod families;
pub mod folder;
#[cfg(feature = "mcts")]
pub mod forest;
pub mod golden;
#[cfg(feature = "mcts")]
pub mod invariants;
pub mod journals;
#[cfg(feature = "shogi")]
pub mod learning;
#[cfg(feature = "mlp")]
pub mod mlp;
pub mod npy;
pub mod programs;
pub mod random;
pub mod resident;
#[cfg(feature = "mlp")]
pub mod rounding;
#[cfg(unix)]
pub mod running;
#[cfg(feature = "papers")]
pub mod shogi_bonanza;
pub mod skipped;
#[cfg(feature = "mcts")]
pub mod strategies;
pub mod tolerance;

/// What a property returns: an error of the library fails the test with its text.
pub type Checked = Result<(), warpplay::Error>;
