//! A board and its search as a picture: the stones, and beside them a bar for each move.

use std::fmt::Write;

use crate::mcts::Report;

/// Pixels from one character of the board's text to the next; stones stand on every other one.
const STEP: usize = 13;
/// Pixels from row to row.
const ROW: usize = 26;
/// Pixels above the board, for two lines of text.
const TOP: usize = 64;
/// Pixels around everything.
const MARGIN: usize = 16;
/// Length of the bar of a move with all playouts, in pixels.
const BAR: f64 = 260.0;
// Colours that can be told from a light background and from a dark one.
/// Text and bars.
const INK: &str = "#768390";
/// Stones of the first player, X.
const FIRST: &str = "#2f7de1";
/// Stones of the second player, O.
const SECOND: &str = "#e8710a";
/// The bar of the best move.
const BEST: &str = "#2da44e";

/// Draws an SVG picture of a position, given as [`Notation::draw`](crate::mcts::Notation::draw) writes it, and of the results of a search.
///
/// * `top`: number of moves shown, those with the most playouts first; 0 shows all.
///
/// X and O are drawn as blue and orange discs, other characters as text. The length of a bar is the move's share of all playouts; the bar of the best move is green. The
/// background is transparent. The picture shows neither time nor device, so the same seed and steps give the same picture everywhere.
///
/// # Examples
/// ```
/// use warpplay::mcts::{Connect4, Notation, Search, picture, position_after};
/// use warpplay::{Device, Progress};
///
/// let position: Connect4 = position_after("4453")?;
/// let builder = Search::<Connect4>::builder().n_trees(1).n_playouts(32).steps(20).no_seconds();
/// let report = builder.action_names(Connect4::action_name).build(&Device::cpu())?.run(&position, Progress::go_on)?;
/// let svg = picture(&position.draw(), &report, 5);
/// assert_eq!(svg.matches("<circle").count(), 42); // the cells of the board
/// # Ok::<(), warpplay::Error>(())
/// ```
pub fn picture(board: &str, report: &Report, top: usize) -> String {
    let mut actions: Vec<_> = report.actions.iter().collect();
    actions.sort_by_key(|action| std::cmp::Reverse(action.n));
    actions.truncate(if top == 0 { usize::MAX } else { top });
    let n_columns = board.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let n_rows = board.lines().count().max(actions.len());
    // The names of moves end where their bars begin.
    let longest = actions.iter().map(|action| action.name.chars().count()).max().unwrap_or(0);
    let bars = MARGIN + n_columns * STEP + 40 + longest * 10;
    let (width, height) = (bars + BAR as usize + 160, TOP + n_rows * ROW + MARGIN);
    let mut svg = format!(
        "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" xmlns=\"http://www.w3.org/2000/svg\" font-family=\"sans-serif\" font-size=\"15\" fill=\"{INK}\">\n"
    );
    let after = if report.moves.is_empty() { String::new() } else { format!(" after {}", report.moves) };
    let best = format!("{}{after}: the search plays {}", report.game, report.best.name);
    text(&mut svg, MARGIN, 26, "font-size=\"18\"", &best);
    let made = &report.performance;
    let found =
        format!("{} steps of {} trees; bars: share of the playouts, q: mean result", made.steps, made.trees.count);
    text(&mut svg, MARGIN, 48, "", &found);
    for (row, line) in board.lines().enumerate() {
        draw_row(&mut svg, TOP + row * ROW + ROW / 2, line);
    }
    for (row, action) in actions.iter().enumerate() {
        let y = TOP + row * ROW + ROW / 2;
        let share = action.n as f64 / action.n_root.max(1) as f64;
        let colour = if action.index == report.best.index { BEST } else { INK };
        text(&mut svg, bars - 10, y + 5, "text-anchor=\"end\"", &action.name);
        let length = (share * BAR).max(1.0);
        element(
            &mut svg,
            format_args!(
                "<rect x=\"{bars}\" y=\"{}\" width=\"{length:.1}\" height=\"16\" rx=\"2\" fill=\"{colour}\"/>",
                y - 8
            ),
        );
        let mean = action.q.map_or(String::new(), |q| format!("   q {q:.3}"));
        text(&mut svg, bars + length as usize + 8, y + 5, "", &format!("{:.1} %{mean}", share * 100.0));
    }
    svg + "</svg>\n"
}

/// Draws one line of the board's text: single characters as discs or dots, the rest as text.
fn draw_row(svg: &mut String, y: usize, line: &str) {
    let characters: Vec<char> = line.chars().collect();
    let is_space = |at: Option<usize>| at.and_then(|at| characters.get(at)).is_none_or(|&c| c == ' ');
    for (at, &character) in characters.iter().enumerate() {
        let x = MARGIN + at * STEP + STEP / 2;
        let alone = is_space(at.checked_sub(1)) && is_space(Some(at + 1));
        let disc = match character {
            ' ' => continue,
            'X' if alone => Some((11, FIRST)),
            'O' if alone => Some((11, SECOND)),
            '.' if alone => Some((2, INK)),
            _ => None,
        };
        match disc {
            Some((radius, colour)) => {
                element(svg, format_args!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{colour}\"/>"))
            }
            None => text(svg, x, y + 5, "text-anchor=\"middle\" font-family=\"monospace\"", &character.to_string()),
        }
    }
}

fn text(svg: &mut String, x: usize, y: usize, attributes: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    element(svg, format_args!("<text x=\"{x}\" y=\"{y}\" xml:space=\"preserve\" {attributes}>{words}</text>"));
}

/// Adds an element on a line of its own.
fn element(svg: &mut String, element: std::fmt::Arguments<'_>) {
    // A text can always be written to.
    let _ = writeln!(svg, "{element}");
}
