//! Compiles this crate's kernels for the GPU, a PTX module for each feature.

use warpplay_gpu_builder::CudaBuilder;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let module = |feature: &str| {
        CudaBuilder::new(".").module(format!("test_{feature}")).features([feature]).default_features(false)
    };
    // `cp.async` and clusters have other instructions, or none, on the older architecture.
    module("layer").arch("sm_75").arch("sm_90").build_and_emit()?;
    module("cluster").arch("sm_90").build_and_emit()?;
    // Tensor cores multiply bfloat16 from `sm_80` on.
    module("ladder").arch("sm_80").build_and_emit()?;
    module("products").arch("sm_80").arch_with_features("sm_90a", ["+ptx81"]).build_and_emit()?;
    module("games").arch("sm_75").build_and_emit()?;
    module("small").arch("sm_75").arch("sm_90").build_and_emit()?;
    Ok(())
}
