//! Configurations that cannot be used.

use serde_json::json;

use super::run::{Folder, GOOD, Ran};

fn with_conf(name: &str, conf: impl AsRef<[u8]>) -> Ran {
    let folder = Folder::new(name)
        .with("all.yaml", GOOD)
        .with("my.conf", conf);
    folder.run(&[
        "simulate", "--output", "json", "--config", "my.conf", "all.yaml",
    ])
}

#[test]
fn unknown_plugins_and_actions_are_named_with_the_nearest_known_one() {
    let conf = "actions: \"enqueue, alocate\"\ntiers:\n- plugins:\n  - name: gnag\n";
    with_conf("unknown", conf).gives_up(&[
        "error[E0202-unknown-action]: unknown action `alocate`",
        "--> my.conf:1:20",
        "did you mean `allocate`?",
        "error[E0101-unknown-plugin]: unknown plugin `gnag`",
        "--> my.conf:4:11",
        "did you mean `gang`?",
    ]);
}

#[test]
fn an_empty_configuration_is_refused() {
    with_conf("empty-conf", "").gives_up(&["the configuration is empty", "--> my.conf:1:1"]);
    with_conf("comment-conf", "# nothing\n").gives_up(&["the configuration is empty"]);
}

#[test]
fn a_configuration_that_is_no_text_is_refused_with_the_byte() {
    let conf = b"actions: \"allocate\"\ntiers: [\xff]\n";
    with_conf("binary-conf", conf).gives_up(&["the byte 0xff is not valid UTF-8", "my.conf:2:9"]);
}

#[test]
fn a_configuration_that_is_no_yaml_is_refused_with_the_place() {
    with_conf("broken-conf", "actions: \"allocate\"\ntiers: [\n").gives_up(&["my.conf:2:8"]);
}

#[test]
fn a_configuration_that_is_not_there_is_told() {
    let folder = Folder::new("no-conf")
        .with("all.yaml", GOOD)
        .with_folder("folder");
    let missing = folder.run(&["simulate", "--config", "gone.conf", "all.yaml"]);
    missing.gives_up(&["error: gone.conf: No such file or directory"]);
    let directory = folder.run(&["simulate", "--config", "folder", "all.yaml"]);
    directory.gives_up(&["error: folder: Is a directory"]);
}

#[test]
fn an_error_inside_a_config_map_has_the_line_of_the_manifest() {
    let conf = "\
kind: ConfigMap
apiVersion: v1
metadata: {name: volcano-scheduler-configmap, namespace: volcano-system}
data:
  volcano-scheduler.conf: |
    actions: \"enqueue, allocate\"
    tiers:
    - plugins:
      - name: gnag
";
    let cases = [
        (format!("{GOOD}{conf}"), "--> all.yaml:27:15"),
        // A byte order mark takes no column.
        (format!("\u{feff}{GOOD}{conf}"), "--> all.yaml:27:15"),
        // Behind a document that is left out.
        (format!("{GOOD}kind: [\n---\n{conf}"), "--> all.yaml:29:15"),
    ];
    for (text, place) in cases {
        let folder = Folder::new("config-map").with("all.yaml", &text);
        folder
            .run(&["simulate", "all.yaml"])
            .gives_up(&["unknown plugin `gnag`", place]);
    }
}

#[test]
fn a_config_map_whose_configuration_is_no_text_is_refused() {
    let conf = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: c}\ndata:\n  \
                volcano-scheduler.conf: {actions: allocate}\n";
    let folder = Folder::new("map-conf").with("all.yaml", format!("{GOOD}{conf}"));
    folder
        .run(&["simulate", "all.yaml"])
        .gives_up(&["all.yaml:23:27", "must be a text"]);
}

#[test]
fn of_two_config_maps_the_first_counts() {
    let conf = |name: &str, plugin: &str| {
        format!(
            "kind: ConfigMap\napiVersion: v1\nmetadata: {{name: {name}}}\ndata:\n  \
             volcano-scheduler.conf: |\n    actions: allocate\n    tiers:\n    - plugins:\n      \
             - name: {plugin}\n---\n"
        )
    };
    let text = format!("{GOOD}{}{}", conf("one", "gang"), conf("two", "gnag"));
    let folder = Folder::new("two-confs").with("all.yaml", text);
    folder
        .run(&["simulate", "--output", "json", "all.yaml"])
        .goes_on(&[
            "all.yaml:29:1: ConfigMap two: a second volcano-scheduler.conf: that of ConfigMap one, \
             at all.yaml:19:1, is used",
        ])
        .binds(&["default/good"]);
}

/// A valid configuration with these actions.
fn conf(actions: &str) -> String {
    format!("actions: \"{actions}\"\ntiers:\n- plugins:\n  - name: gang\n")
}

/// It within a ConfigMap.
fn config_map(name: &str, text: &str) -> String {
    let text = text.replace('\n', "\n    ");
    format!(
        "kind: ConfigMap\napiVersion: v1\nmetadata: {{name: {name}, namespace: volcano-system}}\n\
         data:\n  volcano-scheduler.conf: |\n    {text}\n---\n"
    )
}

/// A state with a configuration.
fn dump(text: &str) -> String {
    let state = json!({
        "apiVersion": "pumice.sh/v1", "kind": "PumiceState", "configuration": text, "deltas": [],
    });
    state.to_string()
}

#[test]
fn the_configuration_nearest_to_the_users_hand_is_used_and_named() {
    let usual = "volcano-scheduler-configmap";
    let maps = config_map("other", &conf("backfill")) + &config_map(usual, &conf("allocate"));
    let folder = Folder::new("nearest")
        .with("my.conf", conf("allocate"))
        .with("good.yaml", GOOD)
        .with("maps.yaml", maps)
        .with("dump.json", dump(&conf("allocate")))
        .with_folder("d")
        .with("d/volcano-scheduler.conf", conf("allocate"))
        .with("d/good.yaml", GOOD);
    let (flag, file) = ("my.conf", "d/volcano-scheduler.conf");
    let cases: [(&[&str], serde_json::Value); 6] = [
        (&["good.yaml"], json!({"from": "builtIn"})),
        (
            &["good.yaml", "dump.json"],
            json!({"from": "dump", "name": "dump.json"}),
        ),
        (
            &["good.yaml", "dump.json", "maps.yaml"],
            json!({"from": "configMap", "name": "volcano-system/volcano-scheduler-configmap"}),
        ),
        (
            &["dump.json", "maps.yaml", "d"],
            json!({"from": "file", "name": file}),
        ),
        (&["good.yaml", file], json!({"from": "file", "name": file})),
        (
            &["dump.json", "maps.yaml", "d", "--config", flag],
            json!({"from": "flag", "name": flag}),
        ),
    ];
    for (paths, expected) in cases {
        let ran = folder.run(&[&["simulate", "--output", "json"], paths].concat());
        let ran = ran.goes_on(&[]).binds(&["default/good"]);
        assert_eq!(ran.report()["configuration"], expected, "{paths:?}");
    }
    let table = folder.run(&["simulate", "good.yaml"]).out;
    assert!(table.contains("\nConfiguration: built-in\n"), "{table}");
}

#[test]
fn a_dumped_configuration_that_is_not_valid_is_refused_with_its_file() {
    let folder = Folder::new("bad-dump")
        .with("good.yaml", GOOD)
        .with("dump.json", dump("actions: \"alocate\"\n"));
    folder
        .run(&["simulate", "good.yaml", "dump.json"])
        .gives_up(&[
            "unknown action `alocate`",
            "configuration in dump.json:1:11",
        ]);
}
