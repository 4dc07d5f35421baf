//! What the containers of pods have written, as `kubectl logs` reads it.

use futures::{AsyncBufReadExt, TryStreamExt};
use http::Request;
use k8s_openapi::api::core::v1::Pod;

use super::objects::{absent, path};
use super::{ClusterObjects, ObjectsError};

/// Which part of what a pod has written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogPart {
    /// Container; the only one, or the one the pod names as its default.
    pub container: Option<String>,
    /// Go on until the container ends.
    pub follow: bool,
    /// The last so many lines.
    pub tail: Option<u32>,
    /// What the container wrote before its last restart.
    pub previous: bool,
}

impl LogPart {
    fn query(&self) -> String {
        let mut parts = Vec::new();
        if let Some(container) = &self.container {
            parts.push(format!("container={container}"));
        }
        if let Some(lines) = self.tail {
            parts.push(format!("tailLines={lines}"));
        }
        for (name, is_set) in [("follow", self.follow), ("previous", self.previous)] {
            if is_set {
                parts.push(format!("{name}=true"));
            }
        }
        match parts.is_empty() {
            true => String::new(),
            false => format!("?{}", parts.join("&")),
        }
    }
}

impl ClusterObjects {
    /// Hands out what a pod has written, line by line. False when there is no such pod.
    ///
    /// # Errors
    /// The API server cannot be reached, or refuses: the container has not started yet.
    pub async fn logs(
        &self,
        namespace: &str,
        pod: &str,
        part: &LogPart,
        mut take: impl FnMut(String),
    ) -> Result<bool, ObjectsError> {
        let broken = |reason: String| ObjectsError::Unreachable { reason };
        let path = format!("{}/log{}", path::<Pod>(namespace, pod), part.query());
        let request = Request::get(path).body(Vec::new());
        let request = request.map_err(|error| broken(error.to_string()))?;
        let stream = match self.client.request_stream(request).await {
            Ok(stream) => stream,
            Err(error) => return absent::<Pod>(&error, "get").map(|_| false),
        };
        let mut lines = std::pin::pin!(stream.lines());
        while let Some(line) = lines
            .try_next()
            .await
            .map_err(|error| broken(error.to_string()))?
        {
            take(line);
        }
        Ok(true)
    }
}
