//! Games as the command line names them.

use std::path::Path;

use anyhow::{Context, Result};
use warpplay::cfr::game::{Goofspiel, LiarsDice, PrizeOrder};
use warpplay::cfr::{GameDef, Problem, Tree};

use crate::common::{self, Usage};

/// A definition file, or a game of the library: `kuhn`, `leduc`, `liars_dice` or `liars_dice:DICE,FACES`, `goofspiel:CARDS`; all for two players. A file that is named like one of them is read by its path, as `./kuhn`.
///
/// # Errors
/// The file cannot be read, or is no definition; a number is not allowed.
pub fn read(game: &Path) -> Result<Problem> {
    common::without_results(|| build(game))
}

/// A game's name over a plot: that of its file without the folder and the ending.
pub fn title(game: &Path) -> String {
    let name = game.file_name().map_or_else(|| game.display().to_string(), |name| name.to_string_lossy().into_owned());
    name.strip_suffix(".game").map_or(name.clone(), str::to_string)
}

/// A game of poker: a definition file, or `kuhn` or `leduc`.
///
/// # Errors
/// The file cannot be read, or is no definition.
pub fn definition(game: &Path) -> Result<GameDef> {
    if let Some(game) = game.to_str().and_then(GameDef::named) {
        return Ok(game);
    }
    let read = GameDef::read(game);
    match game.exists() {
        true => Ok(read?),
        false => read.context("expected a definition file, or a built-in game: kuhn, leduc; to solve and compare also liars_dice, goofspiel:N"),
    }
}

fn build(game: &Path) -> Result<Problem> {
    let named = || game.display().to_string();
    let name = game.to_str().unwrap_or_default();
    let (name, numbers) = name.split_once(':').unwrap_or((name, ""));
    let numbers: Vec<&str> = numbers.split(',').filter(|number| !number.is_empty()).collect();
    Ok(match name {
        "liars_dice" => {
            let [dice, faces] = match numbers[..] {
                [] => [1, 6],
                [dice, faces] => [number(dice)?, number(faces)?],
                _ => return Err(Usage("game liars_dice: expected liars_dice:DICE,FACES".into()).into()),
            };
            Problem::from(LiarsDice::new(2, dice, faces).and_then(|game| Tree::build(&game)).with_context(named)?)
        }
        "goofspiel" => {
            let [cards] = numbers[..] else {
                return Err(Usage("game goofspiel: expected goofspiel:CARDS".into()).into());
            };
            let rules = Goofspiel::new(2, number(cards)?, PrizeOrder::Descending);
            Problem::from(rules.and_then(|game| Tree::build(&game)).with_context(named)?)
        }
        _ => Problem::from(definition(game)?),
    })
}

fn number(text: &str) -> Result<usize> {
    text.parse().map_err(|_| Usage(format!("game: '{text}' is not a whole number")).into())
}
