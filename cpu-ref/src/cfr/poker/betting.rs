//! The state of the betting, without cards.

use super::{Bet, Rules};

/// What a player does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Gives up the hand.
    Fold,
    /// Checks or calls.
    Call,
    /// Bets or raises to this total number of chips over all rounds.
    Raise(u32),
}

/// The state of the betting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Betting {
    /// The round, from 0; at the end the round of the last action.
    pub round: usize,
    /// Chips put in so far, by seat.
    pub contributed: Vec<u32>,
    /// Whether each seat has folded.
    pub folded: Vec<bool>,
    /// The seat to act; `None` when the hand is over.
    pub turn: Option<usize>,
    /// The actions so far, with `/` between rounds, and `r<chips>` in no-limit.
    pub history: String,
    /// Seats that must still act in this round.
    pending: Vec<bool>,
    raises: u32,
    /// The smallest total of a no-limit raise.
    least_raise_to: u32,
}

impl Betting {
    /// The beginning of a hand, blinds paid.
    pub fn new(rules: &Rules) -> Self {
        let highest = rules.blinds.iter().copied().max().unwrap_or(0);
        let mut betting = Self {
            round: 0,
            contributed: rules.blinds.clone(),
            folded: vec![false; rules.n_players()],
            turn: None,
            history: String::new(),
            pending: Vec::new(),
            raises: 0,
            least_raise_to: (2 * highest).max(1),
        };
        betting.open_round(rules);
        betting
    }

    /// Chips of the highest bet.
    pub fn highest(&self) -> u32 {
        self.contributed.iter().copied().max().unwrap_or(0)
    }

    /// Seats that have not folded.
    pub fn n_left(&self) -> usize {
        self.folded.iter().filter(|&&folded| !folded).count()
    }

    fn can_act(&self, rules: &Rules, seat: usize) -> bool {
        !self.folded[seat] && self.contributed[seat] < rules.stack(seat)
    }

    fn n_can_act(&self, rules: &Rules) -> usize {
        (0..rules.n_players()).filter(|&seat| self.can_act(rules, seat)).count()
    }

    /// Opens a round: every seat with chips must act, unless no opponent is left to bet against and there is nothing to call.
    fn open_round(&mut self, rules: &Rules) {
        let highest = self.highest();
        let alone = self.n_can_act(rules) <= 1;
        self.pending = (0..rules.n_players())
            .map(|seat| self.can_act(rules, seat) && !(alone && self.contributed[seat] == highest))
            .collect();
        self.raises = 0;
        self.turn = self.next_pending(rules.first_players[self.round]);
    }

    /// The first seat from `from` on, clockwise, that must act.
    fn next_pending(&self, from: usize) -> Option<usize> {
        let n = self.pending.len();
        (0..n).map(|step| (from + step) % n).find(|&seat| self.pending[seat])
    }

    /// The legal actions of the acting seat: fold, call, raises from the smallest. Empty when the hand is over.
    pub fn actions(&self, rules: &Rules) -> Vec<Action> {
        let Some(seat) = self.turn else { return Vec::new() };
        let (highest, stack) = (self.highest(), rules.stack(seat));
        let mut actions = Vec::new();
        if self.contributed[seat] < highest {
            actions.push(Action::Fold);
        }
        actions.push(Action::Call);
        if self.raises < rules.max_raises[self.round] && self.n_can_act(rules) > 1 && stack > highest {
            if let Some(sizes) = rules.bet_sizes.get(self.round) {
                let least = self.least_raise_to.min(stack);
                let pot = self.contributed.iter().copied().map(f64::from).sum::<f64>()
                    + f64::from(highest - self.contributed[seat]);
                let to = |size: &Bet| match *size {
                    Bet::Pot(parts) => f64::from(highest) + (pot * f64::from(parts) / 1000.0 + 0.5).floor(),
                    Bet::Chips(chips) => f64::from(highest) + f64::from(chips),
                    Bet::AllIn => f64::from(stack),
                };
                let totals = sizes.iter().map(|size| to(size).clamp(f64::from(least), f64::from(stack)) as u32);
                // In a set each is once, the smallest first.
                actions.extend(totals.collect::<std::collections::BTreeSet<u32>>().into_iter().map(Action::Raise));
            } else if rules.no_limit {
                actions.extend((self.least_raise_to.min(stack)..=stack).map(Action::Raise));
            } else {
                actions.push(Action::Raise(stack.min(highest.saturating_add(rules.raise_sizes[self.round]))));
            }
        }
        actions
    }

    /// The state after a legal action.
    ///
    /// # Panics
    /// If the hand is over.
    pub fn after(&self, rules: &Rules, action: Action) -> Self {
        let seat = self.turn.expect("the hand is not over");
        let mut next = self.clone();
        let highest = self.highest();
        next.pending[seat] = false;
        match action {
            Action::Fold => {
                next.folded[seat] = true;
                next.history.push('f');
            }
            Action::Call => {
                next.contributed[seat] = highest.min(rules.stack(seat));
                next.history.push('c');
            }
            Action::Raise(to) => {
                next.contributed[seat] = to;
                next.history.push('r');
                if rules.no_limit {
                    next.history.push_str(&to.to_string());
                }
                next.raises += 1;
                next.least_raise_to = self.least_raise_to.max(to.saturating_mul(2).saturating_sub(highest));
                next.pending =
                    (0..rules.n_players()).map(|other| other != seat && next.can_act(rules, other)).collect();
            }
        }
        next.go_on(rules, seat);
        next
    }

    /// Finds the seat to act after `seat`, in this round or in the next.
    fn go_on(&mut self, rules: &Rules, seat: usize) {
        if self.n_left() == 1 {
            self.turn = None;
            return;
        }
        self.turn = self.next_pending(seat + 1);
        if self.turn.is_none() && self.n_can_act(rules) > 1 && self.round + 1 < rules.n_rounds() {
            self.round += 1;
            self.history.push('/');
            let largest_blind = rules.blinds.iter().copied().max().unwrap_or(0);
            self.least_raise_to = self.highest().saturating_add(largest_blind.max(1));
            self.open_round(rules);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(rules: &Rules, betting: &Betting) -> (usize, usize, usize) {
        let actions = betting.actions(rules);
        if actions.is_empty() {
            return (0, 1, 0);
        }
        actions.iter().fold((1, 0, 0), |(decisions, ends, levels), &action| {
            let (d, e, l) = nodes(rules, &betting.after(rules, action));
            (decisions + d, ends + e, levels.max(l + 1))
        })
    }

    #[test]
    fn betting_trees_have_the_published_sizes() {
        let count = |rules: &Rules| nodes(rules, &Betting::new(rules));
        assert_eq!(count(&Rules::kuhn(2)), (4, 5, 3));
        assert_eq!(count(&Rules::kuhn(3)), (12, 13, 5));
        assert_eq!(count(&Rules::leduc(2)), (36, 49, 8));
        let (decisions, ends, _) = count(&Rules::leduc(3));
        assert_eq!((decisions, ends), (489, 631));
        let variant_c = Rules {
            blinds: vec![1; 5],
            stacks: Some(vec![100; 5]),
            max_raises: vec![4],
            deck: super::super::Deck { n_suits: 4, n_ranks: 6 },
            n_hole_cards: 2,
            n_board_cards: vec![1],
            ..Rules::kuhn(2)
        };
        assert_eq!(count(&variant_c), (21_285, 25_311, 21));
        let holdem = Rules {
            blinds: vec![10, 5],
            raise_sizes: vec![10, 10, 20, 20],
            first_players: vec![1, 0, 0, 0],
            max_raises: vec![3, 4, 4, 4],
            n_board_cards: vec![0, 3, 1, 1],
            ..Rules::kuhn(2)
        };
        let (decisions, ends, _) = count(&holdem);
        assert_eq!((decisions, ends), (6_378, 10_206));
    }

    #[test]
    fn a_short_stack_goes_all_in_and_is_passed() {
        let rules = Rules {
            no_limit: true,
            stacks: Some(vec![20, 5, 20]),
            blinds: vec![1, 2, 0],
            raise_sizes: vec![],
            first_players: vec![2, 0],
            max_raises: vec![255; 2],
            n_board_cards: vec![0, 1],
            ..Rules::leduc(3)
        };
        let start = Betting::new(&rules);
        assert_eq!(start.turn, Some(2));
        assert_eq!(start.actions(&rules)[2], Action::Raise(4));
        let raised = start.after(&rules, Action::Raise(6)).after(&rules, Action::Call);
        assert_eq!(raised.turn, Some(1));
        assert_eq!(raised.actions(&rules), [Action::Fold, Action::Call]);
        let next = raised.after(&rules, Action::Call);
        assert_eq!((next.round, next.turn, &next.contributed[..]), (1, Some(0), &[6, 5, 6][..]));
        assert_eq!(next.actions(&rules)[1], Action::Raise(8));
        let after = next.after(&rules, Action::Call);
        assert_eq!(after.turn, Some(2));
    }
}
