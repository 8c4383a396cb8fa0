//! A solved spot: its file, or what a solver has.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::file::Spot;
use super::saved::{self, Head, KIND, Part, SpotForm};
use super::target::SpotTarget;
use crate::cfr::engines::cpu::{Averages, Evaluator};
use crate::cfr::game::betting::BettingTree;
use crate::cfr::layout::{Layout, Table, Tables, Values, VectorGame};
use crate::cfr::options::{Engine, Options};
use crate::runtime::streamed::Streamed;
use crate::{Error, Result};

/// A solved spot with the strategies of every street: [`root`](Self::root) is its first node.
///
/// ```no_run
/// use warpplay::cfr::spot::SolvedSpot;
///
/// let solved = SolvedSpot::open("river.spot")?;
/// let node = solved.root().child("r50")?;
/// println!("{} of {:?}", node.history(), node.actions());
/// println!("KK: {:?}", node.strategy("KsKh")?);
/// println!("worth {:?} chips", node.report()?.ev);
/// # Ok::<(), warpplay::Error>(())
/// ```
///
/// A file is mapped, and each of its tensors is read and checked when a node first needs it.
#[derive(Debug)]
pub struct SolvedSpot {
    head: Head,
    layout: Layout,
    pub(super) game: Arc<VectorGame>,
    pub(super) tree: Arc<BettingTree>,
    content: Content,
    evaluator: OnceLock<Ready>,
}

/// Where the tables are.
#[derive(Debug)]
enum Content {
    File(Streamed),
    /// Averages by seat.
    Memory([Values; 2]),
}

/// What evaluations share.
struct Ready(Evaluator);

impl std::fmt::Debug for Ready {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Evaluator")
    }
}

impl SolvedSpot {
    /// Opens a file that a [`SpotSolver`](super::SpotSolver) wrote, and lays its spot out.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read, is no solved spot or one of another version, has a damaged header or is cut short. A damaged tensor is found when it is first used.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let wrong = |reason: String| Error::file(path, None, reason);
        let (head, file): (Head, _) = KIND.map(path)?;
        let built = head.spot.build(head.options.isomorphism).map_err(|error| match error {
            // The spot is the file's, not the caller's.
            Error::Option { .. } | Error::Shape { .. } | Error::Moves { .. } => wrong(error.to_string()),
            error => error,
        });
        let (game, tree) = built?;
        let (game, tree) = (Arc::new(game), Arc::new(tree));
        let layout = Layout::Vector { game: Arc::clone(&game), tree: Arc::clone(&tree) };
        if layout.fingerprint() != head.layout {
            return Err(wrong("the spot was solved with another layout of its tables".into()));
        }
        if head.utilities.len() != game.hands.len() {
            return Err(wrong(format!("utilities: {} seats, expected 2", head.utilities.len())));
        }
        Ok(Self { head, layout, game, tree, content: Content::File(file), evaluator: OnceLock::new() })
    }

    /// Whether a file is one of a solved spot, damaged or not.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read.
    pub fn is_saved_at(path: impl AsRef<Path>) -> Result<bool> {
        KIND.is_named_in(path.as_ref())
    }

    /// What a solver has, without a file.
    pub(super) fn in_memory(head: Head, layout: Layout, averages: [Values; 2]) -> Result<Self> {
        let Layout::Vector { game, tree } = &layout else {
            return Err(Error::shape("layout of a spot", "vector", layout.kind()));
        };
        let (game, tree) = (Arc::clone(game), Arc::clone(tree));
        Ok(Self { head, layout, game, tree, content: Content::Memory(averages), evaluator: OnceLock::new() })
    }

    /// The spot.
    pub fn spot(&self) -> &Spot {
        &self.head.spot
    }

    /// The options of the solve.
    pub fn options(&self) -> &Options {
        &self.head.options
    }

    /// The exploitability at which the solve was to end; `None` also in files of versions that did not keep it.
    pub fn target(&self) -> Option<SpotTarget> {
        self.head.target
    }

    /// What the file holds.
    pub fn form(&self) -> SpotForm {
        self.head.form
    }

    /// The engine that solved it.
    pub fn engine(&self) -> Engine {
        self.head.engine
    }

    /// The device that solved it.
    pub fn device(&self) -> &str {
        &self.head.device
    }

    /// Iterations done.
    pub fn iterations(&self) -> u64 {
        self.head.iteration
    }

    /// Seconds of the iterations, without measuring.
    pub fn seconds(&self) -> f64 {
        self.head.seconds
    }

    /// Exploitability of the average strategies in chips, by iteration, where it was measured.
    pub fn trajectory(&self) -> &BTreeMap<u64, f64> {
        &self.head.trajectory
    }

    /// The exploitability that was measured last, in chips, and the iteration after which it was: fewer than [`iterations`](Self::iterations) in a file that was saved between two measurements.
    pub fn measured(&self) -> Option<(u64, f64)> {
        self.head.trajectory.last_key_value().map(|(&iteration, &chips)| (iteration, chips))
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The whole state, to go on from.
    pub(super) fn tables(&self) -> Result<Tables> {
        match &self.content {
            Content::File(file) => saved::tables(file, &self.head, &self.game),
            Content::Memory(_) => Err(Error::shape("state to go on from", "a file", "strategies in memory")),
        }
    }

    pub(super) fn evaluator(&self) -> &Evaluator {
        &self.evaluator.get_or_init(|| Ready(Evaluator::new(Arc::clone(&self.game)))).0
    }

    /// The averages of the streets from `first` up to `end`, checked.
    pub(super) fn averages(&self, first: usize, end: usize) -> Result<Streets<'_>> {
        let part = |seat: usize, street: usize| match &self.content {
            Content::File(file) => saved::part(file, &self.head, &self.game, Table::Averages, seat, street),
            Content::Memory(tables) => Ok(Part::Whole(&tables[seat], self.game.street_offset(seat, street))),
        };
        let of_seat = |seat: usize| (first..end).map(|street| part(seat, street)).collect::<Result<Vec<_>>>();
        Ok(Streets { first, parts: [of_seat(0)?, of_seat(1)?] })
    }
}

/// The averages of some streets, by seat and street.
pub(super) struct Streets<'a> {
    first: usize,
    parts: [Vec<Part<'a>>; 2],
}

impl Averages for Streets<'_> {
    fn strategy(
        &self,
        game: &VectorGame,
        seat: usize,
        street: usize,
        board: usize,
        slot: u32,
        n_actions: usize,
    ) -> Vec<Vec<f64>> {
        let part = street.checked_sub(self.first).and_then(|at| self.parts[seat].get(at));
        let at = game.offset(seat, street, board, slot) - game.street_offset(seat, street);
        game.normalised(seat, n_actions, |more| part.map_or(0.0, |part| part.get(at + more)))
    }
}
