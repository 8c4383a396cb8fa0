//! Files of weights: read in the forms of several programs, written in two.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::Path;

use safetensors::tensor::TensorView;

use super::inputs::Description;
use super::options::{MAX_CLASSES, MAX_HIDDEN_LAYERS, MAX_WIDTH};
use super::{BatchNorm, Layer, LayerNorm, Network, WeightLayout};
use crate::runtime::tensors::{self, Tensor};
use crate::runtime::{atomic_file, input_file};
use crate::{Error, Result};

impl Network {
    /// Reads a safetensors file. Tensors `W1`, `b1`, `W2`, … are `[in, out]` and `[out]`; else `*.weight` and `*.bias` are `[out, in]` and `[out]`, as PyTorch saves them,
    /// the layers in the order of their names (numbers by value). Layer norms behind all hidden layers are `gain1`, `shift1`, … or, among PyTorch's, `*.weight` and `*.bias` of one dimension, before the activation and with an epsilon of 1e-5, of which a file says nothing; they are batch norms if there are `mean1`, `variance1`, … or `*.running_mean`, `*.running_var`. The metadata `activation` names the activation; without it, it is ReLU, which [`with_activation`](Self::with_activation) changes; `warpplay.loss` names the [`loss`](Self::loss), `warpplay.inputs` is `features` if they are no [pixels](Self::inputs), and `warpplay.scaling` has their scaling as JSON, `{"mean": […], "deviation": […]}`. Other tensors are ignored. Values of type F64, F16 and BF16 are converted to F32.
    ///
    /// # Errors
    /// [`Error::File`] naming the tensor if one is missing, has a shape that does not fit the previous layer, or holds a value that is not finite; also if the file has both
    /// forms or none, its metadata name an activation, loss or inputs that are not known or have a scaling that does not fit, or it is damaged.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::from_bytes(path, &input_file::read(path)?)
    }

    fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Self> {
        let file = tensors::parse(path, bytes)?;
        let found: BTreeMap<String, TensorView<'_>> = file.tensors().into_iter().collect();
        let wrong = |reason: String| Error::file(path, None, reason);
        let numbered = numbered_names(&found).map_err(wrong)?;
        let dotted = dotted_names(&found).map_err(wrong)?;
        let (names, layout) = match (numbered.is_empty(), dotted.is_empty()) {
            (false, true) => (numbered, WeightLayout::InOut),
            (true, false) => (dotted, WeightLayout::PyTorch),
            (true, true) => {
                return Err(wrong("holds no weights: expected tensors W1, b1, … or *.weight, *.bias".into()));
            }
            (false, false) => {
                let reason = format!("holds both {} and {}: expected one of the two forms", numbered[0].0, dotted[0].0);
                return Err(wrong(reason));
            }
        };
        let (names, norms) = match layout {
            WeightLayout::InOut => with_norms(names, &found),
            WeightLayout::PyTorch => apart_from_norms(names, &found),
        }
        .map_err(wrong)?;
        if names.len() > MAX_HIDDEN_LAYERS + 1 {
            return Err(wrong(format!("holds {} layers, at most {} are allowed", names.len(), MAX_HIDDEN_LAYERS + 1)));
        }
        let mut layers: Vec<Layer> = Vec::with_capacity(names.len());
        for (weight, bias) in &names {
            let before = layers.last().map(|layer| (layer.n_outputs, names[layers.len() - 1].0.as_str()));
            layers.push(read_layer(path, weight, bias, &found, layout, before)?);
        }
        match layers.last() {
            Some(last) if last.n_outputs > MAX_CLASSES => {
                let name = &names[names.len() - 1].0;
                Err(wrong(format!("tensor {name} gives {} classes, at most {MAX_CLASSES} are allowed", last.n_outputs)))
            }
            _ => {
                let of = |name: &String, layer: &Layer| -> Result<Vec<f32>> {
                    let view = &found[name];
                    if view.shape() != [layer.n_outputs as usize] {
                        let (shape, expected) = (view.shape(), layer.n_outputs);
                        return Err(wrong(format!("tensor {name} has the shape {shape:?}, expected [{expected}]")));
                    }
                    read_singles(path, name, view)
                };
                let norm = |((gain, shift), layer): (&(String, String), &Layer)| -> Result<LayerNorm> {
                    Ok(LayerNorm { gain: of(gain, layer)?, shift: of(shift, layer)? })
                };
                let moments = names_of_moments(&norms, &found).map_err(wrong)?;
                let mut batch_norms = Vec::new();
                for ((pair, (mean, variance)), layer) in norms.iter().zip(&moments).zip(&layers) {
                    let LayerNorm { gain, shift } = norm((pair, layer))?;
                    let (mean, values) = (of(mean, layer)?, of(variance, layer)?);
                    if let Some(at) = values.iter().position(|&value| value < 0.0) {
                        let reason = format!("tensor {variance}, element {at} is {}, expected at least 0", values[at]);
                        return Err(wrong(reason));
                    }
                    batch_norms.push(BatchNorm { gain, shift, mean, variance: values });
                }
                let norms = norms.iter().zip(&layers).map(norm).collect::<Result<_>>()?;
                let description = Description::of_file(bytes).and_then(|said| said.checked(layers[0].n_inputs));
                let description = description.map_err(wrong)?;
                let network = Self::new(layers)?.with_description(description);
                match batch_norms.is_empty() {
                    true => network.with_layer_norms(norms),
                    false => network.with_batch_norms(batch_norms),
                }
            }
        }
    }

    /// Writes a safetensors file of type F32, with the metadata `activation` where it is not ReLU, and those of the [loss](Self::loss) and the [inputs](Self::inputs) where they are not cross entropy and pixels: first to a new file, which is then renamed.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be written; an existing file is unchanged.
    pub fn save(&self, path: impl AsRef<Path>, layout: WeightLayout) -> Result<()> {
        let path = path.as_ref();
        let mut tensors = Vec::with_capacity(2 * self.layers().len());
        let step = if self.layer_norms().is_empty() && self.batch_norms().is_empty() { 2 } else { 3 };
        for (number, layer) in self.layers().iter().enumerate() {
            let (n_in, n_out) = (layer.n_inputs as usize, layer.n_outputs as usize);
            let (weight, bias) = match layout {
                WeightLayout::InOut => (format!("W{}", number + 1), format!("b{}", number + 1)),
                // An activation is behind each, and before it a layer norm, if there are any.
                WeightLayout::PyTorch => (format!("{}.weight", step * number), format!("{}.bias", step * number)),
            };
            tensors.push(match layout {
                WeightLayout::InOut => Tensor::single(weight, vec![n_in, n_out], layer.weights.iter().copied()),
                WeightLayout::PyTorch => {
                    let turned = (0..n_out).flat_map(|col| (0..n_in).map(move |row| layer.weights[row * n_out + col]));
                    Tensor::single(weight, vec![n_out, n_in], turned)
                }
            });
            tensors.push(Tensor::single(bias, vec![n_out], layer.bias.iter().copied()));
            let of_norm = match (self.layer_norms().get(number), self.batch_norms().get(number)) {
                (Some(norm), _) => vec![&norm.gain, &norm.shift],
                (None, Some(norm)) => vec![&norm.gain, &norm.shift, &norm.mean, &norm.variance],
                (None, None) => Vec::new(),
            };
            let names = match layout {
                WeightLayout::InOut => {
                    ["gain", "shift", "mean", "variance"].map(|name| format!("{name}{}", number + 1))
                }
                WeightLayout::PyTorch => ["weight", "bias", "running_mean", "running_var"]
                    .map(|name| format!("{}.{name}", step * number + 1)),
            };
            for (name, values) in names.into_iter().zip(of_norm) {
                tensors.push(Tensor::single(name, vec![n_out], values.iter().copied()));
            }
        }
        let mut metadata: BTreeMap<String, String> = self.description().entries().collect();
        let bytes = match metadata.is_empty() {
            true => tensors::to_bytes(path, &tensors, "format", "pt")?,
            false => {
                metadata.insert("format".to_string(), "pt".to_string());
                tensors::to_bytes_described(path, &tensors, metadata)?
            }
        };
        atomic_file::write(path, &bytes)
    }
}

/// The names `W1`, `b1`, `W2`, … of a file, or why they are wrong.
fn numbered_names(found: &BTreeMap<String, TensorView<'_>>) -> Result<Vec<(String, String)>, String> {
    let number = |name: &str, letter: char| -> Option<u32> {
        let digits = name.strip_prefix(letter)?;
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
        if plain { digits.parse().ok() } else { None }
    };
    let of = |letter| found.keys().filter_map(|name| number(name, letter)).collect::<Vec<_>>();
    let (weights, biases) = (of('W'), of('b'));
    let n = weights.len() as u32;
    if let Some(&number) = weights.iter().find(|&&number| number == 0 || number > n) {
        let missing = (1..=n).find(|wanted| !weights.contains(wanted)).unwrap_or(1);
        return Err(format!("tensor W{missing} is missing, but W{number} is there: expected W1, W2, … without a gap"));
    }
    if let Some(number) = (1..=n).find(|number| !biases.contains(number)) {
        return Err(format!("tensor b{number} is missing, the bias of W{number}"));
    }
    if let Some(number) = biases.iter().find(|&&number| number == 0 || number > n) {
        return Err(format!("tensor W{number} is missing, the weights of b{number}"));
    }
    Ok((1..=n).map(|number| (format!("W{number}"), format!("b{number}"))).collect())
}

/// Names of pairs of tensors: weights and bias, or gain and shift.
type Pairs = Vec<(String, String)>;

/// Names of the layers, and of the norms `gain1`, `shift1`, … behind all but the last, or none; or why they are wrong.
fn with_norms(layers: Pairs, found: &BTreeMap<String, TensorView<'_>>) -> Result<(Pairs, Pairs), String> {
    let names = |number: usize| (format!("gain{number}"), format!("shift{number}"));
    let norms: Pairs = (1..layers.len()).map(names).collect();
    let (there, missing): (Vec<_>, Vec<_>) =
        norms.iter().flat_map(|(gain, shift)| [gain, shift]).partition(|name| found.contains_key(*name));
    if let ([there, ..], [missing, ..]) = (&there[..], &missing[..]) {
        return Err(format!("tensor {missing} is missing, but {there} is there"));
    }
    let is_there = !there.is_empty();
    Ok((layers, if is_there { norms } else { Vec::new() }))
}

/// Names of the running means and variances of the norms, of batch norms; none of layer norms; or why they are wrong.
fn names_of_moments(norms: &Pairs, found: &BTreeMap<String, TensorView<'_>>) -> Result<Pairs, String> {
    let names = |(gain, _): &(String, String)| match gain.strip_suffix(".weight") {
        Some(stem) => (format!("{stem}.running_mean"), format!("{stem}.running_var")),
        None => (gain.replace("gain", "mean"), gain.replace("gain", "variance")),
    };
    let moments: Pairs = norms.iter().map(names).collect();
    let all = || moments.iter().flat_map(|(mean, variance)| [mean, variance]);
    if let Some(name) = found.keys().find(|name| name.ends_with(".running_mean") && all().all(|known| known != *name)) {
        return Err(format!(
            "tensor {name} is of a batch norm, expected one with weight and bias behind each layer but the last, or none"
        ));
    }
    let (there, missing): (Vec<_>, Vec<_>) = all().partition(|name| found.contains_key(*name));
    if let ([there, ..], [missing, ..]) = (&there[..], &missing[..]) {
        return Err(format!("tensor {missing} is missing, but {there} is there"));
    }
    let is_there = !there.is_empty();
    Ok(if is_there { moments } else { Vec::new() })
}

/// The layers and the norms among PyTorch's names, which are of matrices and of vectors by turns if there are norms; or why they are wrong.
fn apart_from_norms(names: Pairs, found: &BTreeMap<String, TensorView<'_>>) -> Result<(Pairs, Pairs), String> {
    let is_norm = |(weight, _): &(String, String)| found.get(weight).is_some_and(|view| view.shape().len() == 1);
    let turns = names.iter().zip(0..).find(|&(pair, at)| is_norm(pair) != (at % 2 == 1));
    match (names.iter().any(is_norm), turns) {
        (false, _) => Ok((names, Vec::new())),
        (true, None) if names.len() % 2 == 1 => {
            let (norms, layers): (Vec<_>, Vec<_>) = names.into_iter().partition(is_norm);
            Ok((layers, norms))
        }
        (true, turns) => {
            let name = turns.map_or(&names[names.len() - 1].0, |((weight, _), _)| weight);
            Err(format!(
                "tensor {name} is not in its turn: expected a layer norm behind each layer but the last, or none"
            ))
        }
    }
}

/// The names `*.weight` and `*.bias` of a file in the order of the layers, or why they are wrong.
fn dotted_names(found: &BTreeMap<String, TensorView<'_>>) -> Result<Vec<(String, String)>, String> {
    let layers_of = |ending: &str| -> Vec<String> {
        let layer = |name: &String| Some(name.strip_suffix(ending)?.strip_suffix('.')?.to_string());
        found.keys().filter_map(layer).collect()
    };
    let (mut weights, biases) = (layers_of("weight"), layers_of("bias"));
    if let Some(layer) = weights.iter().find(|layer| !biases.contains(layer)) {
        return Err(format!("tensor {layer}.bias is missing, the bias of {layer}.weight"));
    }
    if let Some(layer) = biases.iter().find(|layer| !weights.contains(layer)) {
        return Err(format!("tensor {layer}.weight is missing, the weights of {layer}.bias"));
    }
    weights.sort_by(|left, right| natural_order(left, right));
    Ok(weights.into_iter().map(|layer| (format!("{layer}.weight"), format!("{layer}.bias"))).collect())
}

/// Compares names such that runs of digits count by value.
fn natural_order(left: &str, right: &str) -> Ordering {
    /// The first run of digits, or of anything else, and what follows.
    fn first(text: &str) -> (bool, &str, &str) {
        let digits = text.starts_with(|first: char| first.is_ascii_digit());
        let end = text.find(|next: char| next.is_ascii_digit() != digits).unwrap_or(text.len());
        (digits, &text[..end], &text[end..])
    }
    let (mut a, mut b) = (left, right);
    while !a.is_empty() && !b.is_empty() {
        let ((a_digits, a_run, a_rest), (b_digits, b_run, b_rest)) = (first(a), first(b));
        let order = if a_digits && b_digits {
            let (a_run, b_run) = (a_run.trim_start_matches('0'), b_run.trim_start_matches('0'));
            a_run.len().cmp(&b_run.len()).then_with(|| a_run.cmp(b_run))
        } else {
            a_run.cmp(b_run)
        };
        if order.is_ne() {
            return order;
        }
        (a, b) = (a_rest, b_rest);
    }
    a.len().cmp(&b.len()).then_with(|| left.cmp(right))
}

/// Reads one layer; `before` is the width of the previous layer, and the name of its weights.
fn read_layer(
    path: &Path,
    weight: &str,
    bias: &str,
    found: &BTreeMap<String, TensorView<'_>>,
    layout: WeightLayout,
    before: Option<(u32, &str)>,
) -> Result<Layer> {
    let wrong = |reason: String| Error::file(path, None, reason);
    let get = |name: &str| found.get(name).ok_or_else(|| wrong(format!("tensor {name} is missing")));
    let (weight_view, bias_view) = (get(weight)?, get(bias)?);
    let form = match layout {
        WeightLayout::InOut => "[in, out]",
        WeightLayout::PyTorch => "[out, in]",
    };
    let shape = weight_view.shape();
    let &[first, second] = shape else {
        let of = if shape.len() == 4 { " of a perceptron, not of convolutions" } else { "" };
        return Err(wrong(format!("tensor {weight} has the shape {shape:?}, expected {form}{of}")));
    };
    let width = |size: usize| u32::try_from(size).ok().filter(|size| (1..=MAX_WIDTH).contains(size));
    let (Some(first), Some(second)) = (width(first), width(second)) else {
        return Err(wrong(format!("tensor {weight} has the shape {shape:?}, expected {form}, each 1 to {MAX_WIDTH}")));
    };
    let (n_inputs, n_outputs) = match layout {
        WeightLayout::InOut => (first, second),
        WeightLayout::PyTorch => (second, first),
    };
    if let Some((width, name)) = before.filter(|&(width, _)| width != n_inputs) {
        let reason = format!(
            "tensor {weight} has the shape {shape:?}, {form}: {n_inputs} inputs, expected {width}, the outputs of {name}"
        );
        return Err(wrong(reason));
    }
    if bias_view.shape() != [n_outputs as usize] {
        return Err(wrong(format!("tensor {bias} has the shape {:?}, expected [{n_outputs}]", bias_view.shape())));
    }
    let weights = read_singles(path, weight, weight_view)?;
    let (rows, cols) = (n_inputs as usize, n_outputs as usize);
    let weights = match layout {
        WeightLayout::InOut => weights,
        WeightLayout::PyTorch => {
            (0..rows).flat_map(|row| weights.iter().skip(row).step_by(rows).take(cols).copied()).collect()
        }
    };
    Ok(Layer { n_inputs, n_outputs, weights, bias: read_singles(path, bias, bias_view)? })
}

/// The values of a tensor in single precision, all finite.
fn read_singles(path: &Path, name: &str, view: &TensorView<'_>) -> Result<Vec<f32>> {
    let values = tensors::values(path, name, view)?;
    if let Some(at) = values.iter().position(|&value| !(value as f32).is_finite()) {
        let reason = format!("tensor {name}, element {at} is {}, expected a finite F32", values[at]);
        return Err(Error::file(path, None, reason));
    }
    Ok(values.into_iter().map(|value| value as f32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ordered_by_number() {
        let mut names = ["layers.10", "layers.2", "fc1", "layers.02", "10", "9", ""];
        names.sort_by(|left, right| natural_order(left, right));
        assert_eq!(names, ["", "9", "10", "fc1", "layers.02", "layers.2", "layers.10"]);
    }
}
