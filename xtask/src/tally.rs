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

/// The sums of several runs of `cargo test` and of pytest.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    passed: u64,
    failed: u64,
    ignored: u64,
    list: PathBuf,
    python: Python,
}

/// What pytest summed up.
#[derive(Debug, Default, PartialEq, Eq)]
struct Python {
    passed: u64,
    failed: u64,
    /// Reasons for which tests were skipped, with how many.
    skipped: BTreeMap<String, u64>,
    /// Why the whole suite was left out, if it was.
    left_out: Option<String>,
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
        command.env(LIST, &self.list);
        show(command, |line| self.count(line))
    }

    /// Runs pytest with `-rs`, shows what it prints, and counts.
    pub fn run_pytest(&mut self, command: &mut Command) -> Result<()> {
        show(command, |line| self.python.count(line))
    }

    /// Notes that Python's suite did not run, and why.
    pub fn leave_out_python(&mut self, reason: impl Into<String>) {
        self.python.left_out = Some(reason.into());
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
        for (reason, n) in &self.python.skipped {
            text += &format!("  {n:>4}  Python: {reason}\n");
        }
        if let Some(reason) = &self.python.left_out {
            text += &format!("   all  of python/tests: {reason}\n");
        }
        if reasons.is_empty() && self.python.skipped.is_empty() && self.python.left_out.is_none() {
            text += "  none\n";
        }
        let skipped: BTreeSet<(&str, &str)> = reasons.into_values().flatten().collect();
        let Self { passed, failed, ignored, python, .. } = self;
        text += &format!("  {ignored:>4}  ignored: measurements, and what takes minutes (cargo test -- --ignored)\n");
        // Those that left something out passed, as far as libtest knows.
        let whole = passed.saturating_sub(skipped.len() as u64);
        let left_out = skipped.len() as u64 + ignored + python.skipped.values().sum::<u64>();
        text + &format!("{} passed, {} failed, {left_out} skipped", whole + python.passed, failed + python.failed)
    }
}

impl Python {
    /// Adds what a line of pytest sums up: `57 passed, 14 skipped in 20.49s`, and `SKIPPED [14] FILE:LINE: REASON`.
    fn count(&mut self, line: &str) {
        if let Some((n, rest)) = line.strip_prefix("SKIPPED [").and_then(|rest| rest.split_once("] ")) {
            let reason = rest.split_once(": ").map_or(rest, |(_, reason)| reason);
            *self.skipped.entry(reason.to_string()).or_default() += n.parse::<u64>().unwrap_or(1);
            return;
        }
        // With and without the frame of `=` that it has on a terminal.
        let Some((sums, _)) = line.trim_matches(['=', ' ']).rsplit_once(" in ") else { return };
        let parts: Option<Vec<(u64, &str)>> = sums
            .split(", ")
            .map(|part| part.split_once(' ').and_then(|(n, word)| Some((n.parse().ok()?, word))))
            .collect();
        for (n, word) in parts.into_iter().flatten() {
            match word {
                "passed" => self.passed += n,
                // What fails before or after a test is an error to pytest.
                "failed" | "error" | "errors" => self.failed += n,
                _ => {}
            }
        }
    }
}

/// Runs a program, shows the lines that it prints, and hands each on.
fn show(command: &mut Command, mut each: impl FnMut(&str)) -> Result<()> {
    command.stdout(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start `{}`", process::line(command)))?;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line.with_context(|| format!("the output of `{}`", process::line(command)))?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            each(&line);
        }
    }
    let status = child.wait().with_context(|| format!("`{}`", process::line(command)))?;
    process::expect_success(command, status)
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

    #[test]
    fn pytests_sums_are_added() {
        let mut tally = Tally { passed: 10, ..Tally::default() };
        for line in [
            "...s [100%]",
            "SKIPPED [14] ../../python/tests/peers.py:14: torch is not installed: cargo xtask wheel --test --peers --torch",
            "SKIPPED [1] ../../python/tests/test_dlpack.py:168: needs a GPU",
            "1 failed, 57 passed, 15 skipped, 1 warning, 2 errors in 20.49s (0:00:20)",
            "what is in 3 words",
        ] {
            tally.python.count(line);
        }
        let text = tally.sum_up("");
        assert!(text.contains("    14  Python: torch is not installed: cargo xtask wheel"), "{text}");
        assert!(text.contains("     1  Python: needs a GPU\n") && !text.contains("none"), "{text}");
        assert!(text.ends_with("\n67 passed, 3 failed, 15 skipped"), "{text}");
        tally.leave_out_python("no python3");
        assert!(tally.sum_up("").contains("   all  of python/tests: no python3\n"));
    }
}
