//! Hold'em spots: river, turn and flop with all hands, and limit hold'em from a flop on.

use warpplay::cfr::{Options, Solver, Spot, SpotRun, solve_spots};
use warpplay::{Backend, Device, Precision, Result};

use crate::measure::{Bench, HEADERS, Timed, moved_bytes};
use crate::output::Table;

/// All hands on both sides, half the pot or all-in.
fn no_limit(turn_and_river: &str) -> Result<Spot> {
    let text = format!(
        r#"{{"pot": 100, "effective_stack": 300, "bet_fraction_of_pot": 0.5, "flop": "Qs Jh 2h", {turn_and_river} "ranges": ["all", "all"]}}"#
    );
    Spot::parse(&text)
}

/// Limit betting as in the definition file of the competition, after a raised flop pot.
fn limit() -> Result<Spot> {
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
    precision: &[Precision],
    cpu: bool,
) -> anyhow::Result<()> {
    let mut table = Table::new(title, 3, &HEADERS);
    let device = bench.device.clone();
    if device.backend() == Backend::Cuda || (device.backend() == Backend::Simt && section == "river" && !bench.quick) {
        for &precision in precision {
            let options = Options { precision, ..bench.options(&device) };
            let timed = bench.solve(&device, spot.clone(), options);
            bench.row(&mut table, section, &format!("one spot, {precision}"), &device, timed)?;
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
    table.print(&mut bench.output)
}

/// Many spots side by side; a second: iterations of all of them together. The time is that of the iterations alone, as the reports have it: laying out and measuring on the host take longer than the
/// iterations and differ by more than them from run to run.
fn many(bench: &Bench, device: &Device, spot: &Spot, n_spots: usize) -> Result<Timed> {
    let options = bench.options(device);
    let spots = vec![spot.clone(); n_spots];
    let devices = [device.clone()];
    let time = |iterations: u32| -> Result<f64> {
        let options = Options { iterations: iterations.into(), ..options };
        let run = SpotRun { options, measure_at: Vec::new(), ..SpotRun::default() };
        let reports = solve_spots(&devices, &spots, &run, |_| std::ops::ControlFlow::Continue(()))?;
        let reports = reports.into_iter().collect::<Result<Vec<_>>>()?;
        // All spots are of one batch, whose time each report has.
        Ok(reports.first().map_or(f64::NAN, |report| report.seconds))
    };
    let n: u32 = if bench.quick { 100 } else { 2_000 };
    let seconds = time(n)? / f64::from(n);
    let plan = Solver::builder(spot).options(options).plan(device)?;
    let infoset_actions = plan.infoset_actions() * n_spots as u64;
    Ok(Timed {
        seconds,
        units: n_spots as f64,
        engine: plan.engine().to_string(),
        infoset_actions,
        bytes: plan.memory_needed().device() * n_spots as u64,
        moved: infoset_actions as f64 * moved_bytes(&options),
        n: n.into(),
    })
}

pub fn river(bench: &mut Bench) -> anyhow::Result<()> {
    let spot = no_limit(r#""turn": "2d", "river": "7c","#)?;
    let device = bench.device.clone();
    if device.backend() == Backend::Cuda {
        let mut table = Table::new("RIVERS, many at once, CFR+ alternating (time of the iterations)", 3, &HEADERS);
        for n_spots in [132, 528] {
            let timed = many(bench, &device, &spot, n_spots);
            bench.row(&mut table, "rivers", &format!("{n_spots} spots, f32"), &device, timed)?;
        }
        table.print(&mut bench.output)?;
    }
    rows(
        bench,
        "river",
        "RIVER, full ranges, CFR+ alternating (wall time)",
        &spot,
        &[Precision::F32, Precision::I16],
        true,
    )
}

pub fn turn(bench: &mut Bench) -> anyhow::Result<()> {
    let spot = no_limit(r#""turn": "2d","#)?;
    let cpu = !bench.quick;
    rows(
        bench,
        "turn",
        "TURN, full ranges, CFR+ alternating (wall time)",
        &spot,
        &[Precision::F32, Precision::I16],
        cpu,
    )
}

pub fn flop(bench: &mut Bench) -> anyhow::Result<()> {
    let title = "FLOP, full ranges, CFR+ alternating (wall time)";
    rows(bench, "flop", title, &no_limit("")?, &[Precision::F32, Precision::I16], false)
}

pub fn limit_flop(bench: &mut Bench) -> anyhow::Result<()> {
    if bench.quick {
        return bench.output.text("\nLIMIT is left out with --quick: it takes 43 GB.\n");
    }
    let title = "LIMIT hold'em from a flop on, full ranges, CFR+ alternating (wall time)";
    rows(bench, "limit", title, &limit()?, &[Precision::F32, Precision::I16], false)
}
