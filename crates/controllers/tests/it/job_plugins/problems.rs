//! Mistakes in `spec.plugins`: each is told with its field, its value and what is allowed.

use pumice_controllers::job::{doubts, plugins};
use serde_json::{Value, json};

use super::{env, job, pod, task};

fn problems(flags: Value) -> Vec<String> {
    let tasks = json!([task("master", 1), task("worker", 2)]);
    let problems = plugins::problems(&job(flags, tasks));
    problems.iter().map(ToString::to_string).collect()
}

/// Each list of plugins has this first problem.
fn told(cases: &[(Value, &str)]) {
    for (flags, expected) in cases {
        let told = problems(flags.clone());
        assert_eq!(told.first().map(String::as_str), Some(*expected), "{flags}");
    }
}

#[test]
fn each_mistake_has_its_words() {
    told(&[
        (
            json!({"scv": []}),
            "spec.plugins.scv: there is no such plugin; use env, svc, ssh, pytorch, tensorflow, \
             mpi, hcclrank, ray",
        ),
        (
            json!({"svc": ["--inject-hosts-env", "--disable-network-policy=yes"]}),
            "spec.plugins.svc[1]: \"yes\" is no value of \"--disable-network-policy\": write true \
             or false",
        ),
        (
            json!({"pytorch": ["--port=70000"]}),
            "spec.plugins.pytorch[0]: \"70000\" is no value of \"--port\": write a port from 1 to \
             65535",
        ),
        (
            json!({"ssh": ["--ssh-port", "0"]}),
            "spec.plugins.ssh[0]: \"0\" is no value of \"--ssh-port\": write a port from 1 to \
             65535",
        ),
        (
            json!({"ssh": ["--ssh-port"]}),
            "spec.plugins.ssh[0]: \"--ssh-port\" needs a value: a port from 1 to 65535",
        ),
        (
            json!({"ssh": ["--ssh-key-file-path=keys"]}),
            "spec.plugins.ssh[0]: \"keys\" is no absolute path without ':'",
        ),
        (
            json!({"ssh": ["-ssh-private-key=x"]}),
            "spec.plugins.ssh[0]: \"--ssh-private-key\" is one half of a pair: write \
             \"--ssh-public-key\" too, or none of them for a new pair",
        ),
    ]);
}

#[test]
fn a_flag_that_a_plugin_does_not_have_is_told_and_the_job_runs() {
    let cases = [
        (
            json!({"svc": ["", "--publish-not-ready=true"]}),
            "spec.plugins.svc[0]: \"\" is no flag; use --publish-not-ready-addresses, \
             --disable-network-policy, --inject-hosts-env",
        ),
        (
            json!({"svc": ["--publish-not-ready=true"]}),
            "spec.plugins.svc[0]: there is no flag \"--publish-not-ready\"; use \
             --publish-not-ready-addresses, --disable-network-policy, --inject-hosts-env",
        ),
        (
            json!({"env": ["--all"]}),
            "spec.plugins.env[0]: there is no flag \"--all\"; this plugin takes none",
        ),
        (
            json!({"ssh": ["--no-root", "--ssh-port=2222"]}),
            "spec.plugins.ssh[0]: there is no flag \"--no-root\"; use --ssh-key-file-path, \
             --ssh-private-key, --ssh-public-key, --ssh-port",
        ),
    ];
    for (flags, expected) in cases {
        assert_eq!(problems(flags.clone()), Vec::<String>::new(), "{flags}");
        let tasks = json!([task("master", 1), task("worker", 2)]);
        let doubts = doubts(&job(flags.clone(), tasks));
        let told: Vec<String> = doubts.iter().map(ToString::to_string).collect();
        let help = "; correct or remove it: the plugin runs without it";
        let told = told.first().and_then(|told| told.strip_suffix(help));
        assert_eq!(told, Some(expected), "{flags}");
    }
}

#[test]
fn what_a_flag_names_has_to_be_there() {
    told(&[
        (
            json!({"pytorch": ["--master=boss"]}),
            "spec.plugins.pytorch[0]: there is no task \"boss\"; the tasks are master, worker",
        ),
        (
            json!({"pytorch": ["--wait-master-timeout=-1"]}),
            "spec.plugins.pytorch[0]: \"-1\" is no value of \"--wait-master-timeout\": write \
             seconds from 1 to 2147483647",
        ),
        (
            json!({"ray": []}),
            "spec.plugins.ray: there is no task \"head\" to be the head; name one with \
             \"--head=<task>\"; the tasks are master, worker",
        ),
        (
            json!({"ray": ["--head=master"]}),
            "spec.plugins.ray: task \"master\" has no container \"head\" to start Ray in; name one \
             with \"--headContainer=<container>\": master",
        ),
        (
            json!({"ray": ["--head=master", "--headContainer=master", "--port=8265"]}),
            "spec.plugins.ray: port 8265, dashboardPort 8265 and clientPort 10001 must differ",
        ),
    ]);
}

#[test]
fn flags_are_read_as_go_reads_them() {
    let forms = [
        json!(["--port=29500"]),
        json!(["-port=29500"]),
        json!(["--port", "29500"]),
        json!(["--port=1", "--port=29500"]),
        json!(["--port=0x733C"]),
        json!(["--wait-master-enabled", "--port=29_500"]),
        json!(["--wait-master-enabled=F", "--port=0o71474"]),
    ];
    for form in forms {
        assert_eq!(
            problems(json!({"pytorch": form})),
            Vec::<String>::new(),
            "{form}"
        );
        let job = job(json!({"pytorch": form}), json!([task("master", 1)]));
        let port = &env(&pod(&job, 0, 0), 0)[1];
        assert_eq!(port, "MASTER_PORT=29500", "{form}");
    }
}

#[test]
fn what_can_be_read_counts_beside_what_cannot() {
    let flags = json!({"pytorch": ["--oops", "--port=29500"]});
    let job = job(flags, json!([task("master", 1)]));
    assert_eq!(doubts(&job).len(), 1);
    assert_eq!(env(&pod(&job, 0, 0), 0)[1], "MASTER_PORT=29500");
}

#[test]
fn keys_are_never_repeated() {
    let key = format!("-----BEGIN RSA PRIVATE KEY-----\n{}", "s3cret".repeat(20));
    for flags in [
        json!([&key]),
        json!([format!("--{key}")]),
        json!(["--ssh-private-key", &key]),
    ] {
        let mut told = problems(json!({"ssh": flags}));
        let odd = doubts(&job(json!({"ssh": flags}), json!([task("master", 1)])));
        told.extend(odd.iter().map(ToString::to_string));
        assert!(!told.is_empty());
        assert!(!told.concat().contains("s3cret"), "{told:?}");
    }
}

#[test]
fn names_that_make_no_host_are_told_before_the_api_server_refuses_pods() {
    let name = "a".repeat(58);
    let long = job(json!({"svc": []}), json!([task(&name, 100)]));
    let told = plugins::problems(&long);
    assert_eq!(told[0].path, "spec.tasks[0].name");
    assert!(
        told[0].message.contains(&format!("train-{name}-99")),
        "{}",
        told[0].message
    );
    let mut dotted = job(json!({"svc": []}), json!([task("a", 1)]));
    dotted.metadata.name = Some("my.job".to_owned());
    let told = plugins::problems(&dotted);
    assert_eq!(told[0].path, "metadata.name");
    dotted.spec.plugins.clear();
    assert_eq!(plugins::problems(&dotted), []);
}
