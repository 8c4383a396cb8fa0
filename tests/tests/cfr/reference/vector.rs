//! The vector form.

use std::sync::Arc;

use warpplay_cpu_ref::cfr::poker::{Betting, Deck, Poker, Rules};
use warpplay_cpu_ref::cfr::vector::{ByHand, DecisionPoint, Evaluator, Game, Kind, Node, Sampling, Solver};
use warpplay_cpu_ref::cfr::{Algorithm, Options, Updates, tree};
use warpplay_tests::cfr::{close_to_value, estimate, tied};
use warpplay_tests::random::Random;
use warpplay_tests::tolerance::{Tolerance, close};

use super::read::{Reference, floats, number, rules};
use super::{F64, checkpoints, options};

/// Rules in which everything that the vector form does by tricks can go wrong: hands of some cards, several rounds, short all-ins.
fn odd_rules(n_hole_cards: usize, n_board_cards: Vec<usize>, deck: Deck, no_limit: bool) -> Rules {
    let n_rounds = n_board_cards.len();
    Rules {
        no_limit,
        stacks: no_limit.then(|| vec![5, 4]),
        blinds: vec![1, 2],
        raise_sizes: if no_limit { vec![] } else { vec![2; n_rounds] },
        first_players: vec![0; n_rounds],
        max_raises: vec![2; n_rounds],
        deck,
        n_hole_cards,
        n_board_cards,
        bet_sizes: Vec::new(),
    }
}

#[test]
fn vectors_follow_every_trajectory() {
    let reference = Reference::open();
    for name in ["kuhn.limit.2p", "variant_a", "leduc.limit.2p", "leduc.nolimit.2p"] {
        let of = reference.game(name);
        let game = Arc::new(Game::poker(&rules(of["gamedef"].as_str().expect("the game's text"))));
        for (algorithm, trajectory) in of["trajectories"].as_object().expect("trajectories") {
            let mut solver = Solver::new(game.clone(), options(algorithm));
            for (iteration, point) in checkpoints(trajectory) {
                solver.iterate(iteration - solver.iteration());
                let what = format!("{name} in vector form, {algorithm}, iteration {iteration}");
                let got = [solver.nash_conv(), solver.positive_regret()];
                let expected = [number(&point["nash_conv"]), number(&point["regret_sum_positive"])];
                // Regrets of no-limit Leduc are tied from the first pass on, and the vector form adds in another order. The first average is uniform.
                let unlimited = name == "leduc.nolimit.2p";
                if unlimited && iteration == 1 {
                    close(&what, &got[..1], &expected[..1], F64);
                }
                if tied(name, algorithm, iteration) || unlimited {
                    close_to_value(&what, &solver.values(), solver.nash_conv(), of);
                    continue;
                }
                close(&what, &got, &expected, F64);
                close(&what, &solver.values(), &floats(&point["average_profile_value"]), F64);
            }
        }
    }
}

/// The betting before each node of [`Game::poker`], depth first.
fn histories(rules: &Rules, betting: &Betting, all: &mut Vec<String>) {
    all.push(betting.history.clone());
    for action in betting.actions(rules) {
        histories(rules, &betting.after(rules, action), all);
    }
}

/// Some probabilities that depend on a key, now and then 0.
fn drawn(key: &str, n_actions: usize) -> Vec<f64> {
    let seed = key.bytes().fold(7_u64, |seed, byte| (seed ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let mut random = Random(seed);
    let weights: Vec<f64> = (0..n_actions).map(|_| random.below(7) as f64).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| if sum > 0.0 { weight / sum } else { 1.0 / n_actions as f64 }).collect()
}

/// Games of one to three private cards against the explicit tree of the same rules, with strategies that differ at every information set.
#[test]
fn vectors_are_the_tree() {
    let games = [
        odd_rules(1, vec![0, 2], Deck { n_suits: 2, n_ranks: 3 }, false),
        odd_rules(1, vec![1, 1, 1], Deck { n_suits: 2, n_ranks: 3 }, true),
        odd_rules(2, vec![1], Deck { n_suits: 2, n_ranks: 4 }, false),
        odd_rules(2, vec![0, 1], Deck { n_suits: 2, n_ranks: 3 }, true),
        odd_rules(3, vec![0], Deck { n_suits: 2, n_ranks: 4 }, false),
    ];
    for rules in games {
        let tree = Arc::new(tree::Tree::new(&Poker::new(rules.clone())));
        let game = Arc::new(Game::poker(&rules));
        let profile = tree::Profile::from_fn(&tree, |set| Some(drawn(&set.key, set.n_actions)));
        let mut betting = Vec::new();
        histories(&rules, &Betting::new(&rules), &mut betting);
        let names = |cards: u64| {
            let dealt = (0..rules.deck.n_cards() as u8).filter(move |card| cards >> card & 1 == 1);
            dealt.map(|card| rules.deck.name(card)).collect::<String>()
        };
        let same = ByHand(|point: DecisionPoint, hand: usize| {
            let board: String = game.dealt(game.nodes[point.node].round, point.board).into_iter().map(&names).collect();
            let hole = names(game.hands[point.seat][hand]);
            Some(drawn(&format!("{}:{hole}:{board}:{}", point.seat, betting[point.node]), point.n_actions))
        });
        let (what, exact) = (format!("{rules:?}"), Tolerance { abs: 1e-11, rel: 1e-11 });
        let evaluator = Evaluator::new(&game);
        close(&what, &evaluator.values(&same), &profile.values(&tree), exact);
        close(&what, &evaluator.best_responses(&same), &profile.best_responses(&tree), exact);
        let options = Options { updates: Updates::Simultaneous, ..Options::default() };
        let (mut plain, mut vector) = (tree::Solver::new(tree, options), Solver::new(game, options));
        plain.iterate(1);
        vector.iterate(1);
        close(&what, &vector.utilities(), &plain.state().utilities, exact);
        close(&what, &[vector.positive_regret()], &[plain.positive_regret()], exact);
    }
}

/// Best responses differ where actions are equally good, so that runs part. Each keeps the bounds: a best response to the average wins no more than the average of those to each strategy, and
/// what a seat wins against these falls behind the game's value, whose sum over the seats is 0, by no more than its regrets.
#[test]
fn cfr_br_keeps_its_bounds_in_vector_form_and_on_the_tree() {
    const ITERATIONS: u64 = 100;
    let options = Options { algorithm: Algorithm::CfrBr, ..Options::default() };
    let mut vector = Solver::new(Arc::new(Game::poker(&Rules::leduc(2))), options);
    let tree = Arc::new(tree::Tree::new(&Poker::new(Rules::leduc(2))));
    let mut plain = tree::Solver::new(tree.clone(), options);
    vector.iterate(ITERATIONS);
    plain.iterate(ITERATIONS);
    let [first, second] = plain.state().utilities[..] else { panic!("two seats") };
    let of_plain = plain.average().best_responses(&tree);
    for (what, utilities, positive, best) in [
        ("vectors", vector.utilities(), vector.positive_regret(), vector.best_responses().to_vec()),
        ("tree", [first, second], plain.positive_regret(), of_plain),
    ] {
        let t = ITERATIONS as f64;
        // Sums of 9,457 histories of at most 13 chips in each iteration.
        let rounding = t * 9457.0 * 13.0 * f64::EPSILON;
        assert!(best[0] <= -utilities[1] / t + rounding, "{what}: {best:?}, {utilities:?}");
        assert!(best[1] <= -utilities[0] / t + rounding, "{what}: {best:?}, {utilities:?}");
        assert!(-(utilities[0] + utilities[1]) <= positive + rounding, "{what}: {utilities:?}, {positive}");
    }
}

/// A river with weights, a locked node, and a pot that was there before.
fn river() -> Game {
    let deck = Deck { n_suits: 4, n_ranks: 5 };
    let board = 0b1_0010_0100_0001_0100;
    let hands = Game::all_hands(deck, 2, board);
    let weights = [3, 5].map(|n| (0..hands.len()).map(|hand| (hand % n) as f64 / n as f64).collect());
    let decision = |seat, children: &[usize], locked| Node {
        round: 0,
        kind: Kind::Decision { seat, children: children.to_vec(), locked },
    };
    let shown =
        |bet: f64| Node { round: 0, kind: Kind::Showdown { win: [10.0 + bet; 2], lose: [-bet; 2], tie: [5.0; 2] } };
    let nodes = vec![
        decision(0, &[1, 4], false),
        decision(1, &[2, 3], false),
        shown(0.0),
        shown(6.0),
        decision(1, &[5, 6], true),
        Node { round: 0, kind: Kind::Fold { payoff: [10.0, 0.0] } },
        shown(8.0),
    ];
    Game::new(deck, 2, board, &[0], [hands.clone(), hands], weights, nodes)
}

#[test]
fn locked_nodes_keep_their_strategy() {
    let game = Arc::new(river());
    let n_hands = game.hands[1].len();
    let locked: Vec<f64> = (0..2 * n_hands).map(|at| if at < n_hands { 0.75 } else { 0.25 }).collect();
    for algorithm in [Algorithm::CfrPlus, Algorithm::CfrBr] {
        let mut solver = Solver::new(game.clone(), Options { algorithm, ..Options::default() });
        solver.lock(4, 0, &locked);
        solver.iterate(60);
        let early = solver.nash_conv();
        solver.iterate(540);
        assert_eq!(solver.average(4, 0).as_deref(), Some(&locked[..]));
        // What is not locked comes to an equilibrium: the bound on the regrets falls with the root of the iterations.
        assert!(solver.nash_conv() < early, "{algorithm:?}: {} after {early}", solver.nash_conv());
        let values = solver.values();
        close("both win the pot", &[values[0] + values[1]], &[10.0], Tolerance { abs: 1e-9, rel: 0.0 });
    }
}

#[test]
fn threads_do_not_change_bits_and_a_state_goes_on() {
    let rules = odd_rules(2, vec![0, 1, 1], Deck { n_suits: 2, n_ranks: 4 }, true);
    let game = Arc::new(Game::poker(&rules));
    for algorithm in [Algorithm::PcfrPlus, Algorithm::CfrBr] {
        let options = Options { algorithm, ..Options::default() };
        let [mut alone, mut parallel, mut resumed] = [0; 3].map(|_| Solver::new(game.clone(), options));
        parallel.parallel = true;
        alone.iterate(5);
        parallel.iterate(2);
        resumed.set_state(&parallel.state());
        parallel.iterate(3);
        resumed.iterate(3);
        assert!(alone.state() == parallel.state() && alone.state() == resumed.state(), "{algorithm:?}");
        assert_eq!(alone.nash_conv().to_bits(), parallel.nash_conv().to_bits());
    }
}

#[test]
fn given_strategies_are_valued_as_the_solvers_own() {
    let game = Arc::new(Game::poker(&odd_rules(2, vec![0, 1], Deck { n_suits: 2, n_ranks: 3 }, false)));
    let mut solver = Solver::new(game.clone(), Options::default());
    solver.iterate(7);
    let state = solver.state();
    let evaluator = Evaluator::new(&game);
    let average = ByHand(|point: DecisionPoint, hand| {
        let n_hands = game.hands[point.seat].len();
        let row = &state.averages[point.seat][game.offset(point.node, point.board)..][..point.n_actions * n_hands];
        let weights: Vec<f64> = (0..point.n_actions).map(|action| row[action * n_hands + hand]).collect();
        let sum: f64 = weights.iter().sum();
        (sum > 0.0).then(|| weights.iter().map(|weight| weight / sum).collect())
    });
    let exact = Tolerance { abs: 1e-12, rel: 1e-12 };
    close("values", &evaluator.values(&average), &solver.values(), exact);
    close("best responses", &evaluator.best_responses(&average), &solver.best_responses(), exact);
    let by_hand = evaluator.hand_winnings(&average, 0);
    let masses = game.hands[0].iter().map(|hand| game.hands[1].iter().filter(|other| *other & hand == 0).count());
    let sum: f64 = by_hand.iter().zip(masses).map(|(value, mass)| value * mass as f64 * game.scale).sum();
    close("winnings by hand", &[sum], &solver.values()[..1], exact);
}

#[test]
fn equities_are_those_of_all_boards() {
    let rules = odd_rules(1, vec![0, 1], Deck { n_suits: 2, n_ranks: 3 }, false);
    // A deuce ties with the other deuce, and beats a higher card with the other deuce on the board, one of four.
    let equity = Game::poker(&rules).equity(0);
    let deuce = (0.5 + 4.0 * (1.0 / 4.0)) / 5.0;
    close("equity of a deuce", &equity[..1], &[deuce], Tolerance { abs: 1e-12, rel: 0.0 });
    close("both", &Game::poker(&rules).equities(), &[0.5, 0.5], Tolerance { abs: 1e-12, rel: 0.0 });
}

/// The regrets of the first iteration, added up over many draws, are those of full iterations in their mean: for the hands that learn, up to a factor
/// where only one learns at a time.
#[test]
fn drawn_iterations_are_right_on_average() {
    const DRAWS: u64 = 300;
    let rules = Rules { max_raises: vec![1], ..odd_rules(1, vec![1], Deck { n_suits: 2, n_ranks: 3 }, false) };
    let game = Arc::new(Game::poker(&rules));
    let n_hands = game.hands[0].len() as f64;
    let mut full = Solver::new(game.clone(), Options::default());
    full.iterate(1);
    let expected = &full.state().regrets[0];
    let fresh = Solver::new(game.clone(), Options::default());
    for (sampling, share) in [
        (Sampling::PublicChance, 1.0),
        (Sampling::OpponentPublic, 1.0),
        (Sampling::SelfPublic, 1.0 / n_hands),
        (Sampling::Chance, 1.0 / n_hands),
    ] {
        let batch = |number: u64| {
            let mut sums = vec![0.0; expected.len()];
            for seed in number * DRAWS..(number + 1) * DRAWS {
                let mut solver = fresh.clone();
                solver.sampling = sampling;
                solver.seed(seed);
                solver.iterate(1);
                sums.iter_mut().zip(&solver.state().regrets[0]).for_each(|(sum, regret)| *sum += regret);
            }
            sums.iter().map(|sum| sum / (DRAWS as f64 * share)).collect()
        };
        let batches: Vec<Vec<f64>> = (0..32).map(batch).collect();
        estimate(&format!("{sampling:?}"), &batches, expected, 1e-12);
    }
}

#[test]
fn every_sampling_approaches_leducs_equilibrium() {
    let game = Arc::new(Game::poker(&Rules::leduc(2)));
    let drawn = [Sampling::PublicChance, Sampling::OpponentPublic, Sampling::SelfPublic, Sampling::Chance];
    for sampling in drawn {
        let mut solver = Solver::new(game.clone(), Options::default());
        solver.sampling = sampling;
        solver.iterate(100);
        let early = solver.nash_conv();
        solver.iterate(9900);
        let (conv, value) = (solver.nash_conv(), solver.values()[0]);
        // Drawn regrets too fall with the root of the iterations in all likelihood; the game's value is no further than both seats can still gain.
        assert!(conv < early, "{sampling:?}: {conv} after {early}");
        assert!((value + 0.085_606_424).abs() <= conv + 1e-8, "{sampling:?}: {value}, NashConv {conv}");
        let mut again = Solver::new(game.clone(), Options::default());
        again.sampling = sampling;
        again.iterate(7);
        let state = again.state();
        again.iterate(5);
        let mut resumed = Solver::new(game.clone(), Options::default());
        resumed.sampling = sampling;
        resumed.set_state(&state);
        resumed.iterate(5);
        assert!(again.state() == resumed.state(), "{sampling:?}");
    }
}
