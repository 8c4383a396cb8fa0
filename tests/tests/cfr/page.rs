//! The page of a solved spot, in a browser: it shows what `cfr query` says, is walked by mouse and by keyboard, and loads nothing.

use std::fs;

use serde_json::{Value, json};
use warpplay::cfr::spot::{NodeHand, NodeReport};
use warpplay_tests::browser::{Browser, chromium};
use warpplay_tests::programs::{Scratch, warpplay};

/// A turn with few hands.
fn spot(scratch: &Scratch, name: &str) {
    let spot = json!({
        "pot": 100, "effective_stack": 200, "bet_fraction_of_pot": 0.5, "flop": "Qs Jh 2h", "turn": "2d",
        "max_raises": {"turn": 2, "river": 1}, "ranges": ["AA,QQ:0.5,AKs", "KK,77:0.25,AQs"],
    });
    scratch.write("spot.json", spot.to_string().as_bytes());
    scratch.ok(&format!("solve-spot spot.json --algorithm cfr_plus --iterations 40 --device cpu --save {name}"));
}

/// A browser with the page of a line, where there is a browser.
fn opened(scratch: &Scratch, page: &str) -> Option<Browser> {
    let mut browser = Browser::start(&chromium()?, 1280, 900);
    browser.prefer("light");
    browser.open(&scratch.path(page), "document.querySelector('#grid [data-class=AA]')");
    Some(browser)
}

fn queried(scratch: &Scratch, name: &str, line: &str) -> NodeReport {
    scratch.ok(&format!("query {name} {line} --quiet --json node.json"));
    serde_json::from_value(scratch.json("node.json")["report"].clone()).expect("a report")
}

/// The numbers of a text with commas between.
fn numbers(text: &Value) -> Vec<f64> {
    let text = text.as_str().expect("a text");
    text.split(',').filter(|part| !part.is_empty()).map(|part| part.parse().expect("a number")).collect()
}

#[track_caller]
fn close(found: &[f64], expected: &[f64], tolerance: f64, at: &str) {
    assert_eq!(found.len(), expected.len(), "{at}: {found:?}, expected {expected:?}");
    for (one, other) in found.iter().zip(expected) {
        assert!((one - other).abs() <= tolerance, "{at}: {found:?}, expected {expected:?}, within {tolerance:e}");
    }
}

/// Half a step of 16 bits between two ends, and what arithmetic in double precision adds.
fn half_a_step(ends: f64) -> f64 {
    ends * (0.5 / 65535.0 + 1e-12)
}

/// Difference of the largest and the least value of a report.
fn width(report: &NodeReport) -> f64 {
    let values = report.by_hand.iter().flatten().flat_map(|hand| hand.action_ev.iter().copied().chain([hand.ev]));
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), ev| (low.min(ev), high.max(ev)));
    high - low
}

/// The hands of a class as the page shows them are those of the report.
fn shows_the_hands(browser: &mut Browser, report: &NodeReport, seat: usize, class: &str) {
    browser.click(&format!("#seats input[value='{seat}']"));
    browser.click(&format!("#grid [data-class='{class}']"));
    let rows = browser.value("[...document.querySelectorAll('#combos [data-hand]')].map((row) => ({...row.dataset}))");
    let rows = rows.as_array().expect("a list");
    let is_in = |hand: &&NodeHand| {
        let cards: Vec<char> = hand.hand.chars().collect();
        let suits = if cards[0] == cards[2] {
            ""
        } else if cards[1] == cards[3] {
            "s"
        } else {
            "o"
        };
        format!("{}{}{suits}", cards[0], cards[2]) == class
    };
    let hands: Vec<&NodeHand> = report.by_hand[seat].iter().filter(is_in).collect();
    assert!(!hands.is_empty() && hands.len() == rows.len(), "{class}: {rows:?}");
    let largest = report.by_hand[seat].iter().map(|hand| hand.reach).fold(0.0, f64::max);
    for (hand, row) in hands.iter().zip(rows) {
        let at = format!("'{}' on {}, seat {seat}: {}", report.history, report.board, hand.hand);
        assert_eq!(row["hand"], hand.hand, "{at}");
        close(&numbers(&row["reach"]), &[hand.reach], half_a_step(largest), &at);
        close(&numbers(&row["equity"]), &[hand.equity], half_a_step(1.0), &at);
        close(&numbers(&row["ev"]), &[hand.ev], half_a_step(width(report)), &at);
        close(&numbers(&row["strategy"]), &hand.strategy, half_a_step(1.0), &at);
        close(&numbers(&row["actionEv"]), &hand.action_ev, half_a_step(width(report)), &at);
    }
    shows_the_mean(browser, report, seat, class, &hands);
}

/// The cell shows the mean over the hands of its class, by reach times the reach of the other's hands beside them.
fn shows_the_mean(browser: &mut Browser, report: &NodeReport, seat: usize, class: &str, hands: &[&NodeHand]) {
    let apart = |one: &str, other: &str| !one.contains(&other[..2]) && !one.contains(&other[2..]);
    let beside = |hand: &NodeHand| {
        let others = report.by_hand[1 - seat].iter().filter(|other| apart(&hand.hand, &other.hand));
        others.map(|other| other.reach).sum::<f64>()
    };
    let weights: Vec<f64> = hands.iter().map(|hand| hand.reach * beside(hand)).collect();
    let all: f64 = weights.iter().sum();
    if all == 0.0 {
        return;
    }
    let mean = |value: &dyn Fn(&NodeHand) -> f64| {
        hands.iter().zip(&weights).map(|(hand, weight)| weight / all * value(hand)).sum::<f64>()
    };
    let cell = browser.value(&format!("({{...document.querySelector('#grid [data-class=\"{class}\"]').dataset}})"));
    let at = format!("'{}' on {}, seat {seat}: {class}", report.history, report.board);
    // Reaches are off by half a step of the largest. A weight's part that is so lost is at most that of its reach, and of the sum of all others' beside it; parts of the mean move by twice as much.
    let off = |seat: usize| {
        let largest = report.by_hand[seat].iter().map(|hand| hand.reach).fold(0.0, f64::max);
        half_a_step(largest)
    };
    let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
    let own = off(seat) / least(&mut hands.iter().map(|hand| hand.reach));
    let others =
        off(1 - seat) * report.by_hand[1 - seat].len() as f64 / least(&mut hands.iter().map(|hand| beside(hand)));
    let part = 2.0 * (own + others) + half_a_step(1.0);
    close(&numbers(&cell["equity"]), &[mean(&|hand| hand.equity)], part, &at);
    close(&numbers(&cell["ev"]), &[mean(&|hand| hand.ev)], part * width(report), &at);
    let strategy: Vec<f64> = (0..hands[0].strategy.len()).map(|action| mean(&|hand| hand.strategy[action])).collect();
    close(&numbers(&cell["strategy"]), &strategy, part, &at);
}

/// The head of the page: history, board, pot, and the values of both seats, which are not rounded.
fn shows_the_node(browser: &mut Browser, report: &NodeReport) {
    let place = browser.value("({...document.getElementById('place').dataset})");
    assert_eq!((&place["history"], &place["board"]), (&json!(report.history), &json!(report.board)));
    assert_eq!(numbers(&place["pot"]), [report.pot]);
    for seat in 0..2 {
        let row = browser.value(&format!("({{...document.querySelector('#totals [data-seat=\"{seat}\"]').dataset}})"));
        assert_eq!((numbers(&row["ev"])[0], numbers(&row["equity"])[0]), (report.ev[seat], report.equity[seat]));
    }
    let actions = browser.value("[...document.querySelectorAll('#actions button')].map((one) => one.dataset.action)");
    assert_eq!(actions, json!(report.actions));
}

const HISTORY: &str = "document.getElementById('place').dataset.history";

#[test]
fn the_page_shows_what_query_says_and_is_walked_by_mouse() {
    let scratch = Scratch::new(warpplay(env!("CARGO_TARGET_TMPDIR")), "cfr");
    // A name that would end the script, if it were let.
    fs::create_dir(scratch.path("a<")).expect("a folder");
    let name = "a</script>.spot";
    spot(&scratch, name);
    scratch.ok(&format!("browse {name} --html page.html --runouts 8c"));
    let Some(mut browser) = opened(&scratch, "page.html") else { return };
    assert_eq!(browser.value("document.getElementById('file').textContent"), "script>.spot");
    let root = queried(&scratch, name, "");
    shows_the_node(&mut browser, &root);
    for (seat, class) in [(0, "AA"), (0, "QQ"), (0, "AKs"), (1, "KK"), (1, "77"), (1, "AQs")] {
        shows_the_hands(&mut browser, &root, seat, class);
    }
    // Check, bet: what seat 0 does then.
    browser.click("#actions [data-action=c]");
    browser.wait(&format!("{HISTORY} === 'c'"));
    let checked = queried(&scratch, name, "--line c");
    shows_the_node(&mut browser, &checked);
    browser.click("#actions [data-action=r50]");
    browser.wait(&format!("{HISTORY} === 'cr50'"));
    let bet = queried(&scratch, name, "--line cr50");
    shows_the_node(&mut browser, &bet);
    shows_the_hands(&mut browser, &bet, 0, "QQ");
    let frequencies =
        browser.value("[...document.querySelectorAll('#actions button')].map((one) => Number(one.dataset.frequency))");
    let sum: f64 = frequencies.as_array().expect("a list").iter().filter_map(Value::as_f64).sum();
    // Two or three rounded probabilities.
    assert!((sum - 1.0).abs() < 3.0 * half_a_step(1.0), "{frequencies}");

    // Back to the check by the line, both check, and a card is dealt.
    browser.click("#line [data-depth='1']");
    browser.wait(&format!("{HISTORY} === 'c'"));
    browser.click("#actions [data-action=c]");
    browser.wait("document.querySelectorAll('#picker [data-card]').length === 52");
    let dealt = queried(&scratch, name, "--line cc");
    shows_the_node(&mut browser, &dealt);
    shows_the_hands(&mut browser, &dealt, 1, "KK");
    assert_eq!(browser.value("document.querySelector('[data-card=Qs]').className"), "dealt");
    browser.click("#picker [data-card='9d']");
    let message = browser.value("document.getElementById('message').textContent");
    let asked = format!("warpplay cfr browse \"{name}\" --html PAGE.html --runouts \"8c,9d\"");
    assert!(message.as_str().is_some_and(|text| text.ends_with(&asked)), "{message}");
    assert_eq!(browser.value(HISTORY), "cc");
    browser.click("#picker [data-card='8c']");
    browser.wait(&format!("{HISTORY} === 'cc/'"));
    let river = queried(&scratch, name, "--line cc/ --board 8c");
    shows_the_node(&mut browser, &river);
    for (seat, class) in [(0, "AA"), (0, "QQ"), (1, "KK")] {
        shows_the_hands(&mut browser, &river, seat, class);
    }
    // To the end.
    browser.click("#actions [data-action=c]");
    browser.wait(&format!("{HISTORY} === 'cc/c'"));
    browser.click("#actions [data-action=c]");
    browser.wait("document.getElementById('place').dataset.kind === 'end'");
    assert_eq!(browser.value("document.getElementById('hands').hidden"), true);
    browser.value("history.back()");
    browser.wait(&format!("{HISTORY} === 'cc/c'"));
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn the_page_is_for_the_keyboard_the_dark_and_the_phone() {
    let scratch = Scratch::new(warpplay(env!("CARGO_TARGET_TMPDIR")), "cfr");
    spot(&scratch, "a.spot");
    // From a later node on.
    scratch.ok("browse a.spot --line cc/ --board 8c --html page.html");
    let Some(mut browser) = opened(&scratch, "page.html") else { return };
    let river = queried(&scratch, "a.spot", "--line cc/ --board 8c");
    shows_the_node(&mut browser, &river);

    // Arrows move the chosen class, a digit plays, Backspace takes it back.
    browser.click("#grid [data-class=AA]");
    for (key, class) in [("ArrowRight", "AKs"), ("ArrowDown", "KK"), ("Home", "AKo"), ("ArrowUp", "AA"), ("End", "A2s")]
    {
        browser.press(key);
        assert_eq!(browser.value("document.activeElement.dataset.class"), class, "{key}");
        let title = browser.value("document.getElementById('class').textContent");
        assert!(title.as_str().is_some_and(|text| text.starts_with(class)), "{title}");
    }
    browser.press("1");
    browser.wait(&format!("{HISTORY} === 'cc/{}'", river.actions[0]));
    browser.press("Backspace");
    browser.wait(&format!("{HISTORY} === 'cc/'"));

    // Views: every cell with hands has a number, and a label that says all.
    for view in ["ev", "equity", "reach"] {
        browser.click(&format!("#views input[value={view}]"));
        let text = browser.value("document.querySelector('#grid [data-class=AA] small').textContent");
        assert!(text.as_str().is_some_and(|text| text.parse::<f64>().is_ok()), "{view}: {text}");
    }
    let label = browser.value("document.querySelector('#grid [data-class=AA]').getAttribute('aria-label')");
    for part in ["AA: ", "Check ", "EV ", "equity ", "reach "] {
        assert!(label.as_str().is_some_and(|label| label.contains(part)), "{label}");
    }

    // What the reader's system prefers, then what the button says.
    let ground = "getComputedStyle(document.body).backgroundColor";
    let light = browser.value(ground);
    browser.prefer("dark");
    let dark = browser.value(ground);
    assert_ne!(light, dark);
    browser.click("#theme");
    assert_eq!(browser.value(ground), light);
    browser.click("#theme");
    assert_eq!(browser.value(ground), dark);

    browser.resize(360, 740);
    assert_eq!(browser.value("document.documentElement.scrollWidth"), 360);
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn a_page_that_is_too_large_is_refused_with_what_fits() {
    let scratch = Scratch::new(warpplay(env!("CARGO_TARGET_TMPDIR")), "cfr");
    spot(&scratch, "a.spot");
    scratch.ok("browse a.spot --html page.html --runouts all");
    let whole = fs::metadata(scratch.path("page.html")).expect("a page").len();
    scratch.ok("browse a.spot --html page.html");
    let first = fs::metadata(scratch.path("page.html")).expect("a page").len();
    assert!(first < whole && whole < 64_000_000, "{first}, {whole}");
    let said = scratch.fails(2, "browse a.spot --html page.html --max-mb 0");
    assert!(said.contains("--max-mb: the page would have up to ") && said.contains("alone has"), "{said}");
    let said =
        scratch.fails(2, &format!("browse a.spot --html page.html --runouts all --max-mb {}", whole as f64 / 2e6));
    assert!(said.contains("after a card of --runouts") && said.contains("of them fit"), "{said}");
    for (line, part) in [
        ("browse a.spot", "--html"),
        ("browse a.spot --html a.spot", "name the same file"),
        ("browse a.spot --html page.html --runouts 8x", "'8x' is not allowed"),
        ("browse a.spot --html page.html --runouts 8c3s", "as many cards as come after QsJh2h2d, 1"),
        ("browse a.spot --html page.html --line x", "x"),
    ] {
        let said = scratch.fails(2, line);
        assert!(said.contains(part), "{line}: {said}");
    }
    assert_eq!(fs::metadata(scratch.path("page.html")).expect("a page").len(), first);
}
