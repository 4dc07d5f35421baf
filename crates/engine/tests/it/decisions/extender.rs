//! An extender: what it is asked, and what its answers do. Nobody waits for one that is slow but those it
//! has a word on.

use pumice_model::extender::{
    AboutNode, ExtenderAnswer, ExtenderQuestion, ExtenderVerb, NodeWord, QuestionAbout,
    QuestionSheet, StandingQuestion,
};
use pumice_model::{Delta, State};

use super::cluster::*;
use super::victims::{self, PREEMPT, Plans, ranked};

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
        .with(node("n1", "3c 8Gi pods=9"))
        .with(node("n2", "3c 8Gi pods=9"));
    cluster.engine.set_full_check_interval_s(Some(i64::MAX));
    cluster
}

/// The UID of a PodGroup is its name here.
fn answered(verb: ExtenderVerb, subject: &str, answer: ExtenderAnswer) -> Delta {
    let uid = subject.split_once('/').map_or("", |(_, name)| name);
    Delta::ExtenderAnswer {
        question: ExtenderQuestion {
            verb,
            subject: subject.to_owned(),
            uid: uid.to_owned(),
        },
        answer: Box::new(answer),
    }
}

/// What is said of a node, whose UID is its name here.
fn about<T>(node: &str, said: T) -> AboutNode<T> {
    AboutNode {
        node: node.to_owned(),
        uid: node.to_owned(),
        said,
    }
}

fn failed(verb: ExtenderVerb, subject: &str) -> Delta {
    let why = "no answer within 1s".to_owned();
    answered(verb, subject, ExtenderAnswer::Failed(why))
}

/// What is said of nodes `n1` and `n2`.
fn nodes(n1: NodeWord, n2: NodeWord) -> ExtenderAnswer {
    ExtenderAnswer::Nodes(vec![about("n1", n1), about("n2", n2)])
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

#[test]
fn a_pod_waits_for_the_extender_and_nobody_else_does() {
    let managed = "extender.predicateVerb: predicate, extender.managedResources: [example.com/x]";
    let mut cluster = under(managed)
        .with(node("n2", "3c 8Gi pods=9 example.com/x=4"))
        .with(pod("a", "1c example.com/x=1"))
        .with(pod("b", "1c"));
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
    let mut known = cluster.engine.state().supplies().extender_answers().all();
    assert_eq!(known.next(), None, "the answer is forgotten");
}

#[test]
fn what_the_extender_says_of_nodes_is_told_in_its_words() {
    let mut cluster = asking(&["predicate"]).with(pod("a", "1c"));
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
    let mut cluster = asking(&["predicate"]).with(pod("a", "1c"));
    settled(&mut cluster);
    let said = nodes(refused("no"), refused("no"));
    cluster.apply(answered(ExtenderVerb::Predicate, "a", said));
    settled(&mut cluster);
    cluster.apply(node("n0", "3c 8Gi pods=9"));
    assert_eq!(settled(&mut cluster), [""; 0]);
    let (_, why) = cluster.why("a");
    let says = format!("1 the extender at {URL} has not answered predicate yet");
    assert!(why.contains(&says), "{why}");
    let said = ExtenderAnswer::Nodes(vec![about("n0", NodeWord::Fits)]);
    cluster.apply(answered(ExtenderVerb::Predicate, "a", said));
    assert_eq!(settled(&mut cluster), ["a n0"]);
}

#[test]
fn pods_of_a_job_that_are_alike_are_asked_about_once_and_share_the_answer() {
    let mut cluster = asking(&["predicate"])
        .with(group("g", 3))
        .with(pod("g-0", "1c").group("g"))
        .with(pod("g-1", "1c").group("g"))
        .with(pod("g-2", "2c").group("g"));
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
    let mut cluster = asking(&["predicate"]).with(pod("a", "9c"));
    settled(&mut cluster);
    let said = nodes(NodeWord::Fits, refused("no"));
    cluster.apply(answered(ExtenderVerb::Predicate, "a", said));
    assert_eq!(settled(&mut cluster), [""; 0], "no node is large enough");
    assert_eq!(questions(&mut cluster), ["predicate a"], "it stands");
    let said = nodes(refused("no"), NodeWord::Fits);
    cluster.apply(answered(ExtenderVerb::Predicate, "a", said));
    settled(&mut cluster);
    for name in ["n1", "n2"] {
        cluster.apply(node(name, "9c 8Gi pods=9"));
    }
    assert_eq!(settled(&mut cluster), ["a n2"]);
}

#[test]
fn scores_of_the_extender_are_added_as_they_are() {
    let mut cluster = asking(&["prioritize"]).with(pod("a", "1c"));
    assert_eq!(settled(&mut cluster), [""; 0]);
    let scores = vec![about("n1", 0.25), about("n2", 0.5)];
    let said = ExtenderAnswer::Scores(scores);
    cluster.apply(answered(ExtenderVerb::Prioritize, "a", said));
    assert_eq!(settled(&mut cluster), ["a n2"]);
}

#[test]
fn pods_wait_for_scores_even_where_the_extender_refuses_no_node() {
    let conf = conf(&verbs(&["predicate", "prioritize"]));
    let conf = conf.replace(
        "name: extender\n",
        "name: extender\n    enablePredicate: false\n",
    );
    let mut cluster = Cluster::under(&conf)
        .with(node("n1", "3c 8Gi pods=9"))
        .with(node("n2", "3c 8Gi pods=9"))
        .with(pod("a", "1c"));
    assert_eq!(settled(&mut cluster), [""; 0]);
    assert_eq!(questions(&mut cluster), ["prioritize a"]);
    let (_, why) = cluster.why("a");
    let says = format!("2 the extender at {URL} has not answered prioritize yet");
    assert!(why.contains(&says), "{why}");
    let scores = vec![about("n2", 2.5)];
    let said = ExtenderAnswer::Scores(scores);
    cluster.apply(answered(ExtenderVerb::Prioritize, "a", said));
    assert_eq!(settled(&mut cluster), ["a n2"]);
}

#[test]
fn an_error_in_an_answer_counts_even_where_the_extender_is_ignorable() {
    let mut cluster =
        under("extender.prioritizeVerb: p, extender.ignorable: true").with(pod("a", "1c"));
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
        .with(asks.waiting())
        .with(pod("a", "1c").group("g"));
    assert_eq!(settled(&mut cluster), [""; 0]);
    cluster
}

/// A verb, whom it is about, and what agreement is.
fn all_verbs() -> [(ExtenderVerb, &'static str, ExtenderAnswer); 5] {
    let fits = || NodeWord::Fits;
    let scores = vec![about("n1", 1.0), about("n2", 0.0)];
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
    let mut cluster = asking(&["queueOverused"]).with(queue("q"));
    let named = |name: &str, queue: &str| pod(name, "1c").queue(queue);
    cluster.apply(named("a", "default"));
    cluster.apply(named("b", "q"));
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
        .with(node("n1", "3c 8Gi pods=9"))
        .with(group("g", 1))
        .with(pod("a", "1c").group("g"));
    settled(&mut cluster);
    assert_eq!(questions(&mut cluster), ["jobReady ns/g"]);
}

#[test]
fn a_dump_has_the_answers() {
    let mut cluster = asking(&["predicate"]).with(pod("a", "9c"));
    settled(&mut cluster);
    let said = nodes(NodeWord::Fits, refused("no"));
    cluster.apply(answered(ExtenderVerb::Predicate, "a", said.clone()));
    settled(&mut cluster);
    let mut copy = State::new("default");
    let dump = cluster.engine.state().dump();
    dump.into_iter().for_each(|delta| {
        copy.apply(delta);
    });
    let known: Vec<_> = copy.supplies().extender_answers().all().collect();
    let [(question, answer)] = &known[..] else {
        panic!("{known:?}")
    };
    assert_eq!((&*question.subject, *answer), ("a", &said));
}

#[test]
fn another_extender_has_said_nothing_yet() {
    let mut cluster = asking(&["predicate"]).with(pod("a", "1c"));
    settled(&mut cluster);
    let text = conf(&verbs(&["predicate"])).replace(URL, "http://other");
    let other = pumice_conf::parse(&text, &pumice_engine::REGISTRY).config;
    let said = nodes(NodeWord::Fits, NodeWord::Fits);
    cluster.apply(answered(ExtenderVerb::Predicate, "a", said));
    cluster.engine.reconfigure(&other.expect("a configuration"));
    assert_eq!(settled(&mut cluster), [""; 0]);
}

#[test]
fn more_pods_than_may_be_asked_about_have_their_turns_and_jobs_need_none() {
    let mut cluster = asking(&["predicate", "jobReady"]);
    for at in 0..1100 {
        cluster.apply(pod(&format!("p{at:04}"), "1c"));
    }
    let mut asked = |now_s: i64| {
        while !cluster.engine.cycle(now_s).settled {}
        let questions = questions(&mut cluster);
        let of_jobs = questions.iter().filter(|line| line.starts_with("jobReady"));
        assert_eq!(of_jobs.count(), 1100);
        let pods = questions
            .iter()
            .filter_map(|line| line.strip_prefix("predicate "));
        let pods: Vec<String> = pods.map(str::to_owned).collect();
        (pods.len(), pods[0].clone(), pods[pods.len() - 1].clone())
    };
    let turn = |from: &str, to: &str| (1024, from.to_owned(), to.to_owned());
    assert_eq!(asked(0), turn("p0000", "p1023"));
    assert_eq!(asked(119), turn("p0000", "p1023"));
    // After the last one it goes on from the beginning.
    assert_eq!(asked(120), turn("p1024", "p0947"));
    assert_eq!(asked(240), turn("p0948", "p0871"));
}

#[test]
fn where_there_are_many_nodes_fewer_pods_are_asked_about_at_a_time() {
    let mut cluster = asking(&["predicate"]);
    for at in 0..2098 {
        let node = node(&format!("m{at:04}"), "3c 8Gi pods=9");
        cluster.apply(node);
    }
    for at in 0..520 {
        cluster.apply(pod(&format!("p{at:03}"), "1c"));
    }
    settled(&mut cluster);
    assert_eq!(questions(&mut cluster).len(), (1 << 20) / 2100);
}

#[test]
fn an_answer_about_one_that_was_made_anew_under_its_name_does_not_count() {
    let anew = |uid: &str| group("g", 1).uid(uid);
    let mut cluster = asking(&["jobReady"])
        .with(group("g", 1))
        .with(pod("a", "9c").group("g"));
    settled(&mut cluster);
    let ready = || ExtenderAnswer::Flag(true);
    cluster.apply(answered(ExtenderVerb::JobReady, "ns/g", ready()));
    settled(&mut cluster);
    for name in ["n1", "n2"] {
        cluster.apply(node(name, "9c 8Gi pods=9"));
    }
    let gone = Delta::GroupDelete("ns".to_owned(), "g".to_owned());
    cluster.apply(gone);
    cluster.apply(anew("other"));
    assert_eq!(settled(&mut cluster), [""; 0]);
    let (_, why) = cluster.why("a");
    assert!(why.contains("has not answered jobReady yet"), "{why}");
    cluster.apply(answered(ExtenderVerb::JobReady, "ns/g", ready()));
    assert_eq!(settled(&mut cluster), [""; 0], "it was on its way");
}

#[test]
fn an_answer_about_a_queue_that_was_made_anew_does_not_count() {
    let made = |uid: &str| queue("default").uid(uid);
    let mut cluster = asking(&["queueOverused"])
        .with(made("first"))
        .with(pod("a", "9c"));
    settled(&mut cluster);
    let asked = cluster.engine.question_sheet().questions;
    let question = asked[0].question.clone();
    cluster.apply(Delta::ExtenderAnswer {
        question,
        answer: Box::new(ExtenderAnswer::Flag(false)),
    });
    settled(&mut cluster);
    cluster.apply(Delta::QueueDelete("default".to_owned()));
    cluster.apply(made("second"));
    cluster.apply(node("n1", "9c 8Gi pods=9"));
    assert_eq!(settled(&mut cluster), [""; 0]);
    let (_, why) = cluster.why("a");
    assert!(why.contains("has not answered queueOverused yet"), "{why}");
}

#[test]
fn an_answer_about_a_node_that_was_made_anew_does_not_count() {
    let mut cluster = asking(&["predicate", "prioritize"]).with(pod("a", "9c"));
    settled(&mut cluster);
    let said = nodes(NodeWord::Fits, NodeWord::Fits);
    cluster.apply(answered(ExtenderVerb::Predicate, "a", said));
    let scores = ExtenderAnswer::Scores(vec![about("n1", 5.0)]);
    cluster.apply(answered(ExtenderVerb::Prioritize, "a", scores));
    settled(&mut cluster);
    cluster.apply(Delta::NodeDelete("n1".to_owned()));
    let other = |name: &str| node(name, "9c 8Gi pods=9").uid(format!("{name} again"));
    cluster.apply(other("n1"));
    assert_eq!(settled(&mut cluster), [""; 0]);
    let (_, why) = cluster.why("a");
    assert!(
        why.contains("1 the extender at http://ext:8713 has not answered"),
        "{why}"
    );
    let again = AboutNode {
        uid: "n1 again".to_owned(),
        ..about("n1", NodeWord::Fits)
    };
    let said = ExtenderAnswer::Nodes(vec![again]);
    cluster.apply(answered(ExtenderVerb::Predicate, "a", said));
    assert_eq!(settled(&mut cluster), ["a n1"]);
}

fn sheet_of(cluster: &mut Cluster) -> QuestionSheet {
    settled(cluster);
    cluster.engine.question_sheet()
}

#[test]
fn the_extender_is_told_of_pods_nodes_jobs_and_queues_as_they_are() {
    let all = ["predicate", "jobReady", "queueOverused"];
    let mut cluster = asking(&all)
        .with(queue("default").weight(7))
        .with(group("g", 2))
        .with(pod("a", "1c").group("g"))
        .with(pod("other", "2c").on("n2"));
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
    let [of_job] = &job.pods[..] else {
        panic!("{job:?}")
    };
    assert!(std::sync::Arc::ptr_eq(of_job, pod), "it is put down once");
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
    cluster.apply(node("n0", "1c 8Gi pods=9"));
    let more = sheet_of(&mut cluster);
    for (before, after) in [(0, 1), (1, 2)] {
        let (before, after) = (&new.nodes[before], &more.nodes[after]);
        assert!(std::sync::Arc::ptr_eq(before, after), "they are as before");
    }
}

#[test]
fn what_changes_on_a_pod_is_told() {
    let mut cluster = asking(&["predicate"]).with(pod("other", "1c").on("n1"));
    cluster.apply(pod("a", "9c"));
    let before = sheet_of(&mut cluster);
    assert_eq!(before.nodes[0].pods[0].labels, []);
    cluster.apply(
        pod("other", "2c")
            .on("n1")
            .labels(&[("k", "v")])
            .priority(7),
    );
    let after = sheet_of(&mut cluster);
    let told = &after.nodes[0].pods[0];
    assert_eq!(told.labels, pairs(&[("k", "v")]));
    assert_eq!(told.priority, 7);
    assert!(told.request.contains(&("cpu".to_owned(), 2000)));
}

#[test]
fn a_cycle_is_told_with_the_nodes_the_queues_and_the_jobs_that_wait() {
    let mut cluster = under("extender.onSessionOpenVerb: open")
        .with(group("g", 2))
        .with(pod("a", "1c").group("g"))
        .with(pod("other", "2c").on("n2"));
    let sheet = sheet_of(&mut cluster);
    let session = sheet.session.expect("it is told");
    let jobs: Vec<&str> = session.jobs.iter().map(|job| &*job.key).collect();
    assert_eq!(jobs, ["ns/g"]);
    let queues: Vec<&str> = session.queues.iter().map(|queue| &*queue.name).collect();
    assert!(queues.contains(&"default"), "{queues:?}");
    assert_eq!(sheet.nodes[1].pods.len(), 1);
    assert!(!cluster.engine.has_new_questions(), "each cycle once");
    cluster.apply(pod("b", "9c").group("g"));
    cluster.decide();
    assert!(cluster.engine.has_new_questions());
    let next = cluster.engine.question_sheet().session.expect("the next");
    assert!(next.cycle > session.cycle);
    assert_eq!(next.jobs[0].pods.len(), 2);
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
            .with(node("n1", "3c 8Gi pods=9"))
            .with(ranked("low", group("l", 1)))
            .with(ranked("high", group("h", 1)))
            .with(pod("old", "3c").group("l").on("n1"))
            .with(pod("new", "3c").group("h"));
        assert_eq!(cluster.plan(), [""; 0], "it has not answered");
        let said = ExtenderAnswer::Nodes(vec![about("n1", says)]);
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
            one.queue(queue).delta()
        }
        1 => Delta::PodDelete(name(dice.below(round + 1))),
        _ if asked.is_empty() => Delta::PodDelete(String::new()),
        _ => {
            let asked = &asked[dice.below(asked.len() as u64) as usize];
            let question = &asked.question;
            let yes = dice.below(3) > 0;
            let mut word = || match dice.below(2) {
                0 => NodeWord::Fits,
                _ => refused("no"),
            };
            let answer = match question.verb {
                _ if round.is_multiple_of(7) => ExtenderAnswer::Failed("down".to_owned()),
                ExtenderVerb::Predicate => nodes(word(), word()),
                ExtenderVerb::Prioritize => ExtenderAnswer::Scores(vec![about("n2", round as f64)]),
                ExtenderVerb::JobEnqueueable => ExtenderAnswer::Vote(i64::from(yes)),
                ExtenderVerb::JobReady => ExtenderAnswer::Flag(yes),
                ExtenderVerb::QueueOverused => ExtenderAnswer::Flag(!yes),
                // Nobody goes here, so that is not asked.
                ExtenderVerb::Preemptable | ExtenderVerb::Reclaimable => {
                    ExtenderAnswer::Victims(None)
                }
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
                .with(node("n1", "3c 8Gi pods=9 example.com/x=3"))
                .with(node("n2", "3c 8Gi pods=9 example.com/x=3"))
                .with(queue("q"));
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
