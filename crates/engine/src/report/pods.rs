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
            let nothing = Told::Nothing { since_s: now_s };
            let told = *telling.pods.entry(ix).or_insert(nothing);
            match told.turn(print, now_s) {
                Turn::Never => {}
                Turn::Later(at_s) => telling.later(job, at_s),
                Turn::Now => {
                    let report = self.pod_report(ix);
                    let text = report.as_ref().map_or(0, |report| hash_of(&report.message));
                    let at_s = now_s;
                    telling.pods.insert(ix, Told::Message { print, text, at_s });
                    let known = match told {
                        Told::Nothing { .. } => report.as_ref().is_some_and(|r| self.says_so(r)),
                        Told::Message { text: old, .. } => old == text,
                    };
                    reports.extend(report.filter(|_| !known));
                }
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
        waits && task.ours && task.gates == Gates::None
    }

    fn pod_report(&self, ix: TaskIx) -> Option<PodReport> {
        let PodReason { reason, message } = self.why_pending(ix)?;
        Some(PodReport {
            task: ix,
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
