//! Checkers: the rules and observations on bitboards and on plain arrays against games and observations of OpenSpiel, move counts, and the reader of
//! recorded games.

use std::collections::HashMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use serde::Deserialize;
use warpplay::azero::ObservationLayout;
use warpplay::azero::checkers::{self, Checkers, MoveCount, legal_mask, observation, perft, perft_watched, replay};
use warpplay::mcts::{Game, Notation, Player};
use warpplay::{LaunchShape, Module};
use warpplay_cpu_ref::azero::observation as plain_observation;
use warpplay_cpu_ref::mcts::games::checkers::Checkers as PlainCheckers;
use warpplay_cpu_ref::mcts::{Game as PlainGame, GameResult, Streams};
use warpplay_gpu::azero::observation::Observed;
use warpplay_test_kernels::observed::test_observe;
use warpplay_test_kernels::ptx;
use warpplay_tests::backends::{each_image, for_each_device};
use warpplay_tests::golden;
use warpplay_tests::strategies::config;

const LAYOUTS: [(ObservationLayout, plain_observation::Layout); 3] = [
    (ObservationLayout::Default, plain_observation::Layout::Default),
    (ObservationLayout::Egocentric, plain_observation::Layout::Egocentric),
    (ObservationLayout::Legacy, plain_observation::Layout::Legacy),
];

/// A game of OpenSpiel: `n` actions and `n + 1` states.
#[derive(Deserialize)]
struct RecordedGame {
    game: u32,
    actions: Vec<u32>,
    players: Vec<i64>,
    boards: Vec<String>,
    legal: Vec<Vec<usize>>,
    returns: Vec<f64>,
}

/// What OpenSpiel shows of one state of a game.
#[derive(Deserialize)]
struct Seen {
    game: u32,
    ply: usize,
    board: String,
    player: i64,
    strings: Vec<String>,
    #[serde(flatten)]
    planes: HashMap<String, serde_json::Value>,
}

fn lines<T: serde::de::DeserializeOwned>(text: &str) -> Vec<T> {
    text.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect()
}

fn golden_path(name: &str) -> PathBuf {
    warpplay_tests::golden::path("azero").join(name)
}

/// The small file of the repository, and the large one where it is.
fn game_files() -> Vec<PathBuf> {
    let large = golden::shared("vectors/checkers_random_games.jsonl");
    std::iter::once(golden_path("checkers_games.jsonl")).chain(large).collect()
}

fn games(path: &Path) -> Vec<RecordedGame> {
    lines(&fs::read_to_string(path).expect("readable"))
}

/// The state of a recorded game before action `ply`, in both forms.
fn state(game: &RecordedGame, ply: usize) -> (Checkers, PlainCheckers) {
    let (mut position, mut plain) = (Checkers::new(), PlainCheckers::new());
    for &action in &game.actions[..ply] {
        position.apply(action);
        plain.apply(action as usize);
    }
    (position, plain)
}

#[test]
fn recorded_games_replay_on_bitboards() {
    let found = replay(&golden_path("checkers_games.jsonl")).unwrap();
    assert_eq!((found.games, found.states), (8, 664));
    if let Some(path) = golden::shared("vectors/checkers_random_games.jsonl") {
        let found = replay(&path).unwrap();
        assert_eq!((found.games, found.states, found.draws), (60, 4226, 13));
        assert_eq!(found.wins[0] + found.wins[1], 47);
    }
}

#[test]
fn recorded_games_replay_on_arrays() {
    for path in game_files() {
        for game in games(&path) {
            let mut position = PlainCheckers::new();
            let mut legal = Vec::new();
            for ply in 0..game.boards.len() {
                let ply_name = format!("game {} ply {ply}", game.game);
                assert_eq!(position.board_text(), game.boards[ply], "{ply_name}");
                position.legal_actions(&mut legal);
                assert_eq!(legal, game.legal[ply], "{ply_name}");
                let over = position.result().is_some();
                let player = if over { checkers::TERMINAL_PLAYER } else { position.to_move() as i64 };
                assert_eq!(player, game.players[ply], "{ply_name}");
                if let Some(&action) = game.actions.get(ply) {
                    position.apply(action as usize);
                    assert_eq!(position.result_after(action as usize), position.result(), "{ply_name}");
                }
            }
            let returns = match position.result() {
                Some(GameResult::Win(0)) => [1.0, -1.0],
                Some(GameResult::Win(_)) => [-1.0, 1.0],
                Some(GameResult::Draw) => [0.0, 0.0],
                None => panic!("game {} goes on", game.game),
            };
            assert_eq!(game.returns, returns, "game {}", game.game);
        }
    }
}

/// The rules that random games seldom meet are met in the files.
#[test]
fn the_large_file_meets_the_rare_rules() {
    let Some(path) = golden::shared("vectors/checkers_random_games.jsonl") else { return };
    let (mut blocked, mut long_captures, mut stopped_kings, mut others_could) = (0, 0, 0, 0);
    for game in games(&path) {
        let mut position = Checkers::new();
        let mut jumps = 0;
        for &action in &game.actions {
            let (kings, mover) = (position.kings(), position.to_move());
            position.apply(action);
            jumps = if action % 2 == 1 { jumps + 1 } else { 0 };
            if position.to_move() != mover {
                long_captures += u32::from(jumps >= 4);
                let landed = landing(action);
                let new_king = action % 2 == 1 && (position.kings() & !kings) >> (landed / 2) & 1 == 1;
                // As if it were still that player's turn and the piece were free to go on.
                let mine = if mover == Player::First { Player::First } else { Player::Second };
                let could = Checkers::from_parts(&position.board_text(), mine, 0, Some(landed)).is_ok();
                stopped_kings += u32::from(new_king && could);
                jumps = 0;
            } else {
                let free = Checkers::from_parts(&position.board_text(), mover, 0, None).unwrap();
                others_could += u32::from(free.legal_actions().len() > position.legal_actions().len());
            }
        }
        let mover = position.to_move().index();
        blocked += u32::from(game.returns != [0.0, 0.0] && position.pieces()[mover] != 0);
    }
    assert_eq!((blocked, long_captures, stopped_kings, others_could), (14, 7, 14, 19));
}

/// The square that a legal action reaches.
fn landing(action: u32) -> u32 {
    let name = Checkers::action_name(action).into_bytes();
    u32::from(b'8' - name[3]) * 8 + u32::from(name[2] - b'a')
}

/// 320 numbers from five words of hexadecimal, most significant bit first.
fn planes(words: &serde_json::Value) -> Vec<f32> {
    let words = words.as_array().expect("five words");
    let word =
        |value: &serde_json::Value| u64::from_str_radix(value.as_str().expect("a word"), 16).expect("hexadecimal");
    words.iter().map(word).flat_map(|word| (0..64).rev().map(move |bit| (word >> bit & 1) as f32)).collect()
}

#[test]
fn observations_are_those_of_openspiel() {
    let recorded: Vec<RecordedGame> = game_files().iter().flat_map(|path| games(path)).collect();
    let all: Vec<Seen> = lines(&golden::text("azero/checkers_observations.jsonl"));
    assert_eq!(all.len(), 50);
    let mut replayed = 0;
    for seen in all {
        let ply_name = format!("game {} ply {}", seen.game, seen.ply);
        let mover = Player::from_index(seen.player.max(0) as u32);
        let mut position = Checkers::from_parts(&seen.board, mover, 0, None).unwrap();
        if let Some(game) = recorded.iter().find(|game| game.game == seen.game) {
            let plain;
            (position, plain) = state(game, seen.ply);
            assert_eq!(position.board_text(), seen.board, "{ply_name}");
            let names: Vec<String> = position.legal_actions().into_iter().map(Checkers::action_name).collect();
            assert_eq!(names, seen.strings, "{ply_name}");
            for (observer, layout, name) in [
                (0, plain_observation::Layout::Default, "default_p0"),
                (1, plain_observation::Layout::Default, "default_p1"),
                (0, plain_observation::Layout::Egocentric, "egocentric_p0"),
                (1, plain_observation::Layout::Egocentric, "egocentric_p1"),
            ] {
                let found = plain_observation::observation(&plain, observer, layout);
                assert_eq!(found.to_vec(), planes(&seen.planes[name]), "{ply_name} {name} on arrays");
            }
            replayed += 1;
        }
        for (observer, layout, name) in [
            (Player::First, ObservationLayout::Default, "default_p0"),
            (Player::Second, ObservationLayout::Default, "default_p1"),
            (Player::First, ObservationLayout::Egocentric, "egocentric_p0"),
            (Player::Second, ObservationLayout::Egocentric, "egocentric_p1"),
        ] {
            assert_eq!(
                observation(&position, observer, layout).to_vec(),
                planes(&seen.planes[name]),
                "{ply_name} {name}"
            );
        }
    }
    assert!(replayed >= 10, "{replayed} observations of games that are there");
}

#[test]
fn move_counts_are_the_published_ones() {
    let actions = [7, 49, 302, 1469, 7361, 36768, 179_255, 838_248];
    let turns = [7, 49, 302, 1469, 7361, 36768, 179_740, 845_931];
    let expected: Vec<MoveCount> = (1..)
        .zip(actions.into_iter().zip(turns))
        .map(|(depth, (actions, turns))| MoveCount { depth, actions, turns })
        .collect();
    assert_eq!(perft(&Checkers::new(), 8).unwrap(), expected);
    for depth in [0, checkers::MAX_PERFT_DEPTH + 1] {
        let error = perft(&Checkers::new(), depth).unwrap_err().to_string();
        assert_eq!(error, format!("option depth: {depth} is not allowed (1 to 14)"));
    }
}

#[test]
fn counting_can_be_stopped() {
    let questions = AtomicU32::new(0);
    let watch = || match questions.fetch_add(1, Ordering::Relaxed) {
        0..2000 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    // Days without it.
    let found = perft_watched(&Checkers::new(), checkers::MAX_PERFT_DEPTH, watch).unwrap();
    assert!((3..8).contains(&found.len()), "{found:?}");
    assert_eq!(found, perft(&Checkers::new(), found.len() as u32).unwrap());
}

#[test]
fn move_counts_of_later_positions() {
    let recorded = games(&golden_path("checkers_games.jsonl"));
    for (game, ply, counts) in [
        (0, 30, [9, 51, 265, 1417, 6979, 33610]),
        (23, 50, [5, 46, 278, 2178, 11927, 91258]),
        (50, 77, [1, 2, 7, 24, 116, 318]),
        (48, 85, [4, 19, 72, 339, 1006, 4724]),
        (12, 93, [4, 16, 36, 108, 417, 1648]),
    ] {
        let record = recorded.iter().find(|record| record.game == game).expect("one of the small file");
        let (position, plain) = state(record, ply);
        let found: Vec<u64> = perft(&position, 6).unwrap().iter().map(|count| count.actions).collect();
        assert_eq!(found, counts, "game {game} ply {ply}");
        for (depth, count) in (1..=4).zip(counts) {
            assert_eq!(plain_perft(&plain, depth), count, "game {game} ply {ply} depth {depth} on arrays");
        }
    }
}

fn plain_perft(position: &PlainCheckers, depth: u32) -> u64 {
    let mut legal = Vec::new();
    position.legal_actions(&mut legal);
    if depth == 1 {
        return legal.len() as u64;
    }
    let after = |&action: &usize| {
        let mut next = position.clone();
        next.apply(action);
        plain_perft(&next, depth - 1)
    };
    legal.iter().map(after).sum()
}

#[test]
fn move_counts_on_arrays() {
    for (depth, count) in (1..).zip([7, 49, 302, 1469, 7361]) {
        assert_eq!(plain_perft(&PlainCheckers::new(), depth), count, "depth {depth}");
    }
}

/// Observations and masks of positions as blocks of so many threads write them, on every device, against the plain form.
fn written_alike(states: &[(Checkers, PlainCheckers)], observer: Player, threads: u32) {
    let positions: Vec<Checkers> = states.iter().map(|(position, _)| *position).collect();
    let observers = vec![observer as u32; positions.len()];
    for_each_device(|device| {
        for set in each_image(device, &ptx::LAYER) {
            let (stream, module) = (device.stream()?, Module::load(device, &set)?);
            let function = module.function(test_observe)?;
            let (positions, observers) = (stream.upload(&positions)?, stream.upload(&observers)?);
            for (number, (_, layout)) in (0u32..).zip(LAYOUTS) {
                let mut values = stream.alloc::<f32>(states.len() * checkers::N_OBSERVATION)?;
                let mut masks = stream.alloc::<u8>(states.len() * checkers::N_ACTIONS)?;
                let shape = LaunchShape::new(states.len() as u32, threads);
                // SAFETY: one block a position; the buffers have the lengths that the kernel asks for.
                unsafe {
                    stream.launch(&function, shape, (&positions, &observers, number, &mut values, &mut masks))?;
                }
                let (values, masks) = (stream.read(&values)?, stream.read(&masks)?);
                let seen = |plain: &PlainCheckers| plain_observation::observation(plain, observer.index(), layout);
                let expected: Vec<f32> = states.iter().flat_map(|(_, plain)| seen(plain)).collect();
                assert_eq!(values, expected, "layout {number}, {threads} threads");
                let expected: Vec<u8> =
                    states.iter().flat_map(|(_, plain)| plain_observation::legal_mask(plain)).collect();
                assert_eq!(masks, expected, "{threads} threads");
            }
        }
        Ok(())
    });
}

#[test]
fn kernels_write_what_the_plain_form_sees() {
    let recorded = games(&golden_path("checkers_games.jsonl"));
    let states: Vec<_> =
        recorded.iter().flat_map(|game| (0..=game.actions.len()).step_by(9).map(|ply| state(game, ply))).collect();
    assert!(states.len() > 50);
    for (observer, threads) in [(Player::First, 32), (Player::Second, 96), (Player::Second, 512)] {
        written_alike(&states, observer, threads);
    }
}

proptest! {
    #![proptest_config(config("azero_rules", 40))]

    #[test]
    fn random_games_are_seen_alike_on_bitboards_and_arrays(seed in any::<u64>()) {
        let mut stream = Streams::new(seed).expansion(0);
        let (mut position, mut plain) = (Checkers::new(), PlainCheckers::new());
        let mut legal = Vec::new();
        loop {
            let mask = plain_observation::legal_mask(&plain);
            prop_assert_eq!(legal_mask(&position), mask);
            for (layout, plain_layout) in LAYOUTS {
                for observer in [Player::First, Player::Second] {
                    let expected = plain_observation::observation(&plain, observer.index(), plain_layout);
                    prop_assert_eq!(observation(&position, observer, layout), expected);
                }
            }
            plain.legal_actions(&mut legal);
            let moves = position.legal();
            prop_assert_eq!(Checkers::n_legal(&moves) as usize, legal.len());
            for (n, &action) in (0u32..).zip(&legal) {
                prop_assert_eq!(Checkers::nth_legal(&moves, n) as usize, action);
            }
            prop_assert_eq!(position.jumper().map(|bit| warpplay_gpu::mcts::games::checkers::square_of(bit) as usize), plain.jumper());
            if legal.is_empty() {
                break;
            }
            let action = legal[stream.below(legal.len() as u32) as usize];
            position.apply(action as u32);
            plain.apply(action);
        }
    }
}

/// The error of a file in which one thing of one game was changed.
fn error_of(change: impl FnOnce(&mut serde_json::Value)) -> String {
    let text = golden::text("azero/checkers_games.jsonl");
    let mut all: Vec<serde_json::Value> = lines(&text);
    change(&mut all[1]);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("games.jsonl");
    fs::write(&path, all.iter().map(|game| format!("{game}\n")).collect::<String>()).expect("written");
    let error = replay(&path).expect_err("a changed record").to_string();
    let rest = error.strip_prefix(&format!("{}, line 2: ", path.display()));
    rest.unwrap_or_else(|| panic!("{error}")).to_string()
}

#[test]
fn a_record_that_differs_is_named_with_its_ply() {
    let error = error_of(|game| game["players"][5] = 0.into());
    assert_eq!(error, "ply 5: player to move: recorded 0, by the rules 1");
    let error = error_of(|game| game["boards"][3] = "........".into());
    assert!(error.starts_with("ply 3: board: recorded ........, by the rules "), "{error}");
    let error = error_of(|game| game["legal"][0][0] = 321.into());
    assert!(error.starts_with("ply 0: legal actions: recorded [321, "), "{error}");
    let error = error_of(|game| game["actions"][0] = 0.into());
    assert!(error.starts_with("ply 0: action 0 is illegal (allowed: 322 a3b4, "), "{error}");
    let error = error_of(|game| game["actions"][2] = u32::MAX.into());
    assert!(error.starts_with("ply 2: action 4294967295 is illegal"), "{error}");
    let error = error_of(|game| game["returns"] = serde_json::json!([0.5, -0.5]));
    assert_eq!(error, "returns: recorded [0.5, -0.5], by the rules [1.0, -1.0]");
    let error = error_of(|game| {
        for field in ["players", "boards", "legal"] {
            game[field].as_array_mut().expect("a list").truncate(11);
        }
        game["actions"].as_array_mut().expect("a list").truncate(10);
    });
    assert_eq!(error, "the record ends at ply 10, but the game is not over");
    let error = error_of(|game| game["boards"].as_array_mut().expect("a list").truncate(11));
    assert_eq!(error, "11 boards, expected 82: one for each action and one for the end");
    let error = error_of(|game| game["legal"] = 7.into());
    assert!(error.starts_with("not a recorded game: "), "{error}");
    let error = error_of(|game| drop(game.as_object_mut().expect("an object").remove("returns")));
    assert!(error.contains("missing field `returns`"), "{error}");
}

#[test]
fn files_without_games_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let empty = folder.path().join("empty.jsonl");
    fs::write(&empty, "\n\n").expect("written");
    assert!(replay(&empty).unwrap_err().to_string().ends_with("holds no games, expected one JSON object a line"));
    assert!(replay(folder.path()).is_err());
    assert!(replay(&folder.path().join("none")).unwrap_err().to_string().contains("none: "));
}
