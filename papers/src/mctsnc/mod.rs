//! Klęsk, "MCTS-NC: A thorough GPU parallelization of Monte Carlo Tree Search implemented in Python via numba.cuda", SoftwareX.
//!
//! The paper runs the whole of Monte Carlo tree search on the GPU: T independent trees, m playouts of an expanded child, and four variants: one child or all
//! children are played out (`ocp`, `acp`), with as many blocks as children or a block for every tree and action (`thrifty`, `prodigal`).
//!
//! The four variants are what [`warpplay::mcts`] offers, so this folder has no kernels. Where its parts are:
//!
//! | of the paper | in `warpplay` |
//! | --- | --- |
//! | Algorithms 1 and 2, the stages | `gpu/src/mcts/`: `reset`, `select`, `expand`, `playout`, `backup`, `reduce`; [`Engine::Stages`](warpplay::mcts::Engine) launches them one by one |
//! | Listing 2, `_select` | `gpu/src/mcts/select.rs` |
//! | Listing 1, threads a block | [`BlockSizes::listing_1`](warpplay::mcts::BlockSizes::listing_1) |
//! | variants | [`Variant`](warpplay::mcts::Variant) |
//! | Table C.4, parameters | [`Options`](warpplay::mcts::Options); a draw is worth 0 there, half here unless it is told |
//! | Fig. 6, the printout | [`Report`](warpplay::mcts::Report) |
//! | the five functions of a game | [`Game`](warpplay::mcts::Game) |
//! | "vanilla", the single-thread player | `cpu-ref/src/mcts/vanilla.rs` |
//! | matches, footnote 12 | [`contest`](warpplay::mcts::contest) |
//! | equations (6) to (9), bounds | `tests/tests/mcts/strength.rs` holds the spread, the item `bounds` shows it |
//!
//! [`published`] holds the numbers, [`MctsNc`] the items: `warpplay papers mctsnc`. What was found, and what was found wrong: `docs/papers/mctsnc.md`.

mod bounds;
mod claims;
mod figure3;
mod figure6;
mod matches;
mod options;
pub mod published;
mod question1;
mod question2;
mod question3;
mod sample;
mod searches;
mod table1;
mod tournament;

use warpplay::mcts::{Connect4, Gomoku};
use warpplay::{Error, Result};

pub use options::Options;
use published::GameId;
use published::tournaments::{TABLE_2, TABLE_3};

use crate::experiment::{Item, Paper, Run, Sheet, Stop};

/// The publication with how it is repeated.
#[derive(Clone, Debug, Default)]
pub struct MctsNc {
    /// Sizes, limits and seed.
    pub options: Options,
}

/// All items.
const ITEMS: [Item; 16] = [
    Item::new("table1", "Kernels, launch shapes, complexities, stage times", "Table 1, Listing 1"),
    Item::new("bounds", "Spread of the values against playouts and trees", "section 2.5, equations (7) to (9)"),
    Item::new("figure3", "Scores against the vanilla player, Connect 4", "Fig. 3"),
    Item::new("figure4", "Playouts a second, Connect 4", "Fig. 4"),
    Item::new("figure5", "A sample game of Connect 4", "Fig. 5"),
    Item::new("table2", "Tournament of Connect 4", "Table 2"),
    Item::new("figure6", "Printout of a search of Gomoku", "Fig. 6"),
    Item::new("figure7", "A sample game of Gomoku", "Fig. 7"),
    Item::new("table3", "Tournament of Gomoku", "Table 3"),
    Item::new("speed", "Settings of the tournaments on the empty board", "Tables 2 and 3"),
    Item::new("claims", "Claims of the text", "section 4.1"),
    Item::new("games", "The sample games, move by move", "Figs. 5 and 7"),
    Item::new("question1", "Playouts against steps at equal time", "section 5, question 1"),
    Item::new("question2", "Playouts that depend on the depth", "section 5, question 2"),
    Item::new("question3", "The variant chosen without trying", "section 5, question 3"),
    Item::new("tableC4", "Parameters of the class", "Table C.4"),
];

impl Paper for MctsNc {
    fn name(&self) -> &'static str {
        "mctsnc"
    }

    fn items(&self) -> &'static [Item] {
        &ITEMS
    }

    fn options(&self) -> Result<serde_json::Value> {
        self.options.check()?;
        Ok(serde_json::json!(self.options))
    }

    fn sheet(&self, item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
        let options = &self.options;
        match item.name {
            "table1" => table1::sheet(item, run, options),
            "bounds" => bounds::sheet(item, run, options),
            "figure3" => figure3::figure3(item, run, options),
            "figure4" => figure3::figure4(item, run, options),
            "figure5" => sample::figure(item, run, options, GameId::Connect4),
            "table2" => tournament::sheet::<Connect4>(item, run, options, &TABLE_2),
            "figure6" => figure6::sheet(item, run, options),
            "figure7" => sample::figure(item, run, options, GameId::Gomoku),
            "table3" => tournament::sheet::<Gomoku>(item, run, options, &TABLE_3),
            "speed" => claims::speed(item, run, options),
            "claims" => claims::sheet(item, run, options),
            "games" => sample::games(item, run, options),
            "question1" => question1::sheet(item, run, options),
            "question2" => question2::sheet(item, run, options),
            "question3" => question3::sheet(item, run, options),
            "tableC4" => Ok(table1::parameters(item)),
            name => Err(Error::option("item", name, "one of the publication's").into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use published::TOURNAMENTS;

    #[test]
    fn an_item_of_another_publication_is_refused() {
        let mut watch = |_: &crate::experiment::Step<'_>| std::ops::ControlFlow::Continue(());
        let mut run = Run::new(warpplay::Device::cpu(), true, crate::experiment::Journal::in_memory(), &mut watch);
        let sheet = MctsNc::default().sheet(&Item::new("table9", "", ""), &mut run);
        assert!(sheet.is_err_and(|error| error.to_string().starts_with("option item: table9")));
    }

    #[test]
    fn the_published_counts_agree_with_the_settings() {
        for row in &TOURNAMENTS {
            // One child is played out by T m playouts a step; all children by at most that for each action.
            let one = row.steps * f64::from(row.n_trees * row.n_playouts);
            let most = match row.game {
                GameId::Connect4 => 7.0,
                GameId::Gomoku => 225.0,
            };
            match row.variant.plays_all_children() {
                false => assert!((row.playouts / one - 1.0).abs() < 0.03, "{row:?}"),
                true => assert!(row.playouts > one && row.playouts < most * one, "{row:?}"),
            }
        }
        let gomoku = TOURNAMENTS[7];
        assert!(
            (published::printout::PLAYOUTS_PER_SECOND / gomoku.playouts_per_second() - 1.0).abs() < 0.3,
            "one search and the mean"
        );
        // The vanilla player of the tournament has the averages of Fig. 3's: both depths in full, the playouts to the digits printed, although its opponents and the limits of
        // theirs differ.
        let (tournament, figure_3) = (TABLE_2.vanilla, published::FIGURE_3_VANILLA);
        assert_eq!((tournament.mean_depth, tournament.max_depth), (figure_3.mean_depth, figure_3.max_depth));
        assert_eq!((tournament.playouts / 1e3, (figure_3.playouts / 1e2).round() / 10.0), (17.1, 17.1));
        // "More than three orders of magnitude" between ACP-PRODIGAL and the vanilla player.
        assert!(TOURNAMENTS[3].playouts_per_second() / (figure_3.playouts / 5.0) > 1e3);
    }
}
