//! Where the gap between 93.86 and 97.93 % comes from: the gradient averaged over the batch, or summed; and what it does not come from.

use warpplay::mlp::Reduction;

use super::lab::Lab;
use super::training::{Trained, Way};
use crate::experiment::statistics::{least, mean, most};
use crate::experiment::{Cell, Sheet, Stop, Table};
use crate::mnist_mlp::published::{BATCH, main_run};
use crate::mnist_mlp::{Accumulate, ColumnSums, Divide, Forms, LossForm, Matmul, Options, SoftmaxForm};

/// Accuracies nearer than this are alike, in points: more than twice as far as seeds move them in the first table.
const ALIKE: f64 = 0.5;

/// Seeds of the trainings that show how far first weights and orders move an accuracy.
const SEEDS: [u32; 3] = [1, 2, 3];

/// The sheet.
pub(super) fn sheet(sheet: Sheet, lab: &mut Lab<'_, '_>) -> Result<Sheet, Stop> {
    let sheet = switch(sheet, lab)?;
    suspects(sheet, lab)
}

/// One program, one switch.
fn switch(sheet: Sheet, lab: &mut Lab<'_, '_>) -> Result<Sheet, Stop> {
    let base = lab.main();
    lab.run.expect(2 * SEEDS.len() as u64 + 3);
    let mut table = Table::new("Gradient averaged over the batch or summed, the same program otherwise")
        .column("gradient")
        .column("learning rate")
        .column("seed")
        .column("what runs")
        .digits("loss", 5)
        .digits("accuracy, %", 2)
        .digits("published, %", 2)
        .column("published program");
    let (mut alike, mut differences) = (true, Vec::new());
    for (reduction, published, by) in
        [(Reduction::Mean, main_run::GPU_ACCURACY, "GPU"), (Reduction::Sum, main_run::CPU_ACCURACY, "CPU")]
    {
        let options = Options { reduction, ..base.clone() };
        let mut runs = Vec::new();
        for seed in SEEDS {
            runs.push((Way::CpuAll, Options { seed, ..options.clone() }));
        }
        runs.push((Way::Published, options));
        let mut apart = Vec::new();
        for (way, options) in runs {
            let Some(run) = lab.train(way, &options)? else { continue };
            alike &= run.outcome.accuracy().is_some_and(|found| (found - published).abs() < ALIKE);
            apart.extend(run.outcome.accuracy().map(|found| found - published));
            let cells: [Cell; 8] = [
                reduction.to_string().into(),
                options.learning_rate.into(),
                options.seed.into(),
                way.name().into(),
                run.outcome.loss().into(),
                run.outcome.accuracy().into(),
                published.into(),
                by.into(),
            ];
            table.row(cells);
        }
        if !apart.is_empty() {
            let (low, high) = (least(&apart), most(&apart));
            differences.push(format!("{reduction} {low:+.2} to {high:+.2} points from the {by}'s {published} %"));
        }
    }
    // A sum is a mean with a larger rate, but for the last batch, which is not full.
    let learning_rate = base.learning_rate * f64::from(BATCH);
    let larger = Options { learning_rate, ..base };
    if let Some(run) = lab.train(Way::CpuAll, &larger)? {
        let cells: [Cell; 8] = [
            Reduction::Mean.to_string().into(),
            learning_rate.into(),
            larger.seed.into(),
            Way::CpuAll.name().into(),
            run.outcome.loss().into(),
            run.outcome.accuracy().into(),
            main_run::CPU_ACCURACY.into(),
            "CPU".into(),
        ];
        table.row(cells);
    }
    let sheet = sheet.table(table);
    Ok(if !lab.comparable() {
        sheet
    } else {
        let verdict = if alike { "comes" } else { "does not come" };
        sheet.note(format!(
            "by this one switch one program {verdict} within {ALIKE} points of both published accuracies in all trainings of the first table but the last, which has another rate: {}",
            differences.join("; ")
        ))
    })
}

/// Order and type of the sums, form of softmax and product, where the division is, double precision.
fn suspects(sheet: Sheet, lab: &mut Lab<'_, '_>) -> Result<Sheet, Stop> {
    let (plain, base) = (Forms::default(), lab.main());
    let double = Accumulate::F64;
    let forms = [
        ("fixed order: tree sums, fused softmax, tiles", plain),
        ("as published", Forms::published()),
        ("column sums: atomic, one a value", Forms { column_sums: ColumnSums::Atomic, ..plain }),
        ("column sums: atomic, one a thread", Forms { column_sums: ColumnSums::AtomicThread, ..plain }),
        ("column sums: atomic, one a block", Forms { column_sums: ColumnSums::AtomicBlock, ..plain }),
        ("column sums: warp shuffles", Forms { column_sums: ColumnSums::Warp, ..plain }),
        ("softmax and gradient apart", Forms { softmax: SoftmaxForm::Separate, ..plain }),
        ("plain product", Forms { matmul: Matmul::Plain, ..plain }),
        ("loss added atomically", Forms { loss: LossForm::Atomic, ..plain }),
        ("mean taken in the update", Forms { divide: Divide::Update, ..plain }),
        ("sums in f64, rounded once", Forms { accumulate: double, ..plain }),
    ];
    let cpu = [("f32 throughout", Way::CpuAll), ("f64 throughout", Way::CpuDouble)];
    let mut all: Vec<(&str, Way, Options)> = cpu.map(|(name, way)| (name, way, base.clone())).into();
    all.extend(forms.map(|(name, forms)| (name, Way::Published, Options { forms, ..base.clone() })));
    let mut table = Table::new(
        "What rounding does: gradient averaged; forms whose additions come in any order are trained several times",
    )
    .column("form")
    .column("what runs")
    .column("trainings")
    .digits("loss", 8)
    .column("its spread, relative")
    .digits("accuracy, %", 3)
    .digits("its spread, points", 3)
    .digits("against the first, points", 3);
    let (mut first, mut furthest) = (None, None::<f64>);
    for (name, way, options) in all {
        // What adds up in a fixed order is the same each time by construction.
        let n = if way == Way::Published && !options.forms.is_exact() { lab.repeats } else { 1 };
        lab.run.expect(u64::from(n));
        let mut runs: Vec<Trained> = Vec::new();
        for number in 1..=n {
            runs.extend(lab.train_number(way, &options, number)?);
        }
        let losses: Vec<f64> = runs.iter().filter_map(|run| run.outcome.loss()).collect();
        let accuracies: Vec<f64> = runs.iter().filter_map(|run| run.outcome.accuracy()).collect();
        if losses.is_empty() || accuracies.is_empty() {
            continue;
        }
        let (loss, accuracy) = (mean(&losses), mean(&accuracies));
        let against = accuracy - *first.get_or_insert(accuracy);
        furthest = Some(furthest.unwrap_or(0.0).max(against.abs()));
        let cells: [Cell; 8] = [
            name.into(),
            way.name().into(),
            runs.len().into(),
            loss.into(),
            spread(&losses).map(|spread| spread / loss).into(),
            accuracy.into(),
            spread(&accuracies).into(),
            against.into(),
        ];
        table.row(cells);
    }
    let sheet = sheet.table(table);
    Ok(match furthest {
        Some(furthest) => sheet.note(format!(
            "the largest difference is {furthest:.3} points; the published gap is {:.2}",
            main_run::CPU_ACCURACY - main_run::GPU_ACCURACY
        )),
        None => sheet,
    })
}

/// Largest less smallest, of at least two.
fn spread(values: &[f64]) -> Option<f64> {
    (values.len() > 1).then(|| most(values) - least(values))
}
