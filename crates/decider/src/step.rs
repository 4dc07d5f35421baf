//! One step: what is due now.

use std::time::Duration;

use pumice_engine::{Decisions, Engine, Observer, history};
use pumice_model::JobIx;
use pumice_model::object::GroupPhase;
use pumice_model::volume::VolumeStep;
use pumice_model::write::{BindRequest, PodRef, VolumeWork, Write};

use crate::clock::Clock;
use crate::clock::whole_s;
use crate::decider::Decider;
use crate::decider::SHORTEST_PAUSE;
use crate::effect::{Effect, LogLevel};
use crate::evictions::EvictionWriter;
use crate::object_refs::{group_ref, pod_ref};
use crate::tree_statuses::told_within;

/// Longest pause between cycles that changes are collected in.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Jobs named in one line of the log.
const MAX_MISSED_TOLD: usize = 16;

/// How often all that is told, and numbers, are brought up to date at least after cycles.
const REPORT_PERIOD: Duration = Duration::from_secs(1);

/// What a step did.
#[derive(Clone, Debug, Default)]
pub struct StepResult {
    /// What a cycle decided, if one was run; its writes are among the effects.
    pub decisions: Option<Decisions>,
    /// When that was, since 1970.
    pub at: Duration,
    /// How long it took.
    pub took: Duration,
    /// A report was made: numbers may have changed.
    pub reported: bool,
}

impl Decider {
    /// A cycle and a report, when they are due.
    pub fn step(&mut self, clock: &dyn Clock, observer: &mut dyn Observer) -> StepResult {
        self.take_back_outdated();
        let now = clock.now();
        let mut step = StepResult {
            at: now,
            ..StepResult::default()
        };
        let period_over = now >= self.last_cycle.0 + self.period;
        if !self.may_decide() {
            if period_over {
                self.stand_by(now);
            }
            return step;
        }
        self.cleanups.write(&mut self.effects);
        if let Some(write) = self.sharing.take_write() {
            self.effects.write(write);
        }
        self.unanswered.date(whole_s(now));
        let due = self.due_s().is_some_and(|at_s| at_s <= whole_s(now));
        if period_over || due || self.changed && now >= self.cycle_from() {
            step.decisions = Some(self.cycle(clock, observer));
            step.took = self.last_cycle.1;
        }
        self.tell_extender(&step);
        if due {
            // A pod has waited long enough to be told why, even if nothing else has happened.
            self.report_due = Some(now);
        }
        let now = clock.now();
        if self.report_due.is_some_and(|due| due <= now) {
            self.report_due = None;
            self.look(clock);
            step.reported = true;
        } else if self.next_look().is_some_and(|due| due <= now) {
            self.look(clock);
        }
        self.ask_extender(&step);
        step
    }

    /// What was decided, and what came to nothing before; a dry run decides nothing that stands.
    fn tell_extender(&mut self, step: &StepResult) {
        let decisions = step.decisions.as_ref();
        let notices = self.engine.take_extender_notices(decisions);
        if !notices.is_empty() {
            self.effects.act(Effect::TellExtender(notices));
        }
    }

    /// What an extender is to be asked: at once what is new, and with every report as things stand.
    fn ask_extender(&mut self, step: &StepResult) {
        let is_new = self.engine.has_new_questions();
        if is_new || step.reported && self.engine.has_questions() {
            let mut sheet = Box::new(self.engine.question_sheet());
            if self.effects.is_dry() {
                sheet.session = None;
            }
            self.effects.push(Effect::Ask(sheet));
        }
    }

    /// When [`Decider::step`] has something to do although nothing happens, since 1970.
    pub fn next_step(&self, now: Duration) -> Duration {
        let mut next = self.last_cycle.0 + self.period;
        if !self.may_decide() {
            return next;
        }
        if self.changed {
            next = next.min(self.cycle_from());
        }
        if let Some(report) = self.report_due {
            next = next.min(report);
        }
        if let Some(look) = self.next_look() {
            next = next.min(look.max(now + SHORTEST_PAUSE));
        }
        if let Some(at_s) = self.due_s() {
            let at = Duration::from_secs(u64::try_from(at_s).unwrap_or(0));
            next = next.min(at.max(now + SHORTEST_PAUSE));
        }
        next
    }

    /// When it is looked who waits.
    fn next_look(&self) -> Option<Duration> {
        self.looks.next(self.engine.first_report_due_ms())
    }

    /// Brings what is told of the cluster up to date.
    fn look(&mut self, clock: &dyn Clock) {
        let from = clock.now();
        self.report(from);
        self.looks.looked(from, clock.now());
    }

    /// When the engine, or a report, has something to do although nothing happens.
    fn due_s(&self) -> Option<i64> {
        let due = [self.engine.wake_at_s(), self.report_due_s()];
        due.into_iter().flatten().min()
    }

    fn cycle_from(&self) -> Duration {
        let (ended, took) = self.last_cycle;
        ended + took.clamp(SHORTEST_PAUSE, LONGEST_PAUSE)
    }

    /// Decisions on their way that what has changed forbids are taken back, and made anew once they
    /// certainly cannot come true.
    fn take_back_outdated(&mut self) {
        for outdated in self.engine.outdated() {
            self.effects.act(Effect::Recall {
                uid: outdated.uid,
                why: outdated.why,
            });
        }
    }

    /// Keeps the books of a replica that decides nothing.
    fn stand_by(&mut self, now: Duration) {
        self.last_cycle.0 = now;
        if !self.synced {
            return;
        }
        if std::mem::take(&mut self.changed) {
            self.engine.stand_by();
        }
        history::stand_by(&mut self.engine, whole_s(now));
        self.engine.tidy(whole_s(now));
    }

    fn cycle(&mut self, clock: &dyn Clock, observer: &mut dyn Observer) -> Decisions {
        let start = clock.now();
        self.changed = false;
        let decisions = self.engine.cycle_observed(whole_s(start), observer);
        self.write_decisions(&decisions, whole_s(start));
        self.tell_missed(&decisions);
        let end = clock.now();
        self.last_cycle = (end, end.saturating_sub(start));
        if !decisions.skipped {
            self.report_due.get_or_insert(end + REPORT_PERIOD);
            self.looks.cycle_ended(end);
        }
        // What a cycle decided may let the next one decide more.
        self.changed |= !decisions.settled;
        decisions
    }

    /// Jobs that would have slept through what they got: a fault of this program, which its users can help
    /// to find.
    fn tell_missed(&mut self, decisions: &Decisions) {
        if decisions.missed.is_empty() {
            return;
        }
        let key = |job: &JobIx| self.engine.state().population().job_key(*job);
        let some = decisions.missed.iter().take(MAX_MISSED_TOLD);
        let jobs: Vec<String> = some.map(key).collect();
        let text = format!(
            "{} jobs got something in a full check that would have slept on: {}. Nothing is lost, but \
             they waited longer than they had to: please report it, with a dump (SIGUSR2)",
            decisions.missed.len(),
            jobs.join(", ")
        );
        self.effects.log(LogLevel::Error, text);
    }

    fn write_decisions(&mut self, decisions: &Decisions, now_s: i64) {
        match self.effects.is_dry() {
            true => self.dry_decisions.note(decisions, &self.engine, now_s),
            false => self.write_places(decisions),
        }
        for job in &decisions.groups {
            self.write_group(*job);
        }
        for write in told_within(self.engine.state(), decisions) {
            self.effects.write(write);
        }
    }

    /// Writes who goes where, and what is given back for that.
    fn write_places(&mut self, decisions: &Decisions) {
        for bind in &decisions.binds {
            let pod = pod_ref(&self.engine, bind.task);
            let node = self.engine.state().nodes().object(bind.node).name.clone();
            self.effects.write(Write::Bind(BindRequest {
                volumes: volume_work(&self.engine, &pod, &bind.volumes),
                claims: bind.claims.clone(),
                pod,
                node,
                devices: bind.devices.as_deref().cloned().unwrap_or_default(),
            }));
        }
        for claim in &decisions.device_returns {
            self.effects.write(Write::ReturnDevices(claim.clone()));
        }
        self.evictions().write_evictions(decisions);
    }

    pub(crate) fn evictions(&mut self) -> EvictionWriter<'_> {
        EvictionWriter {
            engine: &self.engine,
            effects: &mut self.effects,
        }
    }

    pub(crate) fn write_group(&mut self, ix: JobIx) {
        let Some(group) = group_ref(&self.engine, ix) else {
            return;
        };
        if !self.effects.is_dry() {
            self.engine.status_sent(ix);
        }
        let job = self.engine.state().job(ix);
        let name = job.name.to_string();
        // Controllers make the pods of a job once it is admitted: that must not wait.
        let urgent = job.status.phase == GroupPhase::Inqueue
            && job.tasks.len() < usize::try_from(job.min_available).unwrap_or(0);
        let status = job.status.clone();
        self.effects.write(Write::GroupStatus {
            namespace: group.namespace,
            name,
            uid: group.uid,
            status,
            urgent,
        });
    }
}

/// What has to be done about the claims of a pod before its Binding.
fn volume_work(engine: &Engine, pod: &PodRef, steps: &[VolumeStep]) -> Option<VolumeWork> {
    let timeout_s = engine.volume_timeout_s().filter(|_| !steps.is_empty())?;
    Some(VolumeWork {
        pod: pod.clone(),
        steps: steps.to_vec(),
        timeout: Duration::from_secs(u64::try_from(timeout_s).unwrap_or(0)),
    })
}
