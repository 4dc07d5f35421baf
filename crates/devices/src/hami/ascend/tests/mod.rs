//! Tests of the family. Amounts of containers are written `n` (chips), `m` (MiB) and `c` (cores).

mod examples;
mod laws;
mod nodes;
mod preference;
mod requests;

use crate::binding::{AnnotationValue, BindingAnnotations};
use crate::config::DeviceConfig;
use crate::facts::{ContainerKind, NodeFacts, PodFacts};
use crate::family::Family;
use crate::fixture::{container, pod_of};
use crate::ledger::{LedgerTime, Load, NodeCards, Tags};
use crate::request::{Failure, FamilyRequest};
use crate::settings::{Policy, Settings};

pub use crate::fixture::{refusal, request};

use super::SPEC;
use super::chips::VnpuConfig;

/// Plugin on, family on, with the chips that are known.
pub fn family(policy: Policy) -> Box<dyn Family> {
    with(policy, VnpuConfig::default())
}

/// Plugin on, family on, with these chips.
pub fn with(policy: Policy, config: VnpuConfig) -> Box<dyn Family> {
    let settings = Settings {
        configured: true,
        ascend_hami: true,
        policy,
        weight: 10,
        ..Settings::default()
    };
    (SPEC.make)(&settings, &DeviceConfig::with(config))
}

/// A node with chips `U0`, `U1`, … of a type, and their JSON.
pub struct NodeLine {
    pub word: &'static str,
    pub chips: Vec<String>,
    pub soft: bool,
}

impl NodeLine {
    /// So many healthy chips: slots and MiB of each; in rings of four where they are 910s.
    pub fn new(word: &'static str, count: usize, slots: i64, memory: i64) -> Self {
        let chip = |at: usize| {
            let ring = match word.starts_with("Ascend910") {
                true => format!(r#","custominfo":{{"NetworkID":{}}}"#, at / 4),
                false => String::new(),
            };
            let index = match at {
                0 => String::new(),
                at => format!(r#""index":{at},"#),
            };
            format!(
                r#"{{"id":"U{at}",{index}"count":{slots},"devmem":{memory},"devcore":20,"type":"{word}","health":true{ring}}}"#
            )
        };
        Self {
            word,
            chips: (0..count).map(chip).collect(),
            soft: false,
        }
    }

    pub fn cards(&self, family: &dyn Family) -> NodeCards {
        let mut annotations = vec![(
            format!("hami.io/node-register-{}", self.word),
            format!("[{}]", self.chips.join(",")),
        )];
        if self.soft {
            annotations.push(("hami-vnpu-core".to_owned(), "true".to_owned()));
        }
        let allocatable = [(format!("huawei.com/{}", self.word), 56_000)];
        family.cards(&NodeFacts {
            reports: &[],
            name: "H1",
            labels: &[],
            annotations: &annotations,
            allocatable: &allocatable,
            capacity: &[],
        })
    }
}

/// Node H1 of the worked examples.
pub fn h1() -> NodeLine {
    NodeLine::new("Ascend310P", 2, 7, 21_527)
}

pub type Limit = (char, i64);

/// A pod of regular containers that ask a type.
pub fn pod(word: &str, containers: &[&[Limit]], annotations: &[(&str, &str)]) -> PodFacts {
    let name = |letter: char| match letter {
        'n' => format!("huawei.com/{word}"),
        'm' => format!("huawei.com/{word}-memory"),
        'c' => format!("huawei.com/{word}-core"),
        other => panic!("no resource {other}"),
    };
    let regular = |limits: &&[Limit]| {
        let limits = limits.iter();
        let limits: Vec<_> = limits
            .map(|(letter, amount)| (name(*letter), *amount))
            .collect();
        let limits: Vec<_> = limits
            .iter()
            .map(|(name, amount)| (&**name, *amount))
            .collect();
        container(ContainerKind::Regular, &limits)
    };
    pod_of(containers.iter().map(regular).collect(), annotations)
}

/// A pod that asks what an allocation says, each device in a container of its own.
pub fn asking(word: &str, text: &str, soft: bool) -> PodFacts {
    let devices = text.split([':', ';']).filter(|piece| !piece.is_empty());
    let asked: Vec<Vec<Limit>> = devices
        .map(|piece| {
            let amounts: Vec<i64> = piece
                .split(',')
                .filter_map(|text| text.parse().ok())
                .collect();
            let mut limits = vec![('n', 1), ('m', amounts[0])];
            limits.extend(Some(('c', amounts[1])).filter(|_| soft));
            limits
        })
        .collect();
    let asked: Vec<&[Limit]> = asked.iter().map(Vec::as_slice).collect();
    let mode = [(super::share::MODE, super::share::HAMI_CORE)];
    pod(word, &asked, if soft { &mode } else { &[] })
}

/// Puts a pod with these chips on the node.
pub fn occupy(family: &dyn Family, cards: &mut NodeCards, number: u32, text: &str) {
    let word = cards.cards[0].kind.to_string();
    let records = vec![(format!("hami.io/{word}-devices-allocated"), text.to_owned())];
    let soft = text
        .split([':', ';'])
        .any(|piece| piece.split(',').nth(3).is_some_and(|cores| cores != "0"));
    let held = family.decode(&records, &asking(&word, text, soft), cards);
    assert_eq!(held.problems, Vec::<String>::new());
    cards.charge(number, Tags::default(), Load::Held, &held.allocations);
}

/// The text of an annotation.
pub fn text<'a>(written: &'a BindingAnnotations, key: &str) -> &'a str {
    let found = written.annotations.iter().find(|one| one.key == key);
    match &found.expect("it is written").value {
        AnnotationValue::Text(text) => text,
        other => panic!("no text: {other:?}"),
    }
}

/// What is written of the chips, and the score; or why there is none. The pod then holds them.
pub fn place(
    request: &dyn FamilyRequest,
    word: &str,
    cards: &mut NodeCards,
    number: u32,
) -> Result<(String, String, f64), Failure> {
    let allocations = request.choose(cards, LedgerTime::Now);
    match request.fit(cards, LedgerTime::Now) {
        Ok(score) => {
            let allocations = allocations.expect("what fits has chips");
            let written = request.annotations("H1", cards, &allocations);
            cards.charge(number, Tags::default(), Load::Held, &allocations);
            let list = text(&written, &format!("hami.io/{word}-devices-allocated"));
            let next = text(&written, &format!("hami.io/{word}-devices-to-allocate"));
            assert_eq!(list, next);
            let runtime = text(&written, &format!("huawei.com/{word}"));
            Ok((list.to_owned(), runtime.to_owned(), score))
        }
        Err(at) => {
            assert_eq!(allocations, None, "what does not fit has no chips");
            Err(request.failures()[usize::from(at)].clone())
        }
    }
}
