//! Findings about the parts of a file, as the user sees them.

use expect_test::{Expect, expect};

use super::render;

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&render(text));
}

const TIERS: &str = "tiers: [{plugins: [{name: gang}]}]\n";
const ACTIONS: &str = "actions: allocate\n";

#[test]
fn unknown_absent_and_repeated_plugins_are_errors() {
    let plugins = "tiers:\n- plugins:\n  - name: gangg\n  - name: drf\n\
                   - plugins:\n  - name: drf\n  - name: allocate\n  - name: zzz\n";
    check(
        &format!("{ACTIONS}{plugins}"),
        expect![[r#"
            error[E0101-unknown-plugin]: unknown plugin `gangg`
             --> conf:4:11
              |
            4 |   - name: gangg
              |           ^^^^^
              = help: did you mean `gang`?
            error[E0103-repeated-plugin]: the plugin `drf` is listed twice
             --> conf:7:11
              |
            7 |   - name: drf
              |           ^^^
              = help: it was listed before at line 5; keep one entry
            error[E0101-unknown-plugin]: unknown plugin `allocate`
             --> conf:8:11
              |
            8 |   - name: allocate
              |           ^^^^^^^^
              = help: `allocate` is an action; it belongs into `actions`
            error[E0101-unknown-plugin]: unknown plugin `zzz`
             --> conf:9:11
              |
            9 |   - name: zzz
              |           ^^^
        "#]],
    );
}

#[test]
fn plugins_that_exclude_each_other_are_found_across_tiers() {
    let hierarchy = "tiers:\n- plugins:\n  - name: drf\n    enableHierarchy: \"true\"\n\
                     - plugins:\n  - name: proportion\n";
    check(
        &format!("{ACTIONS}{hierarchy}"),
        expect![[r#"
            error[E0109-drf-hierarchy-and-proportion]: drf with `enableHierarchy` and proportion exclude each other
             --> conf:5:5
              |
            5 |     enableHierarchy: "true"
              |     ^^^^^^^^^^^^^^^
              = help: the other one is listed at line 7; remove proportion, or `enableHierarchy` of drf
        "#]],
    );
    let both = "tiers:\n- plugins:\n  - name: proportion\n- plugins:\n  - name: capacity\n";
    check(
        &format!("{ACTIONS}{both}"),
        expect![[r#"
            warning[W0110-capacity-and-proportion]: capacity and proportion decide the same
             --> conf:6:11
              |
            6 |   - name: capacity
              |           ^^^^^^^^
              = help: the other one is listed at line 4; both decide what a queue deserves: keep one of them
        "#]],
    );
}

#[test]
fn unknown_keys_are_warned_about_with_the_nearest_known_one() {
    let text = "action: allocate\nactions: allocate\ntiers:\n- plugin: []\n  plugins:\n  - name: gang\n    \
                enabledPreemptable: false\n    Name: gang\n    enableFoo: true\n    colour: red\n\
                configuration: []\n";
    check(
        text,
        expect![[r#"
        warning[W0012-unknown-key]: unknown key `action`; it has no effect
         --> conf:1:1
          |
        1 | action: allocate
          | ^^^^^^
          = help: did you mean `actions`?
        warning[W0012-unknown-key]: unknown key `plugin` of a tier; it has no effect
         --> conf:4:3
          |
        4 | - plugin: []
          |   ^^^^^^
          = help: did you mean `plugins`?
        warning[W0012-unknown-key]: unknown key `enabledPreemptable` of a plugin; it has no effect
         --> conf:7:5
          |
        7 |     enabledPreemptable: false
          |     ^^^^^^^^^^^^^^^^^^
          = help: did you mean `enablePreemptable`?
        warning[W0012-unknown-key]: unknown key `Name` of a plugin; it has no effect
         --> conf:8:5
          |
        8 |     Name: gang
          |     ^^^^
          = help: did you mean `name`?
        warning[W0012-unknown-key]: unknown key `enableFoo` of a plugin; it has no effect
         --> conf:9:5
          |
        9 |     enableFoo: true
          |     ^^^^^^^^^
        warning[W0012-unknown-key]: unknown key `colour` of a plugin; it has no effect
          --> conf:10:5
           |
        10 |     colour: red
           |     ^^^^^^
        warning[W0012-unknown-key]: unknown key `configuration`; it has no effect
          --> conf:11:1
           |
        11 | configuration: []
           | ^^^^^^^^^^^^^
           = help: did you mean `configurations`?
    "#]],
    );
}

#[test]
fn unknown_and_misplaced_arguments_are_warned_about() {
    let text = "actions: allocate\ntiers:\n- plugins:\n  - name: binpack\n    binpack.weight: 5\n    \
                arguments:\n      Binpack.Weight: 1\n      binpack.resource.nvidia.com/gpu: 2\n\
                \x20     overcommit-factor: 2\n      zzz: 1\n";
    check(
        text,
        expect![[r#"
        warning[W0108-misplaced-argument]: `binpack.weight` is an argument of `binpack`; here it has no effect
         --> conf:5:5
          |
        5 |     binpack.weight: 5
          |     ^^^^^^^^^^^^^^
          = help: indent it below `arguments:`
        warning[W0302-unknown-argument]: `binpack` has no argument `Binpack.Weight`; it has no effect
         --> conf:7:7
          |
        7 |       Binpack.Weight: 1
          |       ^^^^^^^^^^^^^^
          = help: did you mean `binpack.weight`?
        warning[W0302-unknown-argument]: `binpack` has no argument `binpack.resource.nvidia.com/gpu`; it has no effect
         --> conf:8:7
          |
        8 |       binpack.resource.nvidia.com/gpu: 2
          |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          = help: did you mean `binpack.resources.nvidia.com/gpu`?
        warning[W0302-unknown-argument]: `binpack` has no argument `overcommit-factor`; it has no effect
         --> conf:9:7
          |
        9 |       overcommit-factor: 2
          |       ^^^^^^^^^^^^^^^^^
          = help: it is an argument of the plugin `overcommit`
        warning[W0302-unknown-argument]: `binpack` has no argument `zzz`; it has no effect
          --> conf:10:7
           |
        10 |       zzz: 1
           |       ^^^
    "#]],
    );
}

#[test]
fn wrong_kinds_name_what_is_expected_found_and_how_to_fix_it() {
    let text = "actions: allocate\ntiers:\n- plugins:\n  - name: binpack\n    enableNodeOrder: 1\n    \
                arguments:\n      binpack.weight: 10.5\n      binpack.cpu: [1]\n  \
                - name: overcommit\n    arguments:\n      overcommit-factor: 0.5\n  - name: predicates\n    arguments: \
                {predicate.CacheEnable: 1}\n  - name: sla\n    arguments: {sla-waiting-time: 30}\n  \
                - name: gang\n    arguments: none\n";
    check(
        text,
        expect![[r#"
            error[E0013-wrong-type]: `enableNodeOrder` must be a boolean, not the whole number `1`
             --> conf:5:22
              |
            5 |     enableNodeOrder: 1
              |                      ^
              = help: write `enableNodeOrder: true` or `enableNodeOrder: false`
            error[E0301-wrong-type]: `binpack.weight` must be a whole number, not the number `10.5`
             --> conf:7:23
              |
            7 |       binpack.weight: 10.5
              |                       ^^^^
              = help: write it as in `binpack.weight: 1`
            error[E0301-wrong-type]: `binpack.cpu` must be a whole number, not a list
             --> conf:8:20
              |
            8 |       binpack.cpu: [1]
              |                    ^
              = help: write it as in `binpack.cpu: 1`
            warning[W0303-unusual-value]: `overcommit-factor`: 0.5 is below 1; the default 1.2 is used
              --> conf:11:26
               |
            11 |       overcommit-factor: 0.5
               |                          ^^^
               = help: write 1 or more
            error[E0301-wrong-type]: `predicate.CacheEnable` must be a boolean, not the whole number `1`
              --> conf:13:40
               |
            13 |     arguments: {predicate.CacheEnable: 1}
               |                                        ^
               = help: write it as in `predicate.CacheEnable: true`
            error[E0305-bad-duration]: `sla-waiting-time`: `30` is no duration: the unit is missing
              --> conf:15:35
               |
            15 |     arguments: {sla-waiting-time: 30}
               |                                   ^^
               = help: write a number with its unit, as in `30s`, `5m` or `1h30m`
            error[E0013-wrong-type]: `arguments` must be a map, not the string "none"
              --> conf:17:16
               |
            17 |     arguments: none
               |                ^^^^
               = help: write `key: value` lines below `arguments:`
        "#]],
    );
}

#[test]
fn problems_of_configurations_are_reported() {
    let text = format!(
        "{ACTIONS}{TIERS}configurations:\n- name: allocat\n- arguments: {{}}\n- name: [a]\n- name:\n\
         - preempt\n- name: preempt\n  argument: {{}}\n- name: preempt\n"
    );
    check(
        &text,
        expect![[r#"
        warning[W0402-unlike-action]: no action is called `allocat`
         --> conf:4:9
          |
        4 | - name: allocat
          |         ^^^^^^^
          = help: did you mean `allocate`?
        error[E0403-missing-name]: the entry has no `name`
         --> conf:5:3
          |
        5 | - arguments: {}
          |   ^
          = help: add `name:` with the action the arguments are for
        error[E0013-wrong-type]: `name` must be a string, not a list
         --> conf:6:9
          |
        6 | - name: [a]
          |         ^
        error[E0403-missing-name]: the entry has no `name`
         --> conf:7:7
          |
        7 | - name:
          |       ^
          = help: add `name:` with the action the arguments are for
        error[E0013-wrong-type]: an entry of `configurations` must be a map, not the string "preempt"
         --> conf:8:3
          |
        8 | - preempt
          |   ^^^^^^^
          = help: write `- name: allocate` and its `arguments`
        warning[W0012-unknown-key]: unknown key `argument`; it has no effect
          --> conf:10:3
           |
        10 |   argument: {}
           |   ^^^^^^^^
           = help: did you mean `arguments`?
        warning[W0401-repeated-configuration]: a second entry for `preempt` is ignored
          --> conf:11:9
           |
        11 | - name: preempt
           |         ^^^^^^^
           = help: the first one is at line 9; put all its arguments into one entry
    "#]],
    );
}

#[test]
fn problems_of_metrics_are_reported() {
    let text = format!("{ACTIONS}{TIERS}metrics:\n  typ: x\n  interval: 30\n  address: [a]\n");
    check(
        &text,
        expect![[r#"
            warning[W0012-unknown-key]: unknown key `typ` of `metrics`; it has no effect
             --> conf:4:3
              |
            4 |   typ: x
              |   ^^^
              = help: did you mean `type`?
            warning[W0404-bad-interval]: `30` is no positive duration; 30s is used
             --> conf:5:13
              |
            5 |   interval: 30
              |             ^^
              = help: write `30s` or `1m`
            error[E0013-wrong-type]: `address` must be a string, not a list
             --> conf:6:12
              |
            6 |   address: [a]
              |            ^
        "#]],
    );
    check(
        &format!("{ACTIONS}{TIERS}configurations: {{}}\nmetrics: []\n"),
        expect![[r#"
            error[E0013-wrong-type]: `configurations` must be a list, not a map
             --> conf:3:17
              |
            3 | configurations: {}
              |                 ^
              = help: write `- name: allocate` and its `arguments` below `configurations:`
            error[E0013-wrong-type]: `metrics` must be a map, not a list
             --> conf:4:10
              |
            4 | metrics: []
              |          ^
              = help: write `type:`, `address:` and so on below `metrics:`
        "#]],
    );
}

#[test]
fn what_metrics_name_is_checked() {
    for (metrics, expected) in [
        (
            "{type: promotheus}",
            "E0405-unknown-source]: `promotheus` is no source",
        ),
        (
            "{type: prometheus}",
            "E0406-no-address]: the source has no `address`",
        ),
        (
            "{type: elasticsearch, address: db:9200}",
            "E0407-bad-address]: `db:9200` is no URL",
        ),
        (
            "{type: prometheus, address: \"http:///x\"}",
            "E0407-bad-address]: `http:///x` names no host",
        ),
        (
            "{type: prometheus, address: \"http://me:pw@h\"}",
            "has a user in it",
        ),
        (
            "{type: prometheus_adaptor, tls: {caFiel: x}}",
            "unknown key `caFiel` of `metrics`; it has no effect",
        ),
        ("{type: prometheus_adaptor, tls: x}", "unknown key `tls`"),
        ("{type: prometheus_adaptor}", ""),
        ("{type: prometheus, address: \"https://h:9090/x\"}", ""),
    ] {
        let told = render(&format!("{ACTIONS}{TIERS}metrics: {metrics}\n"));
        assert_eq!(told.is_empty(), expected.is_empty(), "{metrics}: {told}");
        assert!(told.contains(expected), "{metrics}: {told}");
    }
}

#[test]
fn duplicate_keys_and_further_documents_are_warned_about() {
    check(
        &format!("actions: reclaim\n{TIERS}{ACTIONS}---\nx: y\n"),
        expect![[r#"
            warning[W0011-duplicate-key]: the key `actions` is given twice; the last value counts
             --> conf:3:1
              |
            3 | actions: allocate
              | ^^^^^^^
              = help: it was given before at line 1; remove one of them
            warning[W0010-extra-document]: only the first document is read
             --> conf:5:1
              |
            5 | x: y
              | ^
              = help: remove the `---` in front of it, or the document
        "#]],
    );
}

#[test]
fn all_problems_of_a_file_are_found_in_one_pass() {
    let text = "actions: enqeue,\ntiers:\n- plugins:\n  - name: gang\n    enableJobOrder: 7\n  - nam: x\n\
                configurations: 5\nmetrics: {a: {}}\nfoo: bar\n";
    check(
        text,
        expect![[r#"
        error[E0202-unknown-action]: unknown action `enqeue`
         --> conf:1:10
          |
        1 | actions: enqeue,
          |          ^^^^^^
          = help: did you mean `enqueue`?
        error[E0204-empty-action]: an action name is missing between commas
         --> conf:1:17
          |
        1 | actions: enqeue,
          |                 ^
          = help: remove the extra comma
        error[E0013-wrong-type]: `enableJobOrder` must be a boolean, not the whole number `7`
         --> conf:5:21
          |
        5 |     enableJobOrder: 7
          |                     ^
          = help: write `enableJobOrder: true` or `enableJobOrder: false`
        error[E0104-missing-name]: the plugin has no `name`
         --> conf:6:5
          |
        6 |   - nam: x
          |     ^
          = help: add `name:` with the name of the plugin
        warning[W0012-unknown-key]: unknown key `nam` of a plugin; it has no effect
         --> conf:6:5
          |
        6 |   - nam: x
          |     ^^^
          = help: did you mean `name`?
        error[E0013-wrong-type]: `configurations` must be a list, not the whole number `5`
         --> conf:7:17
          |
        7 | configurations: 5
          |                 ^
          = help: write `- name: allocate` and its `arguments` below `configurations:`
        warning[W0012-unknown-key]: unknown key `a` of `metrics`; it has no effect
         --> conf:8:11
          |
        8 | metrics: {a: {}}
          |           ^
        error[E0013-wrong-type]: `a` must be a string, not a map
         --> conf:8:14
          |
        8 | metrics: {a: {}}
          |              ^
        warning[W0012-unknown-key]: unknown key `foo`; it has no effect
         --> conf:9:1
          |
        9 | foo: bar
          | ^^^
    "#]],
    );
}

#[test]
fn control_characters_of_the_file_do_not_reach_the_terminal() {
    let text = "actions: \"a\\e[31m\\nb\"\ntiers: [{plugins: [{name: gang}]}]\n";
    check(
        text,
        expect![[r#"
        error[E0202-unknown-action]: unknown action `a�[31m\nb`
         --> conf:1:10
          |
        1 | actions: "a\e[31m\nb"
          |          ^^^^^^^^^^^^
          = help: the actions are enqueue, allocate, backfill, preempt, reclaim
    "#]],
    );
}

#[test]
fn of_a_long_line_the_part_around_the_place_is_shown() {
    let long = format!(
        "actions: {}, fly, {}\n{TIERS}",
        "allocate, ".repeat(30),
        "x".repeat(300)
    );
    let outcome = crate::file::parse(&long, &super::REGISTRY);
    let fly = outcome
        .diagnostics
        .iter()
        .find(|found| found.message.contains("fly"));
    let fly = fly.map(|found| found.render("conf")).unwrap_or_default();
    expect![[r#"
        error[E0202-unknown-action]: unknown action `fly`
         --> conf:1:312
          |
        1 | locate, allocate, allocate, , fly, xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
          |                               ^^^
          = help: the actions are enqueue, allocate, backfill, preempt, reclaim
    "#]]
    .assert_eq(&fly);
}
