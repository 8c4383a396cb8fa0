//! Every command and flag of version 0.1, and what to type today: the tables in `docs/commands` are run line by line.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use warpplay_tests::golden;
use warpplay_tests::programs::warpplay;

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
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/commands").join(format!("{family}.tsv"));
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
        let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/commands").join(format!("{family}.tsv"));
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
