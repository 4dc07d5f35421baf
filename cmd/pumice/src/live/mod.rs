//! What a running scheduler sees: `explain`, `plan`, `history`, `top`, `ui`, `queues`, `cards`, `diag`, `dump`, `record`; and what users do with
//! objects of a cluster: `job`, `queue`, `jobflow`, `jobtemplate`, `pod`.
//!
//! ```text
//!  SchedulerConnection (flags) ─► pumice_cluster::remote ─► /debug/… of the leader ─► a view of pumice_engine
//!                                                                              ├► table, JSON, YAML
//!  ClusterConnection (flags) ──► pumice_cluster::remote::ClusterObjects ─► Jobs, Queues, Commands ─┘
//! ```
//!
//! `explain` and `job view` ask both (`account`). Who may not ask the scheduler is shown what the
//! objects of the own namespace say (`own_namespace`), and what to ask an administrator for.

mod account;
mod cards;
mod diag;
mod dump;
mod events;
mod explain;
mod file;
mod flow;
mod history;
mod job;
mod new_file;
mod own_namespace;
mod plan;
mod pod;
mod queue;
mod queue_lines;
mod queues;
mod record;
mod scheduler;
mod starts;
mod top;
mod ui;
mod user;
mod watch;
mod when;
mod words;

#[cfg(test)]
mod tests;

pub use scheduler::SchedulerPlace;

use std::process::ExitCode;

use clap::Subcommand;

/// What is asked of a cluster.
#[derive(Subcommand)]
pub enum LiveCommand {
    /// Why a pod, job or queue of a cluster waits, its place, and what would have to change
    Explain(explain::ExplainArguments),
    /// What would happen if: where pods of a manifest would go, who for them, what a change would do; nothing is done
    Plan(plan::PlanArguments),
    /// When jobs start, if what runs ends when its owners say
    When(when::WhenArguments),
    /// What became of jobs: when they waited and why, what they held, where, and what that sums up to
    History(history::HistoryArguments),
    /// Queues, nodes, cards and what waits, at a glance
    Top(top::TopArguments),
    /// Queues of a cluster: allocated, deserved, capability, what waits
    Queues(queues::QueuesArguments),
    /// Shared cards of a cluster's nodes, and who holds them
    Cards(cards::CardsArguments),
    /// The cluster as a page in a browser: queues, jobs, nodes, cards, why things wait; or files, without a cluster
    Ui(ui::UiArguments),
    /// Where the time of a cluster's scheduler goes
    Diag(diag::DiagArguments),
    /// What the scheduler of a cluster has, in a file that `pumice simulate` reads
    Dump(dump::DumpArguments),
    /// What the scheduler of a cluster has recorded: export
    #[command(subcommand)]
    Record(record::RecordCommand),
    /// Jobs of a cluster: run, list, view, logs, wait, scale, suspend, resume, delete
    #[command(subcommand)]
    Job(job::JobCommand),
    /// Queues of a cluster: list, get, create, open, close, delete
    #[command(subcommand)]
    Queue(queue::QueueCommand),
    /// JobFlows of a cluster: create, list, get, view, delete
    #[command(subcommand, name = "jobflow", alias = "jobflows")]
    JobFlow(flow::FlowCommand),
    /// JobTemplates of a cluster: create, list, get, view, delete
    #[command(subcommand, name = "jobtemplate", alias = "jobtemplates")]
    JobTemplate(flow::FlowCommand),
    /// Pods of Jobs and queues: list
    #[command(subcommand)]
    Pod(pod::PodCommand),
}

/// Asks the cluster and shows its answer.
///
/// # Errors
/// As each command's: bad input, or a cluster that does not answer.
pub fn run(command: &LiveCommand) -> anyhow::Result<ExitCode> {
    match command {
        LiveCommand::Explain(arguments) => explain::run(arguments),
        LiveCommand::Plan(arguments) => plan::run(arguments),
        LiveCommand::When(arguments) => when::run(arguments),
        LiveCommand::History(arguments) => history::run(arguments),
        LiveCommand::Top(arguments) => top::run(arguments),
        LiveCommand::Queues(arguments) => queues::run(arguments),
        LiveCommand::Cards(arguments) => cards::run(arguments),
        LiveCommand::Ui(arguments) => ui::run(arguments),
        LiveCommand::Diag(arguments) => diag::run(arguments),
        LiveCommand::Dump(arguments) => dump::run(arguments),
        LiveCommand::Record(command) => record::run(command),
        LiveCommand::Job(command) => job::run(command),
        LiveCommand::Queue(command) => queue::run(command),
        LiveCommand::JobFlow(command) => flow::run_flow(command),
        LiveCommand::JobTemplate(command) => flow::run_template(command),
        LiveCommand::Pod(command) => pod::run(command),
    }
}
