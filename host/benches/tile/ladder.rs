//! The steps of one product of matrices, from a thread an element to the library's.

use serde_json::json;
use warpplay::tile::bf16;
use warpplay::{Backend, Error, Module, Precision, ShapedKernel};
use warpplay_gpu::cuda::view::{Disjoint, Slice};
use warpplay_test_kernels::ladder::{
    coalesced::ladder_coalesced, column::ladder_column, mma::ladder_mma, naive::ladder_naive, quads::ladder_quads,
    shared::ladder_shared, square::ladder_square,
};
use warpplay_test_kernels::ptx as test_kernels;

use crate::output::{Table, number};
use crate::{Asked, Bench, numbers, seconds_of, time};

/// The steps of tests/kernels/src/ladder, and the library's products of the same size, which each step is compared with.
pub fn ladder(bench: &mut Bench) -> anyhow::Result<()> {
    if bench.device.backend() == Backend::Cpu {
        return bench.output.text("\nLADDER is left out: its kernels are for a GPU or simt.\n");
    }
    let is_cuda = bench.device.backend() == Backend::Cuda;
    let side = if is_cuda { 4096 } else { 128 };
    let names: Vec<String> = bench.peers.iter().map(|peer| peer.name.clone()).collect();
    let mut columns = vec!["kernel", "format", "us", "TFLOP/s", "of the library's"];
    columns.extend(names.iter().flat_map(|name| [name.as_str(), "ratio"]));
    let mut table = Table::new(&format!("LADDER, products of {side} × {side} × {side}"), 2, &columns);
    let shape = [side; 3];
    let asked = |precision| Asked { shape, precision, parts: 1, engine: None, split: None };
    let single = time::<f32, f32>(bench, asked(Precision::F32), |value| value).map(|(_, _, seconds)| seconds);
    let short = time::<bf16, f32>(bench, asked(Precision::Bf16), bf16::from_f32).map(|(_, _, seconds)| seconds);
    let library = [single.as_ref().ok().copied(), short.as_ref().ok().copied()];
    let of_f32 = |len| numbers(len, |value| value);
    // Two values of bfloat16 a word.
    let of_bf16 = |len: u64| {
        let pair = |values: &[bf16]| values.iter().rev().fold(0, |word, value| word << 16 | u32::from(value.to_bits()));
        numbers(len, bf16::from_f32).chunks(2).map(pair).collect::<Vec<u32>>()
    };
    let steps = [
        ("ladder_naive", Precision::F32, seconds_of_step(bench, ladder_naive, side, of_f32)),
        ("ladder_coalesced", Precision::F32, seconds_of_step(bench, ladder_coalesced, side, of_f32)),
        ("ladder_shared", Precision::F32, seconds_of_step(bench, ladder_shared, side, of_f32)),
        ("ladder_column", Precision::F32, seconds_of_step(bench, ladder_column, side, of_f32)),
        ("ladder_square", Precision::F32, seconds_of_step(bench, ladder_square, side, of_f32)),
        ("ladder_quads", Precision::F32, seconds_of_step(bench, ladder_quads, side, of_f32)),
        ("tile", Precision::F32, single),
        ("ladder_mma", Precision::Bf16, seconds_of_step(bench, ladder_mma, side, of_bf16)),
        ("tile", Precision::Bf16, short),
    ];
    for (name, precision, timed) in steps {
        bench.output.progress(name);
        match timed {
            Ok(seconds) => {
                let speed = 2.0 * f64::from(side).powi(3) / seconds / 1e12;
                let share = library[usize::from(precision == Precision::Bf16)].map(|library| library / seconds);
                let shown = share.map_or_else(|| "-".into(), |share| format!("{:.1} %", 100.0 * share));
                let mut row = vec![name.into(), precision.to_string(), number(seconds * 1e6), number(speed), shown];
                let mut peers = serde_json::Map::new();
                for peer in &mut bench.peers {
                    let question = json!({ "m": side, "n": side, "k": side, "precision": precision });
                    match peer.seconds(&question)? {
                        Ok(theirs) => {
                            row.extend([number(theirs * 1e6), number(theirs / seconds)]);
                            peers.insert(peer.name.clone(), json!(theirs * 1e6));
                        }
                        Err(why) => row.extend([bench.output.failed(&why), "-".into()]),
                    }
                }
                table.row(row);
                bench.output.json(&json!({
                    "section": "ladder", "kernel": name, "precision": precision, "m": side, "n": side, "k": side, "us": seconds * 1e6,
                    "tflops": speed, "of_library": share, "peers_us": peers,
                }))?;
            }
            Err(error) => {
                let failed = bench.output.failed(&error);
                table.row(vec![name.into(), precision.to_string(), failed]);
            }
        }
    }
    table.print(&mut bench.output)
}

/// Seconds of one product of squares by a step.
fn seconds_of_step<T, K>(bench: &Bench, kernel: K, side: u32, of: impl Fn(u64) -> Vec<T>) -> Result<f64, Error>
where
    T: bytemuck::Pod + Send + Sync,
    K: ShapedKernel<
            Launch = (),
            Params = (*const T, *const T, *mut f32, u32, u32, u32),
            Views = (Slice<T>, Slice<T>, Disjoint<f32>, u32, u32, u32),
        >,
{
    let (stream, n_values) = (bench.device.stream()?, u64::from(side) * u64::from(side));
    let function = Module::load(&bench.device, &test_kernels::LADDER)?.function(kernel)?;
    let (a, b) = (stream.upload(&of(n_values))?, stream.upload(&of(n_values))?);
    let mut c = stream.alloc::<f32>(n_values as usize)?;
    seconds_of(bench, &stream, |stream| {
        // SAFETY: the buffers are this function's own, and nothing else runs on them.
        unsafe { stream.run_unchecked(&function, (&a, &b, &mut c, side, side, side)) }
    })
}
