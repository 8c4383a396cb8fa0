//! Products by which an optimiser updates C, against the plain program.

use warpplay::tile::{Engine, Operand, Optimizer, Product, Tile, Update, bf16, f16};
use warpplay::{Device, Error, Precision};
use warpplay_cpu_ref::mlp::Optimizer as Plain;
use warpplay_tests::Checked;
use warpplay_tests::backends::for_each_device;
use warpplay_tests::random::Random;
use warpplay_tests::skipped::skipped;

use crate::numbers::Number;

const RATE: f64 = 0.01;
const DECAY: f64 = 0.3;
/// Half a unit in the last place of 1.
const U: f64 = 1.0 / (1 << 24) as f64;
/// What lies behind the columns of C.
const UNTOUCHED: f32 = -77.0;

/// The same optimiser for the plain program, with the constants as the device has them.
fn plain_of(optimizer: Optimizer) -> Plain {
    match optimizer {
        Optimizer::Sgd => Plain::Sgd,
        Optimizer::Momentum { momentum } => Plain::Momentum { momentum: momentum.into() },
        Optimizer::Nesterov { momentum } => Plain::Nesterov { momentum: momentum.into() },
        Optimizer::Adam { beta1, beta2, epsilon } => {
            Plain::Adam { beta1: beta1.into(), beta2: beta2.into(), epsilon: epsilon.into() }
        }
        Optimizer::AdamW { beta1, beta2, epsilon } => {
            Plain::AdamW { beta1: beta1.into(), beta2: beta2.into(), epsilon: epsilon.into() }
        }
        Optimizer::RmsProp { alpha, epsilon } => Plain::RmsProp { alpha: alpha.into(), epsilon: epsilon.into() },
    }
}

/// What one update of a weight may be off by, and its moments, where each operation in single precision rounds by half a unit in the last place: `U` of its result. `before` and `after`: weight and moments.
///
/// With `G = |g| + decay |w|` the gradient is off by `3 U G`, of which one is for the decay, and what sums of it are put together of by `U` more for each operation and constant, of the sum of the sizes of their terms. A root is off by less than what its square is off by, divided by the root; a quotient by its parts' shares together, of which 1.01 allows for products of them.
fn bounds(optimizer: Optimizer, number: u64, gradient: f64, before: [f64; 3], after: [f64; 3]) -> [f64; 3] {
    let decoupled = matches!(optimizer, Optimizer::AdamW { .. });
    let size = gradient.abs() + if decoupled { 0.0 } else { DECAY * before[0].abs() };
    let weight = U * after[0].abs() + if decoupled { 3.0 * U * before[0].abs() } else { 0.0 };
    // A mean square, and a root of it that is divided by `by` before epsilon is added.
    let square = |share: f64, at: usize| 10.0 * U * (share * before[at] + (1.0 - share) * size * size);
    let root_share = |at: usize, off: f64, by: f64, epsilon: f64| {
        let root = after[at].sqrt();
        ((off / root + 5.0 * U * root) / by) / (root / by + epsilon) + 2.0 * U
    };
    match optimizer {
        Optimizer::Sgd => [weight + 6.0 * U * RATE * size, 0.0, 0.0],
        Optimizer::Momentum { momentum } => {
            let sum = f64::from(momentum) * before[1].abs() + size;
            [weight + 8.0 * U * RATE * sum, 5.0 * U * sum, 0.0]
        }
        Optimizer::Nesterov { momentum } => {
            let sum = f64::from(momentum) * before[1].abs() + size;
            [weight + 10.0 * U * RATE * (size + f64::from(momentum) * sum), 5.0 * U * sum, 0.0]
        }
        Optimizer::Adam { beta1, beta2, epsilon } | Optimizer::AdamW { beta1, beta2, epsilon } => {
            let [a, b, epsilon] = [beta1, beta2, epsilon].map(f64::from);
            let t = number as f64;
            let (step, by) = (RATE / (1.0 - a.powf(t)), (1.0 - b.powf(t)).sqrt());
            let sum = a * before[1].abs() + (1.0 - a) * size;
            let off = square(b, 2);
            let divisor = after[2].sqrt() / by + epsilon;
            let change = step * after[1].abs() / divisor;
            let shares = root_share(2, off, by, epsilon) + 4.0 * U;
            [weight + 6.0 * U * step * sum / divisor + 1.01 * change * shares, 6.0 * U * sum, off]
        }
        Optimizer::RmsProp { alpha, epsilon } => {
            let off = square(alpha.into(), 1);
            let divisor = after[1].sqrt() + f64::from(epsilon);
            let shares = root_share(1, off, 1.0, epsilon.into()) + 4.0 * U;
            [weight + 4.0 * U * RATE * size / divisor + 1.01 * RATE * size / divisor * shares, off, 0.0]
        }
    }
}

/// Sizes of such a product, and how its operands lie.
#[derive(Clone, Copy, Debug)]
struct Case {
    size: [u32; 3],
    by_depth: bool,
    parts: u32,
    /// Values behind the columns of C.
    more: u32,
    tile: Tile,
    engine: Engine,
    precision: Precision,
    number: u64,
}

/// A product that updates, compared with the plain update by the gradient that the same product makes without one, whose bits are those of its sums.
fn check<T: Number + Operand<Short: Number>>(device: &Device, case: Case, optimizer: Optimizer) -> Result<(), Error> {
    let Case { size: [m, n, k], by_depth, parts, more, tile, engine, precision, number } = case;
    let (stream, mut random) = (device.stream()?, Random(u64::from(m + 3 * n + 5 * k)));
    let step = 16 / size_of::<T>() as u32;
    let stride_of = |size: u32| (if by_depth { size } else { k }).next_multiple_of(step);
    let mut operand = |size: u32| {
        let len = parts * stride_of(size) * if by_depth { k } else { size };
        stream.upload(&(0..len).map(|_| T::of(random.unit() - 0.5)).collect::<Vec<_>>())
    };
    let (a, b) = (operand(m)?, operand(n)?);
    let c_stride = n.next_multiple_of(4) + more;
    let builder = Product::<T>::builder(m, n, k).a_by_depth(by_depth).b_by_depth(by_depth).parts(parts, parts);
    let builder = builder.a_stride(stride_of(m)).b_stride(stride_of(n)).c_stride(c_stride).factor(1.0 / 255.0);
    let builder = builder.engine(engine).tile(tile).precision(precision);
    let len = (m * c_stride) as usize;
    let mut gradients = stream.alloc::<f32>(len)?;
    let alone = builder.build(device)?;
    alone.run(&stream, &alone.operands(&stream, &a, &b)?, Default::default(), &mut gradients)?;
    let gradients = stream.read(&gradients)?;

    let is_there = |at: usize| at % (c_stride as usize) < n as usize;
    // Mean squares are above 0.
    let mut values = |from: f32| -> Vec<f32> {
        (0..len).map(|at| if is_there(at) { random.unit() + from } else { UNTOUCHED }).collect()
    };
    let n_moments = optimizer.n_moments();
    let before =
        [values(-0.5), values(if matches!(optimizer, Optimizer::RmsProp { .. }) { 0.25 } else { -0.5 }), values(0.25)];
    let mut parameters = stream.upload(&before[0])?;
    let mut moments: Vec<_> =
        before[1..=n_moments].iter().map(|moment| stream.upload(moment)).collect::<Result<_, _>>()?;
    let (copy_stride, is_short) = (n + 3, size_of::<T::Short>() == 2);
    let copy_len = (parts * m * copy_stride) as usize;
    let mut copy = stream.upload(&vec![T::Short::of(UNTOUCHED); copy_len])?;
    // Others as well, which are not taken.
    let [right, other, another] = [optimizer.rate(RATE, number), optimizer.rate(9.0, 1), optimizer.rate(5.0, 2)];
    let (rates, which) = match number {
        1 => ([right, other, another], None),
        2 => ([other, right, another], Some(1)),
        3 => ([right, other, another], Some(0)),
        _ => ([other, another, right], Some(7)),
    };
    let (rates, which) = (stream.upload(&rates)?, which.map(|which: u32| stream.upload(&[which])).transpose()?);
    let update = Update::new(optimizer, &rates, &mut moments).weight_decay(DECAY as f32);
    let update = match &which {
        Some(which) => update.step(which),
        None => update,
    };
    let update = if is_short { update.copy(&mut copy) } else { update };
    let with = builder.update(true).c_parts(parts).copy_stride(copy_stride).build(device)?;
    assert_eq!((with.tile(), with.engine(), with.cluster()), (tile, engine, 1));
    with.run_update(&stream, &with.operands(&stream, &a, &b)?, &mut parameters, update)?;

    let plain = plain_of(optimizer).update::<f64>(RATE, DECAY, number);
    let (parameters, copy) = (stream.read(&parameters)?, stream.read(&copy)?);
    let moments: Vec<Vec<f32>> = moments.iter().map(|moment| stream.read(moment)).collect::<Result<_, _>>()?;
    for at in 0..len {
        let got: Vec<f32> = std::iter::once(parameters[at]).chain(moments.iter().map(|moment| moment[at])).collect();
        if !is_there(at) {
            assert!(got.iter().all(|&value| value == UNTOUCHED), "{case:?} {optimizer:?}, between rows: {got:?}");
            continue;
        }
        let (gradient, old) = (f64::from(gradients[at]), [0, 1, 2].map(|of: usize| f64::from(before[of][at])));
        let mut new = old;
        let (weight, rest) = new.split_at_mut(1);
        let mut rest: Vec<&mut [f64]> = rest[..n_moments].chunks_mut(1).collect();
        plain.apply(weight, &[gradient], &mut rest);
        let most = bounds(optimizer, number, gradient, old, new);
        for (which, &got) in got.iter().enumerate() {
            let off = (f64::from(got) - new[which]).abs();
            assert!(
                off <= most[which],
                "{case:?} {optimizer:?}, value {at}, array {which}: {got}, expected {}, off by {off}, at most {}",
                new[which],
                most[which]
            );
        }
    }
    // Each part is what those before it leave, rounded.
    for row in 0..m as usize {
        for column in 0..copy_stride as usize {
            let mut left = if column < n as usize { parameters[row * c_stride as usize + column] } else { UNTOUCHED };
            for part in 0..parts as usize {
                let got = copy[(part * m as usize + row) * copy_stride as usize + column].exact();
                let expected =
                    if is_short && column < n as usize { T::Short::of(left).exact() } else { f64::from(UNTOUCHED) };
                assert_eq!(got, expected, "{case:?} {optimizer:?}, copy, part {part}, row {row}, column {column}");
                left -= expected as f32;
            }
        }
    }
    Ok(())
}

/// Kernels: engine, tiles, and the formats and orders of operands that each has.
fn for_each_kernel(device: &Device, run: impl Fn(Case) -> Result<(), Error>) -> Checked {
    const SQUARES: [Tile; 2] = [Tile::Rows128Columns128, Tile::Rows64Columns64];
    const ALL: [Tile; 4] =
        [Tile::Rows128Columns256, Tile::Rows128Columns192, Tile::Rows128Columns128, Tile::Rows64Columns64];
    let engines = [
        (Engine::Wgmma, &[Precision::Bf16, Precision::F16][..], &ALL[..], &[true][..]),
        (Engine::Wgmma, &[Precision::Tf32], &SQUARES, &[false]),
        (Engine::Mma, &[Precision::Bf16, Precision::F16], &SQUARES, &[true]),
        (Engine::Mma, &[Precision::Tf32], &SQUARES, &[false]),
        (Engine::Plain, &[Precision::F32], &SQUARES, &[false, true]),
    ];
    for (engine, precisions, tiles, orders) in engines {
        for &precision in precisions {
            // GPUs other than those of capability 9.0 have no products by warpgroups.
            if let Some(own) = device.info()?.compute_capability.filter(|&own| engine == Engine::Wgmma && own != (9, 0))
            {
                skipped(format!("no wgmma on capability {}.{}", own.0, own.1));
                continue;
            }
            for &tile in tiles {
                for &by_depth in orders {
                    let size = tile.size();
                    let case = Case {
                        size: [size[0], size[1], 64],
                        by_depth,
                        parts: 1,
                        more: 0,
                        tile,
                        engine,
                        precision,
                        number: 1,
                    };
                    run(case)?;
                }
            }
        }
    }
    Ok(())
}

fn check_format(device: &Device, case: Case, optimizer: Optimizer) -> Result<(), Error> {
    match case.precision {
        Precision::Bf16 => check::<bf16>(device, case, optimizer),
        Precision::F16 => check::<f16>(device, case, optimizer),
        _ => check::<f32>(device, case, optimizer),
    }
}

/// Whole tiles, and parts of several: with one of the optimisers that remember nothing, one array and two.
#[test]
fn every_kernel_updates_as_the_plain_program() {
    let [sgd, nesterov, adam] = ["sgd", "nesterov", "adam"].map(|name| Optimizer::from_name(name).expect("a name"));
    for_each_device(|device| {
        for_each_kernel(device, |case| {
            let [rows, columns, _] = case.size;
            check_format(device, case, sgd)?;
            check_format(device, Case { size: [rows + 1, columns - 1, 65], more: 8, ..case }, adam)?;
            check_format(device, Case { size: [3, columns + 9, 70], ..case }, nesterov)
        })
    });
}

#[test]
fn every_optimiser_updates_as_the_plain_program() {
    for_each_device(|device| {
        for name in Optimizer::NAMES {
            // A large epsilon, so that it counts.
            let optimizer = match Optimizer::from_name(name)? {
                Optimizer::Adam { beta1, beta2, .. } => Optimizer::Adam { beta1, beta2, epsilon: 0.125 },
                Optimizer::AdamW { beta1, beta2, .. } => Optimizer::AdamW { beta1, beta2, epsilon: 0.125 },
                Optimizer::RmsProp { alpha, .. } => Optimizer::RmsProp { alpha, epsilon: 0.125 },
                optimizer => optimizer,
            };
            for number in [1, 2, 3, 9] {
                for_each_kernel(device, |case| match case.tile {
                    Tile::Rows64Columns64 => {
                        check_format(device, Case { size: [21, 10, 7], number, ..case }, optimizer)
                    }
                    _ => Ok(()),
                })?;
            }
        }
        Ok(())
    });
}

/// Numbers in parts: operands, and the copy. A block takes several tiles.
#[test]
fn parameters_are_copied_in_parts() {
    for_each_device(|device| {
        for (parts, engine) in [(2, Engine::Wgmma), (3, Engine::Wgmma), (3, Engine::Mma)] {
            let tile = Tile::Rows64Columns64;
            let case = Case {
                size: [64 * 12 + 1, 64 * 12, 9],
                by_depth: true,
                parts,
                more: 4,
                tile,
                engine,
                precision: Precision::Bf16,
                number: 2,
            };
            check::<bf16>(device, case, Optimizer::Momentum { momentum: 0.5 })?;
        }
        Ok(())
    });
}

#[test]
fn what_an_update_does_not_go_with_is_refused() -> Checked {
    let device = Device::simt();
    let stream = device.stream()?;
    let refused = |built: Result<Product<bf16>, Error>, expected: &str| {
        let said = built.expect_err("refused").to_string();
        assert!(said.contains(expected), "{said}");
    };
    let by_depth = Product::<bf16>::builder(64, 16, 64).a_by_depth(true).b_by_depth(true);
    let builder = by_depth.update(true);
    let lies = "option update: true is not allowed (false but for A and B by depth in bf16 and f16";
    refused(builder.a_by_depth(false).build(&device), lies);
    refused(builder.a_by_depth(false).b_by_depth(false).build(&device), lies);
    let asked = "is not allowed (none where C is updated)";
    refused(builder.rectifier(true).build(&device), &format!("option rectifier: given {asked}"));
    refused(Product::builder(64, 16, 128).update(true).division(64).build(&device), "option division: given");
    refused(Product::builder(64, 16, 64).update(true).gathered(9).build(&device), "option gathered: given");
    refused(Product::builder(64, 16, 64).update(true).bytes(true).build(&device), "option bytes: given");
    refused(
        builder.c_stride(18).build(&device),
        "option c_stride: 18 is not allowed (a multiple of 4 where C is updated)",
    );
    refused(builder.copy_stride(15).build(&device), "option copy_stride: 15 is not allowed (16 to 67108864)");
    refused(
        builder.cluster(2).tile(Tile::Rows64Columns64).build(&device),
        "option cluster: 2 is not allowed (1 for tile 64x64 with an update in bf16 by engine wgmma)",
    );
    refused(
        builder.tile(Tile::Rows128Columns64).build(&device),
        "option tile: 128x64 is not allowed (128x256, 128x192, 128x128, 64x64 for operands that lie depth by depth with an update in bf16",
    );
    refused(
        by_depth.copy_stride(16).build(&device),
        "option copy_stride: 16 is not allowed (none where C is not updated)",
    );
    let parts = Product::<f32>::builder(64, 16, 64).update(true).c_parts(2).build(&device).expect_err("refused");
    assert!(parts.to_string().contains("option c_parts: 2"), "{parts}");
    let said = Product::<warpplay::tile::F8E4M3>::builder(64, 16, 64).update(true).build(&device).expect_err("refused");
    assert!(said.to_string().contains("option update: true"), "{said}");

    let (mut a, b) = (stream.alloc::<bf16>(64 * 64)?, stream.alloc::<bf16>(64 * 16)?);
    let (mut c, mut few) = (stream.alloc::<f32>(64 * 16)?, stream.alloc::<f32>(63 * 16)?);
    let rates = stream.upload(&[Optimizer::Sgd.rate(0.1, 1)])?;
    let none = stream.alloc(0)?;
    let with = builder.build(&device)?;
    let operands = with.operands(&stream, &a, &b)?;
    let says = |result: Result<(), Error>, expected: &str| {
        let said = result.expect_err("refused").to_string();
        assert!(said.contains(expected), "{said}");
    };
    says(with.run(&stream, &operands, Default::default(), &mut c), "see `run_update`");
    let sgd = Optimizer::Sgd;
    says(with.run_update(&stream, &operands, &mut few, Update::new(sgd, &rates, &mut [])), "parameters");
    says(with.run_update(&stream, &operands, &mut c, Update::new(sgd, &none, &mut [])), "rates");
    let adam = Optimizer::from_name("adam")?;
    says(with.run_update(&stream, &operands, &mut c, Update::new(adam, &rates, &mut [])), "state of adam");
    let mut moments = [stream.alloc::<f32>(64 * 16)?, stream.alloc::<f32>(9)?];
    says(with.run_update(&stream, &operands, &mut c, Update::new(adam, &rates, &mut moments)), "state");
    let wrong = Optimizer::Momentum { momentum: 1.5 };
    says(
        with.run_update(&stream, &operands, &mut c, Update::new(wrong, &rates, &mut moments[..1])),
        "option momentum: 1.5",
    );
    let decay = Update::new(sgd, &rates, &mut []).weight_decay(f32::NAN);
    says(with.run_update(&stream, &operands, &mut c, decay), "option weight_decay: NaN");
    let mut too_short = stream.alloc::<bf16>(9)?;
    let copy = Update::new(sgd, &rates, &mut []).copy(&mut too_short);
    says(with.run_update(&stream, &operands, &mut c, copy), "copy");
    let copy = Update::new(sgd, &rates, &mut []).copy(&mut a);
    says(with.run_update(&stream, &operands, &mut c, copy), "another buffer than a and b");
    let without = by_depth.build(&device)?;
    let operands = without.operands(&stream, &a, &b)?;
    says(without.run_update(&stream, &operands, &mut c, Update::new(sgd, &rates, &mut [])), "option update: false");
    let single = Product::<f32>::builder(64, 16, 64).update(true).build(&device)?;
    let (a, b) = (stream.alloc::<f32>(64 * 64)?, stream.alloc::<f32>(64 * 16)?);
    let operands = single.operands(&stream, &a, &b)?;
    let mut copy = stream.alloc::<f32>(64 * 16)?;
    let update = Update::new(sgd, &rates, &mut []).copy(&mut copy);
    says(single.run_update(&stream, &operands, &mut c, update), "option copy: given");
    Ok(())
}
