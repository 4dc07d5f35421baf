//! Decoders take any text.

use proptest::prelude::*;

use super::{cards_of, family, pod};
use crate::fixture::laws;
use crate::ledger::{LedgerTime, Load, Tags};
use crate::nvidia::vgpu::allocation::{Device, decode, encode};
use crate::nvidia::vgpu::register;
use crate::part::CardPart;
use crate::settings::Policy;
use crate::text::Bounded;

const REGISTER: &str = "GPU-aa,10,24576,NVIDIA-Tesla P40,true,hami-core:\
                        GPU-m0,10,40960,NVIDIA-NVIDIA A100-PCIE-40GB,true,mig:";
const IDS: &str = "GPU-aa,NVIDIA,3000,50:;GPU-m0[group2-1],NVIDIA,8000,0:GPU-zz,NVIDIA,1,1:";

/// Any text, and such as a good one.
fn texts(good: &str) -> impl Strategy<Value = String> + use<> {
    let of_some = "[,:;\\[\\]0-9A-Z-]{0,60}";
    laws::texts(good.to_owned(), "[,:;\\[\\]0-9a-zG é-]", of_some)
}

fn devices() -> impl Strategy<Value = Device<'static>> {
    let parts = (
        "[A-Za-z0-9-]{1,12}(\\[g1-[0-9]\\])?",
        0..=i32::MAX as u32,
        0..=100u32,
    );
    parts.prop_map(|(id, memory, cores)| Device {
        id: id.into(),
        memory,
        cores,
    })
}

/// A card as registered, without its UUID.
fn card_texts() -> impl Strategy<Value = String> {
    let parts = (
        1..=100u32,
        1..=99_999u32,
        "NVIDIA-[A-Za-z0-9 -]{0,20}[A-Z]",
        any::<bool>(),
        "mig|mps|hami-core",
    );
    parts.prop_map(|(slots, memory, kind, healthy, mode)| {
        format!("{slots},{memory},{kind},{healthy},{mode}")
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_register_text_gives_sound_cards(text in texts(REGISTER), sick in texts("0,GPU-m0,7")) {
        let family = family(Policy::Binpack);
        let cards = cards_of(&*family, &text, Some(&sick));
        for (at, card) in cards.cards.iter().enumerate() {
            let all = CardPart::capacity(&cards, at);
            prop_assert!(all.memory > 0 && all.sharers > 0 && !card.id.is_empty());
            prop_assert_eq!(cards.find(&card.id), Some(at));
        }
        let request = super::request(&*family, &pod(&[&[('n', 1), ('p', 10)]], &[]));
        let fits = request.fit(&cards, LedgerTime::Now).is_ok();
        prop_assert_eq!(fits, request.choose(&cards, LedgerTime::Now).is_some());
    }

    #[test]
    fn any_allocation_text_can_be_charged_and_taken_back(text in texts(IDS), asks in 0..4i64) {
        let family = family(Policy::Binpack);
        let mut cards = cards_of(&*family, REGISTER, None);
        let before = cards.clone();
        let pod = pod(&[&[('n', asks), ('m', 100)], &[], &[('n', 1)]], &[]);
        let records = vec![("volcano.sh/vgpu-ids-new".to_owned(), text)];
        let held = family.decode(&records, &pod, &cards);
        let certain = held.allocations.iter().filter(|allocation| allocation.certain).count();
        prop_assert!(certain as i64 > asks || !held.problems.is_empty());
        cards.charge(1, Tags::default(), Load::Held, &held.allocations);
        let _ = family.gauges(&cards);
        cards.discharge(1, Load::Held, &held.allocations);
        prop_assert_eq!(cards, before);
    }

    #[test]
    fn any_annotation_of_a_pod_is_taken_or_refused(
        mode in texts("mig"), index in texts("0,1"), types in texts("A100,P40"),
    ) {
        let family = family(Policy::Binpack);
        let cards = cards_of(&*family, REGISTER, None);
        let annotations = [
            ("volcano.sh/vgpu-mode", mode.as_str()),
            ("volcano.sh/gpu-index", index.as_str()),
            ("nvidia.com/use-gputype", types.as_str()),
        ];
        for at in 0..annotations.len() {
            let asks = pod(&[&[('n', 1), ('m', 10)]], &annotations[at..=at]);
            match family.request(&asks, Tags::default()) {
                Some(Ok(request)) => {
                    let miss = request.explain("n1", &cards, LedgerTime::Now);
                    prop_assert_eq!(miss.is_none(), request.fit(&cards, LedgerTime::Now).is_ok());
                    prop_assert!(miss.is_none_or(|miss| !miss.text.is_empty()));
                }
                Some(Err(text)) => prop_assert!(text.contains(annotations[at].0)),
                None => prop_assert!(false, "it asks"),
            }
        }
    }

    #[test]
    fn an_allocation_is_read_as_it_was_written(
        mut elements in prop::collection::vec(prop::collection::vec(devices(), 0..3), 1..4),
    ) {
        let text = encode(elements.clone());
        let read = |read: &crate::nvidia::vgpu::allocation::Read| Device {
            id: read.id.to_owned().into(),
            memory: read.memory.expect("a number"),
            cores: read.cores.expect("a number"),
        };
        let back: Vec<Vec<Device>> =
            decode(&text).iter().map(|element| element.iter().map(read).collect()).collect();
        // Empty elements at the end are not written.
        while elements.len() > 1 && elements.last().is_some_and(Vec::is_empty) {
            elements.pop();
        }
        prop_assert_eq!(back, elements);
        prop_assert!(!text.ends_with(';'));
    }

    #[test]
    fn a_register_is_read_as_the_plugin_writes_it(
        cards in prop::collection::vec(card_texts(), 1..9),
    ) {
        let line = |(at, card): (usize, &String)| format!("GPU-{at},{card}:");
        let text: String = cards.iter().enumerate().map(line).collect();
        let mut problems = Bounded::default();
        let entries = register::decode(&text, &mut problems);
        prop_assert!(problems.into_texts("more problems").is_empty());
        let line = |entry: &register::RegisteredCard| format!(
            "{},{},{},{},{},{}:",
            entry.uuid, entry.slots, entry.memory, entry.kind, entry.healthy, entry.mode
        );
        let back: String = entries.iter().map(line).collect();
        prop_assert_eq!(back, text);
    }
}
