//! The data of a command: read, or drawn where none is given.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use warpplay::Error;
use warpplay::mlp::{Dataset, Split};

use crate::common;

/// Seeds of the drawn sets: every run has the same.
const TRAIN_SEED: u64 = 1;
const TEST_SEED: u64 = 2;

/// Where images and labels come from.
#[derive(clap::Args, Clone, Debug)]
pub struct DataFlags {
    /// Folder with MNIST's four files, or those of any data set in its format (IDX, plain or gzip); without it the program draws digits
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// Number of drawn training digits, without --data
    #[arg(long, value_name = "N", default_value_t = 6000, conflicts_with = "data", allow_negative_numbers = true)]
    pub drawn: usize,

    /// Number of drawn test digits, without --data
    #[arg(long, value_name = "N", default_value_t = 1000, conflicts_with = "data", allow_negative_numbers = true)]
    pub drawn_test: usize,
}

impl DataFlags {
    /// Training set and test set.
    pub fn load(&self) -> Result<(Arc<Dataset>, Arc<Dataset>)> {
        let (train, test) = common::without_results(|| match &self.data {
            Some(folder) => Dataset::load_dir(folder),
            None => Ok((self.digits(Split::Train)?, self.digits(Split::Test)?)),
        })?;
        Ok((Arc::new(train), Arc::new(test)))
    }

    /// One of the two, for a network of this many classes.
    pub fn load_split(&self, split: Split, n_classes: u32) -> Result<Arc<Dataset>> {
        let set = common::without_results(|| match &self.data {
            Some(folder) => Dataset::load_split(folder, split, Some(n_classes)),
            None => self.digits(split),
        })?;
        Ok(Arc::new(set))
    }

    /// The drawn digits of one of the two; an error about their number names the flag.
    fn digits(&self, split: Split) -> warpplay::Result<Dataset> {
        let (flag, seed, n) = match split {
            Split::Train => ("drawn", TRAIN_SEED, self.drawn),
            Split::Test => ("drawn-test", TEST_SEED, self.drawn_test),
        };
        Dataset::drawn_digits(seed, n).map_err(|error| match error {
            Error::Option { value, allowed, .. } => Error::option(flag, value, allowed),
            other => other,
        })
    }

    /// Says so where the digits are drawn.
    pub fn say_if_drawn(&self, quiet: bool) -> Result<()> {
        if self.data.is_some() || quiet {
            return Ok(());
        }
        common::print("no --data: using drawn digits; their figures cannot be compared with those of MNIST\n")
    }
}
