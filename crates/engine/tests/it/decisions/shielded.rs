//! Pods that say that nobody may evict them, in a queue that holds more than it deserves.

use pumice_model::object::PreemptableMark;

use super::cluster::*;
use super::victims::Plans;

pub fn conf(action: &str, arguments: &str) -> String {
    format!(
        "actions: \"enqueue, allocate, {action}\"\n\
         tiers:\n\
         - plugins: [{{name: priority}}, {{name: gang}}, {{name: conformance}}]\n\
         - plugins: [{{name: predicates}}, {{name: proportion}}]\n\
         {arguments}"
    )
}

pub fn passing(action: &str) -> String {
    let arguments =
        format!("configurations: [{{name: {action}, arguments: {{honorPreemptable: false}}}}]\n");
    conf(action, &arguments)
}

/// `hog` holds all ten cores and deserves one; nine are `owed`.
fn hogged(conf: &str) -> Cluster {
    let mut all = Cluster::under(conf)
        .with(node("n1", "10c 64Gi pods=30"))
        .with(queue("hog").weight(1))
        .with(queue("owed").weight(9));
    for at in 0..10 {
        let name = format!("hog{at}");
        all = all.with(group(&name, 0).queue("hog"));
        let marked = pod(&name, "1c").preemptable(PreemptableMark::No);
        all = all.with(marked.group(&name).on("n1"));
    }
    let owed = group("owed", 1).queue("owed");
    all.with(owed).with(pod("owed0", "2c").group("owed"))
}

pub fn told_on(all: &Cluster, queue: &str) -> String {
    let ix = all
        .engine
        .state()
        .population()
        .queue_by_name(queue)
        .expect("a queue");
    let told = all.engine.known().queue_warnings();
    told.get(&ix).cloned().unwrap_or_default()
}

#[test]
fn marks_outweigh_shares_as_in_volcano_and_the_queue_is_told() {
    for action in ["reclaim", "gangreclaim"] {
        let mut all = hogged(&conf(action, ""));
        assert_eq!(all.plan(), [""; 0], "{action}");
        let told = told_on(&all, "hog");
        assert!(told.contains("holds more than it deserves"), "{told}");
        assert!(told.contains("honorPreemptable: false"), "{told}");
        assert_eq!(told_on(&all, "owed"), "");
        // Without the marks there is nothing to tell.
        for at in 0..10 {
            let name = format!("hog{at}");
            all = all.with(pod(&name, "1c").group(&name).on("n1"));
        }
        all.plan();
        assert_eq!(told_on(&all, "hog"), "");
    }
}

#[test]
fn an_argument_has_reclaim_pass_over_marks_beyond_the_share() {
    for action in ["reclaim", "gangreclaim"] {
        let mut all = hogged(&passing(action));
        let plan = all.plan();
        let going = plan.iter().filter(|line| line.starts_with("-hog"));
        assert_eq!(going.count(), 2, "{action}: {plan:?}");
        assert_eq!(told_on(&all, "hog"), "");
    }
}

#[test]
fn what_a_queue_deserves_stays_even_then() {
    let mut all = hogged(&passing("reclaim"));
    for at in 0..20 {
        let name = format!("more{at}");
        let group = group(&name, 1).queue("owed");
        all = all.with(group).with(pod(&name, "1c").group(&name));
    }
    let mut gone = 0;
    for _ in 0..12 {
        let decisions = all.decide();
        let evicted: Vec<String> = {
            let state = all.engine.state();
            let names = decisions.evictions.iter();
            names
                .map(|one| state.task(one.task).uid.to_string())
                .collect()
        };
        gone += evicted.len();
        all.accept(&decisions);
        evicted.iter().for_each(|uid| all.gone(uid));
    }
    assert_eq!(gone, 9, "of ten cores it deserves one");
}
