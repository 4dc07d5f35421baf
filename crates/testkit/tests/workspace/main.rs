//! The workspace itself: its layers and what it is built from.

mod dependencies;
mod layering;

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
