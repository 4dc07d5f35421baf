//! The roles allow what the scheduler does and nothing else (spec/06 §3.7).

use std::collections::BTreeSet;

use pumice_devices::ReportMaps;
use serde_json::Value;

use super::{installed, read, strings};

const READS: [&str; 3] = ["get", "list", "watch"];

/// Everything the scheduler may change in the whole cluster: group, resource, verb.
const WRITES: [(&str, &str, &str); 28] = [
    ("", "events", "create"),
    ("", "events", "patch"),
    ("", "persistentvolumeclaims", "patch"),
    ("", "persistentvolumeclaims", "update"),
    ("", "persistentvolumes", "patch"),
    ("", "persistentvolumes", "update"),
    ("", "pods", "delete"),
    ("", "pods/binding", "create"),
    ("", "pods/eviction", "create"),
    ("", "pods/status", "patch"),
    ("", "pods/status", "update"),
    ("resource.k8s.io", "resourceclaims", "patch"),
    ("resource.k8s.io", "resourceclaims", "update"),
    ("resource.k8s.io", "resourceclaims/binding", "patch"),
    ("resource.k8s.io", "resourceclaims/binding", "update"),
    ("resource.k8s.io", "resourceclaims/status", "patch"),
    ("resource.k8s.io", "resourceclaims/status", "update"),
    ("scheduling.k8s.io", "compositepodgroups/status", "patch"),
    ("scheduling.k8s.io", "compositepodgroups/status", "update"),
    ("scheduling.k8s.io", "podgroups/status", "patch"),
    ("scheduling.k8s.io", "podgroups/status", "update"),
    ("scheduling.volcano.sh", "podgroups", "patch"),
    ("scheduling.volcano.sh", "podgroups", "update"),
    ("scheduling.volcano.sh", "queues", "create"),
    ("scheduling.volcano.sh", "queues/status", "patch"),
    ("scheduling.volcano.sh", "queues/status", "update"),
    ("shard.volcano.sh", "nodeshards/status", "patch"),
    ("shard.volcano.sh", "nodeshards/status", "update"),
];

/// Everything it watches (spec/01 §1.11): group, resource.
const WATCHED: [(&str, &str); 28] = [
    ("", "namespaces"),
    ("", "nodes"),
    ("", "persistentvolumeclaims"),
    ("", "persistentvolumes"),
    ("", "pods"),
    ("", "replicationcontrollers"),
    ("", "resourcequotas"),
    ("", "services"),
    ("apps", "replicasets"),
    ("apps", "statefulsets"),
    ("nodeinfo.volcano.sh", "numatopologies"),
    ("policy", "poddisruptionbudgets"),
    ("resource.k8s.io", "deviceclasses"),
    ("resource.k8s.io", "devicetaintrules"),
    ("resource.k8s.io", "resourceclaims"),
    ("resource.k8s.io", "resourceslices"),
    ("scheduling.k8s.io", "compositepodgroups"),
    ("scheduling.k8s.io", "podgroups"),
    ("scheduling.k8s.io", "priorityclasses"),
    ("scheduling.volcano.sh", "podgroups"),
    ("scheduling.volcano.sh", "queues"),
    ("shard.volcano.sh", "nodeshards"),
    ("storage.k8s.io", "csidrivers"),
    ("storage.k8s.io", "csinodes"),
    ("storage.k8s.io", "csistoragecapacities"),
    ("storage.k8s.io", "storageclasses"),
    ("storage.k8s.io", "volumeattachments"),
    ("topology.volcano.sh", "hypernodes"),
];

/// Everything the controllers may change in the whole cluster: group, resources,
/// verbs.
const CONTROLLER_WRITES: [(&str, &str, &str); 23] = [
    ("", "podtemplates", "create delete patch"),
    (
        "autoscaling.x-k8s.io",
        "provisioningrequests",
        "create delete",
    ),
    ("", "configmaps services", "create patch"),
    // Who may patch a Secret may read it.
    ("", "secrets", "create"),
    ("", "events", "create patch"),
    ("", "persistentvolumeclaims", "create"),
    ("", "pods", "create delete patch"),
    ("", "pods/finalizers", "update"),
    (
        "apps",
        "daemonsets/finalizers replicasets/finalizers statefulsets/finalizers",
        "update",
    ),
    ("batch", "jobs/finalizers", "update"),
    (
        "batch.volcano.sh",
        "cronjobs/finalizers jobs/finalizers",
        "update",
    ),
    ("batch.volcano.sh", "jobs", "create delete patch"),
    ("batch.volcano.sh", "jobs/status", "patch"),
    ("batch.volcano.sh", "cronjobs/status", "update"),
    ("bus.volcano.sh", "commands", "delete"),
    ("flow.volcano.sh", "jobflows/finalizers", "update"),
    (
        "flow.volcano.sh",
        "jobflows/status jobtemplates/status",
        "update",
    ),
    ("networking.k8s.io", "networkpolicies", "create patch"),
    ("scheduling.volcano.sh", "podgroups", "create delete patch"),
    ("scheduling.volcano.sh", "queues", "patch"),
    ("scheduling.volcano.sh", "queues/status", "patch"),
    ("topology.volcano.sh", "hypernodes", "create delete patch"),
    ("topology.volcano.sh", "hypernodes/status", "patch"),
];

/// What they watch, which is all they read.
const CONTROLLER_WATCHES: [(&str, &str); 11] = [
    ("autoscaling.x-k8s.io", "provisioningrequests"),
    ("", "namespaces nodes persistentvolumeclaims pods"),
    (
        "admissionregistration.k8s.io",
        "validatingadmissionpolicies validatingadmissionpolicybindings",
    ),
    ("apps", "daemonsets replicasets statefulsets"),
    ("batch", "jobs"),
    ("batch.volcano.sh", "cronjobs jobs"),
    ("bus.volcano.sh", "commands"),
    ("flow.volcano.sh", "jobflows jobtemplates"),
    ("scheduling.k8s.io", "podgroups priorityclasses"),
    ("scheduling.volcano.sh", "podgroups queues"),
    ("topology.volcano.sh", "hypernodes"),
];

/// Group, resource and verb of every permission of a role.
fn permissions(role: &Value) -> BTreeSet<(String, String, String)> {
    let mut all = BTreeSet::new();
    for rule in role["rules"].as_array().expect("rules") {
        assert_eq!(rule.get("nonResourceURLs"), None);
        for group in strings(&rule["apiGroups"]) {
            for resource in strings(&rule["resources"]) {
                for verb in strings(&rule["verbs"]) {
                    all.insert((group.clone(), resource.clone(), verb));
                }
            }
        }
    }
    all
}

#[test]
fn the_cluster_role_allows_these_writes_and_no_other() {
    let role = installed("ClusterRole", "volcano-scheduler");
    let writes: BTreeSet<_> = permissions(&role)
        .into_iter()
        .filter(|(_, _, verb)| !READS.contains(&verb.as_str()))
        .collect();
    let expected = WRITES
        .map(|(group, resource, verb)| (group.to_owned(), resource.to_owned(), verb.to_owned()));
    assert_eq!(writes, BTreeSet::from(expected));
}

#[test]
fn the_cluster_role_reads_what_is_watched_and_nothing_else() {
    let role = installed("ClusterRole", "volcano-scheduler");
    let all = permissions(&role);
    let read: BTreeSet<(&str, &str)> = all
        .iter()
        .filter(|(_, resource, verb)| READS.contains(&verb.as_str()) && resource != "leases")
        .map(|(group, resource, _)| (group.as_str(), resource.as_str()))
        .collect();
    assert_eq!(read, BTreeSet::from(WATCHED));
    for (group, resource) in WATCHED {
        for verb in ["list", "watch"] {
            let key = (group.to_owned(), resource.to_owned(), verb.to_owned());
            assert!(all.contains(&key), "{verb} {resource}");
        }
    }
}

/// Every combination of a row's words.
fn rows(table: &[(&str, &str, &str)]) -> BTreeSet<(String, String, String)> {
    let mut all = BTreeSet::new();
    for (group, resources, verbs) in table {
        for resource in resources.split(' ') {
            for verb in verbs.split(' ') {
                all.insert(((*group).to_owned(), resource.to_owned(), verb.to_owned()));
            }
        }
    }
    all
}

#[test]
fn the_role_of_the_controllers_allows_what_they_write_and_watch_and_nothing_else() {
    let mut expected = rows(&CONTROLLER_WRITES);
    let watched = CONTROLLER_WATCHES.map(|(group, resources)| (group, resources, "get list watch"));
    expected.extend(rows(&watched));
    let role = installed("ClusterRole", "volcano-controllers");
    assert_eq!(permissions(&role), expected);
    let lease = installed("Role", "volcano-controllers");
    // Where Volcano's have theirs, so that only one of both acts.
    assert_eq!(lease["metadata"]["namespace"], "volcano-system");
    let names: Vec<_> = lease["rules"].as_array().expect("rules").iter().collect();
    assert_eq!(
        strings(&names[1]["resourceNames"]),
        ["vc-controller-manager"]
    );
    let all = [("coordination.k8s.io", "leases", "create get update")];
    assert_eq!(permissions(&lease), rows(&all));
    let configuration = installed("Role", "volcano-controllers-config");
    assert_eq!(
        permissions(&configuration),
        rows(&[("", "configmaps", "get list watch")])
    );
}

#[test]
fn of_leases_the_cluster_role_may_only_get_that_of_volcanos_controllers() {
    let role = installed("ClusterRole", "volcano-scheduler");
    let rules = role["rules"].as_array().expect("rules").iter();
    let leases = rules.filter(|rule| strings(&rule["resources"]) == ["leases"]);
    let allowed: Vec<_> = leases
        .map(|rule| (strings(&rule["resourceNames"]), strings(&rule["verbs"])))
        .collect();
    let only = (
        vec!["vc-controller-manager".to_owned()],
        vec!["get".to_owned()],
    );
    assert_eq!(allowed, [only]);
}

#[test]
fn no_role_has_wildcards_or_reaches_secrets_definitions_or_roles() {
    for kind in ["ClusterRole", "Role"] {
        for (group, resource, verb) in permissions(&installed(kind, "volcano-scheduler")) {
            for part in [&group, &resource, &verb] {
                assert!(!part.contains('*'), "{kind}: {group} {resource} {verb}");
            }
            assert_ne!(resource, "secrets");
            assert_ne!(group, "apiextensions.k8s.io");
            assert_ne!(group, "rbac.authorization.k8s.io");
            assert!(kind == "Role" || resource != "configmaps");
        }
    }
}

#[test]
fn in_its_namespace_it_may_use_its_lease_and_read_its_own_configuration() {
    let role = installed("Role", "volcano-scheduler");
    let rules = role["rules"].as_array().expect("rules");
    let found: Vec<_> = rules
        .iter()
        .map(|rule| {
            let field = |name: &str| strings(&rule[name]).join(",");
            [field("resources"), field("resourceNames"), field("verbs")].join(" ")
        })
        .collect();
    let expected = [
        "leases  create",
        "leases volcano get,update",
        "configmaps volcano-scheduler-configmap,volcano-scheduler-mix get,list,watch",
        "configmaps volcano-scheduler-counted,volcano-scheduler-used,volcano-scheduler-places,volcano-scheduler-run-times \
         get,list,watch,patch",
    ];
    assert_eq!(found, expected);
}

#[test]
fn where_device_plugins_live_it_may_read_their_configuration_and_nothing_else() {
    let role = installed("Role", "volcano-scheduler-devices");
    assert_eq!(role["metadata"]["namespace"], "kube-system");
    let rules = role["rules"].as_array().expect("rules");
    assert_eq!(rules.len(), 1);
    assert_eq!(strings(&rules[0]["resources"]), ["configmaps"]);
    let only = strings(&rules[0]["resourceNames"]);
    assert_eq!(
        only,
        ["volcano-vgpu-device-config", "hami-scheduler-device"]
    );
    assert_eq!(strings(&rules[0]["verbs"]), READS);
}

#[test]
fn what_nodes_use_it_may_read_behind_the_api_server_only_where_that_is_wanted() {
    assert!(!read("deploy/install.yaml").contains("custom.metrics.k8s.io"));
    let template = read("deploy/helm/pumice/templates/rbac.yaml");
    let start = "{{- if .Values.custom.scheduler_custom_metrics_enable }}";
    let (_, rule) = template.split_once(start).expect("it is there");
    let (rule, _) = rule.split_once("{{- end }}").expect("it ends");
    assert!(rule.contains("apiGroups: [custom.metrics.k8s.io]"));
    assert!(rule.contains("resources: [nodes/node_cpu_usage_avg, nodes/node_memory_usage_avg]"));
    assert!(rule.contains("verbs: [get, list]"));
    assert_eq!(rule.matches("verbs:").count(), 1);
}

#[test]
fn of_cluster_d_it_may_read_what_it_follows_and_only_where_that_is_wanted() {
    assert!(!read("deploy/install.yaml").contains("mindx-dl"));
    let template = read("deploy/helm/pumice/templates/rbac.yaml");
    let start = "{{- if .Values.custom.scheduler_mindcluster_enable }}";
    let (_, role) = template.split_once(start).expect("it is there");
    assert_eq!(role.matches("resourceNames:").count(), 1);
    assert_eq!(role.matches("verbs:").count(), 1);
    assert!(role.contains("verbs: [get, list, watch]"));
    let mut settings = pumice_devices::Settings::default();
    settings.mind_cluster.enabled = true;
    let followed = pumice_devices::families::report_places(&settings);
    assert_eq!(followed.len(), 11);
    for place in followed {
        assert_eq!(place.namespace, "mindx-dl");
        let ReportMaps::Named(name) = &place.maps else {
            panic!("{place:?}");
        };
        let numbered = name.strip_prefix("cluster-info-device-");
        let is_named = match numbered.and_then(|number| number.parse::<u32>().ok()) {
            Some(number) => {
                number < 10
                    && role.contains("{{- range until 10 }}\n  - cluster-info-device-{{ . }}\n")
            }
            None => role.contains(&format!("\n  - {name}\n")),
        };
        assert!(is_named, "{place:?}");
    }
}

#[test]
fn without_cluster_d_it_may_read_what_nodes_tell_and_only_where_that_is_wanted() {
    let template = read("deploy/helm/pumice/templates/rbac.yaml");
    let start = "{{- if .Values.custom.scheduler_mindcluster_nodes_enable }}";
    let (_, role) = template.split_once(start).expect("it is there");
    let (role, _) = role
        .split_once("{{- if .Values.custom.scheduler_mindcluster_enable }}")
        .expect("it comes next");
    assert_eq!(role.matches("resources: [configmaps]").count(), 1);
    assert_eq!(role.matches("verbs: [list, watch]").count(), 1);
    assert_eq!(role.matches("verbs:").count(), 1);
    let mut settings = pumice_devices::Settings::default();
    settings.mind_cluster.enabled = true;
    settings.mind_cluster.use_cluster_info_manager = false;
    let followed = pumice_devices::families::report_places(&settings);
    let namespaces: Vec<String> = followed
        .iter()
        .map(|place| format!("\"{}\"", place.namespace))
        .collect();
    let list = format!("range $namespace := list {} }}}}", namespaces.join(" "));
    assert!(role.contains(&list), "{list}");
}

#[test]
fn the_roles_are_bound_to_the_account_the_pod_runs_under() {
    for account in ["volcano-scheduler", "volcano-controllers"] {
        let pod = &installed("Deployment", account)["spec"]["template"]["spec"];
        assert_eq!(pod["serviceAccountName"], account);
    }
    for (kind, name, role, role_name) in [
        (
            "ClusterRoleBinding",
            "volcano-controllers-role",
            "ClusterRole",
            "volcano-controllers",
        ),
        (
            "RoleBinding",
            "volcano-controllers",
            "Role",
            "volcano-controllers",
        ),
        (
            "RoleBinding",
            "volcano-controllers-config",
            "Role",
            "volcano-controllers-config",
        ),
        (
            "ClusterRoleBinding",
            "volcano-scheduler-role",
            "ClusterRole",
            "volcano-scheduler",
        ),
        (
            "RoleBinding",
            "volcano-scheduler",
            "Role",
            "volcano-scheduler",
        ),
        (
            "RoleBinding",
            "volcano-scheduler-devices",
            "Role",
            "volcano-scheduler-devices",
        ),
    ] {
        let binding = installed(kind, name);
        let account = match name.starts_with("volcano-controllers") {
            true => installed("ServiceAccount", "volcano-controllers"),
            false => installed("ServiceAccount", "volcano-scheduler"),
        };
        assert_eq!(binding["roleRef"]["kind"], role);
        assert_eq!(binding["roleRef"]["name"], role_name);
        let subjects = binding["subjects"].as_array().expect("subjects");
        assert_eq!(subjects.len(), 1);
        assert_eq!(subjects[0]["kind"], "ServiceAccount");
        for field in ["name", "namespace"] {
            assert_eq!(subjects[0][field], account["metadata"][field], "{kind}");
        }
    }
}
