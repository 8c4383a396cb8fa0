//! One safe function for each of the published kernels, and the loaded module behind them.

use std::sync::atomic::{AtomicU64, Ordering};

use warpplay::azero::{MAX_BATCH, NORM_EPSILON};
use warpplay::{Buffer, Device, Error, Module, Result, Stream};

use super::kernels::{self, CELLS, WITH_BIAS, WITHOUT_BIAS, elementwise, heads};
use super::{Affine, NormArrays, Options};
use crate::ptx::CHECKERS_CONV;

/// That a buffer has room for `len` values, which may be fewer than it holds.
pub(super) fn holds<T>(what: &str, buffer: &Buffer<T>, len: usize) -> Result<()> {
    if buffer.len() >= len {
        return Ok(());
    }
    Err(Error::shape(what, format!("at least {len} values"), buffer.len()))
}

/// Checks the number of positions of a launch.
pub(super) fn positions(n: usize) -> Result<u32> {
    match u32::try_from(n) {
        Ok(count) if (1..=MAX_BATCH).contains(&n) => Ok(count),
        _ => Err(Error::option("positions", n, format!("1 to {MAX_BATCH}"))),
    }
}

/// Most values of a position, and most outputs of a layer: the grid's second dimension counts blocks of them.
const MAX_VALUES: usize = 65_535 * 128;

pub(super) fn values(what: &str, n: usize) -> Result<u32> {
    if (1..=MAX_VALUES).contains(&n) {
        return Ok(n as u32);
    }
    Err(Error::shape(what, format!("1 to {MAX_VALUES}"), n))
}

/// The published kernels on one device, and the choices among their forms.
///
/// Each function launches one kernel on a stream of the device, for the first `n` positions of its buffers, and returns at once. Buffers may be
/// longer than needed; nothing behind the given positions is touched.
///
/// ```
/// use warpplay::Device;
/// use warpplay::azero::Conv;
/// use warpplay_papers::checkers_conv::{Affine, Kernels, Options};
///
/// let stream = Device::simt().stream()?;
/// let kernels = Kernels::load(stream.device(), Options::default())?;
/// // One plane to one channel; only the middle tap counts.
/// let conv = Conv { weight: vec![0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0], bias: vec![0.5] };
/// let conv = Affine::conv(&stream, &conv)?;
/// let (x, mut out) = (stream.upload(&[1.0; 64])?, stream.alloc(64)?);
/// kernels.input(&stream, 1, &x, &conv, &mut out)?;
/// assert_eq!(stream.read(&out)?, [2.5; 64]);
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct Kernels {
    options: Options,
    launched: AtomicU64,
    pub(super) set: kernels::Kernels<Module>,
}

impl Kernels {
    /// Loads all kernels.
    ///
    /// # Errors
    /// [`Error::Option`] for a choice that is not allowed; errors of the device, [`Error::Unsupported`] on the back end `cpu`.
    pub fn load(device: &Device, options: Options) -> Result<Self> {
        options.check()?;
        let set = kernels::Kernels::load(&Module::load(device, &CHECKERS_CONV)?)?;
        Ok(Self { options, launched: AtomicU64::new(0), set })
    }
}

impl Kernels {
    /// The choices among the kernels' forms.
    pub fn options(&self) -> Options {
        self.options
    }

    /// Chooses other forms.
    ///
    /// # Errors
    /// [`Error::Option`] for a choice that is not allowed; the former stay then.
    pub fn set_options(&mut self, options: Options) -> Result<()> {
        options.check()?;
        self.options = options;
        Ok(())
    }

    /// The device.
    pub fn device(&self) -> &Device {
        self.set.azero_paper_clear.device()
    }

    /// Launches so far.
    pub fn launched(&self) -> u64 {
        self.launched.load(Ordering::Relaxed)
    }

    /// The stream of one launch, which is counted.
    pub(super) fn counted<'a>(&self, stream: &'a Stream) -> &'a Stream {
        self.launched.fetch_add(1, Ordering::Relaxed);
        stream
    }

    pub(super) fn bias(&self) -> u32 {
        if self.options.bias { WITH_BIAS } else { WITHOUT_BIAS }
    }

    /// `x = 0`, for `n` positions of `n_values` values.
    ///
    /// # Errors
    /// As [`Kernels::torso`].
    pub fn clear(&self, stream: &Stream, n: usize, n_values: usize, x: &mut Buffer<f32>) -> Result<()> {
        let (count, each) = (positions(n)?, values("values of a position", n_values)?);
        holds("x", x, n * n_values)?;
        // SAFETY: the shape is the kernel's own; the length is checked.
        unsafe { self.counted(stream).launch(&self.set.azero_paper_clear, elementwise::shape(count, each), (x, each)) }
    }

    /// Batch norm in place, `x`: `[n, channels, 8, 8]`.
    ///
    /// # Errors
    /// As [`Kernels::torso`].
    pub fn batch_norm(&self, stream: &Stream, n: usize, x: &mut Buffer<f32>, norm: &NormArrays) -> Result<()> {
        let n_values = norm.weight.len() * CELLS as usize;
        let (count, each) = (positions(n)?, values("values of a position", n_values)?);
        holds("x", x, n * n_values)?;
        let NormArrays { weight, bias, mean, variance } = norm;
        let shape = elementwise::shape(count, each);
        let arguments = (x, weight, bias, mean, variance, each, NORM_EPSILON as f32);
        // SAFETY: the shape is the kernel's own; the lengths are checked, those of the parameters when they were made; `&` and `&mut` exclude overlap.
        unsafe { self.counted(stream).launch(&self.set.azero_paper_batch_norm, shape, arguments) }
    }

    /// `x = max(x, 0)`, for `n` positions of `n_values` values.
    ///
    /// # Errors
    /// As [`Kernels::torso`].
    pub fn relu(&self, stream: &Stream, n: usize, n_values: usize, x: &mut Buffer<f32>) -> Result<()> {
        let (count, each) = (positions(n)?, values("values of a position", n_values)?);
        holds("x", x, n * n_values)?;
        // SAFETY: the shape is the kernel's own; the length is checked.
        unsafe { self.counted(stream).launch(&self.set.azero_paper_relu, elementwise::shape(count, each), (x, each)) }
    }

    /// `x = x + y`, for `n` positions of `n_values` values.
    ///
    /// # Errors
    /// As [`Kernels::torso`].
    pub fn add(&self, stream: &Stream, n: usize, n_values: usize, x: &mut Buffer<f32>, y: &Buffer<f32>) -> Result<()> {
        let (count, each) = (positions(n)?, values("values of a position", n_values)?);
        holds("x", x, n * n_values)?;
        holds("y", y, n * n_values)?;
        // SAFETY: the shape is the kernel's own; the lengths are checked; `&` and `&mut` exclude overlap.
        unsafe { self.counted(stream).launch(&self.set.azero_paper_add, elementwise::shape(count, each), (x, y, each)) }
    }

    /// A linear layer, `x`: `[n, inputs]`, `out`: `[n, outputs]`.
    ///
    /// # Errors
    /// As [`Kernels::torso`].
    pub fn linear(
        &self,
        stream: &Stream,
        n: usize,
        x: &Buffer<f32>,
        layer: &Affine,
        out: &mut Buffer<f32>,
    ) -> Result<()> {
        let (count, n_inputs) = (positions(n)?, layer.per_output);
        values("outputs of a linear layer", layer.n_outputs as usize)?;
        holds("x", x, n * n_inputs as usize)?;
        holds("out", out, n * layer.n_outputs as usize)?;
        let shape = heads::shape_linear(count, layer.n_outputs);
        let arguments = (x, &layer.weight, &layer.bias, out, n_inputs, layer.n_outputs);
        // SAFETY: the shape is the kernel's own; the lengths are checked, those of the parameters follow from their counts; `&` and `&mut` exclude overlap.
        unsafe { self.counted(stream).launch(&self.set.azero_paper_linear, shape, arguments) }
    }

    /// `out = tanh(x)`, both `[n]`.
    ///
    /// # Errors
    /// As [`Kernels::torso`].
    pub fn tanh(&self, stream: &Stream, n: usize, x: &Buffer<f32>, out: &mut Buffer<f32>) -> Result<()> {
        let count = positions(n)?;
        holds("x", x, n)?;
        holds("out", out, n)?;
        // SAFETY: the shape is the kernel's own; the lengths are checked; `&` and `&mut` exclude overlap.
        unsafe { self.counted(stream).launch(&self.set.azero_paper_tanh, heads::shape_linear(count, 1), (x, out)) }
    }

    /// Softmax of the legal actions' logits, all `[n, n_actions]`; an illegal action has 0.
    ///
    /// # Errors
    /// As [`Kernels::torso`].
    pub fn policy(
        &self,
        stream: &Stream,
        n: usize,
        n_actions: u32,
        logits: &Buffer<f32>,
        masks: &Buffer<u8>,
        policies: &mut Buffer<f32>,
    ) -> Result<()> {
        let (count, n_values) = (positions(n)?, n * n_actions as usize);
        values("actions", n_actions as usize)?;
        holds("logits", logits, n_values)?;
        holds("masks", masks, n_values)?;
        holds("policies", policies, n_values)?;
        // SAFETY: the shape is the kernel's own; the lengths are checked; `&` and `&mut` exclude overlap.
        unsafe {
            self.counted(stream).launch(
                &self.set.azero_paper_policy,
                heads::shape_policy(count),
                (logits, masks, policies, n_actions),
            )
        }
    }
}
