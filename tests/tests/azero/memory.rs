//! `memory_needed` tells what is taken, to the byte: under `simt` device memory and pinned memory are blocks of the host's allocator, which this program counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use warpplay::azero::learn::Learner;
use warpplay::azero::player::{Contestant, Estimator, Match, Player, SearchOptions, SelfPlay, Trees};
use warpplay::azero::train::{Samples, Trainer};
use warpplay::azero::{Engine, Evaluator, Network, NetworkShape, ObservationLayout, ValueOf};
use warpplay::mcts::{Connect4, Search};
use warpplay::{Device, Memory, Precision};
use warpplay_tests::Checked;

/// Alignment of the runtime's blocks in bytes; nothing else asks for so much.
const ALIGNMENT: usize = 256;

/// The system's allocator, with the bytes of the runtime's blocks that each thread holds.
struct Counting;

thread_local! {
    static HELD: Cell<u64> = const { Cell::new(0) };
}

fn count(layout: Layout, change: impl FnOnce(u64, u64) -> u64) {
    if layout.align() == ALIGNMENT {
        // A thread that ends counts no more.
        let _ = HELD.try_with(|held| held.set(change(held.get(), layout.size() as u64)));
    }
}

// SAFETY: everything is the system's allocator's; what is counted is memory of the thread, which needs no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout, u64::wrapping_add);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout, u64::wrapping_add);
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        count(layout, u64::wrapping_sub);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(address, layout) }
    }

    unsafe fn realloc(&self, address: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        assert!(layout.align() != ALIGNMENT, "a block keeps its size");
        // SAFETY: the caller's promise.
        unsafe { System.realloc(address, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What `build` makes, and the bytes of the blocks that it holds.
fn built<T>(build: impl FnOnce() -> warpplay::Result<T>) -> warpplay::Result<(T, u64)> {
    let before = HELD.get();
    let made = build()?;
    Ok((made, HELD.get() - before))
}

#[track_caller]
fn all_counted(what: &str, told: &Memory, held: u64) {
    assert_eq!(told.device() + told.host(), held, "{what}: {told}");
}

/// A shape in which nothing is a multiple of a warp, a tile or a quad.
const ODD: NetworkShape = NetworkShape {
    rows: 5,
    columns: 3,
    planes: 2,
    width: 9,
    depth: 2,
    value_filters: 2,
    value_hidden: 7,
    policy_filters: 3,
    actions: 37,
};

/// A small network for checkers.
fn small() -> Network {
    Network::seeded(NetworkShape { width: 6, depth: 1, value_hidden: 5, ..NetworkShape::default() }, 3)
        .expect("a shape")
}

#[test]
fn an_evaluators_network_activations_and_batch_are_counted() -> Checked {
    let device = Device::simt();
    let wide = NetworkShape { depth: 1, ..NetworkShape::default() };
    for (engine, shape) in [(Engine::Layers, ODD), (Engine::Layers, wide), (Engine::Fused, wide)] {
        let network = Network::seeded(shape, 4)?;
        for precision in [Precision::F32, Precision::Tf32, Precision::F16, Precision::Bf16] {
            let builder = Evaluator::builder(&network).engine(engine).precision(precision).max_batch(5);
            let needed = builder.memory_needed(&device)?;
            let (mut evaluator, held) = built(|| builder.build(&device))?;
            assert_eq!(*evaluator.memory_needed(), needed);
            let part = |what: &str| needed.parts().iter().find(|part| part.what == what);
            let (spare, copy) = (part("spare engine").map_or(0, |part| part.device), part("spare network"));
            assert_eq!(spare > 0, engine == Engine::Fused && precision == Precision::F32);
            // The spare engine's copy of the network is a plain vector.
            let blocks = needed.device() + needed.host() - copy.map_or(0, |part| part.host);
            assert_eq!(blocks - spare, held, "{engine} in {precision}: {needed}");
            if spare > 0 {
                // A number too large opens it.
                let (_, taken) = built(|| evaluator.evaluate(&[1e7; 320], &[1; 512]))?;
                assert_eq!((evaluator.repeated_batches(), taken), (1, spare), "{needed}");
            }
        }
    }
    Ok(())
}

#[test]
fn the_cpu_counts_the_network_in_its_precision() -> Checked {
    let network = Network::seeded(ODD, 4)?;
    let mut values = 0;
    network.visit(|_, _, tensor| values += tensor.len() as u64);
    for (precision, bytes) in [(Precision::F32, 4), (Precision::F64, 8)] {
        let needed = Evaluator::builder(&network).precision(precision).memory_needed(&Device::cpu())?;
        let part = needed.parts().iter().find(|part| part.what == "network").expect("the network");
        assert_eq!(part.device, values * bytes);
    }
    Ok(())
}

#[test]
fn all_arrays_of_a_training_are_counted() -> Checked {
    let device = Device::simt();
    let network = Network::seeded(ODD, 4)?.with_meaning(ObservationLayout::Default, ValueOf::First);
    let mut samples = Samples::new(ODD, ObservationLayout::Default, ValueOf::First)?;
    for game in 0..20 {
        let legal = [1; 37];
        samples.push(game, &vec![0.0; ODD.n_observation()], &legal, &[(game as u32, 3), (36, 1)], 0.0)?;
    }
    for (batch, precision) in [(3, Precision::F32), (20, Precision::F32), (3, Precision::Bf16), (20, Precision::Bf16)] {
        let builder = Trainer::builder(&network, &Arc::new(samples.clone())).batch(batch).precision(precision);
        let needed = builder.memory_needed(&device)?;
        let (trainer, held) = built(|| builder.build(&device))?;
        assert_eq!(*trainer.memory_needed(), needed);
        assert_eq!(needed.device(), held, "{needed}");
    }
    Ok(())
}

#[test]
fn the_trees_of_a_player_and_what_evaluates_their_leaves_are_counted() -> Checked {
    let device = Device::simt();
    let options = SearchOptions { simulations: 9, leaves: 3, ..SearchOptions::default() };
    for estimator in [Estimator::from(&small()), Estimator::Playouts(2), Estimator::Uniform] {
        let builder = Player::builder(&estimator).options(options);
        let needed = builder.memory_needed(&device)?;
        let (player, held) = built(|| builder.build(&device))?;
        assert_eq!(*player.memory_needed(), needed);
        all_counted(&format!("a player by {}", estimator.name()), &needed, held);

        let builder = SelfPlay::builder(&estimator).search(options).parallel(5);
        let needed = builder.memory_needed(&device)?;
        let (games, held) = built(|| builder.build(&device))?;
        assert_eq!(*games.memory_needed(), needed);
        all_counted(&format!("self-play by {}", estimator.name()), &needed, held);
    }
    // Trees in host memory are plain vectors: what is left are the blocks of the evaluator, all on the device but for the copies.
    let builder = Player::builder(small()).options(SearchOptions { trees: Trees::Host, ..options });
    let (player, held) = built(|| builder.build(&device))?;
    let needed = player.memory_needed().clone();
    let copies = needed.parts().iter().find(|part| part.what == "copies").expect("an evaluator's").host;
    assert_eq!(needed.device() + copies, held, "{needed}");
    assert!(needed.parts().iter().any(|part| part.what == "trees" && part.host > 0), "{needed}");
    Ok(())
}

/// Trees in host memory are allocated as they grow, so what they can become is looked for before the first.
#[test]
fn trees_in_host_memory_that_do_not_fit_are_refused() -> Checked {
    let search = SearchOptions { simulations: 1 << 20, trees: Trees::Host, ..SearchOptions::default() };
    let tib = |memory: &Memory| memory.host() >> 40;
    for device in [Device::cpu(), Device::simt()] {
        let games = SelfPlay::builder(Estimator::Uniform).search(search).parallel(1 << 16);
        // A tree a game, and no more.
        let few = games.clone().games(1).memory_needed(&device)?;
        let many = games.games(1 << 20);
        let needed = many.memory_needed(&device)?;
        assert_eq!(needed.host(), few.host() << 16, "{needed}");
        assert!(tib(&needed) > 10, "{needed}");
        let refused = many.build(&device).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.starts_with("the host has ") && refused.contains(" TiB needed"), "{refused}");
        let contestants = [Contestant::Search(search, Estimator::Uniform), Contestant::Random];
        let refused = Match::builder(contestants).games(1 << 16).parallel(1 << 16).build(&device).err();
        assert!(matches!(refused, Some(warpplay::Error::OutOfMemory { .. })), "{refused:?}");
    }
    Ok(())
}

#[test]
fn a_match_needs_what_both_contestants_do() -> Checked {
    let device = Device::simt();
    let options = SearchOptions { simulations: 9, leaves: 3, ..SearchOptions::default() };
    let search = Search::builder().n_trees(2).n_playouts(32).steps(3).no_seconds();
    let contestants = [Contestant::Search(options, Estimator::from(&small())), Contestant::Mcts(Box::new(search))];
    let builder = Match::builder(contestants).games(2);
    let needed = builder.memory_needed(&device)?;
    let (games, held) = built(|| builder.build(&device))?;
    assert_eq!(*games.memory_needed(), needed);
    all_counted("a match", &needed, held);
    Ok(())
}

#[test]
fn a_tree_search_counts_its_nodes_and_trees() -> Checked {
    let device = Device::simt();
    let builder = Search::<Connect4>::builder().n_trees(3).n_playouts(32).steps(5).no_seconds();
    let needed = builder.memory_needed(&device)?;
    let (search, held) = built(|| builder.build(&device))?;
    assert_eq!(*search.memory_needed(), needed);
    all_counted("a search", &needed, held);
    Ok(())
}

#[test]
fn a_learner_needs_its_largest_part() -> Checked {
    let device = Device::simt();
    let folder = tempfile::tempdir().expect("a folder");
    let network = small();
    let search = SearchOptions { simulations: 9, leaves: 3, ..SearchOptions::self_play() };
    let mut options = warpplay::azero::learn::LearnOptions {
        shape: network.shape(),
        games: 4,
        search,
        gate_search: search,
        ..Default::default()
    };
    let self_play = SelfPlay::builder(&network).search(search).parallel(4).memory_needed(&device)?;
    options.train.batch = 2;
    options.gate.games = 2;
    let needed = Learner::builder(folder.path()).options(options.clone()).memory_needed(&device)?;
    assert!(needed.device() >= self_play.device(), "{needed}");
    options.games = 400;
    let builder = Learner::builder(folder.path()).options(options);
    let more = builder.memory_needed(&device)?;
    assert!(more.device() > 10 * self_play.device(), "{more}");
    assert_eq!(*builder.build(&device)?.memory_needed(), more);
    Ok(())
}
