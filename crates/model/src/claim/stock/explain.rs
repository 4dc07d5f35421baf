//! Why a claim gets no devices, device by device.

use pumice_claims::{
    AttributeRule, CapacityLack, ClaimConstraint, CounterLack, DeviceCount, DeviceKey, DraDevice,
    Match, Quantity, RequestedDevices, consumption, counter_lack, format_bytes, short_of,
};
use rustc_hash::FxHashSet;

use crate::claim::{OpenResourceClaim, ResourceClaimIx};

use super::DeviceStock;

/// Devices named for each reason.
const DEVICES_A_REASON: usize = 4;
/// Reasons told for each request.
const REASONS_A_REQUEST: usize = 6;

/// What stands against devices, to be told.
pub(in crate::claim) struct DeviceObstacles<'a> {
    pub stock: &'a DeviceStock,
    /// Who a claim is that has a device.
    pub holder: &'a dyn Fn(ResourceClaimIx) -> String,
}

impl DeviceObstacles<'_> {
    /// What stands against each device for a claim that has none.
    pub fn of_claim(&self, claim: &str, open: &OpenResourceClaim) -> String {
        let mut told = Vec::new();
        for (request, filters) in open.spec.requests.iter().zip(&open.filters) {
            for (at, (choice, filter)) in request.choices.iter().zip(filters).enumerate() {
                let count = match choice.count {
                    DeviceCount::Exactly(count) => count.to_string(),
                    DeviceCount::All => "all".to_owned(),
                };
                let (name, class) = (request.name_of(at), &choice.class);
                let all = &open.spec.constraints;
                let asked = ConstrainedChoice {
                    choice,
                    filter: *filter,
                    constraints: all.iter().filter(|one| one.is_about(request, at)).collect(),
                };
                let devices = self.of_devices(&asked);
                told.push(format!(
                    "request {name} ({count} of class {class}): {devices}"
                ));
            }
        }
        told.extend(open.spec.constraints.iter().map(of_constraint));
        format!("Claim {claim}, {}.", told.join("; "))
    }

    /// Devices by what stands against them.
    fn of_devices(&self, asked: &ConstrainedChoice<'_>) -> String {
        let mut told: Vec<DevicesOfReason> = Vec::new();
        // There may be as many reasons as devices.
        let mut others: FxHashSet<String> = FxHashSet::default();
        for (device, flaw) in self.stock.inventory.all() {
            let (key, published) = match self.stock.inventory.published(device) {
                Some(found) => found,
                None => continue,
            };
            let reason = match flaw {
                Some(flaw) => flaw.to_owned(),
                None => self.of_device(device, (key, published), asked),
            };
            let has_room = told.len() < REASONS_A_REQUEST;
            match told.iter_mut().find(|known| known.reason == reason) {
                Some(known) => known.add(key),
                None if has_room => told.push(DevicesOfReason::new(reason, key)),
                None => {
                    others.insert(reason);
                }
            }
        }
        if told.is_empty() {
            return "no driver publishes any device".to_owned();
        }
        let mut told: Vec<String> = told.iter().map(DevicesOfReason::text).collect();
        if !others.is_empty() {
            told.push(format!("{} more reasons", others.len()));
        }
        told.join(", ")
    }

    fn of_device(
        &self,
        device: u32,
        (key, published): (&DeviceKey, &DraDevice),
        asked: &ConstrainedChoice<'_>,
    ) -> String {
        let ConstrainedChoice { choice, filter, .. } = *asked;
        if published.has_binding_conditions {
            return "has binding conditions, which are not supported".to_owned();
        }
        match self.stock.filters.matches(filter, device) {
            Match::No => return "selector false".to_owned(),
            Match::Fails => {
                return match self.stock.filters.failure(filter, device) {
                    Some(why) => format!("selector fails ({why})"),
                    None => "selector fails".to_owned(),
                };
            }
            Match::Yes => {}
        }
        if let Some(taint) = published.repelled_by(&choice.tolerations) {
            let rule = self.stock.inventory.taint_rules.giver(key, taint);
            let by = rule.map_or_else(String::new, |rule| format!(" by DeviceTaintRule {rule}"));
            return format!("tainted {}{by}", taint.key);
        }
        if let Some(holder) = self
            .stock
            .ledger
            .holder(device)
            .filter(|_| !choice.admin_access)
        {
            return format!("allocated to claim {}", (self.holder)(holder));
        }
        let more = match consumption(published, &choice.capacity) {
            Ok(more) => more,
            Err(lack) => return of_capacity(lack),
        };
        let nothing = Default::default();
        let taken = self.stock.ledger.consumed(device).unwrap_or(&nothing);
        let short = published.shared.then(|| short_of(published, taken, &more));
        if let Some(name) = short.flatten() {
            return match more.get(name) == published.capacity.get(name).map(|all| &all.value) {
                true => format!("not all of capacity {name} is left"),
                false => format!("too little of capacity {name} is left"),
            };
        }
        let starts = !choice.admin_access && !self.stock.ledger.is_used(device);
        let lack = starts.then(|| self.counter_lack(key, published));
        lack.flatten()
            .unwrap_or_else(|| asked.free(&key.driver, published))
    }

    /// The first counter of its pool of which a device that nobody has would need more than is left.
    fn counter_lack(&self, key: &DeviceKey, published: &DraDevice) -> Option<String> {
        if published.uses.is_empty() {
            return None;
        }
        let (pool, sets) = self.stock.inventory.pool_of(key)?;
        let devices = self.stock.inventory.devices_of(pool);
        let used = self
            .stock
            .ledger
            .used_counters(devices, &self.stock.inventory);
        let lack = counter_lack(published, sets, |set| [used.get(set), None])?;
        Some(match lack {
            CounterLack::Absent { set, name } => {
                format!("uses counter {set}/{name}, which its pool does not have")
            }
            CounterLack::Short {
                set,
                name,
                needed,
                left,
            } => {
                let (needed, left) = (shown(needed), shown(left));
                format!("needs {needed} of counter {set}/{name}, {left} left")
            }
        })
    }
}

/// An alternative of a request, with what constrains it.
struct ConstrainedChoice<'a> {
    choice: &'a RequestedDevices,
    filter: u32,
    constraints: Vec<&'a ClaimConstraint>,
}

impl ConstrainedChoice<'_> {
    /// What is said of a device that it could have by itself: what constraints look at.
    fn free(&self, driver: &str, published: &DraDevice) -> String {
        let mut values = Vec::new();
        for constraint in &self.constraints {
            let (AttributeRule::Same(name) | AttributeRule::Distinct(name)) = &constraint.rule
            else {
                continue;
            };
            match published.attribute(driver, name) {
                Some(value) => values.push(format!("{name} {value}")),
                None => return format!("without attribute {name}"),
            }
        }
        match values.is_empty() {
            true => "free".to_owned(),
            false => format!("free with {}", values.join(", ")),
        }
    }
}

fn of_capacity(lack: CapacityLack<'_>) -> String {
    match lack {
        CapacityLack::Absent { name } => format!("has no capacity {name}"),
        CapacityLack::Negative { name, asked } => {
            format!("capacity {name}: {} is no amount", shown(asked))
        }
        CapacityLack::Beyond { name, needed, most } => {
            let (needed, most) = (shown(needed), shown(most));
            format!("capacity {name}: needs {needed}, a request may have {most} at most")
        }
        CapacityLack::NotAllowed { name, needed } => {
            format!(
                "capacity {name}: {} is no amount that a request may have",
                shown(needed)
            )
        }
    }
}

/// An amount, of bytes most likely where it is large and even.
fn shown(amount: Quantity) -> String {
    const MEBI: i64 = 1 << 20;
    match amount.as_whole() {
        Some(whole) if whole != 0 && whole % MEBI == 0 => format_bytes(whole),
        _ => amount.to_string(),
    }
}

fn of_constraint(constraint: &ClaimConstraint) -> String {
    let whose = match constraint.requests.is_empty() {
        true => "all devices".to_owned(),
        false => format!("devices of {}", constraint.requests.join(", ")),
    };
    match &constraint.rule {
        AttributeRule::Same(name) => format!("{whose} must have the same {name}"),
        AttributeRule::Distinct(name) => format!("{whose} must each have another {name}"),
        AttributeRule::Unknown => "it has a constraint of a kind that is not known".to_owned(),
    }
}

/// Devices against which the same stands.
struct DevicesOfReason {
    reason: String,
    /// The first of them.
    named: Vec<String>,
    more: usize,
}

impl DevicesOfReason {
    fn new(reason: String, first: &DeviceKey) -> Self {
        let mut new = Self {
            reason,
            named: Vec::new(),
            more: 0,
        };
        new.add(first);
        new
    }

    fn add(&mut self, device: &DeviceKey) {
        match self.named.len() < DEVICES_A_REASON {
            true => self
                .named
                .push(format!("{}/{}", device.pool, device.device)),
            false => self.more += 1,
        }
    }

    fn text(&self) -> String {
        let (named, reason) = (self.named.join(" "), &self.reason);
        match self.more {
            0 => format!("{named} {reason}"),
            more => format!("{named} and {more} more {reason}"),
        }
    }
}
