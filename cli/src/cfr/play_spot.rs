//! `play` of a solved spot: hands dealt, played against the saved strategy, and judged.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde::Serialize;
use warpplay::Error;
use warpplay::cfr::SolvedSpot;
use warpplay::cfr::spot::{
    Practice, PracticeDecision, PracticeEvent, PracticeHand, PracticeJudgement, PracticeMove, PracticeRecord,
    PracticeScore, Verb,
};

use crate::cfr::args::{Feedback, PlayArgs, SeatFlag};
use crate::cfr::ask::{Question, ask};
use crate::cfr::saved;
use crate::common::table::{Table, count, facts, fixed};
use crate::common::{self, Input};

const HELP: &str = "  1, 2, …   an action by its number; or f (fold), c (check, call), r50 (bet or raise; r alone where there is one size)
  hint      what your actions are worth, and how often the strategy takes them
  help      this list
  quit      leave; a hand that is not finished does not count";

/// How a hand history begins.
const HISTORY_START: &[u8] = b"PokerStars ";
/// Bytes of a file of hand histories that are looked at.
const MOST_BEFORE: u64 = 1024;

/// Decisions that the score shows.
const N_WORST: usize = 5;

/// What was played.
#[derive(Serialize)]
struct Facts<'a> {
    spot: String,
    iterations: u64,
    /// In chips, where it was measured last.
    exploitability: Option<f64>,
    /// The iteration after which it was.
    measured_at: Option<u64>,
    /// Where each hand began.
    line: String,
    board: String,
    seed: u64,
    score: PracticeScore,
    hands: &'a [PracticeRecord],
}

/// Runs the command for a file of a solved spot; `seed` is that of the hands.
pub fn run(args: &PlayArgs, seed: u64) -> Result<()> {
    let json = args.output.json_file()?;
    let solved = common::without_results(|| SolvedSpot::open(&args.strategy))?;
    let (line, board) = (args.line.as_deref().unwrap_or(""), args.board.as_deref().unwrap_or(""));
    let start = saved::after("--line", solved.at(line, board))?;
    let (line, board, pot) = (start.history(), start.board(), start.pot());
    let (measured_at, exploitability) = solved.measured().unzip();
    let mut table = PracticeTable {
        practice: Practice::new(start, seed)?,
        unit: if solved.spot().icm.is_some() { "prize" } else { "chips" },
        feedback: args.feedback.unwrap_or(Feedback::Each),
        hints: args.hints,
        input: Input::new()?,
        n_shown: 0,
    };
    let seats: Vec<usize> = match args.seat.unwrap_or(SeatFlag::Both) {
        SeatFlag::Seat(seat) => {
            table.practice.expect_acts(seat)?;
            vec![seat]
        }
        SeatFlag::Both => (0..2).filter(|&seat| table.practice.acts(seat)).collect(),
    };
    let mut history = args.history.as_deref().map(History::open).transpose()?;
    let quality = saved::quality(&solved);
    let after = if line.is_empty() { String::new() } else { format!("after '{line}', ") };
    let iterations = count(solved.iterations(), "iteration");
    common::print(format!(
        "A spot solved in {iterations}{quality}: {after}board {board}, pot {pot}. Its strategy plays the other seat.\n{HELP}\n"
    ))?;
    let (mut n_dealt, mut written) = (0, Ok(()));
    while args.hands.is_none_or(|n| n_dealt < n) && !common::interrupted() {
        let seat = seats[n_dealt as usize % seats.len()];
        if !table.hand(seat)? {
            break;
        }
        n_dealt += 1;
        if let (Some(history), Some(hand)) = (&mut history, table.practice.hand()) {
            written = history.add(hand);
        }
        if written.is_err() {
            break;
        }
    }
    common::print(table.score())?;
    if let Some(json) = json {
        let facts = Facts {
            spot: args.strategy.display().to_string(),
            iterations: solved.iterations(),
            exploitability,
            measured_at,
            line,
            board,
            seed,
            score: table.practice.score(),
            hands: table.practice.records(),
        };
        json.write_json(&common::Record::new("cfr play", facts))?;
    }
    // After the score, which would be lost with it.
    written
}

/// The file of `--history`.
struct History<'a> {
    path: &'a Path,
    file: File,
    /// Number of the session's first hand less one: programs that read histories keep one hand of each number.
    before: u64,
}

impl<'a> History<'a> {
    /// Opens a file that is new, empty, or begins with a hand history.
    fn open(path: &'a Path) -> Result<Self> {
        // Before it is opened: that of a pipe waits for its reader.
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            let reason = "cannot be written: it is a folder, a device or a pipe, expected a file";
            return Err(Error::file(path, None, reason).into());
        }
        let open = OpenOptions::new().read(true).append(true).create(true).open(path);
        let mut file = open.with_context(|| cannot(path))?;
        let mut start = Vec::new();
        (&mut file).take(MOST_BEFORE).read_to_end(&mut start).with_context(|| cannot(path))?;
        // Some programs write a byte order mark or empty lines first.
        let text = start.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&start).trim_ascii_start();
        if !text.is_empty() && !text.starts_with(HISTORY_START) {
            let reason =
                "is no hand history: it does not begin with 'PokerStars'; name a new file, or one of --history";
            return Err(Error::file(path, None, reason).into());
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        // Sessions that begin in the same second have processes of their own. Below 2^53, which all programs read exactly.
        let session = u64::from(std::process::id() % 1000) * 1000;
        Ok(Self { path, file, before: now.saturating_mul(1_000_000).saturating_add(session) })
    }

    fn add(&mut self, hand: &PracticeHand<'_>) -> Result<()> {
        let id = self.before.saturating_add(hand.number());
        let text = hand.hand_history(id, SystemTime::now()).unwrap_or_default();
        self.file.write_all(text.as_bytes()).with_context(|| cannot(self.path))
    }
}

fn cannot(path: &Path) -> String {
    format!("{}: cannot be written", path.display())
}

struct PracticeTable<'a> {
    practice: Practice<'a>,
    unit: &'static str,
    feedback: Feedback,
    hints: bool,
    input: Input,
    /// Events of the hand that were printed.
    n_shown: usize,
}

impl PracticeTable<'_> {
    /// One hand; false where the user leaves.
    fn hand(&mut self, seat: usize) -> Result<bool> {
        let hand = self.practice.deal(seat)?;
        let order = ["first", "last"][seat];
        common::print(format!(
            "\nHand {}: seat {seat}, {order} to act; your cards {}\n",
            hand.number(),
            hand.cards(seat)
        ))?;
        self.n_shown = 0;
        loop {
            self.show_events(seat)?;
            let Some(hand) = self.practice.hand().filter(|hand| !hand.is_over()) else { break };
            let (node, choices) = (hand.node(), hand.choices());
            let numbered = choices.iter().zip(1..).map(|(choice, number)| format!("{number} {}", spelled(choice)));
            let (street, board, pot, stack) = (node.street(), hand.board(), node.pot(), hand.stack(seat));
            let numbered = numbered.collect::<Vec<_>>().join(", ");
            common::print(format!("  {street} {board}, pot {pot}, your stack {stack}: {numbered}\n"))?;
            if self.hints {
                hint(&mut self.practice)?;
            }
            let allowed: Vec<&str> = choices.iter().map(|choice| &choice.action[..]).collect();
            let question = Question {
                help: HELP,
                allowed: &format!("1 to {}, or {}", choices.len(), allowed.join(", ")),
                chosen: &|word| chosen(&choices, word),
            };
            let Some(chosen) = ask(&self.input, &question, || hint(&mut self.practice))? else { return Ok(false) };
            let decision = self.practice.act(&choices[chosen].action)?;
            if self.feedback == Feedback::Each {
                common::print(self.told(&choices[chosen], &decision))?;
            }
        }
        self.show_end()?;
        Ok(true)
    }

    /// Prints what has happened since the last time, but for what the user did.
    fn show_events(&mut self, you: usize) -> Result<()> {
        let events = self.practice.hand().map_or(&[][..], |hand| hand.events());
        for event in &events[self.n_shown..] {
            match event {
                PracticeEvent::Move(done) if done.seat == you => {}
                PracticeEvent::Move(done) => common::print(format!("  seat {}: {done}\n", done.seat))?,
                PracticeEvent::Card(card) => common::print(format!("  dealt: {card}\n"))?,
            }
        }
        self.n_shown = events.len();
        Ok(())
    }

    fn show_end(&self) -> Result<()> {
        let (Some(hand), Some(record)) = (self.practice.hand(), self.practice.records().last()) else { return Ok(()) };
        if hand.is_shown() {
            let [one, other] = &record.hands;
            common::print(format!("  shown on {}: seat 0 {one}, seat 1 {other}\n", record.board))?;
        }
        let expected = match self.feedback {
            Feedback::Each => format!("; without luck {:+.2}", record.expected),
            Feedback::End | Feedback::None => String::new(),
        };
        common::print(format!("  you win {:+.2} {}{expected}\n", record.won, self.unit))
    }

    /// What a decision loses.
    fn told(&self, taken: &PracticeMove, decision: &PracticeDecision) -> String {
        let loss = match decision.loss > 0.0 {
            true => format!("loses {} {}{}", fixed(decision.loss, 3), self.unit, of_pot(decision)),
            false => "is the best".to_string(),
        };
        format!("  {} {loss}: {}\n", spelled(taken), values(&decision.judgement))
    }

    /// The score, with the worst decisions.
    fn score(&self) -> String {
        let PracticeScore { hands, decisions, won, expected, loss, loss_per_hand } = self.practice.score();
        let unit = self.unit;
        let mut lines = vec![("hands", count(hands, "hand")), ("won", format!("{won:+.2} {unit}"))];
        if self.feedback == Feedback::None {
            return format!("\n{}", facts(lines));
        }
        lines.extend([
            ("without luck", format!("{expected:+.2} {unit}")),
            ("decisions", count(decisions, "decision")),
            ("lost by them", format!("{} {unit}", fixed(loss, 3))),
            ("lost a hand", format!("{} {unit}", fixed(loss_per_hand, 3))),
        ]);
        let row = |(record, decision): (&PracticeRecord, &PracticeDecision)| {
            let judged = &decision.judgement;
            let best = judged.actions.iter().zip(&judged.ev).max_by(|(_, one), (_, other)| one.total_cmp(other));
            let best = best.map_or(String::new(), |(action, _)| action.clone());
            let text = [&judged.hand, &judged.board, &judged.history, &decision.action].map(String::clone);
            let loss = [fixed(decision.loss, 3), fixed(decision.loss_of_pot.map(|part| 100.0 * part), 2)];
            [record.number.to_string()].into_iter().chain(text).chain([best]).chain(loss).collect()
        };
        let worst: Vec<Vec<String>> = self.practice.worst(N_WORST).into_iter().map(row).collect();
        let loss = format!("loss, {unit}");
        let heads = ["hand", "cards", "board", "after", "you", "best", &loss, "of the pot, %"];
        let worst = match worst.is_empty() {
            true => String::new(),
            false => format!("\nthe decisions that lost most\n{}", Table::new(&heads).words(6).rows(&worst)),
        };
        format!("\n{}{worst}", facts(lines))
    }
}

fn hint(practice: &mut Practice<'_>) -> Result<()> {
    common::print(format!("  {}\n", values(&practice.judge()?)))
}

/// An action as the user may type it, and in words where these say more.
fn spelled(choice: &PracticeMove) -> String {
    match choice.verb {
        Verb::Bet | Verb::Raise => format!("{choice} ({})", choice.action),
        Verb::Fold | Verb::Check | Verb::Call => choice.to_string(),
    }
}

fn of_pot(decision: &PracticeDecision) -> String {
    decision.loss_of_pot.map_or(String::new(), |part| format!(" ({} % of the pot)", fixed(100.0 * part, 2)))
}

/// Each action with its value, and how often the strategy takes it.
fn values(judgement: &PracticeJudgement) -> String {
    let parts = judgement.actions.iter().zip(&judgement.ev).zip(&judgement.strategy);
    let parts = parts.map(|((action, ev), part)| format!("{action} {} ({:.1} %)", fixed(*ev, 3), 100.0 * part));
    parts.collect::<Vec<_>>().join(", ")
}

/// The action that a word means: its number, its name, or what it is where only one is that.
fn chosen(choices: &[PracticeMove], word: &str) -> Option<usize> {
    if let Ok(number) = word.parse::<usize>() {
        return number.checked_sub(1).filter(|&at| at < choices.len());
    }
    if let Some(at) = choices.iter().position(|choice| choice.action == word) {
        return Some(at);
    }
    let mut fits = choices.iter().enumerate().filter(|(_, choice)| {
        let is_raise = matches!(choice.verb, Verb::Bet | Verb::Raise);
        choice.verb.name() == word || is_raise && ["b", "r"].contains(&word)
    });
    fits.next().filter(|_| fits.next().is_none()).map(|(at, _)| at)
}
