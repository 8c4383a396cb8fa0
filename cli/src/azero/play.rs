//! `play`: a game in the terminal.

use anyhow::{Context, Result};
use serde::Serialize;
use warpplay::azero::checkers::Checkers;
use warpplay::azero::player::{Decision, Player, SearchOptions};
use warpplay::mcts::{Game, Notation, Player as Colour, check_playable};

use crate::azero::args::{PlayArgs, Side};
use crate::azero::board::{self, colour};
use crate::azero::print::repeated;
use crate::common::{self, Input};

/// Moves of the search's opinion that are shown.
const SHOWN: usize = 5;

const HELP: &str =
    "  a3b4   move from a3 to b4; a jump names the square behind the enemy, and each jump is a separate move
  moves  list the legal moves
  hint   what the search would play
  undo   take back your last move and the answer to it
  board  draw the board again
  help   this list
  quit   leave the game";

/// A game as data.
#[derive(Serialize)]
struct Facts<'a> {
    /// The first position.
    start: String,
    moves: Vec<String>,
    actions: &'a [u32],
    white: &'static str,
    black: &'static str,
    finished: bool,
    outcome: String,
    network: String,
    options: SearchOptions,
    repeated_batches: u64,
    device: String,
    device_name: String,
}

/// Runs the command.
pub fn run(args: &PlayArgs) -> Result<()> {
    args.output.start_log();
    let options = args.search.options(SearchOptions::default(), args.seed.seed)?;
    let start = args.start.position()?;
    check_playable(&start)?;
    common::expect_apart(
        &[("--weights", args.weights.path().as_deref())],
        &[("--json", args.output.json.as_deref())],
        &[],
    )?;
    let json = args.output.json_file()?;
    let estimator = args.search.estimator(&args.weights, &args.run, args.output.quiet)?;
    let device = args.device.open()?;
    let engine = Player::builder(estimator).options(options).build(&device)?;
    let mut table = Table { args, engine, positions: vec![start], actions: Vec::new() };
    let end = table.play()?;
    let position = table.position();
    match end {
        End::Over => {
            let outcome = board::outcome(position.outcome());
            common::print(format!("\n{}\nThe end: {outcome}.\n", board::draw(&position, table.last().as_deref())))?;
        }
        End::Left => common::print("\nThe game is left unfinished.\n")?,
    }
    common::print(repeated(table.engine.repeated_batches()))?;
    if let Some(json) = json {
        let name = |side| if side == Side::Human { "human" } else { "engine" };
        let facts = Facts {
            start: start.to_text(),
            moves: table.actions.iter().map(|&action| Checkers::action_name(action)).collect(),
            actions: &table.actions,
            white: name(args.white),
            black: name(args.black),
            finished: position.outcome().is_over(),
            outcome: board::outcome(position.outcome()),
            network: table.engine.name().to_string(),
            options,
            repeated_batches: table.engine.repeated_batches(),
            device: device.backend().to_string(),
            device_name: device.name(),
        };
        json.write_json(&common::Record::new("azero play", facts))?;
    }
    Ok(())
}

/// Why a game stopped.
enum End {
    Over,
    /// The user has left: `quit`, the end of the input, Ctrl-C.
    Left,
}

/// What the user typed.
enum Typed {
    Action(u32),
    Undo,
    Quit,
}

/// A game that is going on.
struct Table<'a> {
    args: &'a PlayArgs,
    engine: Player,
    /// All positions from the first on, so that moves can be taken back; never empty.
    positions: Vec<Checkers>,
    /// The action after each position but the last.
    actions: Vec<u32>,
}

impl Table<'_> {
    fn position(&self) -> Checkers {
        self.positions[self.positions.len() - 1]
    }

    /// Name of the last move.
    fn last(&self) -> Option<String> {
        self.actions.last().map(|&action| Checkers::action_name(action))
    }

    fn side(&self, player: Colour) -> Side {
        match player {
            Colour::First => self.args.white,
            Colour::Second => self.args.black,
        }
    }

    fn make(&mut self, action: u32) {
        let mut next = self.position();
        next.apply(action);
        self.positions.push(next);
        self.actions.push(action);
    }

    fn play(&mut self) -> Result<End> {
        let input = Input::new()?;
        let options = *self.engine.options();
        let who = |side| match side {
            Side::Human => "you".to_string(),
            Side::Engine => format!("{}, {} simulations a move", self.engine.name(), options.simulations),
        };
        common::print(format!(
            "Checkers. White (o, moves up): {}. Black (+, moves down): {}.\n{HELP}\n",
            who(self.args.white),
            who(self.args.black)
        ))?;
        loop {
            let position = self.position();
            if position.outcome().is_over() {
                return Ok(End::Over);
            }
            let mover = position.to_move();
            if self.side(mover) == Side::Human {
                common::print(format!("\n{}\n{}", board::draw(&position, self.last().as_deref()), call(&position)))?;
                match self.ask(&input, &position)? {
                    Typed::Action(action) => self.make(action),
                    Typed::Undo => self.undo()?,
                    Typed::Quit => return Ok(End::Left),
                }
            } else {
                let Some(decision) = self.think(&position)? else { return Ok(End::Left) };
                let text = format!("{} plays {}", colour(mover), decision.name);
                self.make(decision.action);
                // Where both sides are the engine's the boards are the game.
                if self.args.white == Side::Engine && self.args.black == Side::Engine && !self.args.output.quiet {
                    common::print(format!("\n{}", board::draw(&self.position(), self.last().as_deref())))?;
                }
                match self.args.output.quiet {
                    true => common::print(format!("{text}\n"))?,
                    false => common::print(format!("{text}   ({})\n", opinion(&decision, mover)))?,
                }
            }
        }
    }

    /// What the search would play; none after Ctrl-C.
    fn think(&mut self, position: &Checkers) -> Result<Option<Decision>> {
        let ply = self.actions.len() as u32;
        let found = self.engine.run_at(position, 0, ply, |_| common::until_interrupted());
        if common::interrupted() {
            return Ok(None);
        }
        let decision = found?;
        anyhow::ensure!(
            position.is_legal(decision.action),
            "check failed: the search chose {}, which is illegal",
            decision.action
        );
        Ok(Some(decision))
    }

    /// Asks until something that can be done was typed.
    fn ask(&mut self, input: &Input, position: &Checkers) -> Result<Typed> {
        loop {
            common::print("your move> ")?;
            let Some(line) = input.next_line().context("stdin")? else { return Ok(Typed::Quit) };
            match line.to_ascii_lowercase().as_str() {
                "" => continue,
                "help" | "h" | "?" => common::print(format!("{HELP}\n"))?,
                "moves" | "m" => common::print(call(position))?,
                "board" | "b" => common::print(format!("\n{}", board::draw(position, self.last().as_deref())))?,
                "hint" => {
                    let Some(decision) = self.think(position)? else { return Ok(Typed::Quit) };
                    let name = &decision.name;
                    common::print(format!("{name}   ({})\n", opinion(&decision, position.to_move())))?;
                }
                "undo" | "u" => return Ok(Typed::Undo),
                "quit" | "q" | "exit" => return Ok(Typed::Quit),
                _ => match Checkers::parse_moves(&line).as_deref() {
                    Ok(&[action]) if position.is_legal(action) => return Ok(Typed::Action(action)),
                    Ok(&[action]) => common::print(format!("{}\n", why_not(position, action)))?,
                    Ok(_) => common::print("one move at a time, please: each jump is a separate move\n")?,
                    Err(error) => common::print(format!("{error}; help lists what can be typed\n"))?,
                },
            }
        }
    }

    /// Goes back to the last turn of a human.
    fn undo(&mut self) -> Result<()> {
        let now = self.positions.len() - 1;
        let back = (0..now).rev().find(|&at| self.side(self.positions[at].to_move()) == Side::Human);
        let Some(back) = back else { return common::print("there is nothing to take back\n") };
        self.positions.truncate(back + 1);
        self.actions.truncate(back);
        Ok(())
    }
}

/// Whose turn it is, and what they may do.
fn call(position: &Checkers) -> String {
    let names: Vec<String> = position.legal_actions().iter().map(|&action| Checkers::action_name(action)).collect();
    let duty = match (position.jumper().is_some(), position.moves().jumps) {
        (true, _) => " jumps on with the same piece",
        (false, true) => " must capture",
        (false, false) => " to move",
    };
    format!("{}{duty}: {}\n", colour(position.to_move()), names.join(" "))
}

/// Why a move cannot be played.
fn why_not(position: &Checkers, action: u32) -> String {
    let name = Checkers::action_name(action);
    let moves = position.moves();
    let reason = match (position.jumper().is_some(), moves.jumps && action.is_multiple_of(2)) {
        (true, _) => "the piece that has jumped must jump on",
        (false, true) => "capturing is compulsory",
        (false, false) => "it is not among the legal moves",
    };
    format!("{name} cannot be played: {reason} (moves lists them)")
}

/// What the search thinks, in a line.
fn opinion(decision: &Decision, mover: Colour) -> String {
    let mut actions = decision.actions.clone();
    actions.sort_by_key(|action| std::cmp::Reverse(action.visits));
    let best: Vec<String> =
        actions.iter().take(SHOWN).map(|action| format!("{} {}", action.name, action.visits)).collect();
    format!("value {:+.3} for {}; visits {}", decision.value, colour(mover), best.join(", "))
}
