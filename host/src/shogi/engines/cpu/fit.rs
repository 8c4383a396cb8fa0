//! The fit of the twelve values, from words or from their histogram, one evaluation at a time.

use warpplay_cpu_ref::shogi::material::{Parallel, Program, Sequential};

use crate::Result;
use crate::runtime::threads::Threads;
use crate::shogi::engines::fit::{Evaluated, Fit, Run};
use crate::shogi::evaluation::{LEARNT, SUMS, raised};
use crate::shogi::histogram::Histogram;
use crate::shogi::objective::{Objective, Values};
use crate::shogi::shard::Shard;

/// Children, and the threads that sum them.
pub(in crate::shogi) struct Cpu {
    data: Data,
    threads: Threads,
    /// Factor of every sum.
    times: u32,
}

enum Data {
    Words(Vec<u64>),
    Histogram(Histogram),
}

impl Cpu {
    /// One word per child, with the shards repeated `repeat` times.
    pub fn words(shards: &[&Shard], repeat: u32, threads: Option<usize>) -> Result<Self> {
        let repeated = (0..repeat).flat_map(|_| shards.iter());
        let words = repeated.flat_map(|shard| shard.differences.iter().copied()).collect();
        Ok(Self { data: Data::Words(words), threads: Threads::new(threads)?, times: 1 })
    }

    /// The distinct words with their counts in one copy of the shards.
    pub fn histogram(shards: &[&Shard], repeat: u32, threads: Option<usize>) -> Result<Self> {
        let histogram = Histogram::from_shards(shards);
        Ok(Self { data: Data::Histogram(histogram), threads: Threads::new(threads)?, times: repeat })
    }

    fn sum<P: Program>(&self, values: &Values, a: f64) -> i128 {
        match &self.data {
            Data::Words(words) => P::differences(words, values, a),
            Data::Histogram(histogram) => P::histogram(histogram.rows(), values, a),
        }
    }
}

impl Fit for Cpu {
    fn evaluate(&mut self, run: &Run) -> Result<Vec<Evaluated>> {
        let Run { objective: Objective { a, delta, .. }, values, features, .. } = run;
        let all = |sum: &dyn Fn(&Values) -> i128| {
            let mut sums = [0; SUMS];
            let wanted = std::iter::once(None).chain(features.clone().map(Some));
            for value in wanted {
                let of = value.map_or(0, |value| value + 1);
                if let Some(to) = sums.get_mut(of) {
                    *to = sum(&raised(values, value, *delta)) * i128::from(self.times);
                }
            }
            sums
        };
        let sums = match self.threads.is_one() {
            true => all(&|values| self.sum::<Sequential>(values, *a)),
            false => self.threads.run(|| all(&|values| self.sum::<Parallel>(values, *a))),
        };
        Ok(vec![(sums, *values)])
    }

    fn gradient(&mut self, objective: &Objective, values: &Values) -> Result<Option<[f64; LEARNT]>> {
        match &self.data {
            Data::Histogram(histogram) => histogram.gradient(objective, values).map(Some),
            Data::Words(_) => Ok(None),
        }
    }
}
