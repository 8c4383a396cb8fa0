//! One safe function for each of the published kernels, and the loaded module behind them.

use std::sync::atomic::{AtomicU64, Ordering};

use warpplay::azero::{MAX_BATCH, NORM_EPSILON};
use warpplay::{Buffer, Device, Error, Function, Module, Result, Stream};

use super::kernels::{CELLS, TAPS, WITH_BIAS, WITHOUT_BIAS, elementwise, heads, input, output, torso};
use super::{Affine, InputForm, NormArrays, Options, OutputForm, Sums, TorsoForm, Weights};
use crate::ptx::CHECKERS_CONV;

/// That a buffer has room for `len` values, which may be fewer than it holds.
fn holds<T>(what: &str, buffer: &Buffer<T>, len: usize) -> Result<()> {
    if buffer.len() >= len {
        return Ok(());
    }
    Err(Error::shape(what, format!("at least {len} values"), buffer.len()))
}

/// Checks the number of positions of a launch.
fn positions(n: usize) -> Result<u32> {
    match u32::try_from(n) {
        Ok(count) if (1..=MAX_BATCH).contains(&n) => Ok(count),
        _ => Err(Error::option("positions", n, format!("1 to {MAX_BATCH}"))),
    }
}

/// Most values of a position, and most outputs of a layer: the grid's second dimension counts blocks of them.
const MAX_VALUES: usize = 65_535 * 128;

fn values(what: &str, n: usize) -> Result<u32> {
    if (1..=MAX_VALUES).contains(&n) {
        return Ok(n as u32);
    }
    Err(Error::shape(what, format!("1 to {MAX_VALUES}"), n))
}

macro_rules! kernels {
    ($($field:ident: $kernel:path;)*) => {
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
            $($field: Function<$kernel>,)*
        }

        impl Kernels {
            /// Loads all kernels.
            ///
            /// # Errors
            /// [`Error::Option`] for a choice that is not allowed; errors of the device, [`Error::Unsupported`] on the back end `cpu`.
            pub fn load(device: &Device, options: Options) -> Result<Self> {
                options.check()?;
                let module = Module::load(device, &CHECKERS_CONV)?;
                Ok(Self { options, launched: AtomicU64::new(0), $($field: module.function($kernel)?,)* })
            }
        }
    };
}

kernels! {
    input_64_padded: input::azero_paper_input_64_padded;
    input_64_plain: input::azero_paper_input_64_plain;
    input_64_global_padded: input::azero_paper_input_64_global_padded;
    input_64_global_plain: input::azero_paper_input_64_global_plain;
    input_64_turned: input::azero_paper_input_64_turned;
    input_planes_padded: input::azero_paper_input_planes_padded;
    input_planes_plain: input::azero_paper_input_planes_plain;
    input_planes_atomic_padded: input::azero_paper_input_planes_atomic_padded;
    input_planes_atomic_plain: input::azero_paper_input_planes_atomic_plain;
    input_planes_global: input::azero_paper_input_planes_global;
    input_rows: input::azero_paper_input_rows;
    input_rows_global: input::azero_paper_input_rows_global;
    torso_global_banked: torso::azero_paper_torso_global_banked;
    torso_global_plain: torso::azero_paper_torso_global_plain;
    torso_shared_banked: torso::azero_paper_torso_shared_banked;
    torso_shared_plain: torso::azero_paper_torso_shared_plain;
    torso_repository_1: torso::azero_paper_torso_repository_1;
    torso_repository_2: torso::azero_paper_torso_repository_2;
    torso_repository_3: torso::azero_paper_torso_repository_3;
    output_global: output::azero_paper_output_global;
    output_shared: output::azero_paper_output_shared;
    output_repository_1: output::azero_paper_output_repository_1;
    output_repository_2: output::azero_paper_output_repository_2;
    output_squares: output::azero_paper_output_squares;
    clear: elementwise::azero_paper_clear;
    batch_norm: elementwise::azero_paper_batch_norm;
    relu: elementwise::azero_paper_relu;
    add: elementwise::azero_paper_add;
    linear: heads::azero_paper_linear;
    tanh: heads::azero_paper_tanh;
    policy: heads::azero_paper_policy;
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
        self.clear.device()
    }

    /// Launches so far.
    pub fn launched(&self) -> u64 {
        self.launched.load(Ordering::Relaxed)
    }

    /// The stream of one launch, which is counted.
    fn counted<'a>(&self, stream: &'a Stream) -> &'a Stream {
        self.launched.fetch_add(1, Ordering::Relaxed);
        stream
    }

    fn bias(&self) -> u32 {
        if self.options.bias { WITH_BIAS } else { WITHOUT_BIAS }
    }

    /// Checks a convolution of `taps` taps on an 8×8 board; gives positions, inputs and outputs.
    fn convolution(n: usize, taps: u32, x: &Buffer<f32>, conv: &Affine, out: &Buffer<f32>) -> Result<(u32, u32, u32)> {
        let (count, n_inputs) = (positions(n)?, conv.n_inputs(taps)?);
        if conv.n_outputs > 65_535 {
            return Err(Error::shape("outputs of a convolution", "1 to 65535", conv.n_outputs));
        }
        values("values of a position", n_inputs as usize * CELLS as usize)?;
        holds("x", x, n * n_inputs as usize * CELLS as usize)?;
        holds("out", out, n * conv.n_outputs as usize * CELLS as usize)?;
        Ok((count, n_inputs, conv.n_outputs))
    }

    /// The input convolution, 3×3, in the form that the options name; where that adds up in global memory, two launches, of which the first clears `out`.
    ///
    /// * `x`: `[n, planes, 8, 8]`; `out`: `[n, outputs, 8, 8]`.
    ///
    /// # Errors
    /// [`Error::Shape`] for a buffer that is too short; [`Error::Option`] for `n` out of range, or more planes than the form has threads for; errors of
    /// the launch.
    pub fn input(
        &self,
        stream: &Stream,
        n: usize,
        x: &Buffer<f32>,
        conv: &Affine,
        out: &mut Buffer<f32>,
    ) -> Result<()> {
        let (count, n_planes, n_outputs) = Self::convolution(n, TAPS, x, conv, out)?;
        let Options { input: form, padded, weights, .. } = self.options;
        if form.by_planes() && n_planes > input::MAX_THREAD_PLANES {
            let allowed = format!("squares or turned, where there are more than {} planes", input::MAX_THREAD_PLANES);
            return Err(Error::option("input", form, allowed));
        }
        if form.adds_to_out() {
            self.clear(stream, n, n_outputs as usize * CELLS as usize, out)?;
        }
        let staged = weights == Weights::Shared;
        let n_sums = match form {
            InputForm::Planes => n_planes * CELLS,
            InputForm::PlanesAtomic => CELLS,
            _ => 0,
        };
        let shape = match form {
            InputForm::Squares => input::shape_64(count, n_planes, n_outputs, padded, staged),
            InputForm::Turned => input::shape_64(count, n_planes, n_outputs, false, true),
            InputForm::Planes | InputForm::PlanesAtomic => {
                input::shape_planes(count, n_planes, n_outputs, padded, n_sums)
            }
            InputForm::PlanesGlobal => input::shape_planes(count, n_planes, n_outputs, false, n_sums),
            InputForm::Rows => input::shape_rows(count, n_planes, n_outputs, staged),
        };
        let arguments = (x, &conv.weight, &conv.bias, out, n_planes, self.bias());
        // SAFETY: the shape is that of the form; lengths are checked above, and those of weights and biases follow from their counts; `&` and `&mut` exclude
        // overlap; there is a plane, since there are weights; `out` is 0 where that is asked.
        unsafe {
            match (form, padded, staged) {
                (InputForm::Squares, true, true) => {
                    self.counted(stream).launch(&self.input_64_padded, shape, arguments)
                }
                (InputForm::Squares, false, true) => {
                    self.counted(stream).launch(&self.input_64_plain, shape, arguments)
                }
                (InputForm::Squares, true, false) => {
                    self.counted(stream).launch(&self.input_64_global_padded, shape, arguments)
                }
                (InputForm::Squares, false, false) => {
                    self.counted(stream).launch(&self.input_64_global_plain, shape, arguments)
                }
                (InputForm::Turned, ..) => self.counted(stream).launch(&self.input_64_turned, shape, arguments),
                (InputForm::Planes, true, _) => {
                    self.counted(stream).launch(&self.input_planes_padded, shape, arguments)
                }
                (InputForm::Planes, false, _) => {
                    self.counted(stream).launch(&self.input_planes_plain, shape, arguments)
                }
                (InputForm::PlanesAtomic, true, _) => {
                    self.counted(stream).launch(&self.input_planes_atomic_padded, shape, arguments)
                }
                (InputForm::PlanesAtomic, false, _) => {
                    self.counted(stream).launch(&self.input_planes_atomic_plain, shape, arguments)
                }
                (InputForm::PlanesGlobal, ..) => {
                    self.counted(stream).launch(&self.input_planes_global, shape, arguments)
                }
                (InputForm::Rows, _, true) => self.counted(stream).launch(&self.input_rows, shape, arguments),
                (InputForm::Rows, _, false) => self.counted(stream).launch(&self.input_rows_global, shape, arguments),
            }
        }
    }

    /// The torso's convolution, 3×3, in the form that the options name; where that adds up in global memory, two launches, of which the first clears `out`.
    ///
    /// * `x`: `[n, channels, 8, 8]`; `out`: `[n, outputs, 8, 8]`.
    ///
    /// # Errors
    /// [`Error::Shape`] for a buffer that is too short; [`Error::Option`] for `n` out of range; errors of the launch.
    pub fn torso(
        &self,
        stream: &Stream,
        n: usize,
        x: &Buffer<f32>,
        conv: &Affine,
        out: &mut Buffer<f32>,
    ) -> Result<()> {
        let (count, n_inputs, n_outputs) = Self::convolution(n, TAPS, x, conv, out)?;
        let Options { torso: form, layers, torso_sums, banked, .. } = self.options;
        if form != TorsoForm::Tiles || torso_sums == Sums::Global {
            self.clear(stream, n, n_outputs as usize * CELLS as usize, out)?;
        }
        let shape = torso::shape(count, n_outputs, if form == TorsoForm::Tiles { layers } else { 8 });
        let arguments = (x, &conv.weight, &conv.bias, out, n_inputs, self.bias());
        // SAFETY: as in `input`.
        unsafe {
            match (form, torso_sums, banked) {
                (TorsoForm::Tiles, Sums::Global, true) => {
                    self.counted(stream).launch(&self.torso_global_banked, shape, arguments)
                }
                (TorsoForm::Tiles, Sums::Global, false) => {
                    self.counted(stream).launch(&self.torso_global_plain, shape, arguments)
                }
                (TorsoForm::Tiles, Sums::Shared, true) => {
                    self.counted(stream).launch(&self.torso_shared_banked, shape, arguments)
                }
                (TorsoForm::Tiles, Sums::Shared, false) => {
                    self.counted(stream).launch(&self.torso_shared_plain, shape, arguments)
                }
                (TorsoForm::Repository1, ..) => self.counted(stream).launch(&self.torso_repository_1, shape, arguments),
                (TorsoForm::Repository2, ..) => self.counted(stream).launch(&self.torso_repository_2, shape, arguments),
                (TorsoForm::Repository3, ..) => self.counted(stream).launch(&self.torso_repository_3, shape, arguments),
            }
        }
    }

    /// The output convolution, 1×1, in the form that the options name; where that adds up in global memory, two launches, of which the first clears `out`.
    ///
    /// * `x`: `[n, channels, 8, 8]`; `out`: `[n, outputs, 8, 8]`.
    ///
    /// # Errors
    /// As [`Kernels::torso`].
    pub fn output(
        &self,
        stream: &Stream,
        n: usize,
        x: &Buffer<f32>,
        conv: &Affine,
        out: &mut Buffer<f32>,
    ) -> Result<()> {
        let (count, n_inputs, n_outputs) = Self::convolution(n, 1, x, conv, out)?;
        let Options { output: form, layers, output_sums, .. } = self.options;
        let adds_to_out = match form {
            OutputForm::Squares => false,
            OutputForm::Tiles => output_sums == Sums::Global,
            OutputForm::Repository1 | OutputForm::Repository2 => true,
        };
        if adds_to_out {
            self.clear(stream, n, n_outputs as usize * CELLS as usize, out)?;
        }
        let shape = match form {
            OutputForm::Squares => output::shape_squares(count, n_outputs),
            OutputForm::Tiles => output::shape(count, n_outputs, layers),
            OutputForm::Repository1 | OutputForm::Repository2 => output::shape(count, n_outputs, 8),
        };
        let arguments = (x, &conv.weight, &conv.bias, out, n_inputs, self.bias());
        // SAFETY: as in `input`.
        unsafe {
            match (form, output_sums) {
                (OutputForm::Tiles, Sums::Global) => self.counted(stream).launch(&self.output_global, shape, arguments),
                (OutputForm::Tiles, Sums::Shared) => self.counted(stream).launch(&self.output_shared, shape, arguments),
                (OutputForm::Repository1, _) => {
                    self.counted(stream).launch(&self.output_repository_1, shape, arguments)
                }
                (OutputForm::Repository2, _) => {
                    self.counted(stream).launch(&self.output_repository_2, shape, arguments)
                }
                (OutputForm::Squares, _) => self.counted(stream).launch(&self.output_squares, shape, arguments),
            }
        }
    }

    /// `x = 0`, for `n` positions of `n_values` values.
    ///
    /// # Errors
    /// As [`Kernels::torso`].
    pub fn clear(&self, stream: &Stream, n: usize, n_values: usize, x: &mut Buffer<f32>) -> Result<()> {
        let (count, each) = (positions(n)?, values("values of a position", n_values)?);
        holds("x", x, n * n_values)?;
        // SAFETY: the shape is the kernel's own; the length is checked.
        unsafe { self.counted(stream).launch(&self.clear, elementwise::shape(count, each), (x, each)) }
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
        unsafe { self.counted(stream).launch(&self.batch_norm, shape, arguments) }
    }

    /// `x = max(x, 0)`, for `n` positions of `n_values` values.
    ///
    /// # Errors
    /// As [`Kernels::torso`].
    pub fn relu(&self, stream: &Stream, n: usize, n_values: usize, x: &mut Buffer<f32>) -> Result<()> {
        let (count, each) = (positions(n)?, values("values of a position", n_values)?);
        holds("x", x, n * n_values)?;
        // SAFETY: the shape is the kernel's own; the length is checked.
        unsafe { self.counted(stream).launch(&self.relu, elementwise::shape(count, each), (x, each)) }
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
        unsafe { self.counted(stream).launch(&self.add, elementwise::shape(count, each), (x, y, each)) }
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
        unsafe { self.counted(stream).launch(&self.linear, shape, arguments) }
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
        unsafe { self.counted(stream).launch(&self.tanh, heads::shape_linear(count, 1), (x, out)) }
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
            self.counted(stream).launch(&self.policy, heads::shape_policy(count), (logits, masks, policies, n_actions))
        }
    }
}
