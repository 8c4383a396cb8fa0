//! The gate: the new network must beat the old one.

use anyhow::{Context, Result};
use warpplay::azero::player::{Contestant, Estimator, Match, MatchOptions, MatchReport, SearchOptions};
use warpplay::azero::{EvaluatorOptions, Network};
use warpplay::{Device, Error};

use crate::azero::args::TrainArgs;
use crate::azero::print::say;
use crate::common;

/// A match between the new and the old network.
#[derive(Debug)]
pub struct Gate {
    options: MatchOptions,
    search: SearchOptions,
    score: f64,
    evaluation: EvaluatorOptions,
}

impl Gate {
    /// The gate of so many games as the command line says; none for 0.
    pub fn new(args: &TrainArgs) -> Result<Option<Self>, Error> {
        let (games, score) = (args.gate.gate, args.gate.gate_score);
        // Without noise and temperature: the strongest play after a random opening.
        let search = args.search.options(SearchOptions::default(), Some(args.gate.gate_seed))?;
        if games % 2 == 1 {
            return Err(Error::option("gate", games, "an even number, since each opening is played with both colours"));
        }
        let options = MatchOptions { games, seed: search.seed, ..MatchOptions::default() };
        if games > 0 {
            options.check()?;
        }
        let evaluation = EvaluatorOptions {
            precision: args.gate.gate_precision,
            engine: args.gate.gate_engine,
            threads: args.training.threads.threads,
            ..EvaluatorOptions::default()
        };
        evaluation.check()?;
        Ok((games > 0).then_some(Self { options, search, score, evaluation }))
    }

    /// Makes sure, before any work is done, that it can be played between networks like this one.
    ///
    /// # Errors
    /// What the device refuses of the options, or has no memory for.
    pub fn check(&self, device: &Device, network: &Network) -> Result<()> {
        self.between(device, network, network).context("the gate match")?;
        Ok(())
    }

    fn between(&self, device: &Device, new: &Network, old: &Network) -> Result<Match, Error> {
        let contestant = |network: &Network, name: &str| {
            let estimator = Estimator::network(network.clone(), name).with_options(self.evaluation.clone());
            Contestant::Search(self.search, estimator)
        };
        let contestants = [contestant(new, "the new network"), contestant(old, "the old one")];
        Match::builder(contestants).options(self.options).build(device)
    }

    /// Plays it; none if Ctrl-C ended it.
    pub fn play(&self, quiet: bool, device: &Device, new: &Network, old: &Network) -> Result<Option<MatchReport>> {
        let report = self.between(device, new, old)?.run(|_| common::until_interrupted())?;
        if report.results().games() < self.options.games {
            return Ok(None);
        }
        let verdict = if self.passes(&report) { "passed" } else { "not passed" };
        let score = 100.0 * report.results().score();
        say(quiet, format!("gate {verdict}, {score:.1} % of {:.1} % needed: {report}\n", 100.0 * self.score))?;
        Ok(Some(report))
    }

    /// Whether the new network passed.
    pub fn passes(&self, report: &MatchReport) -> bool {
        report.results().score() >= self.score
    }
}
