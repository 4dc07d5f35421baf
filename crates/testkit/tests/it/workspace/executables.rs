//! What `cargo test` links and starts: one executable for the `tests/` folder of a crate, and nothing
//! that holds no test. Each further one links all that the crate stands on once more, and starts
//! when the one before it has ended.

use std::collections::BTreeSet;

use cargo_metadata::{Package, Target};

use super::{files, metadata, read};

/// What the executable is called, so that `cargo test -p CRATE --test it` works for every crate.
const NAME: &str = "it";

/// Packages with others, each with the reason.
const OTHERS: [(&str, &[&str], &str); 1] = [(
    "pumice-e2e",
    &["harness", "scenarios"],
    "the harness is looked at by itself, before scenarios rely on it",
)];

fn others(package: &Package) -> Option<&'static [&'static str]> {
    let mut others = OTHERS.iter();
    let (_, names, _) = others.find(|(name, _, _)| *name == package.name.as_str())?;
    Some(names)
}

#[test]
fn the_tests_folder_of_a_crate_is_one_executable() {
    let mut found = 0;
    for package in metadata().workspace_packages() {
        let tests = package.targets.iter().filter(|target| target.is_test());
        let mut names: Vec<&str> = tests.map(|target| target.name.as_str()).collect();
        names.sort_unstable();
        found += names.len();
        let allowed = names.is_empty() || names == [NAME] || others(package) == Some(&names);
        assert!(allowed, "{} has {names:?}, not [{NAME:?}]", package.name);
    }
    assert!(found > 10, "{found} executables");
}

/// The compiler does not look at a file that no other names, so its tests would never run.
#[test]
fn every_file_of_a_tests_folder_is_a_module() {
    let all = files(&["rs"]);
    let known: BTreeSet<&str> = all.iter().map(String::as_str).collect();
    let mut forgotten = Vec::new();
    let mut seen = 0;
    for file in &all {
        let Some((_, inside)) = file.split_once("/tests/") else {
            continue;
        };
        let (folder, name) = file.rsplit_once('/').unwrap_or_default();
        let is_executable = !file.contains("/src/") && (!inside.contains('/') || name == "main.rs");
        if is_executable {
            continue;
        }
        let (folder, module) = match name {
            "mod.rs" => folder.rsplit_once('/').unwrap_or_default(),
            name => (folder, name.trim_end_matches(".rs")),
        };
        let above = [
            format!("{folder}/main.rs"),
            format!("{folder}/mod.rs"),
            format!("{folder}.rs"),
        ];
        let above = above.iter().find(|above| known.contains(above.as_str()));
        let line = format!("mod {module};");
        let names_it = |line_of: &str| line_of.trim().trim_start_matches("pub ") == line;
        seen += 1;
        if !above.is_some_and(|above| read(above).lines().any(names_it)) {
            forgotten.push(file);
        }
    }
    assert!(forgotten.is_empty(), "no module names {forgotten:?}");
    assert!(seen > 150, "{seen} files");
}

#[test]
fn no_comment_has_an_example_that_runs_and_none_is_looked_for() {
    for package in metadata().workspace_packages() {
        for target in &package.targets {
            assert!(
                !target.doctest,
                "{}: doctest = false, or each run of the tests starts rustdoc for nothing",
                package.name
            );
        }
    }
    // Whoever writes one would wait for it to be run.
    for file in files(&["rs"]) {
        let text = read(&file);
        let fences = text.lines().filter_map(|line| {
            let line = line.trim_start();
            let comment = line
                .strip_prefix("///")
                .or_else(|| line.strip_prefix("//!"))?;
            comment.trim().strip_prefix("```")
        });
        let opening = fences.step_by(2);
        for language in opening {
            let known = ["text", "yaml"].contains(&language);
            assert!(known, "{file}: `{language}`, but examples are not run");
        }
    }
}

/// Whether a test stands in the sources that the target is built from.
fn holds_a_test(target: &Target, root: &str, sources: &[String]) -> bool {
    let main = target.src_path.as_str();
    let main = main.strip_prefix(root).expect("a file of the workspace");
    let (folder, _) = main.rsplit_once('/').expect("a folder");
    let folder = format!("{}/", folder.trim_start_matches('/'));
    let mut sources = sources.iter().filter(|file| file.starts_with(&folder));
    sources.any(|file| {
        let text = read(file);
        text.contains("#[test]") || text.contains("#[tokio::test")
    })
}

/// Whether tests could stand in a target: those of the `tests/` folder are tests themselves, and cargo
/// builds none of a build script.
fn is_tested(target: &Target) -> bool {
    !target.is_test() && !target.is_custom_build()
}

#[test]
fn an_executable_for_the_tests_of_a_target_is_built_where_there_are_any() {
    let metadata = metadata();
    let sources = files(&["rs"]);
    for package in metadata.workspace_packages() {
        for target in package.targets.iter().filter(|target| is_tested(target)) {
            let holds = holds_a_test(target, metadata.workspace_root.as_str(), &sources);
            assert_eq!(
                target.test, holds,
                "{} of {}: `test = {holds}` belongs into its manifest",
                target.name, package.name
            );
        }
    }
}
