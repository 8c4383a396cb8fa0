//! What a fit can be told.

use serde::{Deserialize, Serialize};

use crate::runtime::named::named;
use crate::runtime::threads;
use crate::shogi::objective::{FIRST_VALUES, Objective, Values, check_values};
use crate::{Error, Result};

named! {
    /// The stored form of the children, and how they are summed ([module](super)). The names describe the form of the data, not the device: `histogram` and `plain` also run
    /// on the CPU back end, without kernels; `fused` and `persistent` are ways to launch kernels, which the CPU back end does not have.
    Engine, "engine":
        /// The fastest: the histogram.
        Auto = "auto",
        /// Distinct differences with their counts.
        Histogram = "histogram",
        /// Differences of material, with one exponential per child.
        Fused = "fused",
        /// Differences of material, with thirteen exponentials per child.
        Plain = "plain",
        /// Positions of 96 bytes, all iterations in one launch.
        Persistent = "persistent",
}

/// Options of a [`Material`](super::Material).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The implementation. Default: auto.
    pub engine: Engine,
    /// The objective and the steps of the minimisation. Default: the paper's.
    pub objective: Objective,
    /// Initial values of L N S G B R +P +L +N +S +B +R. Default: 3, as in the paper.
    pub init: Values,
    /// Total number of steps. Default: 50, as in the paper.
    pub iterations: u32,
    /// The data are used as if they occurred this many times, to reach a size for measurements. Default: 1.
    pub repeat: u32,
    /// Threads on [`Device::cpu`](crate::Device::cpu): 1 selects the sequential program, `None` all cores. The result does not depend on the number. Default: `None`.
    pub threads: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            engine: Engine::Auto,
            objective: Objective::default(),
            init: FIRST_VALUES,
            iterations: 50,
            repeat: 1,
            threads: None,
        }
    }
}

impl Options {
    /// Checks that the options are in range and consistent.
    ///
    /// # Errors
    /// [`Error::Option`] names the option; among them are a `delta` above 75 / a with one exponential for all thirteen terms.
    pub fn check(&self) -> Result<()> {
        let Self { engine, objective, init, iterations: _, repeat, threads } = self;
        objective.check()?;
        // The sizes of factors must not meet infinity before their terms are 0 or 1.
        let most = 75.0 / objective.a;
        if matches!(engine, Engine::Fused | Engine::Persistent) && objective.delta > most {
            let allowed = format!("at most {most}, 75 / a, with engine {engine}");
            return Err(Error::option("delta", objective.delta, allowed));
        }
        check_values("init", init)?;
        if *repeat == 0 {
            return Err(Error::option("repeat", repeat, "1 or more"));
        }
        threads::check(*threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_options_are_named() {
        let bad = |change: &dyn Fn(&mut Options), text: &str| {
            let mut options = Options::default();
            change(&mut options);
            let error = options.check().unwrap_err().to_string();
            assert!(error.starts_with(&format!("option {text} is not allowed (")), "{error}");
        };
        Options::default().check().unwrap();
        bad(&|o| o.objective.h = 0.0, "h: 0");
        bad(&|o| o.init[3] = f64::NAN, "init: NaN");
        bad(&|o| o.repeat = 0, "repeat: 0");
        bad(&|o| o.threads = Some(0), "threads: 0");
        bad(&|o| (o.engine, o.objective.delta) = (Engine::Fused, 26.0), "delta: 26");
        assert_eq!(serde_json::from_str::<Options>("{}").unwrap(), Options::default());
    }
}
