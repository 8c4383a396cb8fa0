//! From rules or a spot to the vector form.

use std::collections::HashMap;

use rayon::prelude::*;

use super::boards::{Class, Dealing};
use super::entries::{Partition, partition};
use super::given;
use super::locks::SetupLock;
use super::suits::{SuitMap, all, rename};
use super::{Gadget, Street, VectorGame};
use crate::cfr::game::betting::{BettingKind, BettingTree};
use crate::cfr::game::cards::{CardSet, Deck, choose, subsets};
use crate::cfr::game::game_file::GameDef;
use crate::{Error, Result};

/// Maximum number of hands of a seat: 3 cards of 52 give 22,100. Terminal nodes compare pairs of hands.
const MAX_HANDS: usize = 22_100;
/// Maximum number of values of a table over both seats: terabytes, more than any machine holds.
const MAX_VALUES: u128 = 1 << 40;

/// Everything from which a game in vector form is built.
pub(in crate::cfr) struct Setup<'a> {
    pub deck: Deck,
    /// Private cards of a hand.
    pub n_hole: usize,
    /// Cards on the table before those of the first round are dealt.
    pub board: CardSet,
    /// Cards dealt at the start of each round.
    pub n_dealt: &'a [usize],
    /// Hands and their weights, by seat, in rising order of the hands and without those that the board blocks.
    pub ranges: [Vec<(CardSet, f64)>; 2],
    /// The betting, for two seats, its rounds numbered from the first of `n_dealt`.
    pub tree: &'a BettingTree,
    /// Given strategies.
    pub locks: &'a [SetupLock],
    /// The choice to end before the first decision.
    pub gadget: Option<Gadget>,
    /// Whether boards that differ only by renaming suits are kept once.
    pub isomorphism: bool,
}

impl VectorGame {
    /// The vector form of a two-player game: all hands, every board from the first round on.
    ///
    /// * `tree`: the betting tree of the same rules.
    /// * `isomorphism`: keep one board of each class of boards that differ only by renaming suits. Tables shrink by up to 24; strategies are the same.
    ///
    /// # Errors
    /// [`Error::Option`] for more than two players or more than three hole cards; [`Error::Shape`] if the tree belongs to another game, the deck has too few cards, or there
    /// are too many boards or hands to list.
    pub fn from_game(game: &GameDef, tree: &BettingTree, isomorphism: bool) -> Result<Self> {
        if game.n_players != 2 {
            return Err(Error::option("game", format!("{} players", game.n_players), "2 players in vector form"));
        }
        if !(1..=3).contains(&game.n_hole_cards) {
            return Err(Error::option("numHoleCards", game.n_hole_cards, "1 to 3"));
        }
        let hands: Vec<(CardSet, f64)> = subsets(game.deck.all(), game.n_hole_cards).map(|hand| (hand, 1.0)).collect();
        Self::from_setup(&Setup {
            deck: game.deck,
            n_hole: game.n_hole_cards,
            board: 0,
            n_dealt: &game.n_board_cards,
            ranges: [hands.clone(), hands],
            tree,
            locks: &[],
            gadget: None,
            isomorphism,
        })
    }

    /// The vector form of a [`Setup`].
    ///
    /// # Errors
    /// [`Error::Shape`] if parts do not agree or there are too many boards or hands; [`Error::Option`] if no two hands can be dealt together.
    pub(in crate::cfr) fn from_setup(setup: &Setup) -> Result<Self> {
        if setup.tree.n_players != 2 {
            return Err(Error::shape("seats of the betting tree", 2, setup.tree.n_players));
        }
        let rounds = setup.tree.nodes.iter().map(|node| node.round as usize + 1).max().unwrap_or(0);
        if rounds > setup.n_dealt.len() || setup.n_dealt.is_empty() {
            return Err(Error::shape("rounds of the betting tree", format!("1 to {}", setup.n_dealt.len()), rounds));
        }
        if let Some(range) = setup.ranges.iter().find(|range| range.len() > MAX_HANDS) {
            return Err(Error::shape("hands of a seat", format!("at most {MAX_HANDS}"), range.len()));
        }
        let scale = 1.0 / pairs(&setup.ranges)?;
        let (suit_maps, permutations) = symmetries(setup);
        let dealing = Dealing { deck: setup.deck, n_private: 2 * setup.n_hole as u32, maps: &suit_maps };
        let partition = partition(setup.tree, setup.n_dealt.len(), setup.locks);
        check_size(setup, &partition, suit_maps.len())?;
        let mut classes: Vec<Class> = vec![dealing.start(setup.board)];
        let mut streets = Vec::with_capacity(setup.n_dealt.len());
        for (street, (entries, n_slots)) in partition.streets.into_iter().enumerate() {
            classes = dealing.deal(&classes, setup.n_dealt[street] as u32, street)?;
            let boards = classes.iter().map(|class| class.board.clone()).collect();
            streets.push(Street { boards, entries, n_slots });
        }
        let hands = setup.ranges.each_ref().map(|range| range.iter().map(|&(hand, _)| hand).collect());
        let weights = setup.ranges.each_ref().map(|range| range.iter().map(|&(_, weight)| weight).collect());
        let (deck, n_hole) = (setup.deck, setup.n_hole);
        let placed = |(betting, mut lock)| {
            given::assign(&mut lock, betting, setup.locks, &streets);
            lock
        };
        let locks = partition.locks.into_iter().map(placed).collect();
        Ok(Self {
            deck,
            n_hole,
            hands,
            weights,
            scale,
            permutations,
            suit_maps,
            streets,
            locks,
            gadget: setup.gadget.clone(),
        })
    }
}

/// Σ of weights over pairs of hands that share no card.
fn pairs(ranges: &[Vec<(CardSet, f64)>; 2]) -> Result<f64> {
    let row = |&(hand, weight): &(CardSet, f64)| -> f64 {
        weight * ranges[1].iter().filter(|&&(other, _)| other & hand == 0).map(|&(_, weight)| weight).sum::<f64>()
    };
    // Collected before it is added, so that the sum does not depend on the threads.
    let rows: Vec<f64> = ranges[0].par_iter().map(row).collect();
    let sum: f64 = rows.iter().sum();
    if sum > 0.0 && sum.is_finite() {
        return Ok(sum);
    }
    let sizes = format!("{} hands against {}", ranges[0].len(), ranges[1].len());
    Err(Error::option("ranges", sizes, "ranges of which at least one pair of hands can be dealt together"))
}

/// Checks that the tables are within the limits, before the boards are listed: a class has at most as many members as there are renamings.
fn check_size(setup: &Setup, partition: &Partition, n_maps: usize) -> Result<()> {
    let (mut boards, mut values) = (1, 0);
    let mut left = setup.deck.n_cards().saturating_sub(setup.board.count_ones());
    for (&n, (_, n_slots)) in setup.n_dealt.iter().zip(&partition.streets) {
        boards *= u128::from(choose(left, n as u32));
        left = left.saturating_sub(n as u32);
        let vectors = |seat: usize| u128::from(n_slots[seat]) * setup.ranges[seat].len() as u128;
        values += boards.div_ceil(n_maps as u128) * (vectors(0) + vectors(1));
    }
    if values <= MAX_VALUES {
        return Ok(());
    }
    let fits = format!("at most {MAX_VALUES} (give more of the board, fewer sizes or fewer raises)");
    Err(Error::shape("information sets times actions", fits, format!("{values} or more")))
}

/// The renamings of suits that leave board, ranges, locks and gadget unchanged, as maps of suits and of hands. The identity is the first.
fn symmetries(setup: &Setup) -> (Vec<SuitMap>, Vec<[Vec<u32>; 2]>) {
    let numbers = setup.ranges.each_ref().map(|range| -> HashMap<CardSet, u32> {
        range.iter().enumerate().map(|(number, &(hand, _))| (hand, number as u32)).collect()
    });
    let mut maps = all(setup.deck);
    if !setup.isomorphism {
        maps.truncate(1);
    }
    let seats_of_locks: Vec<usize> = setup.locks.iter().map(|lock| seat_of(setup.tree, lock)).collect();
    let of_map = |map: SuitMap| -> Option<[Vec<u32>; 2]> {
        if rename(setup.deck, map, setup.board) != setup.board {
            return None;
        }
        let of_seat = |seat: usize| -> Option<Vec<u32>> {
            let image = |&(hand, weight): &(CardSet, f64)| {
                let number = *numbers[seat].get(&rename(setup.deck, map, hand))?;
                (setup.ranges[seat][number as usize].1 == weight).then_some(number)
            };
            setup.ranges[seat].iter().map(image).collect()
        };
        let hands = [of_seat(0)?, of_seat(1)?];
        if !setup.gadget.as_ref().is_none_or(|gadget| gadget.is_kept_by(&hands[gadget.seat])) {
            return None;
        }
        let keeps = |lock: &SetupLock, seat: usize| {
            lock.is_among(setup.locks, |cards| rename(setup.deck, map, cards), &hands[seat])
        };
        setup.locks.iter().zip(&seats_of_locks).all(|(lock, &seat)| keeps(lock, seat)).then_some(hands)
    };
    maps.into_iter().filter_map(|map| of_map(map).map(|hands| (map, hands))).unzip()
}

fn seat_of(tree: &BettingTree, lock: &SetupLock) -> usize {
    match tree.nodes[lock.betting as usize].kind {
        BettingKind::Decision { seat, .. } => seat,
        BettingKind::Terminal => 0,
    }
}
