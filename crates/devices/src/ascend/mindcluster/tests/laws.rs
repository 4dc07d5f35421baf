//! What holds for every order of placements, releases, restarts and odd texts.

use proptest::prelude::*;

use super::*;
use crate::ascend::mindcluster::report;

/// One step: what the pod asks, which earlier pod leaves before it comes, and which one the device
/// plugin makes the vNPU of.
#[derive(Clone, Debug)]
struct Step {
    cores: i64,
    dvpp: &'static str,
    level: &'static str,
    leaves: Option<usize>,
    made: Option<(usize, u16)>,
    load: Load,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let sizes = prop_oneof![
        Just((1, "null")),
        Just((2, "null")),
        Just((4, "null")),
        Just((4, "yes")),
        Just((4, "no")),
        Just((8, "null")),
        Just((16, "null")),
    ];
    let level = prop_oneof![Just("low"), Just("high")];
    let leaves = proptest::option::weighted(0.3, 0..8_usize);
    let made = proptest::option::weighted(0.6, (0..8_usize, 0..5_u16));
    let load = prop_oneof![3 => Just(Load::Held), 1 => Just(Load::Releasing)];
    let step = (sizes, level, leaves, made, load);
    let step = step.prop_map(|((cores, dvpp), level, leaves, made, load)| Step {
        cores,
        dvpp,
        level,
        leaves,
        made,
        load,
    });
    proptest::collection::vec(step, 1..30)
}

/// A pod on the node.
struct Here {
    number: u32,
    load: Load,
    pod: PodFacts,
    allocations: Allocations,
    value: String,
    real: String,
}

impl Here {
    fn decode(&self, cards: &NodeCards) -> Decoded {
        let records = pairs(&[(CORES, &self.value), (REAL, &self.real)]);
        family(&settings()).decode(&records, &self.pod, cards)
    }
}

/// The device plugin has made what a pod waits for.
fn make(here: &mut Here, group: u16, cards: &mut NodeCards) {
    cards.discharge(here.number, here.load, &here.allocations);
    here.real = format!("Ascend310P-x-{}-0_{group}", here.number);
    here.allocations = here.decode(cards).allocations;
    cards.charge(here.number, Tags::default(), here.load, &here.allocations);
}

proptest! {
    #[test]
    fn chips_are_never_over_committed_and_a_restart_changes_nothing(
        steps in steps(),
        count in 1..4_u32,
    ) {
        let idle = node(count);
        let mut cards = idle.clone();
        let mut all: Vec<Here> = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            if let Some(at) = step.leaves.filter(|at| *at < all.len()) {
                let here = all.remove(at);
                cards.discharge(here.number, here.load, &here.allocations);
            }
            if let Some((at, group)) = step.made.filter(|(at, _)| *at < all.len()) {
                make(&mut all[at], group, &mut cards);
            }
            let pod = vnpu(step.cores, step.dvpp, step.level);
            let request = request(&pod);
            let fit = request.fit(&cards, LedgerTime::Now);
            let chosen = request.choose(&cards, LedgerTime::Now);
            prop_assert_eq!(fit.is_ok(), chosen.is_some());
            prop_assert_eq!(fit.is_err(), request.explain("n", &cards, LedgerTime::Now).is_some());
            prop_assert!(fit.is_ok_and(|score| score >= 0.0) || fit.is_err());
            let Some(allocations) = chosen else { continue };
            let number = number as u32;
            let before = cards.clone();
            cards.charge(number, Tags::default(), step.load, &allocations);
            let mut undone = cards.clone();
            undone.discharge(number, step.load, &allocations);
            prop_assert_eq!(&undone, &before);
            for at in 0..cards.cards.len() {
                let (all, used) = (cards.capacity(at), cards.used(at, LedgerTime::Now));
                prop_assert!(all.iter().zip(used).all(|(all, used)| used <= all));
            }
            let value = written(&*request, &cards, &allocations);
            let real = String::new();
            let load = step.load;
            all.push(Here { number, load, pod, allocations, value, real });
        }
        let mut rebuilt = idle;
        for here in &all {
            let held = here.decode(&rebuilt);
            prop_assert!(held.problems.is_empty());
            prop_assert_eq!(&held.allocations, &here.allocations);
            rebuilt.charge(here.number, Tags::default(), here.load, &held.allocations);
        }
        for at in 0..cards.cards.len() {
            for view in [LedgerTime::Now, LedgerTime::Future] {
                prop_assert_eq!(rebuilt.used(at, view), cards.used(at, view));
            }
        }
    }

    #[test]
    fn odd_annotations_and_amounts_are_refused_or_counted_never_lost(
        value in "([0-9]{1,7}|[0-9,x \\-\\PC]{0,12})(-vir0[1-4](_[1-4]c(_n?dvpp)?)?)?",
        real in "[0-9a-z_,.\\-\\PC]{0,16}",
        milli in prop_oneof![any::<i64>(), (0..20_i64).prop_map(|n| n * 1000)],
    ) {
        let family = family(&settings());
        let mut cards = node(2);
        let mut asked = pod(1, &[(DVPP, &real), (LEVEL, &value)]);
        asked.containers[0].amounts[0].1 = milli;
        if let Some(Ok(request)) = family.request(&asked, Tags::default()) {
            let fits = request.fit(&cards, LedgerTime::Now).is_ok();
            prop_assert_eq!(fits, request.choose(&cards, LedgerTime::Now).is_some());
        }
        let records = pairs(&[(CORES, &value), (REAL, &real), (LIST, &value)]);
        let held = family.decode(&records, &asked, &cards);
        prop_assert!(milli == 0 || !held.allocations.is_empty());
        cards.charge(1, Tags::default(), Load::Held, &held.allocations);
        cards.discharge(1, Load::Held, &held.allocations);
        prop_assert_eq!(cards.entries(LedgerTime::Now).count(), 0);
    }

    #[test]
    fn any_text_of_a_configmap_is_read_or_refused(text in "[\\[\\]{}:,\" \\\\a-zA-Z0-9\\PC]{0,60}") {
        let key = "cluster-info-device-0";
        let _ = report::split("mindx-dl", key, &pairs(&[(key, &text)]));
        let whole = format!("{{\"DeviceInfo\":{text},\"CheckCode\":\"0\"}}");
        for text in [&text, &whole] {
            for topic in ["cluster-info-device", "mindx-dl-deviceinfo"] {
                let _ = report::devices(topic, text);
            }
            for topic in ["cluster-info-node", "mindx-dl-nodeinfo"] {
                let _ = report::health(topic, text);
            }
        }
    }
}
