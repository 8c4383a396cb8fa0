//! Compiles this crate for the GPU and embeds the PTX.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    warpplay_gpu_builder::CudaBuilder::new(".")
        .module("my_game")
        .arch("sm_75")
        .build_and_emit()?;
    Ok(())
}
