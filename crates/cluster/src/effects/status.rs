//! Statuses: what is sent, by whichever verb the role has.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::Resource;
use pumice_api::NativePodGroup;
use pumice_model::KeptTopic;
use pumice_model::object::GroupStatus;
use serde_json::Value;
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::lease::NoTerm;

use super::coalesce::{Coalesce, Finish};
use super::native_status::NativeGroupStatusBody;
use super::shared::{Rate, WriterContext};
use super::status_body as body;
use super::verbs::{Target, WriteVerb};
use super::{Outcome, PodRef, Write, pod_path};
use crate::api::backoff;
use crate::api::call::{ApiCall, ApiRefusal, JSON_PATCH, MERGE_PATCH, Reply, STRATEGIC_PATCH};
use crate::watch::NATIVE_GROUPS;

/// A second in which a newer status may replace the one that waits.
const SETTLE: Duration = Duration::from_secs(1);
/// Least time between two conditions of one pod with the same reason.
const CONDITION_SPACING: Duration = Duration::from_secs(5);
/// Tries after which a status is given up; the next change writes it again.
const MAX_TRIES: u32 = 8;
/// Tries of a read and PUT whose object keeps changing, before it goes to the end of the queue.
const MAX_CONFLICTS: u32 = 3;

/// Whose status.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum StatusKey {
    /// Condition of a pod, by UID.
    Pod(String),
    /// Nominated node of a pod, by UID.
    Nomination(String),
    /// By namespace and name.
    Group(String, String),
    Queue(String),
    Shard(String),
    /// By what it is, and namespace and name of the ConfigMap.
    KeptText(KeptTopic, String, String),
}

/// A status to write.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum StatusWrite {
    Condition(body::PodConditionBody),
    Nomination(body::NominationBody),
    Group {
        status: body::PodGroupStatusBody,
        urgent: bool,
    },
    NativeGroup(NativeGroupStatusBody),
    Queue(body::QueueStatusBody),
    Shard(body::NodeShardStatusBody),
    KeptText(body::KeptTextBody),
}

impl StatusWrite {
    /// The status a write sets; `None` for other writes.
    pub(super) fn of(write: Write) -> Option<Self> {
        Some(match write {
            Write::PodCondition {
                pod,
                reason,
                message,
            } => Self::Condition(body::PodConditionBody {
                pod,
                reason,
                message,
            }),
            Write::Nominate { pod, node } => Self::Nomination(body::NominationBody { pod, node }),
            Write::GroupStatus {
                namespace,
                name,
                uid,
                status,
                urgent,
            } => match NativeGroupStatusBody::of(&namespace, &name, &uid, &status) {
                Some(native) => Self::NativeGroup(native),
                None => Self::Group {
                    status: body::PodGroupStatusBody {
                        namespace,
                        name,
                        uid,
                        status,
                    },
                    urgent,
                },
            },
            Write::QueueStatus { name, allocated } => {
                Self::Queue(body::QueueStatusBody { name, allocated })
            }
            Write::ShardStatus {
                name,
                nodes_in_use,
                nodes_to_remove,
                nodes_to_add,
            } => Self::Shard(body::NodeShardStatusBody {
                name,
                nodes_in_use,
                nodes_to_remove,
                nodes_to_add,
            }),
            Write::KeptText {
                topic,
                namespace,
                name,
                text,
            } => Self::KeptText(body::KeptTextBody {
                topic,
                namespace,
                name,
                text,
            }),
            Write::Bind(_)
            | Write::BindWaits { .. }
            | Write::Evict { .. }
            | Write::CleanUp { .. }
            | Write::ReturnDevices(_)
            | Write::Event { .. } => return None,
        })
    }

    pub(super) fn key(&self) -> StatusKey {
        match self {
            Self::Condition(condition) => StatusKey::Pod(condition.pod.uid.clone()),
            Self::Nomination(nomination) => StatusKey::Nomination(nomination.pod.uid.clone()),
            Self::Group { status, .. } => {
                StatusKey::Group(status.namespace.clone(), status.name.clone())
            }
            Self::NativeGroup(group) => {
                StatusKey::Group(group.namespace.clone(), group.known_name())
            }
            Self::Queue(queue) => StatusKey::Queue(queue.name.clone()),
            Self::Shard(shard) => StatusKey::Shard(shard.name.clone()),
            Self::KeptText(kept) => {
                StatusKey::KeptText(kept.topic, kept.namespace.clone(), kept.name.clone())
            }
        }
    }
}

impl Coalesce for StatusWrite {
    fn delay(&self) -> Duration {
        match self {
            // Evictions are under way for it: whoever takes over has to know.
            Self::Nomination(_) | Self::Group { urgent: true, .. } => Duration::ZERO,
            // The engine has held it back long enough.
            Self::Condition(_) => Duration::ZERO,
            _ => SETTLE,
        }
    }

    fn spacing(&self, last: &Self) -> Duration {
        match (self, last) {
            (Self::Condition(this), Self::Condition(last)) if this.reason == last.reason => {
                CONDITION_SPACING
            }
            (Self::Condition(_), _) => SETTLE,
            _ => Duration::ZERO,
        }
    }
}

/// How a status can be written.
struct StatusRoute {
    target: Target,
    kind: &'static str,
    rate: Rate,
    /// In this order; the next where one is answered with 422 (its path is missing).
    patches: Vec<ApiCall>,
    /// Where the object is read, and whether as a list of one.
    read: String,
    listed: bool,
    put: String,
}

/// Writes a status.
pub(super) async fn write(shared: Arc<WriterContext>, status: StatusWrite, tries: u32) -> Finish {
    let plan = plan(&shared, &status);
    let end = match attempt(&shared, &plan, &status).await {
        Ok(reply) => conclude(&shared, &plan, &reply, tries),
        Err(NoTerm) => StatusWriteEnd::TermOver,
    };
    // There may be one a pending pod: what is refused for good is not repeated.
    let is_lost = match &end {
        StatusWriteEnd::TermOver => true,
        StatusWriteEnd::NotNeeded | StatusWriteEnd::GivenUp(_) => tries >= MAX_TRIES,
        StatusWriteEnd::Written | StatusWriteEnd::Again(_) => false,
    };
    match (&status, &end) {
        (StatusWrite::Group { status, .. }, end) => {
            let name = (status.namespace.clone(), status.name.clone());
            report_group(&shared, name, &status.status, end);
        }
        (StatusWrite::NativeGroup(group), end) => {
            if matches!(end, StatusWriteEnd::Written) {
                shared.conditioned.insert(&group.transition());
            }
            let name = (group.namespace.clone(), group.known_name());
            report_group(&shared, name, &group.status, end);
        }
        (StatusWrite::Condition(condition), StatusWriteEnd::Written) => {
            shared.conditioned.insert(&condition.pod.uid);
        }
        (StatusWrite::Condition(condition), _) if is_lost => {
            let pod = condition.pod.clone();
            shared.tell(Outcome::ConditionFailed { pod });
        }
        (StatusWrite::Nomination(nomination), _) if is_lost => {
            let pod = nomination.pod.clone();
            shared.tell(Outcome::NominationFailed { pod });
        }
        (
            StatusWrite::Queue(queue),
            StatusWriteEnd::NotNeeded | StatusWriteEnd::TermOver | StatusWriteEnd::GivenUp(_),
        ) => {
            let name = queue.name.clone();
            shared.tell(Outcome::QueueStatusFailed { name });
        }
        _ => {}
    }
    end.finish()
}

/// How an attempt to write a status ended.
enum StatusWriteEnd {
    Written,
    /// Nobody waits for it: the object is gone, or its namespace is being deleted.
    NotNeeded,
    /// Whoever leads by now computes its own.
    TermOver,
    /// It was refused for good, or too often; why.
    GivenUp(String),
    /// Once more, after this time.
    Again(Duration),
}

impl StatusWriteEnd {
    fn finish(&self) -> Finish {
        match self {
            Self::Written => Finish::Done,
            Self::NotNeeded | Self::TermOver | Self::GivenUp(_) => Finish::Dropped,
            Self::Again(pause) => Finish::Again(*pause),
        }
    }
}

/// Decisions wait for the newest status of a PodGroup to arrive.
fn report_group(
    shared: &WriterContext,
    (namespace, name): (String, String),
    status: &GroupStatus,
    end: &StatusWriteEnd,
) {
    match end {
        StatusWriteEnd::Written => shared.tell(Outcome::GroupStatusWritten {
            namespace,
            name,
            status: status.clone(),
        }),
        StatusWriteEnd::NotNeeded | StatusWriteEnd::TermOver => {
            shared.tell(Outcome::GroupStatusNotNeeded { namespace, name });
        }
        StatusWriteEnd::GivenUp(message) => shared.tell(Outcome::GroupStatusFailed {
            namespace,
            name,
            message: message.clone(),
        }),
        StatusWriteEnd::Again(_) => {}
    }
}

fn plan(shared: &WriterContext, status: &StatusWrite) -> StatusRoute {
    match status {
        StatusWrite::Condition(condition) => {
            // A later one leaves the time of the first.
            let since = match shared.conditioned.contains(&condition.pod.uid) {
                true => None,
                false => Some(shared.now()),
            };
            pod_status_route("pod_condition", &condition.pod, condition.patch(since))
        }
        StatusWrite::Nomination(nomination) => {
            pod_status_route("nomination", &nomination.pod, nomination.patch())
        }
        StatusWrite::Group { status, .. } => {
            let all = format!(
                "/apis/scheduling.volcano.sh/v1beta1/namespaces/{}/podgroups",
                status.namespace
            );
            let one = format!("{all}/{}", status.name);
            StatusRoute {
                target: Target::Group,
                kind: "group_status",
                rate: Rate::Volcano,
                patches: vec![ApiCall::patch(one.clone(), MERGE_PATCH, &status.patch())],
                // Volcano's role has no get.
                read: format!("{all}?fieldSelector=metadata.name%3D{}", status.name),
                listed: true,
                put: one,
            }
        }
        StatusWrite::NativeGroup(group) => native_group_route(shared, group),
        StatusWrite::Queue(queue) => {
            let one = format!("/apis/scheduling.volcano.sh/v1beta1/queues/{}", queue.name);
            let put = format!("{one}/status");
            StatusRoute {
                target: Target::QueueStatus,
                kind: "queue_status",
                rate: Rate::Volcano,
                patches: vec![
                    // A merge patch would keep resources that are no longer in the list.
                    ApiCall::patch(put.clone(), JSON_PATCH, &queue.replacing()),
                    ApiCall::patch(put.clone(), MERGE_PATCH, &queue.patch()),
                ],
                read: one,
                listed: false,
                put,
            }
        }
        StatusWrite::KeptText(kept) => kept_text_route(kept),
        StatusWrite::Shard(shard) => {
            let one = format!("/apis/shard.volcano.sh/v1alpha1/nodeshards/{}", shard.name);
            let put = format!("{one}/status");
            StatusRoute {
                target: Target::ShardStatus,
                kind: "shard_status",
                rate: Rate::Volcano,
                patches: vec![ApiCall::patch(
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

/// The version of PodGroups of Kubernetes itself that is served, as far as the watch knows.
fn native_version(shared: &WriterContext) -> String {
    let served = shared.picture().served_version(NATIVE_GROUPS);
    served.unwrap_or_else(|| NativePodGroup::API_VERSION.to_owned())
}

fn native_group_route(shared: &WriterContext, group: &NativeGroupStatusBody) -> StatusRoute {
    let version = native_version(shared);
    let all = group.all(&version);
    let put = format!("{all}/{}/status", group.name);
    // A later one leaves the time of the first.
    let since = match shared.conditioned.contains(&group.transition()) {
        true => None,
        false => Some(shared.now()),
    };
    let patch = group.patch(&version, since);
    StatusRoute {
        target: Target::NativeGroup,
        kind: "native_group_status",
        rate: Rate::Core,
        patches: vec![ApiCall::patch(put.clone(), STRATEGIC_PATCH, &patch)],
        read: format!("{all}?fieldSelector=metadata.name%3D{}", group.name),
        listed: true,
        put,
    }
}

fn kept_text_route(kept: &body::KeptTextBody) -> StatusRoute {
    let one = kept.path();
    StatusRoute {
        target: Target::KeptText,
        kind: match kept.topic {
            KeptTopic::Tasks => "counted_tasks",
            KeptTopic::Use => "past_use",
            KeptTopic::Places => "kept_places",
            KeptTopic::RunTimes => "run_times",
        },
        rate: Rate::Core,
        patches: vec![ApiCall::patch(one.clone(), MERGE_PATCH, &kept.patch())],
        read: one.clone(),
        listed: false,
        put: one,
    }
}

fn pod_status_route(kind: &'static str, pod: &PodRef, patch: Value) -> StatusRoute {
    let put = format!("{}/status", pod_path(pod));
    StatusRoute {
        target: Target::PodStatus,
        kind,
        rate: Rate::Core,
        patches: vec![ApiCall::patch(put.clone(), STRATEGIC_PATCH, &patch)],
        read: pod_path(pod),
        listed: false,
        put,
    }
}

/// Marks a pod as a victim.
pub(super) async fn mark_victim(
    shared: &Arc<WriterContext>,
    victim: &body::VictimMark,
) -> Result<Reply, NoTerm> {
    let plan = pod_status_route("evict_status", &victim.pod, victim.patch());
    let edit = |pod: &mut Value| victim.edit(pod);
    by_any_way(shared, &plan, &edit).await
}

async fn attempt(
    shared: &Arc<WriterContext>,
    plan: &StatusRoute,
    status: &StatusWrite,
) -> Result<Reply, NoTerm> {
    let now = shared.now();
    let edit = |object: &mut Value| match status {
        StatusWrite::Condition(condition) => condition.edit(object, now),
        StatusWrite::Nomination(nomination) => nomination.edit(object),
        StatusWrite::Group { status, .. } => status.edit(object),
        StatusWrite::NativeGroup(group) => group.edit(object, &native_version(shared), now),
        StatusWrite::Queue(queue) => queue.edit(object),
        StatusWrite::Shard(shard) => shard.edit(object, now),
        StatusWrite::KeptText(kept) => kept.edit(object),
    };
    by_any_way(shared, plan, &edit).await
}

/// By PATCH, or by read and PUT where the role has no PATCH.
async fn by_any_way(
    shared: &Arc<WriterContext>,
    plan: &StatusRoute,
    edit: &(dyn Fn(&mut Value) -> bool + Send + Sync),
) -> Result<Reply, NoTerm> {
    let mut why = None;
    loop {
        let way = shared.verbs.way(plan.target, Instant::now());
        let reply = match way {
            WriteVerb::Patch => patch(shared, plan).await?,
            WriteVerb::Put => put(shared, plan, edit).await?,
            WriteVerb::Closed { .. } => return Ok(Reply::Refused(no_permission(plan.target, why))),
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

fn no_permission(target: Target, why: Option<String>) -> ApiRefusal {
    let why = why.map_or(String::new(), |why| {
        format!(" (the API server says: {why})")
    });
    ApiRefusal {
        reason: "Forbidden".to_owned(),
        code: 403,
        message: format!("no permission; grant {}{why}", target.rule()),
        ..ApiRefusal::default()
    }
}

async fn patch(shared: &Arc<WriterContext>, plan: &StatusRoute) -> Result<Reply, NoTerm> {
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
    shared: &Arc<WriterContext>,
    plan: &StatusRoute,
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
        let call = ApiCall::put(plan.put.clone(), &object);
        let reply = shared.write(plan.rate, plan.kind, call).await?;
        let conflict = matches!(&reply, Reply::Refused(refusal) if refusal.code == 409);
        if !conflict || conflicts >= MAX_CONFLICTS {
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
        Reply::Refused(ApiRefusal {
            reason: "NotFound".to_owned(),
            code: 404,
            message: "not found".to_owned(),
            ..ApiRefusal::default()
        })
    })
}

fn conclude(
    shared: &WriterContext,
    plan: &StatusRoute,
    reply: &Reply,
    tries: u32,
) -> StatusWriteEnd {
    let pause = match reply {
        Reply::Ok(_) => return StatusWriteEnd::Written,
        Reply::Refused(refusal) if refusal.is_of_something_gone() => {
            return StatusWriteEnd::NotNeeded;
        }
        Reply::Refused(refusal) => match refusal.code {
            401 | 408 | 409 | 429 | 500.. => refusal.retry_after,
            403 if shared.verbs.way(plan.target, Instant::now()).may_open() => {
                return wait_for_permission(shared, plan, reply, tries);
            }
            _ => return give_up(shared, plan, reply),
        },
        Reply::NotSent(_) | Reply::Lost(_) => None,
    };
    if tries >= MAX_TRIES && !shared.contact.is_out() {
        return give_up(shared, plan, reply);
    }
    StatusWriteEnd::Again(pause.unwrap_or_else(|| backoff::pause(tries)))
}

/// An API server that is starting refuses everybody: what it refused is written once it is up.
fn wait_for_permission(
    shared: &WriterContext,
    plan: &StatusRoute,
    reply: &Reply,
    tries: u32,
) -> StatusWriteEnd {
    if shared.verbs.may_speak(plan.target, Instant::now()) {
        warn!(
            "cannot write {} yet: {}; it is tried again, since an API server that is starting \
             refuses everybody for a moment",
            plan.put,
            reply.text()
        );
    }
    StatusWriteEnd::Again(backoff::pause(tries))
}

fn give_up(shared: &WriterContext, plan: &StatusRoute, reply: &Reply) -> StatusWriteEnd {
    shared.meter.dropped(plan.kind);
    if shared.verbs.may_speak(plan.target, Instant::now()) {
        warn!("cannot write {}: {}", plan.put, reply.text());
    } else {
        debug!("cannot write {}: {}", plan.put, reply.text());
    }
    StatusWriteEnd::GivenUp(reply.text())
}

/// What is written about a pod that waits.
pub(super) fn pod_keys(pod: &PodRef) -> [StatusKey; 2] {
    let uid = || pod.uid.clone();
    [StatusKey::Pod(uid()), StatusKey::Nomination(uid())]
}

impl WriterContext {
    /// The wall clock, for times that people read.
    pub(super) fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::now()
    }
}
