//! Which crates are linked into the programs of the image, and what their licences say.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, MetadataCommand, Package, PackageId};

/// Packages of the programs in the image.
const PROGRAMS: [&str; 2] = ["pumice-scheduler", "pumice-controllers-bin"];

/// Beginnings of the names of files that hold a licence or what has to be passed on with it.
const FILES: [&str; 6] = [
    "licen",
    "copying",
    "copyright",
    "notice",
    "unlicense",
    "authors",
];

/// What comes with the compiler and the target, of which cargo knows nothing.
const HEAD: &str = "\
Third-party software in the programs of this image.

Linked in besides the crates below: the standard library of Rust (https://github.com/rust-lang/rust,
MIT OR Apache-2.0) and, in static programs for Linux, musl (https://musl.libc.org, MIT).
";

/// The crates of others that are linked into the programs for a target, sorted by name and version.
///
/// # Errors
/// cargo cannot tell, for example because a source was never fetched.
pub fn linked(manifest: &Path, target: &str) -> Result<Vec<Package>> {
    let options = ["--locked", "--filter-platform", target].map(str::to_owned);
    let metadata = MetadataCommand::new()
        .manifest_path(manifest)
        .other_options(options.to_vec())
        .exec()
        .context("cargo metadata")?;
    let resolve = metadata
        .resolve
        .as_ref()
        .context("cargo tells no dependencies")?;
    let nodes: BTreeMap<&PackageId, _> =
        resolve.nodes.iter().map(|node| (&node.id, node)).collect();
    let is_program = |package: &&Package| PROGRAMS.contains(&package.name.as_str());
    let programs = metadata.packages.iter().filter(is_program);
    let mut open: Vec<&PackageId> = programs.map(|package| &package.id).collect();
    let mut seen: BTreeSet<&PackageId> = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        for dependency in nodes.get(id).iter().flat_map(|node| &node.deps) {
            let mut kinds = dependency.dep_kinds.iter();
            if kinds.any(|kind| kind.kind == DependencyKind::Normal) {
                open.push(&dependency.pkg);
            }
        }
    }
    let ours = |package: &Package| metadata.workspace_members.contains(&package.id);
    let mut found: Vec<Package> = metadata
        .packages
        .iter()
        .filter(|one| seen.contains(&one.id))
        .cloned()
        .collect();
    found.retain(|package| !ours(package));
    found.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(found)
}

/// The list of crates, and below it each text once with the crates it comes from.
///
/// # Errors
/// A file cannot be read, or a crate neither names a licence nor brings one.
pub fn notices(crates: &[Package]) -> Result<String> {
    let mut text = HEAD.to_owned();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in crates {
        let name = format!("{} {}", package.name, package.version);
        let found = texts_of(package)?;
        let licence = match &package.license {
            Some(licence) => licence.as_str(),
            None if found.is_empty() => anyhow::bail!("{name} names no licence and brings none"),
            None => "as its text below says",
        };
        let from = package.repository.as_deref().unwrap_or("crates.io");
        let without = if found.is_empty() {
            "; brings no text of its own"
        } else {
            ""
        };
        write!(text, "\n{name}: {licence}, {from}{without}")?;
        for one in found {
            texts.entry(one).or_default().push(name.clone());
        }
    }
    text.push('\n');
    // Those of most crates first; equal ones in the order of their text.
    let mut texts: Vec<(String, Vec<String>)> = texts.into_iter().collect();
    texts.sort_by_key(|(_, crates)| std::cmp::Reverse(crates.len()));
    for (licence, crates) in texts {
        let line = "=".repeat(80);
        write!(
            text,
            "\n{line}\n{}\n{line}\n\n{licence}\n",
            crates.join(", ")
        )?;
    }
    Ok(text)
}

/// Texts that a crate brings.
fn texts_of(package: &Package) -> Result<Vec<String>> {
    let folder = package
        .manifest_path
        .parent()
        .context("a manifest lies in a folder")?;
    let mut paths = BTreeSet::new();
    for entry in fs::read_dir(folder).with_context(|| format!("list {folder}"))? {
        let path = entry?.path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default()
            .to_lowercase();
        if path.is_file() && FILES.iter().any(|begins| name.starts_with(begins)) {
            paths.insert(path);
        }
    }
    let named = package
        .license_file
        .as_ref()
        .map(|file| folder.join(file).into_std_path_buf());
    paths.extend(named.filter(|path| path.is_file()));
    let read = |path: &std::path::PathBuf| -> Result<String> {
        let bytes = fs::read(path).with_context(|| format!("read {}", path.display()))?;
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        Ok(lines.join("\n").trim().to_owned())
    };
    paths.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crates() -> Vec<Package> {
        let manifest = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml"));
        linked(manifest, "x86_64-unknown-linux-gnu").expect("a workspace that builds")
    }

    #[test]
    fn what_is_linked_is_there_and_what_only_tests_need_is_not() {
        let crates = crates();
        let has = |name: &str| crates.iter().any(|package| package.name.as_str() == name);
        for name in ["kube-client", "ring", "k8s-openapi", "tokio"] {
            assert!(has(name), "{name}");
        }
        for name in ["proptest", "expect-test", "pumice-model"] {
            assert!(!has(name), "{name}");
        }
    }

    #[test]
    fn every_crate_has_a_line_and_a_text_stands_once() {
        let crates = crates();
        let text = notices(&crates).expect("licences");
        for package in &crates {
            let line = format!("\n{} {}: ", package.name, package.version);
            assert_eq!(text.matches(&line).count(), 1, "{line}");
        }
        assert!(text.contains("Permission is hereby granted, free of charge"));
        assert_eq!(text, notices(&crates).expect("licences"), "the same bytes");
        let ring: Vec<Package> = crates
            .into_iter()
            .filter(|one| one.name.as_str() == "ring")
            .collect();
        let twice = [&ring[..], &ring[..]].concat();
        let once = texts_of(&ring[0]).expect("texts");
        let both = notices(&twice).expect("licences");
        assert!(!once.is_empty());
        assert_eq!(both.matches(&once[0]).count(), 1);
    }
}
