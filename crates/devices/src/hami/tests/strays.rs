//! What pods have of cards that their node tells under other ids now.

use super::{VendorNode, family, pod, request};
use crate::ledger::{LedgerTime, Load, Tags};
use crate::part::CardPart;
use crate::settings::Policy;

const LIST: &str = "hami.io/vgpu-devices-allocated";

#[test]
fn until_it_is_known_which_card_it_is_what_a_pod_has_counts_on_all_that_it_could_be() {
    let register = "G0,10,1000,100,A,0,true:G1,10,1000,100,A,0,true:G2,10,500,100,A,0,true:";
    let node = VendorNode::new(
        &[("hami.io/node-nvidia-register", register)],
        &[("nvidia.com/gpu", 30)],
    );
    for (count, mib, text, expected) in [
        // The third card never had as much.
        (1, 600, "OLD,NVIDIA,600,10:;", [600, 600, 0]),
        // The cards of a container are different ones.
        (
            2,
            600,
            "OLD,NVIDIA,600,10:G1,NVIDIA,600,10:;",
            [600, 600, 0],
        ),
        (
            2,
            400,
            "OLD,NVIDIA,400,10:OLDER,NVIDIA,400,10:;",
            [800, 800, 800],
        ),
        (1, 600, "G0,NVIDIA,600,10:;", [600, 0, 0]),
    ] {
        let family = family(Policy::None);
        let mut cards = node.cards(&*family);
        let on = pod(
            &[&[("nvidia.com/gpu", count), ("nvidia.com/gpumem", mib)]],
            &[],
        );
        let decoded = family.decode(&vec![(LIST.to_owned(), text.to_owned())], &on, &cards);
        cards.charge(1, Tags::default(), Load::Held, &decoded.allocations);
        let used = [0, 1, 2].map(|at| CardPart::used(&cards, at, LedgerTime::Now).memory);
        assert_eq!(used, expected, "{text}");
        let is_told = decoded.problems.iter().any(|text| {
            text.contains("is no card of the node: it counts on every card it could be")
        });
        assert_eq!(is_told, text.contains("OLD"), "{:?}", decoded.problems);
        // What it has in all is known: its queue is charged for no more.
        let all: i64 = text
            .split(',')
            .filter_map(|one| one.parse::<i64>().ok())
            .sum();
        let request = request(&*family, &on);
        let charged = request.charge(Some(&decoded.allocations)).to_vec();
        let memory = charged
            .iter()
            .find(|(name, _)| *name == "nvidia.com/gpumem");
        assert_eq!(memory.map(|(_, milli)| milli / 1000), Some(all), "{text}");
    }
}
