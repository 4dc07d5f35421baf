//! What is on a page, in the room of each.

use maud::Markup;

use crate::address::{PageAddress, PageName};
use crate::source::Source;
use crate::{decisions, frame, jobs, nodes, overview, queues, topology, what_if};

/// The status of HTTP, and what stands there.
pub(crate) fn content(address: &PageAddress, source: &mut dyn Source) -> (u16, Markup) {
    let made = match &address.name {
        PageName::Overview => overview::content(address, source),
        PageName::Queues => queues::all(address, source),
        PageName::Queue(name) => queues::one(address, name, source),
        PageName::Jobs => jobs::all(address, source),
        PageName::Job(job) => jobs::one(address, job, source),
        PageName::Pod(pod) => jobs::pod(address, pod, source),
        PageName::Nodes => nodes::all(address, source),
        PageName::Node(name) => nodes::one(address, name, source),
        PageName::Topology => topology::content(address, source),
        PageName::Decisions => decisions::content(address, source),
        PageName::WhatIf => Ok(what_if::content(address, source)),
    };
    match made {
        Ok(content) => (200, content),
        Err(why) if source.standing().unanswered => (503, frame::nobody(address.language, &why)),
        Err(why) => (404, frame::nothing(address.language, &why)),
    }
}
