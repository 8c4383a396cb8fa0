//! Archives of libtorch: what OpenSpiel saves as `checkpoint-N.pt`, and Python's `torch.save` of a state dictionary.
//!
//! An archive is a zip file of stored entries under one folder: `data.pkl`, a pickle of nested modules or of a dictionary, whose tensors name their storages,
//! and the storages `data/0`, `data/1`, …, little-endian. A tensor is a storage, an offset in it, sizes and strides; its name is the way to it through
//! the modules, joined by dots.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{Cursor, Read};
use std::path::Path;

use zip::ZipArchive;

use super::pickle::{Node, NodeId, Pickle};
use super::stored::{BATCH_COUNT, Found, narrowed};
use crate::runtime::tensors;
use crate::{Error, Result};

/// Maximum nesting depth of modules.
const MAX_NESTING: usize = 16;

/// Maximum number of values of a pickle that are visited; an object that is named twice counts twice.
const MAX_VISITS: usize = 1 << 20;

/// Whether a file's bytes begin like an archive.
pub(super) fn is_one(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04")
}

/// The tensors of an archive by name.
///
/// # Errors
/// [`Error::File`] if the archive is damaged or holds something other than named tensors; the error names the tensor if it concerns one.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<BTreeMap<String, Found>> {
    let wrong = |reason: String| Error::file(path, None, reason);
    let mut archive = Archive::open(bytes).map_err(wrong)?;
    let text = archive.entry("data.pkl").map_err(wrong)?;
    let pickle = Pickle::read(&text).map_err(|reason| wrong(format!("data.pkl, {reason}")))?;
    let mut walk = Walk { pickle: &pickle, visits: 0, tensors: Vec::new() };
    walk.visit(pickle.root, &mut Vec::new()).map_err(wrong)?;
    let mut found = BTreeMap::new();
    let mut n_values = 0;
    for (name, arguments) in walk.tensors {
        let of_tensor = |reason: String| wrong(format!("tensor {name}: {reason}"));
        let view = View::of(&pickle, arguments).map_err(of_tensor)?;
        n_values += view.len;
        // Shared storages are allowed, but not to grow a small file into a large network.
        if n_values > bytes.len() {
            return Err(wrong(format!("tensor {name}: the tensors together have more values than the file has bytes")));
        }
        let values = view.values(path, &name, archive.storage(&view).map_err(of_tensor)?)?;
        let values = narrowed(path, &name, values)?;
        if found.insert(name.clone(), Found { dims: view.dims, values }).is_some() {
            return Err(wrong(format!("tensor {name} occurs twice")));
        }
    }
    Ok(found)
}

/// A zip file whose entries are under one folder.
struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    folder: String,
    n_bytes: u64,
    /// Storages read so far.
    storages: HashMap<String, Vec<u8>>,
}

impl<'a> Archive<'a> {
    fn open(bytes: &'a [u8]) -> Result<Self, String> {
        let zip =
            ZipArchive::new(Cursor::new(bytes)).map_err(|error| format!("a damaged libtorch archive: {error}"))?;
        let names: Vec<String> = zip
            .file_names()
            .flatten()
            .filter(|name| name.ends_with("/data.pkl"))
            .map(|name| name.to_string())
            .collect();
        let [name] = &names[..] else {
            return Err(format!("not a libtorch archive: {} entries are named data.pkl, expected 1", names.len()));
        };
        let folder = name[..name.len() - "data.pkl".len()].to_string();
        let mut archive = Self { zip, folder, n_bytes: bytes.len() as u64, storages: HashMap::new() };
        if archive.zip.index_for_name(&format!("{}byteorder", archive.folder)).is_some() {
            let order = archive.entry("byteorder")?;
            if order != b"little" {
                return Err(format!("byte order {}, expected little", String::from_utf8_lossy(&order)));
            }
        }
        Ok(archive)
    }

    /// An entry's bytes, checked against its checksum.
    fn entry(&mut self, name: &str) -> Result<Vec<u8>, String> {
        let whole = format!("{}{name}", self.folder);
        let damaged = |error: &dyn std::fmt::Display| format!("entry {whole} cannot be read: {error}");
        let entry = self.zip.by_name(&whole).map_err(|error| damaged(&error))?;
        // Entries are stored, so none is longer than the file.
        let mut bytes = Vec::new();
        entry.take(self.n_bytes + 1).read_to_end(&mut bytes).map_err(|error| damaged(&error))?;
        Ok(bytes)
    }

    /// The bytes of a view's storage.
    fn storage(&mut self, view: &View) -> Result<&[u8], String> {
        if !self.storages.contains_key(&view.storage) {
            let bytes = self.entry(&format!("data/{}", view.storage))?;
            self.storages.insert(view.storage.clone(), bytes);
        }
        Ok(&self.storages[&view.storage])
    }
}

/// A traversal of a pickle's modules and dictionaries.
struct Walk<'a> {
    pickle: &'a Pickle,
    visits: usize,
    /// Names of tensors, and the arguments of the calls that make them.
    tensors: Vec<(String, &'a [NodeId])>,
}

impl<'a> Walk<'a> {
    /// Visits a node whose name is `names`; skips nodes that are neither module, dictionary nor tensor.
    fn visit(&mut self, id: NodeId, names: &mut Vec<&'a str>) -> Result<(), String> {
        self.visits += 1;
        if self.visits > MAX_VISITS {
            return Err(format!("data.pkl has more than {MAX_VISITS} values"));
        }
        if names.len() > MAX_NESTING {
            return Err(format!(
                "data.pkl has more than {MAX_NESTING} modules inside each other, from {} on",
                names.join(".")
            ));
        }
        match self.pickle.node(id) {
            &Node::Object(Some(state)) => {
                let Node::Dict(items) = self.pickle.node(state) else { return Ok(()) };
                self.items(items, names)
            }
            Node::Dict(items) => self.items(items, names),
            Node::Call(function, arguments) => {
                let name = names.join(".");
                // A parameter is a tensor with a mark.
                let inner = arguments.first().map(|&tensor| self.pickle.node(tensor));
                let arguments = match inner {
                    Some(Node::Call(_, tensor)) if function.ends_with("_rebuild_parameter") => tensor,
                    _ => arguments,
                };
                if !name.ends_with(BATCH_COUNT) {
                    self.tensors.push((name, arguments));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn items(&mut self, items: &'a [(NodeId, NodeId)], names: &mut Vec<&'a str>) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for &(key, value) in items {
            let Node::Text(key) = self.pickle.node(key) else { continue };
            names.push(key);
            if !seen.insert(key) {
                return Err(format!("{} occurs twice", names.join(".")));
            }
            self.visit(value, names)?;
            names.pop();
        }
        Ok(())
    }
}

/// A tensor: its storage and its position there.
struct View {
    storage: String,
    dtype: safetensors::Dtype,
    /// Number of values of the storage.
    n_stored: usize,
    offset: usize,
    dims: Vec<usize>,
    strides: Vec<usize>,
    /// Number of values of the tensor.
    len: usize,
}

impl View {
    /// Makes a view from the arguments storage, offset, sizes, strides, ….
    fn of(pickle: &Pickle, arguments: &[NodeId]) -> Result<Self, String> {
        let &[storage, offset, dims, strides, ..] = arguments else {
            return Err("no storage, sizes and strides".into());
        };
        let number = |id: NodeId| match *pickle.node(id) {
            Node::Int(value) => usize::try_from(value).map_err(|_| format!("a size or stride of {value}")),
            _ => Err("a size or stride that is not an integer".into()),
        };
        let numbers = |id: NodeId| match pickle.node(id) {
            Node::Tuple(items) => items.iter().map(|&id| number(id)).collect::<Result<Vec<_>, _>>(),
            _ => Err("no sizes and strides".into()),
        };
        let Node::Persistent(storage) = pickle.node(storage) else { return Err("no storage".into()) };
        let Node::Tuple(parts) = pickle.node(*storage) else { return Err("no storage".into()) };
        let &[_, class, key, _, n_stored, ..] = &parts[..] else { return Err("no storage".into()) };
        let (Node::Global(class), Node::Text(key)) = (pickle.node(class), pickle.node(key)) else {
            return Err("a storage without type and name".into());
        };
        let dtype = match class.rsplit('.').next().unwrap_or_default() {
            "FloatStorage" => safetensors::Dtype::F32,
            "DoubleStorage" => safetensors::Dtype::F64,
            "HalfStorage" => safetensors::Dtype::F16,
            "BFloat16Storage" => safetensors::Dtype::BF16,
            _ => return Err(format!("of type {class}, expected a storage of F32, F64, F16 or BF16")),
        };
        let (offset, n_stored, dims, strides) = (number(offset)?, number(n_stored)?, numbers(dims)?, numbers(strides)?);
        let len = dims.iter().try_fold(1usize, |len, &size| len.checked_mul(size));
        let last = dims
            .iter()
            .zip(&strides)
            .try_fold(offset, |at, (&size, &stride)| at.checked_add(stride.checked_mul(size.saturating_sub(1))?));
        // A tensor with more values than its storage repeats some: no network has one.
        let inside = |len: usize| len <= n_stored && (len == 0 || last.is_some_and(|last| last < n_stored));
        let len = len.filter(|&len| dims.len() == strides.len() && inside(len)).ok_or_else(|| {
            format!(
                "sizes {dims:?} with strides {strides:?} from {offset} on are not in a storage of {n_stored} values"
            )
        })?;
        Ok(Self { storage: key.clone(), dtype, n_stored, offset, dims, strides, len })
    }

    /// The tensor's values, row-major, from the bytes of its storage.
    fn values(&self, path: &Path, name: &str, bytes: &[u8]) -> Result<Vec<f64>> {
        let expected = self.n_stored.saturating_mul(self.dtype.bitsize() / 8);
        if bytes.len() != expected {
            let reason = format!("tensor {name}: its storage has {} bytes, expected {expected}", bytes.len());
            return Err(Error::file(path, None, reason));
        }
        let view = safetensors::tensor::TensorView::new(self.dtype, vec![self.n_stored], bytes)
            .map_err(|error| Error::file(path, None, format!("tensor {name}: {error}")))?;
        let stored = tensors::values(path, name, &view)?;
        let mut values = Vec::with_capacity(self.len);
        let mut index = vec![0; self.dims.len()];
        for _ in 0..self.len {
            let at: usize = index.iter().zip(&self.strides).map(|(&index, &stride)| index * stride).sum();
            values.push(stored[self.offset + at]);
            for (index, &size) in index.iter_mut().zip(&self.dims).rev() {
                *index += 1;
                if *index < size {
                    break;
                }
                *index = 0;
            }
        }
        Ok(values)
    }
}
