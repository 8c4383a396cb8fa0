//! Data sets: built from games, in shards of any size, in memory and on disk.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde_json::Value;
use warpplay::Progress;
use warpplay::shogi::Window;
use warpplay::shogi::board::{Board, List, Move, Rules};
use warpplay::shogi::dataset::Dataset;
use warpplay::shogi::records::{self, Records};
use warpplay_gpu::shogi::difference;
use warpplay_tests::golden;
use warpplay_tests::learning::{dataset, first_games, list_of_child, material, reference};

#[test]
fn all_games_give_the_reference_counts() {
    let Some(path) = golden::shared("data/shogi/games.usi.txt.gz") else { return };
    let records = records::read(&path, Progress::go_on).unwrap();
    assert_eq!((records.games.len(), records.skipped.len()), (1965, 0));
    let start = std::time::Instant::now();
    let set = Dataset::builder().build(&records).unwrap();
    println!("built in {:?}", start.elapsed());
    let facts = set.facts();
    assert_eq!((facts.parents, facts.children, facts.distinct_vectors), (74_227, 5_376_368, 1_619));
    assert_eq!((facts.distinct_games, facts.shards), (facts.origin.games, 1));
}

/// The vectors of the first hundred games with their counts, and the first parents.
#[test]
fn first_games_give_the_reference_vectors() {
    let (reference, set) = (reference(), dataset(0..100, 40..80, 1, 1000));
    let first = &reference["first_100_games"];
    assert_eq!(Some(set.n_parents()), first["parents"].as_u64());
    assert_eq!(Some(set.n_children()), first["children_K"].as_u64());
    let mut counts: BTreeMap<Vec<i64>, u64> = BTreeMap::new();
    for shard in set.shards() {
        for &word in shard.differences.iter() {
            *counts.entry((0..13).map(|kind| difference::field(word, kind).into()).collect()).or_default() += 1;
        }
    }
    let expected: Vec<(Vec<i64>, u64)> = serde_json::from_value(first["difference_histogram"].clone()).unwrap();
    assert_eq!(counts, expected.into_iter().collect());
    let first_parents = reference["first_parents"].as_array().unwrap();
    assert_eq!(first_parents.len(), 3);
    for (parent, expected) in first_parents.iter().enumerate() {
        let board = Board::from_sfen(expected["sfen"].as_str().unwrap()).unwrap();
        let shard = &set.shards()[0];
        assert_eq!(Some(u64::from(shard.plies[parent])), expected["ply"].as_u64());
        assert_eq!(u32::from(shard.sides[parent]), board.side());
        assert_eq!(Some(shard.children(parent).len() as u64 - 1), expected["legal"].as_u64());
        let mut moves = Vec::new();
        board.legal_moves(&mut moves);
        let played = moves[usize::from(shard.played[parent]) - 1];
        assert_eq!(Some(played.to_string().as_str()), expected["book"].as_str());
        let mut numbers = shard.pieces[parent];
        let mut pieces = *List::new(&board).unwrap().numbers();
        numbers[..38].sort_unstable();
        pieces[..38].sort_unstable();
        assert_eq!(numbers, pieces);
    }
}

/// List, game, half-move, number of the played move, and the children's differences and changes.
type Parent = (Vec<u16>, u64, u16, u16, Vec<(u64, Vec<u32>)>);

/// The same parents with their children, whatever the shards.
fn flat(set: &Dataset) -> Vec<Parent> {
    let mut parents = Vec::new();
    for shard in set.shards() {
        for parent in 0..shard.n_parents() {
            let children = shard.children(parent);
            let children = children.map(|child| (shard.differences[child], shard.changes_of(child).to_vec())).collect();
            let (game, ply) = (shard.games[parent], shard.plies[parent]);
            parents.push((shard.pieces[parent].to_vec(), game, ply, shard.played[parent], children));
        }
    }
    parents
}

#[test]
fn shards_and_threads_change_nothing() {
    let records = first_games(12);
    let whole = Dataset::builder().build(&records).unwrap();
    for (parents, threads) in [(1, 1), (7, 2), (64, 3), (200, 1)] {
        let set = Dataset::builder().shard_parents(parents).threads(threads).build(&records).unwrap();
        assert!(set.shards().iter().all(|shard| shard.n_parents() <= parents));
        assert_eq!(set.shards().len() as u64, whole.n_parents().div_ceil(parents as u64));
        assert_eq!(flat(&set), flat(&whole));
        assert_eq!(set.fingerprint(), whole.fingerprint());
    }
}

/// A child's changes give the position after its move; its difference is that of the positions' material.
#[test]
fn changes_are_those_of_moves_that_are_played() {
    let records = first_games(8);
    let window = Window { start: 0, end: 300, step: 7 };
    let set = Dataset::builder().plies(window).build(&records).unwrap();
    let shard = &set.shards()[0];
    let sorted = |numbers: &[u16; 40]| {
        let mut numbers = *numbers;
        numbers[..38].sort_unstable();
        numbers
    };
    let mut parent = 0;
    let mut moves = Vec::new();
    for game in &records.games {
        let mut board = Board::start();
        for (ply, &played) in game.moves().iter().enumerate() {
            if window.contains(ply as u32) {
                let side = board.side();
                assert_eq!(u32::from(shard.plies[parent]), ply as u32);
                assert_eq!(sorted(&shard.pieces[parent]), sorted(List::new(&board).unwrap().numbers()));
                board.legal_moves(&mut moves);
                assert_eq!(moves[usize::from(shard.played[parent]) - 1], played);
                let children = shard.children(parent);
                assert_eq!(children.len(), moves.len() + 1);
                let after = |child: usize| list_of_child(shard, parent, child);
                let base = material(&after(children.start), side);
                for (child, legal) in children.clone().zip(std::iter::once(&played).chain(&moves)) {
                    let mut next = board.clone();
                    assert!(next.play(*legal));
                    assert_eq!(sorted(&after(child)), sorted(List::new(&next).unwrap().numbers()), "{legal}");
                    let counts = material(&after(child), side);
                    let expected: [i32; 13] = std::array::from_fn(|kind| counts[kind] - base[kind]);
                    assert_eq!(Some(shard.differences[child]), difference::pack(&expected), "{legal}");
                }
                parent += 1;
            }
            assert!(board.play(played));
        }
    }
    assert_eq!(parent as u64, set.n_parents());
}

#[test]
fn sets_on_disk_are_what_was_saved() {
    let records = first_games(10);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set");
    let set = Dataset::builder().shard_parents(100).build(&records).unwrap();
    set.save(&path).unwrap();
    let opened = Dataset::open(&path).unwrap();
    assert_eq!(opened.shards(), set.shards());
    assert_eq!(opened.origin(), set.origin());
    assert_eq!(opened.facts(), set.facts());
    // Another set takes its slot, while the first stays mapped.
    let written = Dataset::builder().shard_parents(64).write(&records, &path).unwrap();
    assert_eq!(flat(&written), flat(&opened));
    let files = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name());
    let files = files.filter(|name| name.to_str() != Some(".warpplay-lock"));
    assert_eq!(files.count(), written.shards().len() + 1, "no file of the old set is left");
    // A mapped column that grows becomes an owned one.
    let mut shard = written.shards()[0].clone();
    shard.sides.push(1);
    assert_eq!(shard.sides.len(), written.shards()[0].sides.len() + 1);
}

#[test]
fn damaged_sets_are_told() {
    let records = first_games(3);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let refused = || Dataset::open(path).unwrap_err().to_string();
    assert!(refused().contains("holds no data set: expected a folder with dataset.json"));
    let set = Dataset::builder().build(&records).unwrap();
    set.save(path).unwrap();
    let shard = std::fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|ending| ending == "wps"))
        .unwrap();
    let whole = std::fs::read(&shard).unwrap();
    let with = |bytes: Vec<u8>, reason: &str| {
        std::fs::write(&shard, bytes).unwrap();
        assert!(refused().contains(reason), "{}", refused());
    };
    with(whole[..whole.len() - 64].to_vec(), "cut short");
    with(Vec::new(), "has 0 bytes, a header has 64: it was cut short");
    with(whole[..20].to_vec(), "cut short");
    let mut version = whole.clone();
    version[8] = 2;
    with(version, "is of version 2, expected 1: build the set again");
    let mut damaged = whole.clone();
    damaged[5000] ^= 1;
    with(damaged, "it was damaged");
    // The checksum itself: what is said to be there is what is expected, with other bits.
    let mut damaged = whole.clone();
    damaged[40] ^= 1;
    let checksum = |bytes: &[u8]| format!("{:016x}", u64::from_le_bytes(*bytes[40..].first_chunk().unwrap()));
    let said = format!("has the checksum {}, expected {}", checksum(&damaged), checksum(&whole));
    with(damaged, &said);
    with(b"something else".repeat(100), "is not a shard of a data set");
    std::fs::write(&shard, &whole).unwrap();
    Dataset::open(path).unwrap();
    let manifest = path.join("dataset.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let with = |text: String, reason: &str| {
        std::fs::write(&manifest, text).unwrap();
        assert!(refused().contains(reason), "{}", refused());
    };
    with(text.replace("\"version\": 1", "\"version\": 7"), "is of version 7, expected 1");
    with(text[..text.len() / 2].to_owned(), "is not a data set");
    with(text.replace("\"fingerprint\": \"", "\"fingerprint\": \"0"), "fingerprint");
    std::fs::write(&manifest, &text).unwrap();
    std::fs::remove_file(&shard).unwrap();
    assert!(refused().contains("cannot be read"));
    let file = path.join("file");
    std::fs::write(&file, "").unwrap();
    assert!(set.save(&file).unwrap_err().to_string().contains("cannot be made"));
}

#[test]
fn a_share_of_the_games_is_held_out() {
    let records = first_games(60);
    let set = Dataset::builder().shard_parents(500).build(&records).unwrap();
    let (train, held_out) = set.split(0.2).unwrap();
    assert_eq!(train.n_parents() + held_out.n_parents(), set.n_parents());
    assert_eq!(train.fingerprint().wrapping_add(held_out.fingerprint()), set.fingerprint());
    let (train_games, held_out_games) = records.split(0.2).unwrap();
    assert_eq!(flat(&Dataset::builder().build(&held_out_games).unwrap()), flat(&held_out));
    assert_eq!(Dataset::builder().build(&train_games).unwrap().fingerprint(), train.fingerprint());
}

#[test]
fn windows_that_hold_nothing_are_errors() {
    let records = Records::from_bytes("a.txt".as_ref(), b"7g7f 3c3d\nsfen 4k4/9/9/9/9/9/9/9/9 b G 1 moves G*5b\n");
    assert_eq!(records.games.len(), 2, "{:?}", records.skipped);
    let window = |start, end, step| Window { start, end, step };
    let refused = |builder: warpplay::shogi::dataset::Builder| builder.build(&records).unwrap_err().to_string();
    let text = refused(Dataset::builder());
    assert!(text.starts_with("option plies: 40..80 is not allowed (a window with a half-move of at least one of the games: 2 were read, the longest"), "{text}");
    let text = refused(Dataset::builder().games(window(2, 5, 1)));
    assert!(text.starts_with("option games: 2..5 is not allowed (a range with at least one of the games"), "{text}");
    assert!(refused(Dataset::builder().plies(window(5, 5, 1))).contains("START < END"));
    assert!(refused(Dataset::builder().plies(window(0, 5, 0))).contains("STEP from 1"));
    assert!(refused(Dataset::builder().games(window(7, 5, 1))).contains("option games: 7..5/1"));
    assert!(refused(Dataset::builder().shard_parents(0)).contains("1 to 2000000"));
    let set = Dataset::builder().plies(window(0, 5, 1)).build(&records).unwrap();
    assert_eq!((set.n_parents(), set.origin().games), (2, 1));
    assert_eq!(set.origin().skipped[0].source.line, 2);
    assert!(set.origin().skipped[0].reason.contains("Black has no king"), "{:?}", set.origin().skipped);
}

/// All legal moves of 63 positions, and of the 300 that they were chosen from.
#[test]
fn legal_moves_agree_with_the_vectors() {
    let shared = golden::shared("vectors/shogi_moves.jsonl").map(|path| (path, 300));
    for (path, positions) in std::iter::once((golden::path("shogi/moves.jsonl"), 63)).chain(shared) {
        let report = warpplay::shogi::board::check_moves(&path).unwrap();
        assert_eq!(report.positions, positions);
        assert!(report.disagreements.is_empty(), "{:?}", report.disagreements);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.jsonl");
    let line = "{\"sfen\":\"4k4/9/9/9/9/9/9/9/4K4 b - 1\",\"moves\":[\"5i5h\",\"5i4i\",\"5i6i\",\"5i6h\",\"1a1b\"]}\n";
    std::fs::write(&file, line).unwrap();
    let report = warpplay::shogi::board::check_moves(&file).unwrap();
    assert_eq!(
        (&report.disagreements[0].missing, &report.disagreements[0].extra),
        (&vec!["1a1b".into()], &vec!["5i4h".into()])
    );
    for (text, reason) in [("", "holds no position"), ("{}\n", "line 1"), ("\n{\"sfen\":\"x\",\"moves\":[]}", "line 2")]
    {
        std::fs::write(&file, text).unwrap();
        let error = warpplay::shogi::board::check_moves(&file).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

/// Numbers of sequences of moves, as deep as some seconds allow.
#[test]
fn perft_agrees_with_the_vectors() {
    fn count(board: &Board, depth: usize) -> u64 {
        let mut moves = Vec::new();
        board.legal_moves(&mut moves);
        if depth == 1 {
            return moves.len() as u64;
        }
        let after = |&played: &Move| {
            let mut next = board.clone();
            assert!(next.play(played));
            count(&next, depth - 1)
        };
        // Above the last levels, where there is work for all cores.
        if depth > 2 { moves.par_iter().map(after).sum() } else { moves.iter().map(after).sum() }
    }
    let vectors: Value = serde_json::from_str(&golden::text("shogi/perft.json")).unwrap();
    for position in vectors["positions"].as_array().unwrap() {
        let board = Board::from_sfen(position["sfen"].as_str().unwrap()).unwrap();
        let expected = position["perft"].as_array().unwrap().iter().map(|number| number.as_u64().unwrap());
        for (depth, expected) in (1..).zip(expected).take_while(|&(_, expected)| expected < 20_000_000) {
            assert_eq!(count(&board, depth), expected, "{} to depth {depth}", position["name"]);
        }
    }
}
