//! `deploy/install.yaml` is the chart, rendered: what may be applied and deleted at any time. What
//! is made once and then belongs to the cluster stands apart, in `deploy/once` and `config/crd`.

use serde_json::{Value, json};

use super::rendered::{CONFIGURATION, FILE, render};
use super::{documents, files, installed, read};

const NAMESPACE: &str = "deploy/once/namespace.yaml";

/// Flags of vc-controller-manager that the chart uses.
pub(super) const CONTROLLERS: [&str; 13] = [
    "scheduler-name",
    "controllers",
    "inherit-owner-annotations",
    "kube-api-qps",
    "kube-api-burst",
    "worker-threads",
    "worker-threads-for-gc",
    "worker-threads-for-podgroup",
    "enable-healthz",
    "enable-metrics",
    "leader-elect",
    "logtostderr",
    "v",
];

/// The flags of the chart that are ours: Volcano's scheduler reads a mounted file, and has no page.
pub(super) const OURS: [&str; 2] = ["scheduler-configmap", "enable-ui"];

/// Flags of vc-scheduler (spec/01 §1.1).
pub(super) const FLAGS: [&str; 47] = [
    "master",
    "kubeconfig",
    "ca-cert-file",
    "tls-cert-file",
    "tls-private-key-file",
    "scheduler-name",
    "scheduler-conf",
    "schedule-period",
    "resync-period",
    "default-queue",
    "version",
    "listen-address",
    "healthz-address",
    "enable-healthz",
    "enable-metrics",
    "enable-pprof",
    "priority-class",
    "csi-storage",
    "kube-api-qps",
    "kube-api-burst",
    "minimum-feasible-nodes",
    "minimum-percentage-nodes-to-find",
    "percentage-nodes-to-find",
    "plugins-dir",
    "node-selector",
    "cache-dumper",
    "cache-dump-dir",
    "node-worker-threads",
    "gate-removal-worker-num",
    "ignored-provisioners",
    "resource-sync-timeout",
    "disable-default-scheduler-config",
    "scheduler-sharding-mode",
    "scheduler-sharding-name",
    "lock-object-namespace",
    "leader-elect",
    "leader-elect-lease-duration",
    "leader-elect-renew-deadline",
    "leader-elect-retry-period",
    "leader-elect-resource-lock",
    "leader-elect-resource-name",
    "leader-elect-resource-namespace",
    "feature-gates",
    "log-flush-frequency",
    "logtostderr",
    "vmodule",
    "v",
];

#[test]
fn each_half_can_be_left_out_and_older_servers_get_what_they_know() {
    let Some(helm) = std::env::var_os("HELM") else {
        return;
    };
    let (scheduler, controllers) = ("app: volcano-scheduler", "app: volcano-controller");
    let policies = "kind: ValidatingAdmissionPolicy\n";
    let mutations = "kind: MutatingAdmissionPolicy\n";
    let all = [scheduler, controllers, policies, mutations];
    let cases: [(&str, &str, &[&str]); 6] = [
        ("1.36.0", "", &all),
        ("1.35.9", "", &[scheduler, controllers, policies]),
        ("1.33.1", "", &[scheduler, controllers]),
        (
            "1.33.1",
            "custom.map_enable=true",
            &[scheduler, controllers, mutations],
        ),
        (
            "1.36.0",
            "custom.controller_enable=false,custom.vap_enable=false,custom.map_enable=false",
            &[scheduler],
        ),
        (
            "1.36.0",
            "custom.scheduler_enable=false,custom.scheduler_user_roles_enable=false",
            &[controllers, policies, mutations],
        ),
    ];
    for (version, values, expected) in cases {
        let text = render(&helm, version, values);
        for part in all {
            let is_there = text.contains(part);
            assert_eq!(
                is_there,
                expected.contains(&part),
                "{version} {values}: {part}"
            );
        }
        // Without the policy nobody may close queues by Commands who may only edit a namespace.
        let may_command = text.contains("resources: [commands]\n  verbs: [create, delete]");
        let has_roles = !values.contains("user_roles");
        assert_eq!(
            may_command,
            has_roles && expected.contains(&policies),
            "{version} {values}"
        );
    }
}

/// Nobody would take the gate away again.
#[test]
fn pods_get_gates_only_where_the_controller_runs_that_opens_them() {
    let Some(helm) = std::env::var_os("HELM") else {
        return;
    };
    let controllers = |list: &str| format!("custom.controller_enabled_controllers={list}");
    let gates = |value: &str| {
        let gate = "custom.controller_extra_args={--feature-gates=SchedulingGatesQueueAdmission";
        format!("{gate}={value}}}")
    };
    for (values, has_policy) in [
        (String::new(), true),
        (controllers("*"), true),
        (controllers("-job-controller"), true),
        (controllers(r"job-controller\,*"), true),
        (
            controllers(r"job-controller\, +queue-gate-controller"),
            true,
        ),
        (controllers("-queue-gate-controller"), false),
        (controllers(r"*\,-queue-gate-controller"), false),
        (
            controllers(r"-queue-gate-controller\,queue-gate-controller"),
            false,
        ),
        (controllers("job-controller"), false),
        (gates("true"), true),
        (gates("false"), false),
        ("custom.controller_enable=false".to_owned(), false),
    ] {
        let text = render(&helm, "1.36.0", &values);
        let is_there = text.contains("name: pumice-queue-gates");
        assert_eq!(is_there, has_policy, "{values}");
    }
}

/// Nobody would make the request.
#[test]
fn pods_wait_for_a_provisioning_request_only_where_the_controller_runs_that_makes_it() {
    let Some(helm) = std::env::var_os("HELM") else {
        return;
    };
    for (list, has_policy) in [
        ("*", true),
        ("job-controller", false),
        ("-provisioning-controller", false),
        ("-queue-gate-controller", true),
    ] {
        let values = format!("custom.controller_enabled_controllers={list}");
        let text = render(&helm, "1.36.0", &values);
        let is_there = text.contains("name: pumice-provisioning");
        assert_eq!(is_there, has_policy, "{values}");
    }
}

#[test]
fn the_objects_are_those_a_volcano_user_knows() {
    let mut found: Vec<String> = documents(FILE)
        .iter()
        .map(|object| {
            let field = |name: &str| object["metadata"][name].as_str().unwrap_or("-");
            let kind = object["kind"].as_str().expect("a kind");
            format!("{kind} {}/{}", field("namespace"), field("name"))
        })
        .collect();
    found.sort();
    found.retain(|object| !object.contains("AdmissionPolicy"));
    let expected = [
        "ClusterRole -/volcano-controllers",
        "ClusterRole -/volcano-scheduler",
        "ClusterRole -/volcano-scheduler-dump",
        "ClusterRole -/volcano-scheduler-edit",
        "ClusterRole -/volcano-scheduler-explain",
        "ClusterRole -/volcano-scheduler-view",
        "ClusterRoleBinding -/volcano-controllers-auth-delegator",
        "ClusterRoleBinding -/volcano-controllers-role",
        "ClusterRoleBinding -/volcano-scheduler-auth-delegator",
        "ClusterRoleBinding -/volcano-scheduler-dump",
        "ClusterRoleBinding -/volcano-scheduler-explain",
        "ClusterRoleBinding -/volcano-scheduler-role",
        "Deployment volcano-system/volcano-controllers",
        "Deployment volcano-system/volcano-scheduler",
        "NetworkPolicy volcano-system/volcano-controllers",
        "NetworkPolicy volcano-system/volcano-scheduler",
        "Role kube-system/volcano-scheduler-devices",
        "Role volcano-system/volcano-controllers",
        "Role volcano-system/volcano-controllers-config",
        "Role volcano-system/volcano-scheduler",
        "Role volcano-system/volcano-scheduler-dump",
        "Role volcano-system/volcano-scheduler-explain",
        "RoleBinding kube-system/volcano-scheduler-devices",
        "RoleBinding volcano-system/volcano-controllers",
        "RoleBinding volcano-system/volcano-controllers-config",
        "RoleBinding volcano-system/volcano-scheduler",
        "Service volcano-system/volcano-controllers-service",
        "Service volcano-system/volcano-scheduler-service",
        "ServiceAccount volcano-system/volcano-controllers",
        "ServiceAccount volcano-system/volcano-scheduler",
        "ServiceAccount volcano-system/volcano-scheduler-dump",
        "ServiceAccount volcano-system/volcano-scheduler-explain",
    ];
    assert_eq!(found, expected);
}

#[test]
fn every_policy_is_bound_once_and_denies_or_warns() {
    let all = documents(FILE);
    let of = |kind: &str| -> Vec<&Value> {
        all.iter().filter(|object| object["kind"] == kind).collect()
    };
    for (kind, count) in [
        ("ValidatingAdmissionPolicy", 17),
        ("MutatingAdmissionPolicy", 5),
    ] {
        let policies = of(kind);
        assert_eq!(policies.len(), count, "{kind}");
        let bindings = of(&format!("{kind}Binding"));
        for policy in policies {
            let name = &policy["metadata"]["name"];
            // What is not filled in the controllers take as filled in.
            let only_warns = name == "pumice-queue-resources";
            // The controllers say of such Jobs what these say earlier.
            let told_later = name == "pumice-job-templates" || name == "pumice-job-queues";
            let on_failure = match kind {
                "ValidatingAdmissionPolicy" if !only_warns && !told_later => "Fail",
                _ => "Ignore",
            };
            assert_eq!(policy["spec"]["failurePolicy"], on_failure, "{name}");
            let bound = bindings
                .iter()
                .filter(|binding| binding["spec"]["policyName"] == *name);
            let bound: Vec<_> = bound.collect();
            assert_eq!(bound.len(), 1, "{name}");
            if kind == "ValidatingAdmissionPolicy" {
                // A name that no node has today may be one of tomorrow's.
                let action = if only_warns { "Warn" } else { "Deny" };
                assert_eq!(bound[0]["spec"]["validationActions"], json!([action]));
            }
        }
    }
}

#[test]
fn every_definition_outlives_the_chart() {
    for file in files("config/crd") {
        for definition in documents(&format!("config/crd/{file}")) {
            let annotations = &definition["metadata"]["annotations"];
            assert_eq!(annotations["helm.sh/resource-policy"], "keep", "{file}");
        }
    }
}

#[test]
fn what_is_applied_and_deleted_holds_nothing_that_belongs_to_users() {
    let kept = ["CustomResourceDefinition", "Namespace", "ConfigMap"];
    for object in documents(FILE) {
        let kind = object["kind"].as_str().expect("a kind");
        assert!(
            !kept.contains(&kind),
            "{kind} {}",
            object["metadata"]["name"]
        );
        let app = object["metadata"]["labels"]["app"]
            .as_str()
            .expect("a label");
        assert!(
            [
                "volcano-scheduler",
                "volcano-controller",
                "volcano-admission"
            ]
            .contains(&app)
        );
    }
}

#[test]
fn what_is_made_once_is_one_object_a_file_and_not_found_by_the_label_of_a_version() {
    for (file, kind) in [(NAMESPACE, "Namespace"), (CONFIGURATION, "ConfigMap")] {
        let objects = documents(file);
        assert_eq!(objects.len(), 1, "{file}");
        assert_eq!(objects[0]["kind"], kind);
        assert_eq!(objects[0]["metadata"]["labels"].get("app"), None, "{file}");
    }
    let made_once = files("deploy/once");
    assert_eq!(made_once, ["configuration.yaml", "namespace.yaml"]);
}

#[test]
fn the_configuration_is_the_one_of_the_repository() {
    let configuration = read("config/volcano-scheduler.conf");
    let map = documents(CONFIGURATION).remove(0);
    assert_eq!(map["metadata"]["name"], "volcano-scheduler-configmap");
    let annotations = &map["metadata"]["annotations"];
    assert_eq!(annotations["helm.sh/resource-policy"], "keep");
    assert_eq!(
        map["data"]["volcano-scheduler.conf"].as_str(),
        Some(configuration.as_str())
    );
    assert_eq!(
        read("deploy/helm/pumice/config/volcano-scheduler.conf"),
        configuration
    );
}

fn container() -> Value {
    installed("Deployment", "volcano-scheduler")["spec"]["template"]["spec"]["containers"][0]
        .clone()
}

#[test]
fn the_scheduler_is_started_as_volcano_starts_its_own_but_watches_its_config_map() {
    let container = container();
    assert_eq!(container["name"], "volcano-scheduler");
    assert_eq!(container.get("command"), None, "the image has it");
    let args = super::strings(&container["args"]);
    for expected in [
        "--scheduler-configmap=volcano-system/volcano-scheduler-configmap",
        "--enable-healthz=true",
        "--enable-metrics=true",
        "--leader-elect=true",
        "--leader-elect-resource-namespace=volcano-system",
        "-v=3",
    ] {
        assert!(args.contains(&expected.to_owned()), "{expected}: {args:?}");
    }
    for arg in args {
        let flag = arg.trim_start_matches('-').split('=').next();
        let known = flag.is_some_and(|flag| OURS.contains(&flag) || FLAGS.contains(&flag));
        assert!(known, "{arg}");
    }
}

#[test]
fn the_controllers_are_the_other_binary_of_the_same_image() {
    let of = |name: &str| {
        installed("Deployment", name)["spec"]["template"]["spec"]["containers"][0].clone()
    };
    let (controllers, scheduler) = (of("volcano-controllers"), of("volcano-scheduler"));
    assert_eq!(controllers["image"], scheduler["image"]);
    assert_eq!(controllers["command"], json!(["/vc-controller-manager"]));
    assert!(read("deploy/release/assemble.py").contains("\"vc-controller-manager\""));
    let args = super::strings(&controllers["args"]);
    assert!(args.contains(&"--leader-elect=true".to_owned()), "{args:?}");
    for arg in args {
        let flag = arg.trim_start_matches('-').split('=').next();
        assert!(
            flag.is_some_and(|flag| CONTROLLERS.contains(&flag)),
            "{arg}"
        );
    }
}

#[test]
fn pods_keep_to_the_restricted_profile_with_a_read_only_root() {
    for name in ["volcano-scheduler", "volcano-controllers"] {
        is_restricted(&installed("Deployment", name)["spec"]["template"]["spec"]);
    }
}

fn is_restricted(pod: &Value) {
    assert_eq!(
        pod["securityContext"],
        json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}})
    );
    assert_eq!(
        pod["containers"][0]["securityContext"],
        json!({
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": true,
            "runAsGroup": 65532,
            "runAsNonRoot": true,
            "runAsUser": 65532,
        })
    );
    for field in ["hostNetwork", "hostPID", "hostIPC"] {
        assert_eq!(pod.get(field), None, "{field}");
    }
    let volumes = pod["volumes"].as_array().expect("volumes");
    for volume in volumes {
        let harmless = volume.get("configMap").or(volume.get("emptyDir"));
        assert!(harmless.is_some(), "{volume}");
    }
}

#[test]
fn what_pods_mount_and_probe_exists() {
    for (name, port) in [
        ("volcano-scheduler", "8080"),
        ("volcano-controllers", "8081"),
    ] {
        mounts_and_probes_exist(name, port);
    }
}

fn mounts_and_probes_exist(name: &str, metrics: &str) {
    let pod = &installed("Deployment", name)["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let names = |list: &Value| -> Vec<Value> {
        let items = list.as_array().expect("a list").iter();
        items.map(|item| item["name"].clone()).collect()
    };
    assert_eq!(names(&container["volumeMounts"]), names(&pod["volumes"]));
    for (probe, path) in [
        ("startupProbe", "/livez"),
        ("livenessProbe", "/livez"),
        ("readinessProbe", "/readyz"),
    ] {
        let get = &container[probe]["httpGet"];
        assert_eq!(get["path"], path, "{probe}");
        // The one where nobody keeps a kubelet from its answer.
        assert_eq!(get["port"], "probes", "{probe}");
        assert!(names(&container["ports"]).contains(&get["port"]), "{probe}");
    }
    let service = installed("Service", &format!("{name}-service"));
    let port = &service["spec"]["ports"][0];
    assert_eq!(port["port"].to_string(), metrics);
    assert!(names(&container["ports"]).contains(&port["targetPort"]));
    assert_eq!(
        service["metadata"]["annotations"]["prometheus.io/port"],
        metrics
    );
}

#[test]
fn the_image_swap_changes_image_and_command_and_adds_our_probes_only() {
    let ours = [
        "image",
        "livenessProbe",
        "name",
        "ports",
        "readinessProbe",
        "startupProbe",
    ];
    for (file, deployment, fields) in [
        ("patch.yaml", "volcano-scheduler", ours.to_vec()),
        (
            "controllers.yaml",
            "volcano-controllers",
            [&["command"], &ours[..]].concat(),
        ),
    ] {
        let patch = documents(&format!("deploy/image-swap/{file}")).remove(0);
        assert_eq!(patch["metadata"]["name"], deployment);
        let patched = &patch["spec"]["template"]["spec"]["containers"][0];
        let full = installed("Deployment", deployment);
        let full = &full["spec"]["template"]["spec"]["containers"][0];
        let patched = patched.as_object().expect("a container");
        let names: Vec<&str> = patched.keys().map(String::as_str).collect();
        assert_eq!(names, fields, "{file}");
        for (name, value) in patched {
            assert_eq!(*value, full[name], "{file}: {name}");
        }
    }
}
