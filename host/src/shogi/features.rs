//! What an evaluation counts.

use warpplay_gpu::shogi::sparse::index::{HAND_VALUES, Set, VALUES, sets};

use super::Values;
use crate::runtime::named::named;

named! {
    /// A set of features. All but [`FeatureSet::MaterialHand`] begin with the 13 values of [`FeatureSet::Material`]; parameter 0, the pawn's value (on the board), is
    /// 1 and never learnt.
    FeatureSet, "features":
        /// The 13 kinds, a piece in hand at its full value.
        Material = "material",
        /// The 13 kinds on the board, then the 7 in hand.
        MaterialHand = "material_hand",
        /// Each kind on each square, from its owner's view, and each count in hand.
        PieceSquare = "piece_square",
        /// Each pair of a side's own king and a piece.
        KingPiece = "kp",
        /// Each triple of both kings and a piece.
        KingKingPiece = "kkp",
        /// Each triple of a side's own king and two pieces.
        KingPiecePiece = "kpp",
}

impl FeatureSet {
    /// Number of parameters, including the pawn's fixed one.
    #[allow(clippy::len_without_is_empty, reason = "no set is empty")]
    pub const fn len(self) -> usize {
        let len = match self {
            Self::Material => sets::Material::LEN,
            Self::MaterialHand => sets::MaterialHand::LEN,
            Self::PieceSquare => sets::PieceSquare::LEN,
            Self::KingPiece => sets::KingPiece::LEN,
            Self::KingKingPiece => sets::KingKingPiece::LEN,
            Self::KingPiecePiece => sets::KingPiecePiece::LEN,
        };
        len as usize
    }

    /// Number of parameters that are values of pieces: 13 kinds in the order P L N S G B R +P +L +N +S +B +R, for [`FeatureSet::MaterialHand`] followed by the 7 kinds in
    /// hand. The table follows these.
    pub const fn n_values(self) -> usize {
        match self {
            Self::MaterialHand => HAND_VALUES as usize,
            _ => VALUES as usize,
        }
    }

    /// Weights with these values of pieces, in hand as on the board, and zeros elsewhere; the pawn's is 1. Not yet rounded to multiples of 2⁻³⁰.
    pub fn weights_of(self, values: &Values) -> Vec<f32> {
        let mut weights = vec![0.0; self.len()];
        let of_kind = |kind: usize| if kind == 0 { 1.0 } else { values.get(kind - 1).map_or(0.0, |&v| v as f32) };
        for (parameter, weight) in weights.iter_mut().enumerate().take(self.n_values()) {
            *weight = of_kind(parameter % VALUES as usize);
        }
        weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_their_sizes() {
        let lens: Vec<usize> = FeatureSet::ALL.iter().map(|set| set.len()).collect();
        assert_eq!(lens, [13, 20, 1104, 98_248, 7_957_048, 53_049_613]);
    }

    #[test]
    fn values_stand_at_the_front() {
        let values = std::array::from_fn(|l| 2.0 + l as f64);
        let weights = FeatureSet::MaterialHand.weights_of(&values);
        assert_eq!(weights[..13], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0]);
        assert_eq!(weights[13..], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        let weights = FeatureSet::PieceSquare.weights_of(&values);
        assert_eq!((weights.len(), weights[0], weights[12], weights[13]), (1104, 1.0, 13.0, 0.0));
    }
}
