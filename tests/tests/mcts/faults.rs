//! Faults that the original has, each with a test that would see it come back; and what happens when memory or depth runs out.

use std::fmt::Debug;

use warpplay::mcts::{Adapted, Connect4, Gomoku, KernelSet, Options, Search, Variant};
use warpplay::{Device, Kernel, LaunchShape, Progress};
use warpplay_cpu_ref::mcts as reference;
use warpplay_gpu::mcts::tree::{MAX_DEPTH, target};
use warpplay_gpu::simt::{self, FaultKind};
use warpplay_test_kernels::faults::{test_argmax_reuse, test_child_ranks, test_path_copy};
use warpplay_test_kernels::games::{Hashed, Thin};
use warpplay_tests::Checked;
use warpplay_tests::backends::{for_each_device, gpu};
use warpplay_tests::forest::{self, Forest, Shape, nodes_of};
use warpplay_tests::invariants::{Found, check_report};
use warpplay_tests::strategies::random_position;
use warpplay_tests::tolerance::same;

// ---- Missing barriers ------------------------------------------------------------------------------------------------------------------

/// The reference's trees after `steps` steps.
fn plain<G: KernelSet>(shape: &Shape, position: &G, steps: u32) -> reference::Search<Adapted<G>> {
    let mut search = reference::Search::new(shape.reference(), Adapted(*position));
    for _ in 0..steps {
        search.step();
    }
    search
}

/// Initialising the ranks of the children, using the arg-max's scratch for the next level, copying the path: with several warps at work, `simt`
/// looks for two threads at one shared word with no barrier between, and the trees do not depend on the number of warps.
fn no_race_with_many_warps<G: KernelSet + PartialEq + Debug>(position: &G, steps: u32) {
    for &variant in Variant::ALL {
        let shape = Shape::new(variant);
        let expected = plain(&shape, position, steps);
        for block in [32, 256, 480, 1024] {
            for_each_device(|device| {
                let mut forest = Forest::new(device, Shape { block, ..shape }, position)?;
                for _ in 0..steps {
                    forest.step()?;
                }
                forest::compare(&forest, &expected)?;
                // The path: from the root, each node a child of the one before.
                for tree in 0..shape.n_trees as usize {
                    let (path, grown) = (forest.path(tree)?, forest.tree(tree)?);
                    assert_eq!(path[0], 0);
                    for pair in path.windows(2) {
                        assert_eq!(grown.nodes[pair[1] as usize].parent, pair[0], "{path:?}");
                    }
                }
                if !variant.is_thrifty() {
                    let mut forest = Forest::new(device, Shape { block, ..shape }, position)?;
                    for _ in 0..steps {
                        forest.fused_step()?;
                    }
                    forest.backup()?;
                    forest::compare(&forest, &expected)?;
                }
                Ok(())
            });
        }
    }
}

#[test]
fn selection_expansion_and_backup_of_many_warps_do_not_race_in_gomoku() {
    no_race_with_many_warps(&random_position(Gomoku::new(), 2, 40), 3);
}

#[test]
fn selection_of_deep_trees_by_many_warps_does_not_race() {
    // Many levels in one selection: the arg-max's scratch is used again on each.
    no_race_with_many_warps(&Hashed::new(4), 25);
    no_race_with_many_warps(&random_position(Connect4::new(), 3, 30), 12);
}

/// Runs a kernel with or without its barrier under `simt` alone: without, its results mean nothing.
fn fault_of<K: Kernel>(kernel: K, params: K::Params) -> Option<FaultKind> {
    // SAFETY: each caller gives memory for what its kernel writes.
    let result = unsafe { simt::launch(kernel, LaunchShape::new(1, 256), params, &simt::Options::default()) };
    result.err().map(|fault| fault.kind)
}

#[test]
fn each_of_the_three_barriers_is_missed_when_it_is_taken_out() {
    let mut out = vec![0u32; 256];
    let pointer = out.as_mut_ptr();
    let _registered = simt::memory::register(pointer as usize, size_of_val(&out[..]));
    let is_race = |kind: Option<FaultKind>| matches!(kind, Some(FaultKind::SharedRace { .. }));
    assert!(is_race(fault_of(test_child_ranks, (pointer, 0))), "initialising the ranks of the children");
    assert!(is_race(fault_of(test_argmax_reuse, (pointer, 2, 0))), "the arg-max's scratch on the next level");
    // The slow thread is the last one: whoever copies first reads what nobody wrote.
    let kind = fault_of(test_path_copy, (pointer, 0));
    assert!(matches!(kind, Some(FaultKind::SharedRace { .. } | FaultKind::UnwrittenShared { .. })), "{kind:?}");
    for with_barrier in [
        fault_of(test_child_ranks, (pointer, 1)),
        fault_of(test_argmax_reuse, (pointer, 2, 1)),
        fault_of(test_path_copy, (pointer, 1)),
    ] {
        assert_eq!(with_barrier, None);
    }
}

// ---- Draws ---------------------------------------------------------------------------------------------------------------------------------

#[test]
fn the_child_drawn_for_playouts_is_one_that_exists() {
    for variant in [Variant::OcpThrifty, Variant::OcpProdigal] {
        for_each_device(|device| {
            let shape = Shape { n_trees: 16, n_playouts: 1, ..Shape::new(variant) };
            let mut forest = Forest::new(device, shape, &Hashed::new(8))?;
            let mut seen = [false; 2];
            for _ in 0..20 {
                forest.step()?;
                for head in forest.heads()? {
                    if head.target == target::ONE_CHILD {
                        assert!(head.chosen < head.n_expanded, "{head:?}");
                        seen[0] |= head.chosen == 0;
                        seen[1] |= head.chosen + 1 == head.n_expanded && head.n_expanded > 1;
                    }
                }
            }
            assert_eq!(seen, [true; 2], "the first and the last child were drawn");
            Ok(())
        });
    }
}

// ---- Memory ----------------------------------------------------------------------------------------------------------------------------

#[test]
fn full_trees_alias_no_children_and_are_played_out_again() {
    for &variant in Variant::ALL {
        // Room for the root's seven children; for one more expansion; for one and a half.
        for capacity in [8, 15, 19, 64] {
            let shape = Shape { capacity, n_trees: 3, ..Shape::new(variant) };
            let expected = plain(&shape, &Connect4::new(), 30);
            for_each_device(|device| {
                let mut forest = Forest::new(device, shape, &Connect4::new())?;
                let (mut replayed, mut counted) = (0, 0);
                for _ in 0..30 {
                    let before = forest.heads()?;
                    forest.step()?;
                    for (before, after) in before.iter().zip(forest.heads()?) {
                        if after.target == target::SELECTED {
                            replayed += 1;
                            assert_eq!((after.size, after.n_expanded), (before.size, 0), "nothing at all is added");
                        }
                        counted += after.refused - before.refused;
                    }
                }
                assert!(replayed > 0, "capacity {capacity} is meant to be too small");
                // No leaf is at the greatest depth, so want of nodes is the only reason for a refusal.
                assert_eq!((counted, expected.statistics().trees.refused), (replayed, replayed), "each is counted");
                forest::compare(&forest, &expected)?;
                let mut fused = Forest::new(device, shape, &Connect4::new())?;
                if !variant.is_thrifty() {
                    for _ in 0..30 {
                        fused.fused_step()?;
                    }
                    fused.backup()?;
                    forest::compare(&fused, &expected)?;
                    assert_eq!(fused.heads()?.iter().map(|head| head.refused).sum::<u64>(), replayed);
                }
                Ok(())
            });
        }
    }
}

#[test]
fn games_whose_leaves_differ_in_size_fill_memory_alike() {
    for &variant in Variant::ALL {
        let shape = Shape { capacity: 90, n_trees: 3, ..Shape::new(variant) };
        let expected = plain(&shape, &Hashed::new(1), 60);
        for_each_device(|device| {
            let mut forest = Forest::new(device, shape, &Hashed::new(1))?;
            for _ in 0..60 {
                forest.step()?;
            }
            forest::compare(&forest, &expected)
        });
    }
}

#[test]
fn a_search_in_little_memory_goes_on_to_its_last_step() {
    for &variant in Variant::ALL {
        let options = Options {
            variant,
            n_trees: 3,
            n_playouts: 4,
            steps: Some(50),
            seconds: None,
            device_memory_gb: 0.000_04,
            seed: 6,
            ..Options::default()
        };
        let builder = || Search::<Connect4>::builder().options(options.clone()).profile_steps(0);
        let capacity = builder().capacity().expect("enough for the root's children");
        assert!((8..200).contains(&capacity), "{capacity} nodes are meant to be too few for 50 steps");
        assert!(
            builder().memory_needed(&Device::simt()).expect("as above").device()
                <= (options.device_memory_gb * (1u64 << 30) as f64) as u64
        );
        let expected = builder()
            .build(&Device::cpu())
            .and_then(|mut search| search.run(&Connect4::new(), Progress::go_on))
            .expect("cpu");
        assert_eq!(expected.performance.steps, 50);
        assert!(expected.performance.trees.max_size <= u64::from(capacity));
        // So few nodes are used up by a few expansions a tree: each of the other steps was refused or ended a game.
        assert_eq!(expected.performance.trees.full, 3, "{variant}: the report says that the trees are full");
        assert!(expected.performance.trees.refused >= 3);
        check_report(&expected);
        for_each_device(|device| {
            let report = builder().build(device)?.run(&Connect4::new(), Progress::go_on)?;
            assert_eq!(Found::from(&report), Found::from(&expected), "{variant} on {device}");
            Ok(())
        });
    }
}

// ---- Depth -----------------------------------------------------------------------------------------------------------------------------

#[test]
fn the_deepest_nodes_are_played_out_and_not_expanded() {
    const LENGTH: u32 = MAX_DEPTH + 20;
    for &variant in Variant::ALL {
        let shape = Shape { n_trees: 1, n_playouts: 1, block: 32, ..Shape::new(variant) };
        let game = Thin::new(LENGTH);
        // The reference walks down nearly to the end; its trees are handed to the device for the last steps. The game's
        // end does not depend on chance, so the streams' states do not matter.
        let mut expected = plain(&shape, &game, MAX_DEPTH - 3);
        let root = game;
        for_each_device(|device| {
            let mut forest = Forest::new(device, shape, &root)?;
            forest.load(&root, &expected)?;
            let mut fused = Forest::new(device, shape, &root)?;
            fused.load(&root, &expected)?;
            let mut further = expected.clone();
            for _ in 0..8 {
                further.step();
                forest.step()?;
                if !variant.is_thrifty() {
                    fused.fused_step()?;
                }
            }
            let head = forest.heads()?[0];
            assert_eq!((head.max_depth, head.size, head.target), (MAX_DEPTH, MAX_DEPTH + 1, target::SELECTED));
            assert_eq!(forest.path(0)?, (0..=MAX_DEPTH).collect::<Vec<_>>());
            same("the long thin tree", &forest.tree(0)?.nodes, &nodes_of(&further, 0));
            if !variant.is_thrifty() {
                fused.backup()?;
                same("the long thin tree", &fused.tree(0)?.nodes, &nodes_of(&further, 0));
            }
            Ok(())
        });
        expected.step();
    }
}

#[test]
fn a_whole_search_to_the_greatest_depth_on_a_gpu() -> Checked {
    let Some(device) = gpu() else { return Ok(()) };
    for &variant in Variant::ALL {
        let options = Options {
            variant,
            n_trees: 2,
            n_playouts: 1,
            steps: Some(u64::from(MAX_DEPTH) + 50),
            seconds: None,
            ..Options::default()
        };
        let run = |device: &Device| {
            let report = Search::<Thin>::builder()
                .options(options.clone())
                .build(device)?
                .run(&Thin::new(MAX_DEPTH + 300), Progress::go_on)?;
            check_report(&report);
            Ok::<_, warpplay::Error>(Found::from(&report))
        };
        let found = run(&device)?;
        assert_eq!(found.trees.max_depth, MAX_DEPTH);
        assert_eq!(found, run(&Device::cpu())?, "{variant}");
    }
    Ok(())
}

// ---- Large counts ------------------------------------------------------------------------------------------------------------------------

#[test]
fn counts_beyond_31_bits_are_kept() {
    // A tree that was visited 2^33 times goes on: counts are 64-bit wherever so many playouts can pass.
    for &variant in Variant::ALL {
        let shape = Shape { n_trees: 1, ..Shape::new(variant) };
        for_each_device(|device| {
            let mut forest = Forest::new(device, shape, &Connect4::new())?;
            forest.step()?;
            let before = forest.tree(0)?.nodes;
            forest.add_playouts(0, 1 << 33)?;
            for _ in 0..4 {
                forest.step()?;
            }
            let after = forest.tree(0)?.nodes;
            let total: u64 = after[1..=7].iter().map(|node| node.n).sum();
            assert_eq!(after[0].n, total, "{variant}");
            assert!(after[0].n > before[0].n + (7 << 33), "{variant}: {:?}", after[0]);
            Ok(())
        });
    }
}
