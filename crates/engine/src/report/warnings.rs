//! What plugins have to say to the owner of a PodGroup or Queue: that something written on it is not what
//! it seems. An event, at once and again before the API server forgets it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use pumice_model::object::{GroupPhase, PreemptableMark};
use pumice_model::{Job, JobIx, Origin, QueueIx, State, TaskIx};

use super::log::{LastReport, ReportTime};
use super::misnamed::misnamed;
use super::passed;
use super::run_times::{run_times_of_queues, run_times_warning};
use super::shielded;
use super::{GroupEvent, HyperNodeEvent, QueueEvent, ReportLog};
use crate::report::teller::Teller;
use crate::waiting::Fingerprint;

/// What was told of HyperNodes.
#[derive(Default)]
pub(super) struct HyperNodeWarnings {
    /// Epoch of the network of which it was told.
    epoch: u64,
    /// By HyperNode and message, when it is told again.
    again_s: BTreeMap<(Box<str>, String), i64>,
}

impl HyperNodeWarnings {
    /// When something is told again.
    pub fn due_s(&self) -> Option<i64> {
        self.again_s.values().copied().min()
    }
}

impl Teller<'_> {
    /// Tells the warning on a PodGroup when it is another one than before.
    pub(super) fn report_warning(
        &self,
        log: &mut ReportLog,
        ix: JobIx,
        now: ReportTime,
        events: &mut Vec<GroupEvent>,
    ) {
        let now_s = now.s();
        let (told, id) = (self.warnings_on(ix), self.state.population().job_id(ix));
        if told.is_empty() {
            log.warnings.forget(id);
            return;
        }
        let all: Vec<&str> = told.iter().map(|event| event.message.as_str()).collect();
        let fingerprint = Fingerprint::of_text(&all.join("; "));
        if let LastReport::Message { text, .. } = log.warnings.look_up(id, now)
            && text == fingerprint.data
        {
            return;
        }
        let report = LastReport::Message {
            fingerprint,
            text: fingerprint.data,
            at_s: now_s,
        };
        let again_s = log.repeats.next_s(now_s, ix);
        log.warnings.put(id, report, again_s);
        events.extend(told);
    }

    /// Tells warnings again that still stand.
    pub(super) fn repeat_warnings(
        &self,
        log: &mut ReportLog,
        now_s: i64,
        events: &mut Vec<GroupEvent>,
    ) {
        let ReportLog {
            warnings, repeats, ..
        } = log;
        for id in warnings.take_due(now_s, |id| repeats.next_s(now_s, id.ix())) {
            let known = self.state.population().known_job(id);
            let told = known.map_or_else(Vec::new, |ix| self.warnings_on(ix));
            if told.is_empty() {
                warnings.forget(id);
            }
            events.extend(told);
        }
    }

    /// Tells the warnings on Queues that are other ones than before, and again those that still stand.
    pub(super) fn warn_queues(
        &self,
        log: &mut ReportLog,
        now: ReportTime,
        events: &mut Vec<QueueEvent>,
    ) {
        let now_s = now.s();
        let Some(warnings) = self.warnings_on_queues() else {
            return;
        };
        let ReportLog {
            queue_warnings: last,
            warned_queues,
            repeats,
            ..
        } = log;
        warned_queues.retain(|ix| {
            let stands = warnings.contains_key(ix);
            if !stands {
                last.forget(*ix);
            }
            stands
        });
        let again = last.take_due(now_s, |ix| repeats.next_s(now_s, ix));
        for (queue, message) in warnings {
            let object = &self.state.queue(queue).object;
            // An index may mean another queue now, and a name another object.
            let about = format!("{}/{}: {message}", object.name, object.uid);
            let fingerprint = Fingerprint::of_text(&about);
            let known = warned_queues.contains(&queue)
                && matches!(last.look_up(queue, now), LastReport::Message { text, .. }
                    if text == fingerprint.data);
            if known && !again.contains(&queue) {
                continue;
            }
            if !known {
                let report = LastReport::Message {
                    fingerprint,
                    text: fingerprint.data,
                    at_s: now_s,
                };
                last.put(queue, report, repeats.next_s(now_s, queue));
                warned_queues.insert(queue);
            }
            events.push(QueueEvent { queue, message });
        }
    }

    /// Tells what is left out of HyperNodes once for each, and again what still stands.
    pub(super) fn warn_hyper_nodes(
        &self,
        log: &mut ReportLog,
        now_s: i64,
        events: &mut Vec<HyperNodeEvent>,
    ) {
        let network = self.state.ground().network();
        let (told, repeats) = (&mut log.hyper_nodes, &log.repeats);
        let is_due = told.due_s().is_some_and(|at_s| at_s <= now_s);
        if told.epoch == network.epoch() && !is_due {
            return;
        }
        told.epoch = network.epoch();
        let before = std::mem::take(&mut told.again_s);
        for fault in network.faults() {
            let key = (fault.hyper_node.clone(), fault.message.clone());
            let again_s = before.get(&key).copied().filter(|at_s| *at_s > now_s);
            let again_s = again_s.unwrap_or_else(|| {
                let object = network.object(&fault.hyper_node);
                events.push(HyperNodeEvent {
                    name: fault.hyper_node.to_string(),
                    uid: object.map_or(String::new(), |object| object.uid.clone()),
                    message: fault.message.clone(),
                });
                repeats.next_s(now_s, &key)
            });
            told.again_s.insert(key, again_s);
        }
    }

    /// What is wrong on queues, as their owners are told; `None` while a change of queues waits for its cycle.
    pub(crate) fn warnings_on_queues(&self) -> Option<BTreeMap<QueueIx, String>> {
        let mut all = self.plugins.queue_warnings(self.state)?;
        let shielded = self.shielded_queues().into_iter();
        let shielded = shielded.map(|queue| (queue, shielded::TEXT.to_owned()));
        let passed = self.passed_queues().into_iter();
        let passed = passed.map(|queue| (queue, passed::TEXT.to_owned()));
        for (queue, text) in misnamed(self.state)
            .into_iter()
            .chain(shielded)
            .chain(passed)
            .chain(run_times_of_queues(self.state))
        {
            match all.entry(queue) {
                Entry::Vacant(none) => {
                    none.insert(text);
                }
                Entry::Occupied(mut said) => said.get_mut().push_str(&format!("; {text}")),
            }
        }
        Some(all)
    }

    /// What is written on a PodGroup, or on a pod without one, that does not mean what it seems to; a
    /// sentence each.
    pub(crate) fn job_warnings(&self, ix: JobIx) -> Vec<String> {
        let told = self.warnings_on(ix).into_iter();
        told.map(|event| event.message).collect()
    }

    fn warnings_on(&self, ix: JobIx) -> Vec<GroupEvent> {
        if !self.state.population().has_job(ix) {
            return Vec::new();
        }
        let job = self.state.job(ix);
        let is_meant = job.group().is_some() || job.origin == Origin::BarePod;
        if !is_meant || job.status.phase == GroupPhase::Completed {
            return Vec::new();
        }
        let event = |reason, message| GroupEvent {
            job: ix,
            warning: true,
            reason,
            message,
        };
        let marks = marks_warning(self.state, job);
        let plugins = self.plugins.job_warning(self.state, ix);
        let run_times = run_times_warning(self.state, job);
        let all = marks.into_iter().chain(run_times).chain(plugins);
        let all: Vec<String> = all.collect();
        let annotations = (!all.is_empty()).then(|| event("InvalidAnnotation", all.join("; ")));
        let class = class_warning(self.state, job);
        let class = class.map(|text| event("PriorityClassNotFound", text));
        let network = self.wording().unlimited_text(ix);
        let network = network.map(|text| event("NoNetworkDomains", text));
        let label = label_warning(self.state, job);
        let label = label.map(|text| event("SubGroupLabelMissing", text));
        let named = other_group_warning(self.state, job);
        let named = named.map(|text| event("GroupNamedTwice", text));
        annotations
            .into_iter()
            .chain(named)
            .chain(class)
            .chain(network)
            .chain(label)
            .collect()
    }
}

/// Pods of a PodGroup of Kubernetes itself name another one in their annotation.
fn other_group_warning(state: &State, job: &Job) -> Option<String> {
    job.group().filter(|group| group.is_native)?;
    let tasks = job.tasks.iter().map(|task| state.task(*task));
    let named = tasks.filter(|task| task.names_another_group);
    let mut names: Vec<&str> = named.map(|task| &*task.name).collect();
    names.sort_unstable();
    let first = names.first()?;
    let others = match names.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "annotation scheduling.k8s.io/group-name of pod {first}{others} names another PodGroup, which does not \
         count: spec.schedulingGroup does; remove the annotation"
    ))
}

/// A sub-group policy has no sub-groups because pods that it selects lack a label, although there are as many
/// pods as the gang needs.
fn label_warning(state: &State, job: &Job) -> Option<String> {
    if i64::from(job.min_available) > job.tasks.len() as i64 {
        return None;
    }
    let (at, key) = state.population().policy_without_label(job)?;
    let policy = &job.group()?.sub_groups[at];
    let policy = match policy.name.as_str() {
        "" => format!("spec.subGroupPolicy[{at}]"),
        name => format!("sub-group policy {name}"),
    };
    Some(format!(
        "{policy} has no sub-groups: pods that it selects have no label {key}, so what it asks, of the network too, \
         holds for none of them; correct its matchLabelKeys, or label the pods"
    ))
}

/// The PriorityClass that a PodGroup, or a pod without one, names is gone.
fn class_warning(state: &State, job: &Job) -> Option<String> {
    let class = state.population().priority_classes().missing(job)?;
    Some(format!(
        "PriorityClass \"{class}\" does not exist: it counts as priority {} among others, for its place in the \
         queue and for who is evicted for whom; create the class, or name another one in \
         spec.priorityClassName",
        job.priority
    ))
}

/// What is wrong with the marks `volcano.sh/preemptable` of a PodGroup and its pods, or of a pod without
/// one (spec/07 §2.3).
fn marks_warning(state: &State, job: &Job) -> Option<String> {
    let group = job.group().map(|group| group.preemptable);
    let mut all: Vec<String> = Vec::new();
    let unreadable = "`volcano.sh/preemptable` is neither true nor false";
    if group == Some(PreemptableMark::Unreadable) {
        all.push(format!(
            "{unreadable} on the PodGroup, so none of its pods is evicted: write \"true\" or \"false\""
        ));
    }
    if job.marks.unreadable > 0 {
        all.push(format!(
            "{unreadable} on {}, not evicted: write \"true\" or \"false\"",
            which(
                state,
                job,
                PreemptableMark::Unreadable,
                job.marks.unreadable
            )
        ));
    }
    match group.and_then(PreemptableMark::explicit) {
        Some(true) if job.marks.no > 0 => all.push(format!(
            "the PodGroup is marked preemptable, but not {}, not evicted",
            which(state, job, PreemptableMark::No, job.marks.no)
        )),
        Some(false) if job.marks.yes > 0 => all.push(format!(
            "the PodGroup is marked as not preemptable, so nobody evicts {} either, marked preemptable",
            which(state, job, PreemptableMark::Yes, job.marks.yes)
        )),
        _ => {}
    }
    (!all.is_empty()).then(|| all.join("; "))
}

/// The first pod with a mark, by name, and how many more have it.
fn which(state: &State, job: &Job, mark: PreemptableMark, count: u32) -> String {
    let is_marked = |ix: &&TaskIx| state.task(**ix).preemptable == mark;
    let names = job.tasks.iter().filter(is_marked);
    let first = names.map(|ix| &*state.task(*ix).name).min().unwrap_or("");
    match count {
        0 | 1 => format!("pod {first}"),
        more => format!("pod {first} and {} more", more - 1),
    }
}
