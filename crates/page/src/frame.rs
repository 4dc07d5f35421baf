//! What is around every page: the way to the others, whose page it is, what is chosen.

use maud::{DOCTYPE, Markup, html};

use crate::address::{PageAddress, PageName};
use crate::assets::{EVENTS, HTMX, ICON, STYLE_PATH};
use crate::fingerprint::fingerprint;
use crate::parts::say;
use crate::source::{PageStanding, PlansAsked};
use crate::topology;
use crate::words::{PageLanguage, Word};

/// The pages that every page leads to.
pub(crate) const PLACES: [(PageName, Word); 7] = [
    (PageName::Overview, Word::Overview),
    (PageName::Queues, Word::Queues),
    (PageName::Jobs, Word::Jobs),
    (PageName::Nodes, Word::Nodes),
    (PageName::Topology, Word::Topology),
    (PageName::Decisions, Word::Decisions),
    (PageName::WhatIf, Word::WhatIf),
];

/// A page's surroundings.
pub(crate) struct PageFrame<'a> {
    pub address: &'a PageAddress,
    pub standing: PageStanding,
}

impl PageFrame<'_> {
    pub fn around(&self, content: &Markup) -> Markup {
        let address = self.address;
        html! {
            (DOCTYPE)
            html lang=(address.language.code()) {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="htmx-config" content=r#"{"includeIndicatorStyles":false,"allowEval":false,"selfRequestsOnly":true,"responseHandling":[{"code":".*","swap":true}]}"#;
                    title { (title(address)) " · " (self.standing.of) " · Pumice" }
                    link rel="icon" type="image/svg+xml" href=(address.placed(ICON));
                    link rel="stylesheet" href=(address.placed(STYLE_PATH));
                    script src=(address.placed(HTMX)) defer {}
                    script src=(address.placed(EVENTS)) defer {}
                }
                body {
                    a.skip href="#content" { (say(address, Word::SkipToContent)) }
                    (self.head())
                    (choices(address))
                    (self.live(content))
                }
            }
        }
    }

    fn head(&self) -> Markup {
        let address = self.address;
        let group = group_of(&address.name);
        let places = PLACES.into_iter().filter(|(name, _)| {
            self.standing.plans == PlansAsked::Here || *name != PageName::WhatIf
        });
        html! {
            header {
                strong.product { "Pumice" }
                nav aria-label="Pumice" {
                    @for (name, word) in places {
                        @let is_here = name == group;
                        a href=[address.link(name)] aria-current=[is_here.then_some("page")] { (say(address, word)) }
                    }
                }
                span.standing {
                    (self.standing.of)
                    @if let Some(as_of) = &self.standing.as_of {
                        " · " (say(address, Word::AsOf)) " " (as_of.0)
                    }
                    @if self.standing.is_live { " · " (say(address, Word::Live)) }
                }
                (languages(address))
            }
        }
    }

    /// The part that is replaced when something has changed.
    fn live(&self, content: &Markup) -> Markup {
        let stream = self.address.live_url(fingerprint(&content.0));
        let has_stream = self.standing.is_live && self.address.name != PageName::WhatIf;
        html! {
            @if has_stream {
                main #content tabindex="-1" hx-ext="sse" sse-connect=(stream) sse-swap="page" { (content) }
            } @else {
                main #content tabindex="-1" { (content) }
            }
        }
    }
}

/// What a reader has to know, and what is told.
pub(crate) fn noted(standing: &PageStanding, content: &Markup) -> Markup {
    html! {
        @if !standing.note.is_empty() { p.note role="note" { (standing.note) } }
        (content)
    }
}

fn languages(address: &PageAddress) -> Markup {
    html! {
        nav.languages aria-label=(say(address, Word::Language)) {
            @for language in PageLanguage::ALL {
                @let is_here = language == address.language;
                a href=[address.with(|other| other.language = language)] lang=(language.code())
                    hreflang=(language.code()) aria-current=[is_here.then_some("true")] { (language.own_name()) }
            }
            a href=(address.placed(&format!("/json{}", address.url()))) { (say(address, Word::Json)) }
        }
    }
}

/// The list to which a page belongs.
fn group_of(name: &PageName) -> PageName {
    match name {
        PageName::Queue(_) => PageName::Queues,
        PageName::Job(_) | PageName::Pod(_) => PageName::Jobs,
        PageName::Node(_) => PageName::Nodes,
        list => list.clone(),
    }
}

fn title(address: &PageAddress) -> String {
    match &address.name {
        PageName::Queue(name) | PageName::Node(name) => name.clone(),
        PageName::Job((namespace, name)) | PageName::Pod((namespace, name)) => {
            format!("{namespace}/{name}")
        }
        list => {
            let place = PLACES.into_iter().find(|(name, _)| name == list);
            place.map_or(String::new(), |(_, word)| say(address, word).to_owned())
        }
    }
}

/// What narrows a list down: it is kept in the address, so it stays outside of what is replaced.
fn choices(address: &PageAddress) -> Markup {
    let is_searched = matches!(
        address.name,
        PageName::Queues
            | PageName::Jobs
            | PageName::Nodes
            | PageName::Topology
            | PageName::Decisions
    );
    html! {
        @if is_searched {
            form.search role="search" method="get" {
                label for="search" { (say(address, Word::Search)) }
                input #search type="search" name="search" value=(address.search) maxlength="200";
                input type="hidden" name="lang" value=(address.language.code());
                @if address.name == PageName::Topology { (topology::questions(address)) }
                @for (key, value) in [
                    ("queue", address.queue.as_str()), ("reason", &address.reason), ("show", address.shown.name()), ("by", address.by.name()),
                ] {
                    @if !value.is_empty() { input type="hidden" name=(key) value=(value); }
                }
                button type="submit" { (say(address, Word::Search)) }
            }
        }
    }
}

/// A page that nobody can tell at the moment; looking on brings it.
pub(crate) fn nobody(language: PageLanguage, why: &str) -> Markup {
    html! {
        h1 { (Word::NobodyAnswers.in_language(language)) }
        p.note role="status" { @for line in why.lines() { (line) br; } }
        p { (Word::ComesBack.in_language(language)) }
    }
}

/// A page that is not there.
pub(crate) fn nothing(language: PageLanguage, why: &str) -> Markup {
    html! {
        h1 { (Word::NotThere.in_language(language)) }
        p { (why) }
    }
}
