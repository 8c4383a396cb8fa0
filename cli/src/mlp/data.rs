//! The data of a command: read, or drawn where none is given.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use warpplay::Error;
use warpplay::mlp::{CsvFormat, Dataset, Inputs, Loss, Network, Scaling, Split};

use crate::common::{self, Usage};

/// Seeds of the drawn sets: every run has the same.
const TRAIN_SEED: u64 = 1;
const TEST_SEED: u64 = 2;

/// Whether the first line of a CSV file is a header.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// It is if none of its fields is a number, or if --label-column is given
    #[default]
    Auto,
    /// It is
    Yes,
    /// It is not
    No,
}

impl Header {
    /// As [`CsvFormat::header`].
    pub fn given(self) -> Option<bool> {
        match self {
            Self::Auto => None,
            Self::Yes => Some(true),
            Self::No => Some(false),
        }
    }
}

/// What numbers in place of pixels are.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Features {
    /// As they are
    Raw,
    /// Less the mean, by the standard deviation, each over the training set, or as the weight file says
    Standardised,
}

/// Where images and labels come from.
#[derive(clap::Args, Clone, Debug)]
pub struct DataFlags {
    /// Folder with MNIST's four files, or those of any data set in its format (IDX) or as train-images.npy, train-labels.npy, test-images.npy, test-labels.npy, plain or gzip; without data the program draws digits
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// Training set in place of --data: a CSV file with a label and pixels of 0 to 255 in each line, or images (IDX, .npy) with --train-labels
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "drawn"])]
    pub train_set: Option<PathBuf>,

    /// Labels (IDX, .npy) of the images of --train-set; with --loss mse or huber their targets, a .npy file of floating-point numbers [n] or [n, targets]
    #[arg(long, value_name = "FILE")]
    pub train_labels: Option<PathBuf>,

    /// Test set, as --train-set
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "drawn_test"])]
    pub test_set: Option<PathBuf>,

    /// Labels or targets of the images of --test-set, as --train-labels
    #[arg(long, value_name = "FILE")]
    pub test_labels: Option<PathBuf>,

    /// Column of a CSV file that has the labels, or the targets, by its name in the header [default: the first]
    #[arg(long, value_name = "NAME", conflicts_with = "data")]
    pub label_column: Option<String>,

    /// Whether the first line of a CSV file is a header
    #[arg(long, value_name = "WHETHER", value_enum, default_value_t, conflicts_with = "data")]
    pub header: Header,

    /// Number of drawn training digits, without data
    #[arg(long, value_name = "N", default_value_t = 6000, conflicts_with = "data", allow_negative_numbers = true)]
    pub drawn: usize,

    /// Number of drawn test digits, without data
    #[arg(long, value_name = "N", default_value_t = 1000, conflicts_with = "data", allow_negative_numbers = true)]
    pub drawn_test: usize,

    /// Rows and columns of the images of CSV files, for networks that see more than a row of pixels
    #[arg(skip)]
    pub image_size: Option<(u32, u32)>,

    /// Set by [`SampleFlags::data`]; `None` for networks of convolutions
    #[arg(skip)]
    pub features: Option<Features>,
}

/// The same, for networks that take any numbers; [`data`](Self::data) is what loads.
#[derive(clap::Args, Clone, Debug)]
pub struct SampleFlags {
    #[command(flatten)]
    files: DataFlags,

    /// Numbers in place of pixels: columns of CSV files, or .npy files of floating-point numbers [n, features], as they are or standardised
    #[arg(long, value_name = "HOW", value_enum, conflicts_with = "data")]
    features: Option<Features>,
}

impl SampleFlags {
    /// With what the numbers are.
    pub fn data(&self) -> DataFlags {
        DataFlags { features: self.features, ..self.files.clone() }
    }
}

impl DataFlags {
    /// With what a network takes, where no flag says what the numbers are.
    pub fn of_network(self, network: &Network) -> Self {
        let features = self.features.or(match network.inputs() {
            Inputs::Pixels => None,
            Inputs::Features(None) => Some(Features::Raw),
            Inputs::Features(Some(_)) => Some(Features::Standardised),
        });
        Self { features, ..self }
    }

    /// Training set and test set, with the labels or targets that a loss needs, standardised with `scaling` if there is one, else with the training set's.
    pub fn load(&self, loss: Loss, scaling: Option<&Scaling>) -> Result<(Arc<Dataset>, Arc<Dataset>)> {
        self.expect_files(loss, scaling)?;
        if self.train_set.is_some() != self.test_set.is_some() {
            return Err(Usage("--train-set and --test-set are given together".into()).into());
        }
        let (train, test) = common::without_results(|| match (&self.data, &self.train_set) {
            (Some(folder), _) => Dataset::load_dir(folder),
            (None, Some(_)) => {
                let train = self.file(Split::Train, None, loss)?;
                let test = self.file(Split::Test, Some(train.n_classes()), loss)?;
                test.expect_columns_of(&train)?;
                if self.features != Some(Features::Standardised) {
                    return Ok((train, test));
                }
                let scaling = scaling.map_or_else(|| train.scaling(), |scaling| Ok(scaling.clone()))?;
                Ok((train.scaled(&scaling)?, test.scaled(&scaling)?))
            }
            (None, None) => Ok((self.digits(Split::Train)?, self.digits(Split::Test)?)),
        })?;
        Ok((Arc::new(train), Arc::new(test)))
    }

    /// One of the two, for a network of this many classes, standardised with the network's scaling where it has one.
    pub fn load_split(
        &self,
        split: Split,
        n_classes: u32,
        loss: Loss,
        scaling: Option<&Scaling>,
    ) -> Result<Arc<Dataset>> {
        self.expect_files(loss, scaling)?;
        let (wanted, other) = match split {
            Split::Train => (&self.train_set, &self.test_set),
            Split::Test => (&self.test_set, &self.train_set),
        };
        if wanted.is_none() && other.is_some() {
            let text = match split {
                Split::Train => "--train-set is needed, the set to evaluate on (--on-training-set)",
                Split::Test => "--test-set is needed, the set to evaluate on (without --on-training-set)",
            };
            return Err(Usage(text.into()).into());
        }
        let set = common::without_results(|| match &self.data {
            Some(folder) => Dataset::load_split(folder, split, Some(n_classes)),
            None if wanted.is_some() => {
                let set = self.file(split, Some(n_classes), loss)?;
                if self.features != Some(Features::Standardised) {
                    return Ok(set);
                }
                if split == Split::Train || self.train_set.is_none() {
                    let own = set.scaling()?;
                    return set.scaled(scaling.unwrap_or(&own));
                }
                let train = self.file(Split::Train, Some(n_classes), loss)?;
                set.expect_columns_of(&train)?;
                let own = train.scaling()?;
                set.scaled(scaling.unwrap_or(&own))
            }
            None => self.digits(split),
        })?;
        Ok(Arc::new(set))
    }

    /// Paths of all that is read, by their flags.
    pub fn paths(&self) -> [(&'static str, Option<&Path>); 5] {
        [
            ("--data", self.data.as_deref()),
            ("--train-set", self.train_set.as_deref()),
            ("--train-labels", self.train_labels.as_deref()),
            ("--test-set", self.test_set.as_deref()),
            ("--test-labels", self.test_labels.as_deref()),
        ]
    }

    /// Labels need images, targets need files, features a scaling if they are to be standardised, and the flags of CSV files need a CSV file.
    fn expect_files(&self, loss: Loss, scaling: Option<&Scaling>) -> Result<()> {
        if loss.is_regression() && self.train_set.is_none() && self.test_set.is_none() {
            let text = format!("loss {loss} needs samples with targets, named by --train-set and --test-set");
            return Err(Usage(text).into());
        }
        if self.features.is_some() && self.train_set.is_none() && self.test_set.is_none() {
            return Err(Usage("features come from files alone, named by --train-set or --test-set".into()).into());
        }
        if self.features == Some(Features::Standardised) && self.train_set.is_none() && scaling.is_none() {
            return Err(
                Usage("--features standardised needs --train-set, whose means and deviations it takes".into()).into()
            );
        }
        let pairs = [("train", &self.train_labels, &self.train_set), ("test", &self.test_labels, &self.test_set)];
        if let Some((name, ..)) = pairs.iter().find(|(_, labels, set)| labels.is_some() && set.is_none()) {
            return Err(Usage(format!("--{name}-labels is only for the images of --{name}-set")).into());
        }
        let flag = match (&self.label_column, self.header) {
            (Some(_), _) => "--label-column",
            (None, Header::Yes | Header::No) => "--header",
            (None, Header::Auto) => return Ok(()),
        };
        if self.has_csv() {
            return Ok(());
        }
        Err(Usage(format!("{flag} is only for CSV files, named by --train-set or --test-set")).into())
    }

    /// Whether one of the two sets is a CSV file, which has its labels in it.
    pub fn has_csv(&self) -> bool {
        let sets = [(&self.train_set, &self.train_labels), (&self.test_set, &self.test_labels)];
        sets.iter().any(|(set, labels)| set.is_some() && labels.is_none())
    }

    /// One of the sets that are named by their files.
    fn file(&self, split: Split, n_classes: Option<u32>, loss: Loss) -> warpplay::Result<Dataset> {
        let (set, labels) = match split {
            Split::Train => (&self.train_set, &self.train_labels),
            Split::Test => (&self.test_set, &self.test_labels),
        };
        let set = set.as_deref().unwrap_or(Path::new(""));
        if let Some(labels) = labels {
            return match (self.features.is_some(), loss.is_regression()) {
                (false, false) => Dataset::load(set, labels, n_classes),
                (false, true) => Dataset::load_with_targets(set, labels),
                (true, false) => Dataset::load_features(set, labels, n_classes),
                (true, true) => Dataset::load_features_with_targets(set, labels),
            };
        }
        let header = self.header.given();
        let format = CsvFormat { label: self.label_column.clone(), header, image_size: self.image_size };
        match (self.features.is_some(), loss.is_regression()) {
            (false, false) => Dataset::load_csv(set, &format, n_classes),
            (false, true) => Dataset::load_csv_with_targets(set, &format),
            (true, false) => Dataset::load_csv_features(set, &format, n_classes),
            (true, true) => Dataset::load_csv_features_with_targets(set, &format),
        }
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
        if self.paths().iter().any(|(_, path)| path.is_some()) || quiet {
            return Ok(());
        }
        common::print("no data given: using drawn digits; their figures cannot be compared with those of MNIST\n")
    }
}
