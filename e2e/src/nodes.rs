//! Nodes without machines.

use anyhow::Result;
use serde_json::{Value, json};

use crate::Rest;

/// Requests in flight while many nodes are made.
const AT_ONCE: usize = 16;

/// What a made-up node offers.
#[derive(Clone, Debug)]
pub struct NodeShape {
    /// Allocatable cpu, as a quantity.
    pub cpu: &'static str,
    /// Allocatable memory, as a quantity.
    pub memory: &'static str,
    /// Allocatable pods.
    pub pods: u32,
    /// Labels besides the host name.
    pub labels: Vec<(&'static str, String)>,
}

impl Default for NodeShape {
    fn default() -> Self {
        Self {
            cpu: "32",
            memory: "128Gi",
            pods: 110,
            labels: Vec::new(),
        }
    }
}

impl NodeShape {
    /// The Node object.
    pub fn object(&self, name: &str) -> Value {
        let mut labels = json!({"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"});
        for (key, value) in &self.labels {
            labels[*key] = json!(value);
        }
        let resources = json!({
            "cpu": self.cpu, "memory": self.memory, "pods": self.pods.to_string(),
        });
        json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "status": {
                "allocatable": resources,
                "capacity": resources,
                "conditions": [{
                    "type": "Ready", "status": "True", "reason": "KubeletReady",
                    "lastHeartbeatTime": "2026-01-01T00:00:00Z",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }],
            },
        })
    }
}

/// Creates `count` nodes named `<prefix>-0`, `<prefix>-1` … of one shape.
///
/// # Errors
/// When the API server refuses one.
pub fn create_nodes(rest: &Rest, prefix: &str, count: usize, shape: &NodeShape) -> Result<()> {
    let objects = (0..count).map(|n| shape.object(&format!("{prefix}-{n}")));
    rest.create_all("/api/v1/nodes", objects.collect(), AT_ONCE)
}
