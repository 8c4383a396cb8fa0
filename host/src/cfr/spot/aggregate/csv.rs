//! Boards as CSV.

use super::{Aggregate, Decision};

impl Aggregate {
    /// A line for each board, with a heading. For each decision, named `seat0` or `seat1` with the history before it (`seat1.r50`), there is the column `reach` and one for each action.
    pub fn csv(&self) -> String {
        let mut columns: Vec<(&str, &str)> = Vec::new();
        for decision in self.rows.iter().flat_map(|row| &row.values.decisions) {
            for action in std::iter::once("reach").chain(decision.actions.iter().map(String::as_str)) {
                let column = (decision.history.as_str(), action);
                if !columns.contains(&column) {
                    columns.push(column);
                }
            }
        }
        let mut text = "board,weight,pairs,high,pairing,suits,straight,ev0,ev1,equity0,equity1,exploitability,iterations,seconds,device"
            .to_string();
        for (history, action) in &columns {
            let node = if history.is_empty() { "seat0".to_string() } else { format!("seat1.{history}") };
            text += &format!(",{node}.{action}");
        }
        text.push('\n');
        for row in &self.rows {
            let (texture, values) = (&row.texture, &row.values);
            let exploitability = values.exploitability.map_or(String::new(), |chips| chips.to_string());
            text += &format!(
                "{},{},{},{},{},{},{},{},{},{},{},{exploitability},{},{},{}",
                row.board,
                row.weight,
                row.pairs,
                texture.high,
                texture.pairing,
                texture.suits,
                texture.straight,
                values.ev[0],
                values.ev[1],
                values.equity[0],
                values.equity[1],
                values.iterations,
                values.seconds,
                values.device,
            );
            for (history, action) in &columns {
                let decision = values.decisions.iter().find(|decision| decision.history == *history);
                let value = decision.and_then(|decision| value_of(decision, action));
                text += &format!(",{}", value.map_or(String::new(), |value| value.to_string()));
            }
            text.push('\n');
        }
        text
    }
}

/// The value of a column of a decision.
fn value_of(decision: &Decision, column: &str) -> Option<f64> {
    if column == "reach" {
        return Some(decision.reach);
    }
    let at = decision.actions.iter().position(|action| action == column)?;
    decision.frequencies.get(at).copied()
}
