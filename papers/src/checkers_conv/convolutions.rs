//! The launches of the three convolutions, in every form.

use warpplay::{Buffer, Error, Result, Stream};

use super::kernels::{CELLS, TAPS, input, output, torso};
use super::launches::{holds, positions, values};
use super::{Affine, InputForm, Kernels, Options, OutputForm, Sums, TorsoForm, Weights};

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

impl Kernels {
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
        let (count, n_planes, n_outputs) = convolution(n, TAPS, x, conv, out)?;
        let Options { input: form, padded, weights, .. } = self.options();
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
                    self.counted(stream).launch(&self.set.azero_paper_input_64_padded, shape, arguments)
                }
                (InputForm::Squares, false, true) => {
                    self.counted(stream).launch(&self.set.azero_paper_input_64_plain, shape, arguments)
                }
                (InputForm::Squares, true, false) => {
                    self.counted(stream).launch(&self.set.azero_paper_input_64_global_padded, shape, arguments)
                }
                (InputForm::Squares, false, false) => {
                    self.counted(stream).launch(&self.set.azero_paper_input_64_global_plain, shape, arguments)
                }
                (InputForm::Turned, ..) => {
                    self.counted(stream).launch(&self.set.azero_paper_input_64_turned, shape, arguments)
                }
                (InputForm::Planes, true, _) => {
                    self.counted(stream).launch(&self.set.azero_paper_input_planes_padded, shape, arguments)
                }
                (InputForm::Planes, false, _) => {
                    self.counted(stream).launch(&self.set.azero_paper_input_planes_plain, shape, arguments)
                }
                (InputForm::PlanesAtomic, true, _) => {
                    self.counted(stream).launch(&self.set.azero_paper_input_planes_atomic_padded, shape, arguments)
                }
                (InputForm::PlanesAtomic, false, _) => {
                    self.counted(stream).launch(&self.set.azero_paper_input_planes_atomic_plain, shape, arguments)
                }
                (InputForm::PlanesGlobal, ..) => {
                    self.counted(stream).launch(&self.set.azero_paper_input_planes_global, shape, arguments)
                }
                (InputForm::Rows, _, true) => {
                    self.counted(stream).launch(&self.set.azero_paper_input_rows, shape, arguments)
                }
                (InputForm::Rows, _, false) => {
                    self.counted(stream).launch(&self.set.azero_paper_input_rows_global, shape, arguments)
                }
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
        let (count, n_inputs, n_outputs) = convolution(n, TAPS, x, conv, out)?;
        let Options { torso: form, layers, torso_sums, banked, .. } = self.options();
        if form != TorsoForm::Tiles || torso_sums == Sums::Global {
            self.clear(stream, n, n_outputs as usize * CELLS as usize, out)?;
        }
        let shape = torso::shape(count, n_outputs, if form == TorsoForm::Tiles { layers } else { 8 });
        let arguments = (x, &conv.weight, &conv.bias, out, n_inputs, self.bias());
        // SAFETY: as in `input`.
        unsafe {
            match (form, torso_sums, banked) {
                (TorsoForm::Tiles, Sums::Global, true) => {
                    self.counted(stream).launch(&self.set.azero_paper_torso_global_banked, shape, arguments)
                }
                (TorsoForm::Tiles, Sums::Global, false) => {
                    self.counted(stream).launch(&self.set.azero_paper_torso_global_plain, shape, arguments)
                }
                (TorsoForm::Tiles, Sums::Shared, true) => {
                    self.counted(stream).launch(&self.set.azero_paper_torso_shared_banked, shape, arguments)
                }
                (TorsoForm::Tiles, Sums::Shared, false) => {
                    self.counted(stream).launch(&self.set.azero_paper_torso_shared_plain, shape, arguments)
                }
                (TorsoForm::Repository1, ..) => {
                    self.counted(stream).launch(&self.set.azero_paper_torso_repository_1, shape, arguments)
                }
                (TorsoForm::Repository2, ..) => {
                    self.counted(stream).launch(&self.set.azero_paper_torso_repository_2, shape, arguments)
                }
                (TorsoForm::Repository3, ..) => {
                    self.counted(stream).launch(&self.set.azero_paper_torso_repository_3, shape, arguments)
                }
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
        let (count, n_inputs, n_outputs) = convolution(n, 1, x, conv, out)?;
        let Options { output: form, layers, output_sums, .. } = self.options();
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
                (OutputForm::Tiles, Sums::Global) => {
                    self.counted(stream).launch(&self.set.azero_paper_output_global, shape, arguments)
                }
                (OutputForm::Tiles, Sums::Shared) => {
                    self.counted(stream).launch(&self.set.azero_paper_output_shared, shape, arguments)
                }
                (OutputForm::Repository1, _) => {
                    self.counted(stream).launch(&self.set.azero_paper_output_repository_1, shape, arguments)
                }
                (OutputForm::Repository2, _) => {
                    self.counted(stream).launch(&self.set.azero_paper_output_repository_2, shape, arguments)
                }
                (OutputForm::Squares, _) => {
                    self.counted(stream).launch(&self.set.azero_paper_output_squares, shape, arguments)
                }
            }
        }
    }
}
