//! Queues: the tree, and one queue with what waits in it.

use maud::{Markup, html};
use pumice_engine::view::{Ask, JobsShown, QueueView, View};

use crate::address::{PageAddress, PageName};
use crate::parts::{amounts, job, phase, queue, say, size, time};
use crate::source::Source;
use crate::words::Word;

/// Most levels of a tree that are drawn further in; deeper ones stand below these.
const MAX_DEPTH: usize = 8;

pub(crate) fn all(address: &PageAddress, source: &mut dyn Source) -> Result<Markup, String> {
    let View::Queues(view) = source.ask(&Ask::Queues)? else {
        return Err("another answer than asked for".to_owned());
    };
    let found = |queue: &&QueueView| queue.name.contains(&address.search);
    let named = not_listed(&address.search, &view.queues, source);
    let mut shown: Vec<&QueueView> = match address.search.is_empty() {
        true => tree(&view.queues),
        false => view.queues.iter().filter(found).collect(),
    };
    shown.extend(named.as_deref());
    Ok(html! {
        h1 { (say(address, Word::Queues)) " " small { (shown.len()) " " (say(address, Word::Of)) " " (view.total) } }
        @if let Some(problem) = &view.configuration {
            p.note role="alert" { (say(address, Word::Configuration)) ": " (problem) }
        }
        @for one in shown {
            div class={ "in" (depth(&view.queues, one)) } { (row(address, one, false)) }
        }
    })
}

/// The queue of that name, where the list, which holds the first ones alone, has it not.
fn not_listed(name: &str, listed: &[QueueView], source: &mut dyn Source) -> Option<Box<QueueView>> {
    if name.is_empty() || listed.iter().any(|queue| queue.name == name) {
        return None;
    }
    match source.ask(&Ask::Queue(name.to_owned())) {
        Ok(View::Queue(queue)) => Some(queue),
        _ => None,
    }
}

/// Queues with those below each right after it, by name.
fn tree(queues: &[QueueView]) -> Vec<&QueueView> {
    let is_known = |name: &str| queues.iter().any(|queue| queue.name == name);
    let mut left: Vec<&QueueView> = queues.iter().rev().collect();
    let mut open: Vec<&QueueView> = Vec::new();
    left.retain(|queue| {
        let is_top = !is_known(&queue.parent) || queue.parent == queue.name;
        if is_top {
            open.push(queue);
        }
        !is_top
    });
    let mut shown = Vec::with_capacity(queues.len());
    while let Some(next) = open.pop() {
        shown.push(next);
        left.retain(|queue| {
            let is_below = queue.parent == next.name;
            if is_below {
                open.push(queue);
            }
            !is_below
        });
    }
    // Queues that are above each other, in a circle.
    shown.extend(left.into_iter().rev());
    shown
}

fn depth(queues: &[QueueView], of: &QueueView) -> usize {
    let mut depth = 0;
    let mut parent = of.parent.as_str();
    while depth < MAX_DEPTH
        && let Some(queue) = queues.iter().find(|queue| queue.name == parent)
        && queue.name != of.name
    {
        depth += 1;
        parent = &queue.parent;
    }
    depth
}

/// Name, state and what waits in it.
fn head(address: &PageAddress, of: &QueueView) -> Markup {
    html! {
        (queue(address, &of.name)) " " (phase(&of.state)) " "
        small { (say(address, Word::Waiting)) " " b { (of.waiting) } " · " (say(address, Word::Share)) " " (share(of.share)) }
    }
}

/// A queue in brief: bars of what it has, may have and asks; below a heading of the list where it is one of a list.
pub(crate) fn row(address: &PageAddress, of: &QueueView, is_listed: bool) -> Markup {
    html! {
        article.queue {
            @if is_listed { h3 { (head(address, of)) } } @else { h2 { (head(address, of)) } }
            @if !of.warning.is_empty() { p.note { (of.warning) } }
            (bars(address, of))
        }
    }
}

fn share(share: f64) -> String {
    match share.is_finite() {
        true => format!("{share:.2}"),
        false => "∞".to_owned(),
    }
}

/// For each resource what the queue holds, with marks at what it is guaranteed, deserves and may have.
fn bars(address: &PageAddress, of: &QueueView) -> Markup {
    let rows = [
        &of.allocated,
        &of.deserved,
        &of.capability,
        &of.guarantee,
        &of.inqueue,
    ];
    let mut names: Vec<&String> = rows.iter().flat_map(|amounts| amounts.keys()).collect();
    names.sort_unstable();
    names.dedup();
    html! {
        table.bars {
            tbody {
                @for name in names {
                    @let of_name = rows.map(|amounts| amounts.get(name).map_or("", String::as_str));
                    tr { th scope="row" { (name) } td.wide { (bar(of_name)) } td { (told(address, of_name)) } }
                }
            }
        }
    }
}

/// Amounts in the order allocated, deserved, capability, guarantee, reserved.
fn bar([allocated, deserved, capability, guarantee, reserved]: [&str; 5]) -> Markup {
    let sizes = [allocated, deserved, capability, guarantee, reserved].map(size);
    // What is without a limit for practical purposes would make all else invisible.
    let held = sizes[0].max(sizes[4]).max(sizes[1]).max(sizes[3]);
    let whole = match sizes[2] > 0.0 && sizes[2] < held * 20.0 {
        true => held.max(sizes[2]),
        false => held,
    };
    let at = |size: f64| {
        if whole > 0.0 {
            (size * 100.0 / whole).clamp(0.0, 100.0)
        } else {
            0.0
        }
    };
    let width = |size: f64| format!("{:.1}", at(size));
    let tick = |size: f64| format!("{:.1}", at(size).min(99.4));
    html! {
        svg.bar.tall viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true" {
            rect.ground width="100" height="12" {}
            rect.reserved width=(width(sizes[4])) height="12" {}
            rect.allocated y="2" width=(width(sizes[0])) height="8" {}
            @for (class, size) in [("guarantee", sizes[3]), ("deserved", sizes[1]), ("capability", sizes[2])] {
                @if size > 0.0 && size <= whole { rect class=(class) x=(tick(size)) width="0.6" height="12" {} }
            }
        }
    }
}

fn told(address: &PageAddress, amounts: [&str; 5]) -> Markup {
    let words = [
        Word::Allocated,
        Word::Deserved,
        Word::Capability,
        Word::Guarantee,
        Word::Reserved,
    ];
    let mut rows = words
        .into_iter()
        .zip(amounts)
        .filter(|(_, amount)| !amount.is_empty());
    let first = rows.next();
    html! {
        @for (at, (word, amount)) in first.into_iter().chain(rows).enumerate() {
            @if at > 0 { " · " }
            span.amount { (say(address, word)) " " b { (amount) } }
        }
    }
}

pub(crate) fn one(
    address: &PageAddress,
    name: &str,
    source: &mut dyn Source,
) -> Result<Markup, String> {
    let View::Queue(view) = source.ask(&Ask::Queue(name.to_owned()))? else {
        return Err("another answer than asked for".to_owned());
    };
    let jobs = |shown: JobsShown| {
        address.with(|other| {
            other.name = PageName::Jobs;
            other.queue = name.to_owned();
            other.shown = shown;
        })
    };
    Ok(html! {
        h1 { (say(address, Word::Queue)) " " (view.name) }
        (row(address, &view, false))
        dl {
            @if !view.parent.is_empty() { dt { (say(address, Word::Queue)) " ↑" } dd { (queue(address, &view.parent)) } }
            dt { (say(address, Word::Weight)) } dd { (view.weight) }
            dt { (say(address, Word::Priority)) } dd { (view.priority) }
            dt { (say(address, Word::InState)) }
            dd {
                @for (at, (name, count)) in view.pod_groups.iter().enumerate() {
                    @if at > 0 { " " }
                    (phase(name)) " " b { (count) }
                }
            }
        }
        p {
            a href=[jobs(JobsShown::Running)] { (say(address, Word::Running)) } " · "
            a href=[jobs(JobsShown::Waiting)] { (say(address, Word::Waiting)) }
        }
        @if !view.first.is_empty() {
            h2 { (say(address, Word::Waiting)) }
            table {
                thead { tr {
                    th { (say(address, Word::PlaceInQueue)) } th { (say(address, Word::Job)) } th { (say(address, Word::Priority)) }
                    th { (say(address, Word::Phase)) } th { (say(address, Word::Created)) } th { (say(address, Word::Asks)) } th { (say(address, Word::WhyItWaits)) }
                } }
                tbody {
                    @for row in &view.first {
                        tr {
                            td.number { (row.position) }
                            th scope="row" { (job(address, &row.name)) }
                            td.number { (row.priority) }
                            td { @if let Some(text) = &row.phase { (phase(text)) } @else { "–" } }
                            td { (time(row.created.as_ref())) }
                            td { (amounts(&row.asks)) }
                            td { (row.message) }
                        }
                    }
                }
            }
        }
    })
}
