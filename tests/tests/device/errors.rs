//! Errors by their text: every variant that can be provoked without breaking a machine.

use warpplay::mcts::{
    BlockSizes, Connect4, Gomoku, KernelSet, Options, RawPlayouts, RawShape, Search, SearchBuilder, Variant,
    check_playable, play_moves, position_after,
};
use warpplay::{Backend, Device, Error, Kernel, LaunchShape, Module, Progress, PtxImage, PtxSet};
use warpplay_example_hex::Hex;
use warpplay_example_lights_out::LightsOut;
use warpplay_gpu::mcts::{Game, Outcome, Player};
use warpplay_test_kernels::faults::{
    test_divergent_barrier, test_out_of_bounds, test_shared_out_of_bounds, test_shared_race, test_trap,
    test_unwritten_shared,
};
use warpplay_test_kernels::index::test_mark_below;
use warpplay_test_kernels::ptx;
use warpplay_tests::backends::{for_each_device, gpu, kernel_devices};
use warpplay_tests::{Checked, strategies};

/// The error's text; a success is a failure of the test.
#[track_caller]
fn text<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => panic!("it should have been refused"),
        Err(error) => error.to_string(),
    }
}

// ---- Options ---------------------------------------------------------------------------------------------------------------------------------

type Change = fn(SearchBuilder<Connect4>) -> SearchBuilder<Connect4>;

/// The original replaced such values by its defaults without a word.
#[test]
fn every_option_out_of_range_is_named_with_its_value_and_what_is_allowed() {
    let cases: &[(Change, &str)] = &[
        (|b| b.n_trees(0), "option n_trees: 0 is not allowed (1 to 512)"),
        (|b| b.n_trees(513), "option n_trees: 513 is not allowed (1 to 512)"),
        (|b| b.n_playouts(0), "option n_playouts: 0 is not allowed (a power of two, 1 to 512)"),
        (|b| b.n_playouts(100), "option n_playouts: 100 is not allowed (a power of two, 1 to 512)"),
        (|b| b.n_playouts(1024), "option n_playouts: 1024 is not allowed (a power of two, 1 to 512)"),
        (|b| b.steps(0), "option steps: 0 is not allowed (at least 1, or no limit)"),
        (
            |b| b.options(Options { steps: None, seconds: None, ..Options::default() }),
            "option steps: none is not allowed (a limit of steps, of seconds, or both)",
        ),
        (|b| b.seconds(0.0), "option seconds: 0 is not allowed (a finite number above 0, or no limit)"),
        (|b| b.seconds(-1.5), "option seconds: -1.5 is not allowed (a finite number above 0, or no limit)"),
        (|b| b.seconds(f64::NAN), "option seconds: NaN is not allowed (a finite number above 0, or no limit)"),
        (|b| b.seconds(f64::INFINITY), "option seconds: inf is not allowed (a finite number above 0, or no limit)"),
        (|b| b.ucb_c(-0.1), "option ucb_c: -0.1 is not allowed (a finite number, 0 or more)"),
        (|b| b.ucb_c(f32::NAN), "option ucb_c: NaN is not allowed (a finite number, 0 or more)"),
        (|b| b.ucb_c(f32::INFINITY), "option ucb_c: inf is not allowed (a finite number, 0 or more)"),
        (|b| b.draw_value(-0.5), "option draw_value: -0.5 is not allowed (0 to 1)"),
        (|b| b.draw_value(1.5), "option draw_value: 1.5 is not allowed (0 to 1)"),
        (|b| b.draw_value(f32::NAN), "option draw_value: NaN is not allowed (0 to 1)"),
        (|b| b.device_memory_gb(0.0), "option device_memory_gb: 0 is not allowed (a finite number above 0)"),
        (|b| b.device_memory_gb(-2.0), "option device_memory_gb: -2 is not allowed (a finite number above 0)"),
        (|b| b.device_memory_gb(f64::NAN), "option device_memory_gb: NaN is not allowed (a finite number above 0)"),
    ];
    for device in kernel_devices().into_iter().chain([Device::cpu()]) {
        for (change, expected) in cases {
            let builder = change(Search::builder());
            assert_eq!(text(builder.clone().capacity().map(drop)), *expected);
            assert_eq!(text(builder.clone().memory_needed(&Device::cpu()).map(drop)), *expected);
            assert_eq!(text(builder.build(&device)), *expected, "on {device}");
        }
    }
    // At the ends of the ranges nothing is refused.
    let ends: [Change; 4] = [
        |b| b.n_trees(1).n_playouts(1),
        |b| b.n_trees(512),
        |b| b.n_playouts(512),
        |b| b.ucb_c(0.0).draw_value(1.0).draw_value(0.0),
    ];
    for change in ends {
        change(Search::builder()).capacity().expect("allowed");
    }
}

#[test]
fn too_little_memory_for_the_roots_children_says_how_much_is_needed() {
    let too_little = Search::<Gomoku>::builder().device_memory_gb(0.001);
    let message = text(too_little.clone().capacity());
    assert!(message.starts_with("option device_memory_gb: 0.001 is not allowed (at least "), "{message}");
    let needed: f64 = message
        .split("at least ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next())
        .and_then(|n| n.parse().ok())
        .expect("a number");
    too_little.device_memory_gb(needed).capacity().expect("what was asked for is enough");
}

#[test]
fn more_memory_than_the_device_has_is_refused_before_anything_is_allocated() {
    for device in kernel_devices() {
        let builder = Search::<Gomoku>::builder().n_trees(512).device_memory_gb(1e6);
        let error = builder.build(&device).err().expect("a petabyte");
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
        let message = error.to_string();
        assert!(message.starts_with(&format!("{device} has ")) && message.contains(" of memory free, "), "{message}");
        assert!(message.ends_with(" needed: ask for less or free other buffers"), "{message}");
        assert_eq!(device.allocations(), 0);
    }
}

#[test]
fn block_sizes_that_do_not_fit_are_named() {
    let with = |change: fn(&mut BlockSizes)| {
        let mut blocks = BlockSizes::smallest::<Gomoku>(40);
        change(&mut blocks);
        text(Search::<Gomoku>::builder().n_trees(40).block_sizes(blocks).build(&Device::simt()))
    };
    assert_eq!(
        with(|b| b.select = 33),
        "option block size of select: 33 is not allowed (a multiple of 32, 32 to 1024)"
    );
    assert_eq!(
        with(|b| b.backup_2 = 2048),
        "option block size of backup_2: 2048 is not allowed (a multiple of 32, 32 to 1024)"
    );
    assert_eq!(
        with(|b| b.expand_1 = 32),
        "option block size of expand_1: 32 is not allowed (a multiple of 32, 256 to 1024)"
    );
    assert_eq!(with(|b| b.step = 224), "option block size of step: 224 is not allowed (a multiple of 32, 256 to 1024)");
    assert_eq!(
        with(|b| b.reduce_over_trees = 32),
        "option block size of reduce_over_trees: 32 is not allowed (a multiple of 32, 64 to 1024)"
    );
    assert_eq!(
        text(Search::<Connect4>::builder().threads(0).build(&Device::cpu())),
        "option threads: 0 is not allowed (1 to 1024)"
    );
}

#[test]
fn names_that_do_not_exist() {
    assert_eq!(
        text("acp".parse::<Variant>()),
        "option variant: acp is not allowed (ocp_thrifty, ocp_prodigal, acp_thrifty, acp_prodigal)"
    );
    assert!(text(Device::parse("gpu")).starts_with("option device: gpu is not allowed (auto, cuda, "));
    for &variant in Variant::ALL {
        assert_eq!(variant.to_string().parse::<Variant>().expect("its own name"), variant);
    }
}

/// A game beyond a limit, with kernels for `simt` alone.
macro_rules! game_beyond_a_limit {
    ($module:ident, $game:ident, $actions:expr, $board:expr, $extra:expr, $words:expr) => {
        /// Beyond a limit.
        #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
        #[repr(C)]
        pub struct $game(u32);

        impl Game for $game {
            const NAME: &'static str = "beyond";
            const MAX_ACTIONS: u32 = $actions;
            const BOARD: (u32, u32) = $board;
            const EXTRA_INFO_BYTES: u32 = $extra;
            const PLAYOUT_WORDS: u32 = $words;
            fn to_move(&self) -> Player {
                Player::First
            }
            fn is_legal(&self, action: u32) -> bool {
                action == 0
            }
            fn apply(&mut self, _: u32) {
                self.0 += 1;
            }
            fn outcome(&self) -> Outcome {
                if self.0 > 0 { Outcome::Draw } else { Outcome::Ongoing }
            }
        }

        warpplay_gpu::mcts_kernels!($module, $game, "beyond", crate::errors::NO_PTX);
    };
}

/// No PTX at all, as where there is no device compiler.
const NO_PTX: PtxSet =
    PtxSet { name: "beyond", images: &[], missing: Some("no device compiler was found: install one") };

game_beyond_a_limit!(actions, TooManyActions, 513, (8, 8), 0, 0);
game_beyond_a_limit!(board, TooLargeBoard, 4, (8, 33), 0, 0);
game_beyond_a_limit!(extra, TooMuchInfo, 4, (8, 8), 4097, 0);
game_beyond_a_limit!(words, TooManyWords, 4, (8, 8), 0, 100_000);
game_beyond_a_limit!(fits, Fits, 512, (32, 32), 4096, 0);

#[test]
fn games_beyond_the_limits_are_refused() {
    fn refused<G: KernelSet>() -> String {
        text(Search::<G>::builder().build(&Device::cpu()))
    }
    assert_eq!(refused::<TooManyActions>(), "option max actions of the game: 513 is not allowed (1 to 512)");
    assert_eq!(refused::<TooLargeBoard>(), "option board of the game: 8 x 33 is not allowed (1 x 1 to 32 x 32)");
    assert_eq!(refused::<TooMuchInfo>(), "option extra info bytes of the game: 4097 is not allowed (0 to 4096)");
    assert!(refused::<TooManyWords>().starts_with("option playout words of the game: 100000 is not allowed (0 to "));
    Search::<Fits>::builder()
        .steps(1)
        .n_trees(1)
        .n_playouts(1)
        .build(&Device::cpu())
        .expect("at its limits, not beyond");
}

#[test]
fn raw_playouts_check_their_shape() -> Checked {
    let shape = RawShape { blocks: 1, threads: 32, n_games: 1, restart: false, warm_up: false };
    let raw = RawPlayouts::<Connect4>::new(&Device::simt())?;
    let run = |shape| text(raw.run(&Connect4::new(), shape, 0));
    assert_eq!(
        run(RawShape { threads: 33, ..shape }),
        "option threads: 33 is not allowed (a multiple of 32, 32 to 1024)"
    );
    assert!(run(RawShape { blocks: 0, ..shape }).starts_with("option blocks: 0 is not allowed ("));
    assert!(run(RawShape { blocks: u32::MAX, ..shape }).starts_with("option blocks: 4294967295 is not allowed ("));
    assert_eq!(run(RawShape { n_games: 0, ..shape }), "option n_games: 0 is not allowed (at least 1)");
    Ok(())
}

// ---- Moves and positions ---------------------------------------------------------------------------------------------------------------------

#[test]
fn moves_that_cannot_be_played_are_named_with_their_number_or_character() {
    fn of<G: warpplay::mcts::Notation>(moves: &str) -> String {
        text(position_after::<G>(moves).map(drop))
    }
    // Illegal: the column is full.
    assert_eq!(of::<Connect4>("1111111"), "moves of connect4: move 7 (`1`) is illegal");
    // Unreadable.
    assert_eq!(of::<Connect4>("44x3"), "moves of connect4: character 3: `x` is not a move (allowed: columns 1 to 7)");
    assert_eq!(of::<Connect4>("448"), "moves of connect4: character 3: `8` is not a move (allowed: columns 1 to 7)");
    assert_eq!(of::<Connect4>("4-4"), "moves of connect4: character 2: `-` is not a move (allowed: columns 1 to 7)");
    // Overlong: after the end of the game, and beyond a full board.
    assert_eq!(of::<Connect4>("41424344"), "moves of connect4: move 8 (`4`) comes after the end of the game");
    let message = of::<Connect4>(&"1".repeat(10_000));
    assert_eq!(message, "moves of connect4: move 7 (`1`) is illegal");
    assert_eq!(of::<Gomoku>("h8h8"), "moves of gomoku: move 2 (`h8`) is illegal");
    assert_eq!(of::<Gomoku>("h8p1"), "moves of gomoku: character 3: `p1` is not a move (allowed: a1 to o15)");
    assert_eq!(of::<Gomoku>("h16"), "moves of gomoku: character 1: `h16` is not a move (allowed: a1 to o15)");
    assert_eq!(of::<Gomoku>("a1b1a2b2a3b3a4b4a5c1"), "moves of gomoku: move 10 (`c1`) comes after the end of the game");
    assert_eq!(of::<Hex>("a1l1"), "moves of hex: character 3: `l1` is not a move (allowed: a1 to k11)");
    assert_eq!(of::<LightsOut>("a6"), "moves of lights_out: character 1: `a6` is not a move (allowed: a1 to e5)");
    assert_eq!(
        of::<Gomoku>("h999999999999999999999"),
        "moves of gomoku: character 1: `h999999999999999999999` is not a move (allowed: a1 to o15)"
    );
}

#[test]
fn a_position_is_unchanged_by_moves_that_cannot_all_be_played() {
    let mut position: Connect4 = position_after("44").expect("legal");
    let before = position;
    text(play_moves(&mut position, "4444444"));
    assert_eq!(position, before);
    assert_eq!(play_moves(&mut position, " 1, 2 ").expect("legal"), [0, 1]);
}

#[test]
fn a_finished_position_is_not_searched() {
    let won: Connect4 = position_after("4142434").expect("legal");
    let full = (0..).map(|seed| strategies::random_position(Connect4::new(), seed, 42)).find_map(|position| {
        // One move before a full board without a line: play it.
        let last = strategies::legal_actions(&position);
        let mut next = position;
        next.apply(*last.first()?);
        (next.outcome() == Outcome::Draw).then_some(next)
    });
    let full = full.expect("some seed draws");
    assert_eq!(
        text(check_playable(&won)),
        "position of connect4 is finished (the first player has won): search a position in which a player can move"
    );
    assert_eq!(
        text(check_playable(&full)),
        "position of connect4 is finished (a draw): search a position in which a player can move"
    );
    for device in kernel_devices().into_iter().chain([Device::cpu()]) {
        let mut search = Search::<Connect4>::builder().n_trees(1).n_playouts(1).steps(1).build(&device).expect("small");
        for position in [won, full] {
            assert!(text(search.run(&position, Progress::go_on)).contains("is finished"), "on {device}");
        }
    }
}

// ---- Modules and kernels ---------------------------------------------------------------------------------------------------------------------

/// A module without the kernel that is asked for.
const STRANGER: PtxSet = PtxSet {
    name: "stranger",
    images: &[PtxImage::plain(
        "sm_75",
        ".version 6.4\n.target sm_75\n.address_size 64\n\n.visible .entry somebody_else()\n{\n    ret;\n}\n",
    )],
    missing: None,
};

#[test]
fn a_kernel_that_the_ptx_lacks_is_named_with_its_module() {
    for_each_device(|device| {
        for module in [Module::load(device, &STRANGER)?, Module::lazy(device, &STRANGER)?] {
            let error = module.function(test_trap).expect_err("not in there");
            assert!(matches!(error, Error::MissingKernel { .. }));
            assert_eq!(
                error.to_string(),
                "module stranger has no kernel test_trap: build the module from the sources of this program, with the features that the kernel needs"
            );
        }
        Ok(())
    });
}

#[test]
fn a_module_without_ptx_says_why_on_a_gpu() {
    let Some(device) = gpu() else { return };
    for module in [Module::load(&device, &NO_PTX), Module::lazy(&device, &NO_PTX)] {
        assert_eq!(text(module), "module beyond has no PTX: no device compiler was found: install one");
    }
    assert!(text(Search::<Fits>::builder().build(&device)).starts_with("module beyond has no PTX: "));
}

#[test]
fn the_back_end_without_kernels_says_what_to_use_instead() {
    let cpu = Device::cpu();
    let messages =
        [text(cpu.stream()), text(Module::load(&cpu, &ptx::LAYER)), text(RawPlayouts::<Connect4>::new(&cpu))];
    for message in messages {
        assert!(message.contains(" is not supported by the back end cpu: "), "{message}");
    }
    let mut search = Search::<Connect4>::builder().steps(1).build(&cpu).expect("small");
    let message = text(search.profile(&Connect4::new(), 3));
    assert_eq!(message, "a profile by events is not supported by the back end cpu: read the stage times of a report");
}

#[test]
fn no_gpu_is_an_ordinary_error() {
    if gpu().is_none() {
        assert!(text(Device::cuda(0)).starts_with("no CUDA device: "));
        assert!(Device::why_no_cuda().is_some());
        assert_eq!(Device::auto().backend(), Backend::Cpu);
    }
    assert!(text(Device::cuda(4096)).starts_with("no CUDA device: "));
}

#[test]
fn shapes_that_no_device_has_are_refused_before_the_launch() {
    for_each_device(|device| {
        let stream = device.stream()?;
        let kernel = Module::load(device, &ptx::LAYER)?.function(test_mark_below)?;
        let mut marks = stream.alloc::<u32>(64)?;
        let mut launch = |shape| {
            // SAFETY: 64 values; refused before it runs.
            let result = unsafe { stream.launch(&kernel, shape, (&mut marks, 64)) };
            let error = result.err().unwrap_or_else(|| panic!("{shape:?} should have been refused"));
            assert!(matches!(error, Error::Shape { .. }), "{error}");
            error.to_string()
        };
        for shape in [
            LaunchShape::new(0, 32),
            LaunchShape::new(1, 0),
            LaunchShape::new(1, 1025),
            LaunchShape::grid_2d(1, 65_536, 32),
            LaunchShape::new(1, 32).with_shared(u32::MAX),
            LaunchShape::new(3, 32).with_cluster(2),
        ] {
            let message = launch(shape);
            assert!(message.contains("test_mark_below") && message.contains("expected "), "{message}");
        }
        assert_eq!(stream.read(&marks)?, [0; 64]);
        Ok(())
    });
}

#[test]
fn lengths_of_buffers_are_checked() {
    for_each_device(|device| {
        let stream = device.stream()?;
        let mut buffer = stream.alloc::<u32>(4)?;
        assert_eq!(text(buffer.expect_len("scores", 5)), "scores: expected 5 values, got 4 values");
        for message in [text(stream.write(&mut buffer, 2, &[1, 2, 3])), text(stream.read_into(&buffer, 4, &mut [0]))] {
            assert!(message.contains("expected "), "{message}");
        }
        assert_eq!(stream.read(&buffer)?, [0; 4]);
        Ok(())
    });
}

#[test]
fn what_cannot_be_recorded_is_refused_inside_a_capture() {
    for_each_device(|device| {
        let stream = device.stream()?;
        let buffer = stream.upload(&[1u32])?;
        let message = text(stream.capture(|stream| stream.read(&buffer).map(drop)));
        assert!(message.contains(" inside a capture: a capture records launches and zeroing only"), "{message}");
        assert_eq!(stream.read(&buffer)?, [1], "the stream is as before");
        Ok(())
    });
}

#[test]
fn a_thing_of_another_device_is_refused() {
    let Some(gpu) = gpu() else { return };
    let simt = Device::simt();
    let (here, there) = (gpu.stream().expect("gpu"), simt.stream().expect("simt"));
    let mut buffer = there.alloc::<u32>(64).expect("small");
    let kernel = Module::load(&gpu, &ptx::LAYER).and_then(|module| module.function(test_mark_below)).expect("in there");
    // SAFETY: 64 values; refused before it runs.
    let message = text(unsafe { here.launch(&kernel, LaunchShape::new(1, 64), (&mut buffer, 64)) });
    assert_eq!(message, "buffer belongs to simt, not to cuda:0: make it on the device that uses it");
    // SAFETY: as above.
    let message = text(unsafe { there.launch(&kernel, LaunchShape::new(1, 64), (&mut buffer, 64)) });
    assert_eq!(message, "test_mark_below belongs to cuda:0, not to simt: make it on the device that uses it");
    assert_eq!(text(here.read(&buffer)), "buffer belongs to simt, not to cuda:0: make it on the device that uses it");
}

// ---- Rules that kernels break ----------------------------------------------------------------------------------------------------------------

/// The text of a fault under `simt`, which must name the kernel and the location in its source.
fn fault<K: Kernel>(kernel: K, shape: LaunchShape, arguments: impl warpplay::IntoParams<K::Params>) -> String {
    let device = Device::simt();
    let stream = device.stream().expect("simt");
    let function = Module::load(&device, &ptx::LAYER).and_then(|module| module.function(kernel)).expect("in there");
    // SAFETY: the kernels break rules that `simt` stops before anything happens.
    let error = unsafe { stream.launch(&function, shape, arguments) }.expect_err("a fault");
    assert!(matches!(error, Error::Simt(_)), "{error}");
    let message = error.to_string();
    assert!(message.starts_with(&format!("kernel `{}`, block (", K::NAME)), "{message}");
    message
}

#[test]
fn the_four_broken_rules_are_reported_with_kernel_block_thread_and_location() {
    let stream = Device::simt().stream().expect("simt");
    let mut out = stream.alloc::<u32>(64).expect("small");

    let message = fault(test_divergent_barrier, LaunchShape::new(2, 64), (40,));
    assert!(
        message.contains("divergent barrier: waits at sync_threads at ") && message.contains("faults.rs:"),
        "{message}"
    );
    assert!(message.contains("thread (40, 0, 0) has returned from the kernel"), "{message}");

    let message = fault(test_out_of_bounds, LaunchShape::new(2, 32), (&mut out, 64));
    assert!(
        message.contains("block (1, 0, 0), thread (8, 0, 0): out of bounds: writes 4 bytes of global memory at "),
        "{message}"
    );
    assert!(
        message.contains("it begins 0 bytes after the end of the nearest registered buffer (256 bytes at "),
        "{message}"
    );

    let message = fault(test_unwritten_shared, LaunchShape::new(1, 32), (&mut out,));
    assert!(message.contains("thread (3, 0, 0): unwritten shared memory: reads `"), "{message}");
    assert!(message.contains("` + 20 bytes") && message.ends_with("which no thread wrote"), "{message}");

    let message = fault(test_shared_race, LaunchShape::new(1, 64), ());
    assert!(message.contains("thread (33, 0, 0): shared memory race: writes `"), "{message}");
    assert!(
        message.contains("which thread (2, 0, 0) wrote at ") && message.ends_with("with no barrier between"),
        "{message}"
    );

    let message = fault(test_trap, LaunchShape::new(3, 32), ());
    assert!(message.contains("block (1, 0, 0), thread (7, 0, 0): trap: "), "{message}");

    let message = fault(test_shared_out_of_bounds, LaunchShape::new(1, 32), (8,));
    assert!(message.contains("trap: "), "{message}");
    assert_eq!(stream.read(&out).expect("simt"), [0; 64], "nothing was written");
}
