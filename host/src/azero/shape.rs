//! The size of a network.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Maximum number of rows, and of columns, of a board.
pub const MAX_BOARD_SIDE: u32 = 32;
/// Most planes of an observation.
pub const MAX_PLANES: u32 = 256;
/// Most channels of the torso.
pub const MAX_WIDTH: u32 = 1024;
/// Most residual blocks.
pub const MAX_DEPTH: u32 = 256;
/// Most channels of a head's 1×1 convolution.
pub const MAX_FILTERS: u32 = 64;
/// Most units of the value head's hidden layer.
pub const MAX_VALUE_HIDDEN: u32 = 4096;
/// Most actions.
pub const MAX_ACTIONS: u32 = 65_536;

/// Board, planes, width, depth, heads and actions of a residual network. The default is OpenSpiel's network for checkers.
///
/// # Paper
/// OpenSpiel's AlphaZero network: `nn_width` is `width`, `nn_depth` is `depth`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NetworkShape {
    /// Rows of the board.
    pub rows: u32,
    /// Columns of the board.
    pub columns: u32,
    /// Planes of an observation.
    pub planes: u32,
    /// Channels of every block.
    pub width: u32,
    /// Residual blocks.
    pub depth: u32,
    /// Channels of the value head's 1×1 convolution.
    pub value_filters: u32,
    /// Units of the value head's hidden layer.
    pub value_hidden: u32,
    /// Channels of the policy head's 1×1 convolution.
    pub policy_filters: u32,
    /// Actions, each with a logit.
    pub actions: u32,
}

impl Default for NetworkShape {
    fn default() -> Self {
        Self {
            rows: 8,
            columns: 8,
            planes: 5,
            width: 128,
            depth: 5,
            value_filters: 1,
            value_hidden: 128,
            policy_filters: 2,
            actions: 512,
        }
    }
}

impl NetworkShape {
    /// Squares of the board.
    pub const fn cells(&self) -> usize {
        self.rows as usize * self.columns as usize
    }

    /// Number of values of an observation: `[planes, rows, columns]`.
    pub const fn n_observation(&self) -> usize {
        self.planes as usize * self.cells()
    }

    /// Number of values of a block's output: `[width, rows, columns]`.
    pub const fn n_block(&self) -> usize {
        self.width as usize * self.cells()
    }

    /// The number of multiply-adds for one position, with every convolution computed directly.
    pub const fn multiplications(&self) -> u64 {
        let (cells, width) = (self.cells() as u64, self.width as u64);
        let torso = 2 * self.depth as u64 * 9 * width * width * cells;
        let input = 9 * self.planes as u64 * width * cells;
        let value = self.value_filters as u64 * cells * (width + self.value_hidden as u64) + self.value_hidden as u64;
        let policy = self.policy_filters as u64 * cells * (width + self.actions as u64);
        torso + input + value + policy
    }

    /// # Errors
    /// [`Error::Option`] for the first size that is 0 or too large.
    pub fn check(&self) -> Result<()> {
        let within = |name, value: u32, least: u32, most: u32| match (least..=most).contains(&value) {
            true => Ok(()),
            false => Err(Error::option(name, value, format!("{least} to {most}"))),
        };
        within("rows", self.rows, 1, MAX_BOARD_SIDE)?;
        within("columns", self.columns, 1, MAX_BOARD_SIDE)?;
        within("planes", self.planes, 1, MAX_PLANES)?;
        within("width", self.width, 1, MAX_WIDTH)?;
        within("depth", self.depth, 0, MAX_DEPTH)?;
        within("value filters", self.value_filters, 1, MAX_FILTERS)?;
        within("value hidden", self.value_hidden, 1, MAX_VALUE_HIDDEN)?;
        within("policy filters", self.policy_filters, 1, MAX_FILTERS)?;
        within("actions", self.actions, 1, MAX_ACTIONS)
    }
}
