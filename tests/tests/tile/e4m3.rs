//! Numbers of 8 bits: their products by the engine that has them, and what others refuse.

use proptest::prelude::*;
use warpplay::tile::{Convolution, Engine, Epilogue, F8E4M3, FilterGradient, Product, Tile, bf16};
use warpplay::{Device, Precision};
use warpplay_tests::Checked;
use warpplay_tests::backends::for_each_device;
use warpplay_tests::random::Random;
use warpplay_tests::strategies::config;
use warpplay_tests::tolerance::same;

use crate::case::{Case, check, lines_of};

const TILES: [Tile; 3] = [Tile::Rows256Columns128, Tile::Rows128Columns128, Tile::Rows64Columns64];

/// C in both formats that it may have.
fn check_both(device: &Device, case: Case, tile: Option<Tile>) -> Checked {
    check::<F8E4M3, f32>(device, case, tile, 0.0)?;
    check::<F8E4M3, bf16>(device, case, tile, 2f64.powi(-8))?;
    Ok(())
}

/// Whether the device multiplies numbers of 8 bits.
fn has_e4m3(device: &Device) -> Result<bool, warpplay::Error> {
    Ok(device.info()?.compute_capability.is_none_or(|own| own == (9, 0)))
}

/// Shapes at and around the sizes of tiles and slabs, more slabs than the ring has slots, and every epilogue.
#[test]
fn every_tile_multiplies_as_the_plain_program() {
    for_each_device(|device| {
        if !has_e4m3(device)? {
            return Ok(());
        }
        for tile in TILES {
            let [rows, columns] = tile.size();
            for (m, n, k) in [(1, 1, 1), (rows, columns, 128), (rows + 1, columns - 1, 129), (3, columns + 9, 1300)] {
                check_both(device, Case { more: [1, 2, 1], mask: true, ..Case::of(m, n, k) }, Some(tile))?;
            }
            for case in lines_of(tile) {
                check_both(device, case, Some(tile))?;
            }
        }
        Ok(())
    });
}

/// Whole numbers from -2 to 2: a slab's sum is at most 512, so nothing of it is cut off.
#[test]
fn whole_numbers_are_multiplied_exactly() {
    for_each_device(|device| {
        if !has_e4m3(device)? {
            return Ok(());
        }
        let (m, n, k) = (130, 70, 400);
        let mut random = Random(7);
        let mut numbers = |len: usize| -> Vec<i32> { (0..len).map(|_| (5.0 * random.unit()) as i32 - 2).collect() };
        let (a, b) = (numbers(m * k), numbers(n * k));
        let of = |numbers: &[i32]| -> Vec<F8E4M3> { numbers.iter().map(|&v| F8E4M3::from_f32(v as f32)).collect() };
        let stream = device.stream()?;
        let (on_a, on_b) = (stream.upload(&of(&a))?, stream.upload(&of(&b))?);
        let mut expected = Vec::new();
        for row in a.chunks(k) {
            expected.extend(b.chunks(k).map(|column| row.iter().zip(column).map(|(a, b)| a * b).sum::<i32>() as f32));
        }
        for tile in TILES {
            let product = Product::<F8E4M3>::builder(m as u32, n as u32, k as u32).tile(tile).build(device)?;
            assert_eq!((product.engine(), product.precision()), (Engine::Wgmma, Precision::E4m3));
            let operands = product.operands(&stream, &on_a, &on_b)?;
            let mut c = stream.alloc::<f32>(m * n)?;
            product.run(&stream, &operands, Epilogue::new(), &mut c)?;
            same(&format!("{tile}"), &stream.read(&c)?, &expected);
        }
        Ok(())
    });
}

/// Slabs whose sums have 13 bits, and a whole sum of 17, of which a tensor core alone would cut the last off.
#[test]
fn slabs_are_added_up_in_single_precision() {
    for_each_device(|device| {
        if !has_e4m3(device)? {
            return Ok(());
        }
        let k = 1280;
        let mut numbers = vec![F8E4M3::from_f32(8.0); k];
        numbers[k - 1] = F8E4M3::from_f32(1.0);
        let stream = device.stream()?;
        let numbers = stream.upload(&numbers)?;
        for tile in TILES {
            let product = Product::<F8E4M3>::builder(1, 1, k as u32).tile(tile).build(device)?;
            let operands = product.operands(&stream, &numbers, &numbers)?;
            let mut c = stream.alloc::<f32>(1)?;
            product.run(&stream, &operands, Epilogue::new(), &mut c)?;
            assert_eq!(stream.read(&c)?, [64.0 * 1279.0 + 1.0], "{tile} on {device}");
        }
        // In divisions of whole slabs.
        let product = Product::<F8E4M3>::builder(1, 1, k as u32).division(768).build(device)?;
        let operands = product.operands(&stream, &numbers, &numbers)?;
        let mut c = stream.alloc::<f32>(2)?;
        product.run(&stream, &operands, Epilogue::new(), &mut c)?;
        assert_eq!(stream.read(&c)?, [64.0 * 768.0, 64.0 * 511.0 + 1.0], "{device}");
        Ok(())
    });
}

proptest! {
    #![proptest_config(config("tile_e4m3", 8))]

    #[test]
    fn any_product_is_the_plain_programs(
        m in 1u32..300, n in 1u32..200, k in 1u32..600, more in [0u32..3, 0u32..3, 0u32..3], epilogue in any::<[bool; 3]>(),
        residual in any::<Option<bool>>(), c_parts in 1u32..4, seed in any::<u64>(),
    ) {
        let [bias, rectifier, mask] = epilogue;
        let case = Case { more, bias, residual, rectifier, mask, factor: 0.5, c_parts, seed, ..Case::of(m, n, k) };
        for_each_device(|device| if has_e4m3(device)? { check_both(device, case, None) } else { Ok(()) });
    }
}

#[test]
fn what_cannot_be_multiplied_is_refused() {
    let device = Device::simt();
    let builder = Product::<F8E4M3>::builder(64, 64, 128);
    let error =
        |builder: warpplay::tile::ProductBuilder<F8E4M3>| builder.build(&device).expect_err("refused").to_string();
    let said = error(builder.b_by_depth(true));
    assert!(said.contains("option b_by_depth: true is not allowed (false for e4m3"), "{said}");
    let said = error(builder.a_stride(136));
    assert!(said.contains("option a_stride: 136 is not allowed (a multiple of 16 values"), "{said}");
    let said = error(builder.division(64));
    assert!(said.contains("option division: 64 is not allowed (a multiple of 128"), "{said}");
    let said = FilterGradient::<F8E4M3>::builder([1, 8, 8], 16, 16).build(&device).expect_err("refused").to_string();
    assert!(said.contains("option precision: e4m3 is not allowed (bf16 or f16"), "{said}");
    let older = device.with_capability(8, 9).expect("a device");
    let said = Convolution::<F8E4M3>::builder([1, 8, 8], 16, 16).build(&older).expect_err("refused").to_string();
    assert!(said.contains("a convolution in e4m3") && said.contains("capability 9.0"), "{said}");
    let said = error(builder.parts(2, 1));
    assert!(said.contains("option a_parts: 2 is not allowed (1 to 1 in e4m3)"), "{said}");
    let said = error(builder.tile(Tile::Rows128Columns256));
    assert!(
        said.contains("option tile: 128x256 is not allowed (256x128, 128x128, 64x64 in e4m3 by engine wgmma)"),
        "{said}"
    );
    let said = error(builder.cluster(2));
    assert!(said.contains("option cluster: 2 is not allowed") && said.contains("in e4m3"), "{said}");
    let said = error(builder.engine(Engine::Mma));
    assert!(said.contains("option engine: mma is not allowed (wgmma in e4m3"), "{said}");
}

/// What 8 bits hold by their definition: a sign, four bits of exponent from 2⁻⁶ on, three of fraction; numbers below 2⁻⁶ are multiples of 2⁻⁹, and all ones is no number.
#[test]
fn numbers_are_those_of_their_bits() {
    for bits in 0..=u8::MAX {
        let (exponent, fraction) = (i32::from(bits >> 3 & 15), f64::from(bits & 7));
        let size = if exponent == 0 { fraction * 2f64.powi(-9) } else { (8.0 + fraction) * 2f64.powi(exponent - 10) };
        let number = F8E4M3::from_bits(bits).to_f64();
        if bits & 0x7F == 0x7F {
            assert!(number.is_nan(), "{bits}");
        } else {
            assert_eq!(number, if bits < 0x80 { size } else { -size }, "{bits}");
            assert_eq!(F8E4M3::from_f32(number as f32).to_bits(), bits);
        }
    }
    assert_eq!(F8E4M3::from_f32(1e4).to_f64(), 448.0);
    assert_eq!((F8E4M3::MAX.to_f64(), F8E4M3::INFINITY.to_f64()), (416.0, 448.0));
}
