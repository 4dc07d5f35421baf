//! The image: built with the Rust of the workspace, started as nobody.

use super::read;

#[test]
fn the_image_is_built_with_the_workspace_s_rust_and_runs_without_root() {
    let dockerfile = read("deploy/Dockerfile");
    let rust = concat!("ARG RUST_VERSION=", env!("CARGO_PKG_RUST_VERSION"));
    for line in [
        rust,
        "USER 65532:65532",
        "HEALTHCHECK NONE",
        "ENTRYPOINT [\"/pumice-scheduler\"]",
    ] {
        assert!(dockerfile.lines().any(|found| found == line), "{line}");
    }
    assert!(dockerfile.contains("ln -s /pumice-scheduler /out/vc-scheduler"));
}

#[test]
fn the_build_context_holds_every_member_of_the_workspace() {
    let manifest = read("Cargo.toml");
    let ignore = read("deploy/Dockerfile.dockerignore");
    let members = manifest
        .lines()
        .find_map(|line| line.strip_prefix("members = "))
        .expect("members");
    let members: Vec<String> = serde_json::from_str(members).expect("a list");
    assert!(!members.is_empty());
    for member in members {
        let folder = member.split('/').next().expect("a folder");
        let listed = ignore
            .lines()
            .any(|line| line.starts_with(&format!("!{folder}")));
        assert!(listed, "{folder}");
    }
}

#[test]
fn the_image_carries_a_bill_of_materials_of_its_own_binary() {
    let dockerfile = read("deploy/Dockerfile").replace("\\\n", " ");
    let command = dockerfile
        .lines()
        .find_map(|line| line.strip_prefix("RUN cargo cyclonedx "))
        .expect("a command");
    let words: Vec<&str> = command.split_whitespace().collect();
    // The tool writes `<binary>_bin.cdx.json` beside the manifest it is given.
    let manifest = "cmd/pumice-scheduler/Cargo.toml";
    assert!(
        words
            .windows(2)
            .any(|pair| pair == ["--manifest-path", manifest])
    );
    assert!(
        words
            .windows(2)
            .any(|pair| pair == ["--describe", "binaries"])
    );
    let copied = [
        "cmd/pumice-scheduler/pumice-scheduler_bin.cdx.json",
        "/out/pumice-scheduler.cdx.json",
    ];
    assert!(words.windows(2).any(|pair| pair == copied), "{command}");
    assert!(read("deploy/README.md").contains("/pumice-scheduler.cdx.json"));
}
