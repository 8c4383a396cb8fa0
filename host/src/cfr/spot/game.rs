//! A spot checked and laid out in vector form.

use super::betting::{STREETS, tree};
use super::file::{Spot, Streets};
use super::locks;
use super::range::{Range, Weighted};
use super::sizes::{self, BetSize, LEAST_CHIPS, MOST_CHIPS, SeatSizes};
use super::thresholds;
use crate::cfr::game::betting::{BettingTree, Icm};
use crate::cfr::game::cards::{CardSet, Deck, set_of};
use crate::cfr::layout::{Setup, VectorGame};
use crate::runtime::error::shown_number;
use crate::{Error, Result};

/// The least weight of a hand of a range as a part of the largest, and the least that this one may be: in single precision smaller ones would not be learnt from.
pub(super) const LEAST_WEIGHT: f64 = 1e-6;

/// The sizes of a field on all streets and of both seats.
fn all_sizes(sizes: Option<&Streets<SeatSizes>>) -> impl Iterator<Item = BetSize> {
    let streets = sizes.into_iter().flat_map(|sizes| [&sizes.flop, &sizes.turn, &sizes.river]).flatten();
    streets.flat_map(|sizes| sizes.of(0).iter().chain(sizes.of(1))).copied()
}

impl Spot {
    /// The spot in vector form, and its betting tree.
    ///
    /// * `isomorphism`: keep one board of each class of boards that differ only by renaming suits, as far as ranges and locks allow.
    ///
    /// # Errors
    /// [`Error::Option`] with the field if the spot cannot be played: cards that collide, ranges without compatible hands, chips or sizes that are not positive, locks that
    /// do not fit their node; [`Error::Moves`] for a lock's history; as [`VectorGame::from_game`].
    pub fn build(&self, isomorphism: bool) -> Result<(VectorGame, BettingTree)> {
        let (first_street, board) = self.board()?;
        self.check_chips(first_street)?;
        let ranges = [self.range(0, board)?, self.range(1, board)?];
        let tree = tree(self, first_street)?;
        let locks = locks::locks(&self.locks, &tree, &ranges, &self.ranges, board)?;
        let n_dealt = [0, 1, 1];
        let game = VectorGame::from_setup(&Setup {
            deck: Deck::FULL,
            n_hole: 2,
            board,
            n_dealt: &n_dealt[..STREETS.len() - first_street],
            ranges,
            tree: &tree,
            locks: &locks,
            gadget: None,
            isomorphism,
        })?;
        Ok((game, tree))
    }

    /// The first street, 0 for the flop, and the board.
    pub(super) fn board(&self) -> Result<(usize, CardSet)> {
        let mut board: CardSet = 0;
        let mut add = |name: &'static str, text: &str, n: usize| {
            let wrong = |why: &str| {
                let cards = if n == 1 { "one card, as 2d" } else { "three different cards, as Qs Jh 2h" };
                Error::option(name, format!("'{text}'"), format!("{cards}{why}"))
            };
            let cards = Deck::FULL.cards(text).map_err(|error| match error {
                Error::Option { value, allowed, .. } => wrong(&format!("; {value} is not: {allowed}")),
                _ => wrong(""),
            })?;
            if cards.len() != n {
                return Err(wrong(""));
            }
            if set_of(&cards) & board != 0 {
                return Err(Error::option(
                    name,
                    format!("'{text}'"),
                    format!("cards that are not on the board: {}", Deck::FULL.names(board)),
                ));
            }
            board |= set_of(&cards);
            Ok(())
        };
        if self.flop.trim().is_empty() {
            let allowed = "three different cards, as Qs Jh 2h; solve-boards (solve_boards in the library) solves a spot on many flops";
            return Err(Error::option("flop", "''", allowed));
        }
        add("flop", &self.flop, 3)?;
        let first_street = match (&self.turn, &self.river) {
            (None, None) => 0,
            (None, Some(river)) => return Err(Error::option("river", river, "a river only with a turn")),
            (Some(turn), None) => add("turn", turn, 1).map(|()| 1)?,
            (Some(turn), Some(river)) => {
                add("turn", turn, 1)?;
                add("river", river, 1).map(|()| 2)?
            }
        };
        Ok((first_street, board))
    }

    fn check_chips(&self, first_street: usize) -> Result<()> {
        let positive = |name: &'static str, value: f64| {
            let allowed = || format!("{LEAST_CHIPS:e} to {MOST_CHIPS:e} chips");
            let is_good = (LEAST_CHIPS..=MOST_CHIPS).contains(&value);
            if is_good { Ok(()) } else { Err(Error::option(name, shown_number(value), allowed())) }
        };
        positive("pot", self.pot)?;
        positive("effective_stack", self.effective_stack)?;
        if let Some(part) = self.bet_fraction_of_pot {
            sizes::check_part(self.pot, "bet_fraction_of_pot", part, part.to_string())?;
        }
        let fields = [("bet_sizes", &self.bet_sizes, false), ("raise_sizes", &self.raise_sizes, true)];
        for (name, of_streets, is_raise) in fields {
            all_sizes(of_streets.as_ref()).try_for_each(|size| sizes::check(self.pot, name, size, is_raise))?;
        }
        if let Some(sizes) = &self.donk_sizes {
            if sizes.flop.is_some() {
                let allowed = "turn and river: no street before the flop has a bet";
                return Err(Error::option("donk_sizes", "sizes for the flop", allowed));
            }
            let mut sizes = [&sizes.turn, &sizes.river].into_iter().flatten().flatten();
            sizes.try_for_each(|&size| sizes::check(self.pot, "donk_sizes", size, false))?;
        }
        thresholds::check(self)?;
        for (street, name) in STREETS.iter().enumerate().skip(first_street) {
            match &self.limit {
                Some(limit) => match limit.get(street) {
                    Some(&chips) => positive("limit", chips)?,
                    None => {
                        return Err(Error::option(
                            "limit",
                            format!("nothing for the {name}"),
                            "chips for every street to come",
                        ));
                    }
                },
                None if self.bet_fraction_of_pot.is_none()
                    && self.bet_sizes.as_ref().is_none_or(|sizes| sizes.get(street).is_none()) =>
                {
                    let allowed = "sizes for every street to come, or bet_fraction_of_pot, or limit";
                    return Err(Error::option("bet_sizes", format!("nothing for the {name}"), allowed));
                }
                None => {}
            }
        }
        if self.limit.is_some() && (self.bet_sizes.is_some() || self.raise_sizes.is_some() || self.donk_sizes.is_some())
        {
            return Err(Error::option("limit", "given", "limit, or bet_sizes, raise_sizes and donk_sizes, not both"));
        }
        if let (Some(_), Some(line)) = (&self.limit, self.added_lines.first()) {
            let allowed = "nothing beside limit, whose bets have one size";
            return Err(Error::option("added_lines", format!("'{line}'"), allowed));
        }
        if let Some(rake) = self.rake {
            if !(0.0..=1.0).contains(&rake.part) {
                return Err(Error::option("rake.part", rake.part, "0 to 1"));
            }
            if rake.cap < 0.0 || rake.cap.is_nan() {
                return Err(Error::option("rake.cap", rake.cap, "0 or more"));
            }
        }
        self.icm().map_or(Ok(()), |icm| icm.check(self.effective_stack))
    }

    /// The tournament with the stacks of both seats.
    pub(super) fn icm(&self) -> Option<Icm> {
        let mut icm = self.icm.clone()?;
        if icm.stacks.is_empty() {
            icm.stacks = vec![self.effective_stack; 2];
        }
        Some(icm)
    }

    pub(super) fn range(&self, seat: usize, board: CardSet) -> Result<Weighted> {
        let range = Range::parse(&self.ranges[seat]).map_err(|error| match error {
            Error::Option { value, allowed, .. } => Error::option("ranges", format!("seat {seat}: {value}"), allowed),
            other => other,
        })?;
        let all = range.hands(0);
        let most = all.iter().map(|&(_, weight)| weight).fold(0.0, f64::max);
        let least = if most < LEAST_WEIGHT { LEAST_WEIGHT } else { LEAST_WEIGHT * most };
        if let Some((hand, weight)) = all.into_iter().find(|&(_, weight)| weight < least) {
            let value = format!("seat {seat}: weight {} of {}", shown_number(weight), Deck::FULL.names(hand));
            let allowed = format!("0, or at least {least:e}: {LEAST_WEIGHT:e} of the range's largest weight");
            return Err(Error::option("ranges", value, allowed));
        }
        let hands = range.hands(board);
        if hands.is_empty() {
            return Err(Error::option(
                "ranges",
                format!("seat {seat}: no hand"),
                "a range that the board does not block",
            ));
        }
        Ok(hands)
    }
}
