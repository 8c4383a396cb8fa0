//! Every number of the paper that follows from others, and every claim, beside what holds.

use crate::experiment::{Cell, Sheet, Table};
use crate::mnist_mlp::checks::{self, Number};

/// The sheet: nothing is measured.
pub(super) fn sheet(sheet: Sheet) -> Sheet {
    let numbers = checks::numbers();
    let wrong = numbers.iter().filter(|number| !number.holds()).count();
    let note = format!("{wrong} of {} numbers do not follow from what they are said to follow from", numbers.len());
    let mut table = Table::new("Numbers computed again")
        .column("location")
        .column("what")
        .column("published")
        .column("computed, from")
        .column("to")
        .column("unit")
        .column("holds");
    for number in &numbers {
        let Number { location, what, published, unit, computed, .. } = number;
        let cells: [Cell; 7] = [
            (*location).into(),
            what.clone().into(),
            (*published).into(),
            computed.low.into(),
            computed.high.into(),
            (*unit).into(),
            if number.holds() { "yes" } else { "no" }.into(),
        ];
        table.row(cells);
    }
    let mut claims =
        Table::new("Claims").column("location").column("claim").column("what holds").column("measured by the item");
    for claim in checks::claims() {
        claims.row([claim.location.into(), claim.claim.into(), claim.holds.into(), Cell::from(claim.item)]);
    }
    sheet.table(table).table(claims).note(note)
}
