//! Networks and batches of all sizes, with other programs beside.

use serde_json::{Value, json};
use warpplay::mlp::{Engine, Optimizer, Options, Precision};
use warpplay::{Backend, Device};

use crate::measure::Bench;
use crate::output::{Table, number};
use crate::peers::geometric_mean;

/// Hidden units, batch, precision and optimiser.
type Setting = (&'static [u32], u32, Precision, &'static str);

/// What `layers` is measured with.
const SETTINGS: [Setting; 14] = [
    (&[1024, 1024], 512, Precision::Bf16, "sgd"),
    (&[1024, 1024], 512, Precision::Tf32, "sgd"),
    (&[1024, 1024], 512, Precision::F32, "sgd"),
    (&[512, 512, 512], 128, Precision::F32, "sgd"),
    (&[512, 512, 512], 128, Precision::Bf16, "adam"),
    (&[256], 64, Precision::F32, "sgd"),
    (&[256], 64, Precision::F32, "adam"),
    (&[64], 16, Precision::F32, "sgd"),
    (&[4096, 4096], 1024, Precision::Bf16, "sgd"),
    (&[4096, 4096, 4096, 4096], 8192, Precision::Bf16, "adam"),
    (&[2048, 2048], 4096, Precision::Tf32, "adam"),
    (&[256], 8192, Precision::F32, "sgd"),
    (&[256], 8192, Precision::Tf32, "sgd"),
    (&[256], 8192, Precision::Bf16, "sgd"),
];

/// One to four hidden layers of 64 to 4096 units, each with a small and a large batch of 16 to 8192, by the engine that is chosen.
const GRID: [Setting; 24] = [
    (&[64], 16, Precision::F32, "sgd"),
    (&[64], 8192, Precision::Bf16, "adam"),
    (&[256], 64, Precision::F32, "adam"),
    (&[256], 1024, Precision::Tf32, "sgd"),
    (&[1024], 128, Precision::F32, "sgd"),
    (&[1024], 4096, Precision::Bf16, "adam"),
    (&[4096], 32, Precision::Tf32, "adam"),
    (&[4096], 8192, Precision::Bf16, "sgd"),
    (&[64, 64], 64, Precision::F32, "adam"),
    (&[64, 64], 2048, Precision::F32, "sgd"),
    (&[256, 256], 16, Precision::F32, "sgd"),
    (&[256, 256], 512, Precision::Tf32, "adam"),
    (&[1024, 1024], 256, Precision::F32, "adam"),
    (&[1024, 1024], 8192, Precision::Tf32, "sgd"),
    (&[512, 512, 512], 64, Precision::Bf16, "sgd"),
    (&[512, 512, 512], 1024, Precision::F32, "adam"),
    (&[2048, 2048, 2048], 256, Precision::Bf16, "adam"),
    (&[2048, 2048, 2048], 4096, Precision::F32, "sgd"),
    (&[128, 128, 128, 128], 32, Precision::F32, "adam"),
    (&[128, 128, 128, 128], 2048, Precision::Bf16, "sgd"),
    (&[1024, 1024, 1024, 1024], 128, Precision::Tf32, "sgd"),
    (&[1024, 1024, 1024, 1024], 8192, Precision::Bf16, "adam"),
    (&[4096, 4096, 4096, 4096], 512, Precision::Bf16, "sgd"),
    (&[4096, 4096, 4096, 4096], 2048, Precision::Tf32, "adam"),
];

/// The engine `layers`, and beside it that of GPUs before compute capability 9.0.
pub fn layers(bench: &mut Bench) -> anyhow::Result<()> {
    let mut devices = vec![bench.device.clone()];
    if bench.device.info()?.compute_capability.is_none_or(|own| own > (8, 0)) {
        devices.push(bench.device.with_capability(8, 0)?);
    }
    table(bench, "layers", "LAYERS, ms an epoch (wall time)", &SETTINGS, (Engine::Layers, &devices))
}

pub fn grid(bench: &mut Bench) -> anyhow::Result<()> {
    let device = bench.device.clone();
    table(bench, "grid", "GRID, ms an epoch (wall time)", &GRID, (Engine::Auto, &[device]))
}

/// A row a setting; where there are peers their times, and how many times as fast ours is.
fn table(
    bench: &mut Bench,
    section: &str,
    title: &str,
    settings: &[Setting],
    (engine, devices): (Engine, &[Device]),
) -> anyhow::Result<()> {
    if bench.device.backend() == Backend::Cpu {
        return bench.output.text(&format!("\n{} is left out: no kernels are run.\n", section.to_uppercase()));
    }
    let names: Vec<String> = bench.peers.iter().map(|peer| peer.name.clone()).collect();
    let mut headers = vec!["no.", "hidden", "batch", "precision", "optimiser", "engine"];
    headers.extend(["ms", "for 8.0, ms"].iter().take(devices.len()));
    headers.extend(names.iter().flat_map(|name| [name.as_str(), "ratio"]));
    let mut table = Table::new(title, 6, &headers);
    // Numbers and ratios of each peer.
    let mut ratios: Vec<Vec<[f64; 2]>> = vec![Vec::new(); names.len()];
    // A simulated GPU, and a quick run, take small networks alone.
    let is_small = bench.quick || bench.device.backend() != Backend::Cuda;
    for (number_of, &(hidden, batch, precision, optimizer)) in (1u32..).zip(settings) {
        if is_small && hidden != [64] {
            continue;
        }
        let options = Options {
            hidden: hidden.to_vec(),
            precision,
            optimizer: Optimizer::from_name(optimizer)?,
            learning_rate: 0.001,
            engine,
            ..bench.options(batch)
        };
        let setting = json!({ "hidden": hidden, "batch": batch, "precision": precision, "optimizer": optimizer });
        let units = hidden.iter().map(u32::to_string).collect::<Vec<_>>().join("-");
        let mut row = vec![number_of.to_string(), units, batch.to_string(), precision.to_string(), optimizer.into()];
        let (mut own, mut cells) = (None, Vec::new());
        for device in devices {
            match bench.train(device, &options, None, false) {
                Ok(trained) => {
                    cells.push(number(trained.epochs.median * 1e3));
                    if own.is_none() {
                        row.push(trained.engine.to_string());
                        own = Some(trained.epochs.median);
                    }
                    bench.output.json(&json!({
                        "section": section, "number": number_of, "setting": setting, "device": device.to_string(), "device_name": device.name(),
                        "engine": trained.engine, "samples": bench.train.len(), "seconds": trained.epochs,
                    }))?;
                }
                Err(error) => cells.push(bench.refused(&error)),
            }
        }
        row.resize(6, String::from("-"));
        row.extend(cells);
        for (at, ratios) in ratios.iter_mut().enumerate() {
            let answer = bench.peers[at].seconds(&setting)?;
            match answer {
                Ok(theirs) => {
                    let ratio = own.map(|own| theirs / own);
                    row.extend([number(theirs * 1e3), ratio.map_or_else(|| "-".into(), number)]);
                    ratios.extend(ratio.map(|ratio| [f64::from(number_of), ratio]));
                    bench.output.json(&json!({
                        "section": section, "number": number_of, "setting": setting, "peer": names[at], "seconds": theirs, "ratio": ratio,
                    }))?;
                }
                Err(why) => row.extend([bench.output.failed(&why), "-".into()]),
            }
        }
        table.row(row);
    }
    let lines = names.iter().zip(&ratios).map(|(name, points)| line(name, points.clone())).collect::<Vec<_>>();
    for (name, points) in names.iter().zip(&ratios) {
        let of: Vec<f64> = points.iter().map(|[_, ratio]| *ratio).collect();
        if let Some(mean) = geometric_mean(&of) {
            let ahead = of.iter().filter(|ratio| **ratio > 1.0).count();
            let text = format!(
                "Against {name}: {} times as fast in the geometric mean, faster in {ahead} of {}.",
                number(mean),
                of.len()
            );
            table.note(text);
        }
    }
    if !lines.is_empty() {
        bench.output.json(&figure(section, lines, settings.len()))?;
    }
    table.note(format!("An epoch of {} samples; a peer's is of 60,000.", bench.train.len()));
    table.print(&mut bench.output)
}

fn line(name: &str, points: Vec<[f64; 2]>) -> Value {
    json!({ "name": name, "points": points, "band": [], "published": false })
}

/// Ratios by the number of the setting, as `warpplay papers page --plots` draws them; the line at 1 is the peer's speed.
fn figure(section: &str, mut lines: Vec<Value>, n_settings: usize) -> Value {
    let even = [[1.0, 1.0], [n_settings as f64, 1.0]];
    lines.push(json!({ "name": "as fast", "points": even, "band": [], "published": true }));
    json!({"section": "figure", "table": section, "figure": {
        "file": format!("mlp-{section}"), "title": "speed, as a multiple of the peer's", "x": {"label": "number of the setting", "log": false},
        "y": {"label": "times as fast", "log": true}, "chart": {"lines": lines},
    }})
}
