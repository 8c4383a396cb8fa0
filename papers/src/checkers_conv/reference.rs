//! The CPU's side of the paper's table: what each part is to compute, and how long the plain program takes for it.

use std::collections::HashMap;
use std::hint::black_box;
use std::time::Instant;

use warpplay::azero::Network;
use warpplay_cpu_ref::azero::{self as plain, Parallel, Pass, Real, Sequential, pieces, tensor_index};

use super::measure::{Level, Part, Times};

/// Squares of the board.
const CELLS: usize = 64;

/// The plain network in single precision, and what it computes in double.
pub struct Reference {
    network: plain::Network<f32>,
    expected: Pass<f64>,
    observations: Vec<f32>,
    masks: Vec<u8>,
    /// Of the input block and of the last block, rounded.
    input: Vec<f32>,
    last: Vec<f32>,
    n: usize,
}

/// The plain program's network of a network.
pub fn converted<T: Real>(network: &Network) -> plain::Network<T> {
    let mut tensors = HashMap::new();
    network.visit(|name, _, values| {
        tensors.insert(name.to_string(), values);
    });
    let shape = network.shape();
    let size = |value: u32| value as usize;
    let shape = plain::Shape {
        rows: size(shape.rows),
        columns: size(shape.columns),
        planes: size(shape.planes),
        width: size(shape.width),
        depth: size(shape.depth),
        value_filters: size(shape.value_filters),
        value_hidden: size(shape.value_hidden),
        policy_filters: size(shape.policy_filters),
        actions: size(shape.actions),
    };
    plain::Network::from_tensors(shape, |name, _| tensors[name].iter().map(|&value| T::rounded(value.into())).collect())
}

/// Whether a tensor belongs to a convolution: its weights and biases are the fields of that name.
fn of_conv(name: &str) -> bool {
    name.ends_with("conv.weight") || name.contains("_conv_") && name.ends_with(".weight")
}

/// Changes the weights `[outputs, inputs, side, side]` and the biases of every convolution.
pub fn change_convs(network: &mut plain::Network<f64>, mut change: impl FnMut(&[usize], &mut [f64], &mut [f64])) {
    for index in 0..network.tensors.len() - 1 {
        let (before, after) = network.tensors.split_at_mut(index + 1);
        let tensor = &mut before[index];
        if of_conv(&tensor.name) {
            change(&tensor.dims, &mut tensor.values, &mut after[0].values);
        }
    }
}

/// The network as the published kernels compute it: no convolution has a bias.
pub fn without_bias(network: &Network) -> plain::Network<f64> {
    let mut network = converted(network);
    change_convs(&mut network, |_, _, bias| bias.fill(0.0));
    network
}

fn rounded(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&value| value as f32).collect()
}

impl std::fmt::Debug for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reference").field("n", &self.n).finish_non_exhaustive()
    }
}

impl Reference {
    /// Of `n` positions, with all actions legal.
    pub fn new(network: &Network, observations: Vec<f32>, n: usize) -> Self {
        let masks = vec![1; n * network.shape().actions as usize];
        let mut expected = Pass::default();
        let exact: Vec<f64> = observations.iter().map(|&value| value.into()).collect();
        converted::<f64>(network).forward::<Parallel>(&exact, &masks, &mut expected);
        let last = expected.torso.last().map_or(&expected.input, |block| &block.out);
        let (input, last) = (rounded(&expected.input), rounded(last));
        Self { network: converted(network), expected, observations, masks, input, last, n }
    }

    /// Positions.
    pub fn n(&self) -> usize {
        self.n
    }

    /// What a part reads.
    pub fn operand(&self, part: Part) -> &[f32] {
        match part {
            Part::Input | Part::Semi | Part::Network => &self.observations,
            Part::Torso => &self.input,
            Part::Output => &self.last,
        }
    }

    /// What it is to compute.
    pub fn expected(&self, level: Level, part: Part) -> &[f64] {
        let pass = &self.expected;
        match (level, part) {
            (Level::Kernel, Part::Input) => &pass.input_conv,
            (Level::Kernel, Part::Torso) => &pass.torso[0].conv_1,
            (Level::Kernel, Part::Output) => &pass.policy_conv,
            (Level::Layer, Part::Input) => &pass.input,
            (Level::Layer, Part::Torso) => &pass.torso[0].mid,
            (Level::Layer, Part::Output) => &pass.policy_head_planes,
            (Level::Block, _) => &pass.torso[0].out,
            (_, Part::Semi) => &pass.policy_head_planes,
            _ => &pass.policy_logits,
        }
    }

    /// Wall times of the plain program.
    pub fn times(&self, level: Level, part: Part, runs: usize, all_cores: bool) -> Times {
        let mut work = Work::default();
        let mut pass = Pass::default();
        let mut one = || {
            let start = Instant::now();
            match (part, all_cores) {
                (Part::Network, true) => self.network.forward::<Parallel>(&self.observations, &self.masks, &mut pass),
                (Part::Network, false) => {
                    self.network.forward::<Sequential>(&self.observations, &self.masks, &mut pass)
                }
                (Part::Semi, _) => self.semi(&mut work),
                _ => self.part(level, part, &mut work),
            }
            black_box(&work.out);
            start.elapsed().as_secs_f64() * 1e6
        };
        Times { first_us: one(), runs_us: (0..runs).map(|_| one()).collect() }
    }

    /// The paper's semi-model by the plain functions, on the calling thread.
    fn semi(&self, work: &mut Work) {
        let depth = self.network.shape().depth;
        let each = self.observations.len() / self.n;
        for x in self.observations.chunks_exact(each) {
            let layer = |work: &mut Work, conv, norm, x: &[f32], side| {
                work.conv(self.network.affine(conv), x, side);
                work.norm(self.network.norm(norm));
            };
            layer(work, tensor_index::INPUT_CONV, tensor_index::INPUT_NORM, x, 3);
            pieces::relu(&mut work.out);
            for block in 0..depth {
                let [conv_1, conv_2, norm_1, norm_2] = tensor_index::torso(block);
                let input = std::mem::take(&mut work.out);
                layer(work, conv_1, norm_1, &input, 3);
                pieces::relu(&mut work.out);
                let middle = std::mem::take(&mut work.out);
                layer(work, conv_2, norm_2, &middle, 3);
                pieces::add(&input, &mut work.out);
                pieces::relu(&mut work.out);
            }
            let [conv, norm, _] = tensor_index::policy(depth);
            let last = std::mem::take(&mut work.out);
            layer(work, conv, norm, &last, 1);
            pieces::relu(&mut work.out);
        }
    }

    /// One part of the network by the plain functions, on the calling thread.
    fn part(&self, level: Level, part: Part, work: &mut Work) {
        let depth = self.network.shape().depth;
        let operand = self.operand(part);
        let each = operand.len() / self.n;
        for x in operand.chunks_exact(each) {
            let [conv_1, conv_2, norm_1, norm_2] = tensor_index::torso(0);
            let [policy_conv, policy_norm, _] = tensor_index::policy(depth);
            let (conv, norm, side) = match part {
                Part::Output => (policy_conv, policy_norm, 1),
                Part::Torso => (conv_1, norm_1, 3),
                _ => (tensor_index::INPUT_CONV, tensor_index::INPUT_NORM, 3),
            };
            work.conv(self.network.affine(conv), x, side);
            if level == Level::Kernel {
                continue;
            }
            work.norm(self.network.norm(norm));
            if level == Level::Block {
                pieces::relu(&mut work.out);
                let middle = std::mem::take(&mut work.out);
                work.conv(self.network.affine(conv_2), &middle, 3);
                work.norm(self.network.norm(norm_2));
                pieces::add(x, &mut work.out);
            }
            pieces::relu(&mut work.out);
        }
    }
}

/// Arrays that are used again.
#[derive(Default)]
struct Work {
    patches: Vec<f32>,
    before: Vec<f32>,
    out: Vec<f32>,
}

impl Work {
    fn conv(&mut self, conv: pieces::Affine<'_, f32>, x: &[f32], side: usize) {
        let n_outputs = conv.bias.len();
        let k = x.len() / CELLS * side * side;
        self.out.resize(n_outputs * CELLS, 0.0);
        let operand = if side == 1 {
            x
        } else {
            self.patches.resize(k * CELLS, 0.0);
            pieces::patches(x, (8, 8), &mut self.patches);
            &self.patches
        };
        pieces::matmul(conv.weight, operand, &mut self.out, (n_outputs, CELLS, k));
        pieces::add_bias(&mut self.out, conv.bias, CELLS);
    }

    fn norm(&mut self, norm: pieces::Norm<'_, f32>) {
        std::mem::swap(&mut self.before, &mut self.out);
        self.out.resize(self.before.len(), 0.0);
        pieces::normalize(&self.before, norm, CELLS, &mut self.out);
    }
}

/// What every block and the network give for positions, in double precision, by name.
pub fn blocks_of(network: &plain::Network<f64>, observations: &[f32], masks: &[u8]) -> Vec<(String, Vec<f64>)> {
    let mut pass = Pass::default();
    let exact: Vec<f64> = observations.iter().map(|&value| value.into()).collect();
    network.forward::<Parallel>(&exact, masks, &mut pass);
    pass.named().into_iter().map(|(name, values)| (name, values.to_vec())).collect()
}
