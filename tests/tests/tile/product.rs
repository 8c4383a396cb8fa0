//! Products of matrices against the plain program: any shape and stride, every format and tile.

use proptest::prelude::*;
use warpplay::tile::{Operand, Output, Product, ProductBuilder, Tile, bf16, f16};
use warpplay::{Device, Error};
use warpplay_cpu_ref::tile::{Rows, product};
use warpplay_tests::Checked;
use warpplay_tests::backends::for_each_device;
use warpplay_tests::random::Random;
use warpplay_tests::strategies::config;

/// A number of an operand.
trait Number: Operand {
    fn of(value: f32) -> Self;
    /// The number that is multiplied.
    fn multiplied(self) -> f64;
}

impl Number for bf16 {
    fn of(value: f32) -> Self {
        Self::from_f32(value)
    }

    fn multiplied(self) -> f64 {
        self.to_f64()
    }
}

impl Number for f16 {
    fn of(value: f32) -> Self {
        Self::from_f32(value)
    }

    fn multiplied(self) -> f64 {
        self.to_f64()
    }
}

impl Number for f32 {
    fn of(value: f32) -> Self {
        value
    }

    /// As TF32.
    fn multiplied(self) -> f64 {
        Self::from_bits(self.to_bits() & !0x1FFF).into()
    }
}

/// Sizes and strides of a product.
#[derive(Clone, Copy, Debug)]
struct Case {
    m: u32,
    n: u32,
    k: u32,
    /// Values more than needed between rows of A, columns of B (in steps of 16 bytes), and rows of C.
    more: [u32; 3],
    bias: bool,
    rectifier: bool,
    seed: u64,
}

impl Case {
    fn of(m: u32, n: u32, k: u32) -> Self {
        Self { m, n, k, more: [0; 3], bias: true, rectifier: true, seed: 1 }
    }

    fn strides<T>(&self) -> [u32; 3] {
        let step = 16 / size_of::<T>() as u32;
        let [a, b, c] = self.more;
        let rounded = self.k.next_multiple_of(step);
        [rounded + a * step, rounded + b * step, self.n + c]
    }

    fn builder<T: Operand>(&self) -> ProductBuilder<T> {
        let [a, b, c] = self.strides::<T>();
        Product::builder(self.m, self.n, self.k).a_stride(a).b_stride(b).c_stride(c).rectifier(self.rectifier)
    }

    /// Operands with numbers from -1 to 1, and what lies between their rows: numbers that must not count.
    fn operands<T: Number>(&self) -> (Vec<T>, Vec<T>, Vec<f32>) {
        let mut random = Random(self.seed);
        let [a, b, _] = self.strides::<T>();
        let mut matrix = |rows: u32, stride: u32| -> Vec<T> {
            let value = |at: u32| if at % stride < self.k { 2.0 * random.unit() - 1.0 } else { 1e4 };
            (0..rows * stride).map(value).map(T::of).collect()
        };
        let (a, b) = (matrix(self.m, a), matrix(self.n, b));
        (a, b, (0..self.n).map(|_| random.unit() - 0.5).collect())
    }
}

/// What lies between rows of C before and after.
const UNTOUCHED: f32 = -77.0;

/// Runs a product and compares it with double precision; returns the bits of C.
///
/// Products are exact; a sum of `k` of them in single precision, of which every step may cut off, is at most `k · 2⁻²²` of the sum of their sizes off (two units in the last place a step); then the bias is added, and the result rounded to
/// the format of C.
fn check<T: Number, C: Output<T> + Number + Into<f64>>(
    device: &Device,
    case: Case,
    tile: Option<Tile>,
    rounding: f64,
) -> Result<Vec<f64>, Error> {
    let (a, b, bias) = case.operands::<T>();
    let [a_stride, b_stride, c_stride] = case.strides::<T>().map(|stride| stride as usize);
    let stream = device.stream()?;
    let (on_a, on_b, on_bias) = (stream.upload(&a)?, stream.upload(&b)?, stream.upload(&bias)?);
    let before = vec![C::of(UNTOUCHED); case.m as usize * c_stride];
    let mut c = stream.upload(&before)?;
    let built = case.builder::<T>().tile(tile).build(device)?;
    let operands = built.operands(&stream, &on_a, &on_b)?;
    built.run(&stream, &operands, case.bias.then_some(&on_bias), &mut c)?;
    let got: Vec<f64> = stream.read(&c)?.into_iter().map(Into::into).collect();

    let numbers = |values: &[T], size: bool| -> Vec<f64> {
        let of = |&value: &T| if size { value.multiplied().abs() } else { value.multiplied() };
        values.iter().map(of).collect()
    };
    let bias: Option<Vec<f64>> = case.bias.then(|| bias.iter().map(|&value| value.into()).collect());
    let plain = |size: bool| {
        let (a, b) = (numbers(&a, size), numbers(&b, size));
        let columns = case.k as usize;
        let a = Rows { values: &a, rows: case.m as usize, columns, stride: a_stride };
        let b = Rows { values: &b, rows: case.n as usize, columns, stride: b_stride };
        product(a, b, if size { None } else { bias.as_deref() }, !size && case.rectifier)
    };
    let (expected, sizes) = (plain(false), plain(true));
    let n = case.n as usize;
    for (row, got) in got.chunks_exact(c_stride).enumerate() {
        for column in 0..n {
            let (expected, size) = (expected[row * n + column], sizes[row * n + column]);
            let bound = f64::from(case.k) * 2f64.powi(-22) * (size + 1.0) + rounding * expected.abs() + 1e-7;
            let off = (got[column] - expected).abs();
            assert!(
                off <= bound,
                "{case:?} {tile:?}, row {row}, column {column}: {}, expected {expected}, off by {off}, at most {bound}",
                got[column]
            );
        }
        assert!(got[n..].iter().all(|&value| value == f64::from(UNTOUCHED)), "{case:?} {tile:?}: between rows of C");
    }
    Ok(got)
}

/// All formats of one product, in one tile or the one that is chosen.
fn check_formats(device: &Device, case: Case, tile: Option<Tile>) -> Checked {
    check::<bf16, f32>(device, case, tile, 0.0)?;
    check::<bf16, bf16>(device, case, tile, 2f64.powi(-8))?;
    check::<f16, f32>(device, case, tile, 0.0)?;
    check::<f16, f16>(device, case, tile, 2f64.powi(-11))?;
    check::<f32, f32>(device, case, tile, 0.0)?;
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
            check_formats(device, Case { more: [0, 0, 4], ..Case::of(2 * rows, columns, 70) }, Some(tile))?;
        }
        check::<bf16, f32>(device, Case::of(64 * 19, 70, 16), Some(Tile::Rows64Columns64), 0.0)?;
        Ok(())
    });
}

proptest! {
    #![proptest_config(config("tile_product", 12))]

    #[test]
    fn any_product_is_the_plain_programs(
        m in 1u32..200, n in 1u32..200, k in 1u32..300,
        more in [0u32..3, 0u32..3, 0u32..3], bias in any::<bool>(), rectifier in any::<bool>(), seed in any::<u64>(),
    ) {
        let case = Case { m, n, k, more, bias, rectifier, seed };
        for_each_device(|device| check_formats(device, case, None));
    }
}

/// A value of C is the same sum in the same order in every tile.
#[test]
fn tiles_have_the_same_bits() {
    for_each_device(|device| {
        let case = Case { rectifier: false, ..Case::of(150, 130, 200) };
        let bits = |tile| check::<f16, f32>(device, case, Some(tile), 0.0);
        let first = bits(Tile::ALL[0])?;
        for &tile in Tile::ALL {
            assert_eq!(bits(tile)?, first, "{tile}");
        }
        Ok(())
    });
}

/// A product is part of a graph like any other launch.
#[test]
fn products_are_recorded() {
    for_each_device(|device| {
        let case = Case::of(70, 40, 48);
        let (a, b, bias) = case.operands::<bf16>();
        let stream = device.stream()?;
        let (a, b, bias) = (stream.upload(&a)?, stream.upload(&b)?, stream.upload(&bias)?);
        let product = case.builder::<bf16>().build(device)?;
        let (mut once, mut later) = (stream.alloc::<f32>(70 * 40)?, stream.alloc::<f32>(70 * 40)?);
        let operands = product.operands(&stream, &a, &b)?;
        product.run(&stream, &operands, Some(&bias), &mut once)?;
        let graph = stream.capture(|stream| product.run(stream, &operands, Some(&bias), &mut later))?;
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
    assert!(error(Product::builder(1, 4, 8).c_stride(3)).contains("option c_stride: 3"));
    let stream = device.stream().expect("a stream");
    let product = Product::<bf16>::builder(2, 2, 8).build(&device).expect("a product");
    let [long, short] = [16, 15].map(|len| stream.alloc::<bf16>(len).expect("a buffer"));
    let mut c = stream.alloc::<f32>(4).expect("a buffer");
    let error = |result: Result<(), Error>| result.expect_err("refused").to_string();
    let said = error(product.operands(&stream, &short, &long).map(drop));
    assert!(said.contains('a') && said.contains("16"), "{said}");
    let operands = product.operands(&stream, &long, &long).expect("operands");
    let mut small = stream.alloc::<f32>(3).expect("a buffer");
    let said = error(product.run(&stream, &operands, None, &mut small));
    assert!(said.contains("c: ") && said.contains("at least 4 values"), "{said}");
    let other = Product::<bf16>::builder(1, 2, 8).build(&device).expect("a product");
    let said = error(other.run(&stream, &operands, None, &mut c));
    assert!(said.contains("operands (m, n, k, a_stride, b_stride; tile)"), "{said}");
    let bias = stream.alloc::<f32>(1).expect("a buffer");
    let said = error(product.run(&stream, &operands, Some(&bias), &mut c));
    assert!(said.contains("bias"), "{said}");
    // A square matrix times another, into itself.
    let square = Product::<bf16>::builder(8, 8, 8).build(&device).expect("a product");
    let [mut a, b] = [64, 64].map(|len| stream.alloc::<bf16>(len).expect("a buffer"));
    let operands = square.operands(&stream, &a, &b).expect("operands");
    let said = error(square.run(&stream, &operands, None, &mut a));
    assert!(said.contains("another buffer than a and b"), "{said}");
    let error = Product::<bf16>::builder(2, 2, 8).build(&Device::cpu()).expect_err("no kernels").to_string();
    assert!(error.contains("kernels run on cuda and simt"), "{error}");
    assert_eq!(
        "256x256".parse::<Tile>().expect_err("no such tile").to_string(),
        "option tile: 256x256 is not allowed (128x256, 128x192, 128x128, 128x64, 64x64)"
    );
}
