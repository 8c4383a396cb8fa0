//! How ranks add up their gradients: only rows that one of them has touched.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warpplay_gpu::shogi::sparse::exchange::ROW;

use crate::runtime::ipc;
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
    /// Bytes that this rank handed over through host memory or the network: 4 for each row of its own, and 128 for each row of all where they do not share a device, or 72 where processes do.
    pub bytes: u64,
    /// Whether the ranks share a device, and the rows were added up there.
    pub on_device: bool,
}

/// Where the ranks' gradients lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sharing {
    /// On one device, in one process.
    Threads,
    /// On one GPU, in processes that read each other's memory.
    Processes,
    /// Apart.
    Nothing,
}

/// Finds out where the ranks' gradients lie.
pub(super) fn sharing(ranks: &dyn Ranks, engine: &mut dyn Learn) -> Result<Sharing> {
    let device = engine.lends_on();
    if let Some(devices) = ranks.lend(Arc::new(device.clone()))? {
        let devices: Vec<_> = devices.iter().filter_map(|device| device.downcast_ref::<Option<Device>>()).collect();
        let one =
            devices.len() == ranks.size() && devices.iter().all(|device| device.is_some() && *device == devices[0]);
        return Ok(if one { Sharing::Threads } else { Sharing::Nothing });
    }
    if ranks.size() == 1 {
        return Ok(Sharing::Nothing);
    }
    let name = agree(ranks, device.map_or(Ok(vec![]), |device| ipc::hardware(&device)))?;
    let names = ranks.gather_bytes(&name)?;
    if names.iter().any(|other| other.is_empty() || *other != name) {
        return Ok(Sharing::Nothing);
    }
    // Whether processes may read each other's memory depends on how they were started: it is tried.
    let tried = match agree(ranks, engine.export_rows(&[0])) {
        Ok((_kept, handle)) => {
            let handles = ranks.gather_bytes(&handle)?;
            agree(ranks, engine.add_exported(&[0], &others(ranks, &handles)))
        }
        Err(error) => Err(error),
    };
    Ok(match tried {
        Ok(()) => Sharing::Processes,
        Err(error) => {
            tracing::debug!("ranks on one GPU exchange their gradients through the host: {error}");
            Sharing::Nothing
        }
    })
}

/// What the other ranks gathered.
fn others<'a>(ranks: &dyn Ranks, gathered: &'a [Vec<u8>]) -> Vec<&'a [u8]> {
    let of_others = gathered.iter().enumerate().filter(|(rank, _)| *rank != ranks.rank());
    of_others.map(|(_, bytes)| &bytes[..]).collect()
}

/// Adds up the gradients of all ranks, which all get the sum; notes what was exchanged.
pub(super) fn sum(ranks: &dyn Ranks, engine: &mut dyn Learn, sharing: Sharing, noted: &mut Exchange) -> Result<()> {
    let own = agree(ranks, engine.touched())?;
    let bytes: Vec<u8> = own.iter().flat_map(|row| row.to_le_bytes()).collect();
    let rows = union(&ranks.gather_bytes(&bytes)?);
    noted.sums += 1;
    noted.rows += rows.len() as u64;
    noted.bytes += bytes.len() as u64;
    if sharing == Sharing::Processes {
        let (_kept, handle) = agree(ranks, engine.export_rows(&rows))?;
        let handles = ranks.gather_bytes(&handle)?;
        noted.bytes += handle.len() as u64;
        // All have read when all have agreed.
        return agree(ranks, engine.add_exported(&rows, &others(ranks, &handles)));
    }
    if sharing == Sharing::Threads {
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
