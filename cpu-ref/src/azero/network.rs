//! A network's parameters: a list of named tensors in a fixed order.

use super::pieces::{Affine, Norm};
use crate::mlp::Real;
use crate::split_mix::{INCREMENT, finalize};

/// Sizes of a network. The default is OpenSpiel's for checkers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows of the board.
    pub rows: usize,
    /// Columns of the board.
    pub columns: usize,
    /// Planes of an observation.
    pub planes: usize,
    /// Channels of every block.
    pub width: usize,
    /// Residual blocks.
    pub depth: usize,
    /// Channels of the value head's convolution.
    pub value_filters: usize,
    /// Units of the value head's hidden layer.
    pub value_hidden: usize,
    /// Channels of the policy head's convolution.
    pub policy_filters: usize,
    /// Actions.
    pub actions: usize,
}

impl Default for Shape {
    fn default() -> Self {
        let (rows, columns, planes, width, depth) = (8, 8, 5, 128, 5);
        let (value_filters, value_hidden, policy_filters, actions) = (1, 128, 2, 512);
        Self { rows, columns, planes, width, depth, value_filters, value_hidden, policy_filters, actions }
    }
}

impl Shape {
    /// Squares of the board.
    pub const fn cells(&self) -> usize {
        self.rows * self.columns
    }
}

/// One tensor of parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor<T> {
    /// libtorch's name of it.
    pub name: String,
    /// Dimensions, outputs first.
    pub dims: Vec<usize>,
    /// Values, row-major.
    pub values: Vec<T>,
}

/// Indices into [`Network::tensors`](super::Network::tensors). A convolution or linear layer has two tensors, weight and bias; a norm has four: weight, bias, running mean,
/// running variance. The constants and functions return the index of the first.
pub mod tensor_index {
    /// The input's convolution.
    pub const INPUT_CONV: usize = 0;
    /// The input's norm.
    pub const INPUT_NORM: usize = 2;

    /// Indices in block `block` of the torso: first and second convolution, first and second norm.
    pub const fn torso(block: usize) -> [usize; 4] {
        let first = 6 + 12 * block;
        [first, first + 2, first + 4, first + 8]
    }

    /// Indices in the value head of a network of `depth` blocks: convolution, norm, first and second linear layer.
    pub const fn value(depth: usize) -> [usize; 4] {
        let first = 6 + 12 * depth;
        [first, first + 2, first + 6, first + 8]
    }

    /// Indices in the policy head of a network of `depth` blocks: convolution, norm, linear layer.
    pub const fn policy(depth: usize) -> [usize; 3] {
        let first = 16 + 12 * depth;
        [first, first + 2, first + 6]
    }
}

/// A residual network's parameters; or anything of their shape, such as their gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct Network<T> {
    shape: Shape,
    /// The tensors in the order of [`tensor_index`]. Their numbers of values must not change.
    pub tensors: Vec<Tensor<T>>,
}

impl<T: Real> Network<T> {
    /// A network whose parameters are all 0.
    pub fn zeros(shape: Shape) -> Self {
        let mut tensors = Vec::new();
        let mut add = |name: String, dims: &[usize]| {
            let values = vec![T::zero(); dims.iter().product()];
            tensors.push(Tensor { name, dims: dims.to_vec(), values });
        };
        let mut layer = |name: &str, dims: &[usize]| {
            add(format!("{name}.weight"), dims);
            add(format!("{name}.bias"), &dims[..1]);
            if dims.len() == 1 {
                add(format!("{name}.running_mean"), dims);
                add(format!("{name}.running_var"), dims);
            }
        };
        let Shape { planes, width, depth, value_filters, value_hidden, policy_filters, actions, .. } = shape;
        layer("layers.0.input_conv", &[width, planes, 3, 3]);
        layer("layers.0.input_batch_norm", &[width]);
        for block in 0..depth {
            let of = |part: &str| format!("layers.{}.res_{block}_{part}", block + 1);
            layer(&of("conv_1"), &[width, width, 3, 3]);
            layer(&of("conv_2"), &[width, width, 3, 3]);
            layer(&of("batch_norm_1"), &[width]);
            layer(&of("batch_norm_2"), &[width]);
        }
        let of = |part: &str| format!("layers.{}.{part}", depth + 1);
        layer(&of("value_conv"), &[value_filters, width, 1, 1]);
        layer(&of("value_batch_norm"), &[value_filters]);
        layer(&of("value_linear_1"), &[value_hidden, value_filters * shape.cells()]);
        layer(&of("value_linear_2"), &[1, value_hidden]);
        layer(&of("policy_conv"), &[policy_filters, width, 1, 1]);
        layer(&of("policy_batch_norm"), &[policy_filters]);
        layer(&of("policy_linear"), &[actions, policy_filters * shape.cells()]);
        Self { shape, tensors }
    }

    /// A network with the values that `values` returns for each tensor's name and dimensions.
    ///
    /// # Panics
    /// If the number of values does not match the dimensions.
    pub fn from_tensors(shape: Shape, mut values: impl FnMut(&str, &[usize]) -> Vec<T>) -> Self {
        let mut network = Self::zeros(shape);
        for tensor in &mut network.tensors {
            let found = values(&tensor.name, &tensor.dims);
            assert_eq!(found.len(), tensor.values.len(), "values of {}", tensor.name);
            tensor.values = found;
        }
        network
    }

    /// The network of a seed. The reference network is that of seed 27 with the default shape.
    ///
    /// Element `i` of tensor `t` is made of `u` in [0, 1), the upper 24 bits of SplitMix64's finaliser at `seed + (t·2^32 + i + 1)·0x9E3779B97F4A7C15`, and of `s = 2u - 1`;
    /// computed in double precision and rounded to single precision for every `T`.
    pub fn seeded(shape: Shape, seed: u64) -> Self {
        let mut network = Self::zeros(shape);
        for (t, tensor) in network.tensors.iter_mut().enumerate() {
            let draw = Draw::of(&tensor.name, tensor.dims[1..].iter().product());
            for (i, value) in tensor.values.iter_mut().enumerate() {
                let number = ((t as u64) << 32) + i as u64 + 1;
                let u = uniform(seed.wrapping_add(number.wrapping_mul(INCREMENT)));
                *value = T::rounded(f64::from(draw.value(u) as f32));
            }
        }
        network
    }

    /// The sizes.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The same values in another precision, rounded to the nearest.
    pub fn converted<U: Real>(&self) -> Network<U> {
        let tensors = self.tensors.iter().map(|tensor| Tensor {
            name: tensor.name.clone(),
            dims: tensor.dims.clone(),
            values: tensor.values.iter().map(|value| U::rounded(value.widened())).collect(),
        });
        Network { shape: self.shape, tensors: tensors.collect() }
    }

    /// The convolution or linear layer at a [`tensor_index`].
    pub fn affine(&self, index: usize) -> Affine<'_, T> {
        Affine { weight: &self.tensors[index].values, bias: &self.tensors[index + 1].values }
    }

    /// The norm at a [`tensor_index`].
    pub fn norm(&self, index: usize) -> Norm<'_, T> {
        let part = |at: usize| &self.tensors[index + at].values[..];
        Norm { weight: part(0), bias: part(1), mean: part(2), variance: part(3) }
    }
}

/// How an element is computed from its random number.
enum Draw {
    /// `s` times the factor.
    Signed(f64),
    /// First number, and the second times `u`.
    Positive(f64, f64),
}

impl Draw {
    fn of(name: &str, fan_in: usize) -> Self {
        let (layer, part) = name.rsplit_once('.').unwrap_or((name, ""));
        match (layer.contains("batch_norm"), part) {
            (true, "weight") if layer.ends_with("_batch_norm_2") => Self::Positive(0.25, 0.5),
            (true, "weight" | "running_var") => Self::Positive(0.5, 1.0),
            (true, _) => Self::Signed(0.25),
            (false, "bias") => Self::Signed(0.125),
            (false, _) if layer.ends_with("value_linear_2") => Self::Signed((1.5 / fan_in as f64).sqrt()),
            (false, _) => Self::Signed((6.0 / fan_in as f64).sqrt()),
        }
    }

    fn value(&self, u: f64) -> f64 {
        match *self {
            Self::Signed(factor) => (2.0 * u - 1.0) * factor,
            Self::Positive(least, factor) => least + u * factor,
        }
    }
}

/// The number in [0, 1) of SplitMix64's state `z`.
fn uniform(z: u64) -> f64 {
    (finalize(z) >> 40) as f64 / f64::from(1 << 24)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_network_begins_as_published() {
        let network = Network::<f64>::seeded(Shape::default(), 27);
        let expected = [0.066_484_093_666_076_66, 0.125_430_867_075_920_1, -0.293_140_381_574_630_74];
        assert_eq!(network.tensors[0].values[..3], expected);
        assert_eq!(network.converted::<f32>().converted::<f64>(), network);
    }

    #[test]
    fn tensor_indices_are_those_of_the_names() {
        let network = Network::<f32>::zeros(Shape { depth: 3, width: 4, value_filters: 2, ..Shape::default() });
        let name = |index: usize| network.tensors[index].name.as_str();
        assert_eq!(name(tensor_index::INPUT_CONV), "layers.0.input_conv.weight");
        assert_eq!(name(tensor_index::INPUT_NORM), "layers.0.input_batch_norm.weight");
        let torso = ["conv_1", "conv_2", "batch_norm_1", "batch_norm_2"];
        for (index, part) in tensor_index::torso(1).into_iter().zip(torso) {
            assert_eq!(name(index), format!("layers.2.res_1_{part}.weight"));
        }
        let value = ["value_conv", "value_batch_norm", "value_linear_1", "value_linear_2"];
        let policy = ["policy_conv", "policy_batch_norm", "policy_linear"];
        for (index, part) in
            tensor_index::value(3).into_iter().zip(value).chain(tensor_index::policy(3).into_iter().zip(policy))
        {
            assert_eq!(name(index), format!("layers.4.{part}.weight"));
        }
        assert_eq!(network.tensors.len(), 6 + 12 * 3 + 18);
        assert_eq!(network.norm(tensor_index::torso(1)[3]).variance.len(), 4);
        assert_eq!(network.affine(tensor_index::value(3)[2]).weight.len(), 128 * 2 * 64);
    }
}
