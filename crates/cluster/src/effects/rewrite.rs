//! Changes of objects by whole writes: read, changed, written back on the version that was read.
//!
//! Needs no more than `list` and `update`, which is what Volcano's role grants: an object is read by a list
//! of one and written whole, so that a write never undoes another one's.

use std::sync::Arc;

use http::Method;
use serde_json::Value;
use tokio::time::Instant;

use super::decided::NOT_THE_LEADER;
use super::shared::{Rate, WriterContext};
use crate::api::backoff;
use crate::api::call::{ApiCall, JSON, Reply};

/// Reads the object with a path and a name, and writes what `wanted` makes of it, or a part of that
/// (`/status`), until it has happened, nothing is left to do or a bind may last no longer. The version of the
/// object then, if it is known.
pub(super) async fn change(
    shared: &Arc<WriterContext>,
    object: (&str, &str, &str),
    wanted: impl Fn(&Value) -> Result<Option<Value>, String>,
) -> Result<Option<u64>, String> {
    let end = Instant::now() + shared.options.bind_timeout;
    change_until(Some(end), shared, object, wanted).await
}

/// Changes an object as [`change`] does, however long the API server fails: only the end of the term and
/// a refusal that does not pass by itself end it.
pub(super) async fn change_surely(
    shared: &Arc<WriterContext>,
    object: (&str, &str, &str),
    wanted: impl Fn(&Value) -> Result<Option<Value>, String>,
) -> Result<Option<u64>, String> {
    change_until(None, shared, object, wanted).await
}

async fn change_until(
    end: Option<Instant>,
    shared: &Arc<WriterContext>,
    (path, name, part): (&str, &str, &str),
    wanted: impl Fn(&Value) -> Result<Option<Value>, String>,
) -> Result<Option<u64>, String> {
    let mut tries = 0;
    loop {
        let text = match read(shared, path, name).await? {
            Ok(found) => {
                let found = found.ok_or("it does not exist any more")?;
                let Some(new) = wanted(&found)? else {
                    return Ok(version(&found));
                };
                let object = format!("{path}/{name}{part}");
                let call = ApiCall::with(Method::PUT, object, JSON, &new);
                match write(shared, call).await? {
                    Ok(body) => {
                        let written = serde_json::from_slice::<Value>(&body);
                        return Ok(written.ok().as_ref().and_then(version));
                    }
                    Err(text) => text,
                }
            }
            Err(text) => text,
        };
        if end.is_some_and(|end| Instant::now() >= end) {
            return Err(text);
        }
        tokio::time::sleep(backoff::pause(tries)).await;
        tries += 1;
    }
}

/// Versions are numbers that grow.
fn version(object: &Value) -> Option<u64> {
    text(&object["metadata"]["resourceVersion"]).parse().ok()
}

/// Writes once; the answer, or the text of what may pass by itself.
async fn write(
    shared: &Arc<WriterContext>,
    call: ApiCall,
) -> Result<Result<Vec<u8>, String>, String> {
    let reply = {
        // Never closed, so it is always a turn.
        let _turn = shared.steps.acquire().await;
        shared.write(Rate::Core, "pre_bind", call).await
    };
    match reply.map_err(|_| no_longer_leader())? {
        Reply::Ok(body) => Ok(Ok(body)),
        reply => passing(reply).map(Err),
    }
}

/// Reads one object through a list. `Ok(Err(…))` may pass by itself.
pub(super) async fn read(
    shared: &Arc<WriterContext>,
    path: &str,
    name: &str,
) -> Result<Result<Option<Value>, String>, String> {
    let path = format!("{path}?fieldSelector=metadata.name%3D{name}");
    let reply = {
        let _turn = shared.steps.acquire().await;
        let cleared = shared.clear_to_write(Rate::Core).await;
        cleared.map_err(|_| no_longer_leader())?;
        shared.read(path).await
    };
    let body = match reply {
        Reply::Ok(body) => body,
        reply => return passing(reply).map(Err),
    };
    match serde_json::from_slice::<Value>(&body) {
        Ok(mut list) => Ok(Ok(list["items"].get_mut(0).map(Value::take))),
        Err(error) => Ok(Err(format!("unreadable answer: {error}"))),
    }
}

fn no_longer_leader() -> String {
    NOT_THE_LEADER.to_owned()
}

/// The text of a failure that may pass by itself.
///
/// # Errors
/// That of one that does not.
fn passing(reply: Reply) -> Result<String, String> {
    let text = reply.text();
    match reply {
        Reply::Refused(refusal) if !matches!(refusal.code, 401 | 408 | 409 | 429 | 500..) => {
            Err(text)
        }
        _ => Ok(text),
    }
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The object is still the one that was decided about.
pub(super) fn same_claim(object: &Value, uid: &str) -> Result<(), String> {
    match object["metadata"]["uid"].as_str() {
        Some(other) if other != uid => Err("it was made anew".to_owned()),
        _ => Ok(()),
    }
}
