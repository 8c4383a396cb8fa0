//! Section 5, question 2: can the number of playouts depend on the depth?
//!
//! The kernels give every leaf the same m: a block has a thread a playout. So the question is answered by a plain search on the CPU, one tree and one child a step
//! (OCP), on the games of this library; both players have the same number of playouts a move, which is what their time is spent on.

use serde::{Deserialize, Serialize};
use warpplay::mcts::contest::{Side, wilson_percent};
use warpplay::mcts::{Adapted, Connect4};
use warpplay_cpu_ref::mcts::{Game, GameResult, Stream, Streams, q, ucb};

use super::matches::game_seed;
use super::options::{Options, counted};
use crate::experiment::{Item, Run, Sheet, Stop, Table};

/// How many playouts a child at this depth (from 1) gets.
type Schedule = fn(u32) -> u32;

/// The same at every depth: the opponent of the others, and of itself.
const CONSTANT: Schedule = |_| 16;

/// Schedules by name. Each is 16 at the third level.
const SCHEDULES: [(&str, Schedule); 3] = [
    ("constant: 16", CONSTANT),
    ("falling: 64, 32, 16, 8, 4, 4, …", |depth| (128 >> depth.min(7)).max(4)),
    ("rising: 4, 8, 16, 32, 64, 64, …", |depth| (2 << depth.min(5)).min(64)),
];

/// Exploration constant, the paper's.
const UCB_C: f32 = 2.0;

struct Node {
    n: u64,
    wins: u64,
    children: std::ops::Range<usize>,
    action: usize,
    mover: usize,
    result: Option<GameResult>,
}

impl Node {
    fn add(&mut self, n: u64, wins: [u64; 2]) {
        self.n += n;
        self.wins += wins[self.mover & 1];
    }
}

/// One tree with its streams of random numbers.
struct Tree<G> {
    root: G,
    nodes: Vec<Node>,
    playouts: Stream,
    expansions: Stream,
    max_depth: u32,
}

impl<G: Game> Tree<G> {
    fn new(root: G, seed: u64) -> Self {
        let streams = Streams::new(seed);
        let node = Node { n: 0, wins: 0, children: 0..0, action: 0, mover: 1 - root.to_move(), result: root.result() };
        Self { root, nodes: vec![node], playouts: streams.playout(0), expansions: streams.expansion(0), max_depth: 0 }
    }

    /// The child with the largest bound; of equals the one with the lowest action.
    fn best_child(&self, node: usize) -> usize {
        let parent = &self.nodes[node];
        let bound = |child: usize| {
            let Node { n, wins, .. } = self.nodes[child];
            ucb(parent.n, n, q(n, wins, 0, 0.0), UCB_C)
        };
        parent.children.clone().rev().max_by(|&a, &b| bound(a).total_cmp(&bound(b))).unwrap_or(node)
    }

    /// One step; returns the playouts made, at most `left`.
    fn step(&mut self, schedule: Schedule, left: u64) -> u64 {
        let mut position = self.root.clone();
        let (mut node, mut path) = (0, vec![0]);
        while !self.nodes[node].children.is_empty() {
            node = self.best_child(node);
            position.apply(self.nodes[node].action);
            path.push(node);
        }
        if self.nodes[node].result.is_none() {
            let mut legal = Vec::new();
            position.legal_actions(&mut legal);
            let first = self.nodes.len();
            self.nodes.extend(legal.iter().map(|&action| Node {
                n: 0,
                wins: 0,
                children: 0..0,
                action,
                mover: position.to_move(),
                result: position.result_of(action),
            }));
            self.nodes[node].children = first..self.nodes.len();
            if !legal.is_empty() {
                node = first + self.expansions.below(legal.len() as u32) as usize;
                position.apply(self.nodes[node].action);
                path.push(node);
            }
        }
        let depth = path.len() as u32 - 1;
        self.max_depth = self.max_depth.max(depth);
        let n = u64::from(schedule(depth.max(1))).min(left);
        let mut wins = [0; 2];
        match self.nodes[node].result {
            Some(GameResult::Win(player)) => wins[player & 1] = n,
            Some(GameResult::Draw) => {}
            None => {
                for _ in 0..n {
                    if let (GameResult::Win(player), _) = position.playout(&mut self.playouts) {
                        wins[player & 1] += 1;
                    }
                }
            }
        }
        for &node in &path {
            self.nodes[node].add(n, wins);
        }
        n
    }

    /// Searches with so many playouts; the best action and the steps made.
    fn search(&mut self, schedule: Schedule, budget: u64) -> (usize, u64) {
        let (mut made, mut steps) = (0, 0);
        while made < budget {
            made += self.step(schedule, budget - made);
            steps += 1;
        }
        let rank = |child: &usize| {
            let Node { n, wins, result, mover, .. } = &self.nodes[*child];
            (*result == Some(GameResult::Win(*mover)), *n, *wins, std::cmp::Reverse(*child))
        };
        let best = self.nodes[0].children.clone().max_by_key(rank).unwrap_or(0);
        (self.nodes[best].action, steps)
    }
}

/// A game: the score of the first schedule, and steps and moves of both; sums of their largest depths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Played {
    score: f64,
    moves: [u64; 2],
    steps: [u64; 2],
    max_depths: [u64; 2],
}

/// Plays a game of the schedules, each with its seed; the one of `first` begins.
fn play(
    schedules: [Schedule; 2],
    budget: u64,
    first: usize,
    seeds: [u64; 2],
    check: &mut dyn FnMut() -> Result<(), Stop>,
) -> Result<Played, Stop> {
    let mut position = Adapted(Connect4::new());
    let mut played = Played { score: 0.5, moves: [0; 2], steps: [0; 2], max_depths: [0; 2] };
    let mut to_move = first;
    while position.result().is_none() {
        check()?;
        let mut tree = Tree::new(position, seeds[to_move]);
        let (action, steps) = tree.search(schedules[to_move], budget);
        position.apply(action);
        played.moves[to_move] += 1;
        played.steps[to_move] += steps;
        played.max_depths[to_move] += u64::from(tree.max_depth);
        if let Some(GameResult::Win(_)) = position.result() {
            // In this game only the one who moved can have won.
            played.score = if to_move == 0 { 1.0 } else { 0.0 };
        }
        to_move = 1 - to_move;
    }
    Ok(played)
}

/// The schedules against the constant one.
pub(super) fn sheet(item: &Item, run: &mut Run<'_>, options: &Options) -> Result<Sheet, Stop> {
    let (games, budget) = match (run.quick(), options.full) {
        (true, _) => (2, 100),
        (_, true) => (1000, 10_000),
        _ => (200, 2000),
    };
    let games = u64::from(options.games.unwrap_or(games));
    run.expect(SCHEDULES.len() as u64 * games);
    let mut table = Table::new(format!(
        "Connect 4, one tree on the CPU, {budget} playouts a move for both, {} each, against constant 16",
        counted(games, "game", "games")
    ))
    .column("playouts by depth");
    for (head, digits) in
        [("score, %", 1), ("low", 1), ("high", 1), ("steps", 1), ("steps of the opponent", 1), ("max depth", 2)]
    {
        table = table.digits(head, digits);
    }
    let mut sheet = Sheet::new(item);
    for (name, schedule) in SCHEDULES {
        let mut sum = Played { score: 0.0, moves: [0; 2], steps: [0; 2], max_depths: [0; 2] };
        for game in 0..games {
            let key = format!("question 2 {name} game {}", game + 1);
            let played = run.exact(&key, |now| {
                let seeds = Side::BOTH.map(|side| game_seed(options.seed, &key, side));
                play([schedule, CONSTANT], budget, (game % 2) as usize, seeds, &mut || now.check())
            })?;
            sum.score += played.score;
            for side in 0..2 {
                sum.moves[side] += played.moves[side];
                sum.steps[side] += played.steps[side];
                sum.max_depths[side] += played.max_depths[side];
            }
        }
        let percent = 100.0 * sum.score / games as f64;
        let [low, high] = wilson_percent(percent, games).unwrap_or_default();
        let mean = |of: [u64; 2], side: usize| of[side] as f64 / sum.moves[side].max(1) as f64;
        table.row([
            name.into(),
            percent.into(),
            low.into(),
            high.into(),
            mean(sum.steps, 0).into(),
            mean(sum.steps, 1).into(),
            mean(sum.max_depths, 0).into(),
        ]);
        let verdict = match (low > 50.0, high < 50.0) {
            (true, _) => "better than the same number at every depth",
            (_, true) => "worse than the same number at every depth",
            _ => "the games do not distinguish it from the same number at every depth",
        };
        sheet = sheet.note(format!("{name}: {verdict}."));
    }
    Ok(sheet.table(table).left_out(
        "The GPU: its kernels play the same m from every leaf. A published answer: the paper asks the question.",
    ))
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use warpplay::Device;
    use warpplay_cpu_ref::mcts::vanilla::Vanilla;

    use super::*;
    use crate::experiment::{Journal, Step};

    #[test]
    fn with_one_playout_at_every_depth_it_is_the_vanilla_search() {
        let root = Adapted(Connect4::new());
        let mut tree = Tree::new(root, 5);
        let (best, steps) = tree.search(|_| 1, 500);
        let mut vanilla = Vanilla::new(root, UCB_C, 0.0, 5);
        vanilla.run(Some(500), None, &|| false);
        assert_eq!((best, steps), (vanilla.best(), 500));
        let ours: Vec<(u64, u64)> = tree.nodes.iter().map(|node| (node.n, node.wins)).collect();
        let theirs: Vec<(u64, u64)> = vanilla.nodes().iter().map(|node| (node.n, node.wins)).collect();
        assert_eq!(ours, theirs);
    }

    #[test]
    fn every_seed_is_allowed() {
        let item = Item::new("question2", "Playouts that depend on the depth", "section 5, question 2");
        let measured = [0, u64::MAX].map(|seed| {
            let mut watch = |_: &Step<'_>| ControlFlow::Continue(());
            let mut run = Run::new(Device::cpu(), true, Journal::in_memory(), &mut watch);
            let options = Options { seed, games: Some(1), ..Options::default() };
            let sheet = sheet(&item, &mut run, &options).expect("three games");
            assert_eq!((sheet.tables[0].rows.len(), sheet.notes.len()), (3, 3));
            assert!(sheet.tables[0].title.contains("1 game each"), "{}", sheet.tables[0].title);
            run.journal().records().clone()
        });
        assert_eq!(measured.each_ref().map(|records| records.len()), [3, 3]);
        assert_ne!(measured[0], measured[1], "other seeds, other games");
    }

    #[test]
    fn schedules_are_what_their_names_say() {
        let of = |at: usize| (1..=6).map(SCHEDULES[at].1).collect::<Vec<_>>();
        assert_eq!((of(0), of(1), of(2)), (vec![16; 6], vec![64, 32, 16, 8, 4, 4], vec![4, 8, 16, 32, 64, 64]));
        // The budget is kept to the playout.
        let mut tree = Tree::new(Adapted(Connect4::new()), 1);
        tree.search(SCHEDULES[1].1, 1001);
        assert_eq!(tree.nodes[0].n, 1001);
    }
}
