//! What would happen if: a form, and the plan that comes of it.

use maud::{Markup, html};
use pumice_engine::view::{Ask, JobsAsk, JobsShown, View};
use pumice_plan::{JobPlan, PlanOutcome, PlanView};

use crate::address::{PageAddress, PageName};
use crate::parts::{job, mark, node, pod, queue, say};
use crate::plan_map;
use crate::source::{PlansAsked, Source};
use crate::words::Word;

/// Pods of a job that are told one by one unasked; more of them stand below a line that opens.
const MAX_OPEN_PODS: usize = 20;

/// Jobs that wait and are offered to be picked.
const MAX_OFFERED: usize = 30;

pub(crate) fn content(address: &PageAddress, source: &mut dyn Source) -> Markup {
    match source.standing().plans {
        PlansAsked::Here => form(address, source),
        PlansAsked::ByCommand => html! {
            h1 { (say(address, Word::WhatIf)) }
            p {
                (say(address, Word::PlansByCommand)) " " code { "pumice plan -f FILE" } ", " code { "pumice plan JOB" } ", "
                code { "pumice ui" }
            }
        },
        PlansAsked::Nowhere => html! {
            h1 { (say(address, Word::WhatIf)) }
            p { (say(address, Word::PlansNowhere)) }
        },
    }
}

fn form(address: &PageAddress, source: &mut dyn Source) -> Markup {
    let waiting = waiting(source);
    html! {
        h1 { (say(address, Word::WhatIf)) " " small { (say(address, Word::NothingIsDone)) } }
        form.plan method="post" action=(address.placed(&address.url())) hx-post=(address.placed(&address.url())) hx-target="#plan" hx-swap="innerHTML" {
            label for="manifests" { (say(address, Word::PasteManifest)) }
            textarea #manifests name="manifests" rows="12" spellcheck="false" { }
            label for="about" { (say(address, Word::OrPickJobs)) }
            textarea #about name="about" rows="3" spellcheck="false" { (address.search) }
            button type="submit" { (say(address, Word::PlanIt)) }
        }
        @if !waiting.is_empty() {
            p.filters {
                (say(address, Word::PickWaiting)) ": "
                @for name in &waiting {
                    a href=[address.with(|other| other.search.clone_from(name))]
                        aria-current=[(address.search == *name).then_some("true")] { (name) } " "
                }
            }
        }
        div #plan aria-live="polite" { }
    }
}

/// The page that is asked about a job.
pub(crate) fn about(address: &PageAddress, key: &str) -> Option<String> {
    address.elsewhere(PageName::WhatIf, |other| key.clone_into(&mut other.search))
}

/// The first jobs that wait; none where nobody can tell.
fn waiting(source: &mut dyn Source) -> Vec<String> {
    let ask = Ask::Jobs(JobsAsk {
        shown: JobsShown::Waiting,
        ..JobsAsk::default()
    });
    match source.ask(&ask) {
        Ok(View::Jobs(view)) => {
            let first = view.jobs.into_iter().take(MAX_OFFERED);
            first.map(|job| job.name).collect()
        }
        _ => Vec::new(),
    }
}

/// What becomes of a question: the plan, over the map of the nodes as they are, or what is wrong with the question.
pub fn plan_result(
    address: &PageAddress,
    plan: Result<&PlanView, &str>,
    source: &mut dyn Source,
) -> String {
    let result = match plan {
        Ok(view) => html! {
            (outcome(address, view))
            (plan_map::plan_map(address, view, source))
            (plan_view(address, view))
        },
        Err(why) => html! { p.note role="alert" { @for line in why.lines() { (line) br; } } },
    };
    result.into_string()
}

fn outcome(address: &PageAddress, view: &PlanView) -> Markup {
    let (class, word) = match view.outcome {
        PlanOutcome::Runs => ("good", Word::ItRuns),
        PlanOutcome::Waits => ("waits", Word::ItWaits),
        PlanOutcome::Evicts => ("bad", Word::OthersGo),
    };
    html! { h2 { (mark(class, say(address, word))) } }
}

fn plan_view(address: &PageAddress, view: &PlanView) -> Markup {
    html! {
        @for one in &view.jobs { (job_plan(address, one)) }
        @if !view.evicted.is_empty() {
            h3 { (say(address, Word::EvictedBy)) }
            ul {
                @for one in &view.evicted {
                    li {
                        (pod(address, &one.pod)) " · " (node(address, &one.node)) " · " (one.action)
                        @if let Some(by) = &one.by { " " (say(address, Word::For)) " " (job(address, by)) }
                    }
                }
            }
        }
        @if !view.remedies.is_empty() {
            h3 { (say(address, Word::WouldHelp)) }
            ul { @for remedy in &view.remedies { li { (remedy) } } }
        }
        @if view.not_told > 0 { p { (view.not_told) " " (say(address, Word::More)) } }
    }
}

fn job_plan(address: &PageAddress, of: &JobPlan) -> Markup {
    html! {
        h3 { (job(address, &of.job)) " · " (queue(address, &of.queue)) " · " (of.ready) " " (say(address, Word::Of)) " " (of.needed) }
        @if let Some(message) = &of.message { p.sentence { (message) } }
        ul { @for change in &of.changes { li { (change) } } }
        @if of.pods.len() > MAX_OPEN_PODS {
            details {
                summary { (say(address, Word::Pods)) " " (of.pods.len()) }
                (pods(address, of))
            }
        } @else if !of.pods.is_empty() {
            (pods(address, of))
        }
    }
}

fn pods(address: &PageAddress, of: &JobPlan) -> Markup {
    html! {
        table {
            thead { tr { th { (say(address, Word::Pod)) } th { (say(address, Word::Node)) } th { (say(address, Word::Cards)) } } }
            tbody {
                @for one in &of.pods {
                    tr { th scope="row" { (one.pod) } td { (node(address, &one.node)) } td { (one.cards.join(", ")) } }
                }
            }
        }
    }
}
