//! Which of the five measurements the printed averages and deviations are of.

use super::times::printed;
use crate::cfr_thesis::published::TIMES;
use crate::cfr_thesis::statistics::{Origin, Source, Spread};
use crate::experiment::{Cell, Item, Sheet, Stop, Table};

/// Every printed average and deviation, computed again.
pub fn averages(item: &Item) -> Result<Sheet, Stop> {
    let mut table = Table::new("the ten lines of each table, by how average and deviation come about")
        .column("table")
        .column("variant")
        .column("program")
        .column("average: all five runs")
        .column("average: the last four runs")
        .column("average: both, which are equal")
        .column("average: neither, to six digits behind the point")
        .column("deviation: divisor n − 1")
        .column("deviation: divisor n");
    let mut odd = Table::new("lines that differ from the others of their table")
        .column("table")
        .column("iterations")
        .column("printed average")
        .digits("mean of five", 6)
        .digits("mean of the last four", 6)
        .column("what it is");
    for times in &TIMES {
        let origins: Vec<Origin> =
            times.rows.iter().map(|row| Origin::of(&row.seconds, row.average, row.deviation)).collect();
        let count = |is: &dyn Fn(&Origin) -> bool| Cell::from(origins.iter().filter(|origin| is(origin)).count());
        table.row([
            times.table.into(),
            times.variant.letter().into(),
            times.program.label().into(),
            count(&|origin| origin.average == Source::AllFive),
            count(&|origin| origin.average == Source::LastFour),
            count(&|origin| origin.average == Source::Either),
            count(&|origin| origin.average == Source::Neither),
            count(&|origin| origin.sample != Source::Neither),
            count(&|origin| origin.population != Source::Neither && origin.sample == Source::Neither),
        ]);
        let usual = if times.table < 10 { Source::AllFive } else { Source::LastFour };
        for (row, origin) in times.rows.iter().zip(&origins) {
            if [usual, Source::Either].contains(&origin.average) {
                continue;
            }
            let what = match (origin.average, origin.average_to_four_digits) {
                (Source::Neither, found) if found != Source::Neither => {
                    format!("{}, rounded to four digits behind the point", found.words())
                }
                (found, _) => found.words().to_string(),
            };
            odd.row([
                times.table.into(),
                row.iterations.into(),
                printed(row.average),
                Spread::of(&row.seconds).mean.into(),
                Spread::of(&row.seconds[1..]).mean.into(),
                what.into(),
            ]);
        }
    }
    Ok(Sheet::new(item)
        .table(table)
        .table(odd)
        .note("Chapter 5 says that execution times are averages of five measurements. Those of variant A are; those of B, C and D leave out the first.")
        .note("What sets a first run apart, such as empty caches, is in the averages of A and, but for one line of Table 13, not in those of B, C and D."))
}
