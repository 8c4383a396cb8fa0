//! A network's file: safetensors, read and written, and OpenSpiel's checkpoints, read.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use safetensors::SafeTensors;
use safetensors::tensor::Metadata;

use super::network::{MOMENTS, NORM_EPSILON};
use super::shape::MAX_DEPTH;
use super::stored::{BATCH_COUNT, Found, narrowed};
use super::{Network, NetworkShape, ObservationLayout, ValueOf, torch_archive};
use crate::runtime::tensors::{self, Tensor};
use crate::runtime::{atomic_file, input_file};
use crate::{Error, Result};

impl Network {
    /// Reads a network under libtorch's names, `layers.0.input_conv.weight` and so on: a safetensors file, or an archive of libtorch's `torch::save`, which is what
    /// OpenSpiel writes as `checkpoint-N.pt`, or of Python's `torch.save(state_dict)`. All sizes come from the tensors. Values of type F64, F16 and BF16 are converted to
    /// F32; `num_batches_tracked` is ignored.
    ///
    /// Metadata of a safetensors file provides what the tensors do not: `observation` and `value_of` (default: [`ObservationLayout::Default`] and [`ValueOf::First`], as in
    /// present versions of OpenSpiel; [`Network::with_meaning`] sets others), `rows` and `columns` (default: a square board) and `bn_eps`, which must be 0.001. An archive
    /// has no such metadata.
    ///
    /// # Errors
    /// [`Error::File`] naming the tensor if one is missing, truncated, unknown, present twice, has a shape that does not fit the others, or holds a value that is not finite
    /// or a negative variance; naming the metadata entry if its value is not allowed; if the file is damaged otherwise.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::from_bytes(path, &input_file::read(path)?)
    }

    /// As [`Network::load`], from the bytes of a file.
    pub(in crate::azero) fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Self> {
        if torch_archive::is_one(bytes) {
            return network_of(path, torch_archive::read(path, bytes)?, &HashMap::new());
        }
        let file = tensors::parse(path, bytes).map_err(|error| truncated(path, bytes).unwrap_or(error))?;
        let mut found = BTreeMap::new();
        // The crate lists them in an order that changes; which of several faults is told must not.
        let mut tensors = file.tensors();
        tensors.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        for (name, view) in tensors {
            // A training's checkpoint also holds what its optimiser remembers.
            if name.ends_with(BATCH_COUNT) || name.starts_with(MOMENTS) {
                continue;
            }
            let values = narrowed(path, &name, tensors::values(path, &name, &view)?)?;
            found.insert(name, Found { dims: view.shape().to_vec(), values });
        }
        let header = SafeTensors::read_metadata(bytes).map_err(|error| Error::file(path, None, error))?.1;
        network_of(path, found, header.metadata().as_ref().unwrap_or(&HashMap::new()))
    }

    /// Returns the network that a command-line argument names: `seed:27` is [`Network::seeded`] with the default shape, anything else is the path of a file.
    ///
    /// # Errors
    /// [`Error::Option`] if the text after `seed:` is not an integer below 2⁶⁴; as [`Network::load`].
    pub fn from_weights(weights: &str) -> Result<Self> {
        match weights.strip_prefix("seed:") {
            Some(seed) => {
                let allowed = "a path, or seed:N with N from 0 to 2^64 - 1";
                let seed = seed.parse().map_err(|_| Error::option("weights", weights, allowed))?;
                Self::seeded(NetworkShape::default(), seed)
            }
            None => Self::load(weights),
        }
    }

    /// Writes a safetensors file of type F32, with the metadata that [`Network::load`] reads: it writes a new file first, which it then renames. The same network gives the
    /// same bytes.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be written; an existing file is unchanged.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let mut tensors = Vec::new();
        self.visit(|name, dims, values| {
            tensors.push(Tensor::single(name.into(), dims.to_vec(), values.iter().copied()));
        });
        atomic_file::write(path, &tensors::to_bytes_described(path, &tensors, self.metadata())?)
    }

    /// The metadata of this network's file.
    pub(in crate::azero) fn metadata(&self) -> BTreeMap<String, String> {
        let lines = [
            ("format", "pt".to_string()),
            ("bn_eps", NORM_EPSILON.to_string()),
            ("observation", self.observation.to_string()),
            ("value_of", self.value_of.to_string()),
            ("rows", self.shape.rows.to_string()),
            ("columns", self.shape.columns.to_string()),
        ];
        lines.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
    }
}

/// If the file is truncated, the error that names the first missing tensor.
fn truncated(path: &Path, bytes: &[u8]) -> Option<Error> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let header: Metadata = serde_json::from_slice(rest.get(..length)?).ok()?;
    // Names in the order of the file.
    for name in header.offset_keys() {
        let end = (8 + length).saturating_add(header.info(&name)?.data_offsets.1);
        if end > bytes.len() {
            let reason = format!("truncated: tensor {name} ends at byte {end}, the file has {}", bytes.len());
            return Some(Error::file(path, None, reason));
        }
    }
    None
}

/// The network of a file's tensors and metadata.
fn network_of(path: &Path, mut found: BTreeMap<String, Found>, metadata: &HashMap<String, String>) -> Result<Network> {
    let wrong = |reason: String| Error::file(path, None, reason);
    if let Some(epsilon) = metadata.get("bn_eps").filter(|text| text.parse() != Ok(NORM_EPSILON)) {
        return Err(wrong(format!("metadata bn_eps is {epsilon}, expected {NORM_EPSILON}")));
    }
    let observation: ObservationLayout = choice(path, metadata, "observation")?.unwrap_or(ObservationLayout::Default);
    let value_of: ValueOf = choice(path, metadata, "value_of")?.unwrap_or(ValueOf::First);
    let shape = shape_of(&found, metadata).map_err(wrong)?;
    shape.check().map_err(|error| wrong(error.to_string()))?;
    let network = Network::from_tensors(shape, |name, dims| {
        let Found { dims: got, values } =
            found.remove(name).ok_or_else(|| wrong(format!("tensor {name} is missing")))?;
        if got != dims {
            return Err(wrong(format!("tensor {name} has the shape {got:?}, expected {dims:?}")));
        }
        if name.ends_with("running_var")
            && let Some(at) = values.iter().position(|&variance| variance < 0.0)
        {
            let reason = format!("tensor {name}, element {at} is {}, expected a variance, 0 or more", values[at]);
            return Err(wrong(reason));
        }
        Ok(values)
    })?;
    match found.first_key_value() {
        Some((name, _)) => {
            Err(wrong(format!("tensor {name} is unknown: a network of this shape has none of that name")))
        }
        None => Ok(network.with_meaning(observation, value_of)),
    }
}

/// Parses an entry of the metadata.
fn choice<T: std::str::FromStr<Err = Error>>(
    path: &Path,
    metadata: &HashMap<String, String>,
    key: &str,
) -> Result<Option<T>> {
    let parse =
        |text: &String| text.parse().map_err(|error| Error::file(path, None, format!("metadata {key}: {error}")));
    metadata.get(key).map(parse).transpose()
}

/// The shape of a file's tensors, if they fit together; each tensor is compared with the whole shape later.
fn shape_of(found: &BTreeMap<String, Found>, metadata: &HashMap<String, String>) -> Result<NetworkShape, String> {
    let depth = depth_of(found)?;
    let dims = |name: &str, form: &str, n: usize| -> Result<Vec<u32>, String> {
        let Found { dims, .. } = found.get(name).ok_or_else(|| format!("tensor {name} is missing"))?;
        let sizes: Option<Vec<u32>> = dims.iter().map(|&size| u32::try_from(size).ok()).collect();
        match sizes.filter(|sizes| sizes.len() == n && !sizes.contains(&0)) {
            Some(sizes) => Ok(sizes),
            None => Err(format!("tensor {name} has the shape {dims:?}, expected {form}")),
        }
    };
    let input = dims("layers.0.input_conv.weight", "[width, planes, 3, 3]", 4)?;
    let head = |part: &str| format!("layers.{}.{part}.weight", depth + 1);
    let value_conv = dims(&head("value_conv"), "[filters, width, 1, 1]", 4)?;
    let policy_conv = dims(&head("policy_conv"), "[filters, width, 1, 1]", 4)?;
    let value_linear = dims(&head("value_linear_1"), "[hidden, filters x squares]", 2)?;
    let policy_linear = dims(&head("policy_linear"), "[actions, filters x squares]", 2)?;
    let squares = |name: &str, n_inputs: u32, filters: u32| match n_inputs.is_multiple_of(filters) {
        true => Ok(n_inputs / filters),
        false => {
            Err(format!("tensor {name} has {n_inputs} inputs, expected a multiple of the {filters} filters before it"))
        }
    };
    let cells = squares(&head("value_linear_1"), value_linear[1], value_conv[0])?;
    let of_policy = squares(&head("policy_linear"), policy_linear[1], policy_conv[0])?;
    if cells != of_policy {
        let name = head("policy_linear");
        return Err(format!(
            "tensor {name} is of a board of {of_policy} squares, expected {cells} as in the value head"
        ));
    }
    let [rows, columns] = board(cells, metadata)?;
    Ok(NetworkShape {
        rows,
        columns,
        planes: input[1],
        width: input[0],
        depth,
        value_filters: value_conv[0],
        value_hidden: value_linear[0],
        policy_filters: policy_conv[0],
        actions: policy_linear[0],
    })
}

/// Number of consecutive blocks.
fn depth_of(found: &BTreeMap<String, Found>) -> Result<u32, String> {
    let has = |block: u32| {
        let prefix = format!("layers.{}.res_{block}_", block + 1);
        found.range(prefix.clone()..).next().is_some_and(|(name, _)| name.starts_with(&prefix))
    };
    let depth = (0..=MAX_DEPTH).take_while(|&block| has(block)).count() as u32;
    // A block beyond the first that is missing.
    let beyond = found.keys().find(|name| {
        let layer = name.strip_prefix("layers.").and_then(|rest| rest.split_once('.'));
        layer.is_some_and(|(layer, part)| part.starts_with("res_") && layer.parse().is_ok_and(|at: u32| at > depth))
    });
    match beyond {
        Some(name) => Err(format!(
            "block {depth} is missing: no tensor layers.{}.res_{depth}_…, though {name} is there",
            depth + 1
        )),
        None => Ok(depth),
    }
}

/// Rows and columns of a board of `cells` squares.
fn board(cells: u32, metadata: &HashMap<String, String>) -> Result<[u32; 2], String> {
    let size = |key: &str| -> Result<Option<u32>, String> {
        let Some(text) = metadata.get(key) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| format!("metadata {key} is {text}, expected a number"))
    };
    match (size("rows")?, size("columns")?) {
        (Some(rows), Some(columns)) if rows.checked_mul(columns) == Some(cells) => Ok([rows, columns]),
        (Some(rows), Some(columns)) => {
            Err(format!("metadata rows and columns are {rows} and {columns}, but the heads have {cells} squares"))
        }
        (None, None) if cells.isqrt().pow(2) == cells => Ok([cells.isqrt(); 2]),
        (None, None) => {
            Err(format!("the heads have {cells} squares, no square board: expected metadata rows and columns"))
        }
        _ => Err("metadata has one of rows and columns, expected both or none".into()),
    }
}
