//! Whose time is over, by the objects of the server (spec/11 §3): a pod is ended by its limit only once the limit and the
//! grace have passed since the server gave it its node, by the clock of the process that ends it.

use pumice_model::Delta;
use pumice_model::object::{Pairs, PodObject};
use pumice_model::run_time::{DEFAULT_RUN_TIME, DEFAULT_RUN_TIME_LIMIT, RUN_TIME, RUN_TIME_LIMIT};

use super::invariant::{Broken, Invariant, WINDOW_MS};
use super::oracle::{queue_of, recent};
use super::server::{VirtualServer, key};
use super::server_kind::ServerKind;

/// What such evictions are called.
pub const REASON: &str = "runtimelimit";

/// How much longer than its limit a pod may run, in seconds.
pub const GRACE_S: i64 = 3;

/// What is said of a pod in one place, in whole seconds as these storms write them.
fn said_s(pairs: &Pairs, key: &str) -> Option<i64> {
    let (_, text) = pairs.iter().find(|(known, _)| known == key)?;
    text.strip_suffix('s')?.parse().ok()
}

/// The least limit of a pod by what it, its PodGroup and its queue say now, or said within the time in which a process
/// may not have heard of it.
pub fn least_limit_s(server: &VirtualServer, pod: &PodObject) -> Option<i64> {
    if let Some(own_s) = said_s(&pod.annotations, RUN_TIME_LIMIT) {
        return Some(own_s);
    }
    let group = pod.group.as_ref().map(|group| key(&pod.namespace, group));
    let groups = group.map_or_else(Vec::new, |group| {
        recent(server, ServerKind::Group, &group, |delta| match delta {
            Delta::GroupApply(group) => Some(group.annotations.clone()),
            _ => None,
        })
    });
    let queue = queue_of(server, pod);
    let queues = recent(server, ServerKind::Queue, &queue, |delta| match delta {
        Delta::QueueApply(queue) => Some(queue.run_times.clone()),
        _ => None,
    });
    let of_groups = groups.iter().filter_map(|one| said_s(one, RUN_TIME_LIMIT));
    let all_groups_say = !groups.is_empty() && of_groups.clone().count() == groups.len();
    // What the queue says counts for who says nothing, and is no less than what is expected.
    let expected = groups.iter().filter_map(|one| said_s(one, RUN_TIME));
    let expected_s = said_s(&pod.annotations, RUN_TIME).or(expected.min());
    let of_queues = queues
        .iter()
        .filter_map(|one| said_s(one, DEFAULT_RUN_TIME_LIMIT));
    let of_queues_expected = queues
        .iter()
        .filter_map(|one| said_s(one, DEFAULT_RUN_TIME));
    let expected_s = expected_s.or(of_queues_expected.min()).unwrap_or(0);
    let of_queues = of_queues.map(|limit_s| limit_s.max(expected_s));
    let of_queues = of_queues.filter(|_| !all_groups_say);
    of_groups.chain(of_queues).min()
}

/// A process ends a pod by its limit, when its own clock says that.
///
/// # Errors
/// Its time is not over.
pub fn check(server: &VirtualServer, uid: &str, now_s: i64) -> Result<(), Broken> {
    // One that is gone meanwhile cannot be ended too early.
    let Some(pod) = server.pods.get(uid) else {
        return Ok(());
    };
    let broken = |text: String| Err(Invariant::Evictions.broken(text));
    let Some(since_s) = pod.scheduled_s else {
        return broken(format!(
            "{uid} is ended, and nobody knows since when it runs"
        ));
    };
    let Some(limit_s) = least_limit_s(server, pod) else {
        return broken(format!("{uid} is ended, and has no limit"));
    };
    match now_s >= since_s + limit_s + GRACE_S {
        true => Ok(()),
        false => broken(format!(
            "{uid} has its node since {since_s} and a limit of {limit_s} s, and is ended at {now_s} by the clock of the \
             process (what was said within {WINDOW_MS} ms counts)"
        )),
    }
}
