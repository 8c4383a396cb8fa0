//! How ranks add up their gradients: only rows that one of them has touched.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warpplay_gpu::shogi::sparse::exchange::ROW;

use crate::runtime::ipc;
use crate::shogi::engines::learn::{Learn, Lent};
use crate::shogi::ranks::{Ranks, agree};
use crate::{Device, Error, Result};

/// Where the gradients of ranks are stored and therefore added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// On several devices, or in host memory: added up there.
    #[default]
    Apart,
    /// On one GPU, in processes that cannot read each other's memory, such as those of different containers: added up in host memory.
    Refused,
    /// On one device, in one process: added up on the device.
    Threads,
    /// On one GPU, in processes that read each other's memory: added up on the GPU.
    Processes,
}

/// Statistics of one rank's part in adding up gradients. A position affects few weights of a large set, so ranks exchange only rows of 16 consecutive weights that are not
/// all 0 on every rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// Number of sums of gradients.
    pub sums: u64,
    /// Number of rows that were not 0 on some rank, added over all sums.
    pub rows: u64,
    /// Bytes that this rank sent through host memory or the network: 4 for each of its own rows; plus 128 for each row of all if gradients are added up in host memory, or
    /// 80 per sum between processes on a GPU.
    pub bytes: u64,
    /// Where the gradients lie.
    pub sharing: Sharing,
}

impl Exchange {
    /// Whether the rows are added up on a device.
    pub fn on_device(&self) -> bool {
        matches!(self.sharing, Sharing::Threads | Sharing::Processes)
    }
}

/// Determines where the ranks' gradients are stored. The engine's gradient is 0 before and after.
pub(super) fn sharing(ranks: &dyn Ranks, engine: &mut dyn Learn) -> Result<Sharing> {
    let device = engine.lends_on();
    if let Some(devices) = ranks.lend(Arc::new(device.clone()))? {
        let devices: Vec<_> = devices.iter().filter_map(|device| device.downcast_ref::<Option<Device>>()).collect();
        let one =
            devices.len() == ranks.size() && devices.iter().all(|device| device.is_some() && *device == devices[0]);
        return Ok(if one { Sharing::Threads } else { Sharing::Apart });
    }
    if ranks.size() == 1 {
        return Ok(Sharing::Apart);
    }
    // A GPU that has no name, as with an old driver, is nobody else's.
    let name = device.and_then(|device| ipc::hardware(&device).ok()).unwrap_or_default();
    let names = ranks.gather_bytes(&name)?;
    if names.iter().any(|other| other.is_empty() || *other != name) {
        return Ok(Sharing::Apart);
    }
    // Whether processes may read each other's memory depends on how they were started: it is tried, with a number of each rank in the first row.
    let number = ranks.rank() as i64 + 1;
    agree(ranks, engine.set_rows(&[0], &[number; ROW as usize]))?;
    let read = reads_others(ranks, engine);
    let found = agree(ranks, engine.rows(&[0]))?.first().copied();
    agree(ranks, engine.set_rows(&[0], &[0; ROW as usize]))?;
    let expected: i64 = (1..=ranks.size() as i64).sum();
    let works = read? && found == Some(expected);
    let all = ranks.gather_bytes(&[u8::from(works)])?;
    Ok(if all.iter().all(|works| works[..] == [1]) { Sharing::Processes } else { Sharing::Refused })
}

/// Adds the other processes' first row to this engine's, if all can read each other's memory.
fn reads_others(ranks: &dyn Ranks, engine: &mut dyn Learn) -> Result<bool> {
    let (_kept, handle) = agree(ranks, allowed(engine.export_rows(&[0])))?.unzip();
    let handles = ranks.gather_bytes(&handle.unwrap_or_default())?;
    if handles.iter().any(Vec::is_empty) {
        return Ok(false);
    }
    Ok(agree(ranks, allowed(engine.add_exported(&[0], &others(ranks, &handles))))?.is_some())
}

/// `None` if the driver refuses memory of other processes; other errors are kept.
fn allowed<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(Error::Driver { call, name, .. }) if call.starts_with("cuIpc") => {
            tracing::debug!("ranks on one GPU exchange their gradients through the host: {call} failed: {name}");
            Ok(None)
        }
        result => result.map(Some),
    }
}

/// What the other ranks gathered.
fn others<'a>(ranks: &dyn Ranks, gathered: &'a [Vec<u8>]) -> Vec<&'a [u8]> {
    let of_others = gathered.iter().enumerate().filter(|(rank, _)| *rank != ranks.rank());
    of_others.map(|(_, bytes)| &bytes[..]).collect()
}

/// Adds up the gradients of all ranks, which all receive the sum, and updates the statistics.
pub(super) fn sum(ranks: &dyn Ranks, engine: &mut dyn Learn, noted: &mut Exchange) -> Result<()> {
    let own = agree(ranks, engine.touched())?;
    let bytes: Vec<u8> = own.iter().flat_map(|row| row.to_le_bytes()).collect();
    let rows = union(&ranks.gather_bytes(&bytes)?);
    noted.sums += 1;
    noted.rows += rows.len() as u64;
    noted.bytes += bytes.len() as u64;
    if rows.is_empty() {
        return Ok(());
    }
    if noted.sharing == Sharing::Processes {
        let (_kept, handle) = agree(ranks, engine.export_rows(&rows))?;
        let handles = ranks.gather_bytes(&handle)?;
        noted.bytes += handle.len() as u64;
        // All have read when all have agreed.
        return agree(ranks, engine.add_exported(&rows, &others(ranks, &handles)));
    }
    if noted.sharing == Sharing::Threads {
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
    let rows: Vec<u32> = lists.iter().flat_map(rows).collect();
    let mut touched = vec![false; rows.iter().max().map_or(0, |&last| last as usize + 1)];
    for row in rows {
        touched[row as usize] = true;
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
        assert_eq!(union(&[list(&[1, 9, 5]), list(&[]), list(&[0, 5])]), [0, 1, 5, 9]);
        assert_eq!(union(&[list(&[]), list(&[])]), [0; 0]);
    }
}
