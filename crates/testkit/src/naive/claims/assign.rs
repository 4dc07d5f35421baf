//! Which devices claims get on a node: assignments are tried in order, the first that keeps every rule counts
//! (spec/09 §4).

use std::collections::{BTreeMap, BTreeSet};

use pumice_claims::{
    AllocatedDevice, Attribute, AttributeRule, CapacityPolicy, DeviceAllocation, DeviceCount,
    DeviceKey, DraDevice, Quantity, RequestedDevices,
};
use pumice_model::object::{
    ClaimAllocation, NodeAccess, NodeObject, NodeTerm, ResourceClaimObject, SliceObject,
};

use super::expressions::{holds, whole};
use super::{Given, GivenDevice, Objects, Pool, access_of, device_at, pools};

/// The most devices of a claim.
const MAX_DEVICES: usize = 32;

/// An expression failed: there is no assignment.
struct Failed;

/// A device given in this attempt.
#[derive(Clone)]
struct Pick<'a> {
    claim: usize,
    /// Names of the request, and of the request or its alternative.
    request: &'a str,
    full: String,
    admin_access: bool,
    key: DeviceKey,
    at: (&'a SliceObject, usize),
    consumed: Option<BTreeMap<String, i64>>,
}

struct Search<'a> {
    objects: &'a Objects,
    pools: Vec<Pool<'a>>,
    /// What claims have besides.
    held: &'a [GivenDevice],
    claims: &'a [&'a ResourceClaimObject],
    picks: Vec<Pick<'a>>,
}

/// What the claims get on the node, in order.
pub fn first(
    objects: &Objects,
    held: &[GivenDevice],
    claims: &[&ResourceClaimObject],
    node: &NodeObject,
) -> Option<Vec<Given>> {
    let mut search = Search {
        objects,
        pools: pools(objects, node),
        held,
        claims,
        picks: Vec::new(),
    };
    let requests = claims.iter().flat_map(|claim| &claim.spec.requests);
    let mut choices = requests.flat_map(|request| &request.choices);
    let wants_all = choices.any(|choice| choice.count == DeviceCount::All);
    let in_flux = search.pools.iter().any(|pool| !pool.usable);
    if (wants_all && in_flux) || !matches!(search.solve(0, 0), Ok(true)) {
        return None;
    }
    let picks = &search.picks;
    let given = (0..claims.len()).map(|claim| {
        let own: Vec<&Pick> = picks.iter().filter(|pick| pick.claim == claim).collect();
        Given {
            nodes: nodes(&own, node),
            devices: own.iter().map(|pick| given_device(pick)).collect(),
            is_promised: false,
        }
    });
    Some(given.collect())
}

fn given_device(pick: &Pick) -> GivenDevice {
    GivenDevice {
        request: pick.full.clone(),
        key: pick.key.clone(),
        admin_access: pick.admin_access,
        consumed: pick.consumed.clone(),
    }
}

/// The node alone where one device is reached from it alone, else what all selectors ask.
fn nodes(picks: &[&Pick], node: &NodeObject) -> Option<NodeTerm> {
    let mut all = NodeTerm::default();
    for pick in picks {
        match access_of(pick.at.0, pick.at.1) {
            NodeAccess::Node(_) => {
                return Some(NodeTerm {
                    fields: vec![(true, node.name.clone())],
                    ..NodeTerm::default()
                });
            }
            NodeAccess::Selected(terms) => {
                let term = terms.first().expect("a selector of one term");
                all.expressions.extend(term.expressions.clone());
                all.fields.extend(term.fields.clone());
            }
            _ => {}
        }
    }
    (all != NodeTerm::default()).then_some(all)
}

/// As it stands in the status of a claim.
pub fn written(given: &Given) -> ClaimAllocation {
    let devices = given.devices.iter().map(|device| AllocatedDevice {
        request: device.request.clone(),
        key: device.key.clone(),
        admin_access: device.admin_access,
        tolerations: Vec::new(),
        share: device.consumed.as_ref().map(|consumed| {
            let amounts = consumed.iter();
            let amounts = amounts.map(|(name, amount)| (name.clone(), Quantity::whole(*amount)));
            (String::new(), amounts.collect())
        }),
    });
    ClaimAllocation {
        devices: DeviceAllocation {
            devices: devices.collect(),
            config: Vec::new(),
        },
        nodes: given.nodes.clone().map(|term| vec![term]),
    }
}

impl<'a> Search<'a> {
    /// Serves all from this request of this claim on.
    fn solve(&mut self, claim: usize, request: usize) -> Result<bool, Failed> {
        let Some(object) = self.claims.get(claim).copied() else {
            return Ok(true);
        };
        let Some(asked) = object.spec.requests.get(request) else {
            return self.solve(claim + 1, 0);
        };
        for at in 0..asked.choices.len() {
            let choice = &asked.choices[at];
            let full = asked.name_of(at);
            let slot = Slot {
                claim,
                request,
                name: &asked.name,
                full: &full,
                choice,
            };
            let found = match choice.count {
                DeviceCount::All => self.all(&slot)?,
                DeviceCount::Exactly(0) => false,
                DeviceCount::Exactly(number) => self.some(&slot, number, 0)?,
            };
            if found {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn number_of(&self, claim: usize) -> usize {
        self.picks.iter().filter(|pick| pick.claim == claim).count()
    }

    /// Devices the node reaches, with the names of their driver and pool.
    fn devices(&self) -> Vec<(DeviceKey, (&'a SliceObject, usize))> {
        let mut all = Vec::new();
        for pool in self.pools.iter().filter(|pool| pool.usable) {
            for at in &pool.devices {
                let key = DeviceKey {
                    driver: pool.driver.to_owned(),
                    pool: pool.name.to_owned(),
                    device: device_at(*at).name.clone(),
                };
                all.push((key, *at));
            }
        }
        all
    }

    /// So many more devices, from the one with that number on.
    fn some(&mut self, slot: &Slot<'_, 'a>, number: u64, from: usize) -> Result<bool, Failed> {
        if number == 0 {
            return self.solve(slot.claim, slot.request + 1);
        }
        if self.number_of(slot.claim) as u64 + number > MAX_DEVICES as u64 {
            return Ok(false);
        }
        for (number_of_it, (key, at)) in self.devices().into_iter().enumerate().skip(from) {
            if self.is_taken(slot, &key, at) || !self.suits(slot, &key, at)? {
                continue;
            }
            if !self.add(slot, &key, at) {
                continue;
            }
            if self.some(slot, number - 1, number_of_it + 1)? {
                return Ok(true);
            }
            self.picks.pop();
        }
        Ok(false)
    }

    /// Every device that suits.
    fn all(&mut self, slot: &Slot<'_, 'a>) -> Result<bool, Failed> {
        let mut every = Vec::new();
        for (key, at) in self.devices() {
            // If nobody had any of it.
            let could = consumption(slot.choice, device_at(at), |_| 0).is_some();
            if self.suits(slot, &key, at)? && could {
                every.push((key, at));
            }
        }
        let before = self.picks.len();
        let few = self.number_of(slot.claim) + every.len() <= MAX_DEVICES;
        let fit = few
            && every
                .iter()
                .all(|(key, at)| !self.is_taken(slot, key, *at) && self.add(slot, key, *at));
        if !every.is_empty() && fit && self.solve(slot.claim, slot.request + 1)? {
            return Ok(true);
        }
        self.picks.truncate(before);
        Ok(false)
    }

    /// All expressions of the class hold, then all of the request.
    fn suits(
        &self,
        slot: &Slot,
        key: &DeviceKey,
        at: (&SliceObject, usize),
    ) -> Result<bool, Failed> {
        let device = device_at(at);
        if device.has_binding_conditions {
            return Ok(false);
        }
        let class = &self.objects.classes[&slot.choice.class];
        for expression in class.selectors.iter().chain(&slot.choice.selectors) {
            if !holds(expression, &key.driver, device).ok_or(Failed)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Others have the device, or it was given already.
    fn is_taken(&self, slot: &Slot, key: &DeviceKey, at: (&SliceObject, usize)) -> bool {
        let admin_access = slot.choice.admin_access;
        let mut held = self.held.iter().filter(|held| held.key == *key);
        let by_others = held.any(|held| !held.admin_access && held.consumed.is_none());
        let mut same = self.picks.iter().filter(|pick| pick.key == *key);
        let by_these =
            !device_at(at).shared && same.any(|pick| pick.claim == slot.claim || !admin_access);
        (by_others && !admin_access) || by_these
    }

    /// Gives the device, if the rules allow it.
    fn add(&mut self, slot: &Slot<'_, 'a>, key: &DeviceKey, at: (&'a SliceObject, usize)) -> bool {
        let device = device_at(at);
        let tolerations = &slot.choice.tolerations;
        let rules = self.objects.taint_rules.values().filter(|rule| {
            let is = |name: &Option<String>, own: &str| name.as_deref().is_none_or(|n| n == own);
            let names = rule.devices.as_ref();
            names.is_some_and(|names| {
                is(&names.driver, &key.driver)
                    && is(&names.pool, &key.pool)
                    && is(&names.device, &key.device)
            })
        });
        let taints = rules.map(|rule| &rule.taint).chain(&device.taints);
        let repelled = { taints }.any(|taint| {
            let known = ["NoSchedule", "NoExecute"].contains(&taint.effect.as_str());
            known && !tolerations.iter().any(|t| t.tolerates(taint))
        });
        let used = |name: &str| self.consumed(key, name);
        let Some(consumed) = consumption(slot.choice, device, used) else {
            return false;
        };
        if repelled || !self.leaves_counters(slot.choice, key, at) {
            return false;
        }
        self.picks.push(Pick {
            claim: slot.claim,
            request: slot.name,
            full: slot.full.to_owned(),
            admin_access: slot.choice.admin_access,
            key: key.clone(),
            at,
            consumed: device.shared.then_some(consumed),
        });
        if self.keeps_constraints(slot.claim) {
            return true;
        }
        self.picks.pop();
        false
    }

    /// What was taken of a capacity already.
    fn consumed(&self, key: &DeviceKey, name: &str) -> i64 {
        let held = self.held.iter();
        let held = held.filter(|held| held.key == *key && !held.admin_access);
        let held = held.filter_map(|held| held.consumed.as_ref());
        let picks = self.picks.iter();
        let picks = picks.filter(|pick| pick.key == *key);
        let picks = picks.filter_map(|pick| pick.consumed.as_ref());
        held.chain(picks).filter_map(|all| all.get(name)).sum()
    }

    /// Every counter that the device uses has so much left. A shared device uses its counters once.
    fn leaves_counters(
        &self,
        choice: &RequestedDevices,
        key: &DeviceKey,
        at: (&SliceObject, usize),
    ) -> bool {
        let pool = self
            .pools
            .iter()
            .find(|pool| (pool.driver, pool.name) == (at.0.driver.as_str(), at.0.pool.as_str()));
        let pool = pool.expect("the pool of the device");
        let held = self.held.iter().filter(|held| !held.admin_access);
        let picks = self.picks.iter().filter(|pick| !pick.admin_access);
        let used: BTreeSet<&DeviceKey> = held
            .map(|held| &held.key)
            .chain(picks.map(|pick| &pick.key))
            .collect();
        if choice.admin_access || used.contains(key) {
            return true;
        }
        let in_use = |name: &str| {
            used.iter().any(|used| {
                used.driver == pool.driver && used.pool == pool.name && used.device == name
            })
        };
        device_at(at).uses.iter().all(|use_of| {
            use_of.counters.iter().all(|(counter, wanted)| {
                let mut sets = pool.slices.iter().flat_map(|slice| &slice.counters);
                let set = sets.find(|set| set.name == use_of.set);
                let total = set.and_then(|set| set.counters.get(counter));
                let devices = pool.slices.iter().flat_map(|slice| &slice.devices);
                let busy = devices.filter(|published| in_use(&published.device.name));
                let others = busy.flat_map(|published| &published.device.uses);
                let others = others.filter(|other| other.set == use_of.set);
                let taken = others.filter_map(|other| other.counters.get(counter));
                let taken: i64 = taken.map(|amount| whole(*amount)).sum();
                total.is_some_and(|total| taken + whole(*wanted) <= whole(*total))
            })
        })
    }

    fn keeps_constraints(&self, claim: usize) -> bool {
        let own = self.picks.iter().filter(|pick| pick.claim == claim);
        let own: Vec<&Pick> = own.collect();
        let constraints = &self.claims[claim].spec.constraints;
        constraints.iter().all(|constraint| {
            let named = |name: &str| constraint.requests.iter().any(|one| one == name);
            let about = own.iter().filter(|pick| {
                constraint.requests.is_empty() || named(pick.request) || named(&pick.full)
            });
            let (name, same) = match &constraint.rule {
                AttributeRule::Same(name) => (name, true),
                AttributeRule::Distinct(name) => (name, false),
                AttributeRule::Unknown => return false,
            };
            let values = about.map(|pick| attribute(pick, name));
            let values: Vec<Option<&Attribute>> = values.collect();
            let distinct: BTreeSet<&Option<&Attribute>> = values.iter().collect();
            let wanted = if same {
                values.len().min(1)
            } else {
                values.len()
            };
            !values.contains(&None) && distinct.len() == wanted
        })
    }
}

/// What the request takes of each capacity of a device of which so much is used; `None` where that is not there.
fn consumption(
    choice: &RequestedDevices,
    device: &DraDevice,
    used: impl Fn(&str) -> i64,
) -> Option<BTreeMap<String, i64>> {
    let mut asked = choice.capacity.keys();
    if !asked.all(|name| device.capacity.contains_key(name)) {
        return None;
    }
    let mut all = BTreeMap::new();
    for (name, capacity) in &device.capacity {
        let there = whole(capacity.value);
        let asked = choice.capacity.get(name).map(|asked| whole(*asked));
        let default = capacity.policy.as_ref().and_then(|policy| policy.default);
        let wanted = asked.or(default.map(whole)).unwrap_or(there);
        let wanted = match &capacity.policy {
            Some(policy) if device.shared => allowed(policy, wanted)?,
            _ => wanted,
        };
        let used = if device.shared { used(name) } else { 0 };
        if used + wanted > there {
            return None;
        }
        all.insert(name.clone(), wanted);
    }
    Some(all)
}

/// The value of an attribute with a domain.
fn attribute<'a>(pick: &Pick<'a>, name: &str) -> Option<&'a Attribute> {
    let attributes = &device_at(pick.at).attributes;
    let own = name.strip_prefix(&format!("{}/", pick.key.driver));
    attributes
        .get(name)
        .or_else(|| own.and_then(|own| attributes.get(own)))
}

/// Who asks.
struct Slot<'s, 'a> {
    claim: usize,
    request: usize,
    name: &'a str,
    full: &'s str,
    choice: &'a RequestedDevices,
}

/// The least amount that the policy allows and that is enough.
fn allowed(policy: &CapacityPolicy, wanted: i64) -> Option<i64> {
    if let Some(range) = &policy.range {
        let (min, most) = (whole(range.min), range.max.map(whole));
        let step = range.step.map(whole).unwrap_or(1);
        let above = (wanted - min).max(0);
        let up = (above + step - 1) / step * step + min;
        return most.is_none_or(|most| up <= most).then_some(up);
    }
    if policy.values.is_empty() {
        return Some(wanted);
    }
    let values = policy.values.iter().map(|value| whole(*value));
    values.filter(|value| *value >= wanted).min()
}
