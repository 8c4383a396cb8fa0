//! Labelled images, and images with targets.

mod features;
mod targets;

pub(in crate::mlp) use features::{WITHIN_HALF, beyond};

use std::path::{Path, PathBuf};

use super::csv_file::{self, CsvFormat};
use super::features::Features;
use super::scaling::Scaling;
use super::source::Images;
use super::{digits, idx, sample_files};
use crate::runtime::atomic_file;
use crate::runtime::fnv::Fnv;
use crate::{Error, Result};

/// Kinds of files of a set.
const KINDS: [Kind; 2] = [Kind { idx: "images-idx3", npy: "images" }, Kind { idx: "labels-idx1", npy: "labels" }];

/// What the files of images, or of labels, are called.
#[derive(Clone, Copy)]
struct Kind {
    idx: &'static str,
    npy: &'static str,
}

/// Which of the two sets of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Split {
    /// `train-images-idx3-ubyte` and `train-labels-idx1-ubyte`, or `train-images.npy` and `train-labels.npy`.
    Train,
    /// `t10k-images-idx3-ubyte` and `t10k-labels-idx1-ubyte`, or `test-images.npy` and `test-labels.npy`.
    Test,
}

impl Split {
    /// Prefix of its IDX files' names.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Test => "t10k",
        }
    }

    /// The accepted names of its file of `kind`, without `.gz`; the first that is there is read.
    fn names(self, kind: Kind) -> [String; 3] {
        let prefix = self.prefix();
        let of_npy = match self {
            Self::Train => "train",
            Self::Test => "test",
        };
        [
            format!("{prefix}-{}-ubyte", kind.idx),
            format!("{prefix}-{}-ubyte", kind.idx.replace('-', ".")),
            format!("{of_npy}-{}.npy", kind.npy),
        ]
    }

    /// Finds the file of `kind` in a folder, under any of the accepted names.
    fn find(self, folder: &Path, kind: Kind) -> Result<PathBuf> {
        let names = self.names(kind);
        let paths = names.iter().flat_map(|name| [folder.join(name), folder.join(format!("{name}.gz"))]);
        for path in paths {
            if path.is_file() {
                return Ok(path);
            }
        }
        if !folder.is_dir() {
            return Err(Error::file(folder, None, "there is no such folder"));
        }
        let reason = format!("no {} in it, nor {} or {}, plain or with .gz", names[0], names[1], names[2]);
        Err(Error::file(folder, None, reason))
    }
}

/// Images of one size, or samples of other numbers, with their labels, or, for a regression, with targets, in host memory.
///
/// ```text
/// images        [n, rows, cols] u8, row-major, 0 background to 255 ink: pixel (row, col) of image i at  (i · rows + row) · cols + col
/// features      [n, n_inputs] f32 in their place, finite
/// labels        [n] u8, below n_classes
/// targets       [n, n_targets] f32 in their place, finite
/// their files   (IDX, all u32 big-endian; plain or gzip)
///   images      u32 2051, u32 n, u32 rows, u32 cols, then n · rows · cols bytes
///   labels      u32 2049, u32 n, then n bytes
///               (numpy) .npy of the same arrays; (CSV) a line a sample: CsvFormat
/// ```
#[derive(Clone, PartialEq)]
pub struct Dataset {
    /// Empty where there are features.
    images: Vec<u8>,
    /// `[n, cols]`, and `rows` is 1; empty where there are images.
    features: Features,
    /// Empty where there are targets.
    labels: Vec<u8>,
    /// `[n, n_classes]`; empty where there are labels.
    targets: Vec<f32>,
    rows: u32,
    cols: u32,
    n_classes: u32,
    /// Of a CSV file with a header, the names of the pixels or features; else empty.
    columns: Vec<String>,
    /// What the features were standardised with.
    scaling: Option<Scaling>,
    source: String,
}

// All numbers are finite.
impl Eq for Dataset {}

impl Dataset {
    /// A set of `labels.len()` images `[n, rows, cols]` of bytes, 0 background to 255 ink, whose labels are below `n_classes`.
    ///
    /// # Errors
    /// [`Error::Shape`] if the lengths do not agree, there are no images, or an image has 2^32 pixels or more; [`Error::Option`] for a label that is too large, and for `n_classes` outside 1 to 256.
    pub fn new(
        images: Vec<u8>,
        labels: Vec<u8>,
        rows: u32,
        cols: u32,
        n_classes: u32,
        source: impl Into<String>,
    ) -> Result<Self> {
        check_images(images.len(), labels.len(), rows, cols)?;
        most_classes(Some(n_classes))?;
        if let Some(label) = labels.iter().find(|&&label| u32::from(label) >= n_classes) {
            return Err(Error::option("label", label, format!("below {n_classes}")));
        }
        let (features, targets, columns) = (Features::default(), Vec::new(), Vec::new());
        let (scaling, source) = (None, source.into());
        Ok(Self { images, features, labels, targets, rows, cols, n_classes, columns, scaling, source })
    }

    /// Checks that the pixels or features have the same names in the same order as those of `train`, where both sets come from CSV files with a header.
    ///
    /// # Errors
    /// [`Error::Shape`] with the first column that has another name.
    pub fn expect_columns_of(&self, train: &Self) -> Result<()> {
        let mut pairs = self.columns.iter().zip(&train.columns).enumerate();
        match pairs.find(|(_, (own, expected))| own != expected) {
            Some((at, (own, expected))) => {
                let what = format!(
                    "{} columns of {}, that of the labels left out: number {}",
                    self.columns.len(),
                    self.source,
                    at + 1
                );
                Err(Error::shape(what, format!("{expected:?} as in {}", train.source), format!("{own:?}")))
            }
            None => Ok(()),
        }
    }

    /// Number of images.
    #[allow(clippy::len_without_is_empty, reason = "a set is never empty")]
    pub fn len(&self) -> usize {
        if self.targets.is_empty() { self.labels.len() } else { self.targets.len() / self.n_classes as usize }
    }

    /// Bytes of an image, or features of a sample.
    pub fn n_inputs(&self) -> u32 {
        self.rows * self.cols
    }

    /// Rows and columns of an image.
    pub fn image_size(&self) -> (u32, u32) {
        (self.rows, self.cols)
    }

    /// Number of classes, or of targets of a sample: the outputs of a network.
    pub fn n_classes(&self) -> u32 {
        self.n_classes
    }

    /// All images, `[n, rows, cols]`; none where there are features.
    pub fn images(&self) -> &[u8] {
        &self.images
    }

    /// One image; `None` if the index is too large, or there are features.
    pub fn image(&self, sample: usize) -> Option<&[u8]> {
        self.images.chunks_exact(self.n_inputs() as usize).nth(sample)
    }

    /// All labels; none where there are targets.
    pub fn labels(&self) -> &[u8] {
        &self.labels
    }

    /// All targets, `[n, n_classes]`, in place of labels.
    pub fn targets(&self) -> Option<&[f32]> {
        (!self.targets.is_empty()).then_some(&self.targets)
    }

    /// Where the data comes from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// A checksum of sizes, images and labels, or targets (FNV-1a, 64 bits), which shows whether a checkpoint belongs to this set.
    pub fn checksum(&self) -> u64 {
        let mut sum = Fnv::default();
        for number in [self.len() as u64, self.rows.into(), self.cols.into(), self.n_classes.into()] {
            sum.add(&number.to_le_bytes());
        }
        sum.add(&self.images);
        sum.add(&self.labels);
        for number in self.targets.iter().chain(self.features.single()) {
            sum.add(&number.to_le_bytes());
        }
        sum.value()
    }

    /// Draws `n` synthetic digits of 28 x 28 pixels, the same for the same seed on every machine; a shorter set is the beginning of a longer one. Each class occurs once in
    /// every ten samples.
    ///
    /// They replace real data if none is available and are easier than handwriting; another seed gives a test set.
    ///
    /// # Errors
    /// [`Error::Option`] if `n` is 0 or more than 10 million.
    ///
    /// ```
    /// use warpplay::mlp::Dataset;
    ///
    /// let digits = Dataset::drawn_digits(1, 20)?;
    /// assert_eq!((digits.len(), digits.image_size(), digits.n_classes()), (20, (28, 28), 10));
    /// # Ok::<(), warpplay::Error>(())
    /// ```
    pub fn drawn_digits(seed: u64, n: usize) -> Result<Self> {
        if !(1..=10_000_000).contains(&n) {
            return Err(Error::option("drawn digits", n, "1 to 10000000"));
        }
        let (images, labels) = digits::draw(seed, n);
        let source = format!("drawn digits, seed {seed}");
        Self::new(images, labels, digits::SIDE, digits::SIDE, digits::N_CLASSES, source)
    }

    /// Reads a file of images and one of labels, each IDX or numpy's `.npy`, plain or compressed with gzip; their first bytes tell the format. Without `n_classes`, the number
    /// of classes is the largest label plus 1, at least 2.
    ///
    /// Images of an `.npy` file are `[n, rows, cols]` or `[n, pixels]`, `uint8`, or floating-point numbers that bytes divided by 255 are, which is what a network makes of
    /// bytes; labels are `[n]` of any integer type. No value is rounded: others are refused.
    ///
    /// # Errors
    /// [`Error::File`] for a header that is wrong, a truncated or too long file, zero samples, rows or columns, different numbers of images and labels, a value that is no
    /// byte, or a label that is not below `n_classes`; [`Error::Option`] for `n_classes` outside 1 to 256.
    pub fn load(images: impl AsRef<Path>, labels: impl AsRef<Path>, n_classes: Option<u32>) -> Result<Self> {
        let (images_path, labels_path) = (images.as_ref(), labels.as_ref());
        let most = most_classes(n_classes)?;
        let images = sample_files::read_images(images_path)?;
        let labels = sample_files::read_labels(labels_path)?;
        if images.len() != labels.len() {
            let reason =
                format!("{} labels for the {} images of {}", labels.len(), images.len(), images_path.display());
            return Err(Error::file(labels_path, None, reason));
        }
        if let Some(at) = labels.iter().position(|&label| u32::from(label) >= most) {
            let reason = format!("label {at} is {}, below {most} is expected", labels[at]);
            return Err(Error::file(labels_path, None, reason));
        }
        Self::of_files(images, labels, n_classes, images_path)
    }

    /// Reads a CSV file, plain or compressed with gzip: a line for each sample, with its label and its pixels, whole numbers of 0 to 255. Without `n_classes`, the number of
    /// classes is the largest label plus 1, at least 2.
    ///
    /// # Errors
    /// [`Error::File`] with line and column for a value that is not allowed, with the line for one that has another number of columns, and for a file without samples;
    /// [`Error::Option`] for `n_classes` outside 1 to 256, or a named column in a file without a header.
    pub fn load_csv(path: impl AsRef<Path>, format: &CsvFormat, n_classes: Option<u32>) -> Result<Self> {
        let path = path.as_ref();
        let (columns, images, labels) = csv_file::read(path, format, most_classes(n_classes)?)?;
        Ok(Self { columns, ..Self::of_files(images, labels, n_classes, path)? })
    }

    /// What files held: as many labels as images, all below `n_classes`, if given.
    fn of_files(images: Images, labels: Vec<u8>, n_classes: Option<u32>, source: &Path) -> Result<Self> {
        let largest = labels.iter().copied().max().unwrap_or_default();
        let n_classes = n_classes.unwrap_or_else(|| (u32::from(largest) + 1).max(2));
        Self::new(images.pixels, labels, images.rows, images.cols, n_classes, source.display().to_string())
    }

    /// Reads one of the two sets of a folder that has MNIST's file names: `train-images-idx3-ubyte` and so on, also with a dot
    /// (`train-images.idx3-ubyte`), or else `train-images.npy` and so on; plain or with `.gz`.
    ///
    /// # Errors
    /// As [`Dataset::load`]; [`Error::File`] if a file is missing.
    pub fn load_split(folder: impl AsRef<Path>, split: Split, n_classes: Option<u32>) -> Result<Self> {
        let folder = folder.as_ref();
        let [images, labels] = KINDS.map(|kind| split.find(folder, kind));
        Self::load(images?, labels?, n_classes)
    }

    /// Whether a file's name is one of those that [`load_split`](Self::load_split) and [`load_dir`](Self::load_dir) read in a folder.
    pub fn is_file(path: impl AsRef<Path>) -> bool {
        let name = path.as_ref().file_name().unwrap_or_default().to_string_lossy();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        [Split::Train, Split::Test]
            .iter()
            .any(|split| KINDS.iter().any(|&kind| split.names(kind).iter().any(|one| one == name)))
    }

    /// Reads the training set and the test set of a folder. The training labels determine the number of classes.
    ///
    /// # Errors
    /// As [`Dataset::load_split`]; [`Error::File`] also if the test images have another size or a test label is beyond the classes.
    pub fn load_dir(folder: impl AsRef<Path>) -> Result<(Self, Self)> {
        let folder = folder.as_ref();
        let train = Self::load_split(folder, Split::Train, None)?;
        let test = Self::load_split(folder, Split::Test, Some(train.n_classes))?;
        if test.image_size() != train.image_size() {
            let reason = format!(
                "images are {} x {} pixels, {} x {} are expected as in {}",
                test.rows, test.cols, train.rows, train.cols, train.source
            );
            return Err(Error::file(test.source, None, reason));
        }
        Ok((train, test))
    }

    /// Writes the two plain files of a split into an existing folder.
    ///
    /// # Errors
    /// [`Error::File`] if one cannot be written; an existing file of that name is then unchanged. [`Error::Shape`] for a set with targets or features, which these files do not hold.
    pub fn save(&self, folder: impl AsRef<Path>, split: Split) -> Result<()> {
        if self.targets().is_some() {
            return Err(Error::shape(self.source(), "labels, as IDX files hold", "targets"));
        }
        if self.features().is_some() {
            return Err(Error::shape(self.source(), "images, as IDX files hold", "features"));
        }
        let path = |kind: &str| folder.as_ref().join(format!("{}-{kind}-ubyte", split.prefix()));
        let (images, labels) = (path("images-idx3"), path("labels-idx1"));
        let n = u32::try_from(self.len())
            .map_err(|_| Error::file(&images, None, format!("{} samples, at most {} fit", self.len(), u32::MAX)))?;
        let header = [idx::IMAGES_MAGIC, n, self.rows, self.cols];
        atomic_file::write(&images, &idx::to_bytes(&header, &self.images))?;
        atomic_file::write(&labels, &idx::to_bytes(&[idx::LABELS_MAGIC, n], &self.labels))
    }

    /// Divides the set into all but its last `n` samples, and these.
    ///
    /// # Errors
    /// [`Error::Option`] if one of the two would be empty.
    pub fn split(&self, n: usize) -> Result<(Self, Self)> {
        if n == 0 || n >= self.len() {
            return Err(Error::option("held_out", n, format!("1 to {}, below the samples of the set", self.len() - 1)));
        }
        let at = self.len() - n;
        let images = of_parts(&self.images, at, self.n_inputs());
        let mut features = self.features.split_at(at * self.n_inputs() as usize);
        let (labels, targets) = (of_parts(&self.labels, at, 1), of_parts(&self.targets, at, self.n_classes));
        let [first, last] = [(0, "training part"), (1, "validation part")].map(|(part, name)| Self {
            images: images[part].to_vec(),
            features: std::mem::take(&mut features[part]),
            labels: labels[part].to_vec(),
            targets: targets[part].to_vec(),
            rows: self.rows,
            cols: self.cols,
            n_classes: self.n_classes,
            columns: self.columns.clone(),
            scaling: self.scaling.clone(),
            source: format!("{} ({name})", self.source),
        });
        Ok((first, last))
    }
}

/// The values of the first `at` samples, `width` each, and of the others; what a set does not have has none in both.
fn of_parts<T>(values: &[T], at: usize, width: u32) -> [&[T]; 2] {
    let (first, last) = values.split_at((at * width as usize).min(values.len()));
    [first, last]
}

/// Checks that so many bytes are `n` images of this size, at least one.
fn check_images(n_bytes: usize, n: usize, rows: u32, cols: u32) -> Result<()> {
    if n == 0 || rows == 0 || cols == 0 {
        let got = format!("{n} of {rows} x {cols} pixels");
        return Err(Error::shape("images", "at least 1 of at least 1 x 1 pixels", got));
    }
    let Some(pixels) = rows.checked_mul(cols) else {
        return Err(Error::shape("pixels of an image", format!("at most {}", u32::MAX), format!("{rows} x {cols}")));
    };
    let expected = n as u128 * u128::from(pixels);
    if expected != n_bytes as u128 {
        return Err(Error::shape("bytes of the images", expected, n_bytes));
    }
    Ok(())
}

/// The number of classes that labels must be below: 256, the values of a byte, if none is given.
fn most_classes(n_classes: Option<u32>) -> Result<u32> {
    match n_classes {
        Some(n_classes) if !(1..=256).contains(&n_classes) => Err(Error::option("n_classes", n_classes, "1 to 256")),
        given => Ok(given.unwrap_or(256)),
    }
}

impl std::fmt::Debug for Dataset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dataset")
            .field("source", &self.source)
            .field("len", &self.len())
            .field("image_size", &self.image_size())
            .field("n_classes", &self.n_classes)
            .finish()
    }
}
