//! One image to classify, from a file.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use super::sample_files;
use crate::runtime::input_file;
use crate::{Error, Result};

/// Memory that the decoder of PNG files may take.
const PNG_BYTES: usize = 1 << 26;

/// Reads an image of `n_inputs` pixels, 0 background to 255 ink.
///
/// * `path`: a PNG file of any kind, or an IDX or `.npy` file of images, plain or with gzip; distinguished by their first bytes.
/// * `index`: index of the image in such a file, from 0; 0 for a PNG file.
/// * `invert`: inverts the image, for dark ink on light paper; MNIST is white on black.
///
/// Colours are converted to grey by luma (Rec. 601) and 16 bits to 8; transparent areas count as paper.
///
/// # Errors
/// [`Error::File`] for a damaged file or an image of another size; [`Error::Option`] for an index beyond the file's images.
pub fn read_image(path: impl AsRef<Path>, index: usize, n_inputs: u32, invert: bool) -> Result<Vec<u8>> {
    let path = path.as_ref();
    let expect = |rows: u32, cols: u32| {
        let fits = u64::from(rows) * u64::from(cols) == u64::from(n_inputs);
        if fits { Ok(()) } else { Err(other_size(path, rows, cols, n_inputs)) }
    };
    read(path, index, invert, &expect)
}

/// As [`read_image`], an image of `[rows, cols]` pixels and of no other shape.
///
/// # Errors
/// As [`read_image`].
pub fn read_image_sized(path: impl AsRef<Path>, index: usize, size: [u32; 2], invert: bool) -> Result<Vec<u8>> {
    let path = path.as_ref();
    let expect = |rows: u32, cols: u32| match [rows, cols] == size {
        true => Ok(()),
        false => {
            let [expected_rows, expected_cols] = size;
            let reason =
                format!("the image is {rows} x {cols} pixels, the network's are {expected_rows} x {expected_cols}");
            Err(Error::file(path, None, reason))
        }
    };
    read(path, index, invert, &expect)
}

/// Reads an image whose rows and columns `expect` allows.
fn read(path: &Path, index: usize, invert: bool, expect: &dyn Fn(u32, u32) -> Result<()>) -> Result<Vec<u8>> {
    const SIGNATURE: [u8; 8] = [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n'];
    let failed = |error: std::io::Error| Error::file(path, None, format!("cannot be read: {error}"));
    // It is opened twice, and a pipe would wait for somebody to write.
    input_file::expect_file(path)?;
    let mut first = Vec::with_capacity(SIGNATURE.len());
    let mut file = File::open(path).map_err(failed)?;
    file.by_ref().take(SIGNATURE.len() as u64).read_to_end(&mut first).map_err(failed)?;
    let mut pixels = if first == SIGNATURE {
        if index != 0 {
            return Err(Error::option("index", index, "0, a PNG file holds one image"));
        }
        read_png(path, invert, expect)?
    } else {
        let images = sample_files::read_images(path)?;
        expect(images.rows, images.cols)?;
        let Some(image) = images.pixels.chunks_exact(images.n_pixels()).nth(index) else {
            return Err(Error::option("index", index, format!("below the {} images of the file", images.len())));
        };
        image.to_vec()
    };
    if invert {
        for pixel in &mut pixels {
            *pixel = 255 - *pixel;
        }
    }
    Ok(pixels)
}

fn other_size(path: &Path, rows: u32, cols: u32, n_inputs: u32) -> Error {
    let root = n_inputs.isqrt();
    let square = if root * root == n_inputs { format!(" ({root} x {root})") } else { String::new() };
    let n = u64::from(rows) * u64::from(cols);
    let reason = format!("the image is {rows} x {cols} = {n} pixels, the network has {n_inputs} inputs{square}");
    Error::file(path, None, reason)
}

fn read_png(path: &Path, white_paper: bool, expect: &dyn Fn(u32, u32) -> Result<()>) -> Result<Vec<u8>> {
    let failed = |error: png::DecodingError| Error::file(path, None, format!("the PNG file cannot be read: {error}"));
    let file = File::open(path).map_err(|error| Error::file(path, None, format!("cannot be read: {error}")))?;
    let mut decoder = png::Decoder::new_with_limits(BufReader::new(file), png::Limits { bytes: PNG_BYTES });
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(failed)?;
    let (rows, cols) = (reader.info().height, reader.info().width);
    expect(rows, cols)?;
    let size = reader.output_buffer_size().filter(|&size| size <= PNG_BYTES);
    let Some(size) = size else {
        return Err(Error::file(path, None, format!("the image {rows} x {cols} needs more than {PNG_BYTES} bytes")));
    };
    let mut bytes = vec![0; size];
    reader.next_frame(&mut bytes).map_err(failed)?;
    let (colour, depth) = reader.output_color_type();
    if depth != png::BitDepth::Eight {
        return Err(Error::file(path, None, format!("the PNG file has a bit depth of {depth:?}, expected 1 to 16")));
    }
    let paper = if white_paper { 255 } else { 0 };
    let grey = |pixel: &[u8]| match *pixel {
        [grey] => grey,
        [grey, alpha] => over(grey, alpha, paper),
        [red, green, blue] => luma(red, green, blue),
        [red, green, blue, alpha] => over(luma(red, green, blue), alpha, paper),
        _ => paper,
    };
    Ok(bytes.chunks_exact(colour.samples()).map(grey).take(rows as usize * cols as usize).collect())
}

/// Rec. 601, in thousandths, rounded.
fn luma(red: u8, green: u8, blue: u8) -> u8 {
    ((299 * u32::from(red) + 587 * u32::from(green) + 114 * u32::from(blue) + 500) / 1000) as u8
}

/// Ink of this opacity on paper.
fn over(ink: u8, alpha: u8, paper: u8) -> u8 {
    let (ink, alpha, paper) = (u32::from(ink), u32::from(alpha), u32::from(paper));
    ((ink * alpha + paper * (255 - alpha) + 127) / 255) as u8
}
