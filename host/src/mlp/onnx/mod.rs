//! Networks as ONNX files, for other programs that run them.
//!
//! ```text
//! images  uint8 [n, n_inputs] or [n, rows, cols]; or features, float32 [n, n_inputs], which are the first x; those of a network with a
//!         scaling are float64, and standardised so: Sub mean [n_inputs], Div deviation [n_inputs], Cast
//!   Cast  to float32
//!   Div   by 255
//!   Flatten
//!   Gemm  with W1 [in, out] and b1 [out]
//!   LayerNormalization  with gain1 [out] and shift1 [out], where the network has layer norms
//!   BatchNormalization  with mean1 [out] and variance1 [out] too, where it has batch norms
//!   Relu                                     these two for each layer, Relu not after the last; Tanh or Sigmoid in its place, or
//!                                            z (1 + Erf(z / √2)) / 2, which these operators have no name for
//! logits  float32 [n, n_classes]
//!   Softmax over the classes                 if it is asked for
//! probabilities  float32 [n, n_classes]
//! ```

mod messages;

use std::path::Path;

use prost::Message;

use self::messages::{
    Attribute, DOUBLE, Dimension, FLOAT, Graph, INT, Model, Node, OperatorSet, Shape, Tensor, TensorType, Type, UINT8,
    Value,
};
use super::{Activation, Inputs, Network, Scaling};
use crate::runtime::atomic_file;
use crate::{Error, Result};

/// Version of the format: that of ONNX 1.10, of July 2021.
const IR_VERSION: i64 = 8;
/// Version of the operators: that of ONNX 1.8, which all later ones know.
const OPSET: i64 = 13;
/// Most bytes of a message that all implementations of protobuf read.
const MAX_BYTES: usize = i32::MAX as usize;

/// The same with layer norms: that of ONNX 1.12.
const OPSET_OF_NORMS: i64 = 17;

/// What an ONNX file of a [`Network`] takes and gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OnnxFormat {
    /// Rows and columns of an image, for an input `[n, rows, cols]`; `None` for `[n, n_inputs]`.
    pub image_size: Option<(u32, u32)>,
    /// Whether a second output `probabilities` has the softmax of the logits.
    pub softmax: bool,
    /// Whether the input is `features`, float32 `[n, n_inputs]`, and no images, also where the network's [`inputs`](Network::inputs) do not say it. For a network with a [`scaling`](Network::scaling) they are float64, and are standardised with it.
    pub features: bool,
}

impl Network {
    /// Writes an ONNX file (IR version 8, operators of version 13, or 17 with layer norms): first to a new file, which is then renamed.
    ///
    /// The graph takes `images` of bytes, as a [`Dataset`](super::Dataset) holds them, and divides them by 255 itself. It gives `logits`, and `probabilities` if the format says
    /// so. The number of images is free in each run. Weights are those of the network, in f32.
    ///
    /// ```
    /// use warpplay::mlp::{Layer, Network, OnnxFormat};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("net.onnx");
    /// let layer = Layer { n_inputs: 6, n_outputs: 2, weights: vec![0.5; 12], bias: vec![0.0, 1.0] };
    /// let format = OnnxFormat { image_size: Some((2, 3)), softmax: true, ..OnnxFormat::default() };
    /// Network::new(vec![layer])?.save_onnx(&path, &format)?;
    /// assert!(path.is_file());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Option`] if an image of that size has another number of pixels than the network has inputs, or there are features in its place; [`Error::File`] if the file would have 2 GiB or more, which
    /// protobuf does not allow, or cannot be written; an existing file is then unchanged.
    pub fn save_onnx(&self, path: impl AsRef<Path>, format: &OnnxFormat) -> Result<()> {
        let path = path.as_ref();
        // Known before the weights are copied.
        let n_values: usize = self.layers().iter().map(|layer| layer.weights.len() + layer.bias.len()).sum();
        let fits = |bytes: usize| match bytes <= MAX_BYTES {
            true => Ok(()),
            false => {
                Err(Error::file(path, None, format!("would have {bytes} bytes, an ONNX file at most {MAX_BYTES}")))
            }
        };
        fits(n_values.saturating_mul(4))?;
        let model = self.to_onnx(format)?;
        fits(model.encoded_len())?;
        atomic_file::write(path, &model.encode_to_vec())
    }

    fn to_onnx(&self, format: &OnnxFormat) -> Result<Model> {
        let sizes = self.sizes();
        let (n_inputs, n_classes) = (sizes[0], sizes[sizes.len() - 1]);
        let features = format.features || *self.inputs() != Inputs::Pixels;
        let image = match format.image_size {
            Some((rows, cols)) if u64::from(rows) * u64::from(cols) != u64::from(n_inputs) => {
                let allowed = format!("rows and columns of {n_inputs} pixels, the network's inputs");
                return Err(Error::option("image_size", format!("{rows}x{cols}"), allowed));
            }
            Some((rows, cols)) if features => {
                return Err(Error::option("image_size", format!("{rows}x{cols}"), "none with features"));
            }
            Some((rows, cols)) => vec![rows, cols],
            None => vec![n_inputs],
        };
        let mut graph = Graph { name: "perceptron".into(), ..Graph::default() };
        graph.doc_string = "images: bytes, 0 background to 255 ink; logits: a number for each class".into();
        let first = if features && self.scaling().is_none() { "features" } else { "x1" };
        if features {
            let are = if self.scaling().is_some() { "not standardised" } else { "as in the training" };
            graph.doc_string = format!("features: numbers, {are}; logits: a number for each class or target");
            let precision = if self.scaling().is_some() { DOUBLE } else { FLOAT };
            graph.inputs.push(value("features", precision, &image));
            if let Some(Scaling { mean, deviation }) = self.scaling() {
                graph.initializers.push(doubles("mean", mean));
                graph.initializers.push(doubles("deviation", deviation));
                graph.nodes.push(node("Sub", &["features", "mean"], "distances", &[]));
                graph.nodes.push(node("Div", &["distances", "deviation"], "standardised", &[]));
                graph.nodes.push(node("Cast", &["standardised"], "x1", &[("to", FLOAT.into())]));
            }
        } else {
            graph.inputs.push(value("images", UINT8, &image));
            graph.initializers.push(tensor("scale", &[], &[255.0]));
            graph.nodes.push(node("Cast", &["images"], "numbers", &[("to", FLOAT.into())]));
            graph.nodes.push(node("Div", &["numbers", "scale"], "scaled", &[]));
            graph.nodes.push(node("Flatten", &["scaled"], "x1", &[("axis", 1)]));
        }
        let n_layers = self.layers().len();
        for (number, layer) in (1..).zip(self.layers()) {
            let [x, weights, bias, z] = ["x", "W", "b", "z"].map(|letter| format!("{letter}{number}"));
            let sizes = [layer.n_inputs, layer.n_outputs];
            let x = if number == 1 { first } else { &x };
            graph.initializers.push(tensor(&weights, &sizes, &layer.weights));
            graph.initializers.push(tensor(&bias, &sizes[1..], &layer.bias));
            let z = if number == n_layers { "logits" } else { &z };
            graph.nodes.push(node("Gemm", &[x, &weights, &bias], z, &[]));
            if number < n_layers {
                let normalised = format!("y{number}");
                let z = match self.layer_norms().get(number - 1) {
                    Some(norm) => {
                        let [gain, shift] = ["gain", "shift"].map(|name| format!("{name}{number}"));
                        graph.initializers.push(tensor(&gain, &sizes[1..], &norm.gain));
                        graph.initializers.push(tensor(&shift, &sizes[1..], &norm.shift));
                        // The operator's epsilon is 1e-5 where none is given.
                        graph.nodes.push(node("LayerNormalization", &[z, &gain, &shift], &normalised, &[("axis", -1)]));
                        &normalised
                    }
                    None => match self.batch_norms().get(number - 1) {
                        Some(norm) => {
                            let names = ["gain", "shift", "mean", "variance"].map(|name| format!("{name}{number}"));
                            let values = [&norm.gain, &norm.shift, &norm.mean, &norm.variance];
                            for (name, values) in names.iter().zip(values) {
                                graph.initializers.push(tensor(name, &sizes[1..], values));
                            }
                            let [gain, shift, mean, variance] = &names;
                            // The operator's epsilon is 1e-5 where none is given.
                            let inputs = [z, gain, shift, mean, variance];
                            graph.nodes.push(node("BatchNormalization", &inputs, &normalised, &[]));
                            &normalised
                        }
                        None => z,
                    },
                };
                activate(&mut graph, self.activation(), number, z);
            }
        }
        if n_layers > 1 && self.activation() == Activation::Gelu {
            for (name, value) in [("half", 0.5), ("one", 1.0), ("root", std::f32::consts::FRAC_1_SQRT_2)] {
                graph.initializers.push(tensor(name, &[], &[value]));
            }
        }
        graph.outputs.push(value("logits", FLOAT, &[n_classes]));
        if format.softmax {
            graph.nodes.push(node("Softmax", &["logits"], "probabilities", &[("axis", 1)]));
            graph.outputs.push(value("probabilities", FLOAT, &[n_classes]));
        }
        let version = if self.layer_norms().is_empty() { OPSET } else { OPSET_OF_NORMS };
        Ok(Model {
            ir_version: IR_VERSION,
            producer_name: "warpplay".into(),
            producer_version: env!("CARGO_PKG_VERSION").into(),
            graph: Some(graph),
            opset_import: vec![OperatorSet { domain: String::new(), version }],
        })
    }
}

/// The activation of the sums `z` of layer `number`, to the inputs of the next.
fn activate(graph: &mut Graph, activation: Activation, number: usize, z: &str) {
    let next = format!("x{}", number + 1);
    match activation {
        Activation::Relu => graph.nodes.push(node("Relu", &[z], &next, &[])),
        Activation::Tanh => graph.nodes.push(node("Tanh", &[z], &next, &[])),
        Activation::Sigmoid => graph.nodes.push(node("Sigmoid", &[z], &next, &[])),
        Activation::Gelu => {
            let [scaled, error, share, twice] =
                ["scaled", "error", "share", "twice"].map(|name| format!("{name}{number}"));
            graph.nodes.push(node("Mul", &[z, "root"], &scaled, &[]));
            graph.nodes.push(node("Erf", &[&scaled], &error, &[]));
            graph.nodes.push(node("Add", &[&error, "one"], &share, &[]));
            graph.nodes.push(node("Mul", &[z, &share], &twice, &[]));
            graph.nodes.push(node("Mul", &[&twice, "half"], &next, &[]));
        }
    }
}

/// A node that makes one value, whose name it has too.
fn node(op_type: &str, inputs: &[&str], output: &str, attributes: &[(&str, i64)]) -> Node {
    let attribute = |&(name, i): &(&str, i64)| Attribute { name: name.into(), i: Some(i), kind: INT };
    Node {
        inputs: inputs.iter().map(|&input| input.into()).collect(),
        outputs: vec![output.into()],
        name: format!("{op_type}_{output}"),
        op_type: op_type.into(),
        attributes: attributes.iter().map(attribute).collect(),
    }
}

/// A tensor of the file, row-major.
fn tensor(name: &str, sizes: &[u32], values: &[f32]) -> Tensor {
    Tensor {
        dims: sizes.iter().map(|&size| size.into()).collect(),
        data_type: FLOAT,
        name: name.into(),
        raw_data: values.iter().flat_map(|value| value.to_le_bytes()).collect(),
    }
}

/// A vector of the file in double precision.
fn doubles(name: &str, values: &[f64]) -> Tensor {
    Tensor {
        dims: vec![values.len() as i64],
        data_type: DOUBLE,
        name: name.into(),
        raw_data: values.iter().flat_map(|value| value.to_le_bytes()).collect(),
    }
}

/// An input or output `[n, sizes]`.
fn value(name: &str, elem_type: i32, sizes: &[u32]) -> Value {
    let free = Dimension { dim_param: Some("n".into()), dim_value: None };
    let sizes = sizes.iter().map(|&size| Dimension { dim_value: Some(size.into()), dim_param: None });
    let shape = Some(Shape { dims: std::iter::once(free).chain(sizes).collect() });
    Value { name: name.into(), value_type: Some(Type { tensor: Some(TensorType { elem_type, shape }) }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mlp::Init;

    /// What runs a file says more (`python/tests/test_onnx.py`); here, that the file holds the graph and the weights.
    #[test]
    fn the_file_holds_the_network() {
        let network = Network::initial(&[6, 5, 4, 3], Init::HeUniform, 1).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("net.onnx");
        let read = |format: &OnnxFormat| {
            network.save_onnx(&path, format).unwrap();
            Model::decode(&std::fs::read(&path).unwrap()[..]).unwrap().graph.unwrap()
        };
        let graph = read(&OnnxFormat::default());
        let kinds: Vec<&str> = graph.nodes.iter().map(|node| node.op_type.as_str()).collect();
        assert_eq!(kinds, ["Cast", "Div", "Flatten", "Gemm", "Relu", "Gemm", "Relu", "Gemm"]);
        assert_eq!(graph.inputs, [value("images", UINT8, &[6])]);
        assert_eq!(graph.outputs, [value("logits", FLOAT, &[3])]);
        // Each input of a node is made before.
        let mut known: Vec<&str> = graph.initializers.iter().map(|tensor| tensor.name.as_str()).collect();
        known.push("images");
        for node in &graph.nodes {
            assert!(node.inputs.iter().all(|input| known.contains(&input.as_str())), "{node:?}");
            known.extend(node.outputs.iter().map(String::as_str));
        }
        assert!(known.contains(&"logits"));
        for (number, layer) in (1..).zip(network.layers()) {
            let named = |name: String| graph.initializers.iter().find(|tensor| tensor.name == name).unwrap();
            let (weights, bias) = (named(format!("W{number}")), named(format!("b{number}")));
            assert_eq!(weights.dims, [i64::from(layer.n_inputs), i64::from(layer.n_outputs)]);
            assert_eq!(bias.dims, [i64::from(layer.n_outputs)]);
            for (tensor, values) in [(weights, &layer.weights), (bias, &layer.bias)] {
                let found: Vec<f32> =
                    tensor.raw_data.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
                assert_eq!(found, *values);
            }
        }
        for (activation, between) in [
            (Activation::Tanh, &["Tanh"][..]),
            (Activation::Sigmoid, &["Sigmoid"]),
            (Activation::Gelu, &["Mul", "Erf", "Add", "Mul", "Mul"]),
        ] {
            network.clone().with_activation(activation).save_onnx(&path, &OnnxFormat::default()).unwrap();
            let graph = Model::decode(&std::fs::read(&path).unwrap()[..]).unwrap().graph.unwrap();
            let kinds: Vec<&str> = graph.nodes[4..4 + between.len()].iter().map(|node| node.op_type.as_str()).collect();
            assert_eq!(kinds, between);
            let mut known: Vec<&str> = graph.initializers.iter().map(|tensor| tensor.name.as_str()).collect();
            known.push("images");
            for node in &graph.nodes {
                assert!(node.inputs.iter().all(|input| known.contains(&input.as_str())), "{node:?}");
                known.extend(node.outputs.iter().map(String::as_str));
            }
        }
        network.clone().with_layer_norm().save_onnx(&path, &OnnxFormat::default()).unwrap();
        let model = Model::decode(&std::fs::read(&path).unwrap()[..]).unwrap();
        assert_eq!(model.opset_import[0].version, 17);
        let graph = model.graph.unwrap();
        let kinds: Vec<&str> = graph.nodes[3..7].iter().map(|node| node.op_type.as_str()).collect();
        assert_eq!(kinds, ["Gemm", "LayerNormalization", "Relu", "Gemm"]);
        assert_eq!(graph.nodes[4].inputs, ["z1", "gain1", "shift1"]);
        assert_eq!(
            (&graph.nodes[4].outputs, &graph.nodes[5].inputs),
            (&vec!["y1".to_string()], &vec!["y1".to_string()])
        );
        let graph = read(&OnnxFormat { image_size: Some((2, 3)), softmax: true, features: false });
        assert_eq!(graph.inputs, [value("images", UINT8, &[2, 3])]);
        assert_eq!(graph.outputs[1], value("probabilities", FLOAT, &[3]));
        let error =
            network.save_onnx(&path, &OnnxFormat { image_size: Some((2, 4)), ..OnnxFormat::default() }).unwrap_err();
        let text = "option image_size: 2x4 is not allowed (rows and columns of 6 pixels, the network's inputs)";
        assert_eq!(error.to_string(), text);
        let scaling = Scaling { mean: vec![1.0; 6], deviation: vec![0.1; 6] };
        let network = network.with_inputs(Inputs::Features(Some(scaling))).unwrap();
        network.save_onnx(&path, &OnnxFormat::default()).unwrap();
        let graph = Model::decode(&std::fs::read(&path).unwrap()[..]).unwrap().graph.unwrap();
        assert_eq!(graph.inputs, [value("features", DOUBLE, &[6])]);
        let kinds: Vec<&str> = graph.nodes[..4].iter().map(|node| node.op_type.as_str()).collect();
        assert_eq!(kinds, ["Sub", "Div", "Cast", "Gemm"]);
        let error = network
            .save_onnx(folder.path().join("absent/net.onnx"), &OnnxFormat { features: true, ..OnnxFormat::default() })
            .unwrap_err();
        assert!(error.to_string().contains("net.onnx: cannot be written"), "{error}");
    }
}
