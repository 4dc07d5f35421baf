//! All pages in one file that needs nothing else, to be sent to somebody.

use std::collections::BTreeSet;
use std::sync::Arc;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use pumice_engine::view::{Ask, JobsAsk, JobsShown, View};

use crate::address::{PageAddress, PageName, pair};
use crate::assets::STYLE;
use crate::content::content;
use crate::frame::PLACES;
use crate::parts::say;
use crate::source::Source;
use crate::words::PageLanguage;

/// Nodes and jobs that get a part of their own.
const MAX_PARTS: usize = 200;

/// What a source has to show, as one document.
pub fn document(language: PageLanguage, source: &mut dyn Source) -> String {
    let names = parts(source);
    let anchors = names
        .iter()
        .map(|name| PageAddress::of(name.clone(), language).anchor());
    let anchors: Arc<BTreeSet<String>> = Arc::new(anchors.collect());
    let address = |name: PageName| {
        let mut address = PageAddress::of(name, language);
        address.parts = Some(Arc::clone(&anchors));
        address
    };
    let standing = source.standing();
    let head = address(PageName::Overview);
    let parts: Vec<(PageAddress, Markup)> = names
        .into_iter()
        .map(address)
        .map(|address| {
            let (_, content) = content(&address, source);
            (address, content)
        })
        .collect();
    let places = PLACES
        .into_iter()
        .filter(|(name, _)| *name != PageName::WhatIf);
    let page = html! {
        (DOCTYPE)
        html lang=(language.code()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { (standing.of) " · Pumice" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    strong.product { "Pumice" }
                    nav aria-label="Pumice" { @for (name, word) in places { a href=[head.link(name)] { (say(&head, word)) } } }
                    span.standing { (standing.of) }
                }
                @if !standing.note.is_empty() { p.note role="note" { (standing.note) } }
                main { @for (address, content) in parts { section.part id=(address.anchor()) { (content) } } }
            }
        }
    };
    page.into_string()
}

/// The lists, then each queue, each node, and each job that waits.
fn parts(source: &mut dyn Source) -> Vec<PageName> {
    let mut parts = vec![
        PageName::Overview,
        PageName::Queues,
        PageName::Jobs,
        PageName::Nodes,
        PageName::Topology,
        PageName::Decisions,
    ];
    if let Ok(View::Queues(view)) = source.ask(&Ask::Queues) {
        let queues = view.queues.into_iter().take(MAX_PARTS);
        parts.extend(queues.map(|queue| PageName::Queue(queue.name)));
    }
    let mut ask = JobsAsk {
        shown: JobsShown::Waiting,
        ..JobsAsk::default()
    };
    for shown in [JobsShown::Waiting, JobsShown::All] {
        ask.shown = shown;
        if let Ok(View::Jobs(view)) = source.ask(&Ask::Jobs(ask.clone())) {
            let jobs = view
                .jobs
                .into_iter()
                .map(|job| PageName::Job(pair(&job.name)));
            for job in jobs.take(MAX_PARTS) {
                if !parts.contains(&job) {
                    parts.push(job);
                }
            }
        }
    }
    if let Ok(View::Nodes(view)) = source.ask(&Ask::Nodes) {
        let nodes = view.nodes.into_iter().take(MAX_PARTS);
        parts.extend(nodes.map(|node| PageName::Node(node.name)));
    }
    parts
}
