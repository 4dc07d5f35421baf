//! What plugins have to say to the owner of a PodGroup: that something written on it is not what it
//! seems. An event, at once and again before the API server forgets it.

use pumice_model::JobIx;
use pumice_model::object::GroupPhase;

use super::log::LastReport;
use super::{GroupEvent, ReportLog};
use crate::Engine;
use crate::waiting::Fingerprint;

impl Engine {
    /// Tells the warning on a PodGroup when it is another one than before.
    pub(super) fn report_warning(
        &self,
        log: &mut ReportLog,
        ix: JobIx,
        now_s: i64,
        events: &mut Vec<GroupEvent>,
    ) {
        let Some(event) = self.warning(ix) else {
            log.warnings.forget(ix);
            return;
        };
        let fingerprint = Fingerprint::of_text(&event.message);
        if let LastReport::Message { text, .. } = log.warnings.look_up(ix, now_s)
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
        log.warnings.put(ix, report, again_s);
        events.push(event);
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
        for ix in warnings.take_due(now_s, |ix| repeats.next_s(now_s, ix)) {
            match self.warning(ix) {
                Some(event) => events.push(event),
                None => warnings.forget(ix),
            }
        }
    }

    fn warning(&self, ix: JobIx) -> Option<GroupEvent> {
        let job = self.state.has_job(ix).then(|| self.state.job(ix))?;
        if job.group().is_none() || job.status.phase == GroupPhase::Completed {
            return None;
        }
        let message = self.plugins.job_warning(&self.state, ix)?;
        Some(GroupEvent {
            job: ix,
            warning: true,
            reason: "InvalidAnnotation",
            message,
        })
    }
}
