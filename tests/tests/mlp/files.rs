//! Files of the multilayer perceptrons: data sets, images, weights. What checkpoints hold is tested beside their code.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use warpplay::mlp::{Checkpoint, Dataset, Init, Layer, Network, Split, WeightLayout, read_image};
use warpplay::{Error, Result};
use warpplay_tests::folder::Folder;
use warpplay_tests::golden;

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn idx(header: &[u32], body: &[u8]) -> Vec<u8> {
    header.iter().flat_map(|number| number.to_be_bytes()).chain(body.iter().copied()).collect()
}

/// Three images of 2 x 3.
fn images() -> Vec<u8> {
    idx(&[2051, 3, 2, 3], &(0..18).map(|value| value * 14).collect::<Vec<u8>>())
}

fn labels() -> Vec<u8> {
    idx(&[2049, 3], &[2, 0, 4])
}

/// The error is about this file and says this.
#[track_caller]
fn says<T: std::fmt::Debug>(result: Result<T>, path: &Path, text: &str) {
    let error = result.expect_err(text);
    assert!(matches!(error, Error::File { .. }), "{error:?}");
    assert_eq!(error.to_string(), format!("{}: {text}", path.display()));
}

#[test]
fn plain_and_packed_sets_are_read() {
    let folder = Folder::new();
    // The content says whether it is packed, not the name.
    let a = folder.write("images", &packed(&images()));
    let b = folder.write("labels.gz", &labels());
    let set = Dataset::load(&a, &b, None).unwrap();
    assert_eq!((set.len(), set.image_size(), set.n_inputs(), set.n_classes()), (3, (2, 3), 6, 5));
    assert_eq!(set.labels(), [2, 0, 4]);
    assert_eq!(set.image(1).unwrap(), [84, 98, 112, 126, 140, 154]);
    assert_eq!(set.image(3), None);
    assert_eq!(set.source(), a.display().to_string());
    assert_eq!(Dataset::load(&a, &b, Some(200)).unwrap().n_classes(), 200);
    let zeros = folder.write("zeros", &idx(&[2049, 3], &[0; 3]));
    assert_eq!(Dataset::load(&a, &zeros, None).unwrap().n_classes(), 2, "at least two classes");
}

#[test]
fn headers_are_not_believed() {
    let folder = Folder::new();
    let good = folder.write("labels", &labels());
    let body = &images()[16..];
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (vec![], "truncated: the file ends after 0 bytes, in the header's field magic"),
        (images()[..14].to_vec(), "truncated: the file ends after 14 bytes, in the header's field cols"),
        (labels(), "magic is 2049, 2051 is expected for images"),
        (idx(&[0x0308_0000, 3, 2, 3], body), "magic is 50855936, 2051 is expected for images"),
        (idx(&[2051, 0, 2, 3], &[]), "samples is 0, at least 1 is expected"),
        (idx(&[2051, 3, 0, 3], &[]), "rows is 0, at least 1 is expected"),
        (idx(&[2051, 3, 2, 0], &[]), "cols is 0, at least 1 is expected"),
        (
            images()[..33].to_vec(),
            "truncated: the header says 3 images of 2 x 3, 18 bytes, the file holds 17 after the header",
        ),
        (
            [images(), vec![0]].concat(),
            "trailing bytes: the header says 3 images of 2 x 3, 18 bytes, and the file has more",
        ),
        (
            idx(&[2051, u32::MAX, 65535, 65535], body),
            "the header says 4294967295 images of 65535 x 65535, 18446181123756261375 bytes; at most 64.00 GiB are allowed",
        ),
        (idx(&[2051, 1, 65536, 65536], body), "images are 65536 x 65536 pixels, at most 4294967295 are allowed"),
        (
            idx(&[2051, 60_000, 1000, 1000], body),
            "truncated: the header says 60000 images of 1000 x 1000, 60000000000 bytes, the file holds 18 after the header",
        ),
    ];
    for (bytes, text) in cases {
        let path = folder.write("images", &bytes);
        says(Dataset::load(&path, &good, None), &path, text);
    }
    let a = folder.write("images", &images());
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (images(), "magic is 2051, 2049 is expected for labels"),
        (idx(&[2049, 0], &[]), "samples is 0, at least 1 is expected"),
        (idx(&[2049, 3], &[1, 2]), "truncated: the header says 3 labels, 3 bytes, the file holds 2 after the header"),
        (labels()[..5].to_vec(), "truncated: the file ends after 5 bytes, in the header's field samples"),
    ];
    for (bytes, text) in cases {
        let path = folder.write("labels", &bytes);
        says(Dataset::load(&a, &path, None), &path, text);
    }
    let b = folder.write("labels", &idx(&[2049, 2], &[1, 2]));
    says(Dataset::load(&a, &b, None), &b, &format!("2 labels for the 3 images of {}", a.display()));
    let b = folder.write("labels", &labels());
    says(Dataset::load(&a, &b, Some(4)), &b, "label 2 is 4, below 4 is expected");
    let error = Dataset::load(&a, &b, Some(0)).unwrap_err().to_string();
    assert_eq!(error, "option n_classes: 0 is not allowed (1 to 256)");
    let error = Dataset::load(folder.path("absent"), &b, None).unwrap_err().to_string();
    assert!(error.contains("absent: cannot be read: No such file"), "{error}");
    says(
        Dataset::load(folder.folder(), &b, None),
        folder.folder(),
        "cannot be read: it is a folder, a device or a pipe, expected a file",
    );
    // A device that never ends is not opened.
    let path = Path::new("/dev/zero");
    says(Dataset::load(&a, path, None), path, "cannot be read: it is a folder, a device or a pipe, expected a file");
}

#[test]
fn packed_files_are_not_believed_either() {
    let folder = Folder::new();
    let labels = folder.write("labels", &labels());
    let whole = packed(&images());
    let path = folder.write("images", &whole[..whole.len() - 10]);
    says(Dataset::load(&path, &labels, None), &path, "the gzip data is truncated");
    let mut changed = whole.clone();
    let at = changed.len() - 6;
    changed[at] ^= 1;
    let path = folder.write("images", &changed);
    let text = Dataset::load(&path, &labels, None).unwrap_err().to_string();
    assert!(text.contains("images: the gzip data is damaged: "), "{text}");
    let path = folder.write("images", &packed(&[images(), vec![7; 1 << 20]].concat()));
    let text = "trailing bytes: the header says 3 images of 2 x 3, 18 bytes, and the file has more";
    says(Dataset::load(&path, &labels, None), &path, text);
    let path = folder.write("images", &packed(&idx(&[2051, 60_000, 1000, 1000], &[0; 100])));
    let text = Dataset::load(&path, &labels, None).unwrap_err().to_string();
    let expected = "truncated: the header says 60000 images of 1000 x 1000, 60000000000 bytes, the file holds at most ";
    assert!(text.contains(expected), "{text}");
    let path = folder.write("images", &packed(&idx(&[2051, 3, 20, 30], &[0; 1799])));
    let text = "truncated: the header says 3 images of 20 x 30, 1800 bytes, the file holds 1799 after the header";
    says(Dataset::load(&path, &labels, None), &path, text);
}

#[test]
fn folders_are_searched_for_every_name() {
    let folder = Folder::new();
    let dir = folder.folder();
    let text = "no train-images-idx3-ubyte in it, nor train-images.idx3-ubyte or train-images.npy, plain or with .gz";
    says(Dataset::load_dir(dir), dir, text);
    says(Dataset::load_dir(folder.path("absent")), &folder.path("absent"), "there is no such folder");
    folder.write("train-images.idx3-ubyte", &images());
    folder.write("train-labels-idx1-ubyte.gz", &packed(&labels()));
    folder.write("t10k-images-idx3-ubyte", &images());
    let test_labels = folder.write("t10k-labels.idx1-ubyte.gz", &packed(&idx(&[2049, 3], &[4, 5, 0])));
    says(Dataset::load_dir(dir), &test_labels, "label 1 is 5, below 5 is expected");
    folder.write("t10k-labels.idx1-ubyte.gz", &packed(&idx(&[2049, 3], &[1, 1, 0])));
    let (train, test) = Dataset::load_dir(dir).unwrap();
    assert_eq!((train.n_classes(), test.n_classes()), (5, 5), "the training labels say how many classes there are");
    let path = folder.write("t10k-images-idx3-ubyte", &idx(&[2051, 3, 3, 2], &[0; 18]));
    let train = folder.path("train-images.idx3-ubyte");
    let text = format!("images are 3 x 2 pixels, 2 x 3 are expected as in {}", train.display());
    says(Dataset::load_dir(dir), &path, &text);
}

#[test]
fn sets_are_written_and_read_back() {
    let folder = Folder::new();
    let (train, test) = (Dataset::drawn_digits(1, 50).unwrap(), Dataset::drawn_digits(2, 20).unwrap());
    train.save(folder.folder(), Split::Train).unwrap();
    test.save(folder.folder(), Split::Test).unwrap();
    let (a, b) = Dataset::load_dir(folder.folder()).unwrap();
    assert_eq!((a.images(), a.labels(), a.image_size()), (train.images(), train.labels(), (28, 28)));
    assert_eq!((a.checksum(), b.checksum()), (train.checksum(), test.checksum()));
    let names =
        ["t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", "train-images-idx3-ubyte", "train-labels-idx1-ubyte"];
    assert_eq!(folder.names(), names);
    let error = train.save(folder.path("absent"), Split::Train).unwrap_err().to_string();
    assert!(
        error.ends_with("absent/train-images-idx3-ubyte: cannot be written: No such file or directory (os error 2)"),
        "{error}"
    );
}

#[test]
fn sets_from_memory_are_checked() {
    let text = |result: Result<Dataset>| result.unwrap_err().to_string();
    let make = |images: usize, labels: &[u8], rows, cols, n_classes| {
        Dataset::new(vec![0; images], labels.to_vec(), rows, cols, n_classes, "memory")
    };
    assert_eq!(
        text(make(0, &[], 1, 1, 2)),
        "images: expected at least 1 of at least 1 x 1 pixels, got 0 of 1 x 1 pixels"
    );
    assert_eq!(text(make(5, &[0], 2, 3, 2)), "bytes of the images: expected 6, got 5");
    assert_eq!(text(make(6, &[2], 2, 3, 2)), "option label: 2 is not allowed (below 2)");
    assert_eq!(
        text(make(6, &[2], 65536, 65536, 2)),
        "pixels of an image: expected at most 4294967295, got 65536 x 65536"
    );
    let base = make(6, &[1], 2, 3, 2).unwrap();
    let others = [make(6, &[0], 2, 3, 2), make(6, &[1], 3, 2, 2), make(6, &[1], 2, 3, 3), make(12, &[1, 1], 2, 3, 2)];
    for other in others {
        assert_ne!(other.unwrap().checksum(), base.checksum());
    }
}

#[test]
fn mnist_is_read() {
    let Some(path) = golden::shared("data/mnist/train-images-idx3-ubyte.gz") else { return };
    let folder = path.parent().expect("a file is in a folder");
    let (train, test) = Dataset::load_dir(folder).unwrap();
    assert_eq!((train.len(), train.image_size(), train.n_classes()), (60_000, (28, 28), 10));
    assert_eq!((test.len(), test.image_size(), test.n_classes()), (10_000, (28, 28), 10));
    let counts: Vec<usize> =
        (0..10).map(|class| test.labels().iter().filter(|&&label| label == class).count()).collect();
    assert_eq!(counts, [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]);
    // The first test image shows a 7: read from a file by number, it is the same.
    let image = read_image(folder.join("t10k-images-idx3-ubyte.gz"), 0, 784, false).unwrap();
    assert_eq!((image.as_slice(), test.labels()[0]), (test.image(0).unwrap(), 7));
}

#[test]
fn drawn_digits_never_change() {
    let set = Dataset::drawn_digits(1, 1000).unwrap();
    assert_eq!(set.checksum(), 0x7F79_E7F2_ED85_8B7F, "{:#x}", set.checksum());
    assert_eq!(set.source(), "drawn digits, seed 1");
    for ten in set.labels().chunks_exact(10) {
        let mut sorted = ten.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }
    let shorter = Dataset::drawn_digits(1, 37).unwrap();
    assert_eq!(shorter.labels(), &set.labels()[..37]);
    assert_eq!(shorter.images(), &set.images()[..37 * 784]);
    assert_ne!(Dataset::drawn_digits(2, 37).unwrap().checksum(), shorter.checksum());
    for (n, text) in [(0, "0"), (10_000_001, "10000001")] {
        let error = Dataset::drawn_digits(1, n).unwrap_err().to_string();
        assert_eq!(error, format!("option drawn digits: {text} is not allowed (1 to 10000000)"));
    }
}

/// The nearest of ten mean images knows more digits of another seed than who guesses one of ten, but not all.
#[test]
fn drawn_digits_can_be_learned_but_not_at_once() {
    let (train, test) = (Dataset::drawn_digits(3, 1000).unwrap(), Dataset::drawn_digits(4, 1000).unwrap());
    let mut means = vec![[0.0; 784]; 10];
    for (image, &label) in train.images().chunks_exact(784).zip(train.labels()) {
        for (mean, &pixel) in means[usize::from(label)].iter_mut().zip(image) {
            *mean += f64::from(pixel) / 100.0;
        }
    }
    let distance = |mean: &[f64; 784], image: &[u8]| -> f64 {
        mean.iter().zip(image).map(|(mean, &pixel)| (mean - f64::from(pixel)).powi(2)).sum()
    };
    let right = test.images().chunks_exact(784).zip(test.labels()).filter(|(image, label)| {
        let of = |class: &usize| distance(&means[*class], image);
        (0..10).min_by(|a, b| of(a).total_cmp(&of(b))) == Some(usize::from(**label))
    });
    let share = right.count() as f64 / 1000.0;
    // Who guesses knows so many with a chance of one in a million (Hoeffding).
    let chance = (1e6f64.ln() / (2.0 * 1000.0)).sqrt();
    assert!((0.1 + chance..1.0).contains(&share), "nearest mean: {share}");
}

/// A PNG file of these bytes.
fn png_file(
    width: u32,
    height: u32,
    colour: png::ColorType,
    depth: png::BitDepth,
    bytes: &[u8],
    palette: &[u8],
) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(colour);
    encoder.set_depth(depth);
    if !palette.is_empty() {
        encoder.set_palette(palette.to_vec());
    }
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(bytes).expect("the bytes of the image");
    writer.finish().expect("memory");
    file
}

#[test]
fn every_kind_of_png_is_read() {
    use png::BitDepth::{Eight, Four, One, Sixteen, Two};
    use png::ColorType::{Grayscale, GrayscaleAlpha, Indexed, Rgb, Rgba};
    let folder = Folder::new();
    let palette = [0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255];
    let cases: Vec<(&str, Vec<u8>, [u8; 6])> = vec![
        ("grey", png_file(3, 2, Grayscale, Eight, &[0, 1, 2, 100, 200, 255], &[]), [0, 1, 2, 100, 200, 255]),
        ("bits", png_file(3, 2, Grayscale, One, &[0b1010_0000, 0b0100_0000], &[]), [255, 0, 255, 0, 255, 0]),
        ("pairs", png_file(3, 2, Grayscale, Two, &[0b0001_1000, 0b1100_0000], &[]), [0, 85, 170, 255, 0, 0]),
        ("nibbles", png_file(3, 2, Grayscale, Four, &[0x01, 0xF0, 0x23, 0x40], &[]), [0, 17, 255, 34, 51, 68]),
        (
            "sixteen",
            png_file(3, 2, Grayscale, Sixteen, &[0, 255, 1, 0, 2, 9, 100, 0, 200, 0, 255, 255], &[]),
            [0, 1, 2, 100, 200, 255],
        ),
        (
            "colours",
            png_file(3, 2, Rgb, Eight, &[255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 10, 20, 30], &[]),
            [76, 150, 29, 255, 0, 18],
        ),
        (
            "palette",
            png_file(3, 2, Indexed, Two, &[0b0001_1011, 0b0101_0000], &palette)[..].to_vec(),
            [0, 76, 150, 76, 76, 0],
        ),
        (
            "alpha",
            png_file(3, 2, GrayscaleAlpha, Eight, &[255, 255, 255, 0, 255, 128, 100, 255, 100, 0, 0, 255], &[]),
            [255, 0, 128, 100, 0, 0],
        ),
        (
            "colours and alpha",
            png_file(
                3,
                2,
                Rgba,
                Eight,
                &[255, 0, 0, 255, 0, 255, 0, 0, 0, 0, 255, 255, 9, 9, 9, 255, 1, 2, 3, 0, 200, 200, 200, 51],
                &[],
            ),
            [76, 0, 29, 9, 0, 40],
        ),
    ];
    for (name, bytes, expected) in &cases {
        // The content says what it is, not the name.
        let path = folder.write("image", bytes);
        assert_eq!(read_image(&path, 0, 6, false).unwrap(), expected, "{name}");
    }
    let path = folder.write("image.png", &cases[0].1);
    assert_eq!(read_image(&path, 0, 6, true).unwrap(), [255, 254, 253, 155, 55, 0]);
    // Transparent is paper: white where ink is dark.
    let path = folder.write("alpha.png", &cases[7].1);
    assert_eq!(read_image(&path, 0, 6, true).unwrap(), [0, 0, 0, 155, 0, 255]);
}

/// An interlaced file as the format describes it, made by hand: one grey pixel in each of the first passes.
#[test]
fn interlaced_png_is_read() {
    let chunk = |kind: &[u8; 4], body: &[u8]| {
        let mut crc = flate2::Crc::new();
        crc.update(kind);
        crc.update(body);
        [&(body.len() as u32).to_be_bytes()[..], kind, body, &crc.sum().to_be_bytes()].concat()
    };
    // 2 x 2: pass 1 holds (0, 0), pass 6 (1, 0), pass 7 the second row; each row begins with its filter.
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&[0, 10, 0, 20, 0, 30, 40]).unwrap();
    let header = [0, 0, 0, 2, 0, 0, 0, 2, 8, 0, 0, 0, 1];
    let bytes = [
        &b"\x89PNG\r\n\x1a\n"[..],
        &chunk(b"IHDR", &header),
        &chunk(b"IDAT", &encoder.finish().unwrap()),
        &chunk(b"IEND", &[]),
    ];
    let folder = Folder::new();
    let path = folder.write("interlaced.png", &bytes.concat());
    assert_eq!(read_image(&path, 0, 4, false).unwrap(), [10, 20, 30, 40]);
}

#[test]
fn wrong_images_are_refused() {
    let folder = Folder::new();
    let grey = png_file(3, 2, png::ColorType::Grayscale, png::BitDepth::Eight, &[9; 6], &[]);
    let path = folder.write("a.png", &grey);
    says(
        read_image(&path, 0, 784, false),
        &path,
        "the image is 2 x 3 = 6 pixels, the network has 784 inputs (28 x 28)",
    );
    says(read_image(&path, 0, 7, false), &path, "the image is 2 x 3 = 6 pixels, the network has 7 inputs");
    let error = read_image(&path, 1, 6, false).unwrap_err().to_string();
    assert_eq!(error, "option index: 1 is not allowed (0, a PNG file holds one image)");
    let path = folder.write("a.png", &grey[..grey.len() - 20]);
    let error = read_image(&path, 0, 6, false).unwrap_err().to_string();
    assert!(error.contains("a.png: the PNG file cannot be read: "), "{error}");
    let path = folder.write("images", &images());
    assert_eq!(read_image(&path, 2, 6, false).unwrap(), [168, 182, 196, 210, 224, 238]);
    assert_eq!(read_image(&path, 2, 6, true).unwrap(), [87, 73, 59, 45, 31, 17]);
    let error = read_image(&path, 3, 6, false).unwrap_err().to_string();
    assert_eq!(error, "option index: 3 is not allowed (below the 3 images of the file)");
    says(read_image(&path, 0, 9, false), &path, "the image is 2 x 3 = 6 pixels, the network has 9 inputs (3 x 3)");
    let path = folder.write("text", b"hello, world");
    says(read_image(&path, 0, 6, false), &path, "magic is 1751477356, 2051 is expected for images");
    let path = folder.write("empty", b"");
    says(read_image(&path, 0, 6, false), &path, "truncated: the file ends after 0 bytes, in the header's field magic");
    let path = Path::new("/dev/null");
    let refused = "cannot be read: it is a folder, a device or a pipe, expected a file";
    says(read_image(path, 0, 6, false), path, refused);
}

#[test]
fn first_weights_want_widths() {
    let text = |sizes: &[u32]| Network::initial(sizes, Init::HeUniform, 1).unwrap_err().to_string();
    assert_eq!(text(&[784]), "widths of the layers: expected at least 2, each 1 to 16384, got [784]");
    assert_eq!(text(&[784, 0, 10]), "widths of the layers: expected at least 2, each 1 to 16384, got [784, 0, 10]");
    let (one, two) =
        (Network::initial(&[4, 3], Init::XavierNormal, 1), Network::initial(&[4, 3], Init::XavierNormal, 2));
    assert_ne!(one.unwrap(), two.unwrap());
}

#[test]
fn networks_are_written_and_read_back() {
    let folder = Folder::new();
    let mut network = Network::initial(&[784, 256, 10], Init::HeNormal, 5).unwrap();
    let mut layers = network.layers().to_vec();
    layers[0].bias[3] = 0.5;
    layers[1].bias[9] = -0.25;
    network = Network::new(layers).unwrap();
    for layout in [WeightLayout::InOut, WeightLayout::PyTorch] {
        let path = folder.path("weights.safetensors");
        network.save(&path, layout).unwrap();
        assert_eq!(Network::load(&path).unwrap(), network, "{layout:?}");
        assert_eq!(folder.names(), ["weights.safetensors"], "nothing else is left");
        let bytes = fs::read(&path).unwrap();
        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let mut found: Vec<_> =
            file.tensors().iter().map(|(name, view)| (name.clone(), view.shape().to_vec())).collect();
        found.sort();
        let expected: [(&str, &[usize]); 4] = match layout {
            WeightLayout::InOut => [("W1", &[784, 256]), ("W2", &[256, 10]), ("b1", &[256]), ("b2", &[10])],
            WeightLayout::PyTorch => {
                [("0.bias", &[256]), ("0.weight", &[256, 784]), ("2.bias", &[10]), ("2.weight", &[10, 256])]
            }
        };
        let expected: Vec<_> = expected.iter().map(|(name, shape)| (name.to_string(), shape.to_vec())).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn reference_weights_are_read() {
    let Some(path) = golden::shared("vectors/mlp_trained_f32.safetensors") else { return };
    let network = Network::load(&path).unwrap();
    assert_eq!(network.sizes(), [784, 256, 10]);
    let bytes = fs::read(&path).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let values = |name: &str| -> Vec<f32> {
        let (values, rest) = file.tensor(name).unwrap().data().as_chunks();
        assert!(rest.is_empty());
        values.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
    };
    for (layer, number) in network.layers().iter().zip(1..) {
        assert_eq!(layer.weights, values(&format!("W{number}")));
        assert_eq!(layer.bias, values(&format!("b{number}")));
    }
}

/// Bytes of a tensor of a type that has this many bytes an element.
struct Raw {
    dtype: safetensors::Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

fn single(shape: &[usize], values: &[f32]) -> Raw {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Raw { dtype: safetensors::Dtype::F32, shape: shape.to_vec(), bytes }
}

fn zeros(shape: &[usize]) -> Raw {
    single(shape, &vec![0.0; shape.iter().product()])
}

fn tensors(file: Vec<(&str, Raw)>) -> Vec<u8> {
    let views = file.iter().map(|(name, raw)| {
        let view = safetensors::tensor::TensorView::new(raw.dtype, raw.shape.clone(), &raw.bytes);
        (*name, view.expect("shape and bytes agree"))
    });
    safetensors::serialize(views, None).expect("memory")
}

#[test]
fn names_of_other_programs_are_read() {
    let folder = Folder::new();
    // [out, in] on the left, and what it means as [in, out].
    let turned = |dtype, bytes: Vec<u8>| Raw { dtype, shape: vec![2, 3], bytes };
    let expected =
        Layer { n_inputs: 3, n_outputs: 2, weights: vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0], bias: vec![0.5, -1.0] };
    let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let double = values.iter().flat_map(|&value: &f64| value.to_le_bytes()).collect();
    let brain = values.iter().flat_map(|&value| ((value as f32).to_bits() >> 16).to_le_bytes()[..2].to_vec()).collect();
    let half =
        [0x3C00_u16, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600].iter().flat_map(|bits| bits.to_le_bytes()).collect();
    let single_bytes = single(&[2, 3], &values.map(|value| value as f32)).bytes;
    let kinds = [
        turned(safetensors::Dtype::F32, single_bytes),
        turned(safetensors::Dtype::F64, double),
        turned(safetensors::Dtype::BF16, brain),
        turned(safetensors::Dtype::F16, half),
    ];
    for (raw, name) in kinds.into_iter().zip(["fc1", "layers.0", "0", "model.net.3"]) {
        let dtype = raw.dtype;
        let (weight, bias) = (format!("{name}.weight"), format!("{name}.bias"));
        let file = vec![(weight.as_str(), raw), (bias.as_str(), single(&[2], &[0.5, -1.0])), ("steps", zeros(&[1]))];
        let path = folder.write("weights", &tensors(file));
        assert_eq!(Network::load(&path).unwrap().layers(), std::slice::from_ref(&expected), "{dtype}");
    }
    // Numbers count by value: layer 10 comes after layer 2.
    let file = vec![
        ("layers.10.weight", zeros(&[2, 4])),
        ("layers.10.bias", zeros(&[2])),
        ("layers.2.weight", zeros(&[4, 3])),
        ("layers.2.bias", zeros(&[4])),
    ];
    let path = folder.write("weights", &tensors(file));
    assert_eq!(Network::load(&path).unwrap().sizes(), [3, 4, 2]);
}

#[test]
fn wrong_weights_are_refused() {
    let folder = Folder::new();
    let check = |file: Vec<(&str, Raw)>, text: &str| {
        let path = folder.write("weights", &tensors(file));
        says(Network::load(&path), &path, text);
    };
    let byte = |shape: &[usize]| Raw {
        dtype: safetensors::Dtype::U8,
        shape: shape.to_vec(),
        bytes: vec![0; shape.iter().product()],
    };
    check(vec![], "holds no weights: expected tensors W1, b1, … or *.weight, *.bias");
    let normed = |more: Option<(&'static str, Raw)>, second: &'static str| {
        let [weight, bias] = ["weight", "bias"].map(|name| format!("{second}.{name}"));
        let of: Vec<(String, Raw)> = vec![
            ("0.weight".into(), zeros(&[4, 3])),
            ("0.bias".into(), zeros(&[4])),
            (weight, zeros(&[4])),
            (bias, zeros(&[4])),
            ("3.weight".into(), zeros(&[2, 4])),
            ("3.bias".into(), zeros(&[2])),
        ];
        let of = of.into_iter().map(|(name, raw)| (&*name.leak(), raw));
        of.chain(more).collect::<Vec<(&str, Raw)>>()
    };
    check(
        normed(Some(("1.running_mean", zeros(&[4]))), "1"),
        "tensor 1.running_var is missing, but 1.running_mean is there",
    );
    check(
        normed(None, "4"),
        "tensor 3.weight is not in its turn: expected a layer norm behind each layer but the last, or none",
    );
    check(
        vec![("W01", zeros(&[2, 2])), ("b", zeros(&[2]))],
        "holds no weights: expected tensors W1, b1, … or *.weight, *.bias",
    );
    check(
        vec![("W1", zeros(&[2, 2])), ("b1", zeros(&[2])), ("0.weight", zeros(&[2, 2])), ("0.bias", zeros(&[2]))],
        "holds both W1 and 0.weight: expected one of the two forms",
    );
    check(
        vec![("W1", zeros(&[2, 2])), ("b1", zeros(&[2])), ("W3", zeros(&[2, 2])), ("b3", zeros(&[2]))],
        "tensor W2 is missing, but W3 is there: expected W1, W2, … without a gap",
    );
    check(
        vec![("W0", zeros(&[2, 2])), ("b0", zeros(&[2]))],
        "tensor W1 is missing, but W0 is there: expected W1, W2, … without a gap",
    );
    check(vec![("W1", zeros(&[2, 2]))], "tensor b1 is missing, the bias of W1");
    check(
        vec![("W1", zeros(&[2, 2])), ("b1", zeros(&[2])), ("b2", zeros(&[2]))],
        "tensor W2 is missing, the weights of b2",
    );
    check(vec![("fc.weight", zeros(&[2, 2]))], "tensor fc.bias is missing, the bias of fc.weight");
    check(vec![("fc.bias", zeros(&[2]))], "tensor fc.weight is missing, the weights of fc.bias");
    check(vec![("W1", zeros(&[4])), ("b1", zeros(&[2]))], "tensor W1 has the shape [4], expected [in, out]");
    check(
        vec![("0.weight", zeros(&[4, 1, 1])), ("0.bias", zeros(&[4]))],
        "tensor 0.weight has the shape [4, 1, 1], expected [out, in]",
    );
    check(
        vec![("W1", zeros(&[0, 2])), ("b1", zeros(&[2]))],
        "tensor W1 has the shape [0, 2], expected [in, out], each 1 to 16384",
    );
    check(
        vec![("W1", byte(&[16385, 1])), ("b1", zeros(&[1]))],
        "tensor W1 has the shape [16385, 1], expected [in, out], each 1 to 16384",
    );
    check(vec![("W1", zeros(&[3, 2])), ("b1", zeros(&[3]))], "tensor b1 has the shape [3], expected [2]");
    check(
        vec![("W1", zeros(&[3, 2])), ("b1", zeros(&[2])), ("W2", zeros(&[3, 2])), ("b2", zeros(&[2]))],
        "tensor W2 has the shape [3, 2], [in, out]: 3 inputs, expected 2, the outputs of W1",
    );
    check(
        vec![
            ("0.weight", zeros(&[2, 3])),
            ("0.bias", zeros(&[2])),
            ("2.weight", zeros(&[2, 3])),
            ("2.bias", zeros(&[2])),
        ],
        "tensor 2.weight has the shape [2, 3], [out, in]: 3 inputs, expected 2, the outputs of 0.weight",
    );
    check(vec![("W1", byte(&[3, 2])), ("b1", zeros(&[2]))], "tensor W1 is of type U8, expected F32, F64, F16 or BF16");
    check(
        vec![("W1", single(&[1, 2], &[0.0, f32::NAN])), ("b1", zeros(&[2]))],
        "tensor W1, element 1 is NaN, expected a finite F32",
    );
    let large =
        Raw { dtype: safetensors::Dtype::F64, shape: vec![2], bytes: [1.0, 1e300_f64].map(f64::to_le_bytes).concat() };
    check(
        vec![("W1", zeros(&[1, 2])), ("b1", large)],
        &format!("tensor b1, element 1 is {}, expected a finite F32", 1e300),
    );
    check(
        vec![("W1", zeros(&[1, 257])), ("b1", zeros(&[257]))],
        "tensor W1 gives 257 classes, at most 256 are allowed",
    );
    let names: Vec<(String, String)> = (1..=18).map(|number| (format!("W{number}"), format!("b{number}"))).collect();
    let deep =
        names.iter().flat_map(|(weight, bias)| [(weight.as_str(), zeros(&[1, 1])), (bias.as_str(), zeros(&[1]))]);
    check(deep.collect(), "holds 18 layers, at most 17 are allowed");
}

#[test]
fn damaged_weight_files_are_refused() {
    let folder = Folder::new();
    let path = folder.path("weights");
    Network::initial(&[5, 4, 3], Init::HeUniform, 1).unwrap().save(&path, WeightLayout::InOut).unwrap();
    let whole = fs::read(&path).unwrap();
    let text = |bytes: &[u8]| Network::load(folder.write("weights", bytes)).unwrap_err().to_string();
    assert!(text(b"").ends_with("weights: the file is empty, expected a safetensors file"));
    assert!(
        text(&whole[..5]).ends_with("weights: not a safetensors file, or a damaged one: header too small (5 bytes)")
    );
    assert!(text(&whole[..whole.len() - 1]).contains("not a safetensors file, or a damaged one: incomplete metadata"));
    assert!(
        text(&[&whole[..], &[0]].concat()).contains("not a safetensors file, or a damaged one: incomplete metadata")
    );
    let mut lies = whole.clone();
    lies[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(text(&lies).contains("not a safetensors file, or a damaged one: header too large"));
    says(
        Network::load(folder.folder()),
        folder.folder(),
        "cannot be read: it is a folder, a device or a pipe, expected a file",
    );
    let error = Checkpoint::load(folder.write("weights", &whole)).unwrap_err().to_string();
    assert!(
        error
            .ends_with("weights: not a checkpoint of mlp: the metadata warpplay_checkpoint with a checksum is missing"),
        "{error}"
    );
}

#[test]
fn only_files_are_overwritten() {
    let folder = Folder::new();
    let network = Network::initial(&[2, 2], Init::HeUniform, 1).unwrap();
    let save = |path: &Path| network.save(path, WeightLayout::InOut);
    says(save(folder.folder()), folder.folder(), "cannot be written: it is a folder, expected a file");
    if cfg!(unix) {
        let path = Path::new("/dev/null");
        says(save(path), path, "cannot be written: it is a device or a pipe, expected a file");
    }
    says(save(Path::new("")), Path::new("''"), "cannot be written: the path names no file");
    assert_eq!(folder.names(), [""; 0]);
}

/// A link to a file stays a link; the file's permissions stay too.
#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let network = Network::initial(&[2, 2], Init::HeUniform, 1).unwrap();
    let file = folder.write("file", b"old");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let link = folder.path("link");
    std::os::unix::fs::symlink("file", &link).unwrap();
    network.save(&link, WeightLayout::InOut).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(Network::load(&file).unwrap(), network);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
}

/// The disk is full, so to say: this test runs itself in a shell that allows files of a few kilobytes only.
#[cfg(unix)]
#[test]
fn a_write_that_fails_leaves_the_old_file() {
    const VARIABLE: &str = "WARPPLAY_TEST_SMALL_FILES";
    let network = Network::initial(&[784, 64, 10], Init::HeUniform, 1).unwrap();
    if let Some(path) = std::env::var_os(VARIABLE) {
        let error = network.save(PathBuf::from(path), WeightLayout::InOut).unwrap_err().to_string();
        let names = error.contains("old.safetensors: cannot be written (first to .warpplay-");
        assert!(names && error.contains(" beside it): File too large"), "{error}");
        println!("refused as it should be");
        return;
    }
    let folder = Folder::new();
    let path = folder.write("old.safetensors", b"the last good file");
    let program = std::env::current_exe().expect("this program");
    let script =
        "trap '' XFSZ; ulimit -f 16; exec \"$0\" --exact files::a_write_that_fails_leaves_the_old_file --nocapture";
    let output = std::process::Command::new("sh")
        .args(["-c", script])
        .arg(program)
        .env(VARIABLE, &path)
        .output()
        .expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("refused as it should be"), "{text}");
    assert_eq!(fs::read(&path).unwrap(), b"the last good file");
    assert_eq!(folder.names(), ["old.safetensors"]);
}
