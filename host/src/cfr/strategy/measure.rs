//! What strategies are worth: values, best responses, and two strategies against each other. All exact, on the device.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::Strategy;
use crate::cfr::dispatch;
use crate::cfr::layout::{Layout, Measured, Tables, Values};
use crate::cfr::options::{Algorithm, Engine, Options, Sampling};
use crate::cfr::problem::Problem;
use crate::{Device, Error, Precision, Result};

/// Measures of a profile of strategies, in chips; arrays are by seat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Σ over seats of (best response − value): 0 in an equilibrium.
    pub nash_conv: f64,
    /// `nash_conv` / seats.
    pub exploitability: f64,
    /// Expected winnings if all seats play the profile.
    pub value: Vec<f64>,
    /// Expected winnings of a seat that plays its best against the others.
    pub best_response: Vec<f64>,
}

/// Two strategies against each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeadToHead {
    /// `values[seat]`: expected winnings of A in chips per hand if A sits there and B at all other seats.
    pub values: Vec<f64>,
    /// Their mean: the winnings of A per hand if seats are rotated.
    pub value: f64,
    /// Standard errors, if deals were sampled; `None` if all deals were walked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<SampledDeals>,
}

/// Accuracy of values over sampled deals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampledDeals {
    /// Deals.
    pub deals: u64,
    /// Seed of the deals.
    pub seed: u64,
    /// Standard error of the value at each seat, in chips per hand.
    pub standard_errors: Vec<f64>,
    /// Standard error of the mean over the seats.
    pub standard_error: f64,
}

impl Strategy {
    /// Values and exact best responses of the strategy, computed on `device` in the given arithmetic.
    ///
    /// # Errors
    /// [`Error::Option`] for an arithmetic that is neither `f32` nor `f64`, and if the device has no engine for the game in it; [`Error::OutOfMemory`]; errors of the device.
    pub fn profile(&self, device: &Device, precision: Precision) -> Result<Profile> {
        let strategy = self.measurable(device)?;
        let tables: Vec<&[f32]> = strategy.probabilities.iter().map(Vec::as_slice).collect();
        let measured = Meter::new(&strategy, device, precision)?.measure(&tables)?;
        let nash_conv = measured.nash_conv();
        Ok(Profile {
            nash_conv,
            exploitability: nash_conv / measured.values.len() as f64,
            value: measured.values,
            best_response: measured.best_responses,
        })
    }
}

impl Strategy {
    /// Whether values over all deals can be computed on `device`; for more than two players, this needs a game of at most 2·10⁷ histories, or engine `subset`.
    ///
    /// # Errors
    /// As [`BettingTree::new`](crate::cfr::BettingTree::new).
    pub fn walks_all_deals(&self, device: &Device) -> Result<bool> {
        match (&self.layout, self.problem.rules()) {
            (Layout::Buckets(_), Some(rules)) => dispatch::walks_all_deals(rules, device),
            _ => Ok(true),
        }
    }

    /// The same strategy in a layout whose engine walks all deals on the device.
    fn measurable(&self, device: &Device) -> Result<Cow<'_, Self>> {
        let (Layout::Buckets(_), Some(rules)) = (&self.layout, self.problem.rules()) else {
            return Ok(Cow::Borrowed(self));
        };
        let kind = dispatch::exact_kind(rules, device)?;
        if kind == self.layout.kind() {
            return Ok(Cow::Borrowed(self));
        }
        self.relaid(&dispatch::layout_of(&self.problem, kind, self.options.isomorphism)?).map(Cow::Owned)
    }
}

/// The exact value of A against B on `device`: A sits at each seat in turn, B at all others.
///
/// # Errors
/// [`Error::Option`] for a subgame, whose strategy has one seat only; [`Error::Shape`] if the two are not strategies of one game; as [`Strategy::profile`].
pub fn head_to_head(device: &Device, a: &Strategy, b: &Strategy, precision: Precision) -> Result<HeadToHead> {
    if let Some(subgame) = [a, b].into_iter().find(|strategy| matches!(strategy.problem, Problem::Subgame(_))) {
        return Err(Error::option("strategy", subgame.problem.describe(), "a strategy that has all seats"));
    }
    let a = &*a.measurable(device)?;
    let relaid;
    let b = match a.layout.fingerprint() == b.layout.fingerprint() {
        true => b,
        false if a.problem.is_same_game(&b.problem) => {
            relaid = b.relaid(&a.layout)?;
            &relaid
        }
        false => {
            let of =
                |strategy: &Strategy| format!("{} of {} values", strategy.problem.describe(), strategy.layout.len());
            return Err(Error::shape("two strategies of one game", of(a), of(b)));
        }
    };
    let mut meter = Meter::new(a, device, precision)?;
    let mut values = Vec::new();
    for seat in 0..a.layout.n_players() {
        let of = |at: usize| if at == seat { &a.probabilities[at] } else { &b.probabilities[at] };
        let tables: Vec<&[f32]> = (0..a.layout.n_players()).map(|at| of(at).as_slice()).collect();
        values.push(meter.measure(&tables)?.values[seat]);
    }
    let value = values.iter().sum::<f64>() / values.len() as f64;
    Ok(HeadToHead { values, value, sampled: None })
}

/// An engine for measuring only, which does not iterate.
struct Meter {
    engine: Box<dyn crate::cfr::engines::Solve>,
    precision: Precision,
}

impl Meter {
    fn new(strategy: &Strategy, device: &Device, precision: Precision) -> Result<Self> {
        // Tables of 16-bit integers would take no probabilities.
        if !matches!(precision, Precision::F32 | Precision::F64) {
            return Err(Error::option("precision", precision, "f32 or f64"));
        }
        let options = Options {
            precision,
            algorithm: Algorithm::Cfr,
            sampling: Sampling::None,
            batch: 1,
            engine: Engine::Auto,
            ..strategy.options
        };
        options.check()?;
        let plan = dispatch::plan_layout(device, &strategy.layout, &options)?;
        Ok(Self { engine: dispatch::build(device, &plan, &options)?, precision })
    }

    fn measure(&mut self, probabilities: &[&[f32]]) -> Result<Measured> {
        let values = |probabilities: &[f32]| match self.precision {
            Precision::F64 => Values::F64(probabilities.iter().map(|&value| value.into()).collect()),
            _ => Values::F32(probabilities.to_vec()),
        };
        let zeros = |probabilities: &[f32]| match self.precision {
            Precision::F64 => Values::F64(vec![0.0; probabilities.len()]),
            _ => Values::F32(vec![0.0; probabilities.len()]),
        };
        self.engine.set_tables(&Tables {
            iteration: 1,
            regrets: probabilities.iter().map(|values| zeros(values)).collect(),
            averages: probabilities.iter().map(|table| values(table)).collect(),
            predictions: Vec::new(),
            utilities: vec![0.0; probabilities.len()],
            random: Vec::new(),
            choice: Vec::new(),
        })?;
        self.engine.measure()
    }
}
