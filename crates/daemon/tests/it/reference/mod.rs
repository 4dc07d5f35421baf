//! Reference pages and the schema of the configuration are what the lists in the code say.
//!
//! `UPDATE_EXPECT=1 cargo test -p pumice-daemon --test it reference::` writes them anew.

mod configuration;
mod flags;
mod metrics;
mod names;
mod schema;

use std::path::PathBuf;

/// A file of the repository.
fn path(relative: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(relative)
}

/// Compares a generated file with the one in the repository, or writes it.
fn hold(relative: &str, made: &str) {
    let path = path(relative);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, made).expect(relative);
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let different = kept
        .lines()
        .zip(made.lines())
        .find(|(kept, made)| kept != made);
    assert!(
        kept == made,
        "{relative} is not what the code says, first in {different:?}; renew it with UPDATE_EXPECT=1"
    );
}

/// The first lines of a generated page.
fn head(title: &str, what: &str) -> String {
    format!(
        "# {title}\n\n{what}\n\n*Made from the code by \
         `UPDATE_EXPECT=1 cargo test -p pumice-daemon --test it reference::`.*\n"
    )
}

/// A text within a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// A text as code, and nothing for an empty one.
fn code(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("`{}`", cell(text))
    }
}
