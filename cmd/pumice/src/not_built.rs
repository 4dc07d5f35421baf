//! What a program says that was built without feature `live`, when it is asked for a command that
//! asks a cluster.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::bad_input::BadInput;

/// The commands of feature `live`, by name.
#[derive(Subcommand)]
pub enum ClusterCommand {
    #[command(hide = true)]
    Explain(Unread),
    #[command(hide = true)]
    Plan(Unread),
    #[command(hide = true)]
    When(Unread),
    #[command(hide = true)]
    History(Unread),
    #[command(hide = true)]
    Top(Unread),
    #[command(hide = true)]
    Queues(Unread),
    #[command(hide = true)]
    Cards(Unread),
    #[command(hide = true)]
    Ui(Unread),
    #[command(hide = true)]
    Diag(Unread),
    #[command(hide = true)]
    Dump(Unread),
    #[command(hide = true)]
    Record(Unread),
    #[command(hide = true)]
    Job(Unread),
    #[command(hide = true)]
    Queue(Unread),
    #[command(hide = true, name = "jobflow")]
    JobFlow(Unread),
    #[command(hide = true, name = "jobtemplate")]
    JobTemplate(Unread),
    #[command(hide = true)]
    Pod(Unread),
}

/// Whatever else was written.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct Unread {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Says why it is not there, and how to get it.
///
/// # Errors
/// Always.
pub fn run(command: &ClusterCommand) -> anyhow::Result<ExitCode> {
    let (name, unread) = match command {
        ClusterCommand::Explain(unread) => ("explain", unread),
        ClusterCommand::Plan(unread) => ("plan", unread),
        ClusterCommand::When(unread) => ("when", unread),
        ClusterCommand::History(unread) => ("history", unread),
        ClusterCommand::Top(unread) => ("top", unread),
        ClusterCommand::Queues(unread) => ("queues", unread),
        ClusterCommand::Cards(unread) => ("cards", unread),
        ClusterCommand::Ui(unread) => ("ui", unread),
        ClusterCommand::Diag(unread) => ("diag", unread),
        ClusterCommand::Dump(unread) => ("dump", unread),
        ClusterCommand::Record(unread) => ("record", unread),
        ClusterCommand::Job(unread) => ("job", unread),
        ClusterCommand::Queue(unread) => ("queue", unread),
        ClusterCommand::JobFlow(unread) => ("jobflow", unread),
        ClusterCommand::JobTemplate(unread) => ("jobtemplate", unread),
        ClusterCommand::Pod(unread) => ("pod", unread),
    };
    let words: Vec<_> = unread
        .words
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    let asked = [name.to_owned(), words.join(" ")].join(" ");
    Err(BadInput(format!(
        "error: `pumice {}` asks a cluster, and this pumice was built without that (feature live)\n  = \
         help: cargo build --release -p pumice (without --no-default-features), or take the program \
         of the release",
        asked.trim_end()
    ))
    .into())
}

#[cfg(test)]
mod tests {
    use clap::{Command, Subcommand as _};

    use super::*;

    fn names(of: Command) -> Vec<String> {
        let commands = of.get_subcommands();
        commands
            .map(|command| command.get_name().to_owned())
            .collect()
    }

    #[cfg(feature = "live")]
    #[test]
    fn every_command_that_asks_a_cluster_is_known_where_it_is_not_built() {
        let live = names(crate::live::LiveCommand::augment_subcommands(Command::new(
            "",
        )));
        assert_eq!(
            names(ClusterCommand::augment_subcommands(Command::new(""))),
            live
        );
    }

    #[test]
    fn what_is_not_built_says_why_and_how_to_get_it() {
        let line = ClusterCommand::augment_subcommands(Command::new("pumice"));
        for words in ["explain pod/web-0 -n team", "job view j --help", "top"] {
            let words = words.split(' ');
            let matches = line
                .clone()
                .try_get_matches_from(std::iter::once("pumice").chain(words));
            let command = matches.map(|matches| {
                use clap::FromArgMatches as _;
                ClusterCommand::from_arg_matches(&matches)
            });
            let command = command.expect("parsed").expect("a command");
            let error = run(&command).expect_err("not built").to_string();
            assert!(error.contains("built without that"), "{error}");
            assert!(error.contains("cargo build --release -p pumice"), "{error}");
        }
    }
}
