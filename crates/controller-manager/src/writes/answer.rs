//! What an answer of the API server means for a write.

use pumice_controllers::runtime::{ApiVerb, ApiWrite, WriteOutcome, read_object};
use serde::Deserialize;

use pumice_cluster::api::call::{ApiRefusal, Reply};

/// What follows from a reply.
pub(super) struct Answer {
    /// How the write ended.
    pub(super) outcome: WriteOutcome,
    /// UID of an object that is known to be gone by it.
    pub(super) gone: Option<String>,
}

/// What matters of the answer to a DELETE: the object, or a `Status` about it.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Deleted {
    kind: String,
    metadata: DeletedMeta,
    details: DeletedDetails,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct DeletedMeta {
    uid: String,
    deletion_timestamp: Option<String>,
    deletion_grace_period_seconds: Option<i64>,
    finalizers: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct DeletedDetails {
    uid: String,
}

impl Deleted {
    /// UID of the object if it is not there any more.
    fn gone(self) -> Option<String> {
        let uid = match self.kind.as_str() {
            "Status" => self.details.uid,
            _ => {
                let meta = self.metadata;
                let waits = meta.deletion_timestamp.is_some()
                    && meta.deletion_grace_period_seconds != Some(0);
                if waits || !meta.finalizers.is_empty() {
                    return None;
                }
                meta.uid
            }
        };
        (!uid.is_empty()).then_some(uid)
    }
}

/// What a reply means; `None` if the write may be sent again, since it was not looked at.
pub(super) fn of(write: &ApiWrite, reply: Reply) -> Answer {
    let outcome = match reply {
        Reply::Ok(body) => return done(write, &body),
        Reply::NotSent(text) | Reply::Lost(text) => WriteOutcome::NoAnswer(text),
        Reply::Refused(refusal) => refused(write, refusal),
    };
    let gone = match (&outcome, &write.verb) {
        (WriteOutcome::Absent, ApiVerb::Delete { uid, .. }) if !uid.is_empty() => Some(uid.clone()),
        _ => None,
    };
    Answer { outcome, gone }
}

fn done(write: &ApiWrite, body: &[u8]) -> Answer {
    if let ApiVerb::Delete { uid, .. } = &write.verb {
        let deleted: Deleted = serde_json::from_slice(body).unwrap_or_default();
        let is_status = deleted.kind == "Status";
        let gone = deleted.gone();
        let known = || (!uid.is_empty()).then(|| uid.clone());
        if gone.is_some() || is_status {
            return Answer {
                outcome: WriteOutcome::Done(None),
                gone: gone.or_else(known),
            };
        }
    }
    let kept = read_object(write.of.kind, body).unwrap_or_else(|error| {
        // Done all the same: what it made is learnt from the watch.
        tracing::debug!("the answer about {} cannot be read: {error}", write.of);
        None
    });
    Answer {
        outcome: WriteOutcome::Done(kept),
        gone: None,
    }
}

fn refused(write: &ApiWrite, refusal: ApiRefusal) -> WriteOutcome {
    let is_create = matches!(
        write.verb,
        ApiVerb::Create(_) | ApiVerb::CreateWithSshKeys(_)
    );
    let is_of_owner = matches!(write.verb, ApiVerb::MergeOwned { .. });
    if refusal.is_replaced() || is_of_owner && refusal.is_failed_test() {
        return WriteOutcome::Absent;
    }
    let ApiRefusal {
        code,
        reason,
        message,
        ..
    } = refusal;
    match code {
        409 if is_create && reason != "Conflict" => WriteOutcome::Exists,
        409 => WriteOutcome::Outdated,
        // What a create does not find is its namespace, or its kind.
        404 if !is_create => WriteOutcome::Absent,
        401 | 408 | 429 | 500.. => WriteOutcome::NoAnswer(format!("{message} ({code})")),
        _ => WriteOutcome::Refused {
            code,
            reason,
            message,
        },
    }
}

#[cfg(test)]
mod tests {
    use pumice_controllers::runtime::{ManagedKind, ManagedRef, Observed};
    use serde_json::{Value, json};

    use super::*;

    fn create() -> ApiWrite {
        let pod = json!({"metadata": {"namespace": "n", "name": "p"}});
        ApiWrite::create(ManagedKind::Pod, pod)
    }

    fn delete() -> ApiWrite {
        ApiWrite::delete(ManagedRef::new(ManagedKind::Pod, "n", "p"), "u1")
    }

    fn merge() -> ApiWrite {
        let verb = ApiVerb::Merge {
            patch: json!({}),
            status: false,
        };
        let of = ManagedRef::new(ManagedKind::Pod, "n", "p");
        ApiWrite { of, verb }
    }

    fn owned() -> ApiWrite {
        let verb = ApiVerb::MergeOwned {
            patch: json!({}),
            owner: "u1".to_owned(),
        };
        ApiWrite { verb, ..merge() }
    }

    fn refusal(code: u16, reason: &str, message: &str) -> Reply {
        Reply::Refused(ApiRefusal {
            code,
            reason: reason.to_owned(),
            message: message.to_owned(),
            ..ApiRefusal::default()
        })
    }

    #[test]
    fn refusals_say_what_the_controllers_can_act_on() {
        type Expected = fn(&WriteOutcome) -> bool;
        let cases: [(ApiWrite, Reply, Expected); 9] = [
            (create(), refusal(409, "AlreadyExists", "there"), |o| {
                *o == WriteOutcome::Exists
            }),
            (merge(), refusal(409, "Conflict", "modified"), |o| {
                *o == WriteOutcome::Outdated
            }),
            (
                delete(),
                refusal(
                    409,
                    "Conflict",
                    "Precondition failed: UID in precondition: u1",
                ),
                |o| *o == WriteOutcome::Absent,
            ),
            (merge(), refusal(404, "NotFound", "gone"), |o| {
                *o == WriteOutcome::Absent
            }),
            (
                owned(),
                refusal(
                    422,
                    "Invalid",
                    "the server rejected our request due to an error in our request",
                ),
                |o| *o == WriteOutcome::Absent,
            ),
            (create(), refusal(404, "NotFound", "no namespace"), |o| {
                matches!(o, WriteOutcome::Refused { code: 404, .. })
            }),
            (create(), refusal(403, "Forbidden", "exceeded quota"), |o| {
                matches!(o, WriteOutcome::Refused { code: 403, .. })
            }),
            (create(), refusal(503, "", "starting"), |o| {
                matches!(o, WriteOutcome::NoAnswer(_))
            }),
            (create(), Reply::Lost("cut".to_owned()), |o| {
                matches!(o, WriteOutcome::NoAnswer(_))
            }),
        ];
        for (write, reply, expected) in cases {
            let what = format!("{write:?} {reply:?}");
            let answer = of(&write, reply);
            assert!(expected(&answer.outcome), "{what}: {:?}", answer.outcome);
        }
    }

    fn ok(body: &Value) -> Reply {
        Reply::Ok(body.to_string().into_bytes())
    }

    #[test]
    fn what_a_write_made_is_read_from_its_answer() {
        let pod = json!({"metadata": {"name": "p", "namespace": "n", "uid": "u1"}});
        let answer = of(&create(), ok(&pod));
        let WriteOutcome::Done(Some(Observed::Pod(pod))) = answer.outcome else {
            panic!("{:?}", answer.outcome);
        };
        assert_eq!((&*pod.name, &*pod.uid), ("p", "u1"));
    }

    #[test]
    fn a_deletion_tells_whether_the_object_is_gone_or_still_ending() {
        let ending = json!({
            "kind": "Pod",
            "metadata": {
                "name": "p", "namespace": "n", "uid": "u1",
                "deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30,
            },
        });
        let mut at_once = ending.clone();
        at_once["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        let mut held = at_once.clone();
        held["metadata"]["finalizers"] = json!(["x/y"]);
        let status = json!({"kind": "Status", "status": "Success", "details": {"uid": "u1"}});
        let gone = |body: &Value| of(&delete(), ok(body)).gone;
        assert_eq!(gone(&ending), None);
        assert_eq!(gone(&held), None);
        assert_eq!(gone(&at_once).as_deref(), Some("u1"));
        assert_eq!(gone(&status).as_deref(), Some("u1"));
        let absent = of(&delete(), refusal(404, "NotFound", "gone"));
        assert_eq!(absent.gone.as_deref(), Some("u1"));
    }
}
