//! Addresses of pages: paths and queries, read and written.

use std::collections::BTreeSet;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use pumice_engine::view::{Ask, JobsAsk, JobsShown};

use crate::chosen::{DomainChoice, NodeColour};
use crate::words::PageLanguage;

/// All that may mean something else within a part of a path or of a query.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Most characters of a search: longer ones are cut.
const MAX_SEARCH: usize = 200;

/// Which page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageName {
    /// `/`
    Overview,
    /// `/queues`
    Queues,
    /// `/queues/NAME`
    Queue(String),
    /// `/jobs`
    Jobs,
    /// `/jobs/NAMESPACE/NAME`
    Job((String, String)),
    /// `/pods/NAMESPACE/NAME`
    Pod((String, String)),
    /// `/nodes`
    Nodes,
    /// `/nodes/NAME`
    Node(String),
    /// `/topology`
    Topology,
    /// `/decisions`
    Decisions,
    /// `/what-if`
    WhatIf,
}

/// A page with what is chosen on it, all of which the address keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageAddress {
    /// Which page.
    pub name: PageName,
    /// Language (`lang`).
    pub language: PageLanguage,
    /// What is searched for (`search`).
    pub search: String,
    /// Queue to which jobs are narrowed (`queue`).
    pub queue: String,
    /// Kind of reason to which jobs are narrowed (`reason`).
    pub reason: String,
    /// Which jobs (`show`).
    pub shown: JobsShown,
    /// Rows that are passed over (`from`).
    pub from: usize,
    /// What nodes are coloured by (`by`).
    pub by: NodeColour,
    /// What is chosen of domains.
    pub domains: DomainChoice,
    /// Path below which all pages lie, as browsers name it; empty for none.
    pub(crate) base: &'static str,
    /// In a document: its parts, to which links lead.
    pub(crate) parts: Option<Arc<BTreeSet<String>>>,
}

impl PageAddress {
    /// A page on which nothing is chosen.
    pub fn of(name: PageName, language: PageLanguage) -> Self {
        Self {
            name,
            language,
            search: String::new(),
            queue: String::new(),
            reason: String::new(),
            shown: JobsShown::default(),
            from: 0,
            by: NodeColour::default(),
            domains: DomainChoice::default(),
            base: "",
            parts: None,
        }
    }

    /// Where this page lies if all of them lie below this path.
    #[must_use]
    pub fn below(mut self, base: &'static str) -> Self {
        self.base = base;
        self
    }

    /// Reads the path and the query of a URL; `None` where there is no such page. `accepted` is the language that a
    /// browser asks for (`Accept-Language`), where the query names none.
    pub fn read(path: &str, query: &str, accepted: &str) -> Option<Self> {
        let parts: Vec<String> = path
            .split('/')
            .filter(|part| !part.is_empty())
            .map(unescaped)
            .collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let pair = |namespace: &str, name: &str| (namespace.to_owned(), name.to_owned());
        let name = match parts[..] {
            [] => PageName::Overview,
            ["queues"] => PageName::Queues,
            ["queues", name] => PageName::Queue(name.to_owned()),
            ["jobs"] => PageName::Jobs,
            ["jobs", namespace, name] => PageName::Job(pair(namespace, name)),
            // PodGroups of Kubernetes itself have their API group before their name, which people write as they read it.
            ["jobs", namespace, group, name] if group.contains('.') => {
                PageName::Job((namespace.to_owned(), format!("{group}/{name}")))
            }
            ["pods", namespace, name] => PageName::Pod(pair(namespace, name)),
            ["nodes"] => PageName::Nodes,
            ["nodes", name] => PageName::Node(name.to_owned()),
            ["topology"] => PageName::Topology,
            ["decisions"] => PageName::Decisions,
            ["what-if"] => PageName::WhatIf,
            _ => return None,
        };
        let mut address = Self::of(name, PageLanguage::accepted(accepted));
        for pair in query.split('&') {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let mut value = unescaped(value);
            if let Some((end, _)) = value.char_indices().nth(MAX_SEARCH) {
                value.truncate(end);
            }
            match key {
                "lang" => {
                    address.language = PageLanguage::named(&value).unwrap_or(address.language);
                }
                "search" => address.search = value,
                "queue" => address.queue = value,
                "reason" => address.reason = value,
                "show" => {
                    address.shown = JobsShown::named(&value).unwrap_or_default();
                }
                "from" => address.from = value.parse().unwrap_or(0),
                "by" => address.by = NodeColour::named(&value),
                key => address.domains.take(key, &value),
            }
        }
        Some(address)
    }

    /// What a page is made of.
    pub fn asks(&self) -> Vec<Ask> {
        match &self.name {
            PageName::Overview => vec![Ask::Top, Ask::Jobs(JobsAsk::default())],
            PageName::Queues => vec![Ask::Queues],
            PageName::Queue(name) => vec![Ask::Queue(name.clone())],
            PageName::Jobs => vec![Ask::Jobs(self.jobs())],
            PageName::Job((namespace, name)) => vec![Ask::Job {
                namespace: namespace.clone(),
                name: name.clone(),
            }],
            PageName::Pod((namespace, name)) => vec![Ask::Pod {
                namespace: namespace.clone(),
                name: name.clone(),
            }],
            PageName::Nodes => vec![Ask::Nodes],
            PageName::Node(name) => vec![Ask::Node(name.clone())],
            PageName::Topology => vec![Ask::Topology(self.domains.ask(&self.search, self.from))],
            PageName::Decisions | PageName::WhatIf => Vec::new(),
        }
    }

    /// What is asked of the list of jobs.
    pub(crate) fn jobs(&self) -> JobsAsk {
        JobsAsk {
            search: self.search.clone(),
            queue: self.queue.clone(),
            reason: self.reason.clone(),
            shown: self.shown,
            from: self.from,
        }
    }

    /// This page as a path and query, behind what all of them lie below.
    pub fn url(&self) -> String {
        let mut url = self.path();
        let mut first = true;
        let shown = match self.shown {
            JobsShown::All => "",
            shown => shown.name(),
        };
        let from = match self.from {
            0 => String::new(),
            from => from.to_string(),
        };
        let [job, pods, tier] = self.domains.pairs();
        for (key, value) in [
            ("search", self.search.as_str()),
            ("queue", &self.queue),
            ("reason", &self.reason),
            ("show", shown),
            ("from", &from),
            ("by", self.by.name()),
            (job.0, &job.1),
            (pods.0, &pods.1),
            (tier.0, &tier.1),
            ("lang", self.language.code()),
        ] {
            if !value.is_empty() {
                url.push(if first { '?' } else { '&' });
                first = false;
                url.push_str(key);
                url.push('=');
                url.push_str(&escaped(value));
            }
        }
        url
    }

    fn path(&self) -> String {
        match &self.name {
            PageName::Overview => "/".to_owned(),
            PageName::Queues => "/queues".to_owned(),
            PageName::Queue(name) => format!("/queues/{}", escaped(name)),
            PageName::Jobs => "/jobs".to_owned(),
            PageName::Job((namespace, name)) => {
                format!("/jobs/{}/{}", escaped(namespace), escaped(name))
            }
            PageName::Pod((namespace, name)) => {
                format!("/pods/{}/{}", escaped(namespace), escaped(name))
            }
            PageName::Nodes => "/nodes".to_owned(),
            PageName::Node(name) => format!("/nodes/{}", escaped(name)),
            PageName::Topology => "/topology".to_owned(),
            PageName::Decisions => "/decisions".to_owned(),
            PageName::WhatIf => "/what-if".to_owned(),
        }
    }

    /// Where a link leads: another page in the same language, or the part of the same document that is about it;
    /// `None` where the document has no such part.
    pub(crate) fn link(&self, to: PageName) -> Option<String> {
        self.target(&Self::of(to, self.language))
    }

    /// This page with something else chosen, likewise.
    pub(crate) fn with(&self, change: impl FnOnce(&mut Self)) -> Option<String> {
        let mut other = self.clone();
        change(&mut other);
        self.target(&other)
    }

    /// Another page with something chosen on it, likewise.
    pub(crate) fn elsewhere(&self, to: PageName, choose: impl FnOnce(&mut Self)) -> Option<String> {
        let mut other = Self::of(to, self.language);
        choose(&mut other);
        self.target(&other)
    }

    fn target(&self, other: &Self) -> Option<String> {
        match &self.parts {
            Some(parts) => {
                let anchor = other.anchor();
                // What is chosen on a page is a matter of addresses, and a document has none.
                let is_plain = other.url() == Self::of(other.name.clone(), other.language).url();
                (is_plain && parts.contains(&anchor)).then(|| format!("#{anchor}"))
            }
            None => Some(self.placed(&other.url())),
        }
    }

    /// Where what changes of this page is told, from a look on that had this fingerprint.
    pub(crate) fn live_url(&self, seen: u64) -> String {
        // The language always stands in the query.
        self.placed(&format!("/live{}&seen={seen:x}", self.url()))
    }

    /// A path as browsers name it.
    pub(crate) fn placed(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Name of this page's part of a document.
    pub(crate) fn anchor(&self) -> String {
        match self.path().trim_start_matches('/') {
            "" => "overview".to_owned(),
            path => path.to_owned(),
        }
    }
}

/// The job that people mean by `namespace/name`.
pub(crate) fn pair(key: &str) -> (String, String) {
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    (namespace.to_owned(), name.to_owned())
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

/// A part of a path or of a query as it was before it was escaped; a form writes a space as `+`.
fn unescaped(text: &str) -> String {
    let text = text.replace('+', " ");
    percent_decode_str(&text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_is_written() {
        let mut address = PageAddress::of(PageName::Jobs, PageLanguage::Chinese);
        address.search = "a b/ü&=%".to_owned();
        address.queue = "q+1".to_owned();
        address.reason = "no-node".to_owned();
        address.shown = JobsShown::Waiting;
        address.from = 100;
        address.by = NodeColour::Cards;
        address.domains = DomainChoice {
            job: "a/b c".to_owned(),
            pods: 64,
            tier: Some(-1),
        };
        let url = address.url();
        let (path, query) = url.split_once('?').expect("a query");
        assert_eq!(PageAddress::read(path, query, ""), Some(address));
        for name in [
            PageName::Overview,
            PageName::Queue("a/b <c>".to_owned()),
            PageName::Job(("ns".to_owned(), "x y".to_owned())),
            PageName::Node("n%2F1".to_owned()),
            PageName::WhatIf,
            PageName::Topology,
        ] {
            let address = PageAddress::of(name, PageLanguage::English);
            let url = address.url();
            let (path, query) = url.split_once('?').expect("a query");
            assert_eq!(PageAddress::read(path, query, ""), Some(address), "{url}");
        }
    }

    #[test]
    fn below_a_path_every_address_begins_with_it() {
        let jobs = PageAddress::read("/jobs", "search=a", "").expect("a page");
        let jobs = jobs.below("/ui");
        let target = jobs.with(|other| other.from = 10);
        assert_eq!(target.as_deref(), Some("/ui/jobs?search=a&from=10&lang=en"));
        let node = jobs.link(PageName::Node("n".to_owned()));
        assert_eq!(node.as_deref(), Some("/ui/nodes/n?lang=en"));
        assert_eq!(jobs.live_url(10), "/ui/live/jobs?search=a&lang=en&seen=a");
    }

    #[test]
    fn what_is_no_address_is_none_and_odd_queries_do_no_harm() {
        assert_eq!(PageAddress::read("/jobs/a/b/c", "", ""), None);
        for path in [
            "/jobs/ns/scheduling.k8s.io/train",
            "/jobs/ns/scheduling.k8s.io%2Ftrain",
        ] {
            let address = PageAddress::read(path, "", "").expect("a page");
            let job = ("ns".to_owned(), "scheduling.k8s.io/train".to_owned());
            assert_eq!(address.name, PageName::Job(job));
        }
        let long = format!("search={}&from=-1&%zz&lang=tlh", "x".repeat(5000));
        let address = PageAddress::read("/jobs", &long, "zh-CN,zh;q=0.9").expect("a page");
        assert_eq!(address.search.len(), MAX_SEARCH);
        assert_eq!((address.from, address.language), (0, PageLanguage::Chinese));
    }
}
