//! Ranks: sums, gathers, failures; as threads of this process.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use warpplay::Error;
use warpplay::shogi::ranks::{Alone, Ranks, Threads};

/// Some groups.
const SIZES: [usize; 8] = [1, 2, 3, 4, 5, 7, 12, 13];

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
fn bad_groups_are_refused() {
    let error = Threads::run(0, |_| Ok(()));
    assert_eq!(error.unwrap_err().to_string(), "option ranks: 0 is not allowed (1 or more)");
}
