//! Section 5, question 3: can the variant be chosen without trying?

use warpplay::mcts::{Checkers, Connect4, Connect4Large, Gomoku, GomokuLarge, KernelSet, Notation, Variant};
use warpplay::{Backend, Device};

use super::matches::{play_match, scores};
use super::options::{Experiment, Options, counted, shrunk};
use super::searches::{search, steps_per_second};
use crate::experiment::statistics::{least, mean, most};
use crate::experiment::{Cell, Item, Run, Sheet, Stop, Table};

/// Blocks of a kernel that a GPU holds at once, where threads alone limit them; `None` for a device that has no blocks.
fn resident_blocks(device: &Device, n_playouts: u32) -> Result<Option<u32>, Stop> {
    if device.backend() != Backend::Cuda {
        return Ok(None);
    }
    let info = device.info()?;
    let threads = n_playouts.next_multiple_of(32).max(32);
    Ok(Some(info.n_multiprocessors * (info.max_threads_per_multiprocessor / threads).clamp(1, 32)))
}

/// Empty blocks that the device is assumed to go through while a thrifty step waits for the host, in times of the blocks it holds at once. An assumption, not a
/// measurement: 10 µs for the round trip to the host, 1 µs for an empty block. The table has what thrifty and prodigal steps really differ by.
const EMPTY_WAVES: u32 = 10;

/// Searches of each variant; subvariants are told apart only where the ranges of their rates do not overlap.
const REPETITIONS: u32 = 3;

/// Whether `a` is above `b` in every repetition, or below in every one; `None` where their ranges overlap.
fn above(a: &[f64], b: &[f64]) -> Option<bool> {
    match (least(a) > most(b), most(a) < least(b)) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// How often a rule was right.
fn verdict(right: &[Option<bool>]) -> String {
    let decided: Vec<bool> = right.iter().copied().flatten().collect();
    match decided.len() {
        0 => "no game decides it".into(),
        n => {
            let right = decided.iter().filter(|right| **right).count();
            format!("right for {right} of {}", counted(n as u64, "game that decides it", "games that decide it"))
        }
    }
}

/// What was measured for one game.
struct Choice {
    row: Vec<Cell>,
    /// Whether the rule was right: prodigal or thrifty, all children or one; `None` where the measurement does not decide, or the device has no blocks to judge by.
    right: [Option<bool>; 2],
}

fn choice<G: KernelSet + Notation>(run: &mut Run<'_>, options: &Options) -> Result<Choice, Stop> {
    let quick = run.quick();
    let [n_trees, n_playouts] = shrunk([4, 128], quick);
    let limits = options.size(Experiment::Search, quick).limits;
    let mut rates = Vec::new();
    let mut branching = 0.0;
    for &variant in Variant::ALL {
        let search_options = options.search(variant, n_trees, n_playouts, limits);
        let mut of = Vec::new();
        for at in 1..=REPETITIONS {
            let key = format!("question 3 {} {variant} search {at}", G::NAME);
            let (result, timed) = search(run, &key, &G::start(), &search_options, false)?;
            of.push(steps_per_second(&result, &timed));
            branching = f64::max(branching, result.branching());
        }
        rates.push((variant, of));
    }
    let rates_of = |wanted: Variant| -> Vec<f64> {
        rates.iter().filter(|(variant, _)| *variant == wanted).flat_map(|(_, of)| of.iter().copied()).collect()
    };
    // A match needs two players' moves; the size is that of the smaller matches.
    let experiment = if G::MAX_ACTIONS > 100 { Experiment::Gomoku } else { Experiment::Connect4 };
    let size = options.size(experiment, quick);
    let players = [Variant::AcpProdigal, Variant::OcpProdigal]
        .map(|variant| options.player(variant, n_trees, n_playouts, size.limits));
    let games = play_match::<G>(run, &format!("question 3 {}", G::NAME), &players, size.games, options.seed)?;
    let score = scores(&games).a;
    let resident = resident_blocks(run.device(), n_playouts)?;

    // Both rules speak of blocks: without them they say nothing, and thrifty and prodigal searches differ by chance alone.
    let says_prodigal = resident.map(|resident| n_trees * G::MAX_ACTIONS <= EMPTY_WAVES * resident);
    let says_all = resident.map(|resident| f64::from(n_trees) * branching <= f64::from(resident));
    let (prodigal, thrifty) = (rates_of(Variant::AcpProdigal), rates_of(Variant::AcpThrifty));
    let is_prodigal = resident.and_then(|_| above(&prodigal, &thrifty));
    let is_all = score.interval_percent.and_then(|[low, high]| match (low > 50.0, high < 50.0) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    });
    let word = |yes: Option<bool>, [one, other]: [&'static str; 2], open: &'static str| match yes {
        Some(true) => one,
        Some(false) => other,
        None => open,
    };
    let subvariants = ["prodigal", "thrifty"];
    let variants = ["ACP", "OCP"];
    let mut row: Vec<Cell> = vec![G::NAME.into(), G::MAX_ACTIONS.into(), branching.into(), resident.into()];
    row.extend(rates.iter().map(|(_, of)| Cell::from(mean(of))));
    let ratios = [least(&prodigal) / most(&thrifty), most(&prodigal) / least(&thrifty)];
    row.extend(ratios.map(|ratio| Cell::from(resident.map(|_| ratio))));
    row.push(resident.map(|_| 1e6 / mean(&thrifty) - 1e6 / mean(&prodigal)).into());
    row.push(word(says_prodigal, subvariants, "-").into());
    row.push(word(is_prodigal, subvariants, if resident.is_some() { "undecided" } else { "-" }).into());
    row.push(score.score_percent.into());
    row.extend([0, 1].map(|at| Cell::from(score.interval_percent.map(|interval| interval[at]))));
    row.push(word(says_all, variants, "-").into());
    row.push(word(is_all, variants, "undecided").into());
    let agree = |(says, is): (bool, bool)| says == is;
    Ok(Choice { row, right: [says_prodigal.zip(is_prodigal).map(agree), says_all.zip(is_all).map(agree)] })
}

/// The rules and what is measured, game by game.
pub(super) fn sheet(item: &Item, run: &mut Run<'_>, options: &Options) -> Result<Sheet, Stop> {
    let quick = run.quick();
    let size = options.size(Experiment::Connect4, quick);
    let (small, large) = (size.games, options.size(Experiment::Gomoku, quick).games);
    let searches = 5 * Variant::ALL.len() as u64 * u64::from(REPETITIONS);
    run.expect(searches + 2 * u64::from(small) + 3 * u64::from(large));
    let choices = [
        choice::<Connect4>(run, options)?,
        choice::<Connect4Large>(run, options)?,
        choice::<Checkers>(run, options)?,
        choice::<Gomoku>(run, options)?,
        choice::<GomokuLarge>(run, options)?,
    ];
    let [n_trees, n_playouts] = shrunk([4, 128], quick);
    let mut table = Table::new(format!(
        "T = {n_trees}, m = {n_playouts}: steps a second of the variants, and ACP-PRODIGAL against OCP-PRODIGAL by equal {}",
        size.limits.kind()
    ))
    .column("game")
    .column("B")
    .digits("b", 1)
    .column("resident blocks");
    for variant in Variant::ALL {
        table = table.digits(format!("{variant}, steps/s"), 1);
    }
    table = table.digits("ACP, prodigal / thrifty, least", 3).digits("most", 3).digits("thrifty - prodigal, µs", 2);
    table = table.column("rule").column("measured");
    table = table
        .digits("score of ACP, %", 1)
        .digits("low", 1)
        .digits("high", 1)
        .column("rule for children")
        .column("by games");
    let right = |at: usize| choices.iter().map(|choice| choice.right[at]).collect::<Vec<_>>();
    let mut sheet = Sheet::new(item)
        .note(format!("Rates are means of {REPETITIONS} searches."))
        .note(format!(
            "Rule 1: prodigal where T × B blocks are at most {EMPTY_WAVES} times what the device holds at once; {}. A subvariant counts as faster where every search of it was, else the game is undecided. The {EMPTY_WAVES} is an assumption: a round trip to the host of 10 µs, an empty block of 1 µs.",
            verdict(&right(0))
        ))
        .note(format!(
            "Rule 2: all children where the blocks of all, T × b, fit on the device at once, so that a step costs no more than with one; {}.",
            verdict(&right(1))
        ))
        .note("b is the mean number of children of an expansion, B the most; resident blocks: multiprocessors × blocks of m threads, by threads alone.")
        .left_out("Hex: a crate outside, as a user's own game; `warpplay mcts match --game hex` plays it.");
    if run.device().backend() != Backend::Cuda {
        sheet = sheet.left_out(
            "A verdict on the rules: they speak of the blocks of a GPU. Without one both subvariants are the same work.",
        );
    }
    for choice in choices {
        table.row(choice.row);
    }
    Ok(sheet.table(table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_whose_ranges_overlap_decide_nothing() {
        assert_eq!(above(&[3.0, 4.0, 5.0], &[1.0, 2.0, 2.9]), Some(true));
        assert_eq!(above(&[1.0, 2.0, 2.9], &[3.0, 4.0, 5.0]), Some(false));
        // One repetition of three is on the wrong side, or level.
        assert_eq!(above(&[3.0, 4.0, 5.0], &[1.0, 2.0, 3.1]), None);
        assert_eq!(above(&[3.0, 4.0, 5.0], &[1.0, 2.0, 3.0]), None);
        assert_eq!(above(&[], &[1.0]), None);
    }

    #[test]
    fn a_rule_is_judged_by_the_games_that_decide_it() {
        assert_eq!(verdict(&[None, None]), "no game decides it");
        assert_eq!(verdict(&[None, Some(false)]), "right for 0 of 1 game that decides it");
        assert_eq!(verdict(&[Some(true), None, Some(false)]), "right for 1 of 2 games that decide it");
    }

    #[test]
    fn a_device_without_blocks_has_none_to_judge_by() {
        assert_eq!(resident_blocks(&Device::cpu(), 128).expect("a CPU"), None);
    }
}
