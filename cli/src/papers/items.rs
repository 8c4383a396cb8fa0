//! What the commands of all publications share: which items, and where their measurements and results go.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use warpplay::journal::Target;
use warpplay_papers::experiment::{
    Header, Item, Journal, Paper, Replayed, Report, Run, Sheet, Step, Stop, checksum, measure,
};

use super::draw;
use crate::common::flags::{DeviceFlag, JournalFlags};
use crate::common::table::count;
use crate::common::{self, OutputFile, OutputFlags, Record, Usage};

/// An option of a publication that names a file to read, and the file.
pub type Input<'a> = (&'a str, Option<&'a Path>);

/// Which items are measured, how, and what is kept.
#[derive(clap::Args, Debug)]
pub struct ItemFlags {
    /// Only these tables, figures and claims, separated by commas; --list lists them all
    #[arg(long, value_name = "ITEMS", value_delimiter = ',')]
    pub only: Vec<String>,

    /// List the tables, figures and claims without measuring
    #[arg(long, conflicts_with_all = ["checkpoint", "resume", "replay", "plots", "json"])]
    pub list: bool,

    /// Use small sizes, to see within a minute that everything runs
    #[arg(long, alias = "few")]
    pub quick: bool,

    #[command(flatten)]
    pub journal: JournalFlags,

    /// Repeat the run of this file (its --checkpoint, or its --json, which also has the tables and figures) with the options of that run, and fail if anything except times differs
    /// or is missing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["checkpoint", "resume"])]
    pub replay: Option<PathBuf>,

    /// Draw the figures of the items as SVG into this folder
    #[arg(long, value_name = "FOLDER", alias = "plot")]
    pub plots: Option<PathBuf>,

    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

impl ItemFlags {
    /// The items of a publication that are asked for, in their order there; all without --only.
    ///
    /// # Errors
    /// [`Usage`] names the first that there is not.
    pub fn items(&self, paper: &dyn Paper) -> Result<Vec<Item>> {
        let all = paper.items();
        let names = || all.iter().map(|item| item.name).collect::<Vec<_>>().join(", ");
        if let Some(name) = self.only.iter().find(|&name| all.iter().all(|item| item.name != name)) {
            let shown = if name.is_empty() { "an empty name" } else { name };
            return Err(Usage(format!("option only: {shown} is not allowed ({})", names())).into());
        }
        let wanted = |item: &&Item| self.only.is_empty() || self.only.iter().any(|name| name == item.name);
        Ok(all.iter().filter(wanted).copied().collect())
    }

    /// Makes sure that nothing would be written over what is read: the publication's own `inputs`, each with its option, and the file of an earlier run.
    ///
    /// # Errors
    /// [`Usage`] names the options and the file.
    pub fn expect_apart(&self, inputs: &[Input<'_>]) -> Result<()> {
        let [resume, checkpoint] = self.journal.paths();
        let mut read = inputs.to_vec();
        read.extend([resume, ("--replay", self.replay.as_deref())]);
        let written = [("--json", self.output.json.as_deref()), checkpoint, ("--plots", self.plots.as_deref())];
        common::expect_apart(&read, &written, &[])?;
        for (option, path) in read.into_iter().chain(written) {
            path.map_or(Ok(()), |path| self.expect_no_plot(option, path))?;
        }
        Ok(())
    }

    /// Measures those items of a publication, which has read `inputs`; prints, draws and writes what comes of it. `command` is the command's words, as `papers mctsnc`.
    ///
    /// # Errors
    /// Wrong flags; files that cannot be read or written; what the measurements say.
    pub fn run(&self, command: &'static str, inputs: &[Input<'_>], paper: &dyn Paper) -> Result<()> {
        let items = self.items(paper)?;
        if self.list {
            return common::print(list(&items));
        }
        self.expect_apart(inputs)?;
        let json = self.output.json_file()?;
        let new_folder = self.plots_folder()?;
        let device = self.device.open()?;
        let header = Header::new(paper.name(), paper.options()?, &device, self.quick);
        let journal = match self.journal.target() {
            Some(Target::New(path)) => Journal::create(&path, header.clone())?,
            Some(Target::GoOn(path)) => Journal::resume(&path, &header)?,
            None => Journal::in_memory(),
        };
        let bar = self.output.bar(0);
        let mut watch = |step: &Step<'_>| {
            bar.set_length(step.expected);
            bar.set_position(step.done);
            bar.set_message(step.key.to_string());
            common::until_interrupted()
        };
        let mut run = Run::new(device, self.quick, journal, &mut watch);
        if let Some(path) = &self.replay {
            run = run.replay(Journal::read(path)?, &header).map_err(|stop| self.of_file(stop))?;
        }
        // What cannot be printed or drawn costs no measurement: the first such error is told at the end.
        let mut shown = Ok(());
        let report = measure(paper, &items, run, |sheet| {
            let now = bar.suspend(|| self.show(sheet));
            shown = std::mem::replace(&mut shown, Ok(())).and(now);
            ControlFlow::Continue(())
        });
        let report = report.map_err(|stop| self.of_file(stop))?;
        bar.finish_and_clear();
        if let Some(json) = json {
            let mut written = Written { command_line: command_line(), report: &report, checksum: None };
            written.checksum = Some(checksum(&Record::new(command, &written))?);
            json.write_json(&Record::new(command, written))?;
        }
        shown?;
        if let Some(folder) = &self.plots
            && report.sheets.iter().all(|sheet| sheet.figures.is_empty())
        {
            if new_folder {
                // Where somebody else has put something into it, it stays.
                let _ = fs::remove_dir(folder);
            }
            self.output.print(format!("\nno figures in these items: nothing written to {}\n", folder.display()))?;
        }
        if !report.complete {
            let go_on = self.journal.go_on();
            self.output.print(format!("\nended early: {} of {} items{go_on}\n", report.sheets.len(), items.len()))?;
        } else if let Some(Replayed { repeated, taken, items }) = report.replayed {
            let taken = if taken == 0 { String::new() } else { format!("; times taken from the file: {taken}") };
            // A journal has measurements alone.
            let tables = match items {
                0 => String::new(),
                items => format!("; tables, figures and notes compared with the file's: {}", count(items, "item")),
            };
            self.output
                .print(format!("\nrepeated and the same: {}{taken}{tables}\n", count(repeated, "measurement")))?;
        }
        Ok(())
    }

    /// Names the file, where what it holds ended the run.
    fn of_file(&self, stop: Stop) -> anyhow::Error {
        let is_of_file = matches!(
            stop,
            Stop::NotRead { .. }
                | Stop::OtherRun { .. }
                | Stop::NotRecorded { .. }
                | Stop::NotReached { .. }
                | Stop::Differs { .. }
        );
        let file = self.replay.as_ref().or(self.journal.resume.as_ref()).filter(|_| is_of_file);
        let error = anyhow::Error::new(stop);
        match file {
            Some(path) => error.context(path.display().to_string()),
            None => error,
        }
    }

    /// Makes the folder of the plots; whether there was none.
    ///
    /// # Errors
    /// A name of one plot; what is no folder, or cannot be made.
    pub fn plots_folder(&self) -> Result<bool> {
        let Some(folder) = self.plots.as_deref() else { return Ok(false) };
        if folder.extension().is_some_and(|end| end == "svg") {
            let folder = folder.display();
            return Err(
                Usage(format!("option plots: {folder} is not allowed (a folder, for a plot of each figure)")).into()
            );
        }
        let is_new = !folder.exists();
        if !is_new && !folder.is_dir() {
            return Err(Usage(format!("option plots: {} is a file, and a folder is needed", folder.display())).into());
        }
        fs::create_dir_all(folder).with_context(|| format!("{}: the folder cannot be made", folder.display()))?;
        // A folder that was there may not be ours to write to.
        OutputFile::prepare(&folder.join("plot.svg"))?;
        Ok(is_new)
    }

    /// Refuses a file that a plot would replace.
    ///
    /// # Errors
    /// [`Usage`] names option and file.
    fn expect_no_plot(&self, option: &str, path: &Path) -> Result<()> {
        let Some(folder) = self.plots.as_deref() else { return Ok(()) };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let is_same = match (fs::canonicalize(parent), fs::canonicalize(folder)) {
            (Ok(parent), Ok(folder)) => parent == folder,
            // What is not there yet can only be known by its name.
            _ => parent == folder,
        };
        if is_same && path.extension().is_some_and(|end| end == "svg") {
            let path = path.display();
            return Err(Usage(format!("{option} and --plots: {path} is a name that a plot may have")).into());
        }
        Ok(())
    }

    /// Prints an item and draws its figures.
    fn show(&self, sheet: &Sheet) -> Result<()> {
        self.output.print(sheet)?;
        let Some(folder) = self.plots.as_deref() else { return Ok(()) };
        for figure in &sheet.figures {
            let path = folder.join(format!("{}.svg", figure.file));
            OutputFile::prepare(&path)?.write(&draw::svg(std::slice::from_ref(figure)))?;
            self.output.print(format!("  wrote {}\n", path.display()))?;
        }
        Ok(())
    }
}

/// What is written.
#[derive(Serialize)]
struct Written<'a> {
    /// The command as it was given.
    command_line: String,
    report: &'a Report,
    /// That of all other fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    checksum: Option<String>,
}

/// The command as it was given.
fn command_line() -> String {
    // A name that is no text is shown with signs of replacement.
    let given: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    format!("warpplay {}", given.join(" "))
}

fn list(items: &[Item]) -> String {
    let width = items.iter().map(|item| item.name.len()).max().unwrap_or(0);
    items.iter().map(|item| format!("{:<width$}  {} ({})\n", item.name, item.title, item.location)).collect()
}
