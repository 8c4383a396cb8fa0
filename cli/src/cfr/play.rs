//! `play`: hands in the terminal against a saved strategy.

use anyhow::{Result, bail};
use serde::Serialize;
use warpplay::Error;
use warpplay::cfr::game::{BettingKind, category, set_of};
use warpplay::cfr::{BettingTree, GameDef, Ranking, Strategy};
use warpplay_gpu::split_mix;

use crate::cfr::args::{PlayArgs, SeatFlag};
use crate::cfr::ask::{Question, ask};
use crate::cfr::{play_spot, query, saved};
use crate::common::table::count;
use crate::common::{self, Input, Usage};

const HELP: &str = "  f, c, r   fold, check or call, bet or raise (in no-limit r12: to 12 chips in all)
  hint      what the strategy would do in your place
  help      this list
  quit      leave";

/// What was played.
#[derive(Serialize)]
struct Facts<'a> {
    strategy: String,
    seed: u64,
    hands: &'a [Hand],
    /// Your winnings in all, in chips.
    won: f64,
}

/// One hand.
#[derive(Clone, Debug, Serialize)]
struct Hand {
    /// Your seat.
    seat: usize,
    /// The private cards, by seat.
    hole: Vec<String>,
    board: String,
    betting: String,
    /// What each seat won.
    payoffs: Vec<f64>,
}

/// Runs the command.
pub fn run(args: &PlayArgs) -> Result<()> {
    args.output.start_log();
    let written = [("--json", args.output.json.as_deref()), ("--history", args.history.as_deref())];
    common::expect_apart(&[("FILE", Some(&args.strategy))], &written, &[])?;
    if args.hands == Some(0) {
        return Err(Error::option("hands", 0, "at least 1").into());
    }
    if saved::is_spot(&args.strategy)? {
        return play_spot::run(args, seed(args));
    }
    for (flag, is_given) in [
        ("--line", args.line.is_some()),
        ("--board", args.board.is_some()),
        ("--feedback", args.feedback.is_some()),
        ("--history", args.history.is_some()),
    ] {
        if is_given {
            return Err(Usage(format!("{flag}: only of a spot, written by solve-spot --save")).into());
        }
    }
    let json = args.output.json_file()?;
    let strategy = common::without_results(|| Strategy::load(&args.strategy))?;
    let Some(game) = strategy.problem().rules().cloned() else {
        let what = strategy.problem().describe();
        bail!(
            "{}: play takes strategies for whole games of poker, and this is one of {what}: use query",
            args.strategy.display()
        );
    };
    let allowed = || format!("0 to {}", game.n_players - 1);
    let seat = match args.seat.unwrap_or(SeatFlag::Seat(0)) {
        SeatFlag::Seat(seat) if seat < game.n_players => seat,
        SeatFlag::Seat(seat) => return Err(Error::option("seat", seat, allowed()).into()),
        SeatFlag::Both => return Err(Error::option("seat", "both", allowed()).into()),
    };
    let seed = seed(args);
    let mut table = Table {
        args,
        seat,
        tree: BettingTree::new(&game)?,
        ranking: Ranking::new(game.deck),
        game: &game,
        strategy: &strategy,
        input: Input::new()?,
        random: Random { seed, n_drawn: 0 },
    };
    let hands = table.play()?;
    // Not `sum`: of no floats that is -0.0, which would be printed as -0.
    let won = hands.iter().map(|hand| hand.payoffs[hand.seat]).fold(0.0, |sum, won| sum + won);
    common::print(format!("\nYou won {won:+} chips in {}.\n", count(hands.len() as u64, "hand")))?;
    if let Some(json) = json {
        let facts = Facts { strategy: args.strategy.display().to_string(), seed, hands: &hands, won };
        json.write_json(&common::Record::new("cfr play", facts))?;
    }
    Ok(())
}

/// The seed that was given, or one of the clock.
fn seed(args: &PlayArgs) -> u64 {
    args.seed.seed.unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(1, |now| now.as_nanos() as u64)
    })
}

/// The numbers of a seed, one after the other.
struct Random {
    seed: u64,
    n_drawn: u64,
}

impl Random {
    fn next(&mut self) -> u64 {
        self.n_drawn += 1;
        split_mix::element(self.seed, self.n_drawn - 1)
    }

    /// Below `n`, which is small against 2⁶⁴.
    fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// In [0, 1).
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

struct Table<'a> {
    args: &'a PlayArgs,
    /// The user's in the first hand.
    seat: usize,
    tree: BettingTree,
    ranking: Ranking,
    game: &'a GameDef,
    strategy: &'a Strategy,
    input: Input,
    random: Random,
}

/// The cards of a hand.
struct Deal {
    /// By seat.
    hole: Vec<Vec<u8>>,
    /// All that may come.
    board: Vec<u8>,
}

impl Table<'_> {
    fn play(&mut self) -> Result<Vec<Hand>> {
        let you = |seat: usize| {
            format!("Poker, {} players. You begin at seat {seat}; the strategy plays the others.", self.game.n_players)
        };
        common::print(format!("{}\n{HELP}\n", you(self.seat)))?;
        let mut hands = Vec::new();
        while self.args.hands.is_none_or(|n| (hands.len() as u64) < n) {
            let seat = (self.seat + hands.len()) % self.game.n_players;
            match self.hand(seat, hands.len() + 1)? {
                Some(hand) => hands.push(hand),
                None => break,
            }
        }
        Ok(hands)
    }

    fn deal(&mut self) -> Deal {
        let mut deck: Vec<u8> = (0..self.game.deck.n_cards() as u8).collect();
        let (n_hole, n_players) = (self.game.n_hole_cards, self.game.n_players);
        let n_board: usize = self.game.n_board_cards.iter().sum();
        let needed = n_hole * n_players + n_board;
        for at in 0..needed {
            let other = at + self.random.below(deck.len() - at);
            deck.swap(at, other);
        }
        let hole = (0..n_players).map(|seat| deck[seat * n_hole..(seat + 1) * n_hole].to_vec()).collect();
        Deal { hole, board: deck[needed - n_board..needed].to_vec() }
    }

    /// One hand; `None` where the user leaves.
    fn hand(&mut self, you: usize, number: usize) -> Result<Option<Hand>> {
        let deal = self.deal();
        let names = |cards: &[u8]| self.game.deck.names(set_of(cards));
        let hole: Vec<String> = deal.hole.iter().map(|cards| names(cards)).collect();
        common::print(format!("\nHand {number}: seat {you}, your cards {}\n", hole[you]))?;
        let (mut node, mut shown) = (0u32, 0);
        loop {
            let at = &self.tree.nodes[node as usize];
            let BettingKind::Decision { seat, actions, children } = &at.kind else { break };
            let n_board: usize = self.game.n_board_cards[..=at.round as usize].iter().sum();
            let board = names(&deal.board[..n_board]);
            if n_board > shown {
                shown = n_board;
                common::print(format!("  board {board}\n"))?;
            }
            let history = self.tree.history(node);
            let chosen = if *seat == you {
                let pot: f64 = at.contributed.iter().sum::<f64>() + self.tree.dead;
                let choices: Vec<String> = actions.iter().map(|&action| self.tree.spell(action)).collect();
                common::print(format!(
                    "  pot {pot}, of which {} are yours; {}\n",
                    at.contributed[you],
                    choices.join(", ")
                ))?;
                let hint = self.strategy.query(&history, &dealt_text(self.game, &deal.board, at.round), &hole[you])?;
                if self.args.hints {
                    common::print(format!("  {}", query::line(&hint)))?;
                }
                let question = Question {
                    help: HELP,
                    allowed: &choices.join(", "),
                    chosen: &|word| choices.iter().position(|choice| choice == word),
                };
                match ask(&self.input, &question, || common::print(query::line(&hint)))? {
                    Some(chosen) => chosen,
                    None => return Ok(None),
                }
            } else {
                let answer =
                    self.strategy.query(&history, &dealt_text(self.game, &deal.board, at.round), &hole[*seat])?;
                let mut left = self.random.unit();
                let chosen = answer.choices.iter().position(|choice| {
                    left -= choice.probability;
                    left < 0.0
                });
                // Rounding may leave a rest above the last one.
                let chosen = chosen.unwrap_or(answer.choices.len() - 1);
                common::print(format!("  seat {seat}: {}\n", answer.choices[chosen].action))?;
                chosen
            };
            node = children[chosen];
        }
        let end = &self.tree.nodes[node as usize];
        let strengths: Vec<u32> =
            deal.hole.iter().map(|hole| self.ranking.strength(set_of(hole) | set_of(&deal.board))).collect();
        let payoffs = self.tree.payoffs(end, &strengths);
        let left = (0..self.game.n_players).filter(|seat| end.folded >> seat & 1 == 0).count();
        if left > 1 {
            let board = if deal.board.is_empty() { String::new() } else { format!(" board {}", names(&deal.board)) };
            common::print(format!("  shown:{board}\n"))?;
            for seat in (0..self.game.n_players).filter(|seat| end.folded >> seat & 1 == 0) {
                common::print(format!("    seat {seat}: {} ({})\n", hole[seat], category(strengths[seat])))?;
            }
        }
        common::print(format!("  you {} {}\n", if payoffs[you] >= 0.0 { "win" } else { "lose" }, payoffs[you].abs()))?;
        let board = names(&deal.board);
        Ok(Some(Hand { seat: you, hole, board, betting: self.tree.history(node), payoffs }))
    }
}

/// The board of a round, as queries want it.
fn dealt_text(game: &GameDef, board: &[u8], round: u32) -> String {
    let mut at = 0;
    let rounds = game.n_board_cards[..=round as usize].iter().map(|&n| {
        let cards = &board[at..at + n];
        at += n;
        cards.iter().map(|&card| game.deck.name(card)).collect::<String>()
    });
    rounds.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("/")
}
