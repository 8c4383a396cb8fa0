//! Other programs that are timed beside ours, row by row, on the same machine.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, bail};
use serde_json::Value;

/// A program that says its name in a line `{"peer": NAME}`, and then answers each line of JSON, a setting, with a line `{"seconds": S}` or `{"error": WHY}`.
pub struct Peer {
    pub name: String,
    command: String,
    program: Child,
    // Taken away to end the program.
    settings: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts a shell command.
    pub fn start(command: &str) -> anyhow::Result<Self> {
        let mut program = Command::new("sh")
            .args(["-c", command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("peer {command}: cannot be started"))?;
        let settings = program.stdin.take();
        let answers = BufReader::new(program.stdout.take().context("the program has no output")?);
        let mut peer = Self { name: String::new(), command: command.to_string(), program, settings, answers };
        let first = peer.answer()?;
        peer.name = match first["peer"].as_str() {
            Some(name) => name.to_string(),
            None => bail!("peer {command}: its first line is {first}, expected {{\"peer\": NAME}}"),
        };
        Ok(peer)
    }

    /// Seconds that the program took for a setting; without them, why.
    ///
    /// # Errors
    /// If the program has ended, or answers in another form.
    pub fn seconds(&mut self, setting: &Value) -> anyhow::Result<Result<f64, String>> {
        let Some(settings) = &mut self.settings else { bail!("peer {}: has ended", self.command) };
        writeln!(settings, "{setting}").with_context(|| format!("peer {}: has ended", self.command))?;
        let answer = self.answer()?;
        match (answer["seconds"].as_f64(), answer["error"].as_str()) {
            (Some(seconds), None) if seconds > 0.0 => Ok(Ok(seconds)),
            (None, Some(why)) => Ok(Err(why.to_string())),
            _ => bail!("peer {}: answered {answer}, expected {{\"seconds\": S}} or {{\"error\": WHY}}", self.command),
        }
    }

    /// The next line.
    fn answer(&mut self) -> anyhow::Result<Value> {
        let mut line = String::new();
        self.answers.read_line(&mut line).with_context(|| format!("peer {}", self.command))?;
        if line.is_empty() {
            bail!("peer {}: has ended without an answer", self.command);
        }
        serde_json::from_str(&line).with_context(|| format!("peer {}: answered {line:?}, expected JSON", self.command))
    }
}

impl Drop for Peer {
    /// The end of its settings ends the program.
    fn drop(&mut self) {
        self.settings = None;
        let _ = self.program.wait();
    }
}

/// The geometric mean, of at least one ratio.
pub fn geometric_mean(ratios: &[f64]) -> Option<f64> {
    (!ratios.is_empty()).then(|| (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp())
}
