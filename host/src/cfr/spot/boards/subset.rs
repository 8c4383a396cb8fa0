//! A few flops that stand for all.

use std::collections::BTreeMap;

use super::suits::Symmetry;
use crate::cfr::game::cards::{CardSet, Deck};
use crate::cfr::spot::texture::Texture;
use crate::{Error, Result};

/// Flops of a deck.
const N_FLOPS: i64 = 22_100;
/// The largest class: flops of three ranks and three suits.
const LARGEST_CLASS: i64 = 24;
/// Most flops that are chosen: then none is chosen twice, since a flop of the largest class stands for no more than its class.
const MOST: usize = (N_FLOPS / LARGEST_CLASS) as usize;

/// Pairing and suits, and the high card.
type Stratum = ([usize; 2], usize);

/// One flop of each class, the highest, with the size of the class.
pub fn classes() -> Vec<(CardSet, usize)> {
    Symmetry::full().classes(Deck::FULL.all(), 3)
}

/// `n` flops, the highest first, with equal weights that add up to all flops.
pub fn choose(n: usize) -> Result<Vec<(CardSet, f64)>> {
    if !(1..=MOST).contains(&n) {
        return Err(Error::option("boards", n, format!("1 to {MOST} flops, or all 1755")));
    }
    // Rows: pairing with suits. Columns: the high card. A class of a stratum has always the same size.
    let mut strata: BTreeMap<Stratum, Vec<(CardSet, usize)>> = BTreeMap::new();
    for (flop, size) in classes() {
        let [(_, high, _), (_, pairing, _), (_, suits, _), _] = Texture::of_cards(flop).features();
        strata.entry(([pairing, suits], high)).or_default().push((flop, size));
    }
    let mut rows: Vec<[usize; 2]> = strata.keys().map(|&(row, _)| row).collect();
    rows.dedup();
    let mut table = vec![vec![0; 13]; rows.len()];
    let at = |row: [usize; 2], high: usize| (rows.partition_point(|&other| other < row), high - 1);
    for (&(row, high), flops) in &strata {
        let (row, column) = at(row, high);
        table[row][column] = n as i64 * flops.iter().map(|&(_, size)| size as i64).sum::<i64>();
    }
    let table = rounded(table, N_FLOPS);
    let mut chosen = Vec::with_capacity(n);
    for (number, ((row, high), flops)) in strata.iter_mut().enumerate() {
        let (row, column) = at(*row, *high);
        let wanted = table[row][column] as usize;
        flops.sort_by_key(|&(flop, _)| (Texture::of_cards(flop).straight, std::cmp::Reverse(flop)));
        // The golden ratio spreads the starts evenly, however many strata there are.
        let start = (0.5 + number as f64 * 0.618_033_988_749_895).fract();
        let taken = (0..wanted).map(|i| ((i as f64 + start) * flops.len() as f64 / wanted as f64) as usize);
        chosen.extend(taken.map(|index| flops[index.min(flops.len() - 1)].0));
    }
    chosen.sort_unstable_by(|a, b| b.cmp(a));
    let weight = N_FLOPS as f64 / chosen.len() as f64;
    Ok(chosen.into_iter().map(|flop| (flop, weight)).collect())
}

/// Rounds a table of multiples of 1 / `unit` up or down so that the sums of rows and columns, and of all, are rounded too (controlled rounding; Bacharach 1966).
///
/// With a column for what the rows lack and a row for what the columns lack, all sums are 0. What is added to one entry of a cycle is taken from the next until one of them is a multiple of
/// `unit`; then there is an open entry less.
fn rounded(mut table: Vec<Vec<i64>>, unit: i64) -> Vec<Vec<i64>> {
    let (n_rows, n_columns) = (table.len(), table.first().map_or(0, Vec::len));
    for row in &mut table {
        row.push(-row.iter().sum::<i64>());
    }
    table.push((0..=n_columns).map(|column| -table.iter().map(|row| row[column]).sum::<i64>()).collect());
    while let Some(cycle) = open_cycle(&table, unit) {
        let above = |&(row, column): &(usize, usize)| table[row][column].rem_euclid(unit);
        let up = cycle.iter().step_by(2).map(|entry| unit - above(entry));
        let down = cycle.iter().skip(1).step_by(2).map(above);
        let most = up.chain(down).min().unwrap_or(0);
        for (number, &(row, column)) in cycle.iter().enumerate() {
            table[row][column] += if number % 2 == 0 { most } else { -most };
        }
    }
    table.truncate(n_rows);
    for row in &mut table {
        row.truncate(n_columns);
        row.iter_mut().for_each(|entry| *entry /= unit);
    }
    table
}

/// Open entries, which are no multiples of `unit`, by turns in the same row and in the same column, so that the last leads back to the first; `None` where no entry is open.
///
/// The sums of rows and columns are multiples, so one with an open entry has another, and a walk that does not turn back comes to a row or column again.
fn open_cycle(table: &[Vec<i64>], unit: i64) -> Option<Vec<(usize, usize)>> {
    let n_columns = table.first().map_or(0, Vec::len);
    let is_open = |&(row, column): &(usize, usize)| table[row][column].rem_euclid(unit) != 0;
    let first = (0..table.len()).flat_map(|row| (0..n_columns).map(move |column| (row, column))).find(is_open)?;
    // Lines: rows, which are true, and columns.
    let (mut lines, mut path) = (vec![(true, first.0), (false, first.1)], vec![first]);
    loop {
        let (&(is_row, line), &last) = (lines.last()?, path.last()?);
        let next = match is_row {
            true => (0..n_columns).map(|column| (line, column)).find(|entry| *entry != last && is_open(entry)),
            false => (0..table.len()).map(|row| (row, line)).find(|entry| *entry != last && is_open(entry)),
        }?;
        path.push(next);
        let line = if is_row { (false, next.1) } else { (true, next.0) };
        if let Some(before) = lines.iter().position(|&other| other == line) {
            return Some(path.split_off(before));
        }
        lines.push(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_rounded_with_their_sums() {
        // Three halves in each row and column.
        let table = vec![vec![1, 1, 1, 0], vec![1, 1, 0, 1], vec![1, 0, 1, 1], vec![0, 1, 1, 1]];
        let rounded = rounded(table.clone(), 2);
        let sums = |table: &[Vec<i64>]| -> Vec<i64> {
            let columns = (0..4).map(|column| table.iter().map(|row| row[column]).sum());
            table.iter().map(|row| row.iter().sum()).chain(columns).collect()
        };
        assert!(sums(&rounded).iter().all(|sum| (1..=2).contains(sum)), "{rounded:?}");
        assert_eq!(rounded.iter().flatten().sum::<i64>(), 6);
        let pairs = rounded.iter().flatten().zip(table.iter().flatten());
        assert!(pairs.clone().all(|(&found, &twice)| found * 2 - 1 <= twice && twice <= found * 2 + 1), "{rounded:?}");
    }
}
