//! What other people's programs computed for CFR: the one reader of their files, and the comparison of runs over sampled deals with them.

use std::ops::ControlFlow;
use std::path::Path;

use serde_json::Value;
use warpplay::Error;
use warpplay::cfr::engines::walk::{Checksums, Sampler, Set};
use warpplay::cfr::{Algorithm, GameDef, Report, Solver, Updates};

use crate::Checked;
use crate::golden;
use crate::tolerance::{Tolerance, close};

/// The reference of all games: the large one, or the part of it that is in the repository. Both have the same games, sampled deals and trajectories, this one up to 100
/// iterations (10 of `leduc.nolimit.2p`), and fewer tables.
///
/// # Panics
/// If the file is no JSON.
pub fn reference() -> Value {
    match golden::shared_or_less("vectors/cfr_reference.json") {
        Some(path) => read(&path),
        None => small_reference(),
    }
}

/// The reference of hold'em spots; `None`, said aloud, where it is absent.
///
/// # Panics
/// If the file is no JSON.
pub fn holdem_reference() -> Option<Value> {
    golden::shared("vectors/holdem_subgame_reference.json").map(|path| read(&path))
}

/// The part of the reference that is in the repository.
///
/// # Panics
/// If the file is no JSON.
pub fn small_reference() -> Value {
    serde_json::from_str(&golden::text("cfr/reference.json")).expect("the reference is JSON")
}

fn read(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).expect("the reference can be read");
    serde_json::from_str(&text).expect("the reference is JSON")
}

/// One of the games in `tests/golden/cfr/games`.
///
/// # Panics
/// If there is none of this name.
pub fn game(name: &str) -> GameDef {
    GameDef::read(golden::path(&format!("cfr/games/{name}.game"))).unwrap_or_else(|error| panic!("{error}"))
}

/// A number.
///
/// # Panics
/// If it is none.
#[track_caller]
pub fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Numbers.
///
/// # Panics
/// If it is no list of them.
#[track_caller]
pub fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list")).iter().map(number).collect()
}

/// The reference's names of trajectories.
pub const TRAJECTORIES: [(&str, Algorithm, Updates); 7] = [
    ("cfr_alternating", Algorithm::Cfr, Updates::Alternating),
    ("cfr_simultaneous", Algorithm::Cfr, Updates::Simultaneous),
    ("cfr_plus_alternating_linear", Algorithm::CfrPlus, Updates::Alternating),
    ("cfr_plus_simultaneous_linear", Algorithm::CfrPlus, Updates::Simultaneous),
    ("lcfr_alternating", Algorithm::Lcfr, Updates::Alternating),
    ("dcfr_alternating_1.5_0_2", Algorithm::Dcfr, Updates::Alternating),
    ("pcfr_plus_alternating_quadratic", Algorithm::PcfrPlus, Updates::Alternating),
];

/// Does `n` more iterations.
///
/// # Errors
/// As the device says.
pub fn run_on(solver: &mut Solver, n: u64) -> Result<Report, Error> {
    solver.set_limit(solver.iterations() + n)?;
    solver.run(|_| ControlFlow::Continue(()))
}

/// A run over sampled deals, as far as the reference knows it.
pub trait Sampled {
    /// Does `n` more iterations.
    ///
    /// # Errors
    /// As the device says.
    fn iterate(&mut self, n: u32) -> Checked;
    /// Sum of the utilities, by seat.
    ///
    /// # Errors
    /// As the device says.
    fn utilities(&mut self) -> Result<Vec<f64>, Error>;
    /// Sums over the tables.
    ///
    /// # Errors
    /// As the device says.
    fn checksums(&mut self) -> Result<Checksums, Error>;
    /// One information set.
    ///
    /// # Errors
    /// As the device says.
    fn set(&self, sequence: u32, bucket: u32) -> Result<Set, Error>;
}

impl Sampled for Sampler {
    fn iterate(&mut self, n: u32) -> Checked {
        self.run(n)
    }

    fn utilities(&mut self) -> Result<Vec<f64>, Error> {
        self.utilities()
    }

    fn checksums(&mut self) -> Result<Checksums, Error> {
        self.checksums()
    }

    fn set(&self, sequence: u32, bucket: u32) -> Result<Set, Error> {
        self.set(sequence, bucket)
    }
}

/// Double precision with sums in another order.
pub const SAMPLED: Tolerance = Tolerance { abs: 1e-9, rel: 1e-9 };

/// Runs something to each checkpoint of the reference's sampled deals up to `last`, and compares all that is known of it. `build` gets the game and the seed.
///
/// # Errors
/// As the device says.
///
/// # Panics
/// If something differs.
pub fn follow_sampled(
    what: &str,
    name: &str,
    last: u64,
    build: impl FnOnce(&GameDef, u64) -> Result<Box<dyn Sampled>, Error>,
) -> Checked {
    let reference = reference();
    let sampled = &reference["sampled_one_deal_per_iteration"];
    let expected = &sampled["games"][name];
    let mut run = build(&game(name), sampled["lcg_seed"].as_u64().expect("a seed"))?;
    let checkpoints = expected["checkpoints"].as_object().expect("checkpoints");
    let mut at: Vec<u64> = checkpoints.keys().map(|key| key.parse().expect("a number")).collect();
    at.sort_unstable();
    let mut done = 0;
    for iteration in at.into_iter().filter(|&iteration| iteration <= last) {
        let what = |part: &str| format!("{name} by {what}, iteration {iteration}: {part}");
        let point = &checkpoints[&iteration.to_string()];
        run.iterate((iteration - done) as u32)?;
        done = iteration;
        close(&what("utilities"), &run.utilities()?, &floats(&point["utility_sum"]), SAMPLED);
        let sums = run.checksums()?;
        let got = [sums.regrets, sums.regret_sizes, sums.averages];
        let known = ["regret_sum", "regret_abs_sum", "average_sum"].map(|key| number(&point[key]));
        close(&what("tables"), &got, &known, SAMPLED);
        let deals = expected["deals"].as_array().expect("deals");
        if let Some(deal) = deals.get(iteration as usize - 1) {
            let set = run.set(0, deal["bucket"][0].as_u64().expect("a bucket") as u32)?;
            close(&what("regrets of the root"), &set.regrets, &floats(&point["root_regret_of_this_deal"]), SAMPLED);
            close(&what("averages of the root"), &set.averages, &floats(&point["root_average_of_this_deal"]), SAMPLED);
        }
    }
    Ok(())
}
