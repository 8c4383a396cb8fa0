//! Section IV.D: the player that could not decide its next action.

use super::super::batch::{Row, input_layer_refuses};
use super::super::games::{ACTIONS, DRIFT_BOUND, Played, Stretch};
use super::super::plan::Setup;
use super::super::{Options, Program};
use super::{NO_KERNELS, has_kernels, positions};
use crate::experiment::{Cell, Run, Sheet, Stop, Table};
use warpplay::{Backend, Device, Precision};

/// Positions of the batch.
const BATCH: usize = 8;
/// Positions and calls of the drift.
const DRIFT: (usize, usize) = (8, 1000);

/// More than one position.
pub fn batch(setup: &Setup, run: &mut Run<'_>, sheet: Sheet) -> Result<Sheet, Stop> {
    run.expect(1);
    let rows: Vec<Row> = run.exact(&format!("batch: {BATCH} positions"), |_| Ok(setup.study.batch(BATCH)))?;
    let mut table = Table::new(format!(
        "{BATCH} positions in one call of the repository's layers behind the input, derived on the CPU"
    ))
    .column("position")
    .digits("value of the network, double precision", 4)
    .digits("value of the repository's layers", 4)
    .column("best action of the network")
    .column("best action of the repository's layers")
    .column("legal")
    .column("policy valid");
    let yes = |so| if so { "yes" } else { "no" };
    for row in &rows {
        table.row([
            row.position.into(),
            row.expected_value.into(),
            row.value.into(),
            row.expected_action.into(),
            row.action.into(),
            yes(row.legal).into(),
            yes(row.policy).into(),
        ]);
    }
    let said = input_layer_refuses(BATCH).map(|words| {
        format!(
            "The repository's input layer throws std::invalid_argument for {BATCH} positions, in its own words: \
             \"{words}\". A program that does not catch it aborts."
        )
    });
    let all_legal = rows.iter().all(|row| row.legal && row.policy);
    let sheet = said.into_iter().fold(sheet.table(table), Sheet::note);
    Ok(sheet
        .note(
            "The repository's layers were not run. Their answers are computed on the CPU in double precision: those for \
             the first position by the network without the convolutions' bias, those for the others by the network with \
             zeros in place of all weights and biases of its convolutions. Whether actions are legal and policies valid is \
             our check of these answers.",
        )
        .note(
            "The other layers compute the first position, without the convolutions' bias, and leave zeros for the \
             rest, which have one value and the same logits, whatever is on their boards: only which actions are legal \
             tells their best actions apart.",
        )
        .note(if all_legal {
            "Every policy is valid (finite, not negative, of sum 1, 0 for illegal actions) and every action legal, \
             so these answers cannot be the abort of Figure 6; the exception can, in a player that evaluates leaves in batches. OpenSpiel's player evaluates \
             one at a time unless it is told otherwise."
        } else {
            "Some policies are not valid, or some actions are illegal."
        }))
}

/// Games.
pub fn games(setup: &Setup, run: &mut Run<'_>, sheet: Sheet) -> Result<Sheet, Stop> {
    let n = setup.games(run.quick());
    let kernels = run.device().backend() == Backend::Cuda;
    // Under simt a game takes an hour.
    let device = if kernels { run.device().clone() } else { Device::cpu() };
    let short = [Precision::Tf32, Precision::Bf16, Precision::F16];
    let players = [
        ("paper", Options::default()),
        ("paper, no bias", Options::published()),
        ("repository", Program::Repository.options()),
    ];
    run.expect(if kernels { 2 + short.len() as u64 + players.len() as u64 } else { 1 });
    let (first, stretches): (Played, Vec<Stretch>) =
        run.exact(&format!("games: ours f32, {n} games"), |now| setup.study.games(&device, n, || now.check()))?;
    let mut all = vec![("ours f32".to_string(), first)];
    if kernels {
        for precision in short {
            let name = format!("ours {precision}");
            let played = run.exact(&format!("games: {name}, {n} games"), |now| {
                setup.study.games_by_ours(&device, precision, n, || now.check())
            })?;
            all.push((name, played));
        }
        for (name, options) in players {
            // The last bits of sums by atomic additions differ from run to run, and with them actions that are drawn: a replay plays other games, and compares
            // whether all of them end without a fault.
            let played = run.near(
                &format!("games: {name}, {n} games"),
                |now| setup.study.games_by_kernels(&device, options, n, || now.check()),
                |recorded: &Played, now| recorded.games == now.games && recorded.is_faultless() == now.is_faultless(),
            )?;
            all.push((format!("kernels: {name}"), played));
        }
    }
    let mut table = Table::new(format!("{n} games side by side, actions drawn from the policy"))
        .column("player")
        .column("ended by the rules")
        .column("positions")
        .column("longest, actions")
        .column("wrong policies")
        .column("illegal actions")
        .column("first fault");
    for (player, played) in all {
        table.row([
            player.into(),
            played.ended.into(),
            played.positions.into(),
            played.longest.into(),
            played.wrong_policies.into(),
            played.illegal_actions.into(),
            played.first_fault.unwrap_or_else(|| "none".to_string()).into(),
        ]);
    }
    let mut sheet = sheet.table(table).table(stretches_table(&stretches));
    if has_kernels(run.device()) {
        let (n, calls) = if kernels { DRIFT } else { (1, 1) };
        // As above: the size of the drift differs, and not whether rounding explains it.
        let drift: Option<f64> = run.near(
            &format!("games: drift after {calls} calls"),
            |now| Ok(setup.study.drift(now.device, Options::default(), n, calls)?),
            |recorded, now| is_rounding(*recorded) == is_rounding(*now),
        )?;
        sheet = sheet.note(drift_note(drift, n, calls));
    }
    Ok(match run.device().backend() {
        Backend::Cuda => sheet,
        Backend::Simt => {
            sheet.left_out("games by kernels: a game takes an hour under simt; ours was played on the CPU")
        }
        _ => sheet.left_out(format!("games by kernels: {NO_KERNELS}")),
    })
}

/// Whether the order of atomic additions explains that answers for the same positions differ so much.
fn is_rounding(drift: Option<f64>) -> bool {
    drift.is_some_and(|drift| drift <= DRIFT_BOUND)
}

fn drift_note(drift: Option<f64>, n: usize, calls: usize) -> String {
    let found = match drift {
        Some(drift) => format!("differ by at most {drift:.1e}"),
        None => "are not all finite".to_string(),
    };
    let so = if is_rounding(drift) {
        format!(
            "no more than the {DRIFT_BOUND:.0e} that the order of the additions explains. Nothing is kept from one \
             evaluation to the next, so that no error accumulates."
        )
    } else {
        format!("the order of the additions explains {DRIFT_BOUND:.0e} and not this.")
    };
    format!(
        "After {calls} other evaluations by the paper's kernels the logits of the same {} {found}: {so}",
        positions(n)
    )
}

fn stretches_table(stretches: &[Stretch]) -> Table {
    let mut table = Table::new("what leaving the bias out changes in a sample of the positions that ours f32 came to")
        .column("actions")
        .column("positions")
        .column("of these sampled")
        .digits("logits by", 2)
        .digits("value by", 3)
        .digits("other best action, %", 1);
    for (at, stretch) in stretches.iter().enumerate() {
        table.row([
            format!("{} to {}", at * ACTIONS, (at + 1) * ACTIONS - 1).into(),
            stretch.positions.into(),
            stretch.sampled.into(),
            stretch.largest_logit_change.into(),
            stretch.largest_value_change.into(),
            Cell::from(100.0 * stretch.other_best_action as f64 / stretch.sampled.max(1) as f64),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_drift_within_rounding_is_said_to_keep_nothing() {
        let kept = |drift| !drift_note(drift, 1, 9).contains("Nothing is kept");
        assert!(!kept(Some(0.0)) && !kept(Some(DRIFT_BOUND)));
        assert!(kept(Some(1.5 * DRIFT_BOUND)) && kept(Some(0.3)) && kept(None));
        assert!(
            drift_note(None, 1, 9).starts_with(
                "After 9 other evaluations by the paper's kernels the logits of the same 1 position are not"
            )
        );
    }
}
