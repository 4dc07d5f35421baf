//! Pods asked for now and then, outside of any watch.

use http::Request;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{GetParams, ListParams};
use kube::{Client, Error};
use pumice_wire::{WireObject, WireProblem};

use crate::api::raw::raw_page;

const NOT_FOUND: u16 = 404;

/// A pod; `None` where there is none of that name.
///
/// # Errors
/// The request failed, or what came is no pod.
pub async fn get(client: &Client, namespace: &str, name: &str) -> Result<Option<Pod>, Error> {
    let request = kube::core::Request::new(path(namespace)).get(name, &GetParams::default());
    let request: Request<Vec<u8>> = request.map_err(Error::BuildRequest)?;
    match client.request_text(request).await {
        Ok(text) => Pod::read(text.as_bytes()).map(Some).map_err(unreadable),
        Err(Error::Api(status)) if status.code == NOT_FOUND => Ok(None),
        Err(error) => Err(error),
    }
}

/// The pods of a namespace that these parameters select.
///
/// # Errors
/// The request failed, or what came is no list of pods.
pub async fn list(client: &Client, namespace: &str, which: &ListParams) -> Result<Vec<Pod>, Error> {
    let request = kube::core::Request::new(path(namespace)).list(which);
    let request: Request<Vec<u8>> = request.map_err(Error::BuildRequest)?;
    let text = client.request_text(request).await?;
    let page = raw_page(text.as_bytes()).map_err(Error::SerdeError)?;
    let pods = page.items.iter().map(|pod| Pod::read(pod.get().as_bytes()));
    pods.collect::<Result<_, _>>().map_err(unreadable)
}

fn path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods")
}

fn unreadable(problem: WireProblem) -> Error {
    Error::SerdeError(serde::de::Error::custom(problem))
}
