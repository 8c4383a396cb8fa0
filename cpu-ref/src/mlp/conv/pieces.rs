//! The formulas of one image, as plain loops. Images are `[rows, cols, channels]`.

use crate::mlp::{Layer, Real};

/// For each tap that meets the image: its number, and the pixel that it meets.
fn taps(row: usize, col: usize, [rows, cols]: [usize; 2]) -> impl Iterator<Item = (usize, usize)> {
    (0..9).filter_map(move |tap| {
        let (y, x) = (row + tap / 3, col + tap % 3);
        let is_inside = (1..=rows).contains(&y) && (1..=cols).contains(&x);
        is_inside.then(|| (tap, (y - 1) * cols + x - 1))
    })
}

/// `z = image * W + b` without a rectifier.
pub fn convolve<T: Real>(image: &[T], layer: &Layer<T>, size: [usize; 2]) -> Vec<T> {
    let (channels, n) = (layer.n_inputs / 9, layer.n_outputs);
    let mut z = vec![T::zero(); size[0] * size[1] * n];
    for (pixel, z) in z.chunks_exact_mut(n).enumerate() {
        z.copy_from_slice(&layer.bias);
        for (tap, met) in taps(pixel / size[1], pixel % size[1], size) {
            let rows = layer.weights[tap * channels * n..].chunks_exact(n);
            for (&value, weights) in image[met * channels..][..channels].iter().zip(rows) {
                for (z, &weight) in z.iter_mut().zip(weights) {
                    *z += value * weight;
                }
            }
        }
    }
    z
}

/// The layer whose convolution of the gradient of the outputs is that of the inputs: filters turned by half a circle, without a bias.
pub fn turned<T: Real>(layer: &Layer<T>) -> Layer<T> {
    let (channels, n) = (layer.n_inputs / 9, layer.n_outputs);
    let mut weights = vec![T::zero(); layer.weights.len()];
    for (input, row) in layer.weights.chunks_exact(n).enumerate() {
        let (tap, channel) = (input / channels, input % channels);
        for (output, &weight) in row.iter().enumerate() {
            weights[((8 - tap) * n + output) * channels + channel] = weight;
        }
    }
    Layer {
        weights,
        bias: vec![T::zero(); channels],
        n_inputs: 9 * n,
        n_outputs: channels,
        gain: vec![],
        shift: vec![],
    }
}

/// Adds the gradient of weights and biases of an image to `gradient`, from that of the outputs.
pub fn add_gradient<T: Real>(image: &[T], dz: &[T], size: [usize; 2], gradient: &mut Layer<T>) {
    let (channels, n) = (gradient.n_inputs / 9, gradient.n_outputs);
    for (pixel, dz) in dz.chunks_exact(n).enumerate() {
        for (bias, &dz) in gradient.bias.iter_mut().zip(dz) {
            *bias += dz;
        }
        for (tap, met) in taps(pixel / size[1], pixel % size[1], size) {
            let rows = gradient.weights[tap * channels * n..].chunks_exact_mut(n);
            for (&value, weights) in image[met * channels..][..channels].iter().zip(rows) {
                for (weight, &dz) in weights.iter_mut().zip(dz) {
                    *weight += value * dz;
                }
            }
        }
    }
}

/// The four pixels of each pixel of a maximum.
fn windows([rows, cols]: [usize; 2]) -> impl Iterator<Item = [usize; 4]> {
    (0..rows / 2).flat_map(move |row| {
        (0..cols / 2).map(move |col| {
            let first = 2 * row * cols + 2 * col;
            [first, first + 1, first + cols, first + cols + 1]
        })
    })
}

/// Whether `value` is what a maximum with `most` gives: the larger one, and of what is no number the last.
fn replaces<T: Real>(value: T, most: T) -> bool {
    value > most || value.widened().is_nan()
}

/// The largest of 2 × 2 pixels, channel by channel; NaN where one of them is NaN.
pub fn pool<T: Real>(h: &[T], size: [usize; 2], channels: usize) -> Vec<T> {
    let largest = |[a, b, c, d]: [usize; 4]| {
        (0..channels).map(move |channel| {
            let [first, others @ ..] = [a, b, c, d].map(|pixel| h[pixel * channels + channel]);
            others.into_iter().fold(first, |most, value| if replaces(value, most) { value } else { most })
        })
    };
    windows(size).flat_map(largest).collect()
}

/// Gradient through [`pool`] and the rectifier before it, whose outputs are `h`: to the first of the four pixels that is the largest, if it is above 0; to the last NaN, where there is one.
pub fn pool_backward<T: Real>(h: &[T], gradient: &[T], size: [usize; 2], channels: usize) -> Vec<T> {
    let mut dz = vec![T::zero(); h.len()];
    for (window, gradient) in windows(size).zip(gradient.chunks_exact(channels)) {
        for (channel, &gradient) in gradient.iter().enumerate() {
            let mut most = window[0] * channels + channel;
            for pixel in &window[1..] {
                let at = pixel * channels + channel;
                most = if replaces(h[at], h[most]) { at } else { most };
            }
            dz[most] = if h[most] <= T::zero() { T::zero() } else { gradient };
        }
    }
    dz
}
