//! Journals of commands: a run that is cut off anywhere goes on to what an unbroken one comes to, and goes on with nothing else.

use std::fs;

use serde_json::Value;

use crate::programs::Scratch;

/// A command that keeps a journal.
pub struct Journaled<'a> {
    /// Where it runs.
    pub scratch: &'a Scratch,
    /// The command without journal and `--json`.
    pub line: &'a str,
    /// A part of the line, what stands for it in another run, and how that run is refused.
    pub other: (&'a str, &'a str, &'a str),
    /// Pieces of the work.
    pub n_pieces: usize,
    /// A file that it writes besides.
    pub file: Option<&'a str>,
    /// Whether two runs come to the same but for times; else what comes of a piece is decided by a time.
    pub repeats: bool,
}

impl Journaled<'_> {
    /// What a run comes to, without times; and the bytes of its file.
    fn run(&self, line: &str) -> (Value, Vec<u8>) {
        self.scratch.ok(&format!("{line} --json run.json"));
        let mut found = self.scratch.json("run.json");
        if self.repeats {
            without_times(&mut found);
        }
        (found, self.file.map_or(Vec::new(), |name| fs::read(self.scratch.path(name)).expect("a file")))
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.scratch.path(name)).expect("a journal")
    }

    /// # Panics
    /// If anything is not as it should be.
    pub fn check(&self) {
        let Self { scratch, line, .. } = self;
        let expected = self.run(&format!("{line} --checkpoint journal"));
        if self.repeats {
            assert_eq!(self.run(line), expected, "a journal changes nothing");
        }
        let whole = self.text("journal");
        let lines: Vec<&str> = whole.split_inclusive('\n').collect();
        assert_eq!(lines.len(), 1 + self.n_pieces, "{whole}");
        for n in 0..=lines.len() {
            // In the middle of a line, as a kill cuts it.
            let cut = lines.get(n).map_or("", |line| &line[..line.len() / 2]);
            scratch.write("journal", format!("{}{cut}", lines[..n].concat()).as_bytes());
            let found = self.run(&format!("{line} --resume journal"));
            let now = self.text("journal");
            assert_eq!(pieces(&now).len(), self.n_pieces, "{now}");
            if self.repeats {
                assert_eq!(found, expected, "gone on with after {n} lines");
                assert_eq!(pieces(&now), pieces(&whole), "after {n} lines");
            } else if n == lines.len() {
                assert_eq!(found, expected, "nothing is done again");
            }
        }
        self.refusals(&lines);
    }

    /// What is no journal of this run is refused and stays as it is.
    fn refusals(&self, lines: &[&str]) {
        let Self { scratch, line, .. } = self;
        let refused = |line: &str, content: &str, words: &str| {
            scratch.write("journal", content.as_bytes());
            let said = scratch.fails(1, line);
            assert!(said.contains("journal") && said.contains(words), "{said}");
            assert_eq!(self.text("journal"), content, "{line}");
        };
        let (whole, resumed) = (lines.concat(), format!("{line} --resume journal"));
        let (part, other, words) = self.other;
        assert!(line.contains(part), "{line}: no {part}");
        refused(&resumed.replace(part, other), &whole, words);
        refused(&format!("{line} --checkpoint journal"), &whole, "exists already: resume it");
        fs::create_dir_all(scratch.path("folder")).expect("made");
        let said = scratch.fails(1, &format!("{line} --checkpoint folder"));
        assert!(said.contains("folder: is a folder, a device or a pipe: name a new file"), "{said}");
        let changed = |name: &str, value: &str| {
            let mut first: Value = serde_json::from_str(lines[0]).expect("a heading");
            first["header"][name] = value.into();
            resealed(&format!("{first}\n{}", lines[1..].concat()))
        };
        refused(&resumed, &changed("command", "azero train"), "was made with command azero train, and this run has ");
        refused(&resumed, &changed("version", "0.0.1"), "was made with version 0.0.1, and this run has ");
        refused(&resumed, &changed("build", "other"), "was made with build other, and this run has ");
        refused(&resumed, &changed("device", "cuda:7"), "was made with device cuda:7, and this run has ");
        // A publication's.
        let paper = lines[0].replace("\"command\"", "\"paper\"").replace(r#""paper":""#, r#""paper":"mctsnc "#);
        refused(&resumed, &resealed(&paper), "was made with command mctsnc ");
        refused(&resumed, "words\n", "journal, line 1: not a journal of a command: expected a value");
        refused(
            &resumed,
            "{\n  \"schema\": 1\n}\n",
            "journal, line 1: not a journal of a command: it is one JSON value over many",
        );
        let half = &lines[1][..lines[1].len() / 2];
        let damaged = format!("{}{half}\n{}", lines[0], lines[1]);
        refused(&resumed, &damaged, "journal, line 2: the line is cut off, and others follow");
        let foreign = format!("{}{}", lines[0], lines[1].replacen(r#""key":""#, r#""key":"0"#, 1));
        refused(&resumed, &foreign, "journal, line 2: the line is damaged, or of another run: its checksum is ");
        let mut begun: Value = serde_json::from_str(lines[0]).expect("a heading");
        begun["header"]["started"] = 0.into();
        let mixed = format!("{}{}", resealed(&begun.to_string()), lines[1]);
        refused(&resumed, &mixed, "journal, line 2: the line is damaged, or of another run: its checksum is ");
        refused(&resumed, &resealed(&foreign), "is in the file, but does not belong to this run");
        let key = |line: &str| serde_json::from_str::<Value>(line).expect("a piece")["key"].to_string();
        let twice = format!("{}{}{}", lines[0], lines[1], lines[2].replace(&key(lines[2]), &key(lines[1])));
        refused(&resumed, &resealed(&twice), "is in line 2 too, with another result");
        scratch.write("journal", whole.as_bytes());
        let said = scratch.fails(2, &format!("{line} --checkpoint same --json same"));
        assert!(said.contains("--checkpoint and --json name the same file"), "{said}");
        scratch.misused(&format!("{line} --checkpoint a --resume journal"));
    }
}

/// A command that keeps a journal, with something that is refused (`told` is part of the error): no journal is left behind, which would stand in the way of the right command.
///
/// # Panics
/// If it ends otherwise, or a journal is there.
#[track_caller]
pub fn refused_without_journal(scratch: &Scratch, code: i32, line: &str, told: &str) {
    let said = scratch.fails(code, &format!("{line} --checkpoint refused"));
    assert!(said.contains(told), "{line}: {said}");
    assert!(!scratch.path("refused").exists(), "{line}: a journal was left");
}

/// Gives the lines of a journal that were changed the checksums that belong to them: FNV-1a of the first line's checksum (but in that line) and the line without its last field.
///
/// # Panics
/// If a line has none.
pub fn resealed(text: &str) -> String {
    let fnv = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(0xcbf2_9ce4_8422_2325, |sum: u64, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
    };
    let mut run = String::new();
    let mut lines = String::new();
    for line in text.lines() {
        let mut value: serde_json::Map<String, Value> = serde_json::from_str(line).expect("a line of JSON");
        value.remove("sum").expect("a checksum");
        let text = Value::Object(value).to_string();
        let sum = format!("{:016x}", fnv(format!("{run}{text}").as_bytes()));
        lines += &format!("{},\"sum\":\"{sum}\"}}\n", &text[..text.len() - 1]);
        if run.is_empty() {
            run = sum;
        }
    }
    lines
}

/// The lines of a journal but the first, without times, in order.
fn pieces(text: &str) -> Vec<String> {
    let piece = |line: &str| {
        let mut value: Value = serde_json::from_str(line).expect("a line of JSON");
        without_times(&mut value);
        value.to_string()
    };
    let mut all: Vec<String> = text.lines().skip(1).map(piece).collect();
    all.sort();
    all
}

/// Removes what is another time in each run.
fn without_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // The checksum of a line is of its times too.
            let is_time = |name: &str| name.ends_with("seconds") || name.ends_with("per_second") || name == "sum";
            fields.retain(|name, value| {
                without_times(value);
                !is_time(name)
            });
        }
        Value::Array(values) => values.iter_mut().for_each(without_times),
        _ => {}
    }
}
