//! Resource claims before a Binding, against an API server that keeps one.

use std::sync::{Arc, Mutex};

use pumice_claims::{AllocatedDevice, DeviceAllocation, DeviceKey};
use pumice_model::claim::ClaimGroup;
use pumice_model::object::{ClaimAllocation, NodeTerm, WrittenClaim};
use pumice_model::{ClaimReturn, ClaimStep};

use super::*;

const PROTECTION: &str = "resource.kubernetes.io/delete-protection";
const CLAIM: &str = "PUT /apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/gpu";

/// A claim, and what the Binding says.
struct World {
    claim: Value,
    binding: u16,
    conflicts: u32,
    /// So often another bind, which fails, takes the finalizer away before the status is read.
    unprotections: u32,
    /// Writes that fail once the Binding was refused.
    failures: u32,
    is_refused: bool,
    /// Where another scheduler has bound the pod.
    bound_to: &'static str,
}

impl World {
    fn with(status: Value) -> Self {
        Self {
            claim: json!({
                "metadata": {"name": "gpu", "namespace": "ns", "uid": "c1", "resourceVersion": "3"},
                "spec": {"devices": {}},
                "status": status,
            }),
            binding: 201,
            conflicts: 0,
            unprotections: 0,
            failures: 0,
            is_refused: false,
            bound_to: "",
        }
    }

    fn answer(&mut self, seen: &Seen) -> Answer {
        let is_write = seen.method == "PUT";
        if is_write && self.conflicts > 0 {
            self.conflicts -= 1;
            return Answer::refuse(409, "the object has been modified");
        }
        if is_write && self.is_refused && self.failures > 0 {
            self.failures -= 1;
            return Answer::refuse(500, "etcdserver: no leader");
        }
        match &seen.path {
            path if path.ends_with("/binding") => {
                self.is_refused = self.binding >= 400;
                Answer::Json(self.binding, json!({}))
            }
            path if path.contains("/pods/") => Answer::Json(200, pod_json("u1", self.bound_to)),
            path => {
                // The status is written by its subresource only, and nothing else is written there.
                if is_write && path.ends_with("/status") {
                    self.claim["status"] = seen.body["status"].clone();
                } else if is_write {
                    self.claim["metadata"] = seen.body["metadata"].clone();
                    if self.unprotections > 0 {
                        self.unprotections -= 1;
                        self.claim["metadata"]["finalizers"] = json!([]);
                    }
                }
                Answer::Json(200, json!({"items": [self.claim]}))
            }
        }
    }
}

fn step(allocates: bool) -> ClaimStep {
    let device = AllocatedDevice {
        request: "gpu".to_owned(),
        key: DeviceKey {
            driver: "d".to_owned(),
            pool: "n1".to_owned(),
            device: "g0".to_owned(),
        },
        ..AllocatedDevice::default()
    };
    let term = NodeTerm {
        fields: vec![(true, "n1".to_owned())],
        ..NodeTerm::default()
    };
    let allocation = ClaimAllocation {
        devices: DeviceAllocation {
            devices: vec![device],
            config: Vec::new(),
        },
        nodes: Some(vec![term]),
    };
    ClaimStep {
        namespace: "ns".to_owned(),
        claim: "gpu".to_owned(),
        claim_uid: "c1".to_owned(),
        group: None,
        allocation: allocates.then(|| Box::new(allocation.clone())),
        known: (!allocates).then(|| Box::new(allocation)),
    }
}

fn given() -> Value {
    json!({
        "devices": {"results": [
            {"request": "gpu", "driver": "d", "pool": "n1", "device": "g0"},
        ]},
        "nodeSelector": {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
        ]},
    })
}

fn user(uid: &str) -> Value {
    json!({"resource": "pods", "name": "p", "uid": uid})
}

/// The claim is the group's.
fn of_group(step: ClaimStep) -> ClaimStep {
    let group = ClaimGroup {
        name: "train".to_owned(),
        uid: "group-1".to_owned(),
    };
    ClaimStep {
        group: Some(group),
        ..step
    }
}

fn group_entry(uid: &str) -> Value {
    json!({"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "train", "uid": uid})
}

#[tokio::test]
async fn a_claim_of_a_group_is_reserved_for_the_group_once() {
    let (outcome, claim, writes) = run(World::with(Value::Null), of_group(step(true))).await;
    assert!(matches!(outcome, Outcome::Bound { .. }), "{outcome:?}");
    assert_eq!(claim["metadata"]["finalizers"], json!([PROTECTION]));
    assert_eq!(claim["status"]["allocation"], given());
    assert_eq!(
        claim["status"]["reservedFor"],
        json!([group_entry("group-1")])
    );
    assert_eq!(writes.len(), 3, "{writes:?}");
    // The other pods of the group write nothing, whether they know of that or not.
    for allocates in [true, false] {
        let users = json!([user("u0"), group_entry("group-1")]);
        let before = json!({"allocation": given(), "reservedFor": users});
        let mut world = World::with(before.clone());
        world.claim["metadata"]["finalizers"] = json!([PROTECTION]);
        let (outcome, claim, writes) = run(world, of_group(step(allocates))).await;
        assert!(matches!(outcome, Outcome::Bound { .. }), "{outcome:?}");
        assert_eq!(claim["status"], before);
        assert_eq!(writes, ["POST /api/v1/namespaces/ns/pods/p/binding"]);
    }
    // Another group of that name, or another pod, has it too.
    let others = json!([user("u0"), group_entry("group-0")]);
    let before = json!({"allocation": given(), "reservedFor": others});
    let (_, claim, _) = run(World::with(before), of_group(step(false))).await;
    let all = json!([user("u0"), group_entry("group-0"), group_entry("group-1")]);
    assert_eq!(claim["status"]["reservedFor"], all);
}

#[tokio::test]
async fn a_failed_bind_leaves_the_claim_with_its_group_and_says_so_first() {
    let mut world = World::with(Value::Null);
    world.binding = 422;
    let (outcomes, claim, _) = run_to_the_end(world, of_group(step(true))).await;
    assert_eq!(claim["status"]["allocation"], given());
    assert_eq!(
        claim["status"]["reservedFor"],
        json!([group_entry("group-1")])
    );
    let left = WrittenClaim {
        namespace: "ns".to_owned(),
        claim: "gpu".to_owned(),
        version: 3,
    };
    let [first, last] = &outcomes[..] else {
        panic!("{outcomes:?}");
    };
    assert_eq!(*first, Outcome::ClaimsLeft { claims: vec![left] });
    assert!(matches!(last, Outcome::BindFailed { .. }), "{last:?}");
    // One that wrote nothing leaves nothing: another scheduler gave other devices.
    let mut other = given();
    other["devices"]["results"][0]["device"] = json!("g1");
    let before = json!({"allocation": other, "reservedFor": [user("u0")]});
    let (outcomes, claim, _) =
        run_to_the_end(World::with(before.clone()), of_group(step(true))).await;
    assert_eq!(claim["status"], before);
    assert_eq!(outcomes.len(), 1, "{outcomes:?}");
}

/// Binds the pod; what came of it, the claim after it, and the writes.
async fn run(world: World, step: ClaimStep) -> (Outcome, Value, Vec<String>) {
    let (mut outcomes, claim, writes) = run_to_the_end(world, step).await;
    let outcome = outcomes.pop().expect("an outcome");
    assert!(outcomes.is_empty(), "{outcomes:?}");
    (outcome, claim, writes)
}

/// Binds the pod; all that is told of it, the claim after it, and the writes.
async fn run_to_the_end(world: World, step: ClaimStep) -> (Vec<Outcome>, Value, Vec<String>) {
    let world = Arc::new(Mutex::new(world));
    let script = Arc::clone(&world);
    let mut options = options();
    options.bind_timeout = Duration::from_millis(300);
    let script = move |seen: &Seen| script.lock().unwrap().answer(seen);
    let mut bench = Bench::with(script, options, TermWatch::always()).await;
    let Write::Bind(mut request) = bind() else {
        unreachable!("bind makes a bind");
    };
    request.claims = vec![step];
    let (first, writes) = bench.carry_out(Write::Bind(request)).await;
    let mut outcomes = vec![first];
    if matches!(outcomes[0], Outcome::ClaimsLeft { .. }) {
        outcomes.push(bench.outcome().await);
    }
    let claim = world.lock().unwrap().claim.clone();
    (outcomes, claim, writes)
}

#[tokio::test]
async fn a_claim_is_protected_allocated_and_reserved_before_the_binding() {
    let mut world = World::with(Value::Null);
    world.conflicts = 1;
    let (outcome, claim, writes) = run(world, step(true)).await;
    assert!(matches!(outcome, Outcome::Bound { .. }), "{outcome:?}");
    assert_eq!(claim["metadata"]["finalizers"], json!([PROTECTION]));
    assert_eq!(claim["status"]["allocation"], given());
    assert_eq!(claim["status"]["reservedFor"], json!([user("u1")]));
    let status = format!("{CLAIM}/status");
    let binding = "POST /api/v1/namespaces/ns/pods/p/binding".to_owned();
    assert_eq!(
        writes,
        [CLAIM.to_owned(), CLAIM.to_owned(), status, binding]
    );
}

#[tokio::test]
async fn a_claim_with_devices_lets_the_pod_in() {
    let world = World::with(json!({"allocation": given(), "reservedFor": [user("u0")]}));
    let (outcome, claim, writes) = run(world, step(false)).await;
    assert!(matches!(outcome, Outcome::Bound { .. }), "{outcome:?}");
    assert_eq!(
        claim["status"]["reservedFor"],
        json!([user("u0"), user("u1")])
    );
    assert_eq!(writes.len(), 2, "{writes:?}");
}

#[tokio::test]
async fn what_a_bind_gave_is_given_back_when_it_fails() {
    let mut world = World::with(Value::Null);
    world.binding = 422;
    let (outcome, claim, _) = run(world, step(true)).await;
    assert!(matches!(outcome, Outcome::BindFailed { .. }), "{outcome:?}");
    assert_eq!(claim["status"], json!({}));
    assert_eq!(claim["metadata"]["finalizers"], json!([]));
}

#[tokio::test]
async fn a_bind_has_not_failed_before_what_it_gave_is_given_back() {
    let mut world = World::with(Value::Null);
    // Longer than a bind may last.
    (world.binding, world.failures) = (422, 4);
    let (outcome, claim, _) = run(world, step(true)).await;
    assert!(matches!(outcome, Outcome::BindFailed { .. }), "{outcome:?}");
    assert_eq!(claim["status"], json!({}));
}

#[tokio::test]
async fn no_claim_gets_devices_while_its_finalizer_is_away() {
    let mut world = World::with(Value::Null);
    world.unprotections = 2;
    let (outcome, claim, _) = run(world, step(true)).await;
    assert!(matches!(outcome, Outcome::Bound { .. }), "{outcome:?}");
    assert_eq!(claim["metadata"]["finalizers"], json!([PROTECTION]));
    assert_eq!(claim["status"]["allocation"], given());
}

#[tokio::test]
async fn the_last_pod_that_a_failed_bind_takes_out_takes_the_devices_with_it() {
    let mut world = World::with(json!({"allocation": given(), "reservedFor": []}));
    world.claim["metadata"]["finalizers"] = json!([PROTECTION]);
    world.binding = 422;
    let (outcome, claim, _) = run(world, step(false)).await;
    assert!(matches!(outcome, Outcome::BindFailed { .. }), "{outcome:?}");
    assert_eq!(claim["status"], json!({}));
    assert_eq!(claim["metadata"]["finalizers"], json!([]));
}

#[tokio::test]
async fn what_others_use_stays_when_a_bind_fails() {
    let mut world = World::with(json!({"allocation": given(), "reservedFor": [user("u0")]}));
    world.binding = 422;
    let (outcome, claim, _) = run(world, step(true)).await;
    assert!(matches!(outcome, Outcome::BindFailed { .. }), "{outcome:?}");
    assert_eq!(claim["status"]["allocation"], given());
    assert_eq!(claim["status"]["reservedFor"], json!([user("u0")]));
}

#[tokio::test]
async fn what_another_one_wrote_meanwhile_ends_the_bind() {
    let mut other = given();
    other["devices"]["results"][0]["device"] = json!("g1");
    let before = json!({"allocation": other, "reservedFor": [user("u0")]});
    let (outcome, claim, _) = run(World::with(before.clone()), step(true)).await;
    let text = pre_bind_message(outcome);
    assert!(
        text.contains("claim ns/gpu: it has been given other devices"),
        "{text}"
    );
    assert_eq!(claim["status"], before);
    let (outcome, claim, _) = run(World::with(before.clone()), step(false)).await;
    let text = pre_bind_message(outcome);
    assert!(text.contains("it has been given other devices"), "{text}");
    assert_eq!(claim["status"], before);
    let (outcome, _, _) = run(World::with(Value::Null), step(false)).await;
    let text = pre_bind_message(outcome);
    assert!(text.contains("its devices have been taken back"), "{text}");
}

#[tokio::test]
async fn what_another_scheduler_gave_the_pod_that_it_binds_stays() {
    let mut other = given();
    other["devices"]["results"][0]["device"] = json!("g1");
    let before = json!({"allocation": other, "reservedFor": [user("u1")]});
    let (outcome, claim, _) = run(World::with(before.clone()), step(true)).await;
    let text = pre_bind_message(outcome);
    assert!(text.contains("it has been given other devices"), "{text}");
    assert_eq!(claim["status"], before);

    let before = json!({"allocation": given(), "reservedFor": [user("u1")]});
    let mut world = World::with(before.clone());
    (world.binding, world.bound_to) = (409, "n9");
    let (outcome, claim, _) = run(world, step(false)).await;
    let is_elsewhere = matches!(
        outcome,
        Outcome::BindFailed {
            failure: BindFailure::BoundElsewhere(_),
            ..
        }
    );
    assert!(is_elsewhere, "{outcome:?}");
    assert_eq!(claim["status"], before);
}

#[tokio::test]
async fn devices_are_given_back_of_the_claim_that_was_decided_about() {
    let decided = ClaimReturn {
        namespace: "ns".to_owned(),
        claim: "gpu".to_owned(),
        claim_uid: "c1".to_owned(),
        version: 3,
    };
    let left = || World::with(json!({"allocation": given(), "reservedFor": [user("u1")]}));
    // What fails for a while is tried on.
    let mut world = left();
    (world.is_refused, world.failures) = (true, 2);
    let world = Arc::new(Mutex::new(world));
    let script = Arc::clone(&world);
    let server = Server::start(move |seen: &Seen| script.lock().unwrap().answer(seen)).await;
    crate::effects::claims::return_devices(shared(&server), decided.clone()).await;
    assert_eq!(world.lock().unwrap().claim["status"], json!({}));
    // Another version, another claim of that name, or none: nothing is written.
    for (change, why) in [
        (json!({"resourceVersion": "4"}), "it has changed meanwhile"),
        (json!({"uid": "c2"}), "it was made anew"),
    ] {
        let mut world = left();
        for (key, value) in change.as_object().expect("a map") {
            world.claim["metadata"][key] = value.clone();
        }
        let mut bench = Bench::new(move |seen: &Seen| world.answer(seen)).await;
        let (outcome, writes) = bench.carry_out(Write::ReturnDevices(decided.clone())).await;
        let expected = Outcome::DevicesKept {
            claim: decided.clone(),
            message: why.to_owned(),
        };
        assert_eq!(outcome, expected);
        assert_eq!(writes, Vec::<String>::new());
    }
}
