//! What a match adds up to, as text.

use warpplay::mcts::contest::Scores;

use crate::common::table::{self, Table, thousands};

/// The scores as a table.
pub fn table(scores: &Scores) -> String {
    let number = |x: Option<f64>, digits: usize| x.map_or("-".to_string(), |x| format!("{x:.digits$}"));
    let count = |x: Option<f64>| x.map_or("-".to_string(), |x| thousands(x.round() as u64));
    let (a, b) = (&scores.a, &scores.b);
    let interval = |x: Option<[f64; 2]>| x.map_or("-".to_string(), |[low, high]| format!("{low:.1} to {high:.1}"));
    let rows = [
        ("wins / draws / losses", [a, b].map(|score| format!("{} / {} / {}", score.wins, score.draws, score.losses))),
        ("score, %", [a, b].map(|score| number(score.score_percent, 1))),
        ("95 % interval, %", [a, b].map(|score| interval(score.interval_percent))),
        ("score as first mover, %", [a, b].map(|score| number(score.as_first_percent, 1))),
        ("score as second mover, %", [a, b].map(|score| number(score.as_second_percent, 1))),
        ("searches", [a, b].map(|score| thousands(score.searches))),
        ("playouts a search, mean", [a, b].map(|score| count(score.mean_playouts))),
        ("steps a search, mean", [a, b].map(|score| count(score.mean_steps))),
        ("depth of the nodes, mean", [a, b].map(|score| number(score.mean_depth, 2))),
        ("largest depth, mean", [a, b].map(|score| number(score.mean_max_depth, 2))),
        ("largest depth of all", [a, b].map(|score| score.max_depth.to_string())),
        ("searches with full trees", [a, b].map(|score| thousands(score.searches_with_full_trees))),
    ];
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(name, [a, b])| vec![name.to_string(), a, b]).collect();
    let mut facts = vec![("first mover", format!("mean score {} %", number(scores.first_mover_percent, 1)))];
    if a.searches_with_full_trees + b.searches_with_full_trees > 0 {
        facts.push(("full trees", "the option memory= of a player gives its trees more nodes".to_string()));
    }
    Table::new(&["player", "A", "B"]).rows(&rows) + "\n" + &table::facts(facts)
}
