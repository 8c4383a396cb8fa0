//! How trees are cut, and that a solve goes on from its tables with the same bits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use warpplay_gpu::cfr::walk::op::{NO_ACTION, Op, kind};

use super::engine::{build, fits};
use super::information::Information;
use super::plan::Plan;
use crate::cfr::game::cards::CardSet;
use crate::cfr::game::{Buckets, GameDef};
use crate::cfr::options::{Options, Sampling};
use crate::{Device, Precision};

/// One card each of `cards` of one suit, an ante of 1 and raises of 1.
fn sweep_game(players: usize, raises: u32, cards: u32) -> crate::Result<GameDef> {
    GameDef::parse(&format!(
        "GAMEDEF\nlimit\nnumPlayers = {players}\nnumRounds = 1\nstack = {}\nblind = {}\nraiseSize = 1\nmaxRaises = {raises}\n\
         numSuits = 1\nnumRanks = {cards}\nnumHoleCards = 1\nnumBoardCards = 0\nEND GAMEDEF\n",
        "1000 ".repeat(players),
        "1 ".repeat(players),
    ))
}

fn plan(players: usize, raises: u32) -> Plan {
    Plan::of(&sweep_game(players, raises, 8).expect("a game"), &Information::Exact).expect("a plan")
}

#[test]
fn every_sequence_is_in_one_piece_and_needs_earlier_ones_only() {
    for (players, raises) in [(2, 1), (4, 2), (5, 3)] {
        let Plan { sequences, pieces, .. } = plan(players, raises);
        let mut seen = vec![0; sequences.sequences.len()];
        let mut stage = 0;
        for (piece, &start) in pieces.starts.iter().enumerate() {
            if piece as u32 == pieces.stages[stage].first + pieces.stages[stage].n {
                stage += 1;
            }
            let this = pieces.stages[stage];
            assert!((this.first..this.first + this.n).contains(&(piece as u32)));
            let (mut depth, mut deepest, mut n) = (0, 0, 0);
            for &packed in &pieces.ops[start as usize..] {
                let op = Op::unpacked(packed);
                match op.kind {
                    kind::ENTER => {
                        assert_eq!(op.action == NO_ACTION, depth == 0);
                        let sequence = pieces.rows.binary_search(&op.index).expect("a row");
                        seen[sequence] += 1;
                        (depth, n) = (depth + 1, n + 1);
                        deepest = deepest.max(depth);
                    }
                    kind::EXIT => depth -= 1,
                    kind::LEAF => assert!(op.index < this.first, "piece {piece} needs {}", op.index),
                    kind::STOP => break,
                    _ => {}
                }
            }
            assert_eq!(depth, 0);
            assert!(deepest <= this.depth && n <= 64, "piece {piece}: {n} sequences, {deepest} deep");
        }
        assert!(seen.iter().all(|&times| times == 1));
        assert_eq!(pieces.stages.last().map(|stage| stage.n), Some(1));
    }
}

/// Buckets whose number grows each time that it is asked for.
struct Growing(AtomicU32);

impl Buckets for Growing {
    fn n_buckets(&self, _: usize) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    fn bucket(&self, _: usize, _: CardSet, _: CardSet) -> u32 {
        u32::MAX
    }
}

#[test]
fn numbers_of_buckets_are_asked_for_once() {
    let information = Information::Buckets(Arc::new(Growing(AtomicU32::new(3))));
    let plan = Plan::of(&sweep_game(2, 1, 8).expect("a game"), &information).expect("a plan");
    assert_eq!((plan.buckets.n_buckets(0), plan.buckets.bucket(0, 1, 0)), (3, 2));
    assert_eq!(plan.pieces.rows.windows(2).map(|rows| rows[1] - rows[0]).max(), Some(3));
}

#[test]
fn a_solve_goes_on_from_its_tables_with_the_same_bits() {
    let device = Device::simt();
    let game = sweep_game(3, 2, 4).expect("a game");
    for precision in [Precision::F32, Precision::F64] {
        let options = Options { sampling: Sampling::Chance, batch: 7, precision, ..Options::default() };
        fits(&device, &game, &Information::Exact, &options).expect("small");
        let engine = || build(&device, &game, &Information::Exact, &options).expect("an engine");
        let mut whole = engine();
        whole.run(9).expect("runs");
        let mut first = engine();
        first.run(4).expect("runs");
        let tables = first.tables().expect("tables");
        let mut second = engine();
        second.set_tables(&tables).expect("its own tables");
        second.run(5).expect("runs");
        assert_eq!(second.tables().expect("tables"), whole.tables().expect("tables"));
        assert_eq!(second.utilities().expect("utilities"), whole.utilities().expect("utilities"));

        let mut short = tables;
        short.regrets.pop();
        assert!(second.set_tables(&short).expect_err("a seat is missing").to_string().contains("regrets"));
    }
}
