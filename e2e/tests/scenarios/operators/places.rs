//! Nodes of one CPU, of which every operator has its own.

use anyhow::{Context, Result};
use http::Method;
use pumice_e2e::{NodeShape, Rest};
use serde_json::{Value, json};

const NODES: &str = "/api/v1/nodes";

const QUEUES: &str = "/apis/scheduling.volcano.sh/v1beta1/queues";

/// Label of nodes by which pods choose their pool.
pub(super) const POOL: &str = "pool";

/// The nodes of one pool, and the queue of its pods.
pub(super) struct NodePool {
    rest: Rest,
    pool: &'static str,
    made: usize,
}

impl NodePool {
    /// A pool without nodes.
    pub(super) fn new(rest: Rest, pool: &'static str) -> Self {
        let made = 0;
        Self { rest, pool, made }
    }

    /// CPUs that no pod may have, so that no queue is short of what it deserves for the sake of others.
    pub(super) fn spare(rest: &Rest) -> Result<()> {
        let shape = NodeShape {
            cpu: "1000",
            memory: "1000Gi",
            ..NodeShape::default()
        };
        let mut node = shape.object("spare");
        node["spec"]["taints"] = json!([{"key": "spare", "effect": "NoSchedule"}]);
        rest.create(NODES, &node).map(|_| ())
    }

    /// Adds places.
    pub(super) fn add(&mut self, count: usize) -> Result<()> {
        let shape = NodeShape {
            cpu: "1",
            memory: "8Gi",
            labels: vec![(POOL, self.pool.to_owned())],
            ..NodeShape::default()
        };
        for _ in 0..count {
            let name = format!("{}-{}", self.pool, self.made);
            self.rest.create(NODES, &shape.object(&name))?;
            self.made += 1;
        }
        Ok(())
    }

    /// Takes away the places that none of these nodes is.
    pub(super) fn keep_only(&self, used: &[String]) -> Result<()> {
        for at in 0..self.made {
            let name = format!("{}-{at}", self.pool);
            if !used.contains(&name) {
                self.rest.delete_now(&format!("{NODES}/{name}"))?;
            }
        }
        Ok(())
    }

    /// Makes the queue of the pool, for at most this many CPUs.
    pub(super) fn make_queue(&self, most: usize) -> Result<()> {
        let queue = json!({
            "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
            "metadata": {"name": self.pool},
            "spec": {"weight": 1, "capability": {"cpu": most.to_string()}},
        });
        self.rest.create(QUEUES, &queue).map(|_| ())
    }

    /// Lets the queue have this many CPUs.
    pub(super) fn widen_queue(&self, most: usize) -> Result<()> {
        let patch = json!({"spec": {"capability": {"cpu": most.to_string()}}});
        let path = format!("{QUEUES}/{}", self.pool);
        self.rest.patch(&path, &patch).map(|_| ())
    }

    /// A pod of another job in the same queue and pool: of a class and at a node, if they are given.
    pub(super) fn put_guest(&self, name: &str, class: &str, node: Option<&str>) -> Result<()> {
        let mut selector = json!({POOL: self.pool});
        if let Some(node) = node {
            selector["kubernetes.io/hostname"] = json!(node);
        }
        let group = json!({
            "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
            "metadata": {"name": name},
            "spec": {"minMember": 1, "queue": self.pool, "priorityClassName": class},
        });
        let mut pod = pumice_e2e::member(name, name);
        pod["metadata"]["labels"] = json!({GUEST: "yes"});
        pod["spec"]["nodeSelector"] = selector;
        if !class.is_empty() {
            pod["spec"]["priorityClassName"] = json!(class);
        }
        self.rest.create(
            &self.path("scheduling.volcano.sh/v1beta1", "podgroups"),
            &group,
        )?;
        self.rest.create(&self.path("", "pods"), &pod)?;
        Ok(())
    }

    /// Node of a guest, if it has one.
    pub(super) fn guest_at(&self, name: &str) -> Result<Option<String>> {
        let pod = self
            .rest
            .get(&format!("{}/{name}", self.path("", "pods")))?;
        Ok(pod["spec"]["nodeName"].as_str().map(str::to_owned))
    }

    /// Sends a guest away.
    pub(super) fn remove_guest(&self, name: &str) -> Result<()> {
        let groups = self.path("scheduling.volcano.sh/v1beta1", "podgroups");
        for path in [self.path("", "pods"), groups] {
            self.rest.delete_now(&format!("{path}/{name}"))?;
        }
        Ok(())
    }

    /// Evicts a pod as `kubectl drain` does.
    pub(super) fn drain(&self, name: &str) -> Result<()> {
        let eviction = json!({
            "apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"name": name, "namespace": self.pool},
        });
        let path = format!("{}/{name}/eviction", self.path("", "pods"));
        self.rest.create(&path, &eviction).map(|_| ())
    }

    /// Ends a pod as its kubelet does when a container fails.
    pub(super) fn fail(&self, name: &str) -> Result<()> {
        let path = format!("{}/{name}/status", self.path("", "pods"));
        let patch = json!({"status": {"phase": "Failed"}});
        self.rest
            .call(Method::PATCH, &path, Some(&patch))
            .with_context(|| name.to_owned())?;
        Ok(())
    }

    fn path(&self, api: &str, plural: &str) -> String {
        path(api, self.pool, plural)
    }
}

/// Label of pods that are of no operator's job.
pub(super) const GUEST: &str = "guest";

/// Path of a collection in a namespace.
pub(super) fn path(api: &str, namespace: &str, plural: &str) -> String {
    let root = match api {
        "" => "/api/v1".to_owned(),
        api => format!("/apis/{api}"),
    };
    format!("{root}/namespaces/{namespace}/{plural}")
}

/// Whether a pod is of the operator's job.
pub(super) fn is_member(pod: &Value) -> bool {
    pod["metadata"]["labels"][GUEST].is_null()
}
