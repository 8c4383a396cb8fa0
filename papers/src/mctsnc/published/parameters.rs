//! Table C.4: the constructor's parameters, and what they are here.

/// A parameter of the paper's class.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its default, where it has one.
    pub default: Option<&'static str>,
    /// Its limit, where one is named.
    pub limit: Option<&'static str>,
    /// What stands for it here.
    pub ours: &'static str,
}

const fn parameter(
    name: &'static str,
    default: Option<&'static str>,
    limit: Option<&'static str>,
    ours: &'static str,
) -> Parameter {
    Parameter { name, default, limit, ours }
}

/// Table C.4.
pub const TABLE_C4: [Parameter; 14] = [
    parameter("state_board_shape", None, Some("(32, 32)"), "Game::BOARD"),
    parameter("state_extra_info_memory", None, Some("4096"), "Game::EXTRA_INFO_BYTES"),
    parameter("state_max_actions", None, Some("512"), "Game::MAX_ACTIONS"),
    parameter("search_time_limit", Some("5.0"), None, "Options::seconds"),
    parameter("search_steps_limit", Some("inf"), None, "Options::steps"),
    parameter("n_trees", Some("8"), None, "Options::n_trees"),
    parameter("n_playouts", Some("128"), Some("a power of two"), "Options::n_playouts"),
    parameter("variant", Some("acp_prodigal"), None, "Options::variant"),
    parameter("device_memory", Some("2.0"), None, "Options::device_memory_gb"),
    parameter("ucb_c", Some("2.0"), None, "Options::ucb_c"),
    parameter("seed", Some("0"), None, "Options::seed"),
    parameter("verbose_debug", Some("False"), None, "tracing at level debug (-vv)"),
    parameter("verbose_info", Some("True"), None, "Display of Report, tracing at level info (-v)"),
    parameter("action_index_to_name_function", Some("None"), None, "SearchBuilder::action_names"),
];

/// Default and limit of ours, as text; `None` for what is not an option of a search.
pub fn ours(name: &str) -> Option<(String, String)> {
    use warpplay::mcts::{MAX_PLAYOUTS, MAX_TREES, Options};
    use warpplay_gpu::mcts::game::{MAX_ACTIONS, MAX_BOARD_SIDE, MAX_EXTRA_INFO_BYTES};
    let Options { variant, n_trees, n_playouts, steps, seconds, ucb_c, device_memory_gb, seed, .. } =
        Options::default();
    let none = || "-".to_string();
    let limit = |value: Option<f64>| value.map_or("inf".to_string(), |value| format!("{value:.1}"));
    Some(match name {
        "state_board_shape" => (none(), format!("({MAX_BOARD_SIDE}, {MAX_BOARD_SIDE})")),
        "state_extra_info_memory" => (none(), MAX_EXTRA_INFO_BYTES.to_string()),
        "state_max_actions" => (none(), MAX_ACTIONS.to_string()),
        "search_time_limit" => (limit(seconds), "above 0".into()),
        "search_steps_limit" => (limit(steps.map(|steps| steps as f64)), "at least 1".into()),
        "n_trees" => (n_trees.to_string(), format!("1 to {MAX_TREES}")),
        "n_playouts" => (n_playouts.to_string(), format!("a power of two, 1 to {MAX_PLAYOUTS}")),
        "variant" => (variant.to_string(), "the same four".into()),
        "device_memory" => (format!("{device_memory_gb:.1}"), "what the device has free".into()),
        "ucb_c" => (format!("{ucb_c:.1}"), "0 or more".into()),
        "seed" => (seed.to_string(), "64 bits".into()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_defaults_and_limits_are_the_papers() {
        for Parameter { name, default, limit, .. } in TABLE_C4 {
            let Some((our_default, our_limit)) = ours(name) else {
                assert!(name.starts_with("verbose") || name.starts_with("action_index"), "{name}");
                continue;
            };
            assert_eq!(default.unwrap_or("-"), our_default, "{name}");
            if let Some(limit) = limit {
                assert!(our_limit.starts_with(limit), "{name}: {our_limit}");
            }
        }
        // Not among the parameters: what a draw is worth. The paper's program counts wins alone.
        assert_eq!(warpplay::mcts::Options::default().draw_value, 0.5);
    }
}
