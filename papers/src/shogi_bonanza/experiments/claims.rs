//! What the text says beside its tables.

use super::super::PaperEngine;
use super::super::published::{ABOUT, GPU_RATIO, KINDS, TABLE7, conditions};
use super::float::{self, Floats};
use super::{Repetition, data, stages, times, values};
use crate::experiment::{Item, Run, Sheet, Stop, Table};
use std::time::Instant;
use warpplay::shogi::{FIRST_VALUES, FeatureSet, Loss, Shard, Sparse, SparseOptions};
use warpplay::{Backend, Device};

/// Parents for the ratio with more terms.
const PARENTS: usize = 4000;
/// The same with `--quick`.
const QUICK: usize = 100;

/// The least time of three passes; `check` is asked before each.
fn pass(
    device: &Device,
    threads: Option<usize>,
    features: FeatureSet,
    shard: &Shard,
    mut check: impl FnMut() -> Result<(), Stop>,
) -> Result<f64, Stop> {
    let options = SparseOptions { threads, ..SparseOptions::default() };
    let mut sparse = Sparse::builder(features).options(options).build(device)?;
    sparse.set_weights(&features.weights_of(&FIRST_VALUES))?;
    check()?;
    // The first pass copies the positions, which is not measured.
    sparse.pass(&[shard], &Loss::default(), false)?;
    let mut least = f64::INFINITY;
    for _ in 0..3 {
        check()?;
        let start = Instant::now();
        sparse.pass(&[shard], &Loss::default(), false)?;
        least = least.min(start.elapsed().as_secs_f64());
    }
    Ok(least)
}

pub(super) fn sheet(paper: &Repetition<'_>, item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    let has_gpu = run.device().backend() == Backend::Cuda;
    let moves = (paper.children() - paper.parents()) as f64 / paper.parents().max(1) as f64;
    let cpu = times::timed(paper, run, PaperEngine::Paper, Some(1))?;
    let gpu = if has_gpu { Some(times::timed(paper, run, PaperEngine::Paper, None)?) } else { None };
    let stages = stages::of(paper, run)?;
    run.expect(1);
    let floats: Floats = run.exact("claims: single precision", |now| {
        float::measure(&paper.shards, &FIRST_VALUES, &paper.settings.objective, || now.check())
    })?;
    let [low, high] = conditions::FIRST_VALUES;
    let courses = [values::course(paper, run, low)?, values::course(paper, run, high)?];
    let ends = courses.map(|rows| rows.last().map_or(FIRST_VALUES, |row| row.values));
    let apart = |kind: usize| (ends[0][kind - 1], ends[1][kind - 1]);
    let (worst, percent) = values::largest(apart);
    let (_, published) = values::largest(|kind| (f64::from(TABLE7[0][kind]), f64::from(TABLE7[1][kind])));
    let mut table = Table::new("claims").column("what").column("published").column("ours");
    table.row([
        "legal moves of a position on average (section 2)".into(),
        conditions::LEGAL_MOVES.into(),
        moves.into(),
    ]);
    table.row([
        "positions a parent: legal moves and the played one once more (equation 6)".into(),
        (conditions::LEGAL_MOVES + 1.0).into(),
        (paper.children() as f64 / paper.parents().max(1) as f64).into(),
    ]);
    for (location, stages) in &stages {
        let share = 100.0 * stages.evaluate / (stages.evaluate + stages.sum);
        table.row([
            format!("share of the time that values of positions take, {location}, %").into(),
            "most".into(),
            share.into(),
        ]);
    }
    table.row([
        "a GPU against one core, the paper's programs (Table 6)".into(),
        format!("about {ABOUT}, printed {GPU_RATIO}").into(),
        gpu.map(|gpu| gpu.rate / cpu.rate).into(),
    ]);
    table.row([
        "largest difference of the values from 3 and from 5, %".into(),
        published.into(),
        format!("{percent:.1} ({})", KINDS[worst]).into(),
    ]);
    let gold = 4;
    table.row([
        "promoted pawn against gold, which moves alike".into(),
        (f64::from(TABLE7[0][7]) / f64::from(TABLE7[0][gold])).into(),
        (ends[0][6] / ends[0][gold - 1]).into(),
    ]);
    let mut sums = Table::new("error of J where terms are in single precision").column("sum").digits("error", 12);
    for (what, error) in [
        ("one term after the other", floats.one_by_one),
        ("blocks of 512, their sums in single precision", floats.blocks),
        ("blocks of 512, their sums in double precision (the paper's)", floats.blocks_in_double),
        ("smallest difference that decides a sign, first update", floats.least_difference),
    ] {
        sums.row([what.into(), error.into()]);
    }
    let sets = [
        FeatureSet::Material,
        FeatureSet::PieceSquare,
        FeatureSet::KingPiece,
        FeatureSet::KingKingPiece,
        FeatureSet::KingPiecePiece,
    ];
    let shard = data::first(&paper.shards, if run.quick() { QUICK } else { PARENTS })?;
    run.expect(sets.len() as u64 * (2 + u64::from(has_gpu)));
    let mut terms = Table::new(format!("evaluation of {} positions with more terms", shard.n_children()))
        .column("features")
        .column("weights")
        .digits("one core, s", 6)
        .digits("all cores, s", 6)
        .digits("GPU, s", 6)
        .digits("one core / GPU", 1)
        .digits("all cores / GPU", 1);
    let cpu_device = Device::cpu();
    let mut ratios = Vec::new();
    for features in sets {
        let mut on = |name: &str, threads: Option<usize>, on_gpu: bool| {
            run.timed(&format!("claims: {features} on {name}"), |now| {
                let device = if on_gpu { now.device } else { &cpu_device };
                pass(device, threads, features, &shard, || now.check())
            })
        };
        let one: f64 = on("one core", Some(1), false)?;
        let all: f64 = on("all cores", paper.settings.threads, false)?;
        let gpu: Option<f64> = if has_gpu { Some(on("the device", None, true)?) } else { None };
        ratios.extend(gpu.map(|gpu| all / gpu));
        terms.row([
            features.to_string().into(),
            features.len().into(),
            one.into(),
            all.into(),
            gpu.into(),
            gpu.map(|gpu| one / gpu).into(),
            gpu.map(|gpu| all / gpu).into(),
        ]);
    }
    let compared = match &ratios[..] {
        // With a single thread "all cores" are the sequential program too.
        [_, ..] if paper.settings.threads != Some(1) => {
            let ratios: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.1}")).collect();
            format!(
                " Of the same algorithm the ratio is {} in the order of the rows; the paper expects it to grow with the terms.",
                ratios.join(", ")
            )
        }
        _ => " The paper expects the ratio to grow with the terms.".into(),
    };
    let mut sheet = Sheet::new(item)
        .table(table)
        .table(sums)
        .table(terms)
        .note(format!("The paper's function returns J in single precision, whose unit there is 3·10⁻⁸: {} of the twelve signs of the first update are lost by that on these positions.", floats.signs_lost))
        .note("What a sum in single precision loses is the low digits of small terms added to a large sum, not digits that cancel, as the comment in Table 3 says.")
        .note(format!("The last table is the engine of warpplay for sparse features. One core adds every list whole, all cores and the GPU only what changes.{compared}"));
    if !has_gpu {
        sheet = sheet.left_out(format!("the GPU's columns: {} has none", run.device()));
    }
    Ok(sheet)
}
