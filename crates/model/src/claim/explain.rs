//! Why the claims of a pod get no devices, device by device.

use pumice_claims::{DeviceCount, DraDevice, Match, RequestedDevices, consumption, has_room};

use crate::ix::{NodeIx, TaskIx};
use crate::node::{LoadMoment, Nodes};

use super::{ClaimMisfit, OpenResourceClaim, ResourceClaims};

/// Devices named for each reason.
const DEVICES_A_REASON: usize = 4;
/// Reasons told for each request.
const REASONS_A_REQUEST: usize = 6;

impl ResourceClaims {
    /// What stands against each device for the claims of a pod that have none, if that keeps the pod off a
    /// node.
    pub fn why_not_served(&self, task: TaskIx, nodes: &Nodes) -> Option<String> {
        let pod = self.tasks.get(&task)?;
        let need = self.resolved(task)?;
        let keeps_off = |node: NodeIx| {
            let fits = self.fits(need, nodes, node, LoadMoment::Now);
            matches!(fits, Err(ClaimMisfit::Devices(_)))
        };
        if need.open.is_empty() || !nodes.indices().any(keeps_off) {
            return None;
        }
        let mut told = Vec::new();
        for open in &need.open {
            let (namespace, name) = &self.claims[pod.claims[open.at].0?.at()].key;
            told.push(self.of_claim(&format!("{namespace}/{name}"), open));
        }
        Some(told.join(" "))
    }

    fn of_claim(&self, claim: &str, open: &OpenResourceClaim) -> String {
        let mut told = Vec::new();
        for (request, filters) in open.spec.requests.iter().zip(&open.filters) {
            for (at, (choice, filter)) in request.choices.iter().zip(filters).enumerate() {
                let count = match choice.count {
                    DeviceCount::Exactly(count) => count.to_string(),
                    DeviceCount::All => "all".to_owned(),
                };
                let (name, class) = (request.name_of(at), &choice.class);
                let devices = self.of_devices(choice, *filter);
                told.push(format!(
                    "request {name} ({count} of class {class}): {devices}"
                ));
            }
        }
        format!("Claim {claim}, {}.", told.join("; "))
    }

    /// Devices by what stands against them.
    fn of_devices(&self, choice: &RequestedDevices, filter: u32) -> String {
        let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
        for (device, flaw) in self.inventory.all() {
            let (key, published) = match self.inventory.published(device) {
                Some(found) => found,
                None => continue,
            };
            let reason = match flaw {
                Some(flaw) => flaw.to_owned(),
                None => self.of_device(device, published, choice, filter),
            };
            let name = format!("{}/{}", key.pool, key.device);
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, names)) => names.push(name),
                None => reasons.push((reason, vec![name])),
            }
        }
        if reasons.is_empty() {
            return "no driver publishes any device".to_owned();
        }
        let more = reasons.len().saturating_sub(REASONS_A_REQUEST);
        let told = reasons.into_iter().take(REASONS_A_REQUEST);
        let mut told: Vec<String> = told
            .map(|(reason, names)| format!("{} {reason}", few(&names)))
            .collect();
        if more > 0 {
            told.push(format!("{more} more reasons"));
        }
        told.join(", ")
    }

    fn of_device(
        &self,
        device: u32,
        published: &DraDevice,
        choice: &RequestedDevices,
        filter: u32,
    ) -> String {
        if published.has_binding_conditions {
            return "has binding conditions, which are not supported".to_owned();
        }
        match self.filters.matches(filter, device) {
            Match::No => return "selector false".to_owned(),
            Match::Fails => {
                let why = self.filters.failure(filter, device).unwrap_or_default();
                return format!("selector fails ({why})");
            }
            Match::Yes => {}
        }
        if let Some(taint) = published.repelled_by(&choice.tolerations) {
            return format!("tainted {}", taint.key);
        }
        if let Some(holder) = self.ledger.holder(device).filter(|_| !choice.admin_access) {
            let holder = &self.claims[holder.at()];
            let (namespace, name) = &holder.key;
            let leaves = if holder.leaves { ", whose pods go" } else { "" };
            return format!("allocated to claim {namespace}/{name}{leaves}");
        }
        let Some(more) = consumption(published, &choice.capacity) else {
            return "without the capacity".to_owned();
        };
        let nothing = Default::default();
        let taken = self.ledger.consumed(device).unwrap_or(&nothing);
        match published.shared && !has_room(published, taken, &more) {
            true => "capacity used up".to_owned(),
            false => "free".to_owned(),
        }
    }
}

fn few(names: &[String]) -> String {
    let told = names[..names.len().min(DEVICES_A_REASON)].join(" ");
    match names.len().saturating_sub(DEVICES_A_REASON) {
        0 => told,
        more => format!("{told} and {more} more"),
    }
}
