//! The dissertation's variants: sampled deals of C and D, one an iteration and many; D and B exactly.

use warpplay::cfr::{Algorithm, GameDef, Options, Sampling, Updates};
use warpplay::{Backend, Device};

use crate::games::{VARIANT_B, VARIANT_C, VARIANT_D};
use crate::measure::{Bench, HEADERS};
use crate::output::Table;

pub fn sampled(bench: &mut Bench) -> anyhow::Result<()> {
    let mut table = Table::new("SAMPLED DEALS, CFR simultaneous (wall time; a second: deals)", 3, &HEADERS);
    let device = bench.device.clone();
    for (name, text) in [("C", VARIANT_C), ("D", VARIANT_D)] {
        let game = GameDef::parse(text)?;
        for batch in [1, 32] {
            let options = Options {
                algorithm: Algorithm::Cfr,
                updates: Updates::Simultaneous,
                sampling: Sampling::Chance,
                batch,
                ..bench.options(&device)
            };
            let timed = bench.solve(&device, &game, options);
            bench.row(&mut table, "sampled", &format!("{name}, {batch} a launch"), &device, timed)?;
        }
    }
    table.print(&bench.output)
}

pub fn exact(bench: &mut Bench) -> anyhow::Result<()> {
    let mut table = Table::new("EXACT, all deals, CFR+ alternating (wall time)", 3, &HEADERS);
    let device = bench.device.clone();
    // All of B and D take the plain program, and the kernels played on the CPU, minutes.
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
    table.print(&bench.output)
}
