//! Drawn digits: a set to train on where there is none.
//!
//! Every digit is a few straight strokes between points of a 60 x 100 grid, moved, scaled, turned and slanted at random, drawn with a random pen, and
//! covered with noise. Only additions, products, quotients and roots of `f64` and the functions of `libm` are used, so the pixels are the same on every
//! machine. Sample `s` has the elements `1024 s + 1` to `1024 s + 1024` of one random stream: any sample can be drawn alone.

use warpplay_gpu::mlp::random;

use super::options::seed_in_32_bits;

/// Rows and columns of a drawn digit.
pub(super) const SIDE: u32 = 28;
/// Number of digits.
pub(super) const N_CLASSES: u32 = 10;
/// The random stream of drawn digits, distinct from those of weights (from 1) and of orders (from 64).
const STREAM: u32 = 0x8000_0000;
/// Elements of the stream that belong to one sample.
const ELEMENTS: u64 = 1024;
/// Index of the first element of a sample for its pixels; earlier elements are for its shape.
const FIRST_PIXEL: u64 = 128;
/// The element that orders the labels of ten neighbours.
const LABEL: u64 = 127;

type Stroke = &'static [(u8, u8)];

/// Points of the strokes, x to the right and y downwards.
const STROKES: [&[Stroke]; N_CLASSES as usize] = [
    &[&[(30, 0), (50, 10), (60, 35), (60, 65), (50, 90), (30, 100), (10, 90), (0, 65), (0, 35), (10, 10), (30, 0)]],
    &[&[(12, 22), (35, 0), (35, 100)]],
    &[&[(3, 25), (10, 7), (30, 0), (50, 7), (57, 26), (50, 45), (25, 70), (0, 100), (60, 100)]],
    &[
        &[(3, 12), (20, 0), (43, 2), (55, 20), (46, 41), (22, 48)],
        &[(22, 48), (50, 55), (60, 75), (48, 95), (25, 100), (2, 88)],
    ],
    &[&[(45, 100), (45, 0), (0, 68), (60, 68)]],
    &[&[(55, 0), (10, 0), (6, 45), (30, 38), (53, 48), (60, 70), (50, 93), (26, 100), (2, 90)]],
    &[&[
        (50, 3),
        (25, 12),
        (6, 40),
        (0, 70),
        (10, 94),
        (30, 100),
        (52, 92),
        (60, 70),
        (50, 50),
        (30, 45),
        (10, 54),
        (1, 70),
    ]],
    &[&[(0, 0), (60, 0), (23, 100)]],
    &[
        &[(30, 47), (10, 38), (4, 22), (13, 5), (30, 0), (47, 5), (56, 22), (50, 38), (30, 47)],
        &[(30, 47), (8, 58), (0, 76), (10, 94), (30, 100), (50, 94), (60, 76), (52, 58), (30, 47)],
    ],
    &[&[(60, 30), (50, 50), (30, 56), (9, 48), (1, 28), (10, 7), (30, 0), (50, 7), (60, 30), (57, 65), (45, 100)]],
];

/// Images and labels of the samples 0 to `n - 1`. Every group of ten consecutive samples holds the ten digits in random order.
pub(super) fn draw(seed: u64, n: usize) -> (Vec<u8>, Vec<u8>) {
    let key = random::key(seed_in_32_bits(seed), STREAM);
    let labels: Vec<u8> = (0..n).map(|sample| label(key, sample as u64)).collect();
    let mut images = Vec::with_capacity(n * (SIDE * SIDE) as usize);
    for (sample, &digit) in labels.iter().enumerate() {
        images.extend(image(Chance { key, first: sample as u64 * ELEMENTS + 1 }, digit));
    }
    (images, labels)
}

/// The label of a sample: its rank within its group of ten.
fn label(key: u64, sample: u64) -> u8 {
    let of = |sample: u64| (random::element(key, sample * ELEMENTS + 1 + LABEL), sample);
    let ten = sample / 10 * 10;
    (ten..ten + 10).filter(|&other| of(other) < of(sample)).count() as u8
}

/// Random numbers of one sample.
#[derive(Clone, Copy)]
struct Chance {
    key: u64,
    first: u64,
}

impl Chance {
    /// Number `at` of the sample, uniform in [0, 1).
    fn share(self, at: u64) -> f64 {
        (random::element(self.key, self.first + at) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The same in [-most, most).
    fn around(self, at: u64, most: f64) -> f64 {
        (2.0 * self.share(at) - 1.0) * most
    }
}

fn image(chance: Chance, digit: u8) -> Vec<u8> {
    let side = SIDE as usize;
    // A digit fills about 12 x 20 pixels, like MNIST's.
    let (width, height) = (0.20 + chance.around(0, 0.05), 0.19 + chance.around(1, 0.03));
    let (slant, turn) = (chance.around(2, 0.3), chance.around(3, 0.2));
    let (sin, cos) = (libm::sin(turn), libm::cos(turn));
    let middle = f64::from(SIDE) / 2.0;
    let (right, down) = (middle + chance.around(4, 2.5), middle + chance.around(5, 2.5));
    let pen = 0.9 + 0.9 * chance.share(6);
    let ink = 255.0 * (0.65 + 0.35 * chance.share(7));
    let mut coverage = vec![0.0_f64; side * side];
    let mut number = 8;
    for stroke in STROKES[usize::from(digit)] {
        let mut before = None;
        for &(x, y) in *stroke {
            let x = (f64::from(x) - 30.0 + chance.around(number, 4.0)) * width;
            let y = (f64::from(y) - 50.0 + chance.around(number + 1, 4.0)) * height;
            number += 2;
            let x = x - slant * y;
            let point = (right + x * cos - y * sin, down + x * sin + y * cos);
            if let Some(start) = before {
                draw_line(&mut coverage, start, point, pen);
            }
            before = Some(point);
        }
    }
    let pixel = |(at, share): (usize, f64)| {
        let noise = chance.share(FIRST_PIXEL + at as u64);
        // Grain on the ink, a little dust on the paper.
        let value = share * ink * (1.0 - 0.3 * noise) + if noise > 0.97 { 90.0 * (noise - 0.97) / 0.03 } else { 0.0 };
        value.min(255.0) as u8
    };
    coverage.into_iter().enumerate().map(pixel).collect()
}

/// Raises pixels near the line from `a` to `b` to the fraction that a pen of radius `pen` covers.
fn draw_line(coverage: &mut [f64], a: (f64, f64), b: (f64, f64), pen: f64) {
    let last = f64::from(SIDE) - 1.0;
    let radius = pen + 1.0;
    let range = |a: f64, b: f64| {
        let from = (a.min(b) - radius).clamp(0.0, last) as usize;
        let to = (a.max(b) + radius).clamp(0.0, last) as usize;
        from..=to
    };
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let length_squared = (dx * dx + dy * dy).max(1e-9);
    for row in range(a.1, b.1) {
        for col in range(a.0, b.0) {
            let (x, y) = (col as f64 + 0.5 - a.0, row as f64 + 0.5 - a.1);
            let along = ((x * dx + y * dy) / length_squared).clamp(0.0, 1.0);
            let (x, y) = (x - along * dx, y - along * dy);
            let share = (pen + 0.5 - (x * x + y * y).sqrt()).clamp(0.0, 1.0);
            let pixel = &mut coverage[row * SIDE as usize + col];
            *pixel = pixel.max(share);
        }
    }
}
