//! The dissertation's programs, and the batched ones that came of them, do what the reference runs of sampled deals say.

use serde_json::Value;
use warpplay::cfr::thesis::{Options, Program, Run};
use warpplay::cfr::{GameDef, Numbers};
use warpplay::{Backend, Device};
use warpplay_tests::backends::{for_each_device, gpu};
use warpplay_tests::tolerance::{Tolerance, close};
use warpplay_tests::{Checked, golden};

/// Double precision with sums in another order.
const DOUBLE: Tolerance = Tolerance { abs: 1e-9, rel: 1e-9 };

fn reference() -> Option<Value> {
    let path = golden::shared("vectors/cfr_reference.json")?;
    let text = std::fs::read_to_string(path).expect("the reference file");
    Some(serde_json::from_str(&text).expect("JSON"))
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("an array").iter().map(|number| number.as_f64().expect("a number")).collect()
}

fn game(name: &str) -> Option<GameDef> {
    let path = golden::shared(&format!("games/poker/{name}.game"))?;
    Some(GameDef::read(path).expect("a game"))
}

/// Runs one program to each checkpoint up to `last` and compares all that is known of it.
fn follow(device: &Device, name: &str, options: &Options, last: u64) -> Checked {
    let (Some(reference), Some(game)) = (reference(), game(name)) else { return Ok(()) };
    let sampled = &reference["sampled_one_deal_per_iteration"];
    let expected = &sampled["games"][name];
    let seed = sampled["lcg_seed"].as_u64().expect("a seed");
    let mut run = Run::build(device, &game, &Options { seed, ..*options })?;
    assert_eq!(u64::from(run.n_sequences()), expected["sequences"].as_u64().expect("a count"));
    assert_eq!(u64::from(run.n_buckets()), expected["buckets"].as_u64().expect("a count"));
    let checkpoints = expected["checkpoints"].as_object().expect("checkpoints");
    let mut at: Vec<u64> = checkpoints.keys().map(|key| key.parse().expect("a number")).collect();
    at.sort_unstable();
    for iteration in at.into_iter().filter(|&iteration| iteration <= last) {
        let what = |part: &str| format!("{name} on {device} by {}, iteration {iteration}: {part}", options.program);
        let point = &checkpoints[&iteration.to_string()];
        run.iterate((iteration - run.iterations()) as u32)?;
        close(&what("utilities"), &run.utilities()?, &numbers(&point["utility_sum"]), DOUBLE);
        let sums = run.checksums()?;
        let got = [sums.regrets, sums.regret_sizes, sums.averages];
        let known = ["regret_sum", "regret_abs_sum", "average_sum"].map(|key| point[key].as_f64().expect("a sum"));
        close(&what("tables"), &got, &known, DOUBLE);
        let deals = expected["deals"].as_array().expect("deals");
        if let Some(deal) = deals.get(iteration as usize - 1) {
            let set = run.set(0, deal["bucket"][0].as_u64().expect("a bucket") as u32)?;
            close(&what("regrets of the root"), &set.regrets, &numbers(&point["root_regret_of_this_deal"]), DOUBLE);
            close(&what("averages of the root"), &set.averages, &numbers(&point["root_average_of_this_deal"]), DOUBLE);
        }
    }
    Ok(())
}

const PLAIN: Options = Options {
    program: Program::Levels,
    block: 64,
    threads: 2,
    seed: 1,
    numbers: Numbers::F64,
    shared: true,
    constant: true,
    flattened: true,
    renumbered: true,
};

#[test]
fn the_published_program_follows_the_reference() {
    for_each_device(|device| {
        follow(device, "variant_a", &PLAIN, 1000)?;
        follow(device, "kuhn.limit.3p", &PLAIN, 1000)
    });
}

#[test]
fn each_of_its_devices_can_be_left_out() {
    for_each_device(|device| {
        for without in 0..16 {
            let options = Options {
                shared: without & 1 == 0,
                constant: without & 2 == 0,
                flattened: without & 4 == 0,
                renumbered: without & 8 == 0,
                ..PLAIN
            };
            follow(device, "variant_a", &options, 100)?;
            follow(device, "kuhn.limit.3p", &options, 100)?;
        }
        Ok(())
    });
}

#[test]
fn our_program_for_one_deal_follows_the_reference() {
    for_each_device(|device| {
        let options = Options { program: Program::Graph, ..PLAIN };
        follow(device, "variant_a", &options, 1000)?;
        follow(device, "kuhn.limit.3p", &options, 1000)
    });
}

#[test]
fn eight_players_follow_the_reference() {
    for_each_device(|device| {
        // 616,592 sequences: one deal is enough for the CPU.
        let last = if device.backend() == Backend::Simt { 1 } else { 10 };
        follow(device, "variant_d", &PLAIN, last)
    });
}

#[test]
fn five_players_with_six_thousand_hands_follow_the_reference() -> Checked {
    let Some(device) = gpu() else { return Ok(()) };
    for program in [Program::Levels, Program::Graph] {
        follow(&device, "variant_c", &Options { program, ..PLAIN }, 100)?;
        follow(&device, "variant_d", &Options { program, ..PLAIN }, 10)?;
    }
    Ok(())
}
