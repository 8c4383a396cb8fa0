//! The half for build scripts: PTX becomes an expression that a crate includes.

use std::io::Write;
use std::path::{Path, PathBuf};

use lzma_rust2::{LzipOptions, LzipWriter};

use crate::{
    BUILD_VARIABLE, Built, COMPILER_VARIABLE, CudaBuilder, Error, REQUIRE_VARIABLE, Result, builder, compiler, files,
    ready,
};

impl CudaBuilder {
    /// [`build`](CudaBuilder::build), for a build script: writes `OUT_DIR/<module>.rs` and tells cargo when to run
    /// the script again.
    ///
    /// If the package includes PTX for these sources, that is used, and the result is `None`.
    ///
    /// The file is an expression of type `warpplay_gpu::ptx::PtxSet`, for `include!(concat!(env!("OUT_DIR"), "/<module>.rs"))`; the PTX lies beside it, as text and
    /// compressed as it is embedded. Without a device compiler the set is empty and states the reason, cargo shows a warning, and the result is `None`. The same happens,
    /// without a warning, in a crate that is itself being compiled for the device.
    ///
    /// # Errors
    /// As for `build`, [`Error::NotABuildScript`], and [`Error::NoCompiler`] only with `WARPPLAY_REQUIRE_PTX=1`.
    pub fn build_and_emit(&self) -> Result<Option<Built>> {
        let out_dir =
            std::env::var_os("OUT_DIR").map(PathBuf::from).ok_or(Error::NotABuildScript { variable: "OUT_DIR" })?;
        let module = self.module_name()?;
        let expression = out_dir.join(format!("{module}.rs"));
        if builder::is_device_build() {
            let reason = "this crate was compiled for the device: kernels are launched from the host";
            files::write_if_changed(&expression, set(&module, &[], Some(reason)))?;
            // Without any such line cargo would watch the whole package. Nothing of the environment: with it all device code would be compiled again.
            println!("cargo::rerun-if-changed=build.rs");
            return Ok(None);
        }
        for variable in [BUILD_VARIABLE, COMPILER_VARIABLE, REQUIRE_VARIABLE] {
            println!("cargo::rerun-if-env-changed={variable}");
        }
        let (krate, archs) = (self.folder()?, self.checked_archs()?);
        if let Some((ready, mut sources)) = ready::find(self, &krate, &module, &archs)? {
            sources.extend([krate.join("Cargo.toml"), krate.join("src")]);
            watch(&sources);
            let mut images = Vec::new();
            for image in &ready {
                images.push((
                    image.arch.as_str(),
                    embed(&out_dir, &module, &image.arch, &image.text, &image.compressed)?,
                    image.text.len(),
                ));
            }
            files::write_if_changed(&expression, set(&module, &images, None))?;
            return Ok(None);
        }
        match self.build() {
            Ok(built) => {
                watch(&built.sources);
                let mut images = Vec::new();
                for image in &built.images {
                    // A copy, so that the crate can be compiled while another build replaces the original.
                    let text = files::read(&image.path)?;
                    images.push((
                        image.arch.as_str(),
                        embed(&out_dir, &module, &image.arch, &text, &compressed(&text))?,
                        text.len(),
                    ));
                }
                ready::note(self, &built, &archs, &out_dir)?;
                files::write_if_changed(&expression, set(&module, &images, None))?;
                Ok(Some(built))
            }
            Err(error @ Error::NoCompiler { .. }) if !crate::ptx_required() => {
                let reason = error.to_string();
                watch(&[krate.join("Cargo.toml"), krate.join("src")]);
                watch(&compiler::traces_of_installation());
                println!("cargo::warning=PTX module {module} is not built: {}", reason.replace('\n', " "));
                files::write_if_changed(&expression, set(&module, &[], Some(&reason)))?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

fn watch(paths: &[impl AsRef<Path>]) {
    for path in paths {
        println!("cargo::rerun-if-changed={}", path.as_ref().display());
    }
}

/// Writes an image into `OUT_DIR`: the compressed text that the program embeds, and the plain text for readers and for `cargo xtask ptx`. Returns the text's file name.
fn embed(out_dir: &Path, module: &str, arch: &str, text: &str, compressed: &[u8]) -> Result<String> {
    let name = format!("{module}.{arch}.ptx");
    files::write_if_changed(&out_dir.join(&name), text)?;
    files::write_if_changed(&out_dir.join(format!("{name}.lz")), compressed)?;
    Ok(name)
}

/// The text as lzip.
///
/// Kernels of one module are alike, and lie further apart than the 32 KiB that zlib looks back: LZMA makes 60 % of what zlib makes. The dictionary holds most of the longest text; levels
/// above 3 save a fifth to a quarter more and take four times as long.
pub(crate) fn compressed(text: &str) -> Vec<u8> {
    let mut options = LzipOptions::with_preset(3);
    options.lzma_options.dict_size = 16 << 20;
    let mut encoder = LzipWriter::new(Vec::new(), options);
    let written = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish());
    written.expect("a vector takes what is written")
}

/// The expression of a set; an image is its architecture, the name of its file in `OUT_DIR` and the length of its text.
fn set(module: &str, images: &[(&str, String, usize)], missing: Option<&str>) -> String {
    let mut text = format!("::warpplay_gpu::ptx::PtxSet {{\n    name: {module:?},\n    images: &[\n");
    for (arch, file, length) in images {
        text.push_str(&format!(
            "        ::warpplay_gpu::ptx::PtxImage::lzip({arch:?}, \
             include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{file}.lz\")), {length}),\n"
        ));
    }
    text.push_str(&format!("    ],\n    missing: {missing:?},\n}}\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expression_of_a_set() {
        let images = [("sm_75", "games.sm_75.ptx".to_owned(), 75), ("sm_90", "games.sm_90.ptx".to_owned(), 90)];
        assert_eq!(
            set("games", &images, None),
            r#"::warpplay_gpu::ptx::PtxSet {
    name: "games",
    images: &[
        ::warpplay_gpu::ptx::PtxImage::lzip("sm_75", include_bytes!(concat!(env!("OUT_DIR"), "/games.sm_75.ptx.lz")), 75),
        ::warpplay_gpu::ptx::PtxImage::lzip("sm_90", include_bytes!(concat!(env!("OUT_DIR"), "/games.sm_90.ptx.lz")), 90),
    ],
    missing: None,
}
"#
        );
        let empty = set("games", &[], Some("no \"rustc\""));
        assert!(empty.contains(r#"missing: Some("no \"rustc\""),"#), "{empty}");
    }
}
