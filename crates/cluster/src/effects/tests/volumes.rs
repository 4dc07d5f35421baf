//! Claims before a Binding, against an API server that keeps volumes and claims.

use std::sync::{Arc, Mutex};

use pumice_model::VolumeStep;

use super::*;
use crate::effects::VolumeWork;

const SELECTED: &str = "volume.kubernetes.io/selected-node";
const COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

/// A volume, a claim, and what the controllers and the Binding say.
struct World {
    volume: Value,
    claim: Value,
    /// Claims become bound once they may be.
    controllers: bool,
    binding: u16,
    conflicts: u32,
}

impl Default for World {
    fn default() -> Self {
        Self {
            volume: json!({
                "metadata": {"name": "v", "resourceVersion": "3", "labels": {"kept": "yes"}},
                "spec": {"capacity": {"storage": "1Gi"}},
                "status": {"phase": "Available"},
            }),
            claim: json!({
                "metadata": {"name": "data", "namespace": "ns", "uid": "c1"},
                "spec": {"resources": {"requests": {"storage": "1Gi"}}},
            }),
            controllers: true,
            binding: 201,
            conflicts: 0,
        }
    }
}

impl World {
    fn answer(&mut self, seen: &Seen) -> Answer {
        let list = |item: &Value| Answer::Json(200, json!({"items": [item]}));
        let is_write = seen.method == "PUT";
        if is_write && self.conflicts > 0 {
            self.conflicts -= 1;
            return Answer::refuse(409, "the object has been modified");
        }
        match &seen.path {
            path if path.ends_with("/binding") => Answer::Json(self.binding, json!({})),
            path if path.contains("/pods/") => Answer::Json(200, pod_json("u1", "")),
            path if path.contains("persistentvolumeclaims") => {
                if is_write {
                    self.claim = seen.body.clone();
                }
                let selected = &self.claim["metadata"]["annotations"][SELECTED];
                let claimed = self.volume["spec"]["claimRef"]["uid"] == "c1";
                if self.controllers && (!selected.is_null() || claimed) {
                    self.claim["spec"]["volumeName"] = json!("v");
                    self.claim["metadata"]["annotations"][COMPLETED] = json!("yes");
                }
                list(&self.claim)
            }
            _ => {
                if is_write {
                    self.volume = seen.body.clone();
                }
                list(&self.volume)
            }
        }
    }
}

fn binds_volume() -> VolumeStep {
    VolumeStep::BindVolume {
        volume: "v".to_owned(),
        namespace: "ns".to_owned(),
        claim: "data".to_owned(),
        claim_uid: "c1".to_owned(),
    }
}

fn selects_node() -> VolumeStep {
    VolumeStep::SelectNode {
        namespace: "ns".to_owned(),
        claim: "data".to_owned(),
        claim_uid: "c1".to_owned(),
        node: "n1".to_owned(),
    }
}

/// Binds the pod with one step; what came of it, the world after it, and the writes.
async fn run(world: World, step: VolumeStep) -> (Outcome, Value, Value, Vec<String>) {
    let world = Arc::new(Mutex::new(world));
    let script = Arc::clone(&world);
    let mut bench = Bench::new(move |seen| script.lock().unwrap().answer(seen)).await;
    let Write::Bind(mut request) = bind() else {
        unreachable!("bind makes a bind");
    };
    request.volumes = Some(VolumeWork {
        pod: pod(),
        steps: vec![step],
        timeout: Duration::from_millis(300),
    });
    let (outcome, writes) = bench.carry_out(Write::Bind(request)).await;
    let world = world.lock().unwrap();
    (outcome, world.volume.clone(), world.claim.clone(), writes)
}

#[tokio::test]
async fn a_volume_is_claimed_and_the_pod_bound_once_the_claim_is() {
    let (outcome, volume, _, writes) = run(World::default(), binds_volume()).await;
    assert!(matches!(outcome, Outcome::Bound { .. }), "{outcome:?}");
    assert_eq!(volume["spec"]["claimRef"]["name"], "data");
    assert_eq!(volume["metadata"]["annotations"][CONTROLLER], "yes");
    // Written whole, so that nothing of it is lost and nobody else's write is.
    assert_eq!(volume["metadata"]["labels"]["kept"], "yes");
    assert_eq!(volume["metadata"]["resourceVersion"], "3");
    assert_eq!(volume["kind"], "PersistentVolume");
    assert_eq!(
        writes,
        [
            "PUT /api/v1/persistentvolumes/v",
            "POST /api/v1/namespaces/ns/pods/p/binding"
        ]
    );
}

#[tokio::test]
async fn a_node_is_selected_for_a_claim_that_is_to_be_provisioned() {
    let (outcome, _, claim, writes) = run(World::default(), selects_node()).await;
    assert!(matches!(outcome, Outcome::Bound { .. }), "{outcome:?}");
    assert_eq!(claim["metadata"]["annotations"][SELECTED], "n1");
    assert_eq!(writes.len(), 2);
}

#[tokio::test]
async fn a_conflict_is_answered_by_reading_again() {
    let world = World {
        conflicts: 2,
        ..World::default()
    };
    let (outcome, volume, ..) = run(world, binds_volume()).await;
    assert!(matches!(outcome, Outcome::Bound { .. }), "{outcome:?}");
    assert_eq!(volume["spec"]["claimRef"]["uid"], "c1");
}

#[tokio::test]
async fn a_volume_that_somebody_else_has_taken_fails_the_bind_by_name() {
    let mut world = World::default();
    let owner = json!({"namespace": "ns", "name": "other", "uid": "c9"});
    world.volume["spec"]["claimRef"] = owner.clone();
    let (outcome, volume, _, writes) = run(world, binds_volume()).await;
    assert_eq!(
        pre_bind_message(outcome),
        "binding volumes: claim ns/data: volume v has been taken by ns/other"
    );
    assert_eq!(volume["spec"]["claimRef"], owner);
    assert_eq!(writes, [""; 0]);
}

#[tokio::test]
async fn a_claim_that_is_not_bound_in_time_fails_the_bind_and_frees_its_volume() {
    let world = World {
        controllers: false,
        ..World::default()
    };
    let (outcome, volume, _, writes) = run(world, binds_volume()).await;
    assert_eq!(
        pre_bind_message(outcome),
        "binding volumes: claim ns/data is not bound after 300ms"
    );
    assert!(volume["spec"]["claimRef"].is_null());
    assert!(volume["metadata"]["annotations"][CONTROLLER].is_null());
    assert!(!writes.iter().any(|line| line.starts_with("POST")));
}

#[tokio::test]
async fn a_volume_that_is_bound_stays_bound_when_the_binding_is_refused() {
    let mut world = World {
        binding: 403,
        ..World::default()
    };
    world.volume["status"]["phase"] = json!("Bound");
    let (outcome, volume, ..) = run(world, binds_volume()).await;
    assert!(matches!(outcome, Outcome::BindFailed { .. }), "{outcome:?}");
    assert_eq!(volume["spec"]["claimRef"]["uid"], "c1");
}

#[tokio::test]
async fn a_claim_made_anew_or_on_its_way_to_another_node_fails_the_bind() {
    let mut anew = World::default();
    anew.claim["metadata"]["uid"] = json!("c2");
    let (outcome, ..) = run(anew, selects_node()).await;
    assert_eq!(
        pre_bind_message(outcome),
        "binding volumes: claim ns/data: it was made anew"
    );
    let mut elsewhere = World {
        controllers: false,
        ..World::default()
    };
    elsewhere.claim["metadata"]["annotations"] = json!({SELECTED: "n9"});
    let (outcome, ..) = run(elsewhere, selects_node()).await;
    assert_eq!(
        pre_bind_message(outcome),
        "binding volumes: claim ns/data: a volume is being provisioned for node n9"
    );
}

#[tokio::test]
async fn a_provisioner_that_gives_up_fails_the_bind_at_once() {
    let world = Arc::new(Mutex::new(World {
        controllers: false,
        ..World::default()
    }));
    let script = Arc::clone(&world);
    let gives_up = move |seen: &Seen| {
        let mut world = script.lock().unwrap();
        let answer = world.answer(seen);
        if seen.method == "PUT" {
            world.claim["metadata"]["annotations"] = json!({});
        }
        answer
    };
    let mut bench = Bench::new(gives_up).await;
    let Write::Bind(mut request) = bind() else {
        unreachable!("bind makes a bind");
    };
    request.volumes = Some(VolumeWork {
        pod: pod(),
        steps: vec![selects_node()],
        timeout: Duration::from_secs(600),
    });
    bench.effects.submit(Write::Bind(request));
    let message = pre_bind_message(bench.outcome().await);
    assert_eq!(message, "provisioning failed for PVC \"ns/data\"");
}
