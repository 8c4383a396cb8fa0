//! Bets near all-in, and bets near each other.

use super::file::Spot;
use super::sizes::Turn;
use crate::cfr::game::betting::rounded_chips;
use crate::{Error, Result};

/// The largest threshold: no stack that matters is a larger multiple of the pot, so it was most likely meant as percent.
const LARGEST: f64 = 20.0;

/// Applies the spot's thresholds to the totals to which a seat may bet or raise. Returns them in rising order.
pub(super) fn apply(spot: &Spot, turn: &Turn, mut totals: Vec<f64>) -> Vec<f64> {
    // Compared as rounded to the nine decimals that histories have.
    let within = |behind: f64, part: Option<f64>, pot: f64| {
        part.is_some_and(|part| rounded_chips(behind) <= rounded_chips(part * pot))
    };
    let pot_after_call = |to: f64| turn.dead + 2.0 * to;
    if !totals.is_empty() && within(turn.stack - turn.highest, spot.add_all_in, turn.pot()) {
        totals.push(turn.stack);
    }
    for to in &mut totals {
        if within(turn.stack - *to, spot.force_all_in, pot_after_call(*to)) {
            *to = turn.stack;
        }
    }
    totals.retain(|&to| rounded_chips(to) > rounded_chips(turn.highest));
    totals.sort_unstable_by(f64::total_cmp);
    // Of totals that are one or close, the largest stays, which may be all-in.
    let part = |to: f64| (to - turn.highest) / turn.pot();
    let mut kept: Vec<f64> = Vec::with_capacity(totals.len());
    for to in totals.into_iter().rev() {
        let is_close = kept.last().is_some_and(|&larger| {
            rounded_chips(larger) == rounded_chips(to)
                || (1.0 + part(larger)) / (1.0 + part(to)) < 1.0 + spot.merge_sizes.unwrap_or(0.0)
        });
        if !is_close {
            kept.push(to);
        }
    }
    kept.reverse();
    kept
}

/// Checks `add_all_in`, `force_all_in` and `merge_sizes`: [`Error::Option`] outside 0 to 20, or beside `limit`.
pub(super) fn check(spot: &Spot) -> Result<()> {
    const POTS: &str = ", where 1 is the pot";
    let fields = [
        ("add_all_in", spot.add_all_in, POTS),
        ("force_all_in", spot.force_all_in, POTS),
        ("merge_sizes", spot.merge_sizes, ", where 0.1 is 10 %"),
    ];
    for (name, value, unit) in fields {
        let Some(value) = value else { continue };
        if !(0.0..=LARGEST).contains(&value) {
            return Err(Error::option(name, value, format!("0 to {LARGEST}{unit}")));
        }
        if spot.limit.is_some() {
            return Err(Error::option(name, value, "nothing beside limit, whose bets have one size"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The totals that remain of bets of these into a pot of 100 with 300 behind.
    fn kept(changes: &str, totals: &[f64]) -> Vec<f64> {
        let text = format!(
            r#"{{"pot": 100, "effective_stack": 300, "bet_fraction_of_pot": 1, "flop": "Qs Jh 2h", "ranges": ["AA", "KK"]{changes}}}"#
        );
        let spot = Spot::parse(&text).expect("good JSON");
        let turn = Turn { dead: 100.0, street_start: 0.0, highest: 0.0, increase: 0.0, stack: 300.0, streets_left: 3 };
        apply(&spot, &turn, totals.to_vec())
    }

    #[test]
    fn an_all_in_is_added_up_to_a_part_of_the_pot() {
        assert_eq!(kept("", &[50.0]), [50.0]);
        assert_eq!(kept(r#", "add_all_in": 3"#, &[50.0]), [50.0, 300.0]);
        assert_eq!(kept(r#", "add_all_in": 2.99"#, &[50.0]), [50.0]);
        // Where nobody may bet, nobody may bet all-in.
        assert!(kept(r#", "add_all_in": 3"#, &[]).is_empty());
    }

    #[test]
    fn a_bet_that_leaves_little_is_all_in() {
        // A bet of b that is called leaves 300 − b and makes a pot of 100 + 2b. At 200 these are 100 and 500.
        assert_eq!(kept(r#", "force_all_in": 0.2"#, &[100.0, 199.0, 200.0]), [100.0, 199.0, 300.0]);
        assert_eq!(kept(r#", "force_all_in": 0.2"#, &[200.0, 250.0, 300.0]), [300.0]);
        assert_eq!(kept(r#", "force_all_in": 0"#, &[299.0]), [299.0]);
    }

    #[test]
    fn the_largest_of_sizes_that_are_close_stays() {
        // The pot with a bet of 60 % is 1.6 of 1.5 with half the pot: 6.7 % more; 1.66 is 3.75 % more than 1.6.
        assert_eq!(kept(r#", "merge_sizes": 0.06"#, &[50.0, 60.0]), [50.0, 60.0]);
        assert_eq!(kept(r#", "merge_sizes": 0.07"#, &[50.0, 60.0]), [60.0]);
        // Each is compared with the one that stays: 1.66 of 1.5 is 10.7 % more.
        assert_eq!(kept(r#", "merge_sizes": 0.1"#, &[66.0, 60.0, 50.0]), [50.0, 66.0]);
        assert_eq!(kept(r#", "merge_sizes": 0.1"#, &[280.0, 300.0]), [300.0]);
        // Without the field, only sizes that are the same are merged.
        assert_eq!(kept("", &[50.0, 50.0, 50.001]), [50.0, 50.001]);
    }

    #[test]
    fn mistakes_are_told() {
        for (changes, told) in [
            (r#", "add_all_in": -1"#, "option add_all_in: -1 is not allowed (0 to 20"),
            (r#", "force_all_in": 67"#, "option force_all_in: 67"),
            (r#", "merge_sizes": 21"#, "option merge_sizes: 21 is not allowed (0 to 20, where 0.1 is 10 %)"),
            (r#", "merge_sizes": 0.1, "limit": {"flop": 1, "turn": 1, "river": 1}"#, "nothing beside limit"),
        ] {
            let text = format!(
                r#"{{"pot": 100, "effective_stack": 300, "bet_fraction_of_pot": 1, "flop": "Qs Jh 2h", "ranges": ["AA", "KK"]{changes}}}"#
            );
            let error = check(&Spot::parse(&text).expect("good JSON")).expect_err(changes).to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
