//! Lesson 10: solve a hold'em spot, save it, and walk through what was found.

use std::ops::ControlFlow;

use warpplay::Device;
use warpplay::cfr::spot::{SolvedSpot, Spot, SpotForm, SpotSolver, SpotTarget};

fn main() -> warpplay::Result<()> {
    // A turn: 100 chips lie in the pot, each player has 100 more, and bets are half the pot. `Spot::read` takes the file.
    let spot = Spot::parse(
        r#"{"pot": 100, "effective_stack": 100, "bet_fraction_of_pot": 0.5, "flop": "Ks 7h 2d", "turn": "8c",
            "ranges": ["AA,77,65s", "QQ,AK,98s"], "max_raises": {"turn": 1, "river": 1}}"#,
    )?;
    // Until nobody can win more than 1 % of the pot; `Device::auto` takes a GPU where there is one.
    let target = SpotTarget::PartOfPot(0.01);
    let mut solver = SpotSolver::builder(&spot).target(target).iterations(2000).build(&Device::cpu())?;
    let exploitability = solver.run(|_| ControlFlow::Continue(()))?;
    assert!(exploitability <= 1.0);

    let path = std::env::temp_dir().join(format!("warpplay_lesson_{}.spot", std::process::id()));
    solver.save(&path, SpotForm::Strategies)?;
    let solved = SolvedSpot::open(&path)?;

    // The first node, with the 13 × 13 grid of what its hands do.
    let report = solved.root().report()?;
    print!("{report}");
    // The values of both seats share the pot.
    assert!((report.ev[0] + report.ev[1] - report.pot).abs() < 1e-6);

    // Both check, a four comes on the river, and seat 0 acts.
    let river = solved.root().child("c")?.child("c")?.deal("4c")?;
    for (choice, part) in river.moves().iter().zip(river.strategy("6h5h")?) {
        println!("6h5h on {}: {choice} {:.1} %", river.board(), 100.0 * part);
    }
    // The file is mapped while it is open.
    drop(river);
    drop(solved);
    std::fs::remove_file(&path).map_err(|error| warpplay::Error::file(&path, None, error.to_string()))?;
    Ok(())
}
