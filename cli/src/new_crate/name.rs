//! The name of a new crate.

use std::path::Path;

use anyhow::Result;

use crate::common::Usage;

/// Most characters of a name.
const LONGEST: usize = 40;

/// Words that no crate can be called: those of the language, and names that would hide crates that the new one uses.
const TAKEN: [&str; 52] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
    "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "test", "trait",
    "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];
/// As [`TAKEN`], of crates, of functions that the new one exports, and of folders of cargo's, as which it builds no program.
const CRATES: [&str; 12] = [
    "std",
    "core",
    "alloc",
    "bytemuck",
    "warpplay",
    "warpplay_gpu",
    "kernels",
    "scale_and_add",
    "build",
    "deps",
    "examples",
    "incremental",
];
/// Types that the files use, which that of the new crate would hide.
const TYPES: [&str; 17] = [
    "Game",
    "Outcome",
    "Player",
    "Pod",
    "Zeroable",
    "Notation",
    "NotationError",
    "Search",
    "Device",
    "Progress",
    "Report",
    "Draw",
    "Stream",
    "KernelSet",
    "Result",
    "Vec",
    "String",
];

/// A name in its three forms.
pub struct Name {
    package: String,
    module: String,
    type_: String,
}

impl Name {
    /// The name of a crate in this folder.
    ///
    /// # Errors
    /// [`Usage`] for what is not a valid name of a crate, with what is allowed.
    pub fn of_folder(folder: &Path) -> Result<Self> {
        let package = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let refused = |reason: &str| {
            let given = folder.display();
            Usage(format!("NAME {given}: {reason} (a letter a to z, then up to 39 of a to z, 0 to 9, _ and -)"))
        };
        let fits = package.starts_with(|first: char| first.is_ascii_lowercase())
            && package.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-'))
            && package.len() <= LONGEST;
        if !fits {
            return Err(refused("is not a valid name of a crate").into());
        }
        let module = package.replace('-', "_");
        if TAKEN.contains(&module.as_str()) || CRATES.contains(&module.as_str()) {
            return Err(refused("is a keyword, or the name of a crate that this one uses").into());
        }
        let parts = module.split('_').filter(|part| !part.is_empty());
        let type_: String = parts.map(|part| part[..1].to_ascii_uppercase() + &part[1..]).collect();
        if TYPES.contains(&type_.as_str()) {
            return Err(refused("is the name of a type that the crate uses").into());
        }
        Ok(Self { package: package.to_string(), module, type_ })
    }

    /// As cargo has it.
    pub fn package(&self) -> &str {
        &self.package
    }

    /// A template's text with this name.
    pub fn put_into(&self, text: &str) -> String {
        // The module's name has no `-`: nothing is replaced twice.
        text.replace("my_game", &self.module).replace("my-game", &self.package).replace("MyGame", &self.type_)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_three_forms() {
        let name = Name::of_folder(Path::new("games/four-in_a-row2")).expect("a name");
        assert_eq!(name.put_into("my-game my_game MyGame"), "four-in_a-row2 four_in_a_row2 FourInARow2");
        let name = Name::of_folder(Path::new("my_game2")).expect("a name");
        assert_eq!(name.put_into("my-game my_game MyGame"), "my_game2 my_game2 MyGame2");
    }

    #[test]
    fn what_is_no_name_is_refused_with_what_is_allowed() {
        for wrong in [
            "",
            "..",
            "9lives",
            "-a",
            "Hex",
            "a b",
            "fn",
            "where",
            "build",
            "game",
            "warpplay-gpu",
            "schach\u{f6}",
            &"a".repeat(41),
        ] {
            let error = Name::of_folder(Path::new(wrong)).err().map(|error| error.to_string());
            assert!(error.as_ref().is_some_and(|error| error.contains("a letter a to z")), "{wrong}: {error:?}");
        }
        assert!(Name::of_folder(Path::new(&"a".repeat(40))).is_ok());
    }
}
