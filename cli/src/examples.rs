//! The examples at the end of each command's `--help`.

/// The text of some lines, each without the program's name.
macro_rules! examples {
    ($($line:literal),+ $(,)?) => { concat!("Examples:", $("\n  warpplay ", $line),+) };
}

#[cfg(all(test, feature = "papers-all"))]
mod tests {
    use clap::{Command, CommandFactory};

    use crate::Cli;

    /// Commands that report nothing, and why.
    const WITHOUT_JSON: [(&str, &str); 3] = [
        ("completions", "prints a script"),
        ("papers page", "writes what it found into a page"),
        ("cfr browse", "shows what cfr query writes"),
    ];

    /// Every command that the help shows, with its words.
    fn commands() -> Vec<(Vec<String>, Command)> {
        let mut found = Vec::new();
        add(&Cli::command(), &[], &mut found);
        assert!(found.len() > 45, "{} commands", found.len());
        found
    }

    fn add(command: &Command, words: &[String], found: &mut Vec<(Vec<String>, Command)>) {
        found.push((words.to_vec(), command.clone()));
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            add(below, &[words, &[below.get_name().to_string()]].concat(), found);
        }
    }

    /// The command that a line starts, by the names that the help shows; the parser's reason where it is none.
    fn parsed(line: &str) -> Result<Vec<String>, String> {
        let matches =
            Cli::command().try_get_matches_from(line.split_whitespace()).map_err(|error| error.to_string())?;
        let (mut matches, mut words) = (&matches, Vec::new());
        while let Some((name, below)) = matches.subcommand() {
            words.push(name.to_string());
            matches = below;
        }
        Ok(words)
    }

    #[test]
    fn every_command_has_examples_and_they_are_lines_of_that_command() {
        let mut wrong = Vec::new();
        for (words, command) in commands() {
            let name = words.join(" ");
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let lines: Vec<&str> = help.lines().map(str::trim).filter(|line| line.starts_with("warpplay ")).collect();
            if !help.contains("Examples:\n") || lines.is_empty() {
                wrong.push(format!("{name}: has no example"));
            }
            for line in lines {
                // What follows is the shell's.
                let line = line.split(" > ").next().unwrap_or(line);
                match parsed(line) {
                    Ok(found) if found.starts_with(&words) => {}
                    Ok(found) => wrong.push(format!("{name}: {line}: is a line of {}", found.join(" "))),
                    Err(reason) => wrong.push(format!("{name}: {line}: {reason}")),
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn every_command_that_reports_writes_json() {
        let mut wrong = Vec::new();
        for (words, command) in commands() {
            let name = words.join(" ");
            let is_group = command.is_subcommand_required_set() || words.is_empty();
            let has = command.get_arguments().any(|argument| argument.get_long() == Some("json"));
            let may_lack = WITHOUT_JSON.iter().any(|(without, _)| *without == name);
            if !is_group && has == may_lack {
                wrong.push(format!("{name}: {}", if has { "has --json, and is in the list" } else { "has no --json" }));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
