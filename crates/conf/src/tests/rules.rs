//! Rules on arguments, choices, lists of maps.

use expect_test::{Expect, expect};

use super::with_arguments;
use crate::arg::{Arg, ArgMap, OneOf, Text, TextMaps, Texts};
use crate::file::parse;
use crate::registry::{
    ActionSpec, ExclusiveSwitches, ListedArguments, NeededArgument, PluginSpec, Registry,
};

const MEMORY: Arg<bool> = Arg::switch("share.Memory", false, "");
const NUMBER: Arg<bool> = Arg::switch("share.Number", false, "");
const POLICY: Arg<OneOf> = Arg::choice(
    "share.Policy",
    &["binpack", "spread"],
    "",
    "no node is preferred",
    "",
);
const MAPS: Arg<TextMaps> = Arg::text_maps("share.Maps", 2, "team: blue", "");

const URL: Arg<Text> = Arg::text("share.Url", "", "");
const VERB: Arg<Text> = Arg::text("share.Verb", "", "");
const NAMES: Arg<Texts> = Arg::texts("share.Names", "");
const LIST: Arg<Text> = Arg::text("share.List", "", "");
const CPU: Arg<i64> = Arg::int("share.cpu", 1, "");
const OF_LISTED: Arg<i64> = Arg::int("share.List.*", 1, "");
const WEIGHT: Arg<i64> = Arg::int("weight", 1, "");
const ANY: Arg<ArgMap> = Arg::map("*", &[WEIGHT.spec()], "").wildcard();
const MAP: Arg<ArgMap> = Arg::map("share.Map", &[ANY.spec()], "");

const REGISTRY: Registry = Registry {
    plugins: &[PluginSpec {
        name: "share",
        args: &[
            MEMORY.spec(),
            NUMBER.spec(),
            POLICY.spec(),
            MAPS.spec(),
            URL.spec(),
            VERB.spec(),
            NAMES.spec(),
            LIST.spec(),
            CPU.spec(),
            OF_LISTED.spec(),
            MAP.spec(),
        ],
        listed: &[ListedArguments {
            list: LIST.name(),
            each: OF_LISTED.name(),
            apart: [("cpu", CPU.name()), ("memory", MEMORY.name())],
        }],
        needed: &[NeededArgument {
            name: URL.name(),
            example: "http://there",
            by: &[VERB.name()],
        }],
        exclusive: &[ExclusiveSwitches {
            one: MEMORY.name(),
            other: NUMBER.name(),
            help: "keep one of them",
        }],
        ..PluginSpec::PLAIN
    }],
    actions: &[ActionSpec {
        name: "allocate",
        summary: "",
        args: &[],
    }],
};

/// Severity letter and number of each finding with its place.
fn codes(lines: &str) -> Vec<String> {
    let outcome = parse(&with_arguments("share", lines), &REGISTRY);
    let of = |found: &crate::diagnostic::Diagnostic| {
        let code = found.code.split('-').next().unwrap_or_default();
        format!("{code} {}:{}", found.line, found.column)
    };
    outcome.diagnostics.iter().map(of).collect()
}

#[test]
fn arguments_are_checked_against_the_rules_of_their_plugin() {
    for (lines, expected) in [
        ("share.Memory: true", &[][..]),
        ("share.Memory: true\nshare.Number: false", &[]),
        ("share.Memory: true\nshare.Number: \"true\"", &["E0306 7:7"]),
        (
            "share.Number: on\nshare.Policy: spread\nshare.Memory: yes",
            &["E0306 8:7"],
        ),
        ("share.Verb: ask", &["E0313 6:7"]),
        ("share.Url: \"\"\nshare.Verb: ask", &["E0313 7:7"]),
        ("share.Url:\nshare.Verb: ask", &["E0313 7:7"]),
        ("share.Url: {}\nshare.Verb: ask", &["E0301 6:18"]),
        ("share.Url: http://here\nshare.Verb: ask", &[]),
        ("share.Verb: \"\"", &[]),
        ("share.Names: [a, b]", &[]),
        ("share.Names: []", &[]),
        ("share.Names: a", &["E0301 6:20"]),
        ("share.Names: [a, {b: c}, 1]", &["E0301 6:24", "E0301 6:32"]),
        ("share.Policy: spread", &[]),
        ("share.Policy: \"\"", &[]),
        ("share.Policy:", &[]),
        ("share.Policy: Spread", &["W0308 6:21"]),
        ("share.Maps:", &[]),
        ("share.Maps: []", &[]),
        ("share.Maps: [{team: blue, tier: '1'}, {a: b}]", &[]),
        ("share.Maps: {team: blue}", &["E0301 6:19"]),
        ("share.Maps: [team, {a: 1}]", &["E0301 6:20", "E0301 6:30"]),
        ("share.Maps: [{}, {a: }]", &["W0310 6:20", "E0301 6:26"]),
        ("share.Maps: [{a: b}, {a: c}, {a: 1}]", &["E0309 6:36"]),
        ("share.List: a, b\nshare.List.b: 2", &[]),
        ("share.List: a, b\nshare.List.c: 2", &["W0314 7:7"]),
        ("share.List.a: 2", &["W0314 6:7"]),
        ("share.List: cpu\nshare.List.cpu: 2", &["W0314 7:7"]),
        ("share.List.a:", &[]),
        ("share.List.a: [1]", &["E0301 6:21"]),
        ("share.Map: {a.b/c: {weight: 1}, a.b/*: {weight: 2}}", &[]),
        (
            "share.Map: {'*': {}, a*b: {}, 'a*b*': {}, '': {}}",
            &["W0315 6:19", "W0315 6:28", "W0315 6:37", "W0302 6:49"],
        ),
        // A value of the wrong kind has its own finding and takes no part in a rule.
        ("share.Memory: maybe\nshare.Number: true", &["E0301 6:21"]),
    ] {
        assert_eq!(codes(lines), expected, "{lines}");
    }
}

#[test]
fn a_broken_rule_names_both_places_or_what_to_write() {
    let check = |lines: &str, expected: Expect| {
        let outcome = parse(&with_arguments("share", lines), &REGISTRY);
        let shown: String = outcome
            .diagnostics
            .iter()
            .map(|f| f.render("conf"))
            .collect();
        expected.assert_eq(&shown);
    };
    check(
        "share.Number: true\nshare.Memory: true\nshare.Policy: sprad",
        expect![[r#"
            error[E0306-exclusive-switches]: `share.Memory` and `share.Number` exclude each other
             --> conf:7:7
              |
            7 |       share.Memory: true
              |       ^^^^^^^^^^^^
              = help: the other one is on at line 6; keep one of them
            warning[W0308-unknown-choice]: `share.Policy`: `sprad` is unknown; no node is preferred
             --> conf:8:21
              |
            8 |       share.Policy: sprad
              |                     ^^^^^
              = help: did you mean `spread`?
        "#]],
    );
    check(
        "share.List: a\nshare.List.b: 2\nshare.List.cpu: 2\nshare.Map: {'*': {}}",
        expect![[r#"
            warning[W0314-not-listed]: `share.List.b` has no effect: `share.List` does not list `b`
             --> conf:7:7
              |
            7 |       share.List.b: 2
              |       ^^^^^^^^^^^^
              = help: write it there: `share.List: a, b`
            warning[W0314-not-listed]: `share.List.cpu` has no effect: cpu has an argument of its own
             --> conf:8:7
              |
            8 |       share.List.cpu: 2
              |       ^^^^^^^^^^^^^^
              = help: write `share.cpu`
            warning[W0315-no-name]: `*` has no effect: it stands for no name
             --> conf:9:19
              |
            9 |       share.Map: {'*': {}}
              |                   ^^^
              = help: write a name, or the beginning of names and one `*` behind it, as in `nvidia.com/*`
        "#]],
    );
    check(
        "share.Policy: numa\nshare.Maps:\n- team: blue\n- team: 5\n- blue",
        expect![[r#"
            warning[W0308-unknown-choice]: `share.Policy`: `numa` is unknown; no node is preferred
             --> conf:6:21
              |
            6 |       share.Policy: numa
              |                     ^^^^
              = help: write one of `binpack`, `spread`
            error[E0301-wrong-type]: `team` in `share.Maps` must be a string, not the whole number `5`
             --> conf:9:15
              |
            9 |       - team: 5
              |               ^
              = help: put the value into quotes
            error[E0309-too-many-entries]: `share.Maps` has 3 entries
              --> conf:10:9
               |
            10 |       - blue
               |         ^^^^
               = help: keep at most 2
        "#]],
    );
}
