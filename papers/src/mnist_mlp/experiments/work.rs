//! Floating-point operations and threads of a step: the table of section 2.3 beside what the sizes give.

use crate::experiment::{Cell, Sheet, Table};
use crate::mnist_mlp::checks::speed;
use crate::mnist_mlp::published::{BATCH, SIZES, main_run, work};

/// Operations and threads as printed, where they are.
type Published = (Option<f64>, Option<f64>);

/// An operation of a step: its name, what is printed of it, operations and threads with work.
type Operation = (&'static str, Published, (u64, u64));

/// The operations of a step after its pixels are gathered.
fn operations([inputs, hidden, classes]: [u64; 3], batch: u64) -> [Operation; 13] {
    let product = |m: u64, n: u64, k: u64| (2 * m * n * k, m * n);
    let none = (None, None);
    let parameters = inputs * hidden + hidden * classes + hidden + classes;
    [
        ("forward, layer 1", (Some(work::FORWARD_1), Some(work::LAYER_1_THREADS)), product(batch, hidden, inputs)),
        ("bias, both layers", none, (batch * (hidden + classes), batch * (hidden + classes))),
        ("ReLU", (Some(work::RELU), Some(work::LAYER_1_THREADS)), (batch * hidden, batch * hidden)),
        ("forward, layer 2", (Some(work::FORWARD_2), Some(work::LAYER_2_THREADS)), product(batch, classes, hidden)),
        // A largest value, a difference, an exponential and an addition for each value; then a difference and an exponential again, and a division.
        ("softmax", (Some(work::SOFTMAX), Some(work::SOFTMAX_THREADS)), (7 * batch * classes, batch * classes)),
        ("loss", (Some(work::LOSS), Some(work::SOFTMAX_THREADS)), (3 * batch, batch)),
        // A difference for the class of each sample, and a factor.
        ("softmax gradient", none, (batch * classes + batch, batch * classes)),
        ("gradient of W2", (Some(work::BACKWARD_2), Some(work::BACKWARD_THREADS)), product(hidden, classes, batch)),
        ("hidden gradient", none, product(batch, hidden, classes)),
        ("ReLU backward", none, (batch * hidden, batch * hidden)),
        ("gradient of W1", none, product(inputs, hidden, batch)),
        ("gradients of b1 and b2", none, ((batch - 1) * (hidden + classes), batch * (hidden + classes))),
        ("updates", (None, Some(work::UPDATE_THREADS)), (2 * parameters, parameters)),
    ]
}

/// The sheet: arithmetic alone.
pub(super) fn sheet(sheet: Sheet) -> Sheet {
    let [inputs, hidden, classes] = SIZES.map(u64::from);
    let batch = u64::from(BATCH);
    let mut table = Table::new("A step of batch 64 of 784-256-10")
        .column("operation")
        .column("published FLOP")
        .column("FLOP")
        .column("published threads")
        .column("threads with work");
    let rows = operations(SIZES.map(u64::from), batch);
    for (name, (published, threads), (flop, with_work)) in rows {
        let cells: [Cell; 5] = [name.into(), published.into(), flop.into(), threads.into(), with_work.into()];
        table.row(cells);
    }
    let both = |rows: &[Operation]| -> (u64, u64) {
        let flop: u64 = rows.iter().map(|(.., (flop, _))| flop).sum();
        let most = rows.iter().map(|(.., (_, threads))| *threads).max();
        (flop, most.unwrap_or(0))
    };
    // The published total leaves the updates out; of threads it is the most.
    let [steps @ .., _] = &rows;
    let (flop, threads) = both(steps);
    table.row([
        "forward and backward; threads: the most".into(),
        work::STEP.into(),
        flop.into(),
        work::BACKWARD_THREADS.into(),
        Cell::from(threads),
    ]);
    let (flop, threads) = both(&rows);
    table.row(["with the updates".into(), Cell::Empty, flop.into(), Cell::Empty, Cell::from(threads)]);
    let (gpu, cpu) = speed::flops();
    let mut rates = Table::new("What the published times mean, products alone")
        .column("program")
        .digits("seconds", 5)
        .digits("GFLOP/s", 2)
        .column("\"realistic\", GFLOPS");
    let claimed = format!("{} to {}", work::REALISTIC_FLOPS.0 / 1e9, work::REALISTIC_FLOPS.1 / 1e9);
    rates.row(["GPU".into(), (main_run::GPU_MS / 1e3).into(), (gpu / 1e9).into(), Cell::from(claimed)]);
    rates.row(["CPU".into(), (main_run::CPU_MS / 1e3).into(), Cell::from(cpu / 1e9)]);
    let products = speed::step_flop(&SIZES, BATCH);
    sheet.table(table).table(rates).note(format!(
        "the products of a step are {:.2} MFLOP, of which the forward pass is {:.2}; the published total leaves out the gradient of W1 and the hidden gradient",
        products / 1e6,
        2e-6 * (batch * hidden * (inputs + classes)) as f64
    ))
    .note(format!(
        "the launches of item kernels have {} FLOP more: there the pixels of a batch are scaled too",
        batch * inputs
    ))
}

#[cfg(test)]
mod tests {
    use warpplay::Device;

    use super::*;
    use crate::mnist_mlp::{Forms, profile};

    #[test]
    fn a_step_has_the_operations_of_its_launches() -> warpplay::Result<()> {
        let launches = profile(&Device::simt(), &[15, 9, 4], 6, &Forms::published())?;
        let of_launches = |name: &str| -> u64 {
            launches.iter().filter(|launch| launch.name.starts_with(name)).map(|launch| launch.flops).sum()
        };
        let rows = operations([15, 9, 4], 6);
        let all: u64 = rows.iter().map(|(.., (flop, _))| flop).sum();
        assert_eq!(all + of_launches("gather"), of_launches(""));
        let row = |name: &str| rows.iter().find(|row| row.0 == name).expect("is there").2.0;
        assert_eq!(row("softmax") + row("softmax gradient"), of_launches("softmax"));
        assert_eq!(row("ReLU backward"), of_launches("ReLU backward"));
        Ok(())
    }
}
