//! The network's parameters.

use serde::{Deserialize, Serialize};
use warpplay_gpu::split_mix::{GAMMA, mix};

use super::NetworkShape;
use crate::Result;
use crate::runtime::fnv::Fnv;
use crate::runtime::named::named;

/// The term that batch norm adds to a variance before taking the square root.
pub const NORM_EPSILON: f64 = 1e-3;

named! {
    /// The layout of an observation of checkers; `warpplay_gpu::azero::observation` defines the planes.
    ObservationLayout, "observation":
    /// White men, white kings, black men, black kings, empty squares: the same for both players.
    Default = "default",
    /// The observer's men and kings, the other's men and kings, empty squares.
    Egocentric = "egocentric",
    /// The observer's men and kings, the other's kings and men, empty squares: as in OpenSpiel before 1.6.10.
    Legacy = "legacy",
}

named! {
    /// The player whose expected result the value head gives.
    ValueOf, "value of":
    /// The first player, regardless of who is to move, as in OpenSpiel.
    First = "first",
    /// The player to move.
    Mover = "mover",
}

/// A convolution: weights `[n_outputs, n_inputs, side, side]`, a bias for each output.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conv {
    /// `[n_outputs, n_inputs, side, side]`.
    pub weight: Vec<f32>,
    /// `[n_outputs]`.
    pub bias: Vec<f32>,
}

/// A batch norm with running statistics, all `[channels]`: `(x - mean) / sqrt(variance + NORM_EPSILON) * weight + bias`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Norm {
    /// Factor.
    pub weight: Vec<f32>,
    /// Term.
    pub bias: Vec<f32>,
    /// Running mean.
    pub mean: Vec<f32>,
    /// Running variance.
    pub variance: Vec<f32>,
}

/// A linear layer: weights `[n_outputs, n_inputs]`, a bias for each output.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Linear {
    /// `[n_outputs, n_inputs]`.
    pub weight: Vec<f32>,
    /// `[n_outputs]`.
    pub bias: Vec<f32>,
}

/// A residual block: `relu(x + norm_2(conv_2(relu(norm_1(conv_1(x))))))`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TorsoBlock {
    /// First convolution, 3×3.
    pub conv_1: Conv,
    /// Second convolution, 3×3.
    pub conv_2: Conv,
    /// Norm after the first convolution.
    pub norm_1: Norm,
    /// Norm after the second convolution.
    pub norm_2: Norm,
}

/// A residual network: all parameters, and what its observations and values mean.
///
/// ```text
/// x      = relu(input_norm(input_conv(observation)))             3×3, planes → width
/// x      = each block of the torso                               3×3, width → width, twice
/// value  = tanh(value_linear_2(relu(value_linear_1(relu(value_norm(value_conv(x)))))))
/// logits = policy_linear(relu(policy_norm(policy_conv(x))))      policy = softmax of the legal ones
///
/// observation   [n, planes, rows, columns]                       x              [n, width, rows, columns]
/// input_conv    [width, planes, 3, 3]                            torso          [width, width, 3, 3], two a block
/// value_conv    [value_filters, width, 1, 1]                     policy_conv    [policy_filters, width, 1, 1]
/// value_linear  [value_hidden, value_filters · rows · columns], then [1, value_hidden]
/// policy_linear [actions, policy_filters · rows · columns]
/// ```
///
/// # Paper
/// OpenSpiel's `ResInputBlock`, `ResTorsoBlock`, `ResOutputBlock`.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    pub(in crate::azero) shape: NetworkShape,
    pub(in crate::azero) observation: ObservationLayout,
    pub(in crate::azero) value_of: ValueOf,
    pub(in crate::azero) input_conv: Conv,
    pub(in crate::azero) input_norm: Norm,
    pub(in crate::azero) torso: Vec<TorsoBlock>,
    pub(in crate::azero) value_conv: Conv,
    pub(in crate::azero) value_norm: Norm,
    pub(in crate::azero) value_linear_1: Linear,
    pub(in crate::azero) value_linear_2: Linear,
    pub(in crate::azero) policy_conv: Conv,
    pub(in crate::azero) policy_norm: Norm,
    pub(in crate::azero) policy_linear: Linear,
}

impl Network {
    /// A network whose parameters are all 0.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) for a size that is not allowed.
    pub fn zeros(shape: NetworkShape) -> Result<Self> {
        Self::from_tensors(shape, |_, dims| Ok(vec![0.0; dims.iter().product()]))
    }

    /// Builds a network from `values`, which is called with each tensor's name and dimensions and returns that many values.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) for a size that is not allowed; the first error of `values`.
    pub(in crate::azero) fn from_tensors(
        shape: NetworkShape,
        mut values: impl FnMut(&str, &[usize]) -> Result<Vec<f32>>,
    ) -> Result<Self> {
        shape.check()?;
        let mut network = Self {
            shape,
            observation: ObservationLayout::Default,
            value_of: ValueOf::First,
            input_conv: Conv::default(),
            input_norm: Norm::default(),
            torso: vec![TorsoBlock::default(); shape.depth as usize],
            value_conv: Conv::default(),
            value_norm: Norm::default(),
            value_linear_1: Linear::default(),
            value_linear_2: Linear::default(),
            policy_conv: Conv::default(),
            policy_norm: Norm::default(),
            policy_linear: Linear::default(),
        };
        for (name, dims, field) in tensors(shape) {
            *field.of_mut(&mut network) = values(&name, &dims)?;
        }
        Ok(network)
    }

    /// The network of a seed; seed 27 with the default shape gives the reference network.
    ///
    /// Element `i` of tensor `t` comes from the SplitMix64 finaliser of `seed + (t·2³² + i + 1)·0x9E3779B97F4A7C15`: its upper 24 bits are `u` in [0, 1), and
    /// `s = 2u - 1`. Weights are `s·√(6 / fan_in)` (the value's last layer `s·√(1.5 / fan_in)`), their biases `s / 8`; a norm has weight `0.5 + u` (a
    /// block's second one `0.25 + u / 2`), bias and mean `s / 4`, variance `0.5 + u`; computed in double precision and rounded once. Tensors are counted
    /// in the order of [`Network::visit`].
    ///
    /// # Errors
    /// As [`Network::zeros`].
    pub fn seeded(shape: NetworkShape, seed: u64) -> Result<Self> {
        let mut network = Self::zeros(shape)?;
        let mut tensor = 0u64;
        network.visit_mut(|name, dims, values| {
            let fan_in = dims[1..].iter().product::<usize>().max(1) as f64;
            let draw: Box<dyn Fn(f64, f64) -> f64> = match name {
                _ if name.contains("batch_norm") => match name {
                    _ if name.ends_with("running_var") => Box::new(|u, _| 0.5 + u),
                    _ if name.ends_with("batch_norm_2.weight") => Box::new(|u, _| 0.25 + u / 2.0),
                    _ if name.ends_with(".weight") => Box::new(|u, _| 0.5 + u),
                    _ => Box::new(|_, s| s / 4.0),
                },
                _ if name.ends_with(".bias") => Box::new(|_, s| s / 8.0),
                _ if name.contains("value_linear_2") => Box::new(move |_, s| s * (1.5 / fan_in).sqrt()),
                _ => Box::new(move |_, s| s * (6.0 / fan_in).sqrt()),
            };
            for (number, value) in values.iter_mut().enumerate() {
                let step = (tensor << 32).wrapping_add(number as u64 + 1);
                let bits = mix(seed.wrapping_add(step.wrapping_mul(GAMMA)));
                let u = (bits >> 40) as f64 / 16_777_216.0;
                *value = draw(u, 2.0 * u - 1.0) as f32;
            }
            tensor += 1;
        });
        Ok(network)
    }

    /// The size.
    pub fn shape(&self) -> NetworkShape {
        self.shape
    }

    /// The layout of its observations.
    pub fn observation(&self) -> ObservationLayout {
        self.observation
    }

    /// The player whose value it gives.
    pub fn value_of(&self) -> ValueOf {
        self.value_of
    }

    /// The same parameters with other meanings of observation and value.
    pub fn with_meaning(mut self, observation: ObservationLayout, value_of: ValueOf) -> Self {
        (self.observation, self.value_of) = (observation, value_of);
        self
    }

    /// The first convolution and its norm.
    pub fn input(&self) -> (&Conv, &Norm) {
        (&self.input_conv, &self.input_norm)
    }

    /// The residual blocks in order.
    pub fn torso(&self) -> &[TorsoBlock] {
        &self.torso
    }

    /// The value's head: 1×1 convolution, norm, and its two linear layers.
    pub fn value_head(&self) -> (&Conv, &Norm, [&Linear; 2]) {
        (&self.value_conv, &self.value_norm, [&self.value_linear_1, &self.value_linear_2])
    }

    /// The policy's head: 1×1 convolution, norm, linear layer.
    pub fn policy_head(&self) -> (&Conv, &Norm, &Linear) {
        (&self.policy_conv, &self.policy_norm, &self.policy_linear)
    }

    /// Calls `see` with name (libtorch's), dimensions and values of every tensor, in the order of the network: convolutions of a block before its norms.
    pub fn visit<'a>(&'a self, mut see: impl FnMut(&str, &[usize], &'a [f32])) {
        for (name, dims, field) in tensors(self.shape) {
            see(&name, &dims, field.of(self));
        }
    }

    /// A checksum of shape, meaning and all parameters, which shows whether a journal belongs to this network.
    pub(in crate::azero) fn checksum(&self) -> u64 {
        let mut sum = Fnv::default();
        sum.add(format!("{:?} {} {}", self.shape, self.observation, self.value_of).as_bytes());
        self.visit(|_, _, values| sum.add(bytemuck::cast_slice(values)));
        sum.value()
    }

    /// As [`Network::visit`], with mutable values; their number must not change.
    pub(in crate::azero) fn visit_mut(&mut self, mut see: impl FnMut(&str, &[usize], &mut Vec<f32>)) {
        for (name, dims, field) in tensors(self.shape) {
            see(&name, &dims, field.of_mut(self));
        }
    }
}

/// Prefix of the names of Adam's tensors in a checkpoint, which is also a weight file; 1 or 2 and a point follow.
pub(in crate::azero) const MOMENTS: &str = "moment";

/// A part of a convolution or linear layer, or of a norm.
#[derive(Clone, Copy)]
enum Part {
    Weight,
    Bias,
    Mean,
    Variance,
}

/// Which tensor of a [`Network`] it is.
#[derive(Clone, Copy)]
enum Field {
    InputConv(Part),
    InputNorm(Part),
    /// Block, convolution of the block, part.
    TorsoConv(usize, usize, Part),
    TorsoNorm(usize, usize, Part),
    ValueConv(Part),
    ValueNorm(Part),
    ValueLinear(usize, Part),
    PolicyConv(Part),
    PolicyNorm(Part),
    PolicyLinear(Part),
}

/// The two forms of "the tensor of a field", for shared and for exclusive borrows.
macro_rules! field_of {
    ($name:ident, $network:ty, $values:ty, $($borrow:tt)+) => {
        fn $name(self, network: $network) -> $values {
            macro_rules! affine {
                ($layer:expr, $part:expr) => {
                    match $part {
                        Part::Weight => $($borrow)+ $layer.weight,
                        _ => $($borrow)+ $layer.bias,
                    }
                };
            }
            macro_rules! norm {
                ($norm:expr, $part:expr) => {
                    match $part {
                        Part::Weight => $($borrow)+ $norm.weight,
                        Part::Bias => $($borrow)+ $norm.bias,
                        Part::Mean => $($borrow)+ $norm.mean,
                        Part::Variance => $($borrow)+ $norm.variance,
                    }
                };
            }
            match self {
                Self::InputConv(part) => affine!(network.input_conv, part),
                Self::InputNorm(part) => norm!(network.input_norm, part),
                Self::TorsoConv(block, 0, part) => affine!(network.torso[block].conv_1, part),
                Self::TorsoConv(block, _, part) => affine!(network.torso[block].conv_2, part),
                Self::TorsoNorm(block, 0, part) => norm!(network.torso[block].norm_1, part),
                Self::TorsoNorm(block, _, part) => norm!(network.torso[block].norm_2, part),
                Self::ValueConv(part) => affine!(network.value_conv, part),
                Self::ValueNorm(part) => norm!(network.value_norm, part),
                Self::ValueLinear(0, part) => affine!(network.value_linear_1, part),
                Self::ValueLinear(_, part) => affine!(network.value_linear_2, part),
                Self::PolicyConv(part) => affine!(network.policy_conv, part),
                Self::PolicyNorm(part) => norm!(network.policy_norm, part),
                Self::PolicyLinear(part) => affine!(network.policy_linear, part),
            }
        }
    };
}

impl Field {
    field_of!(of, &Network, &[f32], &);
    field_of!(of_mut, &mut Network, &mut Vec<f32>, &mut);
}

/// The number of values in all tensors of a network, including the norms' running statistics.
pub(in crate::azero) fn n_values(shape: NetworkShape) -> u64 {
    tensors(shape).iter().map(|(_, dims, _)| dims.iter().product::<usize>() as u64).sum()
}

/// Name, dimensions and field of every tensor of a network, in order.
fn tensors(shape: NetworkShape) -> Vec<(String, Vec<usize>, Field)> {
    let size = |value: u32| value as usize;
    let (planes, width, cells) = (size(shape.planes), size(shape.width), shape.cells());
    let (value_filters, value_hidden) = (size(shape.value_filters), size(shape.value_hidden));
    let (policy_filters, actions) = (size(shape.policy_filters), size(shape.actions));
    let mut list = Vec::new();
    let affine = |list: &mut Vec<_>, name: String, dims: Vec<usize>, field: &dyn Fn(Part) -> Field| {
        let bias = vec![dims[0]];
        list.push((format!("{name}.weight"), dims, field(Part::Weight)));
        list.push((format!("{name}.bias"), bias, field(Part::Bias)));
    };
    let norm = |list: &mut Vec<_>, name: String, channels: usize, field: &dyn Fn(Part) -> Field| {
        let parts = [
            ("weight", Part::Weight),
            ("bias", Part::Bias),
            ("running_mean", Part::Mean),
            ("running_var", Part::Variance),
        ];
        for (part, of) in parts {
            list.push((format!("{name}.{part}"), vec![channels], field(of)));
        }
    };
    affine(&mut list, "layers.0.input_conv".into(), vec![width, planes, 3, 3], &Field::InputConv);
    norm(&mut list, "layers.0.input_batch_norm".into(), width, &Field::InputNorm);
    for block in 0..size(shape.depth) {
        let name = format!("layers.{}.res_{block}", block + 1);
        for number in 0..2 {
            let field = move |part| Field::TorsoConv(block, number, part);
            affine(&mut list, format!("{name}_conv_{}", number + 1), vec![width, width, 3, 3], &field);
        }
        for number in 0..2 {
            let field = move |part| Field::TorsoNorm(block, number, part);
            norm(&mut list, format!("{name}_batch_norm_{}", number + 1), width, &field);
        }
    }
    let name = format!("layers.{}", shape.depth + 1);
    affine(&mut list, format!("{name}.value_conv"), vec![value_filters, width, 1, 1], &Field::ValueConv);
    norm(&mut list, format!("{name}.value_batch_norm"), value_filters, &Field::ValueNorm);
    let field = |part| Field::ValueLinear(0, part);
    affine(&mut list, format!("{name}.value_linear_1"), vec![value_hidden, value_filters * cells], &field);
    let field = |part| Field::ValueLinear(1, part);
    affine(&mut list, format!("{name}.value_linear_2"), vec![1, value_hidden], &field);
    affine(&mut list, format!("{name}.policy_conv"), vec![policy_filters, width, 1, 1], &Field::PolicyConv);
    norm(&mut list, format!("{name}.policy_batch_norm"), policy_filters, &Field::PolicyNorm);
    affine(&mut list, format!("{name}.policy_linear"), vec![actions, policy_filters * cells], &Field::PolicyLinear);
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_network_begins_as_published() {
        let network = Network::seeded(NetworkShape::default(), 27).unwrap();
        let first = &network.input_conv.weight[..3];
        assert_eq!(first, [0.066_484_09, 0.125_430_87, -0.293_140_38]);
        let mut n = 0;
        network.visit(|_, dims, values| {
            assert_eq!(values.len(), dims.iter().product::<usize>());
            n += 1;
        });
        assert_eq!(n, 6 + 12 * 5 + 18);
    }
}
