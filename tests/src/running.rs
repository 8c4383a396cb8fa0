//! Programs at work, which end with the test that started them.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::programs::send;

/// A program at work without input, in a process group of its own. What it says on stderr goes to a file: a pipe that nobody reads would hold it up. Where it has not ended when
/// this is dropped, it is killed with all that it started.
pub struct Running {
    /// The program.
    pub child: Child,
    stderr: File,
}

impl Running {
    /// Starts it; its stdout is as the command says.
    ///
    /// # Panics
    /// If it does not start.
    #[track_caller]
    pub fn start(command: &mut Command) -> Self {
        let stderr = tempfile::tempfile().expect("a temporary file");
        let copy = stderr.try_clone().expect("a second handle");
        let child = command.stdin(Stdio::null()).stderr(copy).process_group(0).spawn().expect("the program starts");
        Self { child, stderr }
    }

    /// Whether it has not ended.
    ///
    /// # Panics
    /// If the system does not know the program.
    pub fn is_at_work(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_none()
    }

    /// Kills it with all that it started, where it has not ended.
    pub fn kill(&mut self) {
        // The number of a process that was waited for may be another's.
        if let Ok(None) = self.child.try_wait() {
            let _ = send("KILL", &format!("-{}", self.child.id()));
            let _ = self.child.wait();
        }
    }

    /// What it has said on stderr; to be asked when it has ended.
    ///
    /// # Panics
    /// If the system cannot read it.
    pub fn said(&mut self) -> String {
        let mut bytes = Vec::new();
        self.stderr.rewind().and_then(|()| self.stderr.read_to_end(&mut bytes)).expect("a file");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits for its end, which must be a success.
    ///
    /// # Errors
    /// Its status and what it has said.
    ///
    /// # Panics
    /// If the system does not know the program.
    pub fn end(&mut self) -> Result<(), String> {
        let status = self.child.wait().expect("a child");
        if status.success() { Ok(()) } else { Err(format!("{status}: {}", self.said())) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_program_ends_with_all_that_it_started() {
        // The second program has the first one's stdout: the pipe ends when both have.
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & echo started; sleep 60"]).stdout(Stdio::piped());
        let mut running = Running::start(&mut command);
        let mut stdout = running.child.stdout.take().expect("piped");
        let mut first = [0; 7];
        stdout.read_exact(&mut first).expect("a word");
        let start = Instant::now();
        drop(running);
        stdout.read_to_end(&mut Vec::new()).expect("the end");
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn more_than_a_pipe_holds_can_be_said() {
        let mut command = Command::new("sh");
        command.args(["-c", "head -c 300000 /dev/zero | tr '\\0' x >&2; exit 3"]);
        let said = Running::start(&mut command).end().expect_err("it fails");
        assert!(said.starts_with("exit status: 3: xxx") && said.len() > 300_000, "{} bytes", said.len());
    }
}
