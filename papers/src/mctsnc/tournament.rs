//! Tables 2 and 3: the tournaments, by equal time as published and by equal steps beside it; with `--steps` by equal steps alone.

use warpplay::mcts::contest::{Played, PlayerOptions, Score, wilson_percent};
use warpplay::mcts::{KernelSet, Notation};

use super::matches::{play_match, reached_cells, score_cells, scores};
use super::options::{Limits, Options, Purpose, Size, counted};
use super::published::tournaments::{LETTERS, Tournament};
use super::published::{GAMES, GameId};
use crate::experiment::{Axis, Cell, Chart, Figure, Item, Run, Sheet, Stop, Table};

/// A player of a tournament by its row.
fn player(options: &Options, table: &Tournament, row: usize, size: Size, quick: bool) -> PlayerOptions {
    match table.player(row) {
        Some(player) => options.published(player, size.limits, quick),
        None => options.vanilla(size.vanilla),
    }
}

/// Its name.
fn name(table: &Tournament, row: usize) -> String {
    let variant = table.player(row).map_or("vanilla".to_string(), |player| player.variant.to_string());
    format!("{} {variant}", LETTERS[row])
}

/// The sizes of a tournament: by time, and by steps. Where the caller limits steps there is nothing by time.
fn sizes(options: &Options, table: &Tournament, quick: bool) -> Vec<(&'static str, Size)> {
    let purpose = match table.game {
        GameId::Connect4 => Purpose::Connect4,
        GameId::Gomoku => Purpose::Gomoku,
    };
    let time = options.size(purpose, quick);
    let steps = match (table.game, quick, options.full) {
        (_, true, _) => 1,
        // What the players reached in the mean in the paper.
        (GameId::Connect4, _, true) => 5000,
        (GameId::Gomoku, _, true) => 9500,
        (GameId::Connect4, ..) => 200,
        (GameId::Gomoku, ..) => 100,
    };
    let limits = Limits::of_steps(options.steps.unwrap_or(steps));
    let by_steps = ("steps", Size { limits, vanilla: limits, ..time });
    if options.steps.is_some() { vec![by_steps] } else { vec![("time", time), by_steps] }
}

/// The games of two players: `a` before `b`; `by` is `time` or `steps`.
fn pair<G: KernelSet + Notation>(
    run: &mut Run<'_>,
    options: &Options,
    table: &Tournament,
    (by, size): (&str, Size),
    [a, b]: [usize; 2],
) -> Result<Vec<Played>, Stop> {
    let quick = run.quick();
    let players = [a, b].map(|row| player(options, table, row, size, quick));
    let key = format!("{} {}-{} by {by}", table.location, LETTERS[a], LETTERS[b]);
    play_match::<G>(run, &key, &players, size.games, options.seed)
}

/// The direct match of two players, for a claim about them: games of the tournament, by equal time if there are such.
pub(super) fn direct<G: KernelSet + Notation>(
    run: &mut Run<'_>,
    options: &Options,
    table: &Tournament,
    rows: [usize; 2],
) -> Result<Vec<Played>, Stop> {
    let size = sizes(options, table, run.quick())[0];
    run.expect(size.1.games.into());
    pair::<G>(run, options, table, size, rows)
}

/// The score of a row's player, its games turned to its side.
struct Against {
    rows: [usize; 2],
    score: Score,
}

/// All matches of one kind of limit.
struct Results {
    games: Vec<Played>,
    against: Vec<Against>,
    players: [Score; 5],
}

impl Results {
    fn play<G: KernelSet + Notation>(
        run: &mut Run<'_>,
        options: &Options,
        table: &Tournament,
        size: (&str, Size),
    ) -> Result<Self, Stop> {
        let (mut games, mut against) = (Vec::new(), Vec::new());
        let mut of: [Vec<Score>; 5] = Default::default();
        for a in 0..5 {
            for b in a + 1..5 {
                let played = pair::<G>(run, options, table, size, [a, b])?;
                let both = scores(&played);
                of[a].push(both.a.clone());
                of[b].push(both.b.clone());
                against.push(Against { rows: [a, b], score: both.a });
                against.push(Against { rows: [b, a], score: both.b });
                games.extend(played);
            }
        }
        against.sort_by_key(|against| against.rows);
        Ok(Self { games, against, players: of.map(|scores| average(&scores)) })
    }

    fn first_mover(&self) -> Option<f64> {
        scores(&self.games).first_mover_percent
    }
}

/// The mean of a player's matches: each counts alike, averages of moves by the number of moves.
fn average(scores: &[Score]) -> Score {
    let n = scores.len() as f64;
    let percent = scores.iter().filter_map(|score| score.score_percent).sum::<f64>() / n;
    let games: u32 = scores.iter().map(|score| score.wins + score.draws + score.losses).sum();
    let searches: u64 = scores.iter().map(|score| score.searches).sum();
    let mean = |of: fn(&Score) -> Option<f64>| {
        let sum: f64 = scores.iter().filter_map(|score| Some(of(score)? * score.searches as f64)).sum();
        (searches > 0).then(|| sum / searches as f64)
    };
    Score {
        score_percent: Some(percent),
        interval_percent: wilson_percent(percent, games.into()),
        searches,
        mean_steps: mean(|score| score.mean_steps),
        mean_playouts: mean(|score| score.mean_playouts),
        mean_depth: mean(|score| score.mean_depth),
        mean_max_depth: mean(|score| score.mean_max_depth),
        searches_with_full_trees: scores.iter().map(|score| score.searches_with_full_trees).sum(),
        ..Score::default()
    }
}

/// Table 2 or 3.
pub(super) fn sheet<G: KernelSet + Notation>(
    item: &Item,
    run: &mut Run<'_>,
    options: &Options,
    table: &Tournament,
) -> Result<Sheet, Stop> {
    let sizes = sizes(options, table, run.quick());
    run.expect(sizes.iter().map(|(_, size)| 10 * u64::from(size.games)).sum());
    let mut measured = Vec::new();
    for &(by, size) in &sizes {
        measured.push((by, Results::play::<G>(run, options, table, (by, size))?));
    }
    // By time where there are such games: as published.
    let (by, main) = &measured[0];
    let ours: Vec<String> = sizes
        .iter()
        .map(|(by, size)| {
            format!("by equal {by} ({}, {} a move)", counted(size.games.into(), "game", "games"), size.limits.text())
        })
        .collect();
    let mut cells = Table::new(format!(
        "scores in %: published ({GAMES} games, {} s a move), ours {}",
        table.seconds,
        ours.join(" and ")
    ))
    .column("player")
    .column("against");
    for head in ["published", "low", "high", "first", "second"] {
        cells = cells.digits(head, 1);
    }
    for (by, _) in &measured {
        for head in ["ours", "low", "high", "first", "second"] {
            cells = cells.digits(format!("{head}, {by}"), 1);
        }
    }
    for (at, against) in main.against.iter().enumerate() {
        let [a, b] = against.rows;
        let mut row: Vec<Cell> = vec![name(table, a).into(), name(table, b).into()];
        let published = table.cells[a][b];
        row.push(published.map(|cell| cell.score).into());
        let interval = published.and_then(|cell| wilson_percent(cell.score, GAMES.into()));
        row.extend([0, 1].map(|at| Cell::from(interval.map(|bounds| bounds[at]))));
        row.extend([published.map(|cell| cell.first).into(), published.map(|cell| cell.second).into()]);
        for (_, results) in &measured {
            // Sorted by their rows in all results.
            let score = &results.against[at].score;
            row.extend(score_cells(score));
            row.extend([score.as_first_percent.into(), score.as_second_percent.into()]);
        }
        cells.row(row);
    }

    let mut players = Table::new("players: mean score in %, and averages of a move").column("player").column("T, m");
    for (head, digits) in
        [("score", 3), ("its cells", 3), ("playouts", 0), ("steps", 0), ("mean depth", 2), ("max depth", 2)]
    {
        players = players.digits(format!("{head}, published"), digits);
    }
    for (by, _) in &measured {
        for (head, digits) in
            [("score", 1), ("low", 1), ("high", 1), ("playouts", 0), ("steps", 0), ("mean depth", 2), ("max depth", 2)]
        {
            players = players.digits(format!("{head}, {by}"), digits);
        }
    }
    for row in 0..5 {
        let settings = match &player(options, table, row, sizes[0].1, run.quick()) {
            PlayerOptions::Search(search) => format!("{}, {}", search.n_trees, search.n_playouts),
            PlayerOptions::Vanilla(_) => "1, 1".into(),
        };
        let mut line: Vec<Cell> = vec![name(table, row).into(), settings.into()];
        line.extend([table.averages[row].into(), table.average(row).into()]);
        line.extend(table.reached(row).map(Cell::from));
        for (_, results) in &measured {
            line.extend(score_cells(&results.players[row]));
            line.extend(reached_cells(&results.players[row]));
        }
        players.row(line);
    }

    let mut sheet = Sheet::new(item)
        .note("low and high are the ends of the 95 % interval (Wilson); of the published scores too, which the paper gives without.")
        .note(outside(by, main, table));
    let full: u64 =
        measured.iter().flat_map(|(_, results)| &results.players).map(|of| of.searches_with_full_trees).sum();
    if full > 0 {
        sheet = sheet
            .note(format!("Trees were full in {}: more --memory lets them grow.", counted(full, "search", "searches")));
    }
    if options.steps.is_some() {
        sheet = sheet.left_out("Games by equal time: --steps limits every search.");
    }
    if run.quick() {
        sheet = sheet
            .left_out("The published T and m: a quick run has a quarter of the trees and a 128th of the playouts.");
    }
    sheet = sheet.figure(heat(item, table, by, main));
    Ok(sheet.table(cells).table(players).table(claims(table, &measured)))
}

/// What sections 4.1 and 4.2 speak of: mean scores of the players and their steps a move, and the mean score of the first mover.
struct Whole {
    scores: [f64; 5],
    steps: [f64; 5],
    first_mover: Option<f64>,
}

impl Whole {
    fn published(table: &Tournament) -> Self {
        let steps = std::array::from_fn(|row| table.reached(row)[1]);
        Self { scores: table.averages, steps, first_mover: Some(table.first_mover) }
    }

    fn ours(results: &Results) -> Self {
        let of = |value: fn(&Score) -> Option<f64>| {
            std::array::from_fn(|row| value(&results.players[row]).unwrap_or_default())
        };
        let [scores, steps] = [of(|score| score.score_percent), of(|score| score.mean_steps)];
        Self { scores, steps, first_mover: results.first_mover() }
    }

    /// 1 for the highest score; of equals both.
    fn place(&self, row: usize) -> f64 {
        1.0 + self.scores.iter().filter(|score| **score > self.scores[row]).count() as f64
    }
}

/// What is spoken of, and its value.
type Claim = (&'static str, fn(&Whole) -> Option<f64>);

/// B and C play one child out, D and E all.
const CLAIMS: [Claim; 7] = [
    ("place of E acp_prodigal by its mean score", |of| Some(of.place(4))),
    ("place of D acp_thrifty", |of| Some(of.place(3))),
    ("mean score of both acp players, %", |of| Some((of.scores[3] + of.scores[4]) / 2.0)),
    ("mean score of both ocp players, %", |of| Some((of.scores[1] + of.scores[2]) / 2.0)),
    ("steps a move of both acp players", |of| Some((of.steps[3] + of.steps[4]) / 2.0)),
    ("steps a move of both ocp players", |of| Some((of.steps[1] + of.steps[2]) / 2.0)),
    ("score of the first mover, %", |of| of.first_mover),
];

fn claims(table: &Tournament, measured: &[(&str, Results)]) -> Table {
    let mut claims = Table::new("what the text says of the whole tournament").column("what").column("published");
    for (by, _) in measured {
        claims = claims.column(format!("ours, {by}"));
    }
    let wholes = || std::iter::once(Whole::published(table)).chain(measured.iter().map(|(_, ours)| Whole::ours(ours)));
    for (what, value) in CLAIMS {
        let values = wholes().map(|whole| Cell::from(value(&whole)));
        claims.row(std::iter::once(Cell::from(what)).chain(values));
    }
    claims
}

/// Where ours and the published score cannot be the same; `by` says how ours were limited.
fn outside(by: &str, ours: &Results, table: &Tournament) -> String {
    let differ = |against: &&Against| {
        let [a, b] = against.rows;
        let published = table.cells[a][b].and_then(|cell| wilson_percent(cell.score, GAMES.into()));
        let (Some([low, high]), Some(ours)) = (published, against.score.interval_percent) else { return false };
        a < b && (ours[1] < low || high < ours[0])
    };
    let pairs: Vec<String> = (ours.against.iter().filter(differ))
        .map(|against| against.rows.map(|row| LETTERS[row].to_string()).join("-"))
        .collect();
    match pairs.is_empty() {
        true => format!("By equal {by} the intervals of ours and of the published score meet in all ten pairs."),
        false => format!(
            "By equal {by} the intervals of ours and of the published score do not meet in {}.",
            pairs.join(", ")
        ),
    }
}

fn heat(item: &Item, table: &Tournament, by: &str, results: &Results) -> Figure {
    let names: Vec<String> = (0..5).map(|row| name(table, row)).collect();
    let (mut values, mut texts) = (vec![vec![None; 5]; 5], vec![vec![String::new(); 5]; 5]);
    for against in &results.against {
        let [a, b] = against.rows;
        let of = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.1}"));
        let published = table.cells[a][b].map_or("-".into(), |cell| format!("{:.1}", cell.score));
        values[a][b] = against.score.score_percent;
        texts[a][b] = format!(
            "{} %\n{}, {}\npublished {published} %",
            of(against.score.score_percent),
            of(against.score.as_first_percent),
            of(against.score.as_second_percent)
        );
    }
    Figure {
        file: item.name.into(),
        title: format!("{}: score of the row's player against the column's, by equal {by}", item.title),
        x: Axis::linear("opponent"),
        y: Axis::linear("player"),
        chart: Chart::Heat { x: names.clone(), y: names, values, texts },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mctsnc::published::tournaments::{TABLE_2, TABLE_3};

    #[test]
    fn the_text_of_sections_4_1_and_4_2_follows_from_the_tables() {
        let of = |table| {
            let whole = Whole::published(table);
            CLAIMS.map(|(_, value)| value(&whole).expect("published"))
        };
        // "73.4 %" of ACP-PRODIGAL, behind OCP-PRODIGAL's "75.1 %": in Connect 4 one child does not score less than all by far.
        assert_eq!(of(&TABLE_2), [2.0, 3.0, 64.25, 59.5, 4650.0, 5350.0, 55.45]);
        // "Second best", "clearly stronger", "only 5.6 k steps" against "about 13.5 k", "an even higher advantage" of the first mover.
        assert_eq!(of(&TABLE_3), [1.0, 2.0, 73.375, 51.625, 5600.0, 13_450.0, 66.3]);
    }
}
