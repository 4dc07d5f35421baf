//! The custom resource definitions, by kubectl as a user runs it.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use pumice_e2e::samples::{Sample, names};
use pumice_e2e::{Lab, LabGuard};
use serde::Deserialize;
use serde_json::{Value, json};

/// Objects with every field of Volcano's types.
const EVERY_FIELD: &str = include_str!("every_field.yaml");

/// Metadata of templates has a short list of fields, as in Volcano's definitions.
const METADATA: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// What a definition does not follow further: types that hold themselves, or any JSON.
const MAX_DEPTH: usize = 40;

#[test]
fn misspelt_fields_are_refused_by_name() -> Result<()> {
    let lab = Lab::take()?;
    let cases: [(&str, &str, &[&str]); 5] = [
        (
            "scheduling.volcano.sh/v1beta1, kind: PodGroup",
            "spec: {minMembers: 3, queu: training}",
            &["spec.minMembers", "spec.queu"],
        ),
        (
            "scheduling.volcano.sh/v1beta1, kind: Queue",
            "spec: {wieght: 5, capabilities: {cpu: 4}}",
            &["spec.wieght", "spec.capabilities"],
        ),
        (
            "scheduling.volcano.sh/v1beta1, kind: Queue",
            "spec: {weight: 1, state: Closed}",
            &["spec.state"],
        ),
        (
            "batch.volcano.sh/v1alpha1, kind: Job",
            "spec: {minAvailabel: 3, tasks: [{name: a, replica: 2, template: {}}]}",
            &["spec.minAvailabel", "spec.tasks[0].replica"],
        ),
        (
            "batch.volcano.sh/v1alpha1, kind: Job",
            "spec: {tasks: [{replicas: 2, template: {spec: {contaners: []}}}]}",
            &["spec.tasks[0].template.spec.contaners"],
        ),
    ];
    for (kind, spec, fields) in cases {
        let object = format!("{{apiVersion: {kind}, metadata: {{name: misspelt}}, {spec}}}");
        let refused = lab.cluster().kubectl(&["apply", "-f", "-"], &object);
        let error = refused.err().context(format!("{object} is taken"))?;
        let error = format!("{error:#}");
        ensure!(error.contains("strict decoding error"), "{error}");
        for field in fields {
            ensure!(
                error.contains(&format!("unknown field \"{field}\"")),
                "{error}"
            );
        }
    }
    Ok(())
}

#[test]
fn objects_with_every_field_are_taken_and_kept_whole() -> Result<()> {
    let lab = Lab::take()?;
    for document in serde_yaml::Deserializer::from_str(EVERY_FIELD) {
        let object = Value::deserialize(document).context("every_field.yaml")?;
        lab.cluster()
            .kubectl(&["apply", "-f", "-"], &object.to_string())?;
        let path = path_of(&object)?;
        if object["kind"] != "PodGroup" && !object["status"].is_null() {
            let status = json!({"status": object["status"]});
            let strict = format!("{path}/status?fieldValidation=Strict");
            lab.rest().patch(&strict, &status)?;
        }
        let kept = lab.rest().get(&path)?;
        let mut lost = Vec::new();
        compare(&object, &kept, "", &mut lost);
        ensure!(lost.is_empty(), "{}: {lost:?}", object["kind"]);
        if object["kind"] == "Queue" {
            lab.delete(&path)?;
        }
    }
    Ok(())
}

fn path_of(object: &Value) -> Result<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let version = text(&object["apiVersion"]).context("a version")?;
    let plural = match object["kind"].as_str().unwrap_or_default() {
        "Queue" => "queues",
        "PodGroup" => "namespaces/default/podgroups",
        "Job" => "namespaces/default/jobs",
        "CronJob" => "namespaces/default/cronjobs",
        "JobTemplate" => "namespaces/default/jobtemplates",
        "JobFlow" => "namespaces/default/jobflows",
        "Command" => "namespaces/default/commands",
        "HyperNode" => "hypernodes",
        "Numatopology" => "numatopologies",
        _ => "nodeshards",
    };
    let name = text(&object["metadata"]["name"]).context("a name")?;
    Ok(format!("/apis/{version}/{plural}/{name}"))
}

/// Paths of what is written but not kept.
fn compare(written: &Value, kept: &Value, at: &str, lost: &mut Vec<String>) {
    match (written, kept) {
        (Value::Object(fields), Value::Object(_)) => {
            for (name, field) in fields {
                compare(field, &kept[name], &format!("{at}.{name}"), lost);
            }
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            for (n, (item, other)) in items.iter().zip(others).enumerate() {
                compare(item, other, &format!("{at}[{n}]"), lost);
            }
        }
        _ if written == kept => {}
        _ => lost.push(format!("{at}: {written} became {kept}")),
    }
}

#[test]
fn pod_templates_take_every_field_the_api_server_knows() -> Result<()> {
    let lab = Lab::take()?;
    let mut api = lab.rest().get("/openapi/v3/api/v1")?;
    let schemas = api["components"]["schemas"].take();
    let name = "customresourcedefinitions/jobs.batch.volcano.sh";
    let jobs = lab
        .rest()
        .get(&format!("/apis/apiextensions.k8s.io/v1/{name}"))?;
    let spec = &jobs["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let spec = &spec["properties"];
    let mut missing = BTreeSet::new();
    let mut seen = 0;
    let template = &spec["tasks"]["items"]["properties"]["template"];
    let claim = &spec["volumes"]["items"]["properties"]["volumeClaim"];
    for (kind, ours) in [
        ("PodTemplateSpec", template),
        ("PersistentVolumeClaimSpec", claim),
    ] {
        let theirs = json!({"$ref": format!("#/components/schemas/io.k8s.api.core.v1.{kind}")});
        seen += cover(&theirs, ours, &schemas, kind, &mut missing);
    }
    ensure!(seen > 500, "only {seen} fields");
    ensure!(
        missing.is_empty(),
        "not in the definition of Job: {missing:?}"
    );
    Ok(())
}

/// Adds the fields of the API server's schema that ours lacks; the number of fields seen.
fn cover(
    theirs: &Value,
    ours: &Value,
    schemas: &Value,
    at: &str,
    missing: &mut BTreeSet<String>,
) -> usize {
    let reference = theirs["$ref"]
        .as_str()
        .or_else(|| theirs["allOf"][0]["$ref"].as_str());
    if let Some(name) = reference.and_then(|path| path.rsplit('/').next()) {
        if name == METADATA || at.matches('.').count() > MAX_DEPTH {
            return 0;
        }
        return cover(&schemas[name], ours, schemas, at, missing);
    }
    let mut seen = 0;
    for below in ["items", "additionalProperties"] {
        if theirs[below].is_object() {
            seen += cover(&theirs[below], &ours[below], schemas, at, missing);
        }
    }
    for (name, field) in theirs["properties"].as_object().into_iter().flatten() {
        let at = format!("{at}.{name}");
        seen += 1;
        match &ours["properties"][name] {
            Value::Null => {
                missing.insert(at);
            }
            ours => seen += cover(field, ours, schemas, &at, missing),
        }
    }
    seen
}

#[test]
fn every_sample_passes_strict_validation() -> Result<()> {
    let lab = Lab::take()?;
    let mut refused = Vec::new();
    for name in names()? {
        let sample = Sample::read(&name)?;
        for object in sample.generations.iter().flatten() {
            if let Err(error) = try_out(&lab, object) {
                refused.push(format!("{name}: {error:#}"));
            }
        }
    }
    ensure!(refused.is_empty(), "{}", refused.join("\n"));
    Ok(())
}

/// Has the API server judge an object of one of our kinds, as it would on `kubectl apply`.
fn try_out(lab: &LabGuard, object: &Value) -> Result<()> {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    if !version.contains("volcano.sh") {
        return Ok(());
    }
    let mut object = object.clone();
    if object["kind"] != "Queue" {
        // Namespaces of samples are not made here.
        object["metadata"]["namespace"] = json!("default");
    }
    let path = path_of(&object)?;
    let collection = path.rsplit_once('/').context("a collection")?.0;
    let strict = format!("{collection}?dryRun=All&fieldValidation=Strict");
    lab.rest().create(&strict, &object).map(|_| ())
}

#[test]
fn kubectl_get_shows_what_users_look_for() -> Result<()> {
    let lab = Lab::take()?;
    let mut made = Vec::new();
    for document in serde_yaml::Deserializer::from_str(EVERY_FIELD) {
        let object = Value::deserialize(document).context("every_field.yaml")?;
        let kind = object["kind"].as_str().unwrap_or_default();
        if !["Queue", "Job", "CronJob", "JobFlow"].contains(&kind) {
            continue;
        }
        lab.cluster()
            .kubectl(&["apply", "-f", "-"], &object.to_string())?;
        let status = json!({"status": object["status"]});
        let path = path_of(&object)?;
        lab.rest().patch(&format!("{path}/status"), &status)?;
        made.push(path);
    }
    let shown = |what: &str| -> Result<Vec<String>> {
        let text = lab.cluster().kubectl(&["get", what, "every-field"], "")?;
        let line = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(text.lines().map(line).collect())
    };
    assert_eq!(
        shown("queue")?,
        [
            "NAME STATE WEIGHT PRIORITY RUNNING WAITING PARENT",
            "every-field Closing 3 7 3 6 root"
        ]
    );
    let head = "NAME STATUS REASON MINAVAILABLE RUNNINGS SUCCEEDED DURATION AGE";
    assert_eq!(shown("vcjob")?[0], head);
    let head = "NAME SCHEDULE SUSPEND ACTIVE LAST-RUN LAST-SUCCESS AGE";
    assert_eq!(shown("cronvcjob")?[0], head);
    let flow = shown("jobflow")?;
    assert_eq!(flow[0], "NAME STATUS COMPLETED AGE");
    ensure!(flow[1].starts_with("every-field Running 1/6 "), "{flow:?}");
    let all = lab.cluster().kubectl(&["get", "all", "-o", "name"], "")?;
    for kind in ["job.batch", "cronjob.batch", "jobflow.flow"] {
        let name = format!("{kind}.volcano.sh/every-field\n");
        ensure!(all.contains(&name), "{name} is not in\n{all}");
    }
    lab.delete(&made[0])
}
