use pumice_conf::Arguments;
use pumice_framework::{Changed, CycleInfo, Plugin};
use pumice_model::object::PodPhase;
use pumice_model::{Delta, KeptTopic};

use super::RunTimeEstimates;
use crate::testing::*;
use pumice_framework::points::EstimatesRunTimes;

/// A cluster of one node, and the plugin that looks at it.
struct Bench {
    state: pumice_model::State,
    plugin: RunTimeEstimates,
}

impl Bench {
    fn new() -> Self {
        Self {
            state: Cluster::default()
                .with(node("n1", "99c 99Gi pods=99"))
                .state(),
            plugin: RunTimeEstimates::new(&Arguments::default()),
        }
    }

    fn look(&mut self, now_s: i64) {
        self.state.seal();
        let cycle = CycleInfo {
            now_s,
            changed: Changed::default(),
        };
        self.plugin.open(&self.state, &cycle);
    }

    /// A pod of a job is as it is then.
    fn pod(&mut self, job: &str, at: usize, phase: PodPhase, since_s: i64) {
        let mut known = pod(&format!("{job}-p{at}"), "1c").group(job).on("n1");
        (known.phase, known.scheduled_s) = (phase, Some(since_s));
        self.state.apply(known.delta());
    }

    /// A job of so many pods gets its nodes then.
    fn starts(&mut self, job: &str, pods: usize, since_s: i64) {
        self.state.apply(group(job, 1).user("ada").delta());
        (0..pods).for_each(|at| self.pod(job, at, PodPhase::Running, since_s));
        self.look(since_s);
    }

    fn guess(&self, job: &str) -> Option<(i64, usize)> {
        let task = task(&self.state, &format!("{job}-p0"));
        let estimate = self.plugin.estimate(&self.state, task)?;
        Some((estimate.run_s, estimate.jobs))
    }
}

#[test]
fn a_job_counts_once_by_its_longest_pod_when_all_its_pods_have_ended_well() {
    let mut bench = Bench::new();
    for job in 1..=3 {
        let (name, since_s) = (format!("train-{job}"), 10_000 * job);
        bench.starts(&name, 3, since_s);
        for at in 0..3 {
            let now_s = since_s + 100 * job + at as i64;
            bench.look(now_s - 1);
            bench.pod(&name, at, PodPhase::Succeeded, since_s);
            bench.look(now_s);
        }
        // Who is looked at again counts no second time.
        bench.look(since_s + 5_000);
    }
    bench.starts("train-4", 1, 50_000);
    assert_eq!(bench.guess("train-4"), Some((302, 3)));
    // Others of the user are guessed by all his jobs.
    bench.starts("other", 1, 50_000);
    assert_eq!(bench.guess("other"), Some((302, 3)));
}

#[test]
fn what_failed_what_ended_unseen_and_what_a_clock_cannot_tell_teaches_nothing() {
    let mut bench = Bench::new();
    // It had ended before anybody looked.
    bench.state.apply(group("early-1", 1).delta());
    bench.pod("early-1", 0, PodPhase::Succeeded, 10);
    bench.look(1_000);
    bench.starts("fails-1", 2, 1_000);
    bench.pod("fails-1", 0, PodPhase::Failed, 1_000);
    bench.pod("fails-1", 1, PodPhase::Succeeded, 1_000);
    bench.look(1_010);
    // Nobody looked for longer than the job ran.
    bench.starts("unseen-1", 1, 1_010);
    bench.pod("unseen-1", 0, PodPhase::Succeeded, 1_010);
    bench.look(1_500);
    // It came and ended between two looks, and got its node before the first of them.
    bench.state.apply(group("late-1", 1).delta());
    bench.pod("late-1", 0, PodPhase::Succeeded, 1_200);
    bench.look(1_501);
    // The clock went back.
    bench.starts("back-1", 1, 1_501);
    bench.look(1_600);
    bench.pod("back-1", 0, PodPhase::Succeeded, 1_501);
    bench.look(1_550);
    assert_eq!(bench.plugin.learned(), 0);
    // Somebody says when it ended, however late that is seen.
    bench.starts("said-1", 1, 1_550);
    let mut said = pod("said-1-p0", "1c").group("said-1").on("n1");
    (said.phase, said.scheduled_s) = (PodPhase::Succeeded, Some(1_550));
    said.ends_by_s = Some(1_600);
    bench.state.apply(said.delta());
    bench.look(9_000);
    assert_eq!(bench.plugin.learned(), 2);
    bench.look(1_551);
    // It came and ended between two looks, both after the first.
    bench.state.apply(group("swift-1", 1).delta());
    bench.pod("swift-1", 0, PodPhase::Succeeded, 1_551);
    bench.look(1_560);
    assert_eq!(bench.plugin.learned(), 3);
}

#[test]
fn a_copy_and_a_process_that_comes_after_guess_the_same() {
    let mut bench = Bench::new();
    for job in 0..3 {
        let (name, since_s) = (format!("train-{job}"), 1_000 + 100 * job);
        bench.starts(&name, 1, since_s);
        bench.look(since_s + 50);
        bench.pod(&name, 0, PodPhase::Succeeded, since_s);
        bench.look(since_s + 51);
    }
    bench.starts("train-9", 2, 2_000);
    bench.look(2_060);
    bench.pod("train-9", 0, PodPhase::Succeeded, 2_000);
    bench.look(2_061);
    let known = bench.guess("train-9");
    assert_eq!(known, Some((51, 3)));
    let told = bench.plugin.keep(&bench.state).expect("a memory");
    let mut copy = RunTimeEstimates::new(&Arguments::default());
    copy.restore(&told, &bench.state);
    assert_eq!(copy.keep(&bench.state), Some(told));
    let text = bench.plugin.run_times_to_keep();
    // The rest of the job ends, for both.
    bench.pod("train-9", 1, PodPhase::Succeeded, 2_000);
    bench.look(2_090);
    let cycle = CycleInfo {
        now_s: 2_090,
        changed: Changed::default(),
    };
    copy.open(&bench.state, &cycle);
    assert_eq!(bench.plugin.keep(&bench.state), copy.keep(&bench.state));
    assert_eq!(bench.guess("train-9"), Some((90, 4)));
    let mut next = Bench::new();
    next.state.apply(Delta::KeptText {
        topic: KeptTopic::RunTimes,
        namespace: String::new(),
        name: String::new(),
        text: Some(text),
    });
    next.starts("train-10", 1, 3_000);
    assert_eq!(next.guess("train-10"), Some((51, 3)));
}

#[test]
fn nobody_learns_from_another_namespace() {
    let mut bench = Bench::new();
    for job in 0..5 {
        let name = format!("train-{job}");
        bench.starts(&name, 1, 1_000);
        bench.look(1_050);
        bench.pod(&name, 0, PodPhase::Succeeded, 1_000);
        bench.look(1_051);
    }
    let mut other = group("train-9", 1).user("ada");
    other.namespace = "other".to_owned();
    bench.state.apply(other.delta());
    let mut known = pod("train-9-p0", "1c").group("train-9").on("n1");
    known.namespace = "other".to_owned();
    bench.state.apply(known.delta());
    bench.look(1_060);
    assert_eq!(bench.guess("train-9"), None);
}
