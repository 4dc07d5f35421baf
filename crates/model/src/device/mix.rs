//! What the tasks of this cluster ask of cards, as a plugin keeps it: cards are chosen by it.

use std::cell::{Ref, RefCell};
use std::sync::Arc;

use pumice_devices::{
    AskedRoom, DeviceMix, DevicePick, DeviceRequest, LedgerTime, NodeRoom, PlainAsk,
};
use smallvec::SmallVec;

use super::looks::{KnownLook, NodeLooks};
use super::{DeviceRequestIx, DeviceTable};
use crate::ix::NodeIx;
use crate::node::Nodes;
use crate::resource::{ResIx, ResVec};

/// Amounts of the resources of a mix.
pub type MixAmounts = SmallVec<[i64; 8]>;

/// Namespace and name of the ConfigMap with the mix, and the text under its key `mix`.
type MixText = ((String, String), String);

/// The mix, how often it was another one, and what is known of nodes by it, which whoever reads the state may bring up to
/// date: it follows from the rest.
#[derive(Clone, Default)]
pub(super) struct KnownMix {
    mix: Option<Arc<DeviceMix>>,
    epoch: u64,
    looks: RefCell<NodeLooks>,
    /// What a ConfigMap says that it is.
    text: Option<MixText>,
    text_epoch: u64,
    /// What was counted before the plugin that counts now.
    counted: Option<CountedTasks>,
    counted_epoch: u64,
}

/// Tasks that were counted by a plugin that is no more, in its own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedTasks {
    /// What the plugin says of them.
    pub text: Arc<str>,
    /// The last of them, by serial, where they were counted of this state; else the text says by when those that are in it
    /// were made.
    pub last: Option<u64>,
}

/// What a task asks of one card, if summaries tell which will do and it asks no more.
pub fn asks_one_card(demand: &DeviceRequest) -> Option<(u8, PlainAsk)> {
    match demand.parts.as_slice() {
        [(family, request)] => {
            let ask = request.plain().filter(|ask| ask.cards == 1)?;
            Some((*family, ask))
        }
        _ => None,
    }
}

/// What a task takes of the resources of a mix.
pub fn amounts_of(mix: &DeviceMix, request: &ResVec) -> MixAmounts {
    let resources = mix.resources().iter();
    resources
        .map(|resource| request.get(ResIx(*resource as u16)))
        .collect()
}

/// What is free of the resources of a mix on a node.
pub fn free_on(mix: &DeviceMix, nodes: &Nodes, node: NodeIx, view: LedgerTime) -> MixAmounts {
    let free = |resource: &u32| {
        let resource = ResIx(*resource as u16);
        match view {
            LedgerTime::Now => nodes.idle.get(resource, node),
            LedgerTime::Future => nodes.future_idle(resource, node),
            LedgerTime::Idle => nodes.total.get(resource, node),
        }
    };
    mix.resources().iter().map(free).collect()
}

impl DeviceTable {
    /// What tasks ask, if some plugin keeps it.
    pub fn mix(&self) -> Option<&Arc<DeviceMix>> {
        self.mix.mix.as_ref()
    }

    /// Changes whenever the mix does.
    #[inline]
    pub fn mix_epoch(&self) -> u64 {
        self.mix.epoch
    }

    /// Takes the mix that a plugin keeps, if one does.
    pub(crate) fn set_mix(&mut self, mix: Option<&Arc<DeviceMix>>) {
        let is_known = match (&self.mix.mix, mix) {
            (Some(known), Some(mix)) => Arc::ptr_eq(known, mix),
            (known, mix) => known.is_none() && mix.is_none(),
        };
        if !is_known {
            self.mix.mix = mix.cloned();
            self.mix.epoch += 1;
            self.mix.looks = RefCell::default();
        }
    }

    /// Looks at the nodes that have changed with the eyes of the mix, if some plugin keeps one.
    /// Somebody asks this for a task.
    pub(crate) fn renew_looks(&self, nodes: &Nodes, demand: DeviceRequestIx) {
        let mut looks = self.mix.looks.borrow_mut();
        if let Some(mix) = &self.mix.mix
            && !mix.classes().is_empty()
        {
            looks.renew(mix, nodes);
            if let Some((family, ask)) = asks_one_card(&self.compiled[demand.0 as usize].demand) {
                looks.ask(mix, family, &ask);
            }
        }
    }

    /// What a task adds that asks so of one card, on a node that looks so, if that follows from what all cards like these
    /// are once it has one. The last question must have been about such a task.
    pub fn added_by_look(
        &self,
        (room, look): (&NodeRoom, &KnownLook),
        asked: &AskedRoom,
        (family, ask): (u8, &PlainAsk),
    ) -> Option<Option<i64>> {
        let known = look
            .cards
            .as_ref()
            .filter(|known| known.family() == family)?;
        let looks = self.mix.looks.borrow();
        let after = looks.after(family, ask)?;
        // What has come since is not in it.
        let is_told = |number: &u32| (*number as usize) < after.len();
        if !look.kinds.iter().all(is_told) {
            return None;
        }
        let after = |kind: usize| after[look.kinds[kind] as usize];
        self.mix()?.added_by_worths((room, known), asked, after)
    }

    /// What is known of a node by this mix; nothing if it is not the one that is kept, or something on the node has
    /// changed since.
    #[inline]
    pub fn look(
        &self,
        mix: &Arc<DeviceMix>,
        nodes: &Nodes,
        node: NodeIx,
    ) -> Option<Ref<'_, KnownLook>> {
        let is_kept = self.mix().is_some_and(|kept| Arc::ptr_eq(kept, mix));
        is_kept.then(|| self.look_of(nodes, node)).flatten()
    }

    fn look_of(&self, nodes: &Nodes, node: NodeIx) -> Option<Ref<'_, KnownLook>> {
        Ref::filter_map(self.mix.looks.borrow(), |looks| looks.of(nodes, node)).ok()
    }

    /// What the ConfigMap of this namespace and name says that tasks ask.
    pub fn mix_text(&self, place: &(String, String)) -> Option<&str> {
        let (known, text) = self.mix.text.as_ref()?;
        (known == place).then_some(text)
    }

    /// Changes whenever the text of a ConfigMap does.
    pub fn mix_text_epoch(&self) -> u64 {
        self.mix.text_epoch
    }

    /// Where a text comes from that is known, and the text.
    pub(crate) fn known_mix_text(&self) -> Option<&((String, String), String)> {
        self.mix.text.as_ref()
    }

    /// Takes the text of a ConfigMap, in place of what was known; true if that is new.
    pub(crate) fn set_mix_text(&mut self, place: (String, String), text: String) -> bool {
        let is_news = self.mix.text.as_ref() != Some(&(place.clone(), text.clone()));
        if is_news {
            self.mix.text = Some((place, text));
            self.mix.text_epoch += 1;
        }
        is_news
    }

    /// What was counted before the plugin that counts now, if anything is known of it.
    pub fn counted_before(&self) -> Option<&CountedTasks> {
        self.mix.counted.as_ref()
    }

    /// Changes whenever something else is known to have been counted before.
    pub fn counted_epoch(&self) -> u64 {
        self.mix.counted_epoch
    }

    /// Takes what was counted before.
    pub(crate) fn set_counted_before(&mut self, counted: CountedTasks) {
        self.mix.counted = Some(counted);
        self.mix.counted_epoch += 1;
    }

    /// The cards by which least becomes useless, where cards are chosen so.
    pub(crate) fn pick_by_mix(
        &self,
        (demand, request): (&DeviceRequest, &ResVec),
        nodes: &Nodes,
        (node, view): (NodeIx, LedgerTime),
    ) -> Option<DevicePick> {
        let mix = self.mix()?;
        let room = NodeRoom {
            node: node.at(),
            devices: &nodes.devices[node.at()],
            free: &free_on(mix, nodes, node, view),
            view,
        };
        let asked = AskedRoom {
            devices: demand,
            amounts: &amounts_of(mix, request),
        };
        let look = match view {
            LedgerTime::Now => self.look_of(nodes, node),
            LedgerTime::Future | LedgerTime::Idle => None,
        };
        mix.pick(
            &room,
            &asked,
            look.as_ref().and_then(|look| look.cards.as_ref()),
        )
    }
}
