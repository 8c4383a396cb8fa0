//! Judgements of decisions, records of finished hands, and the score.

use serde::{Deserialize, Serialize};

/// What the player's actions are worth, before one is taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PracticeJudgement {
    /// The actions so far, as `cr50c/`.
    pub history: String,
    /// The cards on the table, in the order in which they came.
    pub board: String,
    /// The player's cards.
    pub hand: String,
    /// Chips in the pot.
    pub pot: f64,
    /// The actions that the player can take.
    pub actions: Vec<String>,
    /// Expected share of the pot after each action, net of what is put in from here on, in chips; with `icm` in prizes beyond those of giving up.
    pub ev: Vec<f64>,
    /// Probability of each action in the saved strategy with this hand.
    pub strategy: Vec<f64>,
}

impl PracticeJudgement {
    /// The value of the best action, in the unit of `ev`.
    pub fn best(&self) -> f64 {
        self.ev.iter().copied().reduce(f64::max).unwrap_or(0.0)
    }

    /// The value of the saved strategy's own mixture, in the unit of `ev`.
    pub fn mean(&self) -> f64 {
        self.ev.iter().zip(&self.strategy).map(|(ev, part)| ev * part).sum()
    }
}

/// A decision of the player.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PracticeDecision {
    /// The actions with their values, before one was taken.
    #[serde(flatten)]
    pub judgement: PracticeJudgement,
    /// The action that was taken.
    pub action: String,
    /// Its probability in the saved strategy.
    pub frequency: f64,
    /// Value of the best action less that of this one, in the unit of `ev`.
    pub loss: f64,
    /// `loss` as a part of the pot; `None` with `icm`, whose values are prizes.
    pub loss_of_pot: Option<f64>,
    /// Value of this action less that of the saved strategy's own mixture, in the unit of `ev`.
    pub gain: f64,
}

impl PracticeDecision {
    pub(super) fn new(judgement: PracticeJudgement, index: usize, is_chips: bool) -> Self {
        let at = |values: &[f64]| values.get(index).copied().unwrap_or(0.0);
        let loss = judgement.best() - at(&judgement.ev);
        Self {
            action: judgement.actions.get(index).cloned().unwrap_or_default(),
            frequency: at(&judgement.strategy),
            loss,
            loss_of_pot: is_chips.then(|| loss / judgement.pot),
            gain: at(&judgement.ev) - judgement.mean(),
            judgement,
        }
    }
}

/// A finished hand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PracticeRecord {
    /// Its number, from 1.
    pub number: u64,
    /// The player's seat.
    pub seat: usize,
    /// The cards, by seat.
    pub hands: [String; 2],
    /// The cards on the table, in the order in which they came.
    pub board: String,
    /// The actions since the spot began.
    pub history: String,
    /// The player's share of the pot, net of what it put in after the first node, in chips; with `icm` in prizes beyond those of giving up there.
    pub won: f64,
    /// What the player's decisions would win on average with its cards, over all cards of the other seat and of the board, in the unit of `won`.
    pub expected: f64,
    /// The player's decisions.
    pub decisions: Vec<PracticeDecision>,
}

/// The score of finished hands: sums over them, in chips; with `icm` in prizes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PracticeScore {
    /// Finished hands.
    pub hands: u64,
    /// Decisions in them.
    pub decisions: u64,
    /// Sum of [`PracticeRecord::won`].
    pub won: f64,
    /// Sum of [`PracticeRecord::expected`]: what was won, without the luck of the cards and of the other seat's actions.
    pub expected: f64,
    /// Sum of [`PracticeDecision::loss`].
    pub loss: f64,
    /// `loss` divided by `hands`; 0 without hands.
    pub loss_per_hand: f64,
}

impl PracticeScore {
    /// The score of these hands.
    pub fn of(records: &[PracticeRecord]) -> Self {
        let decisions = || records.iter().flat_map(|record| &record.decisions);
        // Not `sum`: of no floats that is -0.0.
        let total = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |sum, value| sum + value);
        let loss = total(&mut decisions().map(|decision| decision.loss));
        let hands = records.len() as u64;
        Self {
            hands,
            decisions: decisions().count() as u64,
            won: total(&mut records.iter().map(|record| record.won)),
            expected: total(&mut records.iter().map(|record| record.expected)),
            loss,
            loss_per_hand: if hands > 0 { loss / hands as f64 } else { 0.0 },
        }
    }
}
