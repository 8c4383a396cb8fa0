//! K-means, on any device: first centres far apart (k-means++), then assignment and renewal until nothing changes.

use warpplay_cpu_ref::cfr::abstraction as plain;
use warpplay_gpu::cfr::abstraction::cluster::{BLOCK, FAR, TILE};

use super::Recipe;
use super::kernels::{Kernels, PointArrays};
use crate::cfr::game::deal::Lcg;
use crate::{Backend, Device, Error, Result, Stream};

/// Maximum number of values of all points together.
const MOST_VALUES: u64 = 1 << 33;

/// The back end that does the work; there is only one value, so its size does not matter.
#[allow(clippy::large_enum_variant)]
enum Work<'a> {
    Plain { points: plain::Points<'a>, distances: Vec<u32>, nearest: Vec<u32> },
    Kernels { kernels: Kernels, stream: Stream, arrays: PointArrays },
}

/// Assigns each point to a cluster; `points` are cumulative histograms `[bin, point]`. Clusters may be empty.
///
/// # Errors
/// [`Error::Option`] if there are too many points for this number of bins; errors of the device.
pub(super) fn cluster(
    device: &Device,
    points: &[u32],
    weights: &[u32],
    bins: u32,
    n_buckets: u32,
    recipe: &Recipe,
) -> Result<Vec<u32>> {
    let (n, n_bins) = (weights.len(), bins as usize);
    if points.len() as u64 > MOST_VALUES {
        return Err(Error::option("bins", bins, format!("at most {} for {n} classes", MOST_VALUES / n as u64)));
    }
    let mut work = Work::new(device, points, weights, bins)?;
    let mut lcg = Lcg(recipe.seed);
    let point = |point: usize| (0..n_bins).map(|bin| points[bin * n + point]).collect::<Vec<u32>>();
    // The first centre is drawn by weight, each further one by weight times the squared distance to the nearest so far.
    let total: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
    let first = drawn(weights.iter().map(|&weight| u128::from(weight)), below(&mut lcg, total.into()));
    let mut centres = vec![point(first.0)];
    while centres.len() < n_buckets as usize {
        let last = &centres[centres.len() - 1];
        let sums = work.lower(last, centres.len() == 1)?;
        let total: u128 = sums.iter().map(|&sum| u128::from(sum)).sum();
        if total == 0 {
            // Every point is a centre already.
            break;
        }
        let (block, rest) = drawn(sums.iter().map(|&sum| u128::from(sum)), below(&mut lcg, total));
        let from = block * BLOCK as usize;
        let distances = work.distances(from, (n - from).min(BLOCK as usize))?;
        let parts = distances
            .iter()
            .zip(&weights[from..])
            .map(|(&distance, &weight)| u128::from(weight) * u128::from(distance).pow(2));
        centres.push(point(from + drawn(parts, rest).0));
    }
    for _ in 0..recipe.iterations.max(1) {
        let mut flat = centres.concat();
        flat.resize(centres.len().next_multiple_of(TILE as usize) * n_bins, FAR);
        let (changed, sums) = work.assign(&flat, n_bins)?;
        if !changed {
            break;
        }
        for (centre, sums) in centres.iter_mut().zip(sums.chunks_exact(n_bins + 1)) {
            let weight = sums[n_bins];
            // A centre without points stays where it is.
            if weight > 0 {
                centre.iter_mut().zip(sums).for_each(|(value, sum)| *value = ((sum + weight / 2) / weight) as u32);
            }
        }
    }
    work.nearest()
}

/// Draws a number below `total`, in steps of `total` / 2⁴⁴.
fn below(lcg: &mut Lcg, total: u128) -> u128 {
    let bits = u128::from(lcg.next_u31()) << 13 | u128::from(lcg.next_u31() >> 18);
    (total * bits) >> 44
}

/// The part that contains `target`, and the position within it.
fn drawn(parts: impl Iterator<Item = u128>, mut target: u128) -> (usize, u128) {
    let mut last = 0;
    for (index, part) in parts.enumerate() {
        if target < part {
            return (index, target);
        }
        target -= part;
        last = index;
    }
    (last, 0)
}

impl<'a> Work<'a> {
    fn new(device: &Device, points: &'a [u32], weights: &'a [u32], bins: u32) -> Result<Self> {
        if device.backend() == Backend::Cpu {
            let n = weights.len();
            return Ok(Self::Plain {
                points: plain::Points { values: points, weights },
                distances: vec![0; n],
                nearest: vec![u32::MAX; n],
            });
        }
        let stream = device.stream()?;
        let arrays = PointArrays::new(&stream, points, weights, bins)?;
        Ok(Self::Kernels { kernels: Kernels::load(device)?, stream, arrays })
    }

    /// Lowers each distance to the minimum of itself and the distance to a new centre. Returns the sums of weight · distance² over each [`BLOCK`] points.
    fn lower(&mut self, centre: &[u32], first: bool) -> Result<Vec<u64>> {
        match self {
            Self::Plain { points, distances, .. } => {
                if first {
                    distances.fill(u32::MAX);
                }
                points.lower(centre, distances);
                let part = |(&distance, &weight): (&u32, &u32)| u64::from(weight) * u64::from(distance).pow(2);
                let blocks = distances.chunks(BLOCK as usize).zip(points.weights.chunks(BLOCK as usize));
                Ok(blocks.map(|(distances, weights)| distances.iter().zip(weights).map(part).sum()).collect())
            }
            Self::Kernels { kernels, stream, arrays } => kernels.lower(stream, arrays, centre, first),
        }
    }

    /// Distances of some points to their nearest centre.
    fn distances(&self, from: usize, n: usize) -> Result<Vec<u32>> {
        match self {
            Self::Plain { distances, .. } => Ok(distances[from..from + n].to_vec()),
            Self::Kernels { stream, arrays, .. } => {
                let mut values = vec![0; n];
                stream.read_into(&arrays.distances, from, &mut values)?;
                Ok(values)
            }
        }
    }

    /// Finds the nearest centres. Returns whether any changed, and the sums by centre.
    fn assign(&mut self, centres: &[u32], n_bins: usize) -> Result<(bool, Vec<u64>)> {
        match self {
            Self::Plain { points, nearest, .. } => {
                let now = points.nearest(centres, n_bins);
                let changed = now != *nearest;
                *nearest = now;
                Ok((changed, points.sums(nearest, centres.len() / n_bins, n_bins)))
            }
            Self::Kernels { kernels, stream, arrays } => kernels.assign(stream, arrays, centres),
        }
    }

    fn nearest(self) -> Result<Vec<u32>> {
        match self {
            Self::Plain { nearest, .. } => Ok(nearest),
            Self::Kernels { stream, arrays, .. } => stream.read(&arrays.nearest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cumulative histograms of three kinds, all mass in the first, the middle or the last of three bins, or nearly.
    #[test]
    fn far_groups_are_told_apart() {
        let unit = 1u32 << 16;
        let kinds = [[unit, unit, unit], [0, unit, unit], [0, 0, unit]];
        let n = 600;
        let points: Vec<u32> = (0..3)
            .flat_map(|bin| (0..n).map(move |point| kinds[point % 3][bin].saturating_sub(point as u32 / 3 % 7)))
            .collect();
        let weights: Vec<u32> = (0..n as u32).map(|point| 1 + point % 24).collect();
        let recipe = Recipe::default();
        for seed in 1..20 {
            let recipe = Recipe { seed, ..recipe.clone() };
            let found = cluster(&Device::cpu(), &points, &weights, 3, 3, &recipe).unwrap();
            assert!((0..n).all(|point| found[point] == found[point % 3]), "seed {seed}: {found:?}");
            assert!(found[0] != found[1] && found[1] != found[2] && found[0] != found[2]);
        }
        // As many centres as there are different points, and no more.
        let found = cluster(&Device::cpu(), &points, &weights, 3, 100, &recipe).unwrap();
        for (a, b) in (0..n).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let same = (0..3).all(|bin| points[bin * n + a] == points[bin * n + b]);
            assert_eq!(same, found[a] == found[b]);
        }
    }

    #[test]
    fn draws_go_by_weight() {
        let parts = [3u128, 0, 5];
        let all: Vec<(usize, u128)> = (0..9).map(|target| drawn(parts.into_iter(), target)).collect();
        assert_eq!(all, [(0, 0), (0, 1), (0, 2), (2, 0), (2, 1), (2, 2), (2, 3), (2, 4), (2, 0)]);
        let mut lcg = Lcg(1);
        assert!((0..1000).all(|_| below(&mut lcg, 7) < 7));
    }
}
