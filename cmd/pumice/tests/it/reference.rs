//! `docs/reference/commands.md` is what the program says of itself.
//!
//! `UPDATE_EXPECT=1 cargo test -p pumice --test it reference::` writes it anew.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

const PAGE: &str = "docs/reference/commands.md";

/// What `pumice COMMAND --help` prints.
fn help(command: &[String]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_pumice"))
        .args(command)
        .arg("--help")
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{command:?} --help");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Names of the commands below one, out of its help.
fn commands(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    listed
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && *name != "help")
        .map(str::to_owned)
        .collect()
}

/// The section of a command, and those of the commands below it.
fn describe(command: &[String], page: &mut String) {
    let help = help(command);
    let below = commands(&help);
    if !command.is_empty() {
        let level = "#".repeat(command.len() + 1);
        let name = command.join(" ");
        let _ = write!(page, "\n{level} pumice {name}\n\n```text\n");
        for line in help.trim_end().lines() {
            let _ = writeln!(page, "{}", line.trim_end());
        }
        page.push_str("```\n");
    }
    for name in below {
        let command: Vec<String> = command.iter().cloned().chain([name]).collect();
        describe(&command, page);
    }
}

#[test]
fn the_page_of_commands_is_what_the_program_says() {
    let mut page = "# Commands\n\nThe user tool `pumice`. `explain` asks a running scheduler and the API server, \
                    `top`, `queues`, `cards`, `diag`, `dump` and `record` the scheduler ([how](../why.md)), `job`, `queue`, `jobflow`, `jobtemplate` and `pod` \
                    the API server; the others need no cluster.\n\n*Made from the program by \
                    `UPDATE_EXPECT=1 cargo test -p pumice --test it reference::`.*\n"
        .to_owned();
    describe(&[], &mut page);
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(PAGE);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &page).expect(PAGE);
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let mut lines = kept.lines().zip(page.lines());
    let different = lines.find(|(kept, made)| kept != made);
    assert!(
        kept == page,
        "{PAGE} is not what the program says, first in {different:?}; renew it with UPDATE_EXPECT=1"
    );
}
