//! The forms that the plain implementation has.

use std::ops::Range;

use warpplay_cpu_ref::shogi::source::{Parallel, Program, Sequential};

use super::evaluation::raised;
use super::{Form, Histogram, Positions};
use crate::shogi::{Objective, Shard, Values};
use crate::{Backend, Error, Result};

/// Children in one of the forms, and the threads that sum them.
pub(super) struct Cpu {
    data: Data,
    threads: Threads,
}

enum Data {
    Positions(Positions),
    Differences(Vec<u64>),
    Histogram(Histogram),
}

enum Threads {
    One,
    All,
    Pool(rayon::ThreadPool),
}

impl Cpu {
    /// Takes over what the form needs; `threads` 1 is the sequential program, 0 all cores.
    pub fn new(form: Form, shards: &[&Shard], threads: usize) -> Result<Self> {
        let data = match form {
            Form::Paper => Data::Positions(Positions::from_shards(shards, 96)?),
            Form::Paper95 => Data::Positions(Positions::from_shards(shards, 95)?),
            Form::Plain => {
                Data::Differences(shards.iter().flat_map(|shard| shard.differences.iter().copied()).collect())
            }
            Form::Histogram => Data::Histogram(Histogram::from_shards(shards)),
            Form::Persistent | Form::Fused => {
                return Err(Error::Unsupported {
                    what: format!("form {form}"),
                    backend: Backend::Cpu.to_string(),
                    remedy: "use paper, plain or histogram, or a device that runs kernels".to_string(),
                });
            }
        };
        let threads = match threads {
            0 => Threads::All,
            1 => Threads::One,
            n => Threads::Pool(crate::runtime::threads::pool(n)?),
        };
        Ok(Self { data, threads })
    }

    /// The histogram, where that is the form.
    pub fn as_histogram(&self) -> Option<&Histogram> {
        match &self.data {
            Data::Histogram(histogram) => Some(histogram),
            _ => None,
        }
    }

    /// Σ T at the values, then with each of `features` raised.
    pub fn sums(&self, objective: &Objective, values: &Values, features: Range<usize>) -> Vec<i128> {
        let places = || std::iter::once(None).chain(features.clone().map(Some));
        let all = |sum: &dyn Fn(&Values) -> i128| -> Vec<i128> {
            places().map(|place| sum(&raised(values, place, objective.delta))).collect()
        };
        let a = objective.a;
        match &self.threads {
            Threads::One => all(&|values| self.sum::<Sequential>(values, a)),
            Threads::All => all(&|values| self.sum::<Parallel>(values, a)),
            Threads::Pool(pool) => pool.install(|| all(&|values| self.sum::<Parallel>(values, a))),
        }
    }

    fn sum<P: Program>(&self, values: &Values, a: f64) -> i128 {
        match &self.data {
            Data::Positions(positions) => {
                let (bytes, stride) = (positions.bytes(), positions.stride());
                P::positions(bytes, stride, positions.first_child(), positions.sides(), values, a)
            }
            Data::Differences(differences) => P::differences(differences, values, a),
            Data::Histogram(histogram) => P::histogram(histogram.rows(), values, a),
        }
    }
}
