//! Every number of the paper that follows from others, and every claim, beside what holds.

use super::evidence;
use super::lab::Lab;
use crate::experiment::{Cell, Sheet, Stop, Table};
use crate::mnist_mlp::checks::{self, Claim, Number, Verdict};

/// The sheet. Nothing is measured for it: what our trainings say of a claim is taken from the run's journal, where other items have left it.
pub(super) fn sheet(sheet: Sheet, lab: &mut Lab<'_, '_>) -> Result<Sheet, Stop> {
    let numbers = checks::numbers();
    let n = |verdict: Verdict| numbers.iter().filter(|number| number.verdict() == verdict).count();
    let note = format!(
        "of {} numbers {} do not follow; {} more follow from the paper's own numbers, but at least one of those that each is computed from is wrong",
        numbers.len(),
        n(Verdict::DoesNotFollow),
        n(Verdict::FromWrong)
    );
    let mut table = Table::new("Numbers computed again")
        .column("location")
        .column("what")
        .column("published")
        .column("computed, from")
        .column("to")
        .column("from the printed terms")
        .column("unit")
        .column("follows");
    for number in &numbers {
        let Number { location, what, published, unit, computed, from_terms, .. } = number;
        let decimals = number.decimals;
        // The digits that are printed, also where the last ones are 0.
        let printed: Cell = if decimals == 0 { (*published).into() } else { format!("{published:.decimals$}").into() };
        let cells: [Cell; 8] = [
            (*location).into(),
            what.clone().into(),
            printed,
            computed.low.into(),
            computed.high.into(),
            (*from_terms).into(),
            (*unit).into(),
            number.verdict().name().into(),
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
