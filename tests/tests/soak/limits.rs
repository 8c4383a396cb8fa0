//! What a command takes at most: time after it is asked to end, memory and processor time for files that are larger than they look, and no work at all before it finds that
//! its result cannot be written.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use flate2::{Compression, write::GzEncoder};
use warpplay_tests::programs::{Scratch, await_handler, ended_by, warpplay};

fn scratch(family: &'static str) -> Scratch {
    Scratch::new(warpplay(env!("CARGO_TARGET_TMPDIR")), family)
}

/// A second on a machine with nothing else to do; tests run side by side with others.
const MOST: Duration = Duration::from_secs(5);
/// Exit code of a program that is ended while it has nothing to keep, as shells report it.
const ENDED_AT_ONCE: i32 = 130;

/// A file of so many short games; read and replayed one by one.
fn games(folder: &Scratch, name: &str, n: usize) {
    fs::write(folder.path(name), "7g7f 3c3d 2g2f 8c8d 2f2e 8d8e\n".repeat(n)).expect("a file");
}

/// In each line's first phase: a game of millions of histories is built, a long file is read, a set of it is written.
#[test]
fn one_signal_ends_a_phase_that_has_nothing_to_keep() {
    let lines: [(&str, &str); 6] = [
        ("cfr", "solve liars_dice:1,8 --device cpu --json out.json"),
        ("cfr", "compare liars_dice:1,8 --device cpu --json out.json"),
        ("shogi", "inspect --records games.usi --plies 0..6 --json out.json"),
        ("shogi", "build-dataset --records games.usi --plies 0..6 --out set --json out.json"),
        ("shogi", "fit --records games.usi --plies 0..6 --device cpu --json out.json"),
        ("shogi", "learn --records games.usi --plies 0..6 --device cpu --json out.json"),
    ];
    for (family, line) in lines {
        let folder = scratch(family);
        if line.contains("games.usi") {
            games(&folder, "games.usi", 1 << 20);
        }
        let mut command = folder.command(line);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program starts");
        await_handler(&mut child);
        assert!(child.try_wait().expect("a child").is_none(), "{family} {line}: it ended by itself");
        let status = ended_by(&mut child, "TERM", MOST);
        assert_eq!(status.code(), Some(ENDED_AT_ONCE), "{family} {line}");
        assert!(!folder.path("out.json").exists() && !folder.path("set/dataset.json").exists(), "{family} {line}");
    }
}

/// The program within so many MiB of address space and seconds of processor time: exit code, and what it says.
fn within(folder: &Scratch, mib: u64, seconds: u64, line: &str) -> (Option<i32>, String) {
    let asked = folder.command(line);
    let limits = format!("ulimit -v {} && ulimit -t {seconds} && exec \"$@\"", mib << 10);
    let mut command = Command::new("sh");
    command.current_dir(folder.folder()).args(["-c", &limits, "sh"]).arg(asked.get_program()).args(asked.get_args());
    // On a machine of many cores glibc would reserve 64 MiB of addresses for each of as many threads.
    command.env("MALLOC_ARENA_MAX", "2");
    let output = command.stdin(Stdio::null()).output().expect("sh starts");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// Comments that pack a thousand to one: 600 MiB of them, which a reader of the whole text would hold twice.
#[test]
fn records_that_unpack_to_much_more_are_read_as_a_stream() {
    let folder = scratch("shogi");
    let file = fs::File::create(folder.path("games.usi.gz")).expect("a file");
    let mut packed = GzEncoder::new(file, Compression::fast());
    let comments = format!("# {}\n", "x".repeat(1021)).repeat(1024);
    packed.write_all(b"7g7f 3c3d 2g2f\n").expect("written");
    for _ in 0..600 {
        packed.write_all(comments.as_bytes()).expect("written");
    }
    packed.write_all(b"2g2f 8c8d 2f2e\n").expect("written");
    packed.finish().expect("written");
    let (code, said) = within(&folder, 512, 60, "inspect --records games.usi.gz --plies 0..3");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("2 games"), "{said}");
}

/// Definitions whose trees have more nodes than are built.
#[test]
fn the_size_of_a_game_is_found_without_its_tree() {
    let folder = scratch("cfr");
    let deep = "GAMEDEF\nnolimit\nnumPlayers = 2\nnumRounds = 4\nstack = 20000 20000\nblind = 50 100\nfirstPlayer = 1 2 2 2\nnumSuits = 4\nnumRanks = 13\n\
                numHoleCards = 2\nnumBoardCards = 0 3 1 1\nEND GAMEDEF\n";
    fs::write(folder.path("deep.game"), deep).expect("a file");
    for line in ["info deep.game", "solve deep.game --device cpu"] {
        let (code, said) = within(&folder, 1024, 10, line);
        assert_eq!(code, Some(2), "{line}: {said}");
        assert!(said.contains("a betting tree of"), "{line}: {said}");
    }
    let spot = r#"{"pot": 10, "effective_stack": 1000, "flop": "Qs Jh 2h", "turn": "7c", "river": "3d", "ranges": ["AA", "KK"], "bet_sizes": {"river": [1e-9, 2e-9]}, "raise_sizes": {"river": [1e-9, 2e-9]}}"#;
    fs::write(folder.path("spot.json"), spot).expect("a file");
    let (code, said) = within(&folder, 1024, 10, "solve-spot spot.json --device cpu");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("betting tree: at least 4194"), "{said}");
}

/// Flags that name a file to be written, of every family, each with a line that would work for a long time.
const OUTPUTS: [(&str, &str, &str); 18] = [
    ("mcts", "analyse --game connect4 --seconds 600", "--json"),
    ("mcts", "match --games 1000", "--json"),
    ("azero", "selfplay --games 1000 --device cpu", "--save-games"),
    ("azero", "selfplay --games 1000 --device cpu", "--json"),
    ("azero", "match --a uniform --b random --games 1000 --device cpu", "--json"),
    ("azero", "train --records games.jsonl --epochs 100000 --device cpu", "--save-weights"),
    ("azero", "train --records games.jsonl --epochs 100000 --device cpu --save-weights w", "--checkpoint"),
    ("mlp", "train --drawn 60000 --epochs 100000 --device cpu", "--save-weights"),
    ("mlp", "train --drawn 60000 --epochs 100000 --device cpu", "--checkpoint"),
    ("mlp", "train --drawn 60000 --epochs 100000 --device cpu", "--json"),
    ("mlp", "sweep --drawn 60000 --epochs 100000 --device cpu", "--json"),
    ("shogi", "learn --records games.usi --plies 0..6 --iterations 1000000 --device cpu", "--save-weights"),
    ("shogi", "learn --records games.usi --plies 0..6 --iterations 1000000 --device cpu", "--checkpoint"),
    ("shogi", "learn --records games.usi --plies 0..6 --iterations 1000000 --device cpu", "--table"),
    ("shogi", "fit --records games.usi --plies 0..6 --iterations 1000000 --device cpu", "--json"),
    ("cfr", "solve kuhn.game --iterations 1000000000 --device cpu", "--strategy"),
    ("cfr", "solve kuhn.game --iterations 1000000000 --device cpu", "--checkpoint"),
    ("cfr", "solve kuhn.game --iterations 1000000000 --device cpu", "--json"),
];

/// A name that is too long, and a link to a folder that is not there: refused in less time than the work takes, and with the name.
#[test]
fn what_cannot_be_written_is_found_before_the_work() {
    for (family, line, flag) in OUTPUTS {
        let folder = scratch(family);
        games(&folder, "games.usi", 1);
        fs::write(folder.path("games.jsonl"), "").expect("a file");
        let kuhn = warpplay_tests::golden::path("cfr/games/kuhn.limit.2p.game");
        fs::copy(kuhn, folder.path("kuhn.game")).expect("a copy");
        std::os::unix::fs::symlink(Path::new("nowhere/file"), folder.path("link")).expect("a link");
        let long = "x".repeat(256);
        for name in [long.as_str(), "link"] {
            let (code, said) = within(&folder, 8192, 20, &format!("{line} {flag} {name}"));
            assert_eq!(code, Some(1), "{family} {line} {flag} {name}: {said}");
            assert!(said.contains(&format!("{name}: cannot be written: ")), "{family} {line} {flag} {name}: {said}");
        }
    }
}
