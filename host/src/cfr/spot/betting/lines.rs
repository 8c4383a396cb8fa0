//! Actions that a spot removes from its tree or adds to it, by history.

use super::edits::same;
use super::{Betting, State};
use crate::cfr::game::betting::{Action, follow, rounded_chips};
use crate::cfr::spot::sizes::LEAST_CHIPS;
use crate::{Error, Result};

impl Betting<'_> {
    /// The steps of a line, each with the state before it, and the state at its end.
    ///
    /// # Errors
    /// [`Error::Option`] with the field, the line, and what is allowed at the first step that is not there.
    fn follow(&self, field: &'static str, line: &str) -> Result<(Vec<(State, Action)>, State)> {
        let round = |state: &State| state.street as u32;
        follow(line, self.root(), round, |state| self.choices(state), spell)
            .map_err(|reason| Error::option(field, format!("'{line}'"), reason))
    }

    /// Adds the raise at the end of a line.
    pub(super) fn add(&mut self, line: &str) -> Result<()> {
        let field = "added_lines";
        let refuse = |allowed: String| Error::option(field, format!("'{line}'"), allowed);
        let raise = line.rfind('r').and_then(|at| Some((&line[..at], line[at + 1..].parse::<f64>().ok()?)));
        let Some((before, to)) = raise else { return Err(refuse("a history that ends with a raise, as cr50".into())) };
        let (steps, state) = self.follow(field, before)?;
        let Some(seat) = state.seat else { return Err(refuse("a history after which a player acts".into())) };
        let highest = state.contributed[1 - seat];
        let stack = self.spot.effective_stack;
        if highest >= stack {
            return Err(refuse("no raise of an all-in".into()));
        }
        // All-in may be less than a raise otherwise has to add.
        let least = rounded_chips((highest + state.increase.max(LEAST_CHIPS)).min(stack));
        let is_all_in = rounded_chips(to) == rounded_chips(stack);
        if !(is_all_in || (least..=stack).contains(&to)) {
            return Err(refuse(format!("a raise to {least} … {stack} there")));
        }
        let to = if is_all_in { stack } else { to };
        if self.actions(&state, seat).into_iter().any(|action| same(action, Action::Raise(to))) {
            return Err(refuse("an action that the sizes do not make already".into()));
        }
        let node = self.lines.insert(steps.into_iter().map(|(_, action)| action));
        self.lines.add(node, to);
        // The whole line again: a `/` that is missing before the raise is found here.
        self.follow(field, line).map(drop)
    }

    /// Removes the action at the end of a line.
    pub(super) fn remove(&mut self, line: &str) -> Result<()> {
        let field = "removed_lines";
        let refuse = |allowed: &str| Error::option(field, format!("'{line}'"), allowed);
        let (mut steps, _) = self.follow(field, line)?;
        let Some((before, action)) = steps.pop() else { return Err(refuse("a history of at least one action")) };
        let node = self.lines.insert(steps.into_iter().map(|(_, action)| action));
        self.lines.remove(node, action);
        if self.choices(&State { edited: Some(node), ..before }).is_empty() {
            return Err(refuse("a line beside which another action is left"));
        }
        Ok(())
    }
}

/// The spelling of an action in a history.
fn spell(action: Action) -> String {
    match action {
        Action::Fold => "f".to_string(),
        Action::Call => "c".to_string(),
        Action::Raise(to) => format!("r{}", rounded_chips(to)),
    }
}
