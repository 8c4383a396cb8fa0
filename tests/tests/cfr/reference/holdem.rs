//! Hold'em with two public cards or one to come or none, against the published solutions.

use std::sync::Arc;

use serde_json::Value;
use warpplay_cpu_ref::cfr::poker::Deck;
use warpplay_cpu_ref::cfr::vector::{Game, Kind, Node, Solver};
use warpplay_cpu_ref::cfr::{Algorithm, Options};
use warpplay_tests::cfr::holdem_reference;
use warpplay_tests::tolerance::{Tolerance, close};

use super::read::{floats, number};

const RANKS: &str = "23456789TJQKA";
const DECK: Deck = Deck::FULL;

/// The file has six digits.
const PRINTED: Tolerance = Tolerance { abs: 1e-6, rel: 0.0 };

fn rank(letter: char) -> usize {
    RANKS.find(letter).unwrap_or_else(|| panic!("{letter} is no rank"))
}

fn cards(text: &str) -> u64 {
    text.split_whitespace()
        .map(|name| 1 << (0..52).find(|&card| DECK.name(card) == name).unwrap_or_else(|| panic!("{name} is no card")))
        .sum()
}

/// Whether a group such as `AK`, `AQs`, `T9o` or `77` names a hand of these ranks (the higher first), in one suit or not.
fn names(group: &str, high: usize, low: usize, suited: bool) -> bool {
    let letters: Vec<char> = group.chars().collect();
    let right_suits = match letters.get(2) {
        None => true,
        Some('s') => suited,
        Some('o') => !suited,
        Some(other) => panic!("{other} in {group}"),
    };
    (rank(letters[0]), rank(letters[1])) == (high, low) && right_suits
}

/// Weight of a hand in a range of groups with weights, or `all`.
fn weight(range: &str, hand: u64) -> f64 {
    if range == "all" {
        return 1.0;
    }
    let (low, high) = (hand.trailing_zeros() as usize, 63 - hand.leading_zeros() as usize);
    let groups = range.split(',').map(|group| group.split_once(':').unwrap_or((group, "1")));
    let mut found = groups.filter(|(group, _)| names(group, high / 4, low / 4, high % 4 == low % 4));
    found.next().map_or(0.0, |(_, weight)| weight.parse().expect("a weight"))
}

/// The betting of the published trees: a bet is a fraction of the pot or all-in; a bet is answered by fold, call or all-in.
struct Betting {
    pot: f64,
    stack: f64,
    fraction: f64,
    last_round: usize,
    nodes: Vec<Node>,
}

impl Betting {
    fn push(&mut self, round: usize, kind: Kind) -> usize {
        self.nodes.push(Node { round, kind });
        self.nodes.len() - 1
    }

    /// After a call or two checks, with `put` by each.
    fn go_on(&mut self, round: usize, put: f64) -> usize {
        if round < self.last_round && put < self.stack {
            return self.act(round + 1, 0, [put; 2], false);
        }
        let (win, tie) = (self.pot + put, self.pot / 2.0);
        self.push(round, Kind::Showdown { win: [win; 2], lose: [-put; 2], tie: [tie; 2] })
    }

    fn act(&mut self, round: usize, seat: usize, put: [f64; 2], checked: bool) -> usize {
        let node = self.push(round, Kind::Decision { seat, children: Vec::new(), locked: false });
        let other = 1 - seat;
        let raise_to = |to: f64| if seat == 0 { [to, put[1]] } else { [put[0], to] };
        let mut children = Vec::new();
        if put[seat] < put[other] {
            let mut payoff = [-put[0], -put[1]];
            payoff[other] = self.pot + put[seat];
            children.push(self.push(round, Kind::Fold { payoff }));
            children.push(self.go_on(round, put[other]));
        } else {
            let check = if checked { self.go_on(round, put[0]) } else { self.act(round, other, put, true) };
            children.push(check);
            let bet = put[seat] + self.fraction * (self.pot + put[0] + put[1]);
            if bet < self.stack {
                children.push(self.act(round, other, raise_to(bet), false));
            }
        }
        if put[other] < self.stack {
            children.push(self.act(round, other, raise_to(self.stack), false));
        }
        self.nodes[node].kind = Kind::Decision { seat, children, locked: false };
        node
    }
}

fn game(file: &Value, spot: &Value) -> Game {
    let text = |key: &str| spot[key].as_str().unwrap_or_default();
    let board = cards(&format!("{} {} {}", text("flop"), text("turn"), text("river")));
    let dealt = vec![0].into_iter().chain((board.count_ones()..5).map(|_| 1)).collect::<Vec<usize>>();
    let all = Game::all_hands(DECK, 2, board);
    let ranges = [0, 1].map(|seat: usize| spot["ranges"][seat].as_str().expect("a range"));
    let hands = ranges.map(|range| all.iter().copied().filter(|&hand| weight(range, hand) > 0.0).collect::<Vec<_>>());
    let weights = [0, 1].map(|seat: usize| hands[seat].iter().map(|&hand| weight(ranges[seat], hand)).collect());
    let mut betting = Betting {
        pot: number(&file["pot"]),
        stack: number(&file["effective_stack"]),
        fraction: number(&file["bet_fraction_of_pot"]),
        last_round: dealt.len() - 1,
        nodes: Vec::new(),
    };
    betting.act(0, 0, [0.0; 2], false);
    Game::new(DECK, 2, board, &dealt, hands, weights, betting.nodes)
}

/// Solves a spot for so many iterations: no more is left than the published program, another discounted CFR, had left after `fewer`, and values are as published, within what is left of the
/// exploitability on both sides.
fn check(name: &str, iterations: u64, fewer: &str) {
    let file = holdem_reference();
    let spot = &file["spots"][name];
    let game = Arc::new(game(&file, spot));
    let n_hands: Vec<f64> = game.hands.iter().map(|hands| hands.len() as f64).collect();
    close(&format!("{name}: hands"), &n_hands, &floats(&spot["hands"]), Tolerance { abs: 0.0, rel: 0.0 });
    close(&format!("{name}: equity"), &game.equities(), &floats(&spot["equity"]), PRINTED);
    let mut solver = Solver::new(game, Options { algorithm: Algorithm::Dcfr, ..Options::default() });
    solver.parallel = true;
    solver.iterate(iterations);
    let exploitability = solver.nash_conv() / 2.0;
    let most = number(&spot["trajectory"][fewer]);
    assert!(exploitability < most, "{name}: exploitability {exploitability} after {iterations}, at most {most}");
    let published = floats(&spot["trajectory"].as_object().expect("a trajectory").values().cloned().collect());
    let least = published.into_iter().fold(f64::INFINITY, f64::min);
    let tolerance = Tolerance { abs: 2.0 * (least + exploitability), rel: 0.0 };
    close(&format!("{name}: EV"), &solver.values(), &floats(&spot["ev"]), tolerance);
}

#[test]
fn a_river_with_ranges() {
    check("river", 300, "100");
}

#[test]
fn a_river_with_all_hands() {
    check("river_full", 200, "100");
}

#[test]
fn a_turn_with_ranges() {
    check("turn", 60, "10");
}
