//! The search of AlphaZero and the player that uses it.

use warpplay::azero::checkers::Checkers;
use warpplay::azero::player::{
    ActionVisits, Contestant, Decision, Estimator, Match, MatchOptions, Noise, Player, SearchOptions, SelfPlay, Trees,
};
use warpplay::azero::{GameRecord, append_records, read_records, write_records};
use warpplay::mcts::{Game as _, Outcome, Player as Side, Search};
use warpplay::{Device, Error};
use warpplay_cpu_ref::azero::search as reference;
use warpplay_cpu_ref::mcts::games::checkers::Checkers as PlainCheckers;
use warpplay_cpu_ref::mcts::{Game as _, Stream};
use warpplay_tests::Checked;
use warpplay_tests::backends::{demanded, for_each_device, kernel_devices};

/// A position as kernels and as the reference have it.
#[derive(Clone, Debug)]
struct Both {
    kernels: Checkers,
    plain: PlainCheckers,
}

impl Both {
    fn start() -> Self {
        Self { kernels: Checkers::new(), plain: PlainCheckers::new() }
    }

    fn play(&mut self, action: usize) {
        self.kernels.apply(action as u32);
        self.plain.apply(action);
    }
}

/// Every position of a random game, without its end.
fn random_game(seed: u64) -> Vec<Both> {
    let mut stream = Stream::from_state([seed + 1, 0x9E37_79B9_7F4A_7C15]);
    let mut both = Both::start();
    let mut positions = Vec::new();
    let mut legal = Vec::new();
    while both.plain.result().is_none() {
        positions.push(both.clone());
        both.plain.legal_actions(&mut legal);
        let action = legal[stream.below(legal.len() as u32) as usize];
        both.play(action);
    }
    positions
}

/// What the plain search finds, on its own rules.
fn plain_search(both: &Both, options: &SearchOptions, estimator: &Estimator, game: u64, ply: u32) -> Decision {
    let params = reference::Params {
        leaves: options.leaves as usize,
        c_puct: options.c_puct,
        noise: options.noise.map(|noise| reference::Noise { alpha: noise.alpha, epsilon: noise.epsilon }),
        max_nodes: options.max_nodes.map_or(1 + 24 * (options.simulations as usize + 1), |n| n as usize).max(49),
        max_path: 256,
    };
    let task = reference::Task {
        position: both.plain.clone(),
        key: reference::key(options.seed, game, u64::from(ply)),
        temperature: if ply < options.temperature_plies { options.temperature } else { 0.0 },
        simulations: options.simulations as usize,
    };
    let found = reference::search(params, vec![task], |leaves| match estimator {
        Estimator::Playouts(n) => Ok::<_, Error>(reference::playouts(leaves, *n)),
        _ => Ok(reference::uniform(leaves)),
    });
    let found = found.expect("nothing fails").remove(0);
    let actions = found.actions.iter().map(|action| ActionVisits {
        action: action.action as u32,
        visits: action.visits,
        prior: action.prior,
        value: action.value,
    });
    Decision {
        action: found.action as u32,
        value: found.value,
        actions: actions.collect(),
        n_nodes: found.n_nodes as u32,
    }
}

#[test]
fn kernels_and_the_plain_search_agree_bit_for_bit() {
    let noise = Some(Noise { alpha: 0.3, epsilon: 0.25 });
    let warm = SearchOptions { temperature_plies: 1000, ..SearchOptions::default() };
    let cases = [
        (SearchOptions { simulations: 33, leaves: 1, ..SearchOptions::default() }, Estimator::Uniform),
        (SearchOptions { simulations: 50, leaves: 4, noise, seed: 5, ..warm }, Estimator::Uniform),
        (SearchOptions { simulations: 45, leaves: 8, noise, seed: 1, ..SearchOptions::default() }, Estimator::Playouts(3)),
        (SearchOptions { simulations: 40, leaves: 16, temperature: 0.5, seed: 9, ..warm }, Estimator::Playouts(40)),
        // A tree that is full after a few expansions, and fewer simulations than leaves.
        (SearchOptions { simulations: 60, leaves: 3, max_nodes: Some(64), c_puct: 0.7, ..warm }, Estimator::Playouts(2)),
        (SearchOptions { simulations: 3, leaves: 7, noise, ..warm }, Estimator::Uniform),
    ];
    for_each_device(|device| {
        for (number, (options, estimator)) in cases.iter().enumerate() {
            let mut player = Player::builder().options(*options).estimator(estimator.clone()).build(device)?;
            let game = random_game(number as u64);
            for at in [0, game.len() / 3, game.len() * 2 / 3, game.len() - 1] {
                let (game_number, ply) = (number as u64, at as u32);
                let found = player.choose_at(&game[at].kernels, game_number, ply)?;
                let expected = plain_search(&game[at], options, estimator, game_number, ply);
                assert_eq!(found, expected, "case {number}, ply {at}");
                let visits: u32 = found.actions.iter().map(|action| action.visits).sum();
                assert_eq!(visits, options.simulations);
            }
        }
        Ok(())
    });
}

#[test]
fn debug_print() {
    let device = Device::simt();
    for n in 1..34 {
        let options = SearchOptions { simulations: n, leaves: 1, ..SearchOptions::default() };
        let mut player = Player::builder().options(options).build(&device).unwrap();
        let found = player.choose(&Checkers::new()).unwrap();
        let visits: Vec<u32> = found.actions.iter().map(|a| a.visits).collect();
        println!("{n} {visits:?} {}", found.n_nodes);
    }
}
