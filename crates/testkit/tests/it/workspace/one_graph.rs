//! A build of one crate, of README's first command and of everything are builds of the same packages
//! with the same features, so that nothing is compiled twice.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use super::{ROOT, metadata};

/// Packages whose own build may differ, with the reason.
const EXEMPT: [(&str, &str); 5] = [
    (
        "pumice-admin",
        "what reaches outside is completed in cluster, on which it does not stand",
    ),
    (
        "pumice-e2e",
        "the same; its programs and tests are built with everything",
    ),
    (
        "pumice-page-server",
        "what reaches outside is completed in cluster, on which it does not stand",
    ),
    ("pumice-features", "completes what the others bring"),
    (
        "pumice-scripted",
        "is built for tests of crates that complete it",
    ),
];

/// Packages of a build, each with the sets of features it is built with.
type Graph = BTreeMap<String, BTreeSet<String>>;

fn graph(selection: &[&str], edges: &str) -> Graph {
    let output = Command::new(env!("CARGO"))
        .current_dir(ROOT)
        .args([
            "tree",
            "--offline",
            "--locked",
            "--prefix",
            "none",
            "--no-dedupe",
        ])
        .args(["-e", edges, "-f", "{p}|{f}"])
        .args(selection)
        .output()
        .expect("cargo runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo tree {selection:?}: {error}");
    let mut graph = Graph::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Some((package, features)) = line.trim_end_matches(" (*)").split_once('|') else {
            continue;
        };
        // Ours are shown with their folder.
        let package = package.split(" (").next().unwrap_or(package);
        let known = graph.entry(package.to_owned()).or_default();
        known.insert(features.to_owned());
    }
    graph
}

/// What a part of the build has otherwise than the whole, of the packages that it links.
fn differences(part: &Graph, linked: &Graph, whole: &Graph) -> Vec<String> {
    let linked = part
        .iter()
        .filter(|(package, _)| linked.contains_key(*package));
    let differ = linked.filter(|(package, features)| {
        let whole = whole.get(*package);
        whole.is_none_or(|whole| !features.is_subset(whole))
    });
    differ
        .map(|(package, features)| {
            format!(
                "{package} has {features:?}, with everything {:?}",
                whole.get(package)
            )
        })
        .collect()
}

const ALL: &str = "normal,build,dev";
const LINKED: &str = "normal,build";

#[test]
fn a_crate_alone_is_built_from_what_everything_is_built_from() {
    let whole = graph(&["--workspace"], ALL);
    let mut problems = Vec::new();
    for package in metadata().workspace_packages() {
        let name = package.name.as_str();
        if EXEMPT.iter().any(|(exempt, _)| *exempt == name) {
            continue;
        }
        let linked = graph(&["-p", name], LINKED);
        for part in [&linked, &graph(&["-p", name], ALL)] {
            let found = differences(part, &linked, &whole);
            problems.extend(found.into_iter().map(|found| format!("-p {name}: {found}")));
        }
    }
    let problems: BTreeSet<String> = problems.into_iter().collect();
    assert!(
        problems.is_empty(),
        "complete the features in [workspace.dependencies] or in crates/features:\n{problems:#?}"
    );
}

#[test]
fn readmes_first_command_builds_nothing_that_tests_would_build_again() {
    let whole = graph(&["--workspace"], ALL);
    let first = graph(&["-p", "pumice", "--no-default-features"], LINKED);
    let found = differences(&first, &first, &whole);
    // The program itself, which has fewer commands then.
    let others: Vec<&String> = found
        .iter()
        .filter(|text| !text.starts_with("pumice v"))
        .collect();
    assert!(others.is_empty(), "{others:#?}");
    for outside in ["tokio", "kube-client", "rustls", "hyper"] {
        let is_there = first
            .keys()
            .any(|package| package.split(' ').next() == Some(outside));
        assert!(!is_there, "{outside} is compiled for the first command");
    }
}
