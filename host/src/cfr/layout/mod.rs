//! How a problem is laid out in tables: what the engines have in common.
//!
//! | file | what |
//! | --- | --- |
//! | `vector`, `build`, `entries`, `size`, `keys` | [`VectorGame`]: two players' public tree × vectors of hands, made from the rules or a spot |
//! | `boards`, `suits` | which boards differ by names of suits only |
//! | `terminals` | sums over the hands that can be held beside a hand |
//! | `buckets` | betting trees by what can be known of the cards |
//! | `layouts`, `row`, `public` | where every information set of any layout stands, and its name |
//! | `tables`, `number` | what an engine remembers between two iterations, and in which number types |

mod boards;
mod buckets;
mod build;
mod entries;
mod keys;
mod layouts;
mod number;
pub(in crate::cfr) mod public;
mod row;
mod size;
mod suits;
mod tables;
mod terminals;
mod vector;

pub use keys::TableIndex;
pub use size::VectorSize;
pub use suits::SuitMap;
pub use vector::{Board, Entry, Lock, Node, Street, VectorGame};

pub(in crate::cfr) use buckets::Buckets;
pub(in crate::cfr) use build::Setup;
pub(in crate::cfr) use entries::SetupLock;
pub(in crate::cfr) use layouts::{Layout, LayoutKind};
pub(in crate::cfr) use number::Number;
pub(in crate::cfr) use row::Row;
pub(in crate::cfr) use tables::{Measured, Tables, Values};
pub(in crate::cfr) use terminals::{Removal, Shown, showdown};

/// Most histories that are written out for the sake of one measurement: a minute, and some gigabytes.
pub(in crate::cfr) const MOST_MEASURED: u128 = 20_000_000;
