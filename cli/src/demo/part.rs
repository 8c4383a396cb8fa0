//! What the demonstration shows of a family.

use std::time::Instant;

use serde::Serialize;

use crate::common::plot::Panel;

/// What a family did, and what came of it.
#[derive(Serialize)]
pub struct Part {
    /// The family's command.
    pub family: &'static str,
    /// What it does.
    pub title: &'static str,
    /// What was done here.
    pub task: String,
    /// What it was done with, and where that comes from.
    pub data: String,
    /// What was found: names and values.
    pub found: Vec<(&'static str, String)>,
    /// What [`curve`](Self::curve) is.
    pub curve_of: &'static str,
    /// The values of one line of the plot, in order.
    pub curve: Vec<f64>,
    /// The line that does more of the same.
    pub more: &'static str,
    /// What ran it.
    pub engine: String,
    /// Time of it all.
    pub seconds: f64,
    /// The plots.
    #[serde(skip)]
    pub plots: Vec<Panel>,
}

/// What a family needs to run: how far it has come is told to `show`, 0 to 1.
pub struct Task<'a> {
    pub device: &'a warpplay::Device,
    pub show: &'a (dyn Fn(f64) + Sync),
    pub begun: Instant,
}

impl Task<'_> {
    /// Seconds since it began.
    pub fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// Tells how far it has come; the answer stops the work after Ctrl-C.
    pub fn watch(&self, share: f64) -> std::ops::ControlFlow<()> {
        (self.show)(share);
        crate::common::until_interrupted()
    }
}
