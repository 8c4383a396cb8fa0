//! How fast matrices are multiplied, and images convolved: squares, and the shapes of networks, in every format; and some products by each engine that the device has.
//!
//! ```text
//! cargo bench -p warpplay --bench tile -- --quick
//! cargo bench -p warpplay --bench tile -- --device cuda --json figures.jsonl
//! cargo bench -p warpplay --bench tile -- --only bf16,f32 --tiles --json tiles.jsonl
//! cargo bench -p warpplay --bench tile -- --device cuda --engines
//! cargo bench -p warpplay --bench tile -- --device cuda --only bf16 --shapes 1024x1024x512,8192x256x784
//! cargo bench -p warpplay --bench tile -- --device cuda --peer "python3 docs/peers/tile.py"
//! ```
//!
//! Prints a table a format, and with `--json` one line of JSON a row. Launches are a graph of several, so that the host does not count; the first replay is not timed.
//!
//! Exit codes: 0; 1 if a row failed (it says why); 2 a wrong command line.

#[path = "tile/epilogues.rs"]
mod epilogues;
#[path = "tile/ladder.rs"]
mod ladder;
#[allow(dead_code, reason = "other benches use the rest")]
#[path = "common/output.rs"]
mod output;
#[path = "common/peer_flags.rs"]
mod peer_flags;
#[path = "common/peers.rs"]
mod peers;
#[path = "common/program.rs"]
mod program;

use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, ValueEnum};
use serde_json::json;
use warpplay::tile::{
    Convolution, Engine, Epilogue, F8E4M3, FilterGradient, Operand, Output as Format, Product, Tile, bf16, f16,
};
use warpplay::{Backend, Device, Error, Kernel, LaunchShape, Module, Precision, Stream};
use warpplay_test_kernels::{ptx as test_kernels, rate};

use output::{Output, Table, number};
use peer_flags::PeerFlags;
use peers::{Peer, geometric_mean};
use program::Flags;

/// Speed of products of matrices
#[derive(Parser, Debug)]
#[command(name = "tile")]
struct Args {
    /// These formats only, separated by commas
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',')]
    only: Vec<Section>,

    /// Every tile and number of blocks that share its depth, where else the one that the library chooses is measured: what `cargo xtask tune` reads
    #[arg(long)]
    tiles: bool,

    /// Only the shapes that every engine multiplies
    #[arg(long)]
    engines: bool,

    /// Products of these sizes instead, in the sections of products: rows, columns and depth, as 1024x1024x512, separated by commas
    #[arg(long, value_name = "MxNxK", value_parser = shape, value_delimiter = ',', conflicts_with = "engines")]
    shapes: Vec<[u32; 3]>,

    #[command(flatten)]
    peers: PeerFlags,

    #[command(flatten)]
    flags: Flags,
}

/// `MxNxK`.
fn shape(text: &str) -> Result<[u32; 3], String> {
    let sizes = text.split('x').map(str::parse).collect::<Result<Vec<u32>, _>>().unwrap_or_default();
    sizes.try_into().map_err(|_| "allowed are rows, columns and depth, such as 1024x1024x512".into())
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    /// bfloat16, results in bfloat16
    Bf16,
    /// Half precision, results in half precision
    F16,
    /// TF32, results in single precision
    Tf32,
    /// Single precision without tensor cores
    F32,
    /// Numbers of 8 bits, results in bfloat16
    E4m3,
    /// Precision of f32 by three parts of bfloat16 for each operand, already made
    F32Grade,
    /// How fast tensor cores multiply by mma.sync what registers hold
    Peak,
    /// The steps of tests/kernels/src/ladder, from a thread an element to the library's products
    Ladder,
    /// Convolutions with bias, residual and rectifier, and gradients of filters, in bfloat16 and half precision
    Conv,
    /// Products in bfloat16 with each epilogue, and with gathered rows
    Epilogues,
}

/// Rows of A, columns of B, and depth.
const SHAPES: [[u32; 3]; 48] = [
    // Squares.
    [128, 128, 128],
    [192, 192, 192],
    [256, 256, 256],
    [384, 384, 384],
    [512, 512, 512],
    [768, 768, 768],
    [1024, 1024, 1024],
    [1536, 1536, 1536],
    [2048, 2048, 2048],
    [3072, 3072, 3072],
    [4096, 4096, 4096],
    [6144, 6144, 6144],
    [8192, 8192, 8192],
    // Tall, wide and deep.
    [65_536, 64, 64],
    [65_536, 256, 256],
    [16_384, 1024, 64],
    [8192, 1024, 1024],
    [64, 8192, 8192],
    [64, 4096, 4096],
    [128, 8192, 1024],
    [256, 256, 16_384],
    [128, 128, 65_536],
    // Layers of perceptrons, forward, backward and gradient of the weights: batches of 64 with 256 units,
    [64, 256, 784],
    [256, 784, 64],
    // 128 with 512,
    [128, 512, 784],
    [128, 512, 512],
    [512, 784, 128],
    [512, 512, 128],
    // 512 with 1024,
    [512, 1024, 784],
    [512, 1024, 1024],
    [512, 16, 1024],
    [1024, 784, 512],
    [1024, 1024, 512],
    // 1024 with 4096,
    [1024, 4096, 784],
    [1024, 4096, 4096],
    [4096, 4096, 1024],
    // 4096 with 2048,
    [4096, 2048, 2048],
    [2048, 2048, 4096],
    // and 8192 with 256 and 4096.
    [8192, 256, 784],
    [8192, 16, 256],
    [256, 784, 8192],
    [8192, 4096, 4096],
    [4096, 4096, 8192],
    // The convolutions of AlphaZero's network as products: 192 channels on 1 and 256 boards of 8 × 8, and 128, 192 and 256 on 2048.
    [64, 192, 1728],
    [16_384, 192, 1728],
    [131_072, 128, 1152],
    [131_072, 192, 1728],
    [131_072, 256, 2304],
];
/// Of these, where the squares end, and the networks' shapes begin.
const N_SQUARES: usize = 13;
const FIRST_OF_NETWORKS: usize = 22;

/// Those that every engine multiplies: squares, and a layer of a perceptron at batch 8192.
const BY_ENGINES: [[u32; 3]; 4] = [[2048, 2048, 2048], [4096, 4096, 4096], [8192, 8192, 8192], [8192, 1024, 1024]];

/// The tiles of an engine.
const fn tiles_of(engine: Engine) -> &'static [Tile] {
    match engine {
        Engine::Wgmma => Tile::ALL,
        Engine::Mma => &[Tile::Rows128Columns256, Tile::Rows128Columns128, Tile::Rows64Columns64],
        Engine::Plain => &[Tile::Rows128Columns128, Tile::Rows64Columns64],
    }
}
/// Images, rows, pixels of a row, and channels: AlphaZero's network at batch 2048, 256 and 1, and boards that do not fill a tile.
const IMAGES: [[u32; 4]; 9] = [
    [1, 8, 8, 192],
    [256, 8, 8, 192],
    [2048, 8, 8, 128],
    [2048, 8, 8, 192],
    [2048, 8, 8, 256],
    [2048, 6, 7, 128],
    [2048, 9, 9, 192],
    [1024, 15, 15, 128],
    [512, 19, 19, 256],
];

struct Bench {
    device: Device,
    seconds: f64,
    quick: bool,
    output: Output,
    tiles: bool,
    engines: bool,
    shapes: Vec<[u32; 3]>,
    peers: Vec<Peer>,
}

fn main() -> ExitCode {
    program::exit(run(&Args::parse()))
}

/// Runs the sections; returns how many rows failed.
fn run(args: &Args) -> anyhow::Result<usize> {
    let (device, seconds, quick) = (args.flags.device()?, args.flags.seconds()?, args.flags.quick);
    let (output, peers) = (args.flags.output()?, args.peers.start()?);
    let (tiles, engines, shapes) = (args.tiles, args.engines, args.shapes.clone());
    let mut bench = Bench { device, seconds, quick, output, tiles, engines, shapes, peers };
    let info = bench.device.info()?;
    let more = json!({ "compute_capability": info.compute_capability, "multiprocessors": info.n_multiprocessors });
    args.flags.about(&mut bench.output, &bench.device, more)?;
    let sections: program::Sections<Section, Bench> = &[
        (Section::Bf16, |bench| section::<bf16, bf16>(bench, (Precision::Bf16, 1), bf16::from_f32)),
        (Section::F16, |bench| section::<f16, f16>(bench, (Precision::F16, 1), f16::from_f32)),
        (Section::Tf32, |bench| section::<f32, f32>(bench, (Precision::Tf32, 1), |value| value)),
        (Section::F32, |bench| section::<f32, f32>(bench, (Precision::F32, 1), |value| value)),
        (Section::E4m3, |bench| section::<F8E4M3, bf16>(bench, (Precision::E4m3, 1), F8E4M3::from_f32)),
        (Section::F32Grade, |bench| section::<bf16, f32>(bench, (Precision::Bf16, PARTS), bf16::from_f32)),
        (Section::Peak, peak),
        (Section::Ladder, ladder::ladder),
        (Section::Conv, |bench| {
            let mut table =
                Table::new("CONVOLUTIONS of 3 × 3", 2, &["images × board × channels", "tile", "us", "TFLOP/s"]);
            convolutions::<bf16, bf16>(bench, &mut table, bf16::from_f32)?;
            convolutions::<f16, f16>(bench, &mut table, f16::from_f32)?;
            table.print(&mut bench.output)
        }),
        (Section::Epilogues, epilogues::epilogues),
    ];
    program::measure(&mut bench, &args.only, sections)?;
    Ok(bench.output.n_failed())
}

/// Parts of an operand with the precision of f32.
const PARTS: u32 = 3;

/// A product to be timed: its shape, and what is asked for.
#[derive(Clone, Copy)]
struct Asked {
    shape: [u32; 3],
    precision: Precision,
    parts: u32,
    engine: Option<Engine>,
    split: Option<Split>,
}

/// A tile, and how many blocks share its depth.
type Split = (Tile, u32);

/// Its name: the tile's, and `/` with the number of blocks that share the depth.
fn split_name((tile, cluster): Split) -> String {
    if cluster == 1 { tile.to_string() } else { format!("{tile}/{cluster}") }
}

/// Every tile of an engine for a product, and every number of blocks that share its depth, as long as most of them have a multiprocessor.
fn splits_of(engine: Option<Engine>, [m, n, _]: [u32; 3]) -> Vec<Split> {
    let mut splits: Vec<Split> = engine.map_or(Tile::ALL, tiles_of).iter().map(|&tile| (tile, 1)).collect();
    if engine == Some(Engine::Wgmma) {
        for tile in [Tile::Rows128Columns128, Tile::Rows64Columns64] {
            let [rows, columns] = tile.size();
            let fits = |cluster: &u32| m.div_ceil(rows) * n.div_ceil(columns) * cluster <= 192;
            splits.extend([2, 4, 8, 16].into_iter().filter(fits).map(|cluster| (tile, cluster)));
        }
    }
    splits
}

/// All shapes of a format, and those of every engine.
fn section<T: Operand, C: Format<T>>(
    bench: &mut Bench,
    (precision, parts): (Precision, u32),
    of: fn(f32) -> T,
) -> anyhow::Result<()> {
    let name = if parts == 1 { precision.name() } else { "f32-grade" };
    // What a peer computes in their place.
    let theirs = if parts == 1 { precision } else { Precision::F32 };
    let names: Vec<String> = bench.peers.iter().map(|peer| peer.name.clone()).collect();
    let mut columns = vec!["m × n × k", "engine", "tile", "us", "TFLOP/s"];
    columns.extend(names.iter().flat_map(|name| [name.as_str(), "ratio"]));
    let mut table = Table::new(&format!("{}, products", name.to_uppercase()), 3, &columns);
    // A small one, to learn which engine the device takes, and which others it has; while it is there, its kernels stay loaded.
    let builder = Product::<T>::builder(64, 64, 64).precision(precision);
    let small = builder.build(&bench.device);
    let first = small.as_ref().map(Product::engine);
    let others: Vec<Engine> = Engine::ALL
        .iter()
        .copied()
        .filter(|&engine| first.as_ref().is_ok_and(|&first| first != engine))
        .filter(|&engine| builder.engine(engine).build(&bench.device).is_ok())
        .collect();
    let mut rows: Vec<([u32; 3], Option<Engine>)> = Vec::new();
    let is_long = precision == Precision::F32;
    let shapes: &[[u32; 3]] = match &bench.shapes[..] {
        [] if bench.engines || is_long => &BY_ENGINES,
        [] => &SHAPES,
        asked => asked,
    };
    rows.extend(shapes.iter().map(|&shape| (shape, None)));
    let others = if bench.shapes.is_empty() { &others[..] } else { &[] };
    rows.extend(others.iter().flat_map(|&engine| BY_ENGINES.map(|shape| (shape, Some(engine)))));
    // Under simt a product of the smallest size takes seconds.
    if bench.device.backend() != Backend::Cuda && bench.shapes.is_empty() {
        rows = vec![(SHAPES[0], None)];
    } else if bench.quick && bench.shapes.is_empty() {
        rows.truncate(4);
    }
    // Of each peer the shapes and how many times as fast ours is.
    let mut ratios: Vec<Vec<([u32; 3], f64)>> = vec![Vec::new(); names.len()];
    for (shape, engine) in rows {
        let [m, n, k] = shape;
        let size = format!("{m} × {n} × {k}");
        bench.output.progress(&size);
        let answers: Vec<Result<f64, String>> = bench
            .peers
            .iter_mut()
            .map(|peer| peer.seconds(&json!({ "m": m, "n": n, "k": k, "precision": theirs })))
            .collect::<anyhow::Result<_>>()?;
        let all = || splits_of(engine.or(first.as_ref().ok().copied()), shape).into_iter().map(Some).collect();
        let splits: Vec<Option<Split>> = if bench.tiles { all() } else { vec![None] };
        for split in splits {
            match time::<T, C>(bench, Asked { shape, precision, parts, engine, split }, of) {
                Ok((used, split, seconds)) => {
                    let tile = split_name(split);
                    let speed = 2.0 * f64::from(m) * f64::from(n) * f64::from(k) / seconds / 1e12;
                    let mut row =
                        vec![size.clone(), used.to_string(), tile.clone(), number(seconds * 1e6), number(speed)];
                    for (answer, ratios) in answers.iter().zip(&mut ratios) {
                        match answer {
                            Ok(theirs) => {
                                row.extend([number(theirs * 1e6), number(theirs / seconds)]);
                                if engine.is_none() && !bench.tiles {
                                    ratios.push((shape, theirs / seconds));
                                }
                            }
                            Err(why) => row.extend([bench.output.failed(why), "-".into()]),
                        }
                    }
                    table.row(row);
                    let peers: serde_json::Map<String, serde_json::Value> = names
                        .iter()
                        .zip(&answers)
                        .filter_map(|(name, answer)| Some((name.clone(), json!(answer.as_ref().ok()? * 1e6))))
                        .collect();
                    bench.output.json(&json!({
                        "section": name, "m": m, "n": n, "k": k, "engine": used.name(), "tile": tile, "us": seconds * 1e6,
                        "tflops": speed, "peers_us": peers,
                    }))?;
                }
                Err(error) => {
                    let failed = bench.output.failed(&error);
                    table.row(vec![size.clone(), failed]);
                }
            }
        }
    }
    for (name, ratios) in names.iter().zip(&ratios) {
        table.note(format!("Times as fast as {name}, geometric means: {}.", means(ratios)));
    }
    table.print(&mut bench.output)
}

/// Geometric means over all shapes, the squares of 2048 and larger, and those of networks.
fn means(ratios: &[([u32; 3], f64)]) -> String {
    let of = |what: &str, shapes: &[[u32; 3]]| {
        let ratios: Vec<f64> =
            ratios.iter().filter(|(shape, _)| shapes.contains(shape)).map(|(_, ratio)| *ratio).collect();
        format!("{what} {}", geometric_mean(&ratios).map_or_else(|| "-".into(), number))
    };
    let large: Vec<[u32; 3]> = SHAPES[..N_SQUARES].iter().copied().filter(|[m, ..]| *m >= 2048).collect();
    [of("all", &SHAPES), of("squares from 2048 on", &large), of("networks", &SHAPES[FIRST_OF_NETWORKS..])].join(", ")
}

/// The rate that products by `mma.sync` are measured by.
fn peak(bench: &mut Bench) -> anyhow::Result<()> {
    let info = bench.device.info()?;
    if bench.device.backend() == Backend::Cpu || info.compute_capability.is_some_and(|own| own < (8, 0)) {
        return bench.output.text("\nPEAK is left out: there is no mma.sync.\n");
    }
    let columns = ["format", "warps of a multiprocessor", "TFLOP/s"];
    let mut table = Table::new("PEAK of mma.sync, from registers", 1, &columns);
    for (precision, [value, depth]) in
        [(Precision::Bf16, [0x3F83_BF81, 16]), (Precision::F16, [0x3C31_BC17, 16]), (Precision::Tf32, [0x3F83_3000, 8])]
    {
        // One block, as a product by warps has registers for, and two.
        for n_blocks in [1, 2] {
            let warps = n_blocks * rate::WARPS;
            match rate(bench, precision, value, n_blocks * info.n_multiprocessors) {
                Ok(products) => {
                    let speed = products * f64::from(2 * 16 * 8 * depth) / 1e12;
                    table.row(vec![precision.to_string(), warps.to_string(), number(speed)]);
                    let row = json!({ "section": "peak", "precision": precision, "warps": warps, "tflops": speed });
                    bench.output.json(&row)?;
                }
                Err(error) => {
                    let failed = bench.output.failed(&error);
                    table.row(vec![precision.to_string(), warps.to_string(), failed]);
                }
            }
        }
    }
    table.print(&mut bench.output)
}

/// Products a second by `mma.sync` of fragments of one word, in so many blocks.
fn rate(bench: &Bench, precision: Precision, value: u32, n_blocks: u32) -> Result<f64, Error> {
    let module = Module::load(&bench.device, &test_kernels::LAYER)?;
    let n = if bench.device.backend() == Backend::Cuda { 4096 } else { 1 };
    let seconds = match precision {
        Precision::Bf16 => seconds_of_rate(bench, &module, rate::test_rate_bf16, [n_blocks, n, value]),
        Precision::F16 => seconds_of_rate(bench, &module, rate::test_rate_f16, [n_blocks, n, value]),
        _ => seconds_of_rate(bench, &module, rate::test_rate_tf32, [n_blocks, n, value]),
    }?;
    let of_a_warp = f64::from(n) * (rate::UNROLLED * rate::ACCUMULATORS) as f64;
    Ok(f64::from(n_blocks * rate::WARPS) * of_a_warp / seconds)
}

/// Seconds of a launch of so many blocks, whose loops run `n` times.
fn seconds_of_rate<K: Kernel<Params = (*mut f32, u32, u32, u32)> + Copy>(
    bench: &Bench,
    module: &Module,
    kernel: K,
    [n_blocks, n, value]: [u32; 3],
) -> Result<f64, Error> {
    let (stream, function) = (bench.device.stream()?, module.function(kernel)?);
    let n_threads = 32 * rate::WARPS;
    let mut out = stream.alloc::<f32>((n_blocks * n_threads) as usize)?;
    seconds_of(bench, &stream, |stream| {
        // SAFETY: blocks of as many warps as the kernel asks for, and a value a thread.
        unsafe { stream.launch(&function, LaunchShape::new(n_blocks, n_threads), (&mut out, n, value, value)) }
    })
}

/// All convolutions of a format.
fn convolutions<T: Operand + Format<T>, C: Format<T>>(
    bench: &mut Bench,
    table: &mut Table,
    of: fn(f32) -> T,
) -> anyhow::Result<()> {
    let n_shapes = if bench.device.backend() == Backend::Cuda { IMAGES.len() } else { 1 };
    for shape in &IMAGES[..if bench.quick { n_shapes.min(2) } else { n_shapes }] {
        let tiles: Vec<Option<Tile>> =
            if bench.tiles { Tile::ALL.iter().copied().map(Some).collect() } else { vec![None] };
        for tile in tiles {
            let timed = time_of_convolution::<T, C>(bench, *shape, tile, of);
            convolution_row(bench, table, T::PRECISION, (*shape, "forward"), timed)?;
        }
        let timed = time_of_gradient(bench, *shape, of);
        convolution_row(bench, table, T::PRECISION, (*shape, "filters"), timed)?;
    }
    Ok(())
}

/// A row of the table of convolutions, and a line of JSON: `what` is the convolution, or the gradient of its filters.
fn convolution_row(
    bench: &mut Bench,
    table: &mut Table,
    precision: Precision,
    ([images, height, width, channels], what): ([u32; 4], &str),
    timed: Result<(Split, f64), Error>,
) -> anyhow::Result<()> {
    let name = format!("{images} × {height}x{width} × {channels} {precision} {what}");
    bench.output.progress(&name);
    match timed {
        Ok((split, seconds)) => {
            let tile = split_name(split);
            let pixels = f64::from(images) * f64::from(height) * f64::from(width);
            let speed = 18.0 * pixels * f64::from(channels) * f64::from(channels) / seconds / 1e12;
            table.row(vec![name, tile.clone(), number(seconds * 1e6), number(speed)]);
            bench.output.json(&json!({
                "section": "conv", "what": what, "precision": precision.name(), "images": images, "height": height, "width": width, "channels": channels,
                "tile": tile, "us": seconds * 1e6, "tflops": speed,
            }))?;
        }
        Err(error) => {
            let failed = bench.output.failed(&error);
            table.row(vec![name, failed]);
        }
    }
    Ok(())
}

/// The tile, and seconds of the gradient of a convolution's filters, in divisions that keep a card busy; they are not added up.
fn time_of_gradient<T: Operand>(
    bench: &Bench,
    [images, height, width, channels]: [u32; 4],
    of: fn(f32) -> T,
) -> Result<(Split, f64), Error> {
    let stream = bench.device.stream()?;
    let pixels = images * height * width;
    let division = pixels.div_ceil(8).next_multiple_of(64);
    let built = FilterGradient::<T>::builder([images, height, width], channels, channels)
        .division(division)
        .build(&bench.device)?;
    let n_values = u64::from(pixels) * u64::from(channels);
    let values = stream.upload(&numbers(n_values, of))?;
    let gradient = stream.upload(&numbers(n_values, of))?;
    let line = channels.next_multiple_of(64) as usize;
    let mut c = stream.alloc::<f32>(pixels.div_ceil(division) as usize * 9 * channels as usize * line)?;
    let operands = built.operands(&stream, &gradient, &values)?;
    let seconds = seconds_of(bench, &stream, |stream| built.run(stream, &operands, &mut c))?;
    Ok(((built.tile(), built.cluster()), seconds))
}

/// The tile, and seconds of one convolution with as many outputs as channels.
fn time_of_convolution<T: Operand + Format<T>, C: Format<T>>(
    bench: &Bench,
    [images, height, width, channels]: [u32; 4],
    tile: Option<Tile>,
    of: fn(f32) -> T,
) -> Result<(Split, f64), Error> {
    let stream = bench.device.stream()?;
    let built = Convolution::<T>::builder([images, height, width], channels, channels)
        .rectifier(true)
        .tile(tile)
        .build(&bench.device)?;
    let n_values = u64::from(images * height * width) * u64::from(channels);
    let values = stream.upload(&numbers(n_values, of))?;
    let filters = stream.upload(&numbers(9 * u64::from(channels) * u64::from(channels), of))?;
    let residual = stream.upload(&numbers(n_values, of))?;
    let bias = stream.alloc::<f32>(channels as usize)?;
    let mut c = stream.alloc::<C>(n_values as usize)?;
    let operands = built.operands(&stream, &values, &filters)?;
    let epilogue = Epilogue::new().bias(&bias).residual(&residual);
    let seconds = seconds_of(bench, &stream, |stream| built.run(stream, &operands, epilogue, &mut c))?;
    Ok(((built.tile(), 1), seconds))
}

/// The engine, the tile, and seconds of one product, with bias and rectifier.
fn time<T: Operand, C: Format<T>>(
    bench: &Bench,
    asked: Asked,
    of: fn(f32) -> T,
) -> Result<(Engine, Split, f64), Error> {
    let Asked { shape: [m, n, k], precision, parts, engine, split } = asked;
    let stream = bench.device.stream()?;
    let builder = Product::<T>::builder(m, n, k)
        .rectifier(true)
        .precision(precision)
        .parts(parts, parts)
        .engine(engine)
        .tile(split.map(|(tile, _)| tile))
        .cluster(split.map(|(_, cluster)| cluster));
    let product = builder.build(&bench.device)?;
    let operand = |lines: u32| u64::from(lines) * u64::from(k) * u64::from(parts);
    let (a, b) = (stream.upload(&numbers(operand(m), of))?, stream.upload(&numbers(operand(n), of))?);
    let bias = stream.alloc::<f32>(n as usize)?;
    let mut c = stream.alloc::<C>(m as usize * n as usize)?;
    let operands = product.operands(&stream, &a, &b)?;
    let epilogue = Epilogue::new().bias(&bias);
    let seconds = seconds_of(bench, &stream, |stream| product.run(stream, &operands, epilogue, &mut c))?;
    Ok((product.engine(), (product.tile(), product.cluster()), seconds))
}

/// Numbers of all sizes: zeros need less power, and the clock is higher then. They come again after a prime number of them, since to make each anew takes longer than all launches.
fn numbers<T: Copy>(len: u64, of: fn(f32) -> T) -> Vec<T> {
    const PERIOD: u64 = 1_048_573;
    let value = |at: u64| of((at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f32 / 8_388_608.0 - 1.0);
    let period: Vec<T> = (0..len.min(PERIOD)).map(value).collect();
    let mut all = Vec::with_capacity(len as usize);
    while all.len() < len as usize {
        all.extend_from_slice(&period[..period.len().min(len as usize - all.len())]);
    }
    all
}

/// Seconds of one run of several in a graph.
fn seconds_of(bench: &Bench, stream: &Stream, mut run: impl FnMut(&Stream) -> Result<(), Error>) -> Result<f64, Error> {
    let graph = stream.capture(|stream| (0..REPEATS).try_for_each(|_| run(stream)))?;
    stream.launch_graph(&graph)?;
    stream.synchronize()?;
    let (start, mut n_graphs) = (Instant::now(), 0);
    while n_graphs == 0 || start.elapsed().as_secs_f64() < bench.seconds {
        stream.launch_graph(&graph)?;
        stream.synchronize()?;
        n_graphs += 1;
    }
    Ok(start.elapsed().as_secs_f64() / f64::from(n_graphs * REPEATS))
}

/// Products or convolutions of a graph.
const REPEATS: u32 = 20;
