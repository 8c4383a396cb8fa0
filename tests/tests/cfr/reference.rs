//! The plain solvers of `cpu-ref` against what other programs computed: see `tests/golden/cfr/README_reference.md`.

mod holdem;
mod matrix;
mod mccfr;
mod read;
mod sampled;
mod vector;

use std::sync::Arc;

use read::{Reference, floats, number};
use serde_json::Value;
use warpplay_cpu_ref::cfr::poker::Poker;
use warpplay_cpu_ref::cfr::tree::{Node, Profile, Solver, Tree};
use warpplay_cpu_ref::cfr::{Algorithm, Options, Updates};
use warpplay_tests::cfr::{close_to_value, tied};
use warpplay_tests::tolerance::{Tolerance, close, same};

/// Double precision in another order of summation, up to 100 iterations.
const F64: Tolerance = Tolerance { abs: 1e-12, rel: 1e-9 };

/// The tables are printed with twelve digits.
const PRINTED: Tolerance = Tolerance { abs: 2e-12, rel: 1e-11 };

/// Nodes of a tree above which only some checkpoints are looked at: measuring takes as long as iterating.
const LARGE: usize = 1_000_000;

/// Iterations up to which digits are compared: later, strategies switch at ties.
const LAST: u64 = 100;

fn options(name: &str) -> Options {
    let updates = if name.contains("simultaneous") { Updates::Simultaneous } else { Updates::Alternating };
    let algorithm = match name.split("_alternating").next().and_then(|name| name.split("_simultaneous").next()) {
        Some("cfr") => Algorithm::Cfr,
        Some("cfr_plus") => Algorithm::CfrPlus,
        Some("lcfr") => Algorithm::Lcfr,
        Some("dcfr") => Algorithm::Dcfr,
        Some("pcfr_plus") => Algorithm::PcfrPlus,
        _ => panic!("{name} is no algorithm"),
    };
    Options { algorithm, updates, ..Options::default() }
}

fn game(of: &Value) -> Poker {
    Poker::new(read::rules(of["gamedef"].as_str().expect("the game's text")))
}

/// The checkpoints of a trajectory in their order.
fn checkpoints(trajectory: &Value) -> Vec<(u64, &Value)> {
    let mut all: Vec<(u64, &Value)> = trajectory
        .as_object()
        .expect("checkpoints by iteration")
        .iter()
        .map(|(iteration, point)| (iteration.parse().expect("an iteration"), point))
        .filter(|&(iteration, _)| iteration <= LAST)
        .collect();
    all.sort_by_key(|&(iteration, _)| iteration);
    all
}

fn check_table(what: &str, solver: &Solver<String>, table: &Value) {
    let (tree, average) = (solver.tree(), solver.average());
    let table = table.as_object().expect("a table");
    assert_eq!(table.len(), tree.sets().len(), "{what}: sets");
    for (number, set) in tree.sets().iter().enumerate() {
        let row = &table[&set.key];
        let what = format!("{what}, {}", set.key);
        let regrets = &solver.state().regrets[set.seat][set.offset..set.offset + set.n_actions];
        close(&format!("{what}, average"), average.at(tree, number), &floats(&row["avg"]), PRINTED);
        close(&format!("{what}, regret"), regrets, &floats(&row["regret"]), PRINTED);
    }
}

fn check_game(name: &str, of: &Value) {
    let tree = Arc::new(Tree::new(&game(of)));
    for (algorithm, trajectory) in of["trajectories"].as_object().expect("trajectories") {
        let mut solver = Solver::new(tree.clone(), options(algorithm));
        for (iteration, point) in checkpoints(trajectory) {
            solver.iterate(iteration - solver.state().iteration);
            if tree.nodes().len() > LARGE && ![1, 10].contains(&iteration) {
                continue;
            }
            let what = format!("{name}, {algorithm}, iteration {iteration}");
            if tied(name, algorithm, iteration) {
                close_to_value(&what, &solver.values(), solver.nash_conv(), of);
                continue;
            }
            let got = [solver.nash_conv(), solver.positive_regret()];
            let expected = [number(&point["nash_conv"]), number(&point["regret_sum_positive"])];
            close(&what, &got, &expected, F64);
            close(&what, &solver.values(), &floats(&point["average_profile_value"]), F64);
            if let Some(table) = of["tables"][algorithm].get(iteration.to_string()) {
                check_table(&what, &solver, table);
            }
        }
    }
}

fn check(name: &str) {
    check_game(name, Reference::open().game(name));
}

#[test]
fn kuhn_for_two_follows_every_trajectory() {
    check("kuhn.limit.2p");
}

#[test]
fn kuhn_for_three_follows_every_trajectory() {
    check("kuhn.limit.3p");
}

#[test]
fn variant_a_follows_every_trajectory() {
    check("variant_a");
}

#[test]
fn leduc_for_two_follows_every_trajectory() {
    check("leduc.limit.2p");
}

#[test]
fn no_limit_leduc_follows_every_trajectory() {
    check("leduc.nolimit.2p");
}

#[test]
fn leduc_for_three_follows_every_trajectory() {
    check("leduc.limit.3p");
}

fn check_counts(name: &str, tree: &Tree<String>, counts: &Value) {
    let (mut chance, mut decision, mut terminal) = (0, 0, 0);
    for node in tree.nodes() {
        match node {
            Node::Chance { .. } => chance += 1,
            Node::Player { .. } => decision += 1,
            Node::End(_) => terminal += 1,
        }
    }
    let by_seat = |count: &dyn Fn(usize) -> usize| (0..tree.n_players()).map(count).collect::<Vec<usize>>();
    let sets = by_seat(&|seat| tree.sets().iter().filter(|set| set.seat == seat).count());
    let actions = by_seat(&|seat| tree.table_len(seat));
    let expected = |key: &str| floats(&counts[key]).into_iter().map(|count| count as usize).collect::<Vec<_>>();
    let single = |key: &str| number(&counts[key]) as usize;
    same(
        &format!("{name}: nodes, chance, decisions, ends"),
        &[tree.nodes().len(), chance, decision, terminal],
        &[single("histories"), single("chance"), single("decision"), single("terminal")],
    );
    same(&format!("{name}: information sets"), &sets, &expected("infosets"));
    same(&format!("{name}: actions"), &actions, &expected("infoset_actions"));
}

#[test]
fn trees_and_fixed_profiles_are_the_references() {
    let reference = Reference::open();
    for (name, of) in reference.games() {
        let game = game(of);
        let tree = Tree::new(&game);
        check_counts(name, &tree, &of["counts"]);
        for (kind, expected) in of["profiles"].as_object().expect("profiles") {
            let strategies = (0..tree.n_players()).map(|seat| {
                let mut strategy = vec![0.0; tree.table_len(seat)];
                for set in tree.sets().iter().filter(|set| set.seat == seat) {
                    let row = &mut strategy[set.offset..set.offset + set.n_actions];
                    let betting = set.key.rsplit(':').next().unwrap_or_default();
                    let facing_a_bet = read::can_fold(&game, betting);
                    match kind.as_str() {
                        "uniform" => row.fill(1.0),
                        "always_call" => row[usize::from(facing_a_bet)] = 1.0,
                        "raise_when_allowed" => row[set.n_actions - 1] = 1.0,
                        _ => panic!("{kind} is no profile"),
                    }
                }
                strategy
            });
            let profile = Profile::from_weights(&tree, &strategies.collect::<Vec<_>>());
            let what = format!("{name}, {kind}");
            close(&what, &profile.values(&tree), &floats(&expected["values"]), F64);
            close(&what, &profile.best_responses(&tree), &floats(&expected["best_response_values"]), F64);
            close(&what, &[profile.nash_conv(&tree)], &[number(&expected["nash_conv"])], F64);
        }
    }
}

#[test]
fn values_of_kuhn_and_leduc_are_those_of_the_linear_programme() {
    let reference = Reference::open();
    for (name, iterations) in [("kuhn.limit.2p", 2000), ("variant_a", 2000), ("leduc.limit.2p", 1000)] {
        let of = reference.game(name);
        let mut solver = Solver::new(
            Arc::new(Tree::new(&game(of))),
            Options { algorithm: Algorithm::PcfrPlus, ..Options::default() },
        );
        solver.iterate(iterations);
        let value = number(&of["game_value_player1"]);
        // The game's value is no further than both seats can still gain: no more than the reference after a tenth of the iterations or less.
        let conv = solver.nash_conv();
        close(name, &solver.values()[..1], &[value], Tolerance { abs: conv + F64.abs, rel: 0.0 });
        let most = number(&of["trajectories"]["pcfr_plus_alternating_quadratic"]["100"]["nash_conv"]);
        assert!(conv < most, "{name}: {conv}, at most {most}");
    }
}

#[test]
fn a_solve_goes_on_from_its_state_with_the_same_bits() {
    let of = Reference::open();
    let tree = Arc::new(Tree::new(&game(of.game("leduc.limit.2p"))));
    for algorithm in [Algorithm::Dcfr, Algorithm::PcfrPlus] {
        let options = Options { algorithm, ..Options::default() };
        let (mut whole, mut first) = (Solver::new(tree.clone(), options), Solver::new(tree.clone(), options));
        whole.iterate(9);
        first.iterate(4);
        let mut second = Solver::new(tree.clone(), options);
        second.set_state(first.state().clone());
        second.iterate(5);
        assert!(second.state() == whole.state(), "{algorithm:?}");
    }
}
