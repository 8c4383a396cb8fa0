//! What other people's programs computed for CFR: the one reader of their files, and the comparison of runs over sampled deals with them.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

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

/// The file of hold'em spots with their reference.
pub fn holdem_spots() -> PathBuf {
    golden::path("cfr/holdem_subgame.json")
}

/// The reference of hold'em spots.
///
/// # Panics
/// If the file is no JSON.
pub fn holdem_reference() -> Value {
    read(&holdem_spots())
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

/// Game, trajectory, and the iteration from which exact ties tell in it.
const TIES: [(&str, &str, u64); 4] = [
    ("leduc.limit.2p", "dcfr_alternating_1.5_0_2", 100),
    ("leduc.limit.2p", "lcfr_alternating", 100),
    ("leduc.nolimit.2p", "cfr_plus_alternating_linear", 10),
    ("leduc.nolimit.2p", "dcfr_alternating_1.5_0_2", 10),
];

/// Whether an exact tie has decided in a trajectory: a regret that ought to be 0 is a rounding of one sign or the other, which depends on the order of every sum, and the strategy follows the
/// sign. Then runs are different ones, and have the value of the game in common (`docs/exact-ties.md`).
pub fn tied(game: &str, trajectory: &str, iteration: u64) -> bool {
    TIES.iter().any(|&(name, label, from)| name == game && label == trajectory && iteration >= from)
}

/// Holds a profile of two players to the value of their game, which is no further than both can still gain; `game` is the reference's.
///
/// # Panics
/// If it is.
#[track_caller]
pub fn close_to_value(what: &str, values: &[f64], nash_conv: f64, game: &Value) {
    // The rounding of both.
    let within = Tolerance { abs: nash_conv + SAMPLED.abs, rel: 0.0 };
    close(&format!("{what}: value of the game"), &values[..1], &[number(&game["game_value_player1"])], within);
}

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

/// What an independent program in single precision throughout was off in NashConv within ten iterations of Leduc, relative, at most (`tests/golden/cfr/README_reference.md`).
const SINGLE_ELSEWHERE: f64 = 2e-7;

/// Single precision within ten iterations, in NashConv and values, relative to NashConv or in chips: before an exact tie decides, after which there is nothing to compare (`docs/exact-ties.md`).
///
/// A bound of the worst case says nothing: an information set divides by the sum of its positive regrets, so that each iteration may make the error of the one before larger by the most chips over the least such sum, in
/// Leduc 13 chips over 0.0006. So roundings are taken for independent numbers of mean 0 (Higham, *Accuracy and Stability of Numerical Algorithms*, 2002, section 2.8): then the errors of programs that add up the same terms
/// have one standard deviation, in whatever order they add, and that of smaller games is no larger. Eight times what another program was off is four standard deviations even where that was only half a one; chance
/// exceeds these once in 16,000.
pub const SINGLE: Tolerance = Tolerance { abs: 8.0 * SINGLE_ELSEWHERE, rel: 8.0 * SINGLE_ELSEWHERE };

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

/// Tables that single draws gave: the different ones, and how often each came.
#[derive(Clone, Debug, Default)]
pub struct Outcomes(Vec<(Vec<f64>, u32)>);

impl Outcomes {
    /// Counts a draw. The same draw has the same bits.
    pub fn add(&mut self, table: Vec<f64>) {
        match self.0.iter_mut().find(|(known, _)| *known == table) {
            Some((_, count)) => *count += 1,
            None => self.0.push((table, 1)),
        }
    }

    /// Holds that there are `n` outcomes, equally likely, whose mean is `mean`: no draw is left out, so that the mean has no error but rounding.
    ///
    /// # Panics
    /// If not.
    #[track_caller]
    pub fn have_mean(&self, what: &str, n: usize, mean: &[f64], tolerance: Tolerance) {
        assert_eq!(self.0.len(), n, "{what}: outcomes");
        let expected = f64::from(self.0.iter().map(|(_, count)| count).sum::<u32>()) / n as f64;
        let chi_square: f64 = self.0.iter().map(|(_, count)| (f64::from(*count) - expected).powi(2) / expected).sum();
        // One in a million is beyond this (Laurent and Massart, 2000, lemma 1).
        let (freedom, x) = ((n - 1) as f64, 1e6f64.ln());
        let most = freedom + 2.0 * (freedom * x).sqrt() + 2.0 * x;
        assert!(chi_square <= most, "{what}: chi-square {chi_square}, at most {most}");
        let of_entry = |at: usize| self.0.iter().map(|(table, _)| table[at]).sum::<f64>() / n as f64;
        close(what, &(0..mean.len()).map(of_entry).collect::<Vec<_>>(), mean, tolerance);
    }
}

/// Holds means to what they estimate: tables of 32 batches, each of so many draws that its entries are nearly normal. Student's t of 31 degrees of freedom is beyond 7 with a chance of one in ten
/// million.
///
/// # Panics
/// If a mean is further away.
#[track_caller]
pub fn estimate(what: &str, batches: &[Vec<f64>], expected: &[f64], rounding: f64) {
    assert_eq!(batches.len(), 32, "{what}: batches");
    let n = batches.len() as f64;
    for (at, expected) in expected.iter().enumerate() {
        let mean = batches.iter().map(|batch| batch[at]).sum::<f64>() / n;
        let variance = batches.iter().map(|batch| (batch[at] - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let most = 7.0 * (variance / n).sqrt() + rounding;
        assert!((mean - expected).abs() <= most, "{what}, {at}: {mean}, expected {expected}, within {most}");
    }
}
