//! Stands in for Volcano's PodGroup controller: PodGroups for pods that name none (spec/03 C1).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::rest::{Rest, is_status};
use crate::wait::runtime;

/// Pause between two rounds over all pods, each of which renews the lease.
const PAUSE: Duration = Duration::from_millis(300);

const GROUP_NAME: &str = "scheduling.k8s.io/group-name";

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/volcano-system/leases";

/// What the controller does, and when.
#[derive(Clone, Copy, Debug)]
pub struct PodGroupSetup {
    /// Makes a pod's PodGroup this long after it saw the pod; `None` never does.
    pub delay: Option<Duration>,
    /// Duration of its lease in seconds; `None` as with `--leader-elect=false`: it has none.
    pub lease_s: Option<u32>,
}

/// A task that renews the lease of Volcano's controllers and makes PodGroups. Ends when dropped.
pub struct PodGroupController {
    task: JoinHandle<()>,
}

impl PodGroupController {
    /// Starts to look after all pods.
    pub fn start(rest: Rest, setup: PodGroupSetup) -> Self {
        let task = runtime().spawn(async move {
            let mut seen: BTreeMap<String, Instant> = BTreeMap::new();
            for number in 1_u64.. {
                // Whatever fails is tried again in the next round.
                let _ = renew(&rest, setup, number).await;
                let _ = round(&rest, setup, &mut seen).await;
                tokio::time::sleep(PAUSE).await;
            }
        });
        Self { task }
    }
}

impl Drop for PodGroupController {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Makes or renews the lease. Its time is a stamp that nobody may compare with a clock.
async fn renew(rest: &Rest, setup: PodGroupSetup, number: u64) -> Result<()> {
    let Some(duration) = setup.lease_s else {
        return Ok(());
    };
    let (hour, minute, second) = (number / 3600 % 24, number / 60 % 60, number % 60);
    let renewed = format!("2001-01-01T{hour:02}:{minute:02}:{second:02}.000000Z");
    let spec = json!({
        "holderIdentity": "controller_1",
        "leaseDurationSeconds": duration,
        "renewTime": renewed,
    });
    let path = format!("{LEASES}/vc-controller-manager");
    let patch = json!({"spec": spec});
    match rest.send(Method::PATCH, &path, Some(&patch)).await {
        Err(error) if is_status(&error, 404) => {
            let lease = json!({
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": "vc-controller-manager"},
                "spec": spec,
            });
            rest.send(Method::POST, LEASES, Some(&lease)).await?;
        }
        other => {
            other?;
        }
    }
    Ok(())
}

async fn round(
    rest: &Rest,
    setup: PodGroupSetup,
    seen: &mut BTreeMap<String, Instant>,
) -> Result<()> {
    let Some(delay) = setup.delay else {
        return Ok(());
    };
    let mut pods: Value = rest.read("/api/v1/pods").await?;
    let Value::Array(pods) = pods["items"].take() else {
        return Ok(());
    };
    for pod in pods {
        let ours = pod["spec"]["schedulerName"] == "volcano";
        if !ours || !pod["metadata"]["annotations"][GROUP_NAME].is_null() {
            continue;
        }
        let uid = text(&pod["metadata"]["uid"]);
        let since = seen.entry(uid).or_insert_with(Instant::now);
        if since.elapsed() >= delay {
            join_group(rest, &pod).await?;
        }
    }
    Ok(())
}

/// Makes the PodGroup of a pod, if it is missing, and then the pod its member.
async fn join_group(rest: &Rest, pod: &Value) -> Result<()> {
    let namespace = text(&pod["metadata"]["namespace"]);
    let owners = pod["metadata"]["ownerReferences"].as_array();
    let mut owners = owners.into_iter().flatten();
    let owner = owners.find(|owner| owner["controller"] == true);
    let of = owner.map_or(&pod["metadata"]["uid"], |owner| &owner["uid"]);
    let name = format!("podgroup-{}", text(of));
    let minimum = match owner {
        Some(owner) => min_member(rest, &namespace, owner).await?,
        None => 1,
    };
    let request = &pod["spec"]["containers"][0]["resources"]["requests"]["cpu"];
    let cpus: u64 = text(request).parse().unwrap_or(0);
    let group = json!({
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "ownerReferences": pod["metadata"]["ownerReferences"]},
        "spec": {"minMember": minimum, "minResources": {"cpu": (cpus * minimum).to_string()}},
        "status": {"phase": "Pending"},
    });
    let groups = format!("/apis/scheduling.volcano.sh/v1beta1/namespaces/{namespace}/podgroups");
    match rest.send(Method::POST, &groups, Some(&group)).await {
        Err(error) if is_status(&error, 409) => {}
        other => {
            other?;
        }
    }
    let pod = format!(
        "/api/v1/namespaces/{namespace}/pods/{}",
        text(&pod["metadata"]["name"])
    );
    let patch = json!({"metadata": {"annotations": {GROUP_NAME: name}}});
    rest.send(Method::PATCH, &pod, Some(&patch)).await?;
    Ok(())
}

/// What the owner of a pod says its gang needs.
async fn min_member(rest: &Rest, namespace: &str, owner: &Value) -> Result<u64> {
    let (api, plural) = match owner["kind"].as_str() {
        Some("Job") => ("batch/v1", "jobs"),
        Some("ReplicaSet") => ("apps/v1", "replicasets"),
        Some("StatefulSet") => ("apps/v1", "statefulsets"),
        _ => return Ok(1),
    };
    let name = text(&owner["name"]);
    let path = format!("/apis/{api}/namespaces/{namespace}/{plural}/{name}");
    let owner = rest.send(Method::GET, &path, None).await?;
    let minimum = &owner["metadata"]["annotations"]["scheduling.volcano.sh/group-min-member"];
    Ok(text(minimum).parse().unwrap_or(1))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
