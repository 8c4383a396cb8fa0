//! Pictures of the pages are what the lines of these pages draw. `cargo xtask pictures` draws them all again.

use std::path::Path;
use std::process::Command;

use warpplay_tests::golden;
use warpplay_tests::programs::warpplay;

/// A picture of a page.
struct Picture {
    /// The page, which holds the lines and the picture.
    page: &'static str,
    /// The lines in order, without the program's name; the last draws.
    lines: &'static [&'static str],
    /// What is said to each besides, so that every machine draws the same.
    device: &'static str,
    /// The drawn file, and the picture's name in `docs/pictures`.
    drawn: &'static str,
    name: &'static str,
}

const PICTURES: [Picture; 7] = [
    Picture {
        page: "README.md",
        lines: &["mcts analyse --moves 44356264 --steps 300 --seed 1 --plots search.svg"],
        device: "--device cpu",
        drawn: "search.svg",
        name: "search.svg",
    },
    Picture {
        page: "docs/guides/mcts.md",
        lines: &[
            "mcts match --games 20 --a acp_prodigal,trees=2,playouts=8,steps=100 --b vanilla,steps=500 --plots score.svg",
        ],
        device: "",
        drawn: "score.svg",
        name: "mcts-match.svg",
    },
    Picture {
        page: "docs/guides/azero.md",
        lines: &[
            "azero learn --folder small --width 8 --depth 1 --iterations 1 --games 2 --simulations 8 --gate 2 --epochs 1 --batch 16",
            "azero selfplay --playouts 4 --simulations 24 --games 48 --save-games small.jsonl",
            "azero train --weights small/initial.safetensors --records small.jsonl --batch 64 --learning-rate 0.002 --epochs 5 --held-out 0.2 --save-weights small.safetensors --plots losses.svg",
        ],
        device: "--device cpu",
        drawn: "losses.svg",
        name: "azero-losses.svg",
    },
    Picture {
        page: "docs/guides/mlp.md",
        lines: &["mlp train --learning-rate 0.1 --epochs 8 --save-weights drawn.safetensors --plots training.svg"],
        device: "--device cpu",
        drawn: "training.svg",
        name: "mlp-training.svg",
    },
    Picture {
        page: "docs/guides/shogi.md",
        lines: &[
            "shogi learn --records tests/golden/shogi/first_100.usi.txt.gz --held-out 0.2 --iterations 30 --plots learning.svg",
        ],
        device: "--device cpu",
        drawn: "learning.svg",
        name: "shogi-learning.svg",
    },
    Picture {
        page: "docs/guides/cfr.md",
        lines: &[
            "cfr solve leduc --algorithm cfr_plus --iterations 1000 --report 1,2,5,10,20,50,100,200,500,1000 --strategy leduc.strategy --plots leduc.svg",
        ],
        device: "--device cpu",
        drawn: "leduc.svg",
        name: "cfr-leduc.svg",
    },
    Picture {
        page: "docs/guides/papers.md",
        lines: &["papers mctsnc --only figure5 --quick --steps 40 --plots plots"],
        device: "--device cpu",
        drawn: "plots/figure5.svg",
        name: "papers-figure5.svg",
    },
];

/// Where it is set, the pictures are written instead of compared.
const WRITE: &str = "WARPPLAY_WRITE_PICTURES";

/// The picture as the lines draw it.
fn draw(picture: &Picture) -> String {
    let golden = golden::path("").to_string_lossy().trim_end_matches('/').to_string();
    let folder = tempfile::tempdir().expect("a folder");
    for line in picture.lines {
        let words = line.split(' ').map(|word| word.replace("tests/golden", &golden));
        let mut command = Command::new(warpplay(env!("CARGO_TARGET_TMPDIR")));
        command.current_dir(folder.path()).args(words).args(picture.device.split_whitespace()).arg("--quiet");
        let output = command.output().expect("the program starts");
        assert!(output.status.success(), "warpplay {line}\n{}", String::from_utf8_lossy(&output.stderr));
    }
    let path = folder.path().join(picture.drawn);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_pictures_of_the_pages_are_what_their_lines_draw() {
    let root = golden::workspace();
    std::thread::scope(|scope| {
        for picture in &PICTURES {
            scope.spawn(|| {
                let Picture { page, lines, name, .. } = picture;
                let text = std::fs::read_to_string(root.join(page)).expect("a page");
                for line in *lines {
                    assert!(text.contains(&format!("warpplay {line}")), "{page} does not hold the line: {line}");
                }
                assert!(text.contains(&format!("pictures/{name}")), "{page} does not show {name}");
                compare(&root.join("docs/pictures").join(name), &draw(picture));
            });
        }
    });
}

/// Compares the picture with what was drawn, or writes it.
fn compare(path: &Path, drawn: &str) {
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(path, drawn).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        return;
    }
    let shown = std::fs::read_to_string(path).unwrap_or_default();
    assert!(shown == drawn, "{} is another picture: cargo xtask pictures draws all again", path.display());
}

#[test]
fn every_picture_has_a_line() {
    let folder = std::fs::read_dir(golden::workspace().join("docs/pictures")).expect("a folder");
    for entry in folder {
        let name = entry.expect("an entry").file_name();
        assert!(PICTURES.iter().any(|picture| *picture.name == *name), "{name:?} has no line that draws it");
    }
}
