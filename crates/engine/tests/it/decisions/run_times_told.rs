//! Run times that cannot be read are told to those who wrote them, whatever is configured (docs/spec/11-time.md §1).

use pumice_model::object::{GroupPhase, Pairs, PodObject, PodPhase};
use pumice_model::run_time::{RUN_TIME, RUN_TIME_LIMIT};

use super::cluster::*;

const HELP: &str = "write a time above 0 and of ten years at most, such as \"2h30m\"";

/// What is told of wrong annotations at a moment.
fn told(cluster: &mut Cluster, now_s: i64) -> Vec<String> {
    cluster.engine.cycle(now_s);
    let events = cluster.engine.reports(now_s).events.into_iter();
    let wrong = events.filter(|event| event.reason == "InvalidAnnotation");
    wrong.map(|event| event.message).collect()
}

fn says(key: &str, text: &str) -> Pairs {
    vec![(key.to_owned(), text.to_owned())]
}

fn saying(name: &str, key: &str, text: &str) -> PodObject {
    pod(name, "1c").group("g").annotations(says(key, text))
}

#[test]
fn what_a_group_and_its_pods_say_in_vain_is_told_once_in_one_event() {
    let mut group = group("g", 1);
    group.annotations = says(RUN_TIME, "soon");
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(group.clone())
        .with(saying("b", RUN_TIME_LIMIT, "-3h"))
        .with(saying("a", RUN_TIME_LIMIT, "0"))
        .with(saying("c", RUN_TIME_LIMIT, "99999h"))
        .with(saying("fine", RUN_TIME_LIMIT, "2h30m"));
    let expected = format!(
        "`pumice.sh/run-time` of the PodGroup says nothing, since \"soon\" is no duration such as 2h30m; \
         `pumice.sh/run-time-limit` of pod c says nothing, since \"99999h\" is more than ten years; \
         `pumice.sh/run-time-limit` of pod a and 1 more says nothing, since \"0\" is not above 0: {HELP}"
    );
    assert_eq!(told(&mut cluster, 0), [expected.as_str()]);
    let job = cluster.engine.state().population().job_by_key("ns", "g");
    let warnings = cluster.engine.known().job_warnings(job.expect("a group"));
    assert_eq!(warnings, [expected]);
    assert_eq!(told(&mut cluster, 1), [""; 0]);
    // The owner corrects a part, and then the rest.
    group.annotations = says(RUN_TIME, "1h");
    cluster.apply(group);
    let left = told(&mut cluster, 2);
    assert!(left.len() == 1 && !left[0].contains("soon"), "{left:?}");
    for name in ["a", "b", "c"] {
        cluster.apply(saying(name, RUN_TIME_LIMIT, "2h"));
    }
    assert_eq!(told(&mut cluster, 3), [""; 0]);
    assert_eq!(told(&mut cluster, 4_000), [""; 0]);
}

#[test]
fn of_a_pod_without_group_the_pod_is_told_and_of_what_has_ended_nobody() {
    let alone = pod("alone", "1c").annotations(says(RUN_TIME, ""));
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN).with(alone);
    let expected = format!(
        "`pumice.sh/run-time` of pod alone says nothing, since \"\" is no duration such as 2h30m: {HELP}"
    );
    assert_eq!(told(&mut cluster, 0), [expected]);
    let mut over = group("over", 1);
    over.annotations = says(RUN_TIME, "soon");
    over.status.phase = GroupPhase::Completed;
    let ended = pod("ended", "1c").group("over").on("n1");
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("n1", "4c 8Gi pods=9"))
        .with(over)
        .with(ended.phase(PodPhase::Succeeded));
    assert_eq!(told(&mut cluster, 0), [""; 0]);
}
