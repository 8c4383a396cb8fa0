//! Table 1 and Listing 1: the kernels, their launch shapes and their complexities.

/// How many blocks a launch has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// One.
    One,
    /// T.
    Trees,
    /// The actions expanded in all trees, A.
    Expanded,
    /// (T, B).
    TreesActions,
    /// The actions of the root.
    RootActions,
    /// B.
    Actions,
}

/// How many threads a block has: a name of Listing 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// `tpb_r`.
    Reset,
    /// `tpb_s`.
    Select,
    /// `tpb_e1`.
    Expand1,
    /// `tpb_e2`.
    Expand2,
    /// `tpb_b1`.
    Backup1,
    /// `tpb_b2`.
    Backup2,
    /// `tpb_rot`.
    OverTrees,
    /// `tpb_roa`.
    OverActions,
    /// B + 2.
    ActionsAndTwo,
    /// m.
    Playouts,
}

/// One of the 20 kernels.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// The stage, as the table's first column calls it.
    pub stage: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Blocks.
    pub grid: Grid,
    /// Threads of a block.
    pub threads: Threads,
    /// Complexity, given enough of the GPU.
    pub complexity: &'static str,
    /// Ours, without the game's name.
    pub ours: &'static str,
}

const fn kernel(
    stage: &'static str,
    name: &'static str,
    grid: Grid,
    threads: Threads,
    complexity: &'static str,
    ours: &'static str,
) -> Kernel {
    Kernel { stage, name, grid, threads, complexity, ours }
}

/// Table 1.
pub const TABLE_1: [Kernel; 20] = {
    use Grid::{Actions, Expanded, One, RootActions, Trees, TreesActions};
    use Threads as By;
    let (expand, playout, path) = ("O(B)", "O(s + D - d + log m)", "O(1)");
    [
        kernel("reset", "_reset", Trees, By::Reset, "O(1)", "mcts_reset"),
        kernel("selections", "_select", Trees, By::Select, "O(log n log B)", "mcts_select"),
        kernel("expansions 1", "_expand_1_ocp_thrifty", Trees, By::Expand1, expand, "mcts_expand_1_ocp_thrifty"),
        kernel("expansions 1", "_expand_1_acp_thrifty", Trees, By::Expand1, expand, "mcts_expand_1_acp_thrifty"),
        kernel("expansions 1", "_expand_1_ocp_prodigal", Trees, By::Expand1, expand, "mcts_expand_1_ocp_prodigal"),
        kernel("expansions 1", "_expand_1_acp_prodigal", Trees, By::Expand1, expand, "mcts_expand_1_acp_prodigal"),
        kernel(
            "memorization",
            "_memorize_root_actions_expanded",
            One,
            By::ActionsAndTwo,
            "O(1)",
            "mcts_memorize_root_actions",
        ),
        kernel("expansions 2", "_expand_2_thrifty", Expanded, By::Expand2, "O(1)", "mcts_expand_2_thrifty"),
        kernel("expansions 2", "_expand_2_prodigal", TreesActions, By::Expand2, "O(1)", "mcts_expand_2_prodigal"),
        kernel("playouts", "_playout_ocp", Trees, By::Playouts, playout, "mcts_playout_ocp"),
        kernel("playouts", "_playout_acp_thrifty", Expanded, By::Playouts, playout, "mcts_playout_acp_thrifty"),
        kernel("playouts", "_playout_acp_prodigal", TreesActions, By::Playouts, playout, "mcts_playout_acp_prodigal"),
        kernel("backups 1", "_backup_1_acp_thrifty", Trees, By::Backup1, "O(log B)", "mcts_backup_1_acp_thrifty"),
        kernel("backups 1", "_backup_1_acp_prodigal", Trees, By::Backup1, "O(log B)", "mcts_backup_1_acp_prodigal"),
        kernel("backups 2", "_backup_ocp", Trees, By::Backup2, path, "mcts_backup_ocp"),
        kernel("backups 2", "_backup_acp", Trees, By::Backup2, path, "mcts_backup_2_acp"),
        kernel(
            "reduction over trees",
            "_reduce_over_trees_thrifty",
            RootActions,
            By::OverTrees,
            "O(log T)",
            "mcts_reduce_over_trees_thrifty",
        ),
        kernel(
            "reduction over trees",
            "_reduce_over_trees_prodigal",
            Actions,
            By::OverTrees,
            "O(log T)",
            "mcts_reduce_over_trees_prodigal",
        ),
        kernel(
            "reduction over actions",
            "_reduce_over_actions_thrifty",
            One,
            By::OverActions,
            "O(log B)",
            "mcts_reduce_over_actions",
        ),
        kernel(
            "reduction over actions",
            "_reduce_over_actions_prodigal",
            One,
            By::OverActions,
            "O(log B)",
            "mcts_reduce_over_actions",
        ),
    ]
};

/// The threads of a block, by Listing 1, with `tpb_default` = 512: `state` is s, the bytes of a position; `actions` is B; `trees` is T; `playouts` is m.
pub fn threads(by: Threads, state: u32, actions: u32, trees: u32, playouts: u32) -> u32 {
    const DEFAULT: u32 = 512;
    let reset = state.next_power_of_two().min(DEFAULT);
    let max_actions = actions.next_power_of_two();
    match by {
        Threads::Reset | Threads::Expand2 => reset,
        Threads::Select | Threads::Backup2 => DEFAULT,
        Threads::Expand1 => reset.max(max_actions).min(DEFAULT),
        Threads::Backup1 | Threads::OverActions => max_actions,
        Threads::OverTrees => trees.next_power_of_two(),
        Threads::ActionsAndTwo => actions + 2,
        Threads::Playouts => playouts,
    }
}

/// The names that Listing 1 gives to counts of threads.
pub const LISTING_1: [&str; 9] =
    ["tpb_max_actions", "tpb_r", "tpb_s", "tpb_e1", "tpb_e2", "tpb_b1", "tpb_b2", "tpb_rot", "tpb_roa"];

/// Names that stand elsewhere for one of Table 1 or of Listing 1: where, the name there, the name here.
pub const OTHER_NAMES: [(&str, &str, &str); 6] = [
    ("Algorithm 2", "_backup_2_acp", "_backup_acp"),
    ("Algorithm 1", "tbp_e2", "tpb_e2"),
    ("Algorithm 2", "tbp_e2", "tpb_e2"),
    ("Table 1", "tbp_b", "tpb_b2"),
    ("Table 1", "tpb_b", "tpb_b2"),
    ("Table 1", "tbp_b2", "tpb_b2"),
];

/// Levels of the arg-max of Listing 2: its `stride` begins at half the threads of the block and is halved until it is 0.
pub fn listing_2_levels(threads: u32) -> u32 {
    let (mut stride, mut levels) = (threads >> 1, 0);
    while stride > 0 {
        levels += 1;
        stride >>= 1;
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_algorithms_and_of_table_1_differ() {
        let is_known = |name: &str| LISTING_1.contains(&name) || TABLE_1.iter().any(|kernel| kernel.name == name);
        for (location, there, here) in OTHER_NAMES {
            assert!(is_known(here) && !is_known(there), "{location}: {there} for {here}");
        }
    }

    #[test]
    fn the_argmax_of_listing_2_has_nine_levels_whatever_b_is() {
        // Connect 4, Gomoku, and the most that footnote 6 allows: levels that B needs.
        for (actions, needed) in [(7u32, 3), (225, 8), (512, 9)] {
            assert_eq!(actions.next_power_of_two().ilog2(), needed, "⌈log₂ B⌉");
            assert_eq!(listing_2_levels(threads(Threads::Select, 225, actions, 4, 256)), 9, "log₂ tpb_s");
        }
        let select = TABLE_1.iter().find(|kernel| kernel.name == "_select").expect("a kernel");
        assert!(select.complexity.contains("log B"), "what Table 1 says: {}", select.complexity);
    }

    #[test]
    fn there_are_20_kernels_of_different_names() {
        let mut names: Vec<_> = TABLE_1.iter().map(|kernel| kernel.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 20, "the number that the text gives");
        // Ours choose among the root's actions by one kernel for both.
        let mut ours: Vec<_> = TABLE_1.iter().map(|kernel| kernel.ours).collect();
        ours.sort_unstable();
        ours.dedup();
        assert_eq!(ours.len(), 19);
    }

    #[test]
    fn listing_1_for_gomoku() {
        let of = |by| threads(by, 225, 225, 4, 256);
        assert_eq!([of(Threads::Reset), of(Threads::Expand1), of(Threads::Backup1)], [256, 256, 256]);
        assert_eq!([of(Threads::OverTrees), of(Threads::ActionsAndTwo), of(Threads::Playouts)], [4, 227, 256]);
    }
}
