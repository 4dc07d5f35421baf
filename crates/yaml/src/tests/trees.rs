//! Located trees and their budgets.

use crate::node::{Data, YamlNode};
use crate::tree::{Budget, TreeErrorKind, documents, locate};

fn small(depth: usize, nodes: usize, text_bytes: usize) -> Budget {
    Budget {
        depth,
        nodes,
        text_bytes,
    }
}

/// The tree as text with places: `{a@1:1: b@1:4}`.
fn outline(node: &YamlNode<'_>) -> String {
    let at = format!("@{}:{}", node.location.line, node.location.column);
    match &node.data {
        Data::Scalar { text, .. } => format!("{text}{at}"),
        Data::List(items) => {
            format!(
                "[{}]{at}",
                items.iter().map(outline).collect::<Vec<_>>().join(", ")
            )
        }
        Data::Map(entries) => {
            let pair = |entry: &crate::node::MapEntry<'_>| {
                format!("{}: {}", outline(&entry.key), outline(&entry.value))
            };
            format!(
                "{{{}}}{at}",
                entries.iter().map(pair).collect::<Vec<_>>().join(", ")
            )
        }
    }
}

fn outlines(text: &str) -> Vec<String> {
    let show = |document: Result<YamlNode<'_>, crate::tree::TreeError>| match document {
        Ok(node) => outline(&node),
        Err(error) => format!("error {}:{}", error.location.line, error.location.column),
    };
    documents(text, Budget::CONF).map(show).collect()
}

#[test]
fn documents_come_one_by_one_and_a_broken_one_does_not_hide_the_next() {
    let table: &[(&str, &[&str])] = &[
        ("", &[]),
        ("# only a comment\n", &[]),
        ("a: b\n", &["{a@1:1: b@1:4}@1:1"]),
        ("---\n---\nx\n", &["~@1:4", "x@3:1"]),
        ("é: [x,\n  y]\n", &["{é@1:1: [x@1:5, y@2:3]@1:4}@1:1"]),
        ("a: [b\n---\nc: d\n", &["error 1:4", "{c@3:1: d@3:4}@3:1"]),
        ("\u{feff}a: b\n", &["{a@1:1: b@1:4}@1:1"]),
        ("a: b\r\nc: d\r\n", &["{a@1:1: b@1:4, c@2:1: d@2:4}@1:1"]),
        (
            "a: &x [b]\nc: *x\n",
            &["{a@1:1: [b@1:8]@1:7, c@2:1: [b@1:8]@1:7}@1:1"],
        ),
        ("a: *x\n", &["error 1:4"]),
        ("&x [*x]\n", &["error 1:5"]),
        ("a: b\n\0c: d\n", &["error 2:1"]),
        ("a: 1\n<<: 5\n", &["error 2:5"]),
    ];
    for (text, expected) in table {
        assert_eq!(outlines(text), *expected, "{text:?}");
    }
}

#[test]
fn the_first_of_several_merged_maps_wins_and_own_keys_win_over_all() {
    let text = "<<: [{a: 1, b: 1}, {a: 2, c: 2}]\nc: 3\n";
    let node = documents(text, Budget::CONF).next().unwrap().unwrap();
    let read = |key| node.get(key).and_then(YamlNode::text);
    assert_eq!(
        (read("a"), read("b"), read("c")),
        (Some("1"), Some("1"), Some("3"))
    );
}

#[test]
fn a_document_over_its_budget_is_an_error_and_the_next_one_is_read() {
    let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n";
    let wide = format!("t: &t {}\nu: [*t, *t, *t]\n", "x".repeat(100));
    let table: &[(&str, Budget, TreeErrorKind)] = &[
        ("[[[[x]]]]", small(3, 100, 100), TreeErrorKind::TooDeep(3)),
        (
            "a:\n  b:\n    c:\n      d: x\n",
            small(3, 100, 100),
            TreeErrorKind::TooDeep(3),
        ),
        (
            "[a, b, c]",
            small(9, 3, 100),
            TreeErrorKind::TooManyNodes(3),
        ),
        (bomb, small(9, 40, 1000), TreeErrorKind::TooManyNodes(40)),
        (&wide, small(9, 100, 450), TreeErrorKind::TooMuchText(450)),
    ];
    for (text, budget, expected) in table {
        let text = format!("{text}\n---\nok\n");
        let mut read = documents(&text, *budget);
        assert_eq!(read.next().unwrap().unwrap_err().kind, *expected, "{text}");
        assert_eq!(read.next().unwrap().unwrap().text(), Some("ok"), "{text}");
        assert!(read.next().is_none());
    }
}

#[test]
fn an_alias_bomb_ends_at_the_budget() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..40 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    let mut read = documents(&text, Budget::CONF);
    let error = read.next().unwrap().unwrap_err();
    assert_eq!(error.kind, TreeErrorKind::TooManyNodes(Budget::CONF.nodes));
}

#[test]
fn text_is_borrowed_where_it_stands_unchanged() {
    let node = documents("a: plain\n", Budget::CONF)
        .next()
        .unwrap()
        .unwrap();
    let Some(value) = node.get("a") else {
        panic!("no value")
    };
    assert!(matches!(
        &value.data,
        Data::Scalar {
            text: std::borrow::Cow::Borrowed("plain"),
            ..
        }
    ));
}

#[test]
fn places_count_characters_and_every_kind_of_line_break() {
    let text = "\u{feff}é\r\nb\rc\nd";
    let table = [
        (0, 1, 1),
        (3, 1, 1),
        (5, 1, 2),
        (7, 2, 1),
        (9, 3, 1),
        (11, 4, 1),
        (99, 4, 2),
    ];
    for (offset, line, column) in table {
        let at = locate(text, offset);
        assert_eq!((at.line, at.column), (line, column), "{offset}");
    }
    assert_eq!(locate(text, 4).offset, 3, "inside a character");
}
