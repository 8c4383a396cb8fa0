//! Values and exact best responses of a sampled average, over all deals of a game that is small enough to walk every history of.

use warpplay_cpu_ref::cfr::poker::Poker;
use warpplay_cpu_ref::cfr::tree::{Profile, Tree};

use super::plan::Plan;
use crate::cfr::game::set_of;
use crate::cfr::layout::{MOST_MEASURED, Measured};
use crate::{Error, Result};

/// Offsets in the tables of the legal actions of the set that a key `seat:hole:board:betting` names.
fn offsets(plan: &Plan, key: &str) -> Result<Vec<usize>> {
    let parts: Vec<&str> = key.split(':').collect();
    let &[_, hole, board, history] = parts.as_slice() else {
        return Err(Error::option("information set", key, "seat:hole:board:betting"));
    };
    let cards = |text: &str| Ok::<_, Error>(set_of(&plan.game.deck.cards(&text.replace('/', ""))?));
    let node = plan.betting.find(history)?;
    let round = plan.betting.nodes[node as usize].round as usize;
    Ok(plan.legal(node, plan.buckets.bucket(round, cards(hole)?, cards(board)?)))
}

/// Measures the average strategy; `averages` reads its sums, `[row][3]`, and is not called for a game that is too large.
pub(super) fn measure(plan: &Plan, averages: impl FnOnce() -> Result<Vec<f64>>) -> Result<Measured> {
    let game = &plan.game;
    let n_cards = f64::from(game.deck.n_cards());
    let n_dealt = game.n_players * game.n_hole_cards + game.n_board_cards.iter().sum::<usize>();
    let deals: f64 = (0..n_dealt).map(|card| n_cards - card as f64).product();
    let histories = deals * (plan.sequences.sequences.len() + plan.sequences.ends.len()) as f64;
    if histories > MOST_MEASURED as f64 {
        return Err(Error::Unsupported {
            what: format!("exploitability over {histories:.1e} histories"),
            backend: "walk".into(),
            remedy: format!(
                "at most {MOST_MEASURED}: hand the average strategy to an engine that walks all deals at once"
            ),
        });
    }
    let averages = averages()?;
    let tree = Tree::new(&Poker::new(game.into()));
    // In the order of the tree's tables; the tree knows the allowed actions only, in the same order.
    let mut weights: Vec<Vec<f64>> = (0..tree.n_players()).map(|seat| vec![0.0; tree.table_len(seat)]).collect();
    for set in tree.sets() {
        for (index, at) in offsets(plan, &set.key)?.into_iter().enumerate() {
            weights[set.seat][set.offset + index] = averages[at];
        }
    }
    let profile = Profile::from_weights(&tree, &weights);
    Ok(Measured { values: profile.values(&tree), best_responses: profile.best_responses(&tree) })
}
