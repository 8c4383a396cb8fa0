use super::*;

/// The tree of a flop with a pot of 100 and stacks of 1,000, where every bet is half the pot.
fn flop(changes: &str) -> BettingTree {
    let text = format!(
        r#"{{"pot": 100, "effective_stack": 1000, "flop": "Qs Jh 2h", "ranges": ["AA", "KK"],
            "bet_sizes": {{"flop": [0.5], "turn": [0.5], "river": [0.5]}}, {changes}}}"#
    );
    tree(&Spot::parse(&text).expect("good JSON"), 0).expect("a small one")
}

fn actions_at(tree: &BettingTree, history: &str) -> Vec<String> {
    match &tree.nodes[tree.find(history).expect(history) as usize].kind {
        BettingKind::Decision { actions, .. } => actions.iter().map(|&action| tree.spell(action)).collect(),
        BettingKind::Terminal => Vec::new(),
    }
}

#[test]
fn who_was_bet_into_has_sizes_of_its_own() {
    let tree = flop(
        r#""max_raises": {"flop": 2, "turn": 2, "river": 2}, "raise_sizes": {"flop": ["3x"], "turn": ["3x"]},
        "donk_sizes": {"turn": ["30%", "a"]}"#,
    );
    // Each has put in 50: the pot is 200.
    assert_eq!(actions_at(&tree, "cr50c/"), ["c", "r110", "r1000"]);
    assert_eq!(actions_at(&tree, "r50c/"), ["c", "r150"], "seat 0 made the bet");
    assert_eq!(actions_at(&tree, "cc/"), ["c", "r50"], "nobody bet");
    assert_eq!(actions_at(&tree, "r50r150c/"), ["c", "r270", "r1000"], "seat 1 raised, to three times 50");
    assert_eq!(actions_at(&tree, "cr50r150c/"), ["c", "r350"], "seat 0 raised");
    assert_eq!(actions_at(&tree, "cr50c/c"), ["c", "r150"], "seat 1 has its usual sizes");
    // A donk bet is the first of the street's two: 60 chips, raised to three times as many.
    assert_eq!(actions_at(&tree, "cr50c/r110"), ["f", "c", "r230"]);
    assert_eq!(actions_at(&tree, "cr50c/r110r230"), ["f", "c"]);
    // The river has no such sizes; what counts is the street before it.
    assert_eq!(actions_at(&tree, "cr50c/cr150c/"), ["c", "r350"]);
    let none = flop(r#""donk_sizes": {"turn": ["30%"]}, "max_raises": {"turn": 0}"#);
    assert_eq!(actions_at(&none, "cr50c/"), ["c"]);
}

#[test]
fn trees_without_donk_bets_have_so_many_decisions() {
    // With one bet a street: before it, after a check, after the bet of either; without donk bets, not after that of seat 0. Streets follow check and check, the bet of
    // seat 0 called, and the bet of seat 1 called, after which seat 0 only checks.
    let river = [4, 3];
    let next = |[plain, no_donk]: [usize; 2]| [4 + 2 * plain + no_donk, 3 + plain + no_donk];
    let [n_decisions, _] = next(next(river));
    let changes = r#""max_raises": {"flop": 1, "turn": 1, "river": 1}, "donk_sizes": {"turn": [], "river": []}, "add_all_in": 0.1"#;
    assert_eq!(flop(changes).n_decisions(), n_decisions);
}

#[test]
fn geometric_bets_of_three_streets_put_all_in() {
    // Three bets of half the pot of 100 end with a pot of 800: stacks of 350.
    let text = r#"{"pot": 100, "effective_stack": 350, "flop": "Qs Jh 2h", "ranges": ["AA", "KK"], "max_raises": {"flop": 1, "turn": 1, "river": 1},
        "bet_sizes": {"flop": ["e"], "turn": ["2e"], "river": ["e"]}}"#;
    let tree = tree(&Spot::parse(text).expect("good JSON"), 0).expect("a small one");
    assert_eq!(actions_at(&tree, "r50c/r150c/"), ["c", "r350"]);
    // Without a bet on the flop, two bets: √8 − 1 of the pot, halved, then all-in.
    let [check, bet] = &actions_at(&tree, "cc/")[..] else { panic!("two actions") };
    let chips: f64 = bet.trim_start_matches('r').parse().expect("chips");
    assert!(check == "c" && (chips - 50.0 * (8f64.sqrt() - 1.0)).abs() < 1e-8, "{bet}");
}

#[test]
fn sizes_are_told_without_what_rounding_leaves() {
    let text = r#"{"pot": 33, "effective_stack": 100, "flop": "Qs Jh 2h", "turn": "2d", "river": "7c", "ranges": ["AA", "KK"],
        "bet_sizes": {"river": [0.55, 0.55000000000001, "all-in"]}}"#;
    let spot = Spot::parse(text).expect("good JSON");
    let tree = tree(&spot, 2).expect("a small one");
    let node = tree.find("r18.15").expect("the bet");
    assert_eq!((tree.history(node).as_str(), tree.find("r18.150000000000002").ok()), ("r18.15", Some(node)));
    // Two sizes that round to the same amount are one.
    assert_eq!(actions_at(&tree, "").len(), 3, "check, bet, all-in");
    assert!(tree.find("r18.16").is_err());
}

/// A river with a pot of 100, stacks of 300 and bets of half the pot, with some lines.
fn river(lines: &str) -> Result<BettingTree> {
    let text = format!(
        r#"{{"pot": 100, "effective_stack": 300, "flop": "Qs Jh 2h", "turn": "2d", "river": "7c", "ranges": ["AA", "KK"],
            "bet_sizes": {{"river": [0.5]}}, "max_raises": {{"river": 2}}, {lines}}}"#
    );
    tree(&Spot::parse(&text).expect("good JSON"), 2)
}

/// The histories of all nodes.
fn histories(tree: &BettingTree) -> Vec<String> {
    let mut all: Vec<String> = (0..tree.nodes.len()).map(|node| tree.history(node as u32)).collect();
    all.sort_unstable();
    all
}

#[test]
fn lines_that_are_removed_are_all_that_is_missing() {
    let whole = histories(&river(r#""rake": {"part": 0, "cap": 0}"#).expect("good"));
    for removed in
        [&["r50r300"][..], &["cr50"], &["r50"], &["c"], &["r50f", "cr50f"], &["cr50r300", "cr50c", "r50r300"]]
    {
        let tree = river(&format!(r#""removed_lines": {removed:?}"#)).expect("good");
        let mut left = whole.clone();
        left.retain(|history| !removed.iter().any(|line| history.starts_with(line)));
        assert_eq!(histories(&tree), left, "without {removed:?}");
        assert!(left.len() < whole.len());
    }
    // On a later street.
    let whole = flop(r#""max_raises": {"flop": 1, "turn": 1, "river": 1}"#);
    let less =
        flop(r#""max_raises": {"flop": 1, "turn": 1, "river": 1}, "removed_lines": ["cr50c/r150", "cc/cc/r50c"]"#);
    let mut left = histories(&whole);
    left.retain(|history| !history.starts_with("cr50c/r150") && history != "cc/cc/r50c");
    assert_eq!(histories(&less), left);
}

#[test]
fn lines_that_are_added_go_on_by_the_sizes() {
    let lines = r#""added_lines": ["r80", "r80r200", "r80r200r300"]"#;
    let tree = river(lines).expect("good");
    assert_eq!(actions_at(&tree, ""), ["c", "r50", "r80"]);
    assert_eq!(actions_at(&tree, "c"), ["c", "r50"]);
    // The sizes raise all-in.
    assert_eq!(actions_at(&tree, "r80"), ["f", "c", "r200", "r300"]);
    assert_eq!(actions_at(&tree, "r80r300"), ["f", "c"]);
    // More raises than two.
    assert_eq!(actions_at(&tree, "r80r200"), ["f", "c", "r300"]);
    assert!(tree.find("r50r150").is_err());
}

#[test]
fn lines_that_do_not_fit_are_told() {
    for (lines, told) in [
        (
            r#""removed_lines": ["r50", "r50r300"]"#,
            "option removed_lines: 'r50r300' is not allowed (column 1: 'r50': expected c)",
        ),
        (
            r#""removed_lines": ["cr60"]"#,
            "option removed_lines: 'cr60' is not allowed (column 2: 'r60': expected c, r50)",
        ),
        (
            r#""removed_lines": ["r50c", "r50f", "r50r300"]"#,
            "'r50r300' is not allowed (a line beside which another action",
        ),
        (r#""removed_lines": [""]"#, "option removed_lines: '' is not allowed (a history of at least one action)"),
        (r#""removed_lines": ["ccc"]"#, "column 3: 'c' after the end of the betting"),
        (r#""removed_lines": ["cc", "cr50c", "cr50r300c", "r50c", "r50r300c"]"#, "the cards are shown"),
        (
            r#""added_lines": ["r50"]"#,
            "option added_lines: 'r50' is not allowed (an action that the sizes do not make already)",
        ),
        (r#""added_lines": ["r80", "r80"]"#, "do not make already"),
        (
            r#""added_lines": ["cc"]"#,
            "option added_lines: 'cc' is not allowed (a history that ends with a raise, as cr50)",
        ),
        (r#""added_lines": ["rc"]"#, "ends with a raise"),
        (r#""added_lines": ["r70r200"]"#, "column 1: 'r70': expected c, r50"),
        (r#""added_lines": ["r301"]"#, "a raise to 0.000000001 … 300 there"),
        (r#""added_lines": ["r50r99"]"#, "a raise to 100 … 300 there"),
        (r#""added_lines": ["r50r300r350"]"#, "no raise of an all-in"),
        (r#""added_lines": ["ccr50"]"#, "a history after which a player acts"),
    ] {
        let error = river(lines).expect_err(lines).to_string();
        assert!(error.contains(told), "{lines}: {error}");
    }
    let text = r#"{"pot": 100, "effective_stack": 300, "flop": "Qs Jh 2h", "turn": "2d", "ranges": ["AA", "KK"], "bet_fraction_of_pot": 0.5,
        "added_lines": ["ccr60"]}"#;
    let error = tree(&Spot::parse(text).expect("good JSON"), 1).expect_err("no /").to_string();
    assert!(error.contains("'r' in a new round: expected '/' before it"), "{error}");
}
