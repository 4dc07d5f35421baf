//! What becomes of pods.

use expect_test::expect_file;
use pumice_controllers::job::plugins;
use serde_json::json;

use super::{env, job, pod, read, task, yaml};

/// The Job of a sample of this repository.
fn sample(text: &str) -> pumice_api::Job {
    let documents = serde_yaml::Deserializer::from_str(text);
    let mut objects = documents.map(|document| {
        <serde_json::Value as serde::Deserialize>::deserialize(document).expect("an object")
    });
    let mut wire = objects
        .find(|object| object["kind"] == "Job")
        .expect("a job");
    wire["metadata"]["uid"] = json!("5e0b");
    read(wire)
}

#[test]
fn the_job_of_the_vnpu_guide_with_ssh_env_and_svc() {
    let job = sample(include_str!(
        "../../../../../config/samples/npu-mindcluster/workload.yaml"
    ));
    assert_eq!(job.metadata.name.as_deref(), Some("mindx-dls"));
    assert_eq!(plugins::problems(&job), []);
    expect_file!["expected/mindx-dls.yaml"].assert_eq(&yaml(&pod(&job, 0, 0)));
}

#[test]
fn the_distributed_job_of_the_gpu_guide_with_ssh_env_and_svc() {
    let text = include_str!("../../../../../config/samples/distributed-gpu-training/workload.yaml");
    let job = sample(text);
    assert_eq!(plugins::problems(&job), []);
    expect_file!["expected/distributed-gpu-training.yaml"].assert_eq(&yaml(&pod(&job, 0, 3)));
}

#[test]
fn a_pytorch_worker_that_waits_for_its_master() {
    let flags = json!({"pytorch": ["--master=master", "--worker=worker", "--port=23456",
        "--wait-master-enabled=true", "--wait-master-timeout=600"]});
    let job = job(flags, json!([task("master", 1), task("worker", 2)]));
    assert_eq!(plugins::problems(&job), []);
    expect_file!["expected/pytorch-worker.yaml"].assert_eq(&yaml(&pod(&job, 1, 1)));
    let master = pod(&job, 0, 0).spec.unwrap();
    assert_eq!(master.init_containers, None);
}

#[test]
fn every_pytorch_pod_has_a_rank_of_its_own() {
    let ranks = |master: i32, worker: i32| {
        let job = job(
            json!({"pytorch": [], "hcclrank": []}),
            json!([task("master", master), task("worker", worker)]),
        );
        let places = (0..master)
            .map(|at| (0, at))
            .chain((0..worker).map(|at| (1, at)));
        let rank = |(task, index)| {
            let pod = pod(&job, task, index);
            let rank = pod.metadata.annotations.as_ref().unwrap()["hccl/rankIndex"].clone();
            let env = env(&pod, 0).pop().unwrap();
            assert_eq!(env, format!("RANK={rank}"));
            rank
        };
        places.map(rank).collect::<Vec<_>>()
    };
    assert_eq!(ranks(1, 3), ["0", "1", "2", "3"]);
    assert_eq!(ranks(2, 2), ["0", "1", "2", "3"]);
    let one = job(
        json!({"pytorch": ["--master=all", "--worker=all", "--wait-master-enabled"]}),
        json!([task("all", 2)]),
    );
    let rank = |index| env(&pod(&one, 0, index), 0).split_off(2);
    assert_eq!(rank(0), ["WORLD_SIZE=2", "RANK=0"]);
    assert_eq!(rank(1), ["WORLD_SIZE=2", "RANK=1"]);
}

#[test]
fn without_a_master_pytorch_does_nothing() {
    let job = job(json!({"pytorch": []}), json!([task("worker", 2)]));
    assert_eq!(plugins::problems(&job), []);
    assert_eq!(env(&pod(&job, 0, 1), 0), Vec::<String>::new());
}

#[test]
fn tensorflow_pods_know_the_cluster_and_their_place() {
    let tasks = json!([
        task("ps", 1),
        task("trainer", 2),
        task("chief", 1),
        task("log", 1)
    ]);
    let job = job(
        json!({"tensorflow": ["--worker=trainer", "--port=3333"]}),
        tasks,
    );
    let cluster = [
        r#"{"ps":["train-ps-0.train:3333"],"#,
        r#""worker":["train-trainer-0.train:3333","train-trainer-1.train:3333"],"#,
        r#""chief":["train-chief-0.train:3333"]}"#,
    ];
    let cluster = cluster.concat();
    let config = |task, index| env(&pod(&job, task, index), 0).join(" ");
    let expected = |role: &str, index: i32| {
        format!(r#"TF_CONFIG={{"cluster":{cluster},"task":{{"type":"{role}","index":{index}}}}}"#)
    };
    assert_eq!(config(1, 1), expected("worker", 1));
    assert_eq!(config(2, 0), expected("chief", 0));
    assert_eq!(config(3, 0), expected("log", 0));
    serde_json::from_str::<serde_json::Value>(&config(0, 0)["TF_CONFIG=".len()..]).unwrap();
}

#[test]
fn a_lone_tensorflow_pod_needs_no_cluster() {
    let job = job(json!({"tensorflow": []}), json!([task("worker", 1)]));
    assert_eq!(env(&pod(&job, 0, 0), 0), Vec::<String>::new());
}

#[test]
fn an_mpi_master_knows_its_workers() {
    let flags = json!({"mpi": ["--master=mpimaster", "--worker=mpiworker", "--port=22"]});
    let job = job(flags, json!([task("mpimaster", 1), task("mpiworker", 2)]));
    assert_eq!(plugins::problems(&job), []);
    expect_file!["expected/mpi-master.yaml"].assert_eq(&yaml(&pod(&job, 0, 0)));
    let worker = pod(&job, 1, 0);
    assert_eq!(env(&worker, 0), Vec::<String>::new());
    let port = &worker.spec.unwrap().containers[0].ports.clone().unwrap()[0];
    assert_eq!(
        (port.name.as_deref(), port.container_port),
        (Some("mpijob-port"), 22)
    );
}

#[test]
fn ray_pods_start_ray_in_the_named_containers() {
    let flags = json!({"ray": ["--head=boss", "--headContainer=boss", "--port=6380"]});
    let job = job(
        flags,
        json!([task("boss", 1), task("worker", 2), task("other", 1)]),
    );
    assert_eq!(plugins::problems(&job), []);
    expect_file!["expected/ray-head.yaml"].assert_eq(&yaml(&pod(&job, 0, 0)));
    let command = |task| {
        pod(&job, task, 0).spec.unwrap().containers[0]
            .command
            .clone()
    };
    let join = "ray start --block --address=train-boss-0.train:6380".to_owned();
    assert_eq!(
        command(1),
        Some(vec!["sh".to_owned(), "-c".to_owned(), join])
    );
    assert_eq!(command(2), None);
}

#[test]
fn without_a_head_no_ray_pod_is_made() {
    let job = job(json!({"ray": []}), json!([task("worker", 1)]));
    let mut pod = job::task_pod(&job, 0, 0, "pg").expect("a task");
    let problem = plugins::prepare(&job, 0, 0, &mut pod).unwrap_err();
    assert_eq!(
        problem.to_string(),
        "spec.plugins.ray: there is no task \"head\" to be the head; name one with \
         \"--head=<task>\"; the tasks are worker"
    );
}

#[test]
fn hccl_ranks_are_those_of_the_pod_of_its_environment_or_counted() {
    let mut with = task("worker", 2);
    with["template"]["metadata"]["annotations"] = json!({"hccl/rankIndex": "7"});
    let mut by_env = task("other", 1);
    by_env["template"]["spec"]["containers"][0]["env"] = json!([{"name": "RANK", "value": "9"}]);
    let tasks = json!([task("master", 2), with, by_env, task("none", 1)]);
    let job = job(json!({"hcclrank": []}), tasks);
    let rank = |task, index| {
        let annotations = pod(&job, task, index).metadata.annotations.unwrap();
        annotations.get("hccl/rankIndex").cloned()
    };
    assert_eq!(rank(0, 1).as_deref(), Some("1"));
    assert_eq!(rank(1, 1).as_deref(), Some("7"));
    assert_eq!(rank(2, 0).as_deref(), Some("9"));
    assert_eq!(rank(3, 0), None);
}

#[test]
fn what_the_template_says_of_hosts_mounts_and_ports_stays() {
    let own = json!({"name": "worker", "replicas": 2, "template": {"spec": {
        "hostname": "mine", "subdomain": "ours",
        "volumes": [{"name": "train-svc", "emptyDir": {}}],
        "initContainers": [{"name": "i"}],
        "containers": [
            {"name": "a", "volumeMounts": [{"name": "x", "mountPath": "/etc/volcano/"},
                {"name": "y", "mountPath": "/keys"}], "ports": [{"containerPort": 22}]},
            {"name": "b"}],
    }}});
    let flags = json!({"mpi": [], "svc": [], "ssh": ["--ssh-key-file-path=/keys"]});
    let job = job(flags, json!([task("master", 1), own]));
    expect_file!["expected/own-template.yaml"].assert_eq(&yaml(&pod(&job, 1, 1).spec));
    assert!(env(&pod(&job, 0, 0), 0).contains(&"MPI_HOST=mine.ours".to_owned()));
}

#[test]
fn on_the_network_of_the_host_a_port_is_declared_once() {
    let two = json!({"name": "master", "replicas": 1, "template": {"spec": {"hostNetwork": true,
        "containers": [{"name": "a"}, {"name": "b"}]}}});
    let job = job(json!({"pytorch": []}), json!([two]));
    let containers = pod(&job, 0, 0).spec.unwrap().containers;
    let ports: Vec<_> = containers
        .iter()
        .map(|c| c.ports.iter().flatten().count())
        .collect();
    assert_eq!(ports, [1, 0]);
}

#[test]
fn hosts_are_in_the_environment_unless_that_is_switched_off() {
    for (flag, count) in [("--inject-hosts-env", 4), ("--inject-hosts-env=false", 0)] {
        let job = job(
            json!({"svc": [flag]}),
            json!([task("a-b", 1), task("c", 1)]),
        );
        let spec = pod(&job, 1, 0).spec.unwrap();
        assert_eq!(
            spec.containers[0].env.iter().flatten().count(),
            count,
            "{flag}"
        );
    }
}
