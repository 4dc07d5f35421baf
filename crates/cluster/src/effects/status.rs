//! Statuses: what is sent, by whichever verb the role has.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use tracing::{debug, warn};

use super::backoff;
use super::coalesce::{Coalesce, Finish};
use super::http::{Call, JSON_PATCH, MERGE_PATCH, Refusal, Reply, STRATEGIC_PATCH};
use super::shared::{NoTerm, Rate, Shared};
use super::status_body as body;
use super::verbs::{Target, Way};
use super::{Outcome, PodRef, Write, pod_path};

/// A second in which a newer status may replace the one that waits.
const SETTLE: Duration = Duration::from_secs(1);
/// Least time between two conditions of one pod with the same reason.
const CONDITION_SPACING: Duration = Duration::from_secs(5);
/// Tries after which a status is given up; the next change writes it again.
const MOST_TRIES: u32 = 8;
/// Tries of a read and PUT whose object keeps changing, before it goes to the end of the queue.
const MOST_CONFLICTS: u32 = 3;

/// Whose status.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// By UID.
    Pod(String),
    /// By namespace and name.
    Group(String, String),
    Queue(String),
    Shard(String),
}

/// A status to write.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Status {
    Condition(body::Condition),
    Group { status: body::Group, urgent: bool },
    Queue(body::Queue),
    Shard(body::Shard),
}

impl Status {
    /// The status a write sets; `None` for other writes.
    pub(super) fn of(write: Write) -> Option<Self> {
        Some(match write {
            Write::PodCondition {
                pod,
                reason,
                message,
                nominated_node,
            } => Self::Condition(body::Condition {
                pod,
                reason,
                message,
                nominated_node,
            }),
            Write::GroupStatus {
                namespace,
                name,
                uid,
                status,
                urgent,
            } => Self::Group {
                status: body::Group {
                    namespace,
                    name,
                    uid,
                    status,
                },
                urgent,
            },
            Write::QueueStatus { name, allocated } => Self::Queue(body::Queue { name, allocated }),
            Write::ShardStatus {
                name,
                nodes_in_use,
                nodes_to_remove,
                nodes_to_add,
            } => Self::Shard(body::Shard {
                name,
                nodes_in_use,
                nodes_to_remove,
                nodes_to_add,
            }),
            Write::Bind(_)
            | Write::BindWaits { .. }
            | Write::Evict { .. }
            | Write::CleanUp { .. }
            | Write::Event { .. } => return None,
        })
    }

    pub(super) fn key(&self) -> Key {
        match self {
            Self::Condition(condition) => Key::Pod(condition.pod.uid.clone()),
            Self::Group { status, .. } => Key::Group(status.namespace.clone(), status.name.clone()),
            Self::Queue(queue) => Key::Queue(queue.name.clone()),
            Self::Shard(shard) => Key::Shard(shard.name.clone()),
        }
    }
}

impl Coalesce for Status {
    fn delay(&self) -> Duration {
        match self {
            Self::Group { urgent: true, .. } => Duration::ZERO,
            _ => SETTLE,
        }
    }

    fn spacing(&self, last: &Self) -> Duration {
        match (self, last) {
            (Self::Condition(this), Self::Condition(last)) if this.reason == last.reason => {
                CONDITION_SPACING
            }
            _ => Duration::ZERO,
        }
    }
}

/// How a status can be written.
struct Plan {
    target: Target,
    kind: &'static str,
    rate: Rate,
    /// In this order; the next where one is answered with 422 (its path is missing).
    patches: Vec<Call>,
    /// Where the object is read, and whether as a list of one.
    read: String,
    listed: bool,
    put: String,
}

/// Writes a status.
pub(super) async fn write(shared: Arc<Shared>, status: Status, tries: u32) -> Finish {
    let plan = plan(&shared, &status);
    let end = match attempt(&shared, &plan, &status).await {
        Ok(reply) => conclude(&shared, &plan, &reply, tries),
        Err(NoTerm) => End::NotNeeded,
    };
    match (&status, &end) {
        (Status::Group { status, .. }, end) => report_group(&shared, status, end),
        (Status::Condition(condition), End::Written) => {
            shared.conditioned.insert(&condition.pod.uid);
        }
        // There may be one a pending pod: what is refused for good is not repeated.
        (Status::Condition(condition), End::NotNeeded | End::GivenUp(_)) if tries >= MOST_TRIES => {
            let pod = condition.pod.clone();
            shared.tell(Outcome::ConditionFailed { pod });
        }
        (Status::Queue(queue), End::NotNeeded | End::GivenUp(_)) => {
            let name = queue.name.clone();
            shared.tell(Outcome::QueueStatusFailed { name });
        }
        _ => {}
    }
    end.finish()
}

/// How an attempt to write a status ended.
enum End {
    Written,
    /// Nobody waits for it: the object is gone, its namespace is being deleted, or another
    /// scheduler leads by now, which computes its own.
    NotNeeded,
    /// It was refused for good, or too often; why.
    GivenUp(String),
    /// Once more, after this time.
    Again(Duration),
}

impl End {
    fn finish(&self) -> Finish {
        match self {
            Self::Written => Finish::Done,
            Self::NotNeeded | Self::GivenUp(_) => Finish::Dropped,
            Self::Again(pause) => Finish::Again(*pause),
        }
    }
}

/// Decisions wait for the newest status of a PodGroup to arrive.
fn report_group(shared: &Shared, group: &body::Group, end: &End) {
    let (namespace, name) = (group.namespace.clone(), group.name.clone());
    match end {
        End::Written => shared.tell(Outcome::GroupStatusWritten {
            namespace,
            name,
            status: group.status.clone(),
        }),
        End::NotNeeded => shared.tell(Outcome::GroupStatusNotNeeded { namespace, name }),
        End::GivenUp(message) => shared.tell(Outcome::GroupStatusFailed {
            namespace,
            name,
            message: message.clone(),
        }),
        End::Again(_) => {}
    }
}

fn plan(shared: &Shared, status: &Status) -> Plan {
    match status {
        Status::Condition(condition) => {
            // A later one leaves the time of the first.
            let since = match shared.conditioned.contains(&condition.pod.uid) {
                true => None,
                false => Some(shared.now()),
            };
            condition_plan(&condition.pod, condition.patch(since))
        }
        Status::Group { status, .. } => {
            let all = format!(
                "/apis/scheduling.volcano.sh/v1beta1/namespaces/{}/podgroups",
                status.namespace
            );
            let one = format!("{all}/{}", status.name);
            Plan {
                target: Target::Group,
                kind: "group_status",
                rate: Rate::Volcano,
                patches: vec![Call::patch(one.clone(), MERGE_PATCH, &status.patch())],
                // Volcano's role has no get.
                read: format!("{all}?fieldSelector=metadata.name%3D{}", status.name),
                listed: true,
                put: one,
            }
        }
        Status::Queue(queue) => {
            let one = format!("/apis/scheduling.volcano.sh/v1beta1/queues/{}", queue.name);
            let put = format!("{one}/status");
            Plan {
                target: Target::QueueStatus,
                kind: "queue_status",
                rate: Rate::Volcano,
                patches: vec![
                    // A merge patch would keep resources that are no longer in the list.
                    Call::patch(put.clone(), JSON_PATCH, &queue.replacing()),
                    Call::patch(put.clone(), MERGE_PATCH, &queue.patch()),
                ],
                read: one,
                listed: false,
                put,
            }
        }
        Status::Shard(shard) => {
            let one = format!("/apis/shard.volcano.sh/v1alpha1/nodeshards/{}", shard.name);
            let put = format!("{one}/status");
            Plan {
                target: Target::ShardStatus,
                kind: "shard_status",
                rate: Rate::Volcano,
                patches: vec![Call::patch(
                    put.clone(),
                    MERGE_PATCH,
                    &shard.patch(shared.now()),
                )],
                read: one,
                listed: false,
                put,
            }
        }
    }
}

fn condition_plan(pod: &PodRef, patch: Value) -> Plan {
    let put = format!("{}/status", pod_path(pod));
    Plan {
        target: Target::PodStatus,
        kind: "pod_condition",
        rate: Rate::Core,
        patches: vec![Call::patch(put.clone(), STRATEGIC_PATCH, &patch)],
        read: pod_path(pod),
        listed: false,
        put,
    }
}

/// Marks a pod as a victim.
pub(super) async fn mark_victim(
    shared: &Arc<Shared>,
    victim: &body::Victim,
) -> Result<Reply, NoTerm> {
    let mut plan = condition_plan(&victim.pod, victim.patch());
    plan.kind = "evict_status";
    let edit = |pod: &mut Value| victim.edit(pod);
    by_any_way(shared, &plan, &edit).await
}

async fn attempt(shared: &Arc<Shared>, plan: &Plan, status: &Status) -> Result<Reply, NoTerm> {
    let now = shared.now();
    let edit = |object: &mut Value| match status {
        Status::Condition(condition) => condition.edit(object, now),
        Status::Group { status, .. } => status.edit(object),
        Status::Queue(queue) => queue.edit(object),
        Status::Shard(shard) => shard.edit(object, now),
    };
    by_any_way(shared, plan, &edit).await
}

/// By PATCH, or by read and PUT where the role has no PATCH.
async fn by_any_way(
    shared: &Arc<Shared>,
    plan: &Plan,
    edit: &(dyn Fn(&mut Value) -> bool + Send + Sync),
) -> Result<Reply, NoTerm> {
    let mut why = None;
    loop {
        let way = shared.verbs.way(plan.target, Instant::now());
        let reply = match way {
            Way::Patch => patch(shared, plan).await?,
            Way::Put => put(shared, plan, edit).await?,
            Way::Closed { .. } => return Ok(Reply::Refused(no_permission(plan.target, why))),
        };
        match reply {
            Reply::Refused(refusal) if refusal.is_rbac() => {
                shared.verbs.refused(plan.target, way, &shared.contact);
                why = Some(refusal.message);
            }
            reply => {
                if reply.is_answer() {
                    shared.verbs.granted(plan.target, way);
                }
                return Ok(reply);
            }
        }
    }
}

fn no_permission(target: Target, why: Option<String>) -> Refusal {
    let why = why.map_or(String::new(), |why| {
        format!(" (the API server says: {why})")
    });
    Refusal {
        code: 403,
        message: format!("no permission; grant {}{why}", target.rule()),
        retry_after: None,
    }
}

async fn patch(shared: &Arc<Shared>, plan: &Plan) -> Result<Reply, NoTerm> {
    let mut last = Reply::Ok(Vec::new());
    for call in &plan.patches {
        last = shared.write(plan.rate, plan.kind, call.clone()).await?;
        if !matches!(&last, Reply::Refused(refusal) if refusal.code == 422) {
            break;
        }
    }
    Ok(last)
}

async fn put(
    shared: &Arc<Shared>,
    plan: &Plan,
    edit: &(dyn Fn(&mut Value) -> bool + Send + Sync),
) -> Result<Reply, NoTerm> {
    let mut conflicts = 0;
    loop {
        let mut object = match shared.read(plan.read.clone()).await {
            Reply::Ok(body) => match one(&body, plan.listed) {
                Ok(object) => object,
                Err(reply) => return Ok(reply),
            },
            reply => return Ok(reply),
        };
        if !edit(&mut object) {
            return Ok(Reply::Ok(Vec::new()));
        }
        let call = Call::put(plan.put.clone(), &object);
        let reply = shared.write(plan.rate, plan.kind, call).await?;
        let conflict = matches!(&reply, Reply::Refused(refusal) if refusal.code == 409);
        if !conflict || conflicts >= MOST_CONFLICTS {
            return Ok(reply);
        }
        conflicts += 1;
    }
}

/// The object that was read, or the only one of a list.
fn one(body: &[u8], listed: bool) -> Result<Value, Reply> {
    let mut object: Value =
        serde_json::from_slice(body).map_err(|error| Reply::Lost(error.to_string()))?;
    if !listed {
        return Ok(object);
    }
    let item = object["items"].get_mut(0).map(Value::take);
    item.ok_or_else(|| {
        Reply::Refused(Refusal {
            code: 404,
            message: "not found".to_owned(),
            retry_after: None,
        })
    })
}

fn conclude(shared: &Shared, plan: &Plan, reply: &Reply, tries: u32) -> End {
    let pause = match reply {
        Reply::Ok(_) => return End::Written,
        Reply::Refused(refusal) if refusal.is_of_something_gone() => return End::NotNeeded,
        Reply::Refused(refusal) => match refusal.code {
            401 | 408 | 409 | 429 | 500.. => refusal.retry_after,
            403 if shared.verbs.way(plan.target, Instant::now()).may_open() => {
                return wait_for_permission(shared, plan, reply, tries);
            }
            _ => return give_up(shared, plan, reply),
        },
        Reply::NotSent(_) | Reply::Lost(_) => None,
    };
    if tries >= MOST_TRIES && !shared.contact.is_out() {
        return give_up(shared, plan, reply);
    }
    End::Again(pause.unwrap_or_else(|| backoff::pause(tries)))
}

/// An API server that is starting refuses everybody: what it refused is written once it is up.
fn wait_for_permission(shared: &Shared, plan: &Plan, reply: &Reply, tries: u32) -> End {
    if shared.verbs.may_speak(plan.target, Instant::now()) {
        warn!(
            "cannot write {} yet: {}; it is tried again, since an API server that is starting \
             refuses everybody for a moment",
            plan.put,
            reply.text()
        );
    }
    End::Again(backoff::pause(tries))
}

fn give_up(shared: &Shared, plan: &Plan, reply: &Reply) -> End {
    shared.meter.dropped(plan.kind);
    if shared.verbs.may_speak(plan.target, Instant::now()) {
        warn!("cannot write {}: {}", plan.put, reply.text());
    } else {
        debug!("cannot write {}: {}", plan.put, reply.text());
    }
    End::GivenUp(reply.text())
}

/// For [`Key::Pod`].
pub(super) fn pod_key(pod: &PodRef) -> Key {
    Key::Pod(pod.uid.clone())
}

impl Shared {
    /// The wall clock, for times that people read.
    pub(super) fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::now()
    }
}
