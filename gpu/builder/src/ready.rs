//! PTX that lies ready in a package, in the folder `ptx` beside its sources: made once, used by every build of the same sources.
//!
//! `ptx/manifest.json` says what it was made from: each source file of the package with its length and CRC-32, the package's version and this crate's, and for each module what was asked for.
//! Where all of that is as in the build at hand, the images are taken as they are; elsewhere the kernels are compiled. Compiler and flags are noted for the reader. Of other device crates that the package
//! needs nothing is marked: it must name them by exact versions, and who patches one sets `WARPPLAY_BUILD_PTX=1`.

use std::io::Read;
use std::path::{Path, PathBuf};

use lzma_rust2::LzipReader;
use serde_json::{Map, Value, json};

use crate::arch::Arch;
use crate::{BUILD_VARIABLE, Built, CudaBuilder, Error, Result, files};

/// The folder in a package.
const FOLDER: &str = "ptx";
/// Name of the file that lists its content.
const MANIFEST: &str = "manifest.json";
/// Version of that file.
const FORMAT: u32 = 2;
/// Suffix of the name of a build's note for [`pack`].
const NOTE: &str = ".note.json";

/// An included image.
pub(crate) struct Image {
    pub(crate) arch: String,
    pub(crate) text: String,
    /// The text as lzip.
    pub(crate) compressed: Vec<u8>,
}

/// The included images of a module for this build, and the files that describe them; `None` if the kernels must be compiled.
///
/// # Errors
/// [`Error::Ready`] for a manifest or an image that is damaged.
pub(crate) fn find(
    builder: &CudaBuilder,
    krate: &Path,
    module: &str,
    archs: &[Arch],
) -> Result<Option<(Vec<Image>, Vec<PathBuf>)>> {
    if std::env::var_os(BUILD_VARIABLE).is_some_and(|value| value == "1") {
        return Ok(None);
    }
    let folder = krate.join(FOLDER);
    let path = folder.join(MANIFEST);
    if !path.is_file() {
        return Ok(None);
    }
    let damaged = |reason: String| Error::Ready { path: path.clone(), reason };
    let manifest: Value = serde_json::from_str(&files::read(&path)?).map_err(|error| damaged(error.to_string()))?;
    let entry = &manifest["modules"][module];
    let is_ours = manifest["format"] == FORMAT
        && manifest["builder"] == env!("CARGO_PKG_VERSION")
        && entry["request"] == request(builder, archs)
        && manifest["sources"] == sources(krate)?;
    if !is_ours {
        return Ok(None);
    }
    let mut images = Vec::new();
    for arch in archs {
        let path = folder.join(image_name(module, arch));
        let compressed = std::fs::read(&path).map_err(files::failed("read", &path))?;
        let damaged = |reason: String| Error::Ready { path: path.clone(), reason };
        let mut text = String::new();
        LzipReader::new(&compressed[..]).read_to_string(&mut text).map_err(|error| damaged(error.to_string()))?;
        let (found, said) = (mark(text.as_bytes()), &entry["images"][&arch.name]);
        if *said != found {
            return Err(damaged(format!("its text has the mark {found}, expected {said}")));
        }
        images.push(Image { arch: arch.name.clone(), text, compressed });
    }
    Ok(Some((images, vec![folder])))
}

/// Writes a note for [`pack`] about a build, beside its images.
pub(crate) fn note(builder: &CudaBuilder, built: &Built, archs: &[Arch], out_dir: &Path) -> Result<()> {
    let mut images = Map::new();
    for image in &built.images {
        images.insert(image.arch.clone(), mark(files::read(&image.path)?.as_bytes()));
    }
    let note = json!({ "request": request(builder, archs), "images": images, "compiler": built.compiler, "flags": built.flags });
    files::write_if_changed(&out_dir.join(format!("{}{NOTE}", built.module)), note.to_string())
}

/// Copies the PTX that a build of a crate has left in `out_dir` to the folder `ptx` of the crate's sources in `krate`, with a manifest, and returns the names of the modules.
///
/// # Errors
/// [`Error::File`] for what cannot be read or written; [`Error::Ready`] if no build has left PTX, or if its files differ from its note.
pub fn pack(krate: &Path, out_dir: &Path) -> Result<Vec<String>> {
    let folder = krate.join(FOLDER);
    files::create_folder(&folder)?;
    let mut modules = Map::new();
    for (path, name) in entries(out_dir)? {
        let Some(module) = name.strip_suffix(NOTE) else { continue };
        let damaged = |reason: String| Error::Ready { path: path.clone(), reason };
        let note: Value = serde_json::from_str(&files::read(&path)?).map_err(|error| damaged(error.to_string()))?;
        let images = note["images"].as_object().ok_or_else(|| damaged("no images".to_owned()))?;
        for arch in images.keys() {
            let name = format!("{module}.{arch}.ptx.lz");
            let from = out_dir.join(&name);
            std::fs::copy(&from, folder.join(&name)).map_err(files::failed("copy", &from))?;
        }
        modules.insert(module.to_owned(), note);
    }
    if modules.is_empty() {
        let reason = "no build has left PTX here: build the crate first, with its modules' features".to_owned();
        return Err(Error::Ready { path: out_dir.to_owned(), reason });
    }
    let names = modules.keys().cloned().collect();
    let manifest = json!({ "format": FORMAT, "builder": env!("CARGO_PKG_VERSION"), "sources": sources(krate)?, "modules": modules });
    files::write_if_changed(&folder.join(MANIFEST), format!("{manifest:#}\n"))?;
    Ok(names)
}

/// Name of an image's file.
fn image_name(module: &str, arch: &Arch) -> String {
    format!("{module}.{}.ptx.lz", arch.name)
}

/// The inputs of a build besides the sources.
fn request(builder: &CudaBuilder, archs: &[Arch]) -> Value {
    let mut features = builder.features.clone();
    features.sort();
    let archs: Vec<Value> = archs.iter().map(|arch| json!({ "name": arch.name, "features": arch.features })).collect();
    // Of the crate whose build script runs.
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    json!({ "version": version, "features": features, "default_features": builder.default_features, "rustflags": builder.rustflags, "archs": archs })
}

/// Length and CRC-32 of a file's bytes.
fn mark(bytes: &[u8]) -> Value {
    Value::String(format!("{}-{:08x}", bytes.len(), crc32fast::hash(bytes)))
}

/// The marks of all source files by their paths. Cargo rewrites the manifest in a package, so its version and the requested features represent it.
fn sources(krate: &Path) -> Result<Value> {
    let mut marks = Map::new();
    let mut folders = vec![(krate.join("src"), "src".to_owned())];
    while let Some((folder, below)) = folders.pop() {
        for (path, name) in entries(&folder)? {
            let name = format!("{below}/{name}");
            if path.is_dir() {
                folders.push((path, name));
            } else {
                let bytes = std::fs::read(&path).map_err(files::failed("read", &path))?;
                marks.insert(name, mark(&bytes));
            }
        }
    }
    Ok(Value::Object(marks))
}

/// The entries of a folder: paths and names.
fn entries(folder: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(files::failed("read", folder))? {
        let entry = entry.map_err(files::failed("read", folder))?;
        found.push((entry.path(), entry.file_name().to_string_lossy().into_owned()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crate with one module, as a build of it has left it.
    struct Packed {
        folder: tempfile::TempDir,
        builder: CudaBuilder,
    }

    impl Packed {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let (krate, out) = (folder.path().join("krate"), folder.path().join("out"));
            for path in [&krate.join("src/inner"), &out] {
                std::fs::create_dir_all(path).unwrap();
            }
            std::fs::write(krate.join("Cargo.toml"), "[package]\nname = \"kernels\"\n").unwrap();
            std::fs::write(krate.join("src/lib.rs"), "mod inner;\n").unwrap();
            std::fs::write(krate.join("src/inner/mod.rs"), "").unwrap();
            let builder = CudaBuilder::new(&krate).module("kernels").features(["b", "a"]).arch("sm_75");
            let image = crate::BuiltImage { arch: "sm_75".into(), path: out.join("kernels.sm_75.ptx"), compiled: true };
            std::fs::write(&image.path, "the text").unwrap();
            std::fs::write(out.join("kernels.sm_75.ptx.lz"), crate::emit::compressed("the text")).unwrap();
            let built = Built {
                module: "kernels".into(),
                images: vec![image],
                sources: Vec::new(),
                warnings: String::new(),
                compiler: "rustc 1.0".into(),
                flags: Vec::new(),
            };
            note(&builder, &built, &archs(), &out).unwrap();
            assert_eq!(pack(&krate, &out).unwrap(), ["kernels"]);
            Self { folder, builder }
        }

        fn krate(&self) -> PathBuf {
            self.folder.path().join("krate")
        }

        fn find(&self, builder: &CudaBuilder, archs: &[Arch]) -> Result<Option<String>> {
            let found = find(builder, &self.krate(), "kernels", archs)?;
            Ok(found.map(|(images, _)| images.into_iter().map(|image| image.text).collect()))
        }
    }

    fn archs() -> Vec<Arch> {
        vec![Arch { name: "sm_75".into(), features: Vec::new() }]
    }

    #[test]
    fn what_was_made_of_the_same_is_taken() {
        let packed = Packed::new();
        let found = |builder: &CudaBuilder| packed.find(builder, &archs()).unwrap();
        assert_eq!(found(&packed.builder).as_deref(), Some("the text"));
        // A package's manifest is another one.
        let manifest = packed.krate().join("Cargo.toml");
        std::fs::write(&manifest, "[package]\nname = \"kernels\"\n\n[lib]\n").unwrap();
        assert_eq!(found(&packed.builder).as_deref(), Some("the text"));
        assert_eq!(found(&packed.builder.clone().features(["c"])), None);
        assert_eq!(found(&packed.builder.clone().default_features(false)), None);
        assert_eq!(found(&packed.builder.clone().rustflags(["-O"])), None);
        let other = [Arch { name: "sm_75".into(), features: vec!["+ptx80".into()] }];
        assert_eq!(packed.find(&packed.builder, &other).unwrap(), None);
    }

    #[test]
    fn any_other_source_is_compiled() {
        for (file, text) in [("src/inner/mod.rs", "// more"), ("src/new.rs", ""), ("src/lib.rs", "mod inner; ")] {
            let packed = Packed::new();
            std::fs::write(packed.krate().join(file), text).unwrap();
            assert_eq!(packed.find(&packed.builder, &archs()).unwrap(), None, "{file}");
        }
        let packed = Packed::new();
        std::fs::remove_dir_all(packed.krate().join(FOLDER)).unwrap();
        assert_eq!(packed.find(&packed.builder, &archs()).unwrap(), None);
    }

    #[test]
    fn what_is_damaged_is_told() {
        let packed = Packed::new();
        let image = packed.krate().join("ptx/kernels.sm_75.ptx.lz");
        std::fs::write(&image, crate::emit::compressed("other words")).unwrap();
        let told = packed.find(&packed.builder, &archs()).unwrap_err().to_string();
        assert!(told.contains("kernels.sm_75.ptx.lz") && told.contains("its text has the mark"), "{told}");
        std::fs::write(&image, "no lzip").unwrap();
        assert!(packed.find(&packed.builder, &archs()).is_err());
        std::fs::write(packed.krate().join("ptx/manifest.json"), "{").unwrap();
        let told = packed.find(&packed.builder, &archs()).unwrap_err().to_string();
        assert!(told.contains("manifest.json") && told.contains("EOF"), "{told}");
    }

    #[test]
    fn nothing_is_packed_of_a_build_without_ptx() {
        let folder = tempfile::tempdir().unwrap();
        let told = pack(folder.path(), folder.path()).unwrap_err().to_string();
        assert!(told.contains("no build has left PTX here"), "{told}");
    }
}
