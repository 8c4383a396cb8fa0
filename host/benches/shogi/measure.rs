//! What the sections share: device, games, shards, a clock.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;
use serde_json::{Value, json};
use warpplay::shogi::Shard;
use warpplay::shogi::dataset::Dataset;
use warpplay::shogi::records::{self, Records};
use warpplay::{Backend, Device, Progress, Result};

use crate::output::{Output, Table};
use crate::published::CHILDREN;

pub struct Bench {
    pub device: Device,
    pub seconds: f64,
    pub quick: bool,
    pub output: Output,
    pub records: Records,
    /// All positions, in large shards.
    pub whole: Dataset,
    /// The same in small ones, which are repeated to reach a number of children.
    small: Dataset,
    wanted: u64,
}

/// The games of the repository: `cargo bench` tells the package's folder; without cargo the bench is started in the repository's.
fn games_of_the_repository() -> PathBuf {
    let root =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(PathBuf::new, |package| PathBuf::from(package).join(".."));
    root.join("tests/golden/shogi/first_100.usi.txt.gz")
}

impl Bench {
    /// Reads the games and builds the positions.
    pub fn open(
        device: Device,
        seconds: f64,
        quick: bool,
        output: Output,
        games: Option<PathBuf>,
        children: Option<u64>,
    ) -> anyhow::Result<Self> {
        let path = games.unwrap_or_else(games_of_the_repository);
        let mut records =
            records::read(&path, Progress::go_on).context("no games: --games names a file or a folder of them")?;
        let simt = device.backend() == Backend::Simt;
        if quick || simt {
            records.games.truncate(if simt { 2 } else { 100 });
        }
        let build = |parents| Dataset::builder().shard_parents(parents).build(&records);
        let (whole, small) = (build(1 << 18)?, build(if quick || simt { 16 } else { 1024 })?);
        let wanted = children.unwrap_or(match (quick, simt) {
            (_, true) => 1000,
            (true, _) => 100_000,
            _ => CHILDREN,
        });
        Ok(Self { device, seconds, quick, output, records, whole, small, wanted })
    }

    /// Shards of the paper's job, some of them several times.
    pub fn job(&self) -> Vec<&Shard> {
        self.shards_of(self.wanted)
    }

    /// Children of these.
    pub fn n_job_children(&self) -> u64 {
        n_children(&self.job())
    }

    /// Shards with about so many children.
    pub fn shards_of(&self, wanted: u64) -> Vec<&Shard> {
        let mut have = 0;
        let mut shards = Vec::new();
        for shard in self.small.shards().iter().cycle() {
            if have >= wanted {
                break;
            }
            have += shard.n_children() as u64;
            shards.push(shard);
        }
        shards
    }

    /// The device, if kernels run on it.
    pub fn kernels(&self) -> Option<Device> {
        (self.device.backend() != Backend::Cpu).then(|| self.device.clone())
    }

    /// Seconds of a run: the median, after one that is not timed where `warm`; at least one, then as many as fit.
    ///
    /// # Errors
    /// As `run` says.
    pub fn clock(&self, warm: bool, mut run: impl FnMut() -> Result<()>) -> Result<f64> {
        if warm {
            run()?;
        }
        let (begin, mut times) = (Instant::now(), Vec::new());
        loop {
            let start = Instant::now();
            run()?;
            times.push(start.elapsed().as_secs_f64());
            if begin.elapsed().as_secs_f64() >= self.seconds {
                times.sort_by(f64::total_cmp);
                return Ok(times[times.len() / 2]);
            }
        }
    }

    /// A row that was measured, or why not: cells after the names, and fields of its line of JSON.
    ///
    /// # Errors
    /// Those of writing.
    pub fn row(
        &mut self,
        table: &mut Table,
        section: &str,
        names: &[(&str, &str)],
        measured: Result<(Vec<String>, Value)>,
    ) -> anyhow::Result<()> {
        let mut line = json!({ "section": section });
        for (name, value) in names {
            line[*name] = json!(value);
        }
        let cells = match measured {
            Ok((cells, Value::Object(fields))) => {
                for (name, value) in fields {
                    line[&name] = value;
                }
                cells
            }
            Ok((cells, _)) => cells,
            Err(error) => {
                line["error"] = json!(error.to_string());
                vec![self.output.failed(&error)]
            }
        };
        table.row(names.iter().map(|(_, value)| value.to_string()).chain(cells).collect());
        self.output.json(&line)
    }
}

/// Children of shards.
pub fn n_children(shards: &[&Shard]) -> u64 {
    shards.iter().map(|shard| shard.n_children() as u64).sum()
}
