//! Rows of A that are gathered, and A of bytes.

use warpplay::tile::{Engine, Epilogue, F8E4M3, Operand, Product, ProductBuilder, Tile, bf16, f16};
use warpplay::{Device, Error, Precision};
use warpplay_cpu_ref::tile::{self, Rows, gathered};
use warpplay_tests::Checked;
use warpplay_tests::backends::for_each_device;
use warpplay_tests::random::Random;

use crate::numbers::Number;

const TILES: [Tile; 2] = [Tile::Rows128Columns128, Tile::Rows64Columns64];

/// Rows of A.
const LINES: u32 = 90;

/// `m` rows of A and, now and then, one that it does not have.
fn rows(random: &mut Random, m: u32) -> Vec<u32> {
    let beyond = |at: u32, row: u32| if at % 13 == 5 { if row < 9 { u32::MAX } else { LINES } } else { row };
    (0..m).map(|at| beyond(at, (random.unit() * LINES as f32) as u32 % LINES)).collect()
}

fn builder<T: Operand>(size: [u32; 3], by: (Engine, Precision), tile: Tile) -> ProductBuilder<T> {
    Product::builder(size[0], size[1], size[2]).engine(by.0).precision(by.1).tile(tile).rectifier(true)
}

/// A product of gathered rows has the bits of one whose rows are copied together.
fn check<T: Number>(device: &Device, by: (Engine, Precision), tile: Tile, parts: u32) -> Result<(), Error> {
    let ([m, n, k], stream, mut random) = ([tile.size()[0] + 21, 72, 70], device.stream()?, Random(5));
    // In steps of 16 bytes.
    let stride = k.next_multiple_of(8) + 8;
    let rows = rows(&mut random, m);
    let mut numbers = |len: u32| -> Vec<T> { (0..len).map(|_| T::of(random.unit() - 0.5)).collect() };
    let (a, b) = (numbers(parts * LINES * stride), numbers(n * stride));
    let line = stride as usize;
    let copied: Vec<T> = a
        .chunks(LINES as usize * line)
        .flat_map(|part| rows.iter().map(move |&row| part.chunks(line).nth(row as usize)))
        .flat_map(|row| row.map_or(vec![T::of(0.0); line], <[T]>::to_vec))
        .collect();
    let (on_a, on_copied, on_b) = (stream.upload(&a)?, stream.upload(&copied)?, stream.upload(&b)?);
    let on_rows = stream.upload(&rows)?;
    let mut c = [stream.alloc::<f32>((m * n) as usize)?, stream.alloc((m * n) as usize)?];
    let builder = builder::<T>([m, n, k], by, tile).a_stride(stride).b_stride(stride).parts(parts, 1);
    let plain = builder.build(device)?;
    plain.run(&stream, &plain.operands(&stream, &on_copied, &on_b)?, Epilogue::new(), &mut c[0])?;
    let product = builder.gathered(LINES).build(device)?;
    let operands = product.gathered_operands(&stream, &on_a, &on_rows, &on_b)?;
    product.run(&stream, &operands, Epilogue::new(), &mut c[1])?;
    let [expected, got] = [stream.read(&c[0])?, stream.read(&c[1])?];
    assert!(expected.iter().any(|&value| value > 0.0));
    assert_eq!(got, expected, "{by:?} {tile}");
    Ok(())
}

#[test]
fn gathered_rows_have_the_bits_of_copied_ones() {
    for_each_device(|device| {
        for tile in TILES {
            check::<bf16>(device, (Engine::Mma, Precision::Bf16), tile, 1)?;
            check::<bf16>(device, (Engine::Mma, Precision::Bf16), tile, 2)?;
            check::<f16>(device, (Engine::Mma, Precision::F16), tile, 1)?;
            check::<f32>(device, (Engine::Mma, Precision::Tf32), tile, 1)?;
            check::<f32>(device, (Engine::Plain, Precision::F32), tile, 1)?;
        }
        Ok(())
    });
}

/// The same with bias, residual, mask and a C in 16 bits, and with a divided depth.
#[test]
fn gathered_rows_go_with_every_epilogue() {
    for_each_device(|device| {
        let (stream, [n, k]) = (device.stream()?, [72, 136]);
        for tile in TILES {
            let (m, mut random) = (tile.size()[0] + 5, Random(2));
            let rows = rows(&mut random, m);
            let mut numbers = |len: u32| -> Vec<bf16> { (0..len).map(|_| bf16::of(random.unit() - 0.5)).collect() };
            let (a, b, added, mask) = (numbers(LINES * k), numbers(n * k), numbers(m * n), numbers(m * n));
            let line = k as usize;
            let copied = rows.iter().map(|&row| a.chunks(line).nth(row as usize));
            let copied: Vec<bf16> =
                copied.flat_map(|row| row.map_or(vec![bf16::of(0.0); line], <[_]>::to_vec)).collect();
            let (on_a, on_copied, on_b) = (stream.upload(&a)?, stream.upload(&copied)?, stream.upload(&b)?);
            let (on_rows, bias) = (stream.upload(&rows)?, stream.upload(&vec![0.25; n as usize])?);
            let (added, mask) = (stream.upload(&added)?, stream.upload(&mask)?);
            let builder = Product::<bf16>::builder(m, n, k).engine(Engine::Mma).tile(tile).factor(0.5);

            let whole = builder.rectifier(true).mask_stride(n);
            let epilogue = Epilogue::new().bias(&bias).residual(&added).mask(&mask);
            let (plain, product) = (whole.build(device)?, whole.gathered(LINES).build(device)?);
            let mut c = [stream.alloc::<bf16>((m * n) as usize)?, stream.alloc((m * n) as usize)?];
            plain.run(&stream, &plain.operands(&stream, &on_copied, &on_b)?, epilogue, &mut c[0])?;
            let operands = product.gathered_operands(&stream, &on_a, &on_rows, &on_b)?;
            product.run(&stream, &operands, epilogue, &mut c[1])?;
            let [expected, got] = [stream.read(&c[0])?, stream.read(&c[1])?];
            let zero = bf16::of(0.0);
            assert!(expected.contains(&zero) && expected.iter().any(|&value| value > zero));
            assert_eq!(got, expected, "{tile}");

            let divided = builder.division(64);
            let (plain, product) = (divided.build(device)?, divided.gathered(LINES).build(device)?);
            let mut c = [stream.alloc::<f32>((3 * m * n) as usize)?, stream.alloc((3 * m * n) as usize)?];
            plain.run(&stream, &plain.operands(&stream, &on_copied, &on_b)?, Epilogue::new(), &mut c[0])?;
            let operands = product.gathered_operands(&stream, &on_a, &on_rows, &on_b)?;
            product.run(&stream, &operands, Epilogue::new(), &mut c[1])?;
            let [expected, got] = [stream.read(&c[0])?, stream.read(&c[1])?];
            assert!(expected[2 * (m * n) as usize..].iter().any(|&value| value != 0.0), "the last division");
            assert_eq!(got, expected, "{tile}, divided");
        }
        Ok(())
    });
}

/// Bytes times small whole numbers: all sums are whole numbers below 2²⁴, so C is exact.
fn check_bytes<T: Number>(device: &Device, by: (Engine, Precision), tile: Tile, gathers: bool) -> Result<(), Error> {
    let ([m, n, k], stream, mut random) = ([tile.size()[0] + 3, 72, 77], device.stream()?, Random(9));
    let rows = rows(&mut random, m);
    let (lines, stride) = (if gathers { LINES } else { m }, 96);
    let a: Vec<u8> = (0..lines * stride).map(|_| (random.unit() * 256.0) as u8).collect();
    let b: Vec<T> = (0..n * 80).map(|_| T::of((random.unit() * 9.0).floor() - 4.0)).collect();
    let (on_a, on_b, on_rows) = (stream.upload(&a)?, stream.upload(&b)?, stream.upload(&rows)?);
    let mut c = stream.alloc::<f32>((m * n) as usize)?;
    let builder = builder::<T>([m, n, k], by, tile).a_stride(stride).b_stride(80).bytes(true);
    let builder = if gathers { builder.gathered(LINES) } else { builder };
    let product = builder.build(device)?;
    let operands = product.byte_operands(&stream, &on_a, gathers.then_some(&on_rows), &on_b)?;
    product.run(&stream, &operands, Epilogue::new(), &mut c)?;
    let used: Vec<f64> =
        a.chunks(stride as usize).flat_map(|line| line[..k as usize].iter().map(|&v| v.into())).collect();
    let used = if gathers { gathered(&used, k as usize, &rows) } else { used };
    let b: Vec<f64> = b.iter().map(|value| value.exact()).collect();
    let a = Rows { values: &used, rows: m as usize, columns: k as usize, stride: k as usize };
    let b = Rows { values: &b, rows: n as usize, columns: k as usize, stride: 80 };
    let expected = tile::product(a, b, tile::Epilogue { rectifies: true, ..tile::Epilogue::NONE });
    let got: Vec<f64> = stream.read(&c)?.into_iter().map(f64::from).collect();
    assert!(expected.iter().any(|&value| value > 0.0));
    assert_eq!(got, expected, "{by:?} {tile} {gathers}");
    Ok(())
}

#[test]
fn bytes_are_numbers() {
    for_each_device(|device| {
        for tile in TILES {
            for gathers in [false, true] {
                check_bytes::<bf16>(device, (Engine::Mma, Precision::Bf16), tile, gathers)?;
                check_bytes::<f16>(device, (Engine::Mma, Precision::F16), tile, gathers)?;
                check_bytes::<f32>(device, (Engine::Mma, Precision::Tf32), tile, gathers)?;
                check_bytes::<f32>(device, (Engine::Plain, Precision::F32), tile, gathers)?;
            }
        }
        Ok(())
    });
}

#[test]
fn what_gathered_rows_do_not_go_with_is_refused() -> Checked {
    let device = Device::simt();
    let stream = device.stream()?;
    let builder = Product::<bf16>::builder(64, 16, 64);
    let refused = |builder: ProductBuilder<bf16>, expected: &str| {
        let said = builder.build(&device).expect_err("refused").to_string();
        assert!(said.contains(expected), "{said}");
    };
    refused(builder.gathered(9).engine(Engine::Wgmma), "option engine: wgmma is not allowed (mma with gathered)");
    refused(builder.gathered(0), "option a_rows: 0 is not allowed (1 to ");
    refused(
        builder.gathered(9).b_by_depth(true),
        "option gathered: true is not allowed (false where an operand lies by depth)",
    );
    refused(builder.bytes(true).parts(2, 1), "option a_parts: 2 is not allowed (1 where A is of bytes)");
    refused(
        builder.bytes(true).a_stride(72),
        "option a_stride: 72 is not allowed (a multiple of 16 values, which are 16 bytes, from 64 to ",
    );
    refused(builder.bytes(true).tile(Tile::Rows128Columns256), "(128x128, 64x64 with bytes in bf16 by engine mma)");
    refused(builder.gathered(9).moments(true), "option moments: true");

    let said = Product::<F8E4M3>::builder(64, 16, 64).bytes(true).build(&device).expect_err("refused").to_string();
    assert!(said.contains("option bytes: true is not allowed (false for e4m3: bf16, f16, tf32 and f32)"), "{said}");

    let product = builder.gathered(100).build(&device)?;
    assert_eq!(product.engine(), Engine::Mma);
    let (a, b) = (stream.alloc::<bf16>(100 * 64)?, stream.alloc::<bf16>(16 * 64)?);
    let (bytes, rows, few) = (stream.alloc::<u8>(100 * 64)?, stream.alloc::<u32>(64)?, stream.alloc::<u32>(63)?);
    let says = |result: Result<warpplay::tile::Operands<bf16>, Error>, expected: &str| {
        let said = result.err().expect("refused").to_string();
        assert!(said.contains(expected), "{said}");
    };
    says(product.operands(&stream, &a, &b), "`gathered_operands`");
    says(product.byte_operands(&stream, &bytes, &rows, &b), "of numbers");
    says(product.gathered_operands(&stream, &a, &few, &b), "rows");
    says(product.gathered_operands(&stream, &stream.alloc::<bf16>(99 * 64)?, &rows, &b), "a");
    let of_bytes = builder.bytes(true).build(&device)?;
    says(of_bytes.operands(&stream, &a, &b), "`byte_operands`");
    says(of_bytes.byte_operands(&stream, &bytes, &rows, &b), "built without");
    says(
        builder.bytes(true).gathered(9).build(&device)?.byte_operands(&stream, &bytes, None, &b),
        "the product gathers",
    );
    says(builder.build(&device)?.gathered_operands(&stream, &a, &rows, &b), "rows as they lie");

    let mut c = stream.alloc::<f32>(64 * 16)?;
    let of_another = builder.gathered(90).build(&device)?.gathered_operands(&stream, &a, &rows, &b)?;
    let said = product.run(&stream, &of_another, Epilogue::new(), &mut c).expect_err("refused").to_string();
    assert!(said.contains("operands of another product"), "{said}");
    Ok(())
}
