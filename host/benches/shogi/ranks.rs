//! Learning divided over ranks, which are threads here: a core each, on one device, a GPU each. What MPI adds is measured by `cargo xtask run shogi --ranks N`.

use serde_json::{Value, json};
use warpplay::shogi::FeatureSet;
use warpplay::shogi::learner::{LearnReport, Learner};
use warpplay::shogi::ranks::{Ranks, Threads};
use warpplay::{Backend, Device, Progress, Result};

use crate::features::CPU_CHILDREN;
use crate::measure::{Bench, n_children};
use crate::output::{Table, number};

/// A set of some weights, and the largest.
const FEATURES: [FeatureSet; 2] = [FeatureSet::KingPiece, FeatureSet::KingPiecePiece];
/// Steps of a learning on the device.
const STEPS: u32 = 20;
/// The same on the CPU, and of a short one.
const FEW: u32 = 3;

pub fn measure(bench: &mut Bench) -> anyhow::Result<()> {
    const HEADERS: [&str; 9] =
        ["features", "where", "ranks", "children", "steps", "s", "ms a step", "children/s", "MB a sum"];
    let mut table = Table::new("RANKS: learning by Adam, all positions a step", 2, &HEADERS);
    let mut groups = vec![("a core each", vec![Device::cpu()]), ("a core each", vec![Device::cpu(); 2])];
    if let Some(device) = bench.kernels() {
        groups.extend([("one device", vec![device.clone()]), ("one device", vec![device.clone(); 2])]);
        match second(&device) {
            Some(other) => groups.push(("a GPU each", vec![device, other])),
            None => table.note("left out: ranks on a GPU each, of which there is no second".into()),
        }
    }
    for features in FEATURES {
        for (location, devices) in &groups {
            bench.output.progress(&format!("ranks {features}, {} on {location}", devices.len()));
            let measured = row(bench, features, devices);
            bench.row(&mut table, "ranks", &[("features", &features.to_string()), ("where", location)], measured)?;
        }
    }
    table.note("s: all steps, and the first pass, which copies the positions; ms a step: those after the first".into());
    table.note(
        "MB a sum: numbers of rows and rows that a rank hands over through host memory while gradients are summed"
            .into(),
    );
    table.print(&mut bench.output)
}

/// Another GPU than this one, where there is one.
fn second(device: &Device) -> Option<Device> {
    let gpus = (0..2).filter_map(|ordinal| Device::cuda(ordinal).ok());
    gpus.into_iter().find(|other| device.backend() == Backend::Cuda && other != device)
}

fn row(bench: &Bench, features: FeatureSet, devices: &[Device]) -> Result<(Vec<String>, Value)> {
    let on_cpu = devices.iter().any(|device| device.backend() == Backend::Cpu);
    let shards = match on_cpu {
        true => bench.shards_of(if bench.quick { 20_000 } else { CPU_CHILDREN }),
        false => bench.whole.views(),
    };
    let steps = if on_cpu || bench.quick { FEW } else { STEPS };
    let reports = Threads::run(devices.len(), |ranks| {
        let builder = Learner::builder(&shards).ranks(ranks).features(features).iterations(steps);
        // A rank on the CPU is a core.
        let builder = if on_cpu { builder.threads(1) } else { builder };
        builder.build(&devices[ranks.rank()])?.run(Progress::go_on)
    })?;
    let most = |of: &dyn Fn(&LearnReport) -> f64| reports.iter().map(of).fold(0.0, f64::max);
    let seconds = most(&|report| report.seconds);
    // A row's clock stops when its state has been evaluated, with the gradient of the step that follows.
    let step = most(&|report| match (report.rows.get(1), report.rows.last()) {
        (Some(first), Some(last)) => (last.seconds - first.seconds) / f64::from(steps - 1),
        _ => f64::NAN,
    });
    let exchange = reports.first().and_then(|report| report.exchange);
    let bytes = exchange.map_or(0.0, |exchange| exchange.bytes as f64 / exchange.sums.max(1) as f64);
    let children = n_children(&shards) as f64;
    let numbers = [seconds, step * 1e3, children / step, bytes / 1e6].map(number);
    let cells = [devices.len().to_string(), number(children), steps.to_string()].into_iter().chain(numbers).collect();
    let line = json!({
        "ranks": devices.len(), "children": children, "steps": steps, "seconds": seconds, "step_s": step,
        "bytes_a_sum": bytes, "exchange": exchange,
    });
    Ok((cells, line))
}
