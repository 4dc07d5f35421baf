//! Conditions of waiting pods (spec/01 §4.6).

use pumice_model::object::Gates;
use pumice_model::{JobIx, TaskIx, TaskStatus};

use super::log::ReportTime;
use super::{Due, FIRST_REPORT_AFTER_MS, LastReport, PodReport, ReportLog, SETTLED_AFTER_S};
use crate::report::teller::Teller;
use crate::waiting::{PodReason, Waiting, Why, hash_of, stable_words_hash};

impl Teller<'_> {
    /// Conditions of a job's waiting pods that are news.
    pub(super) fn report_pods(
        &self,
        log: &mut ReportLog,
        job: JobIx,
        now: ReportTime,
        reports: &mut Vec<PodReport>,
    ) {
        let now_s = now.s();
        let being_made = self.is_being_made(job);
        let (mut pods, job_id) = (self.waiting_pods(job), self.state.population().job_id(job));
        for ix in &self.state.job(job).tasks {
            let (ix, id) = (*ix, self.state.population().task_id(*ix));
            let waiting = pods.waiting(ix).filter(|_| self.is_reported(ix));
            let Some(waiting) = waiting else {
                log.forget_pod(id);
                continue;
            };
            let fingerprint = pods.fingerprint(&waiting);
            let last = log.pods.look_up(id, now);
            let others_end_it = being_made
                || matches!(
                    waiting.why,
                    Why::BindWaits { .. } | Why::IncompleteSubGroup(_)
                );
            let after_ms = match others_end_it {
                true => SETTLED_AFTER_S * 1000,
                false => FIRST_REPORT_AFTER_MS,
            };
            if let Some(at_ms) = last.silent_until_ms(after_ms, now) {
                log.soon(job_id, at_ms);
                continue;
            }
            match last.due(fingerprint, now_s) {
                Due::Never => {}
                Due::Later(at_s) => log.later(job_id, at_s),
                Due::Now => {
                    let report = self.pod_report(ix, &waiting);
                    let text = hash_of((report.reason, &report.message));
                    let mut again_s = log.repeats.next_s(now_s, ix);
                    let known = match last {
                        LastReport::Nothing { .. } => self.says_so(&report),
                        LastReport::Message { text: old, .. } => old == text,
                    };
                    if known && matches!(last, LastReport::Nothing { .. }) {
                        // Its event may be forgotten, or give an older reason.
                        again_s = log.repeats.after_start_s(now_s);
                    }
                    let news = LastReport::Message {
                        fingerprint,
                        text,
                        at_s: now_s,
                    };
                    log.pods.put(id, news, again_s);
                    reports.extend((!known).then_some(report));
                }
            }
        }
    }

    /// Events of pods that were reported long ago, or by a process before this one, and still stand.
    pub(super) fn repeat_pods(
        &self,
        log: &mut ReportLog,
        now_s: i64,
        reports: &mut Vec<PodReport>,
    ) {
        let ReportLog { pods, repeats, .. } = log;
        for id in pods.take_due(now_s, |id| repeats.next_s(now_s, id.ix())) {
            let known = self.state.population().known_task(id);
            let reported = known.filter(|ix| self.is_reported(*ix));
            match reported.and_then(|ix| Some((ix, self.waiting(ix)?))) {
                Some((ix, waiting)) => reports.push(PodReport {
                    stands: true,
                    ..self.pod_report(ix, &waiting)
                }),
                None => pods.forget(id),
            }
        }
    }

    /// Whether a condition says why the pod waits: the API server itself speaks of gates.
    fn is_reported(&self, ix: TaskIx) -> bool {
        let task = self.state.task(ix);
        let waits = matches!(
            task.status,
            TaskStatus::Pending | TaskStatus::Allocated | TaskStatus::Pipelined
        );
        waits && task.ours && task.gates == Gates::None || self.bind_wait(ix).is_some()
    }

    /// Whether the pod object carries the report already, perhaps with other numbers.
    fn says_so(&self, report: &PodReport) -> bool {
        let told = self.state.task(report.task).told.as_ref();
        told.is_some_and(|told| {
            told.0 == report.reason
                && stable_words_hash(&told.1) == stable_words_hash(&report.message)
        })
    }

    fn pod_report(&self, task: TaskIx, waiting: &Waiting<'_>) -> PodReport {
        let PodReason { reason, message } = waiting.pod_reason();
        PodReport {
            task,
            stands: false,
            reason,
            message,
        }
    }
}
