//! The lock of a node: taken, waited for, taken over, given back.

use std::sync::{Arc, Mutex};

use pumice_devices::NodeLock;

use super::*;

const KEY: &str = "hamivgpu";
const NODE: &str = "/api/v1/nodes/n1";

/// A node that is patched only at the version it has.
#[derive(Clone, Default)]
struct Node(Arc<Mutex<(u64, Option<String>)>>);

impl Node {
    fn locked(value: &str) -> Self {
        Self(Arc::new(Mutex::new((7, Some(value.to_owned())))))
    }

    fn lock(&self) -> Option<String> {
        self.0.lock().expect("no panic").1.clone()
    }

    /// Somebody else writes.
    fn set(&self, value: Option<String>) {
        let mut node = self.0.lock().expect("no panic");
        node.0 += 1;
        node.1 = value;
    }

    fn answer(&self, seen: &Seen) -> Answer {
        let (version, lock) = self.0.lock().expect("no panic").clone();
        match seen.method.as_str() {
            "GET" => {
                let annotations = lock.map_or(json!({}), |value| json!({KEY: value, "a": "b"}));
                let version = version.to_string();
                let metadata = json!({"resourceVersion": version, "annotations": annotations});
                Answer::Json(200, json!({"metadata": metadata}))
            }
            _ if seen.body["metadata"]["resourceVersion"] != json!(version.to_string()) => {
                Answer::refuse(409, "the object has been modified")
            }
            _ => {
                let value = &seen.body["metadata"]["annotations"][KEY];
                self.set(value.as_str().map(str::to_owned));
                Answer::ok()
            }
        }
    }

    /// Serves the node; Bindings get this answer.
    fn script(&self, binding: fn() -> Answer) -> impl FnMut(&Seen) -> Answer + Send + 'static {
        let node = self.clone();
        move |seen| match seen.path == NODE {
            true => node.answer(seen),
            false => binding(),
        }
    }
}

fn locking() -> Write {
    let Write::Bind(mut request) = bind() else {
        unreachable!("bind makes a bind");
    };
    request.devices.locks = vec![NodeLock::new(KEY)];
    Write::Bind(request)
}

fn quick() -> EffectOptions {
    EffectOptions {
        lock_wait: Duration::from_secs(2),
        lock_pause: (Duration::from_millis(50), Duration::from_millis(200)),
        ..options()
    }
}

async fn bench(script: impl FnMut(&Seen) -> Answer + Send + 'static) -> Bench {
    Bench::with(script, quick(), TermWatch::always()).await
}

fn created() -> Answer {
    Answer::Json(201, json!({"kind": "Status", "status": "Success"}))
}

fn denied() -> Answer {
    Answer::refuse(403, "pods \"p\" is forbidden: exceeded quota: q")
}

/// Methods, with the last part of the path.
fn steps(bench: &Bench) -> Vec<String> {
    let step = |line: String| {
        let end = line.rsplit('/').next().unwrap_or_default().to_owned();
        format!("{} {end}", line.split(' ').next().unwrap_or_default())
    };
    bench.server.lines().into_iter().map(step).collect()
}

fn is_bound(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Bound { .. })
}

fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

#[tokio::test]
async fn the_lock_is_taken_just_before_the_binding_and_left_to_the_plugin() {
    let node = Node::default();
    let mut bench = bench(node.script(created)).await;
    bench.effects.submit(locking());
    assert!(is_bound(&bench.outcome().await));
    assert_eq!(steps(&bench), ["GET n1", "PATCH n1", "POST binding"]);
    let patch = &bench.server.log()[1];
    assert_eq!(patch.media, "application/merge-patch+json");
    assert_eq!(patch.body["metadata"]["resourceVersion"], json!("0"));
    let value = node.lock().expect("a lock");
    let age = now().duration_since(value.parse().expect("RFC 3339"));
    assert!(value.ends_with('Z') && age.as_secs().abs() < 60, "{value}");
}

#[tokio::test]
async fn a_lock_that_names_the_pod_says_which_is_next_after_the_time() {
    let node = Node::default();
    let mut bench = bench(node.script(created)).await;
    let Write::Bind(mut request) = locking() else {
        unreachable!("it is a bind");
    };
    request.devices.locks = vec![NodeLock::naming_pod(KEY)];
    let pod = format!(",{},{}", request.pod.namespace, request.pod.name);
    bench.effects.submit(Write::Bind(request));
    assert!(is_bound(&bench.outcome().await));
    let value = node.lock().expect("a lock");
    let time = value.strip_suffix(&pod).expect("the pod");
    assert!(time.parse::<jiff::Timestamp>().is_ok(), "{value}");
}

#[tokio::test]
async fn a_young_lock_is_waited_for() {
    let node = Node::locked(&now().to_string());
    let mut bench = bench(node.script(created)).await;
    bench.effects.submit(locking());
    bench.server.until("GET", 2).await;
    assert_eq!(bench.effects.waiting(), 1);
    assert!(bench.server.all("POST").is_empty());
    node.set(None);
    assert!(is_bound(&bench.outcome().await));
    assert_eq!(bench.effects.waiting(), 0);
}

#[tokio::test]
async fn a_lock_that_a_pod_left_behind_which_is_no_more_holds_nobody() {
    type End = fn(&PluginProgress, &str);
    let ends: [(&str, End); 2] = [
        ("gone", |progress, uid| progress.pod_gone(uid)),
        ("ended", |progress, uid| {
            progress.pod_seen(uid, "n1", false, true)
        }),
    ];
    for (what, end) in ends {
        let node = Node::default();
        let mut bench = bench(node.script(created)).await;
        bench.effects.submit(locking());
        assert!(is_bound(&bench.outcome().await));
        let left = node.lock().expect("a lock");
        let Write::Bind(mut next) = locking() else {
            unreachable!("it is a bind");
        };
        let first = std::mem::replace(&mut next.pod.uid, "u-next".to_owned());
        next.pod.name = "next".to_owned();
        bench.effects.submit(Write::Bind(next));
        bench.server.until("GET", 3).await;
        assert_eq!(node.lock().as_deref(), Some(&*left), "before it is {what}");
        // One that runs may still have to be served.
        bench.progress.pod_seen(&first, "n1", true, false);
        end(&bench.progress, &first);
        assert!(is_bound(&bench.outcome().await), "{what}");
        assert_ne!(node.lock(), Some(left), "{what}");
    }
}

#[tokio::test]
async fn an_old_lock_and_one_without_a_time_are_taken_over() {
    let old = (now() - Duration::from_secs(301)).to_string();
    for value in [old.as_str(), "soon", ""] {
        let node = Node::locked(value);
        let mut bench = bench(node.script(created)).await;
        bench.effects.submit(locking());
        assert!(is_bound(&bench.outcome().await));
        assert_eq!(steps(&bench), ["GET n1", "PATCH n1", "POST binding"]);
        assert_ne!(node.lock().as_deref(), Some(value));
    }
}

#[tokio::test]
async fn a_lock_with_a_time_of_its_own_is_taken_over_when_that_is_over() {
    let old = (now() - Duration::from_secs(121)).to_string();
    let node = Node::locked(&old);
    let mut bench = bench(node.script(created)).await;
    let Write::Bind(mut request) = locking() else {
        unreachable!("it is a bind");
    };
    request.devices.locks = vec![NodeLock::lasting(KEY, 120)];
    bench.effects.submit(Write::Bind(request));
    assert!(is_bound(&bench.outcome().await));
    assert_eq!(steps(&bench), ["GET n1", "PATCH n1", "POST binding"]);
    assert_ne!(node.lock(), Some(old));
}

#[tokio::test]
async fn a_lock_that_stays_fails_the_bind_with_what_to_do() {
    let node = Node::locked(&now().to_string());
    let mut bench = bench(node.script(created)).await;
    bench.effects.submit(locking());
    let (failure, message) = failure(bench.outcome().await);
    assert_eq!(failure, BindFailure::PreBind);
    for part in ["node n1", KEY, "remove the annotation", "holds it since"] {
        assert!(message.contains(part), "{part} is not in: {message}");
    }
    assert!(bench.server.all("PATCH").is_empty());
}

#[tokio::test]
async fn a_failed_bind_gives_the_lock_back_only_if_it_is_still_its_own() {
    let node = Node::default();
    let mut ours = bench(node.script(denied)).await;
    ours.effects.submit(locking());
    assert_eq!(failure(ours.outcome().await).0, BindFailure::Denied);
    let wanted = ["GET n1", "PATCH n1", "POST binding", "GET n1", "PATCH n1"];
    assert_eq!(steps(&ours), wanted);
    assert_eq!(node.lock(), None);

    let theirs = now().to_string();
    let (node, other) = (Node::default(), theirs.clone());
    let served = node.clone();
    let script = move |seen: &Seen| match seen.path == NODE {
        true => served.answer(seen),
        false => {
            served.set(Some(other.clone()));
            denied()
        }
    };
    let mut bench = bench(script).await;
    bench.effects.submit(locking());
    assert_eq!(failure(bench.outcome().await).0, BindFailure::Denied);
    assert_eq!(node.lock(), Some(theirs));
}

#[tokio::test]
async fn of_two_locks_the_first_is_given_back_when_another_keeps_the_second() {
    const SECOND: &str = "other/lock";
    let (node, theirs) = (Node::default(), now().to_string());
    let served = node.clone();
    let script = move |seen: &Seen| match (seen.path == NODE, served.answer(seen)) {
        (true, Answer::Json(200, mut body)) if seen.method == "GET" => {
            body["metadata"]["annotations"][SECOND] = json!(theirs);
            Answer::Json(200, body)
        }
        (_, answer) => answer,
    };
    let mut bench = bench(script).await;
    let Write::Bind(mut request) = locking() else {
        unreachable!("it is a bind");
    };
    request.devices.locks = vec![NodeLock::new(KEY), NodeLock::new(SECOND)];
    bench.effects.submit(Write::Bind(request));
    let (failure, message) = failure(bench.outcome().await);
    assert_eq!(failure, BindFailure::PreBind);
    assert!(message.contains(SECOND), "{message}");
    assert!(bench.server.all("POST").is_empty());
    assert_eq!(bench.server.all("PATCH").len(), 2, "taken and given back");
    assert_eq!(node.lock(), None);
}

#[tokio::test]
async fn a_node_that_changes_meanwhile_is_looked_at_again() {
    let node = Node::default();
    let served = node.clone();
    let mut conflicts = 3;
    let script = move |seen: &Seen| {
        if seen.method == "PATCH" && conflicts > 0 {
            conflicts -= 1;
            served.set(None);
        }
        match seen.path == NODE {
            true => served.answer(seen),
            false => created(),
        }
    };
    let mut bench = bench(script).await;
    bench.effects.submit(locking());
    assert!(is_bound(&bench.outcome().await));
    assert_eq!(bench.server.all("PATCH").len(), 4);
}

#[tokio::test]
async fn a_lock_whose_answer_was_lost_is_known_as_our_own() {
    let node = Node::default();
    let served = node.clone();
    let script = move |seen: &Seen| match (seen.path == NODE, seen.method.as_str()) {
        (true, "PATCH") => {
            served.answer(seen);
            Answer::Cut
        }
        (true, _) => served.answer(seen),
        (false, _) => created(),
    };
    let mut bench = bench(script).await;
    bench.effects.submit(locking());
    assert!(is_bound(&bench.outcome().await));
    let wanted = ["GET n1", "PATCH n1", "GET n1", "POST binding"];
    assert_eq!(steps(&bench), wanted);
}

#[tokio::test]
async fn without_permission_the_bind_fails_and_names_the_rule() {
    let (get, patch) = (
        |seen: &Seen| match seen.method.as_str() {
            "GET" => rbac("get", "nodes"),
            _ => created(),
        },
        |seen: &Seen| match seen.method.as_str() {
            "GET" => Node::default().answer(seen),
            "PATCH" => rbac("patch", "nodes"),
            _ => created(),
        },
    );
    type Respond = fn(&Seen) -> Answer;
    let cases: [Respond; 2] = [get, patch];
    for script in cases {
        let mut bench = bench(script).await;
        bench.effects.submit(locking());
        let (failure, message) = failure(bench.outcome().await);
        assert_eq!(failure, BindFailure::Denied);
        let rule = "grant get and patch on nodes of the core group";
        assert!(message.contains(rule), "{message}");
        assert!(bench.server.all("POST").is_empty());
    }
}

#[tokio::test]
async fn binds_to_one_node_take_the_lock_one_after_the_other() {
    let node = Node::default();
    let served = node.clone();
    // The plugin gives the lock back as soon as a pod is there.
    let script = move |seen: &Seen| match seen.path == NODE {
        true => served.answer(seen),
        false => {
            served.set(None);
            created()
        }
    };
    let mut bench = bench(script).await;
    for at in 0..8 {
        let Write::Bind(mut request) = locking() else {
            unreachable!("locking makes a bind");
        };
        request.pod.name = format!("p{at}");
        request.pod.uid = format!("u{at}");
        bench.effects.submit(Write::Bind(request));
    }
    for _ in 0..8 {
        assert!(is_bound(&bench.outcome().await));
    }
}
