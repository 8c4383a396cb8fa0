//! Games as the command line names them.

use std::path::Path;

use anyhow::{Context, Result, bail};
use warpplay::cfr::game::{Game, Goofspiel, LiarsDice, PrizeOrder};
use warpplay::cfr::{GameDef, Problem, Tree};

use crate::cfr::kinds;
use crate::common::table::thousands;
use crate::common::{self, OutputFlags, Usage};

/// Histories above which building a tree takes many seconds.
const MANY_HISTORIES: u32 = 1 << 22;

/// A definition file, or a game of the library: `kuhn`, `leduc`, `liars_dice` or `liars_dice:DICE,FACES`, `goofspiel:CARDS`; all for two players. A file that is named like one of them is read by its path, as `./kuhn`.
///
/// # Errors
/// The file cannot be read, or is no definition; a number is not allowed; the tree does not fit.
pub fn read(game: &Path, output: &OutputFlags) -> Result<Problem> {
    common::without_results(|| build(game, output))
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
    if !game.exists() {
        let expected = "expected a definition file, or a built-in game: kuhn, leduc; to solve and compare also liars_dice, goofspiel:N";
        bail!("{}: there is no such file: {expected}", game.display());
    }
    kinds::expect(game, &[])?;
    Ok(GameDef::read(game)?)
}

fn build(game: &Path, output: &OutputFlags) -> Result<Problem> {
    let text = game.to_str().unwrap_or_default();
    let (name, numbers) = text.split_once(':').map_or((text, None), |(name, numbers)| (name, Some(numbers)));
    let numbers: Vec<&str> = numbers.iter().flat_map(|numbers| numbers.split(',')).collect();
    match (name, &numbers[..]) {
        ("liars_dice", []) => tree(game, LiarsDice::new(2, 1, 6), output),
        ("liars_dice", &[dice, faces]) => {
            let (dice, faces) = (number(game, "DICE", dice, "1 to 5")?, number(game, "FACES", faces, "2 to 20")?);
            tree(game, LiarsDice::new(2, dice, faces), output)
        }
        ("liars_dice", _) => {
            let allowed = "liars_dice, or liars_dice:DICE,FACES with 1 to 5 dice of 2 to 20 faces";
            Err(Usage(format!("game {text} is not allowed ({allowed})")).into())
        }
        ("goofspiel", &[cards]) => {
            let cards = number(game, "CARDS", cards, "1 to 13")?;
            tree(game, Goofspiel::new(2, cards, PrizeOrder::Descending), output)
        }
        ("goofspiel", _) => {
            Err(Usage(format!("game {text} is not allowed (goofspiel:CARDS with 1 to 13 cards)")).into())
        }
        _ => Ok(Problem::from(definition(game)?)),
    }
}

/// The tree of a game; of a large one its size is said before.
fn tree<G: Game>(name: &Path, rules: warpplay::Result<G>, output: &OutputFlags) -> Result<Problem> {
    let named = || name.display().to_string();
    let rules = rules.with_context(named)?;
    // Of more than have 32-bit numbers none is built.
    if let Some(n) = rules.n_histories().and_then(|n| u32::try_from(n).ok()).filter(|&n| n > MANY_HISTORIES) {
        output.print(format!("{}: building a tree of {} histories\n", named(), thousands(n.into())))?;
    }
    Ok(Problem::from(Tree::build(&rules).with_context(named)?))
}

/// A number in a game's name.
fn number(game: &Path, what: &str, text: &str, allowed: &str) -> Result<usize> {
    let refused = || Usage(format!("game {}: {what} '{text}' is not allowed ({allowed})", game.display()));
    text.parse().map_err(|_| refused().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_wrong_number_says_what_is_allowed() {
        let output = OutputFlags { json: None, quiet: true, verbose: 0 };
        for (game, told) in [
            ("goofspiel:x", "game goofspiel:x: CARDS 'x' is not allowed (1 to 13)"),
            ("goofspiel:", "game goofspiel:: CARDS '' is not allowed (1 to 13)"),
            ("goofspiel:-3", "game goofspiel:-3: CARDS '-3' is not allowed (1 to 13)"),
            ("goofspiel", "game goofspiel is not allowed (goofspiel:CARDS with 1 to 13 cards)"),
            ("goofspiel:3,", "game goofspiel:3, is not allowed (goofspiel:CARDS with 1 to 13 cards)"),
            ("goofspiel:14", "goofspiel:14: option n_cards: 14 is not allowed (1 to 13)"),
            ("goofspiel:9", "got 678136402037"),
            ("liars_dice:1", "game liars_dice:1 is not allowed (liars_dice, or liars_dice:DICE,FACES"),
            ("liars_dice:1,y", "game liars_dice:1,y: FACES 'y' is not allowed (2 to 20)"),
            ("liars_dice:1,1", "liars_dice:1,1: option n_faces: 1 is not allowed (2 to 20)"),
        ] {
            let error = format!("{:#}", read(Path::new(game), &output).map(drop).expect_err(game));
            assert!(error.contains(told), "{game}: {error}");
        }
    }
}
