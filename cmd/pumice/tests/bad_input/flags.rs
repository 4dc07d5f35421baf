//! Flags that make no sense.

use super::run::{Folder, GOOD};

#[test]
fn flags_that_are_unknown_or_have_bad_values_are_refused_by_name() {
    let folder = Folder::new("flags").with("g.yaml", GOOD);
    let cases: [(&[&str], &str); 5] = [
        (&["--frobnicate"], "--frobnicate"),
        (
            &["--now", "yesterday"],
            "--now: \"yesterday\" is not a time",
        ),
        (
            &["--cycles", "many"],
            "invalid value 'many' for '--cycles <N>'",
        ),
        (
            &["--output", "xml"],
            "invalid value 'xml' for '--output <OUTPUT>'",
        ),
        (
            &["--scheduler-sharding-mode", "firm"],
            "invalid value 'firm'",
        ),
    ];
    for (flags, message) in cases {
        let arguments = [&["simulate"], flags, &["g.yaml"]].concat();
        folder.run(&arguments).gives_up(&[message]);
    }
}
