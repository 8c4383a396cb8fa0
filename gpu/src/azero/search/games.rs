//! The kernels of our games.

use super::tree::Searched;
use crate::mcts::games::checkers::Checkers;

impl Searched for Checkers {
    // Twelve pieces, four directions.
    const MAX_LEGAL: u32 = 48;
    // 24 captures, at most 40 actions each until the next one, and 40 after the last.
    const MAX_PLIES: u32 = 25 * 40;
}

crate::azero_search_kernels!(checkers, Checkers, "checkers", crate::ptx::embedded::AZERO_SEARCH);
