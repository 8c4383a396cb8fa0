//! Compiles this crate's own kernels to PTX and embeds them, a module for each feature that instantiates kernels.

use warpplay_gpu_builder::CudaBuilder;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for module in ["mcts-connect4", "mcts-gomoku", "mcts-boards", "mlp-paper", "mlp-layers", "mlp-epoch"] {
        let enabled = format!("CARGO_FEATURE_{}", module.to_uppercase().replace('-', "_"));
        if std::env::var_os(enabled).is_some() {
            let builder =
                CudaBuilder::new(".").module(module.replace('-', "_")).features([module]).default_features(false);
            let builder = match module {
                // Warpgroup products and mailboxes: Hopper alone has both.
                "mlp-epoch" => builder.arch_with_features("sm_90a", ["+ptx81"]),
                _ => builder.arch("sm_75").arch("sm_90"),
            };
            builder.build_and_emit()?;
        }
    }
    Ok(())
}
