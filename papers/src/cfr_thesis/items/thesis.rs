//! The paper with its settings, and its games laid out.

use std::sync::{Arc, OnceLock};

use warpplay::{Error, Result};

use crate::cfr_thesis::options::Options;
use crate::cfr_thesis::plan::Plan;
use crate::cfr_thesis::published::Variant;
use crate::experiment::{Item, Sheet};

/// What is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The games.
    pub variants: Vec<Variant>,
    /// Numbers of iterations, 1 or more, ascending without repetitions; empty for those of the paper.
    pub iterations: Vec<u32>,
    /// Runs of every point, 1 or more. The paper's: 5.
    pub repeats: u32,
    /// The longest run in seconds, above 0. Points that would take longer are not run, and are listed as left out.
    pub most_seconds: f64,
    /// Options of the programs.
    pub options: Options,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            variants: Variant::ALL.to_vec(),
            iterations: Vec::new(),
            repeats: 5,
            most_seconds: 120.0,
            options: Options::default(),
        }
    }
}

impl Settings {
    fn check(&self) -> Result<()> {
        if self.iterations.contains(&0) || !self.iterations.is_sorted_by(|one, next| one < next) {
            let allowed = "numbers of 1 or more, ascending, each once";
            return Err(Error::option("iterations", format!("{:?}", self.iterations), allowed));
        }
        if self.repeats == 0 {
            return Err(Error::option("repeats", self.repeats, "1 or more"));
        }
        if !(self.most_seconds.is_finite() && self.most_seconds > 0.0) {
            return Err(Error::option("limit", self.most_seconds, "a finite number above 0"));
        }
        self.options.check()
    }
}

/// The paper.
#[derive(Default)]
pub struct Thesis {
    pub(super) settings: Settings,
    /// The four games laid out, each when it is first needed.
    plans: [OnceLock<Arc<Plan>>; 4],
}

impl Thesis {
    /// With these settings.
    ///
    /// # Errors
    /// [`Error::Option`] for a value that is not allowed; [`Settings::most_seconds`] is named `limit`, as on the command line.
    pub fn new(settings: Settings) -> Result<Self> {
        settings.check()?;
        Ok(Self { settings, plans: Default::default() })
    }

    /// A game laid out.
    pub(super) fn plan(&self, variant: Variant) -> Result<&Arc<Plan>> {
        let cell = &self.plans[variant as usize];
        if let Some(plan) = cell.get() {
            return Ok(plan);
        }
        let plan = Arc::new(Plan::of(&variant.game()?)?);
        Ok(cell.get_or_init(|| plan))
    }

    /// Runs of a point.
    pub(super) fn repeats(&self, quick: bool) -> u32 {
        if quick { self.settings.repeats.min(2) } else { self.settings.repeats }
    }

    /// Whether a game is among those asked for.
    pub(super) fn has(&self, variant: Variant) -> bool {
        self.settings.variants.contains(&variant)
    }

    /// The sheet of an item of a game that is not.
    pub(super) fn not_asked(&self, item: &Item, variant: Variant) -> Option<Sheet> {
        let reason = format!("variant {}: not among the games asked for", variant.letter());
        (!self.has(variant)).then(|| Sheet::new(item).left_out(reason))
    }
}
