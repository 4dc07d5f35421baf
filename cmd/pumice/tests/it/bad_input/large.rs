//! Large inputs.

use std::fmt::Write as _;

use super::run::{Folder, GOOD};

/// Objects of a file of about 20 MB.
const PODS: usize = 50_000;

#[test]
fn twenty_megabytes_with_a_thousand_broken_objects_are_read() {
    let mut text = String::with_capacity(24 << 20);
    text.push_str(GOOD);
    for at in 0..PODS {
        // One in fifty waits and has a negative request.
        let (place, cpu) = match at % 50 {
            0 => ("schedulerName: volcano", "-1"),
            _ => ("nodeName: n2", "1m"),
        };
        let filler = "x".repeat(200);
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p{at:05}\n  annotations:\n    note: \
             {filler}\nspec:\n  {place}\n  containers:\n  - name: main\n    resources:\n      \
             requests:\n        cpu: {cpu}\n---\n"
        );
    }
    assert!(text.len() > 15 << 20);
    let folder = Folder::new("large").with("all.yaml", &text);
    folder
        .run(&["simulate", "--output", "json", "all.yaml"])
        .goes_on(&[
            "all.yaml:31:14: Pod default/p00000: ",
            "Node \"n2\" does not exist",
            "… and 950 more errors",
        ])
        .binds(&["default/good"])
        .aside(PODS / 50);
}

#[test]
fn a_small_text_cannot_become_a_large_tree() {
    let mut text = String::from("kind: Pod\napiVersion: v1\nmetadata: {name: bomb}\nx0: &x0 [1]\n");
    for level in 1..30 {
        let below = level - 1;
        let _ = writeln!(text, "x{level}: &x{level} [*x{below}, *x{below}]");
    }
    let folder = Folder::new("bomb").with("all.yaml", format!("{GOOD}{text}"));
    folder
        .run(&["simulate", "--output", "json", "all.yaml"])
        .goes_on(&["aliases expanded"])
        .binds(&["default/good"]);
}

#[test]
fn deep_nesting_is_refused_and_the_rest_is_read() {
    let deep = format!("kind: Pod\nx: {}\n", "[".repeat(100_000));
    let folder = Folder::new("deep").with("all.yaml", format!("{GOOD}{deep}"));
    folder
        .run(&["simulate", "--output", "json", "all.yaml"])
        .goes_on(&["levels of nesting"])
        .binds(&["default/good"]);
}
