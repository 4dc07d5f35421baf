//! A single card for a container, beside the first of the sets of cards that it could have.

use proptest::prelude::*;

use super::best_set::linked_node;
use super::{family, pod, request, settings};
use crate::binding::BindProtocol;
use crate::config::DeviceConfig;
use crate::hami::limits::CardLimits;
use crate::hami::own::{HamiRules, PodOnDevices};
use crate::hami::place::TriesLeft;
use crate::hami::vendor_cards::VendorCards;
use crate::hami::{kinds, needs, protocol};
use crate::ledger::{LedgerTime, Load, Tags};
use crate::settings::Policy;

const POLICIES: [&str; 7] = [
    "none",
    "binpack",
    "spread",
    "numa",
    "mutex",
    "topology-aware",
    "spread,topology-aware",
];

proptest! {
    #[test]
    fn it_is_the_first_of_the_first_set(
        default in prop::sample::select(Policy::ALL.to_vec()),
        cards in 1..9usize,
        asks in prop::collection::vec((0..POLICIES.len(), 1..11i64, 0..4i64, 1..3i64), 1..24),
    ) {
        let settings = settings(default);
        let rules = HamiRules {
            kinds: kinds(&settings, &DeviceConfig::default()),
            own: VendorCards,
            policy: default,
            protocol: BindProtocol::of(&settings, protocol::LOCK),
            locks: false,
        };
        let family = family(default);
        let mut cards = linked_node(cards).cards(&*family);
        for (number, (policy, memory, cores, count)) in asks.into_iter().enumerate() {
            let asked: &[(&str, i64)] = &[
                ("nvidia.com/gpu", count),
                ("nvidia.com/gpumem", memory * 100),
                ("nvidia.com/gpucores", cores * 33),
            ];
            let pod = pod(&[asked], &[("hami.io/gpu-scheduler-policy", POLICIES[policy])]);
            let needs = needs::needs(&pod, &rules).expect("can be");
            let on_node = PodOnDevices {
                rules: &rules,
                limits: &CardLimits::of(&pod, &rules.kinds, default).expect("can be"),
                cards: &cards,
                view: LedgerTime::Now,
            };
            prop_assert_eq!(on_node.is_single(&needs[0]), count == 1);
            if count == 1 {
                let mut left = TriesLeft::default();
                let single = on_node.single(&needs[0], &left);
                let mut sets = on_node.sets(&needs[0], &[]).into_iter();
                let by_sets = sets.find_map(|mut set| {
                    on_node.link(&needs[0], &mut set, &mut left.links);
                    on_node.first(&needs[0], &set, &[])
                });
                prop_assert_eq!(single, by_sets.map(|taken| taken[0]));
            }
            if let Some(taken) = request(&*family, &pod).choose(&cards, LedgerTime::Now) {
                cards.charge(number as u32, Tags::default(), Load::Held, &taken);
            }
        }
    }
}
