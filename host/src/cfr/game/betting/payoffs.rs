//! Who gets the pot.

use super::{BettingNode, BettingTree};

impl BettingTree {
    /// The net winnings of each seat in chips if the hand ends at `node`. They add up to the dead money less the rake.
    ///
    /// `strengths` are the strengths of hands by seat; equal hands split the pot. Those of folded seats do not matter, and none does if only one seat is left. A seat
    /// without an entry counts as the weakest. Seats that put in different amounts play for side pots: each layer of the bets goes to the best hand among those who paid it.
    /// A layer that only one seat paid is returned to it.
    ///
    /// In a spot with [`Icm`](super::Icm) they are prizes, net of what the seat expects if it gives up the dead money at once; their sum is not constant.
    pub fn payoffs(&self, node: &BettingNode, strengths: &[u32]) -> Vec<f64> {
        let paid = &node.contributed;
        let stays = |seat: usize| node.folded >> seat & 1 == 0;
        let strength = |seat: usize| strengths.get(seat).copied().unwrap_or(0);
        let mut heights = paid.clone();
        heights.sort_by(f64::total_cmp);
        heights.dedup();
        // Each layer as what is in it and who may win it; the dead money lies in the first.
        let mut pots: Vec<(f64, Vec<usize>)> = Vec::with_capacity(heights.len());
        let mut back = vec![0.0; paid.len()];
        let mut below = 0.0;
        let mut loose = self.dead;
        for height in heights {
            let payers = paid.iter().filter(|&&chips| chips >= height).count();
            let layer = height - below;
            below = height;
            let winners: Vec<usize> = (0..paid.len()).filter(|&seat| paid[seat] >= height && stays(seat)).collect();
            if let ([seat], 1) = (&winners[..], payers) {
                back[*seat] += layer;
                continue;
            }
            let amount = layer * payers as f64 + std::mem::take(&mut loose);
            match (winners.is_empty(), pots.last_mut()) {
                (false, _) => pots.push((amount, winners)),
                // Only folded seats paid so much: it goes with the pot below.
                (true, Some(pot)) => pot.0 += amount,
                (true, None) => loose = amount,
            }
        }
        let called: f64 = pots.iter().map(|pot| pot.0).sum();
        let taken = (called * self.rake.part).min(self.rake.cap).max(0.0);
        let left = if called > 0.0 { 1.0 - taken / called } else { 0.0 };
        let mut gains: Vec<f64> = back.iter().zip(paid).map(|(back, paid)| back - paid).collect();
        for (amount, seats) in pots {
            let best = seats.iter().map(|&seat| strength(seat)).max();
            let best: Vec<usize> = seats.into_iter().filter(|&seat| Some(strength(seat)) == best).collect();
            let share = amount * left / best.len() as f64;
            for seat in best {
                gains[seat] += share;
            }
        }
        match &self.icm {
            Some(icm) => icm.net(&gains, self.dead),
            None => gains,
        }
    }
}
