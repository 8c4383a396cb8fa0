//! Section 5, question 3: can the variant be chosen without trying?

use warpplay::mcts::{Checkers, Connect4, Connect4Large, Gomoku, GomokuLarge, KernelSet, Notation, Variant};
use warpplay::{Backend, Device};

use super::matches::{play_match, scores};
use super::options::{Experiment, Options, shrunk};
use super::searches::{search, steps_per_second};
use crate::experiment::{Cell, Item, Run, Sheet, Stop, Table};

/// Blocks of a kernel that the device holds at once, where threads alone limit them.
fn resident_blocks(device: &Device, n_playouts: u32) -> Result<u32, Stop> {
    let info = device.info()?;
    let threads = n_playouts.next_multiple_of(32).max(32);
    Ok(info.n_multiprocessors * (info.max_threads_per_multiprocessor / threads).clamp(1, 32))
}

/// Empty blocks that the device goes through while a thrifty step waits for the host, in times of the blocks it holds at once: a round trip of 10 µs, an empty block
/// of about 1 µs.
const EMPTY_WAVES: u32 = 10;

/// What was found for one game.
struct Choice {
    row: Vec<Cell>,
    /// Whether the rule was right: prodigal or thrifty, all children or one; `None` where the games do not decide.
    right: [Option<bool>; 2],
}

fn choice<G: KernelSet + Notation>(run: &mut Run<'_>, options: &Options) -> Result<Choice, Stop> {
    let quick = run.quick();
    let [n_trees, n_playouts] = shrunk([4, 128], quick);
    let limits = options.size(Experiment::Search, quick).limits;
    let mut rates = Vec::new();
    let mut branching = 0.0;
    for &variant in Variant::ALL {
        let key = format!("question 3 {} {variant}", G::NAME);
        let search_options = options.search(variant, n_trees, n_playouts, limits);
        let (found, timed) = search(run, &key, &G::start(), &search_options, false)?;
        rates.push((variant, steps_per_second(&found, &timed)));
        branching = f64::max(branching, found.branching());
    }
    let rate = |of: Variant| rates.iter().find(|(variant, _)| *variant == of).map_or(f64::NAN, |(_, rate)| *rate);
    // A match needs two players' moves; the size is that of the smaller matches.
    let experiment = if G::MAX_ACTIONS > 100 { Experiment::Gomoku } else { Experiment::Connect4 };
    let size = options.size(experiment, quick);
    let players = [Variant::AcpProdigal, Variant::OcpProdigal]
        .map(|variant| options.player(variant, n_trees, n_playouts, size.limits));
    let games = play_match::<G>(run, &format!("question 3 {}", G::NAME), &players, size.games, options.seed)?;
    let score = scores(&games).a;
    let resident = resident_blocks(run.device(), n_playouts)?;

    let says_prodigal = n_trees * G::MAX_ACTIONS <= EMPTY_WAVES * resident;
    let says_all = f64::from(n_trees) * branching <= f64::from(resident);
    let is_prodigal = rate(Variant::AcpProdigal) > rate(Variant::AcpThrifty);
    let is_all = score.interval_percent.and_then(|[low, high]| match (low > 50.0, high < 50.0) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    });
    let word = |yes: bool, words: [&'static str; 2]| words[usize::from(!yes)];
    let subvariants = ["prodigal", "thrifty"];
    let variants = ["ACP", "OCP"];
    let mut row: Vec<Cell> = vec![G::NAME.into(), G::MAX_ACTIONS.into(), branching.into(), resident.into()];
    row.extend(rates.iter().map(|(_, rate)| Cell::from(*rate)));
    row.extend([word(says_prodigal, subvariants).into(), word(is_prodigal, subvariants).into()]);
    row.extend([score.score_percent.into()]);
    row.extend([0, 1].map(|at| Cell::from(score.interval_percent.map(|interval| interval[at]))));
    row.push(word(says_all, variants).into());
    row.push(is_all.map_or("undecided", |all| word(all, variants)).into());
    Ok(Choice { row, right: [Some(says_prodigal == is_prodigal), is_all.map(|all| all == says_all)] })
}

/// The rule and what is found, game by game.
pub(super) fn sheet(item: &Item, run: &mut Run<'_>, options: &Options) -> Result<Sheet, Stop> {
    let quick = run.quick();
    let (small, large) =
        (options.size(Experiment::Connect4, quick).games, options.size(Experiment::Gomoku, quick).games);
    run.expect(5 * Variant::ALL.len() as u64 + 2 * u64::from(small) + 3 * u64::from(large));
    let choices = [
        choice::<Connect4>(run, options)?,
        choice::<Connect4Large>(run, options)?,
        choice::<Checkers>(run, options)?,
        choice::<Gomoku>(run, options)?,
        choice::<GomokuLarge>(run, options)?,
    ];
    let [n_trees, n_playouts] = shrunk([4, 128], quick);
    let mut table = Table::new(format!("T = {n_trees}, m = {n_playouts}: steps a second of the variants, and ACP-PRODIGAL against OCP-PRODIGAL by equal time"))
        .column("game")
        .column("B")
        .digits("b", 1)
        .column("resident blocks");
    for variant in Variant::ALL {
        table = table.digits(format!("{variant}, steps/s"), 1);
    }
    table = table.column("rule").column("found");
    table = table
        .digits("score of ACP, %", 1)
        .digits("low", 1)
        .digits("high", 1)
        .column("rule for children")
        .column("found by games");
    let said = |at: usize| choices.iter().filter_map(move |choice| choice.right[at]);
    let right = |at: usize| said(at).filter(|right| *right).count();
    let mut sheet = Sheet::new(item)
        .note(format!(
            "Rule 1: prodigal where T × B blocks are at most {EMPTY_WAVES} times what the device holds at once; right for {} of {} games.",
            right(0),
            said(0).count()
        ))
        .note(format!(
            "Rule 2: all children where the blocks of all, T × b, fit on the device at once, so that a step costs no more than with one; right for {} of {} games that the match decides.",
            right(1),
            said(1).count()
        ))
        .note("b is the mean number of children of an expansion, B the most; resident blocks: multiprocessors × blocks of m threads, by threads alone.")
        .left_out("Hex: a crate outside, as a user's own game; `warpplay mcts match --game hex` plays it.");
    if run.device().backend() != Backend::Cuda {
        sheet = sheet.left_out("A verdict on rule 1: without a GPU both subvariants are the same work.");
    }
    for choice in choices {
        table.row(choice.row);
    }
    Ok(sheet.table(table))
}
