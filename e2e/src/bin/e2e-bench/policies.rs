//! What the policies of admission cost a write: the same objects, made by somebody with `edit` in one namespace,
//! with all policies and without any, in turns.
//!
//! ```text
//!  round: policies in force ─► creates, one at a time ─► none in force ─► the same creates
//! ```
//!
//! Beside the time of a write stands the API server's own processor time for it, which is what it would take on
//! a machine with nothing else to do, and the time that it says its plugins of policies took, queueing of the machine included.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use pumice_e2e::{Cluster, Identity, Options, Rest, client_at, eventually};
use serde_json::{Value, json};

use crate::cpu;

/// How long policies may take to be in force, or not to be any more.
const LIMIT: Duration = Duration::from_secs(60);

/// The policy that is off unless somebody asks for it.
const QUEUE_USE: &str = include_str!("../../../../deploy/optional/queue-use.yaml");

const PODS: &str = "/api/v1/namespaces/default/pods";
const JOBS: &str = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs";
const QUEUES: &str = "/apis/scheduling.volcano.sh/v1beta1/queues";
const GROUPS: &str = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups";

/// A kind of write.
struct WriteKind {
    name: &'static str,
    collection: &'static str,
    make: fn(usize) -> Value,
    without: Times,
    with: Times,
}

/// What writes have taken.
#[derive(Default)]
struct Times {
    /// Milliseconds of each.
    walls: Vec<f64>,
    /// Processor milliseconds of the API server for all.
    cpu: f64,
    /// Milliseconds in policies of all.
    in_policies: f64,
}

impl WriteKind {
    fn new(name: &'static str, collection: &'static str, make: fn(usize) -> Value) -> Self {
        Self {
            name,
            collection,
            make,
            without: Times::default(),
            with: Times::default(),
        }
    }

    fn line(&mut self) -> String {
        let (without, with) = (self.without.of_one(), self.with.of_one());
        let columns: Vec<String> = without
            .iter()
            .zip(with)
            .map(|(without, with)| format!("{without:8.2} {with:8.2} {:8.2}", with - without))
            .collect();
        format!("{:10} {}", self.name, columns.join("    "))
    }
}

impl Times {
    /// The median of one write, its processor time, and its time in policies.
    #[allow(clippy::cast_precision_loss, reason = "some thousands")]
    fn of_one(&mut self) -> [f64; 3] {
        self.walls.sort_by(f64::total_cmp);
        let count = self.walls.len();
        let median = self.walls.get(count / 2).copied().unwrap_or_default();
        let all = count.max(1) as f64;
        [median, self.cpu / all, self.in_policies / all]
    }
}

/// Milliseconds so far that an API server has spent in its plugins of policies on objects that are made.
fn in_policies(admin: &Rest) -> Result<f64> {
    let Value::String(text) = admin.get("/metrics")? else {
        bail!("/metrics is no text");
    };
    let name = "apiserver_admission_controller_admission_duration_seconds_sum{";
    let lines = text.lines().filter(|line| {
        line.starts_with(name)
            && line.contains("AdmissionPolicy\"")
            && line.contains("operation=\"CREATE\"")
    });
    let seconds = lines.map(|line| {
        let number = line.rsplit(' ').next().unwrap_or_default();
        number.parse::<f64>().with_context(|| line.to_owned())
    });
    Ok(seconds.sum::<Result<f64>>()? * 1000.0)
}

/// Measures, and says it in a table.
///
/// # Errors
/// The control plane does not start, or a write is refused.
pub fn table(rounds: usize, writes: usize, queues: usize) -> Result<String> {
    let cluster = Cluster::start(Options::default())?;
    cluster.install()?;
    let queue = |nth: usize| {
        json!({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
            "metadata": {"name": format!("q-{nth}")}, "spec": {"weight": 1, "parent": "root"}})
    };
    let queues = (0..queues).map(queue).collect();
    cluster.rest().create_all(QUEUES, queues, 8)?;
    let jane = jane(&cluster)?;
    let writer = Writer {
        server: cluster.apiserver_id().context("there is an API server")?,
        admin: cluster.rest(),
        jane: &jane,
    };
    eventually(LIMIT, "jane may edit", || {
        for collection in [PODS, JOBS, GROUPS] {
            jane.list(collection)?;
        }
        Ok(Some(()))
    })?;
    let mut kinds = [
        WriteKind::new("Pod", PODS, pod),
        WriteKind::new("Job", JOBS, job),
        WriteKind::new("PodGroup", GROUPS, group),
    ];
    // The first writes of a process are slower than all others.
    writer.half(&mut kinds, 50, |_| None)?;
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        cluster.install_policies()?;
        cluster.apply(QUEUE_USE)?;
        in_force(&jane, true)?;
        writer.half(&mut kinds, 20, |_| None)?;
        writer.half(&mut kinds, writes, |kind| Some(&mut kind.with))?;
        let all = "validatingadmissionpolicies,validatingadmissionpolicybindings,\
                   mutatingadmissionpolicies,mutatingadmissionpolicybindings";
        cluster.kubectl(&["delete", all, "--all"], "")?;
        in_force(&jane, false)?;
        writer.half(&mut kinds, 20, |_| None)?;
        writer.half(&mut kinds, writes, |kind| Some(&mut kind.without))?;
    }
    let head = "           ms, median                    its processor ms              ms in policies\n\
                create      without     with    costs     without     with    costs     without     with    costs\n";
    let lines = kinds.iter_mut().map(|kind| kind.line() + "\n");
    Ok(head.to_owned() + &lines.collect::<String>())
}

/// The API as jane sees it, who may edit `default` and use every queue in it.
fn jane(cluster: &Cluster) -> Result<Rest> {
    cluster.apply(QUEUE_USE)?;
    let grants = [("edit", "edit"), ("use", "pumice-queue-use-any")];
    for (name, role) in grants {
        let role = format!("--clusterrole={role}");
        cluster.kubectl(&["create", "rolebinding", name, &role, "--user=jane"], "")?;
    }
    let text = std::fs::read_to_string(cluster.kubeconfig(Identity::Admin))?;
    let mut config: Value = serde_json::from_str(&text).context("kubeconfig")?;
    config["users"][0]["user"]["as"] = json!("jane");
    let path: PathBuf = cluster.folder().join("jane.kubeconfig");
    std::fs::write(&path, config.to_string())?;
    Ok(Rest::new(client_at(&path)?))
}

/// Waits until the first and the last of the policies judge, or none does.
fn in_force(jane: &Rest, wanted: bool) -> Result<()> {
    let mut bad_job = job(0);
    bad_job["spec"]["plugins"] = json!({"none": []});
    let mut bad_pod = pod(0);
    bad_pod["metadata"]["annotations"]["volcano.sh/vgpu-ids-new"] = json!("x");
    let mut bad_group = group(0);
    bad_group["status"] = json!({"phase": "Inqueue"});
    let trials = [(JOBS, bad_job), (PODS, bad_pod), (GROUPS, bad_group)];
    eventually(LIMIT, "the policies are as they should be", || {
        for (collection, object) in &trials {
            let answer = jane.create(&format!("{collection}?dryRun=All"), object);
            let told = answer.err().map(|error| format!("{error:#}"));
            let by_policy = told.is_some_and(|told| told.contains("ValidatingAdmissionPolicy"));
            if by_policy != wanted {
                bail!("{collection}: a policy refuses: {by_policy}");
            }
        }
        Ok(Some(()))
    })
}

/// Who writes, and what is looked at meanwhile.
struct Writer<'a> {
    server: u32,
    admin: &'a Rest,
    jane: &'a Rest,
}

impl Writer<'_> {
    /// Makes objects of each kind, one at a time, and deletes them.
    fn half(
        &self,
        kinds: &mut [WriteKind],
        writes: usize,
        mut times: impl FnMut(&mut WriteKind) -> Option<&mut Times>,
    ) -> Result<()> {
        for kind in kinds {
            let (collection, make) = (kind.collection, kind.make);
            let mut walls = Vec::new();
            let (cpu, spent) = (cpu::of(self.server)?, in_policies(self.admin)?);
            for nth in 0..writes {
                let object = make(nth);
                let began = Instant::now();
                self.jane.create(collection, &object)?;
                walls.push(began.elapsed().as_secs_f64() * 1000.0);
            }
            let spent = in_policies(self.admin)? - spent;
            let cpu = (cpu::of(self.server)? - cpu) * 1000.0;
            if let Some(times) = times(kind) {
                times.walls.extend(walls);
                times.cpu += cpu;
                times.in_policies += spent;
            }
            self.jane.delete_now(collection)?;
        }
        Ok(())
    }
}

fn template() -> Value {
    json!({"spec": {"containers": [{"name": "main", "image": "example.com/none",
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1"}}}]}})
}

fn pod(nth: usize) -> Value {
    let mut pod = template();
    pod["apiVersion"] = json!("v1");
    pod["kind"] = json!("Pod");
    pod["metadata"] = json!({"name": format!("p-{nth}"), "annotations": {
        "scheduling.volcano.sh/queue-name": "research", "example.com/team": "a"}});
    pod["spec"]["schedulerName"] = json!("volcano");
    pod
}

fn job(nth: usize) -> Value {
    json!({
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
        "metadata": {"name": format!("j-{nth}")},
        "spec": {
            "minAvailable": 3, "schedulerName": "volcano", "queue": "research",
            "plugins": {"svc": [], "env": []},
            "policies": [{"event": "PodEvicted", "action": "RestartJob"}],
            "tasks": [
                {"name": "master", "replicas": 1, "template": template()},
                {"name": "worker", "replicas": 2, "template": template()},
            ],
        },
    })
}

fn group(nth: usize) -> Value {
    json!({
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
        "metadata": {"name": format!("g-{nth}")},
        "spec": {"minMember": 3, "queue": "research", "minResources": {"cpu": "3"}},
    })
}
