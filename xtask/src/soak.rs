//! `cargo xtask soak`: the tests of `tests/tests/soak` with many rounds, and the tables of what they found.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::process;

/// The page that has the tables, from the root.
const PAGE: &str = "docs/reliability.md";
/// What `tests/tests/soak/rounds.rs` reads.
const KILLS: &str = "WARPPLAY_SOAK_KILLS";
const MUTANTS: &str = "WARPPLAY_SOAK_MUTANTS";
const SEED: &str = "WARPPLAY_SOAK_SEED";
const LEDGER: &str = "WARPPLAY_SOAK_LEDGER";

/// How much is tried.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct Options {
    /// Kills of each command, and rounds of each pair of writers
    #[arg(long, default_value_t = 30)]
    kills: u32,
    /// Mutants of each kind of file
    #[arg(long, default_value_t = 500)]
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
}

const TABLES: [Table; 3] = [
    Table {
        name: "kills",
        n_names: 2,
        heads: "command | file | kills | absent | old | new | lost or damaged | goes on | same bits then",
    },
    Table {
        name: "mutants",
        n_names: 1,
        heads: "file | mutants | checksums mended | read | refused | faults | slowest, ms | most memory, MiB",
    },
    Table {
        name: "writers",
        n_names: 1,
        heads: "what two wrote | rounds | both ended well | second refused | read meanwhile | lost or damaged",
    },
];

/// Runs the tests and shows their tables.
///
/// # Errors
/// A test fails; the page cannot be written.
pub fn run(options: Options, features: &[&str]) -> Result<()> {
    let Options { kills, mutants, seed, page } = options;
    for (option, number) in [("kills", kills), ("mutants", mutants)] {
        if number == 0 {
            bail!("option {option}: 0 is not allowed (1 or more)");
        }
    }
    let ledger = process::target_dir().join("soak.tsv");
    if ledger.exists() {
        fs::remove_file(&ledger).with_context(|| format!("cannot remove {}", ledger.display()))?;
    }
    let start = Instant::now();
    // As the suite is built: with checks of arithmetic, and nothing is compiled twice.
    let mut command = process::cargo(&["test", "--workspace", "--test", "soak", "--no-fail-fast"]);
    command.args(features).env(KILLS, kills.to_string()).env(MUTANTS, mutants.to_string());
    command.env(SEED, seed.to_string()).env(LEDGER, &ledger);
    let result = process::run(&mut command);
    if result.is_err() && !ledger.exists() {
        // It was not built, and there is nothing to show.
        return result;
    }
    let rows = fs::read_to_string(&ledger).with_context(|| format!("cannot read {}", ledger.display()))?;
    let texts = texts(&rows);
    for text in texts.values() {
        println!("\n{text}");
    }
    result?;
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

fn row(cells: &str) -> String {
    format!("| {} |\n", cells.split('\t').collect::<Vec<_>>().join(" | "))
}

/// Puts the tables into their slots: what stands between `<!-- soak NAME -->` and the next `<!-- end -->`.
fn write_page(path: &Path, texts: &BTreeMap<&str, String>, head: &str) -> Result<()> {
    let page = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut page = fill(&page, "run", head)?;
    for (name, text) in texts {
        page = fill(&page, name, text.trim_end())?;
    }
    fs::write(path, page).with_context(|| format!("cannot write {}", path.display()))
}

fn fill(page: &str, name: &str, text: &str) -> Result<String> {
    let mark = format!("<!-- soak {name} -->\n");
    let parts = page.split_once(&mark).and_then(|(before, rest)| Some((before, rest.split_once("<!-- end -->")?.1)));
    let (before, behind) = parts.with_context(|| format!("{PAGE} has no slot {}", mark.trim_end()))?;
    Ok(format!("{before}{mark}{text}\n<!-- end -->{behind}"))
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
    fn the_page_has_a_slot_for_each_table() {
        let page = fs::read_to_string(process::root().join(PAGE)).expect("the page");
        for name in TABLES.iter().map(|table| table.name).chain(["run"]) {
            fill(&page, name, "").expect("a slot");
        }
    }
}
