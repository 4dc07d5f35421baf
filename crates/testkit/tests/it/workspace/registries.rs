//! A registry lists, and nothing that it lists reaches back to it: no circle of imports goes through one.
//!
//! Where a plugin imports the list of all plugins, each of them is compiled, read and moved with all others. So
//! what an entry is made of has a file of its own beside the list.
//!
//! Imports are read from the text of the files: every path that begins with `crate` or `super`, in a
//! `use` or not, and the modules that a file declares. Tests may import what they like.

use std::collections::{BTreeMap, BTreeSet};

use super::{files, read};

/// The files that list others.
const REGISTRIES: [&str; 10] = [
    "crates/actions/src/registry.rs",
    "crates/controllers/src/list.rs",
    "crates/devices/src/families.rs",
    "crates/devices/src/hami/vendors/mod.rs",
    "crates/plugins/src/registry.rs",
    "crates/testkit/src/naive/mod.rs",
    "cmd/pumice/src/bench.rs",
    "cmd/pumice/src/live/job/mod.rs",
    "cmd/pumice/src/live/mod.rs",
    "cmd/pumice/src/main.rs",
];

/// A module by the names on its path from the root of its crate.
type Path = Vec<String>;

/// What a module imports of its own crate.
type Imports = BTreeMap<Path, BTreeSet<Path>>;

/// The module that a file is, by its path below `src`.
fn module_of(file: &str) -> Path {
    let name = file.trim_end_matches(".rs");
    let mut path: Path = name.split('/').map(str::to_owned).collect();
    if matches!(&*path[path.len() - 1], "mod" | "lib" | "main") {
        path.pop();
    }
    path
}

/// The text without comments and without tests.
fn code(text: &str) -> String {
    let mut code = String::new();
    let mut of_tests = false;
    for line in text.lines() {
        let shared = line.trim_start_matches("pub(crate) ");
        if of_tests && shared.trim_start_matches("pub ").starts_with("mod ") {
            // Tests within a file are its end.
            if line.ends_with('{') {
                break;
            }
            of_tests = false;
            continue;
        }
        of_tests = line == "#[cfg(test)]";
        code.push_str(line.split("//").next().unwrap_or_default());
        code.push('\n');
    }
    code
}

/// Names, `::`, braces, commas: what paths are made of; anything else ends a path.
fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let length = match first {
            _ if is_name(first) => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
            ':' if rest.starts_with("::") => 2,
            _ => first.len_utf8(),
        };
        tokens.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    tokens
}

/// The paths that a tree of names stands for, `a::{b, c::d}` two of them, and the tokens after it.
fn tree<'a>(mut tokens: &'a [&'a str], begun: &Path, found: &mut Vec<Path>) -> &'a [&'a str] {
    let mut path = begun.clone();
    while let [name, rest @ ..] = tokens {
        if *name == "{" {
            tokens = rest;
            while !matches!(tokens, [] | ["}", ..]) {
                let after = tree(tokens, &path, found);
                // `as name` and commas.
                let end = after.iter().position(|token| matches!(*token, "," | "}"));
                let end = end.unwrap_or(after.len());
                tokens = after[end..].strip_prefix(&[","]).unwrap_or(&after[end..]);
            }
            return tokens.get(1..).unwrap_or_default();
        }
        path.push((*name).to_owned());
        match rest {
            ["::", next, ..] if *next != "<" => tokens = &rest[1..],
            _ => {
                found.push(path);
                return rest;
            }
        }
    }
    tokens
}

/// The paths that a module names from the root of its crate, and the modules it declares.
fn named(code: &str, module: &Path) -> Vec<Path> {
    let tokens = tokens(code);
    let mut found = Vec::new();
    let mut rest = &tokens[..];
    while let [token, after @ ..] = rest {
        let before = &tokens[..tokens.len() - rest.len()];
        // In the middle of a path, or in `pub(in crate::there)`, which says who may look.
        let is_begin = !before.ends_with(&["::"]) && !before.ends_with(&["(", "in"]);
        rest = match (*token, after) {
            ("crate" | "super", ["::", ..]) if is_begin => tree(rest, &Path::new(), &mut found),
            ("mod", [name, ";", ..]) => {
                found.push(vec!["self".to_owned(), (*name).to_owned()]);
                after
            }
            _ => after,
        };
    }
    let from_root = |path: Path| {
        let mut at = match &*path[0] {
            "crate" => Path::new(),
            _ => module.clone(),
        };
        for name in path {
            match &*name {
                "crate" | "self" => {}
                "super" => drop(at.pop()),
                _ => at.push(name),
            }
        }
        at
    };
    found.into_iter().map(from_root).collect()
}

/// What every module of a crate imports, tests aside: of each path that it names, the last module.
fn imports(source: &str) -> Imports {
    let is_test = |file: &String| {
        let mut names = file.split(['/', '.']);
        names.any(|name| matches!(name, "tests" | "testing"))
    };
    let all = files(&["rs"]).into_iter();
    let all = all.filter_map(|file| Some(file.strip_prefix(source)?.to_owned()));
    let all: Vec<String> = all.filter(|file| !is_test(file)).collect();
    let modules: BTreeSet<Path> = all.iter().map(|file| module_of(file)).collect();
    let mut imports = Imports::new();
    for file in &all {
        let module = module_of(file);
        let mut used = BTreeSet::new();
        for mut path in named(&code(&read(&format!("{source}{file}"))), &module) {
            while !modules.contains(&path) {
                path.pop();
            }
            used.insert(path);
        }
        used.remove(&module);
        imports.insert(module, used);
    }
    imports
}

/// The shortest way from a module by what it imports back to it.
fn circle(imports: &Imports, from: &Path) -> Option<Vec<Path>> {
    let mut ways = vec![vec![from.clone()]];
    let mut seen = BTreeSet::new();
    let mut at = 0;
    while let Some(way) = ways.get(at).cloned() {
        for next in &imports[&way[way.len() - 1]] {
            let mut way = way.clone();
            way.push(next.clone());
            if next == from {
                return Some(way);
            }
            if seen.insert(next.clone()) {
                ways.push(way);
            }
        }
        at += 1;
    }
    None
}

#[test]
fn imports_are_read_wherever_a_path_stands() {
    let text = "\
mod below;
use super::{Kind, near::{self, One as Two}, super::far::*};
pub(in crate::hidden) fn run() -> crate::top::Answer { // crate::comment
    std::super_fn(&super::table::<u8>())
}
#[cfg(test)]
mod tests;
const LIST: &[Kind] = &[];
#[cfg(test)]
mod more {
    use crate::test_only;
}
";
    let module = ["a", "b"].map(str::to_owned).to_vec();
    let mut found = named(&code(text), &module);
    found.sort();
    let found: Vec<String> = found.iter().map(|path| path.join("::")).collect();
    assert_eq!(
        found,
        [
            "a::Kind",
            "a::b::below",
            "a::near",
            "a::near::One",
            "a::table",
            "far::*",
            "top::Answer",
        ]
    );
}

#[test]
fn a_registry_lists_and_nothing_that_it_lists_imports_it() {
    let mut circles = Vec::new();
    for registry in REGISTRIES {
        let (folder, file) = registry.split_once("/src/").expect("a file of a crate");
        let imports = imports(&format!("{folder}/src/"));
        let module = module_of(file);
        let listed = imports.get(&module).expect(registry);
        assert!(listed.len() > 1, "{registry} lists {listed:?}");
        if let Some(way) = circle(&imports, &module) {
            let name = |path: &Path| format!("crate::{}", path.join("::"));
            let way: Vec<String> = way.iter().map(name).collect();
            circles.push(format!("{registry}: {}", way.join(" → ")));
        }
    }
    assert_eq!(circles, Vec::<String>::new());
}
