use std::path::Path;

use serde_json::Value;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/crd");

/// As Volcano names them: `<group>_<plural>.yaml`.
fn file_name(definition: &Value) -> String {
    let spec = &definition["spec"];
    let text = |value: &Value| value.as_str().expect("a string").to_owned();
    let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
    format!("{group}_{plural}.yaml")
}

fn files() -> Vec<String> {
    let entries = std::fs::read_dir(FOLDER).expect("the folder");
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry").file_name();
    let names = entries.map(|entry| name(entry).into_string().expect("UTF-8"));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn the_definitions_are_those_of_the_types() {
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let definitions = pumice_api::crds::definitions().expect("every rule fits a field");
    let mut expected: Vec<String> = definitions.iter().map(file_name).collect();
    expected.sort();
    for definition in &definitions {
        let file = Path::new(FOLDER).join(file_name(definition));
        if update {
            let yaml = serde_yaml::to_string(definition).expect("JSON is YAML");
            std::fs::write(&file, yaml).expect("the file is written");
        }
        let read = std::fs::read_to_string(&file).expect("the file");
        let read: Value = serde_yaml::from_str(&read).expect("YAML");
        assert!(
            read == *definition,
            "{} is stale; write it with \
             UPDATE_EXPECT=1 cargo test --manifest-path tools/schema/Cargo.toml",
            file.display()
        );
    }
    assert_eq!(files(), expected);
}
