//! Sums over the opponent's hands that share no card with a hand.

use std::collections::HashMap;

/// The sums that a hand uses and contributes to.
///
/// Every non-empty subset of a hand's cards is numbered. The reach of an opponent's hand is added to the sums of all its subsets; the total weight of the opponent's hands
/// that share a card with a hand is Σ ± of the sums of that hand's subsets, + for 1 or 3 cards, − for 2.
#[derive(Clone, Debug)]
pub(super) struct Blockers {
    n_parts: usize,
    per_hand: usize,
    /// By seat: `per_hand` parts for each hand.
    parts: [Vec<u32>; 2],
    /// + or − of each of the parts.
    signs: Vec<f64>,
}

/// Sums of reach, over all hands and by part.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    pub total: f64,
    parts: Vec<f64>,
}

impl Sums {
    pub fn clear(&mut self, blockers: &Blockers) {
        self.total = 0.0;
        self.parts.clear();
        self.parts.resize(blockers.n_parts, 0.0);
    }

    /// Adds one hand of `seat`.
    #[inline]
    pub fn add(&mut self, blockers: &Blockers, seat: usize, hand: usize, reach: f64) {
        self.total += reach;
        for &part in blockers.of(seat, hand) {
            self.parts[part as usize] += reach;
        }
    }

    /// The sum over hands that share no card with hand `hand` of `seat`.
    #[inline]
    pub fn free(&self, blockers: &Blockers, seat: usize, hand: usize) -> f64 {
        let parts = blockers.of(seat, hand).iter().zip(&blockers.signs);
        parts.fold(self.total, |sum, (&part, sign)| sum - sign * self.parts[part as usize])
    }
}

impl Blockers {
    /// For two lists of hands with the same number of cards.
    pub fn new(hands: &[Vec<u64>; 2]) -> Self {
        let mut numbers = HashMap::new();
        let mut signs: Vec<f64> = Vec::new();
        let parts = [0, 1].map(|seat: usize| {
            let mut all = Vec::new();
            for &hand in &hands[seat] {
                signs.clear();
                // All non-empty subsets of the hand, from the whole hand down.
                let mut part = hand;
                while part != 0 {
                    let next = numbers.len() as u32;
                    all.push(*numbers.entry(part).or_insert(next));
                    signs.push(if part.count_ones() % 2 == 1 { 1.0 } else { -1.0 });
                    part = (part - 1) & hand;
                }
            }
            all
        });
        Self { n_parts: numbers.len(), per_hand: signs.len(), parts, signs }
    }

    #[inline]
    fn of(&self, seat: usize, hand: usize) -> &[u32] {
        &self.parts[seat][hand * self.per_hand..(hand + 1) * self.per_hand]
    }

    /// For each hand of `seat`: the sum of the opponent's `reach` over hands that share no card with it.
    pub fn free(&self, seat: usize, reach: &[f64]) -> Vec<f64> {
        let mut sums = Sums::default();
        sums.clear(self);
        for (hand, &reach) in reach.iter().enumerate() {
            sums.add(self, 1 - seat, hand, reach);
        }
        let n_hands = self.parts[seat].len() / self.per_hand.max(1);
        (0..n_hands).map(|hand| sums.free(self, seat, hand)).collect()
    }
}
