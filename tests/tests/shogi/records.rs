//! Records of games: 71 files of three formats and four encodings, and records that are broken.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use warpplay::Progress;
use warpplay::shogi::board::Move;
use warpplay::shogi::records::{self, Outcome, Records};
use warpplay_tests::golden;

#[derive(Deserialize)]
struct Expected {
    games: Option<Vec<Vec<String>>>,
    start_sfen: Option<String>,
}

const START: &str = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1";

/// What a file gives, beside what it should.
fn check(path: &Path, expected: &Expected) -> Result<(), String> {
    let records = Records::from_bytes(path, &std::fs::read(path).unwrap());
    let Some(games) = &expected.games else {
        return match (records.games.len(), records.skipped.as_slice()) {
            (0, [skipped]) if skipped.source.file == path => Ok(()),
            other => Err(format!("expected one game left out, got {other:?}")),
        };
    };
    let read: Vec<Vec<String>> =
        records.games.iter().map(|game| game.moves().iter().map(Move::to_string).collect()).collect();
    if read != *games || !records.skipped.is_empty() {
        return Err(format!("{} games, skipped {:?}", read.len(), records.skipped));
    }
    if let Some(start) = &expected.start_sfen {
        // Hands may be written in another order.
        let board = |sfen: &str| sfen.split(' ').take(2).map(str::to_owned).collect::<Vec<_>>();
        let hand = |sfen: &str| {
            let mut hand: Vec<char> = sfen.split(' ').nth(2).unwrap().chars().collect();
            hand.sort_unstable();
            hand
        };
        let read = records.games[0].start().unwrap_or(START);
        if board(read) != board(start) || hand(read) != hand(start) {
            return Err(format!("starts from {read}, expected {start}"));
        }
    }
    Ok(())
}

/// The list says that White moves first, but the files say Black, and so do their moves.
const WRONG_SIDE: [&str; 2] = ["jkf_32ryu-cumbersome.kif", "jkf_kifu_for_iphone.kif"];

fn check_all(list: &Path, files: usize) {
    let mut expected: BTreeMap<String, Expected> = serde_json::from_slice(&std::fs::read(list).unwrap()).unwrap();
    assert_eq!(expected.len(), files);
    for name in WRONG_SIDE {
        if let Some(expected) = expected.get_mut(name) {
            expected.start_sfen = None;
        }
    }
    let wrong: Vec<String> = expected
        .iter()
        .filter_map(|(name, expected)| {
            check(&list.with_file_name(name), expected).err().map(|reason| format!("{name}: {reason}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn all_raw_files_hold_the_expected_games() {
    let Some(list) = golden::shared("data/shogi/raw/expected.json") else { return };
    check_all(&list, 71);
}

#[test]
fn some_raw_files_hold_the_expected_games() {
    check_all(&golden_folder().join("expected.json"), 54);
}

fn golden_folder() -> std::path::PathBuf {
    warpplay_tests::golden::path("shogi/raw")
}

fn read(name: &str, text: &str) -> Records {
    Records::from_bytes(Path::new(name), text.as_bytes())
}

/// Lines and reasons of what was left out.
fn left_out(records: &Records) -> Vec<(u64, &str)> {
    records.skipped.iter().map(|skipped| (skipped.source.line, skipped.reason.as_str())).collect()
}

#[test]
fn a_folder_is_read_whole() {
    let records = records::read(&golden_folder(), Progress::go_on).unwrap();
    // Every file but the one that nobody accepts, and the licence texts, which are no record.
    assert_eq!(records.skipped.len(), 2, "{:?}", records.skipped);
    assert!(records.games.len() > 40);
    let files: Vec<_> = records.games.iter().map(|game| &game.source().file).collect();
    assert!(files.is_sorted());
    assert_eq!(
        records.games.iter().find(|game| game.source().file.ends_with("own_multi.csa")).unwrap().source().line,
        1
    );
}

#[test]
fn lists_in_usi_are_read_line_by_line() {
    let text = "# a comment\n\nposition startpos moves 7g7f 3c3d\nstartpos moves 7g7f 3c3d\n7g7f 3c3d\n\
        b mate a-b-1 7g7f 3c3d\r\nposition sfen 4k4/9/9/9/9/9/9/9/4K4 w P 7 moves 5a5b P*5h\n7g7f 7g7f\n7g7f nonsense\nw\n\
        sfen 4k4/9/9/9/9/9/9/9/4K4 x P 1 moves 5a5b\nposition startpos\n";
    let records = read("list.txt", text);
    let moves: Vec<usize> = records.games.iter().map(|game| game.moves().len()).collect();
    assert_eq!(moves, [2, 2, 2, 2, 2, 0]);
    let hashes: Vec<u64> = records.games[..4].iter().map(warpplay::shogi::records::Game::hash).collect();
    assert!(hashes.iter().all(|&hash| hash == hashes[0]), "the same game in other words");
    assert_eq!((records.games[3].outcome(), records.games[0].outcome()), (Outcome::Black, Outcome::Unknown));
    let reasons = left_out(&records);
    assert_eq!(reasons.iter().map(|&(line, _)| line).collect::<Vec<_>>(), [8, 9, 10, 11]);
    assert!(
        reasons[0].1.starts_with("option move: 7g7f is not allowed (a legal move; it is number 2, in lnsgkgsnl/"),
        "{}",
        reasons[0].1
    );
    assert!(reasons[1].1.contains("nonsense is not allowed (a move in USI"), "{}", reasons[1].1);
    assert!(reasons[3].1.contains("a position in SFEN"), "{}", reasons[3].1);
}

#[test]
fn illegal_moves_are_told_with_their_line() {
    let csa = "V2.2\nPI\n+\n+7776FU\nT3\n-3334FU\n+8833KA\n-4132KI\n";
    let records = read("a.csa", csa);
    assert_eq!(records.games.len(), 0);
    assert_eq!(left_out(&records), [(8, "move 4 is illegal")]);
    // The bishop takes, Black is in check, and White leaves it there.
    let kif = "手合割：平手\n手数----指手---------消費時間--\n   1 ７六歩(77)\n*コメント\n   2 ３四歩(33)\n   3 ２二角成(88)\n   4 ５二玉(51)\n   5 ５一玉(59)\n";
    let records = read("a.kif", kif);
    assert_eq!(left_out(&records).iter().map(|&(line, _)| line).collect::<Vec<_>>(), [8], "{:?}", records.skipped);
    let wrong_side = read("a.csa", "V2.2\nPI\n+\n-3334FU\n");
    assert_eq!(left_out(&wrong_side), [(4, "a move of the side that is not to move: -3334FU")]);
}

#[test]
fn an_illegal_move_that_the_record_marks_ends_the_game() {
    let csa = read("a.csa", "V2.2\nPI\n+\n+7776FU\n-3334FU\n+7775FU\n%ILLEGAL_MOVE\n");
    let kif = read(
        "a.kif",
        "手合割：平手\n手数----指手---------消費時間--\n   1 ７六歩(77)\n   2 ３四歩(33)\n   3 ７五歩(77)\n   4 反則勝ち\nまで3手で後手の反則勝ち\n",
    );
    let ki2 = read("a.ki2", "手合割：平手\n▲７六歩 △３四歩 ▲７四歩\nまで3手で先手の反則負け\n");
    for records in [csa, kif, ki2] {
        assert_eq!(records.games.len(), 1, "{:?}", records.skipped);
        assert_eq!((records.games[0].moves().len(), records.games[0].outcome()), (2, Outcome::White));
    }
}

#[test]
fn handicaps_and_bookmarks() {
    let lance = "手合割：香落ち\n&しおり\n手数----指手---------消費時間--\n   1 ３四歩(33)\n&次\n   2 ７六歩(77)\n";
    let records = read("a.kif", lance);
    assert_eq!(records.games.len(), 1, "{:?}", records.skipped);
    assert_eq!(records.games[0].start(), Some("lnsgkgsn1/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"));
    let unknown = read("a.kif", "手合割：左九枚落ち\n手数----指手---------消費時間--\n   1 ７六歩(77)\n");
    assert!(left_out(&unknown)[0].1.contains("左九枚落ち is not known"), "{:?}", unknown.skipped);
}

#[test]
fn starts_that_no_game_has_are_refused() {
    let usi =
        read("a.usi", "sfen 4k4/9/9/9/4R4/9/9/9/4K4 b - 1 moves 5i5h\nsfen 4k4/9/9/9/9/9/9/9/3KK4 b - 1 moves 5i5h\n");
    assert_eq!(usi.games.len(), 0);
    assert!(
        usi.skipped[0].reason.ends_with("(a position of a game: the side that has just moved is in check)"),
        "{:?}",
        usi.skipped
    );
    assert!(usi.skipped[1].reason.ends_with("(a position in SFEN: a side has two kings)"), "{:?}", usi.skipped);
    let csa = read("a.csa", "V2.2\nP1 *  *  *  * -OU *  *  *  * \nP9 *  *  * +OU+OU *  *  *  * \n+\n+5958OU\n");
    assert!(left_out(&csa)[0].1.ends_with("a side has two kings)"), "{:?}", csa.skipped);
    // In words too, whose moves are looked for among the legal ones.
    let board = |first: &str, last: &str| {
        let empty = "| ・ ・ ・ ・ ・ ・ ・ ・ ・|\n".repeat(7);
        format!(
            "後手の持駒：なし\n  ９ ８ ７ ６ ５ ４ ３ ２ １\n+---------------------------+\n{first}{empty}{last}+---------------------------+\n先手の持駒：なし\n\n▲５八玉\n"
        )
    };
    let first = "| ・ ・ ・ ・v玉 ・ ・ ・ ・|\n";
    let two = read("a.ki2", &board(first, "| ・ ・ ・ 玉 玉 ・ ・ ・ ・|\n"));
    assert!(two.games.is_empty() && two.skipped[0].reason.contains("a side has two kings"), "{two:?}");
    let rooks = read("a.ki2", &board(first, "| ・ ・ 飛 飛 玉 飛 ・ ・ ・|\n"));
    assert!(rooks.games.is_empty() && rooks.skipped[0].reason.contains("3 rooks, a set has 2"), "{rooks:?}");
    assert_eq!(read("a.ki2", &board(first, "| ・ ・ ・ ・ 玉 ・ ・ ・ ・|\n")).games.len(), 1);
    // Times are not kept, of whatever length.
    let kif = "手数----指手---------消費時間--\n   1 ７六歩(77)   ( 9999999999999999:99/99999999999999999999:00:00)\n";
    assert_eq!(read("a.kif", kif).games.len(), 1);
}

#[test]
fn one_bad_game_leaves_the_others() {
    let game = "V2.2\nPI\n+\n+7776FU\n-3334FU\n%TORYO\n";
    let text = format!("{game}/\nV2.2\nPI\n+\n+7775FU\n%TORYO\n/\n{game}/\n'the end\n");
    let records = read("many.csa", &text);
    assert_eq!(records.games.len(), 2);
    assert_eq!(left_out(&records), [(11, "move 1 is illegal")]);
    assert_eq!(records.games[1].source().line, 14);
    let kif = "手合割：平手\n先手：甲\n手数----指手---------消費時間--\n   1 ７六歩(77)\nまで1手で中断\n\n変化：1手\n   1 ２六歩(27)\n";
    let records = read("many.kif", &format!("{kif}\n{kif}"));
    assert_eq!(records.games.len(), 2, "{:?}", records.skipped);
    assert_eq!((records.games[0].source().line, records.games[1].source().line), (1, 10));
}

#[test]
fn files_and_folders_that_hold_nothing_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let text = |path: &Path| records::read(path, Progress::go_on).unwrap_err().to_string();
    assert!(
        text(folder.path()).contains("holds no game records: expected files ending in .csa, .kif"),
        "{}",
        text(folder.path())
    );
    assert!(text(&folder.path().join("absent.csa")).contains("cannot be read"));
    let empty = folder.path().join("empty.kif");
    std::fs::write(&empty, "").unwrap();
    assert!(
        text(&empty).ends_with("empty.kif: not a game record: expected CSA, KIF, KI2 or lines of USI moves"),
        "{}",
        text(&empty)
    );
    let mixed = folder.path().join("mixed.kif");
    std::fs::write(&mixed, ["手合割：平手\n".as_bytes(), b"\x8e\xe8\x8d\x87\n"].concat()).unwrap();
    assert!(text(&mixed).contains("mixed.kif, line 2: mixed encodings"), "{}", text(&mixed));
    let broken = folder.path().join("broken.csa.gz");
    std::fs::write(&broken, [0x1F, 0x8B, 8, 0, 1, 2]).unwrap();
    assert!(text(&broken).contains("cannot be unpacked by gzip"), "{}", text(&broken));
    assert!(text(folder.path()).contains("broken.csa.gz"), "of a folder the first reason is told");
}

#[cfg(unix)]
#[test]
fn what_is_named_like_a_record_and_is_none_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("good.usi"), "startpos moves 7g7f 3c3d\n").unwrap();
    std::os::unix::fs::symlink(path("nowhere"), path("link.csa")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", path("zero.kif")).unwrap();
    std::os::unix::fs::symlink(path("nowhere"), path("no record")).unwrap();
    let records = records::read(folder.path(), Progress::go_on).unwrap();
    assert_eq!(records.games.len(), 1);
    let [link, zero] = records.skipped.as_slice() else { panic!("{:?}", records.skipped) };
    assert!(link.source.file.ends_with("link.csa") && link.reason.starts_with("cannot be read: "), "{link:?}");
    assert!(zero.source.file.ends_with("zero.kif"), "{zero:?}");
    assert_eq!(zero.reason, "cannot be read: it is a folder, a device or a pipe, expected a file");
}

#[test]
fn a_share_is_drawn_by_the_games_not_their_files() {
    let Some(path) = golden::shared("data/shogi/games.usi.txt.gz") else { return };
    let records = records::read(&path, Progress::go_on).unwrap();
    let (train, held_out) = records.split(0.2).unwrap();
    assert_eq!(train.games.len() + held_out.games.len(), 1965);
    assert!((300..480).contains(&held_out.games.len()), "{}", held_out.games.len());
    let reversed = Records { games: records.games.into_iter().rev().collect(), skipped: Vec::new() };
    let (_, again) = reversed.split(0.2).unwrap();
    assert!(again.games.into_iter().rev().eq(held_out.games));
    for share in [0.0, 1.0, -0.5, f64::NAN] {
        assert!(train.split(share).unwrap_err().to_string().contains("held_out"));
    }
}
