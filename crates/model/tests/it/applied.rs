//! What a change says it did to pods and jobs, and what their identities mean afterwards.

use pumice_fixtures::{BuildGroup as _, BuildPod as _, ToDelta as _};
use pumice_model::{Applied, Delta, GroupChange, JobId, PodChange, State, TaskId};

fn pod(name: &str, group: Option<&str>) -> Delta {
    let pod = pumice_fixtures::pod(name, "").uid(format!("uid-{name}"));
    pod.group(group.map(str::to_owned)).delta()
}

fn group(uid: &str) -> Delta {
    pumice_fixtures::group("g", 1).uid(uid).delta()
}

fn group_gone() -> Delta {
    Delta::GroupDelete("ns".to_owned(), "g".to_owned())
}

fn ids(state: &State, name: &str) -> (TaskId, JobId) {
    let task = state
        .population()
        .task_by_uid(&format!("uid-{name}"))
        .expect("known");
    let job = state.task(task).job.expect("a pod of ours has a job");
    (
        state.population().task_id(task),
        state.population().job_id(job),
    )
}

#[test]
fn a_pod_is_told_as_new_then_as_read_then_as_gone_with_its_job() {
    let mut state = State::new("default");
    let applied = state.apply(pod("a", None));
    let (task, job) = ids(&state, "a");
    assert_eq!(applied.pod, Some(PodChange::New(task)));
    let applied = state.apply(pod("a", None));
    assert_eq!(applied.pod, Some(PodChange::Read { task, left: None }));
    let applied = state.apply(Delta::PodDelete("uid-a".to_owned()));
    let left = Some(job);
    assert_eq!(applied.pod, Some(PodChange::Gone { task, left }));
    assert_eq!(applied.job_gone, Some(job));
    assert_eq!(
        (
            state.population().known_task(task),
            state.population().known_job(job)
        ),
        (None, None)
    );
    let nobody = state.apply(Delta::PodDelete("uid-a".to_owned()));
    assert_eq!(nobody, Applied::default());
}

#[test]
fn an_identity_never_means_what_took_its_index() {
    let mut state = State::new("default");
    state.apply(pod("a", None));
    let (task, job) = ids(&state, "a");
    let ix = state.population().known_task(task);
    state.apply(Delta::PodDelete("uid-a".to_owned()));
    state.apply(pod("b", None));
    let (other, other_job) = ids(&state, "b");
    assert_eq!(
        state.population().known_task(other),
        ix,
        "the index is used again"
    );
    assert_eq!(
        (
            state.population().known_task(task),
            state.population().known_job(job)
        ),
        (None, None)
    );
    assert!(task != other && job != other_job);
}

#[test]
fn a_pod_keeps_its_identity_when_it_changes_and_tells_which_job_it_leaves() {
    let mut state = State::new("default");
    state.apply(pod("a", Some("g")));
    let (task, job) = ids(&state, "a");
    let applied = state.apply(pod("a", Some("h")));
    let left = Some(job);
    assert_eq!(applied.pod, Some(PodChange::Read { task, left }));
    assert_eq!(applied.job_gone, Some(job), "nothing is left of it");
    assert_eq!(ids(&state, "a").0, task);
}

#[test]
fn a_job_outlives_its_pod_group_and_tells_when_it_has_another_one() {
    let mut state = State::new("default");
    state.apply(pod("a", Some("g")));
    let (_, job) = ids(&state, "a");
    let replaced = Some(GroupChange::Replaced(job));
    assert_eq!(state.apply(group("first")).group, replaced);
    assert_eq!(state.apply(group("first")).group, None);
    let gone = state.apply(group_gone());
    assert_eq!(
        (gone.group, gone.job_gone),
        (Some(GroupChange::Gone(job)), None)
    );
    assert_eq!(state.apply(group("first")).group, None, "it is back");
    assert_eq!(state.apply(group("second")).group, replaced);
    assert!(state.population().known_job(job).is_some());
}
