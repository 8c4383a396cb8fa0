//! `replay` of a match: plays its games again, each search by its recorded steps, and compares every move.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::Deserialize;
use serde::de::IgnoredAny;
use warpplay::mcts::contest::{Contestant, GameRecord, Played, PlayerOptions, Scores, play_game};
use warpplay::mcts::{Engine, KernelSet, Notation, Options, check_playable, play_moves};
use warpplay::{Device, Error, input_file};

use crate::common::{self, Record};
use crate::mcts::args::ReplayArgs;
use crate::mcts::games::{self, GameName, Visitor};
use crate::mcts::match_file::{GameFacts, MatchFacts, PlayerFacts};

/// Whether a text is the file of a match, whole or not.
pub fn is_match(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Look {
        games: Option<IgnoredAny>,
        a: Option<IgnoredAny>,
    }
    serde_json::from_str(text).is_ok_and(|Look { games, a }| games.is_some() && a.is_some())
}

/// Repeats the match of this text, which is that of the arguments' file.
pub fn run(args: &ReplayArgs, text: &str) -> Result<()> {
    let file = &args.file;
    let wrong = |error: serde_json::Error| {
        Error::file(file, Some(error.line() as u64), input_file::json_reason_in(text, &error))
    };
    let old: MatchFacts = serde_json::from_str(text).map_err(wrong)?;
    /// What every command writes around its facts; version 0.1 wrote the facts alone.
    #[derive(Deserialize)]
    struct Frame {
        #[serde(default)]
        schema: Option<u64>,
        #[serde(default)]
        kind: Option<String>,
    }
    let Frame { schema, kind } = serde_json::from_str(text).map_err(wrong)?;
    if let Some(schema) = schema.filter(|schema| !(1..=2).contains(schema)) {
        bail!("{}: field schema: {schema} is not known, this program reads 1 and 2", file.display());
    }
    if let Some(kind) = kind.filter(|kind| !["match", "replay"].contains(&kind.as_str())) {
        bail!("{}: field kind: {kind} is no match, expected match or replay", file.display());
    }
    ensure!(!old.games.is_empty(), "{}: field games: the match has no game", file.display());
    if old.games.iter().any(|game| game.searches.is_none()) {
        bail!(
            "{}: field games: the searches of its moves are not recorded, so this match, which an older version wrote, cannot be compared; \
             `mcts match` with its players and its seed plays it again, exactly where steps alone limit them",
            file.display()
        );
    }
    old.check_games().with_context(|| file.display().to_string())?;
    let Some(game) = GameName::find(&old.game) else {
        bail!("{}: field game: {} is not a known game", file.display(), old.game)
    };
    game.visit(Repeat { args, old })
}

struct Repeat<'a> {
    args: &'a ReplayArgs,
    old: MatchFacts,
}

impl Visitor for Repeat<'_> {
    type Output = Result<()>;

    fn visit<G: KernelSet + Notation>(self) -> Result<()> {
        let Self { args, old } = self;
        let file = &args.file;
        let in_field = |field: &str, error: Error| anyhow!("{}: field {field}: {error}", file.display());
        let mut start = G::start();
        let opening = play_moves(&mut start, &old.moves).map_err(|error| in_field("moves", error))?;
        check_playable(&start).map_err(|error| in_field("moves", error))?;
        let records = old.games.iter().map(|game| recorded::<G>(file, &opening, game)).collect::<Result<Vec<_>>>()?;
        let json = args.output.json_file()?;
        let devices = [device::<G>(args, "a", &old.a)?, device::<G>(args, "b", &old.b)?];
        let mut players = [player(args, "a", &old.a, &devices[0])?, player(args, "b", &old.b, &devices[1])?];
        let bar = args.output.bar(records.len() as u64);
        let (mut new, mut different) = (Vec::<Played>::new(), Vec::new());
        for (record, number) in records.iter().zip(1..) {
            let origin = format!("{}, game {number}", file.display());
            let GameRecord { first, seeds, moves, .. } = record;
            let played = play_game(&mut players, &start, *first, *seeds, moves, |_| common::until_interrupted())
                .with_context(|| origin.clone())?;
            let Some(played) = played else {
                bar.abandon();
                bail!(
                    "{origin}: stopped before the match was repeated, {} of {} games were",
                    number - 1,
                    records.len()
                );
            };
            let differences = record.differences(&played.record);
            if let Some(first) = differences.first() {
                let (n, values) = (differences.len(), if differences.len() == 1 { "value" } else { "values" });
                different.push(format!("{origin}: the repeated game differs in {n} {values}, first {first}"));
            }
            new.push(played);
            bar.inc(1);
        }
        bar.finish_and_clear();
        if different.is_empty()
            && let Err(error) = old.check_totals()
        {
            different.push(format!("{}: {error:#}", file.display()));
        }
        let scores = Scores::of(new.iter().map(|played| &played.record));
        let n_moves: usize = new.iter().map(|played| played.record.moves.len()).sum();
        if !args.output.quiet {
            let verdict = if different.is_empty() { "identical" } else { "DIFFERENT" };
            common::print(format!(
                "{verdict}: {}: {}, {} games, {n_moves} moves, A {} on {}, repeated on {}, B {} on {}, repeated on {}\n",
                file.display(),
                G::NAME,
                new.len(),
                old.a.player,
                old.a.device,
                devices[0].backend(),
                old.b.player,
                old.b.device,
                devices[1].backend(),
            ))?;
        }
        if let Some(json) = json {
            let now = |old: PlayerFacts, device: &Device, score| PlayerFacts {
                device: device.backend().to_string(),
                device_name: device.name(),
                score,
                ..old
            };
            let games =
                old.games.iter().zip(new).map(|(old, played)| {
                    GameFacts::new(old.game, games::game_text::<G>(&opening, &played.record), played)
                });
            let facts = MatchFacts {
                games: games.collect(),
                first_mover_percent: scores.first_mover_percent,
                a: now(old.a, &devices[0], scores.a),
                b: now(old.b, &devices[1], scores.b),
                ..old
            };
            json.write_json(&Record::new("mcts replay", facts))?;
        }
        match &different[..] {
            [] => Ok(()),
            [first] => bail!("{first}"),
            [first, ..] => bail!("{first} (and {} more games)", different.len() - 1),
        }
    }
}

/// The record of a game, its fields held to each other.
fn recorded<G: Notation>(file: &Path, opening: &[u32], game: &GameFacts) -> Result<GameRecord> {
    let origin = || format!("{}, game {}", file.display(), game.game);
    let record = game.record().with_context(origin)?;
    ensure!(!record.moves.is_empty(), "{}: field searches: the list is empty", origin());
    let text = games::game_text::<G>(opening, &record);
    ensure!(text == game.moves, "{}: field moves: {} is not the game of field searches, {text}", origin(), game.moves);
    Ok(record)
}

/// The device of a player: the one asked for, or that of the record.
fn device<G: KernelSet>(args: &ReplayArgs, field: &str, player: &PlayerFacts) -> Result<Device> {
    let origin = format!("{}: field {field}", args.file.display());
    player.options.player.check::<G>().map_err(|error| anyhow!("{origin}.options: {error}"))?;
    match (&player.options.player, &args.device) {
        (PlayerOptions::Vanilla(_), _) => Ok(Device::cpu()),
        (PlayerOptions::Search(_), Some(device)) => Ok(Device::parse(device)?),
        (PlayerOptions::Search(_), None) => Device::parse(&player.device).map_err(|error| {
            anyhow!("{origin}: recorded on {}; --device cpu repeats it without a GPU: {error}", player.device)
        }),
    }
}

/// A player as recorded, on this device; every engine finds the same, and this device may lack the recorded one.
fn player<G: KernelSet + Notation>(
    args: &ReplayArgs,
    field: &str,
    player: &PlayerFacts,
    device: &Device,
) -> Result<Contestant<G>> {
    let options = match &player.options.player {
        PlayerOptions::Search(options) => {
            PlayerOptions::Search(Options { engine: Engine::Auto, threads: args.threads.threads, ..options.clone() })
        }
        vanilla => vanilla.clone(),
    };
    Contestant::new(&options, device).map_err(|error| anyhow!("{}: field {field}: {error}", args.file.display()))
}
