//! What a spot is made of, as it is written in JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::sizes::{BetSize, SeatSizes};
use super::unique::{TWICE, Unique, entries, twice};
use crate::cfr::game::betting::{Icm, Rake};
use crate::runtime::input_file;
use crate::{Error, Result};

/// Maximum size of a file in bytes, well above a file of a thousand spots.
const MAX_BYTES: u64 = 1 << 26;

/// A heads-up hold'em hand from the flop, turn or river on. Seat 0 is out of position and acts first on every street.
///
/// The fields are those of the JSON; fields of type `Option` or `Vec` may be omitted. `hands`, `trajectory`, `ev`, `equity` and `format` are ignored, so that an entry of a reference file, a spot
/// with its results, can be read. A [`SpotReport`](super::SpotReport) cannot be read as a spot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "SpotFile")]
pub struct Spot {
    /// Chips in the pot at the beginning.
    pub pot: f64,
    /// Chips that each player can still put in.
    pub effective_stack: f64,
    /// Bets for which `bet_sizes` gives no size: this fraction of the pot (0.5 is half of it), or all-in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bet_fraction_of_pot: Option<f64>,
    /// Three cards: `Qs Jh 2h`. Empty, or left out of a file, where the spot is for many flops ([`solve_boards`](super::solve_boards)).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub flop: String,
    /// One card.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// One card; only with a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub river: Option<String>,
    /// Hands of seats 0 and 1, as [`Range`](super::Range) reads them.
    pub ranges: [String; 2],
    /// Sizes of bets, by street.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bet_sizes: Option<Streets<SeatSizes>>,
    /// Sizes of raises, by street; default all-in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raise_sizes: Option<Streets<SeatSizes>>,
    /// Sizes of bets of seat 0 at the start of the turn or the river, if seat 1 made the last bet or raise of the street before; default those of `bet_sizes`. An empty
    /// list: seat 0 only checks there. It has no effect on the first street of the spot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub donk_sizes: Option<Streets<Vec<BetSize>>>,
    /// Where there is a bet or raise, all-in is another one if the stack after a call is at most this part of the pot after the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add_all_in: Option<f64>,
    /// A bet or raise is all-in if its call would leave a stack of at most this part of the pot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force_all_in: Option<f64>,
    /// Removes sizes that are close: from the largest down, a size is kept only if (pot + next larger kept size) / (pot + size) ≥ 1 + this value, with the pot after a call.
    /// 0.1 removes a bet of 50 % beside one of 60 % (1.6 / 1.5 < 1.1). `add_all_in` is applied first, then `force_all_in`, then `merge_sizes`; added lines are not changed by them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_sizes: Option<f64>,
    /// Maximum number of bets and raises of a street; default no limit (4 with `limit`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_raises: Option<Streets<u32>>,
    /// Histories, written as in `locks`, whose last action is a raise to add to the tree, also beyond `max_raises`. A line may continue an earlier one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added_lines: Vec<String>,
    /// Histories whose last action is removed from the tree, with everything after it; they may begin with an added line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed_lines: Vec<String>,
    /// Limit betting: chips of every bet and raise, by street. It replaces the sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Streets<f64>>,
    /// The rake of the house.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rake: Option<Rake>,
    /// A tournament: prizes are played for, rather than chips. `stacks` are those of both seats, by default the effective stack each.
    /// Such a game is not zero-sum: the algorithms are not guaranteed to converge to an equilibrium. The exploitability says how close the result is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icm: Option<Icm>,
    /// Strategies that are given rather than learnt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<SpotLock>,
}

/// The fields as read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpotFile {
    pot: f64,
    effective_stack: f64,
    bet_fraction_of_pot: Option<f64>,
    #[serde(default)]
    flop: String,
    turn: Option<String>,
    river: Option<String>,
    #[serde(deserialize_with = "two_ranges")]
    ranges: [String; 2],
    bet_sizes: Option<Streets<SeatSizes>>,
    raise_sizes: Option<Streets<SeatSizes>>,
    donk_sizes: Option<Streets<Vec<BetSize>>>,
    add_all_in: Option<f64>,
    force_all_in: Option<f64>,
    merge_sizes: Option<f64>,
    max_raises: Option<Streets<u32>>,
    #[serde(default)]
    added_lines: Vec<String>,
    #[serde(default)]
    removed_lines: Vec<String>,
    limit: Option<Streets<f64>>,
    rake: Option<Rake>,
    icm: Option<Icm>,
    #[serde(default)]
    locks: Vec<SpotLock>,
    #[serde(default, rename = "format")]
    _format: IgnoredAny,
    #[serde(default, rename = "hands")]
    _hands: IgnoredAny,
    #[serde(default, rename = "trajectory")]
    _trajectory: IgnoredAny,
    #[serde(default, rename = "ev")]
    _ev: IgnoredAny,
    #[serde(default, rename = "equity")]
    _equity: IgnoredAny,
}

impl From<SpotFile> for Spot {
    fn from(file: SpotFile) -> Self {
        Self {
            pot: file.pot,
            effective_stack: file.effective_stack,
            bet_fraction_of_pot: file.bet_fraction_of_pot,
            flop: file.flop,
            turn: file.turn,
            river: file.river,
            ranges: file.ranges,
            bet_sizes: file.bet_sizes,
            raise_sizes: file.raise_sizes,
            donk_sizes: file.donk_sizes,
            add_all_in: file.add_all_in,
            force_all_in: file.force_all_in,
            merge_sizes: file.merge_sizes,
            max_raises: file.max_raises,
            added_lines: file.added_lines,
            removed_lines: file.removed_lines,
            limit: file.limit,
            rake: file.rake,
            icm: file.icm,
            locks: file.locks,
        }
    }
}

/// A range for each seat; more of them are told as such, and not as bad JSON.
fn two_ranges<'de, D: Deserializer<'de>>(from: D) -> Result<[String; 2], D::Error> {
    let ranges = Vec::<String>::deserialize(from)?;
    let n_ranges = ranges.len();
    ranges.try_into().map_err(|_| D::Error::invalid_length(n_ranges, &"an array of length 2"))
}

/// A value for each street.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Streets<T> {
    /// Between flop and turn.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub flop: Option<T>,
    /// Between turn and river.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub turn: Option<T>,
    /// After the river.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub river: Option<T>,
}

fn none<T>() -> Option<T> {
    None
}

impl<T> Streets<T> {
    /// The value of a street, 0 for the flop.
    pub(super) fn get(&self, street: usize) -> Option<&T> {
        [&self.flop, &self.turn, &self.river].get(street).and_then(|of_street| of_street.as_ref())
    }
}

/// A strategy that is given rather than learnt, to all hands of a seat or some, on all boards or some.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpotLock {
    /// The preceding actions, with `/` between rounds: `cr50c/`. Raises name the chips put in since the start of the spot.
    pub history: String,
    /// Who acts there.
    pub seat: usize,
    /// Cards dealt since the spot's board, in their order (`8c`, `8c 4d`): the strategy is given only where they lie. By default on all boards. Where several locks hold, that of the longest
    /// run-out does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runout: Option<String>,
    /// The strategy.
    pub strategy: LockStrategy,
}

/// Probabilities in the order of the actions: fold, call, raises from the smallest; without a bet to call there is no fold.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum LockStrategy {
    /// The same for all hands.
    All(Vec<f64>),
    /// By hands, as [`Range`](super::Range) reads them; `rest` stands for all other hands. Without it, other hands learn. A hand may occur once.
    ByHand(BTreeMap<String, Vec<f64>>),
}

impl<'de> Deserialize<'de> for LockStrategy {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct EitherForm;
        impl<'de> Visitor<'de> for EitherForm {
            type Value = LockStrategy;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of probabilities, or an object with a list for each group of hands")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<LockStrategy, A::Error> {
                Deserialize::deserialize(SeqAccessDeserializer::new(list)).map(LockStrategy::All)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LockStrategy, A::Error> {
                entries(map, |_, error| error).map(LockStrategy::ByHand)
            }
        }
        from.deserialize_any(EitherForm)
    }
}

/// A file of several spots: what they have in common, and each by name.
#[derive(Default)]
struct SpotsFile {
    spots: Option<Spots>,
    common: serde_json::Map<String, serde_json::Value>,
}

impl<'de> Deserialize<'de> for SpotsFile {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = SpotsFile;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SpotsFile, A::Error> {
                let mut file = SpotsFile::default();
                while let Some(name) = map.next_key::<String>()? {
                    let is_first = match &name[..] {
                        "spots" => file.spots.replace(map.next_value()?).is_none(),
                        _ => file.common.insert(name.clone(), map.next_value::<Unique>()?.0).is_none(),
                    };
                    if !is_first {
                        return Err(twice(&name));
                    }
                }
                Ok(file)
            }
        }
        from.deserialize_map(Fields)
    }
}

/// The spots of a file by name, each with its own fields.
struct Spots(BTreeMap<String, serde_json::Value>);

impl<'de> Deserialize<'de> for Spots {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct ByName;
        impl<'de> Visitor<'de> for ByName {
            type Value = Spots;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of spots")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Spots, A::Error> {
                let spots = entries(map, |spot, error| A::Error::custom(format!("spot {spot}: {error}")))?;
                Ok(Spots(spots.into_iter().map(|(name, Unique(fields))| (name, fields)).collect()))
            }
        }
        from.deserialize_map(ByName)
    }
}

impl Spot {
    /// Reads JSON.
    ///
    /// # Errors
    /// [`Error::File`], under the name `<text>`, with line and column if it is not JSON, or a field is missing, unknown or of the wrong type. Values are checked when the
    /// spot is built.
    pub fn parse(text: &str) -> Result<Self> {
        Self::parse_at(text, Path::new("<text>"))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read, and as [`parse`](Self::parse).
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::parse_at(&input_file::read_short_text(path, MAX_BYTES)?, path)
    }

    /// Reads a file that holds one spot, or several under `spots`; fields beside `spots` are defaults for each of them. The name of a single spot is the file's name without
    /// its extension.
    ///
    /// # Errors
    /// [`Error::File`] as [`read`](Self::read), with the spot's name.
    pub fn read_all(path: impl AsRef<Path>) -> Result<Vec<(String, Self)>> {
        let path = path.as_ref();
        let text = input_file::read_short_text(path, MAX_BYTES)?;
        let text = without_mark(&text);
        let file: serde_json::Value = serde_json::from_str(text).map_err(|error| at_line(path, text, &error))?;
        if file.get("spots").is_none() {
            let name = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            return Ok(vec![(name, Self::parse_at(text, path)?)]);
        }
        let file: SpotsFile = serde_json::from_str(text).map_err(|error| at_line(path, text, &error))?;
        let spot = |(name, own): (String, serde_json::Value)| {
            let wrong = |reason: &str| Error::file(path, None, format!("spot {name}: {reason}"));
            let serde_json::Value::Object(own) = own else { return Err(wrong("is no object, expected its fields")) };
            let mut fields = file.common.clone();
            fields.extend(own);
            // As text again, so that an error has a line and a column.
            let text = serde_json::Value::Object(fields).to_string();
            let spot = serde_json::from_str(&text).map_err(|error| wrong(&without_column(&reason(&text, &error))))?;
            Ok((name, spot))
        };
        match file.spots {
            Some(Spots(spots)) if !spots.is_empty() => spots.into_iter().map(spot).collect(),
            _ => Err(Error::file(path, None, "field spots: has no spot")),
        }
    }

    fn parse_at(text: &str, path: &Path) -> Result<Self> {
        let text = without_mark(text);
        if text.trim_start().starts_with('[') {
            return Err(Error::file(
                path,
                None,
                "is a list, expected an object {...}: the fields of a spot, or several spots under spots",
            ));
        }
        serde_json::from_str(text).map_err(|error| at_line(path, text, &error))
    }
}

/// The text without the mark of the order of bytes, with which some editors begin a file.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Converts an error, whose text names line and column.
fn at_line(path: &Path, text: &str, error: &serde_json::Error) -> Error {
    Error::file(path, Some(error.line() as u64), reason(text, error))
}

/// Describes the error, with the field that has a wrong value. The list of expected fields does not name ignored ones.
fn reason(text: &str, error: &serde_json::Error) -> String {
    let passed_over = ["format", "hands", "trajectory", "ev", "equity"];
    let reason = input_file::json_reason(error);
    // What is named twice is named by its error.
    let reason = if reason.contains(TWICE) { reason } else { input_file::json_reason_in(text, error) };
    let reason = reason.replace("an array of length 2", "a list of 2: for seat 0 and for seat 1");
    passed_over.iter().fold(reason, |text, field| text.replace(&format!(", `{field}`"), ""))
}

/// A reason without the column, which is that of no text of the user's.
fn without_column(reason: &str) -> String {
    reason.rsplit_once(" (column ").map_or(reason, |(reason, _)| reason).to_string()
}
