//! `docs/reference/flags.md`: the command line of the daemon.

use std::fmt::Write as _;

use super::{cell, code, head, hold};

#[test]
fn the_page_of_flags_is_the_command_line() {
    let mut page = head(
        "Flags",
        "The command line of `pumice-scheduler`. `_` and `-` in names are the same, a boolean takes \
         its value behind `=` (`--leader-elect=false`), extra words are ignored.",
    );
    let command = pumice_daemon::command();
    let mut heading = "";
    for flag in command.get_arguments().filter(|flag| !flag.is_hide_set()) {
        let Some(name) = flag.get_long() else {
            continue;
        };
        let group = flag.get_help_heading().unwrap_or("General");
        if group != heading {
            heading = group;
            let _ = write!(
                page,
                "\n## {group}\n\n| flag | default | what it does |\n|---|---|---|\n"
            );
        }
        let short = flag.get_short().map(|short| format!("-{short}"));
        let value = flag.get_value_names().and_then(|names| names.first());
        let value = value.filter(|_| group != "Accepted without effect");
        let value = value.map(|value| format!(" {value}")).unwrap_or_default();
        let name = short.unwrap_or_else(|| format!("--{name}"));
        let default: Vec<&str> = flag
            .get_default_values()
            .iter()
            .filter_map(|d| d.to_str())
            .collect();
        let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(
            page,
            "| `{name}{value}` | {} | {} |",
            code(&default.join(",")),
            cell(&help)
        );
    }
    hold("docs/reference/flags.md", &page);
}
