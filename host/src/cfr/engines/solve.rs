//! What the solver asks of each engine. One implementation a folder.

use crate::Result;
use crate::cfr::layout::{Measured, Table, Tables, Values};

/// An engine.
pub(in crate::cfr) trait Solve: Send {
    /// Runs `n` more iterations, and returns when they are done.
    fn run(&mut self, n: u32) -> Result<()>;

    /// Values and exact best responses of the average profile, on the device.
    fn measure(&mut self) -> Result<Measured>;

    /// Sum over the iterations so far of the utilities of the strategies used, by seat.
    fn utilities(&mut self) -> Result<Vec<f64>>;

    /// Reads the complete state.
    fn tables(&mut self) -> Result<Tables>;

    /// Reads one table of a seat, none if the seat has no such table. An engine of large tables reads no other, so that the state need not be in memory twice.
    fn table(&mut self, table: Table, seat: usize) -> Result<Values> {
        let mut tables = self.tables()?;
        let of_seats = match table {
            Table::Regrets => &mut tables.regrets,
            Table::Averages => &mut tables.averages,
            Table::Predictions => &mut tables.predictions,
        };
        Ok(of_seats.get_mut(seat).map(std::mem::take).unwrap_or_default())
    }

    /// Reads the averages of a seat in vector form as far as the first street goes, or more of them.
    fn first_street(&mut self, seat: usize) -> Result<Values> {
        self.table(Table::Averages, seat)
    }

    /// Reads the part of the state that is neither a table nor a sum of utilities.
    fn random(&mut self) -> Result<Vec<u64>> {
        Ok(self.tables()?.random)
    }

    /// Restores the state that was read.
    fn set_tables(&mut self, tables: &Tables) -> Result<()>;
}
