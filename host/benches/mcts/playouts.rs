//! Playouts without a tree, and how near to them the playout stage of a search comes.

use serde_json::json;
use warpplay::mcts::{Connect4, Gomoku, KernelSet, Notation, RawPlayouts, RawReport, RawShape, Search, Variant};
use warpplay::{Progress, Result};

use crate::measure::{Bench, Config, Repeats};
use crate::output::{Table, number, percent};
use crate::published::{GameId, STAGE_TO_RAW, ceilings};

const SEED: u64 = 0;
/// Trees and playouts of the stage that is compared.
const STAGE: (u32, u32) = (512, 512);

/// Blocks, threads of a block, games of a thread.
type Grid = (u32, u32, u32);

const CONNECT4_GRIDS: [Grid; 8] = [
    (132, 256, 64),
    (1056, 256, 1),
    (1056, 256, 16),
    (2112, 128, 16),
    (2112, 256, 16),
    (528, 512, 16),
    (2112, 512, 8),
    // As many as the stage that is compared.
    (3584, 512, 1),
];
const GOMOKU_GRIDS: [Grid; 7] =
    [(132, 256, 16), (264, 256, 8), (528, 128, 8), (1056, 64, 8), (2112, 32, 8), (1056, 256, 4), (132, 512, 8)];

pub fn run(bench: &mut Bench) -> anyhow::Result<()> {
    if !bench.has_gpu() {
        return bench.output.text("\nPLAYOUTS are left out: no GPU is used.\n");
    }
    let mut raw = Table::new(
        "PLAYOUTS without a tree from the empty board (device time; fastest and median repeat)",
        3,
        &[
            "game",
            "grid",
            "restart",
            "games a thread",
            "ms: min, median",
            "games/s",
            "median",
            "plies/s",
            "plies a game",
            "of the ceilings",
        ],
    );
    let mut stage = Table::new(
        &format!(
            "PLAYOUT STAGE of a search, acp_prodigal, T = {}, m = {} (device time; aim: at most {STAGE_TO_RAW})",
            STAGE.0, STAGE.1
        ),
        1,
        &[
            "game",
            "playouts a step",
            "ms: min, median",
            "playouts/s",
            "median",
            "raw games/s",
            "raw/stage",
            "of the ceilings",
        ],
    );
    game::<Connect4>(bench, GameId::Connect4, &CONNECT4_GRIDS, &mut raw, &mut stage)?;
    game::<Gomoku>(bench, GameId::Gomoku, &GOMOKU_GRIDS, &mut raw, &mut stage)?;
    for id in [GameId::Connect4, GameId::Gomoku] {
        for (index, (what, figure)) in ceilings(id).iter().enumerate() {
            raw.note(format!("Ceiling {} of {}: {} playouts/s, {what}.", index + 1, id.name(), number(*figure)));
        }
    }
    raw.note("Restart: a lane begins its next game alone, or together with its warp.".to_string());
    stage.note("Games of the stage begin one to three plies after those without a tree.".to_string());
    raw.print(&mut bench.output)?;
    stage.print(&mut bench.output)
}

fn shares(id: GameId, per_second: f64) -> String {
    let shares: Vec<String> = ceilings(id).iter().map(|(_, ceiling)| percent(per_second / ceiling)).collect();
    shares.join(", ")
}

fn game<G: KernelSet + Notation>(
    bench: &mut Bench,
    id: GameId,
    grids: &[Grid],
    raw_table: &mut Table,
    stage_table: &mut Table,
) -> anyhow::Result<()> {
    let repeats = if bench.quick { 3 } else { 9 };
    let playouts = match RawPlayouts::<G>::new(&bench.device) {
        Ok(playouts) => playouts,
        Err(error) => {
            let cell = bench.output.failed(&error);
            raw_table.row(vec![id.name().to_string(), cell]);
            return Ok(());
        }
    };
    let mut best: f64 = 0.0;
    // A single game has nothing to restart.
    let shapes = grids.iter().flat_map(|&grid| [(grid, false), (grid, true)]);
    for (grid, restart) in shapes.filter(|(grid, restart)| !restart || grid.2 > 1) {
        let name = [
            id.name().to_string(),
            format!("{} x {}", grid.0, grid.1),
            (if restart { "lane" } else { "warp" }).to_string(),
        ];
        bench.output.progress(&format!("raw playouts {} {grid:?}", id.name()));
        match raw(&playouts, grid, restart, repeats) {
            Ok(Some((report, ms))) => {
                let per_second = report.games as f64 / ms.min * 1e3;
                let median = report.games as f64 / ms.median * 1e3;
                let plies = report.plies as f64 / report.games as f64;
                best = best.max(per_second);
                bench.output.json(&json!({
                    "section": "playouts", "game": id.name(), "blocks": grid.0, "threads": grid.1, "games_a_thread": grid.2, "restart": restart,
                    "ms": ms, "report": report, "games_per_second": per_second, "median_games_per_second": median,
                    "plies_per_second": per_second * plies,
                }))?;
                let cells = [
                    grid.2.to_string(),
                    ms.text(1.0),
                    number(per_second),
                    number(median),
                    number(per_second * plies),
                    number(plies),
                    shares(id, per_second),
                ];
                raw_table.row(name.into_iter().chain(cells).collect());
            }
            Ok(None) => {}
            Err(error) => {
                let cell = bench.output.failed(&error);
                raw_table.row(name.into_iter().chain([cell]).collect());
            }
        }
    }
    bench.output.progress(&format!("playout stage {}", id.name()));
    match stage::<G>(bench, id, repeats) {
        Ok(Some((playouts, ms))) => {
            let per_second = playouts / ms.min * 1e3;
            let median = playouts / ms.median * 1e3;
            bench.output.json(&json!({
                "section": "playout_stage", "game": id.name(), "trees": STAGE.0, "playouts": STAGE.1, "playouts_a_step": playouts,
                "ms": ms, "playouts_per_second": per_second, "median_playouts_per_second": median,
                "best_raw_games_per_second": best, "raw_to_stage": best / per_second,
            }))?;
            stage_table.row(vec![
                id.name().to_string(),
                number(playouts),
                ms.text(1.0),
                number(per_second),
                number(median),
                number(best),
                number(best / per_second),
                shares(id, per_second),
            ]);
        }
        Ok(None) => {}
        Err(error) => {
            let cell = bench.output.failed(&error);
            stage_table.row(vec![id.name().to_string(), cell]);
        }
    }
    Ok(())
}

/// Games of one grid: what they gave, and the device's milliseconds.
fn raw<G: KernelSet + Notation>(
    playouts: &RawPlayouts<G>,
    grid: Grid,
    restart: bool,
    repeats: usize,
) -> Result<Option<(RawReport, Repeats)>> {
    let (blocks, threads, n_games) = grid;
    let mut last = None;
    let mut ms = Vec::new();
    for repeat in 0..repeats {
        let shape = RawShape { blocks, threads, n_games, restart, warm_up: repeat == 0 };
        let report = playouts.run(&G::start(), shape, SEED)?;
        ms.push(report.ms);
        last = Some(report);
    }
    Ok(last.zip(Repeats::of(ms)))
}

/// The playout stage: playouts of a step, and the device's milliseconds for it.
fn stage<G: KernelSet + Notation>(bench: &Bench, id: GameId, repeats: usize) -> Result<Option<(f64, Repeats)>> {
    /// Few, so that no tree is so deep that its games are much shorter.
    const STEPS: u32 = 4;
    let config = Config::new(id, Variant::AcpProdigal, STAGE.0, STAGE.1, 1.0);
    let mut search: Search<G> =
        bench.builder::<G>(&config).no_seconds().steps(u64::from(STEPS) + 1).build(&bench.device)?;
    let mut ms = Vec::new();
    for _ in 0..repeats {
        ms.push(search.profile(&G::start(), STEPS)?.playout_ms);
    }
    // The profile leaves its first step out. The same seed gives the same steps, so their playouts can be counted.
    let all = search.run(&G::start(), Progress::go_on)?.performance.playouts;
    let playouts = (all - config.first_step()) as f64 / f64::from(STEPS);
    Ok(Repeats::of(ms).map(|ms| (playouts, ms)))
}
