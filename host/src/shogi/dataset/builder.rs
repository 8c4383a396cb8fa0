//! From games to shards.

use rayon::prelude::*;

use super::parents::Parents;
use super::{Dataset, Origin};
use crate::runtime::host_machine;
use crate::runtime::memory::expect_free;
use crate::runtime::threads::Threads;
use crate::shogi::board::{Board, List, Move, Rules};
use crate::shogi::records::{Game, Records, Skipped};
use crate::shogi::{Shard, Window};
use crate::{Error, Result};

/// Maximum number of parents of a shard: with 593 children each, the most of a position, and two changes per child, counts still fit into 32 bits.
const MOST_PARENTS: usize = 2_000_000;
/// Bytes of a parent's list, the minimum that it takes.
const LIST_BYTES: u64 = 80;
/// Parents that one task makes: some milliseconds of work.
const TASK: usize = 512;

/// How a data set is built.
///
/// A parent is a position of a game in which a move was played, within a window of games (their numbers, from 0) and of half-moves (those made before it). Each position is
/// replayed on a board; the changes of a legal move to the list of pieces are computed without playing it.
#[derive(Clone, Debug)]
pub struct Builder {
    games: Window,
    plies: Window,
    shard_parents: usize,
    threads: Option<usize>,
}

impl Builder {
    /// The half-moves from which the paper learnt, the default.
    pub const PLIES: Window = Window { start: 40, end: 80, step: 1 };
}

impl Default for Builder {
    /// All games, half-moves 40 to 79 as in the paper, shards of 262,144 parents, all cores.
    fn default() -> Self {
        Self {
            games: Window { start: 0, end: u32::MAX, step: 1 },
            plies: Self::PLIES,
            shard_parents: 1 << 18,
            threads: None,
        }
    }
}

/// The parents of one game in one shard.
#[derive(Clone, Debug)]
pub(super) struct Stretch<'a> {
    game: &'a Game,
    first_ply: usize,
    step: usize,
    parents: usize,
}

impl Builder {
    /// Selects games by their numbers in the records, from 0; default all.
    pub fn games(mut self, games: Window) -> Self {
        self.games = games;
        self
    }

    /// Selects half-moves by the number of half-moves before; default 40 to 79.
    pub fn plies(mut self, plies: Window) -> Self {
        self.plies = plies;
        self
    }

    /// Maximum number of parents of a shard, 1 to 2,000,000; default 262,144. Learning does not depend on it.
    pub fn shard_parents(mut self, parents: usize) -> Self {
        self.shard_parents = parents;
        self
    }

    /// Threads; default `None`, all cores. The result does not depend on it.
    pub fn threads(mut self, threads: impl Into<Option<usize>>) -> Self {
        self.threads = threads.into();
        self
    }

    /// Builds all shards in memory.
    ///
    /// Games from a position that has no list of pieces (a king is missing, or there are too many pieces) are omitted and listed in [`Origin::skipped`].
    ///
    /// # Errors
    /// [`Error::Option`] for a window or a number that is not allowed, and if no game has a half-move in the window; [`Error::OutOfMemory`] if the next shard, judged by the
    /// size of those before, does not fit into the host's memory.
    pub fn build(&self, records: &Records) -> Result<Dataset> {
        let (plan, origin) = self.plan(records)?;
        let shards = self.pool(|| {
            let mut shards = Vec::with_capacity(plan.len());
            let mut bytes_of_parent = LIST_BYTES;
            for stretches in &plan {
                let parents: usize = stretches.iter().map(|stretch| stretch.parents).sum();
                expect_free("the host", bytes_of_parent.saturating_mul(parents as u64), host_machine::memory().free)?;
                let shard = make(stretches)?;
                bytes_of_parent = shard.n_bytes() / (parents as u64).max(1);
                shards.push(shard);
            }
            Ok::<_, Error>(shards)
        })??;
        Ok(Dataset { shards, origin })
    }

    /// Assigns parents to shards.
    pub(super) fn plan<'a>(&self, records: &'a Records) -> Result<(Vec<Vec<Stretch<'a>>>, Origin)> {
        for (name, window) in [("games", self.games), ("plies", self.plies)] {
            if window.start >= window.end || window.step == 0 {
                let given = format!("{}..{}/{}", window.start, window.end, window.step);
                return Err(Error::option(name, given, "START..END/STEP with START < END and STEP from 1"));
            }
        }
        if !(1..=MOST_PARENTS).contains(&self.shard_parents) {
            return Err(Error::option("shard_parents", self.shard_parents, format!("1 to {MOST_PARENTS}")));
        }
        let mut origin = Origin {
            games: 0,
            short: 0,
            game_window: self.games,
            ply_window: self.plies,
            skipped: records.skipped.clone(),
        };
        let mut shards = Vec::new();
        let mut shard = Vec::new();
        let mut room = self.shard_parents;
        let mut longest = 0;
        for (number, game) in (0u32..).zip(&records.games) {
            if !self.games.contains(number) {
                continue;
            }
            longest = longest.max(game.moves().len());
            let parents = self.n_parents(game);
            if parents == 0 {
                origin.short += 1;
                continue;
            }
            if let Err(reason) = begin(game) {
                origin.skipped.push(Skipped { source: game.source().clone(), reason });
                continue;
            }
            origin.games += 1;
            let mut made = 0;
            while made < parents {
                let now = room.min(parents - made);
                let step = self.plies.step as usize;
                let first_ply = self.plies.start as usize + made * step;
                shard.push(Stretch { game, first_ply, step, parents: now });
                made += now;
                room -= now;
                if room == 0 {
                    shards.push(std::mem::take(&mut shard));
                    room = self.shard_parents;
                }
            }
        }
        if !shard.is_empty() {
            shards.push(shard);
        }
        if !records.games.is_empty() && !(0u32..).zip(&records.games).any(|(number, _)| self.games.contains(number)) {
            let Window { start, end, .. } = self.games;
            let allowed = format!(
                "a range with at least one of the games, which are numbered from 0: {} were read, {} were left out",
                records.games.len(),
                origin.skipped.len()
            );
            return Err(Error::option("games", format!("{start}..{end}"), allowed));
        }
        if shards.is_empty() {
            let window = format!("{}..{}", self.plies.start, self.plies.end);
            let allowed = format!(
                "a window with a half-move of at least one of the games: {} were read, the longest in the range of games has {longest} half-moves, {} were left out",
                records.games.len(),
                origin.skipped.len()
            );
            return Err(Error::option("plies", window, allowed));
        }
        Ok((shards, origin))
    }

    /// Half-moves of a game in the window.
    fn n_parents(&self, game: &Game) -> usize {
        // A shard counts half-moves in 16 bits.
        let end = game.moves().len().min(usize::from(u16::MAX)).min(self.plies.end as usize);
        end.saturating_sub(self.plies.start as usize).div_ceil(self.plies.step as usize)
    }

    pub(super) fn pool<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R> {
        Ok(Threads::pooled(self.threads)?.run(work))
    }
}

/// Makes one shard, with its tasks distributed over the cores.
pub(super) fn make(stretches: &[Stretch<'_>]) -> Result<Shard> {
    let mut tasks = Vec::new();
    let (mut first, mut parents) = (0, 0);
    for (at, stretch) in stretches.iter().enumerate() {
        parents += stretch.parents;
        if parents >= TASK || at + 1 == stretches.len() {
            tasks.push((&stretches[first..=at], parents));
            (first, parents) = (at + 1, 0);
        }
    }
    let parts = tasks
        .into_par_iter()
        .map(|(stretches, n_parents)| {
            let mut parents = Parents::with_capacity(n_parents);
            let mut moves = Vec::with_capacity(600);
            for stretch in stretches {
                add(&mut parents, stretch, &mut moves).ok_or_else(|| {
                    let source = stretch.game.source();
                    Error::file(&source.file, Some(source.line), "the game cannot be replayed")
                })?;
            }
            Ok(parents)
        })
        .collect::<Result<Vec<Parents>>>()?;
    Ok(Parents::joined(parts))
}

/// Replays a game through its stretch; `None` if a move is not legal, which [`Game`] excludes.
fn add(parents: &mut Parents, stretch: &Stretch<'_>, moves: &mut Vec<Move>) -> Option<()> {
    let (mut board, mut list) = begin(stretch.game).ok()?;
    let (mut next, mut left) = (stretch.first_ply, stretch.parents);
    for (ply, &played) in stretch.game.moves().iter().enumerate() {
        let change = if ply == next {
            next += stretch.step;
            left -= 1;
            parents.add_played(&board, &list, (stretch.game.hash(), ply as u16), played, moves)?
        } else {
            list.change(board.side(), played)?
        };
        if left == 0 {
            return Some(());
        }
        list.apply(&change);
        if !board.play(played) {
            return None;
        }
    }
    None
}

/// The board and the list at a game's start.
fn begin(game: &Game) -> Result<(Board, List), String> {
    let board = match game.start() {
        Some(start) => Board::from_sfen(start).map_err(|error| error.to_string())?,
        None => Board::start(),
    };
    let list = List::new(&board).map_err(|reason| format!("the start position cannot be learnt from: {reason}"))?;
    Ok((board, list))
}
