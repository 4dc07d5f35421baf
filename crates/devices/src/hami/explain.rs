//! Why a node does not fit, card by card.

use crate::ledger::{LedgerTime, NodeCards};
use crate::part::CardPart;
use crate::request::{FamilyRequest, NearMiss};
use crate::text::{SaidOfCards, grouped};

use super::card_check::CardCheck;
use super::own::HamiRequest;
use super::own::{HamiFamily, NeedOf, PodOnDevices, TakenBy};
use super::variant::{CardMode, CardVariant};

/// Why a request does not fit; `None` if it does.
pub fn explain<F: HamiFamily>(
    request: &HamiRequest<F>,
    node: &str,
    cards: &NodeCards,
    view: LedgerTime,
) -> Option<NearMiss> {
    let on_node = &request.on_node(cards, view);
    if F::place(on_node, &request.needs).is_some() {
        return None;
    }
    let failure = &request.failures()[usize::from(on_node.failure(&request.needs))];
    let mut own = TakenBy::<F>::new();
    let failing = request.needs.iter().find(|need| {
        let found = F::best(on_node, need, &own);
        found.map(|found| own.extend(found)).is_none()
    });
    let need = failing.or(request.needs.last())?;
    let mut text = format!("{node}: {}", failure.text);
    if request.needs.len() > 1 {
        text.push_str(&format!(" (container {})", need.container + 1));
    }
    let (mut fitting, mut short) = (0u32, NearMiss::NO_CARD);
    let mut cards_told = SaidOfCards::default();
    for (at, card) in cards.cards.iter().enumerate() {
        if CardVariant::of(card).kind != need.kind {
            continue;
        }
        let look = CardLook {
            on_node,
            need,
            at,
            own: &own,
        };
        match F::admits(on_node, need, at, &own) {
            Ok(_) => {
                fitting += 1;
                cards_told.say(&card.id, "fits".to_owned());
            }
            Err(check) => {
                short = short.min(look.missing(check));
                cards_told.say(&card.id, look.why(check));
            }
        }
    }
    let (near, most) = F::nearness(on_node, need, &own).unzip();
    let told: Vec<String> = near.into_iter().chain(cards_told.into_texts()).collect();
    let told = match told.is_empty() {
        true => F::absence(request.kind(need)),
        false => told.join("; "),
    };
    text.push_str(&format!(": {told}"));
    // What the best place has not, no other one adds.
    fitting = fitting.min(most.unwrap_or(fitting));
    Some(NearMiss {
        text,
        distance: (need.count.saturating_sub(fitting), short),
    })
}

/// A card, looked at for a need beside what containers of the pod have got.
struct CardLook<'a, F: HamiFamily> {
    on_node: &'a PodOnDevices<'a, F>,
    need: &'a NeedOf<F>,
    at: usize,
    own: &'a [F::Taken],
}

impl<F: HamiFamily> CardLook<'_, F> {
    /// MiB that are missing, 0 if something else is that may be given back.
    fn missing(&self, check: CardCheck) -> i64 {
        match check {
            CardCheck::Memory => self.short(),
            CardCheck::Size => NearMiss::SMALL_CARD,
            CardCheck::Beside => NearMiss::NO_CARD,
            check if check < CardCheck::Beside => NearMiss::UNFIT_CARD,
            _ => 0,
        }
    }

    fn used(&self) -> CardPart {
        F::used(self.on_node, self.need, self.at, self.own)
    }

    fn part(&self) -> CardPart {
        CardPart::of(&F::part(self.on_node, self.need, self.at))
    }

    fn short(&self) -> i64 {
        let all = CardPart::capacity(self.on_node.cards, self.at).memory;
        self.part().memory - (all - self.used().memory).max(0)
    }

    fn why(&self, check: CardCheck) -> String {
        let card = &self.on_node.cards.cards[self.at];
        let all = CardPart::capacity(self.on_node.cards, self.at);
        match check {
            CardCheck::Kind => format!("type {}", card.kind),
            CardCheck::Usable => card.unusable.as_deref().unwrap_or("not usable").to_owned(),
            CardCheck::Mode => match CardVariant::of(card).mode {
                CardMode::Template => "not in hami-core mode".to_owned(),
                mode => format!("mode {}", mode.name()),
            },
            CardCheck::Type => format!("type {} not allowed", card.kind),
            CardCheck::Uuid => "UUID not allowed".to_owned(),
            CardCheck::Slots => format!("all {} slots in use", grouped(all.sharers)),
            CardCheck::Memory => format!("{} MiB short", grouped(self.short())),
            CardCheck::Cores => format!(
                "{} cores asked, {} free",
                self.part().cores,
                (all.cores - self.used().cores).max(0)
            ),
            check => F::why(self.on_node, self.need, self.at, self.own, check),
        }
    }
}
