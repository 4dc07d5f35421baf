//! What the definitions demand beyond the shape of the types: spec/03 B1 … B9, row by row.

use serde_json::{Value, json};

/// Pattern of a DNS-1123 subdomain.
const SUBDOMAIN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// Pattern of a DNS-1123 label.
const LABEL: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";

/// Longest name of most objects.
const NAME_LENGTH: u32 = 253;

/// Longest label.
const LABEL_LENGTH: u32 = 63;

/// Most tasks of a Job, and steps of a JobFlow. The API server counts what a rule may cost, for which
/// lists need an end; names are compared with each other, which it allows for about so many.
const MAX_TASKS: u32 = 500;

/// Most kinds of sub-groups of a PodGroup.
const MAX_SUB_GROUPS: u32 = 1_000;

/// Keywords of one field.
pub(super) struct FieldRule {
    /// Names from the top, `*` for the items of a list or the values of a map; empty for the top.
    path: String,
    keywords: Value,
}

impl FieldRule {
    /// Adds the keywords to the field.
    ///
    /// # Errors
    ///
    /// The path leads to no field, or a keyword is there already.
    pub(super) fn apply(&self, schema: &mut Value) -> Result<(), String> {
        let path = &self.path;
        let mut field = schema;
        for name in path.split('.').filter(|name| !name.is_empty()) {
            let pointer = match name {
                "*" if field.get("items").is_some() => "/items".to_owned(),
                "*" => "/additionalProperties".to_owned(),
                name => format!("/properties/{name}"),
            };
            field = field
                .pointer_mut(&pointer)
                .ok_or_else(|| format!("a rule names {path}, which is no field"))?;
        }
        for (keyword, value) in self.keywords.as_object().into_iter().flatten() {
            if field.get(keyword).is_some() {
                return Err(format!("{path} has {keyword} already"));
            }
            field[keyword] = value.clone();
        }
        Ok(())
    }
}

fn rule(path: impl Into<String>, keywords: Value) -> FieldRule {
    FieldRule {
        path: path.into(),
        keywords,
    }
}

fn at_least(path: &str, minimum: i64) -> FieldRule {
    rule(path, json!({"minimum": minimum}))
}

fn at_most_long(path: &str, length: u32) -> FieldRule {
    rule(path, json!({"maxLength": length}))
}

fn one_of(path: &str, values: &[&str]) -> FieldRule {
    rule(path, json!({"enum": values}))
}

fn required(path: &str, fields: &[&str]) -> FieldRule {
    rule(path, json!({"required": fields}))
}

/// What must hold of a field, as an expression (CEL) of `self`, and what is said otherwise.
fn holds(path: &str, expression: &str, message: &str) -> FieldRule {
    let validation = json!({"rule": expression, "message": message});
    rule(path, json!({ "x-kubernetes-validations": [validation] }))
}

fn at_most_items(path: &str, items: u32) -> FieldRule {
    rule(path, json!({ "maxItems": items }))
}

fn counts(status: &str, fields: &[&str]) -> Vec<FieldRule> {
    fields
        .iter()
        .map(|field| at_least(&format!("{status}.{field}"), 0))
        .collect()
}

fn network_topology(path: &str) -> Vec<FieldRule> {
    vec![
        rule(
            format!("{path}.mode"),
            json!({"default": "hard", "enum": ["hard", "soft"]}),
        ),
        at_least(&format!("{path}.highestTierAllowed"), 0),
        at_most_long(&format!("{path}.highestTierName"), NAME_LENGTH),
        holds(
            path,
            "!has(self.highestTierAllowed) || !has(self.highestTierName) || \
                self.highestTierName == ''",
            "highestTierAllowed and highestTierName exclude each other; write one",
        ),
    ]
}

/// B1.
pub(super) fn queue() -> Vec<FieldRule> {
    let mut rules = vec![
        rule(
            "spec.weight",
            json!({"default": 1, "minimum": 1, "maximum": 65535}),
        ),
        rule(
            "spec.parent",
            json!({"maxLength": NAME_LENGTH, "pattern": SUBDOMAIN}),
        ),
        rule("spec.reclaimable", json!({"default": true})),
        at_least("spec.priority", 0),
        rule(
            "spec.dequeueStrategy",
            json!({"default": "traverse", "enum": ["fifo", "traverse"]}),
        ),
        at_most_long("spec.type", NAME_LENGTH),
        one_of("status.state", &["Open", "Closed", "Closing", "Unknown"]),
    ];
    rules.extend(counts(
        "status",
        &["unknown", "pending", "running", "inqueue", "completed"],
    ));
    rules
}

/// B2.
pub(super) fn pod_group() -> Vec<FieldRule> {
    let mut rules = vec![
        at_least("spec.minMember", 0),
        rule(
            "spec.queue",
            json!({"default": "default", "maxLength": NAME_LENGTH, "pattern": SUBDOMAIN}),
        ),
        at_most_long("spec.priorityClassName", NAME_LENGTH),
        at_most_items("spec.subGroupPolicy", MAX_SUB_GROUPS),
        at_most_long("spec.subGroupPolicy.*.name", NAME_LENGTH),
        rule(
            "spec.subGroupPolicy.*.matchLabelKeys",
            json!({"x-kubernetes-list-type": "atomic"}),
        ),
        rule(
            "spec.subGroupPolicy.*.subGroupSize",
            json!({"default": 1, "minimum": 1}),
        ),
        rule(
            "spec.subGroupPolicy.*.minSubGroups",
            json!({"default": 0, "minimum": 0}),
        ),
        one_of(
            "status.phase",
            &["Pending", "Running", "Unknown", "Inqueue", "Completed"],
        ),
    ];
    rules.extend(network_topology("spec.networkTopology"));
    rules.extend(network_topology("spec.subGroupPolicy.*.networkTopology"));
    rules.extend(counts("status", &["running", "succeeded", "failed"]));
    rules
}

/// B3.
pub(super) fn job() -> Vec<FieldRule> {
    let mut rules = job_spec("spec");
    rules.push(required("", &["spec"]));
    rules.push(required("spec", &["tasks"]));
    rules.push(required("status.conditions.*", &["status"]));
    rules.push(one_of(
        "status.state.phase",
        &[
            "Pending",
            "Aborting",
            "Aborted",
            "Running",
            "Restarting",
            "Completing",
            "Completed",
            "Terminating",
            "Terminated",
            "Failed",
        ],
    ));
    rules.extend(counts(
        "status",
        &[
            "minAvailable",
            "pending",
            "running",
            "succeeded",
            "failed",
            "terminating",
            "unknown",
            "version",
            "retryCount",
        ],
    ));
    rules
}

/// The specification of a Job, which stands at `at`.
fn job_spec(at: &str) -> Vec<FieldRule> {
    let field = |name: &str| format!("{at}.{name}");
    let mut rules = vec![
        at_most_long(&field("schedulerName"), LABEL_LENGTH),
        at_least(&field("minAvailable"), 0),
        at_least(&field("minSuccess"), 1),
        rule(
            field("queue"),
            json!({"default": "default", "maxLength": NAME_LENGTH, "pattern": SUBDOMAIN}),
        ),
        rule(field("maxRetry"), json!({"default": 3, "minimum": 0})),
        at_least(&field("ttlSecondsAfterFinished"), 0),
        rule(
            field("priorityClassName"),
            json!({"maxLength": NAME_LENGTH, "pattern": SUBDOMAIN}),
        ),
        required(&field("volumes.*"), &["mountPath"]),
        rule(
            field("volumes.*.mountPath"),
            json!({"minLength": 1, "pattern": "^[^:]+$"}),
        ),
        at_most_long(&field("volumes.*.volumeClaimName"), NAME_LENGTH),
        rule(
            field("tasks"),
            json!({"minItems": 1, "maxItems": MAX_TASKS}),
        ),
    ];
    rules.extend(tasks(&field("tasks.*")));
    rules.extend(policies(&field("policies.*")));
    rules.extend(policies(&field("tasks.*.policies.*")));
    rules.extend(network_topology(&field("networkTopology")));
    rules
}

/// What differs from the specification of a Job: its limits, but nothing is filled in or demanded
/// that the one who writes it has not written.
fn job_patch(at: &str) -> Vec<FieldRule> {
    let mut rules = job_spec(at);
    for rule in &mut rules {
        if let Some(keywords) = rule.keywords.as_object_mut() {
            keywords.retain(|keyword, _| keyword != "default" && keyword != "minItems");
        }
    }
    rules
}

/// One of `spec.tasks[]` of a Job, which stands at `at`.
fn tasks(at: &str) -> Vec<FieldRule> {
    let partitions = format!("{at}.partitionPolicy");
    let mut rules = vec![
        rule(
            format!("{at}.name"),
            json!({"maxLength": LABEL_LENGTH, "pattern": LABEL}),
        ),
        at_least(&format!("{at}.replicas"), 0),
        at_least(&format!("{at}.minAvailable"), 0),
        at_least(&format!("{at}.maxRetry"), 0),
        one_of(
            &format!("{at}.topologyPolicy"),
            &["none", "best-effort", "restricted", "single-numa-node"],
        ),
        required(&partitions, &["totalPartitions", "partitionSize"]),
        at_least(&format!("{partitions}.totalPartitions"), 1),
        at_least(&format!("{partitions}.partitionSize"), 1),
        rule(
            format!("{partitions}.minPartitions"),
            json!({"default": 0, "minimum": 0}),
        ),
    ];
    rules.extend(network_topology(&format!("{partitions}.networkTopology")));
    rules
}

/// Events and actions of a LifecyclePolicy.
fn policies(path: &str) -> Vec<FieldRule> {
    const EVENTS: [&str; 11] = [
        "*",
        "PodPending",
        "PodRunning",
        "PodFailed",
        "PodEvicted",
        "Unknown",
        "TaskCompleted",
        "TaskFailed",
        "OutOfSync",
        "CommandIssued",
        "JobUpdated",
    ];
    const ACTIONS: [&str; 8] = [
        "AbortJob",
        "RestartJob",
        "RestartTask",
        "RestartPod",
        "RestartPartition",
        "TerminateJob",
        "CompleteJob",
        "ResumeJob",
    ];
    vec![
        one_of(&format!("{path}.action"), &ACTIONS),
        one_of(&format!("{path}.event"), &EVENTS),
        one_of(&format!("{path}.events.*"), &EVENTS),
    ]
}

/// B4.
pub(super) fn cron_job() -> Vec<FieldRule> {
    let mut rules = vec![
        required("", &["spec"]),
        required("spec", &["schedule", "jobTemplate"]),
        required("spec.jobTemplate", &["spec"]),
        required("spec.jobTemplate.spec", &["tasks"]),
        at_least("spec.startingDeadlineSeconds", 0),
        rule(
            "spec.concurrencyPolicy",
            json!({"default": "Allow", "enum": ["Allow", "Forbid", "Replace"]}),
        ),
        rule("spec.suspend", json!({"default": false})),
        rule(
            "spec.successfulJobsHistoryLimit",
            json!({"default": 3, "minimum": 0}),
        ),
        rule(
            "spec.failedJobsHistoryLimit",
            json!({"default": 1, "minimum": 0}),
        ),
        rule("status.active", json!({"x-kubernetes-list-type": "atomic"})),
    ];
    rules.extend(job_spec("spec.jobTemplate.spec"));
    rules
}

/// B5.
pub(super) fn job_flow() -> Vec<FieldRule> {
    let flow = "spec.flows.*";
    let probe = format!("{flow}.dependsOn.probe");
    let mut rules = vec![
        required(flow, &["name"]),
        at_most_items("spec.flows", MAX_TASKS),
        rule(
            format!("{flow}.name"),
            json!({"minLength": 1, "maxLength": NAME_LENGTH}),
        ),
        one_of("spec.jobRetainPolicy", &["retain", "delete"]),
        one_of(
            "status.state.phase",
            &["Succeed", "Terminating", "Failed", "Running", "Pending"],
        ),
        at_least("status.jobStatusList.*.restartCount", 0),
        required(&format!("{probe}.tcpSocketList.*"), &["port"]),
        at_most_long(&format!("{probe}.taskStatusList.*.phase"), LABEL_LENGTH),
    ];
    for list in ["httpGetList", "tcpSocketList", "taskStatusList"] {
        rules.push(at_most_long(
            &format!("{probe}.{list}.*.taskName"),
            NAME_LENGTH,
        ));
    }
    for list in ["httpGetList", "tcpSocketList"] {
        rules.push(rule(
            format!("{probe}.{list}.*.port"),
            json!({"minimum": 0, "maximum": 65535}),
        ));
    }
    rules.extend(job_patch(&format!("{flow}.patch.jobSpec")));
    rules
}

/// B5.
pub(super) fn job_template() -> Vec<FieldRule> {
    let mut rules = job_spec("spec");
    rules.push(required("", &["spec"]));
    rules.push(required("spec", &["tasks"]));
    rules
}

/// B7.
pub(super) fn hyper_node() -> Vec<FieldRule> {
    let selector = "spec.members.*.selector";
    vec![
        required("", &["spec"]),
        required("spec", &["tier", "members"]),
        at_least("spec.tier", 0),
        at_most_long("spec.tierName", NAME_LENGTH),
        rule("spec.members", json!({"minItems": 1})),
        required("spec.members.*", &["type"]),
        one_of("spec.members.*.type", &["Node", "HyperNode"]),
        rule(
            selector,
            json!({"x-kubernetes-validations": [
                {
                    "rule": "has(self.exactMatch) || has(self.regexMatch) || has(self.labelMatch)",
                    "message":
                        "Either ExactMatch or RegexMatch or LabelMatch must be specified",
                },
                {
                    "rule": "(has(self.exactMatch) ? 1 : 0) + (has(self.regexMatch) ? 1 : 0) \
                        + (has(self.labelMatch) ? 1 : 0) <= 1",
                    "message":
                        "Only one of ExactMatch, RegexMatch, or LabelMatch can be specified",
                },
            ]}),
        ),
        required(&format!("{selector}.exactMatch"), &["name"]),
        rule(
            format!("{selector}.exactMatch.name"),
            json!({"minLength": 1, "maxLength": NAME_LENGTH, "pattern": SUBDOMAIN}),
        ),
        required(&format!("{selector}.regexMatch"), &["pattern"]),
        rule(
            format!("{selector}.regexMatch.pattern"),
            json!({"minLength": 1}),
        ),
        at_least("status.nodeCount", 0),
    ]
}

/// B8.
pub(super) fn numatopology() -> Vec<FieldRule> {
    counts("spec.cpuDetail.*", &["numa", "socket", "core"])
}

/// B9.
pub(super) fn node_shard() -> Vec<FieldRule> {
    vec![required("", &["spec"]), required("spec", &["nodesDesired"])]
}
