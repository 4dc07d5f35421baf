//! Configurations inside ConfigMaps.

use crate::file::{parse, parse_bytes, parse_node};
use crate::{DEFAULT_CONF, MAX_BYTES};
use pumice_yaml::tree::{Budget, documents};

use super::{REGISTRY, codes, render};

const CONF: &str = "actions: \"allocate\"\ntiers:\n- plugins:\n  - name: gangg\n  - name: gang\n";

fn indent(text: &str, by: usize) -> String {
    text.lines()
        .map(|line| format!("{}{line}\n", " ".repeat(by)))
        .collect()
}

/// JSON text of a string.
fn quote(text: &str) -> String {
    format!(
        "\"{}\"",
        text.replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
    )
}

#[test]
fn places_inside_every_form_of_scalar_are_those_of_the_file() {
    let head = "apiVersion: v1\nkind: ConfigMap\ndata:\n  volcano-scheduler.conf: ";
    let json = quote(CONF);
    let folded_json = json.replace("- plugins", "\\\n    - plug\\\n    ins");
    let single =
        "actions: ''allocate''  \n \n    tiers: [{plugins: [{name: gangg},\n    {name: gang}]}]";
    let table = [
        (
            "literal",
            format!("{head}|\n{}", indent(CONF, 4)),
            "E0101 8:15",
        ),
        (
            "literal, stripped",
            format!("{head}|-\n{}", indent(CONF, 7)),
            "E0101 8:18",
        ),
        (
            "literal, blank lines",
            format!("{head}|\n\n\n{}", indent(CONF, 4)),
            "E0101 10:15",
        ),
        (
            "literal, indicator",
            format!("{head}|2\n{}", indent(CONF, 4)),
            "E0101 8:15",
        ),
        (
            "comment behind",
            format!("{head}| # conf\n{}", indent(CONF, 4)),
            "E0101 8:15",
        ),
        ("double quoted", format!("{head}{json}\n"), "E0101 4:81"),
        (
            "double quoted, folded",
            format!("{head}{folded_json}\n"),
            "E0101 6:21",
        ),
        ("single quoted", format!("{head}'{single}'\n"), "E0101 6:31"),
        (
            "folded",
            format!("{head}>\n{}", indent(CONF, 4).replace('\n', "\n\n")),
            "E0101 5:5",
        ),
    ];
    for (name, text, expected) in table {
        assert_eq!(codes(&text), [expected], "{name}:\n{text}{}", render(&text));
        let windows = text.replace('\n', "\r\n");
        assert_eq!(codes(&windows), [expected], "{name} with CR LF");
    }
}

#[test]
fn the_excerpt_is_the_line_of_the_file() {
    let text = format!(
        "kind: ConfigMap\napiVersion: v1\ndata:\n  volcano-scheduler.conf: |\n{}",
        indent(CONF, 4)
    );
    expect_test::expect![[r#"
        error[E0101-unknown-plugin]: unknown plugin `gangg`
         --> conf:8:15
          |
        8 |       - name: gangg
          |               ^^^^^
          = help: did you mean `gang`?
    "#]]
    .assert_eq(&render(&text));
}

#[test]
fn the_config_map_is_found_among_other_objects() {
    let conf = indent(DEFAULT_CONF, 4);
    let map = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata:\n  \
         volcano-scheduler.conf: |\n{conf}"
    );
    let other = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n";
    let item = indent(&map, 2).replacen("  ", "- ", 1);
    let json = format!(
        "{{\"kind\": \"List\", \"apiVersion\": \"v1\", \"items\": [{{\"kind\": \"ConfigMap\", \
         \"apiVersion\": \"v1\", \"data\": {{\"volcano-scheduler.conf\": {}}}}}]}}",
        quote(DEFAULT_CONF)
    );
    let expected = parse(DEFAULT_CONF, &REGISTRY).config;
    assert!(expected.is_some());
    let texts = [
        map.clone(),
        format!("{other}---\n{map}---\n{other}"),
        format!("---\n# nothing\n---\n{map}"),
        format!("apiVersion: v1\nkind: List\nitems:\n{item}"),
        format!("apiVersion: v1\nkind: ConfigMapList\nitems:\n{item}"),
        map.replace("volcano-scheduler.conf", "volcano-scheduler-ci.conf"),
        format!("data:\n  volcano-scheduler.conf: |\n{conf}"),
        json,
    ];
    for text in texts {
        let outcome = parse(&text, &REGISTRY);
        assert_eq!(outcome.diagnostics, [], "{text}");
        assert_eq!(outcome.config, expected, "{text}");
    }
}

#[test]
fn config_maps_without_one_usable_configuration_are_errors() {
    let head = "apiVersion: v1\nkind: ConfigMap\n";
    let table = [
        (head.to_owned(), "E0008 1:1"),
        (format!("{head}data: {{}}\n"), "E0008 1:1"),
        (
            format!("{head}data: {{volcano-schduler.conf: x}}\n"),
            "E0008 1:1",
        ),
        (
            format!("{head}data: {{volcano-scheduler.conf: {{a: b}}}}\n"),
            "E0015 3:32",
        ),
        (
            format!("{head}data: {{volcano-scheduler.conf: 5}}\n"),
            "E0015 3:32",
        ),
        (
            format!("{head}data: {{volcano-scheduler.conf: }}\n"),
            "E0007 3:30",
        ),
        (
            format!("{head}data: {{volcano-scheduler.conf: \"\"}}\n"),
            "E0007 3:33",
        ),
        (
            "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n".to_owned(),
            "E0008 1:1",
        ),
        (format!("{head}data: [\n"), "E0004 3:7"),
    ];
    for (text, expected) in table {
        assert_eq!(codes(&text), [expected], "{text}\n{}", render(&text));
    }
    let one = format!(
        "{head}data:\n  volcano-scheduler.conf: |\n{}",
        indent(DEFAULT_CONF, 4)
    );
    assert_eq!(codes(&format!("{one}---\n{one}")), ["E0009 22:5"]);
}

#[test]
fn a_node_of_another_reader_can_be_checked_in_place() {
    let text = format!("x:\n  y: |\n{}", indent(CONF, 4));
    let node = documents(&text, Budget::manifests(text.len()))
        .next()
        .unwrap()
        .unwrap();
    let scalar = node.get("x").and_then(|x| x.get("y")).unwrap();
    let outcome = parse_node(&text, scalar, &REGISTRY);
    let [found] = outcome.diagnostics.as_slice() else {
        panic!("{:?}", outcome.diagnostics)
    };
    assert_eq!(
        (found.code, found.line, found.column),
        ("E0101-unknown-plugin", 6, 15)
    );
}

#[test]
fn bytes_that_are_no_text_are_errors_with_their_place() {
    let code = |bytes: &[u8]| {
        let outcome = parse_bytes(bytes, &REGISTRY);
        assert!(outcome.config.is_none());
        let [found] = outcome.diagnostics.as_slice() else {
            panic!("{:?}", outcome.diagnostics)
        };
        format!("{} {}:{}", found.code, found.line, found.column)
    };
    assert_eq!(code(b"actions: x\nti\xffers:\n"), "E0002-not-utf8 2:3");
    assert_eq!(code("é\u{0}".as_bytes()), "E0003-control-character 1:2");
    assert_eq!(code(&vec![b' '; MAX_BYTES + 1]), "E0001-too-large 1:1");
    assert_eq!(code(&vec![0xff; 64 * MAX_BYTES]), "E0001-too-large 1:1");
}

#[test]
fn manifests_that_install_all_of_volcano_are_read() {
    // As many as in its installer/volcano-development.yaml, which has 1.1 MB.
    let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n";
    let definition = format!("{definition}{}---\n", "- description: x\n".repeat(5_000));
    let conf = indent(DEFAULT_CONF, 4);
    let text = format!(
        "{}apiVersion: v1\nkind: ConfigMap\ndata:\n  volcano-scheduler.conf: |\n{conf}",
        definition.repeat(20)
    );
    assert!(text.len() > 1 << 20);
    assert_eq!(parse(&text, &REGISTRY), parse(DEFAULT_CONF, &REGISTRY));
}

#[test]
fn a_byte_order_mark_changes_nothing() {
    let mut bytes = "\u{feff}".as_bytes().to_vec();
    bytes.extend_from_slice(CONF.as_bytes());
    let marked = parse_bytes(&bytes, &REGISTRY);
    assert_eq!(marked, parse(CONF, &REGISTRY));
    let first = parse_bytes("\u{feff}acti: x".as_bytes(), &REGISTRY);
    assert_eq!(first.diagnostics[0].excerpt, "acti: x");
}
