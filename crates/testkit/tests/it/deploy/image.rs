//! The image: built with the Rust of the workspace, started as nobody. That it is the same each time, and
//! that its programs work, is looked at by `deploy/release/try`.

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
    let assembled = read("deploy/release/assemble.py");
    for line in [
        "USER = 65532",
        "            \"Entrypoint\": [\"/pumice-scheduler\"],",
    ] {
        assert!(assembled.lines().any(|found| found == line), "{line}");
    }
}

/// What an environment variable or flag of the image is, is told once: in the Dockerfile as in the layout.
#[test]
fn the_image_of_docker_and_that_of_a_release_are_the_same() {
    let (dockerfile, assembled) = (
        read("deploy/Dockerfile"),
        read("deploy/release/assemble.py"),
    );
    assert!(dockerfile.contains("deploy/release/build"));
    let ports = dockerfile
        .lines()
        .find_map(|line| line.strip_prefix("EXPOSE "));
    for port in ports.expect("ports").split(' ') {
        assert!(assembled.contains(&format!("\"{port}/tcp\"")), "{port}");
    }
    let variable = dockerfile
        .lines()
        .find_map(|line| line.strip_prefix("ENV "));
    let variable = variable.expect("a variable");
    assert!(assembled.contains(&format!("\"{variable}\"")), "{variable}");
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
fn the_image_carries_licences_and_a_bill_of_materials_of_each_program() {
    let (assembled, page) = (read("deploy/release/assemble.py"), read("deploy/README.md"));
    assert!(assembled.contains("{program}.cdx.json"));
    for program in ["pumice-scheduler", "pumice-controllers"] {
        assert!(assembled.contains(&format!("\"{program}\"")), "{program}");
        assert!(page.contains(&format!("/{program}.cdx.json")), "{program}");
    }
    assert!(assembled.contains("licenses/LICENSE"));
}

/// What links where it lies on this machine, or when it was built, is another program each time.
#[test]
fn a_release_depends_on_neither_time_nor_place() {
    let build = read("deploy/release/build");
    for words in [
        "SOURCE_DATE_EPOCH",
        "--remap-path-prefix",
        "-ffile-prefix-map",
        "--locked",
    ] {
        assert!(build.contains(words), "{words}");
    }
    let pinned = read("deploy/release/requirements.txt");
    let packages: Vec<&str> = pinned
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect();
    assert_eq!(packages.len(), 2, "{packages:?}");
    assert!(
        packages.iter().all(|package| package.contains("==")),
        "{packages:?}"
    );
}
