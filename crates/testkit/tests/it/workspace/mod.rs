//! The workspace itself: its layers, what it is built from, and that its documents are true.

mod citations;
mod comments;
mod dependencies;
mod executables;
mod generated;
mod layering;
mod links;
mod methods;
mod one_graph;
mod pages;
mod pictures;
mod registries;
mod tests_named;
mod translations;
mod words;

use cargo_metadata::{CargoOpt, Metadata, MetadataCommand};

/// The packages of a build for this machine. Works offline: whatever is listed was built.
fn metadata() -> Metadata {
    let version = std::process::Command::new("rustc")
        .arg("-vV")
        .output()
        .expect("rustc runs");
    let version = String::from_utf8(version.stdout).expect("rustc writes UTF-8");
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .expect("a host");
    MetadataCommand::new()
        .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml"))
        .features(CargoOpt::AllFeatures)
        .other_options(
            ["--offline", "--locked", "--filter-platform", host]
                .map(str::to_owned)
                .to_vec(),
        )
        .exec()
        .expect("cargo metadata works in a workspace that builds")
}

/// Root of the repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn read(relative: &str) -> String {
    std::fs::read_to_string(format!("{ROOT}/{relative}")).expect(relative)
}

/// Files of the repository with these endings, by their path from the root.
fn files(endings: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(format!("{ROOT}/{folder}")).expect("a folder") {
            let entry = entry.expect("an entry");
            let name = entry.file_name().into_string().expect("a UTF-8 name");
            let path = format!("{folder}{name}");
            if entry.path().is_dir() {
                if name != "target" && !name.starts_with('.') {
                    folders.push(path + "/");
                }
            } else if endings
                .iter()
                .any(|ending| path.ends_with(&format!(".{ending}")))
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
