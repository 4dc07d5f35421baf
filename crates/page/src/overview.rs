//! The cluster at a glance.

use std::collections::BTreeMap;

use maud::{Markup, html};
use pumice_engine::view::{Ask, JobsShown, JobsView, TopView, View};

use crate::address::{PageAddress, PageName};
use crate::parts::{full, job, queue, say, time};
use crate::queues;
use crate::source::Source;
use crate::words::Word;

/// Queues shown here; the page of queues has all.
const MAX_QUEUES: usize = 12;

pub(crate) fn content(address: &PageAddress, source: &mut dyn Source) -> Result<Markup, String> {
    let mut answers = address.asks().into_iter().map(|ask: Ask| source.ask(&ask));
    let (Some(View::Top(top)), Some(View::Jobs(jobs))) =
        (answers.next().transpose()?, answers.next().transpose()?)
    else {
        return Err("another answer than asked for".to_owned());
    };
    let say = |word| say(address, word);
    Ok(html! {
        h1 { (say(Word::Overview)) }
        @if let Some(problem) = &top.configuration {
            p.note role="alert" { (say(Word::Configuration)) ": " (problem) }
        }
        (sums(address, &top))
        div.columns {
            section { h2 { (say(Word::Resources)) } (resources(address, &top)) }
            section { h2 { (say(Word::Reasons)) } (reasons(address, &jobs)) }
        }
        (last_hour(address, &top))
        (cards(address, &top))
        section {
            h2 { (say(Word::Queues)) }
            @for one in top.queues.queues.iter().take(MAX_QUEUES) { (queues::row(address, one, true)) }
            @if top.queues.total > MAX_QUEUES {
                p { a href=[address.link(PageName::Queues)] { (top.queues.total - MAX_QUEUES) " " (say(Word::More)) } }
            }
        }
        (first_waiting(address, &top))
    })
}

fn sums(address: &PageAddress, top: &TopView) -> Markup {
    let cluster = &top.cluster;
    let figures = [
        (Word::Nodes, cluster.nodes, PageName::Nodes),
        (Word::Schedulable, cluster.schedulable, PageName::Nodes),
        (Word::PodsOnNodes, cluster.pods_on_nodes, PageName::Nodes),
        (Word::PodsWaiting, cluster.pods_waiting, PageName::Jobs),
        (Word::JobsWaiting, cluster.jobs_waiting, PageName::Jobs),
        (Word::Queues, top.queues.total, PageName::Queues),
    ];
    html! {
        ul.sums {
            @for (word, count, to) in figures {
                li { a href=[address.link(to)] { b { (count) } " " span { (say(address, word)) } } }
            }
        }
    }
}

fn resources(address: &PageAddress, top: &TopView) -> Markup {
    html! {
        table {
            thead { tr {
                th { (say(address, Word::Resource)) } th { (say(address, Word::Used)) } th { (say(address, Word::InAll)) } th { "%" }
            } }
            tbody {
                @for usage in &top.cluster.resources {
                    tr {
                        th scope="row" { (usage.resource) }
                        td.number { (usage.used) } td.number { (usage.allocatable) } td { (full(usage.percent)) }
                    }
                }
            }
        }
    }
}

fn last_hour(address: &PageAddress, top: &TopView) -> Markup {
    html! {
        @if let Some(of) = &top.cluster.last_hour { p {
            (say(address, Word::LastHour)) ": "
            a href=[address.link(PageName::Decisions)] {
                b { (of.binds) } " " (say(address, Word::PodsBound)) ", " b { (of.evictions) } " " (say(address, Word::PodsEvicted))
            }
            @if let Some(since) = &of.since { " (" (say(address, Word::DecidingSince)) " " (time(Some(since))) ")" }
        } }
    }
}

/// Shared cards by kind; nothing where there are none.
fn cards(address: &PageAddress, top: &TopView) -> Markup {
    let share = |used: i64, all: i64, percent: i64| {
        html! {
            @if all == 0 { "–" }
            @else { span.number { (used) " / " (all) } " " (full(percent)) }
        }
    };
    html! {
        @if !top.cluster.cards.is_empty() {
            section {
                h2 { (say(address, Word::Cards)) }
                table {
                    thead { tr {
                        th { (say(address, Word::Cards)) } th { (say(address, Word::InUse)) } th { (say(address, Word::Unhealthy)) }
                        th { (say(address, Word::Memory)) } th { (say(address, Word::Cores)) } th { (say(address, Word::Slots)) }
                    } }
                    tbody {
                        @for of in &top.cluster.cards {
                            tr {
                                th scope="row" { (of.cards) " " (of.family) }
                                td.number { (of.in_use) }
                                td.number { (of.unhealthy) }
                                td { (share(of.memory_used, of.memory, of.memory_percent)) }
                                td { (share(of.cores_used, of.cores, of.cores_percent)) }
                                td.number { @if of.slots == 0 { "–" } @else { (of.slots_used) " / " (of.slots) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// How many jobs wait for which kind of reason: each leads to these jobs.
pub(crate) fn reasons(address: &PageAddress, jobs: &JobsView) -> Markup {
    let most = jobs.reasons.values().copied().max().unwrap_or(0).max(1);
    let counts: &BTreeMap<String, usize> = &jobs.reasons;
    html! {
        @if counts.is_empty() { p { (say(address, Word::NothingWaits)) } }
        @else {
            ul.histogram {
                @for (reason, count) in counts {
                    @let width = count * 100 / most;
                    @let to = address.with(|other| {
                        other.name = PageName::Jobs;
                        other.shown = JobsShown::Waiting;
                        other.from = 0;
                        other.reason.clone_from(reason);
                    });
                    li {
                        a href=[to] aria-current=[(address.reason == *reason).then_some("true")] {
                            span.what { (reason) }
                            svg.bar viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
                                rect.ground width="100" height="8" {}
                                rect.waits width=(width) height="8" {}
                            }
                            span.number { (count) }
                        }
                    }
                }
            }
        }
    }
}

fn first_waiting(address: &PageAddress, top: &TopView) -> Markup {
    html! {
        @if !top.waiting.first.is_empty() {
            section {
                h2 { (say(address, Word::Waiting)) }
                table {
                    thead { tr {
                        th { (say(address, Word::Job)) } th { (say(address, Word::Queue)) }
                        th { (say(address, Word::PlaceInQueue)) } th { (say(address, Word::Pending)) }
                        th { (say(address, Word::WhyItWaits)) }
                    } }
                    tbody {
                        @for row in &top.waiting.first {
                            tr {
                                th scope="row" { (job(address, &row.name)) }
                                td { (queue(address, &row.queue)) }
                                td.number { (row.position) }
                                td.number { (row.pending) }
                                td { (row.message) }
                            }
                        }
                    }
                }
            }
        }
    }
}
