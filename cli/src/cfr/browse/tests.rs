//! The page without a terminal: keys and what they change, and what is drawn.

use std::ops::ControlFlow;
use std::sync::OnceLock;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::{Color, Modifier};
use warpplay::Device;
use warpplay::cfr::spot::{Spot, SpotSolver};
use warpplay::cfr::{Algorithm, SolvedSpot};

use super::colours::{self, Look};
use super::state::{SIDE, State, Step, View};
use super::{draw, path, text};

/// A turn: seat 0 always checks KK and always bets AA, by a lock; its other hands do both.
fn solved() -> &'static SolvedSpot {
    static SOLVED: OnceLock<SolvedSpot> = OnceLock::new();
    SOLVED.get_or_init(|| {
        let spot = Spot::parse(
            r#"{"pot": 10, "effective_stack": 100, "bet_sizes": {"turn": [0.5, 2], "river": [1]}, "flop": "Qs Jh 2h", "turn": "2d",
                "max_raises": {"turn": 2, "river": 1}, "ranges": ["AA,KK,A5o:0.5", "QQ,AKs,T9s"],
                "locks": [{"history": "", "seat": 0, "strategy": {"KK": [1, 0, 0], "AA": [0, 0, 1], "rest": [0.5, 0.25, 0.25]}}]}"#,
        );
        let builder = SpotSolver::builder(&spot.expect("a spot")).algorithm(Algorithm::CfrPlus).iterations(3);
        let mut solver = builder.build(&Device::cpu()).expect("a solver");
        solver.run(|_| ControlFlow::Continue(())).expect("solved");
        solver.solved().expect("strategies")
    })
}

fn at(line: &str, board: &str) -> State<'static> {
    State::new("turn.spot".into(), path::to(solved(), line, board).expect("a node")).expect("a state")
}

/// With the values that a thread would bring.
fn with_values(mut state: State<'static>) -> State<'static> {
    let (number, node) = state.ask().expect("wanted");
    state.take(number, node.report().expect("a report")).expect("taken");
    state
}

fn press(state: &mut State<'_>, codes: &[KeyCode]) {
    for &code in codes {
        assert_eq!(state.press(KeyEvent::new(code, KeyModifiers::NONE)).expect("obeyed"), Step::Stay, "{code}");
    }
}

fn keys(state: &mut State<'_>, text: &str) {
    press(state, &text.chars().map(KeyCode::Char).collect::<Vec<_>>());
}

fn history(state: &State<'_>) -> String {
    state.visit().report.history.clone()
}

fn drawn(state: &State<'_>, (width, height): (u16, u16), look: Look) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
    terminal.draw(|frame| draw::draw(frame, state, look)).expect("drawn");
    terminal.backend().buffer().clone()
}

fn lines(buffer: &Buffer) -> Vec<String> {
    let width = usize::from(buffer.area.width);
    buffer.content.chunks(width.max(1)).map(|row| row.iter().map(|cell| cell.symbol()).collect()).collect()
}

const LEAST: (u16, u16) = (80, 24);

#[test]
fn actions_and_cards_lead_on_and_back() {
    let mut state = at("", "");
    assert_eq!((history(&state).as_str(), state.seat), ("", 0));
    assert_eq!(state.visit().report.actions, ["c", "r5", "r20"]);
    keys(&mut state, "1");
    assert_eq!((history(&state).as_str(), state.seat), ("c", 1));
    keys(&mut state, "1");
    assert!(state.visit().node.is_deal() && state.is_picking());
    assert_eq!(State::card_at(state.card), "As");
    // An action's number is none here.
    keys(&mut state, "1");
    assert!(state.note.as_deref().is_some_and(|note| note.contains("a card is dealt")), "{:?}", state.note);
    press(&mut state, &[KeyCode::Down, KeyCode::Right, KeyCode::Right]);
    assert_eq!(State::card_at(state.card), "Qh");
    press(&mut state, &[KeyCode::Right, KeyCode::Enter]);
    // It lies there.
    assert_eq!((state.note.as_deref(), history(&state).as_str()), (Some("Jh lies on the board"), "cc"));
    press(&mut state, &[KeyCode::Left, KeyCode::Enter]);
    assert_eq!((history(&state).as_str(), state.visit().node.street(), state.seat), ("cc/", "river", 0));
    assert!(state.visit().report.board.contains("Qh"));
    // The chosen action, by Enter.
    assert_eq!(state.visit().report.actions, ["c", "r10"]);
    keys(&mut state, "jjj");
    press(&mut state, &[KeyCode::Enter]);
    assert_eq!((history(&state).as_str(), state.action), ("cc/r10", 0));
    keys(&mut state, "9");
    assert_eq!(state.note.as_deref(), Some("there is no action 9: 1 to 2"));
    keys(&mut state, "1");
    assert!(state.visit().node.is_end());
    press(&mut state, &[KeyCode::Enter]);
    assert!(state.note.as_deref().is_some_and(|note| note.contains("the hand is over")));
    let back: Vec<String> = (0..5)
        .map(|_| {
            press(&mut state, &[KeyCode::Backspace]);
            history(&state)
        })
        .collect();
    assert_eq!(back, ["cc/r10", "cc/", "cc", "c", ""]);
    press(&mut state, &[KeyCode::Backspace]);
    assert_eq!(state.note.as_deref(), Some("this is the first node"));
    keys(&mut state, "12");
    press(&mut state, &[KeyCode::Home]);
    assert_eq!((history(&state).as_str(), state.seat), ("", 0));
}

#[test]
fn other_keys_change_what_is_shown() {
    let mut state = at("", "");
    press(&mut state, &[KeyCode::Up, KeyCode::Left, KeyCode::Down, KeyCode::Right, KeyCode::Right]);
    assert_eq!((state.cursor, state.class().name.as_str()), ([1, 2], "KQs"));
    press(&mut state, &[KeyCode::Down; 20]);
    assert_eq!((state.cursor, state.class().name.as_str()), ([12, 2], "Q2o"));
    press(&mut state, &[KeyCode::Tab]);
    assert_eq!(state.seat, 1);
    press(&mut state, &[KeyCode::BackTab]);
    assert_eq!(state.seat, 0);
    let mut views = Vec::new();
    for _ in 0..4 {
        views.push(state.view);
        keys(&mut state, "v");
    }
    assert_eq!(views, [View::Strategy, View::Ev, View::Equity, View::Reach]);
    keys(&mut state, "V");
    assert_eq!(state.view, View::Reach);
    keys(&mut state, "?");
    assert!(state.shows_help);
    // Any key leaves the help, and does nothing else.
    keys(&mut state, "1");
    assert_eq!((state.shows_help, history(&state).as_str()), (false, ""));
    // A5o has twelve hands.
    press(&mut state, &[KeyCode::Home, KeyCode::PageUp, KeyCode::PageDown, KeyCode::PageDown]);
    assert_eq!(state.first_hand, 0, "Q2o has no hands");
    state.cursor = [9, 0];
    press(&mut state, &[KeyCode::PageDown; 30]);
    assert_eq!((state.class().name.as_str(), state.first_hand), ("A5o", 11));
    press(&mut state, &[KeyCode::PageUp, KeyCode::Esc, KeyCode::F(1), KeyCode::Insert]);
    assert_eq!(state.first_hand, 10);
    press(&mut state, &[KeyCode::Up]);
    assert_eq!(state.first_hand, 0);
    // Where a card is dealt, arrows move in the grid after a space.
    keys(&mut state, "11 ");
    let (card, cursor) = (state.card, state.cursor);
    press(&mut state, &[KeyCode::Right]);
    assert_eq!((state.card, state.cursor), (card, [cursor[0], cursor[1] + 1]));
    keys(&mut state, " ");
    press(&mut state, &[KeyCode::Right]);
    assert_eq!(state.cursor, [cursor[0], cursor[1] + 1]);
    assert_ne!(state.card, card);
    let control = |letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
    assert_eq!(state.press(control('v')).expect("obeyed"), Step::Stay);
    for key in [control('c'), KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE)] {
        state.shows_help = true;
        assert_eq!(state.press(key).expect("obeyed"), Step::Quit);
    }
}

#[test]
fn the_flags_name_a_node_from_which_one_can_go_back() {
    for (line, board, way) in [
        ("", "", vec![""]),
        ("r5", "", vec!["", "r5"]),
        ("r20", "", vec!["", "r20"]),
        ("cc", "", vec!["", "c", "cc"]),
        ("cc", "8c", vec!["", "c", "cc", "cc/"]),
        ("cr20c/c", " 8c", vec!["", "c", "cr20", "cr20c", "cr20c/", "cr20c/c"]),
        ("cc/", "Qs Jh 2h 2d 8c", vec!["", "c", "cc", "cc/"]),
    ] {
        let nodes = path::to(solved(), line, board).expect("a node");
        assert_eq!(nodes.iter().map(|node| node.history()).collect::<Vec<_>>(), way, "{line} {board}");
        let end = solved().at(line, board).expect("a node");
        assert_eq!(nodes.last().map(|node| node.board()), Some(end.board()));
    }
    for (line, board) in [("x", ""), ("cc/", ""), ("cc", "2d"), ("", "8c")] {
        assert!(path::to(solved(), line, board).is_err(), "{line} {board}");
    }
}

/// Values come later, also for a node that was left and come back to; those of nodes that are gone are not wanted.
#[test]
fn values_are_asked_for_once_and_taken_by_their_node() {
    let mut state = at("", "");
    let (first, node) = state.ask().expect("wanted");
    assert!(state.ask().is_none());
    let report = node.report().expect("a report");
    let outline = &state.visit().report;
    assert_eq!((&outline.board, &outline.actions, outline.pot), (&report.board, &report.actions, report.pot));
    for (outline, hands) in outline.by_hand.iter().zip(&report.by_hand) {
        for (outline, hand) in outline.iter().zip(hands) {
            assert_eq!((&outline.hand, outline.reach, &outline.strategy), (&hand.hand, hand.reach, &hand.strategy));
        }
        assert_eq!(outline.len(), hands.len());
    }
    keys(&mut state, "1");
    let (second, _) = state.ask().expect("wanted");
    state.take(first, report.clone()).expect("taken");
    assert!(!state.visit().has_values);
    press(&mut state, &[KeyCode::Backspace]);
    assert!(state.visit().has_values && state.ask().is_none());
    state.take(second, report).expect("not wanted any more");
    keys(&mut state, "1");
    assert!(!state.visit().has_values && state.ask().is_some());
}

#[test]
fn the_page_shows_where_one_is_and_what_it_is_worth() {
    let state = at("", "");
    let page = lines(&drawn(&state, LEAST, Look::Colours)).join("\n");
    for text in [
        "turn.spot  start  turn  Qs Jh 2h 2d  pot 10.00",
        "being computed",
        "1  check",
        "2  bet 5 ",
        "3  bet 20 ",
        "AA of seat 0: 6 of 6 combos",
    ] {
        assert!(page.contains(text), "{text}:\n{page}");
    }
    let state = with_values(state);
    let report = &state.visit().report;
    let page = lines(&drawn(&state, LEAST, Look::Colours)).join("\n");
    for text in [
        format!(
            "seat 0: EV {:.2}, equity {:.1} %   seat 1: EV {:.2}",
            report.ev[0],
            100.0 * report.equity[0],
            report.ev[1]
        ),
        format!("{:>5.1} {:>7.2}", 100.0 * state.visit().totals[0].frequency, state.visit().totals[0].ev),
        "strategy of seat 0".to_string(),
    ] {
        assert!(page.contains(&text), "{text}:\n{page}");
    }
    // Every hand of the class, with probability and value of each action.
    let hand = report.by_hand[0].iter().find(|hand| hand.hand == "AhAd").expect("a hand");
    let row: String =
        hand.strategy.iter().zip(&hand.action_ev).map(|(part, ev)| format!("{:>7.1}{ev:>9.2}", 100.0 * part)).collect();
    let first = format!(" AhAd{:>7.4}{:>8.1}{:>9.2}", hand.reach, 100.0 * hand.equity, hand.ev);
    assert!(page.contains(&(first + &row)), "{page}");
    // A fold is worth 0; who is done has no actions.
    let state = with_values(at("r5f", ""));
    assert!(lines(&drawn(&state, LEAST, Look::Colours)).join("\n").contains("the hand is over"));
    let state = with_values(at("cr20", ""));
    let page = lines(&drawn(&state, LEAST, Look::Colours)).join("\n");
    for text in ["1  fold", "2  call", "3  all-in 100 "] {
        assert!(page.contains(text), "{text}:\n{page}");
    }
}

/// The colours of a row of a cell from left to right, without repetitions; half letters have two.
fn colours_of(buffer: &Buffer, place: usize, size: (u16, u16), row: u16) -> Vec<Color> {
    let (x, y) = ((place % SIDE) as u16 * size.0, 2 + (place / SIDE) as u16 * size.1 + row);
    let mut found = Vec::new();
    for column in 0..size.0 {
        let cell = &buffer[(x + column, y)];
        if cell.symbol() == "▌" {
            found.push(cell.fg);
        }
        found.push(cell.bg);
    }
    found.dedup();
    found
}

fn places(names: &[&str]) -> Vec<usize> {
    let state = at("", "");
    let classes = &state.visit().classes[0];
    names.iter().map(|name| classes.iter().position(|class| class.name == *name).expect("a class")).collect()
}

#[test]
fn a_cell_is_divided_as_its_hands_play() {
    let [bet, large] = [colours::BETS[0], colours::BETS[6]].map(Color::Indexed);
    let call = Color::Indexed(colours::CALL);
    let of = places(&["AA", "KK", "A5o", "32o"]);
    let mut state = at("", "");
    // Not under the cursor, whose name has no colour.
    state.cursor = [12, 12];
    // 80 columns have room for cells of 4, 200 for 9 of which one is a gap; 60 lines for 3.
    for (page, size) in [(LEAST, (4, 1)), ((200, 60), (9, 3))] {
        let buffer = drawn(&state, page, Look::Colours);
        let gap = (size.0 >= 6).then_some(Color::Reset);
        let with_gap = |colours: &[Color]| colours.iter().copied().chain(gap).collect::<Vec<_>>();
        assert_eq!(colours_of(&buffer, of[0], size, 0), with_gap(&[large]));
        assert_eq!(colours_of(&buffer, of[1], size, 0), with_gap(&[call]));
        assert_eq!(colours_of(&buffer, of[3], size, 0), [Color::Reset]);
        // Half of it comes here, and half of that checks: an eighth, an eighth, a quarter.
        if size.0 > 4 {
            assert_eq!(colours_of(&buffer, of[2], size, 1), [large, bet, call, Color::Reset]);
        }
        // The name of a hand that never comes is dim.
        let cell = &buffer[((of[3] % SIDE) as u16 * size.0, 2 + (of[3] / SIDE) as u16 * size.1)];
        assert!(cell.symbol() == "3" && cell.modifier.contains(Modifier::DIM));
    }
    // After a check, aces are gone; seat 1 acts, and seat 0 is asked for.
    let mut state = at("c", "");
    state.cursor = [12, 12];
    press(&mut state, &[KeyCode::Tab]);
    let buffer = drawn(&state, LEAST, Look::Colours);
    assert_eq!(colours_of(&buffer, of[0], (4, 1), 0), [Color::Reset]);
    assert_eq!(colours_of(&buffer, of[1], (4, 1), 0), [Color::Indexed(colours::NEUTRAL)]);
}

/// Every page is readable on every ground: text has the terminal's own colours, or two of ours with a contrast of at least 4.5, as WCAG 2 asks for. Of black and white, one
/// always has: √21 for a ground in the middle.
#[test]
fn text_can_be_read_on_light_and_dark_grounds() {
    let states = ["", "c", "cr20", "cc"].map(|line| with_values(at(line, "")));
    for mut state in states {
        for _ in 0..4 {
            for size in [LEAST, (120, 40), (200, 60)] {
                for cell in &drawn(&state, size, Look::Colours).content {
                    match (cell.symbol(), cell.fg, cell.bg) {
                        ("▌", Color::Indexed(_), Color::Indexed(_) | Color::Reset) => {}
                        (_, Color::Reset, Color::Reset) => {}
                        (_, Color::Indexed(ink), Color::Indexed(ground)) => {
                            assert!(ink >= 16 && ground >= 16 && colours::contrast(ink, ground) > 4.5, "{cell:?}");
                        }
                        other => panic!("{other:?}"),
                    }
                }
                let plain = drawn(&state, size, Look::Plain);
                assert!(plain.content.iter().all(|cell| (cell.fg, cell.bg) == (Color::Reset, Color::Reset)));
                // Bars remain.
                let is_bar = |cell: &ratatui::buffer::Cell| cell.modifier.contains(Modifier::REVERSED);
                assert!(plain.content.iter().filter(|cell| is_bar(cell)).count() > 3);
            }
            keys(&mut state, "v");
        }
    }
}

#[test]
fn larger_bets_are_deeper_red() {
    let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    let found = colours::of_actions(&names(&["f", "c", "r5", "r12.5", "r100"]));
    assert_eq!(found, [colours::FOLD, colours::CALL, colours::BETS[0], colours::BETS[3], colours::BETS[6]]);
    // By size, not by letters; limit hold'em has one size without a number.
    assert_eq!(colours::of_actions(&names(&["r100", "r20"])), [colours::BETS[6], colours::BETS[0]]);
    assert_eq!(colours::of_actions(&names(&["c", "r"])), [colours::CALL, colours::BETS[3]]);
    let many: Vec<String> = (1..20).map(|size| format!("r{size}")).collect();
    let reds: Vec<_> =
        colours::of_actions(&many).iter().map(|red| colours::BETS.iter().position(|of| of == red)).collect();
    assert!(reds.is_sorted() && (reds[0], reds[18]) == (Some(0), Some(6)), "{reds:?}");
}

#[test]
fn the_card_picker_dims_what_lies_on_the_board() {
    let state = with_values(at("cc", ""));
    let buffer = drawn(&state, LEAST, Look::Colours);
    let page = lines(&buffer);
    let row = page.iter().position(|line| line.contains("AsKsQsJs")).expect("a picker");
    assert!(page[row + 1].contains("AhKhQhJh") && page[row + 3].contains("AcKcQcJc"), "{}", page.join("\n"));
    let (before, _) = page[row].split_once("AsKs").expect("a picker");
    let column = before.chars().count() as u16;
    let is_dim = |row: usize, n: u16| buffer[(column + 2 * n, row as u16)].modifier.contains(Modifier::DIM);
    // Qs, Jh, 2h and 2d.
    let dim: Vec<(usize, u16)> = (0..4)
        .flat_map(|suit| (0..13).map(move |rank| (suit, rank)))
        .filter(|&(suit, rank)| is_dim(row + suit, rank))
        .collect();
    assert_eq!(dim, [(0, 2), (1, 3), (1, 12), (2, 12)]);
    assert!(buffer[(column, row as u16)].modifier.contains(Modifier::REVERSED));
}

#[test]
fn a_small_terminal_is_told_so_and_help_fits_the_least_one() {
    let mut state = at("", "");
    for size in [(1, 1), (79, 24), (80, 23)] {
        let page = lines(&drawn(&state, size, Look::Colours)).join("");
        assert!(size.0 < 79 || page.contains("is too small: 80 × 24 is needed"), "{page}");
    }
    state.shows_help = true;
    let page = lines(&drawn(&state, LEAST, Look::Colours)).join("\n");
    // No line is cut.
    for text in
        ["Backspace, Home", "one; back to the grid", "Fold is blue, check and", "to here.", "as often as they do."]
    {
        assert!(page.contains(text), "{page}");
    }
}

#[test]
fn numbers_take_the_room_that_there_is() {
    for (value, width, expected) in [
        (1.234, 4, "1.23"),
        (12.34, 4, "12.3"),
        (123.4, 4, "123"),
        (-12.34, 4, "-12"),
        (12345.6, 4, "~"),
        (-0.001, 5, "0.00"),
        (0.0, 4, "0.00"),
    ] {
        assert_eq!(text::number(value, width), expected);
    }
}

/// Bets and raises are named by the chips of their street: 20 from each are in before the river.
#[test]
fn actions_have_the_chips_of_their_street() {
    for (line, board, expected) in [
        ("", "", vec!["check", "bet 5", "bet 20"]),
        ("c", "", vec!["check", "bet 5", "bet 20"]),
        ("cr20", "", vec!["fold", "call", "all-in 100"]),
        ("cr20c/", "8c", vec!["check", "bet 50"]),
        ("cr20c/r70", "8c", vec!["fold", "call"]),
    ] {
        let node = solved().at(line, board).expect("a node");
        let labels: Vec<String> = node.moves().iter().map(text::label).collect();
        assert_eq!(labels, expected, "{line} {board}");
    }
    assert!(solved().at("cc", "").expect("a node").moves().is_empty());
    let page = lines(&drawn(&at("cr20c/", "8c"), LEAST, Look::Colours)).join("\n");
    // The cards as they came.
    for text in ["2  bet 50 ", "river  Qs Jh 2h 2d 8c  pot 50.00"] {
        assert!(page.contains(text), "{text}:\n{page}");
    }
}
