//! Compiles this crate's own kernels to PTX and embeds them, a module for each feature that instantiates kernels.

use warpplay_gpu_builder::CudaBuilder;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const MODULES: &[&str] = &[
        "mcts-connect4",
        "mcts-gomoku",
        "mcts-boards",
        "mcts-checkers",
        "mlp-layers",
        "mlp-epoch",
        "mlp-epoch-mma",
        "azero-layers",
        "azero-fused",
        "azero-search",
        "azero-train",
        "cfr-small",
        "cfr-street",
        "cfr-explicit",
        "cfr-subset",
        "cfr-walk",
        "cfr-abstraction",
        "shogi-persistent",
        "shogi-material",
        "shogi-sparse",
        "tile-wgmma",
        "tile-mma",
        "tile-plain",
    ];
    for &module in MODULES {
        let enabled = format!("CARGO_FEATURE_{}", module.to_uppercase().replace('-', "_"));
        if std::env::var_os(enabled).is_some() {
            let builder =
                CudaBuilder::new(".").module(module.replace('-', "_")).features([module]).default_features(false);
            let builder = match module {
                // Warpgroup products and mailboxes: Hopper alone has both.
                "mlp-epoch" | "azero-fused" | "tile-wgmma" => builder.arch_with_features("sm_90a", ["+ptx81"]),
                // Tensor cores of short formats came with sm_80: an image between the two, for the devices in between.
                "azero-layers" => builder.arch("sm_75").arch("sm_80").arch("sm_90"),
                // Asynchronous copies, and products of short formats; later GPUs run the same image.
                "tile-mma" => builder.arch_with_features("sm_80", ["+ptx75"]),
                // Those, and matrices that are transposed in registers.
                "mlp-epoch-mma" => builder.arch_with_features("sm_80", ["+ptx78"]),
                // Nothing in it is newer.
                "tile-plain" => builder.arch("sm_75"),
                _ => builder.arch("sm_75").arch("sm_90"),
            };
            builder.build_and_emit()?;
        }
    }
    Ok(())
}
