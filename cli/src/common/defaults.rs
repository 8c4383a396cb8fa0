//! Holds the defaults that help texts tell to what the commands do.

use std::collections::BTreeSet;

use clap::{Arg, Command, Parser};

/// How a command is called that has flags with a default in their help.
pub struct Case {
    /// Its words, after the family's.
    pub command: &'static str,
    /// What it cannot do without.
    pub needs: &'static str,
    /// Flags whose default has a meaning only beside others, and those others.
    pub beside: &'static [(&'static str, &'static str)],
}

/// Every argument whose help holds `[default: V]`, of every command: parsed without it and with the value V, the options that `options` makes of the line
/// are the same; with another number in its place they are not, or are refused.
///
/// `prose` lists the arguments (`--flag`, or `command --flag` for one of one command) whose default is no value, each with a word why; nothing else is left
/// out.
///
/// # Panics
/// With all disagreements.
pub fn hold<A: Parser>(cases: &[Case], prose: &[(&str, &str)], options: impl Fn(A) -> Result<String, String>) {
    let mut found = Found { cases, prose, used: BTreeSet::new(), wrong: Vec::new(), n_checked: 0 };
    found.walk::<A>(&A::command(), "", &options);
    let Found { used, mut wrong, n_checked, .. } = found;
    let unused = |name: &str| !used.contains(name);
    wrong.extend(
        prose.iter().filter(|(name, _)| unused(name)).map(|(name, _)| format!("no help has a default of {name}")),
    );
    wrong.extend(
        cases
            .iter()
            .filter(|case| unused(case.command))
            .map(|case| format!("no command {} needs a case", case.command)),
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(n_checked > 0, "no help has a default");
}

struct Found<'a> {
    cases: &'a [Case],
    prose: &'a [(&'a str, &'a str)],
    /// Entries of both that were of use.
    used: BTreeSet<String>,
    wrong: Vec<String>,
    n_checked: usize,
}

impl Found<'_> {
    fn walk<A: Parser>(&mut self, command: &Command, words: &str, options: &impl Fn(A) -> Result<String, String>) {
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            self.walk::<A>(below, format!("{words} {}", below.get_name()).trim(), options);
        }
        for argument in command.get_arguments() {
            let Some(value) = default_of(argument) else { continue };
            let name = argument.get_long().map_or_else(|| argument.get_id().to_string(), |long| format!("--{long}"));
            let scoped = format!("{words} {name}");
            if let Some((known, _)) = self.prose.iter().find(|(known, _)| *known == name || *known == scoped) {
                self.used.insert((*known).to_string());
                continue;
            }
            let Some(case) = self.cases.iter().find(|case| case.command == words) else {
                self.wrong.push(format!("{words}: {name} has a default, but the command no case"));
                continue;
            };
            self.used.insert(words.to_string());
            self.n_checked += 1;
            if let Err(reason) = check::<A>(case, &name, &value, options) {
                self.wrong.push(format!("{words} {name} [default: {value}]: {reason}"));
            }
        }
    }
}

/// What the help of an argument tells as its default.
fn default_of(argument: &Arg) -> Option<String> {
    let help = argument.get_long_help().or(argument.get_help())?.to_string();
    let (_, after) = help.rsplit_once("[default: ")?;
    after.split_once(']').map(|(value, _)| value.to_string())
}

fn check<A: Parser>(
    case: &Case,
    name: &str,
    value: &str,
    options: &impl Fn(A) -> Result<String, String>,
) -> Result<(), String> {
    let beside = case.beside.iter().find(|(flag, _)| *flag == name).map_or("", |(_, others)| *others);
    let of = |flag: Option<String>| {
        let words = ["warpplay", case.command, case.needs, beside].into_iter().flat_map(str::split_whitespace);
        let line: Vec<String> = words.map(str::to_string).chain(flag).collect();
        A::try_parse_from(&line).map_err(|error| error.to_string()).and_then(options)
    };
    let with = |value: &str| of(Some(format!("{name}={value}")));
    let (without, given) = (of(None)?, with(value)?);
    if without != given {
        return Err(format!("without the flag\n  {without}\nwith it\n  {given}"));
    }
    // Whoever does not look at the flag would agree with everything.
    match value.parse::<f64>() {
        Ok(number) if with(&(2.0 * number + 1.0).to_string()).is_ok_and(|other| other == given) => {
            Err("another number changes nothing".to_string())
        }
        _ => Ok(()),
    }
}
