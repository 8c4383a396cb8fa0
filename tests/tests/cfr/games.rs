//! Rules of poker: game files, counts, betting, ranking of hands, deals.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde_json::Value;
use warpplay::Error;
use warpplay::cfr::game::{
    Action, BetSize, BettingKind, BettingState, Category, Deals, Deck, Size, category, set_of, subsets,
};
use warpplay::cfr::{BettingTree, Counts, GameDef, Ranking};
use warpplay_tests::cfr::{game, reference};
use warpplay_tests::random::Random;

/// The tables of the games' README and of the paper.
#[test]
fn counts_are_those_of_the_tables() {
    type Row = (&'static str, u64, u64, Option<u64>, Option<u64>);
    let rows: [Row; 12] = [
        ("variant_a", 4, 5, Some(3), Some(4)),
        ("variant_b", 4, 5, Some(3), Some(8_347_680)),
        ("variant_c", 21_285, 25_311, Some(21), Some(2024)),
        ("variant_c_text", 102_660, 123_941, Some(25), Some(2024)),
        ("variant_d", 616_592, 649_537, Some(29), Some(8)),
        ("kuhn.limit.2p", 4, 5, Some(3), Some(3)),
        ("kuhn.limit.3p", 12, 13, None, Some(4)),
        ("leduc.limit.2p", 36, 49, None, None),
        ("leduc.limit.3p", 489, 631, None, None),
        ("rhode_island.limit.2p", 456, 685, None, None),
        ("holdem.limit.2p", 6378, 10_206, None, None),
        ("leduc.nolimit.2p", 1112, 1985, None, None),
    ];
    for (name, sequences, terminals, levels, buckets) in rows {
        let rules = game(name);
        let counts = Counts::of(&rules).expect("the tree fits");
        assert_eq!((counts.sequences, counts.terminals), (sequences, terminals), "{name}");
        let size = Size::count(&rules).expect("the tree fits");
        assert_eq!((size.decisions, size.terminals, size.levels), (sequences, terminals, counts.levels), "{name}");
        assert!(levels.is_none_or(|levels| levels == counts.levels), "{name}: {} levels", counts.levels);
        assert!(buckets.is_none_or(|buckets| buckets == counts.buckets), "{name}: {} buckets", counts.buckets);
        assert_eq!(counts.thesis_information_sets, counts.sequences * counts.buckets, "{name}");
    }
    let of = |name: &str| Counts::of(&game(name)).expect("the tree fits");
    let d = of("variant_d");
    assert_eq!((d.levels_with_last, d.average_sequences_with_last.round()), (30, 20_553.0));
    assert_eq!(d.information_sets, 4_932_736);
    let c = of("variant_c");
    assert_eq!((c.thesis_information_sets, c.information_sets), (43_080_840, 21_285 * 6072));
    assert_eq!(of("variant_b").information_sets, 4 * 175_301_280);
    assert_eq!(of("leduc.limit.2p").information_sets, 936);
}

/// Information sets, their actions, and nodes of the tree with all its deals.
#[test]
fn counts_are_those_of_the_reference() {
    let reference = reference();
    for (name, entry) in reference["games"].as_object().expect("games") {
        let rules = GameDef::parse(entry["gamedef"].as_str().expect("a text")).expect("a definition");
        assert_eq!(rules, game(name), "{name}");
        let tree = BettingTree::new(&rules).expect("the tree fits");
        let counts = Counts::new(&rules, &tree);
        let expected = &entry["counts"];
        let list = |key: &str| -> Vec<u64> {
            expected[key].as_array().expect("a list").iter().map(|n| n.as_u64().expect("a count")).collect()
        };
        assert_eq!(counts.information_sets_by_seat, list("infosets"), "{name}");
        let mut actions = vec![0; rules.n_players];
        let (mut decisions, mut terminals) = (0, 0);
        // Single cards in order, the private ones first.
        let deals = |n: usize| (0..n as u64).map(|dealt| u64::from(rules.deck.n_cards()) - dealt).product::<u64>();
        for node in &tree.nodes {
            let round = node.round as usize;
            let by = |round: usize| rules.n_players * rules.n_hole_cards + rules.board_cards_by(round);
            match &node.kind {
                BettingKind::Decision { seat, actions: of, .. } => {
                    actions[*seat] += rules.private_views(round) * of.len() as u64;
                    decisions += deals(by(round));
                }
                // A showdown needs the whole board, a fold only what has come up.
                BettingKind::Terminal if node.folded.count_ones() as usize + 1 < rules.n_players => {
                    terminals += deals(by(rules.n_rounds - 1));
                }
                BettingKind::Terminal => terminals += deals(by(round)),
            }
        }
        assert_eq!(actions, list("infoset_actions"), "{name}");
        assert_eq!(Some(decisions), expected["decision"].as_u64(), "{name}: decisions");
        assert_eq!(Some(terminals), expected["terminal"].as_u64(), "{name}: terminals");
    }
}

#[test]
fn games_without_a_file_are_those_of_their_files() {
    for name in ["kuhn", "leduc"] {
        assert_eq!(GameDef::named(name), Some(game(&format!("{name}.limit.2p"))), "{name}");
    }
    assert_eq!(GameDef::named("Kuhn"), None);
}

#[test]
fn files_are_read_and_written() {
    for name in ["variant_c", "leduc.nolimit.2p", "holdem.limit.2p"] {
        let rules = game(name);
        assert_eq!(GameDef::parse(&rules.to_string()).expect("a definition"), rules);
        let json = serde_json::to_string(&rules).expect("JSON");
        assert_eq!(serde_json::from_str::<GameDef>(&json).expect("rules"), rules);
    }
    let rules = game("holdem.limit.2p");
    assert_eq!(rules.first_players, [1, 0, 0, 0]);
    assert_eq!((rules.stacks, rules.deck), (None, Deck::FULL));
    // Any case, `=` with or without blanks or left out, text before comments and after the end, no `limit`, lists before their counts.
    let text = "\n# rules\n \t\ngamedef\r\nBLIND 1 2\nnumplayers=2\nNumRounds =1\n  raisesize= 3\nnumSuits 2\nNUMRANKS = 3\n# more\nnumHoleCards 1\nnumBoardCards = 0\n\
                end gamedef\nand so on";
    let rules = GameDef::parse(text).expect("a definition");
    assert_eq!((rules.no_limit, rules.blinds, rules.raise_sizes), (false, vec![1, 2], vec![3]));
    assert_eq!((rules.max_raises, rules.first_players), (vec![255], vec![0]));
    // Fixed sizes have no meaning in no-limit, but competition files may have them.
    let text = game("leduc.nolimit.2p").to_string().replace("numSuits", "raiseSize = 2 4\nnumSuits");
    assert_eq!(GameDef::parse(&text).expect("a definition"), game("leduc.nolimit.2p"));
}

/// Leduc with one line changed.
fn changed(from: &str, to: &str) -> String {
    let text = game("leduc.limit.2p").to_string();
    assert!(text.contains(from), "{from}");
    text.replace(from, to)
}

/// Lines of the text: 1 GAMEDEF, 2 limit, 3 numPlayers, 4 numRounds, 5 blind, 6 raiseSize, 7 firstPlayer, 8 maxRaises, 9 numSuits, 10 numRanks, 11 numHoleCards,
/// 12 numBoardCards, 13 END GAMEDEF.
#[test]
fn bad_files_are_refused_with_line_and_column() {
    let stack = |chips: &str| changed("blind", &format!("stack = {chips}\nblind"));
    let five = || {
        changed("numPlayers = 2", "numPlayers = 5")
            .replace("blind = 1 1", "blind = 1 1 1 1 1")
            .replace("numRanks = 3", "numRanks = 9")
    };
    let cases: Vec<(String, u64, usize, &str)> = vec![
        (String::new(), 1, 1, "without GAMEDEF"),
        ("numPlayers = 2\n".into(), 1, 1, "expected GAMEDEF"),
        ("# only words\nGAMEDEF 2\n".into(), 2, 1, "expected GAMEDEF alone"),
        (changed("END GAMEDEF\n", ""), 12, 1, "without END GAMEDEF"),
        (changed("END GAMEDEF", "END GAMEDEF now"), 13, 13, "'now' after END GAMEDEF"),
        (changed("numSuits = 2", "  colours = 2"), 9, 3, "unknown keyword 'colours'"),
        (changed("numSuits = 2", "numSuits = 2\nEND"), 10, 1, "unknown keyword 'END'"),
        (changed("numSuits = 2\n", ""), 12, 1, "missing numSuits line"),
        (changed("blind = 1 1\n", ""), 12, 1, "missing blind line"),
        (changed("raiseSize = 2 4\n", ""), 12, 1, "missing raiseSize line (needed in limit)"),
        (five(), 13, 1, "missing stack line (needed with 5 or more players)"),
        (changed("numSuits = 2", "numSuits ="), 9, 1, "numSuits has no value"),
        (changed("numSuits = 2", "numSuits = 2 2"), 9, 14, "numSuits has 2 values: expected 1"),
        (
            changed("numSuits = 2", "numSuits = 5"),
            9,
            12,
            "'5' is not a value of numSuits: expected whole numbers, 1 to 4",
        ),
        (changed("numSuits = 2", "numSuits = two"), 9, 12, "'two' is not a value"),
        (changed("numSuits = 2", "numSuits = 2\nnumsuits = 3"), 10, 1, "a second numSuits, the first is in line 9"),
        (changed("numRanks = 3", "numRanks = 14"), 10, 12, "1 to 13"),
        (changed("numPlayers = 2", "numPlayers = 1"), 3, 14, "2 to 10"),
        (changed("numPlayers = 2", "numPlayers = 11"), 3, 14, "2 to 10"),
        (changed("numPlayers = 2", "numPlayers = 3"), 5, 1, "blind has 2 values: expected 3, one a player"),
        (changed("numRounds = 2", "numRounds = 5"), 4, 13, "1 to 4"),
        (changed("numRounds = 2", "numRounds = 1"), 6, 15, "raiseSize has 2 values: expected 1, one a round"),
        (
            changed("numBoardCards = 0 1", "numBoardCards = 0"),
            12,
            1,
            "numBoardCards has 1 values: expected 2, one a round",
        ),
        (changed("maxRaises = 2 2", "maxRaises = 2 2 2"), 8, 17, "maxRaises has 3 values"),
        (changed("maxRaises = 2 2", "maxRaises = 2 256"), 8, 15, "0 to 255"),
        (changed("firstPlayer = 1 1", "firstPlayer = 1 0"), 7, 17, "'0' is not a value of firstPlayer"),
        (changed("firstPlayer = 1 1", "firstPlayer = 1 3"), 7, 17, "firstPlayer 3: expected a seat, 1 to 2"),
        (changed("blind = 1 1", "blind = 1 -1"), 5, 11, "'-1' is not a value of blind"),
        (changed("blind = 1 1", "blind = 1 1.5"), 5, 11, "'1.5' is not a value of blind"),
        (changed("blind = 1 1", "blind = 1 4294967297"), 5, 11, "0 to 2147483647"),
        (changed("raiseSize = 2 4", "raiseSize = 2 0"), 6, 15, "'0' is not a value of raiseSize"),
        (stack("8 0"), 5, 11, "'0' is not a value of stack"),
        (stack("8"), 5, 1, "stack has 1 values: expected 2, one a player"),
        (stack("8 8").replace("blind = 1 1", "blind = 1 9"), 6, 11, "blind 9: expected at most the stack of seat 2, 8"),
        (changed("limit", "limit 2"), 2, 7, "'2' after limit"),
        (changed("limit", "limit\nnolimit"), 3, 1, "line 2 already says"),
        (changed("numHoleCards = 1", "numHoleCards = 4"), 11, 16, "1 to 3"),
        (
            changed("numHoleCards = 1", "numHoleCards = 3").replace("numRanks = 3", "numRanks = 2"),
            11,
            16,
            "at most 2 for 2 seats",
        ),
        (changed("numBoardCards = 0 1", "numBoardCards = 2 3"), 12, 19, "numBoardCards 3: expected at most 2"),
    ];
    for (text, line, column, says) in cases {
        match GameDef::parse(&text) {
            Err(error @ Error::File { .. }) => {
                let message = error.to_string();
                let location = format!("<text>, line {line}: column {column}: ");
                assert!(message.starts_with(&location), "{message}\nexpected {location}{says}\n{text}");
                assert!(message.contains(says), "{message}\nexpected {says}");
            }
            other => panic!("{other:?}\nexpected line {line}: {says}\n{text}"),
        }
    }
    let error = GameDef::read("/nowhere/at all.game").expect_err("no file");
    assert!(matches!(error, Error::File { line: None, .. }), "{error}");
}

#[test]
fn trees_that_do_not_fit_are_refused_before_they_are_built() {
    let mut rules = game("leduc.nolimit.2p");
    rules.stacks = Some(vec![40, 40]);
    let error = BettingTree::new(&rules).expect_err("too large").to_string();
    assert!(error.contains("at least ") && error.contains("at most 16777216"), "{error}");
    rules.stacks = Some(vec![2_000_000_000; 2]);
    assert!(BettingTree::new(&rules).is_err());
    rules.stacks = None;
    let error = BettingTree::new(&rules).expect_err("endless").to_string();
    assert!(error.contains("a stack line"), "{error}");
    let mut rules = game("leduc.limit.2p");
    rules.max_raises = vec![255, 255];
    rules.raise_sizes = vec![1, 1];
    assert_eq!(Size::count(&rules).expect("few states").levels, 2 + 2 * 256);
    rules.blinds = vec![1];
    let error = BettingTree::new(&rules).expect_err("one blind").to_string();
    assert!(error.contains("blind") && error.contains("2 values"), "{error}");
}

/// Plays letters of a history, one by one.
fn play<'a>(rules: &'a GameDef, actions: &[Action]) -> BettingState<'a> {
    let start = BettingState::new(rules).expect("the rules can be played");
    actions.iter().fold(start, |state, &action| state.play(action).unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn no_limit_raises_follow_the_last_increase() {
    use Action::{Call, Fold, Raise};
    let text = "GAMEDEF\nnolimit\nnumPlayers = 3\nnumRounds = 2\nstack = 100 60 30\nblind = 1 2 0\nfirstPlayer = 3 1\nnumSuits = 4\nnumRanks = 13\n\
                numHoleCards = 2\nnumBoardCards = 0 3\nEND GAMEDEF";
    let rules = GameDef::parse(text).expect("a definition");
    let start = play(&rules, &[]);
    assert_eq!((start.turn(), start.raise_range()), (Some(2), Some((4, 30))));
    // To 10 is 8 more, so the next goes to 18 at least; a large blind later is 2.
    let raised = play(&rules, &[Raise(10.0)]);
    assert_eq!((raised.turn(), raised.raise_range()), (Some(0), Some((18, 100))));
    assert_eq!(raised.actions().take(2).collect::<Vec<_>>(), [Fold, Call]);
    let next = play(&rules, &[Raise(10.0), Call, Call]);
    assert_eq!((next.round(), next.turn(), next.raise_range()), (1, Some(0), Some((12, 100))));
    assert_eq!(next.actions().next(), Some(Call), "nothing to call, so no fold");
    // Seat 2 has 30: it may go all-in below the smallest raise, and then does not act again.
    let short = play(&rules, &[Raise(10.0), Call, Call, Raise(25.0), Call]);
    assert_eq!(short.raise_range(), Some((30, 30)));
    let all_in = short.play(Raise(30.0)).expect("legal");
    assert_eq!(
        (all_in.turn(), all_in.raise_range()),
        (Some(0), Some((40, 100))),
        "25 and 15 more, as before the short all-in"
    );
    let two_left = all_in.play(Call).and_then(|state| state.play(Raise(60.0))).expect("legal");
    assert_eq!(two_left.turn(), Some(0), "seat 2 is passed over");
    assert_eq!(two_left.raise_range(), None, "nobody is left who could answer");
    let over = two_left.play(Call).expect("legal");
    assert_eq!((over.turn(), over.contributed()), (None, vec![60.0, 60.0, 30.0]));
    assert!(over.play(Call).is_err() && over.actions().next().is_none());
    for bad in [Raise(3.0), Raise(31.0), Raise(4.5), Raise(f64::NAN), Raise(-1.0)] {
        let error = start.play(bad).expect_err("not legal").to_string();
        assert!(error.contains("raise to 4 … 30"), "{error}");
    }
    assert!(start.play(Fold).is_ok() && next.play(Fold).is_err());
}

#[test]
fn limit_with_short_stacks_goes_to_the_stack_at_most() {
    use Action::{Call, Raise};
    let mut rules = game("kuhn.limit.3p");
    rules.stacks = Some(vec![10, 3, 10]);
    rules.raise_sizes = vec![5];
    rules.max_raises = vec![3];
    let state = play(&rules, &[Call]);
    assert_eq!(state.raise_range(), Some((3, 3)));
    let state = state.play(Raise(3.0)).and_then(|state| state.play(Raise(8.0))).expect("legal");
    assert_eq!((state.turn(), state.raise_range()), (Some(0), Some((10, 10))));
    // Blinds that leave nobody to act, or one who has nothing to call, are the whole betting.
    rules.stacks = Some(vec![1, 1, 5]);
    assert_eq!(play(&rules, &[]).turn(), None);
    rules.blinds = vec![1, 1, 0];
    assert_eq!(play(&rules, &[]).turn(), Some(2));
    assert_eq!(BettingTree::new(&rules).expect("small").nodes.len(), 3);
}

#[test]
fn side_pots_go_to_the_best_who_paid_them() {
    let rules = {
        let mut rules = game("kuhn.limit.3p");
        rules.stacks = Some(vec![10, 3, 10]);
        rules.raise_sizes = vec![5];
        rules.max_raises = vec![3];
        rules
    };
    let mut tree = BettingTree::new(&rules).expect("small");
    let end = tree.find("crrrfc");
    assert!(end.is_err(), "{end:?}");
    // Seat 0 checks, 1 goes all-in to 3, 2 raises to 8, 0 to 10, 2 calls.
    let end = tree.find("crrrc").expect("a line") as usize;
    let node = tree.nodes[end].clone();
    assert_eq!(node.contributed, [10.0, 3.0, 10.0]);
    assert_eq!(tree.payoffs(&node, &[1, 3, 2]), [-10.0, 6.0, 4.0]);
    assert_eq!(tree.payoffs(&node, &[2, 2, 1]), [-10.0 + 4.5 + 14.0, 1.5, -10.0]);
    assert_eq!(tree.payoffs(&node, &[7, 7, 7]), [0.0, 0.0, 0.0]);
    // Seat 2 folds to the last raise: the chips above 8 that nobody called go back, and the house takes its part of the rest.
    let end = tree.find("crrrf").expect("a line") as usize;
    let node = tree.nodes[end].clone();
    assert_eq!(tree.payoffs(&node, &[1, 3, 9]), [-10.0 + 2.0 + 10.0, 6.0, -8.0]);
    tree.dead = 1.0;
    tree.rake.part = 0.1;
    tree.rake.cap = 100.0;
    // Main pot 10, side pot 10.
    assert_eq!(tree.payoffs(&node, &[1, 3, 9]), [-8.0 + 9.0, 6.0, -8.0]);
    tree.rake.cap = 1.0;
    let sum: f64 = tree.payoffs(&node, &[1, 1, 9]).iter().sum();
    assert!(sum.abs() < 1e-12, "{sum}");
}

#[test]
fn histories_name_the_nodes() {
    for name in ["leduc.limit.2p", "leduc.nolimit.2p", "kuhn.limit.3p"] {
        let tree = BettingTree::new(&game(name)).expect("small");
        let mut parents_before = true;
        for (id, node) in tree.nodes.iter().enumerate() {
            let history = tree.history(id as u32);
            assert_eq!(tree.find(&history).unwrap_or_else(|error| panic!("{error}")), id as u32, "{name} {history}");
            parents_before &= node.parent.is_none_or(|parent| (parent as usize) < id);
        }
        assert!(parents_before && tree.nodes.is_sorted_by_key(|node| node.level));
    }
    let tree = BettingTree::new(&game("leduc.limit.2p")).expect("small");
    let node = &tree.nodes[tree.find("crc/r").expect("a line") as usize];
    assert_eq!((node.round, &node.contributed[..]), (1, &[7.0, 3.0][..]));
    assert_eq!(tree.find("cc").expect("a line"), tree.find("cc/").expect("a line"));
    let no_limit = BettingTree::new(&game("leduc.nolimit.2p")).expect("small");
    assert_eq!(no_limit.history(no_limit.find("r3c/cr8").expect("a line")), "r3c/cr8");
    for (tree, bad, says) in [
        (&tree, "cx", "column 2: 'x': expected c, r"),
        (&tree, "cc/f", "column 4: 'f': expected c, r"),
        (&tree, "ccr", "column 3: 'r' in a new round"),
        (&tree, "c/c", "column 2: '/', but"),
        (&tree, "rfc", "column 3: 'c' after the end"),
        (&tree, "rr6", "column 2: 'r6': expected f, c, r"),
        (&no_limit, "r9", "column 1: 'r9': expected c, r2, r3"),
        (&no_limit, "r", "column 1: 'r'"),
        (&tree, "é", "column 1: 'é'"),
    ] {
        let error = tree.find(bad).expect_err(bad).to_string();
        assert!(error.contains(says), "{error}\nexpected {says}");
    }
}

/// Random rules, random lines: chips are conserved, nobody spends more than it has, histories lead back, and the payoffs add up.
#[test]
fn random_games_conserve_chips() {
    let mut random = Random(7);
    let mut lines = 0;
    for _ in 0..300 {
        let n = 2 + random.below(4);
        let rounds = 1 + random.below(3);
        let stacks: Vec<u32> = (0..n).map(|_| 2 + random.below(8) as u32).collect();
        let rules = GameDef {
            no_limit: random.below(2) == 1,
            n_players: n,
            n_rounds: rounds,
            blinds: stacks.iter().map(|&stack| random.below(3).min(stack as usize) as u32).collect(),
            stacks: Some(stacks.clone()),
            raise_sizes: Vec::new(),
            first_players: (0..rounds).map(|_| random.below(n)).collect(),
            max_raises: (0..rounds).map(|_| random.below(4) as u32).collect(),
            deck: Deck { n_suits: 2, n_ranks: 13 },
            n_hole_cards: 1,
            n_board_cards: vec![1; rounds],
            bet_sizes: Vec::new(),
        };
        let rules = GameDef { raise_sizes: if rules.no_limit { Vec::new() } else { vec![2; rounds] }, ..rules };
        let sizes = [BetSize::Pot(500), BetSize::Chips(3), BetSize::Pot(1250), BetSize::AllIn];
        let n_menus = if rules.no_limit { rounds * random.below(2) } else { 0 };
        let bet_sizes = (0..n_menus).map(|_| sizes[random.below(4)..].to_vec()).collect();
        let rules = GameDef { bet_sizes, ..rules };
        for _ in 0..20 {
            let mut state = BettingState::new(&rules).expect("the rules can be played");
            let mut round = 0;
            while let Some(seat) = state.turn() {
                let before = state.contributed();
                let actions: Vec<Action> = state.actions().collect();
                assert!(state.folded() >> seat & 1 == 0 && before[seat] < f64::from(stacks[seat]));
                state = state.play(actions[random.below(actions.len())]).expect("a legal action");
                let after = state.contributed();
                assert!((0..n).all(|other| if other == seat {
                    after[other] >= before[other]
                } else {
                    after[other] == before[other]
                }));
                assert!(after.iter().zip(&stacks).all(|(&spent, &stack)| spent <= f64::from(stack)));
                assert!(state.round() >= round);
                round = state.round();
            }
            assert!(state.folded().count_ones() < n as u32, "somebody is left");
            lines += 1;
        }
        let Ok(mut tree) = BettingTree::new(&rules) else { continue };
        if tree.nodes.len() > 20_000 {
            continue;
        }
        let dead = random.below(5) as f64;
        (tree.dead, tree.rake.part, tree.rake.cap) = (dead, [0.0, 0.05][random.below(2)], 1.5);
        for node in tree.nodes.iter().filter(|node| node.kind == BettingKind::Terminal) {
            let strengths: Vec<u32> = (0..n).map(|_| random.below(3) as u32).collect();
            let payoffs = tree.payoffs(node, &strengths);
            let mut sorted = node.contributed.clone();
            sorted.sort_by(f64::total_cmp);
            let called = sorted.iter().sum::<f64>() - (sorted[n - 1] - sorted[n - 2]) + dead;
            let rake = (called * tree.rake.part).min(tree.rake.cap);
            let sum: f64 = payoffs.iter().sum();
            assert!((sum - (dead - rake)).abs() < 1e-9, "{rules}{node:?} {payoffs:?}: {sum}, expected {}", dead - rake);
            assert!(payoffs.iter().zip(&node.contributed).all(|(gain, paid)| *gain >= -paid - 1e-12));
        }
    }
    assert_eq!(lines, 6000);
}

/// The showdown order by sorting: the best five-card hand as category and ranks, the plain way.
fn plain_rank(deck: Deck, cards: u64) -> (usize, Vec<u8>) {
    let n = cards.count_ones().min(5) as usize;
    subsets(cards, n)
        .map(|hand| {
            let cards: Vec<(u8, u8)> =
                warpplay::cfr::game::members(hand).map(|card| (deck.rank(card), deck.suit(card))).collect();
            let mut counts: BTreeMap<u8, usize> = BTreeMap::new();
            cards.iter().for_each(|card| *counts.entry(card.0).or_default() += 1);
            let mut groups: Vec<(usize, u8)> = counts.iter().map(|(&rank, &count)| (count, rank)).collect();
            groups.sort_by(|a, b| b.cmp(a));
            let mut ranks: Vec<u8> = groups.iter().map(|group| group.1).collect();
            let shape: Vec<usize> = groups.iter().map(|group| group.0).collect();
            let flush = n == 5 && cards.iter().all(|card| card.1 == cards[0].1);
            let mut straight = n == 5 && shape.len() == 5 && ranks[0] - ranks[4] == 4;
            if n == 5 && ranks == [12, 3, 2, 1, 0] {
                (straight, ranks) = (true, vec![3, 2, 1, 0]);
            }
            let category = match (&shape[..], flush, straight) {
                (_, true, true) => 8,
                ([4, ..], ..) => 7,
                ([3, 2], ..) => 6,
                (_, true, _) => 5,
                (_, _, true) => 4,
                ([3, ..], ..) => 3,
                ([2, 2, ..], ..) => 2,
                ([2, ..], ..) => 1,
                _ => 0,
            };
            (category, ranks)
        })
        .max()
        .expect("a hand")
}

#[test]
fn ranking_is_that_of_sorting() {
    let mut random = Random(3);
    for deck in [
        Deck::FULL,
        Deck { n_suits: 4, n_ranks: 9 },
        Deck { n_suits: 2, n_ranks: 13 },
        Deck { n_suits: 1, n_ranks: 8 },
        Deck { n_suits: 3, n_ranks: 6 },
    ] {
        let ranking = Ranking::new(deck);
        for n in 1..=7 {
            let mut hands: Vec<_> = (0..1500)
                .map(|_| {
                    let mut cards = 0u64;
                    while cards.count_ones() < n {
                        cards |= 1 << random.below(deck.n_cards() as usize);
                    }
                    (ranking.strength(cards), plain_rank(deck, cards), cards)
                })
                .collect();
            hands.sort();
            for pair in hands.windows(2) {
                let order = pair[0].0.cmp(&pair[1].0);
                assert_eq!(
                    order,
                    pair[0].1.cmp(&pair[1].1),
                    "{deck:?}: {} and {}",
                    deck.names(pair[0].2),
                    deck.names(pair[1].2)
                );
            }
            assert!(hands.iter().all(|hand| category(hand.0) as usize == hand.1.0));
        }
    }
    // What the random ones may miss.
    let ranking = Ranking::new(Deck::FULL);
    let strength = |text: &str| ranking.strength(set_of(&Deck::FULL.cards(text).expect("cards")));
    assert_eq!(category(strength("Ah2h3h4h5h")), Category::StraightFlush);
    assert!(strength("Ah2h3h4h5h") < strength("2c3c4c5c6cAhAd"));
    assert_eq!(category(strength("TsJsQsKsAs2c3c")), Category::StraightFlush);
    assert_eq!(category(strength("QsKsAs2s3s4d4c")), Category::Flush);
    assert_eq!(strength("AcAdKhKsQcQd2s"), strength("AcAdKhKsQcTd2s"));
    assert!(strength("9c9d9h8c8d8h2s") > strength("9c9d9h7c7dAhKs"));
    assert_eq!(category(ranking.strength(0)), Category::HighCard);
}

/// All seven-card sets of 36 cards and all three-card sets of 24: the check values of the games' README.
#[test]
fn categories_of_all_hands() {
    let count = |deck: Deck, n: usize| {
        let ranking = Ranking::new(deck);
        let hands: Vec<u64> = subsets(deck.all(), n).collect();
        let mut strengths: Vec<u32> = hands.par_iter().map(|&hand| ranking.strength(hand)).collect();
        let mut counts = [0; 9];
        strengths.iter().for_each(|&strength| counts[category(strength) as usize] += 1);
        strengths.par_sort_unstable();
        strengths.dedup();
        (strengths.len(), counts)
    };
    let b = [279_720, 2_423_520, 3_179_736, 612_260, 988_660, 177_300, 633_024, 44_640, 8_820];
    assert_eq!(count(Deck { n_suits: 4, n_ranks: 9 }, 7), (778, b));
    assert_eq!(count(Deck { n_suits: 4, n_ranks: 6 }, 3).1, [1280, 720, 0, 24, 0, 0, 0, 0, 0]);
}

/// The first ten deals of the reference's sampled runs: cards, buckets, order of the hands.
#[test]
fn deals_are_those_of_the_reference() {
    let reference = reference();
    let sampled = &reference["sampled_one_deal_per_iteration"];
    let seed = sampled["lcg_seed"].as_u64().expect("a seed");
    for (name, entry) in sampled["games"].as_object().expect("games") {
        let rules = game(name);
        let ranking = Ranking::new(rules.deck);
        let mut deals = Deals::new(&rules, seed).expect("the rules can be played");
        let list = |value: &Value| -> Vec<u64> {
            value.as_array().expect("a list").iter().filter_map(Value::as_u64).collect()
        };
        for expected in entry["deals"].as_array().expect("deals") {
            // A copy from the generator's state deals the same.
            let mut again = Deals::new(&rules, deals.state()).expect("the rules can be played");
            let deal = deals.deal();
            assert_eq!(deal, again.deal());
            assert_eq!(
                deal.cards.iter().map(|&card| u64::from(card)).collect::<Vec<_>>(),
                list(&expected["cards"]),
                "{name}"
            );
            let buckets: Vec<u64> = (0..rules.n_players).filter_map(|seat| deal.thesis_bucket(seat)).collect();
            assert_eq!(buckets, list(&expected["bucket"]), "{name}");
            let ours: Vec<u32> = deal.hole.iter().map(|hole| ranking.strength(hole | deal.board)).collect();
            let theirs = list(&expected["strength"]);
            for (a, b) in (0..ours.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
                assert_eq!(ours[a].cmp(&ours[b]), theirs[a].cmp(&theirs[b]), "{name}: {:?}", deal.cards);
            }
        }
        assert_eq!(entry["sequences"].as_u64(), Some(Counts::of(&rules).expect("the tree fits").sequences));
    }
}
