//! The pass by differences against the pass by the definition, and the gradient against differences of the loss.

use std::sync::atomic::AtomicI64;

use super::features::{NUMBERS, Piece, number};
use super::*;
use crate::shogi::ONE;

/// Columns that a test owns.
#[derive(Default)]
struct Owned {
    pieces: Vec<[u16; 40]>,
    sides: Vec<u8>,
    plies: Vec<u16>,
    games: Vec<u64>,
    first_child: Vec<u32>,
    played: Vec<u16>,
    first_change: Vec<u32>,
    changes: Vec<u32>,
}

impl Owned {
    fn lend(&self) -> Columns<'_> {
        Columns {
            pieces: &self.pieces,
            sides: &self.sides,
            plies: &self.plies,
            games: &self.games,
            first_child: &self.first_child,
            played: &self.played,
            first_change: &self.first_change,
            changes: &self.changes,
        }
    }
}

/// Numbers that look random.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// Parents with children by any changes at all, kings' and several at once included: harder than what moves do.
fn drawn(n_parents: usize) -> Owned {
    let mut draw = Draw(1);
    let mut owned = Owned { first_child: vec![0], first_change: vec![0], ..Owned::default() };
    for parent in 0..n_parents {
        let mut list: [u16; 40] =
            std::array::from_fn(|_| if draw.below(8) == 0 { 0 } else { draw.below(NUMBERS) as u16 });
        (list[38], list[39]) = (draw.below(81) as u16, draw.below(81) as u16);
        let siblings = [0, 1, 2, 30][parent % 4];
        let played = 1 + draw.below(siblings.max(1));
        let mut first = Vec::new();
        for child in 0..=siblings {
            let mut changes = Vec::new();
            let dense = [30, 15, 2][draw.below(3)];
            for slot in 0..40 {
                if draw.below(dense) == 0 {
                    let new = if slot >= 38 { draw.below(81) } else { draw.below(NUMBERS) * draw.below(2) };
                    changes.push((slot as u32) << 16 | new as u32);
                }
            }
            if child == 0 {
                first.clone_from(&changes);
            } else if child == played {
                changes.clone_from(&first);
            }
            owned.changes.extend(changes);
            owned.first_change.push(owned.changes.len() as u32);
        }
        owned.pieces.push(list);
        owned.sides.push((parent % 3 == 1).into());
        owned.plies.push(40 + parent as u16);
        owned.games.push(draw.below(1 << 30) as u64);
        owned.played.push(played as u16);
        owned.first_child.push(owned.first_change.len() as u32 - 1);
    }
    owned
}

fn weights(set: Set) -> Vec<f32> {
    let mut draw = Draw(2);
    (0..set.n_weights()).map(|_| rounded(draw.below(2001) as f32 * 1e-5 - 0.01)).collect()
}

const LOSS: Loss = Loss { a: 3.0, window: f64::INFINITY, siblings: 0, seed: 0 };

fn both(set: Set, columns: &Columns<'_>, loss: &Loss) -> (Totals, Vec<i64>) {
    let weights = weights(set);
    let mut expected = vec![0; weights.len()];
    let totals = pass(set, &weights, columns, loss, Some(&mut expected));
    let gradient: Vec<AtomicI64> = (0..weights.len()).map(|_| AtomicI64::new(0)).collect();
    assert_eq!(par::pass(set, &weights, columns, loss, Some(&gradient)), totals, "{set:?}");
    let gradient: Vec<i64> = gradient.into_iter().map(AtomicI64::into_inner).collect();
    assert!(gradient == expected, "{set:?}");
    assert_eq!(par::pass(set, &weights, columns, loss, None), totals);
    (totals, gradient)
}

#[test]
fn both_passes_have_the_same_bits() {
    let owned = drawn(24);
    for set in Set::ALL {
        let (totals, gradient) = both(set, &owned.lend(), &LOSS);
        assert_eq!((totals.children, totals.parents), (owned.lend().first_child[24].into(), 24));
        assert!(gradient.iter().any(|&g| g != 0));
    }
}

#[test]
fn windows_and_draws_leave_out_the_same_children() {
    let owned = drawn(24);
    let all = both(Set::PieceSquare, &owned.lend(), &LOSS).0;
    let window = both(Set::PieceSquare, &owned.lend(), &Loss { window: 0.02, ..LOSS }).0;
    let drawn = both(Set::PieceSquare, &owned.lend(), &Loss { siblings: 2, ..LOSS }).0;
    let other = both(Set::PieceSquare, &owned.lend(), &Loss { siblings: 2, seed: 1, ..LOSS }).0;
    assert!(window.children < all.children && window.children > all.parents);
    assert_eq!(drawn.children, 6 * (1 + 2 + 3 + 3));
    assert!(drawn.children == other.children && drawn.loss != other.loss);
    // Ranks are among all legal moves, whatever counts.
    for totals in [window, drawn, other] {
        assert_eq!((totals.first, totals.first_three), (all.first, all.first_three));
    }
}

#[test]
fn draws_have_the_smallest_lots() {
    let loss = Loss { siblings: 10, seed: 5, ..LOSS };
    let drawn = draws(&loss, 99, 41, 30);
    assert_eq!(drawn.iter().filter(|&&drawn| drawn).count(), 10);
    assert_ne!(drawn, draws(&loss, 98, 41, 30));
    assert_ne!(drawn, draws(&loss, 99, 42, 30));
    assert_eq!(draws(&loss, 99, 41, 10), [true; 10]);
    // More are drawn on top of fewer.
    let more = draws(&Loss { siblings: 11, ..loss }, 99, 41, 30);
    assert!(drawn.iter().zip(&more).all(|(few, many)| !few || *many));
}

#[test]
fn the_gradient_is_that_of_the_loss() {
    let owned = drawn(12);
    let columns = owned.lend();
    for set in [Set::Material, Set::MaterialHand, Set::PieceSquare, Set::KingPiece] {
        let weights = weights(set);
        let gradient = both(set, &columns, &LOSS).1;
        let mut seen = 0;
        for index in (0..weights.len()).filter(|&index| gradient[index] != 0).step_by(1 + weights.len() / 500) {
            let step = 1.0 / 1024.0;
            let at = |step: f32| {
                let mut weights = weights.clone();
                weights[index] += step;
                pass(set, &weights, &columns, &LOSS, None).loss as f64 / ONE
            };
            let numeric = (at(step) - at(-step)) / f64::from(2.0 * step);
            let analytic = gradient[index] as f64 / ONE;
            assert!((numeric - analytic).abs() < 1e-3, "{set:?} {index}: {analytic} {numeric}");
            seen += 1;
        }
        assert!(seen > 5);
    }
}

#[test]
fn colours_exchanged_turn_the_sign() {
    let owned = drawn(8);
    for set in Set::ALL {
        let weights = weights(set);
        for list in &owned.pieces {
            let view = features::View { side: 1, mirrored: false };
            let mut turned = *list;
            for slot in 0..38 {
                turned[slot] = features::piece(list[slot]).map_or(0, |piece| number(&view.piece(&piece)));
            }
            (turned[38], turned[39]) = (80 - list[39], 80 - list[38]);
            assert_eq!(evaluate(set, &weights, &turned), -evaluate(set, &weights, list), "{set:?}");
        }
    }
}

#[test]
fn left_and_right_are_the_same_to_kings() {
    let list = &mut drawn(1).pieces[0];
    // Both kings off the middle file, on one wing.
    (list[38], list[39]) = (16, 10);
    let mut mirrored = *list;
    for slot in 0..38 {
        let mirror = |piece: Piece| Piece { square: piece.square.map(|s| (8 - s / 9) * 9 + s % 9), ..piece };
        mirrored[slot] = features::piece(list[slot]).map_or(0, |piece| number(&mirror(piece)));
    }
    for slot in [38, 39] {
        let king = usize::from(list[slot]);
        mirrored[slot] = ((8 - king / 9) * 9 + king % 9) as u16;
    }
    for set in [Set::KingPiece, Set::KingKingPiece, Set::KingPiecePiece] {
        let weights = weights(set);
        assert_eq!(evaluate(set, &weights, &mirrored), evaluate(set, &weights, list), "{set:?}");
    }
}

#[test]
fn ranks_by_hand() {
    let owned = Owned {
        pieces: vec![[0; 40]],
        sides: vec![0],
        plies: vec![1],
        games: vec![1],
        played: vec![2],
        first_child: vec![0, 6],
        first_change: vec![0; 7],
        changes: vec![],
    };
    let ranks = |evaluations: [f64; 6]| {
        let totals = judge(&owned.lend(), 0, &evaluations, &LOSS, &mut Vec::new());
        (totals.first, totals.first_three)
    };
    let share = |x: f64| i128::from(crate::shogi::fixed(x));
    // Child 2 is the played move itself and no rival.
    assert_eq!(ranks([1.0, 0.0, 1.0, 0.0, 0.0, 0.0]), (share(1.0), share(1.0)));
    assert_eq!(ranks([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]), (share(0.5), share(1.0)));
    assert_eq!(ranks([1.0; 6]), (share(0.2), share(0.6)));
    assert_eq!(ranks([1.0, 2.0, 1.0, 2.0, 1.0, 1.0]), (0, share(1.0 / 3.0)));
    assert_eq!(ranks([1.0, 2.0, 1.0, 2.0, 2.0, 1.0]), (0, 0));
}
