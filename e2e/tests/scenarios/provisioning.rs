//! Room for all pods of a Job or of a PodGroup, asked of Cluster Autoscaler by a ProvisioningRequest.

use anyhow::{Context, Result, ensure};
use http::Method;
use pumice_e2e::{
    Controllers, Lab, LabGuard, NodeShape, Scheduler, Setup, create_nodes, eventually, member,
    pod_group,
};
use serde_json::{Value, json};

use crate::autoscaling::{by_capability, create_queue};
use crate::controllers::{JOBS, events, job};
use crate::native::{make_gang, native_member};
use crate::{GROUPS, LIMIT, LONG, PODS, QUIET, bare_pod, wait_bound};

const REQUESTS: &str = "/apis/autoscaling.x-k8s.io/v1/namespaces/default/provisioningrequests";
const CLASS: &str = "best-effort-atomic-scale-up.autoscaling.x-k8s.io";

/// The fields of a ProvisioningRequest, with what an API server that has Cluster Autoscaler's definition refuses of them.
const DEFINITION: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: provisioningrequests.autoscaling.x-k8s.io}
spec:
  group: autoscaling.x-k8s.io
  names: {kind: ProvisioningRequest, listKind: ProvisioningRequestList, plural: provisioningrequests, singular: provisioningrequest}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [provisioningClassName, podSets]
            properties:
              provisioningClassName: {type: string, maxLength: 253}
              parameters: {type: object, additionalProperties: {type: string, maxLength: 255}}
              podSets:
                type: array
                minItems: 1
                maxItems: 32
                x-kubernetes-validations:
                - {rule: self == oldSelf, message: Value is immutable}
                items:
                  type: object
                  required: [count, podTemplateRef]
                  properties:
                    count: {type: integer, format: int32, minimum: 1}
                    podTemplateRef: {type: object, properties: {name: {type: string, maxLength: 253}}}
          status:
            type: object
            properties:
              conditions:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [type]
                items:
                  type: object
                  required: [type, status, reason, message, lastTransitionTime]
                  properties:
                    type: {type: string}
                    status: {type: string}
                    reason: {type: string}
                    message: {type: string}
                    lastTransitionTime: {type: string, format: date-time}
              provisioningClassDetails: {type: object, additionalProperties: {type: string}}
";

/// A Job of pods of four cores in a queue that asks by this class.
fn asking(name: &str, queue: &str, class: &str) -> Value {
    let mut job = job(name, 3);
    job["metadata"]["annotations"] = json!({"pumice.sh/provisioning-class": class});
    job["spec"]["queue"] = json!(queue);
    let container = &mut job["spec"]["tasks"][0]["template"]["spec"]["containers"][0];
    container["resources"]["requests"] = json!({"cpu": "4"});
    job
}

/// Whether the Job was told something by an event.
fn is_told(lab: &LabGuard, job: &str, words: &str) -> Result<Option<()>> {
    let events = events(lab, job)?;
    let mut told = events.iter();
    let is_told = told.any(|line| line.starts_with("Provisioning: ") && line.contains(words));
    Ok(is_told.then_some(()))
}

/// The autoscaler says something of a request.
fn answer(lab: &LabGuard, request: &Value, condition: &str, message: &str) -> Result<()> {
    let name = request["metadata"]["name"].as_str().context("a name")?;
    let path = format!("{REQUESTS}/{name}");
    let mut request = lab.rest().get(&path)?;
    let now = jiff::Timestamp::now().to_string();
    let told = json!({"type": condition, "status": "True", "reason": condition, "message": message,
        "lastTransitionTime": now});
    let known = request["status"]["conditions"].as_array().cloned();
    request["status"]["conditions"] = json!([known.unwrap_or_default(), vec![told]].concat());
    let status = format!("{path}/status");
    lab.rest().call(Method::PUT, &status, Some(&request))?;
    Ok(())
}

/// A pod of a PodGroup that asks for its room with the others.
fn joining(mut pod: Value, class: &str) -> Value {
    pod["metadata"]["annotations"]["pumice.sh/provisioning-class"] = json!(class);
    pod["spec"]["containers"][0]["resources"]["requests"] = json!({"cpu": "4"});
    pod
}

/// The request is for so many pods of four cores, written as the autoscaler reads it, and all pods whose names begin so are
/// those that it is for.
fn is_whole(lab: &LabGuard, request: &Value, (count, pods): (usize, &str)) -> Result<()> {
    let sets = request["spec"]["podSets"].as_array().context("sets")?;
    ensure!(sets.len() == 1 && sets[0]["count"] == count, "{request}");
    let template = sets[0]["podTemplateRef"]["name"].as_str();
    let template = template.context("a template")?;
    let path = format!("/api/v1/namespaces/default/podtemplates/{template}");
    let template = lab.rest().get(&path)?;
    let container = &template["template"]["spec"]["containers"][0];
    ensure!(
        container["resources"]["requests"]["cpu"] == "4",
        "{template}"
    );
    let mut all = lab.rest().list(PODS)?;
    all.retain(|pod| {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        name.starts_with(pods)
    });
    ensure!(all.len() == count, "{all:?}");
    for pod in all {
        let annotations = &pod["metadata"]["annotations"];
        let consumed = &annotations["autoscaling.x-k8s.io/consume-provisioning-request"];
        ensure!(*consumed == request["metadata"]["name"], "{pod}");
        let class = &annotations["autoscaling.x-k8s.io/provisioning-class-name"];
        ensure!(*class == CLASS, "{pod}");
    }
    Ok(())
}

#[test]
fn a_gang_gets_its_nodes_by_one_request_and_what_a_queue_holds_back_asks_for_none() -> Result<()> {
    let lab = Lab::take()?;
    lab.cluster().apply(DEFINITION)?;
    lab.nodes(1, "1", "4Gi")?;
    create_queue(&lab, "default", "100")?;
    create_queue(&lab, "small", "8")?;
    let controllers = Controllers::start(lab.cluster(), &Setup::default())?;
    let scheduler = Scheduler::start(lab.cluster(), &by_capability()?)?;
    for job in [
        asking("train", "default", CLASS),
        asking("held", "small", CLASS),
        asking("wrong", "default", "Check Capacity"),
    ] {
        lab.rest().create(JOBS, &job)?;
    }
    let request = controllers.eventually(LONG, "room is asked for", || {
        Ok(lab.rest().list(REQUESTS).unwrap_or_default().pop())
    })?;
    is_whole(&lab, &request, (3, "train-"))?;
    eventually(LIMIT, "the Job is told of it", || {
        is_told(&lab, "train", "asks for room for 3 pods at once")
    })?;
    eventually(LIMIT, "a wrong class is told", || {
        is_told(&lab, "wrong", "\"Check Capacity\" is no name of a class")
    })?;
    answer(&lab, &request, "Accepted", "is looked at")?;
    eventually(LIMIT, "the Job is told that it is looked at", || {
        is_told(&lab, "train", "waits (Accepted): is looked at")
    })?;
    let shape = NodeShape {
        cpu: "4",
        memory: "64Gi",
        ..NodeShape::default()
    };
    answer(&lab, &request, "Provisioned", "three nodes come")?;
    create_nodes(lab.rest(), "bought", 3, &shape)?;
    wait_bound(&lab, &scheduler, "train-", 3)?;
    eventually(LIMIT, "the Job is told that it has its room", || {
        is_told(&lab, "train", "has its room: three nodes come")
    })?;
    std::thread::sleep(QUIET);
    let all = lab.rest().list(REQUESTS)?;
    ensure!(all.len() == 1, "one scale-up for the gang: {all:?}");
    Ok(())
}

/// Makes a ReplicaSet of two pods that name no PodGroup; the name of the one that our controllers make for them.
fn make_owned(lab: &LabGuard) -> Result<String> {
    let labels = json!({"app": "serve"});
    let mut template = joining(bare_pod("serve", None), CLASS);
    template["metadata"]["labels"] = labels.clone();
    let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "serve"},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}});
    let sets = "/apis/apps/v1/namespaces/default/replicasets";
    lab.rest().create(sets, &owner)?;
    let owner = lab.rest().get(&format!("{sets}/serve"))?;
    let uid = owner["metadata"]["uid"].as_str().context("a UID")?;
    Ok(format!("podgroup-{uid}"))
}

#[test]
fn pods_of_volcanos_and_kubernetes_groups_get_their_nodes_by_one_request_each() -> Result<()> {
    let lab = Lab::take()?;
    lab.cluster().apply(DEFINITION)?;
    lab.nodes(1, "1", "4Gi")?;
    create_queue(&lab, "default", "100")?;
    lab.cluster().install_policies()?;
    let controllers = Controllers::start(lab.cluster(), &Setup::default())?;
    let scheduler = Scheduler::start(lab.cluster(), &by_capability()?)?;
    let ray = pod_group("ray", &json!({"minMember": 2, "queue": "default"}));
    lab.rest().create(GROUPS, &ray)?;
    make_gang(&lab, "rank", 2)?;
    for at in 0..2 {
        let pods = [
            member(&format!("ray-{at}"), "ray"),
            native_member(&format!("rank-{at}"), "rank"),
        ];
        for pod in pods {
            lab.rest().create(PODS, &joining(pod, CLASS))?;
        }
    }
    let serve = make_owned(&lab)?;
    let wrong = joining(member("wrong", "ray"), "Check Capacity");
    lab.rest().create(PODS, &wrong)?;
    let mut requests = controllers.eventually(LONG, "room is asked for, for each", || {
        let all = lab.rest().list(REQUESTS).unwrap_or_default();
        Ok((all.len() == 3).then_some(all))
    })?;
    requests.sort_by_key(|request| request["metadata"]["name"].to_string());
    let volcano = "scheduling.volcano.sh/v1beta1";
    let expected = [
        (&*serve, "serve-", volcano),
        ("rank", "rank-", "scheduling.k8s.io/v1beta1"),
        ("ray", "ray-", volcano),
    ];
    for (request, (name, pods, version)) in requests.iter().zip(expected) {
        let metadata = &request["metadata"];
        let owner = &metadata["ownerReferences"][0];
        ensure!(
            metadata["name"] == name && owner["apiVersion"] == version,
            "{request}"
        );
        is_whole(&lab, request, (2, pods))?;
    }
    eventually(LIMIT, "the PodGroup is told of it", || {
        is_told(&lab, "rank", "asks for room for 2 pods at once")
    })?;
    eventually(LIMIT, "a wrong class is told", || {
        is_told(&lab, "ray", "\"Check Capacity\" is no name of a class")
    })?;
    let shape = NodeShape {
        cpu: "4",
        memory: "64Gi",
        ..NodeShape::default()
    };
    for request in &requests {
        answer(&lab, request, "Provisioned", "two nodes come")?;
    }
    create_nodes(lab.rest(), "bought", 7, &shape)?;
    wait_bound(&lab, &scheduler, "ray-", 2)?;
    wait_bound(&lab, &scheduler, "rank-", 2)?;
    wait_bound(&lab, &scheduler, "serve-", 2)?;
    std::thread::sleep(QUIET);
    let all = lab.rest().list(REQUESTS)?;
    ensure!(all.len() == 3, "one scale-up for each gang: {all:?}");
    Ok(())
}
