//! The algorithm families: what `run` and `bench` start.

/// One family of algorithms. A new family is one more row of [`FAMILIES`].
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Its module name in every crate; what the user types.
    pub name: &'static str,
    /// Its example program.
    pub example: &'static str,
    /// What the example is told when the user says nothing: some seconds' work on any machine.
    pub arguments: &'static [&'static str],
    /// Its bench.
    pub bench: &'static str,
    /// Whether several ranks of the example can work together.
    pub ranks: bool,
}

/// All families of this version.
pub const FAMILIES: &[Family] = &[
    Family {
        name: "mcts",
        example: "mcts",
        arguments: &["analyse", "--game", "connect4", "--device", "auto", "--seconds", "3"],
        bench: "mcts",
        ranks: false,
    },
    Family {
        name: "mlp",
        example: "mlp_mnist",
        arguments: &["train", "--device", "auto", "--lr", "0.1", "--epochs", "5"],
        bench: "mlp",
        ranks: false,
    },
    Family {
        name: "azero",
        example: "azero_checkers",
        arguments: &["selfplay", "--device", "auto", "--games", "2", "--simulations", "32"],
        bench: "azero",
        ranks: false,
    },
    Family {
        name: "cfr",
        example: "cfr_poker",
        arguments: &["solve", "tests/golden/cfr/games/leduc.limit.2p.game", "--device", "auto", "--iterations", "1000"],
        bench: "cfr",
        ranks: false,
    },
    Family {
        name: "shogi",
        example: "shogi_learn",
        arguments: &[
            "reproduce",
            "--games",
            "tests/golden/shogi/first_100.usi.txt.gz",
            "--device",
            "auto",
            "--iterations",
            "10",
        ],
        bench: "shogi",
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
        let host = crate::process::root().join("host");
        for family in FAMILIES {
            assert_eq!(find(family.name).unwrap().name, family.name);
            let example = host.join("examples").join(format!("{}.rs", family.example));
            let bench = host.join("benches").join(format!("{}.rs", family.bench));
            assert!(example.is_file(), "{} is missing", example.display());
            assert!(bench.is_file(), "{} is missing", bench.display());
        }
        assert!(find("no such family").is_none());
    }
}
