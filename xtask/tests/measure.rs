//! `docs/measure.sh`: with which words it starts the programs of a bundle, which are scripts here.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Notes the words that it is given.
const PROGRAM: &str = "#!/bin/sh\necho \"$@\" >>started\n";

fn measure(folder: &Path, words: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/measure.sh");
    let mut command = Command::new("bash");
    command.arg(script).args(words).current_dir(folder).envs([("BENCHES", "mcts"), ("PAPERS", "cfr_thesis")]);
    command.output().expect("bash starts")
}

#[test]
fn a_word_that_is_not_known_measures_nothing() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("measure");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("bundle")).expect("a folder");
    for name in ["bench-warpplay-mcts", "program-warpplay-cli-warpplay"] {
        let path = folder.join("bundle").join(name);
        fs::write(&path, PROGRAM).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    }
    for wrong in ["--full", "quick", "--quick --quick"] {
        let output = measure(&folder, &["run", "bundle", "out", wrong]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("[--quick]"), "{wrong}: no usage");
        assert!(!folder.join("started").exists() && !folder.join("out").exists(), "{wrong} was measured");
    }
    for (words, quick) in [(&["run", "bundle", "out", "--quick"][..], 2), (&["run", "bundle", "out"], 0)] {
        let _ = fs::remove_file(folder.join("started"));
        let output = measure(&folder, words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let started = fs::read_to_string(folder.join("started")).expect("programs were started");
        let lines: Vec<&str> = started.lines().collect();
        assert_eq!((lines.len(), started.matches(" --quick ").count()), (2, quick), "{started}");
        assert!(lines[1].starts_with("papers cfr_thesis --device auto"), "{started}");
    }
}
