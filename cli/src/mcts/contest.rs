//! `match`: games between two players.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, ensure};
use indicatif::ProgressBar;
use serde_json::json;
use warpplay::Device;
use warpplay::journal::{self, Header, Journal, Piece};
use warpplay::mcts::contest::{Contestant, GameRecord, GameResult, Played, Scores, Side, play_game, running_percent};
use warpplay::mcts::{KernelSet, Notation, Outcome, check_playable, play_moves};

use crate::common::{self, OutputFile, Record, Usage, plot};
use crate::mcts::args::MatchArgs;
use crate::mcts::games::{self, Visitor};
use crate::mcts::match_file::{GameFacts, MatchFacts, PlayerFacts, seed};
use crate::mcts::player::PlayerSpec;
use crate::mcts::{chart, check, score};

/// The plot's name in a folder.
const PLOT: &str = "score.svg";

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
        let [resume, checkpoint] = args.journal.paths();
        let written = [
            ("--json", args.output.json.as_deref()),
            ("--plots", args.plots.plots.as_deref()),
            ("--plots", plot.as_deref()),
            checkpoint,
        ];
        common::expect_apart(&[resume], &written, &[])?;
        let json = args.output.json_file()?;
        let plot = OutputFile::prepare_option(args.plots.file(PLOT)?.as_deref())?;

        let bar = args.output.bar(args.games.into());
        let contest =
            Contest { args, start, opening, devices: devices.map(|device| device.unwrap_or_else(Device::cpu)), bar };
        // What a device refuses is found before there is a journal.
        let players = contest.players()?;
        let (journal, finished) = contest.journal()?;
        let games = contest.play_all(players, journal, finished)?;
        contest.bar.finish_and_clear();

        let scores = scores(&games);
        let n_played = games.len();
        let stopped = match (n_played as u64) < args.games.into() {
            true => format!(", stopped early{}", args.journal.go_on()),
            false => String::new(),
        };
        let running = running_percent(games.iter().map(|(_, game)| &game.record));
        if let Some(json) = json {
            json.write_json(&Record::new("mcts match", contest.facts(games, &scores)))?;
        }
        if let Some(plot) = plot {
            let title = format!("{}: A = {}, B = {}", G::NAME, args.a, args.b);
            plot.write(&plot::svg(&[chart::running_score(title, &running)]))?;
        }
        if !args.output.quiet {
            common::print(format!(
                "{}: {n_played} of {} games{stopped}\nA  {} on {}\nB  {} on {}\n\n{}",
                G::NAME,
                args.games,
                args.a,
                contest.devices[0].name(),
                args.b,
                contest.devices[1].name(),
                score::table(&scores)
            ))?;
        }
        Ok(())
    }
}

fn scores(games: &[(u32, Played)]) -> Scores {
    Scores::of(games.iter().map(|(_, game)| &game.record))
}

/// A match that is going on.
struct Contest<'a, G> {
    args: &'a MatchArgs,
    start: G,
    /// The actions that led to the start.
    opening: Vec<u32>,
    /// Of A and of B; the CPU for the single-thread player.
    devices: [Device; 2],
    bar: ProgressBar,
}

impl<G: KernelSet + Notation> Contest<'_, G> {
    fn spec(&self, side: Side) -> &PlayerSpec {
        match side {
            Side::A => &self.args.a,
            Side::B => &self.args.b,
        }
    }

    /// Both players, ready to play.
    fn players(&self) -> Result<[Contestant<G>; 2]> {
        let player = |side: Side| {
            Contestant::new(&self.spec(side).kind.player, &self.devices[side.index()])
                .with_context(|| format!("player {side} ({})", self.spec(side)))
        };
        Ok([player(Side::A)?, player(Side::B)?])
    }

    /// The journal of the match, and the games that it holds, by their numbers from 0.
    fn journal(&self) -> Result<(Journal, BTreeMap<u32, Played>)> {
        let args = self.args;
        let facts = json!({
            "game": G::NAME,
            "moves": args.position.moves.trim(),
            "a": args.a.kind,
            "b": args.b.kind,
            "parallel": args.parallel,
            "seed": args.seed.seed.unwrap_or_default(),
        });
        // Kernels of a game of one's own are not the library's.
        let build = || journal::build(std::slice::from_ref(G::PTX));
        let header = || Header { build: build(), ..Header::new("mcts match", facts, &self.devices) };
        let (journal, records) = Journal::open(args.journal.target().as_ref(), header)?;
        let mut finished = BTreeMap::new();
        for (key, Piece { result: record, seconds }) in records {
            let number = journal::number(&key).filter(|number| (1..=args.games.into()).contains(number));
            let number = number.ok_or_else(|| journal.not_asked(&key))?;
            let game = number as u32 - 1;
            let played = Played { record, seconds };
            self.check(game, &played).map_err(|error| journal.wrong(&key, error))?;
            finished.insert(game, played);
        }
        Ok((journal, finished))
    }

    /// Holds a game to its number and to the rules.
    fn check(&self, game: u32, played: &Played) -> Result<()> {
        let Played { record: GameRecord { first, seeds, result, moves }, seconds } = played;
        ensure!((*first, *seeds) == (self.first(game), self.seeds(game)), "first mover or seeds of another game");
        ensure!(seconds.len() == moves.len(), "{} times of {} moves", seconds.len(), moves.len());
        let mut position = self.start;
        for (found, number) in moves.iter().zip(1..) {
            let is_legal = found.action < G::MAX_ACTIONS && position.is_legal(found.action);
            ensure!(position.outcome() == Outcome::Ongoing && is_legal, "move {number} is illegal");
            let side = if position.to_move() == self.start.to_move() { *first } else { first.other() };
            let is_named = found.name == G::action_name(found.action);
            ensure!(found.side == side && is_named, "move {number} is not a move of {side}");
            position.apply(found.action);
        }
        let ended = match position.outcome() {
            Outcome::Draw => Some(GameResult::Draw),
            Outcome::Ongoing => None,
            Outcome::Win(player) => match (player == self.start.to_move(), first) {
                (true, Side::A) | (false, Side::B) => Some(GameResult::A),
                _ => Some(GameResult::B),
            },
        };
        ensure!(ended == Some(*result), "result {result:?} is not that of its moves");
        check::game(&played.record)
    }

    /// All games in their order, or those that were finished when Ctrl-C came; with their numbers from 0. Those of the journal are taken as they are. The first game in
    /// progress has `players`, each beside it makes its own.
    fn play_all(
        &self,
        players: [Contestant<G>; 2],
        journal: Journal,
        finished: BTreeMap<u32, Played>,
    ) -> Result<Vec<(u32, Played)>> {
        let left: Vec<u32> = (0..self.args.games).filter(|game| !finished.contains_key(game)).collect();
        let next = AtomicUsize::new(0);
        let failed = AtomicBool::new(false);
        self.bar.set_position(finished.len() as u64);
        let played = Mutex::new((journal, Vec::from_iter(finished)));
        let ready = Mutex::new(Some(players));
        let worker = || -> Result<()> {
            let ready = ready.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
            let mut players = ready.map_or_else(|| self.players(), Ok)?;
            while !failed.load(Ordering::Relaxed) && !common::interrupted() {
                let Some(&game) = left.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                let result = self.play(game, &mut players).with_context(|| format!("game {}", game + 1));
                failed.fetch_or(result.is_err(), Ordering::Relaxed);
                let Some(found) = result? else { break };
                // A worker that panicked has ended the match anyway.
                let mut played = played.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                let (journal, played) = &mut *played;
                if journal.is_kept() {
                    let piece = Piece { result: found.record.clone(), seconds: found.seconds.clone() };
                    let kept = journal.append(&[((game + 1).to_string(), piece)]);
                    failed.fetch_or(kept.is_err(), Ordering::Relaxed);
                    kept?;
                }
                played.push((game, found));
                let score = scores(played).a.score_percent.unwrap_or_default();
                self.bar.set_position(played.len() as u64);
                self.bar.set_message(format!("A {score:.1} %"));
            }
            Ok(())
        };
        thread::scope(|scope| {
            let start = |_| thread::Builder::new().spawn_scoped(scope, worker);
            let workers: Vec<_> = (0..left.len().min(self.args.parallel as usize)).map(start).collect();
            // No game begins where not all of them start.
            failed.fetch_or(workers.iter().any(Result::is_err), Ordering::Relaxed);
            for worker in workers {
                let worker = worker.with_context(|| {
                    format!("option parallel: {} is more threads than this machine can start", self.args.parallel)
                })?;
                worker.join().map_err(|_| anyhow::anyhow!("a game ended in a panic"))??;
            }
            anyhow::Ok(())
        })?;
        let (_, mut games) = played.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        games.sort_by_key(|(game, _)| *game);
        Ok(games)
    }

    /// Who moves first in a game, from 0.
    fn first(&self, game: u32) -> Side {
        if game.is_multiple_of(2) { Side::A } else { Side::B }
    }

    fn seeds(&self, game: u32) -> [u64; 2] {
        Side::BOTH.map(|side| seed(self.args.seed.seed.unwrap_or_default(), game, side))
    }

    /// Game number `game`, from 0; `None` if Ctrl-C ended it.
    fn play(&self, game: u32, players: &mut [Contestant<G>; 2]) -> Result<Option<Played>> {
        let (first, seeds) = (self.first(game), self.seeds(game));
        let played = play_game(players, &self.start, first, seeds, &[], |_| common::until_interrupted())?;
        played.iter().try_for_each(|played| check::game(&played.record))?;
        Ok(played)
    }

    fn facts(&self, games: Vec<(u32, Played)>, scores: &Scores) -> MatchFacts {
        let side = |side: Side, score: &warpplay::mcts::contest::Score| {
            let (device, spec) = (&self.devices[side.index()], self.spec(side));
            PlayerFacts {
                player: spec.to_string(),
                options: spec.kind.clone(),
                device: device.backend().to_string(),
                device_name: device.name(),
                score: score.clone(),
            }
        };
        MatchFacts {
            game: G::NAME.to_string(),
            moves: self.args.position.moves.trim().to_string(),
            seed: self.args.seed.seed.unwrap_or_default(),
            n_games: self.args.games,
            n_played: games.len(),
            first_mover_percent: scores.first_mover_percent,
            a: side(Side::A, &scores.a),
            b: side(Side::B, &scores.b),
            games: games
                .into_iter()
                .map(|(game, played)| {
                    GameFacts::new(game + 1, games::game_text::<G>(&self.opening, &played.record), played)
                })
                .collect(),
        }
    }
}
