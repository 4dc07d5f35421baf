//! Jobs, also as the templates of CronJobs and JobFlows (spec/03 D1, D2).

use anyhow::{Context, Result, ensure};
use pumice_e2e::{Controllers, Lab, LabGuard, Setup, eventually};
use serde_json::{Value, json};

use super::{JOBS, QUEUES, hold, is_refused, job, judge, object, queue, task, template};
use crate::LIMIT;

const CRON_JOBS: &str = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/cronjobs";
const TEMPLATES: &str = "/apis/flow.volcano.sh/v1alpha1/namespaces/default/jobtemplates";

/// A Job as a user writes it down who leaves out what can be left out.
const SPARSE: &str = "\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: sparse, namespace: default}
spec:
  plugins: {mpi: []}
  tasks:
  - name: master
    replicas: 1
    template: {spec: {hostNetwork: true, containers: [{name: c, image: none}]}}
  - replicas: 6
    partitionPolicy: {totalPartitions: 3, partitionSize: 2, minPartitions: 2}
    template: {spec: {containers: [{name: c, image: none}]}}
  - replicas: 4
    minAvailable: 1
    maxRetry: 7
    template: {spec: {hostNetwork: true, dnsPolicy: Default, containers: [{name: c, image: none}]}}
";

#[test]
fn what_a_job_leaves_out_is_filled_in_and_kubectl_shows_it() -> Result<()> {
    let lab = Lab::take()?;
    lab.cluster().install_policies()?;
    eventually(LIMIT, "the policies are in force", || {
        let judged = judge(
            &lab,
            JOBS,
            &job(json!({"tasks": [task(json!({"replicas": 1}))]})),
        )?;
        Ok((judged["spec"]["minAvailable"] == 1).then_some(()))
    })?;
    lab.cluster().kubectl(&["apply", "-f", "-"], SPARSE)?;
    // A gang with pods that are made once others run would never start.
    let depends = |wanted: Value| {
        let ps = task(json!({"name": "ps", "replicas": 2}));
        let none = task(json!({"name": "none", "replicas": 3, "minAvailable": 0}));
        let worker = task(json!({"name": "worker", "replicas": 5, "dependsOn": wanted}));
        job(json!({"tasks": [ps, none, worker]}))
    };
    let cases = [
        (json!({"name": ["ps"]}), 2),
        (json!({"name": ["ps", "none"]}), 2),
        (json!({"name": ["ps", "none"], "iteration": "any"}), 7),
        (json!({"name": ["none"]}), 7),
        (json!({}), 7),
    ];
    for (wanted, least) in cases {
        let judged = judge(&lab, JOBS, &depends(wanted.clone()))?;
        assert_eq!(judged["spec"]["minAvailable"], least, "{wanted}");
    }
    let get = ["get", "vcjob", "sparse", "-o", "json"];
    let shown: Value = serde_json::from_str(&lab.cluster().kubectl(&get, "")?)?;
    let spec = &shown["spec"];
    assert_eq!(spec["queue"], "default");
    assert_eq!(spec["schedulerName"], "volcano");
    assert_eq!(
        (&spec["maxRetry"], &spec["minAvailable"]),
        (&json!(3), &json!(6))
    );
    assert_eq!(spec["plugins"], json!({"mpi": [], "svc": [], "ssh": []}));
    let tasks: Vec<Value> = spec["tasks"]
        .as_array()
        .context("tasks")?
        .iter()
        .map(|task| {
            let dns = &task["template"]["spec"]["dnsPolicy"];
            json!([task["name"], task["minAvailable"], task["maxRetry"], dns])
        })
        .collect();
    let expected = json!([
        ["master", 1, 3, "ClusterFirstWithHostNet"],
        ["default1", 4, 3, null],
        ["default2", 1, 7, "Default"],
    ]);
    assert_eq!(Value::from(tasks), expected);
    // What was filled in is no change of the user's.
    let generation = shown["metadata"]["generation"].clone();
    lab.cluster().kubectl(&["apply", "-f", "-"], SPARSE)?;
    lab.cluster().apply(SPARSE)?;
    let shown: Value = serde_json::from_str(&lab.cluster().kubectl(&get, "")?)?;
    assert_eq!(shown["metadata"]["generation"], generation);
    Ok(())
}

#[test]
fn a_namespace_names_the_queue_of_jobs_and_pod_groups_that_name_none() -> Result<()> {
    let lab = Lab::take()?;
    lab.cluster().install_policies()?;
    let namespace = "/api/v1/namespaces/default";
    let named = |name: Value| {
        let patch =
            json!({"metadata": {"annotations": {"scheduling.volcano.sh/queue-name": name}}});
        lab.rest().patch(namespace, &patch)
    };
    named(json!("research"))?;
    let group = object(
        "scheduling.volcano.sh/v1beta1",
        "PodGroup",
        "g",
        json!({"minMember": 1}),
    );
    let one = task(json!({"replicas": 1}));
    let filled = eventually(LIMIT, "both get the queue", || {
        let group = judge(&lab, crate::GROUPS, &group)?;
        let job = judge(&lab, JOBS, &job(json!({"tasks": [one]})))?;
        let queues = [&group["spec"]["queue"], &job["spec"]["queue"]];
        Ok((queues == ["research", "research"]).then_some(()))
    });
    let other = judge(&lab, JOBS, &job(json!({"queue": "other", "tasks": [one]})));
    // An operator that writes the whole object leaves the queue out again.
    lab.rest().create(crate::GROUPS, &group)?;
    let path = format!("{}/g", crate::GROUPS);
    let replace = ["replace", "-f", "-"];
    let replaced = lab.cluster().kubectl(&replace, &group.to_string());
    let kept = lab.rest().get(&path)?;
    let moved = json!({"spec": {"queue": "other"}});
    let moved = lab.rest().patch(&path, &moved);
    named(Value::Null)?;
    filled?;
    replaced?;
    assert_eq!(kept["spec"]["queue"], "research");
    assert_eq!(moved?["spec"]["queue"], "other");
    assert_eq!(other?["spec"]["queue"], "other");
    Ok(())
}

/// Jobs that are refused for what their counts, names and places say.
fn wrong_counts() -> Vec<(Value, &'static str)> {
    let one = || task(json!({"name": "t", "replicas": 1}));
    let with = |field: &str, value: Value| json!({"tasks": [one()], field: value});
    let tasks = |list: Value| json!({ "tasks": list });
    let tier = json!({"highestTierAllowed": 1, "highestTierName": "x"});
    let numa = |cpu: &str| {
        let template = template(json!({"resources": {"requests": {"cpu": cpu}}}));
        json!([{"replicas": 1, "topologyPolicy": "restricted", "template": template}])
    };
    vec![
        (json!({}), "spec.tasks: Required value"),
        (tasks(json!([])), "spec.tasks"),
        (
            json!({"tasks": [task(json!({"replicas": "many"}))]}),
            "spec.tasks[0].replicas in body must be of type integer",
        ),
        (
            with("minAvailable", json!(2)),
            "spec.minAvailable: 2 is more than all 1 replicas",
        ),
        (
            tasks(json!([task(json!({"replicas": 2, "minAvailable": 3}))])),
            "spec.tasks[0].minAvailable: 3 is more than the 2 replicas",
        ),
        (
            tasks(json!([task(json!({"replicas": 2_000_000}))])),
            "spec.tasks: the job has 2000000 pods; at most 1000000 are allowed",
        ),
        (
            tasks(json!([one(), one()])),
            "spec.tasks[1].name: there is another task \"t\"; rename one",
        ),
        (
            tasks(json!([task(
                json!({"name": "t".repeat(58), "replicas": 1000})
            )])),
            "-999\", which is longer than 63 characters; shorten the name of the job or of the task",
        ),
        (
            with("networkTopology", tier.clone()),
            "exclude each other; write one",
        ),
        (
            tasks(json!([task(json!({"replicas": 1, "partitionPolicy": {
                "totalPartitions": 1, "partitionSize": 1, "networkTopology": tier}}))])),
            "exclude each other; write one",
        ),
        (
            tasks(numa("1500m")),
            "spec.tasks[0].topologyPolicy: every container needs a whole number of cpus",
        ),
        (
            tasks(numa("0")),
            "spec.tasks[0].topologyPolicy: every container needs a whole number of cpus",
        ),
        (
            tasks(json!([task(json!({"replicas": 4, "partitionPolicy": {
                "totalPartitions": 3, "partitionSize": 2}}))])),
            "spec.tasks[0].partitionPolicy: its partitions make 6 pods, but the task has 4",
        ),
        (
            tasks(json!([task(
                json!({"replicas": 4, "minAvailable": 4, "partitionPolicy": {
                "totalPartitions": 2, "partitionSize": 2, "minPartitions": 1}})
            )])),
            "spec.tasks[0].partitionPolicy.minPartitions: they make 2 pods, but minAvailable is 4",
        ),
    ]
}

/// Jobs that are refused for their plugins, volumes and dependencies.
fn wrong_parts() -> Vec<(Value, &'static str)> {
    let one = || task(json!({"name": "t", "replicas": 1}));
    let with = |field: &str, value: Value| json!({"tasks": [one()], field: value});
    let tasks = |list: Value| json!({ "tasks": list });
    vec![
        (
            with("plugins", json!({"magic": []})),
            "spec.plugins.magic: there is no such plugin; use ssh",
        ),
        (
            with("plugins", json!({"mpi": ["--master=boss"]})),
            "spec.plugins.mpi: there is no task \"boss\" to be the master",
        ),
        (
            with(
                "volumes",
                json!([{"mountPath": "/a", "volumeClaimName": "c"},
                {"mountPath": "/a", "volumeClaimName": "d"}]),
            ),
            "spec.volumes[1].mountPath: \"/a\" is used twice",
        ),
        (
            with("volumes", json!([{"mountPath": "/a"}])),
            "spec.volumes[0]: write exactly one of volumeClaimName and volumeClaim",
        ),
        (
            with(
                "volumes",
                json!([{"mountPath": "/a", "volumeClaimName": "My_Claim"}]),
            ),
            "spec.volumes[0].volumeClaimName: \"My_Claim\" is not a name of a claim",
        ),
        (
            tasks(json!([task(
                json!({"name": "t", "replicas": 1, "dependsOn": {"name": ["x"]}})
            )])),
            "spec.tasks[0].dependsOn.name: there is no task \"x\"",
        ),
        (
            tasks(json!([task(
                json!({"name": "t", "replicas": 1, "dependsOn": {"name": ["t"]}})
            )])),
            "spec.tasks[0].dependsOn.name: the task waits for itself",
        ),
    ]
}

/// Policies that are refused.
fn wrong_policies() -> Vec<(Value, &'static str)> {
    let act = |event: &str| json!({"event": event, "action": "AbortJob"});
    let code = |code: i32| json!({"exitCode": code, "action": "AbortJob"});
    vec![
        (
            json!([{"action": "AbortJob"}]),
            "policies[0]: write either event, events or exitCode",
        ),
        (
            json!([{"event": "PodFailed", "exitCode": 1, "action": "AbortJob"}]),
            "policies[0]: write either event, events or exitCode",
        ),
        (
            json!([code(0)]),
            "policies[0].exitCode: 0 is success; write another code",
        ),
        (
            json!([code(1), code(1)]),
            "policies: several policies are for exit code 1; keep one",
        ),
        (
            json!([act("PodRunning")]),
            "policies[0].event: \"PodRunning\" is not an event; use *",
        ),
        (
            json!([{"event": "PodFailed"}]),
            "policies[0].action: \"\" is not an action; use AbortJob",
        ),
        (
            json!([{"event": "PodFailed", "action": "Explode"}]),
            "Unsupported value: \"Explode\": supported values: \"AbortJob\"",
        ),
        (
            json!([act("PodFailed"), {"events": ["PodFailed"], "action": "AbortJob"}]),
            "policies: several policies are for event \"PodFailed\"; keep one",
        ),
        (
            json!([act("*"), act("PodFailed")]),
            "policies: \"*\" is every event; no other event can stand beside it",
        ),
    ]
}

#[test]
fn each_wrong_job_is_refused_with_what_is_wrong_where_and_what_to_write() -> Result<()> {
    let lab = Lab::take()?;
    lab.cluster().install_policies()?;
    let mut bad: Vec<(&str, Value, &str)> = Vec::new();
    for (spec, problem) in wrong_counts().into_iter().chain(wrong_parts()) {
        bad.push((JOBS, job(spec), problem));
    }
    for (policies, problem) in wrong_policies() {
        let one = task(json!({"replicas": 1}));
        let own = task(json!({"replicas": 1, "policies": policies}));
        bad.push((
            JOBS,
            job(json!({"policies": policies, "tasks": [one]})),
            problem,
        ));
        bad.push((JOBS, job(json!({"tasks": [one, own]})), problem));
    }
    let mut full = json!({
        "minAvailable": 3,
        "plugins": {"svc": ["--publish-not-ready-addresses=true"], "mpi": ["--master=boss"]},
        "policies": [{"events": ["PodFailed", "PodEvicted"], "action": "RestartJob"},
            {"exitCode": 3, "action": "AbortJob"}],
        "volumes": [{"mountPath": "/a", "volumeClaimName": "claim"}, {"mountPath": "/b",
            "volumeClaim": {"accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}}}}],
        "tasks": [
            task(json!({"name": "boss", "replicas": 1,
                "policies": [{"event": "*", "action": "CompleteJob"}]})),
            {"name": "w", "replicas": 4, "minAvailable": 2, "dependsOn": {"name": ["boss"]},
                "topologyPolicy": "restricted",
                "partitionPolicy": {"totalPartitions": 2, "partitionSize": 2, "minPartitions": 1},
                "template": template(json!({"resources": {"limits": {"cpu": "2"}}}))},
        ],
    });
    let mut good = vec![(JOBS, job(full.clone()))];
    // As many tasks as a Job may have, which the costs of the rules allow.
    let many: Vec<Value> = (0..500).map(|_| task(json!({"replicas": 1}))).collect();
    good.push((JOBS, job(json!({ "tasks": many }))));
    full["networkTopology"] = json!({"mode": "soft", "highestTierAllowed": 2});
    good.push((JOBS, job(full)));
    hold(&lab, &bad, &good)
}

/// Templates that make no pod, and what is said of each.
fn wrong_templates() -> Vec<(Value, &'static str)> {
    let of = |container: Value| task(json!({"replicas": 1, "template": template(container)}));
    let mut none = of(json!({}));
    none["template"]["spec"]["containers"] = json!([]);
    let mut word = of(json!({}));
    word["template"]["spec"]["restartPolicy"] = json!("never");
    let mut key = of(json!({}));
    key["template"]["spec"]["nodeSelector"] = json!({"a b": "c"});
    let mut label = of(json!({}));
    label["template"]["metadata"] = json!({"labels": {"a": "not valid!"}});
    let mut image = of(json!({}));
    image["template"]["spec"]["containers"][0]["image"] = json!("");
    let asks = |requests: Value, limits: Value| {
        of(json!({"resources": {"requests": requests, "limits": limits}}))
    };
    vec![
        (
            none,
            "template.spec.containers: there is none; write at least one",
        ),
        (
            word,
            "template.spec.restartPolicy: \"never\" is not possible; write Never",
        ),
        (
            key,
            "template.spec.nodeSelector.a b: \"a b\" is not a key; use letters, digits, '-', '_'",
        ),
        (
            label,
            "template.metadata.labels.a: \"not valid!\" is not a value of a label; ",
        ),
        (
            image,
            "template.spec.containers[0].image: it is missing; give it",
        ),
        (
            of(json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]})),
            "template.spec.containers[0].volumeMounts[0].name: there is no \"v\" in \
             spec.tasks[0].template.spec.volumes; add it to",
        ),
        (
            asks(json!({"cpu": "2"}), json!({"cpu": "1"})),
            "resources.requests.cpu: \"2\" is more than the limit 1; lower it, or raise the limit",
        ),
        (
            asks(json!({}), json!({"nvidia.com/gpu": "0.5"})),
            "resources.limits[nvidia.com/gpu]: \"0.5\" is not a whole number; ",
        ),
        (
            asks(json!({"memory": "-1"}), json!({})),
            "resources.requests.memory: \"-1\" is negative; write 0 or more",
        ),
        (
            asks(json!({"nvidia.com/gpu": "1"}), json!({})),
            "resources.requests[nvidia.com/gpu]: \"1\" has no limit beside it; ",
        ),
    ]
}

#[test]
fn templates_that_make_no_pods_are_refused() -> Result<()> {
    let lab = Lab::take()?;
    lab.cluster().install_policies()?;
    let mut bad: Vec<(&str, Value, &str)> = Vec::new();
    for (task, problem) in wrong_templates() {
        bad.push((JOBS, job(json!({"tasks": [task]})), problem));
    }
    // The Job adds volumes by its own name.
    let keys = json!({"volumeMounts": [{"name": "j-ssh", "mountPath": "/keys"}]});
    let shares =
        json!({"resources": {"requests": {"cpu": 1, "a.io/b": "2"}, "limits": {"a.io/b": 2}}});
    let tasks = [keys, shares]
        .map(|container| task(json!({"replicas": 1, "template": template(container)})));
    let good = [(JOBS, job(json!({"plugins": {"ssh": []}, "tasks": tasks})))];
    hold(&lab, &bad, &good)
}

#[test]
fn a_job_goes_to_a_queue_without_queues_below_it() -> Result<()> {
    let lab = Lab::take()?;
    lab.cluster().install_policies()?;
    // They label queues that have others below them.
    let _controllers = Controllers::start(lab.cluster(), &Setup::default())?;
    for (name, spec) in [
        ("stem", json!({"weight": 1})),
        ("twig", json!({"weight": 1, "parent": "stem"})),
    ] {
        lab.rest().create(QUEUES, &queue(name, spec))?;
    }
    let in_queue =
        |queue: &str| job(json!({"queue": queue, "tasks": [task(json!({"replicas": 1}))]}));
    let bad = [
        (
            JOBS,
            in_queue("stem"),
            "queue \"stem\" has queues below it and takes no Jobs; name \"twig\", or one below it",
        ),
        (
            JOBS,
            in_queue("root"),
            "queue \"root\" takes no Jobs; name one that has no queues below it",
        ),
    ];
    // One that is missing may come.
    hold(
        &lab,
        &bad,
        &[(JOBS, in_queue("twig")), (JOBS, in_queue("nosuch"))],
    )
}

#[test]
fn templates_of_jobs_are_checked_before_the_first_job_is_made() -> Result<()> {
    let lab = Lab::take()?;
    lab.cluster().install_policies()?;
    let cron = |name: &str, fields: Value, spec: Value| {
        let mut all = json!({"schedule": "*/5 0-6 * * mon-fri", "jobTemplate": {"spec": spec}});
        for (field, value) in fields.as_object().into_iter().flatten() {
            all[field] = value.clone();
        }
        object("batch.volcano.sh/v1alpha1", "CronJob", name, all)
    };
    let made = |spec: Value| object("flow.volcano.sh/v1alpha1", "JobTemplate", "t", spec);
    let fine = json!({"tasks": [task(json!({"replicas": 1}))]});
    let wrong = json!({"tasks": [task(json!({"replicas": 1, "minAvailable": 2}))]});
    let with = |field: &str, value: &str| cron("c", json!({ field: value }), fine.clone());
    let long = "c".repeat(53);
    let bad = [
        (
            CRON_JOBS,
            cron("c", json!({}), wrong.clone()),
            "spec.jobTemplate.spec.tasks[0].minAvailable: 2 is more than the 1 replicas",
        ),
        (
            TEMPLATES,
            made(wrong),
            "spec.tasks[0].minAvailable: 2 is more than the 1 replicas",
        ),
        (
            CRON_JOBS,
            cron(&long, json!({}), fine.clone()),
            "write at most 52 characters",
        ),
        (
            CRON_JOBS,
            with("schedule", "every day"),
            "\"every day\" is not a schedule; write minute",
        ),
        (
            CRON_JOBS,
            with("schedule", "TZ=UTC 0 0 * * *"),
            "a time zone does not belong here; write it as spec.timeZone",
        ),
        (
            CRON_JOBS,
            with("timeZone", "Local"),
            "\"Local\" is not a time zone; write one as",
        ),
    ];
    let good = [
        (CRON_JOBS, with("schedule", "@daily")),
        (
            CRON_JOBS,
            with("timeZone", "America/Argentina/Buenos_Aires"),
        ),
        (CRON_JOBS, cron(&long[1..], json!({}), fine.clone())),
        (TEMPLATES, made(fine)),
    ];
    hold(&lab, &bad, &good)
}

#[test]
fn of_a_job_that_exists_only_counts_and_priority_may_change() -> Result<()> {
    let lab = Lab::take()?;
    let spec = json!({"minAvailable": 1, "tasks": [task(json!({"name": "t", "replicas": 2}))]});
    // One of the time before the policies, to which nothing was added.
    let mut older = job(spec.clone());
    older["metadata"]["name"] = json!("older");
    lab.rest().create(JOBS, &older)?;
    lab.cluster().install_policies()?;
    eventually(LIMIT, "the policies are in force", || {
        let judged = judge(&lab, JOBS, &job(spec.clone()))?;
        Ok((judged["spec"]["tasks"][0]["maxRetry"] == 3).then_some(()))
    })?;
    lab.rest().create(JOBS, &job(spec))?;
    for name in ["older", "j"] {
        only_counts_and_priority_may_change(&lab, &format!("{JOBS}/{name}"))?;
    }
    Ok(())
}

fn only_counts_and_priority_may_change(lab: &LabGuard, path: &str) -> Result<()> {
    let judged = |change: &dyn Fn(&mut Value)| {
        let mut object = lab.rest().get(path)?;
        change(&mut object);
        let dry = format!("{path}?dryRun=All");
        lab.rest().call(http::Method::PUT, &dry, Some(&object))
    };
    type Change = fn(&mut Value);
    let refused: [(Change, &str); 4] = [
        (
            |job| job["spec"]["queue"] = json!("other"),
            "spec.queue cannot be changed; of a Job that exists",
        ),
        (
            |job| {
                job["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["image"] = json!("x")
            },
            "spec.tasks[0].template cannot be changed",
        ),
        (
            |job| job["spec"]["tasks"][0]["name"] = json!("u"),
            "spec.tasks[0].name cannot be changed",
        ),
        (
            |job| {
                let task = job["spec"]["tasks"][0].clone();
                if let Value::Array(tasks) = &mut job["spec"]["tasks"] {
                    tasks.push(task);
                }
            },
            "the number of spec.tasks cannot be changed",
        ),
    ];
    for (change, problem) in refused {
        is_refused(|| judged(&change), problem)?;
    }
    let short: Change = |job| job["spec"]["tasks"][0]["replicas"] = json!(0);
    is_refused(|| judged(&short), "is more than")?;
    let taken: [Change; 4] = [
        |job| {
            job["spec"]["tasks"][0]["replicas"] = json!(5);
            job["spec"]["tasks"][0]["minAvailable"] = json!(3);
            job["spec"]["minAvailable"] = json!(3);
        },
        |job| job["spec"]["priorityClassName"] = json!("high"),
        |job| job["metadata"]["labels"] = json!({"team": "a"}),
        |job| {
            if let Value::Object(task) = &mut job["spec"]["tasks"][0] {
                task.remove("maxRetry");
            }
        },
    ];
    for change in taken {
        judged(&change)?;
    }
    ensure!(lab.rest().get(path)?["spec"]["tasks"][0]["replicas"] == 2);
    Ok(())
}
