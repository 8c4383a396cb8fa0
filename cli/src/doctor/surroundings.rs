//! What is of use beside the program: a compiler for kernels, Python, data.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::Serialize;
use warpplay_gpu_builder::find_compiler;

/// The folder of large data.
const SHARED_VARIABLE: &str = "WARPPLAY_SHARED";

/// Something beside the program.
#[derive(Serialize)]
pub struct Surrounding {
    pub name: &'static str,
    /// What there is, or why there is nothing.
    pub found: String,
    pub works: bool,
    /// Who needs it.
    pub needed_for: &'static str,
    /// What to do where it is not there.
    pub remedy: Option<&'static str>,
}

impl Surrounding {
    fn new(name: &'static str, needed_for: &'static str, found: Result<String, String>, remedy: &'static str) -> Self {
        match found {
            Ok(found) => Self { name, found, works: true, needed_for, remedy: None },
            Err(found) => Self { name, found, works: false, needed_for, remedy: Some(remedy) },
        }
    }
}

/// Looks for all of them.
pub fn find() -> Vec<Surrounding> {
    vec![
        Surrounding::new(
            "device compiler",
            "building kernels: this repository, and games and kernels of your own",
            find_compiler().map(|compiler| compiler.to_string()).map_err(|error| error.to_string()),
            "install what the text above names, then build again",
        ),
        Surrounding::new(
            "Python",
            "`import warpplay`; nothing in this program",
            python(),
            "cargo xtask wheel, then pip install the wheel that it names",
        ),
        Surrounding::new(
            "shared data",
            "tests against large golden data; no command",
            shared(),
            "none is needed to use the library; for its tests let WARPPLAY_SHARED name the folder",
        ),
    ]
}

/// Versions of Python and of the library in it.
fn python() -> Result<String, String> {
    const ASK: &str = "import platform; print('Python', platform.python_version(), end=', ', flush=True); import warpplay; print('warpplay', warpplay.__version__)";
    let output = Command::new("python3").args(["-c", ASK]).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("python3: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_string();
    match output.status.success() {
        true => Ok(said),
        false => {
            let reason = String::from_utf8_lossy(&output.stderr);
            let reason = reason.trim().lines().last().unwrap_or("it fails").to_string();
            Err(format!("{said} {reason}").trim().to_string())
        }
    }
}

/// The folder of large data.
fn shared() -> Result<String, String> {
    let Some(folder) = std::env::var_os(SHARED_VARIABLE).map(PathBuf::from) else {
        return Err(format!("{SHARED_VARIABLE} is not set"));
    };
    match folder.is_dir() {
        true => Ok(folder.display().to_string()),
        false => Err(format!("{SHARED_VARIABLE}: {} is no folder", folder.display())),
    }
}
