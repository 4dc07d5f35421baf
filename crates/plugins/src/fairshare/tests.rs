//! Who goes first, and who is charged.

use pumice_conf::Value;
use pumice_framework::Changed;
use pumice_model::object::GroupObject;
use pumice_model::{TaskIx, TaskStatus};

use super::*;
use crate::testing::*;

const HOUR_S: i64 = 3_600;

fn plugin(arguments: &[(&str, &str)]) -> FairShare {
    let pairs = arguments
        .iter()
        .map(|(key, value)| ((*key).to_owned(), Value::Str((*value).to_owned())));
    FairShare::new(&pairs.collect())
}

fn open_at(plugin: &mut FairShare, state: &State, now_s: i64) {
    let changed = Changed::default();
    plugin.open(state, &CycleInfo { now_s, changed });
}

fn of_user(name: &str, user: &str) -> GroupObject {
    group(name, 1).queue("default").user(user)
}

/// Ten cores: user `a` has had 4 for an hour, and user `b` 2.
fn cluster() -> State {
    cluster_in_the_making().state()
}

fn cluster_in_the_making() -> Cluster {
    let of = |request: &str| pod("", request).on("n").scheduled_s(Some(0));
    Cluster::default()
        .with(queue("default"))
        .with(node("n", "10c 10Gi pods=100"))
        .with(of_user("a", "a"))
        .pods(4, "a", of("1c"))
        .with(of_user("b", "b"))
        .pods(1, "b", of("2c"))
        .with(of_user("a2", "a"))
        .pods(1, "a2", pod("", "1c"))
        .with(of_user("b2", "b"))
        .pods(1, "b2", pod("", "1c"))
        .with(of_user("new", "c"))
        .pods(1, "new", pod("", "1c"))
}

fn users_first(plugin: &FairShare, state: &State) -> Ordering {
    plugin.job_order(state, job(state, "a2"), job(state, "b2"))
}

#[test]
fn jobs_of_users_who_used_less_go_first_and_those_of_one_user_together() {
    let state = cluster();
    let mut plugin = plugin(&[("fairshare.users", "said")]);
    open_at(&mut plugin, &state, HOUR_S);
    let order = |l, r| plugin.job_order(&state, job(&state, l), job(&state, r));
    assert_eq!(order("a2", "b2"), Ordering::Greater);
    assert_eq!(order("new", "b2"), Ordering::Less);
    assert_eq!(order("a", "a2"), Ordering::Equal);
}

/// What a PodGroup says of its user counts for nobody then, and who has no requester counts as one without a name.
#[test]
fn who_asked_for_a_job_is_its_user_where_the_configuration_says_so() {
    let asked = |name, said, requester: &str| of_user(name, said).requester(requester);
    let of = |request: &str| pod("", request).on("n").scheduled_s(Some(0));
    let state = Cluster::default()
        .with(queue("default"))
        .with(node("n", "10c 10Gi pods=100"))
        .with(asked("a", "b", "a"))
        .pods(4, "a", of("1c"))
        .with(asked("b", "a", "b"))
        .pods(1, "b", of("1c"))
        .with(asked("a2", "b", "a"))
        .pods(1, "a2", pod("", "1c"))
        .with(asked("b2", "a", "b"))
        .pods(1, "b2", pod("", "1c"))
        .with(asked("nobody", "b", ""))
        .pods(1, "nobody", pod("", "1c"))
        .state();
    let mut plugin = plugin(&[("fairshare.users", "requester")]);
    open_at(&mut plugin, &state, HOUR_S);
    assert_eq!(users_first(&plugin, &state), Ordering::Greater);
    assert_eq!(plugin.used_of_user(job(&state, "nobody")), 0);
    let user = |name: &str| plugin.of_job(job(&state, name)).and_then(|of| of.user);
    assert_eq!(user("a2").as_deref(), Some("a"));
    assert_eq!(user("nobody").as_deref(), Some(""));
}

/// Without being asked to, nobody believes what is written on PodGroups, and with namespaces neither.
#[test]
fn what_somebody_writes_of_users_counts_only_where_the_configuration_says_so() {
    let state = cluster();
    let quiet = plugin(&[]);
    assert!(quiet.as_job_order().is_none() && quiet.as_queue_order().is_some());
    let mut by_namespace = plugin(&[("fairshare.users", "namespace")]);
    open_at(&mut by_namespace, &state, HOUR_S);
    assert_eq!(users_first(&by_namespace, &state), Ordering::Equal);
    assert!(
        by_namespace.used_of_user(job(&state, "new")) > 0,
        "all of one namespace"
    );
}

/// Whoever names ever other users in a queue has no more than the first ones had; queues are ordered by all the same.
#[test]
fn many_names_count_together_and_the_queue_has_it_all() {
    let mut cluster = Cluster::default()
        .with(queue("default"))
        .with(node("n", "1000c 10Gi pods=1000"));
    for at in 0..2 * ledger::MAX_USERS {
        let name = format!("j{at}");
        cluster = cluster.with(of_user(&name, &name)).pods(
            1,
            &name,
            pod("", "1c").on("n").scheduled_s(Some(0)),
        );
    }
    let state = cluster.with(of_user("late", "late")).state();
    let mut plugin = plugin(&[("fairshare.users", "said")]);
    open_at(&mut plugin, &state, HOUR_S);
    let used = |name| plugin.used_of_user(job(&state, name)) >> decay::USE_BITS;
    let most = (ledger::MAX_USERS + 1) as u128;
    assert!(
        used("late") > used("j0") * (most - 2),
        "{} {}",
        used("late"),
        used("j0")
    );
    let all = plugin.used_of_queue(queue_ix(&state, "default"));
    assert!(all > used("j0") * (most * 2 - 4), "{all}");
}

#[test]
fn queues_are_ordered_by_what_they_used_for_each_part_of_their_weight() {
    let of = |name: &str| group(name, 1).queue(name);
    let state = Cluster::default()
        .with(queue("small").weight(1))
        .with(queue("large").weight(3))
        .with(node("n", "10c 10Gi pods=100"))
        .with(of("small"))
        .pods(1, "small", pod("", "2c").on("n").scheduled_s(Some(0)))
        .with(of("large"))
        .pods(1, "large", pod("", "5c").on("n").scheduled_s(Some(0)))
        .state();
    let mut plugin = plugin(&[("fairshare.measure", "cpu=1")]);
    open_at(&mut plugin, &state, HOUR_S);
    let [small, large] = ["small", "large"].map(|name| queue_ix(&state, name));
    assert_eq!(plugin.queue_order(&state, large, small), Ordering::Less);
    assert!(plugin.used_of_queue(large) > plugin.used_of_queue(small));
}

#[test]
fn the_order_stands_until_the_time_that_was_told_and_then_is_another() {
    let mut state = cluster();
    let mut plugin = plugin(&[("fairshare.users", "said"), ("fairshare.interval", "1m")]);
    open_at(&mut plugin, &state, HOUR_S);
    assert_eq!(plugin.wake_at_s(), Some(HOUR_S + 60));
    // All of `a` ends, and `b` gets more.
    for name in ["a", "b"] {
        let tasks = state.job(job(&state, name)).tasks.clone();
        for task in tasks {
            plugin.observe(&state, Step::Leaving(task));
            state.move_task(task, TaskStatus::Pending, None);
        }
    }
    let [big] = state.job(job(&state, "b")).tasks[..] else {
        panic!("one pod");
    };
    state.move_task(big, TaskStatus::Allocated, Some(pumice_model::NodeIx(0)));
    plugin.observe(&state, Step::Placed(big));
    open_at(&mut plugin, &state, HOUR_S + 59);
    assert_eq!(users_first(&plugin, &state), Ordering::Greater);
    open_at(&mut plugin, &state, 4 * HOUR_S);
    assert_eq!(users_first(&plugin, &state), Ordering::Less);
    assert_eq!(plugin.wake_at_s(), Some(4 * HOUR_S + 60));
}

#[test]
fn nothing_is_told_to_change_where_nobody_waits_or_nothing_runs() {
    let still = Cluster::default()
        .with(queue("default"))
        .with(node("n", "10c 10Gi pods=100"))
        .with(of_user("waits", "a"))
        .pods(1, "waits", pod("", "1c"));
    let mut waiting = plugin(&[]);
    open_at(&mut waiting, &still.state(), HOUR_S);
    assert_eq!(waiting.wake_at_s(), None);
    let busy = Cluster::default()
        .with(queue("default"))
        .with(node("n", "10c 10Gi pods=100"))
        .with(of_user("runs", "a"))
        .pods(1, "runs", pod("", "1c").on("n"));
    let mut running = plugin(&[]);
    open_at(&mut running, &busy.state(), HOUR_S);
    assert_eq!(running.wake_at_s(), None);
}

/// Followed change by change, accounts have what one that sees it all at once has.
#[test]
fn a_pod_is_charged_from_when_it_got_its_node_however_late_that_is_seen() {
    let mut early = plugin(&[]);
    let empty = Cluster::default()
        .with(queue("default"))
        .with(node("n", "10c 10Gi pods=100"));
    open_at(&mut early, &empty.state(), 0);
    let state = cluster();
    open_at(&mut early, &state, 0);
    open_at(&mut early, &state, HOUR_S);
    let mut late = plugin(&[]);
    open_at(&mut late, &state, HOUR_S);
    let queue = queue_ix(&state, "default");
    assert!(late.used_of_queue(queue) > 0);
    assert_eq!(early.used_of_queue(queue), late.used_of_queue(queue));
}

#[test]
fn who_comes_next_goes_on_from_the_text_and_charges_what_runs_since() {
    let state = cluster();
    let mut first = plugin(&[("fairshare.users", "said")]);
    open_at(&mut first, &state, HOUR_S);
    let text = first.use_to_keep();
    open_at(&mut first, &state, 3 * HOUR_S);
    let mut told = Cluster::default();
    told.0.push(pumice_model::Delta::KeptText {
        topic: KeptTopic::Use,
        namespace: "ns".to_owned(),
        name: "kept".to_owned(),
        text: Some(text),
    });
    told.0.extend(cluster_in_the_making().0);
    let state = told.state();
    let mut next = plugin(&[("fairshare.users", "said")]);
    open_at(&mut next, &state, 3 * HOUR_S);
    let used = |plugin: &FairShare, name| plugin.used_of_user(job(&state, name)) as f64;
    for name in ["a", "b"] {
        let ratio = used(&next, name) / used(&first, name);
        assert!((ratio - 1.0).abs() < 1e-9, "{name} {ratio}");
    }
    // With another measure the text says nothing, and what runs is charged from when it got its node.
    let mut other = plugin(&[("fairshare.users", "said"), ("fairshare.measure", "cpu=1")]);
    open_at(&mut other, &state, 3 * HOUR_S);
    assert!((used(&other, "a") / used(&first, "a") / 10.0 - 1.0).abs() < 1e-6);
}

#[test]
fn a_copy_that_takes_the_memory_in_goes_on_exactly_where_the_other_one_was() {
    let state = cluster();
    let mut first = plugin(&[("fairshare.users", "said")]);
    open_at(&mut first, &state, HOUR_S);
    open_at(&mut first, &state, HOUR_S + 30);
    let told = first.keep(&state).expect("a memory");
    let mut copy = plugin(&[("fairshare.users", "said")]);
    copy.restore(&told, &state);
    assert_eq!(copy.keep(&state), Some(told.clone()));
    for now_s in [HOUR_S + 40, HOUR_S + 61, 5 * HOUR_S] {
        open_at(&mut first, &state, now_s);
        open_at(&mut copy, &state, now_s);
        assert_eq!(copy.keep(&state), first.keep(&state), "{now_s}");
        assert_eq!(copy.wake_at_s(), first.wake_at_s(), "{now_s}");
    }
    let mut other = plugin(&[("fairshare.measure", "cpu=1")]);
    other.restore(&told, &state);
    assert_eq!(
        other.keep(&state),
        None,
        "of another measure it knows nothing"
    );
}

/// Each of two users has one core for an hour, on a node of another kind.
#[test]
fn what_is_held_on_nodes_of_a_kind_counts_by_its_weight_however_it_came_there() {
    let of = |request: &str| pod("", request).scheduled_s(Some(0));
    let (mut slow, mut fast) = (node("slow", "9c 9Gi pods=9"), node("fast", "9c 9Gi pods=9"));
    for (node, kind) in [(&mut slow, "A100"), (&mut fast, "H100")] {
        node.labels = vec![("kind".to_owned(), kind.to_owned())];
    }
    let cluster = Cluster::default().with(queue("default")).with(slow);
    let cluster = cluster.with(fast.clone()).with(of_user("a", "a"));
    let cluster = cluster
        .pods(1, "a", of("1c").on("slow"))
        .with(of_user("b", "b"));
    let mut state = cluster
        .pods(1, "b", of("1c").on("fast"))
        .pods(1, "b", pod("", "1c"))
        .state();
    let mut plugin = plugin(&[
        ("fairshare.users", "said"),
        ("fairshare.measure", "cpu=1,cpu@H100=4"),
        ("fairshare.kindLabel", "kind"),
    ]);
    open_at(&mut plugin, &state, HOUR_S);
    let rate = |plugin: &FairShare, user: &str| {
        let uses = plugin.users();
        let own = uses.iter().find(|one| one.user.as_deref() == Some(user));
        own.map_or(0, |one| one.past.rate / measure::PARTS)
    };
    assert_eq!((rate(&plugin, "a"), rate(&plugin, "b")), (1, 4));
    let [of_a, of_b] = ["a", "b"].map(|user| {
        let uses = plugin.users();
        let own = uses.iter().find(|one| one.user.as_deref() == Some(user));
        own.map_or(0, |one| one.past.used)
    });
    assert!(of_a > 0 && of_b.abs_diff(4 * of_a) < 10, "{of_a} {of_b}");
    // A pod that is placed in a cycle, and leaves again, counts meanwhile.
    let waits = state.job(job(&state, "b")).tasks.iter();
    let waits: Vec<TaskIx> = waits
        .copied()
        .filter(|task| state.task(*task).status == TaskStatus::Pending)
        .collect();
    let at = state.nodes().find("fast").expect("a node");
    state.move_task(waits[0], TaskStatus::Allocated, Some(at));
    plugin.observe(&state, Step::Placed(waits[0]));
    assert_eq!(rate(&plugin, "b"), 8);
    plugin.observe(&state, Step::Leaving(waits[0]));
    assert_eq!(rate(&plugin, "b"), 4);
    state.move_task(waits[0], TaskStatus::Pending, None);
    // A node that is of another kind now counts as that from then on.
    fast.labels = Vec::new();
    state.apply(fast.delta());
    state.seal();
    open_at(&mut plugin, &state, HOUR_S);
    assert_eq!((rate(&plugin, "a"), rate(&plugin, "b")), (1, 1));
}

/// In a plan for the future pods of which the eviction was decided before are gone too, and come back last.
#[test]
fn pods_that_may_stay_leave_no_room_after_a_plan_in_which_they_are_gone() {
    let mut state = cluster();
    let mut plugin = plugin(&[
        ("fairshare.users", "said"),
        ("fairshare.userLimits", "cpu=4"),
    ]);
    open_at(&mut plugin, &state, HOUR_S);
    let [going, other, waits] = ["a-3", "a-4", "a2-10"].map(|uid| task(&state, uid));
    let is_room = |plugin: &FairShare, state: &State| plugin.leaves_room_if_all_stay(state, waits);
    plugin.observe(&state, Step::Evicting(going));
    state.evict(going);
    assert!(!is_room(&plugin, &state));
    state.restore(going, TaskStatus::Succeeded);
    plugin.observe(&state, Step::Evicting(other));
    state.restore(other, TaskStatus::Succeeded);
    state.restore(other, TaskStatus::Running);
    plugin.observe(&state, Step::Restored(other));
    state.restore(going, TaskStatus::Releasing);
    assert!(!is_room(&plugin, &state));
}
