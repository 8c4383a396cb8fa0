//! `cargo xtask`: set-up, the program, tests, the soak, the book, the tables of kernels and of PTX, and benches in one command each.
//!
//! Messages go to stderr. Exit status: 0; 1 when something failed; 2 when the command line is wrong.

mod api;
mod book;
mod bundle;
#[path = "../../cli/src/papers/date.rs"]
mod date;
mod families;
mod kernels;
mod package;
mod plan;
mod process;
mod ptx;
mod setup;
mod soak;
mod stub_driver;
mod tally;
mod tune;
mod wheel;

use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};
use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand};
use warpplay_gpu_builder::PTXAS_VARIABLE;

use families::{FAMILIES, Family};

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    about = "Set-up, programs, tests, the tables of kernels and of PTX, and benches of warpplay"
)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run a family's commands of `warpplay` in release mode; without arguments, a small demonstration on the best device
    // `--help` behind the family is the program's.
    #[command(disable_help_flag = true)]
    Run {
        /// The family of algorithms
        #[arg(value_parser = PossibleValuesParser::new(families::names()))]
        family: String,
        /// Start so many processes that work together, with mpirun: before the other arguments, of shogi and papers only
        #[arg(long, value_name = "N")]
        ranks: Option<usize>,
        /// Arguments of `warpplay FAMILY`, such as `analyse --game gomoku`; `--help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Run the whole proof: all tests and doctests on every back end that is there, and those of Python
    Test {
        /// Leave out the tests of Python, which `wheel --test` runs too; they run only where there are no arguments of `cargo test`
        #[arg(long)]
        no_python: bool,
        /// Arguments of `cargo test`, such as `-p warpplay-tests` or `-- --nocapture`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Write the tables of docs/kernels.md from the headers of all kernels; fail on a kernel that lacks a line of its header
    Kernels {
        /// Write nothing; fail where the page has other tables
        #[arg(long)]
        check: bool,
    },
    /// Write the pages of docs/options from what the commands of `warpplay` say of themselves; a test compares them
    Options,
    /// Write the public API of every published library to docs/api, a line an item
    Api {
        /// Write nothing; fail where the sources have another API, and say what changed
        #[arg(long)]
        check: bool,
    },
    /// Draw docs/pictures with the lines of the pages that show them; a test compares them
    Pictures,
    /// Build the pages as a book in target/book, and fail on a link that leads nowhere
    Book,
    /// List every kernel's registers, shared memory, spills and local memory; fail on an unknown spill
    Ptx,
    /// Run the benches in release mode: of one family, or of all
    Bench {
        /// The family of algorithms
        #[arg(value_parser = PossibleValuesParser::new(families::names()))]
        family: Option<String>,
        /// Arguments of the bench
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Get the compiler for device code and ptxas, where that is possible
    Setup {
        /// Say what is there and what would be done; do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Kill programs while they write, give readers mutants and two writers one file, many times, and show what became of the files
    Soak(soak::Options),
    /// Build tests, benches and the program in release mode and copy them to a folder, for a machine without Rust
    Bundle {
        /// The folder; made if it is not there
        dir: PathBuf,
        /// Also the test and the lesson beside `cust`, which start where there is a driver only
        #[arg(long)]
        cust: bool,
    },
    /// Make the packages of all published crates, with their PTX, in target/package
    Package {
        /// Also compile PTX again in another folder and compare it, and build a crate from the packages alone
        #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "all")]
        verify: Option<package::Verify>,
    },
    /// Build the Python wheel, with the kernels in it, into target/wheels
    Wheel {
        /// Build it without optimising across crates, install it into an environment of its own and run its tests
        #[arg(long)]
        test: bool,
        /// Also install OpenSpiel, scikit-learn, JAX, ONNX and its runtime, mypy and matplotlib there: tests that need them, and the notebooks, must then run
        #[arg(long, requires = "test")]
        peers: bool,
        /// Also install PyTorch there, of some gigabytes: tests that compare with it must then run
        #[arg(long, requires = "test")]
        torch: bool,
        /// Also install PyTorch, CuPy and JAX for a GPU there, of some ten gigabytes: tests that need them must then run
        #[arg(long, requires = "test")]
        cuda: bool,
    },
    /// Write the shares by which `warpplay::tile` chooses tiles, from what `cargo bench -p warpplay --bench tile -- --only bf16,f32 --tiles --json FILE` measured
    Tune {
        /// Results of the bench, of one GPU each
        #[arg(required = true)]
        results: Vec<PathBuf>,
    },
    /// Make a library in the place of the driver's and print its folder, to build with the feature `cust` without the CUDA toolkit: `CUDA_LIBRARY_PATH`, and its lib64 in `LD_LIBRARY_PATH`
    StubDriver,
}

fn main() -> ExitCode {
    match perform(Cli::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            setup::say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn perform(task: Task) -> Result<()> {
    match task {
        Task::Run { family, ranks, arguments } => run(&family, ranks, &arguments),
        Task::Test { no_python, arguments } => test(no_python, &arguments),
        Task::Kernels { check } => kernels::run(check),
        Task::Api { check } => api::make(check),
        Task::Options => write_anew("options::", "WARPPLAY_WRITE_OPTIONS"),
        Task::Pictures => write_anew("picture::", "WARPPLAY_WRITE_PICTURES"),
        Task::Book => book::make(),
        Task::Ptx => ptx::list(),
        Task::Bench { family, arguments } => bench(family.as_deref(), &arguments),
        Task::Setup { dry_run: true } => {
            setup::describe();
            Ok(())
        }
        Task::Setup { dry_run: false } => {
            if let Some(compiler) = setup::device_compiler()? {
                setup::say(&format!("device compiler: {}", compiler));
            }
            if let Some(ptxas) = setup::ptxas()? {
                setup::say(&format!("ptxas: {}", ptxas.display()));
            }
            Ok(())
        }
        Task::Soak(options) => {
            setup::device_compiler()?;
            soak::run(options, mpi_features())
        }
        Task::Bundle { dir, cust } => bundle::make(&dir, cust),
        Task::Package { verify } => package::make(verify),
        Task::Wheel { test: false, .. } => wheel::make(),
        Task::Wheel { test: true, peers, torch, cuda } => wheel::test(wheel::Peers { peers, torch, cuda }),
        Task::Tune { results } => tune::run(&results),
        Task::StubDriver => {
            println!("{}", stub_driver::make()?.display());
            Ok(())
        }
    }
}

/// The program `warpplay` with no family but those that are asked for.
const PROGRAM: [&str; 5] = ["--package", "warpplay-cli", "--bin", "warpplay", "--no-default-features"];

fn run(family: &str, ranks: Option<usize>, arguments: &[String]) -> Result<()> {
    let family = families::find(family).context("the command line's parser knows the families")?;
    setup::device_compiler()?;
    let mut command = match ranks {
        Some(ranks) => ranks_of(family, ranks)?,
        None => {
            let mut command = process::cargo(&["run", "--release"]);
            command.args(PROGRAM).args(["--features", family.features, "--"]);
            command
        }
    };
    command.arg(family.name);
    if arguments.is_empty() {
        command.args(family.arguments);
        setup::say(&format!("warpplay {} {}", family.name, family.arguments.join(" ")));
    } else {
        command.args(arguments);
    }
    Err(process::replace(&mut command))
}

/// Builds a family's program with ranks and gives `mpirun` with it, to which the program's arguments can be added.
fn ranks_of(family: &Family, ranks: usize) -> Result<Command> {
    if !family.ranks {
        let with: Vec<_> = FAMILIES.iter().filter(|family| family.ranks).map(|family| family.name).collect();
        bail!("option ranks: {} has none (families with ranks: {})", family.name, with.join(", "));
    }
    if ranks == 0 {
        bail!("option ranks: 0 is not allowed (1 or more)");
    }
    setup::mpi()?;
    let features = format!("{},mpi", family.features);
    process::run(process::cargo(&["build", "--release"]).args(PROGRAM).args(["--features", &features]))?;
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let mut command = Command::new("mpirun");
    command.args(plan::mpirun(ranks, cores, setup::is_root()));
    if std::env::var_os("RAYON_NUM_THREADS").is_none() {
        // The ranks share the cores.
        command.env("RAYON_NUM_THREADS", (cores / ranks).max(1).to_string());
    }
    command.arg(process::target_dir().join("release/warpplay"));
    Ok(command)
}

fn bench(family: Option<&str>, arguments: &[String]) -> Result<()> {
    setup::device_compiler()?;
    let benches = families::FAMILIES.iter().filter(|row| family.is_none_or(|family| family == row.name));
    for (package, bench) in benches.map(|row| row.bench) {
        process::run(process::cargo(&["bench", "--package", package, "--bench", bench, "--"]).args(arguments))?;
    }
    Ok(())
}

fn test(no_python: bool, arguments: &[String]) -> Result<()> {
    setup::device_compiler()?;
    // Ranks that are processes need MPI, and pages a browser: in CI both are demanded, else taken where they are. One build serves the tests with MPI and those without.
    if process::is_set("CI") {
        setup::mpi()?;
        setup::browser()?;
    }
    let features = mpi_features();
    let mut tally = tally::Tally::new()?;
    let mut command = process::cargo(&["test", "--workspace", "--no-fail-fast"]);
    if let Some(path) = setup::ptxas()? {
        command.env(PTXAS_VARIABLE, path);
    }
    let result = tally.run(command.args(features).args(arguments));
    let python = match (no_python, arguments) {
        (true, _) => {
            tally.leave_out_python("--no-python");
            Ok(())
        }
        (false, []) => wheel::test_sources(&mut tally, features),
        (false, _) => {
            tally.leave_out_python("arguments of cargo test were given");
            Ok(())
        }
    };
    // Also after a failure: it is the first thing that a reader of the failure asks.
    report_back_ends(features);
    println!("\n{}", tally.text()?);
    result.and(python)
}

/// Runs the tests of this name of `commands` with a variable that makes them write what they compare else.
fn write_anew(tests: &str, variable: &str) -> Result<()> {
    let mut command = process::cargo(&["test", "--quiet", "--package", "warpplay-tests", "--test", "commands", "--"]);
    command.args([tests, "--nocapture"]).env(variable, "1");
    process::run(&mut command)
}

/// What the tests of ranks need beside the default features.
const MPI_FEATURES: &str = "warpplay-tests/mpi,warpplay-cli/mpi";

/// The arguments of cargo that build the tests of ranks, where that is possible.
fn mpi_features() -> &'static [&'static str] {
    if setup::mpi_is_there() { &["--features", MPI_FEATURES] } else { &[] }
}

/// Prints which back ends this machine has, as `warpplay doctor` finds them; the tests have built it, with these features of the workspace.
fn report_back_ends(features: &[&str]) {
    // With a test, as the suite is built: programs alone have other features.
    let build = ["build", "--quiet", "--profile", "test", "--workspace", "--bin", "warpplay", "--test", "structure"];
    let program = process::target_dir().join("debug/warpplay");
    let output = process::run(process::cargo(&build).args(features))
        .and_then(|()| Ok(Command::new(program).arg("doctor").stderr(Stdio::inherit()).output()?));
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let lines: Vec<&str> =
        text.lines().skip_while(|line| !line.starts_with("Back ends")).take_while(|line| !line.is_empty()).collect();
    if lines.is_empty() {
        setup::say("`warpplay doctor` did not say which back ends there are");
    } else {
        println!("\n{}", lines.join("\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_behind_a_family_is_the_programs() {
        let cli = Cli::try_parse_from(["xtask", "run", "cfr", "--help"]).expect("arguments of the program");
        let Task::Run { arguments, .. } = cli.task else { panic!("run") };
        assert_eq!(arguments, ["--help"]);
    }

    #[test]
    fn ranks_stand_before_the_arguments_of_the_program() {
        let parse = |line: &[&str]| match Cli::try_parse_from([&["xtask", "run"], line].concat()).map(|cli| cli.task) {
            Ok(Task::Run { family, ranks, arguments }) => (family, ranks, arguments.join(" ")),
            Ok(_) => panic!("not run"),
            Err(error) => panic!("{error}"),
        };
        let line = ["shogi", "--ranks", "2", "learn", "--init", "3"];
        assert_eq!(parse(&line), ("shogi".into(), Some(2), "learn --init 3".into()));
        assert_eq!(parse(&["shogi", "learn", "--ranks"]), ("shogi".into(), None, "learn --ranks".into()));
        assert_eq!(parse(&["mlp", "--help-of-the-program"]).2, "--help-of-the-program");
    }

    #[test]
    fn a_soak_without_rounds_is_a_wrong_command_line() {
        for option in ["--kills", "--mutants"] {
            let error = Cli::try_parse_from(["xtask", "soak", option, "0"]).err().expect("none at all");
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains(option), "{error}");
        }
        assert!(Cli::try_parse_from(["xtask", "soak", "--kills", "1", "--mutants", "1"]).is_ok());
    }

    #[test]
    fn wrong_ranks_are_named() {
        let of = |family: &str| families::find(family).unwrap();
        let error = ranks_of(of("shogi"), 0).unwrap_err().to_string();
        assert_eq!(error, "option ranks: 0 is not allowed (1 or more)");
        let error = ranks_of(of("mcts"), 2).unwrap_err().to_string();
        assert_eq!(error, "option ranks: mcts has none (families with ranks: cfr, shogi, papers)");
    }
}
