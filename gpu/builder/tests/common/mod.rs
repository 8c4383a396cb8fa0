//! What the builder's tests share.

use std::path::{Path, PathBuf};

use warpplay_gpu_builder::{CudaBuilder, find_compiler, find_ptxas, ptx_required};

#[path = "../../../../tests/src/skipped.rs"]
mod skipped;
use skipped::skipped;

/// Whether there is a device compiler. Without one a test says so and passes, unless `WARPPLAY_REQUIRE_PTX=1`.
pub fn have_compiler() -> bool {
    have(find_compiler().map(|_| ()))
}

/// Whether there is a device compiler and an assembler.
#[allow(dead_code, reason = "not every test file assembles")]
pub fn have_compiler_and_ptxas() -> bool {
    have_compiler() && have(find_ptxas().map(|_| ()))
}

fn have(found: warpplay_gpu_builder::Result<()>) -> bool {
    match found {
        Ok(()) => true,
        Err(error) if ptx_required() => panic!("{error}"),
        Err(error) => {
            skipped(error);
            false
        }
    }
}

/// A fresh copy of a fixture for one test, so that the test may edit it and cargo may write its `Cargo.lock`.
pub fn fixture(name: &str, test: &str) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(to.join("src")).unwrap();
    for file in ["Cargo.toml", "src/lib.rs"] {
        // Not `copy`, which would keep the time stamp's age from cargo.
        std::fs::write(to.join(file), std::fs::read(from.join(file)).unwrap()).unwrap();
    }
    to
}

/// The folder that the workspace's own device code is built in: `core` is there already.
pub fn target_dir() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("ptx")
}

/// A build of a copied fixture.
pub fn builder(krate: &Path, module: &str) -> CudaBuilder {
    CudaBuilder::new(krate).module(module).target_dir(target_dir())
}
