//! Kernels on differences of material: a word a child ([`difference`](super::difference)) instead of a position.
//!
//! With material alone a child differs from the played one only by what was captured and promoted: of millions of children most have a difference of 0, and all
//! together have a few thousand different ones. So a child is a word, those with 0 need not be looked at (T(0) = 1/2), and equal words can be counted.
//!
//! | kernel | what it does for a child or a row |
//! | --- | --- |
//! | [`shogi_material_plain`](children::shogi_material_plain) | thirteen sums of products, thirteen exponentials |
//! | [`shogi_material_fused`](children::shogi_material_fused) | one sum of products, one exponential, a division for each number that is not 0 |
//! | [`shogi_material_histogram`](histogram::shogi_material_histogram) | the plain terms, times the row's count |
//! | [`shogi_material_gradient`](histogram::shogi_material_gradient) | the analytic gradient, a block a value |
//! | [`shogi_material_count`](count::shogi_material_count) | counts equal words: a table in shared memory a block, then one for all |
//!
//! All sums are whole numbers and equal on every back end; the fused terms differ from the plain ones by roundings.

pub mod children;
pub mod count;
pub mod histogram;

crate::kernel_set! {
    /// The kernels for material.
    children::shogi_material_plain,
    children::shogi_material_fused,
    histogram::shogi_material_histogram,
    histogram::shogi_material_gradient,
    count::shogi_material_count,
}
