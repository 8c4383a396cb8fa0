//! Table 2, and the tables of memory.

use warpplay::Device;
use warpplay::cfr::Counts;
use warpplay::cfr::engines::walk::{Information, Sampler};

use super::thesis::Thesis;
use super::times::printed;
use crate::cfr_thesis::kernels::sequence::Deal;
use crate::cfr_thesis::launch::DEALS;
use crate::cfr_thesis::options::{Options, Program};
use crate::cfr_thesis::published::Variant;
use crate::cfr_thesis::statistics::is_rounded;
use crate::experiment::{Item, Run, Sheet, Stop, Table};

/// Bytes of a kilobyte, as operating systems tell them.
pub(super) const KB: f64 = 1024.0;

/// Table 2: the printed counts beside ours.
pub fn table2(thesis: &Thesis, item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    run.expect(thesis.settings.variants.len() as u64);
    let mut table = Table::new("counts of the betting trees")
        .column("variant")
        .column("sequences, printed")
        .column("sequences, ours")
        .column("buckets, printed")
        .column("buckets, ours")
        .column("sequences × buckets, printed")
        .column("sequences × buckets, ours")
        .column("levels, printed")
        .column("levels, ours")
        .column("levels with the last, ours")
        .column("sequences a level, printed")
        .digits("sequences a level, ours", 6)
        .digits("sequences a level with the last, ours", 6);
    let mut sets = Table::new("information sets: what a player can tell apart")
        .column("variant")
        .column("sequences × buckets")
        .column("with cards and board apart")
        .digits("times as many", 2);
    for &variant in &thesis.settings.variants {
        let game = variant.game()?;
        let key = format!("{} counts", variant.letter());
        let counts: Counts = run.exact(&key, |_| Ok(Counts::of(&game)?))?;
        let theirs = variant.counts();
        table.row([
            variant.letter().into(),
            theirs.sequences.into(),
            counts.sequences.into(),
            theirs.buckets.into(),
            counts.buckets.into(),
            theirs.information_sets.into(),
            counts.thesis_information_sets.into(),
            theirs.levels.into(),
            counts.levels.into(),
            counts.levels_with_last.into(),
            printed(theirs.per_level),
            counts.average_sequences_per_level.into(),
            counts.average_sequences_with_last.into(),
        ]);
        sets.row([
            variant.letter().into(),
            counts.thesis_information_sets.into(),
            counts.information_sets.into(),
            (counts.information_sets as f64 / counts.thesis_information_sets as f64).into(),
        ]);
    }
    let mut sheet = Sheet::new(item).table(table).table(sets);
    if thesis.has(Variant::D) {
        sheet = sheet.note("Levels of A to C are those where somebody acts; the 30 of D are with the last, where every line has ended, and so is its average.");
    }
    Ok(sheet.note("A bucket is the set of a player's cards and the board without their order: it does not tell the player's cards from the board's."))
}

/// Tables 3 to 6: printed memory beside what our programs take.
pub fn memory(thesis: &Thesis, item: &Item, variant: Variant, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    if let Some(sheet) = thesis.not_asked(item, variant) {
        return Ok(sheet);
    }
    let (theirs, counts) = (variant.memory(), variant.counts());
    let plan = thesis.plan(variant)?;
    let of = |program| {
        let memory = plan.memory(&Options { program, ..thesis.settings.options });
        memory.device().saturating_add(memory.host()) as f64 / KB
    };
    let programs = [Program::Recursive, Program::Iterative, Program::Levels];
    run.expect(1);
    // A computation, kept so that a replay compares it.
    let ours: Vec<f64> = run.exact(&format!("{} memory", variant.letter()), |_| Ok(programs.map(of).to_vec()))?;
    // Variant A takes less than a kilobyte: with fewer digits its percentages could not be checked.
    let digits = if ours.iter().any(|&kb| kb < 100.0) { 5 } else { 0 };
    let mut table = Table::new("memory, KB of 1,024 bytes")
        .column("program")
        .digits("printed", 0)
        .digits("difference from recursive, %, printed", 2)
        .digits("the same from the printed KB", 2)
        .digits("ours", digits)
        .digits("difference from recursive, %, ours", 2);
    for (at, program) in programs.into_iter().enumerate() {
        let percent = |kb: &[f64]| 100.0 * (kb[at] / kb[0] - 1.0);
        table.row([
            program.label().into(),
            theirs.kb[at].into(),
            theirs.percent[at].into(),
            percent(&theirs.kb).into(),
            ours[at].into(),
            percent(&ours).into(),
        ]);
    }
    let tables = (counts.information_sets * 2 * 3) as f64 / KB;
    let mut parts = Table::new("for comparison, KB of 1,024 bytes").column("what").digits("KB", digits);
    parts.row([
        "the arrays of section 4.2.2 (averages and regrets, 3 actions) alone, single precision".into(),
        (tables * 4.0).into(),
    ]);
    parts.row(["the same arrays alone, double precision".into(), (tables * 8.0).into()]);
    let walk = Sampler::memory_of(
        &Device::simt(),
        &plan.game,
        &Information::Unordered,
        &warpplay::cfr::Options { sampling: warpplay::cfr::Sampling::Chance, ..warpplay::cfr::Options::default() },
    )?;
    parts.row([
        "our engine walk where kernels run, many deals at once: these arrays and all others, single precision".into(),
        (walk.device() as f64 / KB).into(),
    ]);
    let agrees = theirs
        .percent
        .iter()
        .zip(&theirs.kb)
        .all(|(printed, kb)| is_rounded(*printed, 100.0 * (kb / theirs.kb[0] - 1.0), 2));
    let mut sheet = Sheet::new(item).table(table).table(parts);
    sheet = sheet.note(format!(
        "The printed percentages {} from the printed KB.",
        if agrees { "follow" } else { "do not all follow" }
    ));
    sheet = sheet.note("Printed KB are those of the whole process, of the GPU's program those of the device; ours are the bytes that a program asks for.");
    sheet = sheet.note(format!(
        "{} KB of the GPU's program are room for {DEALS} deals in global memory. With constant memory a deal is a parameter of each launch, and the room is not read.",
        DEALS * size_of::<Deal>() / 1024
    ));
    let left = theirs.kb[0] - tables * 8.0;
    let single = theirs.kb[0] - tables * 4.0;
    sheet = sheet.note(match (single < 0.0, left < 0.0) {
        (true, _) => "The printed KB of the recursive program are fewer than both tables in single precision.".to_string(),
        (_, true) => format!(
            "The recursive program's printed KB are enough for both tables in single precision, with {single:.0} KB beside them, and not enough for both in double precision."
        ),
        _ => format!(
            "The recursive program's printed KB are {left:.0} more than both tables in double precision, {single:.0} more than in single precision."
        ),
    });
    if variant == Variant::B {
        sheet = sheet.note("The GPU's program needs every array of the CPU's: its reduction means that the CPU's has values of another size or arrays that are not described.");
    }
    Ok(sheet)
}
