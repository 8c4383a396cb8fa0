//! What each choice costs or gains: thrifty or prodigal, many trees, the way of launching, block sizes.

use serde_json::json;
use warpplay::mcts::{Engine, Variant};

use crate::measure::{Bench, Config};
use crate::output::{Table, number, percent};
use crate::published::{GameId, prodigal_to_thrifty};

pub fn run(bench: &mut Bench) -> anyhow::Result<()> {
    if !bench.has_gpu() {
        return bench.output.text("\nCHOICES are left out: no GPU is used.\n");
    }
    let mut table = Table::new(
        "CHOICES, Connect 4 from the empty board (wall time)",
        4,
        &["what", "A", "B", "variant, T, m", "steps/s A", "steps/s B", "A / B", "theirs"],
    );
    let seconds = bench.seconds.min(1.0);
    let config = |variant, n_trees, n_playouts| Config::new(GameId::Connect4, variant, n_trees, n_playouts, seconds);
    for (prodigal, thrifty) in
        [(Variant::AcpProdigal, Variant::AcpThrifty), (Variant::OcpProdigal, Variant::OcpThrifty)]
    {
        let names = ["blocks", "prodigal", "thrifty"];
        let theirs = prodigal_to_thrifty(prodigal, thrifty, (8, 256)).map_or("-".into(), number);
        compare(bench, &mut table, names, config(prodigal, 8, 256), config(thrifty, 8, 256), theirs)?;
    }
    for variant in [Variant::AcpProdigal, Variant::OcpProdigal] {
        compare(bench, &mut table, ["trees", "8", "1"], config(variant, 8, 128), config(variant, 1, 128), "-".into())?;
    }
    for variant in [Variant::AcpProdigal, Variant::OcpProdigal] {
        let base = config(variant, 8, 256);
        let with = |engine| Config { engine, ..base };
        let (graph, stage_graph, stages) = (with(Engine::Graph), with(Engine::StageGraph), with(Engine::Stages));
        compare(bench, &mut table, ["launches", "graph", "stage graph"], graph, stage_graph, "-".into())?;
        compare(bench, &mut table, ["launches", "graph", "stages"], graph, stages, "-".into())?;
        let smallest = Config { smallest_blocks: true, ..stage_graph };
        let names = ["stage graph's block sizes", "smallest", "listing_1"];
        compare(bench, &mut table, names, smallest, stage_graph, "-".into())?;
    }
    table.note("theirs: MCTS-NC on an H200, of the same searches.".to_string());
    table.note(
        "graph: two kernels a step; stage graph: a kernel a stage, as in the paper; both with many steps in one CUDA graph. stages: launched one by one."
            .to_string(),
    );
    table.print(&mut bench.output)
}

/// Two searches, one after the other.
fn compare(
    bench: &mut Bench,
    table: &mut Table,
    names: [&str; 3],
    a: Config,
    b: Config,
    theirs: String,
) -> anyhow::Result<()> {
    let trees = if a.n_trees == b.n_trees { a.trees_playouts() } else { format!("T, {}", a.n_playouts) };
    let variant = if a.variant == b.variant { a.variant.to_string() } else { a.variant.to_string()[..3].to_string() };
    let head = names.map(String::from).into_iter().chain([format!("{variant}, {trees}")]);
    let measured = bench.search(&a).and_then(|first| Ok((first, bench.search(&b)?)));
    match measured {
        Ok((first, second)) => {
            let (x, y) = (first.steps_per_second(), second.steps_per_second());
            bench.output.json(&json!({
                "section": "choices", "what": names[0], "a": names[1], "b": names[2], "variant": a.variant,
                "trees": [a.n_trees, b.n_trees], "playouts": a.n_playouts, "steps_per_second": [x, y], "ratio": x / y,
                "theirs": theirs.parse::<f64>().ok(),
            }))?;
            table.row(head.chain([number(x), number(y), number(x / y), theirs]).collect());
            if a.n_trees != b.n_trees {
                table.note(format!("{variant}: {} trees cost {} of the steps.", a.n_trees, percent(1.0 - x / y)));
            }
        }
        Err(error) => {
            let cell = bench.output.failed(&error);
            table.row(head.chain([cell]).collect());
        }
    }
    Ok(())
}
