//! Something of each family, built on a device: for what must be told alike by all.

use warpplay::{Device, Error, Memory, Result};

/// Of one family: its name, the memory that it says it needs, and the error of building it.
pub type Built = (&'static str, Result<Memory>, Option<Error>);

/// Builds something of every family that is compiled in, some MiB of device memory each.
///
/// # Panics
/// If the repository's games or the drawn digits cannot be made.
#[allow(unused_mut, unused_macros, unused_variables, reason = "each family uses a part")]
pub fn build_each(device: &Device) -> Vec<Built> {
    let mut built = Vec::new();
    macro_rules! build {
        ($name:literal, $builder:expr) => {
            let builder = $builder;
            built.push(($name, builder.clone().memory_needed(device), builder.build(device).err()))
        };
    }
    #[cfg(feature = "mcts")]
    build!("mcts", warpplay::mcts::Search::<warpplay::mcts::Connect4>::builder());
    #[cfg(feature = "azero")]
    {
        use warpplay::azero::{Evaluator, Network, NetworkShape};
        let network = Network::seeded(NetworkShape::default(), 27).expect("a shape");
        build!("azero", Evaluator::builder(&network).max_batch(1024));
    }
    #[cfg(feature = "mlp")]
    {
        use warpplay::mlp::{Dataset, Trainer};
        let digits = std::sync::Arc::new(Dataset::drawn_digits(1, 10_000).expect("digits"));
        build!("mlp", Trainer::builder(&digits).batch(32));
    }
    #[cfg(feature = "shogi")]
    build!("shogi", warpplay::shogi::Sparse::builder(warpplay::shogi::FeatureSet::KingPiecePiece));
    #[cfg(feature = "cfr")]
    build!("cfr", warpplay::cfr::Solver::builder(crate::cfr::game("leduc.limit.3p")));
    built
}
