//! Tests that could not do all of their work: said aloud, and counted by `cargo xtask test`.

use std::fmt::Display;
use std::io::Write;
use std::path::Path;

/// Environment variable that names the file to which every skip adds a line: program, test and reason, with tabulators between.
const LIST: &str = "WARPPLAY_SKIPPED_LIST";

/// Says that this test leaves something out, and why.
///
/// # Panics
/// If the list cannot be written.
pub fn skipped(reason: impl Display) {
    let reason = reason.to_string().replace('\n', " ");
    println!("skipped: {reason}");
    let Some(path) = std::env::var_os(LIST) else { return };
    // libtest gives a test's thread the test's name.
    let thread = std::thread::current();
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(Path::file_name).unwrap_or_default().display();
    let line = format!("{program}\t{}\t{reason}\n", thread.name().unwrap_or("a thread without a name"));
    let file = std::fs::OpenOptions::new().create(true).append(true).open(&path);
    // One write, so that lines of several programs do not mix.
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
