//! Words of the command line into a command's arguments.

use std::any::TypeId;
use std::ffi::OsString;
use std::io;
use std::num::{ParseFloatError, ParseIntError};
use std::str::FromStr;

use anyhow::Context;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};

/// The arguments in these words, of which the first is the program's name. What is no command line ends the program with its text and code 2; so do --help and --version, with 0.
pub fn parse<P: Parser>(words: Vec<OsString>) -> P {
    let error = match P::try_parse_from(&words) {
        Ok(args) => return args,
        Err(error) => error,
    };
    let error = of_number::<P>(&words, &error).unwrap_or(error);
    match error.print() {
        // A help that nobody could read was not given; a reader that has left did not want it.
        Err(failed) if !error.use_stderr() && failed.kind() != io::ErrorKind::BrokenPipe => {
            super::exit(Err::<(), _>(failed).context("stdout"));
            std::process::exit(1)
        }
        _ => std::process::exit(error.exit_code()),
    }
}

/// The error about a value that is no number, or none of its type: with what is allowed, and the usage of the command that has the option.
fn of_number<P: CommandFactory>(words: &[OsString], error: &clap::Error) -> Option<clap::Error> {
    let source = std::error::Error::source(error)?;
    // Of the parser's own type: the command says which numbers the option may have.
    let is_of_type = ["0..=255", "0..=4294967295"].iter().any(|range| source.to_string().ends_with(range));
    if !source.is::<ParseIntError>() && !source.is::<ParseFloatError>() && !is_of_type {
        return None;
    }
    let value = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    };
    let (option, value) = (value(ContextKind::InvalidArg)?, value(ContextKind::InvalidValue)?);
    let mut command = P::command();
    command.build();
    let mut command = &mut command;
    for word in words.iter().skip(1) {
        if command.find_subcommand(word).is_some() {
            command = command.find_subcommand_mut(word)?;
        }
    }
    let id = command.get_arguments().find(|arg| arg.to_string() == *option)?.get_value_parser().type_id();
    let allowed = allowed(|of| id == of).or_else(|| source.is::<ParseFloatError>().then(|| "a number".to_string()))?;
    let text = format!("invalid value '{value}' for '{option}': expected {allowed}");
    Some(command.error(ErrorKind::ValueValidation, text))
}

/// What a type of whole numbers holds, of which `is` knows the number.
fn allowed(is: impl Fn(TypeId) -> bool) -> Option<String> {
    let whole = [
        (TypeId::of::<u8>(), u8::BITS),
        (TypeId::of::<u32>(), u32::BITS),
        (TypeId::of::<u64>(), u64::BITS),
        (TypeId::of::<usize>(), usize::BITS),
    ];
    let (_, bits) = whole.iter().find(|(of, _)| is(*of))?;
    Some(format!("a whole number of at most {bits} bits, 0 or more"))
}

/// The number that is an option's value.
///
/// # Errors
/// Names the option, the value and what is allowed.
pub fn number<T: FromStr + 'static>(name: &str, value: &str) -> Result<T, String> {
    let allowed = || allowed(|of| TypeId::of::<T>() == of).unwrap_or_else(|| "a number".to_string());
    value.parse().map_err(|_| format!("option {name}: `{value}` is not allowed ({})", allowed()))
}

/// Options written as `NAME=VALUE`, each at most once.
///
/// # Errors
/// Says what is no option, or which is given twice.
pub fn once_each<'a>(parts: impl Iterator<Item = &'a str>) -> Result<Vec<(&'a str, &'a str)>, String> {
    let mut options: Vec<(&str, &str)> = Vec::new();
    for part in parts {
        let (name, value) =
            part.split_once('=').ok_or_else(|| format!("`{part}` is not an option: expected NAME=VALUE"))?;
        if let Some((_, before)) = options.iter().find(|(other, _)| *other == name) {
            return Err(format!("option {name} is given twice, as `{before}` and `{value}`"));
        }
        options.push((name, value));
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_given_once() {
        let of = |text: &'static str| once_each(text.split(','));
        assert_eq!(of("trees=2,steps=3"), Ok(vec![("trees", "2"), ("steps", "3")]));
        assert_eq!(of("trees=2,steps=3,trees=3"), Err("option trees is given twice, as `2` and `3`".to_string()));
        assert_eq!(number::<f64>("seconds", "0.5"), Ok(0.5));
        assert_eq!(
            number::<f64>("seconds", "soon"),
            Err("option seconds: `soon` is not allowed (a number)".to_string())
        );
        assert!(number::<u32>("trees", "-1").is_err_and(|error| error.contains("of at most 32 bits, 0 or more")));
        assert!(of("trees").is_err_and(|error| error.contains("expected NAME=VALUE")));
    }

    #[derive(Parser)]
    #[command(name = "program")]
    enum Program {
        #[command(name = "play")]
        Play {
            #[arg(long)]
            games: u32,
        },
    }

    #[test]
    fn a_wrong_number_shows_the_usage_of_its_command() {
        let words: Vec<OsString> = ["program", "play", "--games", "x"].map(OsString::from).to_vec();
        let error = Program::try_parse_from(&words).err().expect("no number");
        let said = of_number::<Program>(&words, &error).expect("of a number").to_string();
        let expected = "'x' for '--games <GAMES>': expected a whole number of at most 32 bits, 0 or more";
        assert!(said.contains(expected), "{said}");
        assert!(said.contains("Usage: program play --games <GAMES>"), "{said}");
    }
}
