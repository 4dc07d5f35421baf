//! What several pages draw: links, marks, bars, lists of amounts. Whatever a colour or a length says stands there in
//! words or numbers too.

use maud::{Markup, html};
use pumice_engine::view::{Quantities, Time};
use pumice_units::quantity;

use crate::address::{PageAddress, PageName, pair};
use crate::words::Word;

/// Words in the language of the page.
pub(crate) fn say(address: &PageAddress, word: Word) -> &'static str {
    word.in_language(address.language)
}

/// A link to a job.
pub(crate) fn job(address: &PageAddress, key: &str) -> Markup {
    html! { a href=[address.link(PageName::Job(pair(key)))] { (key) } }
}

/// A link to a pod.
pub(crate) fn pod(address: &PageAddress, key: &str) -> Markup {
    html! { a href=[address.link(PageName::Pod(pair(key)))] { (key) } }
}

/// A link to a node; a dash for none.
pub(crate) fn node(address: &PageAddress, name: &str) -> Markup {
    html! {
        @if name.is_empty() { "–" }
        @else { a href=[address.link(PageName::Node(name.to_owned()))] { (name) } }
    }
}

/// A link to a queue; a dash for none.
pub(crate) fn queue(address: &PageAddress, name: &str) -> Markup {
    html! {
        @if name.is_empty() { "–" }
        @else { a href=[address.link(PageName::Queue(name.to_owned()))] { (name) } }
    }
}

/// A time that programs can read too.
pub(crate) fn time(time: Option<&Time>) -> Markup {
    html! {
        @match time {
            Some(time) => { time datetime=(time.0) { (time.0) } }
            None => { "–" }
        }
    }
}

/// How full something is, in percent: a bar, and the number.
pub(crate) fn full(percent: i64) -> Markup {
    let width = percent.clamp(0, 100);
    html! {
        span.full {
            svg.bar viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
                rect.ground width="100" height="8" {}
                rect class=(level(percent)) width=(width) height="8" {}
            }
            span.number { (percent) " %" }
        }
    }
}

/// The class of a colour, in eleven steps.
pub(crate) fn level(percent: i64) -> String {
    format!("u{}", percent.clamp(0, 100) / 10)
}

/// Amounts by name, as a short list; a dash for none.
pub(crate) fn amounts(amounts: &Quantities) -> Markup {
    html! {
        @if amounts.is_empty() { "–" }
        @for (at, (name, amount)) in amounts.iter().enumerate() {
            @if at > 0 { ", " }
            span.amount { (name) " " b { (amount) } }
        }
    }
}

/// A mark with a word in it.
pub(crate) fn mark(class: &str, text: &str) -> Markup {
    html! { span class={ "mark " (class) } { (text) } }
}

/// The mark of a phase or state of an object.
pub(crate) fn phase(text: &str) -> Markup {
    let class = match text {
        "Running" | "Open" | "Ready" | "Completed" => "good",
        "Pending" | "Inqueue" | "Closing" | "Cordoned" | "Tainted" | "Pipelined" => "waits",
        "NotReady" | "Closed" | "Unknown" | "Failed" => "bad",
        _ => "plain",
    };
    mark(class, text)
}

/// A quantity as a number, for the length of a bar; 0 where it is none.
pub(crate) fn size(text: &str) -> f64 {
    quantity::parse(text).map_or(0.0, |amount| amount.milli_ceil() as f64)
}

/// A sentence of the scheduler: its first line, and the rest for who wants it.
pub(crate) fn sentence(summary: &str, message: &str) -> Markup {
    html! {
        @if summary == message || message.is_empty() { p.sentence { (summary) } }
        @else {
            details.sentence {
                summary { (summary) }
                p { (message) }
            }
        }
    }
}

/// A list of sentences under a heading; nothing where there are none.
pub(crate) fn list(title: &str, lines: &[String]) -> Markup {
    html! {
        @if !lines.is_empty() {
            h3 { (title) }
            ul { @for line in lines { li { (line) } } }
        }
    }
}
