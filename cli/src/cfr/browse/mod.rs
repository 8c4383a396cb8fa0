//! `browse`: a solved spot looked at node by node.

mod html;
mod pack;
mod runouts;

use std::path::PathBuf;

use anyhow::Result;
use warpplay::cfr::SolvedSpot;

use self::html::PageFlags;
use crate::common::{self, Usage};

#[derive(clap::Args, Debug)]
pub struct BrowseArgs {
    /// The solved spot, written by solve-spot --save
    #[arg(value_name = "FILE.spot")]
    pub file: PathBuf,

    /// Begin after these actions, as query takes them: cr50c/
    #[arg(long, visible_alias = "history", value_name = "ACTIONS", default_value = "")]
    pub line: String,

    /// The cards dealt by then
    #[arg(long, value_name = "CARDS", default_value = "")]
    pub board: String,

    #[command(flatten)]
    pub page: PageFlags,
}

/// Runs the command.
pub fn run(args: &BrowseArgs) -> Result<()> {
    let Some(path) = &args.page.html else {
        return Err(Usage("--html FILE.html: names the page to write".into()).into());
    };
    let written = html::prepare(&args.file, path)?;
    let text = common::without_results(|| -> Result<_> {
        let solved = SolvedSpot::open(&args.file)?;
        html::page(&solved, &args.file, &args.line, &args.board, &args.page)
    })?;
    written.write(&text)?;
    common::print(format!("{}: {:.1} MB\n", path.display(), text.len() as f64 / 1e6))
}
