//! The worked examples.

use super::super::examples;
use crate::experiment::{Cell, Item, Run, Sheet, Stop, Table};

/// The prisoner's dilemma.
pub fn dilemma(item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    run.expect(1);
    let ours = run.exact("dilemma", |_| Ok((examples::prisoners_dilemma(), examples::dilemma_equilibria())))?;
    // Sentences of section 2.1.7: freed, or four years; three each; one year each. Payoffs are four less the years.
    let years = [[[1.0, 1.0], [4.0, 0.0]], [[0.0, 4.0], [3.0, 3.0]]];
    let names = ["silent", "confess"];
    let mut table = Table::new("years, payoffs printed, payoffs of the library")
        .column("first")
        .column("second")
        .column("years of the first")
        .column("of the second")
        .column("payoff of the first, printed")
        .column("ours")
        .column("payoff of the second, printed")
        .column("ours")
        .column("equilibrium");
    for row in 0..2 {
        for column in 0..2 {
            let (years, payoffs) = (years[row][column], ours.0[row][column]);
            let stays = ours.1.contains(&(row, column));
            table.row([
                names[row].into(),
                names[column].into(),
                years[0].into(),
                years[1].into(),
                (4.0 - years[0]).into(),
                payoffs[0].into(),
                (4.0 - years[1]).into(),
                payoffs[1].into(),
                Cell::from(if stays { "yes" } else { "no" }),
            ]);
        }
    }
    Ok(Sheet::new(item).table(table).note("Printed: the only equilibrium is that both confess, with payoffs of 1."))
}

/// Regrets of rock, paper, scissors.
pub fn regrets(item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    run.expect(1);
    let (regrets, strategy) = run.exact("regrets", |_| Ok(examples::rock_against_paper()))?;
    let mut table = Table::new("player A plays rock, player B paper")
        .column("action")
        .column("regret, printed")
        .column("ours")
        .digits("next strategy, printed", 3)
        .digits("ours", 3);
    let printed = [("rock", 0.0, 0.0), ("paper", 1.0, 1.0 / 3.0), ("scissors", 2.0, 2.0 / 3.0)];
    for (at, (name, regret, part)) in printed.into_iter().enumerate() {
        table.row([name.into(), regret.into(), regrets[at].into(), part.into(), strategy[at].into()]);
    }
    Ok(Sheet::new(item).table(table))
}

/// Figure 8.
pub fn figure8(item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    run.expect(1);
    let (utilities, strategy, reach) = ([4.0, 2.0, -3.0], [0.25, 0.5, 0.25], 0.5);
    let ours = run.exact("figure8", |_| {
        let found = examples::figure8(utilities, strategy, reach);
        Ok((found.value, found.regrets, found.counterfactual, found.strategy))
    })?;
    let mut table = Table::new("information set A; the opponent reaches it with probability 1/2")
        .column("action")
        .column("utility")
        .column("strategy")
        .digits("regret, printed", 3)
        .digits("ours", 3)
        .digits("counterfactual, printed", 3)
        .digits("ours", 3)
        .digits("next strategy, printed", 3)
        .digits("ours", 3);
    let printed = [("call", 2.75, 1.375, 0.786), ("raise", 0.75, 0.375, 0.214), ("fold", -4.25, -2.125, 0.0)];
    for (at, (name, regret, counterfactual, next)) in printed.into_iter().enumerate() {
        table.row([
            name.into(),
            utilities[at].into(),
            strategy[at].into(),
            regret.into(),
            ours.1[at].into(),
            counterfactual.into(),
            ours.2[at].into(),
            next.into(),
            ours.3[at].into(),
        ]);
    }
    Ok(Sheet::new(item).table(table).note(format!("Value of the strategy: printed 1.25, ours {}.", ours.0)))
}

/// Sequences, reaches and levels of figures 10 to 16, and the numbers of figure 19.
pub fn tree(item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    run.expect(1);
    let (levels, flat, sizes, depth_first, array) = run.exact("tree", |_| {
        let game = examples::small_tree()?;
        let levels: Vec<Vec<u32>> = examples::sequences_per_level(&game).into_iter().take(2).collect();
        let (flat, sizes) = examples::flattened(&levels);
        // The whole game's numbers: depth first, what stands behind a sequence comes before the next sibling.
        let depth_first: Vec<u32> = game.depth_first().into_iter().take(4).collect();
        Ok((levels, flat, sizes, depth_first, examples::reaches_in_one_array(&examples::reaches(0.25))))
    })?;
    let list = |values: &[u32]| values.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    let mut table =
        Table::new("the first two levels of a game whose root has three sequences behind it, as in figure 10")
            .column("what")
            .column("printed")
            .column("ours");
    table.row([
        "figure 14, 15: reaches of two players at sequences 0 and 1, in one array".into(),
        "1 × 1/4 = 1/4 in the text; the array is a picture".into(),
        array.iter().map(f64::to_string).collect::<Vec<_>>().join(" ").into(),
    ]);
    table.row([
        "figure 16: sequences of the levels".into(),
        "a picture; the text: sequence 0, then its three children".into(),
        levels.iter().map(|level| list(level)).collect::<Vec<_>>().join(" | ").into(),
    ]);
    table.row([
        "section 4.3.2: the same flattened, and the sizes".into(),
        "no numbers, the rule alone".into(),
        format!("{} and {}", list(&flat), sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(" ")).into(),
    ]);
    table.row([
        "figure 19: numbers of the same sequences depth first, as the recursive program has them".into(),
        "a picture, no numbers in the text".into(),
        list(&depth_first).into(),
    ]);
    Ok(Sheet::new(item).table(table).note("Level by level, siblings and all sequences of a level are numbered consecutively; depth first they are not. Numbers depth first count all sequences behind a child before the next sibling."))
}
