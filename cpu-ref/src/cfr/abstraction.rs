//! Strength of hands over run-outs, and k-means of histograms under the earth mover's distance, the plain way. All in whole numbers.

use rayon::prelude::*;

/// The total mass in a cumulative histogram.
pub const UNIT: u32 = 1 << 16;

/// Cards, hands and run-outs over which strengths are computed.
pub struct Deal<'a> {
    /// All cards, as bits.
    pub deck: u64,
    /// All hands.
    pub hands: &'a [u64],
    /// Run-outs, as numbers of the cards that a board leaves, counted from the lowest.
    pub runouts: &'a [u64],
    /// The largest value of a hand: twice the hands that an opponent can have.
    pub most: u32,
    /// Bins of a histogram.
    pub n_bins: u32,
}

/// For each board and hand the sum of its values over the run-outs `[board, hand]`, and the run-outs by value `[board, hand, bin]`. A value is twice the number of beaten
/// opponents' hands plus the number of tied ones; `rank` gives a larger number for a stronger hand.
pub fn strengths(deal: &Deal<'_>, boards: &[u64], rank: impl Fn(u64) -> u32 + Sync) -> (Vec<u64>, Vec<u32>) {
    let n_bins = deal.n_bins as usize;
    let of_board = |&board: &u64| {
        let mut sums = vec![0; deal.hands.len()];
        let mut histograms = vec![0; deal.hands.len() * n_bins];
        let left: Vec<u64> = (0..64).map(|card| 1 << card).filter(|card| deal.deck & !board & card != 0).collect();
        for &mask in deal.runouts {
            let dealt = left.iter().enumerate().filter(|(index, _)| mask >> index & 1 == 1);
            let full = dealt.fold(board, |full, (_, card)| full | card);
            let live: Vec<(usize, u64, u32)> = (0..deal.hands.len())
                .map(|hand| (hand, deal.hands[hand]))
                .filter(|(_, cards)| cards & full == 0)
                .map(|(hand, cards)| (hand, cards, rank(cards | full)))
                .collect();
            for &(hand, cards, mine) in &live {
                let others = live.iter().filter(|other| other.1 & cards == 0);
                let value: u32 =
                    others.map(|&(_, _, theirs)| u32::from(mine > theirs) + u32::from(mine >= theirs)).sum();
                let bin = (u64::from(value) * n_bins as u64 / u64::from(deal.most)).min(n_bins as u64 - 1);
                sums[hand] += u64::from(value);
                histograms[hand * n_bins + bin as usize] += 1;
            }
        }
        (sums, histograms)
    };
    let all: Vec<(Vec<u64>, Vec<u32>)> = boards.par_iter().map(of_board).collect();
    let (sums, histograms): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    (sums.concat(), histograms.concat())
}

/// Points of k-means: cumulative histograms `[n_bins, n]` and their weights.
pub struct Points<'a> {
    /// Values, a row for each bin.
    pub values: &'a [u32],
    /// Multiplicity of each point.
    pub weights: &'a [u32],
}

impl Points<'_> {
    fn distance(&self, point: usize, centre: &[u32]) -> u32 {
        let rows = self.values.chunks_exact(self.weights.len());
        rows.zip(centre).map(|(row, &at)| row[point].abs_diff(at)).sum()
    }

    /// Lowers each point's distance to the minimum of itself and the distance to a new centre.
    pub fn lower(&self, centre: &[u32], distances: &mut [u32]) {
        distances
            .par_iter_mut()
            .enumerate()
            .for_each(|(point, least)| *least = (*least).min(self.distance(point, centre)));
    }

    /// The nearest of `centres` (`[centre, bin]`) for each point, the first among equals.
    pub fn nearest(&self, centres: &[u32], n_bins: usize) -> Vec<u32> {
        let of = |point| {
            let all = centres.chunks_exact(n_bins).map(|centre| self.distance(point, centre));
            all.enumerate().min_by_key(|&(centre, distance)| (distance, centre)).map_or(0, |(centre, _)| centre as u32)
        };
        (0..self.weights.len()).into_par_iter().map(of).collect()
    }

    /// For each centre the weighted sums of the values of its points, and their weight last: `[centre, bin + 1]`.
    pub fn sums(&self, nearest: &[u32], n_centres: usize, n_bins: usize) -> Vec<u64> {
        let mut sums = vec![0; n_centres * (n_bins + 1)];
        for (point, (&centre, &weight)) in nearest.iter().zip(self.weights).enumerate() {
            let row = &mut sums[centre as usize * (n_bins + 1)..][..n_bins + 1];
            for (bin, sum) in row[..n_bins].iter_mut().enumerate() {
                *sum += u64::from(weight) * u64::from(self.values[bin * self.weights.len() + point]);
            }
            row[n_bins] += u64::from(weight);
        }
        sums
    }
}
