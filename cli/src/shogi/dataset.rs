//! `build-dataset` and `inspect`.

use anyhow::Result;
use serde::Serialize;
use warpplay::shogi::dataset::Facts;

use crate::common::flags::HeldOut;
use crate::common::table::{count, seconds, thousands};
use crate::common::{self, OutputFile};
use crate::shogi::args::{BuildArgs, InspectArgs};
use crate::shogi::data::{self, Data};

/// What is written.
#[derive(Serialize)]
struct Found<'a> {
    source: &'a str,
    /// Time of reading, and for records of finding the children.
    seconds: f64,
    report: &'a Facts,
}

/// Runs `build-dataset`.
pub fn build(args: &BuildArgs) -> Result<()> {
    args.output.start_log();
    let written = [
        ("--json", args.output.json.as_deref()),
        ("--out", Some(args.out.as_path())),
        ("--held-out-dir", args.held_out_dir.as_deref()),
    ];
    common::expect_apart(&[("--records", Some(&args.games.records))], &written, &[])?;
    let json = args.output.json_file()?;
    let builder = data::builder(&args.games.part)?;
    if let Some(part @ (HeldOut::Path(_) | HeldOut::Number(0))) = &args.held_out {
        return Err(part.refused("a share above 0 and below 1, or a number of games above 0").into());
    }
    let mut held_out = None;
    let data = Data::timed(&args.games.records, || {
        let mut records = common::without_results(|| data::games(&args.games.records, &args.output))?;
        let share = match &args.held_out {
            Some(part) => data::share_of(part, records.games.iter().map(|game| game.hash()))?,
            None => None,
        };
        if let (Some(share), Some(folder)) = (share, &args.held_out_dir) {
            let (train, test) = records.split(share)?;
            held_out = Some((common::without_results(|| builder.write(&test, folder))?, folder.display()));
            records = train;
        }
        Ok(common::without_results(|| builder.write(&records, &args.out))?)
    })?;
    finish(json, "shogi build-dataset", &data, args.output.quiet)?;
    if !args.output.quiet {
        let held_out = held_out.map(|(set, folder)| (set.n_parents(), set.n_children(), folder));
        let children = data.facts.children + held_out.as_ref().map_or(0, |held_out| held_out.1);
        let rate = (children as f64 / data.seconds.max(1e-9)) as u64;
        let (time, out) = (seconds(data.seconds), args.out.display());
        common::print(format!("built        {} children a second ({time}), written to {out}\n", thousands(rate)))?;
        if let Some((parents, children, folder)) = held_out {
            let (parents, children) = (count(parents, "parent"), thousands(children));
            common::print(format!("held out     {parents} with {children} children, written to {folder}\n"))?;
        }
    }
    Ok(())
}

/// Runs `inspect`.
pub fn inspect(args: &InspectArgs) -> Result<()> {
    args.output.start_log();
    let read = [("--records", args.source.records.as_deref()), ("--data", args.source.data.as_deref())];
    common::expect_apart(&read, &[("--json", args.output.json.as_deref())], &[])?;
    let json = args.output.json_file()?;
    let data = Data::read(&args.source, &args.output)?;
    finish(json, "shogi inspect", &data, args.output.quiet)
}

fn finish(json: Option<OutputFile>, command: &'static str, data: &Data, quiet: bool) -> Result<()> {
    if let Some(json) = json {
        let found = Found { source: &data.source, seconds: data.seconds, report: &data.facts };
        json.write_json(&common::Record::new(command, found))?;
    }
    if !quiet {
        data.say_skipped();
        common::print(data.text())?;
    }
    Ok(())
}
