//! Moments of the columns of C against the plain program.

use warpplay::tile::{Convolution, Epilogue, Operand, Output, Product, Tile, bf16, f16};
use warpplay::{Buffer, Device, Error, Stream};
use warpplay_cpu_ref::tile::moments;
use warpplay_tests::Checked;
use warpplay_tests::backends::for_each_device;
use warpplay_tests::random::Random;

use crate::numbers::Number;

/// Rows whose moments are one, and those of a warp.
const ROWS: usize = 64;
const WARP_ROWS: usize = 16;

fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().sum::<f64>() / values.count() as f64
}

/// Compares moments with those of C in double precision.
///
/// A warp's mean of up to 16 rows is off by less than 17 `u` of their mean size, `u = 2⁻²⁴`: 15 additions, and the share that the sum is multiplied with; five more steps put those of four warps together. With the largest of the warps' mean sizes both are within `e = 24 u` of it. A distance from a mean is rounded once, and the mean is off by `e`, whose products with
/// distances add up to nothing; squares are added in fewer than 32 steps. What puts four together adds `n (m - m')²`, where both means are off.
fn expect_moments(got: &[f32], c: &[f64], n: usize, what: &str) {
    let (expected, u) = (moments(c, n, ROWS), 2f64.powi(-24));
    let half = expected.len() / 2;
    assert!(got.len() >= 2 * half);
    for (block, rows) in c.chunks(ROWS * n).enumerate() {
        let count = (rows.len() / n) as f64;
        for column in 0..n {
            let size = rows
                .chunks(WARP_ROWS * n)
                .map(|rows| mean(rows.iter().skip(column).step_by(n).map(|value| value.abs())))
                .fold(0.0, f64::max);
            let e = 24.0 * u * size;
            let at = block * n + column;
            let (middle, square) = (expected[at], expected[half + at]);
            let off = [(f64::from(got[at]) - middle).abs(), (f64::from(got[half + at]) - square).abs()];
            let most = [e, 64.0 * u * square + 8.0 * e * (count * square).sqrt() + 8.0 * count * e * e];
            assert!(
                off[0] <= most[0] && off[1] <= most[1],
                "{what}, block {block}, column {column}: {} and {}, expected {middle} and {square}, off by {off:?}, at most {most:?}",
                got[at],
                got[half + at]
            );
        }
    }
}

/// The first `used` values of each line of C.
fn values<C: Output<T> + Number, T: Operand>(
    stream: &Stream,
    c: &Buffer<C>,
    [used, stride]: [usize; 2],
) -> Result<Vec<f64>, Error> {
    let c = stream.read(c)?;
    Ok(c.chunks(stride).flat_map(|line| line[..used].iter().map(|value| value.exact())).collect())
}

/// A product with moments, whose C has the bits of one without; `bias` is added to all.
fn check<T: Number, C: Output<T> + Number>(
    device: &Device,
    size: [u32; 3],
    tile: Tile,
    bias: f32,
) -> Result<(), Error> {
    let ([m, n, k], stream, mut random) = (size, device.stream()?, Random(7));
    let mut numbers = |n: u32| stream.upload(&(0..n).map(|_| T::of(random.unit() - 0.5)).collect::<Vec<_>>());
    let (a, b, bias) = (numbers(m * k)?, numbers(n * k)?, stream.upload(&vec![bias; n as usize])?);
    let (stride, epilogue) = (n + 8, Epilogue::new().bias(&bias));
    let builder = Product::<T>::builder(m, n, k).c_stride(stride).tile(tile).factor(0.5);
    let mut c = [stream.alloc::<C>((m * stride) as usize)?, stream.alloc((m * stride) as usize)?];
    let plain = builder.build(device)?;
    plain.run(&stream, &plain.operands(&stream, &a, &b)?, epilogue, &mut c[0])?;
    let with = builder.moments(true).build(device)?;
    assert_eq!((plain.n_moments(), with.n_moments()), (0, 2 * (m as usize).div_ceil(ROWS) * n as usize));
    let mut of_columns = stream.upload(&vec![f32::NAN; with.n_moments()])?;
    with.run_with_moments(&stream, &with.operands(&stream, &a, &b)?, epilogue, &mut c[1], &mut of_columns)?;
    let what = format!("{size:?} {tile}");
    let line = [n as usize, stride as usize];
    let [without, c] = [values::<C, T>(&stream, &c[0], [line[1]; 2])?, values::<C, T>(&stream, &c[1], [line[1]; 2])?];
    assert_eq!(c, without, "{what}");
    let used: Vec<f64> = c.chunks(line[1]).flat_map(|row| row[..line[0]].iter().copied()).collect();
    expect_moments(&stream.read(&of_columns)?, &used, line[0], &what);
    Ok(())
}

const TILES: [Tile; 4] =
    [Tile::Rows128Columns256, Tile::Rows256Columns128, Tile::Rows128Columns128, Tile::Rows64Columns64];

/// In every tile and format: whole tiles, rows that end in the middle of a warp's, a warp's first row alone, fewer rows than a warp has.
#[test]
fn moments_of_products() {
    for_each_device(|device| {
        for tile in TILES {
            let [rows, columns] = tile.size();
            for [m, n] in [[rows, columns], [rows + 37, columns + 8], [rows + 17, 8], [3, 24]] {
                check::<bf16, bf16>(device, [m, n, 64], tile, 0.0)?;
                check::<bf16, f32>(device, [m, n, 64], tile, 0.0)?;
                check::<f16, f16>(device, [m, n, 64], tile, 0.0)?;
                check::<f16, f32>(device, [m, n, 64], tile, 0.0)?;
            }
        }
        // More tiles than a card has multiprocessors: a block takes several.
        check::<bf16, bf16>(device, [64 * 20, 64 * 8, 64], Tile::Rows64Columns64, 0.0)
    });
}

/// Columns far from 0 beside their distances from each other.
#[test]
fn moments_far_from_zero() {
    for_each_device(|device| {
        check::<bf16, f32>(device, [150, 136, 64], Tile::Rows128Columns128, 300.0)?;
        check::<f16, f32>(device, [300, 8, 64], Tile::Rows256Columns128, -300.0)
    });
}

/// Of images: rows are pixels of all of them. The tile is chosen.
#[test]
fn moments_of_a_convolution() {
    for_each_device(|device| {
        let (stream, mut random) = (device.stream()?, Random(3));
        let mut numbers = |n: usize| stream.upload(&(0..n).map(|_| bf16::of(random.unit() - 0.5)).collect::<Vec<_>>());
        let (images, filters) = (numbers(5 * 5 * 7 * 16)?, numbers(24 * 9 * 16)?);
        let convolution =
            Convolution::<bf16>::builder([5, 5, 7], 16, 24).rectifier(true).moments(true).build(device)?;
        let (mut c, mut of_outputs) = (stream.alloc::<bf16>(175 * 24)?, stream.alloc::<f32>(2 * 3 * 24)?);
        let operands = convolution.operands(&stream, &images, &filters)?;
        convolution.run_with_moments(&stream, &operands, Epilogue::new(), &mut c, &mut of_outputs)?;
        let c = values::<bf16, bf16>(&stream, &c, [24; 2])?;
        assert!(c.iter().any(|&value| value > 0.0) && c.contains(&0.0));
        expect_moments(&stream.read(&of_outputs)?, &c, 24, "a convolution");
        Ok(())
    });
}

#[test]
fn what_moments_do_not_go_with_is_refused() -> Checked {
    let device = Device::simt();
    let stream = device.stream()?;
    let refused = |built: Result<Product<bf16>, Error>, expected: &str| {
        let said = built.expect_err("refused").to_string();
        assert!(said.contains(expected), "{said}");
    };
    let builder = Product::<bf16>::builder(64, 16, 64).moments(true);
    refused(
        builder.b_by_depth(true).b_stride(16).build(&device),
        "option moments: true is not allowed (false where the depth is divided, C has parts or an operand lies by depth)",
    );
    refused(Product::builder(64, 16, 128).moments(true).division(64).build(&device), "option moments: true");
    refused(builder.c_parts(2).build(&device), "option moments: true");
    refused(
        Product::builder(64, 18, 64).b_stride(64).moments(true).build(&device),
        "option n: 18 is not allowed (a multiple of 4 with moments, of 8 for C in 16 bits)",
    );
    refused(builder.c_stride(17).build(&device), "option c_stride: 17 is not allowed (a multiple of 4 with moments");
    refused(
        builder.cluster(2).tile(Tile::Rows64Columns64).build(&device),
        "option cluster: 2 is not allowed (1 for tile 64x64 with moments in bf16 by engine wgmma)",
    );
    refused(
        builder.tile(Tile::Rows128Columns64).build(&device),
        "option tile: 128x64 is not allowed (128x256, 256x128, 128x128, 64x64 with moments in bf16 by engine wgmma)",
    );
    refused(
        builder.engine(warpplay::tile::Engine::Mma).build(&device),
        "option moments: true is not allowed (false for bf16 by engine mma: bf16 and f16 by wgmma)",
    );
    let said = Product::<f32>::builder(64, 16, 64).moments(true).build(&device).expect_err("refused").to_string();
    assert!(said.contains("false for tf32"), "{said}");

    let (a, b) = (stream.alloc::<bf16>(64 * 64)?, stream.alloc::<bf16>(20 * 64)?);
    let (mut c, residual) = (stream.alloc::<bf16>(64 * 20)?, stream.alloc::<bf16>(64 * 20)?);
    let (mut few, mut enough) = (stream.alloc::<f32>(31)?, stream.alloc::<f32>(40)?);
    let with = builder.build(&device)?;
    let operands = with.operands(&stream, &a, &b)?;
    let says = |result: Result<(), Error>, expected: &str| {
        let said = result.expect_err("refused").to_string();
        assert!(said.contains(expected), "{said}");
    };
    says(with.run(&stream, &operands, Epilogue::new(), &mut c), "see `run_with_moments`");
    says(with.run_with_moments(&stream, &operands, Epilogue::new(), &mut c, &mut few), "moments");
    let added = Epilogue::new().residual(&residual);
    says(
        with.run_with_moments(&stream, &operands, added, &mut c, &mut enough),
        "option residual: given is not allowed (none with moments)",
    );
    let masked = Epilogue::new().mask(&residual);
    says(with.run_with_moments(&stream, &operands, masked, &mut c, &mut enough), "option mask");
    let narrow = Product::<bf16>::builder(64, 20, 64).moments(true).build(&device)?;
    let operands = narrow.operands(&stream, &a, &b)?;
    says(
        narrow.run_with_moments(&stream, &operands, Epilogue::new(), &mut c, &mut enough),
        "option n: 20 is not allowed (a multiple of 8 with moments, 16 bytes of C)",
    );
    let without = Product::<bf16>::builder(64, 16, 64).build(&device)?;
    let operands = without.operands(&stream, &a, &b)?;
    says(without.run_with_moments(&stream, &operands, Epilogue::new(), &mut c, &mut enough), "option moments: false");
    Ok(())
}
