//! The paper's objective and update, as flags.

use warpplay::shogi::{FIRST_VALUES, Objective, Values};

/// Values that shogi books give for orientation, in pawns: L N S G B R +P +L +N +S +B +R.
pub const USUAL: &str = "3,4,5,6,8,10,7,6,6,6,10,12";

/// What is not given is as the paper has it.
#[derive(clap::Args, Clone, Debug)]
pub struct RuleFlags {
    /// Initial values: one for all twelve, or L N S G B R +P +L +N +S +B +R separated by commas; the pawn's is 1 [default: 3]
    #[arg(long, value_name = "VALUES", value_parser = values, allow_hyphen_values = true)]
    pub init: Option<Values>,

    /// Slope of the sigmoid
    #[arg(long, value_name = "A", default_value_t = Objective::default().a, allow_negative_numbers = true)]
    pub a: f64,

    /// Initial step size of the update
    #[arg(long, value_name = "H", default_value_t = Objective::default().h, allow_negative_numbers = true)]
    pub h: f64,

    /// Factor of the step size after each update
    #[arg(long, value_name = "F", default_value_t = Objective::default().factor, allow_negative_numbers = true)]
    pub factor: f64,

    /// Change of a value for the finite difference
    #[arg(long, value_name = "D", default_value_t = Objective::default().delta, allow_negative_numbers = true)]
    pub delta: f64,
}

impl RuleFlags {
    /// The first values.
    pub fn init(&self) -> Values {
        self.init.unwrap_or(FIRST_VALUES)
    }

    /// The objective.
    ///
    /// # Errors
    /// A number that is not above 0, or too large.
    pub fn objective(&self) -> warpplay::Result<Objective> {
        let objective = Objective { a: self.a, delta: self.delta, h: self.h, factor: self.factor };
        objective.check().map(|()| objective)
    }
}

/// One value for all, or twelve.
pub fn values(text: &str) -> Result<Values, String> {
    let bad = || "allowed are one number, or twelve separated by commas".to_string();
    let numbers: Vec<f64> =
        text.split(',').map(|part| part.trim().parse()).collect::<Result<_, _>>().map_err(|_| bad())?;
    if numbers.iter().any(|number| !number.is_finite()) {
        return Err("values are finite numbers".into());
    }
    match numbers[..] {
        [one] => Ok([one; 12]),
        _ => Values::try_from(numbers).map_err(|_| bad()),
    }
}
