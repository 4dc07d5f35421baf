//! Why nobody is evicted for a pod that waits, and on whom one waits that was promised a place (spec/07).

use pumice_framework::points::{Purpose, WhyKept};
use pumice_framework::{
    BundleCounts, ContestedCard, ContestedCards, Evicts, ForeignPod, ForeignPods, Hindrance,
    Keeper, NobodyGoes, Overrun, Refusal, VictimCounts,
};
use pumice_model::resource::display_amount;
use pumice_model::{JobIx, NodeIx, ResIx, TaskIx, TaskStatus};

use super::fingerprint::{Fingerprint, hash_of};
use crate::configured::evicts;
use crate::knowledge::Knowledge;
use crate::knowledge::Wording;
use crate::waiting::fingerprint::Prints;

/// Before why nobody is evicted, after a sentence.
pub(super) const NO_EVICTIONS: &str = " No evictions: ";

/// Before why nobody is evicted, within a sentence.
pub(super) const AND_NO_EVICTIONS: &str = "; no evictions: ";

/// So many pods are named.
const MAX_NAMED: usize = 5;

/// So many budgets are.
const MAX_BUDGETS: usize = 3;

/// `2 pods`, `1 pod`.
fn pods(count: usize) -> String {
    match count {
        1 => "1 pod".to_owned(),
        _ => format!("{count} pods"),
    }
}

/// What was tried.
fn attempt(found: &NobodyGoes) -> String {
    match found.purpose {
        Purpose::WithinJob => format!("{} within the job", found.action),
        Purpose::Preempt | Purpose::Reclaim => found.action.to_owned(),
    }
}

/// Why one pod stays.
fn keeper_text(keeper: Keeper) -> String {
    match keeper {
        Keeper::Mark => "marked not to be preempted".to_owned(),
        Keeper::Refused => "its eviction was refused a short while ago".to_owned(),
        Keeper::NotLower => "of equal or higher priority".to_owned(),
        Keeper::OwnJob => "of the same job".to_owned(),
        Keeper::OutOfReach => "out of reach of this action".to_owned(),
        Keeper::Going => "going already".to_owned(),
        Keeper::Unnamed => "named by no plugin".to_owned(),
        Keeper::Plugin(WhyKept::Said { one, .. }) => one.to_owned(),
        Keeper::Plugin(WhyKept::ByGang(_)) => "needed by its gang".to_owned(),
        Keeper::Plugin(WhyKept::ByBudget) => "kept by a budget".to_owned(),
        Keeper::Plugin(WhyKept::ByPlugin(name)) => format!("kept by plugin {name}"),
    }
}

/// Pods of which the same is to be said, and the cards they are on.
struct PodsOfKeeper<'a> {
    keeper: Option<Keeper>,
    /// `namespace/name`, the first card, and how many more.
    pods: Vec<(&'a str, &'a str, usize)>,
}

impl PodsOfKeeper<'_> {
    /// `team/a on card 0, team/c on card 1 and 2 more stay (marked not to be preempted)`.
    fn text(&self) -> String {
        let named = self.pods.iter().take(MAX_NAMED);
        let named = named.map(|(pod, card, more)| {
            // Its number is enough beside the name of the node.
            let card = card.split_once(" (").map_or(*card, |(card, _)| card);
            match more {
                0 => format!("{pod} on {card}"),
                1 => format!("{pod} on {card} and another one"),
                more => format!("{pod} on {card} and {more} others"),
            }
        });
        let mut pods = named.collect::<Vec<_>>().join(", ");
        if self.pods.len() > MAX_NAMED {
            pods.push_str(&format!(" and {} more", self.pods.len() - MAX_NAMED));
        }
        match (self.keeper, self.pods.len()) {
            (Some(keeper), 1) => format!("{pods} stays ({})", keeper_text(keeper)),
            (Some(keeper), _) => format!("{pods} stay ({})", keeper_text(keeper)),
            (None, _) => format!("{pods} may go"),
        }
    }
}

/// Those on cards by what is said of them, each thing once.
fn by_keeper(cards: &[ContestedCard]) -> Vec<PodsOfKeeper<'_>> {
    let mut all: Vec<PodsOfKeeper<'_>> = Vec::new();
    for card in cards {
        for (pod, keeper) in &card.pods {
            let at = all.iter().position(|group| group.keeper == *keeper);
            let at = at.unwrap_or_else(|| {
                all.push(PodsOfKeeper {
                    keeper: *keeper,
                    pods: Vec::new(),
                });
                all.len() - 1
            });
            let pods = &mut all[at].pods;
            match pods.iter_mut().find(|(known, ..)| *known == pod.as_str()) {
                Some((.., more)) => *more += 1,
                None => pods.push((pod.as_str(), card.card.as_str(), 0)),
            }
        }
    }
    all.sort_by_key(|group| group.keeper.is_none());
    all
}

/// Who is on the cards of the node that comes nearest.
fn cards_text(contested: &ContestedCards) -> String {
    let groups = by_keeper(&contested.cards);
    let mut told: Vec<String> = groups.iter().map(PodsOfKeeper::text).collect();
    let untold: usize = contested.cards.iter().map(|card| card.more).sum();
    if untold > 0 {
        told.push(format!("{} more are on these cards", pods(untold)));
    }
    match contested.more {
        0 => {}
        1 => told.push("1 card more".to_owned()),
        more => told.push(format!("{more} cards more")),
    }
    if told.is_empty() {
        told.push("nobody is on its cards".to_owned());
    }
    let missing = match contested.missing.as_str() {
        "" => String::new(),
        missing => format!("; what is missing then: {missing}"),
    };
    format!("; on node {}: {}{missing}", contested.node, told.join("; "))
}

/// `1 gang (4 pods)`.
fn gangs((gangs, pods_of_them): (usize, usize)) -> String {
    let some = if gangs == 1 { "gang" } else { "gangs" };
    format!("{gangs} whole {some} ({})", pods(pods_of_them))
}

/// The switch of a plugin that sees to gangs, without which it is not asked whom they need.
fn gang_switch(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Preempt | Purpose::WithinJob => "enablePreemptable",
        Purpose::Reclaim => "enableReclaimable",
    }
}

/// Why so many pods are kept by a plugin.
fn kept_by(why: WhyKept, count: usize, purpose: Purpose, budgets: &[String]) -> String {
    match why {
        WhyKept::Said { many, .. } => format!("{count} {many}"),
        WhyKept::ByGang(None) => format!("{count} needed by their gangs"),
        WhyKept::ByGang(Some(plugin)) => format!(
            "{count} needed by their gangs (`{}: false` at plugin {plugin} would let them go)",
            gang_switch(purpose)
        ),
        WhyKept::ByBudget => kept_by_budgets(budgets, count),
        WhyKept::ByPlugin(name) => format!("{count} by plugin {name}"),
    }
}

/// Says that PodDisruptionBudgets keep that many pods.
fn kept_by_budgets(budgets: &[String], count: usize) -> String {
    let more = budgets.len().saturating_sub(MAX_BUDGETS);
    let named = budgets[..budgets.len() - more].join(", ");
    match (budgets.len(), more) {
        (0, _) => format!("{count} by a budget"),
        (1, _) => format!("{count} by budget {named}"),
        (_, 0) => format!("{count} by budgets {named}"),
        (..) => format!("{count} by budgets {named} and {more} more"),
    }
}

/// Why so many may not go.
fn kept_text(counts: &VictimCounts, purpose: Purpose) -> String {
    let by_plugin = counts.by_plugin.iter();
    let mut told: Vec<String> = by_plugin
        .map(|(why, count)| kept_by(*why, *count, purpose, &counts.budgets))
        .collect();
    let others = [
        (counts.not_lower, "of equal or higher priority"),
        (counts.by_mark, "marked not to be preempted"),
        (
            counts.refused,
            "whose eviction was refused a short while ago",
        ),
        (counts.unnamed, "named by no plugin"),
    ];
    let others = others.into_iter().filter(|(count, _)| *count > 0);
    told.extend(others.map(|(count, why)| format!("{count} {why}")));
    told.join(", ")
}

impl<'a> Knowledge<'a> {
    /// What the actions that evict found out about a job.
    pub(crate) fn nobody_goes(&self, job: JobIx) -> &'a [NobodyGoes] {
        self.notes.get(&job).map_or(&[], |note| &note.nobody_goes)
    }

    /// Others might go for a job, had it fewer pods than it needs.
    fn wants_nobody_gone(&self, job: JobIx) -> bool {
        let note = self.notes.get(&job);
        let refusal = note.and_then(|note| note.refusal.as_ref());
        let mut overruns = refusal.into_iter().flat_map(Refusal::overruns);
        evicts(self.actions) != Evicts::default()
            && self.state.job(job).is_pipelined()
            && !self.plugins.job_starving(self.state, job)
            && !overruns.any(Overrun::is_for_ever)
    }

    fn extras(&self, job: JobIx) -> &'a [(ResIx, i64)] {
        self.notes.get(&job).map_or(&[], |note| &note.extras)
    }

    /// Pods that are going on the node where a pod waits that was promised a place there.
    pub(crate) fn waits_on(&self, task: TaskIx) -> Vec<TaskIx> {
        let Some(node) = self.nominated_node(task) else {
            return Vec::new();
        };
        let tasks = self.state.nodes().tasks(node).iter().copied();
        tasks
            .filter(|task| self.state.task(*task).status == TaskStatus::Releasing)
            .collect()
    }

    /// Pods that would be evicted for a job, had all of its gang a place, by name; those that are gone, or
    /// going, left out.
    pub(crate) fn would_go(&self, job: JobIx) -> Vec<TaskIx> {
        let found = self.nobody_goes(job).iter();
        let would_go = found.flat_map(|found| &found.would_go);
        let known = would_go.filter_map(|uid| self.state.population().task_by_uid(uid));
        let stay = |task: &TaskIx| {
            let status = self.state.task(*task).status;
            matches!(status, TaskStatus::Running | TaskStatus::Bound)
        };
        let mut tasks: Vec<TaskIx> = known.filter(stay).collect();
        tasks.sort_unstable();
        tasks.dedup();
        tasks
    }

    /// Their names, in order.
    pub(crate) fn pod_names(&self, tasks: &[TaskIx]) -> Vec<String> {
        let mut names: Vec<String> = tasks
            .iter()
            .map(|task| self.state.population().task_key(*task))
            .collect();
        names.sort_unstable();
        names
    }

    /// Hash of whom a pod waits for.
    pub(super) fn hash_of_going(&self, task: TaskIx) -> u64 {
        let names = self.pod_names(&self.waits_on(task));
        hash_of(names)
    }
}

impl Wording<'_> {
    /// Why nobody goes for a job, as text; `None` where the actions that evict had nothing to say.
    pub(super) fn nobody_goes_text(&self, job: JobIx) -> Option<String> {
        let found = self.nobody_goes(job);
        if found.is_empty() && self.wants_nobody_gone(job) {
            return Some("its job has its minAvailable already".to_owned());
        }
        let told = found.iter().map(|found| self.one_action_text(job, found));
        (!found.is_empty()).then(|| told.collect::<Vec<_>>().join("; "))
    }

    /// A text that says why a pod has no place, and why nobody is evicted for it.
    pub(super) fn and_nobody_goes(&self, job: JobIx, text: String) -> String {
        let text = self.and_extras(job, text);
        match self.nobody_goes_text(job) {
            None => text,
            Some(told) if text.ends_with(['.', '?']) => format!("{text}{NO_EVICTIONS}{told}."),
            Some(told) => format!("{text}{AND_NO_EVICTIONS}{told}"),
        }
    }

    /// A text that says why a pod has no place, and who holds it that could do without.
    fn and_extras(&self, job: JobIx, text: String) -> String {
        let amounts = self.extras(job).iter().map(|(resource, amount)| {
            let name = self.state.resources().name(*resource);
            format!("{} {name}", display_amount(name, *amount))
        });
        let amounts: Vec<String> = amounts.collect();
        if amounts.is_empty() {
            return text;
        }
        let told = "ods beyond the minAvailable of other jobs, placed before, hold";
        let amounts = amounts.join(", ");
        match text.ends_with('.') {
            true => format!("{text} P{told} {amounts}."),
            false => format!("{text}; p{told} {amounts}"),
        }
    }

    fn one_action_text(&self, job: JobIx, found: &NobodyGoes) -> String {
        let what = match &found.why {
            Hindrance::Policy => "the pod's preemption policy is Never".to_owned(),
            Hindrance::Queue(refusal) => {
                let queue = self.state.names().text(self.state.job(job).queue_name);
                let why = self.refusal_text(job, refusal);
                format!("queue \"{queue}\" may not reclaim: {why}")
            }
            Hindrance::Victims(counts) => self.counts_text(job, found, counts),
            Hindrance::Bundles(counts) => self.bundles_text(job, found.purpose, counts),
        };
        let cards = found.cards.as_deref().map_or(String::new(), cards_text);
        let others = match found.placed {
            0 => String::new(),
            count => format!(
                "; {} more of the gang would have room, which is not enough",
                pods(count)
            ),
        };
        let foreign_pods = self.foreign_pods_text(&found.foreign_pods);
        format!("{}: {what}{others}{cards}{foreign_pods}", attempt(found))
    }

    /// `; pods of other schedulers stay: team/a holds 8 nvidia.com/gpu on node n1`.
    fn foreign_pods_text(&self, foreign_pods: &ForeignPods) -> String {
        let one = |foreign_pod: &ForeignPod| {
            let ForeignPod {
                pod,
                node,
                resource,
                amount,
            } = foreign_pod;
            let name = self.state.resources().name(*resource);
            let amount = display_amount(name, *amount);
            format!("{pod} holds {amount} {name} on node {node}")
        };
        let mut told: Vec<String> = foreign_pods.first.iter().map(one).collect();
        if told.is_empty() {
            return String::new();
        }
        if foreign_pods.more > 0 {
            told.push(format!("{} more", pods(foreign_pods.more)));
        }
        format!("; pods of other schedulers stay: {}", told.join(", "))
    }

    /// Why no bundle does for a gang (spec/07 §8).
    fn bundles_text(&self, job: JobIx, purpose: Purpose, counts: &BundleCounts) -> String {
        let closed = match counts.closed.0 {
            0 => String::new(),
            _ => format!(
                "; {} might go, were allowWholeBundle of the action on",
                gangs(counts.closed)
            ),
        };
        let spare = match counts.spare {
            0 => None,
            1 => Some("1 pod that its job can spare".to_owned()),
            many => Some(format!("{many} pods that their jobs can spare")),
        };
        let whole = (counts.whole.0 > 0).then(|| gangs(counts.whole));
        let may_go: Vec<String> = spare.into_iter().chain(whole).collect();
        let kept = kept_text(&counts.kept, purpose);
        if may_go.is_empty() {
            let text = match kept.is_empty() {
                true => self.nobody_there_text(job, purpose),
                false => format!("nobody may go: {kept}"),
            };
            return format!("{text}{closed}");
        }
        let kept = match kept.is_empty() {
            true => String::new(),
            false => format!(" (the others: {kept})"),
        };
        format!(
            "{} may go, but the gang has no room even without all of them{kept}{closed}",
            may_go.join(" and ")
        )
    }

    /// There is nobody in reach.
    fn nobody_there_text(&self, job: JobIx, purpose: Purpose) -> String {
        let queue = self.state.names().text(self.state.job(job).queue_name);
        match purpose {
            Purpose::Preempt => format!("nobody else runs in queue \"{queue}\""),
            Purpose::WithinJob => "no other pod of the job runs".to_owned(),
            Purpose::Reclaim => "no other queue that is reclaimable holds anything".to_owned(),
        }
    }

    fn counts_text(&self, job: JobIx, found: &NobodyGoes, counts: &VictimCounts) -> String {
        if counts.allowed == 0 && counts.kept() == 0 {
            return self.nobody_there_text(job, found.purpose);
        }
        let kept = kept_text(counts, found.purpose);
        if counts.allowed == 0 {
            return format!("nobody may go: {kept}");
        }
        let nodes = match counts.nodes {
            1 => "the node they are on would not do".to_owned(),
            nodes => format!("none of the {nodes} nodes they are on would do"),
        };
        let kept = match kept.is_empty() {
            true => String::new(),
            false => format!(" (the others: {kept})"),
        };
        format!(
            "{} may go, but {nodes} without them{kept}",
            pods(counts.allowed)
        )
    }

    pub(super) fn promised_text(&self, task: TaskIx, node: NodeIx) -> String {
        let going = self.waits_on(task);
        let count = going.len();
        let mut names: Vec<String> = going
            .iter()
            .map(|task| self.name_and_cards(*task))
            .collect();
        names.sort_unstable();
        let more = match count.saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let named: Vec<String> = names.into_iter().take(MAX_NAMED).collect();
        let are = if count == 1 { "is" } else { "are" };
        format!(
            "waits on node {} for {} that {are} being evicted: {}{more}",
            self.state.nodes().object(node).name,
            pods(count),
            named.join(", ")
        )
    }

    /// `team/a`, `team/b (card 0)`.
    fn name_and_cards(&self, task: TaskIx) -> String {
        let name = self.state.population().task_key(task);
        match self.card_names(task) {
            cards if cards.is_empty() => name,
            cards => format!("{name} ({})", cards.join(", ")),
        }
    }
}

impl Prints<'_> {
    /// The fingerprint of [`Wording::nobody_goes_text`].
    pub(super) fn fingerprint_of_nobody(&self, job: JobIx) -> Fingerprint {
        let found = self.nobody_goes(job);
        let gists: Vec<u64> = found.iter().map(NobodyGoes::gist).collect();
        let amounts = found
            .iter()
            .map(|one| (&one.why, one.placed, &one.cards, &one.foreign_pods));
        let amounts: Vec<_> = amounts.collect();
        let has_all = found.is_empty() && self.wants_nobody_gone(job);
        let extras = self.extras(job);
        let resources: Vec<ResIx> = extras.iter().map(|(resource, _)| *resource).collect();
        Fingerprint::of((gists, has_all, resources)).with((amounts, extras))
    }
}
