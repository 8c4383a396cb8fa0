//! Rows of the gradient by kernels beside the same on the host.

use warpplay_gpu::shogi::sparse::exchange::ROW;

use super::cpu::learn::CpuEngine;
use super::learn::Learn;
use super::sparse::DeviceEngine;
use crate::shogi::Window;
use crate::shogi::dataset::Dataset;
use crate::shogi::features::FeatureSet;
use crate::shogi::learner::Learner;
use crate::shogi::loss::Loss;
use crate::shogi::options::SparseOptions;
use crate::shogi::records::Records;
use crate::shogi::sound::LOOKED;
use crate::shogi::sparse::Sparse;
use crate::{Device, Progress, Result};

/// A gradient with some numbers that are not 0, the last weight's among them.
fn gradient(n: usize) -> Vec<i64> {
    let mut gradient = vec![0; n];
    for (at, term) in gradient.iter_mut().enumerate() {
        if at * 2_654_435_761 % 101 == 0 || at == n - 1 || at / 16 == 33 {
            *term = (at as i64 * 7_919 - 1_000_003) << 20 | 1;
        }
    }
    gradient
}

fn rows_that_differ_from_zero(gradient: &[i64]) -> Vec<u32> {
    let touched = |row: &&[i64]| row.iter().any(|&term| term != 0);
    (0..).zip(gradient.chunks(ROW as usize)).filter(|(_, row)| touched(row)).map(|(number, _)| number).collect()
}

#[test]
fn rows_of_kernels_are_those_of_the_host() -> Result<()> {
    let device = Device::simt();
    for features in [FeatureSet::Material, FeatureSet::MaterialHand, FeatureSet::PieceSquare, FeatureSet::KingPiece] {
        // Of the smallest sets the last row reaches beyond the weights.
        assert!(features.len() > 100 || !features.len().is_multiple_of(ROW as usize), "{features}");
        let gradient = gradient(features.len());
        let rows = rows_that_differ_from_zero(&gradient);
        let mut engines: [Box<dyn Learn>; 2] = [
            Box::new(CpuEngine::new(features, &SparseOptions::default())?),
            Box::new(DeviceEngine::new(&device, features, &SparseOptions::default())?),
        ];
        for engine in &mut engines {
            assert_eq!(engine.touched()?, [0; 0]);
            engine.set_gradient(&gradient)?;
            assert_eq!(engine.touched()?, rows, "{features}");
            let values = engine.rows(&rows)?;
            let padded = |at: usize| gradient.get(at).copied().unwrap_or(0);
            let expected = rows.iter().flat_map(|row| (row * ROW..(row + 1) * ROW).map(|at| padded(at as usize)));
            assert!(values.iter().copied().eq(expected), "{features}");
            assert_eq!(engine.rows(&[])?, [0; 0]);
            engine.set_rows(&[], &[])?;
            // Other numbers in the same rows; the rest stays 0.
            let others: Vec<i64> = values.iter().map(|value| value.wrapping_mul(3).wrapping_add(1)).collect();
            engine.set_rows(&rows, &others)?;
            let mut expected = gradient.clone();
            for (&row, others) in rows.iter().zip(others.chunks(ROW as usize)) {
                let from = (row * ROW) as usize;
                let to = (from + ROW as usize).min(expected.len());
                expected[from..to].copy_from_slice(&others[..to - from]);
            }
            assert!(engine.gradient()? == expected, "{features}");
            let beyond = features.len().div_ceil(ROW as usize) as u32;
            let error = engine.rows(&[beyond]).unwrap_err().to_string();
            assert_eq!(error, format!("row of a gradient: expected below {beyond}, got {beyond}"));
            let error = engine.set_rows(&[0], &[1; 3]).unwrap_err().to_string();
            assert_eq!(error, "values of rows: expected 16, got 3");
        }
    }
    Ok(())
}

#[test]
fn what_engines_lend_is_added_on_the_device() -> Result<()> {
    let device = Device::simt();
    let features = FeatureSet::PieceSquare;
    let gradient = gradient(features.len());
    let rows = rows_that_differ_from_zero(&gradient);
    let mut engines = Vec::new();
    for factor in 1..=3_i64 {
        let mut engine = DeviceEngine::new(&device, features, &SparseOptions::default())?;
        engine.set_gradient(&gradient.iter().map(|term| term.wrapping_mul(factor)).collect::<Vec<_>>())?;
        engines.push(engine);
    }
    let lent = engines.iter_mut().map(|engine| engine.lend_rows(&rows)).collect::<Result<Vec<_>>>()?;
    engines[0].add_lent(&rows, &lent[1..])?;
    assert!(engines[0].gradient()?.iter().zip(&gradient).all(|(sum, term)| *sum == term.wrapping_mul(6)));
    assert!(engines[0].lends_on().is_some());
    // What is no rows of a gradient is refused, and host memory lends nothing.
    assert!(engines[0].add_lent(&rows, &[std::sync::Arc::new(7_u8)]).is_err());
    let mut host = CpuEngine::new(features, &SparseOptions::default())?;
    assert!(host.lends_on().is_none() && host.lend_rows(&rows).is_err() && host.add_lent(&rows, &lent).is_err());
    Ok(())
}

/// How often the columns of shards are looked at meanwhile.
fn looks<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, u32)> {
    let before = LOOKED.get();
    let made = work()?;
    Ok((made, LOOKED.get() - before))
}

/// What a learner has borrowed cannot change: its columns are looked at when it is built, and in no step. A step took longer than the pass where each looked again.
#[test]
fn columns_are_looked_at_before_the_first_step_only() -> Result<()> {
    let records = Records::from_bytes("game.usi".as_ref(), b"7g7f 3c3d 8h2b+ 3a2b");
    let plies = Window { start: 0, end: 4, step: 1 };
    let set = Dataset::builder().plies(plies).shard_parents(2).build(&records)?;
    let shards = set.views();
    assert_eq!(shards.len(), 2);
    for device in [Device::cpu(), Device::simt()] {
        let builder = Learner::builder(&set).features(FeatureSet::PieceSquare).iterations(5);
        let (mut learner, built) = looks(|| builder.build(&device))?;
        assert!(built > 0, "{device}");
        let (report, learnt) = looks(|| learner.run(Progress::go_on))?;
        assert_eq!((report.rows.len(), learnt), (6, 0), "{device}");
        // Whoever goes step by step may have changed a shard. One that is on the device is known there, and what comes there is looked at.
        let mut sparse = Sparse::builder(FeatureSet::PieceSquare).build(&device)?;
        let mut pass = || Ok::<_, crate::Error>(looks(|| sparse.pass(&shards, &Loss::default(), true))?.1);
        let again = if device == Device::cpu() { 2 } else { 0 };
        assert_eq!([pass()?, pass()?, pass()?], [2, again, again], "{device}");
        sparse.forget()?;
        assert_eq!(looks(|| sparse.pass(&shards, &Loss::default(), true))?.1, 2, "{device}");
    }
    Ok(())
}
