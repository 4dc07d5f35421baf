//! The one list of actions.
//!
//! What an entry is stands in `entry.rs`. Nothing that is listed here imports from here.

use pumice_conf::{ActionSpec, Arg, ArgSpec};

use crate::entry::{ALLOW_WHOLE_BUNDLE, Action, HONOR_PREEMPTABLE, KEEPS_LINE};
use crate::{allocate, backfill, enqueue, gangpreempt, gangreclaim, preempt, reclaim, shuffle};

/// The list. To add an action: a module with its function, and its entry here.
pub static ACTIONS: &[Action] = &LIST;

/// The specs of [`ACTIONS`], in the same order.
pub static SPECS: &[ActionSpec] = &specs();

const LIST: [Action; 8] = [
    Action {
        spec: ActionSpec {
            name: "enqueue",
            summary: "Admits jobs: lets PodGroups leave phase Pending.",
            args: &[],
        },
        run: |session, _, _| enqueue::run(session),
    },
    Action {
        spec: ActionSpec {
            name: "allocate",
            summary: "Places the pods of admitted jobs, gang by gang.",
            args: &[ERROR_CACHE, KEEPS_LINE.spec()],
        },
        run: |session, kernel, _| allocate::run(session, kernel),
    },
    Action {
        spec: ActionSpec {
            name: "backfill",
            summary: "Places pods that request no resources.",
            args: &[ERROR_CACHE],
        },
        run: |session, kernel, _| backfill::run(session, kernel),
    },
    Action {
        spec: ActionSpec {
            name: "preempt",
            summary: "Evicts pods of lower priority in the same queue.",
            args: &[
                ERROR_CACHE,
                Arg::switch(
                    "enableTopologyAwarePreemption",
                    false,
                    "Accepted without effect: evictions are always simulated, on every node.",
                )
                .spec(),
                Arg::int(
                    "topologyAwarePreemptWorkerNum",
                    16,
                    "Accepted without effect.",
                )
                .spec(),
                Arg::int(
                    "minCandidateNodesPercentage",
                    10,
                    "Accepted without effect: every node is a candidate.",
                )
                .spec(),
                Arg::int(
                    "minCandidateNodesAbsolute",
                    1,
                    "Accepted without effect, likewise.",
                )
                .spec(),
                Arg::int(
                    "maxCandidateNodesAbsolute",
                    100,
                    "Accepted without effect, likewise.",
                )
                .spec(),
            ],
        },
        run: |session, kernel, _| preempt::run(session, kernel),
    },
    Action {
        spec: ActionSpec {
            name: "reclaim",
            summary: "Evicts pods of queues that have more than they deserve.",
            args: &[ERROR_CACHE, HONOR_PREEMPTABLE.spec()],
        },
        run: |session, kernel, _| reclaim::run(session, kernel),
    },
    Action {
        spec: ActionSpec {
            name: "shuffle",
            summary: "Evicts the pods that the plugins tdm and rescheduling name.",
            args: &[],
        },
        run: |session, _, _| shuffle::run(session),
    },
    Action {
        spec: ActionSpec {
            name: "gangpreempt",
            summary: "Preempts for whole gangs.",
            args: GANG_EVICTION,
        },
        run: gangpreempt::run,
    },
    Action {
        spec: ActionSpec {
            name: "gangreclaim",
            summary: "Reclaims for whole gangs.",
            args: GANG_RECLAIM,
        },
        run: gangreclaim::run,
    },
];

const fn specs() -> [ActionSpec; LIST.len()] {
    let mut specs = [LIST[0].spec; LIST.len()];
    let mut at = 1;
    while at < LIST.len() {
        specs[at] = LIST[at].spec;
        at += 1;
    }
    specs
}

/// The action with a name.
pub fn find(name: &str) -> Option<&'static Action> {
    ACTIONS.iter().find(|action| action.spec.name == name)
}

const ERROR_CACHE: ArgSpec = Arg::switch(
    "predicateErrorCacheEnable",
    true,
    "Accepted without effect: filter verdicts are always shared between equal pods, exactly.",
)
.spec();

const MAX_DOMAINS: ArgSpec = Arg::int("maxDomains", 8, "Most topology domains looked at.")
    .min(1)
    .spec();

const GANG_EVICTION: &[ArgSpec] = &[MAX_DOMAINS, ALLOW_WHOLE_BUNDLE.spec()];

const GANG_RECLAIM: &[ArgSpec] = &[
    MAX_DOMAINS,
    ALLOW_WHOLE_BUNDLE.spec(),
    HONOR_PREEMPTABLE.spec(),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_listed_once_and_documented() {
        let mut names = std::collections::BTreeSet::new();
        for spec in SPECS {
            assert!(names.insert(spec.name), "{} twice", spec.name);
            assert!(spec.summary.ends_with('.'), "{}", spec.name);
            let documented = |argument: &ArgSpec| argument.doc.ends_with('.');
            assert!(spec.args.iter().all(documented), "{}", spec.name);
        }
    }
}
