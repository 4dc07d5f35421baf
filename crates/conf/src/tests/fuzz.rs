//! Whatever the input, the answer is a configuration or an error, never a panic.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::file::{parse, parse_bytes};
use crate::{CHART_CONF, CheckOutcome};

use super::REGISTRY;

fn check(outcome: &CheckOutcome, lines: usize) {
    assert_eq!(outcome.config.is_none(), outcome.has_errors());
    for found in &outcome.diagnostics {
        assert!(
            found.line >= 1 && found.line as usize <= lines + 1,
            "{found:?}"
        );
        assert!(
            found.column >= 1 && found.width >= 1 && found.excerpt_column >= 1,
            "{found:?}"
        );
        let room = found.excerpt.chars().count() + 1;
        assert!(
            (found.excerpt_column + found.width - 1) as usize <= room.max(1),
            "{found:?}"
        );
        assert!(!found.render("f").is_empty());
    }
}

fn line_count(text: &str) -> usize {
    text.matches(['\n', '\r']).count()
}

const CONF: &str = r#"actions: "enqueue, allocate, preempt"
tiers:
- plugins:
  - name: gang
    enablePreemptable: "false"
  - {name: drf, enableHierarchy: off}
- plugins:
  - name: binpack
    arguments: &b
      binpack.weight: 0x10
      binpack.resources.nvidia.com/gpu: '2'
  - name: overcommit
    arguments: {overcommit-factor: 1.5, <<: *b}
configurations:
- name: init-params
  arguments: {"a": [1, {b: ~}], c: !!str 5}
metrics: {interval: 30s}
"#;

fn embedded(conf: &str) -> String {
    let lines: String = conf.lines().map(|line| format!("    {line}\n")).collect();
    format!("kind: ConfigMap\napiVersion: v1\ndata:\n  volcano-scheduler.conf: |\n{lines}")
}

/// Pieces that mean something to YAML or to the rules.
const PIECES: &[&str] = &[
    "\n",
    "\n  ",
    "\n- ",
    ": ",
    "- ",
    ",",
    "[",
    "]",
    "{",
    "}",
    "&b ",
    "*b",
    "<<: *b",
    "|\n",
    ">\n",
    "\"",
    "'",
    "#",
    "---\n",
    "...\n",
    "!!int ",
    "%YAML 1.1\n",
    "\t",
    "\r\n",
    "\u{feff}",
    "é",
    "\0",
    "actions",
    "tiers",
    "plugins",
    "name",
    "arguments",
    "gang",
    "capacity",
    "proportion",
    "true",
    "~",
    "1e3",
    "kind: List\n",
    "items:\n",
    "data:\n",
    "enableHierarchy: true\n",
    "? ",
    "\\",
];

fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(PIECES)
}

/// Structured YAML in flow form: keys and values of the configuration in any arrangement.
fn structured() -> impl Strategy<Value = String> {
    let words = [
        "actions",
        "tiers",
        "plugins",
        "name",
        "arguments",
        "configurations",
        "metrics",
        "gang",
        "drf",
        "proportion",
        "binpack",
        "enableHierarchy",
        "enablePreemptable",
        "binpack.weight",
        "true",
        "'true'",
        "5",
        "1.5",
        "~",
        "allocate",
        "\"allocate, backfill\"",
        "30s",
        "<<",
    ];
    let leaf = prop::sample::select(words.to_vec()).prop_map(str::to_owned);
    leaf.prop_recursive(6, 64, 6, |inner| {
        let list = vec(inner.clone(), 0..5).prop_map(|items| format!("[{}]", items.join(", ")));
        let key = prop::sample::select(words_of_keys());
        let map = vec((key, inner), 0..6).prop_map(|pairs| {
            let pairs: Vec<_> = pairs
                .iter()
                .map(|(key, value)| format!("{key}: {value}"))
                .collect();
            format!("{{{}}}", pairs.join(", "))
        });
        prop_oneof![list, map]
    })
}

fn words_of_keys() -> Vec<&'static str> {
    vec![
        "actions",
        "tiers",
        "plugins",
        "name",
        "arguments",
        "configurations",
        "metrics",
        "<<",
        "enableHierarchy",
        "enabledVictim",
        "binpack.weight",
        "interval",
        "kind",
        "data",
        "items",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: 400,
        ..Default::default()
    })]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..400)) {
        let lines = bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count();
        check(&parse_bytes(&bytes, &REGISTRY), lines);
    }

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,200}") {
        check(&parse(&text, &REGISTRY), line_count(&text));
    }

    #[test]
    fn arbitrary_pieces_of_yaml_never_panic(pieces in vec(piece(), 0..60)) {
        let text = pieces.concat();
        check(&parse(&text, &REGISTRY), line_count(&text));
    }

    #[test]
    fn mutated_configurations_never_panic(
        base in prop::sample::select(vec![
            CONF.to_owned(), CHART_CONF.to_owned(), embedded(CONF), embedded(CHART_CONF),
        ]),
        edits in vec((any::<prop::sample::Index>(), 0usize..6, piece()), 1..6),
    ) {
        let mut letters: Vec<char> = base.chars().collect();
        for (index, removed, inserted) in edits {
            let at = index.index(letters.len() + 1).min(letters.len());
            let end = (at + removed).min(letters.len());
            letters.splice(at..end, inserted.chars());
        }
        let text: String = letters.into_iter().collect();
        check(&parse(&text, &REGISTRY), line_count(&text));
    }

    #[test]
    fn structured_yaml_never_panics(body in structured(), tiers in structured()) {
        let filled = format!("actions: allocate\ntiers: {tiers}\nmetrics: {body}\n");
        for text in [body, filled] {
            check(&parse(&text, &REGISTRY), line_count(&text));
            let inside = embedded(&text);
            check(&parse(&inside, &REGISTRY), line_count(&inside));
        }
    }

    #[test]
    fn a_configuration_inside_a_config_map_gives_the_same_findings(pieces in vec(piece(), 0..30)) {
        // Control characters and marks of documents are no content of a block scalar.
        let tail: String = pieces.concat().replace(['\0', '\u{feff}', '\r', '\t'], "");
        let text = format!("actions: allocate\n{}\n", tail.trim_end());
        if text.contains("kind") || text.contains("data") || text.contains("---") {
            return Ok(());
        }
        let plain = parse(&text, &REGISTRY);
        let inside = parse(&embedded(&text), &REGISTRY);
        let facts = |outcome: &CheckOutcome| -> Vec<_> {
            outcome.diagnostics.iter().map(|found| (found.code, found.message.clone())).collect()
        };
        prop_assert_eq!(facts(&plain), facts(&inside));
        for (found, moved) in plain.diagnostics.iter().zip(&inside.diagnostics) {
            // Four lines of head; blank lines are not indented.
            prop_assert_eq!(found.line + 4, moved.line);
            let indent = if found.excerpt.is_empty() { 0 } else { 4 };
            prop_assert_eq!(found.column + indent, moved.column);
        }
    }
}

#[test]
fn the_fuzzed_configuration_is_valid_to_begin_with() {
    assert!(!parse(CONF, &REGISTRY).has_errors());
}

#[test]
fn many_small_alias_bombs_do_not_add_up() {
    let bomb = "- &a [x, x, x, x, x, x, x, x]\n- &b [*a, *a, *a, *a, *a, *a, *a, *a]\n\
                - &c [*b, *b, *b, *b, *b, *b, *b, *b]\n- &d [*c, *c, *c, *c, *c, *c, *c, *c]\n\
                - [*d, *d, *d, *d, *d, *d, *d]\n---\n";
    let outcome = parse(&bomb.repeat(1000), &REGISTRY);
    let found: Vec<_> = outcome.diagnostics.iter().map(|found| found.code).collect();
    assert!(found.contains(&"E0005-too-complex"), "{found:?}");
}

#[test]
fn hostile_texts_are_answered_within_bounds() {
    // A quarter of what is read: a whole one takes four times as long and shows no more.
    let size = crate::MAX_BYTES / 4;
    let patterns = [
        "[",
        "{",
        "- ",
        "? ",
        "a: ",
        "\"",
        "&a ",
        "*a ",
        "---\n",
        "a: b\n",
        "!",
        "%",
        "#",
        "|\n",
        "- - - \n",
        "{a: ",
        "[a, ",
        "x",
        "\n",
        "\r",
        ",",
        "- {name: x}\n",
        "a: [\n---\n",
    ];
    let repeat = |pattern: &&str| pattern.repeat(size / pattern.len());
    let mut texts: Vec<String> = patterns.iter().map(repeat).collect();
    let plugins = "  - name: x\n".repeat(size / 12 - 10);
    texts.push(format!("actions: a\ntiers:\n- plugins:\n{plugins}"));
    texts.push(format!("actions: \"{}\"", "a,".repeat(size / 2 - 10)));
    texts.push(format!(
        "{{\"kind\":\"ConfigMap\",\"data\":{{\"volcano-scheduler.conf\":\"{}\"}}}}",
        "\\n".repeat(size / 2 - 100)
    ));
    for text in texts {
        let outcome = parse(&text, &REGISTRY);
        assert!(outcome.config.is_none(), "{}", &text[..20]);
        assert!(outcome.diagnostics.len() <= 400, "{}", &text[..20]);
    }
}
