//! What each launch of a training step costs.

use super::arrays::{self, Batch, LayerArrays, Scratch};
use super::feed::epoch_order;
use super::launches::{Kernels, Launch, Product};
use super::options::{ColumnSums, Forms, Matmul, SoftmaxForm};
use super::step::{self, Operation};
use warpplay::{Backend, Device, Error, Event, Result, Stream};

/// Launches that are timed together on a GPU, as one graph, so that the time to launch does not count.
const LAUNCHES: u32 = 50;
/// The same for one product by itself, which may be large.
const PRODUCT_LAUNCHES: u32 = 10;
/// Samples of the set that the profiled batch is drawn from, in batches.
const BATCHES: u32 = 4;

/// One launch of a training step.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct OperationTime {
    /// What it does, as `forward product, layer 1`.
    pub name: String,
    /// Entry name of its kernel.
    pub kernel: String,
    /// Dimensions, as `[64, 784] x [784, 256]`.
    pub shape: String,
    /// Floating-point operations: additions, multiplications, divisions and comparisons of the formula; an exponential or logarithm counts as one.
    pub flops: u64,
    /// Bytes that the threads load from and store to global memory, caches aside.
    pub bytes: u64,
    /// Bytes of the operands, each counted once: the least that must be moved.
    pub footprint_bytes: u64,
    /// Mean time of one launch, by events around a graph of `launches`.
    pub microseconds: f64,
    /// Launches that were timed.
    pub launches: u32,
    /// Blocks of the launch.
    pub blocks: u64,
    /// Threads of a block.
    pub threads: u32,
    /// Registers of a thread; 0 on `simt`.
    pub registers: u32,
    /// Shared memory of a block in bytes; 0 on `simt`.
    pub shared_bytes: u32,
    /// Blocks that a multiprocessor holds at once; 1 on `simt`.
    pub blocks_per_multiprocessor: u32,
    /// Share of a multiprocessor's threads that these are; 1 on `simt`, which has none.
    pub occupancy: f64,
}

/// Times every launch of one training step of a network of widths `sizes` (inputs first, classes last) on batches of `batch` samples of drawn pixels.
///
/// The operands come from the cache where they fit in it, as they do in a training step. On `simt` each launch is run once, and
/// the times are those of the CPU that plays the kernels.
///
/// # Errors
/// [`Error::Shape`] for fewer than two widths, or one that is 0 or too large; [`Error::Option`] for a choice that is not allowed or `batch` 0;
/// errors of the device.
pub fn profile(device: &Device, sizes: &[u32], batch: u32, options: &Forms) -> Result<Vec<OperationTime>> {
    if sizes.len() < 2 || sizes.contains(&0) {
        return Err(Error::shape("sizes", "at least 2 widths, each at least 1", format!("{sizes:?}")));
    }
    let n_samples = match batch.checked_mul(BATCHES) {
        None | Some(0) => return Err(Error::option("batch", batch, "1 to 1073741823")),
        Some(n) => n as usize,
    };
    let kernels = Kernels::load(device, *options)?;
    let stream = device.stream()?;
    let mut layers = arrays::layers(&stream, sizes, true)?;
    for layer in &mut layers {
        // Ordinary numbers: the time does not depend on them, but not-a-numbers and denormals are no training.
        let weights: Vec<f32> = (0..layer.n_weights()).map(|at| ((at % 97) as f32 - 48.0) / 1000.0).collect();
        stream.write(&mut layer.weights, 0, &weights)?;
    }
    let mut scratch = Scratch::empty(&stream)?;
    scratch.grow(&stream, sizes, true, batch)?;
    let n_classes = sizes[sizes.len() - 1] as usize;
    let pixels: Vec<u8> = (0..n_samples * sizes[0] as usize).map(|at| (at * 131 + at / 251) as u8).collect();
    let labels: Vec<u8> = (0..n_samples).map(|at| (at % n_classes.min(256)) as u8).collect();
    let (pixels, labels) = (stream.upload(&pixels)?, stream.upload(&labels)?);
    let order = stream.upload(&epoch_order(1, 0, n_samples))?;
    let mut sums = stream.alloc(1)?;
    let mut batch = Batch {
        pixels: &pixels,
        labels: &labels,
        order: &order,
        first: 0,
        n_rows: batch,
        factor: 1.0 / batch as f32,
        learning_rate: 1e-6,
        sums: &mut sums,
        slot: 0,
    };
    let operations = step::training(layers.len(), options);
    let clock = Clock::new(&kernels, &stream, LAUNCHES)?;
    let mut times = Vec::with_capacity(operations.len());
    for operation in operations {
        let cost = cost(operation, &layers, batch.n_rows, options);
        times.push(clock.time(operation.name(), cost, |stream| {
            arrays::launch(&kernels, stream, &mut layers, &mut scratch, &mut batch, operation)
        })?);
    }
    stream.synchronize()?;
    Ok(times)
}

/// Times one product by itself, by the kernel that the options name; as [`profile`].
///
/// # Errors
/// [`Error::Shape`] for a dimension that is 0 or too large; [`Error::Option`] for a choice that is not allowed; errors of the device.
pub fn profile_product(device: &Device, product: Product, options: &Forms) -> Result<OperationTime> {
    let Product { m, n, k, .. } = product;
    let kernels = Kernels::load(device, *options)?;
    let stream = device.stream()?;
    let matrix = |rows: u32, columns: u32| rows as usize * columns as usize;
    let values = |n: usize| -> Vec<f32> { (0..n).map(|at| ((at % 97) as f32 - 48.0) / 1000.0).collect() };
    let (a, b) = (stream.upload(&values(matrix(m, k)))?, stream.upload(&values(matrix(k, n)))?);
    let mut c = stream.alloc::<f32>(matrix(m, n))?;
    let clock = Clock::new(&kernels, &stream, PRODUCT_LAUNCHES)?;
    let cost = Cost::product(m, n, k, options);
    let time = clock.time("product".into(), cost, |stream| kernels.matmul(stream, product, &a, &b, &mut c))?;
    stream.synchronize()?;
    Ok(time)
}

/// What times the launches of one kernel after another.
struct Clock<'a> {
    kernels: &'a Kernels,
    stream: &'a Stream,
    launches: u32,
    start: Event,
    end: Event,
    threads_of_multiprocessor: f64,
}

impl<'a> Clock<'a> {
    /// A clock that times so many launches together on a GPU, and one on `simt`.
    fn new(kernels: &'a Kernels, stream: &'a Stream, launches: u32) -> Result<Self> {
        let device = kernels.device();
        Ok(Self {
            kernels,
            stream,
            launches: if device.backend() == Backend::Cuda { launches } else { 1 },
            start: stream.event()?,
            end: stream.event()?,
            threads_of_multiprocessor: f64::from(device.info()?.max_threads_per_multiprocessor),
        })
    }

    /// Times what `launch` launches.
    fn time(
        &self,
        name: String,
        cost: Cost,
        mut launch: impl FnMut(&Stream) -> Result<Launch>,
    ) -> Result<OperationTime> {
        let Self { kernels, stream, launches, start, end, threads_of_multiprocessor } = self;
        // Once before: the operations after it find their operands, and nothing is loaded or allocated while the clock runs.
        let launched = launch(self.stream)?;
        let graph = stream.capture(|stream| {
            for _ in 0..*launches {
                launch(stream)?;
            }
            Ok(())
        })?;
        if *launches > 1 {
            stream.launch_graph(&graph)?;
        }
        stream.record(start)?;
        stream.launch_graph(&graph)?;
        stream.record(end)?;
        let ms = f64::from(Event::elapsed_ms(start, end)?);
        let Cost { shape, flops, bytes, footprint } = cost;
        let blocks_per_multiprocessor = kernels.occupancy(&launched)?;
        let Launch { kernel, shape: grid, info } = launched;
        Ok(OperationTime {
            name,
            kernel: kernel.to_string(),
            shape,
            flops,
            bytes,
            footprint_bytes: footprint,
            microseconds: ms * 1e3 / f64::from(*launches),
            launches: *launches,
            blocks: grid.n_blocks(),
            threads: grid.n_threads(),
            registers: info.registers,
            shared_bytes: info.static_shared_bytes,
            blocks_per_multiprocessor,
            occupancy: if *threads_of_multiprocessor > 0.0 {
                f64::from(blocks_per_multiprocessor) * f64::from(grid.n_threads()) / threads_of_multiprocessor
            } else {
                1.0
            },
        })
    }
}

/// Work of one operation, from its dimensions.
struct Cost {
    shape: String,
    flops: u64,
    bytes: u64,
    footprint: u64,
}

impl Cost {
    /// `flops` operations over values that are each moved once.
    fn once(shape: String, flops: u64, bytes: u64) -> Self {
        Self { shape, flops, bytes, footprint: bytes }
    }

    /// `c [m, n] = a [m, k] b [k, n]`: `2 m n k` operations. The plain kernel's threads load `2 k` values each; the tiled one's blocks load each
    /// operand's
    /// tiles, which together are every value of `a` once for each block along n, and of `b` for each along m.
    fn product(m: u32, n: u32, k: u32, options: &Forms) -> Self {
        let [m, n, k, tile] = [m, n, k, options.tile].map(u64::from);
        let loads = match options.matmul {
            Matmul::Plain => 2 * m * n * k,
            Matmul::Tiled => m * k * n.div_ceil(tile) + k * n * m.div_ceil(tile),
        };
        Self {
            shape: format!("[{m}, {k}] x [{k}, {n}]"),
            flops: 2 * m * n * k,
            bytes: 4 * (loads + m * n),
            footprint: 4 * (m * k + k * n + m * n),
        }
    }
}

fn cost(operation: Operation, layers: &[LayerArrays], batch: u32, options: &Forms) -> Cost {
    let rows = u64::from(batch);
    let inputs = |at: usize| u64::from(layers[at].n_inputs);
    let outputs = |at: usize| u64::from(layers[at].n_outputs);
    let classes = outputs(layers.len() - 1);
    let matrix = |columns: u64| format!("[{rows}, {columns}]");
    match operation {
        // An index, and a byte and a single for each pixel.
        Operation::Gather => {
            let values = rows * inputs(0);
            let shape = matrix(inputs(0));
            Cost { shape, flops: values, bytes: 9 * values, footprint: 5 * values + 4 * rows }
        }
        Operation::GatherLabels => Cost::once(format!("[{rows}]"), 0, 9 * rows),
        Operation::Forward(at) => Cost::product(batch, layers[at].n_outputs, layers[at].n_inputs, options),
        Operation::WeightGradient(at) => Cost::product(layers[at].n_inputs, layers[at].n_outputs, batch, options),
        Operation::InputGradient(at) => Cost::product(batch, layers[at].n_inputs, layers[at].n_outputs, options),
        Operation::Bias(at) => {
            let values = rows * outputs(at);
            let footprint = 8 * values + 4 * outputs(at);
            Cost { shape: matrix(outputs(at)), flops: values, bytes: 12 * values, footprint }
        }
        Operation::Relu(at) => Cost::once(matrix(outputs(at)), rows * outputs(at), 8 * rows * outputs(at)),
        Operation::ReluBackward(at) => Cost::once(matrix(outputs(at)), rows * outputs(at), 12 * rows * outputs(at)),
        // A largest value, a difference, an exponential and an addition for each logit, read twice; a logarithm and two additions for each row.
        Operation::Loss => Cost {
            shape: matrix(classes),
            flops: 4 * rows * classes + 3 * rows,
            bytes: 8 * rows * classes + 12 * rows,
            footprint: 4 * rows * classes + 8 * rows,
        },
        // A logarithm, a sign and an addition; a label, a probability, and the sum read and written.
        Operation::LossAtomic => {
            Cost { shape: matrix(classes), flops: 3 * rows, bytes: 16 * rows, footprint: 8 * rows + 4 }
        }
        Operation::LossSum => Cost::once(format!("[{rows}]"), rows - 1, 4 * rows + 4),
        // The same, then a difference, an exponential and a division; three readings and a store.
        Operation::Softmax => Cost {
            shape: matrix(classes),
            flops: 7 * rows * classes,
            bytes: 16 * rows * classes,
            footprint: 8 * rows * classes,
        },
        Operation::Gradient => {
            let values = rows * classes;
            let footprint = 8 * values + 4 * rows;
            match options.softmax {
                // As the softmax; a product, and a difference a row. Every thread of the class's block reads the label.
                SoftmaxForm::Fused => Cost {
                    shape: matrix(classes),
                    flops: 8 * values + rows,
                    bytes: 16 * values + 4 * rows * u64::from(options.block),
                    footprint,
                },
                SoftmaxForm::Separate => {
                    Cost { shape: matrix(classes), flops: values + rows, bytes: 12 * values, footprint }
                }
            }
        }
        Operation::BiasGradient(at) => {
            let values = rows * outputs(at);
            let footprint = 4 * (values + outputs(at));
            // An atomic addition reads and writes the sum.
            let bytes = match options.column_sums {
                ColumnSums::Atomic => 12 * values,
                ColumnSums::AtomicThread => 4 * values + 8 * outputs(at) * u64::from(options.block),
                ColumnSums::AtomicBlock => 4 * values + 8 * outputs(at),
                ColumnSums::Tree | ColumnSums::Warp => footprint,
            };
            Cost { shape: matrix(outputs(at)), flops: (rows - 1) * outputs(at), bytes, footprint }
        }
        Operation::UpdateWeights(at) => {
            let values = inputs(at) * outputs(at);
            Cost::once(format!("[{}, {}]", inputs(at), outputs(at)), 2 * values, 16 * values)
        }
        Operation::UpdateBias(at) => Cost::once(format!("[{}]", outputs(at)), 2 * outputs(at), 16 * outputs(at)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_of_the_papers_network_is_52_megaflops() -> Result<()> {
        let stream = Device::simt().stream()?;
        let layers = arrays::layers(&stream, &[784, 256, 10], true)?;
        let options = Forms::default();
        let costs: Vec<Cost> =
            step::training(2, &options).into_iter().map(|each| cost(each, &layers, 64, &options)).collect();
        let flops: u64 = costs.iter().map(|cost| cost.flops).sum();
        assert!((52_000_000..53_000_000).contains(&flops), "{flops}");
        // The first layer's weights alone are 803 KB.
        let first = cost(Operation::Forward(0), &layers, 64, &options);
        assert_eq!(first.footprint, 802_816 + 64 * 784 * 4 + 64 * 256 * 4);
        assert!(costs.iter().all(|cost| cost.bytes >= cost.footprint));
        Ok(())
    }
}
