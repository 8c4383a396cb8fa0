//! Running other programs: where, for how long, and what they said.

use std::env;
use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// The workspace's root folder.
pub fn root() -> PathBuf {
    let here =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or_else(|| here.clone(), Path::to_path_buf)
}

/// Cargo's target folder: `CARGO_TARGET_DIR`, else `target` in the root.
pub fn target_dir() -> PathBuf {
    let root = root();
    match env::var_os("CARGO_TARGET_DIR") {
        // `join` keeps an absolute path as it is.
        Some(dir) if !dir.is_empty() => root.join(dir),
        _ => root.join("target"),
    }
}

/// Cargo, in the user's folder if that lies in the workspace (so that relative file names mean what the user meant), else in
/// the root: cargo reads `.cargo/config.toml` from the working folder and those above it.
pub fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let root = root();
    let here = env::current_dir().ok().filter(|here| here.starts_with(&root));
    command.current_dir(here.unwrap_or(root)).args(args);
    command
}

/// The command line as a user would type it, for messages.
pub fn line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Runs to the end with our own input and output; an exit status other than 0 is an error.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start `{}`", line(command)))?;
    expect_success(command, status)
}

/// Becomes `command`, so that Ctrl-C and the exit status are the program's own. Returns only if it cannot start.
pub fn replace(command: &mut Command) -> anyhow::Error {
    let error = command.exec();
    anyhow::Error::new(error).context(format!("cannot start `{}`", line(command)))
}

/// Runs without input for at most `limit`, its output on our stderr; stops it, with all that it started, when the time is up.
pub fn run_within(command: &mut Command, limit: Duration) -> Result<()> {
    // A process group of its own: the time limit then also reaches what the program started.
    command.stdin(Stdio::null()).stdout(std::io::stderr()).process_group(0);
    let mut child = command.spawn().with_context(|| format!("cannot start `{}`", line(command)))?;
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return expect_success(command, status);
        }
        if Instant::now() >= end {
            // The shell's own `kill`: a small machine may lack the program.
            let _ = Command::new("sh").arg("-c").arg(format!("kill -KILL -{}", child.id())).status();
            child.wait()?;
            bail!("`{}` took longer than {} s", line(command), limit.as_secs());
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// The standard output of a program that succeeds; `None` if it cannot start or fails.
pub fn output_of(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(args)
        .current_dir(root())
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

/// Whether `program` is in a folder of `PATH`.
pub fn is_on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// Whether a person sits there who can be asked.
pub fn at_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Whether an environment variable is `1` or `true`.
pub fn is_set(variable: &str) -> bool {
    env::var(variable).is_ok_and(|value| value == "1" || value == "true")
}

pub fn expect_success(command: &Command, status: ExitStatus) -> Result<()> {
    if !status.success() {
        bail!("`{}` failed ({status})", line(command));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_hangs_is_stopped_with_its_children() {
        let start = Instant::now();
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & sleep 60"]);
        let error = run_within(&mut command, Duration::from_millis(200)).unwrap_err();
        assert!(error.to_string().contains("took longer than"), "{error}");
        assert!(start.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn a_failure_names_the_command() {
        let error = run_within(Command::new("sh").args(["-c", "exit 3"]), Duration::from_secs(20)).unwrap_err();
        assert!(error.to_string().starts_with("`sh -c exit 3` failed"), "{error}");
        let error = run(&mut Command::new("warpplay-no-such-program")).unwrap_err();
        assert_eq!(error.to_string(), "cannot start `warpplay-no-such-program`");
    }

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("Cargo.toml").is_file() && root().join("gpu/builder").is_dir());
    }
}
