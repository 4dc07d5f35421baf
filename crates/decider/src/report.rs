//! What is written about the cluster now and then: conditions, queue statuses, events.

use std::time::Duration;

use pumice_devices::families;
use pumice_engine::{GivenUp, HyperNodeEvent, PodReport, QueueEvent};
use pumice_model::write::Write;
use pumice_model::{DeviceNote, NoteAbout, TaskStatus};

use crate::object_refs::{
    group_or_pod_ref, group_ref, hyper_node_ref, note_ref, pod_ref, queue_ref,
};
use crate::{Decider, LogLevel, whole_s};

/// Seconds after which a dry run forgets a decision that the other scheduler has not followed.
const DRY_RUN_HOLDS_S: i64 = 60;

impl Decider {
    /// When a report is due although nothing happens, in seconds since the epoch.
    pub(crate) fn report_due_s(&self) -> Option<i64> {
        let oldest = self.dry_decisions.front();
        let dry = oldest.map(|(at_s, _)| at_s + DRY_RUN_HOLDS_S);
        let silent = self.reports.silent.due_s();
        let unanswered = self.unanswered.due_s();
        let due = dry.into_iter().chain(self.retries.due_s());
        due.chain(silent).chain(unanswered).min()
    }

    /// Brings conditions, queue statuses and events up to date.
    pub(crate) fn report(&mut self, now: Duration) {
        let now_s = whole_s(now);
        self.retry_statuses(now_s);
        let now_ms = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
        let reports = self.engine.reports_at_ms(now_ms);
        self.expire_dry_decisions(now_s);
        for report in reports.pods {
            self.report_pod(report);
        }
        for (queue, allocated) in reports.queues {
            let name = self.engine.state().queue(queue).object.name.clone();
            self.write(Write::QueueStatus { name, allocated });
        }
        for (queue, groups) in reports.lost_queues {
            let text = format!(
                "queue {queue} was deleted while pods of {groups} PodGroups in it run: they go on, \
                 others of these groups wait until there is a queue of that name again"
            );
            self.log(LogLevel::Warning, text);
        }
        for event in reports.events {
            if let Some(about) = group_or_pod_ref(&self.engine, event.job) {
                self.write(Write::Event {
                    about,
                    warning: event.warning,
                    reason: event.reason.to_owned(),
                    message: event.message,
                });
            }
        }
        for event in reports.queue_events {
            self.write(Write::Event {
                about: queue_ref(&self.engine, event.queue),
                warning: true,
                reason: QueueEvent::REASON.to_owned(),
                message: event.message,
            });
        }
        for event in reports.hyper_node_events {
            self.write(Write::Event {
                about: hyper_node_ref(event.name, event.uid),
                warning: true,
                reason: HyperNodeEvent::REASON.to_owned(),
                message: event.message,
            });
        }
        for gang in self.engine.give_up_gangs(now_s) {
            self.give_up(gang);
        }
        self.report_silent_nodes(now_s);
        for note in self.unanswered.take(now_s) {
            self.report_device(note);
        }
        self.report_devices();
    }

    fn report_pod(&mut self, report: PodReport) {
        let pod = pod_ref(&self.engine, report.task);
        let state = self.engine.state();
        let task = state.task(report.task);
        if task.status == TaskStatus::Binding
            && let Some(node) = task.node
        {
            let node = state.nodes().object(node).name.clone();
            return self.expect(pod, node, report.reason.to_owned(), report.message);
        }
        match report.stands {
            true => self.write_reason(&pod, report.message),
            false => self.report_waiting(pod, report.reason, report.message),
        }
    }

    /// Takes back decisions of a dry run that the other scheduler did not follow.
    fn expire_dry_decisions(&mut self, now_s: i64) {
        while let Some((at_s, taken_back)) = self.dry_decisions.pop_front() {
            if at_s + DRY_RUN_HOLDS_S > now_s {
                self.dry_decisions.push_front((at_s, taken_back));
                return;
            }
            self.engine.apply(taken_back);
        }
    }

    /// A gang was bound in part for too long.
    fn give_up(&mut self, gang: GivenUp) {
        let group = group_ref(&self.engine, gang.job);
        let key = self.engine.state().population().job_key(gang.job);
        let text = format!("gang {key} is given up: {}", gang.message);
        self.log(LogLevel::Warning, text);
        if let Some(about) = group.clone() {
            self.write(Write::Event {
                about,
                warning: true,
                reason: "GangGivenUp".to_owned(),
                message: gang.message,
            });
        }
        for task in gang.victims {
            self.write_eviction(task, "gang given up", None);
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
            self.log(
                LogLevel::Warning,
                format!("devices of {about}: {}", note.text),
            );
        }
        self.write(Write::Event {
            about,
            warning: true,
            reason: "Devices".to_owned(),
            message: note.text,
        });
    }
}
