//! Many binds on an API server that loses answers, lies about failures and carries out late.

use std::collections::HashMap;
use std::sync::Mutex;

use super::*;

/// What the API server has: pod to node.
#[derive(Clone, Default)]
struct Pods(Arc<Mutex<HashMap<String, String>>>);

impl Pods {
    fn node(&self, pod: &str) -> Option<String> {
        self.0.lock().unwrap().get(pod).cloned()
    }

    /// One bind per pod is accepted.
    fn bind(&self, pod: &str, node: &str) -> bool {
        let mut pods = self.0.lock().unwrap();
        let free = !pods.contains_key(pod);
        pods.entry(pod.to_owned())
            .or_insert_with(|| node.to_owned());
        free
    }

    fn bind_late(&self, pod: &str, node: &str, after_ms: u64) {
        let (this, pod, node) = (self.clone(), pod.to_owned(), node.to_owned());
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(after_ms)).await;
            this.bind(&pod, &node);
        });
    }

    fn post(&self, pod: &str, node: &str, dice: u64) -> Answer {
        let verdict = |accepted| match accepted {
            true => Answer::ok(),
            false => Answer::refuse(409, "already assigned"),
        };
        match dice % 9 {
            0 => Answer::Cut,
            1 => Answer::refuse(500, "down"),
            2 => Answer::RetryAfter(429, 0),
            3 => {
                self.bind(pod, node);
                Answer::Cut
            }
            4 => {
                self.bind(pod, node);
                Answer::refuse(504, "timeout")
            }
            5 => {
                self.bind_late(pod, node, dice % 700);
                Answer::Cut
            }
            6 => {
                self.bind_late(pod, node, dice % 700);
                Answer::refuse(500, "etcdserver: request timed out")
            }
            7 => Answer::refuse(403, "webhook denied"),
            _ => verdict(self.bind(pod, node)),
        }
    }

    fn get(&self, pod: &str, uid: &str, dice: u64) -> Answer {
        match dice % 4 {
            0 => Answer::refuse(503, "down"),
            _ => {
                let node = self.node(pod).unwrap_or_default();
                Answer::Json(200, pod_json(uid, &node))
            }
        }
    }
}

/// Numbers that look random, the same in every run.
fn dice(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

#[tokio::test]
async fn what_is_told_is_what_the_api_server_has() {
    let pods = Pods::default();
    let mut state = 7;
    let served = pods.clone();
    let script = move |seen: &Seen| {
        let dice = dice(&mut state);
        let mut parts = seen.path.split('/').skip(6);
        let pod = parts.next().unwrap_or_default();
        match seen.method.as_str() {
            "GET" => served.get(pod, &format!("u-{pod}"), dice),
            _ => {
                let node = seen.body["target"]["name"].as_str().unwrap_or_default();
                served.post(pod, node, dice)
            }
        }
    };
    let mut options = options();
    // Longer than anything is late here, even on a busy machine.
    options.settle_after = Duration::from_secs(6);
    let mut bench = Bench::with(script, options, TermWatch::always()).await;
    let count = 200;
    for i in 0..count {
        bench.effects.submit(Write::Bind(BindRequest {
            pod: PodRef {
                namespace: "ns".to_owned(),
                name: format!("p{i}"),
                uid: format!("u-p{i}"),
            },
            node: "n1".to_owned(),
            devices: BindingAnnotations::default(),
            volumes: None,
            claims: Vec::new(),
        }));
        // Some are on another node already.
        if i % 10 == 0 {
            pods.bind(&format!("p{i}"), "other");
        }
    }
    let mut told = Vec::new();
    for _ in 0..count {
        told.push(bench.outcome().await);
    }
    // Whatever was late has landed.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut kinds = [0; 3];
    for outcome in told {
        match outcome {
            Outcome::Bound { pod, .. } => {
                kinds[0] += 1;
                assert_eq!(pods.node(&pod.name).as_deref(), Some("n1"));
            }
            Outcome::BindFailed { pod, failure, .. } => match failure {
                BindFailure::BoundElsewhere(node) => {
                    kinds[1] += 1;
                    assert_eq!(pods.node(&pod.name), Some(node));
                }
                failure => {
                    kinds[2] += 1;
                    let node = pods.node(&pod.name);
                    assert_ne!(node.as_deref(), Some("n1"), "{} {failure:?}", pod.name);
                }
            },
            other => panic!("{other:?} is no outcome of a bind"),
        }
    }
    assert!(
        kinds.iter().all(|count| *count > 0),
        "every kind of outcome occurs: {kinds:?}"
    );
}
