//! What the benches of all families share: flags, the line about the machine, sections, and how a bench ends.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use warpplay::{Device, Error, Result};

use crate::output::Output;

/// Flags of every bench.
#[derive(clap::Args, Debug)]
pub struct Flags {
    /// Small and short: a look at everything in some seconds, no figures to keep
    #[arg(long)]
    pub quick: bool,

    /// What to run on: auto (the first GPU, else cpu), cuda, cuda:1 and so on, cpu, simt
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: String,

    /// Seconds of one row [default: 2, or 0.2 with --quick]
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,

    /// Write one line of JSON a row to this file, or with - to stdout (the tables then go to stderr)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Given by cargo; has no meaning here
    #[arg(long, hide = true)]
    bench: bool,
}

impl Flags {
    /// The device that is asked for.
    pub fn device(&self) -> Result<Device> {
        Device::parse(&self.device)
    }

    /// Seconds of a row: what was asked for, or 2, or 0.2 for a quick run.
    ///
    /// # Errors
    /// [`Error::Option`] unless it is a finite number above 0.
    pub fn seconds(&self) -> Result<f64> {
        let seconds = self.seconds.unwrap_or(if self.quick { 0.2 } else { 2.0 });
        if seconds.is_finite() && seconds > 0.0 {
            return Ok(seconds);
        }
        Err(Error::option("seconds", seconds, "a finite number above 0"))
    }

    /// Where results go, opened.
    pub fn output(&self) -> anyhow::Result<Output> {
        Output::new(self.json.as_deref())
    }

    /// Says what runs where; `more`, an object, joins the line of JSON.
    pub fn about(&self, output: &mut Output, device: &Device, more: Value) -> anyhow::Result<()> {
        let (name, cpu) = (device.name(), Device::cpu().name());
        let (seconds, threads) = (self.seconds()?, rayon::current_num_threads());
        let mut about = json!({
            "section": "about", "package": env!("CARGO_PKG_NAME"), "bench": env!("CARGO_CRATE_NAME"), "started": started(), "version": env!("CARGO_PKG_VERSION"), "quick": self.quick, "seconds": seconds,
            "device": device.to_string(), "device_name": name, "cpu_name": cpu, "cpu_threads": threads, "arguments": arguments(),
        });
        if let (Some(fields), Value::Object(more)) = (about.as_object_mut(), more) {
            fields.extend(more);
        }
        output.json(&about)?;
        output.text(&format!("device {device} ({name}), CPU {cpu} with {threads} threads, {seconds} s a row\n"))
    }
}

/// The flags as they were given, without what cargo adds, quoted for a shell.
fn arguments() -> String {
    let given: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
        .filter(|argument| argument != "--bench")
        .map(|word| match word.chars().all(|c| c.is_ascii_alphanumeric() || "-_=+./,:".contains(c)) {
            true => word,
            false => format!("'{}'", word.replace('\'', "'\\''")),
        })
        .collect();
    given.join(" ")
}

/// Seconds since 1970.
fn started() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// Sections, each with what measures it.
pub type Sections<'a, S, B> = &'a [(S, fn(&mut B) -> anyhow::Result<()>)];

/// Measures the sections that are wanted; all if none is named.
pub fn measure<S: PartialEq, B>(bench: &mut B, wanted: &[S], sections: Sections<'_, S, B>) -> anyhow::Result<()> {
    for (section, measure) in sections {
        if wanted.is_empty() || wanted.contains(section) {
            measure(bench)?;
        }
    }
    Ok(())
}

/// The end of a bench: 0; 1 if rows failed or something else went wrong; 2 for an option that is not allowed.
pub fn exit(result: anyhow::Result<usize>) -> ExitCode {
    match result {
        Ok(0) => ExitCode::SUCCESS,
        Ok(n_failed) => {
            eprintln!("error: {n_failed} rows failed, see the tables");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            let usage = matches!(error.downcast_ref(), Some(Error::Option { .. }));
            ExitCode::from(if usage { 2 } else { 1 })
        }
    }
}
