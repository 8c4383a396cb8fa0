//! The file of a solved spot.
//!
//! ```text
//! safetensors   __metadata__        warpplay_cfr_spot: the spot, the options, and everything that is no table
//!               regrets.0.turn      cumulative regrets of seat 0 on the turn, [boards, action vectors of a board, hands]: F32 or F64 as the solver has them
//!               averages.0.turn     weighted sums of strategies
//!               predictions.0.turn  last regrets, where the algorithm predicts
//! ```
//!
//! Form `strategies` has `strategy.0.turn` in their place: probabilities in U16, steps of 1/65535, those of an information set 65535 together; 0 in sets never reached.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use safetensors::Dtype;
use serde::{Deserialize, Serialize};

use super::betting::STREETS;
use super::file::Spot;
use super::target::SpotTarget;
use crate::cfr::layout::{Node, Table, Tables, Values, VectorGame};
use crate::cfr::options::{Engine, Options};
use crate::runtime::named::named;
use crate::runtime::sealed::Kind;
use crate::runtime::streamed::Streamed;
use crate::runtime::tensors::Planned;
use crate::{Error, Precision, Result};

pub(super) const KIND: Kind = Kind { key: "warpplay_cfr_spot", name: "solved spot", version: 1 };

/// Steps of a probability in form `strategies`.
const STEPS: u16 = u16::MAX;
/// Numbers that are converted at once.
const CHUNK: usize = 1 << 14;

named! {
    /// What the file of a solved spot holds.
    SpotForm, "form":
    /// Regrets and averages: a solve can go on from them. Numbers have 4 bytes, and 8 if the precision is f64 or i16.
    Full = "full" | "f32",
    /// Average strategies alone, each probability in 16 bits: at most a quarter of the size.
    Strategies = "strategies" | "i16",
}

/// Everything in the file except the tables.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Head {
    pub spot: Spot,
    pub form: SpotForm,
    /// Fingerprint of the layout.
    pub layout: u64,
    pub engine: Engine,
    pub device: String,
    pub options: Options,
    /// Where runs end; files of older versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<SpotTarget>,
    pub iteration: u64,
    pub seconds: f64,
    pub trajectory: BTreeMap<u64, f64>,
    pub utilities: Vec<f64>,
    pub random: Vec<u64>,
}

impl Head {
    /// The type of the tables' numbers.
    fn dtype(&self) -> Dtype {
        match (self.form, self.options.precision) {
            (SpotForm::Strategies, _) => Dtype::U16,
            (SpotForm::Full, Precision::F32) => Dtype::F32,
            // The engine's 16-bit numbers times their scales are exact in double precision only.
            (SpotForm::Full, _) => Dtype::F64,
        }
    }

    /// The tables of a seat.
    fn tables(&self) -> &'static [Table] {
        match self.form {
            SpotForm::Strategies => &[Table::Averages],
            SpotForm::Full if self.options.step(1).predicts => &[Table::Regrets, Table::Averages, Table::Predictions],
            SpotForm::Full => &[Table::Regrets, Table::Averages],
        }
    }

    fn name(&self, game: &VectorGame, table: Table, seat: usize, street: usize) -> String {
        let kind = match (self.form, table) {
            (SpotForm::Strategies, _) => "strategy",
            (SpotForm::Full, Table::Regrets) => "regrets",
            (SpotForm::Full, Table::Averages) => "averages",
            (SpotForm::Full, Table::Predictions) => "predictions",
        };
        // The last street of a spot is the river.
        format!("{kind}.{seat}.{}", STREETS[(STREETS.len() + street).saturating_sub(game.streets.len())])
    }
}

/// Boards, action vectors of a board, and hands.
fn shape(game: &VectorGame, seat: usize, street: usize) -> Vec<usize> {
    let of = &game.streets[street];
    vec![of.boards.len(), of.n_slots[seat] as usize, game.hands[seat].len()]
}

/// Where a street stands in a seat's table.
fn range(game: &VectorGame, seat: usize, street: usize) -> Range<usize> {
    game.street_offset(seat, street)..game.street_offset(seat, street + 1)
}

/// First action vector and number of actions of every decision of a seat on a board of a street.
fn decisions(game: &VectorGame, seat: usize, street: usize) -> Vec<(usize, usize)> {
    let nodes = game.streets[street].entries.iter().flat_map(|entry| &entry.nodes);
    let decision = |node: &Node| match node {
        Node::Decision { seat: mover, actions, slot, .. } if *mover == seat => Some((*slot as usize, actions.len())),
        _ => None,
    };
    nodes.filter_map(decision).collect()
}

/// Writes a file; `read` gives the tables, one at a time.
pub(super) fn write(
    path: &Path,
    head: &Head,
    game: &VectorGame,
    mut read: impl FnMut(Table, usize) -> Result<Values>,
) -> Result<()> {
    let mut parts = Vec::new();
    for &table in head.tables() {
        for seat in 0..2 {
            parts.extend((0..game.streets.len()).map(|street| (table, seat, street)));
        }
    }
    let planned: Vec<Planned> = parts
        .iter()
        .map(|&(table, seat, street)| Planned {
            name: head.name(game, table, seat, street),
            dtype: head.dtype(),
            shape: shape(game, seat, street),
        })
        .collect();
    let mut held: Option<(Table, usize, Values)> = None;
    KIND.write_streamed(path, head, &planned, |number, put| {
        let (table, seat, street) = parts[number];
        let values = match held.take() {
            Some((of, whose, values)) if (of, whose) == (table, seat) => values,
            // The last one is given back before the next is read.
            last => {
                drop(last);
                read(table, seat)?
            }
        };
        if values.len() != game.table_len(seat) {
            return Err(Error::shape(format!("{table:?} of seat {seat}"), game.table_len(seat), values.len()));
        }
        let range = range(game, seat, street);
        match (head.dtype(), &values) {
            (Dtype::U16, values) => put_steps(game, seat, street, values, put)?,
            (Dtype::F32, Values::F32(values)) => put_numbers(&values[range], |value| value.to_le_bytes(), put)?,
            (Dtype::F64, Values::F64(values)) => put_numbers(&values[range], |value| value.to_le_bytes(), put)?,
            (Dtype::F64, Values::F32(values)) => {
                put_numbers(&values[range], |value| f64::from(value).to_le_bytes(), put)?;
            }
            (dtype, _) => return Err(Error::shape(format!("{table:?} of seat {seat}"), dtype, "F64")),
        }
        held = Some((table, seat, values));
        Ok(())
    })
}

fn put_numbers<T: Copy, const N: usize>(
    values: &[T],
    bytes_of: impl Fn(T) -> [u8; N],
    put: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut bytes = Vec::with_capacity(N * CHUNK);
    for values in values.chunks(CHUNK) {
        bytes.clear();
        values.iter().for_each(|&value| bytes.extend_from_slice(&bytes_of(value)));
        put(&bytes)?;
    }
    Ok(())
}

/// Strategies of weighted sums, board by board.
fn put_steps(
    game: &VectorGame,
    seat: usize,
    street: usize,
    sums: &Values,
    put: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let n_hands = game.hands[seat].len();
    let row = game.streets[street].n_slots[seat] as usize * n_hands;
    let decisions = decisions(game, seat, street);
    let mut of_board = vec![0; row];
    let mut of_set = Vec::new();
    for board in 0..game.streets[street].boards.len() {
        let first = game.offset(seat, street, board, 0);
        for &(slot, n_actions) in &decisions {
            for hand in 0..n_hands {
                let at = |action: usize| (slot + action) * n_hands + hand;
                of_set.clear();
                of_set.extend((0..n_actions).map(|action| sums.get(first + at(action))));
                (0..n_actions).zip(steps(&of_set)).for_each(|(action, steps)| of_board[at(action)] = steps);
            }
        }
        put_numbers(&of_board, u16::to_le_bytes, put)?;
    }
    Ok(())
}

/// The probabilities of weighted sums in steps, each rounded down or up so that they are [`STEPS`] together; 0 where all sums are.
fn steps(sums: &[f64]) -> Vec<u16> {
    let total: f64 = sums.iter().sum();
    // A solve that overflowed has sums that are no numbers.
    if !(total > 0.0 && total.is_finite()) {
        return vec![0; sums.len()];
    }
    let exact: Vec<f64> = sums.iter().map(|sum| sum / total * f64::from(STEPS)).collect();
    let mut steps: Vec<u16> = exact.iter().map(|exact| exact.floor() as u16).collect();
    let left = STEPS.saturating_sub(steps.iter().fold(0, |sum, &steps| sum.saturating_add(steps)));
    // Those that lost most by rounding down get the rest.
    let mut order: Vec<usize> = (0..sums.len()).collect();
    order.sort_by(|&one, &other| exact[other].fract().total_cmp(&exact[one].fract()));
    order.iter().take(left.into()).for_each(|&action| steps[action] = steps[action].saturating_add(1));
    steps
}

/// A street's part of a seat's table.
#[derive(Clone, Copy)]
pub(super) enum Part<'a> {
    /// Numbers of a file.
    F32(&'a [u8]),
    F64(&'a [u8]),
    U16(&'a [u8]),
    /// A whole table, and where the street begins.
    Whole(&'a Values, usize),
}

impl Part<'_> {
    pub fn get(self, at: usize) -> f64 {
        match self {
            Self::F32(bytes) => f32::from_le_bytes(bytes.as_chunks().0[at]).into(),
            Self::F64(bytes) => f64::from_le_bytes(bytes.as_chunks().0[at]),
            Self::U16(bytes) => u16::from_le_bytes(bytes.as_chunks().0[at]).into(),
            Self::Whole(values, first) => values.get(first + at),
        }
    }
}

/// A street's part of a seat's table in a file, checked.
pub(super) fn part<'a>(
    file: &'a Streamed,
    head: &Head,
    game: &VectorGame,
    table: Table,
    seat: usize,
    street: usize,
) -> Result<Part<'a>> {
    let (name, shape) = (head.name(game, table, seat, street), shape(game, seat, street));
    let is_sum = table == Table::Averages;
    let check = |part: Part, n: usize| {
        let is_wrong = |&(_, value): &(usize, f64)| !value.is_finite() || (is_sum && value < 0.0);
        match (0..n).map(|at| part.get(at)).enumerate().find(is_wrong) {
            Some((at, value)) => {
                let expected = if is_sum { "a finite number of at least 0" } else { "a finite number" };
                Err(format!("element {at} is {value}, expected {expected}"))
            }
            None => Ok(()),
        }
    };
    Ok(match head.dtype() {
        Dtype::F32 => {
            Part::F32(file.tensor(&name, Dtype::F32, &shape, |bytes| check(Part::F32(bytes), bytes.len() / 4))?)
        }
        Dtype::F64 => {
            Part::F64(file.tensor(&name, Dtype::F64, &shape, |bytes| check(Part::F64(bytes), bytes.len() / 8))?)
        }
        _ => Part::U16(file.tensor(&name, Dtype::U16, &shape, |bytes| check_steps(bytes, game, seat, street))?),
    })
}

/// Checks that the steps of every set are all or none.
fn check_steps(bytes: &[u8], game: &VectorGame, seat: usize, street: usize) -> std::result::Result<(), String> {
    let (part, n_hands) = (Part::U16(bytes), game.hands[seat].len());
    let row = game.streets[street].n_slots[seat] as usize * n_hands;
    let decisions = decisions(game, seat, street);
    for board in 0..game.streets[street].boards.len() {
        for &(slot, n_actions) in &decisions {
            for hand in 0..n_hands {
                let first = board * row + slot * n_hands + hand;
                let sum: f64 = (0..n_actions).map(|action| part.get(first + action * n_hands)).sum();
                if sum != 0.0 && sum != f64::from(STEPS) {
                    return Err(format!("the steps at element {first} sum to {sum}, expected {STEPS}"));
                }
            }
        }
    }
    Ok(())
}

/// The whole state of a solve, of a file in form `full`.
///
/// # Errors
/// [`Error::File`] for a damaged file.
pub(super) fn tables(file: &Streamed, head: &Head, game: &VectorGame) -> Result<Tables> {
    let read = |table: Table| -> Result<Vec<Values>> {
        if !head.tables().contains(&table) {
            return Ok(Vec::new());
        }
        let of_seat = |seat: usize| -> Result<Values> {
            let mut values = match head.dtype() {
                Dtype::F32 => Values::F32(Vec::with_capacity(game.table_len(seat))),
                _ => Values::F64(Vec::with_capacity(game.table_len(seat))),
            };
            for street in 0..game.streets.len() {
                match (part(file, head, game, table, seat, street)?, &mut values) {
                    (Part::F32(bytes), Values::F32(values)) => {
                        values.extend(bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)));
                    }
                    (Part::F64(bytes), Values::F64(values)) => {
                        values.extend(bytes.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)));
                    }
                    _ => return Err(Error::file(file.path(), None, "tables of several precisions")),
                }
            }
            Ok(values)
        };
        (0..2).map(of_seat).collect()
    };
    Ok(Tables {
        iteration: head.iteration,
        regrets: read(Table::Regrets)?,
        averages: read(Table::Averages)?,
        predictions: read(Table::Predictions)?,
        utilities: head.utilities.clone(),
        random: head.random.clone(),
        choice: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_read_by_their_old_names() {
        let read = |name: &str| serde_json::from_value::<SpotForm>(name.into()).expect(name);
        assert_eq!(["full", "f32"].map(read), [SpotForm::Full; 2]);
        assert_eq!(["strategies", "i16"].map(read), [SpotForm::Strategies; 2]);
    }

    #[test]
    fn steps_are_all_together_and_within_one_of_what_they_stand_for() {
        assert_eq!(steps(&[0.0, 0.0]), [0, 0]);
        assert_eq!(steps(&[3.0]), [STEPS]);
        assert_eq!(steps(&[0.0, 1e-30, 0.0]), [0, STEPS, 0]);
        let mut state = 1u64;
        for n in 1..9 {
            for _ in 0..1000 {
                let sums: Vec<f64> = (0..n)
                    .map(|_| {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        // Of all sizes, many of them next to nothing.
                        ((state >> 33) as f64 / (1u64 << 31) as f64).powi(8)
                    })
                    .collect();
                let (steps, total) = (steps(&sums), sums.iter().sum::<f64>());
                assert_eq!(steps.iter().map(|&steps| u32::from(steps)).sum::<u32>(), u32::from(STEPS), "{sums:?}");
                for (&steps, sum) in steps.iter().zip(&sums) {
                    let apart = (f64::from(steps) - sum / total * f64::from(STEPS)).abs();
                    assert!(apart < 1.0, "{apart} steps: {sums:?}");
                }
            }
        }
    }
}
