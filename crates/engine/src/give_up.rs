//! Gangs that stay bound in part are given up: their bound pods are to be deleted, so that they no
//! longer hold what others could use. Their controller makes them anew, and the gang starts over.
//!
//! ```text
//!  partial for the deadline ─► given up ─► partial again ─► for twice the deadline ─► given up ─► …
//!                                                      complete once ─► back to the deadline
//! ```

use pumice_model::resource::display_amount;
use pumice_model::{JobIx, ResVec, TaskIx, gang_tree};

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
        let mut victims = match gang.parts.as_slice() {
            [] => members_on_nodes(known.state, gang.job),
            parts => parts.iter().flat_map(|part| part.pods.clone()).collect(),
        };
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
        let bound = members_on_nodes(self.state, gang.job).len();
        let (what, again, help) = match gang_tree::of(self.state.job(gang.job)) {
            Some(_) => self.of_tree(gang, bound),
            None => self.of_gang(gang.job, bound),
        };
        let pods = match victims {
            1 => "1 bound pod is".to_owned(),
            count => format!("{count} bound pods are"),
        };
        let mut text = format!(
            "{what} could be bound within {} s; {pods} deleted so that others can use the place and the {again} starts \
             over as a whole. {help}",
            gang.after_s
        );
        if let Some(again_s) = gang.again_s {
            text.push_str(&format!(
                ". Should it be bound in part again, it is given up after {again_s} s"
            ));
        }
        text
    }

    /// What was bound of a gang, what starts over, and what would help.
    fn of_gang(&self, ix: JobIx, bound: usize) -> (String, &'static str, String) {
        let job = self.state.job(ix);
        let (needed, minimum) = (job.min_available, job.minimum_field());
        let what = format!("{bound} of the {needed} pods it needs ({minimum})");
        let missing = usize::try_from(needed).unwrap_or(0).saturating_sub(bound);
        let mut waiting = self.waiting_of(ix);
        waiting.truncate(missing);
        let help = match self.first_waits(&waiting) {
            Some(why) => {
                let room = self.amounts_of(&waiting);
                format!(
                    "What would help: room for {room} more, or {minimum} {bound} in the PodGroup. {why}"
                )
            }
            None => format!(
                "No further pod of it exists: its controller has to make {missing} more, or set {minimum} of the \
                 PodGroup to {bound}"
            ),
        };
        (what, "gang", help)
    }

    /// What was bound of a tree of gangs, or of a part of one, what starts over, and what would help.
    fn of_tree(&self, gang: &OverdueGang, bound: usize) -> (String, &'static str, String) {
        let mut waiting = self.waiting_of(gang.job);
        let (what, again) = match gang.parts.as_slice() {
            [] => {
                let what = format!("{bound} pods, which are not all of the groups that it needs,");
                (what, "gang")
            }
            [first, others @ ..] => {
                let of_part = |ix: &TaskIx| {
                    let group = &self.state.task(*ix).sub_job;
                    let mut pods = gang.parts.iter().flat_map(|part| &part.pods);
                    pods.any(|pod| self.state.task(*pod).sub_job == *group)
                };
                waiting.retain(of_part);
                let pods: usize = gang.parts.iter().map(|part| part.pods.len()).sum();
                let also = match others.len() {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                let what = format!(
                    "{pods} pods of {}{also}, which are not all that it needs,",
                    first.name
                );
                (what, "part")
            }
        };
        let help = self.first_waits(&waiting);
        let help =
            help.unwrap_or_else(|| "What would help: the pods that its groups lack".to_owned());
        (what, again, help)
    }

    /// Members of a gang that have no node, by name.
    fn waiting_of(&self, ix: JobIx) -> Vec<TaskIx> {
        let mut waiting: Vec<TaskIx> = self.state.job(ix).tasks.clone();
        waiting.retain(|ix| self.state.task(*ix).status.is_undecided());
        waiting.sort_by_key(|ix| &self.state.task(*ix).name);
        waiting
    }

    /// Why the first of these pods waits.
    fn first_waits(&self, waiting: &[TaskIx]) -> Option<String> {
        let first = *waiting.first()?;
        let why = self.why_pending(first);
        let why = why.map_or_else(String::new, |why| why.message);
        let name = &self.state.task(first).name;
        Some(format!("{name} waits: {}", why.trim_end_matches('.')))
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
