//! The tables, figures and claims of the paper, measured anew.

mod ablations;
mod averages;
mod counts;
mod examples;
mod measure;
mod phases;
mod sweeps;
mod thesis;
mod times;

use serde_json::{Value, json};
use warpplay::Result;

pub use self::thesis::{Settings, Thesis};
use super::published::Variant;
use crate::experiment::{Item, Paper, Run, Sheet, Stop};

const ITEMS: &[Item] = &[
    Item::new("dilemma", "the prisoner's dilemma", "section 2.1.7 and figure 3, pp. 8 and 9"),
    Item::new("regrets", "regrets of rock, paper, scissors", "section 3.1.1 and Table 1, p. 16"),
    Item::new("figure8", "counterfactual regrets of one information set", "section 3.1.3 and figure 8, pp. 17 and 18"),
    Item::new("tree", "sequences, reaches, levels, numbers", "figures 10 to 16 and 19, pp. 24 to 30"),
    Item::new("table2", "game trees of the variants", "Table 2, p. 35"),
    Item::new("table3", "memory, variant A", "Table 3, p. 36"),
    Item::new("table4", "memory, variant B", "Table 4, p. 38"),
    Item::new("table5", "memory, variant C", "Table 5, p. 39"),
    Item::new("table6", "memory, variant D", "Table 6, p. 41"),
    Item::new("table7", "recursive, variant A", "Table 7, p. 52"),
    Item::new("table8", "iterative, CPU, variant A", "Table 8, p. 52"),
    Item::new("table9", "iterative, GPU, variant A", "Table 9, p. 53"),
    Item::new("table10", "recursive, variant B", "Table 10, p. 53"),
    Item::new("table11", "iterative, CPU, variant B", "Table 11, p. 54"),
    Item::new("table12", "iterative, GPU, variant B", "Table 12, p. 54"),
    Item::new("table13", "recursive, variant C", "Table 13, p. 54"),
    Item::new("table14", "iterative, CPU, variant C", "Table 14, p. 55"),
    Item::new("table15", "iterative, GPU, variant C", "Table 15, p. 55"),
    Item::new("table16", "recursive, variant D", "Table 16, p. 56"),
    Item::new("table17", "iterative, CPU, variant D", "Table 17, p. 56"),
    Item::new("table18", "iterative, GPU, variant D", "Table 18, p. 56"),
    Item::new("figure23", "execution times, variant A", "figure 23, p. 37"),
    Item::new("figure25", "execution times, variant B", "figure 25, p. 38"),
    Item::new("figure27", "execution times, variant C", "figure 27, p. 40"),
    Item::new("figure29", "execution times, variant D", "figure 29, p. 41"),
    Item::new("figure30", "why the first phase is not faster", "figure 30, p. 43"),
    Item::new("figure31", "why the second phase is not faster", "figure 31, p. 44"),
    Item::new("ratios", "ratios of execution times", "chapters 5 and 6, pp. 36 to 46"),
    Item::new("averages", "where the printed averages come from", "Tables 7 to 18, pp. 52 to 57"),
    Item::new("ablations", "what each memory optimisation brings", "sections 4.3.1 and 4.3.2, pp. 30 to 32"),
    Item::new("blocks", "threads of a block", "section 2.3.1, p. 12"),
    Item::new("sweep", "sequences a level decide", "section 5.5, p. 42"),
    Item::new("buckets", "buckets do not slow the GPU down", "section 5.5, p. 42"),
];

/// Items that belong to single games: their tables and figures, and what is measured for each game.
pub fn items_of(variants: &[Variant]) -> Vec<&'static str> {
    let is_of = |item: &&Item| {
        let name = item.name;
        let number = |prefix: &str| name.strip_prefix(prefix).and_then(|number| number.parse::<usize>().ok());
        let of = |at: usize| Variant::ALL.get(at).is_some_and(|variant| variants.contains(variant));
        match (number("table"), number("figure")) {
            (Some(2), _) => true,
            (Some(table @ 3..=6), _) => of(table - 3),
            (Some(table), _) => of((table - 7) / 3),
            (_, Some(figure @ 23..=29)) => of((figure - 23) / 2),
            (_, Some(30 | 31)) => of(2),
            _ => name == "ablations" || name == "blocks",
        }
    };
    ITEMS.iter().filter(is_of).map(|item| item.name).collect()
}

impl Paper for Thesis {
    fn name(&self) -> &'static str {
        "cfr_thesis"
    }

    fn items(&self) -> &'static [Item] {
        ITEMS
    }

    fn options(&self) -> Result<Value> {
        let Settings { variants, iterations, repeats, most_seconds, options } = &self.settings;
        let games: Vec<&str> = variants.iter().map(|variant| variant.letter()).collect();
        Ok(json!({
            "games": games, "iterations": iterations, "repeats": repeats, "limit": most_seconds, "programs": options,
        }))
    }

    fn sheet(&self, item: &Item, run: &mut Run<'_>) -> std::result::Result<Sheet, Stop> {
        let number = |prefix: &str| item.name.strip_prefix(prefix).and_then(|number| number.parse::<u8>().ok());
        match (item.name, number("table"), number("figure")) {
            ("dilemma", ..) => examples::dilemma(item, run),
            ("regrets", ..) => examples::regrets(item, run),
            ("figure8", ..) => examples::figure8(item, run),
            ("tree", ..) => examples::tree(item, run),
            (_, Some(2), _) => counts::table2(self, item, run),
            (_, Some(table @ 3..=6), _) => counts::memory(self, item, Variant::ALL[usize::from(table) - 3], run),
            (_, Some(table), _) => times::table(self, item, table, run),
            (_, _, Some(figure @ 23..=29)) => {
                times::figure(self, item, Variant::ALL[usize::from((figure - 23) / 2)], run)
            }
            (_, _, Some(figure)) => phases::figure(self, item, figure == 30, run),
            ("ratios", ..) => times::ratios(self, item, run),
            ("averages", ..) => averages::averages(item),
            ("ablations", ..) => ablations::ablations(self, item, run),
            ("blocks", ..) => ablations::blocks(self, item, run),
            ("sweep", ..) => sweeps::sweep(self, item, run),
            _ => sweeps::buckets(self, item, run),
        }
    }
}
