//! Prizes of a tournament, by the independent chip model of Malmuth and Harville.

use crate::{Error, Result};

/// Most players who are not in the hand: the model goes through all sets of players.
const MOST_OTHERS: usize = 8;
/// Most seats of the hand.
const MOST_SEATS: usize = 2;

/// A tournament whose prizes are played for, rather than chips.
///
/// Under the independent chip model, a player finishes first with probability equal to its share of all chips, second with its share of the chips of the players who are left, and so on; a stack is
/// worth the prize that it expects. Players without chips finish last, in random order.
///
/// ```
/// use warpplay::cfr::game::Icm;
/// let icm = Icm { stacks: vec![50.0, 30.0], others: vec![20.0], prizes: vec![50.0, 30.0, 20.0] };
/// let prizes = icm.expected_prizes(&[50.0, 30.0])?;
/// // First half the time, second after either of the others, else third.
/// let second = 0.3 * 50.0 / 70.0 + 0.2 * 50.0 / 80.0;
/// assert!((prizes[0] - (0.5 * 50.0 + second * 30.0 + (0.5 - second) * 20.0)).abs() < 1e-12);
/// # Ok::<(), warpplay::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Icm {
    /// Chips of each seat of the hand at its start, without the pot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<f64>,
    /// Chips of the players who are not in the hand.
    pub others: Vec<f64>,
    /// Prizes by place, first place first; later places win nothing.
    pub prizes: Vec<f64>,
}

fn list(values: &[f64]) -> String {
    values.iter().map(f64::to_string).collect::<Vec<_>>().join(", ")
}

fn are(values: &[f64], good: fn(f64) -> bool) -> bool {
    values.iter().all(|&value| value.is_finite() && good(value))
}

impl Icm {
    /// Checks the numbers, for a hand in which each seat can put in `effective_stack`.
    ///
    /// # Errors
    /// [`Error::Option`] with the field.
    pub(in crate::cfr) fn check(&self, effective_stack: f64) -> Result<()> {
        let least = self.stacks.iter().copied().fold(f64::INFINITY, f64::min);
        if self.stacks.len() != MOST_SEATS || !are(&self.stacks, |chips| chips > 0.0) || least != effective_stack {
            let allowed = format!("chips of both seats, the fewer of them the effective_stack of {effective_stack}");
            return Err(Error::option("icm.stacks", list(&self.stacks), allowed));
        }
        self.check_players(MOST_SEATS)
    }

    /// Checks prizes and chips of others beside some seats.
    fn check_players(&self, n_seats: usize) -> Result<()> {
        if self.others.len() > MOST_OTHERS || !are(&self.others, |chips| chips > 0.0) {
            let allowed = format!("chips of at most {MOST_OTHERS} players, each more than 0");
            return Err(Error::option("icm.others", list(&self.others), allowed));
        }
        let n_players = n_seats + self.others.len();
        let falls = self.prizes.is_sorted_by(|higher, lower| higher >= lower);
        if !(1..=n_players).contains(&self.prizes.len()) || !falls || !are(&self.prizes, |prize| prize >= 0.0) {
            let allowed = format!("1 to {n_players} prizes for as many players, from the highest, none below 0");
            return Err(Error::option("icm.prizes", list(&self.prizes), allowed));
        }
        Ok(())
    }

    /// The prize that each seat expects when the seats have these chips.
    ///
    /// # Errors
    /// [`Error::Option`] for more than two seats, chips below 0; more than eight `others`, or one without chips; no prize, more prizes than players, prizes that rise or are below 0; numbers that are
    /// not finite. `stacks` is not used.
    pub fn expected_prizes(&self, chips: &[f64]) -> Result<Vec<f64>> {
        if chips.len() > MOST_SEATS || !are(chips, |chips| chips >= 0.0) {
            return Err(Error::option("chips", list(chips), format!("those of at most {MOST_SEATS} seats, 0 or more")));
        }
        self.check_players(chips.len())?;
        Ok(self.expected(chips))
    }

    fn expected(&self, chips: &[f64]) -> Vec<f64> {
        let players: Vec<f64> = chips.iter().chain(&self.others).map(|chips| chips.max(0.0)).collect();
        let n_places = self.prizes.len().min(players.len());
        let mut expected = vec![0.0; chips.len()];
        // By set of players: the probability that they take the first places.
        let mut taken = vec![0.0; 1 << players.len()];
        taken[0] = 1.0;
        for set in 0..taken.len() {
            let place = set.count_ones() as usize;
            if place >= n_places || taken[set] == 0.0 {
                continue;
            }
            let left = || (0..players.len()).filter(|player| set >> player & 1 == 0);
            let chips_left: f64 = left().map(|player| players[player]).sum();
            let equal = 1.0 / (players.len() - place) as f64;
            for player in left() {
                // Players who are all without chips come in any order.
                let next = if chips_left > 0.0 { players[player] / chips_left } else { equal };
                let probability = taken[set] * next;
                taken[set | 1 << player] += probability;
                if let Some(expected) = expected.get_mut(player) {
                    *expected += probability * self.prizes[place];
                }
            }
        }
        expected
    }

    /// The prize that each seat expects if another gets the `dead` money at once; if there are several others, each of them the same part.
    pub(in crate::cfr) fn prizes_without_pot(&self, dead: f64) -> Vec<f64> {
        let part = dead / self.stacks.len().saturating_sub(1).max(1) as f64;
        let without = |seat: usize| {
            let chips = |(other, &stack): (usize, &f64)| if other == seat { stack } else { stack + part };
            let chips: Vec<f64> = self.stacks.iter().enumerate().map(chips).collect();
            self.expected(&chips)[seat]
        };
        (0..self.stacks.len()).map(without).collect()
    }

    /// Converts net winnings in chips to prizes, net of [`prizes_without_pot`](Self::prizes_without_pot).
    pub(super) fn net(&self, gains: &[f64], dead: f64) -> Vec<f64> {
        let chips: Vec<f64> = self.stacks.iter().zip(gains).map(|(stack, gain)| stack + gain).collect();
        let prizes = self.expected(&chips).into_iter().zip(self.prizes_without_pot(dead));
        prizes.map(|(prize, without)| prize - without).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn icm(others: &[f64], prizes: &[f64]) -> Icm {
        Icm { stacks: vec![100.0, 100.0], others: others.to_vec(), prizes: prizes.to_vec() }
    }

    /// Goes through all orders of the players.
    fn by_orders(chips: &[f64], prizes: &[f64], left: &[usize], place: usize, probability: f64, expected: &mut [f64]) {
        let all: f64 = left.iter().map(|&player| chips[player]).sum();
        for &player in left {
            let probability = probability * chips[player] / all;
            expected[player] += probability * prizes.get(place).copied().unwrap_or(0.0);
            let rest: Vec<usize> = left.iter().copied().filter(|&other| other != player).collect();
            by_orders(chips, prizes, &rest, place + 1, probability, expected);
        }
    }

    #[test]
    fn prizes_are_those_of_all_orders() {
        for (others, prizes) in [
            (&[100.0][..], &[50.0, 30.0, 20.0][..]),
            (&[70.0, 10.0], &[60.0, 40.0]),
            (&[250.0, 40.0, 40.0], &[5.0, 4.0, 3.0, 2.0, 1.0]),
            (&[], &[2.0, 1.0]),
        ] {
            let chips = [[80.0, 120.0], [150.0, 50.0]];
            for chips in chips {
                let all: Vec<f64> = chips.iter().chain(others).copied().collect();
                let mut want = vec![0.0; all.len()];
                by_orders(&all, prizes, &(0..all.len()).collect::<Vec<_>>(), 0, 1.0, &mut want);
                let got = icm(others, prizes).expected(&chips);
                // Sums of at most 120 orders, each a product of a few roundings.
                assert!(got.iter().zip(&want).all(|(got, want)| (got - want).abs() < 1e-11), "{got:?}, {want:?}");
            }
        }
    }

    #[test]
    fn who_has_no_chips_is_last() {
        assert_eq!(icm(&[100.0], &[50.0, 30.0, 20.0]).expected(&[300.0, 0.0])[1], 20.0);
        assert_eq!(icm(&[100.0], &[50.0, 30.0]).expected(&[300.0, 0.0])[1], 0.0);
        assert_eq!(icm(&[], &[2.0, 1.0]).expected(&[0.0, 300.0]), [1.0, 2.0]);
        // The winner of 300 of 400 chips is first with probability 3/4, else second.
        assert_eq!(icm(&[100.0], &[50.0, 30.0, 20.0]).expected(&[300.0, 0.0])[0], 0.75 * 50.0 + 0.25 * 30.0);
    }

    #[test]
    fn one_prize_for_the_first_is_worth_its_part_of_the_chips() {
        let icm = icm(&[200.0], &[400.0]);
        assert_eq!(icm.net(&[-25.0, 125.0], 100.0), [-25.0, 125.0].map(|gain| gain * 400.0 / 500.0));
    }
}
