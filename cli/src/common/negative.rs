//! Holds flags that take numbers to refusing a negative one as a value, with what is allowed, instead of taking it for a flag.

use clap::error::ErrorKind;
use clap::{Arg, Command, Parser};

/// Numbers some of which every flag that takes numbers takes.
const NUMBERS: [&str; 2] = ["1", "64"];

/// Every flag of every command of a family that takes numbers. Returns how many there are.
///
/// # Panics
/// With those that take `-1` for a flag.
pub fn take_negative_numbers<A: Parser>() -> usize {
    let (mut wrong, mut n_checked) = (Vec::new(), 0);
    walk::<A>(&A::command(), &mut Vec::new(), &mut wrong, &mut n_checked);
    assert!(wrong.is_empty(), "{wrong:?}");
    n_checked
}

/// The flags of the command that `words` name, and of those below it.
fn walk<A: Parser>(command: &Command, words: &mut Vec<String>, wrong: &mut Vec<String>, n_checked: &mut usize) {
    for flag in command.get_arguments().filter_map(Arg::get_long) {
        let refused = |given: &[&str]| {
            let line = ["warpplay"].into_iter().chain(words.iter().map(String::as_str)).chain(given.iter().copied());
            A::try_parse_from(line).err().map(|error| error.kind())
        };
        // What else a line needs, and what its flags exclude, is asked for after the values.
        let takes = |value: &str| {
            let later = [ErrorKind::MissingRequiredArgument, ErrorKind::ArgumentConflict];
            refused(&[&format!("--{flag}={value}")]).is_none_or(|kind| later.contains(&kind))
        };
        if !NUMBERS.into_iter().any(takes) || takes("word") {
            continue;
        }
        *n_checked += 1;
        if refused(&[&format!("--{flag}"), "-1"]) == Some(ErrorKind::UnknownArgument) {
            wrong.push(format!("{} --{flag}", words.join(" ")));
        }
    }
    for below in command.get_subcommands() {
        words.push(below.get_name().to_string());
        walk::<A>(below, words, wrong, n_checked);
        words.pop();
    }
}
