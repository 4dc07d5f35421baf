//! `pumice queue`: queues of a cluster, as `vcctl queue` shows and changes them.

mod delete;
mod factors;
mod past_use;
mod refusal;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use pumice_api::{PodGroup, Queue, keys};
use pumice_cluster::remote::ObjectsError;
use pumice_engine::view::QueuesView;
use pumice_plan::{AskedQueues, WhenAbout};
use serde_json::{Value, json};

use super::job::resources;
use super::own_namespace;
use super::queue_lines::{self, QueueTableRow, state};
use super::scheduler::{SchedulerPlace, asked_by_the_way};
use super::starts;
use super::user::{ClusterConnection, ClusterUser, CreationArguments, list_of, typed, wrong};
use super::words::print;
use crate::output::OutputFormat;

/// Pause between two looks at a queue that is to change its state.
const PAUSE: Duration = Duration::from_millis(200);

/// Namespace of Commands for queues, which have none.
const COMMANDS: &str = "default";

/// What to do with queues.
#[derive(Subcommand)]
pub enum QueueCommand {
    /// Queues, a line each
    List(QueueListArguments),
    /// One queue
    Get(QueueGetArguments),
    /// Create a queue
    Create(QueueCreateArguments),
    /// Let a queue take in Jobs again
    Open(QueueStateArguments),
    /// Let a queue take in nothing new; what runs in it goes on
    Close(QueueStateArguments),
    /// Delete a queue; one with jobs in it only with --force
    Delete(delete::QueueDeleteArguments),
}

/// Arguments of `pumice queue list`.
#[derive(Args)]
pub struct QueueListArguments {
    /// When the jobs start that wait, in all queues or in this one, as `pumice when --queue`
    #[arg(long, value_name = "QUEUE", num_args = 0..=1)]
    start: Option<Option<String>>,
    /// Who used how much lately, queues and users, as plugin fairshare has it
    #[arg(long = "use")]
    past_use: bool,
    /// What the places of the jobs that wait are made of, as plugin multifactor has it
    #[arg(long, conflicts_with_all = ["start", "past_use"])]
    priority: bool,
    /// Output format
    #[arg(long, short, value_enum, default_value = "table")]
    output: OutputFormat,
    #[command(flatten)]
    connection: ClusterConnection,
}

/// One queue.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct QueueName {
    /// Name of the queue
    #[arg(value_name = "NAME")]
    named: Option<String>,
    /// Name of the queue, as vcctl takes it
    #[arg(long = "name", short = 'n', value_name = "NAME")]
    flag: Option<String>,
}

impl QueueName {
    fn get(&self) -> &str {
        let name = self.named.as_deref().or(self.flag.as_deref());
        name.unwrap_or_default()
    }

    /// The queue, which must be there.
    fn read(&self, user: &ClusterUser) -> anyhow::Result<Value> {
        let found = user.ask(user.objects.get::<Queue>("", self.get()))?;
        found.ok_or_else(|| missing(self.get()))
    }
}

/// Arguments of `pumice queue get`.
#[derive(Args)]
pub struct QueueGetArguments {
    #[command(flatten)]
    name: QueueName,
    /// Output format; JSON and YAML are the object as it is
    #[arg(long, short, value_enum, default_value = "table")]
    output: OutputFormat,
    #[command(flatten)]
    connection: ClusterConnection,
}

/// State to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WantedState {
    /// It takes in Jobs
    #[value(name = "Open", alias = "open")]
    Open,
    /// It takes in nothing new
    #[value(name = "Closed", alias = "closed")]
    Closed,
}

/// Arguments of `pumice queue create`.
#[derive(Args)]
pub struct QueueCreateArguments {
    #[command(flatten)]
    name: QueueName,
    /// Weight among its siblings
    #[arg(long, short, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65535))]
    weight: u32,
    /// State that the queue is to begin in
    #[arg(long, short = 'S', value_enum, default_value = "Open")]
    state: WantedState,
    /// Queue above it; default: root
    #[arg(long, value_name = "NAME")]
    parent: Option<String>,
    /// What it may have at most, as cpu=4,memory=8Gi
    #[arg(long, value_name = "AMOUNTS")]
    capability: Option<String>,
    /// Seconds to wait for the state
    #[arg(long, default_value_t = 10, value_name = "SECONDS")]
    timeout: u32,
    #[command(flatten)]
    creation: CreationArguments,
    #[command(flatten)]
    connection: ClusterConnection,
}

/// Arguments of `pumice queue open` and `close`.
#[derive(Args)]
pub struct QueueStateArguments {
    #[command(flatten)]
    name: QueueName,
    /// Seconds to wait for the state
    #[arg(long, default_value_t = 10, value_name = "SECONDS")]
    timeout: u32,
    #[command(flatten)]
    connection: ClusterConnection,
}

fn missing(name: &str) -> anyhow::Error {
    wrong(format!(
        "there is no queue {name}\n  = help: `pumice queue list` shows all"
    ))
}

/// Carries out what is asked for.
pub fn run(command: &QueueCommand) -> anyhow::Result<ExitCode> {
    match command {
        QueueCommand::List(arguments) => list(arguments),
        QueueCommand::Get(arguments) => {
            let user = arguments.connection.open()?;
            let queue = arguments.name.read(&user)?;
            show(&user, &arguments.connection, queue, arguments.output)
        }
        QueueCommand::Create(arguments) => create(arguments),
        QueueCommand::Open(arguments) => operate(arguments, WantedState::Open),
        QueueCommand::Close(arguments) => operate(arguments, WantedState::Closed),
        QueueCommand::Delete(arguments) => delete::run(arguments),
    }
}

/// Prints a queue or a list of some; tables count PodGroups, and have what the scheduler knows
/// where it may be asked.
fn show(
    user: &ClusterUser,
    cluster: &ClusterConnection,
    shown: Value,
    output: OutputFormat,
) -> anyhow::Result<ExitCode> {
    let mut lines = Vec::new();
    if output == OutputFormat::Table {
        // Who may see queues need not see the namespaces of others.
        let groups = user.try_ask(user.objects.list::<PodGroup>("", ""));
        let groups = own_namespace::readable(groups)?;
        let queues = match &shown["items"] {
            Value::Array(queues) => queues.clone(),
            _ => vec![shown.clone()],
        };
        lines = queue_lines::of_objects(&queues, groups.as_deref())?;
        let known: Option<QueuesView> = asked_by_the_way(cluster, &["queues"]);
        for view in known.into_iter().flat_map(|known| known.queues) {
            if let Some(line) = lines.iter_mut().find(|line| line.name == view.name) {
                line.view = Some(view);
            }
        }
    }
    print(&shown, output, |out, _| queue_lines::table(out, &lines))?;
    Ok(ExitCode::SUCCESS)
}

/// All queues; who may not see them is shown those that PodGroups of the namespace are in.
fn list(arguments: &QueueListArguments) -> anyhow::Result<ExitCode> {
    if let Some(queue) = &arguments.start {
        return list_starts(arguments, queue.as_deref());
    }
    if arguments.past_use {
        return past_use::list(&arguments.connection, arguments.output);
    }
    if arguments.priority {
        return factors::list(&arguments.connection, arguments.output);
    }
    let user = arguments.connection.open()?;
    match user.try_ask(user.objects.list::<Queue>("", "")) {
        Ok(queues) => show(
            &user,
            &arguments.connection,
            list_of(queues),
            arguments.output,
        ),
        Err(error @ ObjectsError::NotAllowed { .. }) => {
            let namespace = user.namespace(None).to_owned();
            let known = asked_by_the_way::<QueuesView>(&arguments.connection, &["queues"]);
            let lines = match known {
                Some(known) => known.queues.iter().map(QueueTableRow::from).collect(),
                None => {
                    anstream::eprintln!(
                        "note: these are the queues that PodGroups of namespace {namespace} are in: \
                         {error}. Queues belong to no namespace, so the right to see them takes a \
                         ClusterRoleBinding: kubectl create clusterrole queue-viewer \
                         --verb=get,list,watch --resource=queues.scheduling.volcano.sh; kubectl create \
                         clusterrolebinding queue-viewers --clusterrole=queue-viewer --user=YOU"
                    );
                    own_namespace::queues(&user, &namespace)?
                }
            };
            print(&lines, arguments.output, |out, lines| {
                queue_lines::table(out, lines)
            })?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => Err(wrong(error)),
    }
}

/// What the scheduler says of the jobs that wait.
fn list_starts(arguments: &QueueListArguments, queue: Option<&str>) -> anyhow::Result<ExitCode> {
    let scheduler = SchedulerPlace::of(&arguments.connection).open()?;
    let about = match queue {
        Some(queue) => WhenAbout::Queue {
            queue: queue.to_owned(),
        },
        None => WhenAbout::Queues {
            queues: AskedQueues::All,
        },
    };
    let all = starts::ask(&scheduler, about)?;
    print(&all, arguments.output, starts::table)?;
    Ok(starts::exit_code(&all))
}

fn create(arguments: &QueueCreateArguments) -> anyhow::Result<ExitCode> {
    let name = arguments.name.get();
    let mut spec = json!({"weight": arguments.weight});
    if let Some(parent) = &arguments.parent {
        spec["parent"] = json!(parent);
    }
    if let Some(capability) = &arguments.capability {
        spec["capability"] = json!(resources("--capability", capability)?);
    }
    let queue = json!({
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    });
    let line = |name: &str| format!("queue {name} is created");
    let creation = &arguments.creation;
    let user = creation.open(&arguments.connection)?;
    creation.create::<Queue>(user.as_ref(), Some(""), queue, line)?;
    let is_to_close = arguments.state == WantedState::Closed && !creation.is_trial();
    if let Some(user) = user.filter(|_| is_to_close) {
        change(
            &user,
            &arguments.name,
            WantedState::Closed,
            arguments.timeout,
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

fn operate(arguments: &QueueStateArguments, wanted: WantedState) -> anyhow::Result<ExitCode> {
    let user = arguments.connection.open()?;
    change(&user, &arguments.name, wanted, arguments.timeout)?;
    Ok(ExitCode::SUCCESS)
}

/// Whether a queue is in the state, or on its way there.
fn is_there(queue: &Queue, wanted: WantedState) -> bool {
    match wanted {
        WantedState::Open => state(queue) == "Open",
        WantedState::Closed => matches!(state(queue), "Closed" | "Closing"),
    }
}

/// Asks the controllers for the state and waits until it is there.
fn change(
    user: &ClusterUser,
    named: &QueueName,
    wanted: WantedState,
    timeout: u32,
) -> anyhow::Result<()> {
    let name = named.get();
    let object = named.read(user)?;
    let queue: Queue = typed(&object)?;
    if is_there(&queue, wanted) {
        anstream::println!("queue {name} is {} already", state(&queue));
        return Ok(());
    }
    refuse_in_vain(user, &queue, name, wanted)?;
    let (action, done) = match wanted {
        WantedState::Open => ("OpenQueue", "opened"),
        WantedState::Closed => ("CloseQueue", "closed"),
    };
    let command = user.command(COMMANDS, action, &object)?;
    let looks = Duration::from_secs(timeout.into()).as_millis() / PAUSE.as_millis();
    for _ in 0..=looks {
        let queue: Queue = typed(&named.read(user)?)?;
        if is_there(&queue, wanted) {
            anstream::println!("queue {name} is {}", told(&queue));
            return Ok(());
        }
        if let Some(why) = refusal::of(user, &command) {
            return Err(wrong(format!("queue {name} is not {done}: {why}")));
        }
        user.pause(PAUSE);
    }
    Err(wrong(format!(
        "nobody has {done} queue {name} within {timeout} s\n  = help: the Command \
         {COMMANDS}/{command} waits for the controllers; who they are says `kubectl -n \
         volcano-system get lease vc-controller-manager`. To take it back: kubectl -n {COMMANDS} \
         delete commands.bus.volcano.sh {command}"
    )))
}

fn told(queue: &Queue) -> String {
    match state(queue) {
        "Closing" => "Closing: it is Closed when its last PodGroup is deleted".to_owned(),
        state => state.to_owned(),
    }
}

/// What the controllers would refuse without a word to the one who asks.
fn refuse_in_vain(
    user: &ClusterUser,
    queue: &Queue,
    name: &str,
    wanted: WantedState,
) -> anyhow::Result<()> {
    if wanted == WantedState::Closed {
        return match name {
            keys::ROOT_QUEUE => Err(wrong(
                "the queue root cannot be closed\n  = help: close its children",
            )),
            _ => Ok(()),
        };
    }
    let parent = queue.spec.parent.as_str();
    if parent.is_empty() || parent == keys::ROOT_QUEUE {
        return Ok(());
    }
    let above = user.ask(user.objects.get::<Queue>("", parent))?;
    let above: Option<Queue> = above.as_ref().map(typed).transpose()?;
    match above {
        Some(above) if is_there(&above, WantedState::Closed) => Err(wrong(format!(
            "queue {name} stays closed while the queue above it, {parent}, is {}\n  = help: \
             pumice queue open {parent}",
            state(&above)
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
