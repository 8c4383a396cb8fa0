//! Evaluation of shogi positions learnt from game records, written plainly.
//!
//! | module | what | source |
//! | --- | --- | --- |
//! | [`rules`] | legal moves on a board of bytes, children of a position | the rules of the game |
//! | [`material`] | 12 values by the sign of differences: from positions, from differences of material, from their histogram | 「MPIまたはCUDAを用いた将棋評価関数学習プログラムの並列化」, 2009 |
//! | [`sparse`] | any set of features by the analytic gradient | Hoki, 「局面評価の学習を目指した探索結果の最適制御」, 2006 |
//!
//! A *parent* is a position of a game, its *children* are the positions after the move that was played (child 0) and after every legal move, the played
//! one once more. Both learners lower the mean over all children of T(σ (f(child) − f(child 0))), T(x) = 1 / (1 + exp(−a x)), σ = 1 where Black moves
//! and −1 where White does: it falls when the moves that were played evaluate higher than their siblings.
//!
//! Terms are rounded once to multiples of 2⁻³⁶ ([`fixed`]) and added as whole numbers: sums, and all that is learnt from them, have the same bits
//! in any order, on any number of threads.
//!
//! ```
//! use warpplay_cpu_ref::shogi::rules::{Move, Position, children};
//! use warpplay_cpu_ref::shogi::material::{Program, Sequential, Settings, histogram_of, learn};
//!
//! // The rook takes a promoted pawn; every other move leaves it where it is.
//! let position = Position::from_sfen("4k4/9/9/9/9/4+p4/4R4/9/4K4 b - 1")?;
//! let played = Move::from_usi("5g5f").ok_or("no move")?;
//! let children = children(&position, played).ok_or("not legal")?;
//! let rows = histogram_of(&children.differences);
//! let n = children.differences.len() as u64;
//! let learnt = learn(|v| Sequential::histogram(&rows, v, 3.0), n, &Settings::default(), &[3.0; 12], 5);
//! // So promoted pawns (after lance, knight, silver, gold, bishop, rook) are worth taking.
//! assert!(learnt[5].values[6] > learnt[0].values[6] && learnt[5].j < learnt[0].j);
//! # Ok::<(), String>(())
//! ```

pub mod material;
pub mod rules;
pub mod sparse;

/// Kinds of pieces with a value: P L N S G B R +P +L +N +S +B +R.
pub const KINDS: usize = 13;

/// The number 1 in the unit of sums.
pub const ONE: f64 = 68_719_476_736.0;

/// `value` as a multiple of 2⁻³⁶, rounded to nearest, ties to even.
pub fn fixed(value: f64) -> i64 {
    (value * ONE).round_ties_even() as i64
}

/// T(x) = 1 / (1 + exp(−a x)).
pub fn sigmoid(a: f64, x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-a * x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_rounded_to_even() {
        assert_eq!((fixed(0.5), fixed(1.0), fixed(0.0)), (1 << 35, 1 << 36, 0));
        assert_eq!((fixed(0.5 / ONE), fixed(1.5 / ONE), fixed(-2.5 / ONE)), (0, 2, -2));
    }

    #[test]
    fn the_sigmoid_is_symmetric() {
        assert_eq!(sigmoid(3.0, 0.0), 0.5);
        for x in [0.1, 1.0, 7.5] {
            assert!((sigmoid(3.0, x) + sigmoid(3.0, -x) - 1.0).abs() < 1e-15);
        }
        assert_eq!(sigmoid(3.0, 1000.0), 1.0);
        assert_eq!(sigmoid(3.0, -1000.0), 0.0);
    }
}
