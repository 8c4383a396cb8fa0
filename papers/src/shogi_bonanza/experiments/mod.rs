//! The paper's tables, figures, progress lines and claims as items: what it printed beside what is measured here.
//!
//! Values and what follows from them are learnt by the histogram, which has the sums of the paper's program ([`Repetition`] needs no GPU for them); times are those of the paper's own
//! programs and of the engines of `warpplay` on the same positions. Under `mpirun` Table 2 is measured on the group's processes: rank 0 runs the items, the others [`serve`](Repetition::serve).

mod claims;
mod data;
mod float;
mod group;
mod memory;
mod processes;
mod progress;
mod quiet;
mod stages;
mod times;
mod values;

use serde_json::{Value, json};
use warpplay::Result;
use warpplay::shogi::ranks::Ranks;
use warpplay::shogi::{Objective, Shard, SparseOptions};

pub use data::{GAMES, games};

use crate::experiment::statistics::{least, mean, most};
use crate::experiment::{Item, Paper, Run, Sheet, Stop};

/// All items.
const ITEMS: &[Item] = &[
    Item::new("table2", "the learning on one to four processes", "Table 2, section 3"),
    Item::new("memory", "bytes of a position, and how many fit", "section 4, under equation (6)"),
    Item::new("progress", "eleven lines of progress", "section 4, after Table 5"),
    Item::new("table6", "the learning on a CPU and on a GPU", "Table 6, section 4"),
    Item::new("figure1", "convergence from 3", "Figure 1, section 5"),
    Item::new("figure2", "convergence from 5", "Figure 2, section 5"),
    Item::new("table7", "values of the pieces", "Table 7, section 5"),
    Item::new("claims", "what the text says", "sections 2 to 6"),
];

/// What measurements depend on, beside the positions.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Settings {
    /// What is minimised, and by which steps.
    pub objective: Objective,
    /// Updates of each measurement of Tables 2 and 6; the paper did 50.
    pub table_iterations: u32,
    /// Updates of Figures 1 and 2 and of Table 7.
    pub iterations: u32,
    /// The positions are taken so many times where times are measured: the paper had 6.3 million.
    pub repeat: u32,
    /// Threads of the CPU where all cores are meant; `None` for as many as there are.
    pub threads: Option<usize>,
    /// For a further column of Table 7: quiet lines are searched anew after so many updates.
    pub quiescence_every: Option<u32>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            objective: Objective::default(),
            table_iterations: 2,
            iterations: super::published::conditions::FIGURE_ITERATIONS,
            repeat: 1,
            threads: None,
            quiescence_every: None,
        }
    }
}

/// The publication's items on some positions.
pub struct Repetition<'a> {
    shards: Vec<&'a Shard>,
    settings: Settings,
    group: &'a dyn Ranks,
}

impl<'a> Repetition<'a> {
    /// The items on these positions; `group` is [`Alone`](warpplay::shogi::ranks::Alone) or the processes that were started together.
    pub fn new(shards: Vec<&'a Shard>, settings: Settings, group: &'a dyn Ranks) -> Self {
        Self { shards, settings, group }
    }

    fn parents(&self) -> u64 {
        self.shards.iter().map(|shard| shard.n_parents() as u64).sum()
    }

    /// Children, each once.
    fn children(&self) -> u64 {
        children(&self.shards)
    }
}

impl Paper for Repetition<'_> {
    fn name(&self) -> &'static str {
        "shogi_bonanza"
    }

    fn items(&self) -> &'static [Item] {
        ITEMS
    }

    fn options(&self) -> Result<Value> {
        self.settings.objective.check()?;
        self.settings.quiescence_every.map_or(Ok(()), quiet::check_every)?;
        SparseOptions { threads: self.settings.threads, ..SparseOptions::default() }.check()?;
        let fingerprint = self.shards.iter().map(|shard| shard.fingerprint()).fold(0, u64::wrapping_add);
        Ok(json!({
            "settings": self.settings,
            "data": format!("{fingerprint:016x}"),
            "parents": self.parents(),
            "children": self.children(),
            "processes": self.group.size(),
        }))
    }

    fn sheet(&self, item: &Item, run: &mut Run<'_>) -> std::result::Result<Sheet, Stop> {
        match item.name {
            "table2" => processes::sheet(self, item, run),
            "memory" => memory::sheet(self, item, run),
            "progress" => progress::sheet(self, item, run),
            "table6" => times::sheet(self, item, run),
            "figure1" => values::figure(self, item, run, 0),
            "figure2" => values::figure(self, item, run, 1),
            "table7" => values::table(self, item, run),
            _ => claims::sheet(self, item, run),
        }
    }
}

/// Children of shards, each once.
fn children<S: std::ops::Deref<Target = Shard>>(shards: &[S]) -> u64 {
    shards.iter().map(|shard| shard.n_children() as u64).sum()
}

/// Mean, least and largest of some seconds.
fn spread(seconds: &[f64]) -> [f64; 3] {
    [mean(seconds), least(seconds), most(seconds)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn items_have_names_of_their_own() {
        let names: BTreeSet<_> = ITEMS.iter().map(|item| item.name).collect();
        assert_eq!(names.len(), ITEMS.len());
        assert_eq!(spread(&[1.0, 4.0, 1.0]), [2.0, 1.0, 4.0]);
    }
}
