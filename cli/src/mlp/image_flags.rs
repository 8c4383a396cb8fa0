//! The flags of images.

use std::path::PathBuf;

/// The image that is classified.
#[derive(clap::Args, Clone, Debug)]
pub struct ImageFlags {
    /// The image: a PNG file with as many pixels as the network has inputs, or, for a network of convolutions, of its rows and columns
    #[arg(long, value_name = "FILE.png")]
    pub image: Option<PathBuf>,

    /// The image: one of an IDX or .npy file, plain or gzip
    #[arg(long, value_name = "FILE")]
    pub images: Option<PathBuf>,

    /// Index of the image in --images, from 0
    #[arg(long, value_name = "N", default_value_t = 0, requires = "images", allow_negative_numbers = true)]
    pub index: usize,

    /// The image is dark on light; MNIST is light on dark
    #[arg(long)]
    pub invert: bool,
}

/// Reads `28x28`.
pub fn image_size(text: &str) -> Result<(u32, u32), String> {
    let sizes = text.split_once('x').and_then(|(rows, cols)| Some((rows.parse().ok()?, cols.parse().ok()?)));
    sizes.filter(|&(rows, cols)| rows > 0 && cols > 0).ok_or_else(|| "expected rows and columns such as 28x28".into())
}
