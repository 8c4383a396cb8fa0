//! The paper's learning where every child is the quiet position behind it.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use warpplay::shogi::material::Material;
use warpplay::shogi::quiescence::{self, rebuild};
use warpplay::shogi::{Evaluator, FeatureSet, Selection, Shard, StoppedBy, Values};
use warpplay::{Device, Error, Result};

use super::super::Options;

/// Parents for each thread whose quiet lines are searched before the caller is asked again: some hundred thousand positions, less than a second.
const PIECE: usize = 256;

/// What is learnt from quiet positions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Quiet {
    /// The last values.
    pub values: Values,
    /// Most parents that a search left out: a child's difference of material does not fit into a word.
    pub left_out: u64,
}

/// Learns from quiet positions, which are searched anew after `every` updates; `None` where `watch` ended it.
///
/// # Errors
/// [`Error::Option`] for no updates between two searches; those of the search and of the fit.
pub(super) fn learn(
    shards: &[&Shard],
    options: &Options,
    every: u32,
    mut watch: impl FnMut() -> ControlFlow<()>,
) -> Result<Option<Quiet>> {
    check_every(every)?;
    let Options { init, iterations, objective, .. } = options;
    let (mut quiet, mut objective, mut done) = (Quiet { values: *init, left_out: 0 }, *objective, 0);
    while done < *iterations {
        let evaluator = Evaluator::new(FeatureSet::Material, FeatureSet::Material.weights_of(&quiet.values))?;
        let mut leaves: Vec<Shard> = Vec::new();
        let mut left_out = 0;
        for &shard in shards {
            let parents: Vec<u32> = (0..shard.n_parents() as u32).collect();
            for piece in parents.chunks(PIECE * rayon::current_num_threads()) {
                if watch().is_break() {
                    return Ok(None);
                }
                let piece = Selection { shard, parents: Some(piece) }.to_shard()?;
                let found = rebuild(&piece, &evaluator, &quiescence::Options::default())?;
                left_out += found.left_out.len() as u64;
                leaves.push(found.shard);
            }
        }
        quiet.left_out = quiet.left_out.max(left_out);
        let n = every.min(iterations - done);
        let builder = Material::builder(leaves.as_slice()).objective(objective).init(quiet.values).iterations(n);
        let report = builder.build(&Device::cpu())?.run(|_| watch())?;
        if report.stopped_by == StoppedBy::Request {
            return Ok(None);
        }
        if let Some(last) = report.rows.last() {
            quiet.values = last.values;
            objective.h = last.h;
        }
        done += n;
    }
    Ok(Some(quiet))
}

/// Refuses a search that never comes.
pub(super) fn check_every(every: u32) -> Result<()> {
    if every == 0 {
        return Err(Error::option("quiescence_every", every, "1 or more"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::games;
    use super::*;

    /// Learns until the caller has been asked so many times; how often it was asked.
    fn learn_until(most: u32, shard: &Shard, options: &Options) -> (Option<Quiet>, u32) {
        let mut asked = 0;
        let watch = || {
            asked += 1;
            if asked > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        (learn(&[shard], options, 2, watch).unwrap(), asked)
    }

    #[test]
    fn searches_and_updates_can_be_ended() {
        let set = games().unwrap();
        let few: Vec<u32> = (0..20).collect();
        let few = Selection { shard: &set.shards()[0], parents: Some(&few) }.to_shard().unwrap();
        let options = Options { iterations: 4, ..Options::default() };
        let (whole, asked) = learn_until(u32::MAX, &few, &options);
        assert_ne!(whole.unwrap().values, options.init);
        // Two searches, and a row for each state of both fits.
        assert_eq!(asked, 2 * (1 + 3));
        // With the last row all is there.
        for most in 0..asked - 1 {
            let (ended, asked) = learn_until(most, &few, &options);
            // A fit does not ask again after its last row: the next search does.
            assert!(ended.is_none() && asked <= most + 2, "{most}: asked {asked} times");
        }
    }

    /// It would search the same positions for ever.
    #[test]
    fn no_updates_between_two_searches_are_refused() {
        let error = learn(&[], &Options::default(), 0, || ControlFlow::Continue(())).unwrap_err();
        assert_eq!(error.to_string(), "option quiescence_every: 0 is not allowed (1 or more)");
    }
}
