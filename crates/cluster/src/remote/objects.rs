//! The objects users work with, read and written as they are allowed to: what `pumice job` and
//! `pumice queue` need. Nothing is tried twice.

use http::{Method, Request};
use k8s_openapi::Resource;
use kube::Client;
use serde_json::Value;
use thiserror::Error;
use tokio::time::timeout;

use super::{LIMIT, client_of};
use crate::client::describe;

/// A request for an object has failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ObjectsError {
    /// There is no way to the API server.
    #[error(
        "no cluster to ask: {reason}\n  = help: name a kubeconfig with --kubeconfig or \
             $KUBECONFIG, or a context with --context"
    )]
    NoCluster {
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
        "not permitted: {message}\n  = help: ask who administers the cluster to grant {rule}; \
             the cluster's role edit has what Jobs need"
    )]
    NotAllowed {
        /// What the API server says.
        message: String,
        /// What to grant.
        rule: String,
    },
    /// The API server does not know the kind.
    #[error(
        "the cluster has no {plural}.{group}\n  = help: install the definitions: \
             deploy/README.md of Pumice, \"Plain manifests\""
    )]
    NoKind {
        /// Plural name of the kind, such as `queues`.
        plural: &'static str,
        /// API group of the kind.
        group: &'static str,
    },
    /// The API server refuses the object.
    #[error("the API server refuses it: {message}")]
    Refused {
        /// `message` of the answer.
        message: String,
    },
}

/// The API server, as one user sees it.
pub struct ClusterObjects {
    pub(super) client: Client,
    namespace: String,
}

impl ClusterObjects {
    /// Reads the kubeconfig: the one given, else `$KUBECONFIG`, `~/.kube/config`, or the pod's
    /// service account; its current context unless one is given. Nothing is sent yet.
    ///
    /// # Errors
    /// It is missing or cannot be used.
    pub async fn connect(
        kubeconfig: Option<&std::path::Path>,
        context: Option<&str>,
    ) -> Result<Self, ObjectsError> {
        let made = client_of(kubeconfig, context).await;
        let (client, namespace) = made.map_err(|reason| ObjectsError::NoCluster { reason })?;
        Ok(Self { client, namespace })
    }

    /// With this client, for tests.
    #[cfg(test)]
    fn with(client: Client) -> Self {
        Self {
            client,
            namespace: "default".to_owned(),
        }
    }

    /// The namespace of the context.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// One object, if it is there; an empty namespace for kinds without.
    ///
    /// # Errors
    /// The API server cannot be reached, or refuses.
    pub async fn get<K: Resource>(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, ObjectsError> {
        let path = path::<K>(namespace, name);
        self.send::<K>(Method::GET, &path, Body::None, "get").await
    }

    /// Objects of one namespace, or of all (empty); `query` has the selectors, `labelSelector=a%3Db`.
    ///
    /// # Errors
    /// The API server cannot be reached, or refuses.
    pub async fn list<K: Resource>(
        &self,
        namespace: &str,
        query: &str,
    ) -> Result<Vec<Value>, ObjectsError> {
        let collection = path::<K>(namespace, "");
        let path = match query {
            "" => collection,
            query => format!("{collection}?{query}"),
        };
        let list = self
            .send::<K>(Method::GET, &path, Body::None, "list")
            .await?;
        match list.ok_or_else(no_kind::<K>)?["items"].take() {
            Value::Array(items) => Ok(items),
            _ => Ok(Vec::new()),
        }
    }

    /// Creates an object; fields it does not have are refused. With `only_try` it is judged and not
    /// kept.
    ///
    /// # Errors
    /// The API server cannot be reached, or refuses: it exists, is invalid, or not allowed.
    pub async fn create<K: Resource>(
        &self,
        namespace: &str,
        object: &Value,
        only_try: bool,
    ) -> Result<Value, ObjectsError> {
        let dry = if only_try { "&dryRun=All" } else { "" };
        let path = format!("{}?fieldValidation=Strict{dry}", path::<K>(namespace, ""));
        let made = self
            .send::<K>(Method::POST, &path, Body::Json(object), "create")
            .await?;
        made.ok_or_else(no_kind::<K>)
    }

    /// Deletes an object; false when it was not there.
    ///
    /// # Errors
    /// The API server cannot be reached, or refuses.
    pub async fn delete<K: Resource>(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<bool, ObjectsError> {
        let path = path::<K>(namespace, name);
        let options = serde_json::json!({"propagationPolicy": "Background"});
        let gone = self
            .send::<K>(Method::DELETE, &path, Body::Json(&options), "delete")
            .await?;
        Ok(gone.is_some())
    }

    /// Changes an object by a JSON patch (RFC 6902); nothing when it was not there.
    ///
    /// # Errors
    /// The API server cannot be reached, or refuses: a test of the patch fails, what would come of
    /// it is invalid, or it is not allowed.
    pub async fn patch<K: Resource>(
        &self,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> Result<Option<Value>, ObjectsError> {
        let path = format!("{}?fieldValidation=Strict", path::<K>(namespace, name));
        let body = Body::Patch(patch);
        self.send::<K>(Method::PATCH, &path, body, "patch").await
    }

    /// One request; nothing when there is no such object.
    async fn send<K: Resource>(
        &self,
        method: Method,
        path: &str,
        body: Body<'_>,
        verb: &str,
    ) -> Result<Option<Value>, ObjectsError> {
        let (media, body) = match body {
            Body::None => ("application/json", Vec::new()),
            Body::Json(body) => ("application/json", body.to_string().into_bytes()),
            Body::Patch(patch) => (
                "application/json-patch+json",
                patch.to_string().into_bytes(),
            ),
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::CONTENT_TYPE, media)
            .body(body);
        let request = request.map_err(|error| unreachable(error.to_string()))?;
        let answer = timeout(LIMIT, self.client.request::<Value>(request)).await;
        let answer = answer.map_err(|_| unreachable(format!("no answer within {LIMIT:?}")))?;
        match answer {
            Ok(object) => Ok(Some(object)),
            Err(error) => absent::<K>(&error, verb),
        }
    }
}

/// What is sent.
enum Body<'a> {
    None,
    Json(&'a Value),
    Patch(&'a Value),
}

fn unreachable(reason: String) -> ObjectsError {
    ObjectsError::Unreachable { reason }
}

/// Whether the failure says that there is no such object; else what it says.
pub(super) fn absent<K: Resource>(
    error: &kube::Error,
    verb: &str,
) -> Result<Option<Value>, ObjectsError> {
    let kube::Error::Api(status) = error else {
        return Err(unreachable(describe(error)));
    };
    match (status.code, status.reason.as_str()) {
        (404, "NotFound") => Ok(None),
        (404, _) => Err(no_kind::<K>()),
        // Policies and quotas refuse with the same code.
        (403, _) if is_about_role(&status.message) => Err(ObjectsError::NotAllowed {
            message: status.message.clone(),
            rule: format!("{verb} on {}", resource::<K>()),
        }),
        (400..500, _) => Err(ObjectsError::Refused {
            message: status.message.clone(),
        }),
        _ => Err(unreachable(status.message.clone())),
    }
}

/// `jobs.batch.volcano.sh is forbidden: User "u" cannot create resource "jobs" in API group …`.
fn is_about_role(message: &str) -> bool {
    [" cannot ", " resource "]
        .iter()
        .all(|part| message.contains(part))
}

fn no_kind<K: Resource>() -> ObjectsError {
    ObjectsError::NoKind {
        plural: K::URL_PATH_SEGMENT,
        group: K::GROUP,
    }
}

/// `jobs.batch.volcano.sh`.
fn resource<K: Resource>() -> String {
    match K::GROUP {
        "" => K::URL_PATH_SEGMENT.to_owned(),
        group => format!("{}.{group}", K::URL_PATH_SEGMENT),
    }
}

/// Path of an object, or of a collection (no name), in a namespace or outside of any.
pub(super) fn path<K: Resource>(namespace: &str, name: &str) -> String {
    let root = match K::GROUP {
        "" => format!("/api/{}", K::VERSION),
        group => format!("/apis/{group}/{}", K::VERSION),
    };
    let mut path = root;
    if !namespace.is_empty() {
        path = format!("{path}/namespaces/{}", path_part(namespace));
    }
    path = format!("{path}/{}", K::URL_PATH_SEGMENT);
    match name {
        "" => path,
        name => format!("{path}/{}", path_part(name)),
    }
}

/// A text as one part of a path or of a query, whatever users have typed: a name of Kubernetes has nothing to be escaped,
/// and anything else is said to be unknown, not to be a broken request.
pub fn path_part(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests;
