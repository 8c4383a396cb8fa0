//! Plain against tiled product at the shapes of a step and of large squares: what the tiles save in loads, and in time.

use warpplay::Backend;

use super::kernels::profiled;
use super::lab::Lab;
use crate::experiment::{Axis, Bar, Cell, Chart, Figure, Group, Sheet, Stop, Table};
use crate::mnist_mlp::checks::speed::loads;
use crate::mnist_mlp::published::{BATCH, SIDE, memory};
use crate::mnist_mlp::{Forms, Matmul, OperationTime, Product, profile_product};

/// A form of the product: which kernel, and the side of its blocks and tiles.
type Form = (Matmul, u32);

/// All forms.
const FORMS: [Form; 6] = [
    (Matmul::Plain, 8),
    (Matmul::Plain, SIDE),
    (Matmul::Plain, 32),
    (Matmul::Tiled, 8),
    (Matmul::Tiled, SIDE),
    (Matmul::Tiled, 32),
];
/// What the published program uses, kernel 1.
const PLAIN: Form = (Matmul::Plain, SIDE);
/// What it describes, kernel 2.
const TILED: Form = (Matmul::Tiled, SIDE);

/// Sides of the squares that stand for "large matrices" (section 2.2, decision 2), for which the paper gives no size.
const SQUARES: [u32; 2] = [1024, 2048];

/// One product in each of [`FORMS`].
struct Compared {
    name: String,
    times: Vec<OperationTime>,
}

impl Compared {
    fn of(&self, form: Form) -> Option<&OperationTime> {
        self.times.get(FORMS.iter().position(|of| *of == form)?)
    }

    /// How many times as fast a form is as the plain product in blocks of 16 x 16.
    fn gain(&self, form: Form) -> Option<f64> {
        Some(self.of(PLAIN)?.microseconds / self.of(form)?.microseconds)
    }
}

/// The sheet.
pub(super) fn sheet(sheet: Sheet, lab: &mut Lab<'_, '_>) -> Result<Sheet, Stop> {
    let sheet = sheet.table(counted(lab));
    if !lab.has_kernels("times of plain and tiled products") {
        return Ok(sheet);
    }
    let products = of_step(lab)?;
    let gains: Vec<f64> = products.iter().filter_map(|product| product.gain(TILED)).collect();
    let range = gains.iter().fold((f64::INFINITY, 0.0f64), |(low, high), &gain| (low.min(gain), high.max(gain)));
    let sheet = sheet
        .table(times("The products of a step in all forms", &products, false))
        .figure(figure(&products))
        .note(format!(
            "a step: tiles of 16 are {:.2} to {:.2} times as fast as the plain product of the same blocks",
            range.0, range.1
        ));
    if lab.run.device().backend() != Backend::Cuda {
        lab.leave_out("times of large squares: need a GPU");
        return Ok(sheet);
    }
    let squares = squares(lab)?;
    let gains: Vec<String> =
        squares.iter().filter_map(|square| Some(format!("{:.2} ({})", square.gain(TILED)?, square.name))).collect();
    Ok(sheet.table(times("Squares in all forms", &squares, true)).note(format!(
        "large matrices: tiles of 16 are {} times as fast as the plain product of the same blocks; published: {}, expected and not measured",
        gains.join(" and "),
        claimed()
    )))
}

/// The published gain, in words.
fn claimed() -> String {
    format!("{} to {}", memory::TILED_GAIN.0, memory::TILED_GAIN.1)
}

/// The products of a step.
fn of_step(lab: &mut Lab<'_, '_>) -> Result<Vec<Compared>, Stop> {
    lab.run.expect(FORMS.len() as u64);
    let mut products: Vec<Compared> = Vec::new();
    for (matmul, tile) in FORMS {
        let mut operations = profiled(lab, BATCH, Forms { matmul, tile, ..Forms::published() })?;
        operations.retain(|operation| operation.kernel.contains("matmul"));
        for (at, operation) in operations.into_iter().enumerate() {
            match products.get_mut(at) {
                Some(product) => product.times.push(operation),
                None => products.push(Compared { name: operation.name.clone(), times: vec![operation] }),
            }
        }
    }
    Ok(products)
}

/// The squares; the smallest alone in a quick run.
fn squares(lab: &mut Lab<'_, '_>) -> Result<Vec<Compared>, Stop> {
    let n = if lab.run.quick() { 1 } else { SQUARES.len() };
    lab.run.expect((n * FORMS.len()) as u64);
    let mut found = Vec::new();
    for side in SQUARES.into_iter().take(n) {
        let mut times = Vec::new();
        for form in FORMS {
            times.push(square(lab, side, form)?);
        }
        found.push(Compared { name: format!("square, {side}"), times });
    }
    Ok(found)
}

/// A square product, from the journal or measured.
fn square(lab: &mut Lab<'_, '_>, side: u32, form: Form) -> Result<OperationTime, Stop> {
    let product = Product { m: side, n: side, k: side, transpose_a: false, transpose_b: false };
    let forms = Forms { matmul: form.0, tile: form.1, ..Forms::published() };
    lab.run.timed(&square_key(side, form), |now| Ok(profile_product(now.device, product, &forms)?))
}

/// What a square product is called in the journal.
fn square_key(side: u32, (matmul, tile): Form) -> String {
    format!("product: square {side}, {matmul}, {tile} x {tile}")
}

/// How many times as fast tiles of 16 are for each square that was timed before; nothing is timed.
pub(super) fn known_squares(lab: &mut Lab<'_, '_>) -> Result<Vec<(u32, f64)>, Stop> {
    let mut found = Vec::new();
    for side in SQUARES {
        if [PLAIN, TILED].iter().any(|&form| lab.run.journal().get(&square_key(side, form)).is_none()) {
            continue;
        }
        let (plain, tiled) = (square(lab, side, PLAIN)?, square(lab, side, TILED)?);
        found.push((side, plain.microseconds / tiled.microseconds));
    }
    Ok(found)
}

/// Products in all forms; with the gain that the paper expects of kernel 2 where it does.
fn times(title: &str, products: &[Compared], is_expected: bool) -> Table {
    let mut table = Table::new(title)
        .column("product")
        .column("shape")
        .column("form")
        .column("bytes asked for")
        .digits("µs", 3)
        .digits("GFLOP/s", 1)
        .digits("against plain, 16 x 16", 2)
        .column("registers")
        .column("shared, bytes")
        .digits("occupancy, %", 0);
    if is_expected {
        table = table.column("published gain, expected");
    }
    for product in products {
        for (form, operation) in FORMS.into_iter().zip(&product.times) {
            let compiled = operation.registers > 0;
            let mut cells: Vec<Cell> = vec![
                product.name.clone().into(),
                operation.shape.clone().into(),
                in_words(form).into(),
                operation.bytes.into(),
                operation.microseconds.into(),
                (operation.flops as f64 / operation.microseconds / 1e3).into(),
                product.gain(form).into(),
                compiled.then_some(operation.registers).into(),
                compiled.then_some(operation.shared_bytes).into(),
                compiled.then_some(100.0 * operation.occupancy).into(),
            ];
            if is_expected {
                cells.push((form == TILED).then(claimed).into());
            }
            table.row(cells);
        }
    }
    table
}

fn in_words((matmul, tile): Form) -> String {
    format!("{matmul}, {tile} x {tile}")
}

fn figure(products: &[Compared]) -> Figure {
    let bar = |(form, operation): (Form, &OperationTime)| {
        let mean = operation.microseconds;
        Bar { name: in_words(form), mean, min: mean, max: mean }
    };
    let group = |product: &Compared| {
        let bars = FORMS.into_iter().zip(&product.times).map(bar).collect();
        Group { name: product.name.clone(), bars }
    };
    Figure {
        file: "matmul".into(),
        title: "The products of a step, plain and tiled".into(),
        x: Axis::linear("product"),
        y: Axis::log("µs"),
        chart: Chart::Bars(products.iter().map(group).collect()),
    }
}

/// Loads of the products from the sizes alone.
fn counted(lab: &Lab<'_, '_>) -> Table {
    let sizes = lab.sizes(&lab.base());
    let mut table = Table::new("Values that a product's threads load from global memory")
        .column("product")
        .column("m x n x k")
        .column("plain")
        .column("tiles of 16")
        .digits("gain", 2)
        .column("published gain")
        .column("published reuse");
    let mut products = Vec::new();
    for (layer, pair) in (1..).zip(sizes.windows(2)) {
        let (inputs, outputs) = (pair[0], pair[1]);
        products.push((format!("forward, layer {layer}"), [BATCH, outputs, inputs]));
        products.push((format!("gradient of W{layer}"), [inputs, outputs, BATCH]));
        if layer > 1 {
            products.push((format!("gradient of the inputs, layer {layer}"), [BATCH, inputs, outputs]));
        }
    }
    products.extend(SQUARES.map(|side| (format!("square, {side}"), [side; 3])));
    for (name, [m, n, k]) in products {
        let (plain, tiled) = (loads(m, n, k, 1), loads(m, n, k, SIDE));
        let cells: [Cell; 7] = [
            name.into(),
            format!("{m} x {n} x {k}").into(),
            plain.into(),
            tiled.into(),
            (plain / tiled).into(),
            claimed().into(),
            memory::TILE_REUSE.into(),
        ];
        table.row(cells);
    }
    table
}
