//! What is published: the players of Tables 2 and 3 here, their games in [`tournaments`], Fig. 6 in [`printout`], Table 1 and Listing 1 in [`kernels`], Table C.4 in
//! [`parameters`]. The cells of Fig. 3 and the curves of Figs. 4, 5 and 7 are pictures without numbers; what the text says of them is here.

pub mod kernels;
pub mod parameters;
pub mod printout;
pub mod tournaments;

use serde::Serialize;
use warpplay::mcts::Variant;

/// The two games of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GameId {
    /// Connect 4, 6 × 7.
    Connect4,
    /// Gomoku, 15 × 15.
    Gomoku,
}

/// One player of a tournament: its settings, and what it reached a move, averaged over its games.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Published {
    /// The game.
    pub game: GameId,
    /// The variant.
    pub variant: Variant,
    /// Trees, T.
    pub n_trees: u32,
    /// Playouts, m.
    pub n_playouts: u32,
    /// Seconds a move.
    pub seconds: f64,
    /// Playouts a move.
    pub playouts: f64,
    /// Steps a move.
    pub steps: f64,
    /// Mean depth of the trees' nodes.
    pub mean_depth: f64,
    /// Their largest depth.
    pub max_depth: f64,
    /// Score against the other four players, in percent.
    pub score_percent: f64,
}

impl Published {
    /// Steps a second.
    pub fn steps_per_second(&self) -> f64 {
        self.steps / self.seconds
    }

    /// Playouts a second.
    pub fn playouts_per_second(&self) -> f64 {
        self.playouts / self.seconds
    }
}

#[allow(clippy::too_many_arguments, reason = "one row of the table")]
const fn row(
    game: GameId,
    variant: Variant,
    n_playouts: u32,
    playouts: f64,
    steps: f64,
    mean_depth: f64,
    max_depth: f64,
    score_percent: f64,
) -> Published {
    let seconds = match game {
        GameId::Connect4 => 5.0,
        GameId::Gomoku => 30.0,
    };
    Published { game, variant, n_trees: 4, n_playouts, seconds, playouts, steps, mean_depth, max_depth, score_percent }
}

/// Table 2 (Connect 4, 5 s a move) and Table 3 (Gomoku, 30 s a move), without the vanilla player, on an NVIDIA GRID A100-7-40C.
pub const TOURNAMENTS: [Published; 8] = {
    use GameId::{Connect4, Gomoku};
    use Variant::{AcpProdigal, AcpThrifty, OcpProdigal, OcpThrifty};
    [
        row(Connect4, OcpThrifty, 128, 2.3e6, 4.5e3, 6.63, 11.85, 43.875),
        row(Connect4, OcpProdigal, 256, 6.4e6, 6.2e3, 7.34, 14.03, 75.125),
        row(Connect4, AcpThrifty, 256, 15.7e6, 3.9e3, 8.07, 16.25, 55.125),
        row(Connect4, AcpProdigal, 256, 20.3e6, 5.4e3, 8.62, 17.54, 73.375),
        row(Gomoku, OcpThrifty, 128, 6.6e6, 13.0e3, 3.04, 3.50, 51.25),
        row(Gomoku, OcpProdigal, 256, 14.2e6, 13.9e3, 3.09, 3.69, 52.0),
        row(Gomoku, AcpThrifty, 256, 411.8e6, 5.6e3, 3.47, 4.91, 72.75),
        row(Gomoku, AcpProdigal, 256, 422.1e6, 5.6e3, 3.49, 4.93, 74.0),
    ]
};

/// What the single-thread player on a CPU reached a move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vanilla {
    /// Playouts, one a step.
    pub playouts: f64,
    /// Mean depth of the tree's nodes.
    pub mean_depth: f64,
    /// Their largest depth.
    pub max_depth: f64,
}

/// Playouts of Figs. 3 and 4, m.
pub const GRID_PLAYOUTS: [u32; 4] = [32, 64, 128, 256];

/// Trees of Figs. 3 and 4, T.
pub const GRID_TREES: [u32; 4] = [1, 2, 4, 8];

/// Games of a cell of Fig. 3, and of a match of Tables 2 and 3.
pub const GAMES: u32 = 100;

/// Seconds a move in Fig. 3: of the searches, and of the vanilla player. Section 4.1.
pub const FIGURE_3_SECONDS: (f64, f64) = (1.0, 5.0);

/// The vanilla player of Fig. 3. Section 4.1.
pub const FIGURE_3_VANILLA: Vanilla = Vanilla { playouts: 17.14e3, mean_depth: 5.97, max_depth: 7.98 };

/// Steps of a prodigal search for one of a thrifty search, in Fig. 3. Section 4.1.
pub const PRODIGAL_STEPS: f64 = 1.46;

/// Share of the steps that 8 trees cost against 1, in Fig. 3, in percent. Section 4.1.
pub const EIGHT_TREES_COST_PERCENT: f64 = 5.0;

/// How much UCB intervals are enlarged in Fig. 7.
pub const FIGURE_7_ENLARGED: f64 = 25.0;

/// The example of Fig. 1, section 2.4: wins and playouts of the root's middle action, and those that a step adds.
pub const FIGURE_1: [(u64, u64); 2] = [(37, 256), (15, 128)];

/// The Python that is asked for: in the table of code metadata and in that of software metadata.
pub const REQUIRED_PYTHON: [&str; 2] = ["3.8.10", "3.8"];

#[cfg(test)]
mod tests {
    use warpplay::mcts::{Adapted, Connect4};
    use warpplay_cpu_ref::mcts::{Node, Params, Search, Variant, q};

    use super::*;

    #[test]
    fn a_step_adds_its_batch_to_the_roots_action_as_in_figure_1() {
        let [(wins, playouts), (won, batch)] = FIGURE_1;
        assert!(playouts.is_multiple_of(batch) && won <= batch, "whole batches of m playouts");
        assert_eq!(q(playouts + batch, wins + won, 0, 0.0), (37.0 + 15.0) / (256.0 + 128.0));
        // One child is played out: one action of the root has a batch more, and the counts that the leaf got.
        let params = Params {
            variant: Variant::Ocp,
            n_trees: 1,
            n_playouts: batch as usize,
            draw_value: 0.0,
            ..Params::default()
        };
        let mut search = Search::new(params, Adapted(Connect4::new()));
        let mut seen = false;
        for _ in 0..100 {
            let before = search.tree(0).expect("a tree").to_vec();
            search.step();
            let after = search.tree(0).expect("a tree");
            let count =
                |nodes: &[Node], at: usize| nodes.get(at).map_or((0, 0, 0), |node| (node.n, node.wins, node.draws));
            let added: Vec<usize> = (1..after.len()).filter(|&at| count(after, at).0 > count(&before, at).0).collect();
            let of = |at: usize| {
                let ((n, wins, draws), (n_before, wins_before, draws_before)) = (count(after, at), count(&before, at));
                (n - n_before, wins - wins_before, draws - draws_before)
            };
            let of_the_root: Vec<usize> = added.iter().copied().filter(|&at| after[at].depth == 1).collect();
            assert_eq!(of_the_root.len(), 1, "one action of the root: {added:?}");
            let action = of_the_root[0];
            let leaf = added.iter().copied().max_by_key(|&at| after[at].depth).expect("the action at least");
            let (n, wins, draws) = of(leaf);
            // The leaf counts the wins of the player who moved into it.
            let own = if after[leaf].mover == after[action].mover { wins } else { n - wins - draws };
            assert_eq!(of(action), (batch, own, draws));
            seen |= leaf != action && count(&before, action).0 == playouts;
        }
        assert!(seen, "an action of 256 playouts that gets 128 more");
    }

    #[test]
    fn two_tables_ask_for_different_pythons() {
        let [code, software] = REQUIRED_PYTHON;
        assert_ne!(code, software);
        assert!(code.starts_with(software), "the same minor version, and only one says which release of it");
    }
}
