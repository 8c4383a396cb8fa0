//! Self-play for a million moves.

use std::ops::ControlFlow;

use warpplay::azero::player::{Estimator, SearchOptions, SelfPlay};
use warpplay::azero::{Network, NetworkShape};
use warpplay_tests::backends::gpu;
use warpplay_tests::resident::resident;

const MOVES: u64 = 1_000_000;

/// A minute on a GPU.
#[test]
#[ignore = "takes minutes"]
fn a_million_moves_take_no_more_memory_than_the_first() {
    let Some(device) = gpu() else { return };
    let network = Network::seeded(NetworkShape::default(), 27).expect("the reference network");
    let search = SearchOptions { simulations: 64, seed: 27, ..SearchOptions::self_play() };
    let builder = SelfPlay::builder(Estimator::network(network, "reference")).search(search).parallel(1024);
    // No game has fewer than ten moves.
    let mut games = builder.games(MOVES / 10).build(&device).expect("memory for the trees");
    let (mut moves, mut first) = (0, None);
    let report = games.run(|progress| {
        moves += progress.latest.as_ref().map_or(0, |record| u64::from(record.plies));
        // What is taken once is taken when a tenth is played.
        if moves >= MOVES / 10 {
            first.get_or_insert_with(|| (device.allocations(), resident("VmRSS:")));
        }
        if moves < MOVES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let report = report.expect("no illegal action, no NaN, no failure");
    let (allocations, memory) = first.expect("a tenth of the moves");
    let grown = resident("VmRSS:").saturating_sub(memory);
    println!("{report}\n{moves} moves; {grown} bytes more on the host than after a tenth");
    assert!(moves >= MOVES, "{moves} moves");
    assert_eq!(device.allocations(), allocations, "buffers on the device");
    // A leak of 64 bytes a move, the smallest block of most allocators four times, would be more.
    assert!(grown < 64 * (moves - MOVES / 10), "{grown} bytes");
}
