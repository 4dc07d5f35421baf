//! Whatever stands in the manifests, the simulation ends with a report and without a panic, in both
//! modes.

use proptest::prelude::*;
use pumice_conf::DEFAULT_CONF;
use pumice_sim::reader::{InputObjects, InputSource};
use pumice_sim::{Mode, simulate};

use super::run;

/// Manifests of every kind that takes part, to be mutated.
const VALID: &str = include_str!("every_kind.yaml");

/// Cases of each property; `PROPTEST_CASES` for a longer search.
fn cases() -> u32 {
    let wanted = std::env::var("PROPTEST_CASES").ok();
    wanted.and_then(|text| text.parse().ok()).unwrap_or(500)
}

/// Reads and simulates in both modes; the number of pods bound with a fixed number of cycles.
fn survive(bytes: &[u8]) -> usize {
    let one = |mode| {
        let source = InputSource {
            name: "f".to_owned(),
            bytes: bytes.to_vec(),
        };
        let mut input = InputObjects::default();
        if let Err(problem) = input.read(&source) {
            input.problems.push(problem);
        }
        simulate(
            &run::config(DEFAULT_CONF),
            input,
            &[source],
            &run::settings(mode),
            |_, _| {},
        )
        .0
    };
    one(Mode::FixedPoint);
    one(Mode::Cycles(2)).binds.len()
}

/// One change of a text.
#[derive(Clone, Debug)]
enum Mutation {
    /// Cuts a stretch out.
    Cut(prop::sample::Index, usize),
    /// Puts bytes in.
    Insert(prop::sample::Index, Vec<u8>),
    /// Replaces the value behind a `: ` by another one.
    Value(prop::sample::Index, &'static str),
    /// Repeats a line.
    Repeat(prop::sample::Index),
    /// Takes a line out.
    Drop(prop::sample::Index),
    /// Moves a line to the right or left.
    Indent(prop::sample::Index, bool),
}

/// Values that are a surprise for most fields; counts stay small so that a run stays short.
const VALUES: [&str; 36] = [
    "-1",
    "0",
    "1",
    "17",
    "1e30",
    "-0",
    "0.1",
    "99999999999",
    "9223372036854775807",
    "-9223372036854775808",
    "~",
    "true",
    "off",
    "\"\"",
    "[]",
    "{}",
    "[[]]",
    "a/b",
    "root",
    "\"*\"",
    "n1",
    "gang",
    "default",
    "DoNotSchedule",
    "Exists",
    "In",
    "NotIn",
    "9Ei",
    "1m",
    "\"\\u0000\"",
    "é",
    "2026-01-01T00:00:00Z",
    "0001-01-01T00:00:00Z",
    "Closed",
    "*a",
    "&a x",
];

fn mutation() -> impl Strategy<Value = Mutation> {
    use prop::sample::Index;
    prop_oneof![
        1 => (any::<Index>(), 1usize..40).prop_map(|(at, length)| Mutation::Cut(at, length)),
        1 => (any::<Index>(), prop::collection::vec(any::<u8>(), 1..6))
            .prop_map(|(at, bytes)| Mutation::Insert(at, bytes)),
        6 => (any::<Index>(), prop::sample::select(&VALUES[..]))
            .prop_map(|(at, value)| Mutation::Value(at, value)),
        1 => any::<Index>().prop_map(Mutation::Repeat),
        2 => any::<Index>().prop_map(Mutation::Drop),
        1 => (any::<Index>(), any::<bool>()).prop_map(|(at, right)| Mutation::Indent(at, right)),
    ]
}

fn mutate(bytes: &mut Vec<u8>, mutation: &Mutation) {
    let lines = |bytes: &[u8]| -> Vec<Vec<u8>> {
        bytes
            .split_inclusive(|byte| *byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect()
    };
    match mutation {
        Mutation::Cut(at, length) => {
            let from = at.index(bytes.len() + 1);
            let to = (from + length).min(bytes.len());
            bytes.drain(from..to);
        }
        Mutation::Insert(at, new) => {
            let at = at.index(bytes.len() + 1);
            bytes.splice(at..at, new.iter().copied());
        }
        Mutation::Value(at, value) => {
            let colons: Vec<usize> = (0..bytes.len())
                .filter(|at| bytes[*at..].starts_with(b": "))
                .collect();
            if colons.is_empty() {
                return;
            }
            let from = colons[at.index(colons.len())] + 2;
            let ends = |byte: &u8| matches!(byte, b'\n' | b',' | b'}' | b']');
            let length = bytes[from..]
                .iter()
                .position(ends)
                .unwrap_or(bytes.len() - from);
            bytes.splice(from..from + length, value.bytes());
        }
        Mutation::Repeat(at) | Mutation::Drop(at) | Mutation::Indent(at, _) => {
            let mut all = lines(bytes);
            if all.is_empty() {
                return;
            }
            let at = at.index(all.len());
            match mutation {
                Mutation::Repeat(_) => all.insert(at, all[at].clone()),
                Mutation::Drop(_) => drop(all.remove(at)),
                Mutation::Indent(_, true) => drop(all[at].splice(0..0, *b"  ")),
                _ => {
                    let length = all[at].len();
                    drop(all[at].drain(..length.min(2)));
                }
            }
            *bytes = all.concat();
        }
    }
}

#[test]
fn the_manifests_to_be_mutated_are_all_valid() {
    let source = InputSource {
        name: "f".to_owned(),
        bytes: VALID.as_bytes().to_vec(),
    };
    let mut input = InputObjects::default();
    input.read(&source).expect("text");
    assert!(input.problems.is_empty(), "{:?}", input.problems);
    assert!(survive(VALID.as_bytes()) >= 5);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        survive(&bytes);
    }

    #[test]
    fn arbitrary_yaml_like_text_does_not_panic(
        text in "([-?:,{}#&*!|>'\"% a-c0-9~\n\t\u{e9}\\[\\]]|kind: Pod\n|items:\n|- |---\n){0,200}",
    ) {
        survive(text.as_bytes());
    }

    #[test]
    fn mutated_manifests_do_not_panic(mutations in prop::collection::vec(mutation(), 1..8)) {
        let mut bytes = VALID.as_bytes().to_vec();
        mutations.iter().for_each(|mutation| mutate(&mut bytes, mutation));
        survive(&bytes);
    }
}
