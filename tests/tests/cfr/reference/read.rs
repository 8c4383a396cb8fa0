//! Reads the reference files, and rules from the text of a game definition.

use serde_json::Value;
use warpplay_cpu_ref::cfr::poker::{Betting, Deck, Poker, Rules};

pub use warpplay_tests::cfr::{floats, number};

/// `cfr_reference.json`, or the small copy of the repository where it is absent.
pub struct Reference(pub Value);

impl Reference {
    pub fn open() -> Self {
        Self(warpplay_tests::cfr::reference())
    }

    pub fn game(&self, name: &str) -> &Value {
        &self.0["games"][name]
    }

    pub fn games(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.0["games"].as_object().expect("games").iter()
    }
}

/// The rules of a game definition that is known to be right.
pub fn rules(text: &str) -> Rules {
    let lines: Vec<Vec<String>> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.replace('=', " ").split_whitespace().map(str::to_lowercase).collect())
        .collect();
    let values = |key: &str| -> Option<Vec<u32>> {
        let line = lines.iter().find(|line| line.first().is_some_and(|word| word == key))?;
        Some(line[1..].iter().map(|value| value.parse().expect("a number")).collect())
    };
    let needed = |key: &str| values(key).unwrap_or_else(|| panic!("no {key}"));
    let n_rounds = needed("numrounds")[0] as usize;
    let sizes = |values: Vec<u32>| values.into_iter().map(|value| value as usize).collect::<Vec<_>>();
    Rules {
        no_limit: values("nolimit").is_some(),
        stacks: values("stack"),
        blinds: needed("blind"),
        raise_sizes: values("raisesize").unwrap_or_default(),
        first_players: sizes(values("firstplayer").unwrap_or(vec![1; n_rounds])).iter().map(|seat| seat - 1).collect(),
        max_raises: values("maxraises").unwrap_or(vec![255; n_rounds]),
        deck: Deck { n_suits: needed("numsuits")[0] as u8, n_ranks: needed("numranks")[0] as u8 },
        n_hole_cards: needed("numholecards")[0] as usize,
        n_board_cards: sizes(needed("numboardcards")),
        bet_sizes: Vec::new(),
    }
}

/// Whether the player on turn after `history` has something to call.
pub fn can_fold(game: &Poker, history: &str) -> bool {
    let rules = game.rules();
    let mut betting = Betting::new(rules);
    while betting.history != history {
        let next = betting.actions(rules).into_iter().map(|action| betting.after(rules, action));
        betting = next
            .filter(|next| history.starts_with(&next.history))
            .max_by_key(|next| next.history.len())
            .expect("a history of the game");
    }
    betting.turn.is_some_and(|seat| betting.contributed[seat] < betting.highest())
}
