//! Why a pod waits, in Volcano's wording where it has one (spec/01 §4.4, §4.6).

use pumice_framework::FitError;
use pumice_framework::reason::{NearestMiss, Shortage};
use pumice_model::job::SubJob;
use pumice_model::resource::{AmountUnit, NOBODYS};
use pumice_model::state::Hold;
use pumice_model::{JobIx, NodeIx, TaskIx, TaskStatus, gang_tree};

use super::kept::kept_text;
use super::kind::WaitKind;
use super::never::NOT_EVEN_IDLE;
use super::nobody_goes::{AND_NO_EVICTIONS, NO_EVICTIONS};
use super::phrases::NEAREST_MISS;
use super::why::{PodReason, Waiting, Why};
use crate::follow_up::bind_waits::BindWait;
use crate::knowledge::Knowledge;
use crate::knowledge::Wording;

/// A message without what follows from looking closer: who may be evicted, and how near the nearest node
/// comes.
pub(crate) fn headline(message: &str) -> &str {
    let details = [NO_EVICTIONS, AND_NO_EVICTIONS, NEAREST_MISS];
    let starts = details.iter().filter_map(|detail| message.find(detail));
    &message[..starts.min().unwrap_or(message.len())]
}

/// How a message speaks of the pod itself.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Before "can possibly be assigned".
    pub pod: &'a str,
    /// Before "with role spec".
    pub task: &'a str,
}

impl Waiting<'_> {
    /// Message for the pod, which may name it.
    pub fn text(&self) -> String {
        let (wording, why) = (self.known.wording(), &self.why);
        wording.pod_text(self.task, self.job, why, None)
    }

    /// Message without the pod's name, so that pods with one reason come together.
    pub fn text_of(&self, subject: Subject<'_>) -> String {
        let (wording, why) = (self.known.wording(), &self.why);
        wording.pod_text(self.task, self.job, why, Some(subject))
    }

    /// Both.
    pub fn pod_reason(&self) -> PodReason {
        PodReason {
            reason: self.reason(),
            message: self.text(),
        }
    }

    /// In one word of a bounded set, for metrics and programs.
    pub fn class(&self) -> &'static str {
        self.why.class()
    }

    /// Which kind of reason it is.
    pub fn kind(&self) -> WaitKind {
        self.why.kind()
    }
}

impl<'a> Knowledge<'a> {
    /// Some node would do without some of the pods on it, as far as is known.
    fn evictions_can_help(&self, error: &FitError) -> bool {
        let reasons = self.reasons;
        let mut counts = error.counts.iter().filter(|(_, count)| *count > 0);
        error.everywhere.is_none() && counts.any(|(set, _)| !reasons.is_unresolvable(*set))
    }
}

impl Wording<'_> {
    /// What is said of a pod; `subject` stands for its name.
    pub(super) fn pod_text(
        &self,
        ix: TaskIx,
        job: JobIx,
        why: &Why<'_>,
        subject: Option<Subject<'_>>,
    ) -> String {
        match *why {
            Why::HasRoom { status, node } => self.room_text(ix, status, node, subject),
            Why::IncompleteSubGroup(sub) => {
                let is_tree = gang_tree::of(self.state.job(job)).is_some();
                sub_group_text(sub, is_tree)
            }
            Why::ClaimsUnseen(node) => self.claims_unseen_text(node),
            Why::Promised(node) => self.promised_text(ix, node),
            Why::BindWaits { wait, node } => self.bind_wait_text(wait, node),
            Why::BindFailed(hold) => self.hold_text(hold),
            Why::NoDevices(why) => format!("no node can serve the pod: {why}"),
            Why::NeverFits => self.never_text(ix),
            Why::NotTried(skip) if skip.is_of_queue() => {
                self.and_nobody_goes(job, self.skip_text(job, skip))
            }
            Why::NotTried(skip) => self.skip_text(job, skip),
            Why::Gated => "Scheduling is blocked due to non-empty scheduling gates".to_owned(),
            Why::NoNode(error) => self.fit_text(ix, error),
            Why::RoleFailed if self.exceeds_nodes(ix) => self.never_text(ix),
            Why::RoleFailed => self.role_failed_text(ix, subject),
            Why::NoDomain(none) => self.no_domain_text(job, none),
            Why::Kept(kept) => kept_text(kept),
            Why::Refused(_) | Why::Untried => self.untried_text(job),
        }
    }

    fn room_text(
        &self,
        ix: TaskIx,
        status: TaskStatus,
        node: NodeIx,
        subject: Option<Subject<'_>>,
    ) -> String {
        let pod = match subject {
            Some(subject) => subject.pod.to_owned(),
            None => format!("Pod {}", self.state.population().task_key(ix)),
        };
        let node = &self.state.nodes().object(node).name;
        let first = match status {
            TaskStatus::Pipelined => "resource is released and ",
            _ => "",
        };
        format!("{pod} can possibly be assigned to {node}, once {first}minAvailable is satisfied")
    }

    fn claims_unseen_text(&self, node: NodeIx) -> String {
        let node = &self.state.nodes().object(node).name;
        format!(
            "the resource claims of the pod get no devices on node {node}, which was chosen without a look \
             at them: nobody looks at claims, since plugin predicates is not configured; add it to \
             a tier of the configuration"
        )
    }

    fn bind_wait_text(&self, wait: &BindWait, node: NodeIx) -> String {
        let node = &self.state.nodes().object(node).name;
        match wait {
            BindWait::Plugin {
                first,
                ahead,
                most_s,
            } => {
                let first = match self.state.population().task_by_uid(first) {
                    Some(first) => format!("pod {}", self.state.population().task_key(first)),
                    None => "another pod".to_owned(),
                };
                let queue = match ahead {
                    0 => String::new(),
                    1 => "; one more pod comes before this one".to_owned(),
                    more => format!("; {more} more pods come before this one"),
                };
                format!(
                    "the Binding to node {node} waits until the device plugin there is done with \
                     {first}, at most {most_s} s a pod{queue}"
                )
            }
            BindWait::Lock { most_s } => format!(
                "the Binding to node {node} waits for the lock of the node, which its device \
                 plugin gives back when it has served another pod; at most {most_s} s"
            ),
        }
    }

    fn hold_text(&self, hold: &Hold) -> String {
        let seconds = hold.until_s.saturating_sub(self.now_s).max(0);
        format!("bind failed: {}, next try in {seconds} s", hold.message)
    }

    fn role_failed_text(&self, ix: TaskIx, subject: Option<Subject<'_>>) -> String {
        let task = self.state.task(ix);
        let role = self.state.names().text(task.role);
        let named = match subject {
            Some(subject) => subject.task.to_owned(),
            None => format!("Task {}", task.name),
        };
        format!("{named} with role spec {role} has already predicated failed, skip")
    }

    /// Counts per reason over nodes, whether it could ever be otherwise, and the nearest miss.
    fn fit_text(&self, ix: TaskIx, error: &FitError) -> String {
        let strange = self
            .state
            .ground()
            .name_for_task(self.state.population(), ix, NOBODYS);
        let mut text = error.text(self.reasons, strange);
        let now = || {
            let claims = self.state.supplies().resource_claims();
            claims.why_not_served(ix, self.state.nodes())
        };
        if let Some(why) = error.claims.as_deref().map(str::to_owned).or_else(now) {
            text.push_str(&format!(" {why}"));
        }
        let unread = self.unread_of(ix);
        if let Some(why) = &unread {
            text.push_str(&format!(" {why}."));
        }
        let never = error.never && error.nodes > 0;
        if let Some(why) = never.then(|| self.claimable(ix)).flatten() {
            text.push_str(&format!(" In particular {why}."));
        } else if let Some(why) = never.then(|| self.untold(ix)).flatten() {
            text.push_str(&format!(" Not known yet whether it ever fits: {why}"));
        } else if never {
            let why = self.excess(ix);
            let why = why.unwrap_or_else(|| NOT_EVEN_IDLE.to_owned());
            text.push_str(&format!(" It never fits: {why}."));
        } else {
            let obstacles = error.obstacles.iter().flat_map(|found| found.told());
            obstacles.for_each(|told| text.push_str(&format!(" {}", sentence(&told))));
            let job = self.state.task(ix).job;
            if let Some(job) = job.filter(|_| self.evictions_can_help(error)) {
                text = self.and_nobody_goes(job, text);
            }
        }
        if let Some(miss) = &error.nearest {
            let miss = self.miss_text(ix, miss);
            // Who would have to leave the cards of that node was told with what is missing there.
            if !text.contains(&miss) {
                text.push_str(&format!("{NEAREST_MISS}{miss}."));
            }
        }
        text
    }

    fn miss_text(&self, ix: TaskIx, miss: &NearestMiss) -> String {
        if let Some(words) = &miss.words {
            return words.to_string();
        }
        let short: Vec<String> = miss
            .short
            .iter()
            .map(|shortage| self.shortage_text(ix, shortage))
            .collect();
        format!(
            "node {}: {}",
            self.state.nodes().object(miss.node).name,
            short.join(", ")
        )
    }

    fn shortage_text(&self, ix: TaskIx, shortage: &Shortage) -> String {
        let mut shortage = *shortage;
        let mut name = self.state.resources().name(shortage.resource);
        if let Some((strange, asked)) = self.state.shape(ix).unoffered.first()
            && shortage.resource == NOBODYS
        {
            (name, shortage.asked, shortage.short) = (strange, *asked, *asked);
        }
        let free = (shortage.asked - shortage.short).max(0);
        // Whatever is in use there now.
        let never = shortage.asked > shortage.total;
        let short = match never {
            true => shortage.asked - shortage.total.max(0),
            false => shortage.short,
        };
        let amounts = [short, shortage.asked, shortage.total, free];
        let unit = AmountUnit::of(name, &amounts);
        let [short, asked, total, free] = amounts.map(|amount| unit.show(amount));
        if never {
            return format!("{name} short by {short} ({asked} asked, {total} in all)");
        }
        format!("{name} short by {short} ({asked} asked, {free} of {total} free)")
    }
}

/// With a capital letter and a stop.
fn sentence(told: &str) -> String {
    let mut letters = told.chars();
    let first: String = letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .collect();
    let stop = if told.ends_with(['.', '?']) { "" } else { "." };
    format!("{first}{}{stop}", letters.as_str())
}

fn sub_group_text(sub: &SubJob, is_tree: bool) -> String {
    let (id, has, needed) = (&sub.id, sub.tasks.len(), sub.min_available);
    let (kind, field) = match is_tree {
        true => ("PodGroup", "its minCount"),
        false => ("sub-group", "subGroupSize of its policy"),
    };
    format!("{kind} {id} has {has} of {needed} pods: make the others, or lower {field}")
}
