//! Hands of a solved spot, dealt to a player, played against the saved strategy, and judged.

mod history;
pub(super) mod moves;
mod record;

use std::collections::HashMap;
use std::sync::Arc;

use warpplay_gpu::split_mix::element;

pub use moves::{PracticeMove, Verb};
pub use record::{PracticeDecision, PracticeJudgement, PracticeRecord, PracticeScore};

use super::node::{Expectations, Node};
use crate::cfr::game::betting::BettingKind;
use crate::cfr::game::cards::{CardSet, members};
use crate::cfr::game::ranking::Ranking;
use crate::{Error, Result};

/// Cards on the table at the end of a hand.
const BOARD_CARDS: usize = 5;

/// Deals hands of a solved spot, plays the other seat by its saved average strategy, and judges every decision of the player.
///
/// ```
/// use std::ops::ControlFlow;
/// use warpplay::Device;
/// use warpplay::cfr::Algorithm;
/// use warpplay::cfr::spot::{Practice, Spot, SpotSolver};
///
/// let spot = Spot::parse(
///     r#"{"pot": 100, "effective_stack": 100, "bet_fraction_of_pot": 1.0, "flop": "Ks 7h 2d", "turn": "8c", "river": "3s",
///         "ranges": ["AA,65s", "QQ"]}"#,
/// )?;
/// let mut solver = SpotSolver::builder(&spot).algorithm(Algorithm::CfrPlus).iterations(500).build(&Device::cpu())?;
/// solver.run(|_| ControlFlow::Continue(()))?;
/// let solved = solver.solved()?; // or SolvedSpot::open("river.spot")?
///
/// // Ten hands as seat 0, which always bets.
/// let mut practice = Practice::new(solved.root(), 7)?;
/// for _ in 0..10 {
///     let hand = practice.deal(0)?;
///     assert!(!hand.is_over() && hand.choices().len() == 2);
///     let decision = practice.act("r100")?;
///     // Both AA and the bluff are worth no less than a check, or next to nothing less.
///     assert!(decision.loss >= 0.0 && decision.loss < 2.0, "{decision:?}");
/// }
/// let score = practice.score();
/// assert_eq!((score.hands, score.decisions), (10, 10));
/// // `won` has the luck of the cards, `expected` is without it.
/// assert!(score.expected <= 10.0 * 150.0 + 1.0);
/// # Ok::<(), warpplay::Error>(())
/// ```
///
/// The pair of hands comes from the joint distribution of both seats' reaches at the first node, the cards to come are drawn from what is left, and the other seat draws its actions from
/// its strategy. Hand `n` of a seed has the same cards whatever the player does.
///
/// # What is judged
///
/// The value of an action is what the player's hand can expect after it if both seats go on by the saved strategy, given what the other seat may hold by then: the `action_ev` of
/// [`NodeReport`](super::NodeReport). [`loss`](PracticeDecision::loss) is that of the best action less that of the chosen one. Actions that an equilibrium mixes are worth the same; in a saved strategy their values
/// differ by as much as it is not yet solved. After an action that the strategy itself never takes the answer of the other seat was hardly trained, and so were the values.
///
/// [`expected`](PracticeRecord::expected) of a hand is its value at the first node, plus, for each decision, the value of the chosen action less that of the strategy's own mixture: what it would win on average over
/// all cards and all answers. Over many hands it has the same mean as what is won, and much less spread.
///
/// # Cost
///
/// A judgement walks the betting after the node on every board to come, once, in double precision on all cores of the CPU. Nodes of the first street are the same in every hand; their values
/// are kept. The values at the first node are found when the first hand of a seat ends.
#[derive(Debug)]
pub struct Practice<'a> {
    start: Node<'a>,
    seed: u64,
    n_dealt: u64,
    /// Weight of each hand of seat 0 with all hands of seat 1 beside it.
    pairs: Vec<f64>,
    /// Whether a seat acts somewhere after the first node.
    acts: [bool; 2],
    /// Expectations by seat, node of the betting, and cards dealt.
    known: HashMap<(usize, u32, Vec<u8>), Arc<Expectations>>,
    hand: Option<PracticeHand<'a>>,
    records: Vec<PracticeRecord>,
}

/// A hand that [`Practice`] has dealt.
#[derive(Clone, Debug)]
pub struct PracticeHand<'a> {
    number: u64,
    seat: usize,
    /// Numbers of the hands, by seat.
    hands: [usize; 2],
    /// Cards that may come, the next one last.
    coming: Vec<u8>,
    draws: Draws,
    node: Node<'a>,
    events: Vec<PracticeEvent>,
    decisions: Vec<PracticeDecision>,
}

/// What happens in a hand.
#[derive(Clone, Debug, PartialEq)]
pub enum PracticeEvent {
    /// A seat acts.
    Move(PracticeMove),
    /// A card is dealt, as `8c`.
    Card(String),
}

/// The random numbers of a hand, one after the other.
#[derive(Clone, Debug)]
struct Draws {
    seed: u64,
    n_drawn: u64,
}

impl Draws {
    fn next(&mut self) -> u64 {
        self.n_drawn += 1;
        element(self.seed, self.n_drawn - 1)
    }

    /// Below `n`, which is small against 2⁶⁴.
    fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// A place drawn in proportion to its weight; `None` where all weights are 0.
    fn place(&mut self, weights: &[f64]) -> Option<usize> {
        let mut left = (self.next() >> 11) as f64 / (1u64 << 53) as f64 * weights.iter().sum::<f64>();
        let mut last = None;
        for (place, &weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            // Rounding may leave a rest above the last one.
            last = Some(place);
            if left < weight {
                break;
            }
            left -= weight;
        }
        last
    }
}

impl<'a> Practice<'a> {
    /// Practice from a node on: the [`root`](super::SolvedSpot::root), or one of [`SolvedSpot::at`](super::SolvedSpot::at).
    ///
    /// # Errors
    /// [`Error::Option`] names `line` for a node after which nobody acts, or to which the strategies never come; [`Error::File`] if the file is damaged.
    pub fn new(start: Node<'a>, seed: u64) -> Result<Self> {
        let game = &start.solved.game;
        let wrong = |allowed: &str| Error::option("line", format!("'{}'", start.history()), allowed);
        let mut acts = [false; 2];
        let mut open = vec![start.betting];
        while let Some(node) = open.pop().filter(|_| acts != [true; 2]) {
            if let BettingKind::Decision { seat, children, .. } = &start.solved.tree.nodes[node as usize].kind {
                acts[*seat] = true;
                open.extend(children);
            }
        }
        if acts == [false; 2] {
            return Err(wrong("a line after which a seat acts"));
        }
        // All strategies from here on, so that damage is told before a hand is dealt.
        start.solved.averages(start.placed.street, game.streets.len())?;
        let pairs = (0..game.hands[0].len()).map(|hand| match start.reach[0][hand] {
            reach if reach > 0.0 => reach * others(&start, hand).iter().sum::<f64>(),
            _ => 0.0,
        });
        let pairs: Vec<f64> = pairs.collect();
        if !pairs.iter().any(|weight| *weight > 0.0) {
            return Err(wrong("a line and a board to which both strategies come with some pair of hands"));
        }
        Ok(Self { start, seed, n_dealt: 0, pairs, acts, known: HashMap::new(), hand: None, records: Vec::new() })
    }

    /// Whether a seat has anything to decide after the first node.
    pub fn acts(&self, seat: usize) -> bool {
        self.acts.get(seat) == Some(&true)
    }

    /// Checks that a seat [`acts`](Self::acts).
    ///
    /// # Errors
    /// [`Error::Option`] names `seat` and those that do.
    pub fn expect_acts(&self, seat: usize) -> Result<()> {
        if self.acts(seat) {
            return Ok(());
        }
        let seats = (0..2).filter(|&seat| self.acts(seat)).map(|seat| seat.to_string());
        Err(Error::option("seat", seat, format!("a seat that acts: {}", seats.collect::<Vec<_>>().join(", "))))
    }

    /// Deals the next hand to a player on `seat`, and plays it until the player has to act, or to its end. A hand that was not finished does not count.
    ///
    /// # Errors
    /// [`Error::Option`] names `seat` unless it [`acts`](Self::acts); [`Error::File`] if the file is damaged.
    pub fn deal(&mut self, seat: usize) -> Result<&PracticeHand<'a>> {
        self.expect_acts(seat)?;
        self.hand = None;
        let mut draws = Draws { seed: element(self.seed, self.n_dealt), n_drawn: 0 };
        self.n_dealt += 1;
        // There is a pair, as `new` has seen.
        let first = draws.place(&self.pairs).unwrap_or(0);
        let second = draws.place(&others(&self.start, first)).unwrap_or(0);
        let game = &self.start.solved.game;
        let board = self.start.cards_shown();
        let mut left: Vec<u8> =
            members(game.deck.all() & !board & !game.hands[0][first] & !game.hands[1][second]).collect();
        let n_coming = BOARD_CARDS.saturating_sub(board.count_ones() as usize);
        let coming = (0..n_coming).map(|_| left.swap_remove(draws.below(left.len()))).collect();
        let mut hand = PracticeHand {
            number: self.n_dealt,
            seat,
            hands: [first, second],
            coming,
            draws,
            node: self.start.clone(),
            events: Vec::new(),
            decisions: Vec::new(),
        };
        hand.go_on()?;
        self.finish(hand)
    }

    /// The hand that was dealt last, also after its end.
    pub fn hand(&self) -> Option<&PracticeHand<'a>> {
        self.hand.as_ref()
    }

    /// What the player's actions are worth, and how often the strategy takes them.
    ///
    /// # Errors
    /// [`Error::Order`] unless the player has to act; [`Error::File`] if the file is damaged.
    pub fn judge(&mut self) -> Result<PracticeJudgement> {
        let hand = self.turn()?;
        let own = hand.hands[hand.seat];
        let expected = self.expectations(hand.seat, &hand.node)?;
        Ok(PracticeJudgement {
            history: hand.node.history(),
            board: hand.board(),
            hand: hand.cards(hand.seat),
            pot: hand.node.pot(),
            actions: hand.node.actions(),
            ev: expected.action_ev.iter().map(|values| values[own]).collect(),
            strategy: hand.node.chances(own)?,
        })
    }

    /// Takes an action of the player, judges it, and plays on until the player has to act again, or to the end.
    ///
    /// # Errors
    /// [`Error::Option`] names `action` unless it is one of [`Node::actions`]; [`Error::Order`] unless the player has to act; [`Error::File`] if the file is damaged. The hand is
    /// as it was then.
    pub fn act(&mut self, action: &str) -> Result<PracticeDecision> {
        let judgement = self.judge()?;
        let mut hand = self.turn()?;
        let Some(index) = judgement.actions.iter().position(|name| name == action) else {
            return Err(Error::option("action", format!("'{action}'"), judgement.actions.join(", ")));
        };
        let is_chips = self.start.solved.tree.icm.is_none();
        let decision = PracticeDecision::new(judgement, index, is_chips);
        hand.play(index)?;
        hand.decisions.push(decision.clone());
        hand.go_on()?;
        self.finish(hand)?;
        Ok(decision)
    }

    /// The finished hands.
    pub fn records(&self) -> &[PracticeRecord] {
        &self.records
    }

    /// The sums over the finished hands.
    pub fn score(&self) -> PracticeScore {
        PracticeScore::of(&self.records)
    }

    /// The finished hands' decisions that lost most, the worst first; those that lost nothing are left out.
    pub fn worst(&self, n: usize) -> Vec<(&PracticeRecord, &PracticeDecision)> {
        let all =
            self.records.iter().flat_map(|record| record.decisions.iter().map(move |decision| (record, decision)));
        let mut all: Vec<_> = all.filter(|(_, decision)| decision.loss > 0.0).collect();
        all.sort_by(|(_, one), (_, other)| other.loss.total_cmp(&one.loss));
        all.truncate(n);
        all
    }

    /// The hand in which the player has to act.
    fn turn(&self) -> Result<PracticeHand<'a>> {
        let missing = || Error::Order { what: "practice", reason: "no hand in which to act: call deal first".into() };
        self.hand.clone().filter(|hand| !hand.is_over()).ok_or_else(missing)
    }

    /// Keeps a hand, and its account if it is over.
    fn finish(&mut self, hand: PracticeHand<'a>) -> Result<&PracticeHand<'a>> {
        let (seat, own) = (hand.seat, hand.hands[hand.seat]);
        if let Some(payoffs) = hand.node.payoffs(hand.strengths()) {
            let at_start = self.expectations(seat, &self.start.clone())?.ev[own];
            self.records.push(PracticeRecord {
                number: hand.number,
                seat,
                hands: [hand.cards(0), hand.cards(1)],
                board: hand.board(),
                history: hand.node.history(),
                won: payoffs[seat] - self.start.given_up(seat),
                expected: at_start + hand.decisions.iter().map(|decision| decision.gain).sum::<f64>(),
                decisions: hand.decisions.clone(),
            });
        }
        Ok(self.hand.insert(hand))
    }

    /// What a seat's hands can expect at a node; nodes of the first street are kept, and the last one of another.
    fn expectations(&mut self, seat: usize, node: &Node<'a>) -> Result<Arc<Expectations>> {
        let key = (seat, node.betting, node.dealt.clone());
        if let Some(known) = self.known.get(&key) {
            return Ok(Arc::clone(known));
        }
        let found = Arc::new(node.expectations(seat)?);
        self.known.retain(|(_, _, dealt), _| *dealt == self.start.dealt);
        self.known.insert(key, Arc::clone(&found));
        Ok(found)
    }
}

/// Reach of the hands of seat 1 beside one of seat 0.
fn others(node: &Node<'_>, hand: usize) -> Vec<f64> {
    let hands = &node.solved.game.hands;
    let beside = |(&cards, &reach): (&CardSet, &f64)| if cards & hands[0][hand] == 0 { reach } else { 0.0 };
    hands[1].iter().zip(&node.reach[1]).map(beside).collect()
}

impl<'a> PracticeHand<'a> {
    /// Its number, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The player's seat.
    pub fn seat(&self) -> usize {
        self.seat
    }

    /// The cards of seat 0 or 1, as `AhKd`; the player sees the other's at the showdown only.
    pub fn cards(&self, seat: usize) -> String {
        let hand = self.hands.get(seat).map(|&hand| self.node.solved.game.hands[seat][hand]);
        self.node.solved.game.deck.names(hand.unwrap_or(0))
    }

    /// The cards on the table in the order in which they came, as [`Node::board`] has them.
    pub fn board(&self) -> String {
        self.node.board()
    }

    /// Where the hand stands.
    pub fn node(&self) -> &Node<'a> {
        &self.node
    }

    /// What has happened since the first node.
    pub fn events(&self) -> &[PracticeEvent] {
        &self.events
    }

    /// What the player can do, in the order of [`Node::actions`]; empty at the end.
    pub fn choices(&self) -> Vec<PracticeMove> {
        match self.is_over() {
            true => Vec::new(),
            false => moves::choices(self.node.solved, self.node.betting),
        }
    }

    /// Chips that a seat can still put in.
    pub fn stack(&self, seat: usize) -> f64 {
        let paid = self.node.betting().contributed.get(seat).copied().unwrap_or(0.0);
        self.node.solved.spot().effective_stack - paid
    }

    /// Whether the hand is over.
    pub fn is_over(&self) -> bool {
        self.node.is_end()
    }

    /// Whether the cards are shown at the end.
    pub fn is_shown(&self) -> bool {
        self.is_over() && self.node.betting().folded == 0
    }

    /// The player's decisions so far.
    pub fn decisions(&self) -> &[PracticeDecision] {
        &self.decisions
    }

    /// Strengths of both hands with the board.
    fn strengths(&self) -> [u32; 2] {
        let game = &self.node.solved.game;
        let ranking = Ranking::new(game.deck);
        [0, 1].map(|seat| ranking.strength(game.hands[seat][self.hands[seat]] | self.node.cards_shown()))
    }

    /// Plays the other seat, and deals, until the player has to act or the hand is over.
    fn go_on(&mut self) -> Result<()> {
        loop {
            if self.node.is_deal() {
                let Some(card) = self.coming.pop() else { return Ok(()) };
                let name = self.node.solved.game.deck.name(card);
                self.node = self.node.deal_card(card, "card", &name)?;
                self.events.push(PracticeEvent::Card(name));
                continue;
            }
            match self.node.seat().filter(|&seat| seat != self.seat) {
                Some(seat) => {
                    let chances = self.node.chances(self.hands[seat])?;
                    let action = self.draws.place(&chances).unwrap_or(0);
                    self.play(action)?;
                }
                None => return Ok(()),
            }
        }
    }

    /// Takes an action of the seat that acts, by its place.
    fn play(&mut self, action: usize) -> Result<()> {
        let mut choices = moves::choices(self.node.solved, self.node.betting);
        self.node = self.node.after(action)?;
        self.events.push(PracticeEvent::Move(choices.swap_remove(action)));
        Ok(())
    }
}
