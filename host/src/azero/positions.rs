//! Positions for the network in host memory, and reading them from files.

use std::path::Path;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use super::checkers::{Checkers, legal_mask, observation};
use super::{NetworkShape, ObservationLayout};
use crate::mcts::Game;
use crate::runtime::input_file;
use crate::runtime::tensors;
use crate::{Error, Result};

/// Positions in the form that [`Evaluator::evaluate`](super::Evaluator::evaluate) takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Positions {
    n: usize,
    observations: Vec<f32>,
    masks: Vec<u8>,
}

impl Positions {
    /// Observations of checkers positions, each from the view of the player to move.
    pub fn of_checkers(positions: &[Checkers], layout: ObservationLayout) -> Self {
        let seen = positions.iter().flat_map(|position| observation(position, position.to_move(), layout));
        let masks = positions.iter().flat_map(legal_mask);
        Self { n: positions.len(), observations: seen.collect(), masks: masks.collect() }
    }

    /// Reads the tensors `obs`, `[n, planes · rows · columns]` or `[n, planes, rows, columns]`, and `mask`, `[n, actions]` of type U8 or BOOL, of a safetensors
    /// file; other tensors are ignored.
    ///
    /// # Errors
    /// [`Error::File`] naming the tensor, and the position if it concerns one: if a tensor is missing, has another type or shape, or holds no positions; for a value that is
    /// not finite, a mask value other than 0 and 1, or a mask without a legal action; for a file damaged otherwise.
    pub fn load(path: impl AsRef<Path>, shape: NetworkShape) -> Result<Self> {
        let path = path.as_ref();
        let bytes = input_file::read(path)?;
        let file = tensors::parse(path, &bytes)?;
        let wrong = |reason: String| Err(Error::file(path, None, reason));
        let (a_position, actions) = (shape.n_observation(), shape.actions as usize);
        let planes = [shape.planes, shape.rows, shape.columns].map(|size| size as usize);

        let obs = tensor(path, &file, "obs")?;
        let n = match *obs.shape() {
            [n, each] if each == a_position => n,
            [n, a, b, c] if [a, b, c] == planes => n,
            ref other => {
                let reason = format!("tensor obs has the shape {other:?}, expected [n, {a_position}]");
                return wrong(format!("{reason} or [n, {}, {}, {}]", planes[0], planes[1], planes[2]));
            }
        };
        if n == 0 {
            return wrong("tensor obs holds no position".into());
        }
        let mask = tensor(path, &file, "mask")?;
        if mask.shape() != [n, actions] {
            return wrong(format!("tensor mask has the shape {:?}, expected [{n}, {actions}]", mask.shape()));
        }
        if !matches!(mask.dtype(), Dtype::U8 | Dtype::BOOL) {
            return wrong(format!("tensor mask is of type {}, expected U8 or BOOL", mask.dtype()));
        }
        let observations: Vec<f32> =
            tensors::values(path, "obs", &obs)?.into_iter().map(|value| value as f32).collect();
        if let Some(at) = observations.iter().position(|value| !value.is_finite()) {
            let (position, element) = (at / a_position, at % a_position);
            return wrong(format!("tensor obs, position {position}, element {element} is not a finite number"));
        }
        let masks = mask.data().to_vec();
        for (position, mask) in masks.chunks_exact(actions).enumerate() {
            if let Some(action) = mask.iter().position(|&legal| legal > 1) {
                let value = mask[action];
                return wrong(format!("tensor mask, position {position}, action {action} is {value}, expected 0 or 1"));
            }
            if mask.iter().all(|&legal| legal == 0) {
                return wrong(format!("tensor mask, position {position} has no legal action, expected at least one"));
            }
        }
        Ok(Self { n, observations, masks })
    }

    /// Number of positions.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// `[n, planes, rows, columns]`.
    pub fn observations(&self) -> &[f32] {
        &self.observations
    }

    /// `[n, actions]`, 1 for a legal action.
    pub fn masks(&self) -> &[u8] {
        &self.masks
    }

    /// The same positions, at most `n` at a time, as pairs of observations and masks.
    pub fn chunks(&self, n: usize) -> impl Iterator<Item = (&[f32], &[u8])> {
        let of = |len: usize| n.max(1) * (len / self.n.max(1)).max(1);
        self.observations.chunks(of(self.observations.len())).zip(self.masks.chunks(of(self.masks.len())))
    }
}

fn tensor<'a>(path: &Path, file: &SafeTensors<'a>, name: &str) -> Result<TensorView<'a>> {
    file.tensor(name).map_err(|_| {
        let mut names: Vec<_> = file.names().into_iter().collect();
        names.sort_unstable();
        Error::file(path, None, format!("tensor {name} is missing (the file has: {})", names.join(", ")))
    })
}
