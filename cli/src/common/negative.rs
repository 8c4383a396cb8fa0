//! Holds flags that take numbers to refusing a negative one as a value, with what is allowed, instead of taking it for a flag.

use clap::error::ErrorKind;
use clap::{Arg, Parser};

/// Every flag of every command of a family that takes numbers; `needs` are the words that a command cannot do without. Returns how many there are.
///
/// # Panics
/// With those that take `-1` for a flag.
pub fn take_negative_numbers<A: Parser>(needs: impl Fn(&str) -> &'static str) -> usize {
    let (mut wrong, mut n_checked) = (Vec::new(), 0);
    for command in A::command().get_subcommands() {
        let name = command.get_name();
        let parse = |words: &[&str]| {
            let line =
                ["warpplay", name].into_iter().chain(needs(name).split_whitespace()).chain(words.iter().copied());
            A::try_parse_from(line)
        };
        for flag in command.get_arguments().filter_map(Arg::get_long) {
            let takes = |value: &str| parse(&[&format!("--{flag}={value}")]).is_ok();
            if !takes("1") || takes("word") {
                continue;
            }
            n_checked += 1;
            let refused = parse(&[&format!("--{flag}"), "-1"]).err();
            if refused.is_some_and(|error| error.kind() == ErrorKind::UnknownArgument) {
                wrong.push(format!("{name} --{flag}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    n_checked
}
