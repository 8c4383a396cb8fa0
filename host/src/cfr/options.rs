//! What a solver is asked to do.

use warpplay_gpu::cfr::regret::{self, Real};

use crate::runtime::checkpoint::expect_same;
use crate::runtime::named::named;
use crate::{Error, Precision, Result};

named! {
    /// How regrets become strategies.
    Algorithm, "algorithm":
    /// Counterfactual regret minimisation (Zinkevich et al., 2007).
    Cfr = "cfr",
    /// Negative regrets are set to 0 (Tammelin, 2014).
    CfrPlus = "cfr_plus",
    /// Iteration t weighs t, in regrets and average (Brown and Sandholm, 2019).
    Lcfr = "lcfr",
    /// Positive and negative regrets are discounted apart (the same paper).
    Dcfr = "dcfr",
    /// CFR+ that matches against the last regret repeated (Farina, Kroer and Sandholm, 2021).
    PcfrPlus = "pcfr_plus",
    /// CFR for one player at a time against the other's best response (Johanson et al., 2012).
    CfrBr = "cfr_br",
}

named! {
    /// Who learns in an iteration.
    Updates, "updates":
    /// Each seat in turn, from the strategies updated so far.
    Alternating = "alternating",
    /// All seats from the same strategies, in one pass.
    Simultaneous = "simultaneous",
}

named! {
    /// How much iteration t counts in the average strategy.
    Averaging, "averaging":
    /// The weights with which the algorithm was published: `uniform` for cfr and cfr_br, `linear` for cfr_plus and lcfr, `quadratic` for dcfr and pcfr_plus.
    Auto = "auto",
    /// 1.
    Uniform = "uniform",
    /// t.
    Linear = "linear",
    /// t².
    Quadratic = "quadratic",
}

named! {
    /// Which events of chance and which actions of others are sampled in an iteration.
    Sampling, "sampling":
    /// Nothing: every deal in every iteration.
    None = "none",
    /// One deal of all cards.
    Chance = "chance",
    /// The board; all private hands are walked.
    PublicChance = "public_chance",
    /// The board and the opponent's hand; all own hands are walked.
    OpponentPublic = "opponent_public",
    /// The board and the own hand; all of the opponent's hands are walked.
    SelfPublic = "self_public",
    /// Chance and the others' actions (Lanctot et al., 2009).
    External = "external",
    /// One history (the same paper).
    Outcome = "outcome",
}

named! {
    /// The engine that solves, named after its folder.
    Engine, "engine":
    /// Chosen by the rule of [`cfr`](super).
    Auto = "auto",
    /// Public tree × hands, the whole solve in one block's shared memory; two players.
    Small = "small" | "block",
    /// Public tree × hands, one block per betting round on a board; two players.
    Street = "street",
    /// Betting tree × cards, all deals by a recurrence over subsets; one hole card, one suit, no board.
    Subset = "subset",
    /// Every history is a node; any number of players. With sampling, the same as `mccfr`.
    Explicit = "explicit",
    /// Every history is a node, with sampled traversals; any number of players.
    Mccfr = "mccfr",
    /// Betting tree, sampled deals, one warp per subtree.
    Walk = "walk",
    /// Public tree × hands on all cores of the CPU; two players.
    Cpu = "cpu",
}

/// Options of a solve.
///
/// Library and program start from [`Options::default`], for hold'em spots and subgames from [`Options::SPOT`].
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Who learns in an iteration.
    pub updates: Updates,
    /// Weights of the average.
    pub averaging: Averaging,
    /// What is sampled.
    pub sampling: Sampling,
    /// Deals, boards or traversals sampled in an iteration.
    pub batch: u32,
    /// Exponents α, β, γ of discounted CFR (γ only if averaging is `auto`: weight t^γ).
    pub discounts: [f64; 3],
    /// Exploration ε of outcome sampling.
    pub exploration: f64,
    /// Seed of sampling.
    pub seed: u64,
    /// Arithmetic and storage of regrets and averages: `f32`, `f64`, or `i16`, single precision stored with a scale for each vector of hands (engine `street`).
    #[serde(alias = "numbers")]
    pub precision: Precision,
    /// The engine.
    #[serde(alias = "form")]
    pub engine: Engine,
    /// Whether boards that differ only by renaming suits are solved once.
    pub isomorphism: bool,
    /// Total number of iterations, including those before a resume.
    pub iterations: u64,
    /// Threads of the CPU back end, 1 to 1024; `None` for all cores.
    pub threads: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Options {
    const DEFAULT: Self = Self {
        algorithm: Algorithm::Cfr,
        updates: Updates::Alternating,
        averaging: Averaging::Auto,
        sampling: Sampling::None,
        batch: 1,
        discounts: [1.5, 0.0, 2.0],
        exploration: 0.6,
        seed: 1,
        precision: Precision::F32,
        engine: Engine::Auto,
        isomorphism: true,
        iterations: 1000,
        threads: None,
    };

    /// The options of a hold'em [`Spot`](super::Spot) and of a [`Subgame`](super::Subgame), unless others are given: discounted CFR with α = 1.5, β = 0, γ = 4, and else those of [`Options::default`].
    ///
    /// Discounted CFR is of Brown and Sandholm, "Solving Imperfect-Information Games via Discounted Regret Minimization" (2019), who recommend γ = 2. On ten standard
    /// spots γ = 4 needs as many iterations to 0.5 % and to 0.1 % of the pot, or fewer (`docs/performance.md`).
    pub const SPOT: Self = Self { algorithm: Algorithm::Dcfr, discounts: [1.5, 0.0, 4.0], ..Self::DEFAULT };
}

impl Options {
    /// The same with the default sampling of a game in buckets: sampled deals, if algorithm and engine take them; otherwise as they are.
    #[must_use]
    pub fn in_buckets(self) -> Self {
        let samples = self.algorithm.takes_sampled_deals() && matches!(self.engine, Engine::Auto | Engine::Walk);
        Self { sampling: if samples { Sampling::Chance } else { self.sampling }, ..self }
    }
}

impl Algorithm {
    /// Whether a batch of sampled deals can be learnt from: the others change every set in every iteration, and a batch meets some only.
    pub(in crate::cfr) fn takes_sampled_deals(self) -> bool {
        matches!(self, Self::Cfr | Self::CfrPlus | Self::Lcfr)
    }
}

/// Factors and weights that iteration t applies to regrets and averages, shared by all engines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::cfr) struct Step {
    /// Factor of cumulative regrets that are ≥ 0 after adding the iteration's regrets.
    pub positive: f64,
    /// Factor of negative cumulative regrets; 0 is CFR+.
    pub negative: f64,
    /// Weight of the iteration's strategy in the average.
    pub weight: f64,
    /// Whether the next strategy is matched from `max(cumulative + last, 0)`.
    pub predicts: bool,
}

impl Step {
    /// The same in the arithmetic of an engine.
    pub fn rounded<T: Real>(self) -> regret::Step<T> {
        regret::Step {
            positive: T::from_f64(self.positive),
            negative: T::from_f64(self.negative),
            weight: T::from_f64(self.weight),
            predicts: if self.predicts { T::ONE } else { T::ZERO },
        }
    }
}

impl Options {
    /// Checks that the options are valid individually and together. Restrictions of a game or a device are checked when the solver is built.
    ///
    /// # Errors
    /// [`Error::Option`] with the first option that is not allowed.
    pub fn check(&self) -> Result<()> {
        self.check_each()?;
        let Self { algorithm, sampling, batch, .. } = *self;
        if sampling == Sampling::None && batch != 1 {
            return Err(Error::option("batch", batch, "1 where nothing is sampled"));
        }
        if algorithm == Algorithm::Dcfr {
            self.check_discounts()?;
        }
        if algorithm == Algorithm::CfrBr && sampling != Sampling::None {
            return Err(Error::option("sampling", sampling, "none with cfr_br, whose best responses are exact"));
        }
        Ok(())
    }

    /// Checks each option by itself.
    fn check_each(&self) -> Result<()> {
        // Exhaustive, so that a new option is thought of here.
        let Self {
            algorithm: _,
            updates: _,
            averaging: _,
            sampling: _,
            batch,
            discounts,
            exploration,
            seed: _,
            precision,
            engine: _,
            isomorphism: _,
            iterations: _,
            threads,
        } = *self;
        if batch == 0 {
            return Err(Error::option("batch", batch, "at least 1"));
        }
        if let Some(exponent) = discounts.iter().find(|exponent| !exponent.is_finite()) {
            return Err(Error::option("discounts", exponent, "finite numbers"));
        }
        if !(exploration > 0.0 && exploration <= 1.0) {
            return Err(Error::option("exploration", exploration, "above 0, at most 1"));
        }
        if !matches!(precision, Precision::F32 | Precision::F64 | Precision::I16) {
            return Err(Error::option("precision", precision, "f32, f64 or i16"));
        }
        crate::runtime::threads::check(threads)
    }

    /// Checks that discounts and weights are numbers at every iteration; where fewer iterations would do, says how many.
    fn check_discounts(&self) -> Result<()> {
        let is_good = |iterations: u64| Self { iterations, ..*self }.check_discounts_at().is_ok();
        if is_good(self.iterations) || !is_good(1) {
            return self.check_discounts_at();
        }
        let (mut good, mut bad) = (1, self.iterations);
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            if is_good(middle) { good = middle } else { bad = middle }
        }
        let [alpha, beta, gamma] = self.discounts;
        let allowed = format!(
            "at most {good}: with discounts {alpha}, {beta} and {gamma} the weights of more iterations are too large for {}",
            self.precision
        );
        Err(Error::option("iterations", self.iterations, allowed))
    }

    fn check_discounts_at(&self) -> Result<()> {
        let Self { discounts: [alpha, beta, gamma], precision, iterations, .. } = *self;
        let last = self.step(iterations.max(1));
        for (factor, exponent) in [(last.positive, alpha), (last.negative, beta)] {
            if !factor.is_finite() {
                let allowed = format!("small enough for t to that power to be finite at iteration {iterations}");
                return Err(Error::option("discounts", exponent, allowed));
            }
        }
        let largest = if precision == Precision::F64 { f64::MAX } else { f32::MAX.into() };
        // An average is at most the sum of all weights, and the largest of these is the first or the last.
        if last.weight.max(1.0) * iterations as f64 > largest && self.averaging == Averaging::Auto {
            let allowed = format!("small enough for the weights of {iterations} iterations to add up in {precision}");
            return Err(Error::option("discounts", gamma, allowed));
        }
        Ok(())
    }

    /// Names of all options, as a builder's setters are called.
    pub(in crate::cfr) const NAMES: [&str; 13] = [
        "algorithm",
        "updates",
        "averaging",
        "sampling",
        "batch",
        "discounts",
        "exploration",
        "seed",
        "precision",
        "engine",
        "isomorphism",
        "iterations",
        "threads",
    ];

    /// The options of a solve that goes on from a checkpoint: those `asked` for by name, and otherwise the checkpoint's.
    ///
    /// * `kept`, `engine`, `done`: options, engine and iterations of the checkpoint.
    ///
    /// # Errors
    /// [`Error::Option`] for one that is not allowed, or differs from the checkpoint's, other than `threads` and `iterations`; and for fewer iterations than are done.
    pub(in crate::cfr) fn going_on(
        &self,
        asked: &[&'static str],
        kept: &Self,
        engine: Engine,
        done: u64,
    ) -> Result<Self> {
        // Before the comparison, so that a wrong value is reported as such. Combinations are checked with the checkpoint's values.
        self.check_each()?;
        let mut options = *kept;
        macro_rules! same {
            ($($name:ident),+) => {$(
                if asked.contains(&stringify!($name)) {
                    expect_same(stringify!($name), &self.$name, &kept.$name)?;
                }
            )+};
        }
        same!(algorithm, updates, averaging, sampling, batch, discounts, exploration, seed, precision, isomorphism);
        // What was chosen then may be asked for now.
        if asked.contains(&"engine") && ![Engine::Auto, kept.engine].contains(&self.engine) {
            expect_same("engine", &self.engine, &engine)?;
        }
        if asked.contains(&"threads") {
            options.threads = self.threads;
        }
        if asked.contains(&"iterations") {
            options.iterations = self.iterations;
        }
        if options.iterations < done {
            let allowed = format!("at least {done}, the number done in the checkpoint");
            return Err(Error::option("iterations", options.iterations, allowed));
        }
        Ok(options)
    }

    /// The step of iteration `t`, from 1.
    pub(in crate::cfr) fn step(&self, t: u64) -> Step {
        let t = t as f64;
        let [alpha, beta, gamma] = self.discounts;
        let part = |exponent: f64| t.powf(exponent) / (t.powf(exponent) + 1.0);
        let (positive, negative) = match self.algorithm {
            Algorithm::Cfr | Algorithm::CfrBr => (1.0, 1.0),
            Algorithm::CfrPlus | Algorithm::PcfrPlus => (1.0, 0.0),
            Algorithm::Lcfr => (t / (t + 1.0), t / (t + 1.0)),
            Algorithm::Dcfr => (part(alpha), part(beta)),
        };
        let weight = match (self.averaging, self.algorithm) {
            (Averaging::Uniform, _) | (Averaging::Auto, Algorithm::Cfr | Algorithm::CfrBr) => 1.0,
            (Averaging::Linear, _) | (Averaging::Auto, Algorithm::CfrPlus | Algorithm::Lcfr) => t,
            (Averaging::Quadratic, _) | (Averaging::Auto, Algorithm::PcfrPlus) => t * t,
            (Averaging::Auto, Algorithm::Dcfr) => t.powf(gamma),
        };
        Step { positive, negative, weight, predicts: self.algorithm == Algorithm::PcfrPlus }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_not_allowed_is_refused_before_it_is_compared() {
        let kept = Options { sampling: Sampling::Chance, batch: 8, ..Options::default() };
        let going_on = |asked, options: Options| options.going_on(&[asked], &kept, Engine::Walk, 0);
        let wrong = Options { exploration: f64::NAN, ..Options::default() };
        let error = going_on("exploration", wrong).expect_err("no number").to_string();
        assert!(error.contains("above 0, at most 1"), "{error}");
        // The batch goes with the sampling of the checkpoint.
        let same = Options { batch: 8, ..Options::default() };
        assert_eq!(going_on("batch", same).expect("the same"), kept);
    }
}
