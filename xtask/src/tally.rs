//! How many tests ran, and what was left out and why.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::process;

/// Environment variable that names the list of what tests left out; `warpplay_tests::skipped` writes it.
const LIST: &str = "WARPPLAY_SKIPPED_LIST";

/// The sums of several runs of `cargo test`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    passed: u64,
    failed: u64,
    ignored: u64,
    list: PathBuf,
}

impl Tally {
    /// Nothing yet; the list of an earlier run goes.
    pub fn new() -> Result<Self> {
        let list = process::target_dir().join("skipped.tsv");
        if list.exists() {
            fs::remove_file(&list).with_context(|| format!("cannot remove {}", list.display()))?;
        }
        Ok(Self { list, ..Self::default() })
    }

    /// Runs one `cargo test`, shows what it prints, and counts.
    pub fn run(&mut self, command: &mut Command) -> Result<()> {
        command.env(LIST, &self.list).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start `{}`", process::line(command)))?;
        if let Some(stdout) = child.stdout.take() {
            for line in BufReader::new(stdout).split(b'\n') {
                let line = line.context("the output of cargo")?;
                let line = String::from_utf8_lossy(&line);
                println!("{line}");
                self.count(&line);
            }
        }
        let status = child.wait().with_context(|| format!("`{}`", process::line(command)))?;
        process::expect_success(command, status)
    }

    /// Adds what a line of libtest sums up: `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
    fn count(&mut self, line: &str) {
        let Some((_, rest)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". ")) else { return };
        for part in rest.split("; ") {
            let Some((Ok(n), word)) = part.split_once(' ').map(|(n, word)| (n.parse::<u64>(), word)) else { continue };
            match word {
                "passed" => self.passed += n,
                "failed" => self.failed += n,
                "ignored" => self.ignored += n,
                _ => {}
            }
        }
    }

    /// The sums, and each reason for which something was left out with how many tests it concerns.
    pub fn text(&self) -> Result<String> {
        let list = match self.list.exists() {
            true => fs::read_to_string(&self.list).with_context(|| format!("cannot read {}", self.list.display()))?,
            false => String::new(),
        };
        Ok(self.sum_up(&list))
    }

    fn sum_up(&self, list: &str) -> String {
        // Two programs may have tests of one name.
        let mut reasons: BTreeMap<&str, BTreeSet<(&str, &str)>> = BTreeMap::new();
        for line in list.lines() {
            let mut cells = line.splitn(3, '\t');
            if let (Some(program), Some(test), Some(reason)) = (cells.next(), cells.next(), cells.next()) {
                reasons.entry(reason).or_default().insert((program, test));
            }
        }
        let mut text = String::from("Tests that left something out, and why\n");
        for (reason, tests) in &reasons {
            text += &format!("  {:>4}  {reason}\n", tests.len());
        }
        if reasons.is_empty() {
            text += "  none\n";
        }
        let skipped: BTreeSet<(&str, &str)> = reasons.into_values().flatten().collect();
        let Self { passed, failed, ignored, .. } = self;
        text += &format!("  {ignored:>4}  ignored: measurements, and what takes minutes (cargo test -- --ignored)\n");
        // Those that left something out passed, as far as libtest knows.
        let whole = passed.saturating_sub(skipped.len() as u64);
        text + &format!("{whole} passed, {failed} failed, {} skipped", skipped.len() as u64 + ignored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_summed_and_reasons_counted() {
        let mut tally = Tally::default();
        for line in [
            "running 3 tests",
            "test a ... ok",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "test result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured; 7 filtered out; finished in 2.00s",
        ] {
            tally.count(line);
        }
        let list = "p\ta\tno GPU\np\tb\tno GPU\np\ta\tno GPU\nq\ta\tno GPU\nq\ta\tno data\n";
        let text = tally.sum_up(list);
        assert!(text.contains("     3  no GPU\n") && text.contains("     1  no data\n"), "{text}");
        assert!(text.ends_with("\n4 passed, 1 failed, 4 skipped"), "{text}");
    }
}
