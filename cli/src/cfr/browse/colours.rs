//! Colours, each with one of text that can be read on it.
//!
//! They are numbers of the table of 256 colours from 16 on: terminals show these alike, whichever ground and scheme they have. Text on the terminal's ground has the terminal's colour.

use ratatui::style::{Color, Modifier, Style};

/// Whether colours are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Colours,
    /// Without colours, as `NO_COLOR` asks for: bars in reverse video.
    Plain,
}

/// What a part of a cell is filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Nothing.
    Empty,
    Colour(u8),
    /// The terminal's colours, exchanged.
    Reverse,
}

/// Fold: blue.
pub const FOLD: u8 = 68;
/// Check or call: green.
pub const CALL: u8 = 71;
/// Bets and raises: red, deeper with the size.
pub const BETS: [u8; 7] = [217, 210, 203, 196, 160, 124, 88];
/// Reach alone.
pub const NEUTRAL: u8 = 109;
/// Values from low to high.
const SCALE: [u8; 8] = [160, 166, 172, 178, 142, 106, 70, 34];
const BLACK: u8 = 16;
const WHITE: u8 = 231;

/// The colour of each action: sizes of bets share the reds out, from the smallest to the largest.
pub fn of_actions(actions: &[String]) -> Vec<u8> {
    let size = |action: &str| action.strip_prefix('r').map(|size| size.parse().unwrap_or(0.0));
    let mut sizes: Vec<f64> = actions.iter().filter_map(|action| size(action)).collect();
    sizes.sort_by(f64::total_cmp);
    let red = |size: f64| match (sizes.iter().filter(|&&smaller| smaller < size).count(), sizes.len()) {
        (_, 0 | 1) => BETS[BETS.len() / 2],
        (rank, n) => BETS[rank * (BETS.len() - 1) / (n - 1)],
    };
    let colour = |action: &String| match size(action) {
        Some(size) => red(size),
        None if action == "f" => FOLD,
        None => CALL,
    };
    actions.iter().map(colour).collect()
}

/// The colour of a value that is this part of the way from the least to the greatest.
pub fn of_value(part: f64) -> u8 {
    SCALE[((part.clamp(0.0, 1.0) * SCALE.len() as f64) as usize).min(SCALE.len() - 1)]
}

/// How text is written on a filled part.
pub fn style(paint: Paint) -> Style {
    match paint {
        Paint::Empty => Style::new().add_modifier(Modifier::DIM),
        Paint::Colour(colour) => Style::new().fg(Color::Indexed(ink(colour))).bg(Color::Indexed(colour)),
        Paint::Reverse => Style::new().add_modifier(Modifier::REVERSED),
    }
}

/// Black or white, whichever has the greater contrast.
fn ink(ground: u8) -> u8 {
    if contrast(BLACK, ground) >= contrast(WHITE, ground) { BLACK } else { WHITE }
}

/// The ratio of contrast of two colours of the table, as WCAG 2 defines it: 1 to 21.
pub fn contrast(one: u8, other: u8) -> f64 {
    let [one, other] = [one, other].map(luminance);
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// Relative luminance of a colour of the table's cube (16 to 231).
fn luminance(colour: u8) -> f64 {
    let at = colour.saturating_sub(16);
    let levels = [at / 36, at / 6 % 6, at % 6].map(|level| match level {
        0 => 0.0,
        level => f64::from(55 + 40 * u32::from(level)) / 255.0,
    });
    let linear = levels.map(|level| if level <= 0.04045 { level / 12.92 } else { ((level + 0.055) / 1.055).powf(2.4) });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}
