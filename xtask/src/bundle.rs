//! `cargo xtask bundle DIR`: the programs that a GPU machine needs, for one that has no Rust.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{process, setup, stub_driver};

/// Packages whose tests need cargo or the compiler itself; they prove nothing on a GPU.
const NOT_BUNDLED: [&str; 3] = ["warpplay-gpu-builder", "warpplay-gpu-macros", "xtask"];
/// Test programs of other packages of which that is so.
const NEED_CARGO: [&str; 2] = ["compile_fail", "outside_crate"];

/// A program that cargo built.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Program {
    /// `test`, `example`, `bench` or `program`.
    kind: String,
    /// The package's name.
    package: String,
    /// The target's name.
    name: String,
    /// Where cargo put it.
    path: PathBuf,
    /// The package's folder: tests read their data relative to it, as under cargo.
    folder: PathBuf,
}

impl Program {
    /// Its name in the bundle: unique, and says what it is.
    fn file_name(&self) -> String {
        format!("{}-{}-{}", self.kind, self.package, self.name)
    }
}

/// Builds and copies everything, stripped, and writes `MANIFEST.tsv` and `run-tests` beside it.
pub fn make(dir: &Path, cust: bool) -> Result<()> {
    setup::device_compiler()?;
    let mut programs = BTreeMap::new();
    let tests = ["test", "--workspace", "--release", "--no-run"];
    let benches = ["bench", "--package", "warpplay", "--package", "warpplay-papers", "--no-run", "--benches"];
    // Of the whole workspace, so that nothing is compiled with other features.
    let program = ["build", "--workspace", "--release", "--bin", "warpplay"];
    for arguments in [&tests[..], &benches[..], &program[..]] {
        for program in build(process::cargo(arguments))? {
            programs.insert(program.file_name(), program);
        }
    }
    if cust {
        let stub = stub_driver::make()?;
        let test = ["test", "--package", "warpplay-tests", "--test", "beside_cust"];
        let lesson = ["build", "--package", "warpplay", "--example", "09_with_cust"];
        for arguments in [&test[..], &lesson[..]] {
            let mut command = process::cargo(arguments);
            command.args(["--release", "--no-default-features", "--features", "cust"]).env("CUDA_LIBRARY_PATH", &stub);
            if arguments[0] == "test" {
                command.arg("--no-run");
            }
            for program in build(command)? {
                programs.insert(program.file_name(), program);
            }
        }
    }
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let root = process::root().canonicalize().context("the workspace's folder")?;
    let mut manifest = String::from("# kind\tpackage\ttarget\tfile\tfolder\n");
    let mut bytes = 0;
    for (file, program) in &programs {
        let to = dir.join(file);
        copy_stripped(&program.path, &to)?;
        bytes += fs::metadata(&to)?.len();
        let Program { kind, package, name, folder, .. } = program;
        let folder = folder.canonicalize().with_context(|| folder.display().to_string())?;
        let folder =
            folder.strip_prefix(&root).with_context(|| format!("{}: not of this workspace", folder.display()))?;
        let folder = folder.display();
        manifest += &format!("{kind}\t{package}\t{name}\t{file}\t{folder}\n");
    }
    write(&dir.join("MANIFEST.tsv"), &manifest)?;
    write(&dir.join("run-tests"), RUN_TESTS)?;
    setup::say(&format!("{} programs, {} MiB, in {}", programs.len(), bytes >> 20, dir.display()));
    Ok(())
}

/// Runs every test of the bundle, in a copy of the repository.
const RUN_TESTS: &str = "\
#!/bin/sh
# Runs every test program of this bundle; arguments go to each of them. Ends with what tests left out and why. Start it in a copy of the repository's root:
#   sh BUNDLE/run-tests
bundle=$(cd \"$(dirname \"$0\")\" && pwd)
root=$PWD
# The tests of the command line run the program of this bundle.
chmod +x \"$bundle/program-warpplay-cli-warpplay\"
export WARPPLAY_PROGRAM=\"$bundle/program-warpplay-cli-warpplay\"
failed=
tab=$(printf '\\t')
WARPPLAY_SKIPPED_LIST=$(mktemp)
export WARPPLAY_SKIPPED_LIST
trap 'rm -f \"$WARPPLAY_SKIPPED_LIST\"' EXIT
while IFS=$tab read -r kind package target file folder; do
    [ \"$kind\" = test ] || continue
    echo \"== $package $target\"
    chmod +x \"$bundle/$file\"
    (cd \"$root/$folder\" && CARGO_MANIFEST_DIR=$PWD \"$bundle/$file\" \"$@\") </dev/null ||
        failed=\"$failed $file\"
done <\"$bundle/MANIFEST.tsv\"
echo 'Tests that left something out, and why'
sort -u \"$WARPPLAY_SKIPPED_LIST\" | while IFS=$tab read -r program test reason; do
    echo \"  $program $test: $reason\"
done
[ -s \"$WARPPLAY_SKIPPED_LIST\" ] || echo '  none'
[ -z \"$failed\" ] && echo 'all tests passed' && exit 0
echo \"failed:$failed\"
exit 1
";

/// Runs one cargo command and collects the programs that it built.
fn build(mut command: Command) -> Result<Vec<Program>> {
    command.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let output = command.output().with_context(|| format!("cannot start `{}`", process::line(&command)))?;
    if !output.status.success() {
        bail!("`{}` failed ({})", process::line(&command), output.status);
    }
    let text = String::from_utf8(output.stdout).context("cargo's messages are not UTF-8")?;
    let needs_cargo = |program: &Program| {
        NOT_BUNDLED.contains(&program.package.as_str())
            || (program.kind == "test" && NEED_CARGO.contains(&program.name.as_str()))
    };
    Ok(text.lines().filter_map(program).filter(|program| !needs_cargo(program)).collect())
}

/// Reads one message of cargo; `None` if it is not about a program.
fn program(line: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(line).ok()?;
    let path = PathBuf::from(message["executable"].as_str()?);
    let target = &message["target"];
    let kind = match target["kind"][0].as_str()? {
        "example" => "example",
        "bench" => "bench",
        "bin" if target["name"] == "warpplay" && message["profile"]["test"] == Value::Bool(false) => "program",
        // Unit tests have the kind of what they test; without the test profile it is the thing itself.
        _ if message["profile"]["test"] == Value::Bool(true) => "test",
        _ => return None,
    };
    Some(Program {
        kind: kind.to_owned(),
        package: package(message["package_id"].as_str()?),
        name: target["name"].as_str()?.to_owned(),
        path,
        folder: Path::new(message["manifest_path"].as_str()?).parent()?.to_owned(),
    })
}

/// The package's name in cargo's package id: `path+file:///w/host#warpplay@0.1.0`, or `path+file:///w/xtask#0.1.0` where the
/// folder has the package's name.
fn package(id: &str) -> String {
    let (url, fragment) = id.rsplit_once('#').unwrap_or((id, ""));
    match fragment.split_once('@') {
        Some((name, _)) => name.to_owned(),
        None => url.rsplit('/').next().unwrap_or(url).to_owned(),
    }
}

fn copy_stripped(from: &Path, to: &Path) -> Result<()> {
    let strip = Command::new("strip").arg("-o").arg(to).arg(from).status();
    if strip.is_ok_and(|status| status.success()) {
        return Ok(());
    }
    // Without binutils the copy is larger and works as well.
    fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_read_from_cargo_s_messages() {
        let line = r#"{"reason":"compiler-artifact","package_id":"path+file:///w/tests#warpplay-tests@0.1.0","manifest_path":"/w/tests/Cargo.toml",
            "target":{"kind":["test"],"name":"mcts"},"profile":{"test":true},"executable":"/t/deps/mcts-1"}"#;
        let found = program(line).unwrap();
        assert_eq!(found.file_name(), "test-warpplay-tests-mcts");
        assert_eq!(
            (found.path.as_path(), found.folder.as_path()),
            (Path::new("/t/deps/mcts-1"), Path::new("/w/tests"))
        );

        let unit = r#"{"package_id":"path+file:///w/xtask#0.1.0","manifest_path":"/w/xtask/Cargo.toml","target":{"kind":["bin"],"name":"xtask"},
            "profile":{"test":true},"executable":"/t/deps/xtask-1"}"#;
        assert_eq!(program(unit).unwrap().file_name(), "test-xtask-xtask");
        assert_eq!(program(&unit.replace("true", "false")), None);

        let ours = unit.replace("true", "false").replace("\"xtask\"", "\"warpplay\"");
        assert_eq!(program(&ours).unwrap().kind, "program");

        let example = unit.replace("[\"bin\"]", "[\"example\"]").replace("true", "false");
        assert_eq!(program(&example).unwrap().kind, "example");
    }

    #[test]
    fn a_run_of_the_bundle_ends_with_what_was_left_out() {
        let folder = process::target_dir().join("tmp/run-tests");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let run = |body: &str| {
            write(&folder.join("run-tests"), RUN_TESTS).unwrap();
            write(&folder.join("MANIFEST.tsv"), "# kind\ntest\tp\tt\ttest-p-t\t.\ntest\tp\tu\ttest-p-u\t.\n").unwrap();
            write(&folder.join("program-warpplay-cli-warpplay"), "").unwrap();
            for name in ["test-p-t", "test-p-u"] {
                write(&folder.join(name), &format!("#!/bin/sh\n{body}\n")).unwrap();
            }
            let output = Command::new("sh").arg("run-tests").current_dir(&folder).output().unwrap();
            (output.status.success(), String::from_utf8(output.stdout).unwrap())
        };
        let head = "Tests that left something out, and why\n";
        let (passed, text) = run("printf \"${0##*/}\\tgames::a\\tthere is no GPU\\n\" >>\"$WARPPLAY_SKIPPED_LIST\"");
        let lines = "  test-p-t games::a: there is no GPU\n  test-p-u games::a: there is no GPU\n";
        assert!(passed && text.ends_with(&format!("{head}{lines}all tests passed\n")), "{text}");
        let (passed, text) = run("exit 1");
        assert!(!passed && text.ends_with(&format!("{head}  none\nfailed: test-p-t test-p-u\n")), "{text}");
    }

    #[test]
    fn other_messages_are_passed_over() {
        assert_eq!(program(r#"{"reason":"build-finished","success":true}"#), None);
        assert_eq!(program(r#"{"target":{"kind":["lib"],"name":"warpplay"},"executable":null}"#), None);
        assert_eq!(program("not JSON"), None);
    }
}
