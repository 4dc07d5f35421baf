//! `pumice jobflow` and `pumice jobtemplate`: the same words for both kinds, as vcctl has them.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use k8s_openapi::Resource;
use k8s_openapi::api::core::v1::Event;
use pumice_api::{JobFlow, JobTemplate};
use serde_json::Value;

use super::events::show_events;
use super::file::{documents, ensure_kind, text_of};
use super::user::{ClusterConnection, ClusterUser, list_of, wrong};
use super::watch::watch;
use super::words::{HEAD, age_of, line, or, print, some};
use crate::columns::columns;
use crate::output::OutputFormat;

/// What to do with objects of one kind.
#[derive(Subcommand)]
pub enum FlowCommand {
    /// Create those of a file, which may hold several
    Create(FlowCreateArguments),
    /// A line each
    List(FlowListArguments),
    /// One of them, as the list shows it
    Get(FlowNameArguments),
    /// What one wants, how far it is, and its events
    #[command(alias = "describe")]
    View(FlowNameArguments),
    /// Delete one
    Delete(FlowNameArguments),
}

/// Arguments of `create`.
#[derive(Args)]
pub struct FlowCreateArguments {
    /// YAML or JSON file; `-` is standard input
    #[arg(long = "filename", short, alias = "file", value_name = "FILE")]
    file: PathBuf,
    /// Namespace; default: that of the file, else that of the context
    #[arg(long, short, value_name = "NAME")]
    namespace: Option<String>,
    #[command(flatten)]
    connection: ClusterConnection,
}

/// Arguments of `list`.
#[derive(Args)]
pub struct FlowListArguments {
    /// Namespace; default: that of the context
    #[arg(long, short, value_name = "NAME", conflicts_with = "all_namespaces")]
    namespace: Option<String>,
    /// Those of all namespaces
    #[arg(long, short = 'A')]
    all_namespaces: bool,
    /// Go on, and show each anew that changes
    #[arg(long, short, conflicts_with = "output")]
    watch: bool,
    /// Output format
    #[arg(long, short, value_enum, default_value = "table")]
    output: OutputFormat,
    #[command(flatten)]
    connection: ClusterConnection,
}

/// Arguments of `get`, `view` and `delete`.
#[derive(Args)]
pub struct FlowNameArguments {
    #[command(flatten)]
    name: FlowName,
    /// Namespace; default: that of the context
    #[arg(long, short, value_name = "NAME")]
    namespace: Option<String>,
    /// Output format; JSON and YAML are the object as it is
    #[arg(long, short, value_enum, default_value = "table")]
    output: OutputFormat,
    #[command(flatten)]
    connection: ClusterConnection,
}

/// Which JobFlow or JobTemplate, named in one of two ways.
#[derive(Args)]
#[group(required = true, multiple = false)]
struct FlowName {
    /// Name of the object
    #[arg(value_name = "NAME")]
    named: Option<String>,
    /// Name of the object, as vcctl takes it
    #[arg(long = "name", short = 'N', value_name = "NAME")]
    flag: Option<String>,
}

/// A kind, and what its lines show.
trait FlowKind: Resource {
    /// The word of the command.
    const WORD: &'static str;
    /// What stands between name and age.
    const COLUMNS: [&'static str; 2];
    fn cells(object: &Value) -> [String; 2];
    /// Rows of what it is made of: heading, cells.
    const PARTS: [&'static str; 3];
    fn parts(object: &Value) -> Vec<[String; 3]>;
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn names(list: &Value) -> String {
    let names = list.as_array().into_iter().flatten().map(text);
    let names: Vec<&str> = names.collect();
    or(&names.join(", "), "-").to_owned()
}

impl FlowKind for JobFlow {
    const WORD: &'static str = "jobflow";
    const COLUMNS: [&'static str; 2] = ["PHASE", "COMPLETED"];
    const PARTS: [&'static str; 3] = ["STEP", "JOB", "AFTER"];

    fn cells(object: &Value) -> [String; 2] {
        let status = &object["status"];
        let count = |list: &Value| list.as_array().map_or(0, Vec::len);
        let all = count(&object["spec"]["flows"]);
        let phase = or(text(&status["state"]["phase"]), "Pending").to_owned();
        [phase, format!("{}/{all}", count(&status["completedJobs"]))]
    }

    fn parts(object: &Value) -> Vec<[String; 3]> {
        let flow = text(&object["metadata"]["name"]);
        let states = object["status"]["jobStatusList"].as_array();
        let state = |job: &str| {
            let mut states = states.into_iter().flatten();
            let found = states.find(|one| one["name"] == job);
            found
                .map_or("not started", |one| text(&one["state"]))
                .to_owned()
        };
        let steps = object["spec"]["flows"].as_array();
        let row = |step: &Value| {
            let name = text(&step["name"]);
            let job = state(&format!("{flow}-{name}"));
            [name.to_owned(), job, names(&step["dependsOn"]["targets"])]
        };
        steps.into_iter().flatten().map(row).collect()
    }
}

impl FlowKind for JobTemplate {
    const WORD: &'static str = "jobtemplate";
    const COLUMNS: [&'static str; 2] = ["TASKS", "JOBS"];
    const PARTS: [&'static str; 3] = ["TASK", "REPLICAS", "IMAGES"];

    fn cells(object: &Value) -> [String; 2] {
        let tasks = object["spec"]["tasks"].as_array().map_or(0, Vec::len);
        let jobs = &object["status"]["jobDependsOnList"];
        let jobs = jobs.as_array().map_or(0, Vec::len);
        [tasks.to_string(), jobs.to_string()]
    }

    fn parts(object: &Value) -> Vec<[String; 3]> {
        let tasks = object["spec"]["tasks"].as_array();
        let row = |task: &Value| {
            let containers = task["template"]["spec"]["containers"].as_array();
            let images = containers.into_iter().flatten();
            let images: Vec<&str> = images.map(|one| text(&one["image"])).collect();
            let replicas = task["replicas"].as_i64().unwrap_or(1);
            [
                text(&task["name"]).to_owned(),
                replicas.to_string(),
                images.join(","),
            ]
        };
        tasks.into_iter().flatten().map(row).collect()
    }
}

/// `pumice jobflow`.
pub fn run_flow(command: &FlowCommand) -> anyhow::Result<ExitCode> {
    run::<JobFlow>(command)
}

/// `pumice jobtemplate`.
pub fn run_template(command: &FlowCommand) -> anyhow::Result<ExitCode> {
    run::<JobTemplate>(command)
}

fn run<K: FlowKind>(command: &FlowCommand) -> anyhow::Result<ExitCode> {
    match command {
        FlowCommand::Create(arguments) => create::<K>(arguments),
        FlowCommand::List(arguments) => list::<K>(arguments),
        FlowCommand::Get(arguments) => show::<K>(arguments, false),
        FlowCommand::View(arguments) => show::<K>(arguments, true),
        FlowCommand::Delete(arguments) => delete::<K>(arguments),
    }
}

fn create<K: FlowKind>(arguments: &FlowCreateArguments) -> anyhow::Result<ExitCode> {
    let source = arguments.file.display().to_string();
    let objects = of_file::<K>(&text_of(&arguments.file)?, &source)?;
    let user = arguments.connection.open()?;
    for object in objects {
        let own = object["metadata"]["namespace"].as_str();
        let named = arguments.namespace.as_deref().or(own);
        let namespace = user.namespace(named).to_owned();
        let made = user.ask(user.objects.create::<K>(&namespace, &object, false))?;
        let name = text(&made["metadata"]["name"]);
        anstream::println!("{} {namespace}/{name} is created", K::WORD);
    }
    Ok(ExitCode::SUCCESS)
}

/// Objects of the kind; anything else in the file is refused before the first is created.
fn of_file<K: FlowKind>(text: &str, source: &str) -> anyhow::Result<Vec<Value>> {
    let objects = documents(text, source)?;
    for object in &objects {
        let help = "`kubectl create -f` creates whatever a file has";
        ensure_kind(object, (K::KIND, K::API_VERSION), source, help)?;
    }
    match objects.is_empty() {
        true => Err(wrong(format!("{source} has no {}", K::KIND))),
        false => Ok(objects),
    }
}

fn list<K: FlowKind>(arguments: &FlowListArguments) -> anyhow::Result<ExitCode> {
    let user = arguments.connection.open()?;
    let namespace = match arguments.all_namespaces {
        true => "",
        false => user.namespace(arguments.namespace.as_deref()),
    };
    if arguments.watch {
        return watch::<5, 2>(&user, head::<K>(), || {
            let found = user.ask(user.objects.list::<K>(namespace, ""))?;
            Ok(rows::<K>(&found, Timestamp::now()))
        });
    }
    let found = user.ask(user.objects.list::<K>(namespace, ""))?;
    print(&list_of(found), arguments.output, |out, list| {
        table::<K>(out, &list["items"], Timestamp::now())
    })?;
    Ok(ExitCode::SUCCESS)
}

fn table<K: FlowKind>(out: &mut dyn Write, items: &Value, now: Timestamp) -> anyhow::Result<()> {
    let Some(items) = some(out, items)? else {
        return Ok(());
    };
    columns(out, head::<K>(), rows::<K>(items, now))
}

fn head<K: FlowKind>() -> [&'static str; 5] {
    let [first, second] = K::COLUMNS;
    ["NAME", "NAMESPACE", first, second, "AGE"]
}

fn rows<K: FlowKind>(items: &[Value], now: Timestamp) -> Vec<[String; 5]> {
    let row = |object: &Value| {
        let metadata = &object["metadata"];
        let [one, two] = K::cells(object);
        [
            text(&metadata["name"]).to_owned(),
            text(&metadata["namespace"]).to_owned(),
            one,
            two,
            age_of(text(&metadata["creationTimestamp"]), now),
        ]
    };
    items.iter().map(row).collect()
}

fn read<K: FlowKind>(user: &ClusterUser, arguments: &FlowNameArguments) -> anyhow::Result<Value> {
    let (namespace, name) = (
        user.namespace(arguments.namespace.as_deref()),
        arguments.name(),
    );
    let found = user.ask(user.objects.get::<K>(namespace, name))?;
    found.ok_or_else(|| missing::<K>(namespace, name))
}

fn missing<K: FlowKind>(namespace: &str, name: &str) -> anyhow::Error {
    wrong(format!(
        "there is no {} {namespace}/{name}\n  = help: `pumice {} list --all-namespaces` shows all; \
         another namespace is named with --namespace",
        K::KIND,
        K::WORD
    ))
}

impl FlowNameArguments {
    fn name(&self) -> &str {
        let name = self.name.named.as_deref().or(self.name.flag.as_deref());
        name.unwrap_or_default()
    }
}

fn show<K: FlowKind>(arguments: &FlowNameArguments, whole: bool) -> anyhow::Result<ExitCode> {
    let user = arguments.connection.open()?;
    let object = read::<K>(&user, arguments)?;
    let metadata = &object["metadata"];
    let mut events = Vec::new();
    if whole && arguments.output == OutputFormat::Table {
        let uid = text(&metadata["uid"]);
        let query = format!("fieldSelector=involvedObject.uid%3D{uid}");
        let namespace = text(&metadata["namespace"]);
        // Who may see the object need not see events.
        let found = user.try_ask(user.objects.list::<Event>(namespace, &query));
        events = found.unwrap_or_default();
    }
    print(&object, arguments.output, |out, object| {
        if !whole {
            let rows = rows::<K>(std::slice::from_ref(object), Timestamp::now());
            return columns(out, head::<K>(), rows);
        }
        describe::<K>(out, object)?;
        show_events(out, &events)
    })?;
    Ok(ExitCode::SUCCESS)
}

fn describe<K: FlowKind>(out: &mut dyn Write, object: &Value) -> anyhow::Result<()> {
    let metadata = &object["metadata"];
    let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
    writeln!(out, "{HEAD}{} {namespace}/{name}{HEAD:#}", K::WORD)?;
    for (title, cell) in K::COLUMNS.iter().zip(K::cells(object)) {
        let title: String = title
            .char_indices()
            .map(|(at, letter)| match at {
                0 => letter,
                _ => letter.to_ascii_lowercase(),
            })
            .collect();
        line(out, &title, &cell)?;
    }
    line(out, "Created", text(&metadata["creationTimestamp"]))?;
    writeln!(out)?;
    columns(out, K::PARTS, K::parts(object))
}

fn delete<K: FlowKind>(arguments: &FlowNameArguments) -> anyhow::Result<ExitCode> {
    let user = arguments.connection.open()?;
    let (namespace, name) = (
        user.namespace(arguments.namespace.as_deref()),
        arguments.name(),
    );
    if !user.ask(user.objects.delete::<K>(namespace, name))? {
        return Err(missing::<K>(namespace, name));
    }
    anstream::println!("{} {namespace}/{name} is deleted", K::WORD);
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn printed(print: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>) -> String {
        let mut out = Vec::new();
        print(&mut out).expect("printed");
        anstream::adapter::strip_str(&String::from_utf8_lossy(&out)).to_string()
    }

    fn flow() -> Value {
        json!({"metadata": {"name": "f", "namespace": "team", "creationTimestamp": "2026-01-02T03:04:05Z"},
            "spec": {"flows": [{"name": "a"}, {"name": "b", "dependsOn": {"targets": ["a"]}}]},
            "status": {"state": {"phase": "Running"}, "completedJobs": ["f-a"],
                "jobStatusList": [{"name": "f-a", "state": "Completed"}]}})
    }

    #[test]
    fn a_flow_is_listed_with_what_has_completed_and_viewed_step_by_step() {
        let now = "2026-01-02T03:06:05Z".parse().expect("a time");
        let expected = "\
NAME  NAMESPACE  PHASE    COMPLETED  AGE
f     team       Running  1/2        2m
";
        assert_eq!(
            printed(|out| table::<JobFlow>(out, &json!([flow()]), now)),
            expected
        );
        let expected = "\
jobflow team/f
  Phase     Running
  Completed 1/2
  Created   2026-01-02T03:04:05Z

STEP  JOB          AFTER
a     Completed    -
b     not started  a
";
        assert_eq!(printed(|out| describe::<JobFlow>(out, &flow())), expected);
        let none = printed(|out| table::<JobTemplate>(out, &json!([]), now));
        assert_eq!(none, "No resources found\n");
    }

    #[test]
    fn a_template_is_viewed_with_its_tasks() {
        let template = json!({"metadata": {"name": "t", "namespace": "team"},
            "spec": {"tasks": [{"name": "w", "replicas": 2,
                "template": {"spec": {"containers": [{"image": "train:1"}]}}}]},
            "status": {"jobDependsOnList": ["f-t"]}});
        assert_eq!(JobTemplate::cells(&template), ["1", "1"]);
        assert_eq!(JobTemplate::parts(&template), [["w", "2", "train:1"]]);
    }

    #[test]
    fn a_file_may_hold_several_of_the_kind_and_nothing_else() {
        let flow = "apiVersion: flow.volcano.sh/v1alpha1\nkind: JobFlow\nmetadata: {name: a}\n";
        let both = of_file::<JobFlow>(&format!("{flow}---\n{flow}---\n"), "f").expect("two");
        assert_eq!(both.len(), 2);
        let other = of_file::<JobTemplate>(flow, "f")
            .expect_err("another kind")
            .to_string();
        assert!(
            other.contains(
                "f has kind JobFlow of apiVersion flow.volcano.sh/v1alpha1, not a JobTemplate"
            ),
            "{other}"
        );
        assert!(of_file::<JobFlow>("", "f").is_err());
    }
}
