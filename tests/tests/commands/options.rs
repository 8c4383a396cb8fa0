//! `docs/options`: a page a family, and one for all other commands, with every command's arguments and options, made from what the program says with `-h`.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use warpplay_tests::golden;
use warpplay_tests::programs::warpplay;

/// With this variable the pages are written instead of compared; `cargo xtask options` sets it.
const WRITE: &str = "WARPPLAY_WRITE_OPTIONS";

/// The families, and the title of each one's page.
const PAGES: [(&str, &str); 6] = [
    ("mcts", "Options of the tree search"),
    ("azero", "Options of AlphaZero"),
    ("mlp", "Options of perceptrons"),
    ("shogi", "Options of shogi"),
    ("cfr", "Options of poker"),
    ("papers", "Options of the publications"),
];

/// What a command says of itself with `-h`.
fn help(program: &Path, words: &[&str]) -> String {
    let output = Command::new(program).args(words).arg("-h").output().expect("the program starts");
    assert!(output.status.success(), "warpplay {} -h failed", words.join(" "));
    String::from_utf8(output.stdout).expect("help in UTF-8")
}

/// Spaces before a text that begins in a line of its own: clap writes all of a command's so where a name is long.
const OWN_LINE: &str = "          ";

/// The lines of a section of the help, such as `Options:`: its name and its text, both on one line, or the text on the next.
fn section<'a>(help: &'a str, title: &str) -> Vec<(&'a str, &'a str)> {
    let lines = help.lines().skip_while(|line| line.trim_end() != title).skip(1);
    let mut found: Vec<(&str, &str)> = Vec::new();
    for line in lines.take_while(|line| line.starts_with(' ')) {
        match found.last_mut() {
            Some((_, text)) if text.is_empty() && line.starts_with(OWN_LINE) => *text = line.trim(),
            // Short and long form are two spaces apart from the text, and one from each other.
            _ => {
                let line = line.trim();
                found.push(line.split_once("  ").map_or((line, ""), |(name, text)| (name, text.trim())));
            }
        }
    }
    found
}

/// A text as a cell of a table of Markdown.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('*', "\\*")
}

/// A text and the default in brackets that it holds.
fn with_default(text: &str) -> (String, &str) {
    let Some((before, rest)) = text.split_once("[default: ") else { return (text.to_string(), "") };
    let (default, after) = rest.split_once(']').expect("a bracket that ends");
    (format!("{}{after}", before.trim_end()), default)
}

/// How a page begins that is titled so.
fn start(title: &str, commands: &str) -> String {
    format!(
        "# {title}\n\n{commands} with its arguments and options, as `-h` shows them. `cargo xtask options` makes this page, and a test compares it with the program.\n\n\
         Every command also has `-h` and `--help`; `--help` gives further details of some options.\n"
    )
}

/// The part of a page about a command.
fn command(program: &Path, words: &[&str]) -> String {
    let text = help(program, words);
    let usage = text.lines().find_map(|line| line.strip_prefix("Usage: ")).expect("a usage");
    let summary = cell(text.lines().next().unwrap_or_default());
    let mut out = format!("\n## warpplay {}\n\n{summary}.\n\n```text\n{usage}\n```\n", words.join(" "));
    let arguments = section(&text, "Arguments:");
    let options = section(&text, "Options:").into_iter().filter(|(name, _)| *name != "-h, --help");
    let rows: Vec<(&str, &str)> = arguments.into_iter().chain(options).collect();
    if !rows.is_empty() {
        out += "\n| argument or option | meaning | default |\n| --- | --- | --- |\n";
    }
    for (name, text) in rows {
        let (meaning, default) = with_default(text);
        let default = if default.is_empty() { String::new() } else { format!("`{default}`") };
        // A bar would divide the cell, in code too.
        writeln!(out, "| `{}` | {} | {default} |", name.replace('|', "\\|"), cell(&meaning)).expect("text");
    }
    out
}

/// The names of the commands below these words.
fn commands(about: &str) -> impl Iterator<Item = &str> {
    section(about, "Commands:").into_iter().map(|(command, _)| command).filter(|&command| command != "help")
}

/// The page of a family.
fn page(program: &Path, family: &str, title: &str) -> String {
    let about = help(program, &[family]);
    let parts = commands(&about).map(|name| command(program, &[family, name]));
    start(title, &format!("Every command of `warpplay {family}`")) + &parts.collect::<String>()
}

/// The page of the commands that belong to no family.
fn page_of_others(program: &Path) -> String {
    let about = help(program, &[]);
    let others = commands(&about).filter(|name| PAGES.iter().all(|(family, _)| family != name));
    let parts = others.map(|name| command(program, &[name]));
    start("Options of the other commands", "Every command of `warpplay` that belongs to no family")
        + &parts.collect::<String>()
}

#[test]
fn the_pages_of_options_are_what_the_program_says() {
    let program = warpplay(env!("CARGO_TARGET_TMPDIR"));
    let write = std::env::var_os(WRITE).is_some();
    let mut stale = Vec::new();
    let of_families = PAGES.iter().map(|&(family, title)| (family, page(program, family, title)));
    for (name, made) in of_families.chain([("others", page_of_others(program))]) {
        let path = golden::workspace().join(format!("docs/options/{name}.md"));
        if write {
            std::fs::write(&path, made).expect("the page is written");
        } else if std::fs::read_to_string(&path).unwrap_or_default() != made {
            stale.push(name);
        }
    }
    assert!(stale.is_empty(), "docs/options: {} differ from the program: cargo xtask options", stale.join(", "));
}

#[test]
fn a_help_is_read_line_by_line() {
    let help = "About\n\nUsage: x [OPTIONS]\n\nOptions:\n      --a <B>  What a | b is [default: 2] [possible values: 1, 2]\n  -q, --quiet  Errors\n\nA file:\n  {}\n";
    let found = section(help, "Options:");
    assert_eq!(found, [("--a <B>", "What a | b is [default: 2] [possible values: 1, 2]"), ("-q, --quiet", "Errors")]);
    let apart = "Options:\n  -a, --a <B>\n          What a is\n      --c\n          What c is\n";
    assert_eq!(section(apart, "Options:"), [("-a, --a <B>", "What a is"), ("--c", "What c is")]);
    assert_eq!(with_default(found[0].1), ("What a | b is [possible values: 1, 2]".to_string(), "2"));
    assert_eq!(cell("a | <b>"), "a \\| &lt;b>");
}
