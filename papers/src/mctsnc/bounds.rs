//! Section 2.5, equations (7) to (9): how the spread of an action's value falls with playouts and trees.

use warpplay::Progress;
use warpplay::mcts::{Connect4, Game, Options as SearchOptions, Search, Variant};

use super::options::Options;
use crate::experiment::{Axis, Cell, Chart, Figure, Item, Line, Run, Sheet, Stop, Table, statistics};

/// Trees and playouts.
const SHAPES: [(u32, u32); 8] = [(32, 1), (32, 4), (32, 16), (128, 1), (128, 4), (128, 16), (512, 1), (512, 4)];

/// Actions of the empty board, b.
const ACTIONS: u32 = Connect4::MAX_ACTIONS;

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
        let mut of = vec![Vec::new(); ACTIONS as usize];
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
        let free = of.len() as f64 - 1.0;
        squares += free * statistics::deviation(of).powi(2);
        freedom += free;
    }
    (squares / f64::max(freedom, 1.0)).sqrt()
}

/// Slope of the best straight line through (ln x, ln y).
fn slope(points: &[[f64; 2]]) -> f64 {
    let [xs, ys] = [0, 1].map(|at: usize| points.iter().map(|point| point[at].ln()).collect::<Vec<f64>>());
    let (x, y) = (statistics::mean(&xs), statistics::mean(&ys));
    let covariance: f64 = xs.iter().zip(&ys).map(|(at_x, at_y)| (at_x - x) * (at_y - y)).sum();
    covariance / xs.iter().map(|at_x| (at_x - x).powi(2)).sum::<f64>()
}

/// The spread against T m.
pub(super) fn sheet(item: &Item, run: &mut Run<'_>, _: &Options) -> Result<Sheet, Stop> {
    let (seeds, shapes) = if run.quick() { (8, &SHAPES[..4]) } else { (64, &SHAPES[..]) };
    run.expect(2 * shapes.len() as u64);
    let mut table =
        Table::new(format!("standard deviation of q over {seeds} seeds, one step from the empty board of Connect 4"))
            .column("variant")
            .column("T")
            .column("m")
            .digits("spread of q", 5)
            .digits("times √(T m)", 4);
    let mut slopes = Table::new("exponent of T m").column("variant").digits("published", 2).digits("ours", 3);
    let mut spreads = |variant: Variant| -> Result<Line, Stop> {
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
        Ok(Line { name: variant.to_string(), points, ..Line::default() })
    };
    let (one, all) = (spreads(Variant::OcpProdigal)?, spreads(Variant::AcpProdigal)?);
    // Both have the same shapes in the same order.
    let ratios: Vec<f64> = one.points.iter().zip(&all.points).map(|(one, all)| one[1] / all[1]).collect();
    let mut lines = vec![one, all];
    // Through the first point of the first line, with the published exponent.
    if let Some([x, y]) = lines[0].points.first().copied() {
        let points = lines[0].points.iter().map(|point| [point[0], y * (x / point[0]).sqrt()]).collect();
        lines.push(Line { name: "1 / √(T m)".into(), points, published: true, ..Line::default() });
    }
    let figure = Figure {
        file: item.name.into(),
        title: "spread of the actions' values".into(),
        x: Axis::log("T m"),
        y: Axis::log("standard deviation of q"),
        chart: Chart::Lines(lines),
    };
    Ok(Sheet::new(item)
        .table(slopes)
        .table(table)
        .figure(figure)
        .note("Section 2.5 gives factors of O(1 / √(T m)) where one child is played out and O(1 / √(T b m)) where all b are: the same exponent of T m.")
        .note(format!(
            "In one step from the root, all children (ACP) have T m playouts each; one random child of each tree (OCP) means that the b = {ACTIONS} children share T m, about T m / b for each. So OCP's spread should be √b = {:.2} times ACP's; it is {:.2} times, mean over the shapes.",
            f64::from(ACTIONS).sqrt(),
            statistics::mean(&ratios)
        )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_pooled_over_the_actions_each_about_its_own_mean() {
        // Squares about the means: 2 of one degree of freedom, 6 of two; a single value and none at all say nothing.
        let values = [vec![0.0, 2.0], vec![5.0], vec![], vec![11.0, 11.0, 14.0]];
        assert!((spread(&values) - (8.0f64 / 3.0).sqrt()).abs() < 1e-12, "{}", spread(&values));
        assert_eq!(spread(&[vec![1.0]]), 0.0);
    }

    #[test]
    fn the_slope_is_the_exponent() {
        let points = [1.0, 4.0, 64.0, 100.0].map(|x: f64| [x, 3.0 * x.powf(-0.5)]);
        assert!((slope(&points) + 0.5).abs() < 1e-12, "{}", slope(&points));
    }
}
