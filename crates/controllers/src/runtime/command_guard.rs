//! Whether the API server asks who opens and closes queues with Commands.
//!
//! A Command does not say who made it, and whoever may edit some namespace may make one there. Only the API
//! server knows who asks: its policy `pumice-commands` takes Commands for a queue from those alone who may
//! update that queue. So a Command is believed that was made while the policy and its binding were there.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::admissionregistration::v1::{
    MatchResources, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

/// Name of the policy and of its binding.
pub(crate) const NAME: &str = "pumice-commands";

/// API servers follow policies: one that was made is in force everywhere after this time.
const IN_FORCE_AFTER: SignedDuration = SignedDuration::from_secs(5);

/// What is read of a policy, or of the binding of one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandGuard {
    /// Metadata, of which name, UID, versions and the time it was made are kept.
    pub metadata: ObjectMeta,
    /// It refuses Commands for queues of everybody who may not update the queue.
    pub holds: bool,
}

impl From<ValidatingAdmissionPolicy> for CommandGuard {
    fn from(policy: ValidatingAdmissionPolicy) -> Self {
        let spec = policy.spec.unwrap_or_default();
        let asks = |expression: &str| {
            expression.contains("authorizer.group('scheduling.volcano.sh').resource('queues')")
                && expression.contains(".check('update').allowed()")
        };
        let sees_commands = spec.match_constraints.as_ref().is_some_and(|found| {
            let mut rules = found.resource_rules.iter().flatten();
            let names = |list: &Option<Vec<String>>, name: &str| {
                list.iter().flatten().any(|one| one == name)
            };
            takes_all(Some(found))
                && rules.any(|rule| {
                    names(&rule.api_groups, "bus.volcano.sh")
                        && names(&rule.api_versions, "*")
                        && names(&rule.resources, "commands")
                        && names(&rule.operations, "CREATE")
                        && rule.resource_names.is_none()
                })
        });
        let holds = sees_commands
            && spec.failure_policy.as_deref().unwrap_or("Fail") == "Fail"
            && spec.match_conditions.iter().flatten().next().is_none()
            && spec.param_kind.is_none()
            && spec
                .validations
                .iter()
                .flatten()
                .any(|one| asks(&one.expression));
        Self::new(policy.metadata, holds)
    }
}

impl From<ValidatingAdmissionPolicyBinding> for CommandGuard {
    fn from(binding: ValidatingAdmissionPolicyBinding) -> Self {
        let spec = binding.spec;
        let mut actions = spec.validation_actions.iter();
        let holds = spec.policy_name == NAME
            && spec.param_ref.is_none()
            && actions.any(|action| action == "Deny")
            && takes_all(spec.match_resources.as_ref());
        Self::new(binding.metadata, holds)
    }
}

impl CommandGuard {
    fn new(metadata: ObjectMeta, holds: bool) -> Self {
        let metadata = ObjectMeta {
            name: metadata.name,
            uid: metadata.uid,
            resource_version: metadata.resource_version,
            creation_timestamp: metadata.creation_timestamp,
            deletion_timestamp: metadata.deletion_timestamp,
            ..ObjectMeta::default()
        };
        Self { metadata, holds }
    }
}

/// Leaves no namespace and no object out.
fn takes_all(found: Option<&MatchResources>) -> bool {
    let is_open = |selector: &Option<LabelSelector>| {
        let rules = |selector: &LabelSelector| {
            selector.match_labels.iter().flatten().next().is_some()
                || selector.match_expressions.iter().flatten().next().is_some()
        };
        !selector.as_ref().is_some_and(rules)
    };
    found.is_none_or(|found| {
        let mut left_out = found.exclude_resource_rules.iter().flatten();
        is_open(&found.namespace_selector)
            && is_open(&found.object_selector)
            && left_out.next().is_none()
    })
}

/// Why a Command for a queue that was made then cannot be believed, with this policy and its binding; `None` if it
/// can.
pub(crate) fn doubt(
    policy: Option<&CommandGuard>,
    binding: Option<&CommandGuard>,
    made: Option<Timestamp>,
) -> Option<String> {
    let since = |found: Option<&CommandGuard>| -> Result<Timestamp, &'static str> {
        let found = found.ok_or("is missing, or may not be read")?;
        let meta = &found.metadata;
        match &meta.creation_timestamp {
            Some(created) if found.holds && meta.deletion_timestamp.is_none() => Ok(created.0),
            _ => Err("was changed and asks no longer"),
        }
    };
    let both = since(policy)
        .map_err(|what| format!("the ValidatingAdmissionPolicy {NAME} {what}"))
        .and_then(|policy| {
            since(binding)
                .map(|binding| policy.max(binding))
                .map_err(|what| format!("the ValidatingAdmissionPolicyBinding {NAME} {what}"))
        });
    let since = match both {
        Ok(since) => since,
        Err(problem) => {
            return Some(format!(
                "refused: nobody asks whether who made it may update the queue, since {problem}; install \
                 it (custom.vap_enable of the chart), or let everybody who may write Commands open and \
                 close queues (--unguarded-queue-commands=true of the controllers)"
            ));
        }
    };
    let in_force = since.checked_add(IN_FORCE_AFTER).unwrap_or(since);
    match made {
        Some(made) if made > in_force => None,
        _ => Some(format!(
            "refused: it was made before the policy {NAME} was in force, at {in_force}; make it again"
        )),
    }
}
