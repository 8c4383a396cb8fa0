//! What is exact or nearly so: bank conflicts, errors, and what the paper's tests could not see.

use super::super::banks;
use super::super::claims::{OF_320_THREADS, claims};
use super::super::errors::Row as ErrorRow;
use super::super::forms::forms;
use super::super::growth::Growth;
use super::super::measure::Part;
use super::super::mistakes::Row as MistakeRow;
use super::super::plan::Setup;
use super::super::published::{
    KERNEL_MEAN_ERRORS, LAYER_MEAN_ERRORS, MEAN_ERROR, MEAN_ERROR_GROWTH, MODEL_MEAN_ERRORS, SHARED_MEAN_ERRORS,
};
use super::{NO_KERNELS, error, has_kernels, positions, times, verdict};
use crate::experiment::{Run, Sheet, Stop, Table, statistics};
use warpplay::Backend;

/// Bank conflicts.
pub fn banks(run: &mut Run<'_>, sheet: Sheet) -> Result<Sheet, Stop> {
    let parts = [Part::Input, Part::Torso, Part::Output];
    run.expect(parts.len() as u64);
    let mut table = Table::new("turns beyond one a request, one block, counted by simt")
        .column("kernel")
        .column("form")
        .column("requests")
        .column("of reads")
        .column("of writes")
        .column("of additions");
    for part in parts {
        let rows: Vec<banks::Row> = run.exact(&format!("banks: {part}"), |now| {
            let mut rows = Vec::new();
            for (form, options) in forms(part) {
                now.check()?;
                rows.push(banks::row(form, options, part)?);
            }
            Ok(rows)
        })?;
        for row in rows {
            table.row([
                row.kernel.into(),
                row.form.into(),
                row.requests.into(),
                row.reads.into(),
                row.writes.into(),
                row.updates.into(),
            ]);
        }
    }
    Ok(sheet
        .table(table)
        .note("The paper says that its padded observation, its weights and its tiles have none.")
        .note(
            "An addition of a float in shared memory is a loop that one lane leaves at a time: 31 turns \
             where 32 lanes add to one sum.",
        ))
}

/// Mean error after every block.
pub fn errors(setup: &Setup, run: &mut Run<'_>, sheet: Sheet) -> Result<Sheet, Stop> {
    if !has_kernels(run.device()) {
        return Ok(sheet.left_out(format!("all: {NO_KERNELS}")));
    }
    run.expect(2);
    let n = match run.device().backend() {
        Backend::Simt => 1,
        _ if run.quick() => 8,
        _ => 64,
    };
    // Sums by atomic additions have other last bits each time: a replay compares errors within the bound of rounding, and verdicts.
    let agree = |recorded: &Vec<ErrorRow>, now: &Vec<ErrorRow>| {
        recorded.len() == now.len() && recorded.iter().zip(now).all(|(recorded, now)| recorded.agrees(now))
    };
    let network: Vec<ErrorRow> =
        run.near(&format!("errors: {n} positions"), |now| Ok(setup.study.errors(now.device, n)?), agree)?;
    let constant: Vec<ErrorRow> = run.near(
        &format!("errors: all weights 0.01, {n} positions"),
        |now| Ok(setup.study.constant_errors(now.device, n)?),
        agree,
    )?;
    let mut sheet = sheet;
    for (title, rows) in [("the network", network), ("all weights 0.01, no bias, no norm", constant)] {
        let mut table = Table::new(format!("against double precision, {}: {title}", positions(n)))
            .column("kernels")
            .column("after")
            .column("mean size")
            .column("mean error")
            .column("largest error")
            .column("atol 1e-5, rtol 1e-8")
            .column("atol 1e-8, rtol 1e-5");
        for row in rows {
            table.row([
                row.program.into(),
                row.after.into(),
                row.mean_size.into(),
                error(row.errors.mean),
                error(row.errors.largest),
                verdict(row.errors.within).into(),
                verdict(row.repository_verdict).into(),
            ]);
        }
        sheet = sheet.table(table);
    }
    let mut published = Table::new("published in the repository: mean errors against each other")
        .column("what")
        .column("CPU to GPU")
        .column("CPU to kernels")
        .column("GPU to kernels");
    let names = [
        "input kernel",
        "torso kernel",
        "output kernel",
        "torso kernel of Figure 5",
        "output kernel of Figure 5",
        "input layer",
        "torso layer",
        "output layer",
        "model",
    ];
    let errors = KERNEL_MEAN_ERRORS.into_iter().chain(SHARED_MEAN_ERRORS).chain(LAYER_MEAN_ERRORS);
    for (name, [a, b, c]) in names.into_iter().zip(errors.chain([MODEL_MEAN_ERRORS])) {
        published.row([name.into(), a.into(), b.into(), c.into()]);
    }
    Ok(sheet
        .table(published)
        .note(
            "The paper's verdict is atol 1e-5 and rtol 1e-8. Its repository calls allclose(a, b, 1e-5), \
             where the third argument is rtol: the last column.",
        )
        .note(
            "With all weights 0.01 and no norm a block multiplies its input by about a hundred: a mean error \
             of thousands is rounding of numbers of that size.",
        ))
}

/// An error behind norms.
pub fn growth(setup: &Setup, run: &mut Run<'_>, sheet: Sheet) -> Result<Sheet, Stop> {
    run.expect(1);
    let n = if run.quick() { 2 } else { 16 };
    let found: Growth = run.exact(&format!("growth: {n} positions"), |_| Ok(setup.study.growth(n)))?;
    let mut norms = Table::new(format!("a mean error of {MEAN_ERROR} on a convolution, {}", positions(n)))
        .column("convolution of")
        .column("behind its norm")
        .column("behind the rectifier")
        .digits("factor of the norm", 3)
        .digits("factor of norm and rectifier", 3)
        .digits("mean of |weight| / deviation", 3);
    for row in &found.norms {
        norms.row([
            row.conv.clone().into(),
            row.behind_norm.into(),
            row.behind_relu.into(),
            (row.behind_norm / MEAN_ERROR).into(),
            (row.behind_relu / MEAN_ERROR).into(),
            row.factor.into(),
        ]);
    }
    let mut blocks =
        Table::new(format!("a mean error of {MEAN_ERROR} on the first convolution, followed through the network"))
            .column("after")
            .column("mean error")
            .column("mean size")
            .digits("factor", 3);
    for row in &found.blocks {
        blocks.row([row.after.clone().into(), row.mean.into(), row.mean_size.into(), (row.mean / MEAN_ERROR).into()]);
    }
    let factors: Vec<f64> = found.norms.iter().map(|row| row.factor).collect();
    let doubled = found.norms.iter().filter(|row| row.behind_norm >= MEAN_ERROR_GROWTH * MEAN_ERROR).count();
    Ok(sheet.table(norms).table(blocks).note(format!(
        "The paper says that a mean error can grow by a factor of {MEAN_ERROR_GROWTH} or more behind batch \
         norm: behind {doubled} of {} norms of this network it does. A norm multiplies it by the mean of |weight| / \
         deviation, here by {:.3} to {:.3}.",
        factors.len(),
        statistics::least(&factors),
        statistics::most(&factors)
    )))
}

/// What equal weights hide.
pub fn mistakes(setup: &Setup, run: &mut Run<'_>, sheet: Sheet) -> Result<Sheet, Stop> {
    run.expect(1);
    let n = if run.quick() { 8 } else { 64 };
    let rows: Vec<MistakeRow> = run.exact(&format!("mistakes: {n} positions"), |now| {
        setup.study.mistakes(n, || now.go_on()).ok_or(Stop::Interrupted)
    })?;
    let mut table = Table::new(format!("largest change over {}, double precision", positions(n)))
        .column("mistake in every convolution")
        .column("weights")
        .column("first convolution by")
        .column("torso's by")
        .column("value by")
        .column("logits by");
    for row in rows {
        table.row([
            row.mistake.into(),
            row.weights.into(),
            row.first_conv.into(),
            row.torso_conv.into(),
            row.value.into(),
            row.policy_logits.into(),
        ]);
    }
    Ok(sheet.table(table).note(
        "The repository's tests have all weights 0.01 and no bias: none of these mistakes changes a number there.",
    ))
}

/// What is wrong, with what this network and this run have to say about it.
pub fn wrong(setup: &Setup, run: &mut Run<'_>, sheet: Sheet) -> Result<Sheet, Stop> {
    let mut table = Table::new("what is printed, and what is so")
        .column("location")
        .column("printed")
        .column("found")
        .column("evidence");
    let threads = times::threads_measured(run);
    for claim in claims() {
        let found = match &threads {
            Some(measured) if claim.printed == OF_320_THREADS => format!("{}: {measured}", claim.found),
            _ => claim.found,
        };
        table.row([claim.location.into(), claim.printed.into(), found.into(), claim.evidence.into()]);
    }
    let factors = setup.study.norm_factors();
    let sheet = sheet.table(table).note(format!(
        "The {} norms of this network multiply a mean error by {:.3} to {:.3}.",
        factors.len(),
        statistics::least(&factors),
        statistics::most(&factors)
    ));
    Ok(times::shared_sums_measured(setup, run)?.into_iter().fold(sheet, Sheet::note))
}
