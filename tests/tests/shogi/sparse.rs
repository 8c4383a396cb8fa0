//! Learning of sparse features gives the same bits on every back end, for every set: evaluations' totals, gradients, steps of the optimisers.

use warpplay::shogi::{Evaluator, FeatureSet, Loss, Optimizer, Shard, Sparse, SparseOptions, Totals, Update};
use warpplay::{Device, Error};
use warpplay_gpu::shogi::piece::{NUMBERS, SQUARES};
use warpplay_tests::backends::for_each_device;
use warpplay_tests::learning::dataset;
use warpplay_tests::random::Random;

const PLAIN: SparseOptions = SparseOptions { device_bytes: None, threads: Some(1) };
const ALL_CORES: SparseOptions = SparseOptions { device_bytes: None, threads: None };

/// A number below `n`.
fn below(random: &mut Random, n: u32) -> u32 {
    random.below(n as usize) as u32
}

/// Parents and children that no rules made: any pieces, slots without one, kings anywhere, quiet lines of up to 40 changes, changes that change nothing.
fn wild(n_parents: u32, most_children: u32, seed: u64) -> Shard {
    let mut numbers = Random(seed);
    let (mut lists, mut sides, mut plies, mut games, mut played) = (vec![], vec![], vec![], vec![], vec![]);
    let (mut first_child, mut first_change, mut changes) = (vec![0], vec![0], vec![]);
    let number_at = |numbers: &mut Random, slot: u32| match slot {
        38.. => below(numbers, SQUARES) as u16,
        _ if below(numbers, 8) == 0 => 0,
        _ => below(numbers, NUMBERS) as u16,
    };
    for parent in 0..n_parents {
        let list: [u16; 40] = std::array::from_fn(|slot| number_at(&mut numbers, slot as u32));
        let n_children = if parent == 3 { 0 } else { 2 + below(&mut numbers, most_children - 1) };
        for child in 0..n_children {
            let chance = match below(&mut numbers, 20) {
                0 => 40,
                1..4 => 6,
                _ => 1,
            };
            let before = changes.len();
            for slot in 0..40 {
                if below(&mut numbers, 40) < chance {
                    let number =
                        if below(&mut numbers, 9) == 0 { list[slot as usize] } else { number_at(&mut numbers, slot) };
                    changes.push(slot << 16 | u32::from(number));
                }
            }
            // Some children equal child 0.
            if child > 0 && below(&mut numbers, 12) == 0 {
                changes.truncate(before);
                let first = *first_child.last().unwrap() as usize;
                let of_first = changes[first_change[first] as usize..first_change[first + 1] as usize].to_vec();
                changes.extend(of_first);
            }
            first_change.push(changes.len() as u32);
        }
        lists.push(list);
        sides.push(below(&mut numbers, 2) as u8);
        plies.push(below(&mut numbers, 300) as u16);
        games.push(u64::from(below(&mut numbers, u32::MAX)) << 31 ^ u64::from(below(&mut numbers, u32::MAX)));
        played.push(if n_children == 0 { 0 } else { 1 + below(&mut numbers, n_children - 1) as u16 });
        first_child.push(first_change.len() as u32 - 1);
    }
    Shard {
        differences: vec![0; first_change.len() - 1].into(),
        pieces: lists.into(),
        sides: sides.into(),
        plies: plies.into(),
        games: games.into(),
        first_child: first_child.into(),
        played: played.into(),
        first_change: first_change.into(),
        changes: changes.into(),
    }
}

/// Weights of any size, small in the table.
fn weights(features: FeatureSet) -> Vec<f32> {
    let mut weights = features.weights_of(&[2.5, 3.0, 4.5, 5.0, 7.0, 8.0, 5.5, 5.0, 5.0, 5.0, 9.5, 11.0]);
    let table = features.n_values();
    for (slot, weight) in weights.iter_mut().enumerate().skip(table) {
        *weight = ((slot as u64 * 2_654_435_761 % 65_521) as f32 / 65_521.0 - 0.5) / 8.0;
    }
    weights
}

fn sparse(device: &Device, features: FeatureSet, options: &SparseOptions) -> Result<Sparse, Error> {
    let mut sparse = Sparse::builder(features).options(*options).build(device)?;
    sparse.set_weights(&weights(features))?;
    Ok(sparse)
}

/// Two gradients are equal; says where not.
fn same_gradient(name: &str, got: &[i64], expected: &[i64]) {
    assert_eq!(got.len(), expected.len());
    let other: Vec<_> = (0..got.len()).filter(|&at| got[at] != expected[at]).take(8).collect();
    let shown: Vec<_> = other.iter().map(|&at| (at, got[at], expected[at])).collect();
    assert!(shown.is_empty(), "{name}: parameter, got, expected: {shown:?}");
}

/// Totals and gradient by the plain program.
fn plain(features: FeatureSet, shards: &[&Shard], loss: &Loss) -> (Totals, Vec<i64>) {
    let mut plain = sparse(&Device::cpu(), features, &PLAIN).unwrap();
    (plain.pass(shards, loss, true).unwrap(), plain.gradient().unwrap())
}

fn check(features: FeatureSet, shard: &Shard, losses: &[Loss]) {
    for loss in losses {
        let (totals, gradient) = plain(features, &[shard], loss);
        assert!(gradient.iter().any(|&g| g != 0));
        let mut parallel = sparse(&Device::cpu(), features, &ALL_CORES).unwrap();
        assert_eq!(parallel.pass(&[shard], loss, true).unwrap(), totals, "{features}: all cores");
        same_gradient("all cores", &parallel.gradient().unwrap(), &gradient);
        for_each_device(|device| {
            let mut sparse = sparse(device, features, &SparseOptions::default())?;
            assert_eq!(sparse.pass(&[shard], loss, true)?, totals, "{features} with {loss:?}");
            same_gradient(&format!("{features} on {device}"), &sparse.gradient()?, &gradient);
            // The second pass finds the shard on the device; without gradient the last one stays.
            assert_eq!(sparse.pass(&[shard], loss, false)?, totals);
            same_gradient("kept", &sparse.gradient()?, &gradient);
            Ok(())
        });
    }
}

fn all_losses() -> Vec<Loss> {
    let plain = Loss::default();
    vec![plain, Loss { a: 0.7, window: 6.0, siblings: 5, seed: 11 }]
}

#[test]
fn small_sets_agree_on_wild_positions() {
    let shard = wild(12, 24, 1);
    for features in [FeatureSet::Material, FeatureSet::MaterialHand, FeatureSet::PieceSquare] {
        check(features, &shard, &all_losses());
    }
}

#[test]
fn kings_and_pieces_agree_on_wild_positions() {
    let shard = wild(12, 24, 2);
    check(FeatureSet::KingPiece, &shard, &all_losses());
    check(FeatureSet::KingKingPiece, &shard, &all_losses()[1..]);
}

#[test]
fn pairs_agree_on_wild_positions() {
    check(FeatureSet::KingPiecePiece, &wild(8, 16, 3), &all_losses()[1..]);
}

#[test]
fn positions_of_games_agree() {
    for shard in dataset(0..2, 40..80, 9, 1000).shards() {
        check(FeatureSet::KingPiece, shard, &all_losses()[..1]);
        check(FeatureSet::KingPiecePiece, shard, &all_losses()[..1]);
    }
}

fn step(optimizer: Optimizer, step: u32) -> Update {
    Update { optimizer, step, learning_rate: 0.02, l1: 1e-4, l2: 1e-3, beta1: 0.9, beta2: 0.99, epsilon: 1e-6 }
}

const OPTIMIZERS: [Optimizer; 5] =
    [Optimizer::Sign, Optimizer::Gd, Optimizer::Momentum, Optimizer::AdaGrad, Optimizer::Adam];

/// Weights and memory after steps, each behind a pass.
fn learnt(mut sparse: Sparse, shard: &Shard, optimizer: Optimizer) -> Result<(Vec<Totals>, Vec<Vec<f32>>), Error> {
    let mut all = Vec::new();
    for number in 1..=3 {
        let totals = sparse.pass(&[shard], &Loss::default(), true)?;
        sparse.update(&step(optimizer, number), totals.children)?;
        all.push(totals);
    }
    sparse.scale(0.97)?;
    let mut arrays = sparse.memory()?;
    arrays.push(sparse.weights()?);
    Ok((all, arrays))
}

#[test]
fn steps_of_all_optimizers_have_the_same_bits() {
    let shard = wild(6, 12, 4);
    let features = FeatureSet::PieceSquare;
    for optimizer in OPTIMIZERS {
        let expected = learnt(sparse(&Device::cpu(), features, &PLAIN).unwrap(), &shard, optimizer).unwrap();
        assert_eq!(expected.1.last().unwrap()[0], 1.0, "the pawn does not move");
        assert_ne!(*expected.1.last().unwrap(), weights(features));
        let cores = learnt(sparse(&Device::cpu(), features, &ALL_CORES).unwrap(), &shard, optimizer).unwrap();
        assert!(cores == expected, "{optimizer}");
        for_each_device(|device| {
            let got = learnt(sparse(device, features, &SparseOptions::default())?, &shard, optimizer)?;
            assert_eq!(got.0, expected.0);
            assert!(got == expected, "{optimizer} on {device}");
            Ok(())
        });
    }
}

#[test]
fn what_was_saved_goes_on_as_if_nothing_had_been() {
    let shard = wild(4, 10, 5);
    let features = FeatureSet::MaterialHand;
    for optimizer in [Optimizer::Momentum, Optimizer::Adam] {
        let run = |device: &Device, stop: bool| -> Result<Vec<f32>, Error> {
            let mut sparse = sparse(device, features, &ALL_CORES)?;
            for number in 1..=4 {
                let totals = sparse.pass(&[&shard], &Loss::default(), true)?;
                sparse.update(&step(optimizer, number), totals.children)?;
                if stop && number == 2 {
                    let (weights, memory, gradient) = (sparse.weights()?, sparse.memory()?, sparse.gradient()?);
                    sparse = Sparse::builder(features).options(ALL_CORES).build(device)?;
                    sparse.set_weights(&weights)?;
                    sparse.set_memory(&memory)?;
                    sparse.set_gradient(&gradient)?;
                    assert_eq!(sparse.gradient()?, gradient);
                }
            }
            sparse.weights()
        };
        let expected = run(&Device::cpu(), false).unwrap();
        assert_eq!(run(&Device::cpu(), true).unwrap(), expected);
        for_each_device(|device| {
            assert_eq!(run(device, true)?, expected);
            Ok(())
        });
    }
}

/// Parents `range` of a shard, as a shard.
fn cut(shard: &Shard, range: std::ops::Range<usize>) -> Shard {
    let children = shard.first_child[range.start] as usize..shard.first_child[range.end] as usize;
    let changes = shard.first_change[children.start] as usize..shard.first_change[children.end] as usize;
    let from = |column: &[u32], first: usize| column.iter().map(|&at| at - first as u32).collect::<Vec<_>>();
    Shard {
        pieces: shard.pieces[range.clone()].to_vec().into(),
        sides: shard.sides[range.clone()].to_vec().into(),
        plies: shard.plies[range.clone()].to_vec().into(),
        games: shard.games[range.clone()].to_vec().into(),
        played: shard.played[range.clone()].to_vec().into(),
        first_child: from(&shard.first_child[range.start..=range.end], children.start).into(),
        differences: shard.differences[children.clone()].to_vec().into(),
        first_change: from(&shard.first_change[children.start..=children.end], changes.start).into(),
        changes: shard.changes[changes].to_vec().into(),
    }
}

#[test]
fn shards_and_pieces_of_any_size_give_the_same_sums() {
    let whole = wild(23, 12, 6);
    let parts = [cut(&whole, 0..1), cut(&whole, 1..9), cut(&whole, 9..9), cut(&whole, 9..23)];
    let parts: Vec<&Shard> = parts.iter().collect();
    let features = FeatureSet::KingPiece;
    let loss = Loss { siblings: 6, ..Loss::default() };
    let (totals, gradient) = plain(features, &[&whole], &loss);
    assert_eq!(plain(features, &parts, &loss), (totals, gradient.clone()));
    for_each_device(|device| {
        // All there is room for; some shards; none, in pieces of a few parents.
        for bytes in [None, Some(12_000), Some(3_000)] {
            let options = SparseOptions { device_bytes: bytes, threads: None };
            let mut sparse = sparse(device, features, &options)?;
            let mut allocations = 0;
            for (turn, shards) in
                [&parts[..], &[&whole][..], &parts[..], &[&whole][..], &parts[..1]].into_iter().enumerate()
            {
                let got = sparse.pass(shards, &loss, true)?;
                if turn < 4 {
                    assert_eq!(got, totals, "{bytes:?}");
                    same_gradient(&format!("{bytes:?} in turn {turn}"), &sparse.gradient()?, &gradient);
                }
                if turn == 1 {
                    allocations = device.allocations();
                }
            }
            if bytes.is_none() {
                assert_eq!(device.allocations(), allocations, "shards stay where they are");
            }
        }
        let options = SparseOptions { device_bytes: Some(100), threads: None };
        let error = sparse(device, features, &options)?.pass(&[&whole], &loss, true).unwrap_err().to_string();
        assert!(error.starts_with("option device_bytes: ") && error.contains("room for two parents"), "{error}");
        Ok(())
    });
}

#[test]
fn a_shard_that_changed_is_read_again_after_forgetting() {
    let mut shard = wild(4, 10, 7);
    for_each_device(|device| {
        let mut shard = shard.clone();
        let mut sparse = sparse(device, FeatureSet::Material, &SparseOptions::default())?;
        sparse.pass(&[&shard], &Loss::default(), true)?;
        shard.pieces.to_mut()[0][5] = 900;
        let side = &mut shard.sides.to_mut()[1];
        *side = 1 - *side;
        sparse.forget()?;
        let got = (sparse.pass(&[&shard], &Loss::default(), true)?, sparse.gradient()?);
        assert_eq!(got, plain(FeatureSet::Material, &[&shard], &Loss::default()));
        Ok(())
    });
    shard.sides.to_mut()[0] = 2;
    let mut on_cpu = sparse(&Device::cpu(), FeatureSet::Material, &PLAIN).unwrap();
    assert!(on_cpu.pass(&[&shard], &Loss::default(), false).is_err());
}

#[test]
fn single_positions_have_the_values_of_the_definition() {
    use warpplay_cpu_ref::shogi::sparse::{Set, evaluate};
    let shard = wild(20, 3, 8);
    for (&features, set) in FeatureSet::ALL.iter().zip(Set::ALL) {
        if features == FeatureSet::KingKingPiece {
            continue;
        }
        let evaluator = Evaluator::new(features, weights(features)).unwrap();
        for list in shard.pieces.iter() {
            assert_eq!(evaluator.evaluate(list).unwrap(), evaluate(set, evaluator.weights(), list), "{features}");
        }
    }
}

#[test]
fn what_is_wrong_is_named() {
    let good = wild(5, 8, 9);
    let with = |change: &dyn Fn(&mut Shard)| {
        let mut shard = good.clone();
        change(&mut shard);
        shard
    };
    let bad: Vec<(Shard, &str)> = vec![
        (with(&|s| s.sides.to_mut().truncate(2)), "column sides of a shard: expected 5, got 2"),
        (with(&|s| s.sides.to_mut()[4] = 2), "side of parent 4: expected 0 or 1, got 2"),
        (with(&|s| s.first_child.to_mut()[0] = 1), "column first_child of a shard: expected 0 at first, got 1"),
        (
            with(&|s| s.first_child.to_mut()[1] = 9999),
            "column first_child of a shard: expected values that do not descend",
        ),
        (with(&|s| s.first_change.to_mut().truncate(3)), "column first_change of a shard"),
        (with(&|s| s.changes.to_mut().push(5)), "column first_change of a shard: expected 24 at the end, got 23"),
        (with(&|s| s.played.to_mut()[0] = 0), "played move of parent 0"),
        (with(&|s| s.pieces.to_mut()[2][7] = NUMBERS as u16), "slot 7 of parent 2: expected below 2183, got 2183"),
        (with(&|s| s.pieces.to_mut()[2][39] = 81), "slot 39 of parent 2: expected below 81, got 81"),
        (with(&|s| s.changes.to_mut()[0] = 40 << 16), "slot of change 0: expected below 40, got 40"),
        (with(&|s| s.changes.to_mut()[0] = 38 << 16 | 81), "number of change 0 at slot 38: expected below 81, got 81"),
    ];
    let check = |device: &Device| -> Result<(), Error> {
        let features = FeatureSet::Material;
        let mut sparse = sparse(device, features, &PLAIN)?;
        for (shard, expected) in &bad {
            let error = sparse.pass(&[shard], &Loss::default(), true).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}\nnot {expected}");
        }
        let text = |result: Result<(), Error>| result.unwrap_err().to_string();
        let mut loss = |loss| text(sparse.pass(&[&good], &loss, false).map(drop));
        assert!(loss(Loss { a: 0.0, ..Loss::default() }).starts_with("option a: 0 is not allowed"));
        assert!(loss(Loss { window: f64::NAN, ..Loss::default() }).starts_with("option window: NaN is not allowed"));
        assert!(text(sparse.set_weights(&[1.0; 14])).starts_with("weights of material: expected 13, got 14"));
        assert!(text(sparse.set_weights(&[f32::INFINITY; 13])).starts_with("option weight: inf is not allowed"));
        assert!(text(sparse.set_gradient(&[1; 3])).starts_with("gradient of material"));
        assert!(text(sparse.set_memory(&[vec![0.0; 12]])).starts_with("memory of an optimiser"));
        assert!(text(sparse.update(&step(Optimizer::Lbfgs, 1), 5)).starts_with("option optimizer: lbfgs"));
        assert!(text(sparse.update(&step(Optimizer::Gd, 0), 5)).starts_with("option step: 0"));
        assert!(text(sparse.update(&step(Optimizer::Gd, 1), 0)).starts_with("option children: 0"));
        let nan = Update { learning_rate: f32::NAN, ..step(Optimizer::Gd, 1) };
        assert!(text(sparse.update(&nan, 5)).starts_with("option learning_rate: NaN"));
        sparse.pass(&[&good], &Loss::default(), true)?;
        let large = Update { learning_rate: 1e9, ..step(Optimizer::Sign, 1) };
        let error = text(sparse.update(&large, 5));
        assert!(
            error.starts_with("option learning_rate: 1000000000 is not allowed") && error.contains("1024"),
            "{error}"
        );
        sparse.set_weights(&weights(features))?;
        assert!(text(sparse.scale(f32::NAN)).starts_with("option factor: NaN"));
        assert!(text(sparse.scale(1e4)).starts_with("option factor: 10000"));
        Ok(())
    };
    check(&Device::cpu()).unwrap();
    for_each_device(check);
}
