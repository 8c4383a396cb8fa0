//! A strategy asked: by history, board and hand, or by the key of an information set.

use serde::{Deserialize, Serialize};

use super::Strategy;
use crate::cfr::game::betting::{BettingKind, BettingTree};
use crate::cfr::game::cards::{CardSet, set_of, subsets};
use crate::cfr::game::extensive::InformationSet;
use crate::cfr::game::game_file::GameDef;
use crate::cfr::layout::public::{self, Public};
use crate::cfr::layout::{Layout, Row};
use crate::cfr::problem::Problem;
use crate::{Error, Result};

/// The strategy in one information set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The information set: for poker `seat:hole:board:betting`, rounds of board and betting divided by `/`, seats from 0.
    pub key: String,
    /// The seat that acts.
    pub seat: usize,
    /// Whether the solve reached the set; otherwise the probabilities are uniform.
    pub reached: bool,
    /// The actions and their probabilities.
    pub choices: Vec<Choice>,
}

impl Answer {
    /// The private cards of a poker hand, the second part of the key; empty for a game without such keys.
    pub fn hand(&self) -> &str {
        let mut parts = self.key.split(':');
        match (parts.next(), parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(_), Some(hand), Some(_), Some(_), None) => hand,
            _ => "",
        }
    }
}

/// An action of an [`Answer`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The action as in histories: `f`, `c`, `r`, in no-limit `r` followed by the total.
    pub action: String,
    /// 0 to 1; those of an information set sum to 1.
    pub probability: f64,
}

impl Strategy {
    /// The strategy for a hand.
    ///
    /// * `history`: the actions so far, `crc/r`, as [`BettingTree::find`] reads them; `board`: the cards turned up so far, `QsJh2h/2d`; `hand`: the private cards of the
    ///   acting seat.
    ///
    /// # Errors
    /// [`Error::Moves`] for an impossible history; [`Error::Option`] for impossible cards, or a hand that the strategy does not have.
    pub fn query(&self, history: &str, board: &str, hand: &str) -> Result<Answer> {
        match &self.layout {
            Layout::Vector { game, tree } => {
                let public = Public::at(game, tree, history)?;
                let dealt = public.dealt(board)?;
                let hole = set_of(&game.deck.cards(hand)?);
                let index = game.table_index(public.seat, hole, &dealt);
                let index = index.ok_or_else(|| no_hand(game.n_hole, public.seat, hand, board))?;
                let row = public.row(index.board, index.hand);
                Ok(self.answer(public.seat, row, public.key(hole, &dealt), &public.actions()))
            }
            Layout::Tree(tree) => {
                let (rules, seat, dealt, history) = self.poker(history, board)?;
                let hole = set_of(&rules.deck.cards(hand)?);
                let set = tree.find(seat, &public::key(rules.deck, seat, hole, &dealt, &history));
                let set = set.ok_or_else(|| no_hand(rules.n_hole_cards, seat, hand, board))?;
                Ok(self.answer_of(set))
            }
            Layout::Buckets(buckets) => {
                let (node, seat) = buckets.find(history)?;
                let (bucket, hole, dealt) = buckets.bucket(node, hand, board)?;
                let key = public::key(buckets.rules.deck, seat, hole, &dealt, &buckets.tree.history(node as u32));
                Ok(self.answer(seat, buckets.row(node, bucket), key, &buckets.actions(node)))
            }
        }
    }

    /// The strategy for every hand of the acting seat.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn query_all(&self, history: &str, board: &str) -> Result<Vec<Answer>> {
        match &self.layout {
            Layout::Vector { game, tree } => {
                let public = Public::at(game, tree, history)?;
                let dealt = public.dealt(board)?;
                let actions = public.actions();
                let answers = game.hands[public.seat].iter().filter_map(|&hole| {
                    let index = game.table_index(public.seat, hole, &dealt)?;
                    let row = public.row(index.board, index.hand);
                    Some(self.answer(public.seat, row, public.key(hole, &dealt), &actions))
                });
                Ok(answers.collect())
            }
            Layout::Tree(tree) => {
                let (rules, seat, dealt, history) = self.poker(history, board)?;
                // What follows the private cards.
                let key = public::key(rules.deck, seat, 0, &dealt, &history);
                let end = &key[key.find(':').map_or(0, |at| at + 1)..];
                let sets = tree.sets_of(seat).iter().filter(|set| set.key.ends_with(end));
                Ok(sets.map(|set| self.answer_of(set)).collect())
            }
            Layout::Buckets(buckets) => {
                let deck = buckets.rules.deck;
                let hands = subsets(deck.all(), buckets.rules.n_hole_cards).map(|hand| deck.names(hand));
                let on_board = set_of(&deck.cards(&board.replace('/', ""))?);
                let open = hands.filter(|hand| deck.cards(hand).is_ok_and(|cards| set_of(&cards) & on_board == 0));
                open.map(|hand| self.query(history, board, &hand)).collect()
            }
        }
    }

    /// The strategy in an information set.
    ///
    /// The key of a poker game is `seat:hole:board:betting`; other games define their own keys, which get the prefix `seat:` if two seats share a key.
    ///
    /// # Errors
    /// [`Error::Option`] for a key that the game does not have; as [`query`](Self::query).
    pub fn query_key(&self, key: &str) -> Result<Answer> {
        let wrong = |allowed: &str| Error::option("key", format!("'{key}'"), allowed);
        if let (Problem::Tree(_), Layout::Tree(tree)) = (&self.problem, &self.layout) {
            let of_seat = key.split_once(':').and_then(|(seat, key)| Some((seat.parse().ok()?, key)));
            let named =
                of_seat.filter(|&(seat, _)| seat < tree.n_players()).and_then(|(seat, key)| tree.find(seat, key));
            let found = (0..tree.n_players()).filter_map(|seat| tree.find(seat, key)).chain(named);
            return match found.collect::<Vec<_>>()[..] {
                [set] => Ok(self.answer_of(set)),
                [] => Err(wrong("the key of an information set of the game")),
                _ => Err(wrong("the seat and ':' before it, since several seats have this key")),
            };
        }
        let parts: Vec<&str> = key.split(':').collect();
        let [seat, hand, board, history] = parts[..] else {
            return Err(wrong("seat:hole:board:betting, as 0:2c:3d:cc/r"));
        };
        let answer = self.query(history, board, hand)?;
        match seat.parse() == Ok(answer.seat) {
            true => Ok(answer),
            false => Err(wrong(&format!("seat {}, whose turn it is", answer.seat))),
        }
    }

    /// Calls `visit` with every information set, seat by seat, until it fails. One board represents all boards that differ only by renaming suits; where the tables
    /// do not tell apart in which order a board was dealt (engines `walk` and `subset`), the one with the highest cards first represents all orders.
    ///
    /// # Errors
    /// Errors of `visit`.
    pub fn each<E>(&self, mut visit: impl FnMut(Answer) -> Result<(), E>) -> Result<(), E> {
        self.layout.each_set(|seat, row, key, actions| visit(self.answer(seat, row, key, actions)))
    }

    /// Copies the strategy to another layout, set by set.
    ///
    /// # Errors
    /// [`Error::Option`] for a layout that does not tell apart what this one does: in which round a card of the board was dealt, or the cards in a bucket.
    pub(super) fn relaid(&self, layout: &Layout) -> Result<Self> {
        if let Layout::Buckets(buckets) = layout {
            let several = buckets.rules.n_board_cards.iter().filter(|&&n| n > 0).count() > 1;
            if several || buckets.abstraction.is_some() {
                return Err(Error::option("engine", layout.kind(), "a layout that knows the cards of each round"));
            }
        }
        let mut probabilities: Vec<Vec<f32>> =
            (0..layout.n_players()).map(|seat| vec![0.0; layout.table_len(seat)]).collect();
        layout.each_set(|seat, row, key, _| {
            let answer = self.query_key(&key)?;
            if answer.choices.len() != row.n_actions {
                return Err(Error::shape(format!("actions of {key}"), row.n_actions, answer.choices.len()));
            }
            if answer.reached {
                row.indices()
                    .zip(&answer.choices)
                    .for_each(|(at, choice)| probabilities[seat][at] = choice.probability as f32);
            }
            Ok(())
        })?;
        Ok(Self { layout: layout.clone(), probabilities, ..self.clone() })
    }

    /// Rules, seat that acts, board by round and history of a public state; for a game of poker on an explicit tree.
    fn poker(&self, history: &str, board: &str) -> Result<(&GameDef, usize, Vec<CardSet>, String)> {
        let Some(rules) = self.problem.rules() else {
            let allowed = "for games of poker only: ask others by the key of an information set";
            return Err(Error::option("history", format!("'{history}'"), allowed));
        };
        let betting = BettingTree::new(rules)?;
        let number = betting.find(history)?;
        let node = &betting.nodes[number as usize];
        let BettingKind::Decision { seat, .. } = node.kind else { return Err(public::betting_over(history)) };
        let dealt = public::dealt(rules.deck, &rules.n_board_cards[..=node.round as usize], board)?;
        Ok((rules, seat, dealt, betting.history(number)))
    }

    /// The answer for an information set of an explicit tree.
    fn answer_of(&self, set: &InformationSet) -> Answer {
        let row = Row { start: set.offset, stride: 1, n_actions: set.actions.len() };
        self.answer(set.seat, row, set.key.clone(), &set.actions)
    }

    fn answer(&self, seat: usize, row: Row, key: String, actions: &[String]) -> Answer {
        let of = |at: usize| f64::from(self.probabilities[seat][at]);
        let total: f64 = row.indices().map(of).sum();
        let reached = total > 0.0;
        let part = |at: usize| if reached { of(at) / total } else { 1.0 / row.n_actions as f64 };
        let choices =
            row.indices().zip(actions).map(|(at, action)| Choice { action: action.clone(), probability: part(at) });
        Answer { key, seat, reached, choices: choices.collect() }
    }
}

/// The error for a hand that the seat cannot have there.
fn no_hand(n_hole: usize, seat: usize, hand: &str, board: &str) -> Error {
    let allowed = format!("{n_hole} private cards of seat {seat} beside the board '{board}'");
    Error::option("hand", format!("'{hand}'"), allowed)
}
