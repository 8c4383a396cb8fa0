//! The README's picture is what its command draws.

use std::process::Command;

use warpplay_tests::golden;
use warpplay_tests::programs::warpplay;

/// The command, as the README tells it.
const LINE: &str = "mcts analyse --moves 44356264 --steps 300 --seed 1 --plots search.svg";

#[test]
fn the_picture_of_the_readme_is_what_its_command_draws() {
    let readme = std::fs::read_to_string(golden::workspace().join("README.md")).expect("a page");
    assert!(readme.contains(LINE), "README.md does not hold the line: {LINE}");
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(warpplay(env!("CARGO_TARGET_TMPDIR")));
    command.current_dir(folder.path()).args(LINE.split(' ')).args(["--device", "cpu", "--quiet"]);
    assert!(command.status().expect("the program starts").success());
    let drawn = std::fs::read_to_string(folder.path().join("search.svg")).expect("the picture");
    let shown = std::fs::read_to_string(golden::workspace().join("docs/pictures/search.svg")).unwrap_or_default();
    assert!(shown == drawn, "docs/pictures/search.svg is another picture: draw it again with warpplay {LINE}");
}
