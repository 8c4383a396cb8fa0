//! What the search is for: more playouts mean a smaller spread, and known best moves are found.

use warpplay::mcts::{Connect4, Options, Search, Variant, position_after};
use warpplay::{Device, Progress};
use warpplay_cpu_ref::mcts::Game as _;
use warpplay_cpu_ref::mcts::games::connect4::Connect4 as PlainConnect4;
use warpplay_cpu_ref::mcts::vanilla::Vanilla;
use warpplay_tests::backends::gpu;
use warpplay_tests::golden::{self, Tactic};

/// One step from the empty board on the CPU: all playouts are independent. Wins and playouts of each action.
fn one_step(variant: Variant, n_trees: u32, n_playouts: u32, seed: u64) -> Vec<(f64, f64)> {
    let options = Options { variant, n_trees, n_playouts, steps: Some(1), seconds: None, seed, ..Options::default() };
    let mut search = Search::<Connect4>::builder().options(options).build(&Device::cpu()).expect("small");
    let report = search.run(&Connect4::new(), Progress::go_on).expect("the empty board");
    report.actions.iter().map(|action| (action.wins as f64 + 0.5 * action.draws as f64, action.n as f64)).collect()
}

/// Standard deviation over seeds of the actions' values q, pooled over the actions (each about its own mean).
fn spread_of_q(variant: Variant, n_trees: u32, n_playouts: u32, seeds: u64) -> f64 {
    let runs: Vec<_> = (0..seeds).map(|seed| one_step(variant, n_trees, n_playouts, seed)).collect();
    let (mut squares, mut freedom) = (0.0, 0.0);
    for action in 0..7 {
        // An action that no tree drew has no value.
        let values: Vec<f64> =
            runs.iter().map(|run| run[action]).filter(|run| run.1 > 0.0).map(|(sum, n)| sum / n).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        squares += values.iter().map(|q| (q - mean).powi(2)).sum::<f64>();
        freedom += values.len() as f64 - 1.0;
    }
    (squares / freedom).sqrt()
}

/// Standard deviation over seeds of the root's mean value.
fn spread_of_root(variant: Variant, n_trees: u32, n_playouts: u32, seeds: u64) -> f64 {
    let values: Vec<f64> = (0..seeds)
        .map(|seed| {
            let run = one_step(variant, n_trees, n_playouts, seed);
            run.iter().map(|action| action.0).sum::<f64>() / run.iter().map(|action| action.1).sum::<f64>()
        })
        .collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (values.iter().map(|q| (q - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)).sqrt()
}

/// Slope of the best straight line through (ln x, ln y).
fn slope(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<_> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let n = logs.len() as f64;
    let (mean_x, mean_y) = (logs.iter().map(|p| p.0).sum::<f64>() / n, logs.iter().map(|p| p.1).sum::<f64>() / n);
    let covariance: f64 = logs.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
    covariance / logs.iter().map(|p| (p.0 - mean_x).powi(2)).sum::<f64>()
}

/// Section 2.5, equation (9): the spread of q falls as 1 / √(T m) for one child played, and as 1 / √(T b m) for all b children.
///
/// The logarithm of a spread over 32 seeds of 7 actions has a standard error of 1 / √(2 · 7 · 31) = 0.048, the slope through these six shapes one of 0.0098, and of 0.0123 where the
/// number k of trees that draw an action is random too. E(1 / k) is more than 1 / E(k), by 27 % for 32 trees, which turns the slope by 0.020. Five standard errors, which chance exceeds
/// once in two million, and this are 0.082.
#[test]
fn the_spread_of_q_falls_as_one_over_the_root_of_the_playouts() {
    const SHAPES: [(u32, u32); 6] = [(32, 1), (32, 8), (128, 2), (128, 16), (512, 4), (512, 32)];
    for variant in [Variant::OcpProdigal, Variant::AcpProdigal] {
        let points: Vec<_> = SHAPES
            .iter()
            .map(|&(n_trees, n_playouts)| {
                (f64::from(n_trees * n_playouts), spread_of_q(variant, n_trees, n_playouts, 32))
            })
            .collect();
        let slope = slope(&points);
        assert!((slope + 0.5).abs() <= 0.082, "{variant}: {slope} of {points:?}");
    }
}

/// The factor b of the same equation: seven children instead of one make the root's value √7 times as sharp.
#[test]
fn playing_all_children_narrows_the_spread_by_the_root_of_their_number() {
    let (ocp, acp) = (spread_of_root(Variant::OcpProdigal, 8, 4, 300), spread_of_root(Variant::AcpProdigal, 8, 4, 300));
    let ratio = ocp / acp;
    // The logarithm of a ratio of two spreads of 300 values has a standard error of √(1 / 299) = 0.058; chance exceeds four of them once in 16,000.
    assert!((ratio / 7f64.sqrt()).ln().abs() < 4.0 * 0.058, "{ratio}, expected √7 = 2.65");
}

#[test]
fn the_tactics_have_one_best_move_each() {
    let tactics = golden::tactics(&golden::text("connect4_tactics.txt"));
    assert_eq!(tactics.len(), 120);
    let worth = |value: char| "ldw".find(value);
    for tactic in &tactics {
        let position: Connect4 = position_after(&tactic.moves).expect("legal moves");
        let to_move = if tactic.moves.len() % 2 == 0 { 'X' } else { 'O' };
        assert_eq!(tactic.to_move, to_move, "{tactic:?}");
        let values: Vec<_> = tactic.values.chars().map(worth).collect();
        let best = values[tactic.best as usize - 1].expect("not full");
        assert!(
            values.iter().enumerate().all(|(column, &value)| column as u32 + 1 == tactic.best || value < Some(best)),
            "{tactic:?}"
        );
        for (column, value) in tactic.values.chars().enumerate() {
            use warpplay::mcts::Game;
            assert_eq!(position.is_legal(column as u32), value != '.', "{tactic:?}");
        }
    }
    if let Some(shared) = golden::shared("vectors/connect4_tactics.txt") {
        assert_eq!(std::fs::read_to_string(shared).expect("readable"), golden::text("connect4_tactics.txt"));
    }
}

/// Of each of the first `n` tactics, whether the search finds the best move.
fn found(device: &Device, n: usize, steps: u64) -> Vec<bool> {
    let options =
        Options { steps: Some(steps), seconds: None, n_trees: 8, n_playouts: 128, seed: 0, ..Options::default() };
    let mut search = Search::<Connect4>::builder().options(options).profile_steps(0).build(device).expect("memory");
    let tactics = golden::tactics(&golden::text("connect4_tactics.txt"));
    let is_found = |tactic: &Tactic| {
        let position = position_after(&tactic.moves).expect("legal moves");
        search.run(&position, Progress::go_on).expect("a search").best.index + 1 == tactic.best
    };
    tactics.iter().take(n).map(is_found).collect()
}

/// The same of the single-thread search, which makes one playout a step.
fn found_by_single_playouts(n: usize, steps: u64) -> Vec<bool> {
    let tactics = golden::tactics(&golden::text("connect4_tactics.txt"));
    let is_found = |tactic: &Tactic| {
        let mut position = PlainConnect4::new(6, 7);
        tactic.moves.bytes().for_each(|column| position.apply(usize::from(column - b'1')));
        let mut search = Vanilla::new(position, 2.0, 0.5, 0);
        (0..steps).for_each(|_| search.step());
        search.statistics().best + 1 == tactic.best as usize
    };
    tactics.iter().take(n).map(is_found).collect()
}

/// The chance that of independent events, each with its own chance, at least `least` happen.
fn chance_of(events: impl IntoIterator<Item = f64>, least: usize) -> f64 {
    let mut of_number = vec![1.0];
    for chance in events {
        of_number.push(0.0);
        for at in (0..of_number.len()).rev() {
            let one_less = if at > 0 { of_number[at - 1] } else { 0.0 };
            of_number[at] = of_number[at] * (1.0 - chance) + one_less * chance;
        }
    }
    of_number.iter().skip(least).sum()
}

/// The chance that who plays any legal column finds so many of the first `n` tactics or more.
fn by_chance(n: usize, good: usize) -> f64 {
    let tactics = golden::tactics(&golden::text("connect4_tactics.txt"));
    let columns = |tactic: &Tactic| tactic.values.chars().filter(|&value| value != '.').count();
    chance_of(tactics.iter().take(n).map(|tactic| 1.0 / columns(tactic) as f64), good)
}

#[test]
fn chances_are_binomial() {
    let one_in = |chance: f64| 1.0 / chance;
    assert!((one_in(chance_of([0.5; 3], 2)) - 2.0).abs() < 1e-12);
    assert!((one_in(chance_of([1.0 / 7.0; 8], 8)) - 7f64.powi(8)).abs() < 1e-3);
    assert_eq!(chance_of([0.25, 0.5], 0), 1.0);
}

/// The exact solver's best moves are found, and more of them than with as many steps of one playout each.
///
/// Which of two searches is the better one, those tactics tell that only one of them finds: were they as good as each other, each would be as likely to be the one (the sign test).
#[test]
fn on_a_gpu_more_tactics_are_found_than_by_as_many_steps_of_single_playouts() {
    let Some(device) = gpu() else { return };
    const STEPS: u64 = 100;
    let (found, single) = (found(&device, usize::MAX, STEPS), found_by_single_playouts(usize::MAX, STEPS));
    let only = |these: &[bool], those: &[bool]| these.iter().zip(those).filter(|&(&a, &b)| a && !b).count();
    let (ours, theirs) = (only(&found, &single), only(&single, &found));
    let chance = chance_of(vec![0.5; ours + theirs], ours);
    assert!(chance < 1e-3, "{ours} found by the search alone, {theirs} by single playouts alone: chance {chance:e}");
    let good = found.iter().filter(|&&good| good).count();
    let chance = by_chance(found.len(), good);
    assert!(chance < 1e-9, "{good} of {}, which chance finds in {chance:e}", found.len());
}

/// Six of eight, or more, who chooses at random finds once in 5,400 times. Without a GPU this stands for the whole file.
#[test]
fn on_the_cpu_more_tactics_are_found_than_by_chance() {
    let found = found(&Device::cpu(), 8, 100);
    let good = found.iter().filter(|&&good| good).count();
    let chance = by_chance(found.len(), good);
    assert!(chance < 1e-3, "{good} of {}, which chance finds in {chance:e}", found.len());
}
