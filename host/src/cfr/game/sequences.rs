//! The betting tree as the programs that sample deals use it: sequences of actions after which somebody acts, numbered level by level, and the ends.

use std::ops::Range;

use warpplay_gpu::cfr::beats::MAX_PLAYERS;

use super::betting::{Action, BettingKind, BettingNode, BettingTree};
use crate::{Error, Result};

/// Actions of a limit game: fold, call, raise.
pub const ACTIONS: usize = 3;

/// What an action leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Child {
    /// Somebody acts: number of the sequence.
    Sequence(u32),
    /// The hand is over: number of the end.
    End(u32),
}

/// A node of the betting tree where somebody acts.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequence {
    /// The seat that acts.
    pub seat: u32,
    /// Betting round.
    pub round: u32,
    /// What fold, call and raise lead to.
    pub children: [Option<Child>; ACTIONS],
    /// Chips that call and raise cost here; fold costs none.
    pub costs: [f64; ACTIONS],
    /// The node of the betting tree.
    pub node: u32,
}

/// A part of the pot and the seats that can win it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pot {
    /// Chips.
    pub chips: f64,
    /// Bit `seat`.
    pub eligible: u32,
}

/// A node of the betting tree where the hand is over.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// The main pot and the side pots; at least one.
    pub pots: Vec<Pot>,
    /// Chips put in, by seat.
    pub stakes: Vec<f64>,
}

/// All sequences and ends of a game with at most one size of raise at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequences {
    /// Seats.
    pub n_players: usize,
    /// Betting rounds that occur.
    pub n_rounds: usize,
    /// Sequences level by level; children of one sequence are consecutive, followed by those of the next.
    pub sequences: Vec<Sequence>,
    /// Sequences of each level.
    pub levels: Vec<Range<u32>>,
    /// Ends, in the order of the sequences before them.
    pub ends: Vec<End>,
    /// Chips that each seat has put in before the first action.
    pub blinds: Vec<f64>,
}

/// Main pot and side pots of an end: a layer for each amount put in by a seat still in the hand.
fn pots(node: &BettingNode, dead: f64) -> Vec<Pot> {
    let is_in = |seat: usize| node.folded >> seat & 1 == 0;
    let mut amounts: Vec<f64> =
        node.contributed.iter().enumerate().filter(|(seat, _)| is_in(*seat)).map(|(_, &chips)| chips).collect();
    amounts.sort_by(f64::total_cmp);
    amounts.dedup();
    // What folded seats put in beyond everybody else belongs to the last layer.
    if let Some(last) = amounts.last_mut() {
        *last = node.contributed.iter().copied().fold(*last, f64::max);
    }
    let mut pots: Vec<Pot> = Vec::new();
    let (mut below, mut dead) = (0.0, dead);
    for (layer, &amount) in amounts.iter().enumerate() {
        let chips: f64 = node.contributed.iter().map(|&chips| chips.min(amount) - chips.min(below)).sum();
        let is_last = layer + 1 == amounts.len();
        let reached = |seat: usize| node.contributed[seat] > below || (is_last && layer == 0);
        let eligible = (0..node.contributed.len()).filter(|&seat| is_in(seat) && reached(seat));
        pots.push(Pot { chips: chips + dead, eligible: eligible.fold(0, |set, seat| set | 1 << seat) });
        (below, dead) = (amount, 0.0);
    }
    pots
}

impl Sequences {
    /// The sequences of a betting tree.
    ///
    /// # Errors
    /// [`Error::Option`] for more seats than the kernels support, a tree without actions, a node with two sizes of raise, or a rake.
    pub fn of(tree: &BettingTree) -> Result<Self> {
        if tree.n_players > MAX_PLAYERS {
            return Err(Error::option(
                "numPlayers",
                tree.n_players,
                format!("at most {MAX_PLAYERS} where deals are sampled"),
            ));
        }
        if tree.rake.part > 0.0 {
            return Err(Error::option("rake", tree.rake.part, "none where deals are sampled"));
        }
        if tree.icm.is_some() {
            return Err(Error::option("icm", "given", "none where deals are sampled"));
        }
        // Numbers of the nodes among their kind; breadth first, so levels stay ranges.
        let mut numbers = Vec::with_capacity(tree.nodes.len());
        let (mut n_sequences, mut n_ends) = (0, 0);
        for node in &tree.nodes {
            let count = if node.kind == BettingKind::Terminal { &mut n_ends } else { &mut n_sequences };
            numbers.push(*count);
            *count += 1;
        }
        let child = |node: u32| match &tree.nodes[node as usize].kind {
            BettingKind::Decision { .. } => Child::Sequence(numbers[node as usize]),
            BettingKind::Terminal => Child::End(numbers[node as usize]),
        };
        let mut made = Self {
            n_players: tree.n_players,
            n_rounds: 1,
            sequences: Vec::with_capacity(n_sequences as usize),
            levels: Vec::new(),
            ends: Vec::with_capacity(n_ends as usize),
            blinds: tree.nodes.first().map(|root| root.contributed.clone()).unwrap_or_default(),
        };
        for (number, node) in tree.nodes.iter().enumerate() {
            let BettingKind::Decision { seat, actions, children } = &node.kind else {
                made.ends.push(End { pots: pots(node, tree.dead), stakes: node.contributed.clone() });
                continue;
            };
            let at = made.sequences.len() as u32;
            if node.level as usize == made.levels.len() {
                made.levels.push(at..at);
            }
            if let Some(level) = made.levels.last_mut() {
                level.end = at + 1;
            }
            let mut sequence = Sequence {
                seat: *seat as u32,
                round: node.round,
                children: [None; ACTIONS],
                costs: [0.0; ACTIONS],
                node: number as u32,
            };
            for (action, &next) in actions.iter().zip(children) {
                let slot = match action {
                    Action::Fold => 0,
                    Action::Call => 1,
                    Action::Raise(_) => 2,
                };
                if sequence.children[slot].is_some() {
                    return Err(Error::option(
                        "game",
                        "no-limit",
                        "a game with one size of raise at a time, where deals are sampled",
                    ));
                }
                sequence.children[slot] = Some(child(next));
                sequence.costs[slot] = tree.nodes[next as usize].contributed[*seat] - node.contributed[*seat];
            }
            made.n_rounds = made.n_rounds.max(node.round as usize + 1);
            made.sequences.push(sequence);
        }
        if made.sequences.is_empty() {
            return Err(Error::option("game", "without actions", "a game in which a player acts"));
        }
        Ok(made)
    }

    /// Whether some end has side pots.
    pub fn has_side_pots(&self) -> bool {
        self.ends.iter().any(|end| end.pots.len() > 1)
    }

    /// The sequence after a betting history: `f`, `c` and `r`, with `/` between rounds. Sizes of raises are ignored.
    ///
    /// # Errors
    /// [`Error::Option`] if it cannot be played, or the hand is over.
    pub fn find(&self, history: &str) -> Result<u32> {
        let wrong = |allowed: &str| Err(Error::option("history", format!("'{history}'"), allowed));
        let mut at = 0;
        for letter in history.chars() {
            let action = match letter {
                'f' => 0,
                'c' => 1,
                'r' => 2,
                '/' | '0'..='9' => continue,
                _ => return wrong("letters f, c and r, and / between rounds"),
            };
            match self.sequences[at as usize].children[action] {
                Some(Child::Sequence(next)) => at = next,
                Some(Child::End(_)) => return wrong("a history after which a player acts"),
                None => return wrong("actions that can be played"),
            }
        }
        Ok(at)
    }

    /// The number of each sequence in depth-first order, `[sequence]`.
    pub fn depth_first(&self) -> Vec<u32> {
        let (mut numbers, mut next, mut stack) = (vec![0; self.sequences.len()], 0, vec![0u32]);
        while let Some(sequence) = stack.pop() {
            numbers[sequence as usize] = next;
            next += 1;
            let children = self.sequences[sequence as usize].children.iter().rev();
            stack.extend(children.filter_map(|child| match child {
                Some(Child::Sequence(child)) => Some(*child),
                _ => None,
            }));
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use warpplay_gpu::cfr::beats::{winners, word};

    use super::*;
    use crate::cfr::game::game_file::GameDef;

    fn tree(text: &str) -> BettingTree {
        let game = GameDef::parse(&format!("GAMEDEF\n{text}\nEND GAMEDEF\n")).expect("a game");
        BettingTree::new(&game).expect("a tree")
    }

    const SHORT_STACKS: &str = "limit\nnumPlayers = 4\nnumRounds = 1\nstack = 1 5 3 4\nblind = 1 1 0 2\nraiseSize = 2\nmaxRaises = 2\n\
        numSuits = 1\nnumRanks = 4\nnumHoleCards = 1\nnumBoardCards = 0";

    #[test]
    fn pots_pay_what_the_rules_pay() {
        let tree = tree(SHORT_STACKS);
        let game = Sequences::of(&tree).expect("sequences");
        assert!(game.has_side_pots());
        let ends = tree.nodes.iter().filter(|node| node.kind == BettingKind::Terminal);
        for (node, end) in ends.zip(&game.ends) {
            for code in 0..81u32 {
                let strengths: Vec<u32> = (0..4).map(|seat| code / 3u32.pow(seat) % 3).collect();
                let set = |is: &dyn Fn(u32) -> bool| {
                    (0..4).filter(|&seat| is(strengths[seat])).fold(0u32, |set, seat| set | 1 << seat)
                };
                for (seat, expected) in tree.payoffs(node, &strengths).into_iter().enumerate() {
                    let own = strengths[seat];
                    let word = word(set(&|other| other > own), set(&|other| other == own));
                    let won: f64 = end
                        .pots
                        .iter()
                        .filter(|pot| pot.eligible >> seat & 1 == 1)
                        .map(|pot| (winners(word, pot.eligible), pot.chips))
                        .filter(|(winners, _)| *winners > 0)
                        .map(|(winners, chips)| chips / f64::from(winners))
                        .sum();
                    let got = won - end.stakes[seat];
                    assert!(
                        (got - expected).abs() < 1e-12,
                        "{node:?} {strengths:?} seat {seat}: {got}, expected {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn levels_are_ranges_and_both_numberings_have_every_sequence() {
        let game = Sequences::of(&tree(SHORT_STACKS)).expect("sequences");
        assert_eq!(game.levels[0], 0..1);
        assert!(game.levels.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(game.levels.last().map(|level| level.end as usize), Some(game.sequences.len()));
        let mut numbers = game.depth_first();
        assert_eq!(numbers[0], 0);
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..game.sequences.len() as u32));
    }

    #[test]
    fn histories_are_found_or_refused() {
        let game = Sequences::of(&tree(SHORT_STACKS)).expect("sequences");
        assert_eq!(game.find("").expect("the root"), 0);
        let error = game.find("x").expect_err("no letter of an action").to_string();
        assert!(error.contains("letters f, c and r"), "{error}");
    }
}
