//! Who gets the chips.

/// Net winnings of every seat at the end of a hand: chips won minus chips put in.
///
/// Each layer of the pot goes in equal parts to the strongest of the seats that put in that much and have not folded; a layer that no other seat can claim is returned.
/// `strengths` are compared among the remaining seats; if only one remains, they do not matter.
pub fn payoffs(contributed: &[u32], folded: &[bool], strengths: &[u32]) -> Vec<f64> {
    let mut won: Vec<f64> = contributed.iter().map(|&chips| -f64::from(chips)).collect();
    let mut below = 0;
    // The least of what anybody put in above the layers so far is the next layer.
    while let Some(level) = contributed.iter().copied().filter(|&chips| chips > below).min() {
        let payers = contributed.iter().filter(|&&chips| chips >= level).count();
        let layer = f64::from(level - below) * payers as f64;
        below = level;
        // Somebody always claims: whoever has put in most cannot have folded.
        let claims = |&seat: &usize| !folded[seat] && contributed[seat] >= level;
        let best = (0..contributed.len()).filter(claims).map(|seat| strengths[seat]).max();
        let wins = |seat: &usize| claims(seat) && Some(strengths[*seat]) == best;
        let n_winners = (0..contributed.len()).filter(wins).count();
        for seat in (0..contributed.len()).filter(wins) {
            won[seat] += layer / n_winners as f64;
        }
    }
    won
}

#[cfg(test)]
mod tests {
    use super::payoffs;

    #[test]
    fn pots_are_split_by_layers() {
        assert_eq!(payoffs(&[3, 3], &[false; 2], &[1, 2]), [-3.0, 3.0]);
        assert_eq!(payoffs(&[3, 3, 1], &[false, false, true], &[2, 2, 9]), [0.5, 0.5, -1.0]);
        assert_eq!(payoffs(&[2, 5], &[true, false], &[0, 0]), [-2.0, 2.0]);
        assert_eq!(payoffs(&[2, 5, 5], &[false; 3], &[3, 2, 1]), [4.0, 1.0, -5.0]);
        assert_eq!(payoffs(&[2, 8, 5], &[false, false, true], &[3, 2, 1]), [4.0, 1.0, -5.0]);
    }
}
