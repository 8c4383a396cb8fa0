//! Moves of KI2, as people say them: `▲７六歩`, `△同銀左引不成`. Where a piece comes from is not said, but what tells it from others that could go there.
//!
//! The crate's own reader plays such moves before it knows that they are legal; here they are looked up among the legal moves.

use super::Outcome;
use crate::shogi::board::{Board, KING, Move, Rules};

/// A word of a line of moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// A move.
    Move(Move),
    /// How the game ended.
    End(Outcome),
}

/// The words of a line, each from a mark (`▲△`) to the next.
pub(super) fn words(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let mark = rest.chars().next()?;
        let end = rest[mark.len_utf8()..].find(|letter| side_of(letter).is_some());
        let (word, next) = rest.split_at(end.map_or(rest.len(), |end| end + mark.len_utf8()));
        rest = next;
        Some(word.trim_end())
    })
}

fn side_of(mark: char) -> Option<u32> {
    match mark {
        '▲' | '☗' | '▼' => Some(0),
        '△' | '☖' | '▽' => Some(1),
        _ => None,
    }
}

/// Reads a word on a board, where the last move went to `last`.
///
/// # Errors
/// A description of the error, with `true` for a move that can be read but is not legal.
pub(super) fn read(
    board: &Board,
    word: &str,
    last: Option<u32>,
    legal: &mut Vec<Move>,
) -> Result<Word, (String, bool)> {
    let unknown = || (format!("not a KI2 move: {word}"), false);
    let clean: String = word.chars().filter(|letter| !letter.is_whitespace()).collect();
    let mark = clean.chars().next().ok_or_else(unknown)?;
    let side = side_of(mark).ok_or_else(unknown)?;
    let text = &clean[mark.len_utf8()..];
    if let Some(outcome) = ending(text, side) {
        return Ok(Word::End(outcome));
    }
    if side != board.side() {
        return Err((format!("a move of the side that is not to move: {word}"), false));
    }
    let (to, text) = target(text, last).ok_or_else(unknown)?;
    let (kind, text) = kind(text).ok_or_else(unknown)?;
    let how = How::read(text).ok_or_else(unknown)?;
    board.legal_moves(legal);
    let origin = |played: &Move| played.from().filter(|&from| board.piece_on(from) == Some((kind, side)));
    let mut found: Vec<(Move, u32)> = legal
        .iter()
        .filter(|played| played.to() == to && !how.dropped && played.promotes() == how.promotes)
        .filter_map(|played| origin(played).map(|from| (*played, from)))
        .collect();
    if found.is_empty() && !how.promotes {
        let dropped = legal.iter().find(|played| played.to() == to && played.dropped() == Some(kind));
        return match dropped {
            Some(&played) => Ok(Word::Move(played)),
            None => Err((format!("an illegal move: {word}"), true)),
        };
    }
    how.select(&mut found, to, side, matches!(kind, 11 | 12));
    match found[..] {
        [(played, _)] => Ok(Word::Move(played)),
        [] => Err((format!("an illegal move: {word}"), true)),
        _ => Err((format!("a move that {} pieces can make: {word}", found.len()), false)),
    }
}

/// The result given by a last line (`まで…`).
pub(super) fn summary(line: &str) -> Outcome {
    let black = ["先手", "下手"].iter().any(|name| line.contains(name));
    let white = ["後手", "上手"].iter().any(|name| line.contains(name));
    let lost = line.contains("負け");
    if line.contains("千日手") || line.contains("持将棋") {
        Outcome::Draw
    } else if black == white || !(lost || line.contains("勝")) {
        Outcome::Unknown
    } else if black != lost {
        Outcome::Black
    } else {
        Outcome::White
    }
}

/// How a game ended with `side` to move.
fn ending(text: &str, side: u32) -> Option<Outcome> {
    let wins = |side| if side == 0 { Outcome::Black } else { Outcome::White };
    match text {
        "投了" | "詰み" | "切れ負け" | "反則負け" | "不戦敗" => Some(wins(1 - side)),
        "反則勝ち" | "入玉勝ち" | "勝ち宣言" | "不戦勝" => Some(wins(side)),
        "千日手" | "持将棋" => Some(Outcome::Draw),
        "中断" | "不詰" | "封じ手" => Some(Outcome::Unknown),
        _ => None,
    }
}

fn target(text: &str, last: Option<u32>) -> Option<(u32, &str)> {
    let mut letters = text.chars();
    let first = letters.next()?;
    if first == '同' {
        return Some((last?, letters.as_str()));
    }
    let rank = letters.next()?;
    Some(((digit(first)? - 1) * 9 + digit(rank)? - 1, letters.as_str()))
}

/// 1 to 9 in any script.
fn digit(letter: char) -> Option<u32> {
    let value = match letter {
        '１'..='９' => u32::from(letter) - u32::from('０'),
        '1'..='9' => u32::from(letter) - u32::from('0'),
        _ => "一二三四五六七八九".chars().position(|kanji| kanji == letter)? as u32 + 1,
    };
    Some(value)
}

fn kind(text: &str) -> Option<(u32, &str)> {
    const NAMES: [(&str, u32); 19] = [
        ("成香", 8),
        ("成桂", 9),
        ("成銀", 10),
        ("歩", 0),
        ("香", 1),
        ("桂", 2),
        ("銀", 3),
        ("金", 4),
        ("角", 5),
        ("飛", 6),
        ("と", 7),
        ("杏", 8),
        ("圭", 9),
        ("全", 10),
        ("馬", 11),
        ("龍", 12),
        ("竜", 12),
        ("玉", KING),
        ("王", KING),
    ];
    NAMES.iter().find_map(|&(name, kind)| Some((kind, text.strip_prefix(name)?)))
}

/// The qualifiers of a move besides piece and target.
#[derive(Clone, Copy, Debug, Default)]
struct How {
    left: bool,
    right: bool,
    straight: bool,
    up: bool,
    down: bool,
    sideways: bool,
    promotes: bool,
    dropped: bool,
}

impl How {
    fn read(text: &str) -> Option<Self> {
        let mut how = Self::default();
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            rest = &rest[letter.len_utf8()..];
            match letter {
                '左' => how.left = true,
                '右' => how.right = true,
                '直' => how.straight = true,
                '上' | '行' | '入' => how.up = true,
                '引' => how.down = true,
                '寄' => how.sideways = true,
                '成' => how.promotes = true,
                '打' => how.dropped = true,
                '不' => rest = rest.strip_prefix('成')?,
                _ => return None,
            }
        }
        Some(how)
    }

    /// Keeps the moves to which the qualifiers apply, from the mover's view.
    fn select(self, found: &mut Vec<(Move, u32)>, to: u32, side: u32, relative: bool) {
        // Files grow to the left, ranks towards the mover.
        let seen = |square: u32| {
            let square = if side == 0 { square } else { 80 - square };
            (square / 9, square % 9)
        };
        let (file, rank) = seen(to);
        found.retain(|&(_, from)| {
            let (from_file, from_rank) = seen(from);
            (!self.up || from_rank > rank)
                && (!self.down || from_rank < rank)
                && (!self.sideways || from_rank == rank)
                && (!self.straight || from_file == file && from_rank > rank)
        });
        if relative {
            // Of two horses or dragons one is the left and one the right, wherever they go.
            let files = || found.iter().map(|&(_, from)| seen(from).0);
            let keep = if self.left {
                files().max()
            } else if self.right {
                files().min()
            } else {
                None
            };
            if let Some(keep) = keep {
                found.retain(|&(_, from)| seen(from).0 == keep);
            }
        } else {
            found.retain(|&(_, from)| (!self.left || seen(from).0 > file) && (!self.right || seen(from).0 < file));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(sfen: &str, word: &str) -> Result<String, (String, bool)> {
        let board = Board::from_sfen(sfen).unwrap();
        match read(&board, word, Some(40), &mut Vec::new())? {
            Word::Move(played) => Ok(played.to_string()),
            Word::End(outcome) => Ok(outcome.to_string()),
        }
    }

    #[test]
    fn pieces_are_told_apart() {
        let golds = "4k4/9/9/9/9/9/9/9/3GGG2K b G 1";
        for (word, expected) in [
            ("▲５八金右", "4i5h"),
            ("▲５八金左", "6i5h"),
            ("▲５八金直", "5i5h"),
            ("▲７八金", "6i7h"),
            ("▲５八金打", "G*5h"),
            ("▲５五金", "G*5e"),
            ("▲同金", "G*5e"),
        ] {
            assert_eq!(at(golds, word).as_deref(), Ok(expected), "{word}");
        }
        assert_eq!(at(golds, "▲５八金").unwrap_err(), ("a move that 3 pieces can make: ▲５八金".to_owned(), false));
        assert_eq!(at(golds, "▲５六銀").unwrap_err(), ("an illegal move: ▲５六銀".to_owned(), true));
        assert_eq!(at(golds, "△５二玉").unwrap_err().0, "a move of the side that is not to move: △５二玉");
        let silvers = "4k4/9/9/5S3/9/3S5/9/9/4K4 b - 1";
        assert_eq!(at(silvers, "▲５五銀引").as_deref(), Ok("4d5e"));
        assert_eq!(at(silvers, "▲５五銀上").as_deref(), Ok("6f5e"));
        assert_eq!(at(silvers, "▲３三銀成").as_deref(), Ok("4d3c+"));
        assert_eq!(at(silvers, "▲３三銀不成").as_deref(), Ok("4d3c"));
        // White sees the board the other way round.
        let white = "3g1g3/9/9/9/9/9/9/9/4K3k w - 1";
        assert_eq!(at(white, "△５二金左").as_deref(), Ok("4a5b"));
        assert_eq!(at(white, "△５二金右").as_deref(), Ok("6a5b"));
        let dragons = "4k4/9/9/9/9/9/4+R4/9/+R3K4 b - 1";
        assert_eq!(at(dragons, "▲９七龍左").as_deref(), Ok("9i9g"));
        assert_eq!(at(dragons, "▲９七龍右").as_deref(), Ok("5g9g"));
        assert_eq!((at(golds, "▲投了").as_deref(), at(golds, "△反則勝ち").as_deref()), (Ok("white"), Ok("white")));
    }

    #[test]
    fn last_lines_tell_the_result() {
        for (line, outcome) in [
            ("まで25手で先手の勝ち", Outcome::Black),
            ("まで25手で上手の勝ち", Outcome::White),
            ("まで2手で先手の反則負け", Outcome::White),
            ("まで2手で先手の反則勝ち", Outcome::Black),
            ("まで99手で千日手", Outcome::Draw),
            ("まで2手で中断", Outcome::Unknown),
        ] {
            assert_eq!(summary(line), outcome, "{line}");
        }
    }
}
