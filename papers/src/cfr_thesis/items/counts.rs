//! Table 2, and the tables of memory.

use warpplay::Device;
use warpplay::cfr::engines::walk::{Information, Sampler};
use warpplay::cfr::{Counts, GameDef};

use super::thesis::Thesis;
use super::times::printed;
use crate::cfr_thesis::kernels::sequence::Deal;
use crate::cfr_thesis::launch::DEALS;
use crate::cfr_thesis::options::{Options, Program};
use crate::cfr_thesis::published::{Parameters, Variant};
use crate::cfr_thesis::statistics::is_rounded;
use crate::experiment::{Cell, Item, Run, Sheet, Stop, Table};

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
    let mut sheet = Sheet::new(item).table(parameters(thesis)?).table(table).table(sets);
    if thesis.has(Variant::D) {
        sheet = sheet.note("Levels of A to C are those where somebody acts; the 30 of D are with the last, where every line has ended, and so is its average.");
    }
    Ok(sheet
        .note("An empty cell: the text does not give the number. The games of our definitions have the counts of Table 2, C with four raises.")
        .note("A bucket is the set of a player's cards and the board without their order: it does not tell the player's cards from the board's."))
}

/// The parameters of the games as sections 5.1 to 5.4 have them, beside those of our definitions.
fn parameters(thesis: &Thesis) -> Result<Table, Stop> {
    let games: Vec<(Variant, GameDef)> = thesis
        .settings
        .variants
        .iter()
        .map(|&variant| Ok((variant, variant.game()?)))
        .collect::<warpplay::Result<_>>()?;
    let mut table = Table::new("parameters of the games, sections 5.1 to 5.4, pp. 36 to 41").column("parameter");
    for (variant, _) in &games {
        let letter = variant.letter();
        table = table.column(format!("{letter}, printed")).column(format!("{letter}, ours"));
    }
    type Of<T> = fn(&T) -> Option<u32>;
    let rows: [(&str, Of<Parameters>, Of<GameDef>); 8] = [
        ("players", |theirs| Some(theirs.players), |game| Some(game.n_players as u32)),
        ("rounds", |theirs| Some(theirs.rounds), |game| Some(game.n_rounds as u32)),
        ("cards of the deck", |theirs| Some(theirs.cards), |game| Some(game.deck.n_cards())),
        ("suits", |theirs| theirs.suits_and_ranks.map(|[suits, _]| suits), |game| Some(game.deck.n_suits.into())),
        ("ranks", |theirs| theirs.suits_and_ranks.map(|[_, ranks]| ranks), |game| Some(game.deck.n_ranks.into())),
        ("cards of a player", |theirs| Some(theirs.hole_cards), |game| Some(game.n_hole_cards as u32)),
        (
            "cards of the board",
            |theirs| Some(theirs.board_cards),
            |game| Some(game.n_board_cards.iter().sum::<usize>() as u32),
        ),
        (
            "most raises: printed, of each player; ours, of all together",
            |theirs| theirs.raises,
            |game| game.max_raises.first().copied(),
        ),
    ];
    for (what, printed, ours) in rows {
        let mut cells: Vec<Cell> = vec![what.into()];
        for (variant, game) in &games {
            cells.extend([Cell::from(printed(variant.parameters())), Cell::from(ours(game))]);
        }
        table.row(cells);
    }
    Ok(table)
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
    sheet = sheet.note("The paper does not say what its KB count on the CPU; A's 1,348 KB for 16 sets suggest the whole process. Of the GPU's program they are the device's. Ours are the bytes that a program asks for.");
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
