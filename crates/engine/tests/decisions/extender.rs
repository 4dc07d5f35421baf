//! An extender: what it is asked, and what its answers do. Nobody waits for one that is slow but those it
//! has a word on.

use pumice_model::extender::{
    ExtenderAnswer, ExtenderQuestion, ExtenderVerb, NodeWord, QuestionAbout, QuestionSheet,
    StandingQuestion,
};
use pumice_model::object::{PodObject, QueueObject};
use pumice_model::{Delta, State};

use crate::cluster::*;
use crate::victims::{self, PREEMPT, Plans, ranked};

const URL: &str = "http://ext:8713";

/// Gangs, nodes and an extender with these arguments.
fn conf(arguments: &str) -> String {
    format!(
        "actions: \"enqueue, allocate, backfill\"\ntiers:\n- plugins:\n  - name: gang\n  - name: \
         predicates\n  - name: extender\n    arguments: {{extender.urlPrefix: \"{URL}/\", {arguments}}}\n"
    )
}

fn verbs(names: &[&str]) -> String {
    let argument = |name: &&str| format!("extender.{name}Verb: {name}");
    let all: Vec<String> = names.iter().map(argument).collect();
    all.join(", ")
}

/// Two nodes for three pods each, and an extender that is asked this.
fn asking(names: &[&str]) -> Cluster {
    under(&verbs(names))
}

fn under(arguments: &str) -> Cluster {
    let mut cluster = Cluster::under(&conf(arguments))
        .node(node("n1", "3c 8Gi pods=9"))
        .node(node("n2", "3c 8Gi pods=9"));
    cluster.engine.set_full_check_interval_s(Some(i64::MAX));
    cluster
}

fn answered(verb: ExtenderVerb, subject: &str, answer: ExtenderAnswer) -> Delta {
    Delta::ExtenderAnswer {
        question: ExtenderQuestion {
            verb,
            subject: subject.to_owned(),
        },
        answer: Box::new(answer),
    }
}

fn failed(verb: ExtenderVerb, subject: &str) -> Delta {
    let why = "no answer within 1s".to_owned();
    answered(verb, subject, ExtenderAnswer::Failed(why))
}

/// What is said of nodes `n1` and `n2`.
fn nodes(n1: NodeWord, n2: NodeWord) -> ExtenderAnswer {
    ExtenderAnswer::Nodes(vec![("n1".to_owned(), n1), ("n2".to_owned(), n2)])
}

fn refused(why: &str) -> NodeWord {
    NodeWord::Refused(why.to_owned())
}

/// Cycles until nothing changes any more: who was bound, in order.
fn settled(cluster: &mut Cluster) -> Vec<String> {
    let mut bound = Vec::new();
    loop {
        let decisions = cluster.decide();
        bound.extend(cluster.accept(&decisions));
        if decisions.settled {
            return bound;
        }
    }
}

/// The questions that stand, as `verb subject`.
fn questions(cluster: &mut Cluster) -> Vec<String> {
    let sheet = cluster.engine.question_sheet();
    let line = |asked: &StandingQuestion| {
        format!("{} {}", asked.question.verb.name(), asked.question.subject)
    };
    sheet.questions.iter().map(line).collect()
}

fn of_gang(name: &str, request: &str) -> PodObject {
    member("g", pod(name, request))
}

#[test]
fn a_pod_waits_for_the_extender_and_nobody_else_does() {
    let managed = "extender.predicateVerb: predicate, extender.managedResources: [example.com/x]";
    let mut cluster = under(managed)
        .node(node("n2", "3c 8Gi pods=9 example.com/x=4"))
        .pod(pod("a", "1c example.com/x=1"))
        .pod(pod("b", "1c"));
    assert_eq!(settled(&mut cluster), ["b n1"]);
    let (reason, why) = cluster.why("a");
    assert_eq!(reason, "Unschedulable");
    let says = format!("2 the extender at {URL} has not answered predicate yet");
    assert!(why.contains(&says), "{why}");
    assert_eq!(questions(&mut cluster), ["predicate a"]);
    let said = nodes(refused("no"), NodeWord::Fits);
    cluster.apply(answered(ExtenderVerb::Predicate, "a", said));
    assert_eq!(settled(&mut cluster), ["a n2"]);
    assert_eq!(questions(&mut cluster), [""; 0], "nobody waits any more");
    let mut known = cluster.engine.state().extender_answers().all();
    assert_eq!(known.next(), None, "the answer is forgotten");
}

#[test]
fn what_the_extender_says_of_nodes_is_told_in_its_words() {
    let mut cluster = asking(&["predicate"]).pod(pod("a", "1c"));
    settled(&mut cluster);
    let said = nodes(refused("too old"), refused("too loud"));
    cluster.apply(answered(ExtenderVerb::Predicate, "a", said));
    assert_eq!(settled(&mut cluster), [""; 0]);
    let (_, why) = cluster.why("a");
    let says = format!(
        "1 too loud (said by the extender at {URL}), 1 too old (said by the extender at {URL})"
    );
    assert!(why.contains(&says), "{why}");
}

#[test]
fn a_node_that_came_after_the_answer_takes_no_pod_before_the_next_one() {
    let mut cluster = asking(&["predicate"]).pod(pod("a", "1c"));
    settled(&mut cluster);
    let said = nodes(refused("no"), refused("no"));
    cluster.apply(answered(ExtenderVerb::Predicate, "a", said));
    settled(&mut cluster);
    cluster.apply(Delta::NodeApply(Box::new(node("n0", "3c 8Gi pods=9"))));
    assert_eq!(settled(&mut cluster), [""; 0]);
    let (_, why) = cluster.why("a");
    let says = format!("1 the extender at {URL} has not answered predicate yet");
    assert!(why.contains(&says), "{why}");
    let said = vec![("n0".to_owned(), NodeWord::Fits)];
    let said = ExtenderAnswer::Nodes(said);
    cluster.apply(answered(ExtenderVerb::Predicate, "a", said));
    assert_eq!(settled(&mut cluster), ["a n0"]);
}

#[test]
fn pods_of_a_job_that_are_alike_are_asked_about_once_and_share_the_answer() {
    let mut cluster = asking(&["predicate"])
        .group(group("g", 3))
        .pod(of_gang("g-0", "1c"))
        .pod(of_gang("g-1", "1c"))
        .pod(of_gang("g-2", "2c"));
    assert_eq!(settled(&mut cluster), [""; 0]);
    assert_eq!(questions(&mut cluster), ["predicate g-0", "predicate g-2"]);
    let said = nodes(NodeWord::Fits, refused("no"));
    cluster.apply(answered(ExtenderVerb::Predicate, "g-0", said));
    assert_eq!(settled(&mut cluster), [""; 0], "a gang starts as a whole");
    let said = nodes(refused("no"), NodeWord::Fits);
    cluster.apply(answered(ExtenderVerb::Predicate, "g-2", said));
    assert_eq!(settled(&mut cluster), ["g-0 n1", "g-1 n1", "g-2 n2"]);
}

#[test]
fn an_answer_counts_until_the_next_one() {
    let mut cluster = asking(&["predicate"]).pod(pod("a", "9c"));
    settled(&mut cluster);
    let said = nodes(NodeWord::Fits, refused("no"));
    cluster.apply(answered(ExtenderVerb::Predicate, "a", said));
    assert_eq!(settled(&mut cluster), [""; 0], "no node is large enough");
    assert_eq!(questions(&mut cluster), ["predicate a"], "it stands");
    let said = nodes(refused("no"), NodeWord::Fits);
    cluster.apply(answered(ExtenderVerb::Predicate, "a", said));
    settled(&mut cluster);
    for name in ["n1", "n2"] {
        cluster.apply(Delta::NodeApply(Box::new(node(name, "9c 8Gi pods=9"))));
    }
    assert_eq!(settled(&mut cluster), ["a n2"]);
}

#[test]
fn scores_of_the_extender_are_added_as_they_are() {
    let mut cluster = asking(&["prioritize"]).pod(pod("a", "1c"));
    assert_eq!(settled(&mut cluster), [""; 0]);
    let scores = vec![("n1".to_owned(), 0.25), ("n2".to_owned(), 0.5)];
    let said = ExtenderAnswer::Scores(scores);
    cluster.apply(answered(ExtenderVerb::Prioritize, "a", said));
    assert_eq!(settled(&mut cluster), ["a n2"]);
}

#[test]
fn an_error_in_an_answer_counts_even_where_the_extender_is_ignorable() {
    let mut cluster =
        under("extender.prioritizeVerb: p, extender.ignorable: true").pod(pod("a", "1c"));
    settled(&mut cluster);
    let said = ExtenderAnswer::Error("out of order".to_owned());
    cluster.apply(answered(ExtenderVerb::Prioritize, "a", said));
    assert_eq!(settled(&mut cluster), [""; 0]);
    let (_, why) = cluster.why("a");
    let says = format!("prioritize: out of order (said by the extender at {URL})");
    assert!(why.contains(&says), "{why}");
}

/// A pod in a group of one that is admitted in its turn.
fn queued(arguments: &str) -> Cluster {
    let mut asks = group("g", 1);
    asks.min_resources = Some(amounts("1c"));
    let mut cluster = under(arguments)
        .group(waiting(asks))
        .pod(of_gang("a", "1c"));
    assert_eq!(settled(&mut cluster), [""; 0]);
    cluster
}

/// A verb, whom it is about, and what agreement is.
fn all_verbs() -> [(ExtenderVerb, &'static str, ExtenderAnswer); 5] {
    let fits = || NodeWord::Fits;
    let scores = vec![("n1".to_owned(), 1.0), ("n2".to_owned(), 0.0)];
    [
        (ExtenderVerb::Predicate, "a", nodes(fits(), fits())),
        (
            ExtenderVerb::Prioritize,
            "a",
            ExtenderAnswer::Scores(scores),
        ),
        (
            ExtenderVerb::JobEnqueueable,
            "ns/g",
            ExtenderAnswer::Vote(1),
        ),
        (ExtenderVerb::JobReady, "ns/g", ExtenderAnswer::Flag(true)),
        (
            ExtenderVerb::QueueOverused,
            "default",
            ExtenderAnswer::Flag(false),
        ),
    ]
}

#[test]
fn every_verb_is_asked_and_what_it_keeps_back_goes_on_with_the_answer() {
    for (verb, subject, agrees) in all_verbs() {
        let name = verb.name();
        let mut cluster = queued(&verbs(&[name]));
        assert_eq!(questions(&mut cluster), [format!("{name} {subject}")]);
        let (_, why) = cluster.why("a");
        let says = format!("the extender at {URL} has not answered {name} yet");
        assert!(why.contains(&says), "{why}");
        cluster.apply(answered(verb, subject, agrees));
        assert_eq!(settled(&mut cluster), ["a n1"], "{name}");
    }
}

#[test]
fn a_refusal_of_any_verb_is_told_and_counts_until_the_extender_agrees() {
    let refusals = [
        (nodes(refused("no"), refused("no")), "no (said by"),
        (
            ExtenderAnswer::Error("no".to_owned()),
            "prioritize: no (said by",
        ),
        (
            ExtenderAnswer::Vote(-1),
            "it does not admit the job (said by",
        ),
        (ExtenderAnswer::Flag(false), "the job is not ready (said by"),
        (ExtenderAnswer::Flag(true), "the queue is overused (said by"),
    ];
    for ((verb, subject, agrees), (refuses, says)) in all_verbs().into_iter().zip(refusals) {
        let mut cluster = queued(&verbs(&[verb.name()]));
        cluster.apply(answered(verb, subject, refuses));
        assert_eq!(settled(&mut cluster), [""; 0], "{}", verb.name());
        let (_, why) = cluster.why("a");
        assert!(why.contains(says), "{why}");
        cluster.apply(answered(verb, subject, agrees));
        assert_eq!(settled(&mut cluster), ["a n1"], "{}", verb.name());
    }
}

#[test]
fn an_extender_that_fails_holds_up_what_it_is_asked_about_unless_it_is_ignorable() {
    for (verb, subject, _) in all_verbs() {
        let name = verb.name();
        let mut cluster = queued(&verbs(&[name]));
        cluster.apply(failed(verb, subject));
        assert_eq!(settled(&mut cluster), [""; 0], "{name}");
        let (_, why) = cluster.why("a");
        let says =
            format!("the extender at {URL} could not be asked for {name}: no answer within 1s");
        assert!(why.contains(&says), "{why}");
        let mut cluster = queued(&format!("{}, extender.ignorable: true", verbs(&[name])));
        cluster.apply(failed(verb, subject));
        assert_eq!(settled(&mut cluster), ["a n1"], "{name}");
    }
}

#[test]
fn a_queue_the_extender_keeps_back_lets_other_queues_go_on() {
    let mut cluster = asking(&["queueOverused"]).queue(queue("q"));
    let named = |name: &str, queue: &str| PodObject {
        queue: Some(queue.to_owned()),
        ..pod(name, "1c")
    };
    cluster.apply(Delta::PodApply(Box::new(named("a", "default"))));
    cluster.apply(Delta::PodApply(Box::new(named("b", "q"))));
    settled(&mut cluster);
    let lines = ["queueOverused default", "queueOverused q"];
    assert_eq!(questions(&mut cluster), lines);
    let no = ExtenderAnswer::Flag(false);
    cluster.apply(answered(ExtenderVerb::QueueOverused, "q", no));
    assert_eq!(settled(&mut cluster), ["b n1"]);
}

#[test]
fn a_switch_that_is_off_leaves_its_verb_unasked() {
    let text = conf(&verbs(&["predicate", "jobReady"]));
    let text = text.replace(
        "name: extender\n",
        "name: extender\n    enablePredicate: false\n",
    );
    let mut cluster = Cluster::under(&text)
        .node(node("n1", "3c 8Gi pods=9"))
        .group(group("g", 1))
        .pod(of_gang("a", "1c"));
    settled(&mut cluster);
    assert_eq!(questions(&mut cluster), ["jobReady ns/g"]);
}

#[test]
fn a_dump_has_the_answers() {
    let mut cluster = asking(&["predicate"]).pod(pod("a", "9c"));
    settled(&mut cluster);
    let said = nodes(NodeWord::Fits, refused("no"));
    cluster.apply(answered(ExtenderVerb::Predicate, "a", said.clone()));
    settled(&mut cluster);
    let mut copy = State::new("default");
    let dump = cluster.engine.state().dump();
    dump.into_iter().for_each(|delta| copy.apply(delta));
    let known = copy.extender_answers().find(ExtenderVerb::Predicate, "a");
    assert_eq!(known.map(|(_, answer)| answer), Some(&said));
}

#[test]
fn another_extender_has_said_nothing_yet() {
    let mut cluster = asking(&["predicate"]).pod(pod("a", "1c"));
    settled(&mut cluster);
    let text = conf(&verbs(&["predicate"])).replace(URL, "http://other");
    let other = pumice_conf::parse(&text, &pumice_engine::REGISTRY).config;
    let said = nodes(NodeWord::Fits, NodeWord::Fits);
    cluster.apply(answered(ExtenderVerb::Predicate, "a", said));
    cluster.engine.reconfigure(&other.expect("a configuration"));
    assert_eq!(settled(&mut cluster), [""; 0]);
}

#[test]
fn more_questions_than_may_stand_have_their_turns() {
    let mut cluster = asking(&["jobReady"]);
    for at in 0..300 {
        cluster.apply(Delta::PodApply(Box::new(pod(&format!("p{at:03}"), "1c"))));
    }
    let mut asked = |now_s: i64| {
        while !cluster.engine.cycle(now_s).settled {}
        let questions = questions(&mut cluster);
        (questions.len(), questions[0].clone())
    };
    let key = |at: usize| format!("jobReady ns/podgroup-p{at:03}");
    assert_eq!(asked(0), (128, key(0)));
    assert_eq!(asked(119), (128, key(0)));
    assert_eq!(asked(120), (128, key(128)));
    assert_eq!(asked(240), (44, key(256)));
    assert_eq!(asked(360), (128, key(0)));
}

fn sheet_of(cluster: &mut Cluster) -> QuestionSheet {
    settled(cluster);
    cluster.engine.question_sheet()
}

#[test]
fn the_extender_is_told_of_pods_nodes_jobs_and_queues_as_they_are() {
    let all = ["predicate", "jobReady", "queueOverused"];
    let mut cluster = asking(&all)
        .queue(QueueObject {
            weight: 7,
            ..queue("default")
        })
        .group(group("g", 2))
        .pod(of_gang("a", "1c"))
        .pod(on("n2", pod("other", "2c")));
    let sheet = sheet_of(&mut cluster);
    let about: Vec<&QuestionAbout> = sheet.questions.iter().map(|asked| &*asked.about).collect();
    let [
        QuestionAbout::Queue(queue),
        QuestionAbout::Job(job),
        QuestionAbout::Pod(pod),
    ] = about[..]
    else {
        panic!("{about:?}")
    };
    assert_eq!((queue.weight, job.min_available), (7, 2));
    assert_eq!((&*job.key, &*pod.job), ("ns/g", "ns/g"));
    assert_eq!(job.pods, [(**pod).clone()]);
    let cpu = |amounts: &[(String, i64)]| {
        let cpu = amounts.iter().find(|(name, _)| name == "cpu");
        cpu.map_or(0, |(_, amount)| *amount)
    };
    assert_eq!(cpu(&pod.request), 1000);
    let n2 = &sheet.nodes[1];
    assert_eq!(
        (cpu(&n2.used), cpu(&n2.idle), cpu(&n2.total)),
        (2000, 1000, 3000)
    );
    let on_it: Vec<&str> = n2.pods.iter().map(|pod| &*pod.name).collect();
    assert_eq!(on_it, ["other"]);
    // Only what changed is told anew.
    cluster.apply(Delta::PodDelete("other".to_owned()));
    let new = sheet_of(&mut cluster);
    assert!(std::sync::Arc::ptr_eq(&new.nodes[0], &sheet.nodes[0]));
    assert_eq!(new.nodes[1].pods, []);
}

#[test]
fn nobody_is_evicted_against_a_refusal_of_the_extender() {
    let arguments = format!(
        "{{extender.urlPrefix: \"{URL}\", {}}}",
        verbs(&["predicate"])
    );
    let text = format!("{PREEMPT}  - name: extender\n    arguments: {arguments}\n");
    for (says, plan) in [
        (refused("no"), &[][..]),
        (NodeWord::Fits, &["-old", "new (n1)"]),
    ] {
        let mut cluster = victims::cluster(&text)
            .node(node("n1", "3c 8Gi pods=9"))
            .group(ranked("low", group("l", 1)))
            .group(ranked("high", group("h", 1)))
            .pod(on("n1", member("l", pod("old", "3c"))))
            .pod(member("h", pod("new", "3c")));
        assert_eq!(cluster.plan(), [""; 0], "it has not answered");
        let said = ExtenderAnswer::Nodes(vec![("n1".to_owned(), says)]);
        cluster.apply(answered(ExtenderVerb::Predicate, "new", said));
        assert_eq!(cluster.plan(), plan);
    }
}

/// Something that happens: a pod comes or goes, or the extender answers a question that stands.
fn happening(dice: &mut Dice, round: u64, asked: &[StandingQuestion]) -> Delta {
    let name = |number: u64| format!("p{number:02}");
    match dice.below(4) {
        0 => {
            let managed = ["1c", "1c example.com/x=1", "2c example.com/x=1"];
            let request = managed[dice.below(3) as usize];
            let one = pod(&name(round), request);
            let queue = ["default", "q"][dice.below(2) as usize].to_owned();
            Delta::PodApply(Box::new(PodObject {
                queue: Some(queue),
                ..one
            }))
        }
        1 => Delta::PodDelete(name(dice.below(round + 1))),
        _ if asked.is_empty() => Delta::PodDelete(String::new()),
        _ => {
            let question = &asked[dice.below(asked.len() as u64) as usize].question;
            let yes = dice.below(3) > 0;
            let mut word = || match dice.below(2) {
                0 => NodeWord::Fits,
                _ => refused("no"),
            };
            let answer = match question.verb {
                _ if round.is_multiple_of(7) => ExtenderAnswer::Failed("down".to_owned()),
                ExtenderVerb::Predicate => nodes(word(), word()),
                ExtenderVerb::Prioritize => {
                    ExtenderAnswer::Scores(vec![("n2".to_owned(), round as f64)])
                }
                ExtenderVerb::JobEnqueueable => ExtenderAnswer::Vote(i64::from(yes)),
                ExtenderVerb::JobReady => ExtenderAnswer::Flag(yes),
                ExtenderVerb::QueueOverused => ExtenderAnswer::Flag(!yes),
            };
            answered(question.verb, &question.subject, answer)
        }
    }
}

#[test]
fn who_sleeps_would_get_nothing_whatever_the_extender_says() {
    let arguments = format!(
        "{}, extender.managedResources: [example.com/x]",
        verbs(&["predicate", "prioritize", "jobReady", "queueOverused"])
    );
    let mut bound = 0;
    for seed in 0..60 {
        let mut dice = Dice(seed);
        let [mut sleeps, mut tries] = [Some(i64::MAX), None].map(|interval_s| {
            let mut cluster = under(&arguments)
                .node(node("n1", "3c 8Gi pods=9 example.com/x=3"))
                .node(node("n2", "3c 8Gi pods=9 example.com/x=3"))
                .queue(queue("q"));
            cluster.engine.set_full_check_interval_s(interval_s);
            cluster
        });
        for round in 0..90 {
            let asked = sleeps.engine.question_sheet().questions;
            assert_eq!(
                asked,
                tries.engine.question_sheet().questions,
                "seed {seed}"
            );
            let news = happening(&mut dice, round, &asked);
            sleeps.apply(news.clone());
            tries.apply(news);
            let lines = settled(&mut sleeps);
            assert_eq!(lines, settled(&mut tries), "seed {seed}, round {round}");
            bound += lines.len();
        }
    }
    assert!(bound > 100, "{bound}");
}
