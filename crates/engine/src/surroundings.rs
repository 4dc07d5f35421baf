//! The engine and what surrounds it: what became of decisions, what is to be written besides them, what an
//! extender is asked, metrics.

use pumice_model::extender::{ExtenderNotice, ExtenderReply, ExtenderSettings, QuestionSheet};
use pumice_model::object::GroupStatus;
use pumice_model::{Delta, JobIx};

use crate::decisions::Decisions;
use crate::devices::DeviceGauges;
use crate::engine::Engine;
use crate::extender::needed_answers;
use crate::follow_up::bind_waits::BindWait;
use crate::follow_up::suspects::Outdated;
use crate::give_up::GivenUp;
use crate::metrics_snapshot::MetricsSnapshot;
use crate::report::{ReportTime, Reports};
use crate::trees;

impl Engine {
    /// The status of this job's PodGroup, as it is in the state, is being written. Until
    /// [`Engine::status_written`], [`Engine::status_not_written`] or a watch event that shows it,
    /// other statuses a watch shows are older.
    pub fn status_sent(&mut self, job: JobIx) {
        let job = self.state.population().job_id(job);
        self.follow_up.assumed_statuses.sent(job);
    }

    /// This status of a PodGroup is on the server; by now there may be a newer one.
    pub fn status_written(&mut self, namespace: &str, name: &str, status: &GroupStatus) {
        let assumed = &mut self.follow_up.assumed_statuses;
        assumed.written(&self.state, namespace, name, status);
    }

    /// The status of a PodGroup could not be written: what a watch shows is true.
    pub fn status_not_written(&mut self, namespace: &str, name: &str) {
        let assumed = &mut self.follow_up.assumed_statuses;
        assumed.not_written(&self.state, namespace, name);
    }

    /// The Bindings that wait at this moment, by UID of the pod. Returns whether that is news.
    pub fn set_bind_waits(&mut self, waits: Vec<(String, BindWait)>) -> bool {
        let of = |(uid, wait): (String, BindWait)| {
            let task = self.state.population().task_by_uid(&uid)?;
            Some((self.state.population().task_id(task), wait))
        };
        let now = waits.into_iter().filter_map(of).collect();
        let news = self.follow_up.bind_waits.set(now);
        for id in &news {
            let task = self.state.population().known_task(*id);
            if let Some(job) = task.and_then(|task| self.state.task(task).job) {
                self.look_at(job);
            }
        }
        !news.is_empty()
    }

    /// The ConfigMaps about nodes that cannot be read at this moment, and why: as pods are told it that
    /// ask what they tell of. Returns whether that is news.
    pub fn set_unread_reports(&mut self, told: Vec<String>) -> bool {
        let is_news = self.follow_up.unread_reports.set(told);
        if is_news {
            let noted: Vec<JobIx> = self.follow_up.notes.jobs().collect();
            noted.into_iter().for_each(|ix| self.look_at(ix));
        }
        is_news
    }

    /// The Binding of a pod waited, its object was to say so ([`PodReport`](crate::report::PodReport) of a pod that is
    /// Binding), and nothing came of it.
    pub fn expect_no_more(&mut self, uid: &str, node: &str) {
        if let Some(task) = self.state.population().task_by_uid(uid) {
            let task = self.state.population().task_id(task);
            self.follow_up.nominations.disbelieve(task, node);
        }
    }

    /// Whether something has changed that a decision on its way may not fit any more.
    pub fn has_suspects(&self) -> bool {
        !self.follow_up.suspects.is_empty()
    }

    /// Decisions on their way that would not be made so any more, of those that changes since the
    /// last call could have touched. Their places stay taken until [`Delta::BindFailed`] says that
    /// no request can put the pods there.
    pub fn outdated(&mut self) -> Vec<Outdated> {
        if !self.has_suspects() {
            return Vec::new();
        }
        self.release_kept();
        trees::seal(self);
        let suspects = &mut self.follow_up.suspects;
        suspects.outdated(&self.state, &mut self.kernel, &self.plugins)
    }

    /// Gangs that stay bound in part this long are given up, later ones of the same PodGroup after
    /// twice the time, and so on; 0 never gives up.
    pub fn set_partial_gang_deadline(&mut self, deadline_s: i64) {
        let setbacks = &mut self.follow_up.partial.setbacks;
        setbacks.deadline_s = (deadline_s > 0).then_some(deadline_s);
    }

    /// Gangs whose time is over. Each is told once; the caller deletes the victims.
    pub fn give_up_gangs(&mut self, now_s: i64) -> Vec<GivenUp> {
        let overdue = self.follow_up.partial.take_overdue(&self.state, now_s);
        let given_up = overdue.iter();
        given_up
            .filter_map(|gang| GivenUp::of(self.known(), gang))
            .collect()
    }

    /// What is to be written since the last call: each condition and amount once, when it differs
    /// from the last report or, without one, from what the object carries. Differences in numbers
    /// only are written after [`REWRITE_NUMBERS_AFTER_S`](crate::report::REWRITE_NUMBERS_AFTER_S) seconds. Events
    /// are repeated before the API server forgets them.
    ///
    /// The caller writes it, or says that it could not ([`Engine::pod_report_failed`],
    /// [`Engine::queue_report_failed`]).
    pub fn reports(&mut self, now_s: i64) -> Reports {
        self.reports_at_ms(now_s.saturating_mul(1000))
    }

    /// When [`Engine::reports_at_ms`] has a first reason to tell although nothing happens, in milliseconds
    /// since the epoch.
    pub fn first_report_due_ms(&self) -> Option<i64> {
        self.report_log.first_due_ms()
    }

    /// [`Engine::reports`] at a millisecond since the epoch.
    pub fn reports_at_ms(&mut self, now_ms: i64) -> Reports {
        let changed_queues = self.state.changes().take_changed_queues();
        let mut log = std::mem::take(&mut self.report_log);
        let now = ReportTime { ms: now_ms };
        let reports = log.reports(self.known().teller(), changed_queues, now);
        self.report_log = log;
        reports
    }

    /// This process leads again: what it reported before may have been overwritten by another one since.
    /// What stands is told again, unless objects say so already.
    pub fn tell_anew(&mut self) {
        let jobs = self
            .state
            .population()
            .jobs()
            .map(|(ix, _)| self.state.population().job_id(ix));
        self.report_log.start_over(jobs);
    }

    /// The API server forgets events after that long ([`EVENT_LIFETIME_S`](crate::report::EVENT_LIFETIME_S)
    /// unless said).
    pub fn set_event_lifetime_s(&mut self, lifetime_s: i64) {
        self.report_log.set_event_lifetime_s(lifetime_s);
    }

    /// A condition of this pod could not be written: it is told again when it is next looked at.
    pub fn pod_report_failed(&mut self, uid: &str) {
        let Some(task) = self.state.population().task_by_uid(uid) else {
            return;
        };
        self.report_log
            .forget_pod(self.state.population().task_id(task));
        if let Some(job) = self.state.task(task).job {
            self.look_at(job);
        }
    }

    /// The amounts of this queue could not be written: they are told again.
    pub fn queue_report_failed(&mut self, name: &str) {
        if let Some(queue) = self.state.population().queue_by_name(name) {
            self.report_log.forget_queue(queue);
        }
    }

    /// What metrics say. Costs a look at every queue, every waiting job and every pending pod,
    /// and at the jobs and, with a mix of tasks, nodes that changed since the last call: for scrapes, not for every
    /// cycle. After another mix all nodes are looked at.
    pub fn metrics_snapshot(&mut self) -> MetricsSnapshot {
        let mut counted = std::mem::take(&mut self.counted);
        let snapshot = counted.snapshot(self.known());
        self.counted = counted;
        snapshot
    }

    /// Gauges of the cards of nodes that may differ from what the last call said.
    pub fn device_gauges(&mut self) -> DeviceGauges {
        self.devices_told.gauges(&self.state)
    }

    /// The extender that is asked or told, if there is one.
    pub fn extender(&self) -> Option<&ExtenderSettings> {
        self.extender.settings()
    }

    /// Takes an answer in; one that was on its way when another extender was configured says nothing.
    pub fn take_reply(&mut self, reply: ExtenderReply) {
        if self.extender.is_mine(&reply) {
            self.apply(Delta::ExtenderAnswer {
                question: reply.question,
                answer: Box::new(reply.answer),
            });
        }
    }

    /// Other questions stand than were told last, to another extender, or after another cycle that it is
    /// told of.
    pub fn has_new_questions(&self) -> bool {
        self.extender.has_news(self.known())
    }

    /// Some question stands.
    pub fn has_questions(&self) -> bool {
        needed_answers(self.known()).next().is_some()
    }

    /// What an extender is to be asked from now on.
    pub fn question_sheet(&mut self) -> QuestionSheet {
        let mut extender = std::mem::take(&mut self.extender);
        let sheet = extender.sheet(self.known());
        self.extender = extender;
        sheet
    }

    /// What an extender is to be told of decisions, which nothing was applied after yet, and before them of
    /// what came to nothing since this was last asked.
    pub fn take_extender_notices(&mut self, decisions: Option<&Decisions>) -> Vec<ExtenderNotice> {
        self.extender.take_notices(&self.state, decisions)
    }
}
