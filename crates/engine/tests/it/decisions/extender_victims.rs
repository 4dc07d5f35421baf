//! Whom an extender lets go (spec/02 §23.6): nobody goes before it has answered, and only whom it named.

use std::sync::Arc;

use pumice_model::Delta;
use pumice_model::extender::{
    ExtenderAnswer, ExtenderQuestion, ExtenderVerb, QuestionAbout, StandingQuestion, ToldPod,
};

use super::cluster::*;
use super::victims::{self, Plans, ranked, runs};

/// Who goes is decided by priority and an extender with these arguments.
fn conf(arguments: &str) -> String {
    format!(
        "actions: \"enqueue, allocate, preempt\"\ntiers:\n- plugins:\n  - name: priority\n  - name: gang\n    \
         enablePreemptable: false\n  - name: extender\n    arguments: {{extender.urlPrefix: http://ext, \
         {arguments}}}\n- plugins:\n  - name: conformance\n  - name: predicates\n"
    )
}

/// Two nodes with a pod of low priority on each, and one of high priority that waits.
fn full(arguments: &str) -> Cluster {
    let mut cluster = victims::cluster(&conf(arguments))
        .with(victims::small("n1"))
        .with(victims::small("n2"));
    cluster = runs(cluster, "low", "n1", "a", "4c");
    cluster = runs(cluster, "mid", "n2", "b", "4c");
    cluster
        .with(ranked("high", group("new", 1)))
        .with(pod("new", "4c").group("new"))
}

fn says(verb: ExtenderVerb, answer: ExtenderAnswer) -> Delta {
    Delta::ExtenderAnswer {
        question: ExtenderQuestion {
            verb,
            subject: "new".to_owned(),
            uid: String::new(),
        },
        answer: Box::new(answer),
    }
}

fn names(uids: &[&str]) -> ExtenderAnswer {
    let uids = uids.iter().map(|uid| (*uid).to_owned());
    ExtenderAnswer::Victims(Some(uids.collect()))
}

/// The pod a question is about, and those that could go for it.
fn victims_of(asked: &StandingQuestion) -> Option<(&ToldPod, &[Arc<ToldPod>])> {
    match &*asked.about {
        QuestionAbout::Victims {
            evictor,
            candidates,
        } => Some((evictor, candidates)),
        _ => None,
    }
}

/// The pods that could go, as they are told for pod `new`.
fn candidates(cluster: &mut Cluster) -> Vec<String> {
    let sheet = cluster.engine.question_sheet();
    assert_eq!(sheet.questions.len(), 1);
    let asked = &sheet.questions[0];
    let (evictor, candidates) = victims_of(asked).expect("it is about victims");
    assert_eq!((&*evictor.name, &*asked.question.subject), ("new", "new"));
    let names = candidates.iter().map(|pod| pod.name.clone());
    names.collect()
}

#[test]
fn nobody_goes_before_the_extender_has_answered_and_then_whom_it_named() {
    let mut cluster = full("extender.preemptableVerb: p");
    assert_eq!(cluster.plan(), [""; 0]);
    assert_eq!(candidates(&mut cluster), ["a", "b"], "cheapest first");
    cluster.apply(says(ExtenderVerb::Preemptable, names(&[])));
    assert_eq!(cluster.plan(), [""; 0], "it names nobody");
    cluster.apply(says(ExtenderVerb::Preemptable, names(&["b"])));
    assert_eq!(cluster.plan(), ["-b", "new (n2)"], "not the cheapest");
}

#[test]
fn of_very_many_who_could_go_the_cheapest_are_told() {
    let mut cluster = victims::cluster(&conf("extender.preemptableVerb: p"))
        .with(node("n1", "600c 999Gi pods=600"))
        .with(ranked("high", group("new", 1)))
        .with(pod("new", "100c").group("new"));
    for at in 0..520 {
        // The first ones are of higher priority.
        let one = pod(&format!("p{at:03}"), "1c");
        let class = if at < 20 { "mid" } else { "low" };
        let one = one.priority_class(class);
        cluster.apply(one.on("n1"));
    }
    cluster.plan();
    let told = candidates(&mut cluster);
    assert_eq!(told.len(), 512);
    let first: Vec<&str> = told[..500].iter().map(|name| &name[..]).collect();
    assert!(!first.contains(&"p000") && first.contains(&"p020"));
}

#[test]
fn without_an_opinion_others_decide() {
    let mut cluster = full("extender.preemptableVerb: p");
    cluster.plan();
    let none = ExtenderAnswer::Victims(None);
    cluster.apply(says(ExtenderVerb::Preemptable, none));
    assert_eq!(cluster.plan(), ["-a", "new (n1)"]);
}

#[test]
fn where_it_fails_nobody_goes_unless_it_is_ignorable() {
    let failed = || ExtenderAnswer::Failed("down".to_owned());
    for (ignorable, plan) in [(false, &[][..]), (true, &["-a", "new (n1)"])] {
        let arguments = format!("extender.preemptableVerb: p, extender.ignorable: {ignorable}");
        let mut cluster = full(&arguments);
        cluster.plan();
        cluster.apply(says(ExtenderVerb::Preemptable, failed()));
        assert_eq!(cluster.plan(), plan);
    }
}

#[test]
fn it_has_no_word_on_pods_that_ask_for_nothing_it_manages() {
    let managed = "extender.preemptableVerb: p, extender.managedResources: [example.com/x]";
    assert_eq!(full(managed).plan(), ["-a", "new (n1)"]);
}

#[test]
fn whom_others_protect_does_not_go_because_the_extender_names_him() {
    let mut cluster = full("extender.preemptableVerb: p")
        .with(ranked("high", group("c", 1)))
        .with(victims::small("n3"));
    cluster.apply(pod("c", "4c").group("c").on("n3"));
    cluster.plan();
    cluster.apply(says(ExtenderVerb::Preemptable, names(&["c"])));
    assert_eq!(cluster.plan(), [""; 0], "it is of the same priority");
}

#[test]
fn who_may_go_is_not_asked_where_nobody_goes() {
    let text = conf("extender.preemptableVerb: p, extender.reclaimableVerb: r");
    let mut cluster = victims::cluster(&text.replace(", preempt", ""))
        .with(victims::small("n1"))
        .with(pod("new", "9c"));
    cluster.plan();
    assert!(!cluster.engine.has_questions());
}

#[test]
fn reclaim_takes_only_what_the_extender_names() {
    let text = "actions: \"enqueue, allocate, reclaim\"\ntiers:\n- plugins:\n  - name: priority\n  - name: gang\n    \
         enableReclaimable: false\n  - name: extender\n    arguments: {extender.urlPrefix: http://ext, \
         extender.reclaimableVerb: r}\n- plugins:\n  - name: conformance\n  - name: predicates\n  - name: proportion\n";
    let named = |name: &str| queue(name).uid(name);
    let mut cluster = victims::cluster(text)
        .with(victims::small("n1"))
        .with(victims::small("n2"))
        .with(named("q"));
    cluster = runs(cluster, "low", "n1", "a", "4c");
    cluster = runs(cluster, "mid", "n2", "b", "4c");
    let mut waits = group("new", 1);
    waits.queue = "q".to_owned();
    let mut cluster = cluster.with(waits).with(pod("new", "4c").group("new"));
    assert_eq!(cluster.plan(), [""; 0]);
    assert_eq!(candidates(&mut cluster), ["a", "b"]);
    cluster.apply(says(ExtenderVerb::Reclaimable, names(&["b"])));
    assert_eq!(cluster.plan(), ["-b", "new (n2)"]);
}

#[test]
fn of_several_queues_the_cheapest_are_told_and_none_of_those_that_keep_theirs() {
    let text = conf("extender.reclaimableVerb: r").replace("preempt\"", "reclaim\"");
    let named = |name: &str, reclaimable: bool| queue(name).uid(name).reclaimable(reclaimable);
    let mut cluster = victims::cluster(&text)
        .with(node("n1", "20c 99Gi pods=99"))
        .with(named("own", true))
        .with(named("left", true))
        .with(named("right", true))
        .with(named("kept", false));
    let all = [
        ("left", "mid", "c"),
        ("right", "low", "b"),
        ("left", "low", "a"),
        ("own", "low", "own"),
        ("kept", "low", "kept"),
    ];
    for (queue, class, name) in all {
        let mut of = ranked(class, group(name, 1));
        of.queue = queue.to_owned();
        let pod = pod(name, "4c").group(name).on("n1");
        cluster = cluster.with(of).with(pod);
    }
    let mut waits = group("new", 1);
    waits.queue = "own".to_owned();
    let mut cluster = cluster.with(waits).with(pod("new", "4c").group("new"));
    assert_eq!(cluster.plan(), [""; 0]);
    assert_eq!(candidates(&mut cluster), ["a", "b", "c"]);
}

#[test]
fn who_could_go_is_found_anew_only_when_something_has_changed() {
    let mut cluster = full("extender.preemptableVerb: p");
    cluster.plan();
    let mut about = || cluster.engine.question_sheet().questions[0].about.clone();
    let first = about();
    assert!(Arc::ptr_eq(&first, &about()), "nothing has");
    cluster.apply(Delta::PodDelete("a".to_owned()));
    assert_eq!(candidates(&mut cluster), ["b"]);
}

/// Something that happens: a pod comes or goes, or the extender says who may go.
fn happening(dice: &mut Dice, round: u64, cluster: &mut Cluster) -> Delta {
    let name = |number: u64| format!("p{number:02}");
    let asked = cluster.engine.question_sheet().questions;
    match dice.below(3) {
        0 => {
            let class = ["low", "mid", "high"][dice.below(3) as usize];
            let request = ["1c", "2c", "3c"][dice.below(3) as usize];
            let mut pod = pod(&name(round), request);
            pod.priority_class = class.to_owned();
            pod.priority = [("low", 10), ("mid", 50), ("high", 100)]
                .into_iter()
                .find(|(known, _)| *known == class)
                .map_or(0, |(_, value)| value);
            pod.delta()
        }
        1 if dice.below(3) == 0 => Delta::PodDelete(name(dice.below(round + 1))),
        _ if asked.is_empty() => Delta::PodDelete(String::new()),
        _ => {
            let asked = &asked[dice.below(asked.len() as u64) as usize];
            let (_, candidates) = victims_of(asked).expect("it is about victims");
            let uids = candidates.iter().map(|pod| pod.uid.clone());
            let mut uids: Vec<String> = uids.filter(|_| dice.below(3) > 0).collect();
            uids.sort();
            let answer = match dice.below(8) {
                0 => ExtenderAnswer::Victims(None),
                1 => ExtenderAnswer::Failed("down".to_owned()),
                _ => ExtenderAnswer::Victims(Some(uids)),
            };
            Delta::ExtenderAnswer {
                question: asked.question.clone(),
                answer: Box::new(answer),
            }
        }
    }
}

/// Cycles until nothing changes any more, in which those who are to go are gone at once.
fn settled(cluster: &mut Cluster) -> Vec<String> {
    let mut lines = Vec::new();
    for _ in 0..50 {
        let plan = cluster.plan();
        if plan.is_empty() {
            return lines;
        }
        for gone in plan.iter().filter_map(|line| line.strip_prefix('-')) {
            cluster.gone(gone);
        }
        lines.extend(plan);
    }
    assert_eq!(lines, [""; 0], "it does not end");
    lines
}

#[test]
fn who_sleeps_would_get_nothing_whomever_the_extender_lets_go() {
    let mut evicted = 0;
    for seed in 0..40 {
        let mut dice = Dice(seed);
        let [mut sleeps, mut tries] = [Some(i64::MAX), None].map(|interval_s| {
            let mut cluster = victims::cluster(&conf("extender.preemptableVerb: p"))
                .with(victims::small("n1"))
                .with(victims::small("n2"));
            cluster.engine.set_full_check_interval_s(interval_s);
            cluster
        });
        for round in 0..60 {
            let news = happening(&mut dice, round, &mut sleeps);
            let _ = tries.engine.question_sheet();
            sleeps.apply(news.clone());
            tries.apply(news);
            let lines = settled(&mut sleeps);
            assert_eq!(lines, settled(&mut tries), "seed {seed}, round {round}");
            let going = lines.iter().filter(|line| line.starts_with('-'));
            evicted += going.count();
        }
    }
    assert!(evicted > 30, "{evicted}");
}
