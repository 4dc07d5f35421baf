//! What a configuration says of an extender.

use pumice_conf::{Config, parse};
use pumice_model::extender::ExtenderVerb;

use crate::testing::REGISTRY;

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
            "extender.preemptableVerb: p",
            "`extender.preemptableVerb` is part of Volcano but not built",
        ),
        ("extender.onSessionOpenVerb: p", "not built"),
        ("extender.allocateFuncVerb: p", "not built"),
    ] {
        let (config, said) = conf(arguments);
        assert_eq!(config, None, "{arguments}");
        let [only] = &said[..] else {
            panic!("{arguments}: {said:?}")
        };
        assert!(only.contains(says), "{only}");
    }
}
