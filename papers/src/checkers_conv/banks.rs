//! Bank conflicts of the published kernels, counted by `simt`: sections III.A to III.C say where there are none.

use serde::{Deserialize, Serialize};
use warpplay::azero::Conv;
use warpplay::{BankReport, Device, Error, Result};
use warpplay_gpu::simt::Access;

use super::kernels::{CELLS, TAPS};
use super::measure::Part;
use super::{Affine, Kernels, Options};

/// Requests to shared memory of one block, and the turns that they take beyond one each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The kernel.
    pub kernel: String,
    /// The form.
    pub form: String,
    /// Requests of a warp.
    pub requests: u64,
    /// Turns beyond one a request, of reads.
    pub reads: u64,
    /// Of writes.
    pub writes: u64,
    /// Of atomic additions.
    pub updates: u64,
}

/// What the accesses of one block of a convolution of the paper's size are: 5 planes or 128 channels, one output channel.
///
/// # Errors
/// [`Error::Option`] for the whole network, which is no kernel, or an option that is not allowed; errors of the launch.
pub fn report(options: Options, part: Part) -> Result<BankReport> {
    let device = Device::simt();
    let stream = device.stream()?;
    let kernels = Kernels::load(&device, options)?;
    let (n_inputs, taps) = match part {
        Part::Input => (5, TAPS),
        Part::Torso => (128, TAPS),
        Part::Output => (128, 1),
        Part::Semi | Part::Network => return Err(Error::option("part", part, "input, torso or output")),
    };
    let conv = Conv { weight: vec![0.5; (n_inputs * taps) as usize], bias: vec![0.0] };
    let conv = Affine::conv(&stream, &conv)?;
    let x = stream.upload(&vec![1.0f32; (n_inputs * CELLS) as usize])?;
    let mut out = stream.alloc(CELLS as usize)?;
    let (launched, report) = device.count_bank_conflicts(|| match part {
        Part::Input => kernels.input(&stream, 1, &x, &conv, &mut out),
        Part::Output => kernels.output(&stream, 1, &x, &conv, &mut out),
        _ => kernels.torso(&stream, 1, &x, &conv, &mut out),
    })?;
    launched.map(|()| report)
}

/// The same, summed up.
///
/// # Errors
/// As [`report`].
pub fn row(form: String, options: Options, part: Part) -> Result<Row> {
    let report = report(options, part)?;
    Ok(Row {
        kernel: part.to_string(),
        form,
        requests: report.requests(),
        reads: report.conflicts_of(Access::Read),
        writes: report.conflicts_of(Access::Write),
        updates: report.conflicts_of(Access::Update),
    })
}
