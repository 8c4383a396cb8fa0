//! Figures as data; the program draws them.

use serde::{Deserialize, Serialize};

/// An axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// What it shows, with the unit.
    pub label: String,
    /// Whether it is in powers of ten.
    pub log: bool,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), log: false }
    }

    /// An axis in powers of ten.
    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), log: true }
    }
}

/// A line with a name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Its points, x before y.
    pub points: Vec<[f64; 2]>,
    /// The least and the largest value at each point; empty where there are none.
    pub band: Vec<[f64; 2]>,
    /// Whether it shows published values.
    pub published: bool,
}

/// A bar, with the least and the largest of the values that it is the mean or the median of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// Its name in the legend.
    pub name: String,
    /// Its height.
    pub mean: f64,
    /// The least value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
}

/// Bars side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// What is below them.
    pub name: String,
    /// The bars.
    pub bars: Vec<Bar>,
}

/// What a figure is drawn from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Chart {
    /// Lines.
    Lines(Vec<Line>),
    /// Groups of bars.
    Bars(Vec<Group>),
    /// A map of colours, `values[y][x]`, with a text in each cell.
    Heat {
        /// Names of the columns.
        x: Vec<String>,
        /// Names of the rows.
        y: Vec<String>,
        /// The values; `None` where nothing was measured.
        values: Vec<Vec<Option<f64>>>,
        /// The texts, each of one or more lines.
        texts: Vec<Vec<String>>,
    },
}

/// A figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Stem of its file, as `figure23`.
    pub file: String,
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The data.
    pub chart: Chart,
}
