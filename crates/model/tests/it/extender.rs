//! What an extender said is kept by question, and told to whom it concerns.

use pumice_fixtures::{ToDelta as _, pod};
use pumice_model::extender::{ExtenderAnswer, ExtenderQuestion, ExtenderVerb};
use pumice_model::{Delta, State};

fn question(verb: ExtenderVerb, subject: &str) -> ExtenderQuestion {
    let uid = match verb {
        ExtenderVerb::JobReady => subject.trim_start_matches("ns/"),
        _ => "",
    };
    ExtenderQuestion {
        verb,
        subject: subject.to_owned(),
        uid: uid.to_owned(),
    }
}

fn answered(verb: ExtenderVerb, subject: &str, flag: bool) -> Delta {
    Delta::ExtenderAnswer {
        question: question(verb, subject),
        answer: Box::new(ExtenderAnswer::Flag(flag)),
    }
}

/// A pod `p` without PodGroup.
fn state() -> State {
    let mut state = State::new("default");
    state.apply(pod("p", "").delta());
    state.seal();
    state.changes().take_roused_jobs();
    state
}

#[test]
fn only_news_is_a_change_and_it_concerns_the_job() {
    use ExtenderVerb::{JobReady, Predicate};
    for (verb, subject, jobs) in [
        (JobReady, "ns/podgroup-p", 1),
        (Predicate, "p", 1),
        (JobReady, "ns/other", 0),
        (Predicate, "other", 0),
    ] {
        let mut state = state();
        let before = (state.journal().generation(), state.journal().upheavals());
        state.apply(answered(verb, subject, true));
        assert!(state.journal().generation() > before.0);
        assert_eq!(state.journal().upheavals(), before.1, "others sleep on");
        let roused = state.changes().take_roused_jobs().expect("few");
        assert_eq!(roused.len(), jobs, "{subject}");
        let before = state.journal().generation();
        state.apply(answered(verb, subject, true));
        assert_eq!(state.journal().generation(), before);
        let known = state
            .supplies()
            .extender_answers()
            .find(&question(verb, subject));
        let (serial, _) = known.expect("an answer");
        state.apply(answered(verb, subject, false));
        assert!(
            state
                .supplies()
                .extender_answers()
                .by_serial(serial)
                .is_none()
        );
        let known = state
            .supplies()
            .extender_answers()
            .find(&question(verb, subject));
        assert_eq!(
            known.map(|(_, answer)| answer),
            Some(&ExtenderAnswer::Flag(false))
        );
    }
}

#[test]
fn what_is_said_of_a_queue_concerns_everybody() {
    let mut state = state();
    let before = state.journal().upheavals();
    state.apply(answered(ExtenderVerb::QueueOverused, "default", true));
    assert!(state.journal().upheavals() > before);
    let before = state.journal().upheavals();
    state.answer_books().keep(|_| true);
    assert_eq!(state.journal().upheavals(), before);
    state.answer_books().keep(|_| false);
    assert!(state.journal().upheavals() > before, "it counts no more");
    assert_eq!(state.supplies().extender_answers().all().count(), 0);
}

#[test]
fn an_answer_about_one_that_was_made_anew_concerns_nobody() {
    let mut state = state();
    let old = ExtenderQuestion {
        uid: "podgroup-older".to_owned(),
        ..question(ExtenderVerb::JobReady, "ns/podgroup-p")
    };
    let answer = Box::new(ExtenderAnswer::Flag(true));
    state.apply(Delta::ExtenderAnswer {
        question: old,
        answer,
    });
    assert_eq!(state.changes().take_roused_jobs(), Some(Vec::new()));
    let job = state.population().job_by_key("ns", "p");
    let job = job.or_else(|| state.population().jobs().next().map(|(ix, _)| ix));
    let of_job = ExtenderQuestion::about_job(
        ExtenderVerb::JobReady,
        state.population(),
        job.expect("a job"),
    );
    assert_eq!(of_job, question(ExtenderVerb::JobReady, "ns/podgroup-p"));
    assert_eq!(state.supplies().extender_answers().find(&of_job), None);
}

#[test]
fn a_node_keeps_its_revision_when_others_come_and_go() {
    let mut state = State::new("default");
    let mut apply = |delta| {
        state.apply(delta);
        state.seal();
        let nodes = state.nodes();
        let all = nodes.indices();
        all.map(|node| (nodes.object(node).name.clone(), nodes.revision(node)))
            .collect::<std::collections::BTreeMap<_, _>>()
    };
    let node = |name: &str, cpu| pumice_fixtures::node(name, &format!("cpu={cpu}")).delta();
    let first = apply(node("b", 1));
    let second = apply(node("a", 1));
    assert_eq!(first["b"], second["b"]);
    let third = apply(node("b", 2));
    assert_eq!(second["a"], third["a"]);
    assert_ne!(second["b"], third["b"]);
    apply(Delta::NodeDelete("a".to_owned()));
    let last = apply(node("a", 1));
    assert_ne!(last["a"], third["a"], "it is another one");
    assert_eq!(last["b"], third["b"]);
}
