//! The state machine: whose turn it is, what is legal, what an action does.

use super::Action;
use crate::cfr::game::game_file::{GameDef, MAX_PLAYERS};
use crate::{Error, Result};

/// Chips of a seat with an unlimited stack: below the largest integer that a double represents exactly.
const UNBOUNDED: u64 = 1 << 52;

/// A state of the betting in a hand, played by the rules of a [`GameDef`].
#[derive(Clone, Copy, Debug)]
pub struct BettingState<'a> {
    rules: &'a GameDef,
    pub(super) at: Position,
}

/// The fields that distinguish one state of the betting from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Position {
    /// Chips put in, by seat.
    spent: [u64; MAX_PLAYERS],
    /// The highest bet.
    highest: u64,
    /// The smallest total to which a no-limit raise may go, regardless of stacks.
    least_raise: u64,
    /// Seats that folded.
    folded: u16,
    /// Seats that called or made the last raise of the round, or checked since its start.
    called: u16,
    raises: u16,
    round: u8,
    /// The seat to act; `None` at the end.
    turn: Option<u8>,
}

impl<'a> BettingState<'a> {
    /// The start of a hand, after the blinds.
    ///
    /// # Errors
    /// [`Error::Option`] if the rules cannot be played.
    pub fn new(rules: &'a GameDef) -> Result<Self> {
        rules.check()?;
        let mut spent = [0; MAX_PLAYERS];
        for (spent, &blind) in spent.iter_mut().zip(&rules.blinds) {
            *spent = blind.into();
        }
        let highest = spent.into_iter().max().unwrap_or(0);
        let least_raise = (2 * highest).max(1);
        let at = Position { spent, highest, least_raise, folded: 0, called: 0, raises: 0, round: 0, turn: None };
        let mut state = Self { rules, at };
        // Blinds may have left nobody who could change anything.
        if state.able().count() > 1 || state.able().any(|seat| state.owes(seat)) {
            state.at.turn = state.next_from(rules.first_players[0]);
        }
        Ok(state)
    }

    /// The seat to act; `None` when the betting is over.
    pub fn turn(&self) -> Option<usize> {
        self.at.turn.map(usize::from)
    }

    /// Betting round, from 0; at the end, the round of the last action.
    pub fn round(&self) -> usize {
        self.at.round.into()
    }

    /// Chips put in so far, by seat.
    pub fn contributed(&self) -> Vec<f64> {
        self.at.spent[..self.rules.n_players].iter().map(|&chips| chips as f64).collect()
    }

    /// Seats that folded: bit `seat`.
    pub fn folded(&self) -> u32 {
        self.at.folded.into()
    }

    /// The smallest and the largest total to which the acting seat may raise; equal in limit. `None` if it may not raise.
    ///
    /// A raise needs chips above the highest bet, a raise left in the round, and another seat that can still act. In limit it adds the round's size, or goes to the stack.
    /// In no-limit the smallest is the highest bet plus the increase of the last raise, or all-in if that is less; an all-in below the smallest raise does not change the
    /// smallest raise.
    pub fn raise_range(&self) -> Option<(u64, u64)> {
        let seat = self.turn()?;
        let at = &self.at;
        let round = self.round();
        let stack = self.stack(seat);
        if u32::from(at.raises) >= self.rules.max_raises[round] || self.able().count() < 2 || stack <= at.highest {
            return None;
        }
        if self.rules.no_limit {
            return Some((at.least_raise.min(stack), stack));
        }
        let to = (at.highest + u64::from(self.rules.raise_sizes[round])).min(stack);
        Some((to, to))
    }

    /// The totals of the menu's raises, ascending; `None` where every total is one.
    fn menu(&self) -> Option<Vec<u64>> {
        let (seat, sizes) = (self.turn()?, self.rules.bet_sizes.get(self.round())?);
        let Some((least, most)) = self.raise_range() else { return Some(Vec::new()) };
        let (at, paid) = (&self.at, &self.at.spent[..self.rules.n_players]);
        let pot = paid.iter().sum::<u64>() + at.highest - at.spent[seat];
        let mut totals: Vec<u64> =
            sizes.iter().map(|size| size.total(at.highest, pot, most).clamp(least, most)).collect();
        totals.sort_unstable();
        totals.dedup();
        Some(totals)
    }

    /// Number of raises among the actions.
    pub(super) fn n_raises(&self) -> u64 {
        match self.menu() {
            Some(totals) => totals.len() as u64,
            None => self.raise_range().map_or(0, |(least, most)| most - least + 1),
        }
    }

    /// The legal actions: fold (if there is a bet to call), call, raises from the smallest, in no-limit to every whole number of chips or those of the game's menu; none at the end. In no-limit there
    /// may be very many; [`BettingState::raise_range`] gives their number without collecting them.
    pub fn actions(&self) -> impl Iterator<Item = Action> + use<> {
        let menu = self.menu();
        // With a menu no other raise is one.
        let range = self.raise_range().filter(|_| menu.is_none());
        let fold = self.turn().is_some_and(|seat| self.owes(seat)).then_some(Action::Fold);
        let call = self.turn().map(|_| Action::Call);
        let raises = range.into_iter().flat_map(|(least, most)| least..=most).chain(menu.into_iter().flatten());
        fold.into_iter().chain(call).chain(raises.map(|to| Action::Raise(to as f64)))
    }

    /// The state after an action.
    ///
    /// # Errors
    /// [`Error::Moves`] if it is not legal.
    pub fn play(&self, action: Action) -> Result<Self> {
        let legal = self.turn().is_some_and(|seat| match action {
            Action::Fold => self.owes(seat),
            Action::Call => true,
            Action::Raise(to) => match self.menu() {
                Some(totals) => totals.iter().any(|&total| total as f64 == to),
                None => self
                    .raise_range()
                    .is_some_and(|(least, most)| to.fract() == 0.0 && to >= least as f64 && to <= most as f64),
            },
        });
        if !legal {
            let reason = match (self.turn(), self.raise_range()) {
                (None, _) => "the betting is over: no action is left".to_string(),
                (Some(seat), range) => {
                    let fold = if self.owes(seat) { "fold, call" } else { "call (check)" };
                    let raise = match range {
                        _ if self.menu().is_some() => {
                            self.menu().into_iter().flatten().map(|total| format!(", raise to {total}")).collect()
                        }
                        None => String::new(),
                        Some((least, most)) if least == most => format!(", raise to {least}"),
                        Some((least, most)) => format!(", raise to {least} … {most} in whole chips"),
                    };
                    format!("{action:?} of seat {} is not legal: expected {fold}{raise}", seat + 1)
                }
            };
            return Err(Error::Moves { game: "poker", reason });
        }
        Ok(self.after(action))
    }

    /// The state after a legal action.
    pub(super) fn after(mut self, action: Action) -> Self {
        let Some(turn) = self.at.turn else { return self };
        let (seat, bit) = (usize::from(turn), 1u16 << turn);
        match action {
            Action::Fold => self.at.folded |= bit,
            Action::Call => {
                self.at.spent[seat] = self.at.highest.min(self.stack(seat));
                self.at.called |= bit;
            }
            Action::Raise(to) => {
                let to = to as u64;
                self.at.least_raise = self.at.least_raise.max(2 * to - self.at.highest);
                self.at.highest = to;
                self.at.spent[seat] = to;
                self.at.raises += 1;
                self.at.called = bit;
            }
        }
        self.at.turn = if self.rules.n_players - self.at.folded.count_ones() as usize == 1 {
            None
        } else if self.able().all(|seat| self.at.called >> seat & 1 == 1) {
            self.next_round()
        } else {
            self.next_from(seat + 1)
        };
        self
    }

    /// Moves on to the next round, if there is one and at least two seats can act in it. Returns the seat to act.
    fn next_round(&mut self) -> Option<u8> {
        let next = self.round() + 1;
        if next == self.rules.n_rounds || self.able().count() < 2 {
            return None;
        }
        let largest_blind = self.rules.blinds.iter().copied().max().unwrap_or(0);
        self.at.round += 1;
        self.at.raises = 0;
        self.at.called = 0;
        self.at.least_raise = self.at.highest + u64::from(largest_blind.max(1));
        self.next_from(self.rules.first_players[next])
    }

    /// The first seat from `seat` on, clockwise, that can act.
    fn next_from(&self, seat: usize) -> Option<u8> {
        let n = self.rules.n_players;
        (seat..seat + n).map(|seat| seat % n).find(|&seat| self.can_act(seat)).map(|seat| seat as u8)
    }

    fn stack(&self, seat: usize) -> u64 {
        self.rules.stacks.as_ref().map_or(UNBOUNDED, |stacks| stacks[seat].into())
    }

    /// Whether a seat has neither folded nor put in all it has.
    fn can_act(&self, seat: usize) -> bool {
        self.at.folded >> seat & 1 == 0 && self.at.spent[seat] < self.stack(seat)
    }

    /// The seats that can act.
    fn able(&self) -> impl Iterator<Item = usize> {
        (0..self.rules.n_players).filter(|&seat| self.can_act(seat))
    }

    /// Whether a seat has put in less than the highest bet.
    fn owes(&self, seat: usize) -> bool {
        self.at.spent[seat] < self.at.highest
    }
}
