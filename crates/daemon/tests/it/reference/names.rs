//! The lists of actions, plugins and arguments are those of spec/01 §2.5, which was written from what
//! Volcano reads.

use std::collections::{BTreeMap, BTreeSet};

use pumice_conf::{ArgKind, ArgSpec};
use pumice_engine::REGISTRY;

type Names = BTreeMap<String, BTreeSet<String>>;

/// The names between backticks of a text.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// A table of the section, from the row after its head: first cell → names of the others.
fn table(section: &str, head: &str) -> Names {
    let rows = section
        .lines()
        .skip_while(|line| !line.starts_with(head))
        .skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let named = rows.map(|row| {
        let mut names = quoted(row).map(str::to_owned);
        let first = names.next().expect("a row begins with a name");
        (first, names.collect())
    });
    named.collect()
}

/// Names of arguments, those of a map with the way to them.
fn names(arguments: &[ArgSpec], above: &str, all: &mut BTreeSet<String>) {
    for argument in arguments {
        let name = format!("{above}{}", argument.name);
        match argument.kind {
            ArgKind::Map(below) => names(below, &format!("{name}: "), all),
            ArgKind::Maps(below) => names(below, &format!("{name}: - "), all),
            _ => {}
        }
        all.insert(name);
    }
}

fn of_the_lists<'a>(specs: impl Iterator<Item = (&'a str, &'a [ArgSpec])>) -> Names {
    let named = specs.map(|(name, arguments)| {
        let mut all = BTreeSet::new();
        names(arguments, "", &mut all);
        (name.to_owned(), all)
    });
    named.collect()
}

#[test]
fn names_in_a_configuration_are_those_of_the_rules() {
    let text = std::fs::read_to_string(super::path("docs/spec/01-framework.md")).expect("a file");
    let (_, section) = text.split_once("### §2.5").expect("the section");
    let (section, _) = section.split_once("\n### ").expect("its end");
    let actions = REGISTRY.actions.iter();
    assert_eq!(
        of_the_lists(actions.map(|one| (one.name, one.args))),
        table(section, "| action")
    );
    let plugins = table(section, "| plugin");
    let ours = REGISTRY.plugins.iter();
    assert_eq!(of_the_lists(ours.map(|one| (one.name, one.args))), plugins);
}
