//! Hold'em spots: river, turn and flop with all hands, and limit hold'em from a flop on.

use warpplay::cfr::{Numbers, Options, Spot};
use warpplay::{Backend, Device};

use crate::measure::{Bench, HEADERS};
use crate::output::Table;

/// All hands on both sides, half the pot or all-in.
fn no_limit(turn_and_river: &str) -> warpplay::Result<Spot> {
    let text = format!(
        r#"{{"pot": 100, "effective_stack": 300, "bet_fraction_of_pot": 0.5, "flop": "Qs Jh 2h", {turn_and_river} "ranges": ["all", "all"]}}"#
    );
    Spot::parse(&text)
}

/// Limit betting as in the definition file of the competition, after a raised flop pot.
fn limit() -> warpplay::Result<Spot> {
    let text = r#"{"pot": 40, "effective_stack": 1000, "flop": "Qs Jh 2h", "limit": {"flop": 10, "turn": 20, "river": 20},
        "ranges": ["all", "all"]}"#;
    Spot::parse(text)
}

/// One spot on the device, and beside it on the CPU where that takes no minutes.
fn rows(
    bench: &mut Bench,
    section: &str,
    title: &str,
    spot: &Spot,
    numbers: &[Numbers],
    cpu: bool,
) -> anyhow::Result<()> {
    let mut table = Table::new(title, 3, &HEADERS);
    let device = bench.device.clone();
    if device.backend() == Backend::Cuda || (device.backend() == Backend::Simt && section == "river" && !bench.quick) {
        for &numbers in numbers {
            let options = Options { numbers, ..bench.options(&device) };
            let timed = bench.solve(&device, spot.clone(), options);
            bench.row(&mut table, section, &format!("one spot, {numbers}"), &device, timed)?;
        }
    }
    if cpu {
        for (name, threads) in bench.cpus() {
            let cpu = Device::cpu();
            let options = Options { threads, ..bench.options(&cpu) };
            let timed = bench.solve(&cpu, spot.clone(), options);
            bench.row(&mut table, section, name, &cpu, timed)?;
        }
    }
    table.print(&bench.output)
}

pub fn river(bench: &mut Bench) -> anyhow::Result<()> {
    let spot = no_limit(r#""turn": "2d", "river": "7c","#)?;
    rows(bench, "river", "RIVER, full ranges, CFR+ alternating (wall time)", &spot, &[Numbers::F32, Numbers::I16], true)
}

pub fn turn(bench: &mut Bench) -> anyhow::Result<()> {
    let spot = no_limit(r#""turn": "2d","#)?;
    let cpu = !bench.quick;
    rows(bench, "turn", "TURN, full ranges, CFR+ alternating (wall time)", &spot, &[Numbers::F32, Numbers::I16], cpu)
}

pub fn flop(bench: &mut Bench) -> anyhow::Result<()> {
    let title = "FLOP, full ranges, CFR+ alternating (wall time)";
    rows(bench, "flop", title, &no_limit("")?, &[Numbers::F32, Numbers::I16], false)
}

pub fn limit_flop(bench: &mut Bench) -> anyhow::Result<()> {
    if bench.quick {
        return bench.output.text("\nLIMIT is left out with --quick: it takes 43 GB.\n");
    }
    let title = "LIMIT hold'em from a flop on, full ranges, CFR+ alternating (wall time)";
    rows(bench, "limit", title, &limit()?, &[Numbers::F32, Numbers::I16], false)
}
