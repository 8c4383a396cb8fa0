//! The nodes from the first one to the one that the flags name, so that one can go back.

use warpplay::Result;
use warpplay::cfr::SolvedSpot;
use warpplay::cfr::spot::Node;

/// The nodes up to [`SolvedSpot::at`] of this line and board, the first one first.
pub fn to<'a>(solved: &'a SolvedSpot, line: &str, board: &str) -> Result<Vec<Node<'a>>> {
    let end = solved.at(line, board)?;
    let root = solved.root();
    let known = cards(&root.board());
    let dealt: Vec<String> = cards(board).into_iter().filter(|card| !known.contains(card)).collect();
    let (mut dealt, history) = (dealt.iter(), end.history());
    let mut nodes = vec![root];
    while let Some(node) = nodes.last() {
        let next = if node.is_deal() {
            dealt.next().map(|card| node.deal(card))
        } else {
            let before = node.history();
            let rest = history.strip_prefix(&before).unwrap_or_default();
            // Of r5 and r50 the longer one, where both fit.
            let actions = node.actions().into_iter().filter(|action| rest.starts_with(action.as_str()));
            actions.max_by_key(String::len).map(|action| node.child(&action))
        };
        match next {
            Some(next) => nodes.push(next?),
            None => break,
        }
    }
    Ok(nodes)
}

/// The cards and stars of a text; letters may be in either case, and a ten may be `10`.
pub fn cards(text: &str) -> Vec<String> {
    let text: String = text.chars().filter(|letter| !letter.is_whitespace()).collect::<String>().replace("10", "T");
    let mut letters = text.chars();
    let mut cards = Vec::new();
    while let Some(letter) = letters.next() {
        match letter {
            '*' => cards.push(letter.to_string()),
            rank => {
                let suit = letters.next().map(|suit| suit.to_ascii_lowercase());
                cards.push(String::from_iter([rank.to_ascii_uppercase()].into_iter().chain(suit)));
            }
        }
    }
    cards
}
