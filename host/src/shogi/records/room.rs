//! How much is read: games of a file, memory in all, and until the caller says that it is enough.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::encoding::Wrong;
use super::game::{Game, Skipped};

/// The state of reading one path, whose files are read in parallel.
#[derive(Debug)]
pub(super) struct Reading {
    /// Number of bytes read.
    pub read: AtomicU64,
    /// Number of bytes that the games take.
    taken: AtomicU64,
    /// Maximum number of bytes that the games may take.
    most: u64,
    is_stopped: AtomicBool,
}

impl Reading {
    /// Starts reading; games may take `most` bytes of memory.
    pub fn new(most: u64) -> Self {
        Self { read: AtomicU64::new(0), taken: AtomicU64::new(0), most, is_stopped: AtomicBool::new(false) }
    }

    /// Stops reading; the rest is skipped.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Number of bytes that the games take, if it exceeds the limit.
    pub fn excess(&self) -> Option<u64> {
        let taken = self.taken.load(Ordering::Relaxed);
        (taken > self.most).then_some(taken)
    }
}

/// Limits of the games of a file.
pub(super) struct Room<'a> {
    most: usize,
    n: usize,
    reading: Option<&'a Reading>,
}

impl<'a> Room<'a> {
    /// Room for `most` games, readable or not.
    pub fn new(most: usize, reading: Option<&'a Reading>) -> Self {
        Self { most, n: 0, reading }
    }

    /// Checks that there is room for the game at a line.
    ///
    /// # Errors
    /// There is no room, or reading was stopped.
    pub fn expect(&mut self, line: u64) -> Result<(), Wrong> {
        if self.n == self.most {
            let most = self.most;
            let reason =
                format!("the games from here on are left out: {most} of a file are read; divide it into several files");
            return Err((line, reason));
        }
        self.n += 1;
        match self.reading {
            Some(reading) if reading.is_stopped.load(Ordering::Relaxed) || reading.excess().is_some() => {
                Err((line, "reading was stopped here".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Counts a game that was kept.
    pub fn keep(&self, game: &Game) {
        // The list of games doubles as it grows, and is copied to that of all files.
        let heap = size_of_val(game.moves()) + game.start().map_or(0, str::len) + game.source().file.as_os_str().len();
        self.take(4 * size_of::<Game>() + heap);
    }

    /// Counts something that was skipped.
    pub fn leave_out(&self, skipped: &Skipped) {
        self.take(4 * size_of::<Skipped>() + skipped.reason.len() + skipped.source.file.as_os_str().len());
    }

    fn take(&self, bytes: usize) {
        if let Some(reading) = self.reading {
            reading.taken.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }
}
