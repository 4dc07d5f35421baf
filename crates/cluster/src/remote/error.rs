//! What may come between a user and the scheduler, with what to do.

use kube::client::UpgradeConnectionError;
use thiserror::Error;

use super::{RemoteOptions, RemoteRole, SchedulerPod};
use crate::client::describe;

/// A page could not be read.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum RemoteError {
    /// There is no way to the API server.
    #[error(
        "no cluster to ask: {reason}\n  = help: name a kubeconfig with --kubeconfig or \
             $KUBECONFIG, a context with --context, or the scheduler itself with --server"
    )]
    Kubeconfig {
        /// What is wrong.
        reason: String,
    },
    /// The API server does not answer.
    #[error("the API server does not answer: {reason}")]
    Unreachable {
        /// What happened.
        reason: String,
    },
    /// A permission is missing.
    #[error(
        "not permitted: {message}\n  = help: grant {rule} in namespace {namespace}. Of four rights it takes \
             (get a Lease, get and list pods, get and create pods/portforward, create \
             serviceaccounts/token, all there) the Role volcano-scheduler-{role} has all: kubectl -n \
             {namespace} create rolebinding YOU-{role} --role=volcano-scheduler-{role} --user=YOU"
    )]
    Denied {
        /// What the API server says.
        message: String,
        /// What to grant.
        rule: &'static str,
        /// Where.
        namespace: String,
        /// What it is for.
        role: RemoteRole,
    },
    /// There is nobody to ask as.
    #[error(
        "there is no ServiceAccount {namespace}/{name}, as which the scheduler is asked\n  = help: the \
             chart of Pumice makes it; beside Volcano's chart: kubectl apply -f \
             deploy/image-swap/access.yaml"
    )]
    NoAccount {
        /// Namespace of the ServiceAccount.
        namespace: String,
        /// Name of the ServiceAccount.
        name: String,
    },
    /// The scheduler does not answer this user.
    #[error("the scheduler refuses: {message}")]
    Refused {
        /// What it says.
        message: String,
    },
    /// There is no such Lease.
    #[error(
        "there is no Lease {namespace}/{name}, so no scheduler has started there\n  = help: \
             install Pumice, name the Lease with --lease-namespace and --lease-name, or the \
             scheduler itself with --server (one with --leader-elect=false has no Lease)"
    )]
    NoLease {
        /// Namespace of the Lease.
        namespace: String,
        /// Name of the Lease.
        name: String,
    },
    /// Nobody holds it.
    #[error(
        "nobody holds the Lease {namespace}/{name}: the scheduler is not running\n  = help: \
             kubectl -n {namespace} get pods -l app=volcano-scheduler"
    )]
    NoHolder {
        /// Namespace of the Lease.
        namespace: String,
        /// Name of the Lease.
        name: String,
    },
    /// The holder of the Lease is no pod.
    #[error(
        "the Lease is held by {holder:?}, but namespace {namespace} has no such pod\n  = help: \
             the scheduler has just ended, or runs outside of the cluster: name it with --server"
    )]
    NoPod {
        /// Namespace of the Lease.
        namespace: String,
        /// Identity in the Lease.
        holder: String,
    },
    /// The pod that is named does not exist.
    #[error(
        "there is no pod {namespace}/{name}\n  = help: kubectl -n {namespace} get pods; the namespace is that of \
             --lease-namespace"
    )]
    NoSuchPod {
        /// Namespace in which it was looked for.
        namespace: String,
        /// Name that was given.
        name: String,
    },
    /// The connection to the pod cannot be made.
    #[error(
        "port {port} of pod {pod} cannot be reached through the API server: {reason}\n  = help: \
             name another port with --port (the one of the scheduler's --secure-address)"
    )]
    NotForwarded {
        /// `namespace/name`.
        pod: String,
        /// Port of the pod to which the connection was to go.
        port: u16,
        /// What happened.
        reason: String,
    },
    /// Somebody else answers.
    #[error(
        "{who} answers, but it is not Pumice (Volcano's own scheduler, or a Pumice without these \
             pages)\n  = help: this needs Pumice as the leading scheduler"
    )]
    NotPumice {
        /// Address or pod that answers.
        who: String,
    },
    /// The address is none.
    #[error("--server {address}: not an address\n  = help: write it like http://127.0.0.1:8080")]
    Address {
        /// As given.
        address: String,
    },
    /// Nobody answers there.
    #[error("--server {address}: no answer: {reason}")]
    NoAnswer {
        /// As given.
        address: String,
        /// What happened.
        reason: String,
    },
}

/// What forwarding needs.
const FORWARD: &str = "the verbs get and create on pods/portforward";

impl RemoteError {
    pub(super) fn not_forwarded(leader: &SchedulerPod, reason: &str) -> Self {
        Self::NotForwarded {
            pod: format!("{}/{}", leader.namespace, leader.pod),
            port: leader.port,
            reason: reason.trim().to_owned(),
        }
    }
}

/// A request to the API server that failed for another reason than that the object is missing.
pub(super) fn of_request(
    error: &kube::Error,
    rule: &'static str,
    options: &RemoteOptions,
) -> RemoteError {
    match error {
        kube::Error::Api(status) if status.code == 403 => RemoteError::Denied {
            message: status.message.clone(),
            rule,
            namespace: options.lease_namespace.clone(),
            role: options.role,
        },
        kube::Error::Api(status) => RemoteError::Unreachable {
            reason: status.message.clone(),
        },
        error => RemoteError::Unreachable {
            reason: describe(error),
        },
    }
}

pub(super) fn of_forwarding(
    leader: &SchedulerPod,
    error: &kube::Error,
    options: &RemoteOptions,
) -> RemoteError {
    if let kube::Error::UpgradeConnection(UpgradeConnectionError::ProtocolSwitch(status)) = error {
        if *status == http::StatusCode::FORBIDDEN {
            return RemoteError::Denied {
                message: format!(
                    "the API server refuses to forward a port of pod {}",
                    leader.pod
                ),
                rule: FORWARD,
                namespace: leader.namespace.clone(),
                role: options.role,
            };
        }
        let reason = format!("the API server answers {status}");
        return RemoteError::not_forwarded(leader, &reason);
    }
    match of_request(error, FORWARD, options) {
        RemoteError::Unreachable { reason } => RemoteError::not_forwarded(leader, &reason),
        other => other,
    }
}
