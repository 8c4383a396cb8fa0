//! The boards of a street: all of them, or one of each class under renaming of suits.

use rayon::prelude::*;

use super::Board;
use super::suits::{SuitMap, inverse, rename};
use crate::cfr::game::cards::{CardSet, Deck, choose, subsets};
use crate::{Error, Result};

/// Maximum number of boards of a street that are examined: beyond this the list alone takes gigabytes.
const MAX_BOARDS: u128 = 1 << 25;

/// A board with the renamings that fix it and every board before it.
pub(super) struct Class {
    pub board: Board,
    /// Numbers of renamings.
    pub fixed_by: Vec<u32>,
}

/// Parameters that are the same for all streets while boards are dealt.
pub(super) struct Dealing<'a> {
    pub deck: Deck,
    /// Total number of cards that the players hold.
    pub n_private: u32,
    /// The renamings that leave the game unchanged; they form a group, with the identity first.
    pub maps: &'a [SuitMap],
}

impl Dealing<'_> {
    /// The board before anything is dealt.
    pub fn start(&self, cards: CardSet) -> Class {
        let board = Board { cards, parent: 0, weight: 1.0, members: vec![0] };
        Class { board, fixed_by: (0..self.maps.len() as u32).collect() }
    }

    /// The boards of street `street`, `n` cards after `parents`.
    pub fn deal(&self, parents: &[Class], n: u32, street: usize) -> Result<Vec<Class>> {
        let known = parents.first().map_or(0, |parent| parent.board.cards.count_ones());
        let left = self.deck.n_cards().saturating_sub(known);
        let open = left.saturating_sub(self.n_private);
        if open < n {
            let cards = known + self.n_private + n;
            return Err(Error::shape("cards of the game", format!("at most {}, the deck", self.deck.n_cards()), cards));
        }
        let candidates = parents.len() as u128 * u128::from(choose(left, n));
        if candidates > MAX_BOARDS {
            return Err(Error::shape(
                format!("boards of street {street}"),
                format!("at most {MAX_BOARDS} (give some of the board, or keep one board of each class of suits)"),
                candidates,
            ));
        }
        let back: Vec<u32> = self.inverses();
        let weight = 1.0 / choose(open, n) as f64;
        let of_parent = |(number, parent): (usize, &Class)| -> Vec<Class> {
            let dealt: Vec<CardSet> = subsets(self.deck.all() & !parent.board.cards, n as usize).collect();
            let class = |&dealt: &CardSet| self.class(parent, number as u32, dealt, weight, &back);
            dealt.par_iter().filter_map(class).collect()
        };
        let classes: Vec<Vec<Class>> = parents.par_iter().enumerate().map(of_parent).collect();
        Ok(classes.into_iter().flatten().collect())
    }

    /// The class of `parent` with `dealt`; `None` if another member represents it.
    fn class(&self, parent: &Class, number: u32, dealt: CardSet, weight: f64, back: &[u32]) -> Option<Class> {
        let mut members: Vec<(CardSet, u32)> = Vec::new();
        let mut fixed_by = Vec::new();
        for &map in &parent.fixed_by {
            let image = rename(self.deck, self.maps[map as usize], dealt);
            if image < dealt {
                return None;
            }
            if image == dealt {
                fixed_by.push(map);
            }
            if !members.iter().any(|&(seen, _)| seen == image) {
                members.push((image, back[map as usize]));
            }
        }
        let cards = parent.board.cards | dealt;
        let members = members.into_iter().map(|(_, map)| map).collect();
        Some(Class { board: Board { cards, parent: number, weight, members }, fixed_by })
    }

    /// Number of each renaming's inverse. The renamings are a group, so it is among them.
    fn inverses(&self) -> Vec<u32> {
        let number = |map: SuitMap| self.maps.iter().position(|&other| other == map).unwrap_or(0) as u32;
        self.maps.iter().map(|&map| number(inverse(map))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfr::game::suits::all;

    #[test]
    fn flops_fall_into_1755_classes_and_members_are_all_boards() {
        let maps = all(Deck::FULL);
        let dealing = Dealing { deck: Deck::FULL, n_private: 4, maps: &maps };
        let flops = dealing.deal(&[dealing.start(0)], 3, 0).expect("fits");
        assert_eq!(flops.len(), 1755);
        assert_eq!(flops.iter().map(|flop| flop.board.members.len()).sum::<usize>(), 22_100);
        let turns = dealing.deal(&flops, 1, 1).expect("fits");
        for (number, flop) in flops.iter().enumerate() {
            let of_flop = turns.iter().filter(|turn| turn.board.parent == number as u32);
            let (members, weights) = of_flop.fold((0, 0.0), |(members, weights), turn| {
                (members + turn.board.members.len(), weights + turn.board.weight * turn.board.members.len() as f64)
            });
            assert_eq!((members, flop.fixed_by.len() * flop.board.members.len()), (49, 24));
            // Two hands of two leave 45 of the 49.
            assert!((weights - 49.0 / 45.0).abs() < 1e-12);
        }
    }

    #[test]
    fn members_are_taken_to_their_board() {
        let deck = Deck { n_suits: 3, n_ranks: 4 };
        let maps = all(deck);
        let dealing = Dealing { deck, n_private: 2, maps: &maps };
        let mut seen = Vec::new();
        for class in dealing.deal(&[dealing.start(0)], 2, 0).expect("fits") {
            for &member in &class.board.members {
                let board = rename(deck, inverse(maps[member as usize]), class.board.cards);
                assert!(!seen.contains(&board), "each board is a member once");
                seen.push(board);
            }
        }
        assert_eq!(seen.len() as u64, choose(12, 2));
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let maps = [[0, 1, 2, 3]];
        let dealing = Dealing { deck: Deck::FULL, n_private: 4, maps: &maps };
        let error = dealing.deal(&[dealing.start(0)], 7, 2).err().expect("133 million boards");
        assert!(error.to_string().contains("boards of street 2") && error.to_string().contains("133784560"), "{error}");
        let small = Dealing { deck: Deck { n_suits: 1, n_ranks: 5 }, ..dealing };
        assert!(small.deal(&[small.start(0)], 2, 0).is_err());
    }
}
