//! The kernels' PTX, without a GPU: what the host will launch is what was compiled.

use std::collections::BTreeMap;
use std::mem::offset_of;

use warpplay::PtxSet;
use warpplay::mcts::{Checkers, Connect4, Connect4Large, Gomoku, GomokuFree, GomokuLarge, KernelSet};
use warpplay_example_hex::Hex;
use warpplay_example_lights_out::LightsOut;
use warpplay_gpu::azero::search::SearchKernels;
use warpplay_gpu::cfr::beats::MAX_PLAYERS;
use warpplay_gpu::kernel::KernelInfo;
use warpplay_gpu::mlp::{epoch, layers};
use warpplay_gpu::ptx::embedded::{
    AZERO_FUSED, AZERO_LAYERS, AZERO_SEARCH, AZERO_TRAIN, CFR_ABSTRACTION, CFR_EXPLICIT, CFR_SMALL, CFR_STREET,
    CFR_SUBSET, CFR_WALK, MLP_EPOCH, MLP_EPOCH_MMA, MLP_LAYERS, SHOGI_MATERIAL, SHOGI_PERSISTENT, SHOGI_SPARSE,
    TILE_MMA, TILE_PLAIN, TILE_WGMMA,
};
use warpplay_gpu::{azero, cfr, shogi, tile};
use warpplay_gpu_builder::{PtxEntry, assemble, find_ptxas, parse_entries, ptx_required, stale_sums};
use warpplay_papers::cfr_thesis::kernels::sequence::{Deal, Phase};
use warpplay_papers::mnist_mlp;
use warpplay_test_kernels::games::{Hashed, Thin, Wide};
use warpplay_test_kernels::ptx as test_sets;
use warpplay_tests::folder::Folder;
use warpplay_tests::skipped::skipped;

/// The kernels of one game, or of one way to train, and their module.
struct Family {
    kernels: Vec<KernelInfo>,
    set: &'static PtxSet,
}

fn family<G: KernelSet>() -> Family {
    Family { kernels: G::kernels(), set: G::PTX }
}

fn families() -> Vec<Family> {
    vec![
        family::<Connect4>(),
        family::<Connect4Large>(),
        family::<Gomoku>(),
        family::<GomokuFree>(),
        family::<GomokuLarge>(),
        family::<Checkers>(),
        family::<Hex>(),
        family::<LightsOut>(),
        family::<Hashed>(),
        family::<Thin>(),
        family::<Wide>(),
        Family { kernels: mnist_mlp::kernels::kernels(), set: &warpplay_papers::ptx::MNIST_MLP },
        Family { kernels: layers::kernels(), set: &MLP_LAYERS },
        Family { kernels: epoch::KERNELS.to_vec(), set: &MLP_EPOCH },
        Family { kernels: epoch::MMA_KERNELS.to_vec(), set: &MLP_EPOCH_MMA },
        Family {
            kernels: warpplay_papers::checkers_conv::kernels::kernels(),
            set: &warpplay_papers::ptx::CHECKERS_CONV,
        },
        Family { kernels: azero::layers::kernels(), set: &AZERO_LAYERS },
        Family { kernels: azero::fused::kernels(), set: &AZERO_FUSED },
        Family { kernels: <Checkers as SearchKernels>::kernels(), set: &AZERO_SEARCH },
        Family { kernels: azero::train::kernels(), set: &AZERO_TRAIN },
        Family { kernels: cfr::small::kernels(), set: &CFR_SMALL },
        Family { kernels: cfr::street::kernels(), set: &CFR_STREET },
        Family { kernels: cfr::explicit::kernels(), set: &CFR_EXPLICIT },
        Family { kernels: cfr::subset::kernels(), set: &CFR_SUBSET },
        Family { kernels: warpplay_papers::cfr_thesis::kernels::kernels(), set: &warpplay_papers::ptx::CFR_THESIS },
        Family { kernels: cfr::walk::kernels(), set: &CFR_WALK },
        Family { kernels: cfr::abstraction::kernels(), set: &CFR_ABSTRACTION },
        Family {
            kernels: warpplay_papers::shogi_bonanza::kernels::kernels(),
            set: &warpplay_papers::ptx::SHOGI_BONANZA,
        },
        Family { kernels: shogi::persistent::kernels(), set: &SHOGI_PERSISTENT },
        Family { kernels: shogi::material::kernels(), set: &SHOGI_MATERIAL },
        Family { kernels: shogi::sparse::kernels(), set: &SHOGI_SPARSE },
        Family { kernels: tile::kernels(), set: &TILE_WGMMA },
        Family { kernels: tile::mma::kernels(), set: &TILE_MMA },
        Family { kernels: tile::plain::kernels(), set: &TILE_PLAIN },
    ]
}

/// Whether a module has PTX; where it has none for want of a compiler, that is said, and with `WARPPLAY_REQUIRE_PTX=1` it fails.
pub(crate) fn is_there(set: &PtxSet) -> bool {
    if let Some(why) = set.missing {
        assert!(!ptx_required(), "WARPPLAY_REQUIRE_PTX=1, but module {} has no PTX: {why}", set.name);
        skipped(format_args!("module {} has no PTX: {why}", set.name));
        return false;
    }
    assert!(!set.images.is_empty(), "module {} is neither missing nor there", set.name);
    true
}

/// Every image of every module, with its entries by name.
fn for_each_image(mut body: impl FnMut(&Family, &str, &str, &BTreeMap<String, PtxEntry>)) {
    for family in families() {
        if !is_there(family.set) {
            continue;
        }
        for image in family.set.images {
            let entries = parse_entries(&image.text().expect("PTX"))
                .unwrap_or_else(|error| panic!("{}: {error}", family.set.name));
            let entries = entries.into_iter().map(|entry| (entry.name.clone(), entry)).collect();
            body(&family, image.arch, &image.text().expect("PTX"), &entries);
        }
    }
}

#[test]
fn every_kernel_is_an_entry_with_the_parameters_of_its_descriptor() {
    let mut n = 0;
    for_each_image(|family, arch, _, entries| {
        for kernel in &family.kernels {
            let context = format!("{} in {} for {arch}", kernel.name, family.set.name);
            let entry = entries.get(kernel.name).unwrap_or_else(|| panic!("there is no {context}"));
            let described: Vec<(usize, usize)> = kernel.params.iter().map(|param| (param.size, param.align)).collect();
            let sizes = |params: &[(usize, usize)]| params.iter().map(|param| param.0).collect::<Vec<_>>();
            assert_eq!(sizes(&entry.params), sizes(&described), "sizes of the parameters of {context}");
            for (compiled, described) in entry.params.iter().zip(&described) {
                assert!(
                    compiled.1 >= described.1,
                    "alignment of a parameter of {context}: {compiled:?}, described {described:?}"
                );
            }
            n += 1;
        }
    });
    println!("{n} entries");
}

#[test]
fn the_trees_are_handed_over_by_value() {
    for_each_image(|family, arch, _, entries| {
        if family.kernels.iter().all(|kernel| !kernel.name.starts_with("mcts_")) {
            return;
        }
        let select =
            family.kernels.iter().find(|kernel| kernel.name.starts_with("mcts_select_")).expect("a search selects");
        assert_eq!(select.params[0].size, 88, "the structure of device arrays");
        assert_eq!(entries[select.name].params, [(88, 8), (4, 4), (4, 4)], "{} for {arch}", select.name);
    });
}

#[test]
fn the_lists_of_kernels_have_no_name_twice_and_leave_no_entry_out() {
    let families = families();
    let mut names: Vec<_> =
        families.iter().flat_map(|family| family.kernels.iter().map(|kernel| kernel.name)).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    for_each_image(|family, arch, _, entries| {
        for name in entries.keys() {
            assert!(
                names.binary_search(&name.as_str()).is_ok(),
                "{name} in {} for {arch} is in no list",
                family.set.name
            );
        }
    });
}

#[test]
fn a_users_module_holds_the_users_game_alone() {
    for (set, suffix) in [(Hex::PTX, "_hex"), (LightsOut::PTX, "_lights_out")] {
        if !is_there(set) {
            continue;
        }
        for image in set.images {
            for entry in parse_entries(&image.text().expect("PTX")).expect("PTX") {
                assert!(entry.name.ends_with(suffix), "{} in {}", entry.name, set.name);
            }
        }
    }
}

#[test]
fn each_module_is_built_for_the_baseline_first() {
    for family in families() {
        if is_there(family.set) {
            let baseline = match family.set.name {
                // Warpgroup products are Hopper's alone.
                "mlp_epoch" | "azero_fused" | "tile_wgmma" => "sm_90a",
                "mlp_epoch_mma" | "tile_mma" => "sm_80",
                _ => "sm_75",
            };
            assert_eq!(family.set.images[0].arch, baseline, "{}", family.set.name);
            for image in family.set.images {
                assert!(image.text().expect("PTX").contains(&format!(".target {}", image.arch)), "{}", family.set.name);
            }
        }
    }
    let kernels = [&test_sets::LAYER, &test_sets::CLUSTER, &test_sets::SMALL];
    assert!(kernels.into_iter().all(|set| !is_there(set) || !set.images.is_empty()));
}

#[test]
fn no_address_is_a_plain_sum_whose_base_moves_on() {
    for_each_image(|family, arch, ptx, _| {
        assert_eq!(stale_sums(ptx).expect("PTX"), [], "{} for {arch}", family.set.name);
    });
}

/// A warpgroup that asks for more registers than a block has been launched with waits for ever.
#[test]
fn kernels_that_move_registers_are_launched_with_enough() {
    // Towers of split numbers; products of two warpgroups.
    for (set, registers, n) in
        [(&AZERO_FUSED, azero::fused::tower::LAUNCH_REGISTERS, 2), (&TILE_WGMMA, tile::wgmma::LAUNCH_REGISTERS, 56)]
    {
        if !is_there(set) {
            continue;
        }
        match find_ptxas() {
            Ok(_) => {}
            Err(error) if ptx_required() => panic!("{error}"),
            Err(error) => return skipped(error),
        }
        let (folder, mut found) = (Folder::new(), 0);
        for image in set.images {
            let text = image.text().expect("PTX");
            if !text.contains("setmaxnreg.inc") {
                continue;
            }
            let path = folder.write("image.ptx", text.as_bytes());
            for kernel in assemble(&path, image.arch).expect("assembled") {
                if body(&text, &kernel.name).contains("setmaxnreg.inc") {
                    assert_eq!(kernel.registers, registers, "{} for {}", kernel.name, image.arch);
                    found += 1;
                }
            }
        }
        assert_eq!(found, n, "kernels of {}", set.name);
    }
}

/// What stands for the paper's texture: every kernel has one load of read-only data, that of its sequence from the list, and takes it where the option says so. A second one would be
/// a load that the compiler has turned into such, as it may be the ordinary one that it is measured against.
#[test]
fn the_kernels_of_the_thesis_have_one_load_of_read_only_data() {
    for_each_image(|family, arch, ptx, _| {
        for kernel in family.kernels.iter().filter(|kernel| kernel.name.starts_with("cfr_thesis_")) {
            let loads: Vec<&str> = body(ptx, kernel.name)
                .split_whitespace()
                .filter(|word| word.starts_with("ld.") && word.contains(".nc"))
                .collect();
            assert_eq!(loads, ["ld.global.nc.b32"], "{} for {arch}", kernel.name);
        }
    });
}

/// Rows and utilities are kept where a kernel's name says: in registers the first phase needs no shared memory, the second adds up utilities there.
#[test]
fn the_kernels_of_the_thesis_use_shared_memory_as_their_names_say() {
    for_each_image(|family, arch, ptx, _| {
        for kernel in family.kernels.iter().filter(|kernel| kernel.name.starts_with("cfr_thesis_")) {
            let uses = |operation: &str| body(ptx, kernel.name).contains(operation);
            let expected = kernel.name.contains("_shared_") || kernel.name.contains("_up_registers_");
            let found = ["ld.shared.", "st.shared."].map(uses);
            assert_eq!(found, [expected; 2], "{} for {arch}", kernel.name);
        }
    });
}

/// What stands for constant memory: each word of the deal is read from the parameters of the launch, buckets in both phases and who beats whom in the second, and
/// no copy of it is made in local memory.
#[test]
fn the_kernels_of_the_thesis_read_their_deal_from_parameters() {
    let (first, buckets) = (offset_of!(Phase<f32>, deal), size_of::<[u32; MAX_PLAYERS]>());
    for_each_image(|family, arch, ptx, _| {
        for kernel in family.kernels.iter().filter(|kernel| kernel.name.starts_with("cfr_thesis_")) {
            let text = body(ptx, kernel.name);
            let read: Vec<usize> = text.lines().filter_map(parameter_bytes).flatten().collect();
            let end = first + if kernel.name.contains("_up_") { size_of::<Deal>() } else { buckets };
            let left_out: Vec<usize> = (first..end).filter(|byte| !read.contains(byte)).collect();
            assert!(left_out.is_empty(), "{} for {arch}: bytes {left_out:?} of the parameter", kernel.name);
            assert!(!text.contains(".local"), "{} for {arch}", kernel.name);
        }
    });
}

/// The bytes of its kernel's parameter that a line of PTX loads, as `ld.param.b64 %rd1, [NAME_param_0+8];`.
fn parameter_bytes(line: &str) -> Option<std::ops::Range<usize>> {
    let kind = line.trim_start().strip_prefix("ld.param.")?.split_whitespace().next()?;
    let (values, kind) = match kind.split_once('.') {
        Some((values, kind)) => (values.strip_prefix('v')?.parse().ok()?, kind),
        None => (1, kind),
    };
    let bits: usize = kind.get(1..)?.parse().ok()?;
    let address = line.split_once("_param_0")?.1.split_once(']')?.0;
    let first = address.strip_prefix('+').unwrap_or("0").parse().ok()?;
    Some(first..first + values * bits / 8)
}

/// The text between an entry's braces.
pub(crate) fn body<'a>(ptx: &'a str, name: &str) -> &'a str {
    let start = ptx.find(&format!(".entry {name}(")).unwrap_or_else(|| panic!("there is no {name}"));
    let rest = &ptx[start..];
    let end = rest.find("\n}").unwrap_or(rest.len());
    &rest[..end]
}

/// Kernels that compute in double precision: their names say so, or they add up much, or need the range (the noise's powers).
fn is_double(name: &str) -> bool {
    let named = ["mlp_", "cfr_"].iter().any(|family| name.starts_with(family)) && name.ends_with("_f64");
    // Sums of utilities over iterations, and probabilities of what is drawn; sums of squares.
    let sums = [
        "cfr_small_",
        "cfr_street_last_",
        "cfr_street_solve_",
        "cfr_street_up_",
        "cfr_explicit_apply_",
        "cfr_explicit_profile_",
        "cfr_explicit_sample_",
        "cfr_explicit_update_",
        "cfr_subset_finish_",
        "cfr_thesis_up_",
        "mlp_layers_norm",
        "mlp_layers_clip",
    ];
    let walks = name.starts_with("cfr_walk_") && name != "cfr_walk_links";
    // The objective, whose differences are beyond single precision.
    let counts = [
        "shogi_material_count",
        "shogi_sparse_scale",
        "shogi_sparse_touched",
        "shogi_sparse_take_rows",
        "shogi_sparse_put_rows",
    ];
    let shogi = name.starts_with("shogi_") && !counts.contains(&name);
    named
        || walks
        || shogi
        || sums.iter().any(|prefix| name.starts_with(prefix))
        || name.starts_with("azero_search_noise_")
}

/// Kernels that fuse by [`fma`](warpplay_gpu::cuda::math::fma): matrix products in single precision, norms of bfloat16, and the update of the whole-epoch kernel.
fn is_fused(name: &str) -> bool {
    let train = ["forward_", "backward_", "gradient_"];
    let train =
        name.strip_prefix("azero_train_").is_some_and(|rest| train.iter().any(|product| rest.starts_with(product)));
    // Norms whose results are rounded to bfloat16.
    let norms = name.starts_with("azero_train_norm_") && name.ends_with("_short");
    // The convolutions on tensor cores have no products beside theirs, and packing none at all.
    let heads = ["azero_layers_heads_", "azero_layers_planes"].iter().any(|prefix| name.starts_with(prefix));
    let short = ["_tf32", "_bf16", "_fp16"].iter().any(|format| name.contains(format));
    let azero = heads || name.starts_with("azero_layers_conv_") && !short;
    // The heads in the kernels with all convolutions in one launch, and the products of the paper's kernels.
    let others = [
        "azero_fused_heads_1",
        "azero_fused_heads_16",
        "azero_fused_single_bf16",
        "azero_fused_single_fp16",
        "azero_fused_single_fp32",
        "azero_fused_single_tf32",
        "azero_fused_tower_bf16_1",
        "azero_fused_tower_bf16_2",
        "azero_fused_tower_bf16_4",
        "azero_fused_tower_fp16_1",
        "azero_fused_tower_fp16_2",
        "azero_fused_tower_fp16_4",
        "azero_fused_tower_fp32_1",
        "azero_fused_tower_fp32_2",
        "azero_fused_tower_tf32_1",
        "azero_fused_tower_tf32_2",
        "azero_fused_tower_tf32_4",
        "azero_paper_input_64_global_padded",
        "azero_paper_input_64_global_plain",
        "azero_paper_input_64_padded",
        "azero_paper_input_64_plain",
        "azero_paper_input_64_turned",
        "azero_paper_input_planes_atomic_padded",
        "azero_paper_input_planes_atomic_plain",
        "azero_paper_input_planes_global",
        "azero_paper_input_planes_padded",
        "azero_paper_input_planes_plain",
        "azero_paper_input_rows",
        "azero_paper_input_rows_global",
        "azero_paper_linear",
        "azero_paper_output_global",
        "azero_paper_output_repository_1",
        "azero_paper_output_repository_2",
        "azero_paper_output_shared",
        "azero_paper_output_squares",
        "azero_paper_torso_global_banked",
        "azero_paper_torso_global_plain",
        "azero_paper_torso_repository_1",
        "azero_paper_torso_repository_2",
        "azero_paper_torso_repository_3",
        "azero_paper_torso_shared_banked",
        "azero_paper_torso_shared_plain",
    ];
    // What updates its C has no bias to add, and rounds the optimiser's operations one by one; tensor cores multiply.
    let is_updated = name.ends_with("_update") && !name.starts_with("tile_plain_");
    train
        || norms
        || azero
        || others.contains(&name)
        || name.starts_with("tile_") && !is_updated
        || name.starts_with("mlp_epoch_")
        || name.starts_with("mlp_paper_matmul_") && !is_double(name)
}

#[test]
fn f32_arithmetic_stays_f32_and_is_not_fused() {
    // A double in a kernel is a conversion that somebody overlooked, 64 times slower on most cards; a fused multiply-add has other bits
    // than the CPU. Those that say so in their name or documentation do either, and nothing else.
    for_each_image(|family, arch, ptx, _| {
        for kernel in &family.kernels {
            let body = body(ptx, kernel.name);
            let (double, fused) = (body.contains(".f64"), body.contains("fma.rn.f32"));
            assert_eq!(double, is_double(kernel.name), "whether {} for {arch} computes with f64", kernel.name);
            assert_eq!(fused, is_fused(kernel.name), "whether {} for {arch} has a fused multiply-add", kernel.name);
            let approximate = ["mlp_epoch_", "azero_layers_heads_"].iter().any(|name| kernel.name.starts_with(name));
            assert_eq!(
                body.contains(".approx"),
                approximate,
                "whether {} for {arch} has approximate arithmetic",
                kernel.name
            );
        }
    });
}

/// Barriers in each kernel's PTX. More would be a barrier that the compiler copied into both arms of a branch (a hang or a race); fewer, a missing one.
/// `play` holds the playouts twice, once for a new child and once for a node that did not grow: all threads of a block take the same of the two.
const BARRIERS: &[(&str, usize)] = &[
    ("mcts_select_", 2),
    ("mcts_expand_1_", 3),
    ("mcts_expand_2_", 0),
    ("mcts_memorize_root_actions_", 0),
    ("mcts_playout_", 2),
    ("mcts_play_", 4),
    ("mcts_backup_1_", 2),
    ("mcts_backup_2_", 0),
    ("mcts_backup_ocp_", 0),
    ("mcts_reduce_over_trees_", 8),
    ("mcts_reduce_over_actions_", 1),
    ("mcts_step_ocp_", 6),
    ("mcts_step_acp_", 8),
    ("mcts_raw_", 8),
    ("mcts_reset_", 0),
    ("mlp_paper_matmul_tiled_", 2),
    ("mlp_paper_softmax_gradient_fused", 4),
    ("mlp_paper_softmax_gradient", 0),
    ("mlp_paper_softmax", 4),
    ("mlp_paper_loss_sum", 2),
    ("mlp_paper_loss_atomic", 0),
    ("mlp_paper_loss", 4),
    ("mlp_paper_column_sums_tree", 1),
    ("mlp_paper_column_sums_atomic_block", 2),
    ("mlp_paper_accuracy", 2),
    ("mlp_layers_order_scan", 2),
    ("mlp_layers_loss_gradient", 2),
    ("mlp_layers_regression_gradient", 2),
    ("mlp_layers_norm", 2),
    ("mlp_layers_layer_norm_parameters", 1),
    ("mlp_layers_batch_norm_apply", 0),
    ("mlp_layers_batch_norm", 4),
    ("mlp_layers_clip", 2),
    ("mlp_layers_advance", 2),
    ("mlp_layers_update", 3),
    // Two for each of the grid's eight barriers; each number of samples a block has the phases of its samples.
    ("mlp_epoch_train_deep", 44),
    ("mlp_epoch_train_decay_deep", 44),
    ("mlp_epoch_train_momentum_deep", 44),
    ("mlp_epoch_train_adam_deep", 44),
    ("mlp_epoch_classify_deep", 19),
    // Two for each of the grid's seven barriers, and one behind what is taken from global memory.
    ("mlp_epoch_train_grid", 25),
    ("mlp_epoch_train_decay_grid", 25),
    ("mlp_epoch_train_momentum_grid", 25),
    ("mlp_epoch_train_adam_grid", 25),
    ("mlp_epoch_train", 10),
    // Two barriers of the grid.
    ("mlp_epoch_classify_grid", 11),
    ("mlp_epoch_classify", 6),
    // One more where a batch takes the place of the one before.
    ("mlp_epoch_mma_train_deep", 45),
    ("mlp_epoch_mma_train_decay_deep", 45),
    ("mlp_epoch_mma_train_momentum_deep", 45),
    ("mlp_epoch_mma_train_adam_deep", 45),
    ("mlp_epoch_mma_train", 26),
    ("mlp_epoch_mma_classify_deep", 20),
    ("mlp_epoch_mma_classify", 12),
    // High tiles write both halves of their rows one after the other.
    ("tile_wgmma_bf16_256_moments", 4),
    ("tile_wgmma_bf16_128_high_moments", 6),
    ("tile_wgmma_bf16_128_moments", 4),
    ("tile_wgmma_bf16_64_single_moments", 4),
    ("tile_wgmma_f16_256_moments", 4),
    ("tile_wgmma_f16_128_high_moments", 6),
    ("tile_wgmma_f16_128_moments", 4),
    ("tile_wgmma_f16_64_single_moments", 4),
    ("tile_wgmma_", 2),
    ("tile_mma_", 3),
    ("tile_plain_", 2),
    ("azero_layers_conv_large", 2),
    ("azero_layers_conv_small", 2),
    ("azero_layers_conv_", 1),
    ("azero_layers_planes", 2),
    ("azero_layers_heads_", 5),
    ("azero_paper_input_planes_atomic_padded", 2),
    ("azero_paper_input_planes_atomic_plain", 2),
    ("azero_paper_input_64_global_padded", 1),
    ("azero_paper_input_64_global_plain", 1),
    ("azero_paper_input_planes_padded", 2),
    ("azero_paper_input_planes_global", 1),
    ("azero_paper_torso_global_banked", 2),
    ("azero_paper_torso_shared_banked", 2),
    ("azero_paper_output_repository_1", 2),
    ("azero_paper_output_repository_2", 2),
    ("azero_paper_input_planes_plain", 2),
    ("azero_paper_torso_global_plain", 2),
    ("azero_paper_torso_shared_plain", 2),
    ("azero_paper_torso_repository_1", 2),
    ("azero_paper_torso_repository_2", 2),
    ("azero_paper_torso_repository_3", 2),
    ("azero_paper_input_rows_global", 1),
    ("azero_paper_input_64_padded", 1),
    ("azero_paper_input_64_turned", 1),
    ("azero_paper_input_64_plain", 1),
    ("azero_paper_output_global", 2),
    ("azero_paper_output_shared", 2),
    ("azero_paper_input_rows", 1),
    ("azero_search_playouts_checkers", 2),
    ("azero_search_step_checkers", 2),
    ("azero_fused_tower_bf16_1", 3),
    ("azero_fused_tower_bf16_2", 3),
    ("azero_fused_tower_bf16_4", 3),
    ("azero_fused_tower_fp16_1", 3),
    ("azero_fused_tower_fp16_2", 3),
    ("azero_fused_tower_fp16_4", 3),
    ("azero_fused_tower_fp32_1", 3),
    ("azero_fused_tower_fp32_2", 3),
    ("azero_fused_tower_tf32_1", 3),
    ("azero_fused_tower_tf32_2", 3),
    ("azero_fused_tower_tf32_4", 5),
    ("azero_fused_single_bf16", 6),
    ("azero_fused_single_fp16", 6),
    ("azero_fused_single_fp32", 7),
    ("azero_fused_single_tf32", 7),
    ("azero_fused_heads_16", 2),
    ("azero_fused_heads_1", 2),
    ("azero_paper_policy", 4),
    ("azero_train_forward_narrow", 0),
    ("azero_train_backward_narrow", 0),
    ("azero_train_gradient_narrow", 1),
    ("azero_train_forward_heads", 0),
    ("azero_train_backward_heads", 0),
    ("azero_train_gradient_heads", 1),
    ("azero_train_forward_small", 3),
    ("azero_train_backward_small", 3),
    ("azero_train_gradient_small", 3),
    ("azero_train_forward_", 2),
    ("azero_train_backward_", 2),
    ("azero_train_gradient_", 2),
    ("azero_train_norm_back_parts_short", 1),
    ("azero_train_norm_parts", 2),
    ("azero_train_norm_finish", 2),
    ("azero_train_norm_back_parts", 3),
    ("azero_train_norm_back_finish", 3),
    ("azero_train_scales", 1),
    ("azero_train_sum_parts", 1),
    ("azero_train_sum_filters", 1),
    ("azero_train_adam", 4),
    ("azero_train_finish", 10),
    ("cfr_abstraction_nearest", 2),
    ("cfr_abstraction_strength", 2),
    ("cfr_small_measure_", 6),
    ("cfr_small_solve_", 10),
    ("cfr_street_last_", 3),
    ("cfr_street_solve_", 3),
    ("cfr_street_up_", 3),
    ("shogi_material_count", 2),
    ("shogi_material_fused", 5),
    ("shogi_material_gradient", 4),
    ("shogi_material_histogram", 4),
    ("shogi_material_plain", 6),
    ("shogi_paper_evaluate", 7),
    ("shogi_paper_persistent", 7),
    ("shogi_paper_sum", 9),
    ("shogi_sparse_pass_kpp", 16),
    ("shogi_sparse_pass_", 14),
];

#[test]
fn every_barrier_is_there_once() {
    for_each_image(|family, arch, ptx, _| {
        for kernel in &family.kernels {
            let body = body(ptx, kernel.name);
            let n = body.matches("bar.sync").count() + body.matches("barrier.sync").count();
            let expected = BARRIERS.iter().find(|(prefix, _)| kernel.name.starts_with(prefix)).map_or(0, |row| row.1);
            assert_eq!(n, expected, "barriers of {} for {arch}", kernel.name);
        }
    });
}

/// Kernels whose shapes overlap (`LaunchShape::overlapping`) must wait for the launches before them.
#[test]
fn launches_that_overlap_wait_for_those_before() {
    const OVERLAPPING: [&str; 17] = [
        "azero_train_",
        "tile_wgmma_",
        "mlp_layers_gather",
        "mlp_layers_loss_gradient",
        "mlp_layers_regression_gradient",
        "mlp_layers_activate",
        "mlp_layers_slope",
        "mlp_layers_dropout",
        "mlp_layers_layer_norm",
        "mlp_layers_batch_norm",
        "mlp_layers_norm",
        "mlp_layers_clip",
        "mlp_layers_patches",
        "mlp_layers_pool",
        "mlp_layers_filters",
        "mlp_layers_advance",
        "mlp_layers_update",
    ];
    for_each_image(|family, arch, ptx, _| {
        for kernel in &family.kernels {
            let waits = body(ptx, kernel.name).matches("griddepcontrol.wait").count();
            let overlaps = arch.starts_with("sm_90") && OVERLAPPING.iter().any(|name| kernel.name.starts_with(name));
            assert_eq!(waits, usize::from(overlaps), "{} for {arch}", kernel.name);
        }
    });
}

#[test]
fn no_kernel_has_atomics_or_locks_but_those_that_say_so() {
    for_each_image(|family, arch, ptx, _| {
        for kernel in &family.kernels {
            // The raw playouts, which only measure, add up their totals so; of the training kernels the form of the column sums that is named for
            // it, and the count of hits, whose order does not matter; and arrivals in a bucket and blocks that are done, which leave no trace either.
            let may = [
                "mcts_raw_",
                "mlp_paper_column_sums_atomic",
                // The published form of the loss.
                "mlp_paper_loss_atomic",
                "mlp_paper_accuracy",
                "mlp_layers_order_count",
                "mlp_layers_update",
                // Counts in buckets, and whether a unit was ever active: their order leaves no trace.
                "mlp_layers_active",
                "mlp_epoch_",
                // The paper's sums by atomic additions.
                "azero_paper_input_planes_atomic_padded",
                "azero_paper_input_planes_atomic_plain",
                "azero_paper_input_planes_global",
                "azero_paper_input_rows",
                "azero_paper_input_rows_global",
                "azero_paper_output_global",
                "azero_paper_output_repository_1",
                "azero_paper_output_repository_2",
                "azero_paper_output_shared",
                "azero_paper_torso_global_banked",
                "azero_paper_torso_global_plain",
                "azero_paper_torso_repository_1",
                "azero_paper_torso_repository_2",
                "azero_paper_torso_repository_3",
                "azero_paper_torso_shared_banked",
                "azero_paper_torso_shared_plain",
                // The largest of several numbers, in any order.
                "azero_train_norm_back_finish",
                // Whole numbers: counts, and regrets in fixed point.
                "cfr_abstraction_assign",
                "cfr_abstraction_strength",
                "cfr_explicit_sample_",
                "cfr_street_draw",
                "shogi_material_",
                "shogi_paper_persistent",
                "shogi_sparse_",
            ];
            let body = body(ptx, kernel.name);
            // Words, since `cp.async.cg.shared.global` has one of them in it.
            let atomic = body.split_whitespace().any(|word| word.starts_with("atom.") || word.starts_with("red."));
            let may = may.iter().any(|name| kernel.name.starts_with(name));
            assert!(!atomic || may, "{} for {arch}", kernel.name);
        }
    });
}
