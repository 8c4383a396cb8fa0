//! Figs. 3 and 4: the four variants with m × T settings against the vanilla player on Connect 4.

use warpplay::mcts::contest::{Played, Score, Side};
use warpplay::mcts::{Connect4, Variant};

use super::matches::{play_match, playouts_per_second, reached_cells, score_cells, scores};
use super::options::{Options, Purpose, counted};
use super::published::tournaments::TABLE_2;
use super::published::{
    EIGHT_TREES_COST_PERCENT, FIGURE_3_SECONDS, FIGURE_3_VANILLA, GRID_PLAYOUTS, GRID_TREES, PRODIGAL_STEPS, Vanilla,
};
use crate::experiment::{Axis, Cell, Chart, Figure, Item, Line, Run, Sheet, Stop, Table, statistics};

/// Settings of the grid: trees and playouts; few and small ones in a quick run.
fn grid(quick: bool) -> ([u32; 2], Vec<u32>, Vec<u32>) {
    match quick {
        true => ([1, 2], vec![1, 2], vec![1, 2]),
        false => ([1, 8], GRID_TREES.to_vec(), GRID_PLAYOUTS.to_vec()),
    }
}

/// The games of one setting.
struct Setting {
    variant: Variant,
    n_trees: u32,
    n_playouts: u32,
    games: Vec<Played>,
}

/// Plays the grid for these variants; both figures, and whoever asks again, get the same games.
fn play(run: &mut Run<'_>, options: &Options, variants: &[Variant]) -> Result<Vec<Setting>, Stop> {
    let size = options.size(Purpose::Grid, run.quick());
    let (_, trees, playouts) = grid(run.quick());
    run.expect((variants.len() * trees.len() * playouts.len()) as u64 * u64::from(size.games));
    let mut settings = Vec::new();
    for &variant in variants {
        for &n_playouts in &playouts {
            for &n_trees in &trees {
                let key = format!("Fig. 3 {variant} m {n_playouts} T {n_trees}");
                let players =
                    [options.player(variant, n_trees, n_playouts, size.limits), options.vanilla(size.vanilla)];
                let games = play_match::<Connect4>(run, &key, &players, size.games, options.seed)?;
                settings.push(Setting { variant, n_trees, n_playouts, games });
            }
        }
    }
    Ok(settings)
}

/// Mean over settings of a value, where each has one.
fn mean<'a>(settings: impl Iterator<Item = &'a Setting>, of: impl Fn(&Setting) -> Option<f64>) -> f64 {
    let values: Vec<f64> = settings.filter_map(of).collect();
    statistics::mean(&values)
}

fn steps(setting: &Setting) -> Option<f64> {
    scores(&setting.games).a.mean_steps
}

/// Whether the mean of all values at one setting is below that at the next larger one, and so on to the largest.
fn rises(values: &[(u32, f64)]) -> bool {
    let mut at: Vec<u32> = values.iter().map(|(at, _)| *at).collect();
    at.sort_unstable();
    at.dedup();
    let means = at.iter().map(|at| {
        let of: Vec<f64> = values.iter().filter(|(setting, _)| setting == at).map(|(_, value)| *value).collect();
        statistics::mean(&of)
    });
    means.collect::<Vec<f64>>().windows(2).all(|pair| pair[0] < pair[1])
}

/// What section 4.1 says of the cells in words, and what ours show.
fn in_words(settings: &[Setting]) -> [String; 2] {
    let of = |variant: Variant| settings.iter().filter(move |setting| setting.variant == variant);
    let above: Vec<String> = Variant::ALL
        .iter()
        .map(|&variant| {
            let above = |setting: &&Setting| scores(&setting.games).a.score_percent > Some(50.0);
            format!("{} of {} of {variant}", of(variant).filter(above).count(), of(variant).count())
        })
        .collect();
    type Value = fn(&Score) -> Option<f64>;
    let values: [(&str, Value); 3] = [
        ("the score", |score| score.score_percent),
        ("the mean depth", |score| score.mean_depth),
        ("the largest depth", |score| score.mean_max_depth),
    ];
    let growing = values.map(|(name, value)| {
        let variants = |at: fn(&Setting) -> u32| {
            let rise = |variant: &&Variant| {
                let values = of(**variant).filter_map(|setting| Some((at(setting), value(&scores(&setting.games).a)?)));
                rises(&values.collect::<Vec<_>>())
            };
            Variant::ALL.iter().filter(rise).count()
        };
        let (by_m, by_trees) = (variants(|of| of.n_playouts), variants(|of| of.n_trees));
        format!("{name} with m in {by_m} of {} variants, with T in {by_trees}", Variant::ALL.len())
    });
    [
        format!(
            "Section 4.1: every variant outplays the vanilla player. Ours: cells above 50 % are {}.",
            above.join(", ")
        ),
        format!(
            "Section 4.1: the score, the mean and the largest depth grow with m and T. Ours, where the mean over the other setting rises from each to the next: {}.",
            growing.join("; ")
        ),
    ]
}

/// Fig. 3.
pub(super) fn figure3(item: &Item, run: &mut Run<'_>, options: &Options) -> Result<Sheet, Stop> {
    let size = options.size(Purpose::Grid, run.quick());
    let settings = play(run, options, Variant::ALL)?;
    let mut table = Table::new(format!(
        "scores of the searches ({} a move) against the vanilla player ({} a move), {} each",
        size.limits.text(),
        size.vanilla.text(),
        counted(size.games.into(), "game", "games")
    ))
    .column("variant")
    .column("m")
    .column("T");
    for (head, digits) in
        [("score, %", 1), ("low", 1), ("high", 1), ("playouts", 0), ("steps", 0), ("mean depth", 2), ("max depth", 2)]
    {
        table = table.digits(head, digits);
    }
    for setting in &settings {
        let score = scores(&setting.games).a;
        let mut row: Vec<Cell> =
            vec![setting.variant.to_string().into(), setting.n_playouts.into(), setting.n_trees.into()];
        row.extend(score_cells(&score));
        row.extend(reached_cells(&score));
        table.row(row);
    }
    let all: Vec<&Played> = settings.iter().flat_map(|setting| &setting.games).collect();
    let vanilla = warpplay::mcts::contest::Scores::of(all.iter().map(|played| &played.record)).b;
    let mut averages = Table::new("the vanilla player, averages of a move")
        .column("")
        .digits("playouts", 0)
        .digits("steps", 0)
        .digits("mean depth", 2)
        .digits("max depth", 2);
    for (place, of) in [("section 4.1", FIGURE_3_VANILLA), ("Table 2", TABLE_2.vanilla)] {
        let Vanilla { playouts, mean_depth, max_depth } = of;
        let name = format!("published, {place}");
        averages.row([name.into(), playouts.into(), playouts.into(), mean_depth.into(), max_depth.into()]);
    }
    averages.row([Cell::from("ours")].into_iter().chain(reached_cells(&vanilla)));

    let is = |prodigal: bool| settings.iter().filter(move |setting| setting.variant.is_thrifty() != prodigal);
    let of_trees = |n| settings.iter().filter(move |setting| setting.n_trees == n);
    let ([least, most], ..) = grid(run.quick());
    let acp = |all: bool| {
        let of = settings.iter().filter(move |setting| setting.variant.plays_all_children() == all);
        mean(of, |setting| scores(&setting.games).a.score_percent)
    };
    let [outplayed, growing] = in_words(&settings);
    let mut sheet = Sheet::new(item)
        .table(table)
        .table(averages)
        .note(format!(
            "Steps of a prodigal search for one of a thrifty: published {PRODIGAL_STEPS}, ours {:.2}.",
            mean(is(true), steps) / mean(is(false), steps)
        ))
        .note(format!(
            "Steps that {most} trees cost against {least}: published {EIGHT_TREES_COST_PERCENT} % (8 against 1), ours {:.1} %.",
            100.0 * (1.0 - mean(of_trees(most), steps) / mean(of_trees(least), steps))
        ))
        .note(format!("Mean score of the variants that play all children {:.1} %, one child {:.1} %.", acp(true), acp(false)))
        .note(outplayed)
        .note(growing)
        .note("The vanilla player has the steps that the paper's made in its 5 seconds, unless --vanilla-seconds gives it time.")
        .left_out("The published scores of the cells: Fig. 3 is a picture whose numbers are not in the text; the vanilla player's averages are.");
    if run.quick() {
        sheet = sheet.left_out("The published m and T: a quick run has 1 and 2 of each.");
    }
    for &variant in Variant::ALL {
        sheet = sheet.figure(heat(&settings, variant, run.quick()));
    }
    Ok(sheet)
}

fn heat(settings: &[Setting], variant: Variant, quick: bool) -> Figure {
    let (_, trees, playouts) = grid(quick);
    let cell = |n_playouts: u32, n_trees: u32| {
        settings.iter().find(|of| (of.variant, of.n_playouts, of.n_trees) == (variant, n_playouts, n_trees))
    };
    let text = |setting: &Setting| {
        let score = scores(&setting.games).a;
        let of = |value: Option<f64>| value.unwrap_or_default();
        let [low, high] = score.interval_percent.unwrap_or_default();
        format!(
            "{:.1} %\n{low:.0} to {high:.0}\n{:.0}/{:.0}\n{:.2}/{:.2}",
            of(score.score_percent),
            of(score.mean_playouts),
            of(score.mean_steps),
            of(score.mean_depth),
            of(score.mean_max_depth)
        )
    };
    let row = |n_playouts: &u32| trees.iter().map(|&n_trees| cell(*n_playouts, n_trees)).collect::<Vec<_>>();
    let rows: Vec<_> = playouts.iter().map(row).collect();
    Figure {
        file: format!("figure3_{variant}"),
        title: format!("{variant} against vanilla: score, 95 % interval, playouts/steps, mean/max depth"),
        x: Axis::linear("trees, T"),
        y: Axis::linear("playouts, m"),
        chart: Chart::Heat {
            x: trees.iter().map(u32::to_string).collect(),
            y: playouts.iter().map(u32::to_string).collect(),
            values: rows
                .iter()
                .map(|row| row.iter().map(|cell| cell.and_then(|of| scores(&of.games).a.score_percent)).collect())
                .collect(),
            texts: rows.iter().map(|row| row.iter().map(|cell| cell.map_or(String::new(), text)).collect()).collect(),
        },
    }
}

/// Fig. 4.
pub(super) fn figure4(item: &Item, run: &mut Run<'_>, options: &Options) -> Result<Sheet, Stop> {
    let variants = [Variant::OcpProdigal, Variant::AcpProdigal];
    let settings = play(run, options, &variants)?;
    let (_, trees, playouts) = grid(run.quick());
    let mut table =
        Table::new("playouts a second of the searches: all playouts over all seconds of the games of Fig. 3")
            .column("variant")
            .column("T");
    for m in &playouts {
        table = table.digits(format!("m = {m}"), 0);
    }
    let (mut lines, mut fastest) = (Vec::new(), None);
    for variant in variants {
        for &n_trees in &trees {
            let of = settings.iter().filter(|of| (of.variant, of.n_trees) == (variant, n_trees));
            let rates: Vec<(u32, Option<f64>)> =
                of.map(|of| (of.n_playouts, playouts_per_second(&of.games, Side::A))).collect();
            let mut row: Vec<Cell> = vec![variant.to_string().into(), n_trees.into()];
            row.extend(rates.iter().map(|(_, rate)| Cell::from(*rate)));
            if variant.plays_all_children() {
                fastest = rates.iter().filter_map(|(_, rate)| *rate).chain(fastest).reduce(f64::max);
            }
            table.row(row);
            let points = rates.iter().filter_map(|&(m, rate)| Some([f64::from(m), rate?])).collect();
            lines.push(Line { name: format!("{variant}, T = {n_trees}"), points, ..Line::default() });
        }
    }
    let all: Vec<Played> = settings.into_iter().flat_map(|setting| setting.games).collect();
    let vanilla = playouts_per_second(&all, Side::B);
    table.row(["vanilla".into(), 1.into()].into_iter().chain(playouts.iter().map(|_| Cell::from(vanilla))));
    let level = |rate: f64| playouts.iter().map(|&m| [f64::from(m), rate]).collect::<Vec<_>>();
    lines.extend(vanilla.map(|rate| Line { name: "vanilla".into(), points: level(rate), ..Line::default() }));
    let published = FIGURE_3_VANILLA.playouts / FIGURE_3_SECONDS.1;
    lines.push(Line {
        name: "vanilla, published".into(),
        points: level(published),
        published: true,
        ..Line::default()
    });
    let figure = Figure {
        file: item.name.into(),
        title: "playouts a second, Connect 4".into(),
        x: Axis::log("playouts, m"),
        y: Axis::log("playouts a second"),
        chart: Chart::Lines(lines),
    };
    let mut sheet = Sheet::new(item)
        .table(table)
        .figure(figure)
        .note(format!(
            "The vanilla player makes {published:.0} playouts a second in the paper, {:.0} here.",
            vanilla.unwrap_or_default()
        ))
        .left_out("The published curves: a picture without numbers.");
    // The best player of Table 2 by ACP, of 5 s a move.
    if let (Some(fastest), Some(vanilla), Some(acp)) = (fastest, vanilla, TABLE_2.player(4)) {
        sheet = sheet.note(format!(
            "\"More than three orders of magnitude\" between ACP and vanilla: {:.0} times the playouts a second in the paper, by ACP-PRODIGAL's of Table 2; {:.0} times here, by the fastest of ACP-PRODIGAL above.",
            acp.playouts_per_second() / published,
            fastest / vanilla
        ));
    }
    if run.quick() {
        sheet = sheet.left_out("The published m and T: a quick run has 1 and 2 of each.");
    }
    Ok(sheet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_rises_where_each_mean_is_above_the_one_before() {
        assert!(rises(&[(32, 1.0), (64, 9.0), (32, 5.0), (128, 9.5)]), "3, 9, 9.5");
        assert!(!rises(&[(1, 1.0), (2, 2.0), (4, 2.0)]), "level is no rise");
        assert!(!rises(&[(1, 1.0), (2, 3.0), (2, 0.0), (4, 1.4)]), "1, 1.5, 1.4");
    }
}
