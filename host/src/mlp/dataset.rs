//! Labelled images.

use crate::{Error, Result};

/// Images of one size with their labels, in host memory.
#[derive(Clone, PartialEq, Eq)]
pub struct Dataset {
    images: Vec<u8>,
    labels: Vec<u8>,
    rows: u32,
    cols: u32,
    n_classes: u32,
    source: String,
}

impl Dataset {
    /// A set of `labels.len()` images `[n, rows, cols]` of bytes, 0 background to 255 ink, whose labels are below `n_classes`.
    ///
    /// # Errors
    /// [`Error::Shape`] if the lengths do not fit or nothing is there; [`Error::Option`] for a label that is too large.
    pub fn new(
        images: Vec<u8>,
        labels: Vec<u8>,
        rows: u32,
        cols: u32,
        n_classes: u32,
        source: impl Into<String>,
    ) -> Result<Self> {
        let expected = labels.len() as u64 * u64::from(rows) * u64::from(cols);
        if labels.is_empty() || expected == 0 || expected != images.len() as u64 {
            return Err(Error::shape("images", expected, images.len()));
        }
        if let Some(label) = labels.iter().find(|&&label| u32::from(label) >= n_classes) {
            return Err(Error::option("label", label, format!("below {n_classes}")));
        }
        Ok(Self { images, labels, rows, cols, n_classes, source: source.into() })
    }

    /// Number of images.
    #[allow(clippy::len_without_is_empty, reason = "a set is never empty")]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Bytes of an image.
    pub fn n_inputs(&self) -> u32 {
        self.rows * self.cols
    }

    /// Rows and columns of an image.
    pub fn image_size(&self) -> (u32, u32) {
        (self.rows, self.cols)
    }

    /// Number of classes.
    pub fn n_classes(&self) -> u32 {
        self.n_classes
    }

    /// All images, `[n, rows, cols]`.
    pub fn images(&self) -> &[u8] {
        &self.images
    }

    /// One image, if there is one of that number.
    pub fn image(&self, sample: usize) -> Option<&[u8]> {
        self.images.chunks_exact(self.n_inputs() as usize).nth(sample)
    }

    /// All labels.
    pub fn labels(&self) -> &[u8] {
        &self.labels
    }

    /// Where it comes from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// A checksum of images and labels (FNV-1a, 64 bits): tells whether a checkpoint belongs to this set.
    pub fn checksum(&self) -> u64 {
        todo!()
    }

    /// `n` drawn digits.
    pub fn drawn_digits(seed: u32, n: usize) -> Result<Self> {
        let _ = (seed, n);
        todo!()
    }

    /// The set without its last `n` samples, and these.
    ///
    /// # Errors
    /// [`Error::Option`] if one of the two would be empty.
    pub fn split(&self, n: usize) -> Result<(Self, Self)> {
        if n == 0 || n >= self.len() {
            return Err(Error::option(
                "validation",
                n,
                format!("1 to {}, below the samples of the set", self.len() - 1),
            ));
        }
        let at = self.len() - n;
        let (first, last) = self.images.split_at(at * self.n_inputs() as usize);
        let part = |images: &[u8], labels: &[u8], name: &str| Self {
            images: images.to_vec(),
            labels: labels.to_vec(),
            rows: self.rows,
            cols: self.cols,
            n_classes: self.n_classes,
            source: format!("{} ({name})", self.source),
        };
        Ok((part(first, &self.labels[..at], "training part"), part(last, &self.labels[at..], "validation part")))
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
