//! Subgames: the rest of a hand of poker for two players, solved anew for one seat, more finely than the strategy for the whole game that led there.
//!
//! A strategy for the whole game, a *blueprint*, may be solved in few buckets of hands. When the cards are on the table, the rest of the hand is small enough to be solved with all hands apart.
//! What the opponent may hold is not known there, only how the blueprint plays. So a *gadget* stands before the first decision: with each hand the opponent may end the
//! subgame with what a best response would win there against the blueprint, or play on. If it gains nothing by playing on, the blueprint with the new strategy in this subgame is no more exploitable than before.
//!
//! ```
//! use std::ops::ControlFlow;
//! use warpplay::Device;
//! use warpplay::cfr::{Algorithm, GameDef, Solver, Subgame};
//!
//! // A blueprint for Leduc hold'em, after few iterations.
//! let device = Device::cpu();
//! let mut blueprint = Solver::builder(GameDef::leduc()).algorithm(Algorithm::CfrPlus).iterations(10).build(&device)?;
//! blueprint.run(|_| ControlFlow::Continue(()))?;
//!
//! // Both called before the highest card was turned up: seat 0 plays the rest anew.
//! let subgame = Subgame::new(&blueprint.strategy()?, "cc/", "4c", 0)?;
//! let mut solver = Solver::builder(subgame).iterations(1000).build(&device)?;
//! solver.run(|_| ControlFlow::Continue(()))?;
//!
//! // The opponent wins hardly more than against the blueprint. Histories begin with the subgame.
//! assert!(solver.exploitability()?.nash_conv < 0.01);
//! let answer = solver.strategy()?.query("", "4c", "4d")?;
//! assert_eq!((answer.seat, answer.choices[0].action.as_str()), (0, "c"));
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! | type | what it is |
//! | --- | --- |
//! | [`Subgame`] | what is solved: a [`Problem`](super::Problem) for [`Solver`](super::Solver) |
//!
//! # What is measured
//!
//! [`Point::nash_conv`](super::Point::nash_conv) of a subgame is what the opponent's best response wins beyond the alternatives, in chips a deal: 0 means that the new strategy is as safe as the
//! blueprint. The deals are those of the subgame: the seat's hands as the blueprint brings them there, the opponent's all alike.
//! The value is that of the alternatives. Only the seat's own strategy is a result; the opponent's sets count as never reached.
//!
//! # Source
//! Burch, Johanson and Bowling, "Solving Imperfect Information Games Using Decomposition" (2014): the gadget, with the values of best responses.

mod blueprint;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cfr::game::betting::{BettingKind, BettingTree};
use crate::cfr::game::cards::{CardSet, subsets};
use crate::cfr::game::game_file::GameDef;
use crate::cfr::layout::{Gadget, Setup, VectorGame, public};
use crate::{Error, Result};

/// A subgame with what a blueprint says of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subgame {
    rules: GameDef,
    /// The actions of the whole game that led here.
    history: String,
    board: String,
    seat: usize,
    /// How likely the blueprint brings each hand of the seat here, as far as it depends on the seat; hands in rising order, without those that the board blocks.
    reach: Vec<f64>,
    /// What the opponent wins by ending, by hand; see [`Gadget`].
    alternatives: Vec<f64>,
}

impl Subgame {
    /// The rules of the whole game.
    pub fn rules(&self) -> &GameDef {
        &self.rules
    }

    /// The actions that led here.
    pub fn history(&self) -> &str {
        &self.history
    }

    /// The board here.
    pub fn board(&self) -> &str {
        &self.board
    }

    /// The seat whose strategy is solved.
    pub fn seat(&self) -> usize {
        self.seat
    }

    /// A description for reports: `subgame of seat 0 after cc/ on 4c`.
    pub(in crate::cfr) fn describe(&self) -> String {
        let after = if self.history.is_empty() { String::new() } else { format!(" after {}", self.history) };
        let on = if self.board.is_empty() { String::new() } else { format!(" on {}", self.board) };
        format!("subgame of seat {}{after}{on}", self.seat)
    }

    /// The subgame in vector form, and its betting tree.
    ///
    /// # Errors
    /// As [`VectorGame::from_game`].
    pub(in crate::cfr) fn build(&self, isomorphism: bool) -> Result<(VectorGame, BettingTree)> {
        let context = self.context()?;
        let gadget = Gadget { seat: 1 - self.seat, alternatives: self.alternatives.clone() };
        let game = self.game(&context, Some(gadget), isomorphism)?;
        Ok((game, context.tree))
    }

    /// Checks what a file may have wrong.
    ///
    /// # Errors
    /// [`Error::Option`] names what is wrong.
    pub(in crate::cfr) fn check(&self) -> Result<()> {
        self.rules.check()?;
        if self.rules.n_players != 2 || self.seat > 1 {
            let found = format!("seat {} of {}", self.seat, self.rules.n_players);
            return Err(Error::option("subgame", found, "seat 0 or 1 of a game for two"));
        }
        let n = self.context()?.hands.len();
        let finite = |values: &[f64]| values.len() == n && values.iter().all(|value| value.is_finite());
        if finite(&self.reach) && finite(&self.alternatives) && self.reach.iter().all(|&reach| reach >= 0.0) {
            return Ok(());
        }
        let found = format!("{} reaches and {} values", self.reach.len(), self.alternatives.len());
        Err(Error::option("subgame", found, format!("{n} finite ones each, reaches of 0 or more")))
    }

    fn game(&self, context: &Context, gadget: Option<Gadget>, isomorphism: bool) -> Result<VectorGame> {
        let with = |weight: &dyn Fn(usize) -> f64| {
            context.hands.iter().enumerate().map(|(hand, &cards)| (cards, weight(hand))).collect::<Vec<_>>()
        };
        let mut ranges = [with(&|_| 1.0), with(&|_| 1.0)];
        ranges[self.seat] = with(&|hand| self.reach[hand]);
        let mut n_dealt = self.rules.n_board_cards[context.round..].to_vec();
        n_dealt[0] = 0;
        VectorGame::from_setup(&Setup {
            deck: self.rules.deck,
            n_hole: self.rules.n_hole_cards,
            board: context.boards.last().copied().unwrap_or(0),
            n_dealt: &n_dealt,
            ranges,
            tree: &context.tree,
            locks: &[],
            gadget,
            isomorphism,
        })
    }

    /// Finds the subgame in the whole game.
    fn context(&self) -> Result<Context> {
        let whole = BettingTree::new(&self.rules)?;
        let root = whole.find(&self.history)?;
        let node = &whole.nodes[root as usize];
        if !matches!(node.kind, BettingKind::Decision { .. }) {
            return Err(public::betting_over(&self.history));
        }
        let round = node.round as usize;
        let dealt = public::dealt(self.rules.deck, &self.rules.n_board_cards[..=round], &self.board)?;
        let as_of = |on_board: &mut CardSet, cards: CardSet| {
            *on_board |= cards;
            Some(*on_board)
        };
        let boards: Vec<CardSet> = dealt.into_iter().scan(0, as_of).collect();
        let on_board = boards.last().copied().unwrap_or(0);
        let hands = subsets(self.rules.deck.all() & !on_board, self.rules.n_hole_cards).collect();
        let (tree, numbers) = whole.below(root);
        Ok(Context { whole: Arc::new(whole), root, round, boards, hands, tree, numbers })
    }
}

/// Where a subgame lies in the whole game.
struct Context {
    whole: Arc<BettingTree>,
    /// The node of the whole tree where it begins.
    root: u32,
    round: usize,
    /// The board as of each round so far.
    boards: Vec<CardSet>,
    /// Hands beside the board, in rising order.
    hands: Vec<CardSet>,
    /// Its betting.
    tree: BettingTree,
    /// The node of the whole tree for each of its own.
    numbers: Vec<u32>,
}
