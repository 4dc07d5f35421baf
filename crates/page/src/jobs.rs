//! Jobs and pods: a list, and each with where it is or why it waits.

use maud::{Markup, html};
use pumice_engine::view::{Ask, JobView, JobsShown, JobsView, ListedJob, MAX_JOBS, PodView, View};

use crate::address::{PageAddress, PageName};
use crate::overview::reasons;
use crate::parts::{amounts, job, list, node, phase, pod as pod_link, queue, say, sentence, time};
use crate::source::{PlansAsked, Source};
use crate::timeline::timeline;
use crate::topology;
use crate::what_if;
use crate::words::Word;
use crate::workload::workload;

pub(crate) fn all(address: &PageAddress, source: &mut dyn Source) -> Result<Markup, String> {
    let View::Jobs(view) = source.ask(&Ask::Jobs(address.jobs()))? else {
        return Err("another answer than asked for".to_owned());
    };
    Ok(html! {
        h1 { (say(address, Word::Jobs)) " " small { (view.total) } }
        (filters(address))
        @if !view.reasons.is_empty() { (reasons(address, &view)) }
        @if view.jobs.is_empty() { p { (say(address, Word::NoJobs)) } }
        @else { (table(address, &view.jobs)) }
        (turns(address, &view))
    })
}

/// Which jobs are shown, and what narrows them down; each can be taken away.
fn filters(address: &PageAddress) -> Markup {
    let shown = [
        (JobsShown::All, Word::All),
        (JobsShown::Waiting, Word::Waiting),
        (JobsShown::Running, Word::Running),
    ];
    html! {
        p.filters {
            (say(address, Word::Show)) ": "
            @for (which, word) in shown {
                @let to = address.with(|other| {
                    other.shown = which;
                    other.from = 0;
                });
                a href=[to] aria-current=[(address.shown == which).then_some("true")] { (say(address, word)) } " "
            }
            @if !address.queue.is_empty() {
                a.taken href=[address.with(|other| { other.queue.clear(); other.from = 0; })] {
                    (say(address, Word::Queue)) " " (address.queue) " ×"
                } " "
            }
            @if !address.reason.is_empty() {
                a.taken href=[address.with(|other| { other.reason.clear(); other.from = 0; })] {
                    (say(address, Word::Reason)) " " (address.reason) " ×"
                }
            }
        }
    }
}

fn table(address: &PageAddress, jobs: &[ListedJob]) -> Markup {
    html! {
        table {
            thead { tr {
                th { (say(address, Word::Job)) } th { (say(address, Word::Queue)) } th { (say(address, Word::Phase)) }
                th { (say(address, Word::Placed)) } th { (say(address, Word::Pending)) } th { (say(address, Word::Needs)) }
                th { (say(address, Word::Priority)) } th { (say(address, Word::Created)) } th { (say(address, Word::WhyItWaits)) }
            } }
            tbody {
                @for row in jobs {
                    tr {
                        th scope="row" { (job(address, &row.name)) }
                        td { (queue(address, &row.queue)) }
                        td { @if let Some(phase_text) = &row.phase { (phase(phase_text)) } @else { "–" } }
                        td.number { (row.placed) " / " (row.pods) }
                        td.number { (row.pending) }
                        td.number { (row.min_member) }
                        td.number { (row.priority) }
                        td { (time(row.created.as_ref())) }
                        td { (row.summary.as_deref().unwrap_or_default()) }
                    }
                }
            }
        }
    }
}

fn turns(address: &PageAddress, view: &JobsView) -> Markup {
    let after = view.from + view.jobs.len();
    html! {
        nav.turns {
            @if view.from > 0 {
                a href=[address.with(|other| other.from = view.from.saturating_sub(MAX_JOBS))] { "← " (say(address, Word::Previous)) } " "
            }
            @if after < view.total {
                a href=[address.with(|other| other.from = after)] { (say(address, Word::Next)) " →" }
            }
        }
    }
}

pub(crate) fn one(
    address: &PageAddress,
    (namespace, name): &(String, String),
    source: &mut dyn Source,
) -> Result<Markup, String> {
    let (namespace, name) = (namespace.clone(), name.clone());
    let View::Job(view) = source.ask(&Ask::Job { namespace, name })? else {
        return Err("another answer than asked for".to_owned());
    };
    Ok(html! {
        h1 { (say(address, Word::Job)) " " (view.name) " " @if let Some(text) = &view.phase { (phase(text)) } }
        (why(address, view.summary.as_deref(), view.message.as_deref(), &view.changes))
        @if view.summary.is_some() && source.standing().plans == PlansAsked::Here {
            p { a href=[what_if::about(address, &view.name)] { (say(address, Word::WhatIfIt)) } }
        }
        (list(say(address, Word::Warnings), &view.warnings))
        (facts(address, &view))
        (workload(address, &view, source))
        (timeline(address, &view, source))
        @if !view.waiting.is_empty() {
            h2 { (say(address, Word::Pending)) }
            table {
                thead { tr {
                    th { (say(address, Word::Pods)) } th { (say(address, Word::Reason)) } th { (say(address, Word::WhyItWaits)) }
                } }
                tbody {
                    @for same in &view.waiting {
                        tr {
                            td {
                                b { (same.count) } " "
                                @for pod_name in &same.pods {
                                    @let (namespace, _) = view.name.split_once('/').unwrap_or_default();
                                    (pod_link(address, &format!("{namespace}/{pod_name}"))) " "
                                }
                            }
                            td { (same.reason) }
                            td { (sentence(&same.summary, &same.message)) }
                        }
                    }
                }
            }
            @if view.not_told > 0 { p { (view.not_told) " " (say(address, Word::More)) } }
        }
    })
}

fn facts(address: &PageAddress, view: &JobView) -> Markup {
    html! {
        dl {
            dt { (say(address, Word::Queue)) } dd { (queue(address, &view.queue)) }
            @if let Some(place) = &view.place {
                dt { (say(address, Word::PlaceInQueue)) }
                dd {
                    (place.position) " " (say(address, Word::Of)) " " (place.waiting)
                    @if let Some(first) = &place.first { " · " (job(address, first)) }
                }
            }
            @if let Some(planned) = &view.planned {
                dt { (say(address, Word::Planned)) }
                dd {
                    (planned)
                    @if let Some(after) = &planned.after { " · " (job(address, after)) }
                }
            }
            dt { (say(address, Word::Priority)) } dd { (view.priority) }
            dt { (say(address, Word::Created)) } dd { (time(view.created.as_ref())) }
            dt { (say(address, Word::Needs)) } dd { (view.min_member) }
            dt { (say(address, Word::Pods)) }
            dd { @for (status, count) in &view.pods { (phase(status)) " " b { (count) } " " } }
            dt { (say(address, Word::Holds)) } dd { (amounts(&view.allocated)) }
            dt { (say(address, Word::Asks)) } dd { (amounts(&view.asks)) }
            dt { (say(address, Word::Topology)) }
            dd { a href=[topology::for_job(address, &view.name)] { (say(address, Word::RoomByDomain)) } }
        }
    }
}

/// Why it waits, and what would have to change; nothing where it does not.
fn why(
    address: &PageAddress,
    summary: Option<&str>,
    message: Option<&str>,
    changes: &[String],
) -> Markup {
    html! {
        @if let Some(summary) = summary.or(message) {
            section.why {
                h2 { (say(address, Word::WhyItWaits)) }
                (sentence(summary, message.unwrap_or_default()))
                (list(say(address, Word::ToChange), changes))
            }
        }
    }
}

pub(crate) fn pod(
    address: &PageAddress,
    (namespace, name): &(String, String),
    source: &mut dyn Source,
) -> Result<Markup, String> {
    let (namespace, name) = (namespace.clone(), name.clone());
    let View::Pod(view) = source.ask(&Ask::Pod { namespace, name })? else {
        return Err("another answer than asked for".to_owned());
    };
    Ok(html! {
        h1 { (say(address, Word::Pod)) " " (view.pod) " " (phase(&view.status)) }
        (why(address, view.summary.as_deref(), view.message.as_deref(), &view.changes))
        (list(say(address, Word::Warnings), &view.warnings))
        (pod_facts(address, &view))
    })
}

fn pod_facts(address: &PageAddress, view: &PodView) -> Markup {
    html! {
        dl {
            dt { (say(address, Word::Node)) } dd { (node(address, view.node.as_deref().unwrap_or_default())) }
            @if let Some(of) = &view.job {
                dt { (say(address, Word::Job)) } dd { (job(address, &of.name)) }
                dt { (say(address, Word::Queue)) } dd { (queue(address, &of.queue)) }
                dt { (say(address, Word::OfGang)) }
                dd { (of.placed) " " (say(address, Word::Of)) " " (of.tasks) " (" (say(address, Word::Needs)) " " (of.min_member) ")" }
            }
            @if let Some(place) = &view.place {
                dt { (say(address, Word::PlaceInQueue)) } dd { (place.position) " " (say(address, Word::Of)) " " (place.waiting) }
            }
            dt { (say(address, Word::Created)) } dd { (time(view.created.as_ref())) }
            dt { (say(address, Word::Asks)) } dd { (amounts(&view.asks)) }
            @if !view.cards.is_empty() {
                dt { (say(address, Word::Cards)) } dd { ul { @for card in &view.cards { li { (card) } } } }
            }
            @if !view.waits_on.is_empty() {
                dt { (say(address, Word::Waits)) } dd { ul { @for other in &view.waits_on { li { (pod_link(address, other)) } } } }
            }
        }
        @if view.job.is_none() { p { a href=[address.link(PageName::Jobs)] { (say(address, Word::Jobs)) } } }
    }
}
