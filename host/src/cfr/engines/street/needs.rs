//! What the engine asks of game, options and device.

use super::image::unfit;
use super::kernels::Room;
use crate::cfr::layout::VectorGame;
use crate::cfr::options::{Algorithm, Options, Sampling, Updates};
use crate::{Error, Precision, Result};

/// Checks that the engine supports the options and the game.
pub(super) fn check(game: &VectorGame, options: &Options) -> Result<()> {
    if options.precision == Precision::F64 {
        return Err(Error::option("precision", options.precision, "f32 or i16 with engine street"));
    }
    if matches!(options.sampling, Sampling::External | Sampling::Outcome) {
        let allowed = "none, chance, public_chance, opponent_public or self_public with engine street";
        return Err(Error::option("sampling", options.sampling, allowed));
    }
    if game.gadget.is_some() && options.algorithm == Algorithm::CfrBr {
        return Err(Error::option("algorithm", options.algorithm, "an algorithm other than cfr_br for a subgame"));
    }
    if options.sampling != Sampling::None && options.algorithm == Algorithm::CfrBr {
        return Err(Error::option("sampling", options.sampling, "none with algorithm cfr_br"));
    }
    if options.sampling != Sampling::None && options.batch == 0 {
        return Err(Error::option("batch", options.batch, "1 or more"));
    }
    match unfit(game) {
        None => Ok(()),
        Some(why) => Err(Error::option("engine", "street", why)),
    }
}

/// The tables that these options need.
pub(super) fn room(options: &Options) -> Room {
    let best = options.algorithm == Algorithm::CfrBr;
    Room {
        short: options.precision == Precision::I16,
        last: options.algorithm == Algorithm::PcfrPlus,
        kept: [best || options.updates == Updates::Simultaneous, best],
        sampled: options.sampling != Sampling::None,
    }
}
