//! Products of matrices against the plain program: any shape and stride, every format and tile.

use proptest::prelude::*;
use warpplay::tile::{self, Operand, Output, Product, ProductBuilder, Tile, bf16, f16};
use warpplay::{Device, Error};
use warpplay_cpu_ref::tile::{Epilogue, Rows, product};
use warpplay_tests::Checked;
use warpplay_tests::backends::for_each_device;
use warpplay_tests::random::Random;
use warpplay_tests::strategies::config;

use crate::numbers::Number;

/// Sizes and strides of a product.
#[derive(Clone, Copy, Debug)]
struct Case {
    m: u32,
    n: u32,
    k: u32,
    /// Values more than needed between rows of A, columns of B (in steps of 16 bytes), and rows of C.
    more: [u32; 3],
    bias: bool,
    /// Whether something is added to C, and whether that is in single precision and not in the operands' format.
    residual: Option<bool>,
    rectifier: bool,
    /// Whether C is masked, which formats of 16 bits can be.
    mask: bool,
    factor: f32,
    /// Which operands lie depth by depth; those of 16 bits can.
    by_depth: [bool; 2],
    /// Parts of A and B, of 16 bits.
    parts: [u32; 2],
    /// Parts of a C of 16 bits.
    c_parts: u32,
    /// Slabs of 64 depths of a division; without one, all.
    slabs: Option<u32>,
    seed: u64,
}

impl Case {
    fn of(m: u32, n: u32, k: u32) -> Self {
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
        }
    }

    /// The case without what TF32 does not have.
    fn in_tf32(self) -> Self {
        Self { mask: false, by_depth: [false; 2], parts: [1; 2], ..self }
    }

    /// Divisions of the depth have no epilogue but the factor.
    fn divided(self, slabs: u32) -> Self {
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

    fn builder<T: Operand>(&self) -> ProductBuilder<T> {
        let [a, b, c] = self.strides::<T>();
        let builder = Product::builder(self.m, self.n, self.k).a_stride(a).b_stride(b).c_stride(c);
        let builder = builder.a_by_depth(self.by_depth[0]).b_by_depth(self.by_depth[1]).rectifier(self.rectifier);
        let builder = builder.parts(self.parts[0], self.parts[1]).c_parts(self.c_parts).factor(self.factor);
        let builder = builder.mask_stride(self.mask_stride());
        match self.slabs {
            Some(slabs) => builder.division(64 * slabs),
            None => builder,
        }
    }

    /// Operands with numbers from -1 to 1: the numbers, row by row of A and column by column of B, and how they lie, in parts, among numbers that must not count.
    fn operands<T: Number>(&self) -> [(Vec<f64>, Vec<T>); 2] {
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
                        left -= value.multiplied() as f32;
                        number += value.multiplied();
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
/// Products are exact; a sum of `k` of them in single precision, of which every step may cut off, is at most `k · 2⁻²²` of the sum of their sizes off (two units in the last place a step); so is one of all pairs of parts, with a step for each. What pairs of
/// small parts would add is less than 2⁻¹⁴ of the sizes with two parts, 2⁻²² with three, see the module. Then the bias is added, and the result rounded to the format of C; in parts, by each of them.
fn check<T: Number, C: Output<T> + Number + Into<f64>>(
    device: &Device,
    case: Case,
    tile: Option<Tile>,
    rounding: f64,
) -> Result<Vec<f64>, Error> {
    let [(a, on_a), (b, on_b)] = case.operands::<T>();
    let mut random = Random(case.seed ^ 1);
    let bias: Vec<f32> = (0..case.n).map(|_| random.unit() - 0.5).collect();
    let mask_stride = case.mask_stride() as usize;
    let mask: Vec<T> = (0..case.m as usize * mask_stride).map(|_| T::of((4.0 * random.unit()).floor() - 2.0)).collect();
    let c_stride = case.strides::<T>()[2] as usize;
    let residual: Vec<T> = (0..case.m as usize * c_stride).map(|_| T::of(random.unit() - 0.5)).collect();
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
    let mask: Vec<f64> = mask.chunks(mask_stride).flat_map(|row| row[..n].iter().map(|v| v.multiplied())).collect();
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
                let summing =
                    (pairs * f64::from(case.k) * 2f64.powi(-22) + left_out) * size * f64::from(case.factor.abs());
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
fn check_formats(device: &Device, case: Case, tile: Option<Tile>) -> Checked {
    check::<bf16, f32>(device, case, tile, 0.0)?;
    check::<f16, f32>(device, case, tile, 0.0)?;
    check::<f32, f32>(device, case.in_tf32(), tile, 0.0)?;
    if case.slabs.is_none() {
        check::<bf16, bf16>(device, case, tile, 2f64.powi(-8))?;
        check::<f16, f16>(device, case, tile, 2f64.powi(-11))?;
    }
    Ok(())
}

/// Shapes at and around the sizes of tiles and slabs, more tiles than a strip has, and depths of more slabs than the ring has slots.
#[test]
fn every_tile_multiplies_as_the_plain_program() {
    for_each_device(|device| {
        for &tile in Tile::ALL {
            let [rows, columns] = tile.size();
            for (m, n, k) in [(1, 1, 1), (rows, columns, 64), (rows + 1, columns - 1, 65), (3, columns + 9, 700)] {
                check_formats(device, Case { more: [1, 2, 1], ..Case::of(m, n, k) }, Some(tile))?;
            }
            // Whole tiles with rows that begin at multiples of four, and more than one of them.
            let case = Case { more: [0, 0, 4], ..Case::of(2 * rows, columns, 70) };
            check_formats(device, case, Some(tile))?;
            check_formats(device, Case { residual: Some(true), ..case }, Some(tile))?;
            check_formats(device, Case { residual: Some(false), ..case }, Some(tile))?;
        }
        check::<bf16, f32>(device, Case::of(64 * 19, 70, 16), Some(Tile::Rows64Columns64), 0.0)?;
        Ok(())
    });
}

/// The tiles that read operands which lie depth by depth.
const BY_DEPTH: [Tile; 4] = [Tile::Rows128Columns256, Tile::Rows128Columns128, Tile::Rows64Columns64, Tile::Shared64];

#[test]
fn operands_may_lie_depth_by_depth() {
    for_each_device(|device| {
        for tile in BY_DEPTH {
            let [rows, columns] = tile.size();
            for by_depth in [[false, true], [true, false], [true, true]] {
                for (m, n, k) in [(1, 1, 1), (rows, columns, 64), (rows + 1, columns - 1, 65), (3, columns + 9, 300)] {
                    let case = Case { more: [1, 2, 1], by_depth, mask: true, ..Case::of(m, n, k) };
                    check::<bf16, bf16>(device, case, Some(tile), 2f64.powi(-8))?;
                    check::<f16, f32>(device, Case { more: [0; 3], ..case }, Some(tile), 0.0)?;
                }
            }
        }
        Ok(())
    });
}

/// Numbers of two and three parts. At small depths the bound of [`check`] is below what a part less, or a pair of parts less, would leave.
#[test]
fn numbers_in_parts() {
    for_each_device(|device| {
        for (parts, c_parts) in [([2, 2], 2), ([3, 3], 3), ([1, 3], 2), ([3, 1], 1), ([2, 1], 3)] {
            for by_depth in [[false, false], [true, true]] {
                let case = Case { parts, c_parts, by_depth, factor: 0.25, ..Case::of(70, 132, 100) };
                check::<bf16, f32>(device, case, None, 0.0)?;
                check::<bf16, bf16>(device, case, None, 2f64.powi(-8))?;
                for k in 1..4 {
                    check::<bf16, f32>(device, Case { bias: false, rectifier: false, k, ..case }, None, 0.0)?;
                }
                check::<bf16, bf16>(
                    device,
                    Case { more: [0, 0, 4], ..case },
                    Some(Tile::Rows64Columns64),
                    2f64.powi(-8),
                )?;
            }
        }
        Ok(())
    });
}

#[test]
fn the_depth_may_be_divided() {
    for_each_device(|device| {
        for (k, slabs) in [(300, 2), (128, 1), (65, 1), (64, 3)] {
            for by_depth in [[false, false], [true, true]] {
                let case = Case { by_depth, parts: [2, 1], ..Case::of(70, 72, k) };
                check_formats(device, case.divided(slabs), None)?;
            }
        }
        Ok(())
    });
}

proptest! {
    #![proptest_config(config("tile_product", 12))]

    #[test]
    fn any_product_is_the_plain_programs(
        m in 1u32..200, n in 1u32..200, k in 1u32..300,
        more in [0u32..3, 0u32..3, 0u32..3], epilogue in any::<[bool; 3]>(), residual in any::<Option<bool>>(), by_depth in any::<[bool; 2]>(),
        parts in [1u32..4, 1u32..4], c_parts in 1u32..4, seed in any::<u64>(),
    ) {
        let [bias, rectifier, mask] = epilogue;
        let factor = 0.5;
        let case = Case { m, n, k, more, bias, residual, rectifier, mask, factor, by_depth, parts, c_parts, slabs: None, seed };
        for_each_device(|device| check_formats(device, case, None));
    }
}

/// A value of C is the same sum in the same order in every tile but the one whose depth is shared.
#[test]
fn tiles_have_the_same_bits() {
    for_each_device(|device| {
        let case = Case { rectifier: false, ..Case::of(150, 130, 200) };
        let bits = |tile| check::<f16, f32>(device, case, Some(tile), 0.0);
        let first = bits(Tile::ALL[0])?;
        for &tile in Tile::ALL.iter().filter(|&&tile| tile != Tile::Shared64) {
            assert_eq!(bits(tile)?, first, "{tile}");
        }
        // It has sums of its own, always the same.
        assert_eq!(bits(Tile::Shared64)?, bits(Tile::Shared64)?);
        Ok(())
    });
}

/// A product is part of a graph like any other launch.
#[test]
fn products_are_recorded() {
    for_each_device(|device| {
        let case = Case::of(70, 40, 48);
        let [(_, a), (_, b)] = case.operands::<bf16>();
        let stream = device.stream()?;
        let (a, b, bias) = (stream.upload(&a)?, stream.upload(&b)?, stream.upload(&[0.5; 40])?);
        let epilogue = tile::Epilogue::new().bias(&bias);
        let product = case.builder::<bf16>().build(device)?;
        let (mut once, mut later) = (stream.alloc::<f32>(70 * 40)?, stream.alloc::<f32>(70 * 40)?);
        let operands = product.operands(&stream, &a, &b)?;
        product.run(&stream, &operands, epilogue, &mut once)?;
        let graph = stream.capture(|stream| product.run(stream, &operands, epilogue, &mut later))?;
        // The graph keeps what it needs.
        drop((a, b, operands, product));
        stream.launch_graph(&graph)?;
        assert_eq!(stream.read(&once)?, stream.read(&later)?);
        Ok(())
    });
}

#[test]
fn what_cannot_be_multiplied_is_refused() {
    let device = Device::simt();
    let error = |builder: ProductBuilder<bf16>| builder.build(&device).expect_err("refused").to_string();
    assert!(error(Product::builder(0, 1, 1)).contains("option m: 0 is not allowed (1 to 16777216)"));
    assert!(
        error(Product::builder(1, 1, 8).a_stride(12))
            .contains("option a_stride: 12 is not allowed (a multiple of 8 values")
    );
    assert!(error(Product::builder(1, 1, 9).b_stride(8)).contains("from 9 to"));
    assert!(error(Product::builder(1, u32::MAX, 8)).contains("option n: 4294967295"));
    assert!(error(Product::builder(1, 4, 8).c_stride(u32::MAX)).contains("option c_stride: 4294967295"));
    let said = error(Product::builder(1 << 24, 1, 1 << 20));
    assert!(said.contains("option a_part_stride") && said.contains("rows or depths times the stride"), "{said}");
    assert!(error(Product::builder(1, 4, 8).c_stride(3)).contains("option c_stride: 3"));
    assert!(error(Product::builder(9, 4, 3).a_by_depth(true).a_stride(8)).contains("from 9 to"));
    assert!(error(Product::builder(1, 4, 8).parts(0, 1)).contains("option a_parts: 0 is not allowed (1 to 3 in bf16)"));
    assert!(error(Product::builder(1, 4, 8).parts(1, 4)).contains("option b_parts: 4"));
    assert!(error(Product::builder(1, 4, 8).c_parts(4)).contains("option c_parts: 4"));
    assert!(
        error(Product::builder(1, 4, 80).division(60)).contains("option division: 60 is not allowed (a multiple of 64")
    );
    assert!(error(Product::builder(1, 4, 80).division(64).rectifier(true)).contains("option rectifier: true"));
    let said = error(Product::builder(1, 8, 80).b_by_depth(true).tile(Tile::Rows128Columns64));
    assert!(
        said.contains("option tile: 128x64 is not allowed (128x256, 128x128, 64x64, 64x64/4 for operands"),
        "{said}"
    );
    let said = Product::<f32>::builder(8, 8, 8).b_by_depth(true).build(&device).expect_err("refused").to_string();
    assert!(said.contains("option b_by_depth: true is not allowed (false for tf32"), "{said}");
    let stream = device.stream().expect("a stream");
    let product = Product::<bf16>::builder(2, 2, 8).build(&device).expect("a product");
    let [long, short] = [16, 15].map(|len| stream.alloc::<bf16>(len).expect("a buffer"));
    let mut c = stream.alloc::<f32>(4).expect("a buffer");
    let error = |result: Result<(), Error>| result.expect_err("refused").to_string();
    let said = error(product.operands(&stream, &short, &long).map(drop));
    assert!(said.contains('a') && said.contains("16"), "{said}");
    let operands = product.operands(&stream, &long, &long).expect("operands");
    let none = tile::Epilogue::new();
    let mut small = stream.alloc::<f32>(3).expect("a buffer");
    let said = error(product.run(&stream, &operands, none, &mut small));
    assert!(said.contains("c: ") && said.contains("at least 4 values"), "{said}");
    let other = Product::<bf16>::builder(1, 2, 8).build(&device).expect("a product");
    let said = error(other.run(&stream, &operands, none, &mut c));
    assert!(said.contains("operands (m, n, k; a; b; images; tile)"), "{said}");
    let bias = stream.alloc::<f32>(1).expect("a buffer");
    let said = error(product.run(&stream, &operands, none.bias(&bias), &mut c));
    assert!(said.contains("bias"), "{said}");
    let residual = stream.alloc::<bf16>(3).expect("a buffer");
    let said = error(product.run(&stream, &operands, none.residual(&residual), &mut c));
    assert!(said.contains("residual"), "{said}");
    let mask = stream.alloc::<bf16>(3).expect("a buffer");
    let said = error(product.run(&stream, &operands, none.mask(&mask), &mut c));
    assert!(said.contains("mask"), "{said}");
    let divided = Product::<bf16>::builder(2, 2, 72).division(64).build(&device).expect("a product");
    let deep = stream.alloc::<bf16>(144).expect("a buffer");
    let deep = divided.operands(&stream, &deep, &deep).expect("operands");
    let said = error(divided.run(&stream, &deep, none, &mut c));
    assert!(said.contains("at least 8 values"), "{said}");
    let said = error(divided.run(&stream, &deep, none.bias(&bias), &mut c));
    assert!(said.contains("option division: 64 is not allowed (k where there is a bias, a residual"), "{said}");
    let in_parts = Product::<bf16>::builder(2, 2, 8).c_parts(2).build(&device).expect("a product");
    let operands_in_parts = in_parts.operands(&stream, &long, &long).expect("operands");
    let said = error(in_parts.run(&stream, &operands_in_parts, none, &mut c));
    assert!(said.contains("option c_parts: 2 is not allowed (1 where C is f32)"), "{said}");
    let mut short = stream.alloc::<bf16>(8).expect("a buffer");
    let said = error(divided.run(&stream, &deep, none, &mut short));
    assert!(said.contains("k where C has 16 bits"), "{said}");
    // A square matrix times another, into itself.
    let square = Product::<bf16>::builder(8, 8, 8).build(&device).expect("a product");
    let [mut a, b] = [64, 64].map(|len| stream.alloc::<bf16>(len).expect("a buffer"));
    let operands = square.operands(&stream, &a, &b).expect("operands");
    let said = error(square.run(&stream, &operands, none, &mut a));
    assert!(said.contains("another buffer than a, b and the mask"), "{said}");
    let error = Product::<bf16>::builder(2, 2, 8).build(&Device::cpu()).expect_err("no kernels").to_string();
    assert!(error.contains("kernels run on cuda and simt"), "{error}");
    assert_eq!(
        "256x256".parse::<Tile>().expect_err("no such tile").to_string(),
        "option tile: 256x256 is not allowed (128x256, 128x192, 128x128, 128x64, 64x64, 64x64/4)"
    );
}
