//! Whose turn it is, and what is told of whom.

use pumice_conf::{DEFAULT_CONF, parse};
use pumice_engine::REGISTRY;
use pumice_fixtures::Cluster;

use super::*;

fn group(namespace: &str, name: &str) -> WaitingGroup {
    let uid = format!("{namespace}-{name}");
    WaitingGroup {
        job: PlannedJob {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        },
        about: ObjectRef {
            api_version: "scheduling.volcano.sh/v1beta1".to_owned(),
            kind: "PodGroup".to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            uid: uid.clone(),
        },
        uid,
    }
}

fn more(count: usize) -> Remedy {
    Remedy::MoreNodes {
        count,
        like: "n1".to_owned(),
    }
}

#[test]
fn who_makes_many_groups_keeps_nobody_from_a_turn() {
    let mut all: Vec<WaitingGroup> = (0..50).map(|at| group("crowd", &at.to_string())).collect();
    let mut book = AdviceBook::default();
    for _ in 0..20 {
        let next = book.next(&all).expect("one waits");
        book.note(&next, None, 0);
    }
    all.push(group("small", "a"));
    all.push(group("small", "b"));
    let mut turns = Vec::new();
    for _ in 0..4 {
        let next = book.next(&all).expect("one waits");
        book.note(&next, None, 0);
        turns.push((next.job.namespace, next.job.name));
    }
    let small = turns.iter().filter(|(namespace, _)| namespace == "small");
    let names: Vec<&str> = small.map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["a", "b"], "{turns:?}");
}

#[test]
fn what_stands_is_told_again_only_before_events_are_forgotten() {
    let (mut book, one) = (AdviceBook::default(), group("ns", "g"));
    let text = |count: &str| Some(format!("tried, and enough alone: {count} like n1"));
    assert_eq!(book.note(&one, Some(&more(2)), 100), text("2 nodes more"));
    assert_eq!(
        book.note(&one, Some(&more(2)), 100 + TELL_AGAIN_S - 1),
        None
    );
    assert_eq!(
        book.note(&one, Some(&more(2)), 100 + TELL_AGAIN_S),
        text("2 nodes more")
    );
    assert_eq!(
        book.note(&one, Some(&more(1)), 101 + TELL_AGAIN_S),
        text("1 node more")
    );
    assert_eq!(book.nodes(), 1);
    assert_eq!(book.note(&one, None, 102 + TELL_AGAIN_S), None);
    assert_eq!(book.nodes(), 0);
    book.note(&one, Some(&more(3)), 103 + TELL_AGAIN_S);
    assert_eq!(book.next(&[]), None);
    assert_eq!((book.nodes(), book.known.len()), (0, 0), "it is gone");
}

#[test]
fn a_gang_is_told_the_fewest_nodes_and_one_that_no_node_helps_nothing() {
    let cluster = "
        node  n1 2c 8Gi pods=9
        group g min:5
        pod   p*5 1c group:g
        group part min:3
        pod   q*2 2c group:part
        group runs
        pod   r 1c group:runs on:n1
    ";
    let config = parse(DEFAULT_CONF, &REGISTRY).config.expect("valid");
    let mut engine = Engine::new(&config, "default");
    let objects = Cluster::of(cluster).0.into_iter();
    objects.for_each(|delta| engine.apply(delta));
    engine.cycle(0);
    let book = Mutex::new(AdviceBook::default());
    let mut ground = || CopiedGround {
        fork: engine.fork(),
        config: config.clone(),
        now_s: 1,
        standby: None,
    };
    let (news, nodes) = look(&book, ground(), &|| true);
    let (about, text) = news.expect("it is told");
    assert_eq!((about.name.as_str(), nodes), ("g", 2));
    assert_eq!(text, "tried, and enough alone: 2 nodes more like n1");
    let (news, nodes) = look(&book, ground(), &|| true);
    assert_eq!(
        (news, nodes),
        (None, 2),
        "nothing is new, and nobody else waits for nodes"
    );
    // Whoever does not wait for it has no answer.
    let (news, nodes) = look(&Mutex::default(), ground(), &|| false);
    assert_eq!((news, nodes), (None, 0));
}
