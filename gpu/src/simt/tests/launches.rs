//! Launches: every thread once, in the same order, within the limits.

use super::*;

kernel!(indices(out: *mut u32) {
    let ([tx, ty, tz], [bx, by, bz]) = (hooks::thread_idx(), hooks::block_idx());
    let ([dx, dy, dz], [gx, gy, _]) = (hooks::block_dim(), hooks::grid_dim());
    let thread = tx + dx * (ty + dy * tz);
    assert_eq!(hooks::lane(), thread % 32);
    let block = bx + gx * (by + gy * bz);
    global_store(out, block * dx * dy * dz + thread, thread << 16 | block);
});

#[test]
fn every_thread_of_every_block_runs_once_with_its_indices() {
    let shape = LaunchShape { grid: [3, 2, 2], block: [5, 3, 4], ..LaunchShape::new(1, 1) };
    let out = output(indices, shape, 12 * 60);
    for (i, value) in (0..).zip(out) {
        assert_eq!(value, (i % 60) << 16 | (i / 60));
    }
}

kernel!(early_return(out: *mut u32) {
    if global_x().is_multiple_of(3) {
        return;
    }
    global_store(out, global_x(), 1);
});

#[test]
fn threads_may_return_early_where_nobody_waits() {
    let out = output(early_return, LaunchShape::new(4, 100), 400);
    assert!((0..).zip(out).all(|(i, v)| v == u32::from(i % 3 != 0)));
}

#[test]
fn two_runs_give_the_same() {
    kernel!(order(out: *mut u32, next: *mut u32) {
        let turn = |round: u32| {
            // SAFETY: one OS thread runs the cooperative grid.
            unsafe {
                *next += 1;
                *out.wrapping_add((global_x() * 4 + round) as usize) = *next;
            }
        };
        turn(0);
        hooks::sync_threads();
        turn(1);
        hooks::collective(u32::MAX, 0);
        turn(2);
        hooks::sync_grid();
        turn(3);
    });
    let once = || {
        let (mut out, mut next) = (vec![0_u32; 3 * 70 * 4], 0_u32);
        let params = (out.as_mut_ptr(), std::ptr::from_mut(&mut next));
        run(order, LaunchShape::new(3, 70).cooperative(), params).expect("keeps the rules");
        out
    };
    let first = once();
    assert_eq!(first, once());
    assert_eq!(first[..5], [1, 71, 71 + 70, 631, 2]);
}

#[test]
fn launches_nest_in_rayon_and_under_a_lock() {
    let lock = std::sync::Mutex::new(());
    let sums: Vec<u32> = (0..64_u32)
        .into_par_iter()
        .map(|i| {
            let _guard = lock.lock();
            output(block_sum, LaunchShape::new(6, 64 + i), 6)[0]
        })
        .collect();
    for (i, sum) in (64..).zip(sums) {
        assert_eq!(sum, i * (i - 1) / 2);
    }
}

#[test]
fn stacks_are_reused_from_launch_to_launch() {
    let n_stacks = || {
        let workspace = Workspace::take();
        let n = workspace.n_stacks();
        workspace.put();
        n
    };
    let options = Options { threads: Some(1), ..Options::default() };
    let before = n_stacks();
    for round in 0..50 {
        let mut out = [0_u32; 8];
        let at = out.as_mut_ptr();
        let _registration = memory::register(at as usize, 32);
        // SAFETY: the buffer lives through the launch.
        unsafe { launch(block_sum, LaunchShape::new(8, 256), (at,), &options) }.expect("keeps the rules");
        // Faults give their stacks back as well.
        // SAFETY: touches no memory.
        unsafe { launch(one_stays_away, LaunchShape::new(8, 256), (), &options) }.expect_err("diverges");
        assert!(n_stacks() <= before.max(256), "round {round}: {}", n_stacks());
    }
    kernel!(no_barrier() {
        hooks::globaltimer();
    });
    std::thread::spawn(move || {
        // SAFETY: touches no memory.
        unsafe { launch(no_barrier, LaunchShape::new(8, 1024), (), &options) }.expect("keeps the rules");
        assert_eq!(n_stacks(), 1, "threads that do not wait share one stack");
    })
    .join()
    .expect("the thread ends");
}

#[test]
fn shapes_are_checked() {
    kernel!(idle() {});
    kernel!(#[max = 128] bounded() {});
    let text = |shape| fault(idle, shape, ()).1;
    let big = LaunchShape::new(1, 1);
    assert_eq!(
        text(LaunchShape::new(0, 1)),
        "kernel `idle`: grid (0, 1, 1) is not possible (1 to 2147483647 blocks in x, 1 to 65535 in y and z)"
    );
    assert_contains(&text(LaunchShape::grid_2d(1, 65_536, 1)), &["1 to 65535 in y"]);
    assert_contains(&text(LaunchShape::new(1, 0)), &["block (0, 1, 1) is not possible (1 to 1024 threads"]);
    assert_contains(&text(LaunchShape::new(1, 1025)), &["block (1025, 1, 1)"]);
    assert_contains(&text(LaunchShape { block: [64, 32, 1], ..big }), &["1 to 1024 threads"]);
    assert_contains(&text(LaunchShape { block: [1, 1, 65], ..big }), &["at most 64 in z"]);
    assert_contains(&text(big.with_shared(232_449)), &["232449 bytes", "at most 232448"]);
    assert_contains(&text(LaunchShape::new(6, 1).with_cluster(4)), &["clusters of 4 blocks", "a divisor"]);
    assert_contains(&text(LaunchShape::new(32, 1).with_cluster(32)), &["1 to 16"]);
    assert_contains(&text(LaunchShape::new(16, 1).with_cluster(0)), &["1 to 16"]);
    assert_contains(&text(LaunchShape::new(17, 1024).cooperative()), &["at most 16384 threads"]);
    assert_contains(
        &text(LaunchShape { grid: [i32::MAX as u32, 65_535, 65_535], ..big.cooperative() }),
        &["at most 16384 threads"],
    );
    run(bounded, LaunchShape::new(1, 128), ()).expect("within the bounds");
    assert_contains(&fault(bounded, LaunchShape::new(1, 129), ()).1, &["launch bounds (at most 128)"]);
    kernel!(too_much() {
        hooks::shared_static("huge", 48 * 1024);
        hooks::shared_static("more", 1);
    });
    assert_contains(&fault(too_much, big, ()).1, &["shared array `more`", "at most 49152 static"]);
    kernel!(changes() {
        hooks::shared_static("array", 4);
        hooks::shared_static("array", 8);
    });
    assert_contains(&fault(changes, big, ()).1, &["has 8 bytes, and had 4 before"]);
    kernel!(launches() {
        let inner = run(idle, LaunchShape::new(1, 1), ());
        assert_contains(&inner.expect_err("refused").to_string(), &["cannot launch kernels"]);
    });
    run(launches, big, ()).expect("the inner launch is refused, the outer one is not");
}

#[test]
fn a_large_cooperative_grid_runs_and_gives_its_stacks_back() {
    kernel!(meet(count: *const AtomicU32) {
        // SAFETY: the counter outlives the launch.
        let count = unsafe { &*count };
        count.fetch_add(1, Ordering::Relaxed);
        hooks::sync_grid();
        assert_eq!(count.load(Ordering::Relaxed), 8192);
    });
    let count = AtomicU32::new(0);
    run(meet, LaunchShape::new(32, 256).cooperative(), (&raw const count,)).expect("keeps the rules");
    let workspace = Workspace::take();
    assert!(workspace.n_stacks() <= 2048);
    workspace.put();
}

// --- Speed ---

thread_local! {
    static BUSY: Cell<u64> = const { Cell::new(0) };
}

/// Simulated threads a second on one core. Run with
/// `cargo test --release -p warpplay-gpu --no-default-features simt -- --ignored --nocapture speed`.
#[test]
#[ignore = "a measurement"]
fn speed() {
    kernel!(nothing() {
        BUSY.set(BUSY.get() + u64::from(global_x()));
    });
    kernel!(one_barrier() {
        BUSY.set(BUSY.get() + u64::from(x()));
        hooks::sync_threads();
    });
    kernel!(five_shuffles() {
        let mut sum = u64::from(x());
        for offset in [16, 8, 4, 2, 1] {
            sum += hooks::collective(u32::MAX, sum)[(x() as usize % 32) ^ offset];
        }
        BUSY.set(BUSY.get() + sum);
    });
    kernel!(shared_exchange() {
        let tile = hooks::shared_static("tile", 4096);
        shared_store(tile + 4 * x(), x());
        hooks::sync_threads();
        let mut sum = 0;
        for k in 0..8 {
            sum += shared_load(tile + 4 * (x() ^ k));
        }
        BUSY.set(BUSY.get() + u64::from(sum));
    });
    kernel!(global_writes(out: *mut u32) {
        global_store(out, global_x(), 1);
    });
    fn measure<K: Kernel>(kernel: K, shape: LaunchShape, params: K::Params) {
        for check_races in [true, false] {
            let options = Options { check_races, threads: Some(1), ..Options::default() };
            let mut best = f64::INFINITY;
            for _ in 0..5 {
                let start = std::time::Instant::now();
                // SAFETY: as in `run`.
                unsafe { launch(kernel, shape, params, &options) }.expect("keeps the rules");
                best = best.min(start.elapsed().as_secs_f64());
            }
            let n = shape.n_blocks() * u64::from(shape.n_threads());
            println!(
                "{:<16} block {:>4}, races {:<8} {:>7.2} million threads/s",
                K::NAME,
                shape.n_threads(),
                if check_races { "checked," } else { "ignored," },
                n as f64 / best / 1e6
            );
        }
    }
    for n in [32, 128, 1024] {
        let shape = LaunchShape::new(1_048_576 / n, n);
        measure(nothing, shape, ());
        measure(one_barrier, shape, ());
        measure(five_shuffles, shape, ());
        measure(shared_exchange, shape, ());
        let mut out = vec![0_u32; 1 << 20];
        let _registration = memory::register(out.as_mut_ptr() as usize, 4 << 20);
        measure(global_writes, shape, (out.as_mut_ptr(),));
    }
    let launches = AtomicU64::new(0);
    let start = std::time::Instant::now();
    while start.elapsed().as_millis() < 500 {
        run(one_barrier, LaunchShape::new(8, 32), ()).expect("keeps the rules");
        launches.fetch_add(1, Ordering::Relaxed);
    }
    println!("{} launches/s of 8 blocks of 32 threads", 2 * launches.into_inner());
}
