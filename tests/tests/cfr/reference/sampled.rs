//! The paper's programs.

use std::sync::Arc;

use serde_json::Value;
use warpplay_cpu_ref::cfr::poker::Rules;
use warpplay_cpu_ref::cfr::sampled::{Dealer, N_ACTIONS, Sampled, Sequences, Workspace};
use warpplay_tests::golden;
use warpplay_tests::tolerance::{Tolerance, close, same};

use super::read::{Reference, floats, number, rules};

/// Sums over tables of another layout, of numbers printed with twelve digits.
const SUMS: Tolerance = Tolerance { abs: 1e-8, rel: 1e-9 };

fn rules_of(name: &str) -> Rules {
    rules(&golden::text(&format!("cfr/games/{name}.game")))
}

fn integers(value: &Value) -> Vec<usize> {
    floats(value).into_iter().map(|value| value as usize).collect()
}

/// The order of hands: the index of each among the distinct strengths.
fn order(strengths: &[usize]) -> Vec<usize> {
    strengths.iter().map(|strength| strengths.iter().filter(|other| *other < strength).count()).collect()
}

fn check_deals(name: &str, of: &Value) {
    let rules = rules_of(name);
    let mut dealer = Dealer::new(1);
    for expected in of["deals"].as_array().expect("deals") {
        let dealt = dealer.deal(&rules);
        let cards: Vec<usize> = dealt.cards.iter().map(|&card| usize::from(card)).collect();
        same(&format!("{name}: cards"), &cards, &integers(&expected["cards"]));
        same(&format!("{name}: buckets"), &dealt.buckets[0], &integers(&expected["bucket"]));
        let strengths: Vec<usize> = dealt.strengths.iter().map(|&strength| strength as usize).collect();
        same(&format!("{name}: strengths"), &order(&strengths), &order(&integers(&expected["strength"])));
    }
}

/// Runs a program over the checkpoints up to `last`.
fn check(name: &str, last: u64, iterate: impl Fn(&mut Sampled, &mut Dealer) -> usize) {
    let reference = Reference::open();
    let of = &reference.0["sampled_one_deal_per_iteration"]["games"][name];
    check_deals(name, of);
    let sequences = Arc::new(Sequences::new(&rules_of(name)));
    assert_eq!(sequences.all.len(), number(&of["sequences"]) as usize, "{name}: sequences");
    assert_eq!(sequences.all.len() + sequences.endings.len(), number(&of["nodes"]) as usize, "{name}: nodes");
    assert_eq!(sequences.n_buckets(0), number(&of["buckets"]) as usize, "{name}: buckets");
    let mut solve = Sampled::new(sequences.clone());
    let mut dealer = Dealer::new(1);
    for iteration in 1..=last {
        let bucket = iterate(&mut solve, &mut dealer);
        let Some(point) = of["checkpoints"].get(iteration.to_string()) else { continue };
        let what = format!("{name}, deal {iteration}");
        close(&what, &solve.utilities, &floats(&point["utility_sum"]), SUMS);
        let sums = [
            solve.regrets.iter().sum(),
            solve.regrets.iter().map(|regret| regret.abs()).sum(),
            solve.averages.iter().sum(),
        ];
        let expected = ["regret_sum", "regret_abs_sum", "average_sum"].map(|key| number(&point[key]));
        close(&what, &sums, &expected, SUMS);
        let root = sequences.row(0, bucket);
        let root = root..root + N_ACTIONS;
        close(&what, &solve.regrets[root.clone()], &floats(&point["root_regret_of_this_deal"]), SUMS);
        close(&what, &solve.averages[root], &floats(&point["root_average_of_this_deal"]), SUMS);
    }
}

fn recursive(solve: &mut Sampled, dealer: &mut Dealer) -> usize {
    let dealt = dealer.deal(solve.sequences().rules());
    solve.recursive(&dealt);
    dealt.buckets[0][0]
}

fn by_levels(solve: &mut Sampled, dealer: &mut Dealer) -> usize {
    let dealt = dealer.deal(solve.sequences().rules());
    let mut workspace = Workspace::new(solve.sequences());
    solve.by_levels(&dealt, &mut workspace);
    dealt.buckets[0][0]
}

#[test]
fn small_games_follow_the_references_deals() {
    for name in ["variant_a", "kuhn.limit.3p"] {
        check(name, 1000, recursive);
        check(name, 1000, by_levels);
    }
}

// Two tables of 1 GB: each deal touches one page of every sequence, so few deals are looked at.
#[test]
fn variant_c_follows_the_references_deals() {
    check("variant_c", 3, recursive);
    check("variant_c", 3, by_levels);
}

#[test]
fn variant_d_follows_the_references_deals() {
    check("variant_d", 3, recursive);
    check("variant_d", 10, by_levels);
}

#[test]
fn both_programs_give_the_same_bits_in_games_of_several_rounds() {
    let sequences = Arc::new(Sequences::new(&rules_of("leduc.limit.3p")));
    let [mut deep, mut wide] = [0; 2].map(|_| Sampled::new(sequences.clone()));
    let [mut dealer, mut again] = [0; 2].map(|_| Dealer::new(5));
    for _ in 0..200 {
        recursive(&mut deep, &mut dealer);
        by_levels(&mut wide, &mut again);
    }
    same("regrets", &deep.regrets, &wide.regrets);
    same("averages", &deep.averages, &wide.averages);
    same("utilities", &deep.utilities, &wide.utilities);
}

#[test]
fn levels_are_those_of_the_published_table() {
    for (name, n_levels) in [("variant_a", 3), ("variant_b", 3), ("variant_c", 21), ("variant_d", 29)] {
        assert_eq!(Sequences::new(&rules_of(name)).n_levels(), n_levels, "{name}");
    }
}
