//! The API server as the user sees it, for `pumice job` and `pumice queue`.

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use pumice_api::{Command, keys};
use pumice_cluster::remote::{ClusterObjects, ObjectsError};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::words::print;
use crate::bad_input::BadInput;
use crate::output::OutputFormat;

/// Which cluster, as kubectl finds it.
#[derive(Args, Clone, Debug, Default)]
pub struct ClusterConnection {
    /// Kubeconfig; default: $KUBECONFIG, ~/.kube/config, or the service account of the pod
    #[arg(long, short = 'k', value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; default: the current one
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}

/// What is tried only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DryRun {
    /// It is created
    None,
    /// Nothing is sent
    Client,
    /// The API server judges it, and keeps nothing
    Server,
}

/// How an object is created.
#[derive(Args)]
pub struct CreationArguments {
    /// Only try, as kubectl does
    #[arg(
        long,
        value_enum,
        default_value = "none",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "client",
        value_name = "HOW"
    )]
    dry_run: DryRun,
    /// Output format; JSON and YAML are the object, as it was sent or made
    #[arg(long, short, value_enum, default_value = "table")]
    output: OutputFormat,
}

impl CreationArguments {
    /// Nothing is kept.
    pub fn is_trial(&self) -> bool {
        self.dry_run != DryRun::None
    }

    /// The way to the API server; `None` where nothing is sent.
    pub fn open(&self, connection: &ClusterConnection) -> anyhow::Result<Option<ClusterUser>> {
        let is_sent = self.dry_run != DryRun::Client;
        is_sent.then(|| connection.open()).transpose()
    }

    /// Creates an object, or only tries, and prints it, or the line that says so. The namespace is
    /// what `namespace` says of the user's. `user` is what [`open`](Self::open) has opened.
    pub fn create<K: k8s_openapi::Resource>(
        &self,
        user: Option<&ClusterUser>,
        namespace: Option<&str>,
        object: Value,
        line: impl FnOnce(&str) -> String,
    ) -> anyhow::Result<Value> {
        let made = match user {
            None => object,
            Some(user) => {
                let namespace = user.namespace(namespace);
                user.ask(
                    user.objects
                        .create::<K>(namespace, &object, self.is_trial()),
                )?
            }
        };
        let name = made["metadata"]["name"].as_str().unwrap_or_default();
        let told = match self.dry_run {
            DryRun::None => line(name),
            DryRun::Client => format!("{} (dry run)", line(name)),
            DryRun::Server => format!("{} (server dry run)", line(name)),
        };
        print(&made, self.output, |out, _| Ok(writeln!(out, "{told}")?))?;
        Ok(made)
    }
}

/// The way to the API server.
pub struct ClusterUser {
    runtime: Runtime,
    pub objects: ClusterObjects,
}

impl ClusterConnection {
    /// Reads the kubeconfig.
    pub fn open(&self) -> anyhow::Result<ClusterUser> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("no runtime")?;
        let connected =
            ClusterObjects::connect(self.kubeconfig.as_deref(), self.context.as_deref());
        let objects = runtime.block_on(connected).map_err(of_request)?;
        Ok(ClusterUser { runtime, objects })
    }
}

impl ClusterUser {
    /// Waits for an answer.
    pub fn ask<T>(
        &self,
        request: impl Future<Output = Result<T, ObjectsError>>,
    ) -> anyhow::Result<T> {
        self.runtime.block_on(request).map_err(of_request)
    }

    /// Waits for an answer, where the caller knows what to do about a failure.
    pub fn try_ask<T>(
        &self,
        request: impl Future<Output = Result<T, ObjectsError>>,
    ) -> Result<T, ObjectsError> {
        self.runtime.block_on(request)
    }

    /// As [`try_ask`](Self::try_ask), for so long at most.
    pub fn ask_within<T>(
        &self,
        patience: Duration,
        request: impl Future<Output = Result<T, ObjectsError>>,
    ) -> Result<T, ObjectsError> {
        let asked = async { tokio::time::timeout(patience, request).await };
        self.runtime.block_on(asked).unwrap_or_else(|_| {
            Err(ObjectsError::Unreachable {
                reason: format!("no answer within {patience:?}"),
            })
        })
    }

    /// The namespace named, else that of the context.
    pub fn namespace<'a>(&'a self, named: Option<&'a str>) -> &'a str {
        named.unwrap_or(self.objects.namespace())
    }

    /// Waits for several answers at once.
    pub fn wait_for_all<T>(&self, all: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
        self.runtime.block_on(pumice_cluster::remote::all(all))
    }

    /// Lets time pass.
    pub fn pause(&self, time: Duration) {
        let slept = async { tokio::time::sleep(time).await };
        self.runtime.block_on(slept);
    }

    /// Asks the controllers for an action on an object. Returns the name of the Command.
    pub fn command(&self, namespace: &str, action: &str, target: &Value) -> anyhow::Result<String> {
        let metadata = &target["metadata"];
        let name = metadata["name"].as_str().unwrap_or_default();
        let reference = json!({
            "apiVersion": target["apiVersion"], "kind": target["kind"],
            "name": name, "uid": metadata["uid"], "controller": true,
        });
        let mut command = json!({
            "apiVersion": "bus.volcano.sh/v1alpha1",
            "kind": "Command",
            "metadata": {"generateName": format!("{name}-{}-", action.to_lowercase())},
            "action": action,
            "target": reference,
        });
        if target["kind"] == keys::JOB_KIND {
            // An owner of another namespace would be none.
            command["metadata"]["ownerReferences"] = json!([command["target"]]);
        }
        let made = self.ask(self.objects.create::<Command>(namespace, &command, false))?;
        let made = made["metadata"]["name"].as_str();
        Ok(made.unwrap_or_default().to_owned())
    }
}

/// An object of the API server as the type it is of.
pub fn typed<T: DeserializeOwned>(object: &Value) -> anyhow::Result<T> {
    serde_json::from_value(object.clone()).map_err(|error| {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        wrong(format!("{name}: the object is not understood: {error}"))
    })
}

/// Said on standard error, exit code 2.
pub fn wrong(why: impl std::fmt::Display) -> anyhow::Error {
    BadInput(format!("error: {why}")).into()
}

fn of_request(error: ObjectsError) -> anyhow::Error {
    wrong(error)
}

/// Objects as kubectl prints several.
pub fn list_of(items: Vec<Value>) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}
