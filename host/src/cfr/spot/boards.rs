//! The boards on which a spot is solved: all that differ, or a few with weights.

mod subset;
mod suits;

use std::collections::{BTreeMap, BTreeSet};

use self::suits::Symmetry;
use super::file::{Spot, SpotLock};
use crate::cfr::game::cards::{CardSet, Deck, set_of};
use crate::{Error, Result};

/// A board, and how many boards it stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Board {
    /// All cards on the table: the flop with the highest card first, then turn and river, as `QsJh2h8c`.
    pub cards: String,
    /// The number of boards that it stands for.
    pub weight: f64,
}

/// The boards that can come next in a spot: flops if it has none, else turns, or rivers after a turn.
///
/// Boards that differ by the names of suits only have the same solution if the ranges and locks do not tell these suits apart. One of each class is enough, with the size of its class as its
/// weight:
///
/// ```
/// use warpplay::cfr::spot::{Boards, Spot};
///
/// let json = r#"{"pot": 6, "effective_stack": 97, "bet_fraction_of_pot": 0.5, "ranges": ["22+,AJs+,AQo+", "TT+,AK"]}"#;
/// let mut spot = Spot::parse(json)?;
/// let flops = Boards::parse("all", &spot)?;
/// assert_eq!((flops.len(), flops.weight()), (1755, 22100.0));
/// assert_eq!(Boards::parse("25", &spot)?.len(), 25);
///
/// spot.flop = "Qs Jh 2h".into(); // clubs and diamonds are alike
/// let turns = Boards::parse("all", &spot)?;
/// assert_eq!((turns.len(), turns.weight()), (36, 49.0));
/// # Ok::<(), warpplay::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Boards {
    boards: Vec<Board>,
}

/// What a spot has on the table, and what comes next.
struct Next {
    /// The text of the cards that lie there.
    before: String,
    on_table: CardSet,
    symmetry: Symmetry,
}

impl Next {
    fn of(spot: &Spot) -> Result<Self> {
        if let Some(river) = &spot.river {
            return Err(Error::option("river", river, "nothing: a board to come, after the flop or the turn"));
        }
        if spot.flop.is_empty() {
            if let Some(turn) = &spot.turn {
                return Err(Error::option("turn", turn, "a turn only with a flop"));
            }
            let symmetry = Symmetry::of(spot)?;
            return Ok(Self { before: String::new(), on_table: 0, symmetry });
        }
        let (_, on_table) = spot.board()?;
        let flop = set_of(&Deck::FULL.cards(&spot.flop)?);
        let before = Deck::FULL.names(flop) + &Deck::FULL.names(on_table & !flop);
        Ok(Self { before, on_table, symmetry: Symmetry::of(spot)?.beside(on_table) })
    }

    /// Cards that are dealt.
    fn n_dealt(&self) -> usize {
        if self.on_table == 0 { 3 } else { 1 }
    }

    fn board(&self, dealt: CardSet, weight: f64) -> Board {
        Board { cards: format!("{}{}", self.before, Deck::FULL.names(dealt)), weight }
    }
}

impl Boards {
    /// One board of each class, with the size of the class as its weight: 1,755 flops if the ranges name no suits.
    ///
    /// # Errors
    /// [`Error::Option`] with the field, if the spot has a river, cards that are none, or ranges or locks that cannot be read.
    pub fn all(spot: &Spot) -> Result<Self> {
        let next = Next::of(spot)?;
        let classes = next.symmetry.classes(Deck::FULL.all() & !next.on_table, next.n_dealt());
        Ok(Self { boards: classes.into_iter().map(|(dealt, size)| next.board(dealt, size as f64)).collect() })
    }

    /// `n` of the 1,755 flops, each for 22,100 / `n` flops.
    ///
    /// They are chosen by stratified sampling, always the same: strata are pairing with suits (6 classes), by high card (13). The number of flops of each stratum, of each class and of each
    /// high card is its exact share of `n`, rounded up or down (controlled rounding), so that no share is wrong by 1 / `n` or more. Within a stratum, ordered by the cards to a straight and
    /// the ranks, flops are taken at equal distances from a start that differs from stratum to stratum.
    ///
    /// # Errors
    /// [`Error::Option`] names `boards` for other numbers than 1 to 920 (above which there would be flops twice) and 1755, which are all.
    pub fn flops(n: usize) -> Result<Self> {
        let flops = match n {
            1755 => subset::classes().into_iter().map(|(flop, size)| (flop, size as f64)).collect(),
            _ => subset::choose(n)?,
        };
        let board = |(flop, weight)| Board { cards: Deck::FULL.names(flop), weight };
        Ok(Self { boards: flops.into_iter().map(board).collect() })
    }

    /// Reads boards for a spot: `all`; a number of flops; or a list, with commas or line breaks between, of three cards for flops and of one for turns and rivers, each with a weight after `:`
    /// if it is not the size of its class: `Qs Jh 2h, AsAhAd:4`. Without weights each class may be listed once.
    ///
    /// # Errors
    /// As [`all`](Self::all) and [`flops`](Self::flops); [`Error::Option`] names `boards` with what cannot be read, is on the table, or occurs twice; for two boards of a class without weights; for a number where the spot has a flop, or
    /// ranges or locks that tell suits apart.
    pub fn parse(text: &str, spot: &Spot) -> Result<Self> {
        let text = text.trim();
        if text == "all" {
            return Self::all(spot);
        }
        let wrong = |value: &str, allowed: &str| Error::option("boards", format!("'{value}'"), allowed);
        let next = Next::of(spot)?;
        if let Ok(n) = text.parse::<usize>() {
            if next.on_table != 0 {
                return Err(wrong(text, "all, or a list of cards, after a flop"));
            }
            if !next.symmetry.is_full() {
                return Err(wrong(text, "all, or a list: ranges or locks tell suits apart"));
            }
            return Self::flops(n);
        }
        let (n_dealt, allowed) = match next.n_dealt() {
            1 => (1, "all, or cards that are not on the table, as 8c, 2d:3"),
            _ => (3, "all, a number, or flops, as Qs Jh 2h, AsAhAd:4"),
        };
        let (mut boards, mut seen) = (Vec::new(), BTreeSet::new());
        // The classes that are listed, and whether the last of their boards has no weight.
        let mut classes: BTreeMap<CardSet, bool> = BTreeMap::new();
        for part in text.split([',', '\n']).map(str::trim).filter(|part| !part.is_empty()) {
            let (cards, weight) = match part.split_once(':') {
                Some((cards, weight)) => (cards, Some(weight)),
                None => (part, None),
            };
            let cards = Deck::FULL.cards(cards).ok().filter(|cards| cards.len() == n_dealt);
            let dealt = set_of(&cards.ok_or_else(|| wrong(part, allowed))?);
            if dealt & next.on_table != 0 {
                return Err(wrong(part, allowed));
            }
            if !seen.insert(dealt) {
                return Err(wrong(part, "each board once"));
            }
            let class = next.symmetry.first_of(dealt);
            let whole = weight.is_none();
            if classes.insert(class, whole).is_some_and(|other| whole || other) {
                let allowed = "one board of each class that differs by the names of suits only, or a weight after ':' for each of its boards";
                return Err(wrong(part, allowed));
            }
            let weight = match weight.map(|weight| weight.trim().parse::<f64>()) {
                None => next.symmetry.class_size(dealt) as f64,
                Some(Ok(weight)) if weight > 0.0 && weight.is_finite() => weight,
                Some(_) => return Err(wrong(part, "a finite weight above 0 after ':'")),
            };
            boards.push(next.board(dealt, weight));
        }
        if boards.is_empty() { Err(wrong(text, allowed)) } else { Ok(Self { boards }) }
    }

    /// The share of one of several ranks: every `size`-th board.
    #[must_use]
    pub fn share(&self, rank: usize, size: usize) -> Self {
        Self { boards: self.boards.iter().skip(rank).step_by(size.max(1)).cloned().collect() }
    }

    /// The boards.
    pub fn iter(&self) -> std::slice::Iter<'_, Board> {
        self.boards.iter()
    }

    /// Number of boards.
    pub fn len(&self) -> usize {
        self.boards.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.boards.is_empty()
    }

    /// Sum of the weights.
    pub fn weight(&self) -> f64 {
        self.boards.iter().map(|board| board.weight).sum()
    }
}

impl<'a> IntoIterator for &'a Boards {
    type Item = &'a Board;
    type IntoIter = std::slice::Iter<'a, Board>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Spot {
    /// The spot on a board of three to five cards, as `QsJh2h8c`: flop, turn and river in this order. Locks keep the hands that the board leaves possible.
    ///
    /// # Errors
    /// [`Error::Option`] names `board` for anything else.
    pub fn on(&self, board: &str) -> Result<Self> {
        let cards = Deck::FULL.cards(board).ok().filter(|cards| (3..=5).contains(&cards.len()));
        let cards = cards.ok_or_else(|| Error::option("board", format!("'{board}'"), "3 to 5 cards, as QsJh2h8c"))?;
        let names: Vec<String> = cards.iter().map(|&card| Deck::FULL.name(card)).collect();
        let [turn, river] = [3, 4].map(|at| names.get(at).cloned());
        let board = set_of(&cards);
        let beside = |lock: &SpotLock| match self.ranges.get(lock.seat) {
            Some(range) => lock.beside(range, board),
            None => Some(lock.clone()),
        };
        let locks = self.locks.iter().filter_map(beside).collect();
        Ok(Self { flop: names[..3].join(" "), turn, river, locks, ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfr::spot::{Pairing, Suits, Texture};

    fn spot(changes: &str) -> Spot {
        let ranges = r#""ranges": ["22+,AJs+,AQo+", "TT+,AK,T9s:0.5"]"#;
        let ranges = if changes.contains("ranges") { "" } else { ranges };
        let between = if ranges.is_empty() || changes.is_empty() { "" } else { ", " };
        Spot::parse(&format!(
            r#"{{"pot": 6, "effective_stack": 97, "bet_fraction_of_pot": 0.5, {ranges}{between}{changes}}}"#
        ))
        .expect("good JSON")
    }

    #[test]
    fn all_flops_are_counted() {
        let boards = Boards::all(&spot("")).expect("flops");
        // 13 trips; 13 · 12 pairs with a third card of one of the pair's suits or of another; 286 sets of three ranks in 5 forms: rainbow, two-tone in 3 ways, monotone.
        assert_eq!((boards.len(), boards.weight()), (13 + 13 * 12 * 2 + 286 * 5, 22_100.0));
        assert_eq!(boards, Boards::flops(1755).expect("all"));
        let sum = |is: &dyn Fn(Texture) -> bool| {
            let of = |board: &&Board| is(Texture::of(&board.cards).expect("a flop"));
            let (n, weight) = boards.iter().filter(of).fold((0, 0.0), |(n, sum), board| (n + 1, sum + board.weight));
            (n, weight)
        };
        assert_eq!(sum(&|texture| texture.pairing == Pairing::Trips), (13, 13.0 * 4.0));
        assert_eq!(sum(&|texture| texture.pairing == Pairing::Paired), (312, 13.0 * 12.0 * 6.0 * 4.0));
        assert_eq!(sum(&|texture| texture.suits == Suits::Monotone), (286, 4.0 * 286.0));
        // Three ranks of different suits, a pair beside a third suit, or trips.
        assert_eq!(
            sum(&|texture| texture.suits == Suits::Rainbow),
            (286 + 156 + 13, 24.0 * 286.0 + 12.0 * 156.0 + 52.0)
        );
        // 54 sets of ranks whose lowest is a deuce to a ten, 3 and 1 above, and 6 with the ace low; each in 64 suits.
        assert_eq!(sum(&|texture| texture.straight == 3), (64 * 5, 64.0 * 64.0));
        // With an ace: all but those of 48 cards.
        let n_without = |cards: f64| cards * (cards - 1.0) * (cards - 2.0) / 6.0;
        assert_eq!(sum(&|texture| texture.high == 'A').1, n_without(52.0) - n_without(48.0));
    }

    #[test]
    fn a_subset_has_the_shares_of_all_flops() {
        let all = Boards::flops(1755).expect("all");
        let shares = |boards: &Boards, of: fn(&Texture) -> String| {
            let mut shares = std::collections::BTreeMap::new();
            for board in boards {
                *shares.entry(of(&Texture::of(&board.cards).expect("a flop"))).or_insert(0.0) +=
                    board.weight / 22_100.0;
            }
            shares
        };
        let features: [fn(&Texture) -> String; 3] = [
            |texture| format!("{} {}", texture.pairing, texture.suits),
            |texture| texture.high.to_string(),
            |texture| format!("{} {} {}", texture.pairing, texture.suits, texture.high),
        ];
        for n in (1..=20).step_by(3).chain([25, 49, 85, 95, 184, 400, 755, 919, 920]) {
            let some = Boards::flops(n).expect("a number");
            assert_eq!(some.len(), n);
            let different: BTreeSet<&str> = some.iter().map(|board| &*board.cards).collect();
            assert_eq!(different.len(), n, "{n}");
            // n roundings of sums up to 22,100.
            assert!((some.weight() - 22_100.0).abs() < n as f64 * 22_100.0 * f64::EPSILON, "{n}: {}", some.weight());
            for of in features {
                let (exact, found) = (shares(&all, of), shares(&some, of));
                assert!(found.keys().all(|name| exact.contains_key(name)));
                for (name, share) in exact {
                    let found = found.get(&name).copied().unwrap_or(0.0);
                    assert!((found - share).abs() < 1.0 / n as f64 + 1e-9, "{n}, {name}: {found}, expected {share}");
                }
            }
        }
        for n in [0, 921, 1754, 1756] {
            let error = Boards::flops(n).expect_err("a number").to_string();
            assert_eq!(error, format!("option boards: {n} is not allowed (1 to 920 flops, or all 1755)"));
        }
    }

    #[test]
    fn classes_are_those_that_ranges_leave() {
        let n = |changes: &str| {
            let boards = Boards::all(&spot(changes)).expect(changes);
            (boards.len(), boards.weight())
        };
        // Three suits that differ: no two turns are alike. Two suits that are not there: 13 clubs stand for 13 diamonds. One suit: three are alike.
        assert_eq!(n(r#""flop": "Qs Jh 2d""#), (49, 49.0));
        assert_eq!(n(r#""flop": "Qs Jh 2h""#), (36, 49.0));
        assert_eq!(n(r#""flop": "Qs Js 2s""#), (10 + 13, 49.0));
        assert_eq!(n(r#""flop": "Qs Js 2s", "turn": "Qh""#), (10 + 12 + 13, 48.0));
        // A hand by its suits: hearts alone are apart, and clubs, diamonds and spades are alike.
        assert_eq!(n(r#""flop": "Qh Jh 2h", "ranges": ["AhKh", "QQ"]"#), (10 + 13, 49.0));
        let (flops, weight) = n(r#""ranges": ["AhKh", "QQ"]"#);
        assert!(flops > 1755 && weight == 22_100.0, "{flops}");
        // And a lock for hands of one suit.
        let lock = r#""locks": [{"history": "", "seat": 0, "strategy": {"AhKh": [1, 0, 0], "rest": [0, 1, 0]}}]"#;
        assert_eq!(n(lock).0, flops);
        assert_eq!(n(&lock.replace("AhKh", "AK")).0, 1755);
    }

    #[test]
    fn lists_have_weights_and_are_checked() {
        let flops = Boards::parse("Qs Jh 2h, AsAhAd\n 7c7d2c:2.5,", &spot("")).expect("a list");
        let found: Vec<(&str, f64)> = flops.iter().map(|board| (&*board.cards, board.weight)).collect();
        assert_eq!(found, [("QsJh2h", 12.0), ("AsAhAd", 4.0), ("7d7c2c", 2.5)]);
        let weights = Boards::parse("Qs Jh 2h:3, Qs Jd 2d:9", &spot("")).expect("a list");
        assert_eq!(weights.weight(), 12.0);
        assert_eq!(Boards::parse("8c, 8d", &spot(r#""flop": "Qc Jd 2h""#)).expect("two classes").len(), 2);
        let turn = Boards::parse("8c", &spot(r#""flop": "2h Qs Jh""#)).expect("a card");
        assert_eq!(turn.boards, [Board { cards: "QsJh2h8c".into(), weight: 2.0 }]);
        assert_eq!(spot("").on("QsJh2h8c").expect("a board"), spot(r#""flop": "Qs Jh 2h", "turn": "8c""#));
        assert_eq!(flops.share(1, 2).iter().map(|board| &*board.cards).collect::<Vec<_>>(), ["AsAhAd"]);
        let flop = r#""flop": "Qs Jh 2h""#;
        let by_suit = r#""ranges": ["AhKh", "QQ"]"#;
        for (text, changes, told) in [
            ("", "", "'' is not allowed (all, a number, or flops, as Qs Jh 2h"),
            ("Qs Jh", "", "'Qs Jh' is not allowed"),
            ("Qs Jh 2h 3c", "", "'Qs Jh 2h 3c' is not allowed"),
            ("QsJh2h, 2hQsJh", "", "'2hQsJh' is not allowed (each board once)"),
            ("Qs Jh 2h, Qs Jd 2d", "", "'Qs Jd 2d' is not allowed (one board of each class"),
            ("Qs Jh 2h:3, Qs Jd 2d", "", "or a weight after ':' for each of its boards"),
            ("Qs Jh 2h, Qs Jd 2d:3", "", "one board of each class"),
            ("8c, 8d", flop, "one board of each class"),
            ("QsJh2h:0", "", "a finite weight above 0"),
            ("QsJh2h:x", "", "a finite weight above 0"),
            ("-1", "", "'-1' is not allowed"),
            ("921", "", "921 is not allowed"),
            ("25", flop, "'25' is not allowed (all, or a list of cards, after a flop)"),
            ("25", by_suit, "tell suits apart"),
            ("2h", flop, "'2h' is not allowed (all, or cards that are not on the table"),
            ("all", r#""flop": "Qs Jh 2h", "turn": "3c", "river": "4c""#, "option river: 4c"),
            ("all", r#""flop": "Qs Jh""#, "option flop: 'Qs Jh'"),
            ("all", r#""turn": "3c""#, "option turn: 3c is not allowed (a turn only with a flop)"),
            ("all", r#""ranges": ["XX", "QQ"]"#, "option ranges: seat 0: 'XX'"),
        ] {
            let error = Boards::parse(text, &spot(changes)).expect_err(text).to_string();
            assert!(error.contains(told), "{text}, {changes}: {error}");
        }
    }
}
