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
    let mut rules = vec![
        at_most_long("spec.schedulerName", LABEL_LENGTH),
        at_least("spec.minAvailable", 0),
        at_least("spec.minSuccess", 1),
        rule(
            "spec.queue",
            json!({"default": "default", "maxLength": NAME_LENGTH, "pattern": SUBDOMAIN}),
        ),
        rule("spec.maxRetry", json!({"default": 3, "minimum": 0})),
        at_least("spec.ttlSecondsAfterFinished", 0),
        rule(
            "spec.priorityClassName",
            json!({"maxLength": NAME_LENGTH, "pattern": SUBDOMAIN}),
        ),
        required("spec.volumes.*", &["mountPath"]),
        rule(
            "spec.volumes.*.mountPath",
            json!({"minLength": 1, "pattern": "^[^:]+$"}),
        ),
        at_most_long("spec.volumes.*.volumeClaimName", NAME_LENGTH),
        rule("spec.tasks", json!({"minItems": 1})),
        required("status.conditions.*", &["status"]),
    ];
    rules.extend(tasks());
    rules.extend(policies("spec.policies.*"));
    rules.extend(policies("spec.tasks.*.policies.*"));
    rules.extend(network_topology("spec.networkTopology"));
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

/// `spec.tasks[]` of a Job.
fn tasks() -> Vec<FieldRule> {
    let partitions = "spec.tasks.*.partitionPolicy";
    let mut rules = vec![
        rule(
            "spec.tasks.*.name",
            json!({"maxLength": LABEL_LENGTH, "pattern": LABEL}),
        ),
        at_least("spec.tasks.*.replicas", 0),
        at_least("spec.tasks.*.minAvailable", 0),
        at_least("spec.tasks.*.maxRetry", 0),
        one_of(
            "spec.tasks.*.topologyPolicy",
            &["none", "best-effort", "restricted", "single-numa-node"],
        ),
        required(partitions, &["totalPartitions", "partitionSize"]),
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

/// Events of a LifecyclePolicy; its actions are the admission webhook's to check.
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
    vec![
        one_of(&format!("{path}.event"), &EVENTS),
        one_of(&format!("{path}.events.*"), &EVENTS),
    ]
}

/// B7.
pub(super) fn hyper_node() -> Vec<FieldRule> {
    let selector = "spec.members.*.selector";
    vec![
        required("spec", &["tier"]),
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
