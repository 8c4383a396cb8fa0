//! The lines that the paper's program prints.

use super::super::published::{
    CPU_SECONDS, EVALUATIONS, GPU_SECONDS, PROGRESS, memory, progress_faults, progress_run, step_at,
};
use super::{Repetition, data, values};
use crate::experiment::{Cell, Item, Run, Sheet, Stop, Table};
use warpplay::Device;
use warpplay::shogi::material::Material;
use warpplay::shogi::{Row, Shard};

/// L N S G B R +P +L +N +S +B +R, as the paper heads its columns.
const COLUMNS: [&str; 12] = ["香", "桂", "銀", "金", "角", "飛", "と", "杏", "圭", "全", "馬", "龍"];

/// What was learnt: children, rows.
type Found = (u64, Vec<Row>);

pub(super) fn sheet(paper: &Repetition<'_>, item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    run.expect(1);
    let ((children, rows), seconds): (Found, f64) = run.both("progress: ten updates", |now| {
        now.check()?;
        let shards = data::part(&paper.shards, progress_run::GAMES, progress_run::PLIES)?;
        let lent: Vec<&Shard> = shards.iter().collect();
        let start = std::time::Instant::now();
        let builder = Material::builder(lent.as_slice()).objective(paper.settings.objective);
        let mut material = builder.iterations(PROGRESS.len() as u32 - 1).build(&Device::cpu())?;
        let rows = values::rows(&mut material, now)?;
        Ok(((material.children(), rows), start.elapsed().as_secs_f64()))
    })?;
    let head = |title: &str| {
        let table = Table::new(title).column("update").digits("J", 6);
        COLUMNS.iter().fold(table, |table, &name| table.digits(name, 2))
    };
    let line = |number: usize, j: f64, values: [f64; 12]| {
        [Cell::from(number), j.into()].into_iter().chain(values.map(Cell::from)).collect::<Vec<_>>()
    };
    let (mut published, mut ours) = (head("published"), head("ours"));
    for (number, line_) in PROGRESS.iter().enumerate() {
        published.row(line(number, line_.j, line_.values));
    }
    for (number, row) in rows.iter().enumerate() {
        ours.row(line(number, row.j, row.values));
    }
    let mut steps = Table::new("the steps between the lines")
        .column("update")
        .digits("0.3 · 0.97ᵏ", 5)
        .digits("published, least", 2)
        .digits("published, most", 2)
        .digits("ours, least", 5)
        .digits("ours, most", 5);
    let between = |before: &[f64; 12], after: &[f64; 12]| {
        let sizes = before.iter().zip(after).map(|(before, after)| (after - before).abs());
        sizes.fold([f64::INFINITY, 0.0], |[least, most]: [f64; 2], size| [least.min(size), most.max(size)])
    };
    for (update, (theirs, rows)) in PROGRESS.windows(2).zip(rows.windows(2)).enumerate() {
        let ([low, high], [least, most]) =
            (between(&theirs[0].values, &theirs[1].values), between(&rows[0].values, &rows[1].values));
        let step = step_at(update as u32);
        steps.row([update.into(), step.into(), low.into(), high.into(), least.into(), most.into()]);
    }
    let faults = progress_faults(&PROGRESS);
    let note = match faults.len() {
        0 => "All 120 published steps are v ∓ 0.3 · 0.97ᵏ, to the rounding of two places.".to_string(),
        n => format!("{n} of 120 published steps are not v ∓ 0.3 · 0.97ᵏ: {faults:?}."),
    };
    // A line takes thirteen evaluations of every position.
    let evaluations = progress_run::CHILDREN as f64 * 13.0 * PROGRESS.len() as f64;
    let rate = evaluations / progress_run::SECONDS;
    Ok(Sheet::new(item)
        .table(published)
        .table(ours)
        .table(steps)
        .note(note)
        .note(format!(
            "Published: {} positions of {} games, {} s, {} MB; ours: {children} positions, {seconds:.3} s by the histogram. The games are others, so that values differ.",
            progress_run::CHILDREN, progress_run::GAMES, progress_run::SECONDS, progress_run::MEGABYTES
        ))
        .note(format!(
            "The published time is {:.1} million evaluations a second: {:.2} times the rate of Table 6's core and 1/{:.1} of its GPU's. The lines stand below the call of the CUDA program, but fit the CPU's rate. {:.0} bytes a position are not the {} that the text counts.",
            rate / 1e6,
            rate / (EVALUATIONS / CPU_SECONDS),
            EVALUATIONS / GPU_SECONDS / rate,
            progress_run::MEGABYTES * 1e6 / progress_run::CHILDREN as f64,
            memory::WHOLE
        )))
}
