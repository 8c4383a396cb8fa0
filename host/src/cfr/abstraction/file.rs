//! An abstraction's file, and the part of it in the files of strategies and checkpoints.
//!
//! ```text
//! safetensors   __metadata__    warpplay_cfr_abstraction: the recipe, the cards, a checksum of the buckets
//!               buckets.0, …    U32 [n_classes] by round: the bucket of each class; empty for `even`
//!               strengths.0, …  F64 [n_buckets] by round: the mean strengths of the buckets; empty where nothing was merged
//! ```

use std::path::Path;

use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use super::buckets::Found;
use super::even::Even;
use super::{Abstraction, Classes, Method, Recipe, RoundBuckets};
use crate::cfr::game::cards::Deck;
use crate::runtime::fnv::Fnv;
use crate::runtime::sealed::Kind;
use crate::runtime::tensors::{self, Tensor};
use crate::{Error, Result};

const KIND: Kind = Kind { key: "warpplay_cfr_abstraction", name: "abstraction", version: 1 };

/// Everything of an abstraction but its buckets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cfr) struct Head {
    recipe: Recipe,
    deck: Deck,
    n_hole: usize,
    /// Cards of the board, by round.
    n_board: Vec<usize>,
    /// Checksum of the buckets of all classes.
    buckets: u64,
}

impl Abstraction {
    /// Writes the buckets to a new file beside `path`, syncs that file, and then renames it to `path`.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be written; an existing file is unchanged.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        KIND.write(path.as_ref(), &self.head(), &self.tensors())
    }

    /// Reads buckets and finds their classes again.
    ///
    /// # Errors
    /// [`Error::File`] if the file is not an abstraction, has another version of the format, or is damaged in any byte.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        KIND.read(path, |head: Head, file| Self::from_tensors(&head, path, file))
    }

    /// What a file says of it beside its tensors.
    pub(in crate::cfr) fn head(&self) -> Head {
        let mut sum = Fnv::default();
        self.add_to(&mut sum);
        let first = self.rounds.first();
        Head {
            recipe: self.recipe.clone(),
            deck: first.map_or(Deck::FULL, RoundBuckets::deck),
            n_hole: first.map_or(0, RoundBuckets::n_hole),
            n_board: self.rounds.iter().map(RoundBuckets::n_board).collect(),
            buckets: sum.value(),
        }
    }

    /// Adds the buckets of all classes to a checksum.
    pub(in crate::cfr) fn add_to(&self, sum: &mut Fnv) {
        for round in &self.rounds {
            match &round.found {
                Found::Classes { of_class, .. } => of_class.iter().for_each(|bucket| sum.add(&bucket.to_le_bytes())),
                Found::Even(even) => sum.add(format!("{} {}", Method::Even, even.n_buckets).as_bytes()),
            }
        }
    }

    /// Its tensors in a file.
    pub(in crate::cfr) fn tensors(&self) -> Vec<Tensor> {
        let of_round = |(at, round): (usize, &RoundBuckets)| {
            let (of_class, strengths) = (round.of_class(), round.strengths.iter().copied());
            let buckets = Tensor::word(format!("buckets.{at}"), vec![of_class.len()], of_class.iter().copied());
            [buckets, Tensor::double(format!("strengths.{at}"), vec![round.strengths.len()], strengths)]
        };
        self.rounds.iter().enumerate().flat_map(of_round).collect()
    }

    /// The abstraction of what a file says and of its tensors.
    ///
    /// # Errors
    /// [`Error::File`] if they do not belong together.
    pub(in crate::cfr) fn from_tensors(head: &Head, path: &Path, file: &SafeTensors<'_>) -> Result<Self> {
        let wrong = |reason: String| Error::file(path, None, reason);
        if head.n_board.is_empty() || head.n_board.len() != head.recipe.rounds.len() {
            let (n, recipe) = (head.n_board.len(), head.recipe.rounds.len());
            return Err(wrong(format!("an abstraction of {n} rounds with a recipe for {recipe}")));
        }
        let of_round = |((at, &n_board), &(method, n)): ((usize, &usize), &(Method, u32))| {
            if method == Method::Even {
                let even = Even::new(head.deck, head.n_hole, n_board, n);
                return Ok(RoundBuckets::even(even));
            }
            let classes = Classes::new(head.deck, head.n_hole, n_board).map_err(|error| wrong(error.to_string()))?;
            let name = format!("buckets.{at}");
            let view = tensors::find_as(path, file, &name, Dtype::U32, &[classes.len()])?;
            let of_class: Vec<u32> = view.data().as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect();
            let n_buckets = of_class.iter().max().map_or(0, |most| most.saturating_add(1));
            if n_buckets as usize > classes.len() {
                return Err(wrong(format!("tensor {name} has {n_buckets} buckets for {} classes", classes.len())));
            }
            let view = tensors::find(path, file, &format!("strengths.{at}"))?;
            if view.dtype() != Dtype::F64 || ![0, n_buckets as usize].contains(&tensors::doubles(&view).len()) {
                return Err(wrong(format!(
                    "tensor strengths.{at} is {} {:?}, expected F64 [{n_buckets}]",
                    view.dtype(),
                    view.shape()
                )));
            }
            let found = Found::Classes { classes, of_class };
            Ok(RoundBuckets { found, strengths: tensors::doubles(&view), n_buckets })
        };
        let rounds = head.n_board.iter().enumerate().zip(&head.recipe.rounds).map(of_round).collect::<Result<_>>()?;
        let read = Self { rounds, recipe: head.recipe.clone() };
        match read.head().buckets == head.buckets {
            true => Ok(read),
            false => Err(wrong("the buckets are not those of the abstraction that the file names".into())),
        }
    }
}
