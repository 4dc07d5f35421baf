//! The custom resource definitions of our types (spec/03 part B).
//!
//! ```text
//!  derived JSON schema ──► structural ──► rules ──► definition
//!    (shape, doc comments)   (no references)  (limits, defaults)   (names, columns)
//! ```
//!
//! Shape and descriptions come from the types, so they cannot drift apart; what a Rust type does
//! not say (limits, patterns, defaults) stands in one table per kind in `rules`, and for core types
//! in `core_types`. The schemas are closed at every level, pod templates included: a misspelt field
//! is refused by `kubectl apply`, as with Volcano's definitions. Descriptions of core types are left
//! out, which keeps the definition of Job below the size limit of `kubectl apply`.

mod core_types;
mod rules;
mod structural;

use serde_json::{Map, Value, json};

use crate::cron_job::{CronJobSpec, CronJobStatus};
use crate::hyper_node::{HyperNodeSpec, HyperNodeStatus};
use crate::job::{JobSpec, JobStatus};
use crate::job_flow::{JobFlowSpec, JobFlowStatus};
use crate::job_template::JobTemplateStatus;
use crate::node_shard::{NodeShardSpec, NodeShardStatus};
use crate::numatopology::NumatopologySpec;
use crate::pod_group::{PodGroupSpec, PodGroupStatus};
use crate::queue::{QueueSpec, QueueStatus};
use crate::{
    Command, CronJob, HyperNode, Job, JobFlow, JobTemplate, NodeShard, Numatopology, PodGroup,
    Queue,
};
use structural::StructuralSchemas;

/// What a definition says besides the schema.
struct DefinitionOf {
    identity: Identity,
    description: &'static str,
    namespaced: bool,
    singular: &'static str,
    short_names: &'static [&'static str],
    categories: &'static [&'static str],
    status_subresource: bool,
    columns: &'static [Column],
    rules: fn() -> Vec<rules::FieldRule>,
    shapes: StructuralSchemas,
}

/// Group, version, kind and plural of a type.
struct Identity {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    list_kind: &'static str,
    plural: &'static str,
}

impl Identity {
    fn of<K: k8s_openapi::ListableResource>() -> Self {
        Self {
            group: K::GROUP,
            version: K::VERSION,
            kind: K::KIND,
            list_kind: K::LIST_KIND,
            plural: K::URL_PATH_SEGMENT,
        }
    }
}

/// A column of `kubectl get`: name, JSON path, type, and whether only `-o wide` shows it.
struct Column(&'static str, &'static str, &'static str, bool);

impl Column {
    fn to_json(&self) -> Value {
        let mut column = json!({"name": self.0, "jsonPath": self.1, "type": self.2});
        if self.3 {
            column["priority"] = json!(1);
        }
        column
    }
}

/// In `kubectl get all`, and with everything of ours in `kubectl get volcano`.
const WORKLOADS: &[&str] = &["all", "volcano"];

/// In `kubectl get volcano` alone: what users do not start, or what belongs to no namespace.
const OTHERS: &[&str] = &["volcano"];

const AGE: (&str, &str) = (".metadata.creationTimestamp", "date");

/// Every definition, as `apiextensions.k8s.io/v1` objects.
///
/// # Errors
///
/// A rule that names a field no type has, or two rules of one field that contradict.
pub fn definitions() -> Result<Vec<Value>, String> {
    kinds().into_iter().map(definition).collect()
}

fn kinds() -> [DefinitionOf; 10] {
    [
        queue(),
        pod_group(),
        job(),
        cron_job(),
        job_flow(),
        job_template(),
        command(),
        hyper_node(),
        numatopology(),
        node_shard(),
    ]
}

fn queue() -> DefinitionOf {
    DefinitionOf {
        identity: Identity::of::<Queue>(),
        description: "A queue shares the resources of the cluster with the other queues.",
        namespaced: false,
        singular: "queue",
        short_names: &["q", "queue-v1beta1"],
        categories: OTHERS,
        status_subresource: true,
        columns: &[
            Column("STATE", ".status.state", "string", false),
            Column("WEIGHT", ".spec.weight", "integer", false),
            Column("PRIORITY", ".spec.priority", "integer", false),
            Column("RUNNING", ".status.running", "integer", false),
            Column("WAITING", ".status.waiting", "integer", false),
            Column("PARENT", ".spec.parent", "string", false),
        ],
        rules: rules::queue,
        shapes: StructuralSchemas::of::<QueueSpec>().with_status::<QueueStatus>(),
    }
}

fn pod_group() -> DefinitionOf {
    DefinitionOf {
        identity: Identity::of::<PodGroup>(),
        description: "A group of pods that run together or not at all.",
        namespaced: true,
        singular: "podgroup",
        short_names: &["pg", "podgroup-v1beta1"],
        categories: WORKLOADS,
        status_subresource: false,
        columns: &[
            Column("STATUS", ".status.phase", "string", false),
            Column("minMember", ".spec.minMember", "integer", false),
            Column("RUNNINGS", ".status.running", "integer", false),
            Column("AGE", AGE.0, AGE.1, false),
            Column("QUEUE", ".spec.queue", "string", true),
        ],
        rules: rules::pod_group,
        shapes: StructuralSchemas::of::<PodGroupSpec>().with_status::<PodGroupStatus>(),
    }
}

fn job() -> DefinitionOf {
    DefinitionOf {
        identity: Identity::of::<Job>(),
        description: "A batch job of one or more tasks.",
        namespaced: true,
        singular: "job",
        short_names: &["vcjob", "vj"],
        categories: WORKLOADS,
        status_subresource: true,
        columns: &[
            Column("STATUS", ".status.state.phase", "string", false),
            Column("REASON", ".status.state.reason", "string", false),
            Column("minAvailable", ".status.minAvailable", "integer", false),
            Column("RUNNINGS", ".status.running", "integer", false),
            Column("SUCCEEDED", ".status.succeeded", "integer", false),
            Column("DURATION", ".status.runningDuration", "string", false),
            Column("AGE", AGE.0, AGE.1, false),
            Column("QUEUE", ".spec.queue", "string", true),
        ],
        rules: rules::job,
        shapes: StructuralSchemas::of::<JobSpec>().with_status::<JobStatus>(),
    }
}

fn cron_job() -> DefinitionOf {
    DefinitionOf {
        identity: Identity::of::<CronJob>(),
        description: "Starts Jobs by a schedule.",
        namespaced: true,
        singular: "cronjob",
        short_names: &["cronvcjob", "cronvj"],
        categories: WORKLOADS,
        status_subresource: true,
        columns: &[
            Column("SCHEDULE", ".spec.schedule", "string", false),
            Column("SUSPEND", ".spec.suspend", "boolean", false),
            // The first of those that go on: a path cannot count.
            Column("ACTIVE", ".status.active[0].name", "string", false),
            Column("LAST-RUN", ".status.lastScheduleTime", "date", false),
            Column("LAST-SUCCESS", ".status.lastSuccessfulTime", "date", false),
            Column("AGE", AGE.0, AGE.1, false),
            Column("TIMEZONE", ".spec.timeZone", "string", true),
        ],
        rules: rules::cron_job,
        shapes: StructuralSchemas::of::<CronJobSpec>().with_status::<CronJobStatus>(),
    }
}

fn job_flow() -> DefinitionOf {
    DefinitionOf {
        identity: Identity::of::<JobFlow>(),
        description: "Jobs that start after one another.",
        namespaced: true,
        singular: "jobflow",
        short_names: &["jf"],
        categories: WORKLOADS,
        status_subresource: true,
        columns: &[
            Column("Status", ".status.state.phase", "string", false),
            Column("Completed", ".status.progress", "string", false),
            Column("Age", AGE.0, AGE.1, false),
        ],
        rules: rules::job_flow,
        shapes: StructuralSchemas::of::<JobFlowSpec>().with_status::<JobFlowStatus>(),
    }
}

fn job_template() -> DefinitionOf {
    DefinitionOf {
        identity: Identity::of::<JobTemplate>(),
        description: "What a JobFlow makes Jobs of.",
        namespaced: true,
        singular: "jobtemplate",
        short_names: &["jt"],
        categories: WORKLOADS,
        status_subresource: true,
        columns: &[],
        rules: rules::job_template,
        shapes: StructuralSchemas::of::<JobSpec>().with_status::<JobTemplateStatus>(),
    }
}

fn command() -> DefinitionOf {
    DefinitionOf {
        identity: Identity::of::<Command>(),
        description: "An action on a Job or Queue. The controllers delete it when it is done.",
        namespaced: true,
        singular: "command",
        short_names: &[],
        categories: OTHERS,
        status_subresource: false,
        columns: &[],
        rules: Vec::new,
        shapes: StructuralSchemas::flat::<Command>(),
    }
}

fn hyper_node() -> DefinitionOf {
    DefinitionOf {
        identity: Identity::of::<HyperNode>(),
        description: "A performance domain of the network: nodes, or domains of a lower tier.",
        namespaced: false,
        singular: "hypernode",
        short_names: &["hn"],
        categories: OTHERS,
        status_subresource: true,
        columns: &[
            Column("Tier", ".spec.tier", "string", false),
            Column("TierName", ".spec.tierName", "string", false),
            Column("NodeCount", ".status.nodeCount", "integer", false),
            Column("Age", AGE.0, AGE.1, false),
        ],
        rules: rules::hyper_node,
        shapes: StructuralSchemas::of::<HyperNodeSpec>().with_status::<HyperNodeStatus>(),
    }
}

fn numatopology() -> DefinitionOf {
    DefinitionOf {
        identity: Identity::of::<Numatopology>(),
        description: "What the NUMA exporter of a node reports, under the node's name.",
        namespaced: false,
        singular: "numatopology",
        short_names: &["numatopo"],
        categories: OTHERS,
        status_subresource: false,
        columns: &[],
        rules: rules::numatopology,
        shapes: StructuralSchemas::of::<NumatopologySpec>(),
    }
}

fn node_shard() -> DefinitionOf {
    DefinitionOf {
        identity: Identity::of::<NodeShard>(),
        description: "The nodes one scheduler is to use; its name is that of the scheduler.",
        namespaced: false,
        singular: "nodeshard",
        short_names: &["nsh"],
        categories: OTHERS,
        status_subresource: true,
        columns: &[Column("AGE", AGE.0, AGE.1, false)],
        rules: rules::node_shard,
        shapes: StructuralSchemas::of::<NodeShardSpec>().with_status::<NodeShardStatus>(),
    }
}

fn definition(kind: DefinitionOf) -> Result<Value, String> {
    let Identity {
        group,
        version,
        kind: name,
        list_kind,
        plural,
    } = kind.identity;
    let mut schema = json!({
        "description": kind.description,
        "type": "object",
        "properties": properties(&kind.shapes),
    });
    for rule in (kind.rules)() {
        rule.apply(&mut schema)
            .map_err(|error| format!("{name}: {error}"))?;
    }
    let mut served = json!({
        "name": version,
        "served": true,
        "storage": true,
        "schema": {"openAPIV3Schema": schema},
    });
    if kind.status_subresource {
        served["subresources"] = json!({"status": {}});
    }
    if !kind.columns.is_empty() {
        served["additionalPrinterColumns"] = kind.columns.iter().map(Column::to_json).collect();
    }
    let mut names = json!({
        "kind": name,
        "listKind": list_kind,
        "plural": plural,
        "singular": kind.singular,
    });
    if !kind.short_names.is_empty() {
        names["shortNames"] = json!(kind.short_names);
    }
    names["categories"] = json!(kind.categories);
    Ok(json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{plural}.{group}"),
            "annotations": {"helm.sh/resource-policy": "keep"},
        },
        "spec": {
            "group": group,
            "names": names,
            "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
            "versions": [served],
        },
    }))
}

/// The fields of the object itself; the API server knows what metadata is.
fn properties(shapes: &StructuralSchemas) -> Map<String, Value> {
    let mut properties = Map::new();
    properties.insert("apiVersion".to_owned(), json!({"type": "string"}));
    properties.insert("kind".to_owned(), json!({"type": "string"}));
    properties.insert("metadata".to_owned(), json!({"type": "object"}));
    properties.extend(shapes.0.clone());
    properties
}
