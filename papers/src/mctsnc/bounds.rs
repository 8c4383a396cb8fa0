//! Section 2.5, equations (7) to (9): how the spread of an action's value falls with playouts and trees.

use warpplay::Progress;
use warpplay::mcts::{Connect4, Options as SearchOptions, Search, Variant};

use super::options::Options;
use crate::experiment::{Axis, Cell, Chart, Figure, Item, Line, Run, Sheet, Stop, Table};

/// Trees and playouts.
const SHAPES: [(u32, u32); 8] = [(32, 1), (32, 4), (32, 16), (128, 1), (128, 4), (128, 16), (512, 1), (512, 4)];

/// Values of each action over the seeds, from one step: all its playouts are independent, so nothing but their number matters.
fn values(run: &mut Run<'_>, variant: Variant, shape: (u32, u32), seeds: u64) -> Result<Vec<Vec<f64>>, Stop> {
    let (n_trees, n_playouts) = shape;
    run.exact(&format!("bounds {variant} m {n_playouts} T {n_trees}"), |now| {
        let options = SearchOptions {
            variant,
            n_trees,
            n_playouts,
            steps: Some(1),
            seconds: None,
            draw_value: 0.0,
            device_memory_gb: 1.0,
            ..SearchOptions::default()
        };
        let mut search = Search::<Connect4>::builder().options(options).profile_steps(0).build(now.device)?;
        let mut of = vec![Vec::new(); 7];
        for seed in 0..seeds {
            now.check()?;
            search.set_seed(seed);
            for action in search.run(&Connect4::new(), Progress::go_on)?.actions {
                // An action that no tree drew has no value.
                of[action.index as usize].extend(action.q.map(f64::from));
            }
        }
        Ok(of)
    })
}

/// Standard deviation of the values, pooled over the actions, each about its own mean.
fn spread(values: &[Vec<f64>]) -> f64 {
    let (mut squares, mut freedom) = (0.0, 0.0);
    for of in values.iter().filter(|of| of.len() > 1) {
        let mean = of.iter().sum::<f64>() / of.len() as f64;
        squares += of.iter().map(|q| (q - mean).powi(2)).sum::<f64>();
        freedom += of.len() as f64 - 1.0;
    }
    (squares / f64::max(freedom, 1.0)).sqrt()
}

/// Slope of the best straight line through (ln x, ln y).
fn slope(points: &[[f64; 2]]) -> f64 {
    let logs: Vec<[f64; 2]> = points.iter().map(|point| point.map(f64::ln)).collect();
    let mean = |at: usize| logs.iter().map(|point| point[at]).sum::<f64>() / logs.len() as f64;
    let (x, y) = (mean(0), mean(1));
    let covariance: f64 = logs.iter().map(|point| (point[0] - x) * (point[1] - y)).sum();
    covariance / logs.iter().map(|point| (point[0] - x).powi(2)).sum::<f64>()
}

/// The spread against T m.
pub(super) fn sheet(item: &Item, run: &mut Run<'_>, _: &Options) -> Result<Sheet, Stop> {
    let (seeds, shapes) = if run.quick() { (8, &SHAPES[..4]) } else { (64, &SHAPES[..]) };
    let variants = [Variant::OcpProdigal, Variant::AcpProdigal];
    run.expect(2 * shapes.len() as u64);
    let mut table =
        Table::new(format!("standard deviation of q over {seeds} seeds, one step from the empty board of Connect 4"))
            .column("variant")
            .column("T")
            .column("m")
            .digits("spread of q", 5)
            .digits("times √(T m)", 4);
    let mut slopes = Table::new("exponent of T m").column("variant").digits("published", 2).digits("ours", 3);
    let mut lines = Vec::new();
    for variant in variants {
        let mut points = Vec::new();
        for &(n_trees, n_playouts) in shapes {
            let spread = spread(&values(run, variant, (n_trees, n_playouts), seeds)?);
            let playouts = f64::from(n_trees * n_playouts);
            table.row([
                variant.to_string().into(),
                n_trees.into(),
                n_playouts.into(),
                spread.into(),
                Cell::from(spread * playouts.sqrt()),
            ]);
            points.push([playouts, spread]);
        }
        points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        slopes.row([variant.to_string().into(), (-0.5).into(), slope(&points).into()]);
        lines.push(Line { name: variant.to_string(), points, ..Line::default() });
    }
    // Through the first point of the first line, with the published exponent.
    if let Some([x, y]) = lines.first().and_then(|line| line.points.first().copied()) {
        let points = lines[0].points.iter().map(|point| [point[0], y * (x / point[0]).sqrt()]).collect();
        lines.push(Line { name: "1 / √(T m)".into(), points, published: true, ..Line::default() });
    }
    let figure = Figure {
        file: item.name.into(),
        title: "spread of the actions' values".into(),
        x: Axis::log("playouts of a child in a step over all trees, T m"),
        y: Axis::log("standard deviation of q"),
        chart: Chart::Lines(lines),
    };
    Ok(Sheet::new(item)
        .table(slopes)
        .table(table)
        .figure(figure)
        .note("Equation (9) gives O(1 / √(T m)) for one child, O(1 / √(T b m)) for all b: the same exponent, and a spread smaller by √b."))
}
