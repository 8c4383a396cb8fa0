//! What becomes of the sums of a product, and where its rows come from: the same products in bfloat16, each with one of them.

use serde_json::json;
use warpplay::tile::{Epilogue, Optimizer, Product, Update, bf16};
use warpplay::{Backend, Error};

use super::output::{Table, number};
use super::{Bench, numbers, seconds_of};

/// Rows, columns and depth: the gradients of layers of 1024 and 4096 units at batches of 512 and 1024, and a layer of 256 at batch 8192.
const SHAPES: [[u32; 3]; 3] = [[1024, 1024, 512], [4096, 4096, 1024], [8192, 256, 784]];
const SMALL: [u32; 3] = [64, 64, 64];

/// A row a shape and epilogue.
pub fn epilogues(bench: &mut Bench) -> anyhow::Result<()> {
    let mut table = Table::new("EPILOGUES of products in bf16", 3, &["m × n × k", "with", "engine", "us", "TFLOP/s"]);
    let is_gpu = bench.device.backend() == Backend::Cuda;
    let shapes: &[[u32; 3]] = match &bench.shapes[..] {
        [] if !is_gpu => &[SMALL],
        [] if bench.quick => &SHAPES[..1],
        [] => &SHAPES,
        asked => asked,
    };
    for &shape in &shapes.to_vec() {
        for with in With::ALL {
            let [m, n, k] = shape;
            let (size, name) = (format!("{m} × {n} × {k}"), with.name());
            bench.output.progress(&format!("{size} with {name}"));
            match time(bench, shape, with) {
                Ok((engine, seconds)) => {
                    let speed = 2.0 * f64::from(m) * f64::from(n) * f64::from(k) / seconds / 1e12;
                    table.row(vec![size, name.into(), engine.clone(), number(seconds * 1e6), number(speed)]);
                    bench.output.json(&json!({
                        "section": "epilogues", "m": m, "n": n, "k": k, "with": name, "engine": engine, "us": seconds * 1e6, "tflops": speed,
                    }))?;
                }
                Err(error) => {
                    let failed = bench.output.failed(&error);
                    table.row(vec![size, name.into(), failed]);
                }
            }
        }
    }
    table.print(&mut bench.output)
}

/// What a product is run with.
#[derive(Clone, Copy, PartialEq)]
enum With {
    Nothing,
    Bias,
    Residual,
    Moments,
    Rows,
    Bytes,
    ByDepth,
    Sgd,
    Adam,
}

impl With {
    const ALL: [Self; 9] = [
        Self::Nothing,
        Self::Bias,
        Self::Residual,
        Self::Moments,
        Self::Rows,
        Self::Bytes,
        Self::ByDepth,
        Self::Sgd,
        Self::Adam,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Bias => "bias and rectifier",
            Self::Residual => "a residual",
            Self::Moments => "moments",
            Self::Rows => "gathered rows",
            Self::Bytes => "gathered rows of bytes",
            Self::ByDepth => "nothing, A and B by depth",
            Self::Sgd => "SGD and a copy, A and B by depth",
            Self::Adam => "Adam and a copy, A and B by depth",
        }
    }
}

/// The engine, and seconds of a run; C is of single precision.
fn time(bench: &Bench, [m, n, k]: [u32; 3], with: With) -> Result<(String, f64), Error> {
    let stream = bench.device.stream()?;
    let is_updated = matches!(with, With::Sgd | With::Adam);
    let by_depth = is_updated || with == With::ByDepth;
    let is_gathered = matches!(with, With::Rows | With::Bytes);
    let mut builder = Product::<bf16>::builder(m, n, k).a_by_depth(by_depth).b_by_depth(by_depth).update(is_updated);
    builder = builder.rectifier(with == With::Bias).moments(with == With::Moments).bytes(with == With::Bytes);
    if is_gathered {
        builder = builder.gathered(m);
    }
    let product = builder.build(&bench.device)?;
    let operand = |lines: u32| numbers(u64::from(lines) * u64::from(k), bf16::from_f32);
    let (a, b) = (stream.upload(&operand(m))?, stream.upload(&operand(n))?);
    // Any other order than that of memory.
    let rows = stream.upload(&(0..m).map(|row| (u64::from(row) * 7919 % u64::from(m)) as u32).collect::<Vec<_>>())?;
    let operands = match with {
        With::Rows => product.gathered_operands(&stream, &a, &rows, &b)?,
        With::Bytes => {
            let bytes = stream.upload(&numbers(u64::from(m) * u64::from(k), |value| (128.0 * value + 128.0) as u8))?;
            product.byte_operands(&stream, &bytes, &rows, &b)?
        }
        _ => product.operands(&stream, &a, &b)?,
    };
    let len = m as usize * n as usize;
    let (mut c, bias, residual) =
        (stream.alloc::<f32>(len)?, stream.alloc::<f32>(n as usize)?, stream.alloc::<f32>(len)?);
    let (mut of_columns, mut copy) = (stream.alloc::<f32>(product.n_moments())?, stream.alloc::<bf16>(len)?);
    let optimizer = if with == With::Adam { Optimizer::from_name("adam")? } else { Optimizer::Sgd };
    let rates = stream.upload(&[optimizer.rate(1e-3, 1)])?;
    let mut state = (0..optimizer.n_moments()).map(|_| stream.alloc::<f32>(len)).collect::<Result<Vec<_>, _>>()?;
    let seconds = seconds_of(bench, &stream, |stream| match with {
        With::Moments => product.run_with_moments(stream, &operands, Epilogue::new(), &mut c, &mut of_columns),
        With::Sgd | With::Adam => {
            let update = Update::new(optimizer, &rates, &mut state).copy(&mut copy);
            product.run_update(stream, &operands, &mut c, update)
        }
        With::Bias => product.run(stream, &operands, Epilogue::new().bias(&bias), &mut c),
        With::Residual => product.run(stream, &operands, Epilogue::new().residual(&residual), &mut c),
        _ => product.run(stream, &operands, Epilogue::new(), &mut c),
    })?;
    Ok((format!("{}, {}", product.engine(), super::split_name((product.tile(), product.cluster()))), seconds))
}
