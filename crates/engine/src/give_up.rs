//! Gangs that stay bound in part are given up: their bound pods are to be deleted, so that they no
//! longer hold what others could use. Their controller makes them anew, and the gang starts over.
//!
//! ```text
//!  partial for the deadline ─► given up ─► partial again ─► for twice the deadline ─► given up ─► …
//!                                                      complete once ─► back to the deadline
//! ```

use pumice_model::resource::display_amount;
use pumice_model::{JobIx, ResVec, TaskIx};

use crate::follow_up::partial::{OverdueGang, members_on_nodes};
use crate::knowledge::Knowledge;
use crate::knowledge::Wording;

/// A gang that is given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenUp {
    /// Job of the gang.
    pub job: JobIx,
    /// Bound pods of the gang that a controller will make anew, to be deleted, by name.
    pub victims: Vec<TaskIx>,
    /// What is to be told about it, and what would help.
    pub message: String,
}

impl GivenUp {
    /// A gang whose time is over; none if it has no pod that somebody would make again.
    pub(crate) fn of(known: Knowledge<'_>, gang: &OverdueGang) -> Option<Self> {
        let mut victims = members_on_nodes(known.state, gang.job);
        // Nobody would make the others again.
        victims.retain(|ix| known.state.task(*ix).controlled);
        if victims.is_empty() {
            return None;
        }
        let message = known.wording().give_up_message(gang, victims.len());
        Some(Self {
            job: gang.job,
            victims,
            message,
        })
    }
}

impl Wording<'_> {
    fn give_up_message(&self, gang: &OverdueGang, victims: usize) -> String {
        let OverdueGang {
            job: ix,
            after_s,
            again_s,
        } = *gang;
        let job = self.state.job(ix);
        let (needed, bound) = (job.min_available, members_on_nodes(self.state, ix).len());
        let pods = |count: usize| match count {
            1 => "1 bound pod is".to_owned(),
            count => format!("{count} bound pods are"),
        };
        let mut text = format!(
            "{bound} of the {needed} pods it needs ({}) could be bound within {after_s} s; {} deleted so \
             that others can use the place and the gang starts over as a whole. ",
            job.minimum_field(),
            pods(victims)
        );
        text.push_str(&self.what_would_help(ix, bound));
        if let Some(again_s) = again_s {
            text.push_str(&format!(
                ". Should it be bound in part again, it is given up after {again_s} s"
            ));
        }
        text
    }

    /// What the missing pods of a partial gang need, and why the first of them waits.
    fn what_would_help(&self, ix: JobIx, bound: usize) -> String {
        let job = self.state.job(ix);
        let minimum = job.minimum_field();
        let missing = usize::try_from(job.min_available)
            .unwrap_or(0)
            .saturating_sub(bound);
        let mut waiting: Vec<TaskIx> = job.tasks.clone();
        waiting.retain(|ix| self.state.task(*ix).status.is_undecided());
        waiting.sort_by_key(|ix| &self.state.task(*ix).name);
        waiting.truncate(missing);
        let Some(first) = waiting.first().copied() else {
            return format!(
                "No further pod of it exists: its controller has to make {missing} more, or set \
                 {minimum} of the PodGroup to {bound}"
            );
        };
        let room = self.amounts_of(&waiting);
        let name = &self.state.task(first).name;
        let why = self
            .why_pending(first)
            .map_or_else(String::new, |why| why.message);
        let why = why.trim_end_matches('.');
        format!(
            "What would help: room for {room} more, or {minimum} {bound} in the PodGroup. {name} \
             waits: {why}"
        )
    }

    /// What tasks ask together, such as `cpu 4, nvidia.com/gpu 8`.
    fn amounts_of(&self, tasks: &[TaskIx]) -> String {
        let mut sum = ResVec::default();
        tasks
            .iter()
            .for_each(|ix| sum.add(&self.state.shape(*ix).request));
        let names = self.state.resources().in_order().iter();
        let amounts = names.filter(|ix| sum.get(**ix) > 0).map(|ix| {
            let name = self.state.resources().name(*ix);
            format!("{name} {}", display_amount(name, sum.get(*ix)))
        });
        amounts.collect::<Vec<_>>().join(", ")
    }
}
