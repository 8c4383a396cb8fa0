//! Files of weights.

use std::collections::BTreeMap;
use std::path::Path;

use safetensors::{Dtype, SafeTensors};

use super::ConvNetwork;
use super::network::layer_sizes;
use super::options::{check_blocks, check_images};
use crate::mlp::Layer;
use crate::runtime::tensors::{self, Tensor};
use crate::runtime::{atomic_file, input_file};
use crate::{Error, Result};

/// Keys of the metadata.
const BLOCKS: &str = "blocks";
const IMAGE: &str = "image";

/// Names and shapes of the tensors of layer `number` from 0 on, of so many inputs and outputs.
fn tensors_of(number: usize, size: [u32; 2], is_dense: bool) -> [(String, Vec<usize>); 2] {
    let [inputs, outputs] = size.map(|size| size as usize);
    let shape = if is_dense { vec![inputs, outputs] } else { vec![3, 3, inputs / 9, outputs] };
    [(format!("W{}", number + 1), shape), (format!("b{}", number + 1), vec![outputs])]
}

impl ConvNetwork {
    /// Reads what [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read, is damaged, or is of another network: it names the metadata or the tensor.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = input_file::read(path)?;
        let wrong = |reason: String| Error::file(path, None, reason);
        let file = tensors::parse(path, &bytes)?;
        let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|error| wrong(error.to_string()))?;
        let entries = header.metadata().clone().unwrap_or_default();
        let entry = |key: &str, expected: &str| -> Result<(String, Error)> {
            let found = entries.get(key).cloned().unwrap_or_default();
            let error = wrong(format!("metadata {key} is {found:?}, expected {expected}"));
            Ok((found, error))
        };
        if !entries.contains_key(BLOCKS) {
            let reason =
                format!("has no metadata {BLOCKS}: expected a network of convolutions, as train-conv writes it");
            return Err(wrong(reason));
        }
        let (text, error) = entry(BLOCKS, "channels such as 32,32;64,64")?;
        let block = |block: &str| block.split(',').map(str::parse).collect::<Result<Vec<u32>, _>>();
        let Ok(blocks) = text.split(';').map(block).collect::<Result<Vec<_>, _>>() else { return Err(error) };
        let (text, error) = entry(IMAGE, "rows and columns such as 28x28")?;
        let size: Result<Vec<u32>, _> = text.split('x').map(str::parse).collect();
        let Ok(&[rows, columns]) = size.as_deref() else { return Err(error) };
        let within = |found: Result<()>| found.map_err(|error| wrong(error.to_string()));
        within(check_blocks(&blocks))?;
        // The last bias says how many classes there are.
        let last = blocks.iter().map(Vec::len).sum::<usize>();
        let [_, (name, _)] = tensors_of(last, [0; 2], true);
        let n_classes = tensors::find(path, &file, &name)?.shape().first().copied().unwrap_or(0);
        let n_classes = u32::try_from(n_classes).unwrap_or(u32::MAX);
        within(check_images(&blocks, [rows, columns], n_classes, 1))?;
        let sizes = layer_sizes(&blocks, [rows, columns], n_classes);
        let layer = |(number, &size): (usize, &[u32; 2])| {
            let [weights, bias] = tensors_of(number, size, number == last).map(|(name, shape)| {
                tensors::find_as(path, &file, &name, Dtype::F32, &shape).map(|view| tensors::singles(&view))
            });
            let [n_inputs, n_outputs] = size;
            Ok(Layer { n_inputs, n_outputs, weights: weights?, bias: bias? })
        };
        let layers = sizes.iter().enumerate().map(layer).collect::<Result<Vec<_>>>()?;
        Self::new(blocks, [rows, columns], layers).map_err(|error| wrong(error.to_string()))
    }

    /// Writes a safetensors file: first to a new file, which is then renamed.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be written; an existing file is unchanged.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let mut list = Vec::with_capacity(2 * self.layers().len());
        for (number, layer) in self.layers().iter().enumerate() {
            let [weights, bias] =
                tensors_of(number, [layer.n_inputs, layer.n_outputs], number + 1 == self.layers().len());
            list.push(Tensor::single(weights.0, weights.1, layer.weights.iter().copied()));
            list.push(Tensor::single(bias.0, bias.1, layer.bias.iter().copied()));
        }
        let block = |block: &Vec<u32>| block.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let blocks = self.blocks().iter().map(block).collect::<Vec<_>>().join(";");
        let [rows, columns] = self.image_size();
        let image = format!("{}x{}", rows, columns);
        let metadata = BTreeMap::from([(BLOCKS.to_string(), blocks), (IMAGE.to_string(), image)]);
        atomic_file::write(path, &tensors::to_bytes_described(path, &list, metadata)?)
    }
}
