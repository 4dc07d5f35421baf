//! What is made once a Job, and what follows its replicas.

use expect_test::expect_file;
use k8s_openapi::ByteString;
use pumice_api::Job;
use pumice_controllers::job::plugins;
use pumice_controllers::runtime::{ApiVerb, ApiWrite};
use serde_json::{Value, json};

use super::{job, task, yaml};

/// Objects to create and patches to write, and for whom keys are to be made.
fn contents(writes: &[ApiWrite]) -> Vec<Value> {
    let content = |write: &ApiWrite| match &write.verb {
        ApiVerb::Create(object) => json!({"create": object}),
        ApiVerb::CreateWithSshKeys(object) => json!({"create with keys": object}),
        ApiVerb::MergeOwned { patch, .. } => json!({"patch": patch}),
        other => json!(format!("{other:?}")),
    };
    writes.iter().map(content).collect()
}

fn all(job: &Job) -> Vec<Value> {
    let objects = plugins::objects(job);
    objects
        .iter()
        .flat_map(|(_, writes)| contents(writes))
        .collect()
}

#[test]
fn hosts_service_policy_and_keys_are_owned_by_the_job() {
    let job = job(
        json!({"svc": [], "ssh": []}),
        json!([task("ps", 1), task("big-worker", 2)]),
    );
    expect_file!["expected/objects.yaml"].assert_eq(&yaml(&all(&job)));
}

#[test]
fn every_plugin_but_hcclrank_is_recorded() {
    let flags = json!({"env": [], "svc": [], "hcclrank": [], "pytorch": []});
    let job = job(flags, json!([task("master", 1)]));
    let recorded: Vec<_> = plugins::objects(&job)
        .into_iter()
        .map(|(key, writes)| (key, writes.len()))
        .collect();
    let expected = [("plugin-env", 0), ("plugin-svc", 3), ("plugin-pytorch", 0)];
    assert_eq!(
        recorded,
        expected.map(|(key, count)| (key.to_owned(), count))
    );
}

#[test]
fn what_is_recorded_and_follows_is_known_without_making_it() {
    for name in [
        "env",
        "svc",
        "ssh",
        "pytorch",
        "tensorflow",
        "mpi",
        "hcclrank",
        "ray",
    ] {
        let mut job = job(json!({}), json!([task("head", 1), task("worker", 2)]));
        job.spec.plugins = [(name.to_owned(), Vec::new())].into();
        let made = plugins::objects(&job).into_iter().map(|(key, _)| key);
        assert!(plugins::recorded(&job).eq(made), "{name}");
        let says = !plugins::refresh(&job).is_empty();
        assert_eq!(plugins::follows_replicas(&job), says, "{name}");
    }
}

#[test]
fn switches_of_svc_change_service_and_policy() {
    let flags = ["--publish-not-ready-addresses", "-disable-network-policy=t"];
    let job = job(json!({"svc": flags}), json!([task("a", 1)]));
    let made = all(&job);
    let kinds: Vec<_> = made
        .iter()
        .map(|one| one["create"]["kind"].clone())
        .collect();
    assert_eq!(kinds, ["ConfigMap", "Service"]);
    assert_eq!(made[1]["create"]["spec"]["publishNotReadyAddresses"], true);
}

#[test]
fn keys_that_were_given_are_taken_and_none_are_made() {
    let flags = [
        "--ssh-private-key=secret",
        "--ssh-public-key",
        "public",
        "--ssh-port=2222",
    ];
    let job = job(json!({"ssh": flags}), json!([task("a", 1)]));
    assert_eq!(plugins::problems(&job), []);
    let secret = all(&job).remove(0)["create"]["data"].clone();
    assert_eq!(secret["id_rsa"], "c2VjcmV0");
    assert_eq!(secret["id_rsa.pub"], "cHVibGlj");
    assert_eq!(secret["authorized_keys"], "cHVibGlj");
    let expected = "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n\
                    Host train-a-* !*.*\n  HostName %h.train\n  Port 2222\n";
    assert_eq!(text_of(&secret["config"]), expected);
}

/// Text of a value in base64.
fn text_of(value: &Value) -> String {
    let bytes: ByteString = serde_json::from_value(value.clone()).expect("base64");
    String::from_utf8(bytes.0).expect("text")
}

/// Whoever reads the configuration takes the first pattern that fits.
#[test]
fn hosts_of_ssh_are_patterns_of_tasks_and_the_longest_name_comes_first() {
    let mut own = task("own", 2);
    own["template"]["spec"]["hostname"] = json!("chief");
    own["template"]["spec"]["subdomain"] = json!("team");
    let tasks = json!([task("a", 1), task("a-b", 1), own]);
    let job = job(json!({"ssh": []}), tasks);
    let writes = plugins::objects(&job).pop().expect("keys").1;
    let config = text_of(&contents(&writes)[0]["create with keys"]["data"]["config"]);
    let hosts: Vec<&str> = config
        .lines()
        .filter(|line| line.contains("Host"))
        .skip(2)
        .map(str::trim)
        .collect();
    let expected = [
        "Host chief",
        "HostName %h.team",
        "Host train-a-b-* !*.*",
        "HostName %h.train",
        "Host train-a-* !*.*",
        "HostName %h.train",
    ];
    assert_eq!(hosts, expected);
}

#[test]
fn the_head_of_ray_has_a_service() {
    let flags = json!({"ray": ["--dashboardPort=9000"]});
    let job = job(flags, json!([task("head", 1), task("worker", 1)]));
    let made = all(&job);
    let ray = made
        .iter()
        .find(|one| one["create"]["metadata"]["name"] == "train-head-svc");
    expect_file!["expected/ray-service.yaml"].assert_eq(&yaml(&ray));
}

#[test]
fn hosts_follow_the_replicas_and_keys_stay() {
    let before = job(json!({"svc": [], "ssh": []}), json!([task("a", 1)]));
    let after = job(json!({"svc": [], "ssh": []}), json!([task("a", 3)]));
    let (first, second) = (plugins::refresh(&before), plugins::refresh(&after));
    assert_ne!(first, second);
    let names: Vec<_> = second.iter().map(|write| write.of.to_string()).collect();
    assert_eq!(names, ["ConfigMap ns/train-svc"], "no Secret is patched");
    let patches = contents(&second);
    let hosts = "train-a-0.train,train-a-1.train,train-a-2.train";
    assert_eq!(patches[0]["patch"]["data"]["VC_A_HOSTS"], hosts);
    assert_eq!(patches[0]["patch"]["data"]["VC_A_NUM"], "3");
    let keys = |job: &Job| contents(&plugins::objects(job).pop().expect("keys").1);
    assert_eq!(keys(&before), keys(&after));
}
