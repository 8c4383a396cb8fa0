//! `play`: a game against the search in the terminal.

use anyhow::{Context, Result};
use serde::Serialize;
use warpplay::mcts::{KernelSet, Notation, Options, Outcome, Player, Report, Search, check_playable, play_moves};

use crate::common::table::thousands;
use crate::common::{self, Input};
use crate::mcts::args::{PlayArgs, Side};
use crate::mcts::check;
use crate::mcts::games::{self, Visitor, outcome_text};
use crate::mcts::table;

/// Units of the progress bar of one search.
const BAR_UNITS: u64 = 1000;

const HELP: &str = "  MOVE   play it; it is written as on the board's edge
  undo   take back your last move and the answer to it
  help   this list
  quit   leave the game";

/// A game as data.
#[derive(Serialize)]
struct Facts<'a> {
    game: &'static str,
    /// All moves from the start.
    moves: String,
    /// The human's stones; in most games X moves first.
    human: char,
    finished: bool,
    outcome: String,
    options: &'a Options,
    device: String,
    device_name: String,
    seed: u64,
}

/// Runs the command.
pub fn run(args: &PlayArgs) -> Result<()> {
    args.output.start_log();
    args.position.game.visit(Play(args))
}

struct Play<'a>(&'a PlayArgs);

impl Visitor for Play<'_> {
    type Output = Result<()>;

    fn visit<G: KernelSet + Notation>(self) -> Result<()> {
        let args = self.0;
        let options = args.search.options(&args.seed);
        let builder = Search::<G>::builder().options(options).action_names(G::action_name).profile_steps(0);
        builder.capacity()?;
        let mut start = G::start();
        let opening = play_moves(&mut start, &args.position.moves)?;
        check_playable(&start)?;
        let json = args.output.json_file()?;
        let device = args.device.open()?;
        let human = match args.first {
            Side::Human => Player::First,
            Side::Search => Player::Second,
        };
        let mut table =
            Table { args, human, search: builder.build(&device)?, positions: vec![start], actions: Vec::new() };
        let end = table.play()?;
        let position = table.position();
        match end {
            End::GameOver => common::print(format!("\n{}\nThe end: {}.\n", position.draw(), table.verdict()))?,
            End::Left => common::print("\nThe game is left unfinished.\n")?,
        }
        if let Some(json) = json {
            let facts = Facts {
                game: G::NAME,
                moves: games::moves_text::<G>(&[opening, table.actions.clone()].concat()),
                human: G::symbol(human),
                finished: position.outcome().is_over(),
                outcome: outcome_text::<G>(position.outcome()),
                options: table.search.options(),
                device: device.backend().to_string(),
                device_name: device.name(),
                seed: table.search.options().seed,
            };
            json.write_json(&common::Record::new("mcts play", facts))?;
        }
        Ok(())
    }
}

/// Why a game stopped.
enum End {
    GameOver,
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
struct Table<'a, G: KernelSet> {
    args: &'a PlayArgs,
    human: Player,
    search: Search<G>,
    /// All positions from the first on, so that moves can be taken back; never empty.
    positions: Vec<G>,
    /// The action after each position but the last.
    actions: Vec<u32>,
}

impl<G: KernelSet + Notation> Table<'_, G> {
    fn position(&self) -> G {
        self.positions[self.positions.len() - 1]
    }

    fn make(&mut self, action: u32) {
        let mut next = self.position();
        next.apply(action);
        self.positions.push(next);
        self.actions.push(action);
    }

    fn play(&mut self) -> Result<End> {
        let input = Input::new()?;
        let players = match (games::is_puzzle::<G>(), self.human) {
            (true, Player::First) => "you play alone".to_string(),
            (true, Player::Second) => "the search plays alone".to_string(),
            (false, human) => format!("you are {}, the search is {}", G::symbol(human), G::symbol(human.other())),
        };
        common::print(format!("{}: {players}\n{HELP}\n", G::NAME))?;
        loop {
            let position = self.position();
            if position.outcome().is_over() {
                return Ok(End::GameOver);
            }
            if position.to_move() == self.human {
                common::print(format!("\n{}", position.draw()))?;
                match self.ask(&input, &position)? {
                    Typed::Action(action) => self.make(action),
                    Typed::Undo => self.undo()?,
                    Typed::Quit => return Ok(End::Left),
                }
            } else {
                if !self.args.output.quiet {
                    common::print(format!("\n{}", position.draw()))?;
                }
                let report = self.think(&position)?;
                if common::interrupted() {
                    return Ok(End::Left);
                }
                common::print(format!("{} plays {}", G::symbol(position.to_move()), report.best.name))?;
                if self.args.output.quiet {
                    common::print("\n")?;
                } else {
                    common::print(format!(
                        "   (q {}, {} steps, {} playouts, depth up to {}, {:.2} s)\n",
                        table::number(report.best.q),
                        thousands(report.performance.steps),
                        thousands(report.performance.playouts),
                        report.performance.trees.max_depth,
                        report.performance.ms.total / 1e3
                    ))?;
                }
                self.make(report.best.index);
            }
        }
    }

    /// Asks until something that can be done was typed.
    fn ask(&self, input: &Input, position: &G) -> Result<Typed> {
        loop {
            common::print(format!("{} to move> ", G::symbol(self.human)))?;
            let Some(line) = input.next_line().context("stdin")? else { return Ok(Typed::Quit) };
            match line.to_ascii_lowercase().as_str() {
                "" => continue,
                "help" | "h" | "?" => common::print(format!("{HELP}\n"))?,
                "undo" | "u" => return Ok(Typed::Undo),
                "quit" | "q" | "exit" => return Ok(Typed::Quit),
                _ => match G::parse_moves(&line).as_deref() {
                    Ok(&[action]) if position.is_legal(action) => return Ok(Typed::Action(action)),
                    Ok(&[action]) => common::print(format!("{} cannot be played here\n", G::action_name(action)))?,
                    Ok(_) => common::print("one move at a time, please (help lists what can be typed)\n")?,
                    Err(error) => common::print(format!("{error}; help lists what can be typed\n"))?,
                },
            }
        }
    }

    /// Goes back to the human's last turn.
    fn undo(&mut self) -> Result<()> {
        let now = self.positions.len() - 1;
        let Some(back) = (0..now).rev().find(|&at| self.positions[at].to_move() == self.human) else {
            return common::print("there is nothing to take back\n");
        };
        self.positions.truncate(back + 1);
        self.actions.truncate(back);
        Ok(())
    }

    fn think(&mut self, position: &G) -> Result<Report> {
        let bar = self.args.output.bar(BAR_UNITS);
        let report = self.search.run(position, |progress| {
            bar.set_position((progress.fraction() * BAR_UNITS as f64) as u64);
            common::until_interrupted()
        })?;
        bar.finish_and_clear();
        check::report(&report)?;
        Ok(report)
    }

    /// How the game ended, said to the human.
    fn verdict(&self) -> String {
        match self.position().outcome() {
            Outcome::Win(Player::First) if games::is_puzzle::<G>() => "the puzzle is solved".to_string(),
            Outcome::Win(_) if games::is_puzzle::<G>() => "the puzzle is not solved".to_string(),
            Outcome::Win(player) if player == self.human => "you have won".to_string(),
            Outcome::Win(_) => "the search has won".to_string(),
            outcome => outcome_text::<G>(outcome),
        }
    }
}
