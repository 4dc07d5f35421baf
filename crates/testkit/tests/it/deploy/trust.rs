//! Who may write what counts: the policies know every annotation that is believed.

use serde_json::Value;

use super::rendered::render;
use super::{documents, read};

/// Where the keys are.
const TEMPLATE: &str = "deploy/helm/pumice/templates/_names.tpl";

fn policy(name: &str) -> Value {
    let mut all = documents("deploy/install.yaml").into_iter();
    let found = all.find(|object| {
        object["kind"] == "ValidatingAdmissionPolicy" && object["metadata"]["name"] == name
    });
    found.expect("the policy is there")
}

/// Beginning and end of a key with a `*`.
fn ends(key: &str) -> Vec<&str> {
    key.split('*').filter(|part| !part.is_empty()).collect()
}

#[test]
fn every_annotation_that_tells_what_a_pod_has_is_guarded() {
    let text = read(TEMPLATE);
    let mut keys: Vec<&str> = Vec::new();
    for spec in pumice_devices::FAMILIES {
        keys.extend(spec.records);
        for protocol in spec.protocols {
            keys.extend([protocol.bound_key, protocol.phase_key]);
            keys.extend(protocol.sequence_key);
            keys.extend(protocol.cleanup.iter().map(|(key, _)| *key));
        }
    }
    // What Enflame's device plugin reads besides.
    keys.extend([
        "assigned-containers",
        "enflame.com/gcu-assigned-id",
        "enflame.com/gcu-assigned-index",
        "enflame.com/gcu-assigned-minor",
        "enflame.com/gcu-request-size",
    ]);
    assert!(keys.len() > 15, "{keys:?}");
    for key in keys {
        let is_ascend = key.starts_with("huawei.com/Ascend");
        let parts = ends(if is_ascend { "huawei.com/Ascend" } else { key });
        for part in parts {
            assert!(text.contains(&format!("'{part}'")), "{key} is not guarded");
        }
    }
}

#[test]
fn the_values_switch_the_policies_and_name_whom_they_let_through() {
    let Some(helm) = std::env::var_os("HELM") else {
        return;
    };
    for (version, values, is_there) in [
        ("1.36.0", "", true),
        ("1.33.1", "", false),
        ("1.36.0", "custom.trust_enable=false", false),
        ("1.33.1", "custom.trust_enable=true", true),
    ] {
        let text = render(&helm, version, values);
        for name in [
            "pumice-device-annotations",
            "pumice-named-nodes",
            "pumice-statuses",
        ] {
            assert_eq!(text.contains(name), is_there, "{version} {values}: {name}");
        }
    }
    let named = "custom.trusted_users={jane},custom.trusted_groups={ops}";
    let text = render(&helm, "1.36.0", named);
    assert_eq!(text.matches("'jane'])").count(), 3);
    assert_eq!(text.matches("g in ['ops'])").count(), 3);
}

#[test]
fn every_name_of_the_scheduler_is_known_to_processes_and_policies() {
    let Some(helm) = std::env::var_os("HELM") else {
        return;
    };
    for (values, list, first) in [
        ("custom.scheduler_name=one", "['one']", "'one'"),
        ("custom.scheduler_name={one,two}", "['one', 'two']", "'one'"),
    ] {
        let text = render(&helm, "1.36.0", values);
        let ours = format!("object.spec.?schedulerName.orValue('') in {list}");
        // Budgets, gates, nodes that are named, and requests that pods wait for.
        assert_eq!(text.matches(&ours).count(), 4, "{values}");
        let filled_in = format!("path: '/spec/schedulerName', value: {first}}}");
        assert!(text.contains(&filled_in), "{values}");
        let flags = text.matches("- --scheduler-name=").count();
        assert_eq!(flags, 2 * list.split(", ").count(), "{values}");
    }
}

#[test]
fn controllers_make_pods_from_templates_of_users_and_are_not_let_through() {
    let stranger = |name: &str| {
        let policy = policy(name);
        let conditions = policy["spec"]["matchConditions"]
            .as_array()
            .expect("conditions")
            .clone();
        let [condition] = &conditions[..] else {
            panic!("{name} has other than one condition");
        };
        condition["expression"].as_str().expect("CEL").to_owned()
    };
    let (annotations, statuses) = (
        stranger("pumice-device-annotations"),
        stranger("pumice-statuses"),
    );
    for expression in [&annotations, &statuses] {
        assert!(expression.contains(":volcano-scheduler'"), "{expression}");
        assert!(expression.contains("'system:masters'"), "{expression}");
    }
    assert!(statuses.contains(":volcano-controllers'"), "{statuses}");
    assert!(!annotations.contains("controllers"), "{annotations}");
}
