//! `warpplay papers shogi_bonanza`: the paper's tables, figures and claims beside ours; and its learning, once.
//!
//! ```text
//! warpplay papers shogi_bonanza --quick
//! warpplay papers shogi_bonanza --records games.usi.txt.gz --json run.json --plots plots
//! mpirun -n 4 warpplay papers shogi_bonanza --records games.usi.txt.gz --only table2
//! warpplay papers shogi_bonanza --records games.usi.txt.gz --iterations 50 --init 3 --plies 40..80 --json run.json
//! warpplay papers shogi_bonanza --records games.usi.txt.gz --iterations 50 --tables --quiescence --plots plots
//! ```

mod learning;

use std::path::PathBuf;

use anyhow::Result;
use warpplay::shogi::ranks::{self, Ranks};
use warpplay_papers::experiment::Paper as _;
use warpplay_papers::shogi_bonanza::experiments::{Repetition, Settings, games};
use warpplay_papers::shogi_bonanza::{PaperEngine, Split};

use crate::common::flags::ThreadsFlag;
use crate::common::{self, OutputFlags, Usage, group};
use crate::papers::items::ItemFlags;
use crate::shogi::data::Data;
use crate::shogi::data_flags::{HeldOutFlag, PartFlags, RepeatFlag, SourceFlags};
use crate::shogi::rule_flags::RuleFlags;

/// 「MPIまたはCUDAを用いた将棋評価関数学習プログラムの並列化」: its tables, figures and claims beside ours
///
/// With --iterations, --init, --engine, --split, --held-out, --tables or --plot-iterations its learning is run once instead.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(flatten)]
    pub items: ItemFlags,

    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub rule: RuleFlags,

    #[command(flatten)]
    pub held_out: HeldOutFlag,

    /// Learn once, with this many updates; the paper used 50 [default: 50, where the learning is run once]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub iterations: Option<u32>,

    /// Implementation of the objective if learning is run once: paper (the paper's positions of 96 bytes and its two kernels), paper95 (the same at 95 bytes), persistent, plain,
    /// fused, histogram (sums over the distinct differences) [default: histogram]
    #[arg(long, value_name = "ENGINE", alias = "form")]
    pub engine: Option<PaperEngine>,

    #[command(flatten)]
    pub repeat: RepeatFlag,
    #[command(flatten)]
    pub threads: ThreadsFlag,

    /// What is divided among ranks if learning is run once: data (each has a share of the positions), features (each evaluates a share of the 12 changed values, as in the paper)
    /// [default: data]
    #[arg(long, value_name = "WHAT")]
    pub split: Option<Split>,

    /// Learn once, and measure the items table2, table6 and table7 on the same positions; Table 7 with as many updates
    #[arg(long)]
    pub tables: bool,

    /// Updates of each measurement of Tables 2 and 6
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub table_iterations: u32,

    /// Also learn with quiescence search, for Table 7
    #[arg(long)]
    pub quiescence: bool,

    /// Repeat the search after this many updates
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..), requires = "quiescence", allow_negative_numbers = true)]
    pub quiescence_every: u32,

    /// Updates in the figures if learning is run once [default: 100]
    #[arg(long, value_name = "N", requires = "plots", allow_negative_numbers = true)]
    pub plot_iterations: Option<u32>,
}

/// Records, or a data set that was built from some; neither with --quick, which then takes a hundred games that are part of the program.
#[derive(clap::Args, Clone, Debug)]
pub struct Source {
    /// Game records: a file or a folder (CSA, KIF, KI2, lists of USI moves; plain or .gz); with --quick the default is a hundred built-in games
    #[arg(long, value_name = "PATH", alias = "games", conflicts_with = "data")]
    pub records: Option<PathBuf>,

    /// A data set made by build-dataset
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    #[command(flatten)]
    pub part: PartFlags,
}

impl Source {
    fn flags(&self) -> SourceFlags {
        SourceFlags { records: self.records.clone(), data: self.data.clone(), part: self.part.clone() }
    }

    /// What is read, or the program's own games.
    fn read(&self, quick: bool, output: &OutputFlags) -> Result<Data> {
        if self.records.is_some() || self.data.is_some() || !quick {
            return Data::read(&self.flags(), output);
        }
        if self.part.given() {
            let text = "--limit, --game-range, --plies or --shard without --records: the games of --quick are always used whole";
            return Err(Usage(text.into()).into());
        }
        Data::timed("100 games of the program".as_ref(), || Ok(common::without_results(games)?))
    }
}

impl Args {
    /// The flag by which the learning is run once, if there is one.
    fn once(&self) -> Option<&'static str> {
        [
            ("--iterations", self.iterations.is_some()),
            ("--init", self.rule.init.is_some()),
            ("--engine", self.engine.is_some()),
            ("--split", self.split.is_some()),
            ("--held-out", self.held_out.held_out.is_some()),
            ("--tables", self.tables),
            ("--plot-iterations", self.plot_iterations.is_some()),
        ]
        .into_iter()
        .find_map(|(flag, given)| given.then_some(flag))
    }

    fn settings(&self) -> warpplay::Result<Settings> {
        Ok(Settings {
            objective: self.rule.objective()?,
            table_iterations: self.table_iterations,
            repeat: self.repeat.repeat,
            threads: self.threads.threads,
            quiescence_every: self.quiescence.then_some(self.quiescence_every),
            ..Settings::default()
        })
    }
}

/// Runs the command.
///
/// # Errors
/// Those of the library; a file that cannot be written; ranks that disagree.
pub fn run(args: &Args) -> Result<()> {
    args.items.output.start_log();
    let Some(flag) = args.once() else { return group::join("shogi_bonanza", |ranks| items(args, ranks)) };
    let items = &args.items;
    let of_items = [
        ("--only", !items.only.is_empty()),
        ("--list", items.list),
        ("--quick", items.quick),
        ("--checkpoint", items.journal.checkpoint.is_some()),
        ("--resume", items.journal.resume.is_some()),
        ("--replay", items.replay.is_some()),
    ];
    if let Some((wrong, _)) = of_items.into_iter().find(|(_, given)| *given) {
        return Err(
            Usage(format!("{flag} with {wrong}: {flag} runs the learning once, {wrong} is of the items")).into()
        );
    }
    group::join("shogi_bonanza", |ranks| learning::run(args, ranks))
}

/// The items: rank 0 measures and writes, the others take part in Table 2.
fn items(args: &Args, ranks: &dyn Ranks) -> Result<()> {
    let settings = args.settings()?;
    if args.items.list {
        let nothing = Repetition::new(Vec::new(), settings, ranks);
        return if ranks.rank() == 0 { args.items.run("papers shogi_bonanza", &[], &nothing) } else { Ok(()) };
    }
    // Wrong names and devices are found before anything is read.
    args.items.items(&Repetition::new(Vec::new(), settings.clone(), ranks))?;
    args.items.device.open()?;
    let inputs = [("--records", args.source.records.as_deref()), ("--data", args.source.data.as_deref())];
    args.items.expect_apart(&inputs)?;
    let data = args.source.read(args.items.quick, &args.items.output)?;
    let paper = Repetition::new(data.dataset.views(), settings, ranks);
    let same = format!("{:?} {:?}", paper.options()?, args.items.quick);
    ranks::expect_same(ranks, "set of options and positions", &same)?;
    if ranks.rank() > 0 {
        return Ok(paper.serve()?);
    }
    if !args.items.output.quiet {
        data.say_skipped();
        common::print(data.text())?;
    }
    let done = args.items.run("papers shogi_bonanza", &inputs, &paper);
    // The others wait for the next measurement, whatever came of the last.
    let ended = paper.dismiss();
    done?;
    Ok(ended?)
}
