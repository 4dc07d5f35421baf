//! The map of `docs/ARCHITECTURE.md` is true: who may use whom, and who may touch the outside world.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Package};

use super::metadata;

const ARCHITECTURE: &str = include_str!("../../../../../docs/ARCHITECTURE.md");

/// What each crate of ours may use of ours: the rows ``| `folder` | what it is | may use |``.
fn allowed() -> BTreeMap<String, BTreeSet<&'static str>> {
    let mut allowed = BTreeMap::new();
    for row in ARCHITECTURE.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split(" | ").collect();
        let [folder, _, used] = cells[..] else {
            continue;
        };
        let folder = folder.trim_start_matches("| ").trim_matches('`');
        let name = match folder.split_once('/') {
            Some(("crates", name)) => format!("pumice-{name}"),
            // The crate with the logic has the name already.
            Some(("cmd", "pumice-controllers")) => "pumice-controllers-bin".to_owned(),
            Some(("cmd", name)) => name.to_owned(),
            None => format!("pumice-{folder}"),
            Some(_) => continue,
        };
        let used = used.trim_end_matches(" |").split(", ");
        allowed.insert(name, used.filter(|&used| used != "–").collect());
    }
    allowed
}

/// The packages that may touch the outside world.
const OUTSIDE: [&str; 11] = [
    "pumice",
    "pumice-scheduler",
    "pumice-controllers-bin",
    "pumice-process",
    "pumice-daemon",
    "pumice-controller-manager",
    "pumice-cluster",
    "pumice-admin",
    "pumice-page-server",
    "pumice-e2e",
    "pumice-scripted",
];

/// Packages that bring clocks, sockets or threads, which the pure crates do without.
const IMPURE: [&str; 8] = [
    "tokio",
    "hyper",
    "reqwest",
    "kube",
    "rand",
    "chrono",
    "rayon",
    "crossbeam",
];

/// Names of the standard library that a pure crate must not mention.
const FORBIDDEN: [&str; 8] = [
    "std::fs",
    "std::net",
    "std::thread",
    "std::process",
    "std::env",
    "SystemTime",
    "Instant",
    "static mut",
];

fn normal_dependencies(package: &Package) -> BTreeSet<&str> {
    let normal = package
        .dependencies
        .iter()
        .filter(|d| d.kind == DependencyKind::Normal);
    normal.map(|dependency| dependency.name.as_str()).collect()
}

#[test]
fn every_crate_uses_only_the_crates_that_the_map_names() {
    let metadata = metadata();
    let allowed = allowed();
    for package in metadata.workspace_packages() {
        let name = package.name.as_str();
        let below = allowed
            .get(name)
            .unwrap_or_else(|| panic!("{name} is missing in the map of docs/ARCHITECTURE.md"));
        let used: BTreeSet<&str> = normal_dependencies(package)
            .into_iter()
            .filter_map(|used| used.strip_prefix("pumice-"))
            .collect();
        assert_eq!(used, *below, "{name}, and what docs/ARCHITECTURE.md says");
    }
    assert_eq!(metadata.workspace_packages().len(), allowed.len());
}

#[test]
fn pure_crates_use_no_package_that_reaches_outside() {
    for package in metadata().workspace_packages() {
        if !OUTSIDE.contains(&package.name.as_str()) {
            let used = normal_dependencies(package);
            let impure: Vec<_> = IMPURE.iter().filter(|name| used.contains(**name)).collect();
            assert!(impure.is_empty(), "{} uses {impure:?}", package.name);
        }
    }
}

#[test]
fn pure_crates_mention_no_clock_file_socket_or_thread() {
    let crates = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let mut looked_at = 0;
    for krate in std::fs::read_dir(crates).expect("the crates folder") {
        let krate = krate.expect("an entry");
        let name = format!("pumice-{}", krate.file_name().to_string_lossy());
        if OUTSIDE.contains(&name.as_str()) {
            continue;
        }
        let source = krate.path().join("src");
        let mut folders = vec![source];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten() {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    looked_at += 1;
                    let text = std::fs::read_to_string(&path).expect("UTF-8 source");
                    for word in FORBIDDEN {
                        assert!(!text.contains(word), "{} mentions {word}", path.display());
                    }
                }
            }
        }
    }
    assert!(looked_at > 50, "{looked_at} files");
}
