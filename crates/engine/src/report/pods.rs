//! Conditions of waiting pods (spec/01 §4.6).

use pumice_model::object::Gates;
use pumice_model::{JobIx, TaskIx, TaskStatus};

use super::{PodReport, Telling, Told, Turn};
use crate::Engine;
use crate::explain::PodReason;
use crate::gist::{gist, hash_of};

impl Engine {
    /// Conditions of a job's waiting pods that are news.
    pub(super) fn report_pods(
        &self,
        telling: &mut Telling,
        job: JobIx,
        now_s: i64,
        reports: &mut Vec<PodReport>,
    ) {
        let mut shared = self.job_print(job);
        for ix in &self.state.job(job).tasks {
            let ix = *ix;
            if !self.is_told_about(ix) {
                telling.forget_pod(ix);
                continue;
            }
            let print = self.print(ix, job, &mut shared);
            let told = telling.pods.look_up(ix, now_s);
            match told.turn(print, now_s) {
                Turn::Never => {}
                Turn::Later(at_s) => telling.later(job, at_s),
                Turn::Now => {
                    let report = self.pod_report(ix);
                    let text = report.as_ref().map_or(0, |report| hash_of(&report.message));
                    let at_s = now_s;
                    let news = Told::Message { print, text, at_s };
                    let mut again_s = telling.repeats.next_s(now_s, ix);
                    let known = match told {
                        Told::Nothing { .. } => report.as_ref().is_some_and(|r| self.says_so(r)),
                        Told::Message { text: old, .. } => old == text,
                    };
                    if known && matches!(told, Told::Nothing { .. }) {
                        // Its event may be forgotten, or tell an older reason.
                        again_s = telling.repeats.after_start_s(now_s);
                    }
                    telling.pods.tell(ix, news, again_s);
                    reports.extend(report.filter(|_| !known));
                }
            }
        }
    }

    /// Events of pods that were told long ago, or by a process before this one, and still stand.
    pub(super) fn repeat_pods(
        &self,
        telling: &mut Telling,
        now_s: i64,
        reports: &mut Vec<PodReport>,
    ) {
        let Telling { pods, repeats, .. } = telling;
        for ix in pods.take_due(now_s, |ix| repeats.next_s(now_s, ix)) {
            let waits = self.state.find_task(ix).is_some() && self.is_told_about(ix);
            match waits.then(|| self.pod_report(ix)).flatten() {
                Some(report) => reports.push(PodReport {
                    stands: true,
                    ..report
                }),
                None => pods.forget(ix),
            }
        }
    }

    /// Whether a condition says why the pod waits: the API server itself speaks of gates.
    fn is_told_about(&self, ix: TaskIx) -> bool {
        let task = self.state.task(ix);
        let waits = matches!(
            task.status,
            TaskStatus::Pending | TaskStatus::Allocated | TaskStatus::Pipelined
        );
        waits && task.ours && task.gates == Gates::None || self.bind_wait(ix).is_some()
    }

    fn pod_report(&self, ix: TaskIx) -> Option<PodReport> {
        let PodReason { reason, message } = self.why_pending(ix)?;
        Some(PodReport {
            task: ix,
            stands: false,
            reason,
            message,
            nominated_node: None,
        })
    }

    /// Whether the pod object carries the report already, perhaps with other numbers.
    fn says_so(&self, report: &PodReport) -> bool {
        let told = self.state.task(report.task).told.as_ref();
        told.is_some_and(|told| told.0 == report.reason && gist(&told.1) == gist(&report.message))
    }
}
