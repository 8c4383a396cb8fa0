//! A product against the plain program.

use warpplay::tile::{self, Engine, Operand, Output, Product, ProductBuilder, Tile, bf16, f16};
use warpplay::{Device, Error};
use warpplay_cpu_ref::tile::{Epilogue, Rows, product};
use warpplay_tests::Checked;
use warpplay_tests::random::Random;

use crate::numbers::Number;

/// Sizes and strides of a product.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub m: u32,
    pub n: u32,
    pub k: u32,
    /// Values more than needed between rows of A, columns of B (in steps of 16 bytes), and rows of C.
    pub more: [u32; 3],
    pub bias: bool,
    /// Whether something is added to C, and whether that is in single precision and not in the operands' format.
    pub residual: Option<bool>,
    pub rectifier: bool,
    /// Whether C is masked, which TF32 cannot be.
    pub mask: bool,
    pub factor: f32,
    /// Which operands lie depth by depth; those of 16 bits can.
    pub by_depth: [bool; 2],
    /// Parts of A and B, of 16 bits.
    pub parts: [u32; 2],
    /// Parts of a C of 16 bits.
    pub c_parts: u32,
    /// Slabs of 64 depths of a division; without one, all.
    pub slabs: Option<u32>,
    pub seed: u64,
    /// Without one, that of the device.
    pub engine: Option<Engine>,
    /// Blocks that share the depth of a tile.
    pub cluster: Option<u32>,
}

/// Products whose rows of C begin at multiples of 16 bytes, one behind the other or apart: more than a tile, a part of a warp's rows and of its columns; with all of the epilogue that they may have, with a residual in either format, and with none.
pub fn lines_of(tile: Tile) -> [Case; 4] {
    let [rows, columns] = tile.size();
    let case = Case { factor: 0.75, ..Case::of(2 * rows - 3, columns + 8, 70) };
    let added = |is_single| Case { residual: Some(is_single), more: [0, 0, 8], ..case };
    let bare = Case { more: [0, 0, 8], bias: false, rectifier: false, factor: 1.0, ..case };
    [case, added(false), added(true), bare]
}

impl Case {
    pub fn of(m: u32, n: u32, k: u32) -> Self {
        Self {
            m,
            n,
            k,
            more: [0; 3],
            bias: true,
            residual: None,
            rectifier: true,
            mask: false,
            factor: 1.0,
            by_depth: [false; 2],
            parts: [1; 2],
            c_parts: 1,
            slabs: None,
            seed: 1,
            engine: None,
            cluster: None,
        }
    }

    /// The case for an engine.
    pub fn by(self, engine: Engine) -> Self {
        Self { engine: Some(engine), ..self }
    }

    /// The case without what TF32 does not have.
    pub fn in_tf32(self) -> Self {
        Self { mask: false, by_depth: [false; 2], parts: [1; 2], ..self }
    }

    /// Divisions of the depth have no epilogue but the factor.
    pub fn divided(self, slabs: u32) -> Self {
        Self { bias: false, residual: None, rectifier: false, mask: false, slabs: Some(slabs), ..self }
    }

    /// Lines and width of A and B as they lie.
    fn lines(&self) -> [[u32; 2]; 2] {
        [(self.by_depth[0], self.m), (self.by_depth[1], self.n)]
            .map(|(by_depth, size)| if by_depth { [self.k, size] } else { [size, self.k] })
    }

    fn strides<T>(&self) -> [u32; 3] {
        let step = 16 / size_of::<T>() as u32;
        let [[_, a], [_, b]] = self.lines().map(|[lines, width]| [lines, width.next_multiple_of(step)]);
        let [more_a, more_b, more_c] = self.more;
        [a + more_a * step, b + more_b * step, self.n + more_c]
    }

    fn mask_stride(&self) -> u32 {
        self.n.next_multiple_of(4) + 4 * self.more[2]
    }

    pub fn builder<T: Operand>(&self) -> ProductBuilder<T> {
        let [a, b, c] = self.strides::<T>();
        let builder = Product::builder(self.m, self.n, self.k).a_stride(a).b_stride(b).c_stride(c);
        let builder = builder.a_by_depth(self.by_depth[0]).b_by_depth(self.by_depth[1]).rectifier(self.rectifier);
        let builder = builder.parts(self.parts[0], self.parts[1]).c_parts(self.c_parts).factor(self.factor);
        let builder = builder.mask_stride(self.mask_stride()).engine(self.engine).cluster(self.cluster);
        match self.slabs {
            Some(slabs) => builder.division(64 * slabs),
            None => builder,
        }
    }

    /// Operands with numbers from -1 to 1: the numbers, row by row of A and column by column of B, and how they lie, in parts, among numbers that must not count.
    pub fn operands<T: Number>(&self) -> [(Vec<f64>, Vec<T>); 2] {
        let mut random = Random(self.seed);
        let strides = self.strides::<T>();
        [0, 1].map(|at| {
            let size = if at == 0 { self.m } else { self.n };
            let [lines, width] = self.lines()[at];
            let stride = strides[at] as usize;
            let mut numbers = Vec::new();
            let mut lie = vec![T::of(1e4); self.parts[at] as usize * lines as usize * stride];
            for row in 0..size {
                for depth in 0..self.k {
                    let mut left = 2.0 * random.unit() - 1.0;
                    let [line, column] = if self.by_depth[at] { [depth, row] } else { [row, depth] };
                    assert!(column < width);
                    let mut number = 0.0;
                    for part in 0..self.parts[at] {
                        let value = T::of(left);
                        left -= value.multiplied(self.engine) as f32;
                        number += value.multiplied(self.engine);
                        lie[((part * lines + line) as usize) * stride + column as usize] = value;
                    }
                    numbers.push(number);
                }
            }
            (numbers, lie)
        })
    }
}

/// What lies between rows of C before and after.
const UNTOUCHED: f32 = -77.0;

/// Runs a product and compares it with double precision; returns the values of C, of all parts and divisions.
///
/// Products are exact; a sum of `k` of them is at most [`cut_off`](Number::cut_off) of the sum of their sizes off; so is one of all pairs of parts, for each pair. What pairs of
/// small parts would add is less than 2⁻¹⁴ of the sizes with two parts, 2⁻²² with three, see the module. Then the bias is added, and the result rounded to the format of C; in parts, by each of them.
pub fn check<T: Number + Operand<Short: Number>, C: Output<T> + Number + Into<f64>>(
    device: &Device,
    case: Case,
    tile: Option<Tile>,
    rounding: f64,
) -> Result<Vec<f64>, Error> {
    let [(a, on_a), (b, on_b)] = case.operands::<T>();
    let mut random = Random(case.seed ^ 1);
    let bias: Vec<f32> = (0..case.n).map(|_| random.unit() - 0.5).collect();
    let mask_stride = case.mask_stride() as usize;
    let mask: Vec<T::Short> =
        (0..case.m as usize * mask_stride).map(|_| T::Short::of((4.0 * random.unit()).floor() - 2.0)).collect();
    let c_stride = case.strides::<T>()[2] as usize;
    let residual: Vec<T::Short> = (0..case.m as usize * c_stride).map(|_| T::Short::of(random.unit() - 0.5)).collect();
    let stream = device.stream()?;
    let (on_a, on_b, on_bias) = (stream.upload(&on_a)?, stream.upload(&on_b)?, stream.upload(&bias)?);
    let on_mask = stream.upload(&mask)?;
    let on_residual = stream.upload(&residual)?;
    let single: Vec<f32> = residual.iter().map(|value| value.exact() as f32).collect();
    let on_single = stream.upload(&single)?;
    let divisions = case.slabs.map_or(1, |slabs| case.k.div_ceil(64 * slabs)) as usize;
    let c_parts = if size_of::<C>() == 2 { case.c_parts as usize } else { 1 };
    let (m, n) = (case.m as usize, case.n as usize);
    let mut c = stream.upload(&vec![C::of(UNTOUCHED); divisions * c_parts * m * c_stride])?;
    let built = case.builder::<T>().c_parts(c_parts as u32).tile(tile).build(device)?;
    let operands = built.operands(&stream, &on_a, &on_b)?;
    let mut epilogue = tile::Epilogue::new();
    if case.bias {
        epilogue = epilogue.bias(&on_bias);
    }
    match case.residual {
        Some(true) => epilogue = epilogue.residual(&on_single),
        Some(false) => epilogue = epilogue.residual(&on_residual),
        None => {}
    }
    if case.mask {
        epilogue = epilogue.mask(&on_mask);
    }
    built.run(&stream, &operands, epilogue, &mut c)?;
    let got: Vec<f64> = stream.read(&c)?.into_iter().map(Into::into).collect();

    let bias: Vec<f64> = bias.iter().map(|&value| value.into()).collect();
    let mask: Vec<f64> =
        mask.chunks(mask_stride).flat_map(|row| row[..n].iter().map(|v| v.multiplied(case.engine))).collect();
    let residual: Vec<f64> = residual.chunks(c_stride).flat_map(|row| row[..n].iter().map(|v| v.exact())).collect();
    let plain = |from: usize, to: usize, size: bool| {
        let of = |numbers: &[f64]| -> Vec<f64> {
            let part = numbers.chunks(case.k as usize).flat_map(|row| row[from..to].iter().copied());
            part.map(|value| if size { value.abs() } else { value }).collect()
        };
        let (a, b) = (of(&a), of(&b));
        let a = Rows { values: &a, rows: m, columns: to - from, stride: to - from };
        let b = Rows { values: &b, rows: n, columns: to - from, stride: to - from };
        let epilogue = Epilogue {
            factor: case.factor.into(),
            bias: case.bias.then_some(&bias[..]),
            residual: case.residual.map(|_| &residual[..]),
            rectifies: case.rectifier,
            mask: case.mask.then_some(&mask[..]),
        };
        product(a, b, if size { Epilogue::NONE } else { epilogue })
    };
    let pairs = [1.0, 3.0, 6.0][case.parts.into_iter().max().unwrap_or(1) as usize - 1];
    let left_out = [0.0, 2f64.powi(-14), 2f64.powi(-22)][case.parts.into_iter().max().unwrap_or(1) as usize - 1];
    for division in 0..divisions {
        let depths = case.slabs.map_or(case.k as usize, |slabs| 64 * slabs as usize);
        let (from, to) = (division * depths, (case.k as usize).min((division + 1) * depths));
        let (expected, sizes) = (plain(from, to, false), plain(from, to, true));
        for row in 0..m {
            let lines: Vec<&[f64]> = (0..c_parts)
                .map(|part| &got[((division * c_parts + part) * m + row) * c_stride..][..c_stride])
                .collect();
            for column in 0..n {
                let (expected, size) = (expected[row * n + column], sizes[row * n + column]);
                let got: f64 = lines.iter().map(|line| line[column]).sum();
                let summing = (pairs * T::cut_off(case.k.into()) + left_out) * size * f64::from(case.factor.abs());
                // The smallest numbers of half precision are 2⁻²⁴ apart.
                let bound = summing
                    + if case.bias || case.residual.is_some() { 2f64.powi(-22) } else { 0.0 }
                    + rounding.powi(c_parts as i32) * expected.abs()
                    + if rounding > 0.0 { 2f64.powi(-24) } else { 0.0 };
                let off = (got - expected).abs();
                assert!(
                    off <= bound,
                    "{case:?} {tile:?}, division {division}, row {row}, column {column}: {got}, expected {expected}, off by {off}, at most {bound}"
                );
            }
            for line in lines {
                assert!(line[n..].iter().all(|&v| v == f64::from(UNTOUCHED)), "{case:?} {tile:?}: between rows of C");
            }
        }
    }
    Ok(got)
}

/// All formats of one product, in one tile or the one that is chosen.
pub fn check_formats(device: &Device, case: Case, tile: Option<Tile>) -> Checked {
    check::<bf16, f32>(device, case, tile, 0.0)?;
    check::<f16, f32>(device, case, tile, 0.0)?;
    check::<f32, f32>(device, case.in_tf32(), tile, 0.0)?;
    if case.slabs.is_none() {
        check::<bf16, bf16>(device, case, tile, 2f64.powi(-8))?;
        check::<f16, f16>(device, case, tile, 2f64.powi(-11))?;
    }
    Ok(())
}
