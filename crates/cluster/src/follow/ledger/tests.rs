//! Tests of the ledger.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// What applying a version tells: its object and the version.
type Change = String;
type News = LedgerNews<Change>;

fn ledger() -> Ledger {
    Ledger::default()
}

fn meta(name: &str, uid: &str, version: &str) -> Meta {
    Meta {
        key: ObjectKey {
            namespace: "ns".to_owned(),
            name: name.to_owned(),
            uid: uid.to_owned(),
        },
        version: version.to_owned(),
    }
}

fn keep(uid: &str, version: &str) -> Change {
    format!("{uid}@{version}")
}

fn problem() -> ObjectProblem {
    ObjectProblem {
        path: "spec".to_owned(),
        message: "bad".to_owned(),
        help: "good".to_owned(),
    }
}

fn item(name: &str, uid: &str, version: &str) -> ReadItem<Change> {
    ReadItem {
        meta: meta(name, uid, version),
        reading: Some(Reading::Keep(keep(uid, version))),
    }
}

fn with(reading: Reading<Change>, mut item: ReadItem<Change>) -> ReadItem<Change> {
    item.reading = Some(reading);
    item
}

/// The end of an object of this name.
fn gone(name: &str, uid: &str) -> News {
    LedgerNews::Gone(meta(name, uid, "").key)
}

fn told(uid: &str, version: &str) -> News {
    LedgerNews::Change(keep(uid, version))
}

/// Applies events of a watch in order; what they told.
fn watch(ledger: &mut Ledger, items: Vec<ReadItem<Change>>) -> Vec<News> {
    let mut out = Vec::new();
    for item in items {
        ledger.apply(item, ReadBy::Watch, &mut out).unwrap();
    }
    out
}

/// A complete list; what it told.
fn list(
    ledger: &mut Ledger,
    version: &str,
    items: Vec<ReadItem<Change>>,
) -> Result<Vec<News>, WentBack> {
    let mut out = Vec::new();
    ledger.begin_list();
    for item in items {
        let _ = ledger.apply(item, ReadBy::List, &mut out);
    }
    ledger.finish_list(version, &mut out).map(|()| out)
}

#[test]
fn a_list_tells_what_changed_and_what_is_gone() {
    let mut ledger = ledger();
    let first = list(
        &mut ledger,
        "9",
        vec![item("a", "1", "3"), item("b", "2", "5")],
    );
    assert_eq!(first.unwrap(), [told("1", "3"), told("2", "5")]);
    let same = ReadItem {
        reading: None,
        ..item("a", "1", "3")
    };
    assert!(ledger.has(&same.meta));
    let second = list(&mut ledger, "20", vec![same, item("c", "3", "12")]);
    assert_eq!(second.unwrap(), [told("3", "12"), gone("b", "2")]);
    assert_eq!(ledger.len(), 2);
}

#[test]
fn an_older_version_is_refused_and_changes_nothing() {
    let mut ledger = ledger();
    watch(&mut ledger, vec![item("a", "1", "10")]);
    let mut out: Vec<News> = Vec::new();
    let cases = [
        ("known", item("a", "1", "9")),
        (
            "an object before the one that replaced it",
            item("a", "0", "9"),
        ),
        ("not known, so deleted or never ours", item("b", "2", "9")),
    ];
    for (case, item) in cases {
        assert_eq!(
            ledger.apply(item, ReadBy::Watch, &mut out),
            Err(WentBack),
            "{case}"
        );
    }
    assert_eq!(out, []);
    assert!(ledger.has(&meta("a", "1", "10")));
}

#[test]
fn versions_that_are_no_numbers_are_taken_as_they_come() {
    let mut ledger = ledger();
    let items = vec![
        item("a", "1", "b7"),
        item("a", "1", "b6"),
        item("a", "1", "b6"),
    ];
    let out = watch(&mut ledger, items);
    assert_eq!(out, [told("1", "b7"), told("1", "b6"), told("1", "b6")]);
}

#[test]
fn the_same_name_with_another_uid_is_an_end_and_a_beginning() {
    let mut ledger = ledger();
    let out = watch(&mut ledger, vec![item("a", "1", "3"), item("a", "2", "4")]);
    assert_eq!(out, [told("1", "3"), gone("a", "1"), told("2", "4")]);
    let mut out = Vec::new();
    ledger.delete(&meta("a", "1", "3"), &mut out);
    assert_eq!(out, [], "the end of the first one is known");
    ledger.delete(&meta("a", "2", "5"), &mut out);
    assert_eq!(out, [gone("a", "2")]);
}

#[test]
fn what_no_longer_counts_is_gone_and_what_never_did_is_not_told() {
    let mut ledger = ledger();
    let out = watch(
        &mut ledger,
        vec![
            with(Reading::Skip, item("x", "9", "1")),
            item("a", "1", "2"),
            with(Reading::Skip, item("a", "1", "3")),
            with(Reading::Skip, item("a", "1", "4")),
            item("a", "1", "5"),
        ],
    );
    assert_eq!(out, [told("1", "2"), gone("a", "1"), told("1", "5")]);
}

#[test]
fn an_unreadable_version_is_reported_and_keeps_what_was_known() {
    let mut ledger = ledger();
    let bad = |version| with(Reading::Bad(vec![problem()]), item("a", "1", version));
    let key = || meta("a", "1", "").key;
    let out = watch(
        &mut ledger,
        vec![item("a", "1", "2"), bad("3"), item("a", "1", "4")],
    );
    let reported = LedgerNews::Problems {
        key: key(),
        problems: vec![problem()],
        counts: false,
    };
    let over = LedgerNews::over(key());
    let expected = [
        told("1", "2"),
        reported.clone(),
        told("1", "4"),
        over.clone(),
    ];
    assert_eq!(out, expected);
    // An object that was never readable has nothing to take back but its problems.
    let mut ledger = self::ledger();
    assert_eq!(watch(&mut ledger, vec![bad("2")]), [reported]);
    assert_eq!(list(&mut ledger, "9", Vec::new()).unwrap(), [over]);
}

#[test]
fn what_must_count_is_told_with_what_of_it_cannot_be_read() {
    let mut ledger = ledger();
    let doubtful = |version| {
        let change = keep("1", version);
        with(
            Reading::Doubtful(change, vec![problem()]),
            item("a", "1", version),
        )
    };
    let key = || meta("a", "1", "").key;
    let out = watch(
        &mut ledger,
        vec![item("a", "1", "2"), doubtful("3"), item("a", "1", "4")],
    );
    let doubts = LedgerNews::Problems {
        key: key(),
        problems: vec![problem()],
        counts: true,
    };
    let expected = [
        told("1", "2"),
        told("1", "3"),
        doubts,
        told("1", "4"),
        LedgerNews::over(key()),
    ];
    assert_eq!(out, expected);
    // What was never whole is gone like anything else.
    let mut ledger = self::ledger();
    watch(&mut ledger, vec![doubtful("2")]);
    let gone = [LedgerNews::over(key()), gone("a", "1")];
    assert_eq!(list(&mut ledger, "9", Vec::new()).unwrap(), gone);
}

#[test]
fn an_older_list_deletes_nothing_until_the_history_is_given_up() {
    let mut ledger = ledger();
    watch(&mut ledger, vec![item("a", "1", "3"), item("b", "2", "10")]);
    let older = || vec![item("a", "1", "3")];
    assert_eq!(list(&mut ledger, "8", older()), Err(WentBack));
    assert_eq!(ledger.len(), 2);
    ledger.forget_versions();
    let out = list(&mut ledger, "8", older()).unwrap();
    assert_eq!(out, [told("1", "3"), gone("b", "2")]);
}

#[test]
fn a_list_that_broke_off_is_made_good_by_the_next_one() {
    let mut ledger = ledger();
    list(
        &mut ledger,
        "5",
        vec![item("a", "1", "3"), item("b", "2", "4")],
    )
    .unwrap();
    let mut out = Vec::new();
    ledger.begin_list();
    ledger
        .apply(item("c", "3", "7"), ReadBy::List, &mut out)
        .unwrap();
    assert_eq!(out, [told("3", "7")], "kept by the caller");
    let rest = list(&mut ledger, "9", vec![item("b", "2", "4")]).unwrap();
    let expected = [told("2", "4"), gone("a", "1"), gone("c", "3")];
    assert_eq!(rest, expected);
}

#[test]
fn uids_come_back_as_they_went_in() {
    let usual = "01234567-89ab-cdef-0123-456789abcdef";
    assert!(matches!(Uid::of(usual), Uid::Usual(_)));
    let others = [
        "",
        "ns/name",
        "01234567-89AB-cdef-0123-456789abcdef",
        "01234567-89ab-cdef-0123-456789abcde-",
        "0123456789ab-cdef-0123-456789abcdef0",
    ];
    for text in others.into_iter().chain([usual]) {
        assert_eq!(Uid::of(text).text(), text);
    }
}

proptest! {
    /// Whatever a watch loses, the next list brings the receiver to the state of the server.
    #[test]
    fn after_a_list_the_receiver_knows_what_the_server_knows(
        steps in prop::collection::vec((0..4usize, 0..4u8, any::<bool>()), 1..60)
    ) {
        let mut ledger = ledger();
        let mut server: BTreeMap<String, (String, u64)> = BTreeMap::new();
        let mut receiver: BTreeMap<String, String> = BTreeMap::new();
        let mut out = Vec::new();
        let mut version = 0;
        for (at, what, seen) in steps {
            version += 1;
            let name = format!("p{at}");
            let text = version.to_string();
            match (what, server.get(&name).cloned()) {
                (0, Some((uid, _))) => {
                    server.remove(&name);
                    if seen {
                        ledger.delete(&meta(&name, &uid, &text), &mut out);
                    }
                }
                (0, None) => {}
                (_, known) => {
                    let uid = known.map_or(format!("u{version}"), |(uid, _)| uid);
                    server.insert(name.clone(), (uid.clone(), version));
                    if seen {
                        ledger.apply(item(&name, &uid, &text), ReadBy::Watch, &mut out).unwrap();
                    }
                }
            }
        }
        ledger.begin_list();
        for (name, (uid, version)) in &server {
            let item = item(name, uid, &version.to_string());
            if !ledger.has(&item.meta) {
                ledger.apply(item, ReadBy::List, &mut out).unwrap();
            } else {
                let same = ReadItem { reading: None, ..item };
                ledger.apply(same, ReadBy::List, &mut out).unwrap();
            }
        }
        ledger.finish_list(&version.to_string(), &mut out).unwrap();
        for told in out {
            match told {
                LedgerNews::Change(change) => {
                    let (uid, version) = change.split_once('@').unwrap();
                    receiver.insert(uid.to_owned(), version.to_owned());
                }
                LedgerNews::Gone(key) => {
                    prop_assert!(receiver.remove(&key.uid).is_some(), "{} was not known", key.uid);
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
        let expected: BTreeMap<String, String> =
            server.into_values().map(|(uid, version)| (uid, version.to_string())).collect();
        prop_assert_eq!(receiver, expected);
    }
}
