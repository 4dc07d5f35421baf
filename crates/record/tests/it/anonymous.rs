//! Recordings without names.

use std::time::Duration;

use pumice_decider::{DeciderOptions, Effect};
use pumice_engine::{REGISTRY, Unobserved};
use pumice_fixtures::{ToDelta as _, group, node, pod, queue};
use pumice_model::Delta;
use pumice_model::object::{GroupObject, NamespaceObject, PodObject, PodPhase};
use pumice_model::write::{BindFailure, BindRequest, Outcome, Write};
use pumice_record::{
    AnonymousCopy, AnonymousSums, NameCollection, RecordedDecider, Replay, ReplayEvent, Tape,
    TapeBlocks, TapePiece, TapeReader,
};

use crate::{At, read};

/// It names a resource.
const CONF: &str = "actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n  - name: priority\n  - name: gang\n- plugins:\n  \
                    - name: overcommit\n  - name: predicates\n  - name: proportion\n  - name: nodeorder\n  - name: \
                    binpack\n    arguments:\n      binpack.resources: secret.example.com/card\n";

/// Names of everything begin with it.
const SECRET: &str = "secret";

fn name(rest: &str) -> String {
    format!("{SECRET}-{rest}")
}

/// Queues, a namespace and nodes.
fn cluster() -> Vec<Delta> {
    // Somebody has named one as a key of the configuration is.
    let mut deltas = vec![node("name", "1c pods=110").delta()];
    deltas.extend([
        queue("root").delta(),
        queue("default").delta(),
        queue(&name("queue")).delta(),
    ]);
    deltas.push(Delta::NamespaceApply(NamespaceObject {
        name: name("namespace"),
        labels: vec![(name("key"), name("value"))],
    }));
    for at in [2, 1, 3] {
        let mut one = node(&name(&format!("node-{at}")), "4c 8Gi pods=110");
        one.labels = vec![
            ("kubernetes.io/hostname".to_owned(), one.name.clone()),
            (name("key"), name(&format!("value-{}", at % 2))),
        ];
        one.images = vec![(name("image:1"), 1 << 30)];
        deltas.push(one.delta());
    }
    deltas
}

/// Two pods that are placed together.
fn gang_of(second: u64) -> (GroupObject, [PodObject; 2]) {
    let mut gang = group(&name(&format!("gang-{second}")), 2);
    gang.namespace = name("namespace");
    gang.queue = if second.is_multiple_of(2) {
        "default".to_owned()
    } else {
        name("queue")
    };
    gang.annotations = vec![("volcano.sh/note".to_owned(), gang.queue.clone())];
    let members = ["b", "a"].map(|member| {
        let mut one = pod(&name(&format!("pod-{second}-{member}")), "1c");
        one.namespace.clone_from(&gang.namespace);
        one.uid = name(&format!("uid-{member}-{second}"));
        one.group = Some(gang.name.clone());
        one.labels = vec![(name("key"), name("value"))];
        one.images = vec![name("image:1")];
        one.facts.names = vec![(0, name("container"))];
        if second.is_multiple_of(3) {
            one.node_selector = vec![(name("key"), name("value-1"))];
        }
        one
    });
    (gang, members)
}

/// How a Binding ends.
fn outcome(bind: BindRequest, second: u64) -> Outcome {
    match second {
        4 => Outcome::BindFailed {
            pod: bind.pod,
            node: bind.node,
            failure: BindFailure::PodGone,
            message: name("message"),
        },
        _ => Outcome::Bound {
            pod: bind.pod,
            node: bind.node,
            claims: Vec::new(),
        },
    }
}

/// A decider to which everything has a name that nobody may know, in segments of three seconds.
fn recorded() -> Vec<u8> {
    let (mut decider, start) = RecordedDecider::new(DeciderOptions::unlimited(), &At(0));
    let mut blocks = TapeBlocks::new("a test", &name("process"));
    let mut bytes = Vec::new();
    blocks.begin(start, &mut |block| bytes.extend_from_slice(block));
    decider.record(true);
    let config = pumice_conf::parse(CONF, &REGISTRY).config.expect("valid");
    decider.configure(&config, Some(CONF));
    decider.apply(cluster());
    decider.set_synced();
    decider.set_leader(true);
    for second in 1..=9_u64 {
        let (gang, members) = gang_of(second);
        decider.apply(vec![
            gang.delta(),
            members[0].clone().delta(),
            members[1].clone().delta(),
        ]);
        decider.step(&At(second), &mut Unobserved);
        for effect in decider.take_effects() {
            if let Effect::Write(Write::Bind(bind)) = effect {
                decider.on_outcome(outcome(bind, second), &At(second));
            }
        }
        // The first ones end.
        if second > 4 {
            let mut ended = members[0].clone();
            ended.phase = PodPhase::Succeeded;
            decider.apply(vec![ended.delta()]);
        }
        bytes.extend(blocks.block(&decider.take_tape()));
        if second.is_multiple_of(3) {
            let copy = decider
                .segment_start(Duration::from_secs(second))
                .expect("recorded");
            blocks.begin(copy, &mut |block| bytes.extend_from_slice(block));
        }
    }
    bytes
}

fn unnamed(bytes: &[u8]) -> (Vec<u8>, AnonymousSums) {
    let mut names = NameCollection::default();
    for piece in TapeReader::new(bytes) {
        if let TapePiece::Entry(entry) = piece {
            names.take(&entry);
        }
    }
    let mut copy = AnonymousCopy::new(names.pseudonyms(), "a test");
    TapeReader::new(bytes).for_each(|piece| copy.take(piece));
    copy.finish()
}

/// Entries of a recording as bytes that are not packed.
fn text(bytes: &[u8]) -> String {
    let mut tape = Tape::default();
    read(bytes).0.iter().for_each(|entry| tape.push(entry));
    String::from_utf8_lossy(&tape.take()).into_owned()
}

/// Pods placed by a replay, which is exact.
fn replayed(bytes: &[u8]) -> usize {
    let mut replay = Replay::new(None);
    let (mut placed, mut others) = (0, 0);
    for piece in TapeReader::new(bytes) {
        match replay.take_piece(piece).expect("a configuration") {
            Some(ReplayEvent::Stepped(step)) => {
                assert!(step.is_same(), "{step:?}");
                placed += step.now.len();
            }
            Some(ReplayEvent::ToldOtherwise { .. } | ReplayEvent::Waits { .. }) => others += 1,
            _ => {}
        }
    }
    assert!(replay.is_exact() && others == 0, "{others}");
    placed
}

#[test]
fn no_name_is_in_a_recording_without_names_and_it_decides_the_same() {
    let bytes = recorded();
    let placed = replayed(&bytes);
    assert!(placed >= 12, "{placed}");
    assert!(text(&bytes).matches(SECRET).count() > 100);
    let (copy, sums) = unnamed(&bytes);
    assert_eq!((sums.steps, sums.differences, sums.left_out), (9, 0, 0));
    let said = text(&copy);
    // The resource of the configuration keeps its name: names of resources do.
    let rest = said.replace("secret.example.com/card", "");
    let at = rest.find(SECRET);
    assert_eq!(at.map(|at| &rest[at.saturating_sub(40)..]), None);
    // Nor in what is around the entries.
    let begin = name("");
    let is_there = |bytes: &[u8]| bytes == begin.as_bytes();
    assert!(!copy.windows(begin.len()).any(is_there));
    assert_eq!(replayed(&copy), placed);
    // What decides by its words keeps them.
    for kept in ["kubernetes.io/hostname", "binpack.resources", "default"] {
        assert!(said.contains(kept), "{kept}");
    }
}

#[test]
fn a_part_of_a_recording_is_as_of_its_copy_without_names_too() {
    let bytes = recorded();
    let headers: Vec<usize> = bytes
        .windows(5)
        .enumerate()
        .filter(|(_, bytes)| bytes == b"PuBBH")
        .map(|(at, _)| at)
        .collect();
    let (copy, sums) = unnamed(&bytes[headers[1]..]);
    assert_eq!((sums.steps, sums.left_out), (6, 0));
    assert!(
        !text(&copy)
            .replace("secret.example.com/card", "")
            .contains(SECRET)
    );
    // A copy that begins it, and the last one, after which nothing came, is left out.
    let begins = read(&copy)
        .0
        .into_iter()
        .filter(|entry| matches!(entry, pumice_record::TapeEntry::Begin { fresh: false, .. }));
    assert_eq!(begins.count(), 1);
}
