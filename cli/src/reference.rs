//! `warpplay completions` and `warpplay man`: what a shell and `man` need, made of the commands themselves.
//!
//! ```text
//! warpplay completions bash > ~/.local/share/bash-completion/completions/warpplay
//! warpplay man ~/.local/share/man/man1
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Command;
use clap_complete::Shell;

use crate::common::{self, OutputFile, OutputFlags, Record};

/// Flags of `completions`.
#[derive(clap::Args, Debug)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
}

/// Flags of `man`.
#[derive(clap::Args, Debug)]
pub struct ManArgs {
    /// The folder for the pages, one for each command; created if it does not exist
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    #[command(flatten)]
    pub output: OutputFlags,
}

/// What `man` writes with `--json`.
#[derive(serde::Serialize)]
struct Facts {
    folder: String,
    pages: Vec<String>,
}

/// Prints the completions of a shell.
///
/// # Errors
/// As the operating system says.
pub fn completions(args: &CompletionsArgs, mut command: Command) -> Result<()> {
    let mut script = Vec::new();
    let name = command.get_name().to_string();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    common::print(String::from_utf8(script).context("completions")?)
}

/// Writes a page for each command.
///
/// # Errors
/// A file or folder that cannot be written.
pub fn man(args: &ManArgs, mut command: Command) -> Result<()> {
    args.output.start_log();
    let json = args.output.json_file()?;
    fs::create_dir_all(&args.folder)
        .with_context(|| format!("{}: the folder cannot be made", args.folder.display()))?;
    command.build();
    let mut pages = Vec::new();
    page(&args.folder, &command, None, &mut pages)?;
    args.output.print(format!("{} pages are in {}\n", pages.len(), args.folder.display()))?;
    if let Some(json) = json {
        let facts = Facts { folder: args.folder.display().to_string(), pages };
        json.write_json(&Record::new("man", facts))?;
    }
    Ok(())
}

/// Writes the page of a command, and of those below it.
fn page(folder: &Path, command: &Command, above: Option<&str>, pages: &mut Vec<String>) -> Result<()> {
    let name = above.map_or(command.get_name().to_string(), |above| format!("{above}-{}", command.get_name()));
    let file = format!("{name}.1");
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone()).title(name.clone()).render(&mut text).with_context(|| file.clone())?;
    OutputFile::prepare(&folder.join(&file))?.write(&String::from_utf8(text).with_context(|| file.clone())?)?;
    pages.push(file);
    let mut shown = command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
    shown.try_for_each(|below| page(folder, below, Some(&name), pages))
}
