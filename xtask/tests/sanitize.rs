//! `docs/sanitize.sh`: the ledger of tests under the sanitizers, with a tool and tests that are scripts.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const TESTS: &str = "#!/bin/sh
[ \"$1\" = --list ] && printf 'games::quiet: test\\ngames::loud: test\\nplain: test\\nlate: test\\ngames::wrong: test\\nslow: test\\n' && exit 0
echo 'test result: ok. 1 passed; 0 failed'
";

/// Says of each test what the real one would: `--tool TOOL ... PROGRAM --exact TEST`.
const SANITIZER: &str = "#!/bin/sh
for test do :; done
case $test in
    late) sleep 60 ;;
    slow) echo 'test result: ok. 0 passed; 0 failed; 1 ignored' ;;
    plain) echo 'test result: ok. 1 passed; 0 failed' ;;
    games::loud) echo 'test result: ok. 1 passed; 0 failed'; echo '========= ERROR SUMMARY: 0 errors'; echo '========= ERROR SUMMARY: 3 errors' ;;
    games::wrong) echo 'test result: FAILED. 0 passed; 1 failed'; echo '========= ERROR SUMMARY: 0 errors'; exit 1 ;;
    *) echo 'test result: ok. 1 passed; 0 failed'; echo '========= RACECHECK SUMMARY: 0 hazards displayed' ;;
esac
";

fn program(path: &Path, text: &str) {
    fs::write(path, text).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("executable");
}

fn script(folder: &Path, arguments: &[&str], each: &str) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/sanitize.sh");
    let mut command = Command::new("bash");
    command.arg(script).args(arguments).current_dir(folder);
    command.env("SANITIZER", folder.join("sanitizer")).envs([("EACH", each), ("TOOLS", "racecheck"), ("JOBS", "3")]);
    command.output().expect("bash starts")
}

#[test]
fn the_ledger_has_every_test_and_goes_on() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("sanitize");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("bundle")).expect("a folder");
    fs::create_dir_all(folder.join("host")).expect("a folder");
    program(&folder.join("sanitizer"), SANITIZER);
    program(&folder.join("bundle/test-p-t"), TESTS);
    program(&folder.join("bundle/program-warpplay-cli-warpplay"), "#!/bin/sh\n");
    fs::write(
        folder.join("bundle/MANIFEST.tsv"),
        "# kind\tpackage\ttarget\tfile\tfolder\ntest\tp\tt\ttest-p-t\thost\ntest\tp\tlost_device\ttest-p-lost_device\thost\n",
    )
    .expect("written");
    let ledger = || -> Vec<String> {
        let text = fs::read_to_string(folder.join("ledger.tsv")).expect("a ledger");
        let mut lines: Vec<String> = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.splitn(5, '\t').skip(2).take(2).collect::<Vec<_>>().join("\t"))
            .collect();
        lines.sort();
        lines
    };
    // A part of the tests, then the rest.
    let output = script(&folder, &["run", "bundle", "ledger.tsv", "quiet", "loud"], "2");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(ledger(), ["games::loud\t3 found", "games::quiet\tclean"]);
    let output = script(&folder, &["run", "bundle", "ledger.tsv"], "2");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let all = [
        "games::loud\t3 found",
        "games::quiet\tclean",
        "games::wrong\tfailed",
        "late\tnot ended",
        "plain\tno kernels",
        "slow\tignored",
    ];
    assert_eq!(ledger(), all);
    // Nothing is left but what failed and, with more time, what did not end.
    let count = |name: &str| ledger().iter().filter(|line| line.starts_with(name)).count();
    script(&folder, &["run", "bundle", "ledger.tsv"], "2");
    assert_eq!((ledger().len(), count("games::wrong"), count("late")), (7, 2, 1));
    script(&folder, &["run", "bundle", "ledger.tsv"], "9");
    assert_eq!((ledger().len(), count("games::wrong"), count("late")), (9, 3, 2));
    // What was found is kept whole.
    let logs = fs::read_dir(folder.join("ledger.tsv.logs")).expect("logs");
    assert_eq!(logs.count(), 2);
    let page = folder.join("page.md");
    fs::write(&page, "# Page\n\n<!-- sanitizers -->\nold\n<!-- end -->\n\nend\n").expect("written");
    let output = script(&folder, &["write", "ledger.tsv", "page.md"], "2");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let written = fs::read_to_string(&page).expect("a page");
    for line in [
        "| all | 0 of 0 | 1 of 4 | 0 of 0 | 0 of 0 | |",
        "| `p-t::games` | - | 1 of 3 | - | - | **racecheck games::loud: 3 found** **racecheck games::wrong: failed**  |",
        "| `p-t` | - | 0 of 1 | - | - | `late` (racecheck) |",
    ] {
        assert!(written.contains(line), "{line}\n{written}");
    }
    // A test that did not end under several tools names them all.
    let text = fs::read_to_string(folder.join("ledger.tsv")).expect("a ledger");
    let late = text.lines().rfind(|line| line.contains("\tlate\t")).expect("a line").replace("racecheck", "memcheck");
    fs::write(folder.join("ledger.tsv"), format!("{text}{late}\n")).expect("written");
    script(&folder, &["write", "ledger.tsv", "page.md"], "2");
    let both = fs::read_to_string(&page).expect("a page");
    assert!(both.contains("| `p-t` | 0 of 1 | 0 of 1 | - | - | `late` (racecheck, memcheck) |"), "{both}");
    // Other bytes of a program are another program: what the old one did does not count.
    program(&folder.join("bundle/test-p-t"), &TESTS.replace("plain", "other"));
    let output = script(&folder, &["run", "bundle", "ledger.tsv", "other", "quiet"], "2");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!((count("games::quiet"), count("other"), count("plain")), (2, 1, 1));
    script(&folder, &["write", "ledger.tsv", "page.md"], "2");
    let changed = fs::read_to_string(&page).expect("a page");
    assert!(changed.contains("| all | 0 of 0 | 2 of 2 | 0 of 0 | 0 of 0 | |"), "{changed}");

    fs::write(&page, "<!-- sanitizers -->\nold\n<!-- other -->\n<!-- end -->\n").expect("written");
    assert!(!script(&folder, &["write", "ledger.tsv", "page.md"], "2").status.success(), "a slot without an end");
    assert!(!written.contains("old") && written.ends_with("<!-- end -->\n\nend\n"), "{written}");
}
