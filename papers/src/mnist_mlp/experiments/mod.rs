//! The paper's tables and figure beside ours, and what explains its accuracies.
//!
//! Each file is an item or two; [`MnistMlp`] names them and hands each a laboratory, which trains every setting once.

mod arithmetic;
mod collapses;
mod copies;
mod evaluate;
mod evidence;
mod gap;
mod kernels;
mod lab;
mod main_run;
mod matmul;
mod memory;
mod rates;
mod summary;
mod training;
mod vary;
mod work;

use std::sync::Arc;

use serde_json::json;
use warpplay::mlp::Dataset;
use warpplay::{Error, Result};

use super::published::SIZES;
use crate::experiment::{Item, Paper, Run, Sheet, Stop};
use lab::Lab;
pub use training::{Outcome, Way};

/// Ha and Beqaj's publication, on a training set and a test set.
#[derive(Clone, Debug)]
pub struct MnistMlp {
    /// Training set; the paper's is MNIST's.
    pub train: Arc<Dataset>,
    /// Test set.
    pub test: Arc<Dataset>,
    /// Epochs of every training; `None` for the paper's: 10 of the main experiment, 5 of the others; 1 where sizes are small.
    pub epochs: Option<u32>,
    /// Trainings of each form whose spread from run to run is asked for, at least 1.
    pub repeats: u32,
}

/// All items, in the order of the paper.
const ITEMS: [Item; 16] = [
    Item::new("kernels", "each launch of a step: threads, work, time; the forms of the sums", "1.2, 1.3, 2.1, 2.2"),
    Item::new("matmul", "plain against tiled product: a step, large squares", "1.3, kernels 1, 2, 5; 2.2, decision 2"),
    Item::new("figure1", "copies between host and device in a step", "1.4, Figure 1; 3.5"),
    Item::new("work", "floating-point operations and threads of a step", "2.3"),
    Item::new("memory", "memory of weights, values and gradients", "1.4, 2.4"),
    Item::new("main", "time, accuracy and loss of a training, of 10 epochs in the paper", "2.5"),
    Item::new("gap", "where 4.1 points come from: gradient averaged or summed, and what they do not come from", "2.5"),
    Item::new("batch", "samples of a batch", "2.6"),
    Item::new("collapses", "both settings at which the CPU program has the accuracy of one class", "2.6; 2.7, exp. 4"),
    Item::new("threads1d", "threads of a one-dimensional block", "2.7, exp. 1"),
    Item::new("threads2d", "side of a two-dimensional block", "2.7, exp. 2"),
    Item::new("hidden", "hidden units", "2.7, exp. 3"),
    Item::new("rates", "learning rates, and what could explain their accuracies", "2.7, exp. 4"),
    Item::new("evaluate", "samples evaluated at once", "2.7, exp. 5"),
    Item::new("summary", "best setting of each parameter", "2.8"),
    Item::new("arithmetic", "every number that follows from others, and every claim", "all"),
];

/// The item that an older name of it means: `warpplay papers mnist_mlp experiments --only NAME` of version 0.1.
pub fn renamed(name: &str) -> &str {
    match name {
        "block" => "threads1d",
        "tile" => "threads2d",
        "lr" => "rates",
        "suspects" => "gap",
        "operations" => "kernels",
        "transfer" => "figure1",
        _ => name,
    }
}

impl Paper for MnistMlp {
    fn name(&self) -> &'static str {
        "mnist_mlp"
    }

    fn items(&self) -> &'static [Item] {
        &ITEMS
    }

    fn options(&self) -> Result<serde_json::Value> {
        for (name, value) in [("epochs", self.epochs.unwrap_or(1)), ("repeats", self.repeats)] {
            if value == 0 {
                return Err(Error::option(name, 0, "at least 1"));
            }
        }
        let [_, _, classes] = SIZES;
        if self.train.n_classes() > classes {
            let allowed = format!("labels below {classes}, the outputs of the paper's network");
            let found = format!("{} with labels up to {}", self.train.source(), self.train.n_classes() - 1);
            return Err(Error::option("data", found, allowed));
        }
        let set = |set: &Dataset| json!({ "source": set.source(), "samples": set.len(), "checksum": set.checksum() });
        Ok(json!({
            "train": set(&self.train),
            "test": set(&self.test),
            "epochs": self.epochs,
            "repeats": self.repeats,
        }))
    }

    fn sheet(&self, item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
        let sets = [Arc::clone(&self.train), Arc::clone(&self.test)];
        let mut lab = Lab::new(sets, self.epochs, self.repeats, run)?;
        let sheet = Sheet::new(item);
        let sheet = match item.name {
            "kernels" => kernels::sheet(sheet, &mut lab)?,
            "matmul" => matmul::sheet(sheet, &mut lab)?,
            "figure1" => copies::sheet(sheet, &mut lab)?,
            "work" => work::sheet(sheet),
            "memory" => memory::sheet(sheet, &mut lab)?,
            "main" => main_run::sheet(sheet, &mut lab)?,
            "gap" => gap::sheet(sheet, &mut lab)?,
            "batch" | "threads1d" | "threads2d" | "hidden" => vary::sheet(sheet, &mut lab)?,
            "collapses" => collapses::sheet(sheet, &mut lab)?,
            "rates" => rates::sheet(sheet, &mut lab)?,
            "evaluate" => evaluate::sheet(sheet, &mut lab)?,
            "summary" => summary::sheet(sheet, &mut lab)?,
            "arithmetic" => arithmetic::sheet(sheet, &mut lab)?,
            name => return Err(Error::option("item", name, "one of the publication's").into()),
        };
        Ok(lab.finish(sheet))
    }
}
