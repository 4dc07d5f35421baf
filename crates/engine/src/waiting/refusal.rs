//! Refusals of queues and of the cluster as text: Volcano's words first, since tools look for them,
//! then limit, used and asked of each resource. What could never be is told apart from what is not
//! possible now.

use pumice_framework::{
    Bound, LimitOfUser, Overrun, QuotaRefusal, QuotaShortage, Refusal, UserRefusal,
};
use pumice_model::JobIx;
use pumice_model::resource::{AmountUnit, Unit, display_amount, unit_of};

use crate::knowledge::Wording;

impl Wording<'_> {
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
            Refusal::NamespaceQuota(refusal) => namespace_quota(refusal),
            Refusal::Held(fault) => fault.text(self.state),
            Refusal::Told(text) => text.to_string(),
            Refusal::OfUser(refusal) => self.user_text(ix, refusal),
            Refusal::AsksNothing => "the pod requests nothing that queues deserve".to_owned(),
            Refusal::Unsaid => "refused by a queue plugin".to_owned(),
            Refusal::Overcommit(overruns, factor) => {
                let factor = f64::from(*factor) / 1000.0;
                let more = format!(", overcommit-factor {factor}");
                let list = self.overruns(ix, "overused ", overruns, &more);
                format!("resource in cluster is overused: {list}")
            }
            Refusal::Quota(overruns) => {
                if overruns
                    .iter()
                    .any(|overrun| overrun.bound != Bound::Cluster)
                {
                    let list = self.overruns(ix, "insufficient ", overruns, "");
                    return format!("queue resource quota insufficient: {list}");
                }
                let headline = match overruns.iter().any(Overrun::is_for_ever) {
                    true => "more than the cluster has",
                    false => "the cluster is full",
                };
                format!("{headline}: {}", self.overruns(ix, "", overruns, ""))
            }
        }
    }

    /// Who has as much as a user may have, of what, and how much that is.
    fn user_text(&self, ix: JobIx, refusal: &UserRefusal) -> String {
        let queue = self.state.names().text(self.state.job(ix).queue_name);
        let who = match refusal.user.as_deref() {
            None => "users who are not told apart have".to_owned(),
            Some("") => "jobs of nobody named have".to_owned(),
            Some(user) => format!("user {user} has"),
        };
        let what = match refusal.limit {
            LimitOfUser::Jobs { limit, jobs } => {
                let noun = if jobs == 1 { "job" } else { "jobs" };
                format!("{jobs} {noun} in queue {queue}, where a user may have {limit}")
            }
            LimitOfUser::Amount {
                resource,
                limit,
                held,
                asked,
            } => {
                let state = self.state;
                let name = state
                    .ground()
                    .name_for_job(state.population(), ix, resource);
                let unit = AmountUnit::of(name, &[limit, held, asked]);
                let never = if asked > limit { ": it never fits" } else { "" };
                let [limit, held, asked] = [limit, held, asked].map(|amount| unit.show(amount));
                format!(
                    "{held} of {name} in queue {queue}, where a user may have {limit}, and {asked} more are asked{never}"
                )
            }
            LimitOfUser::Used { most } => {
                let hours = most as f64 / 3.6e12;
                format!(
                    "used the {hours} hours that a user may use in queue {queue}; what was used fades with time"
                )
            }
        };
        format!("{who} {what} (fairshare.userLimits)")
    }

    fn overruns(&self, ix: JobIx, word: &str, overruns: &[Overrun], more: &str) -> String {
        let one = |overrun: &Overrun| {
            let name =
                self.state
                    .ground()
                    .name_for_job(self.state.population(), ix, overrun.resource);
            let above = overrun
                .above
                .and_then(|queue| self.state.population().queues().find(queue));
            let whose = above.map_or(String::new(), |queue| {
                format!("queue {} above it: ", queue.object.name)
            });
            format!("{word}{name} ({whose}{})", amounts(name, overrun, more))
        };
        overruns.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// Says that a queue has what it deserves.
    pub(crate) fn overused_text(&self, ix: JobIx, overruns: &[Overrun]) -> String {
        let queue = self.state.names().text(self.state.job(ix).queue_name);
        let one = |overrun: &Overrun| {
            let name =
                self.state
                    .ground()
                    .name_for_job(self.state.population(), ix, overrun.resource);
            let unit = AmountUnit::of(name, &[overrun.limit, overrun.used]);
            format!(
                "{name}: deserved {}, used {}",
                unit.show(overrun.limit),
                unit.show(overrun.used)
            )
        };
        let told: Vec<String> = overruns.iter().map(one).collect();
        format!(
            "queue \"{queue}\" is overused: it has at least what it deserves ({})",
            told.join("; ")
        )
    }
}

/// Volcano's words, and what is promised to others.
fn namespace_quota(refusal: &QuotaRefusal) -> String {
    let list = |amount: fn(&QuotaShortage) -> i64| {
        let one = |shortage: &QuotaShortage| {
            let shown = quota_amount(&shortage.name, amount(shortage));
            format!("{}={shown}", shortage.name)
        };
        let all: Vec<String> = refusal.shortages.iter().map(one).collect();
        all.join(" ")
    };
    let promised = match refusal
        .shortages
        .iter()
        .any(|shortage| shortage.promised > 0)
    {
        true => format!(", promised to admitted jobs: {}", list(|s| s.promised)),
        false => String::new(),
    };
    let never = match refusal.shortages.iter().any(|s| s.asked > s.hard) {
        true => ": it never fits",
        false => "",
    };
    format!(
        "resource quota insufficient, requested: {}, used: {}{promised}, limited: {} (ResourceQuota \
         {}){never}",
        list(|s| s.asked),
        list(|s| s.used),
        list(|s| s.hard),
        refusal.quota
    )
}

/// An amount in thousandths as the quota's resource is written.
fn quota_amount(name: &str, thousandths: i64) -> String {
    let prefixes = ["requests.", "limits.", "count/"];
    let base = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix));
    let base = base.unwrap_or(name);
    match unit_of(base) {
        Some(Unit::Milli) if name.starts_with("count/") => (thousandths / 1000).to_string(),
        Some(Unit::Milli) => display_amount(base, thousandths),
        _ => display_amount(base, thousandths / 1000),
    }
}

fn amounts(name: &str, overrun: &Overrun, more: &str) -> String {
    let unit = AmountUnit::of(name, &overrun.told_amounts());
    let show = |amount: i64| unit.show(amount);
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
        Bound::Deserved if overrun.total == i64::MAX => {
            format!("deserved {limit}, used {used}{reserved}, asked {asked}")
        }
        Bound::Deserved => {
            format!("deserved {limit} of {total}, used {used}{reserved}, asked {asked}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_says_what_is_asked_used_promised_and_allowed() {
        let shortage = |name: &str, asked, used, promised, hard| QuotaShortage {
            name: name.to_owned(),
            asked,
            used,
            promised,
            hard,
        };
        let cases = [
            (
                vec![shortage("requests.cpu", 1500, 9000, 0, 10_000)],
                "resource quota insufficient, requested: requests.cpu=1500m, used: requests.cpu=9, \
                 limited: requests.cpu=10 (ResourceQuota q)",
            ),
            (
                vec![
                    shortage("count/pods", 4000, 2000, 1000, 3000),
                    shortage("limits.memory", 1000 << 30, 0, 1000 << 30, 1000 << 29),
                ],
                "resource quota insufficient, requested: count/pods=4 limits.memory=1Gi, used: \
                 count/pods=2 limits.memory=0, promised to admitted jobs: count/pods=1 \
                 limits.memory=1Gi, limited: count/pods=3 limits.memory=512Mi (ResourceQuota q): it \
                 never fits",
            ),
        ];
        for (shortages, expected) in cases {
            let refusal = QuotaRefusal {
                quota: "q".to_owned(),
                shortages,
            };
            assert_eq!(namespace_quota(&refusal), expected);
        }
    }
}
