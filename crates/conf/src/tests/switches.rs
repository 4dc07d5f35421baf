//! The `enable…` keys.

use crate::config::{ENABLE_KEYS, Enabled};

use super::{clean, codes};

fn conf(line: &str) -> String {
    format!("actions: allocate\ntiers:\n- plugins:\n  - name: gang\n    {line}\n")
}

#[test]
fn every_switch_is_read_bare_quoted_and_in_yaml_1_1_words() {
    let forms = [
        ("true", true),
        ("yes", true),
        ("On", true),
        ("\"true\"", true),
        ("'T'", true),
        ("'1'", true),
        ("false", false),
        ("n", false),
        ("OFF", false),
        ("\"false\"", false),
        ("'0'", false),
    ];
    for key in ENABLE_KEYS {
        for (form, expected) in forms {
            let config = clean(&conf(&format!("{}: {form}", key.name)));
            let mut wanted = Enabled::default();
            *(key.field)(&mut wanted) = expected;
            assert_eq!(
                config.tiers[0].plugins[0].enabled, wanted,
                "{}: {form}",
                key.name
            );
        }
    }
}

#[test]
fn absent_switches_are_on_except_hierarchy_and_cluster_order() {
    assert_eq!(ENABLE_KEYS.len(), 25);
    let off: Vec<&str> = ENABLE_KEYS
        .iter()
        .filter(|key| !key.default)
        .map(|key| key.name)
        .collect();
    assert_eq!(off, ["enableHierarchy", "enabledClusterOrder"]);
    for key in ENABLE_KEYS {
        let mut enabled = clean(&conf(&format!("{}:", key.name))).tiers[0].plugins[0].enabled;
        assert_eq!(*(key.field)(&mut enabled), key.default, "{}", key.name);
    }
}

#[test]
fn every_switch_rejects_what_is_no_boolean() {
    for key in ENABLE_KEYS {
        let column = 5 + key.name.len() + 2;
        for value in [
            "1",
            "1.0",
            "maybe",
            "[true]",
            "{a: true}",
            "\"\"",
            "!!bool 7",
        ] {
            let column = if value.starts_with('!') {
                column + 7
            } else {
                column
            };
            let found = codes(&conf(&format!("{}: {value}", key.name)));
            assert_eq!(
                found,
                [format!("E0013 5:{column}")],
                "{}: {value}",
                key.name
            );
        }
    }
}

#[test]
fn the_other_spelling_of_a_switch_is_warned_about_and_names_the_right_one() {
    for key in ENABLE_KEYS {
        let stem = key
            .name
            .strip_prefix("enabled")
            .or(key.name.strip_prefix("enable"))
            .unwrap();
        let spellings = [
            format!("enable{stem}"),
            format!("enabled{stem}"),
            key.name.to_lowercase(),
        ];
        for spelling in spellings.iter().filter(|spelling| *spelling != key.name) {
            let text = conf(&format!("{spelling}: false"));
            let outcome = crate::file::parse(&text, &super::REGISTRY);
            let [found] = outcome.diagnostics.as_slice() else {
                panic!("{spelling}")
            };
            assert_eq!(found.code, "W0012-unknown-key");
            assert_eq!(
                found.help.as_deref(),
                Some(&*format!("did you mean `{}`?", key.name))
            );
            assert_eq!(
                outcome.config.unwrap().tiers[0].plugins[0].enabled,
                Enabled::default()
            );
        }
    }
}
