//! Every number of the paper that follows from others, and every claim, beside what holds.

use super::evidence;
use super::lab::Lab;
use crate::experiment::{Cell, Sheet, Stop, Table};
use crate::mnist_mlp::checks::{self, Claim, Number};

/// The sheet. Nothing is measured for it: what our trainings say of a claim is taken from the run's journal, where other items have left it.
pub(super) fn sheet(sheet: Sheet, lab: &mut Lab<'_, '_>) -> Result<Sheet, Stop> {
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
    let mut claims = Table::new("Claims")
        .column("location")
        .column("claim")
        .column("what follows from the figures")
        .column("what was measured")
        .column("item");
    for Claim { location, claim, holds, item, evidence } in checks::claims() {
        let found = match evidence {
            Some(evidence) => evidence::found(lab, evidence)?.or_else(|| item.map(|item| format!("see item {item}"))),
            None => None,
        };
        let holds = (!holds.is_empty()).then_some(holds);
        let cells: [Cell; 5] = [location.into(), claim.into(), holds.into(), found.into(), item.into()];
        claims.row(cells);
    }
    Ok(sheet.table(table).table(claims).note(note))
}
