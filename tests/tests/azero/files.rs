//! Networks' files: what is written is read again, OpenSpiel's checkpoints are read, and a wrong or damaged file is refused with the tensor's name.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensors, serialize};
use warpplay::azero::{Network, NetworkShape, ObservationLayout, ValueOf};
use warpplay::{Error, Result};
use warpplay_tests::folder::Folder;
use warpplay_tests::golden;

/// The error is about this file and says this.
#[track_caller]
fn says(result: Result<Network>, path: &Path, text: &str) {
    let error = result.expect_err(text);
    assert!(matches!(error, Error::File { .. }), "{error:?}");
    assert_eq!(error.to_string(), format!("{}: {text}", path.display()));
}

fn small_shape() -> NetworkShape {
    NetworkShape {
        rows: 4,
        columns: 4,
        planes: 2,
        width: 3,
        depth: 2,
        value_hidden: 4,
        actions: 5,
        ..NetworkShape::default()
    }
}

fn small() -> Network {
    Network::seeded(small_shape(), 5).expect("the shape is allowed")
}

/// A file's tensors, to be changed and written again.
#[derive(Clone)]
struct Tensors {
    tensors: BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>,
    metadata: BTreeMap<String, String>,
}

impl Tensors {
    fn of(network: &Network) -> Self {
        let mut tensors = BTreeMap::new();
        network.visit(|name, dims, values| {
            let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            tensors.insert(name.to_string(), (Dtype::F32, dims.to_vec(), bytes));
        });
        Self { tensors, metadata: BTreeMap::new() }
    }

    fn floats(&mut self, name: &str, change: impl FnOnce(&mut Vec<f32>)) {
        let (_, _, bytes) = self.tensors.get_mut(name).expect("a tensor of the network");
        let mut values = bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        change(&mut values);
        *bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    }

    fn set(&mut self, name: &str, dims: &[usize]) {
        let bytes = vec![0; 4 * dims.iter().product::<usize>()];
        self.tensors.insert(name.to_string(), (Dtype::F32, dims.to_vec(), bytes));
    }

    fn rename(&mut self, from: &str, to: &str) {
        let tensor = self.tensors.remove(from).expect("a tensor of the network");
        self.tensors.insert(to.to_string(), tensor);
    }

    fn meta(&mut self, key: &str, value: &str) {
        self.metadata.insert(key.to_string(), value.to_string());
    }

    fn bytes(&self) -> Vec<u8> {
        let views = self.tensors.iter().map(|(name, (dtype, dims, bytes))| {
            (name, TensorView::new(*dtype, dims.clone(), bytes).expect("the right number of bytes"))
        });
        let metadata = self.metadata.clone().into_iter().collect();
        serialize(views, Some(metadata)).expect("it can be written")
    }
}

#[test]
fn what_is_written_is_read_again() {
    let folder = Folder::new();
    let wide = NetworkShape { rows: 2, columns: 6, value_filters: 2, policy_filters: 3, depth: 0, ..small_shape() };
    let networks = [
        small(),
        small().with_meaning(ObservationLayout::Legacy, ValueOf::Mover),
        Network::seeded(wide, 9).unwrap().with_meaning(ObservationLayout::Egocentric, ValueOf::First),
        Network::zeros(NetworkShape { depth: 12, ..small_shape() }).unwrap(),
    ];
    for network in networks {
        let path = folder.path("net.safetensors");
        network.save(&path).unwrap();
        let bytes = fs::read(&path).unwrap();
        assert_eq!(Network::load(&path).unwrap(), network);
        network.save(&path).unwrap();
        assert!(fs::read(&path).unwrap() == bytes, "the same network, the same bytes");
        // The header is one that the format's own crate accepts, and the values begin at a multiple of 8 bytes.
        let (header, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
        assert!(header.is_multiple_of(8));
        let lines = metadata.metadata().as_ref().unwrap();
        assert_eq!((&lines["observation"][..], &lines["bn_eps"][..]), (network.observation().name(), "0.001"));
        assert_eq!(Network::from_weights(path.to_str().unwrap()).unwrap(), network);
    }
}

#[test]
fn the_reference_file_is_the_seeded_network() {
    let Some(path) = golden::shared("vectors/az_checkers_net.safetensors") else { return };
    let network = Network::load(path).unwrap();
    assert_eq!(network, Network::from_weights("seed:27").unwrap());
    assert_eq!(network.shape(), NetworkShape::default());
}

#[test]
fn seeds_are_numbers() {
    for text in ["seed:", "seed:x", "seed:-1", "seed:18446744073709551616"] {
        let error = Network::from_weights(text).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("option weights: {text} is not allowed (a path, or seed:N with N from 0 to 2^64 - 1)")
        );
    }
    let path = Path::new("no such file");
    let error = Network::from_weights("no such file").unwrap_err().to_string();
    assert!(error.starts_with("no such file: cannot be read: "), "{error}");
    assert!(Network::load(path).is_err());
}

#[test]
fn checkpoints_of_libtorch_are_read() {
    let golden = |name: &str| warpplay_tests::golden::path("azero").join(name);
    let expected = Network::load(golden("libtorch_module.safetensors")).unwrap();
    assert_eq!(expected.shape(), small_shape());
    for name in ["libtorch_module.pt", "state_dict.pt"] {
        assert!(Network::load(golden(name)).unwrap() == expected, "{name}");
    }
}

#[test]
fn other_precisions_are_widened() {
    let folder = Folder::new();
    let mut tensors = Tensors::of(&small());
    // Values that all types have.
    tensors.floats("layers.0.input_conv.bias", |values| values.copy_from_slice(&[1.5, -2.0, 0.25]));
    let path = folder.write("f32", &tensors.bytes());
    let expected = Network::load(&path).unwrap();
    let of_type = |dtype, bytes: Vec<u8>| {
        let mut tensors = tensors.clone();
        tensors.tensors.insert("layers.0.input_conv.bias".into(), (dtype, vec![3], bytes));
        Network::load(folder.write("other", &tensors.bytes()))
    };
    let doubles = [1.5f64, -2.0, 0.25].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(of_type(Dtype::F64, doubles).unwrap(), expected);
    let halves = [0x3E00u16, 0xC000, 0x3400].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(of_type(Dtype::F16, halves).unwrap(), expected);
    let brains = [0x3FC0u16, 0xC000, 0x3E80].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(of_type(Dtype::BF16, brains).unwrap(), expected);
    says(
        of_type(Dtype::I32, vec![0; 12]),
        &folder.path("other"),
        "tensor layers.0.input_conv.bias is of type I32, expected F32, F64, F16 or BF16",
    );
    let large = [1e300f64, 0.0, 0.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    says(
        of_type(Dtype::F64, large),
        &folder.path("other"),
        &format!("tensor layers.0.input_conv.bias, element 0 is {}, expected a finite F32", 1e300),
    );
    // What libtorch counts is not asked for.
    let mut counted = tensors.clone();
    let count = (Dtype::I64, vec![], vec![7, 0, 0, 0, 0, 0, 0, 0]);
    counted.tensors.insert("layers.0.input_batch_norm.num_batches_tracked".into(), count);
    assert_eq!(Network::load(folder.write("counted", &counted.bytes())).unwrap(), expected);
}

type Change = fn(&mut Tensors);

#[test]
fn wrong_files_name_the_tensor() {
    let cases: &[(Change, &str)] = &[
        (|t| drop(t.tensors.remove("layers.0.input_conv.weight")), "tensor layers.0.input_conv.weight is missing"),
        (
            |t| drop(t.tensors.remove("layers.2.res_1_batch_norm_2.bias")),
            "tensor layers.2.res_1_batch_norm_2.bias is missing",
        ),
        (|t| drop(t.tensors.remove("layers.3.policy_linear.bias")), "tensor layers.3.policy_linear.bias is missing"),
        (
            |t| drop(t.tensors.remove("layers.3.value_linear_1.weight")),
            "tensor layers.3.value_linear_1.weight is missing",
        ),
        (|t| t.tensors.retain(|name, _| name.contains("policy")), "tensor layers.0.input_conv.weight is missing"),
        (
            |t| t.rename("layers.1.res_0_conv_1.weight", "layers.1.res_0_conv1.weight"),
            "tensor layers.1.res_0_conv_1.weight is missing",
        ),
        (
            |t| t.set("layers.1.res_0_conv_3.weight", &[3]),
            "tensor layers.1.res_0_conv_3.weight is unknown: a network of this shape has none of that name",
        ),
        (|t| t.set("optimizer", &[1]), "tensor optimizer is unknown: a network of this shape has none of that name"),
        (
            |t| t.tensors.retain(|name, _| !name.starts_with("layers.1.")),
            "block 0 is missing: no tensor layers.1.res_0_…, though layers.2.res_1_batch_norm_1.bias is there",
        ),
        (
            |t| t.set("layers.9.res_8_conv_1.weight", &[3, 3, 3, 3]),
            "block 2 is missing: no tensor layers.3.res_2_…, though layers.9.res_8_conv_1.weight is there",
        ),
        (
            |t| t.set("layers.0.input_conv.weight", &[3, 2, 9]),
            "tensor layers.0.input_conv.weight has the shape [3, 2, 9], expected [width, planes, 3, 3]",
        ),
        (
            |t| t.set("layers.0.input_conv.weight", &[3, 2, 5, 5]),
            "tensor layers.0.input_conv.weight has the shape [3, 2, 5, 5], expected [3, 2, 3, 3]",
        ),
        (
            |t| t.set("layers.0.input_conv.weight", &[0, 2, 3, 3]),
            "tensor layers.0.input_conv.weight has the shape [0, 2, 3, 3], expected [width, planes, 3, 3]",
        ),
        (
            |t| t.set("layers.0.input_conv.weight", &[4, 2, 3, 3]),
            "tensor layers.0.input_conv.bias has the shape [3], expected [4]",
        ),
        (|t| t.set("layers.0.input_conv.weight", &[1025, 2, 3, 3]), "option width: 1025 is not allowed (1 to 1024)"),
        (
            |t| t.set("layers.2.res_1_conv_2.weight", &[3, 4, 3, 3]),
            "tensor layers.2.res_1_conv_2.weight has the shape [3, 4, 3, 3], expected [3, 3, 3, 3]",
        ),
        (
            |t| t.set("layers.3.value_linear_1.weight", &[4, 15]),
            "tensor layers.3.policy_linear.weight is of a board of 16 squares, expected 15 as in the value head",
        ),
        (
            |t| t.set("layers.3.policy_linear.weight", &[5, 31]),
            "tensor layers.3.policy_linear.weight has 31 inputs, expected a multiple of the 2 filters before it",
        ),
        (
            |t| {
                t.set("layers.3.value_linear_1.weight", &[4, 12]);
                t.set("layers.3.policy_linear.weight", &[5, 24]);
            },
            "the heads have 12 squares, no square board: expected metadata rows and columns",
        ),
        (
            |t| t.set("layers.3.value_linear_2.weight", &[2, 4]),
            "tensor layers.3.value_linear_2.weight has the shape [2, 4], expected [1, 4]",
        ),
        (
            |t| t.floats("layers.1.res_0_conv_2.weight", |values| values[7] = f32::NAN),
            "tensor layers.1.res_0_conv_2.weight, element 7 is NaN, expected a finite F32",
        ),
        (
            |t| t.floats("layers.3.policy_linear.bias", |values| values[4] = f32::NEG_INFINITY),
            "tensor layers.3.policy_linear.bias, element 4 is -inf, expected a finite F32",
        ),
        (
            |t| t.floats("layers.1.res_0_batch_norm_1.running_var", |values| values[2] = -0.5),
            "tensor layers.1.res_0_batch_norm_1.running_var, element 2 is -0.5, expected a variance, 0 or more",
        ),
        (|t| t.meta("bn_eps", "0.00001"), "metadata bn_eps is 0.00001, expected 0.001"),
        (|t| t.meta("bn_eps", "small"), "metadata bn_eps is small, expected 0.001"),
        (
            |t| t.meta("observation", "sideways"),
            "metadata observation: option observation: sideways is not allowed (default, egocentric, legacy)",
        ),
        (|t| t.meta("value_of", "winner"), "metadata value_of: option value of: winner is not allowed (first, mover)"),
        (|t| t.meta("rows", "4"), "metadata has one of rows and columns, expected both or none"),
        (
            |t| {
                t.meta("rows", "4");
                t.meta("columns", "5");
            },
            "metadata rows and columns are 4 and 5, but the heads have 16 squares",
        ),
        (|t| t.meta("rows", "many"), "metadata rows is many, expected a number"),
    ];
    let folder = Folder::new();
    for (change, text) in cases {
        let mut tensors = Tensors::of(&small());
        change(&mut tensors);
        let path = folder.write("net", &tensors.bytes());
        says(Network::load(&path), &path, text);
    }
    // And what is right, with the same metadata written in another way.
    let mut tensors = Tensors::of(&small());
    for (key, value) in [("bn_eps", "1e-3"), ("rows", "2"), ("columns", "8"), ("observation", "legacy"), ("else", "")] {
        tensors.meta(key, value);
    }
    let network = Network::load(folder.write("net", &tensors.bytes())).unwrap();
    assert_eq!((network.shape().rows, network.shape().columns), (2, 8));
    assert_eq!((network.observation(), network.value_of()), (ObservationLayout::Legacy, ValueOf::First));
}

#[test]
fn damaged_files_are_refused() {
    let folder = Folder::new();
    let path = folder.path("net");
    small().save(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    let header = 8 + SafeTensors::read_metadata(&bytes).unwrap().0;
    // The last tensor in the file, in the order of the network.
    let cut = folder.write("cut", &bytes[..bytes.len() - 1]);
    let end = bytes.len();
    says(
        Network::load(&cut),
        &cut,
        &format!("truncated: tensor layers.3.policy_linear.bias ends at byte {end}, the file has {}", end - 1),
    );
    let cut = folder.write("cut", &bytes[..header + 10]);
    let end = header + 4 * 3 * 2 * 9;
    says(
        Network::load(&cut),
        &cut,
        &format!("truncated: tensor layers.0.input_conv.weight ends at byte {end}, the file has {}", header + 10),
    );
    for n in [0, 1, 7, 8, 100] {
        let cut = folder.write("cut", &bytes[..n]);
        let error = Network::load(&cut).unwrap_err().to_string();
        assert!(error.contains("expected a safetensors file") || error.contains("not a safetensors file"), "{error}");
    }
    let long = folder.write("long", &[&bytes[..], &[0; 4]].concat());
    assert!(Network::load(&long).unwrap_err().to_string().contains("not a safetensors file, or a damaged one"));
    // Whatever is saved over a good file and fails leaves it as it was.
    let error = small().save(folder.path("no/such/folder")).unwrap_err();
    assert!(matches!(error, Error::File { .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

/// An archive of libtorch with these entries beside the storages of one tensor.
fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    // Local headers, the directory, and its end: stored entries.
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in entries {
        let mut checksum = flate2::Crc::new();
        checksum.update(data);
        let mut fields = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        fields.extend(checksum.sum().to_le_bytes());
        fields.extend((data.len() as u32).to_le_bytes());
        fields.extend((data.len() as u32).to_le_bytes());
        fields.extend((name.len() as u16).to_le_bytes());
        fields.extend([0; 2]);
        let at = bytes.len() as u32;
        bytes.extend(*b"PK\x03\x04");
        bytes.extend(&fields);
        bytes.extend(name.as_bytes());
        bytes.extend(*data);
        directory.extend(*b"PK\x01\x02\x14\x00");
        directory.extend(&fields);
        directory.extend([0; 10]);
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let at = bytes.len() as u32;
    bytes.extend(&directory);
    bytes.extend(*b"PK\x05\x06\x00\x00\x00\x00");
    bytes.extend((entries.len() as u16).to_le_bytes());
    bytes.extend((entries.len() as u16).to_le_bytes());
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(at.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

/// A dictionary of one tensor `name` of `storage`, with an offset, sizes and strides of one byte each.
fn pickled(name: &str, storage: &str, n_stored: u8, offset: u8, dims: &[u8], strides: &[u8]) -> Vec<u8> {
    let text = |text: &str| [b"X".to_vec(), (text.len() as u32).to_le_bytes().to_vec(), text.into()].concat();
    let tuple =
        |sizes: &[u8]| [b"(".to_vec(), sizes.iter().flat_map(|&size| [b'K', size]).collect(), b"t".to_vec()].concat();
    [
        b"\x80\x02}".to_vec(),
        text(name),
        b"ctorch._utils\n_rebuild_tensor_v2\n((".to_vec(),
        text("storage"),
        format!("ctorch\n{storage}\n").into_bytes(),
        text("0"),
        text("cpu"),
        vec![b'K', n_stored, b't', b'Q', b'K', offset],
        tuple(dims),
        tuple(strides),
        b"\x89ccollections\nOrderedDict\n)RtRs.".to_vec(),
    ]
    .concat()
}

#[test]
fn wrong_archives_say_what_is_wrong() {
    let folder = Folder::new();
    let storage = [0u8; 24];
    let of = |pickle: &[u8]| archive(&[("net/data.pkl", pickle), ("net/data/0", &storage)]);
    let good = pickled("a", "FloatStorage", 6, 0, &[2, 3], &[3, 1]);
    let cases: Vec<(Vec<u8>, &str)> = vec![
        // A tensor that is read, but is none of a network.
        (of(&good), "tensor layers.0.input_conv.weight is missing"),
        (
            of(&pickled("a", "FloatStorage", 6, 1, &[2, 3], &[3, 1])),
            "tensor a: sizes [2, 3] with strides [3, 1] from 1 on are not in a storage of 6 values",
        ),
        (
            of(&pickled("a", "FloatStorage", 6, 0, &[7], &[0])),
            "tensor a: sizes [7] with strides [0] from 0 on are not in a storage of 6 values",
        ),
        (
            of(&pickled("a", "FloatStorage", 6, 0, &[2, 3], &[3])),
            "tensor a: sizes [2, 3] with strides [3] from 0 on are not in a storage of 6 values",
        ),
        (of(&pickled("a", "FloatStorage", 7, 0, &[6], &[1])), "tensor a: its storage has 24 bytes, expected 28"),
        (
            of(&pickled("a", "IntStorage", 6, 0, &[6], &[1])),
            "tensor a: of type torch.IntStorage, expected a storage of F32, F64, F16 or BF16",
        ),
        (
            archive(&[("net/data.pkl", &good)]),
            "tensor a: entry net/data/0 cannot be read: specified file not found in archive",
        ),
        (of(b"\x80\x02cos\nsystem\n)R."), "data.pkl, byte 14: a call of os.system, expected tensors by name"),
        (of(b"\x80\x02}"), "data.pkl, byte 3: the end comes too early"),
        (archive(&[("net/other", b"")]), "not a libtorch archive: 0 entries are named data.pkl, expected 1"),
        (
            archive(&[("net/data.pkl", &good), ("more/data.pkl", &good)]),
            "not a libtorch archive: 2 entries are named data.pkl, expected 1",
        ),
        (archive(&[("net/data.pkl", &good), ("net/byteorder", b"big")]), "byte order big, expected little"),
    ];
    for (bytes, text) in cases {
        let path = folder.write("net.pt", &bytes);
        says(Network::load(&path), &path, text);
    }
    let two = [&good[..good.len() - 1], &good[3..]].concat();
    let path = folder.write("net.pt", &of(&two));
    says(Network::load(&path), &path, "a occurs twice");
    // A dictionary that holds itself.
    let path = folder.write("net.pt", &of(b"\x80\x02}q\x00X\x01\x00\x00\x00ah\x00s."));
    let error = Network::load(&path).unwrap_err().to_string();
    assert!(error.contains("data.pkl has more than 16 modules inside each other"), "{error}");
    // Parameters of parameters without end are no deeper for the reader.
    let deep = [
        b"\x80\x02}X\x01\x00\x00\x00a".to_vec(),
        b"ctorch._utils\n_rebuild_parameter\n".repeat(9),
        b"N".to_vec(),
        b"\x85R".repeat(9),
        b"s.".to_vec(),
    ];
    let path = folder.write("net.pt", &of(&deep.concat()));
    let error = Network::load(&path).unwrap_err().to_string();
    assert!(error.contains("tensor a: no storage"), "{error}");
}
