//! Results of searches and matches.

use std::path::Path;

use super::{Found, Job, Output, column, drawing, fields, journal, nothing};

pub fn report(path: &Path) -> Found {
    fields(path, &["/report/best", "/report/actions", "/report/performance/playouts"])
}

fn games(path: &Path) -> Found {
    column(path, "/games", &["game", "moves", "result"])
}

#[test]
fn analyse() {
    Job {
        family: "mcts",
        prepare: nothing,
        line: "analyse --device cpu --threads 1 --trees 2 --playouts 32 --steps 1500 --seed 1 --json found.json",
        resume: None,
        old: Some(("--seed 1", "--seed 2")),
        leaves: None,
        outputs: &[Output { kind: "result (JSON)", path: "found.json", read: report }],
    }
    .kill();
}

#[test]
fn a_match() {
    Job {
        family: "mcts",
        prepare: nothing,
        line: "match --games 8 --seed 1 --a acp_prodigal,trees=1,playouts=8,steps=50,device=cpu --b vanilla,steps=50 --json found.json --plots plots --checkpoint journal",
        resume: Some((
            "journal",
            "match --games 8 --seed 1 --a acp_prodigal,trees=1,playouts=8,steps=50,device=cpu --b vanilla,steps=50 --json found.json --plots plots --resume journal",
        )),
        // A journal that is there is gone on with, never replaced.
        old: None,
        leaves: None,
        outputs: &[
            Output { kind: "journal", path: "journal", read: journal },
            Output { kind: "match (JSON)", path: "found.json", read: games },
            Output { kind: "plot (SVG)", path: "plots/score.svg", read: drawing },
        ],
    }
    .kill();
}
