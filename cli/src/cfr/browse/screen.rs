//! The terminal: changed for the page, and restored at the end, whichever it is.

use std::io::{self, Stdout};

use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{LeaveAlternateScreen, disable_raw_mode};
use ratatui::prelude::CrosstermBackend;
use ratatui::{Frame, Terminal};

use crate::common;

/// A page of its own in the terminal, where keys come one by one; what was there before comes back when this is dropped, at a panic, and when a signal ends the program.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    _restored: Restored,
}

impl Screen {
    /// Changes the terminal.
    ///
    /// # Errors
    /// As the operating system says.
    pub fn open() -> io::Result<Self> {
        common::before_end(Some(restore));
        // Also where only a part of the change was made.
        let restored = Restored;
        // It installs the hook of panics.
        Ok(Self { terminal: ratatui::try_init()?, _restored: restored })
    }

    /// Draws a page.
    ///
    /// # Errors
    /// As the operating system says.
    pub fn draw(&mut self, page: impl FnOnce(&mut Frame)) -> io::Result<()> {
        // A signal may just have restored the terminal.
        if common::interrupted() {
            return Ok(());
        }
        self.terminal.draw(page).map(|_| ())
    }
}

/// Restores the terminal when it is dropped.
struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        restore();
        common::before_end(None);
    }
}

fn restore() {
    // Nothing more can be done where one of them fails.
    let _ = disable_raw_mode();
    let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
}
