//! What a blueprint says of a subgame: the reach of a seat's hands, and the values of best responses to it.

use rayon::prelude::*;

use super::{Context, Subgame};
use crate::cfr::engines::cpu;
use crate::cfr::game::betting::BettingKind;
use crate::cfr::game::cards::CardSet;
use crate::cfr::game::game_file::GameDef;
use crate::cfr::layout::{Node, VectorGame};
use crate::cfr::strategy::{ByCards, Strategy};
use crate::runtime::host_machine;
use crate::runtime::memory::expect_free;
use crate::{Error, Result};

impl Subgame {
    /// The subgame after `history` on `board`, in which `seat` is to play better than by `blueprint`.
    ///
    /// The values of best responses are found on the CPU, in double precision, in the caller's thread pool if there is one, else on all cores.
    ///
    /// * `history`: the actions of the whole game, as [`BettingTree::find`](crate::cfr::BettingTree::find) reads them; `board`: the cards turned up by then, as `QsJh2h/2d`.
    /// * `seat`: whose strategy is solved, 0 or 1.
    ///
    /// # Errors
    /// [`Error::Option`] for a strategy that is not of a whole game of poker for two players, a history after which nobody acts, cards that are not those of the round, a seat that does not exist, or if the
    /// blueprint never comes there; [`Error::Moves`] for an impossible history; [`Error::OutOfMemory`] if the host has too little memory for the blueprint's strategy in the subgame; as [`VectorGame::from_game`] for a subgame that is too large.
    pub fn new(blueprint: &Strategy, history: &str, board: &str, seat: usize) -> Result<Self> {
        let Some(rules) = blueprint.problem().rules().filter(|rules| rules.n_players == 2) else {
            return Err(Error::option(
                "strategy",
                blueprint.problem().describe(),
                "a whole game of poker for two players",
            ));
        };
        if seat > 1 {
            return Err(Error::option("seat", seat, "0 or 1"));
        }
        let (rules, history, board) = (GameDef::clone(rules), history.to_string(), board.to_string());
        let mut subgame = Self { rules, history, board, seat, reach: Vec::new(), alternatives: Vec::new() };
        let context = subgame.context()?;
        subgame.reach = reach(blueprint, &context, seat)?;
        if !subgame.reach.iter().any(|&reach| reach > 0.0) {
            let never = format!("'{}' with seat {seat}", subgame.history);
            return Err(Error::option("history", never, "one to which the blueprint comes with some hand of the seat"));
        }
        subgame.alternatives = best_response(blueprint, &context, subgame.game(&context, None, true)?, seat)?;
        Ok(subgame)
    }
}

/// How likely a seat's own actions bring each of its hands to the subgame.
fn reach(blueprint: &Strategy, context: &Context, seat: usize) -> Result<Vec<f64>> {
    let by_cards = ByCards::new(blueprint, &context.whole);
    let mut reach = vec![1.0; context.hands.len()];
    let mut child = context.root;
    while let Some(parent) = context.whole.nodes[child as usize].parent {
        let node = &context.whole.nodes[parent as usize];
        if let BettingKind::Decision { seat: acts, children, .. } = &node.kind
            && *acts == seat
            && let Some(action) = children.iter().position(|&at| at == child)
        {
            let known = by_cards.known(seat, &context.hands, &context.boards[..=node.round as usize]);
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
fn best_response(blueprint: &Strategy, context: &Context, game: VectorGame, seat: usize) -> Result<Vec<f64>> {
    let strategy = table(blueprint, context, &game, seat)?;
    Ok(cpu::best_response(&game, 1 - seat, &strategy))
}

/// The blueprint's strategy of a seat as a table of the subgame.
fn table(blueprint: &Strategy, context: &Context, game: &VectorGame, seat: usize) -> Result<Vec<f32>> {
    let by_cards = ByCards::new(blueprint, &context.whole);
    let (hands, n_hands) = (&game.hands[seat], game.hands[seat].len());
    expect_free("the host", 4 * game.table_len(seat) as u64, host_machine::memory().free)?;
    let mut table = vec![0.0; game.table_len(seat)];
    let mut rest = &mut table[..];
    for (street, of_street) in game.streets.iter().enumerate() {
        let n_values = of_street.n_slots[seat] as usize * n_hands;
        let (here, later) = rest.split_at_mut(of_street.boards.len() * n_values);
        rest = later;
        // First vector, node of the whole tree, and number of actions.
        let nodes: Vec<(usize, usize)> = (of_street.entries.iter().flat_map(|entry| &entry.nodes))
            .filter_map(|node| match node {
                Node::Decision { seat: acts, slot, betting, .. } if *acts == seat => {
                    Some((*slot as usize, context.numbers[*betting as usize] as usize))
                }
                _ => None,
            })
            .collect();
        let fill = |(number, values): (usize, &mut [f32])| {
            let known = by_cards.known(seat, hands, &boards(context, game, street, number));
            for (hand, known) in known.into_iter().enumerate() {
                let Some(known) = known else {
                    let is_blocked = hands[hand] & of_street.boards[number].cards != 0;
                    if is_blocked { continue } else { return Err(unknown()) }
                };
                for &(slot, node) in &nodes {
                    for (action, part) in by_cards.at(node, seat, &known).enumerate() {
                        values[(slot + action) * n_hands + hand] = part;
                    }
                }
            }
            Ok(())
        };
        if n_values > 0 {
            here.par_chunks_exact_mut(n_values).enumerate().try_for_each(fill)?;
        }
    }
    Ok(table)
}

/// The board as of each round of the whole game, up to a board of the subgame.
fn boards(context: &Context, game: &VectorGame, street: usize, board: usize) -> Vec<CardSet> {
    let mut boards = context.boards.clone();
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
