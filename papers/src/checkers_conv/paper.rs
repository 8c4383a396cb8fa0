//! The items that `warpplay papers checkers_conv` measures.

use serde_json::json;
use warpplay::azero::Network;
use warpplay::{Fnv, Result};

use super::plan::Setup;
use super::sheets::{checks, future, play, times};
use super::{Baseline, Plan};
use crate::experiment::{Item, Paper, Run, Sheet, Stop};

/// All items, in the order of the paper.
const ITEMS: [Item; 15] = [
    Item::new("kernels", "Every form of the three kernels", "Sections III.A to III.C"),
    Item::new("banks", "Bank conflicts of every form", "Sections III.A to III.C"),
    Item::new("errors", "Error after every block", "Section IV.B"),
    Item::new("growth", "An error behind batch norm", "Section IV.B"),
    Item::new("mistakes", "What equal weights hide", "Sections IV.A and IV.B"),
    Item::new("table1", "Mean speed-ups of kernels, layers and model", "Table I, section IV.C"),
    Item::new("figure2", "Times of the kernels", "Figure 2, section IV.C"),
    Item::new("figure3", "Times of the layers", "Figure 3, section IV.C"),
    Item::new("figure4", "Times of the semi-model", "Figure 4, section IV.C"),
    Item::new("figure5", "Times of the kernels with sums in shared memory", "Figure 5, section IV.C"),
    Item::new("batch", "More than one position", "Section IV.D, the repository's layers"),
    Item::new("games", "Games without an abort", "Section IV.D, Figure 6"),
    Item::new("fused", "Fewer launches", "Section V, first idea"),
    Item::new("cache", "The second-level cache", "Section V, second idea"),
    Item::new("claims", "What is wrong in the paper", "All sections"),
];

/// Paul and Xu, with a network and the choices of a run.
///
/// ```
/// use std::ops::ControlFlow;
/// use warpplay::Device;
/// use warpplay::azero::{Network, NetworkShape};
/// use warpplay_papers::checkers_conv::{CheckersConv, Plan};
/// use warpplay_papers::experiment::{Journal, Paper, Run, Step, measure};
///
/// let shape = NetworkShape { width: 4, depth: 1, ..NetworkShape::default() };
/// let paper = CheckersConv::new(Network::seeded(shape, 27)?, Plan::default())?;
/// let mut watch = |_: &Step<'_>| ControlFlow::Continue(());
/// let run = Run::new(Device::cpu(), true, Journal::in_memory(), &mut watch);
/// let items: Vec<_> = paper.items().iter().filter(|item| item.name == "table1").copied().collect();
/// let report = measure(&paper, &items, run, |_| ControlFlow::Continue(()))?;
/// assert_eq!(report.sheets[0].tables[0].rows.len(), 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CheckersConv {
    setup: Setup,
}

impl CheckersConv {
    /// # Errors
    /// [`Error::Option`](warpplay::Error::Option) for a network that is not one for checkers, or a choice out of range.
    pub fn new(network: Network, plan: Plan) -> Result<Self> {
        Ok(Self { setup: Setup::new(network, plan)? })
    }
}

impl Paper for CheckersConv {
    fn name(&self) -> &'static str {
        "checkers_conv"
    }

    fn items(&self) -> &'static [Item] {
        &ITEMS
    }

    fn options(&self) -> Result<serde_json::Value> {
        let Plan { weights, batch, games, baseline } = &self.setup.plan;
        // A name does not say what is in a file.
        Ok(json!({
            "weights": weights,
            "parameters": parameters(self.setup.study.network()),
            "batch": batch,
            "games": games,
            "baseline": baseline.as_ref().map(times_of_library),
        }))
    }

    fn sheet(&self, item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
        let (setup, sheet) = (&self.setup, Sheet::new(item));
        match item.name {
            "kernels" => times::kernels(setup, run, sheet),
            "banks" => checks::banks(run, sheet),
            "errors" => checks::errors(setup, run, sheet),
            "growth" => checks::growth(setup, run, sheet),
            "mistakes" => checks::mistakes(setup, run, sheet),
            "table1" => times::table_1(setup, run, sheet),
            "figure2" | "figure3" | "figure4" => times::figure(setup, run, sheet, item.name),
            "figure5" => times::figure_5(setup, run, sheet),
            "batch" => play::batch(setup, run, sheet),
            "games" => play::games(setup, run, sheet),
            "fused" => future::fused(setup, run, sheet),
            "cache" => future::cache(setup, run, sheet),
            _ => checks::wrong(setup, run, sheet),
        }
    }
}

/// Checksum of a network: its shape, the meaning of its inputs and outputs, and all tensors.
fn parameters(network: &Network) -> String {
    let meaning = format!("{:?} {:?} {:?}", network.shape(), network.observation(), network.value_of());
    let mut bytes = meaning.into_bytes();
    network.visit(|name, _, values| {
        bytes.extend(name.bytes());
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    });
    checksum(&bytes)
}

/// Checksum of all that a baseline says; numbers are written so that different ones differ.
fn times_of_library(baseline: &Baseline) -> String {
    checksum(format!("{baseline:?}").as_bytes())
}

/// FNV-1a of Fowler, Noll and Vo, 64 bits, in hexadecimal digits.
fn checksum(bytes: &[u8]) -> String {
    format!("{:016x}", Fnv::of(bytes))
}

#[cfg(test)]
mod tests {
    use warpplay::azero::NetworkShape;

    use super::*;

    fn options(seed: u64, us: Option<f64>) -> serde_json::Value {
        let shape = NetworkShape { width: 2, depth: 1, value_hidden: 4, ..NetworkShape::default() };
        let baseline = us.map(|us| {
            let head = r#""schema":1,"library":"l","device":"d","cpu":"c","threads":1,"batch":1"#;
            let text = format!(r#"{{{head},"components":[{{"name":"Model","gpu_us":[9.0,{us:?}],"cpu_us":[]}}]}}"#);
            Baseline::parse("torch.json", &text).expect("read")
        });
        let plan = Plan { weights: "weights.pt".into(), baseline, ..Plan::default() };
        CheckersConv::new(Network::seeded(shape, seed).expect("allowed"), plan)
            .expect("for checkers")
            .options()
            .expect("allowed")
    }

    /// A journal is gone on with, and a run replayed, only where all measurements are of the same network and library.
    #[test]
    fn files_of_one_name_and_other_content_are_other_options() {
        assert_eq!(options(1, Some(2.5)), options(1, Some(2.5)));
        let (weights, other_weights) = (options(1, None), options(2, None));
        assert_eq!(weights["weights"], other_weights["weights"]);
        assert_ne!(weights["parameters"], other_weights["parameters"]);
        let [none, some, other] = [None, Some(2.5), Some(2.75)].map(|us| options(1, us)["baseline"].clone());
        assert!(none.is_null() && some != none && other != none && some != other, "{none} {some} {other}");
    }

    #[test]
    fn checksums_are_the_published_ones() {
        let of = |text: &str| checksum(text.as_bytes());
        assert_eq!([of(""), of("a"), of("foobar")], ["cbf29ce484222325", "af63dc4c8601ec8c", "85944171f73967e8"]);
    }
}
