//! Ranges of hold'em hands in the usual notation.

mod named;
mod top;

use std::borrow::Cow;

pub use named::NamedRange;

use crate::cfr::game::cards::{CardSet, Deck, RANKS, members};
use crate::{Error, Result};

/// Hands with their weights.
pub(super) type Weighted = Vec<(CardSet, f64)>;

/// Cards of the deck that ranges are about.
const N_CARDS: usize = 52;
/// Pairs of its cards.
const N_HANDS: usize = N_CARDS * (N_CARDS - 1) / 2;

/// What an error says of groups in brackets.
const GROUP: &str = "a group as [50]AA,KK[/50]: 0 to 100 per cent, the same at both ends";

/// The weight with which a player holds each of the 1,326 hands, from 0 (never) to 1.
///
/// | text | hands |
/// |---|---|
/// | `all`, `100%` | every hand |
/// | `QQ`, `AK`, `AKs`, `AKo` | a pair; two ranks, all of them, of one suit, of two |
/// | `AhKd` | one hand |
/// | `66+` | this pair and the higher ones |
/// | `A9s+` | A9s, ATs and so on to AKs: the lower card rises |
/// | `99-66`, `A5s-A2s`, `JTs-76s` | pairs; hands with the same high card; hands as far apart |
/// | `top 20%` | the hands with the highest equity against a random hand, at least a fifth of all |
/// | `@btn_open` | those of a [`NamedRange`], with their weights |
/// | `AQo:0.75`, `AQo:75%` | with this weight |
/// | `[75]AQo,KQs[/75]` | several parts with a weight in per cent |
///
/// Parts are separated by commas. If two parts name the same hand, the later one counts. `top` takes all suits of a hand, in the order of the exact equity against a random hand
/// before the flop: AA, KK, QQ and so on down to 32o. Ranges that players open or call with differ from it.
///
/// ```
/// use warpplay::cfr::spot::Range;
/// let range = Range::parse("TT+, AKs:0.5")?;
/// assert_eq!(range.hands(0).len(), 5 * 6 + 4);
/// # Ok::<(), warpplay::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// By pair of cards low < high: `high (high − 1) / 2 + low`, which is the ascending order of the sets.
    weights: Vec<f64>,
}

/// Two ranks.
#[derive(Clone, Copy, PartialEq)]
struct Group {
    high: usize,
    low: usize,
    suits: Suits,
}

#[derive(Clone, Copy, PartialEq)]
enum Suits {
    Any,
    Same,
    Different,
}

impl Range {
    /// Reads the notation.
    ///
    /// # Errors
    /// [`Error::Option`] with the part, its column and what is allowed.
    pub fn parse(text: &str) -> Result<Self> {
        let mut range = Self { weights: vec![0.0; N_HANDS] };
        let mut column = 1;
        // Weight of the parts in brackets, in per cent; and the part that has the opening one, with its column.
        let (mut group, mut opening) = (None, ("", 0));
        let wrong = |(part, at): (&str, usize), allowed: Cow<'static, str>| {
            Error::option("range", format!("'{part}' at column {at}"), allowed)
        };
        for part in text.split(',') {
            let at = column + part.chars().take_while(|letter| letter.is_whitespace()).count();
            column += part.chars().count() + 1;
            let here = (part.trim(), at);
            if group.is_none() {
                opening = here;
            }
            range.add_of_group(here.0, &mut group).map_err(|allowed| wrong(here, allowed))?;
        }
        if group.is_some() { Err(wrong(opening, GROUP.into())) } else { Ok(range) }
    }

    /// Hands of positive weight that `blocked` leaves possible, with their weights, in ascending order of the sets.
    pub fn hands(&self, blocked: CardSet) -> Vec<(CardSet, f64)> {
        let pairs = (0..N_CARDS).flat_map(|high| (0..high).map(move |low| 1u64 << high | 1 << low));
        let held = pairs.zip(self.weights.iter().copied());
        held.filter(|&(hand, weight)| weight > 0.0 && hand & blocked == 0).collect()
    }

    /// Hands that both ranges have.
    pub(super) fn both(&self, other: &Self) -> Vec<CardSet> {
        let of_other = other.hands(0).into_iter().filter(|&(hand, _)| {
            let mut cards = members(hand).map(usize::from);
            matches!((cards.next(), cards.next()), (Some(one), Some(two)) if self.weights[pair(one, two)] > 0.0)
        });
        of_other.map(|(hand, _)| hand).collect()
    }

    /// Hands of the range, each counted by its weight: 1,326 are all.
    pub fn combos(&self) -> f64 {
        self.weights.iter().sum()
    }

    /// Adds a part, which may begin or end a group.
    fn add_of_group(&mut self, part: &str, group: &mut Option<f64>) -> Result<(), Cow<'static, str>> {
        let percent = |text: &str| {
            let percent: Option<f64> = text.trim().parse().ok();
            percent.filter(|percent| (0.0..=100.0).contains(percent)).ok_or(GROUP)
        };
        let mut body = part;
        if let Some(rest) = part.strip_prefix('[').filter(|rest| !rest.starts_with('/')) {
            let (number, rest) = rest.split_once(']').ok_or(GROUP)?;
            if group.replace(percent(number)?).is_some() {
                return Err(GROUP.into());
            }
            body = rest.trim_start();
        }
        let (body, end) = body.split_once("[/").map_or((body, None), |(body, end)| (body.trim_end(), Some(end)));
        self.add(body, *group)?;
        if let Some(end) = end {
            let end = percent(end.strip_suffix(']').ok_or(GROUP)?)?;
            if group.take() != Some(end) {
                return Err(GROUP.into());
            }
        }
        Ok(())
    }

    /// Adds a part, in a group with its weight.
    fn add(&mut self, part: &str, group: Option<f64>) -> Result<(), Cow<'static, str>> {
        let (body, weight) = match part.split_once(':') {
            None => (part, group.map_or(1.0, |percent| percent / 100.0)),
            Some(_) if group.is_some() => return Err("no weight after ':' in a group".into()),
            Some((body, weight)) => {
                let weight = match weight.trim().strip_suffix('%') {
                    Some(percent) => percent.trim().parse().map(|percent: f64| percent / 100.0),
                    None => weight.trim().parse(),
                };
                let allowed = "a weight from 0 to 1, or from 0% to 100%, after ':'";
                (body.trim(), weight.ok().filter(|weight| (0.0..=1.0).contains(weight)).ok_or(allowed)?)
            }
        };
        let top = body.split_at_checked(3).filter(|(start, _)| start.eq_ignore_ascii_case("top"));
        if body.eq_ignore_ascii_case("all") || body.strip_suffix('%').is_some_and(|all| all.trim_end() == "100") {
            self.weights.fill(weight);
        } else if let Some(name) = body.strip_prefix('@') {
            let named = NamedRange::known(name).ok_or_else(|| NamedRange::nearest(name))?;
            let named = Self::parse(named.text).map_err(|error| error.to_string())?;
            let held = self.weights.iter_mut().zip(named.weights).filter(|(_, of_hand)| *of_hand > 0.0);
            held.for_each(|(own, of_hand)| *own = weight * of_hand);
        } else if let Some((_, percent)) = top {
            let percent: Option<f64> = percent.trim().strip_suffix('%').and_then(|percent| percent.trim().parse().ok());
            let good = percent.filter(|&percent| percent > 0.0 && percent <= 100.0);
            for name in top::names(good.ok_or("more than 0%, at most 100%, as top 20%")?) {
                self.set(group_of(name)?, weight);
            }
        } else {
            // No hand has a 1 or a 0 otherwise.
            self.add_hands(&body.replace("10", "T"), weight)?;
        }
        Ok(())
    }

    /// Adds hands that are named by their cards.
    fn add_hands(&mut self, body: &str, weight: f64) -> Result<(), &'static str> {
        if let Some((first, last)) = body.split_once('-') {
            for group in between(group_of(first.trim())?, group_of(last.trim())?)? {
                self.set(group, weight);
            }
        } else if let Some(lowest) = body.strip_suffix('+') {
            for group in upwards(group_of(lowest)?) {
                self.set(group, weight);
            }
        } else if body.chars().count() == 4 {
            let hand = Deck::FULL.cards(body).map_err(|_| "two different cards, as AhKd")?;
            if let [first, second] = hand[..] {
                self.weights[pair(first.into(), second.into())] = weight;
            }
        } else {
            self.set(group_of(body)?, weight);
        }
        Ok(())
    }

    fn set(&mut self, group: Group, weight: f64) {
        for first in 0..4 {
            for second in 0..4 {
                let (one, other) = (group.high * 4 + first, group.low * 4 + second);
                let fits = match group.suits {
                    Suits::Any => one != other,
                    Suits::Same => first == second,
                    Suits::Different => first != second,
                };
                if fits {
                    self.weights[pair(one, other)] = weight;
                }
            }
        }
    }
}

/// Number of the hand of two different cards.
fn pair(one: usize, other: usize) -> usize {
    let (low, high) = (one.min(other), one.max(other));
    high * (high - 1) / 2 + low
}

fn group_of(text: &str) -> Result<Group, &'static str> {
    const ALLOWED: &str =
        "all, top 20%, @btn_open, or hands as QQ, AKs, AKo, AK, AhKd, 66+, A9s+, 99-66, A5s-A2s, JTs-76s";
    let rank = |letter: char| RANKS.find(letter.to_ascii_uppercase()).ok_or(ALLOWED);
    let mut letters = text.chars();
    let (Some(one), Some(other)) = (letters.next(), letters.next()) else { return Err(ALLOWED) };
    let (one, other) = (rank(one)?, rank(other)?);
    let suits = match (letters.next(), letters.next()) {
        (None, _) => Suits::Any,
        (Some('s' | 'S'), None) => Suits::Same,
        (Some('o' | 'O'), None) => Suits::Different,
        _ => return Err(ALLOWED),
    };
    if one == other && suits != Suits::Any {
        return Err("a pair without s or o");
    }
    Ok(Group { high: one.max(other), low: one.min(other), suits })
}

fn upwards(lowest: Group) -> Vec<Group> {
    let Group { high, low, suits } = lowest;
    if high == low {
        return (low..RANKS.len()).map(|rank| Group { high: rank, low: rank, suits }).collect();
    }
    (low..high).map(|low| Group { high, low, suits }).collect()
}

fn between(one: Group, other: Group) -> Result<Vec<Group>, &'static str> {
    let (top, bottom) = if (one.high, one.low) >= (other.high, other.low) { (one, other) } else { (other, one) };
    let suits = top.suits;
    if suits == bottom.suits && top.high - top.low == bottom.high - bottom.low {
        let apart = top.high - top.low;
        return Ok((bottom.low..=top.low).map(|low| Group { high: low + apart, low, suits }).collect());
    }
    if suits == bottom.suits && top.high == bottom.high && bottom.low < bottom.high && top.low < top.high {
        return Ok((bottom.low..=top.low).map(|low| Group { low, ..top }).collect());
    }
    Err("two pairs, or hands of one kind with the same high card or as far apart, as 99-66, A5s-A2s, JTs-76s")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        Range::parse(text).expect(text).hands(0).len()
    }

    #[test]
    fn the_notation_names_the_right_hands() {
        for (text, hands) in [
            ("all", 1326),
            ("AA", 6),
            ("AK", 16),
            ("KA", 16),
            ("AKs", 4),
            ("AKo", 12),
            ("AhKd", 1),
            ("66+", 9 * 6),
            ("A9s+", 5 * 4),
            ("T9o+", 12),
            ("A5s-A4s", 8),
            ("a4S-a5s", 8),
            ("99-66", 24),
            ("JTs-76s", 20),
            ("Q9-T7", 48),
            (" TT+ , AKs:0.5,AA:0", 4 * 6 + 4),
            // A hand that is needed for the percentage is taken whole: 1 % is 13.26, AA and KK are 12.
            ("top 0.4%", 6),
            ("top 1 %", 18),
            ("Top 100%", 1326),
            ("top 2%:0.5, AA:0", 4 * 6),
        ] {
            assert_eq!(count(text), hands, "{text}");
        }
        let range = Range::parse("AK:0.25,AKs:0.5,AhKh").expect("good");
        let hands = range.hands(1 << 51);
        assert_eq!(hands.len(), 12);
        assert_eq!(hands.iter().map(|&(_, weight)| weight).sum::<f64>(), 2.0 * 0.5 + 1.0 + 9.0 * 0.25);
        let of_groups = Range::parse("[25]AK[/25], [ 50 ] AKs , QQ [/50.0],AhKh").expect("good");
        let of_parts = Range::parse("AK:0.25,AKs:0.5,QQ:0.5,AhKh").expect("good");
        assert_eq!(of_groups, of_parts);
        assert!(hands.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn mistakes_are_told_with_their_column() {
        for text in [
            "",
            "AA,",
            "AX",
            "AAs",
            "AKx",
            "AKs:2",
            "AKs:-1",
            "AKs:",
            "AKs:nan",
            "AhAh",
            "AK-QQ",
            "AKs-AQo",
            "A",
            "66++",
            "AhK",
            "top 0%",
            "top 101%",
            "top 20",
            "top",
            "top nan%",
            "[50]AA",
            "[50]AA,[50]KK[/50]",
            "AA[/50]",
            "[50]AA[/40]",
            "[50AA",
            "[50]AA[/50",
            "[150]AA[/150]",
            "[50]AA:0.5[/50]",
            "[50]AA[/50]KK",
            "[/50]",
        ] {
            let error = Range::parse(text).expect_err(text).to_string();
            assert!(error.starts_with("option range: '"), "{error}");
        }
        let error = Range::parse("AA, KK,  QZ").expect_err("no rank Z").to_string();
        assert!(error.contains("'QZ' at column 10"), "{error}");
        // A group that is never closed is named by the part that opens it.
        let error = Range::parse("[25]QQ[/25], [50]AA, KK").expect_err("no closing bracket").to_string();
        assert!(error.contains("'[50]AA' at column 14"), "{error}");
    }
}
