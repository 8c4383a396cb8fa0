//! Evaluation of single positions on the CPU.

use warpplay_gpu::shogi::piece::{BLACK_KING, NUMBERS, PIECES, SQUARES, WHITE_KING};
use warpplay_gpu::shogi::sparse::index::{NONE, Set, is_mirrored, kind_and_side, sets, tri, view_square};

use super::board::{List, Rules};
use super::features::FeatureSet;
use super::update::MOST;
use crate::{Error, Result};

/// Evaluates positions by the weights of a set of features, in pawns, positive if Black is better. Learnt [`Weights`](crate::shogi::learner::Weights) convert into an evaluator.
///
/// ```
/// use warpplay::shogi::{Evaluator, FeatureSet, board::Board};
///
/// let values = [3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 7.0, 6.0, 6.0, 6.0, 10.0, 12.0];
/// let evaluator = Evaluator::new(FeatureSet::Material, FeatureSet::Material.weights_of(&values))?;
/// // Black has taken a pawn.
/// let board = Board::from_usi("startpos moves 2g2f 8c8d 2f2e 8d8e 2e2d 8e8f 2d2c+")?;
/// assert_eq!(evaluator.evaluate_position(&board)?, 1.0 + 1.0 + 6.0);
/// # Ok::<(), warpplay::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluator {
    features: FeatureSet,
    weights: Vec<f32>,
}

impl Evaluator {
    /// Takes the weights, `[features.len()]`.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of weights; [`Error::Option`] for a weight that is not finite or not below 1,024.
    pub fn new(features: FeatureSet, weights: Vec<f32>) -> Result<Self> {
        check_weights(features, &weights)?;
        Ok(Self { features, weights })
    }

    /// Takes weights that have been checked.
    pub(in crate::shogi) fn of_checked(features: FeatureSet, weights: Vec<f32>) -> Self {
        Self { features, weights }
    }

    /// The set of features of the weights.
    pub fn features(&self) -> FeatureSet {
        self.features
    }

    /// The weights.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// The evaluation of a position, without search.
    ///
    /// # Errors
    /// [`Error::Option`] for a position that has no list of pieces ([`List::new`]): without a king, or with more pieces of a kind than the game has.
    pub fn evaluate_position(&self, position: &impl Rules) -> Result<f64> {
        let list = List::new(position).map_err(|reason| Error::option("position", position.sfen(), reason))?;
        Ok(self.evaluate_sound(list.numbers()))
    }

    /// The evaluation of a list of pieces ([`warpplay_gpu::shogi::piece`]).
    ///
    /// # Errors
    /// [`Error::Shape`] for a number that is not that of a piece or king.
    pub fn evaluate(&self, list: &[u16; 40]) -> Result<f64> {
        for (slot, &number) in list.iter().enumerate() {
            let below = if slot < PIECES as usize { NUMBERS } else { SQUARES };
            if u32::from(number) >= below {
                return Err(Error::shape(format!("slot {slot} of a position"), format!("below {below}"), number));
            }
        }
        Ok(self.evaluate_sound(list))
    }

    /// As [`evaluate`](Self::evaluate), for a list whose numbers are known to be valid.
    pub(in crate::shogi) fn evaluate_sound(&self, list: &[u16; 40]) -> f64 {
        let mut sum = 0.0;
        let mut add = |index: u64, sign: f64| {
            // In range for such a list: the weights are the set's.
            sum +=
                sign * usize::try_from(index).ok().and_then(|at| self.weights.get(at)).map_or(0.0, |&w| f64::from(w));
        };
        match self.features {
            FeatureSet::Material => each::<sets::Material>(list, &mut add),
            FeatureSet::MaterialHand => each::<sets::MaterialHand>(list, &mut add),
            FeatureSet::PieceSquare => each::<sets::PieceSquare>(list, &mut add),
            FeatureSet::KingPiece => each::<sets::KingPiece>(list, &mut add),
            FeatureSet::KingKingPiece => each::<sets::KingKingPiece>(list, &mut add),
            FeatureSet::KingPiecePiece => each::<sets::KingPiecePiece>(list, &mut add),
        }
        sum
    }
}

/// Checks that the number of weights is the set's, and that sums of the weights are exact.
pub(in crate::shogi) fn check_weights(features: FeatureSet, weights: &[f32]) -> Result<()> {
    if weights.len() != features.len() {
        return Err(Error::shape(format!("weights of {features}"), features.len(), weights.len()));
    }
    match weights.iter().find(|weight| weight.is_nan() || weight.abs() >= MOST) {
        Some(weight) => Err(Error::option("weight", weight, format!("a number below {MOST} in size"))),
        None => Ok(()),
    }
}

/// Visits the parameters of a position with their signs, each as often as it counts.
fn each<S: Set>(list: &[u16; 40], visit: &mut impl FnMut(u64, f64)) {
    let kings = [u32::from(list[BLACK_KING as usize]), u32::from(list[WHITE_KING as usize])];
    let pieces = || list.iter().take(PIECES as usize).map(|&number| u32::from(number)).filter(|&number| number != 0);
    for number in pieces() {
        visit(u64::from(S::value(number)), if kind_and_side(number).1 == 0 { 1.0 } else { -1.0 });
    }
    for (perspective, sign) in [(0u32, 1.0), (1, -1.0)] {
        let [own, other] = if perspective == 0 { kings } else { [kings[1], kings[0]] };
        let mirrored = S::OWN_KING && is_mirrored(own, perspective);
        let base = S::base(view_square(own, perspective, mirrored), view_square(other, perspective, mirrored));
        let mut rows = [NONE; PIECES as usize];
        let mut n = 0;
        for (to, row) in rows.iter_mut().zip(pieces().map(|number| S::row(number, perspective, mirrored))) {
            *to = row;
            n += 1;
        }
        let rows = rows.get(..n).unwrap_or(&[]);
        for (at, &row) in rows.iter().enumerate() {
            if !S::OF_PAIRS {
                if row != NONE {
                    visit(base + u64::from(row), sign);
                }
                continue;
            }
            for &before in rows.iter().take(at) {
                visit(base + u64::from(tri(row, before)), sign);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpplay_gpu::shogi::piece::{in_hand, on_board};

    /// A few pieces: Black's gold on 5h and pawn in hand, White's rook on 2b; kings on 5i and 5a.
    fn list() -> [u16; 40] {
        let mut list = [0; 40];
        list[3] = on_board(4, 0, 4 * 9 + 7) as u16;
        list[7] = in_hand(0, 0, 0) as u16;
        list[20] = on_board(6, 1, 9 + 1) as u16;
        (list[38], list[39]) = (4 * 9 + 8, 4 * 9);
        list
    }

    #[test]
    fn material_is_what_one_expects() -> Result<()> {
        let values = [4.0, 5.0, 6.0, 7.0, 8.0, 9.5, 7.0, 6.0, 6.0, 6.0, 10.0, 12.0];
        for &features in FeatureSet::ALL {
            let evaluator = Evaluator::new(features, features.weights_of(&values))?;
            assert_eq!(evaluator.evaluate(&list())?, 7.0 + 1.0 - 9.5, "{features}");
        }
        Ok(())
    }

    #[test]
    fn turning_the_board_turns_the_sign() -> Result<()> {
        use warpplay_gpu::shogi::sparse::index::view;
        let list = list();
        let mut turned: [u16; 40] = std::array::from_fn(|slot| view(u32::from(list[slot]), 1, false) as u16);
        (turned[38], turned[39]) = (80 - list[39], 80 - list[38]);
        for &features in FeatureSet::ALL {
            let weights = (0..features.len()).map(|k| ((k * 7919) % 1013) as f32 / 256.0).collect();
            let evaluator = Evaluator::new(features, weights)?;
            assert_eq!(evaluator.evaluate(&list)?, -evaluator.evaluate(&turned)?, "{features}");
        }
        Ok(())
    }

    #[test]
    fn wrong_numbers_have_names() {
        assert!(Evaluator::new(FeatureSet::Material, vec![1.0; 12]).is_err());
        assert!(Evaluator::new(FeatureSet::Material, vec![f32::NAN; 13]).is_err());
        assert!(Evaluator::new(FeatureSet::Material, vec![1024.0; 13]).is_err());
        let evaluator = Evaluator::new(FeatureSet::Material, vec![1.0; 13]).unwrap();
        let mut list = list();
        list[38] = 81;
        let error = evaluator.evaluate(&list).unwrap_err().to_string();
        assert_eq!(error, "slot 38 of a position: expected below 81, got 81");
    }
}
