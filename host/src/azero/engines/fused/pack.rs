//! The folded network as the kernels of `fused` read it.

use warpplay_gpu::azero::fused::format::{Bf16, Format, Fp16, Split, Tf32};
use warpplay_gpu::azero::fused::{PLANES, WIDTH};
use warpplay_gpu::azero::fused::{single, tower};
use warpplay_gpu::cuda::memory::Vec4;
use warpplay_gpu::cuda::mma;

use crate::Precision;
use crate::azero::folded::{FoldedConv, FoldedNetwork};

/// The convolutions' weights, stage after stage.
pub(super) fn tower_weights(network: &FoldedNetwork, precision: Precision) -> Vec<Vec4> {
    match precision {
        Precision::F16 => pack::<Fp16>(network, |values| [pairs(values, mma::pack_f16), Vec4::default()]),
        Precision::Bf16 => pack::<Bf16>(network, |values| [pairs(values, mma::pack_bf16), Vec4::default()]),
        Precision::Tf32 => {
            pack::<Tf32>(network, |v| [Vec4([0, 1, 2, 3].map(|at| mma::round_tf32(v[at]))), Vec4::default()])
        }
        // What is not offered is refused before; single precision is the split form.
        Precision::F32 | Precision::F64 | Precision::E4m3 | Precision::I16 => pack::<Split>(network, |values| {
            [
                pairs(values, |low, high| mma::split_f16(low, high)[0]),
                pairs(values, |low, high| mma::split_f16(low, high)[1]),
            ]
        }),
    }
}

fn pairs(values: [f32; 8], pack: impl Fn(f32, f32) -> u32) -> Vec4 {
    Vec4([0, 2, 4, 6].map(|at| pack(values[at], values[at + 1])))
}

fn pack<F: Format>(network: &FoldedNetwork, chunk: impl Fn([f32; 8]) -> [Vec4; 2]) -> Vec<Vec4> {
    let n_torso = 2 * network.torso.len() as u32;
    let mut packed = vec![Vec4::default(); tower::n_weight_bytes::<F>(n_torso) / 16];
    let mut first = 0;
    for (conv, channels) in convs(network) {
        for output in 0..WIDTH {
            for tap in 0..9 {
                for input in (0..channels).step_by(F::CHANNELS as usize) {
                    let mut values = [0.0; 8];
                    for at in 0..F::CHANNELS {
                        values[at as usize] = weight(conv, output, input + at, tap);
                    }
                    let (offset, _) = tower::weight_offset::<F>(channels, output, input, tap);
                    for (part, words) in chunk(values).into_iter().enumerate().take(F::PARTS as usize) {
                        packed[first + offset as usize + 256 * part] = words;
                    }
                }
            }
        }
        first += (9 * channels * WIDTH / F::CHANNELS * F::PARTS) as usize;
    }
    packed
}

/// The convolutions' weights for each block of the kernel for one position.
pub(super) fn single_weights(network: &FoldedNetwork, precision: Precision) -> Vec<Vec4> {
    match precision {
        Precision::F16 => pack_blocks::<Fp16>(network, |value| [short(mma::pack_f16, value), [0; 4]]),
        Precision::Bf16 => pack_blocks::<Bf16>(network, |value| [short(mma::pack_bf16, value), [0; 4]]),
        Precision::Tf32 => pack_blocks::<Tf32>(network, |value| [mma::round_tf32(value).to_le_bytes(), [0; 4]]),
        Precision::F32 | Precision::F64 | Precision::E4m3 | Precision::I16 => pack_blocks::<Split>(network, |value| {
            let part = |number: usize| short(|low, high| mma::split_f16(low, high)[number], value);
            [part(0), part(1)]
        }),
    }
}

/// Number of vectors of the tower's weights, and of the weights of the kernel for one position.
pub(super) fn n_vectors(n_convs: u32, precision: Precision) -> [usize; 2] {
    fn of<F: Format>(n_torso: u32) -> [usize; 2] {
        [tower::n_weight_bytes::<F>(n_torso) / 16, single::block_bytes::<F>(n_torso) * single::BLOCKS as usize / 16]
    }
    match precision {
        Precision::F16 => of::<Fp16>(n_convs - 1),
        Precision::Bf16 => of::<Bf16>(n_convs - 1),
        Precision::Tf32 => of::<Tf32>(n_convs - 1),
        Precision::F32 | Precision::F64 | Precision::E4m3 | Precision::I16 => of::<Split>(n_convs - 1),
    }
}

/// The bytes of a 16-bit number: the first two.
fn short(pack: impl Fn(f32, f32) -> u32, value: f32) -> [u8; 4] {
    pack(value, 0.0).to_le_bytes()
}

/// Weights of all blocks; `bytes` returns the bytes of a number's parts, `16 / F::CHANNELS` bytes of each.
fn pack_blocks<F: Format>(network: &FoldedNetwork, bytes: impl Fn(f32) -> [[u8; 4]; 2]) -> Vec<Vec4> {
    let n_torso = 2 * network.torso.len() as u32;
    let (block_bytes, len) = (single::block_bytes::<F>(n_torso), 16 / F::CHANNELS as usize);
    let mut packed = vec![Vec4::default(); block_bytes * single::BLOCKS as usize / 16];
    let all: &mut [u8] = bytemuck::cast_slice_mut(&mut packed);
    let per_block = single::CHANNELS;
    for (block, to) in (0..).zip(all.chunks_exact_mut(block_bytes)) {
        // Two blocks have the same channels, each for half the board.
        let first_output = block / 2 * per_block;
        let mut first = 0;
        for (conv, channels) in convs(network) {
            for output in 0..per_block {
                for (input, tap) in (0..channels).flat_map(|input| (0..9).map(move |tap| (input, tap))) {
                    let parts = bytes(weight(conv, first_output + output, input, tap));
                    let offset = first + single::weight_offset::<F>(output, input, tap) as usize;
                    for (part, bytes) in parts.iter().enumerate().take(F::PARTS as usize) {
                        to[offset + single::STEP_BYTES as usize * part..][..len].copy_from_slice(&bytes[..len]);
                    }
                }
            }
            first += single::conv_bytes::<F>(channels) as usize;
        }
    }
    packed
}

/// All convolutions of the tower, with the number of input channels that the kernels use.
fn convs(network: &FoldedNetwork) -> impl Iterator<Item = (&FoldedConv, u32)> {
    std::iter::once((&network.input, PLANES)).chain(network.torso.iter().flatten().map(|conv| (conv, WIDTH)))
}

/// A weight; 0 for channels that the network does not have.
fn weight(conv: &FoldedConv, output: u32, input: u32, tap: u32) -> f32 {
    if input as usize >= conv.n_inputs {
        return 0.0;
    }
    conv.weight[(output as usize * conv.n_inputs + input as usize) * 9 + tap as usize]
}

/// Biases of all convolutions, `[n_convs, 128]`.
pub(super) fn tower_biases(network: &FoldedNetwork) -> Vec<f32> {
    let torso = network.torso.iter().flatten().flat_map(|conv| &conv.bias);
    network.input.bias.iter().chain(torso).copied().collect()
}

/// Transposes the weights `[n_outputs, n_inputs]` of a linear layer to `[n_inputs, n_outputs]`.
pub(super) fn turned(weight: &[f32], n_outputs: usize) -> Vec<f32> {
    let n_inputs = weight.len() / n_outputs;
    (0..n_inputs).flat_map(|input| (0..n_outputs).map(move |output| weight[output * n_inputs + input])).collect()
}
