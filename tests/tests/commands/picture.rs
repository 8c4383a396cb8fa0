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
        let is_drawn = PICTURES.iter().any(|picture| *picture.name == *name);
        let is_shot = SCREENSHOTS.iter().any(|shot| *shot.name == *name);
        assert!(is_drawn || is_shot, "{name:?} has no line that draws it");
    }
}

/// A picture of the page of a solved spot, in a browser. Fonts differ from machine to machine, so it is drawn and not compared.
struct Screenshot {
    name: &'static str,
    colours: &'static str,
    /// The steps, and what is chosen then.
    steps: &'static str,
    clicks: &'static [&'static str],
}

const SCREENSHOTS: [Screenshot; 2] = [
    Screenshot { name: "cfr-browse-light.png", colours: "light", steps: "c", clicks: &["#grid [data-class=QJs]"] },
    Screenshot {
        name: "cfr-browse-dark.png",
        colours: "dark",
        steps: "c,c",
        clicks: &["#views input[value=ev]", "#grid [data-class=QQ]", "#seats input[value='1']"],
    },
];

/// The page that they show.
const SHOTS_OF: &str = "docs/guides/cfr.md";
/// The lines that make it.
const SHOT_LINES: [&str; 2] = [
    "cfr solve-spot ten_spots.json --spot \"turn, button against big blind, 6 pots behind\" --target 0.5%pot --save turn.spot",
    "cfr browse turn.spot --html turn.html --runouts 2c,Td,7h",
];
/// Most bytes of a screenshot in the repository.
const MOST_BYTES: u64 = 150_000;

#[test]
fn the_pages_show_the_screenshots() {
    let root = golden::workspace();
    let text = std::fs::read_to_string(root.join(SHOTS_OF)).expect("a page");
    if std::env::var_os(WRITE).is_some() {
        #[cfg(unix)]
        shoot(&root.join("docs/pictures"));
    }
    for Screenshot { name, .. } in &SCREENSHOTS {
        assert!(text.contains(&format!("pictures/{name}")), "{SHOTS_OF} does not show {name}");
        let size = std::fs::metadata(root.join("docs/pictures").join(name)).map(|file| file.len());
        assert!(size.as_ref().is_ok_and(|&size| size < MOST_BYTES), "{name}: {size:?}, at most {MOST_BYTES}");
    }
}

/// Solves the spot and takes its page's pictures.
#[cfg(unix)]
fn shoot(pictures: &Path) {
    use warpplay_tests::browser::{Browser, chromium};
    let Some(chromium) = chromium() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::copy(golden::workspace().join("host/benches/cfr/ten_spots.json"), folder.path().join("ten_spots.json"))
        .expect("a copy");
    for line in SHOT_LINES {
        let words = line.split('"').enumerate().flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().collect(),
            _ => vec![part],
        });
        let mut command = Command::new(warpplay(env!("CARGO_TARGET_TMPDIR")));
        let output = command.current_dir(folder.path()).args(words).output().expect("the program starts");
        assert!(output.status.success(), "warpplay {line}\n{}", String::from_utf8_lossy(&output.stderr));
    }
    for Screenshot { name, colours, steps, clicks } in &SCREENSHOTS {
        let mut browser = Browser::start(&chromium, 1120, 910);
        browser.prefer(colours);
        browser.open(&folder.path().join("turn.html"), "document.querySelector('#grid [data-class=AA]')");
        browser.value(&format!("location.hash = '{steps}'"));
        browser.wait("state.steps.join() === location.hash.slice(1)");
        clicks.iter().for_each(|selector| browser.click(selector));
        std::fs::write(pictures.join(name), small(&browser.picture())).expect("the picture is written");
    }
}

/// A picture with 16 levels of each colour, which compress to less than half.
#[cfg(unix)]
fn small(picture: &[u8]) -> Vec<u8> {
    let mut reader = png::Decoder::new(std::io::Cursor::new(picture)).read_info().expect("a picture");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
    let read = reader.next_frame(&mut pixels).expect("pixels");
    let n_channels = read.color_type.samples();
    let levels = |pixel: &[u8]| [0, 1, 2].map(|at| (pixel[at].saturating_add(8) / 17) * 17);
    let pixels: Vec<u8> = pixels.chunks_exact(n_channels).flat_map(levels).collect();
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, read.width, read.height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::High);
    encoder.write_header().and_then(|mut writer| writer.write_image_data(&pixels)).expect("written");
    bytes
}
