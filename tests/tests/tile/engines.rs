//! The engines for other GPUs than those of capability 9.0, forced: all that [`product`](super::product) tests of the one for them.

use proptest::prelude::*;
use warpplay::tile::{Engine, Product, Tile, bf16, f16};
use warpplay::{Device, Error, Precision};
use warpplay_tests::backends::for_each_device;
use warpplay_tests::strategies::config;

use crate::case::{Case, check, check_formats, lines_of};

const MMA: [Tile; 3] = [Tile::Rows128Columns256, Tile::Rows128Columns128, Tile::Rows64Columns64];

/// Shapes at and around the sizes of tiles and stages, more tiles than a strip has, and more stages than the ring has.
#[test]
fn warps_multiply_as_the_plain_program() {
    for_each_device(|device| {
        for tile in MMA {
            let [rows, columns] = tile.size();
            for (m, n, k) in [(1, 1, 1), (rows, columns, 64), (rows + 1, columns - 1, 65), (3, columns + 9, 300)] {
                check_formats(device, Case { more: [1, 2, 1], ..Case::of(m, n, k).by(Engine::Mma) }, Some(tile))?;
            }
            check_formats(
                device,
                Case { more: [0, 0, 4], ..Case::of(2 * rows, columns, 70).by(Engine::Mma) },
                Some(tile),
            )?;
            for case in lines_of(tile) {
                check_formats(device, case.by(Engine::Mma), Some(tile))?;
            }
            // The last vector of a row has any number of depths.
            for k in 30..36 {
                check::<bf16, f32>(device, Case::of(5, 9, k).by(Engine::Mma), Some(tile), 0.0)?;
            }
        }
        check::<bf16, f32>(device, Case::of(64 * 19, 70, 16).by(Engine::Mma), Some(Tile::Rows64Columns64), 0.0)?;
        Ok(())
    });
}

#[test]
fn warps_read_operands_depth_by_depth() {
    for_each_device(|device| {
        for tile in MMA {
            let [rows, columns] = tile.size();
            for by_depth in [[false, true], [true, false], [true, true]] {
                for (m, n, k) in [(1, 1, 1), (rows, columns, 64), (rows + 1, columns - 1, 65), (3, columns + 9, 200)] {
                    let case = Case { more: [1, 2, 1], by_depth, mask: true, ..Case::of(m, n, k).by(Engine::Mma) };
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
fn warps_multiply_numbers_in_parts() {
    for_each_device(|device| {
        for (parts, c_parts) in [([2, 2], 2), ([3, 3], 3), ([1, 3], 2), ([3, 1], 1), ([2, 1], 3)] {
            for by_depth in [[false, false], [true, true]] {
                let of = Case { parts, c_parts, by_depth, factor: 0.25, ..Case::of(70, 132, 100) };
                let case = of.by(Engine::Mma);
                check::<bf16, f32>(device, case, None, 0.0)?;
                check::<bf16, bf16>(device, case, None, 2f64.powi(-8))?;
                for k in 1..4 {
                    check::<bf16, f32>(device, Case { bias: false, rectifier: false, k, ..case }, None, 0.0)?;
                }
            }
        }
        Ok(())
    });
}

#[test]
fn warps_divide_the_depth() {
    for_each_device(|device| {
        for (k, slabs) in [(300, 2), (128, 1), (65, 1), (64, 3)] {
            for by_depth in [[false, false], [true, true]] {
                let case = Case { by_depth, parts: [2, 1], ..Case::of(70, 72, k) };
                check_formats(device, case.divided(slabs).by(Engine::Mma), None)?;
            }
        }
        Ok(())
    });
}

/// A value of C is the same sum in the same order in every tile.
#[test]
fn tiles_of_an_engine_have_the_same_bits() {
    for_each_device(|device| {
        let case = Case { rectifier: false, ..Case::of(150, 130, 200).by(Engine::Mma) };
        let bits = |tile| check::<f16, f32>(device, case, Some(tile), 0.0);
        assert_eq!(bits(MMA[1])?, bits(MMA[0])?);
        assert_eq!(bits(MMA[2])?, bits(MMA[0])?);
        Ok(())
    });
}

const PLAIN: [Tile; 2] = [Tile::Rows128Columns128, Tile::Rows64Columns64];

/// Products of f32 as they are, of all lies: sums are rounded once for each product, less than what [`check`] allows.
#[test]
fn single_precision_is_multiplied_as_it_is() {
    for_each_device(|device| {
        for tile in PLAIN {
            let [rows, columns] = tile.size();
            for by_depth in [[false, false], [false, true], [true, false], [true, true]] {
                for (m, n, k) in [(1, 1, 1), (rows, columns, 64), (rows + 1, columns - 1, 65), (3, columns + 9, 300)] {
                    let case = Case {
                        more: [1, 2, 1],
                        by_depth,
                        mask: true,
                        factor: 0.25,
                        ..Case::of(m, n, k).by(Engine::Plain)
                    };
                    check::<f32, f32>(device, case, Some(tile), 0.0)?;
                    check::<f32, f32>(device, Case { more: [0, 0, 4], rectifier: false, ..case }, Some(tile), 0.0)?;
                }
                for k in 6..12 {
                    let case = Case { by_depth, ..Case::of(5, 9, k).by(Engine::Plain) };
                    check::<f32, f32>(device, case, Some(tile), 0.0)?;
                }
                let case = Case { by_depth, ..Case::of(70, 72, 300).divided(2).by(Engine::Plain) };
                check::<f32, f32>(device, case, Some(tile), 0.0)?;
            }
        }
        check::<f32, f32>(device, Case::of(64 * 19, 70, 16).by(Engine::Plain), Some(Tile::Rows64Columns64), 0.0)?;
        let case = Case { rectifier: false, ..Case::of(150, 130, 200).by(Engine::Plain) };
        let bits = |tile| check::<f32, f32>(device, case, Some(tile), 0.0);
        assert_eq!(bits(PLAIN[0])?, bits(PLAIN[1])?);
        Ok(())
    });
}

/// The smallest and the largest numbers, and differences in the last place.
#[test]
fn single_precision_keeps_small_and_large_numbers() {
    for_each_device(|device| {
        let stream = device.stream()?;
        let a = stream.upload(&[f32::MAX, 0.0, 0.0, 0.0, f32::MIN_POSITIVE, 1.0, 0.0, 0.0])?;
        let b = stream.upload(&[1.0f32, 0.0, 0.0, 0.0, 1.0 + f32::EPSILON, -f32::MIN_POSITIVE, 0.0, 0.0])?;
        let product =
            Product::<f32>::builder(2, 2, 2).a_stride(4).b_stride(4).precision(Precision::F32).build(device)?;
        assert_eq!((product.engine(), product.precision()), (Engine::Plain, Precision::F32));
        let operands = product.operands(&stream, &a, &b)?;
        let mut c = stream.alloc::<f32>(4)?;
        product.run(&stream, &operands, Default::default(), &mut c)?;
        let c = stream.read(&c)?;
        // `MAX (1 + ε)` is above the largest number; the smallest times `1 + ε` less the smallest is the smallest subnormal.
        assert_eq!(c[..3], [f32::MAX, f32::INFINITY, f32::MIN_POSITIVE]);
        assert_eq!(c[3], f32::from_bits(1));
        Ok(())
    });
}

proptest! {
    #![proptest_config(config("tile_engines", 12))]

    #[test]
    fn any_product_of_warps_is_the_plain_programs(
        m in 1u32..200, n in 1u32..200, k in 1u32..300,
        more in [0u32..3, 0u32..3, 0u32..3], epilogue in any::<[bool; 3]>(), residual in any::<Option<bool>>(), by_depth in any::<[bool; 2]>(),
        parts in [1u32..4, 1u32..4], c_parts in 1u32..4, seed in any::<u64>(),
    ) {
        let [bias, rectifier, mask] = epilogue;
        let (factor, engine) = (0.5, Some(Engine::Mma));
        let case = Case { m, n, k, more, bias, residual, rectifier, mask, factor, by_depth, parts, c_parts, slabs: None, seed, engine, cluster: None };
        for_each_device(|device| {
            check_formats(device, case, None)?;
            let case = Case { parts: [1; 2], ..case.by(Engine::Plain) };
            check::<f32, f32>(device, case, None, 0.0).map(drop)
        });
    }
}

/// What warps and threads copy to shared memory and load from it lies in different banks; the exchange of sums, which all engines have, is not counted here.
#[test]
fn operands_lie_in_different_banks() -> Result<(), Error> {
    let device = Device::simt();
    let count = |case: Case, engine: Engine, tile: Tile| -> Result<(u64, u64), Error> {
        let (result, report) = device.count_bank_conflicts(|| match engine {
            Engine::Plain => check::<f32, f32>(&device, case.by(engine), Some(tile), 0.0),
            _ => check::<bf16, f32>(&device, case.by(engine), Some(tile), 0.0),
        })?;
        result?;
        let own = |file: &str| file.contains("tile/mma/") || file.contains("tile/plain/");
        let counts = || report.counts.iter().filter(|count| own(count.location.file()));
        Ok((counts().map(|count| count.requests).sum(), counts().map(|count| count.conflicts()).sum()))
    };
    for by_depth in [[false, false], [true, false], [false, true], [true, true]] {
        let engines = MMA.map(|tile| (Engine::Mma, tile)).into_iter().chain(PLAIN.map(|tile| (Engine::Plain, tile)));
        for (engine, tile) in engines {
            let [m, n] = tile.size();
            let (requests, conflicts) = count(Case { by_depth, bias: false, ..Case::of(m, n, 128) }, engine, tile)?;
            assert!(requests > 0 && conflicts == 0, "{engine} {tile} {by_depth:?}: {conflicts} in {requests}");
        }
    }
    Ok(())
}

#[test]
fn a_device_has_its_engines() -> Result<(), Error> {
    let simt = Device::simt();
    assert_eq!(Product::<bf16>::builder(8, 8, 8).build(&simt)?.engine(), Engine::Wgmma);
    let ampere = simt.with_capability(8, 0)?;
    let product = Product::<bf16>::builder(8, 8, 8).build(&ampere)?;
    assert_eq!(product.engine(), Engine::Mma);
    let error = Product::<f16>::builder(8, 8, 8).engine(Engine::Wgmma).build(&ampere).expect_err("refused").to_string();
    assert!(error.contains("option engine: wgmma is not allowed (mma in f16 on "), "{error}");
    assert!(error.contains(" of capability 8.0)"), "{error}");
    let error = Product::<bf16>::builder(8, 8, 8).engine(Engine::Mma).tile(Tile::Rows128Columns64).build(&simt);
    let error = error.expect_err("refused").to_string();
    assert!(
        error.contains("option tile: 128x64 is not allowed (128x256, 128x128, 64x64 in bf16 by engine mma)"),
        "{error}"
    );
    let error = Product::<bf16>::builder(8, 8, 8).build(&simt.with_capability(7, 5)?).expect_err("refused").to_string();
    assert!(error.contains("a product in bf16") && error.contains("8.0 or newer"), "{error}");
    let error =
        Product::<bf16>::builder(8, 8, 8).precision(Precision::F16).build(&simt).expect_err("refused").to_string();
    assert!(error.contains("option precision: f16 is not allowed (bf16)"), "{error}");
    // Single precision is read as TF32 where there is that.
    let single = Product::<f32>::builder(8, 8, 8);
    assert_eq!(single.build(&simt)?.precision(), Precision::Tf32);
    assert_eq!(single.engine(Engine::Plain).build(&simt)?.precision(), Precision::F32);
    let turing = simt.with_capability(7, 5)?;
    assert_eq!(single.build(&turing)?.precision(), Precision::F32);
    let error = single.precision(Precision::Tf32).build(&turing).expect_err("refused").to_string();
    assert!(error.contains("a product in tf32"), "{error}");
    let error = single.precision(Precision::F32).engine(Engine::Mma).build(&simt).expect_err("refused").to_string();
    assert!(error.contains("option engine: mma is not allowed (plain in f32 on "), "{error}");
    let error = single.engine(Engine::Plain).parts(2, 1).build(&simt).expect_err("refused").to_string();
    assert!(error.contains("option a_parts: 2 is not allowed (1 to 1 in f32)"), "{error}");
    // Operands belong to an engine.
    let stream = simt.stream()?;
    let [a, b] = [stream.alloc::<bf16>(64)?, stream.alloc::<bf16>(64)?];
    let mut c = stream.alloc::<f32>(64)?;
    let by_warps = Product::<bf16>::builder(8, 8, 8).engine(Engine::Mma).tile(Tile::Rows64Columns64).build(&simt)?;
    let by_groups = Product::<bf16>::builder(8, 8, 8).tile(Tile::Rows64Columns64).build(&simt)?;
    let operands = by_warps.operands(&stream, &a, &b)?;
    by_warps.run(&stream, &operands, Default::default(), &mut c)?;
    let error = by_groups.run(&stream, &operands, Default::default(), &mut c).expect_err("refused").to_string();
    assert!(error.contains("operands of another product: engine: expected wgmma, got mma"), "{error}");
    Ok(())
}
