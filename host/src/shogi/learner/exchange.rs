//! How ranks add up their gradients: only rows that one of them has touched.

use serde::{Deserialize, Serialize};
use warpplay_gpu::shogi::sparse::exchange::ROW;

use crate::shogi::engines::learn::{Learn, Lent};
use crate::shogi::ranks::{Ranks, agree};
use crate::{Device, Error, Result};

/// What one rank handed to the others while gradients were added up. A position touches few weights of a large set, so only rows of 16 weights beside each other are exchanged that are
/// not all 0 on some rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// Sums of gradients.
    pub sums: u64,
    /// Rows that some rank had touched, added over all sums.
    pub rows: u64,
    /// Bytes that this rank handed over through host memory or the network: 4 for each row of its own, and 128 for each row of all where they do not share a device.
    pub bytes: u64,
    /// Whether the ranks are threads on one device, and the rows were added up there.
    pub on_device: bool,
}

/// Whether all ranks are threads of one process whose gradients lie on one device.
pub(super) fn share_device(ranks: &dyn Ranks, engine: &dyn Learn) -> Result<bool> {
    let mine: Lent = std::sync::Arc::new(engine.lends_on());
    let Some(devices) = ranks.lend(mine)? else { return Ok(false) };
    let devices: Vec<_> = devices.iter().filter_map(|device| device.downcast_ref::<Option<Device>>()).collect();
    Ok(devices.len() == ranks.size() && devices.iter().all(|device| device.is_some() && *device == devices[0]))
}

/// Adds up the gradients of all ranks, which all get the sum; notes what was exchanged.
pub(super) fn sum(ranks: &dyn Ranks, engine: &mut dyn Learn, noted: &mut Exchange) -> Result<()> {
    let own = agree(ranks, engine.touched())?;
    let bytes: Vec<u8> = own.iter().flat_map(|row| row.to_le_bytes()).collect();
    let rows = union(&ranks.gather_bytes(&bytes)?);
    noted.sums += 1;
    noted.rows += rows.len() as u64;
    noted.bytes += bytes.len() as u64;
    if noted.on_device {
        let mine = agree(ranks, engine.lend_rows(&rows))?;
        let lent = ranks.lend(mine)?.ok_or_else(|| Error::Order {
            what: "rows of a gradient",
            reason: "ranks that were threads of one process no longer are".into(),
        })?;
        let others = lent.into_iter().enumerate().filter(|(rank, _)| *rank != ranks.rank());
        let others: Vec<Lent> = others.map(|(_, lent)| lent).collect();
        return agree(ranks, engine.add_lent(&rows, &others));
    }
    let mut values = agree(ranks, engine.rows(&rows))?;
    noted.bytes += size_of_val(&values[..]) as u64;
    ranks.sum(&mut values)?;
    agree(ranks, engine.set_rows(&rows, &values))
}

/// The rows of all lists, ascending.
fn union(lists: &[Vec<u8>]) -> Vec<u32> {
    let rows = |list: &Vec<u8>| -> Vec<u32> { list.as_chunks().0.iter().map(|&row| u32::from_le_bytes(row)).collect() };
    let lists: Vec<Vec<u32>> = lists.iter().map(rows).collect();
    let n = lists.iter().filter_map(|list| list.last()).max().map_or(0, |&last| last as usize + 1);
    let mut touched = vec![false; n];
    for row in lists.into_iter().flatten() {
        if let Some(touched) = touched.get_mut(row as usize) {
            *touched = true;
        }
    }
    (0..).zip(touched).filter_map(|(row, touched)| touched.then_some(row)).collect()
}

const _: () = assert!(ROW == 16 && ROW as usize * size_of::<i64>() == 128, "the documentation says so");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unions_name_every_row_once() {
        let list = |rows: &[u32]| rows.iter().flat_map(|row| row.to_le_bytes()).collect::<Vec<u8>>();
        assert_eq!(union(&[list(&[1, 5, 9]), list(&[]), list(&[0, 5])]), [0, 1, 5, 9]);
        assert_eq!(union(&[list(&[]), list(&[])]), [0; 0]);
    }
}
