//! What set-up does about a missing device compiler: decided here, done in [`crate::setup`].
//!
//! The decision is a plain function of what the machine offers, so that the ways which this machine cannot go are tested too.

use std::fmt;

/// Oldest compiler that accepts the device code (major, minor).
pub const OLDEST_COMPILER: (u32, u32) = (1, 95);
/// Debian's packages: a compiler, and the library source of exactly that compiler.
pub const DEBIAN_PACKAGES: [&str; 2] = ["rustc-web", "rust-web-src"];

/// Debian's packages for ranks that are processes: Open MPI with its headers and `mpirun`, and what its bindings are made with.
pub const MPI_PACKAGES: [&str; 3] = ["libopenmpi-dev", "openmpi-bin", "libclang-dev"];

/// Debian's package of the browser in which tests open pages, and the program's name.
pub const BROWSER_PACKAGE: &str = "chromium";

/// What the machine offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The active toolchain belongs to rustup, and rustup is there.
    pub rustup: bool,
    /// Debian's or Ubuntu's package manager is there.
    pub apt: bool,
    /// The user is root.
    pub root: bool,
    /// `CI` is set to `true` or `1`.
    pub ci: bool,
    /// `sudo` is there.
    pub sudo: bool,
    /// Somebody can be asked: input and error output are a terminal.
    pub terminal: bool,
}

/// How a package is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// As we are: root.
    Root,
    /// With `sudo -n`, which never asks for a password.
    Sudo,
    /// With `sudo`, after the user said yes.
    SudoAfterAsking,
}

/// One way to a device compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `rustup component add rust-src`.
    Rustup,
    /// Debian's [`DEBIAN_PACKAGES`].
    Apt(Privilege),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let packages = DEBIAN_PACKAGES.join(" ");
        match self {
            Self::Rustup => f.write_str("rustup component add rust-src"),
            Self::Apt(Privilege::Root) => write!(f, "apt-get update && apt-get install {packages}"),
            Self::Apt(Privilege::Sudo) => write!(f, "sudo -n apt-get update && sudo -n apt-get install {packages}"),
            Self::Apt(Privilege::SudoAfterAsking) => {
                write!(f, "after asking: sudo apt-get update && sudo apt-get install {packages}")
            }
        }
    }
}

/// The ways to try, in order, until one gives a compiler. An empty list: nothing can be done without the user.
pub fn steps(machine: &Machine) -> Vec<Step> {
    let mut steps = Vec::new();
    if machine.rustup {
        steps.push(Step::Rustup);
    }
    if let Some(privilege) = privilege(machine).filter(|_| machine.apt) {
        steps.push(Step::Apt(privilege));
    }
    steps
}

/// How this user may install packages, if at all.
pub fn privilege(machine: &Machine) -> Option<Privilege> {
    if machine.root {
        Some(Privilege::Root)
    } else if machine.sudo && machine.ci {
        Some(Privilege::Sudo)
    } else if machine.sudo && machine.terminal {
        Some(Privilege::SudoAfterAsking)
    } else {
        None
    }
}

/// What the user can type, once every step that we may take has failed.
pub fn remedy() -> String {
    let packages = DEBIAN_PACKAGES.join(" ");
    let (major, minor) = OLDEST_COMPILER;
    format!(
        "to get the GPU kernels, type one of these and run the command again:\n  \
           with rustup:          rustup component add rust-src\n  \
           on Debian or Ubuntu:  sudo apt-get update && sudo apt-get install {packages}   (version {major}.{minor} or newer)\n  \
           with another rustc:   export WARPPLAY_DEVICE_RUSTC=/path/to/rustc   ({major}.{minor} or newer, with its library source)"
    )
}

/// The arguments of `mpirun` for so many ranks of a program: more ranks than cores, and the user root, must be asked for; ranks share the cores, so that none is
/// tied to one.
pub fn mpirun(ranks: usize, cores: usize, root: bool) -> Vec<String> {
    let mut words = vec!["-np".to_string(), ranks.to_string(), "--bind-to".into(), "none".into()];
    if ranks > cores {
        words.push("--oversubscribe".into());
    }
    if root {
        words.push("--allow-run-as-root".into());
    }
    words
}

/// The version that `apt-cache policy PACKAGE` offers, as (major, minor); `None` if it offers none.
///
/// Reads the C locale's output (`  Candidate: 1.96.0+dfsg1-1~deb12u2`).
pub fn apt_candidate(policy: &str) -> Option<(u32, u32)> {
    let line = policy.lines().find_map(|line| line.trim().strip_prefix("Candidate:"))?;
    // A Debian version may begin with an epoch, "1:".
    let version = line.trim().rsplit_once(':').map_or(line.trim(), |(_, version)| version);
    let mut parts = version.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Machine =
        Machine { rustup: false, apt: false, root: false, ci: false, sudo: false, terminal: false };

    #[test]
    fn rustup_comes_first_and_debian_second() {
        let machine = Machine { rustup: true, apt: true, root: true, ..NOTHING };
        assert_eq!(steps(&machine), [Step::Rustup, Step::Apt(Privilege::Root)]);
    }

    #[test]
    fn root_is_never_asked() {
        for (ci, terminal, sudo) in [(false, false, false), (true, true, true), (false, true, true)] {
            let machine = Machine { apt: true, root: true, ci, terminal, sudo, ..NOTHING };
            assert_eq!(steps(&machine), [Step::Apt(Privilege::Root)]);
        }
    }

    #[test]
    fn ci_uses_sudo_without_asking() {
        let machine = Machine { apt: true, ci: true, sudo: true, terminal: true, ..NOTHING };
        assert_eq!(steps(&machine), [Step::Apt(Privilege::Sudo)]);
    }

    #[test]
    fn a_user_is_asked_only_at_a_terminal() {
        let machine = Machine { apt: true, sudo: true, terminal: true, ..NOTHING };
        assert_eq!(steps(&machine), [Step::Apt(Privilege::SudoAfterAsking)]);
        assert_eq!(steps(&Machine { terminal: false, ..machine }), []);
    }

    #[test]
    fn without_apt_or_rights_nothing_is_installed() {
        assert_eq!(steps(&Machine { root: true, ..NOTHING }), []);
        assert_eq!(steps(&Machine { apt: true, ci: true, terminal: true, ..NOTHING }), []);
        assert_eq!(steps(&NOTHING), []);
        assert_eq!(steps(&Machine { rustup: true, ..NOTHING }), [Step::Rustup]);
    }

    #[test]
    fn ranks_beyond_the_cores_and_root_are_asked_for() {
        assert_eq!(mpirun(2, 2, false), ["-np", "2", "--bind-to", "none"]);
        assert_eq!(mpirun(4, 2, false)[4..], ["--oversubscribe"]);
        assert_eq!(mpirun(1, 2, true)[4..], ["--allow-run-as-root"]);
        assert_eq!(mpirun(3, 2, true)[4..], ["--oversubscribe", "--allow-run-as-root"]);
    }

    #[test]
    fn candidate_versions_are_read() {
        let policy = "rustc-web:\n  Installed: (none)\n  Candidate: 1.96.0+dfsg1-1~deb12u2\n  Version table:\n";
        assert_eq!(apt_candidate(policy), Some((1, 96)));
        assert_eq!(apt_candidate("rustc-web:\n  Candidate: 1:1.85.1-1\n"), Some((1, 85)));
        assert_eq!(apt_candidate("rustc-web:\n  Candidate: (none)\n"), None);
        assert_eq!(apt_candidate(""), None);
        assert!(Some((1, 85)) < Some(OLDEST_COMPILER) && None < Some(OLDEST_COMPILER));
    }
}
