//! Compiles this crate's own kernels to PTX and embeds them, a module for each feature that instantiates kernels.

use warpplay_gpu_builder::CudaBuilder;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for module in ["mcts-connect4", "mcts-gomoku", "mcts-boards", "mlp-paper", "mlp-layers", "mlp-epoch"] {
        let enabled = format!("CARGO_FEATURE_{}", module.to_uppercase().replace('-', "_"));
        if std::env::var_os(enabled).is_some() {
            let builder = CudaBuilder::new(".")
                .module(module.replace('-', "_"))
                .features([module])
                .default_features(false)
                .arch("sm_75");
            // Tensor cores of short formats came with sm_80: an image between the two, for the devices in between.
            let builder = if module == "mlp-layers" { builder.arch("sm_80") } else { builder };
            builder.arch("sm_90").build_and_emit()?;
        }
    }
    Ok(())
}
