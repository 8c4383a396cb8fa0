//! `match`: games between two players.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use serde::Serialize;
use warpplay::Device;
use warpplay::mcts::{KernelSet, Notation, Outcome, check_playable, play_moves};

use crate::common::{self, OutputFile, Record, Usage, random};
use crate::mcts::args::MatchArgs;
use crate::mcts::chart;
use crate::mcts::games::{self, Visitor};
use crate::mcts::player::{Kind, Player, PlayerSpec};
use crate::mcts::score::{self, Game, Name, Score, Scores};

/// The plot's name in a folder.
const PLOT: &str = "score.svg";

/// A match as data: it can be repeated from `game`, `moves`, `seed` and the players' options.
#[derive(Serialize)]
struct Facts<'a> {
    game: &'static str,
    /// The position from which all games start.
    moves: &'a str,
    seed: u64,
    /// Games asked for; fewer were played if the match was stopped.
    n_games: u32,
    n_played: usize,
    /// Score of whoever moved first, in percent.
    first_mover_percent: Option<f64>,
    a: Side<'a>,
    b: Side<'a>,
    games: &'a [Game],
}

/// A player and its score.
#[derive(Serialize)]
struct Side<'a> {
    player: String,
    options: &'a Kind,
    /// Back end that ran it.
    device: String,
    device_name: String,
    #[serde(flatten)]
    score: &'a Score,
}

/// Runs the command.
pub fn run(args: &MatchArgs) -> Result<()> {
    args.output.start_log();
    args.position.game.visit(Match(args))
}

struct Match<'a>(&'a MatchArgs);

impl Visitor for Match<'_> {
    type Output = Result<()>;

    fn visit<G: KernelSet + Notation>(self) -> Result<()> {
        let args = self.0;
        if games::is_puzzle::<G>() {
            return Err(Usage(format!("{} is a puzzle for one player, a match needs two", G::NAME)).into());
        }
        let mut start = G::start();
        let opening = play_moves(&mut start, &args.position.moves)?;
        check_playable(&start)?;
        let devices = [
            args.a.open::<G>().with_context(|| format!("player A ({})", args.a))?,
            args.b.open::<G>().with_context(|| format!("player B ({})", args.b))?,
        ];
        let plot = args.plots.path(PLOT);
        let written = [
            ("--json", args.output.json.as_deref()),
            ("--plots", args.plots.plots.as_deref()),
            ("--plots", plot.as_deref()),
        ];
        common::expect_apart(&[], &written, &[])?;
        let json = args.output.json_file()?;
        let plot = OutputFile::prepare_option(args.plots.file(PLOT)?.as_deref())?;

        let bar = args.output.bar(args.games.into());
        let contest = Contest { args, start, opening, devices, bar };
        let games = contest.play_all()?;
        contest.bar.finish_and_clear();

        let scores = Scores::of(&games);
        if let Some(json) = json {
            json.write_json(&contest.record(&games, &scores))?;
        }
        if let Some(plot) = plot {
            let title = format!("{}: A = {}, B = {}", G::NAME, args.a, args.b);
            plot.write(&chart::running_score(&title, &score::running(&games))?)?;
        }
        if !args.output.quiet {
            let stopped = if (games.len() as u64) < args.games.into() { ", stopped early" } else { "" };
            common::print(format!(
                "{}: {} of {} games{stopped}\nA  {} on {}\nB  {} on {}\n\n{}",
                G::NAME,
                games.len(),
                args.games,
                args.a,
                contest.device(Name::A).1,
                args.b,
                contest.device(Name::B).1,
                scores.table()
            ))?;
        }
        Ok(())
    }
}

/// A match that is going on.
struct Contest<'a, G> {
    args: &'a MatchArgs,
    start: G,
    /// The actions that led to the start.
    opening: Vec<u32>,
    /// Of A and of B; `None` for the single-thread player.
    devices: [Option<Device>; 2],
    bar: ProgressBar,
}

impl<G: KernelSet + Notation> Contest<'_, G> {
    fn spec(&self, name: Name) -> &PlayerSpec {
        match name {
            Name::A => &self.args.a,
            Name::B => &self.args.b,
        }
    }

    /// Back end and name of a player's device.
    fn device(&self, name: Name) -> (String, String) {
        let cpu = Device::cpu();
        let device = self.devices[name as usize].as_ref().unwrap_or(&cpu);
        (device.backend().to_string(), device.name())
    }

    /// All games in their order, or those that were finished when Ctrl-C came.
    fn play_all(&self) -> Result<Vec<Game>> {
        let n_games = self.args.games;
        let next = AtomicU32::new(0);
        let failed = AtomicBool::new(false);
        let played = Mutex::new(Vec::<Game>::new());
        let worker = || -> Result<()> {
            let player = |name: Name| {
                Player::new(self.spec(name), self.devices[name as usize].as_ref())
                    .with_context(|| format!("player {name:?} ({})", self.spec(name)))
            };
            let mut players = [player(Name::A)?, player(Name::B)?];
            while !failed.load(Ordering::Relaxed) && !common::interrupted() {
                let game = next.fetch_add(1, Ordering::Relaxed);
                if game >= n_games {
                    break;
                }
                let result = self.play(game, &mut players).with_context(|| format!("game {}", game + 1));
                failed.fetch_or(result.is_err(), Ordering::Relaxed);
                let Some(game) = result? else { break };
                // A worker that panicked has ended the match anyway.
                let mut played = played.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                played.push(game);
                let score = Scores::of(&played).a.score_percent.unwrap_or_default();
                self.bar.set_position(played.len() as u64);
                self.bar.set_message(format!("A {score:.1} %"));
            }
            Ok(())
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..self.args.parallel.min(n_games)).map(|_| scope.spawn(worker)).collect();
            for worker in workers {
                worker.join().map_err(|_| anyhow::anyhow!("a game ended in a panic"))??;
            }
            anyhow::Ok(())
        })?;
        let mut games = played.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        games.sort_by_key(|game| game.game);
        Ok(games)
    }

    /// Game number `game`, from 0; `None` if Ctrl-C ended it.
    fn play(&self, game: u32, players: &mut [Player<G>; 2]) -> Result<Option<Game>> {
        let first = if game.is_multiple_of(2) { Name::A } else { Name::B };
        let seeds = Name::BOTH.map(|name| seed(self.args.seed.seed.unwrap_or_default(), game, name));
        for name in Name::BOTH {
            players[name as usize].begin(seeds[name as usize]);
        }
        let mut position = self.start;
        let first_to_move = position.to_move();
        let (mut actions, mut thoughts) = (self.opening.clone(), Vec::new());
        let of = |player: warpplay::mcts::Player| if player == first_to_move { first } else { first.other() };
        loop {
            let name = of(position.to_move());
            let thought = players[name as usize].think(&position)?;
            if common::interrupted() {
                return Ok(None);
            }
            anyhow::ensure!(
                position.is_legal(thought.action),
                "check failed: {} chose an illegal move",
                self.spec(name)
            );
            position.apply(thought.action);
            actions.push(thought.action);
            thoughts.push((name, thought));
            let result = match position.outcome() {
                Outcome::Ongoing => continue,
                Outcome::Draw => score::Result::Draw,
                Outcome::Win(player) => match of(player) {
                    Name::A => score::Result::A,
                    Name::B => score::Result::B,
                },
            };
            return Ok(Some(Game {
                game: game + 1,
                first,
                seed_a: seeds[0],
                seed_b: seeds[1],
                moves: games::moves_text::<G>(&actions),
                plies: thoughts.len() as u32,
                result,
                thoughts,
            }));
        }
    }

    fn record<'r>(&'r self, games: &'r [Game], scores: &'r Scores) -> Record<Facts<'r>> {
        let side = |name: Name, score| {
            let (device, device_name) = self.device(name);
            let spec = self.spec(name);
            Side { player: spec.to_string(), options: &spec.kind, device, device_name, score }
        };
        let facts = Facts {
            game: G::NAME,
            moves: self.args.position.moves.trim(),
            seed: self.args.seed.seed.unwrap_or_default(),
            n_games: self.args.games,
            n_played: games.len(),
            first_mover_percent: scores.first_mover_percent,
            a: side(Name::A, &scores.a),
            b: side(Name::B, &scores.b),
            games,
        };
        Record::new("mcts match", facts)
    }
}

/// Seed of a player in a game: the search's number of the match's sequence, so that neighbours have nothing in common. 53 bits, since
/// many readers of JSON keep no more.
fn seed(match_seed: u64, game: u32, name: Name) -> u64 {
    random::split_mix(match_seed, 2 * u64::from(game) + name as u64) >> 11
}
