//! Files that cannot be read, or hold nothing.

use super::run::{Folder, GOOD};

const SIMULATE: [&str; 3] = ["simulate", "--output", "json"];

fn simulate(folder: &Folder, paths: &[&str]) -> super::run::Ran {
    folder.run(&[&SIMULATE, paths].concat())
}

#[test]
fn an_empty_file_alone_is_nothing_and_beside_others_a_warning() {
    let folder = Folder::new("empty")
        .with("e.yaml", "")
        .with("c.yaml", "# a\n---\n")
        .with("g.yaml", GOOD);
    simulate(&folder, &["e.yaml"]).gives_up(&["e.yaml:1:1: the file is empty", "no object"]);
    simulate(&folder, &["c.yaml"]).gives_up(&["c.yaml:1:1: the file is empty", "no object"]);
    simulate(&folder, &["e.yaml", "g.yaml"])
        .goes_on(&["warning: e.yaml:1:1: the file is empty"])
        .binds(&["default/good"]);
}

#[test]
fn bytes_that_are_no_text_set_their_document_aside() {
    let after = "\n---\nkind: Pod\napiVersion: v1\nmetadata: {name: after}\nspec: {schedulerName: \
                 volcano, containers: [{name: main}]}\n";
    for (byte, message) in [
        (
            b'\xff',
            "error: all.yaml:19:8: the byte 0xff is not valid UTF-8",
        ),
        (
            b'\x00',
            "error: all.yaml:19:8: the control character 0x00 is not allowed in YAML",
        ),
    ] {
        let mut bytes = format!("{GOOD}kind: é").into_bytes();
        bytes.push(byte);
        bytes.extend(after.bytes());
        let folder = Folder::new("bytes").with("all.yaml", &bytes);
        simulate(&folder, &["all.yaml"])
            .goes_on(&[message])
            .binds(&["default/after", "default/good"])
            .aside(1);
    }
}

#[test]
fn a_file_that_is_no_text_at_all_is_set_aside() {
    let folder = Folder::new("utf16")
        .with("u.yaml", b"\xfe\xff\x00a\x00:")
        .with("g.yaml", GOOD);
    let message = "u.yaml:1:1: the byte 0xfe is not valid UTF-8";
    simulate(&folder, &["u.yaml"]).gives_up(&[message, "no object could be read"]);
    simulate(&folder, &["u.yaml", "g.yaml"])
        .goes_on(&[message])
        .binds(&["default/good"]);
}

#[test]
fn a_missing_file_is_told() {
    let folder = Folder::new("missing").with("g.yaml", GOOD);
    simulate(&folder, &["g.yaml", "gone.yaml"])
        .gives_up(&["error: gone.yaml: No such file or directory"]);
}

#[test]
fn a_directory_without_manifests_is_told() {
    let folder = Folder::new("directory")
        .with_folder("d")
        .with("g.yaml", GOOD);
    let message = "d: no .yaml, .yml or .json file in this directory";
    simulate(&folder, &["d"]).gives_up(&[message, "no object could be read"]);
    simulate(&folder, &["d", "g.yaml"])
        .goes_on(&[message])
        .binds(&["default/good"]);
}

#[test]
fn no_paths_at_all_are_told_with_an_example() {
    Folder::new("nothing")
        .run(&["simulate"])
        .gives_up(&["no manifests given", "kubectl get"]);
}

#[test]
fn the_guide_shows_the_command_the_message_shows() {
    let ran = Folder::new("guide").run(&["simulate"]);
    let (_, command) = ran.err.split_once("of a cluster:\n").expect("a command");
    let page = include_str!("../../../../../docs/guide/simulate.md");
    assert!(
        page.contains(command.trim()),
        "not in the guide:\n{command}"
    );
}

#[test]
fn where_every_object_is_set_aside_nothing_is_simulated() {
    let node = "kind: Node\napiVersion: v1\nmetadata: {}\n";
    let folder = Folder::new("all-aside").with("n.yaml", node);
    simulate(&folder, &["n.yaml"]).gives_up(&[
        "metadata.name: the name is missing",
        "every object was set aside, nothing was simulated",
    ]);
}

#[test]
fn nothing_but_ignored_kinds_is_a_result() {
    let folder = Folder::new("ignored").with("w.yaml", "kind: Widget\napiVersion: e.com/v1\n");
    simulate(&folder, &["w.yaml"]).goes_on(&[]).binds(&[]);
}
