//! Two-player games in vector form: sizes, boards, information sets.

use std::collections::{BTreeMap, HashSet};

use warpplay::cfr::layout::{Node, VectorGame};
use warpplay::cfr::{BettingTree, CardSet};
use warpplay_tests::cfr::{game, reference};

fn vector(name: &str, isomorphism: bool) -> Option<(BettingTree, VectorGame)> {
    let game = game(name);
    let tree = BettingTree::new(&game).expect("small");
    let vector = VectorGame::from_game(&game, &tree, isomorphism).expect("two players");
    Some((tree, vector))
}

/// Calls `each(street, board, betting node, seat)` for every decision on every board that is kept.
fn decisions(game: &VectorGame, mut each: impl FnMut(usize, usize, u32, usize, usize)) {
    for (number, street) in game.streets.iter().enumerate() {
        for board in 0..street.boards.len() {
            for node in street.entries.iter().flat_map(|entry| &entry.nodes) {
                if let Node::Decision { seat, betting, actions, .. } = node {
                    each(number, board, *betting, *seat, actions.len());
                }
            }
        }
    }
}

#[test]
fn leduc_has_the_reference_s_information_sets() {
    let Some((tree, plain)) = vector("leduc.limit.2p", false) else { return };
    let size = plain.size();
    assert_eq!((size.hands, &size.boards[..], &size.entries[..]), ([6, 6], &[1, 6][..], &[1, 5][..]));
    assert_eq!(size.information_sets, [468, 468]);
    assert!((plain.scale - 1.0 / 30.0).abs() < 1e-15);
    let mut keys = HashSet::new();
    let mut n_actions = [0, 0];
    decisions(&plain, |street, board, betting, seat, actions| {
        for (hand, &cards) in plain.hands[seat].iter().enumerate() {
            if cards & plain.streets[street].boards[board].cards == 0 {
                assert!(keys.insert(plain.key(&tree, seat, street, board, betting, hand)), "twice");
                n_actions[seat] += actions;
            }
        }
    });
    assert_eq!(n_actions, [1092, 1092]);
    let reference = reference();
    let tables = &reference["games"]["leduc.limit.2p"]["tables"];
    let table = tables["cfr_plus_alternating_linear"]["2"].as_object().expect("a table");
    assert_eq!(table.len(), keys.len());
    assert!(table.keys().all(|key| keys.contains(key)));
    // Suits do not matter: two classes of boards for each of three ranks become one.
    let (_, reduced) = vector("leduc.limit.2p", true).expect("as before");
    let size = reduced.size();
    assert_eq!((&size.boards[..], &size.all_boards[..]), (&[1, 3][..], &[1, 6][..]));
    assert_eq!(size.information_sets, [468, 468]);
    assert!(reduced.table_len(0) < plain.table_len(0));
}

#[test]
fn boards_and_sizes_of_the_larger_games() {
    let Some((_, rhode)) = vector("rhode_island.limit.2p", true) else { return };
    let size = rhode.size();
    assert_eq!(size.all_boards, [1, 52, 52 * 51]);
    // Board cards: a rank; then a rank of the same suit or of another.
    assert_eq!(size.boards, [1, 13, 12 * 13 + 13 * 13]);
    let Some((_, b)) = vector("variant_b", true) else { return };
    let size = b.size();
    assert_eq!((size.all_boards[0], size.hands), (376_992, [630, 630]));
    assert!((15_000..20_000).contains(&size.boards[0]), "{size:?}");
    // Both seats decide at 2 nodes each: 630 hands, of the 34 cards left any five.
    assert_eq!(size.information_sets, [2 * 630 * 278_256; 2]);
    assert_eq!(size.table_bytes(2, 4), size.infoset_actions.iter().sum::<u64>() * 8);
}

#[test]
fn every_real_board_and_hand_has_its_index() {
    for name in ["leduc.limit.2p", "rhode_island.limit.2p"] {
        let (Some((_, plain)), Some((_, reduced))) = (vector(name, false), vector(name, true)) else { return };
        for street in 0..plain.streets.len() {
            // How many real sets each kept one stands for.
            let mut found: BTreeMap<(usize, usize), usize> = BTreeMap::new();
            let mut open = 0;
            for (number, board) in plain.streets[street].boards.iter().enumerate() {
                let dealt = plain.dealt(street, number);
                assert_eq!(dealt.iter().fold(0, |set, cards| set | cards), board.cards);
                for (hand, &cards) in plain.hands[0].iter().enumerate() {
                    let index = reduced.table_index(0, cards, &dealt);
                    assert_eq!(index.is_some(), cards & board.cards == 0);
                    if let Some(index) = index {
                        open += 1;
                        *found.entry((index.board, index.hand)).or_default() += 1;
                        let kept: CardSet = reduced.hands[0][index.hand];
                        assert_eq!(kept & reduced.streets[street].boards[index.board].cards, 0);
                    }
                    if let Some(own) = plain.table_index(0, cards, &dealt) {
                        assert_eq!((own.board, own.hand), (number, hand));
                    }
                }
            }
            assert_eq!(found.values().sum::<usize>(), open);
            let kept: usize = reduced.streets[street]
                .boards
                .iter()
                .map(|board| reduced.hands[0].iter().filter(|&&cards| cards & board.cards == 0).count())
                .sum();
            assert!(found.len() <= kept);
            assert!(
                found.keys().map(|&(board, _)| board).collect::<HashSet<_>>().len()
                    == reduced.streets[street].boards.len()
            );
        }
        assert_eq!(reduced.table_index(0, 1 << 63, &[0]), None);
        assert_eq!(reduced.table_index(0, 1, &[0, 1]), None);
        assert_eq!(reduced.table_index(0, 1, &[]), None);
    }
}

#[test]
fn slots_and_children_are_in_order() {
    for name in ["leduc.limit.2p", "leduc.nolimit.2p", "rhode_island.limit.2p", "kuhn.limit.2p"] {
        let Some((tree, vector)) = vector(name, true) else { return };
        for (number, street) in vector.streets.iter().enumerate() {
            let mut next = [0, 0];
            let mut exits = 0;
            for entry in &street.entries {
                for (at, node) in entry.nodes.iter().enumerate() {
                    match node {
                        Node::Decision { seat, actions, children, slot, betting, locked } => {
                            assert_eq!((*slot, *locked), (next[*seat], false));
                            next[*seat] += actions.len() as u32;
                            assert!(children.iter().all(|&child| child as usize > at));
                            assert_eq!(tree.nodes[*betting as usize].round as usize, number);
                        }
                        Node::Exit { entry } => {
                            assert_eq!(*entry, exits);
                            exits += 1;
                        }
                        Node::Fold { payoff } => assert_eq!(payoff[0] + payoff[1], 0.0),
                        Node::Showdown { win, lose, tie } => {
                            assert_eq!((win[0] + lose[1], win[1] + lose[0], tie[0] + tie[1]), (0.0, 0.0, 0.0));
                            assert!(win[0] > 0.0 && number + 1 == vector.streets.len());
                        }
                    }
                }
            }
            assert_eq!(next, street.n_slots);
            let entries = vector.streets.get(number + 1).map_or(0, |street| street.entries.len());
            assert_eq!(exits as usize, entries);
        }
    }
}

#[test]
fn other_games_are_refused() {
    let three = game("kuhn.limit.3p");
    let tree = BettingTree::new(&three).expect("small");
    let error = VectorGame::from_game(&three, &tree, true).expect_err("three players").to_string();
    assert!(error.contains("3 players"), "{error}");
    let holdem = game("holdem.limit.2p");
    let tree = BettingTree::new(&holdem).expect("small");
    for isomorphism in [false, true] {
        let error = VectorGame::from_game(&holdem, &tree, isomorphism).expect_err("10^13 values and more").to_string();
        assert!(
            error.contains("information sets times actions") && error.contains("give more of the board"),
            "{error}"
        );
    }
}
