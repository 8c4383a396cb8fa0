//! The nodes of a solved spot: where one can go from there, what is played, and what it is worth.

mod onward;

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::betting::STREETS;
use super::practice::PracticeMove;
use super::practice::moves::choices;
use super::solved::SolvedSpot;
use crate::cfr::engines::cpu::{At, Averages};
use crate::cfr::game::betting::{BettingKind, BettingNode};
use crate::cfr::game::cards::{CardSet, members, set_of};
use crate::cfr::layout::{Node as Entry, Placed};
use crate::{Error, Result};

/// Weights of compatible hands up to this part of all hands' weight may be rounding errors: a difference of sums over at most 1,326 hands is wrong by a few thousand times 2⁻⁵³.
pub(super) const ROUNDING: f64 = 1e-12;

/// A node of a [`SolvedSpot`]: the actions and cards so far.
///
/// A seat acts ([`child`](Self::child)), a card is dealt ([`deal`](Self::deal)), or the hand is over.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    pub(super) solved: &'a SolvedSpot,
    /// The board as it lies, and in the tables.
    pub(super) placed: Placed,
    entry: usize,
    node: usize,
    /// Number in the betting tree; where a card is to be dealt, of the node after it.
    pub(super) betting: u32,
    /// Cards dealt since the spot began, in their order.
    pub(super) dealt: Vec<u8>,
    /// Weight of the range times the probability that the seat plays to here, by seat and hand.
    pub(super) reach: [Vec<f64>; 2],
}

/// What a seat's hands can expect at a node, as the tables number them.
struct SeatValues {
    /// Counterfactual values of the node, and after each action if the seat acts.
    of_node: Vec<f64>,
    actions: Vec<Vec<f64>>,
    /// Weight of the other's hands beside each; 0 where rounding leaves less than it hides.
    beside: Vec<f64>,
}

impl SeatValues {
    /// Expectations from counterfactual values, net of what is put in from the node on.
    fn each(&self, values: &[f64], image: usize, given_up: f64) -> f64 {
        if self.beside[image] > 0.0 { values[image] / self.beside[image] - given_up } else { 0.0 }
    }
}

/// What a seat's hands can expect at a node, by hand, as [`NodeHand`] has it.
#[derive(Debug)]
pub(super) struct Expectations {
    pub ev: Vec<f64>,
    /// After each action, if the seat acts.
    pub action_ev: Vec<Vec<f64>>,
}

/// A node with the values of all hands, in chips, if both seats play their average strategies from there on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeReport {
    /// The actions so far, as `cr50c/`.
    pub history: String,
    /// The cards on the table, as `QsJh2h8c`: the flop with the highest card first, then turn and river.
    pub board: String,
    /// Chips in the pot.
    pub pot: f64,
    /// The seat that acts; `None` where a card is dealt or the hand is over.
    pub seat: Option<usize>,
    /// Its actions.
    pub actions: Vec<String>,
    /// Expected share of the pot, net of what the seat puts in from here on, by seat. They add up to the pot less the rake; 0 where the strategies never come here. With
    /// `icm` these and all other values are prizes beyond those that the seat expects if it gives up the pot here.
    pub ev: [f64; 2],
    /// Share of the pot that each seat's hands win if nobody bets any more.
    pub equity: [f64; 2],
    /// Each hand of seats 0 and 1 that the board leaves possible.
    pub by_hand: [Vec<NodeHand>; 2],
}

/// A hand in a [`NodeReport`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeHand {
    /// Its cards, as `AhKd`.
    pub hand: String,
    /// Its weight in the range times the probability that its seat plays to the node with it.
    pub reach: f64,
    /// Expected share of the pot, net of what is put in from here on; 0 if the other seat comes here with no compatible hand.
    pub ev: f64,
    /// Share of the pot that it wins if nobody bets any more.
    pub equity: f64,
    /// Probabilities of the actions, if its seat acts.
    pub strategy: Vec<f64>,
    /// What `ev` is after each action, net of the action too, if its seat acts: a fold is 0.
    pub action_ev: Vec<f64>,
}

impl SolvedSpot {
    /// The first node.
    pub fn root(&self) -> Node<'_> {
        let game = &self.game;
        Node {
            solved: self,
            placed: game.placed(),
            entry: 0,
            node: 0,
            betting: 0,
            dealt: Vec::new(),
            reach: game.weights.clone(),
        }
    }

    /// The node after these actions and cards.
    ///
    /// * `history`: the actions, with `/` between streets: `cr50c/`; `board`: the cards dealt in their order, `8c 3s`. The cards of the spot may stand before them. A street's `/` at the
    ///   end may be left out; without its card the node is the one where it is dealt.
    ///
    /// # Errors
    /// [`Error::Moves`] for an impossible history; [`Error::Option`] names `board` for cards that collide, or are too many or too few; [`Error::File`] if the file is damaged.
    pub fn at(&self, history: &str, board: &str) -> Result<Node<'_>> {
        let mut node = self.root();
        let deck = self.game.deck;
        let wrong = |allowed: String| Error::option("board", format!("'{board}'"), allowed);
        let mut cards = deck.cards(board).map_err(|error| wrong(error.to_string()))?;
        let known = node.placed.cards.count_ones() as usize;
        if cards.len() >= known && set_of(&cards[..known]) == node.placed.cards {
            cards.drain(..known);
        }
        let mut cards = cards.into_iter();
        // From the end to the root, and back.
        let mut path = Vec::new();
        let mut at = self.tree.find(history)?;
        while let Some(before) = self.tree.nodes[at as usize].parent {
            path.push(at);
            at = before;
        }
        for &next in path.iter().rev() {
            if node.is_deal() {
                let missing = || wrong(format!("a card for each street of '{history}'"));
                node = node.deal_card(cards.next().ok_or_else(missing)?, "board", board)?;
            }
            let BettingKind::Decision { children, .. } = &self.tree.nodes[node.betting as usize].kind else { break };
            let action = children.iter().position(|&child| child == next).unwrap_or(0);
            node = node.after(action)?;
        }
        while node.is_deal() {
            let Some(card) = cards.next() else { break };
            node = node.deal_card(card, "board", board)?;
        }
        match cards.len() {
            0 if node.is_deal() && history.ends_with('/') => {
                Err(wrong(format!("a card for each street of '{history}'")))
            }
            0 => Ok(node),
            more => Err(wrong(format!("{more} fewer: '{history}' goes no further"))),
        }
    }
}

impl<'a> Node<'a> {
    fn entry(&self) -> &'a Entry {
        &self.solved.game.streets[self.placed.street].entries[self.entry].nodes[self.node]
    }

    pub(super) fn betting(&self) -> &'a BettingNode {
        &self.solved.tree.nodes[self.betting as usize]
    }

    fn table(&self) -> At {
        At { street: self.placed.street, board: self.placed.board, entry: self.entry, node: self.node }
    }

    /// The actions so far, with `/` between streets; raises name the chips put in since the start of the spot. Where a card is to be dealt, without the last `/`.
    pub fn history(&self) -> String {
        let history = self.solved.tree.history(self.betting);
        if self.is_deal() { history.trim_end_matches('/').to_string() } else { history }
    }

    /// The street: `flop`, `turn`, `river`.
    pub fn street(&self) -> &'static str {
        STREETS[(STREETS.len() + self.placed.street).saturating_sub(self.solved.game.streets.len())]
    }

    /// The cards on the table in the order in which they were dealt: the flop with the highest card first, then the turn, then the river.
    pub fn board(&self) -> String {
        self.board_cards().concat()
    }

    /// The cards of [`board`](Self::board), one by one.
    pub(super) fn board_cards(&self) -> Vec<String> {
        let (spot, deck) = (self.solved.spot(), self.solved.game.deck);
        let cards = |text: &String| deck.cards(text).unwrap_or_default();
        let mut flop = cards(&spot.flop);
        flop.sort_unstable_by(|one, other| other.cmp(one));
        let later = [&spot.turn, &spot.river].into_iter().flatten().flat_map(cards);
        flop.into_iter().chain(later).chain(self.dealt.iter().copied()).map(|card| deck.name(card)).collect()
    }

    /// The cards dealt since the spot's board, in their order: with [`history`](Self::history) they lead [here](SolvedSpot::at).
    pub fn dealt(&self) -> String {
        self.dealt.iter().map(|&card| self.solved.game.deck.name(card)).collect()
    }

    /// Chips in the pot.
    pub fn pot(&self) -> f64 {
        self.solved.tree.dead + self.betting().contributed.iter().sum::<f64>()
    }

    /// The seat that acts; `None` where a card is dealt or the hand is over.
    pub fn seat(&self) -> Option<usize> {
        match self.entry() {
            Entry::Decision { seat, .. } => Some(*seat),
            _ => None,
        }
    }

    /// Whether a card is dealt next.
    pub fn is_deal(&self) -> bool {
        matches!(self.entry(), Entry::Exit { .. })
    }

    /// Whether the hand is over: somebody folded, or the cards are shown.
    pub fn is_end(&self) -> bool {
        matches!(self.entry(), Entry::Fold { .. } | Entry::Showdown { .. })
    }

    /// The actions of the seat that acts, as [`child`](Self::child) takes them.
    pub fn actions(&self) -> Vec<String> {
        match self.entry() {
            Entry::Decision { actions, .. } => actions.iter().map(|&action| self.solved.tree.spell(action)).collect(),
            _ => Vec::new(),
        }
    }

    /// What the seat that acts can do, in the order of [`actions`](Self::actions), with the chips of this street.
    pub fn moves(&self) -> Vec<PracticeMove> {
        if self.seat().is_some() { choices(self.solved, self.betting) } else { Vec::new() }
    }

    /// The cards that can be dealt, as [`deal`](Self::deal) takes them.
    pub fn cards(&self) -> Vec<String> {
        let deck = self.solved.game.deck;
        let left = if self.is_deal() { deck.all() & !self.placed.cards } else { 0 };
        members(left).map(|card| deck.name(card)).collect()
    }

    /// The node after an action.
    ///
    /// # Errors
    /// [`Error::Option`] names `action` unless it is one of [`actions`](Self::actions); [`Error::File`] if the file is damaged.
    pub fn child(&self, action: &str) -> Result<Node<'a>> {
        let actions = self.actions();
        let wrong = || {
            let allowed = match actions.is_empty() {
                true if self.is_deal() => "a card, which is dealt next".to_string(),
                true => "nothing: the hand is over".to_string(),
                false => actions.join(", "),
            };
            Error::option("action", format!("'{action}'"), allowed)
        };
        self.after(actions.iter().position(|name| name == action).ok_or_else(wrong)?)
    }

    pub(super) fn after(&self, action: usize) -> Result<Node<'a>> {
        let mut next = self.clone();
        if let Entry::Decision { seat, children, .. } = self.entry()
            && let BettingKind::Decision { children: betting, .. } = &self.betting().kind
        {
            let played = self.played(*seat, action)?;
            next.reach[*seat].iter_mut().zip(played).for_each(|(reach, part)| *reach *= part);
            next.node = children[action] as usize;
            next.betting = betting[action];
        }
        Ok(next)
    }

    /// The node after a card is dealt.
    ///
    /// # Errors
    /// [`Error::Option`] names `card` unless it is one of [`cards`](Self::cards).
    pub fn deal(&self, card: &str) -> Result<Node<'a>> {
        match self.solved.game.deck.card(card.trim()) {
            Ok(number) => self.deal_card(number, "card", card),
            Err(_) => Err(Error::option("card", format!("'{card}'"), "one card, as 2d")),
        }
    }

    pub(super) fn deal_card(&self, card: u8, name: &'static str, text: &str) -> Result<Node<'a>> {
        let wrong = |allowed: String| Error::option(name, format!("'{text}'"), allowed);
        let Entry::Exit { entry } = self.entry() else {
            return Err(wrong("a card only where one is dealt".into()));
        };
        let placed = self.solved.game.placed_after(&self.placed, set_of(&[card]));
        let placed = placed.ok_or_else(|| wrong(format!("a card that is not on the board: {}", self.board())))?;
        let cards = placed.cards;
        let mut next = Node { placed, entry: *entry as usize, node: 0, ..self.clone() };
        next.dealt.push(card);
        for (seat, reach) in next.reach.iter_mut().enumerate() {
            let blocked = self.solved.game.hands[seat].iter().map(|&hand| hand & cards != 0);
            reach.iter_mut().zip(blocked).filter(|(_, blocked)| *blocked).for_each(|(reach, _)| *reach = 0.0);
        }
        Ok(next)
    }

    /// Numbers of a seat's hands that the board leaves possible.
    fn open(&self, seat: usize) -> impl Iterator<Item = usize> {
        let (hands, cards) = (&self.solved.game.hands[seat], self.placed.cards);
        (0..hands.len()).filter(move |&hand| hands[hand] & cards == 0)
    }

    fn name(&self, seat: usize, hand: usize) -> String {
        self.solved.game.deck.names(self.solved.game.hands[seat][hand])
    }

    /// The cards on the table.
    pub(super) fn cards_shown(&self) -> CardSet {
        self.placed.cards
    }

    /// Probabilities of the actions with a hand of the seat that acts, by its number; empty where nobody acts.
    pub(super) fn chances(&self, hand: usize) -> Result<Vec<f64>> {
        let Some(seat) = self.seat() else { return Ok(Vec::new()) };
        let image = self.placed.images[seat][hand] as usize;
        Ok(self.table_strategy()?.iter().map(|vector| vector[image]).collect())
    }

    /// What each seat wins with hands of these strengths, net of what it put in since the spot began; `None` unless the hand is over.
    pub(super) fn payoffs(&self, strengths: [u32; 2]) -> Option<[f64; 2]> {
        match self.entry() {
            Entry::Fold { payoff } => Some(*payoff),
            Entry::Showdown { win, lose, tie } => {
                Some([0, 1].map(|seat| match strengths[seat].cmp(&strengths[1 - seat]) {
                    Ordering::Greater => win[seat],
                    Ordering::Less => lose[seat],
                    Ordering::Equal => tie[seat],
                }))
            }
            Entry::Decision { .. } | Entry::Exit { .. } => None,
        }
    }

    /// What a seat has, in the units of [`payoffs`](Self::payoffs), if it gives up the hand here.
    pub(super) fn given_up(&self, seat: usize) -> f64 {
        let folded = BettingNode { folded: 1 << seat, ..self.betting().clone() };
        self.solved.tree.payoffs(&folded, &[])[seat]
    }

    /// Probability of an action of the seat that acts, by hand.
    fn played(&self, seat: usize, action: usize) -> Result<Vec<f64>> {
        Ok(self.table_strategy()?.get(action).map(|vector| self.placed.by_hand(seat, vector)).unwrap_or_default())
    }

    /// The strategy of the seat that acts, as the tables have it; empty where nobody acts.
    fn table_strategy(&self) -> Result<Vec<Vec<f64>>> {
        let Entry::Decision { seat, children, slot, .. } = self.entry() else { return Ok(Vec::new()) };
        let (street, board) = (self.placed.street, self.placed.board);
        let averages = self.solved.averages(street, street + 1)?;
        Ok(averages.strategy(&self.solved.game, *seat, street, board, *slot, children.len()))
    }

    /// The probabilities of the actions with a hand of the seat that acts; uniform if the solve never came here with it.
    ///
    /// # Errors
    /// [`Error::Option`] names `hand` if the seat that acts has no such hand here; [`Error::File`] if the file is damaged.
    pub fn strategy(&self, hand: &str) -> Result<Vec<f64>> {
        let wrong = |allowed: String| Error::option("hand", format!("'{hand}'"), allowed);
        let Some(seat) = self.seat() else { return Err(wrong("a hand only where a seat acts".into())) };
        let cards: CardSet = set_of(&self.solved.game.deck.cards(hand).map_err(|error| wrong(error.to_string()))?);
        let number = self.open(seat).find(|&number| self.solved.game.hands[seat][number] == cards);
        let number = number.ok_or_else(|| wrong(format!("a hand of seat {seat} beside the board {}", self.board())))?;
        self.chances(number)
    }

    /// Every hand of the seat that acts, with the probabilities of the actions; empty where nobody acts.
    ///
    /// # Errors
    /// [`Error::File`] if the file is damaged.
    pub fn strategies(&self) -> Result<Vec<(String, Vec<f64>)>> {
        let Some(seat) = self.seat() else { return Ok(Vec::new()) };
        let strategy = self.table_strategy()?;
        let of_hand = |hand: usize| {
            let image = self.placed.images[seat][hand] as usize;
            (self.name(seat, hand), strategy.iter().map(|vector| vector[image]).collect())
        };
        Ok(self.open(seat).map(of_hand).collect())
    }

    /// Every hand of seat 0 or 1 that the board leaves possible, with its weight in the range times the probability that the seat plays to here.
    pub fn reach(&self, seat: usize) -> Vec<(String, f64)> {
        match self.reach.get(seat) {
            Some(reach) => self.open(seat).map(|hand| (self.name(seat, hand), reach[hand])).collect(),
            None => Vec::new(),
        }
    }

    /// The node with strategies and values of all hands. The values are computed here, in double precision on all cores of the CPU: the whole betting after the node is walked on every
    /// board to come, once for each action and twice more.
    ///
    /// # Errors
    /// [`Error::File`] if the file is damaged.
    pub fn report(&self) -> Result<NodeReport> {
        let averages = self.solved.averages(self.placed.street, self.solved.game.streets.len())?;
        let (reach, strategy) = (self.table_reach(), self.table_strategy()?);
        let worth = [0, 1].map(|seat| {
            let other = &reach[1 - seat];
            (self.seat_values(seat, &averages, other, &strategy), self.shares(seat, other))
        });
        Ok(self.report_of(&reach, &strategy, &worth))
    }

    /// This node and all nodes that actions lead to from it on its street, each before those that follow it, in the order of the actions, with the report of each. The betting is
    /// walked once for each seat, so that all take hardly longer than [`report`](Self::report) of this one.
    ///
    /// # Errors
    /// [`Error::File`] if the file is damaged.
    pub fn reports(&self) -> Result<Vec<(Self, NodeReport)>> {
        let (game, evaluator) = (&self.solved.game, self.solved.evaluator());
        let averages = self.solved.averages(self.placed.street, game.streets.len())?;
        let reach = self.table_reach();
        let values = [0, 1].map(|seat| {
            let mut values = vec![Vec::new(); game.streets[self.placed.street].entries[self.entry].nodes.len()];
            let mut seen = |node: usize, _: &[f64], of_hands: &[f64]| values[node] = of_hands.to_vec();
            evaluator.each_value_at(self.table(), seat, &averages, &reach[1 - seat], &mut seen);
            values
        });
        let mut found = Vec::new();
        self.add_reports(&values, [None, None], &mut found)?;
        Ok(found)
    }

    /// Adds the reports of this node and those after it, from the values by seat and node. `shares` are those of the node before, of a seat to which they are the same here.
    fn add_reports(
        &self,
        values: &[Vec<Vec<f64>>; 2],
        shares: [Option<&Vec<f64>>; 2],
        found: &mut Vec<(Self, NodeReport)>,
    ) -> Result<()> {
        let (reach, strategy) = (self.table_reach(), self.table_strategy()?);
        let (mover, children) = match self.entry() {
            Entry::Decision { seat, children, .. } => (Some(*seat), children.as_slice()),
            _ => (None, &[][..]),
        };
        let worth = [0, 1].map(|seat| {
            let other = &reach[1 - seat];
            let shares = shares[seat].cloned().unwrap_or_else(|| self.shares(seat, other));
            let actions = children.iter().filter(|_| mover == Some(seat));
            let actions = actions.map(|&child| values[seat][child as usize].clone()).collect();
            let of_node = values[seat][self.node].clone();
            (SeatValues { of_node, actions, beside: self.beside(seat, other) }, shares)
        });
        found.push((self.clone(), self.report_of(&reach, &strategy, &worth)));
        for action in 0..children.len() {
            // Shares depend on the other's reach, which the seat's own action leaves as it is.
            let shares = [0, 1].map(|seat| (mover == Some(seat)).then_some(&worth[seat].1));
            self.after(action)?.add_reports(values, shares, found)?;
        }
        Ok(())
    }

    /// The reach of each seat's hands, as the tables number them.
    fn table_reach(&self) -> [Vec<f64>; 2] {
        [0, 1].map(|seat| self.placed.to_tables(seat, &self.reach[seat]))
    }

    /// The report, from what each seat's hands can expect and the shares of the pot that they win if nobody bets any more.
    fn report_of(
        &self,
        reach: &[Vec<f64>; 2],
        strategy: &[Vec<f64>],
        worth: &[(SeatValues, Vec<f64>); 2],
    ) -> NodeReport {
        let (mut ev, mut equity, mut by_hand) = ([0.0; 2], [0.0; 2], [Vec::new(), Vec::new()]);
        for seat in 0..2 {
            let (values, shares) = &worth[seat];
            let given_up = self.given_up(seat);
            let weighed = |values: &[f64]| reach[seat].iter().zip(values).map(|(own, value)| own * value).sum::<f64>();
            let pairs = weighed(&values.beside);
            if pairs > 0.0 {
                ev[seat] = weighed(&values.of_node) / pairs - given_up;
                equity[seat] = weighed(shares) / pairs;
            }
            let of_hand = |hand: usize| {
                let image = self.placed.images[seat][hand] as usize;
                let strategy = strategy.iter().filter(|_| !values.actions.is_empty());
                NodeHand {
                    hand: self.name(seat, hand),
                    reach: self.reach[seat][hand],
                    ev: values.each(&values.of_node, image, given_up),
                    equity: values.each(shares, image, 0.0),
                    strategy: strategy.map(|vector| vector[image]).collect(),
                    action_ev: values.actions.iter().map(|of_action| values.each(of_action, image, given_up)).collect(),
                }
            };
            by_hand[seat] = self.open(seat).map(of_hand).collect();
        }
        NodeReport {
            history: self.history(),
            board: self.board(),
            pot: self.pot(),
            seat: self.seat(),
            actions: self.actions(),
            ev,
            equity,
            by_hand,
        }
    }

    /// What a seat's hands can expect here: that part of [`report`](Self::report) alone, at less than half of its cost.
    pub(super) fn expectations(&self, seat: usize) -> Result<Expectations> {
        let averages = self.solved.averages(self.placed.street, self.solved.game.streets.len())?;
        let other = self.placed.to_tables(1 - seat, &self.reach[1 - seat]);
        let values = self.seat_values(seat, &averages, &other, &self.table_strategy()?);
        let given_up = self.given_up(seat);
        let by_hand = |of_node: &Vec<f64>| {
            let images = self.placed.images[seat].iter();
            images.map(|&image| values.each(of_node, image as usize, given_up)).collect()
        };
        Ok(Expectations { ev: by_hand(&values.of_node), action_ev: values.actions.iter().map(by_hand).collect() })
    }

    /// Values of a seat's hands against the other's reach `other`; `strategy` is that of the seat that acts. All as the tables have it.
    fn seat_values(&self, seat: usize, averages: &dyn Averages, other: &[f64], strategy: &[Vec<f64>]) -> SeatValues {
        let (game, evaluator) = (&self.solved.game, self.solved.evaluator());
        let values_at = |node: usize| evaluator.values_at(At { node, ..self.table() }, seat, averages, other);
        let (actions, of_node) = match self.entry() {
            Entry::Decision { seat: mover, children, .. } if *mover == seat => {
                let actions: Vec<Vec<f64>> = children.iter().map(|&child| values_at(child as usize)).collect();
                let mut of_node = vec![0.0; game.hands[seat].len()];
                for (action, played) in actions.iter().zip(strategy) {
                    let parts = action.iter().zip(played);
                    of_node.iter_mut().zip(parts).for_each(|(sum, (value, part))| *sum += value * part);
                }
                (actions, of_node)
            }
            _ => (Vec::new(), values_at(self.node)),
        };
        SeatValues { of_node, actions, beside: self.beside(seat, other) }
    }

    /// Weight of the other's hands beside each hand of a seat; 0 where rounding leaves less than it hides.
    fn beside(&self, seat: usize, other: &[f64]) -> Vec<f64> {
        let cards = self.solved.game.streets[self.placed.street].boards[self.placed.board].cards;
        let mut beside = self.solved.evaluator().against(seat, other, cards);
        let least = ROUNDING * other.iter().sum::<f64>();
        beside.iter_mut().filter(|weight| **weight <= least).for_each(|weight| *weight = 0.0);
        beside
    }

    /// Shares of the pot of a seat's hands if nobody bets any more, as counterfactual values.
    fn shares(&self, seat: usize, other: &[f64]) -> Vec<f64> {
        self.solved.evaluator().shares_at(self.table(), seat, other)
    }
}
