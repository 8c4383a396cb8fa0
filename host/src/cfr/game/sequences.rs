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
    /// 0 for the decision of the node itself; from 1 on for the choice among its sizes of raise that follows, where it has several ([`Sequences::with_sizes`]).
    pub choice: u32,
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

/// All sequences and ends of a game; a sequence has at most three actions.
///
/// Where a node has several sizes of raise, its sequence decides to raise, and choices follow that decide how much: two sizes and "larger", and in the last choice two or three sizes. A
/// player who acts several times in a row, seeing nothing new, plays the same game, so regrets of each choice by itself lead to the same equilibria.
///
/// ```text
/// 5 sizes   fold, call, raise → choice 1: a, b, larger → choice 2: c, d, e
/// ```
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
pub(in crate::cfr) fn pots(node: &BettingNode, dead: f64) -> Vec<Pot> {
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

/// What an action of a sequence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// An action of the node, by its index.
    Action(usize),
    /// The next choice.
    Larger,
}

/// What the actions of a node's decision are, or of a choice among its sizes of raise.
fn meanings(actions: &[Action], choice: u32) -> [Option<Meaning>; ACTIONS] {
    let of = |is: fn(&Action) -> bool| actions.iter().position(is);
    let raise = of(|action| matches!(action, Action::Raise(_)));
    let Some(before) = choice.checked_sub(1) else {
        let larger = if n_raises(actions) > 1 { Some(Meaning::Larger) } else { raise.map(Meaning::Action) };
        let [fold, call] = [of(|action| *action == Action::Fold), of(|action| *action == Action::Call)];
        return [fold.map(Meaning::Action), call.map(Meaning::Action), larger];
    };
    let first = raise.unwrap_or(actions.len()) + 2 * before as usize;
    let size = |index: usize| (index < actions.len()).then_some(Meaning::Action(index));
    let third = if (choice as usize) < n_raises(actions) / 2 { Some(Meaning::Larger) } else { size(first + 2) };
    [size(first), size(first + 1), third]
}

/// The slots of a decision with so many sizes of raise, in the order of its values: each is a sequence, by its choice (0: the decision itself), and one of the sequence's actions. Fold, call and
/// the sizes come first; behind several sizes, the actions that lead to the next choice. Fold and the only raise have a slot even if they are not legal.
pub(in crate::cfr) fn slots(n_raises: usize) -> Vec<(u32, usize)> {
    let mut slots = vec![(0, 0), (0, 1)];
    if n_raises < 2 {
        slots.push((0, 2));
        return slots;
    }
    let n = n_raises as u32 / 2;
    slots.extend((1..=n).flat_map(|choice| [(choice, 0), (choice, 1)]));
    slots.extend((n_raises % 2 == 1).then_some((n, 2)));
    slots.extend((0..n).map(|choice| (choice, 2)));
    slots
}

/// Sizes of raise among the actions of a decision.
pub(in crate::cfr) fn n_raises(actions: &[Action]) -> usize {
    actions.iter().filter(|action| matches!(action, Action::Raise(_))).count()
}

/// The error for a game whose raises have sizes where they must have one.
pub(in crate::cfr) fn several_sizes() -> Error {
    Error::option("game", "no-limit", "a game with one size of raise at a time, where deals are sampled")
}

impl Sequences {
    /// The sequences of a betting tree with one size of raise at a time.
    ///
    /// # Errors
    /// [`Error::Option`] for more seats than the kernels support, a tree without actions, a node with two sizes of raise, or a rake.
    pub fn of(tree: &BettingTree) -> Result<Self> {
        let made = Self::with_sizes(tree)?;
        match made.has_choices() {
            true => Err(several_sizes()),
            false => Ok(made),
        }
    }

    /// The sequences of a betting tree, with choices among sizes of raise.
    ///
    /// # Errors
    /// As [`of`](Self::of), without that about sizes.
    pub fn with_sizes(tree: &BettingTree) -> Result<Self> {
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
        if !matches!(tree.nodes.first().map(|node| &node.kind), Some(BettingKind::Decision { .. })) {
            return Err(Error::option("game", "without actions", "a game in which a player acts"));
        }
        let mut made = Self {
            n_players: tree.n_players,
            n_rounds: 1,
            sequences: Vec::new(),
            levels: Vec::new(),
            ends: Vec::new(),
            blinds: tree.nodes.first().map(|root| root.contributed.clone()).unwrap_or_default(),
        };
        // Of each sequence of a level the node and the choice.
        let mut level = vec![(0u32, 0u32)];
        while !level.is_empty() {
            let first = made.sequences.len() as u32;
            let end = first + level.len() as u32;
            made.levels.push(first..end);
            let mut next = Vec::new();
            for (number, choice) in level {
                let node = &tree.nodes[number as usize];
                let BettingKind::Decision { seat, actions, children } = &node.kind else { continue };
                let mut sequence = Sequence {
                    seat: *seat as u32,
                    round: node.round,
                    children: [None; ACTIONS],
                    costs: [0.0; ACTIONS],
                    node: number,
                    choice,
                };
                for (action, of) in meanings(actions, choice).into_iter().enumerate() {
                    let after = match of {
                        None => continue,
                        Some(Meaning::Larger) => {
                            next.push((number, choice + 1));
                            sequence.children[action] = Some(Child::Sequence(end + next.len() as u32 - 1));
                            continue;
                        }
                        Some(Meaning::Action(index)) => children[index],
                    };
                    let to = &tree.nodes[after as usize];
                    sequence.costs[action] = to.contributed[*seat] - node.contributed[*seat];
                    sequence.children[action] = Some(match to.kind {
                        BettingKind::Terminal => {
                            made.ends.push(End { pots: pots(to, tree.dead), stakes: to.contributed.clone() });
                            Child::End(made.ends.len() as u32 - 1)
                        }
                        BettingKind::Decision { .. } => {
                            next.push((after, 0));
                            Child::Sequence(end + next.len() as u32 - 1)
                        }
                    });
                }
                made.n_rounds = made.n_rounds.max(node.round as usize + 1);
                made.sequences.push(sequence);
            }
            level = next;
        }
        Ok(made)
    }

    /// Whether some node has several sizes of raise.
    pub fn has_choices(&self) -> bool {
        self.sequences.iter().any(|sequence| sequence.choice > 0)
    }

    /// Whether some end has side pots.
    pub fn has_side_pots(&self) -> bool {
        self.ends.iter().any(|end| end.pots.len() > 1)
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
}
