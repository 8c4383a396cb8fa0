//! Compiles the published kernels to PTX and embeds them, a module for each publication that has kernels.

use warpplay_gpu_builder::CudaBuilder;

/// Publications with kernels of their own.
const MODULES: &[&str] = &["checkers_conv", "mnist_mlp", "shogi_bonanza", "cfr_thesis"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for &module in MODULES {
        if std::env::var_os(format!("CARGO_FEATURE_{}", module.to_uppercase())).is_some() {
            CudaBuilder::new(".")
                .module(module)
                .features([format!("{module}-kernels")])
                .default_features(false)
                .arch("sm_75")
                .arch("sm_90")
                .build_and_emit()?;
        }
    }
    Ok(())
}
