//! Refusals of queues and of the cluster as text: Volcano's words first, since tools look for them,
//! then limit, used and asked of each resource. What could never be is told apart from what is not
//! possible now.

use pumice_framework::{Bound, Overrun, Refusal};
use pumice_model::JobIx;
use pumice_model::resource::display_amount;

use crate::Engine;

impl Engine {
    /// Why a job or one of its tasks was refused.
    pub(crate) fn refusal_text(&self, ix: JobIx, refusal: &Refusal) -> String {
        match refusal {
            Refusal::NotOpen(state) => {
                let queue = self.state.names().text(self.state.job(ix).queue_name);
                format!(
                    "queue {queue} is {}, not Open: open it, or name another queue",
                    state.name()
                )
            }
            Refusal::Held(fault) => fault.text(&self.state),
            Refusal::Unsaid => "refused by a queue plugin".to_owned(),
            Refusal::Overcommit(overruns, factor) => {
                let factor = f64::from(*factor) / 1000.0;
                let more = format!(", overcommit-factor {factor}");
                let list = self.overruns("overused ", overruns, &more);
                format!("resource in cluster is overused: {list}")
            }
            Refusal::Quota(overruns) => {
                if overruns
                    .iter()
                    .any(|overrun| overrun.bound != Bound::Cluster)
                {
                    let list = self.overruns("insufficient ", overruns, "");
                    return format!("queue resource quota insufficient: {list}");
                }
                let headline = match overruns.iter().any(Overrun::is_for_ever) {
                    true => "more than the cluster has",
                    false => "the cluster is full",
                };
                format!("{headline}: {}", self.overruns("", overruns, ""))
            }
        }
    }

    fn overruns(&self, word: &str, overruns: &[Overrun], more: &str) -> String {
        let one = |overrun: &Overrun| {
            let name = self.state.resources().name(overrun.resource);
            let above = overrun.above.and_then(|queue| self.state.find_queue(queue));
            let whose = above.map_or(String::new(), |queue| {
                format!("queue {} above it: ", queue.object.name)
            });
            format!("{word}{name} ({whose}{})", amounts(name, overrun, more))
        };
        overruns.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// That a queue has what it deserves.
    pub(crate) fn overused_text(&self, ix: JobIx, overruns: &[Overrun]) -> String {
        let queue = self.state.names().text(self.state.job(ix).queue_name);
        let one = |overrun: &Overrun| {
            let name = self.state.resources().name(overrun.resource);
            format!(
                "{name}: deserved {}, used {}",
                display_amount(name, overrun.limit),
                display_amount(name, overrun.used)
            )
        };
        let told: Vec<String> = overruns.iter().map(one).collect();
        format!(
            "queue \"{queue}\" is overused: it has at least what it deserves ({})",
            told.join("; ")
        )
    }
}

fn amounts(name: &str, overrun: &Overrun, more: &str) -> String {
    let show = |amount: i64| display_amount(name, amount);
    let (limit, total) = (show(overrun.limit), show(overrun.total));
    let (used, asked) = (show(overrun.used), show(overrun.asked));
    if overrun.is_for_ever() {
        let limit = match overrun.bound {
            Bound::Capability => format!("more than its capability {limit}"),
            Bound::Guarantees if overrun.asked > overrun.limit => {
                format!("more than the {limit} that guarantees of other queues leave")
            }
            _ => format!("the cluster has {total} in all"),
        };
        return format!("asks {asked}, {limit}: it never fits");
    }
    let reserved = match overrun.reserved {
        0 => String::new(),
        reserved => format!(", {} reserved for admitted jobs", show(reserved)),
    };
    match overrun.bound {
        Bound::Cluster => format!("{total} in all, {used} used{reserved}, {asked} asked{more}"),
        Bound::Capability => format!("capability {limit}, used {used}{reserved}, asked {asked}"),
        Bound::Guarantees => format!(
            "guarantees of other queues leave {limit}, used {used}{reserved}, asked {asked}"
        ),
        Bound::Deserved => {
            format!("deserved {limit} of {total}, used {used}{reserved}, asked {asked}")
        }
    }
}
