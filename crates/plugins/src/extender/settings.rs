//! What the configuration says of an extender (spec/02 §23.1).

use pumice_conf::{
    Arg, Arguments, Enabled, FormedText, NeededArgument, PluginConf, PluginSpec, TextForm, Texts,
};
use pumice_model::extender::{ExtenderEvent, ExtenderSettings, ExtenderVerb};
use pumice_units::duration::parse_go_duration;

/// Longest time a request may take.
const LONGEST_S: i64 = 60;

const NS_PER_MS: i64 = 1_000_000;

const URL: TextForm = TextForm {
    phrase: "the address of an HTTP service",
    example: "http://127.0.0.1:8713",
    fault: url_fault,
};

const TIMEOUT: TextForm = TextForm {
    phrase: "a duration of at most a minute",
    example: "1s",
    fault: timeout_fault,
};

const VERB: TextForm = TextForm {
    phrase: "the last part of a URL",
    example: "predicate",
    fault: verb_fault,
};

const URL_PREFIX: Arg<FormedText> = Arg::formed(
    "extender.urlPrefix",
    URL,
    "",
    "Where the service is; a verb follows behind `/`.",
);
const HTTP_TIMEOUT: Arg<FormedText> = Arg::formed(
    "extender.httpTimeout",
    TIMEOUT,
    "1s",
    "How long a request may take as a whole.",
);
const IGNORABLE: Arg<bool> = Arg::switch(
    "extender.ignorable",
    false,
    "Where the service fails, all goes on as if it had agreed.",
);
const MANAGED: Arg<Texts> = Arg::texts(
    "extender.managedResources",
    "It is asked about pods that ask for one of these resources only.",
);
const SESSION_OPEN: Arg<FormedText> = verb(
    "extender.onSessionOpenVerb",
    "Told that a cycle has decided, with what it decided from; off unless given.",
);
const SESSION_CLOSE: Arg<FormedText> = verb(
    "extender.onSessionCloseVerb",
    "Told after that; off unless given.",
);
const PREDICATE: Arg<FormedText> = verb(
    "extender.predicateVerb",
    "On which nodes a pod may run; off unless given.",
);
const PRIORITIZE: Arg<FormedText> = verb(
    "extender.prioritizeVerb",
    "How good nodes are for a pod; off unless given.",
);
const PREEMPTABLE: Arg<FormedText> = verb(
    "extender.preemptableVerb",
    "Whom a pod may preempt; off unless given.",
);
const RECLAIMABLE: Arg<FormedText> = verb(
    "extender.reclaimableVerb",
    "Whom a pod may reclaim from; off unless given.",
);
const OVERUSED: Arg<FormedText> = verb(
    "extender.queueOverusedVerb",
    "Whether jobs of a queue have to wait; off unless given.",
);
const ENQUEUEABLE: Arg<FormedText> = verb(
    "extender.jobEnqueueableVerb",
    "Whether a job is admitted; off unless given.",
);
const ENQUEUED: Arg<FormedText> = verb(
    "extender.jobEnqueuedVerb",
    "Told that a job was admitted; off unless given.",
);
const READY: Arg<FormedText> = verb(
    "extender.jobReadyVerb",
    "Whether a job may have places; off unless given.",
);
const ALLOCATE: Arg<FormedText> = verb(
    "extender.allocateFuncVerb",
    "Told that a pod was given a place; off unless given.",
);
const DEALLOCATE: Arg<FormedText> = verb(
    "extender.deallocateFuncVerb",
    "Told that a pod has lost its place; off unless given.",
);

const fn verb(name: &'static str, doc: &'static str) -> Arg<FormedText> {
    Arg::formed(name, VERB, "", doc)
}

/// What the configuration may say.
pub(super) const SPEC: PluginSpec = PluginSpec {
    name: "extender",
    summary: "Asks an HTTP service.",
    args: &[
        URL_PREFIX.spec(),
        HTTP_TIMEOUT.spec(),
        SESSION_OPEN.spec(),
        SESSION_CLOSE.spec(),
        PREDICATE.spec(),
        PRIORITIZE.spec(),
        PREEMPTABLE.spec(),
        RECLAIMABLE.spec(),
        OVERUSED.spec(),
        ENQUEUEABLE.spec(),
        ENQUEUED.spec(),
        READY.spec(),
        ALLOCATE.spec(),
        DEALLOCATE.spec(),
        IGNORABLE.spec(),
        MANAGED.spec(),
    ],
    needed: &[NeededArgument {
        name: URL_PREFIX.name(),
        example: URL.example,
        by: &[
            PREDICATE.name(),
            PRIORITIZE.name(),
            OVERUSED.name(),
            ENQUEUEABLE.name(),
            READY.name(),
            PREEMPTABLE.name(),
            RECLAIMABLE.name(),
            ALLOCATE.name(),
            DEALLOCATE.name(),
            ENQUEUED.name(),
            SESSION_OPEN.name(),
            SESSION_CLOSE.name(),
        ],
    }],
    ..PluginSpec::PLAIN
};

/// What a checked configuration says. What a switch turns off is not asked.
pub(crate) fn settings(conf: &PluginConf) -> ExtenderSettings {
    let (arguments, enabled) = (&conf.arguments, &conf.enabled);
    let verb = |verb: ExtenderVerb| {
        let text = argument_of(verb).read(arguments);
        let is_asked = !text.is_empty() && is_on(verb, enabled);
        is_asked.then(|| (verb, text.to_owned()))
    };
    let event = |event: ExtenderEvent| {
        let text = argument_of_event(event).read(arguments);
        (!text.is_empty()).then(|| (event, text.to_owned()))
    };
    ExtenderSettings {
        url_prefix: URL_PREFIX.read(arguments).trim_end_matches('/').to_owned(),
        timeout_ms: timeout_ms(arguments),
        verbs: ExtenderVerb::ALL.into_iter().filter_map(verb).collect(),
        events: ExtenderEvent::ALL.into_iter().filter_map(event).collect(),
        ignorable: IGNORABLE.read(arguments),
        managed_resources: MANAGED.read(arguments),
    }
}

fn argument_of(verb: ExtenderVerb) -> Arg<FormedText> {
    match verb {
        ExtenderVerb::QueueOverused => OVERUSED,
        ExtenderVerb::JobEnqueueable => ENQUEUEABLE,
        ExtenderVerb::JobReady => READY,
        ExtenderVerb::Predicate => PREDICATE,
        ExtenderVerb::Prioritize => PRIORITIZE,
        ExtenderVerb::Preemptable => PREEMPTABLE,
        ExtenderVerb::Reclaimable => RECLAIMABLE,
    }
}

fn argument_of_event(event: ExtenderEvent) -> Arg<FormedText> {
    match event {
        ExtenderEvent::SessionOpen => SESSION_OPEN,
        ExtenderEvent::SessionClose => SESSION_CLOSE,
        ExtenderEvent::JobEnqueued => ENQUEUED,
        ExtenderEvent::Allocate => ALLOCATE,
        ExtenderEvent::Deallocate => DEALLOCATE,
    }
}

fn is_on(verb: ExtenderVerb, enabled: &Enabled) -> bool {
    match verb {
        ExtenderVerb::QueueOverused => enabled.overused,
        ExtenderVerb::JobEnqueueable => enabled.job_enqueued,
        ExtenderVerb::JobReady => enabled.job_ready,
        ExtenderVerb::Predicate => enabled.predicate,
        ExtenderVerb::Prioritize => enabled.node_order,
        ExtenderVerb::Preemptable => enabled.preemptable,
        ExtenderVerb::Reclaimable => enabled.reclaimable,
    }
}

fn timeout_ms(arguments: &Arguments) -> u64 {
    let ns = parse_go_duration(HTTP_TIMEOUT.read(arguments)).unwrap_or_default();
    u64::try_from(ns / NS_PER_MS).unwrap_or(0).max(1)
}

fn url_fault(text: &str) -> Option<String> {
    let rest = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"));
    let Some(rest) = rest else {
        return Some("begins with neither `http://` nor `https://`".to_owned());
    };
    if rest.starts_with(['/', ':']) || rest.is_empty() {
        return Some("names no host".to_owned());
    }
    if rest.contains('@') {
        return Some("names a user, and the service is asked without one".to_owned());
    }
    odd_character(rest)
}

fn verb_fault(text: &str) -> Option<String> {
    odd_character(text)
}

/// What does not belong into the path of a URL.
fn odd_character(text: &str) -> Option<String> {
    let is_odd = |c: &char| !c.is_ascii_graphic() || "?#\"<>\\^`{|}".contains(*c);
    let odd = text.chars().find(is_odd)?;
    Some(format!("has a {odd:?} in it, which no path of a URL has"))
}

fn timeout_fault(text: &str) -> Option<String> {
    match parse_go_duration(text) {
        Err(error) => Some(format!("is no duration: {error}")),
        Ok(ns) if ns < NS_PER_MS => Some("is shorter than a millisecond".to_owned()),
        Ok(ns) if ns > LONGEST_S * 1000 * NS_PER_MS => Some("is longer than a minute".to_owned()),
        Ok(_) => None,
    }
}
