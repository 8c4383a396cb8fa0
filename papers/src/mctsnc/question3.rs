//! Section 5, question 3: can the variant be chosen without trying?

use warpplay::mcts::{Checkers, Connect4, Connect4Large, Gomoku, GomokuLarge, KernelSet, Notation, Variant};
use warpplay::{Backend, Device};

use super::matches::{play_match, scores};
use super::options::{Options, Purpose, counted, shrunk};
use super::searches::{search, steps_per_second};
use crate::experiment::statistics::{least, mean, most};
use crate::experiment::{Cell, Item, Run, Sheet, Stop, Table};

/// Most blocks that a multiprocessor holds at once, however small they are.
const MAX_BLOCKS: u32 = 32;

/// Blocks of a kernel that a GPU holds at once, where threads alone limit them; `None` for a device that has no blocks.
fn resident_blocks(device: &Device, n_playouts: u32) -> Result<Option<u32>, Stop> {
    if device.backend() != Backend::Cuda {
        return Ok(None);
    }
    let info = device.info()?;
    let threads = n_playouts.next_multiple_of(32).max(32);
    Ok(Some(info.n_multiprocessors * (info.max_threads_per_multiprocessor / threads).clamp(1, MAX_BLOCKS)))
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

/// What a rule says of a game, and what was measured; `None` where the measurement does not decide, or the device has no blocks to judge by.
#[derive(Clone, Copy)]
struct Answer {
    says: Option<bool>,
    is: Option<bool>,
}

/// How often a rule was right, and whether one of its two answers, in `words`, was never given.
fn verdict(answers: &[Answer], words: [&str; 2]) -> String {
    let decided: Vec<bool> = answers.iter().filter_map(|of| Some(of.says? == of.is?)).collect();
    let right = match decided.len() {
        0 => "no game decides it".to_string(),
        n => {
            let right = decided.iter().filter(|right| **right).count();
            format!("right for {right} of {}", counted(n as u64, "game that decides it", "games that decide it"))
        }
    };
    let given = |word: bool| answers.iter().any(|of| of.says == Some(word));
    let only = match (given(true), given(false)) {
        (true, false) => words[0],
        (false, true) => words[1],
        _ => return right,
    };
    format!("{right}; it says {only} for every game here, so its other answer is untried")
}

/// Answers of rule 1: with as many blocks as actions, or as children.
const SUBVARIANTS: [&str; 2] = ["prodigal", "thrifty"];
/// Answers of rule 2: playouts of all children, or of one.
const CHILDREN: [&str; 2] = ["ACP", "OCP"];

/// What was measured for one game.
struct Choice {
    row: Vec<Cell>,
    /// Of rule 1 and rule 2.
    answers: [Answer; 2],
}

fn choice<G: KernelSet + Notation>(run: &mut Run<'_>, options: &Options) -> Result<Choice, Stop> {
    let quick = run.quick();
    let [n_trees, n_playouts] = shrunk([4, 128], quick);
    let limits = options.size(Purpose::Search, quick).limits;
    let mut rates = Vec::new();
    let mut new_nodes = 0.0;
    for &variant in Variant::ALL {
        let search_options = options.search(variant, n_trees, n_playouts, limits);
        let mut of = Vec::new();
        for at in 1..=REPETITIONS {
            let key = format!("question 3 {} {variant} search {at}", G::NAME);
            let (result, timed) = search(run, &key, &G::start(), &search_options, false)?;
            of.push(steps_per_second(&result, &timed));
            new_nodes = f64::max(new_nodes, result.new_nodes());
        }
        rates.push((variant, of));
    }
    let rates_of = |wanted: Variant| -> Vec<f64> {
        rates.iter().filter(|(variant, _)| *variant == wanted).flat_map(|(_, of)| of.iter().copied()).collect()
    };
    // A match needs two players' moves; the size is that of the smaller matches.
    let purpose = if G::MAX_ACTIONS > 100 { Purpose::Gomoku } else { Purpose::Connect4 };
    let size = options.size(purpose, quick);
    let players = [Variant::AcpProdigal, Variant::OcpProdigal]
        .map(|variant| options.player(variant, n_trees, n_playouts, size.limits));
    let games = play_match::<G>(run, &format!("question 3 {}", G::NAME), &players, size.games, options.seed)?;
    let score = scores(&games).a;
    let resident = resident_blocks(run.device(), n_playouts)?;

    // Both rules speak of blocks: without them they say nothing, and thrifty and prodigal searches differ by chance alone.
    let says_prodigal = resident.map(|resident| n_trees * G::MAX_ACTIONS <= EMPTY_WAVES * resident);
    let says_all = resident.map(|resident| f64::from(n_trees) * new_nodes <= f64::from(resident));
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
    let mut row: Vec<Cell> = vec![G::NAME.into(), G::MAX_ACTIONS.into(), new_nodes.into(), resident.into()];
    row.extend(rates.iter().map(|(_, of)| Cell::from(mean(of))));
    let ratios = [least(&prodigal) / most(&thrifty), most(&prodigal) / least(&thrifty)];
    row.extend(ratios.map(|ratio| Cell::from(resident.map(|_| ratio))));
    row.push(resident.map(|_| 1e6 / mean(&thrifty) - 1e6 / mean(&prodigal)).into());
    row.push(word(says_prodigal, SUBVARIANTS, "-").into());
    row.push(word(is_prodigal, SUBVARIANTS, if resident.is_some() { "undecided" } else { "-" }).into());
    row.push(score.score_percent.into());
    row.extend([0, 1].map(|at| Cell::from(score.interval_percent.map(|interval| interval[at]))));
    row.push(word(says_all, CHILDREN, "-").into());
    row.push(word(is_all, CHILDREN, "undecided").into());
    let answers = [Answer { says: says_prodigal, is: is_prodigal }, Answer { says: says_all, is: is_all }];
    Ok(Choice { row, answers })
}

/// The rules and what is measured, game by game.
pub(super) fn sheet(item: &Item, run: &mut Run<'_>, options: &Options) -> Result<Sheet, Stop> {
    let quick = run.quick();
    let size = options.size(Purpose::Connect4, quick);
    let (small, large) = (size.games, options.size(Purpose::Gomoku, quick).games);
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
    let answers = |at: usize| choices.iter().map(|choice| choice.answers[at]).collect::<Vec<_>>();
    let mut sheet = Sheet::new(item)
        .note(format!("Rates are means of {REPETITIONS} searches."))
        .note(format!(
            "Rule 1: prodigal where T × B blocks are at most {EMPTY_WAVES} times what the device holds at once; {}. A subvariant counts as faster where every search of it was, else the game is undecided. The {EMPTY_WAVES} is an assumption: a round trip to the host of 10 µs, an empty block of 1 µs.",
            verdict(&answers(0), SUBVARIANTS)
        ))
        .note(format!(
            "Rule 2: all children where the blocks of all, T × b, fit on the device at once, so that a step costs no more than with one; {}.",
            verdict(&answers(1), CHILDREN)
        ))
        .note("b is the largest over the searches of the new nodes of a step and tree, B the most actions; resident blocks: multiprocessors × blocks of m threads, by threads alone.")
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
        let of = |answers: &[(Option<bool>, Option<bool>)]| {
            let answers: Vec<Answer> = answers.iter().map(|&(says, is)| Answer { says, is }).collect();
            verdict(&answers, SUBVARIANTS)
        };
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(of(&[(None, yes), (None, None)]), "no game decides it");
        assert_eq!(of(&[(yes, yes), (yes, None), (no, yes)]), "right for 1 of 2 games that decide it");
        let one_sided = "; it says prodigal for every game here, so its other answer is untried";
        assert_eq!(of(&[(yes, None), (yes, no)]), format!("right for 0 of 1 game that decides it{one_sided}"));
        assert_eq!(
            of(&[(no, None)]),
            "no game decides it; it says thrifty for every game here, so its other answer is untried"
        );
    }

    #[test]
    fn a_device_without_blocks_has_none_to_judge_by() {
        assert_eq!(resident_blocks(&Device::cpu(), 128).expect("a CPU"), None);
    }
}
