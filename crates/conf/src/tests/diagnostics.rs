//! Findings about a file as a whole, its actions and its tiers, as the user sees them.

use expect_test::{Expect, expect};

use super::render;

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&render(text));
}

const TIERS: &str = "tiers: [{plugins: [{name: gang}]}]\n";
const ACTIONS: &str = "actions: allocate\n";

#[test]
fn an_empty_file_is_an_error_with_a_remedy() {
    check(
        "",
        expect![[r#"
        error[E0007-empty-file]: the configuration is empty
         --> conf:1:1
          |
        1 |
          | ^
          = help: start with `actions: "enqueue, allocate, backfill"` and a list of `tiers`
    "#]],
    );
    check(
        "# nothing\n",
        expect![[r#"
        error[E0007-empty-file]: the configuration is empty
         --> conf:1:1
          |
        1 | # nothing
          | ^
          = help: start with `actions: "enqueue, allocate, backfill"` and a list of `tiers`
    "#]],
    );
    check(
        "---\n",
        expect![[r#"
        error[E0007-empty-file]: the configuration is empty
         --> conf:1:1
          |
        1 | ---
          | ^
          = help: start with `actions: "enqueue, allocate, backfill"` and a list of `tiers`
    "#]],
    );
}

#[test]
fn a_file_that_is_no_map_is_an_error() {
    check(
        "- enqueue\n",
        expect![[r#"
        error[E0006-not-a-map]: the configuration must be a map, not a list
         --> conf:1:1
          |
        1 | - enqueue
          | ^
          = help: start with `actions: "enqueue, allocate, backfill"` and a list of `tiers`
    "#]],
    );
    check(
        "enqueue, allocate\n",
        expect![[r#"
        error[E0006-not-a-map]: the configuration must be a map, not the string "enqueue, allocate"
         --> conf:1:1
          |
        1 | enqueue, allocate
          | ^^^^^^^^^^^^^^^^^
          = help: start with `actions: "enqueue, allocate, backfill"` and a list of `tiers`
    "#]],
    );
}

#[test]
fn broken_yaml_is_reported_where_it_breaks() {
    check(
        "actions: allocate\ntiers: [\n",
        expect![[r#"
        error[E0004-yaml-syntax]: not YAML: unclosed bracket '['
         --> conf:2:8
          |
        2 | tiers: [
          |        ^
    "#]],
    );
    check(
        "actions: a: b\n",
        expect![[r#"
        error[E0004-yaml-syntax]: not YAML: mapping values are not allowed in this context
         --> conf:1:11
          |
        1 | actions: a: b
          |           ^
    "#]],
    );
    check(
        "actions: allocate\ntiers:\n\t- plugins:\n",
        expect![[r#"
        error[E0004-yaml-syntax]: not YAML: tabs disallowed within this context (block indentation)
         --> conf:3:2
          |
        3 |  - plugins:
          |  ^
          = help: indent with spaces
    "#]],
    );
}

#[test]
fn missing_and_empty_actions_are_errors() {
    check(
        TIERS,
        expect![[r#"
        error[E0201-no-actions]: no `actions` are given
         --> conf:1:1
          |
        1 | tiers: [{plugins: [{name: gang}]}]
          | ^
          = help: write `actions: "enqueue, allocate, backfill"`
    "#]],
    );
    check(
        &format!("actions:\n{TIERS}"),
        expect![[r#"
        error[E0201-no-actions]: no `actions` are given
         --> conf:1:1
          |
        1 | actions:
          | ^^^^^^^
          = help: write `actions: "enqueue, allocate, backfill"`
    "#]],
    );
    check(
        &format!("actions: \"\"\n{TIERS}"),
        expect![[r#"
        error[E0201-no-actions]: no `actions` are given
         --> conf:1:10
          |
        1 | actions: ""
          |          ^^
          = help: write `actions: "enqueue, allocate, backfill"`
    "#]],
    );
    check(
        &format!("actions: \"enqueue, allocate,\"\n{TIERS}"),
        expect![[r#"
            error[E0204-empty-action]: an action name is missing between commas
             --> conf:1:29
              |
            1 | actions: "enqueue, allocate,"
              |                             ^
              = help: remove the extra comma
        "#]],
    );
    check(
        &format!("actions: ',allocate'\n{TIERS}"),
        expect![[r#"
        error[E0204-empty-action]: an action name is missing between commas
         --> conf:1:11
          |
        1 | actions: ',allocate'
          |           ^
          = help: remove the extra comma
    "#]],
    );
}

#[test]
fn unknown_removed_absent_and_repeated_actions_are_told_apart() {
    check(
        &format!("actions: enqueue, alocate, fly\n{TIERS}"),
        expect![[r#"
            error[E0202-unknown-action]: unknown action `alocate`
             --> conf:1:19
              |
            1 | actions: enqueue, alocate, fly
              |                   ^^^^^^^
              = help: did you mean `allocate`?
            error[E0202-unknown-action]: unknown action `fly`
             --> conf:1:28
              |
            1 | actions: enqueue, alocate, fly
              |                            ^^^
              = help: the actions are enqueue, allocate, backfill, preempt, reclaim
        "#]],
    );
    check(
        &format!("actions: elect, reserve, allocate\n{TIERS}"),
        expect![[r#"
            error[E0202-unknown-action]: unknown action `elect`
             --> conf:1:10
              |
            1 | actions: elect, reserve, allocate
              |          ^^^^^
              = help: Volcano removed it together with `reserve`; remove it from the list
            error[E0202-unknown-action]: unknown action `reserve`
             --> conf:1:17
              |
            1 | actions: elect, reserve, allocate
              |                 ^^^^^^^
              = help: Volcano removed it together with `elect`; remove it from the list
        "#]],
    );
}

#[test]
fn repeated_and_misshapen_actions_are_reported() {
    check(
        &format!("actions: allocate, allocate\n{TIERS}"),
        expect![[r#"
            warning[W0205-repeated-action]: the action `allocate` is listed twice and runs twice
             --> conf:1:20
              |
            1 | actions: allocate, allocate
              |                    ^^^^^^^^
              = help: remove one of them
        "#]],
    );
    check(
        &format!("actions: [enqueue, allocate]\n{TIERS}"),
        expect![[r#"
            error[E0013-wrong-type]: `actions` must be a string of names with commas, not a list
             --> conf:1:10
              |
            1 | actions: [enqueue, allocate]
              |          ^
              = help: write `actions: "enqueue, allocate"`
        "#]],
    );
    check(
        &format!("actions: >\n  enqueue,\n  alocate\n{TIERS}"),
        expect![[r#"
            error[E0202-unknown-action]: unknown action `alocate`
             --> conf:2:3
              |
            2 |   enqueue,
              |   ^^^^^^^^
              = help: did you mean `allocate`?
        "#]],
    );
}

#[test]
fn missing_tiers_and_tiers_that_are_no_list_are_reported() {
    check(
        ACTIONS,
        expect![[r#"
            warning[W0105-no-plugins]: `tiers` names no plugins: pods are placed by free room alone
             --> conf:1:1
              |
            1 | actions: allocate
              | ^
              = help: add at least `predicates` and `gang`
        "#]],
    );
    check(
        &format!("{ACTIONS}tiers: []\n"),
        expect![[r#"
            warning[W0105-no-plugins]: `tiers` names no plugins: pods are placed by free room alone
             --> conf:2:8
              |
            2 | tiers: []
              |        ^
              = help: add at least `predicates` and `gang`
        "#]],
    );
    check(
        &format!("{ACTIONS}tiers: gang\n"),
        expect![[r#"
        error[E0013-wrong-type]: `tiers` must be a list, not the string "gang"
         --> conf:2:8
          |
        2 | tiers: gang
          |        ^^^^
          = help: write `- plugins:` below `tiers:` and a list of plugins below that
    "#]],
    );
}

#[test]
fn plugins_outside_of_a_tier_are_reported() {
    check(
        &format!("{ACTIONS}tiers:\n- name: gang\n  arguments: {{}}\n"),
        expect![[r#"
            error[E0106-plugin-outside-tier]: a plugin stands in `tiers` directly; it would not be used
             --> conf:3:3
              |
            3 | - name: gang
              |   ^^^^
              = help: indent it below `- plugins:`
        "#]],
    );
    check(
        &format!("{ACTIONS}tiers:\n- plugins:\n-\n- gang\n- {{}}\n"),
        expect![[r#"
            warning[W0107-empty-tier]: the tier has no plugins
             --> conf:3:3
              |
            3 | - plugins:
              |   ^^^^^^^
              = help: remove it, or indent the plugins below `plugins:`
            warning[W0107-empty-tier]: the tier has no plugins
             --> conf:4:2
              |
            4 | -
              |  ^
              = help: remove it, or indent the plugins below `plugins:`
            error[E0013-wrong-type]: a tier must be a map with `plugins`, not the string "gang"
             --> conf:5:3
              |
            5 | - gang
              |   ^^^^
              = help: write `- plugins:` and a list of plugins below it
            warning[W0107-empty-tier]: the tier has no plugins
             --> conf:6:3
              |
            6 | - {}
              |   ^
              = help: remove it, or indent the plugins below `plugins:`
        "#]],
    );
}

#[test]
fn misshapen_plugins_are_reported() {
    check(
        &format!("{ACTIONS}tiers:\n- plugins: {{name: gang}}\n"),
        expect![[r#"
            error[E0013-wrong-type]: `plugins` must be a list, not a map
             --> conf:3:12
              |
            3 | - plugins: {name: gang}
              |            ^
              = help: write `- name: gang` below `plugins:`
        "#]],
    );
    check(
        &format!("{ACTIONS}tiers:\n- plugins: [gang, [drf], {{}}, {{name: }}]\n"),
        expect![[r#"
            error[E0013-wrong-type]: a plugin must be a map with `name`, not the string "gang"
             --> conf:3:13
              |
            3 | - plugins: [gang, [drf], {}, {name: }]
              |             ^^^^
              = help: write `- name: gang`
            error[E0013-wrong-type]: a plugin must be a map with `name`, not a list
             --> conf:3:19
              |
            3 | - plugins: [gang, [drf], {}, {name: }]
              |                   ^
              = help: write `- name: gang`
            error[E0104-missing-name]: the plugin has no `name`
             --> conf:3:26
              |
            3 | - plugins: [gang, [drf], {}, {name: }]
              |                          ^
              = help: add `name:` with the name of the plugin
            error[E0104-missing-name]: the plugin has no `name`
             --> conf:3:31
              |
            3 | - plugins: [gang, [drf], {}, {name: }]
              |                               ^^^^
              = help: add the name of the plugin behind `name:`
        "#]],
    );
}

#[test]
fn a_value_that_needs_another_plugin_is_warned_about_without_it() {
    let share = "- plugins:\n  - name: deviceshare\n    arguments:\n      \
                 deviceshare.SchedulePolicy: fragmentation\n";
    check(
        &format!("{ACTIONS}tiers:\n{share}"),
        expect![[r#"
            warning[W0113-no-mix]: nobody knows what tasks ask
             --> conf:6:35
              |
            6 |       deviceshare.SchedulePolicy: fragmentation
              |                                   ^^^^^^^^^^^^^
              = help: add `- name: fragmentation`
        "#]],
    );
    // Wherever the other one stands, and with any other value.
    for text in [
        format!("{share}- plugins:\n  - name: fragmentation\n"),
        format!("- plugins:\n  - name: fragmentation\n{share}"),
        share.replace("SchedulePolicy: fragmentation", "SchedulePolicy: binpack"),
    ] {
        check(&format!("{ACTIONS}tiers:\n{text}"), expect![[r#""#]]);
    }
}

#[test]
fn a_configuration_without_gangs_is_warned_about() {
    let plugins = "- plugins:\n  - name: predicates\n  - name: nodeorder\n";
    check(
        &format!("{ACTIONS}tiers:\n{plugins}"),
        expect![[r#"
            warning[W0111-no-gang]: without plugin `gang` pods are placed one by one
             --> conf:2:1
              |
            2 | tiers:
              | ^^^^^
              = help: add `- name: gang` to the first tier
        "#]],
    );
    check(
        &format!("{ACTIONS}tiers:\n{plugins}  - name: gang\n"),
        expect![[r#""#]],
    );
}
