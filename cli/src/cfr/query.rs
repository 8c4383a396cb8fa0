//! `query`: what a saved strategy does.

use std::io::Write;

use anyhow::{Context, Result};
use serde::Serialize;
use warpplay::cfr::{Answer, Strategy};

use crate::cfr::args::QueryArgs;
use crate::common::{self, OutputFile};

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
    let written = [("--json", args.output.json.as_deref()), ("--export", args.export.as_deref())];
    common::expect_apart(&[("FILE", Some(&args.strategy))], &written, &[])?;
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
        (Some(key), _) => vec![strategy.query_key(key)?],
        (None, Some(hand)) => vec![strategy.query(&args.history, &args.board, hand)?],
        (None, None) => strategy.query_all(&args.history, &args.board)?,
    };
    if let Some(json) = json {
        let facts = Facts {
            strategy: args.strategy.display().to_string(),
            iterations: strategy.iterations(),
            answers: &answers,
        };
        json.write_json(&common::Record::new("cfr query", facts))?;
    }
    args.output.print(answers.iter().map(line).collect::<String>())?;
    Ok(())
}

/// An information set in a line.
pub fn line(answer: &Answer) -> String {
    let choices = answer.choices.iter().map(|choice| format!("{} {:.4}", choice.action, choice.probability));
    let never = if answer.reached { "" } else { "   (never reached)" };
    format!("{:<24} {}{never}\n", answer.key, choices.collect::<Vec<_>>().join("   "))
}
