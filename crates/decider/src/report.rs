//! What is written about the cluster now and then: conditions, queue statuses, events.

use std::time::Duration;

use pumice_devices::families;
use pumice_engine::{GivenUp, HyperNodeEvent, PodReport, QueueEvent};
use pumice_model::write::Write;
use pumice_model::{DeviceNote, NoteAbout, TaskStatus};

use crate::clock::whole_s;
use crate::decider::Decider;
use crate::effect::LogLevel;
use crate::object_refs::{
    group_or_pod_ref, group_ref, hyper_node_ref, note_ref, pod_ref, queue_ref,
};
use crate::status_retries::StatusOwner;

impl Decider {
    /// Makes those statuses anew whose pause is over.
    pub(crate) fn retry_statuses(&mut self, now_s: i64) {
        while let Some(owner) = self.retries.pop(now_s) {
            match owner {
                StatusOwner::Group(namespace, name) => {
                    if let Some(job) = self
                        .engine
                        .state()
                        .population()
                        .job_by_key(&namespace, &name)
                    {
                        self.write_group(job);
                    }
                }
                StatusOwner::Pod(uid) => self.engine.pod_report_failed(&uid),
                StatusOwner::Nominee(pod) => self.evictions().renominate(pod),
                StatusOwner::Queue(name) => self.engine.queue_report_failed(&name),
            }
        }
    }

    /// When a report is due although nothing happens, in seconds since the epoch.
    pub(crate) fn report_due_s(&self) -> Option<i64> {
        let dry = self.dry_decisions.due_s();
        let silent = self.reports.silent.due_s();
        let unanswered = self.unanswered.due_s();
        let due = dry.into_iter().chain(self.retries.due_s());
        let counted = self.kept.due_s(&self.engine);
        due.chain(silent).chain(unanswered).chain(counted).min()
    }

    /// Brings conditions, queue statuses and events up to date.
    pub(crate) fn report(&mut self, now: Duration) {
        let now_s = whole_s(now);
        self.retry_statuses(now_s);
        let now_ms = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
        let reports = self.engine.reports_at_ms(now_ms);
        for taken_back in self.dry_decisions.take(now_s) {
            self.engine.apply(taken_back);
        }
        for report in reports.pods {
            self.report_pod(report);
        }
        for (queue, allocated) in reports.queues {
            let name = self.engine.state().queue(queue).object.name.clone();
            self.effects.write(Write::QueueStatus { name, allocated });
        }
        for (queue, groups) in reports.lost_queues {
            let text = format!(
                "queue {queue} was deleted while pods of {groups} PodGroups in it run: they go on, \
                 others of these groups wait until there is a queue of that name again"
            );
            self.effects.log(LogLevel::Warning, text);
        }
        for event in reports.events {
            if let Some(about) = group_or_pod_ref(&self.engine, event.job) {
                let (warning, reason) = (event.warning, event.reason);
                self.effects
                    .write_event(about, warning, reason, event.message);
            }
        }
        for event in reports.queue_events {
            let about = queue_ref(&self.engine, event.queue);
            self.effects
                .write_event(about, true, QueueEvent::REASON, event.message);
        }
        for event in reports.hyper_node_events {
            let about = hyper_node_ref(event.name, event.uid);
            self.effects
                .write_event(about, true, HyperNodeEvent::REASON, event.message);
        }
        for gang in self.engine.give_up_gangs(now_s) {
            self.give_up(gang);
        }
        self.report_silent_nodes(now_s);
        for note in self.unanswered.take(now_s) {
            self.report_device(note);
        }
        self.report_devices();
        for write in self.kept.take_writes(&self.engine, now_s) {
            self.effects.write(write);
        }
    }

    fn report_pod(&mut self, report: PodReport) {
        let pod = pod_ref(&self.engine, report.task);
        let state = self.engine.state();
        let task = state.task(report.task);
        if task.status == TaskStatus::Binding
            && let Some(node) = task.node
        {
            let node = state.nodes().object(node).name.clone();
            let (reason, message) = (report.reason.to_owned(), report.message);
            self.expectations
                .tell((pod, node), reason, message, &mut self.effects);
            return;
        }
        match report.stands {
            true => self.effects.write_reason(&pod, report.message),
            false => self
                .effects
                .write_waiting(pod, report.reason, report.message),
        }
    }

    /// A gang was bound in part for too long.
    fn give_up(&mut self, gang: GivenUp) {
        let group = group_ref(&self.engine, gang.job);
        let key = self.engine.state().population().job_key(gang.job);
        let text = format!("gang {key} is given up: {}", gang.message);
        self.effects.log(LogLevel::Warning, text);
        if let Some(about) = group.clone() {
            self.effects
                .write_event(about, true, "GangGivenUp", gang.message);
        }
        for task in gang.victims {
            self.evictions().write_eviction(task, "gang given up", None);
        }
    }

    /// Tells of nodes whose device plugin does not say any more what it usually repeats.
    fn report_silent_nodes(&mut self, now_s: i64) {
        for (node, topic) in self.reports.silent.take(now_s) {
            let is_there = self.engine.state().nodes().find(&node).is_some();
            if let Some(spec) = families::repeated(topic).filter(|_| is_there) {
                let text = spec.warning.to_owned();
                let about = NoteAbout::Node(node);
                self.report_device(DeviceNote { about, text });
            }
        }
    }

    /// Tells owners what was found about their devices.
    fn report_devices(&mut self) {
        for note in self.engine.take_device_notes() {
            self.report_device(note);
        }
    }

    fn report_device(&mut self, note: DeviceNote) {
        // What is wrong with a ConfigMap is logged when it is read.
        let logged = matches!(note.about, NoteAbout::ConfigMap(..));
        let about = note_ref(note.about);
        if !logged {
            self.effects.log(
                LogLevel::Warning,
                format!("devices of {about}: {}", note.text),
            );
        }
        self.effects.write_event(about, true, "Devices", note.text);
    }
}
