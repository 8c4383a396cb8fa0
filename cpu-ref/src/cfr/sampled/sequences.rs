//! The betting tree, numbered level by level.

use super::N_ACTIONS;
use super::deal::choose;
use crate::cfr::poker::{Action, Betting, Rules, payoffs};

/// Maximum number of seats of a game definition.
pub const MAX_PLAYERS: usize = 10;

/// What an action leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Child {
    /// Another sequence.
    Sequence(u32),
    /// The end of the hand.
    Ending(u32),
}

/// A node where somebody acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// The seat that acts.
    pub seat: usize,
    /// The round, from 0.
    pub round: usize,
    /// The sequence before, and the action; `None` at the root.
    pub parent: Option<(u32, u8)>,
    /// After fold, call, raise; `None` where an action is not legal.
    pub children: [Option<Child>; N_ACTIONS],
}

/// The ends of all hands, in the order of the sequences before them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Endings {
    /// Chips put in, `[ending][seat]`.
    pub contributed: Vec<f64>,
    /// Seats that folded, one bit each.
    pub folded: Vec<u32>,
    /// Whether the remaining seats have put in the same amount, so that there is one pot.
    one_pot: Vec<bool>,
}

impl Endings {
    fn push(&mut self, betting: &Betting) {
        self.contributed.extend(betting.contributed.iter().map(|&chips| f64::from(chips)));
        self.folded.push((0..betting.folded.len()).map(|seat| u32::from(betting.folded[seat]) << seat).sum());
        let mut left = (0..betting.folded.len()).filter(|&seat| !betting.folded[seat]);
        self.one_pot.push(left.all(|seat| betting.contributed[seat] == betting.highest()));
    }

    /// Ends.
    pub fn len(&self) -> usize {
        self.folded.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.folded.is_empty()
    }

    /// Writes the net winnings by seat.
    pub fn payoffs(&self, ending: usize, strengths: &[u32], won: &mut [f64]) {
        let n_players = won.len();
        let contributed = &self.contributed[ending * n_players..(ending + 1) * n_players];
        let folded = self.folded[ending];
        let left = |seat: usize| folded >> seat & 1 == 0;
        if !self.one_pot[ending] {
            let chips: Vec<u32> = contributed.iter().map(|&chips| chips as u32).collect();
            let folded: Vec<bool> = (0..n_players).map(|seat| !left(seat)).collect();
            won.copy_from_slice(&payoffs(&chips, &folded, strengths));
            return;
        }
        let (mut pot, mut best, mut n_winners) = (0.0, 0, 0);
        for seat in 0..n_players {
            pot += contributed[seat];
            if left(seat) && (n_winners == 0 || strengths[seat] > best) {
                (best, n_winners) = (strengths[seat], 1);
            } else if left(seat) && strengths[seat] == best {
                n_winners += 1;
            }
        }
        let share = pot / f64::from(n_winners);
        for seat in 0..n_players {
            let wins = left(seat) && strengths[seat] == best;
            won[seat] = if wins { share - contributed[seat] } else { -contributed[seat] };
        }
    }
}

/// All sequences of actions of a limit game.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequences {
    rules: Rules,
    /// Sequences, level by level, those of one level in the order of their parents.
    pub all: Vec<Sequence>,
    /// Where each level begins; one more at the end.
    pub levels: Vec<usize>,
    /// The ends.
    pub endings: Endings,
    /// Where each sequence's rows begin in the tables, in rows; one more at the end.
    rows: Vec<usize>,
}

impl Sequences {
    /// The sequences of a game.
    ///
    /// # Panics
    /// If it is not a limit game, or has more than [`MAX_PLAYERS`] players.
    pub fn new(rules: &Rules) -> Self {
        assert!(rules.n_players() <= MAX_PLAYERS, "at most {MAX_PLAYERS} players");
        assert!(!rules.no_limit, "sequences have one raise each: limit games only");
        let (mut all, mut endings, mut levels) = (Vec::new(), Endings::default(), Vec::new());
        let mut level = vec![(Betting::new(rules), None)];
        while !level.is_empty() {
            levels.push(all.len());
            let first_below = all.len() + level.len();
            let mut below = Vec::new();
            for (betting, parent) in &level {
                let number = all.len() as u32;
                let mut children = [None; N_ACTIONS];
                for action in betting.actions(rules) {
                    let slot = match action {
                        Action::Fold => 0,
                        Action::Call => 1,
                        Action::Raise(_) => 2,
                    };
                    let after = betting.after(rules, action);
                    children[slot] = Some(if after.turn.is_some() {
                        below.push((after, Some((number, slot as u8))));
                        Child::Sequence((first_below + below.len() - 1) as u32)
                    } else {
                        endings.push(&after);
                        Child::Ending(endings.len() as u32 - 1)
                    });
                }
                let seat = betting.turn.unwrap_or_default();
                all.push(Sequence { seat, round: betting.round, parent: *parent, children });
            }
            level = below;
        }
        levels.push(all.len());
        let mut sequences = Self { rules: rules.clone(), all, levels, endings, rows: vec![0] };
        for number in 0..sequences.all.len() {
            let n_buckets = sequences.n_buckets(sequences.all[number].round);
            sequences.rows.push(sequences.rows[number] + n_buckets);
        }
        sequences
    }

    /// The rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Seats.
    pub fn n_players(&self) -> usize {
        self.rules.n_players()
    }

    /// Levels with decisions.
    pub fn n_levels(&self) -> usize {
        self.levels.len() - 1
    }

    /// Unordered sets of hole cards and board in a round.
    pub fn n_buckets(&self, round: usize) -> usize {
        let n_board: usize = self.rules.n_board_cards[..=round].iter().sum();
        choose(self.rules.deck.n_cards(), self.rules.n_hole_cards + n_board)
    }

    /// Entries of a table.
    pub fn table_len(&self) -> usize {
        self.rows.last().map_or(0, |rows| rows * N_ACTIONS)
    }

    /// Where the row of a sequence and bucket begins in a table.
    pub fn row(&self, sequence: usize, bucket: usize) -> usize {
        (self.rows[sequence] + bucket) * N_ACTIONS
    }

    /// The actions before a sequence, `f`, `c` and `r`.
    pub fn history(&self, sequence: usize) -> String {
        let mut actions = Vec::new();
        let mut at = sequence;
        while let Some((parent, action)) = self.all[at].parent {
            actions.push(['f', 'c', 'r'][usize::from(action)]);
            at = parent as usize;
        }
        actions.iter().rev().collect()
    }
}
