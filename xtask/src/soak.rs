//! `cargo xtask soak`: the tests of `tests/tests/soak` with many rounds, and the tables of what they found.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::process;

/// The page that has the tables, from the root.
const PAGE: &str = "docs/reliability.md";
/// Line that ends a slot of the page. Slots are as `cli/src/papers/page.rs` has them, but for empty lines within.
const END: &str = "<!-- end -->";
/// What `tests/tests/soak/rounds.rs` reads.
const KILLS: &str = "WARPPLAY_SOAK_KILLS";
const MUTANTS: &str = "WARPPLAY_SOAK_MUTANTS";
const SEED: &str = "WARPPLAY_SOAK_SEED";
const ROWS: &str = "WARPPLAY_SOAK_ROWS";
/// Replacements of a file in each round of two writers.
const REPLACEMENTS: u32 = 10;

/// How much is tried.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct Options {
    /// Kills of each command, and rounds of each pair of writers
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    kills: u32,
    /// Mutants of each kind of file
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    mutants: u32,
    /// Seed of all that is drawn
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the tables into docs/reliability.md, where nothing failed
    #[arg(long)]
    page: bool,
}

/// A table: the name under which tests note its rows and the page has its slot, and the heads of its columns, those with names first.
struct Table {
    name: &'static str,
    n_names: usize,
    heads: &'static str,
    /// How often each thing is tried; the column after the names says how often it was.
    tried: fn(&Options) -> u32,
}

const TABLES: [Table; 4] = [
    Table {
        name: "kills",
        n_names: 2,
        heads: "command | file | kills | absent | old | new | resumed | same bits then | faults",
        tried: |options| options.kills,
    },
    Table {
        name: "mutants",
        n_names: 1,
        heads: "file | mutants | checksums repaired | read | refused | faults | slowest, ms | most memory, MiB",
        tried: |options| options.mutants,
    },
    Table {
        name: "writers",
        n_names: 1,
        heads: "what two wrote | rounds | both ended well | second refused | read meanwhile | faults",
        tried: |options| options.kills,
    },
    Table {
        name: "replaced",
        n_names: 1,
        heads: "what is replaced | replacements | refused and tried again | read meanwhile | faults",
        tried: |options| REPLACEMENTS * options.kills,
    },
];

/// Runs the tests and shows their tables.
///
/// # Errors
/// A test fails; the tests tried another number than was asked for; the page cannot be written.
pub fn run(options: Options, features: &[&str]) -> Result<()> {
    let Options { kills, mutants, seed, page } = options;
    let path = process::target_dir().join("soak.tsv");
    if path.exists() {
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    let start = Instant::now();
    // As the suite is built: with checks of arithmetic, and nothing is compiled twice.
    let mut command = process::cargo(&["test", "--workspace", "--test", "soak", "--no-fail-fast"]);
    command.args(features).env(KILLS, kills.to_string()).env(MUTANTS, mutants.to_string());
    command.env(SEED, seed.to_string()).env(ROWS, &path);
    let result = process::run(&mut command);
    if result.is_err() && !path.exists() {
        // It was not built, and there is nothing to show.
        return result;
    }
    let rows = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let texts = texts(&rows);
    for text in texts.values() {
        println!("\n{text}");
    }
    result?;
    expect_tried(&rows, &options)?;
    if page {
        let minutes = start.elapsed().as_secs().div_ceil(60);
        let line = format!("cargo xtask soak --kills {kills} --mutants {mutants} --seed {seed}");
        let head = format!("`{line}`, {minutes} minutes on {}, {}.", machine(), today()?);
        write_page(&process::root().join(PAGE), &texts, &head)?;
    }
    Ok(())
}

/// The tables by their names, in Markdown.
fn texts(rows: &str) -> BTreeMap<&'static str, String> {
    let text = |table: &Table| {
        let prefix = format!("{}\t", table.name);
        let mut lines: Vec<String> = rows.lines().filter_map(|line| line.strip_prefix(&prefix)).map(row).collect();
        // Tests end in any order.
        lines.sort();
        // Names to the left, numbers to the right.
        let rule = |at: usize| if at < table.n_names { "---" } else { "---:" };
        let rules: Vec<&str> = (0..table.heads.split(" | ").count()).map(rule).collect();
        let mut text = format!("| {} |\n| {} |\n", table.heads, rules.join(" | "));
        text.extend(lines);
        (table.name, text)
    };
    TABLES.iter().map(text).collect()
}

/// That the tests were told how much to try, and that their rows have the columns of the tables.
fn expect_tried(rows: &str, options: &Options) -> Result<()> {
    for Table { name, n_names, heads, tried } in &TABLES {
        let prefix = format!("{name}\t");
        let heads: Vec<&str> = heads.split(" | ").collect();
        let mut lines = rows.lines().filter_map(|line| line.strip_prefix(&prefix)).peekable();
        ensure!(lines.peek().is_some(), "the table {name} has no row");
        for line in lines {
            let cells: Vec<&str> = line.split('\t').collect();
            let (n, expected) = (cells.len(), heads.len());
            ensure!(n == expected, "the table {name}, row {}: {n} cells, expected {expected}", cells[0]);
            let (found, expected, head) = (cells[*n_names], tried(options).to_string(), heads[*n_names]);
            ensure!(found == expected, "the table {name}, row {}: {found} {head}, expected {expected}", cells[0]);
        }
    }
    Ok(())
}

fn row(cells: &str) -> String {
    format!("| {} |\n", cells.split('\t').collect::<Vec<_>>().join(" | "))
}

/// Puts the tables into their slots: what stands between `<!-- soak NAME -->` and `<!-- end -->`.
fn write_page(path: &Path, texts: &BTreeMap<&str, String>, head: &str) -> Result<()> {
    let page = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut page = fill(&page, "run", head)?;
    for (name, text) in texts {
        page = fill(&page, name, text.trim_end())?;
    }
    fs::write(path, page).with_context(|| format!("cannot write {}", path.display()))
}

fn fill(page: &str, name: &str, text: &str) -> Result<String> {
    let (before, _, behind) = slot(page, name)?;
    Ok(format!("{before}{text}\n{END}{behind}"))
}

/// What stands before the text of a slot, the text, and what stands behind its end.
fn slot<'a>(page: &'a str, name: &str) -> Result<(&'a str, &'a str, &'a str)> {
    let mark = format!("<!-- soak {name} -->\n");
    let at = page.find(&mark).with_context(|| format!("{PAGE} has no slot {}", mark.trim_end()))?;
    let (before, rest) = page.split_at(at + mark.len());
    // Another slot before the end: what is between them would be lost.
    let end = rest.find("<!-- ").filter(|&end| rest[end..].starts_with(END));
    let (text, rest) = rest.split_at(end.with_context(|| format!("{PAGE}: {} has no line {END}", mark.trim_end()))?);
    Ok((before, text, &rest[END.len()..]))
}

/// The processor and its threads.
fn machine() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    format!("{} ({threads} threads)", name.map_or("a CPU", |(_, name)| name.trim()))
}

/// The date in UTC.
fn today() -> Result<String> {
    process::output_of("date", &["-u", "+%Y-%m-%d"]).map(|date| date.trim().to_string()).context("`date` failed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_tables_in_their_slots() {
        let rows = "mutants\tb\t5\nkills\tx\ty\t1\nmutants\ta\t7\nother\tz\n";
        let texts = texts(rows);
        let (head, lines) = texts["mutants"].split_once("---: |\n").expect("a rule");
        assert!(head.starts_with("| file | mutants |"), "{head}");
        assert_eq!(lines, "| a | 7 |\n| b | 5 |\n");
        let page = "# A\n<!-- soak mutants -->\nold\n<!-- end -->\nB\n";
        let filled = fill(page, "mutants", "new").expect("a slot");
        assert_eq!(filled, "# A\n<!-- soak mutants -->\nnew\n<!-- end -->\nB\n");
        assert_eq!(fill(&filled, "mutants", "new").expect("a slot"), filled);
        assert!(fill(page, "kills", "new").unwrap_err().to_string().contains("<!-- soak kills -->"));
    }

    #[test]
    fn a_slot_without_an_end_takes_no_text_of_the_next() {
        let page = "<!-- soak kills -->\nprose that must stay\n<!-- soak mutants -->\nold\n<!-- end -->\n";
        let refused = fill(page, "kills", "new").unwrap_err().to_string();
        assert_eq!(refused, "docs/reliability.md: <!-- soak kills --> has no line <!-- end -->");
        assert!(fill(page, "mutants", "new").is_ok());
        assert!(fill("<!-- soak kills -->\nold\n", "kills", "new").is_err());
    }

    #[test]
    fn rows_that_were_not_asked_for_are_refused() {
        let options = Options { kills: 3, mutants: 5, seed: 1, page: false };
        let row = |table: &Table, tried: u32, n: usize| {
            let mut cells = vec!["x".to_string(); n];
            cells[table.n_names] = tried.to_string();
            format!("{}\t{}\n", table.name, cells.join("\t"))
        };
        let good = |table: &Table| row(table, (table.tried)(&options), table.heads.split(" | ").count());
        let rows: String = TABLES.iter().map(good).collect();
        expect_tried(&rows, &options).expect("as asked for");
        for table in &TABLES {
            let n = table.heads.split(" | ").count();
            let with =
                |other: &str| expect_tried(&rows.replace(&good(table), other), &options).unwrap_err().to_string();
            let found = with(&row(table, 2, n));
            assert!(found.starts_with(&format!("the table {}, row x: 2 ", table.name)), "{found}");
            let found = with(&row(table, (table.tried)(&options), n + 1));
            assert!(found.ends_with(&format!(": {} cells, expected {n}", n + 1)), "{found}");
            assert_eq!(with(""), format!("the table {} has no row", table.name));
        }
    }

    #[test]
    fn the_tests_read_these_variables() {
        let path = process::root().join("tests/tests/soak/rounds.rs");
        let source = fs::read_to_string(&path).expect("the source");
        for variable in [KILLS, MUTANTS, SEED, ROWS] {
            assert!(source.contains(&format!("\"{variable}\"")), "no {variable} in {}", path.display());
        }
    }

    #[test]
    fn the_page_has_a_slot_for_each_table_with_its_columns() {
        let page = fs::read_to_string(process::root().join(PAGE)).expect("the page");
        slot(&page, "run").expect("a slot");
        for Table { name, heads, .. } in &TABLES {
            let (_, text, _) = slot(&page, name).expect("a slot");
            let n = heads.split(" | ").count();
            assert_eq!(text.lines().next(), Some(&*format!("| {heads} |")));
            assert!(text.lines().all(|line| line.matches(" | ").count() == n - 1), "{name}: a row of other cells");
        }
    }
}
