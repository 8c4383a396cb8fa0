//! How the publication is repeated: sizes, limits, seed.

use serde::{Deserialize, Serialize};
use warpplay::mcts::contest::{PlayerOptions, VanillaOptions};
use warpplay::mcts::{Options as SearchOptions, Variant};
use warpplay::{Error, Result};

use super::published::{self, Published, TOURNAMENTS};

/// How the publication is repeated. What is not given follows from the item and from the size: small (`quick`), one that takes a GPU half an hour, or that of the
/// paper (`full`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Seconds of a move or of a search.
    pub seconds: Option<f64>,
    /// Seconds of a move of the vanilla player in Figs. 3 and 4; `None`: the steps that the paper's made in its 5 seconds.
    pub vanilla_seconds: Option<f64>,
    /// Steps of a move or of a search, of every player. No time then limits it but that of the CPU reference in the item `speed`.
    pub steps: Option<u64>,
    /// Games of a match.
    pub games: Option<u32>,
    /// The paper's games and seconds: about 30 hours for Figs. 3 and 4 (200 with 5 [`vanilla_seconds`](Self::vanilla_seconds)), 260 for Tables 2 and 3 by time.
    pub full: bool,
    /// Seed of searches and games; the item `bounds` takes seeds of its own, from 0.
    pub seed: u64,
    /// GiB for the trees of each player; `None`: 4, with the paper's sizes 16 as there.
    pub memory_gb: Option<f64>,
}

/// What a size is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Figs. 3 and 4.
    Grid,
    /// Table 2, and matches of other games.
    Connect4,
    /// Table 3.
    Gomoku,
    /// A search of one position.
    Search,
}

/// How long a match is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Size {
    /// Games of a match.
    pub games: u32,
    /// Limits of a move of a search.
    pub limits: Limits,
    /// Limits of a move of the vanilla player.
    pub vanilla: Limits,
}

/// Limits of a move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limits {
    pub steps: Option<u64>,
    pub seconds: Option<f64>,
}

impl Limits {
    /// By steps alone.
    pub const fn of_steps(steps: u64) -> Self {
        Self { steps: Some(steps), seconds: None }
    }

    /// What limits a move, as in "by equal time".
    pub const fn kind(&self) -> &'static str {
        if self.steps.is_some() { "steps" } else { "time" }
    }

    /// In words.
    pub fn text(&self) -> String {
        match (self.steps, self.seconds) {
            (Some(steps), _) => counted(steps, "step", "steps"),
            (None, Some(seconds)) => format!("{seconds} s"),
            (None, None) => "no limit".into(),
        }
    }
}

impl Options {
    /// Checks them.
    ///
    /// # Errors
    /// [`Error::Option`] for the first that is not allowed.
    pub fn check(&self) -> Result<()> {
        if self.games == Some(0) {
            return Err(Error::option("games", 0, "at least 1"));
        }
        if let Some(seconds) = self.vanilla_seconds
            && !(seconds.is_finite() && seconds > 0.0)
        {
            return Err(Error::option("vanilla-seconds", seconds, "a finite number above 0"));
        }
        let limits = self.size(Purpose::Connect4, false).limits;
        let checked =
            TOURNAMENTS.iter().try_for_each(|of| self.search(of.variant, of.n_trees, of.n_playouts, limits).check());
        checked.map_err(|error| match error {
            // As it is called here.
            Error::Option { name: "device_memory_gb", value, allowed } => Error::option("memory", value, allowed),
            error => error,
        })
    }

    /// How long the matches for a purpose are.
    pub(super) fn size(&self, purpose: Purpose, quick: bool) -> Size {
        let (grid, _) = published::FIGURE_3_SECONDS;
        let (games, seconds) = match (purpose, quick, self.full) {
            (Purpose::Gomoku, true, _) => (1, 5e-4),
            (_, true, _) => (2, 5e-4),
            (Purpose::Grid, _, true) => (published::GAMES, grid),
            (Purpose::Connect4, _, true) => (published::GAMES, 5.0),
            (Purpose::Gomoku, _, true) => (published::GAMES, 30.0),
            (Purpose::Search, _, true) => (1, 5.0),
            (Purpose::Grid, _, false) => (16, 0.04),
            (Purpose::Connect4, _, false) => (6, 0.1),
            (Purpose::Gomoku, _, false) => (4, 0.1),
            (Purpose::Search, _, false) => (1, 0.5),
        };
        let limits = |seconds: f64| match self.steps {
            Some(steps) => Limits::of_steps(steps),
            None => Limits { steps: None, seconds: Some(seconds) },
        };
        let ours = limits(self.seconds.unwrap_or(seconds));
        let vanilla = match (purpose, self.vanilla_seconds, self.steps) {
            (Purpose::Grid, Some(seconds), None) => limits(seconds),
            // The paper's vanilla player is a Python program: what it made in its 5 seconds, ours makes in about a hundredth of one. The same steps are the same strength.
            (Purpose::Grid, None, None) => {
                Limits::of_steps(if quick { 200 } else { published::FIGURE_3_VANILLA.playouts as u64 })
            }
            // In the tournaments all players have the same time.
            _ => ours,
        };
        Size { games: self.games.unwrap_or(games), limits: ours, vanilla }
    }

    /// Options of a search, with the paper's constant and worth of a draw.
    pub(super) fn search(&self, variant: Variant, n_trees: u32, n_playouts: u32, limits: Limits) -> SearchOptions {
        SearchOptions {
            variant,
            n_trees,
            n_playouts,
            steps: limits.steps,
            seconds: limits.seconds,
            ucb_c: 2.0,
            draw_value: 0.0,
            // The same on every device: trees that fill up must fill up in a repetition too.
            device_memory_gb: self.memory_gb.unwrap_or(if self.full { 16.0 } else { 4.0 }),
            seed: self.seed,
            ..SearchOptions::default()
        }
    }

    /// A player of a match by this library.
    pub(super) fn player(&self, variant: Variant, n_trees: u32, n_playouts: u32, limits: Limits) -> PlayerOptions {
        PlayerOptions::Search(self.search(variant, n_trees, n_playouts, limits))
    }

    /// A player of the tournaments, smaller where `quick`.
    pub(super) fn published(&self, player: &Published, limits: Limits, quick: bool) -> PlayerOptions {
        let [n_trees, n_playouts] = shrunk([player.n_trees, player.n_playouts], quick);
        self.player(player.variant, n_trees, n_playouts, limits)
    }

    /// The single-thread player.
    pub(super) fn vanilla(&self, limits: Limits) -> PlayerOptions {
        let Limits { steps, seconds } = limits;
        PlayerOptions::Vanilla(VanillaOptions { steps, seconds, ucb_c: 2.0, draw_value: 0.0 })
    }
}

/// A number with its noun: `1 game`, `6 games`.
pub(super) fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Trees and playouts, T and m, of a `quick` run: few enough for a CPU.
pub(super) fn shrunk([n_trees, n_playouts]: [u32; 2], quick: bool) -> [u32; 2] {
    if quick { [n_trees.div_ceil(4), n_playouts.div_ceil(128)] } else { [n_trees, n_playouts] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_size_is_the_papers() {
        let options = Options { full: true, ..Options::default() };
        let grid = options.size(Purpose::Grid, false);
        assert_eq!((grid.games, grid.limits.seconds, grid.vanilla), (100, Some(1.0), Limits::of_steps(17_140)));
        let timed = Options { vanilla_seconds: Some(published::FIGURE_3_SECONDS.1), ..options.clone() };
        assert_eq!(timed.size(Purpose::Grid, false).vanilla.seconds, Some(5.0));
        for (purpose, table) in
            [(Purpose::Connect4, published::tournaments::TABLE_2), (Purpose::Gomoku, published::tournaments::TABLE_3)]
        {
            let size = options.size(purpose, false);
            assert_eq!((size.games, size.limits.seconds), (published::GAMES, Some(table.seconds)));
            assert_eq!(size.vanilla, size.limits);
        }
        let given = Options { steps: Some(7), games: Some(3), ..options };
        let size = given.size(Purpose::Grid, true);
        assert_eq!((size.games, size.limits, size.vanilla), (3, Limits::of_steps(7), Limits::of_steps(7)));
    }

    #[test]
    fn one_of_a_kind_is_singular() {
        assert_eq!([0, 1, 2].map(|n| counted(n, "game", "games")), ["0 games", "1 game", "2 games"]);
        let limits = [Limits::of_steps(1), Limits { steps: None, seconds: Some(0.5) }];
        assert_eq!(limits.map(|limits| limits.text()), ["1 step", "0.5 s"]);
        assert_eq!(limits.map(|limits| limits.kind()), ["steps", "time"]);
    }

    #[test]
    fn wrong_options_are_named() {
        for (wrong, name) in [
            (Options { seconds: Some(-1.0), ..Options::default() }, "option seconds"),
            (Options { vanilla_seconds: Some(f64::NAN), ..Options::default() }, "option vanilla-seconds"),
            (Options { games: Some(0), ..Options::default() }, "option games"),
            (Options { steps: Some(0), ..Options::default() }, "option steps"),
            (Options { memory_gb: Some(0.0), ..Options::default() }, "option memory"),
        ] {
            let error = wrong.check().expect_err("not allowed").to_string();
            assert!(error.starts_with(name), "{error}");
        }
    }
}
