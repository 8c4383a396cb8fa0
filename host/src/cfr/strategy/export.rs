//! Strategies as JSON and CSV.

use std::io::{self, Write};

use super::Strategy;

impl Strategy {
    /// Writes every information set as one JSON object, `{"key": {"actions": […], "probabilities": […], "reached": true}, …}`, one line per set.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(b"{")?;
        let mut first = true;
        self.each(|answer| {
            let actions: Vec<&str> = answer.choices.iter().map(|choice| choice.action.as_str()).collect();
            let probabilities: Vec<f64> = answer.choices.iter().map(|choice| choice.probability).collect();
            let value = serde_json::json!({
                "actions": actions, "probabilities": probabilities, "reached": answer.reached,
            });
            let comma = if std::mem::take(&mut first) { "" } else { "," };
            write!(out, "{comma}\n{}: {value}", serde_json::Value::from(answer.key))
        })?;
        out.write_all(b"\n}\n")
    }

    /// Writes every information set as lines of CSV, one per action: `key,seat,reached,action,probability`.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write_csv(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(b"key,seat,reached,action,probability\n")?;
        self.each(|answer| {
            for choice in &answer.choices {
                let (key, action) = (field(&answer.key), field(&choice.action));
                writeln!(out, "{key},{},{},{action},{}", answer.seat, answer.reached, choice.probability)?;
            }
            Ok(())
        })
    }
}

/// Quotes a text for CSV if necessary.
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
    }
}
