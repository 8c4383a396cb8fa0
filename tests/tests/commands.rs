//! What the pages tell to type works: the lines of the README and of `docs`, and the tables in `docs/commands` of what version 0.1 understood and what to type
//! today. And the one shape of what every command writes with `--json`.

#[path = "commands/options.rs"]
mod options;
#[path = "commands/picture.rs"]
mod picture;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde_json::Value;
use warpplay_tests::golden;
use warpplay_tests::programs::{self, warpplay};

/// The words of a line that name its command, of its words: two in a family.
fn command_of(words: &[String]) -> Vec<&str> {
    let is_alone = ["doctor", "demo", "man", "new-game", "new-kernel"].contains(&words[0].as_str());
    words.iter().take(if is_alone { 1 } else { 2 }).map(String::as_str).collect()
}

/// The words of a line, those between double quotes as one.
fn words(line: &str) -> Vec<String> {
    let parts = line.split('"').enumerate();
    parts
        .flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().map(str::to_string).collect(),
            _ => vec![part.to_string()],
        })
        .collect()
}

/// The rows of a table: line number, old line, new line.
fn rows(path: &Path) -> Vec<(usize, String, String)> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let rows = text.lines().zip(1..).skip(1).filter(|(line, _)| !line.trim().is_empty() && !line.starts_with('#'));
    rows.map(|(line, number)| {
        let Some((old, new)) = line.split_once('\t') else {
            panic!("{}: line {number} has no tabulator", path.display())
        };
        (number, old.trim().to_string(), new.trim().to_string())
    })
    .collect()
}

/// Runs the lines of a table in order, in a folder of their own: later ones read what earlier ones wrote. The old line first, which its old names still
/// make work, unless it is the publications' now or a third column says why it is refused; then the new one. In the table, `GOLDEN` is `tests/golden`.
fn every_line_runs(family: &str) {
    let table = golden::workspace().join("docs/commands").join(format!("{family}.tsv"));
    let folder = tempfile::tempdir().expect("a folder");
    let golden = golden::path("").to_string_lossy().trim_end_matches('/').to_string();
    let program: PathBuf = warpplay(env!("CARGO_TARGET_TMPDIR")).to_path_buf();
    let rows = rows(&table);
    assert!(!rows.is_empty(), "{} has no rows", table.display());
    for (number, old, new) in rows {
        let at = format!("{}, line {number}", table.display());
        let (new, refused) = new.split_once('\t').map_or((&new[..], None), |(new, reason)| (new, Some(reason)));
        let new = new.strip_prefix("warpplay ").unwrap_or_else(|| panic!("{at}: no program"));
        let run = |line: &str| {
            let mut command = Command::new(&program);
            // Games in the terminal end with their input.
            command.current_dir(folder.path()).args(words(&line.replace("GOLDEN", &golden))).stdin(Stdio::null());
            let output = command.output().expect("the program starts");
            (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        if old != new && !new.starts_with("papers ") {
            let (worked, stderr) = run(&old);
            assert_eq!(worked, refused.is_none(), "{at}: warpplay {old}\n{stderr}");
        }
        let (worked, stderr) = run(new);
        assert!(worked, "{at}: warpplay {new}\n(before: {old})\n{stderr}");
    }
}

/// What version 0.1 said of itself in `--help`, row by row: family, command, flags.
#[test]
fn every_old_flag_of_every_old_command_is_in_the_tables() {
    let list = golden::text("commands/v0.1.tsv");
    for row in list.lines().skip(1) {
        let fields: Vec<&str> = row.split('\t').collect();
        let &[family, command, flags] = &fields[..] else { panic!("a row of three fields, not {row}") };
        let table = golden::workspace().join("docs/commands").join(format!("{family}.tsv"));
        let text = std::fs::read_to_string(&table).unwrap_or_else(|error| panic!("{}: {error}", table.display()));
        // Comments name what was refused then and is refused now.
        let lines: Vec<Vec<String>> = text
            .lines()
            .filter_map(|line| line.trim_start_matches("# ").split_once('\t'))
            .map(|(old, _)| words(old))
            .collect();
        for flag in flags.split(' ') {
            // Two flags are those of every command alike, and exclude each other.
            let common = ["--quiet", "--verbose", "-v"].contains(&flag);
            let shown = lines.iter().any(|line| {
                line[0] == family
                    && (common || line.get(1).is_some_and(|word| word == command))
                    && line.iter().any(|word| word == flag)
            });
            assert!(shown, "{}: no old line shows {family} {command} {flag}", table.display());
        }
    }
}

#[test]
fn lines_of_the_tree_search() {
    every_line_runs("mcts");
}

#[test]
fn lines_of_the_alphazero_network() {
    every_line_runs("azero");
}

#[test]
fn lines_of_the_perceptrons() {
    every_line_runs("mlp");
}

#[test]
fn lines_of_shogi() {
    every_line_runs("shogi");
}

#[test]
fn lines_of_regret_minimisation() {
    every_line_runs("cfr");
}

/// Lines of the pages that are not run, by a part of them, and why. Their command and flags are held to its `--help`.
const NOT_RUN: [(&str, &str); 29] = [
    ("--device cuda", "needs a GPU"),
    ("--ranks ", "needs MPI"),
    ("mpirun ", "needs MPI"),
    ("ncu ", "needs a GPU and NVIDIA's tools"),
    ("cargo xtask run mcts", "its arguments are xtask's"),
    (" DIR", "data of the reader's"),
    ("--test-set ", "data of the reader's"),
    ("--samples ", "data of the reader's"),
    ("--image digit.png", "an image of the reader's"),
    ("--plots FOLDER", "the published kernels under simt: minutes"),
    (" games.usi.txt.gz", "data that a clone lacks"),
    ("--games 100 --save-games", "minutes without a GPU"),
    ("azero learn --folder run", "minutes without a GPU"),
    ("verify games.jsonl", "reads the games of the line before"),
    ("--records games.jsonl", "reads the games of the line before"),
    ("cfr match c.strategy", "reads the strategy of the line before"),
    ("cfr browse river.spot \n", "needs a terminal"),
    ("flop.json", "minutes without a GPU"),
    ("flops.json", "minutes without a GPU"),
    ("--tables ", "minutes on two cores"),
    ("--only claims,speed", "minutes without a GPU"),
    ("--features kpp ", "minutes on two cores"),
    ("--weights kpp.safetensors", "reads the weights of a line before"),
    ("--held-out test --features kp ", "half a minute in a build for tests"),
    ("--folder small ", "a picture's: it runs for the comparison"),
    ("small.jsonl ", "a picture's: it runs for the comparison"),
    ("--plots score.svg ", "a picture's: it runs for the comparison"),
    ("--plots learning.svg ", "a picture's: it runs for the comparison"),
    ("--only figure5 --quick ", "a picture's: it runs for the comparison"),
];

/// A line of a page that starts the program.
struct PageLine {
    /// Page and number of the line.
    at: String,
    /// The line, with the value of every variable, a space and the line's end.
    text: String,
    /// What follows the program's name.
    arguments: Vec<String>,
}

/// The arguments of `warpplay` in a line, also after another program, or those of `cargo xtask run`.
fn arguments(line: &str) -> Option<Vec<String>> {
    let words = words(line);
    // In cargo's own lines it is the package.
    let cargo = words.first().is_some_and(|word| word == "cargo");
    if let Some(at) = words.iter().position(|word| word == "warpplay").filter(|_| !cargo) {
        return Some(words[at + 1..].to_vec());
    }
    let mut rest = words.strip_prefix(&["cargo", "xtask", "run"].map(str::to_string)[..])?.to_vec();
    // `--ranks N` is xtask's.
    if let Some(at) = rest.iter().position(|word| word == "--ranks") {
        rest.drain(at..at + 2);
    }
    Some(rest)
}

/// The lines of a page's shell blocks that start the program.
fn lines_of_page(page: &Path) -> Vec<PageLine> {
    let text = std::fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
    let (mut found, mut shell, mut before) = (Vec::new(), false, String::new());
    let mut variables: Vec<(String, String)> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with("```") {
            shell = line == "```sh";
            continue;
        }
        if !shell {
            continue;
        }
        let line = line.split_once(" #").map_or(line, |(line, _)| line).trim();
        let mut line = std::mem::take(&mut before) + line;
        if line.ends_with('\\') {
            before = line.trim_end_matches('\\').to_string();
            continue;
        }
        for (name, value) in &variables {
            line = line.replace(name, value);
        }
        match line.split_once('=') {
            Some((name, value)) if !value.contains(' ') && name.chars().all(|c| c.is_ascii_uppercase()) => {
                variables.push((format!("${name}"), value.to_string()));
            }
            _ => found.extend(line.split("&&").filter_map(|part| {
                let at = format!("{}, line {number}", page.display());
                Some(PageLine { at, text: format!("{} \n", part.trim()), arguments: arguments(part)? })
            })),
        }
    }
    found
}

/// The files that a page shows: a block of JSON after a line that ends with the file's name in backticks and a colon.
fn files_of_page(page: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
    let (mut files, mut before, mut lines) = (Vec::new(), "", text.lines());
    while let Some(line) = lines.next() {
        let name = before.strip_suffix("`:").and_then(|start| start.rsplit('`').next());
        let is_file = |name: &&str| match line {
            "```json" => name.ends_with(".json"),
            "```text" => name.ends_with(".game"),
            _ => false,
        };
        if let Some(name) = name.filter(is_file) {
            let content: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            files.push((name.to_string(), content.join("\n")));
        }
        if !line.trim().is_empty() {
            before = line;
        }
    }
    files
}

/// The README, that of the Python package, and the pages of `docs`, of its guides and of its publications.
fn pages() -> Vec<PathBuf> {
    let root = golden::workspace();
    let folders =
        ["docs", "docs/guides", "docs/papers"].map(|folder| std::fs::read_dir(root.join(folder)).expect("a folder"));
    let paths = folders.into_iter().flatten().map(|entry| entry.expect("an entry").path());
    let mut pages: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    pages.sort();
    pages.insert(0, root.join("README.md"));
    pages.insert(1, root.join("python/README.md"));
    pages
}

#[test]
fn lines_of_the_pages_work() {
    // Pages side by side: one takes longer than all others.
    let pages: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> = pages().into_iter().map(|page| scope.spawn(move || run_page(&page))).collect();
        running.into_iter().map(|page| page.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    let n_run: usize = pages.iter().map(|(n_run, _)| n_run).sum();
    let used: BTreeSet<&str> = pages.into_iter().flat_map(|(_, used)| used).collect();
    assert!(n_run >= 10, "{n_run} lines were run");
    for (part, _) in &NOT_RUN {
        assert!(used.contains(part), "no line of a page that is not run holds {part}");
    }
}

/// Checks a page's lines against the help, and runs those that can run; how many ran, and what names those that did not.
fn run_page(page: &Path) -> (usize, BTreeSet<&'static str>) {
    let program = warpplay(env!("CARGO_TARGET_TMPDIR"));
    let golden = golden::path("").to_string_lossy().trim_end_matches('/').to_string();
    let (mut n_run, mut used) = (0, BTreeSet::new());
    let folder = tempfile::tempdir().expect("a folder");
    for (name, content) in files_of_page(page) {
        std::fs::write(folder.path().join(name), content).expect("a file");
    }
    let run = |arguments: &[String]| {
        let mut command = Command::new(program);
        command.current_dir(folder.path()).args(arguments).stdin(Stdio::null()).output().expect("the program starts")
    };
    for PageLine { at, text, arguments } in lines_of_page(page) {
        // Every flag is one that the help shows.
        let n_words = arguments.iter().position(|word| word.starts_with('-')).unwrap_or(arguments.len());
        let asked: Vec<String> = arguments[..n_words].iter().cloned().chain(["--help".to_string()]).collect();
        let output = run(&asked);
        let help = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{at}: {text}\n{}", String::from_utf8_lossy(&output.stderr));
        let shown: BTreeSet<&str> = help.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').collect();
        for flag in arguments.iter().filter(|word| word.starts_with("--")) {
            assert!(shown.contains(&flag[..]), "{at}: {text}: `warpplay {}` shows no {flag}", asked.join(" "));
        }
        if let Some((part, reason)) = NOT_RUN.iter().find(|(part, _)| text.contains(part)) {
            println!("not run, {reason}: {text}");
            used.insert(*part);
            continue;
        }
        let arguments: Vec<String> = arguments.iter().map(|word| word.replace("tests/golden", &golden)).collect();
        let output = run(&arguments);
        assert!(output.status.success(), "{at}: {text}\n{}", String::from_utf8_lossy(&output.stderr));
        println!("run: {text}");
        n_run += 1;
    }
    (n_run, used)
}

/// What a command's JSON holds beside what all hold.
enum Json {
    /// The library's report, but not these of its fields, since it has none of them.
    Report(&'static [&'static str]),
    /// What the library found, without device, engine, seed and options.
    Found,
    /// Facts of the command alone.
    Facts,
}
use Json::{Facts, Found, Report};

/// Commands that write no result.
const WITHOUT_JSON: [&str; 1] = ["cfr browse"];

/// Every command that writes JSON, in order: later ones read what earlier ones wrote.
const WITH_JSON: [(&str, Json); 45] = [
    ("doctor", Facts),
    ("demo --device cpu", Facts),
    ("man pages", Facts),
    ("new-game --path GOLDEN/../.. four-rows", Facts),
    ("new-kernel --path GOLDEN/../.. scaled-sums", Facts),
    ("mcts analyse --device cpu --trees 1 --playouts 2 --steps 3 --top 1", Report(&[])),
    ("mcts replay mcts-analyse.json", Report(&[])),
    ("mcts play --device cpu --trees 1 --playouts 2 --steps 3", Facts),
    ("mcts match --games 1 --a vanilla,steps=2 --b vanilla,steps=2", Facts),
    ("azero analyse --device cpu", Facts),
    ("azero bench --device cpu --batch 1 --precision f32 --seconds 0", Facts),
    ("azero perft --depth 1", Facts),
    ("azero play --uniform --simulations 2 --device cpu", Facts),
    ("azero selfplay --games 1 --uniform --simulations 2 --device cpu --save-games games.jsonl", Report(&[])),
    ("azero verify games.jsonl", Facts),
    (
        "azero learn --folder run --iterations 1 --games 1 --parallel 1 --simulations 2 --gate 2 --batch 16 --epochs 1 --width 2 --depth 0 --device cpu",
        Report(&[]),
    ),
    ("azero convert --weights run/network-0001.safetensors --save-weights converted.safetensors", Facts),
    (
        "azero train --records games.jsonl --weights run/network-0001.safetensors --batch 16 --epochs 1 --device cpu --save-weights net.safetensors",
        Report(&[]),
    ),
    // Each side has an engine.
    ("azero match --a uniform,simulations=2 --b random --games 2 --device cpu", Report(&["engine"])),
    (
        "mlp train --device cpu --drawn 60 --drawn-test 20 --hidden 4 --batch 16 --epochs 1 --save-weights mlp.safetensors",
        Report(&[]),
    ),
    ("mlp evaluate --device cpu --drawn-test 20 --weights mlp.safetensors", Found),
    ("mlp predict --device cpu --weights mlp.safetensors --image digit.png", Facts),
    ("mlp convert --weights mlp.safetensors --save-onnx mlp.onnx", Facts),
    (
        "mlp train-conv --device cpu --drawn 60 --drawn-test 20 --blocks 8/8 --batch 16 --epochs 1 --save-weights conv.safetensors",
        Report(&["engine"]),
    ),
    ("mlp evaluate-conv --device cpu --drawn-test 20 --weights conv.safetensors", Found),
    ("mlp predict-conv --device cpu --weights conv.safetensors --image digit.png", Facts),
    ("mlp sweep --device cpu --drawn 60 --drawn-test 20 --hidden 4 --batch 16 --epochs 1 --models 2", Report(&[])),
    ("cfr info GOLDEN/cfr/games/kuhn.limit.2p.game", Facts),
    ("cfr solve GOLDEN/cfr/games/kuhn.limit.2p.game --iterations 2 --device cpu --strategy k.strategy", Report(&[])),
    ("cfr compare GOLDEN/cfr/games/kuhn.limit.2p.game --algorithms cfr --seconds 0.001 --device cpu", Facts),
    ("cfr exploitability k.strategy --device cpu", Found),
    ("cfr query k.strategy", Facts),
    ("cfr play k.strategy", Facts),
    ("cfr match k.strategy k.strategy --device cpu", Found),
    ("cfr ranges btn_open", Facts),
    ("cfr push-fold --stack 3 --iterations 2 --device cpu", Facts),
    ("cfr matrix rock-paper-scissors --iterations 2 --device cpu", Report(&[])),
    ("cfr solve-spot GOLDEN/cfr/v0.1/river.json --iterations 2 --device cpu", Report(&[])),
    ("cfr solve-boards GOLDEN/commands/turn.json --boards 8c,Kd --iterations 2 --device cpu", Found),
    ("shogi analyse startpos", Facts),
    ("shogi build-dataset --records GOLDEN/shogi/six.usi --limit 2 --plies 40..44 --out set", Found),
    ("shogi inspect --data set", Found),
    ("shogi moves GOLDEN/shogi/moves.jsonl", Facts),
    ("shogi learn --records GOLDEN/shogi/six.usi --limit 2 --plies 40..44 --device cpu --iterations 1", Report(&[])),
    // Nothing is drawn.
    (
        "shogi fit --records GOLDEN/shogi/six.usi --limit 2 --plies 40..44 --device cpu --iterations 1",
        Report(&["seed"]),
    ),
];

/// The names of all fields, those within others too.
fn fields(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(entries) => {
            for (name, value) in entries {
                names.insert(name.clone());
                fields(value, names);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| fields(value, names)),
        _ => {}
    }
}

/// The commands that a help lists.
fn listed(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names =
        lines.take_while(|line| !line.is_empty()).filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_string).collect()
}

/// A folder for the lines of [`WITH_JSON`].
fn folder_with_a_digit() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let digit = std::fs::File::create(folder.path().join("digit.png")).expect("a file");
    let mut encoder = png::Encoder::new(digit, 28, 28);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().and_then(|mut writer| writer.write_image_data(&[7; 784])).expect("written");
    folder
}

/// Runs a line in a folder; it must end well though nobody reads what it prints.
fn run_without_reader(folder: &Path, words: &[String], json: &str) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = Command::new(warpplay(env!("CARGO_TARGET_TMPDIR")));
    command.current_dir(folder).args(words).args(["--json", json]).stdin(Stdio::null()).stdout(writer);
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{}\n{}", words.join(" "), String::from_utf8_lossy(&output.stderr));
}

/// The line of [`WITH_JSON`] that takes longest.
const DEMONSTRATION: [&str; 3] = ["demo", "--device", "cpu"];

/// The folder in which it ran, once for all tests: the page, and `demo.json`.
fn demonstration() -> &'static Path {
    static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
        let folder = tempfile::tempdir().expect("a folder");
        run_without_reader(folder.path(), &DEMONSTRATION.map(str::to_string), "demo.json");
        folder
    });
    FOLDER.path()
}

/// One rule for all: schema, kind, program, version, the command's own facts, and under `report` what the library wrote. A reader of stdout that leaves, as `| head -1` does,
/// costs none of it.
#[test]
fn what_a_command_writes_has_one_shape_and_says_how_to_repeat_it() {
    let folder = folder_with_a_digit();
    let golden = golden::path("").to_string_lossy().trim_end_matches('/').to_string();
    let program = warpplay(env!("CARGO_TARGET_TMPDIR"));
    let (mut wrong, mut seen) = (Vec::new(), BTreeSet::new());
    for (line, kind) in &WITH_JSON {
        let words = words(&line.replace("GOLDEN", &golden));
        let command = command_of(&words);
        let file = format!("{}.json", command.join("-"));
        let help = Command::new(program).args(&command).arg("--help").output().expect("the program starts");
        assert!(String::from_utf8_lossy(&help.stdout).contains("--quiet"), "{line}: no --quiet");
        let folder = if words == DEMONSTRATION { demonstration() } else { folder.path() };
        if words != DEMONSTRATION {
            run_without_reader(folder, &words, &file);
        }
        let text = std::fs::read_to_string(folder.join(&file)).unwrap_or_else(|error| panic!("{line}: {error}"));
        let found: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{line}: {error}"));
        let (kind_of, family) = (command[command.len() - 1], &command[..command.len() - 1]);
        let program = ["warpplay"].iter().chain(family).copied().collect::<Vec<_>>().join(" ");
        for (name, wanted) in [
            ("schema", Value::from(2)),
            ("kind", kind_of.into()),
            ("program", program.into()),
            ("version", env!("CARGO_PKG_VERSION").into()),
        ] {
            if found[name] != wanted {
                wrong.push(format!("{line}: {name} is {}, expected {wanted}", found[name]));
            }
        }
        let mut names = BTreeSet::new();
        fields(&found["report"], &mut names);
        let wanted = ["device", "engine", "seed", "options", "seconds"].into_iter();
        let lacking: Vec<&str> = match kind {
            Report(without) => wanted.filter(|name| !without.contains(name) && !names.contains(*name)).collect(),
            Found if found["report"].is_object() => Vec::new(),
            Found => vec!["report"],
            Facts if found["report"].is_null() => Vec::new(),
            Facts => vec!["place in the list: it has a report"],
        };
        if !lacking.is_empty() {
            wrong.push(format!("{line}: no {}", lacking.join(", ")));
        }
        seen.insert(command.join(" "));
    }
    // None is left out; a script of completions is no result.
    let output = Command::new(program).arg("--help").output().expect("the program starts");
    let families = ["mcts", "azero", "mlp", "cfr", "shogi"];
    let others = listed(&String::from_utf8_lossy(&output.stdout)).into_iter();
    let others = others.filter(|name| !families.contains(&name.as_str()) && name != "papers" && name != "completions");
    wrong.extend(others.filter(|name| !seen.contains(name)).map(|name| format!("{name}: is not in the list")));
    for family in families {
        let output = Command::new(program).args([family, "--help"]).output().expect("the program starts");
        let commands = listed(&String::from_utf8_lossy(&output.stdout));
        assert!(commands.len() > 2, "{family}: {commands:?}");
        let names = commands.iter().map(|name| format!("{family} {name}"));
        let missing = names.filter(|name| !seen.contains(name) && !WITHOUT_JSON.contains(&name.as_str()));
        wrong.extend(missing.map(|command| format!("{command}: is not in the list")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Ctrl-C before a part is finished leaves the page of an earlier run; later, the page says that it is not whole.
#[cfg(unix)]
#[test]
fn an_interrupted_demonstration_does_not_pass_for_a_whole_one() {
    use std::io::{BufRead, BufReader, Read};
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("demo.html");
    std::fs::write(&page, "an earlier page").expect("a file");
    let interrupted_after = |part: &str| {
        let mut command = Command::new(warpplay(env!("CARGO_TARGET_TMPDIR")));
        command.current_dir(folder.path()).args(["demo", "--device", "cpu", "--out", ".", "--json", "demo.json"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the program starts");
        let mut shown = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        while !line.contains(part) {
            line.clear();
            assert!(shown.read_line(&mut line).expect("text") > 0, "it ended before {part}");
        }
        let status = programs::ended_by(&mut child, "INT", std::time::Duration::from_secs(60));
        let mut rest = String::new();
        shown.read_to_string(&mut rest).expect("text");
        (status.code(), rest)
    };
    let (code, _) = interrupted_after("warpplay ");
    assert_eq!(code, Some(130));
    assert_eq!(std::fs::read_to_string(&page).expect("a page"), "an earlier page");
    let (code, rest) = interrupted_after("(mcts)");
    assert!(code == Some(0) && rest.contains("stopped early, 1 of 5 plots"), "{code:?}: {rest}");
    let text = std::fs::read_to_string(&page).expect("a page");
    assert!(text.contains("Interrupted: 1 of 5 parts.") && text.matches("<section ").count() == 1, "{text}");
    let found: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("demo.json")).expect("a file")).expect("JSON");
    assert_eq!((&found["complete"], found["parts"].as_array().map(Vec::len)), (&Value::from(false), Some(1)));
}

/// Threads that the system does not start, and words of the environment that mean nothing, are errors that name the variable.
#[test]
fn the_environment_is_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |name: &str, value: &str, device: &str| {
        let mut command = Command::new(warpplay(env!("CARGO_TARGET_TMPDIR")));
        command.current_dir(folder.path()).env(name, value);
        let output = command.args(["cfr", "solve", "kuhn", "--iterations", "2", "--device", device]).output();
        let output = output.expect("the program starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (name, value, allowed) in [
        ("RAYON_NUM_THREADS", "100000", "0 for all cores, to 1024"),
        ("RAYON_NUM_THREADS", "many", "0 for all cores, to 1024"),
        ("WARPPLAY_SIMT_RACES", "shared", "global, or unset to look at shared memory only"),
    ] {
        let (code, said) = run(name, value, "simt");
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(&format!("{name}: {value} is not allowed ({allowed})")), "{said}");
    }
    for (name, value) in [("RAYON_NUM_THREADS", "2"), ("WARPPLAY_SIMT_RACES", "global")] {
        let (code, said) = run(name, value, "simt");
        assert_eq!(code, Some(0), "{name}: {said}");
    }
}

/// A page that needs no other file, with a plot of each family, and what it says of its data.
#[test]
fn the_demonstration_leaves_a_page_with_five_plots() {
    let (program, folder) = (warpplay(env!("CARGO_TARGET_TMPDIR")), demonstration());
    let page = std::fs::read_to_string(folder.join("warpplay-demo/demo.html")).expect("a page");
    // Plots of several panels are a picture a panel, so that they stack on narrow screens.
    let sections: Vec<&str> = page.split("<section ").skip(1).collect();
    assert_eq!(sections.len(), 5);
    assert!(
        sections.iter().all(|section| section.contains("<svg ") && section.contains("</svg>")),
        "a family without a plot"
    );
    assert_eq!(page.matches("<svg ").count(), page.matches("</svg>").count());
    // Nothing is loaded: addresses stand in the names of formats alone.
    for loading in ["src=", "href=", "url(", "@import", "<script"] {
        assert!(!page.contains(loading), "the page holds {loading}");
    }
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("this is not MNIST"));
    let text = std::fs::read_to_string(folder.join("demo.json")).expect("a result");
    let found: Value = serde_json::from_str(&text).expect("JSON");
    let parts = found["parts"].as_array().expect("a list");
    let families: Vec<&str> = parts.iter().filter_map(|part| part["family"].as_str()).collect();
    assert_eq!(families, ["mcts", "azero", "mlp", "shogi", "cfr"]);
    // NashConv of Leduc hold'em after 1000 iterations of CFR+: the curve is of powers of ten, and its bound of a hundredth is the documentation's.
    let cfr = parts[4]["curve"].as_array().and_then(|curve| curve.last()?.as_f64()).expect("a curve");
    assert!(cfr < -2.0, "{cfr}");
    // What it tells to go on with are lines of the program.
    for part in parts {
        let line = part["more"].as_str().expect("a line");
        let words = words(line);
        let output = Command::new(program).args(&words[1..3]).arg("--help").output().expect("the program starts");
        let help = String::from_utf8_lossy(&output.stdout);
        assert!(words[3..].iter().filter(|word| word.starts_with("--")).all(|flag| help.contains(&flag[..])), "{line}");
    }
}

/// A machine without a GPU is no error; the old name is read.
#[test]
fn the_doctor_says_what_works() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["doctor", "device"] {
        let mut command = Command::new(warpplay(env!("CARGO_TARGET_TMPDIR")));
        let output =
            command.current_dir(folder.path()).args([name, "--json", "found.json"]).output().expect("it starts");
        let text = std::fs::read_to_string(folder.path().join("found.json")).expect("a result");
        let found: Value = serde_json::from_str(&text).expect("JSON");
        let devices = found["devices"].as_array().expect("a list");
        let all_work = devices.iter().all(|device| device["works"] == true);
        assert_eq!(output.status.code(), Some(if all_work { 0 } else { 1 }), "{text}");
        for backend in ["simt", "cpu"] {
            let works = devices.iter().any(|device| device["device"] == backend && device["works"] == true);
            assert!(works, "{backend}: {text}");
        }
        let beside = found["surroundings"].as_array().expect("a list");
        assert_eq!(beside.len(), 3, "{text}");
        for one in beside {
            assert_eq!(one["works"] == true, one["remedy"].is_null(), "{one}: a remedy where it is not there");
        }
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(["Driver", "Devices", "Kernels in this program", "Back ends"].iter().all(|head| said.contains(head)));
        assert!(!said.contains('\u{1b}'), "colour where there is no terminal");
    }
}

/// A page for each command, and scripts that name all commands.
#[test]
fn pages_and_completions_know_every_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = warpplay(env!("CARGO_TARGET_TMPDIR"));
    let run = |arguments: &[&str]| {
        let output = Command::new(program).current_dir(folder.path()).args(arguments).output().expect("it starts");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    run(&["man", "pages"]);
    let commands = listed(&run(&["--help"]));
    assert!(commands.len() > 10, "{commands:?}");
    for command in &commands {
        let page = std::fs::read_to_string(folder.path().join(format!("pages/warpplay-{command}.1")));
        let page = page.unwrap_or_else(|error| panic!("{command}: {error}"));
        assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{command}: {page}");
    }
    let analyse = std::fs::read_to_string(folder.path().join("pages/warpplay-mcts-analyse.1")).expect("a page");
    assert!(analyse.contains("\\-\\-moves") && analyse.contains("warpplay mcts analyse"), "{analyse}");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = run(&["completions", shell]);
        for command in &commands {
            assert!(script.contains(command.as_str()), "{shell}: no {command}");
        }
    }
}
