//! Before the flop: pushing or folding.

use serde::Deserialize;
use warpplay::Device;
use warpplay::cfr::preflop::{PushFold, PushFoldChart, class_name, class_number};
use warpplay_tests::backends::for_each_device;
use warpplay_tests::golden;

/// The published charts, `[row][column]`.
#[derive(Deserialize)]
struct Published {
    push: Vec<Vec<Option<f64>>>,
    call: Vec<Vec<Option<f64>>>,
}

/// How far from a published stack a hand is looked at: the charts are rounded to a tenth, and next to the edge of a hand pushing it and folding it are worth the same within a few thousandths of a
/// big blind.
const EDGE: f64 = 0.3;

#[test]
fn the_published_charts_come_out() {
    let published: Published = serde_json::from_str(&golden::text("cfr/push_fold.json")).expect("two charts");
    for stack in [4.0, 7.0, 10.0, 14.0] {
        let solved = PushFold::new(stack).solve(&Device::cpu(), 500).expect("solves");
        assert!(solved.exploitability < 1e-4, "{}", solved.exploitability);
        let mut n_compared = 0;
        for (seat, (chart, found)) in
            [(&published.push, &solved.push), (&published.call, &solved.call)].into_iter().enumerate()
        {
            for (class, largest) in chart.iter().flatten().enumerate() {
                let Some(largest) = largest else { continue };
                if (largest - stack).abs() > EDGE {
                    let what = format!("seat {seat} with {:?} and {stack}: {}", class_name(class), found[class]);
                    assert_eq!(found[class] > 0.5, stack < *largest, "{what}, published {largest}");
                    n_compared += 1;
                }
            }
        }
        // 165 hands of the first chart and 91 of the second, less those at the edge.
        assert!(n_compared > 230, "{n_compared}");
    }
}

#[test]
fn hands_with_gaps_have_them() {
    // 63s is pushed from 5.1 to 7.1 big blinds and below 2.3 (the same source).
    let games = [2.2, 4.0, 6.9, 8.0].map(PushFold::new);
    let chart =
        PushFoldChart::solve(&Device::cpu(), &games, 500, |_| std::ops::ControlFlow::Continue(())).expect("solves");
    let class = class_number("63s").expect("a class");
    let pushed: Vec<bool> = chart.solved.iter().map(|solved| solved.push[class] > 0.5).collect();
    assert_eq!(pushed, [true, false, true, false]);
    assert_eq!(
        (chart.largest_stack(0, class), chart.largest_stack(1, class_number("32o").expect("a class"))),
        (Some(6.9), Some(2.2))
    );
}

#[test]
fn every_device_solves_it() {
    // One iteration, since simt is slow.
    let on_cpu = PushFold::new(5.0).solve(&Device::cpu(), 1).expect("solves");
    for_each_device(|device| {
        let found = PushFold::new(5.0).solve(device, 1)?;
        // Sums over 28,561 deals whose probabilities add up to 1, of at most 5 big blinds: so many roundings of 2^-53 are 2e-11.
        for (found, expected) in [(found.value, on_cpu.value), (found.exploitability, on_cpu.exploitability)] {
            assert!((found - expected).abs() < 1e-9, "{found}, expected {expected} on {device}");
        }
        Ok(())
    });
}

#[test]
fn an_ante_makes_more_hands_stay_in() {
    let without = PushFold::new(8.0).solve(&Device::cpu(), 300).expect("solves");
    let ante = PushFold { ante: 0.25, ..PushFold::new(8.0) }.solve(&Device::cpu(), 300).expect("solves");
    assert!((0..2).all(|seat| ante.frequency(seat) > without.frequency(seat)), "more is in the middle");
}
