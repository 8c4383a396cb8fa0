//! The paper's variants: sampled deals of C and D, one a launch and many; D and B exactly. Its own programs are timed by `warpplay papers cfr_thesis`.

use warpplay::cfr::engines::walk::{Information, Sampler};
use warpplay::cfr::{Algorithm, GameDef, Options, Sampling, Updates};
use warpplay::{Backend, Device, Result};

use crate::games::{VARIANT_B, VARIANT_C, VARIANT_D};
use crate::measure::{Bench, HEADERS, Timed};
use crate::output::Table;

pub fn sampled(bench: &mut Bench) -> anyhow::Result<()> {
    let mut table = Table::new("SAMPLED DEALS, CFR simultaneous (wall time; a second: deals)", 3, &HEADERS);
    let device = bench.device.clone();
    for (name, text) in [("C", VARIANT_C), ("D", VARIANT_D)] {
        let game = GameDef::parse(text)?;
        for batch in [1, 32] {
            let timed = batched(bench, &device, &game, batch);
            bench.row(&mut table, "sampled", &format!("{name}, {batch} a launch"), &device, timed)?;
        }
    }
    table.print(&mut bench.output)
}

/// Many deals at once, with the paper's buckets.
fn batched(bench: &Bench, device: &Device, game: &GameDef, batch: u32) -> Result<Timed> {
    let options = Options {
        algorithm: Algorithm::Cfr,
        updates: Updates::Simultaneous,
        sampling: Sampling::Chance,
        batch,
        ..bench.options(device)
    };
    let mut sampler = Sampler::build(device, game, &Information::Unordered, &options)?;
    let (seconds, n) = bench.clock(|n| sampler.run(n))?;
    let infoset_actions = u64::from(sampler.n_sequences()) * game.thesis_buckets() * 3;
    let bytes = sampler.memory_needed().device() + sampler.memory_needed().host();
    Ok(Timed { seconds, units: batch.into(), engine: "walk".into(), infoset_actions, bytes, moved: f64::NAN, n })
}

pub fn exact(bench: &mut Bench) -> anyhow::Result<()> {
    let mut table = Table::new("EXACT, all deals, CFR+ alternating (wall time)", 3, &HEADERS);
    let device = bench.device.clone();
    // All of B and D take the reference, and the kernels played on the CPU, minutes.
    if device.backend() == Backend::Cuda {
        for (name, text) in [("D", VARIANT_D), ("B", VARIANT_B)] {
            let game = GameDef::parse(text)?;
            let timed = bench.solve(&device, &game, bench.options(&device));
            bench.row(&mut table, "exact", name, &device, timed)?;
        }
        if !bench.quick {
            let cpu = Device::cpu();
            let game = GameDef::parse(VARIANT_B)?;
            let timed = bench.solve(&cpu, &game, bench.options(&cpu));
            bench.row(&mut table, "exact", "B, cpu-ref, all cores", &cpu, timed)?;
        }
    } else {
        table.note("left out: D and B exactly are for a GPU".into());
    }
    table.print(&mut bench.output)
}
