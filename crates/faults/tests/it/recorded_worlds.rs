//! Simulations that begin at a recording: the cluster of somebody, gone on with under faults.

use std::time::Duration;

use pumice_decider::{Clock, DeciderOptions, device_config_place};
use pumice_engine::Unobserved;
use pumice_faults::evictions::EVICTING;
use pumice_faults::objects::{group, node, pod, queue};
use pumice_faults::recorded_world::{
    MAX_MOMENTS, RecordedMoment, RecordedWorldError, recorded_moments,
};
use pumice_faults::recordings::run_recorded;
use pumice_faults::{CONFIGURATION, run_from};
use pumice_model::Delta;
use pumice_model::object::PodObject;
use pumice_record::{RecordedDecider, TapeBlocks};

use crate::{config, evicting, parse};

/// Seeds whose processes are recorded, and at which storms begin.
const SEEDS: u64 = 8;

/// A moment, in seconds.
struct At(u64);

impl Clock for At {
    fn now(&self) -> Duration {
        Duration::from_secs(self.0)
    }
}

/// What a decider records that is told these and steps a few times; the text of its configuration, if that is shown.
fn recording(text: &str, is_shown: bool, deltas: Vec<Delta>) -> Vec<u8> {
    let (mut decider, start) = RecordedDecider::new(DeciderOptions::unlimited(), &At(1_000));
    let mut blocks = TapeBlocks::new("a test", "p");
    let mut bytes = Vec::new();
    blocks.begin(start, &mut |block| bytes.extend_from_slice(block));
    decider.record(true);
    decider.configure(&parse(text), is_shown.then_some(text));
    if let Some((namespace, name)) = device_config_place(&parse(text)) {
        decider.set_device_config(namespace, name, None);
    }
    decider.apply(deltas);
    decider.set_synced();
    decider.set_leader(true);
    for second in 1_001..1_004 {
        decider.step(&At(second), &mut Unobserved);
        decider.take_effects();
        bytes.extend(blocks.block(&decider.take_tape()));
    }
    bytes
}

/// Two gangs of another namespace and a pod of its own, on nodes for one of the gangs.
fn small_cluster() -> Vec<Delta> {
    let mut deltas: Vec<Delta> = vec![
        Delta::QueueApply(Box::new(queue("root", 0))),
        Delta::QueueApply(Box::new(queue("default", 0))),
        Delta::NodeApply(Box::new(node("n0", 2000, 0))),
        Delta::NodeApply(Box::new(node("n1", 1000, 0))),
    ];
    let ours = |name: &str, of: Option<&str>, place: Option<&str>| {
        Delta::PodApply(Box::new(PodObject {
            namespace: "team".to_owned(),
            uid: format!("team-{name}"),
            node: place.map(str::to_owned),
            ..pod(name, of, 1000, 0)
        }))
    };
    for name in ["a", "b"] {
        let mut group = group(name, 2, "default");
        group.namespace = "team".to_owned();
        deltas.push(Delta::GroupApply(Box::new(group)));
        for at in 0..2 {
            deltas.push(ours(&format!("{name}-{at}"), Some(name), None));
        }
    }
    deltas.push(ours("own", None, Some("n0")));
    deltas
}

fn moments(bytes: &[u8]) -> Vec<RecordedMoment> {
    recorded_moments(bytes).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_storm_begins_with_what_the_recorded_scheduler_knew_and_what_it_had_decided_may_have_landed() {
    let moments = moments(&recording(CONFIGURATION, true, small_cluster()));
    assert_eq!(moments.last().map(|moment| moment.step), Some(3));
    assert_eq!(moments[0].at, Duration::from_secs(1_001));
    let (mut landed, mut lost) = (0, 0);
    for seed in 0..8 {
        let told = run_from(&moments[0], seed).unwrap_or_else(|failure| panic!("{failure}"));
        let begun = |line: &&String| line.starts_with("begins at step 1 of a recording, 1001 s");
        let begin = told.history.iter().find(begun).expect("a beginning");
        assert!(
            begin.contains("2 nodes, 2 queues, 2 PodGroups, 5 pods; nothing is left out"),
            "{begin}"
        );
        // Gang a has been given both places that were left.
        for uid in ["team-a-0", "team-a-1"] {
            let is_landed = |line: &String| {
                line.contains(&format!("Binding of {uid} to")) && line.ends_with("had landed")
            };
            match told.history.iter().any(is_landed) {
                true => landed += 1,
                false => lost += 1,
            }
        }
        assert_eq!(run_from(&moments[0], seed), Ok(told), "seed {seed}");
    }
    assert!(landed > 2 && lost > 2, "{landed} had landed, {lost} not");
}

#[test]
fn storms_that_begin_at_what_processes_under_faults_recorded_break_no_invariant() {
    let configurations = [(EVICTING, evicting()), (CONFIGURATION, config())];
    let (mut storms, mut binds, mut processes) = (0, 0, 0);
    for seed in 0..SEEDS {
        let recorded = run_recorded(&configurations, seed);
        let recorded = recorded.unwrap_or_else(|failure| panic!("{failure}"));
        for (identity, tape) in &recorded.tapes {
            let Ok(moments) = recorded_moments(&tape.segments.concat()) else {
                // It ended before it knew of a node.
                continue;
            };
            assert!(moments.len() as u64 <= MAX_MOMENTS);
            let at = (seed + u64::from(*identity)) as usize % moments.len();
            for moment in [&moments[at], &moments[moments.len() - 1]] {
                let told = run_from(moment, seed);
                let told = told.unwrap_or_else(|failure| panic!("process {identity}: {failure}"));
                storms += 1;
                binds += told.binds;
                processes += told.processes;
            }
        }
    }
    assert!(
        storms > 20 && binds > 10 * storms && processes > 2 * storms,
        "{storms} storms, {binds} binds, {processes} processes"
    );
}

/// Nothing is decided before the ConfigMap is read that describes cards; and queues may hold more than they should where
/// no plugin limits them, as gangs may be placed in part.
#[test]
fn a_storm_goes_by_the_recorded_configuration() {
    let text = CONFIGURATION.replace("GPUSharingEnable", "VGPUEnable");
    let text = text.replace("  - name: proportion\n", "");
    let text = text.replace("  - name: gang\n", "");
    let mut deltas = small_cluster();
    deltas.push(Delta::QueueApply(Box::new(queue("default", 1))));
    let moments = moments(&recording(&text, true, deltas));
    let mut binds = 0;
    for seed in 0..8 {
        let told = run_from(&moments[0], seed).unwrap_or_else(|failure| panic!("{failure}"));
        binds += told.binds;
    }
    assert!(binds > 20, "{binds} binds");
}

#[test]
fn what_no_storm_can_begin_at_says_why() {
    let refused = |bytes: &[u8]| match recorded_moments(bytes) {
        Ok(moments) => panic!("{} moments", moments.len()),
        Err(error) => error,
    };
    assert!(matches!(refused(b""), RecordedWorldError::NoRecording(why) if why == "it is empty"));
    let nonsense = refused(b"kind: Pod\n");
    assert!(
        matches!(nonsense, RecordedWorldError::NoRecording(_)),
        "{nonsense}"
    );
    let whole = recording(CONFIGURATION, true, small_cluster());
    let cut = refused(&whole[..whole.len() / 8]);
    assert!(
        matches!(
            cut,
            RecordedWorldError::NoStep(_) | RecordedWorldError::NoRecording(_)
        ),
        "{cut}"
    );
    let hidden = refused(&recording(CONFIGURATION, false, small_cluster()));
    assert!(hidden.to_string().contains("--conf FILE"), "{hidden}");
    let nobody = refused(&recording(CONFIGURATION, true, Vec::new()));
    assert!(
        nobody.to_string().contains("no step with nodes"),
        "{nobody}"
    );
    let asking = CONFIGURATION.replace(
        "  - name: nodeorder\n",
        "  - name: extender\n    arguments:\n      extender.urlPrefix: http://127.0.0.1:1\n",
    );
    let asking = refused(&recording(&asking, true, small_cluster()));
    assert_eq!(asking, RecordedWorldError::UnknownPart("an extender"));
}
