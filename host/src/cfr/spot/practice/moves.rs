//! Actions as players tell them.

use serde::{Deserialize, Serialize};

use crate::cfr::game::betting::{Action, BettingKind, rounded_chips};
use crate::cfr::spot::solved::SolvedSpot;
use crate::runtime::named::named;

named! {
    /// What a seat does.
    Verb, "verb":
    /// Gives up the hand.
    Fold = "fold",
    /// Puts in nothing where nothing is to be called.
    Check = "check",
    /// Puts in as much as the other.
    Call = "call",
    /// Puts in the first chips of a street.
    Bet = "bet",
    /// Puts in more than the other.
    Raise = "raise",
}

/// An action with its chips; `Display` writes `raise to 150, all-in`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PracticeMove {
    /// Who acts.
    pub seat: usize,
    /// The action as a [`Node`](super::super::Node) names it: `r250`, in chips since the spot began.
    pub action: String,
    /// What it is.
    pub verb: Verb,
    /// Chips that the seat puts in now.
    pub chips: f64,
    /// Chips that the seat has then put in on this street.
    pub to: f64,
    /// Whether it puts in its last chips.
    pub all_in: bool,
}

impl std::fmt::Display for PracticeMove {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.verb)?;
        match self.verb {
            Verb::Fold | Verb::Check => {}
            Verb::Call | Verb::Bet => write!(f, " {}", self.chips)?,
            Verb::Raise => write!(f, " to {}", self.to)?,
        }
        f.write_str(if self.all_in { ", all-in" } else { "" })
    }
}

/// Chips of each seat when the street of a node began.
pub(super) fn street_start(solved: &SolvedSpot, betting: u32) -> f64 {
    let nodes = &solved.tree.nodes;
    let mut node = &nodes[betting as usize];
    while let Some(before) =
        node.parent.map(|parent| &nodes[parent as usize]).filter(|before| before.round == node.round)
    {
        node = before;
    }
    // Both have put in as much.
    node.contributed.iter().copied().fold(0.0, f64::max)
}

/// The actions of a node of the betting, in their order; none where nobody acts.
pub(in crate::cfr::spot) fn choices(solved: &SolvedSpot, betting: u32) -> Vec<PracticeMove> {
    let node = &solved.tree.nodes[betting as usize];
    let BettingKind::Decision { seat, actions, children } = &node.kind else { return Vec::new() };
    let (paid, highest) = (node.contributed[*seat], node.contributed[1 - seat]);
    let start = street_start(solved, betting);
    let of_action = |(&action, &child): (&Action, &u32)| {
        let after = solved.tree.nodes[child as usize].contributed[*seat];
        let verb = match action {
            Action::Fold => Verb::Fold,
            Action::Call if after > paid => Verb::Call,
            Action::Call => Verb::Check,
            Action::Raise(_) if highest > start => Verb::Raise,
            Action::Raise(_) => Verb::Bet,
        };
        PracticeMove {
            seat: *seat,
            action: solved.tree.spell(action),
            verb,
            chips: rounded_chips(after - paid),
            to: rounded_chips(after - start),
            all_in: after > paid && after >= solved.spot().effective_stack,
        }
    };
    actions.iter().zip(children).map(of_action).collect()
}
