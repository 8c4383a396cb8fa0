//! AlphaZero: a network of checkers learns from games of a search, and a search asks it.

use std::sync::Arc;

use anyhow::Result;
use warpplay::azero::checkers::Checkers;
use warpplay::azero::player::{Estimator, Player, SearchOptions, SelfPlay};
use warpplay::azero::train::{Options, Report, Samples, StoppedBy, Trainer, initial};
use warpplay::azero::{GameRecord, Network, NetworkShape};
use warpplay::mcts::Notation;

use crate::azero::chart;
use crate::common::plot::{Axis, Bar, Content, Group, Panel};
use crate::common::table::thousands;
use crate::demo::part::{Part, Task};

/// Games that are learnt from.
const GAMES: u64 = 48;
/// Random games that give a leaf of their search its value.
const PLAYOUTS: u32 = 4;
/// Simulations for each move in these games.
const SIMULATIONS: u32 = 24;
/// Times that their positions are learnt from.
const EPOCHS: u32 = 5;
/// Simulations of the search with the network.
const ASKED: u32 = 200;

/// Plays, learns and searches.
pub fn run(task: &Task<'_>) -> Result<Option<Part>> {
    let Some(games) = play(task)? else { return Ok(None) };
    let shape = NetworkShape { width: 8, depth: 1, ..NetworkShape::default() };
    let network = initial(shape, 1)?;
    let samples = Arc::new(Samples::from_records(&games, network.observation(), network.value_of())?);
    let options = Options { batch: 64, epochs: EPOCHS, learning_rate: 2e-3, validation: 0.2, ..Options::default() };
    let mut trainer = Trainer::builder(&network, &samples).options(options).build(task.device)?;
    let report = trainer.run(|progress| task.watch(0.5 + 0.4 * progress.fraction()))?;
    let network = trainer.network()?;
    if report.stopped_by == StoppedBy::Request {
        return Ok(None);
    }
    let (bars, best) = ask(task, &network)?;
    let curve: Vec<f64> = report.epochs.iter().map(|epoch| epoch.train.policy_loss).collect();
    let held_out = report.epochs.last().and_then(|epoch| epoch.validation);
    let losses_of_policy = format!(
        "{:.3} in the first epoch, {:.3} in the last; {:.3} in games held out",
        curve.first().copied().unwrap_or_default(),
        curve.last().copied().unwrap_or_default(),
        held_out.map_or(f64::NAN, |losses| losses.policy_loss)
    );
    Ok(Some(Part {
        family: "azero",
        title: "AlphaZero's network and search",
        task: format!(
            "a small network of checkers (width 8, one residual block) learns {EPOCHS} epochs from {GAMES} games, then guides a search of {ASKED} simulations"
        ),
        data: format!(
            "{} positions of games that a search without a network has just played against itself",
            thousands(samples.len() as u64)
        ),
        found: vec![
            ("policy's loss", losses_of_policy),
            ("first move", best),
            ("speed", format!("{} positions a second", thousands(speed(&report)))),
        ],
        curve_of: "policy's loss in each epoch",
        plots: vec![chart::losses(&report), bars],
        curve,
        more: "warpplay azero learn --folder run --iterations 10 --games 200",
        engine: report.engine.to_string(),
        seconds: task.seconds(),
    }))
}

/// Games of a search whose leaves are played out; none after Ctrl-C.
fn play(task: &Task<'_>) -> Result<Option<Vec<GameRecord>>> {
    let search = SearchOptions { simulations: SIMULATIONS, ..SearchOptions::self_play() };
    let mut selfplay =
        SelfPlay::builder(Estimator::Playouts(PLAYOUTS)).search(search).games(GAMES).build(task.device)?;
    let mut games = Vec::new();
    selfplay.run(|progress| {
        games.extend(progress.latest.clone());
        task.watch(0.5 * progress.fraction())
    })?;
    Ok((games.len() as u64 == GAMES).then_some(games))
}

/// What the network and a search with it think of the first move: the picture, and the move in words.
fn ask(task: &Task<'_>, network: &Network) -> Result<(Panel, String)> {
    let mut player = Player::builder(network).simulations(ASKED).build(task.device)?;
    let decision = player.run(&Checkers::start(), |progress| {
        // There is little of it, and nothing without it.
        (task.show)(0.9 + 0.1 * progress.fraction());
        std::ops::ControlFlow::Continue(())
    })?;
    let visits: u32 = decision.actions.iter().map(|action| action.visits).sum();
    let share = |n: u32| 100.0 * f64::from(n) / f64::from(visits.max(1));
    let bar = |name: &str, value: f64| Bar { name: name.to_string(), value, range: [value; 2] };
    let groups = decision.actions.iter().map(|action| Group {
        name: action.name.clone(),
        bars: vec![
            bar("policy of the network", 100.0 * f64::from(action.prior)),
            bar("visits of the search", share(action.visits)),
        ],
    });
    let bars = Panel {
        title: "First move: what the network proposes and what the search visits".to_string(),
        x: Axis::even("move"),
        y: Axis::even("share, %"),
        content: Content::Bars(groups.collect()),
    };
    Ok((bars, format!("{} by the search, which values it {:+.2}", decision.name, decision.value)))
}

/// Positions that were learnt from in a second, in the fastest epoch.
fn speed(report: &Report) -> u64 {
    report.epochs.iter().map(|epoch| epoch.positions_per_second).fold(0.0, f64::max) as u64
}
