//! Reads what is learnt from.

use std::collections::HashSet;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;
use warpplay::shogi::dataset::{Builder, Dataset, Facts};
use warpplay::shogi::material::Histogram;
use warpplay::shogi::{Objective, Row, records};

use crate::common::Usage;
use crate::common::table::{count, seconds, thousands};
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
    pub fn read(source: &SourceFlags) -> Result<Self> {
        match (&source.records, &source.data) {
            (Some(records), None) => Self::of_games(records, &source.part),
            (None, Some(data)) if source.part.given() => {
                let text = "--data with --limit, --game-range, --plies or --shard: a data set holds what was chosen when it was built";
                Err(Usage(format!("{text} ({})", data.display())).into())
            }
            (None, Some(data)) => Self::timed(data, || Ok(Dataset::open(data)?)),
            _ => Err(Usage("either --records or --data is needed".into()).into()),
        }
    }

    /// Reads what is learnt from, and what is held out: a share of it, or a path of its own.
    ///
    /// # Errors
    /// Those of [`read`](Self::read); a share that is none, a path that is not there.
    pub fn divided(source: &SourceFlags, held_out: Option<&str>) -> Result<(Self, Option<Self>)> {
        let all = Self::read(source)?;
        let Some(held_out) = held_out else { return Ok((all, None)) };
        if let Ok(share) = held_out.parse::<f64>() {
            let (train, test) = all.dataset.split(share)?;
            if train.n_parents() == 0 || test.n_parents() == 0 {
                let games = count(all.facts.distinct_games, "game");
                return Err(Usage(format!("option held-out: {share} of {games} leaves one side without a game")).into());
            }
            let part = |dataset: Dataset, name: &str| {
                let facts = dataset.facts();
                Self { dataset, facts, source: format!("{} ({name})", all.source), seconds: all.seconds }
            };
            return Ok((part(train, "learnt from"), Some(part(test, "held out"))));
        }
        let path = PathBuf::from(held_out);
        if !path.exists() {
            let text = format!("option held-out: {held_out:?} is not allowed (a share above 0 and below 1, or a path)");
            return Err(Usage(text).into());
        }
        // What build-dataset writes has this file in it; everything else is records.
        let source = match path.join("dataset.json").is_file() {
            true => SourceFlags { records: None, data: Some(path), part: Default::default() },
            false => SourceFlags { records: Some(path), data: None, part: source.part.clone() },
        };
        Ok((all, Some(Self::read(&source)?)))
    }

    /// What is said of games held out: how many, and how many of them are learnt from too.
    pub fn held_out_text(&self, train: &Self) -> String {
        let games = |data: &Self| -> HashSet<u64> {
            data.dataset.shards().iter().flat_map(|shard| shard.games.iter().copied()).collect()
        };
        let both = games(self).intersection(&games(train)).count() as u64;
        let (games, parents) = (count(self.facts.distinct_games, "game"), count(self.facts.parents, "parent"));
        let warning = if both > 0 { format!("; {} of them learnt from too", thousands(both)) } else { String::new() };
        format!("held out     {games}, {parents}{warning}\n")
    }

    /// Reads records.
    ///
    /// # Errors
    /// Those of the library.
    pub fn of_games(games: &Path, part: &PartFlags) -> Result<Self> {
        let builder = builder(part)?;
        Self::timed(games, || Ok(builder.build(&records::read(games)?)?))
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
pub struct HeldOut {
    parents: u64,
    children: u64,
    /// One for each row of the trajectory.
    pub j: Vec<f64>,
}

impl HeldOut {
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
