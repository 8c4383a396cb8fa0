//! The engine against the reference's numbers, and its rules.

use std::sync::Arc;

use super::*;
use crate::cfr::game::extensive::tests::{KUHN, KUHN_3P, LEDUC, poker, rules};
use crate::cfr::game::extensive::{Game, Goofspiel, LiarsDice, MatrixGame, Poker, PrizeOrder, Turn};
use crate::cfr::layout::{Tables, Values};
use crate::cfr::options::Updates;

/// `simt`, and the GPU where there is one.
pub(in crate::cfr) fn devices() -> Vec<Device> {
    [Device::simt()].into_iter().chain(Device::cuda(0)).collect()
}

/// These, and the CPU.
pub(in crate::cfr) fn all_devices() -> Vec<Device> {
    [Device::cpu()].into_iter().chain(devices()).collect()
}

/// NashConv and values after so many iterations.
pub(in crate::cfr) fn after(engine: &mut dyn Solve, n: u32) -> (f64, Vec<f64>) {
    engine.run(n).expect("iterations");
    let measured = engine.measure().expect("a measure");
    (measured.nash_conv(), measured.values)
}

/// Σ of positive regrets.
fn positive(tables: &Tables) -> f64 {
    let of_seat = |values: &Values| (0..values.len()).map(|at| values.get(at).max(0.0)).sum::<f64>();
    tables.regrets.iter().map(of_seat).sum()
}

fn options(algorithm: Algorithm, updates: Updates, precision: Precision) -> Options {
    Options { algorithm, updates, precision, ..Options::default() }
}

#[track_caller]
fn close(got: f64, expected: f64, relative: f64, what: &str) {
    assert!((got - expected).abs() <= relative * expected.abs() + 1e-15, "{what}: got {got:e}, expected {expected:e}");
}

/// NashConv of the reference after 1, 2 and 3 iterations, and of regrets after 3.
const KUHN_RUNS: [(Algorithm, Updates, [f64; 3], f64); 7] = [
    (Algorithm::Cfr, Updates::Alternating, [0.916666666666667, 0.541666666666667, 0.388888888888889], 1.91666666666667),
    (Algorithm::Cfr, Updates::Simultaneous, [0.916666666666667, 0.625, 0.541666666666667], 1.83333333333333),
    (
        Algorithm::CfrPlus,
        Updates::Alternating,
        [0.916666666666667, 0.527777777777778, 0.282634032634033],
        2.57276057276057,
    ),
    (
        Algorithm::CfrPlus,
        Updates::Simultaneous,
        [0.916666666666667, 0.638888888888889, 0.551406926406926],
        2.20400432900433,
    ),
    (Algorithm::Lcfr, Updates::Alternating, [0.916666666666667, 0.527777777777778, 0.28125], 0.815104166666667),
    (
        Algorithm::Dcfr,
        Updates::Alternating,
        [0.916666666666667, 0.516666666666667, 0.266369047619048],
        1.06816167993482,
    ),
    (
        Algorithm::PcfrPlus,
        Updates::Alternating,
        [0.916666666666667, 0.516666666666667, 0.206453634085213],
        2.57654954030552,
    ),
];

#[test]
fn kuhn_follows_the_reference_with_every_algorithm() {
    let tree = Arc::new(poker(KUHN));
    for device in all_devices() {
        for (algorithm, updates, nash_conv, regrets) in KUHN_RUNS {
            for (precision, relative) in [(Precision::F64, 1e-12), (Precision::F32, 1e-6)] {
                let options = options(algorithm, updates, precision);
                let mut engine = build(&device, Arc::clone(&tree), &options).expect("an engine");
                let what = format!("{algorithm} {updates} {precision} on {device}");
                for expected in nash_conv {
                    close(after(&mut *engine, 1).0, expected, relative, &what);
                }
                close(positive(&engine.tables().expect("tables")), regrets, relative, &what);
            }
        }
    }
}

#[test]
fn three_players_and_two_rounds_follow_the_reference() {
    let (kuhn, leduc) = (Arc::new(poker(KUHN_3P)), Arc::new(poker(LEDUC)));
    for device in all_devices() {
        let alternating = options(Algorithm::Cfr, Updates::Alternating, Precision::F64);
        let simultaneous = options(Algorithm::Cfr, Updates::Simultaneous, Precision::F64);
        let mut engine = build(&device, Arc::clone(&kuhn), &alternating).expect("an engine");
        let (nash_conv, values) = after(&mut *engine, 3);
        close(nash_conv, 0.988756613756614, 1e-12, "Kuhn for 3");
        for (got, expected) in values.iter().zip([-0.0700369268077603, 0.0564167217813051, 0.0136202050264551]) {
            close(*got, expected, 1e-11, "values of Kuhn for 3");
        }
        let mut engine = build(&device, Arc::clone(&kuhn), &simultaneous).expect("an engine");
        close(after(&mut *engine, 3).0, 1.03834816261574, 1e-12, "Kuhn for 3, simultaneous");
        let mut engine = build(&device, Arc::clone(&leduc), &alternating).expect("an engine");
        for expected in [4.74722222222222, 4.12263888888889, 3.59761317382768] {
            close(after(&mut *engine, 1).0, expected, 1e-12, "Leduc");
        }
        close(positive(&engine.tables().expect("tables")), 43.2049193382602, 1e-12, "regrets of Leduc");
        let mut engine = build(&device, Arc::clone(&leduc), &simultaneous).expect("an engine");
        close(after(&mut *engine, 3).0, 4.19397794189639, 1e-12, "Leduc, simultaneous");
    }
}

#[test]
fn a_stored_solve_goes_on_with_the_same_bits() {
    let tree = Arc::new(poker(KUHN_3P));
    for device in all_devices() {
        for algorithm in [Algorithm::Dcfr, Algorithm::PcfrPlus] {
            let options = options(algorithm, Updates::Alternating, Precision::F32);
            let mut whole = build(&device, Arc::clone(&tree), &options).expect("an engine");
            whole.run(40).expect("iterations");
            let mut first = build(&device, Arc::clone(&tree), &options).expect("an engine");
            first.run(17).expect("iterations");
            let stored = first.tables().expect("tables");
            let mut second = build(&device, Arc::clone(&tree), &options).expect("an engine");
            second.set_tables(&stored).expect("tables of the same game");
            second.run(23).expect("iterations");
            assert_eq!(whole.tables().expect("tables"), second.tables().expect("tables"), "{algorithm} on {device}");
        }
    }
}

/// A game whose payoffs are a little off, each by another amount: no two actions are equally good, so that best responses do not hang on rounding.
struct Uneven(Poker);

impl Game for Uneven {
    type State = <Poker as Game>::State;

    fn name(&self) -> String {
        "uneven poker".to_string()
    }

    fn n_players(&self) -> usize {
        2
    }

    fn root(&self) -> Self::State {
        self.0.root()
    }

    fn turn(&self, state: &Self::State) -> Turn {
        match self.0.turn(state) {
            Turn::End(payoffs) => {
                let off = |seat: usize| {
                    let text = format!("{seat}{state:?}");
                    let sum = text.bytes().fold(7u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
                    f64::from(sum % 1009) / 5000.0
                };
                Turn::End(payoffs.iter().enumerate().map(|(seat, payoff)| payoff + off(seat)).collect())
            }
            other => other,
        }
    }

    fn next(&self, state: &Self::State, action: usize) -> Self::State {
        self.0.next(state, action)
    }

    fn key(&self, state: &Self::State) -> String {
        self.0.key(state)
    }
}

#[test]
fn the_plain_program_finds_the_same_tables() {
    let uneven = Uneven(Poker::new(&rules(KUHN)).expect("a game"));
    let uneven = Arc::new(Tree::build(&uneven).expect("a tree"));
    let leduc = Arc::new(poker(LEDUC));
    let dice = Arc::new(Tree::build(&LiarsDice::new(3, 1, 2).expect("a game")).expect("a tree"));
    let prizes = Goofspiel::new(3, 3, PrizeOrder::Ascending).expect("a game");
    let prizes = Arc::new(Tree::build(&prizes).expect("a tree"));
    for (tree, algorithm, updates, n) in [
        (&uneven, Algorithm::CfrBr, Updates::Alternating, 20),
        (&leduc, Algorithm::PcfrPlus, Updates::Alternating, 4),
        (&dice, Algorithm::Dcfr, Updates::Alternating, 20),
        (&prizes, Algorithm::Lcfr, Updates::Simultaneous, 6),
    ] {
        let options = options(algorithm, updates, Precision::F64);
        let mut plain = build(&Device::cpu(), Arc::clone(tree), &options).expect("an engine");
        let expected = after(&mut *plain, n);
        let expected_tables = plain.tables().expect("tables");
        for device in devices() {
            let what = format!("{} by {algorithm} on {device}", tree.name());
            let mut engine = build(&device, Arc::clone(tree), &options).expect("an engine");
            let got = after(&mut *engine, n);
            close(got.0, expected.0, 1e-10, &what);
            let tables = engine.tables().expect("tables");
            let pairs = [
                (&tables.regrets, &expected_tables.regrets),
                (&tables.averages, &expected_tables.averages),
                (&tables.predictions, &expected_tables.predictions),
            ];
            for (got, expected) in pairs.into_iter().flat_map(|(got, expected)| got.iter().zip(expected)) {
                for at in 0..expected.len() {
                    let (got, expected) = (got.get(at), expected.get(at));
                    assert!((got - expected).abs() < 1e-11 * expected.abs().max(1.0), "{what}: {got} {expected}");
                }
            }
            for (got, expected) in tables.utilities.iter().zip(&expected_tables.utilities) {
                assert!((got - expected).abs() < 1e-11 * expected.abs().max(1.0), "{what}: utilities");
            }
        }
    }
}

#[test]
fn tables_of_another_solve_are_refused() {
    let device = Device::simt();
    let plain = options(Algorithm::Cfr, Updates::Alternating, Precision::F32);
    let mut kuhn = build(&device, Arc::new(poker(KUHN)), &plain).expect("an engine");
    let mut other = build(&device, Arc::new(poker(KUHN_3P)), &plain).expect("an engine");
    let double = Options { precision: Precision::F64, ..plain };
    let mut double = build(&device, Arc::new(poker(KUHN)), &double).expect("an engine");
    assert!(kuhn.set_tables(&other.tables().expect("tables")).is_err());
    assert!(kuhn.set_tables(&double.tables().expect("tables")).is_err());
    let tables = Tables { utilities: vec![0.0], ..kuhn.tables().expect("tables") };
    assert!(kuhn.set_tables(&tables).is_err());
}

#[test]
fn worked_examples_of_matrix_games() {
    for device in all_devices() {
        // Rock, paper, scissors: from uniform strategies nothing is regretted.
        let plain = options(Algorithm::Cfr, Updates::Simultaneous, Precision::F64);
        let tree = Arc::new(Tree::build(&MatrixGame::rock_paper_scissors()).expect("a tree"));
        let mut engine = build(&device, tree, &plain).expect("an engine");
        assert!(after(&mut *engine, 50).0.abs() < 1e-12);
        // With rock counting double (a win by it, or over it) the solution is 1/4, 1/2, 1/4.
        let names = ["rock", "paper", "scissors"];
        let payoffs: [&[f64]; 3] = [&[0.0, -1.0, 2.0], &[1.0, 0.0, -1.0], &[-2.0, 1.0, 0.0]];
        let game = MatrixGame::zero_sum("rock is worth more", &names, &names, &payoffs).expect("a game");
        let plus = options(Algorithm::CfrPlus, Updates::Alternating, Precision::F64);
        let mut engine = build(&device, Arc::new(Tree::build(&game).expect("a tree")), &plus).expect("an engine");
        let (early, _) = after(&mut *engine, 200);
        let (nash_conv, values) = after(&mut *engine, 1800);
        // The bound on the regrets falls with the root of the iterations. The game's value, 0, is no further than both seats can still gain.
        assert!(nash_conv < early && values[0].abs() <= nash_conv, "{nash_conv} after {early}, {values:?}");
        let tables = engine.tables().expect("tables");
        let sums = &tables.averages[0];
        let total: f64 = (0..3).map(|at| sums.get(at)).sum();
        // What the other's actions win against shares off by (r, p, s): 2s - p, r - s and p - 2r, which with weights 1, 2 and 1 add up to 0. None is more than ε, so that none is below -3ε; shares add up
        // to 1, so that they are off by 5ε at most.
        for (at, part) in [0.25, 0.5, 0.25].into_iter().enumerate() {
            assert!((sums.get(at) / total - part).abs() <= 5.0 * nash_conv, "{}", sums.get(at) / total);
        }
        // The prisoner's dilemma: both confess, three years of four.
        let tree = Arc::new(Tree::build(&MatrixGame::prisoners_dilemma()).expect("a tree"));
        let mut engine = build(&device, tree, &plus).expect("an engine");
        let (_, values) = after(&mut *engine, 200);
        // To confess is better whatever the other does: both keep silent in half of the first iteration alone, whose weight is 1 of 1 + … + 200. That is 3 for both, 0 for the one who is told on, 4 for the
        // other, else 1.
        let silent = 0.5 / f64::from(200 * 201 / 2);
        let value = 3.0 * silent * silent + 4.0 * silent * (1.0 - silent) + (1.0 - silent) * (1.0 - silent);
        assert!(values.iter().all(|found| (found - value).abs() < 1e-12), "{values:?}");
    }
}

#[test]
fn learning_against_best_responses_converges() {
    let tree = Arc::new(poker(KUHN));
    for device in all_devices() {
        let br = options(Algorithm::CfrBr, Updates::Alternating, Precision::F64);
        let mut engine = build(&device, Arc::clone(&tree), &br).expect("an engine");
        let (nash_conv, _) = after(&mut *engine, 500);
        let tables = engine.tables().expect("tables");
        let [first, second] = tables.utilities[..] else { panic!("two seats") };
        // Five hundred sums of 30 deals and histories of at most 2 chips.
        let rounding = 500.0 * 30.0 * 2.0 * f64::EPSILON;
        // Best responses to the averages win no more than the averages of those to each strategy, which win no less than the game's value and no more than that and the regrets.
        assert!(nash_conv <= -(first + second) / 500.0 + rounding, "{nash_conv}, {first} {second}");
        assert!(first <= -500.0 / 18.0 + rounding && second <= 500.0 / 18.0 + rounding, "{first} {second}");
        assert!(-(first + second) <= positive(&tables) + rounding, "{first} {second}");
    }
}

#[test]
fn other_games_converge() {
    let goofspiel = Tree::build(&Goofspiel::new(2, 3, PrizeOrder::Random).expect("a game")).expect("a tree");
    let dice = Tree::build(&LiarsDice::new(2, 1, 3).expect("a game")).expect("a tree");
    for (tree, value) in [(goofspiel, Some(0.0)), (dice, None)] {
        let tree = Arc::new(tree);
        for device in all_devices() {
            let plus = options(Algorithm::CfrPlus, Updates::Alternating, Precision::F64);
            let mut engine = build(&device, Arc::clone(&tree), &plus).expect("an engine");
            let (early, _) = after(&mut *engine, 15);
            let (nash_conv, values) = after(&mut *engine, 135);
            // The bound on the regrets falls with the root of the iterations.
            assert!(nash_conv < early, "{}: {nash_conv} after {early}", tree.name());
            assert!((values[0] + values[1]).abs() < 1e-12);
            if let Some(value) = value {
                // No further than both seats can still gain.
                assert!((values[0] - value).abs() <= nash_conv, "{}: {values:?}", tree.name());
            }
        }
    }
}

#[test]
fn what_the_engine_does_not_do_is_an_error() {
    let device = Device::simt();
    let tree = poker(KUHN_3P);
    for options in [
        Options { precision: Precision::I16, ..Options::default() },
        Options { sampling: Sampling::External, ..Options::default() },
        Options { algorithm: Algorithm::CfrBr, ..Options::default() },
    ] {
        assert!(matches!(fits(&device, &tree, &options), Err(Error::Option { .. })));
    }
}

/// A seat is dealt A or B, stops or goes on, and then chooses without knowing any more what it was dealt.
struct Forgets;

impl Game for Forgets {
    type State = Vec<usize>;

    fn name(&self) -> String {
        "forgets".to_string()
    }

    fn n_players(&self) -> usize {
        1
    }

    fn root(&self) -> Vec<usize> {
        Vec::new()
    }

    fn turn(&self, state: &Vec<usize>) -> Turn {
        match state[..] {
            [] => Turn::Chance(vec![0.5, 0.5]),
            [_] | [_, 1] => Turn::Decision { seat: 0, n_actions: 2 },
            // To stop costs 1 with A and wins 3 with B; the first choice wins 1.
            [dealt, _] => Turn::End(vec![if dealt == 0 { -1.0 } else { 3.0 }]),
            [_, _, choice, ..] => Turn::End(vec![if choice == 0 { 1.0 } else { 0.0 }]),
        }
    }

    fn next(&self, state: &Vec<usize>, action: usize) -> Vec<usize> {
        [&state[..], &[action]].concat()
    }

    fn key(&self, state: &Vec<usize>) -> String {
        if state.len() == 1 { state[0].to_string() } else { "forgotten".to_string() }
    }
}

/// The first strategies are uniform. After them going on looks better with A (0.5 against -1) and stopping with B (3 against 0.5), and the first choice in the set that forgets. So that set is
/// reached with 1/2 by both hands in the first iteration, and with 1 and 0 in the second: the mean is 1/2 twice, and the sums are 1/2 · 1/2 + 1/2 · 1 and 1/2 · 1/2.
#[test]
fn a_set_that_forgets_weighs_the_mean_reach() {
    let error = Tree::build(&Forgets).expect_err("no perfect recall").to_string();
    assert!(error.contains("perfect recall"), "{error}");
    let tree = Arc::new(Tree::build_forgetful(&Forgets).expect("a tree"));
    for device in all_devices() {
        let options = options(Algorithm::Cfr, Updates::Alternating, Precision::F64);
        let mut engine = learner(&device, &tree, &options, 0..1).expect("an engine");
        engine.run(2).expect("iterations");
        let (tables, set) = (engine.tables().expect("tables"), tree.find(0, "forgotten").expect("a set"));
        let sums = [0, 1].map(|action| tables.averages[0].get(set.offset + action));
        assert_eq!(sums, [0.75, 0.25], "{device}");
        if device.backend() != Backend::Cpu {
            let error = engine.measure().expect_err("no measuring").to_string();
            assert!(error.contains("imperfect recall"), "{error}");
        }
    }
}
