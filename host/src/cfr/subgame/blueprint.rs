//! What a blueprint says of a subgame: the reach of a seat's hands, and the values of best responses to it.

use std::sync::Arc;

use rayon::prelude::*;

use super::Place;
use crate::cfr::engines::cpu::{Averages, Evaluator, Play};
use crate::cfr::game::betting::BettingKind;
use crate::cfr::game::cards::CardSet;
use crate::cfr::layout::{Node, VectorGame};
use crate::cfr::strategy::{ByHands, Strategy};
use crate::{Error, Result};

/// How likely a seat's own actions bring each of its hands to the subgame.
pub(super) fn reach(blueprint: &Strategy, place: &Place, seat: usize) -> Result<Vec<f64>> {
    let by_hands = blueprint.by_hands()?;
    let mut reach = vec![1.0; place.hands.len()];
    let mut child = place.root;
    while let Some(parent) = place.whole.nodes[child as usize].parent {
        let node = &place.whole.nodes[parent as usize];
        if let BettingKind::Decision { seat: acts, children, .. } = &node.kind
            && *acts == seat
            && let Some(action) = children.iter().position(|&at| at == child)
        {
            let board = place.dealt[..=node.round as usize].iter().fold(0, |all, cards| all | cards);
            let buckets = by_hands.buckets_of(node.round as usize, &place.hands, board);
            for (reach, bucket) in reach.iter_mut().zip(buckets) {
                let bucket = bucket.ok_or_else(no_bucket)?;
                *reach *= f64::from(by_hands.at(parent as usize, seat, bucket).nth(action).unwrap_or_default());
            }
        }
        child = parent;
    }
    Ok(reach)
}

/// What the best response of `seat`'s opponent to the blueprint wins in the subgame with each hand: counterfactual values in chips, with the game's scale.
pub(super) fn best_response(blueprint: &Strategy, place: &Place, game: VectorGame, seat: usize) -> Result<Vec<f64>> {
    let by_hands = blueprint.by_hands()?;
    let mut of_boards = Vec::with_capacity(game.streets.len());
    for (street, of_street) in game.streets.iter().enumerate() {
        let of_board = |board: &crate::cfr::layout::Board| -> Option<Vec<Option<usize>>> {
            let buckets = by_hands.buckets_of(place.round + street, &game.hands[seat], board.cards);
            let blocked = |hand: CardSet| hand & board.cards != 0;
            let has_all =
                game.hands[seat].iter().zip(&buckets).all(|(&hand, bucket)| bucket.is_some() || blocked(hand));
            has_all.then_some(buckets)
        };
        let buckets: Option<Vec<_>> = of_street.boards.par_iter().map(of_board).collect();
        of_boards.push(buckets.ok_or_else(no_bucket)?);
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
    let averages = OfBlueprint { nodes: nodes.collect(), of_boards, by_hands };
    let evaluator = Evaluator::new(Arc::new(game));
    let values = evaluator.values(1 - seat, Play::Best, &averages);
    Ok(values.into_iter().map(|value| value * evaluator.game.scale).collect())
}

/// Dealt cards have buckets; a file whose buckets are of other cards is refused when it is read.
fn no_bucket() -> Error {
    Error::option("strategy", "a hand without a bucket", "buckets for all hands of the game")
}

/// The blueprint's strategies in the subgame.
struct OfBlueprint<'a> {
    by_hands: ByHands<'a>,
    /// `[street][first action vector]`: node of the whole tree.
    nodes: Vec<Vec<usize>>,
    /// `[street][board][hand]`: bucket, none for hands that the board blocks.
    of_boards: Vec<Vec<Vec<Option<usize>>>>,
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
        let buckets = &self.of_boards[street][board];
        let mut strategy = vec![vec![0.0; buckets.len()]; n_actions];
        for (hand, bucket) in buckets.iter().enumerate() {
            let Some(bucket) = *bucket else { continue };
            let of_hand = self.by_hands.at(self.nodes[street][slot as usize], seat, bucket);
            strategy.iter_mut().zip(of_hand).for_each(|(row, p)| row[hand] = f64::from(p));
        }
        strategy
    }
}
