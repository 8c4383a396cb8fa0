//! All deals by a recurrence over subsets: the reference's trajectories, the reference program on a smaller cousin of the eight-player game, and what is refused.

use std::sync::Arc;

use warpplay::cfr::engines::SubsetSolver;
use warpplay::cfr::{Algorithm, GameDef, Options, Sampling, Updates};
use warpplay::{Device, Precision};
use warpplay_cpu_ref::cfr as plain;
use warpplay_tests::backends::{for_each_device, gpu};
use warpplay_tests::cfr::{SINGLE, floats, game};
use warpplay_tests::tolerance::{Tolerance, close};

/// Sums in another order.
const DOUBLE: Tolerance = Tolerance { abs: 1e-12, rel: 1e-9 };

fn reference(name: &str) -> serde_json::Value {
    warpplay_tests::cfr::reference()["games"][name].take()
}

fn options(algorithm: Algorithm, updates: Updates, precision: Precision) -> Options {
    Options { algorithm, updates, precision, ..Options::default() }
}

#[test]
fn small_games_follow_the_reference() {
    let trajectories = [
        ("cfr_alternating", Algorithm::Cfr, Updates::Alternating),
        ("cfr_simultaneous", Algorithm::Cfr, Updates::Simultaneous),
        ("cfr_plus_alternating_linear", Algorithm::CfrPlus, Updates::Alternating),
        ("lcfr_alternating", Algorithm::Lcfr, Updates::Alternating),
        ("dcfr_alternating_1.5_0_2", Algorithm::Dcfr, Updates::Alternating),
        ("pcfr_plus_alternating_quadratic", Algorithm::PcfrPlus, Updates::Alternating),
    ];
    for (name, precision, tolerance) in [
        ("kuhn.limit.2p", Precision::F64, DOUBLE),
        ("variant_a", Precision::F64, DOUBLE),
        ("kuhn.limit.3p", Precision::F64, DOUBLE),
        ("kuhn.limit.3p", Precision::F32, SINGLE),
    ] {
        let reference = reference(name);
        let rules = game(name);
        for_each_device(|device| {
            for (trajectory, algorithm, updates) in trajectories {
                let mut solver = SubsetSolver::new(device, &rules, &options(algorithm, updates, precision))?;
                let mut done = 0;
                for t in [1u32, 2, 3, 10] {
                    solver.run(t - done)?;
                    done = t;
                    let found = solver.measure()?;
                    let point = &reference["trajectories"][trajectory][t.to_string()];
                    let what = format!("{name} {trajectory} after {t} in {precision} on {device}");
                    let expected = point["nash_conv"].as_f64().expect("a number");
                    close(&what, &[found.nash_conv()], &[expected], tolerance);
                    let expected = floats(&point["average_profile_value"]);
                    close(&format!("values of {what}"), &found.values, &expected, tolerance);
                    if precision == Precision::F64 {
                        let mut sum = 0.0;
                        for seat in 0..rules.n_players {
                            sum += solver.regrets(seat)?.iter().filter(|&&regret| regret > 0.0).sum::<f64>();
                        }
                        let expected = point["regret_sum_positive"].as_f64().expect("a number");
                        close(&format!("positive regrets of {what}"), &[sum], &[expected], tolerance);
                    }
                }
            }
            Ok(())
        });
    }
}

/// The eight-player game with fewer players and cards.
fn cousin(n_players: usize, n_cards: u8) -> (GameDef, plain::poker::Rules) {
    let mut rules = game("variant_d");
    rules.n_players = n_players;
    rules.stacks = rules.stacks.map(|stacks| stacks[..n_players].to_vec());
    rules.blinds.truncate(n_players);
    rules.deck.n_ranks = n_cards;
    let of_plain = plain::poker::Rules {
        no_limit: false,
        stacks: rules.stacks.clone(),
        blinds: rules.blinds.clone(),
        raise_sizes: rules.raise_sizes.clone(),
        first_players: rules.first_players.clone(),
        max_raises: rules.max_raises.clone(),
        deck: plain::poker::Deck { n_suits: 1, n_ranks: n_cards },
        n_hole_cards: 1,
        n_board_cards: vec![0],
        bet_sizes: Vec::new(),
    };
    (rules, of_plain)
}

#[test]
fn cousins_of_the_eight_player_game_agree_with_the_plain_program() {
    for (n_players, n_cards, iterations) in [(4, 4, 3), (3, 6, 3)] {
        let (rules, of_plain) = cousin(n_players, n_cards);
        let game = plain::poker::Poker::new(of_plain);
        let tree = Arc::new(plain::tree::Tree::new(&game));
        let of_plain = plain::Options { algorithm: plain::Algorithm::CfrPlus, ..plain::Options::default() };
        let mut expected = plain::tree::Solver::new(tree, of_plain);
        expected.iterate(iterations.into());
        for_each_device(|device| {
            let options = options(Algorithm::CfrPlus, Updates::Alternating, Precision::F64);
            let mut solver = SubsetSolver::new(device, &rules, &options)?;
            solver.run(iterations)?;
            let found = solver.measure()?;
            let what = format!("{n_players} players with {n_cards} cards on {device}");
            close(&format!("values of {what}"), &found.values, &expected.values(), DOUBLE);
            close(&format!("exploitability of {what}"), &[found.nash_conv()], &[expected.nash_conv()], DOUBLE);
            Ok(())
        });
    }
}

#[test]
fn the_eight_player_game_is_solved_over_all_deals() {
    let Some(device) = gpu() else { return };
    let rules = game("variant_d");
    let mut found = Vec::new();
    for precision in [Precision::F32, Precision::F64] {
        let mut solver =
            SubsetSolver::new(&device, &rules, &options(Algorithm::CfrPlus, Updates::Alternating, precision))
                .expect("it fits");
        solver.run(1).expect("an iteration");
        let first = solver.measure().expect("values");
        // Everybody gets what the others lose, whatever the strategies: eight sums over 2⁸ sets of players, of terms up to eight times what they add up to, a rounding of 2⁻²⁴ each.
        let rounding = f64::from(8 * 256 * 8) / f64::from(1 << 24);
        assert!(first.values.iter().sum::<f64>().abs() < rounding, "{:?}", first.values);
        assert!(first.best_responses.iter().zip(&first.values).all(|(best, value)| best >= value));
        solver.run(4).expect("iterations");
        let later = solver.measure().expect("values");
        assert!(later.nash_conv() < first.nash_conv(), "{} after {}", later.nash_conv(), first.nash_conv());
        found.push(first.nash_conv());
        if let [single, double] = found[..] {
            // The first average is uniform, so that precisions differ by roundings alone; later they part at ties.
            close("single and double precision", &[single], &[double], Tolerance { abs: 0.0, rel: rounding });
        }
    }
}

#[test]
fn runs_can_be_divided() {
    let rules = game("kuhn.limit.3p");
    for_each_device(|device| {
        let options = options(Algorithm::PcfrPlus, Updates::Simultaneous, Precision::F32);
        let mut whole = SubsetSolver::new(device, &rules, &options)?;
        whole.run(7)?;
        let mut parts = SubsetSolver::new(device, &rules, &options)?;
        parts.run(3)?;
        parts.measure()?;
        parts.run(4)?;
        for seat in 0..3 {
            assert_eq!(whole.regrets(seat)?, parts.regrets(seat)?, "regrets of seat {seat} on {device}");
            assert_eq!(whole.averages(seat)?, parts.averages(seat)?, "averages of seat {seat} on {device}");
        }
        let sums = whole.utilities()?;
        assert_eq!(sums, parts.utilities()?, "utilities on {device}");
        // What one seat wins the others lose. A seat's sum of an iteration has a term for each of 2³ sets of players, 4 cards and 13 ends, and no part of it is more than 4 chips: so
        // many additions in 7 iterations of 3 seats, each with an error of 2⁻²⁴ of its result.
        let rounding = f64::from(7 * 3 * (8 * 4 * 13) * 4) / f64::from(1 << 24);
        assert!(sums.iter().sum::<f64>().abs() < rounding, "{sums:?} on {device}");
        assert!(whole.regrets(3).is_err());
        Ok(())
    });
}

#[test]
fn other_games_and_options_are_refused() {
    let device = Device::simt();
    let refused = |rules: &GameDef, options: Options, part: &str| {
        let error = SubsetSolver::new(&device, rules, &options).expect_err(part).to_string();
        assert!(error.contains(part), "`{part}` is not in: {error}");
    };
    refused(&game("leduc.limit.2p"), Options::default(), "2 betting rounds");
    let mut large = game("kuhn.limit.3p");
    large.deck.n_ranks = 9;
    refused(&large, Options::default(), "9 cards");
    let mut suits = game("kuhn.limit.2p");
    suits.deck.n_suits = 2;
    refused(&suits, Options::default(), "2 suits");
    let kuhn = game("kuhn.limit.3p");
    refused(&kuhn, Options { algorithm: Algorithm::CfrBr, ..Options::default() }, "cfr_br");
    refused(&kuhn, Options { sampling: Sampling::Chance, ..Options::default() }, "chance");
    refused(&kuhn, Options { precision: Precision::I16, ..Options::default() }, "i16");
    let mut short = kuhn.clone();
    short.stacks = Some(vec![1, 2, 2]);
    refused(&short, Options::default(), "side pots");
    assert!(SubsetSolver::new(&Device::cpu(), &kuhn, &Options::default()).is_err());
}
