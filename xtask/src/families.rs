//! The families of algorithms, and the publications: what `run` and `bench` start.

/// One family of algorithms. A new family is one more row of [`FAMILIES`].
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Its module name in every crate, its feature, its command of `warpplay`; what the user types.
    pub name: &'static str,
    /// The features of `warpplay-cli` that `run` builds: the family alone.
    pub features: &'static str,
    /// What the program is told when the user says nothing: some seconds' work on any machine.
    pub arguments: &'static [&'static str],
    /// Its bench: the package that has it, and its name.
    pub bench: (&'static str, &'static str),
    /// Whether several ranks of the program can work together.
    pub ranks: bool,
}

/// All families of this version, and the publications.
pub const FAMILIES: &[Family] = &[
    Family {
        name: "mcts",
        features: "mcts",
        arguments: &["analyse", "--game", "connect4", "--device", "auto", "--seconds", "3"],
        bench: ("warpplay", "mcts"),
        ranks: false,
    },
    Family {
        name: "mlp",
        features: "mlp",
        arguments: &["train", "--device", "auto", "--learning-rate", "0.1", "--epochs", "5"],
        bench: ("warpplay", "mlp"),
        ranks: false,
    },
    Family {
        name: "azero",
        features: "azero",
        arguments: &["selfplay", "--device", "auto", "--games", "2", "--simulations", "32"],
        bench: ("warpplay", "azero"),
        ranks: false,
    },
    Family {
        name: "cfr",
        features: "cfr",
        arguments: &["solve", "leduc", "--device", "auto", "--iterations", "1000"],
        bench: ("warpplay", "cfr"),
        ranks: true,
    },
    Family {
        name: "shogi",
        features: "shogi",
        arguments: &[
            "learn",
            "--records",
            "tests/golden/shogi/first_100.usi.txt.gz",
            "--held-out",
            "0.2",
            "--device",
            "auto",
            "--iterations",
            "10",
        ],
        bench: ("warpplay", "shogi"),
        ranks: true,
    },
    Family {
        name: "papers",
        features: "papers-all",
        arguments: &["--help"],
        bench: ("warpplay-papers", "shogi_bonanza"),
        ranks: true,
    },
];

/// The names that `run` and `bench` accept.
pub fn names() -> Vec<&'static str> {
    FAMILIES.iter().map(|family| family.name).collect()
}

/// The family of that name.
pub fn find(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_has_its_programs() {
        let root = crate::process::root();
        for family in FAMILIES {
            assert_eq!(find(family.name).unwrap().name, family.name);
            let command = root.join("cli/src").join(family.name).join("mod.rs");
            assert!(command.is_file(), "{} is missing", command.display());
            let (package, bench) = family.bench;
            let folder = if package == "warpplay" { "host" } else { "papers" };
            let bench = root.join(folder).join(format!("benches/{bench}.rs"));
            assert!(bench.is_file(), "{} is missing", bench.display());
        }
        assert!(find("no such family").is_none());
    }

    /// A publication is there with its family's feature alone.
    #[test]
    fn the_program_of_the_publications_has_every_family() {
        let manifest = std::fs::read_to_string(crate::process::root().join("cli/Cargo.toml")).expect("a manifest");
        let list =
            manifest.split_once("\npapers-all = [").and_then(|(_, rest)| rest.split_once(']')).expect("a list").0;
        let features: Vec<&str> = list.split(',').map(|word| word.trim().trim_matches('"')).collect();
        for family in FAMILIES {
            assert!(features.contains(&family.name), "{} is not in papers-all: {features:?}", family.name);
        }
    }
}
