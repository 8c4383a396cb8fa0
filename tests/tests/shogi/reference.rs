//! The plain rules and the plain learner of `cpu-ref` against other people's programs: see `tests/golden/shogi/README.md`.

mod games;
mod library;

use std::fs::read_to_string;

use games::{Extracted, extract};
use rayon::prelude::*;
use serde::Deserialize;
use warpplay_cpu_ref::shogi::material::{
    Parallel, Program, Row, Sequential, Settings, Values, evaluations, gradient, histogram_of, learn, number, pack,
};
use warpplay_cpu_ref::shogi::rules::{Move, Position, children, perft};
use warpplay_cpu_ref::shogi::sparse::Set;
use warpplay_tests::golden::{shared, text};
use warpplay_tests::learning::file_of_games;
use warpplay_tests::tolerance::{Tolerance, close, same};

/// What the learner promises.
const PROMISED: Tolerance = Tolerance { abs: 1e-9, rel: 0.0 };

/// Slope of the sigmoid.
const A: f64 = 3.0;

#[derive(Deserialize)]
struct Moves {
    sfen: String,
    n: usize,
    moves: Vec<String>,
}

/// All positions of a file of moves.
fn check_moves(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    lines.par_iter().for_each(|line| {
        let expected: Moves = serde_json::from_str(line).unwrap();
        let position = Position::from_sfen(&expected.sfen).unwrap();
        let mut moves: Vec<String> = position.legal_moves().into_iter().map(|(mv, _)| mv.usi()).collect();
        moves.sort();
        assert_eq!(moves.len(), expected.n, "{}", expected.sfen);
        same(&expected.sfen, &moves, &expected.moves);
    });
    lines.len()
}

#[test]
fn legal_moves_are_those_of_three_libraries() {
    assert_eq!(check_moves(&text("shogi/moves.jsonl")), 63);
    if let Some(path) = shared("vectors/shogi_moves.jsonl") {
        assert_eq!(check_moves(&read_to_string(path).unwrap()), 300);
    }
}

#[derive(Deserialize)]
struct Perft {
    positions: Vec<PerftPosition>,
}

#[derive(Deserialize)]
struct PerftPosition {
    name: String,
    sfen: String,
    perft: Vec<u64>,
}

#[test]
fn move_sequences_are_as_many_as_they_should_be() {
    /// Sequences above which a test would take too long.
    const MOST: u64 = 10_000_000;
    let golden: Perft = serde_json::from_str(&text("shogi/perft.json")).unwrap();
    assert_eq!(golden.positions.len(), 4);
    for PerftPosition { name, sfen, perft: counts } in golden.positions {
        let position = Position::from_sfen(&sfen).unwrap();
        for (depth, &expected) in (1..).zip(&counts).filter(|(_, count)| **count <= MOST) {
            let moves = position.legal_moves();
            let count: u64 = moves.par_iter().map(|(_, after)| perft(after, depth - 1)).sum();
            assert_eq!(count, expected, "{name}, depth {depth}");
        }
    }
}

#[derive(Deserialize)]
struct Learning {
    first_parents: Vec<Parent>,
    first_100_games: Run,
    all_games_50: Run,
    all_games_100_init3: Run,
    all_games_100_init5: Run,
}

#[derive(Deserialize)]
struct Parent {
    sfen: String,
    book: String,
    legal: usize,
}

#[derive(Deserialize)]
struct Run {
    games: usize,
    parents: usize,
    #[serde(rename = "children_K")]
    children: usize,
    distinct_differences: usize,
    zero_difference_share: f64,
    init: f64,
    iterations: u32,
    rows: Vec<ExpectedRow>,
    #[serde(default)]
    difference_histogram: Vec<([i32; 13], u64)>,
}

#[derive(Deserialize)]
struct ExpectedRow {
    iter: usize,
    #[serde(rename = "J")]
    j: f64,
    v: Values,
    h: f64,
    #[serde(rename = "dJ", default)]
    differences: Option<Values>,
}

fn golden() -> Learning {
    serde_json::from_str(&text("shogi/learning.json")).unwrap()
}

impl Run {
    /// The distinct differences as words, ascending.
    fn histogram(&self) -> Vec<(u64, u64)> {
        let mut rows: Vec<_> =
            self.difference_histogram.iter().map(|(numbers, count)| (pack(numbers), *count)).collect();
        rows.sort_unstable();
        rows
    }

    /// Learns with a form of the sum and compares every row that is known.
    fn check(&self, form: &str, iterations: u32, sum: impl FnMut(&Values) -> i128) {
        let rows = learn(sum, self.children as u64, &Settings::default(), &[self.init; 12], iterations);
        let (mut got, mut expected) = (Vec::new(), Vec::new());
        for known in self.rows.iter().filter(|row| row.iter < rows.len()) {
            let Row { j, values, h, differences } = &rows[known.iter];
            got.extend([j, h].into_iter().chain(values));
            expected.extend([known.j, known.h].iter().chain(&known.v));
            if let Some(known) = &known.differences {
                got.extend(differences);
                expected.extend(known);
            }
        }
        assert!(got.len() >= 2 * 14);
        close(form, &got, &expected, PROMISED);
    }
}

#[test]
fn the_first_games_are_learnt_from_their_histogram() {
    let run = golden().first_100_games;
    let rows = run.histogram();
    assert_eq!(rows.len(), run.distinct_differences);
    assert_eq!(rows.iter().map(|row| row.1).sum::<u64>(), run.children as u64);
    run.check("histogram", run.iterations, |v| Sequential::histogram(&rows, v, A));
    run.check("histogram under rayon", run.iterations, |v| Parallel::histogram(&rows, v, A));
}

#[test]
fn the_gradient_has_the_signs_of_the_differences() {
    let run = golden().first_100_games;
    let rows = run.histogram();
    for row in &run.rows {
        let slopes = gradient(&rows, &row.v, A);
        for (feature, slope) in slopes.into_iter().enumerate() {
            // Central differences, of which the objective is smooth enough for six digits.
            let at = |step: f64| {
                let mut values = row.v;
                values[feature] += step;
                Sequential::histogram(&rows, &values, A) as f64
            };
            let numeric = (at(1e-3) - at(-1e-3)) / 2e-3 / warpplay_cpu_ref::shogi::ONE / run.children as f64;
            assert!((slope - numeric).abs() < 1e-7, "{feature}: {slope} {numeric}");
        }
    }
}

#[test]
fn first_parents_have_their_moves() {
    let parents = golden().first_parents;
    for pair in parents.windows(2) {
        let position = Position::from_sfen(&pair[0].sfen).unwrap();
        let after = position.after(Move::from_usi(&pair[0].book).unwrap());
        assert_eq!(after, Position::from_sfen(&pair[1].sfen).unwrap());
    }
    for parent in parents {
        let position = Position::from_sfen(&parent.sfen).unwrap();
        let children = children(&position, Move::from_usi(&parent.book).unwrap()).unwrap();
        assert_eq!(children.positions.len(), parent.legal + 1);
    }
}

/// What was extracted is what the reference extracted.
fn check_counts(extracted: &Extracted, run: &Run) {
    assert_eq!((extracted.n_games, extracted.sides.len()), (run.games, run.parents));
    assert_eq!(extracted.differences.len(), run.children);
    let rows = histogram_of(&extracted.differences);
    assert_eq!(rows.len(), run.distinct_differences);
    let zeros = rows.iter().find(|row| row.0 == 0).unwrap().1;
    close("share of zeros", &[zeros as f64 / run.children as f64], &[run.zero_difference_share], PROMISED);
}

#[test]
fn the_first_games_are_learnt_from_their_positions() {
    let path = file_of_games();
    let run = golden().first_100_games;
    let games = extract(&path, run.games);
    check_counts(&games, &run);
    same("histogram", &histogram_of(&games.differences), &run.histogram());
    let first = &games.first_child;
    run.check("positions under rayon", run.iterations, |v| {
        Parallel::positions(&games.positions, 96, first, &games.sides, v, A)
    });
    run.check("differences", 1, |v| Sequential::differences(&games.differences, v, A));
    // The sequential program and the packed positions, once: all they can differ in is where children are read.
    let values = [run.init; 12];
    let expected = Parallel::positions(&games.positions, 96, first, &games.sides, &values, A);
    assert_eq!(Sequential::positions(&games.positions, 96, first, &games.sides, &values, A), expected);
    let packed: Vec<u8> = games.positions.chunks(96).flat_map(|position| &position[..95]).copied().collect();
    assert_eq!(Parallel::positions(&packed, 95, first, &games.sides, &values, A), expected);
    // Shares of the thirteen evaluations are those of all.
    let sum = |v: &Values| Parallel::differences(&games.differences, v, A);
    let all = evaluations(sum, &values, 0.05, 0..12);
    let (left, right) = (evaluations(sum, &values, 0.05, 0..7), evaluations(sum, &values, 0.05, 7..12));
    assert_eq!([&left[..], &right[1..]].concat(), all);
    assert_eq!(left[0], right[0]);
}

#[test]
fn all_games_are_learnt() {
    let Some(path) = shared("data/shogi/games.usi.txt.gz") else { return };
    let golden = golden();
    let games = extract(&path, usize::MAX);
    check_counts(&games, &golden.all_games_50);
    let rows = histogram_of(&games.differences);
    assert!(rows.iter().all(|row| (0..13).all(|kind| number(row.0, kind).abs() < 8)));
    golden.all_games_50.check("differences", 1, |v| Parallel::differences(&games.differences, v, A));
    let mut runs = vec![golden.all_games_50, golden.all_games_100_init3, golden.all_games_100_init5];
    if let Some(path) = shared("vectors/shogi_learning_reference.json") {
        let whole: Learning = serde_json::from_str(&read_to_string(path).unwrap()).unwrap();
        runs.extend([whole.all_games_50, whole.all_games_100_init3, whole.all_games_100_init5]);
    }
    for run in runs {
        run.check("histogram", run.iterations, |v| Sequential::histogram(&rows, v, A));
    }
}

#[test]
fn data_sets_hold_what_the_plain_rules_say() {
    let path = file_of_games();
    let plies = "0..300/3";
    let (records, dataset) = library::built(&path, 40, plies);
    library::check_dataset(&records, &dataset, plies.parse().unwrap());
}

#[test]
fn the_library_counts_the_same_features() {
    let path = file_of_games();
    let (_, dataset) = library::built(&path, 3, "30..120/2");
    for (features, set) in library::SETS {
        assert_eq!(features.len(), set.n_weights());
        // The gradient of pairs is compared on drawn lists in the crate itself: here it would take most of a gigabyte.
        library::check_evaluations(&dataset, features, set, set != Set::KingPiecePiece);
    }
}
