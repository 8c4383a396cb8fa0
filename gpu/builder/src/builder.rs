//! What to build: the crate, its features, the architectures.

use std::path::{Path, PathBuf};

use crate::arch::{Arch, generation};
use crate::nested::{self, Job};
use crate::{BASELINE_ARCH, Error, Result, compiler, files, ptx, sums};

/// One build of a device crate.
///
/// Paths are relative to the folder of the package whose build script (or test) runs, `CARGO_MANIFEST_DIR`.
#[derive(Clone, Debug)]
pub struct CudaBuilder {
    krate: PathBuf,
    module: Option<String>,
    pub(crate) features: Vec<String>,
    pub(crate) default_features: bool,
    archs: Vec<Arch>,
    pub(crate) rustflags: Vec<String>,
    target_dir: Option<PathBuf>,
}

/// The results of a build.
#[derive(Clone, Debug)]
pub struct Built {
    /// Name of the module, the stem of its files.
    pub module: String,
    /// One image for each architecture, oldest first.
    pub images: Vec<BuiltImage>,
    /// Files and folders whose change makes the images out of date.
    pub sources: Vec<PathBuf>,
    /// The compiler's warnings about device code, as it wrote them.
    pub warnings: String,
    /// Version of the compiler.
    pub compiler: String,
    /// Flags of the compiler for each image.
    pub flags: Vec<Vec<String>>,
}

/// The PTX of one architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltImage {
    /// Architecture, as `sm_75`.
    pub arch: String,
    /// The PTX file, `<target folder>/<arch>/<module>.ptx`; its time stamp changes only with its text.
    pub path: PathBuf,
    /// Whether the device crate was compiled in this build; if not, an earlier build's result was up to date.
    pub compiled: bool,
}

impl CudaBuilder {
    /// A build of the device crate in the folder `krate`, with its default features, for [`BASELINE_ARCH`].
    pub fn new(krate: impl Into<PathBuf>) -> Self {
        Self {
            krate: krate.into(),
            module: None,
            features: Vec::new(),
            default_features: true,
            archs: Vec::new(),
            rustflags: Vec::new(),
            target_dir: None,
        }
    }

    /// Names the module: letters, digits and underscores. Default: the package's name, with `_` for `-`.
    #[must_use]
    pub fn module(mut self, name: impl Into<String>) -> Self {
        self.module = Some(name.into());
        self
    }

    /// Adds features of the device crate.
    #[must_use]
    pub fn features<S: Into<String>>(mut self, features: impl IntoIterator<Item = S>) -> Self {
        self.features.extend(features.into_iter().map(Into::into));
        self
    }

    /// Whether the device crate has its default features. Default: yes.
    #[must_use]
    pub fn default_features(mut self, yes: bool) -> Self {
        self.default_features = yes;
        self
    }

    /// Adds an architecture, as `sm_90`; a suffix as in `sm_90a` is allowed. A GPU loads the PTX of its own and
    /// older architectures; with the suffix `a`, of its own alone.
    #[must_use]
    pub fn arch(self, name: impl Into<String>) -> Self {
        self.arch_with_features(name, std::iter::empty::<String>())
    }

    /// Adds an architecture with target features of LLVM's, as `+ptx80` for the PTX version 8.0 where an instruction is newer
    /// than the version that the architecture implies (6.3 for `sm_75`, 7.0 for `sm_80`, 7.8 for `sm_90`, 8.0 for `sm_90a`).
    /// A newer version needs a newer driver.
    #[must_use]
    pub fn arch_with_features<S: Into<String>>(
        mut self,
        name: impl Into<String>,
        features: impl IntoIterator<Item = S>,
    ) -> Self {
        let name = name.into();
        let features = features.into_iter().map(Into::into).collect();
        self.archs.retain(|arch| arch.name != name);
        self.archs.push(Arch { name, features });
        self
    }

    /// Adds flags of rustc's for the device crate, its dependencies and `core`, after the builder's own. Each set of flags
    /// has its own `core`, which makes the first build longer.
    #[must_use]
    pub fn rustflags<S: Into<String>>(mut self, flags: impl IntoIterator<Item = S>) -> Self {
        self.rustflags.extend(flags.into_iter().map(Into::into));
        self
    }

    /// The folder to build in. Default: `ptx` in the target folder of the outer build, outside a build script in that of the
    /// device crate's workspace. Several builds may share one, even at the same time.
    #[must_use]
    pub fn target_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.target_dir = Some(path.into());
        self
    }

    /// Compiles what has changed and returns the PTX files of all architectures.
    ///
    /// In the build script of a crate that is itself being compiled for the device, there are no images: a crate
    /// may build itself.
    ///
    /// # Errors
    /// [`Error::Option`] for a wrong module, architecture or feature; [`Error::NotAPackage`] or [`Error::File`] if
    /// there is no device crate; [`Error::NoCompiler`]; [`Error::Compile`] with the compiler's words.
    pub fn build(&self) -> Result<Built> {
        let krate = self.folder()?;
        let package = nested::package_name(&krate)?;
        let module = self.module_name()?;
        let archs = self.checked_archs()?;
        self.check_features()?;
        let mut built = Built {
            module,
            images: Vec::new(),
            sources: vec![krate.join("Cargo.toml"), krate.join("src")],
            warnings: String::new(),
            compiler: String::new(),
            flags: Vec::new(),
        };
        if is_device_build() {
            return Ok(built);
        }
        let compiler = compiler::find_compiler()?;
        built.compiler.clone_from(&compiler.version);
        if let Some(arch) = archs.iter().find(|arch| !compiler.knows(&arch.name)) {
            return Err(Error::Option {
                name: "arch",
                value: arch.name.clone(),
                allowed: "an architecture of those that `rustc --print target-cpus --target nvptx64-nvidia-cuda` lists",
            });
        }
        let root = self.root(&krate)?;
        files::create_folder(&root)?;
        // Two build scripts may want the same module; cargo's own lock does not cover what follows its run.
        let _lock = lock(&root)?;
        for arch in archs {
            let folder = root.join(&arch.name);
            files::create_folder(&folder)?;
            let path = folder.join(format!("{}.ptx", built.module));
            let output = nested::compile(&Job {
                krate: &krate,
                package: &package,
                features: &self.features,
                default_features: self.default_features,
                arch: &arch,
                rustflags: &self.rustflags,
                compiler: &compiler,
                root: &root,
            })?;
            let text = ptx::with_launch_bounds(&files::read(&output.assembly)?)?;
            files::write_if_changed(&path, sums::with_opaque_sums(&text)?)?;
            built.images.push(BuiltImage { arch: arch.name, path, compiled: output.compiled });
            built.flags.push(output.flags);
            built.sources.extend(output.sources);
            // The warnings are the same for each architecture.
            built.warnings = output.stderr;
        }
        built.sources.push(compiler.rustc);
        if let Some(workspace) = files::workspace_root(&krate) {
            // Versions and features of the dependencies.
            built.sources.push(workspace.join("Cargo.lock"));
            built.sources.push(workspace.join("Cargo.toml"));
        }
        // Cargo runs a build script again and again for a path that is not there.
        built.sources.retain(|path| path.exists());
        built.sources.sort();
        built.sources.dedup();
        Ok(built)
    }

    /// The device crate's folder.
    pub(crate) fn folder(&self) -> Result<PathBuf> {
        let base = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
        let folder = base.join(&self.krate);
        folder.canonicalize().map_err(files::failed("find the device crate", &folder))
    }

    /// The module's name.
    pub(crate) fn module_name(&self) -> Result<String> {
        let name = match &self.module {
            Some(name) => name.clone(),
            None => nested::package_name(&self.folder()?)?.replace('-', "_"),
        };
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(Error::Option {
                name: "module",
                value: name,
                allowed: "a name of ASCII letters, digits and underscores",
            });
        }
        Ok(name)
    }

    /// The architectures, oldest first.
    pub(crate) fn checked_archs(&self) -> Result<Vec<Arch>> {
        let mut archs = self.archs.clone();
        if archs.is_empty() {
            archs.push(Arch { name: BASELINE_ARCH.to_owned(), features: Vec::new() });
        }
        for arch in &archs {
            if generation(&arch.name).is_none() {
                return Err(Error::Option {
                    name: "arch",
                    value: arch.name.clone(),
                    allowed: "an architecture as sm_75, sm_90 or sm_90a",
                });
            }
            for feature in &arch.features {
                let name = feature.strip_prefix(['+', '-']).unwrap_or_default();
                if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                    return Err(Error::Option {
                        name: "arch_with_features",
                        value: feature.clone(),
                        allowed: "target features as +ptx80",
                    });
                }
            }
        }
        archs.sort_by(|a, b| generation(&a.name).cmp(&generation(&b.name)));
        Ok(archs)
    }

    fn check_features(&self) -> Result<()> {
        let is_name = |feature: &String| {
            let allowed = |c: char| c.is_alphanumeric() || "_-+./?".contains(c);
            !feature.is_empty() && feature.chars().all(allowed)
        };
        match self.features.iter().find(|feature| !is_name(feature)) {
            None => Ok(()),
            Some(wrong) => Err(Error::Option {
                name: "features",
                value: wrong.clone(),
                allowed: "one name of a feature for each element",
            }),
        }
    }

    /// The folder to build in.
    fn root(&self, krate: &Path) -> Result<PathBuf> {
        let root = if let Some(folder) = &self.target_dir {
            let base = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
            base.join(folder)
        } else if let Some(target) = files::outer_target_dir() {
            target.join("ptx")
        } else if let Some(target) = std::env::var_os("CARGO_TARGET_DIR") {
            PathBuf::from(target).join("ptx")
        } else if let Some(workspace) = files::workspace_root(krate) {
            workspace.join("target").join("ptx")
        } else {
            return Err(Error::NoTargetDir { krate: krate.to_owned() });
        };
        // The nested cargo runs in another folder.
        std::path::absolute(&root).map_err(files::failed("find", &root))
    }
}

/// Whether the running build script belongs to a crate that is being compiled for the device.
pub(crate) fn is_device_build() -> bool {
    std::env::var("TARGET").is_ok_and(|target| target.starts_with("nvptx64"))
}

/// Waits until no other program builds in `root`; the lock ends when the file is dropped.
fn lock(root: &Path) -> Result<std::fs::File> {
    let path = root.join(".lock");
    let file = std::fs::File::create(&path).map_err(files::failed("create", &path))?;
    file.lock().map_err(files::failed("lock", &path))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_are_checked_and_sorted() {
        let names = |builder: CudaBuilder| -> Vec<String> {
            let archs = builder.checked_archs().unwrap();
            archs.into_iter().map(|arch| arch.name).collect()
        };
        let builder = CudaBuilder::new(".");
        assert_eq!(names(builder.clone()), ["sm_75"]);
        let several = builder.arch("sm_100").arch("sm_90a").arch("sm_75").arch("sm_90").arch("sm_75");
        assert_eq!(names(several), ["sm_75", "sm_90", "sm_90a", "sm_100"]);
        for wrong in ["75", "sm_", "sm_9x", "compute_75", "sm_90aa"] {
            let text = CudaBuilder::new(".").arch(wrong).checked_archs().unwrap_err().to_string();
            assert!(text.starts_with(&format!("option arch: `{wrong}`")), "{text}");
        }
        let wrong = CudaBuilder::new(".").arch_with_features("sm_90", ["ptx80"]);
        assert!(wrong.checked_archs().is_err());
    }

    #[test]
    fn modules_and_features_are_checked() {
        let module = |name: &str| CudaBuilder::new(".").module(name).module_name();
        assert_eq!(module("mcts_connect4").unwrap(), "mcts_connect4");
        for wrong in ["", "a-b", "a/b"] {
            assert!(module(wrong).unwrap_err().to_string().contains("option module"));
        }
        assert_eq!(CudaBuilder::new(".").module_name().unwrap(), "warpplay_gpu_builder");
        assert!(CudaBuilder::new(".").features(["a b"]).check_features().is_err());
        assert!(CudaBuilder::new(".").features(["a-b", "c/d"]).check_features().is_ok());
    }

    #[test]
    fn a_folder_without_a_crate_is_an_error() {
        let text = CudaBuilder::new("no_such_folder").build().unwrap_err().to_string();
        assert!(text.contains("cannot find the device crate"), "{text}");
        let text = CudaBuilder::new("src").build().unwrap_err().to_string();
        assert!(text.contains("src/Cargo.toml"), "{text}");
    }
}
