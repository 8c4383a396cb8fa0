//! What must hold of every result, whatever was solved.

use anyhow::{Result, ensure};
use warpplay::cfr::Point;

/// Checks the points of a solve; `slack` chips are rounding.
///
/// # Errors
/// The first thing that does not hold: a fault of the program, not of its user.
pub fn trajectory(points: &[Point], slack: f64) -> Result<()> {
    for point in points {
        let Point { iteration, nash_conv, value, best_response, average_utility, .. } = point;
        let numbers = [value, best_response, average_utility].into_iter().flatten();
        ensure!(
            numbers.chain([nash_conv]).all(|number| number.is_finite()),
            "check failed: a number at iteration {iteration} is not finite"
        );
        for (seat, (best, value)) in best_response.iter().zip(value).enumerate() {
            ensure!(
                best + slack >= *value,
                "check failed: at iteration {iteration} seat {seat}'s best response is worth {best}, its strategy {value}"
            );
        }
    }
    let again = points.windows(2).find(|pair| pair[1].iteration <= pair[0].iteration);
    ensure!(again.is_none(), "check failed: iterations of the trajectory do not rise");
    Ok(())
}
