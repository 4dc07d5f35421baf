//! A Job as the command line names it, and what every command says of one.

use clap::Args;
use pumice_api::Job;
use serde_json::Value;

use super::super::user::{ClusterUser, wrong};

/// One Job.
#[derive(Args)]
pub struct NamedJob {
    #[command(flatten)]
    name: JobName,
    /// Namespace; default: that of the context
    #[arg(long, short, value_name = "NAME")]
    namespace: Option<String>,
}

/// Which Job, named in one of two ways.
#[derive(Args)]
#[group(required = true, multiple = false)]
struct JobName {
    /// Name of the Job
    #[arg(value_name = "NAME")]
    named: Option<String>,
    /// Name of the Job, as vcctl takes it
    #[arg(long = "name", short = 'N', value_name = "NAME")]
    flag: Option<String>,
}

impl NamedJob {
    /// Name of the Job, whichever way it was given.
    pub fn name(&self) -> &str {
        let name = self.name.named.as_deref().or(self.name.flag.as_deref());
        name.unwrap_or_default()
    }

    /// Namespace of the Job; that of the context where none is given.
    pub fn namespace<'a>(&'a self, user: &'a ClusterUser) -> &'a str {
        user.namespace(self.namespace.as_deref())
    }

    /// The Job, which must be there.
    pub fn read(&self, user: &ClusterUser) -> anyhow::Result<Value> {
        let (namespace, name) = (self.namespace(user), self.name());
        let found = user.ask(user.objects.get::<Job>(namespace, name))?;
        found.ok_or_else(|| missing(namespace, name))
    }
}

/// There is no such Job.
pub fn missing(namespace: &str, name: &str) -> anyhow::Error {
    wrong(format!(
        "there is no Job {namespace}/{name}\n  = help: `pumice job list --all-namespaces` shows \
         all; another namespace is named with --namespace"
    ))
}
