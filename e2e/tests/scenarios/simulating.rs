//! What `pumice simulate` makes of a real cluster, by the command of the guide.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use pumice_e2e::Lab;
use serde_json::Value;

use crate::{PODS, bare_pod};

const PAGE: &str = include_str!("../../../docs/guide/simulate.md");

/// Pods without requests are placed by backfill alone, which this leaves out.
const CONFIGURATION: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {namespace: volcano-system, name: volcano-scheduler-configmap}
data:
  volcano-scheduler.conf: |
    actions: "enqueue, allocate"
    tiers:
    - plugins:
      - name: gang
      - name: predicates
"#;

/// The lines of the guide that dump a cluster into `pumice simulate -`.
fn command() -> Result<String> {
    let from = PAGE
        .find("(\n  set +e\n  kubectl get nodes")
        .context("its start")?;
    let end = "| pumice simulate -";
    let length = PAGE[from..].find(end).context("its end")? + end.len();
    Ok(PAGE[from..from + length].to_owned())
}

#[test]
fn the_guides_command_simulates_a_cluster_under_its_own_configuration() -> Result<()> {
    let mut lab = Lab::take()?;
    lab.nodes(2, "4", "8Gi")?;
    lab.cluster().apply(CONFIGURATION)?;
    lab.gang("gang", "default", 3, 3)?;
    lab.rest().create(PODS, &bare_pod("light", None))?;
    let script = format!("{} --strict --output json", command()?);
    let report = simulated(&lab.cluster().shell(Path::new("."), &script)?)?;
    let usual = "volcano-system/volcano-scheduler-configmap";
    ensure!(report["configuration"]["name"] == usual, "{report}");
    ensure!(pods(&report, "binds") == ["default/gang-0", "default/gang-1", "default/gang-2"]);
    ensure!(pods(&report, "pending") == ["default/light"], "{report}");
    // A cluster without a kind loses nothing but that kind.
    lab.will_change_installation();
    let kind = "jobs.batch.volcano.sh";
    lab.cluster()
        .kubectl(&["delete", "crd", kind, "--timeout=30s"], "")?;
    let report = simulated(&lab.cluster().shell(Path::new("."), &script)?)?;
    ensure!(report["configuration"]["name"] == usual, "{report}");
    ensure!(pods(&report, "binds").len() == 3, "{report}");
    Ok(())
}

fn simulated(output: &str) -> Result<Value> {
    serde_json::from_str(output).with_context(|| output.to_owned())
}

/// Names of the pods in a list of the report, in order.
fn pods(report: &Value, list: &str) -> Vec<String> {
    let lines = report[list].as_array().into_iter().flatten();
    let mut pods: Vec<String> = lines
        .filter_map(|line| line["pod"].as_str().map(str::to_owned))
        .collect();
    pods.sort();
    pods
}
