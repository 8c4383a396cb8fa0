//! Asking the player of `play` for an action.

use anyhow::{Context, Result};

use crate::common::{self, Input};

/// What a player may answer.
pub struct Question<'a> {
    /// What `help` prints.
    pub help: &'a str,
    /// What an error says of the actions.
    pub allowed: &'a str,
    /// The number of the action that a word means, if it means one.
    pub chosen: &'a dyn Fn(&str) -> Option<usize>,
}

/// Asks until something that can be done was typed; `None` where the player leaves. `hint` prints one.
pub fn ask(input: &Input, question: &Question<'_>, mut hint: impl FnMut() -> Result<()>) -> Result<Option<usize>> {
    loop {
        common::print("your action> ")?;
        let Some(line) = input.next_line().context("stdin")? else { return Ok(None) };
        match line.to_ascii_lowercase().as_str() {
            "" => {}
            "quit" | "q" | "exit" => return Ok(None),
            "hint" => hint()?,
            "help" | "h" | "?" => common::print(format!("{}\n", question.help))?,
            word => match (question.chosen)(word) {
                Some(chosen) => return Ok(Some(chosen)),
                None => common::print(format!("'{word}' cannot be done here: {}\n", question.allowed))?,
            },
        }
    }
}
