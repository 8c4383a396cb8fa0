//! `browse`: a solved spot, walked in the terminal or as a page for the browser.
//!
//! | file | what it has |
//! | --- | --- |
//! | `state.rs` | what is looked at, and what a key changes in it; no terminal |
//! | `visit.rs` | a node with its hands, before and after its values are known |
//! | `path.rs` | the nodes from the first one to the one that the flags name |
//! | `draw.rs`, `cells.rs`, `side.rs`, `table.rs` | the screen: all of it, the grid, actions and cards, hands |
//! | `colours.rs`, `text.rs` | colours that can be read on every ground; numbers and names |
//! | `values.rs` | values of nodes, computed while the user goes on |
//! | `screen.rs` | the terminal, changed and restored |
//! | `html.rs`, `pack.rs`, `runouts.rs` | the page: its nodes, their numbers, and the cards that it can deal |

mod cells;
mod colours;
mod draw;
mod html;
mod pack;
pub(super) mod path;
mod runouts;
mod screen;
mod side;
mod state;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod values;
mod visit;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use warpplay::cfr::SolvedSpot;

use crate::cfr::kinds::{self, Kind};
use crate::cfr::saved;
use crate::common::{self, Usage};
use colours::Look;
use html::PageFlags;
use screen::Screen;
use state::{State, Step};
use values::Values;

/// Time between two looks for values that are being computed.
const LOOK_EVERY: Duration = Duration::from_millis(50);

#[derive(clap::Args, Debug)]
pub struct BrowseArgs {
    /// The spot, written by solve-spot --save
    #[arg(value_name = "FILE.spot")]
    pub file: PathBuf,

    /// The actions to begin after: f, c, r50 (in all 50 chips since the start of the spot), with / between streets
    #[arg(long, alias = "history", value_name = "ACTIONS", default_value = "")]
    pub line: String,

    /// The cards dealt since the spot began: 8c, or 8c3s
    #[arg(long, value_name = "CARDS", default_value = "")]
    pub board: String,

    #[command(flatten)]
    pub page: PageFlags,
}

/// Runs the command.
pub fn run(args: &BrowseArgs) -> Result<()> {
    kinds::expect(&args.file, &[Kind::Spot])?;
    if let Some(path) = &args.page.html {
        return write_page(args, path);
    }
    let solved = common::without_results(|| SolvedSpot::open(&args.file))?;
    // To the end of the program: a thread that computes values may still run when this function has returned.
    let solved: &'static SolvedSpot = Box::leak(Box::new(solved));
    let state = common::without_results(|| -> Result<State<'static>> {
        let nodes = saved::after("--line", path::to(solved, &args.line, &args.board))?;
        let name = args.file.file_name().unwrap_or(args.file.as_os_str()).to_string_lossy().into_owned();
        Ok(State::new(name, nodes)?)
    })?;
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        let file = args.file.display();
        return Err(Usage(format!(
            "browse needs a terminal, and stdin or stdout is not one: `warpplay cfr query {file}` answers the same with --line, --board, --json and --csv, and --html FILE.html writes a page for the browser"
        ))
        .into());
    }
    let look = if common::style::is_refused() { Look::Plain } else { Look::Colours };
    // Nothing is written: a signal ends the program at once.
    common::without_results(|| show(state, look))
}

/// Writes the page.
fn write_page(args: &BrowseArgs, path: &Path) -> Result<()> {
    let written = html::prepare(&args.file, path)?;
    let text = common::without_results(|| -> Result<_> {
        let solved = SolvedSpot::open(&args.file)?;
        html::page(&solved, &args.file, &args.line, &args.board, &args.page)
    })?;
    written.write(&text)?;
    common::print(format!("{}: {:.1} MB\n", path.display(), text.len() as f64 / 1e6))
}

/// Draws, waits for keys and values, and obeys.
fn show(mut state: State<'static>, look: Look) -> Result<()> {
    let values = Values::start()?;
    let mut screen = Screen::open().context("the terminal")?;
    let mut is_new = true;
    loop {
        if let Some((number, node)) = state.ask() {
            values.ask(number, node);
        }
        if is_new {
            screen.draw(|frame| draw::draw(frame, &state, look)).context("the terminal")?;
        }
        is_new = false;
        if event::poll(LOOK_EVERY).context("the terminal")? {
            match event::read().context("the terminal")? {
                Event::Key(key) if key.kind != KeyEventKind::Release => match state.press(key)? {
                    Step::Quit => return Ok(()),
                    Step::Stay => is_new = true,
                },
                Event::Resize(..) => is_new = true,
                _ => {}
            }
        }
        if let Some((number, report)) = values.answer()? {
            state.take(number, report?)?;
            is_new = true;
        }
    }
}
