//! Raw playouts: how many games a second the playout code itself can play, without a tree.

use std::fmt;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use warpplay_gpu::mcts::KernelSet;

use super::blocks::BlockSizes;
use super::engines::gpu::kernels::{self, Kernels, RawArrays};
use super::options::{Engine, check_game};
use super::position::check_playable;
use crate::{Backend, Device, Error, Event, Result};

/// Raw playouts of one position: every thread of the grid plays its own games, one after another.
pub struct RawPlayouts<G: KernelSet> {
    device: Device,
    kernels: Kernels<G>,
}

/// How raw playouts are launched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawShape {
    /// Blocks.
    pub blocks: u32,
    /// Threads of a block, a multiple of 32.
    pub threads: u32,
    /// Games that each thread plays.
    pub n_games: u32,
    /// Whether a lane begins its next game without waiting for its warp; it then plays by the game's single steps.
    pub restart: bool,
    /// Whether an unmeasured run precedes the measured one.
    pub warm_up: bool,
}

/// Results of raw playouts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawReport {
    /// Name of the game.
    #[serde(default)]
    pub game: String,
    /// Back end: `cuda` or `simt`.
    #[serde(default)]
    pub device: String,
    /// Name of the device.
    #[serde(default)]
    pub device_name: String,
    /// The engine whose playout kernel ran: always [`Engine::Stages`].
    #[serde(default)]
    pub engine: Engine,
    /// Seed of all random streams.
    #[serde(default)]
    pub seed: u64,
    /// How the playouts were launched.
    #[serde(default)]
    pub options: RawShape,
    /// Games played.
    pub games: u64,
    /// Games won by the first and by the second player.
    pub wins: [u64; 2],
    /// Games drawn.
    pub draws: u64,
    /// Actions played in all games: calls of the forward model.
    pub plies: u64,
    /// Device time in milliseconds.
    pub ms: f64,
    /// The same in seconds.
    #[serde(default)]
    pub seconds: f64,
}

impl fmt::Display for RawReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            game, device, device_name, engine, seed, games, wins: [first, second], draws, plies, seconds, ..
        } = self;
        write!(f, "{games} games of {game} on {device} ({device_name}), engine {engine}, seed {seed}: ")?;
        write!(
            f,
            "{first} won by the first player, {second} by the second, {draws} drawn, {plies} actions; {seconds:.4} s"
        )
    }
}

impl<G: KernelSet> RawPlayouts<G> {
    /// Loads the game's kernels.
    ///
    /// # Errors
    /// [`Error::Option`] for a game that exceeds a limit; [`Error::Unsupported`] on the CPU back end; otherwise as loading the kernels of a search.
    pub fn new(device: &Device) -> Result<Self> {
        if device.backend() == Backend::Cpu {
            return Err(Error::Unsupported {
                what: "raw playouts".to_string(),
                backend: Backend::Cpu.to_string(),
                remedy: "use a device with kernels, cuda or simt".to_string(),
            });
        }
        check_game::<G>()?;
        let kernels = kernels::load(device, BlockSizes::listing_1::<G>(1))?;
        Ok(Self { device: device.clone(), kernels })
    }

    /// Plays `shape.n_games` games from `position` on each thread; if `shape.warm_up` is set, after a run to warm up.
    ///
    /// # Errors
    /// [`Error::Option`] if `threads` is not a multiple of 32 from 32 to 1024, or if there is nothing to play; [`Error::Finished`] for a finished position.
    pub fn run(&self, position: &G, shape: RawShape, seed: u64) -> Result<RawReport> {
        let RawShape { blocks, threads, n_games, restart, warm_up } = shape;
        check_playable(position)?;
        if !threads.is_multiple_of(32) || !(32..=1024).contains(&threads) {
            return Err(Error::option("threads", threads, "a multiple of 32, 32 to 1024"));
        }
        let n_threads = blocks
            .checked_mul(threads)
            .filter(|&n| n > 0 && n <= 1 << 27)
            .ok_or_else(|| Error::option("blocks", blocks, "at least 1, and at most 2^27 threads in all"))?;
        if n_games == 0 {
            return Err(Error::option("n_games", 0, "at least 1"));
        }
        let stream = self.device.stream()?;
        let mut arrays = RawArrays::new(&stream, &self.kernels, position, n_threads, seed)?;
        if warm_up {
            arrays.launch(&stream, &self.kernels, threads, n_games, restart)?;
            stream.zero(&mut arrays.totals)?;
        }
        let (start, end) = (stream.event()?, stream.event()?);
        stream.synchronize()?;
        let clock = Instant::now();
        stream.record(&start)?;
        arrays.launch(&stream, &self.kernels, threads, n_games, restart)?;
        stream.record(&end)?;
        let mut ms = f64::from(Event::elapsed_ms(&start, &end)?);
        if self.device.backend() == Backend::Simt {
            ms = clock.elapsed().as_secs_f64() * 1e3;
        }
        let totals = stream.read(&arrays.totals)?;
        Ok(RawReport {
            game: G::NAME.to_string(),
            device: self.device.backend().to_string(),
            device_name: self.device.name(),
            engine: Engine::Stages,
            seed,
            options: shape,
            games: u64::from(n_threads) * u64::from(n_games),
            wins: [totals[0], totals[1]],
            draws: totals[2],
            plies: totals[3],
            ms,
            seconds: ms / 1e3,
        })
    }
}
