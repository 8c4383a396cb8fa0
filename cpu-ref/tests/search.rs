//! The search: its trees, its two forms, its limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use warpplay_cpu_ref::mcts::games::connect4::Connect4;
use warpplay_cpu_ref::mcts::games::gomoku::Gomoku;
use warpplay_cpu_ref::mcts::vanilla::Vanilla;
use warpplay_cpu_ref::mcts::{Game, GameResult, NO_ACTION, Node, Params, Search, Stream, Streams, Variant, q, ucb};

fn connect4(moves: &str) -> Connect4 {
    let mut position = Connect4::new(6, 7);
    for column in moves.bytes() {
        position.apply(usize::from(column - b'1'));
    }
    position
}

fn params(variant: Variant, n_trees: usize, n_playouts: usize, seed: u64) -> Params {
    Params { variant, n_trees, n_playouts, seed, ..Params::default() }
}

fn searched<G: Game>(params: Params, root: G, steps: usize) -> Search<G> {
    let mut search = Search::new(params, root);
    for _ in 0..steps {
        search.step();
    }
    search
}

fn assert_same<G: Game>(a: &Search<G>, b: &Search<G>) {
    assert_eq!(a.statistics(), b.statistics());
    assert_eq!(a.plies(), b.plies());
    for t in 0..a.params().n_trees {
        assert_eq!(a.tree(t), b.tree(t), "tree {t}");
    }
}

/// What must hold between the nodes of every tree, whatever the playouts brought.
fn check_trees<G: Game>(search: &Search<G>) {
    let params = search.params();
    let m = params.n_playouts as u64;
    let (mut total_depth, mut max_depth, mut n_nodes, mut max_size) = (0, 0, 0, 0);
    for t in 0..params.n_trees {
        let nodes = search.tree(t).unwrap();
        assert!(nodes.len() <= params.max_tree_nodes.max(1));
        n_nodes += nodes.len();
        max_size = max_size.max(nodes.len());
        check_node(nodes, 0, search.root());
        let mut seen = vec![false; nodes.len()];
        seen[0] = true;
        for (i, node) in nodes.iter().enumerate() {
            total_depth += u64::from(node.depth);
            max_depth = max_depth.max(node.depth);
            assert!(node.wins + node.draws <= node.n);
            assert_eq!(node.n % m, 0);
            if node.n_children == 0 {
                continue;
            }
            assert!(usize::from(node.depth) < params.max_depth);
            let children = &nodes[node.children()];
            let sum = |f: fn(&Node) -> u64| children.iter().map(f).sum::<u64>();
            let own = node.n - sum(|child| child.n);
            match params.variant {
                _ if i == 0 => assert_eq!(own, 0),
                Variant::Acp => assert_eq!(own, m),
                Variant::Ocp => assert!(own == 0 || own == m),
            }
            // Both games alternate: what children lost, their parent won.
            let own_draws = node.draws - sum(|child| child.draws);
            let own_wins = node.wins - sum(|child| child.n - child.wins - child.draws);
            assert!(own_wins + own_draws <= own);
            for (child, index) in children.iter().zip(node.children()) {
                assert_eq!(child.depth, node.depth + 1);
                assert_eq!(child.mover, 1 - node.mover);
                assert!(!std::mem::replace(&mut seen[index], true), "node {index} has two parents");
            }
        }
        assert!(seen.iter().all(|&seen| seen), "a node without a parent");
    }
    let statistics = search.statistics();
    assert_eq!(statistics.trees.count, params.n_trees);
    assert_eq!(statistics.trees.max_depth, u32::from(max_depth));
    assert_eq!(statistics.trees.max_size, max_size as u64);
    assert_eq!(statistics.trees.mean_size, n_nodes as f64 / params.n_trees as f64);
    assert_eq!(statistics.trees.mean_depth, total_depth as f64 / n_nodes as f64);
    assert_eq!(statistics.n_root, (0..params.n_trees).map(|t| search.tree(t).unwrap()[0].n).sum::<u64>());
}

/// Actions and outcomes of the subtree under node `i`, whose position is `position`.
fn check_node<G: Game>(nodes: &[Node], i: usize, position: &G) {
    let node = &nodes[i];
    assert_eq!(node.result(), position.result());
    match node.result() {
        Some(result) => {
            assert_eq!(node.n_children, 0);
            let (wins, draws) = match result {
                GameResult::Draw => (0, node.n),
                GameResult::Win(player) if player == usize::from(node.mover) => (node.n, 0),
                GameResult::Win(_) => (0, 0),
            };
            assert_eq!((node.wins, node.draws), (wins, draws));
        }
        None if node.n_children > 0 => {
            let mut legal = Vec::new();
            position.legal_actions(&mut legal);
            let actions: Vec<usize> = nodes[node.children()].iter().map(|child| child.action as usize).collect();
            assert_eq!(actions, legal);
            for child in node.children() {
                let mut next = position.clone();
                next.apply(nodes[child].action as usize);
                check_node(nodes, child, &next);
            }
        }
        None => {}
    }
}

/// Step by step in both forms; the trees must be sound and the same.
fn check<G: Game>(params: Params, root: G, steps: usize) -> Search<G> {
    let mut sequential = Search::new(params, root.clone());
    let mut parallel = Search::new(params, root);
    for step in 0..steps {
        sequential.step();
        if step % 7 == 3 { parallel.step() } else { parallel.step_parallel() }
    }
    assert_same(&sequential, &parallel);
    check_trees(&sequential);
    sequential
}

const BOTH: [Variant; 2] = [Variant::Ocp, Variant::Acp];

#[test]
fn both_forms_give_the_same_trees() {
    for variant in BOTH {
        for seed in [0, 1, u64::MAX] {
            for (n_trees, n_playouts) in [(1, 1), (1, 32), (2, 1), (3, 8), (8, 16), (5, 64)] {
                check(params(variant, n_trees, n_playouts, seed), connect4(""), 60);
                check(params(variant, n_trees, n_playouts, seed), connect4("4453"), 40);
                check(params(variant, n_trees, n_playouts.min(8), seed), Gomoku::new(7, seed == 1), 12);
            }
        }
    }
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut search = Search::new(params(Variant::Acp, 3, 64, 5), connect4("44"));
            (0..20).for_each(|_| search.step_parallel());
            search
        })
    };
    let one = run(1);
    for threads in [2, 3, 7] {
        assert_same(&one, &run(threads));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn trees_are_sound_from_random_positions(
        seed: u64, plies in 0usize..42, acp: bool, n_trees in 1usize..5, log_m in 0u32..6, capacity in 1usize..400,
        max_depth in 0usize..6, c in prop::sample::select(vec![0.0f32, 0.7, 1.0, 2.0]), draw_value in 0.0f32..=1.0,
        (rows, columns) in (1usize..9, 1usize..9),
    ) {
        let mut position = if plies % 2 == 0 { Connect4::new(rows, columns) } else { Connect4::new(6, 7) };
        let mut stream = Streams::new(seed).expansion(9);
        let mut legal = Vec::new();
        for _ in 0..plies {
            position.legal_actions(&mut legal);
            if position.result().is_some() {
                break;
            }
            position.apply(legal[stream.below(legal.len() as u32) as usize]);
        }
        let variant = BOTH[usize::from(acp)];
        let params = Params {
            variant, n_trees, n_playouts: 1 << log_m, max_tree_nodes: capacity, ucb_c: c, draw_value, seed,
            max_depth: if max_depth == 5 { 2048 } else { max_depth },
        };
        check(params, position, 30);
    }
}

#[test]
fn the_first_step_expands_the_root() {
    let search = searched(params(Variant::Acp, 1, 4, 0), connect4(""), 1);
    let nodes = search.tree(0).unwrap();
    assert_eq!(nodes.len(), 8);
    assert_eq!(nodes[0].n, 28);
    assert!(nodes[1..].iter().zip(0..).all(|(child, action)| child.n == 4 && child.action == action));
    let search = searched(params(Variant::Ocp, 1, 4, 0), connect4(""), 1);
    let nodes = search.tree(0).unwrap();
    assert_eq!((nodes.len(), nodes[0].n), (8, 4));
    // The child comes from the expansion stream.
    let drawn = Streams::new(0).expansion(0).below(7) as usize;
    assert!(nodes[1..].iter().enumerate().all(|(action, child)| child.n == if action == drawn { 4 } else { 0 }));
}

#[test]
fn lanes_have_the_streams_of_their_numbers() {
    // One step of ACP, T = 2, m = 4, done by hand: stream (tree·B + action)·m + lane.
    let (n_trees, m) = (2, 4);
    let root = connect4("11111");
    let search = searched(params(Variant::Acp, n_trees, m, 3), root.clone(), 1);
    let streams = Streams::new(3);
    for t in 0..n_trees {
        for child in &search.tree(t).unwrap()[1..] {
            let action = child.action as usize;
            let mut position = root.clone();
            position.apply(action);
            let results: Vec<_> = (0..m)
                .map(|lane| position.playout(&mut streams.playout(((t * 7 + action) * m + lane) as u64)).0)
                .collect();
            assert_eq!(child.wins, results.iter().filter(|&&result| result == GameResult::Win(1)).count() as u64);
            assert_eq!(child.draws, results.iter().filter(|&&result| result == GameResult::Draw).count() as u64);
        }
    }
    // OCP: stream tree·m + lane.
    let search = searched(params(Variant::Ocp, n_trees, m, 3), root.clone(), 1);
    for t in 0..n_trees {
        let action = streams.expansion(t as u64).below(7) as usize;
        let mut position = root.clone();
        position.apply(action);
        let wins = (0..m)
            .filter(|lane| position.playout(&mut streams.playout((t * m + lane) as u64)).0 == GameResult::Win(1))
            .count();
        let child = search.tree(t).unwrap()[1 + action];
        assert_eq!((child.n, child.wins), (m as u64, wins as u64));
    }
}

#[test]
fn streams_go_on_from_step_to_step() {
    // A root that cannot be expanded: every step plays m games from it, with slot 0 of its tree.
    for (variant, slots) in [(Variant::Ocp, 1), (Variant::Acp, 7)] {
        let options = Params { max_tree_nodes: 7, ..params(variant, 2, 4, 9) };
        let search = searched(options, connect4(""), 3);
        for t in 0..2 {
            let mut wins = 0;
            for lane in 0..4 {
                let mut stream = Streams::new(9).playout(t * slots * 4 + lane);
                wins += (0..3).filter(|_| connect4("").playout(&mut stream).0 == GameResult::Win(1)).count() as u64;
            }
            let nodes = search.tree(t as usize).unwrap();
            assert_eq!((nodes.len(), nodes[0].n, nodes[0].wins), (1, 12, wins));
        }
        let statistics = search.statistics();
        assert_eq!((statistics.n_root, statistics.best, statistics.actions.len()), (24, 0, 7));
        assert!(statistics.actions.iter().all(|sum| sum.n == 0 && !sum.win_flag && sum.q(0.5).is_none()));
    }
}

#[test]
fn expansion_is_all_or_nothing() {
    for variant in BOTH {
        // Room for the root, its children and those of two more nodes, but not of a third.
        for (capacity, size) in [(0, 1), (1, 1), (7, 1), (8, 8), (14, 8), (15, 15), (22, 22), (28, 22)] {
            let search = check(Params { max_tree_nodes: capacity, ..params(variant, 2, 8, 0) }, connect4(""), 25);
            for t in 0..2 {
                assert_eq!(search.tree(t).unwrap().len(), size, "capacity {capacity}");
            }
            let per_step = if variant == Variant::Ocp || size == 1 { 25 * 8 } else { search.tree(0).unwrap()[0].n };
            assert_eq!(search.tree(0).unwrap()[0].n, per_step);
        }
    }
    // ACP: 3 expansions of 7 children each, then 22 visits of leaves with m each.
    let search = searched(Params { max_tree_nodes: 22, ..params(Variant::Acp, 1, 8, 0) }, connect4(""), 25);
    assert_eq!(search.tree(0).unwrap()[0].n, 8 * (3 * 7 + 22));
}

#[test]
fn the_depth_limit_stops_expansion() {
    for variant in BOTH {
        for max_depth in 0..4 {
            let search = check(Params { max_depth, ..params(variant, 2, 2, 0) }, connect4(""), 400);
            assert_eq!(search.statistics().trees.max_depth, max_depth as u32);
        }
    }
}

#[test]
fn a_finished_root_counts_its_result() {
    for variant in BOTH {
        let search = check(params(variant, 3, 4, 0), connect4("1212121"), 5);
        let statistics = search.statistics();
        assert_eq!((statistics.n_root, statistics.best, search.plies()), (60, NO_ACTION, 0));
        assert!(statistics.actions.is_empty());
        // Player 0 won and moved into the root.
        assert_eq!(search.tree(0).unwrap()[0].wins, 20);
    }
}

#[test]
fn a_terminal_child_gets_copies_and_the_win_flag() {
    // X has three in column 1 and moves.
    let root = connect4("121212");
    let search = check(params(Variant::Acp, 2, 8, 0), root.clone(), 1);
    let nodes = search.tree(0).unwrap();
    assert_eq!(nodes[1].result(), Some(GameResult::Win(0)));
    assert_eq!((nodes[1].n, nodes[1].wins), (8, 8));
    let statistics = search.statistics();
    assert!(statistics.actions.iter().all(|sum| sum.win_flag == (sum.action == 0)));
    assert_eq!(statistics.best, 0);
    let search = check(params(Variant::Ocp, 2, 8, 0), root, 300);
    let statistics = search.statistics();
    assert_eq!(statistics.best, 0);
    assert!(statistics.actions[0].win_flag && statistics.actions[0].wins == statistics.actions[0].n);
}

#[test]
fn a_terminal_child_draws_no_random_numbers() {
    // A root whose only child fills the board.
    let root = {
        let mut position = Connect4::new(1, 4);
        [0, 1, 2].into_iter().for_each(|column| position.apply(column));
        position
    };
    for variant in BOTH {
        let search = check(params(variant, 2, 8, 0), root.clone(), 10);
        assert_eq!(search.plies(), 0);
        let sum = search.statistics().actions[0];
        assert_eq!((sum.action, sum.n, sum.draws, sum.win_flag), (3, 160, 160, false));
    }
    // ACP, one step: the lanes of the terminal child's slot stay unused, those of its neighbours have their own numbers.
    let root = connect4("121212");
    let search = searched(params(Variant::Acp, 1, 2, 0), root.clone(), 1);
    let mut next = root.clone();
    next.apply(1);
    let wins = (2..4).filter(|&k| next.playout(&mut Streams::new(0).playout(k)).0 == GameResult::Win(0)).count();
    assert_eq!(search.tree(0).unwrap()[2].wins, wins as u64);
}

#[test]
fn a_proven_win_comes_before_many_playouts() {
    // OCP after one step: a single child has playouts, and it is not always the winning one.
    let mut other = false;
    for seed in 0..20 {
        let search = searched(params(Variant::Ocp, 1, 4, seed), connect4("121212"), 1);
        let statistics = search.statistics();
        assert_eq!(statistics.best, 0);
        other |= statistics.actions[0].n == 0;
    }
    assert!(other);
    // The opponent's threat (column 1) is no win of the player to move.
    let statistics = searched(params(Variant::Acp, 1, 4, 0), connect4("12121"), 50).statistics();
    assert!(statistics.actions.iter().all(|sum| !sum.win_flag));
}

#[test]
fn ties_go_to_the_lowest_action() {
    // ACP, C = 0, and a game without a difference: all children stay equal.
    let search = searched(Params { ucb_c: 0.0, ..params(Variant::Acp, 1, 2, 0) }, Even { left: 3 }, 2);
    let nodes = search.tree(0).unwrap();
    assert_eq!(nodes[1].n_children, 4);
    assert!(nodes[2..5].iter().all(|child| child.n_children == 0));
    assert_eq!(searched(params(Variant::Acp, 1, 2, 0), Even { left: 3 }, 1).statistics().best, 0);
    // Before the first step nothing speaks for any action.
    assert_eq!(Search::new(Params::default(), connect4("111111")).statistics().best, 1);
    // OCP: children without playouts have an infinite bound and are visited in ascending order.
    let search = searched(params(Variant::Ocp, 1, 2, 0), connect4(""), 7);
    let drawn = Streams::new(0).expansion(0).below(7) as usize;
    let nodes = search.tree(0).unwrap();
    let order: Vec<usize> = (0..7).filter(|&action| action != drawn).collect();
    for (i, &action) in order.iter().enumerate() {
        assert_eq!(nodes[1 + action].first_child as usize, 8 + 7 * i);
    }
}

/// Four equal actions, a fixed number of times, then a draw.
#[derive(Clone)]
struct Even {
    left: usize,
}

impl Game for Even {
    fn max_actions(&self) -> usize {
        4
    }
    fn to_move(&self) -> usize {
        self.left % 2
    }
    fn is_legal(&self, action: usize) -> bool {
        action < 4
    }
    fn apply(&mut self, _: usize) {
        self.left -= 1;
    }
    fn result_after(&self, _: usize) -> Option<GameResult> {
        self.result()
    }
    fn result(&self) -> Option<GameResult> {
        (self.left == 0).then_some(GameResult::Draw)
    }
}

#[test]
fn draws_are_counted_apart() {
    let search = check(params(Variant::Acp, 2, 4, 0), Even { left: 3 }, 30);
    let statistics = search.statistics();
    for sum in &statistics.actions {
        assert_eq!((sum.wins, sum.draws), (0, sum.n));
        assert_eq!(sum.q(0.25), Some(0.25));
    }
}

/// One player: two switches, the game is won when both are on and lost after four moves.
#[derive(Clone)]
struct Switches {
    on: [bool; 2],
    moves: u32,
}

impl Game for Switches {
    fn max_actions(&self) -> usize {
        2
    }
    fn to_move(&self) -> usize {
        0
    }
    fn is_legal(&self, action: usize) -> bool {
        action < 2
    }
    fn apply(&mut self, action: usize) {
        self.on[action] ^= true;
        self.moves += 1;
    }
    fn result_after(&self, _: usize) -> Option<GameResult> {
        self.result()
    }
    fn result(&self) -> Option<GameResult> {
        if self.on == [true; 2] { Some(GameResult::Win(0)) } else { (self.moves == 4).then_some(GameResult::Win(1)) }
    }
}

#[test]
fn a_game_of_one_player_counts_the_movers_wins() {
    for variant in BOTH {
        let search = searched(params(variant, 2, 4, 0), Switches { on: [true, false], moves: 0 }, 50);
        let statistics = search.statistics();
        assert_eq!(statistics.best, 1);
        assert!(statistics.actions[1].win_flag);
        for node in &search.tree(0).unwrap()[1..] {
            assert_eq!(node.mover, 0);
        }
        assert_eq!(search.tree(0).unwrap()[0].mover, 1);
    }
}

/// A game that never ends but runs out of actions at once.
#[derive(Clone)]
struct Stuck;

impl Game for Stuck {
    fn max_actions(&self) -> usize {
        3
    }
    fn to_move(&self) -> usize {
        1
    }
    fn is_legal(&self, _: usize) -> bool {
        false
    }
    fn apply(&mut self, _: usize) {}
    fn result_after(&self, _: usize) -> Option<GameResult> {
        None
    }
    fn result(&self) -> Option<GameResult> {
        None
    }
}

#[test]
fn odd_options_and_games_do_no_harm() {
    for variant in BOTH {
        let search = check(params(variant, 2, 4, 0), Stuck, 3);
        assert_eq!(search.tree(0).unwrap()[0].draws, 12);
        for (n_trees, n_playouts) in [(0, 4), (2, 0), (0, 0)] {
            let mut search = searched(params(variant, n_trees, n_playouts, 0), connect4(""), 5);
            search.step_parallel();
            assert_eq!(search.statistics().n_root, 0);
            assert_eq!(search.steps(), 6);
            assert!(search.tree(n_trees).is_none());
        }
        for value in [f32::NAN, f32::INFINITY, -1.0] {
            searched(Params { ucb_c: value, draw_value: value, ..params(variant, 1, 2, 0) }, connect4(""), 20);
        }
    }
}

#[test]
fn a_playout_a_lane_and_no_more() {
    /// Connect 4 that counts its playouts.
    #[derive(Clone)]
    struct Counting(Connect4, Arc<AtomicU64>);
    impl Game for Counting {
        fn max_actions(&self) -> usize {
            self.0.max_actions()
        }
        fn to_move(&self) -> usize {
            self.0.to_move()
        }
        fn is_legal(&self, action: usize) -> bool {
            self.0.is_legal(action)
        }
        fn apply(&mut self, action: usize) {
            self.0.apply(action);
        }
        fn result_after(&self, action: usize) -> Option<GameResult> {
            self.0.result_after(action)
        }
        fn result(&self) -> Option<GameResult> {
            self.0.result()
        }
        fn playout(&self, rng: &mut Stream) -> (GameResult, u32) {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.playout(rng)
        }
    }
    let count = Arc::new(AtomicU64::new(0));
    let mut search = Search::new(params(Variant::Acp, 3, 16, 0), Counting(connect4("121212"), count.clone()));
    search.step_parallel();
    // Column 1 wins at once: copies, no playout.
    assert_eq!(count.load(Ordering::Relaxed), 3 * 6 * 16);
    assert_eq!(search.statistics().n_root, 3 * 7 * 16);
}

#[test]
fn the_bound_is_the_formula() {
    let value = q(8, 3, 2, 0.5);
    assert_eq!(value, 0.5);
    assert_eq!(ucb(64, 8, value, 2.0), 0.5 + 2.0 * (libm::logf(64.0) / 8.0).sqrt());
    assert_eq!(ucb(64, 0, value, 2.0), f32::INFINITY);
    assert!(q(0, 0, 0, 0.5).is_nan());
    let statistics = searched(params(Variant::Acp, 4, 16, 0), connect4(""), 30).statistics();
    for sum in &statistics.actions {
        let mean = (sum.wins as f32 + 0.5 * sum.draws as f32) / sum.n as f32;
        assert_eq!(sum.q(0.5), Some(mean));
        let bound = mean + 2.0 * (libm::logf(statistics.n_root as f32) / sum.n as f32).sqrt();
        assert_eq!(sum.ucb(statistics.n_root, 2.0, 0.5), Some(bound));
    }
}

#[test]
fn ocp_with_one_tree_and_one_playout_is_the_vanilla_search() {
    for seed in 0..4 {
        for moves in ["", "4453", "121212", "1212121"] {
            let search = searched(params(Variant::Ocp, 1, 1, seed), connect4(moves), 500);
            let mut player = Vanilla::new(connect4(moves), 2.0, 0.5, seed);
            assert_eq!(player.run(Some(500), None, &|| false), 500);
            assert_eq!(search.tree(0).unwrap(), player.nodes());
            assert_eq!(search.statistics(), player.statistics());
            assert_eq!(search.plies(), player.plies());
        }
    }
}

#[test]
fn another_seed_gives_another_search() {
    let run = |seed| searched(params(Variant::Acp, 2, 16, seed), connect4(""), 20);
    assert_same(&run(1), &run(1));
    assert_ne!(run(1).statistics(), run(2).statistics());
    // Trees of one search differ from each other as well.
    assert_ne!(run(1).tree(0), run(1).tree(1));
}
