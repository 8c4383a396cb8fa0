//! The files of a new crate.

/// A crate to be written.
pub struct Template {
    /// What it is.
    pub what: &'static str,
    /// Path and text of each file. In the texts the crate is called `my-game`, `my_game` and `MyGame`, and what it depends on lies at `WHERE`.
    pub files: &'static [(&'static str, &'static str)],
}

/// A game for the tree search.
pub const GAME: Template = Template {
    what: "a game for the tree search (tic-tac-toe, to be changed into your own)",
    files: &[
        ("Cargo.toml", include_str!("../../templates/game/manifest.toml")),
        ("build.rs", include_str!("../../templates/game/build.rs")),
        ("src/lib.rs", include_str!("../../templates/game/lib.rs")),
        ("src/text.rs", include_str!("../../templates/game/text.rs")),
        ("src/main.rs", include_str!("../../templates/game/main.rs")),
        ("tests/rules.rs", include_str!("../../templates/game/rules.rs")),
        ("tests/search.rs", include_str!("../../templates/game/search.rs")),
        ("rust-toolchain.toml", include_str!("../../templates/rust-toolchain.toml")),
        (".gitignore", include_str!("../../templates/gitignore")),
    ],
};

/// A kernel.
pub const KERNEL: Template = Template {
    what: "a kernel (a · x + y, to be changed into your own)",
    files: &[
        ("Cargo.toml", include_str!("../../templates/kernel/manifest.toml")),
        ("build.rs", include_str!("../../templates/kernel/build.rs")),
        ("src/lib.rs", include_str!("../../templates/kernel/lib.rs")),
        ("src/main.rs", include_str!("../../templates/kernel/main.rs")),
        ("tests/kernel.rs", include_str!("../../templates/kernel/kernel.rs")),
        ("rust-toolchain.toml", include_str!("../../templates/rust-toolchain.toml")),
        (".gitignore", include_str!("../../templates/gitignore")),
    ],
};

/// A manifest with the crates of a repository, or else those of the registry.
pub fn depending_on(text: &str, repository: Option<&str>) -> String {
    let crates = [("WHERE/gpu/builder", "gpu/builder"), ("WHERE/gpu", "gpu"), ("WHERE/host", "host")];
    crates.iter().fold(text.to_string(), |text, (place, folder)| {
        let source = match repository {
            Some(root) => format!("path = \"{root}/{folder}\""),
            None => format!("version = \"={}\"", env!("CARGO_PKG_VERSION")),
        };
        text.replace(place, &source)
    })
}
