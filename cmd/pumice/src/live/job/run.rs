//! `pumice job run`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use pumice_api::{Job, Queue, keys};
use pumice_units::quantity;
use serde_json::{Value, json};

use super::super::file::{documents, ensure_kind, text_of};
use super::super::user::{ClusterConnection, ClusterUser, CreationArguments, wrong};
use super::super::words::or;

/// How often, and how long between, a new Job is looked at whose queue may not be read.
const MAX_LOOKS: u32 = 8;
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Arguments of `pumice job run`.
#[derive(Args)]
pub struct JobRunArguments {
    /// Name of the Job
    #[arg(value_name = "NAME", conflicts_with = "file")]
    named: Option<String>,
    /// Name of the Job, as vcctl takes it
    #[arg(long, short = 'N', value_name = "NAME", conflicts_with_all = ["file", "named"])]
    name: Option<String>,
    /// Namespace; default: that of the file, else that of the context
    #[arg(long, short, value_name = "NAME")]
    namespace: Option<String>,
    /// Image of the pods
    #[arg(long, short, default_value = "busybox")]
    image: String,
    /// Pods that must run together
    #[arg(long, short, default_value_t = 1, value_name = "PODS")]
    min: u32,
    /// Pods
    #[arg(long, short, default_value_t = 1, value_name = "PODS")]
    replicas: u32,
    /// Requests of a pod
    #[arg(long, short = 'R', default_value = "cpu=1000m,memory=100Mi")]
    requests: String,
    /// Limits of a pod
    #[arg(long, short = 'L', default_value = "cpu=1000m,memory=100Mi")]
    limits: String,
    /// Scheduler that places the pods of the Job
    #[arg(long, short = 'S', default_value = keys::DEFAULT_SCHEDULER, value_name = "NAME")]
    scheduler: String,
    /// Queue that the Job is put into
    #[arg(long, short, default_value = keys::DEFAULT_QUEUE, value_name = "NAME")]
    queue: String,
    /// Create the Job of this YAML or JSON file instead; `-` is standard input
    #[arg(long = "filename", short, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Command of the pods; default: what the image has
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    #[command(flatten)]
    creation: CreationArguments,
    #[command(flatten)]
    connection: ClusterConnection,
}

/// Makes the Job and creates it.
pub fn run(arguments: &JobRunArguments) -> anyhow::Result<ExitCode> {
    let job = match &arguments.file {
        Some(path) => of_file(&text_of(path)?, &path.display().to_string())?,
        None => of_flags(arguments)?,
    };
    let own = job["metadata"]["namespace"].as_str();
    let wanted = arguments.namespace.as_deref();
    if let (Some(own), Some(wanted)) = (own, wanted)
        && own != wanted
    {
        return Err(wrong(format!(
            "the file is for namespace {own}, --namespace says {wanted}\n  = help: write one of both"
        )));
    }
    let namespace = wanted.or(own).map(str::to_owned);
    let creation = &arguments.creation;
    let user = creation.open(&arguments.connection)?;
    let queue = or(
        job["spec"]["queue"].as_str().unwrap_or_default(),
        keys::DEFAULT_QUEUE,
    );
    let queue = match &user {
        None => QueueSeen::Unknown,
        Some(user) => queue_seen(user, queue),
    };
    let line = |name: &str| match queue.problem() {
        None => format!("run job {name} successfully"),
        Some(problem) => format!("job {name} is created, and waits: {problem}"),
    };
    let made = creation.create::<Job>(user.as_ref(), namespace.as_deref(), job, line)?;
    let is_unknown = queue == QueueSeen::Unknown && !creation.is_trial();
    if let Some(user) = user.filter(|_| is_unknown) {
        tell_obstacle(&user, &made)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What is known of the queue a Job is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum QueueSeen {
    /// It takes in Jobs.
    Fine,
    /// It does not, as this says.
    Problem(String),
    /// It may not be read, or was not asked for.
    Unknown,
}

impl QueueSeen {
    fn problem(&self) -> Option<&str> {
        match self {
            Self::Problem(problem) => Some(problem),
            Self::Fine | Self::Unknown => None,
        }
    }

    /// What an answer of the API server means.
    pub(super) fn of(name: &str, found: Option<&Value>) -> Self {
        let Some(queue) = found else {
            // The scheduler makes this one, and makes it again.
            if name == keys::DEFAULT_QUEUE {
                return Self::Fine;
            }
            return Self::Problem(format!(
                "queue {name} does not exist; `pumice queue list` shows those there are, `pumice \
                 queue create {name}` makes it"
            ));
        };
        match queue["status"]["state"].as_str() {
            Some(state @ ("Closed" | "Closing")) => Self::Problem(format!(
                "queue {name} is {state} and takes in nothing new; `pumice queue open {name}` opens it"
            )),
            _ => Self::Fine,
        }
    }
}

fn queue_seen(user: &ClusterUser, name: &str) -> QueueSeen {
    match user.try_ask(user.objects.get::<Queue>("", name)) {
        Ok(found) => QueueSeen::of(name, found.as_ref()),
        Err(_) => QueueSeen::Unknown,
    }
}

/// Looks at a new Job for a moment, and says what keeps it from its first pods.
fn tell_obstacle(user: &ClusterUser, made: &Value) -> anyhow::Result<()> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &made["metadata"];
    let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
    for _ in 0..MAX_LOOKS {
        user.pause(LOOK_EVERY);
        let found = user.ask(user.objects.get::<Job>(&namespace, &name))?;
        let state = found.map(|job| job["status"]["state"].clone());
        let state = state.unwrap_or_default();
        if text(&state["phase"]).is_empty() {
            continue;
        }
        let (reason, message) = (text(&state["reason"]), text(&state["message"]));
        if !reason.is_empty() {
            anstream::eprintln!("warning: job {namespace}/{name} waits: {reason}: {message}");
        }
        return Ok(());
    }
    Ok(())
}

/// The one Job of a text.
pub(super) fn of_file(text: &str, source: &str) -> anyhow::Result<Value> {
    let documents = documents(text, source)?;
    let help =
        "`pumice job run -f` creates one Job; `kubectl create -f` creates whatever a file has";
    let [job] = documents.as_slice() else {
        let count = documents.len();
        return Err(wrong(format!(
            "{source} has {count} objects\n  = help: {help}"
        )));
    };
    ensure_kind(job, (keys::JOB_KIND, keys::BATCH_API_VERSION), source, help)?;
    Ok(job.clone())
}

/// A Job of one task.
pub(super) fn of_flags(arguments: &JobRunArguments) -> anyhow::Result<Value> {
    let name = arguments.named.as_ref().or(arguments.name.as_ref());
    let name = name.ok_or_else(|| {
        wrong("the Job has no name\n  = help: pumice job run NAME, or a file with -f")
    })?;
    let requests = resources("--requests", &arguments.requests)?;
    let limits = resources("--limits", &arguments.limits)?;
    let mut container = json!({
        "name": name,
        "image": arguments.image,
        "imagePullPolicy": "IfNotPresent",
        "resources": {"requests": requests, "limits": limits},
    });
    if !arguments.command.is_empty() {
        container["command"] = json!(arguments.command);
    }
    Ok(json!({
        "apiVersion": keys::BATCH_API_VERSION,
        "kind": keys::JOB_KIND,
        "metadata": {"name": name},
        "spec": {
            "minAvailable": arguments.min,
            "schedulerName": arguments.scheduler,
            "queue": arguments.queue,
            "tasks": [{
                "replicas": arguments.replicas,
                "template": {
                    "metadata": {"labels": {"job.volcano.sh": name}},
                    "spec": {"restartPolicy": "Never", "containers": [container]},
                },
            }],
        },
    }))
}

/// `cpu=1,memory=1Gi`.
pub(in crate::live) fn resources(
    flag: &str,
    text: &str,
) -> anyhow::Result<BTreeMap<String, String>> {
    let mut amounts = BTreeMap::new();
    for part in text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        let pair = part.split_once('=');
        let known =
            pair.filter(|(name, amount)| !name.is_empty() && quantity::parse(amount).is_ok());
        let (name, amount) = known.ok_or_else(|| {
            wrong(format!(
                "{flag}: {part:?} is not NAME=AMOUNT\n  = help: write it like \
                 cpu=500m,memory=1Gi,nvidia.com/gpu=1"
            ))
        })?;
        amounts.insert(name.to_owned(), amount.to_owned());
    }
    Ok(amounts)
}
