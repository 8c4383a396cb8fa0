//! Ranks: sums, gathers, the source's learning divided in both ways, failures; as threads of this process.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use warpplay::shogi::dataset::Dataset;
use warpplay::shogi::material::{Form, Material};
use warpplay::shogi::ranks::{self, Alone, Ranks, Split, Threads};
use warpplay::shogi::records::{Game, Outcome, Records, Source};
use warpplay::shogi::{Objective, Row, Shard, Window};
use warpplay::{Device, Error};
use warpplay_tests::learning::{Distinct, same_as_reference};

/// Some more ranks than the twelve values too.
const SIZES: [usize; 8] = [1, 2, 3, 4, 5, 7, 12, 13];

fn go_on(_: &Row) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn any_rank_can_end_the_learning() {
    let (all, _) = Distinct::reference();
    for split in [Split::Features, Split::Data] {
        let answers = Threads::run(3, |ranks| {
            let (rank, size) = if split == Split::Data { (ranks.rank(), ranks.size()) } else { (0, 1) };
            let watch = |row: &Row| match ranks.rank() == 1 && row.iteration == 2 {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            };
            ranks::reproduce(&mut all.share(rank, size), ranks, split, &Objective::default(), &[3.0; 12], 10, watch)
        });
        assert!(answers.unwrap().iter().all(|rows| rows.len() == 3), "{split}");
    }
}

#[test]
fn the_sources_learning_is_the_same_with_any_ranks_and_split() {
    let (all, reference) = Distinct::reference();
    let objective = Objective::default();
    let learn = |size: usize, split: Split| -> Vec<Row> {
        let answers = Threads::run(size, |ranks| {
            let mut work = match split {
                Split::Features => all.share(0, 1),
                Split::Data => all.share(ranks.rank(), ranks.size()),
            };
            ranks::reproduce(&mut work, ranks, split, &objective, &[3.0; 12], 10, go_on)
        });
        let mut answers = answers.unwrap();
        let rows = answers.swap_remove(0);
        assert!(answers.iter().all(|other| *other == rows), "{size} ranks, {split}");
        rows
    };
    let rows = learn(1, Split::Features);
    for size in SIZES {
        for split in [Split::Features, Split::Data] {
            assert_eq!(learn(size, split), rows, "{size} ranks, {split}");
        }
    }
    assert_eq!(rows.len(), 11);
    same_as_reference(&rows, &reference);
}

#[test]
fn sums_and_gathers_are_of_all_ranks_in_order() {
    for size in SIZES {
        let answers = Threads::run(size, |ranks| {
            let rank = ranks.rank();
            assert_eq!(ranks.size(), size);
            let mut total = Vec::new();
            for round in 0..50 {
                // Ranks come at different times.
                if (rank + round) % 3 == 0 {
                    std::thread::sleep(Duration::from_micros(50));
                }
                let mut values = [rank as i64, i64::MAX, round as i64];
                ranks.sum(&mut values)?;
                total.push(values);
                let gathered = ranks.gather(&vec![rank as f64; rank + round % 2])?;
                let expected: Vec<f64> = (0..size).flat_map(|rank| vec![rank as f64; rank + round % 2]).collect();
                assert_eq!(gathered, expected);
                let bytes = ranks.gather_bytes(&vec![7; rank])?;
                assert!(bytes.iter().enumerate().all(|(rank, bytes)| *bytes == vec![7; rank]));
            }
            Ok(total)
        });
        let n = size as i64;
        for total in answers.unwrap() {
            for (round, values) in total.into_iter().enumerate() {
                assert_eq!(values, [n * (n - 1) / 2, i64::MAX.wrapping_mul(n), n * round as i64]);
            }
        }
    }
    let mut values = [1, 2];
    Alone.sum(&mut values).unwrap();
    assert_eq!((values, Alone.gather(&[0.5]).unwrap()), ([1, 2], vec![0.5]));
}

#[test]
fn a_rank_that_fails_or_leaves_ends_the_others() {
    // It fails before the others' sum.
    let error = Threads::run(4, |ranks| match ranks.rank() {
        2 => Err(Error::option("rate", -1, "0 or more")),
        _ => ranks.sum(&mut [0]),
    });
    assert_eq!(error.unwrap_err().to_string(), "option rate: -1 is not allowed (0 or more)");
    // What the others are told.
    let told = AtomicU32::new(0);
    let run = Threads::run(3, |ranks| {
        if ranks.rank() == 0 {
            return Err(Error::file("games", None, "is gone"));
        }
        let error = ranks.sum(&mut [0]).unwrap_err();
        assert_eq!(error.to_string(), "rank 0 of 3: games: is gone");
        told.fetch_add(1, Ordering::Relaxed);
        Err::<(), _>(error)
    });
    assert_eq!((run.unwrap_err().to_string(), told.into_inner()), ("games: is gone".into(), 2));
    // It ends without an error, too early.
    let error = Threads::run(3, |ranks| if ranks.rank() == 1 { Ok(()) } else { ranks.sum(&mut [0]) });
    assert_eq!(error.unwrap_err().to_string(), "rank 1 of 3: it has ended");
    // It does something else.
    let error =
        Threads::run(2, |ranks| if ranks.rank() == 1 { ranks.gather(&[]).map(|_| ()) } else { ranks.sum(&mut [0]) });
    assert!(matches!(error, Err(Error::Rank { .. })), "{error:?}");
    let error = Threads::run(2, |ranks| ranks.sum(&mut vec![0; ranks.rank() + 1]));
    assert!(error.unwrap_err().to_string().contains("sums"));
}

#[test]
fn ranks_without_positions_take_part_with_nothing() {
    // A parent is of one rank: the others have none.
    let start = Some("4k4/9/4p4/9/9/9/4P4/9/4K4 b - 1");
    let game =
        Game::new(start, vec!["5g5f".parse().unwrap()], Outcome::Unknown, Source { file: "game".into(), line: 1 });
    let records = Records { games: vec![game.unwrap()], skipped: Vec::new() };
    let plies = Window { start: 0, end: 1, step: 1 };
    let set = Dataset::builder().plies(plies).build(&records).unwrap();
    assert_eq!(set.n_parents(), 1);
    let objective = Objective::default();
    let build = |shards: &[&Shard]| Material::build(&Device::cpu(), Form::Plain, shards, objective, 1);
    let rows = build(&set.views()).unwrap().run([3.0; 12], 4).unwrap();
    for (size, split) in [(1, Split::Data), (3, Split::Data), (3, Split::Features), (14, Split::Features)] {
        let answers = Threads::run(size, |ranks| {
            let mut work = ranks::part(ranks, split, &set.views(), build)?;
            ranks::reproduce(&mut *work, ranks, split, &objective, &[3.0; 12], 4, go_on)
        });
        assert!(answers.unwrap().iter().all(|found| *found == rows), "{size} ranks, {split}");
    }
}

#[test]
fn bad_groups_are_refused() {
    let error = Threads::run(0, |_| Ok(()));
    assert_eq!(error.unwrap_err().to_string(), "option ranks: 0 is not allowed (1 or more)");
    let mut nothing = Distinct::nothing();
    let objective = Objective::default();
    let mut run = |init: f64, split| ranks::reproduce(&mut nothing, &Alone, split, &objective, &[init; 12], 1, go_on);
    assert!(matches!(run(3.0, Split::Data), Err(Error::Shape { .. })));
    assert!(matches!(run(f64::NAN, Split::Features), Err(Error::Option { name: "init", .. })));
    assert!("rows".parse::<Split>().is_err());
}
