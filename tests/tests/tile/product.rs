//! Products of matrices against the plain program: any shape and stride, every format and tile.

use proptest::prelude::*;
use warpplay::tile::{self, Engine, Product, ProductBuilder, Tile, bf16, f16};
use warpplay::{Device, Error};
use warpplay_tests::backends::for_each_device;
use warpplay_tests::strategies::config;

use crate::case::{Case, check, check_formats, lines_of};

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
            // Lines of C that begin at multiples of 16 bytes; the last of them, and the last rows, are parts of a warp's.
            for case in lines_of(tile) {
                check_formats(device, case, Some(tile))?;
            }
        }
        check::<bf16, f32>(device, Case::of(64 * 19, 70, 16), Some(Tile::Rows64Columns64), 0.0)?;
        Ok(())
    });
}

/// Tiles whose depth blocks can share, and how many of them.
const SHARED: [(Tile, u32); 5] = [
    (Tile::Rows64Columns64, 2),
    (Tile::Rows64Columns64, 4),
    (Tile::Rows64Columns64, 16),
    (Tile::Rows128Columns128, 4),
    (Tile::Rows128Columns128, 8),
];

/// Fewer slabs than blocks, and more; several tiles; parts of tiles, and every epilogue.
#[test]
fn blocks_share_the_depth_of_a_tile() {
    for_each_device(|device| {
        for (tile, cluster) in SHARED {
            let [rows, columns] = tile.size();
            for (m, n, k) in [(1, 1, 1), (rows + 1, columns - 1, 65)] {
                let case = Case { cluster: Some(cluster), more: [1, 2, 1], ..Case::of(m, n, k) };
                check_formats(device, case, Some(tile))?;
            }
            // More slabs than a block's ring has slots.
            let case = Case { cluster: Some(cluster), ..Case::of(3, columns + 9, 64 * 10 * cluster) };
            check::<bf16, f32>(device, case, Some(tile), 0.0)?;
            let case = Case { cluster: Some(cluster), more: [0, 0, 4], ..Case::of(2 * rows, columns, 270) };
            check::<f16, f16>(device, Case { mask: true, ..case }, Some(tile), 2f64.powi(-11))?;
            check::<f16, f32>(device, Case { residual: Some(true), ..case }, Some(tile), 0.0)?;
            check::<bf16, bf16>(device, Case { residual: Some(false), ..case }, Some(tile), 2f64.powi(-8))?;
            check::<bf16, bf16>(device, Case { parts: [2, 3], c_parts: 3, ..case }, Some(tile), 2f64.powi(-8))?;
            check::<bf16, f32>(device, case.divided(2), Some(tile), 0.0)?;
        }
        Ok(())
    });
}

/// The tiles that read operands which lie depth by depth, and how many blocks share their depth.
const BY_DEPTH: [(Tile, u32); 6] = [
    (Tile::Rows128Columns256, 1),
    (Tile::Rows128Columns192, 1),
    (Tile::Rows128Columns128, 1),
    (Tile::Rows64Columns64, 1),
    (Tile::Rows64Columns64, 4),
    (Tile::Rows128Columns128, 2),
];

#[test]
fn operands_may_lie_depth_by_depth() {
    for_each_device(|device| {
        for (tile, cluster) in BY_DEPTH {
            let [rows, columns] = tile.size();
            // Of 192 columns there are kernels for both alone.
            let is_read = |by_depth: &[bool; 2]| tile != Tile::Rows128Columns192 || *by_depth == [true; 2];
            for by_depth in [[false, true], [true, false], [true, true]].into_iter().filter(is_read) {
                for (m, n, k) in [(1, 1, 1), (rows, columns, 64), (rows + 1, columns - 1, 65), (3, columns + 9, 300)] {
                    let cluster = Some(cluster);
                    let case = Case { more: [1, 2, 1], by_depth, mask: true, cluster, ..Case::of(m, n, k) };
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
        parts in [1u32..4, 1u32..4], c_parts in 1u32..4, cluster in proptest::option::of(proptest::sample::select(&[1u32, 2, 4, 8, 16])),
        seed in any::<u64>(),
    ) {
        let [bias, rectifier, mask] = epilogue;
        let factor = 0.5;
        let case = Case { m, n, k, more, bias, residual, rectifier, mask, factor, by_depth, parts, c_parts, slabs: None, seed, engine: None, cluster };
        for_each_device(|device| check_formats(device, case, None));
    }
}

/// A value of C is the same sum in the same order in every tile whose depth as many blocks share.
#[test]
fn tiles_have_the_same_bits() {
    for_each_device(|device| {
        let case = Case { rectifier: false, ..Case::of(150, 130, 200) };
        let bits = |tile| check::<f16, f32>(device, case, Some(tile), 0.0);
        let first = bits(Tile::ALL[0])?;
        for &tile in Tile::ALL {
            assert_eq!(bits(tile)?, first, "{tile}");
        }
        for cluster in [2, 4, 8, 16] {
            let case = Case { cluster: Some(cluster), ..case };
            let bits = |tile| check::<f16, f32>(device, case, Some(tile), 0.0);
            assert_eq!(bits(Tile::Rows128Columns128)?, bits(Tile::Rows64Columns64)?, "{cluster}");
        }
        Ok(())
    });
}

/// What becomes of a sum does not depend on how rows of C lie: each form of the epilogue rounds as the others.
#[test]
fn epilogues_have_the_same_bits() {
    for_each_device(|device| {
        for engine in [None, Some(Engine::Mma)] {
            let case = Case { factor: 0.3, engine, ..Case::of(37, 72, 100) };
            let rows = |values: Vec<f64>, more: u32| -> Vec<f64> {
                values.chunks(72 + more as usize).flat_map(|row| row[..72].to_vec()).collect()
            };
            let single = |more| {
                Ok::<_, Error>(rows(check::<bf16, f32>(device, Case { more: [0, 0, more], ..case }, None, 0.0)?, more))
            };
            let short = |more| {
                Ok::<_, Error>(rows(
                    check::<f16, f16>(device, Case { more: [0, 0, more], ..case }, None, 2f64.powi(-11))?,
                    more,
                ))
            };
            let (first_single, first_short) = (single(0)?, short(0)?);
            for more in [8, 4, 1] {
                assert_eq!(single(more)?, first_single, "{engine:?}, {more} more");
                assert_eq!(short(more)?, first_short, "{engine:?}, {more} more");
            }
        }
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
    assert!(error(Product::builder(1, 1, 9).b_stride(8)).contains("from 16 to"));
    assert!(
        error(Product::builder(1, 1, 8).factor(f32::NAN))
            .contains("option factor: NaN is not allowed (a finite number)")
    );
    assert!(error(Product::builder(1, u32::MAX, 8)).contains("option n: 4294967295"));
    assert!(error(Product::builder(1, 4, 8).c_stride(u32::MAX)).contains("option c_stride: 4294967295"));
    let said = error(Product::builder(1 << 24, 1, 1 << 20));
    assert!(said.contains("option a_part_stride") && said.contains("rows or depths times the stride"), "{said}");
    assert!(error(Product::builder(1, 4, 8).c_stride(3)).contains("option c_stride: 3"));
    assert!(error(Product::builder(9, 4, 3).a_by_depth(true).a_stride(8)).contains("from 16 to"));
    assert!(error(Product::builder(1, 4, 8).parts(0, 1)).contains("option a_parts: 0 is not allowed (1 to 3 in bf16)"));
    assert!(error(Product::builder(1, 4, 8).parts(1, 4)).contains("option b_parts: 4"));
    assert!(error(Product::builder(1, 4, 8).c_parts(4)).contains("option c_parts: 4"));
    assert!(
        error(Product::builder(1, 4, 80).division(60)).contains("option division: 60 is not allowed (a multiple of 64")
    );
    assert!(error(Product::builder(1, 4, 80).division(64).rectifier(true)).contains("option rectifier: true"));
    let said = error(Product::builder(1, 8, 80).b_by_depth(true).tile(Tile::Rows128Columns64));
    assert!(
        said.contains("option tile: 128x64 is not allowed (128x256, 128x128, 64x64 for operands that lie depth by depth in bf16 by engine wgmma"),
        "{said}"
    );
    let said = Product::<f32>::builder(8, 8, 8).b_by_depth(true).build(&device).expect_err("refused").to_string();
    assert!(said.contains("option b_by_depth: true is not allowed (false for tf32"), "{said}");
    assert!(error(Product::builder(8, 8, 8).cluster(3)).contains("option cluster: 3 is not allowed (1, 2, 4, 8, 16)"));
    let said = error(Product::builder(8, 8, 8).tile(Tile::Rows128Columns256).cluster(2));
    assert!(said.contains("option cluster: 2 is not allowed (1 for tile 128x256 in bf16 by engine wgmma)"), "{said}");
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
    assert!(said.contains("operands of another product: size: expected m 1, n 2, k 8, got m 2, n 2, k 8"), "{said}");
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
        "option tile: 256x256 is not allowed (128x256, 128x192, 256x128, 128x128, 128x64, 64x64)"
    );
}
