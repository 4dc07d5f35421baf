//! What a configuration says of an extender.

use std::collections::BTreeSet;

use pumice_conf::{Config, parse};
use pumice_model::extender::{ExtenderEvent, ExtenderVerb};
use pumice_model::{JobIx, State};

use super::turn::Turn;
use crate::testing::*;

/// A configuration with these arguments, and what is said of it.
fn conf(arguments: &str) -> (Option<Config>, Vec<String>) {
    let text = format!(
        "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n  - name: extender\n    arguments: {{{arguments}}}\n"
    );
    let outcome = parse(&text, &REGISTRY);
    let said = outcome.diagnostics.iter().map(|found| found.brief());
    (outcome.config.clone(), said.collect())
}

#[test]
fn arguments_are_read_and_what_is_left_out_has_its_default() {
    let (config, said) = conf(
        "extender.urlPrefix: 'http://ext:1/a/', extender.predicateVerb: fits, extender.jobReadyVerb: ''",
    );
    assert_eq!(said, [""; 0]);
    let settings = crate::extender_settings(&config.expect("valid")).expect("it is asked");
    assert_eq!(settings.url_prefix, "http://ext:1/a");
    assert_eq!((settings.timeout_ms, settings.ignorable), (1000, false));
    let verbs = [(ExtenderVerb::Predicate, "fits".to_owned())];
    assert_eq!(settings.verbs, verbs.into());
    assert_eq!(settings.managed_resources, None);
    let (config, said) = conf(
        "extender.urlPrefix: 'https://ext', extender.httpTimeout: 250ms, extender.ignorable: true, \
         extender.jobEnqueueableVerb: e, extender.managedResources: [a/b]",
    );
    assert_eq!(said, [""; 0]);
    let settings = crate::extender_settings(&config.expect("valid")).expect("it is asked");
    assert_eq!((settings.timeout_ms, settings.ignorable), (250, true));
    assert_eq!(settings.managed_resources, Some(vec!["a/b".to_owned()]));
}

#[test]
fn every_verb_of_volcano_is_taken() {
    let verbs = [
        "onSessionOpen",
        "onSessionClose",
        "predicate",
        "prioritize",
        "preemptable",
        "reclaimable",
        "queueOverused",
        "jobEnqueueable",
        "jobEnqueued",
        "jobReady",
        "allocateFunc",
        "deallocateFunc",
    ];
    let verbs = verbs.map(|verb| format!("extender.{verb}Verb: {verb}"));
    let (config, said) = conf(&format!(
        "extender.urlPrefix: 'http://ext', {}",
        verbs.join(", ")
    ));
    assert_eq!(said, [""; 0]);
    let settings = crate::extender_settings(&config.expect("valid")).expect("it is asked");
    let asked = ExtenderVerb::ALL.map(|verb| (verb, verb.name().to_owned()));
    assert_eq!(settings.verbs, asked.into());
    let told = ExtenderEvent::ALL.map(|event| (event, event.name().to_owned()));
    assert_eq!(settings.events, told.into());
}

#[test]
fn an_extender_without_verbs_is_not_asked() {
    let (config, said) = conf("extender.urlPrefix: 'http://ext:1'");
    assert_eq!(said, [""; 0]);
    assert_eq!(crate::extender_settings(&config.expect("valid")), None);
}

#[test]
fn what_cannot_be_used_is_an_error_with_its_place() {
    for (arguments, says) in [
        (
            "extender.predicateVerb: p",
            "`extender.predicateVerb` needs `extender.urlPrefix`",
        ),
        (
            "extender.urlPrefix: ftp://x",
            "begins with neither `http://` nor `https://`",
        ),
        ("extender.urlPrefix: 'http://:80'", "names no host"),
        ("extender.urlPrefix: 'http://u:p@x'", "names a user"),
        ("extender.urlPrefix: 'http://x?y'", "has a '?' in it"),
        ("extender.jobReadyVerb: a b", "has a ' ' in it"),
        ("extender.httpTimeout: 0s", "is shorter than a millisecond"),
        ("extender.httpTimeout: 2m", "is longer than a minute"),
        ("extender.httpTimeout: soon", "is no duration"),
        ("extender.ignorable: maybe", "must be a boolean"),
        (
            "extender.managedResources: a/b",
            "must be a list of strings",
        ),
        (
            "extender.allocateFuncVerb: p",
            "`extender.allocateFuncVerb` needs `extender.urlPrefix`",
        ),
    ] {
        let (config, said) = conf(arguments);
        assert_eq!(config, None, "{arguments}");
        let [only] = &said[..] else {
            panic!("{arguments}: {said:?}")
        };
        assert!(only.contains(says), "{only}");
    }
}

/// Jobs of these names, one made after the other, as they are found.
fn jobs(state: &State, names: &[&str]) -> Vec<JobIx> {
    let find = |name: &&str| state.population().job_by_key("ns", name).expect("a job");
    names.iter().map(find).collect()
}

#[test]
fn a_turn_ends_with_time_and_goes_on_from_the_beginning_after_the_last() {
    let mut cluster = Cluster::default();
    for (created_s, name) in (0..).zip(["a", "b", "c", "d", "e"]) {
        let mut group = group(name, 1).queue("default");
        group.created_s = created_s;
        cluster = cluster.with(group);
    }
    let state = cluster.state();
    let mut turn = Turn::default();
    let mut chosen = |names: &[&str], now_s: i64| {
        let all = jobs(&state, names);
        let weight = |job| match job == jobs(&state, &["d"])[0] {
            true => 3,
            false => 1,
        };
        let chosen = turn.choose(&state, all, (2, now_s), weight);
        let names = chosen.iter().map(|job| state.job(*job).group_name());
        let names: Vec<String> = names.map(str::to_owned).collect();
        (names.concat(), turn.ends_s())
    };
    let all = ["a", "b", "c", "d", "e"];
    assert_eq!(chosen(&all[..2], 0), ("ab".to_owned(), None));
    assert_eq!(chosen(&all, 7), ("ab".to_owned(), Some(127)));
    // Others come and go, which moves nothing.
    assert_eq!(chosen(&all[1..], 50), ("bc".to_owned(), Some(127)));
    assert_eq!(chosen(&all[..2], 60), ("ab".to_owned(), None));
    assert_eq!(chosen(&all, 126), ("ab".to_owned(), Some(127)));
    assert_eq!(chosen(&all, 127), ("c".to_owned(), Some(247)));
    assert_eq!(chosen(&all[..4], 128), ("c".to_owned(), Some(247)));
    assert_eq!(
        chosen(&all, 247),
        ("d".to_owned(), Some(367)),
        "too heavy, and alone"
    );
    assert_eq!(chosen(&all, 367), ("ea".to_owned(), Some(487)));
    assert_eq!(chosen(&["b", "c", "d"], 400), ("bc".to_owned(), Some(487)));
}

#[test]
fn a_namespace_with_thousands_of_jobs_leaves_another_its_turn_whoever_came_first() {
    for few_created_s in [-1, 1 << 20] {
        let mut cluster = Cluster::default();
        for nth in 0..3000 {
            cluster = cluster.with(group(&format!("much-{nth}"), 1).created_s(nth));
        }
        for name in ["few-1", "few-2"] {
            let group = group(name, 1).created_s(few_created_s);
            cluster = cluster.with(group.namespace("other"));
        }
        let state = cluster.state();
        let much: Vec<String> = (0..3000).map(|nth| format!("much-{nth}")).collect();
        let of = |namespace, name: &str| {
            state
                .population()
                .job_by_key(namespace, name)
                .expect("a job")
        };
        let mut all: Vec<JobIx> = much.iter().map(|name| of("ns", name)).collect();
        all.extend(["few-1", "few-2"].map(|name| of("other", name)));
        let mut turn = Turn::default();
        let mut much = BTreeSet::new();
        for nth in 0..3 {
            let chosen = turn.choose(&state, all.iter().copied(), (1002, nth * 120), |_| 1);
            let names = chosen.iter().map(|job| state.job(*job).group_name());
            let (few, others): (Vec<&str>, Vec<&str>) =
                names.partition(|name| name.starts_with("few"));
            assert_eq!(few, ["few-1", "few-2"]);
            assert_eq!(others.len(), 1000);
            much.extend(others.into_iter().map(str::to_owned));
        }
        assert_eq!(much.len(), 3000, "all have had their turn");
    }
}
