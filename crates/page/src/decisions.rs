//! What was decided, when, for whom, and at whose cost.

use maud::{Markup, html};

use crate::address::PageAddress;
use crate::parts::{job, node, pod, say};
use crate::source::{PageDecision, Source};
use crate::words::Word;

/// Decisions shown.
const MAX_SHOWN: usize = 500;

pub(crate) fn content(address: &PageAddress, source: &mut dyn Source) -> Result<Markup, String> {
    let all = source.decisions()?;
    let found = |one: &&PageDecision| {
        let text = &address.search;
        [&one.pod, &one.node, &one.group]
            .into_iter()
            .any(|field| field.contains(text))
    };
    let shown: Vec<&PageDecision> = all.iter().filter(found).take(MAX_SHOWN).collect();
    Ok(html! {
        h1 { (say(address, Word::Decisions)) " " small { (shown.len()) " " (say(address, Word::Of)) " " (all.len()) } }
        @if all.is_empty() { p { (say(address, Word::NoDecisions)) } }
        @else if shown.is_empty() { p { (say(address, Word::NoMatch)) } }
        @else {
            table {
                thead { tr {
                    th { (say(address, Word::Time)) } th { (say(address, Word::Pod)) } th { (say(address, Word::Job)) }
                    th { (say(address, Word::Decision)) } th { (say(address, Word::Node)) }
                } }
                tbody { @for one in shown { (row(address, one)) } }
            }
        }
    })
}

fn row(address: &PageAddress, one: &PageDecision) -> Markup {
    html! {
        tr {
            td { @if one.time.is_empty() { "–" } @else { time datetime=(one.time) { (one.time) } } }
            th scope="row" { (pod(address, &one.pod)) }
            td { @if one.group.is_empty() { "–" } @else { (job(address, &one.group)) } }
            td {
                @if one.action.is_empty() && one.node.is_empty() { (say(address, Word::Evicted)) }
                @else if one.action.is_empty() { (say(address, Word::Bound)) }
                @else {
                    (say(address, Word::EvictedBy)) " " (one.action)
                    @if let Some(by) = &one.evicted_for { " " (say(address, Word::For)) " " (job(address, by)) }
                }
                @if !one.cards.is_empty() { " · " (one.cards.join(", ")) }
            }
            td { (node(address, &one.node)) }
        }
    }
}
