//! Results as text.

use std::cmp::Reverse;
use std::fmt::Write;

use warpplay::mcts::{ActionReport, MAX_TREE_SIZE, Options, Report, StoppedBy};

use crate::common::table::{Table, thousands};
use crate::mcts::check::rank;

/// A search's report: what was searched, the `top` best actions (0: all), and how fast it was; `to_move` is the symbol of whose turn it is.
pub fn report(report: &Report, to_move: char, top: usize) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = header(&mut text, report, to_move)
        .and_then(|()| actions(&mut text, report, top))
        .and_then(|()| performance(&mut text, report));
    text
}

/// A search in one line.
pub fn one_line(report: &Report) -> String {
    let moves = if report.moves.is_empty() { "(start)" } else { &report.moves };
    format!("{moves}: {}, q {}, {} steps\n", report.best.name, number(report.best.q), report.performance.steps)
}

/// The options that decide what a search finds.
pub fn options(options: &Options) -> String {
    let mut text = format!(
        "{}, T = {}, m = {}, C = {}, draws worth {}, {} GiB",
        options.variant,
        options.n_trees,
        options.n_playouts,
        options.ucb_c,
        options.draw_value,
        options.device_memory_gb
    );
    if let Some(steps) = options.steps {
        text += &format!(", {} steps", thousands(steps));
    }
    if let Some(seconds) = options.seconds {
        text += &format!(", {seconds} s");
    }
    text + &format!(", seed {}", options.seed)
}

fn header(text: &mut String, report: &Report, to_move: char) -> std::fmt::Result {
    let moves = if report.moves.is_empty() { "the start" } else { &report.moves };
    writeln!(text)?;
    writeln!(text, "position     {} after {moves}, {} to move", report.game, to_move)?;
    writeln!(text, "search       {}", options(&report.options))?;
    writeln!(text, "device       {} ({}), engine {}", report.device, report.device_name, report.engine)?;
    let ended = match report.stopped_by {
        StoppedBy::Steps => "by the limit of steps",
        StoppedBy::Seconds => "by the limit of time",
        StoppedBy::Request => "early, on request: the results so far",
    };
    writeln!(text, "ended        {ended}")
}

fn actions(text: &mut String, report: &Report, top: usize) -> std::fmt::Result {
    let mut ranked: Vec<_> = report.actions.iter().collect();
    ranked.sort_by_key(|action| Reverse(rank(action)));
    let shown = if top == 0 { ranked.len() } else { top.min(ranked.len()) };
    let wins_at_once = ranked[..shown].iter().any(|action| action.win_flag);
    let mut heads = vec!["action", "index", "playouts", "share, %", "wins", "draws", "q", "ucb"];
    if wins_at_once {
        heads.push("note");
    }
    let row = |action: &&ActionReport| {
        vec![
            action.name.clone(),
            action.index.to_string(),
            thousands(action.n),
            format!("{:.1}", 100.0 * action.n as f64 / action.n_root.max(1) as f64),
            thousands(action.wins),
            thousands(action.draws),
            number(action.q),
            number(action.ucb),
            if action.win_flag { "wins at once" } else { "" }.to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = ranked[..shown].iter().map(row).collect();
    write!(text, "\n{}", Table::new(&heads).words_at(8).rows(&rows))?;
    if shown < ranked.len() {
        writeln!(text, "  and {} more (--top 0 shows all)", ranked.len() - shown)?;
    }
    writeln!(text)?;
    writeln!(text, "best         {}, q = {}", report.best.name, number(report.best.q))
}

fn performance(text: &mut String, report: &Report) -> std::fmt::Result {
    let performance = &report.performance;
    let (ms, trees) = (&performance.ms, &performance.trees);
    let per_second = |x: f64| thousands(x.round() as u64);
    writeln!(
        text,
        "steps        {} ({} a second)",
        thousands(performance.steps),
        per_second(performance.steps_per_second)
    )?;
    writeln!(
        text,
        "playouts     {} ({} a second)",
        thousands(performance.playouts),
        per_second(performance.playouts_per_second)
    )?;
    writeln!(text, "time         {:.3} ms, of which steps {:.3} ms", ms.total, ms.loop_)?;
    let mean = |x: Option<f64>| x.map_or("-".to_string(), |x| format!("{x:.4}"));
    writeln!(
        text,
        "a step       select {} ms, expand {} ms, playout {} ms, backup {} ms",
        mean(ms.mean_select),
        mean(ms.mean_expand),
        mean(ms.mean_playout),
        mean(ms.mean_backup)
    )?;
    writeln!(text, "             (from: {})", performance.stage_times_from)?;
    writeln!(
        text,
        "reduction    over trees {:.4} ms, over actions {:.4} ms",
        ms.reduce_over_trees, ms.reduce_over_actions
    )?;
    writeln!(
        text,
        "trees        {}; depth {:.2} on average, {} at most; {} nodes on average, {} at most",
        trees.count,
        trees.mean_depth,
        trees.max_depth,
        thousands(trees.mean_size.round() as u64),
        thousands(trees.max_size)
    )?;
    if trees.full > 0 {
        writeln!(
            text,
            "full         {} of {} trees have no node left: {} leaves were played out instead of expanded; a larger --memory gives more nodes, up to {} a tree",
            trees.full,
            trees.count,
            thousands(trees.refused),
            thousands(MAX_TREE_SIZE)
        )?;
    }
    writeln!(text, "check        visits sum up, the best action is the best by the final rule")
}

/// A value of the report; `-` where there is none.
pub fn number(x: Option<f32>) -> String {
    x.map_or("-".to_string(), |x| format!("{x:.4}"))
}
