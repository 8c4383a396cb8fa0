//! Every set of features: passes on one core, on all, on the device; what its memory does meanwhile.

use serde_json::json;
use warpplay::shogi::{FeatureSet, Loss, Optimizer, Shard, Sparse, SparseOptions, Update};
use warpplay::{Backend, Device, Result};

use crate::measure::{Bench, n_children};
use crate::output::{Table, maybe, number, percent};
use crate::published::COPY;
use crate::sectors::accesses;

/// Children that the CPU is given of the largest set, and times as many of the smaller ones.
pub const CPU_CHILDREN: u64 = 400_000;

/// Weights as learning has them: values of material, and small ones that look random in the table.
fn weights(features: FeatureSet) -> Vec<f32> {
    let mut weights = features.weights_of(&[3.0, 3.5, 5.0, 5.5, 8.0, 10.0, 4.0, 4.5, 5.0, 5.5, 11.0, 12.0]);
    for (index, weight) in weights.iter_mut().enumerate().skip(features.n_values()) {
        let mixed = (index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        *weight = (mixed as f32 / (1 << 24) as f32 - 0.5) * 0.02;
    }
    weights
}

fn open(device: &Device, features: FeatureSet, options: &SparseOptions) -> Result<Sparse> {
    let mut sparse = Sparse::builder(features).options(*options).build(device)?;
    sparse.set_weights(&weights(features))?;
    Ok(sparse)
}

/// Seconds of a pass.
fn pass(bench: &Bench, sparse: &mut Sparse, shards: &[&Shard], gradient: bool) -> Result<f64> {
    // The first pass takes shards to the device.
    bench.clock(true, || sparse.pass(shards, &Loss::default(), gradient).map(|_| ()))
}

pub fn measure(bench: &mut Bench) -> anyhow::Result<()> {
    const HEADERS: [&str; 7] =
        ["features", "weights", "one core", "all cores", "device", "device / one core", "device / all"];
    let mut table = Table::new("FEATURES: children/s of a pass with its gradient", 1, &HEADERS);
    for &features in FeatureSet::ALL {
        bench.output.progress(&format!("features {features}"));
        let measured = row(bench, features);
        bench.row(&mut table, "features", &[("features", &features.to_string())], measured)?;
    }
    table.note("one core: every list added up whole, as the definition says; all cores and the device: what differs between lists".into());
    table.print(&mut bench.output)
}

fn row(bench: &Bench, features: FeatureSet) -> Result<(Vec<String>, serde_json::Value)> {
    let times = if features == FeatureSet::KingPiecePiece || bench.quick { 1 } else { 4 };
    let most = if bench.quick { 20_000 } else { CPU_CHILDREN };
    let some = bench.shards_of((most * times).min(bench.n_job_children()));
    let n = n_children(&some) as f64;
    let on_cpu = |threads| -> Result<f64> {
        let mut sparse = open(&Device::cpu(), features, &SparseOptions { threads, ..SparseOptions::default() })?;
        Ok(n / bench.clock(false, || sparse.pass(&some, &Loss::default(), true).map(|_| ()))?)
    };
    let (one, all) = (on_cpu(Some(1))?, on_cpu(None)?);
    let device = match bench.kernels() {
        None => None,
        Some(device) => {
            let whole = bench.whole.views();
            let mut sparse = open(&device, features, &SparseOptions::default())?;
            Some(n_children(&whole) as f64 / pass(bench, &mut sparse, &whole, true)?)
        }
    };
    let cells = vec![
        number(features.len() as f64),
        number(one),
        number(all),
        maybe(device),
        maybe(device.map(|rate| rate / one)),
        maybe(device.map(|rate| rate / all)),
    ];
    let line = json!({
        "weights": features.len(), "one_core_per_s": one, "all_cores_per_s": all,
        "device_per_s": device, "ratio_to_one_core": device.map(|rate| rate / one),
        "ratio_to_all_cores": device.map(|rate| rate / all),
    });
    Ok((cells, line))
}

pub fn on_the_device(bench: &mut Bench) -> anyhow::Result<()> {
    const HEADERS: [&str; 8] = [
        "features",
        "children",
        "pass ms",
        "with gradient ms",
        "Adam step ms",
        "streamed ms",
        "pass, of 4.27 TB/s",
        "gradient, of 4.27 TB/s",
    ];
    let mut table = Table::new("GRADIENT on the device", 1, &HEADERS);
    let Some(device) = bench.kernels() else {
        table.note("left out: kernels run on a GPU, or played on the CPU (--device simt)".into());
        return table.print(&mut bench.output);
    };
    for &features in FeatureSet::ALL {
        bench.output.progress(&format!("gradient of {features}"));
        let measured = device_row(bench, &device, features);
        bench.row(&mut table, "gradient", &[("features", &features.to_string())], measured)?;
    }
    table.note("of 4.27 TB/s: every weight that differs between lists is a sector of 32 bytes read, in the gradient one read and one".into());
    table.note(
        "written; old ones once a parent, new ones once a child (the 13 values, which stay in caches, not counted)"
            .into(),
    );
    table.note("streamed: with the gradient, an eighth of the positions' bytes allowed on the device".into());
    table.print(&mut bench.output)
}

fn device_row(bench: &Bench, device: &Device, features: FeatureSet) -> Result<(Vec<String>, serde_json::Value)> {
    let shards = bench.whole.views();
    let mut sparse = open(device, features, &SparseOptions::default())?;
    let plain = pass(bench, &mut sparse, &shards, false)?;
    let whole = pass(bench, &mut sparse, &shards, true)?;
    let update = Update {
        optimizer: Optimizer::Adam,
        step: 1,
        learning_rate: 1e-6,
        l1: 0.0,
        l2: 0.0,
        beta1: 0.9,
        beta2: 0.999,
        epsilon: 1e-8,
    };
    let children = n_children(&shards);
    let step = bench.clock(true, || sparse.update(&update, children))?;
    drop(sparse);
    let bytes: u64 = shards.iter().map(|shard| shard.n_bytes()).sum();
    let limit = SparseOptions { device_bytes: Some(bytes / 8), ..SparseOptions::default() };
    let streamed = pass(bench, &mut open(device, features, &limit)?, &shards, true)?;
    let accesses = accesses(features, &shards);
    let on_cuda = device.backend() == Backend::Cuda;
    let shares = accesses.filter(|_| on_cuda).map(|of| {
        let pass = of.reads as f64 * 32.0 / plain / COPY;
        let gradient = of.adds as f64 * 64.0 / (whole - plain).max(1e-9) / COPY;
        (pass, gradient)
    });
    let share = |share: Option<f64>| share.map_or("-".to_string(), percent);
    let cells = vec![
        number(children as f64),
        number(plain * 1e3),
        number(whole * 1e3),
        number(step * 1e3),
        number(streamed * 1e3),
        share(shares.map(|shares| shares.0)),
        share(shares.map(|shares| shares.1)),
    ];
    let line = json!({
        "children": children, "pass_s": plain, "pass_with_gradient_s": whole, "adam_s": step,
        "streamed_s": streamed, "position_bytes": bytes,
        "sectors_read": accesses.map(|of| of.reads), "sectors_added_to": accesses.map(|of| of.adds),
        "pass_of_copy": shares.map(|shares| shares.0), "gradient_of_copy": shares.map(|shares| shares.1),
    });
    Ok((cells, line))
}
