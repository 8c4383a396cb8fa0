//! Weights, checkpoints and results of perceptrons.

use std::path::Path;

use warpplay::mlp::Checkpoint;

use super::{Found, Job, Output, column, drawing, journal, nothing, same_bytes, text};

/// The weights, and how far the training is; a checkpoint holds times too.
fn checkpoint(path: &Path) -> Found {
    let found = Checkpoint::load(path).map_err(text)?;
    let losses: Vec<f64> = found.epochs().iter().map(|epoch| epoch.loss).collect();
    Ok(format!("{losses:?} {} {:?}", found.updates(), found.network().map_err(text)?).into_bytes())
}

fn course(path: &Path) -> Found {
    column(path, "/report/epochs", &["loss", "test_accuracy", "test_loss"])
}

fn models(path: &Path) -> Found {
    column(path, "/report/models", &["seed", "learning_rate", "epochs"])
}

#[test]
fn train() {
    Job {
        family: "mlp",
        prepare: nothing,
        line: "train --device cpu --threads 1 --drawn 220 --drawn-test 60 --hidden 16 --batch 4 --lr 0.05 --epochs 24 --seed 1 --json found.json --plots plots --checkpoint state --checkpoint-every 0.001 --save-weights net.safetensors",
        resume: Some((
            "state",
            "train --device cpu --threads 1 --drawn 220 --drawn-test 60 --resume state --checkpoint state --epochs 24 --json found.json --plots plots --save-weights net.safetensors",
        )),
        old: Some(("--seed 1", "--seed 2")),
        leaves: None,
        outputs: &[
            Output { kind: "checkpoint", path: "state", read: checkpoint },
            Output { kind: "weights", path: "net.safetensors", read: same_bytes },
            Output { kind: "result (JSON)", path: "found.json", read: course },
            Output { kind: "plot (SVG)", path: "plots/training.svg", read: drawing },
        ],
    }
    .kill();
}

#[test]
fn sweep() {
    Job {
        family: "mlp",
        prepare: nothing,
        line: "sweep --device cpu --threads 1 --drawn 220 --drawn-test 60 --hidden 16 --learning-rates 0.01,0.1 --models 4 --epochs 12 --seed 1 --json found.json --checkpoint journal",
        resume: Some((
            "journal",
            "sweep --device cpu --threads 1 --drawn 220 --drawn-test 60 --hidden 16 --learning-rates 0.01,0.1 --models 4 --epochs 12 --seed 1 --json found.json --resume journal",
        )),
        // A journal that is there is gone on with, never replaced.
        old: None,
        leaves: None,
        outputs: &[
            Output { kind: "journal", path: "journal", read: journal },
            Output { kind: "result (JSON)", path: "found.json", read: models },
        ],
    }
    .kill();
}
