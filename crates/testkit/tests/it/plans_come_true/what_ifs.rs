//! Pods that claim devices: what is thought to be gone or moved frees what it has, and what comes in its place is given
//! devices of its own.

use pumice_claims::{ClaimRequest, ClaimSpec, DeviceCount, DraDevice, RequestedDevices};
use pumice_fixtures::Cluster;
use pumice_model::Delta;
use pumice_model::object::{
    DeviceClassObject, NodeAccess, PodResourceClaim, PublishedDevice, ResourceClaimObject,
    SliceObject,
};
use pumice_plan::{
    PlanBounds, PlanOutcome, PlanQuestion, PlanView, PlannedJob, WhatIf, WhenAbout, answer, when,
};

use super::{ASKED_S, MAX_CYCLES, Quiet};
use crate::run;

const CONF: &str = "
actions: \"enqueue, allocate, backfill\"
tiers: [{plugins: [{name: gang}, {name: predicates}]}]
";

/// Pods on nodes of which each has one device, and a gang that waits.
const CLUSTER: &str = "
node n1 8c 32Gi pods=20
node n2 8c 32Gi pods=20
group a
pod a 1c group:a made runs:100s
group b
pod b 1c group:b made
group w
pod w 1c group:w created:5
";

fn device_of(node: &str) -> Delta {
    let device = DraDevice {
        name: "gpu-0".to_owned(),
        ..DraDevice::default()
    };
    let access = NodeAccess::Nowhere;
    Delta::SliceApply(Box::new(SliceObject {
        name: format!("gpus-{node}"),
        driver: "gpu.example.com".to_owned(),
        pool: node.to_owned(),
        generation: 1,
        slice_count: 1,
        access: NodeAccess::Node(node.to_owned()),
        devices: vec![PublishedDevice { device, access }],
        counters: Vec::new(),
    }))
}

/// Asks for one device.
fn one() -> ClaimSpec {
    let choice = RequestedDevices {
        name: String::new(),
        class: "gpu".to_owned(),
        selectors: Vec::new(),
        count: DeviceCount::Exactly(1),
        admin_access: false,
        tolerations: Vec::new(),
        capacity: Default::default(),
    };
    let request = ClaimRequest {
        name: "r0".to_owned(),
        choices: vec![choice],
    };
    ClaimSpec {
        requests: vec![request],
        ..ClaimSpec::default()
    }
}

/// Every pod of a text claims one device, by a template of which the claim is made.
fn claiming(text: &str) -> Vec<Delta> {
    let mut objects = Cluster::of(text).0;
    let mut claims = Vec::new();
    for object in &mut objects {
        let Delta::PodApply(pod) = object else {
            continue;
        };
        let name = format!("{}-c0", pod.name);
        claims.push(Delta::ResourceClaimApply(Box::new(ResourceClaimObject {
            namespace: pod.namespace.clone(),
            name: name.clone(),
            uid: format!("claim-{name}"),
            owner_uid: pod.uid.clone(),
            spec: one(),
            version: 1,
            ..ResourceClaimObject::default()
        })));
        pod.resource_claims.push(PodResourceClaim {
            entry: "c0".to_owned(),
            claim: Some(name),
            template: Some("one".to_owned()),
        });
    }
    [objects, claims].concat()
}

/// The cluster at rest.
fn quiet() -> Quiet {
    let class = DeviceClassObject {
        name: "gpu".to_owned(),
        ..DeviceClassObject::default()
    };
    let class = Delta::DeviceClassApply(Box::new(class));
    let devices = vec![class, device_of("n1"), device_of("n2")];
    let mut quiet = Quiet::new(&run::config(CONF), &[devices, claiming(CLUSTER)].concat());
    let happened = quiet
        .settle(ASKED_S - MAX_CYCLES)
        .expect("it comes to rest");
    let placed: Vec<&str> = happened.placed.keys().map(String::as_str).collect();
    assert_eq!(placed, ["ns/a", "ns/b"]);
    quiet
}

fn ask(quiet: &mut Quiet, question: &PlanQuestion) -> PlanView {
    let bounds = PlanBounds::default();
    let (fork, config) = (quiet.engine.fork(), run::config(CONF));
    answer(fork, &config, question, ASKED_S, bounds, &|| true).expect("a plan")
}

fn job(name: &str) -> PlannedJob {
    PlannedJob {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
    }
}

fn what_if(quiet: &mut Quiet, what_if: WhatIf) -> PlanView {
    ask(
        quiet,
        &PlanQuestion {
            what_ifs: vec![what_if],
            about: vec![job("w")],
            ..PlanQuestion::default()
        },
    )
}

#[test]
fn a_job_that_is_gone_leaves_its_devices() {
    let view = what_if(&mut quiet(), WhatIf::Remove(job("a")));
    assert_eq!(view.outcome, PlanOutcome::Runs, "{view:#?}");
    assert_eq!(view.jobs[0].pods[0].node, "n1");
}

#[test]
fn the_end_of_a_job_with_devices_is_told_to_be_enough() {
    let question = PlanQuestion {
        about: vec![job("w")],
        ..PlanQuestion::default()
    };
    let view = ask(&mut quiet(), &question);
    assert_eq!(view.outcome, PlanOutcome::Waits);
    let told: Vec<String> = view.remedies.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["the end of ns/a (1 pod)", "1 node more like n1"]);
}

#[test]
fn a_node_more_has_such_devices_too() {
    let more = WhatIf::AddNodes {
        count: 1,
        like: "n1".to_owned(),
    };
    let view = what_if(&mut quiet(), more);
    assert_eq!(view.outcome, PlanOutcome::Runs, "{view:#?}");
    assert_eq!(view.jobs[0].pods[0].node, "n1-more-1");
}

#[test]
fn a_pod_of_a_drained_node_claims_devices_anew_where_there_are_some() {
    let mut quiet = quiet();
    let of_drained = |view: &PlanView| {
        let mut jobs = view.jobs.iter();
        let again = jobs
            .find(|one| one.job == "ns/a")
            .expect("it is asked about");
        again.pods.first().map(|pod| pod.node.clone())
    };
    let view = what_if(&mut quiet, WhatIf::Drain("n1".to_owned()));
    assert_eq!(of_drained(&view), None);
    let third = "node n3 8c 32Gi pods=20";
    quiet.take(&[Cluster::of(third).0, vec![device_of("n3")]].concat());
    let happened = quiet.settle(ASKED_S).expect("it comes to rest");
    assert_eq!(happened.placed.values().collect::<Vec<_>>(), ["n3"]);
    quiet.take(
        &[
            Cluster::of(&third.replace("n3", "n4")).0,
            vec![device_of("n4")],
        ]
        .concat(),
    );
    let view = what_if(&mut quiet, WhatIf::Drain("n1".to_owned()));
    assert_eq!(of_drained(&view).as_deref(), Some("n4"), "{view:#?}");
}

#[test]
fn who_waits_for_devices_starts_when_the_pod_ends_that_has_them() {
    let mut quiet = quiet();
    let runs = quiet.pods.values().find(|pod| pod.name == "a");
    let mut runs = runs.cloned().expect("it is there");
    runs.scheduled_s = Some(ASKED_S - 40);
    quiet.take(&[Delta::PodApply(Box::new(runs))]);
    let about = WhenAbout::Job(job("w"));
    let (fork, config, bounds) = (
        quiet.engine.fork(),
        run::config(CONF),
        PlanBounds::default(),
    );
    let view = when(fork, &config, &about, ASKED_S, bounds, [&|| true, &|| true]);
    let view = view.expect("a job").jobs.remove(0);
    let start = view.expected.expect("somebody says when");
    assert_eq!((start.in_s, &*start.nodes[0]), (60, "n1"));
}

/// Who gives manifests of what is there already does not take its devices away.
#[test]
fn a_claim_that_is_asked_about_again_keeps_its_devices() {
    let mut quiet = quiet();
    let mut objects = claiming(CLUSTER);
    objects.retain(|object| match object {
        Delta::ResourceClaimApply(claim) => claim.name != "w-c0",
        _ => false,
    });
    let question = PlanQuestion {
        objects,
        about: vec![job("w")],
        ..PlanQuestion::default()
    };
    assert_eq!(ask(&mut quiet, &question).outcome, PlanOutcome::Waits);
}
