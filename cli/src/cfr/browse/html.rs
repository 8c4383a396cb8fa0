//! A solved spot as one page that needs nothing else: its nodes as JSON, what shows them, and no network.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;
use warpplay::cfr::SolvedSpot;
use warpplay::cfr::spot::{Node, NodeReport};

use super::pack::Packed;
use super::runouts::Runouts;
use super::text;
use crate::cfr::saved;
use crate::common::{OutputFile, Usage, expect_apart};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Most characters of a node beside its numbers: names, counts, links, and a link for each of 49 cards.
const BESIDE: u64 = 1200;
/// Most characters of a node where the hand is over.
const AT_END: u64 = 400;

#[derive(clap::Args, Debug)]
pub struct PageFlags {
    /// Write one page for the browser that needs no other file and no network. It has all nodes of the street at which it begins (--line, --board), and of later streets those after the
    /// cards of --runouts
    #[arg(long, value_name = "FILE.html")]
    pub html: Option<PathBuf>,

    /// Cards that the page can deal, separated by commas: 8c (a turn), 8c3s (with the river after it), 8c* (with every river), * (every turn), all (every runout)
    #[arg(long, value_name = "CARDS", value_delimiter = ',', requires = "html")]
    pub runouts: Vec<String>,

    /// The most that the page may have, in megabytes of 1,000,000 bytes. A larger one is refused, with its size and what fits
    #[arg(long, value_name = "MB", default_value_t = 64.0, requires = "html", allow_negative_numbers = true)]
    pub max_mb: f64,
}

/// Everything that the page shows.
#[derive(Serialize)]
struct Data {
    file: String,
    iterations: u64,
    /// In chips, where it was measured last.
    exploitability: Option<f64>,
    /// The iteration after which it was.
    measured_at: Option<u64>,
    /// What values are in.
    unit: &'static str,
    /// How to call the program for this page, without runouts.
    command: String,
    /// The runouts of this page, as given.
    runouts: String,
    /// The hands of each seat that the board leaves possible where the page begins.
    hands: [Vec<String>; 2],
    nodes: Vec<PageNode>,
}

/// A node of the page; others are named by their place in the list.
#[derive(Serialize)]
struct PageNode {
    kind: Kind,
    history: String,
    street: &'static str,
    board: String,
    pot: f64,
    seat: Option<usize>,
    actions: Vec<String>,
    /// What players call them.
    names: Vec<String>,
    /// The nodes after the actions.
    next: Vec<usize>,
    /// The nodes after the cards that the page can deal.
    cards: BTreeMap<String, usize>,
    ev: [f64; 2],
    equity: [f64; 2],
    hands: Option<Packed>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Action,
    Deal,
    End,
}

/// Makes sure that the page can be written, and not over the spot.
///
/// # Errors
/// As [`OutputFile::prepare`] and [`expect_apart`].
pub fn prepare(spot: &Path, html: &Path) -> Result<OutputFile> {
    expect_apart(&[("FILE.spot", Some(spot))], &[("--html", Some(html))], &[])?;
    OutputFile::prepare(html)
}

/// The page that begins at a node.
///
/// # Errors
/// Those of [`SolvedSpot::at`]; [`Usage`] for runouts that are not possible, and a page that would be larger than it may be.
pub fn page(solved: &SolvedSpot, file: &Path, line: &str, board: &str, flags: &PageFlags) -> Result<String> {
    let first = saved::after("--line", solved.at(line, board))?;
    let n_to_come = match first.street() {
        "flop" => 2,
        "turn" => 1,
        _ => 0,
    };
    let runouts = Runouts::parse(&flags.runouts, &first.board(), n_to_come)?;
    let hands = [0, 1].map(|seat| first.reach(seat).into_iter().map(|(hand, _)| hand).collect::<Vec<_>>());
    let fixed =
        [PAGE, STYLE, SCRIPT].iter().map(|text| text.len()).sum::<usize>() + 8 * (hands[0].len() + hands[1].len());
    expect_within(&first, [hands[0].len(), hands[1].len()], fixed as f64, &runouts, flags.max_mb)?;
    let mut nodes = Vec::new();
    add_street(&first, &runouts, &mut nodes)?;
    let quoted = |text: &str| format!("\"{text}\"");
    let mut command = format!("warpplay cfr browse {}", quoted(&file.display().to_string()));
    for (flag, text) in [("--line", line), ("--board", board)] {
        if !text.is_empty() {
            command += &format!(" {flag} {}", quoted(text));
        }
    }
    let (measured_at, exploitability) = solved.measured().unzip();
    let data = Data {
        file: file.file_name().unwrap_or(file.as_os_str()).display().to_string(),
        iterations: solved.iterations(),
        exploitability,
        measured_at,
        unit: if solved.spot().icm.is_some() { "prizes" } else { "chips" },
        command,
        runouts: flags.runouts.join(","),
        hands,
        nodes,
    };
    joined(&data)
}

/// Adds the nodes of a street from a node on, and those of later streets after the runouts. Returns the place of the first.
fn add_street(first: &Node<'_>, runouts: &Runouts, nodes: &mut Vec<PageNode>) -> Result<usize> {
    let reports = first.reports()?;
    let start = nodes.len();
    nodes.extend(reports.iter().map(|(node, report)| page_node(node, report)));
    link(nodes, start);
    for (at, (node, _)) in (start..).zip(&reports).filter(|(_, (node, _))| node.is_deal()) {
        for (card, next) in &runouts.0 {
            let place = add_street(&node.deal(card)?, next, nodes)?;
            nodes[at].cards.insert(card.clone(), place);
        }
    }
    Ok(start)
}

/// Links the nodes of a street, each of which stands before those that follow it. Returns the place after the last that follows this one.
fn link(nodes: &mut [PageNode], at: usize) -> usize {
    (0..nodes[at].actions.len()).fold(at + 1, |next, _| {
        nodes[at].next.push(next);
        link(nodes, next)
    })
}

fn page_node(node: &Node<'_>, report: &NodeReport) -> PageNode {
    let kind = match (node.is_deal(), node.is_end()) {
        (true, _) => Kind::Deal,
        (_, true) => Kind::End,
        _ => Kind::Action,
    };
    PageNode {
        kind,
        history: report.history.clone(),
        street: node.street(),
        board: report.board.clone(),
        pot: report.pot,
        seat: report.seat,
        actions: report.actions.clone(),
        names: node.moves().iter().map(text::label).collect(),
        next: Vec::new(),
        cards: BTreeMap::new(),
        ev: report.ev,
        equity: report.equity,
        hands: (kind != Kind::End).then(|| Packed::new(report)),
    }
}

/// Refuses a page that would be too large, before anything is computed.
fn expect_within(first: &Node<'_>, n_hands: [usize; 2], fixed: f64, runouts: &Runouts, max_mb: f64) -> Result<()> {
    if max_mb.is_nan() || max_mb < 0.0 {
        return Err(Usage(format!("--max-mb: {max_mb} is not allowed (0 or more)")).into());
    }
    let mut of_streets = Vec::new();
    add_sizes(first, n_hands, 0, &mut of_streets)?;
    let mb = |street: usize| of_streets.get(street).copied().unwrap_or(0) as f64 / 1e6;
    let [turns, rivers] = runouts.counts();
    let least = fixed / 1e6 + mb(0);
    let whole = least + turns as f64 * mb(1) + rivers as f64 * mb(2);
    if whole <= max_mb {
        return Ok(());
    }
    let mut text =
        format!("--max-mb: the page would have up to {whole:.3} MB, and may have {max_mb}. Its first street ");
    if least > max_mb {
        text += &format!("alone has {least:.3}: --line begins it later, and a larger --max-mb allows it");
    } else {
        let n_fit = ((max_mb - least) / mb(1)).floor();
        text += &format!("has {least:.3}, the nodes after a card of --runouts {:.3}: {n_fit} of them fit", mb(1));
        if mb(2) > 0.0 {
            text += &format!("; those after a second card have {:.3}", mb(2));
        }
    }
    Err(Usage(text).into())
}

/// Adds the sizes of the nodes from a node on, by street, with one card dealt on each: another card takes as much.
fn add_sizes(node: &Node<'_>, n_hands: [usize; 2], street: usize, sizes: &mut Vec<u64>) -> warpplay::Result<()> {
    if sizes.len() <= street {
        sizes.push(0);
    }
    let actions = node.actions();
    sizes[street] += match node.is_end() {
        true => AT_END,
        false => BESIDE + Packed::n_chars(n_hands, node.seat(), actions.len()) as u64,
    };
    for action in &actions {
        add_sizes(&node.child(action)?, n_hands, street, sizes)?;
    }
    match node.cards().first() {
        Some(card) => add_sizes(&node.deal(card)?, n_hands, street + 1, sizes),
        None => Ok(()),
    }
}

/// The page with style, script and data in their places.
fn joined(data: &Data) -> Result<String> {
    // A tag cannot begin in the data: `<` stands in texts only, where JSON has another spelling of it.
    let json = serde_json::to_string(data)?.replace('<', "\\u003c");
    let title = data.file.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let parts = [("{{title}}", title.as_str()), ("{{style}}", STYLE), ("{{data}}", &json), ("{{script}}", SCRIPT)];
    let mut text = String::with_capacity(PAGE.len() + STYLE.len() + SCRIPT.len() + json.len());
    let mut rest = PAGE;
    for (mark, part) in parts {
        // The page has every mark once, in this order; a test holds it to that.
        let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
        text += before;
        text += part;
        rest = after;
    }
    Ok(text + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_its_marks_in_order_and_its_parts_end_no_tag() {
        let places = ["{{title}}", "{{style}}", "{{data}}", "{{script}}"].map(|mark| {
            assert_eq!(PAGE.matches(mark).count(), 1, "{mark}");
            PAGE.find(mark)
        });
        assert!(places.is_sorted());
        assert!(!STYLE.contains("</style") && !SCRIPT.contains("</script"));
        // Nothing is loaded.
        for part in [PAGE, STYLE, SCRIPT] {
            assert!(
                ["http:", "https:", "url(", "@import", "src=", "href=", "fetch("]
                    .iter()
                    .all(|word| !part.contains(word))
            );
        }
    }

    #[test]
    fn texts_of_the_data_are_no_tags() {
        let data = Data {
            file: "</script><b>&.spot".into(),
            iterations: 1,
            exploitability: None,
            measured_at: None,
            unit: "chips",
            command: "warpplay cfr browse \"</script>\"".into(),
            runouts: "{{script}}".into(),
            hands: [Vec::new(), Vec::new()],
            nodes: Vec::new(),
        };
        let page = joined(&data).expect("a page");
        assert_eq!(page.matches("</script>").count(), 2, "of the data and of the script");
        assert_eq!(page.matches(SCRIPT).count(), 1);
        let (_, json) = page.split_once("type=\"application/json\">").expect("the data");
        let (json, _) = json.split_once("</script>").expect("its end");
        let found: serde_json::Value = serde_json::from_str(json).expect("JSON");
        assert_eq!((&found["file"], &found["command"]), (&data.file.into(), &data.command.into()));
        assert!(page.contains("<title>&lt;/script&gt;&lt;b&gt;&amp;.spot</title>"));
    }
}
