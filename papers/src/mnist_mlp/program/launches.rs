//! One safe function for each of the paper's kernels, and the loaded module behind them.

use crate::mnist_mlp::kernels::{self, column_sums, loss, matmul, softmax};
use crate::ptx::MNIST_MLP;
use warpplay_gpu::kernel::{Kernel, SafeKernel, Visit};

use super::options::{Accumulate, ColumnSums, Forms, Matmul};
use warpplay::{Buffer, Device, Error, Function, FunctionInfo, IntoParams, LaunchShape, Module, Result, Stream};

/// Rows and columns of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Rows: samples.
    pub n_rows: u32,
    /// Columns: inputs, units or classes.
    pub n_columns: u32,
}

/// Largest dimension of a matrix: the kernels step past it by less than 32.
const MAX_DIMENSION: u32 = (1 << 31) - 32;

impl Extent {
    /// A matrix of `n_rows` rows and `n_columns` columns.
    pub const fn new(n_rows: u32, n_columns: u32) -> Self {
        Self { n_rows, n_columns }
    }

    /// Its number of values.
    ///
    /// # Errors
    /// [`Error::Shape`] if a dimension is 0 or above 2³¹ - 32, or there are more values than 2³² - 1: kernels count their threads in 32 bits.
    pub fn n_values(self) -> Result<u32> {
        let n = dimension("rows", self.n_rows)?.checked_mul(dimension("columns", self.n_columns)?);
        n.ok_or_else(|| Error::shape("values of a matrix", "at most 4294967295", format!("{self:?}")))
    }
}

fn dimension(what: &str, n: u32) -> Result<u32> {
    if (1..=MAX_DIMENSION).contains(&n) {
        return Ok(n);
    }
    Err(Error::shape(what, format!("1 to {MAX_DIMENSION}"), n))
}

/// Dimensions of the product `c = op(a) op(b)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// Rows of `c` and of `op(a)`.
    pub m: u32,
    /// Columns of `c` and of `op(b)`.
    pub n: u32,
    /// Columns of `op(a)`, rows of `op(b)`.
    pub k: u32,
    /// Whether `a` is stored `[k, m]` instead of `[m, k]`.
    pub transpose_a: bool,
    /// Whether `b` is stored `[n, k]` instead of `[k, n]`.
    pub transpose_b: bool,
}

/// What was launched.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// Entry name of the kernel.
    pub kernel: &'static str,
    /// Grid and block.
    pub shape: LaunchShape,
    /// Registers and memory of the kernel; zeros on `simt`.
    pub info: FunctionInfo,
}

/// That a buffer has room for `len` values, which may be fewer than it holds.
fn holds<T>(what: &str, buffer: &Buffer<T>, len: usize) -> Result<()> {
    if buffer.len() >= len {
        return Ok(());
    }
    Err(Error::shape(what, format!("at least {len} values"), format!("{} values", buffer.len())))
}

/// The kernels of the paper on one device, and the choices among their forms.
///
/// Each function launches one kernel on a stream of the device and returns at once. Buffers may be longer than needed, so they can grow with
/// the
/// largest batch; nothing behind the given dimensions is touched.
///
/// ```
/// use warpplay::Device;
/// use warpplay_papers::mnist_mlp::{Forms, Kernels, Product};
///
/// let device = Device::simt();
/// let stream = device.stream()?;
/// let kernels = Kernels::load(&device, Forms::default())?;
/// let (a, b) = (stream.upload(&[1.0, 2.0, 3.0])?, stream.upload(&[10.0, 20.0])?);
/// let mut c = stream.alloc(6)?;
/// let product = Product { m: 3, n: 2, k: 1, transpose_a: false, transpose_b: false };
/// let launch = kernels.matmul(&stream, product, &a, &b, &mut c)?;
/// assert_eq!(launch.kernel, "mlp_paper_matmul_tiled_16");
/// assert_eq!(stream.read(&c)?, [10.0, 20.0, 20.0, 40.0, 30.0, 60.0]);
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct Kernels {
    options: Forms,
    set: kernels::Kernels<Module>,
}

/// Finds out how many blocks of a launch a multiprocessor holds.
struct Occupancy<'a> {
    launch: &'a Launch,
    found: Option<Result<u32>>,
}

impl Visit<Module> for Occupancy<'_> {
    fn kernel<K: Kernel>(&mut self, function: &Function<K>) {
        if function.name() == self.launch.kernel {
            self.found = Some(function.occupancy(&self.launch.shape));
        }
    }
}

impl Kernels {
    /// Loads all kernels.
    ///
    /// # Errors
    /// [`Error::Option`] for a choice that is not allowed; errors of the device, [`Error::Unsupported`] on the back end `cpu`.
    pub fn load(device: &Device, options: Forms) -> Result<Self> {
        options.check()?;
        Ok(Self { options, set: kernels::Kernels::load(&Module::load(device, &MNIST_MLP)?)? })
    }

    /// Blocks of a launch that a multiprocessor holds at once; 1 on `simt`.
    ///
    /// # Errors
    /// [`Error::MissingKernel`] for a launch of other kernels; errors of the device.
    pub fn occupancy(&self, launch: &Launch) -> Result<u32> {
        let mut occupancy = Occupancy { launch, found: None };
        self.set.visit(&mut occupancy);
        occupancy.found.unwrap_or_else(|| {
            Err(Error::MissingKernel { kernel: launch.kernel.to_string(), module: MNIST_MLP.name.to_string() })
        })
    }

    /// The choices among the kernels' forms.
    pub fn options(&self) -> Forms {
        self.options
    }

    /// Chooses other forms.
    ///
    /// # Errors
    /// [`Error::Option`] for a choice that is not allowed; the former stay then.
    pub fn set_options(&mut self, options: Forms) -> Result<()> {
        options.check()?;
        self.options = options;
        Ok(())
    }

    /// The device.
    pub fn device(&self) -> &Device {
        self.set.mlp_paper_gather.device()
    }

    /// Launches one kernel.
    ///
    /// # Safety
    /// As [`Stream::launch`].
    unsafe fn launch<K: Kernel>(
        stream: &Stream,
        function: &Function<K>,
        shape: LaunchShape,
        arguments: impl IntoParams<K::Params>,
    ) -> Result<Launch> {
        // SAFETY: the caller's promise.
        unsafe { stream.launch(function, shape, arguments)? };
        Ok(Launch { kernel: K::NAME, shape, info: function.info() })
    }

    /// Launches one safe kernel in blocks of the options' size.
    fn run<K>(&self, stream: &Stream, function: &Function<K>, arguments: impl IntoParams<K::Views>) -> Result<Launch>
    where
        K: SafeKernel<Launch = (u32,), Params: IntoParams<K::Params>>,
    {
        let shape = stream.run_with(function, (self.options.block,), arguments)?;
        Ok(Launch { kernel: K::NAME, shape, info: function.info() })
    }

    /// Pixels of the samples `order[first..first + n_rows]`, divided by 255.
    ///
    /// * `pixels`: `[n_samples, n_inputs]`, with `extent.n_columns` inputs; `order`: numbers of samples. A number that is no sample gives a row of NaN.
    /// * `x`: `[n_rows, n_inputs]`, of this extent.
    ///
    /// # Errors
    /// [`Error::Shape`] if `pixels` are not whole samples, at most 2³² - 1, or a buffer is too short; errors of the launch.
    pub fn gather(
        &self,
        stream: &Stream,
        pixels: &Buffer<u8>,
        order: &Buffer<u32>,
        first: u32,
        x: &mut Buffer<f32>,
        extent: Extent,
    ) -> Result<Launch> {
        extent.n_values()?;
        let Extent { n_rows, n_columns } = extent;
        let n_samples = u32::try_from(pixels.len() / n_columns as usize).ok();
        let Some(n_samples) = n_samples.filter(|_| pixels.len().is_multiple_of(n_columns as usize)) else {
            let expected = format!("whole samples of {n_columns} bytes, at most 4294967295");
            return Err(Error::shape("pixels", expected, format!("{} bytes", pixels.len())));
        };
        self.run(stream, &self.set.mlp_paper_gather, (pixels, order, first, n_samples, x, n_rows, n_columns))
    }

    /// Labels of the samples `order[first..first + n_rows]`; a number that is no sample gives [`NO_CLASS`](kernels::input::NO_CLASS).
    ///
    /// # Errors
    /// [`Error::Shape`] if a buffer is too short; errors of the launch.
    pub fn gather_labels(
        &self,
        stream: &Stream,
        labels: &Buffer<u8>,
        order: &Buffer<u32>,
        first: u32,
        classes: &mut Buffer<u32>,
        n_rows: u32,
    ) -> Result<Launch> {
        dimension("rows", n_rows)?;
        let n_samples =
            u32::try_from(labels.len()).map_err(|_| Error::shape("labels", "at most 4294967295", labels.len()))?;
        self.run(stream, &self.set.mlp_paper_gather_labels, (labels, order, first, n_samples, classes, n_rows))
    }

    /// `c = op(a) op(b)` by the kernel that the options name (`matmul`, `tile`, `accumulate`).
    ///
    /// # Errors
    /// [`Error::Shape`] if a dimension is 0 or a buffer is too short; errors of the launch.
    pub fn matmul(
        &self,
        stream: &Stream,
        product: Product,
        a: &Buffer<f32>,
        b: &Buffer<f32>,
        c: &mut Buffer<f32>,
    ) -> Result<Launch> {
        let Product { m, n, k, transpose_a, transpose_b } = product;
        for (name, value) in [("m", m), ("n", n), ("k", k)] {
            dimension(name, value)?;
        }
        holds("a", a, m as usize * k as usize)?;
        holds("b", b, k as usize * n as usize)?;
        holds("c", c, m as usize * n as usize)?;
        let bit = |set: bool, bit: u32| if set { bit } else { 0 };
        let transpose = bit(transpose_a, matmul::TRANSPOSE_A) | bit(transpose_b, matmul::TRANSPOSE_B);
        let Forms { tile, matmul, accumulate, .. } = self.options;
        let shape = crate::mnist_mlp::kernels::matmul::shape(m, n, tile);
        let arguments = (a, b, c, m, n, k, transpose);
        // SAFETY: the shape is the kernel's own, its side one that the options' check allows and, where tiled, the tile's; lengths and dimensions
        // are checked
        // above; `&` and `&mut` exclude overlap.
        unsafe {
            match (matmul, accumulate, tile) {
                (Matmul::Plain, Accumulate::F32, _) => {
                    Self::launch(stream, &self.set.mlp_paper_matmul_plain, shape, arguments)
                }
                (Matmul::Plain, Accumulate::F64, _) => {
                    Self::launch(stream, &self.set.mlp_paper_matmul_plain_f64, shape, arguments)
                }
                (Matmul::Tiled, Accumulate::F32, 8) => {
                    Self::launch(stream, &self.set.mlp_paper_matmul_tiled_8, shape, arguments)
                }
                (Matmul::Tiled, Accumulate::F32, 16) => {
                    Self::launch(stream, &self.set.mlp_paper_matmul_tiled_16, shape, arguments)
                }
                (Matmul::Tiled, Accumulate::F32, _) => {
                    Self::launch(stream, &self.set.mlp_paper_matmul_tiled_32, shape, arguments)
                }
                (Matmul::Tiled, Accumulate::F64, 8) => {
                    Self::launch(stream, &self.set.mlp_paper_matmul_tiled_8_f64, shape, arguments)
                }
                (Matmul::Tiled, Accumulate::F64, 16) => {
                    Self::launch(stream, &self.set.mlp_paper_matmul_tiled_16_f64, shape, arguments)
                }
                (Matmul::Tiled, Accumulate::F64, _) => {
                    Self::launch(stream, &self.set.mlp_paper_matmul_tiled_32_f64, shape, arguments)
                }
            }
        }
    }

    /// Adds `bias` `[n_columns]` to every row of `z`.
    ///
    /// # Errors
    /// [`Error::Shape`] if a dimension is 0 or a buffer is too short; errors of the launch.
    pub fn bias_add(&self, stream: &Stream, z: &mut Buffer<f32>, bias: &Buffer<f32>, extent: Extent) -> Result<Launch> {
        extent.n_values()?;
        self.run(stream, &self.set.mlp_paper_bias_add, (z, bias, extent.n_rows, extent.n_columns))
    }

    /// `h = max(z, 0)`; NaN stays.
    ///
    /// # Errors
    /// [`Error::Shape`] if a dimension is 0 or a buffer is too short; errors of the launch.
    pub fn relu(&self, stream: &Stream, z: &Buffer<f32>, h: &mut Buffer<f32>, extent: Extent) -> Result<Launch> {
        let n = extent.n_values()?;
        self.run(stream, &self.set.mlp_paper_relu, (z, h, n))
    }

    /// Sets `gradient` to 0 where `z` is not above 0.
    ///
    /// # Errors
    /// [`Error::Shape`] if a dimension is 0 or a buffer is too short; errors of the launch.
    pub fn relu_backward(
        &self,
        stream: &Stream,
        z: &Buffer<f32>,
        gradient: &mut Buffer<f32>,
        extent: Extent,
    ) -> Result<Launch> {
        let n = extent.n_values()?;
        self.run(stream, &self.set.mlp_paper_relu_backward, (z, gradient, n))
    }

    /// Sets `active[unit]` to 1 where some row of `h` is positive in that column; other entries stay.
    ///
    /// # Errors
    /// [`Error::Shape`] if a dimension is 0 or a buffer is too short; errors of the launch.
    pub fn units_active(
        &self,
        stream: &Stream,
        h: &Buffer<f32>,
        active: &mut Buffer<u32>,
        extent: Extent,
    ) -> Result<Launch> {
        extent.n_values()?;
        self.run(stream, &self.set.mlp_paper_units_active, (h, active, extent.n_rows, extent.n_columns))
    }

    /// `p = softmax(z)`, row by row.
    ///
    /// # Errors
    /// [`Error::Shape`] if a dimension is 0 or a buffer is too short; errors of the launch.
    pub fn softmax(&self, stream: &Stream, z: &Buffer<f32>, p: &mut Buffer<f32>, extent: Extent) -> Result<Launch> {
        let n = extent.n_values()? as usize;
        holds("z", z, n)?;
        holds("p", p, n)?;
        let shape = softmax::shape_rows(extent.n_rows, self.options.block);
        // SAFETY: one block of whole warps a row; lengths checked; no overlap.
        unsafe { Self::launch(stream, &self.set.mlp_paper_softmax, shape, (z, p, extent.n_columns)) }
    }

    /// `gradient = (softmax(z) - onehot(classes)) * factor` in one kernel. A class that there is not has no one-hot entry.
    ///
    /// # Errors
    /// [`Error::Shape`] if a dimension is 0 or a buffer is too short; errors of the launch.
    pub fn softmax_gradient_fused(
        &self,
        stream: &Stream,
        z: &Buffer<f32>,
        classes: &Buffer<u32>,
        gradient: &mut Buffer<f32>,
        extent: Extent,
        factor: f32,
    ) -> Result<Launch> {
        let n = extent.n_values()? as usize;
        holds("z", z, n)?;
        holds("classes", classes, extent.n_rows as usize)?;
        holds("gradient", gradient, n)?;
        let shape = softmax::shape_rows(extent.n_rows, self.options.block);
        let arguments = (z, classes, gradient, extent.n_columns, factor);
        // SAFETY: one block of whole warps a row; lengths checked; no overlap.
        unsafe { Self::launch(stream, &self.set.mlp_paper_softmax_gradient_fused, shape, arguments) }
    }

    /// `gradient = (p - onehot(classes)) * factor`.
    ///
    /// # Errors
    /// [`Error::Shape`] if a dimension is 0 or a buffer is too short; errors of the launch.
    pub fn softmax_gradient(
        &self,
        stream: &Stream,
        p: &Buffer<f32>,
        classes: &Buffer<u32>,
        gradient: &mut Buffer<f32>,
        extent: Extent,
        factor: f32,
    ) -> Result<Launch> {
        extent.n_values()?;
        self.run(
            stream,
            &self.set.mlp_paper_softmax_gradient,
            (p, classes, gradient, extent.n_rows, extent.n_columns, factor),
        )
    }

    /// Cross-entropy of each row of logits; NaN for a class that there is not.
    ///
    /// # Errors
    /// [`Error::Shape`] if a dimension is 0 or a buffer is too short; errors of the launch.
    pub fn loss(
        &self,
        stream: &Stream,
        z: &Buffer<f32>,
        classes: &Buffer<u32>,
        losses: &mut Buffer<f32>,
        extent: Extent,
    ) -> Result<Launch> {
        holds("z", z, extent.n_values()? as usize)?;
        holds("classes", classes, extent.n_rows as usize)?;
        holds("losses", losses, extent.n_rows as usize)?;
        let shape = loss::shape(extent.n_rows, self.options.block);
        // SAFETY: one block of whole warps a row; lengths checked; no overlap.
        unsafe { Self::launch(stream, &self.set.mlp_paper_loss, shape, (z, classes, losses, extent.n_columns)) }
    }

    /// `sums[slot]` becomes the sum of the first `n` losses.
    ///
    /// # Errors
    /// [`Error::Shape`] if `n` is 0 or a buffer is too short; errors of the launch.
    pub fn loss_sum(
        &self,
        stream: &Stream,
        losses: &Buffer<f32>,
        n: u32,
        sums: &mut Buffer<f32>,
        slot: u32,
    ) -> Result<Launch> {
        dimension("losses", n)?;
        self.run(stream, &self.set.mlp_paper_loss_sum, (losses, n, sums, slot))
    }

    /// Adds the losses of rows of probabilities to `sums[slot]` atomically; NaN for a class that there is not.
    ///
    /// # Errors
    /// [`Error::Shape`] if a dimension is 0 or a buffer is too short; errors of the launch.
    pub fn loss_atomic(
        &self,
        stream: &Stream,
        p: &Buffer<f32>,
        classes: &Buffer<u32>,
        sums: &mut Buffer<f32>,
        slot: u32,
        extent: Extent,
    ) -> Result<Launch> {
        extent.n_values()?;
        self.run(stream, &self.set.mlp_paper_loss_atomic, (p, classes, sums, slot, extent.n_rows, extent.n_columns))
    }

    /// Sums of the columns of `values`, by the kernel that the options name (`column_sums`, `accumulate`). The atomic forms add to what `sums` holds.
    ///
    /// # Errors
    /// [`Error::Shape`] if a dimension is 0 or a buffer is too short; errors of the launch.
    pub fn column_sums(
        &self,
        stream: &Stream,
        values: &Buffer<f32>,
        sums: &mut Buffer<f32>,
        extent: Extent,
    ) -> Result<Launch> {
        let n = extent.n_values()?;
        holds("values", values, n as usize)?;
        holds("sums", sums, extent.n_columns as usize)?;
        let Forms { block, column_sums: form, accumulate, .. } = self.options;
        let tree = column_sums::shape_tree(extent.n_columns, block);
        let warp = column_sums::shape_warp(extent.n_columns, block);
        let arguments = (values, sums, extent.n_rows, extent.n_columns);
        // SAFETY: each kernel's own shape, the block a power of two between 128 and 512 by the options' check; lengths and dimensions checked above;
        // no overlap.
        unsafe {
            match (form, accumulate) {
                (ColumnSums::Tree, Accumulate::F32) => {
                    Self::launch(stream, &self.set.mlp_paper_column_sums_tree, tree, arguments)
                }
                (ColumnSums::Tree, Accumulate::F64) => {
                    Self::launch(stream, &self.set.mlp_paper_column_sums_tree_f64, tree, arguments)
                }
                (ColumnSums::Warp, Accumulate::F32) => {
                    Self::launch(stream, &self.set.mlp_paper_column_sums_warp, warp, arguments)
                }
                (ColumnSums::Warp, Accumulate::F64) => {
                    Self::launch(stream, &self.set.mlp_paper_column_sums_warp_f64, warp, arguments)
                }
                (ColumnSums::Atomic, _) => {
                    let shape = column_sums::shape_atomic(n, block);
                    Self::launch(stream, &self.set.mlp_paper_column_sums_atomic, shape, arguments)
                }
                (ColumnSums::AtomicThread, _) => {
                    Self::launch(stream, &self.set.mlp_paper_column_sums_atomic_thread, tree, arguments)
                }
                (ColumnSums::AtomicBlock, _) => {
                    Self::launch(stream, &self.set.mlp_paper_column_sums_atomic_block, tree, arguments)
                }
            }
        }
    }

    /// `weights -= learning_rate * gradient`, the first `n` values, and the gradient becomes 0.
    ///
    /// # Errors
    /// [`Error::Shape`] if `n` is 0 or a buffer is too short; errors of the launch.
    pub fn sgd(
        &self,
        stream: &Stream,
        weights: &mut Buffer<f32>,
        gradient: &mut Buffer<f32>,
        n: u32,
        learning_rate: f32,
    ) -> Result<Launch> {
        dimension("weights", n)?;
        self.run(stream, &self.set.mlp_paper_sgd, (weights, gradient, n, learning_rate))
    }

    /// The likeliest class of each row to `found[first..first + n_rows]`, the lowest of equals, and the number of those that are the labels added to
    /// `correct[0]`.
    ///
    /// # Errors
    /// [`Error::Shape`] if a dimension is 0 or a buffer is too short; errors of the launch.
    #[allow(clippy::too_many_arguments, reason = "the kernel's own buffers")]
    pub fn accuracy(
        &self,
        stream: &Stream,
        z: &Buffer<f32>,
        labels: &Buffer<u32>,
        found: &mut Buffer<u32>,
        first: u32,
        correct: &mut Buffer<u32>,
        extent: Extent,
    ) -> Result<Launch> {
        extent.n_values()?;
        self.run(
            stream,
            &self.set.mlp_paper_accuracy,
            (z, labels, found, first, correct, extent.n_rows, extent.n_columns),
        )
    }
}

impl std::fmt::Debug for Kernels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kernels(on {}, {:?})", self.device(), self.options)
    }
}
