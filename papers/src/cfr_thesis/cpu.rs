//! The programs of the CPU: those of `warpplay-cpu-ref`.

use std::sync::Arc;

use warpplay_cpu_ref::cfr::poker::Rules;
use warpplay_cpu_ref::cfr::sampled::{Dealer, Sampled, Workspace};

use super::options::{Options, Program};
use super::plan::{Plan, Profile, Running};
use warpplay::cfr::engines::walk::{Checksums, Set};
use warpplay::cfr::game::ACTIONS;
use warpplay::{Error, Result};

/// A program on the CPU.
pub(super) struct OnCpu {
    sampled: Sampled,
    dealer: Dealer,
    rules: Rules,
    /// What the iterative program works with.
    levels: Option<(Workspace, rayon::ThreadPool)>,
}

impl OnCpu {
    /// Lays the game out.
    pub fn new(plan: &Plan, options: &Options) -> Result<Self> {
        let sequences = Arc::clone(plan.plain());
        let levels = if options.program == Program::Iterative {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(options.threads).build();
            let pool = pool.map_err(|error| Error::Unsupported {
                what: format!("{} threads ({error})", options.threads),
                backend: "cpu".into(),
                remedy: "ask for fewer".into(),
            })?;
            Some((Workspace::new(&sequences), pool))
        } else {
            None
        };
        Ok(Self {
            sampled: Sampled::new(sequences),
            dealer: Dealer::new(options.seed),
            rules: (&plan.game).into(),
            levels,
        })
    }
}

impl Running for OnCpu {
    fn run(&mut self, n: u32) -> Result<()> {
        let Self { sampled, dealer, rules, levels } = self;
        match levels {
            None => (0..n).for_each(|_| sampled.recursive(&dealer.deal(rules))),
            Some((workspace, pool)) => pool.install(|| {
                (0..n).for_each(|_| sampled.by_levels(&dealer.deal(rules), workspace));
            }),
        }
        Ok(())
    }

    fn utilities(&self) -> Result<Vec<f64>> {
        Ok(self.sampled.utilities.clone())
    }

    fn set(&self, sequence: u32, bucket: u32) -> Result<Set> {
        let row = self.sampled.sequences().row(sequence as usize, bucket as usize);
        let read = |table: &[f64]| std::array::from_fn(|action| table[row + action]);
        let (regrets, averages): ([f64; ACTIONS], [f64; ACTIONS]) =
            (read(&self.sampled.regrets), read(&self.sampled.averages));
        Ok(Set { regrets, averages })
    }

    fn checksums(&self) -> Result<Checksums> {
        Ok(Checksums {
            regrets: self.sampled.regrets.iter().sum(),
            regret_sizes: self.sampled.regrets.iter().map(|regret| regret.abs()).sum(),
            averages: self.sampled.averages.iter().sum(),
        })
    }

    fn copy_lists(&mut self) -> Result<usize> {
        Err(Self::without("copies to a device"))
    }

    fn profile(&mut self, _: u32) -> Result<Profile> {
        Err(Self::without("times of the phases"))
    }
}

impl OnCpu {
    fn without(what: &str) -> Error {
        Error::Unsupported {
            what: what.into(),
            backend: "cpu".into(),
            remedy: "use the program levels or graph".into(),
        }
    }
}
