//! What a solver is asked to do, and what an iteration does with regrets and averages.

/// How regrets become strategies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Counterfactual regret minimisation.
    ///
    /// # Source
    /// Zinkevich et al., "Regret Minimization in Games with Incomplete Information", 2007.
    #[default]
    Cfr,
    /// Negative cumulative regrets are set to 0.
    ///
    /// # Source
    /// Tammelin, "Solving Large Imperfect Information Games Using CFR+", 2014.
    CfrPlus,
    /// Iteration t weighs t, in regrets and in the average.
    ///
    /// # Source
    /// Brown and Sandholm, "Solving Imperfect-Information Games via Discounted Regret Minimization", 2019.
    Lcfr,
    /// Positive and negative regrets are discounted apart ([`Options::discounts`]).
    ///
    /// # Source
    /// The same paper.
    Dcfr,
    /// CFR+ that matches against the last regret repeated.
    ///
    /// # Source
    /// Farina, Kroer and Sandholm, "Faster Game Solving via Predictive Blackwell Approachability", 2021.
    PcfrPlus,
    /// CFR for one seat at a time against the best response to what it plays. Two players.
    ///
    /// # Source
    /// Johanson et al., "Finding Optimal Abstract Strategies in Extensive-Form Games", 2012.
    CfrBr,
}

/// Who learns in an iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Updates {
    /// Seat by seat: a later seat sees what an earlier one has just learnt.
    #[default]
    Alternating,
    /// All seats from the same strategies.
    Simultaneous,
}

/// How much iteration t counts in the average strategy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Averaging {
    /// What the algorithm is published with: 1 for CFR and CFR-BR, t for CFR+ and LCFR, t^γ for DCFR, t² for PCFR+.
    #[default]
    Auto,
    /// 1.
    Uniform,
    /// t.
    Linear,
    /// t².
    Quadratic,
}

/// Options of a solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Who learns in an iteration.
    pub updates: Updates,
    /// Weights of the average.
    pub averaging: Averaging,
    /// Exponents α, β, γ of discounted CFR.
    pub discounts: [f64; 3],
}

impl Default for Options {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::Cfr,
            updates: Updates::Alternating,
            averaging: Averaging::Auto,
            discounts: [1.5, 0.0, 2.0],
        }
    }
}

/// What iteration t does with regrets and averages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Factor of cumulative regrets that are ≥ 0 after the iteration's were added.
    pub positive: f64,
    /// Factor of negative ones; 0 is CFR+.
    pub negative: f64,
    /// Weight of the iteration's strategy in the average.
    pub weight: f64,
}

impl Options {
    /// The step of iteration `t`, from 1.
    pub fn step(&self, t: u64) -> Step {
        let t = t as f64;
        let [alpha, beta, gamma] = self.discounts;
        let discount = |exponent: f64| t.powf(exponent) / (t.powf(exponent) + 1.0);
        let (positive, negative, published) = match self.algorithm {
            Algorithm::Cfr | Algorithm::CfrBr => (1.0, 1.0, 1.0),
            Algorithm::CfrPlus => (1.0, 0.0, t),
            Algorithm::PcfrPlus => (1.0, 0.0, t * t),
            Algorithm::Lcfr => (t / (t + 1.0), t / (t + 1.0), t),
            Algorithm::Dcfr => (discount(alpha), discount(beta), t.powf(gamma)),
        };
        let weight = match self.averaging {
            Averaging::Auto => published,
            Averaging::Uniform => 1.0,
            Averaging::Linear => t,
            Averaging::Quadratic => t * t,
        };
        Step { positive, negative, weight }
    }

    /// Whether the next strategy is matched from the cumulative regret plus the last one.
    pub fn predicts(&self) -> bool {
        self.algorithm == Algorithm::PcfrPlus
    }
}
