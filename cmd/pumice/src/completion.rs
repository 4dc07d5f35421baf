//! `pumice completion`: words for the shell to complete. As `kubectl_complete-pumice` on the path the
//! program answers kubectl, which asks plugins so.

use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

/// Arguments of `pumice completion`.
#[derive(Args)]
pub struct CompletionArguments {
    /// For which shell the script is written
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script.
pub fn run(arguments: &CompletionArguments, mut command: Command) -> ExitCode {
    let mut out = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "pumice", &mut out);
    anstream::print!("{}", String::from_utf8_lossy(&out));
    ExitCode::SUCCESS
}

/// What kubectl asks of a plugin: the words so far, of which the last is being written. A line for
/// each that may stand there, and what else may: `:4` nothing, `:0` names of files.
pub fn answer(words: &[String], root: &Command) -> String {
    let (last, before) = match words.split_last() {
        Some((last, before)) => (last.as_str(), before),
        None => ("", &[][..]),
    };
    let mut command = root;
    for word in before {
        command = command.find_subcommand(word).unwrap_or(command);
    }
    let mut lines = candidates(command, before.last(), last.starts_with('-'));
    lines.retain(|line| line.starts_with(last));
    let more = if lines.is_empty() { ":0" } else { ":4" };
    lines.push(more.to_owned());
    lines.join("\n")
}

fn candidates(command: &Command, previous: Option<&String>, is_flag: bool) -> Vec<String> {
    let line = |name: &str, about: Option<&clap::builder::StyledStr>| match about {
        Some(about) => format!("{name}\t{about}"),
        None => name.to_owned(),
    };
    if is_flag {
        let flags = command.get_arguments();
        let named = flags.filter_map(|flag| {
            let long = flag.get_long()?;
            Some(line(&format!("--{long}"), flag.get_help()))
        });
        return named.collect();
    }
    let is_named = |flag: &&clap::Arg| {
        let short = flag.get_short().map(|short| format!("-{short}"));
        let long = flag.get_long().map(|long| format!("--{long}"));
        previous.is_some() && (previous == short.as_ref() || previous == long.as_ref())
    };
    let asked = command.get_arguments().find(is_named);
    let asked = asked.or_else(|| command.get_positionals().next());
    let values = asked
        .map(clap::Arg::get_possible_values)
        .unwrap_or_default();
    let values = values
        .iter()
        .map(|value| line(value.get_name(), value.get_help()));
    let below = command
        .get_subcommands()
        .map(|one| line(one.get_name(), one.get_about()));
    below.chain(values).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn answered(words: &[&str]) -> Vec<String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let text = answer(&words, &crate::PumiceArguments::command());
        let first = |line: &str| line.split('\t').next().unwrap_or_default().to_owned();
        text.lines().map(first).collect()
    }

    #[test]
    fn kubectl_is_answered_with_commands_flags_and_values() {
        assert_eq!(answered(&["job", "su"]), ["suspend", ":4"]);
        assert_eq!(answered(&["queue", "cl"]), ["close", ":4"]);
        assert_eq!(
            answered(&["job", "list", "--all"]),
            ["--all-namespaces", ":4"]
        );
        assert_eq!(
            answered(&["job", "list", "-o", ""]),
            ["table", "wide", "json", "yaml", ":4"]
        );
        assert_eq!(
            answered(&["queue", "list", "-o", ""]),
            ["table", "json", "yaml", ":4"]
        );
        assert_eq!(answered(&["job", "run", "-f", "jo"]), [":0"]);
        assert!(answered(&[""]).contains(&"job".to_owned()));
    }
}
