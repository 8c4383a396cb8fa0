use super::*;
use crate::cfr::game::cards::{Deck, set_of};
use crate::cfr::spot::{Pairing, Spot, SpotRun, Suits};
use crate::cfr::{Algorithm, Options};
use crate::{Device, Precision};

/// A row with one decision of seat 0, who bets with this frequency, and of seat 1 after it, who folds with that one.
fn row(board: &str, weight: f64, pairs: f64, ev: f64, bets: f64, folds: f64) -> BoardRow {
    let decision = |history: &str, seat, reach, actions: [&str; 2], first: f64| Decision {
        history: history.into(),
        seat,
        reach,
        actions: actions.map(String::from).to_vec(),
        frequencies: vec![first, 1.0 - first],
    };
    let decisions = vec![decision("", 0, 1.0, ["c", "r50"], 1.0 - bets), decision("r50", 1, bets, ["f", "c"], folds)];
    let values = BoardValues {
        ev: [ev, 100.0 - ev],
        equity: [0.25, 0.75],
        decisions,
        exploitability: Some(ev / 100.0),
        iterations: 10,
        seconds: 0.5,
        device: "cpu".into(),
    };
    BoardRow { board: board.into(), weight, pairs, texture: Texture::of(board).expect(board), values }
}

fn aggregate(rows: Vec<BoardRow>) -> Aggregate {
    Aggregate { pot: 100.0, rows, blocked: vec!["AsAhAd".into()], left: Vec::new() }
}

#[test]
fn means_weigh_boards_by_their_probability() {
    // Chances 12 · 10, 12 · 20 and 4 · 10: together 400.
    let rows = vec![
        row("QsJh2h", 12.0, 10.0, 50.0, 0.5, 0.2),
        row("KsKh4s", 12.0, 20.0, 30.0, 0.25, 0.6),
        row("9s7s5s", 4.0, 10.0, 80.0, 0.0, 0.0),
    ];
    let aggregate = aggregate(rows);
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}, expected {expected}");
    let mean = aggregate.mean().expect("boards");
    assert_eq!((mean.boards, mean.weight), (3, 28.0));
    close(mean.probability, 1.0);
    close(mean.ev[0], (120.0 * 50.0 + 240.0 * 30.0 + 40.0 * 80.0) / 400.0);
    close(mean.ev[0] + mean.ev[1], 100.0);
    close(mean.equity[1], 0.75);
    let [first, answer] = &mean.decisions[..] else { panic!("{:?}", mean.decisions) };
    assert_eq!((first.seat, &*answer.history, answer.seat), (0, "r50", 1));
    close(first.reach, 1.0);
    close(first.frequencies[1], (120.0 * 0.5 + 240.0 * 0.25) / 400.0);
    // A node is reached as often as the bet is made, and what is done there weighs by that.
    close(answer.reach, first.frequencies[1]);
    close(answer.frequencies[0], (120.0 * 0.5 * 0.2 + 240.0 * 0.25 * 0.6) / (120.0 * 0.5 + 240.0 * 0.25));
    close(answer.frequencies.iter().sum(), 1.0);

    let groups = aggregate.groups();
    for feature in ["high card", "pairing", "suits", "cards to a straight"] {
        let of: Vec<&BoardGroup> = groups.iter().filter(|group| group.feature == feature).collect();
        close(of.iter().map(|group| group.mean.probability).sum(), 1.0);
        assert_eq!(of.iter().map(|group| group.mean.boards).sum::<usize>(), 3);
    }
    let named = |value: &str| groups.iter().find(|group| group.value == value).expect(value);
    assert_eq!((named("paired").mean.boards, named(Suits::TwoTone.name()).mean.boards), (1, 2));
    close(named(Pairing::Unpaired.name()).mean.ev[0], (120.0 * 50.0 + 40.0 * 80.0) / 160.0);
    let highs: Vec<&str> = groups.iter().take(3).map(|group| &*group.value).collect();
    assert_eq!(highs, ["K", "Q", "9"]);
    assert_eq!(aggregate.worst_exploitability(), Some(0.8));
}

#[test]
fn nothing_has_no_mean() {
    let nothing = aggregate(Vec::new());
    assert_eq!((nothing.mean(), nothing.groups(), nothing.worst_exploitability()), (None, Vec::new(), None));
    assert_eq!(nothing.csv().lines().count(), 1);
    assert!(nothing.html("none").contains("\"mean\":null"));
    // Nor has a bet that nobody makes.
    let never = aggregate(vec![row("9s7s5s", 4.0, 10.0, 80.0, 0.0, 0.0)]);
    let mean = never.mean().expect("a board");
    assert_eq!((mean.decisions[1].reach, &mean.decisions[1].frequencies[..]), (0.0, &[0.0, 0.0][..]));
}

#[test]
fn csv_and_page_hold_the_boards() {
    let aggregate =
        aggregate(vec![row("QsJh2h", 12.0, 10.0, 50.0, 0.5, 0.2), row("KsKh4s", 12.0, 20.0, 30.0, 0.25, 0.6)]);
    let csv = aggregate.csv();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(
        lines[0],
        "board,weight,pairs,high,pairing,suits,straight,ev0,ev1,equity0,equity1,exploitability,iterations,seconds,device,\
         seat0.reach,seat0.c,seat0.r50,seat1.r50.reach,seat1.r50.f,seat1.r50.c"
    );
    assert_eq!(lines[1], "QsJh2h,12,10,Q,unpaired,two_tone,2,50,50,0.25,0.75,0.5,10,0.5,cpu,1,0.5,0.5,0.5,0.2,0.8");
    assert!(lines.iter().all(|line| line.split(',').count() == 21), "{csv}");

    let page = aggregate.html("</script><b>&@DATA@");
    assert!(page.contains("<title>&lt;/script&gt;&lt;b&gt;&amp;@DATA@</title>") && page.contains("QsJh2h"));
    // Only the page's own scripts end.
    assert_eq!(page.matches("</script>").count(), 2);
    let json = page.split_once("id=\"data\">").and_then(|(_, rest)| rest.split_once("</script>")).expect("data").0;
    let data: serde_json::Value = serde_json::from_str(json).expect("JSON");
    assert_eq!((&data["title"], &data["rows"][1]["board"]), (&"</script><b>&@DATA@".into(), &"KsKh4s".into()));
    let read: Aggregate =
        serde_json::from_value(serde_json::to_value(&aggregate).expect("JSON")).expect("an aggregate");
    assert_eq!(read, aggregate);
}

/// Frequencies count pairs of hands that can be held together: added up here pair by pair.
#[test]
fn frequencies_are_those_of_all_pairs() {
    let spot = Spot::parse(
        r#"{"pot": 100, "effective_stack": 300, "bet_fraction_of_pot": 0.5, "flop": "Qs Jh 2h", "turn": "2d", "river": "7c",
            "ranges": ["AA,QQ:0.5,AKs,T9s,87s", "KK,JJ,77:0.25,AQ,A5s-A4s,98s"]}"#,
    )
    .expect("a spot");
    let options =
        Options { algorithm: Algorithm::CfrPlus, precision: Precision::F64, iterations: 20, ..Options::default() };
    let report = spot.solve(&Device::cpu(), &SpotRun { options, ..SpotRun::default() }).expect("solves");
    let values = BoardValues::of(&report).expect("its hands");
    let cards = |hand: &str| set_of(&Deck::FULL.cards(hand).expect(hand));
    let pairs: Vec<_> = report.by_hand[0]
        .iter()
        .flat_map(|first| report.by_hand[1].iter().map(move |second| (first, second)))
        .filter(|(first, second)| cards(&first.hand) & cards(&second.hand) == 0)
        .collect();
    let sum = |of: &dyn Fn(usize) -> f64| {
        (0..pairs.len()).map(|at| pairs[at].0.weight * pairs[at].1.weight * of(at)).sum::<f64>()
    };
    let all = sum(&|_| 1.0);
    // Sums of less than 200 · 200 pairs.
    let close =
        |found: f64, expected: f64| assert!((found - expected).abs() < 4e4 * f64::EPSILON, "{found}, {expected}");
    let histories: Vec<&str> = values.decisions.iter().map(|decision| &*decision.history).collect();
    assert_eq!(histories, ["", "c", "r300", "r50"]);
    for decision in &values.decisions {
        let before = |at: usize| match decision.history.as_str() {
            "" => 1.0,
            action => {
                let number = report.actions[""].iter().position(|name| name == action).expect("an action");
                pairs[at].0.strategy[""][number]
            }
        };
        let reach = sum(&|at| before(at));
        close(decision.reach, reach / all);
        assert_eq!(decision.actions, report.actions[&decision.history]);
        for (number, &frequency) in decision.frequencies.iter().enumerate() {
            let part = |at: usize| match decision.seat {
                0 => pairs[at].0.strategy[""][number],
                _ => before(at) * pairs[at].1.strategy[&decision.history][number],
            };
            close(frequency * reach / all, sum(&part) / all);
        }
    }
}
