//! Kubelets and the scheduler, as far as controllers see them, and chance by seed.

use pumice_controllers::runtime::{ManagedKind, ManagedRef};
use serde_json::{Value, json};

use super::server::{ApiServer, seconds};

impl ApiServer {
    /// Admits every PodGroup that waits.
    pub fn admit_groups(&mut self) {
        for of in self.names(ManagedKind::PodGroup) {
            let phase = self.get(&of).map(|group| group["status"]["phase"].clone());
            if phase.is_some_and(|phase| phase.is_null() || phase == "Pending" || phase == "") {
                self.edit(&of, |group| group["status"]["phase"] = json!("Inqueue"));
            }
        }
    }

    /// Binds and starts every pod that waits.
    pub fn start_pods(&mut self) {
        for of in self.names(ManagedKind::Pod) {
            if phase(self.get(&of)) == "Pending" {
                self.start_pod(&of);
            }
        }
    }

    /// Binds and starts one pod.
    pub fn start_pod(&mut self, of: &ManagedRef) {
        self.edit(of, |pod| {
            pod["spec"]["nodeName"] = json!("node");
            pod["status"] = json!({
                "phase": "Running",
                "containerStatuses": [container(true, json!({"running": {}}))],
            });
        });
    }

    /// Ends a pod with an exit code.
    pub fn end_pod(&mut self, of: &ManagedRef, code: i32) {
        let phase = if code == 0 { "Succeeded" } else { "Failed" };
        let finished = seconds(self.now);
        self.edit(of, |pod| {
            let ended = json!({"terminated": {"exitCode": code, "finishedAt": finished}});
            pod["spec"]["nodeName"] = json!("node");
            pod["status"] = json!({
                "phase": phase, "containerStatuses": [container(false, ended)],
            });
        });
    }

    /// Ends every running pod well.
    pub fn end_pods(&mut self) {
        for of in self.names(ManagedKind::Pod) {
            if phase(self.get(&of)) == "Running" {
                self.end_pod(&of, 0);
            }
        }
    }

    /// Takes out every pod whose deletion was asked for.
    pub fn finish_deletions(&mut self) {
        for of in self.names(ManagedKind::Pod) {
            let pod = self.get(&of);
            if pod.is_some_and(|pod| !pod["metadata"]["deletionTimestamp"].is_null()) {
                self.remove(&of);
            }
        }
    }
}

fn container(ready: bool, state: Value) -> Value {
    json!({
        "name": "c", "image": "i", "imageID": "", "ready": ready, "restartCount": 0,
        "state": state,
    })
}

fn phase(pod: Option<&Value>) -> &str {
    let phase = pod.map(|pod| pod["status"]["phase"].as_str());
    phase.flatten().unwrap_or("Pending")
}

/// Chance that is the same for the same seed.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `sides`.
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let high = usize::try_from(self.0 >> 33).unwrap_or(0);
        high % sides.max(1)
    }
}
