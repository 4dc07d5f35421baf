//! The API by paths and JSON, as a test writes it down.

use std::time::Duration;

use anyhow::{Context, Result};
use futures::StreamExt;
use futures::io::{AsyncBufReadExt as _, AsyncReadExt as _};
use http::{Method, Request};
use kube::Client;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;

use crate::wait::run;

/// A client that takes paths such as `/api/v1/namespaces/default/pods`. Nothing is tried twice.
#[derive(Clone)]
pub struct Rest {
    client: Client,
}

impl Rest {
    /// A client of paths over this one.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// The client below.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// One request, blocking.
    ///
    /// # Errors
    /// What the API server answered, or that it did not; with method and path.
    pub fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value> {
        run(self.send(method, path, body))
    }

    /// One request.
    ///
    /// # Errors
    /// As [`Rest::call`].
    pub async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value> {
        let what = format!("{method} {path}");
        let content = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let bytes = body.map_or(Ok(Vec::new()), serde_json::to_vec)?;
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content)
            .body(bytes)?;
        let text = self.client.request_text(request).await;
        let text = text.with_context(|| what.clone())?;
        // Endpoints for people, such as /readyz, answer with plain words.
        Ok(serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    /// Reads an object.
    ///
    /// # Errors
    /// As [`Rest::call`].
    pub fn get(&self, path: &str) -> Result<Value> {
        self.call(Method::GET, path, None)
    }

    /// Reads an object as Kubernetes' own components do: in protobuf.
    ///
    /// # Errors
    /// As [`Rest::call`].
    pub fn get_protobuf(&self, path: &str) -> Result<Vec<u8>> {
        self.get_bytes(path, "application/vnd.kubernetes.protobuf")
    }

    /// Reads what is no text, in a media type.
    ///
    /// # Errors
    /// As [`Rest::call`].
    pub fn get_bytes(&self, path: &str, accept: &str) -> Result<Vec<u8>> {
        let request = Request::get(path).header("accept", accept);
        let request = request.body(Vec::new())?;
        run(async {
            let mut bytes = Vec::new();
            let body = self.client.request_stream(request).await?;
            Box::pin(body).read_to_end(&mut bytes).await?;
            Ok(bytes)
        })
    }

    /// Reads what is sent piece by piece, until a line holds this text.
    ///
    /// # Errors
    /// As [`Rest::call`], or the stream ends before or brings nothing for so long.
    pub fn until_line_with(&self, path: &str, text: &str, patience: Duration) -> Result<()> {
        let request = Request::get(path).body(Vec::new())?;
        run(async {
            let stream = self.client.request_stream(request).await?;
            let mut lines = Box::pin(stream.lines());
            loop {
                let line = timeout(patience, lines.next()).await;
                let line = line.with_context(|| format!("{path}: nothing more"))?;
                if line
                    .with_context(|| format!("{path} has ended"))??
                    .contains(text)
                {
                    return Ok(());
                }
            }
        })
    }

    /// The items of a list.
    ///
    /// # Errors
    /// As [`Rest::call`].
    pub fn list(&self, path: &str) -> Result<Vec<Value>> {
        let mut list = self.get(path)?;
        match list["items"].take() {
            Value::Array(items) => Ok(items),
            _ => Ok(Vec::new()),
        }
    }

    /// Creates an object in the collection at `path`.
    ///
    /// # Errors
    /// As [`Rest::call`].
    pub fn create(&self, path: &str, object: &Value) -> Result<Value> {
        self.call(Method::POST, path, Some(object))
    }

    /// Merges a patch into an object.
    ///
    /// # Errors
    /// As [`Rest::call`].
    pub fn patch(&self, path: &str, patch: &Value) -> Result<Value> {
        self.call(Method::PATCH, path, Some(patch))
    }

    /// Deletes an object, or all of a collection, without waiting for anyone.
    ///
    /// # Errors
    /// As [`Rest::call`]; that it was not there is none.
    pub fn delete_now(&self, path: &str) -> Result<()> {
        let options = serde_json::json!({"gracePeriodSeconds": 0});
        match self.call(Method::DELETE, path, Some(&options)) {
            Err(error) if is_status(&error, 404) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// Creates many objects, `at_once` at a time.
    ///
    /// # Errors
    /// The first refusal; objects before and after it may exist.
    pub fn create_all(&self, path: &str, objects: Vec<Value>, at_once: usize) -> Result<()> {
        run(async {
            let one = |object: Value| async move {
                self.send(Method::POST, path, Some(&object))
                    .await
                    .map(|_| ())
            };
            let mut done =
                futures::stream::iter(objects.into_iter().map(one)).buffer_unordered(at_once);
            while let Some(result) = done.next().await {
                result?;
            }
            Ok(())
        })
    }

    /// Reads an object as a type.
    ///
    /// # Errors
    /// As [`Rest::call`], or that the answer is of another shape.
    pub async fn read<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let value = self.send(Method::GET, path, None).await?;
        serde_json::from_value(value).with_context(|| format!("decode {path}"))
    }
}

/// Whether the API server answered with this HTTP status.
pub fn is_status(error: &anyhow::Error, code: u16) -> bool {
    let api = error.downcast_ref::<kube::Error>();
    matches!(api, Some(kube::Error::Api(status)) if status.code == code)
}
