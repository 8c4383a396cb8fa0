//! Data sets in CSV and `.npy` files.

use std::path::{Path, PathBuf};

use warpplay::mlp::{CsvFormat, Dataset, read_image};
use warpplay::{Error, Result};
use warpplay_tests::folder::Folder;
use warpplay_tests::npy::npy;
use warpplay_tests::random::Random;

/// The error is about this file, this line, and says this.
#[track_caller]
fn says<T: std::fmt::Debug>(result: Result<T>, path: &Path, line: Option<u64>, text: &str) {
    let error = result.expect_err(text);
    assert!(matches!(error, Error::File { .. }), "{error:?}");
    let of_line = line.map_or(String::new(), |line| format!(", line {line}"));
    assert_eq!(error.to_string(), format!("{}{of_line}: {text}", path.display()));
}

fn named(label: &str) -> CsvFormat {
    CsvFormat { label: Some(label.into()), ..CsvFormat::default() }
}

fn csv(folder: &Folder, text: &str) -> PathBuf {
    folder.write("set.csv", text.as_bytes())
}

#[test]
fn csv_files_are_read() {
    let folder = Folder::new();
    let plain = CsvFormat::default();
    // Images in the order of the lines, whatever else is written.
    let texts = [
        ("2,0,84\n0,255,7\n", &plain),
        ("label,1x1,1x2\r\n2,0,84\r\n0,255,7", &plain),
        ("\u{feff}\"label\",\"a\",\"b\"\n\"2\", 0 ,84.0\n\n0,255,7e0\n", &plain),
        ("a,class,b\n0,2,84\n255,0,7\n", &named("class")),
        ("1,class,3\n0,2,84\n255,0,7\n", &named("class")),
    ];
    for (text, format) in texts {
        let path = csv(&folder, text);
        let set = Dataset::load_csv(&path, format, None).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!((set.labels(), set.images()), (&[2, 0][..], &[0, 84, 255, 7][..]), "{text:?}");
        assert_eq!((set.image_size(), set.n_classes()), ((1, 2), 3));
        assert_eq!(set.source(), path.display().to_string());
    }
    // A header of numbers is one if that is said, and a line of words is none if that is said.
    let header = |header| CsvFormat { header: Some(header), ..CsvFormat::default() };
    let path = csv(&folder, "0,1,2\n2,0,84\n");
    assert_eq!(Dataset::load_csv(&path, &header(true), None).unwrap().len(), 1);
    assert_eq!(Dataset::load_csv(&path, &plain, None).unwrap().len(), 2);
    let path = csv(&folder, "label,a\n1,0\n");
    let text = "the label in column 1 is \"label\", a whole number of 0 to 255 is expected";
    says(Dataset::load_csv(&path, &header(false), None), &path, Some(1), text);
    // Sizes are given, or one row.
    let format = CsvFormat { image_size: Some((2, 3)), ..CsvFormat::default() };
    let path = csv(&folder, "1,0,1,2,3,4,5\n");
    assert_eq!(Dataset::load_csv(&path, &format, Some(7)).unwrap().image_size(), (2, 3));
    // Compressed.
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, b"1,9\n").expect("memory");
    let bytes = encoder.finish().expect("memory");
    let path = folder.write("set.csv.gz", &bytes);
    assert_eq!(Dataset::load_csv(&path, &plain, None).unwrap().images(), [9]);
    let path = folder.write("set.csv.gz", &bytes[..bytes.len() - 9]);
    says(Dataset::load_csv(&path, &plain, None), &path, None, "the gzip data is truncated");
}

#[test]
fn csv_files_are_not_believed() {
    let folder = Folder::new();
    let pixel = "a whole number of 0 to 255 is expected";
    let long = format!("1,{}\n", "7".repeat(100));
    let cases = [
        ("", 1, "holds no samples, at least 1 is expected".to_string()),
        ("label,a\n", 1, "holds no samples, at least 1 is expected".into()),
        ("1\n", 1, "has 1 columns, at least 2, a label and a pixel, are expected".into()),
        ("1,2\n0,1,2\n", 2, "has 3 columns, 2 are expected as in line 1".into()),
        ("0,1\n1,\"8\n", 2, "column 2 has a line break between quotes: is a quote not closed?".into()),
        ("0,1\n1,\"5,6\n2,9\n", 2, "column 2 has a line break between quotes: is a quote not closed?".into()),
        ("\"a,b\n1,2\n", 1, "has a line break between quotes: is a quote not closed?".into()),
        ("1,\"8\n", 1, "column 2 has a line break between quotes: is a quote not closed?".into()),
        ("label,a\n1,2\n\n0\n", 4, "has 1 columns, 2 are expected as in line 1".into()),
        ("1,2,3\n0,1,256\n", 2, format!("the pixel in column 3 is \"256\", {pixel}")),
        ("label,a,b\n0,1,2\n0,0.5,2\n", 3, format!("the pixel in column 2 (\"a\") is \"0.5\", {pixel}")),
        ("1,2\n0,-1\n", 2, format!("the pixel in column 2 is \"-1\", {pixel}")),
        ("1,2\n0,\n", 2, format!("the pixel in column 2 is \"\", {pixel}")),
        ("label,a\r\n1,2\r\n\r\n0,x\r\n", 4, format!("the pixel in column 2 (\"a\") is \"x\", {pixel}")),
        ("label,\"a\nb\"\n1,2\n0,x", 4, format!("the pixel in column 2 (\"a\\nb\") is \"x\", {pixel}")),
        (&long, 1, format!("the pixel in column 2 is \"{}\"…, {pixel}", "7".repeat(40))),
        ("1,2\ncat,1\n", 2, format!("the label in column 1 is \"cat\", {pixel}")),
        ("label,2\ncat,1\n", 1, format!("the label in column 1 is \"label\", {pixel}")),
    ];
    for (text, line, expected) in cases {
        let path = csv(&folder, text);
        says(Dataset::load_csv(&path, &CsvFormat::default(), None), &path, Some(line), &expected);
    }
    let path = csv(&folder, "1,2\n5,1\n");
    let text = "the label in column 1 is \"5\", a whole number of 0 to 4 is expected";
    says(Dataset::load_csv(&path, &CsvFormat::default(), Some(5)), &path, Some(2), text);
    let path = csv(&folder, "a,b,c,b,e\n1,2,3,4,5\n");
    let text = "the header has no column \"x\", expected one of its 5: \"a\", \"b\", \"c\", \"b\", …";
    says(Dataset::load_csv(&path, &named("x"), None), &path, Some(1), text);
    let text = "the header has the column \"b\" twice: columns 2 and 4";
    says(Dataset::load_csv(&path, &named("b"), None), &path, Some(1), text);
    let format = CsvFormat { image_size: Some((2, 3)), ..CsvFormat::default() };
    let text = "has 5 columns, 2 x 3 pixels and a label are expected";
    says(Dataset::load_csv(&path, &format, None), &path, Some(1), text);
    let format = CsvFormat { header: Some(false), ..named("b") };
    let error = Dataset::load_csv(&path, &format, None).unwrap_err().to_string();
    assert_eq!(error, "option label: b is not allowed (none without a header: the first column has the labels)");
    let error = Dataset::load_csv(&path, &CsvFormat::default(), Some(257)).unwrap_err().to_string();
    assert_eq!(error, "option n_classes: 257 is not allowed (1 to 256)");
    // Files of other formats.
    let path = folder.write("set.npy", &npy("|u1", "(1, 1)", &[0]));
    let text = "is an .npy file, not CSV: its labels are expected in a file of their own";
    says(Dataset::load_csv(&path, &CsvFormat::default(), None), &path, None, text);
    let path = folder.write("set", &2051u32.to_be_bytes());
    let text = "is an IDX file, not CSV: its labels are expected in a file of their own";
    says(Dataset::load_csv(&path, &CsvFormat::default(), None), &path, None, text);
}

#[test]
fn npy_files_are_read() {
    let folder = Folder::new();
    let bytes: Vec<u8> = (0..12).map(|value| value * 23).collect();
    let labels = folder.write("labels.npy", &npy("|u1", "(2,)", &[1, 3]));
    let single: Vec<u8> = bytes.iter().flat_map(|&byte| (f32::from(byte) / 255.0).to_le_bytes()).collect();
    let single_big: Vec<u8> = bytes.iter().flat_map(|&byte| (f32::from(byte) / 255.0).to_be_bytes()).collect();
    let double: Vec<u8> = bytes.iter().flat_map(|&byte| (f64::from(byte) / 255.0).to_le_bytes()).collect();
    let cases = [
        ("|u1", "(2, 2, 3)", &bytes, (2, 3)),
        ("<f4", "(2, 2, 3)", &single, (2, 3)),
        (">f4", "(2, 2, 3)", &single_big, (2, 3)),
        ("<f8", "(2, 6)", &double, (1, 6)),
        ("|u1", "(2, 1, 2, 3)", &bytes, (2, 3)),
        ("|u1", "(2, 3, 2, 1)", &bytes, (3, 2)),
        ("|u1", "(2, 1, 1, 6)", &bytes, (1, 6)),
        ("|u1", "(2, 3, 1)", &bytes[..6].to_vec(), (3, 1)),
        ("|u1", "(2, 2, 3, 1, 1)", &bytes, (2, 3)),
        ("|u1", "(2, 1, 1, 1)", &bytes[..2].to_vec(), (1, 1)),
    ];
    for (descr, shape, body, size) in cases {
        let images = folder.write("images.npy", &npy(descr, shape, body));
        let set = Dataset::load(&images, &labels, None).unwrap_or_else(|error| panic!("{descr} {shape}: {error}"));
        let n = 2 * (size.0 * size.1) as usize;
        assert_eq!((set.images(), set.labels(), set.image_size()), (&bytes[..n], &[1, 3][..], size), "{descr} {shape}");
        assert_eq!(set.n_classes(), 4);
        assert_eq!(read_image(&images, 1, size.0 * size.1, false).unwrap(), set.image(1).unwrap());
    }
    // Labels of every integer type; the other file may be IDX.
    let images = folder.write("images", &[&[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3][..], &bytes].concat());
    for size in [1, 2, 4, 8] {
        for (order, kind) in [('<', 'i'), ('<', 'u'), ('>', 'i'), ('>', 'u')] {
            let of = |value: u8| {
                let mut bytes = vec![0; size];
                bytes[if order == '<' { 0 } else { size - 1 }] = value;
                bytes
            };
            let body = [of(101), of(7)].concat();
            let labels = folder.write("labels.npy", &npy(&format!("{order}{kind}{size}"), "(2,)", &body));
            assert_eq!(Dataset::load(&images, &labels, None).unwrap().labels(), [101, 7], "{order}{kind}{size}");
        }
    }
    // Versions 2 and 3 have a longer length.
    let whole = npy("|u1", "(2,)", &[1, 3]);
    for version in [2, 3] {
        let head = [&whole[..6], &[version, 0], &whole[8..10], &[0, 0], &whole[10..]].concat();
        let labels = folder.write("labels.npy", &head);
        assert_eq!(Dataset::load(&images, &labels, None).unwrap().labels(), [1, 3]);
    }
}

#[test]
fn npy_files_are_not_believed() {
    let folder = Folder::new();
    let labels = folder.write("labels.npy", &npy("|u1", "(1,)", &[1]));
    let one = |value: f32| npy("<f4", "(1, 1, 2)", &[0f32.to_le_bytes(), value.to_le_bytes()].concat());
    let steps = "a number of 0 to 1 in steps of 1/255 is expected (bytes of 0 to 255 are saved as uint8)";
    let types = "uint8, or float32 or float64 of 0 to 1 in steps of 1/255, is expected";
    let mut version = npy("|u1", "(1, 1)", &[0]);
    version[6] = 4;
    let mut order = npy("|u1", "(1, 1)", &[0]);
    let at = order.windows(5).position(|part| part == b"False").expect("a field");
    order[at..at + 5].copy_from_slice(b"True ");
    let long = [b"\x93NUMPY\x02\x00", &(1u32 << 30).to_le_bytes()[..]].concat();
    let cases = [
        (one(0.5), format!("pixel 1 of image 0 is 0.5, {steps}")),
        (one(255.0), format!("pixel 1 of image 0 is 255, {steps}")),
        (one(f32::NAN), format!("pixel 1 of image 0 is NaN, {steps}")),
        (npy("<i8", "(1, 1)", &[0; 8]), format!("images have values of type \"<i8\", {types}")),
        (npy("<f2", "(1, 1)", &[0; 2]), format!("images have values of type \"<f2\", {types}")),
        (npy("|u1", "(1,)", &[0]), "images have the shape [1], [n, rows, cols] is expected, none of them 0".into()),
        (npy("|u1", "(1, 0)", &[]), "images have the shape [1, 0], [n, rows, cols] is expected, none of them 0".into()),
        (
            npy("|u1", "(1, 65536, 65536)", &[0]),
            "images are 65536 x 65536 pixels, at most 4294967295 are allowed".into(),
        ),
        (
            npy("|u1", "(9, 2, 3)", &[0; 53]),
            "truncated: the header says |u1 of [9, 2, 3], 54 bytes, the file holds 53 after the header".into(),
        ),
        (
            npy("|u1", "(1, 2, 3)", &[0; 7]),
            "trailing bytes: the header says |u1 of [1, 2, 3], 6 bytes, and the file has more".into(),
        ),
        (
            npy("<f4", "(18446744073709551615, 65535, 65535)", &[0; 7]),
            format!(
                "the header says <f4 of [18446744073709551615, 65535, 65535], {} bytes; at most 64.00 GiB are allowed",
                4 * 65535 * 65535 * u128::from(u64::MAX)
            ),
        ),
        (
            b"\x93NUMPY\x01\x00".to_vec(),
            "truncated: the file ends after 8 bytes, in the header's field header length".into(),
        ),
        (version, "is of version 4.0 of the .npy format, 1 to 3 are expected".into()),
        (order, "the array lies in Fortran's order, expected C's (numpy.ascontiguousarray gives it)".into()),
        (long, "the header has 1073741824 bytes, at most 65536 are allowed".into()),
        (npy("|u1", "(1, x)", &[]), "the header has \"x), }\" where a size below 2^64 is expected".into()),
    ];
    for (bytes, text) in cases {
        let path = folder.write("images.npy", &bytes);
        says(Dataset::load(&path, &labels, None), &path, None, &text);
    }
    let images = folder.write("images.npy", &npy("|u1", "(2, 1)", &[0, 1]));
    let cases = [
        (npy("<f4", "(2,)", &[0; 8]), "labels have values of type \"<f4\", an integer type is expected"),
        (npy("|u1", "(2, 1)", &[0; 2]), "labels have the shape [2, 1], [n] is expected"),
        (npy("|u1", "(0,)", &[]), "holds no labels, at least 1 is expected"),
        (npy("|i1", "(2,)", &[0, 255]), "label 1 is -1, a whole number of 0 to 255 is expected"),
        (npy("<i2", "(2,)", &[0, 0, 254, 255]), "label 1 is -2, a whole number of 0 to 255 is expected"),
        (npy(">u2", "(2,)", &[1, 0, 0, 0]), "label 0 is 256, a whole number of 0 to 255 is expected"),
        (npy("|u1", "(2,)", &[1, 5]), "label 1 is 5, below 5 is expected"),
        (npy("|u1", "(3,)", &[1, 2, 3]), &format!("3 labels for the 2 images of {}", images.display())),
    ];
    for (bytes, text) in cases {
        let path = folder.write("labels.npy", &bytes);
        says(Dataset::load(&images, &path, Some(5)), &path, None, text);
    }
}

#[test]
fn folders_may_hold_npy_files() {
    let folder = Folder::new();
    for (name, shape, body) in [("images", "(2, 1, 2)", &[0u8, 1, 2, 3][..]), ("labels", "(2,)", &[1, 0])] {
        for split in ["train", "test"] {
            let path = folder.write(&format!("{split}-{name}.npy"), &npy("|u1", shape, body));
            assert!(Dataset::is_file(path));
        }
    }
    let (train, test) = Dataset::load_dir(folder.folder()).unwrap();
    assert_eq!((train.images(), test.labels(), test.image_size()), (&[0, 1, 2, 3][..], &[1, 0][..], (1, 2)));
}

/// Changed files are read or refused with an error that names them, and nothing panics. `cargo xtask soak` has more of them, and limits memory and time.
#[test]
fn mutants_are_read_or_refused() {
    let folder = Folder::new();
    let whole_images =
        folder.write("whole-images.npy", &npy("|u1", "(6, 2)", &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255]));
    let whole_labels = folder.write("whole-labels.npy", &npy("|u1", "(6,)", &[0, 1, 2, 3, 4, 5]));
    let single: Vec<u8> = (0..12u8).flat_map(|byte| (f32::from(byte) / 255.0).to_le_bytes()).collect();
    let csv = b"\"a\",\"class\",b\r\n0,1,2\r\n3.0,0,\"255\"\n\n1e2,3,4".to_vec();
    let seeds = [
        ("images.npy", npy("<f4", "(6, 2, 1)", &single)),
        ("labels.npy", npy(">i2", "(6,)", &[0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 9])),
        ("set.csv", csv),
    ];
    let format = named("class");
    let mut random = Random(1);
    let words: [&[u8]; 8] = [b"\"", b",", b"\n", b"-1", b"99999999999999999999", b"(", b"\xFF\xFE", b"nan"];
    let (mut n_read, mut n_refused) = (0, 0);
    for (name, seed) in &seeds {
        for _ in 0..400 {
            let mut bytes = seed.clone();
            for _ in 0..1 + random.below(3) {
                let at = random.below(bytes.len());
                match random.below(5) {
                    0 => bytes[at] = random.u31() as u8,
                    1 => bytes[at] ^= 1 << random.below(8),
                    2 => bytes.truncate(at.max(1)),
                    3 => drop(bytes.splice(at..at, words[random.below(8)].iter().copied())),
                    _ => drop(bytes.drain(at..(at + 1 + random.below(4)).min(bytes.len() - 1).max(at))),
                }
            }
            let path = folder.write(name, &bytes);
            let found = match *name {
                "images.npy" => Dataset::load(&path, &whole_labels, None),
                "labels.npy" => Dataset::load(&whole_images, &path, None),
                _ => Dataset::load_csv(&path, &format, None),
            };
            match found {
                Ok(set) => {
                    assert_eq!(set.images().len(), set.len() * set.n_inputs() as usize);
                    assert!(set.labels().iter().all(|&label| u32::from(label) < set.n_classes()));
                    n_read += 1;
                }
                Err(error) => {
                    let names = matches!(error, Error::File { .. }) && error.to_string().contains(name);
                    assert!(names, "{error:?}");
                    n_refused += 1;
                }
            }
        }
    }
    assert!(n_read > 20 && n_refused > 20, "{n_read} read, {n_refused} refused");
}
