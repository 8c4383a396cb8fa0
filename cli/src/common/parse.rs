//! Words of the command line into a command's arguments.

use std::any::TypeId;
use std::ffi::OsString;
use std::io;
use std::num::{ParseFloatError, ParseIntError};

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

/// The error about a value that is no number, or none that its option may have: with what is allowed, and the usage of the command that has the option.
fn of_number<P: CommandFactory>(words: &[OsString], error: &clap::Error) -> Option<clap::Error> {
    let source = std::error::Error::source(error)?;
    if !source.is::<ParseIntError>() && !source.is::<ParseFloatError>() {
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
    let whole = [
        (TypeId::of::<u8>(), u8::MAX.into()),
        (TypeId::of::<u32>(), u32::MAX.into()),
        (TypeId::of::<u64>(), u64::MAX),
        (TypeId::of::<usize>(), usize::MAX as u64),
    ];
    let allowed = match whole.iter().find(|(other, _)| id == *other) {
        Some((_, most)) => format!("a whole number from 0 to {most}"),
        None if source.is::<ParseFloatError>() => "a number".to_string(),
        None => return None,
    };
    let text = format!("invalid value '{value}' for '{option}': expected {allowed}");
    Some(command.error(ErrorKind::ValueValidation, text))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(said.contains("'x' for '--games <GAMES>': expected a whole number from 0 to 4294967295"), "{said}");
        assert!(said.contains("Usage: program play --games <GAMES>"), "{said}");
    }
}
