//! The library's data sets and evaluations against the plain rules and the plain lists of features.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::AtomicI64;

use rayon::prelude::*;
use warpplay::shogi::dataset::Dataset;
use warpplay::shogi::records::{Records, read};
use warpplay::shogi::{Evaluator, FeatureSet, Shard, Window};
use warpplay_cpu_ref::shogi::rules::{Move, Position, children};
use warpplay_cpu_ref::shogi::sparse::{self, Columns, Loss, Set, rounded};
use warpplay_tests::random::Random;

/// Every set of the library, and the same of the plain learner.
pub const SETS: [(FeatureSet, Set); 6] = [
    (FeatureSet::Material, Set::Material),
    (FeatureSet::MaterialHand, Set::MaterialHand),
    (FeatureSet::PieceSquare, Set::PieceSquare),
    (FeatureSet::KingPiece, Set::KingPiece),
    (FeatureSet::KingKingPiece, Set::KingKingPiece),
    (FeatureSet::KingPiecePiece, Set::KingPiecePiece),
];

/// A shard's columns.
pub fn columns(shard: &Shard) -> Columns<'_> {
    Columns {
        pieces: &shard.pieces,
        sides: &shard.sides,
        plies: &shard.plies,
        games: &shard.games,
        first_child: &shard.first_child,
        played: &shard.played,
        first_change: &shard.first_change,
        changes: &shard.changes,
    }
}

/// The first games of a file, and a data set of some of their half-moves.
pub fn built(path: &Path, n_games: usize, plies: &str) -> (Records, Dataset) {
    let mut records = read(path, warpplay::Progress::go_on).unwrap();
    records.games.truncate(n_games);
    let plies: Window = plies.parse().unwrap();
    let dataset = Dataset::builder().plies(plies).shard_parents(1000).build(&records).unwrap();
    (records, dataset)
}

/// A list whose order does not matter.
fn sorted(mut list: [u16; 40]) -> [u16; 40] {
    list[..38].sort_unstable();
    list
}

/// Every parent and child of the data set is one of the plain rules', with the same difference.
pub fn check_dataset(records: &Records, dataset: &Dataset, plies: Window) {
    let parents: Vec<(&Shard, usize)> =
        dataset.shards().iter().flat_map(|shard| (0..shard.n_parents()).map(move |parent| (shard, parent))).collect();
    let mut expected = Vec::new();
    for game in &records.games {
        let mut position = Position::start();
        for (ply, mv) in game.moves().iter().enumerate().take(plies.end as usize) {
            let mv = Move::from_usi(&mv.to_string()).unwrap();
            if plies.contains(ply as u32) {
                expected.push((game.hash(), position.clone(), mv));
            }
            position = position.after(mv);
        }
    }
    assert_eq!(parents.len(), expected.len());
    parents.into_par_iter().zip(expected).for_each(|((shard, parent), (game, position, mv))| {
        assert_eq!(sorted(shard.pieces[parent]), sorted(position.list()));
        assert_eq!(usize::from(shard.sides[parent]), position.side);
        assert_eq!((u32::from(shard.plies[parent]), shard.games[parent]), (position.ply, game));
        let children = children(&position, mv).unwrap();
        let range = shard.children(parent);
        assert_eq!(range.len(), children.positions.len());
        let lists: Vec<_> = range.clone().map(|child| sorted(columns(shard).list(parent, child))).collect();
        assert_eq!(lists[0], sorted(children.positions[0].list()));
        assert_eq!(lists[usize::from(shard.played[parent])], lists[0]);
        let mut found: HashMap<_, _> = children.positions[1..]
            .iter()
            .zip(&children.differences[1..])
            .map(|(p, d)| (sorted(p.list()), d))
            .collect();
        assert_eq!(shard.differences[range.start], 0);
        for (list, child) in lists.iter().zip(range).skip(1) {
            assert_eq!(found.remove(list), Some(&shard.differences[child]));
        }
    });
}

/// Random weights of a set, multiples of 2⁻³⁰.
fn weights(features: FeatureSet) -> Vec<f32> {
    let mut random = Random(1);
    (0..features.len()).map(|index| rounded(random.signed() * if index < 20 { 2.0 } else { 0.05 })).collect()
}

/// Single positions evaluate to the same bits; both plain passes agree on real parents.
pub fn check_evaluations(dataset: &Dataset, features: FeatureSet, set: Set, with_gradient: bool) {
    let weights = weights(features);
    let shard = &dataset.shards()[0];
    let evaluator = Evaluator::new(features, weights.clone()).unwrap();
    for list in shard.pieces.iter() {
        assert_eq!(evaluator.evaluate(list).unwrap(), sparse::evaluate(set, &weights, list), "{features}");
    }
    let loss = Loss { a: 3.0, window: 2.0, siblings: 40, seed: 9 };
    let columns = columns(shard);
    let mut expected = if with_gradient { vec![0; weights.len()] } else { Vec::new() };
    let gradient: Vec<AtomicI64> = expected.iter().map(|_| AtomicI64::new(0)).collect();
    let totals = sparse::pass(set, &weights, &columns, &loss, with_gradient.then_some(&mut expected[..]));
    let by_differences = sparse::par::pass(set, &weights, &columns, &loss, with_gradient.then_some(&gradient[..]));
    assert_eq!(by_differences, totals, "{features}");
    assert!(totals.children > totals.parents && totals.first_three > totals.first);
    assert!(gradient.iter().map(|sum| sum.load(std::sync::atomic::Ordering::Relaxed)).eq(expected), "{features}");
}
