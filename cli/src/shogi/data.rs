//! Reads what is learnt from.

use std::collections::{BTreeSet, HashSet};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use warpplay::shogi::dataset::{Builder, Dataset, Facts};
use warpplay::shogi::material::Histogram;
use warpplay::shogi::records::{self, Records};
use warpplay::shogi::{Objective, Row};

use crate::common::flags::HeldOut;
use crate::common::table::{count, seconds, thousands};
use crate::common::{self, OutputFlags, Usage};
use crate::shogi::data_flags::{PartFlags, SourceFlags};
use crate::shogi::table::percent;

/// Games and other things that were left out and are printed; the JSON has all.
const SHOWN: usize = 5;

/// Positions with their children, and what there is to say of them.
pub struct Data {
    pub dataset: Dataset,
    pub facts: Facts,
    /// What was read.
    pub source: String,
    /// Time of reading the games and finding their children.
    pub seconds: f64,
}

impl Data {
    /// Reads records or a data set.
    ///
    /// # Errors
    /// Those of the library; a part of a data set.
    pub fn read(source: &SourceFlags, output: &OutputFlags) -> Result<Self> {
        match (&source.records, &source.data) {
            (Some(records), None) => {
                let builder = builder(&source.part)?;
                Self::timed(records, || Ok(common::without_results(|| builder.build(&games(records, output)?))?))
            }
            (None, Some(data)) if source.part.given() => {
                let text = "--data with --limit, --game-range, --plies or --shard: the games of a data set are chosen when it is built";
                Err(Usage(format!("{text} ({})", data.display())).into())
            }
            (None, Some(data)) => Self::timed(data, || Ok(common::without_results(|| Dataset::open(data))?)),
            _ => Err(Usage("either --records or --data is needed".into()).into()),
        }
    }

    /// Reads what is learnt from, and what is held out: a share or a number of its games, or a path of its own.
    ///
    /// # Errors
    /// Those of [`read`](Self::read); a number of games that there are not, a path that is not there.
    pub fn divided(
        source: &SourceFlags,
        held_out: Option<&HeldOut>,
        output: &OutputFlags,
    ) -> Result<(Self, Option<Self>)> {
        let all = Self::read(source, output)?;
        let hashes = || all.dataset.shards().iter().flat_map(|shard| shard.games.iter().copied());
        let path = match held_out {
            None => return Ok((all, None)),
            Some(HeldOut::Path(path)) => path.clone(),
            Some(part) => match share_of(part, hashes())? {
                Some(share) => return all.split(share, part),
                None => return Ok((all, None)),
            },
        };
        let others = "games other than those that are learnt from";
        let read = [source.records.as_deref(), source.data.as_deref()];
        if read
            .into_iter()
            .flatten()
            .any(|read| matches!((read.canonicalize(), path.canonicalize()), (Ok(read), Ok(path)) if read == path))
        {
            return Err(HeldOut::Path(path).refused(others).into());
        }
        if !path.exists() {
            let allowed = "a share above 0 and below 1, a number of games, or a path of records or of a data set";
            return Err(HeldOut::Path(path).refused(allowed).into());
        }
        // What build-dataset writes has this file in it; everything else is records.
        let source = match path.join("dataset.json").is_file() {
            true => SourceFlags { records: None, data: Some(path.clone()), part: Default::default() },
            false => SourceFlags { records: Some(path.clone()), data: None, part: source.part.clone() },
        };
        let held_out = Self::read(&source, output)?;
        // Some in both are said (`held_out_text`); a copy of the same games measures nothing.
        if held_out.dataset.n_parents() > 0 && held_out.games().is_subset(&all.games()) {
            return Err(HeldOut::Path(path).refused(others).into());
        }
        Ok((all, Some(held_out)))
    }

    /// Hashes of the games.
    fn games(&self) -> HashSet<u64> {
        self.dataset.shards().iter().flat_map(|shard| shard.games.iter().copied()).collect()
    }

    /// What is learnt from, and the share that is held out, as `part` asked for it.
    fn split(self, share: f64, part: &HeldOut) -> Result<(Self, Option<Self>)> {
        let (train, test) = self.dataset.split(share)?;
        if train.n_parents() == 0 || test.n_parents() == 0 {
            let games = count(self.facts.distinct_games, "game");
            return Err(Usage(format!("option held-out: {part} of {games} leaves one side without a game")).into());
        }
        let part = |dataset: Dataset, name: &str| {
            let facts = dataset.facts();
            Self { dataset, facts, source: format!("{} ({name})", self.source), seconds: self.seconds }
        };
        Ok((part(train, "learnt from"), Some(part(test, "held out"))))
    }

    /// What is said of games held out: how many, and how many of them are learnt from too.
    pub fn held_out_text(&self, train: &Self) -> String {
        let both = self.games().intersection(&train.games()).count() as u64;
        let (games, parents) = (count(self.facts.distinct_games, "game"), count(self.facts.parents, "parent"));
        let warning = if both > 0 { format!("; {} of them learnt from too", thousands(both)) } else { String::new() };
        format!("held out     {games}, {parents}{warning}\n")
    }

    /// Reads with a clock.
    ///
    /// # Errors
    /// Those of reading.
    pub fn timed(path: &Path, read: impl FnOnce() -> Result<Dataset>) -> Result<Self> {
        let start = Instant::now();
        let dataset = read()?;
        let seconds = start.elapsed().as_secs_f64();
        let facts = dataset.facts();
        Ok(Self { dataset, facts, source: path.display().to_string(), seconds })
    }

    /// What was left out, on stderr. Nothing more can be done if that is closed.
    pub fn say_skipped(&self) {
        let skipped = &self.facts.origin.skipped;
        for one in skipped.iter().take(SHOWN) {
            let _ = writeln!(io::stderr(), "left out: {}: {}", one.source, one.reason);
        }
        if skipped.len() > SHOWN {
            let _ = writeln!(io::stderr(), "left out: {} more", thousands((skipped.len() - SHOWN) as u64));
        }
    }

    /// What there is, in some lines.
    pub fn text(&self) -> String {
        let Facts { shards, parents, children, distinct_games, distinct_vectors, zero_share, bytes, origin, .. } =
            &self.facts;
        let plies = &origin.ply_window;
        let step = if plies.step == 1 { String::new() } else { format!(", step {}", plies.step) };
        // A game that is recorded several times counts as often.
        let repeated = origin.games.saturating_sub(*distinct_games);
        let repeated = if repeated > 0 { format!(" and {}", count(repeated, "repeat")) } else { String::new() };
        let mut text = format!(
            "games        {}, {}{repeated}; half-moves {} to {}{step}\n",
            self.source,
            count(*distinct_games, "game"),
            plies.start,
            plies.end.saturating_sub(1)
        );
        if origin.short > 0 || !origin.skipped.is_empty() {
            let skipped = origin.skipped.len() as u64;
            text += &format!(
                "left out     {} shorter than the window, {} with faults\n",
                thousands(origin.short),
                thousands(skipped)
            );
        }
        text + &format!(
            "positions    {} with {} children ({:.1} each), {}, {:.1} MB, read in {}\ndifferences  {} distinct, {} of the children have none\n",
            count(*parents, "parent"),
            thousands(*children),
            *children as f64 / (*parents).max(1) as f64,
            count(*shards, "shard"),
            *bytes as f64 / 1e6,
            seconds(self.seconds),
            thousands(*distinct_vectors),
            percent(*zero_share)
        )
    }
}

/// Reads records, with a bar.
///
/// # Errors
/// Those of the library.
pub fn games(path: &Path, output: &OutputFlags) -> warpplay::Result<Records> {
    let bar = output.bar(0);
    let records = records::read(path, |progress| {
        bar.set_length(progress.n_steps.unwrap_or(0));
        bar.set_position(progress.steps);
        progress.go_on()
    });
    bar.finish_and_clear();
    records
}

/// The share that a part of games with these hashes is; `None` for nothing held out. The library holds the games out whose hash is below the share of all
/// numbers: N games are held out by a share between the hashes of the N-th and the next.
///
/// # Errors
/// [`Usage`] for a number that leaves no game to learn from, and for a path.
pub fn share_of(part: &HeldOut, hashes: impl Iterator<Item = u64>) -> Result<Option<f64>> {
    const ALL_NUMBERS: f64 = 18_446_744_073_709_551_616.0;
    let n = match part {
        HeldOut::Share(share) => return Ok(Some(*share)),
        HeldOut::Number(0) => return Ok(None),
        HeldOut::Number(n) => *n,
        HeldOut::Path(_) => {
            return Err(part.refused("a share above 0 and below 1, or a number of games").into());
        }
    };
    let games: Vec<u64> = hashes.collect::<BTreeSet<u64>>().into_iter().collect();
    let at = usize::try_from(n).unwrap_or(usize::MAX);
    let Some(&next) = games.get(at) else {
        return Err(part.refused(format!("0 to {} of {} games", games.len().saturating_sub(1), games.len())).into());
    };
    let between = games[at - 1] as f64 / 2.0 + next as f64 / 2.0;
    let limit = between as u64;
    ensure!(
        games[at - 1] < limit && limit <= next,
        "option held-out: no share divides the games after {n}: take another number"
    );
    Ok(Some(between / ALL_NUMBERS))
}

/// The builder for a part of some records.
///
/// # Errors
/// `--limit 0`.
pub fn builder(part: &PartFlags) -> Result<Builder> {
    let mut builder = Dataset::builder().plies(part.plies());
    if let Some(games) = part.games()? {
        builder = builder.games(games);
    }
    if let Some(parents) = part.shard {
        builder = builder.shard_parents(parents as usize);
    }
    Ok(builder)
}

/// The objective on games that were not learnt from.
#[derive(serde::Serialize)]
pub struct Measured {
    parents: u64,
    children: u64,
    /// One for each row of the trajectory.
    pub j: Vec<f64>,
}

impl Measured {
    /// Measures it.
    ///
    /// # Errors
    /// Values that are no numbers.
    pub fn measure(data: &Data, objective: Objective, rows: &[Row]) -> Result<Self> {
        let histogram = Histogram::from_shards(&data.dataset.views());
        let j = |row: &Row| Ok(histogram.evaluate(&objective, &row.values)?.j());
        let j = rows.iter().map(j).collect::<Result<Vec<f64>>>()?;
        Ok(Self { parents: data.facts.parents, children: data.facts.children, j })
    }
}
