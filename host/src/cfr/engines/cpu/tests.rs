//! The engine on Leduc and Kuhn: trajectories of the reference file (`cfr_reference.json`, computed on OpenSpiel's trees).

use super::*;
use crate::cfr::game::betting::{BettingKind, BettingTree};
use crate::cfr::game::game_file::GameDef;

const KUHN: &str = "GAMEDEF\nlimit\nnumPlayers = 2\nnumRounds = 1\nblind = 1 1\nraiseSize = 1\nfirstPlayer = 1\nmaxRaises = 1\nnumSuits = 1\nnumRanks = 3\nnumHoleCards = 1\nnumBoardCards = 0\nEND GAMEDEF\n";
const LEDUC: &str = "GAMEDEF\nlimit\nnumPlayers = 2\nnumRounds = 2\nblind = 1 1\nraiseSize = 2 4\nfirstPlayer = 1 1\nmaxRaises = 2 2\nnumSuits = 2\nnumRanks = 3\nnumHoleCards = 1\nnumBoardCards = 0 1\nEND GAMEDEF\n";

fn engine(text: &str, isomorphism: bool, options: &Options) -> (Arc<VectorGame>, Box<dyn Solve>) {
    let rules = GameDef::parse(text).expect("good rules");
    let tree = BettingTree::new(&rules).expect("small");
    let game = Arc::new(VectorGame::from_game(&rules, &tree, isomorphism).expect("two players"));
    let engine = build(Arc::clone(&game), options).expect("offered");
    (game, engine)
}

fn positive(tables: &Tables) -> f64 {
    tables.regrets.iter().map(|values| (0..values.len()).map(|at| values.get(at).max(0.0)).sum::<f64>()).sum()
}

/// Iteration 10 of Leduc: algorithm, whether updates alternate, NashConv, value of seat 0, sum of positive regrets.
const REFERENCE: [(Algorithm, bool, f64, f64, f64); 7] = [
    (Algorithm::Cfr, true, 1.77715796633754, -0.444830940935218, 63.6419816119418),
    (Algorithm::Cfr, false, 1.85403714393534, -0.0367551973121477, 46.2833832383056),
    (Algorithm::CfrPlus, true, 1.22087780318081, -0.355273805099794, 70.2096692344523),
    (Algorithm::CfrPlus, false, 1.55086481955629, -0.137247894646891, 70.9692122211774),
    (Algorithm::Lcfr, true, 1.44213031141449, -0.408230948425962, 26.7776437799832),
    (Algorithm::Dcfr, true, 1.55760409399241, -0.349119712765113, 48.678946202636),
    (Algorithm::PcfrPlus, true, 1.07369469770406, -0.258268638973005, 80.0377191789715),
];

#[test]
fn leduc_follows_the_reference() {
    let alternating = Options { precision: Precision::F64, ..Options::default() };
    let simultaneous = Options { updates: Updates::Simultaneous, ..alternating };
    for (algorithm, alternates, nash_conv, value, regrets) in REFERENCE {
        let options = Options { algorithm, ..if alternates { alternating } else { simultaneous } };
        for isomorphism in [false, true] {
            let (_, mut engine) = engine(LEDUC, isomorphism, &options);
            engine.run(10).expect("runs");
            let measured = engine.measure().expect("measures");
            let near = |got: f64, want: f64| {
                assert!((got - want).abs() < 1e-9 * want.abs(), "{algorithm}: {got}, expected {want}")
            };
            near(measured.nash_conv(), nash_conv);
            near(measured.values[0], value);
            near(measured.values[1], -value);
            if !isomorphism {
                near(positive(&engine.tables().expect("reads")), regrets);
            }
        }
    }
}

/// Kuhn's value is −1/18, which is no further than both seats can still gain; that falls, as the bounds on the regrets do with the root of the iterations.
#[test]
fn every_algorithm_finds_kuhn_s_value() {
    for &algorithm in Algorithm::ALL {
        for &updates in Updates::ALL {
            let options = Options { algorithm, updates, ..Options::default() };
            let (_, mut engine) = engine(KUHN, true, &options);
            engine.run(200).expect("runs");
            let early = engine.measure().expect("measures").nash_conv();
            engine.run(1800).expect("runs");
            let measured = engine.measure().expect("measures");
            let conv = measured.nash_conv();
            assert!(conv < early, "{algorithm} {updates}: {measured:?}, {early} before");
            assert!((measured.values[0] + 1.0 / 18.0).abs() <= conv + 1e-12, "{algorithm} {updates}: {measured:?}");
            assert_eq!(engine.tables().expect("reads").iteration, 2000);
        }
    }
}

#[test]
fn threads_do_not_change_the_bits_and_a_solve_goes_on() {
    for algorithm in [Algorithm::PcfrPlus, Algorithm::CfrBr] {
        let options = Options { algorithm, threads: Some(1), ..Options::default() };
        let (_, mut one) = engine(LEDUC, true, &options);
        let (_, mut three) = engine(LEDUC, true, &Options { threads: Some(3), ..options });
        one.run(7).expect("runs");
        three.run(4).expect("runs");
        let (_, mut resumed) = engine(LEDUC, true, &options);
        resumed.set_tables(&three.tables().expect("reads")).expect("fits");
        resumed.run(3).expect("runs");
        assert_eq!(one.tables().expect("reads"), resumed.tables().expect("reads"));
        assert!(resumed.set_tables(&Tables::default()).is_err());
    }
}

#[test]
fn what_is_not_offered_is_an_error() {
    let options = Options { precision: Precision::I16, ..Options::default() };
    let (game, _) = engine(KUHN, false, &Options::default());
    for (options, told) in [
        (options, "option precision: i16 is not allowed (f32 or f64 on the CPU"),
        (Options { sampling: Sampling::Chance, ..Options::default() }, "option sampling: chance is not allowed (none"),
    ] {
        let error = fits(&game, &options).expect_err("not offered").to_string();
        assert!(error.contains(told), "{error}");
    }
}

/// A turn spot, solved with one board of each class and looked at on every board by the reference, which has its own walk.
#[test]
fn the_reference_s_best_response_confirms_a_solved_turn() {
    use warpplay_cpu_ref::cfr::{poker, vector};
    let text = r#"{"pot": 40, "effective_stack": 60, "bet_fraction_of_pot": 0.75, "flop": "Qs Js 2s", "turn": "2d",
        "ranges": ["AA:0.5,KQs,T9s,77", "KK,AQs,98s:0.25,QQ"], "rake": {"part": 0.05, "cap": 3}}"#;
    let (game, tree) = crate::cfr::spot::Spot::parse(text).and_then(|spot| spot.build(true)).expect("good");
    assert!(game.streets[1].boards.len() < 48, "suits matter");
    let game = Arc::new(game);
    // In double precision: hands that only suits tell apart have the same strategies to the last digits, which one board of each class takes for granted.
    let options = Options { algorithm: Algorithm::Dcfr, precision: Precision::F64, ..Options::default() };
    let mut engine = build(Arc::clone(&game), &options).expect("offered");
    engine.run(30).expect("runs");
    let (measured, tables) = (engine.measure().expect("measures"), engine.tables().expect("reads"));
    let net = |node: usize, strengths: [u32; 2]| {
        let payoffs = tree.payoffs(&tree.nodes[node], &strengths);
        [payoffs[0], payoffs[1]]
    };
    let nodes = (0..tree.nodes.len()).map(|at| {
        let node = &tree.nodes[at];
        let kind = match &node.kind {
            BettingKind::Decision { seat, children, .. } => {
                let children = children.iter().map(|&child| child as usize).collect();
                vector::Kind::Decision { seat: *seat, children, locked: false }
            }
            BettingKind::Terminal if node.folded != 0 => vector::Kind::Fold { payoff: net(at, [0, 0]) },
            BettingKind::Terminal => {
                let (first, second) = (net(at, [1, 0]), net(at, [0, 1]));
                vector::Kind::Showdown { win: [first[0], second[1]], lose: [second[0], first[1]], tie: net(at, [0, 0]) }
            }
        };
        vector::Node { round: node.round as usize, kind }
    });
    let deck = poker::Deck { n_suits: 4, n_ranks: 13 };
    let board = game.streets[0].boards[0].cards;
    let plain = vector::Game::new(deck, 2, board, &[0, 1], game.hands.clone(), game.weights.clone(), nodes.collect());
    // Where each betting node's vectors begin on a board.
    let slots: std::collections::HashMap<u32, u32> = game
        .streets
        .iter()
        .flat_map(|street| street.entries.iter().flat_map(|entry| &entry.nodes))
        .filter_map(|node| match node {
            crate::cfr::layout::Node::Decision { betting, slot, .. } => Some((*betting, *slot)),
            _ => None,
        })
        .collect();
    let strategies = vector::ByHand(|point: vector::DecisionPoint, hand: usize| {
        let round = plain.nodes[point.node].round;
        let own = game.table_index(point.seat, game.hands[point.seat][hand], &plain.dealt(round, point.board))?;
        let slot = slots[&(point.node as u32)];
        let strategy = game.average(&tables.averages[point.seat], point.seat, round, own.board, slot, point.n_actions);
        Some(strategy.iter().map(|vector| vector[own.hand]).collect())
    });
    let evaluator = vector::Evaluator::new(&plain);
    let (values, best) = (evaluator.values(&strategies), evaluator.best_responses(&strategies));
    for seat in 0..2 {
        assert!((values[seat] - measured.values[seat]).abs() < 1e-9, "{values:?}, {measured:?}");
        assert!((best[seat] - measured.best_responses[seat]).abs() < 1e-9, "{best:?}, {measured:?}");
    }
}
