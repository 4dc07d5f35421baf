//! What the API server can take: Bindings and nothing else.

use std::time::Duration;

use anyhow::{Context, Result};
use futures::StreamExt;
use http::Method;
use pumice_e2e::{Cluster, Identity, Rest, run};
use serde_json::json;

use crate::audit::{Audit, rate};
use crate::load::{self, PODS};
use crate::report::{Raw, Report};
use crate::{Arguments, cpu};

/// Numbers of requests in flight that are tried.
const TRIED: [usize; 6] = [4, 8, 16, 32, 64, 128];

/// Pods bound in each try; the best number is then measured with all pods.
const TRY_PODS: usize = 600;

/// How long the log may bring nothing.
const PATIENCE: Duration = Duration::from_secs(20);

/// Finds the best number of requests in flight and the rate it gives.
pub fn limit(cluster: &Cluster, arguments: &Arguments, report: &mut Report) -> Result<()> {
    eprintln!("measuring the raw limit");
    for at_once in TRIED {
        let run = bind_all(cluster, TRY_PODS, arguments.nodes, at_once)?;
        report.raw_tries.push((at_once, run.binds_per_s));
    }
    let best = report.raw_tries.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let (at_once, _) = *best.context("something was tried")?;
    report.raw_at_once = at_once;
    Ok(())
}

/// Measures the best number once more, with all pods.
pub fn again(cluster: &Cluster, arguments: &Arguments, report: &mut Report) -> Result<()> {
    let at_once = report.raw_at_once;
    let run = bind_all(cluster, arguments.pods, arguments.nodes, at_once)?;
    report.raw_runs.push(run);
    Ok(())
}

/// Makes pods, binds them round robin, and removes them.
fn bind_all(cluster: &Cluster, pods: usize, nodes: usize, at_once: usize) -> Result<Raw> {
    load::bare_pods(cluster.rest(), "raw", pods)?;
    let rest = &Rest::new(cluster.client(Identity::Scheduler)?);
    let mut audit = Audit::follow(cluster);
    let before = cpu::seconds()?;
    run(async {
        let bind = |n: usize| async move {
            let name = format!("raw-{n}");
            let node = format!("n-{}", n % nodes);
            let binding = json!({
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": name},
                "target": {"apiVersion": "v1", "kind": "Node", "name": node},
            });
            let path = format!("{PODS}/{name}/binding");
            rest.send(Method::POST, &path, Some(&binding)).await
        };
        let mut done = futures::stream::iter((0..pods).map(bind)).buffer_unordered(at_once);
        while let Some(result) = done.next().await {
            result?;
        }
        anyhow::Ok(())
    })?;
    let entries = audit.until_bound(pods, PATIENCE)?;
    let total_cpu_s = cpu::seconds()? - before;
    load::clear(cluster.rest())?;
    Ok(Raw {
        binds_per_s: rate(&entries).context("more than one bind")?,
        total_cpu_s,
    })
}
