//! The trees of known games.

use super::*;
use crate::cfr::game::game_file::GameDef;

/// Rules of a small game: lines of a definition file, separated by `;`.
pub(in crate::cfr) fn rules(lines: &str) -> GameDef {
    GameDef::parse(&format!("GAMEDEF\n{}\nEND GAMEDEF\n", lines.replace(';', "\n"))).expect("rules")
}

pub(in crate::cfr) const KUHN: &str = "limit;numPlayers = 2;numRounds = 1;blind = 1 1;raiseSize = 1;firstPlayer = 1;maxRaises = 1;numSuits = 1;numRanks = 3;numHoleCards = 1;numBoardCards = 0";
pub(in crate::cfr) const KUHN_3P: &str = "limit;numPlayers = 3;numRounds = 1;blind = 1 1 1;raiseSize = 1;firstPlayer = 1;maxRaises = 1;numSuits = 1;numRanks = 4;numHoleCards = 1;numBoardCards = 0";
pub(in crate::cfr) const LEDUC: &str = "limit;numPlayers = 2;numRounds = 2;blind = 1 1;raiseSize = 2 4;firstPlayer = 1 1;maxRaises = 2 2;numSuits = 2;numRanks = 3;numHoleCards = 1;numBoardCards = 0 1";
const LEDUC_NO_LIMIT: &str = "nolimit;numPlayers = 2;numRounds = 2;stack = 8 8;blind = 1 1;firstPlayer = 1 1;numSuits = 2;numRanks = 3;numHoleCards = 1;numBoardCards = 0 1";

pub(in crate::cfr) fn poker(lines: &str) -> Tree {
    Tree::build(&Poker::new(&rules(lines)).expect("a game")).expect("a tree")
}

/// Histories, ends, sets by seat, actions of the sets by seat, events and actions of the longest line.
fn counts(tree: &Tree) -> (usize, usize, Vec<usize>, Vec<usize>, usize) {
    let seats = 0..tree.n_players();
    let sets = seats.clone().map(|seat| tree.sets_of(seat).len()).collect();
    let actions = seats.map(|seat| tree.table_len(seat)).collect();
    (tree.n_nodes(), tree.n_ends(), sets, actions, tree.n_levels() - 1)
}

#[test]
fn trees_of_poker_have_the_counts_of_the_reference() {
    assert_eq!(counts(&poker(KUHN)), (58, 30, vec![6, 6], vec![12, 12], 5));
    assert_eq!(counts(&poker(KUHN_3P)), (617, 312, vec![16; 3], vec![32; 3], 8));
    assert_eq!(counts(&poker(LEDUC)), (9457, 5520, vec![468; 2], vec![1092; 2], 11));
    assert_eq!(counts(&poker(LEDUC_NO_LIMIT)), (353_797, 227_580, vec![15_240; 2], vec![42_168; 2], 14));
    let poker = Poker::new(&rules(LEDUC_NO_LIMIT)).expect("a game");
    assert_eq!(poker.n_histories(), Some(353_797));
}

#[test]
fn sets_of_poker_have_keys() {
    let tree = poker(LEDUC);
    let set = tree.find(0, "0:4d:2c:rrc/cr").expect("a set of the game");
    assert_eq!((set.seat, &set.actions[..]), (0, &["f", "c", "r"].map(str::to_string)[..]));
    assert!(tree.find(1, "0:4d:2c:rrc/cr").is_none());
}

#[test]
fn other_games_have_their_counts() {
    let dice = LiarsDice::new(2, 1, 6).expect("a game");
    let tree = Tree::build(&dice).expect("a tree");
    assert_eq!(tree.sets().len(), 24_576);
    assert_eq!(Some(tree.n_nodes() as u128), dice.n_histories());
    let names = &tree.find(1, "3:1x2").expect("a set").actions;
    assert_eq!((names.len(), &names[0][..], &names[10][..]), (11, "1x3", "liar"));
    // Three cards, largest prize first: 9 pairs of first bids, 4 of second ones, the rest is forced.
    let tree = Tree::build(&Goofspiel::new(2, 3, PrizeOrder::Descending).expect("a game")).expect("a tree");
    assert_eq!((tree.n_ends(), tree.sets().len()), (36, 2 * (1 + 9)));
    let tree = Tree::build(&Goofspiel::new(3, 2, PrizeOrder::Random).expect("a game")).expect("a tree");
    assert_eq!((tree.n_ends(), tree.sets().len()), (2 * 8, 3 * 2));
    assert_eq!(tree.sets()[0].actions, ["1", "2"]);
    let tree = Tree::build(&MatrixGame::prisoners_dilemma()).expect("a tree");
    assert_eq!(counts(&tree), (7, 4, vec![1, 1], vec![2, 2], 2));
    // Both silent, told on, telling, both confess: 4 less the years (Reis 2015, section 2.1.7).
    let ends: Vec<Vec<f64>> = (0..tree.n_nodes())
        .filter(|&node| tree.children(node).is_empty())
        .map(|node| tree.payoffs_of(node).to_vec())
        .collect();
    assert_eq!(ends, [[3.0, 3.0], [0.0, 4.0], [4.0, 0.0], [1.0, 1.0]]);
}

#[test]
fn arrays_agree_with_each_other() {
    for tree in [poker(KUHN_3P), poker(LEDUC)] {
        let n_rows = tree.n_rows();
        assert_eq!(tree.members.len(), tree.set_members[tree.sets.len()] as usize);
        for node in 0..tree.n_nodes() {
            for child in tree.children(node) {
                assert_eq!(tree.parents[child] as usize, node);
            }
            if let Some(set) = tree.set_of(node) {
                let members = tree.set_members[set] as usize..tree.set_members[set + 1] as usize;
                assert!(tree.members[members].contains(&(node as u32)));
                assert!(tree.level(tree.sets[set].level as usize).contains(&node));
                assert_eq!(tree.rows[tree.first[node] as usize], tree.set_rows[set]);
                assert_eq!(tree.children(node).len(), tree.sets[set].actions.len());
            } else if !tree.children(node).is_empty() {
                let sum: f64 = tree.children(node).map(|child| tree.outcomes[tree.rows[child] as usize - n_rows]).sum();
                assert!((sum - 1.0).abs() < 1e-12);
            } else {
                assert!(tree.payoffs_of(node).iter().sum::<f64>().abs() < 1e-12);
            }
        }
        for seat in 0..tree.n_players() {
            let mut offset = 0;
            for set in tree.sets_of(seat) {
                assert_eq!((set.seat, set.offset), (seat, offset));
                offset += set.actions.len();
            }
        }
        assert!(tree.sets.is_sorted_by_key(|set| (set.seat, set.level)));
    }
}

/// A game of one line that breaks a rule.
struct Broken(&'static str);

impl Game for Broken {
    type State = usize;

    fn name(&self) -> String {
        "broken".to_string()
    }

    fn n_players(&self) -> usize {
        if self.0 == "players" { 0 } else { 2 }
    }

    fn root(&self) -> usize {
        0
    }

    fn turn(&self, &step: &usize) -> Turn {
        let seat = if self.0 == "seat" { 2 } else { 0 };
        let parts = if self.0 == "chance" { vec![0.5, 0.4] } else { vec![0.5, 0.5] };
        let payoffs = if self.0 == "payoffs" { vec![0.0] } else { vec![0.0, 0.0] };
        match step {
            0 => Turn::Chance(parts),
            1 => Turn::Decision { seat, n_actions: if self.0 == "none" { 0 } else { 2 } },
            2 if self.0 == "actions" => Turn::Decision { seat, n_actions: 3 },
            3 if self.0 == "level" || self.0 == "recall" => Turn::Decision { seat, n_actions: 2 },
            _ => Turn::End(payoffs),
        }
    }

    fn next(&self, &step: &usize, action: usize) -> usize {
        match step {
            0 => 1 + action,
            // From 1 by either action to 3: for the level the set of 1 again, for recall one set after different actions.
            _ if self.0 == "level" || (self.0 == "recall" && step == 1) => step + 2,
            _ => 9,
        }
    }

    fn key(&self, &step: &usize) -> String {
        if self.0 == "recall" { step.to_string() } else { "same".to_string() }
    }
}

#[test]
fn the_histories_of_goofspiel_are_as_many_as_it_says() {
    for order in [PrizeOrder::Ascending, PrizeOrder::Descending, PrizeOrder::Random] {
        for (n_players, n_cards) in [(2, 1), (2, 4), (3, 3), (4, 2)] {
            let game = Goofspiel::new(n_players, n_cards, order).expect("a game");
            let tree = Tree::build(&game).expect("a tree");
            assert_eq!(Some(tree.n_nodes() as u128), game.n_histories(), "{}", game.name());
        }
    }
}

#[test]
fn broken_rules_are_errors() {
    for (rule, part) in [
        ("players", "players of broken: expected 1 to 32, got 0"),
        ("seat", "seat that acts of broken: expected below 2, got 2"),
        ("chance", "probabilities of chance of broken: expected above 0, together 1, got [0.5, 0.4]"),
        ("payoffs", "payoffs at an end of broken"),
        ("none", "actions of a decision of broken: expected at least 1, got 0"),
        ("actions", "information set same of seat 0 of broken: expected 2 actions, as before, got 3"),
        ("level", "expected histories of 1 actions and events"),
        ("recall", "expected perfect recall: last own action 0 at 1, got 1 at 1"),
    ] {
        let error = Tree::build(&Broken(rule)).expect_err(rule).to_string();
        assert!(error.contains(part), "{rule}: {error}");
    }
}

#[test]
fn trees_that_do_not_fit_say_their_size() {
    let game = Poker::new(&rules(LEDUC)).expect("a game");
    let error = Tree::build_within(&game, 1000).expect_err("too small").to_string();
    assert!(error.contains("at most 1000 histories") && error.ends_with("got 9457"), "{error}");
    // Of rules that do not say their number they are counted up to the limit.
    struct Uncounted(Goofspiel);
    impl Game for Uncounted {
        type State = <Goofspiel as Game>::State;

        fn name(&self) -> String {
            self.0.name()
        }

        fn n_players(&self) -> usize {
            self.0.n_players()
        }

        fn root(&self) -> Self::State {
            self.0.root()
        }

        fn turn(&self, state: &Self::State) -> Turn {
            self.0.turn(state)
        }

        fn next(&self, state: &Self::State, action: usize) -> Self::State {
            self.0.next(state, action)
        }

        fn key(&self, state: &Self::State) -> String {
            self.0.key(state)
        }
    }
    let game = Uncounted(Goofspiel::new(2, 5, PrizeOrder::Random).expect("a game"));
    let error = Tree::build_within(&game, 1000).expect_err("too small").to_string();
    assert!(error.ends_with("got more than 1000"), "{error}");
    // Refused at once, though they could never be counted.
    assert!(Tree::build(&LiarsDice::new(8, 5, 6).expect("a game")).is_err());
    assert!(Tree::build(&Goofspiel::new(8, 13, PrizeOrder::Random).expect("a game")).is_err());
    let error = Tree::build(&Goofspiel::new(2, 8, PrizeOrder::Descending).expect("a game")).expect_err("too large");
    assert!(error.to_string().ends_with("got 8372054346"), "{error}");
    assert!(LiarsDice::new(1, 1, 6).is_err() && Goofspiel::new(2, 14, PrizeOrder::Random).is_err());
    assert!(MatrixGame::new("no", vec![vec!["a".into()]], vec![vec![0.0, 0.0]]).is_err());
    assert!(MatrixGame::zero_sum("one", &["a"], &["b", "c"], &[&[1.0]]).is_err());
}

#[test]
fn three_player_leduc_has_the_counts_of_the_reference() {
    let game = "limit;numPlayers = 3;numRounds = 2;blind = 1 1 1;raiseSize = 2 4;firstPlayer = 1 1;maxRaises = 2 2;numSuits = 2;numRanks = 4;numHoleCards = 1;numBoardCards = 0 1";
    assert_eq!(counts(&poker(game)), (1_831_601, 1_043_952, vec![8600; 3], vec![19_688; 3], 18));
}
