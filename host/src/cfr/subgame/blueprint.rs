//! What a blueprint says of a subgame: the reach of a seat's hands, and the values of best responses to it.

use std::sync::Arc;

use rayon::prelude::*;

use super::Place;
use crate::cfr::engines::cpu::{Averages, Evaluator, Play};
use crate::cfr::game::betting::BettingKind;
use crate::cfr::game::cards::CardSet;
use crate::cfr::layout::{Node, VectorGame};
use crate::cfr::strategy::{ByCards, Known, Strategy};
use crate::{Error, Result};

/// How likely a seat's own actions bring each of its hands to the subgame.
pub(super) fn reach(blueprint: &Strategy, place: &Place, seat: usize) -> Result<Vec<f64>> {
    let by_cards = ByCards::new(blueprint, &place.whole);
    let mut reach = vec![1.0; place.hands.len()];
    let mut child = place.root;
    while let Some(parent) = place.whole.nodes[child as usize].parent {
        let node = &place.whole.nodes[parent as usize];
        if let BettingKind::Decision { seat: acts, children, .. } = &node.kind
            && *acts == seat
            && let Some(action) = children.iter().position(|&at| at == child)
        {
            let known = by_cards.known(seat, &place.hands, &place.boards[..=node.round as usize]);
            for (reach, known) in reach.iter_mut().zip(known) {
                let known = known.ok_or_else(unknown)?;
                *reach *= f64::from(by_cards.at(parent as usize, seat, &known).nth(action).unwrap_or_default());
            }
        }
        child = parent;
    }
    Ok(reach)
}

/// What the best response of `seat`'s opponent to the blueprint wins in the subgame with each hand: counterfactual values in chips, with the game's scale.
pub(super) fn best_response(blueprint: &Strategy, place: &Place, game: VectorGame, seat: usize) -> Result<Vec<f64>> {
    let by_cards = ByCards::new(blueprint, &place.whole);
    let mut of_boards = Vec::with_capacity(game.streets.len());
    for (street, of_street) in game.streets.iter().enumerate() {
        let of_board = |number: usize| -> Option<Vec<Option<Known>>> {
            let known = by_cards.known(seat, &game.hands[seat], &boards(place, &game, street, number));
            let blocked = |hand: CardSet| hand & of_street.boards[number].cards != 0;
            let has_all = game.hands[seat].iter().zip(&known).all(|(&hand, known)| known.is_some() || blocked(hand));
            has_all.then_some(known)
        };
        let known: Option<Vec<_>> = (0..of_street.boards.len()).into_par_iter().map(of_board).collect();
        of_boards.push(known.ok_or_else(unknown)?);
    }
    // The node of the whole tree for each first action vector of the seat, by street.
    let nodes = game.streets.iter().map(|street| {
        let mut nodes = vec![0; street.n_slots[seat] as usize];
        for node in street.entries.iter().flat_map(|entry| &entry.nodes) {
            if let Node::Decision { seat: acts, slot, betting, .. } = node
                && *acts == seat
            {
                nodes[*slot as usize] = place.numbers[*betting as usize] as usize;
            }
        }
        nodes
    });
    let averages = OfBlueprint { nodes: nodes.collect(), of_boards, by_cards };
    let evaluator = Evaluator::new(Arc::new(game));
    let values = evaluator.values(1 - seat, Play::Best, &averages);
    Ok(values.into_iter().map(|value| value * evaluator.game.scale).collect())
}

/// The board as of each round of the whole game, up to a board of the subgame.
fn boards(place: &Place, game: &VectorGame, street: usize, board: usize) -> Vec<CardSet> {
    let mut boards = place.boards.clone();
    let (first, mut at) = (boards.len(), board);
    for street in (1..=street).rev() {
        let board = &game.streets[street].boards[at];
        boards.insert(first, board.cards);
        at = board.parent as usize;
    }
    boards
}

/// Dealt cards are known; a file whose buckets are of other cards is refused when it is read.
fn unknown() -> Error {
    Error::option("strategy", "a hand that it does not know", "one that knows all hands of the game")
}

/// The blueprint's strategies in the subgame.
struct OfBlueprint<'a> {
    by_cards: ByCards<'a>,
    /// `[street][first action vector]`: node of the whole tree.
    nodes: Vec<Vec<usize>>,
    /// `[street][board][hand]`; none for hands that the board blocks.
    of_boards: Vec<Vec<Vec<Option<Known>>>>,
}

impl Averages for OfBlueprint<'_> {
    fn strategy(
        &self,
        _: &VectorGame,
        seat: usize,
        street: usize,
        board: usize,
        slot: u32,
        n_actions: usize,
    ) -> Vec<Vec<f64>> {
        let of_hands = &self.of_boards[street][board];
        let mut strategy = vec![vec![0.0; of_hands.len()]; n_actions];
        for (hand, known) in of_hands.iter().enumerate() {
            let Some(known) = known else { continue };
            let of_hand = self.by_cards.at(self.nodes[street][slot as usize], seat, known);
            strategy.iter_mut().zip(of_hand).for_each(|(row, p)| row[hand] = f64::from(p));
        }
        strategy
    }
}
