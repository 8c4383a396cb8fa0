//! The games of the repository, and parts of positions.

use std::collections::HashMap;
use std::path::Path;

use warpplay::Result;
use warpplay::shogi::dataset::Dataset;
use warpplay::shogi::records::Records;
use warpplay::shogi::{Selection, Shard};

/// A hundred games with `--quick`, where no others are given: lists of USI moves, packed by gzip. Where they come from stands in `tests/golden/shogi/README.md`.
pub const GAMES: &[u8] = include_bytes!("../../../data/first_100.usi.txt.gz");

/// The positions of these games that the paper takes, half-moves 40 to 79.
///
/// # Errors
/// None: the games are part of the program.
pub fn games() -> Result<Dataset> {
    Dataset::builder().build(&Records::from_bytes(Path::new("first_100.usi.txt.gz"), GAMES))
}

/// The parents of the first games in some half-moves, the first and the one after the last; a shard for each of the given ones.
pub(super) fn part(shards: &[&Shard], games: u32, (first, end): (u32, u32)) -> Result<Vec<Shard>> {
    let mut numbers = HashMap::new();
    let mut parts = Vec::new();
    for &shard in shards {
        let mut wanted = Vec::new();
        for (parent, (&game, &ply)) in (0..).zip(shard.games.iter().zip(shard.plies.iter())) {
            let next = numbers.len() as u32;
            let number = *numbers.entry(game).or_insert(next);
            if number < games && (first..end).contains(&ply.into()) {
                wanted.push(parent);
            }
        }
        parts.push(Selection { shard, parents: Some(&wanted) }.to_shard()?.into_owned());
    }
    Ok(parts)
}

/// The first parents, at most so many, as one shard.
pub(super) fn first(shards: &[&Shard], parents: usize) -> Result<Shard> {
    let Some(&shard) = shards.iter().find(|shard| shard.n_parents() > 0) else { return Ok(Shard::default()) };
    let wanted: Vec<u32> = (0..shard.n_parents().min(parents) as u32).collect();
    Ok(Selection { shard, parents: Some(&wanted) }.to_shard()?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpplay::shogi::Window;

    #[test]
    fn parts_are_of_the_first_games() {
        let set = games().unwrap();
        assert_eq!((set.n_parents(), set.n_children()), (3823, 272_355));
        let shards = set.views();
        let parents = |parts: &[Shard]| parts.iter().map(Shard::n_parents).sum::<usize>();
        assert_eq!(parents(&part(&shards, 100, (0, 80)).unwrap()), 3823);
        let some = part(&shards, 3, (40, 60)).unwrap();
        // What the builder makes of these games and half-moves; one of them is over before the last.
        let window = |start, end| Window { start, end, step: 1 };
        let records = Records::from_bytes(Path::new("first_100.usi.txt.gz"), GAMES);
        let built = Dataset::builder().games(window(0, 3)).plies(window(40, 60)).build(&records).unwrap();
        assert_eq!(parents(&some) as u64, built.n_parents());
        let fingerprint = |shards: &[&Shard]| shards.iter().map(|shard| shard.fingerprint()).fold(0, u64::wrapping_add);
        assert_eq!(fingerprint(&some.iter().collect::<Vec<_>>()), fingerprint(&built.views()));
        assert!(some.iter().flat_map(|shard| shard.plies.iter()).all(|&ply| (40..60).contains(&ply)));
        // Half-moves before the first one are left out too.
        let late = part(&shards, 3, (50, 60)).unwrap();
        assert!(
            parents(&late) > 0 && late.iter().flat_map(|shard| shard.plies.iter()).all(|ply| (50..60).contains(ply))
        );
        assert_eq!(first(&shards, 7).unwrap().n_parents(), 7);
        assert!(GAMES.len() < 100_000);
    }
}
