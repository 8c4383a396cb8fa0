//! `query`: what a saved strategy does.

use std::io::Write;

use anyhow::{Context, Result};
use serde::Serialize;
use warpplay::Error;
use warpplay::cfr::{Answer, Strategy};

use crate::cfr::args::QueryArgs;
use crate::cfr::{saved, spot_node};
use crate::common::table::Table;
use crate::common::{self, OutputFile, Usage};

/// What is written.
#[derive(Serialize)]
struct Facts<'a> {
    strategy: String,
    iterations: u64,
    answers: &'a [Answer],
}

/// Runs the command.
pub fn run(args: &QueryArgs) -> Result<()> {
    args.output.start_log();
    let written =
        [("--json", args.output.json.as_deref()), ("--export", args.export.as_deref()), ("--csv", args.csv.as_deref())];
    common::expect_apart(&[("FILE", Some(&args.strategy))], &written, &[])?;
    if saved::is_spot(&args.strategy)? {
        return spot_node::run(args);
    }
    if args.csv.is_some() {
        return Err(Usage(
            "--csv: only of a spot, written by solve-spot --save; --export FILE.csv writes a strategy".into(),
        )
        .into());
    }
    let json = args.output.json_file()?;
    let export = OutputFile::prepare_option(args.export.as_deref())?;
    let strategy = common::without_results(|| Strategy::load(&args.strategy))?;
    if let (Some(export), Some(path)) = (export, &args.export) {
        let mut bytes = Vec::new();
        let is_csv = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("csv"));
        if is_csv { strategy.write_csv(&mut bytes) } else { strategy.write_json(&mut bytes) }.context("export")?;
        bytes.flush().context("export")?;
        return export.write(&String::from_utf8(bytes).context("export")?);
    }
    let answers = match (&args.key, &args.hand) {
        (Some(key), _) => strategy.query_key(key).map(|answer| vec![answer]),
        (None, Some(hand)) => strategy.query(&args.history, &args.board, hand).map(|answer| vec![answer]),
        (None, None) => strategy.query_all(&args.history, &args.board),
    };
    let flag = if args.key.is_some() { "--key" } else { "--history" };
    let answers = saved::after(flag, answers.map_err(|error| of_flag(error, args)))?;
    if let Some(json) = json {
        let facts = Facts {
            strategy: args.strategy.display().to_string(),
            iterations: strategy.iterations(),
            answers: &answers,
        };
        json.write_json(&common::Record::new("cfr query", facts))?;
    }
    args.output.print(table(&answers))?;
    Ok(())
}

/// An error about a card, under the name of the flag that holds it.
fn of_flag(error: Error, args: &QueryArgs) -> Error {
    let holds = |text: &Option<String>, card: &str| text.as_ref().is_some_and(|text| text.contains(card));
    match error {
        Error::Option { name: "card", value, allowed } => {
            let card = value.trim_matches('\'');
            let flag = if holds(&args.key, card) {
                "key"
            } else if holds(&args.hand, card) {
                "hand"
            } else {
                "board"
            };
            Error::option(flag, value, allowed)
        }
        other => other,
    }
}

/// Information sets, a row each with the probability of each action.
pub fn table(answers: &[Answer]) -> String {
    let mut actions: Vec<&str> = Vec::new();
    for choice in answers.iter().flat_map(|answer| &answer.choices) {
        if !actions.contains(&choice.action.as_str()) {
            actions.push(&choice.action);
        }
    }
    let is_reached = answers.iter().all(|answer| answer.reached);
    let heads: Vec<&str> = ["information set"].into_iter().chain(actions.iter().copied()).collect();
    let row = |answer: &Answer| {
        let share = |action: &&str| {
            let choice = answer.choices.iter().find(|choice| choice.action == *action);
            choice.map_or("-".to_string(), |choice| format!("{:.4}", choice.probability))
        };
        let mut cells: Vec<String> = std::iter::once(answer.key.clone()).chain(actions.iter().map(share)).collect();
        if !is_reached {
            cells.push(if answer.reached { "" } else { "never" }.to_string());
        }
        cells
    };
    let rows: Vec<Vec<String>> = answers.iter().map(row).collect();
    let last = if is_reached { None } else { Some("reached") };
    Table::new(&heads.into_iter().chain(last).collect::<Vec<_>>()).rows(&rows)
}

/// An information set in a line.
pub fn line(answer: &Answer) -> String {
    let choices = answer.choices.iter().map(|choice| format!("{} {:.4}", choice.action, choice.probability));
    let never = if answer.reached { "" } else { "   (never reached)" };
    format!("{}  {}{never}\n", answer.key, choices.collect::<Vec<_>>().join("   "))
}
