//! What an extender said is kept by question, and told to whom it concerns.

use pumice_model::extender::{ExtenderAnswer, ExtenderQuestion, ExtenderVerb};
use pumice_model::object::PodObject;
use pumice_model::{Delta, State};

fn answered(verb: ExtenderVerb, subject: &str, flag: bool) -> Delta {
    Delta::ExtenderAnswer {
        question: ExtenderQuestion {
            verb,
            subject: subject.to_owned(),
        },
        answer: Box::new(ExtenderAnswer::Flag(flag)),
    }
}

/// A pod `p` without PodGroup.
fn state() -> State {
    let mut state = State::new("default");
    state.apply(Delta::PodApply(Box::new(PodObject {
        namespace: "ns".to_owned(),
        name: "p".to_owned(),
        uid: "p".to_owned(),
        ours: true,
        ..PodObject::default()
    })));
    state.seal();
    state.take_roused_jobs();
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
        let before = (state.generation(), state.upheavals());
        state.apply(answered(verb, subject, true));
        assert!(state.generation() > before.0);
        assert_eq!(state.upheavals(), before.1, "others sleep on");
        let roused = state.take_roused_jobs().expect("few");
        assert_eq!(roused.len(), jobs, "{subject}");
        let before = state.generation();
        state.apply(answered(verb, subject, true));
        assert_eq!(state.generation(), before);
        let known = state.extender_answers().find(verb, subject);
        let (serial, _) = known.expect("an answer");
        state.apply(answered(verb, subject, false));
        assert!(state.extender_answers().by_serial(serial).is_none());
        let known = state.extender_answers().find(verb, subject);
        assert_eq!(
            known.map(|(_, answer)| answer),
            Some(&ExtenderAnswer::Flag(false))
        );
    }
}

#[test]
fn what_is_said_of_a_queue_concerns_everybody() {
    let mut state = state();
    let before = state.upheavals();
    state.apply(answered(ExtenderVerb::QueueOverused, "default", true));
    assert!(state.upheavals() > before);
    let before = state.upheavals();
    state.keep_answers(|_| true);
    assert_eq!(state.upheavals(), before);
    state.keep_answers(|_| false);
    assert!(state.upheavals() > before, "it counts no more");
    assert_eq!(state.extender_answers().all().count(), 0);
}
