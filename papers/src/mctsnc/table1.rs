//! Table 1 and Listing 1: the kernels, their shapes and complexities beside ours, and the time of each stage. Table C.4: the parameters.

use warpplay::mcts::{BlockSizes, Connect4, Game, Gomoku, KernelSet, Notation, Options as SearchOptions, Variant};

use super::options::{Options, Purpose, shrunk};
use super::published::kernels::{Grid, Kernel, TABLE_1, Threads, threads};
use super::published::parameters::{TABLE_C4, ours};
use super::published::printout;
use super::searches::search;
use crate::experiment::{Cell, Item, Run, Sheet, Stop, Table};

/// T and m of the shapes that are written out.
const SHAPE: (u32, u32) = (4, 256);

/// Blocks as the table has them, with their number for a game.
fn grid<G: Game>(grid: Grid) -> String {
    let (trees, actions) = (SHAPE.0, G::MAX_ACTIONS);
    match grid {
        Grid::One => "1".into(),
        Grid::Trees => format!("T = {trees}"),
        Grid::Expanded => "A".into(),
        Grid::TreesActions => format!("(T, B) = {}", trees * actions),
        Grid::RootActions => "root actions".into(),
        Grid::Actions => format!("B = {actions}"),
    }
}

/// Threads of a block of ours, of the kernel that stands for one of the paper's.
fn our_threads<G: Game>(kernel: &Kernel) -> u32 {
    let blocks = BlockSizes::listing_1::<G>(SHAPE.0);
    match kernel.threads {
        Threads::Reset => blocks.reset,
        Threads::Select => blocks.select,
        Threads::Expand1 => blocks.expand_1,
        Threads::Expand2 => blocks.expand_2,
        Threads::Backup1 => blocks.backup_1,
        Threads::Backup2 => blocks.backup_2,
        Threads::OverTrees => blocks.reduce_over_trees,
        Threads::OverActions => blocks.reduce_over_actions,
        Threads::ActionsAndTwo => warpplay_gpu::mcts::expand::shape_memorize::<G>(blocks.expand_1).block[0],
        Threads::Playouts => SHAPE.1,
    }
}

/// The paper's threads, of its board of bytes.
fn their_threads<G: Game>(kernel: &Kernel) -> u32 {
    threads(kernel.threads, G::BOARD.0 * G::BOARD.1, G::MAX_ACTIONS, SHAPE.0, SHAPE.1)
}

/// Stage times of one variant.
fn times<G: KernelSet + Notation>(
    run: &mut Run<'_>,
    options: &Options,
    purpose: Purpose,
    variant: Variant,
) -> Result<Vec<Cell>, Stop> {
    let quick = run.quick();
    let [n_trees, n_playouts] = shrunk([SHAPE.0, SHAPE.1], quick);
    let search_options: SearchOptions =
        options.search(variant, n_trees, n_playouts, options.size(purpose, quick).limits);
    let key = format!("Table 1 {} {variant}", G::NAME);
    let (result, timed) = search(run, &key, &G::start(), &search_options, false)?;
    let ms = timed.ms;
    Ok(vec![
        G::NAME.into(),
        variant.to_string().into(),
        format!("{n_trees}, {n_playouts}").into(),
        (ms.loop_ / result.steps as f64).into(),
        ms.mean_select.into(),
        ms.mean_expand.into(),
        ms.mean_playout.into(),
        ms.mean_backup.into(),
        ms.reduce_over_trees.into(),
        ms.reduce_over_actions.into(),
        timed.engine.to_string().into(),
    ])
}

/// Table 1.
pub(super) fn sheet(item: &Item, run: &mut Run<'_>, options: &Options) -> Result<Sheet, Stop> {
    let mut kernels = Table::new(format!(
        "kernels with T = {} and m = {}: blocks, and threads of a block for Connect 4 and Gomoku, published and ours",
        SHAPE.0, SHAPE.1
    ));
    for head in [
        "stage",
        "kernel",
        "blocks, Connect 4",
        "blocks, Gomoku",
        "complexity",
        "threads, Connect 4",
        "threads, Gomoku",
    ] {
        kernels = kernels.column(head);
    }
    for head in ["our kernel", "ours, Connect 4", "ours, Gomoku"] {
        kernels = kernels.column(head);
    }
    for kernel in &TABLE_1 {
        kernels.row([
            kernel.stage.into(),
            kernel.name.into(),
            grid::<Connect4>(kernel.grid).into(),
            grid::<Gomoku>(kernel.grid).into(),
            kernel.complexity.into(),
            their_threads::<Connect4>(kernel).into(),
            their_threads::<Gomoku>(kernel).into(),
            kernel.ours.into(),
            our_threads::<Connect4>(kernel).into(),
            our_threads::<Gomoku>(kernel).into(),
        ]);
    }
    let mut stages = Table::new("time of the stages of a step, and of the reductions at the end, in ms");
    for head in ["game", "variant", "T, m"] {
        stages = stages.column(head);
    }
    for head in ["step", "select", "expand", "playout", "backup", "over trees", "over actions"] {
        stages = stages.digits(head, 5);
    }
    stages = stages.column("engine");
    let [select, expand, playout, backup] = printout::MEAN_STAGE_MS;
    stages.row([
        Cell::from("gomoku (Fig. 6, published)"),
        "acp_prodigal".into(),
        "4, 256".into(),
        printout::MEAN_STEP_MS.into(),
        select.into(),
        expand.into(),
        playout.into(),
        backup.into(),
        printout::REDUCE_OVER_TREES_MS.into(),
        Cell::Empty,
        "-".into(),
    ]);
    run.expect(2 * Variant::ALL.len() as u64);
    for &variant in Variant::ALL {
        stages.row(times::<Connect4>(run, options, Purpose::Search, variant)?);
    }
    for &variant in Variant::ALL {
        stages.row(times::<Gomoku>(run, options, Purpose::Search, variant)?);
    }
    Ok(Sheet::new(item)
        .table(kernels)
        .table(stages)
        .note("The step's time is of the engine named; stage times are of the single kernels, one after another: together they are more than a step of the engine graph.")
        .note(format!(
            "Fig. 6: `step` is computed from the loop and the steps, and {:.3} ms of playouts is what fits into it; the text at hand has other digits, see the item figure6.",
            printout::MEAN_STAGE_MS[2]
        ))
        .note("Ours round threads up to whole warps. One kernel of ours chooses among the root's actions for both subvariants; expansion counts ranks by a prefix sum, O(log B) instead of O(B).")
        .note("The engine graph runs mcts_step and mcts_play instead, which are not in the paper: see docs/kernels.md.")
        .left_out("Published times of stages but those of Fig. 6: the paper has none."))
}

/// Table C.4.
pub(super) fn parameters(item: &Item) -> Sheet {
    let mut table = Table::new("parameters of the class MCTSNC and of Options");
    for head in ["parameter", "default", "limit", "ours", "default of ours", "limit of ours"] {
        table = table.column(head);
    }
    for parameter in &TABLE_C4 {
        let (default, limit) = ours(parameter.name).unzip();
        table.row([
            parameter.name.into(),
            parameter.default.into(),
            parameter.limit.into(),
            parameter.ours.into(),
            default.into(),
            limit.into(),
        ]);
    }
    Sheet::new(item)
        .table(table)
        .note("Ours has more: what a draw is worth (draw_value: 0.5; the paper's program counts 0, and so does every item here), engine, threads, block sizes.")
}
