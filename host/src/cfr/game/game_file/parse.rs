//! The reader of definitions: lines to words, words to keywords, and where each of them stands.

use std::path::Path;

use super::{BetSize, Deck, GameDef, MAX_CHIPS, MAX_PLAYERS, MAX_RAISES, MAX_ROUNDS, Problem, STACKS_NEEDED};
use crate::{Error, Result};

/// The keywords that have values, with the smallest and the largest value.
const KEYWORDS: [(&str, u32, u32); 11] = [
    ("numPlayers", 2, MAX_PLAYERS as u32),
    ("numRounds", 1, MAX_ROUNDS as u32),
    ("stack", 1, MAX_CHIPS),
    ("blind", 0, MAX_CHIPS),
    ("raiseSize", 1, MAX_CHIPS),
    ("firstPlayer", 1, MAX_PLAYERS as u32),
    ("maxRaises", 0, MAX_RAISES),
    ("numSuits", 1, 4),
    ("numRanks", 1, 13),
    ("numHoleCards", 1, 3),
    ("numBoardCards", 0, 52),
];

/// A word and its column, from 1.
type Word<'a> = (usize, &'a str);

/// A keyword's line.
#[derive(Clone)]
struct Entry {
    line: u64,
    /// Column of the keyword.
    column: usize,
    /// Values with their columns.
    values: Vec<(usize, u32)>,
}

/// What has been read so far.
struct Reader<'a> {
    path: &'a Path,
    entries: [Option<Entry>; KEYWORDS.len()],
    /// Line of `limit` or `nolimit`, and whether it is `nolimit`.
    betting: Option<(u64, bool)>,
    /// Line and column of `betSizes`, and the sizes by round.
    bet_sizes: Option<(u64, usize, Vec<Vec<BetSize>>)>,
    /// Line of `END GAMEDEF`.
    end: u64,
}

pub(super) fn parse(text: &str, path: &Path) -> Result<GameDef> {
    let mut reader = Reader { path, entries: Default::default(), betting: None, bet_sizes: None, end: 0 };
    let mut open = false;
    let mut last = 0;
    for (line, text) in (1..).zip(text.lines()) {
        last = line;
        let words = words(text);
        let Some(&(column, first)) = words.first() else { continue };
        if first.starts_with('#') {
            continue;
        }
        let is = |index: usize, word: &str| words.get(index).is_some_and(|found| found.1.eq_ignore_ascii_case(word));
        if !open {
            if !(is(0, "GAMEDEF") && words.len() == 1) {
                return Err(reader.error(
                    line,
                    column,
                    format!("'{first}' before the definition: expected GAMEDEF alone"),
                ));
            }
            open = true;
        } else if is(0, "END") && is(1, "GAMEDEF") {
            if let Some(&(column, extra)) = words.get(2) {
                return Err(reader.error(
                    line,
                    column,
                    format!("'{extra}' after END GAMEDEF: expected the end of the line"),
                ));
            }
            reader.end = line;
            return reader.game();
        } else {
            reader.line(line, &words)?;
        }
    }
    let missing = if open { "END GAMEDEF" } else { "GAMEDEF" };
    Err(reader.error(last.max(1), 1, format!("the text ends without {missing}: expected that line")))
}

/// The words of a line; `=` is a word of its own.
fn words(line: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut start: Option<(usize, usize)> = None;
    // The column counts characters, the slice bytes.
    for (column, (byte, letter)) in (1..).zip(line.char_indices().chain([(line.len(), ' ')])) {
        if letter.is_whitespace() || letter == '=' {
            if let Some((column, from)) = start.take() {
                words.push((column, &line[from..byte]));
            }
            if letter == '=' {
                words.push((column, &line[byte..byte + 1]));
            }
        } else if start.is_none() {
            start = Some((column, byte));
        }
    }
    words
}

impl Reader<'_> {
    fn error(&self, line: u64, column: usize, reason: String) -> Error {
        Error::file(self.path, Some(line), format!("column {column}: {reason}"))
    }

    /// One line between `GAMEDEF` and `END GAMEDEF`.
    fn line(&mut self, line: u64, words: &[Word<'_>]) -> Result<()> {
        let (column, keyword) = words[0];
        if keyword.eq_ignore_ascii_case("limit") || keyword.eq_ignore_ascii_case("nolimit") {
            if let Some(&(column, extra)) = words.get(1) {
                return Err(self.error(line, column, format!("'{extra}' after {keyword}: it has no values")));
            }
            if let Some((earlier, _)) = self.betting {
                let reason = format!("'{keyword}', but line {earlier} already says limit or nolimit: expected it once");
                return Err(self.error(line, column, reason));
            }
            self.betting = Some((line, keyword.eq_ignore_ascii_case("nolimit")));
            return Ok(());
        }
        if keyword.eq_ignore_ascii_case("betSizes") {
            return self.bet_sizes(line, words);
        }
        let Some(id) = KEYWORDS.iter().position(|known| known.0.eq_ignore_ascii_case(keyword)) else {
            let known: Vec<&str> = KEYWORDS.iter().map(|known| known.0).collect();
            let known = known.join(", ");
            let reason =
                format!("unknown keyword '{keyword}': expected limit, nolimit, {known}, betSizes or END GAMEDEF");
            return Err(self.error(line, column, reason));
        };
        let (name, least, most) = KEYWORDS[id];
        if let Some(earlier) = &self.entries[id] {
            let reason = format!("a second {name}, the first is in line {}: expected it once", earlier.line);
            return Err(self.error(line, column, reason));
        }
        let rest = if words.get(1).is_some_and(|word| word.1 == "=") { &words[2..] } else { &words[1..] };
        if rest.is_empty() {
            return Err(self.error(line, column, format!("{name} has no value: expected {least} to {most}")));
        }
        let mut values = Vec::with_capacity(rest.len());
        for &(column, word) in rest {
            match word.parse::<u32>() {
                Ok(value) if (least..=most).contains(&value) => values.push((column, value)),
                _ => {
                    let reason =
                        format!("'{word}' is not a value of {name}: expected whole numbers, {least} to {most}");
                    return Err(self.error(line, column, reason));
                }
            }
        }
        self.entries[id] = Some(Entry { line, column, values });
        Ok(())
    }

    /// The line of the sizes of bets.
    fn bet_sizes(&mut self, line: u64, words: &[Word<'_>]) -> Result<()> {
        let column = words[0].0;
        if let Some((earlier, ..)) = &self.bet_sizes {
            let reason = format!("a second betSizes, the first is in line {earlier}: expected it once");
            return Err(self.error(line, column, reason));
        }
        let rest = if words.get(1).is_some_and(|word| word.1 == "=") { &words[2..] } else { &words[1..] };
        let mut rounds = vec![Vec::new()];
        for &(column, word) in rest {
            if word == "/" {
                rounds.push(Vec::new());
                continue;
            }
            let size = word.parse::<BetSize>();
            let size = size.map_err(|_| {
                self.error(
                    line,
                    column,
                    format!("'{word}' is not a size of a bet: expected {}, and / between rounds", BetSize::ALLOWED),
                )
            })?;
            rounds.last_mut().into_iter().for_each(|round| round.push(size));
        }
        self.bet_sizes = Some((line, column, rounds));
        Ok(())
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        KEYWORDS.iter().position(|known| known.0 == name).and_then(|id| self.entries[id].as_ref())
    }

    /// The values of a keyword: `n` values, one per `of`.
    fn list(&self, name: &str, n: usize, of: &str) -> Result<Option<Vec<u32>>> {
        let Some(entry) = self.entry(name) else { return Ok(None) };
        if entry.values.len() != n {
            // The first value too many, or the keyword that lacks one.
            let column = entry.values.get(n).map_or(entry.column, |value| value.0);
            let reason = format!("{name} has {} values: expected {n}, one {of}", entry.values.len());
            return Err(self.error(entry.line, column, reason));
        }
        Ok(Some(entry.values.iter().map(|value| value.1).collect()))
    }

    /// The values of a required keyword.
    fn needed(&self, name: &str, n: usize, of: &str) -> Result<Vec<u32>> {
        self.list(name, n, of)?.ok_or_else(|| self.missing(name, ""))
    }

    fn one(&self, name: &str) -> Result<u32> {
        Ok(self.needed(name, 1, "in all")?[0])
    }

    fn missing(&self, name: &str, why: &str) -> Error {
        self.error(self.end, 1, format!("missing {name} line{why}: expected '{name} = …' before END GAMEDEF"))
    }

    /// The definition, once all lines are read.
    fn game(&self) -> Result<GameDef> {
        let small = |values: Vec<u32>| values.into_iter().map(|value| value as usize).collect::<Vec<_>>();
        let no_limit = self.betting.is_some_and(|(_, no_limit)| no_limit);
        let n_players = self.one("numPlayers")? as usize;
        let n_rounds = self.one("numRounds")? as usize;
        let stacks = self.list("stack", n_players, "a player")?;
        if stacks.is_none() && n_players >= STACKS_NEEDED {
            return Err(self.missing("stack", &format!(" (needed with {STACKS_NEEDED} or more players)")));
        }
        let raise_sizes = self.list("raiseSize", n_rounds, "a round")?;
        let raise_sizes = match raise_sizes {
            // Competition files may have them; nothing there is of a fixed size.
            _ if no_limit => Vec::new(),
            Some(sizes) => sizes,
            None => return Err(self.missing("raiseSize", " (needed in limit)")),
        };
        let first = self.list("firstPlayer", n_rounds, "a round")?.unwrap_or_else(|| vec![1; n_rounds]);
        let bet_sizes = match &self.bet_sizes {
            Some((.., rounds)) if rounds.len() == 1 => vec![rounds[0].clone(); n_rounds],
            Some((.., rounds)) => rounds.clone(),
            None => Vec::new(),
        };
        let game = GameDef {
            no_limit,
            n_players,
            n_rounds,
            stacks,
            blinds: self.needed("blind", n_players, "a player")?,
            raise_sizes,
            first_players: small(first).into_iter().map(|seat| seat - 1).collect(),
            max_raises: self.list("maxRaises", n_rounds, "a round")?.unwrap_or_else(|| vec![MAX_RAISES; n_rounds]),
            deck: Deck { n_suits: self.one("numSuits")? as u8, n_ranks: self.one("numRanks")? as u8 },
            n_hole_cards: self.one("numHoleCards")? as usize,
            n_board_cards: small(self.needed("numBoardCards", n_rounds, "a round")?),
            bet_sizes,
        };
        match game.problem() {
            Some(problem) => Err(self.problem(&problem)),
            None => Ok(game),
        }
    }

    fn problem(&self, problem: &Problem) -> Error {
        let Problem { keyword, index, value, allowed } = problem;
        if let (&"betSizes", Some((line, column, _))) = (keyword, &self.bet_sizes) {
            return self.error(*line, *column, format!("{keyword} {value}: expected {allowed}"));
        }
        let entry = self.entry(keyword);
        let line = entry.map_or(self.end, |entry| entry.line);
        let value_at = |index: usize| entry.and_then(|entry| entry.values.get(index)).map(|value| value.0);
        let column = index.map_or_else(|| value_at(0), value_at).unwrap_or(1);
        self.error(line, column, format!("{keyword} {value}: expected {allowed}"))
    }
}
