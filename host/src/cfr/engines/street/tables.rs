//! Tables between the device's layout, rows of the hands that a board leaves possible, and the game's own.

use std::sync::Arc;

use warpplay_gpu::cfr::street::layout::ROW;
use warpplay_gpu::cfr::street::scale_of;

use super::image::Image;
use super::kernels::Table;
use crate::cfr::layout::{Values, VectorGame};
use crate::{Error, Result, Stream};

/// Format of a table's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Single precision.
    F32,
    /// Signed 16-bit integers, for regrets.
    Signed,
    /// Unsigned 16-bit integers, for averages.
    Unsigned,
}

/// Calls `each` for every row of a game's first `n_streets` streets with the row's first index on the device, its offset in the game's layout, and the numbers of its hands.
fn rows(
    game: &VectorGame,
    image: &Image,
    number: usize,
    n_games: usize,
    seat: usize,
    n_streets: usize,
    mut each: impl FnMut(usize, usize, &[u16]),
) {
    for street in 0..n_streets {
        let here = &image.streets[street * n_games + number];
        let stride = here.stride[seat] as usize;
        for board in 0..here.n_boards as usize {
            let n = image.boards[here.boards as usize + board].n_hands[seat] as usize;
            let first = here.hands[seat] as usize + board * stride;
            for slot in 0..here.n_slots[seat] {
                let at = here.tables[seat] as usize + (board * here.n_slots[seat] as usize + slot as usize) * stride;
                each(at, game.offset(seat, street, board, slot), &image.hands[first..first + n]);
            }
        }
    }
}

/// A seat's table of game `number`, in the game's layout, of its first `n_streets` streets. 16-bit numbers are returned as `f64`, in which the products of scale and integer are exact.
#[allow(clippy::too_many_arguments, reason = "where the table is, and how much of it")]
pub(super) fn read(
    stream: &Stream,
    table: &Table,
    kind: Kind,
    games: &[Arc<VectorGame>],
    image: &Image,
    number: usize,
    seat: usize,
    n_streets: usize,
) -> Result<Values> {
    let game = &games[number];
    let len = game.street_offset(seat, n_streets);
    // Of the device's table as much as these streets have, rows of other games between them included.
    let end_of = |street: usize| {
        let here = &image.streets[street * games.len() + number];
        let n_rows = here.n_boards as usize * here.n_slots[seat] as usize;
        here.tables[seat] as usize + n_rows * here.stride[seat] as usize
    };
    let first = image.streets[number].tables[seat] as usize;
    let end = (0..n_streets).map(end_of).max().unwrap_or(first);
    let per_word = if kind == Kind::F32 { 1 } else { 2 };
    let mut cells = vec![0; (end - first) / per_word];
    stream.read_into(&table.cells, first / per_word, &mut cells)?;
    if kind == Kind::F32 {
        let mut values = vec![0.0; len];
        rows(game, image, number, games.len(), seat, n_streets, |at, offset, hands| {
            for (cell, &hand) in cells[at - first..].iter().zip(hands) {
                values[offset + hand as usize] = f32::from_bits(*cell);
            }
        });
        return Ok(Values::F32(values));
    }
    let mut scales = vec![0.0f32; (end - first) / ROW as usize];
    stream.read_into(&table.scales, first / ROW as usize, &mut scales)?;
    let shorts: &[u16] = bytemuck::cast_slice(&cells);
    let mut values = vec![0.0; len];
    rows(game, image, number, games.len(), seat, n_streets, |at, offset, hands| {
        for (at, &hand) in (at - first..).zip(hands) {
            let whole = if kind == Kind::Signed { f64::from(shorts[at] as i16) } else { f64::from(shorts[at]) };
            values[offset + hand as usize] = whole * f64::from(scales[at / ROW as usize]);
        }
    });
    Ok(Values::F64(values))
}

/// Writes a seat's table of game `number` from the game's layout; rows of other games are unchanged.
#[allow(clippy::too_many_arguments, reason = "where the table is, and what goes there")]
pub(super) fn write(
    stream: &Stream,
    table: &mut Table,
    kind: Kind,
    games: &[Arc<VectorGame>],
    image: &Image,
    number: usize,
    seat: usize,
    values: &Values,
) -> Result<()> {
    let game = &games[number];
    if values.len() != game.table_len(seat) {
        return Err(Error::shape(
            format!("table of seat {seat}"),
            format!("{} values", game.table_len(seat)),
            format!("{} values", values.len()),
        ));
    }
    let mut cells = stream.read(&table.cells)?;
    if kind == Kind::F32 {
        rows(game, image, number, games.len(), seat, game.streets.len(), |at, offset, hands| {
            for (cell, &hand) in cells[at..].iter_mut().zip(hands) {
                *cell = (values.get(offset + hand as usize) as f32).to_bits();
            }
        });
        return stream.write(&mut table.cells, 0, &cells);
    }
    let mut scales = stream.read(&table.scales)?;
    let shorts: &mut [u16] = bytemuck::cast_slice_mut(&mut cells);
    rows(game, image, number, games.len(), seat, game.streets.len(), |at, offset, hands| {
        for (chunk, hands) in hands.chunks(ROW as usize).enumerate() {
            let at = at + chunk * ROW as usize;
            let value = |hand: u16| values.get(offset + hand as usize);
            let largest = hands.iter().map(|&hand| value(hand).abs()).fold(0.0, f64::max);
            // What was read from such a table gives the same scale and the same integers.
            let scale = scale_of(largest as f32, kind == Kind::Signed);
            scales[at / ROW as usize] = scale;
            for (at, &hand) in (at..).zip(hands) {
                let whole = if scale > 0.0 { (value(hand) / f64::from(scale)).round_ties_even() } else { 0.0 };
                shorts[at] = if kind == Kind::Signed { whole as i16 as u16 } else { whole as u16 };
            }
        }
    });
    stream.write(&mut table.scales, 0, &scales)?;
    stream.write(&mut table.cells, 0, &cells)
}
