//! Measurements, run by hand: `cargo test --release -p warpplay-cpu-ref --test speed_and_strength -- --ignored --nocapture`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use warpplay_cpu_ref::mcts::games::connect4::Connect4;
use warpplay_cpu_ref::mcts::games::gomoku::Gomoku;
use warpplay_cpu_ref::mcts::vanilla::Vanilla;
use warpplay_cpu_ref::mcts::{Game, Params, Search, Streams};

#[path = "../../tests/src/skipped.rs"]
mod skipped;
use skipped::skipped;

#[test]
#[ignore = "a measurement: wants a release build and an idle machine"]
fn vanilla_makes_300_000_steps_a_second_on_connect4() {
    let mut player = Vanilla::new(Connect4::new(6, 7), 2.0, 0.5, 0);
    let start = Instant::now();
    let steps = player.run(None, Some(Duration::from_secs(3)), &|| false);
    let rate = steps as f64 / start.elapsed().as_secs_f64();
    let statistics = player.statistics();
    println!("vanilla, Connect 4 6x7, 3 s: {rate:.0} steps/s, best {}, {:?}", statistics.best, statistics.trees);
    assert!(rate > 300_000.0, "{rate:.0} steps/s");
}

fn playout_time<G: Game>(name: &str, position: &G) {
    let mut stream = Streams::new(0).playout(0);
    let n = 200_000;
    let start = Instant::now();
    let plies: u64 = (0..n).map(|_| u64::from(position.playout(&mut stream).1)).sum();
    let seconds = start.elapsed().as_secs_f64();
    println!("playout, {name}: {:.0} ns, {:.1} plies", seconds / f64::from(n) * 1e9, plies as f64 / f64::from(n));
}

#[test]
#[ignore = "a measurement: wants a release build and an idle machine"]
fn playouts() {
    playout_time("Connect 4 6x7", &Connect4::new(6, 7));
    playout_time("Gomoku 15x15", &Gomoku::new(15, true));
}

#[test]
#[ignore = "a measurement: wants a release build and an idle machine"]
fn steps_and_streams() {
    let start = Instant::now();
    let params = Params { n_trees: 512, n_playouts: 512, ..Params::default() };
    let mut search = Search::new(params, Connect4::new(6, 7));
    println!("512 x 7 x 512 streams: {:?}", start.elapsed());
    let start = Instant::now();
    search.step_parallel();
    println!(
        "T = 512, m = 512, one parallel step: {:?} with {} threads",
        start.elapsed(),
        rayon::current_num_threads()
    );
    for parallel in [false, true] {
        let mut search = Search::new(Params::default(), Connect4::new(6, 7));
        let start = Instant::now();
        for _ in 0..100 {
            if parallel { search.step_parallel() } else { search.step() }
        }
        println!("T = 8, m = 128, parallel {parallel}: {:?} a step", start.elapsed() / 100);
    }
}

/// The share of solved positions, of which each has a single best move, that the search solves.
#[test]
#[ignore = "takes two minutes on two cores, and needs the large test data"]
fn finds_the_only_best_moves_of_connect4_tactics() {
    let folder = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
    // As who starts the tests says: a bundle's run in another copy of the repository than they were built in.
    let package = folder("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let shared = folder("WARPPLAY_SHARED").unwrap_or_else(|| package.join("../../shared"));
    let path = shared.join("vectors/connect4_tactics.txt");
    let Ok(text) = std::fs::read_to_string(&path) else {
        return skipped(format_args!("{} is absent", path.display()));
    };
    let (mut hits, mut n) = (0, 0);
    for fields in
        text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split_whitespace().collect::<Vec<_>>())
    {
        let mut position = Connect4::new(6, 7);
        for column in fields[0].bytes() {
            position.apply(usize::from(column - b'1'));
        }
        let best: usize = fields[3].parse().unwrap();
        let params = Params { max_tree_nodes: 100_000, ..Params::default() };
        let start = Instant::now();
        let mut search = Search::new(params, position);
        for _ in 0..2000 {
            search.step_parallel();
        }
        let found = search.statistics().best + 1;
        n += 1;
        hits += usize::from(found == best);
        println!("{:<28} best {best} found {found} {:?}", fields[0], start.elapsed());
    }
    println!("{hits} of {n}");
    assert!(hits * 100 >= n * 85, "{hits} of {n}");
}
