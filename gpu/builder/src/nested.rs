//! The nested cargo: one device crate, one architecture, one assembly file.

use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use serde_json::Value;

use crate::arch::{Arch, TARGET};
use crate::{DeviceCompiler, Error, Result, files};

/// A compilation job.
pub(crate) struct Job<'a> {
    /// Folder of the device crate.
    pub(crate) krate: &'a Path,
    /// Its package's name.
    pub(crate) package: &'a str,
    pub(crate) features: &'a [String],
    pub(crate) default_features: bool,
    pub(crate) arch: &'a Arch,
    /// The user's flags.
    pub(crate) rustflags: &'a [String],
    pub(crate) compiler: &'a DeviceCompiler,
    /// The folder that all builds share.
    pub(crate) root: &'a Path,
}

/// The result of a compilation.
pub(crate) struct Assembly {
    /// PTX as the compiler wrote it.
    pub(crate) assembly: PathBuf,
    /// Whether the device crate was compiled now.
    pub(crate) compiled: bool,
    /// Manifests and source folders of the device crate and of its local dependencies.
    pub(crate) sources: Vec<PathBuf>,
    /// Warnings.
    pub(crate) stderr: String,
    /// The compiler's flags.
    pub(crate) flags: Vec<String>,
}

/// Name in the manifest of the package in `krate`.
pub(crate) fn package_name(krate: &Path) -> Result<String> {
    let path = krate.join("Cargo.toml");
    let manifest = files::read(&path)?;
    let mut in_package = false;
    for line in manifest.lines() {
        let line = line.trim();
        if line.starts_with('[') {
            in_package = line == "[package]";
        } else if in_package && let Some((key, value)) = line.split_once('=') {
            let name = value.trim().split(['"', '\'']).nth(1);
            if let ("name", Some(name)) = (key.trim(), name) {
                return Ok(name.to_owned());
            }
        }
    }
    Err(Error::NotAPackage { path })
}

/// Compiles the device crate for one architecture, if anything has changed.
pub(crate) fn compile(job: &Job<'_>) -> Result<Assembly> {
    let assembly = job.assembly();
    let mut output = job.run(&assembly)?;
    if !output.is_whole(&assembly) {
        // Cargo knows nothing of the assembly file: it was removed, or a build of the same crate with other
        // dependencies wrote over it, and cargo saw no reason to compile. Its memory of the crate goes.
        job.forget()?;
        output = job.run(&assembly)?;
    }
    if !output.is_whole(&assembly) {
        return Err(Error::NoOutput { package: job.package.to_owned(), path: assembly, target_dir: job.target_dir() });
    }
    Ok(Assembly {
        assembly,
        compiled: !output.fresh,
        sources: output.sources,
        stderr: output.stderr,
        flags: job.flags(),
    })
}

impl Job<'_> {
    fn target_dir(&self) -> PathBuf {
        self.root.join("build")
    }

    /// Flags for the device crate, its dependencies and `core`.
    fn flags(&self) -> Vec<String> {
        let mut flags = vec![
            format!("-Ctarget-cpu={}", self.arch.name),
            // This pass copies barriers and shuffles into both arms of a branch; the intrinsics are convergent
            // for LLVM, but MIR does not know the notion. tests/collectives.rs shows it.
            "-Zmir-enable-passes=-JumpThreading".to_owned(),
        ];
        if !self.arch.features.is_empty() {
            flags.push(format!("-Ctarget-feature={}", self.arch.features.join(",")));
        }
        flags.extend_from_slice(self.rustflags);
        flags
    }

    /// Path of the assembly: one file for each set of options, since cargo does not track it.
    fn assembly(&self) -> PathBuf {
        let mut features = self.features.to_vec();
        features.sort();
        let mut hasher = DefaultHasher::new();
        (self.krate, features, self.default_features, self.flags()).hash(&mut hasher);
        (&self.compiler.rustc, &self.compiler.version).hash(&mut hasher);
        let name = format!("{}-{}-{:016x}.s", self.package, self.arch.name, hasher.finish());
        self.target_dir().join(name)
    }

    fn run(&self, assembly: &Path) -> Result<Report> {
        let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(&program);
        self.set_environment(&mut command);
        let manifest = self.krate.join("Cargo.toml");
        command
            .current_dir(self.krate)
            .arg("rustc")
            .arg("--manifest-path")
            .arg(&manifest)
            // A static library has the whole program's code and needs no linker, which the target lacks.
            .args(["--lib", "--crate-type", "staticlib", "--release"])
            .args(["--target", TARGET, "-Zbuild-std=core"])
            .arg("--target-dir")
            .arg(self.target_dir())
            .args(["--message-format", "json-render-diagnostics", "--quiet", "--color", "never"]);
        if !self.default_features {
            command.arg("--no-default-features");
        }
        if !self.features.is_empty() {
            command.arg("--features").arg(self.features.join(","));
        }
        let mut emit = std::ffi::OsString::from("--emit=asm=");
        emit.push(assembly);
        command.arg("--").arg(emit);

        let output = command.output().map_err(|source| Error::Run { program: program.into(), source })?;
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            let compiler = self.compiler.to_string();
            return Err(Error::compile(self.package, &self.arch.name, compiler, &stderr));
        }
        let stdout = String::from_utf8_lossy(&output.stdout);
        Ok(Report::new(&stdout, stderr, &manifest, &self.compiler.sysroot))
    }

    /// The environment of the nested cargo: that of a user's shell, not that of a build script.
    fn set_environment(&self, command: &mut Command) {
        for (name, _) in std::env::vars_os() {
            if !is_inherited(&name) {
                command.env_remove(name);
            }
        }
        command
            .env("RUSTC", &self.compiler.rustc)
            // A stable compiler then accepts the unstable features that device code needs.
            .env("RUSTC_BOOTSTRAP", "1")
            // Empty, not absent: a wrapper in a configuration file is set aside too.
            .env("RUSTC_WRAPPER", "")
            .env("RUSTC_WORKSPACE_WRAPPER", "")
            .env("CARGO_ENCODED_RUSTFLAGS", self.flags().join("\x1f"))
            .env("CARGO_BUILD_BUILD_DIR", self.target_dir())
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3")
            .env("CARGO_PROFILE_RELEASE_LTO", "fat")
            .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
            .env("CARGO_PROFILE_RELEASE_PANIC", "abort")
            .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
            .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "false")
            .env("CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS", "false")
            .env("CARGO_PROFILE_RELEASE_INCREMENTAL", "false");
    }

    /// Removes cargo's records that this package is up to date.
    fn forget(&self) -> Result<()> {
        let records = self.target_dir().join(TARGET).join("release").join(".fingerprint");
        let Ok(entries) = std::fs::read_dir(&records) else {
            return Ok(());
        };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            // `<package>-<16 hexadecimal digits>`
            if name.rsplit_once('-').is_some_and(|(package, _)| package == self.package) {
                std::fs::remove_dir_all(&path).map_err(files::failed("remove", &path))?;
            }
        }
        Ok(())
    }
}

/// Whether the nested cargo inherits an environment variable.
///
/// A build script has a hundred variables about its own build; compiler flags, wrappers, target folders and profiles of the
/// outer build must not reach device code. Of cargo's variables, only those for its storage and network access are kept.
fn is_inherited(name: &OsStr) -> bool {
    const CARGO: [&str; 8] = [
        "CARGO_HOME",
        "CARGO_HTTP_",
        "CARGO_NET_",
        "CARGO_REGISTRIES_",
        "CARGO_REGISTRY_",
        "CARGO_SOURCE_",
        "CARGO_BUILD_JOBS",
        "CARGO_RESOLVER_",
    ];
    const BUILD_SCRIPT: [&str; 18] = [
        "CARGO",
        "DEBUG",
        "HOST",
        "MAKEFLAGS",
        "MFLAGS",
        "NUM_JOBS",
        "OPT_LEVEL",
        "OUT_DIR",
        "PROFILE",
        "RUSTC",
        "RUSTC_BOOTSTRAP",
        "RUSTC_LINKER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTC_WRAPPER",
        "RUSTDOC",
        "RUSTDOCFLAGS",
        "RUSTFLAGS",
        "TARGET",
    ];
    let Some(name) = name.to_str() else { return true };
    if name.starts_with("CARGO_") {
        return CARGO.iter().any(|prefix| name.starts_with(prefix));
    }
    !BUILD_SCRIPT.contains(&name) && !["CLIPPY_", "DEP_", "__CARGO_"].iter().any(|prefix| name.starts_with(prefix))
}

/// Cargo's report of a successful build.
struct Report {
    /// Whether the device crate was up to date.
    fresh: bool,
    /// The library, if cargo names it.
    library: Option<PathBuf>,
    sources: Vec<PathBuf>,
    stderr: String,
}

impl Report {
    fn new(messages: &str, stderr: String, manifest: &Path, sysroot: &Path) -> Self {
        let mut report = Self { fresh: false, library: None, sources: Vec::new(), stderr };
        let sysroot = sysroot.to_string_lossy();
        for message in messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            if message["reason"] != "compiler-artifact" {
                continue;
            }
            let text = |value: &Value| value.as_str().map(PathBuf::from);
            let Some(its_manifest) = text(&message["manifest_path"]) else {
                continue;
            };
            let source = text(&message["target"]["src_path"]);
            let is_script = message["target"]["kind"][0] == "custom-build";
            if its_manifest == manifest && !is_script {
                report.fresh = message["fresh"] == true;
                report.library = text(&message["filenames"][0]);
            }
            // Packages of a registry do not change; those of the standard library belong to the compiler.
            let id = message["package_id"].as_str().unwrap_or_default();
            if !id.starts_with("path+") || its_manifest.starts_with(&*sysroot) {
                continue;
            }
            report.sources.push(its_manifest);
            // A library's modules lie beside its root; a build script is one file.
            report.sources.extend(source.and_then(|source| match is_script {
                true => Some(source),
                false => source.parent().map(Path::to_owned),
            }));
        }
        report
    }

    /// Whether `assembly` is there and belongs to the library that cargo reports.
    fn is_whole(&self, assembly: &Path) -> bool {
        let time = |path: &Path| -> Option<SystemTime> { std::fs::metadata(path).ok()?.modified().ok() };
        match (time(assembly), self.library.as_deref().and_then(time)) {
            // rustc writes the assembly first: a newer one comes from a later build than the library.
            (Some(assembly), Some(library)) => !self.fresh || assembly <= library,
            (Some(_), None) => true,
            (None, _) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_name_is_read_from_the_manifest() {
        let folder = tempfile::tempdir().unwrap();
        let write = |text: &str| std::fs::write(folder.path().join("Cargo.toml"), text).unwrap();
        write("[workspace]\n[lib]\nname = \"other\"\n[package]\nversion = \"1.0.0\"\nname = \"my-game\" # mine\n");
        assert_eq!(package_name(folder.path()).unwrap(), "my-game");
        write("[workspace]\n");
        let text = package_name(folder.path()).unwrap_err().to_string();
        assert!(text.contains("is not the manifest of a package"), "{text}");
    }

    #[test]
    fn the_outer_build_stays_outside() {
        for name in [
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_TARGET_DIR",
            "CARGO_FEATURE_MCTS",
            "CARGO_PROFILE_RELEASE_LTO",
            "CARGO_MAKEFLAGS",
            "RUSTC_WORKSPACE_WRAPPER",
            "CLIPPY_ARGS",
            "TARGET",
        ] {
            assert!(!is_inherited(OsStr::new(name)), "{name}");
        }
        for name in ["PATH", "HOME", "CARGO_HOME", "CARGO_NET_OFFLINE", "RUSTUP_TOOLCHAIN", "HTTPS_PROXY"] {
            assert!(is_inherited(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn messages_name_the_sources_of_local_packages() {
        let messages = r#"
{"reason":"compiler-artifact","package_id":"registry+https://x#libm@0.2","manifest_path":"/reg/libm/Cargo.toml","target":{"kind":["lib"],"src_path":"/reg/libm/src/lib.rs"},"filenames":[],"fresh":true}
{"reason":"compiler-artifact","package_id":"path+file:///sys/lib/core#0.0.0","manifest_path":"/sys/lib/core/Cargo.toml","target":{"kind":["lib"],"src_path":"/sys/lib/core/src/lib.rs"},"filenames":[],"fresh":true}
{"reason":"compiler-artifact","package_id":"path+file:///w/gpu#0.1.0","manifest_path":"/w/gpu/Cargo.toml","target":{"kind":["custom-build"],"src_path":"/w/gpu/build.rs"},"filenames":[],"fresh":false}
{"reason":"compiler-artifact","package_id":"path+file:///w/gpu#0.1.0","manifest_path":"/w/gpu/Cargo.toml","target":{"kind":["staticlib"],"src_path":"/w/gpu/src/lib.rs"},"filenames":["/t/libgpu.a"],"fresh":true}
{"reason":"build-finished","success":true}
no json
"#;
        let report = Report::new(messages, String::new(), Path::new("/w/gpu/Cargo.toml"), Path::new("/sys"));
        assert!(report.fresh);
        assert_eq!(report.library.as_deref(), Some(Path::new("/t/libgpu.a")));
        let sources: Vec<_> = report.sources.iter().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(sources, ["/w/gpu/Cargo.toml", "/w/gpu/build.rs", "/w/gpu/Cargo.toml", "/w/gpu/src"]);
    }
}
