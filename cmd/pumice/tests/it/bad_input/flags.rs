//! Flags that make no sense.

use super::run::{Folder, GOOD};

#[test]
fn flags_that_are_unknown_or_have_bad_values_are_refused_by_name() {
    let folder = Folder::new("flags").with("g.yaml", GOOD);
    let cases: [(&[&str], &str); 7] = [
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
            &["--node-selector", "disk:ssd,foo"],
            "--node-selector: \"foo\" is not of the form key:value",
        ),
        (
            &["--node-selector", "disk:"],
            "--node-selector: \"disk:\" is not of the form key:value",
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

#[test]
fn strict_fails_with_one_when_anything_was_set_aside_or_warned_about() {
    let misspelt = "kind: Queue\napiVersion: scheduling.volcano.sh/v1beta1\nmetadata: {name: q}\n\
                    spec: {wieght: 2}\n";
    // A warning of the result.
    let alone = "kind: HyperNode\napiVersion: topology.volcano.sh/v1alpha1\nmetadata: {name: h}\n\
                 spec: {tier: 1, members: [{type: Node, selector: {exactMatch: {name: nobody}}}]}\n";
    let folder = Folder::new("strict")
        .with("good.yaml", GOOD)
        .with("broken.yaml", format!("{GOOD}kind: [\n"))
        .with("misspelt.yaml", format!("{GOOD}{misspelt}"))
        .with("alone.yaml", format!("{GOOD}{alone}"));
    for (file, strict) in [
        ("good.yaml", 0),
        ("broken.yaml", 1),
        ("misspelt.yaml", 1),
        ("alone.yaml", 1),
    ] {
        let lax = folder.run(&["simulate", file]);
        assert_eq!(lax.code, Some(0), "{file}: {}", lax.err);
        let ran = folder.run(&["simulate", "--strict", file]);
        assert_eq!(ran.code, Some(strict), "{file}: {}", ran.err);
        assert_eq!(ran.out, lax.out, "the result is the same");
    }
}
