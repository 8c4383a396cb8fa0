//! Positions to learn from.

use std::path::PathBuf;

use warpplay_gpu::azero::train::samples::{Visit, words};

use crate::azero::{GameRecord, NetworkShape, ObservationLayout, ValueOf, checkers, read_records};
use crate::mcts::Game;
use crate::runtime::fnv::Fnv;
use crate::{Error, Result};

/// Training positions, each with the visit counts of the search and the result of the game.
///
/// Observations consist of zeros and ones and are stored as bits, like the legal actions. A position of checkers takes about 200 bytes.
///
/// ```
/// use warpplay::azero::train::Samples;
/// use warpplay::azero::{NetworkShape, ObservationLayout, ValueOf};
///
/// let shape = NetworkShape { rows: 1, columns: 2, planes: 1, actions: 3, ..NetworkShape::default() };
/// let mut samples = Samples::new(shape, ObservationLayout::Default, ValueOf::Mover)?;
/// samples.push(0, &[0.0, 1.0], &[1, 0, 1], &[(0, 30), (2, 10)], 1.0)?;
/// let error = samples.push(0, &[0.0, 1.0], &[1, 0, 1], &[(1, 30)], 1.0).unwrap_err();
/// assert!(error.to_string().contains("action 1, which is illegal"));
/// # Ok::<(), warpplay::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    pub(super) cells: u32,
    pub(super) planes: u32,
    pub(super) actions: u32,
    pub(super) observation: ObservationLayout,
    pub(super) value_of: ValueOf,
    /// For each position, the bits `plane · cells + cell`.
    pub(super) bits: Vec<u32>,
    /// For each position, a bit for each action, set if it is legal.
    pub(super) legal: Vec<u32>,
    /// The index of each position's first visit, and the total number of visits at the end.
    pub(super) first: Vec<u32>,
    pub(super) visits: Vec<Visit>,
    /// Sum of each position's counts.
    pub(super) total: Vec<u32>,
    pub(super) values: Vec<f32>,
    /// The game of each position.
    pub(super) games: Vec<u64>,
}

/// Most positions of a set.
const MAX_SAMPLES: usize = u32::MAX as usize / 2;

impl Samples {
    /// Makes an empty set for networks of this shape, layout of observations and meaning of values.
    ///
    /// # Errors
    /// [`Error::Option`] for a size that is not allowed.
    pub fn new(shape: NetworkShape, observation: ObservationLayout, value_of: ValueOf) -> Result<Self> {
        shape.check()?;
        Ok(Self {
            cells: shape.cells() as u32,
            planes: shape.planes,
            actions: shape.actions,
            observation,
            value_of,
            bits: Vec::new(),
            legal: Vec::new(),
            first: vec![0],
            visits: Vec::new(),
            total: Vec::new(),
            values: Vec::new(),
            games: Vec::new(),
        })
    }

    /// Number of positions.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The layout of the observations.
    pub fn observation(&self) -> ObservationLayout {
        self.observation
    }

    /// The player whose results are the values.
    pub fn value_of(&self) -> ValueOf {
        self.value_of
    }

    /// Adds a position of game `game`.
    ///
    /// * `observation`: `[planes, rows, columns]`, zeros and ones.
    /// * `legal`: `[actions]`, not 0 for a legal action.
    /// * `visits`: actions and the number of times that the search took them, in any order.
    /// * `value`: how the game ended, -1 to 1.
    ///
    /// # Errors
    /// [`Error::Shape`] for a wrong length, another number in the observation, no legal action, no visit, a visit of an illegal action two entries of one action, counts
    /// beyond 2^32, or a value out of range; nothing is added then.
    pub fn push(
        &mut self,
        game: u64,
        observation: &[f32],
        legal: &[u8],
        visits: &[(u32, u32)],
        value: f64,
    ) -> Result<()> {
        let expect = |what: &str, expected: usize, got: usize| match got == expected {
            true => Ok(()),
            false => Err(Error::shape(what, expected, got)),
        };
        expect("length of the observation", (self.planes * self.cells) as usize, observation.len())?;
        expect("length of the legal actions' mask", self.actions as usize, legal.len())?;
        if let Some(at) = observation.iter().position(|&value| value != 0.0 && value != 1.0) {
            return Err(Error::shape(format!("element {at} of the observation"), "0 or 1", observation[at]));
        }
        if legal.iter().all(|&legal| legal == 0) {
            return Err(Error::shape("legal actions of a position", "at least one", "none"));
        }
        if !(-1.0..=1.0).contains(&value) {
            return Err(Error::shape("value of a position", "-1 to 1", value));
        }
        if self.len() >= MAX_SAMPLES {
            return Err(Error::shape("positions of a set", format!("at most {MAX_SAMPLES}"), self.len() + 1));
        }
        let mut sorted = visits.to_vec();
        sorted.sort_unstable();
        let mut total = 0u32;
        for (number, &(action, count)) in sorted.iter().enumerate() {
            if legal.get(action as usize).is_none_or(|&legal| legal == 0) {
                let got = format!("{count} of action {action}, which is illegal");
                return Err(Error::shape("visits of a position", "legal actions only", got));
            }
            if number > 0 && sorted[number - 1].0 == action {
                return Err(Error::shape("visits of a position", "one entry an action", format!("two of {action}")));
            }
            total = total
                .checked_add(count)
                .ok_or_else(|| Error::shape("visits of a position", format!("at most {} in all", u32::MAX), "more"))?;
        }
        if total == 0 {
            return Err(Error::shape("visits of a position", "at least one", "none"));
        }
        let visited = sorted.iter().filter(|(_, count)| *count > 0);
        let end = self.visits.len() + sorted.len();
        u32::try_from(end)
            .map_err(|_| Error::shape("visits of all positions", format!("at most {}", u32::MAX), end))?;
        self.visits.extend(visited.map(|&(action, count)| Visit { action, count }));
        self.bits.extend(packed(observation.iter().map(|&value| value != 0.0)));
        self.legal.extend(packed(legal.iter().map(|&legal| legal != 0)));
        self.first.push(self.visits.len() as u32);
        self.total.push(total);
        self.values.push(value as f32);
        self.games.push(game);
        Ok(())
    }

    /// Takes the positions of self-play games. Every game is replayed and checked.
    ///
    /// # Errors
    /// [`Error::Shape`] naming game, ply and the first error, and for no games.
    pub fn from_records(records: &[GameRecord], observation: ObservationLayout, value_of: ValueOf) -> Result<Self> {
        let mut samples = Self::new(NetworkShape::default(), observation, value_of)?;
        for (number, record) in records.iter().enumerate() {
            let wrong =
                |reason: String| Error::shape(format!("game {number} of the records"), "a game by the rules", reason);
            let positions = record.replay().map_err(wrong)?;
            for (ply, (position, visits)) in positions.iter().zip(&record.visits).enumerate() {
                let mover = position.to_move();
                let player = match value_of {
                    ValueOf::First => 0,
                    ValueOf::Mover => mover.index(),
                };
                let observed = checkers::observation(position, mover, observation);
                let visits: Vec<(u32, u32)> = visits.iter().map(|&[action, count]| (action, count)).collect();
                let value = record.returns[player] as f64;
                let legal = checkers::legal_mask(position);
                let added = samples.push(number as u64, &observed, &legal, &visits, value);
                added.map_err(|error| wrong(format!("ply {ply}: {error}")))?;
            }
        }
        match samples.is_empty() {
            true => Err(Error::shape("positions to learn from", "at least one", 0)),
            false => Ok(samples),
        }
    }

    /// Takes the positions from JSON lines files of self-play games.
    ///
    /// # Errors
    /// [`Error::File`] naming file, line and ply of the first error; also for a file that cannot be read or has no games.
    pub fn read(files: &[PathBuf], observation: ObservationLayout, value_of: ValueOf) -> Result<Self> {
        let mut records = Vec::new();
        for file in files {
            records.extend(read_records(file)?);
        }
        Self::from_records(&records, observation, value_of)
    }

    /// Checks that a network of this shape and meaning can learn from the positions.
    pub(super) fn check(&self, shape: NetworkShape, observation: ObservationLayout, value_of: ValueOf) -> Result<()> {
        let own = (self.planes, self.cells as usize, self.actions);
        let other = (shape.planes, shape.cells(), shape.actions);
        if own != other {
            let text = |(planes, cells, actions)| format!("{planes} planes of {cells} squares, {actions} actions");
            return Err(Error::shape("positions to learn from", text(other), text(own)));
        }
        if (self.observation, self.value_of) != (observation, value_of) {
            let text = |observation, value_of| format!("observation {observation}, value of {value_of}");
            let (expected, got) = (text(observation, value_of), text(self.observation, self.value_of));
            return Err(Error::shape("positions to learn from", expected, got));
        }
        Ok(())
    }

    /// A checksum of all positions.
    pub(super) fn checksum(&self) -> u64 {
        let mut sum = Fnv::default();
        sum.add(
            format!("{} {} {} {} {}", self.planes, self.cells, self.actions, self.observation, self.value_of)
                .as_bytes(),
        );
        for part in [&self.bits, &self.legal, &self.first, &self.total] {
            sum.add(bytemuck::cast_slice(part));
        }
        sum.add(bytemuck::cast_slice(&self.visits));
        sum.add(bytemuck::cast_slice(&self.values));
        sum.add(bytemuck::cast_slice(&self.games));
        sum.value()
    }

    /// Words of a position's observation.
    pub(super) fn observation_words(&self) -> usize {
        words(self.planes * self.cells) as usize
    }

    /// Words of a position's legal actions.
    pub(super) fn legal_words(&self) -> usize {
        words(self.actions) as usize
    }

    /// Whether action `action` is legal in position `sample`.
    pub(super) fn is_legal(&self, sample: usize, action: usize) -> bool {
        self.legal[sample * self.legal_words() + action / 32] >> (action % 32) & 1 != 0
    }

    /// Visits of position `sample`.
    pub(super) fn visits_of(&self, sample: usize) -> &[Visit] {
        &self.visits[self.first[sample] as usize..self.first[sample + 1] as usize]
    }

    /// Splits the positions into those for training and for validation. The latter are all positions of about the share `validation` of the games, drawn by the seed; no
    /// game is in both.
    pub(super) fn split(&self, validation: f64, seed: u64) -> (Vec<u32>, Vec<u32>) {
        let mut games: Vec<u64> = self.games.clone();
        games.sort_unstable();
        games.dedup();
        let order = super::order::shuffled(games.len() as u32, seed, super::order::SPLIT);
        let n = (games.len() as f64 * validation).round() as usize;
        let mut apart: Vec<u64> = order[..n.min(games.len())].iter().map(|&at| games[at as usize]).collect();
        apart.sort_unstable();
        (0..self.len() as u32).partition(|&sample| apart.binary_search(&self.games[sample as usize]).is_err())
    }
}

/// Packs bits into words, the first as the lowest bit.
fn packed(bits: impl ExactSizeIterator<Item = bool>) -> Vec<u32> {
    let mut words = vec![0; bits.len().div_ceil(32)];
    for (at, bit) in bits.enumerate() {
        words[at / 32] |= u32::from(bit) << (at % 32);
    }
    words
}
