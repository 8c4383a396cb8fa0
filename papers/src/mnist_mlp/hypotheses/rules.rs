//! In which points a program deviates from the text.

use warpplay_cpu_ref::mlp::Init;

/// Where the first weights come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// As [`Init`] draws them.
    Drawn(Init),
    /// He-uniform, times a factor.
    Scaled(f32),
    /// Uniform in an interval that is the same for both layers.
    Uniform(f32, f32),
}

/// What a gradient, summed over the batch, is multiplied by before the learning rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// 1 / B, as the text says (section 1.1).
    Mean,
    /// 1.
    Sum,
    /// 1 / B², a division in the gradient and another in the update.
    Twice,
    /// 0: the parameters stay as they were drawn.
    Frozen,
}

/// Which partial sums of a bias gradient arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrive {
    /// All.
    All,
    /// That of the last row: each thread has one of up to 256 rows and stores its partial sum instead of adding it.
    Last,
    /// Every second one, as if additions that are not atomic overwrote each other in pairs.
    Half,
}

/// Where the hidden gradient is let through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mask {
    /// Where the unit is active.
    Unit,
    /// Everywhere: the mask is missing.
    None,
    /// Where the gradient itself is positive: the mask is made from the wrong array.
    Gradient,
}

/// What the loss gradient is taken of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Softmax {
    /// The probabilities.
    Once,
    /// The softmax of the probabilities: both kernels take the exponential.
    Twice,
    /// The exponentials without their division by the sum, scaled by the largest.
    Unscaled,
}

/// How many elements of the loss gradient have a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Grid {
    /// All.
    Whole,
    /// `B · classes / 256` blocks rounded down, the elements behind them keep the probabilities: softmax and gradient share a buffer.
    DownInPlace,
    /// The same, the elements behind them are 0: the gradient has a buffer of its own.
    DownZero,
}

/// What becomes of the last batch of an epoch where it is not full.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Short {
    /// It is trained on, divided by its own samples.
    Kept,
    /// It is left out.
    Dropped,
    /// Its missing rows are those of the batch before.
    Stale,
}

/// Which samples come when.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Visits {
    /// Shuffled in every epoch.
    Shuffled,
    /// In the order of the file, in every epoch.
    File,
    /// Shuffled once, the same order in every epoch.
    Once,
}

/// What the program does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// First weights.
    pub start: Start,
    /// Of W1, b1, W2, b2.
    pub scale: [Scale; 4],
    /// Of both biases.
    pub arrive: Arrive,
    /// Whether the bias gradients are set to 0 after an update; else every step adds to what is there.
    pub reset_biases: bool,
    /// The same for the gradients of the weights.
    pub reset_weights: bool,
    /// Whether the gradient of the hidden values is stored, not added to that of the step before.
    pub clear_hidden: bool,
    /// Of the hidden gradient.
    pub mask: Mask,
    /// Of the loss gradient.
    pub softmax: Softmax,
    /// Of the loss gradient.
    pub grid: Grid,
    /// Whether W2 is updated before the hidden gradient is made from it.
    pub late: bool,
    /// Of the last batch.
    pub short: Short,
    /// The order.
    pub visits: Visits,
    /// Whether pixels are shifted and scaled to mean 0 and variance 1 (0.1307 and 0.3081, those of MNIST) instead of to 0..1.
    pub standardised: bool,
    /// Values of each parameter that are updated, from the first on.
    pub reach: usize,
    /// Share of the last step's change that is added to the next one.
    pub momentum: f32,
}

impl Default for Rules {
    /// What the text says, with He-uniform weights, which it does not say.
    fn default() -> Self {
        Self {
            start: Start::Drawn(Init::HeUniform),
            scale: [Scale::Mean; 4],
            arrive: Arrive::All,
            reset_biases: true,
            reset_weights: true,
            clear_hidden: true,
            mask: Mask::Unit,
            softmax: Softmax::Once,
            grid: Grid::Whole,
            late: false,
            short: Short::Kept,
            visits: Visits::Shuffled,
            standardised: false,
            reach: usize::MAX,
            momentum: 0.0,
        }
    }
}
